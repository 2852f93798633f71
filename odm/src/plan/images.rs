//! The documents that writes change, before and after.

use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::touches::WrittenFields;
use mongodb::bson::RawDocumentBuf;
use std::sync::Arc;

/// A document before a write.
#[derive(Clone, Debug)]
pub(crate) enum Was {
    /// It was not there.
    Absent,
    /// It was not read, since nothing depends on it.
    Unread,
    There(Arc<RawDocumentBuf>),
}

/// A document before and after a write.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) was: Was,
    /// `None` where it is gone.
    pub(crate) is: Option<RawDocumentBuf>,
    /// The fields that the writes may have changed, used where the document was not read before.
    pub(crate) written: WrittenFields,
    /// Whether the operation is one write, which has changed this document. Where it is several, another one may have written the fields
    /// in `written`, and the one for this document may have missed it.
    pub(crate) by_one_write: bool,
}

impl Image {
    /// The document before the write, where it was read.
    pub(crate) fn before(&self) -> Option<&RawDocumentBuf> {
        match &self.was {
            Was::There(document) => Some(document),
            Was::Absent | Was::Unread => None,
        }
    }

    pub(crate) fn after(&self) -> Option<&RawDocumentBuf> {
        self.is.as_ref()
    }

    pub(crate) fn is_inserted(&self) -> bool {
        matches!(self.was, Was::Absent)
    }

    pub(crate) fn of_deletion(document: RawDocumentBuf) -> Image {
        Image {
            was: Was::There(Arc::new(document)),
            is: None,
            written: WrittenFields::All,
            by_one_write: false,
        }
    }
}

/// The documents of a write before it and after it.
pub(crate) fn before_and_after(
    images: &[Image],
) -> impl Iterator<Item = (&RawDocumentBuf, Option<&RawDocumentBuf>)> + Clone {
    let there = images.iter();
    there.filter_map(|image| Some((image.before()?, image.after())))
}

/// The documents of one collection that writes change, as they were.
#[derive(Debug)]
pub(crate) struct BeforeOf {
    pub(crate) meta: &'static DocumentMeta,
    /// In the order in which they were read.
    pub(crate) documents: Vec<BeforeImage>,
    /// Whether the references that the writes add or link were read.
    pub(crate) has_references: bool,
    /// Whether derived values depend on the writes.
    pub(crate) derives: bool,
}

/// A document that writes change, as it was.
#[derive(Debug)]
pub(crate) struct BeforeImage {
    pub(crate) key: Key,
    /// `None` for one that was not read, since nothing depends on it.
    pub(crate) document: Option<Arc<RawDocumentBuf>>,
    /// Whether the fields were read that derived values depend on.
    pub(crate) is_compared: bool,
}

/// The documents that writes change, as they were, by collection.
#[derive(Debug, Default)]
pub(crate) struct BeforeImages {
    pub(crate) collections: Vec<BeforeOf>,
}

impl BeforeImages {
    /// The collections of which references were read.
    pub(crate) fn with_references(&self) -> impl Iterator<Item = &BeforeOf> {
        self.collections.iter().filter(|of| of.has_references)
    }

    /// The collections on whose documents derived values depend.
    pub(crate) fn deriving(&self) -> impl Iterator<Item = &BeforeOf> {
        self.collections.iter().filter(|of| of.derives)
    }

    pub(crate) fn are_more_than(&self, limit: usize) -> bool {
        let documents = self.with_references().map(|of| of.read().count());
        documents.sum::<usize>() > limit
    }

    /// The documents of a collection with their references.
    pub(crate) fn of_collection(
        &self,
        meta: &DocumentMeta,
    ) -> impl Iterator<Item = &Arc<RawDocumentBuf>> + use<'_> {
        let collection = meta.collection;
        let own = self
            .with_references()
            .filter(move |of| of.meta.collection == collection);
        own.flat_map(BeforeOf::read)
    }
}

impl BeforeOf {
    /// The documents that were read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &Arc<RawDocumentBuf>> {
        self.documents.iter().filter_map(|image| image.document.as_ref())
    }
}

impl BeforeImage {
    /// The document as derived values are compared with it.
    pub(crate) fn was(&self) -> Was {
        match self.document.as_ref().filter(|_| self.is_compared) {
            Some(document) => Was::There(document.clone()),
            None => Was::Unread,
        }
    }
}

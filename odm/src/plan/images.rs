//! The documents that writes change, before and after.

use crate::model::document::DocumentMeta;
use crate::plan::targets::Missing;
use mongodb::bson::RawDocumentBuf;

/// The documents before the write.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pub(crate) changed: Vec<(&'static DocumentMeta, Vec<RawDocumentBuf>)>,
    /// The references of theirs that the write keeps although nothing is there.
    pub(crate) lacking: Vec<Missing>,
}

impl Images {
    pub(crate) fn is_more_than(&self, most: usize) -> bool {
        self.changed
            .iter()
            .map(|(_, documents)| documents.len())
            .sum::<usize>()
            > most
    }

    pub(crate) fn of(&self, meta: &DocumentMeta) -> impl Iterator<Item = &RawDocumentBuf> + use<'_> {
        let collection = meta.collection;
        self.changed
            .iter()
            .filter(move |(meta, _)| meta.collection == collection)
            .flat_map(|(_, documents)| documents)
    }
}

//! A document before and after a write.

use crate::plan::fields::ChangedFields;
use mongodb::bson::RawDocumentBuf;

/// A document before and after a write.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// `None` where it was not there, or was not read.
    pub(crate) before: Option<RawDocumentBuf>,
    /// `None` where it is gone.
    pub(crate) after: Option<RawDocumentBuf>,
    /// Whether it is new.
    pub(crate) inserted: bool,
    /// The fields that the writes may have changed, used where there is no before-image.
    pub(crate) written: ChangedFields,
}

/// A changed document, and the fields that may be new to what is derived of it.
pub(crate) type Changed = (RawDocumentBuf, ChangedFields);

/// The documents of a write before it and after it.
pub(crate) fn before_and_after(
    images: &[Image],
) -> impl Iterator<Item = (&RawDocumentBuf, Option<&RawDocumentBuf>)> + Clone {
    let there = images.iter();
    there.filter_map(|image| Some((image.before.as_ref()?, image.after.as_ref())))
}

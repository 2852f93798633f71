//! The documents that do not exist, of an error.

use mongodb::bson::Bson;

/// References to documents that do not exist, in [`Error::MissingReference`](crate::Error::MissingReference).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example<T: odm::write::SoftDelete>(posts: Collection<T>, id: T::Id) -> odm::Result<()>
/// # where T::Id: odm::write::Target<T> {
/// if let Err(Error::MissingReference { target, ids, others, .. }) = posts.restore(id).await {
///     println!("restore {ids:?} of `{target}` first");
///     for other in others {
///         println!("and {:?} of `{}`", other.ids, other.target);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MissingTargets {
    /// The collection of the documents with the reference.
    pub collection: &'static str,
    /// The stored path of the reference.
    pub field: String,
    /// The collection that it refers to.
    pub target: &'static str,
    /// The ids that no document has, or values of the field that the reference is by.
    pub ids: Vec<Bson>,
}

//! What writes did, as users get it.

/// The result of a delete.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// let done = people.delete(id).await?;
/// println!("{} other documents are deleted with it", done.cascaded);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// How many documents were deleted.
    pub deleted: u64,
    /// How many documents were deleted with them, since they refer to them with `on_delete = cascade`. Where a reply was lost and the
    /// deletion of these was sent again, those that the first attempt deleted are not counted.
    pub cascaded: u64,
    /// How many references in other documents were removed by `on_delete = nullify`. One document may count for several
    /// references.
    pub nullified: u64,
    /// How many times references were pulled from an array of another document: `on_delete = pull`.
    pub pulled: u64,
}

/// The result of a bulk.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let done = odm.bulk().add(odm.collection::<Account>().update(&7).inc(|a| a.cents, 500)).await?;
/// if done.missed > 0 {
///     println!("no such account");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkDone {
    /// How many documents were inserted.
    pub inserted: u64,
    /// How many documents were found by an update or a replacement, also where an update of items found none to change.
    pub matched: u64,
    /// How many of them have other values now; what a write leaves a note in is counted as in [`Updated`](crate::Updated).
    pub modified: u64,
    /// How many documents upserts inserted.
    pub upserted: u64,
    /// How many documents were deleted.
    pub deleted: u64,
    /// How many documents were deleted with them, since they refer to them with `on_delete = cascade`.
    pub cascaded: u64,
    /// How often a reference was made empty in another document: `on_delete = nullify`.
    pub nullified: u64,
    /// How often references were pulled out of an array of another document: `on_delete = pull`.
    pub pulled: u64,
    /// How many updates and replacements of one document found none: it is gone, it has another version, or a bound
    /// (a full array) held the change back. A single `update` says which.
    pub missed: u64,
}

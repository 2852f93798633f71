//! Errors, in the terms of the application: collection, field, value, and what to do.

mod display;
pub(crate) mod driver;
pub(crate) mod json;
pub(crate) mod missing;
pub(crate) mod parameter;
pub(crate) mod results;
pub(crate) mod violation;

pub use json::{BadValue, ValueProblem};
pub use missing::MissingTargets;
pub use parameter::{BadParameter, ParameterProblem};
pub use violation::{Rule, Violation};

use display::{
    HowToChange, Last, OfId, Reason, Samples, Scoped, SharedNull, ShowAt, ShowBytes, ShowDocuments,
    ShowFirst, ShowFound, ShowList, ShowMaybe, ShowMissing, ShowPosition, ShowRepeated, ShowSought,
    ShowTaken, ShowUnknown, Sizes, Unfit, Violating, Written,
};
use driver::DriverText;
use mongodb::bson::{Bson, Document};
use results::BulkDone;

/// The subject of a refusal for its size, where nothing else is known.
pub(crate) const DOCUMENT: &str = "the document";

/// The result of an operation.
///
/// ```
/// fn page_size(asked: u32) -> odm::Result<u32> {
///     Ok(asked.clamp(1, 100))
/// }
/// assert_eq!(page_size(1_000)?, 100);
/// # Ok::<(), odm::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that an operation of this crate can fail with.
///
/// Its text names the collection, the field, the value and what to do; it may hold values of documents. Variants and
/// fields may be added, so a `match` ends with a branch for the others.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// match people.insert(new).await {
///     Ok(person) => println!("{} is stored", person.id),
///     Err(Error::DuplicateKey { fields, .. }) if fields == ["email"] => println!("this address is taken"),
///     Err(Error::Invalid { violations, .. }) => {
///         for violation in &violations {
///             println!("{}: {}", violation.path, violation.rule); // age: must be at most 150
///         }
///     }
///     Err(other) => return Err(other),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No document has this id or unique key. Every write that names one needs it to be there;
    /// [`optional`](crate::update::Update::optional) behind the write gives `None` instead. A read gives `None`, of which
    /// [`Action::required`](crate::query::Action::required) makes this error.
    ///
    /// It is the answer to every write that names a document which is deleted and kept (`#[document(soft_delete)]`), also to an
    /// insert or an upsert with its id.
    #[error("{collection}: {}", ShowSought(.key, .deleted))]
    NotFound {
        /// The collection.
        collection: &'static str,
        /// The id that was looked for, as `_id`, or the fields of the unique key. Empty where a query found nothing.
        key: Box<Document>,
        /// Whether there is a document with this id that is deleted and kept: `restore` it, or `purge` it to use its id again.
        deleted: bool,
    },

    /// A unique index already holds these values.
    #[error(
        "{collection}: another document already has {}, which the unique index `{index}` allows once{}{}",
        ShowTaken(.fields, .value), SharedNull(.value), Unfit(.existing)
    )]
    DuplicateKey {
        /// The collection.
        collection: String,
        /// The index that refused.
        index: String,
        /// Its fields, as they are stored.
        fields: Vec<String>,
        /// The values that are there already, by field. Where the index has a collation, the server does not show a text: the text
        /// of the refused write stands here, which the collation takes for the same, or none where it is not known.
        value: Box<Document>,
        /// Of an upsert whose condition requires these values: the id of the document that has them, but does not match the
        /// rest of the condition.
        existing: Option<Box<Bson>>,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A write of one document by its `_id` met several, which a sharded cluster allows: each shard has an index of its own on `_id`, so
    /// only a collection that is sharded by `_id` alone has each value once. An insert of an `_id` that another shard has is no
    /// [`Error::DuplicateKey`] there. [`Odm::audit`](crate::Odm::audit) lists such documents.
    #[error(
        "{collection}: {documents} documents have {}: where the shard key is not `_id` alone, each shard may have one. {}. Name the \
         fields of the shard key in a condition to write one of them; `audit` lists all such documents",
        ShowRepeated(.ids), Written(.written)
    )]
    IdNotUnique {
        /// The collection.
        collection: &'static str,
        /// The `_id` that the write named. Of a bulk, those of its writes: a server before MongoDB 8.0 does not say which of them met
        /// several documents.
        ids: Vec<Bson>,
        /// How many documents there are.
        documents: u64,
        /// Whether all of them were written. A transaction can't be committed after this error; one of the library's own is rolled back.
        written: bool,
    },

    /// A value breaks a rule that its field declares. It is found before anything is sent where possible, else by the server's
    /// validator, with the same error.
    #[error("{collection}: {}", ShowList(.violations))]
    Invalid {
        /// The collection.
        collection: String,
        /// Every rule that was broken.
        violations: Vec<Violation>,
        /// The driver's error, where the server refused.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A push would make the array longer than it may become. Nothing was written.
    #[error("{collection}: `{field}` of the document with _id {id} is full: it may hold at most {max} items")]
    ArrayFull {
        /// The collection.
        collection: &'static str,
        /// The document's id.
        id: Box<Bson>,
        /// The array's stored name.
        field: String,
        /// How many items it may hold.
        max: u64,
    },

    /// The document would be larger than the server stores:
    /// [16 MiB](https://www.mongodb.com/docs/manual/reference/limits/#bson-documents). A filter, a pipeline and every other part of a
    /// command have the same limit.
    #[error(
        "{collection}: {what} is {}larger than 16 MiB (16,777,216 bytes), MongoDB's limit{}{}",
        ShowBytes(.size), Sizes("its largest fields: ", .largest), Sizes("the update adds ", .brought)
    )]
    TooLarge {
        /// The collection.
        collection: String,
        /// Names the part that is too large: `the document`, `the filter`, `the pipeline`.
        what: &'static str,
        /// Its size in bytes, where it is known. A server that refuses an update does not report it: after an update of one
        /// document this is an estimate, the stored document plus the changes.
        size: Option<u64>,
        /// Its largest fields with their sizes in bytes, the largest first. After an update of one document, the stored ones;
        /// none where the server does not say which document it was, or where the error ended a transaction.
        largest: Vec<(String, u64)>,
        /// The largest values that an update would have added, by the names of their fields, with their sizes in bytes, the
        /// largest first.
        brought: Vec<(String, u64)>,
        /// The driver's error, where the server refused.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// An update within a field that is not stored as a document. For an `Option` that is stored as `null` the error is
    /// [`Error::IsNull`], which names the document.
    #[error(
        "{collection}: `{field}` is not stored as a document (but as `null`, for example), so nothing within it can be \
         changed: set the whole field, or exclude such documents by the condition"
    )]
    NotADocument {
        /// The collection.
        collection: &'static str,
        /// The name of the field, without the fields that contain it: the server reports no more.
        field: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A change within an array or a struct, or of a number, where the field is stored as `null` (as `None` is stored); or
    /// of a part of a struct that is not stored, since the struct could not be decoded from that part alone. Nothing was
    /// written. An update of many documents leaves such a document as it is, and counts it in
    /// [`Updated::refused`](crate::Updated::refused).
    #[error(
        "{collection}: `{field}` of the document with _id {id} is `null` or missing, so nothing can be added to it or changed \
         within it: `set` the whole field"
    )]
    IsNull {
        /// The collection.
        collection: &'static str,
        /// The document's id.
        id: Box<Bson>,
        /// The field's stored name.
        field: String,
    },

    /// A change within a variant of an enum, where the document has another variant, or none. Nothing was written. An update of
    /// many documents leaves such a document as it is, and counts it in [`Updated::refused`](crate::Updated::refused).
    #[error(
        "{collection}: `{field}` of the document with _id {id} is {}, so nothing within `{expected}` can be changed: `set` the \
         whole field, or exclude such documents by the condition",
        ShowFound(.found)
    )]
    OtherVariant {
        /// The collection.
        collection: &'static str,
        /// The document's id.
        id: Box<Bson>,
        /// The enum's stored name; of an enum without a name of its own that of its tag.
        field: String,
        /// The stored name of the variant that the change is within.
        expected: &'static str,
        /// That of the variant that the document has; `None` where there is none.
        found: Option<String>,
    },

    /// A reference names a document that does not exist. A write is refused before it is sent, or undone if the target was
    /// deleted meanwhile; a join fails, unless it says what to do with missing targets.
    /// So is a restoration of a document, or of one below it, whose target is deleted: then all such targets are listed.
    #[error(
        "{collection}: `{field}` refers to documents of `{target}` that do not exist: {}",
        ShowMissing(.ids, .others)
    )]
    MissingReference {
        /// The collection of the document with the reference; for `field.load(…)`, which gets a reference alone, the collection
        /// of the targets.
        collection: &'static str,
        /// The stored path of the reference; for a reference alone, its type.
        field: String,
        /// The collection that it refers to.
        target: &'static str,
        /// The ids that no document has (or values of the field that the reference is by), each once, of the type that they are
        /// stored as. For a reference to one of several document types, only those of `target`, even if targets of another type
        /// are missing too.
        ids: Vec<Bson>,
        /// The same of other references, where a restoration lists them all.
        others: Vec<MissingTargets>,
    },

    /// The document can't be deleted, since others refer to it with `on_delete = restrict`: the requested document, or one that
    /// a `cascade` reaches. Nothing was deleted; but if the reference was written at the same time as the deletion, the
    /// document has been restored, while documents that were deleted before it stay deleted.
    ///
    /// Likewise it can't be [moved](crate::Update::move_to) while others refer to it by `same`. If such a reference was written at the same
    /// time, it has its previous value again.
    #[error(
        "{collection}: the document with _id {id} can't be deleted or moved, since `{field}` of {} in `{by}` refers to it{}",
        ShowDocuments(.count), Samples(.sample)
    )]
    StillReferenced {
        /// The collection of the document that was to be deleted or moved.
        collection: &'static str,
        /// Its id.
        id: Box<Bson>,
        /// The collection of the documents that refer to it.
        by: &'static str,
        /// The stored path of their reference.
        field: String,
        /// How many there are.
        count: u64,
        /// The ids of a few of them.
        sample: Vec<Bson>,
    },

    /// The document does not belong to the scope of the handle, or an update would take it out of the scope: see
    /// [`Odm::scoped`](crate::Odm::scoped). It is refused before it is sent. So is a document of a type with
    /// `#[document(soft_delete)]` that is marked as deleted: only `delete` deletes it, and only `restore` restores it.
    #[error("{collection}: `{field}` {}", Scoped(.given, .scope))]
    OutOfScope {
        /// The collection.
        collection: &'static str,
        /// The stored name of the field.
        field: String,
        /// Its value in the document or in the update; `None` where it is missing.
        given: Option<Box<Bson>>,
        /// The value that it has in the scope of the handle; `None` where the handle has no scope for it.
        scope: Option<Box<Bson>>,
    },

    /// Another writer changed the document since it was read: reload the document and retry the change.
    #[error(
        "{collection}: version conflict: version {seen} of the document with _id {id} was read, {} is stored; reload the \
         document and retry the change",
        ShowMaybe(.found)
    )]
    Conflict {
        /// The collection.
        collection: &'static str,
        /// The document's id.
        id: Box<Bson>,
        /// The version that the caller had read.
        seen: i64,
        /// The version that is stored; `None` where the stored document has none.
        found: Option<i64>,
    },

    /// A stored document can't be decoded as its struct.
    #[error("{collection}: the document with _id {} can't be decoded as `{ty}`: {}{message}", ShowMaybe(.id), ShowAt(.path))]
    Decode {
        /// The collection.
        collection: String,
        /// The document's id, if it has one.
        id: Option<Box<Bson>>,
        /// The struct.
        ty: &'static str,
        /// The dotted path of the field that can't be decoded; empty for the document.
        path: String,
        /// The reason, in words.
        message: String,
    },

    /// A value can't be stored as BSON (an integer above `i64::MAX`, for instance).
    #[error("{field}: can't be stored as BSON: {source}")]
    Encode {
        /// The field or the type.
        field: String,
        /// The serializer's error.
        source: Box<mongodb::bson::error::Error>,
    },

    /// The query or update can't be executed as it was built.
    #[error("{collection}: {message}")]
    Query {
        /// The collection.
        collection: &'static str,
        /// The problem and what to do.
        message: String,
    },

    /// The token of `page(n).after(token)` belongs to another query, or is not a token.
    #[error("{collection}: the page token {reason}; start again without one")]
    PageToken {
        /// The collection.
        collection: &'static str,
        /// The reason, in words.
        reason: &'static str,
    },

    /// A request has parameters that can't be taken: those of [`RequestQuery::parse`](crate::request::RequestQuery::parse). Nothing was
    /// sent. Each of them can be serialized as it is, for an answer with the status 400.
    #[error("the request has parameters that can't be taken: {}", ShowList(.parameters))]
    Request {
        /// Each of them, in the order of the request.
        parameters: Vec<BadParameter>,
    },

    /// A JSON text can't be taken as a value of its type: that of `odm::json::from_slice` and the like. Each mistake can be
    /// serialized as it is, for an answer with the status 422 (400 where the text is no JSON).
    #[error("the JSON can't be taken: {}", ShowList(.values))]
    Json {
        /// Each of them, in the order of the text.
        values: Vec<BadValue>,
    },

    /// Some documents of `insert_many` were not inserted.
    #[error("{collection}: {} refused, {inserted} inserted; first refused: {}", .errors.len(), ShowFirst(.errors))]
    InsertMany {
        /// The collection.
        collection: &'static str,
        /// How many were inserted.
        inserted: usize,
        /// The position of each refused document among the given ones, and why. All documents that break a bound are listed,
        /// and an ordered insert sends nothing then. An ordered insert stops at the first document that the server refuses.
        errors: Vec<(usize, Error)>,
    },

    /// Some writes of a bulk were refused.
    #[error("{} writes of the bulk were refused; the first refused: {}", .errors.len(), ShowFirst(.errors))]
    Bulk {
        /// The position of each refused write, and why. All writes that break a bound are listed, and then nothing was sent. An
        /// ordered bulk stops at the first write that the server refuses.
        errors: Vec<(usize, Error)>,
        /// The result of the other writes.
        done: Box<BulkDone>,
    },

    /// The models are inconsistent. `Odm::new` reports this, before anything runs.
    #[error("the models are inconsistent: {}", .problems.join("; "))]
    Models {
        /// Each problem, in a sentence.
        problems: Vec<String>,
    },

    /// The deployment or its version lacks something that the operation needs.
    #[error("{operation} needs {needs}, and this deployment is {is}")]
    Unsupported {
        /// The requested operation.
        operation: &'static str,
        /// Its requirement.
        needs: &'static str,
        /// A description of the deployment.
        is: String,
    },

    /// The database holds copies, or the other sides of two-way references, that these models lack or declare in an older way.
    /// A write fails with this where no other program could update them later (`consistency = atomic`, links, buckets); nothing was
    /// written. [`sync`](crate::Odm::sync), [`check_models`](crate::Odm::check_models) and [`recover`](crate::Odm::recover)
    /// report everything that these models lack. A program with all models calls [`forget_copies`](crate::Odm::forget_copies)
    /// for what is not declared any more; a program that lacks models on purpose calls
    /// [`allow_unknown_copies`](crate::Odm::allow_unknown_copies).
    #[error(
        "the database holds copies that these models don't declare, or declare in an older way ({}), so only a program that \
         declares them may do this; register their documents, call `allow_unknown_copies()`, or call `forget_copies()` \
         (the command `forget`) for what no program declares any more",
        .edges.join(", ")
    )]
    UnknownCopies {
        /// Their names: of a copy both fields (`orders.name from customers.name`); of a computed field, of the other side of a
        /// two-way reference, and of anything whose declaration has changed since, its own name. Where a single write is
        /// refused, the collection of that write.
        edges: Vec<String>,
    },

    /// The database holds references to these documents that these models lack, with copies, or with an `on_delete` rule that a
    /// deletion would have to apply; or the rule of a reference has changed since, and these models have the earlier one. Nothing
    /// was deleted. A program with all models calls
    /// [`forget_copies`](crate::Odm::forget_copies) for what is not declared any more; a program that lacks models on purpose
    /// calls [`allow_unknown_copies`](crate::Odm::allow_unknown_copies).
    #[error(
        "{collection}: other documents refer to these by references that these models don't declare, or declare with an \
         earlier `on_delete` ({}): a deletion here could leave them dangling, or delete what is to stay; register their \
         documents, call `allow_unknown_copies()`, or call `forget_copies()` (the command `forget`) for what no program \
         declares any more",
        .references.join(", ")
    )]
    UnknownReferences {
        /// The collection of the deletion.
        collection: &'static str,
        /// The references, by collection and field.
        references: Vec<String>,
    },

    /// Existing documents violate a change of the schema: the change was not applied.
    #[error("{collection}: {change} was not applied, since {} it{}{}", Violating(.count), Samples(.sample), Reason(.reason))]
    ExistingDocuments {
        /// The collection.
        collection: &'static str,
        /// The change that was to be made, in words.
        change: String,
        /// How many documents violate it.
        count: u64,
        /// The ids of a few of them.
        sample: Vec<Bson>,
        /// Of a unique index: what to do if the value that they share is `null`; a missing field counts as `null`. Of one that was replaced in
        /// a window: what became of the previous index.
        reason: Option<String>,
    },

    /// The database has a collection or index of the same name that differs from the declaration, and odm does not replace it, unless a
    /// plan is told to: [`Plan::replace`](crate::Plan::replace).
    #[error("{collection}: {what}")]
    SchemaConflict {
        /// The collection.
        collection: &'static str,
        /// What differs, and what to do.
        what: String,
    },

    /// A step of a migration could not be made. What it has done stays, and the next run goes on there.
    #[error("the step `{step}`: {message}")]
    Step {
        /// The name of the step.
        step: String,
        /// The cause, and what to do.
        message: String,
    },

    /// The steps of a program and those that the database has don't go together. Nothing was changed.
    #[error("the steps can't be applied: {}", .problems.join("; "))]
    Migrations {
        /// All reasons, each with what to do.
        problems: Vec<String>,
    },

    /// Other writers changed the same documents during each attempt of the operation. Nothing was written: retry the operation.
    /// [`Error::is_transient`] is `true`.
    ///
    /// | operation | what another client has changed each time |
    /// | --- | --- |
    /// | an update or a replacement by the id or a key | the document held the change back (another version, a full array) when the server looked for it, and does not when it is asked why |
    /// | `update_first`, `delete_first` | the document that was found does not match any more |
    /// | an upsert by a condition that more than 1,000 documents match, with copies or links | none of them matches any more when they are read, and there are some again |
    /// | a deletion without transactions | the document is not as it was read |
    /// | counts, subsets and computed fields of a parent, without transactions | another writer has derived them since |
    /// | the other side of a link, without transactions | it names another document than the one that was written |
    /// | a push into a bucket | the bucket was filled, or the next one made, by other pushes |
    /// | a change of items of a bucket | the bucket has another version |
    /// | `sync`, `apply` | a collection or an index was created, changed or dropped |
    /// | any write | the server reports a conflict with a write of an open transaction (`WriteConflict`, code 112) |
    ///
    /// A test of the library (`tests/tests/errors/contention.rs`) has another client change the documents in each of these ways.
    #[error("{collection}: {message}")]
    Contention {
        /// The collection.
        collection: &'static str,
        /// Which documents were in contention, and what to do.
        message: String,
        /// The driver's error, where the server said so.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// The server can't be reached, is shutting down, or has just become a secondary.
    ///
    /// Repeat the operation where [`Error::is_transient`] is `true`. Where [`Error::outcome_unknown`] is `true`, a write may
    /// have been made: read what is stored before you repeat it.
    #[error("{}{}", DriverText(.source), ShowUnknown(.outcome_unknown))]
    Unavailable {
        /// Whether a write may have been made although no reply came.
        outcome_unknown: bool,
        /// The driver's error.
        source: Box<mongodb::error::Error>,
    },

    /// Some of the documents were written before this error ended the operation: retrying the whole operation writes those
    /// twice.
    #[error("{collection}: a part of the operation was written before this error: {source}")]
    Unfinished {
        /// The collection.
        collection: &'static str,
        /// The error that ended it.
        source: Box<Error>,
    },

    /// The server has closed the cursor of a query: it was killed, or its session ended. Resume the query after
    /// [`last`](Error::CursorLost::last), or let the stream do so: [`Find::resumable`](crate::Find::resumable).
    #[error("{collection}: the server has closed the cursor of the query{}: resume the query after it, or use `.resumable()`", Last(.last))]
    CursorLost {
        /// The collection.
        collection: &'static str,
        /// Of a stream: the sort fields and the `_id` of the last document that it returned, by their stored names. `None`
        /// where it returned none, or where a projection leaves one of these fields out.
        last: Option<Box<Document>>,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// The server has not the changes since the position of a change stream any more, or does not know the position: its oplog
    /// does not reach back so far. [`start_fresh`](crate::watch::Watch::start_fresh) begins with the changes from now on. The
    /// changes in between are missed, so read again what the application has made of the documents.
    #[error(
        "{collection}: the change stream can't go on {}, so changes are missed: begin anew with `start_fresh()`, and read the \
         documents again ({})",
        ShowPosition(.name), DriverText(.source)
    )]
    PositionLost {
        /// The collection; `(all)` of a stream of the database.
        collection: &'static str,
        /// The name of the stored position; `None` of a stream without a name, which was too slow.
        name: Option<String>,
        /// The driver's error.
        source: Box<mongodb::error::Error>,
    },

    /// The change would give `_id`, a field of a shard key, or one that is the same in referenced documents (`same(field)`), another value.
    /// [`Update::move_to`](crate::Update::move_to) changes these, but for `_id`.
    #[error("{collection}: `{field}` can't be changed{}", HowToChange(.field))]
    Immutable {
        /// The collection.
        collection: &'static str,
        /// The stored name of the field. `(shard key)` of a shard key of which the server does not say which field it is.
        field: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A field is stored as another type than the change or the query needs.
    #[error("{collection}: `{field}`{} is stored as {is}, and the operation needs {needs} there: `set` the whole field", OfId(.id))]
    StoredType {
        /// The collection.
        collection: &'static str,
        /// The document's id as the server prints it, where it says so.
        id: Option<String>,
        /// The field, as the server names it: for some operators without the fields that contain it.
        field: String,
        /// The type that the operation needs.
        needs: &'static str,
        /// The type that is stored.
        is: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// An index can't be created as it is declared, is missing, or can't index a value of the document.
    #[error("{collection}: {message}")]
    Index {
        /// The collection.
        collection: &'static str,
        /// The stored name of the field whose value can't be indexed, where the server reports it.
        field: Option<String>,
        /// The problem and what to do, with the server's message.
        message: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// The server can't compile a regular expression: it is too large, or not a valid one.
    #[error("{collection}: the server can't compile a regular expression of the query: {message}")]
    Pattern {
        /// The collection.
        collection: &'static str,
        /// The server's message.
        message: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A sort or a group needs more memory than the server allows for one operation: 100 MB.
    #[error(
        "{collection}: the operation needs more memory than the server allows for one operation (100 MB): declare an index \
         with this order, set a limit, or use `.allow_disk_use()`"
    )]
    Memory {
        /// The collection.
        collection: &'static str,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// The collection is of a type that does not allow the operation: a view, a capped collection or a time-series
    /// collection.
    #[error("{collection} is {is}, which does not allow this operation: {message}")]
    CollectionType {
        /// The collection.
        collection: &'static str,
        /// Its type.
        is: &'static str,
        /// The server's message.
        message: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// The server refuses the operation as it was built, by a rule that has no variant of its own here.
    #[error("{collection}: the server refuses the operation: {message} (code {code})")]
    Refused {
        /// The collection.
        collection: &'static str,
        /// The server's error code.
        code: i32,
        /// Its message.
        message: String,
        /// The driver's error.
        source: Option<Box<mongodb::error::Error>>,
    },

    /// A hook of the document, declared with `before_write` or `after_write(in_transaction)`, returned an error. Nothing of its
    /// transaction was written; one of the application can only be rolled back. See [`hooks`](crate::hooks).
    #[error("{collection}: the hook `{hook}` refused the write of the document with _id {id}: {source}")]
    Hook {
        /// The collection.
        collection: &'static str,
        /// The function, as the model declares it.
        hook: &'static str,
        /// The document's id.
        id: Box<Bson>,
        /// The error that it returned.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// An error of the application, returned by the closure of a transaction to roll back: [`Error::application`]. Or the text
    /// of the error that ended a transaction, if the closure [ignored that error](crate::Odm::transaction).
    #[error("{0}")]
    Application(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// Anything else that the driver or the server reported: authentication, a time limit, a write that was made and not
    /// acknowledged as its write concern demands.
    #[error("{}", DriverText(.0))]
    Driver(#[source] Box<mongodb::error::Error>),
}

impl Error {
    /// The error for references to documents that don't exist: the first ones, and all others.
    pub(crate) fn missing_references(all: impl IntoIterator<Item = MissingTargets>) -> Error {
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_default();
        Error::MissingReference {
            collection: first.collection,
            field: first.field,
            target: first.target,
            ids: first.ids,
            others: all.collect(),
        }
    }

    /// An error of the application, for the closure of a [transaction](crate::Odm::transaction): the transaction rolls back and
    /// returns it as [`Error::Application`].
    ///
    /// ```
    /// let error = odm::Error::application("the cart is empty");
    /// assert_eq!(error.to_string(), "the cart is empty");
    /// ```
    pub fn application(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Application(error.into())
    }

    /// Whether retrying the whole transaction may succeed: MongoDB's label `TransientTransactionError`, of a bulk on any of its errors.
    /// [`Odm::transaction`](crate::Odm::transaction) retries by itself.
    ///
    /// ```
    /// let error = odm::Error::Models { problems: vec![] };
    /// assert!(!error.is_transient_transaction_error());
    /// ```
    pub fn is_transient_transaction_error(&self) -> bool {
        if let Error::Bulk { errors, .. } = self {
            return errors
                .iter()
                .any(|(_, error)| error.is_transient_transaction_error());
        }
        self.driver_error()
            .is_some_and(|e| e.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR))
    }

    /// Whether nothing was written, and retrying the same operation may succeed: other writers changed the same documents
    /// ([`Error::Contention`]), the server could not be reached or refused the operation before it began
    /// ([`Error::Unavailable`]), a cursor was lost ([`Error::CursorLost`]), or a transaction has to be retried.
    ///
    /// Never `true` together with [`outcome_unknown`](Error::outcome_unknown). Within a transaction, retry the whole
    /// transaction: [`Odm::transaction`](crate::Odm::transaction) does so by itself.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
    /// let withdrawn = async || accounts.update(&7).inc(|a| a.cents, -500).await;
    /// let withdrawn = match withdrawn().await {
    ///     Err(error) if error.is_transient() => withdrawn().await?,
    ///     done => done?,
    /// };
    /// # Ok(()) }
    /// ```
    pub fn is_transient(&self) -> bool {
        if self.outcome_unknown() {
            return false;
        }
        let nothing = |errors: &[(usize, Error)]| {
            !errors.is_empty() && errors.iter().all(|(_, error)| error.is_transient())
        };
        match self {
            Error::Contention { .. } | Error::Unavailable { .. } | Error::CursorLost { .. } => true,
            Error::InsertMany { inserted, errors, .. } => *inserted == 0 && nothing(errors),
            Error::Bulk { errors, done } => **done == BulkDone::default() && nothing(errors),
            Error::Unfinished { .. } => false,
            _ => self.is_transient_transaction_error(),
        }
    }

    /// Whether a write may have been made although the operation returned an error: its reply was lost and the driver can't
    /// retry the command (a change or deletion of many documents, a deployment without retryable writes, a second loss), a
    /// commit was not confirmed, or the write was made but not acknowledged as its write concern requires.
    ///
    /// Read the stored documents before you retry the write. A write that only sets fields to fixed values can be retried at
    /// once.
    ///
    /// ```
    /// use odm::{Error, mongodb::error::Error as DriverError};
    ///
    /// let lost: Error = DriverError::from(std::io::Error::other("connection reset")).into();
    /// assert!(lost.outcome_unknown() && !lost.is_transient());
    /// ```
    pub fn outcome_unknown(&self) -> bool {
        use mongodb::error::{ErrorKind, UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteFailure};
        match self {
            Error::Unavailable { outcome_unknown, .. } => *outcome_unknown,
            Error::Unfinished { source, .. } => source.outcome_unknown(),
            Error::InsertMany { errors, .. } | Error::Bulk { errors, .. } => {
                errors.iter().any(|(_, error)| error.outcome_unknown())
            }
            _ => self.driver_error().is_some_and(|error| {
                error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT)
                    || match &*error.kind {
                        ErrorKind::Write(WriteFailure::WriteConcernError(_)) => true,
                        ErrorKind::InsertMany(many) => many.write_concern_error.is_some(),
                        ErrorKind::BulkWrite(bulk) => !bulk.write_concern_errors.is_empty(),
                        _ => false,
                    }
            }),
        }
    }

    /// The same for an operation that only reads: nothing was written, whatever reply was lost.
    pub(crate) fn of_read(mut self) -> Error {
        match &mut self {
            Error::Unavailable { outcome_unknown, .. } => *outcome_unknown = false,
            Error::TooLarge { what, .. } if *what == DOCUMENT => *what = "the query",
            _ => {}
        }
        self
    }

    /// The same after a part of the operation was written, so that callers don't take it for an error after which nothing was
    /// changed.
    pub(crate) fn after_a_part(self, collection: &'static str) -> Error {
        if self.is_transient() {
            Error::Unfinished {
                collection,
                source: Box::new(self),
            }
        } else {
            self
        }
    }

    /// The driver's error behind this one, if there is one.
    ///
    /// ```
    /// fn is_broken_connection(error: &odm::Error) -> bool {
    ///     use odm::mongodb::error::ErrorKind;
    ///     error.driver_error().is_some_and(|e| matches!(*e.kind, ErrorKind::Io(_)))
    /// }
    /// assert!(!is_broken_connection(&odm::Error::Models { problems: vec![] }));
    /// ```
    pub fn driver_error(&self) -> Option<&mongodb::error::Error> {
        match self {
            Error::Driver(e) => Some(e),
            Error::Unavailable { source, .. } | Error::PositionLost { source, .. } => Some(source),
            Error::Unfinished { source, .. } => source.driver_error(),
            Error::DuplicateKey { source, .. }
            | Error::Invalid { source, .. }
            | Error::NotADocument { source, .. }
            | Error::TooLarge { source, .. }
            | Error::Contention { source, .. }
            | Error::CursorLost { source, .. }
            | Error::Immutable { source, .. }
            | Error::StoredType { source, .. }
            | Error::Index { source, .. }
            | Error::Pattern { source, .. }
            | Error::Memory { source, .. }
            | Error::CollectionType { source, .. }
            | Error::Refused { source, .. } => source.as_deref(),
            Error::Bulk { errors, .. } => match errors.as_slice() {
                [(_, error)] => error.driver_error(),
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<mongodb::error::Error> for Error {
    fn from(e: mongodb::error::Error) -> Error {
        match driver::unavailable(&e) {
            Some(outcome_unknown) => Error::Unavailable {
                outcome_unknown,
                source: Box::new(e),
            },
            None => Error::Driver(Box::new(e)),
        }
    }
}

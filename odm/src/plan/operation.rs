//! Operations: the writes of an application, as plain data, and the questions that the engine and the rules ask of a write: of an update
//! its operators answer, of a whole document its type.

use crate::graph::Graph;
use crate::graph::edge::{Edge, ReferenceTarget};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::keep::{FilledReplacement, Replacement};
use crate::plan::operators::guard::Guard;
use crate::plan::operators::implied::{demanded, from_condition};
use crate::plan::operators::inserted::can_be_read;
use crate::plan::operators::{Built, NO_FIELD};
use crate::plan::outcome::{Outcome, Refusals};
use crate::plan::touches::{Affected, ArrayEffect, Touches, WrittenFields, prepare};
use crate::plan::upsert::{UniqueKey, demands_key};
use crate::store::batch::stored_value;
use crate::store::filter::{all, by_id, named_id, within};
use crate::store::packed::Packed;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{Collation, ReturnDocument, UpdateModifications};
use std::borrow::Cow;
use std::sync::Arc;

/// Writes that are executed together.
pub(crate) struct WriteOperation {
    pub(crate) writes: Writes,
    pub(crate) batching: Batching,
}

impl WriteOperation {
    /// One write.
    pub(crate) fn one(meta: &'static DocumentMeta, what: WriteKind) -> WriteOperation {
        let write = Write { at: 0, meta, what };
        WriteOperation {
            writes: Writes::One(write),
            batching: Batching::Single,
        }
    }
}

#[derive(Clone)]
pub(crate) enum Writes {
    One(Write),
    Each(Vec<Write>),
    /// New documents of one collection in one buffer. They are separated only where the library checks them or puts something
    /// into them, or where they are wanted back as they are stored.
    Packed {
        meta: &'static DocumentMeta,
        documents: Packed,
        give_back: bool,
    },
}

impl Writes {
    /// The collection of the first one.
    pub(crate) fn collection(&self) -> &'static str {
        match self {
            Writes::One(write) => write.meta.collection,
            Writes::Each(writes) => writes.first().map_or("", |write| write.meta.collection),
            Writes::Packed { meta, .. } => meta.collection,
        }
    }
}

/// The kind of command that holds the writes. The first refused write ends an ordered operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batching {
    /// One write, by the driver's action for its kind.
    Single,
    /// Inserts into one collection. A refused one is an entry of [`Outcome::refusals`].
    InsertMany { ordered: bool },
    /// Any writes, by `bulkWrite` where the server has it and `by_runs` is not set, else by a command for each run of writes of one
    /// kind to one collection.
    Bulk { ordered: bool, by_runs: bool },
}

impl Batching {
    /// Whether the first refused write ends the operation.
    pub(crate) fn is_ordered(self) -> bool {
        match self {
            Batching::Single => true,
            Batching::InsertMany { ordered } | Batching::Bulk { ordered, .. } => ordered,
        }
    }

    pub(crate) fn is_bulk(self) -> bool {
        matches!(self, Batching::Bulk { .. })
    }

    /// The outcome of an operation of which these writes were refused.
    pub(crate) fn refused(self, errors: Vec<(usize, Error)>) -> Outcome {
        Outcome {
            refusals: Refusals {
                errors,
                ordered: self.is_ordered(),
            },
            ..Outcome::default()
        }
    }
}

impl WriteOperation {
    /// The collection that errors of the operation as a whole name.
    pub(crate) fn collection(&self) -> &'static str {
        match &self.writes {
            Writes::One(write) => write.meta.collection,
            Writes::Packed { meta, .. } => meta.collection,
            Writes::Each(_) => "(all)",
        }
    }
}

/// One write of an operation.
#[derive(Clone)]
pub(crate) struct Write {
    /// Its position among those that the application gave: errors name it.
    pub(crate) at: usize,
    pub(crate) meta: &'static DocumentMeta,
    pub(crate) what: WriteKind,
}

#[derive(Clone)]
pub(crate) enum WriteKind {
    Insert(RawDocumentBuf),
    Update(Box<UpdateWrite>),
    UpdateMany(Box<UpdateManyWrite>),
    Replace(Box<ReplaceWrite>),
    Delete(Box<DeleteWrite>),
}

impl Write {
    /// Whether it is a statement for one document that is named by its id: nothing is looked up before, and no rule of other documents
    /// makes it several statements, as it does a deletion.
    pub(crate) fn is_direct(&self) -> bool {
        match &self.what {
            WriteKind::Insert(_) | WriteKind::Replace(_) => true,
            WriteKind::Update(update) => update.collation.is_none(),
            WriteKind::UpdateMany(_) | WriteKind::Delete(_) => false,
        }
    }

    /// Whether it is an upsert of which more than its own statement is to be known: why it matched nothing, or what it inserted.
    pub(crate) fn is_upsert_in_steps(&self, graph: &Graph) -> bool {
        let by_rules = || graph.is_related(self.meta) || graph.is_depended_on(self.meta);
        let in_steps = |built: &Built| !built.is_one_statement() || !built.guards.is_empty();
        match &self.what {
            WriteKind::Update(update) => {
                let has_version = update
                    .one
                    .as_ref()
                    .is_some_and(|one| one.expected_version.is_some());
                update.upsert && (has_version || by_rules() || in_steps(&update.built))
            }
            WriteKind::UpdateMany(update) => update.upsert && (by_rules() || in_steps(&update.built)),
            WriteKind::Insert(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => false,
        }
    }

    /// Whether its condition compares strings in a way of its own.
    pub(crate) fn has_collation(&self) -> bool {
        match &self.what {
            WriteKind::Update(update) => update.collation.is_some(),
            WriteKind::UpdateMany(update) => update.collation.is_some(),
            WriteKind::Delete(delete) => delete.collation.is_some(),
            WriteKind::Insert(_) | WriteKind::Replace(_) => false,
        }
    }
}

/// Which of the documents that match a condition is the first, and how it is found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) sort: Document,
    pub(crate) collation: Option<Collation>,
    pub(crate) hint: Option<String>,
}

/// A document by its id, and by its version where the application has read one.
#[derive(Clone, Debug)]
pub(crate) struct DocumentById {
    pub(crate) id: Bson,
    pub(crate) expected_version: Option<i64>,
    /// What the document has to match too: the scope of the handle for this type, and the values of the shard key that were given.
    pub(crate) within: Option<Box<Document>>,
}

impl DocumentById {
    pub(crate) fn new(id: Bson, expected_version: Option<i64>) -> DocumentById {
        DocumentById {
            id,
            expected_version,
            within: None,
        }
    }

    /// The same, where the document has these values too.
    pub(crate) fn restrict(&mut self, values: Document) {
        let scope = self.within.take().map(|scope| *scope);
        self.within = Some(Box::new(all(scope.into_iter().chain([values]))));
    }

    /// The id, and the values of the shard key that are demanded beside it: the key of an error that says that there is none.
    pub(crate) fn key(&self, meta: &DocumentMeta) -> Document {
        let mut key = doc! { "_id": &self.id };
        if let Some(within) = self.within.as_deref() {
            let fields = meta.key_beside_id();
            key.extend(fields.filter_map(|name| Some((name.to_owned(), demanded(within, name)?.clone()))));
        }
        key
    }

    /// The condition of the document, whatever its version is.
    pub(crate) fn place(&self) -> Document {
        let place = by_id(&self.id);
        match &self.within {
            Some(scope) => within(place, scope),
            None => place,
        }
    }

    pub(crate) fn filter(&self, meta: &DocumentMeta) -> Document {
        let (Some(seen), Some(name)) = (self.expected_version, meta.version()) else {
            return self.place();
        };
        // A document from before its type had versions holds none, which is read as 0 where serde has a default for it.
        let version = match seen {
            0 => doc! { name: { "$in": [0_i64, null] } },
            seen => doc! { name: seen },
        };
        all([self.place(), version])
    }
}

/// The reply that an update of one document asks the server for.
#[derive(Clone)]
pub(crate) enum Reply {
    /// How many documents matched, and how many were changed.
    Counts,
    /// The document before or after the update.
    Document(ReturnDocument),
    /// This field of the document, as it was before the update.
    Field(&'static str),
}

/// An update of one document.
#[derive(Clone)]
pub(crate) struct UpdateWrite {
    /// The document; `None`: the one that matches the condition alone, and none that matches is no error. Only for a condition that
    /// matches one document at most: the rules read all that match.
    pub(crate) one: Option<DocumentById>,
    /// A condition on the document. One that has an id was found by that, and may have changed since.
    pub(crate) also: Option<Document>,
    /// The order in which the first document is the one, of those that match the filter alone. With a reply that is a document.
    pub(crate) first: Option<Box<Selection>>,
    pub(crate) built: Built,
    /// The fields and references that the changes touch: read when the write is completed.
    pub(crate) touches: Touches,
    pub(crate) upsert: bool,
    pub(crate) collation: Option<Collation>,
    pub(crate) reply: Reply,
    /// Of a move: what names the document afterwards.
    pub(crate) moved: Option<Arc<RawDocumentBuf>>,
}

impl UpdateWrite {
    /// # Errors
    /// As [`prepare`], and where an upsert begins with a default that it can't fill.
    pub(crate) fn new(
        odm: &Odm,
        meta: &'static DocumentMeta,
        one: DocumentById,
        mut built: Built,
        upsert: bool,
    ) -> Result<UpdateWrite> {
        if upsert {
            has_one_variant(meta)?;
            built.moves_nothing(meta.collection)?;
        }
        if built.update.is_empty() && upsert {
            // An upsert without a change makes sure that the document is there; the server takes no empty update.
            built.update = doc! { "$setOnInsert": { "_id": &one.id } };
        }
        prepare(odm.graph(), meta, &mut built)?;
        if upsert {
            built.fills_at_once(meta.collection, "an upsert")?;
        }
        Ok(UpdateWrite {
            upsert,
            ..UpdateWrite::by_id(one, built)
        })
    }

    /// An update of this document, in which nothing is to be checked.
    pub(crate) fn by_id(one: DocumentById, built: Built) -> UpdateWrite {
        UpdateWrite {
            one: Some(one),
            also: None,
            first: None,
            built,
            touches: Touches::default(),
            upsert: false,
            collation: None,
            reply: Reply::Counts,
            moved: None,
        }
    }

    /// An update of the one document that matches this condition and the guards.
    pub(crate) fn matching(condition: Document, built: Built, reply: Reply) -> UpdateWrite {
        UpdateWrite {
            one: None,
            also: Some(condition),
            first: None,
            built,
            touches: Touches::default(),
            upsert: false,
            collation: None,
            reply,
            moved: None,
        }
    }

    /// The same in a bulk, which has no place for a statement before it.
    ///
    /// # Errors
    /// As [`UpdateWrite::new`], and where the change needs a statement before it.
    pub(crate) fn in_bulk(
        odm: &Odm,
        meta: &'static DocumentMeta,
        one: DocumentById,
        built: Built,
    ) -> Result<UpdateWrite> {
        built.adds_alone(meta.collection)?;
        built.moves_nothing(meta.collection)?;
        let mut update = UpdateWrite::new(odm, meta, one, built, false)?;
        update.built.fills_at_once(meta.collection, "a bulk")?;
        let idle = update.one.as_ref().map(|one| one.filter(meta));
        let idle = idle.and_then(|filter| update.built.idle_among(filter));
        update.built.idle = idle.map(Box::new);
        Ok(update)
    }

    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.built.update.is_empty()
    }

    /// With the id as it is stored.
    pub(crate) fn rename(&mut self, id: Bson) {
        if let Some(one) = &mut self.one {
            one.id = id;
        }
    }

    /// The condition: of the document, of what else it has to match, and of the guards.
    pub(crate) fn condition(&self, meta: &DocumentMeta) -> Document {
        let one = self.one.as_ref().map(|one| one.filter(meta));
        guarded(one.into_iter().chain(self.also.clone()), &self.built.guards)
    }

    /// Whether it matches its document wherever that is there: one that matches nothing is made by no further attempt.
    pub(crate) fn is_unconditional(&self) -> bool {
        let is_by_id = self
            .one
            .as_ref()
            .is_some_and(|one| one.expected_version.is_none());
        is_by_id && self.also.is_none() && !self.upsert && self.built.is_plain()
    }

    /// The condition and the update of its statement. An update that no other attempt and no error needs is moved, another one copied.
    pub(crate) fn take_statement(&mut self, meta: &DocumentMeta) -> (Document, UpdateModifications) {
        let condition = self.condition(meta);
        let update = if self.is_unconditional() && self.built.is_small() && !self.touches.is_of_source {
            std::mem::take(&mut self.built.update).into()
        } else {
            self.built.modifications()
        };
        (condition, update)
    }

    /// The same document, with what remains to be done.
    pub(crate) fn with(&self, built: Built) -> UpdateWrite {
        UpdateWrite {
            built,
            ..self.clone()
        }
    }

    /// Why an upsert inserts nothing where there is no document, if it does not.
    pub(crate) fn refused_insert(&self, meta: &DocumentMeta) -> Option<Error> {
        let id = self.one.as_ref().map_or(&Bson::Null, |one| &one.id);
        refused_insert(meta, &self.built, self.upsert, id, &Document::new())
    }
}

/// Why an upsert with these changes inserts nothing, if it does not: what it adds to a number that is not there passes
/// the number's bound.
fn refused_insert(
    meta: &DocumentMeta,
    built: &Built,
    upsert: bool,
    id: &Bson,
    condition: &Document,
) -> Option<Error> {
    let mut guards = built.guards.iter().filter(|_| upsert);
    guards.find_map(|guard| guard.refused_insert(meta.collection, id, condition))
}

/// These conditions, and those of the guards.
fn guarded(conditions: impl IntoIterator<Item = Document>, guards: &[Guard]) -> Document {
    all(conditions.into_iter().chain(guards.iter().map(Guard::condition)))
}

/// Refuses an upsert that does not tell of which variant a new document would be.
fn has_one_variant(meta: &DocumentMeta) -> Result<()> {
    let Some(variant) = meta.variants().next() else {
        return Ok(());
    };
    Err(crate::Error::Query {
        collection: meta.collection,
        message: format!(
            "an upsert of a `{}` does not tell which variant it would insert: upsert in the collection of that variant, \
             `odm.collection::<{}>()`",
            meta.name, variant.name
        ),
    })
}

/// An update of all documents that match a condition.
#[derive(Clone)]
pub(crate) struct UpdateManyWrite {
    pub(crate) condition: Document,
    /// The condition, with the guards of the changes.
    pub(crate) filter: Document,
    /// The condition of those that match and that a bound holds back, where they are counted.
    pub(crate) held: Option<Document>,
    /// The condition of those that the range of an integer type holds back, counted only after an upsert that matched none or was
    /// refused.
    pub(crate) held_uncounted: Option<Document>,
    /// The condition of those that match and have the item that is added by its value already.
    pub(crate) has: Option<Document>,
    /// Whether defaults are filled by a statement before it.
    pub(crate) fills_first: bool,
    pub(crate) built: Built,
    /// The fields and references that the changes touch: read when the write is completed.
    pub(crate) touches: Touches,
    pub(crate) upsert: bool,
    /// Whether documents that the range of a type holds back are counted.
    pub(crate) counts: bool,
    pub(crate) collation: Option<Collation>,
    /// The index of the condition.
    pub(crate) hint: Option<String>,
    /// Of an upsert, and of an update by a key in a bulk: the unique keys of which the condition demands all values, so that it matches one document at most.
    pub(crate) keys: Vec<UniqueKey>,
}

impl UpdateManyWrite {
    /// # Errors
    /// As [`prepare`].
    pub(crate) fn new(
        odm: &Odm,
        meta: &'static DocumentMeta,
        condition: Document,
        mut built: Built,
        counts: bool,
    ) -> Result<UpdateManyWrite> {
        let condition = odm.in_scope(meta, condition, false)?;
        odm.keeps_scope(meta, &built.update, &[])?;
        built.begin_with(&condition, &[]);
        prepare(odm.graph(), meta, &mut built)?;
        UpdateManyWrite::with_guards(meta, condition, built, false, counts)
    }

    /// An update that inserts a document with the values that the condition demands where none matches. `given` are those of them
    /// that the server does not take from the condition.
    ///
    /// # Errors
    /// As [`prepare`]; where the update changes a value that the condition demands; where it begins with a default that
    /// it can't fill.
    pub(crate) fn upsert(
        odm: &Odm,
        meta: &'static DocumentMeta,
        (condition, given): (Document, Vec<(&'static str, Bson)>),
        mut built: Built,
        collation: Option<Collation>,
        counts: bool,
        in_transaction: bool,
    ) -> Result<UpdateManyWrite> {
        has_one_variant(meta)?;
        // A deleted document has left its unique keys to the new one.
        let condition = odm.existing_in_scope(meta, condition, false)?;
        odm.keeps_scope(meta, &built.update, &[])?;
        built.begin_with(&condition, &given);
        if built.update.is_empty() {
            // An upsert without a change; the server takes no empty update, and no document has this.
            built.update = doc! { "$unset": { NO_FIELD: "" } };
        }
        prepare(odm.graph(), meta, &mut built)?;
        built.insert_given(meta.collection, given)?;
        from_condition(odm.graph(), meta, &condition, &mut built.update)?;
        odm.keeps_scope(meta, &built.update, &[])?;
        built.fills_at_once(meta.collection, "an upsert")?;
        // An upsert must not insert beside a document that the range of a type holds back. By a whole unique key it can't: the
        // server refuses it, which ends a transaction.
        let keys = if collation.is_none() {
            UniqueKey::all_of(odm.graph(), meta, &condition, &built.update)
        } else {
            Vec::new()
        };
        if let Some(key) = keys.iter().find(|key| key.collation.is_some())
            && !keys.iter().any(|key| key.collation.is_none())
        {
            return Err(key.compares_otherwise(meta));
        }
        let counts = counts || in_transaction || keys.is_empty() || meta.has_hooks();
        let mut update = UpdateManyWrite::with_guards(meta, condition, built, true, counts)?;
        update.collation = collation;
        update.keys = keys;
        Ok(update)
    }

    /// The same in a bulk. `is_key` says that the condition demands a unique key: the update is sent as one of one document, so that a
    /// missing document is counted.
    ///
    /// # Errors
    /// As [`UpdateManyWrite::new`], and where the change needs a statement before it.
    pub(crate) fn in_bulk(
        odm: &Odm,
        meta: &'static DocumentMeta,
        condition: Document,
        built: Built,
        is_key: bool,
    ) -> Result<UpdateManyWrite> {
        built.adds_alone(meta.collection)?;
        let mut update = UpdateManyWrite::new(odm, meta, condition, built, false)?;
        update.built.fills_at_once(meta.collection, "a bulk")?;
        let idle = update.built.idle_among(update.condition.clone());
        update.built.idle = idle.map(Box::new);
        if is_key {
            update.keys = UniqueKey::all_of(odm.graph(), meta, &update.condition, &update.built.update);
        }
        Ok(update)
    }

    /// An upsert of a bulk.
    ///
    /// # Errors
    /// As [`UpdateManyWrite::upsert`], and where the condition demands no unique key: it would have to be known what it matched.
    pub(crate) fn upsert_in_bulk(
        odm: &Odm,
        meta: &'static DocumentMeta,
        (condition, given): (Document, Vec<(&'static str, Bson)>),
        built: Built,
    ) -> Result<UpdateManyWrite> {
        let condition = odm.existing_in_scope(meta, condition, false)?;
        demands_key(odm.graph(), meta, &condition)?;
        UpdateManyWrite::upsert(odm, meta, (condition, given), built, None, false, false)
    }

    fn with_guards(
        meta: &'static DocumentMeta,
        condition: Document,
        built: Built,
        upsert: bool,
        counts: bool,
    ) -> Result<UpdateManyWrite> {
        let has = built.adds_alone(meta.collection)?;
        let has = has.map(|there| all([condition.clone(), there]));
        let filter = guarded([condition.clone()], &built.guards);
        let held = |counted: &dyn Fn(&Guard) -> bool| {
            let bounds = built
                .guards
                .iter()
                // Where nothing can hold the change back but that there is nothing to change, there is nothing to count.
                .filter(|guard| !guard.lets_be() && counted(guard));
            let bounds = all(bounds.map(Guard::condition));
            // MongoDB counts by a pipeline, in which it refuses `$near`: then those held back are not known.
            let counts = !bounds.is_empty() && !crate::query::filter::has_near(&condition);
            counts.then(|| all([condition.clone(), doc! { "$nor": [bounds] }]))
        };
        Ok(UpdateManyWrite {
            filter,
            held: held(&|guard| counts || !guard.is_of_type()),
            held_uncounted: held(&|guard| !counts && upsert && guard.is_of_type()),
            // An update that inserts nothing counts them with its own documents.
            has: has.filter(|_| upsert),
            fills_first: built.fills_first(),
            built,
            touches: Touches::default(),
            upsert,
            counts,
            collation: None,
            hint: None,
            keys: Vec::new(),
            condition,
        })
    }

    /// Restricts all of its conditions.
    fn restrict(&mut self, scope: &Document) {
        self.condition = within(std::mem::take(&mut self.condition), scope);
        self.filter = within(std::mem::take(&mut self.filter), scope);
        let idle = self.built.idle.as_deref_mut();
        let counted = [&mut self.held, &mut self.held_uncounted, &mut self.has];
        for condition in counted.into_iter().flatten().chain(idle) {
            *condition = within(std::mem::take(condition), scope);
        }
    }

    /// An update that the library makes itself, in which nothing of the application's is to be checked.
    pub(crate) fn by_library(
        meta: &'static DocumentMeta,
        condition: Document,
        update: Document,
    ) -> Result<UpdateManyWrite> {
        let built = Built {
            update,
            ..Built::nothing()
        };
        UpdateManyWrite::with_guards(meta, condition, built, false, false)
    }

    /// The same changes of the documents that match another condition. Nothing is inserted.
    pub(crate) fn part(&self, meta: &'static DocumentMeta, condition: Document) -> Result<UpdateManyWrite> {
        UpdateManyWrite::with_guards(meta, condition, self.built.clone(), false, self.counts)
    }

    /// The same by another condition, which takes no collation.
    pub(crate) fn found(&self, meta: &'static DocumentMeta, condition: Document) -> Result<UpdateManyWrite> {
        UpdateManyWrite::with_guards(meta, condition, self.built.clone(), self.upsert, self.counts)
    }

    /// Why an upsert inserts nothing where no document matches, if it does not.
    pub(crate) fn refused_insert(&self, meta: &DocumentMeta) -> Option<Error> {
        refused_insert(meta, &self.built, self.upsert, &Bson::Null, &self.filter)
    }
}

/// A whole document in the place of the one with its id.
#[derive(Clone)]
pub(crate) struct ReplaceWrite {
    pub(crate) one: DocumentById,
    pub(crate) body: ReplacementBody,
    pub(crate) exact: bool,
    /// Whether the library has put something into the document.
    pub(crate) changed: bool,
    /// The time at which the stored document was made, where an attempt has found that it is not the given one.
    pub(crate) created: Option<(String, Option<Bson>)>,
    /// Whether the document is inserted where there is none.
    pub(crate) precedes_insert: bool,
}

/// The document of a replacement.
#[derive(Clone)]
pub(crate) enum ReplacementBody {
    /// The application's fields.
    Given(RawDocumentBuf),
    /// The statement, with the values of the library.
    Made(Box<Replacement>),
}

impl ReplaceWrite {
    /// Whether it matches its document wherever that is there.
    pub(crate) fn is_unconditional(&self) -> bool {
        let has_time = matches!(&self.body, ReplacementBody::Made(made) if made.created.is_some());
        self.one.expected_version.is_none() && (self.created.is_some() || !has_time)
    }

    pub(crate) fn new(one: DocumentById, document: RawDocumentBuf, exact: bool) -> ReplaceWrite {
        ReplaceWrite {
            one,
            body: ReplacementBody::Given(document),
            exact,
            changed: false,
            created: None,
            precedes_insert: false,
        }
    }

    /// Makes the statement of the application's fields, or of those that the library has filled in.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode).
    pub(crate) fn make(&mut self, meta: &DocumentMeta, filled: Option<FilledReplacement>) -> Result<()> {
        if let ReplacementBody::Given(document) = &mut self.body {
            let document = std::mem::take(document);
            let made = Replacement::new(meta, document, filled, self.exact)?;
            self.body = ReplacementBody::Made(Box::new(made));
        }
        Ok(())
    }

    /// The statement.
    ///
    /// # Errors
    /// [`Error::Encode`](crate::Error::Encode).
    pub(crate) fn replacement(&self, meta: &DocumentMeta) -> Result<Cow<'_, Replacement>> {
        match &self.body {
            ReplacementBody::Made(made) => Ok(Cow::Borrowed(made)),
            ReplacementBody::Given(document) => {
                Replacement::new(meta, document.clone(), None, self.exact).map(Cow::Owned)
            }
        }
    }

    /// The update of the statement, where no further attempt needs it: it is moved.
    pub(crate) fn take_update(&mut self) -> Option<UpdateModifications> {
        let is_unconditional = self.is_unconditional();
        match &mut self.body {
            ReplacementBody::Made(made) if is_unconditional => {
                let nothing = UpdateModifications::Pipeline(Vec::new());
                Some(std::mem::replace(&mut made.update, nothing))
            }
            ReplacementBody::Made(_) | ReplacementBody::Given(_) => None,
        }
    }

    /// The application's fields as they are stored.
    pub(crate) fn stored(&self) -> &RawDocumentBuf {
        match &self.body {
            ReplacementBody::Made(made) => &made.document,
            ReplacementBody::Given(document) => document,
        }
    }
}

/// A deletion.
#[derive(Clone)]
pub(crate) struct DeleteWrite {
    /// The document; `None`: all that match the filter.
    pub(crate) one: Option<DocumentById>,
    pub(crate) filter: Document,
    /// Which of those that match is the first, and is deleted alone and given back.
    pub(crate) first: Option<Box<Selection>>,
    pub(crate) collation: Option<Collation>,
    /// The index of a condition.
    pub(crate) hint: Option<String>,
    /// Whether documents are removed, also those of a type whose deletions keep them.
    pub(crate) removes: bool,
}

impl DeleteWrite {
    pub(crate) fn one(meta: &DocumentMeta, one: DocumentById) -> DeleteWrite {
        DeleteWrite {
            filter: one.filter(meta),
            one: Some(one),
            first: None,
            collation: None,
            hint: None,
            removes: false,
        }
    }

    pub(crate) fn many(filter: Document) -> DeleteWrite {
        DeleteWrite {
            one: None,
            filter: all([filter]),
            first: None,
            collation: None,
            hint: None,
            removes: false,
        }
    }
}

impl Write {
    /// Restricts the write to the documents in the scope of the handle, and fills in its values in new ones.
    ///
    /// # Errors
    /// [`Error::OutOfScope`](crate::Error::OutOfScope).
    pub(crate) fn enter_scope(&mut self, odm: &Odm) -> Result<()> {
        let meta = self.meta;
        match &mut self.what {
            WriteKind::Insert(document) => odm.put_scope(meta, document)?,
            WriteKind::Replace(replace) => {
                if let ReplacementBody::Given(document) = &mut replace.body {
                    odm.put_scope(meta, document)?;
                }
                if let Some(scope) = odm.replaceable_by(meta, replace.stored()) {
                    replace.one.within = Some(Box::new(scope));
                }
            }
            WriteKind::Update(update) => {
                odm.keeps_scope(meta, &update.built.update, &update.built.moves)?;
                let by = update.first.as_deref();
                let collated = update.collation.is_some() || by.is_some_and(|by| by.collation.is_some());
                odm.can_restrict(meta, collated)?;
                let with_deleted = odm.scopes().with_deleted;
                let Some(scope) = odm.scopes().condition(meta, with_deleted, collated) else {
                    return Ok(());
                };
                if let Some(idle) = &mut update.built.idle {
                    **idle = within(std::mem::take(&mut **idle), &scope);
                }
                match &mut update.one {
                    None => {
                        let condition = update.also.take().unwrap_or_default();
                        update.also = Some(within(condition, &scope));
                    }
                    Some(one) => {
                        one.restrict(scope);
                        let condition = update.condition(meta);
                        update.built.begin_with(&condition, &[]);
                    }
                }
            }
            // Its conditions have the scope. They were made before its collation was known.
            WriteKind::UpdateMany(update) if update.collation.is_some() => {
                odm.can_restrict(meta, true)?;
                let with_deleted = odm.scopes().with_deleted && !update.upsert;
                if let Some(scope) = odm.scopes().condition(meta, with_deleted, true) {
                    update.restrict(&scope);
                }
            }
            WriteKind::UpdateMany(_) => {}
            WriteKind::Delete(delete) => {
                let by = delete.first.as_deref();
                let collated = delete.collation.is_some() || by.is_some_and(|by| by.collation.is_some());
                odm.can_restrict(meta, collated)?;
                let with_deleted = delete.removes;
                if let Some(scope) = odm.scopes().condition(meta, with_deleted, collated) {
                    delete.filter = within(std::mem::take(&mut delete.filter), &scope);
                    if let Some(one) = &mut delete.one {
                        one.restrict(scope);
                    }
                }
            }
        }
        Ok(())
    }
    /// Refuses an upsert of which a new document could not be read. Its condition has the scope of the handle.
    ///
    /// # Errors
    /// Those of [`can_be_read`].
    pub(crate) fn inserts_readable(&self) -> Result<()> {
        match &self.what {
            WriteKind::Update(update) if update.upsert => {
                can_be_read(self.meta, &update.built, &update.condition(self.meta))
            }
            WriteKind::UpdateMany(update) if update.upsert => {
                can_be_read(self.meta, &update.built, &update.filter)
            }
            _ => Ok(()),
        }
    }

    /// Reads the operators of an update. Everything after this goes by what was found.
    ///
    /// # Errors
    /// As [`Touches::read`].
    pub(crate) fn read_operators(&mut self, graph: &Graph) -> Result<()> {
        let meta = self.meta;
        match &mut self.what {
            WriteKind::Update(update) => {
                let inserts = update.upsert.then(|| update.condition(meta));
                update.touches = Touches::read(graph, meta, &update.built, inserts.as_ref())?;
            }
            WriteKind::UpdateMany(update) => {
                let inserts = Some(&update.filter).filter(|_| update.upsert);
                update.touches = Touches::read(graph, meta, &update.built, inserts)?;
            }
            WriteKind::Insert(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => {}
        }
        Ok(())
    }

    /// The fields and references that an update touches.
    pub(crate) fn touches(&self) -> Option<&Touches> {
        match &self.what {
            WriteKind::Update(update) => Some(&update.touches),
            WriteKind::UpdateMany(update) => Some(&update.touches),
            WriteKind::Insert(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => None,
        }
    }

    /// The whole document that is stored.
    pub(crate) fn document(&self) -> Option<&RawDocument> {
        match &self.what {
            WriteKind::Insert(document) => Some(document),
            WriteKind::Replace(replace) => Some(replace.stored()),
            WriteKind::Update(_) | WriteKind::UpdateMany(_) | WriteKind::Delete(_) => None,
        }
    }

    /// The document that is inserted.
    pub(crate) fn inserted(&self) -> Option<&RawDocument> {
        match &self.what {
            WriteKind::Insert(document) => Some(document),
            _ => None,
        }
    }

    pub(crate) fn is_insert(&self) -> bool {
        self.inserted().is_some()
    }

    pub(crate) fn is_upsert(&self) -> bool {
        match &self.what {
            WriteKind::Update(update) => update.upsert,
            WriteKind::UpdateMany(update) => update.upsert,
            WriteKind::Insert(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => false,
        }
    }

    /// The operators of an update of all documents that match a condition, and of no others.
    pub(crate) fn plain_update_of_many(&self) -> Option<&Document> {
        match &self.what {
            WriteKind::UpdateMany(update)
                if !update.upsert
                    && !update.fills_first
                    && update.held.is_none()
                    && update.has.is_none()
                    && update.built.raw.is_empty()
                    && update.built.pipeline().is_none() =>
            {
                Some(&update.built.update)
            }
            _ => None,
        }
    }

    /// Whether it is an update of all documents that match a condition.
    pub(crate) fn is_update_of_many(&self) -> bool {
        matches!(self.what, WriteKind::UpdateMany(_))
    }

    /// The condition of the documents that it changes; of an insert none.
    pub(crate) fn condition(&self) -> Option<Document> {
        match &self.what {
            WriteKind::Insert(_) => None,
            WriteKind::Update(update) => Some(update.condition(self.meta)),
            WriteKind::UpdateMany(update) => Some(update.filter.clone()),
            WriteKind::Replace(replace) => Some(replace.one.filter(self.meta)),
            WriteKind::Delete(delete) => Some(delete.filter.clone()),
        }
    }

    /// The fields of the shard key, and those that are the same in other documents, that it changes: by `move_to`.
    pub(crate) fn moves(&self) -> &[&'static str] {
        match &self.what {
            WriteKind::Update(update) => &update.built.moves,
            _ => &[],
        }
    }

    /// Of a move: what names the document afterwards.
    pub(crate) fn moved(&self) -> Option<&RawDocument> {
        match &self.what {
            WriteKind::Update(update) => update.moved.as_deref().map(|moved| &**moved),
            _ => None,
        }
    }

    /// The value that a field has in every document that it writes, where that is known: one that no update changes, but for `move_to`.
    pub(crate) fn known_value(&self, name: &str) -> Option<Key> {
        if let WriteKind::Update(update) = &self.what
            && let Some(new) = update.built.moved(name)
        {
            return Some(Key::of_bson(new));
        }
        if let Some(document) = self.document() {
            let value = document.get(name).ok().flatten();
            return value.filter(|value| *value != RawBsonRef::Null).map(Key::of);
        }
        let condition = self.condition()?;
        let by_condition = demanded(&condition, name).map(Key::of_bson);
        by_condition.or_else(|| {
            let update = match &self.what {
                WriteKind::Update(update) if update.upsert => &update.built.update,
                WriteKind::UpdateMany(update) if update.upsert => &update.built.update,
                _ => return None,
            };
            let mut inserted = ["$setOnInsert", "$set"].into_iter();
            inserted.find_map(|operator| update.get_document(operator).ok()?.get(name).map(Key::of_bson))
        })
    }

    /// The id of the one document that it changes, where it names one.
    pub(crate) fn changed_id(&self) -> Option<&Bson> {
        match &self.what {
            WriteKind::Insert(_) | WriteKind::UpdateMany(_) => None,
            WriteKind::Update(update) => match &update.one {
                Some(one) => Some(&one.id),
                None => update.also.as_ref().and_then(named_id),
            },
            WriteKind::Replace(replace) => Some(&replace.one.id),
            WriteKind::Delete(delete) => named_id(&delete.filter).filter(|_| delete.one.is_some()),
        }
    }

    /// The id of the document that an upsert inserts where it finds none, if that is said before.
    pub(crate) fn upserted_id(&self) -> Option<&Bson> {
        if !self.is_upsert() {
            return None;
        }
        match &self.what {
            WriteKind::UpdateMany(update) => demanded(&update.filter, "_id"),
            _ => self.changed_id(),
        }
    }

    /// The fields that it may change.
    pub(crate) fn changed_fields(&self) -> WrittenFields {
        self.touches().map_or(WrittenFields::All, Touches::changed_fields)
    }

    /// The derived values that it affects.
    pub(crate) fn affected(&self, graph: &Graph) -> Affected {
        let by_insert = || {
            let affected = Affected::by_insert(graph, self.meta);
            Affected {
                eventual: affected.eventual || graph.may_have_children(self.meta),
                ..affected
            }
        };
        match (&self.what, self.touches()) {
            (_, Some(touches)) if self.is_upsert() => touches.affected.or(by_insert()),
            (_, Some(touches)) => touches.affected,
            (WriteKind::Insert(_), None) => by_insert(),
            (WriteKind::Delete(_), None) => Affected::by_delete(graph, self.meta),
            (_, None) => Affected::by_replacement(graph, self.meta),
        }
    }

    /// Whether it may take children away from their parents, also from those in which programs with other models derive something.
    pub(crate) fn moves_children(&self, graph: &Graph) -> bool {
        match self.touches() {
            Some(touches) => touches.moves_children,
            None if self.is_insert() => false,
            None => graph.derived_from(self.meta).next().is_some() || graph.is_child_of_others(self.meta),
        }
    }

    /// Whether it changes a reference, or may do so.
    pub(crate) fn touches_reference(&self, edge: &Edge) -> bool {
        match (self.touches(), self.inserted()) {
            (Some(touches), _) => touches.reference(edge).is_some(),
            (None, Some(document)) => edge.values(document).next().is_some(),
            (None, None) => true,
        }
    }

    /// Whether it gives a reference another value, whatever it was.
    pub(crate) fn replaces_reference(&self, edge: &Edge) -> bool {
        match self.touches() {
            Some(touches) => touches.reference(edge).is_some_and(|touched| touched.is_replaced),
            None => true,
        }
    }

    /// Its effect on the references of an edge.
    pub(crate) fn how(&self, edge: &Edge) -> ArrayEffect {
        match self.touches() {
            Some(touches) => touches
                .reference(edge)
                .map_or(ArrayEffect::Adds, |touched| touched.how),
            None => ArrayEffect::Replaces,
        }
    }

    /// Passes the references that it adds by an edge to `take`: the target, and the key in it.
    ///
    /// # Errors
    /// As [`each_of_document`].
    pub(crate) fn each_added(
        &self,
        edge: &Edge,
        take: &mut dyn FnMut(ReferenceTarget, &Key, &Bson),
    ) -> Result<()> {
        if let Some(touches) = self.touches() {
            let added = touches.added(edge).iter();
            added.for_each(|(target, key, value)| take(*target, key, value));
        }
        match self.document() {
            Some(document) => each_of_document(edge, document, take),
            None => Ok(()),
        }
    }

    /// Whether it adds a reference of this edge.
    pub(crate) fn adds(&self, edge: &Edge) -> bool {
        if let Some(document) = self.document() {
            return edge.values(document).next().is_some();
        }
        self.touches()
            .is_some_and(|touches| !touches.added(edge).is_empty())
    }
}

/// Passes the references of a document by an edge to `take`.
///
/// # Errors
/// [`Error::Decode`] for one that can't be read: its target would not be checked.
pub(crate) fn each_of_document(
    edge: &Edge,
    document: &RawDocument,
    take: &mut dyn FnMut(ReferenceTarget, &Key, &Bson),
) -> Result<()> {
    for value in edge.values(document) {
        if let Some((target, key)) = edge.points(value) {
            take(
                target,
                &Key::of(key),
                &stored_value(edge.holder, &edge.path, key)?,
            );
        }
    }
    Ok(())
}

/// Whether a document of this type may refer to another one.
pub(crate) fn refers_to_its_kind(graph: &Graph, meta: &DocumentMeta) -> bool {
    graph.outgoing(meta).any(|edge| edge.target(meta).is_some())
}

//! The rules by which values are kept in sync: their steps, and what each step is given. Before a write these are the documents and the
//! updates that the rules fill in; behind it the [`Effects`] that they have on other documents, the work that is left to be done after the
//! commit, and the documents whose pending work is applied.

use crate::graph::Graph;
use crate::graph::edge::{Edge, EdgeId};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{CHILDREN, OWN, PENDING, Token, name_of};
use crate::plan::images::Image;
use crate::plan::operation::Write;
use crate::plan::touches::{ChangedDocument, Touches, WrittenFields};
use crate::rules::children::orphans;
use crate::rules::derived::{DerivedValue, RederiveReport};
use crate::rules::pending::{PendingWork, all_fields, has_entry, mark, record_for, update_all};
use crate::store::batch::id;
use crate::store::cx::{Cx, Statement};
use crate::store::each::WriteReport;
use crate::store::fields::put;
use crate::{Error, Result};
use futures::future::BoxFuture;
use mongodb::bson::{self, Bson, Document, RawDocumentBuf};
use std::collections::{HashMap, HashSet};

/// The documents of one model.
pub(crate) type MetaRef = &'static DocumentMeta;

/// A step of a rule.
pub(crate) type RuleStep<'s, T = ()> = BoxFuture<'s, Result<T>>;

/// A rule by which values are kept in sync with the documents that they are derived of. One whose values
/// are written by the statement itself, as summaries of buckets, implements only `values`.
pub(crate) trait SyncRule: Send + Sync {
    /// The values of a graph that are kept by this rule.
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>>;

    /// Fills in new documents before they are inserted.
    fn fill_new<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _new: &'s mut NewDocuments<'_>,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Adds to an update what follows from it in the same document.
    fn fill_update<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _updating: &'s mut Updating<'_>,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Prepares a replacement, so that it keeps what the library has in the document.
    fn fill_replacement<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _replacing: &'s mut Replacing<'_>,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Adds the fields of a document that the rule reads where the document is changed, apart from the library's own.
    fn fields(&self, _graph: &Graph, _meta: &DocumentMeta, _names: &mut HashSet<String>) {}

    /// Whether the rule compares documents of this type with what they were before these writes, which are all of that type.
    fn compares(&self, _graph: &Graph, _meta: &DocumentMeta, _writes: &[&Write]) -> bool {
        false
    }

    /// Updates the values after a write, in its transaction. On a standalone server this updates nothing: it adds to the effects
    /// the work that no mark in a document records.
    fn after_write<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _images: &'s [Image],
        _effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Confirms, after all rules have written, that the documents are as they were when the write was prepared.
    fn confirm<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _images: &'s [Image],
        _effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Updates the values that are derived from documents which rules have changed, in the same transaction.
    fn after_effects<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _meta: MetaRef,
        _documents: &'s [ChangedDocument],
        _effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        nothing()
    }

    /// Applies the pending work of documents, after the write that left it. It may have been applied before, and may be
    /// applied by another process at the same time.
    ///
    /// # Errors
    /// An error that would occur with every document; others are in [`Draining::applied`].
    fn drain<'s>(&'s self, _cx: &'s Cx<'_>, _meta: MetaRef, _draining: &'s mut Draining) -> RuleStep<'s> {
        nothing()
    }

    /// Applies the work of a transaction that no document holds, after its commit. Changes of values that others are derived of are
    /// pending with the token.
    ///
    /// # Errors
    /// As [`drain`](Rule::drain).
    fn after_commit<'s>(
        &'s self,
        _cx: &'s Cx<'_>,
        _deferred: &'s DeferredWork,
        _token: Token,
    ) -> RuleStep<'s, RederiveReport> {
        nothing()
    }
}

pub(crate) fn nothing<'s, T: Default + Send + 's>() -> RuleStep<'s, T> {
    Box::pin(async { Ok(T::default()) })
}

/// Documents that an operation inserts into one collection, with what the library has in them.
pub(crate) type Inserts = (&'static DocumentMeta, Vec<RawDocumentBuf>);

/// New documents of one collection.
pub(crate) struct NewDocuments<'d> {
    /// As the application gave them.
    pub(crate) given: &'d [RawDocumentBuf],
    /// The inserts of the same operation into other collections.
    pub(crate) beside: &'d [Inserts],
    /// The library's fields in each of them.
    pub(crate) own: Document,
    /// The pending work of each of them, by name.
    pub(crate) pending: Document,
    decoded: Option<Vec<Document>>,
}

impl<'d> NewDocuments<'d> {
    pub(crate) fn new(given: &'d [RawDocumentBuf], beside: &'d [Inserts], pending: Document) -> Self {
        NewDocuments {
            given,
            beside,
            own: Document::new(),
            pending,
            decoded: None,
        }
    }

    /// The documents to fill in.
    pub(crate) fn decoded(&mut self) -> Result<&mut [Document]> {
        if self.decoded.is_none() {
            let decoded = self.given.iter().map(decoded);
            self.decoded = Some(decoded.collect::<Result<_>>()?);
        }
        Ok(self.decoded.as_deref_mut().unwrap_or_default())
    }

    /// The documents as they are to be stored: those that were filled in, or those that were given, with the library's fields.
    pub(crate) fn filled(mut self, token: Option<Token>) -> Result<FilledDocuments> {
        let mut own = std::mem::take(&mut self.own);
        if let Some(token) = token {
            own.insert(name_of(PENDING), mark(token, std::mem::take(&mut self.pending)));
        }
        match self.decoded {
            None if own.is_empty() => Ok(FilledDocuments::AsGiven),
            None => Ok(FilledDocuments::With(
                RawDocumentBuf::try_from(&bson::doc! { OWN: own }).map_err(encoding)?,
            )),
            Some(documents) => {
                let with_own = documents.into_iter().map(|mut document| {
                    document.remove(OWN);
                    if !own.is_empty() {
                        document.insert(OWN, own.clone());
                    }
                    encoded(&document)
                });
                Ok(FilledDocuments::Whole(with_own.collect::<Result<_>>()?))
            }
        }
    }
}

/// What becomes of new documents.
pub(crate) enum FilledDocuments {
    AsGiven,
    /// They get these fields, in the place of their own ones of that name.
    With(RawDocumentBuf),
    /// These are stored in their place.
    Whole(Vec<RawDocumentBuf>),
}

impl FilledDocuments {
    pub(crate) fn put_into(self, documents: &mut [RawDocumentBuf]) -> Result<()> {
        match self {
            FilledDocuments::AsGiven => {}
            FilledDocuments::With(fields) => {
                for raw in documents {
                    add(raw, &fields)?;
                }
            }
            FilledDocuments::Whole(filled) => {
                for (raw, filled) in documents.iter_mut().zip(filled) {
                    *raw = filled;
                }
            }
        }
        Ok(())
    }
}

/// Adds fields to a document, in the place of those that it has.
fn add(raw: &mut RawDocumentBuf, fields: &RawDocumentBuf) -> Result<()> {
    if raw.get(OWN).map_err(encoding)?.is_some() {
        let mut document = decoded(raw)?;
        document.extend(decoded(fields)?);
        *raw = encoded(&document)?;
        return Ok(());
    }
    for field in fields {
        let (name, value) = field.map_err(encoding)?;
        raw.append(name, value);
    }
    Ok(())
}

/// An update before it is sent.
pub(crate) struct Updating<'u> {
    /// The id of the document, if it is an update of one.
    pub(crate) one: Option<&'u Bson>,
    pub(crate) upsert: bool,
    pub(crate) update: &'u mut Document,
    pub(crate) touches: &'u Touches,
    /// The inserts of the same operation.
    pub(crate) beside: &'u [Inserts],
    /// The pending work of a document that it inserts, by name.
    pub(crate) pending: Document,
}

impl<'u> Updating<'u> {
    pub(crate) fn new(
        one: Option<&'u Bson>,
        upsert: bool,
        update: &'u mut Document,
        touches: &'u Touches,
        beside: &'u [Inserts],
    ) -> Updating<'u> {
        Updating {
            one,
            upsert,
            update,
            touches,
            beside,
            pending: Document::new(),
        }
    }
}

/// A replacement before it is sent.
pub(crate) struct Replacing<'r> {
    /// As the application gave it.
    pub(crate) given: &'r RawDocumentBuf,
    /// The same, decoded, with what rules have filled in.
    pub(crate) document: Document,
    /// The inserts of the same operation.
    pub(crate) beside: &'r [Inserts],
    /// The fields that the server computes from the stored document: expressions.
    pub(crate) computed: Document,
    /// The library's fields that the server computes: expressions.
    pub(crate) own: Document,
    /// The pending work of the document, by name.
    pub(crate) pending: Document,
}

pub(crate) fn decoded(raw: &RawDocumentBuf) -> Result<Document> {
    Document::try_from(raw).map_err(encoding)
}

pub(crate) fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document).map_err(encoding)
}

fn encoding(source: bson::error::Error) -> Error {
    Error::Encode {
        field: "document".to_owned(),
        source: Box::new(source),
    }
}

/// A new document with pending work for everything that is derived from it, and in it.
pub(crate) fn with_all_pending(raw: &RawDocumentBuf, token: Token) -> Result<RawDocumentBuf> {
    let mut document = decoded(raw)?;
    let mut fields = all_fields();
    if has_entry(raw, CHILDREN) {
        fields.insert(CHILDREN, Token::new());
    }
    if let Bson::Document(own) = document
        .entry(OWN.to_owned())
        .or_insert_with(|| Document::new().into())
    {
        own.insert(name_of(PENDING), mark(token, fields));
    }
    encoded(&document)
}

/// The work of a transaction that is done after its commit.
#[derive(Debug, Default)]
pub(crate) struct DeferredWork {
    /// The tokens of pending work, each with the collection of its documents.
    pub(crate) tokens: Vec<(&'static DocumentMeta, Token)>,
    /// Parents whose derived fields are computed again: their keys, by the child's reference.
    pub(crate) parents: HashMap<EdgeId, HashSet<Key>>,
    /// The notes about these parents in the database.
    pub(crate) notes: Vec<Token>,
}

impl DeferredWork {
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.parents.is_empty() && self.notes.is_empty()
    }

    /// Adds parents that lose children by this reference. The note is stored before they lose them, or in the same transaction.
    pub(crate) async fn note_parents(
        &mut self,
        cx: &Cx<'_>,
        edge: &Edge,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<()> {
        let keys: Vec<Key> = keys.into_iter().collect();
        if !keys.is_empty() {
            self.add_parents(edge.id, keys.iter().cloned());
            self.notes.extend(orphans::note(cx, vec![(edge.id, keys)]).await?);
        }
        Ok(())
    }

    /// Removes the notes about parents, when their fields are derived again.
    pub(crate) async fn clear_notes(self, cx: &Cx<'_>) -> Result<()> {
        orphans::clear_notes(cx, self.notes).await
    }

    /// Adds parents, by the child's reference.
    pub(crate) fn add_parents(&mut self, edge: EdgeId, keys: impl IntoIterator<Item = Key>) {
        self.parents.entry(edge).or_default().extend(keys);
    }

    /// Adds the pending work with this token in the documents of a collection.
    pub(crate) fn add(&mut self, meta: &'static DocumentMeta, token: Token) {
        let known = |(other, of): &(&'static DocumentMeta, Token)| {
            other.collection == meta.collection && *of == token
        };
        if !self.tokens.iter().any(known) {
            self.tokens.push((meta, token));
        }
    }

    pub(crate) fn add_all(&mut self, other: DeferredWork) {
        other
            .tokens
            .into_iter()
            .for_each(|(meta, token)| self.add(meta, token));
        for (at, keys) in other.parents {
            self.add_parents(at, keys);
        }
        self.notes.extend(other.notes);
    }
}

/// Changed documents of a collection from which others derive something: those with these values in this field.
pub(crate) struct PassedOn {
    pub(crate) meta: &'static DocumentMeta,
    pub(crate) field: String,
    pub(crate) values: Vec<Bson>,
    /// Their changed fields.
    pub(crate) changed: Vec<String>,
    /// How many documents lie between them and the write.
    hop: usize,
}

/// A document that has to be as it was when the write was prepared, until the commit.
pub(crate) struct Expected {
    pub(crate) meta: MetaRef,
    /// The field by which it is named, with its value.
    pub(crate) by: &'static str,
    pub(crate) key: Key,
    /// Matches it if it is so, and locks it.
    pub(crate) lock: Statement,
}

impl Expected {
    pub(crate) fn is_of(&self, meta: &DocumentMeta, by: &str, key: &Key) -> bool {
        self.meta.collection == meta.collection && self.by == by && self.key == *key
    }

    /// The statement that also updates it.
    pub(crate) fn with(&self, update: &Document) -> Statement {
        let mut statement = self.lock.clone();
        for (operator, fields) in update {
            for (name, value) in fields.as_document().into_iter().flatten() {
                put(&mut statement.update, operator, name, value.clone());
            }
        }
        statement
    }
}

/// The effects of writes on other documents. In a transaction they are applied there, unless their consistency mode is
/// eventual. On a standalone server, which has no transactions, all effects are eventual: they are pending in the documents, or
/// listed in [`DeferredWork`], and applied after the writes.
pub(crate) struct Effects {
    transactions: bool,
    /// The changed documents from which others derive something.
    passed_on: Vec<PassedOn>,
    /// How many documents lie between the change that is being applied and the write.
    hop: usize,
    /// The token of the work that is applied after the commit.
    later: Token,
    pub(crate) deferred: DeferredWork,
    /// How many documents were changed.
    pub(crate) copies: u64,
    /// The documents whose earlier pending work is included already: their collections and ids.
    included: HashSet<(&'static str, Key)>,
    /// The documents that the write relies on and that no statement has confirmed yet: one that changes such a document can do so.
    pub(crate) expected: Vec<Expected>,
    /// The document whose write a rule has refused, where the error of the rule is about one.
    pub(crate) refused: Option<(&'static str, Key)>,
}

impl Effects {
    pub(crate) fn new(cx: &Cx<'_>) -> Effects {
        match cx.session {
            Some(_) => Effects::in_transaction(Token::new()),
            None => Effects::deferred(Token::new()),
        }
    }

    /// The effects of an operation in a transaction. Pending work that follows its commit has this token.
    pub(crate) fn in_transaction(later: Token) -> Effects {
        Effects {
            transactions: true,
            ..Effects::deferred(later)
        }
    }

    /// The effects of an operation that leaves all of them as pending work, with this token.
    pub(crate) fn deferred(later: Token) -> Effects {
        Effects {
            transactions: false,
            passed_on: Vec::new(),
            hop: 0,
            later,
            deferred: DeferredWork::default(),
            copies: 0,
            included: HashSet::new(),
            expected: Vec::new(),
            refused: None,
        }
    }

    /// Whether the effects are applied in the transaction of the write.
    pub(crate) fn are_in_transaction(&self) -> bool {
        self.transactions
    }

    /// The pending work that updates by the library record in the documents that they change.
    pub(crate) fn pending(&self) -> PendingWork {
        if self.transactions {
            PendingWork::Later(self.later)
        } else {
            PendingWork::All(self.later)
        }
    }

    /// The token of the work that is applied after the commit.
    pub(crate) fn later(&self) -> Token {
        self.later
    }

    /// Whether something of such a document is derived elsewhere after the write.
    fn is_derived_later(&self, graph: &Graph, meta: &DocumentMeta) -> bool {
        !self.transactions || graph.is_derived_later(meta)
    }

    /// Schedules pending work that a statement of a rule recorded in such documents, to be applied after the commit.
    pub(crate) fn apply_later(&mut self, graph: &Graph, meta: &'static DocumentMeta) {
        if self.is_derived_later(graph, meta) {
            self.deferred.add(meta, self.later);
        }
    }

    /// The changed fields of a document, with those of its earlier pending work: the process that applies that later finds that
    /// it is done. Only the first time for a document, since the earlier work is not cleared here.
    pub(crate) fn with_earlier(
        &mut self,
        meta: &DocumentMeta,
        document: &RawDocumentBuf,
        changed: WrittenFields,
    ) -> WrittenFields {
        if self.included.insert((meta.collection, id(document))) {
            changed.with_pending(document)
        } else {
            changed
        }
    }

    /// Records that these fields have changed in documents of a collection. Derived fields never depend on each other in a
    /// circle, so passing on ends, also where documents refer to each other in a circle.
    pub(crate) fn pass_on(
        &mut self,
        graph: &Graph,
        meta: &'static DocumentMeta,
        (field, values): (&str, Vec<Bson>),
        changed: Vec<String>,
    ) {
        if changed.is_empty() {
            return;
        }
        self.apply_later(graph, meta);
        if !self.transactions {
            return;
        }
        let hop = self.hop + 1;
        let same = |known: &&mut PassedOn| {
            known.meta.collection == meta.collection && known.field == field && known.hop == hop
        };
        match self.passed_on.iter_mut().find(same) {
            Some(known) => {
                known.values.extend(values);
                known.changed.extend(changed);
            }
            None => self.passed_on.push(PassedOn {
                meta,
                field: field.to_owned(),
                values,
                changed,
                hop,
            }),
        }
    }

    /// The changes that were passed on next. The nearest first: a document that is reached in two ways is read after both changes.
    pub(crate) fn next(&mut self) -> Option<PassedOn> {
        let (nearest, _) = (self.passed_on.iter().enumerate()).min_by_key(|(_, next)| next.hop)?;
        let next = self.passed_on.swap_remove(nearest);
        self.hop = next.hop;
        Some(next)
    }

    /// Records in these documents that the fields derived from these ones are to be updated after the commit. The fields are
    /// named: a document with pending work for everything may have been written without a transaction, so that its sources
    /// would be locked and its copies read again.
    pub(crate) async fn leave_pending(
        &mut self,
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        which: Document,
        names: &[&str],
    ) -> Result<()> {
        let mut update = Document::new();
        for name in names {
            record_for(&mut update, self.later, name);
        }
        update_all(cx, meta, which, update).await?;
        self.deferred.add(meta, self.later);
        Ok(())
    }
}

/// Documents of one collection whose pending work is being applied.
pub(crate) struct Draining {
    /// With the fields that their pending work names.
    pub(crate) documents: Vec<ChangedDocument>,
    /// The fields that are read of them.
    pub(crate) fields: Document,
    /// The token of the pending work that this leaves in other documents.
    pub(crate) token: Token,
    /// Whether the deployment has transactions, and this is not one.
    pub(crate) transactions: bool,
    pub(crate) applied: WriteReport,
    /// The collections in whose documents work with the token may be pending.
    pub(crate) pending: Vec<&'static DocumentMeta>,
    /// The documents that other writers changed meanwhile, so that some of their holders may lack the changes.
    pub(crate) overtaken: HashSet<Key>,
    /// Whether other writers keep changing the same values, so that all work stays pending.
    pub(crate) is_given_up: bool,
}

impl Draining {
    pub(crate) fn new(documents: Vec<RawDocumentBuf>, fields: Document, transactions: bool) -> Draining {
        Draining {
            documents: Draining::with_changed_fields(documents),
            fields,
            token: Token::new(),
            transactions,
            applied: WriteReport::default(),
            pending: Vec::new(),
            overtaken: HashSet::new(),
            is_given_up: false,
        }
    }

    /// Documents with the fields that their pending work names.
    pub(crate) fn with_changed_fields(documents: Vec<RawDocumentBuf>) -> Vec<ChangedDocument> {
        let with_fields = |document: RawDocumentBuf| {
            let fields = WrittenFields::pending_in(&document);
            (document, fields)
        };
        documents.into_iter().map(with_fields).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &RawDocumentBuf> + Clone {
        self.documents.iter().map(|(document, _)| document)
    }
}

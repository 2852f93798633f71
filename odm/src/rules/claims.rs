//! The rule of keys that are unique over all shards and shard keys, `unique(global)`: a document claims the values of its key by a claim,
//! a document of the library in a collection of claims (`model/claims.rs`).
//!
//! A claim is written in the transaction of the write that gives the document the values, and removed in that which takes them away. The
//! `_id` of a claim is the key with its values, so the server lets one document claim them, whichever shard that is on. Deleted documents
//! that are kept claim nothing, and neither do documents that lack a field of the key or hold `null` in it. A document whose deletion is
//! taken back is inserted in the transaction that claims its values: where another document has them by then, it stays deleted.
//!
//! Four conditions keep claims true beside other writers:
//!
//! - A claim is removed only as that of its owner: a document from before the declaration may have the same values and no claim.
//! - A write of the values writes a claim of the document that is there already. Whoever removes that claim as one whose owner has other
//!   values meets this write.
//! - A write that leaves the values as they were makes no claim that is missing: it may not have changed the document, so that a write
//!   of other values beside it would not meet it. For the same reason a write that is undone claims values for those of its documents
//!   which that changes, and for no others.
//! - A claim that is made without a write of the document, by a backfill or a repair, is made in a transaction that changes
//!   [`CLAIMS`] in the document: a write of other values meets that.

use crate::graph::Graph;
use crate::graph::declaration::{self, Declaration};
use crate::model::claims::{GlobalKey, OWNER, WRITES, claims_name};
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::{read_too, root};
use crate::model::own_fields::{CLAIMS, Token};
use crate::model::sensitive;
use crate::plan::images::{Image, Was};
use crate::plan::operation::Write;
use crate::plan::touches::{ChangedDocument, WrittenFields};
use crate::rules::derived::{Comparison, DerivedValue, RederiveReport, ValueKind};
use crate::rules::rule::{Effects, MetaRef, RuleStep, SyncRule};
use crate::store::batch::{document_id, id};
use crate::store::command::{CommandStatement, Verb, WriteCommand, in_one_command};
use crate::store::cx::{Cx, Statement};
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::transaction;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::UpdateModifications;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Maximum number of documents whose values one transaction claims, beside those of an application's writes.
const AT_ONCE: usize = 200;

/// The error for documents with such a key on a deployment without transactions.
pub(crate) async fn unsupported(odm: &Odm) -> Result<Error> {
    Ok(Error::Unsupported {
        operation: "a write of documents with a key that is declared `unique(global)`",
        needs: "a replica set or a sharded cluster",
        is: odm.server().await?.to_string(),
    })
}

/// The rule of keys that are unique over all shards.
pub(crate) struct Claiming;

/// Whether a write of these fields may change a claim.
fn is_written(key: &GlobalKey, fields: &WrittenFields) -> bool {
    key.reads().any(|field| fields.is_of(field))
}

fn are_same(one: &Document, other: &Document) -> bool {
    key_of(one) == key_of(other)
}

impl SyncRule for Claiming {
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>> {
        let mut values: Vec<Box<dyn DerivedValue + 'g>> = Vec::new();
        for meta in graph.models().filter(|meta| graph.is_claimed(meta)) {
            // A claim that is removed leaves its values to another document.
            if let Some(owners) = Owners::for_model(graph, meta) {
                values.push(Box::new(owners));
            }
            values.extend(of_documents(graph, meta));
        }
        values
    }

    fn fields(&self, graph: &Graph, meta: &DocumentMeta, names: &mut HashSet<String>) {
        let read = graph.global_keys(meta).flat_map(GlobalKey::reads);
        names.extend(read.map(|name| root(name).to_owned()));
    }

    fn compares(&self, graph: &Graph, meta: &DocumentMeta, writes: &[&Write]) -> bool {
        let mut keys = graph.global_keys(meta);
        keys.any(|key| {
            writes
                .iter()
                .any(|write| is_written(key, &write.changed_fields()))
        })
    }

    fn after_write<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        images: &'s [Image],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        async move {
            if !effects.are_in_transaction() {
                return Ok(());
            }
            for key in cx.odm.graph().global_keys(meta) {
                let mut changes = ClaimChanges::new(key);
                images.iter().for_each(|image| changes.add(image));
                changes.write(cx, effects).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// The values that documents had before are those of their claims.
    fn after_effects<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        documents: &'s [ChangedDocument],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        async move {
            for key in cx.odm.graph().global_keys(meta) {
                let changed = documents.iter().filter(|(_, fields)| is_written(key, fields));
                let changed: Vec<&RawDocumentBuf> = changed.map(|(document, _)| document).collect();
                if changed.is_empty() {
                    continue;
                }
                let claims = claims_of(cx, key, changed.iter().map(|document| id(*document))).await?;
                let mut changes = ClaimChanges::new(key);
                for document in changed {
                    let had = claims.get(&id(document)).into_iter().flatten();
                    changes.replace(had, document);
                }
                changes.write(cx, effects).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// A document that claims values, or has claimed them.
struct Claim {
    values: Document,
    owner: Bson,
    /// The part of the claim that says on which shard the owner is.
    owner_key: Option<(&'static str, Document)>,
}

impl Claim {
    /// That of an owner that has other values, or is gone.
    fn left(values: Document, owner: &Key) -> Claim {
        Claim {
            values,
            owner: owner.to_bson(),
            owner_key: None,
        }
    }

    fn condition(&self) -> Document {
        doc! { "_id": { "$eq": &self.values }, OWNER: { "$eq": &self.owner } }
    }

    fn update(&self) -> Document {
        let mut update = doc! { "$inc": { WRITES: 1_i64 } };
        if let Some((name, key)) = &self.owner_key {
            update.insert("$set", doc! { *name: key });
        }
        update
    }
}

/// The changes of the claims by one key. Values are given up before any are claimed: documents may exchange them.
struct ClaimChanges<'g> {
    key: &'g GlobalKey,
    given_up: Vec<Claim>,
    /// Values that their documents had before.
    kept: Vec<Claim>,
    claimed: Vec<Claim>,
}

impl<'g> ClaimChanges<'g> {
    fn new(key: &'g GlobalKey) -> Self {
        ClaimChanges {
            key,
            given_up: Vec::new(),
            kept: Vec::new(),
            claimed: Vec::new(),
        }
    }

    fn claim(&self, document: &RawDocumentBuf, values: Document) -> Claim {
        Claim {
            values,
            owner: document_id(document),
            owner_key: self.key.owner_key(document),
        }
    }

    /// Adds what a write of a document changes.
    fn add(&mut self, image: &Image) {
        if matches!(image.was, Was::Unread) && !is_written(self.key, &image.written) {
            return;
        }
        let values = |document: &RawDocumentBuf| self.key.value(document);
        let (before, after) = (image.before(), image.after());
        let had = before.and_then(|document| Some((document, values(document)?)));
        let has = after.and_then(|document| Some((document, values(document)?)));
        match (had, has) {
            (Some((_, had)), Some((document, has))) if are_same(&had, &has) => {
                if is_written(self.key, &image.written) {
                    self.kept.push(self.claim(document, has));
                }
            }
            (had, has) => {
                let had = had.map(|(document, values)| self.claim(document, values));
                let has = has.map(|(document, values)| self.claim(document, values));
                self.given_up.extend(had);
                self.claimed.extend(has);
            }
        }
    }

    /// Adds what a document claims in the place of the values of these claims of it.
    fn replace<'c>(&mut self, claims: impl Iterator<Item = &'c Document>, document: &RawDocumentBuf) {
        let has = self.key.value(document);
        let mut is_there = false;
        for had in claims {
            match &has {
                Some(has) if are_same(had, has) => is_there = true,
                _ => self.given_up.push(self.claim(document, had.clone())),
            }
        }
        if let Some(has) = has {
            let claim = self.claim(document, has);
            if is_there {
                self.kept.push(claim);
            } else {
                self.claimed.push(claim);
            }
        }
    }

    /// Writes the claims, in the transaction of the write.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for values that another document claims.
    async fn write(self, cx: &Cx<'_>, effects: &mut Effects) -> Result<()> {
        match self.send(cx).await? {
            None => Ok(()),
            Some((owner, error)) => {
                effects.refused = Some((self.key.holder.collection, Key::of_bson(owner)));
                Err(error)
            }
        }
    }

    /// Gives the owner of the first claim that is refused.
    async fn send(&self, cx: &Cx<'_>) -> Result<Option<(&Bson, Error)>> {
        let given_up: Vec<Document> = self.given_up.iter().map(Claim::condition).collect();
        let deletions = given_up.iter().map(|filter| {
            let deletion = CommandStatement::Delete {
                filter: Cow::Borrowed(filter),
                many: false,
            };
            deletion.encode(None, None)
        });
        let deletions: Vec<RawDocumentBuf> = deletions.collect::<Result<_>>()?;
        let written: Vec<(&Claim, bool)> = {
            let kept = self.kept.iter().map(|claim| (claim, false));
            kept.chain(self.claimed.iter().map(|claim| (claim, true)))
                .collect()
        };
        let updates = written.iter().map(|(claim, upsert)| {
            let update = CommandStatement::Update {
                filter: Cow::Owned(claim.condition()),
                update: UpdateModifications::Document(claim.update()),
                array_filters: &[],
                many: false,
                upsert: *upsert,
            };
            update.encode(None, None)
        });
        let updates: Vec<RawDocumentBuf> = updates.collect::<Result<_>>()?;
        for (verb, statements) in [(Verb::Delete, deletions), (Verb::Update, updates)] {
            if let Some((at, error)) = send(cx, self.key.claims, verb, &statements).await? {
                let claim = written.get(at).filter(|_| verb == Verb::Update);
                return match claim {
                    Some((claim, _)) => Ok(Some((&claim.owner, self.taken(claim, error)))),
                    None => Err(error),
                };
            }
        }
        Ok(None)
    }

    /// The refusal of a claim, as a unique index would refuse the document.
    fn taken(&self, claim: &Claim, error: Error) -> Error {
        match error {
            Error::DuplicateKey { source, .. } => Error::DuplicateKey {
                collection: self.key.holder.collection.to_owned(),
                index: self.key.index_name(),
                fields: self.key.paths.iter().map(|path| (*path).to_owned()).collect(),
                value: Box::new(self.key.fields_of(&claim.values)),
                existing: None,
                source,
            },
            other => other,
        }
    }
}

/// Sends statements, in as few commands as the server's limits allow. Gives the first one that the server refuses.
async fn send(
    cx: &Cx<'_>,
    meta: MetaRef,
    verb: Verb,
    statements: &[RawDocumentBuf],
) -> Result<Option<(usize, Error)>> {
    let mut sent = 0;
    while let Some(rest) = statements.get(sent..).filter(|rest| !rest.is_empty()) {
        let of_command = in_one_command(rest, cx.odm.server().await?.max_write_batch());
        let command = WriteCommand {
            verb,
            meta,
            statements: of_command,
            ordered: true,
            concern: None,
            past_validator: false,
        };
        let reply = command.send(cx).await?;
        if let Some((at, error)) = reply.refused.into_iter().next() {
            return Ok(Some((sent + at, error)));
        }
        sent += of_command.len();
    }
    Ok(None)
}

/// The values that these documents claim by a key, by the documents.
async fn claims_of(
    cx: &Cx<'_>,
    key: &GlobalKey,
    owners: impl Iterator<Item = Key>,
) -> Result<HashMap<Key, Vec<Document>>> {
    let owners: Vec<Key> = owners.collect();
    let mut all: HashMap<Key, Vec<Document>> = HashMap::new();
    for owners in key::chunks(&owners) {
        let filter = doc! { OWNER: { "$in": owners } };
        for claim in cx.every(key.claims, filter, doc! { OWNER: 1 }).await? {
            if let Some((owner, values)) = read(&claim).filter(|(_, values)| key.has_claim(values)) {
                all.entry(owner).or_default().push(values);
            }
        }
    }
    Ok(all)
}

/// The owner of a claim, and the values.
fn read(claim: &RawDocumentBuf) -> Option<(Key, Document)> {
    let owner = Key::of(claim.get(OWNER).ok()??);
    let values = Document::try_from(claim.get_document("_id").ok()?).ok()?;
    Some((owner, values))
}

/// Whether a document has these values, as its collection compares.
async fn has(cx: &Cx<'_>, key: &GlobalKey, document: &RawDocumentBuf, values: &Document) -> Result<bool> {
    match key.value(document) {
        None => Ok(false),
        Some(own) if are_same(&own, values) => Ok(true),
        // Only the server knows which texts are equal.
        Some(_) if key.holder.collation.is_some() => {
            let mut filter = doc! { "_id": { "$eq": document_id(document) } };
            let fields = key.fields_of(values).into_iter();
            filter.extend(fields.map(|(path, value)| (path, Bson::from(doc! { "$eq": value }))));
            let found = cx.few(key.holder, filter, doc! { "_id": 1 }, 1).await?;
            Ok(!found.is_empty())
        }
        Some(_) => Ok(false),
    }
}

/// The key of values in maps.
fn key_of(values: &Document) -> Key {
    Key::of_bson(&Bson::Document(values.clone()))
}

/// The claims on some values.
struct FoundClaims<'g> {
    key: &'g GlobalKey,
    /// The owner of each, with its values, by these.
    claims: HashMap<Key, (Key, Document)>,
    /// Whether some are on values that the collation of the collection takes for the same.
    are_alike: bool,
}

impl<'g> FoundClaims<'g> {
    async fn on(
        cx: &Cx<'_>,
        key: &'g GlobalKey,
        values: impl Iterator<Item = &Document>,
    ) -> Result<FoundClaims<'g>> {
        let values: HashSet<Key> = values.map(key_of).collect();
        let mut claims = HashMap::new();
        for values in key::chunks(&values) {
            let filter = doc! { "_id": { "$in": values } };
            let found = cx.every(key.claims, filter, doc! { OWNER: 1 }).await?;
            let found = found.iter().filter_map(read);
            claims.extend(found.map(|(owner, values)| (key_of(&values), (owner, values))));
        }
        let are_alike = claims.keys().any(|claimed| !values.contains(claimed));
        Ok(FoundClaims {
            key,
            claims,
            are_alike,
        })
    }

    /// The claim on these values: its owner, and the values as it has them.
    async fn get(&self, cx: &Cx<'_>, values: &Document) -> Result<Option<(Key, Document)>> {
        let exact = self.claims.get(&key_of(values));
        if exact.is_some() || !self.are_alike {
            return Ok(exact.cloned());
        }
        let filter = doc! { "_id": { "$eq": values } };
        let found = cx.few(self.key.claims, filter, doc! { OWNER: 1 }, 1).await?;
        Ok(found.first().and_then(read))
    }
}

/// The claims of documents by one key, as a derived value.
#[derive(Clone, Copy)]
struct OfDocuments<'g> {
    key: &'g GlobalKey,
}

impl DerivedValue for OfDocuments<'_> {
    fn holder(&self) -> MetaRef {
        self.key.holder
    }

    fn fields(&self) -> Vec<String> {
        self.key.paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn source(&self) -> String {
        self.key.claims.collection.to_owned()
    }

    fn kind(&self) -> ValueKind {
        ValueKind::Claims
    }

    fn projection(&self) -> Document {
        let mut fields = doc! { "_id": 1 };
        self.key.reads().for_each(|name| read_too(&mut fields, name));
        fields
    }

    fn declaration(&self, _: &Graph) -> Declaration {
        Declaration {
            id: self.key.name(),
            from: self.key.holder.collection,
            holder: self.key.holder.collection,
            // Programs of all versions refuse to write what they don't declare and is to be true at once.
            is: doc! { declaration::UNIQUE: self.fields(), "sync": "atomic" },
            fills: true,
            rule: None,
        }
    }

    fn reads(&self, _: &Graph, _: &dyn Fn(&str) -> bool) -> Vec<String> {
        Vec::new()
    }

    fn compare<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        documents: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>> {
        async move {
            let with_values = documents.iter();
            let with_values = with_values.filter_map(|document| Some((document, self.key.value(document)?)));
            let with_values: Vec<(&RawDocumentBuf, Document)> = with_values.collect();
            let claims = FoundClaims::on(cx, self.key, with_values.iter().map(|(_, values)| values)).await?;
            let mut compared = Comparison::default();
            for (document, values) in with_values {
                let claim = claims.get(cx, &values).await?;
                let is_own = claim.is_some_and(|(owner, _)| owner == id(document));
                compared.copies += 1;
                if !is_own {
                    compared.wrong += 1;
                    compared.stale.push(document_id(document));
                }
            }
            Ok(compared)
        }
        .boxed()
    }

    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        _: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>> {
        async move { claim_missing(cx, self.key, ids).await }.boxed()
    }
}

/// The claims of documents of a type, by each of their keys.
pub(crate) fn of_documents<'g>(
    graph: &'g Graph,
    meta: &DocumentMeta,
) -> impl Iterator<Item = Box<dyn DerivedValue + 'g>> {
    let keys = graph.global_keys(meta);
    keys.map(|key| -> Box<dyn DerivedValue + 'g> { Box::new(OfDocuments { key }) })
}

/// Claims the values of documents that have no claim. Values that another document has, and claims, stay with that.
async fn claim_missing(cx: &Cx<'_>, key: &GlobalKey, ids: &[Bson]) -> Result<RederiveReport> {
    let mut report = RederiveReport::default();
    let mut add = |claimed: Result<(u64, Vec<Bson>)>| {
        let claimed = claimed.map(|(documents, left)| {
            report.left.extend(left);
            WriteReport::of_documents(documents)
        });
        report.written.add(claimed)
    };
    for ids in ids.chunks(AT_ONCE) {
        match claim_together(cx, key, ids).await {
            // Two of them have values that are equal to the server, or another writer was faster: each by itself.
            Err(Error::DuplicateKey { .. } | Error::Invalid { .. }) => {
                for one in ids {
                    add(match claim_together(cx, key, std::slice::from_ref(one)).await {
                        Err(Error::DuplicateKey { .. }) => Ok((0, vec![one.clone()])),
                        claimed => claimed,
                    })?;
                }
            }
            claimed => add(claimed)?,
        }
    }
    Ok(report)
}

/// The same in one transaction. Gives how many documents have got a claim, and the ids of those whose values another one has.
///
/// # Errors
/// [`Error::DuplicateKey`] where two of them have the same values.
async fn claim_together(cx: &Cx<'_>, key: &GlobalKey, ids: &[Bson]) -> Result<(u64, Vec<Bson>)> {
    transaction::take_turns(*cx, Vec::new(), async |session| {
        let cx = &cx.within(&session);
        let projection = OfDocuments { key }.projection();
        let documents = cx
            .every(key.holder, doc! { "_id": { "$in": ids } }, projection)
            .await?;
        let with_values = documents.iter();
        let with_values = with_values.filter_map(|document| Some((document, key.value(document)?)));
        let with_values: Vec<(&RawDocumentBuf, Document)> = with_values.collect();
        let found = FoundClaims::on(cx, key, with_values.iter().map(|(_, values)| values)).await?;
        let mut changes = ClaimChanges::new(key);
        let mut left = Vec::new();
        for (document, values) in with_values {
            if let Some((owner, claimed)) = found.get(cx, &values).await? {
                if owner == id(document) {
                    continue;
                }
                if is_owner(cx, key, &owner, &claimed).await? {
                    left.push(document_id(document));
                    continue;
                }
                changes.given_up.push(Claim::left(claimed, &owner));
            }
            changes.claimed.push(changes.claim(document, values));
        }
        let claimed = changes.claimed.iter().map(|claim| claim.owner.clone());
        let claimed: Vec<Bson> = claimed.collect();
        if claimed.is_empty() {
            return Ok((0, left));
        }
        let lock = Statement {
            filter: doc! { "_id": { "$in": &claimed } },
            update: doc! { "$inc": { CLAIMS: 1_i64 } },
            array_filters: Vec::new(),
        };
        cx.update(key.holder, std::slice::from_ref(&lock)).await?;
        match changes.send(cx).await? {
            None => Ok((claimed.len() as u64, left)),
            Some((_, error)) => Err(error),
        }
    })
    .await
}

/// Inserts documents again as they were, each together with its claims; one whose id is there already is left out. Gives the ids of those.
///
/// # Errors
/// That of the first document that is refused, when all others are inserted: [`Error::DuplicateKey`] where another one has its values.
pub(crate) async fn put_back(
    cx: &Cx<'_>,
    meta: MetaRef,
    documents: &[RawDocumentBuf],
) -> Result<HashSet<Key>> {
    let (mut there, mut refused) = (HashSet::new(), WriteReport::default());
    for together in documents.chunks(AT_ONCE) {
        match but_for_the_deployment(put_back_together(cx, meta, together).await)? {
            Ok(left_out) => there.extend(left_out),
            Err(_) => {
                for one in together.chunks(1) {
                    let left_out = refused.and(put_back_together(cx, meta, one).await)?;
                    there.extend(left_out.unwrap_or_default());
                }
            }
        }
    }
    refused.all().map(|_| there)
}

/// The same in one transaction, of all of them or none.
async fn put_back_together(cx: &Cx<'_>, meta: MetaRef, documents: &[RawDocumentBuf]) -> Result<HashSet<Key>> {
    transaction::take_turns(*cx, Vec::new(), async |session| {
        let cx = &cx.within(&session);
        // An insert that meets one of them would end the transaction.
        let ids: Vec<Bson> = documents.iter().map(document_id).collect();
        let there: HashSet<Key> = cx.there(meta, &ids).await?.iter().map(id).collect();
        let back = documents
            .iter()
            .filter(|document| !there.contains(&id(*document)));
        let back: Vec<RawDocumentBuf> = back.cloned().collect();
        if let Some((_, error)) = send(cx, meta, Verb::Insert, &back).await? {
            return Err(error);
        }
        for key in cx.odm.graph().global_keys(meta) {
            let mut changes = ClaimChanges::new(key);
            let claims = back
                .iter()
                .filter_map(|document| Some(changes.claim(document, key.value(document)?)));
            changes.claimed = claims.collect();
            let found = FoundClaims::on(cx, key, changes.claimed.iter().map(|claim| &claim.values)).await?;
            for claim in &changes.claimed {
                if let Some((owner, claimed)) = found.get(cx, &claim.values).await?
                    && owner != Key::of_bson(&claim.owner)
                    && !is_owner(cx, key, &owner, &claimed).await?
                {
                    changes.given_up.push(Claim::left(claimed, &owner));
                }
            }
            if let Some((_, error)) = changes.send(cx).await? {
                return Err(error);
            }
        }
        Ok(there)
    })
    .await
}

/// Whether the owner of a claim is there, and has the values.
async fn is_owner(cx: &Cx<'_>, key: &GlobalKey, owner: &Key, values: &Document) -> Result<bool> {
    let filter = doc! { "_id": { "$eq": owner.to_bson() } };
    let found = cx
        .few(key.holder, filter, OfDocuments { key }.projection(), 1)
        .await?;
    match found.first() {
        Some(owner) => has(cx, key, owner, values).await,
        None => Ok(false),
    }
}

/// The owners of the claims in one collection of claims, as a derived value of the claims.
#[derive(Clone, Copy)]
pub(crate) struct Owners<'g> {
    graph: &'g Graph,
    meta: MetaRef,
    claims: MetaRef,
}

impl<'g> Owners<'g> {
    /// `None` where the documents claim nothing.
    pub(crate) fn for_model(graph: &'g Graph, meta: MetaRef) -> Option<Owners<'g>> {
        let claims = graph.global_keys(meta).next()?.claims;
        Some(Owners { graph, meta, claims })
    }

    /// The condition of the claims of these documents.
    pub(crate) fn of_documents(owners: Vec<Bson>) -> Document {
        doc! { OWNER: { "$in": owners } }
    }

    /// The `_id`s of those of these claims whose owners have other values, or none, each with its owner. Those of keys that these models
    /// don't declare are left to programs that do.
    async fn without_owner(
        &self,
        cx: &Cx<'_>,
        claims: &[RawDocumentBuf],
    ) -> Result<(u64, Vec<(Document, Bson)>)> {
        let owners: HashSet<Key> = claims.iter().filter_map(read).map(|(owner, _)| owner).collect();
        let mut fields = doc! { "_id": 1 };
        for key in self.graph.global_keys(self.meta) {
            key.reads().for_each(|name| read_too(&mut fields, name));
        }
        let mut there: HashMap<Key, RawDocumentBuf> = HashMap::new();
        for owners in key::chunks(&owners) {
            let found = cx
                .every(self.meta, doc! { "_id": { "$in": owners } }, fields.clone())
                .await?;
            there.extend(found.into_iter().map(|owner| (id(&owner), owner)));
        }
        let (mut all, mut without) = (0, Vec::new());
        for (owner, values) in claims.iter().filter_map(read) {
            let mut keys = self.graph.global_keys(self.meta);
            let Some(key) = keys.find(|key| key.has_claim(&values)) else {
                continue;
            };
            all += 1;
            let is_owned = match there.get(&owner) {
                Some(document) => has(cx, key, document, &values).await?,
                None => false,
            };
            if !is_owned {
                without.push((values, owner.to_bson()));
            }
        }
        Ok((all, without))
    }
}

impl DerivedValue for Owners<'_> {
    fn holder(&self) -> MetaRef {
        self.claims
    }

    fn fields(&self) -> Vec<String> {
        vec![OWNER.to_owned()]
    }

    fn is_named(&self, field: &str) -> bool {
        let mut keys = self.graph.global_keys(self.meta);
        field == OWNER || keys.any(|key| key.paths.contains(&field))
    }

    fn source(&self) -> String {
        self.meta.collection.to_owned()
    }

    fn kind(&self) -> ValueKind {
        ValueKind::Owners
    }

    fn declared_in(&self) -> &'static str {
        self.meta.collection
    }

    fn shown(&self, id: Bson) -> Bson {
        let Bson::Document(values) = id else { return id };
        let mut keys = self.graph.global_keys(self.meta);
        match keys.find(|key| key.has_claim(&values)) {
            Some(key) => sensitive::shown(self.meta, &key.fields_of(&values)).into(),
            None => values.into(),
        }
    }

    fn projection(&self) -> Document {
        doc! { "_id": 1, OWNER: 1 }
    }

    fn declaration(&self, _: &Graph) -> Declaration {
        let keys = self.graph.global_keys(self.meta);
        let mut fields: Vec<Vec<&str>> = keys.map(|key| key.paths.clone()).collect();
        fields.sort_unstable();
        Declaration {
            id: claims_name(self.meta),
            from: self.meta.collection,
            holder: self.meta.collection,
            // Another key is filled anew: a program without it leaves claims by it.
            is: doc! { declaration::CLAIMS: self.claims.collection, "keys": fields, "sync": "atomic" },
            fills: true,
            rule: None,
        }
    }

    fn reads(&self, _: &Graph, _: &dyn Fn(&str) -> bool) -> Vec<String> {
        Vec::new()
    }

    fn compare<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        claims: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>> {
        async move {
            let (copies, without) = self.without_owner(cx, claims).await?;
            Ok(Comparison {
                copies,
                wrong: without.len() as u64,
                stale: without.into_iter().map(|(values, _)| values.into()).collect(),
            })
        }
        .boxed()
    }

    /// Removes the claims whose owners have other values, in the transaction that has looked at both.
    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        _: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>> {
        async move {
            let mut written = WriteReport::default();
            for ids in ids.chunks(AT_ONCE) {
                let removed = transaction::take_turns(*cx, Vec::new(), async |session| {
                    let cx = &cx.within(&session);
                    let filter = doc! { "_id": { "$in": ids } };
                    let claims = cx.every(self.claims, filter, self.projection()).await?;
                    let (_, without) = self.without_owner(cx, &claims).await?;
                    for (values, owner) in &without {
                        let claim = doc! { "_id": { "$eq": values }, OWNER: { "$eq": owner } };
                        cx.delete(self.claims, claim).await?;
                    }
                    Ok(without.len() as u64)
                });
                written.add(removed.await.map(WriteReport::of_documents))?;
            }
            Ok(RederiveReport {
                written,
                ..RederiveReport::default()
            })
        }
        .boxed()
    }
}

//! A change of the shard key of one document, or of a field that is the same in other documents: `move_to`.
//!
//! Statements find a document by its shard key, and references with `same` say that of the other document. So the key changes in a
//! transaction, by the ordinary way of a write, and around it stands this:
//!
//! 1. The document is read: the statement names its whole previous key.
//! 2. No document may refer to it by the previous value, and those that it refers to with `same` have to have the new one.
//! 3. It is written: its copies, counts and claims follow as after any write.
//! 4. After the commit both are looked up again. A write that refers to the document looks for it before it and after it, with the value;
//!    the later of the two looks sees the other one's write. Where this one does, the document gets its previous value again.

use crate::engine::write::documents::find_by_collation;
use crate::graph::edge::Edge;
use crate::graph::is;
use crate::graph::routing::{Routing, key_at, same};
use crate::graph::sync::kept_in_sync;
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::modes::named_by_ids;
use crate::plan::operation::{DocumentById, UpdateWrite, Write, WriteKind, Writes};
use crate::plan::operators::Built;
use crate::plan::outcome::Outcome;
use crate::plan::targets::{self, Column, kept_by_same};
use crate::rules::exists::missing_besides;
use crate::rules::rule::{decoded, encoded};
use crate::store::batch::{document_id, value};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::session::Session;
use crate::store::transaction;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::sync::Arc;

/// Number of ids of referring documents that an error lists.
const SAMPLE: usize = 5;

/// Executes the writes of an operation in a given context.
pub(super) type Execute = for<'e> fn(Cx<'e>, Writes) -> BoxFuture<'e, Result<Outcome>>;

/// Executes a write that moves a document.
///
/// # Errors
/// Those of the write; [`Error::StillReferenced`] and [`Error::MissingReference`] by references with `same`; [`Error::Unsupported`] without
/// transactions.
// In a box: the future of a plain write has no room for it.
pub(super) fn execute(cx: Cx<'_>, write: Write, run: Execute) -> BoxFuture<'_, Result<Outcome>> {
    in_transaction(cx, write, run).boxed()
}

async fn in_transaction(cx: Cx<'_>, mut write: Write, run: Execute) -> Result<Outcome> {
    may_move(cx.odm, &write)?;
    if write.has_collation() {
        find_by_collation(cx, &mut write).await?;
    }
    // It names what the operation knows of the key before the first attempt.
    let place = one(&write).map(DocumentById::place).unwrap_or_default();
    let place = cx.routed(write.meta, place);
    if let Some(session) = cx.session {
        let unfinished = session.unfinished();
        let made = within(&cx, session, (write, place), run).await;
        unfinished.complete();
        return made;
    }
    if !cx.odm.has_transactions().await? {
        return Err(Error::Unsupported {
            operation: "a change of a shard key, or of a field that is the same in other documents (`move_to`)",
            needs: "a replica set or a sharded cluster",
            is: cx.odm.server().await?.to_string(),
        });
    }
    let turns = named_by_ids(std::slice::from_ref(&write));
    let work = |session: Session| {
        let given = (write.clone(), place.clone());
        // An attempt that was rolled back has noted the new key.
        cx.trace.routes().clear();
        async move { within(&cx.within(&session), &session, given, run).await }
    };
    transaction::take_turns(cx, turns, work).await
}

/// Refuses a field that is neither in the shard key nor the same in other documents.
fn may_move(odm: &Odm, write: &Write) -> Result<()> {
    let meta = write.meta;
    let routing = odm.graph().routing(meta);
    let is_fixed = |name: &&str| routing.is_some_and(|routing| routing.fixed().any(|fixed| fixed == *name));
    match write.moves().iter().find(|name| !is_fixed(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "`move_to` changes a field of the shard key, or one that is the same in other documents (`same`), and `{name}` is \
                 neither: use `set`"
            ),
        }),
    }
}

fn one(write: &Write) -> Option<&DocumentById> {
    match &write.what {
        WriteKind::Update(update) => update.one.as_ref(),
        _ => None,
    }
}

async fn within(
    cx: &Cx<'_>,
    session: &Session,
    (mut write, place): (Write, Document),
    run: Execute,
) -> Result<Outcome> {
    let moved = Moved::read(cx, &mut write, place).await?;
    if let Some(moved) = &moved {
        moved.check(cx, &write).await?;
    }
    let made = run(*cx, Writes::One(write)).await?;
    if let Some(moved) = moved {
        // The statements that follow name it by its new key.
        cx.trace.routes().moved(cx.odm.graph(), moved.meta, &moved.after);
        session.look_after_move(moved);
    }
    Ok(made)
}

/// A document whose key changes.
pub(crate) struct Moved {
    meta: &'static DocumentMeta,
    id: Bson,
    /// The fields that change.
    names: Vec<&'static str>,
    /// What names it, and its references with `same`, as they were before.
    before: RawDocumentBuf,
    /// What names it afterwards.
    after: Arc<RawDocumentBuf>,
}

impl Moved {
    /// Reads the document, and gives the write its whole key. `None` where there is no document, or its key stays.
    async fn read(cx: &Cx<'_>, write: &mut Write, place: Document) -> Result<Option<Moved>> {
        let (graph, meta) = (cx.odm.graph(), write.meta);
        write.read_operators(graph)?;
        let Some(routing) = graph.routing(meta) else {
            return Ok(None);
        };
        let mut names: Vec<&str> = Vec::new();
        graph.incoming(meta).for_each(|edge| names.push(edge.by()));
        let own = graph.outgoing(meta).filter(|edge| same(edge).next().is_some());
        own.for_each(|edge| names.push(edge.root()));
        routing.fixed().for_each(|name| names.push(name));
        let Some(before) = cx.find(meta, place, names, Some(1)).await?.pop() else {
            return Ok(None);
        };
        let WriteKind::Update(update) = &mut write.what else {
            return Ok(None);
        };
        let (mut changed, mut after) = (Vec::new(), decoded(&before)?);
        for name in update.built.moves.iter().copied() {
            let Some(new) = update.built.moved(name) else {
                continue;
            };
            if key_at(&before, name) != Some(Key::of_bson(new)) {
                changed.push(name);
            }
            put_at(&mut after, name, new.clone());
        }
        if let (Some(one), Some(key)) = (&mut update.one, routing.fixed_in(&before)) {
            one.restrict(key);
        }
        let after = Arc::new(encoded(&after)?);
        update.moved = Some(after.clone());
        Ok((!changed.is_empty()).then(|| Moved {
            meta,
            id: document_id(&before),
            names: changed,
            before,
            after,
        }))
    }

    /// Checks the references to the document, and those that it keeps, before the write.
    async fn check(&self, cx: &Cx<'_>, write: &Write) -> Result<()> {
        self.is_free(cx).await?;
        self.follow_at_once(cx).await?;
        let kept = kept_by_same(cx.odm.graph(), write, &self.before, &self.names)?;
        let is_itself = |(collection, by): Column, key: &Key| {
            collection == self.meta.collection && key_at(&self.before, by).as_ref() == Some(key)
        };
        let missing = missing_besides(cx, cx.odm.graph(), &kept, is_itself).await?;
        if missing.is_empty() {
            Ok(())
        } else {
            Err(targets::refused(cx.odm.graph(), missing))
        }
    }

    /// Whether the documents of a reference have the previous value: in a field of theirs, with its name.
    fn held_by(&self, edge: &Edge) -> Document {
        let mut held = Document::new();
        for name in &self.names {
            let Some(old) = value(&self.before, name) else {
                continue;
            };
            if same(edge).any(|same| same == *name) {
                held.insert(*name, doc! { "$eq": old.clone() });
            }
            let in_key = |path: &str| {
                let mut fields = edge.holder.shard_key.iter().flat_map(|key| key.fields);
                fields.any(|field| field.path == path)
            };
            for copy in kept_in_sync(edge).filter(|copy| copy.source == *name) {
                let path = edge.copy_path(copy);
                if in_key(&path) {
                    held.insert(path, doc! { "$eq": old.clone() });
                }
            }
        }
        held
    }

    /// The condition of the documents that refer to this one by an edge.
    fn referring(&self, edge: &Edge) -> Option<Document> {
        let target = edge.target(self.meta)?;
        let refers = edge.holders_of(target, vec![value(&self.before, edge.by())?]);
        let itself = is(edge.holder, self.meta).then(|| doc! { "_id": { "$ne": &self.id } });
        Some(all([refers].into_iter().chain(itself)))
    }

    /// Fails where documents refer to this one with its previous value.
    ///
    /// # Errors
    /// [`Error::StillReferenced`].
    async fn is_free(&self, cx: &Cx<'_>) -> Result<()> {
        for edge in cx.odm.graph().incoming(self.meta) {
            let held = self.held_by(edge);
            let Some(refers) = self.referring(edge).filter(|_| !held.is_empty()) else {
                continue;
            };
            let filter = all([refers, held]);
            let mut found = cx
                .few(edge.holder, filter.clone(), doc! { "_id": 1 }, SAMPLE + 1)
                .await?;
            if found.is_empty() {
                continue;
            }
            let count = if found.len() > SAMPLE {
                cx.count(edge.holder, filter).await?
            } else {
                found.len() as u64
            };
            found.truncate(SAMPLE);
            return Err(Error::StillReferenced {
                collection: self.meta.collection,
                id: Box::new(self.id.clone()),
                by: edge.holder.collection,
                field: edge.path.clone(),
                count,
                sample: found.iter().map(document_id).collect(),
            });
        }
        Ok(())
    }

    /// Fails where copies of the shard key follow later than this transaction: statements find the document by them.
    ///
    /// # Errors
    /// [`Error::Query`].
    async fn follow_at_once(&self, cx: &Cx<'_>) -> Result<()> {
        for edge in cx.odm.graph().incoming(self.meta) {
            let mut key = self.meta.key_beside_id().filter(|name| self.names.contains(name));
            let is_copied = key.any(|name| kept_in_sync(edge).any(|copy| copy.source == name));
            let most = match edge.consistency() {
                _ if !is_copied => continue,
                Some(Consistency::Eventual) => 0,
                Some(Consistency::Auto) => cx.odm.fan_out_options().in_transaction,
                Some(Consistency::Atomic | Consistency::Snapshot) | None => continue,
            };
            let Some(refers) = self.referring(edge) else {
                continue;
            };
            let few = cx
                .few(edge.holder, refers, doc! { "_id": 1 }, most.saturating_add(1))
                .await?;
            if few.len() > most {
                return Err(Error::Query {
                    collection: self.meta.collection,
                    message: format!(
                        "`move_to` changes the copies of the shard key beside `{}` of `{}` in its transaction, and they would follow later: \
                         there are more than {most} of them. Declare them `consistency = atomic`",
                        edge.path, edge.holder.collection
                    ),
                });
            }
        }
        Ok(())
    }

    /// Looks again after the commit, and moves the document back where a reference needs it.
    ///
    /// # Errors
    /// [`Error::StillReferenced`] and [`Error::MissingReference`]: it was moved back.
    async fn look_again(&self, cx: &Cx<'_>) -> Result<()> {
        let looked = match self.is_free(cx).await {
            Ok(()) => self.has_targets(cx).await,
            refused => refused,
        };
        if let Err(Error::StillReferenced { .. } | Error::MissingReference { .. }) = &looked
            && let Err(error) = self.move_back(cx).await
        {
            tracing::warn!(
                target: "odm",
                collection = self.meta.collection,
                %error,
                "a document that others refer to could not be given its previous value again; `audit()` lists the references"
            );
        }
        looked
    }

    /// Whether the documents that it refers to with `same` have its new value.
    async fn has_targets(&self, cx: &Cx<'_>) -> Result<()> {
        let graph = cx.odm.graph();
        let is_moved = |edge: &&Edge| same(edge).any(|name| self.names.contains(&name));
        let mut names: Vec<&str> = graph
            .outgoing(self.meta)
            .filter(is_moved)
            .map(Edge::root)
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let routing = graph.routing(self.meta).into_iter();
        routing.flat_map(Routing::fixed).for_each(|name| names.push(name));
        let found = cx.find(self.meta, self.now(cx.odm), names, Some(1)).await?;
        // It was moved again, or deleted.
        let Some(found) = found.first() else { return Ok(()) };
        let mut references = targets::references_in(graph, self.meta, found)?;
        references.retain(|one| is_moved(&one.edge(graph)));
        let missing = missing_besides(cx, graph, &references, |_, _| false).await?;
        if missing.is_empty() {
            Ok(())
        } else {
            Err(targets::refused(graph, missing))
        }
    }

    /// The condition of the document where it has been moved to.
    fn now(&self, odm: &Odm) -> Document {
        let id = doc! { "_id": { "$eq": &self.id } };
        all([id].into_iter().chain(odm.key_of(self.meta, &self.after)))
    }

    /// Gives the document its previous values, by a write without its hooks, as whatever is undone.
    async fn move_back(&self, cx: &Cx<'_>) -> Result<()> {
        let mut set = Document::new();
        for name in &self.names {
            if let Some(old) = value(&self.before, name) {
                set.insert(*name, old);
            }
        }
        let built = Built {
            update: doc! { "$set": set },
            moves: self.names.clone(),
            ..Built::nothing()
        };
        let mut one = DocumentById::new(self.id.clone(), None);
        let mut now = self.now(cx.odm);
        now.remove("_id");
        one.restrict(now);
        let update = UpdateWrite {
            moved: Some(Arc::new(self.before.clone())),
            ..UpdateWrite::by_id(one, built)
        };
        let write = Write {
            at: 0,
            meta: self.meta,
            what: WriteKind::Update(Box::new(update)),
        };
        let turns = named_by_ids(std::slice::from_ref(&write));
        let work = |session: Session| {
            let write = write.clone();
            async move { crate::engine::write::one(cx.within(&session), write, None).await }
        };
        match transaction::take_turns(cx.outside(), turns, work).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Looks again at the references of documents that were moved in a transaction, after its commit.
pub(crate) async fn look_again(cx: Cx<'_>, moved: Vec<Moved>) -> Result<()> {
    let mut failed = Ok(());
    for one in moved {
        failed = failed.and(one.look_again(&cx).await);
    }
    failed
}

/// Gives a field a value, by its dotted name.
fn put_at(document: &mut Document, name: &str, value: Bson) {
    match name.split_once('.') {
        None => drop(document.insert(name, value)),
        Some((first, rest)) => {
            if let Ok(inner) = document.get_document_mut(first) {
                put_at(inner, rest, value);
            }
        }
    }
}

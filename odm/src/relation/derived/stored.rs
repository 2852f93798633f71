//! The declared edges as the database knows them: so that a process with older or fewer models notices, and a new or changed
//! declaration is backfilled.

use super::super::audit::Source;
use super::super::batch::document_id;
use super::super::graph::{Graph, What};
use super::super::scope::Scope;
use super::inspect::Kept;
use super::{followed, meet};
use crate::copy::SyncMode;
use crate::trace::Trace;
use crate::{Error, Odm, Result};
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::{CollectionOptions, ReadPreference, SelectionCriteria, WriteConcern};
use std::collections::HashMap;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The collection that the edges are stored in.
const EDGES: &str = "_odm_edges";

impl Kept<'_> {
    /// What it is known by in the database.
    fn id(&self) -> String {
        match self {
            Kept::Beside(edge) => format!("{}.{}", edge.holder.collection, edge.path),
            Kept::Derived(derived) => derived.name(),
        }
    }

    /// The collection that it is taken from.
    fn from(&self) -> &'static str {
        match self {
            Kept::Beside(edge) => edge.targets.first().map_or("", |target| target.collection),
            Kept::Derived(derived) => derived.child.collection,
        }
    }

    /// Everything of the declaration that decides what the copies are.
    fn declaration(&self, graph: &Graph) -> Document {
        match self {
            Kept::Beside(edge) => {
                let copies = edge.copies.iter().map(|copy| {
                    Bson::from(doc! { "field": edge.copy_path(copy), "of": copy.source, "sync": copy.sync.to_string() })
                });
                doc! { "through": &edge.path, "by": edge.by(), "copies": copies.collect::<Vec<_>>() }
            }
            Kept::Derived(derived) => {
                let parent = graph.parent_edge(derived).map_or("", |edge| edge.path.as_str());
                let mut declaration = doc! {
                    "parent": parent,
                    "filter": derived.filter.clone().unwrap_or_default(),
                    "sync": derived.sync.to_string(),
                };
                match derived.what {
                    What::Subset(subset) => {
                        let order = subset.order.iter().map(|key| {
                            Bson::from(doc! { "field": (key.path)(), "kind": format!("{:?}", key.kind) })
                        });
                        let fields = (subset.fields)().iter();
                        let fields =
                            fields.map(|field| Bson::from(doc! { "field": field.name, "of": field.source }));
                        declaration.extend(doc! {
                            "limit": i64::from(subset.limit),
                            "last": subset.last,
                            "order": order.collect::<Vec<_>>(),
                            "fields": fields.collect::<Vec<_>>(),
                        });
                    }
                    What::Computed { operation, of } => {
                        declaration.extend(doc! { "operation": operation.to_string(), "of": of });
                    }
                }
                declaration
            }
        }
    }
}

impl Odm {
    fn stored_edges(&self) -> mongodb::Collection<Document> {
        let options = CollectionOptions::builder()
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .write_concern(WriteConcern::majority())
            .build();
        self.database().collection_with_options(EDGES, options)
    }

    fn kept(&self) -> impl Iterator<Item = Kept<'_>> {
        let graph = self.graph();
        let beside = graph
            .edges()
            .iter()
            .filter(|edge| edge.sync().is_some())
            .map(Kept::Beside);
        beside.chain(graph.derived().iter().map(Kept::Derived))
    }

    /// What the database knows of the edges that these models take copies by.
    async fn known_edges(&self) -> Result<Vec<Document>> {
        let own: Vec<&str> = self.graph().models().map(|meta| meta.collection).collect();
        let stored = self.stored_edges().find(doc! { "from": { "$in": own } }).await?;
        Ok(stored.try_collect().await?)
    }

    /// The declared edges beside what is known of them.
    async fn declared(&self, stored: &[Document]) -> Result<Vec<Declared>> {
        let mut all = Vec::new();
        let mut empty: HashMap<&str, bool> = HashMap::new();
        for kept in self.kept() {
            let holder = kept.holder().collection;
            let (id, declaration) = (kept.id(), kept.declaration(self.graph()));
            let known = stored
                .iter()
                .find(|edge| edge.get_str("_id").ok() == Some(id.as_str()))
                // What a program with more copies has declared is left as it is.
                .filter(|known| match known.get_document("declaration") {
                    Ok(stored) => *stored == declaration || is_more(stored, &declaration),
                    Err(_) => false,
                });
            let filled = match known {
                Some(known) => matches!(known.get_bool("filled"), Ok(true)),
                // Where there are no documents yet, there is nothing to be filled.
                None => match empty.get(holder) {
                    Some(empty) => *empty,
                    None => {
                        let holders = self.database().collection::<Document>(holder);
                        let any = holders.find_one(doc! {}).projection(doc! { "_id": 1 });
                        *empty.entry(holder).or_insert(any.await?.is_none())
                    }
                },
            };
            all.push(Declared {
                from: kept.from(),
                holder,
                is_known: known.is_some(),
                id,
                declaration,
                filled,
            });
        }
        Ok(all)
    }

    /// The declared edges whose copies are still to be taken for documents that were there before.
    pub(crate) async fn to_backfill(&self) -> Result<Vec<String>> {
        if self.kept().next().is_none() {
            return Ok(Vec::new());
        }
        let declared = self.declared(&self.known_edges().await?).await?;
        Ok(not_filled(declared))
    }

    /// Stores the declared edges, and looks for those that the database knows and these models lack. Gives those that are
    /// to be backfilled.
    ///
    /// # Errors
    /// [`Error::UnknownCopies`], and [`Error::Unsupported`] for `sync = atomic` without transactions.
    pub(crate) async fn remember_edges(&self) -> Result<Vec<String>> {
        let graph = self.graph();
        if !self.has_transactions().await?
            && let Some(name) = graph.models().find_map(|meta| graph.needs_transactions(meta))
        {
            return Err(super::super::unsupported(self, name).await?);
        }
        let edges = self.stored_edges();
        let stored = self.known_edges().await?;
        let unknown = self.look_for_unknown(&stored);
        let declared = self.declared(&stored).await?;
        for new in declared.iter().filter(|declared| !declared.is_known) {
            // Of two programs that each have copies that the other lacks, none has all.
            let other = stored
                .iter()
                .find(|edge| edge.get_str("_id").ok() == Some(new.id.as_str()));
            let other = other.and_then(|other| other.get_document("declaration").ok());
            let edge = doc! { "$set": {
                "from": new.from,
                "holder": new.holder,
                "declaration": with_those_of(&new.declaration, other),
                "filled": new.filled,
                "declared": DateTime::now(),
            }, "$unset": { "at": "" } };
            match edges.update_one(doc! { "_id": &new.id }, edge).upsert(true).await {
                Ok(_) => {}
                // Another process was faster with the same.
                Err(error) if is_duplicate(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if !new.filled {
                tracing::info!(
                    target: "odm",
                    edge = new.id,
                    "copies are new or declared in another way: `backfill()` takes them for the documents that are there"
                );
            }
        }
        match unknown.is_empty() || self.allows_unknown() {
            true => Ok(not_filled(declared)),
            false => Err(Error::UnknownCopies { edges: unknown }),
        }
    }

    /// Looks whether the database knows copies that these models lack, without a `sync`.
    pub(super) async fn learn(&self) -> Result<()> {
        if self.graph().debtors().next().is_some() {
            self.look_for_unknown(&self.known_edges().await?);
        }
        Ok(())
    }

    /// What of this these models lack, by name. What leads to it may not be written from now on.
    fn look_for_unknown(&self, stored: &[Document]) -> Vec<String> {
        let graph = self.graph();
        let mut names: Vec<String> = Vec::new();
        // What is written beside a reference is written with all of its copies.
        let mut holders: Vec<&'static str> = Vec::new();
        // Collections, with the fields of theirs that are copied unknown to these models: none for any.
        let mut read: Vec<(&'static str, Vec<String>)> = Vec::new();
        for edge in stored {
            let id = edge.get_str("_id").unwrap_or_default();
            let from = edge.get_str("from").unwrap_or_default();
            let Some(meta) = graph.models().find(|meta| meta.collection == from) else {
                continue;
            };
            let stored = edge.get_document("declaration").cloned().unwrap_or_default();
            match self.kept().find(|kept| kept.id() == id) {
                None => {
                    names.push(id.to_owned());
                    read.push((meta.collection, sources(&stored)));
                }
                Some(kept) => {
                    for (name, source) in lacking(&kept.declaration(graph), &stored) {
                        names.push(format!("{id}: {name}"));
                        holders.push(kept.holder().collection);
                        read.push((meta.collection, vec![source]));
                    }
                }
            }
        }
        // What these models write there follows from other documents, too.
        let mut at = 0;
        while let Some((collection, fields)) = read.get(at).cloned() {
            at += 1;
            let is_read = |name: &str| fields.is_empty() || fields.iter().any(|field| meet(field, name));
            for kept in self.kept().filter(|kept| kept.holder().collection == collection) {
                let from = match &kept {
                    Kept::Beside(edge) => followed(edge)
                        .filter(|copy| is_read(&edge.copy_path(copy)))
                        .map(|copy| copy.source.to_owned())
                        .collect(),
                    Kept::Derived(derived) if is_read(derived.field.name) => derived.reads(graph),
                    Kept::Derived(_) => Vec::new(),
                };
                let next = (kept.from(), from);
                if !next.1.is_empty() && !read.contains(&next) {
                    read.push(next);
                }
            }
        }
        let read = read.into_iter().map(|(collection, _)| collection);
        self.set_unknown(read.chain(holders).collect());
        names
    }

    /// Forgets the edges that the database knows and these models lack: they were declared once, and are not any more.
    /// Gives how many that were.
    ///
    /// Only for a program that has all models, since a write by another one that lacks some leaves its copies stale.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let forgotten = odm.forget_copies().await?;
    /// # Ok(()) }
    /// ```
    pub async fn forget_copies(&self) -> Result<u64> {
        let graph = self.graph();
        let edges = self.stored_edges();
        let own: Vec<String> = self.kept().map(|kept| kept.id()).collect();
        let mut forgotten = edges
            .delete_many(doc! { "_id": { "$nin": own } })
            .await?
            .deleted_count;
        let stored = self.known_edges().await?;
        for kept in self.kept() {
            let (id, declaration) = (kept.id(), kept.declaration(graph));
            let known = stored
                .iter()
                .find(|edge| edge.get_str("_id").ok() == Some(id.as_str()));
            let Some(stored) = known.and_then(|known| known.get_document("declaration").ok()) else {
                continue;
            };
            let gone = lacking(&declaration, stored).len();
            if gone > 0 {
                forgotten += gone as u64;
                let mut set = doc! { "declaration": &declaration };
                if !is_more(stored, &declaration) {
                    set.insert("filled", false);
                }
                edges
                    .update_one(doc! { "_id": id }, doc! { "$set": set, "$unset": { "at": "" } })
                    .await?;
            }
        }
        self.set_unknown(Vec::new());
        Ok(forgotten)
    }

    /// Takes copies for documents that were there before their declaration, or before it was changed.
    ///
    /// It runs while others write: every copy is taken under the guard of its version. It goes through the documents in
    /// batches in the order of their ids and stores how far it has come, so that it goes on there after it was interrupted.
    ///
    /// # Errors
    /// What the server says; then it goes on where it stopped when it is called again.
    ///
    /// # Cost
    /// One round trip for what is to be filled. For every 1,000 documents that hold new copies one to read them, one for
    /// their sources, and one to write; for subsets and numbers of children one query for each document.
    ///
    /// # Example
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.sync().await?;
    /// let filled = odm.backfill().await?;
    /// println!("{} documents, for {:?}", filled.documents, filled.edges);
    /// # Ok(()) }
    /// ```
    pub fn backfill(&self) -> Backfilling {
        Backfilling {
            odm: self.clone(),
            all: false,
            read: Arc::default(),
        }
    }
}

/// The copies in a stored declaration, with the fields that they are taken from.
fn copies(declaration: &Document) -> impl Iterator<Item = (&str, &str)> {
    let lists = ["copies", "fields"].map(|name| declaration.get_array(name));
    let copies = lists.into_iter().filter_map(|list| list.ok()).flatten();
    // A snapshot follows nothing.
    let snapshot = SyncMode::Snapshot.to_string();
    copies.filter_map(move |copy| {
        let copy = copy.as_document()?;
        let follows = copy.get_str("sync").ok() != Some(snapshot.as_str());
        follows.then_some((copy.get_str("field").ok()?, copy.get_str("of").ok()?))
    })
}

/// Whether a stored declaration has all copies of this one, and others.
fn is_more(stored: &Document, own: &Document) -> bool {
    !lacking(own, stored).is_empty() && lacking(stored, own).is_empty()
}

/// A declaration with what another one copies besides.
fn with_those_of(own: &Document, other: Option<&Document>) -> Document {
    let mut all = own.clone();
    let Some(other) = other else { return all };
    let lacks: Vec<String> = lacking(own, other).into_iter().map(|(name, _)| name).collect();
    for name in ["copies", "fields"] {
        if let (Ok(own), Ok(other)) = (all.get_array_mut(name), other.get_array(name)) {
            let is_lacking = |copy: &&Bson| {
                let field = copy.as_document().and_then(|copy| copy.get_str("field").ok());
                field.is_some_and(|field| lacks.iter().any(|name| name == field))
            };
            own.extend(other.iter().filter(is_lacking).cloned());
        }
    }
    all
}

/// What is copied by a stored declaration and not by this one, with the fields that it is taken from.
fn lacking(own: &Document, stored: &Document) -> Vec<(String, String)> {
    let lacks = |copy: &(&str, &str)| !copies(own).any(|other| other.0 == copy.0);
    let lacking = copies(stored).filter(lacks);
    lacking
        .map(|(name, source)| (name.to_owned(), source.to_owned()))
        .collect()
}

/// The fields of the source that a stored declaration reads: none for any.
fn sources(declaration: &Document) -> Vec<String> {
    match declaration.get_array("copies") {
        Ok(_) => copies(declaration).map(|(_, source)| source.to_owned()).collect(),
        Err(_) => Vec::new(),
    }
}

/// A declared edge beside what the database knows of it.
struct Declared {
    id: String,
    from: &'static str,
    holder: &'static str,
    declaration: Document,
    /// Whether the database knows it by this declaration.
    is_known: bool,
    /// Whether the documents that were there before have their copies.
    filled: bool,
}

fn not_filled(declared: Vec<Declared>) -> Vec<String> {
    let open = declared.into_iter().filter(|declared| !declared.filled);
    open.map(|declared| declared.id).collect()
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    matches!(
        &*error.kind,
        mongodb::error::ErrorKind::Write(mongodb::error::WriteFailure::WriteError(error)) if error.code == 11_000
    )
}

/// A backfill, until `.await` carries it out: [`Odm::backfill`].
#[must_use = "a backfill does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Backfilling {
    odm: Odm,
    all: bool,
    /// How many documents were read so far, for those who wait.
    read: Arc<AtomicU64>,
}

impl Backfilling {
    /// Takes all copies of all declarations, also of those that were filled before.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.backfill().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn all(mut self) -> Backfilling {
        self.all = true;
        self
    }

    /// How many documents were read so far.
    #[cfg(feature = "cli")]
    pub(crate) fn read(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }
}

/// What a backfill did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backfilled {
    /// The declarations that were filled, by the names of the references and fields: `products.parts.id`.
    pub edges: Vec<String>,
    /// In how many documents copies were taken.
    pub documents: u64,
}

impl IntoFuture for Backfilling {
    type Output = Result<Backfilled>;
    type IntoFuture = BoxFuture<'static, Result<Backfilled>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Backfilling { odm, all, read } = self;
            let trace = Trace::new("(all)", "backfill");
            let filled = trace.run(async {
                let trips = AtomicU64::new(0);
                let scope = Scope::new(&odm, None, &trips);
                let filled = fill(&scope, all, &read).await?;
                trace.done(trips.into_inner(), filled.documents);
                Ok(filled)
            });
            filled.await
        }
        .boxed()
    }
}

async fn fill(scope: &Scope<'_>, all: bool, read: &AtomicU64) -> Result<Backfilled> {
    let odm = scope.odm;
    let edges = odm.stored_edges();
    let mut filled = Backfilled::default();
    scope.trip();
    let mut stored: Vec<Document> = edges.find(doc! {}).await?.try_collect().await?;
    let is_stored = |kept: &Kept<'_>| {
        let id = kept.id();
        let known = stored
            .iter()
            .find(|edge| edge.get_str("_id").ok() == Some(id.as_str()));
        let known = known.and_then(|known| known.get_document("declaration").ok());
        let own = kept.declaration(odm.graph());
        known.is_some_and(|known| *known == own || is_more(known, &own))
    };
    if !odm.kept().all(|kept| is_stored(&kept)) {
        // `sync` has not come so far: a validator that demands the copies waits for this backfill.
        match odm.remember_edges().await {
            Ok(_) | Err(Error::UnknownCopies { .. }) => {}
            Err(error) => return Err(error),
        }
        scope.trip();
        stored = edges.find(doc! {}).await?.try_collect().await?;
    }
    for kept in odm.kept() {
        let id = kept.id();
        let known = stored
            .iter()
            .find(|edge| edge.get_str("_id").ok() == Some(id.as_str()));
        let done = known.is_some_and(|known| matches!(known.get_bool("filled"), Ok(true)));
        if done && !all {
            continue;
        }
        // What a program with more copies has declared, that one fills.
        let declaration = kept.declaration(odm.graph());
        let as_declared = doc! { "_id": &id, "declaration": { "$eq": &declaration } };
        if !all && known.is_some_and(|known| known.get_document("declaration").ok() != Some(&declaration)) {
            continue;
        }
        let at = known.and_then(|known| known.get("at").cloned()).filter(|_| !all);
        let mut source = Source::from(kept.holder(), kept.projection(), at);
        while let Some(documents) = source.next(scope).await? {
            read.fetch_add(documents.len() as u64, Ordering::Relaxed);
            let (_, stale) = kept.compare(scope, &documents).await?;
            if !stale.is_empty() {
                filled.documents += kept.mend(&scope.unvalidated(), &stale).await?;
            }
            if let Some(last) = documents.last().map(document_id) {
                scope.trip();
                edges
                    .update_one(as_declared.clone(), doc! { "$set": { "at": last } })
                    .await?;
            }
        }
        scope.trip();
        let update = doc! { "$set": { "filled": true }, "$unset": { "at": "" } };
        edges.update_one(as_declared, update).await?;
        filled.edges.push(id);
    }
    Ok(filled)
}

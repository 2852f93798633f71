//! Takes copies for documents that are older than their declaration, lets their buckets say what is declared of the items, writes the
//! other side of their two-way references, and claims their unique values.

use crate::graph::declaration::{Declaration, is_of_claims};
use crate::graph::edge::{Edge, EdgeId};
use crate::graph::{Graph, declared};
use crate::model::document::DocumentMeta;
use crate::rules::derived::DerivedValue;
use crate::store::batch::document_id;
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use crate::store::scopes::of_variant;
use crate::store::trace::Trace;
use crate::upkeep::audit::InspectedDocuments;
use crate::upkeep::copies::Corrected;
use crate::upkeep::stored::{EARLY, StoredDeclarations, unlinked};
use crate::upkeep::{copies, follow, inspect, snapshots};
use crate::{Error, Odm, Result, rules};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

impl Odm {
    /// Fills in copies, fields that are derived from children, and the summaries of buckets, in documents that are older than
    /// the declaration or its last change. Where references have become two-way, it adds the missing sides: a link that either
    /// side has is added to the other one, and none is removed, unless the other side can refer to one document only and refers
    /// to another one; then the rules of a [`repair`](Odm::repair) apply. A link that stays on one side, since the other one is
    /// full, is logged, and [`audit`](Odm::audit) lists it.
    ///
    /// Documents from before a key was declared `unique(global)` claim their values, and claims on values that a program from before has
    /// taken from their documents are removed first.
    ///
    /// Missing fields that are read with a default get the default stored ([`Plan::lacking`](crate::Plan::lacking)).
    ///
    /// Where the collection of holders was empty when the declaration was stored, while sources existed, the first holders are
    /// compared once, too: a process with an older program may have changed a source meanwhile without recording pending work.
    ///
    /// It waits until five minutes have passed since the declaration was stored ([`at_once`](Backfilling::at_once) does not):
    /// by then every other process has read it. A warning in the log says for which declarations it waits, and how long. Other clients may write while it runs: every copy is written with a check of
    /// its version. It works in batches in the order of the ids and stores its progress, so that it continues there after an
    /// interruption.
    ///
    /// # Errors
    /// Errors of the server end it; the next call continues there. Errors of single documents are returned at the end, when
    /// everything else is filled: a document that can't be written, a computed value outside of its field's range, and
    /// [`Error::UnknownCopies`] for documents with copies that these models lack.
    ///
    /// # Cost
    /// One round trip for the declarations to fill, and one for each declared field with a default. For every 1,000 documents
    /// that hold new copies one to read them, one for their sources, and one to write; for computed fields one query, and for a
    /// subset one (for each document before MongoDB 5.0, or 5.1 on a sharded cluster). For every 1,000 buckets one to read and
    /// one to write. For every 1,000 documents on either side of a two-way reference one to read them and one for the others,
    /// and where links are missing some ten more. For every 1,000 documents with a key that is `unique(global)` one to read them and
    /// one for their claims, for every 1,000 claims one and one for their documents; where claims are missing about six more for
    /// each 200, and for each claim that is removed one. Each 1,000 cost one more to store the progress; where the two-way reference
    /// or the key is new, the declarations are read once more at the end. [`snapshots`](Backfilling::snapshots): for each reference with
    /// some one, and for every 1,000 documents that lack one three, as for copies.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.sync().await?;
    /// let filled = odm.backfill().await?;
    /// println!("{} documents, for {:?}", filled.documents, filled.edges);
    /// # Ok(()) }
    /// ```
    pub fn backfill(&self) -> Backfilling {
        Backfilling {
            odm: self.unscoped(),
            all: false,
            snapshots: false,
            at_once: false,
            read: Arc::default(),
            on_wait: OnWait::default(),
        }
    }
}

/// A backfill, executed by `.await`: [`Odm::backfill`].
#[must_use = "a backfill does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Backfilling {
    odm: Odm,
    all: bool,
    snapshots: bool,
    at_once: bool,
    /// How many documents were read so far, to show the progress.
    read: Arc<AtomicU64>,
    on_wait: OnWait,
}

impl Backfilling {
    /// Fills all declarations, also those that were filled before. Two-way references that were filled before are compared as
    /// by a [`repair`](Odm::repair).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.backfill().again().await?;
    /// # Ok(()) }
    /// ```
    pub fn again(mut self) -> Backfilling {
        self.all = true;
        self
    }

    /// Also fills missing copies with `consistency = snapshot`, from the current values of their sources. Those may differ from the
    /// values when the references were set, so a backfill does not do this by default.
    ///
    /// A copy is missing where a reference has no such field beside it: the document is older than the declaration, or the
    /// source had no such field then. An existing copy, be it `null`, is never changed. Other documents are not read, so filled
    /// documents cost nothing the next time, though the server scans the collection.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let filled = odm.backfill().snapshots().await?;
    /// println!("{:?}", filled.edges); // ["orders.lines.price"]
    /// # Ok(()) }
    /// ```
    pub fn snapshots(mut self) -> Backfilling {
        self.snapshots = true;
        self
    }

    /// Begins at once. Only allowed while no process writes to this database that may have read the declarations before the new
    /// ones were stored. Without this a backfill waits until five minutes have passed since then, so that every process has
    /// read them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// odm.sync().await?;
    /// odm.backfill().at_once().await?; // no other process runs yet
    /// # Ok(()) }
    /// ```
    pub fn at_once(mut self) -> Backfilling {
        self.at_once = true;
        self
    }

    /// Calls a function before it waits for other processes.
    #[cfg(feature = "cli")]
    pub(crate) fn on_wait(mut self, told: impl Fn(&dyn fmt::Display) + Send + Sync + 'static) -> Backfilling {
        self.on_wait = OnWait(Some(Arc::new(told)));
        self
    }

    /// How many documents were read so far.
    #[cfg(feature = "cli")]
    pub(crate) fn read(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }
}

/// The result of a backfill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backfilled {
    /// The filled declarations, by the names of the references and fields, such as `products.parts.id`; for buckets the name of
    /// the items, and for snapshots their own names.
    pub edges: Vec<String>,
    /// The number of documents in which copies were filled. A document on either side of an added link counts, too.
    pub documents: u64,
    /// How many missing fields got their defaults; for fields in items of an array, the number of documents.
    pub defaults: u64,
}

impl IntoFuture for Backfilling {
    type Output = Result<Backfilled>;
    type IntoFuture = BoxFuture<'static, Result<Backfilled>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Backfilling {
                odm,
                all,
                snapshots,
                at_once,
                read,
                on_wait,
            } = self;
            let trace = Trace::new("(all)", "backfill");
            let filled = trace.run(async {
                let cx = Cx::new(&odm, None, &trace);
                let defaults = store_defaults(&cx).await?;
                let waits = if at_once { Duration::ZERO } else { odm.waits() };
                let (mut filled, mut failed) = fill(&cx, all, (waits, &on_wait), &read).await?;
                filled.defaults = defaults;
                if snapshots {
                    take_snapshots(&cx, &read, &mut filled, &mut failed).await?;
                }
                trace.documents(filled.documents);
                failed.all().map(|_| filled)
            });
            filled.await
        }
        .boxed()
    }
}

/// Compares everything, and updates copies that differ. Returns the first failure of a single document.
///
/// # Errors
/// A failure that does not depend on a document: then not everything was compared.
pub(crate) async fn compare_all(odm: &Odm) -> Result<Result<()>> {
    let trace = Trace::without_span();
    let cx = Cx::new(odm, None, &trace);
    let at_once = (Duration::ZERO, &OnWait::default());
    let (_, failed) = fill(&cx, true, at_once, &AtomicU64::new(0)).await?;
    Ok(failed.all().map(drop))
}

/// A declared field that earlier documents may lack.
enum LackingField<'g> {
    Value(Box<dyn DerivedValue + 'g>),
    /// The other side of a two-way reference, for documents that this side names.
    Links(&'g Edge),
}

impl<'g> LackingField<'g> {
    fn all(graph: &'g Graph) -> impl Iterator<Item = (LackingField<'g>, Declaration)> {
        let values = rules::values(graph).map(|value| {
            let declaration = value.declaration(graph);
            (LackingField::Value(value), declaration)
        });
        let linked = declared::linked(graph)
            .filter_map(|edge| Some((LackingField::Links(edge), declared::two_way(graph, edge)?)));
        values.chain(linked)
    }

    /// The documents that are gone through.
    fn holder(&self) -> &'static DocumentMeta {
        match self {
            LackingField::Value(value) => value.holder(),
            LackingField::Links(edge) => edge.holder,
        }
    }

    /// The fields to read of them.
    fn projection(&self) -> Document {
        match self {
            LackingField::Value(value) => value.projection(),
            LackingField::Links(edge) => inspect::fields([*edge]),
        }
    }

    /// Whether these models know all that follows from it.
    fn is_known(&self, odm: &Odm) -> Result<()> {
        odm.knows_copies(self.holder())?;
        match self {
            LackingField::Value(_) => Ok(()),
            LackingField::Links(edge) => odm
                .graph()
                .inverse(edge)
                .map_or(Ok(()), |other| odm.knows_copies(other.holder)),
        }
    }

    async fn fill(
        &self,
        cx: &Cx<'g>,
        documents: Vec<RawDocumentBuf>,
        unlinked: &[EdgeId],
    ) -> Result<Corrected> {
        match self {
            LackingField::Value(value) => copies::correct(value.as_ref(), cx, &documents).await,
            LackingField::Links(edge) => {
                let sides = [Some(edge.id), edge.inverse];
                let new = sides.into_iter().flatten().any(|at| unlinked.contains(&at));
                let written = follow::agree(cx, edge, documents, new).await?;
                Ok(Corrected {
                    written,
                    ..Corrected::default()
                })
            }
        }
    }
}

/// Why a backfill waits, in words, and how long.
struct Waiting {
    left: Duration,
    edges: Vec<String>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "waiting {} s, until every process has read the new declarations of {}; `at_once()` (`--at-once`) begins now, which is \
             safe if no other process writes to this database",
            self.left.as_secs_f64().ceil(),
            self.edges.join(", ")
        )
    }
}

/// Takes the reason of a wait.
#[cfg(feature = "cli")]
type TakeReason = dyn Fn(&dyn fmt::Display) + Send + Sync;

/// A function that is called with the reason of a wait before it begins.
#[derive(Clone, Default)]
pub(crate) struct OnWait(#[cfg(feature = "cli")] Option<Arc<TakeReason>>);

impl OnWait {
    fn call(&self, _waiting: &Waiting) {
        #[cfg(feature = "cli")]
        if let Some(told) = &self.0 {
            told(_waiting);
        }
    }
}

impl fmt::Debug for OnWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnWait")
    }
}

/// Waits until every process knows of the declarations that are to be filled: one that has read them before these were stored
/// has changed fields that they read without a mark, and then does so no more.
async fn wait(graph: &Graph, known: &StoredDeclarations, waits: Duration, on_wait: &OnWait) {
    let is_open = |id: &str| !known.is_filled(id) || known.is_early(id);
    let open = LackingField::all(graph).filter(|(_, edge)| is_open(&edge.id));
    // Where the clocks of two processes differ, it is a holding time at most.
    let passed = |declared: DateTime| SystemTime::now().duration_since(declared.to_system_time());
    let mut edges = Vec::new();
    let mut longest = Duration::ZERO;
    for (_, edge) in open {
        let Some(declared) = known.declared(&edge.id) else {
            continue;
        };
        let rest = waits.saturating_sub(passed(declared).unwrap_or_default());
        if !rest.is_zero() {
            longest = longest.max(rest);
            edges.push(edge.id);
        }
    }
    if longest.is_zero() {
        return;
    }
    let waiting = Waiting { left: longest, edges };
    tracing::warn!(target: "odm", seconds = longest.as_secs(), "backfill: {waiting}");
    on_wait.call(&waiting);
    tokio::time::sleep(longest).await;
}

async fn fill(
    cx: &Cx<'_>,
    all: bool,
    (waits, on_wait): (Duration, &OnWait),
    read: &AtomicU64,
) -> Result<(Backfilled, WriteReport)> {
    let odm = cx.odm;
    let (graph, edges) = (odm.graph(), odm.stored_edges());
    let mut filled = Backfilled::default();
    let mut failed = WriteReport::default();
    cx.trip();
    let mut known = odm.learn().await?;
    if !rules::declarations(graph).all(|edge| known.has(&edge)) {
        // `sync` has not come so far: a validator that demands the copies waits for this backfill.
        match odm.remember_edges().await {
            Ok(_) | Err(Error::UnknownCopies { .. }) => {}
            Err(error) => return Err(error),
        }
        cx.trip();
        known = StoredDeclarations::all(odm).await?;
    }
    wait(graph, &known, waits, on_wait).await;
    let unlinked = unlinked(graph, &known);
    let mut are_claims_filled = false;
    for (lacking, edge) in LackingField::all(graph) {
        let is_early = known.is_filled(&edge.id) && known.is_early(&edge.id);
        if known.is_filled(&edge.id) && !is_early && !all {
            continue;
        }
        // A program with more copies fills its own declarations.
        let is_own = known.declaration(&edge.id).is_none_or(|known| *known == edge.is);
        if !all && !is_own {
            continue;
        }
        if let Err(error) = lacking.is_known(odm) {
            failed.refuse(error);
            continue;
        }
        let as_declared = doc! { "_id": &edge.id, "declaration": { "$eq": &edge.is } };
        let at = known
            .edge(&edge.id)
            .and_then(|known| known.get("at").cloned())
            .filter(|_| !all);
        // Documents whose values another one has claimed: their keys stay early.
        let mut is_left = at.is_some() && known.is_early(&edge.id);
        let mut written = WriteReport::default();
        let mut source = InspectedDocuments::from(lacking.holder(), lacking.projection(), at);
        while let Some(documents) = source.next(cx).await? {
            read.fetch_add(documents.len() as u64, Ordering::Relaxed);
            let last = documents.last().map(document_id);
            let corrected = lacking.fill(cx, documents, &unlinked).await;
            is_left |= corrected
                .as_ref()
                .is_ok_and(|corrected| !corrected.left.is_empty());
            written.add(corrected.map(|corrected| corrected.written))?;
            // Where something is refused the others are filled, and the next backfill goes on here.
            if let Some(last) = last
                && written.refused.is_none()
            {
                cx.trip();
                let mut set = doc! { "at": last };
                set.extend(is_left.then(|| (EARLY.to_owned(), true.into())));
                edges
                    .update_one(as_declared.clone(), doc! { "$set": set })
                    .await?;
            }
        }
        filled.documents += written.documents;
        if let Some(error) = written.refused {
            failed.refuse(error);
            continue;
        }
        cx.trip();
        let update = if is_left {
            doc! { "$set": { "filled": true, EARLY: true }, "$unset": { "at": "" } }
        } else {
            doc! { "$set": { "filled": true }, "$unset": { "at": "", EARLY: "" } }
        };
        edges.update_one(as_declared, update).await?;
        if !is_early || all || written.documents > 0 {
            filled.edges.push(edge.id);
        }
        are_claims_filled |= is_of_claims(&edge.is);
    }
    if !unlinked.is_empty() || are_claims_filled {
        cx.trip();
        odm.learn().await?;
    }
    Ok((filled, failed))
}

/// Stores the defaults of the declared fields that documents lack. A reader sees the same values before and after, so that nothing follows from
/// it elsewhere.
async fn store_defaults(cx: &Cx<'_>) -> Result<u64> {
    let mut stored = 0;
    let mut types = Vec::new();
    let all = cx.odm.models().iter();
    for model in all.filter(|model| model.meta.takes_changes()) {
        types.push(model.meta);
        types.extend(model.meta.variants());
    }
    for meta in types {
        for fill in crate::plan::operators::fill::declared((meta.shape)()) {
            let filling = fill.filling();
            let all = cx.odm.database().collection::<Document>(meta.collection);
            let mut update = all.update_many(of_variant(meta, filling.condition), filling.update);
            if !filling.array_filters.is_empty() {
                update = update.array_filters(filling.array_filters);
            }
            cx.trip();
            stored += update.await?.modified_count;
        }
    }
    Ok(stored)
}

/// Takes the snapshots that documents lack.
async fn take_snapshots(
    cx: &Cx<'_>,
    read: &AtomicU64,
    filled: &mut Backfilled,
    failed: &mut WriteReport,
) -> Result<()> {
    for edge in snapshots::edges(cx.odm.graph()) {
        if let Err(error) = cx.odm.knows_copies(edge.holder) {
            failed.refuse(error);
            continue;
        }
        let mut taken = WriteReport::default();
        let mut source =
            InspectedDocuments::fitting(edge.holder, snapshots::lacking(edge), snapshots::projection(edge));
        while let Some(documents) = source.next(cx).await? {
            read.fetch_add(documents.len() as u64, Ordering::Relaxed);
            taken.add(snapshots::take(cx, edge, &documents).await)?;
        }
        filled.documents += taken.documents;
        match taken.refused {
            None => filled.edges.extend(snapshots::names(edge)),
            Some(error) => failed.refuse(error),
        }
    }
    Ok(())
}

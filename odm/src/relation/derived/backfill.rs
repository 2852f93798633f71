//! Takes copies for documents that are older than their declaration.

use super::super::audit::Source;
use super::super::batch::document_id;
use super::super::scope::Scope;
use super::declaration;
use super::each::Written;
use super::stored::Known;
use crate::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::doc;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Odm {
    /// Takes copies for documents that were there before their declaration, or before it was changed.
    ///
    /// It runs while others write: every copy is taken under the guard of its version. It goes through the documents in
    /// batches in the order of their ids and stores how far it has come, so that it goes on there after it was interrupted.
    ///
    /// # Errors
    /// What the server says; then it goes on where it stopped when it is called again. A document that can't be written, a
    /// number that does not fit its field, and [`Error::UnknownCopies`] for documents of which the database knows copies that these
    /// models lack, are told at the end, when everything else is filled.
    ///
    /// # Cost
    /// One round trip for what is to be filled. For every 1,000 documents that hold new copies one to read them, one for
    /// their sources, and one to write; for numbers of children one query, and for a subset one (for each document before
    /// MongoDB 5.0, or 5.1 on a sharded cluster).
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
                let (filled, failed) = fill(&scope, all, &read).await?;
                trace.done(trips.into_inner(), filled.documents);
                failed.map(|()| filled)
            });
            filled.await
        }
        .boxed()
    }
}

/// Compares everything, and takes what differs again. Gives the first of what is wrong with single documents.
///
/// # Errors
/// What says nothing of single documents: then not everything was compared.
pub(super) async fn compare_all(odm: &Odm) -> Result<Result<()>> {
    let trips = AtomicU64::new(0);
    let scope = Scope::new(odm, None, &trips);
    let (_, failed) = fill(&scope, true, &AtomicU64::new(0)).await?;
    Ok(failed)
}

async fn fill(scope: &Scope<'_>, all: bool, read: &AtomicU64) -> Result<(Backfilled, Result<()>)> {
    let odm = scope.odm;
    let (graph, edges) = (odm.graph(), odm.stored_edges());
    let mut filled = Backfilled::default();
    let mut failed = Written::default();
    scope.trip();
    let mut known = odm.look_for_lacking().await?;
    if !declaration::all(graph).all(|edge| known.has(&edge)) {
        // `sync` has not come so far: a validator that demands the copies waits for this backfill.
        match odm.remember_edges().await {
            Ok(_) | Err(Error::UnknownCopies { .. }) => {}
            Err(error) => return Err(error),
        }
        scope.trip();
        known = Known::all(odm).await?;
    }
    for kept in declaration::kept(graph) {
        let edge = declaration::of(graph, &kept);
        if known.is_filled(&edge.id) && !all {
            continue;
        }
        // What a program with more copies has declared, that one fills.
        let is_own = known.declaration(&edge.id).is_none_or(|known| *known == edge.is);
        if !all && !is_own {
            continue;
        }
        if let Err(error) = odm.knows_copies(kept.holder()) {
            failed.refuse(error);
            continue;
        }
        let as_declared = doc! { "_id": &edge.id, "declaration": { "$eq": &edge.is } };
        let at = known
            .edge(&edge.id)
            .and_then(|known| known.get("at").cloned())
            .filter(|_| !all);
        let mut mended = Written::default();
        let mut source = Source::from(kept.holder(), kept.projection(), at);
        while let Some(documents) = source.next(scope).await? {
            read.fetch_add(documents.len() as u64, Ordering::Relaxed);
            mended.add(kept.correct(scope, &documents).await)?;
            // Where something is refused the others are filled, and the next backfill goes on here.
            if let Some(last) = documents.last().map(document_id)
                && mended.refused.is_none()
            {
                scope.trip();
                edges
                    .update_one(as_declared.clone(), doc! { "$set": { "at": last } })
                    .await?;
            }
        }
        filled.documents += mended.documents;
        if let Some(error) = mended.refused {
            failed.refuse(error);
            continue;
        }
        scope.trip();
        let update = doc! { "$set": { "filled": true }, "$unset": { "at": "" } };
        edges.update_one(as_declared, update).await?;
        filled.edges.push(edge.id);
    }
    Ok((filled, failed.all().map(drop)))
}

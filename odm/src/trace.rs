//! What an operation reports to `tracing`: collection, operation, round trips, documents and time. Never a value, unless
//! the program asks for it at level `TRACE`.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tracing::{Instrument, Span, field::Empty};

/// One operation on its way.
#[derive(Clone)]
pub(crate) struct Trace {
    span: Span,
    started: Instant,
    /// The round trips for references, and those of the operation itself.
    trips: Arc<(AtomicU64, AtomicU64)>,
}

impl Trace {
    pub(crate) fn new(collection: &str, operation: &'static str) -> Trace {
        let span = tracing::debug_span!(
            target: "odm",
            "operation",
            collection,
            operation,
            round_trips = Empty,
            documents = Empty,
            elapsed_us = Empty
        );
        Trace {
            span,
            started: Instant::now(),
            trips: Arc::default(),
        }
    }

    /// Runs the operation within its span.
    pub(crate) fn run<F: Future>(&self, work: F) -> tracing::instrument::Instrumented<F> {
        work.instrument(self.span.clone())
    }

    /// What it took.
    pub(crate) fn done(&self, round_trips: u64, documents: u64) {
        self.trips.1.store(round_trips, Ordering::Relaxed);
        self.record(Some(documents));
    }

    /// What it took beside itself: the questions whether references have their targets, and the other side of two-way ones.
    pub(crate) fn more(&self, round_trips: u64) {
        if round_trips > 0 {
            self.trips.0.fetch_add(round_trips, Ordering::Relaxed);
            self.record(None);
        }
    }

    fn record(&self, documents: Option<u64>) {
        let (references, own) = &*self.trips;
        let all = references.load(Ordering::Relaxed) + own.load(Ordering::Relaxed);
        self.span.record("round_trips", all);
        if let Some(documents) = documents {
            self.span.record("documents", documents);
        }
        self.span.record(
            "elapsed_us",
            u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        );
    }

    /// A filter or an update, at level `TRACE` only, since it holds values.
    pub(crate) fn values(&self, what: &'static str, document: &mongodb::bson::Document) {
        tracing::trace!(target: "odm::values", parent: &self.span, what, %document);
    }
}

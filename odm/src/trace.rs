//! What an operation reports to `tracing`: collection, operation, round trips, documents and time. Never a value, unless
//! the program asks for it at level `TRACE`.

use std::future::Future;
use std::time::Instant;
use tracing::{Instrument, Span, field::Empty};

/// One operation on its way.
#[derive(Clone)]
pub(crate) struct Trace {
    span: Span,
    started: Instant,
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
        }
    }

    /// Runs the operation within its span.
    pub(crate) fn run<F: Future>(&self, work: F) -> tracing::instrument::Instrumented<F> {
        work.instrument(self.span.clone())
    }

    /// What it took.
    pub(crate) fn done(&self, round_trips: u64, documents: u64) {
        self.span.record("round_trips", round_trips);
        self.span.record("documents", documents);
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

//! The round trips that the library reports in the spans of its operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest};
use tracing::{Event, Metadata, Subscriber};

/// The sum of the round trips that spans have reported.
#[derive(Clone, Default)]
pub struct RoundTrips(Arc<AtomicU64>);

impl RoundTrips {
    /// Counts those of the operations that begin in this thread, until the guard is dropped.
    #[must_use]
    pub fn counted() -> (RoundTrips, DefaultGuard) {
        let counted = RoundTrips::default();
        let guard = tracing::subscriber::set_default(Counting(counted.clone()));
        (counted, guard)
    }

    /// The number since the last `take`.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl Visit for &RoundTrips {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "round_trips" {
            self.0.fetch_add(value, Ordering::Relaxed);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

struct Counting(RoundTrips);

impl Subscriber for Counting {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "odm"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // A span reports its round trips once, when it ends: which one it was does not matter.
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut &self.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

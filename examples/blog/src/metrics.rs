//! Numbers for a dashboard, counted from the library's spans and events, in the
//! text format of Prometheus.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing` that counts the operations of the library.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    /// By collection and operation.
    operations: BTreeMap<(String, String), Totals>,
    /// By the kind of the error.
    errors: BTreeMap<String, u64>,
    warnings: u64,
    pending_documents: u64,
    /// The age of the oldest pending work in the last round of the worker.
    pending_oldest: u64,
}

#[derive(Default)]
struct Totals {
    count: u64,
    round_trips: u64,
    documents: u64,
    micros: u64,
}

/// The fields of one span or event.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.0.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Metrics {
    fn on_new_span(
        &self,
        attributes: &Attributes<'_>,
        id: &Id,
        context: Context<'_, S>,
    ) {
        if let Some(span) =
            context.span(id).filter(|span| span.name() == "operation")
        {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.warnings += u64::from(*event.metadata().level() <= Level::WARN);
        // The event of a worker's round that has found pending work.
        if fields.0.contains_key("oldest_s") {
            counted.pending_documents += fields.number("documents");
            if let Some(round) = context.event_span(event)
                && let Some(of_round) = round.extensions_mut().get_mut::<Fields>()
            {
                of_round.0.insert("oldest_s", fields.text("oldest_s"));
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let extensions = span.extensions();
        let Some(fields) = extensions.get::<Fields>() else {
            return;
        };
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (fields.text("collection"), fields.text("operation"));
        if key.1 == "recover" {
            counted.pending_oldest = fields.number("oldest_s");
        }
        if let Some(kind) = fields.0.get("error") {
            *counted.errors.entry(kind.clone()).or_default() += 1;
        }
        let totals = counted.operations.entry(key).or_default();
        totals.count += 1;
        totals.round_trips += fields.number("round_trips");
        totals.documents += fields.number("documents");
        totals.micros += fields.number("elapsed_us");
    }
}

impl std::fmt::Display for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for ((collection, operation), of) in &counted.operations {
            let labels = format!(
                "{{collection=\"{collection}\",operation=\"{operation}\"}}"
            );
            let seconds = of.micros / 1_000_000;
            let micros = of.micros % 1_000_000;
            writeln!(f, "odm_operations_total{labels} {}", of.count)?;
            writeln!(f, "odm_round_trips_total{labels} {}", of.round_trips)?;
            writeln!(f, "odm_documents_total{labels} {}", of.documents)?;
            writeln!(f, "odm_seconds_total{labels} {seconds}.{micros:06}")?;
        }
        for (kind, count) in &counted.errors {
            writeln!(f, "odm_errors_total{{kind={kind:?}}} {count}")?;
        }
        writeln!(f, "odm_warnings_total {}", counted.warnings)?;
        writeln!(f, "odm_pending_documents_total {}", counted.pending_documents)?;
        writeln!(f, "odm_pending_oldest_seconds {}", counted.pending_oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::field::Empty;
    use tracing_subscriber::layer::SubscriberExt;

    fn operation(name: &str, oldest: Option<u64>, error: Option<&str>) {
        let span = tracing::debug_span!(
            target: "odm",
            "operation",
            collection = "posts",
            operation = name,
            round_trips = Empty,
            documents = Empty,
            elapsed_us = Empty,
            error = Empty
        );
        if let Some(oldest) = oldest {
            span.in_scope(|| {
                tracing::debug!(documents = 3_u64, oldest_s = oldest, "work")
            });
        }
        span.record("round_trips", 2_u64);
        span.record("elapsed_us", 1_500_000_u64);
        if let Some(error) = error {
            span.record("error", error);
        }
    }

    #[test]
    fn operations_errors_and_pending_work_are_counted() {
        let metrics = Metrics::default();
        let subscriber = tracing_subscriber::registry().with(metrics.clone());
        tracing::subscriber::with_default(subscriber, || {
            operation("get", None, None);
            operation("get", None, Some("Unavailable"));
            operation("recover", Some(17), None);
        });
        let text = metrics.to_string();
        let get = "{collection=\"posts\",operation=\"get\"}";
        for line in [
            format!("odm_operations_total{get} 2"),
            format!("odm_round_trips_total{get} 4"),
            format!("odm_seconds_total{get} 3.000000"),
            "odm_errors_total{kind=\"Unavailable\"} 1".to_owned(),
            "odm_pending_documents_total 3".to_owned(),
            "odm_pending_oldest_seconds 17".to_owned(),
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is missing:\n{text}"
            );
        }
        let subscriber = tracing_subscriber::registry().with(metrics.clone());
        tracing::subscriber::with_default(subscriber, || {
            operation("recover", None, None)
        });
        assert!(metrics.to_string().ends_with("odm_pending_oldest_seconds 0\n"));
    }
}

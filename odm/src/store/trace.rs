//! The span of an operation in `tracing`: collection, operation, round trips, documents, time, and the kind of error that ended
//! it. Values of documents are logged only at level `TRACE`.

use crate::model::document::DocumentMeta;
use crate::model::sensitive;
use crate::store::batches::RawDocuments;
use crate::store::routes::Routes;
use crate::{Error, Result};
use futures::future::FutureExt;
use futures::stream::{BoxStream, Stream, StreamExt};
use mongodb::error::{ErrorKind, WriteFailure};
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tracing::{Instrument, Span, field::Empty};

/// One operation on its way.
#[derive(Clone)]
pub(crate) struct Trace {
    span: Span,
    operation: &'static str,
    started: Instant,
    counts: Arc<TraceCounts>,
    /// The shard keys of the documents that the operation has met.
    routes: Arc<Routes>,
    /// The documents with fields that no error shows.
    sensitive: Option<Arc<[&'static DocumentMeta]>>,
}

/// The operations that only read, so that an error of them never leaves a write behind.
const READS: [&str; 12] = [
    "stream",
    "find",
    "find_one",
    "count",
    "exists",
    "page",
    "get",
    "get_many",
    "aggregate",
    "explain",
    "plan",
    "watch",
];

#[derive(Default)]
struct TraceCounts {
    /// Whether anything was counted.
    any: AtomicBool,
    failed: AtomicBool,
    round_trips: AtomicU64,
    documents: AtomicU64,
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
            elapsed_us = Empty,
            error = Empty
        );
        Trace {
            span,
            operation,
            started: Instant::now(),
            counts: Arc::default(),
            routes: Arc::default(),
            sensitive: None,
        }
    }

    /// Counts the round trips of work that has no span, since no operation waits for it.
    pub(crate) fn without_span() -> Trace {
        Trace {
            span: Span::none(),
            operation: "",
            started: Instant::now(),
            counts: Arc::default(),
            routes: Arc::default(),
            sensitive: None,
        }
    }

    /// The same, whose errors don't show the sensitive fields of these documents.
    pub(crate) fn concealing(mut self, sensitive: Option<Arc<[&'static DocumentMeta]>>) -> Trace {
        self.sensitive = sensitive;
        self
    }

    /// Runs the operation within its span, which says what it took when it ends.
    pub(crate) fn run<T, F: Future<Output = Result<T>>>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T>> + use<T, F> {
        self.watch(work, false)
    }

    /// Runs the beginning of an operation that [goes on](Trace::go_on) as a stream.
    pub(crate) fn begin<T, F: Future<Output = Result<T>>>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T>> + use<T, F> {
        self.watch(work, true)
    }

    fn watch<T, F: Future<Output = Result<T>>>(
        &self,
        work: F,
        goes_on: bool,
    ) -> impl Future<Output = Result<T>> + use<T, F> {
        let trace = self.clone();
        let work = work
            .map(move |made| {
                let made = made.map_err(|error| trace.outcome(error));
                if let Err(error) = &made {
                    trace.failed(error);
                }
                if made.is_err() || !goes_on {
                    trace.record();
                }
                made
            })
            .instrument(self.span.clone());
        #[cfg(feature = "testing")]
        let work = executed::Named::new(self.operation, work);
        work
    }

    fn outcome(&self, error: Error) -> Error {
        let sensitive = self.sensitive.iter().flat_map(|all| all.iter());
        let error = sensitive.fold(error, |error, meta| sensitive::concealed(meta, error));
        if READS.contains(&self.operation) {
            error.of_read()
        } else {
            error
        }
    }

    /// The batches of a stream, asked for within the span, which ends when the stream is dropped.
    pub(crate) fn go_on(
        self,
        batches: BoxStream<'static, Result<RawDocuments>>,
    ) -> BoxStream<'static, Result<RawDocuments>> {
        TracedBatches {
            batches,
            trace: self,
            failed: false,
            round_trips: 0,
            documents: 0,
        }
        .boxed()
    }

    /// A command is sent.
    pub(crate) fn trip(&self) {
        self.trips(1);
    }

    /// Commands were sent.
    pub(crate) fn trips(&self, round_trips: u64) {
        if round_trips > 0 {
            self.counts.any.store(true, Ordering::Relaxed);
            self.counts.round_trips.fetch_add(round_trips, Ordering::Relaxed);
        }
    }

    /// The shard keys of the documents that the operation has met.
    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The same, which knows these shard keys from the beginning.
    pub(crate) fn knowing(mut self, routes: Option<Arc<Routes>>) -> Trace {
        if let Some(routes) = routes {
            self.routes = routes;
        }
        self
    }

    /// The number of commands that were sent.
    pub(crate) fn round_trips(&self) -> u64 {
        self.counts.round_trips.load(Ordering::Relaxed)
    }

    /// The number of documents that the operation has read or written.
    pub(crate) fn documents(&self, documents: u64) {
        self.counts.any.store(true, Ordering::Relaxed);
        self.counts.documents.store(documents, Ordering::Relaxed);
    }

    /// The cost of an operation that counts its commands itself.
    pub(crate) fn done(&self, round_trips: u64, documents: u64) {
        self.trips(round_trips);
        self.documents(documents);
    }

    /// The error that ended it: the first one that is reported here. Its text may hold values of documents, so it is logged
    /// with them.
    pub(crate) fn failed(&self, error: &Error) {
        if self.counts.failed.swap(true, Ordering::Relaxed) {
            return;
        }
        self.span.record("error", &*kind(error));
        tracing::trace!(target: "odm::values", parent: &self.span, what = "error", %error);
    }

    fn record(&self) {
        if self.span.is_disabled() {
            return;
        }
        if self.counts.any.load(Ordering::Relaxed) {
            self.span.record("round_trips", self.round_trips());
            self.span
                .record("documents", self.counts.documents.load(Ordering::Relaxed));
        }
        self.span.record(
            "elapsed_us",
            u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        );
    }

    /// A filter or an update, at level `TRACE` only, since it holds values.
    /// Without the values of sensitive fields.
    pub(crate) fn values(&self, meta: &DocumentMeta, what: &'static str, document: &mongodb::bson::Document) {
        self.made_values(meta, what, || document.clone());
    }

    /// The same of a document that has to be made.
    pub(crate) fn made_values(
        &self,
        meta: &DocumentMeta,
        what: &'static str,
        document: impl FnOnce() -> mongodb::bson::Document,
    ) {
        if tracing::enabled!(target: "odm::values", tracing::Level::TRACE) {
            let document = sensitive::shown(meta, &document());
            tracing::trace!(target: "odm::values", parent: &self.span, what, %document);
        }
    }
}

/// A stream's batches, counted. An error is the last: the driver would ask the server again and again.
struct TracedBatches {
    batches: BoxStream<'static, Result<RawDocuments>>,
    trace: Trace,
    failed: bool,
    round_trips: u64,
    documents: u64,
}

impl Stream for TracedBatches {
    type Item = Result<RawDocuments>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.failed {
            return Poll::Ready(None);
        }
        let _entered = this.trace.span.enter();
        #[cfg(feature = "testing")]
        let _executing = executed::Executing::begin(this.trace.operation);
        let next = ready!(this.batches.poll_next_unpin(cx));
        let next = next.map(|next| next.map_err(|error| this.trace.outcome(error)));
        match &next {
            Some(Ok(batch)) => {
                this.round_trips += 1;
                this.documents += batch.len();
            }
            Some(Err(error)) => {
                this.failed = true;
                this.trace.failed(error);
            }
            None => {}
        }
        Poll::Ready(next)
    }
}

impl Drop for TracedBatches {
    fn drop(&mut self) {
        // The first batch has been requested, also where it was not read.
        self.trace.done(self.round_trips.max(1), self.documents);
        self.trace.record();
    }
}

/// The operation that a thread executes, for tests of an application: a record of commands names it beside each.
#[cfg(feature = "testing")]
pub(crate) mod executed {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    thread_local! {
        static OPERATION: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// The operation that this thread executes now.
    pub(crate) fn operation() -> Option<&'static str> {
        OPERATION.get()
    }

    /// One operation, until the thread goes on with another one.
    pub(super) struct Executing(Option<&'static str>);

    impl Executing {
        pub(super) fn begin(operation: &'static str) -> Executing {
            Executing(OPERATION.replace(Some(operation)))
        }
    }

    impl Drop for Executing {
        fn drop(&mut self) {
            OPERATION.set(self.0);
        }
    }

    /// The work of an operation.
    pub(super) struct Named<F> {
        operation: &'static str,
        work: Pin<Box<F>>,
    }

    impl<F> Named<F> {
        pub(super) fn new(operation: &'static str, work: F) -> Named<F> {
            let work = Box::pin(work);
            Named { operation, work }
        }
    }

    impl<F: Future> Future for Named<F> {
        type Output = F::Output;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
            let _executing = Executing::begin(self.operation);
            self.work.as_mut().poll(context)
        }
    }
}

/// The kind of an error, without any value.
pub(crate) fn kind(error: &Error) -> Cow<'static, str> {
    let name = match error {
        Error::NotFound { .. } => "NotFound",
        Error::DuplicateKey { .. } => "DuplicateKey",
        Error::IdNotUnique { .. } => "IdNotUnique",
        Error::Invalid { .. } => "Invalid",
        Error::ArrayFull { .. } => "ArrayFull",
        Error::TooLarge { .. } => "TooLarge",
        Error::NotADocument { .. } => "NotADocument",
        Error::IsNull { .. } => "IsNull",
        Error::OtherVariant { .. } => "OtherVariant",
        Error::MissingReference { .. } => "MissingReference",
        Error::StillReferenced { .. } => "StillReferenced",
        Error::OutOfScope { .. } => "OutOfScope",
        Error::Conflict { .. } => "Conflict",
        Error::Decode { .. } => "Decode",
        Error::Encode { .. } => "Encode",
        Error::Query { .. } => "Query",
        Error::PageToken { .. } => "PageToken",
        Error::Request { .. } => "Request",
        Error::Json { .. } => "Json",
        Error::InsertMany { .. } => "InsertMany",
        Error::Bulk { .. } => "Bulk",
        Error::Models { .. } => "Models",
        Error::Unsupported { .. } => "Unsupported",
        Error::UnknownCopies { .. } => "UnknownCopies",
        Error::UnknownReferences { .. } => "UnknownReferences",
        Error::ExistingDocuments { .. } => "ExistingDocuments",
        Error::SchemaConflict { .. } => "SchemaConflict",
        Error::Step { .. } => "Step",
        Error::Migrations { .. } => "Migrations",
        Error::Contention { .. } => "Contention",
        Error::Unavailable { .. } => "Unavailable",
        Error::Unfinished { .. } => "Unfinished",
        Error::CursorLost { .. } => "CursorLost",
        Error::PositionLost { .. } => "PositionLost",
        Error::Immutable { .. } => "Immutable",
        Error::StoredType { .. } => "StoredType",
        Error::Index { .. } => "Index",
        Error::Pattern { .. } => "Pattern",
        Error::Memory { .. } => "Memory",
        Error::CollectionType { .. } => "CollectionType",
        Error::Refused { code, .. } => return format!("Refused (code {code})").into(),
        Error::Hook { .. } => "Hook",
        Error::Application(_) => "Application",
        Error::Driver(error) => return of_driver(error),
    };
    name.into()
}

fn of_driver(error: &mongodb::error::Error) -> Cow<'static, str> {
    let code = match &*error.kind {
        ErrorKind::Command(command) => command.code,
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code,
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) => concern.code,
        ErrorKind::Io(_) => return "Driver (network)".into(),
        ErrorKind::ConnectionPoolCleared { .. } => return "Driver (network)".into(),
        ErrorKind::ServerSelection { .. } => return "Driver (no server)".into(),
        _ => return "Driver".into(),
    };
    format!("Driver (code {code})").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{deserialize_from_document, doc};

    #[test]
    fn the_kind_of_an_error_has_no_value_in_it() {
        let error = Error::NotFound {
            collection: "people",
            key: Box::new(doc! { "_id": "secret" }),
            deleted: false,
        };
        assert_eq!(kind(&error), "NotFound");
        let reply = doc! { "code": 112, "codeName": "WriteConflict", "errmsg": "secret" };
        let command = deserialize_from_document(reply).expect("a command's error");
        let driver = mongodb::error::Error::from(ErrorKind::Command(command));
        assert_eq!(kind(&driver.into()), "Driver (code 112)");
        let network = std::io::Error::other("secret");
        assert_eq!(kind(&mongodb::error::Error::from(network).into()), "Unavailable");
    }
}

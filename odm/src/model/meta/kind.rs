//! The kinds of collections: of plain documents, of a fixed size, a time series, a view.

use crate::Result;
use futures::future::BoxFuture;
use mongodb::bson::Document;
use std::any::Any;
use std::fmt;

/// The kind of a collection.
#[derive(Clone, Copy, Debug)]
pub enum CollectionKind {
    /// Documents, and no more is declared.
    Plain,
    /// A collection of a fixed size, which loses its oldest documents to new ones: `#[document(capped(size = BYTES))]`.
    Capped {
        /// How many bytes its documents may have.
        size: u64,
        /// How many documents it may have.
        max: Option<u64>,
    },
    /// Measurements, which the server stores compressed: `#[document(time_series(time = at))]`.
    TimeSeries(TimeSeriesMeta),
    /// The results of a pipeline, which are only read: `#[document(view(of = Order, pipeline = open))]`.
    View(ViewMeta),
}

/// A time series, as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct TimeSeriesMeta {
    /// Gives the stored name of the field with the time of a measurement.
    pub time: fn() -> &'static str,
    /// The same of the field that says what was measured.
    pub meta: Option<fn() -> &'static str>,
    /// How far apart the measurements of one source are.
    pub granularity: Option<&'static str>,
    /// Measurements are deleted this number of seconds after their time.
    pub expire_after: Option<u64>,
}

/// A view, as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct ViewMeta {
    /// The name of the struct whose documents the pipeline reads.
    pub of: fn() -> &'static str,
    /// Their collection.
    pub collection: fn() -> &'static str,
    /// Makes the pipeline.
    pub stages: StagesFn,
}

/// Makes the stages of a view by a handle of the database: a type of the rooms above.
pub type StagesFn = for<'h> fn(&'h (dyn Any + Send + Sync)) -> BoxFuture<'h, Result<Vec<Document>>>;

/// In words, with an article.
impl fmt::Display for CollectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CollectionKind::Plain => "a collection",
            CollectionKind::Capped { .. } => "a capped collection",
            CollectionKind::TimeSeries(_) => "a time series",
            CollectionKind::View(_) => "a view",
        })
    }
}

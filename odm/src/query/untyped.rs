//! A query without types: what is sent to the server, and how its reply is read.

use crate::model::document::DocumentMeta;
use crate::model::meta::names::read_too;
use crate::query::page::position::SortPosition;
use crate::store::action::Action;
use crate::store::batches::{RawDocuments, Take};
use crate::store::core::{Core, act, batches};
use crate::{Filter, Order, Result};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, StreamExt};
use mongodb::bson::{Bson, doc};
use mongodb::options::{Collation, DistinctOptions, FindOneOptions, FindOptions};
use mongodb::raw_batch_cursor::RawBatch;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// A query without the types of its documents: what is sent to the server. It is compiled once for all types.
pub(crate) struct Query {
    pub(crate) core: Core,
    pub(crate) filter: Filter<()>,
    pub(crate) options: QueryOptions,
    pub(crate) sort: Vec<Order<()>>,
    /// The fields of a projection.
    pub(crate) fields: Option<Vec<&'static str>>,
    /// The stored fields that a join reads; `None` where nothing is joined.
    pub(crate) needs: Option<Vec<&'static str>>,
    /// Whether its documents are those of the application, which have no deferred fields that are not asked for.
    pub(crate) leaves_out_deferred: bool,
    /// The conditions on the documents that these refer to.
    pub(crate) joined: Vec<Box<dyn JoinedCondition>>,
}

/// A condition on the documents that those of a query refer to.
pub(crate) trait JoinedCondition: Send {
    /// The condition on the documents of the query itself that it means.
    fn resolve(self: Box<Self>, core: &Core) -> BoxFuture<'_, Result<Filter<()>>>;
}

/// The driver's options of a query. They are large, and a query of one document has none as a rule: so they are in a box,
/// which is made where one is set.
#[derive(Clone, Default)]
pub(crate) struct QueryOptions(Option<Box<FindOptions>>);

impl QueryOptions {
    pub(crate) fn into_inner(self) -> Option<FindOptions> {
        self.0.map(|options| *options)
    }

    fn into_one(self) -> Option<FindOneOptions> {
        let FindOptions {
            sort,
            skip,
            projection,
            collation,
            hint,
            selection_criteria,
            ..
        } = self.into_inner()?;
        let mut options = FindOneOptions::default();
        options.sort = sort;
        options.skip = skip;
        options.projection = projection;
        options.collation = collation;
        options.hint = hint;
        options.selection_criteria = selection_criteria;
        Some(options)
    }
}

impl Deref for QueryOptions {
    type Target = FindOptions;

    fn deref(&self) -> &FindOptions {
        static NONE: LazyLock<FindOptions> = LazyLock::new(FindOptions::default);
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for QueryOptions {
    fn deref_mut(&mut self) -> &mut FindOptions {
        self.0.get_or_insert_default()
    }
}

/// Number of documents of a stream that are in memory with their joined documents: a batch of the server's default size may be
/// 16 MiB of references.
pub(crate) const JOINED_AT_ONCE: u32 = 1_000;

/// The largest batch that can be asked for: the driver takes an `i32`, and adds one where the batch is as long as the
/// limit.
const MOST_AT_ONCE: u32 = i32::MAX as u32 - 1;

/// Hands every document of a cursor of the driver's to `take`, within the session if there is one, and gives the number
/// of batches and that of documents. The action is as that of [`act`].
macro_rules! hand_out {
    ($core:expr, [$($copied:ident),*] $action:expr, $take:expr) => {{
        let core: &$crate::store::core::Core = $core;
        match $crate::store::core::hold(core.session(), core.odm(), $crate::store::core::sees!(read)) {
            None => {
                let action = $crate::store::options::with_options!(core, read, $action);
                let cursor = action.batch().await.map_err(|error| core.error(error))?;
                let batches = $crate::store::batches::ahead(cursor);
                $crate::store::batches::each_of(core.meta(), batches, $take).await?
            }
            Some(hold) => {
                let cursor = $crate::store::core::held_cursor!(core, hold, read, [$($copied),*] $action);
                let cursor = cursor.map_err(|error| core.error(error))?;
                let batches = $crate::store::batches::of_held(cursor);
                $crate::store::batches::each_of(core.meta(), batches, $take).await?
            }
        }
    }};
}
pub(crate) use hand_out;

/// The projection of these fields, and of those that a join reads, where there is one.
pub(crate) fn projection(fields: &[&'static str], needs: Option<&[&'static str]>) -> mongodb::bson::Document {
    let mut projection: mongodb::bson::Document = fields
        .iter()
        .map(|name| ((*name).to_owned(), Bson::Int32(1)))
        .collect();
    for name in needs.unwrap_or_default() {
        read_too(&mut projection, name);
    }
    // Nor does it take a part of the id without the id. A join names by it what does not fit.
    let has_id = projection
        .keys()
        .any(|name| name == "_id" || name.starts_with("_id."));
    if needs.is_none() && !has_id {
        projection.insert("_id", 0);
    }
    projection
}

impl Query {
    pub(crate) fn new(core: Core, filter: Filter<()>) -> Query {
        Query {
            core: core.noting(),
            filter,
            options: QueryOptions::default(),
            sort: Vec::new(),
            fields: None,
            needs: None,
            leaves_out_deferred: false,
            joined: Vec::new(),
        }
    }

    /// A query of documents that the application receives.
    pub(crate) fn for_application(core: Core, filter: Filter<()>) -> Query {
        Query {
            leaves_out_deferred: true,
            ..Query::new(core, filter)
        }
    }

    pub(crate) fn meta(&self) -> &'static DocumentMeta {
        self.core.meta()
    }

    /// Whether only a part of each document is read.
    pub(crate) fn is_projected(&self) -> bool {
        self.fields.is_some() || self.options.projection.is_some()
    }

    /// Whether something is joined to the documents.
    pub(crate) fn joins(&self) -> bool {
        self.needs.is_some()
    }

    pub(crate) fn and(&mut self, filter: Filter<()>) {
        let own = std::mem::replace(&mut self.filter, Filter::always());
        self.filter = own & filter;
    }

    /// Puts the order and the projection into the options, and gives the condition.
    ///
    /// # Errors
    /// That of the condition, and [`Error::Query`] for an option that a read can't have.
    pub(crate) async fn prepare(&mut self) -> Result<mongodb::bson::Document> {
        self.core.may_have_options()?;
        self.resolve_joined().await?;
        if !self.sort.is_empty() {
            self.options.sort = Some(
                self.sort
                    .iter()
                    .map(|o| (o.name.to_owned(), Bson::Int32(o.direction())))
                    .collect(),
            );
        }
        self.prepare_projection();
        let filter = std::mem::replace(&mut self.filter, Filter::always()).into_document()?;
        let collated = self.options.collation.is_some();
        let filter = self.core.odm().in_scope(self.core.meta(), filter, collated)?;
        Ok(if collated {
            filter
        } else {
            self.core.routed(filter)
        })
    }

    /// Turns the conditions on documents that these refer to into conditions on these.
    ///
    /// # Errors
    /// Those of [`Find::filter_joined`](crate::Find::filter_joined).
    pub(crate) async fn resolve_joined(&mut self) -> Result<()> {
        for joined in std::mem::take(&mut self.joined) {
            let own = joined.resolve(&self.core).await?;
            self.and(own);
        }
        Ok(())
    }

    pub(crate) fn prepare_projection(&mut self) {
        let projection = match self.fields.take() {
            Some(fields) => Some(projection(&fields, self.needs.as_deref())),
            None if self.leaves_out_deferred && self.options.projection.is_none() => {
                let sorted = self
                    .options
                    .sort
                    .iter()
                    .flat_map(|sort| sort.keys().map(String::as_str));
                let sorted: Vec<&str> = self.sort.iter().map(|order| order.name).chain(sorted).collect();
                self.core.odm().without_deferred(self.core.meta(), &sorted)
            }
            None => None,
        };
        if let Some(mut projection) = projection {
            if self.joins()
                && let Some(routing) = self.core.odm().graph().routing(self.meta())
            {
                routing
                    .read
                    .iter()
                    .for_each(|name| read_too(&mut projection, name));
            }
            self.options.projection = Some(projection);
        }
    }

    /// Hands the first document to `take`, if there is one.
    pub(crate) fn first(mut self, take: Take<'_>) -> BoxFuture<'_, Result<()>> {
        async move {
            if self.options.limit == Some(0) {
                return Ok(());
            }
            let filter = self.prepare().await?;
            let trace = self.core.trace("find_one");
            trace.values(self.core.meta(), "filter", &filter);
            trace
                .run(async {
                    let (core, options) = (&self.core, self.options.into_one());
                    let found = act!(core, read, [core] core.raw().find_one(filter).with_options(options));
                    let found = found.map_err(|error| core.error(error))?;
                    trace.done(1, found.is_some().into());
                    found.map_or(Ok(()), |found| {
                        core.note(&found);
                        take(&found)
                    })
                })
                .await
        }
        .boxed()
    }

    /// The batches of a stream.
    pub(crate) fn stream(mut self) -> BoxFuture<'static, Result<BoxStream<'static, Result<RawDocuments>>>> {
        async move {
            self.prepare_projection();
            if self.joins() {
                self.options.batch_size.get_or_insert(JOINED_AT_ONCE);
            }
            if self.options.limit == Some(0) {
                return Ok(futures::stream::empty().boxed());
            }
            let place = Arc::new(SortPosition::of_query(
                &self.sort,
                self.options.projection.as_ref(),
            ));
            self.batches(place).await
        }
        .boxed()
    }

    /// The documents batch by batch, as the server sends them.
    pub(crate) async fn batches(
        mut self,
        place: Arc<SortPosition>,
    ) -> Result<BoxStream<'static, Result<RawDocuments>>> {
        let filter = self.prepare().await?;
        let trace = self.core.trace("stream");
        trace.values(self.core.meta(), "filter", &filter);
        let (core, options) = (&self.core, self.options.into_inner());
        let (meta, seen, noting) = (core.meta(), place.clone(), core.clone());
        let read = move |batch: RawBatch| {
            let batch = RawDocuments::new(meta, batch)?;
            let mut number = 0;
            batch.each(&mut |document| {
                noting.note(document);
                seen.check(meta.collection, document)?;
                number += 1;
                if number == batch.len() {
                    seen.note(document);
                }
                Ok(())
            })?;
            Ok(batch)
        };
        let batches = trace
            .begin(async {
                Ok(batches!(
                    core,
                    [core] core.raw().find(filter).with_options(options),
                    meta,
                    read
                ))
            })
            .await?;
        let batches = trace.go_on(batches);
        Ok(batches
            .map(move |batch| batch.map_err(|error| place.lost(error)))
            .boxed())
    }

    pub(crate) fn count(mut self) -> Action<u64> {
        let collection = self.meta().collection;
        let count = async move {
            if self.options.limit == Some(0) {
                return Ok(0);
            }
            let filter = self.prepare().await?;
            let trace = self.core.trace("count");
            trace.values(self.core.meta(), "filter", &filter);
            trace
                .run(async {
                    let mut options = mongodb::options::CountOptions::default();
                    options.limit = self.options.limit.and_then(|n| u64::try_from(n).ok());
                    options.skip = self.options.skip;
                    options.collation = self.options.collation.clone();
                    options.hint = self.options.hint.clone();
                    let core = &self.core;
                    let count =
                        act!(core, read, [core] core.raw().count_documents(filter).with_options(options));
                    let count = count.map_err(|error| core.error(error))?;
                    trace.done(1, count);
                    Ok(count)
                })
                .await
        };
        Action::new(collection, "count", Box::new(count))
    }

    /// The distinct values of a field. The sort means nothing to them.
    pub(crate) fn distinct(mut self, name: &'static str) -> BoxFuture<'static, Result<Vec<Bson>>> {
        async move {
            if self.options.skip.is_some() || self.options.limit.is_some() {
                return Err(crate::Error::Query {
                    collection: self.meta().collection,
                    message: "`distinct` gives the values of all documents that match: it takes no `skip` and no `limit`".to_owned(),
                });
            }
            self.sort.clear();
            let filter = self.prepare().await?;
            let trace = self.core.trace("distinct");
            trace.values(self.core.meta(), "filter", &filter);
            let core = &self.core;
            let mut options = DistinctOptions::default();
            options.collation.clone_from(&self.options.collation);
            trace
                .run(async {
                    let values =
                        act!(core, read, [core] core.raw().distinct(name, filter).with_options(options));
                    let values = values.map_err(|error| core.error(error))?;
                    trace.done(1, values.len() as u64);
                    Ok(values)
                })
                .await
        }
        .boxed()
    }

    pub(crate) fn exists(mut self) -> Action<bool> {
        let collection = self.meta().collection;
        let exists = async move {
            if self.options.limit == Some(0) {
                return Ok(false);
            }
            let filter = self.prepare().await?;
            let trace = self.core.trace("exists");
            trace.values(self.core.meta(), "filter", &filter);
            trace
                .run(async {
                    self.options.sort = None;
                    self.options.projection = Some(doc! { "_id": 1 });
                    let (core, options) = (&self.core, self.options.into_one());
                    let found = act!(core, read, [core] core.raw().find_one(filter).with_options(options));
                    let found = found.map_err(|error| core.error(error))?.is_some();
                    trace.done(1, found.into());
                    Ok(found)
                })
                .await
        };
        Action::new(collection, "exists", Box::new(exists))
    }

    /// Hands the ids of at most `limit` documents to `take`, found by a collation. Out of a transaction they are read from the
    /// primary, since they are about to be changed.
    pub(crate) fn ids(
        mut self,
        collation: Collation,
        limit: i64,
        take: Take<'_>,
    ) -> BoxFuture<'_, Result<()>> {
        self.options.collation = Some(collation);
        self.options.projection = Some(doc! { "_id": 1 });
        self.core = self.core.before_write();
        self.options.limit = Some(limit);
        self.each("find", take)
    }

    /// Hands every document to `take`, in raw BSON.
    pub(crate) fn each<'a>(mut self, operation: &'static str, take: Take<'a>) -> BoxFuture<'a, Result<()>> {
        async move {
            if self.options.limit == Some(0) {
                return Ok(());
            }
            // All of them are wanted, so the first batch need not end at the server's 101 documents: it holds what was asked
            // for, up to 16 MB.
            let wanted = self
                .options
                .limit
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(MOST_AT_ONCE)
                .min(MOST_AT_ONCE);
            self.options.batch_size.get_or_insert(wanted);
            let filter = self.prepare().await?;
            let trace = self.core.trace(operation);
            trace.values(self.core.meta(), "filter", &filter);
            trace
                .run(async {
                    let (core, options) = (&self.core, self.options.into_inner());
                    let take = &mut |document: &mongodb::bson::RawDocument| {
                        core.note(document);
                        take(document)
                    };
                    let (round_trips, documents) =
                        hand_out!(core, [core] core.raw().find(filter).with_options(options), take);
                    trace.done(round_trips, documents);
                    Ok(())
                })
                .await
        }
        .boxed()
    }
}

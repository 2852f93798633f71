//! Schema design for MongoDB documents, checked by the compiler and enforced by the runtime.
//!
//! A struct declares what a document holds: its fields, their bounds, its indexes. From that declaration come the typed paths
//! of queries and updates, the checks before a write, the server's validator and the indexes. A violation of the declaration
//! does not compile (an array without a bound, a field that does not exist, a value of another type), or is refused with an
//! error that names the field, the value and the rule. It builds on the official driver, [`mongodb`].
//!
//! # A tour
//!
//! Five minutes from the structs to what keeps them true. The samples share one file, so that they can be copied in turn.
//!
//! ## Declare
//!
//! A struct is a collection ([`Document`](derive@Document)) or a part of a document ([`Embed`](derive@Embed)):
//!
//! ```
#![doc = include_str!("../doc/tour.rs")]
//! ```
//!
//! The design is checked when it compiles. An array without a bound is refused:
//!
//! ```compile_fail
//! # use odm::prelude::*;
//! #[derive(Document)]
//! #[document(collection = "products")]
//! struct Product {
//!     id: ObjectId,
//!     pictures: Vec<String>,
//! }
//! ```
//!
//! ```text
//! error: `Product.pictures: Vec<String>` is a Vec without a declared bound, so its document can grow until it can't be
//!        written any more. For few items write `#[embed(max = 20)]`; for many, store `String` as a document of its own that
//!        names this one (rule three: high cardinality arrays are not embedded); if odm should not look into it, write
//!        `#[field(opaque)]`
//! ```
//!
//! ## Connect
//!
//! [`Odm::new`] compares the models with each other and asks no server. [`Odm::sync`] makes the collections, the validators
//! and the indexes; `odm server`, of the package `odm-cli`, is a server to try it on.
//!
//! ```no_run
//! # use samples::tour::*; use odm::prelude::*;
//! async fn connect() -> odm::Result<Odm> {
//!     let uri = "mongodb://127.0.0.1:27017/?replicaSet=rs0";
//!     let client = odm::mongodb::Client::with_uri_str(uri).await?;
//!     let odm = Odm::new(client.database("shop"), models![Product, Part, Review])?;
//!     odm.sync().await?;
//!     Ok(odm)
//! }
//! ```
//!
//! ## Insert
//!
//! The application gives what it knows: not the id, and not what the library derives. The names of the parts, the newest
//! reviews and the rating come from the other collections.
//!
//! ```no_run
//! # use samples::tour::*; use odm::prelude::*;
//! async fn insert(odm: &Odm) -> odm::Result<Product> {
//!     let bolt = odm.collection::<Part>().insert(NewPart { name: "bolt".into(), qty: 94 }).await?;
//!     let product = NewProduct {
//!         name: "smoke shifter".into(),
//!         cents: 2_500,
//!         pictures: vec![],
//!         parts: vec![bolt.to_ref()],
//!     };
//!     let product = odm.collection::<Product>().insert(product).await?;
//!     assert_eq!(product.parts[0].name, "bolt");
//!
//!     let (at, text) = (DateTime::now(), "It shifts smoke".to_owned());
//!     let review = NewReview { product: product.to_ref(), at, stars: 5, text };
//!     odm.collection::<Review>().insert(review).await?;
//!     Ok(product)
//! }
//! ```
//!
//! ## Read
//!
//! Conditions are made of typed paths: a field that does not exist, or a value of another type, does not compile. A join is one
//! query for each collection, however many documents there are.
//!
//! ```no_run
//! # use samples::tour::*; use odm::prelude::*;
//! async fn read(odm: &Odm) -> odm::Result<()> {
//!     let products = odm.collection::<Product>();
//!     let cheap: Vec<Product> = products
//!         .find(|p| p.cents.lt(3_000) & p.parts.name.eq("bolt"))
//!         .sort(|p| p.name.asc())
//!         .all()
//!         .await?;
//!     println!("{cheap:?}");
//!
//!     let joined: Vec<(Product, (Vec<Part>, Vec<Review>))> = products
//!         .find_all()
//!         .include(|p| (p.parts, p.children::<Review>().limit(3)))
//!         .all()
//!         .await?;
//!     println!("{joined:?}");
//!     Ok(())
//! }
//! ```
//!
//! ## Update
//!
//! An operator changes what is stored, guarded by the bounds. The first update here renames the part and its copies in all
//! products, in one transaction; the second one is refused where the product has five pictures.
//!
//! ```no_run
//! # use samples::tour::*; use odm::prelude::*;
//! async fn update(odm: &Odm, part: Ref<Part>, product: &Product) -> odm::Result<()> {
//!     let renamed = odm.collection::<Part>().update(part).set(|p| p.name, "steel bolt").await?;
//!     println!("{} copies updated", renamed.copies_updated);
//!
//!     let picture = Picture { url: "https://example.com/1.png".into(), width: 640 };
//!     let added = odm.collection::<Product>().update(product.id).push(|p| p.pictures, picture).await;
//!     match added {
//!         Ok(_) => {}
//!         Err(odm::Error::ArrayFull { max, .. }) => println!("there are {max} pictures already"),
//!         Err(other) => return Err(other),
//!     }
//!     Ok(())
//! }
//! ```
//!
//! ## Write several documents
//!
//! [`Odm::transaction`] makes all writes or none, and runs again after a conflict. [`Odm::bulk`] sends many writes at once.
//!
//! ```no_run
//! # use samples::tour::*; use odm::prelude::*;
//! async fn build(odm: &Odm, product: NewProduct) -> odm::Result<Product> {
//!     odm.transaction(async |tx| {
//!         for part in &product.parts {
//!             tx.collection::<Part>().update(*part).inc(|p| p.qty, -1).await?;
//!         }
//!         tx.collection::<Product>().insert(product.clone()).await
//!     })
//!     .await
//! }
//! ```
//!
//! ## Operate
//!
//! A worker applies what a killed process left undone; an audit compares copies and references with their sources. The
//! feature `cli` gives an application these as commands, `testing` gives each test a database of its own.
//!
//! ```no_run
//! # use odm::prelude::*;
//! async fn operate(odm: &Odm) -> odm::Result<()> {
//!     let worker = odm.worker(std::time::Duration::from_secs(60));
//!     let audit = odm.audit().await?;
//!     if !audit.is_clean() {
//!         println!("{audit}");
//!         odm.repair(&audit).await?;
//!     }
//!     worker.stop().await;
//!     Ok(())
//! }
//! ```
//!
//! # Where things are
//!
//! | to | see |
//! | --- | --- |
//! | declare documents | the derives [`Document`](derive@Document), [`Embed`](derive@Embed) and [`Projection`](derive@Projection) |
//! | refer to other documents | [`Ref`], with [`reference` and `parent_ref`](derive@Document#references) |
//! | keep copies of other documents | [`denormalize`, `subset` and `computed`](derive@Document#copies); [`Average`](types::Average) |
//! | begin | [`Odm`], [`models!`], [`Collection`], [`prelude`] |
//! | create collections, validators and indexes | [`Odm::sync`]; [`Odm::plan`] and [`Odm::apply`]; [`schema`] |
//! | insert, replace, delete | [`Collection::insert`], [`Collection::insert_many`], [`Collection::replace`], [`Collection::delete`] |
//! | insert with children | `insert(order).with(\|order: Ref<Order>\| lines)`: [`Insert::with`](write::Insert::with), [`Collection::insert_tree`] |
//! | upsert: insert unless it is there | [`Insert::or_get_by`](write::Insert::or_get_by), [`Update::upsert_with`](update::Update::upsert_with); [`Collection::save`] for a whole document |
//! | write only if nobody has written since (optimistic locking) | `#[document(version)]`, then `update(&doc)` and `replace(doc)`, which are [`Error::Conflict`] where the stored version is another one; [`Update::if_version`](update::Update::if_version) |
//! | read or write one document by a unique key | `#[index(unique)]`, or `#[document(index(fields(shop, number), unique))]`; then `get_by(\|p\| p.email, email)`, `get_by(\|o\| (o.shop, o.number), (shop, 7))`: [`Collection::get_by`], [`Collection::update_by`], [`Collection::delete_by`] |
//! | change one document if it matches | [`Update::filter`](update::Update::filter); the first that matches: [`Collection::update_first`], [`Collection::delete_first`] |
//! | read | [`Collection::get`], [`Collection::find`], [`Find`]; [`Find::page`] for pages, [`Find::lossy`] for documents that can't be decoded |
//! | join referenced documents | [`Find::include`]; `comments.children_of(&post)`: [`Collection::children_of`]; [`LoadRefs::load`]; [`Find::lookup`] |
//! | find by a field of a referenced document | `filter_joined(\|p\| p.author, \|u\| u.city.eq("Rome"))`: [`Find::filter_joined`] |
//! | read in pages | `find(…).sort(…).page(20).after(token)`: [`Find::page`] |
//! | read a large field only where it is asked for | [`Deferred`], [`Collection::with_deferred`] |
//! | write a condition | `p.age.gte(18) & !p.name.eq("Kate")`, `p.nickname.eq(None)`, `p.id.in_([1, 2])`, `p.name.regex(Pattern::literal(text).ignore_case())`: the methods of [`Path`](query::Path), [`Filter`], [`Pattern`], [`text()`](query::text()), [`geo`]; [`expr`] for fields compared with fields |
//! | take conditions, order and page from a request | [`RequestQuery`](derive@request::RequestQuery), [`Find::request`] |
//! | update | [`Collection::update`], [`Collection::update_where`]; the methods of [`Change`] |
//! | change items of an array | [`Change::elem`] (those that match), [`Change::each`], [`Change::items`] (in arrays of arrays), [`Change::push`], [`Change::pull`] (by its value), [`Change::pull_where`] |
//! | take changes from a request, `PATCH` and `If-Match` | [`patch`], [`Change::apply`] |
//! | set a time limit, a comment, a concern | [`options`], [`Odm::with_options`] |
//! | keep many small values in pages | [`Odm::buckets`], [`Buckets`]; [`bucket`](derive@Embed#buckets) |
//! | compute | `group(\|o\| o.shop, \|g\| g.count("n").sum("cents", \|o\| o.cents))` into a struct that derives [`Row`](derive@Row): [`Collection::aggregate`], [`Aggregate`], [`Group`] |
//! | store an operation, return it, or run it in a task | [`Action`] |
//! | write to several collections | `odm.bulk().add(movies.update(4).inc(…)).await`: [`Odm::bulk`]; [`Odm::transaction`] for all or nothing |
//! | have functions called with each write of a document | [`hooks`] |
//! | find and repair dangling references and stale copies | [`Odm::audit`], [`Odm::repair`] |
//! | apply the pending work of processes that ended | [`Odm::recover`]; [`Odm::worker`] does it periodically |
//! | fill copies that were declared later | [`Odm::backfill`] |
//! | update copies after out-of-band writes | [`Odm::reconciler`] |
//! | keep tenants apart | `#[field(scope)]`, which `New…` structs lack, and `shared(tenant)` on documents without it; then `odm.scoped(Order::paths().tenant, tenant)`: [`Odm::scoped`] |
//! | follow the changes of a collection or of the database | `people.watch_all().await?`: [`Collection::watch`], [`Odm::watch`]; [`watch`] |
//! | control how a change reaches many copies | [`Odm::with_fan_out`], [`FanOut`] |
//! | run with fewer or older models than the database knows | [`Odm::check_models`], [`Odm::allow_unknown_copies`], [`Odm::forget_copies`] |
//! | see the models as a diagram | [`Odm::edges`] |
//! | have a command line for all of this | `odm::cli::run`, with the feature `cli` |
//! | see what went wrong | [`Error`], [`Violation`], [`Rule`] |
//! | see what a query costs | [`Find::explain`], [`Explain`] |
//! | know the server | [`Odm::server`], [`Server`] |
//! | search by an index of Atlas | `odm::atlas`, with the feature `atlas`; no test ran on Atlas |
//! | use a feature of MongoDB that is missing here | [`Filter::raw`], [`Change::raw`], [`Aggregate::stage`], [`Collection::driver`], [`mongodb`] |
//!
//! # What an operation costs
//!
//! The unit is the round trip to the server; the documentation of each method that asks the server says how many it takes,
//! except where it starts and stops work in the background ([`Odm::reconciler`], [`Odm::worker`]). A query takes one for every
//! batch of its results. A document that is refused before it is sent takes none.
//!
//! Every operation is a span of [`tracing`](https://docs.rs/tracing) with the target `odm` and the level `DEBUG`: its
//! collection, operation, round trips, documents, and its time in microseconds (`elapsed_us`). Filters and updates, which
//! hold values, are events of the target `odm::values` at the level `TRACE` only.
//!
//! # Supported servers
//!
//! MongoDB 4.4 and later: replica sets, sharded clusters and standalone servers.
//!
//! | what | needs | otherwise |
//! | --- | --- | --- |
//! | [`Odm::transaction`], [`Collection::watch`], documents with [`hooks`] | a replica set or a sharded cluster | [`Error::Unsupported`] |
//! | [`pre_images`](watch::Watch::pre_images) of a change stream | MongoDB 6.0 | [`Error::Unsupported`] |
//! | [`Odm::bulk`] in one request | MongoDB 8.0 | a request for each run of writes of one kind to one collection |
//! | a validator's refusal that names field, rule and value | MongoDB 5.0 | [`Error::Invalid`] with one violation, of the whole document; what is checked before the network is named on every version |
//!
//! # The models of the examples
//!
//! The examples of this documentation use these documents:
//!
//! ```
#![doc = include_str!("../doc/model.rs")]
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod api;
mod bounds;
mod engine;
pub mod error;
mod graph;
#[cfg(feature = "json")]
#[cfg_attr(docsrs, doc(cfg(feature = "json")))]
pub mod json;
pub mod migrate;
mod model;
mod plan;
pub mod query;
mod rules;
pub mod schema;
mod store;
mod tools;
pub mod upkeep;

/// Writes of whole documents, one or many: inserts, replacements, deletions, and writes to several collections in a bulk.
pub mod write {
    pub use crate::api::bulk::Bulk;
    pub use crate::api::bulk_write::BulkWrite;
    pub use crate::api::documents::{Delete, DeleteMany, Insert, Replace};
    pub use crate::api::first::DeleteFirst;
    pub use crate::api::insert_many::InsertMany;
    pub use crate::api::merge::{Merge, WhenMatched, WhenNotMatched};
    pub use crate::api::optional::Optional;
    pub use crate::api::save::{InsertOrGet, Save, Saved};
    pub use crate::api::scoped::{Restore, Restored, SoftDelete};
    pub use crate::api::tree::{InsertTree, Tree};
    pub use crate::error::results::{BulkDone, Deleted};
    pub use crate::model::document::{
        AsRead, ById, Deletable, Fresh, FromNew, Insertable, Replaceable, Target, WholeDocument, WriteTarget,
    };
    pub use crate::query::filter::unique::{KeyFields, KeyValues};
}

pub use crate::model::document::Model;
pub use crate::store::handle::Odm;
pub use api::collection::Collection;
pub use api::hooks;
pub use api::stored_form::{AsStored, Serde, from_document, to_bson, to_document};
pub use api::tx::{Handle, Tx};
pub use error::{Error, Result};
pub use model::deferred::Deferred;
pub use model::document::{Document, Embed, Projection};
pub use model::geo;
pub use model::native;
pub use model::reference::Ref;
pub use model::stored::Row;
pub use mongodb;
pub use mongodb::bson;
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(
///     collection = "articles",
///     timestamps,
///     version,
///     index(fields(author, -created_at), name = "by_author"),
///     validation(level = strict, action = error),
///     new(derive(Clone, Debug))
/// )]
/// pub struct Article {
///     pub id: ObjectId,
///     #[index(unique)]
///     #[field(max_len = 80)]
///     pub slug: String,
///     pub author: ObjectId,
///     #[index(text(weight = 5))]
///     #[field(min_len = 1, max_len = 200)]
///     pub title: String,
///     #[field(min = 0, max = 5)]
///     pub stars: f64,
///     #[embed(max = 10)]
///     #[field(max_len = 30)]
///     pub tags: Vec<String>,
///     #[index(expire_after = 86_400)]
///     pub expires: Option<DateTime>,
///     #[field(opaque)]
///     pub layout: Option<odm::bson::Document>,
///     pub created_at: DateTime,
///     pub updated_at: DateTime,
///     pub version: i64,
/// }
///
/// // What the application supplies: without the id, the timestamps and the version.
/// let new = NewArticle {
///     slug: "hello".into(),
///     author: ObjectId::new(),
///     title: "Hello".into(),
///     stars: 0.0,
///     tags: vec![],
///     expires: None,
///     layout: None,
/// };
/// let article = Article::from_new(new.clone(), DateTime::now());
/// assert_eq!((article.version, article.slug), (1, new.slug));
/// ```
///
/// References:
///
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "authors")]
/// pub struct Author {
///     pub id: ObjectId,
///     #[index(unique)]
///     pub number: i32,
///     /// Both sides always agree.
///     #[reference(many, max = 500, inverse = authors)]
///     pub books: Vec<Ref<Book>>,
/// }
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "books")]
/// pub struct Book {
///     pub id: ObjectId,
///     #[reference(many, max = 20, inverse = books)]
///     pub authors: Vec<Ref<Author>>,
///     /// By another field than `_id`.
///     #[reference(by = number)]
///     pub editor: Option<Ref<Author, i32>>,
/// }
///
/// /// Any number of them belong to one book or author.
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "reviews")]
/// pub struct Review {
///     pub id: ObjectId,
///     #[parent_ref(any(Author, Book), order(-time), on_delete = cascade)]
///     pub of: SubjectRef,
///     pub time: DateTime,
/// }
///
/// let author = Ref::<Author>::new(ObjectId::new());
/// let review = NewReview { of: SubjectRef::Author(author), time: DateTime::now() };
/// assert_eq!(review.of, author.into());
/// ```
///
/// Copies:
///
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "parts")]
/// pub struct Part {
///     pub id: ObjectId,
///     pub name: String,
///     pub price: i64, // in cents
///     #[volatile] // a copy of it does not compile
///     pub qty: i32,
/// }
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "products")]
/// pub struct Product {
///     pub id: ObjectId,
///     pub name: String,
///     /// Makes `PartEntry { id: Ref<Part>, name: String }`.
///     #[reference(many, max = 2000)]
///     #[denormalize(from = Part, fields(name: String))]
///     pub parts: Vec<PartEntry>,
///     /// The ten latest reviews.
///     #[subset(of = Review, limit = 10, order(-at))]
///     pub reviews: Vec<RecentReview>,
///     #[computed(count = Review, filter = |r| r.stars.gte(4))]
///     pub praised: i64,
///     #[computed(avg = Review.stars)]
///     pub rating: Average,
/// }
///
/// /// What a product page shows of a review.
/// #[derive(Embed, Clone, Debug)]
/// #[denormalize(from = Review)]
/// pub struct RecentReview {
///     pub id: Ref<Review>,
///     pub text: String,
///     pub at: DateTime,
/// }
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "reviews")]
/// pub struct Review {
///     pub id: ObjectId,
///     #[parent_ref]
///     pub product: Ref<Product>,
///     #[denormalize(from = product.name)]
///     pub product_name: String,
///     pub text: String,
///     pub stars: i32,
///     pub at: DateTime,
/// }
///
/// // The application names the parts; the library reads what is copied of them.
/// let bolt = Ref::<Part>::new(ObjectId::new());
/// let new = NewProduct { name: "smoke shifter".into(), parts: vec![bolt] };
/// let with_bolts = Product::paths().parts.contains(bolt);
/// assert_eq!(
///     with_bolts.into_document()?,
///     odm::bson::doc! { "parts.id": { "$eq": bolt.into_key() } },
/// );
/// # Ok::<(), odm::Error>(())
/// ```
pub use odm_derive::Document;
/// ```
/// use odm::prelude::*;
///
/// #[derive(Embed, Clone, Debug)]
/// pub struct Address {
///     #[field(max_len = 100)]
///     pub street: String,
///     #[field(max_len = 100)]
///     pub city: String,
/// }
///
/// #[derive(Embed, Clone, Debug)]
/// #[embed(tag = "by", rename_all = "lowercase")]
/// pub enum Payment {
///     Cash,
///     Transfer { iban: String },
/// }
///
/// /// A comment with answers, which have answers: at most three levels of them.
/// #[derive(Embed, Clone, Debug)]
/// pub struct Comment {
///     pub text: String,
///     #[embed(max = 5, depth = 3)]
///     pub answers: Vec<Comment>,
/// }
///
/// /// May stand in `_id`.
/// #[derive(Embed, Clone, Debug)]
/// #[embed(id)]
/// pub struct Isbn(#[field(max_len = 13)] String);
/// ```
///
/// Buckets:
///
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "sensors")]
/// pub struct Sensor {
///     pub id: ObjectId,
/// }
///
/// #[derive(Embed, Clone, Debug, PartialEq)]
/// #[bucket(of = Sensor, per = hour, time = at, size = 3600, sum(celsius))]
/// pub struct Reading {
///     pub at: DateTime,
///     pub celsius: f64,
/// }
///
/// async fn means(odm: &Odm, sensor: &Sensor) -> odm::Result<Vec<(DateTime, f64)>> {
///     let hours: Vec<ReadingBucket> = odm.buckets::<Reading>().pages(sensor).await?;
///     Ok(hours.iter().map(|hour| (hour.start, hour.sum_celsius / f64::from(hour.count))).collect())
/// }
/// ```
pub use odm_derive::Embed;
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document, Clone, Debug)]
/// #[document(collection = "movies")]
/// pub struct Movie {
///     pub id: ObjectId,
///     pub title: String,
///     pub plot: String,
/// }
///
/// #[derive(Projection)]
/// #[projection(of = Movie)]
/// pub struct Title {
///     pub title: String,
/// }
///
/// assert_eq!(<Title as Projection<Movie>>::fields(), ["title"]);
/// ```
pub use odm_derive::Projection;
/// ```no_run
/// # use samples::model::*;
/// #[derive(odm::Row)]
/// struct Age {
///     #[field(name = "_id")]
///     age: Option<i32>,
///     people: i64,
/// }
///
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let ages: Vec<Age> = people.aggregate().group(|p| p.age, |g| g.count("people")).all().await?;
/// # Ok(()) }
/// ```
pub use odm_derive::Row;
pub use query::expr;
pub use query::filter::Filter;
pub use store::{options, server};
#[cfg(feature = "cli")]
#[cfg_attr(docsrs, doc(cfg(feature = "cli")))]
pub use tools::cli;
pub use tools::edges;
#[cfg(feature = "testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub use tools::testing;

/// Updates documents: the builders that send an update, and the operators.
///
/// [`Collection::update`] changes one document by its id, and [`Collection::update_where`] those that match a condition. The
/// operators are the methods of [`Change`].
pub mod update {
    pub use crate::api::first::{ReturningFirst, UpdateFirst};
    pub use crate::api::update::{Returning, Update, UpdateMany, Updated, Upsert};
    pub use crate::plan::operators::change::Change;
    pub use crate::plan::operators::nested::Items;
    pub use crate::plan::operators::push::Placed;
    pub use crate::plan::operators::{Changes, Rooted};
}

/// Queries from the parameters of a request, `?age[gte]=18&sort=-name`: the types of the fields of a struct that derives
/// [`RequestQuery`](derive@crate::request::RequestQuery).
pub mod request {
    pub use crate::query::request::{
        Condition, Conditions, Eq, OneOf, OneValue, Operator, Page, Range, RequestQuery, RequestValue,
        Requested, Sort, Text,
    };
    /// ```
    /// use odm::prelude::*;
    /// use odm::request::{Eq, OneOf, Page, Range, Sort, Text};
    ///
    /// #[derive(Document)]
    /// #[document(collection = "users", index(fields(address.city)))]
    /// pub struct User {
    ///     pub id: ObjectId,
    ///     #[index]
    ///     pub name: String,
    ///     #[index]
    ///     pub age: i32,
    ///     #[index]
    ///     pub role: Role,
    ///     pub address: Address,
    ///     pub nickname: Option<String>,
    ///     pub active: bool,
    /// }
    ///
    /// #[derive(Embed)]
    /// #[embed(rename_all = "lowercase")]
    /// pub enum Role {
    ///     Admin,
    ///     Editor,
    /// }
    ///
    /// #[derive(Embed)]
    /// pub struct Address {
    ///     pub city: String,
    /// }
    ///
    /// #[derive(RequestQuery)]
    /// #[request(of = User, max_limit = 100, max_conditions = 10)]
    /// pub struct UserQuery {
    ///     age: Range<i32>,
    ///     name: Text,
    ///     role: OneOf<Role>,
    ///     #[request(path = address.city)]
    ///     city: Eq<String>,
    ///     #[request(scan)] // no index serves it
    ///     nickname: Eq<String>,
    ///     #[request(sort(name, age))]
    ///     sort: Sort,
    ///     page: Page,
    /// }
    ///
    /// async fn list(users: odm::Collection<User>, of_url: &str) -> odm::Result<Vec<User>> {
    ///     let query = UserQuery::parse(of_url)?; // ?age[gte]=18&role[in]=admin,editor&sort=-name
    ///     let page = users.find(|u| u.active.eq(true)).request(query).page(20).await?;
    ///     Ok(page.items)
    /// }
    /// ```
    pub use odm_derive::RequestQuery;
}

/// Patches of documents, as a web service takes them: some fields with the values that they get.
///
/// `#[document(patch)]` on a document `User` makes the struct `UserPatch`. [`Change::apply`] puts it into an update, and
/// [`if_match`](crate::update::Update::if_match) compares the version with the header `If-Match`.
pub mod patch {
    pub use crate::model::document::Versioned;
    pub use crate::plan::operators::patch::etag::{Etag, IfMatch};
    pub use crate::plan::operators::patch::{Patch, PatchFields, Patched, Patches};
}

/// Search and vector search of MongoDB Atlas: the operators of [`Collection::search`], the vectors of
/// [`Collection::vector_search`], and the values that a search gives beside its documents.
///
/// No test of this project ran on Atlas. Unit tests compare the index definitions, stages and commands that are sent with MongoDB's
/// documentation.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # async fn example(books: Collection<Book>) -> odm::Result<()> {
/// use odm::atlas::{compound, range, score, text};
///
/// #[derive(Row)]
/// struct Found {
///     title: String,
///     score: f64,
/// }
/// let found: Vec<Found> = books
///     .search("default", |b| compound().must(text("whale").path(b.title)).filter(range(b.year).gte(1850)))
///     .aggregate()
///     .add_fields(|f| f.field("score", |_| score()))
///     .limit(10)
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
#[cfg(feature = "atlas")]
#[cfg_attr(docsrs, doc(cfg(feature = "atlas")))]
pub mod atlas {
    pub use crate::model::asserts::{SearchedText, Vector};
    pub use crate::query::aggregate::search::*;
}

/// References between documents: [`Ref`], and the traits that the derives implement for them. Copies of the fields of referenced
/// documents: when they are updated, and how a change reaches many documents.
pub mod references {
    pub use crate::model::copy::{Consistency, CopyOf};
    pub use crate::model::document::Identified;
    pub use crate::model::reference::{
        ChildOf, NamesParent, OnDelete, OnlyChildOf, ParentOf, Pointer, Ref, Reference,
    };
    pub use crate::store::fan_out::{FanOut, Progress};
}

/// Change streams: the changes of a collection ([`Collection::watch`]) or of the database ([`Odm::watch`]) as they are made.
pub mod watch {
    pub use crate::model::document::PreAndPostImages;
    pub use crate::upkeep::watch::{
        AnyChange, ChangeEvent, ChangeStream, ChangedFields, HasImages, Watch, Watched,
    };
}

pub use crate::migrate::Migrations;

/// Many small values in pages: the buckets of [`Odm::buckets`].
pub mod buckets {
    pub use crate::api::bucket::{Bucketed, Buckets, ByCount, ByTime, Timed};
}

/// The types of fields and operands: the traits that decide what a field may hold and which conditions take it, and what the
/// compiler names in its messages about a path.
pub mod types {
    pub use crate::api::stored_form::DriverDocument;
    pub use crate::model::average::{Average, AverageFields};
    pub use crate::model::checked::Checked;
    pub use crate::model::deferred::DeferredFields;
    pub use crate::model::described::Described;
    pub use crate::model::document::IntoText;
    pub use crate::model::path::{
        At, Each, Flattened, HasKey, Kept, LeadsToOneValue, MayBeMissing, Needed, NoPart, OwnFields,
        OwnSerde, PartOf, PartWithin, Plain, ReadOnly, Root, Single, Writable,
    };
    pub use crate::model::reference::{OneTarget, PointsTo, ReferenceTo};
    pub use crate::model::shape::Number;
    pub use crate::model::stored::Stored;
    pub use crate::model::value::{
        Array, ByParts, ByValue, Compared, Grouped, IdValue, List, MapKey, Numeric, Ordered, Removable, Text,
        Value, Whole,
    };
    pub use crate::model::variant::In;
    pub use crate::query::filter::Comparand;
    pub use crate::query::filter::operand::{Amount, Operand};
    pub use crate::query::join::{Load, LoadById};
}

pub(crate) use model::encode::now;
// Within the crate, and in the links of its documentation, these need no module.
#[allow(unused_imports)]
pub(crate) use {
    api::bucket::{Bucketed, Buckets},
    api::bulk::Bulk,
    api::documents::{Delete, DeleteMany, Insert, Replace},
    api::insert_many::InsertMany,
    api::optional::Optional,
    api::update::{Returning, Update, UpdateMany, Updated, Upsert},
    error::results::{BulkDone, Deleted},
    error::{Rule, Violation},
    model::copy::{Consistency, CopyOf},
    model::document::{Deletable, Fresh, FromNew, Insertable, Replaceable, Target, WriteTarget},
    model::path::{Flattened, Root},
    model::reference::{ChildOf, NamesParent, OnDelete, OnlyChildOf, ParentOf, Pointer, Reference},
    model::shape::Number,
    model::value::{Array, Compared, Value},
    plan::operators::change::Change,
    plan::operators::{Changes, Rooted},
    query::aggregate::Aggregate,
    query::aggregate::{Group, GroupKey},
    query::explain::{Explain, JoinExplain},
    query::filter::operand::Operand,
    query::filter::{Element, IntoPattern, IntoSort, Order, Pattern},
    query::find::Find,
    query::find::{Lossy, LossyFind},
    query::join::{
        Children, Include, Join, LeaveOut, LoadRefs, Loading, Lookup, OnlyChild, OrNone, Paths, ReadFrom,
        Strict,
    },
    query::page::{Page, PageToken, Paged, ResumableFind},
    query::request::Requested,
    schema::{Applied, Plan, Violations},
    store::action::Action,
    store::fan_out::{FanOut, Progress},
    store::server::{Server, Topology},
    upkeep::{
        Audit, AuditedCopies, AuditedReference, Auditing, Backfilled, Backfilling, DuplicateIds, FieldOf,
        Findings, Reconciler, Reconciling, Recovered, Recovering, Repair, RepairKind, Repaired, Repairing,
        Worker,
    },
};

/// The imports of a typical program: `use odm::prelude::*;`.
///
/// ```
/// use odm::prelude::*;
///
/// let id = ObjectId::new();
/// ```
pub mod prelude {
    pub use crate::bson::{DateTime, oid::ObjectId};
    pub use crate::model::average::Average;
    pub use crate::model::document::FromNew as _;
    pub use crate::options::{ReadOptions as _, WriteOptions as _};
    pub use crate::plan::operators::change::Change;
    pub use crate::query::{LoadRefs as _, Paths as _, Pattern};
    pub use crate::request::RequestQuery;
    pub use crate::{Collection, Deferred, Document, Embed, Filter, Odm, Projection, Ref, Row, models};
}

/// Every attribute of the derives, with its options.
#[doc = "\n"]
#[doc = include_str!("../doc/attributes.md")]
pub mod attributes {}

/// Every error, with its cause and what to do.
#[doc = "\n"]
#[doc = include_str!("../doc/errors.md")]
pub mod error_reference {}

/// The limits of MongoDB and of this library.
#[doc = "\n"]
#[doc = include_str!("../doc/limits.md")]
pub mod limits {}

/// The conditions that the compiler checks, under the names that its messages show. For generated code only: changes without notice.
#[doc(hidden)]
pub mod checks {
    pub use crate::__deserialize_patch as deserialize_patch;
    pub use crate::api::bucket::WritesBuckets;
    pub use crate::model::asserts::{
        Averaged, Averages, BackTo, BesideTag, Bounding, ById, CopiedPlainly, CopyFits, Counts, Dated,
        DerivesInto, Differ, Extra, Flattened, Flattens, InverseOf, KeyOf, Moment, OfOneChild, OneForm,
        OneParent, ParentAmong, ParentIs, Projected, ReferenceById, ReferenceToDocuments, Refers, RefersNot,
        RuledText, Same, SameTypeAs, SearchedDate, SearchedNumber, SearchedText, Several, SourceField,
        SubsetOf, SumOf, Takes, TimeOfDeletion, ToDocuments, Types, Vector, Whole, beside_tag,
        beside_the_tag, bound, bounding, by_id, copyable, count, counted, dated, dated_as, dated_path,
        default_in_range, default_of_length, deleted_at, derivable, document, elements, extra, few,
        flattened, flattened_names, has_reference, id, id_is_plain, in_order, indexed, integers, inverse,
        is_float, item_length, key, key_like_id, keys, length, moment, no_nested_reference,
        no_nested_reference_items, no_reference, no_reference_items, no_unnamed_reference, nullified,
        numeric, of_child, one_null, orders, parent, parent_at, parent_path, projected, range_in_order,
        refers, relationship, search_indexes_are_enabled, searched_boolean, searched_date, searched_number,
        searched_text, shows_more, source, stored, summed, texts, two_way, unique_items, unique_key,
        unsigned, vector, whole, with_id,
    };
    pub use crate::model::checked::{value, whole_document};
    pub use crate::model::document::{
        ChangesMeasurements, Missing, NamedDocument, NotADocument, WritesViews,
    };
    pub use crate::model::path::Varied;
    pub use crate::model::path::{
        Fielded, OutsideVariants, PlainItems, PlainlyStored, StandsAlone, WrittenByTheApplication,
    };
    pub use crate::model::several::{StoredWith, VariantOf};
    pub use crate::model::stored::ByType;
    pub use crate::model::stored::functions;
    pub use crate::model::value::{
        Application, AsSet, DeclaresBound, DeclaresOpaque, Embeds, Integer, Listed, StoredLike,
    };
    pub use crate::model::variant::{AnUntaggedEnumHasNoPaths, Tagged, Variant};
    pub use crate::plan::operators::patch::patched;
    pub use crate::query::aggregate::view_stages;
    pub use crate::query::filter::{Known, NameOfACondition};
}

/// For generated code only: changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::__deserialize_patch as deserialize_patch;
    pub use crate::__reference_of_one as reference_of_one;
    #[cfg(feature = "utoipa")]
    pub use utoipa;
    pub mod check {
        pub use crate::model::asserts::*;
    }
    pub mod size {
        pub use crate::model::size::*;
    }
    pub use crate::api::bucket::{Bucketed, ByCount, ByTime, Timed, WritesBuckets};
    pub use crate::error::{Error, Result};
    pub mod hooks {
        pub use crate::api::hooks::{after_commit, in_transaction};
        pub use crate::model::meta::{HookMeta, HookTime};
    }
    #[cfg(feature = "utoipa")]
    pub use crate::json::of_utoipa::{schema as utoipa_schema, schemas as utoipa_schemas};
    pub use crate::model::copy::{
        Bare, Computed, Consistency, Copied, CopiedField, CopyOf, Entry, EntryMeta, FieldCopy, Operation,
        Subset,
    };
    pub use crate::model::default::default_of;
    pub use crate::model::deferred::Deferred;
    pub use crate::model::described::{Described, Description};
    pub use crate::model::document::{
        Action, ById, ChangesMeasurements, CollationMeta, CollectionKind, Deletable, DocumentMeta, Expiry,
        Fresh, FromNew, Given, Identified, IndexKey, IndexKind, IndexMeta, Insertable, IntoText, Level,
        Missing, NamedDocument, NotADocument, OtherIndexes, PreAndPostImages, Replaceable, Target,
        TimeSeriesMeta, Validation, ViewMeta, WritesViews, partial,
    };
    pub use crate::model::encode::{id, stored as to_bson, text_id};
    pub use crate::model::itself::Itself;
    pub use crate::model::meta::bucket::{BucketMeta, BucketPeriod, BucketSum, BucketTime, Per};
    pub use crate::model::path::{
        At, Codec, Decoder, Each, Fielded, Flattened, HasKey, Kept, MayBeMissing, Needed, Nested, OfFields,
        OfVariants, OwnSerde, PartOf, PartWithin, Path, Plain, ReadOnly, Root, Single, Step, StoredAs,
        Varied, Writable, field_of, written,
    };
    pub mod if_serde {
        pub use crate::model::if_serde::{IfSerde, deserialize, serialize};
    }
    pub mod native {
        pub use crate::model::native::{AsNative, at};
    }
    pub mod values {
        pub use crate::bounds::verdict;
        pub use crate::model::checked::{Checked, value, whole_document};
        pub use crate::model::meta::value_rules::*;
        pub use crate::model::meta::{CheckMeta, CheckRule, KnownExpression};
    }
    pub mod numbered {
        pub use crate::model::numbered::*;
    }
    pub mod search {
        pub use crate::model::meta::search::*;
    }
    pub use crate::model::reference::{
        ChildOf, OnDelete, OneTarget, OnlyChildOf, ParentField, Pointer, PointsTo, Ref, Reference,
        ReferenceKind, ReferenceMeta, ReferenceTo, TargetMeta, Wrapped, Wraps, union_parts,
    };
    /// How values are stored: see `model/stored/mod.rs`.
    #[doc(hidden)]
    pub mod stored {
        pub use crate::model::stored::*;
    }
    pub mod several {
        pub use crate::model::meta::Kind;
        pub use crate::model::several::*;
    }
    pub use crate::model::meta::Several;
    pub use crate::model::meta::shard_key::{ShardKeyField, ShardKeyMeta};
    pub use crate::model::shape::{
        Access, Body, Bounds, EnumShape, FieldMeta, Managed, Names, Number, Shape, ShapeFn, StructShape,
        Tagging, VariantMeta,
    };
    pub use crate::model::size::{Message, Size};
    pub use crate::model::sum::Summable;
    pub use crate::model::value::{
        Application, Array, ByParts, ByValue, Compared, Embeds, IdValue, List, MapKey, Nulls, Numeric,
        OneNull, Only, OnlyClone, Opaque, Removable, StoredLike, Text, Value,
    };
    pub use crate::model::variant::{AnUntaggedEnumHasNoPaths, In, Tagged, Variant};
    pub use crate::plan::operators::Changes;
    pub use crate::plan::operators::change::Change;
    pub use crate::query::aggregate::view_stages;
    pub use crate::query::filter::{
        Element, Filter, check_filter, children_filter, is_variant, partial_filter,
    };
    pub mod patch {
        pub use crate::model::document::Versioned;
        pub use crate::plan::operators::patch::{
            NamedPatched, NoPatch, OfPatch, Patch, PatchFields, Patched, Patches, Within,
        };
    }
    pub use crate::api::scoped::SoftDelete;
    pub use crate::query::join::Hop;
    pub use crate::query::join::Load;
    pub use crate::query::join::LoadById;
    pub use crate::query::join::NoneOf;
    pub use crate::query::join::OneOf;
    pub use crate::query::join::Paths;
    pub use crate::query::join::Slot;
    pub use crate::query::join::Tree;
    pub use crate::store::decode::decodes;
    pub mod request {
        pub use crate::query::request::{
            Conditions, Given, IntoParts, Parameter, Parameters, Parts, SortKey, Use, hidden, limit, name_of,
            several, sorted, unserved, variant_of,
        };
    }
    pub use crate::api::switches::{SwitchBulk, SwitchOdm, in_database};
    pub use crate::rules::others::backfill_at_once;
    /// To which shards the statements of a command go.
    #[cfg(feature = "testing")]
    pub mod targeting {
        pub use crate::tools::testing::key_values::{
            Edge, Interval, KeyField, KeyRange, KeyValues, ShardKey,
        };
        pub use crate::tools::testing::targeting::{
            Because, Refusal, Routing, ShardKeys, Statement, statements,
        };
    }
    pub use mongodb::bson::{
        Bson, DateTime, RawBsonRef, RawDocumentBuf, error::Result as BsonResult, oid::ObjectId,
    };
    pub use serde;
}

#[cfg(test)]
mod expansion_fixture;

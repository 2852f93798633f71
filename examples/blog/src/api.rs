//! The routes. They read and answer the JSON of the documents.

use crate::metrics::Metrics;
use crate::model::{Author, Byline, Comment, NewAuthor, NewPost, Post, PostPatch};
use crate::openapi::openapi;
use crate::problem::Problem;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{
    FromRequestParts, MatchedPath, Path, Query, RawQuery, Request, State,
};
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, put};
use mongodb::bson::{DateTime, doc, oid::ObjectId};
use odm::json::{self, Json};
use odm::patch::{Etag, IfMatch};
use odm::prelude::*;
use odm::request::{OneOf, Page, Range, Sort};
use serde::Deserialize;
use tracing::{Instrument, field::Empty};

/// What every handler gets: cheap to clone.
#[derive(Clone)]
pub struct App {
    pub odm: Odm,
    pub metrics: Metrics,
}

pub fn router(app: App) -> Router {
    let author = get(author).put(put_author).delete(delete_author);
    let post = get(post).put(put_post).patch(patch_post).delete(delete_post);
    Router::new()
        .route("/authors/{handle}", author)
        .route("/posts/{slug}", post)
        .route("/posts/{slug}/restore", axum::routing::post(restore_post))
        .route("/posts/{slug}/comments", get(comments))
        .route("/posts/{slug}/comments/{id}", put(put_comment))
        .route("/feed", get(feed))
        .route("/openapi.json", get(|| async { axum::Json(openapi()) }))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .layer(from_fn(traced))
        .with_state(app)
}

// ANCHOR: site
/// The handle of the site that a request names by its header `x-site`: it reads and
/// writes the documents of that site alone.
struct Site(Odm);

impl FromRequestParts<App> for Site {
    type Rejection = Problem;

    async fn from_request_parts(
        request: &mut Parts,
        app: &App,
    ) -> Result<Site, Problem> {
        let site = request.headers.get("x-site");
        let site = site.and_then(|name| name.to_str().ok()).unwrap_or("main");
        Ok(Site(app.odm.scoped(Post::paths().site, site)?))
    }
}
// ANCHOR_END: site

/// The span of a request, in which the library's spans are.
async fn traced(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("(no route)", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let span = tracing::info_span!("request", %method, path, status = Empty);
    let response = next.run(request).instrument(span.clone()).await;
    span.record("status", response.status().as_u16());
    response
}

/// A document by its shape: without what is private, and with `id` for `_id`.
type Answer<T> = Result<axum::Json<Json<T>>, Problem>;

fn answer<T>(shown: T) -> Answer<T> {
    Ok(axum::Json(Json(shown)))
}

/// One read: the count and the newest posts are in the author.
async fn author(Site(odm): Site, Path(handle): Path<String>) -> Answer<Author> {
    let author = odm.collection::<Author>().get(handle.as_str()).await?;
    answer(author.ok_or_else(missing)?)
}

/// Creates an author, or changes the name: in all posts and comments too.
async fn put_author(
    Site(odm): Site,
    Path(handle): Path<String>,
    body: Bytes,
) -> Answer<Author> {
    let reader = json::reader::<NewAuthor>().set(|a| a.handle, &handle)?;
    let new = reader.from_slice(&body)?;
    let authors = odm.collection::<Author>();
    let author = match authors.insert(new.clone()).await {
        Err(odm::Error::DuplicateKey { .. }) => {
            let renamed = authors.update(handle.as_str()).set(|a| a.name, new.name);
            renamed.returning().await?
        }
        inserted => inserted?,
    };
    answer(author)
}

/// Refused while there are posts or comments of the author (`restrict`). One that
/// is deleted already is no problem: a client may send its request again.
async fn delete_author(
    Site(odm): Site,
    Path(handle): Path<String>,
) -> Result<StatusCode, Problem> {
    odm.collection::<Author>().delete(handle.as_str()).optional().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn post(Site(odm): Site, Path(slug): Path<String>) -> Answer<Post> {
    let post = odm.collection::<Post>().get(slug.as_str()).await?;
    answer(post.ok_or_else(missing)?)
}

/// The version that the client has read, if it changes a post.
#[derive(Deserialize)]
struct Read {
    version: Option<i64>,
}

/// Creates a post, or changes it. With a version, only the post that the client has
/// read is changed.
async fn put_post(
    Site(odm): Site,
    Path(slug): Path<String>,
    Query(Read { version }): Query<Read>,
    body: Bytes,
) -> Answer<Post> {
    let reader = json::reader::<NewPost>().set(|p| p.slug, &slug)?;
    let new = reader.set(|p| p.at, DateTime::now())?.from_slice(&body)?;
    let posts = odm.collection::<Post>();
    let update = match version {
        Some(version) => {
            let read = posts.get(slug.as_str()).await?.ok_or_else(missing)?;
            if read.version != version {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "it was changed meanwhile",
                ));
            }
            posts.update(&read)
        }
        None => match posts.insert(new.clone()).await {
            Err(odm::Error::DuplicateKey { .. }) => posts.update(slug.as_str()),
            inserted => return answer(inserted?),
        },
    };
    let changed = update
        .set(|p| p.title, new.title)
        .set(|p| p.text, new.text)
        .set(|p| p.author, new.author)
        .returning()
        .await?;
    answer(changed)
}

// ANCHOR: patch
/// Changes the title or the text, as the request names them. With `If-Match`, only
/// the version of the post that the client has read.
async fn patch_post(
    Site(odm): Site,
    Path(slug): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<([(HeaderName, String); 1], axum::Json<Json<Post>>), Problem> {
    let patch: PostPatch = json::from_slice(&body)?;
    let mut update = odm.collection::<Post>().update(slug.as_str()).apply(patch);
    if let Some(tag) = headers.get(IF_MATCH) {
        // A tag that is no text matches nothing.
        update = update.if_match(IfMatch::parse(tag.to_str().unwrap_or_default()));
    }
    let post = match update.returning().await {
        Err(odm::Error::Conflict { .. }) => return Err(changed_meanwhile()),
        changed => changed?,
    };
    let tag = Etag::of(&post).to_string();
    Ok(([(ETAG, tag)], axum::Json(Json(post))))
}
// ANCHOR_END: patch

/// Deletes a post, and keeps it: `restore` brings it back with its comments. One
/// that is deleted already is no problem: a client may send its request again.
async fn delete_post(
    Site(odm): Site,
    Path(slug): Path<String>,
) -> Result<StatusCode, Problem> {
    odm.collection::<Post>().delete(slug.as_str()).optional().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Brings a deleted post back. A request that is sent again finds it there.
async fn restore_post(Site(odm): Site, Path(slug): Path<String>) -> Answer<Post> {
    let posts = odm.collection::<Post>();
    posts.restore(slug.as_str()).await?;
    let post = posts.get(slug.as_str()).await?;
    answer(post.ok_or_else(missing)?)
}

#[derive(Deserialize)]
struct PageNumber {
    page: Option<i32>,
}

/// A page of comments is one document. The post is looked for first: a deleted post
/// has comments too.
async fn comments(
    Site(odm): Site,
    Path(slug): Path<String>,
    Query(PageNumber { page }): Query<PageNumber>,
) -> Answer<Vec<Comment>> {
    let post = odm.collection::<Post>().find(|p| p.slug.eq(slug.as_str()));
    if !post.exists().await? {
        return Err(missing());
    }
    let comments = odm.buckets::<Comment>();
    answer(comments.page(slug.as_str(), page.unwrap_or(1)).await?)
}

// ANCHOR: comment
/// Adds a comment. A request that is sent again adds it once: the client chooses
/// the id, and two transactions that add it write the same bucket.
async fn put_comment(
    Site(odm): Site,
    Path((slug, id)): Path<(String, String)>,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    let not_an_id =
        |_| Problem::new(StatusCode::BAD_REQUEST, "write 24 hex digits");
    let id = ObjectId::parse_str(&id).map_err(not_an_id)?;
    let post = Ref::<Post>::new(slug);
    let reader = json::reader::<Comment>().set(|c| c.id, id)?;
    let comment = reader.set(|c| c.at, DateTime::now())?.from_slice(&body)?;
    let is_new = odm
        .transaction(async |tx| {
            let comments = tx.buckets::<Comment>();
            let of_post = comments.collection().find(|b| b.post.eq(post.clone()));
            if of_post.filter(|b| b.comments.id.eq(id)).exists().await? {
                return Ok(false);
            }
            comments.push(&post, comment.clone()).await?;
            Ok(true)
        })
        .await?;
    Ok(if is_new { StatusCode::CREATED } else { StatusCode::OK })
}
// ANCHOR_END: comment

/// The fields of a post that the feed reads: not its text.
#[derive(Projection)]
#[projection(of = Post)]
pub struct Headline {
    slug: String,
    title: String,
    at: DateTime,
    author: Byline,
    comments: i64,
}

// ANCHOR: feed
/// `?author=kate&at[gte]=2026-11-01T00:00:00Z&sort=at&limit=20`. Nothing else of a
/// request reaches the query, and an index serves each of these.
#[derive(RequestQuery)]
#[request(of = Post, max_limit = 100, max_conditions = 4)]
struct Feed {
    author: OneOf<Ref<Author>>,
    at: Range<DateTime>,
    #[request(sort(at))]
    sort: Sort,
    page: Page,
}

/// The newest posts, or those that the request asks for. Each page begins where the
/// last one ended, in both directions, by the index.
async fn feed(
    Site(odm): Site,
    RawQuery(query): RawQuery,
) -> Answer<odm::query::Page<Headline>> {
    let feed = Feed::parse(&query.unwrap_or_default())?;
    let posts = odm.collection::<Post>();
    let newest = posts.find_all().sort(|p| p.at.desc()).select::<Headline>();
    answer(newest.request(feed).page(20).await?)
}
// ANCHOR_END: feed

// ANCHOR: ready
/// Whether the server answers: for a load balancer.
async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    let ping = app.odm.database().run_command(doc! { "ping": 1 }).await;
    ping.map_err(odm::Error::from)?;
    Ok("ok")
}
// ANCHOR_END: ready

async fn metrics(State(app): State<App>) -> String {
    app.metrics.to_string()
}

fn changed_meanwhile() -> Problem {
    Problem::new(StatusCode::PRECONDITION_FAILED, "it was changed meanwhile")
}

fn missing() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is no such document")
}

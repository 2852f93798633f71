//! The join from the other side: the documents that refer to each of those that a query gives.

use super::hop::{Fetch, embedded, stored_key};
use super::include::{Beyond, To};
use super::{Asked, Hop, Join, LookedUp, Slot, Source, Stages, Tree};
use crate::model::document::DocumentMeta;
use crate::model::key::{Key, Places, chunks};
use crate::model::path::{OutsideVariants, Path};
use crate::model::reference::{ChildOf, OnlyChildOf, Pointer, PointsTo, Ref, Reference, ReferenceMeta};
use crate::query::filter::{IntoSort, has_near};
use crate::query::scoped::joined;
use crate::query::untyped::{Query, hand_out};
use crate::store::batches::Take;
use crate::store::core::Core;
use crate::store::filter::all;
use crate::{Document, Error, Filter, Odm, Order, Result};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{StreamExt, TryStreamExt};
use mongodb::bson::{self, Bson, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use mongodb::options::AggregateOptions;
use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The paths of a document, from which its inverse joins begin: `h.children::<LogMsg>()`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// // The posts with the newest three comments of each, in two queries.
/// let all: Vec<(Post, Vec<Comment>)> =
///     posts.find_all().include(|p| p.children::<Comment>().limit(3)).all().await?;
/// # Ok(()) }
/// ```
pub trait Paths: Copy + 'static {
    /// The document.
    type Document: Document;

    /// The documents of type `C` that name each of these as their parent by `#[parent_ref]`, in the order that it declares.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, Vec<Comment>)> = posts.find_all().include(|p| p.children::<Comment>()).all().await?;
    /// # Ok(()) }
    /// ```
    fn children<C: ChildOf<Self::Document> + Clone>(self) -> Children<Self::Document, C> {
        let parent = C::parent();
        Children::new(Via::of::<Self::Document>(parent.path(), parent.reference))
    }

    /// The one document of type `C` that names each of these as its parent by `#[parent_ref(one)]`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(users: Collection<User>) -> odm::Result<()> {
    /// let all: Vec<(User, Option<Profile>)> = users.find_all().include(|u| u.child::<Profile>()).all().await?;
    /// # Ok(()) }
    /// ```
    fn child<C: OnlyChildOf<Self::Document> + Clone>(self) -> OnlyChild<Self::Document, C> {
        OnlyChild(self.children::<C>())
    }

    /// The documents of type `C` that refer to each of these by this field, whatever kind of reference it is.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(tags: Collection<Tag>) -> odm::Result<()> {
    /// let all: Vec<(Tag, Vec<Post>)> =
    ///     tags.find_all().include(|t| t.children_by(|p: PostFields| p.tags).limit(10)).all().await?;
    /// # Ok(()) }
    /// ```
    fn children_by<C, V, P, K>(
        self,
        field: impl FnOnce(C::Paths) -> Path<C, V, P, K>,
    ) -> Children<Self::Document, C>
    where
        C: Document + Clone,
        V: Reference<Pointer: PointsTo<Self::Document>>,
        P: OutsideVariants,
    {
        field(C::paths());
        // Where copies stand beside it, the reference is one level deeper.
        let path = match V::Pointer::WITHIN {
            Some(id) => format!("{}.{id}", P::PATH).into(),
            None => P::PATH.into(),
        };
        let reference = P::FIELD.and_then(crate::model::shape::FieldMeta::declared);
        let mut via = Via::of::<Self::Document>(path, reference.unwrap_or(&UNDECLARED));
        via.array = if V::MANY { Some(P::PATH) } else { P::INNERMOST };
        Children::new(via)
    }
}

/// For a path without a declaration, which the derive does not make.
static UNDECLARED: ReferenceMeta = ReferenceMeta {
    kind: crate::model::reference::ReferenceKind::One,
    targets: &[],
    union: false,
    optional: false,
    by: || "_id",
    inverse: None,
    expected: None,
    one: false,
    order: &[],
    check: false,
    index: false,
    on_delete: crate::OnDelete::Keep,
    same: &[],
};

/// How children name their parent.
#[derive(Clone, Debug)]
pub(crate) struct Via {
    /// The stored path of the reference.
    path: Cow<'static, str>,
    /// The parent's field whose value it holds.
    pub(crate) by: &'static str,
    /// What stands in `type` for the parent, where the reference is one of a union.
    pub(crate) tag: Option<&'static str>,
    /// The innermost array on the path, or that of the references themselves: a child may have several parents then.
    array: Option<&'static str>,
    /// The order of the children.
    pub(crate) order: Vec<(&'static str, i32)>,
}

impl Via {
    /// By a reference with this stored path, which leads through no array.
    pub(crate) fn of<R: Document>(path: Cow<'static, str>, reference: &'static ReferenceMeta) -> Via {
        let tag = reference
            .targets
            .iter()
            .find(|target| (target.document)().collection == R::META.collection)
            .map(|target| target.tag);
        Via {
            path,
            by: (reference.by)(),
            tag: tag.filter(|_| reference.union),
            array: None,
            order: reference
                .order
                .iter()
                .map(|key| {
                    let descending = key.kind == crate::model::document::IndexKind::Descending;
                    ((key.path)(), if descending { -1 } else { 1 })
                })
                .collect(),
        }
    }

    /// The children of these parents.
    pub(crate) fn filter(&self, keys: Vec<Bson>) -> bson::Document {
        let keys = match <[Bson; 1]>::try_from(keys) {
            Ok([key]) => doc! { "$eq": key },
            Err(keys) => doc! { "$in": keys },
        };
        let Some(tag) = self.tag else {
            return doc! { &*self.path: keys };
        };
        let below = |name: &str, path: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match self.array {
            None => doc! { below("type", &self.path): tag, below("id", &self.path): keys },
            // Type and id have to be those of one item.
            Some(array) => {
                let rest = self.path.strip_prefix(array).unwrap_or_default();
                let rest = rest.trim_start_matches('.');
                doc! { array: { "$elemMatch": { below("type", rest): tag, below("id", rest): keys } } }
            }
        }
    }

    /// Where the id stands in a child.
    pub(crate) fn key_path(&self) -> String {
        match self.tag {
            Some(_) => format!("{}.id", self.path),
            None => self.path.clone().into_owned(),
        }
    }

    /// Whether the server can't tell by a join which children are a parent's: type and id have to be those of one item.
    fn is_union_in_array(&self) -> bool {
        self.tag.is_some() && self.array.is_some()
    }

    /// The parents that a child names.
    fn parents(&self, child: &RawDocument, take: &mut dyn FnMut(Key)) {
        Tree::of(child, &self.path, &mut |value| {
            match self.tag {
                None => take(Key::of(value)),
                Some(tag) => {
                    if let Some((named, id)) = crate::model::reference::union_parts(value)
                        && named == tag
                    {
                        take(Key::of(id));
                    }
                }
            }
            None
        });
    }
}

/// The documents of type `C` that refer to each document of type `R`, as a part of a join. It comes from
/// [`Paths::children`] and [`Paths::children_by`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// let all: Vec<(Post, Vec<(Comment, User)>)> = posts
///     .find_all()
///     .include(|p| p.children::<Comment>().filter(|c| c.text.starts_with("I")).include(|c| c.author))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub struct Children<R, C, J = ()> {
    what: Arc<JoinedChildren>,
    join: J,
    of: PhantomData<fn() -> (R, C)>,
}

impl<R, C: Document, J> std::fmt::Debug for Children<R, C, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Children")
            .field("of", &C::META.collection)
            .field("what", &self.what)
            .finish()
    }
}

/// Which children are wanted.
#[derive(Debug)]
pub(crate) struct JoinedChildren {
    via: Via,
    filter: Result<bson::Document, String>,
    limit: Option<u32>,
    /// As on a server without the stage that it takes otherwise.
    by_queries: bool,
}

impl<R: Document, C: Document + Clone> Children<R, C> {
    fn new(via: Via) -> Self {
        Children {
            what: Arc::new(JoinedChildren {
                via,
                filter: Ok(bson::Document::new()),
                limit: None,
                by_queries: false,
            }),
            join: (),
            of: PhantomData,
        }
    }

    /// Joins further documents to each child.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, Vec<(Comment, User)>)> =
    ///     posts.find_all().include(|p| p.children::<Comment>().include(|c| c.author)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn include<J: Join<C>>(self, join: impl FnOnce(C::Paths) -> J) -> Children<R, C, To<J>> {
        Children {
            what: self.what,
            join: To::new(join(C::paths())),
            of: PhantomData,
        }
    }
}

impl<R: Document, C: Document, J> Children<R, C, J> {
    fn change(mut self, change: impl FnOnce(&mut JoinedChildren)) -> Self {
        // It is not shared until the join is executed.
        if let Some(what) = Arc::get_mut(&mut self.what) {
            change(what);
        }
        self
    }

    /// At most this number for each parent: the first ones in the order. The server reads no more of them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let newest: Vec<(Post, Vec<Comment>)> =
    ///     posts.find_all().include(|p| p.children::<Comment>().limit(10)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn limit(self, n: u32) -> Self {
        self.change(|what| what.limit = Some(n))
    }

    /// In this order, instead of the declared one.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let oldest: Vec<(Post, Vec<Comment>)> =
    ///     posts.find_all().include(|p| p.children::<Comment>().sort(|c| c.at.asc()).limit(1)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<C>>(self, order: impl FnOnce(C::Paths) -> S) -> Self {
        let order = order(C::paths()).into_sort();
        self.change(|what| {
            what.via.order = order
                .iter()
                .map(|order: &Order<C>| (order.name, if order.descending { -1 } else { 1 }))
                .collect();
        })
    }

    /// Reads the first few children of each parent by a query of its own, four queries at once, as is always done before
    /// MongoDB 5.0. Without it one query reads those of all parents, and its pipeline finds the children of each by the index,
    /// which some servers execute slowly: `cargo xtask bench -- --only "joins 100"` compares both. It makes no difference to
    /// the result, nor where there is no limit.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let newest: Vec<(Post, Vec<Comment>)> =
    ///     posts.find_all().include(|p| p.children::<Comment>().limit(10).by_queries()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn by_queries(self) -> Self {
        self.change(|what| what.by_queries = true)
    }

    /// Only those that match this condition.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let long: Vec<(Post, Vec<Comment>)> =
    ///     posts.find_all().include(|p| p.children::<Comment>().filter(|c| c.stars.gte(4))).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn filter(self, filter: impl FnOnce(C::Paths) -> Filter<C>) -> Self {
        self.matching(filter(C::paths()))
    }

    /// The same of a filter that was made elsewhere: in a function of its own, or of a request.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>, asked: Filter<Comment>) -> odm::Result<()> {
    /// let found = posts.find_all().include(|p| p.children::<Comment>().matching(asked)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn matching(self, filter: Filter<C>) -> Self {
        let filter = filter.into_document();
        self.change(|what| {
            what.filter = match (std::mem::replace(&mut what.filter, Ok(doc! {})), filter) {
                (Ok(a), Ok(b)) => Ok(all([a, b])),
                (Err(error), _) => Err(error),
                (_, Err(error)) => Err(error.to_string()),
            };
        })
    }
}

/// Children that are wanted, by their parents.
struct WantedChildren<C> {
    what: Arc<JoinedChildren>,
    places: Places,
    groups: Vec<ChildGroup>,
    found: Vec<FoundChildren<C>>,
    with_raw: bool,
}

/// One parent's children.
#[derive(Default)]
struct ChildGroup {
    /// Their numbers.
    children: Vec<u32>,
    /// How many documents they are joined to: a query may give their parent several times, or several with one key.
    rows: u32,
}

struct FoundChildren<C> {
    document: Option<C>,
    raw: Option<RawDocumentBuf>,
    wanted: u32,
}

/// One child that a query gave, with the parents whose it is.
struct Child<C> {
    document: Option<C>,
    raw: Option<RawDocumentBuf>,
    parents: Vec<u32>,
}

/// The parents of one chunk: [`chunks`] cuts the keys in their order.
fn part_of(chunk: &[Bson]) -> Option<RangeInclusive<Key>> {
    Some(Key::of_bson(chunk.first()?)..=Key::of_bson(chunk.last()?))
}

impl<C: Document + Clone> WantedChildren<C> {
    /// The group of this parent, and whether it is wanted for the first time.
    fn want(&mut self, key: Key) -> (u32, bool) {
        let next = self.groups.len() as u32;
        let at = *self.places.entry(key).or_insert(next);
        if at == next {
            self.groups.push(ChildGroup::default());
        }
        if let Some(group) = self.groups.get_mut(at as usize) {
            group.rows = group.rows.saturating_add(1);
            // Those that stood in the parent when it came first.
            for child in &group.children {
                if let Some(found) = self.found.get_mut(*child as usize) {
                    found.wanted = found.wanted.saturating_add(1);
                }
            }
        }
        (at, at == next)
    }

    fn filter(&self, keys: Vec<Bson>) -> Result<bson::Document> {
        let own = self.what.filter.clone().map_err(|message| Error::Query {
            collection: C::META.collection,
            message,
        })?;
        Ok(all([self.what.via.filter(keys), own]))
    }

    fn sort(&self) -> bson::Document {
        self.what
            .via
            .order
            .iter()
            .map(|(name, direction)| ((*name).to_owned(), Bson::Int32(*direction)))
            .collect()
    }

    /// One child, of all the parents that it names, or of those that were asked for, or of the given one.
    fn read(
        &self,
        of: Option<u32>,
        asked: Option<&RangeInclusive<Key>>,
        raw: &RawDocument,
    ) -> Result<Option<Child<C>>> {
        let mut parents: Vec<u32> = Vec::new();
        match of {
            Some(parent) => parents.push(parent),
            None => self.what.via.parents(raw, &mut |key| {
                if let Some(at) = self.places.get(&key)
                    && asked.is_none_or(|asked| asked.contains(&key))
                    && !parents.contains(at)
                {
                    parents.push(*at);
                }
            }),
        }
        if parents.is_empty() {
            return Ok(None);
        }
        Ok(Some(Child {
            document: Some(super::stages::read(C::META, raw)?),
            raw: self.with_raw.then(|| raw.to_owned()),
            parents,
        }))
    }

    fn add(&mut self, child: Child<C>) {
        let number = self.found.len() as u32;
        let mut wanted: u32 = 0;
        for parent in &child.parents {
            if let Some(group) = self.groups.get_mut(*parent as usize) {
                group.children.push(number);
                wanted = wanted.saturating_add(group.rows);
            }
        }
        self.found.push(FoundChildren {
            document: child.document,
            raw: child.raw,
            wanted,
        });
    }

    fn put(&mut self, of: Option<u32>, raw: &RawDocument) -> Result<()> {
        if let Some(child) = self.read(of, None, raw)? {
            self.add(child);
        }
        Ok(())
    }

    fn get(&mut self, number: u32, repeated: bool) -> Option<C> {
        let child = self.found.get_mut(number as usize)?;
        child.wanted = child.wanted.saturating_sub(1);
        if child.wanted == 0 && !repeated {
            child.document.take()
        } else {
            child.document.clone()
        }
    }

    async fn load(&mut self, from: &Source) -> Result<()> {
        let core = from.core(C::META);
        warn_of_scan(C::META, &from.odm, &self.what.via.key_path());
        match self.what.limit {
            Some(0) => Ok(()),
            Some(limit) if self.places.len() > 1 => self.load_first(from, &core, limit).await,
            limit => self.load_all(from, &core, limit).await,
        }
    }

    /// All of each parent, or the first few of one parent.
    async fn load_all(&mut self, from: &Source, core: &Core, limit: Option<u32>) -> Result<()> {
        let mut sort = self.sort();
        let via = &self.what.via;
        if via.array.is_none() && via.tag.is_none() && self.places.len() > 1 && !sort.is_empty() {
            // The order of the index, so that nothing is sorted: within one parent it is the order that is wanted.
            let mut in_index = doc! { &*via.path: 1 };
            in_index.extend(sort);
            sort = in_index;
        }
        let find = |wanted: &Self, parents| {
            let mut find = Query::for_application(core.clone(), Filter::raw(wanted.filter(parents)?));
            find.options.sort = Some(sort.clone()).filter(|sort| !sort.is_empty());
            find.options.limit = limit.map(i64::from);
            if from.on_disk {
                find.options.allow_disk_use = Some(true);
            }
            Ok::<_, Error>(find)
        };
        let mut chunks = chunks(self.places.keys());
        if chunks.len() <= 1 {
            // The usual case: each child is taken as it comes.
            let Some(chunk) = chunks.pop() else { return Ok(()) };
            let find = find(self, chunk)?;
            // All documents that the server finds for one parent belong to it, also where it compares texts by a collation:
            // documents within a limit must not be lost.
            let of = (self.places.len() == 1).then_some(0);
            return find.each("children", &mut |raw| self.put(of, raw)).await;
        }
        let mut queries = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            // A child of several parents may be found with each part of them.
            let part = part_of(&chunk);
            let (wanted, find) = (&*self, find(self, chunk)?);
            queries.push(async move {
                let mut children = Vec::new();
                find.each("children", &mut |raw| {
                    children.extend(wanted.read(None, part.as_ref(), raw)?);
                    Ok(())
                })
                .await?;
                Ok(children)
            });
        }
        let children = together(from, queries).await?;
        children.into_iter().flatten().for_each(|child| self.add(child));
        Ok(())
    }

    /// The first few of each parent.
    async fn load_first(&mut self, from: &Source, core: &Core, limit: u32) -> Result<()> {
        // A pipeline takes no `$near`.
        let near = self.what.filter.as_ref().is_ok_and(has_near);
        let by_queries = self.what.by_queries || self.what.via.is_union_in_array() || near;
        if by_queries || !from.odm.joins_children(from.session.is_some()).await? {
            return self.load_first_by_queries(from, core, limit).await;
        }
        let pipeline = |chunk: Vec<Bson>| {
            let joined = [lookup::<C>(&self.what, "k", "c")?, doc! { "$unwind": "$c" }];
            let of_all = if C::META.shard_key.is_some() {
                let filter = core.odm().in_scope(C::META, self.filter(chunk.clone())?, false)?;
                Some(core.routed(filter))
            } else {
                None
            };
            let rows = crate::model::key::rows(&chunk, of_all);
            Ok::<_, Error>(rows.chain(joined).collect())
        };
        let read = |wanted: &Self, raw: &RawDocument| {
            let at = raw.get("k").ok().flatten().map(Key::of);
            let at = at.and_then(|key| wanted.places.get(&key).copied());
            match (at, raw.get_document("c")) {
                (Some(at), Ok(child)) => wanted.read(Some(at), None, child),
                _ => Ok(None),
            }
        };
        let mut options = AggregateOptions::default();
        options.allow_disk_use = from.on_disk.then_some(true);
        let mut chunks = chunks(self.places.keys());
        if chunks.len() <= 1 {
            let Some(chunk) = chunks.pop() else { return Ok(()) };
            let stages = pipeline(chunk)?;
            return each_of(core, "children", stages, options, &mut |raw| {
                if let Some(child) = read(self, raw)? {
                    self.add(child);
                }
                Ok(())
            })
            .await;
        }
        let mut queries = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let (wanted, read, stages) = (&*self, &read, pipeline(chunk)?);
            let options = options.clone();
            queries.push(async move {
                let mut children = Vec::new();
                each_of(core, "children", stages, options, &mut |raw| {
                    children.extend(read(wanted, raw)?);
                    Ok(())
                })
                .await?;
                Ok(children)
            });
        }
        let children = together(from, queries).await?;
        children.into_iter().flatten().for_each(|child| self.add(child));
        Ok(())
    }

    /// The same before MongoDB 5.0, or 5.1 on a sharded cluster, in a transaction there, and where a join of the server's does
    /// not do: one query for each parent, several on their way together.
    async fn load_first_by_queries(&mut self, from: &Source, core: &Core, limit: u32) -> Result<()> {
        let mut queries = Vec::with_capacity(self.places.len());
        for (key, at) in &self.places {
            let mut find =
                Query::for_application(core.clone(), Filter::raw(self.filter(vec![key.to_bson()])?));
            find.options.limit = Some(limit.into());
            if !self.what.via.order.is_empty() {
                find.options.sort = Some(self.sort());
            }
            if from.on_disk {
                find.options.allow_disk_use = Some(true);
            }
            let (wanted, at) = (&*self, *at);
            queries.push(async move {
                let mut children = Vec::new();
                find.each("children", &mut |raw| {
                    children.extend(wanted.read(Some(at), None, raw)?);
                    Ok(())
                })
                .await?;
                Ok(children)
            });
        }
        let children = together(from, queries).await?;
        children.into_iter().flatten().for_each(|child| self.add(child));
        Ok(())
    }
}

/// What queries give that are on their way together, as many as may be. Each parent is in one of them alone, so its
/// children are in their order whichever comes first.
async fn together<C>(
    from: &Source,
    queries: Vec<impl Future<Output = Result<Vec<Child<C>>>>>,
) -> Result<Vec<Vec<Child<C>>>> {
    let answers = futures::stream::iter(queries).buffer_unordered(from.in_flight());
    answers.try_collect().await
}

/// Says in a debug build that no declared index finds the children.
pub(crate) fn warn_of_scan(children: &DocumentMeta, odm: &Odm, field: &str) {
    if cfg!(debug_assertions) && !crate::graph::indexes::has_index_on(children, odm.graph(), field) {
        tracing::warn!(
            target: "odm",
            collection = children.collection,
            field,
            "no declared index finds the children of a parent, so a join reads the whole collection: leave out `index = \
             false`, or declare one with `#[index]`"
        );
    }
}

/// The stage that puts the children of the parent with the key in `local` into `name`.
fn lookup<C: Document>(what: &JoinedChildren, local: &str, name: &str) -> Result<bson::Document> {
    let own = what.filter.clone().map_err(|message| Error::Query {
        collection: C::META.collection,
        message,
    })?;
    if has_near(&own) {
        return Err(super::stages::no_near(C::META.collection));
    }
    let mut inner = Vec::new();
    if let Some(tag) = what.via.tag {
        inner.push(doc! { "$match": { format!("{}.type", what.via.path): tag } });
    }
    if !own.is_empty() {
        inner.push(doc! { "$match": own });
    }
    if !what.via.order.is_empty() {
        let sort: bson::Document = what
            .via
            .order
            .iter()
            .map(|(name, direction)| ((*name).to_owned(), Bson::Int32(*direction)))
            .collect();
        inner.push(doc! { "$sort": sort });
    }
    match what.limit {
        // The server refuses this limit.
        Some(0) => inner.push(doc! { "$match": { "_id": { "$in": [] } } }),
        Some(limit) => inner.push(doc! { "$limit": i64::from(limit) }),
        None => {}
    }
    Ok(doc! { "$lookup": {
        "from": C::META.collection,
        "localField": local,
        "foreignField": what.via.key_path(),
        "pipeline": inner,
        "as": name,
    } })
}

/// Hands every document that a pipeline gives to `take`.
pub(super) fn each_of<'a>(
    core: &'a Core,
    operation: &'static str,
    stages: Vec<bson::Document>,
    options: AggregateOptions,
    take: Take<'a>,
) -> BoxFuture<'a, Result<()>> {
    async move {
        let collated = options.collation.is_some() || core.meta().collation.is_some();
        let stages = joined(core.odm(), stages, collated)?;
        let trace = core.trace(operation);
        trace
            .run(async {
                let (round_trips, documents) = hand_out!(
                    core,
                    [core] core.raw().aggregate(stages).with_options(options).batch_size(i32::MAX as u32),
                    take
                );
                trace.done(round_trips, documents);
                Ok(())
            })
            .await
    }
    .boxed()
}

impl<C: Document + Clone> Fetch for WantedChildren<C> {
    fn run<'a>(&'a mut self, from: &'a Source) -> BoxFuture<'a, Result<()>> {
        Box::into_pin(Box::new(self.load(from)))
    }
    fn take(&mut self, raw: &RawDocument) -> Result<()> {
        self.put(None, raw)
    }
    fn collection(&self) -> &'static str {
        C::META.collection
    }
    fn has(&self, at: u32) -> bool {
        (at as usize) < self.groups.len()
    }
    fn keys(&self) -> Vec<&Key> {
        Vec::new()
    }
    fn raw(&self, at: u32) -> Option<&RawDocument> {
        self.found.get(at as usize)?.raw.as_deref()
    }
    fn keep_raw(&mut self) {
        self.with_raw = true;
    }
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The parents of one join, and where their children are.
pub struct Parents<S> {
    number: u32,
    level: usize,
    list: Option<Slot>,
    /// Where each parent's group is.
    groups: Vec<Option<u32>>,
    /// For what is joined to the children: which of its documents each child is.
    numbers: HashMap<u32, usize>,
    beyond: S,
}

impl<R: Document, C: Document + Clone, J: Beyond<Ref<C>>> Join<R> for Children<R, C, J> {
    type Out = Vec<J::Item>;
    type Row<X: Send + 'static> = (X, Self::Out);
    type State = Parents<J::State>;

    fn row<X: Send + 'static>(document: X, out: Self::Out) -> (X, Self::Out) {
        (document, out)
    }

    fn needs(&self, names: &mut Vec<&'static str>) {
        names.push(self.what.via.by);
    }

    fn queries(&self, queries: &mut Vec<Asked>) {
        let mut sort = bson::Document::new();
        for (name, direction) in &self.what.via.order {
            sort.insert(*name, *direction);
        }
        queries.push(Asked {
            of: C::META,
            field: self.what.via.key_path(),
            filter: self
                .what
                .via
                .filter(vec![Asked::no_parent(R::META, self.what.via.by)]),
            sort,
        });
        self.join.queries(queries);
    }

    fn start(&self, number: &mut u32) -> Self::State {
        let own = *number;
        *number += 1;
        Parents {
            number: own,
            level: 0,
            list: None,
            groups: Vec::new(),
            numbers: HashMap::new(),
            beyond: self.join.start(number),
        }
    }

    fn fits(&self, _: &RawDocument) -> Result<()> {
        Ok(())
    }

    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
        state.level = level;
        let list = *state.list.get_or_insert_with(|| {
            hop.add(Box::new(WantedChildren::<C> {
                what: self.what.clone(),
                places: Places::default(),
                groups: Vec::new(),
                found: Vec::new(),
                with_raw: !J::NOTHING,
            }))
        });
        let lookup = hop.embedded;
        let Some(wanted) = wanted::<C>(hop, list) else {
            return Ok(());
        };
        // A parent without a key has no children: the server would return all documents without a parent.
        let key = raw.get(self.what.via.by).ok().flatten();
        let key = key.filter(|key| !matches!(key, RawBsonRef::Null | RawBsonRef::Undefined));
        let group = key.map(|key| wanted.want(stored_key(R::META, self.what.via.by, key)));
        // A parent that is joined to several documents stands in each of them, with its children.
        if lookup && let Some((group, true)) = group {
            for child in embedded(raw, &super::stages::name(state.number)) {
                wanted.put(Some(group), child)?;
            }
        }
        state.groups.push(group.map(|(group, _)| group));
        Ok(())
    }

    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
        if level != state.level {
            return self.join.next(&mut state.beyond, level, hops, next);
        }
        let (false, Some(list)) = (J::NOTHING, state.list) else {
            return Ok(());
        };
        let Some(fetch) = hops.get(level).and_then(|hop| hop.fetch(list)) else {
            return Ok(());
        };
        let mut number = 0;
        while let Some(raw) = fetch.raw(number) {
            state.numbers.insert(number, state.numbers.len());
            self.join.parent(&mut state.beyond, raw, next, level + 1)?;
            number += 1;
        }
        Ok(())
    }

    fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Vec<J::Item>> {
        let (Some(Some(group)), Some(list)) = (state.groups.get(at).copied(), state.list) else {
            return Ok(Vec::new());
        };
        let mut children = Vec::new();
        if let Some(hop) = hops.get_mut(state.level) {
            let repeated = hop.repeated;
            if let Some(wanted) = wanted::<C>(hop, list) {
                let group = wanted.groups.get(group as usize);
                let numbers = group.map(|group| group.children.clone()).unwrap_or_default();
                for number in numbers {
                    children.extend(wanted.get(number, repeated).map(|child| (number, child)));
                }
            }
        }
        children
            .into_iter()
            .map(|(number, child)| {
                let at = state.numbers.get(&number).copied().unwrap_or_default();
                self.join.item(&mut state.beyond, hops, at, child)
            })
            .collect()
    }

    fn stages(&self, stages: &mut Stages) -> Result<()> {
        let (what, join) = (&self.what, &self.join);
        if what.via.is_union_in_array() {
            return Err(Error::Query {
                collection: R::META.collection,
                message: format!(
                    "`{}` of `{}` is in an array and may refer to documents of several collections, which one `$lookup` \
                     can't join: leave out `lookup`",
                    what.via.path,
                    C::META.collection
                ),
            });
        }
        stages.children(R::META, what.via.by, |local, name, inner| {
            let mut stage = lookup::<C>(what, local, name)?;
            join.stages(inner)?;
            inner.append_to(&mut stage);
            Ok(stage)
        })
    }
}

impl<R: Document, C: Document + Clone> LookedUp<R> for Children<R, C> {
    const ONE: bool = false;
}

impl<R: Document, C: Document + Clone> LookedUp<R> for OnlyChild<R, C> {
    const ONE: bool = true;
}

fn wanted<C: Document + Clone>(hop: &mut Hop, list: Slot) -> Option<&mut WantedChildren<C>> {
    hop.fetch_mut(list)?.as_any().downcast_mut()
}

/// The one document of type `C` that refers to each document of type `R`, as a part of a join. It comes from
/// [`Paths::child`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(users: Collection<User>) -> odm::Result<()> {
/// let all: Vec<(User, Option<Profile>)> = users.find_all().include(|u| u.child::<Profile>()).all().await?;
/// # Ok(()) }
/// ```
pub struct OnlyChild<R, C, J = ()>(Children<R, C, J>);

impl<R, C: Document, J> std::fmt::Debug for OnlyChild<R, C, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<R: Document, C: Document + Clone> OnlyChild<R, C> {
    /// Joins further documents to the child.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(users: Collection<User>) -> odm::Result<()> {
    /// let all: Vec<(User, Option<(Profile, User)>)> =
    ///     users.find_all().include(|u| u.child::<Profile>().include(|p| p.user)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn include<J: Join<C>>(self, join: impl FnOnce(C::Paths) -> J) -> OnlyChild<R, C, To<J>> {
        OnlyChild(self.0.include(join))
    }
}

impl<R: Document, C: Document + Clone, J: Beyond<Ref<C>>> Join<R> for OnlyChild<R, C, J> {
    type Out = Option<J::Item>;
    type Row<X: Send + 'static> = (X, Self::Out);
    type State = Parents<J::State>;

    fn row<X: Send + 'static>(document: X, out: Self::Out) -> (X, Self::Out) {
        (document, out)
    }
    fn needs(&self, names: &mut Vec<&'static str>) {
        self.0.needs(names);
    }
    fn queries(&self, queries: &mut Vec<Asked>) {
        self.0.queries(queries);
    }
    fn start(&self, number: &mut u32) -> Self::State {
        self.0.start(number)
    }
    fn fits(&self, raw: &RawDocument) -> Result<()> {
        self.0.fits(raw)
    }
    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
        self.0.parent(state, raw, hop, level)
    }
    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
        self.0.next(state, level, hops, next)
    }
    fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Self::Out> {
        Ok(self.0.out(state, hops, at)?.into_iter().next())
    }
    fn stages(&self, stages: &mut Stages) -> Result<()> {
        self.0.stages(stages)
    }
}

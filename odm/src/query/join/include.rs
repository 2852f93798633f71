//! The join along a reference: `p.parts`, `p.parts.include(|q| q.supplier)`.

use super::pointer::Load;
use super::{Asked, Hop, Join, LookedUp, Slot, Stages, Tree};
use crate::error::MissingTargets;
use crate::model::key::Key;
use crate::model::path::{OutsideVariants, Path, Step};
use crate::model::reference::{Pointer, Reference, ReferenceTo};
use crate::model::shape::Shape;
use crate::{Document, Error, Result};
use mongodb::bson::{Bson, RawDocument, doc};
use std::collections::HashMap;
use std::marker::PhantomData;

/// A reference that is joined: with what is joined to its target in turn, and with what is given for a target that is
/// missing. A path to a reference is one by itself; the methods of [`Path`] say more.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// let tagged: Vec<(Post, Vec<Tag>)> = posts.find_all().include(|p| p.tags.leave_out_missing()).all().await?;
/// # Ok(()) }
/// ```
#[allow(clippy::type_complexity)] // variance alone: no value of these types
pub struct Include<R, V, P, M = Strict, J = ()> {
    join: J,
    of: PhantomData<fn() -> (R, Box<V>, P, M)>,
}

impl<R: Document, V, P: Step, M, J> std::fmt::Debug for Include<R, V, P, M, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Include").field(&P::PATH).finish()
    }
}

impl<R: Document, V: Reference, P: Step, C> Path<R, V, P, C> {
    /// Joins further documents to the target: `p.parts.include(|q| q.supplier)`. The target comes as a tuple with them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// // Three queries, however many comments there are: comments, posts, users.
    /// let all: Vec<(Comment, (Post, User))> =
    ///     comments.find_all().include(|c| c.post.include(|p| p.author)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn include<J: Join<V::Target>>(
        self,
        join: impl FnOnce(<V::Target as Document>::Paths) -> J,
    ) -> Include<R, V, P, Strict, To<J>>
    where
        V: ReferenceTo,
    {
        Include {
            join: To(join(V::Target::paths())),
            of: PhantomData,
        }
    }

    /// Gives `None` in the place of a target that does not exist, instead of the error
    /// [`MissingReference`](Error::MissingReference).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, Vec<Option<Tag>>)> = posts.find_all().include(|p| p.tags.or_none()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn or_none(self) -> Include<R, V, P, OrNone> {
        Include {
            join: (),
            of: PhantomData,
        }
    }

    /// Leaves out a target that does not exist: an array is shorter then, and a single reference gives `None`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
    /// let all: Vec<(Post, Vec<Tag>)> = posts.find_all().include(|p| p.tags.leave_out_missing()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn leave_out_missing(self) -> Include<R, V, P, LeaveOut> {
        Include {
            join: (),
            of: PhantomData,
        }
    }
}

impl<R, V, P, J> Include<R, V, P, Strict, J> {
    /// As [`Path::or_none`].
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// let all: Vec<(Comment, Option<(Post, User)>)> =
    ///     comments.find_all().include(|c| c.post.include(|p| p.author).or_none()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn or_none(self) -> Include<R, V, P, OrNone, J> {
        Include {
            join: self.join,
            of: PhantomData,
        }
    }

    /// As [`Path::leave_out_missing`].
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
    /// let all: Vec<(Comment, Option<(Post, User)>)> =
    ///     comments.find_all().include(|c| c.post.include(|p| p.author).leave_out_missing()).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn leave_out_missing(self) -> Include<R, V, P, LeaveOut, J> {
        Include {
            join: self.join,
            of: PhantomData,
        }
    }
}

/// The result of a join where a target does not exist.
pub trait Missing: Send + Sync + 'static {
    /// What stands for the references of a field of type `V`, whose documents are `X`.
    type Given<V: Reference, X: Send>: Send;
    /// Whether it is an error.
    const REFUSED: bool;

    #[doc(hidden)]
    fn given<V: Reference, X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<Self::Given<V, X>>>;
}

/// A target that does not exist is the error [`MissingReference`](Error::MissingReference), which lists the ids. One that is
/// deleted and kept (`#[document(soft_delete)]`) is left out of an array, and is `None` of an optional reference.
pub struct Strict(());
/// A target that does not exist is `None` in its place.
pub struct OrNone(());
/// A target that does not exist is left out.
pub struct LeaveOut(());

impl Missing for Strict {
    type Given<V: Reference, X: Send> = V::Joined<X>;
    const REFUSED: bool = true;

    fn given<V: Reference, X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<V::Joined<X>>> {
        V::joined(tree, get)
    }
}

impl Missing for OrNone {
    type Given<V: Reference, X: Send> = V::Joined<Option<X>>;
    const REFUSED: bool = false;

    fn given<V: Reference, X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<V::Joined<Option<X>>>> {
        V::joined(tree, &mut |slot| get(slot).map(Some))
    }
}

impl Missing for LeaveOut {
    type Given<V: Reference, X: Send> = V::Present<X>;
    const REFUSED: bool = false;

    fn given<V: Reference, X: Send>(
        tree: &Tree,
        get: &mut dyn FnMut(Slot) -> Result<Option<X>>,
    ) -> Result<Option<V::Present<X>>> {
        V::present(tree, get).map(Some)
    }
}

/// The joins of the referenced documents. Only a reference to one type of document can have some.
pub trait Beyond<L: Load>: Send + Sync + 'static {
    /// A target with what is joined to it.
    type Item: Send + 'static;
    #[doc(hidden)]
    type State: Send;
    #[doc(hidden)]
    const NOTHING: bool;
    #[doc(hidden)]
    fn queries(&self, queries: &mut Vec<Asked>);
    #[doc(hidden)]
    fn start(&self, number: &mut u32) -> Self::State;
    #[doc(hidden)]
    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()>;
    #[doc(hidden)]
    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()>;
    #[doc(hidden)]
    fn item(
        &self,
        state: &mut Self::State,
        hops: &mut [Hop],
        at: usize,
        document: L::Loaded,
    ) -> Result<Self::Item>;
    #[doc(hidden)]
    fn stages(&self, stages: &mut Stages) -> Result<()>;
}

impl<L: Load> Beyond<L> for () {
    type Item = L::Loaded;
    type State = ();
    const NOTHING: bool = true;

    fn queries(&self, _: &mut Vec<Asked>) {}
    fn start(&self, _: &mut u32) {}
    fn parent(&self, _: &mut (), _: &RawDocument, _: &mut Hop, _: usize) -> Result<()> {
        Ok(())
    }
    fn next(&self, _: &mut (), _: usize, _: &[Hop], _: &mut Hop) -> Result<()> {
        Ok(())
    }
    fn item(&self, _: &mut (), _: &mut [Hop], _: usize, document: L::Loaded) -> Result<L::Loaded> {
        Ok(document)
    }
    fn stages(&self, _: &mut Stages) -> Result<()> {
        Ok(())
    }
}

/// A join to the target of a reference.
pub struct To<J>(J);

impl<T: Document, L: Load<Loaded = T>, J: Join<T>> Beyond<L> for To<J> {
    type Item = J::Row<T>;
    type State = J::State;
    const NOTHING: bool = J::NOTHING;

    fn queries(&self, queries: &mut Vec<Asked>) {
        self.0.queries(queries);
    }
    fn start(&self, number: &mut u32) -> J::State {
        self.0.start(number)
    }
    fn parent(&self, state: &mut J::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
        self.0.parent(state, raw, hop, level)
    }
    fn next(&self, state: &mut J::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
        self.0.next(state, level, hops, next)
    }
    fn item(&self, state: &mut J::State, hops: &mut [Hop], at: usize, document: T) -> Result<J::Row<T>> {
        let out = self.0.out(state, hops, at)?;
        Ok(J::row(document, out))
    }
    fn stages(&self, stages: &mut Stages) -> Result<()> {
        self.0.stages(stages)
    }
}

impl<J> To<J> {
    pub(super) fn new(join: J) -> To<J> {
        To(join)
    }
}

/// A reference of which a missing target is an error.
#[derive(Clone, Copy)]
pub(super) struct Refused {
    pub(super) collection: &'static str,
    pub(super) path: &'static str,
    /// Whether it may do without one that is deleted and kept, and whether it is an array.
    pub(super) without_deleted: Option<bool>,
    /// The number of names before its own in the path.
    pub(super) there: u32,
}

impl Refused {
    pub(super) fn of<V: Reference, M: Missing>(
        collection: &'static str,
        path: &'static str,
        there: u32,
    ) -> Option<Refused> {
        M::REFUSED.then_some(Refused {
            collection,
            path,
            without_deleted: (V::MANY || V::OPTIONAL).then_some(V::MANY),
            there,
        })
    }

    fn at<R: Document, V: Reference, P: Step, M: Missing>() -> Option<Refused> {
        let before = P::PATH.matches('.').count();
        Refused::of::<V, M>(R::META.collection, P::PATH, before as u32)
    }
}

/// Whether the documents are asked for that are missing since they are deleted and kept.
pub(super) fn takes_deleted(refused: Option<Refused>) -> bool {
    refused.is_some_and(|refused| refused.without_deleted.is_some())
}

/// The references of one field, and where their documents are.
pub struct Noted<S> {
    /// The number of the join among all of the query.
    number: u32,
    level: usize,
    trees: Vec<Tree>,
    /// For what is joined to the targets: which of its documents each target is.
    targets: HashMap<Slot, usize>,
    beyond: S,
}

impl<S> Noted<S> {
    pub(super) fn new(number: &mut u32, beyond: impl FnOnce(&mut u32) -> S) -> Noted<S> {
        let own = *number;
        *number += 1;
        Noted {
            number: own,
            level: 0,
            trees: Vec::new(),
            targets: HashMap::new(),
            beyond: beyond(number),
        }
    }

    pub(super) fn note<L: Load, B: Beyond<L, State = S>>(
        &mut self,
        path: &str,
        by: &'static str,
        raw: &RawDocument,
        (hop, takes_deleted): (&mut Hop, bool),
        level: usize,
    ) -> Result<()> {
        self.level = level;
        if hop.embedded {
            hop.lane = self.number;
        }
        let tree = Tree::of(raw, path, &mut |value| {
            let slot = L::want(value, by, hop)?;
            if (takes_deleted || !B::NOTHING)
                && let Some(fetch) = hop.fetch_mut(slot)
            {
                if takes_deleted {
                    fetch.take_deleted();
                }
                if !B::NOTHING {
                    fetch.keep_raw();
                }
            }
            Some(slot)
        });
        if hop.embedded {
            hop.take_embedded(raw, &super::stages::name(self.number), &tree)?;
        }
        self.trees.push(tree);
        Ok(())
    }

    pub(super) fn next<L: Load, B: Beyond<L, State = S>>(
        &mut self,
        beyond: &B,
        level: usize,
        hops: &[Hop],
        next: &mut Hop,
        refused: Option<Refused>,
    ) -> Result<()> {
        if level != self.level {
            return beyond.next(&mut self.beyond, level, hops, next);
        }
        let Some(hop) = hops.get(level) else { return Ok(()) };
        if let Some(refused) = refused {
            if let Some(of_arrays) = refused.without_deleted {
                let is_deleted = |slot| hop.is_deleted(slot);
                let trees = self.trees.iter_mut();
                trees.for_each(|tree| tree.leave_out(of_arrays, refused.there, &is_deleted));
            }
            nothing_is_missing(&self.trees, hop, refused.collection, refused.path)?;
        }
        if B::NOTHING {
            return Ok(());
        }
        let mut slots = Vec::new();
        for tree in &self.trees {
            tree.each(&mut |slot| {
                if !self.targets.contains_key(&slot) && hop.fetch(slot).is_some_and(|f| f.has(slot.at)) {
                    self.targets.insert(slot, slots.len());
                    slots.push(slot);
                }
            });
        }
        for slot in slots {
            if let Some(raw) = hop.fetch(slot).and_then(|fetch| fetch.raw(slot.at)) {
                beyond.parent(&mut self.beyond, raw, next, level + 1)?;
            }
        }
        Ok(())
    }

    #[allow(clippy::type_complexity)] // each part is an associated type of what is joined
    pub(super) fn out<L: Load, B: Beyond<L, State = S>, V: Reference, M: Missing, P: Step>(
        &mut self,
        beyond: &B,
        hops: &mut [Hop],
        at: usize,
        (collection, path): (&'static str, &'static str),
    ) -> Result<P::Many<M::Given<V, B::Item>>> {
        let Noted {
            level,
            trees,
            targets,
            beyond: state,
            ..
        } = self;
        let tree = trees.get(at).unwrap_or(&Tree::Nothing { there: 0 });
        P::assemble(tree, &mut |tree| {
            let given = M::given::<V, B::Item>(tree, &mut |slot| {
                let document = hops.get_mut(*level).and_then(|hop| L::get(slot, hop));
                let Some(document) = document else { return Ok(None) };
                let at = targets.get(&slot).copied().unwrap_or_default();
                beyond.item(state, hops, at, document).map(Some)
            })?;
            given.ok_or_else(|| no_reference::<V>(collection, path, None))
        })
    }
}

/// Refuses a reference in these trees whose target the hop did not find.
fn nothing_is_missing(trees: &[Tree], hop: &Hop, collection: &'static str, path: &str) -> Result<()> {
    let mut missing: Vec<Slot> = Vec::new();
    for tree in trees {
        tree.each(&mut |slot| {
            if hop.fetch(slot).is_none_or(|fetch| !fetch.has(slot.at)) {
                missing.push(slot);
            }
        });
    }
    let Some(first) = missing.first().and_then(|slot| hop.fetch(*slot)) else {
        return Ok(());
    };
    let target = first.collection();
    let mut seen = std::collections::HashSet::new();
    missing.retain(|slot| seen.insert(*slot) && hop.fetch(*slot).is_some_and(|f| f.collection() == target));
    // The keys of each list once, since very many may be missing.
    let mut keys: HashMap<u32, Vec<&Key>> = HashMap::new();
    let ids: Vec<Bson> = missing
        .iter()
        .filter_map(|slot| {
            let fetch = hop.fetch(*slot)?;
            let keys = keys.entry(slot.fetch).or_insert_with(|| fetch.keys());
            keys.get(slot.at as usize).map(|key| fetch.stored(key))
        })
        .collect();
    Err(Error::missing_references([MissingTargets {
        collection,
        field: path.to_owned(),
        target,
        ids,
    }]))
}

/// That a stored document lacks a reference that its type asks for.
fn no_reference<V: Reference>(collection: &str, path: &str, id: Option<Bson>) -> Error {
    let message = if V::MANY {
        "an item of this array is no reference, and the items are no `Option`"
    } else {
        "a stored document has no reference here, and the field is no `Option`"
    };
    Error::Decode {
        collection: collection.to_owned(),
        id: id.map(Box::new),
        ty: crate::store::decode::short_name(std::any::type_name::<V>()),
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

/// Puts nothing into the places of the references, as the documents will be, to see that there is a reference in each.
fn has_references<R: Document, V: Reference<Pointer: Load>, P: Step, M: Missing>(
    by: &'static str,
    raw: &RawDocument,
) -> Result<()> {
    let mut hop = Hop::default();
    let tree = Tree::of(raw, P::PATH, &mut |value| V::Pointer::want(value, by, &mut hop));
    let id = || Bson::try_from(raw.get("_id").ok()??).ok();
    P::assemble(&tree, &mut |tree| {
        let given = M::given::<V, ()>(tree, &mut |_| Ok(Some(())))?;
        given.ok_or_else(|| no_reference::<V>(R::META.collection, P::PATH, id()))
    })?;
    Ok(())
}

/// The name of the target's field whose value the reference at the end of a path holds.
fn by<P: Step>() -> &'static str {
    P::FIELD
        .and_then(|field| field.reference)
        .map_or("_id", |reference| (reference.by)())
}

fn by_value<V: Reference>(by: &str, queries: &mut Vec<Asked>) {
    for target in V::Pointer::TARGETS {
        let of = (target.document)();
        queries.push(Asked {
            of,
            field: by.to_owned(),
            filter: doc! { by: { "$in": [Asked::no_parent(of, by)] } },
            sort: doc! {},
        });
    }
}

/// The path that a projection needs for a reference. For an array with `null` among its items it is the array: the server
/// leaves such items out of a projection of their fields.
fn read_for<R: Document, P: Step>() -> &'static str {
    let Some(array) = P::INNERMOST else { return P::PATH };
    match crate::model::shape::shape_at((R::META.shape)(), array) {
        Some(shape) if !has_gaps(shape) => P::PATH,
        Some(_) => array,
        // In an array of arrays.
        None => P::PATH.split('.').next().unwrap_or(P::PATH),
    }
}

fn has_gaps(shape: Shape) -> bool {
    match shape {
        Shape::Optional(inner) => has_gaps(inner()),
        Shape::Bounded(field) => has_gaps((field.shape)()),
        Shape::Array(items) => matches!(items(), Shape::Optional(_)),
        _ => true,
    }
}

impl<R, V, P, C> Join<R> for Path<R, V, P, C>
where
    R: Document,
    V: Reference<Pointer: Load>,
    P: OutsideVariants,
    C: 'static,
{
    type Out = <Include<R, V, P> as Join<R>>::Out;
    type Row<X: Send + 'static> = (X, Self::Out);
    type State = Noted<()>;

    fn row<X: Send + 'static>(document: X, out: Self::Out) -> (X, Self::Out) {
        (document, out)
    }
    fn needs(&self, names: &mut Vec<&'static str>) {
        names.push(read_for::<R, P>());
    }
    fn queries(&self, queries: &mut Vec<Asked>) {
        by_value::<V>(by::<P>(), queries);
    }
    fn start(&self, number: &mut u32) -> Self::State {
        Noted::new(number, |_| ())
    }
    fn fits(&self, raw: &RawDocument) -> Result<()> {
        has_references::<R, V, P, Strict>(by::<P>(), raw)
    }
    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
        let hop = (hop, takes_deleted(Refused::at::<R, V, P, Strict>()));
        state.note::<V::Pointer, ()>(P::PATH, by::<P>(), raw, hop, level)
    }
    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
        state.next::<V::Pointer, ()>(&(), level, hops, next, Refused::at::<R, V, P, Strict>())
    }
    fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Self::Out> {
        state.out::<V::Pointer, (), V, Strict, P>(&(), hops, at, (R::META.collection, P::PATH))
    }
    fn stages(&self, stages: &mut Stages) -> Result<()> {
        stages.reference::<R, V, P>(by::<P>(), |_| Ok(()))
    }
}

impl<R, V, P, C> LookedUp<R> for Path<R, V, P, C>
where
    R: Document,
    V: Reference<Pointer: Load> + ReferenceTo,
    P: OutsideVariants,
    C: 'static,
{
    const ONE: bool = !V::MANY && !P::MULTI;
}

impl<R, V, P, M, J> Join<R> for Include<R, V, P, M, J>
where
    R: Document,
    V: Reference<Pointer: Load>,
    P: OutsideVariants,
    M: Missing,
    J: Beyond<V::Pointer>,
{
    type Out = P::Many<M::Given<V, J::Item>>;
    type Row<X: Send + 'static> = (X, Self::Out);
    type State = Noted<J::State>;

    fn row<X: Send + 'static>(document: X, out: Self::Out) -> (X, Self::Out) {
        (document, out)
    }
    fn needs(&self, names: &mut Vec<&'static str>) {
        names.push(read_for::<R, P>());
    }
    fn queries(&self, queries: &mut Vec<Asked>) {
        by_value::<V>(by::<P>(), queries);
        self.join.queries(queries);
    }
    fn start(&self, number: &mut u32) -> Self::State {
        Noted::new(number, |number| self.join.start(number))
    }
    fn fits(&self, raw: &RawDocument) -> Result<()> {
        has_references::<R, V, P, M>(by::<P>(), raw)
    }
    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
        let hop = (hop, takes_deleted(Refused::at::<R, V, P, M>()));
        state.note::<V::Pointer, J>(P::PATH, by::<P>(), raw, hop, level)
    }
    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
        state.next::<V::Pointer, J>(&self.join, level, hops, next, Refused::at::<R, V, P, M>())
    }
    fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Self::Out> {
        state.out::<V::Pointer, J, V, M, P>(&self.join, hops, at, (R::META.collection, P::PATH))
    }
    fn stages(&self, stages: &mut Stages) -> Result<()> {
        stages.reference::<R, V, P>(by::<P>(), |stages| self.join.stages(stages))
    }
}

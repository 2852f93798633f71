//! Application-level joins: documents together with their referenced documents, in one query for each hop and collection.
//!
//! The query is executed first. The references at the requested paths of all its documents are collected in a [`Hop`], each
//! target once; then each collection of the hop is asked once for all of them (`$in`). Joins of these targets are the next hop.
//! At the end every document gets its targets in the order of its references. So duplicates, order, missing targets, nested and
//! inverse joins are one mechanism, and the number of queries depends on the number of hops and collections alone.

use crate::model::document::DocumentMeta;
use crate::model::path::Path;
use crate::{Document, Find, Result};
use mongodb::bson::{self, RawDocument};

mod children;
mod hop;
mod include;
mod load;
mod lookup;
mod pointer;

pub use crate::model::tree::{Slot, Tree};
pub use children::{Children, OnlyChild, Paths, PathsOf};
pub(crate) use children::{Via, warn_of_scan};
pub(crate) use hop::ById;
pub use hop::{Hop, ReadFrom, Source};
pub use include::{Include, LeaveOut, OrNone, Strict};
pub use load::{LoadRefs, Loading};
pub use lookup::Lookup;
pub(crate) use lookup::Stages;
pub use pointer::{Load, LoadById};

/// A join of a query to its documents of type `R`: a reference (`p.parts`), the children of a parent
/// (`h.children::<LogMsg>()`), or several of these as a tuple. [`Find::include`](crate::Find::include) takes it.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(posts: Collection<Post>) -> odm::Result<()> {
/// let all: Vec<(Post, (User, Vec<Tag>))> = posts.find_all().include(|p| (p.author, p.tags)).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be joined to a `{R}`",
    label = "neither a reference nor children, nor a tuple of two to six of them",
    note = "join a field that is a reference, `.include(|x| x.field)`, or several, `.include(|x| (x.one, x.other))`",
    note = "what refers to the documents is joined by `.include(|x| x.children::<Child>())`",
    note = "a tuple joins two to six, and more by another tuple in it, `(x.a, x.b, x.c, x.d, x.e, (x.f, x.g))`; one alone stands without a tuple"
)]
pub trait Join<R: Document>: Send + Sync + Sized + 'static {
    /// The joined value of each document.
    type Out: Send + 'static;
    /// A document with what is joined to it.
    type Row<X: Send + 'static>: Send + 'static;
    /// The state while the join is executed.
    #[doc(hidden)]
    type State: Send;
    /// Whether there is nothing to join.
    #[doc(hidden)]
    const NOTHING: bool = false;

    #[doc(hidden)]
    fn row<X: Send + 'static>(document: X, out: Self::Out) -> Self::Row<X>;
    /// The stored fields that it reads in a document, for a projection.
    #[doc(hidden)]
    fn needs(&self, names: &mut Vec<&'static str>);
    /// The queries that execute it, to ask the server for their plans.
    #[doc(hidden)]
    fn queries(&self, queries: &mut Vec<Asked>);
    /// `number` counts the joins of a query in the order of [`stages`](Join::stages).
    #[doc(hidden)]
    fn start(&self, number: &mut u32) -> Self::State;
    /// Whether a document of which only a part was read has the references that its type asks for.
    #[doc(hidden)]
    fn fits(&self, raw: &RawDocument) -> Result<()>;
    /// Notes what is wanted for one more document.
    #[doc(hidden)]
    fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()>;
    /// Hop `level` has been executed: adds the targets of the next hop.
    #[doc(hidden)]
    fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()>;
    /// The joined documents of document number `at`.
    #[doc(hidden)]
    fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Self::Out>;
    /// The stages of a pipeline that joins on the server.
    #[doc(hidden)]
    fn stages(&self, stages: &mut Stages) -> Result<()>;
}

impl<R: Document> Join<R> for () {
    type Out = ();
    type Row<X: Send + 'static> = X;
    type State = ();
    const NOTHING: bool = true;

    fn row<X: Send + 'static>(document: X, _: ()) -> X {
        document
    }
    fn needs(&self, _: &mut Vec<&'static str>) {}
    fn queries(&self, _: &mut Vec<Asked>) {}
    fn start(&self, _: &mut u32) {}
    fn fits(&self, _: &RawDocument) -> Result<()> {
        Ok(())
    }
    fn parent(&self, _: &mut (), _: &RawDocument, _: &mut Hop, _: usize) -> Result<()> {
        Ok(())
    }
    fn next(&self, _: &mut (), _: usize, _: &[Hop], _: &mut Hop) -> Result<()> {
        Ok(())
    }
    fn out(&self, _: &mut (), _: &mut [Hop], _: usize) -> Result<()> {
        Ok(())
    }
    fn stages(&self, _: &mut Stages) -> Result<()> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)*))*) => {$(
        impl<R: Document, $($name: Join<R>),*> Join<R> for ($($name,)*) {
            type Out = ($($name::Out,)*);
            type Row<X: Send + 'static> = (X, Self::Out);
            type State = ($($name::State,)*);

            fn row<X: Send + 'static>(document: X, out: Self::Out) -> Self::Row<X> {
                (document, out)
            }
            fn needs(&self, names: &mut Vec<&'static str>) {
                $(self.$at.needs(names);)*
            }
            fn queries(&self, queries: &mut Vec<Asked>) {
                $(self.$at.queries(queries);)*
            }
            fn start(&self, number: &mut u32) -> Self::State {
                ($(self.$at.start(number),)*)
            }
            fn fits(&self, raw: &RawDocument) -> Result<()> {
                $(self.$at.fits(raw)?;)*
                Ok(())
            }
            fn parent(&self, state: &mut Self::State, raw: &RawDocument, hop: &mut Hop, level: usize) -> Result<()> {
                $(self.$at.parent(&mut state.$at, raw, hop, level)?;)*
                Ok(())
            }
            fn next(&self, state: &mut Self::State, level: usize, hops: &[Hop], next: &mut Hop) -> Result<()> {
                $(self.$at.next(&mut state.$at, level, hops, next)?;)*
                Ok(())
            }
            fn out(&self, state: &mut Self::State, hops: &mut [Hop], at: usize) -> Result<Self::Out> {
                Ok(($(self.$at.out(&mut state.$at, hops, at)?,)*))
            }
            fn stages(&self, stages: &mut Stages) -> Result<()> {
                $(self.$at.stages(stages)?;)*
                Ok(())
            }
        }
    )*};
}

tuples! {
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
}

/// A trait that no query has: a query can't join twice.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the query joins already, and all that it joins is named at once",
    label = "a second `include`",
    note = "name several in a tuple: `.include(|x| (x.one, x.other))`",
    note = "what is joined to a joined document stands inside: `.include(|x| x.one.include(|y| y.other))`"
)]
pub trait JoinsNothing {}

/// A second `include` of each kind, for the message that says how several joins are written.
macro_rules! joined_already {
    ($([$($name:ident)*] $join:ty;)*) => {$(
        #[doc(hidden)]
        impl<T: Document, Out, $($name),*> Find<T, Out, $join> {
            pub fn include<Next>(self, _: impl FnOnce(T::Paths) -> Next) -> Self
            where
                $join: JoinsNothing,
            {
                self
            }
        }
    )*};
}

joined_already! {
    [R V P C] Path<R, V, P, C>;
    [R V P M J] Include<R, V, P, M, J>;
    [R C J] Children<R, C, J>;
    [R C J] OnlyChild<R, C, J>;
    [A B] (A, B);
    [A B C] (A, B, C);
    [A B C D] (A, B, C, D);
    [A B C D E] (A, B, C, D, E);
    [A B C D E F] (A, B, C, D, E, F);
}

/// A query of a join, with a value in it that no document has.
#[derive(Debug)]
pub struct Asked {
    /// The collection of the documents.
    pub(crate) of: &'static DocumentMeta,
    /// The field by which the documents are found.
    pub(crate) field: String,
    pub(crate) filter: bson::Document,
    pub(crate) sort: bson::Document,
}

impl Asked {
    /// A value for the filter, as references by this field hold: an index may have those of the field's type alone.
    fn no_parent(of: &DocumentMeta, by: &str) -> bson::Bson {
        of.field(by)
            .and_then(|field| crate::model::compare::least((field.shape)()))
            .unwrap_or_else(|| bson::oid::ObjectId::from_bytes([0; 12]).into())
    }
}

/// A join that is being executed.
pub(crate) struct Work<'j, R: Document, J: Join<R>> {
    join: &'j J,
    state: J::State,
    hops: Vec<Hop>,
    /// Only a part of each document is read, which says nothing of the references beside it.
    projected: bool,
}

impl<'j, R: Document, J: Join<R>> Work<'j, R, J> {
    pub(crate) fn new(join: &'j J) -> Self {
        Work {
            join,
            state: join.start(&mut 0),
            hops: vec![Hop::default()],
            projected: false,
        }
    }

    /// For documents of a query, which may have a projection.
    pub(crate) fn of_query(join: &'j J, projected: bool) -> Self {
        Work {
            projected,
            ..Work::new(join)
        }
    }

    /// For documents into which the server has put what is joined to them.
    pub(crate) fn of_lookup(join: &'j J, projected: bool) -> Self {
        let mut work = Work::of_query(join, projected);
        for hop in &mut work.hops {
            hop.embedded = true;
        }
        work
    }

    /// One more document of the query. One that does not fit is an error, and is not noted.
    pub(crate) fn parent(&mut self, raw: &RawDocument) -> Result<()> {
        if self.projected {
            self.join.fits(raw)?;
        }
        match self.hops.first_mut() {
            Some(hop) => self.join.parent(&mut self.state, raw, hop, 0),
            None => Ok(()),
        }
    }

    /// Asks for everything that is joined.
    pub(crate) async fn run(&mut self, from: &Source) -> Result<()> {
        if J::NOTHING {
            return Ok(());
        }
        let Work {
            join, state, hops, ..
        } = self;
        let mut next = |level: usize, hops: &[Hop], next: &mut Hop| join.next(state, level, hops, next);
        hop::run_all(hops, from, &mut next).await
    }

    /// The documents, in the order in which they were noted, each with what is joined to it.
    pub(crate) fn rows<X: Send + 'static>(mut self, documents: Vec<X>) -> Result<Vec<J::Row<X>>> {
        let mut rows = Vec::with_capacity(documents.len());
        for (at, document) in documents.into_iter().enumerate() {
            let out = self.join.out(&mut self.state, &mut self.hops, at)?;
            rows.push(J::row(document, out));
        }
        Ok(rows)
    }

    /// The joined value of the only document.
    pub(crate) fn out(mut self) -> Result<J::Out> {
        self.join.out(&mut self.state, &mut self.hops, 0)
    }
}

//! The trait of joins, and joins of several things as a tuple.

use super::{Asked, Hop, Stages};
use crate::{Document, Result};
use mongodb::bson::RawDocument;

/// A join of a query to its documents of type `R`: a reference (`p.parts`), the children of a parent
/// (`h.children::<LogMsg>()`), or several of these as a tuple. [`Find::include`](crate::Find::include) takes it.
///
/// ```no_run
/// # use samples::model::*;
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

/// A join that a pipeline takes, whose result is one field: a reference, or children with nothing joined to them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be looked up in a pipeline over `{R}`",
    label = "neither a reference nor children",
    note = "name a field that is a reference to one type of document, `.lookup(\"author\", |p| p.author)`, or children, `.lookup(\"comments\", |p| p.children::<Comment>())`",
    note = "further joins are further `lookup` stages; a pipeline with joins of joins is a raw stage"
)]
pub trait LookedUp<R: Document>: Join<R> {
    /// Whether each document has one of them at most.
    #[doc(hidden)]
    const ONE: bool;
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

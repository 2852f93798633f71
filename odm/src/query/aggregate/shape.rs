//! The shape of the documents at a place of a pipeline: which typed stages may follow, and which types are read at the end.

use crate::Document;
use crate::model::stored::Row;
use std::marker::PhantomData;

/// Documents of type `T` after [`unwind`](super::Aggregate::unwind), [`add_fields`](super::Aggregate::add_fields) or
/// [`lookup`](super::Aggregate::lookup): their fields have the same names, so typed stages go on with them. An array may be one of its
/// items, and other fields stand beside.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::query::{Aggregate, Reshaped};
///
/// fn one_by_address(people: &Collection<Person>) -> Aggregate<Person, Reshaped<Person>> {
///     people.aggregate().unwind(|p| p.addresses)
/// }
/// ```
pub struct Reshaped<T>(PhantomData<fn() -> T>);

/// The fields of a [projection](crate::Projection), after [`project`](super::Aggregate::project): they are read as it, and no typed
/// stage follows.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::query::{Aggregate, Projected};
///
/// fn named(people: &Collection<Person>) -> Aggregate<Person, Projected<Named>> {
///     people.aggregate().project::<Named>()
/// }
/// ```
pub struct Projected<Out>(PhantomData<fn() -> Out>);

/// Documents of any shape, after [`group`](super::Aggregate::group) or a raw [`stage`](super::Aggregate::stage): raw stages go on with
/// them, and any type is read of them.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::query::{Aggregate, Untyped};
///
/// fn by_age(people: &Collection<Person>) -> Aggregate<Person, Untyped> {
///     people.aggregate().group(|p| p.age, |g| g.count("people"))
/// }
/// ```
pub struct Untyped(());

/// A shape in which the typed paths of `T` still name the fields of the documents: `T` itself, and [`Reshaped<T>`](Reshaped).
#[diagnostic::on_unimplemented(
    message = "this stage names fields of `{T}`, and the documents of the pipeline are not those of `{T}` any more",
    label = "after `group`, `project` or a raw `stage`",
    note = "stages with typed paths stand before `group`, `project` and raw stages",
    note = "after these, go on with a raw stage: `.stage(doc! {{ \"$match\": {{ \"people\": {{ \"$gte\": 2 }} }} }})`",
    note = "after a raw stage that gives whole documents, such as `$sample` or `$geoNear`, say so by `.as_documents()`"
)]
pub trait Typed<T> {}
impl<T: Document> Typed<T> for T {}
impl<T: Document> Typed<T> for Reshaped<T> {}

/// A shape whose documents can be read as `Out`: after [`project`](super::Aggregate::project) that is the projection alone, before it
/// and after other stages any type that derives [`Row`](crate::Row).
#[diagnostic::on_unimplemented(
    message = "the results of this pipeline are read as the type that `project` names, and not as `{Out}`",
    label = "results of the shape `{Self}`",
    note = "after `project::<Title>()`, `.all()` gives a `Vec<Title>`: no other type need be named",
    note = "to read another type, project it, or leave `project` out"
)]
pub trait Gives<Out> {}
impl<T: Document, Out: Row> Gives<Out> for T {}
impl<T, Out: Row> Gives<Out> for Reshaped<T> {}
impl<Out: Row> Gives<Out> for Untyped {}
impl<Out: Row> Gives<Out> for Projected<Out> {}

//! Fields with a value each: the unique keys by which `get_by` and its like find a document, and the fields of a scope.

use crate::Filter;
use crate::model::path::{Codec, Holds, Path, Step};
use crate::model::value::Whole;
use crate::query::filter::operand::{Operand, encode_bson};

/// The fields of a unique key: one path, or several in a tuple, in any order.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// let kate = people.insert(new).or_get_by(|p| p.email).await?; // of a unique index on one field
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no fields of a `{R}`",
    note = "one field: `|p| p.email`; the fields of a unique index on several: `|p| (p.shop, p.number)`"
)]
pub trait KeyFields<R> {
    /// The parts of the key: a document with a unique index of them has it.
    #[doc(hidden)]
    type Parts;
    /// Their stored names.
    #[doc(hidden)]
    fn names(&self) -> Vec<&'static str>;
}

/// Fields to which a value each is given: one path with a value, or a tuple of paths with a tuple of values.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let kate: Option<Person> = people.get_by(|p| p.email, "kate@example.com").await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "the values are not those of the fields",
    label = "one value for one field, or a tuple of as many values as there are fields",
    note = "one field: `get_by(|p| p.email, email)`; several: `get_by(|p| (p.shop, p.number), (shop, number))`",
    note = "a scope: `scoped(Order::paths().tenant, tenant)`"
)]
pub trait KeyValues<R, V> {
    /// The parts of the key: a document with a unique index of them has it.
    #[doc(hidden)]
    type Parts;
    /// The stored names of the fields.
    #[doc(hidden)]
    fn names(&self) -> Vec<&'static str>;
    /// The condition that each field has its value.
    #[doc(hidden)]
    fn equal(self, values: V) -> Filter<R>;
}

#[diagnostic::do_not_recommend]
impl<R, T: ?Sized, P: Step, C> KeyFields<R> for Path<R, T, P, C> {
    type Parts = P::Part;

    fn names(&self) -> Vec<&'static str> {
        vec![P::PATH]
    }
}

impl<R, T, P: Step + Holds<T, As: Whole<T>>, C: Codec<T>, V: Operand<T>> KeyValues<R, V>
    for Path<R, T, P, C>
{
    type Parts = P::Part;

    fn names(&self) -> Vec<&'static str> {
        vec![P::PATH]
    }

    fn equal(self, value: V) -> Filter<R> {
        Filter::of_field::<P>("$eq", encode_bson::<T, C>(P::PATH, value), false)
    }
}

macro_rules! of_several {
    ($($field:ident $value:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<R, $($field: KeyFields<R>),*> KeyFields<R> for ($($field,)*) {
            type Parts = ($($field::Parts,)*);

            #[allow(non_snake_case)]
            fn names(&self) -> Vec<&'static str> {
                let ($($field,)*) = self;
                [$($field.names()),*].concat()
            }
        }

        #[diagnostic::do_not_recommend]
        impl<R, $($field: KeyValues<R, $value>, $value),*> KeyValues<R, ($($value,)*)> for ($($field,)*) {
            type Parts = ($($field::Parts,)*);

            #[allow(non_snake_case)]
            fn names(&self) -> Vec<&'static str> {
                let ($($field,)*) = self;
                [$($field.names()),*].concat()
            }

            #[allow(non_snake_case)]
            fn equal(self, values: ($($value,)*)) -> Filter<R> {
                let (($($field,)*), ($($value,)*)) = (self, values);
                let each = [$($field.equal($value)),*];
                each.into_iter().reduce(|all, one| all & one).unwrap_or_else(Filter::always)
            }
        }
    };
}
of_several!(A V B W);
of_several!(A V B W D X);
of_several!(A V B W D X E Y);

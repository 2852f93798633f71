//! The message for a query that joins twice.

use super::{Children, Include, OnlyChild};
use crate::model::path::Path;
use crate::{Document, Find};

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

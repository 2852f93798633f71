//! The methods that the path of a flattened struct lacks, with the message that says why.

use crate::model::path::{Flattened, StandsAlone};
use crate::query::filter::{Filter, Order};

/// The traits of an own path, for the message that says why a flattened struct does not have them.
macro_rules! not_of_flattened {
    ($($name:ident($($value:ident)?) -> $of:ty = $none:expr;)*) => {
        #[doc(hidden)]
        #[allow(clippy::should_implement_trait)]
        impl<R, T: ?Sized, P> Flattened<R, T, P> {
            $(
                pub fn $name<$($value)?>(self $(, _: $value)?) -> $of
                where
                    T: StandsAlone,
                {
                    $none
                }
            )*
        }
    };
}

not_of_flattened! {
    eq(V) -> Filter<R> = Filter::all();
    ne(V) -> Filter<R> = Filter::all();
    gt(V) -> Filter<R> = Filter::all();
    gte(V) -> Filter<R> = Filter::all();
    lt(V) -> Filter<R> = Filter::all();
    lte(V) -> Filter<R> = Filter::all();
    in_(V) -> Filter<R> = Filter::all();
    not_in(V) -> Filter<R> = Filter::all();
    exists(V) -> Filter<R> = Filter::all();
    asc() -> Order<R> = Order::new("", false);
    desc() -> Order<R> = Order::new("", true);
    name() -> &'static str = "";
    indexed_name() -> &'static str = "";
}

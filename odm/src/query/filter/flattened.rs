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
    eq(V) -> Filter<R> = Filter::always();
    ne(V) -> Filter<R> = Filter::always();
    gt(V) -> Filter<R> = Filter::always();
    gte(V) -> Filter<R> = Filter::always();
    lt(V) -> Filter<R> = Filter::always();
    lte(V) -> Filter<R> = Filter::always();
    in_(V) -> Filter<R> = Filter::always();
    not_in(V) -> Filter<R> = Filter::always();
    exists(V) -> Filter<R> = Filter::always();
    asc() -> Order<R> = Order::new("", false);
    desc() -> Order<R> = Order::new("", true);
    name() -> &'static str = "";
    indexed_name() -> &'static str = "";
}

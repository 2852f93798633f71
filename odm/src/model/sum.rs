//! The numbers that a bucket sums.

use crate::model::value::{StoredLike, Value};

/// A number whose sum a bucket keeps.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number that can be summed",
    label = "no number",
    note = "`sum(field)` adds up fields of the integer types, `f32` and `f64`, and `Option`s of them; of decimals there is `#[computed(sum = …)]`"
)]
pub trait Summable {
    /// The type of the sum.
    type Sum: Value + Copy + std::fmt::Debug + PartialEq;
    /// It is an `f64`.
    const FLOAT: bool;
}

macro_rules! summable {
    ($($ty:ty)* => $sum:ty, $float:literal) => {$(
        #[diagnostic::do_not_recommend]
        impl Summable for $ty {
            type Sum = $sum;
            const FLOAT: bool = $float;
        }
    )*};
}

summable!(i8 u8 i16 u16 i32 u32 i64 u64 isize usize => i64, false);
summable!(f32 f64 => f64, true);

#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Summable>> Summable for T {
    type Sum = <T::Like as Summable>::Sum;
    const FLOAT: bool = <T::Like as Summable>::FLOAT;
}

#[diagnostic::do_not_recommend]
impl<T: Summable> Summable for Option<T> {
    type Sum = T::Sum;
    const FLOAT: bool = T::FLOAT;
}

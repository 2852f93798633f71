//! Expressions: values that the server computes from the fields of a document.

use crate::model::default;
use crate::model::path::{Codec, LeadsToOneValue, Path, Step, StoredByType};
use crate::model::value::StoredLike;
use crate::query::filter::expression::{Expression, sealed::Sealed};
use crate::query::filter::{Comparand, Filter};
use mongodb::bson::{Bson, DateTime, Decimal128, doc};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::time::Duration;

/// A value that the server computes from the fields of a document of type `R`. [`expr`] makes one of a field; `+`, `-`, `*`, `/`,
/// `%` and the methods combine them.
///
/// A number beside it is an `i64`, an `f64` or a `Decimal128`: `expr(p.age) * 2`.
///
/// It stands in a condition, `o.shipped.gt(expr(o.ordered))`, and in an update,
/// [`compute`](crate::update::Change::compute). `K` is the kind of the value: [`Int`], [`Float`], [`Decimal`], [`Date`], [`Text`]
/// or [`Truth`].
///
/// - **`null` and missing fields**: an expression of `null` is `null`. [`or`](Expr::or) gives another value instead.
/// - **Overflow**: whole numbers beyond the range of an `i64` go on as floating-point numbers, so a comparison and a bound take
///   them for what they are.
/// - **Division by zero** is `null`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::expr::expr;
///
/// let older_than_twice = people.find(|p| expr(p.age).gt(expr(p.age) / 2 + 30)).all().await?;
/// # Ok(()) }
/// ```
#[must_use = "an expression does nothing until a filter or an update takes it"]
pub struct Expr<R, K> {
    bson: Bson,
    of: PhantomData<fn() -> (R, K)>,
}

impl<R, K> Clone for Expr<R, K> {
    fn clone(&self) -> Self {
        Expr::of(self.bson.clone())
    }
}

impl<R, K> std::fmt::Debug for Expr<R, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.bson.fmt(f)
    }
}

/// A whole number.
#[derive(Clone, Copy, Debug)]
pub enum Int {}

/// A floating-point number.
#[derive(Clone, Copy, Debug)]
pub enum Float {}

/// A decimal number.
#[derive(Clone, Copy, Debug)]
pub enum Decimal {}

/// A date.
#[derive(Clone, Copy, Debug)]
pub enum Date {}

/// A string.
#[derive(Clone, Copy, Debug)]
pub enum Text {}

/// A `bool`.
#[derive(Clone, Copy, Debug)]
pub enum Truth {}

/// A type of fields that expressions are made of, with the kind of its values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no expressions: they are made of numbers, dates, strings and `bool`s",
    note = "a computation on other types is done in the application, or in MongoDB's own words by `Filter::raw` and `raw`"
)]
pub trait Expressed {
    /// [`Int`], [`Float`], [`Decimal`], [`Date`], [`Text`] or [`Truth`].
    type Kind;
}

macro_rules! expressed {
    ($($kind:ident: $($ty:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl Expressed for $ty {
            type Kind = $kind;
        }
    )*)*};
}

expressed! {
    Int: i8, u8, i16, u16, i32, u32, i64, u64, isize, usize;
    Float: f32, f64;
    Decimal: Decimal128;
    Date: DateTime;
    Text: String, Box<str>;
    Truth: bool;
}

#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Expressed>> Expressed for T {
    type Kind = <T::Like as Expressed>::Kind;
}

#[diagnostic::do_not_recommend]
impl<T: Expressed> Expressed for Option<T> {
    type Kind = T::Kind;
}

/// The value of a field, where it is missing its default.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::expr::expr;
///
/// let p = Person::paths();
/// let filter = p.nickname.eq(expr(p.name));
/// ```
pub fn expr<R: crate::Document, T: Expressed, P: LeadsToOneValue, C: Codec<T> + StoredByType>(
    _field: Path<R, T, P, C>,
) -> Expr<R, T::Kind> {
    Expr::of(default::expression_of(P::WAY, P::PATH))
}

/// A value of the application's, which is never taken for an expression.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::expr::{expr, value};
///
/// let p = Person::paths();
/// let filter = expr(p.age).gte(value(18));
/// ```
pub fn value<R, V: Expressed + Into<Bson>>(value: V) -> Expr<R, V::Kind> {
    Expr::of(literal(value))
}

fn literal(value: impl Into<Bson>) -> Bson {
    doc! { "$literal": value.into() }.into()
}

/// The kind of a product and of a remainder of two kinds of numbers.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` and a `{B}` can't be computed with each other",
    note = "numbers are added, subtracted, multiplied and divided; of two dates the difference is a number of milliseconds, and a `Duration` is added to a date"
)]
pub trait With<B> {
    /// The kind of the result.
    type Out;
}

macro_rules! with {
    ($($a:ident $b:ident => $out:ident;)*) => {$(
        impl With<$b> for $a {
            type Out = $out;
        }
    )*};
}

with! {
    Int Int => Int;
    Int Float => Float;
    Float Int => Float;
    Float Float => Float;
    Int Decimal => Decimal;
    Decimal Int => Decimal;
    Float Decimal => Decimal;
    Decimal Float => Decimal;
    Decimal Decimal => Decimal;
}

/// The kind of a quotient: of whole numbers it is no whole number.
pub trait Quotient {
    /// The kind of the result.
    type Out;
}
impl Quotient for Int {
    type Out = Float;
}
impl Quotient for Float {
    type Out = Float;
}
impl Quotient for Decimal {
    type Out = Decimal;
}

/// A kind of values that are numbers.
#[diagnostic::on_unimplemented(message = "a `{Self}` is not a number")]
pub trait NumberKind {}
impl NumberKind for Int {}
impl NumberKind for Float {}
impl NumberKind for Decimal {}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name<B>(self, other: Expr<R, B>) -> Filter<R>
        where
            K: Comparable<B>,
        {
            compared($operator, self.bson, other.bson)
        }
    )*};
}

impl<R, K> Expr<R, K> {
    fn of(bson: Bson) -> Expr<R, K> {
        Expr {
            bson,
            of: PhantomData,
        }
    }

    pub(crate) fn into_bson(self) -> Bson {
        self.bson
    }

    fn two<K2, Out>(self, operator: &str, other: Expr<R, K2>) -> Expr<R, Out> {
        Expr::of(doc! { operator: [self.bson, other.bson] }.into())
    }

    /// `null` where the divisor is 0.
    fn divided<K2, Out>(self, operator: &str, by: Expr<R, K2>) -> Expr<R, Out> {
        let result = doc! { operator: [self.bson, by.bson.clone()] };
        Expr::of(doc! { "$cond": [{ "$eq": [by.bson, 0] }, Bson::Null, result] }.into())
    }

    fn one<Out>(self, operator: &str) -> Expr<R, Out> {
        Expr::of(doc! { operator: [self.bson] }.into())
    }

    /// This value, or the other one where it is `null` or missing.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// use odm::expr::expr;
    ///
    /// let p = Person::paths();
    /// let filter = expr(p.nickname).or(expr(p.name)).eq(odm::expr::value("Kate".to_owned()));
    /// ```
    pub fn or(self, other: Expr<R, K>) -> Expr<R, K> {
        self.two("$ifNull", other)
    }

    /// The lesser of both. One that is `null` is left out.
    pub fn min(self, other: Expr<R, K>) -> Expr<R, K> {
        self.two("$min", other)
    }

    /// The greater of both. One that is `null` is left out.
    pub fn max(self, other: Expr<R, K>) -> Expr<R, K> {
        self.two("$max", other)
    }

    comparisons! {
        /// Whether both are equal, as a condition. Two that are `null` or missing are.
        ///
        /// A condition that compares expressions uses no index: put one beside it that does.
        eq => "$eq";
        /// Whether they differ, as a condition.
        ne => "$ne";
        /// Whether it is greater, as a condition. It does not hold where one of both is `null` or missing.
        gt => "$gt";
        /// Whether it is greater or equal, as a condition. It does not hold where one of both is `null` or missing.
        gte => "$gte";
        /// Whether it is less, as a condition. It does not hold where one of both is `null` or missing.
        lt => "$lt";
        /// Whether it is less or equal, as a condition. It does not hold where one of both is `null` or missing.
        lte => "$lte";
    }
}

impl<R, K: NumberKind> Expr<R, K> {
    /// Without its sign.
    pub fn abs(self) -> Expr<R, K> {
        self.one("$abs")
    }

    /// The nearest whole number, of two that are as near the even one.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// use odm::expr::expr;
    ///
    /// people.update(kate.id).compute(|p| p.age, |p| (expr(p.age) * 1.5).round()).await?;
    /// # Ok(()) }
    /// ```
    pub fn round(self) -> Expr<R, Int> {
        self.one("$round")
    }

    /// The greatest whole number that is not greater.
    pub fn floor(self) -> Expr<R, Int> {
        self.one("$floor")
    }

    /// The least whole number that is not less.
    pub fn ceil(self) -> Expr<R, Int> {
        self.one("$ceil")
    }

    /// The whole number without what stands behind the point.
    pub fn trunc(self) -> Expr<R, Int> {
        self.one("$trunc")
    }
}

/// Kinds whose values are compared with each other.
#[diagnostic::on_unimplemented(message = "a `{Self}` can't be compared with a `{B}`")]
pub trait Comparable<B> {}
macro_rules! comparable {
    ($($a:ident: $($b:ident)*;)*) => {$($(impl Comparable<$b> for $a {})*)*};
}
comparable! {
    Int: Int Float Decimal;
    Float: Int Float Decimal;
    Decimal: Int Float Decimal;
    Date: Date;
    Text: Text;
    Truth: Truth;
}

/// The condition that compares two expressions. To the server `null` is less than every value, and a missing value less than `null`.
fn compared<R>(operator: &str, left: Bson, right: Bson) -> Filter<R> {
    let greater_than_null = |value: Bson| doc! { "$gt": [value, Bson::Null] };
    let or_null = |value: Bson| doc! { "$ifNull": [value, Bson::Null] };
    let condition = match operator {
        "$eq" | "$ne" => doc! { operator: [or_null(left), or_null(right)] },
        "$lt" | "$lte" => doc! { "$and": [{ operator: [left.clone(), right] }, greater_than_null(left)] },
        _ => doc! { "$and": [{ operator: [left, right.clone()] }, greater_than_null(right)] },
    };
    Filter::raw(doc! { "$expr": condition })
}

macro_rules! arithmetic {
    ($trait:ident $method:ident $kinds:ident $operator:literal: $($number:ty, $kind:ident;)*) => {
        impl<R, A: $kinds<B>, B> $trait<Expr<R, B>> for Expr<R, A> {
            type Output = Expr<R, A::Out>;
            fn $method(self, other: Expr<R, B>) -> Self::Output {
                self.two($operator, other)
            }
        }

        $(
            impl<R, A: $kinds<$kind>> $trait<$number> for Expr<R, A> {
                type Output = Expr<R, A::Out>;
                fn $method(self, other: $number) -> Self::Output {
                    $trait::$method(self, Expr::<R, $kind>::of(literal(other)))
                }
            }
        )*
    };
}
arithmetic!(Mul mul With "$multiply": i64, Int; f64, Float; Decimal128, Decimal;);
arithmetic!(Add add Plus "$add": i64, Int; f64, Float; Decimal128, Decimal;);
arithmetic!(Sub sub Minus "$subtract": i64, Int; f64, Float; Decimal128, Decimal;);

/// The kind of a sum and of a difference, for dates too.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` and a `{B}` can't be added",
    note = "numbers are added, and a `Duration` or a number of milliseconds to a date"
)]
pub trait Plus<B> {
    /// The kind of the result.
    type Out;
}

/// The same of a difference.
#[diagnostic::on_unimplemented(
    message = "a `{B}` can't be subtracted from a `{Self}`",
    note = "numbers are subtracted, and a `Duration` or a number of milliseconds from a date; of two dates the difference is a number of milliseconds"
)]
pub trait Minus<B> {
    /// The kind of the result.
    type Out;
}

// Numbers are added as they are multiplied.
#[diagnostic::do_not_recommend]
impl<A: With<B>, B> Plus<B> for A {
    type Out = A::Out;
}
#[diagnostic::do_not_recommend]
impl<A: With<B>, B> Minus<B> for A {
    type Out = A::Out;
}
impl Plus<Int> for Date {
    type Out = Date;
}
impl Minus<Int> for Date {
    type Out = Date;
}
impl Minus<Date> for Date {
    type Out = Int;
}

/// To a date, in milliseconds: what is less is cut off.
impl<R> Add<Duration> for Expr<R, Date> {
    type Output = Expr<R, Date>;
    fn add(self, other: Duration) -> Self::Output {
        self + milliseconds(other)
    }
}

/// From a date, in milliseconds: what is less is cut off.
impl<R> Sub<Duration> for Expr<R, Date> {
    type Output = Expr<R, Date>;
    fn sub(self, other: Duration) -> Self::Output {
        self - milliseconds(other)
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl<R, A: With<B>, B> Div<Expr<R, B>> for Expr<R, A>
where
    A::Out: Quotient,
{
    type Output = Expr<R, <A::Out as Quotient>::Out>;
    fn div(self, other: Expr<R, B>) -> Self::Output {
        self.divided("$divide", other)
    }
}

impl<R, A: With<B>, B> Rem<Expr<R, B>> for Expr<R, A> {
    type Output = Expr<R, A::Out>;
    fn rem(self, other: Expr<R, B>) -> Self::Output {
        self.divided("$mod", other)
    }
}

macro_rules! divided {
    ($($number:ty, $kind:ident;)*) => {$(
        impl<R, A: With<$kind>> Rem<$number> for Expr<R, A> {
            type Output = Expr<R, A::Out>;
            fn rem(self, other: $number) -> Self::Output {
                self % Expr::<R, $kind>::of(literal(other))
            }
        }

        impl<R, A: With<$kind>> Div<$number> for Expr<R, A>
        where
            A::Out: Quotient,
        {
            type Output = Expr<R, <A::Out as Quotient>::Out>;
            fn div(self, other: $number) -> Self::Output {
                self / Expr::<R, $kind>::of(literal(other))
            }
        }
    )*};
}
divided!(i64, Int; f64, Float; Decimal128, Decimal;);

impl<R, K: NumberKind> Neg for Expr<R, K> {
    type Output = Expr<R, K>;
    fn neg(self) -> Self::Output {
        Expr::of(doc! { "$subtract": [0, self.bson] }.into())
    }
}

impl<R, K> Sealed for Expr<R, K> {}

impl<R, K> Expression<R> for Expr<R, K> {
    fn expression(&self) -> Bson {
        self.bson.clone()
    }

    fn name(&self) -> String {
        "expression".to_owned()
    }
}

#[diagnostic::do_not_recommend]
impl<R, K, T: Expressed<Kind: Comparable<K>>> Comparand<T, R> for Expr<R, K> {
    fn compared_by<P: Step, C: Codec<T>>(self, operator: &'static str) -> Filter<R> {
        const {
            assert!(
                !P::MULTI,
                "a path that leads through an array has several values: it is not compared with an expression"
            );
        }
        compared(operator, default::expression_of(P::WAY, P::PATH), self.bson).in_variant::<P>()
    }
}

/// A type of fields that take a computed value of kind `K`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` can't hold the computed value, which is of kind `{K}`",
    note = "an integer takes whole numbers: make one of another number by `.round()`, `.floor()`, `.ceil()` or `.trunc()`",
    note = "a floating-point number takes `Int` and `Float`, a decimal every number; a date and a `bool` take their own kind; strings are not computed"
)]
pub trait Takes<K>: Expressed {}

macro_rules! takes {
    ($($kind:ident: $($ty:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl Takes<$kind> for $ty {}
    )*)*};
}
takes! {
    Int: i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64, Decimal128;
    Float: f32, f64, Decimal128;
    Decimal: Decimal128;
    Date: DateTime;
    Truth: bool;
}
#[diagnostic::do_not_recommend]
impl<K, T: StoredLike<Like: Takes<K>>> Takes<K> for T {}
#[diagnostic::do_not_recommend]
impl<K, T: Takes<K>> Takes<K> for Option<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    enum Of {}

    fn field<K>(name: &str) -> Expr<Of, K> {
        Expr::of(Bson::String(format!("${name}")))
    }

    #[test]
    fn numbers_are_computed_by_the_operators_of_the_server() {
        let price = || field::<Int>("price");
        let total: Expr<Of, Float> = (price() * 2 + 1) * 1.5;
        let sum =
            doc! { "$add": [{ "$multiply": ["$price", { "$literal": 2_i64 }] }, { "$literal": 1_i64 }] };
        assert_eq!(
            total.into_bson(),
            doc! { "$multiply": [sum, { "$literal": 1.5 }] }.into()
        );
        let half: Expr<Of, Int> = (price() / 2).floor();
        let two = doc! { "$literal": 2_i64 };
        assert_eq!(
            half.into_bson(),
            doc! { "$floor": [{ "$cond": [{ "$eq": [&two, 0] }, Bson::Null, { "$divide": ["$price", &two] }] }] }.into()
        );
        assert_eq!((-price()).into_bson(), doc! { "$subtract": [0, "$price"] }.into());
    }

    #[test]
    fn of_dates_the_difference_is_a_number_and_a_duration_is_added() {
        let (from, to) = (|| field::<Date>("from"), || field::<Date>("to"));
        let took: Expr<Of, Int> = to() - from();
        assert_eq!(took.into_bson(), doc! { "$subtract": ["$to", "$from"] }.into());
        let late: Expr<Of, Date> = from() + Duration::from_secs(2);
        assert_eq!(
            late.into_bson(),
            doc! { "$add": ["$from", { "$literal": 2_000_i64 }] }.into()
        );
    }

    #[test]
    fn an_order_holds_only_between_values_that_are_there() {
        let (a, b) = (|| field::<Int>("a"), || field::<Int>("b"));
        assert_eq!(
            a().lt(b()).into_document().ok(),
            Some(doc! { "$expr": { "$and": [{ "$lt": ["$a", "$b"] }, { "$gt": ["$a", Bson::Null] }] } })
        );
        assert_eq!(
            a().gte(b()).into_document().ok(),
            Some(doc! { "$expr": { "$and": [{ "$gte": ["$a", "$b"] }, { "$gt": ["$b", Bson::Null] }] } })
        );
        let or_null = |name: &str| doc! { "$ifNull": [name, Bson::Null] };
        assert_eq!(
            a().eq(b()).into_document().ok(),
            Some(doc! { "$expr": { "$eq": [or_null("$a"), or_null("$b")] } })
        );
    }

    #[test]
    fn a_value_of_the_application_is_no_expression() {
        let filter = field::<Text>("name").eq(value("$secret".to_owned()));
        let literal = doc! { "$ifNull": [{ "$literal": "$secret" }, Bson::Null] };
        let name = doc! { "$ifNull": ["$name", Bson::Null] };
        assert_eq!(
            filter.into_document().ok(),
            Some(doc! { "$expr": { "$eq": [name, literal] } })
        );
    }
}

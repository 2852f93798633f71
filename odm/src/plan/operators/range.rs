//! The bounds that a sum or a product keeps: those that a field declares and the range of its integer type. Which stored
//! numbers pass them is worked out here, so that a guard is one comparison.

use crate::model::compare::{ExactDecimal, approximate, bson, compare_numbers, number, order_of};
use crate::model::shape;
use crate::model::shape::{Bounds, FieldMeta, MOST_WRAPPERS, Number, Shape};
use crate::{Error, Rule, Violation};
use mongodb::bson::{Bson, Decimal128, Document, doc};
use std::cmp::Ordering;

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RangeEnd {
    number: Number,
    /// Whether it is the end of the integer type: nothing tighter is declared.
    of_type: bool,
}

/// The numbers that a field may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NumberRange {
    min: Option<RangeEnd>,
    max: Option<RangeEnd>,
    /// The range of the integer type.
    of_type: Option<(i64, i64)>,
}

impl NumberRange {
    /// Of a field's own value.
    pub(crate) fn for_field(field: &FieldMeta) -> NumberRange {
        NumberRange::find(field, true)
    }

    /// Of the items of an array, whose field's bounds are theirs.
    pub(crate) fn of_items(array: &FieldMeta) -> NumberRange {
        NumberRange::find(array, false)
    }

    fn find(field: &FieldMeta, is_value: bool) -> NumberRange {
        let mut range = NumberRange::default();
        let (mut shape, mut is_value) = (shape::of_field(field), is_value);
        range.declare(&field.bounds);
        for _ in 0..MOST_WRAPPERS {
            match shape {
                Shape::Optional(inner) => shape = inner(),
                Shape::Bounded(inner) => {
                    range.declare(&inner.bounds);
                    shape = shape::of_field(inner);
                }
                Shape::Array(items) if !is_value => (shape, is_value) = (items(), true),
                Shape::Int { min, max } if is_value => range.of_type = Some((min.into(), max.into())),
                Shape::Long { min, max } if is_value => range.of_type = Some((min, max)),
                _ => break,
            }
            if range.of_type.is_some() {
                break;
            }
        }
        if let Some((min, max)) = range.of_type {
            range.tighten(Some(Number::Int(min)), Some(Number::Int(max)), true);
        }
        range
    }

    fn declare(&mut self, bounds: &Bounds) {
        self.tighten(bounds.min, bounds.max, false);
    }

    fn tighten(&mut self, min: Option<Number>, max: Option<Number>, of_type: bool) {
        let tighter = |end: &mut Option<RangeEnd>, number: Option<Number>, order: Ordering| {
            let Some(number) = number else { return };
            if end.is_none_or(|end| compare_numbers(number, end.number) == Some(order)) {
                *end = Some(RangeEnd { number, of_type });
            }
        };
        tighter(&mut self.min, min, Ordering::Greater);
        tighter(&mut self.max, max, Ordering::Less);
    }

    /// The least and the greatest number.
    pub(crate) fn ends(&self) -> (Option<Number>, Option<Number>) {
        (self.min.map(|end| end.number), self.max.map(|end| end.number))
    }

    /// Whether it is that of the integer type alone.
    pub(crate) fn is_of_type(&self) -> bool {
        [self.min, self.max].into_iter().flatten().all(|end| end.of_type)
    }

    /// The bound that this number breaks.
    fn broken(&self, number: &Bson) -> Option<Rule> {
        let beyond = |end: Number, order| order_of(number, &bson(end)) == Some(order);
        let max = self.max.filter(|max| beyond(max.number, Ordering::Greater));
        let min = || self.min.filter(|min| beyond(min.number, Ordering::Less));
        max.map(|max| Rule::Max(max.number))
            .or_else(|| min().map(|min| Rule::Min(min.number)))
    }

    fn any(&self) -> Option<Rule> {
        let max = self.max.map(|max| Rule::Max(max.number));
        max.or(self.min.map(|min| Rule::Min(min.number)))
    }

    /// The limit of a number to which `by` is added.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no stored number can take it.
    pub(crate) fn of_sum(&self, name: &str, by: &Bson, default: Option<&Bson>) -> Result<Limits, Error> {
        let mut limits = Limits::default();
        let Some(sign) = sign(by) else {
            return match (is_number(by), self.any()) {
                (true, Some(rule)) => Err(invalid(name, rule, by)),
                _ => Ok(limits),
            };
        };
        let (end, above) = match sign {
            Ordering::Greater => (self.max, true),
            Ordering::Less => (self.min, false),
            Ordering::Equal => (None, true),
        };
        if let Some(RangeEnd { number, of_type }) = end {
            let last = minus(number, by);
            let mut limit = Limit {
                above,
                rule: if above {
                    Rule::Max(number)
                } else {
                    Rule::Min(number)
                },
                last,
                of_type,
                missing: false,
            };
            limit.missing = limit.is_passed_by(default.unwrap_or(&Bson::Int32(0)));
            limits.all.push(limit);
        }
        // A default is within the bounds, and only leaves them in the direction of the sum.
        if default.is_some() {
            return Ok(limits);
        }
        // A sum of a missing field is what is added, which may lie before the other bound.
        let ahead = |rule: &Rule| end.is_some() && matches!(rule, Rule::Max(_)) == above;
        limits.missing = self.broken(by).filter(|rule| !ahead(rule));
        Ok(limits)
    }

    /// The limit of a number that is multiplied by `by`.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no stored number can take it.
    pub(crate) fn of_product(&self, name: &str, by: &Bson, default: Option<&Bson>) -> Result<Limits, Error> {
        let mut limits = Limits::default();
        let zero = Bson::Int32(0);
        match (number(by), sign(by)) {
            // A product of decimals is left to the server's validator.
            (None, _) => return Ok(limits),
            (Some(_), None) => {
                return match self.any() {
                    Some(rule) => Err(invalid(name, rule, by)),
                    None => Ok(limits),
                };
            }
            (Some(_), Some(Ordering::Equal)) => {
                return match self.broken(&zero) {
                    Some(rule) => Err(invalid(name, rule, &zero)),
                    None => Ok(limits),
                };
            }
            // It stays what it is.
            (Some(factor), _) if factor.value() == 1.0 => {}
            (Some(factor), Some(sign)) => {
                for (end, is_max) in [(self.max, true), (self.min, false)] {
                    let Some(end) = end else { continue };
                    // By a negative number the least one gives the greatest product.
                    let above = is_max == (sign == Ordering::Greater);
                    let last = match self.of_type {
                        Some(of_type) => match quotient(end.number, is_max, factor, above) {
                            Some(last) if is_reached(last, of_type, above) => Bson::Int64(last),
                            _ => continue,
                        },
                        None => {
                            Bson::Double(float_quotient(end.number.value(), is_max, factor.value(), above))
                        }
                    };
                    let mut limit = Limit {
                        above,
                        rule: if is_max {
                            Rule::Max(end.number)
                        } else {
                            Rule::Min(end.number)
                        },
                        last: Some(last),
                        of_type: end.of_type,
                        missing: false,
                    };
                    limit.missing = default.is_some_and(|default| limit.is_passed_by(default));
                    limits.all.push(limit);
                }
            }
        }
        // A product of a missing field is 0.
        limits.missing = self.broken(&zero).filter(|_| default.is_none());
        Ok(limits)
    }
}

/// The limit of a stored number, so that the result keeps the bounds of its field.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) all: Vec<Limit>,
    /// The other bound, which what is made of a missing number breaks.
    pub(crate) missing: Option<Rule>,
}

/// The greatest or least stored number whose result keeps a bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    /// Whether numbers above the last one pass the bound; or those below it.
    above: bool,
    /// The last number that keeps it; `None` where none does.
    last: Option<Bson>,
    /// The bound.
    rule: Rule,
    /// Whether the bound is the range of an integer type, and not declared.
    of_type: bool,
    /// Whether what is made of a missing number passes it.
    missing: bool,
}

impl Limit {
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    pub(crate) fn is_of_type(&self) -> bool {
        self.of_type
    }

    /// The condition on a stored number that may be missing.
    pub(crate) fn condition(&self) -> Document {
        if self.missing {
            doc! { "$exists": true, "$not": self.beyond() }
        } else {
            doc! { "$not": self.beyond() }
        }
    }

    /// The numbers that pass the bound.
    pub(crate) fn beyond(&self) -> Document {
        match &self.last {
            Some(last) if self.above => doc! { "$gt": last },
            Some(last) => doc! { "$lt": last },
            // No number that the field can hold keeps the bound.
            None => doc! { "$type": "number" },
        }
    }

    /// The numbers in items that pass the bound: those that are missing too, where that is so of nothing.
    pub(crate) fn beyond_in_item(&self) -> Document {
        match (&self.last, self.missing) {
            (_, false) => self.beyond(),
            (Some(last), true) if self.above => doc! { "$not": { "$lte": last } },
            (Some(last), true) => doc! { "$not": { "$gte": last } },
            (None, true) => doc! { "$not": { "$in": [] } },
        }
    }

    /// Whether the stored value holds the change back: by the comparison that the condition makes, so that what it refuses
    /// has its reason here.
    pub(crate) fn refuses(&self, stored: Option<&Bson>) -> bool {
        match stored {
            None => self.missing,
            Some(stored) => is_number(stored) && self.is_passed_by(stored),
        }
    }

    fn is_passed_by(&self, stored: &Bson) -> bool {
        let Some(last) = &self.last else { return true };
        match order_of(stored, last) {
            Some(Ordering::Greater) => self.above,
            Some(Ordering::Less) => !self.above,
            _ => false,
        }
    }
}

fn invalid(name: &str, rule: Rule, value: &Bson) -> Error {
    Error::Invalid {
        // The collection's name is filled in where the update is executed.
        collection: String::new(),
        violations: vec![Violation::new(name, rule, Some(value.clone()))],
        source: None,
    }
}

/// The number with the other sign; `None` where its type has none.
pub(crate) fn negated(value: Bson) -> Option<Bson> {
    Some(match value {
        Bson::Int32(n) => Bson::Int32(n.checked_neg()?),
        Bson::Int64(n) => Bson::Int64(n.checked_neg()?),
        Bson::Double(n) => Bson::Double(-n),
        Bson::Decimal128(n) => {
            let mut bytes = n.bytes();
            // The sign stands in the first bit of the last byte.
            bytes[15] ^= 0x80;
            Bson::Decimal128(Decimal128::from_bytes(bytes))
        }
        _ => return None,
    })
}

fn is_number(value: &Bson) -> bool {
    matches!(
        value,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_)
    )
}

/// Whether it is less than zero, zero or more; `None` for NaN and for what is no number.
fn sign(value: &Bson) -> Option<Ordering> {
    order_of(value, &Bson::Int32(0))
}

/// The last number to which `by` can be added without passing this bound; `None` where no number is.
fn minus(bound: Number, by: &Bson) -> Option<Bson> {
    let float = |by: f64| Bson::Double(float_difference(bound.value(), by));
    match (bound, number(by)) {
        (Number::Int(bound), Some(Number::Int(by))) => bound.checked_sub(by).map(Bson::Int64),
        (_, Some(by)) => Some(float(by.value())),
        (_, None) => {
            let exact = match (ExactDecimal::of(&bson(bound)), ExactDecimal::of(by)) {
                (Some(bound), Some(by)) => bound.minus(by).and_then(ExactDecimal::bson),
                _ => None,
            };
            exact.or_else(|| approximate(by).map(float))
        }
    }
}

/// The last double to which `by` can be added without passing the bound.
fn float_difference(bound: f64, by: f64) -> f64 {
    let kept = |n: f64| {
        if by > 0.0 {
            n + by <= bound
        } else {
            n + by >= bound
        }
    };
    // The difference is rounded, and so is the sum.
    last_kept(bound - by, by > 0.0, kept)
}

/// The last double whose product with `by` keeps the bound.
fn float_quotient(bound: f64, is_max: bool, by: f64, above: bool) -> f64 {
    let kept = |n: f64| if is_max { n * by <= bound } else { n * by >= bound };
    last_kept(bound / by, above, kept)
}

/// The last number that is kept lies beside this one, which is rounded: numbers above it are not kept, or those below it.
fn last_kept(near: f64, above: bool, kept: impl Fn(f64) -> bool) -> f64 {
    let beside = |n: f64, forth: bool| {
        if above == forth {
            n.next_up()
        } else {
            n.next_down()
        }
    };
    let mut last = near;
    for _ in 0..4 {
        if kept(beside(last, true)) {
            last = beside(last, true);
        } else if !kept(last) {
            last = beside(last, false);
        }
    }
    last
}

/// The last integer whose product with `by` keeps the bound: rounded away from what passes it. `None` where every 64-bit
/// integer keeps it.
fn quotient(bound: Number, is_max: bool, by: Number, above: bool) -> Option<i64> {
    let bound = match bound {
        Number::Int(n) => n,
        // Of integers the last one within it.
        Number::Float(n) => (if is_max { n.floor() } else { n.ceil() }) as i64,
    };
    let by = match by {
        Number::Int(by) => by,
        Number::Float(by) => {
            let last = float_quotient(bound as f64, is_max, by, above);
            return Some((if above { last.floor() } else { last.ceil() }) as i64);
        }
    };
    let (bound, by) = (i128::from(bound), i128::from(by));
    let floor = bound.div_euclid(by);
    let floor = if by < 0 && bound.rem_euclid(by) != 0 {
        floor - 1
    } else {
        floor
    };
    let is_whole = bound % by == 0;
    i64::try_from(if above || is_whole { floor } else { floor + 1 }).ok()
}

/// Whether the type has numbers beyond the last one.
fn is_reached(last: i64, (min, max): (i64, i64), above: bool) -> bool {
    if above { last < max } else { last > min }
}

#[cfg(test)]
mod tests {
    use crate::plan::operators::range::*;

    fn field(shape: shape::ShapeFn, min: Option<Number>, max: Option<Number>) -> FieldMeta {
        FieldMeta {
            shape,
            bounds: Bounds {
                min,
                max,
                ..Bounds::NONE
            },
            ..crate::expansion_fixture::FIELD
        }
    }

    const SMALL: shape::ShapeFn = || Shape::Optional(|| Shape::Int { min: -128, max: 127 });
    const LONG: shape::ShapeFn = || Shape::Long {
        min: i64::MIN,
        max: i64::MAX,
    };

    fn products(range: &NumberRange, by: i64) -> Vec<(Document, Rule)> {
        let limits = range
            .of_product("n", &Bson::Int64(by), None)
            .expect("can be multiplied");
        let all = limits.all.iter();
        all.map(|limit| (limit.beyond(), limit.rule.clone())).collect()
    }

    #[test]
    fn the_tighter_of_the_declared_and_the_type_holds() {
        let int = |n, of_type| {
            Some(RangeEnd {
                number: Number::Int(n),
                of_type,
            })
        };
        let range = NumberRange::for_field(&field(SMALL, Some(Number::Int(0)), Some(Number::Int(1000))));
        assert_eq!((range.min, range.max), (int(0, false), int(127, true)));
        let newtype: shape::ShapeFn = || {
            const INNER: &FieldMeta = &FieldMeta {
                shape: SMALL,
                bounds: Bounds {
                    max: Some(Number::Int(9)),
                    ..Bounds::NONE
                },
                ..crate::expansion_fixture::FIELD
            };
            Shape::Bounded(INNER)
        };
        let range = NumberRange::for_field(&field(newtype, None, Some(Number::Int(20))));
        assert_eq!((range.min, range.max), (int(-128, true), int(9, false)));
        let items: shape::ShapeFn = || Shape::Array(|| Shape::Int { min: 0, max: 255 });
        let range = NumberRange::of_items(&field(items, None, Some(Number::Int(7))));
        assert_eq!((range.min, range.max), (int(0, true), int(7, false)));
        assert_eq!(
            NumberRange::for_field(&field(items, None, None)),
            NumberRange::default()
        );
        assert_eq!(
            NumberRange::for_field(&field(|| Shape::Double, None, None)),
            NumberRange::default()
        );
    }

    /// Against each number of the type.
    #[test]
    fn a_product_is_refused_exactly_where_it_leaves_the_range() {
        for (min, max) in [
            (None, None),
            (Some(-100), Some(77)),
            (Some(3), Some(90)),
            (Some(-90), Some(-3)),
        ] {
            let range = NumberRange::for_field(&field(SMALL, min.map(Number::Int), max.map(Number::Int)));
            let kept = |n: i64| (min.unwrap_or(-128)..=max.unwrap_or(127)).contains(&n);
            for by in (-130..=130).filter(|by| *by != 0) {
                let limits = range
                    .of_product("n", &Bson::Int32(by), None)
                    .expect("can be multiplied");
                for n in -128..=127 {
                    let refused = limits
                        .all
                        .iter()
                        .any(|limit| limit.refuses(Some(&Bson::Int32(n))));
                    assert_eq!(
                        refused,
                        by != 1 && !kept(i64::from(n) * i64::from(by)),
                        "{n} * {by}, {min:?}..{max:?}"
                    );
                }
            }
            assert_eq!(range.of_product("n", &Bson::Int32(0), None).is_ok(), kept(0));
        }
    }

    #[test]
    fn a_product_of_large_integers_is_exact() {
        let range = NumberRange::for_field(&field(LONG, None, None));
        assert_eq!(products(&range, 1), []);
        let (max, min) = (Rule::Max(Number::Int(i64::MAX)), Rule::Min(Number::Int(i64::MIN)));
        assert_eq!(
            products(&range, 2),
            [
                (doc! { "$gt": i64::MAX / 2 }, max.clone()),
                (doc! { "$lt": i64::MIN / 2 }, min.clone()),
            ]
        );
        assert_eq!(products(&range, -1), [(doc! { "$lt": -i64::MAX }, max.clone())]);
        assert_eq!(
            products(&range, i64::MIN),
            [(doc! { "$lt": 0_i64 }, max), (doc! { "$gt": 1_i64 }, min)]
        );
    }

    #[test]
    fn a_product_of_doubles_may_reach_its_bound() {
        let range = NumberRange::for_field(&field(
            || Shape::Double,
            Some(Number::Float(-0.3)),
            Some(Number::Int(1)),
        ));
        for by in [0.1, 3.0, -7.0, 1e-300, -0.7] {
            let limits = range
                .of_product("n", &Bson::Double(by), None)
                .expect("can be multiplied");
            assert_eq!(limits.all.len(), 2);
            for limit in &limits.all {
                let Some(Bson::Double(last)) = limit.last else {
                    panic!("{limit:?}")
                };
                let past = if limit.above {
                    last.next_up()
                } else {
                    last.next_down()
                };
                let keeps = |n: f64| (-0.3..=1.0).contains(&(n * by));
                assert!(keeps(last) && !keeps(past), "{last} * {by}");
            }
        }
        for by in [f64::NAN, 0.0] {
            assert_eq!(range.of_product("n", &Bson::Double(by), None).is_ok(), by == 0.0);
        }
    }

    #[test]
    fn a_sum_of_decimals_is_exact() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().expect("a decimal"));
        let range = NumberRange::for_field(&field(
            || Shape::Decimal,
            Some(Number::Int(0)),
            Some(Number::Float(0.3)),
        ));
        let limit = |by: &str| {
            let mut limits = range.of_sum("n", &decimal(by), None).expect("can be added");
            limits.all.pop().expect("has a limit")
        };
        assert_eq!(limit("-0.10").beyond(), doc! { "$lt": decimal("0.10") });
        assert_eq!(limit("0.1").beyond(), doc! { "$gt": decimal("0.2") });
        for (by, stored, refused) in [
            ("-0.10", decimal("0.1"), false),
            ("-0.10", decimal("0.0999999999999999999999999"), true),
            ("-1", Bson::Int32(1), false),
            ("-1.000000000000000000000000000000001", Bson::Int32(1), true),
            ("0.1", decimal("0.2"), false),
            ("0.1", decimal("2.0000000000000000000001E-1"), true),
            ("1E+30", decimal("0"), true),
        ] {
            assert_eq!(limit(by).refuses(Some(&stored)), refused, "{stored} + {by}");
        }
        assert!(range.of_sum("n", &decimal("NaN"), None).is_err());
        assert_eq!(negated(decimal("0.10")), Some(decimal("-0.10")));
        assert_eq!(negated(Bson::Int32(i32::MIN)), None);
    }
}

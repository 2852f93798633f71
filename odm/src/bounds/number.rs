//! Numbers of different BSON types, compared exactly.

use crate::model::compare::compare_numbers;
use crate::model::shape::{Bounds, Number};
use mongodb::bson::RawBsonRef;
use std::cmp::Ordering;

/// The number that a value is; `None` where it is none. A decimal that is not a 64-bit integer is taken as the nearest
/// double.
pub(super) fn of(value: RawBsonRef<'_>) -> Option<Number> {
    match value {
        RawBsonRef::Int32(n) => Some(Number::Int(n.into())),
        RawBsonRef::Int64(n) => Some(Number::Int(n)),
        RawBsonRef::Double(n) => Some(Number::Float(n)),
        RawBsonRef::Decimal128(n) => {
            let text = n.to_string();
            let int = text.parse().map(Number::Int);
            Some(int.unwrap_or_else(|_| Number::Float(text.parse().unwrap_or(f64::NAN))))
        }
        _ => None,
    }
}

/// Whether `a` is not below `b`: never true of NaN.
pub(super) fn at_least(a: Number, b: Number) -> bool {
    matches!(compare_numbers(a, b), Some(Ordering::Greater | Ordering::Equal))
}

/// The integers of a type that are within declared bounds too; `None` where a bound is too large to be one.
pub(super) fn within((least, greatest): (i64, i64), bounds: &Bounds) -> Option<(i64, i64)> {
    let int = |bound: Number, whole: fn(f64) -> f64| match bound {
        Number::Int(n) => Some(n),
        // Doubles of this size are exact.
        Number::Float(n) => (n.abs() < 9.0e15).then(|| whole(n) as i64),
    };
    Some((
        bounds
            .min
            .map_or(Some(least), |min| int(min, f64::ceil))?
            .max(least),
        bounds
            .max
            .map_or(Some(greatest), |max| int(max, f64::floor))?
            .min(greatest),
    ))
}

// A conversion to a double would lose the last digits of a large integer.

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn integers_and_doubles_compare_exactly() {
        for (a, b, expected) in [
            (Number::Int(1), Number::Float(1.5), Some(Ordering::Less)),
            (Number::Int(-1), Number::Float(-1.5), Some(Ordering::Greater)),
            (Number::Int(2), Number::Float(2.0), Some(Ordering::Equal)),
            (
                Number::Int(9_007_199_254_740_993),
                Number::Float(9_007_199_254_740_992.0),
                Some(Ordering::Greater),
            ),
            (
                Number::Int(i64::MAX),
                Number::Float(i64::MAX as f64),
                Some(Ordering::Less),
            ),
            (
                Number::Int(i64::MIN),
                Number::Float(i64::MIN as f64),
                Some(Ordering::Equal),
            ),
            (
                Number::Int(0),
                Number::Float(f64::NEG_INFINITY),
                Some(Ordering::Greater),
            ),
            (Number::Int(0), Number::Float(f64::NAN), None),
        ] {
            assert_eq!(compare_numbers(a, b), expected, "{a} {b}");
            assert_eq!(compare_numbers(b, a), expected.map(Ordering::reverse), "{b} {a}");
        }
    }

    #[test]
    fn bounds_of_integers_are_integers() {
        let within_type = |min, max| {
            let bounds = Bounds {
                min,
                max,
                ..Bounds::NONE
            };
            within((-128, 127), &bounds)
        };
        let float = |n| Some(Number::Float(n));
        assert_eq!(within_type(None, None), Some((-128, 127)));
        assert_eq!(
            within_type(Some(Number::Int(0)), Some(Number::Int(500))),
            Some((0, 127))
        );
        assert_eq!(within_type(float(-0.5), float(9.5)), Some((0, 9)));
        assert_eq!(within_type(float(-9.5), float(-0.5)), Some((-9, -1)));
        assert_eq!(within_type(float(1e300), None), None);
        assert_eq!(within_type(None, float(f64::NAN)), None);
    }

    #[test]
    fn decimals_are_numbers_too() {
        for (text, expected) in [
            ("12", 12.0),
            ("-0.5", -0.5),
            ("1E+3", 1000.0),
            ("Infinity", f64::INFINITY),
        ] {
            let decimal = text.parse().expect("a decimal");
            let number = of(RawBsonRef::Decimal128(decimal)).expect("a number");
            assert_eq!(
                compare_numbers(number, Number::Float(expected)),
                Some(Ordering::Equal),
                "{text}"
            );
        }
        let nan = of(RawBsonRef::Decimal128("NaN".parse().expect("a decimal"))).expect("a number");
        assert!(!at_least(nan, Number::Int(0)));
    }
}

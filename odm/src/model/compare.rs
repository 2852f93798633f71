//! How the server compares values: which are the same to it, and in which order they are.

use crate::model::shape::{Body, Number, Shape, Tagging};
use mongodb::bson::{self, Bson, Document};
use std::cmp::Ordering;

/// Whether two values are the same to the server; of documents whatever the order of their fields.
pub(crate) fn same(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Bson::Double(a), Bson::Double(b)) if a.is_nan() => b.is_nan(),
        (a, b) => a == b || compare(a, b) == Some(Ordering::Equal),
    }
}

/// The order of two values of one kind; `None` where the server compares them by their kinds, or not at all.
pub(crate) fn compare(a: &Bson, b: &Bson) -> Option<Ordering> {
    match (a, b) {
        (Bson::Null, Bson::Null) => Some(Ordering::Equal),
        (Bson::String(a), Bson::String(b)) => Some(a.cmp(b)),
        (Bson::Boolean(a), Bson::Boolean(b)) => Some(a.cmp(b)),
        (Bson::DateTime(a), Bson::DateTime(b)) => Some(a.cmp(b)),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => Some(a.cmp(b)),
        (Bson::Timestamp(a), Bson::Timestamp(b)) => Some((a.time, a.increment).cmp(&(b.time, b.increment))),
        (Bson::Binary(a), Bson::Binary(b)) => {
            let key = |value: &mongodb::bson::Binary| (value.bytes.len(), u8::from(value.subtype));
            Some(key(a).cmp(&key(b)).then_with(|| a.bytes.cmp(&b.bytes)))
        }
        (a, b) => order_of(a, b),
    }
}

/// The order of two numbers; `None` where one is NaN or no number.
pub(crate) fn order_of(a: &Bson, b: &Bson) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return compare_numbers(a, b);
    }
    match (ExactDecimal::of(a), ExactDecimal::of(b)) {
        (Some(a), Some(b)) => a.minus(b).map(|difference| difference.digits.cmp(&0)),
        _ => None,
    }
    .or_else(|| approximate(a)?.partial_cmp(&approximate(b)?))
}

/// The order of two numbers, exactly; `None` where one of them is NaN.
pub(crate) fn compare_numbers(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Int(a), Number::Float(b)) => integer_and_double(a, b),
        (Number::Float(a), Number::Int(b)) => integer_and_double(b, a).map(Ordering::reverse),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
    }
}

/// The order of an integer and a double, exactly: the nearest double of a great integer may be another number.
fn integer_and_double(a: i64, b: f64) -> Option<Ordering> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if b.is_nan() {
        return None;
    }
    Some(if b >= TWO_TO_63 {
        Ordering::Less
    } else if b < -TWO_TO_63 {
        Ordering::Greater
    } else {
        let (whole, rest) = (b.trunc() as i64, b.fract());
        a.cmp(&whole).then(if rest > 0.0 {
            Ordering::Less
        } else if rest < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        })
    })
}

/// The nearest double of a number.
pub(crate) fn approximate(value: &Bson) -> Option<f64> {
    match value {
        Bson::Decimal128(n) => n.to_string().parse().ok(),
        value => number(value).map(Number::value),
    }
}

/// The number, unless it is a decimal.
pub(crate) fn number(value: &Bson) -> Option<Number> {
    match value {
        Bson::Int32(n) => Some(Number::Int((*n).into())),
        Bson::Int64(n) => Some(Number::Int(*n)),
        Bson::Double(n) => Some(Number::Float(*n)),
        _ => None,
    }
}

/// A bound as BSON.
pub(crate) fn bson(number: Number) -> Bson {
    match number {
        Number::Int(n) => Bson::Int64(n),
        Number::Float(n) => Bson::Double(n),
    }
}

/// A decimal number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy)]
pub(crate) struct ExactDecimal {
    digits: i128,
    exponent: i32,
}

impl ExactDecimal {
    /// `None` for NaN, an infinite number and one of too many digits.
    pub(crate) fn of(value: &Bson) -> Option<ExactDecimal> {
        let text = match value {
            Bson::Int32(n) => n.to_string(),
            Bson::Int64(n) => n.to_string(),
            Bson::Double(n) => n.to_string(),
            Bson::Decimal128(n) => n.to_string(),
            _ => return None,
        };
        let (number, exponent) = match text.split_once(['E', 'e']) {
            Some((number, exponent)) => (number, exponent.parse().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        Some(ExactDecimal {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: i32::checked_sub(exponent, i32::try_from(fraction.len()).ok()?)?,
        })
    }

    /// `None` where the difference has too many digits.
    pub(crate) fn minus(self, other: ExactDecimal) -> Option<ExactDecimal> {
        let exponent = match (self.digits, other.digits) {
            (_, 0) => self.exponent,
            (0, _) => other.exponent,
            _ => self.exponent.min(other.exponent),
        };
        let at = |decimal: ExactDecimal| match decimal.digits {
            0 => Some(0),
            digits => {
                let places = decimal.exponent.checked_sub(exponent)?;
                digits.checked_mul(10_i128.checked_pow(u32::try_from(places).ok()?)?)
            }
        };
        Some(ExactDecimal {
            digits: at(self)?.checked_sub(at(other)?)?,
            exponent,
        })
    }

    /// `None` where a decimal can't hold it exactly.
    pub(crate) fn bson(self) -> Option<Bson> {
        let text = format!("{}E{}", self.digits, self.exponent);
        text.parse().ok().map(Bson::Decimal128)
    }
}

/// The least value of a type, below which nothing is that a reference could hold.
pub(crate) fn least(mut shape: Shape) -> Option<Bson> {
    for _ in 0..32 {
        return Some(match shape {
            Shape::Optional(inner) => {
                shape = inner();
                continue;
            }
            Shape::Bounded(field) => {
                shape = (field.shape)();
                continue;
            }
            Shape::Bool => Bson::Boolean(false),
            Shape::Int { .. } | Shape::Long { .. } | Shape::Double | Shape::Decimal => {
                Bson::Double(f64::NEG_INFINITY)
            }
            Shape::String | Shape::Char => Bson::String(String::new()),
            Shape::ObjectId => Bson::ObjectId(bson::oid::ObjectId::from_bytes([0; 12])),
            Shape::Date => Bson::DateTime(bson::DateTime::MIN),
            Shape::Timestamp => Bson::Timestamp(bson::Timestamp {
                time: 0,
                increment: 0,
            }),
            Shape::Struct(_) => Bson::Document(Document::new()),
            // By length first.
            Shape::Binary | Shape::Uuid => Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::Generic,
                bytes: Vec::new(),
            }),
            Shape::Enum(of)
                if of.tagging == Tagging::External
                    && of.variants.iter().all(|one| matches!(one.body, Body::Unit)) =>
            {
                Bson::String(String::new())
            }
            _ => return None,
        });
    }
    None
}

//! The order of BSON values, as the server sorts and compares them without a collation, and the hash of a hashed shard key.

use bson::{Bson, Document};
use std::cmp::Ordering;

/// The place of a type in the order: values of different types are compared by it.
pub(crate) fn rank(value: &Bson) -> u8 {
    match value {
        Bson::MinKey => 0,
        Bson::Undefined => 1,
        Bson::Null => 5,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 10,
        Bson::String(_) | Bson::Symbol(_) => 15,
        Bson::Document(_) => 20,
        Bson::Array(_) => 25,
        Bson::Binary(_) => 30,
        Bson::ObjectId(_) => 35,
        Bson::Boolean(_) => 40,
        Bson::DateTime(_) => 45,
        Bson::Timestamp(_) => 47,
        Bson::RegularExpression(_) => 50,
        Bson::DbPointer(_) => 55,
        Bson::JavaScriptCode(_) => 60,
        Bson::JavaScriptCodeWithScope(_) => 65,
        Bson::MaxKey => 127,
    }
}

/// Compares two values.
pub(crate) fn compare(a: &Bson, b: &Bson) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_), _) => numbers(a, b),
        (Bson::String(a) | Bson::Symbol(a), Bson::String(b) | Bson::Symbol(b)) => {
            a.as_bytes().cmp(b.as_bytes())
        }
        (Bson::Document(a), Bson::Document(b)) => fields(a, b),
        (Bson::Array(a), Bson::Array(b)) => lists(a, b),
        (Bson::Binary(a), Bson::Binary(b)) => (a.bytes.len().cmp(&b.bytes.len()))
            .then(u8::from(a.subtype).cmp(&u8::from(b.subtype)))
            .then_with(|| a.bytes.cmp(&b.bytes)),
        (Bson::ObjectId(a), Bson::ObjectId(b)) => a.bytes().cmp(&b.bytes()),
        (Bson::Boolean(a), Bson::Boolean(b)) => a.cmp(b),
        (Bson::DateTime(a), Bson::DateTime(b)) => a.cmp(b),
        (Bson::Timestamp(a), Bson::Timestamp(b)) => (a.time, a.increment).cmp(&(b.time, b.increment)),
        _ => a.to_string().cmp(&b.to_string()),
    })
}

/// Compares two lists of values, item by item.
pub(crate) fn lists(a: &[Bson], b: &[Bson]) -> Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
    pairs
        .fold(Ordering::Equal, Ordering::then)
        .then(a.len().cmp(&b.len()))
}

fn fields(a: &Document, b: &Document) -> Ordering {
    for ((a_name, a), (b_name, b)) in a.iter().zip(b) {
        let order = rank(a)
            .cmp(&rank(b))
            .then_with(|| a_name.as_bytes().cmp(b_name.as_bytes()))
            .then_with(|| compare(a, b));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn numbers(a: &Bson, b: &Bson) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (x, y) = (float(a), float(b));
            match (x.is_nan(), y.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => mixed(a, x, b, y),
            }
        }
    }
}

/// Compares a whole number with one that has a fraction, or two that have, without rounding the whole one.
fn mixed(a: &Bson, x: f64, b: &Bson, y: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let against = |whole: i64, float: f64| match float {
        float if float >= LIMIT => Ordering::Less,
        float if float < -LIMIT => Ordering::Greater,
        float => whole
            .cmp(&(float.trunc() as i64))
            .then_with(|| 0.0_f64.total_cmp(&float.fract())),
    };
    match (whole(a), whole(b)) {
        (Some(a), None) => against(a, y + 0.0),
        (None, Some(b)) => against(b, x + 0.0).reverse(),
        _ => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
    }
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) if n.fract() == 0.0 && n.abs() < 9.0e15 => Some(*n as i64),
        _ => None,
    }
}

fn float(value: &Bson) -> f64 {
    match value {
        Bson::Int32(n) => f64::from(*n),
        Bson::Int64(n) => *n as f64,
        Bson::Double(n) => *n,
        Bson::Decimal128(n) => n.to_string().parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// The hash of a value, as a hashed shard key stores it: equal for equal numbers of every type, whose fractions it ignores as the
/// server's does.
pub(crate) fn hash(value: &Bson) -> i64 {
    let mut state = Fnv::new();
    state.byte(rank(value));
    match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => {
            let n = whole(value).unwrap_or_else(|| float(value) as i64);
            state.bytes(&n.to_le_bytes());
        }
        other => {
            let held = bson::doc! { "": other.clone() };
            state.bytes(&held.to_vec().unwrap_or_default());
        }
    }
    state.end() as i64
}

/// FNV-1a of 64 bits, with a last step that spreads it over all of them.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    pub(crate) fn end(self) -> u64 {
        let mut hash = self.0;
        for multiplier in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash = (hash ^ (hash >> 33)).wrapping_mul(multiplier);
        }
        hash ^ (hash >> 33)
    }
}

/// The values of a key, in the order of BSON.
#[derive(Clone, Debug)]
pub(crate) struct Ordered(pub Vec<Bson>);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        lists(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{bson, doc, oid::ObjectId};

    #[test]
    fn values_are_ordered_by_type_and_then_by_value() {
        let ascending = [
            Bson::MinKey,
            Bson::Null,
            bson!(f64::NAN),
            bson!(-1),
            bson!(-0.5),
            bson!(0_i64),
            bson!(1.5),
            bson!(2),
            bson!(i64::MAX - 1),
            bson!(i64::MAX),
            bson!(1e300),
            bson!(""),
            bson!("B"),
            bson!("a"),
            bson!({}),
            bson!({ "a": 1 }),
            bson!({ "b": 1 }),
            bson!({ "a": "x" }),
            bson!([]),
            bson!([1, 2]),
            Bson::ObjectId(ObjectId::from_bytes([1; 12])),
            bson!(false),
            bson!(true),
            Bson::DateTime(bson::DateTime::from_millis(1)),
            Bson::MaxKey,
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn equal_numbers_of_every_type_have_one_hash() {
        for same in [bson!(7), bson!(7_i64), bson!(7.0), bson!(7.9)] {
            assert_eq!(hash(&same), hash(&bson!(7)), "{same}");
        }
        assert_ne!(hash(&bson!(7)), hash(&bson!(8)));
        assert_ne!(hash(&bson!("7")), hash(&bson!(7)));
        let shards = (0..1000).map(|n| hash(&bson!(n)) >= 0);
        let upper = shards.filter(|is_upper| *is_upper).count();
        assert!((400..600).contains(&upper), "{upper} of 1000");
    }

    #[test]
    fn a_document_is_greater_than_its_beginning() {
        assert_eq!(
            fields(&doc! { "a": 1 }, &doc! { "a": 1_i64, "b": 1 }),
            Ordering::Less
        );
    }
}

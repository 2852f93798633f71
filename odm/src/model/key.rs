//! The value of an id or of a reference as a key: values that MongoDB takes as equal are one key.

use crate::model::shape::{self, Shape};
use mongodb::bson::{self, Bson, Document, RawBsonRef, doc};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// The value of an id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    ObjectId(bson::oid::ObjectId),
    /// A whole number of any type.
    Int(i64),
    Text(Box<str>),
    /// Any other: the bytes of a document that holds it.
    Other(Box<[u8]>),
}

/// The first stages of a query that gives a row for each of these keys, in `k`, if its collection has any document. `of_all` is a condition
/// of all documents that are joined: by it the query begins on the shards that have them.
///
/// A `$lookup` compares and sorts by the collation of the collection that the query begins with: to find children by the
/// collation of their own collection, the query begins with any one child, and replaces it by the keys.
pub(crate) fn rows(keys: &[Bson], of_all: Option<Document>) -> impl Iterator<Item = Document> {
    let begin = of_all.map(|condition| doc! { "$match": condition });
    begin.into_iter().chain([
        doc! { "$limit": 1 },
        doc! { "$project": { "_id": 0, "k": { "$literal": keys } } },
        doc! { "$unwind": "$k" },
    ])
}

/// The place of what each key stands for. A join asks for one for each reference, which the standard library's hasher makes
/// a tenth of its work.
pub(crate) type Places = HashMap<Key, u32, ahash::RandomState>;

/// The content alone: keys of different kinds rarely meet in one map.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Key::ObjectId(id) => state.write(&id.bytes()),
            Key::Int(n) => state.write_i64(*n),
            Key::Text(text) => text.hash(state),
            Key::Other(bytes) => bytes.hash(state),
        }
    }
}

impl Key {
    /// The key of a value as it is stored.
    pub(crate) fn of(value: RawBsonRef<'_>) -> Key {
        match value {
            RawBsonRef::ObjectId(id) => Key::ObjectId(id),
            RawBsonRef::Int32(n) => Key::Int(n.into()),
            RawBsonRef::Int64(n) => Key::Int(n),
            RawBsonRef::String(text) => Key::Text(text.into()),
            // A value that can't be read as BSON is equal to nothing that can.
            other => Bson::try_from(other)
                .map_or_else(|_| Key::Other(Box::default()), |value| Key::of_bson(&value)),
        }
    }

    /// The key of a value as it is written.
    pub(crate) fn of_bson(value: &Bson) -> Key {
        match value {
            Bson::ObjectId(id) => Key::ObjectId(*id),
            Bson::Int32(n) => Key::Int((*n).into()),
            Bson::Int64(n) => Key::Int(*n),
            Bson::String(text) => Key::Text(text.as_str().into()),
            other => match plain(other) {
                Bson::Int64(n) => Key::Int(n),
                other => Key::Other(
                    bson::serialize_to_vec(&doc! { "": other })
                        .unwrap_or_default()
                        .into(),
                ),
            },
        }
    }

    /// A value that MongoDB takes as equal to all that have this key.
    pub(crate) fn to_bson(&self) -> Bson {
        match self {
            Key::ObjectId(id) => Bson::ObjectId(*id),
            Key::Int(n) => Bson::Int64(*n),
            Key::Text(text) => Bson::String(text.to_string()),
            Key::Other(bytes) => bson::deserialize_from_slice::<Document>(bytes)
                .ok()
                .and_then(|mut document| document.remove(""))
                .map_or(Bson::Null, decimals),
        }
    }

    /// How much of a query it takes, in bytes, with the number that is its name in an array.
    pub(crate) fn size(&self) -> usize {
        9 + match self {
            Key::ObjectId(_) => 12,
            Key::Int(_) => 8,
            Key::Text(text) => text.len() + 5,
            Key::Other(bytes) => bytes.len(),
        }
    }
}

/// The whole doubles in it are integers of 64 bits, each of them exactly: from -2^63 to below 2^63.
const INTEGERS: std::ops::Range<f64> = i64::MIN as f64..-(i64::MIN as f64);

/// The integer that a double is exactly.
pub(crate) fn integer(n: f64) -> Option<i64> {
    (n.fract() == 0.0 && INTEGERS.contains(&n)).then_some(n as i64)
}

/// The same value for all that MongoDB takes as equal: whole numbers as 64-bit integers, what a double is exactly as one, other
/// decimals as a symbol of their digits (no id is a symbol: BSON has deprecated them).
fn plain(value: &Bson) -> Bson {
    match value {
        Bson::Int32(n) => Bson::Int64((*n).into()),
        Bson::Double(n) if n.is_nan() => Bson::Double(f64::NAN),
        Bson::Double(n) => integer(*n).map_or(Bson::Double(*n), Bson::Int64),
        Bson::Decimal128(n) => decimal(&n.to_string()),
        Bson::Document(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect::<Document>()
            .into(),
        Bson::Array(items) => Bson::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// The way back from [`plain`].
fn decimals(value: Bson) -> Bson {
    match value {
        Bson::Symbol(text) => match text.parse() {
            Ok(decimal) => Bson::Decimal128(decimal),
            Err(_) => Bson::Symbol(text),
        },
        Bson::Document(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, decimals(value)))
            .collect::<Document>()
            .into(),
        Bson::Array(items) => Bson::Array(items.into_iter().map(decimals).collect()),
        other => other,
    }
}

/// The value of a key as a field of this shape stores it: a key keeps no type of a number.
pub(crate) fn as_stored(shape: Shape, value: Bson) -> Bson {
    let decimal = |text: String| text.parse().map(Bson::Decimal128);
    match (shape::inner(shape), value) {
        (Shape::Int { .. }, Bson::Int64(n)) => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
        (Shape::Double, Bson::Int64(n)) => Bson::Double(n as f64),
        (Shape::Decimal, Bson::Int64(n)) => decimal(n.to_string()).unwrap_or(Bson::Int64(n)),
        (Shape::Decimal, Bson::Double(n)) => decimal(n.to_string()).unwrap_or(Bson::Double(n)),
        (shape @ Shape::Struct(_), Bson::Document(fields)) => {
            let stored = fields.into_iter().map(|(name, value)| {
                let value = match shape::within(shape, &name) {
                    Some(field) => as_stored(field.shape, value),
                    None => value,
                };
                (name, value)
            });
            Bson::Document(stored.collect())
        }
        (Shape::Map(values), Bson::Document(fields)) => {
            let stored = fields
                .into_iter()
                .map(|(name, value)| (name, as_stored(values(), value)));
            Bson::Document(stored.collect())
        }
        (Shape::Array(items) | Shape::Fixed { items, .. }, Bson::Array(list)) => {
            list.into_iter().map(|item| as_stored(items(), item)).collect()
        }
        (Shape::Tuple(shapes), Bson::Array(list)) => {
            let stored = list
                .into_iter()
                .enumerate()
                .map(|(at, item)| match shapes.get(at) {
                    Some(shape) => as_stored(shape(), item),
                    None => item,
                });
            stored.collect()
        }
        (_, value) => value,
    }
}

/// A decimal without the zeros that say how precisely it is meant: `1.50` and `15E-1` are one number.
fn decimal(text: &str) -> Bson {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (digits, exponent) = rest.split_once(['E', 'e']).unwrap_or((rest, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else {
        return Bson::Symbol(text.to_owned());
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return match (sign, rest) {
            (_, "NaN") => Bson::Double(f64::NAN),
            ("", "Infinity") => Bson::Double(f64::INFINITY),
            (_, "Infinity") => Bson::Double(f64::NEG_INFINITY),
            _ => Bson::Symbol(text.to_owned()),
        };
    }
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    let short = all.trim_end_matches('0');
    if short.is_empty() {
        return Bson::Int64(0);
    }
    let exponent = exponent - fraction.len() as i64 + (all.len() - short.len()) as i64;
    let zeros = usize::try_from(exponent).ok().filter(|zeros| *zeros < 19);
    if let Some(n) = zeros.and_then(|zeros| format!("{sign}{short}{}", "0".repeat(zeros)).parse().ok()) {
        return Bson::Int64(n);
    }
    let text = format!("{sign}{short}E{exponent}");
    match text.parse::<f64>() {
        Ok(double) if is_exactly(double, short, exponent) => Bson::Double(double),
        _ => Bson::Symbol(text),
    }
}

/// Whether the nearest double of a decimal is the decimal itself, whatever the sign.
fn is_exactly(double: f64, digits: &str, exponent: i64) -> bool {
    // No double has more digits than this, so none of them is rounded.
    let exact = format!("{:.766e}", double.abs());
    let Some((all, power)) = exact.split_once('e') else {
        return false; // infinite
    };
    let all = all.replace('.', "");
    let power = power
        .parse()
        .ok()
        .map(|power: i64| power + 1 - digits.len() as i64);
    all.trim_end_matches('0') == digits && power == Some(exponent)
}

/// Maximum number of keys in one `$in`.
const KEYS_IN_ONE_QUERY: usize = 100_000;

/// Maximum size of the keys in one `$in`, in bytes: a query is a document, whose limit is 16 MiB.
const BYTES_IN_ONE_QUERY: usize = 12 << 20;

/// Splits keys into lists that fit one query each, in the order of the keys: the server reads its index in this order, and
/// sorts the list itself where it does not come so.
pub(crate) fn chunks<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Vec<Vec<Bson>> {
    let mut keys: Vec<&Key> = keys.into_iter().collect();
    keys.sort_unstable();
    let mut chunks: Vec<Vec<Bson>> = Vec::new();
    let mut bytes = 0;
    for key in keys {
        bytes += key.size();
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < KEYS_IN_ONE_QUERY && bytes <= BYTES_IN_ONE_QUERY => {
                chunk.push(key.to_bson());
            }
            _ => {
                bytes = key.size();
                chunks.push(vec![key.to_bson()]);
            }
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Bson {
        Bson::Decimal128(text.parse().expect("a decimal"))
    }

    #[test]
    fn the_value_of_a_key_has_the_type_of_its_field() {
        let int = Shape::Int {
            min: i32::MIN,
            max: i32::MAX,
        };
        let long = Shape::Long {
            min: i64::MIN,
            max: i64::MAX,
        };
        for (shape, value) in [
            (int, Bson::Int32(7)),
            (long, Bson::Int64(7)),
            (Shape::Double, Bson::Double(7.0)),
            (Shape::Decimal, number("7")),
            (Shape::String, Bson::from("7")),
            (
                Shape::Array(|| Shape::Double),
                vec![Bson::Double(1.0), Bson::Double(1.5)].into(),
            ),
            (Shape::Any, Bson::Int64(7)),
        ] {
            assert_eq!(as_stored(shape, Key::of_bson(&value).to_bson()), value);
        }
    }

    #[test]
    fn ids_that_are_equal_have_one_key() {
        for (a, b) in [
            (Bson::Double(0.0), Bson::Double(-0.0)),
            (Bson::Double(f64::NAN), Bson::Double(-f64::NAN)),
            (Bson::Int32(5), Bson::Int64(5)),
            (Bson::Int32(5), Bson::Double(5.0)),
            (Bson::Int32(500), number("5.00E+2")),
            (number("1.50"), number("15E-1")),
            (number("0"), number("-0.00")),
            (number("100"), number("1E+2")),
            (Bson::Double(1e16), Bson::Int64(10_i64.pow(16))),
            (Bson::Double(-(2_f64.powi(63))), Bson::Int64(i64::MIN)),
            (Bson::Double(2_f64.powi(63)), number("9223372036854775808")),
            (Bson::Double(1e22), number("1E+22")),
            (Bson::Double(0.5), number("0.50")),
            (Bson::Double(-0.375), number("-375E-3")),
            (Bson::Double(f64::INFINITY), number("Infinity")),
            (Bson::Double(f64::NAN), number("NaN")),
            (
                doc! { "at": -0.0, "of": number("2.0") }.into(),
                doc! { "at": 0, "of": number("2") }.into(),
            ),
        ] {
            assert_eq!(Key::of_bson(&a), Key::of_bson(&b), "{a} {b}");
        }
        for (a, b) in [
            (number("1"), number("-1")),
            (number("0.1"), Bson::Double(0.1)),
            (number("0.5"), Bson::Double(-0.5)),
            (number("1E+23"), Bson::Double(1e23)),
            (number("1E-400"), Bson::Double(0.0)),
            (number("1E+400"), Bson::Double(f64::INFINITY)),
            (Bson::Double(2_f64.powi(63)), Bson::Int64(i64::MAX)),
            (number("1"), number("10")),
            (number("Infinity"), number("-Infinity")),
            (number("1E+40"), number("1E+41")),
            (Bson::from("1"), Bson::Int32(1)),
            (doc! { "a": 1, "b": 2 }.into(), doc! { "b": 2, "a": 1 }.into()),
        ] {
            assert_ne!(Key::of_bson(&a), Key::of_bson(&b), "{a} {b}");
        }
    }

    fn values() -> impl Strategy<Value = Bson> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Bson::Int32),
            any::<i64>().prop_map(Bson::Int64),
            any::<f64>().prop_map(Bson::Double),
            ".{0,8}".prop_map(Bson::String),
            any::<[u8; 12]>().prop_map(|id| Bson::ObjectId(bson::oid::ObjectId::from_bytes(id))),
            any::<bool>().prop_map(Bson::Boolean),
            (any::<i32>(), -20_i32..20).prop_map(|(n, e)| number(&format!("{n}E{e}"))),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Bson::Array),
                prop::collection::vec(inner, 0..3).prop_map(|values| {
                    Bson::Document(
                        values
                            .into_iter()
                            .enumerate()
                            .map(|(i, v)| (i.to_string(), v))
                            .collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_key_gives_a_value_with_the_same_key(value in values()) {
            let key = Key::of_bson(&value);
            prop_assert_eq!(Key::of_bson(&key.to_bson()), key);
        }

        #[test]
        fn stored_and_written_values_have_one_key(value in values()) {
            let raw = mongodb::bson::RawDocumentBuf::try_from(&doc! { "v": value.clone() }).expect("encodes");
            let stored = raw.get("v").expect("reads").expect("is there");
            prop_assert_eq!(Key::of(stored), Key::of_bson(&value));
        }
    }

    #[test]
    fn queries_stay_below_the_message_size() {
        let long: Vec<Key> = (0..40)
            .map(|n| Key::Text(format!("{n}{}", "x".repeat(1 << 20)).into()))
            .collect();
        let chunks = chunks(&long);
        assert_eq!(chunks.iter().map(Vec::len).collect::<Vec<_>>(), [11, 11, 11, 7]);
    }
}

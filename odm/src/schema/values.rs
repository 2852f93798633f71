//! Values of a schema: which are the same to the server, and how numbers are written.

use mongodb::bson::{Bson, Document};

/// Whether two values mean the same to the server: numbers by value, documents without regard to the order of fields.
pub(super) fn same(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => same_document(a, b),
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

pub(crate) fn same_document(a: &Document, b: &Document) -> bool {
    a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
}

/// A whole number of any type.
pub(super) fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
        _ => None,
    }
}

/// A whole number in the smallest type that holds it, as the shell would show it without a wrapper.
pub(super) fn whole(n: i64) -> Bson {
    i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32)
}

pub(super) fn count(n: u64) -> Bson {
    whole(i64::try_from(n).unwrap_or(i64::MAX))
}

/// `1 document`, `2 documents`.
pub(crate) fn plural(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{n} {one}s"),
    }
}

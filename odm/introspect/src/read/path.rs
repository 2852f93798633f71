//! Paths of a design, as queries and projections name them.

use bson::{Document, doc};
use std::collections::BTreeSet;

/// A path as a query names it: `a[].b` is `a.b`. `None` where none can: it leads through a map, or has a name that begins with `$`.
pub fn in_queries(path: &str) -> Option<String> {
    let (asked, whole) = reachable(path);
    (whole && !asked.is_empty()).then_some(asked)
}

/// A projection with which documents have at least the values at these paths; without paths it is empty, and documents are whole.
pub fn projection(paths: &[String]) -> Document {
    let mut asked: BTreeSet<String> = BTreeSet::new();
    for path in paths {
        let (reached, _) = reachable(path);
        if reached.is_empty() {
            return Document::new();
        }
        asked.insert(reached);
    }
    if asked.is_empty() {
        return Document::new();
    }
    let mut projection = Document::new();
    if !asked.iter().any(|path| path == "_id" || path.starts_with("_id.")) {
        projection.insert("_id", 0);
    }
    for path in &asked {
        // A path and another within it are refused.
        let within = |dot: (usize, &str)| asked.contains(&path[..dot.0]);
        if !path.match_indices('.').any(within) {
            projection.insert(path, 1);
        }
    }
    projection
}

/// As much of a path as a query can name, and whether that is all.
fn reachable(path: &str) -> (String, bool) {
    let (before, whole) = match path.find('{') {
        Some(at) => (&path[..at], false),
        None => (path, true),
    };
    let mut names = Vec::new();
    for name in before.replace("[]", "").split('.') {
        if name.is_empty() || name.starts_with('$') {
            return (names.join("."), false);
        }
        names.push(name.to_owned());
    }
    (names.join("."), whole)
}

/// A filter for the documents behind this one in the order of `_id`.
///
/// `$gt` compares values of one type alone, so the types behind it are named.
pub(super) fn behind(last: &bson::Bson) -> Document {
    /// The types in their order: numbers are one, and so are texts.
    const TYPES: [&[&str]; 12] = [
        &["minKey"],
        &["null", "undefined"],
        &["int", "long", "double", "decimal"],
        &["string", "symbol"],
        &["object"],
        &["array"],
        &["binData"],
        &["objectId"],
        &["bool"],
        &["date"],
        &["timestamp"],
        &[
            "regex",
            "dbPointer",
            "javascript",
            "javascriptWithScope",
            "maxKey",
        ],
    ];
    use bson::Bson;
    let at = match last {
        Bson::MinKey => 0,
        Bson::Null | Bson::Undefined => 1,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 2,
        Bson::String(_) | Bson::Symbol(_) => 3,
        Bson::Document(_) => 4,
        Bson::Array(_) => 5,
        Bson::Binary(_) => 6,
        Bson::ObjectId(_) => 7,
        Bson::Boolean(_) => 8,
        Bson::DateTime(_) => 9,
        Bson::Timestamp(_) => 10,
        _ => 11,
    };
    let types: Vec<&str> = TYPES[at + 1..]
        .iter()
        .flat_map(|types| types.iter().copied())
        .collect();
    let greater = match last {
        // It is before all numbers, and `$gt` finds none behind it.
        Bson::Double(number) if number.is_nan() => doc! { "$gte": f64::NEG_INFINITY },
        _ => doc! { "$gt": last.clone() },
    };
    if types.is_empty() {
        return doc! { "_id": greater };
    }
    doc! { "$or": [{ "_id": greater }, { "_id": { "$type": types } }] }
}

//! A document as an update leaves it, where the update alone says so: then it need not be read again.

use crate::model::meta::names::root;
use crate::model::own_fields::is_own;
use mongodb::bson::{Bson, Document};

/// Applies an update to the fields of a document that it was read with. `None` where only the server knows the outcome: an operator
/// that computes something, a path through an array, a new field in an embedded document, whose place among the others counts.
pub(crate) fn applied(before: &Document, update: &Document) -> Option<Document> {
    let mut after = before.clone();
    for (operator, fields) in update {
        for (name, value) in fields.as_document()? {
            match operator.as_str() {
                "$setOnInsert" => {}
                "$set" => put(&mut after, name, |_| Some(value.clone()))?,
                "$unset" => remove(&mut after, name)?,
                "$inc" => put(&mut after, name, |stored| match stored {
                    None => Some(value.clone()),
                    Some(stored) => sum(stored, value),
                })?,
                "$push" => put(&mut after, name, |stored| with_items(stored, value))?,
                _ => return None,
            }
        }
    }
    Some(after)
}

/// Whether an update changes every document that it matches.
pub(crate) fn always_changes(update: &Document) -> bool {
    let numbers = update.get_document("$inc").ok();
    let mut numbers = numbers.into_iter().flat_map(Document::values);
    numbers.any(|by| matches!(by, Bson::Int32(by) if *by != 0) || matches!(by, Bson::Int64(by) if *by != 0))
}

/// The sum of two whole numbers of one type that it does not exceed.
fn sum(stored: &Bson, by: &Bson) -> Option<Bson> {
    match (stored, by) {
        (Bson::Int32(stored), Bson::Int32(by)) => stored.checked_add(*by).map(Bson::Int32),
        (Bson::Int64(stored), Bson::Int64(by)) => stored.checked_add(*by).map(Bson::Int64),
        (Bson::Int64(stored), Bson::Int32(by)) => stored.checked_add((*by).into()).map(Bson::Int64),
        _ => None,
    }
}

/// The array with new items behind its own, where they are given without an order and a limit.
fn with_items(stored: Option<&Bson>, push: &Bson) -> Option<Bson> {
    let mut items = match stored {
        None => Vec::new(),
        Some(stored) => stored.as_array()?.clone(),
    };
    match push.as_document() {
        Some(modified) if modified.contains_key("$each") => {
            items.extend(
                modified
                    .get_array("$each")
                    .ok()
                    .filter(|_| modified.len() == 1)?
                    .iter()
                    .cloned(),
            );
        }
        _ => items.push(push.clone()),
    }
    Some(items.into())
}

/// Puts a value at a dotted name, made of the one that stands there.
fn put(document: &mut Document, name: &str, value: impl FnOnce(Option<&Bson>) -> Option<Bson>) -> Option<()> {
    let is_own = is_own(root(name));
    let mut within = document;
    let mut rest = name;
    let mut is_root = true;
    while let Some((first, further)) = rest.split_once('.') {
        if is_own && !within.contains_key(first) {
            within.insert(first, Document::new());
        }
        within = within.get_document_mut(first).ok()?;
        (rest, is_root) = (further, false);
    }
    match within.get_mut(rest) {
        Some(stored) => *stored = value(Some(stored))?,
        None if is_root || is_own => drop(within.insert(rest, value(None)?)),
        None => return None,
    }
    Some(())
}

/// Removes the value at a dotted name.
fn remove(document: &mut Document, name: &str) -> Option<()> {
    match name.split_once('.') {
        None => drop(document.remove(name)),
        Some((first, rest)) => match document.get_mut(first) {
            Some(Bson::Document(within)) => remove(within, rest)?,
            Some(Bson::Array(_)) => return None,
            Some(_) | None => {}
        },
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn plain_operators_are_applied() {
        let before =
            doc! { "_id": 1, "a": { "x": 1, "y": 2 }, "n": 5_i64, "i": 7, "_odm": { "version": 3_i64 } };
        for (update, after) in [
            (
                doc! { "$set": { "a.y": "z", "b": [1] } },
                doc! { "_id": 1, "a": { "x": 1, "y": "z" }, "n": 5_i64, "i": 7, "_odm": { "version": 3_i64 }, "b": [1] },
            ),
            (
                doc! { "$unset": { "a.x": "", "c.d": "", "n.x": "", "i": "" }, "$setOnInsert": { "q": 1 } },
                doc! { "_id": 1, "a": { "y": 2 }, "n": 5_i64, "_odm": { "version": 3_i64 } },
            ),
            (
                doc! { "$inc": { "n": 2, "i": -1, "new": 4, "_odm.version": 1_i64, "_odm.pending.fields.x": 1 } },
                doc! {
                    "_id": 1, "a": { "x": 1, "y": 2 }, "n": 7_i64, "i": 6,
                    "_odm": { "version": 4_i64, "pending": { "fields": { "x": 1 } } }, "new": 4,
                },
            ),
            (
                doc! { "$push": { "l": 1, "m": { "$each": [2, { "n": 3 }] } } },
                doc! {
                    "_id": 1, "a": { "x": 1, "y": 2 }, "n": 5_i64, "i": 7, "_odm": { "version": 3_i64 },
                    "l": [1], "m": [2, { "n": 3 }],
                },
            ),
            (
                doc! { "$set": { "_copied.host": 9_i64 } },
                doc! {
                    "_id": 1, "a": { "x": 1, "y": 2 }, "n": 5_i64, "i": 7, "_odm": { "version": 3_i64 },
                    "_copied": { "host": 9_i64 },
                },
            ),
        ] {
            assert_eq!(applied(&before, &update), Some(after), "{update}");
        }
    }

    #[test]
    fn what_only_the_server_knows_is_left_to_it() {
        let before =
            doc! { "_id": 1, "a": { "x": 1 }, "i": i32::MAX, "l": i64::MAX, "d": 1.5, "items": [{ "n": 1 }] };
        for update in [
            doc! { "$push": { "items": { "$each": [1], "$slice": 3 } } },
            doc! { "$push": { "i": 1 } },
            doc! { "$pull": { "items": 1 } },
            doc! { "$currentDate": { "at": true } },
            doc! { "$set": { "items.0.n": 1 } },
            doc! { "$set": { "items.$[e].n": 1 } },
            doc! { "$set": { "a.new": 1 } },
            doc! { "$set": { "missing.new": 1 } },
            doc! { "$set": { "i.n": 1 } },
            doc! { "$unset": { "items.0": "" } },
            doc! { "$inc": { "i": 1 } },
            doc! { "$inc": { "i": 1_i64 } },
            doc! { "$inc": { "l": 1 } },
            doc! { "$inc": { "d": 1 } },
        ] {
            assert_eq!(applied(&before, &update), None, "{update}");
        }
    }

    #[test]
    fn an_update_that_counts_always_changes_something() {
        assert!(always_changes(
            &doc! { "$inc": { "a": 0, "_odm.version": 1_i64 } }
        ));
        for update in [
            doc! { "$set": { "a": 1 } },
            doc! { "$inc": { "a": 0 } },
            doc! { "$inc": { "a": 1.0 } },
        ] {
            assert!(!always_changes(&update), "{update}");
        }
    }
}

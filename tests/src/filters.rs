//! Holds each filter that a test's client sends against what a router of a sharded cluster takes: it finds the shard of a statement,
//! and allows an update or a deletion of one document, by equalities that stand in the filter once.

use mongodb::bson::{Bson, Document};

/// The first filter of a command that a router may refuse, and why.
pub fn problem(command: &Document) -> Option<String> {
    let name = command.keys().next()?.as_str();
    let document = |value: Option<&Bson>| value.and_then(Bson::as_document).cloned();
    let list = |name: &str| -> Vec<Document> {
        let list = command.get_array(name).into_iter().flatten();
        list.filter_map(Bson::as_document).cloned().collect()
    };
    let filter =
        |name: &str, of_one: bool| Vec::from_iter(document(command.get(name)).map(|filter| (filter, of_one)));
    let filters: Vec<(Document, bool)> = match name {
        "find" => filter("filter", false),
        "count" | "distinct" => filter("query", false),
        "findAndModify" => filter("query", true),
        "aggregate" => list("pipeline")
            .iter()
            .filter_map(|stage| Some((document(stage.get("$match"))?, false)))
            .collect(),
        "update" => list("updates")
            .iter()
            .filter_map(|one| Some((document(one.get("q"))?, !one.get_bool("multi").unwrap_or(false))))
            .collect(),
        "delete" => list("deletes")
            .iter()
            .filter_map(|one| Some((document(one.get("q"))?, one.get("limit").is_some_and(is_one))))
            .collect(),
        "bulkWrite" => list("ops")
            .iter()
            .filter_map(|one| {
                Some((
                    document(one.get("filter"))?,
                    !one.get_bool("multi").unwrap_or(false),
                ))
            })
            .collect(),
        _ => return None,
    };
    let wrong = |(filter, of_one): &(Document, bool)| {
        Some(format!("{}: {name} {filter}", of_filter(filter, *of_one)?))
    };
    filters.iter().find_map(wrong)
}

fn is_one(limit: &Bson) -> bool {
    matches!(limit, Bson::Int32(1) | Bson::Int64(1))
}

fn of_filter(filter: &Document, of_one: bool) -> Option<String> {
    let mut parts = Vec::new();
    conditions(filter, &mut parts);
    let mut seen: Vec<(&str, Vec<Bson>)> = Vec::new();
    for (name, condition) in parts {
        let Some(values) = values(condition) else { continue };
        let is_same =
            |(other, list): &(&str, Vec<Bson>)| *other == name && list.len() == 1 && *list == values;
        if seen.iter().any(is_same) {
            return Some(format!("the equality of `{name}` stands twice"));
        }
        // Under a collation two texts may be one.
        let is_id = |(other, list): &(&str, Vec<Bson>)| {
            *other == "_id" && !(list.iter().any(has_text) && values.iter().any(has_text))
        };
        if name == "_id" && seen.iter().any(is_id) {
            return Some("the values of `_id` stand twice".to_owned());
        }
        seen.push((name, values));
    }
    let is_exact = || {
        filter
            .get("_id")
            .and_then(values)
            .is_some_and(|values| values.len() == 1)
    };
    let names_one = seen
        .iter()
        .any(|(name, values)| *name == "_id" && values.len() == 1);
    (of_one && names_one && !is_exact()).then(|| "the `_id` of one document is not at the top".to_owned())
}

/// The conditions that a document has to match, each with its name.
fn conditions<'f>(filter: &'f Document, parts: &mut Vec<(&'f str, &'f Bson)>) {
    for (name, condition) in filter {
        match condition {
            Bson::Array(all) if name == "$and" => {
                all.iter()
                    .filter_map(Bson::as_document)
                    .for_each(|one| conditions(one, parts));
            }
            condition => parts.push((name, condition)),
        }
    }
}

/// The values of which a condition demands one; numbers without their types.
fn values(condition: &Bson) -> Option<Vec<Bson>> {
    let values = match condition {
        Bson::RegularExpression(_) => return None,
        Bson::Document(operators) if operators.keys().any(|name| name.starts_with('$')) => {
            match (operators.get("$eq"), operators.get_array("$in")) {
                (Some(value), _) => vec![value.clone()],
                (None, Ok(list)) => list.clone(),
                (None, Err(_)) => return None,
            }
        }
        value => vec![value.clone()],
    };
    let plain = |value| match value {
        Bson::Int32(n) => Bson::Int64(n.into()),
        value => value,
    };
    Some(values.into_iter().map(plain).collect())
}

fn has_text(value: &Bson) -> bool {
    match value {
        Bson::String(_) => true,
        Bson::Document(fields) => fields.values().any(has_text),
        Bson::Array(items) => items.iter().any(has_text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    /// Commands and whether a `mongos` 4.9 refused them for their form (`mongos-4.9.json`, by 61 ShardKeyNotFound and 72
    /// InvalidOptions): `r` is sharded by `{ tenant: 1, _id: 1 }`, `i` by `_id`, `h` by a hashed field.
    #[test]
    fn a_filter_that_a_router_refuses_is_found() {
        let set = || doc! { "$set": { "y": 1 } };
        let update =
            |of: &str, filter: Document| doc! { "update": of, "updates": [{ "q": filter, "u": set() }] };
        let delete =
            |of: &str, filter: Document| doc! { "delete": of, "deletes": [{ "q": filter, "limit": 1 }] };
        let modify =
            |of: &str, filter: Document| doc! { "findAndModify": of, "query": filter, "update": set() };
        for (command, is_refused) in [
            (update("r", doc! { "_id": 1 }), false),
            (update("r", doc! { "tenant": "a", "_id": 1 }), false),
            (update("r", doc! { "_id": { "$in": [1] } }), false),
            (update("r", doc! { "_id": 3, "x": { "$gt": 100 } }), false),
            (
                update("r", doc! { "$and": [{ "_id": { "$eq": 1 } }, { "_id": 1 }] }),
                true,
            ),
            (
                update("h", doc! { "$and": [{ "_id": { "$eq": 1 } }, { "_id": 1 }] }),
                true,
            ),
            (delete("r", doc! { "_id": 10 }), false),
            (delete("r", doc! { "tenant": "a", "_id": 11 }), false),
            (delete("r", doc! { "_id": { "$in": [12] } }), false),
            (
                delete("r", doc! { "$and": [{ "_id": { "$in": [13] } }, { "_id": 13 }] }),
                true,
            ),
            (
                delete("i", doc! { "$and": [{ "_id": { "$in": [13] } }, { "_id": 13 }] }),
                true,
            ),
            (modify("r", doc! { "tenant": "a", "_id": 1 }), false),
            (modify("i", doc! { "_id": 1 }), false),
            (modify("h", doc! { "k": 1, "x": 1 }), false),
            (
                modify(
                    "r",
                    doc! { "tenant": "a", "_id": 2, "$and": [{ "tenant": { "$eq": "a" } }] },
                ),
                true,
            ),
            (modify("i", doc! { "$and": [{ "_id": 1 }, { "_id": 1 }] }), true),
        ] {
            assert_eq!(problem(&command).is_some(), is_refused, "{command}");
        }
    }

    #[test]
    fn filters_are_found_in_every_kind_of_command() {
        let twice = || doc! { "a": 1, "$and": [{ "a": { "$eq": 1_i64 } }] };
        let once = || doc! { "a": 1, "$and": [{ "a": 2 }], "$or": [{ "a": 1 }] };
        for of in [
            |filter: Document| doc! { "find": "c", "filter": filter },
            |filter: Document| doc! { "aggregate": "c", "pipeline": [{ "$sort": { "a": 1 } }, { "$match": filter }] },
            |filter: Document| doc! { "update": "c", "updates": [{ "q": {}, "u": {} }, { "q": filter, "u": {}, "multi": true }] },
            |filter: Document| doc! { "delete": "c", "deletes": [{ "q": filter, "limit": 0 }] },
            |filter: Document| doc! { "findAndModify": "c", "query": filter },
            |filter: Document| doc! { "bulkWrite": 1, "ops": [{ "delete": 0, "filter": filter, "multi": true }] },
        ] {
            assert!(
                problem(&of(twice())).is_some() && problem(&of(once())).is_none(),
                "{}",
                of(twice())
            );
        }
        let of_one = |filter: Document| doc! { "bulkWrite": 1, "ops": [{ "update": 0, "filter": filter, "updateMods": {} }] };
        assert!(problem(&of_one(doc! { "a": 1, "$and": [{ "_id": 1 }] })).is_some());
        assert!(problem(&of_one(doc! { "a": 1, "_id": { "$eq": 1, "$gt": 0 } })).is_none());
    }
}

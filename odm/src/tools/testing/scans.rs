//! Whether a command reads a whole collection: the server's plan for what was sent.

use super::commands::{OF_THE_CONNECTION, Sent};
use crate::query::explain::Explain;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// The commands that the server plans.
const PLANNED: [&str; 7] = [
    "find",
    "aggregate",
    "count",
    "distinct",
    "update",
    "delete",
    "findAndModify",
];

/// The statements of a command, each as a command of its own: one that holds several can't be explained.
pub(super) fn statements(sent: &Sent) -> Vec<Document> {
    if !PLANNED.contains(&sent.name.as_str()) {
        return Vec::new();
    }
    let mut command = sent.command.clone();
    for field in OF_THE_CONNECTION {
        command.remove(field);
    }
    let list = match sent.name.as_str() {
        "update" => "updates",
        "delete" => "deletes",
        _ => return vec![command],
    };
    let Ok(several) = command.get_array(list) else {
        return vec![command];
    };
    several
        .iter()
        .map(|statement| {
            let mut one = command.clone();
            one.insert(list, Bson::Array(vec![statement.clone()]));
            one
        })
        .collect()
}

/// Whether the index of `_id`, which each collection has, serves a statement: it names documents by `_id`, or reads all of them in
/// that order. A stand-in may not say so in its plan.
fn is_by_id(statement: &Document) -> bool {
    let of_list = |list: &str| {
        let statements = statement.get_array(list).ok()?;
        statements.first()?.as_document()?.get_document("q").ok()
    };
    let condition = ["filter", "query"]
        .into_iter()
        .find_map(|name| statement.get_document(name).ok())
        .or_else(|| of_list("updates"))
        .or_else(|| of_list("deletes"));
    if let (Some(condition), Ok(sort)) = (condition, statement.get_document("sort"))
        && condition.is_empty()
    {
        return sort.len() == 1 && sort.contains_key("_id") && !statement.contains_key("collation");
    }
    match condition.and_then(|condition| condition.get("_id")) {
        Some(Bson::Document(operators)) => operators
            .keys()
            .all(|name| ["$eq", "$in"].contains(&name.as_str())),
        Some(Bson::RegularExpression(_)) | None => false,
        Some(_) => true,
    }
}

/// Whether the server reads a whole collection for a statement.
pub(super) async fn is_scan(db: &Database, statement: &Document) -> mongodb::error::Result<bool> {
    if is_by_id(statement) {
        return Ok(false);
    }
    let reply = db
        .run_command(doc! { "explain": statement.clone(), "verbosity": "queryPlanner" })
        .await?;
    Ok(plans(reply)
        .into_iter()
        .any(|plan| Explain::of(plan).is_collection_scan()))
}

/// The plans in a reply: of an aggregation, that of its first stage, which reads the collection.
fn plans(reply: Document) -> Vec<Document> {
    let mut found: Vec<Document> = reply
        .get_array("stages")
        .into_iter()
        .flatten()
        .filter_map(|stage| stage.as_document()?.get_document("$cursor").ok().cloned())
        .collect();
    let shards = reply
        .get_document("shards")
        .into_iter()
        .flat_map(Document::values);
    found.extend(shards.filter_map(Bson::as_document).cloned().flat_map(plans));
    found.push(reply);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(command: Document) -> Sent {
        let name = command.keys().next().cloned().unwrap_or_default();
        Sent {
            collection: command.get_str(&name).ok().map(str::to_owned),
            name,
            command,
            operation: None,
        }
    }

    #[test]
    fn each_statement_of_an_update_is_explained_by_itself() {
        let sent = sent(doc! {
            "update": "people",
            "updates": [{ "q": { "_id": 1 }, "u": {} }, { "q": { "age": 3 }, "u": {} }],
            "lsid": 1,
        });
        let statements = statements(&sent);
        assert_eq!(statements.len(), 2);
        assert_eq!(
            statements[1],
            doc! { "update": "people", "updates": [{ "q": { "age": 3 }, "u": {} }] }
        );
    }

    #[test]
    fn all_documents_in_the_order_of_their_ids_are_read_by_an_index() {
        assert!(is_by_id(
            &doc! { "find": "a", "filter": {}, "sort": { "_id": 1 } }
        ));
        assert!(!is_by_id(&doc! { "find": "a", "filter": {}, "sort": { "n": 1 } }));
        // The index of `_id` has one field, and the collation of its collection.
        assert!(!is_by_id(
            &doc! { "find": "a", "filter": {}, "sort": { "_id": 1, "n": 1 } }
        ));
        assert!(!is_by_id(
            &doc! { "find": "a", "filter": {}, "sort": { "_id": 1 }, "collation": { "locale": "en" } }
        ));
        assert!(!is_by_id(
            &doc! { "find": "a", "filter": { "n": 1 }, "sort": { "_id": 1 } }
        ));
        assert!(!is_by_id(&doc! { "find": "a", "filter": {} }));
    }

    #[test]
    fn a_statement_by_id_reads_no_whole_collection() {
        assert!(is_by_id(
            &doc! { "update": "a", "updates": [{ "q": { "_id": 1, "n": { "$not": { "$gt": 1 } } } }] }
        ));
        assert!(is_by_id(
            &doc! { "find": "a", "filter": { "_id": { "$in": [1, 2] } } }
        ));
        assert!(!is_by_id(
            &doc! { "find": "a", "filter": { "_id": { "$gt": 1 } } }
        ));
        assert!(!is_by_id(
            &doc! { "delete": "a", "deletes": [{ "q": { "n": 1 } }] }
        ));
    }

    #[test]
    fn what_has_no_plan_is_left_out() {
        assert!(statements(&sent(doc! { "insert": "people", "documents": [] })).is_empty());
        assert!(statements(&sent(doc! { "commitTransaction": 1 })).is_empty());
    }

    #[test]
    fn plans_are_found_in_replies_of_finds_aggregations_and_shards() {
        let scan = doc! { "queryPlanner": { "winningPlan": { "stage": "COLLSCAN" } } };
        let is_scan = |reply: Document| {
            plans(reply)
                .into_iter()
                .any(|plan| Explain::of(plan).is_collection_scan())
        };
        assert!(is_scan(scan.clone()));
        assert!(is_scan(
            doc! { "stages": [{ "$cursor": scan.clone() }, { "$group": {} }] }
        ));
        assert!(is_scan(
            doc! { "shards": { "a": { "stages": [{ "$cursor": scan.clone() }] } } }
        ));
        assert!(is_scan(doc! { "shards": { "a": scan } }));
        let by_index = doc! {
            "winningPlan": { "stage": "FETCH", "inputStage": { "stage": "IXSCAN", "indexName": "a_1" } },
            "rejectedPlans": [{ "stage": "COLLSCAN" }],
        };
        assert!(!is_scan(doc! { "queryPlanner": by_index }));
    }
}

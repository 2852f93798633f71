//! The schema in the database: collections, validators and indexes, as the models declare them.
//!
//! [`Odm::plan`](crate::Odm::plan) compares what is declared with what is there, and says in words what would change;
//! [`Odm::apply`](crate::Odm::apply) changes it; [`Odm::sync`](crate::Odm::sync) does both until nothing is left. What no
//! model declares is left alone: another index, another collection, another validator of a collection of ours.
//!
//! The validator is a `$jsonSchema` of every declared field, with a condition beside it that UUIDs are ones. Two rules are checked before the network only, since MongoDB
//! has no keyword for them: the length of binary values (`max_len`, `min_len`), and of a map's keys (`key_len`). An `$expr`
//! beside the schema could say the first, but its refusal names no field; a pattern of the keys' names would depend on how
//! the server's regular expressions count characters. A recursive type is written out to its declared depth.

// `json_schema` and `index` express the declarations in MongoDB's terms; `validator` combines them with the application's own
// validator; `plan` finds the differences and `apply` removes them; `words` describes them. `declared` finds indexes that can't
// work on any server; `partial` knows the filters of partial indexes, `language` those of text indexes.
mod apply;
mod declared;
mod existing;
mod id_order;
mod index;
mod json_schema;
mod language;
mod partial;
mod plan;
mod rust_names;
mod uuids;
mod validator;
mod words;

pub use crate::model::document::{Action as ValidationAction, Level as ValidationLevel, Validation};
pub use apply::Applied;
pub(crate) use declared::problems;
pub use existing::Violations;
pub(crate) use existing::indexes;
pub(crate) use index::{least, parallel, referred_once};
pub use plan::{Change, Lacking, Plan};

use crate::model::document::DocumentMeta;
use crate::model::graph::Graph;
use mongodb::bson::{Bson, Document};

/// Whether a declared index finds the documents by the value of this field: one of the document's own, or of its
/// references.
pub(crate) fn has_index_on(meta: &DocumentMeta, graph: &Graph, field: &str) -> bool {
    let own = meta
        .indexes
        .iter()
        .filter_map(|index| index::Index::of(index).ok());
    let implied = graph.outgoing(meta).filter_map(index::Index::implied);
    field == "_id" || own.chain(implied).any(|index| index.begins_with(field))
}

/// Whether two values mean the same to the server: numbers by value, documents without regard to the order of fields.
fn same(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => same_document(a, b),
        (Bson::Array(a), Bson::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

fn same_document(a: &Document, b: &Document) -> bool {
    a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
}

/// A whole number of any type.
fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
        _ => None,
    }
}

/// A whole number in the smallest type that holds it, as the shell would show it without a wrapper.
fn whole(n: i64) -> Bson {
    i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32)
}

fn count(n: u64) -> Bson {
    whole(i64::try_from(n).unwrap_or(i64::MAX))
}

/// `1 document`, `2 documents`.
pub(crate) fn plural(n: u64, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ => format!("{n} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use crate::Odm;

    #[test]
    fn a_task_may_do_everything() {
        fn sendable<T: Send>(_: fn(&'static Odm, &'static super::Plan) -> T) {}
        sendable(|odm, _| odm.plan());
        sendable(|odm, _| odm.sync());
        sendable(|odm, plan| odm.apply(plan));
    }
}

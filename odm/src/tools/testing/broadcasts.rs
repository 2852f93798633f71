//! Which of the commands that a test sent go to all shards of a collection, or are refused by a router.

use super::commands::Sent;
use super::key_values::ShardKey;
use super::targeting::{Because, Refusal, Routing, ShardKeys, Statement, statements};
use std::collections::BTreeSet;

/// The operations that may send statements to all shards: of one collection, or of every one.
#[derive(Clone, Default)]
pub(super) struct AllowedBroadcasts(BTreeSet<(String, Option<String>)>);

impl AllowedBroadcasts {
    pub(super) fn allow(&mut self, operation: &str, collection: Option<&str>) {
        self.0
            .insert((operation.to_owned(), collection.map(str::to_owned)));
    }

    fn contain(&self, operation: &str, collection: &str) -> bool {
        let mut allowed = self.0.iter();
        allowed.any(|(by, of)| by == operation && of.as_deref().is_none_or(|of| of == collection))
    }
}

/// A sentence for each statement that goes to all shards, or that a router refuses, in the order of the commands. Those that differ in
/// values alone are one. `keys` are those of the models, where a handle was made.
pub(super) fn faults(sent: &[Sent], keys: Option<&ShardKeys>, allowed: &AllowedBroadcasts) -> Vec<String> {
    let Some(keys) = keys else {
        let fault =
            "`deny_broadcast` knows no shard key: have `TestDatabase::odm` make a handle of all models";
        return Vec::from_iter((!sent.is_empty()).then(|| fault.to_owned()));
    };
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for sent in sent {
        for statement in statements(&sent.command, keys) {
            let operation = sent.operation.unwrap_or(&sent.name);
            let key = keys.get(&statement.collection);
            if allowed.contain(operation, &statement.collection) {
                continue;
            }
            let fault = key.and_then(|key| fault(operation, sent, &statement, key));
            faults.extend(fault.filter(|fault| seen.insert(fault.clone())));
        }
    }
    faults
}

fn fault(operation: &str, sent: &Sent, statement: &Statement, key: &ShardKey) -> Option<String> {
    let collection = &statement.collection;
    let shape = sent.shape();
    let allow = format!("`.allow_broadcast({operation:?}, {collection:?})` allows it");
    // Each server with joins of sharded collections takes it: it counts by its shards.
    let refusal = statement.refusal.as_ref().filter(|why| **why != Refusal::Joined);
    match (refusal, &statement.routing) {
        (Some(refusal), _) => {
            let before = refusal
                .taken_by()
                .map_or_else(String::new, |version| format!(" before MongoDB {version}"));
            Some(format!(
                "`{operation}` sends a statement on `{collection}` that a router refuses{before}: {refusal}. {}: {shape}",
                advice(refusal, &allow)
            ))
        }
        (None, Routing::Broadcast { unknown, because }) => {
            let (because, advice) = match because {
                Because::NotNamed => (
                    format!("it does not name `{unknown}` of the shard key {}", shown(key)),
                    format!("{}; {allow}", known_by(unknown)),
                ),
                Because::Collation => (
                    format!(
                        "its collation compares `{unknown}` of the shard key {}",
                        shown(key)
                    ),
                    allow,
                ),
                Because::Stage => ("each shard executes its first stage".to_owned(), allow),
            };
            Some(format!(
                "`{operation}` sends a statement to all shards of `{collection}`: {because}. {advice}: {shape}"
            ))
        }
        (None, Routing::Targeted { .. } | Routing::Partial { .. }) => None,
    }
}

fn advice(refusal: &Refusal, allow: &str) -> String {
    match refusal {
        Refusal::WholeKey(field)
        | Refusal::OneShard(field)
        | Refusal::SeveralShards(field)
        | Refusal::KeyOrId(field) => {
            format!("{}; {allow}", known_by(field))
        }
        Refusal::LacksField(field) | Refusal::Array(field) => format!("Give `{field}` one value"),
        Refusal::MergedOn(field) => format!("Add `{field}` to `on`"),
        Refusal::Collation(field) => {
            format!("Leave the collation out, or choose a key without the text `{field}`")
        }
        Refusal::Joined | Refusal::Out | Refusal::DistinctInTransaction => allow.to_owned(),
    }
}

/// What makes a field of the key known.
fn known_by(field: &str) -> String {
    format!(
        "A handle that is `scoped` to `{field}` names it, `.at(…)` does, and so does a reference with `same({field})`"
    )
}

/// The key as it is declared: `(tenant, hashed(_id))`.
fn shown(key: &ShardKey) -> String {
    let fields = key.fields.iter().map(|field| {
        if field.is_hashed {
            format!("hashed({})", field.path)
        } else {
            field.path.clone()
        }
    });
    format!("({})", fields.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{Document, doc};

    fn keys() -> ShardKeys {
        let key = ShardKey::new([("tenant", false), ("_id", true)]);
        ShardKeys::from([("orders".to_owned(), key)])
    }

    fn sent(operation: Option<&'static str>, command: Document) -> Sent {
        let name = command.keys().next().cloned().unwrap_or_default();
        Sent {
            collection: command.get_str(&name).ok().map(str::to_owned),
            name,
            command,
            operation,
        }
    }

    fn found(sent: &[Sent], allowed: &AllowedBroadcasts) -> Vec<String> {
        faults(sent, Some(&keys()), allowed)
    }

    #[test]
    fn a_statement_to_all_shards_is_named_with_what_makes_its_key_known() {
        let get = |id| {
            sent(
                Some("get"),
                doc! { "find": "orders", "filter": { "_id": { "$eq": id } }, "limit": 1 },
            )
        };
        assert_eq!(
            found(&[get(1), get(2)], &AllowedBroadcasts::default()),
            [
                "`get` sends a statement to all shards of `orders`: it does not name `tenant` of the shard key (tenant, hashed(_id)). \
                 A handle that is `scoped` to `tenant` names it, `.at(…)` does, and so does a reference with `same(tenant)`; \
                 `.allow_broadcast(\"get\", \"orders\")` allows it: find orders { filter: { _id: { $eq: ? } }, limit: ? }"
            ]
        );
    }

    #[test]
    fn a_statement_that_a_router_refuses_is_named_with_the_version_that_takes_it() {
        let update =
            doc! { "findAndModify": "orders", "query": { "tenant": 1 }, "update": { "$set": { "x": 1 } } };
        let found = found(&[sent(Some("update"), update)], &AllowedBroadcasts::default());
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with(
                "`update` sends a statement on `orders` that a router refuses before MongoDB 7.1: it needs an equality for `_id`, once."
            ),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_statement_with_the_key_or_its_first_field_is_no_fault() {
        let targeted = doc! { "find": "orders", "filter": { "tenant": 1, "_id": 1 } };
        let partial = doc! { "find": "orders", "filter": { "tenant": 1 } };
        let not_sharded = doc! { "find": "people", "filter": {} };
        let all = [targeted, partial, not_sharded].map(|command| sent(None, command));
        assert_eq!(found(&all, &AllowedBroadcasts::default()), Vec::<String>::new());
    }

    #[test]
    fn a_broadcast_is_allowed_by_operation_and_collection() {
        let count = |operation| sent(operation, doc! { "count": "orders", "query": {} });
        let all = [count(Some("count")), count(Some("audit")), count(None)];
        let of = |operation: &str, collection: Option<&str>| {
            let mut allowed = AllowedBroadcasts::default();
            allowed.allow(operation, collection);
            found(&all, &allowed).len()
        };
        assert_eq!(found(&all, &AllowedBroadcasts::default()).len(), 2);
        // A command of the driver has no operation, and goes by its own name.
        assert_eq!(of("count", Some("orders")), 1);
        assert_eq!(of("count", Some("people")), 2);
        assert_eq!(of("audit", None), 1);
        assert_eq!(of("update", None), 2);
    }

    #[test]
    fn without_a_handle_no_key_is_known() {
        let find = sent(None, doc! { "find": "orders", "filter": {} });
        let faults = |sent: &[Sent]| super::faults(sent, None, &AllowedBroadcasts::default());
        assert!(faults(&[]).is_empty());
        assert!(faults(&[find])[0].contains("`TestDatabase::odm`"));
    }
}

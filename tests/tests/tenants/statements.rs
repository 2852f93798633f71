//! The statements under a collation: where a condition demands the tenant, a pattern that knows no collation stands beside it. This
//! holds whether or not the server of the tests compares by collations.

use futures::FutureExt;
use mongodb::bson::{Bson, Document as Doc};
use mongodb::event::command::CommandEvent;
use odm_tests::fixtures::copying::watched;
use odm_tests::fixtures::operations::{At, Kind, On, TENANTS, collated, plain};
use odm_tests::with_db;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The filters of a command, each with whether it has a collation of its own.
fn filters(command: &Doc) -> Vec<(Doc, bool)> {
    let has_collation = command.contains_key("collation");
    let of = |name: &str| command.get_document(name).ok().cloned();
    let mut all: Vec<(Doc, bool)> = ["filter", "query"]
        .into_iter()
        .filter_map(of)
        .map(|filter| (filter, has_collation))
        .collect();
    for name in ["updates", "deletes", "ops", "pipeline"] {
        let parts = command.get_array(name).into_iter().flatten();
        for part in parts.filter_map(Bson::as_document) {
            let filter = ["q", "filter", "$match"]
                .into_iter()
                .find_map(|name| part.get_document(name).ok());
            let has_collation = has_collation || part.contains_key("collation");
            all.extend(filter.map(|filter| (filter.clone(), has_collation)));
        }
    }
    all
}

/// The conditions on the tenant in a filter.
fn of_tenant<'f>(filter: &'f Doc, all: &mut Vec<&'f Doc>) {
    for (name, value) in filter {
        match value {
            Bson::Document(condition) if name == "tenant" => all.push(condition),
            Bson::Document(inner) => of_tenant(inner, all),
            Bson::Array(parts) => parts
                .iter()
                .filter_map(Bson::as_document)
                .for_each(|part| of_tenant(part, all)),
            _ => {}
        }
    }
}

#[odm_tests::test]
fn a_filter_under_a_collation_has_a_pattern_beside_the_tenant() {
    with_db(async |t| {
        for set in [&plain::SET, &collated::SET] {
            let sent: Arc<Mutex<Vec<Doc>>> = Arc::default();
            let record = sent.clone();
            let odm = watched(&t, (set.models)(), move |event| {
                if let CommandEvent::Started(started) = event {
                    record.lock().unwrap().push(started.command);
                }
            })
            .await;
            odm.sync().await.unwrap();
            let at = At {
                own: TENANTS[0],
                target: TENANTS[0],
            };
            (set.fill)(odm.clone(), at.own).await;
            let scoped = (set.scoped)(&odm, at.own);
            let (mut with_pattern, mut without) = (0, BTreeSet::new());
            for operation in (set.operations)() {
                if operation.kind == Kind::Upkeep {
                    continue;
                }
                sent.lock().unwrap().clear();
                let _ = operation.run(On::Database(scoped.clone()), at).boxed().await;
                for command in std::mem::take(&mut *sent.lock().unwrap()) {
                    // Buckets have no collation of their own.
                    let of_buckets = command.values().next() == Some(&"reading_buckets".into());
                    let is_collated = set.name == collated::SET.name && !of_buckets;
                    for (filter, has_collation) in filters(&command) {
                        let mut conditions = Vec::new();
                        of_tenant(&filter, &mut conditions);
                        let demands = |condition: &&Doc| condition.get("$eq") == Some(&at.own.name.into());
                        if !(has_collation || is_collated) || !conditions.iter().any(demands) {
                            continue;
                        }
                        if conditions
                            .iter()
                            .any(|condition| condition.contains_key("$regex"))
                        {
                            with_pattern += 1;
                        } else {
                            without.insert(format!("{}: {filter}", operation.name));
                        }
                    }
                }
            }
            println!(
                "{}: {with_pattern} filters have a pattern beside the tenant",
                set.name
            );
            assert!(with_pattern > 20, "{}: {with_pattern} filters", set.name);
            assert!(without.is_empty(), "{}: {without:#?}", set.name);
            t.db.drop().await.unwrap();
        }
    });
}

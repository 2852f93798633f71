//! The cost of a million operations a second over a hundred shards, by the shard key: computed from the statements that the operations
//! send. The table stands in the guide, and this test compares it.

use mongodb::bson::Document as Doc;
use mongodb::event::command::CommandEvent;
use odm::__private::targeting::{Routing, ShardKey, ShardKeys, statements};
use odm_tests::fixtures::copying::watched;
use odm_tests::with_transactions;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

const SHARDS: u64 = 100;

const OPERATIONS: u64 = 1_000_000;

/// Over how many shards the documents of a tenant lie where the key has more than the tenant.
const OF_TENANT: u64 = 4;

/// The shop, with shard keys. Ranges in the place of hashes, which not every server of the tests has: a statement names the key, or not.
macro_rules! design {
    ($name:ident, ($($key:tt)*), ($($reference:tt)*)) => {
        mod $name {
            use super::{Doc, ShardKey, ShardKeys};
            use odm::prelude::*;
            use odm::Odm;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "customers", version, shard_key($($key)*))]
            pub struct Customer {
                pub id: ObjectId,
                pub tenant: String,
                pub name: String,
                #[computed(count = Order)]
                pub orders: i64,
                pub version: i64,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "orders", shard_key($($key)*))]
            pub struct Order {
                pub id: ObjectId,
                pub tenant: String,
                #[parent_ref($($reference)*)]
                pub customer: Ref<Customer>,
                #[denormalize(from = customer.name)]
                pub customer_name: String,
            }

            pub fn models() -> [odm::Model; 2] {
                models![Customer, Order]
            }

            pub fn keys() -> ShardKeys {
                let metas = [Customer::META, Order::META];
                let keys = metas.into_iter().filter_map(|meta| Some((meta.collection.to_owned(), ShardKey::of(meta)?)));
                keys.collect()
            }

            /// The commands of each operation: a new order, the name of a customer with ten orders, and these orders.
            pub async fn operations(odm: &Odm, sent: impl Fn() -> Vec<Doc>) -> [Vec<Doc>; 3] {
                let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
                let new = NewCustomer { tenant: "acme".into(), name: "Kate".into() };
                let kate = customers.insert(new).await.unwrap();
                let order = || NewOrder { tenant: "acme".into(), customer: kate.to_ref() };
                orders.insert_many((0..9).map(|_| order())).await.unwrap();
                sent();
                orders.insert(order()).await.unwrap();
                let inserted = sent();
                customers.update(&kate).set(|c| c.name, "Ava").await.unwrap();
                let renamed = sent();
                let read: Vec<Order> = orders.children_of(&kate).all().await.unwrap();
                assert!(read.len() == 10 && read.iter().all(|order| order.customer_name == "Ava"));
                [inserted, renamed, sent()]
            }
        }
    };
}

design!(by_tenant, (tenant), (same(tenant)));
design!(by_tenant_and_id, (tenant, id), (same(tenant)));
design!(by_id, (id), ());
design!(without_same, (tenant, id), ());

/// The cost of an operation.
#[derive(Debug, PartialEq)]
struct Cost {
    /// How many statements the shards execute.
    executed: u64,
    /// On how many shards.
    shards: u64,
}

/// The cost of these commands. A statement of a part of the key goes to the shards of a tenant, and the commit of a transaction of several
/// shards is two statements on each: to prepare it, and to commit.
fn cost(commands: &[Doc], keys: &ShardKeys) -> Cost {
    let mut executed = 0;
    let (mut known, mut most) = (BTreeSet::new(), 0);
    for command in commands {
        for statement in statements(command, keys) {
            let shards = match statement.routing {
                Routing::Targeted { points } => {
                    known.insert(format!("{:?}", statement.values));
                    points as u64
                }
                Routing::Partial { .. } => OF_TENANT,
                Routing::Broadcast { .. } => SHARDS,
            };
            most = most.max(shards);
            executed += shards;
        }
        if command.contains_key("commitTransaction") {
            executed += match most.max(known.len() as u64) {
                1 => 1,
                shards => 2 * shards,
            };
        }
    }
    Cost {
        executed,
        shards: most.max(known.len() as u64),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn cell(cost: &Cost) -> String {
    let of_each = grouped(cost.executed * OPERATIONS / SHARDS);
    match cost.shards {
        1 => format!("1 shard: {of_each}"),
        shards => format!("{shards} shards: {of_each}"),
    }
}

const BEGIN: &str = "<!-- The table of `tests/tests/tenants/load.rs`. -->\n";

#[odm_tests::test]
fn a_million_operations_a_second_cost_what_the_guide_says() {
    with_transactions(async |t| {
        let mut table = String::from(
            "| key | an order is inserted | a customer with ten orders is renamed | its orders are read |\n| --- | --- | --- | --- |\n",
        );
        macro_rules! row {
            ($design:ident, $name:literal) => {{
                let sent: Arc<Mutex<Vec<Doc>>> = Arc::default();
                let record = sent.clone();
                let odm = watched(&t, $design::models(), move |event| {
                    if let CommandEvent::Started(started) = event {
                        record.lock().unwrap().push(started.command);
                    }
                })
                .await;
                odm.sync().await.unwrap();
                let take = || std::mem::take(&mut *sent.lock().unwrap());
                let keys = $design::keys();
                let costs = $design::operations(&odm, take)
                    .await
                    .map(|commands| cost(&commands, &keys));
                let cells = costs.iter().map(cell).collect::<Vec<_>>().join(" | ");
                writeln!(table, "| {} | {cells} |", $name).unwrap();
                t.db.drop().await.unwrap();
                costs
            }};
        }
        let by_tenant = row!(by_tenant, "`shard_key(hashed(tenant))`, `same(tenant)`");
        row!(
            by_tenant_and_id,
            "`shard_key(tenant, hashed(id))`, `same(tenant)`"
        );
        row!(by_id, "`shard_key(hashed(id))`");
        let without_same = row!(without_same, "`shard_key(tenant, hashed(id))` without `same`");
        assert!(by_tenant.iter().all(|cost| cost.shards == 1), "{by_tenant:?}");
        assert!(
            without_same.iter().all(|cost| cost.shards == SHARDS),
            "{without_same:?}"
        );
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/growing.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (before, behind) = page.split_once(BEGIN).expect("the page has the table");
        let (stored, behind) = behind.split_once("\n\n").expect("a text behind the table");
        if std::env::var_os("ODM_WRITE_BOOK").is_some() {
            std::fs::write(&path, format!("{before}{BEGIN}{table}\n{behind}")).unwrap();
        } else {
            assert_eq!(table.trim_end(), stored, "ODM_WRITE_BOOK=1 writes it");
        }
    });
}

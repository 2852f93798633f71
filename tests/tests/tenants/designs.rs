//! One sequence of operations on the same models in several designs: sharded by tenant, by id, by both, each by ranges and by hash. The
//! results are the same, whether the collections lie on one server or on several shards.

use futures::TryStreamExt;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::server::Topology;
use odm::testing::{self, TestDatabase};
use odm_tests::with_transactions;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// The tenants. Each has documents with ids of its own.
const TENANTS: [(&str, i64); 4] = [("ada", 100), ("bob", 200), ("cyd", 300), ("dee", 400)];

const COLLECTIONS: [&str; 4] = ["customers", "orders", "products", "tags"];

/// The id of the document that was made last: each design gives the same ones.
static NEXT: AtomicI64 = AtomicI64::new(0);

fn next_id() -> i64 {
    NEXT.fetch_add(1, Ordering::SeqCst) + 1
}

/// The shop with all of its collections sharded by one key, and what its operations give.
macro_rules! design {
    ($name:ident, $key:tt) => {
        mod $name {
            use super::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "customers", shard_key $key)]
            pub struct Customer {
                #[field(generate = next_id)]
                id: i64,
                #[field(scope)]
                tenant: String,
                name: String,
                #[computed(count = Order)]
                orders: i64,
                #[computed(sum = Order.total)]
                spent: i64,
                #[subset(of = Order, order(-id), limit = 2, fields(total: i64))]
                newest: Vec<NewestItem>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "orders", shard_key $key, version)]
            pub struct Order {
                #[field(generate = next_id)]
                id: i64,
                #[field(scope)]
                tenant: String,
                #[parent_ref(same(tenant), on_delete = cascade)]
                customer: Ref<Customer>,
                #[denormalize(from = customer.name)]
                customer_name: String,
                #[reference(many, max = 9, same(tenant))]
                products: Vec<Ref<Product>>,
                total: i64,
                version: i64,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "products", shard_key $key)]
            pub struct Product {
                #[field(generate = next_id)]
                id: i64,
                #[field(scope)]
                tenant: String,
                slug: String,
                #[reference(many, max = 9, inverse = products, same(tenant))]
                tags: Vec<Ref<Tag>>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "tags", shard_key $key, soft_delete)]
            pub struct Tag {
                #[field(generate = next_id)]
                id: i64,
                #[field(scope)]
                tenant: String,
                #[reference(many, max = 9, inverse = tags, same(tenant))]
                products: Vec<Ref<Product>>,
                deleted_at: Option<DateTime>,
            }

            fn order(total: i64, customer: i64, products: &[i64]) -> NewOrder {
                NewOrder {
                    customer: Ref::new(customer),
                    products: products.iter().copied().map(Ref::new).collect(),
                    total,
                }
            }

            /// Everything that one tenant does, whose ids begin at a number.
            async fn of_tenant(odm: &Odm, tenant: &str, from: i64) -> odm::Result<Vec<String>> {
                let shop = odm.scoped(Customer::paths().tenant, tenant)?;
                let (customers, orders) = (shop.collection::<Customer>(), shop.collection::<Order>());
                let (products, tags) = (shop.collection::<Product>(), shop.collection::<Tag>());
                NEXT.store(from, Ordering::SeqCst);
                let [kate, ben, tea, cup, hot, first] = [1, 2, 3, 4, 5, 6].map(|n| from + n);
                let mut seen = Vec::new();
                let mut note = |what: &str, of: &dyn std::fmt::Debug| seen.push(format!("{what}: {of:?}"));

                // Inserts, with a count, a sum, a subset and the other side of a link.
                for name in ["Kate", "Ben"] {
                    let name = name.to_owned();
                    customers.insert(NewCustomer { name }).await?;
                }
                let new = |slug: &str| NewProduct {
                    slug: slug.to_owned(),
                    tags: Vec::new(),
                };
                products.insert_many(["tea", "cup"].map(new)).await?;
                let named = vec![Ref::new(tea)];
                tags.insert(NewTag { products: named }).await?;
                orders.insert(order(1, kate, &[tea])).await?;
                let more = (2..6).map(|n| order(n, kate, &[tea, cup]));
                orders.insert_many(more).await?;
                orders.insert(order(9, ben, &[])).await?;
                note("inserted", &customers.get(kate).await?);
                note("linked", &products.get(tea).await?);

                // An update that copies follow, by id and by condition.
                let renamed = customers
                    .update(kate)
                    .set(|c| c.name, "Kate Monster")
                    .await?;
                note("copies", &renamed.copies_updated);
                note("copied", &orders.get(first).await?);
                let all = customers
                    .update_where(|c| c.name.eq("Ben"))
                    .set(|c| c.name, "Benjamin");
                note("renamed", &all.await?.copies_updated);
                orders.update(first + 1).inc(|o| o.total, 10).await?;
                orders
                    .update_where(|o| o.total.lt(4))
                    .push(|o| o.products, Ref::new(cup))
                    .await?;
                let read = orders.get(first + 2).await?.expect("is there");
                orders.replace(Order { total: 7, ..read }).await?;
                note("summed", &customers.get(kate).await?);

                // Counts, pages and joins.
                note("count", &orders.find(|o| o.total.gte(4)).count().await?);
                note(
                    "children",
                    &orders
                        .children_of(Ref::<Customer>::new(kate))
                        .count()
                        .await?,
                );
                let page = orders.find_all().sort(|o| o.id.desc()).page(3).await?;
                note("page", &page.items);
                let found = orders.find_all().sort(|o| o.id.asc());
                note(
                    "joined",
                    &found.include(|o| (o.customer, o.products)).all().await?,
                );

                // Deletions: with a cascade, and one that keeps its document until it is restored.
                note("deleted", &customers.delete(ben).await?.deleted);
                note(
                    "cascaded",
                    &orders
                        .find(|o| o.customer.eq(Ref::new(ben)))
                        .count()
                        .await?,
                );
                orders.delete(first + 4).await?;
                products.update(cup).push(|p| p.tags, Ref::new(hot)).await?;
                tags.delete(hot).await?;
                note("kept", &(tags.get(hot).await?, products.get(tea).await?));
                tags.restore(hot).await?;
                note(
                    "restored",
                    &(tags.get(hot).await?, products.get(tea).await?),
                );

                // A transaction of the application, and one that is rolled back.
                let bought = shop.transaction(async |tx| {
                    // Also where it is run again.
                    NEXT.store(from + 20, Ordering::SeqCst);
                    tx.collection::<Order>()
                        .insert(order(20, kate, &[cup]))
                        .await?;
                    tx.collection::<Customer>()
                        .update(kate)
                        .set(|c| c.name, "K.")
                        .await
                });
                note("in a transaction", &bought.await?.copies_updated);
                let missing = orders.insert(order(21, from + 50, &[])).await;
                note(
                    "refused",
                    &matches!(missing, Err(odm::Error::MissingReference { .. })),
                );
                Ok(seen)
            }

            /// What the operations of all tenants give, and the documents after them; `None` where the server has no such index.
            pub async fn used() -> Option<Vec<String>> {
                let db = testing::database().await;
                let odm = match db.odm(models![Customer, Order, Product, Tag]).await {
                    Err(odm::Error::Index { message, .. } | odm::Error::Refused { message, .. })
                        if message.contains("hashed") =>
                    {
                        return None;
                    }
                    made => made.unwrap(),
                };
                let mut seen = Vec::new();
                let is_cluster = odm.server().await.unwrap().topology() == Topology::Sharded;
                for (tenant, from) in TENANTS {
                    let of_tenant = of_tenant(&odm, tenant, from).await;
                    seen.extend(of_tenant.unwrap_or_else(|e| panic!("{}, {tenant}: {e}", stringify!($name))));
                    if is_cluster && tenant == TENANTS[1].0 {
                        for name in COLLECTIONS {
                            spread(&odm, name).await;
                        }
                    }
                }
                // Without a scope.
                let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
                seen.push(format!(
                    "{:?}",
                    customers
                        .find_all()
                        .sort(|c| c.id.asc())
                        .all()
                        .await
                        .unwrap()
                ));
                seen.push(format!(
                    "{:?}",
                    orders.find_all().sort(|o| o.id.asc()).all().await.unwrap()
                ));
                let products = odm.collection::<Product>().find_all().sort(|p| p.id.asc());
                seen.push(format!("{:?}", products.all().await.unwrap()));
                let tags = odm.collection::<Tag>().find_all().sort(|t| t.id.asc());
                seen.push(format!("{:?}", tags.all().await.unwrap()));
                odm_tests::assert_clean_after(&odm, stringify!($name)).await;
                for name in COLLECTIONS.into_iter().filter(|_| is_cluster) {
                    let shards = shards_of(&odm, name).await;
                    assert!(
                        shards.len() > 1,
                        "{}: {name} is on {shards:?}",
                        stringify!($name)
                    );
                }
                close(db).await;
                Some(seen)
            }
        }
    };
}

design!(by_tenant, (tenant));
design!(by_id, (id));
design!(by_both, (tenant, id));
design!(by_hashed_tenant, (hashed(tenant)));
design!(by_hashed_id, (hashed(id)));
design!(by_tenant_and_hashed_id, (tenant, hashed(id)));

async fn close(db: TestDatabase) {
    db.close().await.unwrap();
}

/// The shards that have documents of a collection, and how many.
pub(crate) async fn shards_of(odm: &Odm, collection: &str) -> BTreeMap<String, i64> {
    let documents = odm.database().collection::<Raw>(collection);
    let counted = documents.aggregate([doc! { "$collStats": { "count": {} } }]);
    let counted: Vec<Raw> = counted.await.unwrap().try_collect().await.unwrap();
    let of_shard = counted.iter().filter_map(|of| {
        let n = match of.get("count")? {
            Bson::Int32(n) => i64::from(*n),
            Bson::Int64(n) => *n,
            _ => return None,
        };
        Some((of.get_str("shard").ok()?.to_owned(), n))
    });
    of_shard.filter(|(_, n)| *n > 0).collect()
}

/// Moves a part of a collection to another shard, where all of its documents lie on one.
async fn spread(odm: &Odm, collection: &str) {
    let on = shards_of(odm, collection).await;
    if on.len() > 1 {
        return;
    }
    let client = odm.database().client();
    let config = client.database("config");
    let namespace = format!("{}.{collection}", odm.database().name());
    let shards = config
        .collection::<Raw>("shards")
        .distinct("_id", doc! {})
        .await
        .unwrap();
    let mut others = shards.iter().filter_map(Bson::as_str);
    let to = others
        .find(|shard| !on.contains_key(*shard))
        .expect("another shard");
    let collections = config.collection::<Raw>("collections");
    let sharded = collections.find_one(doc! { "_id": &namespace }).await.unwrap();
    let sharded = sharded.expect("it is sharded");
    let documents = odm.database().collection::<Raw>(collection);
    let last = documents
        .find_one(doc! {})
        .sort(doc! { "_id": -1 })
        .await
        .unwrap();
    let last = last.expect("it has documents");
    let key = sharded.get_document("key").unwrap().keys();
    let find: Raw = key
        .map(|name| (name.clone(), last.get(name).cloned().unwrap_or(Bson::Null)))
        .collect();
    let is_hashed = sharded
        .get_document("key")
        .unwrap()
        .values()
        .any(|kind| kind.as_str().is_some());
    if !is_hashed {
        // It may be one chunk, or begin one already.
        let split = doc! { "split": &namespace, "middle": &find };
        let _ = client.database("admin").run_command(split).await;
    }
    let moved = doc! { "moveChunk": &namespace, "find": find, "to": to };
    client.database("admin").run_command(moved).await.unwrap();
}

#[odm_tests::test]
fn the_results_of_operations_are_the_same_in_each_design_of_shard_keys() {
    with_transactions(async |_| {
        let expected = by_tenant::used().await.expect("by ranges");
        assert!(expected.len() > 60, "{} results", expected.len());
        let others = [
            ("by id", by_id::used().await),
            ("by both", by_both::used().await),
            ("by the hashed tenant", by_hashed_tenant::used().await),
            ("by the hashed id", by_hashed_id::used().await),
            ("by tenant and hashed id", by_tenant_and_hashed_id::used().await),
        ];
        for (design, seen) in others {
            let Some(seen) = seen else { continue };
            for (seen, expected) in seen.iter().zip(&expected) {
                assert_eq!(seen, expected, "{design}");
            }
            assert_eq!(seen.len(), expected.len(), "{design}");
        }
    });
}

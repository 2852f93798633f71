//! Hooks: every way of a write calls them with the documents before and after it, in its transaction or behind it.

use futures::future::{BoxFuture, FutureExt};
use odm::bson::{Document as Doc, doc};
use odm::hooks::{Committed, InTransaction};
use odm::prelude::*;
use odm::write::Bulk;
use odm::{Collection, Error, Result};
use odm_tests::fixtures::edges::through;
use odm_tests::proxy::{Moment, Proxy, server};
use odm_tests::{TestDb, assert_clean_after, with_db, with_transactions};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "customers")]
pub struct Customer {
    pub id: i32,
    pub name: String,
    #[computed(sum = Order.cents)]
    pub cents: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "orders",
    before_write = check,
    after_write(in_transaction) = audit,
    after_write = tell
)]
pub struct Order {
    pub id: i32,
    #[index(unique)]
    pub number: i32,
    #[parent_ref(on_delete = cascade)]
    pub customer: Ref<Customer>,
    #[denormalize(from = customer.name)]
    pub name: String,
    #[field(min = 0)]
    pub cents: i64,
}

/// What `audit` stores.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "changes")]
pub struct OrderChange {
    pub id: ObjectId,
    pub text: String,
}

fn models() -> [odm::Model; 3] {
    models![Customer, Order, OrderChange]
}

/// The calls of the functions below, by the database.
#[derive(Default)]
struct Calls {
    /// The error of each further write, if it is one.
    refuses: bool,
    checked: Vec<String>,
    committed: Vec<String>,
}

static CALLS: Mutex<Option<HashMap<String, Calls>>> = Mutex::new(None);

fn calls<R>(db: &str, work: impl FnOnce(&mut Calls) -> R) -> R {
    let mut all: MutexGuard<'_, Option<HashMap<String, Calls>>> = CALLS.lock().unwrap();
    work(all.get_or_insert_default().entry(db.to_owned()).or_default())
}

fn shown(before: Option<&Order>, after: Option<&Order>) -> String {
    let one =
        |order: Option<&Order>| order.map_or("-".to_owned(), |order| format!("{}:{}", order.id, order.cents));
    format!("{} > {}", one(before), one(after))
}

#[derive(Debug, PartialEq)]
struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not today")
    }
}

impl std::error::Error for Refused {}

async fn check(write: InTransaction<Order>) -> Result<(), Refused> {
    let db = write.tx.collection::<Order>().odm().database().name().to_owned();
    let text = shown(write.before.as_ref(), write.after.as_ref());
    let refuses = calls(&db, |calls| {
        calls.checked.push(text);
        calls.refuses
    });
    if refuses { Err(Refused) } else { Ok(()) }
}

async fn audit(write: InTransaction<Order>) -> Result<()> {
    let text = shown(write.before.as_ref(), write.after.as_ref());
    // The transaction holds the document as it is given.
    if let Some(after) = &write.after {
        let stored = write.tx.collection::<Order>().get(after).await?;
        assert_eq!(stored.as_ref(), Some(after));
    }
    write
        .tx
        .collection::<OrderChange>()
        .insert(NewOrderChange { text })
        .await?;
    Ok(())
}

async fn tell(write: Committed<Order>) -> Result<()> {
    let text = shown(write.before.as_ref(), write.after.as_ref());
    calls(write.odm.database().name(), |calls| calls.committed.push(text));
    Ok(())
}

fn order(id: i32, cents: i64) -> NewOrder {
    NewOrder {
        id,
        number: 100 + id,
        customer: Ref::new(1),
        cents,
    }
}

/// A customer with two orders, and another one without. Forgets the calls.
async fn begin(t: &TestDb, odm: &Odm) {
    calls(t.db.name(), |calls| *calls = Calls::default());
    for collection in ["orders", "changes", "customers"] {
        t.db.collection::<Doc>(collection)
            .delete_many(doc! {})
            .await
            .unwrap();
    }
    let customers = odm.collection::<Customer>();
    let new = |id: i32| NewCustomer {
        id,
        name: format!("customer {id}"),
    };
    customers.insert_many([new(1), new(2)]).await.unwrap();
    odm.collection::<Order>()
        .insert_many([order(1, 10), order(2, 20)])
        .await
        .unwrap();
    t.db.collection::<Doc>("changes")
        .delete_many(doc! {})
        .await
        .unwrap();
    calls(t.db.name(), |calls| *calls = Calls::default());
}

/// All documents, to compare them.
async fn stored(odm: &Odm) -> (Vec<Order>, Vec<Customer>, Vec<String>) {
    let orders = odm.collection::<Order>().find_all().sort(|o| o.id.asc()).all();
    let customers = odm.collection::<Customer>().find_all().sort(|c| c.id.asc()).all();
    let changes = odm
        .collection::<OrderChange>()
        .find_all()
        .sort(|c| c.id.asc())
        .all();
    let changes = changes.await.unwrap().into_iter().map(|change| change.text);
    (orders.await.unwrap(), customers.await.unwrap(), changes.collect())
}

/// The collections and a bulk, within a transaction or outside of one.
struct On {
    orders: Collection<Order>,
    customers: Collection<Customer>,
    bulk: Bulk,
}

type Operation = (
    &'static str,
    fn(On) -> BoxFuture<'static, Result<()>>,
    &'static [&'static str],
);

/// Every way of a write, and what the hooks are called with.
const OPERATIONS: &[Operation] = &[
    (
        "insert",
        |on| async move { on.orders.insert(order(3, 30)).await.map(drop) }.boxed(),
        &["- > 3:30"],
    ),
    (
        "insert_many",
        |on| {
            async move {
                on.orders
                    .insert_many([order(3, 30), order(4, 40)])
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["- > 3:30", "- > 4:40"],
    ),
    (
        "an unordered insert_many",
        |on| async move { on.orders.insert_many([order(3, 30)]).unordered().await.map(drop) }.boxed(),
        &["- > 3:30"],
    ),
    (
        "insert or get",
        |on| {
            async move {
                on.orders
                    .insert(order(3, 30))
                    .or_get_by(|o| o.number)
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["- > 3:30"],
    ),
    (
        "insert or get the one that is there",
        |on| {
            async move {
                on.orders
                    .insert(order(2, 30))
                    .or_get_by(|o| o.number)
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &[],
    ),
    (
        "update",
        |on| async move { on.orders.update(1).inc(|o| o.cents, 5).await.map(drop) }.boxed(),
        &["1:10 > 1:15"],
    ),
    (
        "an update that returns the document",
        |on| {
            async move {
                on.orders
                    .update(1)
                    .inc(|o| o.cents, 5)
                    .returning()
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:15"],
    ),
    (
        "an update that changes nothing",
        |on| async move { on.orders.update(1).set(|o| o.cents, 10).await.map(drop) }.boxed(),
        &[],
    ),
    (
        "update by a unique key",
        |on| {
            async move {
                on.orders
                    .update_by(|o| o.number, 102)
                    .inc(|o| o.cents, 5)
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["2:20 > 2:25"],
    ),
    (
        "an upsert that inserts",
        |on| {
            async move {
                let update = on.orders.update(3).set(|o| o.cents, 30);
                update
                    .set_on_insert(|o| o.customer, Ref::new(1))
                    .set_on_insert(|o| o.number, 103)
                    .upsert()
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["- > 3:30"],
    ),
    (
        "an upsert that updates",
        |on| {
            async move {
                on.orders
                    .update(2)
                    .set(|o| o.cents, 30)
                    .upsert_with(order(2, 30))
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["2:20 > 2:30"],
    ),
    (
        "update_where",
        |on| {
            async move {
                on.orders
                    .update_where(|o| o.cents.gt(5))
                    .inc(|o| o.cents, 5)
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:15", "2:20 > 2:25"],
    ),
    (
        "an upsert by a condition",
        |on| {
            async move {
                let update = on
                    .orders
                    .update_where(|o| o.number.eq(103) & o.id.eq(3))
                    .set(|o| o.cents, 30);
                update.upsert_with(order(3, 0)).await.map(drop)
            }
            .boxed()
        },
        &["- > 3:30"],
    ),
    (
        "update_first",
        |on| {
            async move {
                let first = on.orders.update_first(|o| o.cents.gt(5)).sort(|o| o.cents.desc());
                first.inc(|o| o.cents, 5).returning_before().await.map(drop)
            }
            .boxed()
        },
        &["2:20 > 2:25"],
    ),
    (
        "replace",
        |on| {
            async move {
                let mut order = on.orders.get(1).required().await?;
                order.cents = 11;
                on.orders.replace(order).await.map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:11"],
    ),
    (
        "save a new one, and one that is there",
        |on| {
            async move {
                let mut order = on.orders.get(1).required().await?;
                order.cents = 11;
                on.orders.save(order.clone()).await?;
                (order.id, order.number) = (3, 103);
                on.orders.save(order).await.map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:11", "- > 3:11"],
    ),
    (
        "delete",
        |on| async move { on.orders.delete(1).await.map(drop) }.boxed(),
        &["1:10 > -"],
    ),
    (
        "delete by a unique key",
        |on| async move { on.orders.delete_by(|o| o.number, 102).await.map(drop) }.boxed(),
        &["2:20 > -"],
    ),
    (
        "delete_where",
        |on| async move { on.orders.delete_where(|o| o.cents.gt(5)).await.map(drop) }.boxed(),
        &["1:10 > -", "2:20 > -"],
    ),
    (
        "delete_first",
        |on| {
            async move {
                on.orders
                    .delete_first(|o| o.cents.gt(5))
                    .sort(|o| o.cents.desc())
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["2:20 > -"],
    ),
    (
        "a cascade",
        |on| async move { on.customers.delete(1).await.map(drop) }.boxed(),
        &["1:10 > -", "2:20 > -"],
    ),
    (
        "a bulk",
        |on| {
            async move {
                let upsert = on.orders.update_where(|o| o.number.eq(104) & o.id.eq(4));
                on.bulk
                    .add(on.orders.insert(order(3, 30)))
                    .add(on.orders.update(1).inc(|o| o.cents, 5))
                    // It finds what the writes before it have changed.
                    .add(on.orders.update_where(|o| o.cents.gt(20)).inc(|o| o.cents, 1))
                    .add(
                        upsert
                            .set_on_insert(|o| o.customer, Ref::new(2))
                            .set(|o| o.cents, 40)
                            .upsert(),
                    )
                    .add(on.orders.delete(2))
                    .add(on.customers.update(2).set(|c| c.name, "another"))
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:15", "2:20 > -", "- > 3:31", "- > 4:40"],
    ),
    (
        "a bulk that deletes a document and inserts another one in its place",
        |on| {
            async move {
                let bulk = on
                    .bulk
                    .add(on.orders.delete(1))
                    .add(on.orders.insert(order(1, 5)));
                bulk.add(on.orders.insert(order(3, 1)))
                    .add(on.orders.delete(3))
                    .await
                    .map(drop)
            }
            .boxed()
        },
        &["1:10 > 1:5"],
    ),
];

#[odm_tests::test]
fn every_way_of_a_write_calls_the_hooks_with_the_document_before_and_after_it() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all
        };
        for (name, operation, expected) in OPERATIONS {
            for within in [false, true] {
                let name = format!("{name}, within a transaction of the application: {within}");
                begin(&t, &odm).await;
                let on = || On {
                    orders: odm.collection(),
                    customers: odm.collection(),
                    bulk: odm.bulk(),
                };
                let run = async || {
                    if !within {
                        return operation(on()).await;
                    }
                    odm.transaction(async |tx| {
                        let (orders, customers, bulk) = (tx.collection(), tx.collection(), tx.bulk());
                        operation(On {
                            orders,
                            customers,
                            bulk,
                        })
                        .await
                    })
                    .await
                };
                run().await.unwrap_or_else(|error| panic!("{name}: {error}"));
                let expected: Vec<String> = sorted(expected.iter().map(|one| (*one).to_owned()).collect());
                let (_, _, changes) = stored(&odm).await;
                assert_eq!(sorted(changes), expected, "{name}: what the transaction wrote");
                let (checked, committed) = calls(t.db.name(), |calls| {
                    (calls.checked.clone(), calls.committed.clone())
                });
                assert_eq!(sorted(checked), expected, "{name}: checked");
                assert_eq!(sorted(committed), expected, "{name}: committed");
                assert_clean_after(&odm, &name).await;

                begin(&t, &odm).await;
                let before = stored(&odm).await;
                calls(t.db.name(), |calls| calls.refuses = true);
                let refused = run().await;
                assert_eq!(stored(&odm).await, before, "{name}: refused");
                let committed = calls(t.db.name(), |calls| calls.committed.clone());
                assert_eq!(committed, [""; 0], "{name}: refused");
                if expected.is_empty() {
                    refused.unwrap_or_else(|error| panic!("{name}: {error}"));
                } else {
                    let error = refused.expect_err(&name);
                    let Error::Hook {
                        collection: "orders",
                        hook: "check",
                        source,
                        ..
                    } = &error
                    else {
                        panic!("{name}: {error:?}");
                    };
                    assert_eq!(source.downcast_ref(), Some(&Refused), "{name}");
                }
            }
        }
    });
}

/// The number of the first of two orders that are there.
const TAKEN: i32 = 101;

fn with_number(id: i32, number: i32) -> NewOrder {
    NewOrder {
        number,
        ..order(id, 5)
    }
}

type RefusedOperation = (
    &'static str,
    fn(On) -> BoxFuture<'static, Result<()>>,
    &'static [usize],
);

/// Writes of which the unique index refuses some, with their positions; none of a write that is one.
const REFUSED: &[RefusedOperation] = &[
    (
        "insert",
        |on| async move { on.orders.insert(with_number(7, TAKEN)).await.map(drop) }.boxed(),
        &[],
    ),
    (
        "update",
        |on| async move { on.orders.update(2).set(|o| o.number, TAKEN).await.map(drop) }.boxed(),
        &[],
    ),
    (
        "update_where",
        |on| {
            let update = on.orders.update_where(|o| o.id.eq(2)).set(|o| o.number, TAKEN);
            async move { update.await.map(drop) }.boxed()
        },
        &[],
    ),
    (
        "insert_many",
        |on| {
            let new = [order(7, 5), order(8, 5), with_number(9, TAKEN)];
            async move { on.orders.insert_many(new).await.map(drop) }.boxed()
        },
        &[2],
    ),
    (
        "insert_many, unordered",
        |on| {
            let new = [with_number(7, TAKEN), order(8, 5)];
            async move { on.orders.insert_many(new).unordered().await.map(drop) }.boxed()
        },
        &[0],
    ),
    (
        "bulk of inserts",
        |on| {
            let bulk = on.bulk.add(on.orders.insert(order(7, 5)));
            let bulk = bulk.add(on.orders.insert(with_number(8, TAKEN)));
            async move { bulk.await.map(drop) }.boxed()
        },
        &[1],
    ),
    (
        "bulk with a deletion",
        |on| {
            let bulk = on
                .bulk
                .add(on.orders.delete(2))
                .add(on.orders.insert(order(7, 5)));
            let bulk = bulk.add(on.orders.update(7).set(|o| o.number, TAKEN));
            async move { bulk.await.map(drop) }.boxed()
        },
        &[2],
    ),
    (
        "bulk with an update of many",
        |on| {
            let bulk = on.bulk.add(on.orders.insert(order(7, 5)));
            let bulk = bulk.add(on.orders.update_where(|o| o.id.eq(7)).set(|o| o.number, TAKEN));
            async move { bulk.await.map(drop) }.boxed()
        },
        &[1],
    ),
];

#[odm_tests::test]
fn a_refusal_of_the_server_keeps_its_type_and_position_behind_hooks() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        for (name, operation, expected) in REFUSED {
            for within in [false, true] {
                let name = format!("{name}, within a transaction of the application: {within}");
                begin(&t, &odm).await;
                let before = stored(&odm).await;
                let refused = if within {
                    let run = odm.transaction(async |tx| {
                        let (orders, customers, bulk) = (tx.collection(), tx.collection(), tx.bulk());
                        operation(On {
                            orders,
                            customers,
                            bulk,
                        })
                        .await
                    });
                    run.await
                } else {
                    let (orders, customers, bulk) = (odm.collection(), odm.collection(), odm.bulk());
                    operation(On {
                        orders,
                        customers,
                        bulk,
                    })
                    .await
                };
                let (positions, error) = match refused.expect_err(&name) {
                    Error::InsertMany { mut errors, .. } | Error::Bulk { mut errors, .. } => {
                        let positions: Vec<usize> = errors.iter().map(|(at, _)| *at).collect();
                        (positions, errors.remove(0).1)
                    }
                    error => (Vec::new(), error),
                };
                assert_eq!(positions, *expected, "{name}: {error:?}");
                let Error::DuplicateKey { fields, value, .. } = &error else {
                    panic!("{name}: {error:?}");
                };
                assert_eq!(fields, &["number"], "{name}");
                assert_eq!(**value, doc! { "number": TAKEN }, "{name}");
                assert_eq!(stored(&odm).await, before, "{name}: nothing is written");
                let committed = calls(t.db.name(), |calls| calls.committed.clone());
                assert_eq!(committed, [""; 0], "{name}");
            }
        }
    });
}

#[odm_tests::test]
fn hooks_behind_a_commit_are_called_once_however_often_the_transaction_is_run() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        begin(&t, &odm).await;
        let attempts = &AtomicUsize::new(0);
        let (odm, db) = (&odm, &t.db);
        odm.transaction(async |tx| {
            let orders = tx.collection::<Order>();
            orders.update(1).inc(|o| o.cents, 1).await?;
            orders.get(2).await?;
            if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
                // Of another client, which the snapshot does not show: the next write is a conflict.
                let changed = doc! { "$set": { "cents": 50_i64 } };
                db.collection::<Doc>("orders")
                    .update_one(doc! { "_id": 2 }, changed)
                    .await?;
            }
            orders.update(2).inc(|o| o.cents, 5).await.map(drop)
        })
        .await
        .unwrap();
        assert_eq!(attempts.load(Ordering::Relaxed), 2);
        let committed = calls(t.db.name(), |calls| std::mem::take(&mut calls.committed));
        assert_eq!(committed, ["1:10 > 1:11", "2:50 > 2:55"]);
        assert_eq!(stored(odm).await.2, ["1:10 > 1:11", "2:50 > 2:55"]);

        let rolled_back = odm.transaction(async |tx| {
            tx.collection::<Order>().delete(1).await?;
            Err::<(), _>(Error::application("no"))
        });
        rolled_back.await.unwrap_err();
        assert_eq!(calls(t.db.name(), |calls| calls.committed.len()), 0);
        assert_eq!(stored(odm).await.2.len(), 2);
    });
}

#[odm_tests::test]
fn a_transaction_can_not_be_committed_after_a_hook_has_refused_a_write() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        begin(&t, &odm).await;
        let before = stored(&odm).await;
        calls(t.db.name(), |calls| calls.refuses = true);
        let passed_over = odm.transaction(async |tx| {
            let refused = tx.collection::<Order>().update(1).inc(|o| o.cents, 5).await;
            assert!(matches!(refused, Err(Error::Hook { .. })), "{refused:?}");
            Ok(())
        });
        let error = passed_over.await.unwrap_err();
        assert!(matches!(error, Error::Application(_)), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("`check` refused the write of the document with _id 1: not today"),
            "{error}"
        );
        assert_eq!(stored(&odm).await, before);
    });
}

#[odm_tests::test]
fn writers_of_one_document_each_call_the_hooks_with_their_own_change() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        begin(&t, &odm).await;
        let add = async || odm.collection::<Order>().update(1).inc(|o| o.cents, 1).await;
        let all = futures::future::join_all((0..10).map(|_| add())).await;
        all.into_iter().for_each(|added| drop(added.unwrap()));
        let mut committed = calls(t.db.name(), |calls| calls.committed.clone());
        committed.sort();
        let expected: Vec<String> = (10..20)
            .map(|cents| format!("1:{cents} > 1:{}", cents + 1))
            .collect();
        assert_eq!(committed, expected);

        // Those of one transaction take turns.
        begin(&t, &odm).await;
        odm.transaction(async |tx| {
            let add = async || tx.collection::<Order>().update(1).inc(|o| o.cents, 1).await;
            let (one, other) = futures::future::join(add(), add()).await;
            one.and(other).map(drop)
        })
        .await
        .unwrap();
        let committed = calls(t.db.name(), |calls| calls.committed.clone());
        assert_eq!(committed, ["1:10 > 1:11", "1:11 > 1:12"]);
    });
}

#[odm_tests::test]
fn a_standalone_server_takes_no_document_with_hooks() {
    with_db(async |t| {
        let odm = Odm::new(t.standalone().await, models()).unwrap();
        let is_unsupported = |error: Error| {
            let operation = "a write of documents with hooks (`before_write`, `after_write`)";
            assert!(
                matches!(&error, Error::Unsupported { operation: other, .. } if *other == operation),
                "{error}"
            );
        };
        is_unsupported(odm.sync().await.unwrap_err());
        let customer = NewCustomer {
            id: 1,
            name: "one".into(),
        };
        odm.collection::<Customer>().insert(customer).await.unwrap();
        is_unsupported(odm.collection::<Order>().insert(order(1, 10)).await.unwrap_err());
        is_unsupported(odm.collection::<Customer>().delete(1).await.unwrap_err());
        assert_eq!(odm.collection::<Order>().find_all().count().await.unwrap(), 0);
        assert!(odm.collection::<Customer>().get(1).await.unwrap().is_some());
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pages", after_write = tell_of_page, expire = until)]
pub struct Page {
    pub id: i32,
    pub text: String,
    pub until: Option<DateTime>,
}

async fn tell_of_page(write: Committed<Page>) -> Result<(), String> {
    let id = |page: Option<Page>| page.map_or("-".to_owned(), |page| page.id.to_string());
    let text = format!("{} > {}", id(write.before), id(write.after));
    calls(write.odm.database().name(), |calls| calls.committed.push(text));
    Err("the log has it".to_owned())
}

fn page(id: i32) -> NewPage {
    NewPage {
        id,
        text: "text".into(),
        until: None,
    }
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "leaves")]
pub struct Leaf {
    pub id: i32,
    pub text: String,
}

#[odm_tests::test]
fn a_write_with_hooks_costs_the_reads_of_its_documents_and_a_commit() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page, Leaf]).unwrap();
        odm.sync().await.unwrap();
        let (pages, leaves) = (odm.collection::<Page>(), odm.collection::<Leaf>());
        // A handle asks some things once.
        leaves
            .insert(NewLeaf {
                id: 0,
                text: "a".into(),
            })
            .await
            .unwrap();
        t.commands.clear();
        let sent = |expected: &[&str]| assert_eq!(t.commands.take(), expected);

        pages.insert(page(1)).await.unwrap();
        sent(&["insert", "commitTransaction"]);
        pages.insert_many([page(2), page(3)]).await.unwrap();
        sent(&["insert", "commitTransaction"]);
        pages.update(1).set(|p| p.text, "b").await.unwrap();
        sent(&["find", "update", "find", "commitTransaction"]);
        pages
            .update_where(|p| p.id.gt(1))
            .set(|p| p.text, "b")
            .await
            .unwrap();
        sent(&["find", "update", "find", "commitTransaction"]);
        pages
            .update_first(|p| p.id.gt(1))
            .set(|p| p.text, "c")
            .await
            .unwrap();
        sent(&["find", "find", "update", "find", "commitTransaction"]);
        let one = pages.get(1).required().await.unwrap();
        t.commands.clear();
        pages.replace(one).await.unwrap();
        sent(&["find", "update", "find", "commitTransaction"]);
        pages.delete(1).await.unwrap();
        sent(&["find", "delete", "commitTransaction"]);
        pages.delete_where(|p| p.id.gt(1)).await.unwrap();
        sent(&["find", "find", "delete", "commitTransaction"]);
        odm.transaction(async |tx| {
            tx.collection::<Page>().insert(page(1)).await?;
            tx.collection::<Page>()
                .update(1)
                .set(|p| p.text, "b")
                .await
                .map(drop)
        })
        .await
        .unwrap();
        sent(&["insert", "find", "update", "find", "commitTransaction"]);
        let bulk = odm.bulk().add(pages.update(1).set(|p| p.text, "c"));
        bulk.add(pages.insert(page(4))).await.unwrap();
        let commands = t.commands.take();
        // Two commands before MongoDB 8.0.
        assert!(matches!(commands.len(), 4 | 5), "{commands:?}");

        leaves
            .insert(NewLeaf {
                id: 1,
                text: "a".into(),
            })
            .await
            .unwrap();
        leaves.update(1).set(|l| l.text, "b").await.unwrap();
        leaves.delete(1).await.unwrap();
        sent(&["insert", "update", "delete"]);
    });
}

#[odm_tests::test]
fn more_documents_than_one_transaction_takes_are_written_in_parts_of_a_thousand() {
    odm_tests::takes_long();
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page]).unwrap();
        odm.sync().await.unwrap();
        let pages = odm.collection::<Page>();
        let called = |what: &str| {
            let times = t.commands.times("commitTransaction");
            t.commands.clear();
            let mut committed = calls(t.db.name(), |calls| std::mem::take(&mut calls.committed));
            committed.sort();
            committed.dedup();
            assert_eq!((committed.len(), times), (1_500, 2), "{what}");
        };
        t.commands.clear();
        let stored = pages.insert_many((0..1_500).map(page)).await.unwrap();
        assert_eq!(stored.len(), 1_500);
        called("insert_many");
        let done = pages
            .update_where(|p| p.text.eq("text"))
            .set(|p| p.text, "b")
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1_500, 1_500));
        // The first one has found that they are too many.
        assert_eq!(t.commands.times("commitTransaction"), 3);
        t.commands.clear();
        assert_eq!(
            calls(t.db.name(), |calls| std::mem::take(&mut calls.committed)).len(),
            1_500
        );
        let done = pages.delete_where(|p| p.text.eq("b")).await.unwrap();
        assert_eq!(done.deleted, 1_500);
        called("delete_where");
    });
}

#[odm_tests::test]
fn a_refused_part_of_an_unordered_insert_keeps_back_no_other_part() {
    odm_tests::takes_long();
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page]).unwrap();
        odm.sync().await.unwrap();
        let pages = odm.collection::<Page>();
        pages.insert(page(1_200)).await.unwrap();
        let refused = pages.insert_many((0..2_100).map(page)).unordered().await;
        match refused {
            Err(Error::InsertMany { inserted, errors, .. }) => {
                let positions: Vec<usize> = errors.iter().map(|(at, _)| *at).collect();
                assert_eq!((inserted, positions), (1_100, vec![1_200]));
            }
            other => panic!("{:?}", other.map(|stored| stored.len())),
        }
        // The first part and the last one, and the document that was there.
        assert_eq!(pages.find_all().count().await.unwrap(), 1_101);
    });
}

#[odm_tests::test]
fn documents_that_expire_call_the_hooks() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page, Ticket]).unwrap();
        odm.sync().await.unwrap();
        let until = Some(DateTime::from_millis(0));
        odm.collection::<Page>()
            .insert_many([page(1), NewPage { until, ..page(2) }])
            .await
            .unwrap();
        calls(t.db.name(), |calls| *calls = Calls::default());
        let done = odm.delete_expired().await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 0));
        assert_eq!(calls(t.db.name(), |calls| calls.committed.clone()), ["2 > -"]);
        // One that a hook keeps holds back no other one.
        let tickets = odm.collection::<Ticket>();
        let ticket = |id: i32| NewTicket {
            id,
            until,
            kept: id == 2,
        };
        tickets
            .insert_many([ticket(1), ticket(2), ticket(3)])
            .await
            .unwrap();
        assert_eq!(odm.delete_expired().await.unwrap().deleted, 2);
        let left = tickets.find_all().all().await.unwrap();
        assert_eq!(left.iter().map(|ticket| ticket.id).collect::<Vec<_>>(), [2]);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tickets", before_write = keep, expire = until)]
pub struct Ticket {
    pub id: i32,
    pub until: Option<DateTime>,
    pub kept: bool,
}

/// Documents that are kept when they are deleted are removed when they expire, also where hooks are called for that.
#[odm_tests::test]
fn deleted_documents_that_expire_are_removed_with_the_calls_of_their_hooks() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Draft]).unwrap();
        odm.sync().await.unwrap();
        let drafts = odm.collection::<Draft>();
        drafts
            .insert_many([1, 2].map(|id| NewDraft { id }))
            .await
            .unwrap();
        drafts.delete(1).await.unwrap();
        assert_eq!(odm.delete_expired().await.unwrap().deleted, 1);
        assert!(REMOVED.load(Ordering::SeqCst) > 0, "the hook was called");
        let left = drafts.with_deleted().find_all().all().await.unwrap();
        assert_eq!(left.iter().map(|draft| draft.id).collect::<Vec<_>>(), [2]);
        assert_eq!(odm.delete_expired().await.unwrap().deleted, 0);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "drafts", soft_delete, expire = deleted_at, before_write = allow)]
pub struct Draft {
    pub id: i32,
    pub deleted_at: Option<DateTime>,
}

/// How many removals of deleted drafts the hook has seen.
static REMOVED: AtomicUsize = AtomicUsize::new(0);

async fn allow(write: InTransaction<Draft>) -> Result<(), String> {
    if let (Some(before), None) = (write.before, write.after)
        && before.deleted_at.is_some()
    {
        REMOVED.fetch_add(1, Ordering::SeqCst);
    }
    Ok(())
}

async fn keep(write: InTransaction<Ticket>) -> Result<(), String> {
    match (write.before, write.after) {
        (Some(before), None) if before.kept => Err(format!("ticket {} is kept", before.id)),
        _ => Ok(()),
    }
}

#[odm_tests::test]
fn what_the_server_writes_by_itself_is_not_stored_where_hooks_are() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page, Leaf]).unwrap();
        odm.sync().await.unwrap();
        let error = odm
            .collection::<Leaf>()
            .aggregate()
            .merge("pages")
            .await
            .unwrap_err();
        assert!(error.to_string().contains("`Page` has hooks"), "{error}");
    });
}

#[odm_tests::test]
fn a_document_that_can_not_be_decoded_is_left_as_it_is() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Page]).unwrap();
        let raw = t.db.collection::<Doc>("pages");
        raw.insert_one(doc! { "_id": 1, "text": 5 }).await.unwrap();
        let pages = odm.collection::<Page>();
        // The hook follows the commit: it is not called.
        pages.update(1).set(|p| p.until, None).await.unwrap();
        assert_eq!(calls(t.db.name(), |calls| calls.committed.len()), 0);
        let orders = odm.collection::<Order>();
        let raw = t.db.collection::<Doc>("orders");
        raw.insert_one(doc! { "_id": 1 }).await.unwrap();
        let strange = Odm::new(t.db.clone(), models()).unwrap();
        let error = strange.collection::<Order>().delete(1).await.unwrap_err();
        assert!(matches!(error, Error::Decode { .. }), "{error}");
        assert_eq!(orders.find_all().count().await.unwrap(), 1);
    });
}

/// Its hook writes it again, up to a number.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "echoes", after_write(in_transaction) = echo, after_write = echo_later)]
pub struct Echo {
    pub id: i32,
    pub count: i32,
    pub until: i32,
}

async fn echo(write: InTransaction<Echo>) -> Result<()> {
    if let Some(after) = write.after.filter(|after| after.count < after.until) {
        write
            .tx
            .collection::<Echo>()
            .update(after.id)
            .inc(|e| e.count, 1)
            .await?;
    }
    Ok(())
}

/// The same behind the commit, with numbers below zero.
async fn echo_later(write: Committed<Echo>) -> Result<()> {
    if let Some(after) = write.after.filter(|after| after.count < 0) {
        write
            .odm
            .collection::<Echo>()
            .update(after.id)
            .inc(|e| e.count, 1)
            .await?;
    }
    Ok(())
}

#[odm_tests::test]
fn hooks_that_write_call_hooks_up_to_a_depth() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Echo]).unwrap();
        odm.sync().await.unwrap();
        let echoes = odm.collection::<Echo>();
        echoes
            .insert(NewEcho {
                id: 1,
                count: 0,
                until: 3,
            })
            .await
            .unwrap();
        assert_eq!(echoes.get(1).await.unwrap().map(|echo| echo.count), Some(3));
        let error = echoes
            .insert(NewEcho {
                id: 2,
                count: 0,
                until: 100,
            })
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the hooks of documents have called each other 8 times"),
            "{error}"
        );
        assert_eq!(echoes.get(2).await.unwrap(), None);
        // Behind a commit the next write is a transaction of its own.
        for (id, count) in [(3, -3), (4, -100)] {
            let until = -100;
            echoes.insert(NewEcho { id, count, until }).await.unwrap();
        }
        let counts = echoes
            .find(|e| e.id.gte(3))
            .sort(|e| e.id.asc())
            .all()
            .await
            .unwrap();
        let counts: Vec<i32> = counts.iter().map(|echo| echo.count).collect();
        assert!(matches!(counts[..], [0, -95..=-90]), "{counts:?}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "topics")]
pub struct Topic {
    pub id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "threads")]
pub struct Thread {
    pub id: i32,
    pub title: String,
    #[computed(count = Answer)]
    pub answers: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "answers", before_write = accept)]
pub struct Answer {
    pub id: i32,
    #[parent_ref]
    pub thread: Ref<Thread>,
    #[reference]
    pub topic: Ref<Topic>,
}

async fn accept(_: InTransaction<Answer>) -> Result<()> {
    Ok(())
}

/// Inserts an answer, and changes its thread.
async fn answer(odm: Odm, id: i32) -> Result<()> {
    let answer = NewAnswer {
        id,
        thread: Ref::new(1),
        topic: Ref::new(id),
    };
    let bulk = odm.bulk().add(odm.collection::<Answer>().insert(answer));
    let bulk = bulk.add(
        odm.collection::<Thread>()
            .update(1)
            .set(|t| t.title, format!("answer {id}")),
    );
    bulk.await.map(drop)
}

/// The write has its turn at the thread until it is committed. Undoing the insert is a transaction of its own at the thread, which
/// takes its turn after a conflict.
#[odm_tests::test]
fn undoing_a_write_after_its_commit_does_not_wait_for_the_turn_of_that_write() {
    with_transactions(async |t| {
        let models = || models![Topic, Thread, Answer];
        let direct = Odm::new(t.db.clone(), models()).unwrap();
        direct.sync().await.unwrap();
        let topics = (1..=3).map(|id| NewTopic { id });
        direct.collection::<Topic>().insert_many(topics).await.unwrap();
        let thread = NewThread {
            id: 1,
            title: "new".into(),
        };
        direct.collection::<Thread>().insert(thread).await.unwrap();
        let proxy = Proxy::start(&server().await, 0).await;
        let odm = Odm::new(through(&proxy, t.db.name()).await, models()).unwrap();
        answer(odm.clone(), 1).await.unwrap();
        proxy.arm();
        answer(odm.clone(), 2).await.unwrap();
        let sent = proxy.take_names();
        let commit = sent.iter().position(|name| name == "commitTransaction").unwrap();

        proxy.hold(commit + 1, Moment::BeforeReply);
        let written = tokio::spawn(answer(odm, 3));
        proxy.reached().await;
        // The topic is deleted after the commit, and another process writes the thread.
        let topics = t.db.collection::<Doc>("topics");
        topics.delete_one(doc! { "_id": 3 }).await.unwrap();
        let mut other = t.db.client().start_session().await.unwrap();
        other.start_transaction().await.unwrap();
        let title = doc! { "$set": { "title": "of another process" } };
        let threads = t.db.collection::<Doc>("threads");
        let locked = threads.update_one(doc! { "_id": 1 }, title).session(&mut other);
        locked.await.unwrap();
        proxy.take_conflicts();
        proxy.release();
        let begun = Instant::now();
        while proxy.take_conflicts() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", proxy.names());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        other.abort_transaction().await.unwrap();
        let written = tokio::time::timeout(Duration::from_secs(20), written).await;
        let error = written.expect("it has its turn").unwrap().unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error:?}");
        let thread = direct.collection::<Thread>().get(1).required().await.unwrap();
        assert_eq!((thread.answers, thread.title.as_str()), (2, "answer 3"));
        assert_clean_after(&direct, "the insert is undone").await;
    });
}

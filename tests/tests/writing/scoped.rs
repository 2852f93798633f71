//! Handles of one tenant: no read finds the documents of another one, and no write reaches them.

use futures::TryStreamExt;
use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};
use serde::{Deserialize, Serialize};

/// Customers and orders belong to a tenant; currencies are everybody's.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "currencies")]
struct Currency {
    #[serde(rename = "_id")]
    id: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "customers", index(fields(tenant, slug), unique))]
struct Customer {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: String,
    slug: String,
    #[computed(count = Order)]
    orders: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: String,
    #[parent_ref]
    customer: Ref<Customer>,
    #[denormalize(from = customer.slug)]
    customer_slug: String,
    #[reference]
    currency: Ref<Currency>,
    cents: i64,
}

/// A model with a tenant that the application supplies.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "invoices")]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
}

/// One whose field of this name is something else.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "flats")]
struct Flat {
    #[serde(rename = "_id")]
    id: i32,
    tenant: i32,
}

fn of(odm: &Odm, tenant: &str) -> Odm {
    odm.scoped::<Order>(|o| o.tenant.eq(tenant)).unwrap()
}

/// Each of the tenants `a` and `b` has a customer `kate` with an order.
async fn tenants(t: &TestDb) -> (Odm, Odm, Odm) {
    let odm = Odm::new(t.db.clone(), models![Currency, Customer, Order, Invoice]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<Currency>()
        .insert(NewCurrency { id: "EUR".into() })
        .await
        .unwrap();
    for (id, tenant) in [(1, "a"), (2, "b")] {
        let scoped = of(&odm, tenant);
        let slug = "kate".to_owned();
        let customer = scoped
            .collection()
            .insert(NewCustomer { id, slug })
            .await
            .unwrap();
        assert_eq!(customer.tenant, tenant);
        let order = scoped.collection::<Order>().insert(order(id, id)).await.unwrap();
        assert_eq!(
            (order.tenant.as_str(), order.customer_slug.as_str()),
            (tenant, "kate")
        );
    }
    let (a, b) = (of(&odm, "a"), of(&odm, "b"));
    (odm, a, b)
}

fn order(id: i32, customer: i32) -> NewOrder {
    NewOrder {
        id,
        customer: Ref::new(customer),
        currency: Ref::new("EUR".into()),
        cents: 100,
    }
}

#[odm_tests::test]
fn no_read_finds_documents_of_another_tenant() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let (customers, orders) = (a.collection::<Customer>(), a.collection::<Order>());
        assert_eq!(odm.collection::<Order>().find_all().count().await.unwrap(), 2);
        assert_eq!(orders.get(2).await.unwrap(), None);
        assert_eq!(orders.find(|o| o.cents.gte(0)).all().await.unwrap().len(), 1);
        assert_eq!(orders.find_all().count().await.unwrap(), 1);
        assert!(!orders.exists_where(|o| o.id.eq(2)).await.unwrap());
        assert_eq!(orders.find_all().distinct(|o| o.id).await.unwrap(), [1]);
        assert_eq!(orders.find_all().page(5).await.unwrap().items.len(), 1);
        let streamed: Vec<Order> = orders
            .find_all()
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(streamed.len(), 1);
        let sums: Vec<odm::bson::Document> = orders
            .aggregate()
            .group(|o| o.customer, |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!(sums.len(), 1);
        // Within the scope the slug is unique.
        assert_eq!(
            customers
                .get_by(|c| c.slug.eq("kate"))
                .required()
                .await
                .unwrap()
                .id,
            1
        );

        // What another tenant's document names is not found either.
        let theirs = Ref::<Customer>::new(2);
        let loaded = theirs.load(&a).await;
        assert!(
            matches!(loaded, Err(Error::MissingReference { .. })),
            "{loaded:?}"
        );
        let rows = orders
            .find_all()
            .include(|o| (o.customer, o.currency))
            .all()
            .await
            .unwrap();
        assert_eq!(rows.len(), 1);
        let rows = customers
            .find_all()
            .include(|c| c.children::<Order>())
            .lookup()
            .all()
            .await
            .unwrap();
        assert_eq!(rows.iter().map(|row| row.1.len()).collect::<Vec<_>>(), [1]);
        let union = doc! { "$unionWith": { "coll": "orders", "pipeline": [{ "$match": { "cents": 100 } }] } };
        let all: Vec<odm::bson::Document> = customers.aggregate().stage(union).all().await.unwrap();
        assert_eq!(all.len(), 2);
    });
}

#[odm_tests::test]
fn no_write_reaches_documents_of_another_tenant() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let orders = a.collection::<Order>();
        let theirs = odm.collection::<Order>().get(2).required().await.unwrap();
        let done = orders.update(2).set(|o| o.cents, 0).await;
        assert!(matches!(done, Err(Error::NotFound { .. })), "{done:?}");
        assert_eq!(
            orders
                .update_where(|_| odm::Filter::all())
                .set(|o| o.cents, 1)
                .await
                .unwrap()
                .matched,
            1
        );
        assert_eq!(
            orders
                .update_first(|o| o.id.eq(2))
                .inc(|o| o.cents, 1)
                .await
                .unwrap()
                .matched,
            0
        );
        assert_eq!(orders.delete(2).await.unwrap().deleted, 0);
        assert_eq!(orders.delete_where(|o| o.id.gte(2)).await.unwrap().deleted, 0);
        assert_eq!(orders.delete_first(|o| o.id.eq(2)).await.unwrap(), None);
        let replaced = orders.replace(theirs.clone()).await;
        assert!(matches!(replaced, Err(Error::OutOfScope { .. })), "{replaced:?}");
        let mut ours = theirs.clone();
        ours.tenant = "a".into();
        let replaced = orders.replace(ours.clone()).await;
        assert!(matches!(replaced, Err(Error::NotFound { .. })), "{replaced:?}");
        let saved = orders.save(ours).await;
        assert!(saved.is_err(), "{saved:?}");
        let bulk = a
            .bulk()
            .update::<Order>(2, |o| o.set(|o| o.cents, 5))
            .delete::<Order>(2)
            .await
            .unwrap();
        assert_eq!((bulk.matched, bulk.deleted, bulk.missed), (0, 0, 1));
        // Nor does an update take a document out of the scope.
        let moved = orders.update(1).raw(doc! { "$set": { "tenant": "b" } }).await;
        assert!(matches!(moved, Err(Error::OutOfScope { .. })), "{moved:?}");
        let renamed = orders
            .update(1)
            .raw(doc! { "$rename": { "customer_slug": "tenant" } })
            .await;
        assert!(renamed.is_err(), "{renamed:?}");
        assert_eq!(odm.collection::<Order>().get(2).required().await.unwrap(), theirs);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn references_and_copies_stay_within_the_tenant() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let orders = a.collection::<Order>();
        let crossing = orders.insert(order(3, 2)).await;
        match crossing {
            Err(Error::MissingReference { target, ids, .. }) => {
                assert_eq!((target, ids), ("customers", vec![2.into()]));
            }
            other => panic!("{other:?}"),
        }
        let moved = orders.update(1).set(|o| o.customer, Ref::new(2)).await;
        assert!(matches!(moved, Err(Error::MissingReference { .. })), "{moved:?}");
        assert_eq!(
            odm.collection::<Customer>()
                .get(2)
                .required()
                .await
                .unwrap()
                .orders,
            1
        );
        a.collection::<Customer>()
            .update(1)
            .set(|c| c.slug, "kit")
            .await
            .unwrap();
        assert_eq!(orders.get(1).required().await.unwrap().customer_slug, "kit");
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn new_documents_belong_to_the_scope() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let lacking = odm
            .collection::<Customer>()
            .insert(NewCustomer {
                id: 9,
                slug: "x".into(),
            })
            .await;
        assert!(
            matches!(lacking, Err(Error::OutOfScope { scope: None, .. })),
            "{lacking:?}"
        );
        let many = a
            .collection::<Order>()
            .insert_many((3..6).map(|id| order(id, 1)))
            .await
            .unwrap();
        assert!(many.iter().all(|order| order.tenant == "a"));
        let invoices = a.collection::<Invoice>();
        let theirs = invoices
            .insert(NewInvoice {
                id: 1,
                tenant: "b".into(),
            })
            .await;
        assert!(matches!(theirs, Err(Error::OutOfScope { .. })), "{theirs:?}");
        let (own, theirs) = (
            NewInvoice {
                id: 1,
                tenant: "a".into(),
            },
            NewInvoice {
                id: 2,
                tenant: "b".into(),
            },
        );
        match invoices.insert_many([own, theirs]).unordered().await {
            Err(Error::InsertMany { inserted, errors, .. }) => {
                assert_eq!((inserted, errors.len(), errors[0].0), (1, 1, 1));
            }
            other => panic!("{other:?}"),
        }
        a.collection::<Customer>()
            .update(7)
            .set(|c| c.slug, "new")
            .upsert()
            .await
            .unwrap();
        let new = odm.collection::<Customer>().get(7).required().await.unwrap();
        assert_eq!((new.tenant.as_str(), new.slug.as_str()), ("a", "new"));
        let insert = a.collection::<Customer>().insert(NewCustomer {
            id: 8,
            slug: "new".into(),
        });
        let found = insert.or_get_by(|c| (c.tenant, c.slug)).await.unwrap();
        assert_eq!((found.inserted, found.document.id), (false, 7));
    });
}

#[odm_tests::test]
fn transactions_have_the_scope_of_their_handle() {
    odm_tests::with_transactions(async |t| {
        let (odm, a, _) = tenants(&t).await;
        a.transaction(async |tx| {
            assert_eq!(tx.collection::<Order>().find_all().count().await?, 1);
            tx.collection::<Order>()
                .update_where(|_| odm::Filter::all())
                .set(|o| o.cents, 7)
                .await?;
            tx.collection::<Order>().insert(order(3, 1)).await.map(drop)
        })
        .await
        .unwrap();
        let cents = odm
            .collection::<Order>()
            .find_all()
            .sort(|o| o.id.asc())
            .all()
            .await
            .unwrap();
        let cents: Vec<_> = cents
            .iter()
            .map(|order| (order.tenant.as_str(), order.cents))
            .collect();
        assert_eq!(cents, [("a", 7), ("b", 100), ("a", 100)]);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn what_no_scope_can_hold_for_is_refused() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let both = of(&a, "b");
        assert_eq!(both.collection::<Order>().find_all().count().await.unwrap(), 0);
        for scope in [
            odm.scoped::<Order>(|o| o.cents.gte(1)),
            odm.scoped::<Order>(|_| odm::Filter::all()),
            odm.scoped::<Order>(|o| o.tenant.eq("a") | o.tenant.eq("b")),
        ] {
            assert!(matches!(scope, Err(Error::Query { .. })), "{scope:?}");
        }
        let mixed = Odm::new(t.db.clone(), models![Currency, Customer, Order, Flat]).unwrap();
        let mixed = mixed.scoped::<Order>(|o| o.tenant.eq("a"));
        assert!(matches!(mixed, Err(Error::Models { .. })), "{mixed:?}");
        let watched = a.collection::<Order>().watch_all().start().await;
        assert!(matches!(watched, Err(Error::Query { .. })), "{watched:?}");
        assert!(a.watch().start().await.is_err());
        let merged = a
            .collection::<Order>()
            .aggregate()
            .group(|o| o.customer, |g| g.count("n"))
            .merge("invoices")
            .await;
        assert!(matches!(merged, Err(Error::Query { .. })), "{merged:?}");
    });
}

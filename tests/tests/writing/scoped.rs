//! Handles of one tenant: no read finds the documents of another one, and no write reaches them.

use futures::TryStreamExt;
use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};
use serde::{Deserialize, Serialize};

/// Customers and orders belong to a tenant; currencies are everybody's.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "currencies", shared(tenant))]
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
    odm.scoped(Order::paths().tenant, tenant).unwrap()
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
            customers.get_by(|c| c.slug, "kate").required().await.unwrap().id,
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
        let rows = customers.find_all().include(|c| c.children::<Order>()).lookup();
        match rows.all().await {
            // Before MongoDB 5.0.
            Err(Error::Unsupported { .. }) if !a.server().await.unwrap().has_lookup_with_pipeline() => {}
            rows => assert_eq!(
                rows.unwrap().iter().map(|row| row.1.len()).collect::<Vec<_>>(),
                [1]
            ),
        }
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
        assert_eq!(orders.update_all().set(|o| o.cents, 1).await.unwrap().matched, 1);
        assert_eq!(
            orders
                .update_first(|o| o.id.eq(2))
                .inc(|o| o.cents, 1)
                .await
                .unwrap()
                .matched,
            0
        );
        assert_eq!(orders.delete(2).optional().await.unwrap(), None);
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
            .add(orders.update(2).set(|o| o.cents, 5))
            .add(orders.delete(2))
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
            tx.collection::<Order>().update_all().set(|o| o.cents, 7).await?;
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
        let (_, a, _) = tenants(&t).await;
        let both = of(&a, "b");
        assert_eq!(both.collection::<Order>().find_all().count().await.unwrap(), 0);
        let mixed = Odm::new(t.db.clone(), models![Currency, Customer, Order, Flat]).unwrap();
        let mixed = mixed.scoped(Order::paths().tenant, "a");
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

/// A shop by its number, which the application supplies.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tills")]
struct Till {
    #[serde(rename = "_id")]
    id: i32,
    shop: i64,
    cents: i64,
}

/// A shop by its number, which is that of the handle.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "receipts")]
struct Receipt {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    shop: i64,
    cents: i64,
}

#[odm_tests::test]
fn no_update_moves_a_document_to_another_tenant() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Till, Receipt]).unwrap();
        let first = odm.scoped(Till::paths().shop, 1).unwrap();
        let (tills, receipts) = (first.collection::<Till>(), first.collection::<Receipt>());
        let till = Till {
            id: 1,
            shop: 1,
            cents: 1,
        };
        tills.insert(till.clone()).await.unwrap();
        receipts.insert(NewReceipt { id: 1, cents: 1 }).await.unwrap();
        let refused = |what: &str, done: Result<(), Error>| {
            let field = match &done {
                Err(Error::OutOfScope { field, .. }) => Some(field.clone()),
                Err(Error::Bulk { errors, .. }) => match errors.first() {
                    Some((0, Error::OutOfScope { field, .. })) => Some(field.clone()),
                    _ => None,
                },
                _ => None,
            };
            assert_eq!(field.as_deref(), Some("shop"), "{what}: {done:?}");
        };
        // Each with the scope's value as its operand.
        refused("update", tills.update(1).inc(|r| r.shop, 1).await.map(drop));
        let by_condition = tills.update_where(|r| r.cents.eq(1)).mul(|r| r.shop, 1);
        refused("update_where", by_condition.await.map(drop));
        let first_one = tills.update_first(|r| r.cents.eq(1)).max(|r| r.shop, 1);
        refused("update_first", first_one.await.map(drop));
        let bulk = first.bulk().add(tills.update(1).inc(|r| r.shop, 1));
        refused("bulk", bulk.await.map(drop));
        let bulk = first
            .bulk()
            .add(tills.update_where(|r| r.cents.eq(1)).min(|r| r.shop, 1));
        refused("bulk by a condition", bulk.await.map(drop));
        let upsert = tills.update(2).inc(|r| r.shop, 1).set(|r| r.cents, 1).upsert();
        refused("upsert", upsert.await.map(drop));
        let upsert = tills.update_where(|r| r.id.eq(2)).inc(|r| r.shop, 1).upsert();
        refused("upsert by a condition", upsert.await.map(drop));
        for operator in [
            "$inc",
            "$mul",
            "$max",
            "$min",
            "$unset",
            "$push",
            "$bit",
            "$currentDate",
        ] {
            let raw = doc! { operator: { "shop": 1_i64 } };
            refused(operator, tills.update(1).raw(raw.clone()).await.map(drop));
            refused(operator, receipts.update(1).raw(raw.clone()).await.map(drop));
            refused(operator, receipts.update_all().raw(raw).await.map(drop));
        }
        let other = tills.update(1).raw(doc! { "$rename": { "cents": "shop" } });
        refused("$rename", other.await.map(drop));
        let other = tills
            .update(2)
            .set(|r| r.cents, 1)
            .set_on_insert(|r| r.shop, 2)
            .upsert();
        refused("$setOnInsert", other.await.map(drop));

        // The value of the scope itself may be written again.
        tills.update(1).set(|r| r.shop, 1).await.unwrap();
        tills.replace(till.clone()).await.unwrap();
        let new = tills.update(3).set(|r| r.cents, 1).set_on_insert(|r| r.shop, 1);
        new.upsert().await.unwrap();
        let all = odm.collection::<Till>().find_all().sort(|r| r.id.asc()).all();
        assert_eq!(
            all.await.unwrap(),
            [
                till,
                Till {
                    id: 3,
                    shop: 1,
                    cents: 1
                }
            ]
        );
        // A handle without a scope may move a document.
        odm.collection::<Till>()
            .update(3)
            .inc(|r| r.shop, 1)
            .await
            .unwrap();
        assert_eq!(tills.get(3).await.unwrap(), None);
    });
}

/// A field that is stored under another name than in the other documents.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tickets")]
#[serde(rename_all = "camelCase")]
struct Ticket {
    #[serde(rename = "_id")]
    id: i32,
    tenant_id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "replies")]
struct Reply {
    #[serde(rename = "_id")]
    id: i32,
    tenant_id: i32,
}

/// Everybody's, and it says so for the name that is stored.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "colours", shared("tenantId"))]
struct Colour {
    #[serde(rename = "_id")]
    id: i32,
}

#[odm_tests::test]
fn a_type_without_the_field_of_the_scope_is_refused_unless_it_is_shared() {
    with_db(async |t| {
        let problem = |scoped: odm::Result<Odm>| match scoped {
            Err(Error::Models { problems }) => problems.concat(),
            other => panic!("{other:?}"),
        };
        let odm = Odm::new(t.db.clone(), models![Ticket, Reply, Colour]).unwrap();
        let named_otherwise = problem(odm.scoped(Ticket::paths().tenant_id, 1));
        assert!(
            named_otherwise.contains("`Reply`") && named_otherwise.contains("shared(tenantId)"),
            "{named_otherwise}"
        );
        // `Colour` is shared by another field.
        let shared_otherwise = problem(odm.scoped(Reply::paths().tenant_id, 1));
        assert!(
            shared_otherwise.contains("`Colour`") && shared_otherwise.contains("`Ticket`"),
            "{shared_otherwise}"
        );

        let odm = Odm::new(t.db.clone(), models![Ticket, Colour]).unwrap();
        let scoped = odm.scoped(Ticket::paths().tenant_id, 1).unwrap();
        odm.collection()
            .insert(NewTicket { id: 1, tenant_id: 2 })
            .await
            .unwrap();
        odm.collection().insert(NewColour { id: 1 }).await.unwrap();
        assert_eq!(scoped.collection::<Ticket>().find_all().count().await.unwrap(), 0);
        assert_eq!(scoped.collection::<Colour>().find_all().count().await.unwrap(), 1);
        // A type that is not registered is refused by each of its operations.
        let replies = scoped.collection::<Reply>();
        let reply = || NewReply { id: 1, tenant_id: 1 };
        let filter = odm::Filter::always;
        let refused = |done: Result<(), Error>| {
            assert!(matches!(done, Err(Error::Models { .. })), "{done:?}");
        };
        refused(replies.get(1).await.map(drop));
        refused(replies.watch_all().start().await.map(drop));
        refused(replies.find_all().all().await.map(drop));
        refused(replies.find_all().count().await.map(drop));
        refused(replies.find_all().distinct(|r| r.id).await.map(drop));
        refused(replies.aggregate().all::<Reply>().await.map(drop));
        refused(replies.insert(reply()).await.map(drop));
        match replies.insert_many([reply()]).await {
            Err(Error::InsertMany { errors, .. }) => {
                assert!(matches!(errors[..], [(0, Error::Models { .. })]), "{errors:?}");
            }
            other => panic!("{other:?}"),
        }
        refused(replies.update(1).set(|r| r.tenant_id, 1).await.map(drop));
        refused(
            replies
                .update_where(|_| filter())
                .set(|r| r.tenant_id, 1)
                .await
                .map(drop),
        );
        refused(
            replies
                .update_first(|_| filter())
                .set(|r| r.tenant_id, 1)
                .await
                .map(drop),
        );
        refused(replies.replace(Reply { id: 1, tenant_id: 1 }).await.map(drop));
        refused(replies.save(Reply { id: 1, tenant_id: 1 }).await.map(drop));
        refused(replies.delete(1).await.map(drop));
        refused(replies.delete_where(|_| filter()).await.map(drop));
        refused(replies.delete_first(|_| filter()).await.map(drop));
        // So are stages that read a collection of which nothing is known.
        for stage in [
            doc! { "$lookup": { "from": "replies", "localField": "_id", "foreignField": "_id", "as": "r" } },
            doc! { "$lookup": { "from": { "db": "other", "coll": "tickets" }, "pipeline": [], "as": "r" } },
            doc! { "$graphLookup": {
                "from": "replies", "startWith": "$_id", "connectFromField": "_id", "connectToField": "_id", "as": "r",
            } },
            doc! { "$unionWith": "replies" },
            // It counts the documents of all scopes.
            doc! { "$set": { "found": ["$$SEARCH_META.count"] } },
            doc! { "$facet": { "a": [{ "$unionWith": { "coll": "replies", "pipeline": [] } }] } },
        ] {
            let read = scoped.collection::<Ticket>().aggregate().stage(stage.clone());
            let read = read.all::<odm::bson::Document>().await;
            assert!(matches!(read, Err(Error::Query { .. })), "{stage}: {read:?}");
        }
    });
}

/// The pages of a chat, in which each bucket has the tenant of its room.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "rooms")]
struct Room {
    #[serde(rename = "_id")]
    id: i32,
    #[field(scope)]
    tenant: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Room, size = 2, rename(parent = chat), scope(#[field(max_len = 20)] tenant: String))]
struct Line {
    text: String,
}

#[odm_tests::test]
fn buckets_belong_to_the_tenant_of_their_parent() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Room, LineBucket]).unwrap();
        odm.sync().await.unwrap();
        let of = |tenant: &str| odm.scoped(Room::paths().tenant, tenant).unwrap();
        let (a, b) = (of("a"), of("b"));
        for (id, scoped) in [(1, &a), (2, &b)] {
            scoped.collection().insert(NewRoom { id }).await.unwrap();
            let lines = (0..3).map(|n| Line { text: n.to_string() });
            scoped
                .buckets::<Line>()
                .push_many(&Ref::<Room>::new(id), lines)
                .await
                .unwrap();
        }
        let (own, theirs) = (Ref::<Room>::new(1), Ref::<Room>::new(2));
        let lines = a.buckets::<Line>();
        assert_eq!(lines.count(own).await.unwrap(), 3);
        assert_eq!(lines.count(theirs).await.unwrap(), 0);
        assert_eq!(lines.page(theirs, 1).await.unwrap(), []);
        assert_eq!(lines.collection().find_all().count().await.unwrap(), 2);
        let crossing = lines.push(theirs, Line { text: "x".into() }).await;
        assert!(
            matches!(crossing, Err(Error::MissingReference { .. })),
            "{crossing:?}"
        );
        // A handle without a scope can't say which tenant the items belong to.
        let unscoped = odm
            .buckets::<Line>()
            .push_many(&own, [Line { text: "x".into() }, Line { text: "y".into() }])
            .await;
        assert!(unscoped.is_err(), "{unscoped:?}");
        let pages = odm
            .collection::<LineBucket>()
            .find_all()
            .sort(|b| b.page.asc())
            .all()
            .await
            .unwrap();
        let mut tenants: Vec<_> = pages.iter().map(|page| page.tenant.as_str()).collect();
        tenants.sort_unstable();
        assert_eq!(tenants, ["a", "a", "b", "b"]);
        assert_clean(&odm).await;
    });
}

/// Everybody's orders, says a type that is not registered.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders", shared(tenant))]
struct OrderTotal {
    #[serde(rename = "_id")]
    id: i32,
    cents: i64,
}

#[odm_tests::test]
fn no_other_type_opens_a_collection_whose_type_has_the_field() {
    with_db(async |t| {
        let (_, a, _) = tenants(&t).await;
        let totals = a.collection::<OrderTotal>();
        let read = totals.find_all().all().await;
        assert!(matches!(read, Err(Error::Models { .. })), "{read:?}");
        let watched = totals.watch_all().start().await.map(drop);
        assert!(matches!(watched, Err(Error::Models { .. })), "{watched:?}");
    });
}

/// Tenants, whose readings are in buckets: the field of the parent is that of the scope.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "plants", shared(plant))]
struct Plant {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Plant, size = 10)]
struct Reading {
    celsius: i32,
}

#[odm_tests::test]
fn items_for_another_parent_than_that_of_the_scope_are_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Plant, ReadingBucket]).unwrap();
        odm.sync().await.unwrap();
        for id in [1, 2] {
            odm.collection().insert(NewPlant { id }).await.unwrap();
        }
        let first = odm.scoped(ReadingBucket::paths().plant, Ref::new(1)).unwrap();
        let readings = first.buckets::<Reading>();
        let (own, theirs) = (Ref::<Plant>::new(1), Ref::<Plant>::new(2));
        readings.push(own, Reading { celsius: 1 }).await.unwrap();
        let refused = readings.push(theirs, Reading { celsius: 2 }).await;
        assert!(matches!(refused, Err(Error::OutOfScope { .. })), "{refused:?}");
        let all = odm.collection::<ReadingBucket>().find_all().all().await.unwrap();
        assert_eq!(all.iter().map(|page| page.count).collect::<Vec<_>>(), [1]);
    });
}

#[odm_tests::test]
fn upkeep_by_a_scoped_handle_concerns_all_tenants() {
    with_db(async |t| {
        let (odm, a, _) = tenants(&t).await;
        let customers = t.db.collection::<odm::bson::Document>("customers");
        let wrong = doc! { "$set": { "orders": 7_i64 } };
        customers.update_many(doc! {}, wrong).await.unwrap();
        assert_eq!(
            a.audit().await.unwrap().to_string(),
            odm.audit().await.unwrap().to_string()
        );
        a.repair_all().await.unwrap();
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_bulk_refuses_writes_of_another_scope() {
    with_db(async |t| {
        let (odm, a, b) = tenants(&t).await;
        t.commands.clear();
        let refused = async |what: &str, bulk: odm::write::Bulk| {
            let done = bulk.await;
            let Err(Error::Bulk { errors, .. }) = &done else {
                panic!("{what}: {done:?}");
            };
            let [(1, error @ Error::Query { .. })] = &errors[..] else {
                panic!("{what}: {errors:?}");
            };
            assert!(error.to_string().contains("in another scope"), "{what}: {error}");
            assert!(t.commands.take().is_empty(), "{what}");
        };
        let deletes = |of: &Odm, id: i32| of.collection::<Order>().delete(id);
        let first = |of: &Odm| of.bulk().add(deletes(of, 1));
        refused("another tenant", first(&a).add(deletes(&b, 2))).await;
        refused("no tenant", first(&a).add(deletes(&odm, 2))).await;
        refused("a tenant", first(&odm).add(deletes(&a, 1))).await;
        refused("deleted ones", first(&a).add(deletes(&a.with_deleted(), 1))).await;
        assert_eq!(odm.collection::<Order>().find_all().count().await.unwrap(), 2);
        // Two handles with the same condition are of one scope.
        let done = first(&a).add(deletes(&of(&odm, "a"), 7)).await.unwrap();
        assert_eq!(done.deleted, 1);
    });
}

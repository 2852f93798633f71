//! References to documents with the same value in a field: `same(tenant)`. Whatever writes one, a document with another value counts as
//! missing.

use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm_tests::{require_transactions, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shops")]
struct Shop {
    id: i32,
    tenant: i32,
    name: String,
    #[computed(count = Order)]
    orders: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    tenant: i32,
    #[parent_ref(same(tenant))]
    shop: Ref<Shop>,
    #[denormalize(from = shop.name)]
    shop_name: String,
    #[reference(many, max = 5, same(tenant))]
    tags: Vec<Ref<Tag>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tags")]
struct Tag {
    id: i32,
    tenant: i32,
    #[reference(many, max = 5, inverse = related, same(tenant))]
    related: Vec<Ref<Tag>>,
}

fn models() -> [odm::Model; 3] {
    models![Shop, Order, Tag]
}

fn order(id: i32, tenant: i32, shop: i32, tags: &[i32]) -> NewOrder {
    NewOrder {
        id,
        tenant,
        shop: Ref::new(shop),
        tags: tags.iter().copied().map(Ref::new).collect(),
    }
}

/// Shops and tags 1 of tenant 1, and 2 of tenant 2.
async fn filled(odm: &Odm) {
    odm.sync().await.unwrap();
    for n in [1, 2] {
        let name = format!("shop {n}");
        let shop = NewShop {
            id: n,
            tenant: n,
            name,
        };
        odm.collection::<Shop>().insert(shop).await.unwrap();
        let tag = NewTag {
            id: n,
            tenant: n,
            related: Vec::new(),
        };
        odm.collection::<Tag>().insert(tag).await.unwrap();
    }
}

fn is_missing<T: std::fmt::Debug>(refused: odm::Result<T>, field: &str, id: i32) {
    match refused {
        Err(Error::MissingReference { field: of, ids, .. }) => {
            assert_eq!((of.as_str(), ids), (field, vec![id.into()]));
        }
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn a_document_of_another_tenant_is_missing() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        require_transactions(&odm).await;
        filled(&odm).await;
        is_missing(
            odm.collection::<Order>().insert(order(10, 1, 2, &[])).await,
            "shop",
            2,
        );
        is_missing(
            odm.collection::<Order>().insert(order(10, 1, 1, &[1, 2])).await,
            "tags",
            2,
        );
        let kept = odm
            .collection::<Order>()
            .insert(order(10, 1, 1, &[1]))
            .await
            .unwrap();
        assert_eq!(kept.shop_name, "shop 1");
        let orders = odm.collection::<Order>();

        // By its id alone, in a scope, and as a whole.
        is_missing(orders.update(10).set(|o| o.shop, Ref::new(2)).await, "shop", 2);
        is_missing(orders.update(10).push(|o| o.tags, Ref::new(2)).await, "tags", 2);
        let scoped = odm.scoped(Order::paths().tenant, 1).unwrap();
        let own = scoped.collection::<Order>();
        is_missing(own.update(10).set(|o| o.shop, Ref::new(2)).await, "shop", 2);
        let changed = Order {
            shop: Ref::new(2),
            ..kept.clone()
        };
        is_missing(orders.replace(changed).await, "shop", 2);

        // Of two orders in one insert one is refused.
        let several = orders
            .insert_many([order(11, 1, 1, &[]), order(12, 2, 1, &[])])
            .await;
        assert!(several.is_err(), "{several:?}");

        // What the update of many does not say can't be compared.
        let many = orders
            .update_where(|o| o.id.gte(0))
            .set(|o| o.shop, Ref::new(1))
            .await;
        assert!(matches!(many, Err(Error::Query { .. })), "{many:?}");
        let many = orders
            .update_where(|o| o.tenant.eq(1))
            .set(|o| o.shop, Ref::new(2))
            .await;
        is_missing(many, "shop", 2);
        let many = orders
            .update_where(|o| o.tenant.eq(1))
            .set(|o| o.shop, Ref::new(1))
            .await;
        assert!(many.unwrap().matched >= 1);

        let stored = orders.get(10).await.unwrap().unwrap();
        assert_eq!(stored, kept);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn the_other_side_of_a_link_has_the_same_tenant() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        require_transactions(&odm).await;
        filled(&odm).await;
        let tags = odm.collection::<Tag>();
        let new = |id: i32, tenant: i32, related: i32| NewTag {
            id,
            tenant,
            related: vec![Ref::new(related)],
        };
        is_missing(tags.insert(new(3, 1, 2)).await, "related", 2);
        tags.insert(new(3, 1, 1)).await.unwrap();
        is_missing(
            tags.update(3).add_to_set(|t| t.related, Ref::new(2)).await,
            "related",
            2,
        );
        let one = tags.get(1).await.unwrap().unwrap();
        assert_eq!(one.related, [Ref::new(3)]);
        odm_tests::assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn no_update_changes_a_field_that_is_the_same_in_other_documents() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        filled(&odm).await;
        let (orders, shops) = (odm.collection::<Order>(), odm.collection::<Shop>());
        odm.collection::<Order>()
            .insert(order(10, 1, 1, &[]))
            .await
            .unwrap();
        for refused in [
            orders.update(10).set(|o| o.tenant, 2).await.map(drop),
            orders
                .update_where(|o| o.id.eq(10))
                .inc(|o| o.tenant, 1)
                .await
                .map(drop),
            shops.update(1).set(|s| s.tenant, 2).await.map(drop),
        ] {
            assert!(
                matches!(&refused, Err(Error::Immutable { field, .. }) if field == "tenant"),
                "{refused:?}"
            );
        }
        assert_eq!(orders.get(10).await.unwrap().unwrap().tenant, 1);
    });
}

#[odm_tests::test]
fn an_audit_finds_a_reference_to_a_document_of_another_tenant() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        require_transactions(&odm).await;
        filled(&odm).await;
        odm.collection::<Order>()
            .insert(order(10, 1, 1, &[1]))
            .await
            .unwrap();
        let raw = t.db.collection::<odm::bson::Document>("orders");
        let by_another_program = doc! { "$set": { "tags": [1, 2] } };
        raw.update_one(doc! { "_id": 10 }, by_another_program)
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        let of_tags = audit.references.iter().find(|one| one.field == "tags").unwrap();
        assert_eq!((of_tags.checked, of_tags.dangling.count), (2, 1), "{audit}");
    });
}

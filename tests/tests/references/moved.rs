//! Documents by their ids and values of the shard key (`at`).

use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::testing::TestDatabase;
use odm_tests::with_transactions;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shops", shard_key(tenant, id), version)]
struct Shop {
    id: i32,
    tenant: i64,
    name: String,
    version: i64,
}

/// A parcel of a shop in any tenant.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parcels", shard_key(tenant, region), soft_delete)]
struct Parcel {
    id: ObjectId,
    tenant: i64,
    region: String,
    #[reference]
    shop: Ref<Shop>,
    #[denormalize(from = shop.name)]
    shop_name: String,
    #[denormalize(from = shop.tenant)]
    shop_tenant: i64,
    grams: i64,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "plain")]
struct Plain {
    id: i32,
    tenant: i64,
}

fn models() -> [odm::Model; 3] {
    models![Shop, Parcel, Plain]
}

/// Shop `n` of a tenant, and a parcel of it.
async fn filled(odm: &Odm, n: i32, tenant: i64) -> (Shop, Parcel) {
    let shop = NewShop {
        id: n,
        tenant,
        name: format!("shop {n}"),
    };
    let shop = odm.collection::<Shop>().insert(shop).await.unwrap();
    let parcel = NewParcel {
        tenant,
        region: "north".into(),
        shop: shop.to_ref(),
        grams: 5,
    };
    let parcel = odm.collection::<Parcel>().insert(parcel).await.unwrap();
    (shop, parcel)
}

async fn stocked() -> (TestDatabase, Odm, Shop, Parcel) {
    // The shop of a parcel may be of any tenant.
    let db = odm::testing::database().await.deny_broadcast();
    let db = db.allow_broadcast("insert", "shops");
    let odm = db.odm(models()).await.unwrap();
    let (shop, parcel) = filled(&odm, 1, 1).await;
    db.commands().clear();
    (db, odm, shop, parcel)
}

/// The filters of the statements on a collection that were sent.
fn filters(db: &TestDatabase, collection: &str) -> Vec<Doc> {
    let mut all = Vec::new();
    for sent in db.commands().all() {
        if sent.collection.as_deref() != Some(collection) {
            continue;
        }
        for name in ["filter", "query"] {
            all.extend(sent.command.get_document(name).ok().cloned());
        }
        for list in ["updates", "deletes"] {
            let list = sent.command.get_array(list).into_iter().flatten();
            all.extend(list.filter_map(|one| one.as_document()?.get_document("q").ok().cloned()));
        }
    }
    db.commands().clear();
    all
}

fn name_the_key(db: &TestDatabase, collection: &str, key: Doc) {
    let filters = filters(db, collection);
    assert!(!filters.is_empty());
    for filter in filters {
        for (name, value) in &key {
            let demanded = match filter.get(name) {
                Some(Bson::Document(operators)) => operators.get("$eq"),
                demanded => demanded,
            };
            assert_eq!(demanded, Some(value), "{filter}");
        }
    }
}

fn is_not_found<T: std::fmt::Debug>(made: odm::Result<T>, expected: Doc) {
    match made {
        Err(Error::NotFound { key, .. }) => assert_eq!(*key, expected),
        other => panic!("{other:?}"),
    }
}

fn is_refused<T: std::fmt::Debug>(made: odm::Result<T>, says: &str) {
    match made {
        Err(Error::Query { message, .. }) => assert!(message.contains(says), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn an_operation_by_an_id_and_the_key_finds_its_document_on_one_shard() {
    with_transactions(async |_| {
        let (db, odm, shop, parcel) = stocked().await;
        let (shops, parcels) = (odm.collection::<Shop>(), odm.collection::<Parcel>());
        assert_eq!(
            shops.get(1).at(|s| s.tenant, 1).await.unwrap(),
            Some(shop.clone())
        );
        name_the_key(&db, "shops", doc! { "tenant": 1_i64 });
        let many = shops.get_many([1, 7, 1]).at(|s| s.tenant, 1).await.unwrap();
        assert_eq!(many, [shop.clone(), shop.clone()]);
        name_the_key(&db, "shops", doc! { "tenant": 1_i64 });

        // The version, the change and the copies that follow.
        let named = shops
            .update(1)
            .at(|s| s.tenant, 1)
            .if_version(shop.version)
            .set(|s| s.name, "first")
            .returning()
            .await;
        assert_eq!(named.unwrap().name, "first");
        name_the_key(&db, "shops", doc! { "tenant": 1_i64 });
        let found = parcels
            .get(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "north")
            .required()
            .await
            .unwrap();
        assert_eq!(found.shop_name, "first");
        name_the_key(&db, "parcels", doc! { "tenant": 1_i64, "region": "north" });

        let upserted = shops
            .update(2)
            .at(|s| s.tenant, 5)
            .set_on_insert(|s| s.name, "second")
            .upsert()
            .returning();
        assert_eq!(upserted.await.unwrap().tenant, 5);
        shops.delete(2).at(|s| s.tenant, 5).await.unwrap();
        name_the_key(&db, "shops", doc! { "tenant": 5_i64 });

        let at = doc! { "tenant": 1_i64, "region": "north" };
        let of = |delete: odm::write::Delete<Parcel>| delete.at(|p| p.tenant, 1).at(|p| p.region, "north");
        of(parcels.delete(parcel.id)).await.unwrap();
        name_the_key(&db, "parcels", at.clone());
        let restored = parcels
            .restore(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "north");
        assert!(restored.await.unwrap().restored);
        name_the_key(&db, "parcels", at.clone());
        of(parcels.delete(parcel.id)).await.unwrap();
        of(parcels.purge(parcel.id)).await.unwrap();
        name_the_key(&db, "parcels", at);

        // With a condition, and in a bulk.
        let change = shops.update(1).at(|s| s.tenant, 1).filter(|s| s.name.eq("first"));
        let changed = change.set(|s| s.name, "by a condition").await.unwrap();
        assert_eq!(changed.matched, 1);
        name_the_key(&db, "shops", doc! { "tenant": 1_i64 });
        let (_, parcel) = filled(&odm, 3, 1).await;
        let change = parcels
            .update(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "north");
        odm.bulk().add(change.set(|p| p.grams, 6)).await.unwrap();
        let found = parcels
            .get(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "north")
            .await;
        assert_eq!(found.unwrap().map(|parcel| parcel.grams), Some(6));
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_document_with_another_key_is_not_found() {
    with_transactions(async |_| {
        let (db, odm, shop, parcel) = stocked().await;
        let (shops, parcels) = (odm.collection::<Shop>(), odm.collection::<Parcel>());
        let key = doc! { "_id": 1, "tenant": 2_i64 };
        assert_eq!(shops.get(1).at(|s| s.tenant, 2).await.unwrap(), None);
        is_not_found(shops.get(1).at(|s| s.tenant, 2).required().await, key.clone());
        assert_eq!(shops.get_many([1]).at(|s| s.tenant, 2).await.unwrap(), []);
        let update = || shops.update(1).at(|s| s.tenant, 2).set(|s| s.name, "other");
        is_not_found(update().await, key.clone());
        is_not_found(update().if_version(shop.version).await, key.clone());
        is_not_found(update().returning().await, key.clone());
        assert!(update().optional().await.unwrap().is_none());
        is_not_found(shops.update(1).at(|s| s.tenant, 2).await, key.clone());
        is_not_found(shops.delete(1).at(|s| s.tenant, 2).await, key.clone());
        let both = shops.get(1).at(|s| s.tenant, 1).at(|s| s.tenant, 2);
        assert_eq!(both.await.unwrap(), None);

        // A deleted one is told from one that is elsewhere.
        let at = |region: &'static str| {
            parcels
                .update(parcel.id)
                .at(|p| p.tenant, 1)
                .at(|p| p.region, region)
        };
        let key = |region: &str| doc! { "_id": parcel.id, "tenant": 1_i64, "region": region };
        parcels
            .delete(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "north")
            .await
            .unwrap();
        match at("north").set(|p| p.grams, 1).await {
            Err(Error::NotFound {
                key: found, deleted, ..
            }) => {
                assert_eq!((*found, deleted), (key("north"), true));
            }
            other => panic!("{other:?}"),
        }
        match at("south").set(|p| p.grams, 1).await {
            Err(Error::NotFound {
                key: found, deleted, ..
            }) => {
                assert_eq!((*found, deleted), (key("south"), false));
            }
            other => panic!("{other:?}"),
        }
        let restored = parcels
            .restore(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "south");
        assert!(!restored.await.unwrap().restored);
        let purged = parcels
            .purge(parcel.id)
            .at(|p| p.tenant, 1)
            .at(|p| p.region, "south");
        is_not_found(purged.await, key("south"));
        db.close().await.unwrap();

        // What one operation of a transaction is told of a document is not what another one goes by.
        let db = odm::testing::database().await;
        let odm = db.odm(models()).await.unwrap();
        let (shop, _) = filled(&odm, 1, 1).await;
        odm.transaction(async |tx| {
            let shops = tx.collection::<Shop>();
            assert_eq!(shops.get(1).at(|s| s.tenant, 2).await?, None);
            let missed = shops.update(1).at(|s| s.tenant, 2).set(|s| s.name, "other");
            assert!(missed.optional().await?.is_none());
            let elsewhere = shops.find(|s| s.id.eq(1) & s.tenant.eq(2)).one().await?;
            assert_eq!(elsewhere, None);
            assert_eq!(shops.get(1).await?, Some(shop.clone()));
            Ok(())
        })
        .await
        .unwrap();
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_field_that_is_not_in_the_key_is_refused() {
    with_transactions(async |_| {
        let (db, odm, _, _) = stocked().await;
        let (shops, plain) = (odm.collection::<Shop>(), odm.collection::<Plain>());
        let says = "`name` is no field of that of `Shop`, which has `tenant`, `_id`";
        is_refused(shops.get(1).at(|s| s.name, "shop 1").await, says);
        is_refused(shops.get(1).at(|s| s.name, "shop 1").required().await, says);
        is_refused(shops.get_many([1]).at(|s| s.name, "").await, says);
        is_refused(shops.update(1).at(|s| s.name, "").set(|s| s.name, "").await, says);
        is_refused(shops.delete(1).at(|s| s.tenant, 1).at(|s| s.name, "").await, says);
        is_refused(plain.delete(1).at(|p| p.tenant, 1).await, "`Plain` declares none");
        let sent = db.commands().all();
        let sent: Vec<_> = sent
            .iter()
            .filter(|sent| sent.collection.as_deref() != Some("odm_edges"))
            .collect();
        assert!(sent.is_empty(), "{sent:?}");
        db.close().await.unwrap();
    });
}

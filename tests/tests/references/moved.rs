//! Documents by their ids and values of the shard key (`at`), and changes of the shard key (`move_to`).

use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::server::Topology;
use odm::testing::TestDatabase;
use odm_tests::{TestDb, assert_clean, with_transactions};

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

fn is_immutable<T: std::fmt::Debug>(made: odm::Result<T>, of: &str, name: &str) {
    match made {
        Err(error) => {
            assert!(
                matches!(&error, Error::Immutable { collection, field, .. } if *collection == of && field == name),
                "{error:?}"
            );
            let says = error.to_string();
            assert!(says.contains("move_to"), "{says}");
        }
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

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "clubs", shard_key(tenant, id), version, soft_delete)]
struct Club {
    id: i32,
    tenant: i64,
    #[index(unique(global))]
    email: String,
    name: String,
    #[reference(same(tenant))]
    league: Option<Ref<League>>,
    #[reference(same(tenant))]
    rival: Option<Ref<Club>>,
    version: i64,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "leagues", shard_key(tenant, id))]
struct League {
    id: i32,
    tenant: i64,
}

/// It is of the tenant of its club.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "players", soft_delete)]
struct Player {
    id: i32,
    tenant: i64,
    #[reference(same(tenant), on_delete = keep)]
    club: Ref<Club>,
    deleted_at: Option<DateTime>,
}

/// A fan of a club of any tenant.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "fans", shared(tenant))]
struct Fan {
    id: i32,
    #[reference]
    club: Ref<Club>,
    #[denormalize(from = club.name)]
    club_name: String,
    #[denormalize(from = club.tenant)]
    club_tenant: i64,
}

fn of_clubs() -> [odm::Model; 4] {
    models![Club, League, Player, Fan]
}

fn player(id: i32, tenant: i64, club: i32) -> NewPlayer {
    NewPlayer {
        id,
        tenant,
        club: Ref::new(club),
    }
}

/// Leagues 1 and 2 of the tenants 1 and 2, and clubs 1 and 2 of tenant 1 with a fan each.
async fn with_clubs(odm: &Odm) -> Vec<Club> {
    let leagues = [1, 2].map(|n| NewLeague {
        id: n,
        tenant: n.into(),
    });
    odm.collection::<League>().insert_many(leagues).await.unwrap();
    let clubs = [1, 2].map(|n| NewClub {
        id: n,
        tenant: 1,
        email: format!("{n}@clubs"),
        name: format!("club {n}"),
        league: None,
        rival: None,
    });
    let clubs = odm.collection::<Club>().insert_many(clubs).await.unwrap();
    let fans = [1, 2].map(|n| NewFan {
        id: n,
        club: Ref::new(n),
    });
    odm.collection::<Fan>().insert_many(fans).await.unwrap();
    clubs
}

async fn clubs(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), of_clubs()).unwrap();
    odm.sync().await.unwrap();
    with_clubs(&odm).await;
    odm
}

fn is_referred<T: std::fmt::Debug>(made: odm::Result<T>, from: &str, ids: &[i32]) {
    match made {
        Err(Error::StillReferenced {
            by, sample, count, ..
        }) => {
            let expected: Vec<Bson> = ids.iter().copied().map(Bson::from).collect();
            assert_eq!((by, sample, count), (from, expected, ids.len() as u64));
        }
        other => panic!("{other:?}"),
    }
}

fn is_missing<T: std::fmt::Debug>(made: odm::Result<T>, of: &str) {
    match made {
        Err(Error::MissingReference { field, .. }) => assert_eq!(field, of),
        other => panic!("{other:?}"),
    }
}

async fn tenant(odm: &Odm, club: i32) -> i64 {
    odm.collection::<Club>()
        .get(club)
        .required()
        .await
        .unwrap()
        .tenant
}

#[odm_tests::test]
fn a_moved_document_takes_its_copies_and_claims_with_it() {
    with_transactions(async |_| {
        let db = odm::testing::database().await.deny_broadcast();
        let db = db.allow_broadcast("insert_many", "clubs");
        let odm = db.odm(of_clubs()).await.unwrap();
        let clubs = with_clubs(&odm).await;
        let all = odm.collection::<Club>();
        db.commands().clear();
        let moved = all
            .update(&clubs[0])
            .move_to(|c| c.tenant, 2)
            .set(|c| c.name, "moved");
        let done = moved.await.unwrap();
        assert_eq!((done.matched, done.modified, done.copies_updated), (1, 1, 1));
        let sent = db.commands().all();
        let mut of_write = sent.iter().filter(|sent| {
            let is_write = matches!(sent.name.as_str(), "findAndModify" | "update");
            is_write && sent.collection.as_deref() == Some("clubs")
        });
        assert!(
            of_write.all(|sent| sent.command.contains_key("autocommit")),
            "{sent:?}"
        );
        let named = filters(&db, "clubs");
        assert!(
            named.iter().all(|filter| filter.contains_key("tenant")),
            "{named:?}"
        );

        let club = all.get(1).at(|c| c.tenant, 2).required().await.unwrap();
        assert_eq!(
            (club.tenant, club.name.as_str(), club.version),
            (2, "moved", clubs[0].version + 1)
        );
        assert_eq!(all.get(1).at(|c| c.tenant, 1).await.unwrap(), None);
        let fan = odm.collection::<Fan>().get(1).required().await.unwrap();
        assert_eq!((fan.club_name.as_str(), fan.club_tenant), ("moved", 2));
        let other = odm.collection::<Fan>().get(2).required().await.unwrap();
        assert_eq!(other.club_tenant, 1);
        // The claim names the shard of its owner.
        let by_email = all.get_by(|c| c.email, "1@clubs").await.unwrap();
        assert_eq!(by_email, Some(club));
        let returned = all
            .update(2)
            .at(|c| c.tenant, 1)
            .move_to(|c| c.tenant, 3)
            .returning();
        assert_eq!(returned.await.unwrap().tenant, 3);
        // Where it is already.
        let stays = all.update(2).at(|c| c.tenant, 3).move_to(|c| c.tenant, 3);
        assert_eq!(stays.await.unwrap().matched, 1);
        is_not_found(
            all.update(2).at(|c| c.tenant, 1).move_to(|c| c.tenant, 3).await,
            doc! { "_id": 2, "tenant": 1_i64 },
        );
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_document_that_others_refer_to_with_the_same_value_is_not_moved() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let (all, players) = (odm.collection::<Club>(), odm.collection::<Player>());
        players
            .insert_many([player(1, 1, 1), player(2, 1, 1)])
            .await
            .unwrap();
        let before = all.get(1).required().await.unwrap();
        let moved = || all.update(1).move_to(|c| c.tenant, 2);
        is_referred(moved().await, "players", &[1, 2]);
        players.delete(1).await.unwrap();
        // One that is deleted may come back.
        is_referred(moved().await, "players", &[1, 2]);
        players.purge(1).await.unwrap();
        is_referred(moved().set(|c| c.name, "moved").await, "players", &[2]);
        assert_eq!(all.get(1).required().await.unwrap(), before);
        players.update(2).set(|p| p.club, Ref::new(2)).await.unwrap();
        moved().await.unwrap();
        is_missing(players.insert(player(3, 1, 1)).await, "club");
        players.insert(player(3, 2, 1)).await.unwrap();

        // A rival of its own.
        all.update(2).set(|c| c.rival, Ref::new(2)).await.unwrap();
        players.delete(2).await.unwrap();
        players.purge(2).await.unwrap();
        all.update(2).move_to(|c| c.tenant, 2).await.unwrap();
        all.update(1).set(|c| c.rival, Ref::new(2)).await.unwrap();
        is_referred(all.update(2).move_to(|c| c.tenant, 1).await, "clubs", &[1]);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn the_references_of_a_moved_document_are_checked_with_its_new_value() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let all = odm.collection::<Club>();
        all.update(1).set(|c| c.league, Ref::new(1)).await.unwrap();
        let before = all.get(1).required().await.unwrap();
        let moved = || all.update(1).move_to(|c| c.tenant, 2);
        is_missing(moved().await, "league");
        is_missing(moved().set(|c| c.league, Ref::new(1)).await, "league");
        assert_eq!(all.get(1).required().await.unwrap(), before);
        moved().set(|c| c.league, Ref::new(2)).await.unwrap();
        let club = all.get(1).required().await.unwrap();
        assert_eq!((club.tenant, club.league), (2, Some(Ref::new(2))));
        all.update(1)
            .move_to(|c| c.tenant, 3)
            .unset(|c| c.league)
            .await
            .unwrap();
        assert_eq!(tenant(&odm, 1).await, 3);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn every_other_way_to_change_the_key_names_the_one_that_does() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let all = odm.collection::<Club>();
        let club = all.get(1).required().await.unwrap();
        let other = Club {
            tenant: 2,
            ..club.clone()
        };
        for refused in [
            all.update(1).set(|c| c.tenant, 2).await.map(drop),
            all.update_where(|c| c.id.eq(1))
                .inc(|c| c.tenant, 1)
                .await
                .map(drop),
            all.update_first(|c| c.id.eq(1))
                .set(|c| c.tenant, 2)
                .await
                .map(drop),
            all.update_by(|c| c.email, "1@clubs")
                .set(|c| c.tenant, 2)
                .await
                .map(drop),
            odm.bulk().add(all.update(1).set(|c| c.tenant, 2)).await.map(drop),
        ] {
            let says = refused.unwrap_err().to_string();
            assert!(says.contains("move_to"), "{says}");
        }
        // A whole document says where it is.
        is_immutable(all.replace(other.clone()).await, "clubs", "tenant");
        is_immutable(all.save(other.clone()).await, "clubs", "tenant");
        let says = "`move_to` is a change of one document by its id";
        let moved = || all.update(1).move_to(|c| c.tenant, 2);
        is_refused(moved().upsert().await, says);
        is_refused(moved().filter(|c| c.version.gte(0)).await, says);
        is_refused(
            all.update_by(|c| c.email, "1@clubs")
                .move_to(|c| c.tenant, 2)
                .await,
            says,
        );
        match odm.bulk().add(moved()).await {
            Err(Error::Bulk { errors, .. }) => assert!(errors[0].1.to_string().contains(says)),
            other => panic!("{other:?}"),
        }
        is_refused(
            all.update(1).move_to(|c| c.name, "x").await,
            "`name` is neither: use `set`",
        );
        let scoped = odm.scoped(Club::paths().tenant, 1_i64).unwrap();
        let out = scoped
            .collection::<Club>()
            .update(1)
            .move_to(|c| c.tenant, 2)
            .await;
        assert!(matches!(out, Err(Error::OutOfScope { .. })), "{out:?}");
        let alone = t.standalone_of(&Odm::new(t.db.clone(), models()).unwrap()).await;
        let alone = alone.collection::<Plain>().update(1);
        is_refused(alone.move_to(|p| p.tenant, 2).await, "neither");
        let alone = t.standalone_of(&odm).await;
        let moved = alone
            .collection::<Club>()
            .update(1)
            .move_to(|c| c.tenant, 2)
            .await;
        assert!(matches!(moved, Err(Error::Unsupported { .. })), "{moved:?}");
        assert_eq!(all.get(1).required().await.unwrap(), club);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_whole_document_with_another_key_than_the_stored_one_is_refused_as_a_move() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let (all, leagues) = (odm.collection::<Club>(), odm.collection::<League>());
        let club = all.get(1).required().await.unwrap();
        let other = Club {
            tenant: 2,
            ..club.clone()
        };
        all.replace(club.clone()).await.unwrap();
        // Others have changed it meanwhile.
        for stale in [
            all.replace(other.clone()).await,
            all.save(other.clone()).await.map(|saved| saved.document),
        ] {
            assert!(
                matches!(stale, Err(Error::Conflict { found: Some(2), .. })),
                "{stale:?}"
            );
        }
        let club = all.get(1).required().await.unwrap();
        let other = Club {
            tenant: 2,
            ..club.clone()
        };
        is_immutable(all.replace(other.clone()).exact().await, "clubs", "tenant");
        let gone = Club {
            id: 9,
            ..other.clone()
        };
        is_not_found(all.replace(gone).await, doc! { "_id": 9, "tenant": 2_i64 });
        let in_transaction = odm
            .transaction(async |tx| tx.collection::<Club>().replace(other.clone()).await)
            .await;
        is_immutable(in_transaction, "clubs", "tenant");
        // A handle of one tenant does not see those of others.
        let scoped = odm.scoped(Club::paths().tenant, 2_i64).unwrap();
        let scoped = scoped.collection::<Club>().replace(other).await;
        is_not_found(scoped, doc! { "_id": 1, "tenant": 2_i64 });
        assert_eq!(all.get(1).required().await.unwrap(), club);

        // One without a version is inserted where there is none: by two statements.
        t.commands.clear();
        let saved = leagues.save(League { id: 7, tenant: 1 }).await.unwrap();
        assert!(saved.inserted);
        assert_eq!(t.commands.take(), ["update", "insert"]);
        leagues.replace(League { id: 7, tenant: 1 }).await.unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        let other = || League { id: 7, tenant: 2 };
        // On a cluster another shard may have it.
        if odm.server().await.unwrap().topology() != Topology::Sharded {
            is_immutable(leagues.save(other()).await, "leagues", "tenant");
            let in_transaction = odm
                .transaction(async |tx| tx.collection::<League>().save(other()).await)
                .await;
            is_immutable(in_transaction, "leagues", "tenant");
        }
        // A field that is the same in the club, in no shard key.
        let players = odm.collection::<Player>();
        let kate = players.insert(player(1, 1, 1)).await.unwrap();
        let of_club = |club: i32| Player {
            tenant: 2,
            club: Ref::new(club),
            ..kate.clone()
        };
        is_immutable(players.replace(of_club(1)).await, "players", "tenant");
        is_missing(players.save(of_club(1)).await, "club");
        all.update(2).move_to(|c| c.tenant, 2).await.unwrap();
        is_immutable(players.replace(of_club(2)).await, "players", "tenant");
        is_immutable(players.save(of_club(2)).await, "players", "tenant");
        assert_eq!(players.get(1).required().await.unwrap(), kate);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_deleted_document_is_moved_by_a_handle_that_sees_it() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let all = odm.collection::<Club>();
        odm.collection::<Fan>()
            .delete_where(|f| f.club.eq(Ref::new(1)))
            .await
            .unwrap();
        all.delete(1).await.unwrap();
        let missed = all.update(1).move_to(|c| c.tenant, 2).await;
        assert!(
            matches!(missed, Err(Error::NotFound { deleted: true, .. })),
            "{missed:?}"
        );
        all.with_deleted()
            .update(1)
            .move_to(|c| c.tenant, 2)
            .await
            .unwrap();
        assert!(!all.restore(1).at(|c| c.tenant, 1).await.unwrap().restored);
        assert!(all.restore(1).at(|c| c.tenant, 2).await.unwrap().restored);
        let found = all.get_by(|c| c.email, "1@clubs").required().await.unwrap();
        assert_eq!(found.tenant, 2);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_move_in_a_transaction_is_part_of_it() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let all = odm.collection::<Club>();
        let undone: odm::Result<()> = odm
            .transaction(async |tx| {
                tx.collection::<Club>().update(1).move_to(|c| c.tenant, 2).await?;
                Err(Error::application("no"))
            })
            .await;
        assert!(undone.is_err());
        assert_eq!(tenant(&odm, 1).await, 1);
        let club = all.get(1).required().await.unwrap();
        odm.transaction(async |tx| {
            let clubs = tx.collection::<Club>();
            clubs.update(&club).move_to(|c| c.tenant, 2).await?;
            assert_eq!(clubs.get(1).required().await?.tenant, 2);
            clubs.update(1).set(|c| c.name, "moved").await?;
            // The one refusal leaves the transaction as it is.
            tx.collection::<Player>().insert(player(9, 2, 1)).await?;
            is_referred(clubs.update(1).move_to(|c| c.tenant, 3).await, "players", &[9]);
            tx.collection::<Fan>()
                .update(2)
                .set(|f| f.club, Ref::new(1))
                .await
                .map(drop)
        })
        .await
        .unwrap();
        let fans = odm
            .collection::<Fan>()
            .find(|f| f.club_tenant.eq(2) & f.club_name.eq("moved"));
        assert_eq!(fans.count().await.unwrap(), 2);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_reference_that_is_written_meanwhile_takes_a_move_back_and_a_move_takes_back_a_reference() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let (all, players) = (odm.collection::<Club>(), odm.collection::<Player>());
        let before = all.get(1).required().await.unwrap();
        // The player finds the club as it was, and again behind its insertion.
        let moved = odm
            .transaction(async |tx| {
                tx.collection::<Club>().update(1).move_to(|c| c.tenant, 2).await?;
                if players.get(1).await?.is_none() {
                    players.insert(player(1, 1, 1)).await?;
                }
                Ok(())
            })
            .await;
        is_referred(moved, "players", &[1]);
        let club = all.get(1).required().await.unwrap();
        assert_eq!((club.tenant, &club.email), (1, &before.email));
        let fan = odm.collection::<Fan>().get(1).required().await.unwrap();
        assert_eq!(fan.club_tenant, 1);
        assert_eq!(all.get_by(|c| c.email, "1@clubs").await.unwrap(), Some(club));
        assert_clean(&odm).await;

        // The club is moved between the two looks of the player.
        let inserted = odm
            .transaction(async |tx| {
                tx.collection::<Player>().insert(player(2, 1, 2)).await?;
                if tenant(&odm, 2).await == 1 {
                    all.update(2).move_to(|c| c.tenant, 2).await?;
                }
                Ok(())
            })
            .await;
        is_missing(inserted, "club");
        assert_eq!(players.get(2).await.unwrap(), None);
        assert_eq!(tenant(&odm, 2).await, 2);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn moves_and_references_at_the_same_time_leave_none_that_dangles() {
    with_transactions(async |t| {
        let odm = clubs(&t).await;
        let (all, players) = (odm.collection::<Club>(), odm.collection::<Player>());
        let (mut both, mut at) = (0, 1_i64);
        for n in 0..30 {
            let to = 3 - at;
            let insert = players.insert(player(100 + n, at, 1)).into_future();
            let moved = all.update(1).move_to(|c| c.tenant, to).into_future();
            let (inserted, moved) = futures::join!(insert, moved);
            match (&inserted, &moved) {
                (Err(Error::MissingReference { .. }), Ok(_))
                | (Ok(_), Err(Error::StillReferenced { .. })) => {}
                (Err(Error::MissingReference { .. }), Err(Error::StillReferenced { .. })) => both += 1,
                other => panic!("{other:?}"),
            }
            at = tenant(&odm, 1).await;
            assert_eq!(moved.is_ok(), at == to);
            let stored = players.get(100 + n).await.unwrap();
            assert_eq!(stored.is_some(), inserted.is_ok());
            if stored.is_some() {
                players.delete(100 + n).await.unwrap();
                players.purge(100 + n).await.unwrap();
            }
        }
        println!("{both} of 30 were both taken back");
        assert_clean(&odm).await;
    });
}

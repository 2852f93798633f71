//! Documents that `move_to` gives to another shard: with their copies, counts and claims, and refused while something refers to them by `same`.

use crate::designs::shards_of;
use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::server::Topology;
use odm::testing::TestDatabase;
use odm_tests::{assert_clean, with_transactions};
use std::collections::BTreeMap;
use std::future::IntoFuture;

/// Of two shards, one has the depots of the first half, and the other one those of the second half.
const TENANTS: i64 = 8;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "depots", shard_key(tenant, id), version)]
struct Depot {
    id: i32,
    tenant: i64,
    #[index(unique(global))]
    code: String,
    name: String,
    #[computed(count = Parcel)]
    parcels: i64,
    version: i64,
}

/// It is of the tenant of its depot.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "vans", shard_key(tenant, id))]
struct Van {
    id: i32,
    tenant: i64,
    #[reference(same(tenant))]
    depot: Ref<Depot>,
}

/// A parcel of a depot of any tenant.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parcels", shard_key(id))]
struct Parcel {
    id: i32,
    #[parent_ref]
    depot: Ref<Depot>,
    #[denormalize(from = depot.name)]
    depot_name: String,
    #[denormalize(from = depot.tenant)]
    depot_tenant: i64,
}

/// Depot `n` of each tenant with the number `n`, each with a parcel. On a cluster both shards have some.
async fn filled(db: &TestDatabase) -> Odm {
    let odm = db.odm(models![Depot, Van, Parcel]).await.unwrap();
    let depots = (1..).zip(1..=TENANTS).map(|(id, tenant)| NewDepot {
        id,
        tenant,
        code: format!("code {id}"),
        name: format!("depot {id}"),
    });
    odm.collection::<Depot>().insert_many(depots).await.unwrap();
    let parcels = (1..).zip(1..=TENANTS).map(|(id, _)| NewParcel {
        id,
        depot: Ref::new(id),
    });
    odm.collection::<Parcel>().insert_many(parcels).await.unwrap();
    if is_cluster(&odm).await {
        let admin = odm.database().client().database("admin");
        let config = odm.database().client().database("config");
        let shards = config.collection::<Raw>("shards");
        let shards = shards.distinct("_id", doc! {}).await.unwrap();
        let namespace = format!("{}.depots", odm.database().name());
        for tenant in 1..=TENANTS {
            let place = doc! { "tenant": tenant, "_id": 0 };
            // A chunk may begin there already.
            let split = doc! { "split": &namespace, "middle": &place };
            let _ = admin.run_command(split).await;
            let to = &shards[usize::from(tenant > TENANTS / 2)];
            let moved = doc! { "moveChunk": &namespace, "find": place, "to": to };
            admin.run_command(moved).await.unwrap();
        }
        let on: Vec<i64> = shards_of(&odm, "depots").await.into_values().collect();
        assert_eq!(on, [4, 4]);
    }
    odm
}

async fn is_cluster(odm: &Odm) -> bool {
    odm.server().await.unwrap().topology() == Topology::Sharded
}

/// The number of documents with this id on all shards, and how many shards have depots, with their numbers.
async fn stored(odm: &Odm, id: i32) -> (u64, BTreeMap<String, i64>) {
    let raw = odm.database().collection::<Raw>("depots");
    let n = raw.count_documents(doc! { "_id": id }).await.unwrap();
    let shards = if is_cluster(odm).await {
        shards_of(odm, "depots").await
    } else {
        BTreeMap::new()
    };
    (n, shards)
}

async fn tenant_of(odm: &Odm, depot: i32) -> i64 {
    let depots = odm.collection::<Depot>();
    depots.get(depot).required().await.unwrap().tenant
}

fn is_referred<T: std::fmt::Debug>(made: odm::Result<T>, ids: &[i32]) {
    match made {
        Err(Error::StillReferenced { by, sample, .. }) => {
            let expected: Vec<Bson> = ids.iter().copied().map(Bson::from).collect();
            assert_eq!((by, sample), ("vans", expected));
        }
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn a_document_moves_to_the_shard_of_its_new_key_with_all_that_belongs_to_it() {
    with_transactions(async |_| {
        let db = odm::testing::database().await.deny_broadcast();
        let db = db.allow_broadcast("insert_many", "depots");
        // The key of parcels is not that of their depot. The test counts.
        let db = db.allow_broadcast("update", "parcels");
        let db = db.allow_broadcast("aggregate", "depots");
        let odm = filled(&db).await;
        let (depots, parcels) = (odm.collection::<Depot>(), odm.collection::<Parcel>());
        let before = stored(&odm, 1).await.1;
        // Within a shard, to the other one, and back.
        for (from, to, other) in [(1, 2, 0), (2, 7, 1), (7, 8, 1), (8, 1, 0)] {
            let read = depots.get(1).at(|d| d.tenant, from).required().await.unwrap();
            let name = format!("of {to}");
            let moved = depots
                .update(&read)
                .move_to(|d| d.tenant, to)
                .set(|d| d.name, name.as_str());
            let done = moved.await.unwrap();
            assert_eq!((done.modified, done.copies_updated), (1, 1));
            let expected = Depot {
                tenant: to,
                name: name.clone(),
                version: read.version + 1,
                ..read
            };
            let now = depots.get(1).at(|d| d.tenant, to).required().await.unwrap();
            assert_eq!(now, expected);
            assert_eq!(now.parcels, 1);
            assert_eq!(depots.get(1).at(|d| d.tenant, from).await.unwrap(), None);
            assert_eq!(depots.get_by(|d| d.code, "code 1").await.unwrap(), Some(now));
            let parcel = parcels.get(1).required().await.unwrap();
            assert_eq!((parcel.depot_name, parcel.depot_tenant), (name, to));
            let (found, shards) = stored(&odm, 1).await;
            assert_eq!(found, 1);
            for (shard, n) in &before {
                let differs = (shards[shard] - n).abs();
                assert_eq!(differs, other, "{from} to {to}: {shards:?}");
            }
        }
        // The code stays taken, on whichever shard.
        depots
            .update(1)
            .at(|d| d.tenant, 1)
            .move_to(|d| d.tenant, 6)
            .await
            .unwrap();
        let taken = depots.insert(NewDepot {
            id: 50,
            tenant: 1,
            code: "code 1".into(),
            name: String::new(),
        });
        assert!(matches!(taken.await, Err(Error::DuplicateKey { .. })));
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_document_that_others_refer_to_by_same_stays_on_its_shard() {
    with_transactions(async |_| {
        let db = odm::testing::database().await;
        let odm = filled(&db).await;
        let (depots, vans) = (odm.collection::<Depot>(), odm.collection::<Van>());
        let van = |id: i32, tenant: i64, depot: i32| NewVan {
            id,
            tenant,
            depot: Ref::new(depot),
        };
        vans.insert_many([van(1, 1, 1), van(2, 6, 6)]).await.unwrap();
        let before = depots.find_all().sort(|d| d.id.asc()).all().await.unwrap();
        for (depot, tenant) in [(1, 6), (6, 1)] {
            let moved = depots.update(depot).move_to(|d| d.tenant, tenant);
            is_referred(moved.await, &[if depot == 1 { 1 } else { 2 }]);
        }
        let after = depots.find_all().sort(|d| d.id.asc()).all().await.unwrap();
        assert_eq!(after, before);
        // Whole documents don't move it either.
        let elsewhere = Depot {
            tenant: 6,
            ..before[0].clone()
        };
        for refused in [
            depots.replace(elsewhere.clone()).await.map(drop),
            depots.save(elsewhere).await.map(drop),
        ] {
            assert!(
                matches!(&refused, Err(Error::Immutable { field, .. }) if field == "tenant"),
                "{refused:?}"
            );
        }
        vans.delete(1).await.unwrap();
        depots.update(1).move_to(|d| d.tenant, 6).await.unwrap();
        let late = vans.insert(van(1, 1, 1)).await;
        assert!(matches!(late, Err(Error::MissingReference { .. })), "{late:?}");
        vans.insert(van(1, 6, 1)).await.unwrap();
        assert_clean(&odm).await;
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_move_between_shards_is_part_of_its_transaction() {
    with_transactions(async |_| {
        let db = odm::testing::database().await;
        let odm = filled(&db).await;
        let undone: odm::Result<()> = odm
            .transaction(async |tx| {
                let depots = tx.collection::<Depot>();
                depots.update(1).move_to(|d| d.tenant, 7).await?;
                depots.update(7).move_to(|d| d.tenant, 1).await?;
                Err(Error::application("no"))
            })
            .await;
        assert!(undone.is_err());
        assert_eq!((tenant_of(&odm, 1).await, tenant_of(&odm, 7).await), (1, 7));
        odm.transaction(async |tx| {
            let depots = tx.collection::<Depot>();
            depots.update(1).move_to(|d| d.tenant, 7).await?;
            depots.update(7).move_to(|d| d.tenant, 1).await?;
            assert_eq!(depots.get(1).required().await?.tenant, 7);
            depots.update(1).set(|d| d.name, "exchanged").await.map(drop)
        })
        .await
        .unwrap();
        assert_eq!((tenant_of(&odm, 1).await, tenant_of(&odm, 7).await), (7, 1));
        assert_eq!((stored(&odm, 1).await.0, stored(&odm, 7).await.0), (1, 1));
        let parcel = odm.collection::<Parcel>().get(1).required().await.unwrap();
        assert_eq!(
            (parcel.depot_name.as_str(), parcel.depot_tenant),
            ("exchanged", 7)
        );
        assert_clean(&odm).await;
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn moves_between_shards_and_references_at_the_same_time_leave_none_that_dangles() {
    with_transactions(async |_| {
        let db = odm::testing::database().await;
        let odm = filled(&db).await;
        let (depots, vans) = (odm.collection::<Depot>(), odm.collection::<Van>());
        let mut at = 1_i64;
        for id in 100..120 {
            let to = 8 - at;
            let new = NewVan {
                id,
                tenant: at,
                depot: Ref::new(1),
            };
            let inserted = vans.insert(new).into_future();
            let moved = depots.update(1).move_to(|d| d.tenant, to).into_future();
            let (inserted, moved) = futures::join!(inserted, moved);
            match (&inserted, &moved) {
                (Err(Error::MissingReference { .. }), Ok(_))
                | (Ok(_) | Err(Error::MissingReference { .. }), Err(Error::StillReferenced { .. })) => {}
                other => panic!("{other:?}"),
            }
            at = tenant_of(&odm, 1).await;
            assert_eq!(moved.is_ok(), at == to);
            if inserted.is_ok() {
                vans.delete(id).await.unwrap();
            }
        }
        assert_eq!(stored(&odm, 1).await.0, 1);
        assert_clean(&odm).await;
        db.close().await.unwrap();
    });
}

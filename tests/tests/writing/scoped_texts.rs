//! Tenants whose names a collation takes for equal.

use odm::Error;
use odm::bson::{Bson, doc};
use odm::mongodb::options::{Collation, CollationStrength};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

/// Its collection compares as MongoDB does by default; an operation may bring a collation.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "plain", index(fields(tenant, name), unique))]
struct Plain {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
    name: String,
    n: i32,
}

/// Its collection has a collation.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "folded", collation(locale = "en", strength = 2))]
#[document(index(fields(tenant, name)))]
struct Folded {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
    name: String,
    n: i32,
}

fn folding() -> Collation {
    let collation = Collation::builder().locale("en");
    collation.strength(CollationStrength::Secondary).build()
}

fn of(odm: &Odm, tenant: &str) -> Odm {
    odm.scoped(Plain::paths().tenant, tenant).unwrap()
}

/// A document of each of three tenants, in both collections: 1 of `acme`, 2 of `ACME`, 3 of `acme` with a line break.
async fn three(t: &TestDb) -> (Odm, Odm) {
    odm_tests::require_inherited_collations(&t.db).await;
    let odm = Odm::new(t.db.clone(), models![Plain, Folded]).unwrap();
    odm.sync().await.unwrap();
    let probe = t.db.collection::<odm::bson::Document>("folded");
    probe
        .insert_one(doc! { "_id": 9, "tenant": "PROBE", "name": "", "n": 0 })
        .await
        .unwrap();
    let pattern = doc! { "tenant": { "$eq": "PROBE", "$regex": "^PROBE\\z" } };
    let knows = probe.count_documents(doc! { "tenant": "probe" }).await.unwrap() == 1
        && probe.count_documents(pattern).await.is_ok_and(|n| n == 1);
    if !knows {
        odm_tests::skip("needs collations, and patterns that end with `\\z`");
    }
    probe.delete_one(doc! { "_id": 9 }).await.unwrap();
    for (id, tenant) in [(1, "acme"), (2, "ACME"), (3, "acme\n")] {
        let (name, tenant) = ("kate".to_owned(), tenant.to_owned());
        let plain = NewPlain {
            id,
            tenant: tenant.clone(),
            name: name.clone(),
            n: 0,
        };
        odm.collection().insert(plain).await.unwrap();
        odm.collection()
            .insert(NewFolded {
                id,
                tenant,
                name,
                n: 0,
            })
            .await
            .unwrap();
    }
    let acme = of(&odm, "acme");
    (odm, acme)
}

/// The values of `n` of the three documents.
async fn values(t: &TestDb, collection: &str) -> Vec<Option<i32>> {
    let all = t.db.collection::<odm::bson::Document>(collection);
    let mut values = Vec::new();
    for id in 1..=3 {
        let found = all.find_one(doc! { "_id": id }).await.unwrap();
        values.push(found.and_then(|found| found.get_i32("n").ok()));
    }
    values
}

#[odm_tests::test]
fn a_collation_of_an_operation_does_not_join_tenants() {
    with_db(async |t| {
        let (_, acme) = three(&t).await;
        let all = acme.collection::<Plain>();
        let ids = |found: Vec<Plain>| found.into_iter().map(|one| one.id).collect::<Vec<_>>();
        let found = all
            .find(|p| p.name.eq("KATE"))
            .collation(folding())
            .all()
            .await
            .unwrap();
        assert_eq!(ids(found), [1]);
        let found = || all.find_all().collation(folding());
        assert_eq!(found().count().await.unwrap(), 1);
        assert_eq!(found().distinct(|p| p.tenant).await.unwrap(), ["acme"]);
        assert_eq!(found().page(5).await.unwrap().items.len(), 1);
        assert_eq!(ids(found().one().await.unwrap().into_iter().collect()), [1]);
        // The application's own condition on the field does not widen the scope either.
        let found = all
            .find(|p| p.tenant.eq("ACME"))
            .collation(folding())
            .all()
            .await
            .unwrap();
        assert_eq!(ids(found), [1]);
        let found: Vec<Plain> = all.aggregate().collation(folding()).all().await.unwrap();
        assert_eq!(ids(found), [1]);
        let lookup = doc! { "$lookup": {
            "from": "plain", "localField": "tenant", "foreignField": "tenant", "as": "same",
        } };
        let joined: Vec<odm::bson::Document> = all
            .aggregate()
            .collation(folding())
            .stage(lookup)
            .all()
            .await
            .unwrap();
        assert_eq!(joined.len(), 1);
        let same = joined[0].get_array("same").unwrap();
        let same: Vec<_> = same
            .iter()
            .filter_map(|one| one.as_document()?.get("_id"))
            .collect();
        assert_eq!(same, [&Bson::Int32(1)]);

        let done = all
            .update_where(|p| p.name.eq("KATE"))
            .set(|p| p.n, 1)
            .collation(folding());
        assert_eq!(done.await.unwrap().matched, 1);
        let first = all
            .update_first(|p| p.name.eq("KATE"))
            .set(|p| p.n, 2)
            .collation(folding());
        assert_eq!(first.await.unwrap().matched, 1);
        let update = all.update_where(|p| p.name.eq("KATE")).inc(|p| p.n, 1);
        let bulk = acme.bulk().add(update.collation(folding()));
        assert_eq!(bulk.await.unwrap().matched, 1);
        assert_eq!(values(&t, "plain").await, [Some(3), Some(0), Some(0)]);
        let upsert = all
            .update_where(|p| p.id.eq(7) & p.name.eq("Bob"))
            .set(|p| p.n, 4);
        upsert.collation(folding()).upsert().await.unwrap();
        let bob = all.get(7).required().await.unwrap();
        assert_eq!(
            (bob.tenant.as_str(), bob.name.as_str(), bob.n),
            ("acme", "Bob", 4)
        );
        let gone = all
            .delete_first(|p| p.name.eq("BOB"))
            .collation(folding())
            .await
            .unwrap();
        assert_eq!(gone.map(|gone| gone.id), Some(7));
        let gone = all
            .delete_where(|p| p.name.eq("KATE"))
            .collation(folding())
            .await
            .unwrap();
        assert_eq!(gone.deleted, 1);
        assert_eq!(values(&t, "plain").await, [None, Some(0), Some(0)]);
    });
}

#[odm_tests::test]
fn a_collation_of_the_collection_does_not_join_tenants() {
    with_db(async |t| {
        let (_, acme) = three(&t).await;
        let all = acme.collection::<Folded>();
        assert_eq!(all.get(2).await.unwrap(), None);
        let found = all.find(|p| p.name.eq("KATE")).all().await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(all.find_all().count().await.unwrap(), 1);
        let found: Vec<Folded> = all.aggregate().all().await.unwrap();
        assert_eq!(found.len(), 1);
        let refused = all.update(2).set(|p| p.n, 1).await;
        assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
        let done = all.update_all().inc(|p| p.n, 1).await.unwrap();
        assert_eq!(done.matched, 1);
        let done = all
            .update_first(|p| p.name.eq("KATE"))
            .inc(|p| p.n, 1)
            .await
            .unwrap();
        assert_eq!(done.matched, 1);
        let replaced = Folded {
            id: 2,
            tenant: "acme".into(),
            name: "x".into(),
            n: 9,
        };
        let refused = all.replace(replaced).await;
        assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
        let bulk = acme.bulk().add(all.update(2).set(|p| p.n, 5)).add(all.delete(3));
        let done = bulk.await.unwrap();
        assert_eq!((done.matched, done.deleted), (0, 0));
        assert_eq!(values(&t, "folded").await, [Some(2), Some(0), Some(0)]);
        assert_eq!(all.delete(2).optional().await.unwrap(), None);
        assert_eq!(all.delete_first(|p| p.id.gte(2)).await.unwrap(), None);
        assert_eq!(all.delete_all().await.unwrap().deleted, 1);
        assert_eq!(values(&t, "folded").await, [None, Some(0), Some(0)]);
    });
}

#[odm_tests::test]
fn an_index_serves_the_scope_also_with_its_pattern() {
    with_db(async |t| {
        let (_, acme) = three(&t).await;
        let all = acme.collection::<Plain>();
        let explained = all.find_all().explain().await.unwrap();
        assert!(!explained.is_collection_scan(), "{explained:?}");
        let folded = acme.collection::<Folded>();
        let explained = folded.find_all().explain().await.unwrap();
        assert!(!explained.is_collection_scan(), "{explained:?}");
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "lists")]
struct Listed {
    #[serde(rename = "_id")]
    id: i32,
    #[embed(max = 3)]
    tenant: Vec<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "folded_lists", collation(locale = "en", strength = 2))]
struct FoldedListed {
    #[serde(rename = "_id")]
    id: i32,
    #[embed(max = 3)]
    tenant: Vec<String>,
}

#[odm_tests::test]
fn a_value_that_a_collation_could_mistake_is_refused() {
    with_db(async |t| {
        let names = || vec!["acme".to_owned()];
        let odm = Odm::new(t.db.clone(), models![Listed]).unwrap();
        let acme = odm.scoped(Listed::paths().tenant, names()).unwrap();
        let all = acme.collection::<Listed>();
        all.insert(NewListed {
            id: 1,
            tenant: names(),
        })
        .await
        .unwrap();
        assert_eq!(all.find_all().count().await.unwrap(), 1);
        let refused = |error: Error| {
            assert!(
                matches!(error, Error::Query { .. }) && error.to_string().contains("collation"),
                "{error}"
            );
        };
        refused(all.find_all().collation(folding()).all().await.unwrap_err());
        refused(
            all.aggregate()
                .collation(folding())
                .all::<Listed>()
                .await
                .unwrap_err(),
        );
        refused(
            all.update_all()
                .set(|s| s.tenant, names())
                .collation(folding())
                .await
                .unwrap_err(),
        );
        refused(all.delete_all().collation(folding()).await.unwrap_err());
        let odm = Odm::new(t.db.clone(), models![Listed, FoldedListed]).unwrap();
        refused(odm.scoped(Listed::paths().tenant, names()).unwrap_err());
        let folded = Odm::new(t.db.clone(), models![Plain, Folded]).unwrap();
        refused(
            folded
                .scoped(Plain::paths().tenant, "a".repeat(4_097))
                .unwrap_err(),
        );
    });
}

/// A document whose deletion keeps it.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "kept", soft_delete)]
struct Kept {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    deleted_at: Option<DateTime>,
}

#[odm_tests::test]
fn kept_documents_are_deleted_and_purged_by_a_collation() {
    with_db(async |t| {
        three(&t).await;
        let odm = Odm::new(t.db.clone(), models![Kept]).unwrap();
        let all = odm.collection::<Kept>();
        for (id, name) in [(1, "Bob"), (2, "Ann")] {
            all.insert(NewKept {
                id,
                name: name.into(),
            })
            .await
            .unwrap();
        }
        let deleted = all.delete_where(|k| k.name.eq("BOB")).collation(folding());
        assert_eq!(deleted.await.unwrap().deleted, 1);
        assert_eq!(all.find_all().count().await.unwrap(), 1);
        let purged = all.purge_where(|k| k.name.eq("BOB")).collation(folding());
        assert_eq!(purged.await.unwrap().deleted, 1);
        assert_eq!(all.with_deleted().find_all().count().await.unwrap(), 1);
    });
}

//! Shard keys: the indexes that they need, what is refused beside them, and what a replica set makes of them.

use mongodb::bson::{Document as Raw, doc};
use odm::Error;
use odm::prelude::*;
use odm::schema::Change;
use odm::server::Topology;
use odm_tests::{TestDb, with_db};

/// The same shop with other keys: of tenants, of their orders, and of the notes of a tenant.
macro_rules! shop {
    ($name:ident, $of_tenant:tt, $of_order:tt, $of_notes:tt) => {
        mod $name {
            use super::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "shops", shard_key $of_tenant, index(fields(tenant, slug), unique))]
            pub struct Shop {
                pub id: ObjectId,
                #[field(scope)]
                pub tenant: String,
                pub slug: String,
                pub name: String,
                #[computed(count = Order)]
                pub orders: i64,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "orders", shard_key $of_order)]
            pub struct Order {
                pub id: ObjectId,
                #[field(scope)]
                pub tenant: String,
                #[parent_ref]
                pub shop: Ref<Shop>,
                #[denormalize(from = shop.name)]
                pub shop_name: String,
                pub address: Address,
            }

            #[derive(Embed, Clone, Debug, PartialEq)]
            #[bucket(of = Shop, size = 2, scope(tenant: String), shard_key $of_notes)]
            pub struct Note {
                pub text: String,
            }

            /// Writes documents of two tenants, after `sync`.
            pub async fn used(odm: &Odm) -> (Shop, Order) {
                let acme = odm.scoped(Shop::paths().tenant, "acme").unwrap();
                let north = || NewShop {
                    slug: "north".into(),
                    name: "North".into(),
                };
                let shop = acme.collection::<Shop>().insert(north()).await.unwrap();
                let address = Address {
                    country: "it".into(),
                    city: None,
                    lines: Vec::new(),
                };
                let order = NewOrder {
                    shop: shop.to_ref(),
                    address,
                };
                let order = acme.collection::<Order>().insert(order).await.unwrap();
                assert_eq!(order.shop_name, "North");
                let notes = acme.buckets::<Note>();
                for text in ["a", "b", "c"] {
                    notes.push(&shop, Note { text: text.into() }).await.unwrap();
                }
                assert_eq!(
                    acme.collection::<NoteBucket>()
                        .find_all()
                        .count()
                        .await
                        .unwrap(),
                    2
                );
                let found = odm.collection::<Shop>().get(shop.id).await.unwrap();
                assert_eq!(found.unwrap().orders, 1);
                // Another tenant has its own values.
                let other = odm.scoped(Shop::paths().tenant, "other").unwrap();
                other.collection::<Shop>().insert(north()).await.unwrap();
                let again = other.collection::<Shop>().insert(north()).await;
                assert!(
                    matches!(again, Err(Error::DuplicateKey { .. })),
                    "{again:?}"
                );
                (shop, order)
            }
        }
    };
}
shop!(
    by_hash,
    (hashed(tenant)),
    (tenant, hashed(id)),
    (tenant, hashed(shop))
);
shop!(by_range, (tenant), (tenant, id), (tenant, shop));

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(name = "land")]
    country: String,
    city: Option<String>,
    #[embed(max = 5)]
    lines: Vec<String>,
}

/// The keys of the indexes of a collection, in the order of their names.
async fn listed(t: &TestDb, collection: &str) -> Vec<Raw> {
    let reply =
        t.db.run_command(doc! { "listIndexes": collection })
            .await
            .unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let mut indexes: Vec<&Raw> = batch.iter().filter_map(|index| index.as_document()).collect();
    indexes.sort_by_key(|index| index.get_str("name").unwrap().to_owned());
    indexes
        .into_iter()
        .map(|index| {
            let key = index.get_document("key").unwrap();
            let of = |value: &mongodb::bson::Bson| match value.as_str() {
                Some(kind) => kind.into(),
                None if index.get_bool("unique").unwrap_or(false) => "unique".into(),
                None => value.clone(),
            };
            key.iter()
                .map(|(name, value)| (name.clone(), of(value)))
                .collect()
        })
        .collect()
}

/// What a plan for an empty database creates, of one collection.
async fn created(t: &TestDb, models: impl IntoIterator<Item = odm::Model>) -> Vec<Raw> {
    let odm = Odm::new(t.db.clone(), models).unwrap();
    let plan = odm.plan().await.unwrap();
    let specs = plan.changes().iter().filter_map(|change| match change {
        Change::CreateIndex { spec, .. } => Some(spec.clone()),
        _ => None,
    });
    specs.collect()
}

fn keys(specs: &[Raw]) -> Vec<Raw> {
    let keys = specs.iter().map(|spec| spec.get_document("key").unwrap().clone());
    keys.collect()
}

fn problems(t: &TestDb, models: impl IntoIterator<Item = odm::Model>) -> Vec<String> {
    match Odm::new(t.db.clone(), models) {
        Err(Error::Models { problems }) => problems,
        made => panic!("refused: {made:?}"),
    }
}

#[odm_tests::test]
fn on_a_replica_set_a_shard_key_is_an_index() {
    with_db(async |t| {
        use by_range::{NoteBucket, Order, Shop};

        let odm = Odm::new(t.db.clone(), models![Shop, Order, NoteBucket]).unwrap();
        odm_tests::require_no_cluster(&odm).await;
        let plan = odm.plan().await.unwrap().to_string();
        for line in [
            "`shops`: create index `tenant_1_slug_1` on tenant, slug, unique, of the shard key",
            "`orders`: create index `tenant_1__id_1` on tenant, _id, of the shard key",
            "`note_buckets`: create index `tenant_1_shop_1_page_1` on tenant, shop, page, unique, of the shard key",
        ] {
            assert!(plan.contains(line), "{line}\n{plan}");
        }
        let is_cluster = odm.server().await.unwrap().topology() == Topology::Sharded;
        assert_eq!(
            plan.contains("distribute it over the shards"),
            is_cluster,
            "{plan}"
        );
        odm.sync().await.unwrap();
        let again = odm.plan().await.unwrap();
        assert!(again.is_empty() && again.notes().is_empty(), "{again}");
        assert_eq!(
            listed(&t, "shops").await,
            [
                doc! { "_id": 1 },
                doc! { "_odm.pending.operation": 1 },
                doc! { "tenant": "unique", "slug": "unique" },
            ]
        );
        by_range::used(&odm).await;
    });
}

#[odm_tests::test]
fn a_hashed_field_of_a_shard_key_is_hashed_in_the_index() {
    with_db(async |t| {
        use by_hash::{NoteBucket, Order, Shop};

        let odm = Odm::new(t.db.clone(), models![Shop, Order, NoteBucket]).unwrap();
        let plan = odm.plan().await.unwrap().to_string();
        for line in [
            "`shops`: create index `tenant_hashed` on tenant (hashed), of the shard key",
            "`orders`: create index `tenant_1__id_hashed` on tenant, _id (hashed), of the shard key",
            "`note_buckets`: create index `tenant_1_shop_hashed` on tenant, shop (hashed), of the shard key",
            "`note_buckets`: create index `tenant_1_shop_1_page_1` on tenant, shop, page, unique",
            "`note_buckets`: create index `shop_1_page_1` on shop, page, for the reference",
        ] {
            assert!(plan.contains(line), "{line}\n{plan}");
        }
        if let Err(Error::Index { message, .. }) = odm.sync().await {
            assert!(message.contains("hashed indexes"), "{message}");
            odm_tests::skip("needs hashed indexes");
        }
        let again = odm.plan().await.unwrap();
        assert!(again.is_empty() && again.notes().is_empty(), "{again}");
        assert!(listed(&t, "shops").await.contains(&doc! { "tenant": "hashed" }));
        by_hash::used(&odm).await;
    });
}

/// A handle on a cluster, whose models are those of the shop by hashed keys.
async fn of_cluster(t: &TestDb) -> Odm {
    use by_hash::{NoteBucket, Order, Shop};

    let odm = Odm::new(t.db.clone(), models![Shop, Order, NoteBucket]).unwrap();
    if odm.server().await.unwrap().topology() != Topology::Sharded {
        odm_tests::skip("needs a sharded cluster");
    }
    odm
}

/// The shard keys of the collections of the test, by their names.
async fn distributed(t: &TestDb) -> Vec<(String, Raw)> {
    let begin = format!("{}.", t.db.name());
    let config = t.db.client().database("config").collection::<Raw>("collections");
    let all = config.find(doc! { "dropped": { "$ne": true } }).await.unwrap();
    let all: Vec<Raw> = futures::TryStreamExt::try_collect(all).await.unwrap();
    let mut own: Vec<(String, Raw)> = all
        .iter()
        .filter_map(|entry| {
            let name = entry.get_str("_id").unwrap().strip_prefix(&begin)?;
            Some((name.to_owned(), entry.get_document("key").unwrap().clone()))
        })
        .collect();
    own.sort_by_key(|(name, _)| name.clone());
    own
}

async fn admin(t: &TestDb, command: Raw) {
    t.db.client()
        .database("admin")
        .run_command(command)
        .await
        .unwrap();
}

#[odm_tests::test]
fn two_programs_that_sync_at_once_shard_each_collection_once() {
    with_db(async |t| {
        let odm = of_cluster(&t).await;
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("`shops`: distribute it over the shards by { \"tenant\": \"hashed\" }"),
            "{plan}"
        );
        let other = of_cluster(&t).await;
        let (one, two) = tokio::join!(odm.sync(), other.sync());
        let made = [one.unwrap(), two.unwrap()];
        assert!(
            made.iter().any(|made| made.to_string().contains("distribute it")),
            "{made:?}"
        );
        let keys = [
            ("note_buckets", doc! { "tenant": 1, "shop": "hashed" }),
            ("orders", doc! { "tenant": 1, "_id": "hashed" }),
            ("shops", doc! { "tenant": "hashed" }),
        ];
        assert_eq!(
            distributed(&t).await,
            keys.map(|(name, key)| (name.to_owned(), key))
        );
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.is_empty() && plan.notes().is_empty() && plan.warning().is_none(),
            "{plan}"
        );
        assert!(odm.sync().await.unwrap().is_empty());
        by_hash::used(&odm).await;
    });
}

#[odm_tests::test]
fn a_collection_with_documents_is_sharded_by_the_index_that_is_made_before() {
    with_db(async |t| {
        let odm = of_cluster(&t).await;
        let shops = t.db.collection::<Raw>("shops");
        let shop = doc! { "tenant": "acme", "slug": "north", "name": "North", "orders": 0_i64 };
        shops.insert_one(shop).await.unwrap();
        odm.sync().await.unwrap();
        assert!(
            distributed(&t)
                .await
                .contains(&("shops".to_owned(), doc! { "tenant": "hashed" }))
        );
    });
}

#[odm_tests::test]
fn another_key_is_left_alone_and_told_with_the_command_that_changes_it() {
    with_db(async |t| {
        let odm = of_cluster(&t).await;
        let name = t.db.name().to_owned();
        // Before MongoDB 6.0.
        let enable = doc! { "enableSharding": &name };
        let _ = t.db.client().database("admin").run_command(enable).await;
        admin(
            &t,
            doc! { "shardCollection": format!("{name}.orders"), "key": { "tenant": 1 } },
        )
        .await;
        admin(
            &t,
            doc! { "shardCollection": format!("{name}.shops"), "key": { "tenant": 1 } },
        )
        .await;
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let notes = plan.notes().join("\n");
        let refine = format!(
            "db.adminCommand({{ refineCollectionShardKey: \"{name}.orders\", key: {{ \"tenant\": 1, \"_id\": \"hashed\" }} }})"
        );
        assert!(notes.contains(&refine), "{notes}");
        let told = "`shops`: it is distributed by { \"tenant\": 1 }, declared { \"tenant\": \"hashed\" }";
        assert!(notes.contains(told), "{notes}");
        assert!(
            notes.contains("the index `tenant_1` on tenant, which is that of the shard key"),
            "{notes}"
        );
        let warning = plan.warning().unwrap();
        assert!(
            warning.contains("`orders` is distributed by { \"tenant\": 1 }"),
            "{warning}"
        );
        assert!(
            distributed(&t)
                .await
                .contains(&("shops".to_owned(), doc! { "tenant": 1 }))
        );
        // Another program declares no key.
        let plain = Odm::new(t.db.clone(), models![PlainShop])
            .unwrap()
            .plan()
            .await
            .unwrap();
        let notes = plain.notes().join("\n");
        assert!(
            notes.contains("it is distributed by { \"tenant\": 1 }, which is not declared"),
            "{notes}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shops")]
struct PlainShop {
    id: ObjectId,
}

#[odm_tests::test]
fn a_unique_index_in_the_way_of_a_shard_key_is_a_conflict_on_a_cluster() {
    with_db(async |t| {
        let odm = of_cluster(&t).await;
        let slugs = doc! { "key": { "slug": 1 }, "name": "slugs", "unique": true };
        t.db.run_command(doc! { "createIndexes": "shops", "indexes": [slugs] })
            .await
            .unwrap();
        let refused = odm.sync().await;
        let Err(Error::SchemaConflict {
            collection: "shops",
            what,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert!(what.contains("with the unique index `slugs` on slug"), "{what}");
        assert!(!distributed(&t).await.iter().any(|(name, _)| name == "shops"));
    });
}

#[odm_tests::test]
fn an_index_that_is_not_declared_and_that_a_cluster_would_refuse_is_told() {
    with_db(async |t| {
        let slugs = doc! { "key": { "slug": 1 }, "name": "slugs", "unique": true };
        let slugs = doc! { "createIndexes": "shops", "indexes": [slugs] };
        t.db.run_command(slugs).await.unwrap();
        let odm = Odm::new(t.db.clone(), models![by_hash::Shop, by_hash::Order]).unwrap();
        let plan = odm.plan().await.unwrap();
        let notes = plan.notes().join("\n");
        let told = "the index `slugs` on slug, which is not declared, and with which no cluster distributes the collection by { \"tenant\": \
                    \"hashed\" }: a unique index begins with the shard key";
        assert!(notes.contains(told), "{notes}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(address.country, id))]
struct ByPath {
    id: i32,
    address: Address,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(id))]
struct ById {
    id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(hashed(id)))]
struct ByHashedId {
    id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(tenant), index(fields(tenant, -at)))]
struct WithLonger {
    id: ObjectId,
    tenant: i32,
    at: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(tenant), index(fields(-tenant, at)), index(fields(hashed(tenant))))]
struct WithOthers {
    id: ObjectId,
    tenant: i32,
    at: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", shard_key(tenant))]
struct WithPartial {
    id: ObjectId,
    #[index(partial = |t| t.tenant.gt(0))]
    tenant: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "things",
    shard_key(tenant),
    collation(locale = "en", strength = 2)
)]
struct Collated {
    id: ObjectId,
    #[index]
    tenant: i32,
}

#[odm_tests::test]
fn the_index_of_a_shard_key_is_left_out_where_another_one_begins_with_the_key() {
    with_db(async |t| {
        async fn of(t: &TestDb, models: impl IntoIterator<Item = odm::Model>) -> Vec<Raw> {
            keys(&created(t, models).await)
        }
        assert_eq!(
            of(&t, models![ByPath]).await,
            [doc! { "address.land": 1, "_id": 1 }]
        );
        assert!(of(&t, models![ById]).await.is_empty());
        assert_eq!(of(&t, models![ByHashedId]).await, [doc! { "_id": "hashed" }]);
        assert_eq!(
            of(&t, models![WithLonger]).await,
            [doc! { "tenant": 1, "at": -1 }]
        );
        assert_eq!(
            of(&t, models![WithOthers]).await,
            [
                doc! { "tenant": -1, "at": 1 },
                doc! { "tenant": "hashed" },
                doc! { "tenant": 1 }
            ]
        );
        // Beside an index that holds some of the documents, or compares texts, on the same field.
        for models in [models![WithPartial], models![Collated]] {
            assert_eq!(
                of(&t, models).await,
                [doc! { "tenant": 1 }, doc! { "tenant": 1, "_id": 1 }]
            );
        }
        let specs = created(&t, models![Collated]).await;
        assert_eq!(
            specs[1].get_document("collation").unwrap(),
            &doc! { "locale": "simple" }
        );
    });
}

#[odm_tests::test]
fn an_index_of_a_shard_key_that_compares_byte_by_byte_is_recognized() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Collated]).unwrap();
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty() && plan.notes().is_empty(), "{plan}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    title: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "texts", shard_key(post))]
struct Text {
    id: ObjectId,
    #[parent_ref(one)]
    post: Ref<Post>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "texts", shard_key(post), soft_delete)]
struct KeptText {
    id: ObjectId,
    #[parent_ref(one)]
    post: Ref<Post>,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "comments", shard_key(hashed(post)))]
struct Comment {
    id: ObjectId,
    #[parent_ref]
    post: Ref<Post>,
}

#[odm_tests::test]
fn the_index_of_a_reference_and_that_of_a_shard_key_are_one_where_they_can_be() {
    with_db(async |t| {
        let once = created(&t, models![Post, Text]).await;
        assert_eq!(keys(&once), [doc! { "post": 1 }]);
        assert_eq!(once[0].get_bool("unique").ok(), Some(true));
        // A unique index without the deleted documents serves no shard key.
        let kept = created(&t, models![Post, KeptText]).await;
        let kept: Vec<&Raw> = kept
            .iter()
            .filter(|spec| spec.get_document("key").unwrap().contains_key("post"))
            .collect();
        assert_eq!(
            kept.iter()
                .map(|spec| spec.get_document("key").unwrap().clone())
                .collect::<Vec<_>>(),
            [doc! { "post": 1, "_id": 1 }, doc! { "post": 1 }]
        );
        assert!(kept[1].contains_key("partialFilterExpression"), "{kept:?}");
        assert_eq!(
            keys(&created(&t, models![Post, Comment]).await),
            [doc! { "post": "hashed" }]
        );
    });
}

/// Its key follows from the delivery, of which it copies the key.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sheets", shard_key(tenant))]
struct Sheet {
    id: ObjectId,
    #[parent_ref(one)]
    order: Ref<by_range::Order>,
    #[denormalize(from = order.tenant)]
    tenant: String,
}

/// Of its references, the first decides the key.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sheets", shard_key(hashed(tenant)))]
struct SignedSheet {
    id: ObjectId,
    #[index(unique)]
    #[reference]
    order: Ref<by_range::Order>,
    #[denormalize(from = order.tenant, consistency = snapshot)]
    tenant: String,
    #[index(unique)]
    #[reference]
    signed: Ref<by_range::Order>,
}

#[odm_tests::test]
fn a_unique_index_gets_the_key_in_front_where_its_values_decide_the_key() {
    with_db(async |t| {
        let models = || models![by_range::Shop, by_range::Order, by_range::NoteBucket, Sheet];
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty() && plan.notes().is_empty(), "{plan}");
        let listed = listed(&t, "sheets").await;
        assert!(
            listed.contains(&doc! { "tenant": "unique", "order": "unique" }),
            "{listed:?}"
        );
        // By the reference alone, documents are found as before.
        assert!(listed.contains(&doc! { "order": 1 }), "{listed:?}");

        let (_, order) = by_range::used(&odm).await;
        let sheets = odm.collection::<Sheet>();
        let new = || NewSheet {
            order: order.to_ref(),
        };
        assert_eq!(sheets.insert(new()).await.unwrap().tenant, "acme");
        let again = sheets.insert(new()).await;
        assert!(matches!(again, Err(Error::DuplicateKey { .. })), "{again:?}");
        assert!(
            sheets
                .get_by(|s| s.order, order.to_ref())
                .await
                .unwrap()
                .is_some()
        );

        // The other reference says nothing about the key.
        let problems = problems(&t, models![by_range::Shop, by_range::Order, SignedSheet]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains("the unique index of `SignedSheet` on `signed`"),
            "{problems:?}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "accounts", shard_key(hashed(tenant)))]
struct Account {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
    #[index(unique)]
    email: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "accounts",
    shard_key(tenant, hashed(id)),
    index(fields(tenant, email), unique)
)]
struct AccountById {
    id: ObjectId,
    tenant: String,
    email: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "texts", shard_key(hashed(tenant)))]
struct TenantText {
    id: ObjectId,
    tenant: String,
    #[parent_ref(one)]
    post: Ref<Post>,
}

#[odm_tests::test]
fn a_unique_index_without_the_key_in_front_is_refused() {
    with_db(async |t| {
        let refused = |models: &[odm::Model], parts: &[&str]| {
            let models = models.iter().copied();
            let problems = problems(&t, models);
            assert_eq!(problems.len(), 1, "{problems:?}");
            for part in parts {
                assert!(problems[0].contains(part), "{part}: {problems:?}");
            }
        };
        refused(
            &models![Account],
            &[
                "the unique index of `Account` on `email` does not begin with the shard key (`tenant`)",
                "within each shard alone",
                "`index(fields(tenant, email), unique)`",
                "`unique(global)`",
            ],
        );
        refused(
            &models![AccountById],
            &[
                "on `tenant`, `email` does not begin with the shard key (`tenant`, `_id`)",
                "behind `_id` no value repeats",
                "`unique(global)`",
            ],
        );
        refused(
            &models![Post, TenantText],
            &[
                "one `TenantText` at most in `post` (`one`)",
                "`shard_key(hashed(post))`",
                "`same(…)`",
                "`unique(global)`",
            ],
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts", shard_key(hashed(tenant)))]
struct NumberedPost {
    id: i32,
    tenant: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts", shard_key(tenant, id))]
struct KeyedPost {
    id: i32,
    tenant: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts", shard_key(hashed(tenant)))]
struct MadePost {
    #[field(generate = made)]
    id: String,
    tenant: i32,
}

fn made() -> String {
    ObjectId::new().to_hex()
}

macro_rules! reader {
    ($name:ident, $post:ty, $id:ty) => {
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "likes")]
        struct $name {
            id: ObjectId,
            #[reference]
            post: Ref<$post, $id>,
        }
    };
}
reader!(NumberedLike, NumberedPost, i32);
reader!(KeyedLike, KeyedPost, i32);
reader!(MadeLike, MadePost, String);

#[odm_tests::test]
fn an_id_of_the_application_is_in_the_key_where_others_refer_to_it() {
    with_db(async |t| {
        let problems = problems(&t, models![NumberedPost, NumberedLike]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        for part in [
            "`NumberedLike.post` refers to `NumberedPost` by its `_id`, which the application sets and which is not in the shard key",
            "`shard_key(…, id)`",
            "`id: ObjectId`",
            "`#[field(generate = Uuid::new)]`",
        ] {
            assert!(problems[0].contains(part), "{part}: {problems:?}");
        }
        for sound in [
            models![NumberedPost].to_vec(),
            models![KeyedPost, KeyedLike].to_vec(),
            models![MadePost, MadeLike].to_vec(),
            models![by_hash::Shop, by_hash::Order].to_vec(),
        ] {
            Odm::new(t.db.clone(), sound).unwrap();
        }
    });
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Profile {
    home: Option<Address>,
    work: Address,
    #[field(default = "en".to_owned())]
    language: String,
    #[field(default = "en".to_owned(), stored)]
    stored: String,
    #[field(default = Some(1), stored)]
    level: Option<i32>,
    #[embed(max = 5)]
    names: std::collections::BTreeMap<String, String>,
    #[field(opaque)]
    more: Raw,
    #[field(alias = "nick")]
    name: String,
    #[field(skip_none)]
    left: Option<i32>,
}

macro_rules! keyed {
    ($name:ident, $($key:tt)*) => {
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "users", shard_key($($key)*))]
        struct $name {
            id: ObjectId,
            profile: Profile,
        }
    };
}
keyed!(ByArray, profile.work.lines);
keyed!(ByOption, profile.work.city);
keyed!(InOption, profile.home.country);
keyed!(ByDefault, profile.language);
keyed!(ByStored, profile.stored, id);
keyed!(ByLevel, profile.level);
keyed!(ByAlias, profile.name);
keyed!(ByLeftOut, profile.left);

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", shard_key(profile.language), collation(locale = "en"))]
struct CollatedUser {
    id: ObjectId,
    profile: CollatedProfile,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct CollatedProfile {
    language: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews", shard_key(hashed(shop_name)))]
struct Review {
    id: ObjectId,
    #[reference]
    shop: Ref<by_hash::Shop>,
    #[denormalize(from = shop.name)]
    shop_name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews", shard_key(hashed(shop_name)))]
struct Snapshot {
    id: ObjectId,
    #[reference]
    shop: Ref<by_hash::Shop>,
    #[denormalize(from = shop.name, consistency = snapshot)]
    shop_name: String,
}

#[odm_tests::test]
fn a_key_without_one_lasting_value_in_each_document_is_refused() {
    with_db(async |t| {
        for (models, path, why) in [
            (
                models![ByArray].to_vec(),
                "profile.work.lines",
                "which is an array, and MongoDB takes none",
            ),
            (
                models![ByOption].to_vec(),
                "profile.work.city",
                "and `profile.work.city` may be `null` or missing",
            ),
            (
                models![InOption].to_vec(),
                "profile.home.land",
                "and `profile.home` may be `null` or missing",
            ),
            (
                models![ByDefault].to_vec(),
                "profile.language",
                "`#[field(stored)]`",
            ),
            (
                models![ByAlias].to_vec(),
                "profile.name",
                "is also read under another name",
            ),
            (
                models![ByLeftOut].to_vec(),
                "profile.left",
                "is left out of some documents",
            ),
            (
                models![CollatedUser].to_vec(),
                "profile.language",
                "compares texts by the collation `en`",
            ),
            (
                models![by_hash::Shop, by_hash::Order, Review].to_vec(),
                "shop_name",
                "is a copy of `name`, which may change, and the document would move to another shard then",
            ),
        ] {
            let problems = problems(&t, models);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(
                problems[0].contains(&format!("names `{path}`, ")),
                "{path}: {problems:?}"
            );
            assert!(problems[0].contains(why), "{why}: {problems:?}");
        }
        for sound in [
            models![ByStored].to_vec(),
            models![ByLevel].to_vec(),
            models![by_hash::Shop, by_hash::Order, Snapshot].to_vec(),
        ] {
            Odm::new(t.db.clone(), sound).unwrap();
        }
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "events", shard_key(tenant, hashed(id)), common(tenant: String, at: DateTime))]
enum Event {
    Login(Login),
    Sale(Sale),
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
    tenant: String,
    at: DateTime,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Event)]
struct Sale {
    id: ObjectId,
    tenant: String,
    at: DateTime,
    #[index(unique)]
    number: i32,
}

#[odm_tests::test]
fn an_enum_of_documents_has_the_key_of_all_variants() {
    with_db(async |t| {
        let key = Event::META.shard_key.unwrap();
        let fields: Vec<_> = key
            .fields
            .iter()
            .map(|field| (field.path, field.hashed))
            .collect();
        assert_eq!(fields, [("tenant", false), ("_id", true)]);
        assert_eq!(Login::META.shard_key, Some(key));
        let problems = problems(&t, models![Event]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].contains("the unique index of `Event` on `number`"),
            "{problems:?}"
        );
    });
}

#[odm_tests::test]
fn stored_names_stand_in_the_description_of_a_document() {
    with_db(async |t| {
        let of = |key: Option<&'static odm::__private::ShardKeyMeta>| -> Vec<(&str, bool)> {
            let fields = key.unwrap().fields.iter();
            fields.map(|field| (field.path, field.hashed)).collect()
        };
        assert_eq!(
            of(ByPath::META.shard_key),
            [("address.land", false), ("_id", false)]
        );
        assert_eq!(of(by_hash::Shop::META.shard_key), [("tenant", true)]);
        assert_eq!(
            of(by_hash::NoteBucket::META.shard_key),
            [("tenant", false), ("shop", true)]
        );
        assert_eq!(Post::META.shard_key, None);
        drop(t);
    });
}

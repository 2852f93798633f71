//! Plans and their application, on a server: collections, validators and indexes.

use mongodb::bson::{Bson, Document as Bag, doc, oid::ObjectId};
use odm::__private as meta;
use odm::schema::Change;
use odm::{Error, Model, Odm};
use odm_tests::{TestDb, with_db};

const fn field(name: &'static str, shape: meta::ShapeFn) -> meta::FieldMeta {
    meta::FieldMeta {
        rust: name,
        name,
        aliases: &[],
        ty: "",
        shape,
        bounds: meta::Bounds::NONE,
        required: true,
        flatten: false,
        cut: false,
        access: meta::Access::Open,
        sensitive: false,
        deferred: false,
        json: None,
        json_text: false,
        beside: false,
        managed: meta::Managed::No,
        size: None,
        reference: None,
        entry: None,
        copied: None,
        volatile: false,
        skips_none: false,
        set: false,
        default: None,
        left_out: false,
        inserted: false,
        stored: false,
        shows_more: false,
        unique: false,
    }
}

const ID: meta::FieldMeta = meta::FieldMeta {
    managed: meta::Managed::Id,
    ..field("_id", || meta::Shape::ObjectId)
};

const fn many(name: &'static str, shape: meta::ShapeFn, max: u64) -> meta::FieldMeta {
    meta::FieldMeta {
        bounds: meta::Bounds {
            max_items: Some(max),
            ..meta::Bounds::NONE
        },
        ..field(name, shape)
    }
}

/// A document described by hand, so that one collection can be declared in several ways.
macro_rules! model {
    ($name:ident in $collection:literal, [$($field:expr),* $(,)?], [$($index:expr),* $(,)?] $(, $validation:expr)?) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $name {
            #[serde(rename = "_id")]
            id: ObjectId,
        }
        impl meta::Fielded for $name {
            const FIELDS: &'static [meta::FieldMeta] = &[$($field),*];
        }
        impl $name {
            const STORED_ID: meta::stored::Field<ObjectId> = meta::stored::Field::stored("_id\0", None);
        }
        impl meta::stored::Fields for $name {
            fn write_fields(&self, out: &mut meta::stored::Out) -> meta::stored::Done {
                out.by(&self.id, const { &$name::STORED_ID })
            }
        }
        impl meta::stored::Row for $name {
            fn read_row(fields: &mut meta::stored::Reader<'_>) -> meta::stored::Read<Self> {
                let id = fields.by(const { &$name::STORED_ID })?;
                Ok($name { id })
            }
        }
        impl odm::references::Identified for $name {
            type Id = ObjectId;
            type New = ObjectId;
        }
        impl odm::Document for $name {
            type Paths = ();
            const META: &'static meta::DocumentMeta = &meta::DocumentMeta {
                name: stringify!($name),
                collection: $collection,
                shape: || meta::Shape::Struct(const {
                    &meta::StructShape { ty: None,
                        name: stringify!($name),
                        fields: <$name as meta::Fielded>::FIELDS,
                        deny_unknown: false,
                    }
                }),
                indexes: &[$($index),*],
                collation: None,
                expiry: None,
                kind: meta::CollectionKind::Plain,
                append_only: false,
                soft_delete: None,
                hooks: &[],
                search_indexes: &[],
                shard_key: None,
                generated_id: true,
                claims: None,
                decode: meta::decodes::<$name>,
                several: meta::Several::No,
                checks: &[],
                shared: &[],
                pre_and_post_images: false,
                bucket: None,
                extra: || false,
                validation: {
                    let validation = meta::Validation::STRICT;
                    $(let _ = validation; let validation = $validation;)?
                    validation
                },
            };
            fn paths() {}
            fn id(&self) -> &ObjectId {
                &self.id
            }
            fn fresh(id: ObjectId, _now: meta::DateTime) -> odm::write::Fresh<$name> {
                odm::write::Fresh::Whole($name { id })
            }
        }
    };
}

macro_rules! on {
    ($($path:literal: $kind:ident),*) => {
        meta::IndexMeta::on(const { &[$(meta::IndexKey { path: || $path, kind: meta::IndexKind::$kind }),*] })
    };
}

fn text() -> meta::Shape {
    meta::Shape::String
}

fn texts() -> meta::Shape {
    meta::Shape::Array(text)
}

fn date() -> meta::Shape {
    meta::Shape::Date
}

model!(Person in "people", [ID, field("name", text), many("tags", texts, 2)], []);
model!(Wider in "people", [ID, field("name", text), many("tags", texts, 5)], []);
model!(
    Lax in "people",
    [ID, field("name", text), many("tags", texts, 2)],
    [],
    meta::Validation { level: meta::Level::Moderate, action: meta::Action::Warn }
);
model!(
    Unique in "people",
    [ID],
    [meta::IndexMeta { unique: true, ..on!("name": Ascending) }]
);
model!(
    Indexed in "indexed",
    [ID, field("a", text), field("at", date)],
    [
        on!("a": Ascending, "b": Descending),
        meta::IndexMeta { unique: true, sparse: true, ..on!("a": Ascending) },
        meta::IndexMeta { expire_after: Some(3600), ..on!("at": Ascending) },
        meta::IndexMeta {
            name: Some("some"),
            partial: Some(|| Ok(mongodb::bson::rawdoc! { "a": { "$gt": "m" } })),
            ..on!("a": Descending)
        },
        meta::IndexMeta {
            name: Some("folded"),
            collation: Some(meta::CollationMeta { locale: "en", strength: 2, numeric_ordering: false }),
            ..on!("b": Ascending)
        },
        on!("place": Geo),
    ]
);
model!(
    Shorter in "indexed",
    [ID, field("a", text), field("at", date)],
    [meta::IndexMeta { expire_after: Some(60), ..on!("at": Ascending) }]
);

fn handle(t: &TestDb, model: Model) -> Odm {
    Odm::new(t.db.clone(), [model]).unwrap()
}

async fn options(t: &TestDb, collection: &str) -> Bag {
    let command = doc! { "listCollections": 1, "filter": { "name": collection } };
    let reply = t.db.run_command(command).await.unwrap();
    let listed = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    listed[0]
        .as_document()
        .unwrap()
        .get_document("options")
        .unwrap()
        .clone()
}

async fn index_names(t: &TestDb, collection: &str) -> Vec<String> {
    let mut names =
        t.db.collection::<Bag>(collection)
            .list_index_names()
            .await
            .unwrap();
    names.sort();
    names
}

async fn insert(t: &TestDb, documents: impl IntoIterator<Item = Bag>) {
    t.db.collection::<Bag>("people")
        .insert_many(documents)
        .await
        .unwrap();
}

#[odm_tests::test]
fn sync_creates_everything_and_a_second_sync_changes_nothing() {
    with_db(async |t| {
        let odm = handle(&t, Model::of::<Person>());
        let plan = odm.plan().await.unwrap();
        assert_eq!(
            plan.to_string(),
            "create the collection `people` with a validator of 3 fields"
        );
        assert_eq!(odm.apply(&plan).await.unwrap().changes(), plan.changes());
        assert_eq!(odm.plan().await.unwrap().to_string(), "nothing to change");
        // The same plan again finds everything done.
        odm.apply(&plan).await.unwrap();
        assert!(odm.sync().await.unwrap().is_empty());

        let people = t.db.collection::<Bag>("people");
        let refused = people
            .insert_one(doc! { "name": "a", "tags": ["x", "y", "z"] })
            .await;
        assert!(refused.is_err());
        people
            .insert_one(doc! { "name": "a", "tags": ["x", "y"] })
            .await
            .unwrap();
    });
}

#[odm_tests::test]
fn a_plan_and_a_sync_cost_two_round_trips_and_the_stored_edges_one() {
    with_db(async |t| {
        let odm = handle(&t, Model::of::<Indexed>());
        odm_tests::require_no_cluster(&odm).await;
        odm.sync().await.unwrap();
        t.commands.clear();
        odm.plan().await.unwrap();
        assert_eq!(t.commands.take(), ["listCollections", "listIndexes", "find"]);
        odm.sync().await.unwrap();
        assert_eq!(t.commands.take(), ["listCollections", "listIndexes", "find"]);
    });
}

#[odm_tests::test]
fn sync_creates_every_kind_of_index() {
    with_db(async |t| {
        let odm = handle(&t, Model::of::<Indexed>());
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.to_string()
                .contains("`indexed`: create index `a_1` on a, unique, sparse"),
            "{plan}"
        );
        t.commands.clear();
        odm.apply(&plan).await.unwrap();
        assert_eq!(t.commands.take(), ["find", "create", "createIndexes", "find"]);
        let again = odm.plan().await.unwrap();
        assert!(again.is_empty(), "{again}");
        assert_eq!(
            index_names(&t, "indexed").await,
            [
                "_id_",
                "a_1",
                "a_1_b_-1",
                "at_1",
                "folded",
                "place_2dsphere",
                "some"
            ]
        );
    });
}

#[odm_tests::test]
fn several_processes_can_sync_at_once() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), [Model::of::<Person>(), Model::of::<Indexed>()]).unwrap();
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let odm = odm.clone();
                tokio::spawn(async move { odm.sync().await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn a_changed_bound_changes_the_validator() {
    with_db(async |t| {
        handle(&t, Model::of::<Person>()).sync().await.unwrap();
        let odm = handle(&t, Model::of::<Wider>());
        let plan = odm.plan().await.unwrap();
        assert_eq!(
            plan.to_string(),
            "`people`: declared by `Wider` (was `Person`)\n`people`: tags: at most 5 items (was 2)"
        );
        assert_eq!(odm.apply(&plan).await.unwrap().changes().len(), 1);
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn a_foreign_validator_is_kept() {
    with_db(async |t| {
        let theirs = doc! { "age": { "$gte": 0 } };
        t.db.create_collection("people")
            .validator(theirs.clone())
            .await
            .unwrap();
        let odm = handle(&t, Model::of::<Lax>());
        let plan = odm.plan().await.unwrap();
        assert_eq!(
            plan.to_string(),
            "`people`: add a validator of 3 fields beside the existing one, which stays"
        );
        odm.apply(&plan).await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());

        // Another declaration replaces our part alone; level and action are not lowered.
        handle(&t, Model::of::<Wider>()).sync().await.unwrap();
        let options = options(&t, "people").await;
        let parts = options
            .get_document("validator")
            .unwrap()
            .get_array("$and")
            .unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], Bson::from(theirs));
        let ours = parts[1]
            .as_document()
            .unwrap()
            .get_document("$jsonSchema")
            .unwrap();
        assert_eq!(ours.get_str("title").unwrap(), "odm: Wider");
        assert!(!matches!(
            options.get_str("validationLevel"),
            Ok("moderate" | "off")
        ));
        assert!(!matches!(options.get_str("validationAction"), Ok("warn")));
    });
}

#[odm_tests::test]
fn level_and_action_are_set_as_declared() {
    with_db(async |t| {
        handle(&t, Model::of::<Person>()).sync().await.unwrap();
        let odm = handle(&t, Model::of::<Lax>());
        let plan = odm.plan().await.unwrap().to_string();
        assert!(plan.contains("validation level moderate (was strict)"), "{plan}");
        assert!(plan.contains("validation action warn (was error)"), "{plan}");
        odm.sync().await.unwrap();
        let options = options(&t, "people").await;
        assert_eq!(options.get_str("validationLevel").unwrap(), "moderate");
        assert_eq!(options.get_str("validationAction").unwrap(), "warn");
    });
}

#[odm_tests::test]
fn undeclared_indexes_and_collections_stay() {
    with_db(async |t| {
        insert(&t, [doc! { "name": "a", "tags": [] }]).await;
        t.db.collection::<Bag>("others")
            .insert_one(doc! {})
            .await
            .unwrap();
        let age = mongodb::IndexModel::builder().keys(doc! { "age": -1 }).build();
        t.db.collection::<Bag>("people").create_index(age).await.unwrap();
        let odm = handle(&t, Model::of::<Person>());
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty());
        assert_eq!(
            plan.notes(),
            [
                "`people`: the index `age_-1` on age (descending), which is not declared",
                "the collection `others`, which no model declares",
            ]
        );
        assert_eq!(index_names(&t, "people").await, ["_id_", "age_-1"]);
    });
}

#[odm_tests::test]
fn violations_are_counted_and_refused() {
    with_db(async |t| {
        let unfit = (0..7).map(|n| doc! { "_id": n, "name": n, "tags": [] });
        insert(
            &t,
            unfit.chain([doc! { "_id": ObjectId::new(), "name": "a", "tags": [] }]),
        )
        .await;
        let odm = handle(&t, Model::of::<Person>());
        let plan = odm.plan().await.unwrap();
        let violations = plan.changes()[0].violations().unwrap();
        assert_eq!((violations.count, violations.sample.len()), (7, 5));
        assert!(
            plan.to_string()
                .contains("`people`: this is violated by 7 existing documents, among them _id 0"),
            "{plan}"
        );
        t.commands.clear();
        match odm.apply(&plan).await.unwrap_err() {
            Error::ExistingDocuments {
                collection: "people",
                count: 7,
                sample,
                ..
            } => assert_eq!(sample.len(), 5),
            other => panic!("{other}"),
        }
        assert!(t.commands.take().is_empty());
        assert!(matches!(odm.sync().await, Err(Error::ExistingDocuments { .. })));
        assert!(!options(&t, "people").await.contains_key("validator"));

        odm.apply(&plan.accept_violations()).await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn a_validator_that_refuses_nothing_old_is_set_over_violations() {
    with_db(async |t| {
        insert(&t, [doc! { "name": 5, "tags": [] }]).await;
        let odm = handle(&t, Model::of::<Lax>());
        let plan = odm.plan().await.unwrap();
        assert_eq!(plan.changes()[0].violations().unwrap().count, 1);
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn duplicates_are_counted_and_refused() {
    with_db(async |t| {
        let ids: Vec<ObjectId> = (0..6).map(|_| ObjectId::new()).collect();
        // Two by value, one of them in an array; two without; an empty array is unlike a missing field.
        insert(
            &t,
            [
                doc! { "_id": ids[0], "name": "a" },
                doc! { "_id": ids[1], "name": ["a", "b", "b"] },
                doc! { "_id": ids[2] },
                doc! { "_id": ids[3], "name": null },
                doc! { "_id": ids[4], "name": [] },
                doc! { "_id": ids[5], "name": "c" },
            ],
        )
        .await;
        let odm = handle(&t, Model::of::<Unique>());
        let plan = odm.plan().await.unwrap();
        let index = plan
            .changes()
            .iter()
            .find(|change| matches!(change, Change::CreateIndex { .. }))
            .unwrap();
        let violations = index.violations().unwrap();
        assert_eq!(violations.count, 4);
        let mut sample = violations.sample.clone();
        sample.sort_by_key(|id| id.as_object_id());
        let expected: Vec<Bson> = ids[..4].iter().map(|id| Bson::from(*id)).collect();
        assert_eq!(sample, expected);
        assert!(matches!(
            odm.apply(&plan).await,
            Err(Error::ExistingDocuments { count: 4, .. })
        ));

        // Duplicates that come up after the plan are refused by the server, and counted then.
        let people = t.db.collection::<Bag>("people");
        people
            .delete_many(doc! { "_id": { "$in": [ids[1], ids[3]] } })
            .await
            .unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.changes().iter().all(|change| change.violations().is_none()),
            "{plan}"
        );
        people.insert_one(doc! { "name": "c" }).await.unwrap();
        match odm.apply(&plan).await.unwrap_err() {
            Error::ExistingDocuments { count: 2, change, .. } => {
                assert_eq!(change, "the index `name_1` on name, unique")
            }
            other => panic!("{other}"),
        }
    });
}

/// One statement creates all indexes or none, so a refused one must not take the others with it.
#[odm_tests::test]
fn a_refused_index_leaves_the_others() {
    with_db(async |t| {
        let odm = handle(&t, Model::of::<Indexed>());
        odm.sync().await.unwrap();
        let rows = t.db.collection::<Bag>("indexed");
        rows.drop_indexes().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert_eq!(plan.changes().len(), 6, "{plan}");
        let row = || doc! { "a": "x", "at": mongodb::bson::DateTime::now() };
        rows.insert_many([row(), row()]).await.unwrap();

        match odm.apply(&plan).await.unwrap_err() {
            Error::ExistingDocuments { count: 2, change, .. } => {
                assert_eq!(change, "the index `a_1` on a, unique, sparse")
            }
            other => panic!("{other}"),
        }
        let names = index_names(&t, "indexed").await;
        assert_eq!(names.len(), 6, "{names:?}");
        assert!(!names.contains(&"a_1".to_owned()), "{names:?}");

        rows.delete_many(doc! {}).await.unwrap();
        odm.sync().await.unwrap();
        assert_eq!(index_names(&t, "indexed").await.len(), 7);
    });
}

#[odm_tests::test]
fn a_changed_time_to_live_changes_the_index() {
    with_db(async |t| {
        handle(&t, Model::of::<Indexed>()).sync().await.unwrap();
        let odm = handle(&t, Model::of::<Shorter>());
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.to_string()
                .contains("`indexed`: index `at_1` deletes documents after 60 s (was after 3600 s)"),
            "{plan}"
        );
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        assert_eq!(index_names(&t, "indexed").await.len(), 7);
    });
}

#[odm_tests::test]
fn conflicts_are_refused_before_anything_is_changed() {
    with_db(async |t| {
        let plain = mongodb::IndexModel::builder().keys(doc! { "name": 1 }).build();
        t.db.collection::<Bag>("people")
            .create_index(plain)
            .await
            .unwrap();
        let odm = handle(&t, Model::of::<Unique>());
        let plan = odm.plan().await.unwrap();
        let what = "index `name_1` exists with other options: it is not unique, declared unique; `sync --replace` \
                    (`Plan::replace`) replaces it: it is made unique in place, if no documents share a value";
        assert!(plan.to_string().contains(what), "{plan}");
        t.commands.clear();
        match odm.apply(&plan).await.unwrap_err() {
            Error::SchemaConflict {
                collection: "people",
                what: said,
            } => assert_eq!(said, what),
            other => panic!("{other}"),
        }
        assert!(t.commands.take().is_empty());
        assert!(matches!(odm.sync().await, Err(Error::SchemaConflict { .. })));
    });
}

#[odm_tests::test]
fn an_equal_index_of_another_name_is_enough() {
    with_db(async |t| {
        let options = mongodb::options::IndexOptions::builder()
            .name("mine".to_owned())
            .unique(true)
            .build();
        let unique = mongodb::IndexModel::builder()
            .keys(doc! { "name": 1 })
            .options(options)
            .build();
        t.db.collection::<Bag>("people")
            .create_index(unique)
            .await
            .unwrap();
        handle(&t, Model::of::<Unique>()).sync().await.unwrap();
        assert_eq!(index_names(&t, "people").await, ["_id_", "mine"]);
    });
}

#[odm_tests::test]
fn a_view_is_a_conflict() {
    with_db(async |t| {
        t.db.create_collection("base").await.unwrap();
        t.db.create_collection("people")
            .view_on("base".to_owned())
            .await
            .unwrap();
        let odm = handle(&t, Model::of::<Person>());
        match odm.sync().await.unwrap_err() {
            Error::SchemaConflict { what, .. } => {
                assert!(what.starts_with("there is a view of this name"), "{what}")
            }
            other => panic!("{other}"),
        }
    });
}

#[odm_tests::test]
fn a_stale_plan_does_no_harm() {
    with_db(async |t| {
        handle(&t, Model::of::<Person>()).sync().await.unwrap();
        let odm = handle(&t, Model::of::<Wider>());
        let stale = odm.plan().await.unwrap();
        let theirs = doc! { "age": { "$gte": 0 } };
        t.db.run_command(doc! { "collMod": "people", "validator": theirs.clone() })
            .await
            .unwrap();
        match odm.apply(&stale).await.unwrap_err() {
            Error::SchemaConflict { what, .. } => assert!(what.contains("make a new one"), "{what}"),
            other => panic!("{other}"),
        }
        assert_eq!(
            options(&t, "people").await.get_document("validator").unwrap(),
            &theirs
        );
        odm.sync().await.unwrap();
        assert!(
            options(&t, "people")
                .await
                .get_document("validator")
                .unwrap()
                .contains_key("$and")
        );
    });
}

mod in_the_way {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "goods")]
    pub struct Good {
        pub id: i32,
        #[subset(of = Opinion, limit = 2, order(-at), fields(at: i32))]
        pub newest: Vec<NewestEntry>,
        #[subset(of = Letter, limit = 2, order(-at), fields(at: i32))]
        pub letters: Vec<LettersEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(
        collection = "opinions",
        index(fields(good, -at, -id), partial = |o| o.shown.eq(true))
    )]
    pub struct Opinion {
        pub id: i32,
        #[parent_ref]
        pub good: Ref<Good>,
        pub at: i32,
        pub shown: bool,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(
        collection = "letters",
        index(fields(good, -at, -id), collation(locale = "en", strength = 2), name = "by_language")
    )]
    pub struct Letter {
        pub id: i32,
        #[parent_ref]
        pub good: Ref<Good>,
        pub at: i32,
    }
}

/// A declared index on the keys of a subset's, with other options, does not serve it and stands in its way.
#[odm_tests::test]
fn the_index_of_a_subset_stands_beside_a_declared_one() {
    with_db(async |t| {
        use in_the_way::{Good, Letter, NewGood, NewOpinion, Opinion};
        use odm::Ref;
        let odm = Odm::new(t.db.clone(), odm::models![Good, Opinion, Letter]).unwrap();
        odm.sync().await.unwrap();
        let again = odm.plan().await.unwrap();
        assert!(again.is_empty(), "{again}");
        assert!(odm.sync().await.unwrap().is_empty());
        let names = index_names(&t, "opinions").await;
        for name in ["good_1_at_-1__id_-1", "good_1_at_1__id_1"] {
            assert!(names.iter().any(|there| there == name), "{names:?}");
        }
        let names = index_names(&t, "letters").await;
        for name in ["by_language", "good_1_at_1__id_1"] {
            assert!(names.iter().any(|there| there == name), "{names:?}");
        }
        let (goods, opinions) = (odm.collection::<Good>(), odm.collection::<Opinion>());
        goods.insert(NewGood { id: 1 }).await.unwrap();
        let new = |id| NewOpinion {
            id,
            good: Ref::new(1),
            at: id,
            shown: false,
        };
        opinions.insert_many((1..5).map(new)).await.unwrap();
        let newest = goods.get(1).await.unwrap().unwrap().newest;
        let newest: Vec<i32> = newest.into_iter().map(|entry| entry.at).collect();
        assert_eq!(newest, [4, 3]);
    });
}

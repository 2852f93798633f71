//! How strings are compared: declared for a collection and inherited, or said for one operation.

use mongodb::bson::{Document as Doc, doc};
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::mongodb::options::{Collation, CollationStrength};
use odm::prelude::*;
use odm_tests::fixtures::edges::through;
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, require_inherited_collations, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", collation(locale = "en", strength = 2))]
struct User {
    id: i32,
    #[index(unique)]
    name: String,
    visits: i32,
}

fn user(id: i32, name: &str) -> User {
    User {
        id,
        name: name.into(),
        visits: 0,
    }
}

/// Whether the server compares by collations: one of the stand-ins compares byte by byte.
async fn compares_by_collation(t: &TestDb) -> bool {
    let raw = t.db.collection::<Doc>("probe");
    raw.insert_one(doc! { "a": "x" }).await.unwrap();
    let found = raw.find_one(doc! { "a": "X" }).collation(ignore_case()).await;
    raw.drop().await.unwrap();
    found.unwrap().is_some()
}

/// Skips the test on a server that does not compare by collations.
async fn require_collations(t: &TestDb) {
    if !compares_by_collation(t).await {
        odm_tests::skip("needs a server that compares by collations");
    }
}

/// Skips the test where no id is found by a collation: one of the stand-ins looks it up by its bytes.
async fn require_ids_by_collation(t: &TestDb) {
    let raw = t.db.collection::<Doc>("probe");
    raw.insert_one(doc! { "_id": "x" }).await.unwrap();
    let found = raw.find_one(doc! { "_id": "X" }).collation(ignore_case()).await;
    raw.drop().await.unwrap();
    let found = found.unwrap().is_some();
    if !found {
        odm_tests::skip("needs a server that finds an id by a collation");
    }
}

fn ignore_case() -> Collation {
    let collation = Collation::builder().locale("en");
    collation.strength(CollationStrength::Secondary).build()
}

#[odm_tests::test]
fn a_collection_is_created_with_its_collation() {
    with_db(async |t| {
        require_inherited_collations(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![User]).unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.to_string().contains(
                "create the collection `users` with a validator of 3 fields, collation { \"locale\": \"en\""
            ),
            "{plan}"
        );
        odm.sync().await.unwrap();
        let listed =
            t.db.run_command(doc! { "listCollections": 1, "filter": { "name": "users" } });
        let listed = listed.await.unwrap();
        let first = listed
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let options = first[0].as_document().unwrap().get_document("options").unwrap();
        let collation = options.get_document("collation").unwrap();
        assert_eq!(collation.get_str("locale").ok(), Some("en"));
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty() && plan.notes().is_empty(), "{plan}");
    });
}

/// Operations of the collection compare by its collation without being told; an upsert finds the document of which the unique index
/// would refuse a twin.
#[odm_tests::test]
fn operations_and_indexes_inherit_the_collation() {
    with_db(async |t| {
        require_collations(&t).await;
        require_inherited_collations(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![User]).unwrap();
        odm.sync().await.unwrap();
        let users = odm.collection::<User>();
        users.insert(user(1, "Kate")).await.unwrap();
        let twin = users.insert(user(2, "KATE")).await;
        assert!(matches!(twin, Err(Error::DuplicateKey { .. })), "{twin:?}");
        assert_eq!(users.find(|u| u.name.eq("kate")).count().await.unwrap(), 1);
        assert!(users.find(|u| u.name.eq("kate")).exists().await.unwrap());
        let done = users
            .update_where(|u| u.name.eq("kate"))
            .inc(|u| u.visits, 1)
            .upsert_with(user(9, "Kate"))
            .await
            .unwrap();
        assert_eq!((done.matched, done.upserted), (1, None));
        assert_eq!(
            users.delete_where(|u| u.name.eq("kATE")).await.unwrap().deleted,
            1
        );
    });
}

#[odm_tests::test]
fn a_collection_that_has_another_collation_is_a_conflict() {
    with_db(async |t| {
        let create = doc! { "create": "users", "collation": { "locale": "de", "strength": 2 } };
        t.db.run_command(create).await.unwrap();
        let odm = Odm::new(t.db.clone(), models![User]).unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.to_string().contains("a collection keeps the one that it was created with: copy its documents into a new collection"),
            "{plan}"
        );
        assert!(matches!(
            odm.apply(&plan).await,
            Err(Error::SchemaConflict {
                collection: "users",
                ..
            })
        ));
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
struct Note {
    id: i32,
    title: String,
    read: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "remarks")]
struct Remark {
    id: i32,
    #[reference(on_delete = cascade)]
    note: Ref<Note>,
    title: String,
}

/// Notes have a rule for their deletion, remarks a reference: both ways of each operation.
#[odm_tests::test]
fn an_operation_may_compare_by_a_collation_of_its_own() {
    with_transactions(async |t| {
        require_collations(&t).await;
        let odm = Odm::new(t.db.clone(), models![Note, Remark]).unwrap();
        odm.sync().await.unwrap();
        let (notes, remarks) = (odm.collection::<Note>(), odm.collection::<Remark>());
        for id in 1..=2 {
            let title = ["Kate", "kate"][id as usize - 1].to_owned();
            notes
                .insert(Note {
                    id,
                    title: title.clone(),
                    read: 0,
                })
                .await
                .unwrap();
            remarks
                .insert(Remark {
                    id,
                    note: Ref::new(id),
                    title,
                })
                .await
                .unwrap();
        }
        let read = || notes.update_where(|n| n.title.eq("KATE")).inc(|n| n.read, 1);
        assert_eq!(read().await.unwrap().matched, 0);
        assert_eq!(read().collation(ignore_case()).await.unwrap().matched, 2);
        let refused = read()
            .collation(ignore_case())
            .upsert_with(Note {
                id: 9,
                title: "KATE".into(),
                read: 0,
            })
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("declare it there"), "{refused}");
        let bulk = odm.bulk().add(
            odm.collection::<Note>()
                .delete_where(|n| n.title.eq("KATE"))
                .collation(ignore_case()),
        );
        let Error::Bulk { errors, .. } = bulk.await.unwrap_err() else {
            panic!("documents with relationships");
        };
        let said =
            "conditions on documents with relationships or hooks use the collation of their collection";
        assert!(errors[0].1.to_string().contains(said), "{errors:?}");
        let bulk = odm
            .bulk()
            .add(odm.collection::<Note>().delete(7).collation(ignore_case()));
        let refused = bulk.await.unwrap_err().to_string();
        assert!(
            refused.contains("only `update_where` and `delete_where` take a collation"),
            "{refused}"
        );
        let counted: Vec<Doc> = notes
            .aggregate()
            .filter(|n| n.title.eq("KATE"))
            .group(|_| (), |g| g.count("n").sum("read", |n| n.read))
            .collation(ignore_case())
            .all()
            .await
            .unwrap();
        assert_eq!(counted[0].get_i32("n").ok(), Some(2));
        assert_eq!(counted[0].get_i32("read").ok(), Some(2));

        let delete = || remarks.delete_where(|r| r.title.eq("KATE") & r.id.eq(1));
        assert_eq!(delete().await.unwrap().deleted, 0);
        assert_eq!(delete().collation(ignore_case()).await.unwrap().deleted, 1);
        let deleted = notes
            .delete_where(|n| n.title.eq("KATE"))
            .collation(ignore_case())
            .await
            .unwrap();
        assert_eq!((deleted.deleted, deleted.cascaded), (2, 1));
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "plain")]
struct Plain {
    id: i32,
    title: String,
    read: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pages")]
struct Page {
    #[field(name = "_id")]
    path: String,
    reads: i32,
}

/// An id that is a text names the document whose id the collation takes for it, if it is one.
#[odm_tests::test]
fn an_id_may_be_compared_by_a_collation() {
    with_db(async |t| {
        require_ids_by_collation(&t).await;
        let odm = Odm::new(t.db.clone(), models![Page]).unwrap();
        let pages = odm.collection::<Page>();
        for path in ["Home", "news", "News"] {
            pages
                .insert(Page {
                    path: path.into(),
                    reads: 0,
                })
                .await
                .unwrap();
        }
        let read = |path: &str| pages.update(path).inc(|p| p.reads, 1).collation(ignore_case());
        assert_eq!(read("HOME").await.unwrap().matched, 1);
        assert_eq!(read("HOME").returning().await.unwrap().reads, 2);
        let several = read("NEWS").await.unwrap_err();
        assert!(
            several
                .to_string()
                .contains("matches the ids of several documents by this collation"),
            "{several}"
        );
        assert!(matches!(read("gone").await, Err(Error::NotFound { .. })));
        assert!(pages.delete("NEWS").collation(ignore_case()).await.is_err());
        assert_eq!(
            pages
                .delete("home")
                .collation(ignore_case())
                .await
                .unwrap()
                .deleted,
            1
        );
        assert_eq!(pages.find_all().count().await.unwrap(), 2);
    });
}

/// Where no rule of the library is asked, the collation is part of the one statement.
#[odm_tests::test]
fn an_upsert_by_a_collation_is_one_statement() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Plain]).unwrap();
        let plain = odm.collection::<Plain>();
        plain
            .insert(Plain {
                id: 1,
                title: "Kate".into(),
                read: 0,
            })
            .await
            .unwrap();
        t.commands.clear();
        let upsert = plain
            .update_where(|p| p.title.eq("KATE"))
            .set(|p| p.read, 1)
            .upsert_with(Plain {
                id: 9,
                title: "KATE".into(),
                read: 0,
            });
        let done = upsert.collation(ignore_case()).await.unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        if compares_by_collation(&t).await {
            assert_eq!((done.matched, done.upserted), (1, None));
        }
        if compares_by_collation(&t).await {
            // By the one command, and by one for each run.
            for bulk in [odm.bulk(), odm.bulk().without_bulk_write_command()] {
                let done = bulk
                    .add(
                        plain
                            .update_where(|p| p.title.eq("KATE"))
                            .inc(|p| p.read, 1)
                            .collation(ignore_case()),
                    )
                    .add(plain.update_where(|p| p.title.eq("KATE")).inc(|p| p.read, 1))
                    .add(plain.delete_where(|p| p.title.eq("TIM")).collation(ignore_case()))
                    .await
                    .unwrap();
                assert_eq!((done.matched, done.deleted), (1, 0));
            }
        }
        t.commands.clear();
        plain
            .delete_where(|p| p.title.eq("KATE"))
            .collation(ignore_case())
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["delete"]);
    });
}

mod by_text {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "owners", collation(locale = "en", strength = 1))]
    pub struct Owner {
        pub id: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pets")]
    pub struct Pet {
        pub id: i32,
        #[reference]
        pub owner: Ref<Owner>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "shops")]
    pub struct Shop {
        pub id: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "orders", collation(locale = "en", numeric_ordering))]
    pub struct Order {
        pub id: i32,
        #[reference]
        pub shop: Ref<Shop>,
    }
}

/// To such a collation `kate` and `Kate` are one owner, and `shop 1` and `shop 01` one shop.
#[odm_tests::test]
fn a_reference_by_a_text_is_refused_where_a_collation_folds_it() {
    use by_text::*;
    with_db(async |t| {
        let refused = Odm::new(t.db.clone(), models![Owner, Pet, Shop, Order]).unwrap_err();
        let Error::Models { problems } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(problems.len(), 2, "{problems:?}");
        let said = "`Pet.owner` refers to `Owner` by `_id`, which is a text, and the collation of `Owner` (`en`, strength 1) takes \
                    texts that differ for equal";
        assert!(problems[0].starts_with(said), "{problems:?}");
        assert!(
            problems[1].contains("the collation of `Order` (`en`, strength 3, numeric_ordering)"),
            "{problems:?}"
        );
    });
}

/// A collection whose ids are texts, which it compares without their case.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "words", collation(locale = "en", strength = 2))]
struct Word {
    #[field(name = "_id")]
    text: String,
    #[index(unique)]
    slug: String,
    n: i32,
}

/// The operations that put results in the places of what was asked for:
///
/// | operation | who places |
/// | --- | --- |
/// | `get`, `update`, `delete`, `exists`, `or_get_by`, `upsert_by`, `save` | one document: the server found it |
/// | `get_many` | the bytes of the id, and the server where these differ |
/// | `insert_many`, bulk writes | their positions |
/// | joins, `children_by`, links, subsets, computed fields, copies, `audit`, `repair` | references: `Odm::new` refuses texts (the test above) |
#[odm_tests::test]
fn documents_are_placed_as_the_collation_finds_them() {
    with_db(async |t| {
        require_inherited_collations(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![Word]).unwrap();
        odm.sync().await.unwrap();
        let words = odm.collection::<Word>();
        let word = |text: &str, n| Word {
            text: text.into(),
            slug: format!("s-{text}"),
            n,
        };
        let inserted = words
            .insert_many([word("Tree", 1), word("house", 2), word("Lake", 3)])
            .await
            .unwrap();
        assert_eq!(inserted.iter().map(|word| word.n).collect::<Vec<_>>(), [1, 2, 3]);
        let Some(found) = words.get("TREE").await.unwrap() else {
            odm_tests::skip("needs a server that finds an id by a collation");
        };
        assert_eq!(found, word("Tree", 1));
        let many = async |ids: &[&str]| -> Vec<i32> {
            let found = words.get_many(ids.iter().map(|id| id.to_string())).await.unwrap();
            found.into_iter().map(|word| word.n).collect()
        };
        assert_eq!(many(&["TREE"]).await, [1]);
        assert_eq!(many(&["lake", "tree", "HOUSE"]).await, [3, 1, 2]);
        // Some by their bytes, one twice, one by two texts, and one that is not there.
        assert_eq!(
            many(&["house", "none", "TREE", "Lake", "tree", "house", "Tree", "LAKE"]).await,
            [2, 1, 3, 1, 2, 1, 3]
        );
        assert_eq!(many(&["none"]).await, [0; 0]);
        t.commands.clear();
        assert_eq!(many(&["Tree", "house"]).await, [1, 2]);
        assert_eq!(
            t.commands.take().len(),
            1,
            "a text that is stored as it was given needs no second query"
        );
        words.update("LAKE").inc(|w| w.n, 10).await.unwrap();
        assert_eq!(words.get("lake").await.unwrap().unwrap().n, 13);
        let new = words
            .insert(Word {
                slug: "S-TREE".into(),
                ..word("other", 9)
            })
            .or_get_by(|w| w.slug)
            .await
            .unwrap();
        assert_eq!((new.inserted, new.document.n), (false, 1));
        assert_eq!(words.delete("HOUSE").await.unwrap().deleted, 1);
        assert_eq!(words.find_all().count().await.unwrap(), 2);
    });
}

/// The reply of a `mongod` 4.9, for the names of `User`: it shows the collation's sort key in the place of the name.
fn duplicate_name(index: i32) -> Doc {
    let message = "E11000 duplicate key error collection: DB.users index: name_1 collation: { locale: \"en\", caseLevel: false, \
                   caseFirst: \"off\", strength: 2, numericOrdering: false, alternate: \"non-ignorable\", maxVariable: \"punct\", \
                   normalization: false, backwards: false, version: \"57.1\" } dup key: { name: \"0x3d0a7a570107\" }";
    doc! { "index": index, "code": 11000, "keyPattern": { "name": 1 }, "keyValue": { "name": "=\nzW\u{1}\u{7}" }, "errmsg": message }
}

#[odm_tests::test]
fn a_duplicate_under_a_collation_names_the_value_of_the_refused_write() {
    with_db(async |t| {
        let proxy = Proxy::start(&server().await, 0).await;
        let odm = Odm::new(through(&proxy, t.db.name()).await, models![User]).unwrap();
        odm.server().await.unwrap();
        proxy.arm();
        let users = odm.collection::<User>();
        let refuses = |command: &str, index: i32| {
            let reply = doc! { "ok": 1.0, "n": 0, "writeErrors": [duplicate_name(index)] };
            proxy.next(command, 1, Fate::Answered(reply));
        };
        let is_named = |error: &Error, what: &str| {
            let Error::DuplicateKey { fields, value, .. } = error else {
                panic!("{what}: {error:?}");
            };
            assert_eq!(fields, &["name"], "{what}");
            assert_eq!(**value, doc! { "name": "KATE" }, "{what}");
            let text = error.to_string();
            assert!(
                text.contains("already has `name` \"KATE\", which"),
                "{what}: {text}"
            );
        };
        refuses("insert", 0);
        is_named(&users.insert(user(1, "KATE")).await.unwrap_err(), "insert");
        refuses("insert", 1);
        match users.insert_many([user(1, "a"), user(2, "KATE")]).await {
            Err(Error::InsertMany { errors, .. }) => {
                assert_eq!(errors[0].0, 1);
                is_named(&errors[0].1, "insert_many");
            }
            other => panic!("{other:?}"),
        }
        refuses("update", 0);
        is_named(
            &users.update(1).set(|u| u.name, "KATE").await.unwrap_err(),
            "update",
        );
        refuses("update", 0);
        let update = users.update_where(|u| u.visits.gt(1)).set(|u| u.name, "KATE");
        is_named(&update.await.unwrap_err(), "update_where");
        // An update that does not give the value does not know it.
        refuses("update", 0);
        let unknown = users
            .update(1)
            .inc(|u| u.visits, 1)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("a value of `name` that the collation takes for the same"),
            "{unknown}"
        );
    });
}

//! Indexes and validators that differ from their declaration, replaced by their kind.

use mongodb::bson::{Document as Doc, doc};
use odm::Error;
use odm::cli::{Streams, run_with};
use odm::prelude::*;
use odm::schema::{Change, Plan, ReplaceWay, RetireStep};
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, with_db};
use std::time::Duration;

/// The declarations of the first version of the program, and of later ones.
mod people {
    use odm::prelude::*;

    pub mod plain {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            #[index]
            pub name: String,
        }
    }
    pub mod unique {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            #[index(unique)]
            pub name: String,
        }
    }
    pub mod sparse {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            #[index(sparse)]
            pub name: String,
        }
    }
    pub mod partial {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            #[index(partial = |p| p.id.gt(10))]
            pub name: String,
        }
    }
}

/// Sessions that end by themselves, and those that don't.
mod sessions {
    use odm::prelude::*;

    pub mod ending {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "sessions")]
        pub struct Session {
            pub id: i32,
            #[index(expire_after = 3600)]
            pub at: DateTime,
        }
    }
    pub mod kept {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "sessions")]
        pub struct Session {
            pub id: i32,
            #[index]
            pub at: DateTime,
        }
    }
}

/// Tasks, which have a priority later.
mod tasks {
    use odm::prelude::*;

    pub mod before {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "tasks")]
        pub struct Task {
            pub id: i32,
            pub title: String,
        }
    }
    pub mod now {
        use super::*;
        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "tasks")]
        pub struct Task {
            pub id: i32,
            pub title: String,
            pub priority: i32,
        }
    }
}

fn odm<T: odm::Document>(t: &TestDb) -> Odm {
    Odm::new(t.db.clone(), [odm::Model::of::<T>()]).unwrap()
}

/// Skips the test on a server that makes no index unique in place.
async fn require_conversion(odm: &Odm) {
    if odm.server().await.unwrap().max_wire_version() < 17 {
        odm_tests::harness::skip("needs indexes that are made unique in place");
    }
}

/// Skips the test on a server that takes no two indexes on the same fields which differ in other options than their collation.
async fn require_two_indexes(odm: &Odm) {
    if odm.server().await.unwrap().max_wire_version() < 12 {
        odm_tests::harness::skip("needs indexes on the same fields");
    }
}

/// Skips the test on a server that hides no indexes, or does not say how often they were used: a router knows one member of each shard.
async fn require_hidden_indexes(t: &TestDb) {
    let odm = Odm::new(t.db.clone(), []).unwrap();
    odm_tests::require_no_cluster(&odm).await;
    if odm_tests::is_the_stand_in_in_python(&t.db).await {
        odm_tests::harness::skip("needs hidden indexes");
    }
}

async fn indexes(t: &TestDb, collection: &str) -> Vec<Doc> {
    let command = doc! { "listIndexes": collection };
    let reply = t.db.run_command(command).await.unwrap();
    let cursor = reply.get_document("cursor").unwrap();
    let all = cursor.get_array("firstBatch").unwrap().iter();
    let mut all: Vec<Doc> = all
        .filter_map(|index| index.as_document().cloned())
        .filter(|index| index.get_str("name").unwrap() != "_id_")
        .collect();
    all.sort_by_key(|index| index.get_str("name").unwrap().to_owned());
    all
}

async fn names(t: &TestDb, collection: &str) -> Vec<String> {
    let all = indexes(t, collection).await;
    let names = all.iter().map(|index| index.get_str("name").unwrap().to_owned());
    names.collect()
}

async fn insert(t: &TestDb, collection: &str, documents: impl IntoIterator<Item = Doc>) {
    let collection = t.db.collection::<Doc>(collection);
    collection.insert_many(documents).await.unwrap();
}

fn way(plan: &Plan) -> ReplaceWay {
    let [Change::ReplaceIndex { way, .. }] = plan.changes() else {
        panic!("{plan}");
    };
    *way
}

fn steps(plan: &Plan) -> Vec<RetireStep> {
    let steps = plan.changes().iter().map(|change| match change {
        Change::RetireIndex { step, .. } => *step,
        other => panic!("{other}"),
    });
    steps.collect()
}

#[odm_tests::test]
fn an_index_becomes_unique_in_place() {
    with_db(async |t| {
        odm::<people::plain::Person>(&t).sync().await.unwrap();
        insert(
            &t,
            "people",
            [doc! { "_id": 1, "name": "a" }, doc! { "_id": 2, "name": "b" }],
        )
        .await;
        let odm = odm::<people::unique::Person>(&t);
        require_conversion(&odm).await;
        let plan = odm.plan().await.unwrap();
        let said = "`people`: conflict: index `name_1` exists with other options: it is not unique, declared unique; `sync --replace` \
                    (`Plan::replace`) replaces it: it is made unique in place, if no documents share a value";
        assert_eq!(plan.to_string(), said);
        // It happens only where it is asked for.
        for refused in [odm.apply(&plan).await, odm.sync().await] {
            assert!(
                matches!(refused, Err(Error::SchemaConflict { .. })),
                "{refused:?}"
            );
        }
        let plan = plan.replace();
        assert_eq!(way(&plan), ReplaceWay::InPlace);
        t.commands.clear();
        let applied = odm.apply(&plan).await.unwrap();
        assert_eq!(
            t.commands.take(),
            ["find", "listIndexes", "collMod", "collMod", "collMod", "find"]
        );
        assert_eq!(applied.changes().len(), 1);
        let all = indexes(&t, "people").await;
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].get_str("name").unwrap(), "name_1");
        assert!(all[0].get_bool("unique").unwrap());
        assert!(!all[0].get_bool("prepareUnique").unwrap_or(false), "{all:?}");
        assert!(odm.plan().await.unwrap().is_empty());
        assert!(odm.sync().await.unwrap().is_empty());
        // A second process with the same plan finds it done.
        assert!(odm.apply(&plan).await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn duplicates_are_listed_before_an_index_is_made_unique() {
    with_db(async |t| {
        odm::<people::plain::Person>(&t).sync().await.unwrap();
        let named = |id: i32, name: &str| doc! { "_id": id, "name": name };
        insert(&t, "people", [named(1, "a"), named(2, "a"), named(3, "b")]).await;
        let odm = odm::<people::unique::Person>(&t);
        require_conversion(&odm).await;
        let plan = odm.plan().await.unwrap();
        let listed = "violated by 2 existing documents, among them _id 1, 2";
        assert!(plan.to_string().contains(listed), "{plan}");
        let plan = plan.replace();
        assert!(plan.to_string().contains(listed), "{plan}");
        t.commands.clear();
        let refused = odm.apply(&plan.accept_violations()).await.unwrap_err();
        assert!(
            matches!(refused, Error::ExistingDocuments { count: 2, .. }),
            "{refused}"
        );
        assert_eq!(t.commands.take(), [""; 0]);

        // They come after the plan was made.
        let people = t.db.collection::<Doc>("people");
        people.delete_one(doc! { "_id": 2 }).await.unwrap();
        let plan = odm.plan().await.unwrap().replace();
        people.insert_one(named(4, "b")).await.unwrap();
        let refused = odm.apply(&plan).await.unwrap_err();
        let Error::ExistingDocuments { change, sample, .. } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(change, "the index `name_1` on name, unique");
        assert_eq!(sample.len(), 2);
        // The index is as it was: it takes duplicates.
        let all = indexes(&t, "people").await;
        assert!(!all[0].get_bool("prepareUnique").unwrap_or(false), "{all:?}");
        people.insert_one(named(5, "b")).await.unwrap();
    });
}

#[odm_tests::test]
fn a_server_that_does_not_know_the_conversion_builds_the_index_beside() {
    with_db(async |t| {
        odm::<people::plain::Person>(&t).sync().await.unwrap();
        let proxy = Proxy::start(&server().await, 0).await;
        let client = odm::mongodb::Client::with_options(proxy.options().await).unwrap();
        let models = [odm::Model::of::<people::unique::Person>()];
        let odm = Odm::new(client.database(t.db.name()), models).unwrap();
        require_conversion(&odm).await;
        let plan = odm.plan().await.unwrap().replace();
        let unknown = doc! {
            "ok": 0.0, "code": 72, "codeName": "InvalidOptions",
            "errmsg": "Unrecognized field 'prepareUnique' in 'index' option",
        };
        proxy.next("collMod", 1, Fate::Answered(unknown));
        odm.apply(&plan).await.unwrap();
        assert!(proxy.is_done());
        let all = indexes(&t, "people").await;
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].get_str("name").unwrap().starts_with("name_1~"), "{all:?}");
        assert!(all[0].get_bool("unique").unwrap());
        let odm = self::odm::<people::unique::Person>(&t);
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn an_index_that_is_not_unique_any_more_stands_in_before_the_old_one_is_dropped() {
    with_db(async |t| {
        odm::<people::unique::Person>(&t).sync().await.unwrap();
        let plain = odm::<people::plain::Person>(&t);
        require_two_indexes(&plain).await;
        let plan = plain.plan().await.unwrap();
        let said = "replaces it: `name_1~";
        assert!(plan.to_string().contains(said), "{plan}");
        let plan = plan.replace();
        assert_eq!(way(&plan), ReplaceWay::BesideThenDropped);
        t.commands.clear();
        plain.apply(&plan).await.unwrap();
        let sent = t.commands.take();
        let of_indexes = sent.iter().filter(|name| name.ends_with("Indexes"));
        let of_indexes: Vec<&str> = of_indexes.map(String::as_str).collect();
        assert_eq!(of_indexes, ["listIndexes", "createIndexes", "dropIndexes"]);
        let there = names(&t, "people").await;
        assert!(there.len() == 1 && there[0].starts_with("name_1~"), "{there:?}");
        insert(
            &t,
            "people",
            [doc! { "_id": 1, "name": "a" }, doc! { "_id": 2, "name": "a" }],
        )
        .await;
        // The declared index is found under its other name.
        let plan = plain.plan().await.unwrap();
        assert_eq!(plan.to_string(), "nothing to change");
        t.commands.clear();
        plain.sync().await.unwrap();
        let sent = t.commands.take();
        assert!(!sent.iter().any(|name| name == "createIndexes"), "{sent:?}");
        // It may be made unique again under that name.
        t.db.collection::<Doc>("people")
            .delete_one(doc! { "_id": 2 })
            .await
            .unwrap();
        let unique = odm::<people::unique::Person>(&t);
        unique
            .apply(&unique.plan().await.unwrap().replace())
            .await
            .unwrap();
        let in_place = unique.server().await.unwrap().max_wire_version() >= 17;
        let name = if in_place { there[0].as_str() } else { "name_1" };
        assert_eq!(names(&t, "people").await, [name]);
        assert!(unique.sync().await.unwrap().is_empty());
    });
}

#[odm_tests::test]
fn a_superseded_index_is_watched_hidden_and_dropped() {
    with_db(async |t| {
        require_hidden_indexes(&t).await;
        odm::<people::sparse::Person>(&t).sync().await.unwrap();
        let documents = (0..20).map(|id| doc! { "_id": id, "name": format!("n{id}") });
        insert(&t, "people", documents).await;
        let odm = odm::<people::partial::Person>(&t);
        require_two_indexes(&odm).await;
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.to_string().contains(
                "is built beside it, and `name_1` is hidden and dropped when it is not used any more"
            ),
            "{plan}"
        );
        let plan = plan.replace();
        assert_eq!(way(&plan), ReplaceWay::Beside);
        t.commands.clear();
        odm.apply(&plan).await.unwrap();
        // Between the declarations of copies: the index, what the member counts, and the note of it.
        assert_eq!(
            t.commands.take(),
            [
                "find",
                "listIndexes",
                "createIndexes",
                "aggregate",
                "update",
                "find"
            ]
        );
        let both = names(&t, "people").await;
        assert_eq!(both.len(), 2);
        assert!(both[0] == "name_1" && both[1].starts_with("name_1~"), "{both:?}");

        // The next step, and its time.
        t.commands.clear();
        let plan = odm.plan().await.unwrap();
        // The last two are for the superseded index.
        let sent = ["listCollections", "listIndexes", "find", "find", "aggregate"];
        assert_eq!(t.commands.take(), sent);
        assert!(plan.is_empty(), "{plan}");
        let waits = format!(
            "`people`: the index `name_1` is superseded by `{}`; not used since ",
            both[1]
        );
        assert!(plan.notes()[0].starts_with(&waits), "{plan}");
        assert!(plan.notes()[0].contains("it is hidden from "), "{plan}");
        assert!(plan.clone().replace().is_empty());
        assert!(odm.sync().await.unwrap().is_empty());

        let at_once = async || odm.plan().await.unwrap().replace().retire_after(Duration::ZERO);
        // A query uses it meanwhile.
        let people = t.db.collection::<Doc>("people");
        let used = people.find(doc! { "name": "n3" });
        let used = used.hint(odm::mongodb::options::Hint::Name("name_1".to_owned()));
        assert!(used.await.unwrap().advance().await.unwrap());
        assert_eq!(uses(&t, "name_1").await, 1);
        let plan = at_once().await;
        assert_eq!(steps(&plan), [RetireStep::Watch], "{plan}");
        assert!(plan.to_string().contains("it was used after "), "{plan}");
        odm.apply(&plan).await.unwrap();
        let plan = at_once().await;
        assert_eq!(steps(&plan), [RetireStep::Hide], "{plan}");
        odm.apply(&plan).await.unwrap();
        let all = indexes(&t, "people").await;
        assert!(all[0].get_bool("hidden").unwrap(), "{all:?}");
        let plan = odm.plan().await.unwrap();
        assert!(
            plan.is_empty() && plan.notes()[0].contains("hidden since "),
            "{plan}"
        );
        assert!(plan.notes()[0].contains("it is dropped from "), "{plan}");

        let plan = at_once().await;
        assert_eq!(steps(&plan), [RetireStep::Drop], "{plan}");
        t.commands.clear();
        odm.apply(&plan).await.unwrap();
        assert_eq!(
            t.commands.take(),
            ["find", "listIndexes", "dropIndexes", "delete", "find"]
        );
        assert_eq!(names(&t, "people").await, both[1..]);
        let stored = t.db.collection::<Doc>("_odm_indexes");
        assert_eq!(stored.count_documents(doc! {}).await.unwrap(), 0);
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty() && plan.notes().is_empty(), "{plan}");
    });
}

/// How often an index was used, by the server.
async fn uses(t: &TestDb, name: &str) -> i64 {
    let people = t.db.collection::<Doc>("people");
    let mut rows = people.aggregate([doc! { "$indexStats": {} }]).await.unwrap();
    while rows.advance().await.unwrap() {
        let row = rows.deserialize_current().unwrap();
        if row.get_str("name").unwrap() == name {
            return row.get_document("accesses").unwrap().get_i64("ops").unwrap();
        }
    }
    0
}

#[odm_tests::test]
fn the_way_back_shows_the_old_index_again() {
    with_db(async |t| {
        require_hidden_indexes(&t).await;
        let old = odm::<people::sparse::Person>(&t);
        old.sync().await.unwrap();
        let new = odm::<people::partial::Person>(&t);
        require_two_indexes(&new).await;
        let replaced = async |odm: &Odm| {
            let plan = odm.plan().await.unwrap().replace().retire_after(Duration::ZERO);
            odm.apply(&plan).await.unwrap();
            plan
        };
        replaced(&new).await;
        assert_eq!(steps(&replaced(&new).await), [RetireStep::Hide]);
        // The old program is deployed again.
        let plan = old.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        assert!(
            plan.to_string().contains("`name_1` is the declared one again"),
            "{plan}"
        );
        let back = replaced(&old).await;
        assert_eq!(steps(&back), [RetireStep::Unhide, RetireStep::Watch], "{back}");
        let all = indexes(&t, "people").await;
        assert!(!all[0].get_bool("hidden").unwrap_or(false), "{all:?}");
        assert_eq!(steps(&replaced(&old).await), [RetireStep::Hide]);
        assert_eq!(steps(&replaced(&old).await), [RetireStep::Drop]);
        assert_eq!(names(&t, "people").await, ["name_1"]);
        assert_eq!(old.plan().await.unwrap().to_string(), "nothing to change");
    });
}

mod m0001_name {
    pub async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
        step.collection("people").retire_index("name_1").await
    }
}

/// People without an index.
mod unindexed {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        pub id: i32,
        pub name: String,
    }
}

#[odm_tests::test]
fn an_index_that_a_step_has_retired_is_hidden_and_dropped_or_shown_again() {
    with_db(async |t| {
        require_hidden_indexes(&t).await;
        let old = odm::<people::plain::Person>(&t);
        old.sync().await.unwrap();
        let new = odm::<unindexed::Person>(&t);
        let replaced = async |odm: &Odm| {
            let plan = odm.plan().await.unwrap().replace().retire_after(Duration::ZERO);
            odm.apply(&plan).await.unwrap();
            plan
        };
        assert!(replaced(&new).await.is_empty(), "it may be another program's");
        let migrating = new.migrate(odm::migrations![m0001_name]);
        migrating.up().await.unwrap();
        let plan = new.plan().await.unwrap();
        let said = "`people`: the index `name_1` is not declared any more; not used since ";
        assert!(plan.notes().iter().any(|note| note.starts_with(said)), "{plan}");
        let people = t.db.collection::<Doc>("people");
        let used = people.find(doc! { "name": "n3" });
        let used = used.hint(odm::mongodb::options::Hint::Name("name_1".to_owned()));
        assert!(!used.await.unwrap().advance().await.unwrap());
        assert_eq!(steps(&replaced(&new).await), [RetireStep::Watch]);
        assert_eq!(steps(&replaced(&new).await), [RetireStep::Hide]);
        // The old program is deployed again.
        assert_eq!(steps(&replaced(&old).await), [RetireStep::Unhide]);
        assert_eq!(old.plan().await.unwrap().to_string(), "nothing to change");
        migrating.again("m0001_name").up().await.unwrap();
        assert_eq!(steps(&replaced(&new).await), [RetireStep::Hide]);
        assert_eq!(steps(&replaced(&new).await), [RetireStep::Drop]);
        assert_eq!(names(&t, "people").await, [""; 0]);
        assert_eq!(new.plan().await.unwrap().to_string(), "nothing to change");
    });
}

#[odm_tests::test]
fn an_index_that_no_model_has_declared_is_left_alone() {
    with_db(async |t| {
        require_hidden_indexes(&t).await;
        odm::<people::plain::Person>(&t).sync().await.unwrap();
        let people = t.db.collection::<Doc>("people");
        let mine = [
            ("mine", doc! { "name": 1, "_id": 1 }),
            ("name_1_0123abcd", doc! { "name": -1 }),
        ];
        for (name, keys) in mine {
            let options = odm::mongodb::options::IndexOptions::builder()
                .name(name.to_owned())
                .build();
            let index = odm::mongodb::IndexModel::builder()
                .keys(keys)
                .options(options)
                .build();
            people.create_index(index).await.unwrap();
        }
        let odm = odm::<people::partial::Person>(&t);
        require_two_indexes(&odm).await;
        for _ in 0..4 {
            let plan = odm.plan().await.unwrap().replace().retire_after(Duration::ZERO);
            odm.apply(&plan).await.unwrap();
        }
        let left = names(&t, "people").await;
        assert_eq!(left.len(), 3, "{left:?}");
        assert!(
            left.contains(&"mine".to_owned()) && left.contains(&"name_1_0123abcd".to_owned()),
            "{left:?}"
        );
        let plan = odm.plan().await.unwrap();
        assert_eq!(plan.notes().len(), 2, "{plan}");
    });
}

#[odm_tests::test]
fn a_window_is_opened_only_by_its_name() {
    with_db(async |t| {
        odm::<sessions::ending::Session>(&t).sync().await.unwrap();
        let odm = odm::<sessions::kept::Session>(&t);
        let plan = odm.plan().await.unwrap().replace();
        assert_eq!(way(&plan), ReplaceWay::Window);
        assert!(plan.needs_window());
        let said = "`sessions`: in a window, replace the index `at_1`: index `at_1` exists with other options: it deletes documents after \
                    3600 s, declared never; `at_1` is dropped and `at_1` is built then, since the server does not take both: queries scan \
                    the collection meanwhile";
        assert_eq!(plan.to_string(), said);
        t.commands.clear();
        let refused = odm.apply(&plan).await.unwrap_err();
        assert!(refused.to_string().contains("`Plan::in_window`"), "{refused}");
        assert_eq!(t.commands.take(), [""; 0]);
        odm.apply(&plan.in_window()).await.unwrap();
        let all = indexes(&t, "sessions").await;
        assert!(
            all.len() == 1 && !all[0].contains_key("expireAfterSeconds"),
            "{all:?}"
        );
        assert!(odm.sync().await.unwrap().is_empty());
        // A plain index becomes one that deletes documents without a window.
        let ending = self::odm::<sessions::ending::Session>(&t);
        let plan = ending.plan().await.unwrap();
        let can_add = ending.server().await.unwrap().max_wire_version() >= 14;
        assert!(
            !can_add || matches!(plan.changes(), [Change::ChangeTtl { from: None, .. }]),
            "{plan}"
        );
    });
}

#[odm_tests::test]
fn an_index_that_was_dropped_in_vain_is_built_again() {
    with_db(async |t| {
        odm::<sessions::ending::Session>(&t).sync().await.unwrap();
        let proxy = Proxy::start(&server().await, 0).await;
        let client = odm::mongodb::Client::with_options(proxy.options().await).unwrap();
        let models = [odm::Model::of::<sessions::kept::Session>()];
        let odm = Odm::new(client.database(t.db.name()), models).unwrap();
        let plan = odm.plan().await.unwrap().replace().in_window();
        let before = indexes(&t, "sessions").await;
        let full =
            || doc! { "ok": 0.0, "code": 14031, "codeName": "OutOfDiskSpace", "errmsg": "no space is left" };
        proxy.next("createIndexes", 1, Fate::Answered(full()));
        let refused = odm.apply(&plan).await.unwrap_err().to_string();
        assert!(refused.contains("no space is left"), "{refused}");
        assert!(
            refused.contains("`at_1` was dropped before, and is built again"),
            "{refused}"
        );
        assert_eq!(indexes(&t, "sessions").await, before);
        // Not even that.
        proxy.next("createIndexes", 2, Fate::Answered(full()));
        let refused = odm.apply(&plan).await.unwrap_err().to_string();
        assert!(refused.contains("could not be built again: "), "{refused}");
        assert!(refused.contains("\"expireAfterSeconds\": 3600"), "{refused}");
        assert!(indexes(&t, "sessions").await.is_empty());
        // The declared one is missing then.
        odm.sync().await.unwrap();
        assert_eq!(names(&t, "sessions").await, ["at_1"]);
    });
}

#[odm_tests::test]
fn a_plan_that_is_too_old_replaces_nothing() {
    with_db(async |t| {
        odm::<people::sparse::Person>(&t).sync().await.unwrap();
        let odm = odm::<people::partial::Person>(&t);
        require_two_indexes(&odm).await;
        let plan = odm.plan().await.unwrap().replace();
        let people = t.db.collection::<Doc>("people");
        people.drop_index("name_1").await.unwrap();
        let other = odm::mongodb::IndexModel::builder()
            .keys(doc! { "name": 1 })
            .build();
        people.create_index(other).await.unwrap();
        let refused = odm.apply(&plan).await.unwrap_err().to_string();
        assert!(refused.contains("make a new one"), "{refused}");
        assert_eq!(names(&t, "people").await, ["name_1"]);
    });
}

#[odm_tests::test]
fn programs_of_both_versions_write_while_documents_of_both_shapes_are_there() {
    with_db(async |t| {
        let before = odm::<tasks::before::Task>(&t);
        before.sync().await.unwrap();
        let old = |id| tasks::before::Task {
            id,
            title: "old".into(),
        };
        let new = |id| tasks::now::Task {
            id,
            title: "new".into(),
            priority: 1,
        };
        before.collection().insert(old(1)).await.unwrap();
        let now = odm::<tasks::now::Task>(&t);
        let plan = now.plan().await.unwrap();
        assert!(
            plan.to_string()
                .contains("this is violated by 1 existing document, among them _id 1"),
            "{plan}"
        );
        assert!(
            plan.to_string()
                .contains("`sync --replace` (`Plan::replace`) allows the previous shape beside the declared one while documents have it"),
            "{plan}"
        );
        assert!(matches!(
            now.apply(&plan).await,
            Err(Error::ExistingDocuments { .. })
        ));
        let plan = plan.replace();
        assert!(
            plan.to_string()
                .contains("the previous shape stays allowed (1 document of it)"),
            "{plan}"
        );
        assert!(!plan.to_string().contains("violated"), "{plan}");
        now.apply(&plan).await.unwrap();

        // Both write, and both find the validator as they declare it.
        before.collection().insert(old(2)).await.unwrap();
        now.collection().insert(new(3)).await.unwrap();
        let neither = doc! { "_id": 4, "title": 5, "priority": 1 };
        t.db.collection::<Doc>("tasks")
            .insert_one(neither)
            .await
            .unwrap_err();
        for odm in [&before, &now] {
            t.commands.clear();
            assert!(odm.sync().await.unwrap().is_empty());
            assert!(!t.commands.take().contains(&"collMod".to_owned()));
        }
        let plan = now.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let remains = "`tasks`: its validator allows the previous shape too, which 2 existing documents, among them _id 1, 2 have; `sync \
                       --replace` (`Plan::replace`) narrows it when they are gone";
        assert_eq!(plan.notes(), [remains]);
        assert!(plan.replace().is_empty());

        // They are migrated.
        let tasks = t.db.collection::<Doc>("tasks");
        let lacking = doc! { "priority": { "$exists": false } };
        tasks
            .update_many(lacking, doc! { "$set": { "priority": 0 } })
            .await
            .unwrap();
        assert!(now.plan().await.unwrap().notes()[0].contains("which no document has"));
        // The old program does not take the new shape away.
        let plan = before.plan().await.unwrap().replace();
        assert!(plan.is_empty(), "{plan}");
        let plan = now.plan().await.unwrap().replace();
        let said = "`tasks`: allow the declared shape alone, since no document has the previous one";
        assert!(plan.to_string().starts_with(said), "{plan}");
        now.apply(&plan).await.unwrap();
        assert_eq!(now.plan().await.unwrap().to_string(), "nothing to change");
        before
            .collection()
            .insert(old(5))
            .await
            .expect_err("it lacks the priority");
    });
}

#[odm_tests::test]
fn both_shapes_are_allowed_before_the_new_version_is_deployed() {
    with_db(async |t| {
        let before = odm::<tasks::before::Task>(&t);
        before.sync().await.unwrap();
        let now = odm::<tasks::now::Task>(&t);
        // There are no documents.
        now.apply(&now.plan().await.unwrap().both_shapes()).await.unwrap();
        let old = tasks::before::Task {
            id: 1,
            title: "old".into(),
        };
        before.collection().insert(old).await.unwrap();
        let plan = now.plan().await.unwrap();
        assert!(plan.is_empty() && plan.notes().len() == 1, "{plan}");
        // A document that has neither shape is in the way.
        t.db.run_command(doc! { "collMod": "tasks", "validator": {} })
            .await
            .unwrap();
        before.sync().await.expect("the documents fit");
        t.db.run_command(doc! { "collMod": "tasks", "validationLevel": "off" })
            .await
            .unwrap();
        insert(&t, "tasks", [doc! { "_id": 2 }]).await;
        let refused = now.apply(&now.plan().await.unwrap().replace()).await.unwrap_err();
        assert!(
            matches!(refused, Error::ExistingDocuments { count: 1, .. }),
            "{refused}"
        );
    });
}

async fn ran(odm: Odm, args: &[&str], answer: Option<&str>) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut answers = answer.unwrap_or_default().as_bytes();
    let mut streams = Streams::new(&mut out, &mut err);
    if answer.is_some() {
        streams = streams.answers(&mut answers);
    }
    let args: Vec<&str> = std::iter::once("manage").chain(args.iter().copied()).collect();
    let code = run_with(odm, args, &mut streams).await;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (code, text(out), text(err))
}

#[odm_tests::test]
fn the_command_line_replaces_and_asks_before_a_window() {
    with_db(async |t| {
        require_hidden_indexes(&t).await;
        odm::<sessions::ending::Session>(&t).sync().await.unwrap();
        let kept = || odm::<sessions::kept::Session>(&t);
        let (code, _, err) = ran(kept(), &["sync"], None).await;
        assert!(
            code == 1 && err.contains("`sync --replace` (`Plan::replace`) replaces it"),
            "{err}"
        );
        let (code, _, err) = ran(kept(), &["sync", "--replace"], None).await;
        assert!(code == 2 && err.contains("pass `--yes`"), "{err}");
        let (code, _, err) = ran(kept(), &["sync", "--replace"], Some("n\n")).await;
        assert!(
            code == 1 && err.contains("in a window, replace the index `at_1`"),
            "{err}"
        );
        assert!(err.contains("nothing was changed"), "{err}");
        let (code, out, err) = ran(kept(), &["sync", "--replace"], Some("y\n")).await;
        assert!(
            code == 0 && out.contains("replace the index `at_1`"),
            "{out} {err}"
        );
        // No question where there is no window.
        odm::<people::sparse::Person>(&t).sync().await.unwrap();
        let partial = || odm::<people::partial::Person>(&t);
        require_two_indexes(&partial()).await;
        let (code, out, err) = ran(partial(), &["sync", "--replace", "--json"], None).await;
        assert_eq!(code, 0, "{err}");
        let json = |out: &str| serde_json::from_str::<serde_json::Value>(out).unwrap();
        let change = json(&out)["changes"][0].clone();
        assert_eq!(
            (&change["kind"], &change["way"]),
            (&"replace_index".into(), &"beside".into())
        );
        let at_once = ["sync", "--replace", "--retire-after", "0", "--json"];
        let (_, out, _) = ran(partial(), &at_once, None).await;
        let change = json(&out)["changes"][0].clone();
        assert_eq!(
            (&change["kind"], &change["step"]),
            (&"retire_index".into(), &"hide".into())
        );
        let (code, _, _) = ran(partial(), &["sync", "--yes"], None).await;
        assert_eq!(code, 2, "`--yes` belongs to `--replace`");
    });
}

#[odm_tests::test]
fn unused_and_redundant_indexes_are_reported_with_their_sizes() {
    with_db(async |t| {
        let odm = odm::<people::plain::Person>(&t);
        odm.sync().await.unwrap();
        let index = odm::mongodb::IndexModel::builder()
            .keys(doc! { "name": 1, "age": 1 })
            .build();
        t.db.collection::<Doc>("people")
            .create_index(index)
            .await
            .unwrap();
        insert(&t, "people", [doc! { "_id": 1, "name": "a" }]).await;
        let report = odm.index_report().await.unwrap();
        let of = |name: &str| report.indexes.iter().find(|one| one.index == name).unwrap();
        assert_eq!(of("name_1").served_by.as_deref(), Some("name_1_age_1"));
        assert!(!of("name_1").duplicate && of("name_1_age_1").served_by.is_none());
        // The stand-in in Python takes no room.
        let least = u64::from(!odm_tests::is_the_stand_in_in_python(&t.db).await);
        assert!(
            of("name_1").bytes.is_some_and(|bytes| bytes >= least),
            "{report:?}"
        );
        assert_eq!(of("_id_").collection, "people");
        if report.unknown.is_empty() {
            assert_eq!(of("name_1").uses, Some(0));
            assert!(
                report
                    .to_string()
                    .contains("`people`: the index `name_1` on name was not used since "),
                "{report}"
            );
        }
        assert!(
            report
                .to_string()
                .contains("is redundant: `name_1_age_1` begins with its fields and has its options"),
            "{report}"
        );
        let (code, out, _) = ran(odm.clone(), &["plan", "--indexes"], None).await;
        assert!(code == 0 && out.contains("is redundant"), "{out}");
        let (_, out, _) = ran(odm, &["plan", "--indexes", "--json"], None).await;
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(json["indexes"].as_array().unwrap().len(), 3, "{json}");

        // A user who may not read the uses.
        let proxy = Proxy::start(&server().await, 0).await;
        let client = odm::mongodb::Client::with_options(proxy.options().await).unwrap();
        let models = [odm::Model::of::<people::plain::Person>()];
        let odm = Odm::new(client.database(t.db.name()), models).unwrap();
        let refused = doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not authorized" };
        proxy.next("aggregate", 2, Fate::Answered(refused));
        let report = odm.index_report().await.unwrap().to_string();
        assert!(
            report.ends_with(
                "`people`: it is unknown which indexes are unused: this user may not read `$indexStats`"
            ),
            "{report}"
        );
    });
}

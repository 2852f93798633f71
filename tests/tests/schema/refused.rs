//! Indexes that can't work: refused before anything is changed.

use futures::TryStreamExt;
use mongodb::bson::{Document as Doc, doc};
use mongodb::results::CollectionType;
use odm::Error;
use odm::prelude::*;
use odm::schema::Change;
use odm_tests::{TestDb, with_db};

type Raw = mongodb::bson::Document;

#[derive(Embed, Clone, Debug, PartialEq)]
struct Part {
    code: String,
    language: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "wrong",
    index(fields(hashed(parts.code))),
    index(fields(text(parts.code))),
)]
struct Wrong {
    id: i32,
    #[embed(max = 10)]
    parts: Vec<Part>,
}

#[odm_tests::test]
fn a_declaration_that_refuses_every_document_is_refused_without_a_server() {
    with_db(async |t| {
        t.commands.clear();
        let Err(Error::Models { problems }) = Odm::new(t.db.clone(), models![Wrong]) else {
            panic!("refused");
        };
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].contains("is hashed, and `parts` is an array"),
            "{problems:?}"
        );
        assert!(
            problems[1].contains("MongoDB takes their language from the field `parts.language`"),
            "{problems:?}"
        );
        assert_eq!(t.commands.take(), [""; 0]);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "articles",
    index(
        fields(text(title)),
        default_language = "german",
        language_override = "text_language"
    )
)]
struct Article {
    id: i32,
    title: String,
    /// A programming language.
    language: String,
}

#[odm_tests::test]
fn a_text_index_leaves_a_field_language_alone_where_it_is_told_to() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Article]).unwrap();
        let plan = odm.plan().await.unwrap();
        let spec = plan.changes().iter().find_map(|change| match change {
            Change::CreateIndex { spec, .. } => Some(spec.clone()),
            _ => None,
        });
        let spec = spec.unwrap();
        assert_eq!(spec.get_str("language_override").ok(), Some("text_language"));
        assert_eq!(spec.get_str("default_language").ok(), Some("german"));
        match odm.apply(&plan).await {
            // A stand-in without text indexes.
            Err(Error::Index { message, .. }) if message.contains("text indexes") => return,
            applied => applied.unwrap(),
        };
        let listed =
            t.db.run_command(doc! { "listIndexes": "articles" })
                .await
                .unwrap();
        let indexes = listed
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let text = indexes.iter().filter_map(|index| index.as_document());
        let text: Vec<&Doc> = text.filter(|index| index.contains_key("weights")).collect();
        assert_eq!(text.len(), 1);
        assert_eq!(text[0].get_str("language_override").ok(), Some("text_language"));
        assert_eq!(text[0].get_str("default_language").ok(), Some("german"));
        let articles = odm.collection::<Article>();
        let article = Article {
            id: 1,
            title: "Die Häuser".into(),
            language: "rust".into(),
        };
        articles.insert(article).await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sessions")]
struct Session {
    id: i32,
    #[index]
    user: i32,
    #[index(expire_after = 60)]
    at: DateTime,
}

async fn create(t: &TestDb, indexes: Vec<Doc>) {
    t.db.run_command(doc! { "createIndexes": "sessions", "indexes": indexes })
        .await
        .unwrap();
}

/// The server answers 85 IndexOptionsConflict to an index on the same fields; the plan says it before.
#[odm_tests::test]
fn the_same_fields_with_other_options_under_another_name_are_a_conflict() {
    with_db(async |t| {
        create(
            &t,
            vec![
                doc! { "key": { "user": 1 }, "name": "by_user", "expireAfterSeconds": 5 },
                doc! { "key": { "other": 1 }, "name": "other" },
            ],
        )
        .await;
        let odm = Odm::new(t.db.clone(), models![Session]).unwrap();
        let plan = odm.plan().await.unwrap();
        let said = "conflict: the index `by_user` is on the fields of the declared `user_1`, with other options, and the server \
                    takes one of them: it deletes documents after 5 s, declared never; odm does not drop it";
        assert!(plan.to_string().contains(said), "{plan}");
        assert!(matches!(
            odm.apply(&plan).await,
            Err(Error::SchemaConflict { .. })
        ));
        let names =
            t.db.collection::<Raw>("sessions")
                .list_index_names()
                .await
                .unwrap();
        assert_eq!(names, ["_id_", "by_user", "other"]);
    });
}

/// A unique index and one that is not are two to servers from MongoDB 5.0 on, and one before.
#[odm_tests::test]
fn the_options_that_distinguish_indexes_depend_on_the_server() {
    with_db(async |t| {
        create(
            &t,
            vec![doc! { "key": { "user": 1 }, "name": "once", "unique": true }],
        )
        .await;
        let odm = Odm::new(t.db.clone(), models![Session]).unwrap();
        let plan = odm.plan().await.unwrap();
        let is_conflict = plan
            .to_string()
            .contains("the index `once` is on the fields of the declared `user_1`");
        assert_eq!(
            is_conflict,
            odm.server().await.unwrap().max_wire_version() < 12,
            "{plan}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    id: i32,
    #[reference(on_delete = cascade)]
    user: Ref<User>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct User {
    id: i32,
}

#[odm_tests::test]
fn documents_that_a_capped_collection_would_lose_are_not_put_into_one() {
    with_db(async |t| {
        for name in ["sessions", "users", "visits"] {
            let create = doc! { "create": name, "capped": true, "size": 100_000 };
            t.db.run_command(create).await.unwrap();
        }
        let odm = Odm::new(t.db.clone(), models![Session, User, Visit]).unwrap();
        let plan = odm.plan().await.unwrap().to_string();
        if !is_listed_as_capped(&t).await {
            odm_tests::skip("needs a server that lists capped collections as such");
        }
        let conflicts: Vec<&str> = plan
            .lines()
            .filter(|line| line.contains("the collection is capped"))
            .collect();
        assert_eq!(conflicts.len(), 2, "{plan}");
        assert!(conflicts[0].contains("`sessions`: conflict: the collection is capped, and MongoDB deletes nothing in it by the index `at_1`"));
        assert!(
            conflicts[1].contains("`Visit.user` refers to it (`on_delete = cascade`)"),
            "{plan}"
        );
    });
}

#[odm_tests::test]
fn more_indexes_than_a_collection_may_have_are_a_conflict() {
    with_db(async |t| {
        let indexes = (0..62).map(|n| doc! { "key": { format!("f{n}"): 1 }, "name": format!("f{n}") });
        create(&t, indexes.collect()).await;
        let odm = Odm::new(t.db.clone(), models![Session]).unwrap();
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("`sessions`: conflict: it would have 65 indexes, and MongoDB allows 64"),
            "{plan}"
        );
    });
}

/// A stand-in may forget it.
async fn is_listed_as_capped(t: &TestDb) -> bool {
    let listed =
        t.db.run_command(doc! { "listCollections": 1, "filter": { "name": "users" } });
    let listed = listed.await.unwrap();
    let first = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let options = first[0].as_document().unwrap().get_document("options").unwrap();
    options.get_bool("capped").unwrap_or(false)
}

#[odm_tests::test]
fn an_index_on_a_view_or_a_time_series_is_a_conflict() {
    with_db(async |t| {
        let view = doc! { "create": "sessions", "viewOn": "users", "pipeline": [] };
        t.db.run_command(view).await.unwrap();
        let odm = Odm::new(t.db.clone(), models![Session]).unwrap();
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("`sessions`: conflict: there is a view of this name"),
            "{plan}"
        );
        t.db.collection::<Raw>("sessions").drop().await.unwrap();
        let series = doc! { "create": "sessions", "timeseries": { "timeField": "at" } };
        if t.db.run_command(series).await.is_err() {
            odm_tests::skip("needs time series");
        }
        let listed = t.db.list_collections().filter(doc! { "name": "sessions" }).await;
        let listed: Vec<_> = listed.unwrap().try_collect().await.unwrap();
        if !listed
            .iter()
            .all(|one| matches!(one.collection_type, CollectionType::Timeseries))
        {
            odm_tests::skip("needs time series");
        }
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("`sessions`: conflict: there is a time series of this name"),
            "{plan}"
        );
    });
}

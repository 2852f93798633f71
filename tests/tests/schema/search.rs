//! Search and vector indexes of Atlas, and the stages of searches: what is sent, on a server without search, and through a proxy that
//! answers as Atlas does by MongoDB's documentation. Nothing here ran on Atlas.

use odm::Error;
use odm::atlas::{compound, equals, range, score, text, vector_score};
use odm::bson::{Bson, Document as Doc, doc};
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::mongodb::{Client, Database};
use odm::prelude::*;
use odm_tests::proxy::{self, Fate, Proxy};
use odm_tests::{skip, with_db};
use std::sync::{Arc, Mutex};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "books",
    soft_delete,
    search_index(
        analyzer = "lucene.english",
        fields(
            string(title),
            autocomplete(title),
            string(tags),
            token(tenant),
            number(year),
            string(chapters.name)
        )
    ),
    vector_index(
        name = "by_meaning",
        path = embedding,
        dimensions = 3,
        similarity = dot_product,
        quantization = scalar,
        filter(tenant, year)
    )
)]
struct Book {
    id: i32,
    #[field(scope)]
    tenant: String,
    title: String,
    #[embed(max = 5)]
    tags: Vec<String>,
    #[field(name = "published")]
    year: i32,
    #[embed(max = 5)]
    chapters: Vec<Chapter>,
    #[embed(max = 3)]
    embedding: Vec<f32>,
    deleted_at: Option<DateTime>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Chapter {
    name: String,
}

/// The commands of a client, whole.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Vec<Doc>>>);

impl Recorded {
    /// Those of this name, without what the driver adds to each.
    fn take(&self, name: &str) -> Vec<Doc> {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        let of_name = all
            .into_iter()
            .filter(|command| command.keys().next().is_some_and(|first| first == name));
        let own = of_name.map(|command| {
            let by_driver = ["$db", "lsid", "$clusterTime", "$readPreference"];
            let own = command
                .into_iter()
                .filter(|(name, _)| !by_driver.contains(&name.as_str()));
            own.collect()
        });
        own.collect()
    }
}

/// The database of a test by way of these options.
async fn recorded(mut options: odm::mongodb::options::ClientOptions, db: &Database) -> (Odm, Recorded) {
    let recorded = Recorded::default();
    let all = recorded.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            all.0.lock().unwrap().push(started.command);
        }
    }));
    let client = Client::with_options(options).unwrap();
    let odm = Odm::new(client.database(db.name()), models![Book]).unwrap();
    (odm, recorded)
}

fn search_definition() -> Doc {
    doc! {
        "analyzer": "lucene.english",
        "mappings": { "dynamic": false, "fields": {
            "title": [{ "type": "string" }, { "type": "autocomplete" }],
            "tags": { "type": "string" },
            "tenant": { "type": "token" },
            "published": { "type": "number" },
            "chapters": { "type": "document", "fields": { "name": { "type": "string" } } },
        } },
    }
}

fn vector_definition() -> Doc {
    doc! { "fields": [
        {
            "type": "vector", "path": "embedding", "numDimensions": 3, "similarity": "dotProduct", "quantization": "scalar",
        },
        { "type": "filter", "path": "tenant" },
        { "type": "filter", "path": "published" },
    ] }
}

/// The reply to `$listSearchIndexes`, as its page shows it.
fn listed(definitions: &[(&str, &str, Doc)]) -> Fate {
    let indexes: Vec<Doc> = definitions
        .iter()
        .map(|(name, kind, definition)| {
            doc! {
                "id": "6524096020da840844a4c4a7", "name": *name, "type": *kind, "status": "READY", "queryable": true,
                "latestDefinitionVersion": { "version": 0 }, "latestDefinition": definition.clone(),
            }
        })
        .collect();
    Fate::Answered(doc! { "ok": 1.0, "cursor": { "id": 0_i64, "ns": "test.books", "firstBatch": indexes } })
}

#[odm_tests::test]
fn documents_with_search_indexes_are_usable_where_there_is_no_search() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Book]).unwrap();
        let plan = odm.plan().await.unwrap();
        let Some(warning) = plan.warning() else {
            skip("needs a deployment without search");
        };
        for part in [
            "the search and vector indexes of `books` are not created",
            "needs MongoDB Atlas",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(plan.to_string().contains(warning), "{plan}");
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());

        let acme = odm.scoped(Book::paths().tenant, "acme").unwrap();
        let books = acme.collection::<Book>();
        let new = NewBook {
            id: 1,
            title: "Moby-Dick".to_owned(),
            tags: Vec::new(),
            year: 1851,
            chapters: Vec::new(),
            embedding: vec![0.5, 0.25, -1.0],
        };
        books.insert(new).await.unwrap();
        assert_eq!(books.find_all().all().await.unwrap().len(), 1);

        let search = books.search("default", |b| text("whale").path(b.title));
        let near = books.vector_search("by_meaning", |b| b.embedding, [0.5_f32, 0.25, -1.0]);
        for pipeline in [search.aggregate(), near.aggregate()] {
            match pipeline.all::<Book>().await {
                Err(Error::Unsupported { needs, .. }) => assert!(needs.contains("Atlas"), "{needs}"),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[odm_tests::test]
fn a_search_is_the_first_stage_and_the_scope_of_the_handle_follows() {
    with_db(async |t| {
        let (odm, recorded) = recorded(odm_tests::options(false).await, &t.db).await;
        let acme = odm.scoped(Book::paths().tenant, "acme").unwrap();
        let books = acme.collection::<Book>();
        let search = books
            .search("default", |b| {
                compound()
                    .must(text("whale").path(b.title).path(b.chapters.name))
                    .filter(range(b.year).gte(1850).lt(1900))
                    .must_not(equals(b.tenant, "$$ROOT"))
            })
            .highlight(|b| b.title)
            .aggregate()
            .add_fields(|f| f.field("score", |_| score()))
            .limit(5);
        let near = books
            .vector_search("by_meaning", |b| b.embedding, vec![0.5, 0.25, -1.0])
            .limit(5)
            .filter(|b| b.year.gte(1850))
            .aggregate()
            .add_fields(|f| f.field("score", |_| vector_score()));
        // A server without search refuses both: what was sent is compared.
        let _ = search.all::<Doc>().await;
        let _ = near.all::<Doc>().await;
        let scope = doc! { "tenant": { "$eq": "acme" }, "deleted_at": Bson::Null };
        let sent = recorded.take("aggregate");
        let pipelines: Vec<&[Bson]> = sent
            .iter()
            .map(|command| command.get_array("pipeline").unwrap().as_slice())
            .collect();
        let expected_search: [Bson; 4] = [
            doc! { "$search": {
                "index": "default",
                "compound": {
                    "must": [{ "text": { "query": "whale", "path": ["title", "chapters.name"] } }],
                    "filter": [{ "range": { "gte": 1850, "lt": 1900, "path": "published" } }],
                    "mustNot": [{ "equals": { "value": "$$ROOT", "path": "tenant" } }],
                },
                "highlight": { "path": "title" },
            } }
            .into(),
            doc! { "$match": scope.clone() }.into(),
            doc! { "$addFields": { "score": { "$meta": "searchScore" } } }.into(),
            doc! { "$limit": 5_i64 }.into(),
        ];
        let expected_near: [Bson; 3] = [
            doc! { "$vectorSearch": {
                "index": "by_meaning",
                "path": "embedding",
                "queryVector": [0.5, 0.25, -1.0],
                "numCandidates": 100,
                "limit": 5,
                "filter": { "published": { "$gte": 1850 }, "tenant": { "$eq": "acme" } },
            } }
            .into(),
            doc! { "$match": scope }.into(),
            doc! { "$addFields": { "score": { "$meta": "vectorSearchScore" } } }.into(),
        ];
        assert_eq!(pipelines, [&expected_search[..], &expected_near[..]]);

        // A count would tell of other tenants' documents, and an index of another name finds nothing: neither is sent.
        let counted = books
            .search("default", |b| text("whale").path(b.title))
            .count_total();
        let misnamed = books.search("defualt", |b| text("whale").path(b.title));
        for (pipeline, said) in [
            (counted.aggregate(), "does not read"),
            (misnamed.aggregate(), "no search index `defualt`"),
        ] {
            match pipeline.all::<Book>().await {
                Err(Error::Query { message, .. }) => assert!(message.contains(said), "{message}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(recorded.take("aggregate").is_empty());
    });
}

#[odm_tests::test]
fn declared_indexes_are_created_and_changed_where_the_server_answers_as_atlas_does() {
    with_db(async |t| {
        let proxy = Proxy::start(&proxy::server().await, 0).await;
        let (odm, recorded) = recorded(proxy.options().await, &t.db).await;
        let done = || Fate::Answered(doc! { "ok": 1.0 });

        // Nothing is there, and is listed late.
        proxy.next("aggregate", 2, listed(&[]));
        proxy.next("createSearchIndexes", 2, done());
        let applied = odm.sync().await.unwrap().to_string();
        assert!(proxy.is_done());
        for line in [
            "`books`: create the search index `default`: {",
            "`books`: create the vector index `by_meaning`: {",
        ] {
            assert!(applied.contains(line), "{applied}");
        }
        let spec = |name: &str, kind: &str, definition: Doc| {
            doc! {
                "createSearchIndexes": "books",
                "indexes": [{ "name": name, "type": kind, "definition": definition }],
            }
        };
        assert_eq!(
            recorded.take("createSearchIndexes"),
            [
                spec("default", "search", search_definition()),
                spec("by_meaning", "vectorSearch", vector_definition()),
            ]
        );

        // Everything is as it is declared.
        let both = [
            ("default", "search", search_definition()),
            ("by_meaning", "vectorSearch", vector_definition()),
        ];
        proxy.next("aggregate", 1, listed(&both));
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty() && plan.warning().is_none(), "{plan}");
        assert_eq!(
            recorded.take("aggregate")[0],
            doc! { "aggregate": "books", "pipeline": [{ "$listSearchIndexes": {} }], "cursor": {} }
        );

        // Another definition, with a part that no model declares, and an index that is not declared.
        let older = doc! { "mappings": { "dynamic": true }, "storedSource": { "include": ["title"] } };
        let other = [
            ("default", "search", older),
            ("by_meaning", "vectorSearch", vector_definition()),
            ("elsewhere", "search", doc! { "mappings": { "dynamic": true } }),
        ];
        proxy.next("aggregate", 1, listed(&other));
        let plan = odm.plan().await.unwrap().to_string();
        for line in [
            "`books`: change the search index `default` to {",
            "left alone: `books`: the search index `elsewhere`, which is not declared",
        ] {
            assert!(plan.contains(line), "{plan}");
        }
        recorded.take("");
        proxy.next("aggregate", 2, listed(&other));
        proxy.next("updateSearchIndex", 1, done());
        odm.sync().await.unwrap();
        assert!(proxy.is_done());
        let mut definition = search_definition();
        definition.insert("storedSource", doc! { "include": ["title"] });
        assert_eq!(
            recorded.take("updateSearchIndex"),
            [doc! { "updateSearchIndex": "books", "name": "default", "definition": definition }]
        );
    });
}

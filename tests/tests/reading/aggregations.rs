//! Pipelines: what the typed stages send, what is read of it, and which collections take the results.

use futures::TryStreamExt;
use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::expr::{expr, value};
use odm::prelude::*;
use odm::query::Unit;
use odm::write::{WhenMatched, WhenNotMatched};
use odm_tests::{TestDb, require_transactions, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books")]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[index]
    title: String,
    #[reference]
    author: Ref<Author>,
    #[reference]
    editor: Option<Ref<Author>>,
    #[reference(many, max = 5)]
    translators: Vec<Ref<Author>>,
    #[embed(max = 3)]
    chapters: Vec<Chapter>,
    printed: Option<DateTime>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Chapter {
    name: String,
    #[reference]
    by: Option<Ref<Author>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
struct Review {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(order(-stars))]
    book: Ref<Book>,
    stars: i32,
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Book)]
struct Title {
    title: String,
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Book)]
struct Contents {
    title: String,
    chapters: Vec<Chapter>,
}

/// A model that no rule concerns: results may be merged into it.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "totals")]
struct Total {
    #[serde(rename = "_id")]
    id: i32,
    #[field(max = 2)]
    books: i32,
}

/// The library counts its versions.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "counted", version)]
struct Counted {
    #[serde(rename = "_id")]
    id: i32,
    books: i32,
    version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "unchecked", validation(level = off))]
struct Unchecked {
    #[serde(rename = "_id")]
    id: i32,
    books: i32,
}

fn date(text: &str) -> Option<DateTime> {
    Some(DateTime::parse_rfc3339_str(text).unwrap())
}

fn book(id: i32, author: i32, printed: Option<DateTime>) -> Book {
    Book {
        id,
        title: format!("Book {id}"),
        author: Ref::new(author),
        editor: None,
        translators: vec![],
        chapters: vec![],
        printed,
    }
}

fn all_models() -> [odm::Model; 6] {
    models![Author, Book, Review, Total, Counted, Unchecked]
}

async fn stocked(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), all_models()).unwrap();
    odm.sync().await.unwrap();
    let authors = ["Ada", "Bob", "Cleo"].into_iter().zip(1..);
    let authors = authors.map(|(name, id)| Author {
        id,
        name: name.into(),
    });
    odm.collection::<Author>().insert_many(authors).await.unwrap();
    let chapter = |name: &str, by: Option<i32>| Chapter {
        name: name.into(),
        by: by.map(Ref::new),
    };
    let books = vec![
        Book {
            editor: Some(Ref::new(2)),
            translators: vec![Ref::new(3), Ref::new(2)],
            chapters: vec![chapter("One", Some(1)), chapter("Two", Some(3))],
            ..book(1, 1, date("2024-12-31T23:30:00Z"))
        },
        Book {
            chapters: vec![chapter("Only", None)],
            ..book(2, 1, date("2025-01-01T10:15:30Z"))
        },
        book(3, 2, date("2025-01-09T10:45:59Z")),
        book(4, 2, None),
    ];
    odm.collection::<Book>().insert_many(books).await.unwrap();
    let reviews = [(1, 1, 3), (2, 1, 5), (3, 1, 4), (4, 2, 1)];
    let reviews = reviews.map(|(id, book, stars)| Review {
        id,
        book: Ref::new(book),
        stars,
    });
    odm.collection::<Review>().insert_many(reviews).await.unwrap();
    odm.server().await.unwrap();
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn a_pipeline_can_be_looked_at_before_it_is_sent() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), all_models()).unwrap();
        let books = odm.collection::<Book>();
        let pipeline = books.aggregate().filter(|b| b.id.gt(1)).sort(|b| b.title.desc());
        let pipeline = pipeline.skip(1).limit(2).project::<Title>();
        assert_eq!(
            pipeline.stages(),
            [
                doc! { "$match": { "_id": { "$gt": 1 } } },
                doc! { "$sort": { "title": -1 } },
                doc! { "$skip": 1_i64 },
                doc! { "$limit": 2_i64 },
                doc! { "$project": { "title": 1, "_id": 0 } },
            ]
        );
        assert_eq!(
            books.aggregate().filter(|b| b.title.eq("x")).to_string(),
            "db.books.aggregate([\n  { \"$match\": { \"title\": { \"$eq\": \"x\" } } },\n])"
        );
        assert!(t.commands.take().is_empty());
    });
}

#[odm_tests::test]
fn a_projection_is_the_type_of_the_results() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let first = || books.aggregate().sort(|b| b.id.asc());
        let titles = first().project::<Title>().limit(2).all().await.unwrap();
        let titles: Vec<String> = titles.into_iter().map(|title| title.title).collect();
        assert_eq!(titles, ["Book 1", "Book 2"]);
        assert_eq!(t.commands.take(), ["aggregate"]);
        let one: Option<Title> = first().project::<Title>().one().await.unwrap();
        assert_eq!(one.unwrap().title, "Book 1");
        // A whole array is read, so it can't be one that was unwound.
        let unwound = first().unwind(|b| b.chapters).project::<Contents>();
        let error = unwound.all().await.unwrap_err();
        assert!(
            matches!(&error, Error::Query { message, .. } if message.contains("`chapters` is unwound")),
            "{error}"
        );
        assert_eq!(t.commands.take(), ["aggregate"], "the one before");
        let unwound = first().unwind(|b| b.chapters).project::<Title>();
        assert_eq!(unwound.all().await.unwrap().len(), 3);
    });
}

#[odm_tests::test]
fn fields_are_added_beside_those_of_the_documents() {
    with_db(async |t| {
        #[derive(odm::Row, Debug, PartialEq)]
        struct Row {
            title: String,
            chapter: String,
            year: Option<i32>,
        }
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let pipeline = books
            .aggregate()
            .unwind(|b| b.chapters)
            .add_fields(|f| {
                f.field("chapter", |b| b.chapters.name)
                    .field("year", |b| b.printed.year())
            })
            .filter(|b| b.chapters.name.ne("One"))
            .sort(|b| b.id.asc());
        assert_eq!(
            pipeline.stages()[1],
            doc! { "$addFields": { "chapter": "$chapters.name", "year": { "$year": "$printed" } } }
        );
        let rows: Vec<Row> = pipeline.all().await.unwrap();
        let row = |title: &str, chapter: &str, year| Row {
            title: title.into(),
            chapter: chapter.into(),
            year: Some(year),
        };
        assert_eq!(rows, [row("Book 1", "Two", 2024), row("Book 2", "Only", 2025)]);
        t.commands.clear();
        // Typed paths would name something else, or nothing at all.
        for name in ["title", "_id", "_odm", "a.b", "$a", "", "a\0"] {
            let added = books.aggregate().add_fields(|f| f.field(name, |b| b.title));
            let error = added.all::<Doc>().await.unwrap_err();
            assert!(
                matches!(&error, Error::Query { message, .. } if message.starts_with(&format!("`{name}` is "))),
                "{error}"
            );
            let joined = books.aggregate().lookup(name, |b| b.author);
            joined.all::<Doc>().await.unwrap_err();
        }
        assert!(t.commands.take().is_empty());
    });
}

#[odm_tests::test]
fn documents_are_grouped_by_parts_of_dates() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let printed = || books.aggregate().filter(|b| b.printed.ne(None));
        let by_month = printed()
            .group(|b| (b.printed.year(), b.printed.month()), |g| g.count("books"))
            .stage(doc! { "$sort": { "_id": 1 } });
        let by_month: Vec<Doc> = by_month.all().await.unwrap();
        assert_eq!(
            by_month,
            [
                doc! { "_id": { "printed_year": 2024, "printed_month": 12 }, "books": 1 },
                doc! { "_id": { "printed_year": 2025, "printed_month": 1 }, "books": 2 },
            ]
        );
        // By the clocks of Berlin it was the new year already.
        let in_berlin = printed()
            .group(
                |b| b.printed.year().time_zone("Europe/Berlin"),
                |g| g.count("books"),
            )
            .stage(doc! { "$sort": { "_id": 1 } });
        let in_berlin: Vec<Doc> = in_berlin.all().await.unwrap();
        assert_eq!(in_berlin, [doc! { "_id": 2025, "books": 3 }]);
        let parts = printed().filter(|b| b.id.eq(2)).add_fields(|f| {
            f.field("day", |b| b.printed.day())
                .field("day_of_week", |b| b.printed.day_of_week())
                .field("hour", |b| b.printed.hour())
                .field("minute", |b| b.printed.minute())
        });
        let parts = parts.one::<Doc>().await.unwrap().unwrap();
        let part = |name: &str| parts.get_i32(name).unwrap();
        // The first of January 2025 was a Wednesday.
        assert_eq!(
            (part("day"), part("day_of_week"), part("hour"), part("minute")),
            (1, 4, 10, 15)
        );
        // Without a date the part is `null`.
        let none = books.aggregate().filter(|b| b.id.eq(4));
        let none: Vec<Doc> = none
            .group(|b| b.printed.year(), |g| g.count("books"))
            .all()
            .await
            .unwrap();
        assert_eq!(none, [doc! { "_id": null, "books": 1 }]);
    });
}

#[odm_tests::test]
fn a_date_is_truncated_to_its_unit() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let truncated = async |id: i32, unit: Unit, zone: &str| {
            let one = books.aggregate().filter(|b| b.id.eq(id));
            let one = one.add_fields(|f| f.field("moment", |b| b.printed.truncated(unit).time_zone(zone)));
            match one.one::<Doc>().await {
                Ok(found) => found
                    .unwrap()
                    .get_datetime("moment")
                    .unwrap()
                    .try_to_rfc3339_string()
                    .unwrap(),
                Err(error) if error.to_string().contains("$dateTrunc") => {
                    odm_tests::skip("needs `$dateTrunc`")
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(truncated(2, Unit::Year, "UTC").await, "2025-01-01T00:00:00Z");
        assert_eq!(truncated(3, Unit::Month, "UTC").await, "2025-01-01T00:00:00Z");
        // The ninth was a Thursday.
        assert_eq!(truncated(3, Unit::Week, "UTC").await, "2025-01-06T00:00:00Z");
        assert_eq!(truncated(3, Unit::Day, "UTC").await, "2025-01-09T00:00:00Z");
        assert_eq!(truncated(3, Unit::Hour, "UTC").await, "2025-01-09T10:00:00Z");
        assert_eq!(truncated(3, Unit::Minute, "UTC").await, "2025-01-09T10:45:00Z");
        assert_eq!(
            truncated(1, Unit::Day, "Europe/Berlin").await,
            "2024-12-31T23:00:00Z"
        );
    });
}

#[odm_tests::test]
fn referenced_documents_are_looked_up_as_a_field() {
    with_db(async |t| {
        #[derive(odm::Row, Debug)]
        struct Row {
            title: String,
            writer: Option<Author>,
            second: Option<Author>,
            into: Vec<Author>,
            parts: Vec<Author>,
        }
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let writers = books.aggregate().lookup("writer", |b| b.author);
        assert_eq!(
            writers.stages(),
            [
                doc! { "$lookup": {
                    "from": "authors", "localField": "author", "foreignField": "_id", "as": "writer",
                } },
                doc! { "$addFields": { "writer": { "$arrayElemAt": ["$writer", 0] } } },
            ]
        );
        let all = writers
            .lookup("second", |b| b.editor)
            .lookup("into", |b| b.translators)
            .lookup("parts", |b| b.chapters.by)
            .filter(|b| b.author.eq(Ref::new(1)))
            .sort(|b| b.id.asc());
        let rows: Vec<Row> = all.all().await.unwrap();
        assert_eq!(t.commands.take(), ["aggregate"]);
        let name = |author: &Option<Author>| author.as_ref().map(|author| author.name.clone());
        let names = |authors: &[Author]| {
            let mut names: Vec<String> = authors.iter().map(|author| author.name.clone()).collect();
            names.sort();
            names
        };
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[0].title.as_str(), name(&rows[0].writer)),
            ("Book 1", Some("Ada".into()))
        );
        assert_eq!(name(&rows[0].second), Some("Bob".into()));
        assert_eq!(names(&rows[0].into), ["Bob", "Cleo"]);
        assert_eq!(names(&rows[0].parts), ["Ada", "Cleo"]);
        assert_eq!(
            (name(&rows[1].writer), name(&rows[1].second)),
            (Some("Ada".into()), None)
        );
        assert!(rows[1].into.is_empty() && rows[1].parts.is_empty());
        // Nothing of the stages is left in the documents.
        let plain = books
            .aggregate()
            .lookup("parts", |b| b.chapters.by)
            .one::<Doc>()
            .await
            .unwrap();
        assert!(!plain.unwrap().keys().any(|key| key.starts_with("__odm")));
    });
}

#[odm_tests::test]
fn children_are_looked_up_in_their_order() {
    with_db(async |t| {
        #[derive(odm::Row, Debug)]
        struct Row {
            best: Vec<Review>,
        }
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let pipeline = books.aggregate().sort(|b| b.id.asc());
        let pipeline = pipeline.lookup("best", |b| b.children::<Review>().limit(2));
        assert_eq!(
            pipeline.stages()[1],
            doc! { "$lookup": {
                "from": "reviews", "localField": "_id", "foreignField": "book",
                "pipeline": [{ "$sort": { "stars": -1 } }, { "$limit": 2_i64 }], "as": "best",
            } }
        );
        if !odm.server().await.unwrap().has_lookup_with_pipeline() {
            let error = pipeline.all::<Row>().await.unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            return;
        }
        let rows: Vec<Row> = pipeline.all().await.unwrap();
        let stars = |row: &Row| row.best.iter().map(|review| review.stars).collect::<Vec<_>>();
        assert_eq!(
            rows.iter().map(stars).collect::<Vec<_>>(),
            [vec![5, 4], vec![1], vec![], vec![]]
        );
    });
}

#[odm_tests::test]
fn a_raw_stage_can_leave_whole_documents() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let found = books
            .aggregate()
            .stage(doc! { "$match": { "_id": { "$lte": 2 } } })
            .as_documents()
            .filter(|b| b.author.eq(Ref::new(1)))
            .sort(|b| b.id.desc());
        let ids: Vec<i32> = found
            .all::<Book>()
            .await
            .unwrap()
            .iter()
            .map(|book| book.id)
            .collect();
        assert_eq!(ids, [2, 1]);
    });
}

#[odm_tests::test]
fn an_explanation_shows_the_index_and_the_stages() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let by_title = || books.aggregate().filter(|b| b.title.starts_with("Book"));
        let explain = match by_title()
            .group(|b| b.author, |g| g.count("books"))
            .explain()
            .await
        {
            Err(Error::Driver(error)) => odm_tests::skip(&format!("explains no pipeline: {error}")),
            explain => explain.unwrap(),
        };
        assert_eq!(t.commands.take(), ["explain"]);
        if explain.is_collection_scan() && odm_tests::is_the_stand_in_in_python(&t.db).await {
            odm_tests::skip("needs a server that finds a prefix by an index");
        }
        assert_eq!(explain.indexes, ["title_1"]);
    });
}

#[odm_tests::test]
fn results_replace_a_collection_of_no_model() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let counted = || books.aggregate().group(|b| b.author, |g| g.count("books"));
        for _ in 0..2 {
            counted().out("by_author").await.unwrap();
            // The first asks whether another program declares anything of the collection.
            assert_eq!(t.commands.take(), ["find", "aggregate"]);
            let stored = t.db.collection::<Doc>("by_author");
            assert_eq!(stored.count_documents(doc! {}).await.unwrap(), 2);
            t.commands.clear();
        }
        for (into, why) in [
            ("totals", "replace all documents of `Total`"),
            ("books", "replace all documents of `Book`"),
            ("_odm_edges", "belongs to the library"),
            ("system.views", "belongs to the library or to the server"),
        ] {
            let error = counted().out(into).await.unwrap_err();
            assert!(
                matches!(&error, Error::Query { message, .. } if message.contains(why)),
                "{error}"
            );
        }
        // A collection that is read without being registered.
        let few = Odm::new(t.db.clone(), models![Author]).unwrap();
        let error = few
            .collection::<Total>()
            .aggregate()
            .out("totals")
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("all documents that it reads"),
            "{error}"
        );
        assert!(t.commands.take().is_empty());
    });
}

#[odm_tests::test]
fn results_are_merged_into_what_is_there() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let merge = |id: i32| {
            let of = books.aggregate().filter(|b| b.author.eq(Ref::new(id)));
            of.group(|b| b.author, |g| g.count("books")).merge("by_author")
        };
        let into = t.db.collection::<Doc>("by_author");
        let stored = async || {
            let all = into.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
            all.try_collect::<Vec<Doc>>().await.unwrap()
        };
        merge(1).await.unwrap();
        assert_eq!(stored().await, [doc! { "_id": 1, "books": 2 }]);
        merge(2).when_not_matched(WhenNotMatched::Discard).await.unwrap();
        assert_eq!(stored().await.len(), 1);
        merge(2).when_not_matched(WhenNotMatched::Fail).await.unwrap_err();
        let add = vec![doc! { "$set": { "books": { "$add": ["$books", "$$new.books"] } } }];
        merge(1).when_matched(WhenMatched::Update(add)).await.unwrap();
        assert_eq!(stored().await, [doc! { "_id": 1, "books": 4 }]);
        merge(1).when_matched(WhenMatched::Keep).await.unwrap();
        assert_eq!(stored().await, [doc! { "_id": 1, "books": 4 }]);
        merge(1).when_matched(WhenMatched::Fail).await.unwrap_err();
        merge(1).when_matched(WhenMatched::Replace).await.unwrap();
        assert_eq!(stored().await, [doc! { "_id": 1, "books": 2 }]);
    });
}

#[odm_tests::test]
fn results_are_merged_into_a_model_that_no_rule_concerns() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let counted = || books.aggregate().group(|b| b.author, |g| g.count("books"));
        counted().merge("totals").await.unwrap();
        let totals = odm.collection::<Total>();
        assert_eq!(totals.get(1).await.unwrap(), Some(Total { id: 1, books: 2 }));
        t.commands.clear();
        for (into, why) in [
            ("books", "`Book.author` is a reference"),
            ("authors", "refers to `Author`"),
            ("counted", "writes `Counted.version`"),
            ("unchecked", "validator of `Unchecked` does not refuse"),
            ("_odm_state", "belongs to the library"),
        ] {
            let error = counted().merge(into).await.unwrap_err();
            assert!(
                matches!(&error, Error::Query { message, .. } if message.contains(why)),
                "{error}"
            );
        }
        assert!(t.commands.take().is_empty());
        require_transactions(&odm).await;
        let error = odm.transaction(async |tx| {
            let all = tx.collection::<Book>().aggregate();
            all.group(|b| b.author, |g| g.count("books"))
                .merge("totals")
                .await
        });
        let error = error.await.unwrap_err();
        assert!(error.to_string().contains("in a transaction"), "{error}");
    });
}

/// The database knows what other programs declare.
#[odm_tests::test]
fn a_collection_of_another_program_takes_no_results() {
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "labels")]
    struct Label {
        #[serde(rename = "_id")]
        id: i32,
        text: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "labelled")]
    struct Labelled {
        #[serde(rename = "_id")]
        id: i32,
        #[reference]
        label: Ref<Label>,
        #[denormalize(from = label.text)]
        label_text: String,
    }

    with_db(async |t| {
        let odm = stocked(&t).await;
        let other = Odm::new(t.db.clone(), models![Label, Labelled]).unwrap();
        other.sync().await.unwrap();
        let counted = || {
            odm.collection::<Book>()
                .aggregate()
                .group(|b| b.author, |g| g.count("books"))
        };
        for into in ["labels", "labelled"] {
            for stored in [counted().out(into).await, counted().merge(into).await] {
                let error = stored.unwrap_err();
                let why = "a program with other models";
                assert!(
                    matches!(&error, Error::Query { message, .. } if message.contains(why)),
                    "{error}"
                );
            }
        }
    });
}

/// The validator of the collection refuses what does not fit the model.
#[odm_tests::test]
fn a_merged_result_keeps_the_bounds_of_the_model() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let all = odm
            .collection::<Book>()
            .aggregate()
            .group(|_| (), |g| g.count("books"));
        let all = all.stage(doc! { "$set": { "_id": { "$toInt": 9 } } });
        match all.merge("totals").await {
            Err(error) => assert!(matches!(error, Error::Invalid { .. }), "{error:?}"),
            Ok(()) => odm_tests::skip("validates no result of `$merge`"),
        }
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    country: Option<String>,
    device: Option<Device>,
    #[serde(default = "two")]
    level: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Device {
    screen: Option<i32>,
}

fn two() -> i32 {
    2
}

/// Other programs leave out what is `None`, and what has a default: a reader sees one value, so that it is one group.
#[odm_tests::test]
fn what_is_missing_and_what_is_null_are_one_group() {
    #[derive(odm::Row, Debug, PartialEq)]
    struct Row<K> {
        #[serde(rename = "_id")]
        key: K,
        n: i32,
    }
    #[derive(odm::Row, Debug, PartialEq)]
    struct Three {
        country: Option<String>,
        device_screen: Option<i32>,
        level: i32,
    }
    #[derive(odm::Row, Debug, PartialEq)]
    struct Nested {
        level: i32,
        null: Two,
    }
    #[derive(odm::Row, Debug, PartialEq)]
    struct Two {
        country: Option<String>,
        device_screen: Option<i32>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Visit]).unwrap();
        t.db.collection::<Doc>("visits")
            .insert_many([
                doc! { "_id": 1, "country": null, "device": null, "level": 2 },
                doc! { "_id": 2, "country": null, "device": { "screen": null } },
                doc! { "_id": 3, "device": {} },
                doc! { "_id": 4 },
            ])
            .await
            .unwrap();
        let visits = odm.collection::<Visit>();
        let rows: Vec<Row<Three>> = visits
            .aggregate()
            .group(|v| (v.country, v.device.screen, v.level), |g| g.count("n"))
            .all()
            .await
            .unwrap();
        let key = Three {
            country: None,
            device_screen: None,
            level: 2,
        };
        assert_eq!(rows, [Row { key, n: 4 }]);
        let rows: Vec<Row<Nested>> = visits
            .aggregate()
            .group(|v| (v.level, (v.country, v.device.screen)), |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!((rows.len(), rows[0].n), (1, 4));
        let alone: Vec<Row<i32>> = visits
            .aggregate()
            .group(|v| v.level, |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!(alone, [Row { key: 2, n: 4 }]);
        let alone: Vec<Row<Option<i32>>> = visits
            .aggregate()
            .group(|v| v.device.screen, |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!(alone, [Row { key: None, n: 4 }]);
    });
}

/// The clocks of Berlin show the hour from two to three twice on this day.
#[odm_tests::test]
fn an_hour_that_comes_twice_is_two_hours() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Author, Book, Review]).unwrap();
        let books = odm.collection::<Book>();
        let raw = t.db.collection::<Doc>("books");
        let date = |text: &str| DateTime::parse_rfc3339_str(text).unwrap();
        let truncated = async |moment: &str, unit: Unit, zone: &str| {
            raw.delete_many(doc! {}).await.unwrap();
            raw.insert_one(doc! { "_id": 1, "printed": date(moment) })
                .await
                .unwrap();
            let one = books.aggregate();
            let one = one.add_fields(|f| f.field("moment", |b| b.printed.truncated(unit).time_zone(zone)));
            match one.one::<Doc>().await {
                Ok(found) => *found.unwrap().get_datetime("moment").unwrap(),
                Err(error) if error.to_string().contains("$dateTrunc") => {
                    odm_tests::skip("needs `$dateTrunc`")
                }
                Err(error) => panic!("{error}"),
            }
        };
        for (moment, unit, zone, expected) in [
            (
                "2024-10-26T23:59:59.999Z",
                Unit::Hour,
                "Europe/Berlin",
                "2024-10-26T23:00:00Z",
            ),
            (
                "2024-10-27T00:30:10.5Z",
                Unit::Hour,
                "Europe/Berlin",
                "2024-10-27T00:00:00Z",
            ),
            (
                "2024-10-27T01:30:10.5Z",
                Unit::Hour,
                "Europe/Berlin",
                "2024-10-27T01:00:00Z",
            ),
            (
                "2024-10-27T00:30:10.5Z",
                Unit::Minute,
                "Europe/Berlin",
                "2024-10-27T00:30:00Z",
            ),
            (
                "2024-10-27T01:30:10.5Z",
                Unit::Minute,
                "Europe/Berlin",
                "2024-10-27T01:30:00Z",
            ),
            (
                "2024-10-27T12:30:00Z",
                Unit::Day,
                "Europe/Berlin",
                "2024-10-26T22:00:00Z",
            ),
            (
                "2024-03-31T12:30:00Z",
                Unit::Day,
                "Europe/Berlin",
                "2024-03-30T23:00:00Z",
            ),
            (
                "2024-06-01T12:45:00Z",
                Unit::Hour,
                "+05:30",
                "2024-06-01T12:30:00Z",
            ),
        ] {
            let found = truncated(moment, unit, zone).await;
            assert_eq!(found, date(expected), "{moment} {unit:?} {zone}");
            assert!(found <= date(moment), "no truncated date is later than its date");
        }
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hotels")]
struct Hotel {
    id: i32,
    #[computed(avg = Stay.stars)]
    rating: odm::types::Average,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "stays")]
struct Stay {
    id: i32,
    #[parent_ref]
    hotel: Ref<Hotel>,
    stars: i32,
}

#[odm_tests::test]
fn documents_are_found_by_the_parts_of_an_average_and_sorted_by_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Hotel, Stay]).unwrap();
        odm.sync().await.unwrap();
        let (hotels, stays) = (odm.collection::<Hotel>(), odm.collection::<Stay>());
        hotels
            .insert_many((1..=3).map(|id| NewHotel { id }))
            .await
            .unwrap();
        for (id, (hotel, stars)) in [(1, 2), (1, 3), (2, 5), (3, 4), (3, 4), (3, 4)]
            .into_iter()
            .enumerate()
        {
            let hotel = Ref::new(hotel);
            let id = i32::try_from(id).unwrap();
            stays.insert(NewStay { id, hotel, stars }).await.unwrap();
        }
        let often = hotels
            .find(|h| h.rating.count.gte(2))
            .sort(|h| h.rating.count.desc())
            .all()
            .await;
        let ids = |all: &[Hotel]| all.iter().map(|hotel| hotel.id).collect::<Vec<_>>();
        assert_eq!(ids(&often.unwrap()), [3, 1]);
        let above = hotels
            .find(|h| (expr(h.rating.sum) / expr(h.rating.count)).gte(value(4.0)))
            .sort(|h| h.id.asc());
        assert_eq!(ids(&above.all().await.unwrap()), [2, 3]);
    });
}

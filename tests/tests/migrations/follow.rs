//! The copies, subsets and computed fields that follow the changes of a step, and the library's own declarations.

use odm::bson::{Document as Doc, doc};
use odm::migrate::Step;
use odm::prelude::*;
use odm::{Error, Migrations, migrations};
use odm_tests::fixtures::copying::mortal_in;
use odm_tests::{TestDb, assert_clean, takes_long, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
struct Author {
    id: i32,
    name: String,
    #[computed(count = Article)]
    articles: i64,
    #[computed(sum = Article.words)]
    words: i64,
    #[subset(of = Article, limit = 2, order(-words), fields(words: i64))]
    longest: Vec<Longest>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "articles")]
struct Article {
    id: i32,
    #[parent_ref]
    author: Ref<Author>,
    #[denormalize(from = author.name)]
    author_name: String,
    words: i64,
}

mod m0001_names {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let upper = doc! { "$set": { "name": { "$toUpper": "$name" } } };
        let is_lower = doc! { "name": { "$regex": "[a-z]" } };
        step.collection("authors").update(is_lower, [upper]).await?;
        let articles = step.collection("articles");
        articles
            .each::<Article>(doc! { "words": { "$lt": 100 } })
            .update(|article| Ok(doc! { "$set": { "words": article.words + 100 } }))
            .await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        let lower = doc! { "$set": { "name": { "$toLower": "$name" } } };
        let is_upper = doc! { "name": { "$regex": "[A-Z]" } };
        step.collection("authors").update(is_upper, [lower]).await?;
        let less = doc! { "$set": { "words": { "$subtract": ["$words", 100] } } };
        step.collection("articles")
            .update(doc! { "words": { "$gte": 100 } }, [less])
            .await
    }
}

mod m0001_moved {
    use super::*;

    /// The library's own operations, with their rules, within the transaction of the progress.
    pub async fn up(step: &Step) -> odm::Result<()> {
        step.each::<Article>(doc! { "author": 1 })
            .run(async |tx, articles| {
                for article in articles {
                    tx.collection::<Article>()
                        .update(article.id)
                        .set(|a| a.author, Ref::new(2))
                        .await?;
                }
                Ok(())
            })
            .await
    }
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Author, Article]).unwrap();
    odm.sync().await.unwrap();
    let authors = ["kate", "tom"].iter().zip(1..);
    for (name, id) in authors {
        odm.collection::<Author>()
            .insert(NewAuthor {
                id,
                name: (*name).to_owned(),
            })
            .await
            .unwrap();
    }
    for id in 0..250 {
        let author = Ref::new(1 + id % 2);
        odm.collection::<Article>()
            .insert(NewArticle {
                id,
                author,
                words: i64::from(id % 90),
            })
            .await
            .unwrap();
    }
    odm
}

#[odm_tests::test]
fn a_changed_source_takes_its_copies_subsets_and_sums_along() {
    with_db(async |t| {
        let odm = odm(&t).await;
        odm.migrate(migrations![m0001_names]).up().await.unwrap();
        let article = odm.collection::<Article>().get(4).required().await.unwrap();
        assert_eq!((article.author_name.as_str(), article.words), ("KATE", 104));
        let author = odm.collection::<Author>().get(1).required().await.unwrap();
        assert!(
            author.longest[0].words > 180 && author.words > 12_500,
            "{author:?}"
        );
        assert_clean(&odm).await;
    });
}

mod m0001_parents {
    use super::*;

    /// The previous parent is known by the documents before the change alone.
    pub async fn up(step: &Step) -> odm::Result<()> {
        let to_second = doc! { "$set": { "author": 2 } };
        step.collection("articles")
            .update(doc! { "author": 1 }, [to_second])
            .await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        let to_first = doc! { "$set": { "author": 1 } };
        step.collection("articles")
            .update(doc! { "author": 2, "_id": { "$mod": [2, 0] } }, [to_first])
            .await
    }
}

/// The crash matrix of a step: whichever command its process dies at, the next one completes the step and what follows from it, once. The same
/// of the way back.
async fn assert_completed_by_the_next(t: &TestDb, steps: fn() -> Migrations, standalone: bool) {
    let odm = odm(t).await;
    let (authors, articles) = (odm.collection::<Author>(), odm.collection::<Article>());
    articles.delete_where(|a| a.id.gte(20)).await.unwrap();
    let all = async || {
        (
            authors.find_all().all().await.unwrap(),
            articles.find_all().all().await.unwrap(),
        )
    };
    let before = all().await;
    odm.migrate(steps()).up().await.unwrap();
    let after = all().await;
    assert_ne!(before, after);
    odm.migrate(steps()).down().await.unwrap();
    for down in [false, true] {
        let mut cuts = 0;
        loop {
            if down {
                odm.migrate(steps()).up().await.unwrap();
            }
            let process = mortal_in(standalone, t, models![Author, Article]).await;
            let died = process
                .dies_after(cuts, move |odm| async move {
                    let migrating = odm.migrate(steps());
                    let run = if down {
                        migrating.down().await
                    } else {
                        migrating.up().await
                    };
                    run.unwrap();
                })
                .await;
            let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
            let runs = t.db.collection::<Doc>("_odm_migrations");
            runs.update_one(doc! { "_id": "runner" }, over).await.unwrap();
            // The process may have come to the end: a way back would take back nothing more, since there is no other step.
            let migrating = odm.migrate(steps());
            let (run, expected) = if down {
                (migrating.down().await, &before)
            } else {
                (migrating.up().await, &after)
            };
            run.unwrap();
            assert_eq!(all().await, *expected, "{cuts} commands");
            assert_clean(&odm).await;
            let stored = doc! { "before": { "$exists": true } };
            assert_eq!(runs.count_documents(stored).await.unwrap(), 0, "{cuts} commands");
            if !down {
                odm.migrate(steps()).down().await.unwrap();
            }
            if !died {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 10, "{cuts}");
    }
}

#[odm_tests::test]
fn a_step_that_dies_at_any_of_its_commands_is_completed_with_its_copies_by_the_next() {
    with_transactions(async |t| {
        takes_long();
        assert_completed_by_the_next(&t, || migrations![m0001_names], false).await;
    });
}

#[odm_tests::test]
fn a_step_that_changes_parents_and_dies_is_completed_in_the_previous_ones_by_the_next() {
    with_transactions(async |t| {
        assert_completed_by_the_next(&t, || migrations![m0001_parents], false).await;
    });
}

/// There the documents before a batch are stored before its update.
#[odm_tests::test]
fn the_same_on_a_standalone_server() {
    with_db(async |t| {
        assert_completed_by_the_next(&t, || migrations![m0001_parents], true).await;
    });
}

#[odm_tests::test]
fn operations_of_the_library_run_in_the_transaction_of_a_batch() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        odm.migrate(migrations![m0001_moved]).up().await.unwrap();
        let author = odm.collection::<Author>().get(2).required().await.unwrap();
        assert_eq!(author.articles, 250);
        assert_clean(&odm).await;
    });
}

/// The version before, without copies and counts.
mod before {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        pub words: i64,
    }
}

mod m0001_declarations {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.backfill().await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn new_declarations_are_made_and_filled_by_one_line_each() {
    with_db(async |t| {
        let old = Odm::new(t.db.clone(), models![before::Author, before::Article]).unwrap();
        old.sync().await.unwrap();
        old.collection::<before::Author>()
            .insert(before::Author {
                id: 1,
                name: "kate".to_owned(),
            })
            .await
            .unwrap();
        for id in 0..3 {
            let article = before::Article {
                id,
                author: Ref::new(1),
                words: 10,
            };
            old.collection::<before::Article>().insert(article).await.unwrap();
        }
        let odm = Odm::new(t.db.clone(), models![Author, Article]).unwrap();
        let migrating = odm.migrate(migrations![m0001_declarations]);
        let status = migrating.status().await.unwrap();
        assert!(
            status.steps[0]
                .changes
                .iter()
                .all(|change| change.documents > Some(0)),
            "{status}"
        );
        migrating.up().await.unwrap();
        let author = odm.collection::<Author>().get(1).required().await.unwrap();
        assert_eq!((author.articles, author.words, author.longest.len()), (3, 30, 2));
        assert_clean(&odm).await;
    });
}

mod m0001_without_copies {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("articles").remove("author_name").await?;
        let authors = step.collection("authors");
        for field in ["articles", "words", "longest"] {
            authors.remove(field).await?;
        }
        step.forget().await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn a_copy_and_its_declaration_are_removed() {
    with_db(async |t| {
        odm(&t).await;
        let later = Odm::new(t.db.clone(), models![before::Author, before::Article]).unwrap();
        later
            .migrate(migrations![m0001_without_copies])
            .up()
            .await
            .unwrap();
        for (name, fields) in [("articles", 4), ("authors", 3)] {
            let one =
                t.db.collection::<Doc>(name)
                    .find_one(doc! {})
                    .await
                    .unwrap()
                    .unwrap();
            assert!(one.len() <= fields, "{one}");
            assert!(
                !one.contains_key("author_name") && !one.contains_key("longest"),
                "{one}"
            );
        }
        let authors = later.collection::<before::Author>();
        authors.update(1).set(|a| a.name, "Kate").await.unwrap();
        assert!(later.plan().await.unwrap().is_empty());
    });
}

/// The version after, with one more field.
mod after {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub born: i32,
    }
}

mod m0001_shape {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.declare().await
    }
}

mod m0002_born {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("authors").add("born", 1970).await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn a_validator_allows_both_shapes_until_no_document_has_the_previous_one() {
    with_db(async |t| {
        let old = Odm::new(t.db.clone(), models![before::Author]).unwrap();
        old.sync().await.unwrap();
        let authors = t.db.collection::<Doc>("authors");
        authors
            .insert_one(doc! { "_id": 1, "name": "kate" })
            .await
            .unwrap();
        let odm = Odm::new(t.db.clone(), models![after::Author]).unwrap();
        odm.migrate(migrations![m0001_shape]).up().await.unwrap();
        authors
            .insert_one(doc! { "_id": 2, "name": "tom" })
            .await
            .unwrap();
        let new = doc! { "_id": 3, "name": "ann", "born": 1990 };
        authors.insert_one(new).await.unwrap();
        authors.insert_one(doc! { "_id": 4 }).await.unwrap_err();
        odm.migrate(migrations![m0001_shape, m0002_born])
            .up()
            .await
            .unwrap();
        let born = doc! { "born": { "$exists": true } };
        assert_eq!(authors.count_documents(born).await.unwrap(), 3);
        authors
            .insert_one(doc! { "_id": 4, "name": "rod" })
            .await
            .unwrap_err();
    });
}

mod m0001_collections {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.rename_collection("posts", "entries").await?;
        step.collection("entries").add("kind", "post").await?;
        step.drop_collection("drafts").await
    }
}

#[odm_tests::test]
fn a_collection_is_renamed_and_another_one_dropped() {
    with_db(async |t| {
        for name in ["posts", "drafts"] {
            t.db.collection::<Doc>(name)
                .insert_one(doc! { "_id": 1 })
                .await
                .unwrap();
        }
        let odm = Odm::new(t.db.clone(), []).unwrap();
        odm.migrate(migrations![m0001_collections]).up().await.unwrap();
        let mut names = t.db.list_collection_names().await.unwrap();
        names.retain(|name| !name.starts_with("_odm"));
        assert_eq!(names, ["entries"]);
        let entry =
            t.db.collection::<Doc>("entries")
                .find_one(doc! {})
                .await
                .unwrap()
                .unwrap();
        assert_eq!(entry, doc! { "_id": 1, "kind": "post" });
    });
}

/// A copy of a copy, both sides of links, and buckets with their sums, of which a parent has the sum.
mod graph {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "countries")]
    pub struct Country {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "cities")]
    pub struct City {
        pub id: i32,
        #[reference]
        pub country: Ref<Country>,
        #[denormalize(from = country.name)]
        pub country_name: String,
        #[reference(many, inverse = cities, max = 10)]
        pub clubs: Vec<Ref<Club>>,
        #[computed(sum = ReadingBucket.sum_celsius)]
        pub celsius: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "streets")]
    pub struct Street {
        pub id: i32,
        #[reference]
        pub city: Ref<City>,
        #[denormalize(from = city.country_name)]
        pub country_name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "clubs")]
    pub struct Club {
        pub id: i32,
        #[reference(many, inverse = clubs, max = 10)]
        pub cities: Vec<Ref<City>>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[bucket(of = City, size = 5, sum(celsius))]
    pub struct Reading {
        pub celsius: i32,
    }
}

mod m0001_of_the_graph {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let upper = doc! { "$set": { "name": { "$toUpper": "$name" } } };
        let is_lower = doc! { "name": { "$regex": "[a-z]" } };
        step.collection("countries").update(is_lower, [upper]).await?;
        // One side of the links.
        let to_one = doc! { "$set": { "clubs": [1] } };
        step.collection("cities")
            .update(doc! { "clubs": { "$ne": [1] } }, [to_one])
            .await?;
        // The items of buckets, without their sum.
        let warmer = doc! { "$map": { "input": "$readings", "in": { "celsius": { "$add": ["$$this.celsius", 100] } } } };
        step.collection("reading_buckets")
            .update(
                doc! { "readings.celsius": { "$lt": 100 } },
                [doc! { "$set": { "readings": warmer } }],
            )
            .await
    }
}

#[odm_tests::test]
fn copies_of_copies_links_and_summaries_of_buckets_follow() {
    use graph::{City, Club, Country, Reading, ReadingBucket, Street};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Country, City, Street, Club, ReadingBucket]).unwrap();
        odm.sync().await.unwrap();
        for id in 1..=2 {
            let name = format!("country {id}");
            odm.collection().insert(Country { id, name }).await.unwrap();
            let clubs = Vec::new();
            odm.collection()
                .insert(graph::NewClub { id, cities: vec![] })
                .await
                .unwrap();
            let country = Ref::new(id);
            let city = graph::NewCity { id, country, clubs };
            let city: City = odm.collection().insert(city).await.unwrap();
            let street = graph::NewStreet {
                id,
                city: city.to_ref(),
            };
            odm.collection::<Street>().insert(street).await.unwrap();
            for celsius in 0..12 {
                odm.buckets::<Reading>()
                    .push(&city, Reading { celsius })
                    .await
                    .unwrap();
            }
        }
        odm.migrate(migrations![m0001_of_the_graph]).up().await.unwrap();
        let street = odm.collection::<Street>().get(2).required().await.unwrap();
        assert_eq!(street.country_name, "COUNTRY 2");
        let clubs = odm.collection::<Club>();
        assert_eq!(clubs.get(1).required().await.unwrap().cities.len(), 2);
        assert_eq!(clubs.get(2).required().await.unwrap().cities.len(), 0);
        let city = odm.collection::<City>().get(1).required().await.unwrap();
        assert_eq!(city.celsius, 66 + 1_200);
        assert_clean(&odm).await;
    });
}

/// The version after, in which authors are people, and articles and their copies are gone.
mod people {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Author {
        pub id: i32,
        pub name: String,
    }
}

mod m0001_people {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.rename_collection("authors", "people").await?;
        let people = step.collection("people");
        for field in ["articles", "words", "longest"] {
            people.remove(field).await?;
        }
        step.drop_collection("articles").await?;
        step.forget().await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn collections_with_copies_are_renamed_and_dropped() {
    with_db(async |t| {
        odm(&t).await;
        let later = Odm::new(t.db.clone(), models![people::Author]).unwrap();
        // Without the step, its copies are unknown to this program.
        later.migrate(migrations![m0001_people]).up().await.unwrap();
        let people = later.collection::<people::Author>();
        people.update(1).set(|a| a.name, "Kate").await.unwrap();
        let kate = t.db.collection::<Doc>("people").find_one(doc! { "_id": 1 }).await;
        let kate = kate.unwrap().unwrap().into_iter();
        let own: Doc = kate.filter(|(name, _)| !name.starts_with("_odm")).collect();
        assert_eq!(own, doc! { "_id": 1, "name": "Kate" });
        let plan = later.plan().await.unwrap();
        assert!(plan.is_empty() && plan.unknown().is_empty(), "{plan}");
        let names = t.db.list_collection_names().await.unwrap();
        assert!(!names.contains(&"articles".to_owned()), "{names:?}");
    });
}

/// Indexes of each kind, which the next version declares otherwise.
mod indexes {
    use super::*;

    pub mod before {
        use super::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "members", index(fields(name), name = "by_name"))]
        pub struct Member {
            pub id: i32,
            pub name: String,
            #[index]
            pub code: i32,
            #[index]
            pub seen: DateTime,
            #[index]
            pub old: i32,
        }
    }

    pub mod after {
        use super::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "members", index(fields(name, code), name = "by_name"))]
        pub struct Member {
            pub id: i32,
            pub name: String,
            #[index(unique)]
            pub code: i32,
            #[index(expire_after = 3600)]
            pub seen: DateTime,
            pub old: i32,
        }
    }
}

mod m0001_indexes {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("members").retire_index("old_1").await?;
        step.declare_in_window().await
    }
}

mod m0001_without_window {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.declare().await
    }
}

mod m0001_of_a_declared_index {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("members").drop_index("code_1").await
    }
}

mod m0002_dropped {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("members").drop_index("old_1").await
    }
}

#[odm_tests::test]
fn indexes_of_each_kind_are_replaced_by_a_step() {
    with_db(async |t| {
        let before = Odm::new(t.db.clone(), models![indexes::before::Member]).unwrap();
        before.sync().await.unwrap();
        let member = indexes::before::NewMember {
            id: 1,
            name: "Kate".to_owned(),
            code: 1,
            seen: DateTime::now(),
            old: 1,
        };
        before.collection().insert(member).await.unwrap();
        let after = Odm::new(t.db.clone(), models![indexes::after::Member]).unwrap();
        after
            .migrate(migrations![m0001_of_a_declared_index])
            .up()
            .await
            .unwrap();
        if after.plan().await.unwrap().replace().needs_window() {
            let refused = after.migrate(migrations![m0001_without_window]).up().await;
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Error::SchemaConflict { .. }), "{refused}");
            assert!(refused.to_string().contains("`declare_in_window`"), "{refused}");
        }
        t.db.collection::<Doc>("_odm_migrations").drop().await.unwrap();
        let names = async || {
            let members = t.db.collection::<Doc>("members");
            let mut names = members.list_index_names().await.unwrap();
            names.sort();
            names
        };
        assert!(names().await.contains(&"code_1".to_owned()), "it is declared");
        after.migrate(migrations![m0001_indexes]).up().await.unwrap();
        let plan = after.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let notes = plan.notes().join("\n");
        assert!(
            notes.contains("the index `old_1` is not declared any more; "),
            "{notes}"
        );
        let there = names().await;
        for name in ["by_name", "code_1", "old_1", "seen_1"] {
            let is_there = there.iter().any(|there| there.starts_with(name));
            assert!(is_there, "{name} of {there:?}");
        }
        let twin = doc! { "_id": 2, "name": "Tom", "code": 1, "seen": DateTime::now(), "old": 2 };
        t.db.collection::<Doc>("members")
            .insert_one(twin)
            .await
            .unwrap_err();
        after
            .migrate(migrations![m0001_indexes, m0002_dropped])
            .up()
            .await
            .unwrap();
        assert!(!names().await.contains(&"old_1".to_owned()));
    });
}

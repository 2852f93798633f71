//! The copies, subsets and computed fields that follow the changes of a step, and the library's own declarations.

use odm::bson::{Document as Doc, doc};
use odm::migrate::Step;
use odm::migrations;
use odm::prelude::*;
use odm_tests::fixtures::copying::mortal;
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

/// The crash matrix of a step: whichever command its process dies at, the next one completes the step and what follows from it, once. The same
/// of the way back.
#[odm_tests::test]
fn a_step_that_dies_at_any_of_its_commands_is_completed_with_its_copies_by_the_next() {
    with_transactions(async |t| {
        takes_long();
        let odm = odm(&t).await;
        let steps = || migrations![m0001_names];
        odm.collection::<Article>()
            .delete_where(|a| a.id.gte(20))
            .await
            .unwrap();
        let words = async || {
            let all = odm.collection::<Article>().find_all().all().await.unwrap();
            all.iter()
                .map(|article| (article.id, article.author_name.clone(), article.words))
                .collect::<Vec<_>>()
        };
        let before = words().await;
        let after: Vec<_> = before
            .iter()
            .map(|(id, name, words)| (*id, name.to_uppercase(), words + 100))
            .collect();
        for down in [false, true] {
            let mut cuts = 0;
            loop {
                if down {
                    odm.migrate(steps()).up().await.unwrap();
                }
                let process = mortal(&t, models![Author, Article]).await;
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
                assert_eq!(words().await, *expected, "{cuts} commands");
                assert_clean(&odm).await;
                if !down {
                    odm.migrate(steps()).down().await.unwrap();
                }
                if !died {
                    break;
                }
                cuts += 1;
            }
            assert!(cuts > 20, "{cuts}");
        }
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

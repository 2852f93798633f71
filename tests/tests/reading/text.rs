//! Text search: the index that is declared, and the filter on it.
//!
//! Not every server that the tests run on has text indexes: MongoDB's does, the stand-in refuses them. The library's part
//! is tested on each, by the plan and by the commands that are sent; the results of a search, on servers that have such an
//! index.

use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::query::{Search, text};
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "articles",
    index(fields(text(title, weight = 5), text(body)), name = "words")
)]
pub struct Article {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
    pub body: String,
    pub stars: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "silent")]
pub struct Silent {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Article)]
struct Title {
    title: String,
}

fn articles() -> Vec<Article> {
    let article = |id: i32, title: &str, body: &str| Article {
        id,
        title: title.into(),
        body: body.into(),
        stars: id % 3,
    };
    vec![
        article(1, "Coffee", "Black, from a French press."),
        article(2, "Tea", "Green tea, and no other drink."),
        article(3, "Breakfast", "Coffee and a croissant."),
        article(4, "Decaf", "What is left of coffee without its point."),
        article(5, "Press", "News from the French capital."),
    ]
}

/// A handle whose commands of these names are recorded.
async fn watched(t: &TestDb, names: &'static [&'static str]) -> (Odm, Arc<Mutex<Vec<Doc>>>) {
    let sent: Arc<Mutex<Vec<Doc>>> = Arc::default();
    let record = sent.clone();
    let odm = super::copying::watched(t, models![Article, Silent], move |event| {
        if let CommandEvent::Started(started) = event
            && names.contains(&started.command_name.as_str())
        {
            record.lock().unwrap().push(started.command);
        }
    })
    .await;
    (odm, sent)
}

/// Whether the index could be made. Code 67, CannotCreateIndex: this server has no text indexes.
fn is_made(synced: odm::Result<odm::schema::Applied>) -> bool {
    match synced {
        Ok(_) => true,
        Err(Error::Index {
            source: Some(error), ..
        }) if code(&error) == Some(67) => false,
        Err(other) => panic!("{other}"),
    }
}

fn code(error: &odm::mongodb::error::Error) -> Option<i32> {
    match &*error.kind {
        odm::mongodb::error::ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

#[odm_tests::test]
fn a_declared_text_index_is_planned_asked_for_and_recognized() {
    with_db(async |t| {
        let (odm, sent) = watched(&t, &["createIndexes"]).await;
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("index `words` on title (text), body (text)"),
            "{plan}"
        );
        let made = is_made(odm.sync().await);
        let asked = sent.lock().unwrap().clone();
        let asked = asked
            .iter()
            .find(|command| command.get_str("createIndexes").is_ok());
        let asked = asked.unwrap().get_array("indexes").unwrap();
        assert_eq!(asked.len(), 1);
        let index = asked[0].as_document().unwrap();
        assert_eq!(
            index.get_document("key").unwrap(),
            &doc! { "title": "text", "body": "text" }
        );
        assert_eq!(
            index.get_document("weights").unwrap(),
            &doc! { "title": 5, "body": 1 }
        );
        if made {
            // The server lists it by other keys than it was made with.
            let plan = odm.plan().await.unwrap();
            assert!(plan.is_empty(), "{plan}");
        }
    });
}

/// The words come from a user: whatever they are, they are the text that is searched for.
#[odm_tests::test]
fn the_words_are_a_value_in_every_command() {
    with_db(async |t| {
        let (odm, sent) = watched(&t, &["find", "aggregate", "update", "delete"]).await;
        let last = || sent.lock().unwrap().pop().unwrap();
        t.db.create_collection("articles").await.unwrap();
        let all = odm.collection::<Article>();
        for words in [
            "coffee -decaf \"french press\"",
            r#"{"$gt": ""}"#,
            "$where",
            r#"", "$caseSensitive": true, "x": ""#,
        ] {
            // Its result is not looked at: without the index the server refuses it.
            let filter = doc! { "$text": { "$search": words } };
            all.find_text(words).all().await.ok();
            assert_eq!(last().get_document("filter").unwrap(), &filter);
            all.find_text(words).count().await.ok();
            let counted = last();
            let stages = counted.get_array("pipeline").unwrap();
            assert_eq!(
                stages[0].as_document().unwrap(),
                &doc! { "$match": filter.clone() }
            );
            let changed = all.update_where(|_| text(words)).set(|a| a.stars, 9);
            changed.await.ok();
            let updated = last();
            let update = updated.get_array("updates").unwrap()[0].as_document().unwrap();
            assert_eq!(update.get_document("q").unwrap(), &filter);
            all.delete_where(|_| text(words)).await.ok();
            let deleted = last();
            let delete = deleted.get_array("deletes").unwrap()[0].as_document().unwrap();
            assert_eq!(delete.get_document("q").unwrap(), &filter);
            all.find(|a| text(words) & a.stars.gte(1))
                .all()
                .await
                .unwrap_err();
            assert_eq!(
                last().get_document("filter").unwrap(),
                &doc! { "$text": { "$search": words }, "stars": { "$gte": 1 } }
            );
        }
    });
}

#[odm_tests::test]
fn scores_are_read_beside_the_documents_the_best_first() {
    with_db(async |t| {
        let (odm, sent) = watched(&t, &["find"]).await;
        let last = || sent.lock().unwrap().pop().unwrap();
        t.db.create_collection("articles").await.unwrap();
        let all = odm.collection::<Article>();
        let score = doc! { "__odm_score": { "$meta": "textScore" } };
        // Its result is not looked at: without the index the server refuses it.
        let search = || Search::new("coffee").language("en").case_sensitive();
        all.find(|_| text(search()))
            .limit(3)
            .with_score()
            .all()
            .await
            .ok();
        let command = last();
        assert_eq!(
            command.get_document("filter").unwrap(),
            &doc! { "$text": { "$search": "coffee", "$language": "en", "$caseSensitive": true } }
        );
        assert_eq!(command.get_document("projection").unwrap(), &score);
        assert_eq!(command.get_document("sort").unwrap(), &score);
        let titles = all.find_text("coffee").select::<Title>().sort(|a| a.id.asc());
        titles.with_score().one().await.ok();
        let command = last();
        let mut projection = doc! { "title": 1, "_id": 0 };
        projection.extend(score);
        assert_eq!(command.get_document("projection").unwrap(), &projection);
        assert_eq!(command.get_document("sort").unwrap(), &doc! { "_id": 1 });
        // Without a search there is no score.
        sent.lock().unwrap().clear();
        let error = all.find(|a| a.stars.gte(1)).with_score().all().await.unwrap_err();
        assert!(
            matches!(&error, Error::Query { message, .. } if message.contains("the condition has none")),
            "{error}"
        );
        assert!(sent.lock().unwrap().is_empty());
    });
}

/// On servers with text indexes alone: others refuse a text filter in their own way, too.
#[odm_tests::test]
fn words_phrases_and_excluded_words_are_searched() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Article, Silent]).unwrap();
        if !is_made(odm.sync().await) {
            odm_tests::skip("needs text indexes");
        }
        let all = odm.collection::<Article>();
        all.insert_many(articles()).await.unwrap();
        let found = async |words: &str| {
            let found = all.find_text(words).sort(|a| a.id.asc()).all().await.unwrap();
            found.iter().map(|article| article.id).collect::<Vec<_>>()
        };
        assert_eq!(found("coffee").await, [1, 3, 4], "in either field, in any case");
        assert_eq!(found("COFFEE").await, [1, 3, 4]);
        assert_eq!(found("coffee -decaf").await, [1, 3]);
        assert_eq!(
            found("croissant capital").await,
            [3, 5],
            "one of the words is enough"
        );
        assert_eq!(found("\"french press\"").await, [1], "a phrase is whole");
        assert_eq!(found("water").await, [0; 0]);
        // With other conditions, in a count, in a page, in a pipeline, and in an update.
        let both = || all.find(|a| text("coffee") & a.stars.gte(1));
        assert_eq!(both().count().await.unwrap(), 2);
        assert!(both().exists().await.unwrap());
        let first = both().page(1).await.unwrap();
        assert_eq!(first.items[0].id, 1);
        let second = both().page(1).after(first.next.unwrap()).await.unwrap();
        assert_eq!((second.items[0].id, second.next), (4, None));
        let piped = all.aggregate().filter(|_| text("tea"));
        assert_eq!(piped.one::<Article>().await.unwrap().unwrap().id, 2);
        let changed = all
            .update_where(|_| text("tea"))
            .set(|a| a.stars, 9)
            .await
            .unwrap();
        assert_eq!(changed.modified, 1);
        // The title weighs five times as much as the body.
        let scored = all.find_text("coffee").with_score().all().await.unwrap();
        let order: Vec<i32> = scored.iter().map(|(_, article)| article.id).collect();
        assert_eq!(order.first(), Some(&1));
        assert!(
            scored
                .windows(2)
                .all(|pair| pair[0].0 >= pair[1].0 && pair[1].0 > 0.0)
        );
        let best = all.find_text("coffee").select::<Title>().with_score().one();
        let (score, best) = best.await.unwrap().unwrap();
        assert!(score > 0.0 && best.title == "Coffee");
        let exact = all.find(|_| text(Search::new("Coffee").case_sensitive())).count();
        assert_eq!(exact.await.unwrap(), 2);
        // Of a collection without such an index it is refused: 27, IndexNotFound.
        let silent = odm.collection::<Silent>();
        silent
            .insert(Silent {
                id: 1,
                title: "coffee".into(),
            })
            .await
            .unwrap();
        let error = silent.find_text("coffee").all().await.unwrap_err();
        assert_eq!(error.driver_error().and_then(code), Some(27), "{error}");
    });
}

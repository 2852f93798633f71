//! Fields that are read only where they are asked for, and that writes of the whole document keep.

use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::error::Rule;
use odm::hooks::InTransaction;
use odm::options::Options;
use odm::prelude::*;
use odm_tests::{TestDb, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "articles", version, patch)]
struct Article {
    id: i32,
    version: i64,
    title: String,
    #[field(min_len = 2, max_len = 10_000)]
    body: Deferred<String>,
    #[embed(max = 3)]
    figures: Deferred<Vec<Figure>>,
    note: Deferred<Option<String>>,
    #[field(opaque)]
    raw: Deferred<Bson>,
    /// One replacement merges it with the stored one.
    place: Place,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Figure {
    name: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Place {
    page: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "quotes")]
struct Quote {
    id: i32,
    #[parent_ref]
    article: Ref<Article>,
    #[denormalize(from = article.title)]
    title: String,
    text: Deferred<String>,
}

fn article(id: i32) -> NewArticle {
    NewArticle {
        id,
        title: format!("title {id}"),
        body: format!("body {id}"),
        figures: vec![Figure { name: "one".into() }],
        note: None,
        raw: doc! { "a": 1 }.into(),
        place: Place { page: id },
    }
}

async fn begin(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Article, Quote]).unwrap();
    odm.sync().await.unwrap();
    let articles = odm.collection::<Article>();
    articles.insert_many((1..=3).map(article)).await.unwrap();
    let quote = |id: i32| NewQuote {
        id,
        article: Ref::new(1 + id % 3),
        text: format!("text {id}"),
    };
    odm.collection::<Quote>()
        .insert_many((1..=3).map(quote))
        .await
        .unwrap();
    odm
}

/// Whether none of its deferred fields was read.
fn is_bare(article: &Article) -> bool {
    article.body.is_not_read()
        && article.figures.is_not_read()
        && article.note.is_not_read()
        && article.raw.is_not_read()
}

async fn stored(odm: &Odm, id: i32) -> Raw {
    let raw = odm.collection::<Article>().driver::<Raw>();
    raw.find_one(doc! { "_id": id }).await.unwrap().unwrap()
}

#[odm_tests::test]
fn a_read_has_a_deferred_field_only_where_it_is_asked_for() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let articles = odm.collection::<Article>();
        let quotes = odm.collection::<Quote>();

        assert!(is_bare(&articles.get(1).await.unwrap().unwrap()));
        let several = [
            articles.find_all().all().await.unwrap(),
            articles.get_many([1, 2, 3]).await.unwrap(),
            articles
                .find_all()
                .sort(|a| a.title.desc())
                .page(3)
                .await
                .unwrap()
                .items,
            vec![
                articles
                    .find(|a| a.body.eq("body 1"))
                    .one()
                    .await
                    .unwrap()
                    .unwrap(),
            ],
            quotes
                .find_all()
                .include(|q| q.article)
                .all()
                .await
                .unwrap()
                .into_iter()
                .map(|(_, article)| article)
                .collect(),
        ];
        for found in several {
            assert!(!found.is_empty() && found.iter().all(is_bare), "{found:?}");
        }
        let joined = articles
            .find_all()
            .include(|a| a.children::<Quote>())
            .all()
            .await
            .unwrap();
        let mut quotes_of = joined.iter().flat_map(|(_, quotes)| quotes);
        assert!(quotes_of.all(|quote| quote.text.is_not_read()));
        let of_one = quotes.children_of(Ref::<Article>::new(1)).all().await.unwrap();
        assert!(of_one.iter().all(|quote| quote.text.is_not_read()) && of_one.len() == 1);

        // Of the fields that are asked for, each read has the value.
        let asking = articles.with_deferred(|a| (a.body, a.figures));
        let whole = asking.get(2).await.unwrap().unwrap();
        assert_eq!(whole.body.get().map(String::as_str), Some("body 2"));
        assert_eq!(whole.figures.get().map(Vec::len), Some(1));
        assert!(whole.note.is_not_read() && whole.raw.is_not_read());
        let all = asking.find_all().all().await.unwrap();
        assert!(all.iter().all(|article| article.body.get().is_some()));

        // The document that a write returns, where nothing depends on it.
        let plain = Odm::new(t.db.clone(), models![Letter]).unwrap();
        let letters = plain.collection::<Letter>();
        let text = "a text".to_owned();
        letters
            .insert(NewLetter {
                id: 1,
                writes: 0,
                text,
            })
            .await
            .unwrap();
        let back = letters.update(1).inc(|l| l.writes, 1).returning().await.unwrap();
        assert!(back.text.is_not_read());
        let asking = letters.with_deferred(|l| l.text);
        let back = asking.update(1).inc(|l| l.writes, 1).returning().await.unwrap();
        assert_eq!(back.text.get().map(String::as_str), Some("a text"));

        // A field of the order is read too, so that a page knows where it ends.
        let first = articles.find_all().sort(|a| a.body.desc()).page(2).await.unwrap();
        let ids: Vec<i32> = first.items.iter().map(|article| article.id).collect();
        assert_eq!(ids, [3, 2]);
        let next = articles.find_all().sort(|a| a.body.desc()).page(2);
        let next = next.after(first.next.unwrap()).await.unwrap();
        assert_eq!(next.items.len(), 1);

        #[derive(Projection, Debug)]
        #[projection(of = Article)]
        struct Body {
            body: String,
        }
        let body = articles
            .find(|a| a.id.eq(3))
            .select::<Body>()
            .one()
            .await
            .unwrap();
        assert_eq!(body.unwrap().body, "body 3");
    });
}

#[odm_tests::test]
fn a_write_of_the_whole_document_keeps_what_was_not_read() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let articles = odm.collection::<Article>();
        let before = stored(&odm, 1).await;
        let same = |after: &Raw| {
            for name in ["body", "figures", "note", "raw"] {
                assert_eq!(after.get(name), before.get(name), "{name}");
            }
        };

        let mut article = articles.get(1).await.unwrap().unwrap();
        article.title = "another".into();
        let article = articles.replace(article).await.unwrap();
        assert!(is_bare(&article));
        same(&stored(&odm, 1).await);
        // The copies follow.
        let quotes = odm.collection::<Quote>().find(|q| q.article.eq(Ref::new(1)));
        assert!(
            quotes
                .all()
                .await
                .unwrap()
                .iter()
                .all(|quote| quote.title == "another")
        );

        let article = articles.save(article).await.unwrap().document;
        let mut article = articles.replace(article).exact().await.unwrap();
        let after = stored(&odm, 1).await;
        same(&after);
        assert_eq!(after.get_i64("version").unwrap(), 4);

        // A value that the application sets is stored, in each of the ways.
        article.body.set("new body".into());
        article.note.set(Some("a note".into()));
        let article = articles.replace(article).await.unwrap();
        let after = stored(&odm, 1).await;
        assert_eq!(after.get_str("body").unwrap(), "new body");
        assert_eq!(after.get_str("note").unwrap(), "a note");
        assert_eq!(after.get("raw"), before.get("raw"));
        assert_eq!(article.body.get().map(String::as_str), Some("new body"));

        // It is within its bounds, alone and in an update.
        let mut article = article;
        article.body.set("x".into());
        let short = articles.replace(article.clone()).await;
        assert!(
            matches!(&short, Err(Error::Invalid { violations, .. }) if violations[0].rule == Rule::MinLength(2)),
            "{short:?}"
        );
        let short = articles.update(1).set(|a| a.body, "x").await;
        assert!(matches!(short, Err(Error::Invalid { .. })), "{short:?}");
        articles
            .update(1)
            .push(|a| a.figures, Figure { name: "two".into() })
            .await
            .unwrap();
        let patch = ArticlePatch {
            body: "patched".to_owned().into(),
            ..ArticlePatch::default()
        };
        articles.update(1).apply(patch).await.unwrap();
        let asking = articles.with_deferred(|a| (a.body, a.figures));
        let now = asking.get(1).await.unwrap().unwrap();
        assert_eq!(now.body.get().map(String::as_str), Some("patched"));
        assert_eq!(now.figures.get().map(Vec::len), Some(2));
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn a_new_document_has_all_of_its_fields() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let articles = odm.collection::<Article>();
        let mut article = articles.get(1).await.unwrap().unwrap();
        article.id = 7;
        article.version = 0;
        let is_refused = |outcome: &odm::Result<()>| {
            let Err(Error::Invalid { violations, .. }) = outcome else {
                return false;
            };
            violations.len() == 4
                && violations[0].path == "body"
                && violations
                    .iter()
                    .all(|violation| violation.rule == Rule::Required)
        };
        let inserted = articles.insert(article.clone()).await.map(drop);
        assert!(is_refused(&inserted), "{inserted:?}");
        let saved = articles.save(article.clone()).await.map(drop);
        assert!(is_refused(&saved), "{saved:?}");
        let bulk = odm.bulk().add(articles.insert(article.clone())).await;
        assert!(bulk.is_err(), "{bulk:?}");
        // A handle that asks for fields writes as any other.
        let asking = articles
            .with_deferred(|a| a.body)
            .with_options(Options::new().comment("asks"));
        let read = asking
            .find(|a| a.id.eq(1))
            .comment("reads")
            .one()
            .await
            .unwrap()
            .unwrap();
        assert!(read.body.get().is_some(), "with options of the operation too");
        let write = articles
            .with_deferred(|a| a.body)
            .update(1)
            .set(|a| a.title, "one");
        // SecantusDB refuses the `bulkWrite` command as the first of a transaction.
        let bulk = odm.bulk().without_bulk_write_command().add(write);
        assert_eq!(bulk.await.unwrap().matched, 1);
        let many = articles.insert_many([article.clone()]).await;
        assert!(many.is_err(), "{many:?}");
        assert_eq!(articles.find_all().count().await.unwrap(), 3);

        // One that was inserted has them.
        let inserted = articles.insert(self::article(8)).await.unwrap();
        assert_eq!(inserted.body.get().map(String::as_str), Some("body 8"));
        assert_eq!(inserted.note.get(), Some(&None));

        // JSON leaves out what was not read.
        let letter = Letter {
            id: 1,
            writes: 0,
            text: Deferred::not_read(),
        };
        assert_eq!(odm::json::to_string(&letter).unwrap(), r#"{"id":1,"writes":0}"#);
        let new: NewLetter = odm::json::from_str(r#"{"id":1,"writes":0,"text":"t"}"#).unwrap();
        assert_eq!(new.text, "t");
    });
}

#[odm_tests::test]
fn a_transaction_and_its_bulk_keep_what_was_not_read() {
    with_transactions(async |t| {
        let odm = begin(&t).await;
        let before = stored(&odm, 2).await;
        odm.transaction(async |tx| {
            let articles = tx.collection::<Article>();
            let mut article = articles.get(2).await?.unwrap();
            assert!(is_bare(&article));
            article.title = "in a transaction".into();
            let article = articles.replace(article).await?;
            tx.bulk().add(articles.replace(article)).await?;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
        let after = stored(&odm, 2).await;
        assert_eq!(after.get_str("title").unwrap(), "in a transaction");
        assert_eq!(after.get("body"), before.get("body"));
        assert_eq!(after.get("raw"), before.get("raw"));
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "letters")]
struct Letter {
    id: i32,
    writes: i32,
    text: Deferred<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notices", before_write = allow)]
struct Notice {
    id: i32,
    writes: i32,
    text: Deferred<String>,
}

async fn allow(write: InTransaction<Notice>) -> Result<(), String> {
    match &write.after {
        Some(notice) if notice.writes < 0 => Err("no negative number".to_owned()),
        _ => Ok(()),
    }
}

#[odm_tests::test]
fn a_hook_keeps_what_was_not_read() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Notice]).unwrap();
        odm.sync().await.unwrap();
        let notices = odm.collection::<Notice>();
        let text = "a text".to_owned();
        notices
            .insert(NewNotice {
                id: 1,
                writes: 0,
                text,
            })
            .await
            .unwrap();
        let notice = notices.get(1).await.unwrap().unwrap();
        assert!(notice.text.is_not_read());
        notices.replace(notice.clone()).await.unwrap();
        notices
            .save(notices.get(1).await.unwrap().unwrap())
            .await
            .unwrap();
        notices.update(1).inc(|n| n.writes, 10).await.unwrap();
        let whole = notices.with_deferred(|n| n.text).get(1).await.unwrap().unwrap();
        assert_eq!(whole.text.get().map(String::as_str), Some("a text"));
    });
}

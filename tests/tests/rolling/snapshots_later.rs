//! Snapshots that are declared over documents that are there already: taken once, by a backfill that is asked for them.

use super::stopped::{Process, Stopped};
use odm::bson::{Bson, Document as Doc, doc};
use odm::cli::{Streams, run_with};
use odm::prelude::*;
use odm::upkeep::Backfilled;
use odm_tests::{TestDb, assert_clean, with_db};

/// Orders that don't know what their articles cost.
mod before {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        #[serde(rename = "_id")]
        pub id: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub price: Option<i64>,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "customers")]
    pub struct Customer {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub customer: Ref<Customer>,
        #[reference(on_delete = keep)]
        pub article: Option<Ref<Article>>,
        #[embed(max = 20)]
        pub lines: Vec<Line>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Line {
        #[reference(on_delete = keep)]
        pub article: Ref<Article>,
    }
}

mod now {
    pub use super::before::Article;
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "customers")]
    pub struct Customer {
        #[serde(rename = "_id")]
        pub id: i32,
        #[serde(default)]
        #[computed(sum = Order.price)]
        pub spent: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub customer: Ref<Customer>,
        #[reference(on_delete = keep)]
        pub article: Option<Ref<Article>>,
        #[denormalize(from = article.price, consistency = snapshot)]
        pub price: Option<i64>,
        #[embed(max = 20)]
        pub lines: Vec<Line>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Line {
        #[reference(on_delete = keep)]
        pub article: Ref<Article>,
        #[serde(default)]
        #[denormalize(from = article.name, consistency = snapshot)]
        pub name: String,
        #[denormalize(from = article.price, consistency = snapshot)]
        pub price: Option<i64>,
    }
}

fn models() -> Vec<odm::Model> {
    models![now::Article, now::Customer, now::Order].to_vec()
}

/// Orders of a program that took no prices. More than a batch of them are like the tenth.
async fn ordered(t: &TestDb) {
    use before::{Article, Customer, Line, Order};
    let odm = Odm::new(t.db.clone(), models![Article, Customer, Order]).unwrap();
    odm.sync().await.unwrap();
    let article = |id, price| Article {
        id,
        price,
        name: format!("article {id}"),
    };
    let articles = [
        article(1, Some(10)),
        article(2, None),
        article(3, Some(30)),
        article(4, Some(40)),
    ];
    odm.collection::<Article>().insert_many(articles).await.unwrap();
    let customers = [1, 2].map(|id| Customer { id });
    odm.collection::<Customer>().insert_many(customers).await.unwrap();
    let order = |id, article: Option<i32>, lines: &[i32]| Order {
        id,
        customer: Ref::new(if id < 10 { 1 } else { 2 }),
        article: article.map(Ref::new),
        lines: lines
            .iter()
            .map(|id| Line {
                article: Ref::new(*id),
            })
            .collect(),
    };
    let mut orders = vec![
        order(1, Some(1), &[1, 3, 1, 2]),
        order(2, Some(2), &[]),
        order(3, None, &[3]),
        order(4, Some(3), &[]),
        order(5, Some(4), &[4]),
    ];
    orders.extend((10..1_110).map(|id| order(id, Some(1), &[])));
    odm.collection::<Order>().insert_many(orders).await.unwrap();
    // The price of this one is not known any more.
    odm.collection::<Article>().delete(4).await.unwrap();
}

/// The new program, in which somebody has ordered since.
async fn synced(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models()).unwrap();
    let plan = odm.plan().await.unwrap().accept_violations();
    assert_eq!(
        plan.backfills(),
        ["customers.spent"],
        "a snapshot asks for nothing"
    );
    odm.apply(&plan).await.unwrap();
    let new = now::NewOrder {
        id: 6,
        customer: Ref::new(1),
        article: Some(Ref::new(1)),
        lines: vec![now::Line {
            article: Ref::new(1),
            name: String::new(),
            price: None,
        }],
    };
    odm.collection::<now::Order>().insert(new).await.unwrap();
    let articles = odm.collection::<now::Article>();
    articles
        .update(1)
        .set(|a| a.price, Some(11))
        .set(|a| a.name, "new")
        .await
        .unwrap();
    odm.backfill().await.unwrap();
    odm
}

async fn stored(t: &TestDb, id: i32) -> Doc {
    let orders = t.db.collection::<Doc>("orders");
    orders.find_one(doc! { "_id": id }).await.unwrap().unwrap()
}

async fn lacking(t: &TestDb) -> u64 {
    let orders = t.db.collection::<Doc>("orders");
    let lacks = doc! { "article": 1, "price": { "$exists": false } };
    orders.count_documents(lacks).await.unwrap()
}

#[odm_tests::test]
fn a_backfill_takes_snapshots_where_it_is_asked_to() {
    with_db(async |t| {
        ordered(&t).await;
        let odm = synced(&t).await;
        for all in [false, true] {
            let backfill = if all {
                odm.backfill().again()
            } else {
                odm.backfill()
            };
            backfill.await.unwrap();
            assert_eq!(lacking(&t).await, 1_101, "a snapshot is not taken unasked");
        }
        let before = stored(&t, 10).await;
        let filled = odm.backfill().snapshots().await.unwrap();
        assert_eq!(
            filled.edges,
            ["orders.price", "orders.lines.name", "orders.lines.price"]
        );
        // 1, 4 and those from 10 on of their article; 1 and 3 of their lines.
        assert_eq!(filled.documents, 1_102 + 2);
        let orders = odm.collection::<now::Order>();
        let get = async |id: i32| orders.get(id).await.unwrap().unwrap();
        assert_eq!(
            (get(1).await.price, get(4).await.price, get(10).await.price),
            (Some(11), Some(30), Some(11))
        );
        assert_eq!(
            (get(2).await.price, get(3).await.price, get(5).await.price),
            (None, None, None)
        );
        let lines = async |id: i32| {
            let lines = get(id).await.lines.into_iter();
            lines.map(|line| (line.name, line.price)).collect::<Vec<_>>()
        };
        let line = |name: &str, price| (name.to_owned(), price);
        let of_first = [
            line("new", Some(11)),
            line("article 3", Some(30)),
            line("new", Some(11)),
            line("article 2", None),
        ];
        assert_eq!(lines(1).await, of_first);
        assert_eq!(lines(3).await, [line("article 3", Some(30))]);
        assert_eq!(lines(5).await, [line("", None)], "the article is gone");
        // A snapshot that was taken with the order stays.
        assert_eq!(get(6).await.price, Some(10));
        assert_eq!(lines(6).await, [line("article 1", Some(10))]);
        // Nothing else of the document is written but its pending work: a sum is derived of it.
        let mut after = stored(&t, 10).await;
        assert_eq!(after.remove("price"), Some(Bson::Int64(11)));
        after.remove("_odm");
        let mut before = before;
        before.remove("_odm");
        assert_eq!(after, before);
        let spent = async |id: i32| {
            let customers = odm.collection::<now::Customer>();
            customers.get(id).await.unwrap().unwrap().spent
        };
        assert_eq!((spent(1).await, spent(2).await), (11 + 30 + 10, 1_100 * 11));
        assert_clean(&odm).await;
        // A line whose product has no price is looked at again, and the rest is not.
        t.commands.clear();
        let again = odm.backfill().snapshots().await.unwrap();
        assert_eq!(again.documents, 0);
        // The declarations; and for either reference the documents that still lack one, and their articles.
        assert_eq!(t.commands.take(), ["find"; 5]);
        odm.collection::<now::Article>()
            .update(2)
            .set(|a| a.price, Some(20))
            .await
            .unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams::new(&mut out, &mut err);
        let line = ["manage", "backfill", "--snapshots", "--json"];
        let code = run_with(odm.clone(), line, &mut streams).await;
        let out: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((code, &out["documents"]), (0, &2.into()), "{out}");
        assert_eq!(get(2).await.price, Some(20));
        assert_eq!(spent(1).await, 11 + 30 + 10 + 20);
        assert_clean(&odm).await;
    });
}

/// A backfill of snapshots by another process, until it is about to send this of its commands.
async fn until(t: &TestDb, command: usize) -> Stopped<odm::Result<Backfilled>> {
    let process = Process::new(t).await;
    let odm = Odm::new(process.db.clone(), models()).unwrap();
    odm.server().await.unwrap();
    let backfilling = async move { odm.backfill().snapshots().await };
    let stopped = process.until(command, backfilling).await;
    stopped.unwrap_or_else(|done| panic!("it has ended: {done:?}"))
}

/// A reference that is set anew before the backfill writes has the price of then.
#[odm_tests::test]
fn a_snapshot_that_others_take_meanwhile_stays() {
    with_db(async |t| {
        ordered(&t).await;
        let odm = synced(&t).await;
        // The declarations, the documents, their articles: it is about to write.
        let stopped = until(&t, 3).await;
        let orders = odm.collection::<now::Order>();
        orders
            .update(4)
            .set(|o| o.article, Some(Ref::new(1)))
            .await
            .unwrap();
        orders
            .update(11)
            .set(|o| o.article, Some(Ref::new(3)))
            .await
            .unwrap();
        orders.update(12).set(|o| o.article, None).await.unwrap();
        let articles = odm.collection::<now::Article>();
        articles.update(1).set(|a| a.price, Some(12)).await.unwrap();
        let filled = stopped.go_on().await.unwrap().unwrap();
        let get = async |id: i32| orders.get(id).await.unwrap().unwrap().price;
        assert_eq!(
            (get(4).await, get(11).await, get(12).await),
            (Some(11), Some(30), None)
        );
        assert_eq!(get(10).await, Some(11), "as it was read");
        assert_eq!(get(1_109).await, Some(12), "of a later batch");
        assert!(filled.documents >= 1_099, "{filled:?}");
        assert_eq!(lacking(&t).await, 0);
        assert_clean(&odm).await;
    });
}

/// The next one takes the rest, and a recovery applies the pending work of the first batch.
#[odm_tests::test]
fn a_backfill_of_snapshots_that_died_is_made_again() {
    with_db(async |t| {
        ordered(&t).await;
        let odm = synced(&t).await;
        // Its first batch is written, and the fields that are derived of it are still pending.
        let stopped = until(&t, 4).await;
        stopped.dies().await;
        let left = lacking(&t).await;
        assert!((1..1_101).contains(&left), "{left}");
        assert!(odm.recover().await.unwrap().documents > 0);
        assert_clean(&odm).await;
        let filled = odm.backfill().snapshots().await.unwrap();
        assert!(filled.documents < 1_000, "{filled:?}");
        assert_eq!(lacking(&t).await, 0);
        assert_clean(&odm).await;
    });
}

//! What copies cost: the table of the book, measured. Each write of each kind of copy is done once, its commands are counted
//! as they are sent, and the documents that they write as the server counts them.

use odm::mongodb::event::{EventHandler, command::CommandEvent};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use std::sync::{Arc, Mutex};

/// The page with the table.
const PAGE: &str = include_str!("../../../book/src/copy-costs.md");

/// The commands that were sent, and how many documents the server says it has written for them.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<(Vec<String>, i64)>>);

impl Sent {
    fn take(&self) -> (Vec<String>, i64) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }

    fn handler(&self) -> EventHandler<CommandEvent> {
        let sent = self.0.clone();
        EventHandler::callback(move |event| {
            let mut sent = sent.lock().unwrap_or_else(|e| e.into_inner());
            match event {
                CommandEvent::Started(started)
                    if !["endSessions", "hello", "isMaster"].contains(&started.command_name.as_str()) =>
                {
                    sent.0
                        .push(started.command_name.replace("commitTransaction", "commit"));
                }
                CommandEvent::Succeeded(done) => {
                    let number = |name: &str| match done.reply.get(name) {
                        Some(odm::bson::Bson::Int32(n)) => i64::from(*n),
                        Some(odm::bson::Bson::Int64(n)) => *n,
                        _ => 0,
                    };
                    sent.1 += match done.command_name.as_str() {
                        "insert" | "delete" => number("n"),
                        "update" => {
                            let upserted = done.reply.get_array("upserted").map_or(0, Vec::len);
                            number("nModified") + upserted as i64
                        }
                        _ => 0,
                    };
                }
                CommandEvent::Failed(_) => {}
                _ => {}
            }
        })
    }
}

mod field {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "hosts")]
    pub struct Host {
        #[serde(rename = "_id")]
        pub id: i64,
        pub ipaddr: String,
        pub note: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "messages")]
    pub struct Message {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference(on_delete = cascade)]
        pub host: Ref<Host>,
        #[denormalize(from = host.ipaddr)]
        pub ipaddr: String,
        pub text: String,
    }

    pub fn message(id: i64, host: i64) -> NewMessage {
        NewMessage {
            id,
            host: Ref::new(host),
            text: String::new(),
        }
    }
}

mod entries {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
        #[volatile]
        pub quantity: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference(many, max = 100, on_delete = pull)]
        #[denormalize(from = Part, fields(name: String))]
        pub parts: Vec<PartEntry>,
    }

    pub fn product(id: i64, parts: impl IntoIterator<Item = i64>) -> NewProduct {
        NewProduct {
            id,
            parts: parts.into_iter().map(Ref::new).collect(),
        }
    }
}

mod snapshot {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        #[serde(rename = "_id")]
        pub id: i64,
        pub price: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "sales")]
    pub struct Sale {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference]
        pub article: Ref<Article>,
        #[denormalize(from = article.price, sync = snapshot)]
        pub price: i64,
        pub note: String,
    }

    pub fn sale(id: i64, article: i64) -> NewSale {
        NewSale {
            id,
            article: Ref::new(article),
            note: String::new(),
        }
    }
}

mod subset {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "films")]
    pub struct Film {
        #[serde(rename = "_id")]
        pub id: i64,
        pub title: String,
        #[subset(of = Review, limit = 3, order(-day), fields(day: i64, text: String))]
        pub newest: Vec<ReviewEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "reviews")]
    pub struct Review {
        #[serde(rename = "_id")]
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub film: Ref<Film>,
        pub day: i64,
        pub text: String,
        pub stars: i32,
    }

    pub fn review(id: i64, film: i64) -> Review {
        Review {
            id,
            film: Ref::new(film),
            day: id,
            text: String::new(),
            stars: 3,
        }
    }
}

mod computed {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "shops")]
    pub struct Shop {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
        #[computed(count = Rating)]
        pub ratings: i64,
        #[computed(avg = Rating.stars)]
        pub stars: Average,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "ratings")]
    pub struct Rating {
        #[serde(rename = "_id")]
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub shop: Ref<Shop>,
        pub stars: i32,
        pub text: String,
    }

    pub fn rating(id: i64, shop: i64) -> Rating {
        Rating {
            id,
            shop: Ref::new(shop),
            stars: 3,
            text: String::new(),
        }
    }
}

fn models() -> Vec<odm::Model> {
    use {computed::*, entries::*, field::*, snapshot::*, subset::*};
    models![
        Host, Message, Part, Product, Article, Sale, Film, Review, Shop, Rating
    ]
    .to_vec()
}

/// What one deployment measures: kind, write, commands, documents.
type Row = (&'static str, &'static str, Vec<String>, i64);

async fn measure(t: &TestDb, alone: bool) -> Vec<Row> {
    let sent = Sent::default();
    let mut options = odm::mongodb::options::ClientOptions::parse(odm_tests::uri())
        .await
        .unwrap();
    options.command_event_handler = Some(sent.handler());
    let client = odm::mongodb::Client::with_options(options).unwrap();
    t.db.drop().await.unwrap();
    let mut odm = Odm::new(client.database(t.db.name()), models()).unwrap();
    if alone {
        odm = odm.without_transactions();
    }
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    let mut rows = Vec::new();
    macro_rules! row {
        ($kind:literal, $write:literal, $work:expr) => {{
            sent.take();
            $work
                .await
                .unwrap_or_else(|error| panic!("{}, {}: {error}", $kind, $write));
            let (commands, documents) = sent.take();
            rows.push(($kind, $write, commands, documents));
        }};
    }

    use field::{Host, Message, message};
    let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<Message>());
    let host = |id| Host {
        id,
        ipaddr: String::new(),
        note: String::new(),
    };
    row!("field", "insert a source", hosts.insert(host(1)));
    hosts.insert_many([host(2), host(3)]).await.unwrap();
    row!("field", "insert a holder", messages.insert(message(1, 1)));
    row!("field", "`insert_many` of 10 holders of 2 sources", {
        messages.insert_many((10..20).map(|id| message(id, 1 + id % 2)))
    });
    row!(
        "field",
        "change another field of the source",
        hosts.update(1).set(|h| h.note, "x")
    );
    row!(
        "field",
        "change the source of no holder",
        hosts.update(3).set(|h| h.ipaddr, "x")
    );
    row!(
        "field",
        "change the source of 6 holders",
        hosts.update(1).set(|h| h.ipaddr, "x")
    );
    row!("field", "`update_where` of 2 sources of 11 holders", {
        hosts.update_where(|h| h.id.lte(2)).set(|h| h.ipaddr, "y")
    });
    row!(
        "field",
        "replace the source of 6 holders",
        hosts.replace(Host {
            ipaddr: "z".into(),
            ..host(1)
        })
    );
    row!(
        "field",
        "change another field of a holder",
        messages.update(1).set(|m| m.text, "x")
    );
    row!(
        "field",
        "set the reference of a holder",
        messages.update(1).set(|m| m.host, Ref::new(2))
    );
    let whole = messages.get(1).await.unwrap().unwrap();
    row!("field", "replace a holder", messages.replace(whole));
    row!("field", "delete a holder", messages.delete(1));
    row!(
        "field",
        "delete the source of 5 holders, `cascade`",
        hosts.delete(1)
    );

    use entries::{Part, Product, product};
    let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
    let part = |id| Part {
        id,
        name: String::new(),
        quantity: 0,
    };
    parts.insert_many((1..=4).map(part)).await.unwrap();
    row!(
        "entries",
        "insert a holder of 3 entries",
        products.insert(product(1, [1, 2, 3]))
    );
    row!("entries", "`insert_many` of 10 holders", {
        products.insert_many((10..20).map(|id| product(id, [1, 2])))
    });
    row!(
        "entries",
        "change a `volatile` field of the source",
        parts.update(1).inc(|p| p.quantity, 1)
    );
    row!(
        "entries",
        "change the source of 11 holders",
        parts.update(1).set(|p| p.name, "x")
    );
    row!(
        "entries",
        "push an entry",
        products.update(1).push(|p| p.parts, Ref::new(4))
    );
    row!(
        "entries",
        "pull an entry",
        products.update(1).pull(|p| p.parts, Ref::new(4))
    );
    let whole = products.get(1).await.unwrap().unwrap();
    row!("entries", "replace a holder", products.replace(whole));
    row!("entries", "delete a holder", products.delete(1));
    row!(
        "entries",
        "delete the source of 10 holders, `pull`",
        parts.delete(2)
    );

    use snapshot::{Article, Sale, sale};
    let (articles, sales) = (odm.collection::<Article>(), odm.collection::<Sale>());
    articles
        .insert_many([1, 2].map(|id| Article { id, price: 5 }))
        .await
        .unwrap();
    row!("snapshot", "insert a holder", sales.insert(sale(1, 1)));
    row!(
        "snapshot",
        "change the source",
        articles.update(1).set(|a| a.price, 6)
    );
    row!(
        "snapshot",
        "set the reference of a holder",
        sales.update(1).set(|s| s.article, Ref::new(2))
    );
    let whole = sales.get(1).await.unwrap().unwrap();
    row!("snapshot", "replace a holder", sales.replace(whole));

    use subset::{Film, NewFilm, Review, review};
    let (films, reviews) = (odm.collection::<Film>(), odm.collection::<Review>());
    row!(
        "subset",
        "insert a parent",
        films.insert(NewFilm {
            id: 1,
            title: String::new()
        })
    );
    films
        .insert(NewFilm {
            id: 2,
            title: String::new(),
        })
        .await
        .unwrap();
    row!("subset", "insert a child", reviews.insert(review(1, 1)));
    row!("subset", "`insert_many` of 10 children of 2 parents", {
        reviews.insert_many((10..20).map(|id| review(id, 1 + id % 2)))
    });
    row!(
        "subset",
        "change another field of a child",
        reviews.update(1).set(|r| r.stars, 5)
    );
    row!(
        "subset",
        "change a field of the subset",
        reviews.update(18).set(|r| r.text, "x")
    );
    row!(
        "subset",
        "change the order key",
        reviews.update(18).set(|r| r.day, 0)
    );
    row!(
        "subset",
        "move a child to another parent",
        reviews.update(18).set(|r| r.film, Ref::new(2))
    );
    let whole = reviews.get(18).await.unwrap().unwrap();
    row!("subset", "replace a child", reviews.replace(whole));
    row!(
        "subset",
        "change another field of the parent",
        films.update(1).set(|f| f.title, "x")
    );
    row!("subset", "delete a child", reviews.delete(18));
    row!(
        "subset",
        "`delete_where` of 2 children",
        reviews.delete_where(|r| r.id.in_([16, 17]))
    );
    row!(
        "subset",
        "delete a parent of 4 children, `cascade`",
        films.delete(2)
    );

    use computed::{NewShop, Rating, Shop, rating};
    let (shops, ratings) = (odm.collection::<Shop>(), odm.collection::<Rating>());
    row!(
        "computed",
        "insert a parent",
        shops.insert(NewShop {
            id: 1,
            name: String::new()
        })
    );
    shops
        .insert(NewShop {
            id: 2,
            name: String::new(),
        })
        .await
        .unwrap();
    row!("computed", "insert a child", ratings.insert(rating(1, 1)));
    row!("computed", "`insert_many` of 10 children of 2 parents", {
        ratings.insert_many((10..20).map(|id| rating(id, 1 + id % 2)))
    });
    row!(
        "computed",
        "change another field of a child",
        ratings.update(1).set(|r| r.text, "x")
    );
    row!(
        "computed",
        "change the field that is summed",
        ratings.update(1).inc(|r| r.stars, 1)
    );
    row!("computed", "`update_where` of 5 children", {
        ratings
            .update_where(|r| r.shop.eq(Ref::new(2)))
            .set(|r| r.stars, 1)
    });
    row!(
        "computed",
        "move a child to another parent",
        ratings.update(1).set(|r| r.shop, Ref::new(2))
    );
    row!("computed", "delete a child", ratings.delete(1));
    row!(
        "computed",
        "delete a parent of 5 children, `cascade`",
        shops.delete(2)
    );

    odm.recover().await.unwrap();
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{audit}");
    rows
}

/// `find`, `find`, `update` as `2 find, update`.
fn in_short(commands: &[String]) -> String {
    let runs = commands.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].clone(),
        n => format!("{n} {}", run[0]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_the_book_says_what_copies_cost() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        if !odm.server().await.unwrap().has_transactions() {
            // Half of the table can't be measured here.
            assert!(PAGE.contains("| without |"));
            return;
        }
        let with = measure(&t, false).await;
        let without = measure(&t, true).await;
        let mut table = vec![
            "| copy | write | with transactions | documents | without | documents |".to_owned(),
            "| --- | --- | --- | --- | --- | --- |".to_owned(),
        ];
        for ((kind, write, commands, documents), (_, _, alone, written)) in with.iter().zip(&without) {
            table.push(format!(
                "| {kind} | {write} | {}: {} | {documents} | {}: {} | {written} |",
                commands.len(),
                in_short(commands),
                alone.len(),
                in_short(alone),
            ));
        }
        let printed: Vec<&str> = PAGE.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(with.len(), without.len());
        assert!(
            printed == table,
            "book/src/copy-costs.md says something else than what was measured, which is:\n\n{}\n",
            table.join("\n")
        );
    });
}

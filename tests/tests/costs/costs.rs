//! What copies cost: the table of the book, measured. Each write of each kind of copy is done once, its commands are counted
//! as they are sent, and the documents that they write as the server counts them.

use odm::__private::SwitchBulk as _;
use odm::mongodb::event::{EventHandler, command::CommandEvent};
use odm::prelude::*;
use odm::write::Tree;
use odm_tests::round_trips::RoundTrips;
use odm_tests::{TestDb, assert_clean, with_db};
use std::sync::{Arc, Mutex};

/// The page with the commands of each write, and the one of the guide with their number.
const PAGE: &str = include_str!("../../../docs/copy-costs.md");
const GUIDE: &str = include_str!("../../../book/src/cost.md");

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
                        "findAndModify" => {
                            let last = done.reply.get_document("lastErrorObject").ok();
                            // A deletion says only their number.
                            let number =
                                |last: &odm::bson::Document| i64::from(last.get_i32("n").unwrap_or(0));
                            last.map_or(0, |last| match last.get_bool("updatedExisting") {
                                Ok(is_updated) => i64::from(is_updated),
                                Err(_) => number(last),
                            })
                        }
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

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "hosts")]
    pub struct Host {
        pub id: i64,
        pub ipaddr: String,
        pub note: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "messages")]
    pub struct Message {
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

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        pub id: i64,
        pub name: String,
        #[volatile]
        pub quantity: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
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

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i64,
        pub price: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "sales")]
    pub struct Sale {
        pub id: i64,
        #[reference]
        pub article: Ref<Article>,
        #[denormalize(from = article.price, consistency = snapshot)]
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

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "films")]
    pub struct Film {
        pub id: i64,
        pub title: String,
        #[subset(of = Review, limit = 3, order(-day), fields(day: i64, text: String))]
        pub newest: Vec<ReviewEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "reviews")]
    pub struct Review {
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

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "shops")]
    pub struct Shop {
        pub id: i64,
        pub name: String,
        #[computed(count = Rating)]
        pub ratings: i64,
        #[computed(avg = Rating.stars)]
        pub stars: Average,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "ratings")]
    pub struct Rating {
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

mod least {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "auctions")]
    pub struct Auction {
        pub id: i64,
        #[computed(min = Bid.cents)]
        pub least: Option<i64>,
        #[computed(max = Bid.cents)]
        pub greatest: Option<i64>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "bids")]
    pub struct Bid {
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub auction: Ref<Auction>,
        pub cents: i64,
        pub text: String,
    }

    pub fn bid(id: i64, auction: i64) -> Bid {
        Bid {
            id,
            auction: Ref::new(auction),
            cents: 100 * id,
            text: String::new(),
        }
    }
}

mod sum {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "baskets")]
    pub struct Basket {
        pub id: i64,
        #[computed(sum = Ware.cents)]
        pub cents: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "wares")]
    pub struct Ware {
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub basket: Ref<Basket>,
        pub cents: i64,
        pub text: String,
    }

    pub fn ware(id: i64, basket: i64) -> Ware {
        Ware {
            id,
            basket: Ref::new(basket),
            cents: 100 * id,
            text: String::new(),
        }
    }
}

mod bucket {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "posts")]
    pub struct Post {
        pub id: i64,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[bucket(of = Post, size = 5, sum(stars))]
    pub struct Comment {
        pub n: i64,
        pub stars: i32,
        pub text: String,
    }

    pub fn comment(n: i64) -> Comment {
        Comment {
            n,
            stars: 3,
            text: String::new(),
        }
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "walls")]
    pub struct Wall {
        pub id: i64,
        #[computed(sum = NoteBucket.count)]
        pub notes: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "writers")]
    pub struct Writer {
        pub id: i64,
        pub name: String,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[bucket(of = Wall, size = 5)]
    pub struct Note {
        pub n: i64,
        #[reference]
        pub by: Option<Ref<Writer>>,
        #[denormalize(from = by.name)]
        pub by_name: Option<String>,
    }

    pub fn note(n: i64, by: Option<i64>) -> Note {
        Note {
            n,
            by: by.map(Ref::new),
            by_name: None,
        }
    }
}

mod extended {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "customers")]
    pub struct Customer {
        pub id: i64,
        pub name: String,
        pub city: String,
        pub note: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        pub id: i64,
        #[reference(on_delete = nullify)]
        #[denormalize(from = Customer, fields(name: String, city: String))]
        pub customer: Option<CustomerEntry>,
        pub note: String,
    }

    pub fn order(id: i64, customer: i64) -> NewOrder {
        NewOrder {
            id,
            customer: Some(Ref::new(customer)),
            note: String::new(),
        }
    }
}

mod chain {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "regions")]
    pub struct Region {
        pub id: i64,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "cities")]
    pub struct City {
        pub id: i64,
        #[reference(on_delete = cascade)]
        pub region: Ref<Region>,
        #[denormalize(from = region.name)]
        pub region_name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "streets")]
    pub struct Street {
        pub id: i64,
        #[reference(on_delete = cascade)]
        pub city: Ref<City>,
        #[denormalize(from = city.region_name)]
        pub region_name: String,
    }

    pub fn city(id: i64, region: i64) -> NewCity {
        NewCity {
            id,
            region: Ref::new(region),
        }
    }

    pub fn street(id: i64, city: i64) -> NewStreet {
        NewStreet {
            id,
            city: Ref::new(city),
        }
    }
}

mod two_way {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        pub id: i64,
        pub name: String,
        #[reference(many, inverse = owner, max = 100)]
        pub tasks: Vec<Ref<Task>>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tasks")]
    pub struct Task {
        pub id: i64,
        pub text: String,
        #[reference(inverse = tasks)]
        pub owner: Option<Ref<Person>>,
    }

    pub fn task(id: i64, owner: Option<i64>) -> Task {
        Task {
            id,
            text: String::new(),
            owner: owner.map(Ref::new),
        }
    }
}

mod tree {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "recipes")]
    pub struct Recipe {
        pub id: i64,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "steps")]
    pub struct Step {
        pub id: i64,
        #[parent_ref]
        pub recipe: Ref<Recipe>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "labels")]
    pub struct Label {
        pub id: i64,
        #[parent_ref]
        pub recipe: Ref<Recipe>,
        #[denormalize(from = recipe.name)]
        pub recipe_name: String,
    }

    pub fn recipe(id: i64) -> Recipe {
        Recipe {
            id,
            name: String::new(),
        }
    }
}

mod keyed {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "accounts", shard_key(tenant, id))]
    pub struct Account {
        pub id: i64,
        pub tenant: i64,
        #[index(unique(global))]
        pub email: String,
        pub note: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "cards", shard_key(tenant, id))]
    pub struct Card {
        pub id: i64,
        pub tenant: i64,
        #[reference(same(tenant))]
        pub account: Ref<Account>,
        pub note: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "papers", shard_key(tenant, id))]
    pub struct Paper {
        pub id: i64,
        pub tenant: i64,
    }

    pub fn account(id: i64) -> Account {
        Account {
            id,
            tenant: 1,
            email: format!("{id}@x"),
            note: String::new(),
        }
    }

    pub fn card(id: i64, account: i64) -> Card {
        Card {
            id,
            tenant: 1,
            account: Ref::new(account),
            note: String::new(),
        }
    }
}

fn models() -> Vec<odm::Model> {
    use {bucket::*, chain::*, computed::*, entries::*, extended::*, field::*, least::*};
    use {snapshot::*, subset::*, sum::*, tree::*, two_way::*};
    models![
        Host,
        Message,
        Part,
        Product,
        Article,
        Sale,
        Film,
        Review,
        Shop,
        Rating,
        Basket,
        Ware,
        Auction,
        Bid,
        Post,
        CommentBucket,
        Wall,
        Writer,
        NoteBucket,
        Customer,
        Order,
        Region,
        City,
        Street,
        Person,
        Task,
        Recipe,
        Step,
        Label
    ]
    .to_vec()
}

/// Inserts of a document with others: a standalone server has no row of these.
const TREES: [&str; 5] = [
    "10 that refer to it",
    "10 that copy a field of it",
    "10 that it counts",
    "10 that are linked with it",
    "10 that copy a field of it, each with one that copies it from there",
];

/// What there is no row of on a standalone server.
const IN_TRANSACTIONS: [&str; 3] = [
    "change a source, insert a holder of it",
    "insert 2 children of a subset, one after the other",
    "insert what is linked, link it with another one",
];

/// Operations on values that are unique over all shards, which need transactions as well, and on documents with a shard key.
const CLAIMED: [&str; 9] = [
    "insert",
    "`insert_many` of 10",
    "change the value",
    "`update_where` of 2, which changes another field",
    "change another field",
    "replace, with another value",
    "`get_by` the value",
    "delete",
    "`delete_where` of 2",
];
const KEYED: [&str; 6] = [
    "`get` by the id, `.at(…)` the key",
    "change a field by the id, `.at(…)` the key",
    "insert what refers to one by `same`",
    "delete by the id, `.at(…)` the key",
    "`move_to` of what nothing refers to",
    "`move_to` of what others may refer to by `same`, with a value that is unique over all shards",
];

/// The measurements of one deployment: kind, write, commands, documents.
type Row = (&'static str, &'static str, Vec<String>, i64);

async fn measure(t: &TestDb, alone: bool) -> Vec<Row> {
    let sent = Sent::default();
    let mut options = odm_tests::options(alone).await;
    options.command_event_handler = Some(sent.handler());
    let client = odm::mongodb::Client::with_options(options).unwrap();
    t.db.drop().await.unwrap();
    let odm = Odm::new(client.database(t.db.name()), models()).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    let (mut rows, mut miscounted) = (Vec::new(), Vec::new());
    let (round_trips, _counting) = RoundTrips::counted();
    macro_rules! row {
        ($kind:literal, $write:expr, $work:expr) => {{
            sent.take();
            round_trips.take();
            $work
                .await
                .unwrap_or_else(|error| panic!("{}, {}: {error}", $kind, $write));
            let (commands, documents) = sent.take();
            let counted = round_trips.take();
            // The commit of the application's transaction is of none of its operations.
            let by_operations = |command: &&String| $kind != "transaction" || *command != "commit";
            if counted != commands.iter().filter(by_operations).count() as u64 {
                miscounted.push(format!("{}, {}: {counted} of {commands:?}", $kind, $write));
            }
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

    use sum::{Basket, Ware, ware};
    let (baskets, wares) = (odm.collection::<Basket>(), odm.collection::<Ware>());
    baskets
        .insert_many([1, 2].map(|id| sum::NewBasket { id }))
        .await
        .unwrap();
    row!("sum", "insert a child", wares.insert(ware(1, 1)));
    row!("sum", "`insert_many` of 10 children of 2 parents", {
        wares.insert_many((10..20).map(|id| ware(id, 1 + id % 2)))
    });
    row!(
        "sum",
        "change another field of a child",
        wares.update(1).set(|w| w.text, "x")
    );
    row!(
        "sum",
        "change the field that is summed",
        wares.update(1).inc(|w| w.cents, 1)
    );
    row!("sum", "`update_where` of 5 children", {
        wares
            .update_where(|w| w.basket.eq(Ref::new(2)))
            .set(|w| w.cents, 1)
    });
    row!("sum", "delete a child", wares.delete(1));

    use least::{Auction, Bid, bid};
    let (auctions, bids) = (odm.collection::<Auction>(), odm.collection::<Bid>());
    auctions
        .insert_many([1, 2].map(|id| least::NewAuction { id }))
        .await
        .unwrap();
    row!("min, max", "insert a child", bids.insert(bid(5, 1)));
    row!("min, max", "`insert_many` of 10 children of 2 parents", {
        bids.insert_many((10..20).map(|id| bid(id, 1 + id % 2)))
    });
    row!(
        "min, max",
        "change another field of a child",
        bids.update(5).set(|b| b.text, "x")
    );
    row!(
        "min, max",
        "make a child the greatest",
        bids.update(10).set(|b| b.cents, 9_000)
    );
    row!(
        "min, max",
        "make the greatest a lesser one",
        bids.update(10).set(|b| b.cents, 1_000)
    );
    row!("min, max", "`update_where` of 5 children", {
        bids.update_where(|b| b.auction.eq(Ref::new(2)))
            .inc(|b| b.cents, 1)
    });
    row!("min, max", "delete a child in the middle", bids.delete(12));
    row!("min, max", "delete the least child", bids.delete(5));

    use bucket::{Comment, Note, Post, Wall, Writer, comment, note};
    let posts = odm.collection::<Post>();
    posts.insert(bucket::NewPost { id: 1 }).await.unwrap();
    let comments = odm.buckets::<Comment>();
    row!("bucket", "push the first item", comments.push(1, comment(1)));
    row!(
        "bucket",
        "push onto the newest page",
        comments.push(1, comment(2))
    );
    row!("bucket", "`push_many` of 3 that it takes", {
        comments.push_many(1, (3..6).map(comment))
    });
    row!("bucket", "`push_many` of 10 onto a full one", {
        comments.push_many(1, (6..16).map(comment))
    });
    row!(
        "bucket",
        "edit an item",
        comments.edit(1, |c| c.n.eq(2), |c| c.set(|c| c.text, "x"))
    );
    row!(
        "bucket",
        "edit what is summed, of an item",
        comments.edit(1, |c| c.n.eq(2), |c| c.set(|c| c.stars, 5))
    );
    row!(
        "bucket",
        "edit what is summed, of 15 items in 3 pages",
        comments.edit(1, |c| c.n.gt(0), |c| c.inc(|c| c.stars, 1))
    );
    row!("bucket", "delete an item", comments.delete(1, |c| c.n.eq(2)));
    row!("bucket", "delete the parent of 3 pages, `cascade`", {
        posts.delete(1)
    });
    let (walls, writers) = (odm.collection::<Wall>(), odm.collection::<Writer>());
    walls.insert(bucket::NewWall { id: 1 }).await.unwrap();
    let writer = |id| Writer {
        id,
        name: String::new(),
    };
    writers.insert_many([1, 2].map(writer)).await.unwrap();
    let notes = odm.buckets::<Note>();
    row!(
        "counted bucket",
        "push the first item",
        notes.push(1, note(1, None))
    );
    row!(
        "counted bucket",
        "push onto the newest page",
        notes.push(1, note(2, None))
    );
    row!(
        "counted bucket",
        "push an item with a copy",
        notes.push(1, note(3, Some(1)))
    );
    row!(
        "counted bucket",
        "set the reference of an item",
        notes.edit(1, |n| n.n.eq(3), |n| n.set(|n| n.by, Ref::new(2)))
    );
    row!(
        "counted bucket",
        "change the source of an item",
        writers.update(2).set(|w| w.name, "x")
    );
    row!("counted bucket", "delete an item", notes.delete(1, |n| n.n.eq(2)));

    use extended::{Customer, Order, order};
    let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
    let customer = |id| Customer {
        id,
        name: String::new(),
        city: String::new(),
        note: String::new(),
    };
    customers.insert_many([1, 2].map(customer)).await.unwrap();
    row!("extended", "insert a holder", orders.insert(order(1, 1)));
    row!("extended", "`insert_many` of 10 holders of 2 sources", {
        orders.insert_many((10..20).map(|id| order(id, 1 + id % 2)))
    });
    row!(
        "extended",
        "change another field of the source",
        customers.update(1).set(|c| c.note, "x")
    );
    row!(
        "extended",
        "change the source of 6 holders",
        customers.update(1).set(|c| c.name, "x").set(|c| c.city, "x")
    );
    row!("extended", "`update_where` of 2 sources of 11 holders", {
        customers.update_where(|c| c.id.lte(2)).set(|c| c.name, "y")
    });
    row!(
        "extended",
        "upsert the source of 6 holders",
        customers
            .update(1)
            .set(|c| c.name, "z")
            .set_on_insert(|c| c.city, "z")
            .set_on_insert(|c| c.note, "z")
            .upsert()
    );
    row!("extended", "upsert a new source", {
        customers
            .update(3)
            .set(|c| c.name, "z")
            .set(|c| c.city, "z")
            .set(|c| c.note, "z")
            .upsert()
    });
    row!("extended", "upsert a new holder", {
        orders
            .update(2)
            .set(|o| o.note, "")
            .set(|o| o.customer, Ref::new(2))
            .upsert()
    });
    row!(
        "extended",
        "change another field of a holder",
        orders.update(1).set(|o| o.note, "x")
    );
    row!(
        "extended",
        "set the reference of a holder",
        orders.update(1).set(|o| o.customer, Ref::new(2))
    );
    row!(
        "extended",
        "unset the reference of a holder",
        orders.update(1).unset(|o| o.customer)
    );
    let whole = orders.get(10).await.unwrap().unwrap();
    row!("extended", "replace a holder", orders.replace(whole));
    row!(
        "extended",
        "replace the source of 5 holders",
        customers.replace(customer(1))
    );
    row!("extended", "delete a holder", orders.delete(10));
    row!(
        "extended",
        "delete the source of 4 holders, `nullify`",
        customers.delete(1)
    );

    use chain::{City, NewCity, NewStreet, Region, Street, city, street};
    let (regions, cities) = (odm.collection::<Region>(), odm.collection::<City>());
    let streets = odm.collection::<Street>();
    let region = |id| Region {
        id,
        name: String::new(),
    };
    regions.insert_many([1, 2].map(region)).await.unwrap();
    row!("chain", "insert in the middle", cities.insert(city(1, 1)));
    cities.insert_many([city(2, 1), city(3, 2)]).await.unwrap();
    row!("chain", "insert at the end", streets.insert(street(1, 1)));
    row!("chain", "`insert_many` of 9 at the end of 3", {
        streets.insert_many((10..19).map(|id| street(id, 1 + id % 3)))
    });
    row!(
        "chain",
        "change the beginning, of 2 and 7 behind them",
        regions.update(1).set(|r| r.name, "x")
    );
    row!("chain", "`update_where` of 2 beginnings, of 3 and 10", {
        regions.update_where(|r| r.id.lte(2)).set(|r| r.name, "y")
    });
    row!(
        "chain",
        "move in the middle, with 4 behind it",
        cities.update(1).set(|c| c.region, Ref::new(2))
    );
    row!(
        "chain",
        "move at the end",
        streets.update(1).set(|s| s.city, Ref::new(2))
    );
    row!("chain", "delete at the end", streets.delete(1));
    row!(
        "chain",
        "delete the beginning, of 1 and 3 behind it, `cascade`",
        regions.delete(1)
    );

    use two_way::{Person, Task, task};
    let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
    let person = |id: i64| Person {
        id,
        name: String::new(),
        tasks: vec![],
    };
    people.insert_many([1, 2, 3].map(person)).await.unwrap();
    row!("two-way", "insert, linked", tasks.insert(task(1, Some(1))));
    row!("two-way", "insert, not linked", tasks.insert(task(2, None)));
    row!("two-way", "`insert_many` of 10, linked with 2", {
        tasks.insert_many((10..20).map(|id| task(id, Some(1 + id % 2))))
    });
    row!("two-way", "insert the other side, linked with 2", {
        people.insert(Person {
            tasks: vec![Ref::new(2), Ref::new(10)],
            ..person(4)
        })
    });
    row!(
        "two-way",
        "change another field",
        tasks.update(1).set(|t| t.text, "x")
    );
    row!(
        "two-way",
        "link with another one",
        tasks.update(1).set(|t| t.owner, Ref::new(2))
    );
    row!("two-way", "unlink", tasks.update(1).unset(|t| t.owner));
    row!(
        "two-way",
        "push on the other side",
        people.update(3).push(|p| p.tasks, Ref::new(1))
    );
    row!(
        "two-way",
        "push what another one has",
        people.update(3).push(|p| p.tasks, Ref::new(11))
    );
    row!(
        "two-way",
        "pull on the other side",
        people.update(3).pull(|p| p.tasks, Ref::new(11))
    );
    row!("two-way", "`update_where`, 4 linked with another one", {
        tasks
            .update_where(|t| t.id.in_([12, 13, 14, 15]))
            .set(|t| t.owner, Ref::new(3))
    });
    row!("two-way", "delete, linked", tasks.delete(12));
    row!("two-way", "delete what is linked with 4", people.delete(3));

    row!("upsert", "a new holder of a field's copy", {
        messages
            .update(100)
            .set(|m| m.text, "")
            .set(|m| m.host, Ref::new(2))
            .upsert()
    });
    row!(
        "upsert",
        "the source of 6 holders of a field's copy",
        hosts
            .update(2)
            .set(|h| h.ipaddr, "upsert")
            .set_on_insert(|h| h.note, "")
            .upsert()
    );
    row!("upsert", "a new child of a subset", {
        reviews
            .update(100)
            .set(|r| r.film, Ref::new(1))
            .set(|r| r.day, 100)
            .set(|r| r.text, "")
            .set(|r| r.stars, 1)
            .upsert()
    });
    row!("upsert", "a child that is counted", {
        ratings
            .update(10)
            .set(|r| r.stars, 5)
            .set_on_insert(|r| r.shop, Ref::new(1))
            .set_on_insert(|r| r.text, "")
            .upsert()
    });
    row!("bulk", "2 holders, their source, and another one", {
        odm.bulk()
            .without_bulk_write_command()
            .add(odm.collection().insert(message(200, 2)))
            .add(odm.collection().insert(message(201, 3)))
            .add(hosts.update(2).set(|h| h.ipaddr, "bulk"))
            .add(hosts.update(3).set(|h| h.note, "bulk"))
    });
    row!("bulk", "2 children of a subset, and 2 that are counted", {
        odm.bulk()
            .without_bulk_write_command()
            .add(odm.collection().insert(review(200, 1)))
            .add(odm.collection().insert(review(201, 1)))
            .add(odm.collection().insert(rating(200, 1)))
            .add(odm.collection().insert(rating(201, 1)))
    });
    row!("bulk", "2 that are linked", {
        odm.bulk()
            .without_bulk_write_command()
            .add(odm.collection().insert(task(200, Some(1))))
            .add(tasks.update(2).set(|t| t.owner, Ref::new(1)))
    });
    if alone {
        for write in IN_TRANSACTIONS {
            rows.push(("transaction", write, Vec::new(), 0));
        }
    } else {
        row!("transaction", IN_TRANSACTIONS[0], {
            odm.transaction(async |tx| {
                tx.collection::<Host>().update(2).set(|h| h.ipaddr, "tx").await?;
                tx.collection::<Message>().insert(message(300, 2)).await
            })
        });
        row!("transaction", IN_TRANSACTIONS[1], {
            odm.transaction(async |tx| {
                let reviews = tx.collection::<Review>();
                reviews.insert(review(300, 1)).await?;
                reviews.insert(review(301, 1)).await
            })
        });
        row!("transaction", IN_TRANSACTIONS[2], {
            odm.transaction(async |tx| {
                let tasks = tx.collection::<Task>();
                tasks.insert(task(300, Some(1))).await?;
                tasks.update(300).set(|t| t.owner, Ref::new(2)).await
            })
        });
    }

    use tree::{NewLabel, NewStep, Recipe, recipe};
    if alone {
        for write in TREES {
            rows.push(("tree", write, Vec::new(), 0));
        }
    } else {
        let recipes = odm.collection::<Recipe>();
        row!("tree", TREES[0], {
            recipes
                .insert(recipe(1))
                .with(|recipe| (1..=10).map(move |id| NewStep { id, recipe }))
        });
        row!("tree", TREES[1], {
            recipes
                .insert(recipe(2))
                .with(|recipe| (1..=10).map(move |id| NewLabel { id, recipe }))
        });
        row!("tree", TREES[2], {
            let shop = NewShop {
                id: 10,
                name: String::new(),
            };
            let ratings = |shop| {
                (400..410).map(move |id| Rating {
                    shop,
                    ..rating(id, 0)
                })
            };
            shops.insert(shop).with(ratings)
        });
        row!("tree", TREES[3], {
            let owned = |owner| {
                (400..410).map(move |id| Task {
                    owner: Some(owner),
                    ..task(id, None)
                })
            };
            people.insert(person(10)).with(owned)
        });
        row!("tree", TREES[4], {
            regions.insert_tree(Tree::new(region(10)).with_trees(|region| {
                (100..110).map(move |id| {
                    let city = Tree::<City>::new(NewCity { id, region });
                    city.with(move |city| [NewStreet { id, city }])
                })
            }))
        });
    }

    use keyed::{Account, Card, Paper, account, card};
    if alone {
        rows.extend(CLAIMED.map(|write| ("claim", write, Vec::new(), 0)));
        rows.extend(KEYED.map(|write| ("key", write, Vec::new(), 0)));
    } else {
        let keyed = Odm::new(odm.database().clone(), models![Account, Card, Paper]).unwrap();
        keyed.sync().await.unwrap();
        let (accounts, cards) = (keyed.collection::<Account>(), keyed.collection::<Card>());
        let papers = keyed.collection::<Paper>();
        accounts.insert(account(0)).await.unwrap();
        row!("claim", CLAIMED[0], accounts.insert(account(1)));
        row!("claim", CLAIMED[1], accounts.insert_many((10..20).map(account)));
        row!("claim", CLAIMED[2], accounts.update(1).set(|a| a.email, "x@x"));
        row!("claim", CLAIMED[3], {
            accounts.update_where(|a| a.id.lte(1)).set(|a| a.note, "x")
        });
        row!("claim", CLAIMED[4], accounts.update(1).set(|a| a.note, "y"));
        row!("claim", CLAIMED[5], accounts.replace(account(1)));
        row!("claim", CLAIMED[6], accounts.get_by(|a| a.email, "1@x"));
        row!("claim", CLAIMED[7], accounts.delete(10));
        row!("claim", CLAIMED[8], accounts.delete_where(|a| a.id.in_([11, 12])));

        cards.insert(card(0, 1)).await.unwrap();
        row!("key", KEYED[0], cards.get(0).at(|c| c.tenant, 1));
        row!("key", KEYED[1], {
            cards.update(0).at(|c| c.tenant, 1).set(|c| c.note, "x")
        });
        row!("key", KEYED[2], cards.insert(card(1, 1)));
        row!("key", KEYED[3], cards.delete(1).at(|c| c.tenant, 1));
        papers.insert(Paper { id: 1, tenant: 1 }).await.unwrap();
        row!(
            "key",
            KEYED[4],
            papers.update(1).at(|p| p.tenant, 1).move_to(|p| p.tenant, 2)
        );
        row!(
            "key",
            KEYED[5],
            accounts.update(13).at(|a| a.tenant, 1).move_to(|a| a.tenant, 2)
        );
        assert_clean(&keyed).await;
    }

    odm.recover().await.unwrap();
    assert_clean(&odm).await;
    assert!(
        miscounted.is_empty(),
        "spans report other numbers of round trips than were sent{}:\n{}",
        if alone { " on a standalone server" } else { "" },
        miscounted.join("\n")
    );
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

#[odm_tests::test]
fn the_cost_table_of_the_book_equals_the_measured_costs() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        let server = odm.server().await.unwrap();
        let by_one_query =
            server.has_lookup_with_pipeline() && server.topology() != odm::server::Topology::Sharded;
        if !server.has_transactions() || !by_one_query {
            // Half of the table can't be measured here, or the subsets of several parents are a query for each.
            odm_tests::skip("needs transactions and MongoDB 5.0, not sharded");
        }
        let with = measure(&t, false).await;
        let without = measure(&t, true).await;
        assert_eq!(with.len(), without.len());
        let rows: Vec<Measured> = with
            .iter()
            .zip(&without)
            .map(
                |((kind, write, commands, documents), (_, _, alone, written))| Measured {
                    kind,
                    write,
                    with: (commands.len(), in_short(commands), *documents),
                    alone: (!alone.is_empty()).then(|| (alone.len(), in_short(alone), *written)),
                },
            )
            .collect();
        for (kind, write, ..) in ABOVE {
            let is_measured = rows.iter().any(|row| (row.kind, row.write) == (*kind, *write));
            assert!(is_measured, "no write of {kind} is {write:?}");
        }
        let (tables, numbers) = (tables(&rows), numbers(&rows));
        let pages = [
            (
                "docs/copy-costs.md",
                PAGE,
                vec![("summary", summary(&rows)), ("tables", tables.clone())],
            ),
            ("book/src/cost.md", GUIDE, vec![("writes", numbers)]),
        ];
        for (name, shown, parts) in pages {
            let page = with_measured(shown, &parts);
            if std::env::var_os("ODM_WRITE_BOOK").is_some() {
                let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
                std::fs::write(std::path::Path::new(root).join(name), &page).unwrap();
            } else {
                assert!(
                    page == shown,
                    "{name} says something else than what was measured, which is:\n\n{tables}\n"
                );
            }
        }
    });
}

/// The measured costs of a write: round trips, commands and documents, with transactions and without.
struct Measured<'m> {
    kind: &'m str,
    write: &'m str,
    with: (usize, String, i64),
    alone: Option<(usize, String, i64)>,
}

/// The heading of a kind.
fn title(kind: &str) -> &str {
    match kind {
        "field" => "A copied field",
        "entries" => "Entries of an array of references",
        "snapshot" => "Snapshots",
        "subset" => "Subsets",
        "computed" => "Computed count and average",
        "sum" => "Computed sums",
        "min, max" => "Computed min and max",
        "bucket" => "Buckets",
        "counted bucket" => "Counted buckets with copies in their items",
        "extended" => "Extended references",
        "chain" => "Copies of copies",
        "two-way" => "Two-way references with copies",
        "upsert" => "Upserts",
        "bulk" => "Bulk writes",
        "transaction" => "Transactions of the application",
        "tree" => "A document inserted with its children",
        "claim" => "Values that are unique over all shards",
        "key" => "Documents with a shard key",
        _ => panic!("`{kind}` has no heading"),
    }
}

/// The writes that send more commands than their promise needs on a deployment with transactions: their kind, the write, the fewest
/// round trips, and the reasons, which the page lists.
const ABOVE: &[(&str, &str, usize, &str)] = &[
    ("field", "insert a holder", 3, "a"),
    ("field", "change the source of no holder", 1, "b"),
    ("field", "replace a holder", 4, "f"),
    ("field", "delete the source of 5 holders, `cascade`", 3, "c"),
    ("entries", "replace a holder", 3, "f"),
    ("entries", "delete the source of 10 holders, `pull`", 3, "c"),
    ("snapshot", "insert a holder", 2, "c"),
    ("snapshot", "set the reference of a holder", 2, "c, d"),
    ("snapshot", "replace a holder", 2, "c, d, f"),
    ("subset", "replace a child", 2, "f"),
    ("subset", "delete a parent of 4 children, `cascade`", 3, "c, e"),
    ("computed", "delete a parent of 5 children, `cascade`", 3, "c, e"),
    ("bucket", "push the first item", 4, "c"),
    ("bucket", "`push_many` of 10 onto a full one", 3, "c"),
    ("bucket", "edit an item", 1, "g"),
    ("bucket", "edit what is summed, of an item", 2, "g"),
    ("bucket", "edit what is summed, of 15 items in 3 pages", 2, "g, h"),
    ("bucket", "delete an item", 2, "g"),
    ("bucket", "delete the parent of 3 pages, `cascade`", 3, "c"),
    ("counted bucket", "push the first item", 4, "e"),
    ("counted bucket", "set the reference of an item", 4, "f, g"),
    ("counted bucket", "delete an item", 3, "f, g"),
    ("extended", "insert a holder", 3, "a"),
    ("extended", "upsert the source of 6 holders", 3, "f"),
    ("extended", "upsert a new source", 1, "f"),
    ("extended", "upsert a new holder", 4, "f"),
    ("extended", "replace a holder", 4, "f"),
    ("extended", "delete the source of 4 holders, `nullify`", 3, "c"),
    ("chain", "insert in the middle", 3, "a"),
    ("chain", "insert at the end", 3, "a"),
    (
        "chain",
        "delete the beginning, of 1 and 3 behind it, `cascade`",
        4,
        "c, e",
    ),
    ("two-way", "delete, linked", 3, "i"),
    ("two-way", "delete what is linked with 4", 3, "i"),
    ("upsert", "a new holder of a field's copy", 4, "f"),
    ("upsert", "the source of 6 holders of a field's copy", 3, "f"),
    ("upsert", "a new child of a subset", 3, "f"),
    ("upsert", "a child that is counted", 3, "f"),
    ("bulk", "2 holders, their source, and another one", 7, "j"),
    ("bulk", "2 that are linked", 4, "j"),
    ("transaction", "change a source, insert a holder of it", 5, "a"),
    ("tree", TREES[0], 3, "k"),
    ("tree", TREES[1], 3, "k"),
    ("tree", TREES[2], 3, "l"),
    ("tree", TREES[3], 3, "l"),
    ("tree", TREES[4], 4, "k"),
    ("claim", CLAIMED[2], 3, "m"),
    ("claim", CLAIMED[5], 3, "f, m"),
    ("claim", CLAIMED[7], 4, "c, n"),
    ("claim", CLAIMED[8], 5, "c, f"),
    ("key", KEYED[2], 2, "c"),
    ("key", KEYED[5], 5, "c"),
];

/// The fewest round trips of a write that sends more, and the reasons.
fn above(row: &Measured) -> Option<(usize, &'static str)> {
    let (.., least, why) = ABOVE
        .iter()
        .find(|(kind, write, ..)| (*kind, *write) == (row.kind, row.write))?;
    let sent = row.with.0;
    assert!(*least < sent, "{}, {}: {least} and {sent}", row.kind, row.write);
    Some((*least, why))
}

/// The fewest round trips of a write, with the reasons for more.
fn least(row: &Measured) -> String {
    match above(row) {
        None => row.with.0.to_string(),
        Some((least, why)) => format!("{least} ([{why}](#why-some-send-more))"),
    }
}

/// `3 to 6`
fn range(round_trips: impl Iterator<Item = usize> + Clone) -> String {
    match (round_trips.clone().min(), round_trips.max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => String::new(),
    }
}

/// A line for each kind.
fn summary(rows: &[Measured]) -> String {
    let mut text = "\n## Summary by kind of copy\n\n\
                    | copy | writes | round trips with transactions | standalone |\n| --- | --- | --- | --- |\n"
        .to_owned();
    for rows in rows.chunk_by(|a, b| a.kind == b.kind) {
        let title = title(rows[0].kind);
        let with = range(rows.iter().map(|row| row.with.0));
        let alone = range(
            rows.iter()
                .filter_map(|row| row.alone.as_ref().map(|alone| alone.0)),
        );
        let link = title.to_lowercase().replace(' ', "-");
        text += &format!("| [{title}](#{link}) | {} | {with} | {alone} |\n", rows.len());
    }
    text + "\n"
}

/// A heading and a table for each kind.
fn tables(rows: &[Measured]) -> String {
    let mut text = String::new();
    for rows in rows.chunk_by(|a, b| a.kind == b.kind) {
        text += &format!(
            "\n## {}\n\n| write | at least | with transactions | documents | standalone | documents |\n\
             | --- | --- | --- | --- | --- | --- |\n",
            title(rows[0].kind)
        );
        for row in rows {
            let (round_trips, commands, documents) = &row.with;
            let alone = match &row.alone {
                None => "|  |  |".to_owned(),
                Some((round_trips, commands, documents)) => {
                    format!("| {round_trips}: {commands} | {documents} |")
                }
            };
            text += &format!(
                "| {} | {} | {round_trips}: {commands} | {documents} {alone}\n",
                row.write,
                least(row)
            );
        }
    }
    text + "\n"
}

/// One table of all writes, without their commands.
fn numbers(rows: &[Measured]) -> String {
    let mut text =
        "\n| write | at least | with transactions | standalone |\n| --- | --- | --- | --- |\n".to_owned();
    for rows in rows.chunk_by(|a, b| a.kind == b.kind) {
        text += &format!("| **{}** | | | |\n", title(rows[0].kind));
        for row in rows {
            let sent = row.with.0;
            let least = above(row).map_or(sent, |(least, _)| least);
            let alone = row
                .alone
                .as_ref()
                .map_or("–".to_owned(), |alone| alone.0.to_string());
            text += &format!("| {} | {least} | {sent} | {alone} |\n", row.write);
        }
    }
    text + "\n"
}

/// The page with these parts in the place of its own.
fn with_measured(page: &str, parts: &[(&str, String)]) -> String {
    let mut made = page.to_owned();
    for (name, part) in parts {
        let mark = format!("<!-- measured: {name} -->\n");
        let (above, below) = made.split_once(&mark).expect("the mark of what is measured");
        let (_, below) = below
            .split_once("<!-- end -->")
            .expect("the end of what is measured");
        made = format!("{above}{mark}{part}<!-- end -->{below}");
    }
    made
}

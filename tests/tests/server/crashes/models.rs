//! The documents of the crash matrix, once for each mode: two for every kind of edge.

/// Declares them; what is given stands at the end of each declaration of a copy.
macro_rules! declare {
    ($($sync:tt)*) => {
        use odm::prelude::*;
        use serde::{Deserialize, Serialize};

        // A field of a source is copied beside the reference to it.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "hosts", version)]
        pub struct Host {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub ip: Option<String>,
            pub load: i32,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "logs", version)]
        pub struct Log {
            #[serde(rename = "_id")]
            pub id: i32,
            pub text: String,
            #[reference(on_delete = cascade)]
            pub host: Ref<Host>,
            #[denormalize(from = host.name $($sync)*)]
            pub host_name: String,
            #[denormalize(from = host.ip $($sync)*)]
            pub host_ip: Option<String>,
            #[denormalize(from = host.load $($sync)*)]
            pub host_load: i32,
            pub version: i64,
        }

        // Fields are copied into the entries of an array.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "parts", version)]
        pub struct Part {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub note: Option<String>,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "products", version)]
        pub struct Product {
            #[serde(rename = "_id")]
            pub id: i32,
            pub title: String,
            #[reference(many, max = 10)]
            #[denormalize(from = Part)]
            pub parts: Vec<PartEntry>,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[denormalize(from = Part $($sync)*)]
        pub struct PartEntry {
            #[reference(on_delete = pull)]
            pub id: Ref<Part>,
            pub name: String,
            pub note: Option<String>,
            #[embed(max = 5)]
            pub tags: Vec<String>,
        }

        // The same beside a single reference.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "users", version)]
        pub struct User {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub mail: Option<String>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "orders", version)]
        pub struct Order {
            #[serde(rename = "_id")]
            pub id: i32,
            pub what: String,
            #[reference(on_delete = nullify)]
            #[denormalize(from = User, fields(name: String, mail: Option<String>) $($sync)*)]
            pub user: Option<UserEntry>,
            pub version: i64,
        }

        // The parent keeps the best of its children.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "shops", version)]
        pub struct Shop {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[subset(of = Review, limit = 2, order(-stars), fields(text: Option<String>, stars: i32) $($sync)*)]
            pub best: Vec<BestEntry>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "reviews", version)]
        pub struct Review {
            #[serde(rename = "_id")]
            pub id: i32,
            pub text: Option<String>,
            pub stars: i32,
            pub public: bool,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            #[parent_ref(on_delete = cascade)]
            pub above: Ref<Shop>,
            pub version: i64,
        }

        // The parent counts its children.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "bars", version)]
        pub struct Bar {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[computed(count = Vote $($sync)*)]
            pub votes: i64,
            #[computed(count = Vote, filter = |v| v.public.eq(true) $($sync)*)]
            pub public_votes: i64,
            #[computed(avg = Vote.stars, filter = |v| v.public.eq(true) $($sync)*)]
            pub rating: Average,
            #[computed(sum = Vote.stars $($sync)*)]
            pub total: i64,
            #[computed(max = Vote.stars $($sync)*)]
            pub most: Option<i32>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "votes", version)]
        pub struct Vote {
            #[serde(rename = "_id")]
            pub id: i32,
            pub text: Option<String>,
            pub stars: i32,
            pub public: bool,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            #[parent_ref(on_delete = cascade)]
            pub above: Ref<Bar>,
            pub version: i64,
        }

        // A copy of a copy, and a copy of a number that is computed.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "regions", version)]
        pub struct Region {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub code: Option<String>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "cities", version)]
        pub struct City {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[reference(on_delete = cascade)]
            pub region: Ref<Region>,
            #[denormalize(from = region.name $($sync)*)]
            pub region_name: String,
            #[denormalize(from = region.code $($sync)*)]
            pub region_code: Option<String>,
            #[computed(count = Street $($sync)*)]
            pub streets: i64,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "streets", version)]
        pub struct Street {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[parent_ref(on_delete = cascade)]
            pub city: Ref<City>,
            #[denormalize(from = city.region_name $($sync)*)]
            pub region_name: String,
            #[denormalize(from = city.region_code $($sync)*)]
            pub region_code: Option<String>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "mayors", version)]
        pub struct Mayor {
            #[serde(rename = "_id")]
            pub id: i32,
            #[reference(on_delete = cascade)]
            pub city: Ref<City>,
            #[denormalize(from = city.streets $($sync)*)]
            pub streets: i64,
            pub version: i64,
        }

        // A copy in a document with a two-way reference, of a document on the other side, which counts those that refer to it.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "teams", version)]
        pub struct Team {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[reference(many, inverse = team, max = 400)]
            pub members: Vec<Ref<Member>>,
            #[computed(count = Member, by = team $($sync)*)]
            pub size: i64,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "members", version)]
        pub struct Member {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[reference(inverse = members)]
            pub team: Option<Ref<Team>>,
            #[reference(on_delete = nullify)]
            pub fan_of: Option<Ref<Team>>,
            #[denormalize(from = fan_of.name $($sync)*)]
            pub fan_of_name: Option<String>,
            pub version: i64,
        }

        // A parent that may come after its children, and one that they lose before it goes.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "wells", version)]
        pub struct Well {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[computed(count = Sample $($sync)*)]
            pub samples: i64,
            #[subset(of = Sample, limit = 2, order(-depth), fields(depth: i32) $($sync)*)]
            pub deepest: Vec<DeepestEntry>,
            #[computed(count = Guard $($sync)*)]
            pub guards: i64,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "samples", version)]
        pub struct Sample {
            #[serde(rename = "_id")]
            pub id: i32,
            pub depth: i32,
            #[parent_ref(check = false, on_delete = keep)]
            pub well: Ref<Well>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "guards", version)]
        pub struct Guard {
            #[serde(rename = "_id")]
            pub id: i32,
            #[parent_ref(on_delete = nullify)]
            pub well: Option<Ref<Well>>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "pumps", version)]
        pub struct Pump {
            #[serde(rename = "_id")]
            pub id: i32,
            #[reference(check = false, on_delete = keep)]
            pub well: Ref<Well>,
            #[denormalize(from = well.samples $($sync)*)]
            pub samples: Option<i64>,
            pub version: i64,
        }

        // The parent keeps the least of those children that a filter lets through.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "markets", version)]
        pub struct Market {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[subset(
                of = Offer,
                limit = 2,
                order(stars),
                keep = first,
                filter = |o| o.public.eq(true),
                fields(text: Option<String>, stars: i32)
                $($sync)*
            )]
            pub cheapest: Vec<CheapestEntry>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "offers", version)]
        pub struct Offer {
            #[serde(rename = "_id")]
            pub id: i32,
            pub text: Option<String>,
            pub stars: i32,
            pub public: bool,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            #[parent_ref(on_delete = cascade)]
            pub above: Ref<Market>,
            pub version: i64,
        }

        // The parent knows the least, the greatest and the mean of its children.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "courses", version)]
        pub struct Course {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[computed(min = Grade.stars $($sync)*)]
            pub least: Option<i32>,
            #[computed(max = Grade.stars $($sync)*)]
            pub greatest: Option<i32>,
            #[computed(avg = Grade.stars $($sync)*)]
            pub mean: Average,
            #[computed(min = Grade.stars, filter = |g| g.public.eq(true) $($sync)*)]
            pub least_public: Option<i32>,
            #[computed(sum = Grade.stars, filter = |g| g.public.eq(true) $($sync)*)]
            pub sum_public: i64,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "grades", version)]
        pub struct Grade {
            #[serde(rename = "_id")]
            pub id: i32,
            pub text: Option<String>,
            pub stars: i32,
            pub public: bool,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            #[parent_ref(on_delete = cascade)]
            pub above: Ref<Course>,
            pub version: i64,
        }

        // The elements of a subset are without ids, since their documents never change.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "boards", version)]
        pub struct Board {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            #[subset(of = Line, limit = 2, order(at) $($sync)*)]
            pub newest: Vec<LineCopy>,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[denormalize(from = Line)]
        pub struct LineCopy {
            pub at: i32,
            pub text: String,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "lines", append_only)]
        pub struct Line {
            #[serde(rename = "_id")]
            pub id: i32,
            pub at: i32,
            pub text: String,
            #[parent_ref(on_delete = cascade)]
            pub board: Ref<Board>,
        }

        // A copy that is taken once.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "articles", version)]
        pub struct Article {
            #[serde(rename = "_id")]
            pub id: i32,
            pub price: i32,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "sales", version)]
        pub struct Sale {
            #[serde(rename = "_id")]
            pub id: i32,
            pub what: String,
            #[reference(on_delete = nullify)]
            pub article: Option<Ref<Article>>,
            #[denormalize(from = article.price, sync = snapshot)]
            pub paid: Option<i32>,
            pub version: i64,
        }

        // Copies in what is embedded.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "goods", version)]
        pub struct Good {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub note: Option<String>,
            pub version: i64,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "baskets", version)]
        pub struct Basket {
            #[serde(rename = "_id")]
            pub id: i32,
            pub title: String,
            #[embed(max = 5)]
            pub items: Vec<Item>,
            #[embed]
            pub gift: Gift,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        pub struct Item {
            pub n: i32,
            #[reference(on_delete = nullify)]
            pub good: Option<Ref<Good>>,
            #[denormalize(from = good.name $($sync)*)]
            pub name: Option<String>,
            #[denormalize(from = good.note $($sync)*)]
            pub note: Option<String>,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        pub struct Gift {
            #[reference(on_delete = nullify)]
            pub good: Option<Ref<Good>>,
            #[denormalize(from = good.name $($sync)*)]
            pub name: Option<String>,
        }

        // Items in buckets, by count and by time, which know the number, the sum and the first and last time of theirs.

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "posts", version)]
        pub struct Post {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[bucket(of = Post, size = 3, time = at, sum(stars))]
        pub struct Comment {
            pub n: i32,
            pub text: String,
            pub stars: i32,
            pub at: DateTime,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "sensors", version)]
        pub struct Sensor {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub version: i64,
        }

        #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[bucket(of = Sensor, per = hour, time = at, size = 3, sum(degrees))]
        pub struct Reading {
            pub n: i32,
            pub at: DateTime,
            pub degrees: i32,
        }
    };
}

pub(super) use declare;

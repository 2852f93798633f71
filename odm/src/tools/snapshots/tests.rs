use super::Snapshot;
use super::check::{ListedSteps, check};
use super::diff::Diff;
use super::samples;
use super::steps::{NewStep, new_step};
use crate::Odm;
use crate::bounds;
use crate::geo::{LineString, Point, Polygon};
use crate::prelude::*;
use mongodb::bson::{Bson, Document as Raw, RawDocumentBuf, doc};
use mongodb::options::ClientOptions;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use tempfile::TempDir;

/// The blog in its first version.
mod first {
    use crate::prelude::*;

    #[derive(Document)]
    #[document(crate = "crate", collection = "authors")]
    pub struct Author {
        pub id: ObjectId,
        #[field(max_len = 50)]
        pub name: String,
    }

    #[derive(Document)]
    #[document(crate = "crate", collection = "posts")]
    pub struct Article {
        pub id: ObjectId,
        pub title: String,
        #[embed(max = 10)]
        pub tags: Vec<String>,
        pub price: i32,
        pub street: String,
        pub autor: Option<String>,
        pub legacy: bool,
        pub state: State,
        #[reference]
        pub author: Ref<Author>,
    }

    #[derive(Embed)]
    #[embed(crate = "crate")]
    pub enum State {
        Draft,
        Published,
        Hidden,
    }

    #[derive(Document)]
    #[document(crate = "crate", collection = "drafts")]
    pub struct Draft {
        pub id: i64,
        pub text: String,
    }
}

/// The same in its second version.
mod second {
    pub use super::first::Author;
    use crate::prelude::*;

    #[derive(Document)]
    #[document(crate = "crate", collection = "articles")]
    pub struct Article {
        pub id: ObjectId,
        #[index(unique)]
        pub title: String,
        #[embed(max = 5)]
        pub tags: Vec<String>,
        pub price: f64,
        pub address: Address,
        #[field(default)]
        pub slug: String,
        pub editor: Option<String>,
        pub words: i32,
        pub state: State,
        #[reference]
        pub author: Ref<Author>,
        #[denormalize(from = author.name)]
        pub author_name: String,
    }

    #[derive(Embed)]
    #[embed(crate = "crate")]
    pub struct Address {
        pub street: String,
    }

    #[derive(Embed)]
    #[embed(crate = "crate")]
    pub enum State {
        Draft,
        Published,
        Planned,
    }
}

fn odm(models: impl IntoIterator<Item = crate::Model>) -> Odm {
    let client = mongodb::Client::with_options(ClientOptions::default()).expect("a client");
    Odm::new(client.database("blog"), models).expect("sound models")
}

fn snapshot(models: impl IntoIterator<Item = crate::Model>) -> Snapshot {
    Snapshot::of(&odm(models), "m0001_first", Vec::new()).expect("a snapshot")
}

fn old() -> Odm {
    odm(crate::models![first::Author, first::Article, first::Draft])
}

fn new() -> Odm {
    odm(crate::models![second::Author, second::Article])
}

/// Every kind of shape.
#[derive(Document)]
#[document(crate = "crate", collection = "things", version, timestamps)]
struct Thing {
    id: i32,
    version: i64,
    created_at: DateTime,
    updated_at: DateTime,
    #[field(email)]
    email: String,
    #[field(pattern = "[A-Z]{2}[0-9]{3,5}", min_len = 6)]
    code: String,
    #[field(min = 10, max = 20, multiple_of = 4)]
    number: i32,
    #[field(one_of("red", "green"))]
    colour: String,
    #[field(min_len = 20, max_len = 30)]
    long: String,
    small: u8,
    #[field(min = 0.25, max = 0.75)]
    share: f64,
    letter: char,
    #[serde(with = "crate::native")]
    address: IpAddr,
    #[embed(max = 3)]
    shapes: Vec<Form>,
    #[embed(max = 3)]
    prices: BTreeMap<String, i64>,
    pair: (i32, String),
    #[field(skip_none)]
    note: Option<String>,
    maybe: Option<Form>,
    #[embed(max = 5)]
    comments: Vec<Comment>,
    #[field(default = 7)]
    rank: i32,
    way: LineString<10>,
    area: Polygon<10>,
    point: Point,
}

#[derive(Embed)]
#[embed(crate = "crate", tag = "type")]
enum Form {
    Circle { radius: f64 },
    Square(Side),
    Nothing,
}

#[derive(Embed)]
#[embed(crate = "crate")]
struct Side {
    length: Unit,
}

#[derive(Embed)]
#[embed(crate = "crate")]
enum Unit {
    Metres(f64),
    Pixels(i32),
    Unknown,
}

#[derive(Embed)]
#[embed(crate = "crate")]
struct Comment {
    text: String,
    #[embed(max = 5, depth = 3)]
    answers: Vec<Comment>,
}

#[test]
fn samples_keep_the_rules_and_are_decoded() {
    let samples = samples::of(Thing::META).unwrap_or_else(|_| panic!("samples"));
    for sample in &samples {
        let raw = RawDocumentBuf::try_from(&sample.document).expect("encodes");
        (Thing::META.decode)(&raw).unwrap_or_else(|error| panic!("{}: {error}", sample.shows));
        bounds::document(Thing::META, &raw).unwrap_or_else(|error| panic!("{}: {error}", sample.shows));
    }
    let shown: Vec<&str> = samples.iter().map(|sample| sample.shows.as_str()).collect();
    assert_eq!(
        shown,
        [
            "minimal",
            "full",
            "`null` for what is not there",
            "empty arrays",
            "`shapes.0` is Square",
            "`shapes.0` is Nothing",
            "`maybe` is Square",
            "`maybe` is Nothing",
            "`shapes.0.length` is Pixels",
            "`shapes.0.length` is Unknown",
            "`maybe.length` is Pixels",
            "`maybe.length` is Unknown",
        ]
    );
    let minimal = &samples[0].document;
    assert!(
        !minimal.contains_key("note") && !minimal.contains_key("maybe"),
        "{minimal}"
    );
    let full = &samples[1].document;
    assert_eq!(full.get_str("email").ok(), Some("kate@example.com"));
    assert_eq!(full.get_str("colour").ok(), Some("red"));
    assert_eq!(full.get_i32("number").ok(), Some(12));
    assert_eq!(full.get_str("address").ok(), Some("192.0.2.1"));
    let nulls = &samples[2].document;
    assert!(
        nulls.get("maybe") == Some(&Bson::Null) && !nulls.contains_key("note"),
        "{nulls}"
    );
    let ids: Vec<_> = samples
        .iter()
        .map(|sample| sample.document.get_i32("_id").unwrap())
        .collect();
    assert!(ids.windows(2).all(|two| two[0] != two[1]), "{ids:?}");
}

#[tokio::test]
async fn a_snapshot_is_read_as_it_was_written() {
    let taken = snapshot(crate::models![Thing, first::Author, first::Article, first::Draft]);
    let text = taken.text().expect("text");
    let read = Snapshot::parse(&text).expect("a snapshot");
    assert!(read.is_intact);
    assert_eq!(read.snapshot.text().as_ref(), Ok(&text));
    for (read, taken) in read.snapshot.collections.iter().zip(&taken.collections) {
        assert_eq!(read, taken);
    }
    assert!(Diff::of(&read.snapshot, &taken, &[]).is_empty());
    let things = taken.collection("things").expect("the collection");
    let field = |path: &str| {
        let fields = things.fields.iter().filter(|field| field.path == path);
        fields
            .map(|field| (field.types.join("|"), field.required))
            .collect::<Vec<_>>()
    };
    let of = |types: &str, required| vec![(types.to_owned(), required)];
    assert_eq!(field("_id"), of("int", true));
    assert_eq!(field("note"), of("string|null", false));
    assert_eq!(field("maybe"), of("object|null", false));
    assert_eq!(field("prices{}"), of("long", true));
    assert_eq!(field("pair[1]"), of("string", true));
    assert_eq!(field("shapes[].length"), of("object|string", true));
    assert_eq!(field("comments[].answers[]"), of("object", true));
    // Other line ends are no change, other words are one.
    let read = |text: &str| Snapshot::parse(text).map(|read| read.is_intact);
    assert_eq!(read(&text.replace('\n', "\r\n")), Ok(true));
    assert_eq!(read(&text.replace("\"legacy\"", "\"legacies\"")), Ok(false));
    assert!(
        read(&text.replace("\"format\": 1", "\"format\": 2"))
            .unwrap_err()
            .contains("format")
    );
    assert!(read("{}").is_err());
    assert!(read(&text[..text.len() / 2]).is_err());
}

fn write(odm: &Odm, folder: &Path, name: &str, renamed: &[(&str, &str)]) -> Result<NewStep, String> {
    let renamed: Vec<(String, String)> = renamed
        .iter()
        .map(|(from, to)| ((*from).to_owned(), (*to).to_owned()))
        .collect();
    new_step(odm, folder, name, &renamed, &mut |_| None)
}

const RENAMED: [(&str, &str); 4] = [
    ("posts", "articles"),
    ("posts.street", "address.street"),
    ("articles.autor", "editor"),
    ("drafts", ""),
];

fn first_and_second() -> (TempDir, NewStep) {
    let folder = tempfile::tempdir().expect("a folder");
    write(&old(), folder.path(), "first", &[]).expect("the first step");
    let second = write(&new(), folder.path(), "second", &RENAMED).expect("the second step");
    (folder, second)
}

fn text(folder: &TempDir, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[tokio::test]
async fn a_step_leads_from_one_version_to_the_next() {
    let (folder, second) = first_and_second();
    assert_eq!(text(&folder, "m0001_first.rs"), FIRST);
    assert_eq!(text(&folder, "mod.rs"), LIST);
    assert_eq!(text(&folder, "m0002_second.rs"), SECOND);
    assert_eq!(second.by_hand.len(), 3);
    let json = second.json();
    assert_eq!(json["step"], "m0002_second");
    assert_eq!(json["after"], "m0001_first");
    assert_eq!(json["changes"][0]["kind"], "collection_renamed");
    let words = second.to_string();
    assert!(
        words.starts_with("`articles` is the new name of the collection `posts`\n"),
        "{words}"
    );
    assert!(
        words.contains("`m0002_second` is to be completed by hand"),
        "{words}"
    );
}

/// Members, whose indexes are not declared later.
mod members {
    pub mod before {
        use crate::prelude::*;

        #[derive(Document)]
        #[document(
            crate = "crate",
            collection = "members",
            index(fields(town), name = "by_town")
        )]
        #[document(index(fields(zip), name = "by_zip"))]
        pub struct Member {
            pub id: i32,
            #[index]
            pub name: String,
            #[index(unique)]
            pub code: i32,
            #[index(expire_after = 3600)]
            pub seen: DateTime,
            pub town: String,
            pub zip: String,
        }
    }

    pub mod after {
        use crate::prelude::*;

        #[derive(Document)]
        #[document(crate = "crate", collection = "members", index(fields(zip), name = "zips"))]
        pub struct Member {
            pub id: i32,
            pub name: String,
            pub seen: DateTime,
            #[index]
            pub town: String,
            pub zip: String,
        }
    }
}

#[tokio::test]
async fn an_index_that_is_not_declared_any_more_is_retired_and_one_with_an_effect_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = odm(crate::models![members::before::Member]);
    write(&before, folder.path(), "first", &[]).expect("the first step");
    let after = odm(crate::models![members::after::Member]);
    write(&after, folder.path(), "second", &[]).expect("the second step");
    let code = text(&folder, "m0002_second.rs");
    // The unique index first: without `code`, it would take one document alone. An index without a name is found under any.
    let calls = [
        "    members.drop_index(\"by_zip\").await?;\n",
        "    members.drop_index(\"code_1\").await?;\n",
        "    members.drop_index(\"seen_1\").await?;\n",
        "    members.remove(\"code\").await?;\n",
        "    members.retire_index(\"name_1\").await?;\n",
    ];
    let body = code
        .split_once("step.collection(\"members\");\n")
        .map(|(_, body)| body);
    assert_eq!(
        body.and_then(|body| body.split_once("    step.declare"))
            .map(|(calls, _)| calls),
        Some(&*calls.concat()),
        "{code}"
    );
}

/// Types that the server converts, and such that it does not.
mod items {
    pub mod before {
        use crate::prelude::*;

        #[derive(Document)]
        #[document(crate = "crate", collection = "items")]
        pub struct Item {
            pub id: i32,
            pub code: String,
            pub count: Option<i32>,
            pub amount: i64,
            pub place: Option<Place>,
            pub note: Option<String>,
            #[embed(max = 10)]
            pub lines: Vec<Line>,
            pub kind: Kind,
        }

        #[derive(Embed)]
        #[embed(crate = "crate")]
        pub struct Place {
            pub zip: i32,
        }

        #[derive(Embed)]
        #[embed(crate = "crate")]
        pub struct Line {
            pub price: i32,
        }

        #[derive(Embed)]
        #[embed(crate = "crate", tag = "type")]
        pub enum Kind {
            Book { pages: i32 },
            Film { minutes: i32 },
        }
    }

    pub mod after {
        use crate::prelude::*;
        use mongodb::bson::Decimal128;

        #[derive(Document)]
        #[document(crate = "crate", collection = "items", version)]
        pub struct Item {
            pub id: i32,
            pub version: i64,
            pub code: ObjectId,
            #[field(default)]
            pub count: i32,
            pub amount: Decimal128,
            pub place: Option<Place>,
            pub note: String,
            #[embed(max = 20)]
            pub lines: Vec<Line>,
            #[embed(max = 5)]
            pub tags: Vec<String>,
            pub kind: Kind,
        }

        #[derive(Embed)]
        #[embed(crate = "crate")]
        pub struct Place {
            pub zip: i32,
            pub city: String,
        }

        #[derive(Embed)]
        #[embed(crate = "crate")]
        pub struct Line {
            pub price: i32,
            pub vat: i32,
        }

        #[derive(Embed)]
        #[embed(crate = "crate", tag = "type")]
        pub enum Kind {
            Book { pages: i64, isbn: String },
            Film { minutes: i32 },
            Game { players: i32 },
        }
    }
}

fn items() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let before = odm(crate::models![items::before::Item]);
    let after = odm(crate::models![items::after::Item]);
    write(&before, folder.path(), "first", &[]).expect("the first step");
    write(&after, folder.path(), "second", &[]).expect("the second step");
    folder
}

#[tokio::test]
async fn what_can_not_be_derived_is_left_to_be_written() {
    let folder = items();
    let text = text(&folder, "m0002_second.rs");
    let code = text
        .split_once("use odm")
        .map(|(_, code)| code)
        .unwrap_or_default();
    assert_eq!(code, ITEMS);
}

/// Documents of several types in one collection.
#[derive(Document)]
#[document(crate = "crate", collection = "events", common(at: DateTime))]
enum Event {
    Login(Login),
    Purchase(Purchase),
}

#[derive(Document)]
#[document(crate = "crate", variant_of = Event)]
struct Login {
    id: ObjectId,
    at: DateTime,
    address: String,
}

#[derive(Document)]
#[document(crate = "crate", variant_of = Event)]
struct Purchase {
    id: ObjectId,
    at: DateTime,
    #[field(default = 1)]
    amount: i64,
}

#[tokio::test]
async fn documents_of_several_types_are_told_by_their_variants() {
    let taken = snapshot(crate::models![Login]);
    let events = taken.collection("events").expect("the collection");
    let shown: Vec<&str> = events
        .samples
        .iter()
        .map(|sample| sample.shows.as_str())
        .collect();
    assert_eq!(shown, ["minimal", "variant Purchase"]);
    let amount = events
        .fields
        .iter()
        .find(|field| field.path == "amount")
        .expect("the field");
    assert_eq!(amount.variant.as_deref(), Some("Purchase"));
    let root = events
        .fields
        .iter()
        .find(|field| field.path.is_empty())
        .expect("the document");
    assert_eq!(root.variants, ["Login", "Purchase"]);
    assert_eq!(root.told_by.as_deref(), Some("`type`"));
    // A variant that came is one line, and one that went is no reason to remove its fields from others.
    let mut before = taken.clone();
    let of_purchase = |field: &super::FieldShape| field.variant.as_deref() == Some("Purchase");
    before.collections[0].fields.retain(|field| !of_purchase(field));
    before.collections[0].fields[0].variants.pop();
    let lines = Diff::of(&before, &taken, &[]).lines();
    assert_eq!(
        lines,
        ["`events` has other variants: `Purchase` came, which older programs can't read"]
    );
    let lines = Diff::of(&taken, &before, &[]).lines();
    assert_eq!(
        lines,
        ["`events` has other variants: `Purchase` went, which documents may still have"]
    );
}

/// A field that is not looked into.
#[derive(Document)]
#[document(crate = "crate", collection = "opaque")]
struct Closed {
    id: i32,
    #[field(opaque)]
    any: serde_json::Value,
    #[field(opaque)]
    secret: Secret,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Secret {
    of: u8,
    all: (bool, String),
}

#[tokio::test]
async fn a_collection_with_a_closed_field_says_why_it_has_no_samples() {
    let taken = snapshot(crate::models![Closed]);
    let closed = taken.collection("opaque").expect("the collection");
    assert!(closed.samples.is_empty());
    let why = closed.without_samples.as_deref().unwrap_or_default();
    assert!(
        why.starts_with("`secret`") && why.contains("is not looked into"),
        "{why}"
    );
}

const FIRST: &str = r#"//! The first snapshot of the models: nothing is changed.

use odm::migrate::Step;

pub async fn up(_step: &Step) -> odm::Result<()> {
    Ok(())
}
"#;

const LIST: &str = r#"//! The steps that lead the database from one version of the models to the next, in their order.

mod m0001_first;
mod m0002_second;

pub fn all() -> odm::Migrations {
    odm::migrations![m0001_first, m0002_second]
}
"#;

const SECOND: &str = r#"//! From `m0001_first` to `m0002_second`:
//!
//! - `articles` is the new name of the collection `posts`
//! - `articles.legacy` is no longer declared (was bool)
//! - `articles.address` is new: object, required
//! - `articles.address.street` is the new name of `street`
//! - `articles.editor` is the new name of `autor`
//! - `articles.price` has another type: double (was int)
//! - `articles.slug` is new: string, optional, "" where it is missing
//! - `articles.state` has other variants: `Planned` came, which older programs can't read; `Hidden` went, which documents may still have
//! - `articles.tags`: at most 5 items (was 10): narrower, so existing documents may break it
//! - `articles.words` is new: int, required
//! - `articles.author_name` is a new copy of authors.name through author, consistency = auto: a change of `authors.name` writes the documents of `articles` that hold it too: 3 round trips in one transaction, where a plain write takes 1, and batches after it where there are more than 1,000
//! - `articles` has a new index `author_1__id_1` on author, _id, for the reference: each insertion and each change of these fields writes it too
//! - `articles` has a new index `title_1` on title, unique: each insertion and each change of these fields writes it too, and two documents with the same values are refused
//! - `articles` no longer declares the index `author_1` on author, for the reference: it stays until it is retired or dropped
//! - `drafts` is no longer declared: its documents are dropped by the step

use odm::bson::doc;
use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    step.rename_collection("posts", "articles").await?;
    let articles = step.collection("articles");
    articles.rename("street", "address.street").await?;
    articles.rename("autor", "editor").await?;
    // A stored `int` is read as a `double` too: leave this out where only the models read it.
    articles
        .retype("price", "double", doc! { "$toDouble": "$$value" })
        .await?;
    articles.add("slug", "").await?;
    articles.remove("legacy").await?;
    articles.retire_index("author_1").await?;
    step.write_by_hand(
        "`state` of `articles` has no `Hidden` any more: write what becomes of documents with it",
    )?;
    step.write_by_hand(
        "`tags` of `articles` is at most 5 items (was 10): write what becomes of documents with \
         more or other values, or leave this out where there are none",
    )?;
    step.write_by_hand(
        "`words` of `articles` is new, required and without a default: write which value it gets \
         where it is missing, as `articles.add(\"words\", value)`, or declare a default",
    )?;
    step.drop_collection("drafts").await?;
    step.backfill().await?;
    step.declare().await?;
    Ok(())
}
"#;

const ITEMS: &str = r#"::bson::doc;
use odm::migrate::Step;

/// A document of `items` before this step, as far as it is needed.
#[derive(odm::Document)]
#[document(collection = "items")]
struct OldItemCode {
    id: i32,
    code: String,
}

pub async fn up(step: &Step) -> odm::Result<()> {
    let items = step.collection("items");
    items
        .retype("amount", "decimal", doc! { "$toDecimal": "$$value" })
        .await?;
    items.add("count", 0).await?;
    items.replace_null("count", 0).await?;
    items
        .add("tags", odm::bson::Bson::Array(Vec::new()))
        .await?;
    items.add("version", 1_i64).await?;
    step.write_by_hand(
        "`code` of `items` becomes objectId (was string), and no expression of the server \
         converts every value: write what becomes of each",
    )?;
    step.each::<OldItemCode>(doc! { "code": { "$type": "string" } })
        .update(|old| Ok(doc! { "$set": { "code": old.code } }))
        .await?;
    step.write_by_hand(
        "`kind.isbn` of the variant `Book` of `items` is new, required and without a default: \
         write which value it gets where it is missing, or declare a default",
    )?;
    step.write_by_hand(
        "`lines[].vat` of `items` is new, required and without a default: write which value it \
         gets where it is missing, or declare a default",
    )?;
    step.write_by_hand(
        "`note` of `items` becomes required: write which value documents get where it is missing \
         or `null`",
    )?;
    step.write_by_hand(
        "`place.city` of `items` is new, required and without a default: write which value it \
         gets where it is missing, or declare a default",
    )?;
    step.declare().await?;
    Ok(())
}
"#;

const REVIEW: &str = r#"`articles` is the new name of the collection `posts`
`articles.autor` is no longer declared (was string)
`articles.legacy` is no longer declared (was bool)
`articles.street` is no longer declared (was string)
`articles.address` is new: object, required
`articles.editor` is new: string, optional
`articles.price` has another type: double (was int)
`articles.slug` is new: string, optional, "" where it is missing
`articles.state` has other variants: `Planned` came, which older programs can't read; `Hidden` went, which documents may still have
`articles.tags`: at most 5 items (was 10): narrower, so existing documents may break it
`articles.words` is new: int, required
`articles.author_name` is a new copy of authors.name through author, consistency = auto: a change of `authors.name` writes the documents of `articles` that hold it too: 3 round trips in one transaction, where a plain write takes 1, and batches after it where there are more than 1,000
`articles` has a new index `author_1__id_1` on author, _id, for the reference: each insertion and each change of these fields writes it too
`articles` has a new index `title_1` on title, unique: each insertion and each change of these fields writes it too, and two documents with the same values are refused
`articles` no longer declares the index `author_1` on author, for the reference: it stays until it is retired or dropped
`drafts` is no longer declared: its documents are dropped by the step"#;

/// As rustfmt writes it; nothing is compared where there is none.
#[tokio::test]
async fn the_code_of_a_step_is_formatted() {
    let (folder, _) = first_and_second();
    let other = items();
    for path in [folder.path().join("mod.rs"), other.path().join("mod.rs")] {
        let mut command = std::process::Command::new("rustfmt");
        // The steps are its modules.
        command
            .args(["--edition", "2024", "--check"])
            .arg(&path)
            .current_dir(folder.path());
        let Ok(output) = command.output() else { return };
        let words = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&words));
    }
}

#[tokio::test]
async fn a_diff_reads_as_a_review() {
    let (old, new) = (
        Snapshot::of(&old(), "a", Vec::new()),
        Snapshot::of(&new(), "b", Vec::new()),
    );
    let (old, new) = (old.expect("a snapshot"), new.expect("a snapshot"));
    let renamed = [super::Renamed {
        collection: None,
        from: "posts".to_owned(),
        to: "articles".to_owned(),
    }];
    let diff = Diff::of(&old, &new, &renamed);
    assert_eq!(diff.to_string(), REVIEW);
    let json = diff.json();
    let first = &json[0];
    assert_eq!(first["kind"], "collection_renamed");
    assert_eq!(first["collection"], "articles");
    // Both ways: what was narrowed is wider again.
    let back = Diff::of(
        &new,
        &old,
        &[super::Renamed {
            collection: None,
            from: "articles".to_owned(),
            to: "posts".to_owned(),
        }],
    );
    assert!(
        back.to_string()
            .contains("`posts.tags`: at most 10 items (was 5): wider"),
        "{back}"
    );
}

#[tokio::test]
async fn what_may_have_another_name_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&old(), folder.path(), "first", &[]).expect("the first step");
    let error = write(&new(), folder.path(), "second", &[]).unwrap_err();
    assert_eq!(
        error,
        "the collection `posts` may have been renamed to `articles`, or removed, and there is no terminal to ask on: pass `--renamed \
         posts=articles`, or `--renamed posts=` where it was removed"
    );
    let error = write(&new(), folder.path(), "second", &RENAMED[..2]).unwrap_err();
    assert_eq!(
        error,
        "`autor` of `articles` may have been renamed to `editor`, or removed, and there is no terminal to ask on: pass `--renamed \
         articles.autor=editor`, or `--renamed articles.autor=` where it was removed"
    );
    // Nothing is left behind by an error.
    assert!(!text(&folder, "mod.rs").contains("second"));
    assert!(!folder.path().join("m0002_second.rs").exists());
    let mut asked = Vec::new();
    let mut ask = |question: &str| {
        asked.push(question.to_owned());
        Some(!question.contains("`legacy`"))
    };
    new_step(&new(), folder.path(), "second", &[], &mut ask).expect("a step");
    assert_eq!(
        asked,
        [
            "Was the collection `posts` renamed to `articles`?",
            "Was `street` of `articles` renamed to `address.street`?",
            "Was `autor` of `articles` renamed to `editor`?",
        ]
    );
    for (renamed, words) in [
        (("articles.nothing", "slug"), "was not removed from the models"),
        (("articles.legacy", "nothing"), "is no new field"),
        (("nothing.legacy", "slug"), "no collection is named"),
        (("drafts", "nothing"), "no new collection `nothing`"),
    ] {
        let other = tempfile::tempdir().expect("a folder");
        write(&old(), other.path(), "first", &[]).expect("the first step");
        let error = write(&new(), other.path(), "second", &[RENAMED[0], renamed]).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    for name in ["", "Second", "a-b", "a.b"] {
        assert!(
            write(&new(), folder.path(), name, &[])
                .unwrap_err()
                .contains("is no name of a step")
        );
    }
}

#[tokio::test]
async fn the_list_of_steps_is_edited_in_place() {
    let (folder, _) = first_and_second();
    let file = folder.path().join("mod.rs");
    let edit = |text: &str, name: &str| {
        std::fs::write(&file, text).expect("written");
        let step = write(&new(), folder.path(), name, &[])?;
        Ok::<_, String>((step, std::fs::read_to_string(&file).expect("read")))
    };
    let (step, text) = edit(
        "//! Ours.\nmod m0001_first;\npub mod m0002_second;\n\n// See `odm::migrations![…]`.\npub fn all() -> odm::Migrations {\n    \
         odm::migrations![\n        m0001_first,\n        m0002_second,\n    ]\n}\n",
        "third_step_with_a_name_of_some_length",
    )
    .expect("edited");
    assert_eq!(step.name, "m0003_third_step_with_a_name_of_some_length");
    assert!(step.diff.is_empty());
    assert_eq!(
        text,
        "//! Ours.\nmod m0001_first;\npub mod m0002_second;\nmod m0003_third_step_with_a_name_of_some_length;\n\n// See \
         `odm::migrations![…]`.\npub fn all() -> odm::Migrations {\n    odm::migrations![\n        m0001_first,\n        m0002_second,\n        \
         m0003_third_step_with_a_name_of_some_length,\n    ]\n}\n"
    );
    let (_, text) = edit(
        "pub fn all() -> odm::Migrations {\n    odm::migrations![]\n}\n",
        "more",
    )
    .expect("edited");
    assert!(text.starts_with("mod m0004_more;\n\npub fn all"), "{text}");
    assert!(text.contains("odm::migrations![m0004_more]"), "{text}");
    for (text, words) in [
        ("pub fn all() {}\n", "it has no `migrations![…]`"),
        (
            "mod m0001_first;\nfn all() { odm::migrations![m0001_first, // one\n] }\n",
            "there are comments",
        ),
        (
            "fn all() { odm::migrations![m0001_first] }\n",
            "it has no `mod NAME;`",
        ),
    ] {
        let error = edit(text, "other").unwrap_err();
        assert!(
            error.contains(words) && error.contains("run `migrate new` again"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&file).expect("read"), text);
    }
}

/// Steps as `migrations![…]` would list them.
struct Listed {
    names: Vec<&'static str>,
    lead: fn(usize, &str, Raw) -> Result<Raw, String>,
    /// The changes that a server alone makes.
    left_out: Vec<String>,
}

impl ListedSteps for Listed {
    fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn in_memory(
        &self,
        after: usize,
        collection: &str,
        documents: Vec<Raw>,
    ) -> (Result<Vec<Raw>, String>, Vec<String>) {
        let documents = documents.into_iter();
        let led_on = documents.map(|one| (self.lead)(after, collection, one));
        (led_on.collect(), self.left_out.clone())
    }
}

fn lead_on(after: usize, collection: &str, mut document: Raw) -> Result<Raw, String> {
    if collection != "posts" {
        return Err(format!("no step behind {after} is about `{collection}`"));
    }
    document.insert("words", 0);
    document.insert("author_name", "");
    let street = document.remove("street").ok_or("no street")?;
    document.insert("address", doc! { "street": street });
    Ok(document)
}

const LISTED: Listed = Listed {
    names: Vec::new(),
    lead: lead_on,
    left_out: Vec::new(),
};

fn listed(names: &[&'static str]) -> Listed {
    Listed {
        names: names.to_vec(),
        ..LISTED
    }
}

#[tokio::test]
async fn snapshots_are_checked_against_models_and_steps() {
    let (folder, _) = first_and_second();
    let both = listed(&["m0001_first", "m0002_second"]);
    let problems = |steps: &Listed| {
        let checked = check(&new(), steps, folder.path()).expect("checked");
        let problems = checked.problems.iter().map(ToString::to_string);
        problems.collect::<Vec<String>>()
    };
    // A hidden article is a variant that is not there any more, and no step says what becomes of it.
    let checked = check(&new(), &both, folder.path()).expect("checked");
    assert!(checked.diff.is_empty() && !checked.is_clean());
    assert_eq!(checked.problems.len(), 1, "{checked}");
    let words = checked.problems[0].to_string();
    assert!(
        words.starts_with("a document of `posts` as after `m0001_first` (`state` is Hidden)"),
        "{words}"
    );
    let json = checked.json();
    assert_eq!(json["clean"], false);
    assert_eq!(json["problems"][0]["sample"], "`state` is Hidden");
    let with_state = Listed {
        lead: |after, collection, mut document| {
            if document.get_str("state").is_ok_and(|state| state == "Hidden") {
                document.insert("state", "Draft");
            }
            lead_on(after, collection, document)
        },
        ..listed(&["m0001_first", "m0002_second"])
    };
    let checked = check(&new(), &with_state, folder.path()).expect("checked");
    assert!(checked.is_clean(), "{checked}");
    let words = checked.to_string();
    assert!(
        words.starts_with("the models are as the newest of 2 snapshots, and read "),
        "{words}"
    );
    assert!(words.ends_with(" of them by the steps between"), "{words}");

    // One of the steps is a pipeline, which may have changed the state.
    let by_server = Listed {
        left_out: vec!["`articles`: update {} by [] is made by a server alone".to_owned()],
        ..listed(&["m0001_first", "m0002_second"])
    };
    let checked = check(&new(), &by_server, folder.path()).expect("checked");
    assert!(checked.is_clean(), "{checked}");
    let words = checked.to_string();
    let expected =
        "\nnot checked: 1 document more, since `articles`: update {} by [] is made by a server alone";
    assert!(words.ends_with(expected), "{words}");
    assert_eq!(checked.json()["samples_unchecked"], 1);

    // Models of another version.
    let checked = check(&old(), &both, folder.path()).expect("checked");
    let words = checked.to_string();
    assert!(
        words.starts_with("the models differ from the newest snapshot: `migrate new NAME`"),
        "{words}"
    );

    // Lists that say something else than the folder.
    let has = |steps: &Listed, words: &str| {
        let problems = problems(steps);
        assert!(
            problems.iter().any(|problem| problem.contains(words)),
            "{words}: {problems:#?}"
        );
    };
    has(
        &listed(&["m0002_second", "m0001_first"]),
        "its number is not greater",
    );
    has(&listed(&["m0001_first"]), "no step `m0002_second` is listed");
    has(
        &listed(&["m0001_first", "m0002_second", "m0003_third"]),
        "has no `m0003_third.rs`",
    );
    has(
        &listed(&["m0001_first", "m0002_second", "m0003_third"]),
        "has no snapshot `m0003_third.json`",
    );
    has(
        &listed(&["m0001_first", "m0002_second", "third"]),
        "has no number",
    );
    has(
        &listed(&["m0001_first", "m0001_first", "m0002_second"]),
        "is listed twice",
    );
    std::fs::write(folder.path().join("m0007_seven.rs"), "").expect("written");
    has(&both, "has the step `m0007_seven.rs`, which is not listed");

    // A snapshot that was changed by hand.
    let file = folder.path().join("m0001_first.json");
    let whole = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, whole.replace("\"legacy\"", "\"old\"")).expect("written");
    has(&both, "was changed by hand");
    std::fs::write(&file, "[]").expect("written");
    has(&both, "is no snapshot");
    std::fs::copy(folder.path().join("m0002_second.json"), &file).expect("copied");
    has(&both, "is the snapshot of `m0002_second`");

    let nowhere = folder.path().join("nowhere");
    assert!(
        check(&new(), &both, &nowhere)
            .unwrap_err()
            .contains("`migrate new NAME` makes it")
    );
}

#[tokio::test]
async fn a_new_step_follows_a_snapshot_that_is_as_it_was_written() {
    let (folder, _) = first_and_second();
    let file = folder.path().join("m0002_second.json");
    let whole = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, whole.replace("\"slug\"", "\"snail\"")).expect("written");
    let error = write(&new(), folder.path(), "third", &[]).unwrap_err();
    assert!(
        error.contains("was changed by hand: its checksum differs"),
        "{error}"
    );
}

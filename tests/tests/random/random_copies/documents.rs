//! The documents of the operations, and those that are there at the beginning.

use super::*;

/// Documents that others refer to, and those that exist beside each of them.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "polls", version)]
pub struct Poll {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub version: i64,
}

/// It goes with its poll, and counts in a district.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "ballots", version)]
pub struct Ballot {
    #[serde(rename = "_id")]
    pub id: i32,
    pub weight: i32,
    #[field(sensitive, max_len = 40)]
    pub note: String,
    #[reference(on_delete = cascade)]
    pub poll: Ref<Poll>,
    #[denormalize(from = poll.name)]
    pub poll_name: String,
    #[parent_ref]
    pub district: Ref<District>,
    pub version: i64,
}

/// It stays, while the children of all tasks come and go.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "districts", version)]
pub struct District {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Ballot)]
    pub ballots: i64,
    #[computed(sum = Ballot.weight)]
    pub weight: i64,
    #[subset(of = Ballot, limit = 2, order(-weight), fields(weight: i32, poll_name: String))]
    pub heaviest: Vec<HeaviestEntry>,
    #[computed(first = Ballot.poll_name, order(-weight))]
    pub heaviest_of: Option<String>,
    #[computed(last = Ballot.poll_name, order(-weight), consistency = eventual)]
    pub lightest_of: Option<String>,
    pub version: i64,
}

/// A copy that is taken once.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "receipts")]
pub struct Receipt {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference]
    pub host: Ref<Host>,
    #[denormalize(from = host.name, consistency = snapshot)]
    pub host_name: String,
}

/// The document that a small one with references is linked to on both sides.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "circuses", version)]
pub struct Circus {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = circuses, max = 400)]
    pub acrobats: Vec<Ref<Acrobat>>,
    pub version: i64,
}

/// The side that is believed, since its name is the first.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "acrobats", version)]
pub struct Acrobat {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    /// No read has it, and no replacement loses it.
    pub life: Deferred<String>,
    #[reference(many, inverse = acrobats, max = 4)]
    pub circuses: Vec<Ref<Circus>>,
    #[reference(on_delete = nullify)]
    pub home: Option<Ref<Circus>>,
    #[denormalize(from = home.name, consistency = eventual)]
    pub home_name: Option<String>,
    pub version: i64,
}

/// All tasks write it, and it counts what all tasks write.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tills", version)]
pub struct Till {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub total: i64,
    /// The operations that have happened, in their order.
    #[embed(max = 50_000)]
    pub done: Vec<i32>,
    #[computed(count = Stub)]
    pub stubs: i64,
    #[computed(sum = Stub.amount, consistency = eventual)]
    pub amount: i64,
    #[subset(of = Stub, limit = 2, order(-amount), fields(amount: i32))]
    pub greatest: Vec<GreatestEntry>,
    pub version: i64,
}

/// All tasks write it, move it, and some of them delete it and make it again.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "stubs", version)]
pub struct Stub {
    #[serde(rename = "_id")]
    pub id: i32,
    pub amount: i32,
    #[embed(max = 50_000)]
    pub done: Vec<i32>,
    #[parent_ref]
    pub till: Ref<Till>,
    #[denormalize(from = till.name, consistency = eventual)]
    pub till_name: String,
    #[denormalize(from = till.total, consistency = eventual)]
    pub till_total: i64,
    pub version: i64,
}

/// A parent of books, of one of three tenants.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "shelves", version)]
pub struct Shelf {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(scope)]
    pub tenant: String,
    pub name: String,
    #[computed(count = Book)]
    pub books: i64,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books", version)]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(scope)]
    pub tenant: String,
    pub title: String,
    pub pages: i32,
    #[parent_ref]
    pub shelf: Ref<Shelf>,
    #[denormalize(from = shelf.name)]
    pub shelf_name: String,
    pub version: i64,
}

/// A parent that a deletion keeps, with its papers.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "folders", soft_delete, version)]
pub struct Folder {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Paper)]
    pub papers: i64,
    pub deleted_at: Option<DateTime>,
    pub version: i64,
}

/// The other one.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "binders", soft_delete)]
pub struct Binder {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub deleted_at: Option<DateTime>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "papers", soft_delete, version)]
pub struct Paper {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(on_delete = cascade)]
    pub folder: Ref<Folder>,
    #[denormalize(from = folder.name)]
    pub folder_name: String,
    #[reference(on_delete = cascade)]
    pub binder: Ref<Binder>,
    pub deleted_at: Option<DateTime>,
    pub version: i64,
}

/// Each of its writes leaves a trace.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "entries", after_write(in_transaction) = trace)]
pub struct Entry {
    #[serde(rename = "_id")]
    pub id: i32,
    /// That of the write.
    pub number: i32,
    pub amount: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "traces")]
pub struct Trace {
    /// The number of the write.
    #[serde(rename = "_id")]
    pub id: i32,
    pub entry: i32,
    pub amount: i32,
}

/// All tasks contend for its code.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "badges", shard_key(tenant, id), soft_delete, version)]
pub struct Badge {
    #[serde(rename = "_id")]
    pub id: i32,
    pub tenant: i32,
    #[index(unique(global))]
    pub code: Option<String>,
    pub text: String,
    pub deleted_at: Option<DateTime>,
    pub version: i64,
}

/// A handle of the documents of tenants alone: every document of a handle with a scope has its field, or says that it is shared.
pub(super) fn of_tenants(db: Database) -> Odm {
    Odm::new(db, models![Shelf, Book]).unwrap()
}

/// Documents with hooks or claims need transactions.
pub(super) fn models(with_transactions: bool) -> Vec<odm::Model> {
    let mut all = Vec::from(models![
        Host,
        Log,
        Receipt,
        Part,
        Product,
        User,
        Order,
        Shop,
        Review,
        Bar,
        Vote,
        Region,
        City,
        Street,
        Mayor,
        Well,
        Sample,
        Guard,
        Market,
        Offer,
        Course,
        Grade,
        Board,
        Line,
        Good,
        Basket,
        Team,
        Member,
        Poll,
        Ballot,
        District,
        Circus,
        Acrobat,
        Till,
        Stub,
        Post,
        CommentBucket,
        Sensor,
        ReadingBucket,
        Shelf,
        Book,
        Folder,
        Binder,
        Paper
    ]);
    if with_transactions {
        all.extend(models![Entry, Trace, Badge]);
    }
    all
}

pub(super) fn handle(db: Database, alone: bool) -> Odm {
    Odm::new(db, models(!alone)).unwrap()
}

/// Makes the documents that others refer to.
pub(super) async fn sources(odm: &Odm) {
    let ids = || 0..SOURCES;
    let text = |id: i32| format!("name {id}");
    odm.collection::<Host>()
        .insert_many(ids().map(|id| NewHost {
            id,
            name: text(id),
            ip: Some(text(id)),
            load: id,
        }))
        .await
        .unwrap();
    odm.collection::<Part>()
        .insert_many(ids().map(|id| NewPart {
            id,
            name: text(id),
            note: Some(text(id)),
            tags: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<User>()
        .insert_many(ids().map(|id| NewUser {
            id,
            name: text(id),
            mail: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<Region>()
        .insert_many(ids().map(|id| NewRegion {
            id,
            name: text(id),
            code: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<City>()
        .insert_many(ids().map(|id| NewCity {
            id,
            name: text(id),
            region: Ref::new(id),
        }))
        .await
        .unwrap();
    odm.collection::<Shop>()
        .insert_many(ids().map(|id| NewShop { id, name: text(id) }))
        .await
        .unwrap();
    macro_rules! parents {
        ($($Document:ident $New:ident),*) => {$(
            let new = ids().map(|id| $New { id, name: text(id) });
            odm.collection::<$Document>().insert_many(new).await.unwrap();
        )*};
    }
    parents!(
        Bar NewBar, Market NewMarket, Course NewCourse, Board NewBoard, District NewDistrict, Post NewPost,
        Sensor NewSensor
    );
    odm.collection::<Circus>()
        .insert_many(ids().map(|id| NewCircus {
            id,
            name: text(id),
            acrobats: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<Till>()
        .insert_many((0..TILLS).map(|id| NewTill {
            id,
            name: String::new(),
            total: 0,
            done: vec![],
        }))
        .await
        .unwrap();
    odm.collection::<Stub>()
        .insert_many((0..STUBS).map(|id| NewStub {
            id,
            amount: 0,
            done: vec![],
            till: Ref::new(id % TILLS),
        }))
        .await
        .unwrap();
    odm.collection::<Good>()
        .insert_many(ids().map(|id| NewGood {
            id,
            name: text(id),
            note: Some(text(id)),
        }))
        .await
        .unwrap();
    odm.collection::<Team>()
        .insert_many(ids().map(|id| NewTeam {
            id,
            name: text(id),
            members: vec![],
        }))
        .await
        .unwrap();
    let of = of_tenants(odm.database().clone());
    for id in ids() {
        let shelf = NewShelf { id, name: text(id) };
        let of = scoped(&of, tenant_of(id));
        of.collection::<Shelf>().insert(shelf).await.unwrap();
    }
}

pub(super) const COLLECTIONS: [&str; 45] = [
    "hosts",
    "logs",
    "receipts",
    "parts",
    "products",
    "users",
    "orders",
    "shops",
    "reviews",
    "bars",
    "votes",
    "regions",
    "cities",
    "streets",
    "mayors",
    "wells",
    "samples",
    "markets",
    "offers",
    "courses",
    "grades",
    "boards",
    "lines",
    "goods",
    "baskets",
    "teams",
    "members",
    "polls",
    "ballots",
    "districts",
    "posts",
    "sensors",
    "guards",
    "circuses",
    "acrobats",
    "tills",
    "stubs",
    "shelves",
    "books",
    "folders",
    "binders",
    "papers",
    "entries",
    "traces",
    "badges",
];

/// The data in buckets: the items, the collection, the parent.
pub(super) const BUCKETS: [(&str, &str, &str); 2] = [
    ("comments", "comment_buckets", "post"),
    ("readings", "reading_buckets", "sensor"),
];

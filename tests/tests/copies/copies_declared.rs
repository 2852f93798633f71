//! Declarations of copies, subsets and computed fields: types, constants, conditions, indexes.

mod one_to_many {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[index(unique)]
        pub partno: String,
        pub name: String,
        #[volatile]
        pub qty: i32,
        pub price: f64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub name: String,
        #[index]
        pub manufacturer: String,
        #[index(unique)]
        pub catalog_number: i32,
        #[reference(many, max = 2000)]
        #[denormalize(from = Part, fields(name: String))]
        pub parts: Vec<PartEntry>,
    }

    /// That the operations of the program are there, with their types.
    pub async fn compiles(odm: Odm, made: Vec<Part>, product: Product) -> odm::Result<()> {
        let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
        products
            .insert(NewProduct {
                name: "left-handed smoke shifter".into(),
                manufacturer: "Acme Corp".into(),
                catalog_number: 1234,
                parts: made.iter().map(Part::to_ref).collect(),
            })
            .await?;
        let _: &String = &product.parts[0].name;
        let _: Vec<Part> = product.parts.load(&odm).await?;
        let _: Vec<(Product, Vec<Part>)> = products
            .find(|p| p.manufacturer.eq("Acme Corp"))
            .include(|p| p.parts)
            .all()
            .await?;
        let part = || made[0].to_ref();
        products.update(product.id).pull(|p| p.parts, part()).await?;
        products.update(product.id).push(|p| p.parts, part()).await?;
        products
            .update(product.id)
            .add_to_set(|p| p.parts, part())
            .await?;
        products
            .update(product.id)
            .push_all(|p| p.parts, [part()])
            .await?;
        products.update(product.id).set(|p| p.parts, vec![part()]).await?;
        products
            .update(product.id)
            .pull(|p| p.parts, &product.parts[0])
            .await?;
        products.find(|p| p.parts.contains(part())).all().await?;
        products.find(|p| p.parts.name.eq("fan blade")).all().await?;
        parts.update(made[0].id).set(|p| p.name, "#5 grommet").await?;
        Ok(())
    }
}

mod one_to_squillions {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "hosts")]
    pub struct Host {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub name: String,
        #[index(unique)]
        pub ipaddr: String,
        #[subset(of = LogMsg, limit = 1000, order(time), fields(time: DateTime, message: String))]
        pub logmsgs: Vec<LogmsgsEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "logmsg")]
    pub struct LogMsg {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub time: DateTime,
        pub message: String,
        #[parent_ref(order(-time))]
        pub host: Ref<Host>,
        #[denormalize(from = host.ipaddr)]
        #[index]
        pub ipaddr: String,
    }

    pub fn new(host: &Host) -> (NewHost, NewLogMsg) {
        (
            NewHost {
                name: "goofy.example.com".into(),
                ipaddr: "127.66.66.66".into(),
            },
            NewLogMsg {
                time: DateTime::from_millis(0),
                message: "cpu is on fire!".into(),
                host: host.to_ref(),
            },
        )
    }
}

mod subset {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        #[subset(of = Review, limit = 10, order(-published_date))]
        pub reviews: Vec<RecentReview>,
        #[computed(count = Review)]
        pub review_count: i64,
        #[computed(avg = Review.stars)]
        pub rating: Average,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[denormalize(from = Review)]
    pub struct RecentReview {
        #[serde(rename = "review_id")]
        pub id: Ref<Review>,
        pub review_author: String,
        pub review_text: String,
        pub published_date: DateTime,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "reviews")]
    pub struct Review {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[parent_ref(order(-published_date), on_delete = cascade)]
        #[serde(rename = "product_id")]
        pub product: Ref<Product>,
        pub review_author: String,
        pub review_text: String,
        pub stars: i32,
        pub published_date: DateTime,
    }

    pub fn new() -> NewProduct {
        NewProduct {
            id: 1,
            name: "Super Widget".into(),
        }
    }
}

/// Further declarations.
mod forms {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    /// Its own child, with copies of its own kind: no constant may need itself.
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "categories")]
    #[serde(rename_all = "camelCase")]
    pub struct Category {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub display_name: String,
        #[parent_ref]
        pub above: Option<Ref<Category>>,
        #[denormalize(from = above.display_name, consistency = eventual)]
        pub above_name: Option<String>,
        #[subset(of = Category, limit = 5, order(display_name), keep = first, fields(display_name: String))]
        pub below: Vec<BelowEntry>,
        #[reference(many, max = 10, on_delete = pull)]
        #[denormalize(from = Category, fields(display_name: String), consistency = atomic)]
        pub related: Vec<RelatedEntry>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Address {
        pub street: String,
        pub city: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "users", timestamps, version)]
    pub struct User {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        pub nick: Option<String>,
        pub address: Address,
        #[embed(max = 5)]
        pub tags: Vec<String>,
        pub joined: DateTime,
        #[computed(count = Comment, by = author, filter = |c| c.stars.gte(4))]
        pub praised: u32,
        #[computed(sum = Comment.stars, by = author)]
        pub stars: i64,
        #[computed(max = Comment.at, by = author)]
        pub last: Option<DateTime>,
        #[computed(min = Comment.stars, by = author, consistency = eventual)]
        pub worst: Option<i32>,
        #[subset(of = Comment, by = author, limit = 3, order(-stars, -at), filter = |c| c.stars.gt(0))]
        pub best: Vec<Praise>,
        pub updated_at: DateTime,
        pub version: i64,
    }

    /// Without an id: a comment never changes.
    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[denormalize(from = Comment)]
    pub struct Praise {
        pub stars: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "comments", append_only)]
    pub struct Comment {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[parent_ref]
        pub author: Ref<User>,
        #[parent_ref]
        pub about: Ref<User>,
        #[denormalize(from = author.name, consistency = snapshot)]
        pub author_name: String,
        #[denormalize(from = author.nick)]
        pub author_nick: Option<String>,
        #[denormalize(from = author.address)]
        pub author_address: Address,
        pub stars: i32,
        pub at: DateTime,
    }

    fn as_text<S: serde::Serializer>(n: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&n.to_string())
    }

    fn of_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    #[serde(rename_all = "camelCase")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[reference(on_delete = nullify, index = false)]
        #[denormalize(from = User, fields(name: String, nick: Option<String>))]
        pub placed_by: Option<UserEntry>,
        #[reference]
        #[denormalize(from = User)]
        pub sent_to: Receiver,
        #[serde(serialize_with = "as_text", deserialize_with = "of_text")]
        #[field(stored = String)]
        pub order_number: i64,
        #[serde(flatten)]
        pub address: Address,
        #[serde(skip)]
        pub cache: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub note: Option<String>,
    }

    /// Its case stands beside something else in one attribute.
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
    #[document(collection = "labels")]
    #[serde(default, rename_all = "camelCase")]
    pub struct Label {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub written_by: Option<Ref<User>>,
        #[denormalize(from = written_by.name)]
        pub writer_name: Option<String>,
        pub short_text: String,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[denormalize(from = User, consistency = snapshot)]
    #[serde(rename_all = "camelCase")]
    pub struct Receiver {
        #[reference(check = false)]
        pub user: Ref<User>,
        #[serde(rename = "who")]
        pub name: String,
        pub address: Option<Address>,
        #[embed(max = 5)]
        pub tags: Vec<String>,
    }
}

use forms::{Category, Comment, NewOrder, Order, Praise, Receiver, User, UserEntry};
use mongodb::bson::{Document as Bson, doc};
use odm::__private as meta;
use odm::prelude::*;
use odm::references::{Consistency, CopyOf};
use odm::update::Changes;
use odm::write::{Fresh, Insertable};
use odm_tests::with_db;
use one_to_many::{NewProduct, Part, PartEntry, Product};

fn fields<T: meta::Fielded>(name: &str) -> &'static meta::FieldMeta {
    T::FIELDS.iter().find(|field| field.rust == name).unwrap()
}

fn part(n: u8) -> Ref<Part> {
    Ref::new(ObjectId::from_bytes([n; 12]))
}

#[odm_tests::test]
fn a_copied_field_names_its_reference_and_its_source() {
    let _ = (one_to_many::compiles, one_to_squillions::new, subset::new());
    let Some(meta::Copied::Field(copy)) = fields::<one_to_squillions::LogMsg>("ipaddr").copied else {
        panic!("no copy");
    };
    assert_eq!(
        (copy.through, (copy.source)(), copy.consistency),
        ("host", "ipaddr", Consistency::Auto)
    );
    let Some(meta::Copied::Field(copy)) = fields::<Category>("above_name").copied else {
        panic!("no copy");
    };
    assert_eq!(
        (copy.through, (copy.source)(), copy.consistency),
        ("above", "displayName", Consistency::Eventual)
    );
    assert!(fields::<Part>("qty").volatile && !fields::<Part>("name").volatile);
    assert!(Comment::META.append_only && !User::META.append_only);
}

#[odm_tests::test]
fn an_entry_is_a_struct_with_a_reference_and_copies() {
    let parts = fields::<Product>("parts");
    assert!(parts.copied.is_none() && parts.reference.is_none());
    assert_eq!(parts.bounds.max_items, Some(2000));
    assert!(fields::<PartEntry>("id").reference.is_some());
    let Some(meta::Copied::Field(copy)) = fields::<PartEntry>("name").copied else {
        panic!("no copy");
    };
    assert_eq!((copy.through, (copy.source)()), ("id", "name"));

    let related = fields::<forms::RelatedEntry>("id").reference.unwrap();
    assert_eq!(related.on_delete, odm::references::OnDelete::Pull);
    let placed_by = fields::<UserEntry>("id").reference.unwrap();
    assert_eq!(
        (placed_by.on_delete, placed_by.index),
        (odm::references::OnDelete::Nullify, false)
    );
    let user = fields::<Receiver>("user");
    assert!(!user.reference.unwrap().check);
    let Some(meta::Copied::Field(copy)) = fields::<Receiver>("name").copied else {
        panic!("no copy");
    };
    assert_eq!(
        (copy.through, (copy.source)(), copy.consistency),
        ("user", "name", Consistency::Snapshot)
    );
    let named: Vec<_> = <Receiver as CopyOf<User>>::COPIED
        .iter()
        .map(|field| (field.name, field.source))
        .collect();
    assert_eq!(
        named,
        [
            ("user", "_id"),
            ("who", "name"),
            ("address", "address"),
            ("tags", "tags")
        ]
    );
}

#[odm_tests::test]
fn a_subset_names_its_children_their_order_and_fields() {
    let Some(meta::Copied::Subset(logs)) = fields::<one_to_squillions::Host>("logmsgs").copied else {
        panic!("no subset");
    };
    assert_eq!(
        ((logs.child)().collection, (logs.parent)().name),
        ("logmsg", "host")
    );
    assert_eq!((logs.limit, logs.last), (1000, true));
    assert_eq!(
        fields::<one_to_squillions::Host>("logmsgs").bounds.max_items,
        Some(1000)
    );
    let named: Vec<_> = (logs.fields)()
        .iter()
        .map(|field| (field.name, field.source))
        .collect();
    assert_eq!(named, [("id", "_id"), ("time", "time"), ("message", "message")]);

    let Some(meta::Copied::Subset(reviews)) = fields::<subset::Product>("reviews").copied else {
        panic!("no subset");
    };
    assert_eq!(
        (reviews.limit, reviews.last, (reviews.parent)().name),
        (10, false, "product_id")
    );
    assert_eq!(
        (reviews.fields)()[0],
        meta::CopiedField {
            name: "review_id",
            source: "_id"
        }
    );

    let Some(meta::Copied::Subset(below)) = fields::<Category>("below").copied else {
        panic!("no subset");
    };
    assert_eq!((below.last, (below.order[0].path)()), (false, "displayName"));

    let Some(meta::Copied::Subset(best)) = fields::<User>("best").copied else {
        panic!("no subset");
    };
    assert_eq!((best.parent)().name, "author");
    let keys: Vec<_> = best.order.iter().map(|key| ((key.path)(), key.kind)).collect();
    assert_eq!(
        keys,
        [
            ("stars", meta::IndexKind::Descending),
            ("at", meta::IndexKind::Descending)
        ]
    );
    let filter = Bson::try_from(&best.filter.unwrap()().unwrap()).unwrap();
    assert_eq!(filter, doc! { "stars": { "$gt": 0 } });
    assert_eq!(<Praise as CopyOf<Comment>>::COPIED.len(), 1);
    let _ = |praise: Praise| praise.clone() == praise;
}

#[odm_tests::test]
fn a_computed_field_names_its_source_fields() {
    let computed = |name: &str| match fields::<User>(name).copied {
        Some(meta::Copied::Computed(computed)) => computed,
        _ => panic!("not computed"),
    };
    let of = |name: &str| (computed(name).operation, computed(name).of.map(|of| of()));
    assert_eq!(of("praised"), (meta::Operation::Count, None));
    assert!(computed("praised").filter.is_some());
    assert_eq!(of("stars"), (meta::Operation::Sum, Some("stars")));
    assert_eq!(of("last"), (meta::Operation::Max, Some("at")));
    assert_eq!(of("worst"), (meta::Operation::Min, Some("stars")));
    assert_eq!(computed("worst").consistency, Consistency::Eventual);
    assert_eq!((computed("stars").parent)().name, "author");
}

#[odm_tests::test]
fn a_new_document_is_stored_as_serde_says_without_derived_fields() {
    let fresh = NewProduct {
        name: "shifter".into(),
        manufacturer: "Acme".into(),
        catalog_number: 7,
        parts: vec![part(1), part(2)],
    }
    .fresh(DateTime::from_millis(0));
    let Fresh::Partial(Ok(raw)) = fresh else {
        panic!("{fresh:?}")
    };
    let mut stored = Bson::try_from(&raw).unwrap();
    assert!(stored.remove("_id").is_some());
    assert_eq!(
        stored,
        doc! {
            "name": "shifter", "manufacturer": "Acme", "catalog_number": 7,
            "parts": [{ "id": part(1).into_key() }, { "id": part(2).into_key() }],
        }
    );

    let new = |placed_by| NewOrder {
        placed_by,
        sent_to: Ref::new(8),
        order_number: 1234,
        address: forms::Address {
            street: "Am Hof".into(),
            city: "Bonn".into(),
        },
        note: None,
    };
    let bson = |fresh: Fresh<Order>| match fresh {
        Fresh::Partial(raw) => {
            let mut stored = Bson::try_from(&raw.unwrap()).unwrap();
            stored.remove("_id");
            stored
        }
        Fresh::Whole(order) => panic!("{order:?}"),
    };
    assert_eq!(
        bson(new(Some(Ref::new(7))).fresh(DateTime::from_millis(0))),
        doc! {
            "placedBy": { "id": 7 }, "sentTo": { "user": 8 }, "orderNumber": "1234", "street": "Am Hof", "city": "Bonn",
        }
    );
    assert_eq!(
        bson(new(None).fresh(DateTime::from_millis(0))).get("placedBy"),
        Some(&mongodb::bson::Bson::Null)
    );
}

#[odm_tests::test]
fn the_case_of_a_new_document_is_that_of_the_document() {
    let fresh = forms::NewLabel {
        id: 1,
        written_by: Some(Ref::new(7)),
        short_text: "new".into(),
    }
    .fresh(DateTime::from_millis(0));
    let Fresh::Partial(Ok(raw)) = fresh else {
        panic!("{fresh:?}")
    };
    assert_eq!(
        Bson::try_from(&raw).unwrap(),
        doc! { "_id": 1, "writtenBy": 7, "shortText": "new" }
    );
    let read: forms::Label = mongodb::bson::deserialize_from_slice(raw.as_bytes()).unwrap();
    assert_eq!(
        (read.written_by, read.short_text),
        (Some(Ref::new(7)), "new".into())
    );
}

#[odm_tests::test]
fn an_entry_is_compared_by_its_reference() {
    let p = Product::paths();
    let entry = PartEntry {
        id: part(1),
        name: "old name".into(),
    };
    let id = part(1).into_key();
    assert_eq!(
        p.parts.contains(part(1)).into_document().unwrap(),
        doc! { "parts.id": { "$eq": id } }
    );
    assert_eq!(
        p.parts.contains(&entry).into_document().unwrap(),
        doc! { "parts.id": { "$eq": id } }
    );
    assert_eq!(
        p.parts.contains_any([part(1), part(2)]).into_document().unwrap(),
        doc! { "parts.id": { "$in": [id, part(2).into_key()] } }
    );
    assert_eq!(
        p.parts.contains_all([&entry]).into_document().unwrap(),
        doc! { "parts.id": { "$all": [id] } }
    );
    let o = Order::paths();
    assert_eq!(
        o.placed_by.eq(Ref::new(7)).into_document().unwrap(),
        doc! { "placedBy.id": { "$eq": 7 } }
    );
    assert_eq!(
        o.placed_by.eq(None).into_document().unwrap(),
        doc! { "placedBy.id": { "$eq": null } }
    );
    assert_eq!(
        o.sent_to.in_([Ref::new(7), Ref::new(8)]).into_document().unwrap(),
        doc! { "sentTo.user": { "$in": [7, 8] } }
    );
    assert_eq!(
        o.placed_by.name.eq("Kate").into_document().unwrap(),
        doc! { "placedBy.name": { "$eq": "Kate" } }
    );
}

#[odm_tests::test]
fn an_entry_is_written_by_its_reference() {
    let text = |changes: Changes<Product>| format!("{changes:?}");
    let id = part(1).into_key();
    let entry = || PartEntry {
        id: part(1),
        name: "old name".into(),
    };
    let pushed = text(Changes::<Product>::new().push(|p| p.parts, part(1)));
    assert!(
        pushed.contains(&format!("{:?}", doc! { "$push": { "parts": { "id": id } } })),
        "{pushed}"
    );
    let pull = format!("{:?}", doc! { "$pull": { "parts": { "id": { "$in": [id] } } } });
    for pulled in [
        text(Changes::<Product>::new().pull(|p| p.parts, part(1))),
        text(Changes::<Product>::new().pull(|p| p.parts, entry())),
    ] {
        assert!(pulled.contains(&pull), "{pulled}");
    }
    let set = text(Changes::<Product>::new().set(|p| p.parts, vec![part(1)]));
    assert!(
        set.contains(&format!("{:?}", doc! { "$set": { "parts": [{ "id": id }] } })),
        "{set}"
    );
    let replaced = text(Changes::<Product>::new().replace_item(|p| p.parts, part(1), part(2)));
    assert!(
        replaced.contains(&format!("{:?}", doc! { "e0.id": { "$eq": id } })),
        "{replaced}"
    );
}

#[odm_tests::test]
fn an_entry_is_joined_as_its_reference_would_be() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), odm::models![Part, Product]).unwrap();
        let made: Vec<Part> = ["#4 grommet", "fan blade", "switch"]
            .iter()
            .enumerate()
            .map(|(n, name)| Part {
                id: part(n as u8 + 1).into_key(),
                partno: n.to_string(),
                name: (*name).into(),
                qty: 94,
                price: 3.99,
            })
            .collect();
        odm.collection::<Part>().insert_many(made.clone()).await.unwrap();
        let entries = [2_u8, 1, 3].map(|n| doc! { "id": part(n).into_key(), "name": "as it was" });
        let product = doc! {
            "_id": ObjectId::new(), "name": "shifter", "manufacturer": "Acme", "catalog_number": 1,
            "parts": entries.to_vec(),
        };
        t.db.collection::<Bson>("products")
            .insert_one(product)
            .await
            .unwrap();

        let products = odm.collection::<Product>();
        let product = products
            .find(|p| p.parts.contains(part(3)))
            .one()
            .await
            .unwrap()
            .unwrap();
        let wanted = vec![made[1].clone(), made[0].clone(), made[2].clone()];
        assert_eq!(product.parts.load(&odm).await.unwrap(), wanted);
        assert_eq!(product.parts[0].load(&odm).await.unwrap(), made[1]);
        let joined = products.find_all().include(|p| p.parts).all().await.unwrap();
        assert_eq!(joined, [(product.clone(), wanted.clone())]);
        let joined = products
            .find_all()
            .include(|p| p.parts)
            .lookup()
            .all()
            .await
            .unwrap();
        assert_eq!(joined, [(product.clone(), wanted)]);
        let missing = Product {
            parts: vec![PartEntry {
                id: part(9),
                name: "gone".into(),
            }],
            ..product
        };
        let error = missing.parts.load(&odm).await.unwrap_err();
        assert!(
            matches!(error, odm::Error::MissingReference { target: "parts", .. }),
            "{error}"
        );
    });
}

#[odm_tests::test]
fn a_raw_update_of_an_append_only_document_is_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), odm::models![User, Comment]).unwrap();
        let comments = odm.collection::<Comment>();
        let raw = comments
            .update_where(|c| c.stars.gt(0))
            .raw(doc! { "$set": { "stars": 5 } })
            .await;
        assert!(
            matches!(raw, Err(odm::Error::Query { ref message, .. }) if message.contains("append_only")),
            "{raw:?}"
        );
    });
}

mod volatile {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "walls")]
    pub struct Wall {
        #[serde(rename = "_id")]
        pub id: i32,
        #[computed(count = Poster, filter = |p| p.views.gte(100))]
        pub seen: i64,
        #[subset(of = Poster, limit = 3, order(-state.shown), fields(title: String))]
        pub shown: Vec<Shown>,
        #[computed(count = Poster, filter = |p| p.title.eq("new"))]
        pub new: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "posters")]
    pub struct Poster {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub wall: Ref<Wall>,
        #[field(max_len = 20)]
        pub title: String,
        #[volatile]
        pub views: i64,
        pub state: State,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug)]
    pub struct State {
        #[volatile]
        pub shown: i64,
    }
}

#[odm_tests::test]
fn a_volatile_field_is_refused_as_a_source_of_derived_values() {
    use volatile::{Poster, Wall};
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), odm::models![Wall, Poster]).unwrap_err();
        let odm::Error::Models { problems } = &error else {
            panic!("{error}")
        };
        assert_eq!(problems.len(), 2, "{error}");
        assert!(
            problems[0].starts_with("`Wall.seen` depends on `Poster.views`, which is `#[volatile]`"),
            "{error}"
        );
        assert!(
            problems[1].starts_with("`Wall.shown` depends on `Poster.state.shown`, which is `#[volatile]`"),
            "{error}"
        );
    });
}

/// One source, and holders that refer to it in every way.
mod indexed {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "songs")]
    pub struct Song {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "covers")]
    pub struct Cover {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub song: Ref<Song>,
        #[denormalize(from = song.name)]
        pub song_name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "plays")]
    pub struct Play {
        #[serde(rename = "_id")]
        pub id: i32,
        pub at: DateTime,
        #[parent_ref(order(-at))]
        pub song: Ref<Song>,
        #[denormalize(from = song.name)]
        pub song_name: String,
    }

    /// Without an index of the reference's own.
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "notes")]
    pub struct Note {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(index = false)]
        pub song: Ref<Song>,
        #[denormalize(from = song.name, consistency = eventual)]
        pub song_name: String,
    }

    /// Nothing is delivered to it.
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "sales")]
    pub struct Sale {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(index = false)]
        pub song: Ref<Song>,
        #[denormalize(from = song.name, consistency = snapshot)]
        pub song_name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "lists")]
    pub struct List {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 10, index = false)]
        #[denormalize(from = Song, fields(name: String))]
        pub songs: Vec<SongEntry>,
    }
}

/// A delivery finds its holders by their reference and goes on by their ids; a recovery finds pending work.
#[odm_tests::test]
fn the_index_that_a_delivery_needs_is_declared_by_its_edge() {
    use indexed::{Cover, List, Note, Play, Sale, Song};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Song, Cover, Play, Note, Sale, List]).unwrap();
        let words = odm.plan().await.unwrap().to_string();
        for (collection, index) in [
            ("covers", "`song_1__id_1` on song, _id, for the reference"),
            (
                "plays",
                "`song_1_at_-1` on song, at (descending), for the reference",
            ),
            ("plays", "`song_1__id_1` on song, _id, for the reference"),
            ("notes", "`song_1__id_1` on song, _id, for the reference"),
            ("lists", "`songs.id_1__id_1` on songs.id, _id, for the reference"),
            (
                "songs",
                "`_odm.pending.operation_1` on _odm.pending.operation, sparse, for pending work",
            ),
        ] {
            let line = format!("`{collection}`: create index {index}");
            assert!(words.lines().any(|told| told.trim() == line), "{line}\n{words}");
        }
        // None for what is taken once, and none twice.
        assert!(!words.contains("`sales`: create index `song"), "{words}");
        assert!(!words.contains("`song_1` on"), "{words}");
        assert_eq!(
            words.matches("`covers`: create index `song").count(),
            1,
            "{words}"
        );
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

mod closed {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "hosts")]
    #[serde(deny_unknown_fields)]
    pub struct Host {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "lines")]
    pub struct Line {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub host: Ref<Host>,
        #[denormalize(from = host.name)]
        pub host_name: String,
    }
}

/// The version of a source stands in it, and it could not be read any more.
#[odm_tests::test]
fn a_source_takes_fields_that_it_does_not_declare() {
    use closed::{Host, Line};
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), odm::models![Host, Line]).unwrap_err();
        let odm::Error::Models { problems } = &error else {
            panic!("{error}")
        };
        assert_eq!(problems.len(), 1, "{error}");
        assert!(
            problems[0].starts_with("`Host` has") && problems[0].contains("`#[serde(deny_unknown_fields)]`"),
            "{error}"
        );
        assert!(Odm::new(t.db.clone(), odm::models![Host]).is_ok());
    });
}

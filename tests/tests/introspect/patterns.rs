//! The patterns that no set of other people has: references by UUID, `DBRef` and a type beside them, subsets, computed fields, buckets
//! and trees.

use mongodb::bson::{self, Document, doc, oid::ObjectId, spec::BinarySubtype};
use odm_introspect::design::{Compared, ComputedKind, Design};
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::{TestDb, with_db};

/// A number that looks like chance, and is the same in each run.
fn mixed(number: u64) -> u64 {
    let number = (number + 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn uuid(number: u64) -> bson::Binary {
    let bytes = [
        mixed(number).to_be_bytes(),
        mixed(number + 1_000_000).to_be_bytes(),
    ]
    .concat();
    bson::Binary {
        subtype: BinarySubtype::Uuid,
        bytes,
    }
}

fn id(collection: u8, number: u64) -> ObjectId {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&(1_700_000_000 + number as u32 * 60).to_be_bytes());
    bytes[4] = collection;
    bytes[8..].copy_from_slice(&(number as u32).to_be_bytes());
    ObjectId::from_bytes(bytes)
}

fn date(minutes: u64) -> bson::DateTime {
    bson::DateTime::from_millis(1_700_000_000_000 + minutes as i64 * 60_000)
}

/// A shop: 40 products, 300 reviews of them by 60 users, comments on both, sensors with buckets of 20 readings, and a tree.
async fn shop(t: &TestDb) {
    let reviews: Vec<Document> = (0..300)
        .map(|at| {
            doc! {
                "_id": id(2, at), "product": id(1, mixed(at) % 40), "user": uuid(mixed(at + 7) % 60),
                "stars": (mixed(at + 99) % 5 + 1) as i32, "title": format!("Review number {at}"), "at": date(at),
            }
        })
        .collect();
    let products = (0..40).map(|at| {
        let mut own: Vec<&Document> = reviews
            .iter()
            .filter(|review| review.get_object_id("product").unwrap() == id(1, at))
            .collect();
        own.sort_by_key(|review| std::cmp::Reverse(review.get_datetime("at").unwrap().timestamp_millis()));
        let newest: Vec<Document> = own
            .iter()
            .take(3)
            .map(|review| doc! { "_id": review.get_object_id("_id").unwrap(), "title": review.get_str("title").unwrap() })
            .collect();
        let stars: i32 = own.iter().map(|review| review.get_i32("stars").unwrap()).sum();
        doc! {
            "_id": id(1, at), "name": format!("Product {at}"), "newest": newest, "reviews": own.len() as i32,
            "average": if own.is_empty() { 0.0 } else { f64::from(stars) / own.len() as f64 },
            "seller": { "$ref": "users", "$id": uuid(at % 9) },
        }
    });
    let users = (0..60).map(|at| doc! { "_id": uuid(at), "name": format!("User {at}") });
    let comments = (0..120).map(|at| {
        let (on, kind) = match at % 3 {
            0 => (id(1, at % 40), "product"),
            _ => (id(2, at), "review"),
        };
        doc! { "_id": id(3, at), "on": on, "kind": kind, "text": format!("Comment {at}") }
    });
    let buckets = (0..30).map(|at| {
        let readings: Vec<Document> = (0..20 - at % 3)
            .map(|item| doc! { "at": date(at * 20 + item), "value": mixed(at * 20 + item) as f64 / 7.0 })
            .collect();
        let number = readings.len() as i32;
        doc! {
            "_id": id(4, at), "sensor": format!("sensor-{}", at % 6), "from": date(at * 20), "to": date(at * 20 + 19),
            "readings": readings, "number": number,
        }
    });
    let sensors = (0..6).map(|at| doc! {
        "_id": format!("sensor-{at}"), "place": { "type": "Point", "coordinates": [at as f64 * 1.5, 47.0 + at as f64] },
    });
    let categories = (0..31_u64).map(|at| {
        let mut ancestors = Vec::new();
        let mut above = at;
        while above > 0 {
            above = (above - 1) / 2;
            ancestors.push(id(5, above));
        }
        ancestors.reverse();
        let way: Vec<String> = ancestors.iter().map(|id: &ObjectId| id.to_hex()).collect();
        let mut category = doc! {
            "_id": id(5, at), "name": format!("Category {at}"), "ancestors": ancestors, "way": way.join("/"),
        };
        if at > 0 {
            category.insert("parent", id(5, (at - 1) / 2));
        }
        category
    });
    for (name, documents) in [
        ("reviews", reviews.clone()),
        ("products", products.collect()),
        ("users", users.collect()),
        ("comments", comments.collect()),
        ("buckets", buckets.collect()),
        ("sensors", sensors.collect()),
        ("categories", categories.collect::<Vec<_>>()),
    ] {
        t.db.collection::<Document>(name)
            .insert_many(documents)
            .await
            .unwrap();
    }
}

fn reference<'a>(design: &'a Design, from: (&str, &str), to: &str) -> &'a odm_introspect::design::Reference {
    design
        .references
        .iter()
        .find(|reference| {
            reference.from.collection == from.0
                && reference.from.paths == [from.1]
                && reference.to.collection == to
        })
        .unwrap_or_else(|| panic!("{from:?} → {to} is not among {:#?}", design.references))
}

#[odm_tests::test]
fn a_shop_shows_its_references_and_what_is_derived() {
    with_db(async |t| {
        shop(&t).await;
        let design = odm_introspect::introspect(&Source::new(&t.db, ReadOptions::default()))
            .await
            .unwrap();
        let product = reference(&design, ("reviews", "product"), "products");
        assert_eq!((product.found, product.dangling, product.many), (300, 0, false));
        assert_eq!(reference(&design, ("reviews", "user"), "users").found, 300);
        assert_eq!(
            reference(&design, ("products", "seller.$id"), "users").compared,
            Compared::DbRef
        );
        for (target, value, number) in [("products", "product", 40), ("reviews", "review", 80)] {
            let on = reference(&design, ("comments", "on"), target);
            let told = on.told.as_ref().unwrap();
            assert_eq!(
                (told.path.as_str(), &told.values[..], on.found),
                ("kind", &[value.to_owned()][..], number)
            );
        }
        assert!(reference(&design, ("categories", "ancestors[]"), "categories").many);
        assert!(!reference(&design, ("categories", "parent"), "categories").many);
        assert_eq!(reference(&design, ("buckets", "sensor"), "sensors").found, 30);
        let [subset] = &design.subsets[..] else {
            panic!("{:#?}", design.subsets)
        };
        assert_eq!(
            (subset.path.as_str(), subset.limit, subset.by),
            ("newest", 3, product.id)
        );
        let computed = |path: &str| {
            let computed = design
                .computed
                .iter()
                .find(|computed| computed.path == path)
                .unwrap();
            (computed.kind, computed.of.clone(), computed.different)
        };
        assert_eq!(computed("reviews"), (ComputedKind::CountOfReferrers, vec![], 0));
        assert_eq!(
            computed("average"),
            (ComputedKind::AverageOfReferrers, vec!["stars".to_owned()], 0)
        );
        assert_eq!(
            computed("number"),
            (ComputedKind::Length, vec!["readings".to_owned()], 0)
        );
        let [tree] = &design.trees[..] else {
            panic!("{:#?}", design.trees)
        };
        assert_eq!(
            (
                tree.path.as_str(),
                tree.key.as_str(),
                tree.separator.as_str(),
                tree.equal,
                tree.own
            ),
            ("way", "_id", "/", 30, false)
        );
        let [bucket] = &design.buckets[..] else {
            panic!("{:#?}", design.buckets)
        };
        assert_eq!(
            (bucket.key.as_str(), bucket.items.as_str(), bucket.limit),
            ("sensor", "readings", 20)
        );
        let place = design.collection("sensors").unwrap().root.at("place").unwrap();
        assert!(place.map.is_none());
    });
}

#[odm_tests::test]
fn no_value_is_in_a_design_without_values() {
    with_db(async |t| {
        shop(&t).await;
        let partial = doc! { "key": { "user": 1 }, "name": "user_1", "partialFilterExpression": { "title": { "$gt": "Review number 9" } } };
        let index = doc! { "createIndexes": "reviews", "indexes": [partial] };
        t.db.run_command(index).await.unwrap();
        let options = ReadOptions {
            values: false,
            ..ReadOptions::default()
        };
        let design = odm_introspect::introspect(&Source::new(&t.db, options))
            .await
            .unwrap();
        assert!(!design.references.is_empty());
        let mut written = serde_json::to_string(&design).unwrap();
        for file in odm_introspect::code::write(&design) {
            written.push_str(&file.text);
        }
        for value in ["Review number", "User 1", "sensor-1", "Category 3", "Comment 7"] {
            assert!(!written.contains(value), "{value} in {written}");
        }
    });
}

//! Wildcard indexes: created, compared, and used by a query on a name that no model knows.

use odm::bson::doc;
use odm::prelude::*;
use odm::query::Filter;
use odm_tests::{skip, with_db};
use std::collections::BTreeMap;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products", index(wildcard, exclude(notes), name = "everything"))]
struct Product {
    id: i32,
    #[index(wildcard)]
    #[embed(max = 50, key_len = 40)]
    attributes: BTreeMap<String, String>,
    notes: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "products",
    index(wildcard, include(attributes), name = "everything")
)]
struct Other {
    id: i32,
    #[embed(max = 50, key_len = 40)]
    attributes: BTreeMap<String, String>,
    notes: String,
}

#[odm_tests::test]
fn a_wildcard_index_is_created_as_it_is_declared() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Product]).unwrap();
        let probe = doc! { "createIndexes": "probe", "indexes": [{ "key": { "$**": 1 }, "name": "probe" }] };
        if t.db.run_command(probe).await.is_err() {
            skip("needs wildcard indexes");
        }
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let products = odm.collection::<Product>();
        let attributes = BTreeMap::from([("colour".to_owned(), "red".to_owned())]);
        let product = NewProduct {
            id: 1,
            attributes,
            notes: String::new(),
        };
        products.insert(product).await.unwrap();
        let red = products.find(|_| Filter::raw(doc! { "attributes.colour": "red" }));
        assert_eq!(red.count().await.unwrap(), 1);
        let other = Odm::new(t.db.clone(), models![Other]).unwrap();
        let plan = other.plan().await.unwrap().to_string();
        assert!(
            plan.contains("it holds all fields but notes, declared attributes"),
            "{plan}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "plain")]
struct Plain {
    id: i32,
    #[index(wildcard)]
    name: String,
}

#[odm_tests::test]
fn a_wildcard_below_a_single_value_is_refused() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Plain]).unwrap_err();
        let expected = "is a wildcard, and `name` is a single value with no fields below it";
        assert!(error.to_string().contains(expected), "{error}");
    });
}

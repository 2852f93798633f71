//! A unique index over documents that lack the field: `null` is the value that they share. Asked again and again of those who
//! meet it: Automattic/mongoose #4562 and #3984, mongodb/laravel-mongodb #556.

use mongodb::bson::{Document as Doc, doc};
use odm::Error;
use odm::prelude::*;
use odm_tests::with_db;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
struct Person {
    id: i32,
    #[index(unique)]
    email: Option<String>,
}

fn person(id: i32, email: Option<&str>) -> Person {
    Person {
        id,
        email: email.map(str::to_owned),
    }
}

#[odm_tests::test]
fn a_plan_says_that_null_is_shared_and_what_to_declare() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person]).unwrap();
        let people = t.db.collection::<Doc>("people");
        let stored = [
            (
                vec![
                    doc! { "_id": 1 },
                    doc! { "_id": 2 },
                    doc! { "_id": 3, "email": "a" },
                ],
                "this is violated by 2 existing documents, among them _id 1, 2: they share `null` in `email` (2 lack the field, which \
                 counts as `null`), which a unique index allows once. Leave such documents out of it: declare it `sparse`, or \
                 `partial = |p| p.email.exists(true)`",
            ),
            (
                vec![doc! { "_id": 1, "email": null }, doc! { "_id": 2, "email": null }],
                "they share `null` in `email` (2 store `null`), which a unique index allows once. Store nothing for `None` \
                 (`#[field(skip_none)]`) and declare the index `sparse`",
            ),
            (
                vec![doc! { "_id": 1, "email": null }, doc! { "_id": 2 }],
                "(1 lacks the field, which counts as `null`, and 1 stores `null`)",
            ),
        ];
        for (documents, said) in stored {
            people.delete_many(doc! {}).await.unwrap();
            people.insert_many(documents).await.unwrap();
            let plan = odm.plan().await.unwrap();
            assert!(plan.to_string().contains(said), "{plan}");
            let refused = odm.apply(&plan).await.unwrap_err();
            let Error::ExistingDocuments {
                reason: Some(reason), ..
            } = &refused
            else {
                panic!("{refused}");
            };
            assert!(reason.contains("share `null` in `email`"), "{reason}");
            assert!(refused.to_string().ends_with(reason), "{refused}");
        }
        // Of other duplicates nothing of the kind is said.
        people.delete_many(doc! {}).await.unwrap();
        let twins = [doc! { "_id": 1, "email": "a" }, doc! { "_id": 2, "email": "a" }];
        people.insert_many(twins).await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert_eq!(
            plan.changes()
                .iter()
                .filter_map(|change| change.violations())
                .next()
                .unwrap()
                .reason,
            None
        );
    });
}

#[odm_tests::test]
fn a_write_says_that_null_is_shared() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person]).unwrap();
        odm.sync().await.unwrap();
        let people = odm.collection::<Person>();
        people.insert(person(1, None)).await.unwrap();
        let twin = people.insert(person(2, None)).await.unwrap_err();
        assert!(
            matches!(&twin, Error::DuplicateKey { fields, .. } if fields == &["email"]),
            "{twin}"
        );
        assert!(
            twin.to_string()
                .contains("`null` is also the value of a document that lacks the field"),
            "{twin}"
        );
        people.insert(person(3, Some("a"))).await.unwrap();
        let twin = people.insert(person(4, Some("a"))).await.unwrap_err();
        assert!(!twin.to_string().contains("null"), "{twin}");
    });
}

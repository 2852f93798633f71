//! The changes of fields: the server makes of documents what is made of them in memory.

use odm::bson::{Bson, Document as Doc, doc};
use odm::migrate::Step;
use odm::prelude::*;
use odm_tests::random::Random;
use odm_tests::{TestDb, with_db};
use std::collections::HashMap;

mod m0001_every_change {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let things = step.collection("things");
        things.add("a", 7).await?;
        things.add("b.c", "new").await?;
        things.add("b.d.e", Bson::Null).await?;
        things.rename("f", "g").await?;
        things.rename("b.f", "b.g").await?;
        things.rename("b.d.f", "b.d.g").await?;
        things.rename("m", "n.o").await?;
        things
            .retype("t", "string", doc! { "$toString": "$$value" })
            .await?;
        things
            .retype("b.t", "long", doc! { "$toLong": "$$value" })
            .await?;
        things
            .retype("b.d.t", "double", doc! { "$toDouble": ["$$value"] })
            .await?;
        things.replace_null("t", "none").await?;
        things.replace_null("b.d.t", 0.5).await?;
        things.remove("x").await?;
        things.remove("b.d.x").await
    }
}

fn steps() -> odm::Migrations {
    odm::migrations![m0001_every_change]
}

fn odm(t: &TestDb) -> Odm {
    Odm::new(t.db.clone(), []).unwrap()
}

fn number(random: &mut Random) -> Bson {
    match random.below(4) {
        0 => Bson::Int32(random.below(100)),
        1 => Bson::Int64(i64::from(random.below(100_i32)) << 33),
        2 => Bson::Null,
        _ => f64::from(random.below(100_i32)).into(),
    }
}

/// Some of the fields that the step changes, and embedded documents and arrays in which they are too.
fn object(random: &mut Random, depth: u32) -> Doc {
    let mut object = Doc::new();
    for name in ["a", "c", "e", "f", "g", "m", "x"] {
        if random.one_in(2) {
            object.insert(name, random.below(5_i32));
        }
    }
    if random.one_in(2) {
        let value = if depth > 0 && random.one_in(3) {
            let items = random.below(3_usize);
            (0..items).map(|_| number(random)).collect::<Vec<_>>().into()
        } else {
            number(random)
        };
        object.insert("t", value);
    }
    let inner = ["b", "d"].get(depth as usize);
    if let Some(name) = inner {
        match random.below(6) {
            0 => {}
            1 => drop(object.insert(*name, Bson::Null)),
            2 => drop(object.insert(*name, "scalar")),
            3 => drop(object.insert(*name, self::object(random, depth + 1))),
            _ => {
                let items = random.below(4_usize);
                let items = (0..items).map(|_| {
                    if random.one_in(6) {
                        3.into()
                    } else {
                        Bson::from(self::object(random, depth + 1))
                    }
                });
                let items: Vec<Bson> = items.collect();
                object.insert(*name, items);
            }
        }
    }
    if depth == 0 && random.one_in(4) {
        object.insert("n", doc! { "o": 1 });
    }
    object
}

async fn stored(t: &TestDb, name: &str) -> Vec<Doc> {
    use futures::TryStreamExt;
    let all = t.db.collection::<Doc>(name);
    let found = all.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

/// The fields in the order of their names.
fn sorted(document: &Doc) -> Doc {
    let value = |value: &Bson| match value {
        Bson::Document(inner) => sorted(inner).into(),
        Bson::Array(items) => {
            let items = items.iter().map(|item| match item {
                Bson::Document(inner) => sorted(inner).into(),
                other => other.clone(),
            });
            items.collect::<Vec<Bson>>().into()
        }
        other => other.clone(),
    };
    let mut names: Vec<&String> = document.keys().collect();
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), value(&document[name])))
        .collect()
}

#[odm_tests::test]
fn the_server_makes_of_documents_what_is_made_of_them_in_memory() {
    with_db(async |t| {
        let mut random = Random::new(7);
        let documents: Vec<Doc> = (0..400)
            .map(|id| {
                let mut document = doc! { "_id": id };
                document.extend(object(&mut random, 0));
                document
            })
            .collect();
        t.db.collection::<Doc>("things")
            .insert_many(&documents)
            .await
            .unwrap();
        let in_memory = steps()
            .in_memory(0, HashMap::from([("things".to_owned(), documents.clone())]))
            .unwrap();
        let before = odm(&t).migrate(steps()).status().await.unwrap();
        assert!(
            before.steps[0]
                .changes
                .iter()
                .all(|change| change.documents > Some(0)),
            "{before}"
        );
        odm(&t).migrate(steps()).up().await.unwrap();
        let made = stored(&t, "things").await;
        for ((made, expected), old) in made.iter().zip(&in_memory["things"]).zip(&documents) {
            assert_eq!(sorted(made), sorted(expected), "of {old}");
        }
        // Nothing needs a change any more, and what needed none was not changed.
        let again = steps().in_memory(0, HashMap::from([("things".to_owned(), made.clone())]));
        assert_eq!(again.unwrap()["things"], made);
    });
}

mod m0001_ids_of_several_types {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("mixed").add("seen", true).await
    }
}

#[odm_tests::test]
fn documents_with_ids_of_several_types_are_all_changed() {
    with_db(async |t| {
        let ids: [Bson; 7] = [
            1.into(),
            2.5.into(),
            "one".into(),
            doc! { "a": 1 }.into(),
            ObjectId::new().into(),
            true.into(),
            DateTime::from_millis(0).into(),
        ];
        let documents: Vec<Doc> = ids.iter().map(|id| doc! { "_id": id.clone() }).collect();
        t.db.collection::<Doc>("mixed")
            .insert_many(documents)
            .await
            .unwrap();
        let steps = odm::migrations![m0001_ids_of_several_types];
        let migrated = odm(&t).migrate(steps).up().await.unwrap();
        assert_eq!(migrated.documents, 7);
        assert!(
            stored(&t, "mixed")
                .await
                .iter()
                .all(|one| one.get_bool("seen").ok() == Some(true))
        );
    });
}

mod m0001_numbers {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let things = step.collection("things");
        things.retype("price", "int", doc! { "$toInt": "$$value" }).await
    }
}

#[odm_tests::test]
fn an_expression_that_fails_is_an_error_with_the_document() {
    with_db(async |t| {
        let things = (0..300).map(|id| doc! { "_id": id, "price": if id == 217 { "free" } else { "5" } });
        t.db.collection::<Doc>("things")
            .insert_many(things)
            .await
            .unwrap();
        let steps = || odm::migrations![m0001_numbers];
        let error = odm(&t).migrate(steps()).up().await.unwrap_err().to_string();
        let expected = "the step `m0001_numbers`: the server can't make the change \"change the type of `price` to int by {";
        assert!(error.starts_with(expected), "{error}");
        assert!(
            error.contains("in the document of `things` with _id 217: "),
            "{error}"
        );
        let right = doc! { "$set": { "price": "7" } };
        t.db.collection::<Doc>("things")
            .update_one(doc! { "_id": 217 }, right)
            .await
            .unwrap();
        odm(&t).migrate(steps()).up().await.unwrap();
        assert_eq!(stored(&t, "things").await[217], doc! { "_id": 217, "price": 7 });
    });
}

mod refused {
    use super::*;

    mod m0001_dollar {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            step.collection("things").add("a.$b", 1).await
        }
    }

    mod m0001_id {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            step.collection("things").rename("_id", "id").await
        }
    }

    mod m0001_into_itself {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            step.collection("things").rename("a", "a.b").await
        }
    }

    mod m0001_out {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            let things = step.collection("things");
            things.update(doc! {}, [doc! { "$out": "others" }]).await
        }
    }

    #[odm_tests::test]
    fn a_stage_that_writes_elsewhere_is_refused_before_a_plan_executes_it() {
        with_db(async |t| {
            let things = t.db.collection::<Doc>("things");
            things.insert_one(doc! { "_id": 1 }).await.unwrap();
            let error = odm(&t)
                .migrate(odm::migrations![m0001_out])
                .plan()
                .await
                .unwrap_err();
            let expected = "the step `m0001_out`: { \"$out\": \"others\" } is no stage of an update of `things`: these are $set, ";
            assert!(error.to_string().starts_with(expected), "{error}");
            let names = t.db.list_collection_names().await.unwrap();
            assert!(!names.contains(&"others".to_owned()), "{names:?}");
        });
    }

    mod m0001_out_of_an_array {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            step.collection("things").rename("b.m", "n.o").await
        }
    }

    /// Nothing is moved, in any document.
    #[odm_tests::test]
    fn a_move_through_an_array_is_refused_with_the_document() {
        with_db(async |t| {
            let things = t.db.collection::<Doc>("things");
            let plain = [
                doc! { "_id": 0, "b": { "m": 2 }, "n": null },
                doc! { "_id": 1, "b": { "m": 1 } },
                doc! { "_id": 2, "b": [{ "x": 1 }] },
            ];
            let through = [
                doc! { "_id": 3, "b": [{ "x": 1 }, { "m": 1 }] },
                doc! { "_id": 3, "b": { "m": 1 }, "n": [{ "p": 1 }] },
                // Its value would be lost.
                doc! { "_id": 3, "b": { "m": 1 }, "n": "a text" },
            ];
            let steps = || odm::migrations![m0001_out_of_an_array];
            for one in through {
                let all: Vec<Doc> = plain.iter().chain([&one]).cloned().collect();
                things.delete_many(doc! {}).await.unwrap();
                things.insert_many(&all).await.unwrap();
                let status = odm(&t).migrate(steps()).status().await.unwrap().to_string();
                assert!(
                    status.contains("not possible in 1 document: `b.m` can't be moved"),
                    "{status}"
                );
                let error = odm(&t).migrate(steps()).up().await.unwrap_err();
                let expected = "`b.m` can't be moved to `n.o` where `b` or `n` is an array, or `n` a value that is no document";
                assert!(error.to_string().contains(expected), "{error}");
                assert!(error.to_string().contains("of `things` with _id 3"), "{error}");
                assert_eq!(stored(&t, "things").await, all);
                let in_memory = steps().in_memory(0, HashMap::from([("things".to_owned(), all)]));
                assert!(in_memory.unwrap_err().contains(expected));
            }
            // The field is in no array any more: the next run goes on.
            things.delete_one(doc! { "_id": 3 }).await.unwrap();
            let in_memory = steps().in_memory(0, HashMap::from([("things".to_owned(), plain.to_vec())]));
            odm(&t).migrate(steps()).up().await.unwrap();
            assert_eq!(stored(&t, "things").await, in_memory.unwrap()["things"]);
        });
    }

    #[odm_tests::test]
    fn a_path_that_no_field_has_is_refused() {
        with_db(async |t| {
            let error = odm(&t)
                .migrate(odm::migrations![m0001_dollar])
                .up()
                .await
                .unwrap_err();
            assert_eq!(
                error.to_string(),
                "the step `m0001_dollar`: `a.$b` of `things` is no path of a field: write names that are joined by dots"
            );
            let error = odm(&t)
                .migrate(odm::migrations![m0001_id])
                .status()
                .await
                .unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("the `_id` of `things` can't be changed"),
                "{error}"
            );
            let error = odm(&t)
                .migrate(odm::migrations![m0001_into_itself])
                .status()
                .await
                .unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("`a` of `things` can't be moved to `a.b`: one of them is in the other"),
                "{error}"
            );
        });
    }
}

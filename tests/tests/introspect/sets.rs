//! Databases of other people, with what is true of them.

use crate::truth::{Score, compare, table};
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::fixtures::datasets::{json, load};
use odm_tests::{TestDb, with_db};

/// Compares a set with its truth, and prints a table (`ODM_TRUTH=1`: with every miss).
async fn measured(t: &TestDb, set: &str) -> Vec<Score> {
    let refused = load(&t.db, set).await;
    let source = Source::new(&t.db, ReadOptions::default());
    let design = odm_introspect::introspect(&source).await.unwrap();
    let scores = compare(&design, &json(set, "truth.json"));
    let all = std::env::var_os("ODM_TRUTH").is_some();
    println!("{}", table(set, &scores, all));
    for index in refused {
        println!("  {set}: the server refuses an index: {index}");
    }
    scores
}

/// What holds of each set.
fn assert_thresholds(set: &str, scores: &[Score]) {
    let mut below = Vec::new();
    for score in scores {
        let (precision, recall, f) = (score.precision(), score.recall(), score.f());
        let holds = match score.name {
            "references, ids" => precision >= 0.95 && recall >= 0.95,
            "references, other keys" | "copies" => f >= 0.87,
            // A map that the truth does not list is none of its structs: these have a row of their own.
            "maps" => recall == 1.0,
            // The values of such a map are counted as one field.
            "fields" => f >= 0.99,
            "structs like maps" | "faults" | "optional fields" | "types that differ" => f == 1.0,
            "two-way links" => recall == 1.0,
            "enumerations" | "numbers and dates as text" => recall >= 0.87,
            // One has a tag in another document, and one field has one value in all documents.
            "variants" | "computed fields" => recall >= 0.8,
            _ => true,
        };
        if !holds {
            below.push(format!(
                "{}: precision {precision:.3}, recall {recall:.3}",
                score.name
            ));
        }
    }
    assert!(below.is_empty(), "{set}: {below:#?}");
}

macro_rules! sets {
    ($($name:ident: $set:literal),* $(,)?) => {
        $(
            #[odm_tests::test]
            fn $name() {
                with_db(async |t| assert_thresholds($set, &measured(&t, $set).await));
            }
        )*
    };
}

sets! {
    countries: "countries",
    crafting: "crafting",
    deliveries: "deliveries",
    flights: "flights",
    srd: "srd",
    srd_with_faults: "srd-faults",
}

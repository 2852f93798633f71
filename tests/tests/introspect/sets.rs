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

/// The thresholds of each set.
fn assert_thresholds(set: &str, scores: &[Score]) {
    let mut below = Vec::new();
    for score in scores {
        let (precision, recall, f) = (score.precision(), score.recall(), score.f());
        let holds = match score.name {
            "references, ids" => precision >= 0.95 && recall >= 0.95,
            "references, other keys" | "copies" => f >= 0.87,
            "maps" => precision == 1.0 && recall == 1.0,
            "structs like maps" | "faults" | "optional fields" | "types that differ" => f == 1.0,
            // A map that the truth lists as fields.
            "fields" => f >= 0.99,
            "two-way links" => recall == 1.0,
            "enumerations" | "numbers and dates as text" => recall >= 0.87,
            // A set has at most five of them.
            "variants" | "computed fields" => score.missed.len() <= 1,
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

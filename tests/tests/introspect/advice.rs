//! Advice on a database with faults that were added to it, and the reports of it.

use odm_introspect::advice::{Advice, Rule, advise};
use odm_introspect::design::Design;
use odm_introspect::read::{ReadOptions, Source};
use odm_introspect::report::{html, json as report, text};
use odm_tests::fixtures::datasets::{json, load};
use odm_tests::{TestDb, with_db};
use serde_json::Value;

const SET: &str = "srd-faults";

async fn design(t: &TestDb, values: bool) -> Design {
    load(&t.db, SET).await;
    let options = ReadOptions {
        values,
        ..ReadOptions::default()
    };
    odm_introspect::introspect(&Source::new(&t.db, options))
        .await
        .unwrap()
}

/// The rule that finds a kind of fault.
fn rule(fault: &Value) -> Rule {
    match fault["kind"].as_str().unwrap() {
        "stale copy" => Rule::StaleCopy,
        "dangling reference" => Rule::DanglingReference,
        "array that grows" => Rule::GrowingArray,
        "mixed types" => Rule::MixedTypes,
        "two-way link that disagrees" => Rule::LinksDisagree,
        "count that is wrong" => Rule::WrongComputed,
        "redundant index" => Rule::RedundantIndex,
        other => panic!("{other}"),
    }
}

fn is_about(advice: &Advice, fault: &Value) -> bool {
    let collection = fault["collection"].as_str().unwrap();
    let same = |path: &str| advice.collection == collection && advice.path == path;
    advice.rule == rule(fault)
        && match fault["path"].as_str() {
            // Of a list of links, the elements or the id in each.
            Some(path) if advice.rule == Rule::LinksDisagree => {
                same(path)
                    || same(&format!("{path}.index"))
                    || advice.also.iter().any(|also| also.contains(path))
            }
            Some(path) => same(path),
            None => advice.collection == collection,
        }
}

#[odm_tests::test]
fn each_fault_has_an_advice_with_its_figure() {
    with_db(async |t| {
        let all = advise(&design(&t, true).await);
        let truth = json(SET, "truth.json");
        let mut missing = Vec::new();
        for fault in truth["faults"].as_array().unwrap() {
            let about: Vec<&Advice> = all.iter().filter(|advice| is_about(advice, fault)).collect();
            let sum = |name: &str| {
                about
                    .iter()
                    .filter_map(|advice| advice.evidence.get(name))
                    .sum::<f64>()
            };
            let figure = match rule(fault) {
                Rule::DanglingReference => Some(("dangling", &fault["dangling"])),
                Rule::WrongComputed => Some(("different", &fault["wrong"])),
                Rule::MixedTypes => Some(("others", &fault["changed"])),
                Rule::GrowingArray => Some(("greatest", &fault["greatest"][0]["length"])),
                _ => None,
            };
            let is_right = figure.is_none_or(|(name, truth)| truth.as_f64() == Some(sum(name)));
            if about.is_empty() || !is_right {
                missing.push(format!("{}.{}: {about:#?}", fault["collection"], fault["path"]));
            }
        }
        assert!(missing.is_empty(), "{missing:#?}");
    });
}

#[odm_tests::test]
fn without_values_no_report_has_one() {
    with_db(async |t| {
        let mut design = design(&t, false).await;
        odm_introspect::no_values::without_values(&mut design);
        let advice = advise(&design);
        let reports = [
            report::write(&design, &advice).unwrap(),
            text::write(&design, &advice),
            html::write(&design, &advice),
        ];
        // Texts of several words, which are no names of collections or fields.
        let mut values = Vec::new();
        for name in ["features", "equipment", "magic_items", "traits"] {
            let documents =
                t.db.collection::<odm::bson::Document>(name)
                    .find(odm::bson::doc! {})
                    .await
                    .unwrap();
            let documents: Vec<odm::bson::Document> =
                futures::TryStreamExt::try_collect(documents).await.unwrap();
            let names = documents
                .iter()
                .filter_map(|document| document.get_str("name").ok());
            values.extend(names.filter(|name| name.contains(' ')).map(str::to_owned));
        }
        assert!(values.len() > 100, "{}", values.len());
        for value in values {
            assert!(reports.iter().all(|report| !report.contains(&value)), "{value}");
        }
    });
}

use super::args::Cli;
use crate::Error;
use crate::tools::cli::{FAILED, Failure, Streams, WRONG, json};
use clap::{CommandFactory, Parser};
use mongodb::bson::{Bson, oid::ObjectId};

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn mistakes_are_refused() {
    for args in [
        &["manage"][..],
        &["manage", "drop"],
        &["manage", "audit", "--sample", "-1"],
        &["manage", "audit", "--sample", "many"],
        &["manage", "edges", "--format", "png"],
        &["manage", "edges", "--json", "--format", "svg"],
        &["manage", "edges", "--json", "--output", "x"],
    ] {
        let error = Cli::try_parse_from(args)
            .err()
            .unwrap_or_else(|| panic!("{args:?}"));
        assert!(error.use_stderr() || args.len() == 1, "{args:?}: {error}");
    }
    assert!(Cli::try_parse_from(["manage", "--json", "audit", "--only", "a", "--only", "b.c"]).is_ok());
}

#[test]
fn only_yes_is_yes() {
    let ask = |answer: &str| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut answers = answer.as_bytes();
        let asked = Streams::new(&mut out, &mut err)
            .answers(&mut answers)
            .ask("Sure?");
        assert_eq!(String::from_utf8_lossy(&err), "Sure? [y/N] ");
        asked
    };
    for yes in ["y\n", "Y\n", " yes \n", "YES"] {
        assert_eq!(ask(yes), Some(true), "{yes:?}");
    }
    for no in ["", "\n", "n\n", "no\n", "yes please\n", "j\n"] {
        assert_eq!(ask(no), Some(false), "{no:?}");
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    assert_eq!(Streams::new(&mut out, &mut err).ask("Sure?"), None);
    assert!(err.is_empty(), "there is no prompt");
}

#[test]
fn data_in_the_way_is_no_failure_of_the_command() {
    let conflict = Error::SchemaConflict {
        collection: "c",
        what: String::new(),
    };
    assert_eq!(Failure::from(conflict).code, WRONG);
    let query = Error::Query {
        collection: "c",
        message: String::new(),
    };
    assert_eq!(Failure::from(query).code, FAILED);
}

#[test]
fn ids_are_extended_json() {
    let violations = crate::Violations {
        count: 3,
        sample: vec![
            Bson::ObjectId(ObjectId::from_bytes([0; 12])),
            Bson::Int64(7),
            Bson::Double(f64::INFINITY),
        ],
        reason: None,
    };
    let change = crate::schema::Change::CreateIndex {
        collection: "c",
        index: "i".into(),
        spec: Default::default(),
        words: "on a".into(),
        violations: Some(violations),
    };
    let applied = json::framed("sync", "db", 0, json::applied(&crate::Applied::of(vec![change])));
    assert_eq!(applied["exit"], 0);
    assert_eq!(applied["changes"][0]["kind"], "create_index");
    let sample = &applied["changes"][0]["violations"]["sample"];
    assert_eq!(
        sample[0],
        serde_json::json!({ "$oid": "000000000000000000000000" })
    );
    assert_eq!(sample[1], 7);
    assert!(!sample[2].is_number(), "{sample}");
}

#[test]
fn a_backfill_is_told_in_words() {
    let words = |edges: &[&str], documents| {
        super::filling(&crate::Backfilled {
            edges: edges.iter().map(|edge| (*edge).to_owned()).collect(),
            documents,
            defaults: 0,
        })
    };
    assert_eq!(words(&[], 0), "nothing to backfill");
    assert_eq!(
        words(&["a.b", "c.d.id"], 1),
        "copies were filled in 1 document, for a.b, c.d.id"
    );
}

#[test]
fn a_recovery_is_told_in_words() {
    let words = |documents, copies, seconds: Option<u64>| {
        super::in_words(&crate::Recovered {
            documents,
            copies,
            oldest: seconds.map(std::time::Duration::from_secs),
        })
    };
    assert_eq!(words(0, 0, None), "no pending work");
    assert_eq!(
        words(1, 12, Some(7)),
        "1 document had pending work for 7 s; copies were updated in 12 documents"
    );
    assert_eq!(
        words(3, 1, Some(90)),
        "3 documents had pending work, the oldest for 90 s; copies were updated in 1 document"
    );
    assert_eq!(
        words(2, 1, None),
        "2 documents had pending work; copies were updated in 1 document"
    );
}

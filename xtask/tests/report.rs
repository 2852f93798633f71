//! The report of `odm introspect` in a browser: a phone and a desktop, light and dark. Rust's own harness can't report that a test was
//! skipped, and this one needs Chromium.
#![allow(missing_docs)]

use std::process::ExitCode;

use bson::doc;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use odm_introspect::advice::advise;
use odm_introspect::design::{
    Collection, Copied, Design, Field, Index, Map, Place, Reference, TwoWay, Variant, Variants,
};
use odm_introspect::kind::Kind;
use odm_introspect::report::html;
use odm_introspect::sketch::{Distribution, Spread};

fn main() -> ExitCode {
    let tests = vec![Trial::ignorable_test(
        "the_report_can_be_read",
        the_report_can_be_read,
    )];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

fn the_report_can_be_read() -> Result<Completion, Failed> {
    let folder = tempfile::tempdir()?;
    let design = design();
    let advice = advise(&design);
    assert!(advice.len() >= 6, "{advice:#?}");
    std::fs::write(folder.path().join("report.html"), html::write(&design, &advice))?;
    let screenshots = std::env::var_os("ODM_SCREENSHOTS").map(std::path::PathBuf::from);
    let runtime = tokio::runtime::Runtime::new()?;
    let seen = xtask::book::look_at_pages(folder.path(), screenshots.as_deref());
    let Some(faults) = runtime.block_on(seen)? else {
        return Ok(Completion::ignored_with("needs Chromium"));
    };
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    Ok(Completion::Completed)
}

fn spread(values: impl IntoIterator<Item = u64>) -> Spread {
    let mut distribution = Distribution::default();
    for value in values {
        distribution.add(value);
    }
    distribution.spread()
}

fn field(path: &str, kind: Kind) -> Field {
    Field {
        path: path.to_owned(),
        name: path
            .rsplit('.')
            .next()
            .unwrap_or(path)
            .trim_end_matches("[]")
            .to_owned(),
        present: 4_000,
        of: 4_000,
        kinds: [(kind, 4_000)].into(),
        distinct: 900,
        doubts: vec!["Both readings are possible: its keys are `few`, and <all> of one shape".to_owned()],
        ..Field::default()
    }
}

fn collection(name: &str, fields: Vec<Field>) -> Collection {
    Collection {
        name: name.to_owned(),
        documents: 1_234_567,
        read: 4_000,
        sizes: spread((0..4_000).map(|n| 200 + n * n % 9_000)),
        indexes: vec![
            Index {
                name: "customer_1".to_owned(),
                keys: doc! { "customer": 1 },
                ..Index::default()
            },
            Index {
                name: "customer_1_a_name_that_is_as_long_as_the_server_lets_it_be_-1".to_owned(),
                keys: doc! { "customer": 1, "a_name_that_is_as_long_as_the_server_lets_it_be": -1 },
                options: doc! { "partialFilterExpression": { "state": "open" }, "collation": { "locale": "en" } },
                used: Some(1_200_000),
                ..Index::default()
            },
        ],
        root: Field {
            fields,
            ..field("", Kind::Object)
        },
        ..Collection::default()
    }
}

fn reference(id: usize, from: &str, path: &str, to: &str) -> Reference {
    Reference {
        id,
        from: Place {
            collection: from.to_owned(),
            paths: vec![path.to_owned()],
        },
        to: Place {
            collection: to.to_owned(),
            paths: vec!["_id".to_owned()],
        },
        values: 4_000,
        found: 3_900,
        dangling: 100,
        per_document: spread([1, 1, 2, 3]),
        per_target: spread((0..500).map(|n| n % 37)),
        unique: true,
        indexed: true,
        examples: vec!["ObjectId(\"66f1a2b3c4d5e6f708192a3b\")".to_owned()],
        evidence: "3,900 of 4,000 values are in `customers._id`, which is unique".to_owned(),
        confidence: 0.97,
        ..Reference::default()
    }
}

/// A database with everything that a report shows, and with names that are long.
fn design() -> Design {
    let mut state = field("state", Kind::String);
    state.text = Some(spread([4, 4, 6]));
    state.enumeration = true;
    state.values = ["open", "Open", "done", "<b>lost</b>"]
        .map(|value| (value.to_owned(), 1_000))
        .to_vec();
    let mut log = field("log", Kind::Array);
    log.lengths = Some(spread(
        (0..4_000).map(|n| if n % 100 == 0 { 2_000 } else { n % 5 }),
    ));
    log.items = Some(Box::new(field("log[]", Kind::Date)));
    let mut weight = field(
        "a_name_that_is_as_long_as_the_server_lets_it_be.below_another_one.weight",
        Kind::Int,
    );
    weight.kinds.insert(Kind::String, 40);
    let mut hosts = field("hosts", Kind::Object);
    hosts.map = Some(Map {
        keys: 900,
        awkward: 30,
        per_map: spread([2, 3, 9]),
        evidence: "its keys rise with the documents: 900 in 4,000".to_owned(),
        values: Box::new(field("hosts{}", Kind::Int)),
        examples: vec!["www.example.com".to_owned()],
        ..Map::default()
    });
    hosts.variants = vec![Variants {
        tag: Some("state".to_owned()),
        kinds: vec![Variant::default(), Variant::default()],
        ..Variants::default()
    }];
    let customer = field("customer", Kind::ObjectId);
    let name = field("customer_name", Kind::String);
    let orders = collection(
        "orders",
        vec![
            field("_id", Kind::ObjectId),
            customer,
            name,
            state,
            log,
            weight,
            hosts,
        ],
    );
    let customers = collection(
        "customers",
        vec![field("_id", Kind::ObjectId), field("orders[]", Kind::ObjectId)],
    );
    Design {
        database: "a <shop>".to_owned(),
        collections: vec![orders, customers],
        references: vec![
            reference(0, "orders", "customer", "customers"),
            reference(1, "customers", "orders[]", "orders"),
        ],
        two_way: vec![TwoWay {
            a: 0,
            b: 1,
            agree: 3_800,
            only_a: 90,
            only_b: 10,
            examples: Vec::new(),
        }],
        copies: vec![Copied {
            path: "customer_name".to_owned(),
            by: 0,
            from: "name".to_owned(),
            equal: 3_500,
            stale: 400,
            distinct: 880,
            evidence: "3,500 of 3,900 are equal, where chance gives 0.1 %".to_owned(),
            ..Copied::default()
        }],
        notes: vec![
            "`orders` has more than 5000 distinct paths: 12 values of others were not read".to_owned(),
        ],
        ..Design::default()
    }
}

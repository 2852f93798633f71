//! No document that a filter matches is on a shard that is not asked, by random filters and documents, evaluated plainly.

use crate::catalog::Sharded;
use crate::key::{ShardKey, value_at};
use crate::order::{compare, rank};
use bson::{Bson, Document, bson, doc};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Whether a document matches a filter: what the generated filters need of the server's rules.
fn matches(document: &Document, filter: &Document) -> bool {
    filter.iter().all(|(name, condition)| {
        let of = |all: &Bson, any: bool| {
            let mut list = all.as_array().into_iter().flatten().filter_map(Bson::as_document);
            if any {
                list.any(|one| matches(document, one))
            } else {
                list.all(|one| matches(document, one))
            }
        };
        match name.as_str() {
            "$and" => of(condition, false),
            "$or" => of(condition, true),
            "$nor" => !of(condition, true),
            path => {
                let value = value_at(document, path).cloned().unwrap_or(Bson::Null);
                holds(&value, condition)
            }
        }
    })
}

fn holds(value: &Bson, condition: &Bson) -> bool {
    let Some(operators) = condition
        .as_document()
        .filter(|of| of.keys().any(|name| name.starts_with('$')))
    else {
        return compare(value, condition).is_eq();
    };
    let compared = |with: &Bson, allowed: &[Ordering]| {
        rank(value) == rank(with) && allowed.contains(&compare(value, with))
    };
    operators.iter().all(|(operator, with)| match operator.as_str() {
        "$eq" => compare(value, with).is_eq(),
        "$ne" => compare(value, with).is_ne(),
        "$in" => with
            .as_array()
            .is_some_and(|list| list.iter().any(|with| compare(value, with).is_eq())),
        "$gt" => compared(with, &[Ordering::Greater]),
        "$gte" => compared(with, &[Ordering::Greater, Ordering::Equal]),
        "$lt" => compared(with, &[Ordering::Less]),
        "$lte" => compared(with, &[Ordering::Less, Ordering::Equal]),
        "$exists" => (rank(value) != rank(&Bson::Null)) == with.as_bool().unwrap_or(true),
        other => panic!("not evaluated: {other}"),
    })
}

fn value() -> impl Strategy<Value = Bson> {
    prop_oneof![
        (-3..4_i32).prop_map(Bson::from),
        (-3..4_i64).prop_map(Bson::from),
        Just(bson!(0.5)),
        "[a-d]".prop_map(Bson::from),
        Just(Bson::Null),
        Just(bson!(true)),
        Just(bson!({ "x": 1 })),
    ]
}

fn condition() -> impl Strategy<Value = Bson> {
    let comparison = prop::sample::select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]);
    let one = || value().prop_filter("no document of operators", |value| value.as_document().is_none());
    prop_oneof![
        3 => value(),
        3 => (comparison.clone(), one()).prop_map(|(operator, value)| bson!({ operator: value })),
        2 => prop::collection::vec(one(), 0..4).prop_map(|list| bson!({ "$in": list })),
        1 => ((comparison.clone(), one()), (comparison, one()))
            .prop_map(|((a, x), (b, y))| bson!({ a: x, b: y })),
        1 => any::<bool>().prop_map(|exists| bson!({ "$exists": exists })),
    ]
}

fn field() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
}

fn filter() -> impl Strategy<Value = Document> {
    let plain = prop::collection::vec((field(), condition()), 0..3)
        .prop_map(|fields| fields.into_iter().collect::<Document>());
    plain.prop_recursive(3, 12, 3, |inner| {
        let operator = prop::sample::select(vec!["$and", "$or", "$nor"]);
        (
            prop::collection::vec((field(), condition()), 0..2),
            operator,
            prop::collection::vec(inner, 1..3),
        )
            .prop_map(|(fields, operator, list)| {
                let mut filter: Document = fields.into_iter().collect();
                filter.insert(operator, list);
                filter
            })
    })
}

fn pattern() -> impl Strategy<Value = Document> {
    prop::sample::select(vec![
        doc! { "a": 1 },
        doc! { "a": "hashed" },
        doc! { "a": 1, "b": 1 },
        doc! { "a": 1, "b": "hashed" },
        doc! { "a": "hashed", "b": 1 },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_document_that_matches_is_on_a_shard_that_is_asked(
        pattern in pattern(),
        splits in prop::collection::vec((value(), value()), 0..6),
        filter in filter(),
        documents in prop::collection::vec(prop::collection::vec((field(), value()), 0..4), 1..12),
    ) {
        let Ok(key) = ShardKey::parse(&pattern) else { panic!("{pattern}") };
        let mut sharded = Sharded::new(key.clone(), false, Bson::Null, true);
        for (number, (a, b)) in splits.into_iter().enumerate() {
            let at = key.place(&[a, b][..key.fields.len()]);
            sharded.split(at.clone());
            sharded.assign(&at, number % 2, 0);
        }
        let asked = sharded.shards_of(&filter, false, None);
        for fields in documents {
            let document: Document = fields.into_iter().collect();
            let Some(values) = key.values(&document) else { continue };
            if matches(&document, &filter) {
                prop_assert!(asked[sharded.owner(&values)], "{document} by {filter} and {pattern}");
                if let Some(exact) = key.exact(&filter) {
                    prop_assert_eq!(sharded.owner(&exact), sharded.owner(&values), "{} by {}", document, filter);
                }
            }
        }
    }
}

/// Filters and whether they leave a shard out, for a key of one field with chunks from 10 and from "m" on the second shard.
#[test]
fn a_filter_names_one_shard_where_mongos_reads_it_so() {
    for (pattern, filter, expected) in [
        (doc! { "a": 1 }, doc! { "a": 5 }, [true, false]),
        (doc! { "a": 1 }, doc! { "a": { "$gte": 10 } }, [false, true]),
        (doc! { "a": 1 }, doc! { "a": { "$lte": 9 } }, [true, false]),
        (doc! { "a": 1 }, doc! { "a": { "$gt": 9 } }, [true, true]),
        (
            doc! { "a": 1 },
            doc! { "a": { "$gt": 11, "$lt": 5 } },
            [true, false],
        ),
        (doc! { "a": 1 }, doc! { "a": { "$in": [1, 2] } }, [true, false]),
        (
            doc! { "a": 1 },
            doc! { "$or": [{ "a": 11 }, { "a": 12, "x": 1 }] },
            [false, true],
        ),
        (
            doc! { "a": 1 },
            doc! { "$or": [{ "a": 11 }, { "x": 1 }] },
            [true, true],
        ),
        (
            doc! { "a": 1 },
            doc! { "$and": [{ "x": 1 }, { "a": 11 }] },
            [false, true],
        ),
        (doc! { "a": 1 }, doc! { "$nor": [{ "a": 11 }] }, [true, true]),
        (doc! { "a": 1, "b": 1 }, doc! { "a": 11 }, [false, true]),
        (doc! { "a": 1, "b": 1 }, doc! { "b": 1 }, [true, true]),
        (doc! { "a": 1, "b": "hashed" }, doc! { "a": 11 }, [false, true]),
    ] {
        let Ok(key) = ShardKey::parse(&pattern) else {
            panic!("{pattern}")
        };
        let mut sharded = Sharded::new(key.clone(), false, Bson::Null, true);
        let mut at = vec![Bson::MinKey; key.fields.len()];
        at[0] = bson!(10);
        sharded.split(at.clone());
        sharded.assign(&at, 1, 0);
        assert_eq!(
            sharded.shards_of(&filter, false, None),
            expected,
            "{filter} by {pattern}"
        );
    }
}

#[test]
fn a_text_under_a_collation_leaves_no_shard_out() {
    let Ok(key) = ShardKey::parse(&doc! { "a": 1 }) else {
        panic!("a key")
    };
    let mut sharded = Sharded::new(key, false, Bson::Null, true);
    sharded.split(vec![bson!("m")]);
    sharded.assign(&[bson!("m")], 1, 0);
    for (filter, expected) in [
        (doc! { "a": "b" }, [true, true]),
        (doc! { "a": 1 }, [true, false]),
    ] {
        assert_eq!(sharded.shards_of(&filter, true, None), expected, "{filter}");
    }
}

use super::*;
use crate::model::document::{CollationMeta, IndexKey, IndexKind, IndexMeta};
use ReplaceWay::{Beside, BesideThenDropped, InPlace, Window};

/// The wire versions of MongoDB 4.4, 5.0, 6.0 and 8.0.
const VERSIONS: [i32; 4] = [9, 13, 17, 25];

const A: IndexMeta = IndexMeta::on(
    const {
        &[IndexKey {
            path: || "a",
            kind: IndexKind::Ascending,
        }]
    },
);

fn declared(meta: IndexMeta) -> Index {
    Index::of(&meta).expect("no filter that can fail")
}

fn unique() -> Index {
    declared(IndexMeta { unique: true, ..A })
}

/// An index on `a`, as servers list it.
fn there(name: &str, options: Document) -> Document {
    let mut index = doc! { "v": 2, "key": { "a": 1 }, "name": name };
    index.extend(options);
    index
}

fn of(index: &Index, there: &Document, max_wire_version: i32) -> Replacement {
    let existing = [
        doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
        there.clone(),
    ];
    Replacement::of(index, there, &existing, None, max_wire_version).expect("it can be replaced")
}

#[track_caller]
fn assert_ways(index: &Index, there: &Document, ways: [ReplaceWay; 4]) {
    let found = VERSIONS.map(|version| of(index, there, version).way);
    assert_eq!(found, ways, "{there} → {}", index.in_words());
}

#[test]
fn the_way_goes_by_the_kind_of_the_difference_and_by_the_server() {
    let plain = there("a_1", doc! {});
    assert_ways(&unique(), &plain, [Window, BesideThenDropped, InPlace, InPlace]);
    let was_unique = there("a_1", doc! { "unique": true });
    let only_plain = declared(A);
    assert_ways(
        &only_plain,
        &was_unique,
        [Window, BesideThenDropped, BesideThenDropped, BesideThenDropped],
    );
    let sparse = there("a_1", doc! { "sparse": true });
    assert_ways(&only_plain, &sparse, [Window, Beside, Beside, Beside]);
    let filtered = there("a_1", doc! { "partialFilterExpression": { "b": { "$gt": 1 } } });
    assert_ways(&only_plain, &filtered, [Window, Beside, Beside, Beside]);
    // Unique, and of other documents.
    assert_ways(&unique(), &filtered, [Window, Beside, Beside, Beside]);
    let german = declared(IndexMeta {
        collation: Some(CollationMeta {
            locale: "de",
            strength: 2,
            numeric_ordering: false,
        }),
        ..A
    });
    assert_ways(&german, &plain, [Beside; 4]);
    let other_fields = doc! { "v": 2, "key": { "b": 1 }, "name": "named" };
    let named = declared(IndexMeta {
        name: Some("named"),
        ..A
    });
    assert_ways(&named, &other_fields, [Beside; 4]);
    let ttl = there("a_1", doc! { "expireAfterSeconds": 60 });
    assert_ways(&only_plain, &ttl, [Window; 4]);
    // Before MongoDB 5.1 there is no other way; since then it is no replacement.
    let to_ttl = declared(IndexMeta {
        expire_after: Some(60),
        ..A
    });
    assert_eq!(of(&to_ttl, &plain, 9).way, Window);
    assert_eq!(of(&to_ttl, &plain, 13).way, Window);
}

#[test]
fn what_is_sent() {
    let plain = there("a_1", doc! {});
    let sent = |index: &Index, there: &Document, version| of(index, there, version).commands("people");
    let unique_spec = doc! { "key": { "a": 1 }, "name": "a_1", "unique": true };
    let drop = doc! { "dropIndexes": "people", "index": "a_1" };
    // MongoDB 4.4.
    assert_eq!(
        sent(&unique(), &plain, 9),
        [
            drop.clone(),
            doc! { "createIndexes": "people", "indexes": [unique_spec.clone()] }
        ]
    );
    assert_eq!(
        of(&unique(), &plain, 9).back("people"),
        Some(doc! { "createIndexes": "people", "indexes": [plain.clone()] })
    );
    // 5.0.
    let beside = of(&unique(), &plain, 13);
    let name = beside.index.name.clone();
    assert!(is_of(&name, "a_1") && name != "a_1", "{name}");
    let mut of_name = unique_spec;
    of_name.insert("name", name.clone());
    assert_eq!(
        beside.commands("people"),
        [
            doc! { "createIndexes": "people", "indexes": [of_name] },
            drop.clone()
        ]
    );
    assert_eq!(beside.back("people"), None);
    // 6.0 and 8.0.
    for version in [17, 25] {
        assert_eq!(
            sent(&unique(), &plain, version),
            [
                doc! { "collMod": "people", "index": { "name": "a_1", "prepareUnique": true } },
                doc! { "collMod": "people", "index": { "name": "a_1", "unique": true }, "dryRun": true },
                doc! { "collMod": "people", "index": { "name": "a_1", "unique": true } },
            ]
        );
        assert_eq!(
            of(&unique(), &plain, version).back("people"),
            Some(doc! { "collMod": "people", "index": { "name": "a_1", "prepareUnique": false } })
        );
    }
    // An index that was built beside another one is made unique under the name that it has.
    let second = there("a_1~0011aaff", doc! {});
    assert_eq!(
        sent(&unique(), &second, 17)[0],
        doc! { "collMod": "people", "index": { "name": "a_1~0011aaff", "prepareUnique": true } }
    );
    let ttl = there("a_1", doc! { "expireAfterSeconds": 60, "ns": "db.people" });
    let window = of(&declared(A), &ttl, 25);
    assert_eq!(
        window.commands("people"),
        [
            drop,
            doc! { "createIndexes": "people", "indexes": [{ "key": { "a": 1 }, "name": "a_1" }] }
        ]
    );
    let back = window.back("people").expect("the old one is built again");
    assert_eq!(
        back,
        doc! { "createIndexes": "people", "indexes": [there("a_1", doc! { "expireAfterSeconds": 60 })] }
    );
}

#[test]
fn hidden_and_dropped() {
    let superseded = Superseded {
        collection: "people",
        index: "a_1".to_owned(),
        by: Some("a_1~0011aaff".to_owned()),
        hidden: false,
        if_retired: None,
    };
    let hide = |hidden: bool| doc! { "collMod": "people", "index": { "name": "a_1", "hidden": hidden } };
    assert_eq!(retirement(&superseded, RetireStep::Hide), hide(true));
    assert_eq!(retirement(&superseded, RetireStep::Unhide), hide(false));
    assert_eq!(
        retirement(&superseded, RetireStep::Drop),
        doc! { "dropIndexes": "people", "index": "a_1" }
    );
}

#[test]
fn only_an_index_of_the_declared_name_is_replaced() {
    let may = |name: &str| {
        let there = there(name, doc! { "sparse": true });
        Replacement::of(&declared(A), &there, std::slice::from_ref(&there), None, 25).is_some()
    };
    assert!(may("a_1") && may("a_1~0123abcd"));
    for name in [
        "mine",
        "_id_",
        "a_1~",
        "a_1~0123abcg",
        "a_1~0123abcd0",
        "a_1_0123abcd",
        "b_1~0123abcd",
    ] {
        assert!(!may(name), "{name}");
    }
    // Another index is in the way of the new one.
    let sparse = there("a_1", doc! { "sparse": true });
    let mine = there("mine", doc! { "expireAfterSeconds": 9 });
    let both = [sparse.clone(), mine];
    assert!(Replacement::of(&declared(A), &sparse, &both, None, 25).is_none());
    let text = declared(IndexMeta::on(
        const {
            &[IndexKey {
                path: || "t",
                kind: IndexKind::Text { weight: 3 },
            }]
        },
    ));
    let listed =
        doc! { "v": 2, "key": { "_fts": "text", "_ftsx": 1 }, "name": "t_text", "weights": { "t": 1 } };
    assert_eq!(of(&text, &listed, 25).way, Window);
}

#[test]
fn a_full_collection_takes_none_beside() {
    let sparse = there("a_1", doc! { "sparse": true });
    let mut full: Vec<Document> = (0..63)
        .map(|n| doc! { "v": 2, "key": { format!("f{n}"): 1 }, "name": format!("f{n}_1") })
        .collect();
    full.push(sparse.clone());
    let way = |existing: &[Document]| {
        let replacement = Replacement::of(&declared(A), &sparse, existing, None, 25);
        replacement.map(|one| (one.way, one.index.name))
    };
    assert_eq!(way(&full), Some((Window, "a_1".to_owned())));
    let (beside, name) = way(&full[1..]).expect("there is room");
    assert_eq!((beside, base(&name)), (Beside, "a_1"));
    // The name goes by the specification alone.
    assert_eq!(way(&full[1..]), way(&full[5..]));
    // The first name is free again.
    let second = there("a_1~0123abcd", doc! { "sparse": true });
    let one = Replacement::of(&declared(A), &second, std::slice::from_ref(&second), None, 25);
    assert_eq!(one.expect("it can be replaced").index.name, "a_1");
}

fn at(days: i64) -> DateTime {
    DateTime::from_millis(days * 24 * 60 * 60 * 1_000)
}

fn counts(members: &[(&str, i64, i64)]) -> BTreeMap<String, Count> {
    let count = |(member, uses, since): &(&str, i64, i64)| {
        let since = at(*since);
        ((*member).to_owned(), Count { uses: *uses, since })
    };
    members.iter().map(count).collect()
}

fn retiring(hidden: bool, watched: Option<Watched>, now: i64, members: &[(&str, i64, i64)]) -> Retiring {
    Retiring {
        superseded: Superseded {
            collection: "people",
            index: "a_1".to_owned(),
            by: Some("a_1~0123abcd".to_owned()),
            hidden,
            if_retired: None,
        },
        watched,
        usage: Usage {
            counts: BTreeMap::from([("a_1".to_owned(), counts(members))]),
            now: at(now),
            unknown: None,
        },
        can_hide: true,
        kept: None,
    }
}

fn watched(day: i64, members: &[(&str, i64, i64)], hidden: Option<i64>) -> Option<Watched> {
    Some(Watched {
        at: at(day),
        members: counts(members),
        hidden: hidden.map(at),
        retired: None,
    })
}

#[test]
fn a_superseded_index_is_hidden_when_no_member_uses_it_any_more_and_dropped_later() {
    let step = |one: &Retiring| one.next(RETIRE_AFTER).0;
    let since = &[("one", 40, 0), ("two", 3, 0)][..];
    assert_eq!(step(&retiring(false, None, 10, since)), Some(RetireStep::Watch));
    let seen = || watched(10, since, None);
    let waits = retiring(false, seen(), 16, since);
    assert_eq!(
        waits.next(RETIRE_AFTER),
        (
            None,
            "the index `a_1` is superseded by `a_1~0123abcd`; not used since 1970-01-11 00:00 UTC; it is hidden from 1970-01-18 00:00 \
             UTC on"
                .to_owned()
        )
    );
    assert_eq!(waits.next(Duration::ZERO).0, Some(RetireStep::Hide));
    assert_eq!(step(&retiring(false, seen(), 17, since)), Some(RetireStep::Hide));
    // One member has used it; was started again and has used it; was started again.
    let used = &[("one", 40, 0), ("two", 4, 0)][..];
    assert_eq!(step(&retiring(false, seen(), 17, used)), Some(RetireStep::Watch));
    let again = &[("one", 40, 0), ("two", 1, 12)][..];
    assert_eq!(step(&retiring(false, seen(), 17, again)), Some(RetireStep::Watch));
    let idle = &[("one", 40, 0), ("two", 0, 12)][..];
    assert_eq!(step(&retiring(false, seen(), 17, idle)), Some(RetireStep::Hide));
    // A member that nothing is known of.
    let new = &[("one", 40, 0), ("two", 3, 0), ("three", 1, 0)][..];
    assert_eq!(step(&retiring(false, seen(), 17, new)), Some(RetireStep::Watch));
    // Before MongoDB 4.4.
    let old = Retiring {
        can_hide: false,
        ..retiring(false, seen(), 17, since)
    };
    assert_eq!(step(&old), Some(RetireStep::Drop));
    let hidden = |now| retiring(true, watched(17, &[], Some(17)), now, &[]);
    assert_eq!(step(&hidden(23)), None);
    assert!(
        hidden(23)
            .next(RETIRE_AFTER)
            .1
            .ends_with("hidden since 1970-01-18 00:00 UTC; it is dropped from 1970-01-25 00:00 UTC on")
    );
    assert_eq!(step(&hidden(24)), Some(RetireStep::Drop));
    // The user has hidden it; has shown it again.
    assert_eq!(step(&retiring(true, seen(), 30, since)), Some(RetireStep::Watch));
    let shown = watched(17, since, Some(17));
    assert_eq!(step(&retiring(false, shown, 30, since)), Some(RetireStep::Watch));
}

#[test]
fn what_is_unknown_is_not_hidden() {
    let since = &[("one", 0, 0)][..];
    let mut one = retiring(false, watched(10, since, None), 99, since);
    one.usage.unknown = Some("this user may not read `$indexStats`".to_owned());
    let (step, words) = one.next(RETIRE_AFTER);
    assert_eq!(step, None);
    assert!(
        words.contains("it is unknown whether it is used: this user may not read `$indexStats`"),
        "{words}"
    );
    // The index of the shard key is kept.
    let mut kept = retiring(false, watched(10, since, None), 99, since);
    kept.kept = Some("it is kept as the index of the shard key".to_owned());
    assert_eq!(kept.next(RETIRE_AFTER).0, None);
    // One that is declared again is shown.
    let mut again = retiring(true, None, 99, since);
    again.superseded.by = Some("a_1".to_owned());
    assert_eq!(again.next(RETIRE_AFTER).0, Some(RetireStep::Unhide));
}

#[test]
fn what_is_stored_is_read_again() {
    for watched in [
        watched(10, &[("one", 40, 0), ("two", 3, 1)], None),
        watched(10, &[], Some(12)),
    ] {
        let watched = watched.expect("one");
        assert_eq!(Watched::read(&watched.stored()), Some(watched));
    }
    assert_eq!(Watched::read(&doc! { "at": 1 }), None);
}

#[test]
fn an_index_is_unchanged_but_for_what_passes() {
    let seen = there("a_1", doc! { "sparse": true });
    let hidden = there(
        "a_1",
        doc! { "hidden": true, "sparse": true, "prepareUnique": true },
    );
    assert!(is_unchanged(&hidden, &seen));
    assert!(!is_unchanged(&there("a_1", doc! {}), &seen));
    let ab = doc! { "key": { "a": 1, "b": 1 }, "name": "n" };
    let ba = doc! { "key": { "b": 1, "a": 1 }, "name": "n" };
    assert!(!is_unchanged(&ab, &ba) && is_unchanged(&ab, &ab));
}

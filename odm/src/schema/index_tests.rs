use super::*;
use crate::model::document::IndexKey;

const fn key(path: fn() -> &'static str, kind: IndexKind) -> IndexKey {
    IndexKey { path, kind }
}

fn declared(meta: IndexMeta) -> Index {
    Index::of(&meta).expect("no filter that can fail")
}

macro_rules! on {
    ($($path:literal: $kind:expr),*) => {
        IndexMeta::on(const { &[$(key(|| $path, $kind)),*] })
    };
}

use IndexKind::{Ascending, Descending, Geo, Hashed, Text};

/// An index by name, as a `mongod` printed it.
fn listed(name: &str) -> Document {
    let indexes = [
        doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
        doc! { "v": 2, "key": { "b": 1 }, "name": "b_1" },
        doc! { "v": 2, "unique": true, "key": { "a": 1, "b": -1 }, "name": "a_1_b_-1" },
        doc! { "v": 2, "key": { "b": 1 }, "name": "partial", "partialFilterExpression": { "b": { "$gt": 1 } } },
        doc! { "v": 2, "unique": true, "key": { "z": 1 }, "name": "z_1", "sparse": true },
        doc! { "v": 2, "key": { "at": 1 }, "name": "at_1", "expireAfterSeconds": 60 },
        doc! {
            "v": 2, "key": { "_fts": "text", "_ftsx": 1 }, "name": "t_text", "weights": { "t": 1 },
            "default_language": "english", "language_override": "language", "textIndexVersion": 3,
        },
        doc! { "v": 2, "key": { "g": "2dsphere" }, "name": "g_2dsphere", "2dsphereIndexVersion": 3 },
        doc! { "v": 2, "key": { "h": "hashed" }, "name": "h_hashed" },
        doc! { "v": 2, "key": { "w.$**": 1 }, "name": "w" },
        doc! {
            "v": 2, "key": { "c": 1 }, "name": "c_ci",
            "collation": {
                "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 2, "numericOrdering": false,
                "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
                "version": "57.1",
            },
        },
    ];
    indexes
        .into_iter()
        .find(|index| index.get_str("name").is_ok_and(|n| n == name))
        .expect("listed")
}

const EN: CollationMeta = CollationMeta {
    locale: "en",
    strength: 2,
    numeric_ordering: false,
};

fn partial() -> Result<mongodb::bson::RawDocumentBuf> {
    Ok(mongodb::bson::rawdoc! { "b": { "$gt": 1i64 } })
}

#[test]
fn a_unique_index_leaves_deleted_documents_out_by_a_partial_filter_alone() {
    let of = |meta: IndexMeta| {
        let mut index = declared(meta);
        index.leave_out_deleted("deleted_at");
        (index.sparse, index.partial)
    };
    let sparse = |meta| IndexMeta {
        sparse: true,
        unique: true,
        ..meta
    };
    let alone = doc! { "deleted_at": null };
    assert_eq!(of(on!("a": Ascending)), (false, Some(alone)));
    let exists = doc! { "a": { "$exists": true }, "deleted_at": null };
    assert_eq!(of(sparse(on!("a": Ascending))), (false, Some(exists)));
    // A sparse index of several fields holds the documents that have one of them. Servers before MongoDB 6.0 take no such filter.
    for (meta, alternatives) in [
        (on!("a": Ascending), false),
        (on!("a": Ascending, "b": Ascending), true),
    ] {
        let mut index = declared(sparse(meta));
        index.leave_out_deleted("deleted_at");
        assert_eq!(index.has_alternatives(), alternatives);
    }
    let one_of =
        doc! { "$or": [{ "a": { "$exists": true } }, { "b": { "$exists": true } }], "deleted_at": null };
    assert_eq!(
        of(sparse(on!("a": Ascending, "b": Ascending))),
        (false, Some(one_of))
    );
}

#[test]
fn names_are_made_as_mongodb_makes_them() {
    for (meta, name) in [
        (on!("a": Ascending, "b": Descending), "a_1_b_-1"),
        (on!("loc": Geo), "loc_2dsphere"),
        (
            on!("t": Text { weight: 1 }, "u": Text { weight: 5 }),
            "t_text_u_text",
        ),
        (on!("h.x": Hashed), "h.x_hashed"),
    ] {
        assert_eq!(declared(meta).name, name);
    }
    let named = declared(IndexMeta {
        name: Some("n"),
        ..on!("a": Ascending)
    });
    assert_eq!((named.name.as_str(), named.named), ("n", true));
}

#[test]
fn a_specification_has_the_declared_options() {
    let all = IndexMeta {
        unique: true,
        sparse: true,
        expire_after: Some(60),
        partial: Some(partial),
        collation: Some(EN),
        ..on!("a": Ascending)
    };
    assert_eq!(
        declared(all).spec(),
        doc! {
            "key": { "a": 1 }, "name": "a_1", "unique": true, "sparse": true, "expireAfterSeconds": 60,
            "partialFilterExpression": { "b": { "$gt": 1i64 } },
            "collation": { "locale": "en", "strength": 2, "numericOrdering": false },
        }
    );
    assert_eq!(
        declared(on!("a": Ascending)).spec(),
        doc! { "key": { "a": 1 }, "name": "a_1" }
    );
    assert_eq!(
        declared(on!("a": Ascending, "t": Text { weight: 1 }, "u": Text { weight: 5 })).spec(),
        doc! {
            "key": { "a": 1, "t": "text", "u": "text" }, "name": "a_1_t_text_u_text", "collation": { "locale": "simple" },
            "weights": { "t": 1, "u": 5 },
        }
    );
}

#[test]
fn listed_indexes_are_recognized() {
    for (name, meta) in [
        ("_id_", on!("_id": Ascending)),
        ("b_1", on!("b": Ascending)),
        (
            "a_1_b_-1",
            IndexMeta {
                unique: true,
                ..on!("a": Ascending, "b": Descending)
            },
        ),
        (
            "partial",
            IndexMeta {
                partial: Some(partial),
                ..on!("b": Ascending)
            },
        ),
        (
            "z_1",
            IndexMeta {
                unique: true,
                sparse: true,
                ..on!("z": Ascending)
            },
        ),
        (
            "at_1",
            IndexMeta {
                expire_after: Some(60),
                ..on!("at": Ascending)
            },
        ),
        ("t_text", on!("t": Text { weight: 1 })),
        ("g_2dsphere", on!("g": Geo)),
        ("h_hashed", on!("h": Hashed)),
        (
            "c_ci",
            IndexMeta {
                collation: Some(EN),
                ..on!("c": Ascending)
            },
        ),
    ] {
        assert_eq!(declared(meta).compare(&listed(name), None), Fit::Same, "{name}");
    }
    // Numbers of other types, and `sparse` said to be off.
    let odd = doc! { "key": { "at": 1.0 }, "name": "at_1", "expireAfterSeconds": 60.0, "sparse": false, "background": true };
    let at = declared(IndexMeta {
        expire_after: Some(60),
        ..on!("at": Ascending)
    });
    assert_eq!(at.compare(&odd, None), Fit::Same);
}

#[test]
fn differences_are_listed() {
    let differs = |meta: IndexMeta, name: &str| match declared(meta).compare(&listed(name), None) {
        Fit::Differs(words) => words.join("; "),
        fit => panic!("{fit:?}"),
    };
    assert_eq!(
        differs(on!("b": Descending, "a": Ascending), "a_1_b_-1"),
        "it is on a, b (descending), declared b (descending), a; it is unique, declared not unique"
    );
    assert_eq!(
        differs(
            IndexMeta {
                sparse: true,
                ..on!("b": Ascending)
            },
            "b_1"
        ),
        "it is not sparse, declared sparse"
    );
    assert_eq!(
        differs(on!("b": Ascending), "partial"),
        "its filter is { \"b\": { \"$gt\": 1 } }, declared none"
    );
    assert_eq!(
        differs(on!("at": Ascending), "at_1"),
        "it deletes documents after 60 s, declared never"
    );
    assert_eq!(
        differs(on!("u": Text { weight: 1 }), "t_text"),
        "it is on t (text), declared u (text)"
    );
    assert_eq!(
        differs(on!("t": Text { weight: 3 }), "t_text"),
        "its weights are { \"t\": 1 }, declared { \"t\": 3 }"
    );
    assert_eq!(
        differs(on!("w.x": Ascending), "w"),
        "it is on w.$**, declared w.x"
    );
    let other = CollationMeta { strength: 1, ..EN };
    assert!(
        differs(
            IndexMeta {
                collation: Some(other),
                ..on!("c": Ascending)
            },
            "c_ci"
        )
        .contains("\"strength\": 1")
    );

    let at = |seconds| {
        declared(IndexMeta {
            expire_after: Some(seconds),
            ..on!("at": Ascending)
        })
    };
    assert_eq!(
        at(90).compare(&listed("at_1"), None),
        Fit::OtherTtl { from: 60, to: 90 }
    );
    let never = doc! { "key": { "at": 1 }, "name": "at_1" };
    assert_eq!(at(90).compare(&never, None), Fit::NoTtl { to: 90 });
}

#[test]
fn an_index_inherits_its_collections_collation() {
    let inherited = doc! { "locale": "en", "strength": 2 };
    let c = declared(on!("c": Ascending));
    assert_eq!(c.compare(&listed("c_ci"), Some(&inherited)), Fit::Same);
    assert!(matches!(c.compare(&listed("c_ci"), None), Fit::Differs(_)));
    // But a text index, which takes none.
    let t = declared(on!("t": Text { weight: 1 }));
    assert_eq!(t.compare(&listed("t_text"), Some(&inherited)), Fit::Same);
    let simple = CollationMeta {
        locale: "simple",
        strength: 3,
        numeric_ordering: false,
    };
    let simple = declared(IndexMeta {
        collation: Some(simple),
        ..on!("b": Ascending)
    });
    assert_eq!(simple.compare(&listed("b_1"), Some(&inherited)), Fit::Same);
    assert_eq!(simple.compare(&listed("b_1"), None), Fit::Same);
}

#[test]
fn an_index_in_words() {
    let words = |meta| declared(meta).in_words();
    assert_eq!(
        words(IndexMeta {
            unique: true,
            ..on!("ssn": Ascending)
        }),
        "`ssn_1` on ssn, unique"
    );
    assert_eq!(
        words(IndexMeta {
            expire_after: Some(5),
            ..on!("a": Ascending, "at": Descending)
        }),
        "`a_1_at_-1` on a, at (descending), which deletes documents after 5 s"
    );
}

#[test]
fn one_index_may_do_for_another() {
    for (own, other, expected) in [
        (
            on!("a": Ascending, "b": Descending, "_id": Descending),
            on!("a": Ascending, "b": Descending),
            true,
        ),
        // The first field is looked up by its value, so the others may stand the other way round together.
        (
            on!("a": Ascending, "b": Descending, "_id": Descending),
            on!("a": Ascending, "b": Ascending, "_id": Ascending),
            true,
        ),
        (
            on!("a": Descending, "b": Descending),
            on!("a": Ascending, "b": Ascending),
            true,
        ),
        (
            on!("a": Ascending, "b": Ascending, "_id": Descending),
            on!("a": Ascending, "b": Ascending, "_id": Ascending),
            false,
        ),
        (
            on!("a": Ascending, "b": Ascending),
            on!("a": Ascending, "b": Ascending, "_id": Ascending),
            false,
        ),
        (on!("b": Ascending, "a": Ascending), on!("a": Ascending), false),
        (on!("a": Descending), on!("a": Ascending), true),
        (on!("a": Hashed), on!("a": Ascending), true),
        (on!("a": Hashed), on!("a": Ascending, "b": Ascending), false),
        (on!("a": Text { weight: 1 }), on!("a": Ascending), false),
    ] {
        let (own, other) = (declared(own), declared(other));
        assert_eq!(own.serves(&other), expected, "{} for {}", own.name, other.name);
    }
    let all = on!("a": Ascending);
    let other = declared(on!("a": Ascending));
    for part in [
        IndexMeta { sparse: true, ..all },
        IndexMeta {
            partial: Some(partial),
            ..all
        },
        IndexMeta {
            collation: Some(EN),
            ..all
        },
    ] {
        let part = declared(part);
        assert!(!part.serves(&other), "{part:?}");
    }
}

/// A sort that no declared index serves is read from the other end of one beside it.
#[test]
fn an_index_in_the_way_is_gone_round() {
    let order = |at: IndexKind, id: IndexKind| {
        let keys = [("product", Ascending), ("at", at), ("_id", id)];
        Index {
            implied: true,
            ..Index::on(keys.into_iter().map(|(name, kind)| (name.to_owned(), kind)))
        }
    };
    let wanted = order(Descending, Descending);
    let partial = |keys: &Index| Index {
        implied: false,
        partial: Some(doc! { "shown": true }),
        ..keys.clone()
    };
    assert_eq!(wanted.clone().beside(&[]), Some(wanted.clone()));
    let mut others = vec![partial(&wanted)];
    let turned = wanted.clone().beside(&others);
    assert_eq!(turned, Some(order(Ascending, Ascending)));
    assert_eq!(
        turned.map(|index| index.name),
        Some("product_1_at_1__id_1".to_owned())
    );
    // A name is in the way too.
    others.push(Index {
        name: "product_1_at_1__id_1".to_owned(),
        ..declared(on!("else": Ascending))
    });
    let third = wanted.clone().beside(&others).expect("two are left");
    assert_eq!(third.name, "product_-1_at_-1__id_-1");
    assert!(third.serves(&wanted) && wanted.serves(&third));
    let all = [(1, 1), (1, -1), (-1, 1), (-1, -1)].map(|(first, rest)| partial(&wanted.turned(first, rest)));
    assert_eq!(wanted.beside(&all), None);
}

#[test]
fn an_index_over_two_arrays_is_found() {
    use crate::expansion_fixture::{FIELD, Person};
    use crate::model::shape::StructShape;
    const fn plain(name: &'static str, shape: fn() -> Shape) -> FieldMeta {
        FieldMeta {
            rust: name,
            name,
            shape,
            ..FIELD
        }
    }
    const ROW: StructShape = StructShape {
        ty: None,
        name: "Row",
        fields: &[
            plain("x", || Shape::Bool),
            plain("y", || Shape::Bool),
            plain("z", || Shape::Array(|| Shape::Bool)),
        ],
        deny_unknown: false,
    };
    const DOCUMENT: StructShape = StructShape {
        ty: None,
        name: "Thing",
        fields: &[
            plain("a", || Shape::Array(|| Shape::Bool)),
            plain("b", || Shape::Array(|| Shape::Bool)),
            plain("some", || Shape::Optional(|| Shape::Array(|| Shape::Bool))),
            plain("c", || Shape::Bool),
            plain("rows", || Shape::Array(|| Shape::Struct(&ROW))),
        ],
        deny_unknown: false,
    };
    let found = |index: IndexMeta| {
        let indexes: &'static [IndexMeta] = Box::leak(Box::new([index]));
        parallel(&DocumentMeta {
            shape: || Shape::Struct(&DOCUMENT),
            indexes,
            ..*<Person as crate::Document>::META
        })
    };
    assert_eq!(found(on!["a": Ascending, "c": Ascending]), [""; 0]);
    assert_eq!(found(on!["rows.x": Ascending, "rows.y": Descending]), [""; 0]);
    assert_eq!(found(on!["rows.x": Ascending, "rows.z": Descending]), [""; 0]);
    assert_eq!(
        found(on!["a": Text { weight: 1 }, "b": Text { weight: 1 }]),
        [""; 0]
    );
    assert_eq!(found(on!["unknown": Ascending, "a": Ascending]), [""; 0]);
    assert_eq!(found(on!["some": Ascending, "a": Ascending]), [""; 0]);
    for index in [
        on!["a": Ascending, "b": Descending],
        on!["c": Ascending, "b": Ascending, "rows.x": Ascending],
        on!["a": Ascending, "rows.z": Ascending],
    ] {
        let problems = found(index);
        assert!(
            problems[0].contains("an index of `Person` is over two arrays"),
            "{problems:?}"
        );
    }
}

#[test]
fn wildcard_indexes_hold_the_fields_below_one_or_some_of_all() {
    let below = Index::on(
        vec![
            ("tenant".to_owned(), IndexKind::Ascending),
            ("a".to_owned(), IndexKind::Wildcard),
        ]
        .into_iter(),
    );
    assert_eq!(
        below.spec(),
        doc! { "key": { "tenant": 1, "a.$**": 1 }, "name": "tenant_1_a.$**_1" }
    );
    assert!(below.is_compound_wildcard());
    let all = |include: &'static [fn() -> &'static str], exclude: &'static [fn() -> &'static str]| {
        let keys = &[IndexKey {
            path: || "",
            kind: IndexKind::Wildcard,
        }];
        Index::of(&IndexMeta {
            include,
            exclude,
            ..IndexMeta::on(keys)
        })
        .unwrap()
    };
    let (whole, some, but) = (all(&[], &[]), all(&[|| "a.b"], &[]), all(&[], &[|| "c"]));
    assert_eq!(whole.spec(), doc! { "key": { "$**": 1 }, "name": "$**_1" });
    assert_eq!(
        some.spec().get_document("wildcardProjection").unwrap(),
        &doc! { "a.b": 1 }
    );
    assert_eq!(but.in_words(), "`$**_1` on $**, which holds all fields but c");
    let key = doc! { "$**": 1 };
    for shown in [doc! { "a": { "b": true } }, doc! { "_id": 0, "a.b": 1.0 }] {
        let there = doc! { "key": key.clone(), "name": "$**_1", "wildcardProjection": shown };
        assert_eq!(some.compare(&there, None), Fit::Same);
        let differs = vec!["it holds a.b, declared all fields".to_owned()];
        assert_eq!(whole.compare(&there, None), Fit::Differs(differs));
        assert!(some.excludes(&there, None, 21) && !but.excludes(&there, None, 21));
    }
}

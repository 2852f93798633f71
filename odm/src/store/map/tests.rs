//! The replies are those of a real `mongod`, shortened to the write error.

use super::*;
use crate::model::document::{IndexKey, IndexKind, IndexMeta};
use crate::model::shape::{Bounds, FieldMeta, Number, Shape, StructShape};
use mongodb::bson::{RawDocumentBuf, doc};
use std::error::Error as _;

const NO_META: Context = Context {
    collection: "people",
    meta: None,
};

const fn field(name: &'static str, shape: fn() -> Shape, bounds: Bounds) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        ty: "",
        shape,
        bounds,
        ..crate::expansion_fixture::FIELD
    }
}

const META: &DocumentMeta = &DocumentMeta {
    indexes: &[IndexMeta {
        name: Some("one ssn only"),
        unique: true,
        ..IndexMeta::on(&[
            IndexKey {
                path: || "country",
                kind: IndexKind::Ascending,
            },
            IndexKey {
                path: || "ids.ssn",
                kind: IndexKind::Ascending,
            },
        ])
    }],
    ..crate::expansion_fixture::document("Person", "people", || {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Person",
                    fields: &[
                        field(
                            "point",
                            || Shape::Fixed {
                                items: || Shape::Double,
                                len: 3,
                            },
                            Bounds::NONE,
                        ),
                        field(
                            "labels",
                            || Shape::Optional(|| Shape::Map(|| Shape::String)),
                            Bounds {
                                key_len: Some(4),
                                ..Bounds::NONE
                            },
                        ),
                    ],
                    deny_unknown: false,
                }
            },
        )
    })
};

/// Maps a write error as it stands in a reply.
fn map(context: Context, write: &Document) -> Option<Error> {
    let raw = RawDocumentBuf::try_from(write).expect("encodes");
    context.refused(Refusal {
        code: write.get_i32("code").expect("a code"),
        message: write.get_str("errmsg").expect("a message"),
        details: write.get_document("errInfo").ok(),
        raw: Some(&raw),
    })
}

fn duplicate(error: Option<Error>) -> (String, Vec<String>, Document) {
    match error {
        Some(Error::DuplicateKey {
            collection,
            index,
            fields,
            value,
            ..
        }) => {
            assert_eq!(collection, "people");
            (index, fields, *value)
        }
        other => panic!("not a duplicate key: {other:?}"),
    }
}

fn invalid(details: Document) -> Vec<Violation> {
    invalid_with(NO_META, details)
}

fn invalid_with(context: Context, details: Document) -> Vec<Violation> {
    let write = doc! {
        "index": 0, "code": 121, "errInfo": { "failingDocumentId": 2, "details": details },
        "errmsg": "Document failed validation",
    };
    match map(context, &write) {
        Some(Error::Invalid { violations, .. }) => violations,
        other => panic!("not a failed validation: {other:?}"),
    }
}

fn schema(rules: Vec<Document>) -> Document {
    doc! { "operatorName": "$jsonSchema", "schemaRulesNotSatisfied": rules }
}

fn property(name: &str, details: Vec<Document>) -> Document {
    doc! {
        "operatorName": "properties",
        "propertiesNotSatisfied": [{ "propertyName": name, "details": details }],
    }
}

fn broken(path: &str, rule: Rule, value: impl Into<Option<Bson>>) -> Violation {
    Violation::new(path, rule, value.into())
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_duplicate_key_names_index_fields_and_values() {
    let replies = [
        (
            doc! {
                "index": 1, "code": 11000, "keyPattern": { "_id": 1 }, "keyValue": { "_id": 1 },
                "errmsg": "E11000 duplicate key error collection: DB.w index: _id_ dup key: { _id: 1 }",
            },
            ("_id_", vec!["_id"], doc! { "_id": 1 }),
        ),
        (
            doc! {
                "index": 0, "code": 11000, "keyPattern": { "a": 1, "b": -1 }, "keyValue": { "a": 1, "b": 1 },
                "errmsg": "E11000 duplicate key error collection: DB.i index: a_1_b_-1 dup key: { a: 1, b: 1 }",
            },
            ("a_1_b_-1", vec!["a", "b"], doc! { "a": 1, "b": 1 }),
        ),
        (
            doc! {
                "ok": 0, "code": 11000, "codeName": "DuplicateKey",
                "errmsg": "Index build failed: 4443501d-4d4a-4950-85e6-02198f76ca6a: Collection DB.i ( 572179aa-8598-499f-9b18-025d17b1332d ) :: caused by :: E11000 duplicate key error collection: DB.i index: a_1 dup key: { a: 1 }",
                "keyPattern": { "a": 1 }, "keyValue": { "a": 1 },
            },
            ("a_1", vec!["a"], doc! { "a": 1 }),
        ),
    ];
    for (reply, (index, fields, value)) in replies {
        let expected = (index.to_owned(), strings(&fields), value);
        assert_eq!(duplicate(map(NO_META, &reply)), expected);
        // The driver keeps only the message of an insert's error.
        let (code, message) = (reply.get("code").cloned(), reply.get("errmsg").cloned());
        let mut bare = doc! { "code": code, "errmsg": message };
        assert_eq!(duplicate(map(NO_META, &bare)), expected);
        // With the words that some servers put in front.
        let message = bare.get_str("errmsg").expect("a message").to_owned();
        bare.insert(
            "errmsg",
            format!("Plan executor error during update :: caused by :: {message}"),
        );
        assert_eq!(duplicate(map(NO_META, &bare)), expected);
    }
}

#[test]
fn the_reply_is_believed_before_the_message() {
    let reply = doc! {
        "code": 11000, "keyPattern": { "name": 1 }, "keyValue": { "name": "x\" }, b: \"" },
        "errmsg": "E11000 duplicate key error collection: DB.w index: name_1 dup key: { name: \"x\" }, b: \"\" }",
    };
    let (_, fields, value) = duplicate(map(NO_META, &reply));
    assert_eq!(fields, ["name"]);
    assert_eq!(value, doc! { "name": "x\" }, b: \"" });
}

#[test]
fn an_index_without_field_names_is_looked_up() {
    let reply = doc! {
        "code": 11000,
        "errmsg": "E11000 duplicate key error collection: DB.people index: one ssn only dup key: { : \"CH\", : \"12\" }",
    };
    let value = doc! { "country": "CH", "ids.ssn": "12" };
    let fields = strings(&["country", "ids.ssn"]);
    assert_eq!(
        duplicate(map(Context::new(META), &reply)),
        ("one ssn only".to_owned(), fields, value)
    );
    // Nothing is made up where nothing is known.
    let unknown = ("one ssn only".to_owned(), vec![], doc! {});
    assert_eq!(duplicate(map(NO_META, &reply)), unknown);
    let by_default = doc! {
        "code": 11001, "errmsg": "E11000 duplicate key error index: DB.people.$first_name_1 dup key: { : \"Ada\" }",
    };
    assert_eq!(
        duplicate(map(NO_META, &by_default)),
        (
            "first_name_1".to_owned(),
            strings(&["first_name"]),
            doc! { "first_name": "Ada" }
        )
    );
}

#[test]
fn a_missing_field_is_required() {
    let details = schema(vec![doc! {
        "operatorName": "required", "specifiedAs": { "required": ["name"] }, "missingProperties": ["name"],
    }]);
    assert_eq!(invalid(details), [broken("name", Rule::Required, None)]);
}

#[test]
fn every_fault_is_reported() {
    let details = doc! {
        "operatorName": "$jsonSchema",
        "schemaRulesNotSatisfied": [{
            "operatorName": "properties",
            "propertiesNotSatisfied": [
                { "propertyName": "name", "details": [{
                    "operatorName": "maxLength", "specifiedAs": { "maxLength": 5 },
                    "reason": "specified string length was not satisfied", "consideredValue": "abcdefg",
                }] },
                { "propertyName": "tags", "details": [
                    {
                        "operatorName": "maxItems", "specifiedAs": { "maxItems": 2 },
                        "reason": "array did not match specified length", "consideredValue": ["a", "b", 3],
                    },
                    {
                        "operatorName": "items", "reason": "At least one item did not match the sub-schema", "itemIndex": 2,
                        "details": [{
                            "operatorName": "bsonType", "specifiedAs": { "bsonType": "string" },
                            "reason": "type did not match", "consideredValue": 3, "consideredType": "int",
                        }],
                    },
                ] },
                { "propertyName": "kind", "details": [{
                    "operatorName": "enum", "specifiedAs": { "enum": ["a", "b"] },
                    "reason": "value was not found in enum", "consideredValue": "z",
                }] },
                { "propertyName": "n", "details": [{
                    "operatorName": "minimum", "specifiedAs": { "minimum": 0 },
                    "reason": "comparison failed", "consideredValue": -1,
                }] },
                { "propertyName": "o", "details": [{
                    "operatorName": "additionalProperties", "specifiedAs": { "additionalProperties": false },
                    "additionalProperties": ["y"],
                }] },
            ],
        }],
    };
    assert_eq!(
        invalid(details),
        [
            broken("name", Rule::MaxLength(5), Bson::from("abcdefg")),
            broken("tags", Rule::MaxItems(2), None),
            broken("tags.2", Rule::Type(strings(&["string"])), Bson::from(3)),
            broken("kind", Rule::OneOf(vec!["a".into(), "b".into()]), Bson::from("z")),
            broken("n", Rule::Min(Number::Int(0)), Bson::from(-1)),
            broken("o.y", Rule::Unknown, None),
        ]
    );
}

#[test]
fn other_replies_of_validators() {
    let wrong_type = property(
        "name",
        vec![doc! {
            "operatorName": "bsonType", "specifiedAs": { "bsonType": ["string", "null"] },
            "reason": "type did not match", "consideredValue": 5, "consideredType": "int",
        }],
    );
    let expected = broken("name", Rule::Type(strings(&["string", "null"])), Bson::from(5));
    assert_eq!(invalid(schema(vec![wrong_type.clone()]))[0], expected);
    // Below an item, and among other conditions.
    let nested = property(
        "addresses",
        vec![doc! { "operatorName": "items", "reason": "x", "itemIndex": 2, "details": [wrong_type] }],
    );
    let both = doc! {
        "operatorName": "$and",
        "clausesNotSatisfied": [
            { "index": 0, "details": schema(vec![nested]) },
            { "index": 1, "details": {
                "operatorName": "$gt", "specifiedAs": { "n": { "$gt": 0 } }, "reason": "comparison failed",
                "consideredValue": -3,
            } },
            { "index": 2, "details": {
                "operatorName": "$expr", "specifiedAs": { "$expr": { "$lte": [1, 0] } },
                "reason": "expression did not match", "expressionResult": false,
            } },
        ],
    };
    assert_eq!(
        invalid(both),
        [
            broken("addresses.2.name", expected.rule, Bson::from(5)),
            broken(
                "n",
                Rule::Other("$gt: comparison failed".to_owned()),
                Bson::from(-3)
            ),
            broken(
                "",
                Rule::Other("$expr: expression did not match".to_owned()),
                None
            ),
        ]
    );
}

#[test]
fn bounds_keep_their_numbers() {
    let of = |operator: &str, bound: Bson| {
        let mut rule = doc! { "operatorName": operator, "reason": "a reason", "consideredValue": 9 };
        rule.insert("specifiedAs", doc! { operator: bound });
        invalid(schema(vec![property("x", vec![rule])])).remove(0).rule
    };
    assert_eq!(of("maximum", Bson::Double(1.5)), Rule::Max(Number::Float(1.5)));
    assert_eq!(of("minimum", Bson::Int64(7)), Rule::Min(Number::Int(7)));
    assert_eq!(of("maxItems", Bson::Int64(7)), Rule::MaxItems(7));
    assert_eq!(of("maxProperties", Bson::Double(7.0)), Rule::MaxItems(7));
    assert_eq!(of("minLength", Bson::Int32(2)), Rule::MinLength(2));
    assert_eq!(of("multipleOf", Bson::Int32(2)), Rule::MultipleOf(2));
    assert_eq!(of("uniqueItems", Bson::Boolean(true)), Rule::UniqueItems);
    let whole = Bson::from("^(?:a|b)\\z");
    assert_eq!(of("pattern", whole), Rule::Pattern("a|b".to_owned()));
    let theirs = Rule::Other("pattern: a reason".to_owned());
    assert_eq!(of("pattern", Bson::from("^a")), theirs);
    for foreign in ["minItems", "minProperties"] {
        assert_eq!(
            of(foreign, Bson::Int32(2)),
            Rule::Other(format!("{foreign}: a reason"))
        );
    }
    let exclusive = doc! {
        "operatorName": "minimum", "specifiedAs": { "minimum": 0, "exclusiveMinimum": true },
        "reason": "comparison failed", "consideredValue": 0,
    };
    assert_eq!(
        invalid(schema(vec![property("x", vec![exclusive])]))[0].rule,
        Rule::Other("minimum: comparison failed".to_owned())
    );
}

#[test]
fn the_declaration_gives_the_bound_behind_a_rule() {
    let rule = |operator: &str| {
        let mut rule = doc! { "operatorName": operator, "reason": "array did not match specified length" };
        rule.insert("specifiedAs", doc! { operator: 3 });
        rule
    };
    for operator in ["minItems", "maxItems"] {
        let details = schema(vec![property("point", vec![rule(operator)])]);
        assert_eq!(
            invalid_with(Context::new(META), details),
            [broken("point", Rule::Items(3), None)]
        );
    }
    let details = schema(vec![property(
        "labels",
        vec![doc! {
            "operatorName": "additionalProperties", "specifiedAs": { "additionalProperties": false },
            "additionalProperties": ["toolong"],
        }],
    )]);
    assert_eq!(
        invalid_with(Context::new(META), details),
        [broken("labels", Rule::KeyLength(4), Bson::from("toolong"))]
    );
}

fn any_of(branches: Vec<Vec<Document>>) -> Vec<Violation> {
    let schemas: Vec<Document> = branches
        .into_iter()
        .enumerate()
        .map(|(i, details)| doc! { "index": i as i32, "details": details })
        .collect();
    invalid(schema(vec![property(
        "shape",
        vec![doc! { "operatorName": "anyOf", "schemasNotSatisfied": schemas }],
    )]))
}

#[test]
fn of_alternatives_the_closest_one_is_reported() {
    let other_tag = |tag: &str| {
        property(
            "type",
            vec![doc! {
                "operatorName": "enum", "specifiedAs": { "enum": [tag] }, "reason": "value was not found in enum",
                "consideredValue": "circle",
            }],
        )
    };
    let missing = |name: &str| {
        doc! {
            "operatorName": "required", "specifiedAs": { "required": [name] }, "missingProperties": [name],
        }
    };
    let wrong_type = |name: &str, value: i32| {
        doc! {
            "operatorName": "bsonType", "specifiedAs": { "bsonType": name }, "reason": "type did not match",
            "consideredValue": value, "consideredType": "int",
        }
    };
    let negative = property(
        "radius",
        vec![doc! {
            "operatorName": "minimum", "specifiedAs": { "minimum": 0 }, "reason": "comparison failed",
            "consideredValue": -1,
        }],
    );
    // By its tag.
    assert_eq!(
        any_of(vec![
            vec![other_tag("square"), missing("side")],
            vec![negative.clone()]
        ]),
        [broken("shape.radius", Rule::Min(Number::Int(0)), Bson::from(-1))]
    );
    assert_eq!(
        any_of(vec![vec![other_tag("square")], vec![missing("radius")]]),
        [broken("shape.radius", Rule::Required, None)]
    );
    // By the field that it stands in.
    assert_eq!(
        any_of(vec![
            vec![missing("Square")],
            vec![property("Circle", vec![negative])],
            vec![wrong_type("string", 1)],
        ]),
        [broken(
            "shape.Circle.radius",
            Rule::Min(Number::Int(0)),
            Bson::from(-1)
        )]
    );
    // None by type: all types.
    assert_eq!(
        any_of(vec![vec![wrong_type("string", 1)], vec![wrong_type("null", 1)]]),
        [broken(
            "shape",
            Rule::Type(strings(&["string", "null"])),
            Bson::from(1)
        )]
    );
    // Not to be told.
    assert_eq!(
        any_of(vec![vec![missing("Square")], vec![missing("Circle")]]),
        [broken("shape", Rule::Other("anyOf".to_owned()), None)]
    );
}

#[test]
fn operators_without_a_place_are_told_by_name() {
    let details = schema(vec![property(
        "x",
        vec![
            doc! { "operatorName": "oneOf", "specifiedAs": {}, "reason": "more than one subschema matched", "matchingSchemaIndexes": [0, 1] },
            doc! { "operatorName": "not", "specifiedAs": {}, "reason": "child expression matched" },
        ],
    )]);
    assert_eq!(
        invalid(details),
        [
            broken(
                "x",
                Rule::Other("oneOf: more than one subschema matched".to_owned()),
                None
            ),
            broken("x", Rule::Other("not: child expression matched".to_owned()), None),
        ]
    );
    let nor = doc! { "operatorName": "$nor", "clausesSatisfied": [{ "index": 0, "details": {} }] };
    assert_eq!(invalid(nor), [broken("", Rule::Other("$nor".to_owned()), None)]);
    assert_eq!(
        invalid(doc! { "shape": ["unknown"] }),
        [broken("", Rule::Other("unknown".to_owned()), None)]
    );
}

#[test]
fn a_server_that_gives_no_details_is_quoted() {
    for reply in [
        doc! { "code": 121, "errmsg": "Document failed validation" },
        doc! { "code": 121, "errmsg": "Document failed validation", "errInfo": { "failingDocumentId": 1 } },
    ] {
        match map(NO_META, &reply) {
            Some(Error::Invalid { violations, .. }) => {
                let rule = Rule::Other("Document failed validation".to_owned());
                assert_eq!(violations, [broken("", rule, None)]);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn too_large_documents() {
    for (code, message, expected) in [
        (
            2,
            "object to insert too large. size in bytes: 16777238, max size: 16777216",
            Some(16_777_238),
        ),
        (
            17419,
            "Resulting document after update is larger than 16777216",
            None,
        ),
        (
            17419,
            "Plan executor error during update :: caused by :: Resulting document after update is larger than 16777216",
            None,
        ),
        (17420, "Document to upsert is larger than 16777216", None),
        (
            10334,
            "BSONObj size: 16777300 (0x1000054) is invalid. Size must be between 0 and 16793600(16MB) First element: _id: 1",
            Some(16_777_300),
        ),
    ] {
        match map(NO_META, &doc! { "index": 0, "code": code, "errmsg": message }) {
            Some(Error::TooLarge { size, what, .. }) => {
                assert_eq!((size, what), (expected, "the document"), "{message}");
            }
            other => panic!("{message}: {other:?}"),
        }
    }
}

/// The server shows the first field of what is too large: that of a command or of a statement.
#[test]
fn what_is_too_large_is_named() {
    let size = "BSONObj size: 17000000 (0x1036640) is invalid. Size must be between 0 and 16793600(16MB)";
    for (first, what) in [
        (" First element: find: \"people\"", "the filter"),
        (" First element: count: \"people\"", "the filter"),
        (" First element: distinct: \"people\"", "the filter"),
        (" First element: aggregate: \"people\"", "the pipeline"),
        (
            " First element: q: { _id: { $in: [ 1 ] } }",
            "a statement, with its filter,",
        ),
        (" First element: findAndModify: \"people\"", "the command"),
        (" First element: _id: \"find\"", "the document"),
        ("", "the document"),
    ] {
        let (variant, text) = told(10334, &format!("{size}{first}"));
        assert_eq!(variant, "TooLarge");
        let expected = format!("people: {what} is 17000000 bytes, larger than 16 MiB");
        assert!(text.starts_with(&expected), "{text}");
    }
    let (_, text) = told(
        10334,
        &format!("PlanExecutor error during aggregation :: caused by :: {size} First element: _id: 1"),
    );
    assert!(
        text.starts_with("people: a result of the pipeline is 17000000 bytes"),
        "{text}"
    );
    // Of an operation that only reads it is the query, where the server names nothing.
    let read = NO_META
        .driver(written(doc! { "code": 10334, "errmsg": size }))
        .of_read();
    assert!(
        read.to_string()
            .starts_with("people: the query is 17000000 bytes"),
        "{read}"
    );
}

/// The replies of `mongod-4.9-more.json`: in the place of a text stands the sort key of the collation.
#[test]
fn a_sort_key_is_not_shown_as_a_value() {
    let message = "E11000 duplicate key error collection: DB.people index: email_1 collation: { locale: \"en\", caseLevel: false, \
                   strength: 2 } dup key: { email: \"0x3d0a7a570107\" }";
    let error = map(NO_META, &doc! { "index": 0, "code": 11000, "errmsg": message }).expect("is mapped");
    let Error::DuplicateKey { fields, value, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (fields.as_slice(), value.as_ref()),
        (&["email".to_owned()][..], &doc! {})
    );
    let expected = "people: another document already has a value of `email` that the collation takes for the same, which the unique index \
                    `email_1` allows once";
    assert_eq!(error.to_string(), expected);
    // A number is a number in every collation; of a command the server names the fields.
    let reply = mongodb::bson::rawdoc! {
        "keyPattern": { "shop": 1, "email": 1 },
        "keyValue": { "shop": 7, "email": "=\nzW\u{1}\u{7}" },
    };
    let refusal = Refusal {
        code: 11000,
        message,
        details: None,
        raw: Some(&reply),
    };
    let error = write_error(NO_META, refusal);
    let Error::DuplicateKey { fields, value, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(fields, &["shop", "email"]);
    assert_eq!(**value, doc! { "shop": 7 });
    assert!(
        error
            .to_string()
            .contains("`shop` 7 and a value of `email` that the collation takes for the same"),
        "{error}"
    );
}

/// The replies of a `mongos` 4.9 with two shards (`mongos-4.9.json`), and of a later one by the server's sources.
#[test]
fn another_value_for_a_field_of_a_shard_key_is_refused_as_immutable() {
    for (code, message) in [
        (
            31025,
            "Shard key update is not allowed without specifying the full shard key in the query",
        ),
        (
            20,
            "Must run update to shard key field in a multi-statement transaction or with retryWrites: true.",
        ),
        (
            72,
            "Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1",
        ),
        (
            72,
            "Multi-update operations are not allowed when updating the shard key field.",
        ),
    ] {
        let write = doc! { "index": 1, "code": code, "errmsg": message };
        let one: IndexedWriteError = deserialize_from_document(write.clone()).expect("a write error");
        let command = deserialize_from_document(doc! { "code": code, "codeName": "Name", "errmsg": message });
        let command = ErrorKind::Command(command.expect("a command error"));
        for error in [
            NO_META.driver(written(write)),
            write_error(NO_META, &one),
            NO_META.driver(command.into()),
        ] {
            assert!(
                matches!(&error, Error::Immutable { source: Some(_), .. }),
                "{code} {message}: {error:?}"
            );
            let text = error.to_string();
            assert!(
                text.starts_with("people: `(shard key)` can't be changed"),
                "{text}"
            );
        }
    }
}

/// The messages are those of the server's sources and of a `mongos` 4.9.
#[test]
fn features_that_older_sharded_clusters_lack() {
    for (code, message, needed) in [
        (
            61,
            "Query for sharded findAndModify must contain the shard key",
            "MongoDB 7.1",
        ),
        (
            61,
            "Failed to target upsert by query :: could not extract exact shard key",
            "MongoDB 7.1",
        ),
        (
            61,
            "A single delete on a sharded collection must contain an exact match on _id (and have the collection default collation) or \
             contain the shard key (and have the simple collation). Delete request: { q: { x: 3 }, limit: 1 }, shard key pattern: { \
             tenant: 1, _id: 1 }",
            "MongoDB 7.1",
        ),
        (
            72,
            "A {multi:false} update on a sharded collection must contain an exact match on _id (and have the collection default \
             collation) or target a single shard (and have the simple collation), but this update targeted 2 shards. Update request: \
             { q: { x: 1 }, u: { $set: { y: 1 } }, multi: false, upsert: false }, shard key pattern: { tenant: 1, _id: 1 }",
            "MongoDB 7.1",
        ),
        (28769, "shop.people cannot be sharded", "MongoDB 5.1"),
        (
            51069,
            "Cannot run $lookup with sharded foreign collection",
            "MongoDB 5.1",
        ),
    ] {
        match map(NO_META, &doc! { "index": 0, "code": code, "errmsg": message }) {
            Some(error @ Error::Unsupported { .. }) => {
                let text = error.to_string();
                assert!(text.contains(needed) && text.contains(message), "{text}");
            }
            other => panic!("{message}: {other:?}"),
        }
    }
    assert!(matches!(
        map(NO_META, &doc! { "index": 0, "code": 28769, "errmsg": "else" }),
        Some(Error::Refused { code: 28769, .. })
    ));
}

/// The messages of MongoDB from 4.4 to 8.0, and of a stand-in.
#[test]
fn a_deployment_without_search_says_so() {
    for (code, message) in [
        (
            31082,
            "Using $search and $vectorSearch aggregation stages requires additional configuration.",
        ),
        (
            6_047_401,
            "$listSearchIndexes stage is only allowed on MongoDB Atlas",
        ),
        (115, "Search index commands are only supported with Atlas."),
        (59, "no such command: 'createSearchIndexes'"),
        (40324, "Unrecognized pipeline stage name: '$search'"),
        (40324, "Unrecognized pipeline stage name: '$listSearchIndexes'"),
    ] {
        match map(NO_META, &doc! { "index": 0, "code": code, "errmsg": message }) {
            Some(error @ Error::Unsupported { .. }) => {
                let text = error.to_string();
                assert!(
                    text.contains("needs MongoDB Atlas") && text.contains(message),
                    "{text}"
                );
            }
            other => panic!("{message}: {other:?}"),
        }
    }
    for (code, message) in [
        (59, "no such command: 'bulkWrite'"),
        (40324, "Unrecognized pipeline stage name: '$serch'"),
    ] {
        let mapped = map(NO_META, &doc! { "index": 0, "code": code, "errmsg": message });
        assert!(
            !matches!(mapped, Some(Error::Unsupported { .. })),
            "{message}: {mapped:?}"
        );
    }
}

#[test]
fn a_change_within_a_value_that_is_no_document_names_it() {
    for (message, expected) in [
        ("Cannot create field 'x' in element {n: 1}", "n"),
        (
            "Cannot create field 'rows' in element {extra: { a: \"' in element {b: 1}\" }}",
            "extra",
        ),
        (
            "Plan executor error during update :: caused by :: Cannot create field 'x' in element {n: null}",
            "n",
        ),
    ] {
        let write = doc! { "index": 0, "code": 28, "errmsg": message };
        match map(NO_META, &write) {
            Some(Error::NotADocument { field, .. }) => assert_eq!(field, expected, "{message}"),
            other => panic!("{message}: {other:?}"),
        }
        let raw = RawDocumentBuf::new();
        let refusal = Refusal {
            code: 28,
            message,
            details: None,
            raw: Some(&raw),
        };
        let error = write_error(NO_META, refusal);
        assert!(error.source().is_some() && error.driver_error().is_some());
    }
}

/// The variant's name, and the text.
fn told(code: i32, message: &str) -> (String, String) {
    let error = NO_META.driver(written(doc! { "index": 0, "code": code, "errmsg": message }));
    // A mistake of the program needs none.
    assert!(
        error.driver_error().is_some() || matches!(error, Error::Query { .. }),
        "{message}: the driver's error is kept"
    );
    let variant = format!("{error:?}");
    let end = variant.find([' ', '(']).unwrap_or(variant.len());
    (variant[..end].to_owned(), error.to_string())
}

#[test]
fn refusals_of_the_server_have_a_type() {
    for (code, message, variant, says) in [
        (
            2,
            "can't use an array for _id",
            "Refused",
            "can't use an array for _id (code 2)",
        ),
        (
            2,
            "The field 'n' must be an array but is of type int in document {_id: 1}",
            "StoredType",
            "`n` of the document with _id 1 is stored as int, and the operation needs an array",
        ),
        (
            2,
            "error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index",
            "Index",
            "`hint`",
        ),
        (
            9,
            "Unknown modifier: $nope. Expected a valid update modifier or pipeline-style update specified as an array",
            "Refused",
            "$nope",
        ),
        (
            14,
            "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 's' of non-numeric type string",
            "StoredType",
            "needs a number",
        ),
        (
            15,
            "cannot insert document because it exceeds 180 levels of nesting",
            "Refused",
            "180 levels",
        ),
        (
            20,
            "cannot remove from a capped collection: db.people",
            "CollectionType",
            "people is a capped collection",
        ),
        (
            28,
            "Cannot use the part (seen) of (range.seen) to traverse the element ({range: null})",
            "NotADocument",
            "`range`",
        ),
        (28, "something else", "Refused", "something else (code 28)"),
        (
            40,
            "Updating the path 'n' would create a conflict at 'n'",
            "Query",
            "conflict at 'n'",
        ),
        (
            43,
            "cursor id 7 not found",
            "CursorLost",
            "the server has closed the cursor",
        ),
        (
            66,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
            "Immutable",
            "`_id` can't be changed",
        ),
        (
            66,
            "After applying the update, the (immutable) field 'region' was found to have been altered to region: 9",
            "Immutable",
            "`region` can't be changed",
        ),
        (
            61,
            "Shard key cannot contain array values or array descendants.",
            "Refused",
            "array values",
        ),
        (
            67,
            "unsupported expression in partial index: $not",
            "Index",
            "change its declaration: unsupported expression",
        ),
        (
            67,
            "Index build failed: 4f0e: Collection facts.r ( 4f0e ) :: caused by :: cannot create unique index over { tenant: 1, slug: 1 } \
             with shard key pattern { tenant: 1, _id: 1 }",
            "Index",
            "the whole shard key, here { tenant: 1, _id: 1 }: put its fields in front of those of the index",
        ),
        (
            67,
            "cannot create unique index over { slug: 1 } with shard key pattern { k: \"hashed\" }",
            "Index",
            "the whole shard key, here { k: \"hashed\" }: put",
        ),
        (
            72,
            "Cannot use (or request) retryable writes with multi=true",
            "Refused",
            "code 72",
        ),
        (
            85,
            "Index already exists with a different name: x",
            "Index",
            "drop it",
        ),
        (
            112,
            "WriteConflict error: this operation conflicted with another operation.",
            "Contention",
            "try again",
        ),
        (
            166,
            "Namespace db.people is a view, not a collection",
            "CollectionType",
            "people is a view",
        ),
        (171, "cannot index parallel arrays [b] [a]", "Index", "one array"),
        (
            292,
            "Sort exceeded memory limit of 104857600 bytes, but did not opt in to external sorting.",
            "Memory",
            "`.allow_disk_use()`",
        ),
        (
            16766,
            "Error: hashed indexes do not currently support array values. Found array at path: tags",
            "Index",
            "takes no array",
        ),
        (
            17261,
            "found language override field in document with non-string type",
            "Index",
            "`language_override`",
        ),
        (
            17262,
            "language override unsupported: klingon",
            "Index",
            "`language_override`",
        ),
        (
            51091,
            "Regular expression is invalid: regular expression is too large",
            "Pattern",
            "too large",
        ),
        // Replies of `mongod-4.9-more.json` and `mongos-4.9.json`, and messages of the server's sources.
        (
            51183,
            "Cannot find index to verify that join fields will be unique",
            "Index",
            "a unique index of exactly the fields of `on`",
        ),
        (
            51190,
            "Cannot find index to verify that join fields will be unique",
            "Index",
            "declare it there, and call `sync`",
        ),
        (
            51132,
            "PlanExecutor error during aggregation :: caused by :: $merge write error: 'on' field 'k' cannot be missing, null, undefined \
             or an array",
            "Refused",
            "'on' field 'k' cannot be missing",
        ),
        (
            13113,
            "$merge could not find a matching document in the target collection for at least one document in the source collection",
            "Refused",
            "could not find a matching document",
        ),
        (
            263,
            "Collection 'db.people' is a capped collection. Writes in transactions are not allowed on capped collections.",
            "CollectionType",
            "people is a capped collection",
        ),
        (
            263,
            "Cannot run 'count' in a multi-document transaction. Please see http://dochub.mongodb.org/core/transaction-count for a \
             recommended alternative.",
            "Refused",
            "multi-document transaction",
        ),
        (
            263,
            "Stage not supported inside of a multi-document transaction: $unionWith",
            "Refused",
            "$unionWith",
        ),
        (
            40485,
            "unrecognized time zone identifier: \"Mars/Phobos\"",
            "Refused",
            "\"Mars/Phobos\" (code 40485)",
        ),
        (
            241,
            "Failed to parse number 'x' in $convert with no onError value: Did not consume whole string.",
            "Refused",
            "Failed to parse number",
        ),
        (
            224,
            "$expr is not allowed in the query predicate for an upsert",
            "Refused",
            "$expr",
        ),
        (
            34473,
            "PlanExecutor error during aggregation :: caused by :: $strLenBytes requires a string argument, found: null",
            "Refused",
            "$strLenBytes requires a string",
        ),
        (
            40091,
            "PlanExecutor error during aggregation :: caused by :: $indexOfBytes requires a string as the first argument, found: int",
            "Refused",
            "$indexOfBytes",
        ),
        (
            40324,
            "Unrecognized pipeline stage name: '$nope'",
            "Refused",
            "'$nope'",
        ),
        (
            31249,
            "Path collision at a.b remaining portion b",
            "Refused",
            "Path collision",
        ),
        (16608, "can't $divide by zero", "Refused", "$divide"),
        (167, "Option not supported on view", "CollectionType", "is a view"),
        (
            146,
            "$push used too much memory and cannot spill to disk. Memory limit: 104857600 bytes",
            "Memory",
            "`.allow_disk_use()`",
        ),
        (
            96,
            "Executor error during find command :: caused by :: Sort operation used more than the maximum 33554432 bytes of RAM. Add an \
             index, or specify a smaller limit.",
            "Memory",
            "declare an index",
        ),
    ] {
        let (found, text) = told(code, message);
        assert_eq!(found, variant, "{code} {message}: {text}");
        assert!(text.contains(says), "{code}: {text}");
        assert!(text.starts_with("people"), "{code}: {text}");
    }
    // The state of the server is no mistake of the operation, and stays the driver's error.
    for (code, message) in [
        (13, "not authorized on db"),
        (50, "operation exceeded time limit"),
        (251, "Transaction 1 has been aborted."),
        (11601, "operation was interrupted"),
        (13388, "stale config"),
        (14031, "Can't take a write lock while out of disk space"),
    ] {
        assert_eq!(told(code, message).0, "Driver", "{message}");
    }
    assert!(matches!(
        map(NO_META, &doc! { "code": 16766, "errmsg": "Found array at path: tags" }),
        Some(Error::Index { field: Some(field), .. }) if field == "tags"
    ));
}

/// A reply to a command that failed.
fn failed(code: i32, labels: &[&str]) -> mongodb::error::Error {
    let reply = doc! { "code": code, "codeName": "Name", "errmsg": "words" };
    let command: mongodb::error::CommandError = deserialize_from_document(reply).expect("an error");
    let mut concern = doc! { "code": code, "codeName": "Name", "errmsg": "words" };
    concern.insert("errorLabels", labels.to_vec());
    if labels.is_empty() {
        ErrorKind::Command(command).into()
    } else {
        ErrorKind::Write(WriteFailure::WriteConcernError(
            deserialize_from_document(concern).expect("an error"),
        ))
        .into()
    }
}

#[test]
fn an_unavailable_server_is_told_from_a_lost_reply() {
    // Refused before the operation began: nothing was written.
    for code in [10107, 13435, 13436] {
        let error = NO_META.driver(failed(code, &[]));
        assert!(
            error.is_transient() && !error.outcome_unknown(),
            "{code}: {error}"
        );
    }
    // It may have begun.
    for code in [6, 7, 89, 91, 189, 9001, 11600, 11602] {
        let error = NO_META.driver(failed(code, &[]));
        assert!(matches!(error, Error::Unavailable { .. }), "{code}: {error}");
        assert!(error.outcome_unknown() && !error.is_transient(), "{code}");
        let read = error.of_read();
        assert!(read.is_transient() && !read.outcome_unknown(), "{code}: a read");
    }
    let lost: Error = mongodb::error::Error::from(std::io::Error::other("reset")).into();
    assert!(lost.outcome_unknown());
    // Written, and perhaps not for good.
    let unsure = NO_META.driver(failed(64, &["RetryableWriteError"]));
    assert!(unsure.outcome_unknown() && !unsure.is_transient(), "{unsure}");
    let refused = NO_META.driver(failed(13, &[]));
    assert!(!refused.outcome_unknown() && !refused.is_transient());
    // A part was written.
    let contended = NO_META.driver(failed(112, &[]));
    assert!(contended.is_transient());
    let part = contended.after_a_part("people");
    assert!(
        matches!(part, Error::Unfinished { .. }) && !part.is_transient(),
        "{part}"
    );
}

#[test]
fn the_text_of_a_drivers_error_has_no_bytes() {
    let error: Error = failed(13, &[]).into();
    assert_eq!(error.to_string(), "words (code 13, Name)");
    let labelled: Error = failed(64, &["RetryableWriteError"]).into();
    assert_eq!(
        labelled.to_string(),
        "the write was made, but not acknowledged as its write concern requires: words (code 64, Name) [RetryableWriteError]"
    );
}

/// The driver's error for a write that was refused.
fn written(write: Document) -> mongodb::error::Error {
    let write = deserialize_from_document(write).expect("a write error");
    ErrorKind::Write(WriteFailure::WriteError(write)).into()
}

#[test]
fn the_drivers_error_is_kept_as_the_source() {
    let errors = [
        doc! { "code": 11000, "errmsg": "E11000 duplicate key error collection: a.people index: _id_ dup key: { _id: 1 }" },
        doc! { "code": 121, "errmsg": "Document failed validation" },
        doc! { "code": 17419, "errmsg": "Resulting document after update is larger than 16777216" },
    ];
    for write in errors {
        let message = write.get_str("errmsg").expect("a message").to_owned();
        let error = NO_META.driver(written(write));
        assert!(
            error
                .driver_error()
                .expect("a source")
                .to_string()
                .contains(&message)
        );
        assert!(error.source().is_some());
        assert!(error.to_string().starts_with("people: "), "{error}");
    }
}

#[test]
fn a_command_may_find_a_duplicate_key() {
    let command = doc! {
        "code": 11000, "codeName": "DuplicateKey",
        "errmsg": "E11000 duplicate key error collection: a.people index: ssn_1 dup key: { ssn: \"123\" }",
    };
    let command = deserialize_from_document(command).expect("a command error");
    let error = NO_META.driver(ErrorKind::Command(command).into());
    assert_eq!(
        error.to_string(),
        "people: another document already has `ssn` \"123\", which the unique index `ssn_1` allows once"
    );
}

#[test]
fn a_batch_keeps_the_position_of_each_refusal() {
    let many = || {
        let many = doc! { "writeErrors": [
            { "index": 3, "code": 121, "errmsg": "Document failed validation" },
            {
                "index": 1, "code": 11000,
                "errmsg": "E11000 duplicate key error collection: DB.w index: _id_ dup key: { _id: 1 }",
            },
            { "index": 4, "code": 50, "errmsg": "operation exceeded time limit" },
        ], "writeConcernError": null };
        mongodb::error::Error::from(ErrorKind::InsertMany(
            deserialize_from_document(many).expect("errors"),
        ))
    };
    let Error::InsertMany { inserted, errors, .. } = NO_META.insert_many(many(), 6, false) else {
        panic!("not a batch")
    };
    assert_eq!(inserted, 3);
    assert!(matches!(
        &errors[..],
        [
            (1, Error::DuplicateKey { source: Some(_), .. }),
            (3, Error::Invalid { source: Some(_), .. }),
            (4, Error::Driver(_)),
        ]
    ));
    let Error::InsertMany { inserted, .. } = NO_META.insert_many(many(), 6, true) else {
        panic!("not a batch")
    };
    assert_eq!(inserted, 1);
}

#[test]
fn a_batch_that_only_missed_its_write_concern_is_the_drivers_error() {
    let many = doc! { "writeErrors": null, "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" } };
    let many = deserialize_from_document(many).expect("errors");
    let error = NO_META.insert_many(ErrorKind::InsertMany(many).into(), 2, true);
    assert!(matches!(error, Error::Driver(_)));
}

#[test]
fn the_reply_of_a_command_may_say_that_its_writes_are_not_sure() {
    let stepped_down = doc! { "code": 11602, "codeName": "InterruptedDueToReplStateChange", "errmsg": "operation was interrupted" };
    let reply = doc! { "ok": 1, "n": 1000, "nModified": 1000, "writeConcernError": stepped_down };
    let Some(Error::Driver(error)) = unacknowledged(&reply) else {
        panic!("not the driver's error")
    };
    assert!(matches!(
        &*error.kind,
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) if concern.code == 11602
    ));
    // An unknown form is a reason not to rely on it, too.
    let strange = doc! { "ok": 1, "writeConcernError": { "code": "no number" } };
    assert!(matches!(unacknowledged(&strange), Some(Error::Driver(_))));
    assert!(unacknowledged(&doc! { "ok": 1, "n": 1 }).is_none());
}

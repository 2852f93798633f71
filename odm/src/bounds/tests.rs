use super::shapes::get;
use super::*;
use crate::model::shape::{Body, Bounds, EnumShape, Number, ShapeFn, StructShape, Tagging, VariantMeta};
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, Regex, bson, doc, oid::ObjectId};

pub(super) const fn field(name: &'static str, shape: ShapeFn, bounds: Bounds) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        ty: "",
        shape,
        bounds,
        ..crate::expansion_fixture::FIELD
    }
}

const fn plain(name: &'static str, shape: ShapeFn) -> FieldMeta {
    field(name, shape, Bounds::NONE)
}

const fn structure(name: &'static str, fields: &'static [FieldMeta]) -> StructShape {
    StructShape {
        ty: None,
        name,
        fields,
        deny_unknown: false,
    }
}

pub(super) fn meta(shape: ShapeFn) -> DocumentMeta {
    crate::expansion_fixture::document("Test", "tests", shape)
}

pub(super) fn raw(doc: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(doc).expect("encodes")
}

/// Whether the quick look passes a document; it must not pass one in which the walk finds something.
fn passes(shape: ShapeFn, doc: &RawDocument) -> bool {
    let passes = matches!(shape(), Shape::Struct(shape) if quick::document(shape, doc));
    if passes {
        assert_eq!(violations(shape(), doc), [], "{doc:?}");
    }
    passes
}

fn found(shape: ShapeFn, doc: Document) -> Vec<Violation> {
    let doc = raw(&doc);
    passes(shape, &doc);
    match document(&meta(shape), &doc) {
        Ok(()) => Vec::new(),
        Err(Error::Invalid {
            collection,
            violations,
            source: None,
        }) => {
            assert_eq!(collection, "tests");
            violations
        }
        Err(other) => panic!("not a violation: {other}"),
    }
}

fn broken(path: &str, rule: Rule, value: impl Into<Option<Bson>>) -> Violation {
    Violation::new(path, rule, value.into())
}

fn names(names: &[&str]) -> Rule {
    Rule::Type(names.iter().map(|name| (*name).to_owned()).collect())
}

const INT8: Shape = Shape::Int { min: -128, max: 127 };
const MAX_LEN: Bounds = Bounds {
    max_len: Some(5),
    min_len: Some(2),
    ..Bounds::NONE
};
const ADDRESS_FIELDS: &[FieldMeta] = &[
    field("city", || Shape::String, MAX_LEN),
    plain("zip", || Shape::Optional(|| INT8)),
];
const ADDRESS: &StructShape = &structure("Address", ADDRESS_FIELDS);
const PERSON_FIELDS: &[FieldMeta] = &[
    plain("_id", || Shape::Any),
    field("name", || Shape::Optional(|| Shape::String), MAX_LEN),
    field(
        "addresses",
        || Shape::Array(|| Shape::Struct(ADDRESS)),
        Bounds {
            max_items: Some(2),
            ..Bounds::NONE
        },
    ),
    field(
        "tags",
        || Shape::Array(|| Shape::String),
        Bounds {
            max_items: Some(3),
            ..MAX_LEN
        },
    ),
    field(
        "scores",
        || Shape::Map(|| Shape::Double),
        Bounds {
            max_items: Some(2),
            key_len: Some(4),
            min: Some(Number::Int(0)),
            max: Some(Number::Float(9.5)),
            ..Bounds::NONE
        },
    ),
    plain("home", || Shape::Optional(|| Shape::Struct(ADDRESS))),
];

fn person() -> Shape {
    Shape::Struct(const { &structure("Person", PERSON_FIELDS) })
}

fn ada() -> Document {
    doc! {
        "_id": ObjectId::new(), "name": "Ada", "addresses": [{ "city": "Bern", "zip": 1 }],
        "tags": ["ab"], "scores": { "go": 1.5 }, "home": Bson::Null,
    }
}

fn with(name: &str, value: impl Into<Bson>) -> Document {
    let mut doc = ada();
    doc.insert(name, value);
    doc
}

#[test]
fn a_document_that_fits_passes_in_any_order() {
    assert_eq!(found(person, ada()), []);
    let reversed: Document = ada().into_iter().collect::<Vec<_>>().into_iter().rev().collect();
    assert_eq!(found(person, reversed), []);
}

#[test]
fn the_quick_check_accepts_documents_that_serde_writes() {
    const VARIANTS: &[VariantMeta] = &[
        VariantMeta {
            name: "Nothing",
            json: None,
            body: Body::Unit,
        },
        VariantMeta {
            name: "At",
            json: None,
            body: Body::Struct(&StructShape {
                ty: None,
                name: "At",
                fields: ADDRESS_FIELDS,
                deny_unknown: true,
            }),
        },
    ];
    const EXTERNAL: EnumShape = EnumShape {
        ty: None,
        name: "External",
        tagging: Tagging::External,
        variants: VARIANTS,
    };
    const INTERNAL: EnumShape = EnumShape {
        ty: None,
        name: "Internal",
        tagging: Tagging::Internal("kind"),
        variants: VARIANTS,
    };
    const SHORT: Bounds = Bounds {
        max_len: Some(2),
        max_items: Some(2),
        key_len: Some(2),
        ..Bounds::NONE
    };
    const FIELDS: &[FieldMeta] = &[
        plain("_id", || Shape::ObjectId),
        plain("external", || Shape::Array(|| Shape::Enum(&EXTERNAL))),
        plain("internal", || Shape::Array(|| Shape::Enum(&INTERNAL))),
        plain("any", || Shape::Any),
        field("map", || Shape::Map(|| Shape::String), SHORT),
        field("bytes", || Shape::Binary, SHORT),
        plain("pair", || Shape::Tuple(&[|| Shape::Bool, || Shape::Date])),
        plain("three", || Shape::Fixed {
            items: || INT8,
            len: 3,
        }),
        plain("none", || Shape::Optional(|| Shape::Double)),
    ];
    fn shape() -> Shape {
        Shape::Struct(const { &structure("Test", FIELDS) })
    }
    let fits = doc! {
        "_id": ObjectId::new(),
        "external": ["Nothing", { "Nothing": null }, { "At": { "city": "Bonn", "zip": null } }],
        "internal": [{ "kind": "Nothing" }, { "kind": "At", "city": "Köln", "zip": 7 }],
        "any": { "a": [1, { "b": null }] },
        "map": { "ä": "ää", "b": "" },
        "bytes": Bson::Binary(mongodb::bson::Binary { subtype: 0.into(), bytes: vec![1, 2] }),
        "pair": [true, DateTime::MIN],
        "three": [1, 2, 3],
        "none": null,
    };
    assert!(passes(shape, &raw(&fits)));
    for (name, other) in [
        ("_id", bson!({ "a": 1 })),
        ("external", bson!([{ "At": { "city": "B", "zip": null } }])),
        ("internal", bson!([{ "kind": "At", "city": "Bonn", "zip": 200 }])),
        ("map", bson!({ "a.b": "" })),
        ("map", bson!({ "abc": "" })),
        ("map", bson!({ "a": "abc" })),
        ("map", bson!({ "a": "", "b": "", "c": "" })),
        ("bytes", bson!("ab")),
        ("pair", bson!([true])),
        ("three", bson!([1, 2, 300])),
        ("none", bson!("")),
    ] {
        let mut doc = fits.clone();
        doc.insert(name, other);
        assert!(!passes(shape, &raw(&doc)), "{doc}");
        assert_ne!(found(shape, doc), []);
    }
}

#[test]
fn the_quick_look_tells_names_apart_by_all_of_their_bytes() {
    const fn optional(name: &'static str) -> FieldMeta {
        FieldMeta {
            required: false,
            ..plain(name, || Shape::Bool)
        }
    }
    // Seven bytes are compared at once with the zero behind them, eight without it.
    const FIELDS: &[FieldMeta] = &[
        optional("a"),
        optional("ab"),
        optional("seventh"),
        optional("sevenths"),
        optional("sevenths9"),
        optional("sevenths and more"),
        plain("z", || Shape::Null),
    ];
    fn shape() -> Shape {
        Shape::Struct(const { &structure("Names", FIELDS) })
    }
    for field in FIELDS.iter().filter(|field| !field.required) {
        assert!(
            passes(shape, &raw(&doc! { field.name: true, "z": null })),
            "{}",
            field.name
        );
        assert!(
            !passes(shape, &raw(&doc! { field.name: 1, "z": null })),
            "{}",
            field.name
        );
    }
    for other in [
        "",
        "b",
        "abc",
        "sevent",
        "seventh_",
        "sevenths and",
        "sevenths and more of it",
    ] {
        assert!(!passes(shape, &raw(&doc! { other: true, "z": null })), "{other}");
    }
    let mut all: Document = FIELDS
        .iter()
        .map(|field| (field.name.to_owned(), true.into()))
        .collect();
    all.insert("z", Bson::Null);
    assert!(passes(shape, &raw(&all)));
    assert!(!passes(shape, &raw(&doc! {})));
}

#[test]
fn a_type_that_contains_itself_is_left_to_the_walk() {
    fn node() -> Shape {
        const FIELDS: &[FieldMeta] = &[plain("next", || Shape::Optional(node))];
        Shape::Struct(const { &structure("Node", FIELDS) })
    }
    fn tree() -> Shape {
        const FIELDS: &[FieldMeta] = &[
            plain("left", || Shape::Optional(tree)),
            plain("right", || Shape::Optional(tree)),
        ];
        Shape::Struct(const { &structure("Tree", FIELDS) })
    }
    assert!(passes(node, &raw(&doc! { "next": { "next": { "next": null } } })));
    let deep = (0..60).fold(doc! { "next": null }, |inner, _| doc! { "next": inner });
    assert!(!passes(node, &raw(&deep)));
    assert_eq!(found(node, deep), []);
    let small = doc! { "left": { "left": null, "right": null }, "right": null };
    passes(tree, &raw(&small));
    assert_eq!(found(tree, small), []);
}

#[test]
fn every_violation_is_collected_with_its_path() {
    let doc = doc! {
        "_id": 1,
        "name": "Augusta",
        "addresses": [{ "city": "B", "zip": 128 }, { "zip": Bson::Null }, { "city": "Basel", "zip": "x" }],
        "tags": ["ab", "abcdef"],
        "scores": { "go": -1, "chess": 9.6, "": 1, "a.b": 1, "$x": f64::NAN },
        "home": { "city": 5, "zip": -129 },
    };
    // As text, since NaN is not equal to itself.
    let text = |violations: &[Violation]| violations.iter().map(Violation::to_string).collect::<Vec<_>>();
    assert_eq!(
        text(&found(person, doc)),
        text(&[
            broken("name", Rule::MaxLength(5), Bson::from("Augusta")),
            broken("addresses.0.city", Rule::MinLength(2), Bson::from("B")),
            broken("addresses.0.zip", Rule::Max(Number::Int(127)), Bson::from(128)),
            broken("addresses.1.city", Rule::Required, None),
            broken("addresses.2.zip", names(&["int", "null"]), Bson::from("x")),
            broken("addresses", Rule::MaxItems(2), None),
            broken("tags.1", Rule::MaxLength(5), Bson::from("abcdef")),
            broken("scores.go", Rule::Min(Number::Int(0)), Bson::from(-1)),
            broken("scores", Rule::KeyLength(4), Bson::from("chess")),
            broken("scores.chess", Rule::Max(Number::Float(9.5)), Bson::from(9.6)),
            broken("scores", Rule::Key(String::new()), Bson::from("")),
            broken("scores", Rule::Key("a.b".to_owned()), Bson::from("a.b")),
            broken("scores", Rule::Key("$x".to_owned()), Bson::from("$x")),
            broken("scores.$x", Rule::Min(Number::Int(0)), Bson::from(f64::NAN)),
            broken("scores", Rule::MaxItems(2), None),
            broken("home.city", names(&["string"]), Bson::from(5)),
            broken("home.zip", Rule::Min(Number::Int(-128)), Bson::from(-129)),
        ])
    );
}

#[test]
fn lengths_are_counted_in_code_points() {
    assert_eq!(found(person, with("name", "äöüßé")), []);
    assert_eq!(
        found(
            person,
            with("name", "\u{10348}\u{10349}\u{1034a}\u{1034b}\u{1034c}")
        ),
        []
    );
    assert_eq!(found(person, with("name", "äöüßéè"))[0].rule, Rule::MaxLength(5));
    assert_eq!(
        found(person, with("name", "\u{10348}"))[0].rule,
        Rule::MinLength(2)
    );
}

#[test]
fn missing_fields_are_required_and_unknown_ones_are_not() {
    let mut doc = ada();
    doc.remove("tags");
    doc.insert("extra", 1);
    assert_eq!(found(person, doc), [broken("tags", Rule::Required, None)]);
    const FIELDS: &[FieldMeta] = &[plain("a", || Shape::Bool)];
    const STRICT: &StructShape = &StructShape {
        ty: None,
        deny_unknown: true,
        ..structure("Strict", FIELDS)
    };
    let violations = found(|| Shape::Struct(STRICT), doc! { "a": true, "b": 1 });
    assert_eq!(violations, [broken("b", Rule::Unknown, None)]);
}

#[test]
fn at_most_a_hundred_violations_are_collected() {
    assert_eq!(found(person, with("tags", vec!["a"; 1000])).len(), 100);
}

#[test]
fn too_large_a_document_names_its_largest_fields() {
    let raw = raw(&with("name", "x".repeat(MAX_DOCUMENT_SIZE as usize)));
    match document(&meta(person), &raw) {
        Err(Error::TooLarge { size, largest, .. }) => {
            assert_eq!(size, Some(raw.as_bytes().len() as u64));
            assert_eq!(largest.len(), 5);
            // Type byte, name and zero, length, text and zero.
            assert_eq!(largest[0], ("name".to_owned(), 1 + 5 + 4 + MAX_DOCUMENT_SIZE + 1));
            assert!(largest.is_sorted_by(|a, b| a.1 >= b.1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn ids_that_mongodb_refuses() {
    let regex = Regex {
        pattern: "a".try_into().expect("a pattern"),
        options: "".try_into().expect("options"),
    };
    for (id, kind) in [
        (bson!([1]), "an array"),
        (Bson::RegularExpression(regex), "a regular expression"),
        (Bson::Undefined, "undefined"),
    ] {
        let rule = Rule::Other(format!("that `_id` may not be {kind}"));
        assert_eq!(found(person, with("_id", id)), [broken("_id", rule, None)]);
    }
    let violations = found(person, with("_id", doc! { "$x": 1 }));
    assert_eq!(violations, [broken("_id", Rule::Key("$x".to_owned()), None)]);
}

#[test]
fn nesting_ends_at_mongodbs_limit() {
    let deep = |levels: usize| (0..levels).fold(doc! {}, |inner, _| doc! { "a": inner });
    assert_eq!(found(person, with("_id", deep(99))), []);
    let violations = found(person, with("_id", deep(150)));
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].rule, Rule::Depth(100));
    let arrays = (0..150).fold(bson!([]), |inner, _| bson!([inner]));
    let violations = found(person, with("extra", arrays));
    assert_eq!(violations[0].rule, Rule::Depth(100));
    assert_eq!(violations[0].path.matches(".0").count(), 100);
}

// A tree with one bounded and one free way down.

const DEPTH: Bounds = Bounds {
    depth: Some(2),
    max_items: Some(3),
    ..Bounds::NONE
};
const NODE_FIELDS: &[FieldMeta] = &[
    field("children", || Shape::Array(node), DEPTH),
    FieldMeta {
        required: false,
        ..plain("next", || Shape::Optional(node))
    },
];

fn node() -> Shape {
    Shape::Struct(const { &structure("Node", NODE_FIELDS) })
}

#[test]
fn levels_of_the_same_type_are_counted() {
    let leaf = || doc! { "children": [] };
    let up = |child: Document| doc! { "children": [leaf(), child] };
    assert_eq!(found(node, up(up(leaf()))), []);
    assert_eq!(
        found(node, up(up(up(up(leaf()))))),
        [
            broken("children.1.children.1.children.0", Rule::Depth(2), None),
            broken("children.1.children.1.children.1", Rule::Depth(2), None),
        ]
    );
}

#[test]
fn a_recursion_without_a_bound_ends_with_the_data() {
    let leaf = doc! { "children": [] };
    let chain = |n: usize| (0..n).fold(leaf.clone(), |inner, _| doc! { "children": [], "next": inner });
    assert_eq!(found(node, chain(99)), []);
    let mut low = chain(99);
    low.insert("children", bson!([{ "children": 1 }]));
    assert_eq!(
        found(node, low),
        [broken("children.0.children", names(&["array"]), Bson::from(1))]
    );
    let at_the_end = (0..90).fold(
        doc! { "children": 1 },
        |inner, _| doc! { "children": [], "next": inner },
    );
    assert_eq!(found(node, at_the_end)[0].rule, names(&["array"]));
    let violations = found(node, chain(200));
    assert!(!violations.is_empty() && violations.iter().all(|v| v.rule == Rule::Depth(100)));
}

#[test]
fn a_shape_of_nothing_but_itself_ends_too() {
    fn endless() -> Shape {
        Shape::Optional(endless)
    }
    fn newtype() -> Shape {
        const FIELD: &FieldMeta = &plain("0", newtype);
        Shape::Bounded(FIELD)
    }
    const FIELDS: &[FieldMeta] = &[plain("a", endless), plain("b", newtype)];
    let shape = || Shape::Struct(const { &structure("Endless", FIELDS) });
    assert_eq!(found(shape, doc! { "a": 1, "b": 2 }), []);
}

#[test]
fn the_walk_is_content_with_a_small_stack() {
    let leaf = doc! { "children": [] };
    let doc = raw(&(0..99).fold(leaf, |inner, _| doc! { "children": [], "next": inner }));
    // Half of what a worker thread has; without optimization the walk takes the most.
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    let walk = thread
        .spawn(move || document(&meta(node), &doc).is_ok())
        .expect("a thread");
    assert!(walk.join().expect("no overflow"));
}

#[test]
fn fixed_arrays_and_tuples_have_their_length() {
    const FIELDS: &[FieldMeta] = &[
        plain("point", || Shape::Fixed {
            items: || Shape::Double,
            len: 2,
        }),
        plain("pair", || Shape::Tuple(&[|| Shape::String, || INT8])),
    ];
    let shape = || Shape::Struct(const { &structure("S", FIELDS) });
    assert_eq!(found(shape, doc! { "point": [1.0, 2], "pair": ["a", 1] }), []);
    assert_eq!(
        found(shape, doc! { "point": [1.0], "pair": ["a", 200, 1] }),
        [
            broken("point", Rule::Items(2), None),
            broken("pair.1", Rule::Max(Number::Int(127)), Bson::from(200)),
            broken("pair", Rule::Items(2), None),
        ]
    );
}

#[test]
fn a_newtypes_bounds_hold_with_those_of_its_field() {
    const STRICTER: Bounds = Bounds {
        max_len: Some(3),
        min_len: Some(1),
        ..Bounds::NONE
    };
    const FIELDS: &[FieldMeta] = &[
        plain("a", || Shape::Bounded(SHORT)),
        field("b", || Shape::Optional(|| Shape::Bounded(SHORT)), STRICTER),
    ];
    let shape = || Shape::Struct(const { &structure("S", FIELDS) });
    assert_eq!(found(shape, doc! { "a": "abcde", "b": Bson::Null }), []);
    let rules: Vec<_> = found(shape, doc! { "a": "abcdef", "b": "abcd" })
        .into_iter()
        .map(|violation| violation.rule)
        .collect();
    assert_eq!(rules, [Rule::MaxLength(5), Rule::MaxLength(3)]);
    assert_eq!(
        found(shape, doc! { "a": "ab", "b": "a" })[0].rule,
        Rule::MinLength(2)
    );
}

const NOT_NEGATIVE: Bounds = Bounds {
    min: Some(Number::Int(0)),
    ..Bounds::NONE
};
const CIRCLE_FIELDS: &[FieldMeta] = &[field("r", || Shape::Double, NOT_NEGATIVE)];
const CIRCLE: &StructShape = &structure("Circle", CIRCLE_FIELDS);
const SHORT: &FieldMeta = &field("0", || Shape::String, MAX_LEN);
const PAIR: &[FieldMeta] = &[*SHORT, plain("1", || INT8)];
const HOME: &FieldMeta = &plain("0", || Shape::Struct(ADDRESS));
const VARIANTS: &[VariantMeta] = &[
    variant("Circle", Body::Struct(CIRCLE)),
    variant("Named", Body::Newtype(SHORT)),
    variant("Pair", Body::Tuple(PAIR)),
    variant("Home", Body::Newtype(HOME)),
    variant("None", Body::Unit),
];

const fn variant(name: &'static str, body: Body) -> VariantMeta {
    VariantMeta {
        name,
        json: None,
        body,
    }
}

const fn tagged_by(tagging: Tagging) -> EnumShape {
    EnumShape {
        ty: None,
        name: "V",
        tagging,
        variants: VARIANTS,
    }
}

macro_rules! holding {
    ($tagging:expr) => {{
        const SHAPE: &EnumShape = &tagged_by($tagging);
        const FIELDS: &[FieldMeta] = &[plain("v", || Shape::Enum(SHAPE))];
        || Shape::Struct(const { &structure("Holder", FIELDS) })
    }};
}

#[track_caller]
fn one(shape: ShapeFn, value: impl Into<Bson>, path: &str, rule: Rule) {
    let violations = found(shape, doc! { "v": value.into() });
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert_eq!((violations[0].path.as_str(), &violations[0].rule), (path, &rule));
}

#[track_caller]
fn none(shape: ShapeFn, value: impl Into<Bson>) {
    assert_eq!(found(shape, doc! { "v": value.into() }), []);
}

#[test]
fn externally_tagged_variants() {
    let shape = holding!(Tagging::External);
    none(shape, "None");
    none(shape, doc! { "Circle": { "r": 1.0 } });
    none(shape, doc! { "Unknown": { "r": -1.0 } });
    one(
        shape,
        doc! { "Circle": { "r": -1.0 } },
        "v.Circle.r",
        Rule::Min(Number::Int(0)),
    );
    one(shape, doc! { "Circle": {} }, "v.Circle.r", Rule::Required);
    one(shape, doc! { "Named": "abcdef" }, "v.Named", Rule::MaxLength(5));
    one(
        shape,
        doc! { "Pair": ["ab", 200] },
        "v.Pair.1",
        Rule::Max(Number::Int(127)),
    );
    one(shape, doc! { "Pair": ["ab"] }, "v.Pair", Rule::Items(2));
    one(shape, 5, "v", names(&["string", "object"]));
}

#[test]
fn internally_tagged_variants() {
    let shape = holding!(Tagging::Internal("type"));
    none(shape, doc! { "type": "None" });
    none(shape, doc! { "type": "Circle", "r": 1.0 });
    none(shape, doc! { "type": "Unknown", "r": -1.0 });
    one(
        shape,
        doc! { "type": "Circle", "r": -1.0 },
        "v.r",
        Rule::Min(Number::Int(0)),
    );
    one(
        shape,
        doc! { "type": "Home", "city": "abcdef", "zip": 1 },
        "v.city",
        Rule::MaxLength(5),
    );
    one(shape, "None", "v", names(&["object"]));
}

#[test]
fn adjacently_tagged_variants() {
    let shape = holding!(Tagging::Adjacent("t", "c"));
    none(shape, doc! { "t": "None" });
    none(shape, doc! { "t": "Circle", "c": { "r": 1.0 } });
    one(
        shape,
        doc! { "t": "Circle", "c": { "r": -1.0 } },
        "v.c.r",
        Rule::Min(Number::Int(0)),
    );
    one(
        shape,
        doc! { "t": "Named", "c": "abcdef" },
        "v.c",
        Rule::MaxLength(5),
    );
}

#[test]
fn untagged_variants() {
    let shape = holding!(Tagging::Untagged);
    none(shape, Bson::Null);
    none(shape, doc! { "r": 1.0 });
    none(shape, 5);
    one(shape, doc! { "r": -1.0 }, "v.r", Rule::Min(Number::Int(0)));
    one(shape, "abcdef", "v", Rule::MaxLength(5));
    one(
        shape,
        doc! { "city": "abcdef", "zip": 1 },
        "v.city",
        Rule::MaxLength(5),
    );
}

const fn flat(field: FieldMeta) -> FieldMeta {
    FieldMeta {
        flatten: true,
        ..field
    }
}

#[test]
fn flattened_parts_stand_in_the_parent() {
    const MORE: Bounds = Bounds {
        max_items: Some(2),
        key_len: Some(3),
        ..Bounds::NONE
    };
    const FIELDS: &[FieldMeta] = &[
        plain("a", || Shape::Bool),
        flat(plain("address", || Shape::Struct(ADDRESS))),
        flat(plain("circle", || Shape::Optional(|| Shape::Struct(CIRCLE)))),
        flat(field("more", || Shape::Map(|| Shape::String), MORE)),
    ];
    let shape = || Shape::Struct(const { &structure("Flat", FIELDS) });
    let fine = doc! { "a": true, "city": "Bern", "zip": 1, "x": "1", "y": "2" };
    assert_eq!(found(shape, fine), []);
    assert_eq!(
        found(
            shape,
            doc! { "a": true, "zip": 1, "r": -1, "x": "1", "long": 2, "z": "" }
        ),
        [
            broken("city", Rule::Required, None),
            broken("r", Rule::Min(Number::Int(0)), Bson::from(-1)),
            broken("", Rule::KeyLength(3), Bson::from("long")),
            broken("long", names(&["string"]), Bson::from(2)),
            broken("", Rule::MaxItems(2), None),
        ]
    );
}

#[test]
fn a_flattened_enum_is_found_by_its_mark() {
    const V: &EnumShape = &tagged_by(Tagging::Internal("type"));
    const FIELDS: &[FieldMeta] = &[plain("a", || Shape::Bool), flat(plain("v", || Shape::Enum(V)))];
    let shape = || Shape::Struct(const { &structure("Flat", FIELDS) });
    let violations = found(shape, doc! { "a": true, "type": "Circle", "r": -2 });
    assert_eq!(
        violations,
        [broken("r", Rule::Min(Number::Int(0)), Bson::from(-2))]
    );
}

#[test]
fn values_and_items_of_updates_are_checked_alone() {
    let [_, _, addresses, tags, scores, _] = PERSON_FIELDS else {
        panic!("six fields")
    };
    let parts = raw(&doc! {
        "addresses": [{ "city": "x", "zip": 1 }], "address": { "city": "abcdef", "zip": 1 },
        "tag": "abcdef", "score": 10,
    });
    let part = |name: &str| get(&parts, name).expect("there");
    let mut violations = Vec::new();
    value(("a.addresses", 1), addresses, part("addresses"), &mut violations);
    item(("addresses", 0), addresses, part("address"), &mut violations);
    item(("tags", 0), tags, part("tag"), &mut violations);
    item(("scores.go", 1), scores, part("score"), &mut violations);
    assert_eq!(
        violations,
        [
            broken("a.addresses.0.city", Rule::MinLength(2), Bson::from("x")),
            broken("addresses.city", Rule::MaxLength(5), Bson::from("abcdef")),
            broken("tags", Rule::MaxLength(5), Bson::from("abcdef")),
            broken("scores.go", Rule::Max(Number::Float(9.5)), Bson::from(10)),
        ]
    );
    assert_eq!(key(scores, "good"), None);
    assert_eq!(key(scores, "short"), Some(Rule::KeyLength(4)));
    for wrong in ["", "$a", "a.b", "a\0"] {
        assert_eq!(key(scores, wrong), Some(Rule::Key(wrong.to_owned())));
    }
}

#[test]
fn a_pushed_item_counts_as_a_level() {
    let up = |child: Document| doc! { "children": [child] };
    let pushed = |child: Document| {
        let mut violations = Vec::new();
        let encoded = raw(&doc! { "v": child });
        item(
            ("children", 0),
            &NODE_FIELDS[0],
            get(&encoded, "v").expect("there"),
            &mut violations,
        );
        violations
    };
    let leaf = || doc! { "children": [] };
    assert_eq!(pushed(up(leaf())), []);
    let too_deep = broken("children.children.0.children.0", Rule::Depth(2), None);
    assert_eq!(pushed(up(up(leaf()))), [too_deep]);
}

#[test]
fn all_leaves_accept_their_own_type_only() {
    let decimal: mongodb::bson::Decimal128 = "1.5".parse().expect("a decimal");
    let subtype = mongodb::bson::spec::BinarySubtype::Generic;
    let binary = mongodb::bson::Binary {
        subtype,
        bytes: vec![1, 2, 3],
    };
    let timestamp = mongodb::bson::Timestamp {
        time: 1,
        increment: 1,
    };
    let leaves: [(ShapeFn, Bson); 8] = [
        (|| Shape::Null, Bson::Null),
        (|| Shape::Bool, true.into()),
        (|| Shape::Decimal, Bson::Decimal128(decimal)),
        (|| Shape::Char, "ä".into()),
        (|| Shape::ObjectId, ObjectId::new().into()),
        (|| Shape::Date, DateTime::from_millis(0).into()),
        (|| Shape::Binary, Bson::Binary(binary)),
        (|| Shape::Timestamp, Bson::Timestamp(timestamp)),
    ];
    for (i, (shape, _)) in leaves.iter().enumerate() {
        for (j, (_, leaf)) in leaves.iter().enumerate() {
            let mut violations = Vec::new();
            let encoded = raw(&doc! { "v": leaf.clone() });
            let field = plain("v", *shape);
            value(
                ("v", 0),
                &field,
                get(&encoded, "v").expect("there"),
                &mut violations,
            );
            assert_eq!(violations.is_empty(), i == j, "{i} {j} {violations:?}");
        }
    }
}

#[test]
fn binary_data_is_counted_in_bytes() {
    let blob = field("v", || Shape::Binary, MAX_LEN);
    for (len, fits) in [(1, false), (2, true), (5, true), (6, false)] {
        let subtype = mongodb::bson::spec::BinarySubtype::Generic;
        let encoded = raw(&doc! { "v": mongodb::bson::Binary { subtype, bytes: vec![0; len] } });
        let mut violations = Vec::new();
        value(
            ("v", 0),
            &blob,
            get(&encoded, "v").expect("there"),
            &mut violations,
        );
        assert_eq!(violations.is_empty(), fits, "{len}");
    }
}

/// The check against a model of it over values, on random documents.
mod model {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn fits(shape: Shape, bounds: &Bounds, value: &Bson) -> bool {
        let len = |len: usize| {
            let len = len as u64;
            bounds.max_len.is_none_or(|max| len <= max) && bounds.min_len.is_none_or(|min| len >= min)
        };
        let items = |len: usize| bounds.max_items.is_none_or(|max| len as u64 <= max);
        let float = |n: Number| match n {
            Number::Int(n) => n as f64,
            Number::Float(n) => n,
        };
        let within = |n: f64| {
            bounds.min.is_none_or(|min| n >= float(min)) && bounds.max.is_none_or(|max| n <= float(max))
        };
        match (shape, value) {
            (Shape::Any, _) => true,
            (Shape::Optional(_), Bson::Null) => true,
            (Shape::Optional(inner), value) => fits(inner(), bounds, value),
            (Shape::String, Bson::String(text)) => len(text.chars().count()),
            (Shape::Int { min, max }, Bson::Int32(n)) => (min..=max).contains(n) && within(f64::from(*n)),
            (Shape::Double, Bson::Int32(n)) => within(f64::from(*n)),
            (Shape::Double, Bson::Double(n)) => within(*n),
            (Shape::Array(of), Bson::Array(values)) => {
                items(values.len()) && values.iter().all(|value| fits(of(), bounds, value))
            }
            (Shape::Map(of), Bson::Document(values)) => {
                let key_fits = |key: &str| {
                    let long = bounds.key_len.is_some_and(|max| key.chars().count() as u64 > max);
                    !long && !key.is_empty() && !key.starts_with('$') && !key.contains('.')
                };
                items(values.len())
                    && values
                        .iter()
                        .all(|(key, value)| key_fits(key) && fits(of(), bounds, value))
            }
            (Shape::Struct(shape), Bson::Document(doc)) => {
                let field_fits = |field: &FieldMeta| match doc.get(field.name) {
                    Some(value) => fits((field.shape)(), &field.bounds, value),
                    None => {
                        !field.required
                            || matches!((field.shape)(), Shape::Optional(_))
                            || field.copied.is_some()
                    }
                };
                shape.fields.iter().all(field_fits)
            }
            _ => false,
        }
    }

    fn leaf() -> impl Strategy<Value = Bson> {
        prop_oneof![
            Just(Bson::Null),
            (-140..140).prop_map(Bson::Int32),
            (-2.0..12.0).prop_map(Bson::Double),
            Just(Bson::Double(f64::NAN)),
            "[aä\u{10348}]{0,7}".prop_map(Bson::String),
        ]
    }

    fn text() -> impl Strategy<Value = Bson> {
        prop_oneof![20 => "[aä\u{10348}]{2,5}".prop_map(Bson::String), 1 => leaf()]
    }

    fn address() -> impl Strategy<Value = Bson> {
        let zip = prop_oneof![20 => Just(Some(Bson::Int32(7))), 1 => Just(None), 1 => leaf().prop_map(Some)];
        let known = (text(), zip).prop_map(|(city, zip)| {
            let mut doc = doc! { "city": city };
            doc.extend(zip.map(|zip| ("zip".to_owned(), zip)));
            Bson::Document(doc)
        });
        prop_oneof![20 => known, 1 => leaf()]
    }

    /// Mostly what a person looks like, with a few faults.
    fn person_like() -> impl Strategy<Value = Document> {
        let key = prop_oneof![20 => "[a-cä]{1,4}", 1 => "[a$.]{0,5}"];
        let score = prop_oneof![20 => (0.0..9.5).prop_map(Bson::Double), 1 => leaf()];
        let scores = vec((key, score), 0..4).prop_map(|entries| entries.into_iter().collect::<Document>());
        let home = prop_oneof![Just(Bson::Null), address()];
        let parts = (
            leaf(),
            text(),
            vec(address(), 0..4),
            vec(text(), 0..5),
            scores,
            home,
            0..6_usize,
        );
        parts.prop_map(|(id, name, addresses, tags, scores, home, turn)| {
            let doc = doc! {
                "_id": id, "name": name, "addresses": addresses, "tags": tags, "scores": scores, "home": home,
            };
            // The order of the fields means nothing.
            let mut fields: Vec<_> = doc.into_iter().collect();
            fields.rotate_left(turn);
            fields.into_iter().collect()
        })
    }

    /// Anything at all below the names that the shape knows.
    fn anything() -> impl Strategy<Value = Document> {
        let value = leaf().prop_recursive(4, 24, 4, |inner| {
            let name = prop_oneof!["city|zip|name|tags", "[a-z$.]{0,3}"];
            let entries = vec((name, inner.clone()), 0..4);
            prop_oneof![
                vec(inner, 0..4).prop_map(Bson::Array),
                entries.prop_map(|entries| Bson::Document(entries.into_iter().collect())),
            ]
        });
        let name = "_id|name|addresses|tags|scores|home|other";
        vec((name, value), 0..9).prop_map(|entries| entries.into_iter().collect())
    }

    fn model(doc: &Document) -> bool {
        let id_fits = match doc.get("_id") {
            Some(Bson::Array(_)) => false,
            Some(Bson::Document(id)) => id.keys().all(|name| !name.starts_with('$')),
            _ => true,
        };
        id_fits && fits(person(), &Bounds::NONE, &Bson::Document(doc.clone()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

        #[test]
        fn the_check_agrees_with_the_reference_model(doc in person_like()) {
            let expected = model(&doc);
            let violations = found(person, doc);
            prop_assert_eq!(violations.is_empty(), expected, "{:?}", violations);
        }

        #[test]
        fn it_agrees_on_anything(doc in anything()) {
            let expected = model(&doc);
            let violations = found(person, doc);
            prop_assert_eq!(violations.is_empty(), expected, "{:?}", violations);
        }

        #[test]
        fn bytes_that_are_no_bson_do_no_harm(at in any::<prop::sample::Index>(), byte: u8, doc in person_like()) {
            let mut bytes = raw(&doc).into_bytes();
            let at = 4 + at.index(bytes.len() - 5);
            bytes[at] = byte;
            if let Ok(doc) = RawDocument::from_bytes(&bytes) {
                passes(person, doc);
                let _ = document(&meta(person), doc);
            }
        }
    }
}

use super::*;
use crate::expansion_fixture::FIELD;
use crate::model::document::Document as _;
use crate::model::shape::ShapeFn;
use crate::model::value::{Array, Value};

const fn field(name: &'static str, shape: ShapeFn) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        shape,
        ..FIELD
    }
}

fn schema(shape: Shape, bounds: Bounds) -> Document {
    written(shape, &bounds).expect("a value fits")
}

fn plain(shape: Shape) -> Document {
    schema(shape, Bounds::NONE)
}

#[test]
fn a_document() {
    let address = doc! {
        "bsonType": "object",
        "required": ["street", "city"],
        "properties": { "street": { "bsonType": "string" }, "city": { "bsonType": "string", "maxLength": 50 } },
    };
    let mut home = address.clone();
    home.insert("bsonType", vec!["object", "null"]);
    assert_eq!(
        of(crate::expansion_fixture::Person::META),
        doc! {
            "title": "odm: Person",
            "bsonType": "object",
            "required": ["_id", "name", "addresses"],
            "properties": {
                "_id": { "bsonType": "objectId" },
                "name": { "bsonType": "string" },
                "addresses": { "bsonType": "array", "items": address, "maxItems": 10 },
                "home": home,
                "boss": { "bsonType": ["objectId", "null"] },
            },
        }
    );
}

/// The schema of an `int` within these.
fn int(min: impl Into<Bson>, max: impl Into<Bson>) -> Document {
    doc! { "bsonType": ["int", "long", "double"], "multipleOf": 1, "minimum": min, "maximum": max }
}

fn long(min: impl Into<Bson>, max: impl Into<Bson>) -> Document {
    doc! { "bsonType": ["long", "int", "double"], "multipleOf": 1, "minimum": min, "maximum": max }
}

#[test]
fn single_values() {
    for (shape, expected) in [
        (<()>::shape(), doc! { "bsonType": "null" }),
        (bool::shape(), doc! { "bsonType": "bool" }),
        (i32::shape(), int(i32::MIN, i32::MAX)),
        (u8::shape(), int(0, 255)),
        (i64::shape(), long(i64::MIN, i64::MAX)),
        (u32::shape(), long(0, 4_294_967_295i64)),
        (u64::shape(), long(0, i64::MAX)),
        (f64::shape(), doc! { "bsonType": ["double", "int", "long"] }),
        (Shape::Decimal, doc! { "bsonType": "decimal" }),
        (String::shape(), doc! { "bsonType": "string" }),
        (
            char::shape(),
            doc! { "bsonType": "string", "minLength": 1, "maxLength": 1 },
        ),
        (Shape::ObjectId, doc! { "bsonType": "objectId" }),
        (Shape::Date, doc! { "bsonType": "date" }),
        (Shape::Binary, doc! { "bsonType": "binData" }),
        (Shape::Timestamp, doc! { "bsonType": "timestamp" }),
        (Shape::Regex, doc! { "bsonType": "regex" }),
        (Shape::Any, doc! {}),
        (
            Option::<i64>::shape(),
            doc! {
                "bsonType": ["long", "int", "double", "null"], "multipleOf": 1, "minimum": i64::MIN, "maximum": i64::MAX,
            },
        ),
        (
            Option::<Option<bool>>::shape(),
            doc! { "bsonType": ["bool", "null"] },
        ),
        (Shape::Optional(|| Shape::Any), doc! {}),
        (
            <[bool; 3]>::shape(),
            doc! { "bsonType": "array", "items": { "bsonType": "bool" }, "minItems": 3, "maxItems": 3 },
        ),
        (
            <(bool, String)>::shape(),
            doc! {
                "bsonType": "array",
                "items": [{ "bsonType": "bool" }, { "bsonType": "string" }],
                "additionalItems": false,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
    ] {
        assert_eq!(plain(shape), expected, "{shape:?}");
    }
}

#[test]
fn bounds() {
    let length = Bounds {
        max_items: Some(9),
        max_len: Some(20),
        min_len: Some(2),
        ..Bounds::NONE
    };
    let text = doc! { "bsonType": "string", "minLength": 2, "maxLength": 20 };
    assert_eq!(schema(Shape::String, length), text);
    let nullable = doc! { "bsonType": ["string", "null"], "minLength": 2, "maxLength": 20 };
    assert_eq!(schema(Option::<String>::shape(), length), nullable);
    assert_eq!(
        schema(<Vec<String> as Array>::shape(), length),
        doc! { "bsonType": "array", "items": text.clone(), "maxItems": 9 }
    );
    assert_eq!(
        schema(
            <std::collections::BTreeMap<String, String> as Array>::shape(),
            length
        ),
        doc! { "bsonType": "object", "additionalProperties": text, "maxProperties": 9 }
    );
    assert_eq!(schema(Shape::Binary, length), doc! { "bsonType": "binData" });
    assert_eq!(
        schema(
            Shape::String,
            Bounds {
                opaque: true,
                ..length
            }
        ),
        doc! {}
    );

    let range = Bounds {
        min: Some(Number::Int(-5)),
        max: Some(Number::Float(99.5)),
        ..Bounds::NONE
    };
    assert_eq!(schema(u8::shape(), range), int(0, 99.5));
    assert_eq!(
        schema(
            i64::shape(),
            Bounds {
                max: Some(Number::Int(1 << 40)),
                ..range
            }
        ),
        long(-5, 1i64 << 40)
    );

    // A newtype's own bounds hold wherever it stands; the field's may be tighter.
    const NAME: FieldMeta = FieldMeta {
        bounds: Bounds {
            max_len: Some(50),
            ..Bounds::NONE
        },
        ..FIELD
    };
    let bounded = |max_len| {
        schema(
            Shape::Bounded(&NAME),
            Bounds {
                max_len,
                ..Bounds::NONE
            },
        )
    };
    assert_eq!(bounded(None), doc! { "bsonType": "string", "maxLength": 50 });
    assert_eq!(bounded(Some(60)), doc! { "bsonType": "string", "maxLength": 50 });
    assert_eq!(bounded(Some(40)), doc! { "bsonType": "string", "maxLength": 40 });
}

#[test]
fn structs() {
    const INNER: StructShape = StructShape {
        ty: None,
        name: "Inner",
        fields: &[
            field("a", || Shape::Bool),
            FieldMeta {
                required: false,
                ..field("b", || Shape::Bool)
            },
        ],
        deny_unknown: false,
    };
    const OUTER: StructShape = StructShape {
        ty: None,
        name: "Outer",
        fields: &[
            FieldMeta {
                aliases: &["old"],
                ..field("new", || Shape::Date)
            },
            FieldMeta {
                flatten: true,
                ..field("inner", || Shape::Struct(&INNER))
            },
        ],
        deny_unknown: false,
    };
    assert_eq!(
        plain(Shape::Struct(&OUTER)),
        doc! {
            "bsonType": "object",
            "required": ["a"],
            "properties": {
                "old": { "bsonType": "date" }, "new": { "bsonType": "date" },
                "a": { "bsonType": "bool" }, "b": { "bsonType": "bool" },
            },
        }
    );
    const STRICT: StructShape = StructShape {
        ty: None,
        name: "Strict",
        fields: &[],
        deny_unknown: true,
    };
    assert_eq!(
        plain(Shape::Struct(&STRICT)),
        doc! { "bsonType": "object", "additionalProperties": false }
    );

    // A flattened map takes what is left over; a flattened option demands nothing.
    const REST: StructShape = StructShape {
        ty: None,
        name: "Rest",
        fields: &[
            field("a", || Shape::Bool),
            FieldMeta {
                flatten: true,
                bounds: Bounds {
                    max_items: Some(3),
                    ..Bounds::NONE
                },
                ..field("rest", || Shape::Map(|| Shape::Date))
            },
            FieldMeta {
                flatten: true,
                ..field("inner", || Shape::Optional(|| Shape::Struct(&MAYBE)))
            },
        ],
        deny_unknown: false,
    };
    const MAYBE: StructShape = StructShape {
        ty: None,
        name: "Maybe",
        fields: &[field("m", || Shape::Bool)],
        deny_unknown: false,
    };
    assert_eq!(
        plain(Shape::Struct(&REST)),
        doc! {
            "bsonType": "object",
            "required": ["a"],
            "properties": { "a": { "bsonType": "bool" }, "m": { "bsonType": "bool" } },
            "additionalProperties": { "bsonType": "date" },
            "maxProperties": 5,
        }
    );
}

const CIRCLE: StructShape = StructShape {
    ty: None,
    name: "Circle",
    fields: &[field("r", || Shape::Int {
        min: 0,
        max: i32::MAX,
    })],
    deny_unknown: false,
};

macro_rules! shape_enum {
    ($name:ident, $tagging:expr, $($variant:expr),*) => {
        const $name: EnumShape = EnumShape { ty: None, name: "E", tagging: $tagging, variants: &[$($variant),*] };
    };
}

const fn variant(name: &'static str, body: Body) -> VariantMeta {
    VariantMeta {
        name,
        json: None,
        body,
    }
}

/// The tag is stored under that name, whatever else was once.
#[test]
fn an_old_name_of_a_field_is_not_that_of_the_tag() {
    const INNER: StructShape = StructShape {
        ty: None,
        name: "Inner",
        fields: &[FieldMeta {
            aliases: &["is", "old"],
            ..field("kind", || Shape::Date)
        }],
        deny_unknown: false,
    };
    shape_enum!(
        TAGGED,
        Tagging::Internal("is"),
        variant("a", Body::Struct(&INNER))
    );
    let date = doc! { "bsonType": "date" };
    assert_eq!(
        plain(Shape::Enum(&TAGGED)),
        doc! {
            "title": "a", "bsonType": "object", "required": ["is"],
            "properties": { "is": { "enum": ["a"] }, "old": &date, "kind": date },
        }
    );
}

const TEXT: FieldMeta = FIELD;

#[test]
fn enums() {
    shape_enum!(
        UNITS,
        Tagging::External,
        variant("new", Body::Unit),
        variant("b", Body::Unit)
    );
    assert_eq!(plain(Shape::Enum(&UNITS)), doc! { "enum": ["new", "b"] });
    assert_eq!(
        plain(Shape::Optional(|| Shape::Enum(&UNITS))),
        doc! { "enum": ["new", "b", null] }
    );

    let r = int(0, i32::MAX);
    let circle = doc! { "bsonType": "object", "required": ["r"], "properties": { "r": r.clone() } };
    let text = doc! { "bsonType": "string" };
    shape_enum!(
        EXTERNAL,
        Tagging::External,
        variant("none", Body::Unit),
        variant("text", Body::Newtype(&TEXT)),
        variant("pair", Body::Tuple(&[TEXT, TEXT])),
        variant("circle", Body::Struct(&CIRCLE))
    );
    let external = |name: &str, content: Document| {
        doc! {
            "title": name, "bsonType": "object", "required": [name], "properties": { name: content },
            "additionalProperties": false,
        }
    };
    let pair = doc! {
        "bsonType": "array", "items": [text.clone(), text.clone()], "additionalItems": false, "minItems": 2, "maxItems": 2,
    };
    assert_eq!(
        plain(Shape::Optional(|| Shape::Enum(&EXTERNAL))),
        doc! { "anyOf": [
            { "enum": ["none"] }, external("text", text.clone()), external("pair", pair.clone()),
            external("circle", circle.clone()), { "bsonType": "null" },
        ] }
    );

    shape_enum!(
        INTERNAL,
        Tagging::Internal("kind"),
        variant("none", Body::Unit),
        variant("circle", Body::Struct(&CIRCLE)),
        variant(
            "boxed",
            Body::Newtype(&FieldMeta {
                shape: || Shape::Struct(&CIRCLE),
                ..FIELD
            })
        )
    );
    let tag = |name: &str| doc! { "enum": [name] };
    let internal = |name: &str| {
        doc! {
            "title": name, "bsonType": "object", "required": ["kind", "r"],
            "properties": { "kind": tag(name), "r": r.clone() },
        }
    };
    let none = |properties: Document| {
        doc! { "title": "none", "bsonType": "object", "required": ["kind"], "properties": properties }
    };
    assert_eq!(
        plain(Shape::Enum(&INTERNAL)),
        doc! { "anyOf": [none(doc! { "kind": tag("none") }), internal("circle"), internal("boxed")] }
    );

    shape_enum!(
        ADJACENT,
        Tagging::Adjacent("kind", "value"),
        variant("none", Body::Unit),
        variant("pair", Body::Tuple(&[TEXT, TEXT]))
    );
    assert_eq!(
        plain(Shape::Enum(&ADJACENT)),
        doc! { "anyOf": [none(doc! { "kind": tag("none") }), {
            "title": "pair", "bsonType": "object", "required": ["kind", "value"],
            "properties": { "kind": tag("pair"), "value": pair },
        }] }
    );

    shape_enum!(
        UNTAGGED,
        Tagging::Untagged,
        variant("none", Body::Unit),
        variant("text", Body::Newtype(&TEXT)),
        variant("circle", Body::Struct(&CIRCLE))
    );
    let titled = |name: &str, schema: Document| {
        let mut titled = doc! { "title": name };
        titled.extend(schema);
        titled
    };
    assert_eq!(
        plain(Shape::Enum(&UNTAGGED)),
        doc! { "anyOf": [
            titled("none", doc! { "bsonType": "null" }), titled("text", text), titled("circle", circle),
        ] }
    );

    // Flattened, a variant's fields are the parent's.
    const PARENT: StructShape = StructShape {
        ty: None,
        name: "Parent",
        fields: &[
            field("a", || Shape::Bool),
            FieldMeta {
                flatten: true,
                ..field("e", || Shape::Enum(&INTERNAL))
            },
        ],
        deny_unknown: false,
    };
    let flat = |name: &str| {
        doc! { "title": name, "required": ["kind", "r"], "properties": { "kind": tag(name), "r": r.clone() } }
    };
    assert_eq!(
        plain(Shape::Struct(&PARENT)),
        doc! {
            "bsonType": "object", "required": ["a"], "properties": { "a": { "bsonType": "bool" } },
            "allOf": [{ "anyOf": [
                { "title": "none", "required": ["kind"], "properties": { "kind": tag("none") } },
                flat("circle"), flat("boxed"),
            ] }],
        }
    );
}

fn depth(n: u32) -> Bounds {
    Bounds {
        depth: Some(n),
        max_items: Some(7),
        ..Bounds::NONE
    }
}

#[test]
fn recursion_is_written_out_to_its_depth() {
    fn comment() -> Shape {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Comment",
                    fields: &[
                        field("text", || Shape::String),
                        FieldMeta {
                            bounds: Bounds {
                                depth: Some(2),
                                max_items: Some(7),
                                ..Bounds::NONE
                            },
                            ..field("replies", || Shape::Array(comment))
                        },
                    ],
                    deny_unknown: false,
                }
            },
        )
    }
    let level = |replies: Document| {
        doc! {
            "bsonType": "object", "required": ["text", "replies"],
            "properties": { "text": { "bsonType": "string" }, "replies": replies },
        }
    };
    let below = |items: Document| doc! { "bsonType": "array", "items": items, "maxItems": 7 };
    let last = level(doc! { "bsonType": "array", "maxItems": 0 });
    assert_eq!(plain(comment()), level(below(level(below(last.clone())))));
    assert_eq!(schema(Shape::Array(comment), depth(1)), below(last));

    // An enum loses the variants that can't end; an option ends as null.
    fn tree() -> Shape {
        Shape::Enum(
            const {
                &EnumShape {
                    ty: None,
                    name: "Tree",
                    tagging: Tagging::External,
                    variants: &[
                        variant("leaf", Body::Unit),
                        variant("branch", Body::Newtype(&FieldMeta { shape: tree, ..FIELD })),
                    ],
                }
            },
        )
    }
    assert_eq!(
        schema(Shape::Optional(tree), depth(1)),
        doc! { "enum": ["leaf", null] }
    );
    assert_eq!(
        schema(Shape::Optional(tree), depth(0)),
        doc! { "bsonType": "null" }
    );
}

#[test]
fn recursion_without_a_depth_ends() {
    fn node() -> Shape {
        const CHILD: FieldMeta = field("l", || Shape::Optional(node));
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Node",
                    fields: &[
                        CHILD,
                        FieldMeta { name: "m", ..CHILD },
                        FieldMeta { name: "r", ..CHILD },
                    ],
                    deny_unknown: false,
                }
            },
        )
    }
    fn endless() -> Shape {
        Shape::Optional(endless)
    }
    // Each level of a variant takes four of BSON.
    fn expression() -> Shape {
        const ALL: FieldMeta = field("all", || Shape::Array(expression));
        shape_enum!(EXPRESSION, Tagging::External, variant("all", Body::Newtype(&ALL)));
        Shape::Enum(&EXPRESSION)
    }
    assert!(levels(&plain(node()).into()) < 20);
    plain(endless());
    // A great depth stays below the server's limits of nesting and size.
    let deep = schema(Shape::Optional(node), depth(1000));
    assert!((80..180).contains(&levels(&deep.clone().into())));
    assert!(mongodb::bson::serialize_to_vec(&deep).expect("BSON").len() < 8 << 20);
    let deep = schema(Shape::Array(expression), depth(1000));
    assert!((80..180).contains(&levels(&deep.into())));
}

#[test]
fn an_option_that_a_function_reads_is_required() {
    const OPTION: FieldMeta = field("seen", || Shape::Optional(|| Shape::Date));
    const FIELDS: &[FieldMeta] = &[
        field("nick", || Shape::Optional(|| Shape::String)),
        FieldMeta {
            shape: || Shape::Bounded(&OPTION),
            ..OPTION
        },
    ];
    const OF: StructShape = StructShape {
        ty: None,
        name: "Person",
        fields: FIELDS,
        deny_unknown: false,
    };
    assert_eq!(
        plain(Shape::Struct(&OF)),
        doc! {
            "bsonType": "object",
            "required": ["seen"],
            "properties": {
                "nick": { "bsonType": ["string", "null"] },
                "seen": { "bsonType": ["date", "null"] },
            },
        }
    );
}

//! Documents in every shape of relationship, for the tests: as the derive would describe them.

use crate::Model;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::reference::{OnDelete, ReferenceKind, ReferenceMeta, TargetMeta};
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Managed, Shape, ShapeFn, StructShape, Tagging, VariantMeta,
};

pub(crate) const fn to(targets: &'static [TargetMeta]) -> ReferenceMeta {
    ReferenceMeta {
        kind: ReferenceKind::One,
        targets,
        union: false,
        optional: false,
        by: || "_id",
        inverse: None,
        expected: None,
        one: false,
        order: &[],
        check: true,
        index: true,
        on_delete: OnDelete::Restrict,
        same: &[],
    }
}

pub(crate) const fn target(document: fn() -> &'static DocumentMeta) -> TargetMeta {
    TargetMeta { tag: "", document }
}

pub(crate) const fn field(name: &'static str, shape: ShapeFn) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        ty: "",
        shape,
        bounds: Bounds::NONE,
        ..crate::expansion_fixture::FIELD
    }
}

pub(crate) const ID: FieldMeta = FieldMeta {
    managed: Managed::Id,
    ..field("_id", int)
};

pub(crate) fn int() -> Shape {
    Shape::Int {
        min: i32::MIN,
        max: i32::MAX,
    }
}

pub(crate) fn ints() -> Shape {
    Shape::Array(int)
}

/// A single reference.
pub(crate) const fn one(name: &'static str, reference: &'static ReferenceMeta) -> FieldMeta {
    FieldMeta {
        reference: Some(reference),
        required: !reference.optional,
        ..field(name, int)
    }
}

/// An array of references.
pub(crate) const fn many(name: &'static str, max: u64, reference: &'static ReferenceMeta) -> FieldMeta {
    FieldMeta {
        reference: Some(reference),
        bounds: Bounds {
            max_items: Some(max),
            ..Bounds::NONE
        },
        ..field(name, ints)
    }
}

pub(crate) use crate::expansion_fixture::document as meta;

/// `document!(NAME, "Name", "collection", [fields])`.
macro_rules! document {
    ($constant:ident, $name:literal, $collection:literal, [$($field:expr),* $(,)?]) => {
        pub(crate) static $constant: DocumentMeta = meta(
            $name,
            $collection,
            || {
                Shape::Struct(const {
                    &StructShape { ty: None, name: $name, fields: &[ID, $($field),*], deny_unknown: false }
                })
            },
        );
    };
}
pub(crate) use document;

pub(crate) const fn inverse(
    targets: &'static [TargetMeta],
    inverse: &'static str,
    optional: bool,
) -> ReferenceMeta {
    ReferenceMeta {
        inverse: Some(inverse),
        optional,
        ..to(targets)
    }
}

// One to many, required and not; many to many; one to one.
document!(
    PERSON,
    "Person",
    "people",
    [many(
        "tasks",
        500,
        const { &inverse(const { &[target(|| &TASK)] }, "owner", false) }
    )]
);
document!(
    TASK,
    "Task",
    "tasks",
    [one(
        "owner",
        const { &inverse(const { &[target(|| &PERSON)] }, "tasks", false) }
    )]
);
document!(
    TEAM,
    "Team",
    "teams",
    [many(
        "members",
        3,
        const { &inverse(const { &[target(|| &MEMBER)] }, "team", false) }
    )]
);
document!(
    MEMBER,
    "Member",
    "members",
    [one(
        "team",
        const { &inverse(const { &[target(|| &TEAM)] }, "members", true) }
    )]
);
document!(
    AUTHOR,
    "Author",
    "authors",
    [many(
        "books",
        500,
        const { &inverse(const { &[target(|| &BOOK)] }, "authors", false) }
    )]
);
document!(
    BOOK,
    "Book",
    "books",
    [many(
        "authors",
        20,
        const { &inverse(const { &[target(|| &AUTHOR)] }, "books", false) }
    )]
);
document!(
    CITIZEN,
    "Citizen",
    "citizens",
    [one(
        "passport",
        const { &inverse(const { &[target(|| &PASSPORT)] }, "holder", true) }
    )]
);
document!(
    PASSPORT,
    "Passport",
    "passports",
    [one(
        "holder",
        const { &inverse(const { &[target(|| &CITIZEN)] }, "passport", true) }
    )]
);
document!(
    NODE,
    "Node",
    "nodes",
    [
        one(
            "parent",
            const { &inverse(const { &[target(|| &NODE)] }, "children", true) }
        ),
        many(
            "children",
            10,
            const { &inverse(const { &[target(|| &NODE)] }, "parent", false) }
        ),
        many(
            "friends",
            10,
            const { &inverse(const { &[target(|| &NODE)] }, "friends", false) }
        ),
        one(
            "partner",
            const { &inverse(const { &[target(|| &NODE)] }, "partner", true) }
        ),
    ]
);

// References that go one way, at every place where they can stand.
pub(crate) static HALL: [FieldMeta; 2] = [
    field("name", int),
    one("warehouse", const { &to(const { &[target(|| &PERSON)] }) }),
];

fn hall() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Hall",
                fields: &HALL,
                deny_unknown: false,
            }
        },
    )
}

fn halls() -> Shape {
    Shape::Array(hall)
}

fn pair() -> Shape {
    Shape::Tuple(&[int, hall])
}

fn maybe_hall() -> Shape {
    Shape::Optional(hall)
}

fn place(tagging: Tagging) -> &'static EnumShape {
    static BODIES: [VariantMeta; 2] = [
        VariantMeta {
            name: "Nowhere",
            json: None,
            body: Body::Unit,
        },
        VariantMeta {
            name: "Hall",
            json: None,
            body: Body::Struct(&StructShape {
                ty: None,
                name: "HallBody",
                fields: &HALL,
                deny_unknown: false,
            }),
        },
    ];
    static EXTERNAL: EnumShape = EnumShape {
        ty: None,
        name: "Place",
        tagging: Tagging::External,
        variants: &BODIES,
    };
    static INTERNAL: EnumShape = EnumShape {
        ty: None,
        name: "Place",
        tagging: Tagging::Internal("kind"),
        variants: &BODIES,
    };
    static ADJACENT: EnumShape = EnumShape {
        ty: None,
        name: "Place",
        tagging: Tagging::Adjacent("kind", "of"),
        variants: &BODIES,
    };
    match tagging {
        Tagging::External => &EXTERNAL,
        Tagging::Internal(_) | Tagging::Untagged => &INTERNAL,
        Tagging::Adjacent(..) => &ADJACENT,
    }
}

fn union() -> Shape {
    Shape::Any
}

fn unions() -> Shape {
    Shape::Array(union)
}

pub(crate) const ANY: ReferenceMeta = ReferenceMeta {
    union: true,
    ..to(&[
        TargetMeta {
            tag: "Person",
            document: || &PERSON,
        },
        TargetMeta {
            tag: "Task",
            document: || &TASK,
        },
    ])
};

document!(
    ORDER,
    "Order",
    "orders",
    [
        one("customer", const { &to(const { &[target(|| &PERSON)] }) }),
        many("parts", 20, const { &to(const { &[target(|| &TASK)] }) }),
        field("hall", maybe_hall),
        field("halls", halls),
        field("pair", pair),
        field("external", || Shape::Enum(place(Tagging::External))),
        field("internal", || Shape::Enum(place(Tagging::Internal("")))),
        field("adjacent", || Shape::Enum(place(Tagging::Adjacent("", "")))),
        FieldMeta {
            flatten: true,
            ..field("flat", hall)
        },
        FieldMeta {
            reference: Some(&ANY),
            ..field("about", union)
        },
        FieldMeta {
            reference: Some(&ANY),
            ..field("abouts", unions)
        },
    ]
);

pub(crate) fn graph(models: &[&'static DocumentMeta]) -> Result<Graph, Vec<String>> {
    let models: Vec<Model> = models.iter().map(|meta| Model { meta }).collect();
    Graph::of(&models)
}

/// All that fit together.
pub(crate) fn all() -> Graph {
    graph(&[
        &PERSON, &TASK, &TEAM, &MEMBER, &AUTHOR, &BOOK, &CITIZEN, &PASSPORT, &NODE, &ORDER,
    ])
    .expect("sound models")
}

use crate::graph::testing::*;
use crate::graph::*;
use crate::model::copy::EntryMeta;
use crate::model::key::Key;
use crate::model::meta::bucket::BucketMeta;
use crate::model::reference::{ReferenceKind, ReferenceMeta};
use crate::model::shape::{Body, Bounds, EnumShape, StructShape, Tagging, VariantMeta};
use mongodb::bson::{RawDocumentBuf, doc};

fn raw(document: Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(&document).expect("encodes")
}

fn paths(graph: &Graph, meta: &DocumentMeta) -> Vec<String> {
    graph.outgoing(meta).map(|edge| edge.path.clone()).collect()
}

fn at<'g>(graph: &'g Graph, meta: &DocumentMeta, path: &str) -> &'g Edge {
    graph
        .outgoing(meta)
        .find(|edge| edge.path == path)
        .unwrap_or_else(|| panic!("{path} is a reference"))
}

#[test]
fn references_are_found_wherever_they_stand() {
    let graph = all();
    assert_eq!(
        paths(&graph, &ORDER),
        [
            "customer",
            "parts",
            "hall.warehouse",
            "halls.warehouse",
            "pair.1.warehouse",
            "external.Hall.warehouse",
            "internal.warehouse",
            "adjacent.of.warehouse",
            "warehouse",
            "about",
            "abouts",
        ]
    );
    let incoming: Vec<&str> = graph.incoming(&TASK).map(|edge| edge.path.as_str()).collect();
    assert_eq!(incoming, ["tasks", "parts", "about", "abouts"]);
    let parts = at(&graph, &ORDER, "parts");
    assert!(parts.list && parts.max == Some(20) && !parts.is_two_way());
    assert!(!at(&graph, &ORDER, "halls.warehouse").list);
}

#[test]
fn references_are_read_wherever_they_stand() {
    let graph = all();
    let order = raw(doc! {
        "_id": 1,
        "customer": 10,
        "parts": [20, 21, 20],
        "hall": null,
        "halls": [{ "warehouse": 30 }, { "name": 2 }, { "warehouse": null }, { "warehouse": 31 }],
        "pair": [0, { "warehouse": 40 }],
        "external": { "Hall": { "warehouse": 50 } },
        "internal": { "kind": "Hall", "warehouse": 60 },
        "adjacent": { "kind": "Nowhere" },
        "warehouse": 70,
        "about": { "type": "Task", "id": 80 },
        "abouts": [{ "type": "Person", "id": 90 }, { "type": "Task", "id": 91 }, { "type": "Song", "id": 92 }],
    });
    let found = |path: &str, target: usize| -> Vec<i64> {
        let edge = at(&graph, &ORDER, path);
        let keys = edge.keys(edge.targets[target], &order);
        keys.iter()
            .map(|key| match key {
                Key::Int(n) => *n,
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(found("customer", 0), [10]);
    assert_eq!(found("parts", 0), [20, 21, 20]);
    assert_eq!(found("hall.warehouse", 0), [0_i64; 0]);
    assert_eq!(found("halls.warehouse", 0), [30, 31]);
    assert_eq!(found("pair.1.warehouse", 0), [40]);
    assert_eq!(found("external.Hall.warehouse", 0), [50]);
    assert_eq!(found("internal.warehouse", 0), [60]);
    assert_eq!(found("adjacent.of.warehouse", 0), [0_i64; 0]);
    assert_eq!(found("warehouse", 0), [70]);
    assert_eq!((found("about", 0), found("about", 1)), (vec![], vec![80]));
    assert_eq!((found("abouts", 0), found("abouts", 1)), (vec![90], vec![91]));
    // Whatever is stored there, nothing is made of it.
    let odd = raw(
        doc! { "customer": [1], "parts": 7, "halls": { "warehouse": 3 }, "pair": "x", "about": { "id": 1 } },
    );
    for edge in graph.outgoing(&ORDER) {
        let keys = edge.all_keys(&odd);
        assert!(
            keys.is_empty() || edge.path == "customer",
            "{}: {keys:?}",
            edge.path
        );
    }
}

#[test]
fn holders_are_looked_for_within_one_item() {
    let graph = all();
    let filter = |path: &str, target: usize| {
        let edge = at(&graph, &ORDER, path);
        edge.holders_of(edge.targets[target], vec![1.into(), 2.into()])
    };
    assert_eq!(
        filter("halls.warehouse", 0),
        doc! { "halls.warehouse": { "$in": [1, 2] } }
    );
    assert_eq!(
        filter("about", 1),
        doc! { "about.type": "Task", "about.id": { "$in": [1, 2] } }
    );
    assert_eq!(
        filter("abouts", 0),
        doc! { "abouts": { "$elemMatch": { "type": "Person", "id": { "$in": [1, 2] } } } }
    );
}

#[test]
fn the_single_side_is_believed() {
    let graph = all();
    let owner = |meta, path| at(&graph, meta, path).owner;
    assert_eq!((owner(&PERSON, "tasks"), owner(&TASK, "owner")), (false, true));
    assert_eq!((owner(&AUTHOR, "books"), owner(&BOOK, "authors")), (true, false));
    assert_eq!(
        (owner(&CITIZEN, "passport"), owner(&PASSPORT, "holder")),
        (true, false)
    );
    assert_eq!((owner(&NODE, "parent"), owner(&NODE, "children")), (true, false));
    let friends = at(&graph, &NODE, "friends");
    assert_eq!(friends.inverse, Some(friends.id));
    let (one, two) = (Key::Int(1), Key::Int(2));
    assert!(friends.is_authority(&one, &two) && !friends.is_authority(&two, &one));
    let tasks = at(&graph, &PERSON, "tasks");
    assert_eq!(graph.inverse(tasks).map(|edge| edge.path.as_str()), Some("owner"));
}

fn problems(models: &[&'static DocumentMeta]) -> String {
    match graph(models) {
        Ok(_) => String::new(),
        Err(problems) => problems.join("\n"),
    }
}

#[test]
fn an_unregistered_target_is_named_with_all_others() {
    let problems = problems(&[&TEAM, &ORDER]);
    for part in [
        "`Team.members` refers to `Member`, which is not among the models",
        "`Order.customer` refers to `Person`",
        "`Order.parts` refers to `Task`",
        "`Order.about` refers to `Person`",
        "`Order.about` refers to `Task`",
    ] {
        assert!(problems.contains(part), "{part}\n{problems}");
    }
}

document!(
    LOST,
    "Lost",
    "lost",
    [
        one(
            "a",
            const { &inverse(const { &[target(|| &LOST)] }, "nothing", true) }
        ),
        one(
            "b",
            const { &inverse(const { &[target(|| &LOST)] }, "plain", true) }
        ),
        one("c", const { &inverse(const { &[target(|| &LOST)] }, "a", true) }),
        one(
            "d",
            const { &inverse(const { &[target(|| &PERSON)] }, "tasks", true) }
        ),
        one("e", const { &inverse(const { &[target(|| &LOST)] }, "e", false) }),
        one(
            "f",
            const {
                &ReferenceMeta {
                    by: || "email",
                    ..inverse(const { &[target(|| &LOST)] }, "f", true)
                }
            }
        ),
        one(
            "g",
            const {
                &ReferenceMeta {
                    union: true,
                    ..inverse(const { &[target(|| &LOST)] }, "g", true)
                }
            }
        ),
        field("plain", int),
        field("inner", || Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Inner",
                    fields: &[one(
                        "h",
                        const { &inverse(const { &[target(|| &LOST)] }, "h", true) },
                    )],
                    deny_unknown: false,
                }
            }
        )),
    ]
);

#[test]
fn an_inverse_that_does_not_fit_is_refused() {
    let problems = problems(&[&LOST, &PERSON, &TASK]);
    for part in [
        "`Lost.a` has `inverse = nothing`, and `Lost` has no field `nothing`",
        "`Lost.b` has `inverse = plain`, and `Lost.plain` is not a reference",
        "`Lost.c` has `inverse = a`, and `Lost.a` does not say `inverse = c`",
        "`Lost.d` has `inverse = tasks`, and `Person.tasks` does not refer to `Lost`",
        "`Lost.e` has `inverse = e`, and neither of `Lost.e` and `Lost.e` is an `Option`",
        "`Lost.f` has `inverse = f`, which needs a reference by `_id`",
        "`Lost.g` has `inverse = g`, which needs a reference to one type of document",
        "`Lost.h` has `inverse = h`, which can stand only on a field of the document itself",
    ] {
        assert!(problems.contains(part), "{part}\n{problems}");
    }
}

fn comment() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Comment",
                fields: &[
                    one("by", const { &to(const { &[target(|| &PERSON)] }) }),
                    field("answers", comments),
                ],
                deny_unknown: false,
            }
        },
    )
}

fn comments() -> Shape {
    Shape::Array(comment)
}

fn reference_to_person() -> FieldMeta {
    one("by", const { &to(const { &[target(|| &PERSON)] }) })
}

document!(
    NOWHERE,
    "Nowhere",
    "nowhere",
    [
        field("comments", comments),
        field("map", || Shape::Map(|| Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Entry",
                    fields: &[one("by", const { &to(const { &[target(|| &PERSON)] }) })],
                    deny_unknown: false,
                }
            }
        ))),
        field("grid", || Shape::Array(|| Shape::Bounded(
            const {
                &FieldMeta {
                    bounds: Bounds {
                        max_items: Some(2),
                        ..Bounds::NONE
                    },
                    ..field("0", || {
                        Shape::Array(|| {
                            Shape::Struct(
                                const {
                                    &StructShape {
                                        ty: None,
                                        name: "Cell",
                                        fields: &[one("by", const { &to(const { &[target(|| &PERSON)] }) })],
                                        deny_unknown: false,
                                    }
                                },
                            )
                        })
                    })
                }
            }
        ))),
        field("mixed", || Shape::Enum(
            const {
                &EnumShape {
                    ty: None,
                    name: "Mixed",
                    tagging: Tagging::Internal("kind"),
                    variants: &[
                        VariantMeta {
                            name: "A",
                            json: None,
                            body: Body::Struct(
                                const {
                                    &StructShape {
                                        ty: None,
                                        name: "A",
                                        fields: &[one("by", const { &to(const { &[target(|| &PERSON)] }) })],
                                        deny_unknown: false,
                                    }
                                },
                            ),
                        },
                        VariantMeta {
                            name: "B",
                            json: None,
                            body: Body::Struct(
                                const {
                                    &StructShape {
                                        ty: None,
                                        name: "B",
                                        fields: &[one("by", const { &to(const { &[target(|| &TASK)] }) })],
                                        deny_unknown: false,
                                    }
                                },
                            ),
                        },
                        VariantMeta {
                            name: "C",
                            json: None,
                            body: Body::Struct(
                                const {
                                    &StructShape {
                                        ty: None,
                                        name: "C",
                                        fields: &[field("by", int)],
                                        deny_unknown: false,
                                    }
                                },
                            ),
                        },
                    ],
                }
            }
        )),
    ]
);

#[test]
fn a_reference_that_no_query_reaches_is_refused() {
    assert!(
        !reference_to_person()
            .reference
            .is_none_or(|reference| reference.union)
    );
    let problems = problems(&[&NOWHERE, &PERSON, &TASK]);
    for part in [
        "`Nowhere.comments.by` is a reference in `Comment`, which contains itself",
        "`Nowhere.map.$*.by` is a reference in the map `map`",
        "`Nowhere.grid.by` is a reference in an array inside the array `grid`",
        "`Nowhere.mixed.by` is declared as two different references",
        "`Nowhere.mixed.by` is a reference in one variant and another value in another one",
    ] {
        assert!(problems.contains(part), "{part}\n{problems}");
    }
    assert_eq!(problems.lines().count(), 5, "each is said once\n{problems}");
}

static OF_SLIPS: BucketMeta = BucketMeta {
    collection: "slip_buckets",
    parent: "of",
    page: "page",
    count: "count",
    items: "slips",
    size: 5,
    period: None,
    time: None,
    sums: &[],
};

/// `slips!(NAME, [fields of an item])`: a bucket of items with these fields, and beside them a list of references.
macro_rules! slips {
    ($constant:ident, [$($field:expr),* $(,)?]) => {
        static $constant: DocumentMeta = DocumentMeta {
            bucket: Some(&OF_SLIPS),
            ..meta("SlipBucket", "slip_buckets", || {
                Shape::Struct(
                    const {
                        &StructShape { ty: None,
                            name: "SlipBucket",
                            fields: &[
                                ID,
                                field("slips", || Shape::Array(|| Shape::Struct(const {
                                    &StructShape { ty: None, name: "Slip", fields: &[$($field),*], deny_unknown: false }
                                }))),
                                many("seen", 5, const { &on_delete(OnDelete::Pull) }),
                            ],
                            deny_unknown: false,
                        }
                    },
                )
            })
        };
    };
}

const fn on_delete(rule: OnDelete) -> ReferenceMeta {
    ReferenceMeta {
        on_delete: rule,
        optional: true,
        ..to(const { &[target(|| &PERSON)] })
    }
}

slips!(PULLED, [one("by", const { &on_delete(OnDelete::Pull) })]);
slips!(
    LEFT,
    [
        one("a", const { &on_delete(OnDelete::Nullify) }),
        one("b", const { &on_delete(OnDelete::Keep) }),
        one("c", const { &on_delete(OnDelete::Restrict) }),
        many("list", 5, const { &on_delete(OnDelete::Pull) }),
    ]
);

#[test]
fn no_deletion_takes_items_out_of_a_bucket() {
    let problems = problems(&[&PULLED, &PERSON, &TASK]);
    assert!(
        problems.starts_with(
            "`SlipBucket.slips.by` would remove whole items from a bucket, whose count and sums include them"
        ),
        "{problems}"
    );
    assert!(
        problems.contains("`keep`, or of an `Option` `nullify`"),
        "{problems}"
    );
    assert_eq!(
        problems.lines().count(),
        1,
        "what stands beside the items is no item\n{problems}"
    );
    let left = graph(&[&LEFT, &PERSON, &TASK]).expect("an item stays with all of these");
    assert_eq!(
        paths(&left, &LEFT),
        ["slips.a", "slips.b", "slips.c", "slips.list", "seen"]
    );
}

#[test]
fn a_document_that_is_not_registered_holds_no_references() {
    let graph = graph(&[&PERSON, &TASK]).expect("sound models");
    assert!(graph.is_registered(&PERSON).is_ok());
    let error = graph.is_registered(&TEAM).expect_err("is not registered");
    assert!(
        error
            .to_string()
            .contains("`Team.members` is a reference, and `Team` is not among the models")
    );
}

/// A struct of copies, as that of an extended reference.
fn person_entry() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "PersonEntry",
                fields: &[
                    one("id", const { &to(const { &[target(|| &PERSON)] }) }),
                    FieldMeta {
                        copied: Some(
                            const {
                                &Copied::Field(crate::model::copy::FieldCopy {
                                    through: "id",
                                    source: || "name",
                                    field: || None,
                                    consistency: Consistency::Auto,
                                })
                            },
                        ),
                        ..field("name", int)
                    },
                ],
                deny_unknown: false,
            }
        },
    )
}

/// The reference of a `#[parent_ref]` in such a struct.
static PARENT: EntryMeta = EntryMeta {
    id: "id",
    reference: ReferenceMeta {
        kind: ReferenceKind::Parent,
        one: true,
        on_delete: OnDelete::Cascade,
        ..to(const { &[target(|| &PERSON)] })
    },
};

const fn parent(name: &'static str, shape: crate::model::shape::ShapeFn) -> FieldMeta {
    FieldMeta {
        entry: Some(&PARENT),
        ..field(name, shape)
    }
}

document!(
    SAYING,
    "Saying",
    "sayings",
    [
        parent("by", person_entry),
        parent("maybe", || Shape::Optional(person_entry)),
        // As of a missing option that a function reads.
        parent("read", || Shape::Bounded(
            const { &field("read", || Shape::Optional(person_entry)) }
        )),
        field("plain", person_entry),
        field("inside", || Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Inside",
                    fields: &[parent("by", person_entry), field("plain", person_entry)],
                    deny_unknown: false,
                }
            }
        )),
    ]
);

#[test]
fn the_field_says_more_of_the_reference_in_its_struct_of_copies() {
    let graph = graph(&[&SAYING, &PERSON, &TASK]).expect("sound models");
    for (path, is_parent) in [
        ("by.id", true),
        ("maybe.id", true),
        ("read.id", true),
        ("plain.id", false),
        ("inside.by.id", true),
        ("inside.plain.id", false),
    ] {
        let edge = at(&graph, &SAYING, path);
        let reference = edge.reference;
        let expected = if is_parent {
            (ReferenceKind::Parent, true, OnDelete::Cascade)
        } else {
            (ReferenceKind::One, false, OnDelete::Restrict)
        };
        assert_eq!(
            (reference.kind, reference.one, reference.on_delete),
            expected,
            "{path}"
        );
        assert_eq!(edge.copies.len(), 1, "{path}: the copies stand beside it as ever");
    }
}

#[test]
fn another_database_shares_the_references_but_not_the_declarations_of_other_programs() {
    let graph = Graph::default();
    let others = crate::graph::known::Others {
        sources: HashMap::from([("people".to_owned(), Vec::new())]),
        ..Default::default()
    };
    graph.set_others(others);
    let other = graph.of_another_database();
    assert!(graph.others().is_some() && other.others().is_none());
    assert!(Arc::ptr_eq(&graph.edges, &other.edges) && Arc::ptr_eq(&graph.derived, &other.derived));
}

use crate::graph::testing::*;
use crate::model::reference::ReferenceMeta;
use crate::model::shape::{FieldMeta, Shape, StructShape};
use crate::rules::on_delete::*;

const FREE: ReferenceMeta = ReferenceMeta {
    on_delete: OnDelete::Nullify,
    optional: true,
    ..to(const { &[target(|| &TASK)] })
};
const PULLED: ReferenceMeta = ReferenceMeta {
    on_delete: OnDelete::Pull,
    ..to(const { &[target(|| &TASK)] })
};
const ANY_FREE: ReferenceMeta = ReferenceMeta {
    on_delete: OnDelete::Nullify,
    optional: true,
    ..ANY
};
const ANY_PULLED: ReferenceMeta = ReferenceMeta {
    on_delete: OnDelete::Pull,
    ..ANY
};

fn any() -> Shape {
    Shape::Any
}

fn anys() -> Shape {
    Shape::Array(any)
}

static CELL: [FieldMeta; 4] = [
    one("task", &FREE),
    many("tasks", 3, &PULLED),
    FieldMeta {
        reference: Some(&ANY_FREE),
        required: false,
        ..field("about", any)
    },
    FieldMeta {
        reference: Some(&ANY_PULLED),
        ..field("abouts", anys)
    },
];

fn cell() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Cell",
                fields: &CELL,
                deny_unknown: false,
            }
        },
    )
}

fn cells() -> Shape {
    Shape::Array(cell)
}

static ROW: [FieldMeta; 1] = [field("cells", cells)];

fn row() -> Shape {
    Shape::Struct(
        const {
            &StructShape {
                ty: None,
                name: "Row",
                fields: &ROW,
                deny_unknown: false,
            }
        },
    )
}

fn rows() -> Shape {
    Shape::Array(row)
}

document!(
    GRID,
    "Grid",
    "grids",
    [
        field("cell", cell),
        field("rows", rows),
        FieldMeta {
            required: true,
            ..one("always", &FREE)
        },
        one(
            "by_name",
            const {
                &ReferenceMeta {
                    by: || "name",
                    ..FREE
                }
            }
        ),
    ]
);

document!(
    CHILD,
    "Child",
    "children",
    [
        one(
            "of",
            const {
                &ReferenceMeta {
                    on_delete: OnDelete::Cascade,
                    ..to(const { &[target(|| &GRID)] })
                }
            }
        ),
        one(
            "same",
            const {
                &ReferenceMeta {
                    on_delete: OnDelete::Cascade,
                    ..to(const { &[target(|| &CHILD)] })
                }
            }
        ),
    ]
);

document!(
    TOY,
    "Toy",
    "toys",
    [one("of", const { &to(const { &[target(|| &CHILD)] }) })]
);

document!(
    ECHO,
    "Echo",
    "echoes",
    [one(
        "of",
        const {
            &ReferenceMeta {
                on_delete: OnDelete::Keep,
                ..to(const { &[target(|| &TOY)] })
            }
        }
    )]
);

fn raw(document: Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(&document).expect("encodes")
}

fn sound() -> Graph {
    graph(&[&PERSON, &TASK, &GRID, &CHILD, &TOY, &ECHO]).expect("sound models")
}

fn rule<'g>(graph: &'g Graph, meta: &DocumentMeta, path: &str) -> OnDeleteRule<'g> {
    let rules = Rules::for_model(graph, meta);
    let found = rules.list.iter().find(|rule| rule.edge.path == path);
    *found.unwrap_or_else(|| panic!("{path} is a rule"))
}

fn changes(path: &str, keys: &[Bson]) -> (Document, Vec<Document>) {
    let graph = sound();
    let rule = rule(&graph, &TASK, path);
    let change = rule.edge.detachment(rule.target, keys);
    (change.update, change.array_filters)
}

#[test]
fn references_are_taken_out_where_they_stand() {
    let keys = [Bson::Int32(1), Bson::Int32(2)];
    assert_eq!(
        changes("cell.task", &keys),
        (doc! { "$unset": { "cell.task": "" } }, vec![])
    );
    assert_eq!(
        changes("cell.tasks", &keys),
        (doc! { "$pull": { "cell.tasks": { "$in": [1, 2] } } }, vec![])
    );
    assert_eq!(
        changes("cell.abouts", &keys),
        (
            doc! { "$pull": { "cell.abouts": { "type": "Task", "id": { "$in": [1, 2] } } } },
            vec![]
        )
    );
    assert_eq!(
        changes("always", &keys),
        (doc! { "$set": { "always": null } }, vec![]),
        "a field that can't be missing"
    );
}

#[test]
fn in_arrays_only_the_items_are_changed_that_hold_one() {
    let keys = [Bson::Int32(1)];
    let one_of = doc! { "$in": [1] };
    assert_eq!(
        changes("rows.cells.task", &keys),
        (
            doc! { "$unset": { "rows.$[e0].cells.$[e1].task": "" } },
            vec![doc! { "e0.cells.task": &one_of }, doc! { "e1.task": &one_of }]
        )
    );
    assert_eq!(
        changes("rows.cells.tasks", &keys),
        (
            doc! { "$pull": { "rows.$[e0].cells.$[e1].tasks": &one_of } },
            vec![doc! { "e0.cells.tasks": &one_of }, doc! { "e1.tasks": &one_of }]
        )
    );
    let both = doc! { "type": "Task", "id": &one_of };
    assert_eq!(
        changes("rows.cells.about", &keys),
        (
            doc! { "$unset": { "rows.$[e0].cells.$[e1].about": "" } },
            vec![
                doc! { "e0.cells": { "$elemMatch": { "about.type": "Task", "about.id": &one_of } } },
                doc! { "e1.about.type": "Task", "e1.about.id": &one_of },
            ]
        )
    );
    assert_eq!(
        changes("rows.cells.abouts", &keys),
        (
            doc! { "$pull": { "rows.$[e0].cells.$[e1].abouts": &both } },
            vec![
                doc! { "e0.cells": { "$elemMatch": { "abouts": { "$elemMatch": &both } } } },
                doc! { "e1.abouts": { "$elemMatch": &both } },
            ]
        )
    );
}

#[test]
fn holders_are_found_by_comparable_keys() {
    let graph = sound();
    let named = rule(&graph, &TASK, "by_name");
    let hostile = [
        raw(doc! { "_id": 1 }),
        raw(doc! { "_id": 2, "name": null }),
        raw(doc! { "_id": 3, "name": { "$gt": "" } }),
        raw(doc! { "_id": 4, "name": ["x"] }),
        raw(
            doc! { "_id": 5, "name": mongodb::bson::Regex { pattern: mongodb::bson::cstr!(".").into(), options: mongodb::bson::cstr!("").into() } },
        ),
    ];
    assert_eq!(
        named.holders(&hostile),
        None,
        "nothing refers to them by such a name"
    );
    let mut fine = hostile.to_vec();
    fine.push(raw(doc! { "_id": 6, "name": "six" }));
    assert_eq!(named.holders(&fine), Some(doc! { "by_name": { "$in": ["six"] } }));
    let holder = raw(doc! { "_id": 1, "by_name": "six" });
    assert_eq!(
        named
            .referred(&holder, &fine)
            .map(crate::store::batch::document_id)
            .collect::<Vec<_>>(),
        [Bson::Int32(6)]
    );
}

#[test]
fn the_holders_of_a_two_way_reference_are_named_by_the_document() {
    let graph = sound();
    let owner = rule(&graph, &PERSON, "owner");
    assert!(owner.is_two_way());
    assert_eq!(owner.holders(&[raw(doc! { "_id": 1, "tasks": [] })]), None);
    let Some(filter) = owner.holders(&[raw(doc! { "_id": 1, "tasks": [7] })]) else {
        panic!("it names one");
    };
    assert_eq!(filter, doc! { "_id": 7_i64, "owner": { "$in": [1] } });
    let attachments = rule(&graph, &TASK, "tasks").edge.attachments(&Bson::Int32(7));
    let [(room, change)] = attachments.as_slice() else {
        panic!("one way to add it: {attachments:?}");
    };
    assert_eq!(
        *room,
        doc! { "tasks": { "$ne": 7 }, "tasks.499": { "$exists": false } }
    );
    assert_eq!(change.update, doc! { "$push": { "tasks": 7 } });
}

#[test]
fn restricting_references_are_known_down_every_cascade() {
    let graph = sound();
    let rules = |meta| Rules::for_model(&graph, meta);
    assert!(rules(&GRID).restricts, "a child may have toys");
    assert!(!rules(&GRID).whole, "nothing holds a grid itself back");
    assert!(rules(&CHILD).restricts && rules(&CHILD).whole);
    assert!(!rules(&TOY).restricts && rules(&TOY).list.is_empty());
    let has_rules = |meta| graph.has_deletion_rules(meta);
    assert!(has_rules(&GRID) && !has_rules(&TOY) && !has_rules(&ECHO));
    assert_eq!(rules(&TASK).fields, doc! { "_id": 1, "owner": 1, "name": 1 });
}

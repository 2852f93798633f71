use crate::graph::Graph;
use crate::graph::testing::*;
use crate::model::copy::{Computed, Consistency, Copied, FieldCopy, Operation};
use crate::model::reference::{ParentField, ReferenceKind, ReferenceMeta};
use crate::model::shape::{FieldMeta, Shape, StructShape};
use crate::plan::touches::*;

fn edge<'g>(graph: &'g Graph, path: &str) -> &'g Edge {
    let of = |meta| graph.outgoing(meta).find(|edge| edge.path == path);
    of(&ORDER)
        .or_else(|| of(&BOOK))
        .or_else(|| of(&TASK))
        .unwrap_or_else(|| panic!("{path} is a reference"))
}

fn touched(graph: &Graph, edge: &Edge, built: &Built) -> Touches {
    Touches::read(graph, edge.holder, built, None).expect("values that can be stored")
}

/// The references that an update adds: the collections of their targets, and their keys.
fn added(graph: &Graph, path: &str, update: Document) -> Vec<(&'static str, Bson)> {
    let edge = edge(graph, path);
    let touches = touched(graph, edge, &built(update));
    let added = touches.added(edge).iter();
    added
        .map(|(target, _, value)| (target.meta.collection, value.clone()))
        .collect()
}

fn built(update: Document) -> Built {
    Built {
        update,
        ..Built::nothing()
    }
}

#[test]
fn references_are_found_in_every_operator() {
    let graph = all();
    let found = |path, update| -> Vec<i32> {
        let all = added(&graph, path, update);
        all.iter().filter_map(|(_, value)| value.as_i32()).collect()
    };
    // The field itself, by every operator that gives it a value.
    for operator in ["$set", "$setOnInsert", "$min", "$max"] {
        assert_eq!(
            found("customer", doc! { operator: { "customer": 7 } }),
            [7],
            "{operator}"
        );
    }
    assert_eq!(found("parts", doc! { "$set": { "parts": [1, 2] } }), [1, 2]);
    for operator in ["$push", "$addToSet"] {
        assert_eq!(
            found("parts", doc! { operator: { "parts": { "$each": [1, 2] } } }),
            [1, 2],
            "{operator}"
        );
        assert_eq!(
            found("parts", doc! { operator: { "parts": 3 } }),
            [3],
            "{operator}"
        );
    }
    assert_eq!(found("parts", doc! { "$set": { "parts.$[e0]": 4 } }), [4]);
    assert_eq!(found("parts", doc! { "$set": { "parts.3": 5 } }), [5]);
    // The struct around it.
    assert_eq!(
        found(
            "hall.warehouse",
            doc! { "$set": { "hall": { "name": 1, "warehouse": 6 } } }
        ),
        [6]
    );
    assert_eq!(
        found("hall.warehouse", doc! { "$set": { "hall.warehouse": 6 } }),
        [6]
    );
    let halls = doc! { "$each": [{ "warehouse": 7 }, { "warehouse": 8 }] };
    assert_eq!(
        found("halls.warehouse", doc! { "$push": { "halls": halls.clone() } }),
        [7, 8]
    );
    assert_eq!(
        found(
            "halls.warehouse",
            doc! { "$set": { "halls": [{ "warehouse": 7 }] } }
        ),
        [7]
    );
    for name in ["halls.$[]", "halls.$[e0]", "halls.$", "halls.0"] {
        let whole = doc! { "$set": { name: { "warehouse": 9 } } };
        assert_eq!(found("halls.warehouse", whole), [9], "{name}");
        let field = doc! { "$set": { format!("{name}.warehouse"): 9 } };
        assert_eq!(found("halls.warehouse", field), [9], "{name}");
    }
    assert_eq!(
        found(
            "pair.1.warehouse",
            doc! { "$set": { "pair": [0, { "warehouse": 3 }] } }
        ),
        [3]
    );
    assert_eq!(
        found("pair.1.warehouse", doc! { "$set": { "pair.1.warehouse": 3 } }),
        [3]
    );
    let place = doc! { "$set": { "external": { "Hall": { "warehouse": 2 } } } };
    assert_eq!(found("external.Hall.warehouse", place), [2]);
    // Several at once.
    let several = doc! { "$set": { "parts": [1] }, "$setOnInsert": { "customer": 2 } };
    assert_eq!(
        (found("parts", several.clone()), found("customer", several)),
        (vec![1], vec![2])
    );
    // Nothing of what adds none.
    for update in [
        doc! { "$unset": { "customer": "" } },
        doc! { "$pull": { "parts": 3 } },
        doc! { "$pullAll": { "parts": [3] } },
        doc! { "$set": { "customer": null, "parts": [], "custom": 1, "customers": 2 } },
        doc! { "$inc": { "customer": 1 } },
        doc! { "$set": 5 },
    ] {
        assert!(found("customer", update.clone()).is_empty() && found("parts", update).is_empty());
    }
    let union = added(
        &graph,
        "about",
        doc! { "$set": { "about": { "type": "Task", "id": 1 } } },
    );
    assert_eq!(union, [(TASK.collection, 1.into())]);
}

#[test]
fn a_change_touches_a_field_also_by_another_name() {
    let graph = all();
    let authors = edge(&graph, "authors");
    let touches_authors = |update: Document| {
        touched(&graph, authors, &built(update))
            .reference(authors)
            .is_some()
    };
    for update in [
        doc! { "$set": { "authors": [] } },
        doc! { "$unset": { "authors": "" } },
        doc! { "$pop": { "authors": 1 } },
        doc! { "$set": { "authors.0": 1 } },
        doc! { "$rename": { "authors": "x" } },
        doc! { "$rename": { "x": "authors" } },
        doc! { "$other": 1 },
    ] {
        assert!(touches_authors(update.clone()), "{update}");
    }
    for update in [
        doc! { "$set": { "title": "authors", "author": 1, "authors_": 2, "x.authors": 3 } },
        doc! { "$rename": { "a": "b" } },
        doc! {},
    ] {
        assert!(!touches_authors(update.clone()), "{update}");
    }
}

#[test]
fn the_values_after_a_change_are_known_where_they_can_be() {
    let graph = all();
    let list = |update: Document, before: &[i32]| -> Option<Vec<i32>> {
        let before: Vec<Bson> = before.iter().map(|id| Bson::Int32(*id)).collect();
        let authors = edge(&graph, "authors");
        let now = touched(&graph, authors, &built(update)).after(authors, &before, false)?;
        Some(now.iter().filter_map(Bson::as_i32).collect())
    };
    assert_eq!(list(doc! { "$set": { "title": "x" } }, &[1, 2]), Some(vec![1, 2]));
    assert_eq!(list(doc! { "$set": { "authors": [3] } }, &[1, 2]), Some(vec![3]));
    assert_eq!(list(doc! { "$unset": { "authors": "" } }, &[1, 2]), Some(vec![]));
    let add = doc! { "$addToSet": { "authors": { "$each": [2, 3, 3] } } };
    assert_eq!(list(add, &[1, 2]), Some(vec![1, 2, 3]));
    assert_eq!(
        list(doc! { "$pullAll": { "authors": [2_i64, 5] } }, &[1, 2, 3]),
        Some(vec![1, 3])
    );
    assert_eq!(list(doc! { "$pop": { "authors": 1 } }, &[1, 2]), Some(vec![1]));
    assert_eq!(list(doc! { "$pop": { "authors": -1 } }, &[1, 2]), Some(vec![2]));
    assert_eq!(list(doc! { "$pop": { "authors": -1 } }, &[]), Some(vec![]));
    assert_eq!(
        list(doc! { "$setOnInsert": { "authors": [9] } }, &[1]),
        Some(vec![1])
    );
    for unknown in [
        doc! { "$pull": { "authors": { "$gt": 1 } } },
        doc! { "$push": { "authors": { "$each": [], "$slice": 1 } } },
        doc! { "$rename": { "authors": "other" } },
        doc! { "$set": { "authors.0": 1 } },
    ] {
        assert_eq!(list(unknown.clone(), &[1]), None, "{unknown}");
    }
    let owner = edge(&graph, "owner");
    let single = |update: Document, insert: bool| {
        touched(&graph, owner, &built(update)).after(owner, &[1.into()], insert)
    };
    assert_eq!(
        single(doc! { "$set": { "owner": 2 } }, false),
        Some(vec![2.into()])
    );
    assert_eq!(single(doc! { "$set": { "owner": null } }, false), Some(vec![]));
    assert_eq!(
        single(doc! { "$setOnInsert": { "owner": 3 } }, true),
        Some(vec![3.into()])
    );
    assert_eq!(single(doc! { "$max": { "owner": 3 } }, false), None);
}

#[test]
fn a_replaced_item_is_the_one_that_is_looked_for() {
    let graph = all();
    let replaced = |guards: Vec<Guard>| {
        let built = Built {
            update: doc! { "$set": { "authors.$[e0]": 9 } },
            array_filters: vec![doc! { "e0": { "$eq": 2 } }],
            guards,
            ..Built::nothing()
        };
        let authors = edge(&graph, "authors");
        touched(&graph, authors, &built).after(authors, &[1.into(), 2.into()], false)
    };
    let there = Guard::There {
        name: "authors".to_owned(),
        alone: true,
    };
    assert_eq!(replaced(vec![there]), Some(vec![1.into(), 9.into()]));
}

// A shop, and ratings that hold its name; the shop counts them, and adds up their stars where they are published.
document!(
    SHOP,
    "Shop",
    "shops",
    [
        field("name", int),
        FieldMeta {
            copied: Some(
                const {
                    &Copied::Computed(Computed {
                        child: || &RATING,
                        parent: || ParentField::of(&RATED),
                        operation: Operation::Sum,
                        of: Some(|| "stars"),
                        filter: Some(|| Ok(mongodb::bson::rawdoc! { "published": { "$eq": 1 } })),
                        consistency: Consistency::Auto,
                    })
                }
            ),
            ..field("stars", int)
        },
    ]
);

static RATED: FieldMeta = RATED_FIELD;

document!(
    RATING,
    "Rating",
    "ratings",
    [
        RATED_FIELD,
        FieldMeta {
            copied: Some(
                const {
                    &Copied::Field(FieldCopy {
                        through: "shop",
                        source: || "name",
                        field: || None,
                        consistency: Consistency::Eventual,
                    })
                }
            ),
            ..field("shop_name", int)
        },
        field("stars", int),
        field("published", int),
        field("text", int),
    ]
);

const RATED_FIELD: FieldMeta = one(
    "shop",
    const {
        &ReferenceMeta {
            kind: ReferenceKind::Parent,
            ..to(const { &[target(|| &SHOP)] })
        }
    },
);

fn shops() -> Graph {
    graph(&[&SHOP, &RATING]).expect("sound models")
}

fn read(graph: &Graph, meta: &'static DocumentMeta, update: Document) -> Touches {
    Touches::read(graph, meta, &built(update), None).expect("values that can be stored")
}

#[test]
fn a_change_of_a_source_leaves_work_and_raises_the_version() {
    let graph = shops();
    let touches = read(&graph, &SHOP, doc! { "$set": { "name": 1 } });
    assert_eq!(touches.fields, ["name"]);
    assert!(touches.is_of_source && !touches.moves_children);
    let later = Affected {
        atomic: false,
        eventual: true,
    };
    assert_eq!(touches.affected, later);
    let touches = read(
        &graph,
        &SHOP,
        doc! { "$set": { "stars": 1 }, "$inc": { "other": 1 } },
    );
    assert!(!touches.is_of_source && !touches.affected.is_any());
}

#[test]
fn a_change_of_a_child_affects_its_parent_where_the_parent_reads_it() {
    let graph = shops();
    let now = Affected {
        atomic: true,
        eventual: false,
    };
    for update in [
        doc! { "$inc": { "stars": 1 } },
        doc! { "$unset": { "published": "" } },
        doc! { "$rename": { "text": "stars" } },
    ] {
        let touches = read(&graph, &RATING, update.clone());
        assert_eq!(touches.affected, now, "{update}");
        assert!(
            !touches.moves_children && touches.references.is_empty(),
            "{update}"
        );
    }
    assert!(
        !read(&graph, &RATING, doc! { "$set": { "text": 1 } })
            .affected
            .is_any()
    );
}

#[test]
fn a_new_parent_moves_a_child_and_changes_the_copies_beside_the_reference() {
    let graph = shops();
    let touches = read(&graph, &RATING, doc! { "$set": { "shop": 7 } });
    assert!(touches.moves_children);
    assert_eq!(
        (touches.fields.as_slice(), touches.copies.as_slice()),
        (&["shop".to_owned()][..], &["shop_name".to_owned()][..])
    );
    assert_eq!(
        touches.affected,
        Affected {
            atomic: true,
            eventual: true
        }
    );
    let edge = graph.outgoing(&RATING).next().expect("a reference");
    let touched = touches.reference(edge).expect("it is touched");
    assert!(touched.is_replaced && touched.how == ArrayEffect::Replaces);
    let [operand] = touched.operands.as_slice() else {
        panic!("one operand: {touched:?}");
    };
    assert_eq!(
        (operand.operator.as_str(), operand.name.as_str()),
        ("$set", "shop")
    );
    assert_eq!(
        operand.holds,
        OperandPlace::Itself {
            prefix: String::new()
        }
    );
    assert_eq!(
        touches
            .added(edge)
            .iter()
            .map(|(target, _, id)| (*target, id.clone()))
            .collect::<Vec<_>>(),
        [(edge.targets[0], 7.into())]
    );
}

#[test]
fn the_operands_around_a_reference_say_where_it_is_in_them() {
    let graph = all();
    let edge = edge(&graph, "halls.warehouse");
    let holds = |name: &str| {
        let touches = touched(&graph, edge, &built(doc! { "$set": { name: 1 } }));
        let touched = touches.reference(edge).expect("it is touched");
        touched
            .operands
            .iter()
            .map(|operand| operand.holds.clone())
            .collect::<Vec<_>>()
    };
    let around = |item| vec![OperandPlace::Around { depth: 1, item }];
    assert_eq!(holds("halls"), around(false));
    assert_eq!(holds("halls.$[e0]"), around(true));
    assert_eq!(holds("halls.3"), around(true));
    let itself = |prefix: &str| {
        vec![OperandPlace::Itself {
            prefix: prefix.to_owned(),
        }]
    };
    assert_eq!(holds("halls.warehouse"), itself("halls."));
    assert_eq!(holds("halls.$[e0].warehouse"), itself("halls.$[e0]."));
    assert_eq!(holds("halls.3.warehouse.x"), []);
}

#[test]
fn the_id_of_an_upsert_adds_only_references_that_are_in_it() {
    let graph = shops();
    let touches = Touches::read(&graph, &RATING, &Built::nothing(), Some(&doc! { "_id": 1 })).expect("an id");
    assert!(touches.references.is_empty(), "the id is no reference");
    assert!(!touches.moves_children);
}

#[test]
fn a_push_onto_a_two_way_array_adds_to_a_set() {
    let graph = all();
    let room = |unless_there| Guard::Room {
        name: "authors".to_owned(),
        more: 2,
        max: 20,
        unless_there,
        field: None,
        numbered: false,
    };
    let mut update = built(doc! { "$push": { "authors": { "$each": [1, 2] } } });
    update.guards.push(room(None));
    as_sets(graph.outgoing(&BOOK), &mut update);
    assert_eq!(
        update.update,
        doc! { "$addToSet": { "authors": { "$each": [1, 2] } } }
    );
    assert_eq!(
        update.guards[0].condition(),
        room(Some(vec![1.into(), 2.into()])).condition()
    );
    // Any other `$push` stays as it is, and so does one with more than that.
    let mut update = built(doc! { "$push": { "authors": 3, "tags": "x" }, "$addToSet": { "other": 1 } });
    as_sets(graph.outgoing(&BOOK), &mut update);
    let set = doc! { "$addToSet": { "other": 1, "authors": { "$each": [3] } } };
    assert_eq!(update.update.get("$addToSet"), set.get("$addToSet"));
    assert_eq!(update.update.get("$push"), Some(&doc! { "tags": "x" }.into()));
    let sorted = doc! { "$push": { "authors": { "$each": [1], "$sort": 1 } } };
    let mut update = built(sorted.clone());
    as_sets(graph.outgoing(&BOOK), &mut update);
    assert_eq!(update.update, sorted);
    // Of a reference that goes one way, nothing changes.
    let push = doc! { "$push": { "parts": { "$each": [1, 1] } } };
    let mut update = built(push.clone());
    as_sets(graph.outgoing(&ORDER), &mut update);
    assert_eq!(update.update, push);
}

use crate::model::graph::Graph;
use crate::model::graph::testing::*;
use crate::plan::changes::*;
use mongodb::bson::RawDocumentBuf;

fn edge<'g>(graph: &'g Graph, path: &str) -> &'g Edge {
    let of = |meta| graph.outgoing(meta).find(|edge| edge.path == path);
    of(&ORDER)
        .or_else(|| of(&BOOK))
        .or_else(|| of(&TASK))
        .unwrap_or_else(|| panic!("{path} is a reference"))
}

fn added(graph: &Graph, path: &str, update: Document) -> Vec<Bson> {
    let raw = RawDocumentBuf::try_from(&update).expect("encodes");
    let mut all = Vec::new();
    added_values(edge(graph, path), &raw, &mut |value| {
        all.push(Bson::try_from(value).expect("decodes"));
    });
    all
}

fn built(update: Document) -> Built {
    Built {
        update,
        array_filters: Vec::new(),
        guards: Vec::new(),
        raw: Vec::new(),
        met: None,
        idle: None,
        only_adds: false,
        defaults: Box::default(),
    }
}

#[test]
fn references_are_found_in_every_operator() {
    let graph = all();
    let found = |path, update| -> Vec<i32> {
        let all = added(&graph, path, update);
        all.iter().filter_map(Bson::as_i32).collect()
    };
    // The field itself, by every operator that added_values a value.
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
    // Nothing of what added_values none.
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
    assert_eq!(union, [doc! { "type": "Task", "id": 1 }.into()]);
}

#[test]
fn a_change_touches_a_field_also_by_another_name() {
    let graph = all();
    let authors = edge(&graph, "authors");
    for update in [
        doc! { "$set": { "authors": [] } },
        doc! { "$unset": { "authors": "" } },
        doc! { "$pop": { "authors": 1 } },
        doc! { "$set": { "authors.0": 1 } },
        doc! { "$rename": { "authors": "x" } },
        doc! { "$rename": { "x": "authors" } },
        doc! { "$other": 1 },
    ] {
        assert!(touches(authors, &update), "{update}");
    }
    for update in [
        doc! { "$set": { "title": "authors", "author": 1, "authors_": 2, "x.authors": 3 } },
        doc! { "$rename": { "a": "b" } },
        doc! {},
    ] {
        assert!(!touches(authors, &update), "{update}");
    }
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

#[test]
fn the_values_after_a_change_are_known_where_they_can_be() {
    let graph = all();
    let list = |update: Document, before: &[i32]| -> Option<Vec<i32>> {
        let before: Vec<Bson> = before.iter().map(|id| Bson::Int32(*id)).collect();
        let now = after(edge(&graph, "authors"), &before, &built(update), false)?;
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
    let single =
        |update: Document, insert: bool| after(edge(&graph, "owner"), &[1.into()], &built(update), insert);
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
            raw: Vec::new(),
            met: None,
            idle: None,
            only_adds: false,
            defaults: Box::default(),
        };
        after(edge(&graph, "authors"), &[1.into(), 2.into()], &built, false)
    };
    let there = Guard::There {
        name: "authors".to_owned(),
        alone: true,
    };
    assert_eq!(replaced(vec![there]), Some(vec![1.into(), 9.into()]));
}

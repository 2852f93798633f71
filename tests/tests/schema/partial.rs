//! Filters of partial indexes: a server lists them in another form than they were sent in.

use mongodb::bson::{Document as Doc, doc};
use odm::Error;
use odm::prelude::*;
use odm_tests::{TestDb, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "tasks",
    index(fields(state), name = "two", partial = |p| p.open.eq(true) & p.points.gt(1)),
    index(fields(points), name = "all", partial = |p| p.tags.contains_all(["a", "b"])),
    index(fields(open), name = "one", partial = |p| p.state.in_(["new"])),
    index(fields(state, points), name = "range", partial = |p| p.points.gte(1) & p.points.lt(5) & p.state.exists(true)),
)]
struct Task {
    id: i32,
    state: String,
    open: bool,
    points: i32,
    #[embed(max = 10)]
    tags: Vec<String>,
}

async fn recreate(t: &TestDb, name: &str, key: Doc, filter: Doc) {
    t.db.run_command(doc! { "dropIndexes": "tasks", "index": name })
        .await
        .unwrap();
    let index = doc! { "key": key, "name": name, "partialFilterExpression": filter };
    t.db.run_command(doc! { "createIndexes": "tasks", "indexes": [index] })
        .await
        .unwrap();
}

/// Such an index was made by the first `sync`, and a conflict for every later one.
#[odm_tests::test]
fn a_filter_of_several_conditions_is_synced_once() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Task]).unwrap();
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        // As a `mongod` lists what was sent in the second form.
        let and = doc! { "$and": [{ "open": { "$eq": true } }, { "points": { "$gt": 1.0 } }] };
        let plain = doc! { "points": { "$gt": 1 }, "open": true };
        for filter in [and, plain] {
            recreate(&t, "two", doc! { "state": 1 }, filter).await;
            let plan = odm.plan().await.unwrap();
            assert!(plan.is_empty(), "{plan}");
        }
        recreate(
            &t,
            "two",
            doc! { "state": 1 },
            doc! { "open": true, "points": { "$gt": 2 } },
        )
        .await;
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("index `two` exists with other options: its filter is"),
            "{plan}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "tickets",
    index(fields(state), partial = |p| p.state.in_(["new", "open"]) | p.points.gt(5)),
)]
struct Ticket {
    id: i32,
    state: String,
    points: i32,
}

/// Alternatives came with MongoDB 6.0: a plan for an older server says so before anything is created.
#[odm_tests::test]
fn alternatives_in_a_filter_need_a_server_that_takes_them() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Ticket]).unwrap();
        let plan = odm.plan().await.unwrap();
        if odm.server().await.unwrap().max_wire_version() < 17 {
            assert!(
                plan.to_string()
                    .contains("has `|`, which servers take from MongoDB 6.0 on"),
                "{plan}"
            );
            assert!(matches!(odm.sync().await, Err(Error::SchemaConflict { .. })));
            return;
        }
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "wrong",
    index(fields(state), partial = |p| p.state.ne("done")),
    index(fields(points), partial = |p| !p.points.eq(1)),
    index(fields(state, points), partial = |p| p.state.starts_with("AB")),
    index(fields(points, state), partial = |p| p.points.gt(1) & p.state.exists(false)),
    index(fields(-state), partial = |p| p.tags.size(2)),
)]
struct Wrong {
    id: i32,
    state: String,
    points: i32,
    #[embed(max = 10)]
    tags: Vec<String>,
}

#[odm_tests::test]
fn a_filter_that_no_server_takes_is_refused_before_one_is_asked() {
    with_db(async |t| {
        t.commands.clear();
        let Err(Error::Models { problems }) = Odm::new(t.db.clone(), models![Wrong]) else {
            panic!("refused");
        };
        let said = [
            ("`state`: no server takes `ne` of `state`", "`eq(…)`, `in_([…])`"),
            ("`points`: no server takes `!` of `points`", "`eq(…)`, `in_([…])`"),
            (
                "`state`, `points`: no server takes `regex` of `state`",
                "`gte(\"AB\")` and `lt(\"AC\")`",
            ),
            (
                "`points`, `state`: no server takes `exists(false)` of `state`",
                "`eq(None)` of an `Option`",
            ),
            ("`state`: no server takes `size` of `tags`", "a field of its own"),
        ];
        assert_eq!(problems.len(), said.len(), "{problems:?}");
        for (problem, (what, instead)) in problems.iter().zip(said) {
            assert!(
                problem.starts_with(&format!("the index of `Wrong` on {what}")),
                "{problem}"
            );
            assert!(problem.contains(instead), "{problem}");
        }
        assert_eq!(t.commands.take(), [""; 0]);
    });
}

//! Errors of operations that the closure of a transaction ignores.
//!
//! An error that is found before the operation writes anything leaves the transaction usable: it commits, with what else it has
//! written. After an error behind a write, a part of the operation may be in the transaction: it must not commit, and says why.

use futures::TryStreamExt;
use futures::future::BoxFuture;
use odm::__private::SwitchBulk as _;
use odm::bson::{Document as Doc, doc};
use odm::hooks::InTransaction;
use odm::mongodb::Client;
use odm::prelude::*;
use odm::{Error, Result, Tx};
use odm_tests::fixtures::edges::options;
use odm_tests::fixtures::links::{self, Member, Person, Task, Team, member, person, task, team};
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, assert_clean, with_transactions};
use std::sync::Mutex;
use std::time::Duration;

/// The parent of everything below.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "chests")]
pub struct Chest {
    pub id: i32,
    #[computed(sum = Thing.n)]
    pub things: i32,
    #[computed(sum = Paper.n)]
    pub papers: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "labels")]
pub struct Label {
    pub id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", version)]
pub struct Thing {
    pub id: i32,
    pub n: i32,
    #[field(max_len = 5)]
    pub name: String,
    #[embed(max = 1)]
    pub marks: Vec<String>,
    #[reference]
    pub label: Option<Ref<Label>>,
    #[parent_ref(on_delete = cascade)]
    pub chest: Ref<Chest>,
    pub version: i64,
}

/// A thing with one of these can't be deleted.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "seals")]
pub struct Seal {
    pub id: i32,
    #[reference(on_delete = restrict)]
    pub thing: Option<Ref<Thing>>,
    #[reference(on_delete = restrict)]
    pub paper: Option<Ref<Paper>>,
}

/// A deletion keeps it.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "papers", soft_delete)]
pub struct Paper {
    pub id: i32,
    pub n: i32,
    #[reference(on_delete = cascade)]
    pub cover: Option<Ref<Cover>>,
    #[parent_ref]
    pub chest: Ref<Chest>,
    pub deleted_at: Option<DateTime>,
}

/// Its papers are deleted with it.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "covers", soft_delete)]
pub struct Cover {
    pub id: i32,
    pub deleted_at: Option<DateTime>,
}

/// A hook refuses writes of some.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "entries", version, before_write = check)]
pub struct Entry {
    pub id: i32,
    pub n: i32,
    #[embed(max = 1)]
    pub marks: Vec<String>,
    #[reference]
    pub label: Option<Ref<Label>>,
    pub version: i64,
}

const REFUSED: i32 = 13;

async fn check(write: InTransaction<Entry>) -> Result<()> {
    let is = |entry: &Option<Entry>| entry.as_ref().is_some_and(|entry| entry.n == REFUSED);
    if is(&write.before) || is(&write.after) {
        return Err(Error::application("not today"));
    }
    Ok(())
}

fn models() -> Vec<odm::Model> {
    let own = models![Chest, Label, Thing, Seal, Paper, Cover, Entry];
    own.into_iter()
        .chain(models![Team, Member, Person, Task])
        .collect()
}

fn label(id: i32) -> NewLabel {
    NewLabel { id }
}

/// In the first chest, where there is room.
fn thing(id: i32) -> NewThing {
    NewThing {
        id,
        n: 0,
        name: String::new(),
        marks: vec![],
        label: None,
        chest: Ref::new(1),
    }
}

/// In the full chest.
fn heavy(id: i32) -> NewThing {
    NewThing {
        n: 1,
        chest: Ref::new(2),
        ..thing(id)
    }
}

fn unlabelled(id: i32) -> NewThing {
    NewThing {
        label: Some(Ref::new(99)),
        ..thing(id)
    }
}

fn paper(id: i32, n: i32, cover: Option<i32>) -> NewPaper {
    NewPaper {
        id,
        n,
        cover: cover.map(Ref::new),
        chest: Ref::new(3),
    }
}

fn entry(id: i32, n: i32) -> NewEntry {
    NewEntry {
        id,
        n,
        marks: vec![],
        label: None,
    }
}

/// Chest 2 and chest 3 hold the greatest sum that there is. Thing 1 and paper 1 are sealed, thing 4 is in the full chest and takes
/// from its sum, as papers 4 and 5 do; papers 6 and 7 are deleted, the last with its cover. Team `full` has no room.
async fn fill(odm: &Odm) -> Result<()> {
    odm.collection::<Chest>()
        .insert_many((1..=3).map(|id| NewChest { id }))
        .await?;
    odm.collection::<Label>().insert(label(1)).await?;
    let marked = |id| NewThing {
        marks: vec!["one".to_owned()],
        ..thing(id)
    };
    let n = |id, n| NewThing { n, ..heavy(id) };
    let things = [marked(1), marked(2), n(3, i32::MAX), n(4, -5), n(5, 5)];
    odm.collection::<Thing>().insert_many(things).await?;
    let covers = odm.collection::<Cover>();
    covers.insert_many((1..=4).map(|id| NewCover { id })).await?;
    let papers = odm.collection::<Paper>();
    papers
        .insert_many([paper(6, 5, Some(2)), paper(7, 5, Some(3))])
        .await?;
    papers.delete(6).await?;
    covers.delete(2).await?;
    covers.delete(3).await?;
    let given = [
        paper(1, 0, None),
        paper(2, 0, Some(4)),
        paper(3, i32::MAX, None),
        paper(4, -5, None),
        paper(5, -5, Some(1)),
        paper(8, 10, None),
    ];
    papers.insert_many(given).await?;
    let seal = |id| NewSeal {
        id,
        thing: (id == 1).then(|| Ref::new(1)),
        paper: (id > 1).then(|| Ref::new(id - 1)),
    };
    odm.collection::<Seal>().insert_many((1..=3).map(seal)).await?;
    let entries = [entry(1, 1), entry(2, 2)];
    odm.collection::<Entry>().insert_many(entries).await?;
    let teams = [team("full", &[]), team("free", &[])];
    odm.collection::<Team>().insert_many(teams).await?;
    let members = odm.collection::<Member>();
    members
        .insert_many((1..=3).map(|id| member(id, Some("full"))))
        .await?;
    members.insert_many((4..=7).map(|id| member(id, None))).await?;
    odm.collection::<Person>().insert(person(1)).await?;
    odm.collection::<Task>()
        .insert_many([task(1, 1), task(2, 1)])
        .await?;
    Ok(())
}

/// An operation that is refused.
struct Row {
    what: &'static str,
    run: fn(Tx) -> BoxFuture<'static, Result<()>>,
    is_refusal: fn(&Error) -> bool,
}

/// A condition that the server can't evaluate.
fn impossible<T: Document>() -> Filter<T> {
    Filter::raw(doc! { "$expr": { "$divide": [1, 0] } })
}

/// Of a bulk or of an insert of several: of one write of it.
fn of_one(error: &Error) -> &Error {
    match error {
        Error::Bulk { errors, .. } | Error::InsertMany { errors, .. } if errors.len() == 1 => &errors[0].1,
        error => error,
    }
}

macro_rules! is_one {
    ($error:ident, ($($refusal:tt)*)) => {
        matches!(of_one($error), $($refusal)*)
    };
}

macro_rules! rows {
    ($($refusal:tt => { $($what:literal |$tx:ident| $run:expr;)* })*) => {
        vec![$($(Row {
            what: concat!(stringify!($refusal), ": ", $what),
            run: |$tx| Box::pin(async move { $run.await.map(drop) }),
            is_refusal: |error| is_one!(error, $refusal),
        }),*),*]
    };
}

fn before_the_write() -> Vec<Row> {
    rows! {
        (Error::NotFound { .. }) => {
            "update" |tx| tx.collection::<Thing>().update(99).set(|t| t.name, "x");
            "update with hooks" |tx| tx.collection::<Entry>().update(99).set(|e| e.n, 3);
            "replace" |tx| tx.collection::<Thing>().replace(whole(99, 1));
            "replace with hooks" |tx| tx.collection::<Entry>().replace(Entry { id: 99, n: 1, marks: vec![], label: None, version: 1 });
        }
        (Error::Conflict { .. }) => {
            "update" |tx| tx.collection::<Thing>().update(&whole(1, 7)).set(|t| t.name, "x");
            "update with hooks" |tx| tx.collection::<Entry>().update(1).if_version(7).set(|e| e.n, 3);
            "replace" |tx| tx.collection::<Thing>().replace(whole(1, 7));
            "save" |tx| tx.collection::<Thing>().save(whole(1, 7));
            "delete" |tx| tx.collection::<Thing>().delete(&whole(2, 7));
            "delete with hooks" |tx| tx.collection::<Entry>().delete(1).if_version(7);
        }
        (Error::ArrayFull { .. }) => {
            "update" |tx| tx.collection::<Thing>().update(1).push(|t| t.marks, "x");
            "update returning" |tx| tx.collection::<Thing>().update(1).push(|t| t.marks, "x").returning();
            "update_first" |tx| tx.collection::<Thing>().update_first(|t| t.id.eq(1)).push(|t| t.marks, "x");
        }
        (Error::Invalid { .. }) => {
            "insert" |tx| tx.collection::<Thing>().insert(NewThing { name: "too long".into(), ..thing(50) });
            "insert_many" |tx| tx.collection::<Thing>().insert_many([NewThing { name: "too long".into(), ..thing(50) }, thing(51)]);
            "update" |tx| tx.collection::<Thing>().update(1).set(|t| t.name, "too long");
            "update_where" |tx| tx.collection::<Thing>().update_where(|t| t.id.lt(3)).set(|t| t.name, "too long");
            "replace" |tx| tx.collection::<Thing>().replace(Thing { name: "too long".into(), ..whole(1, 1) });
            "bulk" |tx| tx.bulk().add(tx.collection().insert(thing(50))).add(tx.collection().insert(NewThing { name: "too long".into(), ..thing(51) }));
        }
        (Error::MissingReference { .. }) => {
            "insert" |tx| tx.collection::<Thing>().insert(unlabelled(50));
            "insert with hooks" |tx| tx.collection::<Entry>().insert(NewEntry { label: Some(Ref::new(99)), ..entry(50, 1) });
            "insert_many" |tx| tx.collection::<Thing>().insert_many([thing(50), unlabelled(51)]);
            "insert_many unordered" |tx| tx.collection::<Thing>().insert_many([thing(50), unlabelled(51)]).unordered();
            "update" |tx| tx.collection::<Thing>().update(1).set(|t| t.label, Ref::new(99));
            "update returning" |tx| tx.collection::<Thing>().update(1).set(|t| t.label, Ref::new(99)).returning();
            "update_where" |tx| tx.collection::<Thing>().update_where(|t| t.id.lt(3)).set(|t| t.label, Ref::new(99));
            "update_first" |tx| tx.collection::<Thing>().update_first(|t| t.id.lt(3)).set(|t| t.label, Ref::new(99));
            "replace" |tx| tx.collection::<Thing>().replace(Thing { label: Some(Ref::new(99)), ..whole(1, 1) });
            "save" |tx| tx.collection::<Thing>().save(Thing { label: Some(Ref::new(99)), ..whole(1, 1) });
            "save of a new document" |tx| tx.collection::<Thing>().save(Thing { label: Some(Ref::new(99)), ..whole(50, 0) });
            "upsert_with" |tx| tx.collection::<Thing>().update(50).set(|t| t.n, 0).upsert_with(unlabelled(50));
            "bulk" |tx| tx.bulk().add(tx.collection().insert(thing(50))).add(tx.collection().insert(unlabelled(51)));
            "bulk unordered" |tx| tx.bulk().unordered().add(tx.collection().insert(unlabelled(50))).add(tx.collection::<Thing>().update(1).set(|t| t.name, "x"));
            "restore below what is deleted" |tx| tx.collection::<Paper>().restore(6);
            "insert of a paper" |tx| tx.collection::<Paper>().insert(paper(50, 0, Some(2)));
        }
        (Error::StillReferenced { .. }) => {
            "delete" |tx| tx.collection::<Thing>().delete(1);
            "delete_where" |tx| tx.collection::<Thing>().delete_where(|t| t.id.lt(3));
            "delete_first" |tx| tx.collection::<Thing>().delete_first(|t| t.id.lt(3)).sort(|t| t.id.asc());
            "delete with a cascade" |tx| tx.collection::<Chest>().delete(1);
            "bulk" |tx| tx.bulk().add(tx.collection::<Thing>().delete(1)).add(tx.collection::<Thing>().delete(2));
            "delete and keep" |tx| tx.collection::<Paper>().delete(1);
            "delete_where and keep" |tx| tx.collection::<Paper>().delete_where(|p| p.id.lt(3));
            "delete_first and keep" |tx| tx.collection::<Paper>().delete_first(|p| p.id.lt(3)).sort(|p| p.id.asc());
            "delete and keep, with a cascade" |tx| tx.collection::<Cover>().delete(4);
            "delete_where and keep, with a cascade" |tx| tx.collection::<Cover>().delete_where(|c| c.id.gt(0));
            "bulk, and keep" |tx| tx.bulk().add(tx.collection::<Paper>().delete(1)).add(tx.collection::<Paper>().delete(8));
            "restrict of the parent" |tx| tx.collection::<Chest>().delete(3);
        }
    }
}

/// A thing as it is stored, but for its version.
fn whole(id: i32, version: i64) -> Thing {
    Thing {
        id,
        n: 0,
        name: String::new(),
        marks: vec![],
        label: None,
        chest: Ref::new(1),
        version,
    }
}

fn in_full_team(id: i64) -> Member {
    Member {
        id,
        note: String::new(),
        team: Some(Ref::new("full".to_owned())),
    }
}

fn full() -> Ref<Team> {
    Ref::new("full".to_owned())
}

fn heaviest(id: i32, version: i64) -> Thing {
    Thing {
        n: 1,
        chest: Ref::new(2),
        ..whole(id, version)
    }
}

fn behind_the_write() -> Vec<Row> {
    rows! {
        // The array on the other side has no room.
        (Error::ArrayFull { collection: "teams", .. }) => {
            "insert" |tx| tx.collection::<Member>().insert(member(50, Some("full")));
            "insert_many" |tx| tx.collection::<Member>().insert_many([member(50, None), member(51, Some("full"))]);
            "insert_many unordered" |tx| tx.collection::<Member>().insert_many([member(50, Some("full")), member(51, None)]).unordered();
            "update" |tx| tx.collection::<Member>().update(4).set(|m| m.team, full());
            "update returning" |tx| tx.collection::<Member>().update(4).set(|m| m.team, full()).returning();
            "update_where" |tx| tx.collection::<Member>().update_where(|m| m.id.gt(3)).set(|m| m.team, full());
            "update_first" |tx| tx.collection::<Member>().update_first(|m| m.id.gt(3)).set(|m| m.team, full());
            "replace" |tx| tx.collection::<Member>().replace(in_full_team(4));
            "save" |tx| tx.collection::<Member>().save(in_full_team(4));
            "save of a new document" |tx| tx.collection::<Member>().save(in_full_team(50));
            "upsert" |tx| tx.collection::<Member>().update(50).set(|m| m.note, "").set(|m| m.team, full()).upsert();
            "upsert_with" |tx| tx.collection::<Member>().update(50).set(|m| m.note, "").upsert_with(member(50, Some("full")));
            "bulk" |tx| tx.bulk().add(tx.collection().insert(member(50, None))).add(tx.collection::<Member>().update(4).set(|m| m.team, full()));
            "bulk unordered" |tx| tx.bulk().unordered().add(tx.collection().insert(member(50, Some("full")))).add(tx.collection().insert(member(51, None)));
        }
        (Error::MissingReference { .. }) => {
            "insert with a link" |tx| tx.collection::<Member>().insert(member(50, Some("none")));
            "update of a link" |tx| tx.collection::<Team>().update("free".to_owned()).push(|t| t.members, Ref::new(99));
            "insert of a child" |tx| tx.collection::<Thing>().insert(NewThing { chest: Ref::new(99), ..thing(50) });
            "insert_many of children" |tx| tx.collection::<Thing>().insert_many([thing(50), NewThing { chest: Ref::new(99), ..thing(51) }]);
            "update of a child" |tx| tx.collection::<Thing>().update(1).set(|t| t.chest, Ref::new(99));
            "update_where of children" |tx| tx.collection::<Thing>().update_where(|t| t.id.lt(3)).set(|t| t.chest, Ref::new(99));
            "replace of a child" |tx| tx.collection::<Thing>().replace(Thing { chest: Ref::new(99), ..whole(1, 1) });
            "save of a child" |tx| tx.collection::<Thing>().save(Thing { chest: Ref::new(99), ..whole(50, 0) });
            "upsert_with of a child" |tx| tx.collection::<Thing>().update(50).set(|t| t.n, 0)
                .upsert_with(NewThing { chest: Ref::new(99), ..thing(50) });
            "bulk of children" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection().insert(NewThing { chest: Ref::new(99), ..thing(50) }));
        }
        // A task would have no owner.
        (Error::Query { .. }) => {
            "update of an array" |tx| tx.collection::<Person>().update(1).pull(|p| p.tasks, Ref::new(1));
            "update_where of an array" |tx| tx.collection::<Person>().update_where(|p| p.id.eq(1)).set(|p| p.tasks, vec![Ref::new(2)]);
        }
        (Error::Invalid { .. }) => {
            "update that links twice" |tx| tx.collection::<Team>().update("free".to_owned())
                .set(|t| t.members, vec![Ref::new(4), Ref::new(4)]);
        }
        // The document that the hook would be called with.
        (Error::Decode { collection, .. } if collection == "entries") => {
            "update with hooks" |tx| tx.collection::<Entry>().update(9).set(|e| e.n, 2);
            "update_where with hooks" |tx| tx.collection::<Entry>().update_where(|e| e.id.gt(2)).set(|e| e.n, 2);
            "delete with hooks" |tx| tx.collection::<Entry>().delete(9);
            "bulk with hooks" |tx| tx.bulk().add(tx.collection().insert(entry(50, 1))).add(tx.collection::<Entry>().update(9).set(|e| e.n, 2));
        }
        (Error::Hook { .. }) => {
            "insert" |tx| tx.collection::<Entry>().insert(entry(50, REFUSED));
            "insert_many" |tx| tx.collection::<Entry>().insert_many([entry(50, 1), entry(51, REFUSED)]);
            "update" |tx| tx.collection::<Entry>().update(1).set(|e| e.n, REFUSED);
            "update_where" |tx| tx.collection::<Entry>().update_where(|e| e.id.gt(0)).set(|e| e.n, REFUSED);
            "bulk" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection().insert(entry(50, REFUSED)));
        }
    }
}

/// The sum of a chest becomes too great: of which error that is, the server decides.
fn too_great() -> Vec<Row> {
    rows! {
        (error if error.to_string().contains("chests")) => {
            "insert" |tx| tx.collection::<Thing>().insert(heavy(50));
            "insert_many" |tx| tx.collection::<Thing>().insert_many([thing(50), heavy(51)]);
            "insert_many unordered" |tx| tx.collection::<Thing>().insert_many([heavy(50), thing(51)]).unordered();
            "update" |tx| tx.collection::<Thing>().update(1).set(|t| t.chest, Ref::new(2)).set(|t| t.n, 1);
            "update that moves" |tx| tx.collection::<Thing>().update(4).set(|t| t.chest, Ref::new(1));
            "update_where" |tx| tx.collection::<Thing>().update_where(|t| t.id.eq(4)).set(|t| t.n, 0);
            "update_first" |tx| tx.collection::<Thing>().update_first(|t| t.id.eq(4)).set(|t| t.n, 0);
            "replace" |tx| tx.collection::<Thing>().replace(heaviest(1, 1));
            "save" |tx| tx.collection::<Thing>().save(heaviest(1, 1));
            "save of a new document" |tx| tx.collection::<Thing>().save(heaviest(50, 0));
            "upsert_with" |tx| tx.collection::<Thing>().update(50).set(|t| t.n, 1).upsert_with(heavy(50));
            "delete" |tx| tx.collection::<Thing>().delete(4);
            "delete_where" |tx| tx.collection::<Thing>().delete_where(|t| t.n.lt(0));
            "delete_first" |tx| tx.collection::<Thing>().delete_first(|t| t.n.lt(0));
            "bulk" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection().insert(heavy(50)));
            "bulk unordered" |tx| tx.bulk().unordered().add(tx.collection().insert(heavy(50))).add(tx.collection().insert(thing(51)));
            "bulk of a deletion" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection::<Thing>().delete(4));
            "delete and keep" |tx| tx.collection::<Paper>().delete(4);
            "delete_where and keep" |tx| tx.collection::<Paper>().delete_where(|p| p.n.eq(-5));
            "delete and keep, with a cascade" |tx| tx.collection::<Cover>().delete(1);
            "bulk of a deletion that keeps" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection::<Paper>().delete(4));
            "restore" |tx| tx.collection::<Cover>().restore(3);
        }
    }
}

/// What ends the transaction on the server.
fn refused_by_the_server() -> Vec<Row> {
    rows! {
        (Error::DuplicateKey { .. }) => {
            "insert" |tx| tx.collection::<Thing>().insert(thing(1));
            "insert_many" |tx| tx.collection::<Thing>().insert_many([thing(50), thing(1)]);
            "insert with hooks" |tx| tx.collection::<Entry>().insert(entry(1, 1));
            "bulk" |tx| tx.bulk().add(tx.collection().insert(label(50))).add(tx.collection().insert(thing(1)));
            "bulk unordered" |tx| tx.bulk().unordered().add(tx.collection().insert(label(1))).add(tx.collection().insert(thing(50)));
        }
        // The server refuses to insert a second document with the id.
        (Error::ArrayFull { .. }) => {
            "upsert" |tx| tx.collection::<Thing>().update(1).push(|t| t.marks, "x").set_on_insert(|t| t.n, 1)
                .set_on_insert(|t| t.chest, Ref::new(1)).set_on_insert(|t| t.name, "").upsert();
            "upsert_with" |tx| tx.collection::<Thing>().update(1).push(|t| t.marks, "x").upsert_with(thing(1));
        }
        (_) => {
            "find" |tx| tx.collection::<Thing>().find(|_| impossible()).all();
            "count" |tx| tx.collection::<Thing>().find(|_| impossible()).count();
            "update_where" |tx| tx.collection::<Thing>().update_where(|_| impossible()).set(|t| t.n, 1);
        }
    }
}

/// The documents of [`fill`], and entry 9, which can't be decoded.
async fn start(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models()).unwrap();
    odm.sync().await.unwrap();
    fill(&odm).await.unwrap();
    let without = doc! { "collMod": "entries", "validator": {} };
    t.db.run_command(without).await.unwrap();
    let unreadable = doc! { "_id": 9, "n": 1, "marks": 5, "version": 1_i64 };
    let entries = t.db.collection::<Doc>("entries");
    entries.insert_one(unreadable).await.unwrap();
    assert_clean(&odm).await;
    odm
}

async fn documents(t: &TestDb, collection: &str) -> Vec<Doc> {
    let all = t.db.collection::<Doc>(collection);
    let found = all.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

/// All documents but labels, as they are stored, and the labels.
async fn stored(t: &TestDb) -> (Vec<(String, Doc)>, Vec<i32>) {
    let mut names = t.db.list_collection_names().await.unwrap();
    names.retain(|name| !name.starts_with('_') && name != "labels");
    names.sort();
    let mut all = Vec::new();
    for name in names {
        let found = documents(t, &name).await;
        all.extend(found.into_iter().map(|document| (name.clone(), document)));
    }
    let labels = documents(t, "labels").await;
    let labels = labels.iter().map(|label| label.get_i32("_id").unwrap());
    (all, labels.collect())
}

/// Runs it between two other writes of a transaction that ignores its error: labels with these ids. Gives the error, and how the
/// transaction ended. It is not run again.
async fn passed_over(odm: &Odm, row: &Row, labels: [i32; 2]) -> (Option<Error>, Result<()>) {
    let errors = Mutex::new(Vec::new());
    let ended = odm.transaction(async |tx| {
        let [first, last] = labels.map(label);
        tx.collection::<Label>().insert(first).await?;
        let ended = (row.run)(tx.clone()).await;
        let runs = {
            let mut errors = errors.lock().unwrap();
            errors.push(ended.err());
            errors.len()
        };
        assert_eq!(runs, 1, "{}", row.what);
        // The server may have ended the transaction.
        let _ = tx.collection::<Label>().insert(last).await;
        Ok(())
    });
    let ended = ended.await;
    (errors.into_inner().unwrap().pop().flatten(), ended)
}

/// Why this row is wrong.
async fn fault(t: &TestDb, odm: &Odm, row: &Row, is_before: bool) -> Option<String> {
    let before = stored(t).await;
    let next = before.1.last().map_or(1_000, |last| last.max(&999) + 1);
    let labels = [next, next + 1];
    let (refusal, ended) = passed_over(odm, row, labels).await;
    let now = stored(t).await;
    let is_expected = refusal.as_ref().is_some_and(row.is_refusal);
    let expected = if is_before {
        before.1.iter().copied().chain(labels).collect()
    } else {
        before.1
    };
    let has_ended = match &ended {
        Ok(()) => is_before,
        Err(error @ Error::Application(_)) => {
            !is_before
                && error
                    .to_string()
                    .starts_with("an operation of the transaction failed")
        }
        Err(_) => false,
    };
    let is_right = is_expected && has_ended && now.0 == before.0 && now.1 == expected;
    (!is_right).then(|| {
        let changed: Vec<_> = now.0.iter().filter(|one| !before.0.contains(one)).collect();
        format!(
            "{}: {refusal:?}; the transaction: {ended:?}; changed: {changed:?}; labels: {:?}",
            row.what, now.1
        )
    })
}

async fn assert_all(t: &TestDb, odm: &Odm, rows: Vec<Row>, is_before: bool) {
    let mut faults = Vec::new();
    for row in &rows {
        faults.extend(fault(t, odm, row, is_before).await);
    }
    assert_clean(odm).await;
    assert!(
        faults.is_empty(),
        "{} of {} rows:\n{}",
        faults.len(),
        rows.len(),
        faults.join("\n")
    );
}

#[odm_tests::test]
fn an_error_that_is_found_before_the_write_leaves_the_transaction_usable() {
    with_transactions(async |t| {
        let odm = start(&t).await;
        assert_all(&t, &odm, before_the_write(), true).await;
    });
}

#[odm_tests::test]
fn an_error_behind_a_write_keeps_the_transaction_from_being_committed() {
    with_transactions(async |t| {
        let odm = start(&t).await;
        let mut rows = behind_the_write();
        rows.extend(too_great());
        rows.extend(refused_by_the_server());
        assert_all(&t, &odm, rows, false).await;
        links::agree(&odm).await;
    });
}

/// Writes with an effect on other documents, and one that reads the document which it has inserted, to check its references again.
fn with_effects() -> Vec<Row> {
    rows! {
        (Error::Unavailable { .. }) => {
            "insert with a link" |tx| tx.collection::<Member>().insert(member(50, Some("free")));
            "update_where that inserts with a link" |tx| tx.collection::<Member>()
                .update_where(|m| m.id.eq(50) & m.team.eq(Ref::new("free".to_owned()))).set(|m| m.note, "new").upsert();
            "update_where that inserts with a reference" |tx| tx.collection::<Seal>()
                .update_where(|s| s.id.eq(50) & s.thing.eq(Ref::new(2))).set(|s| s.paper, Ref::new(2)).upsert();
            "update of a child" |tx| tx.collection::<Thing>().update(1).inc(|t| t.n, 1).set(|t| t.label, Ref::new(1));
            "delete" |tx| tx.collection::<Thing>().delete(2);
        }
    }
}

/// The same documents in a database of their own, by way of a proxy.
async fn through(t: &TestDb) -> (Proxy, Odm) {
    let proxy = Proxy::start(&server().await, 0).await;
    let mut options = options(&proxy).await;
    // The driver asks for a lost server twice a second at most.
    options.server_selection_timeout = Some(Duration::from_secs(20));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    let odm = Odm::new(db, models()).unwrap();
    odm.server().await.unwrap();
    odm.check_models().await.unwrap();
    proxy.arm();
    (proxy, odm)
}

/// Makes all documents what they were, with one label.
async fn restore(t: &TestDb, stored: &[(String, Doc)]) {
    let names = t.db.list_collection_names().await.unwrap();
    for name in names.iter().filter(|name| !name.starts_with('_')) {
        let collection = t.db.collection::<Doc>(name);
        let others = match name.as_str() {
            "labels" => doc! { "_id": { "$gt": 1 } },
            _ => doc! {},
        };
        collection.delete_many(others).await.unwrap();
        let of = stored.iter().filter(|(of, _)| of == name);
        let documents: Vec<&Doc> = of.map(|(_, document)| document).collect();
        if !documents.is_empty() {
            collection.insert_many(documents).await.unwrap();
        }
    }
}

#[odm_tests::test]
fn a_lost_command_or_reply_keeps_the_transaction_from_being_committed() {
    with_transactions(async |t| {
        start(&t).await;
        let (proxy, odm) = through(&t).await;
        let before = stored(&t).await.0;
        for row in with_effects() {
            restore(&t, &before).await;
            proxy.take_names();
            odm.transaction(async |tx| (row.run)(tx).await).await.unwrap();
            let sent = proxy.take_names();
            let commands = sent.iter().position(|name| name == "commitTransaction");
            let after = stored(&t).await.0;
            for at in 1..=commands.unwrap() {
                for fate in [Fate::Lost, Fate::Unanswered] {
                    restore(&t, &before).await;
                    proxy.at(at, fate.clone());
                    let errors = Mutex::new(Vec::new());
                    let ended = odm.transaction(async |tx| {
                        let ended = (row.run)(tx.clone()).await;
                        errors.lock().unwrap().push(ended.err());
                        let _ = tx.collection::<Label>().insert(label(2)).await;
                        Ok(())
                    });
                    let ended = ended.await;
                    assert!(proxy.is_done());
                    let errors = errors.into_inner().unwrap();
                    let told = format!("{}, command {at}, {fate:?}: {errors:?}; {ended:?}", row.what);
                    assert!(errors[0].as_ref().is_some_and(row.is_refusal), "{told}");
                    // It is run again, and commits what was done without an error.
                    assert!(
                        ended.is_ok() && errors.len() == 2 && errors[1].is_none(),
                        "{told}"
                    );
                    let now = stored(&t).await;
                    assert_eq!(now, (after.clone(), vec![1, 2]), "{told}");
                }
            }
        }
        assert_clean(&odm).await;
        proxy.bury().await;
    });
}

/// Also where an error of the same bulk asks for no other run.
#[odm_tests::test]
fn a_conflict_behind_a_refusal_in_a_bulk_runs_the_transaction_again() {
    with_transactions(async |t| {
        start(&t).await;
        let (proxy, odm) = through(&t).await;
        let conflict = doc! {
            "ok": 0.0, "code": 112, "codeName": "WriteConflict", "errmsg": "WriteConflict",
            "errorLabels": ["TransientTransactionError"],
        };
        proxy.next("delete", 1, Fate::Answered(conflict));
        let runs = Mutex::new(0);
        let ended = odm.transaction(async |tx| {
            *runs.lock().unwrap() += 1;
            // The stand-in does not take `bulkWrite` as the first command of a transaction.
            let bulk = tx.bulk().unordered().without_bulk_write_command();
            let bulk = bulk
                .add(tx.collection().insert(NewThing { n: 1, ..thing(50) }))
                .add(tx.collection::<Thing>().delete(1))
                .add(tx.collection::<Label>().delete(1));
            bulk.await.map(|_| ())
        });
        let ended = ended.await;
        assert!(proxy.is_done(), "{:?} {ended:?}", proxy.take_names());
        assert_eq!(*runs.lock().unwrap(), 2, "{ended:?}");
        let Err(Error::Bulk { errors, .. }) = &ended else {
            panic!("{ended:?}")
        };
        assert!(
            matches!(&errors[..], [(1, Error::StillReferenced { .. })]),
            "{ended:?}"
        );
        proxy.bury().await;
    });
}

/// The writes that the ignored error says to be done are committed, with all of their effects.
#[odm_tests::test]
fn what_is_done_before_the_refusal_of_another_write_is_committed_as_the_error_says() {
    with_transactions(async |t| {
        let odm = start(&t).await;
        let before = stored(&t).await.0;
        let rows = rows! {
            (Error::Invalid { .. }) => {
                "insert_many unordered" |tx| tx.collection::<Thing>()
                    .insert_many([NewThing { name: "too long".into(), n: 1, ..thing(50) }, NewThing { n: 1, ..thing(51) }]).unordered();
            }
            (Error::StillReferenced { .. }) => {
                "bulk" |tx| tx.bulk().add(tx.collection().insert(NewThing { n: 1, ..thing(50) })).add(tx.collection::<Thing>().delete(1));
                "bulk unordered" |tx| tx.bulk().unordered().add(tx.collection::<Thing>().delete(1)).add(tx.collection().insert(NewThing { n: 1, ..thing(50) }));
                "bulk of deletions" |tx| tx.bulk().add(tx.collection::<Thing>().delete(5)).add(tx.collection::<Paper>().delete(1));
                "bulk of deletions that keep" |tx| tx.bulk().add(tx.collection::<Cover>().delete(2)).add(tx.collection::<Paper>().delete(8)).add(tx.collection::<Paper>().delete(1));
            }
            (Error::MissingReference { .. }) => {
                "bulk with a deletion before" |tx| tx.bulk().add(tx.collection::<Thing>().delete(5)).add(tx.collection().insert(unlabelled(50)));
                "bulk with a deletion before, of documents with hooks" |tx| tx.bulk().add(tx.collection::<Thing>().delete(5))
                    .add(tx.collection().insert(NewEntry { label: Some(Ref::new(99)), ..entry(50, 1) }));
                "bulk with a deletion that keeps before" |tx| tx.bulk().add(tx.collection::<Paper>().delete(8)).add(tx.collection().insert(unlabelled(50)));
            }
        };
        let count = async || {
            let of = odm.collection::<Thing>().find_all().count().await.unwrap();
            of + odm.collection::<Paper>().find_all().count().await.unwrap()
        };
        for row in &rows {
            restore(&t, &before).await;
            let documents = count().await;
            let (refusal, ended) = passed_over(&odm, row, [2, 3]).await;
            let told = format!("{}: {refusal:?}; the transaction: {ended:?}", row.what);
            let refusal = refusal.unwrap_or_else(|| panic!("{told}"));
            assert!((row.is_refusal)(&refusal), "{told}");
            let (inserted, deleted) = match &refusal {
                Error::Bulk { done, .. } => (done.inserted, done.deleted),
                Error::InsertMany { inserted, .. } => (*inserted as u64, 0),
                _ => panic!("{told}"),
            };
            assert!(inserted + deleted > 0 && ended.is_ok(), "{told}");
            assert_eq!(count().await, documents + inserted - deleted, "{told}");
            assert_eq!(stored(&t).await.1, [1, 2, 3], "{told}");
            assert_clean(&odm).await;
        }
    });
}

/// Items of a chest, in buckets of an hour. A bucket stays without its chest.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Chest, per = hour, time = at, size = 2, sum(n), on_delete = keep)]
pub struct Reading {
    pub n: i32,
    pub at: DateTime,
}

/// In the n-th hour.
fn reading(n: i32) -> Reading {
    Reading {
        n,
        at: DateTime::from_millis(i64::from(n) * 3_600_000),
    }
}

/// A push and an edit are several writes, of which the later are refused.
#[odm_tests::test]
fn an_error_behind_a_part_of_the_buckets_keeps_the_transaction_from_being_committed() {
    with_transactions(async |t| {
        let models = models![Chest, Thing, Label, Paper, Cover, ReadingBucket];
        let odm = Odm::new(t.db.clone(), models).unwrap();
        odm.sync().await.unwrap();
        let chests = [1, 2].map(|id| NewChest { id });
        odm.collection::<Chest>().insert_many(chests).await.unwrap();
        let buckets = odm.buckets::<Reading>();
        for chest in [1, 2] {
            buckets.push_many(chest, [1, 2].map(reading)).await.unwrap();
        }
        odm.collection::<Chest>().delete(2).await.unwrap();
        let rows = rows! {
            (Error::MissingReference { .. }) => {
                "push_many onto a row" |tx| tx.buckets::<Reading>().push_many(2, [1, 1, 1].map(reading));
                "push_many onto several rows" |tx| tx.buckets::<Reading>().push_many(2, [1, 3].map(reading));
            }
            (Error::Query { .. }) => {
                "edit" |tx| tx.buckets::<Reading>().edit(1, |r| r.n.gt(0), |r| r.set(|r| r.at, reading(1).at));
            }
        };
        let before = stored(&t).await.0;
        for row in &rows {
            let (refusal, ended) = passed_over(&odm, row, [2, 3]).await;
            let told = format!("{}: {refusal:?}; the transaction: {ended:?}", row.what);
            assert!(refusal.as_ref().is_some_and(row.is_refusal), "{told}");
            assert!(matches!(ended, Err(Error::Application(_))), "{told}");
            assert_eq!(stored(&t).await, (before.clone(), vec![]), "{told}");
        }
    });
}

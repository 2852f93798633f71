use crate::graph::known::Others;
use crate::graph::testing::*;
use crate::model::copy::{Computed, Consistency, Copied, FieldCopy, Operation};
use crate::model::reference::{ParentField, ReferenceMeta};
use crate::model::shape::{FieldMeta, Shape, StructShape};
use crate::plan::modes::*;
use crate::plan::operation::{
    Batching, DeleteWrite, DocumentById, ReplaceWrite, Reply, UpdateManyWrite, UpdateWrite,
};
use crate::plan::operators::Built;
use mongodb::bson::{Document, doc};

// A maker, and items that hold its name; items count for their shelf; notes refer to makers.
document!(MAKER, "Maker", "makers", [field("name", int), field("town", int)]);
document!(
    SHELF,
    "Shelf",
    "shelves",
    [FieldMeta {
        copied: Some(
            const {
                &Copied::Computed(Computed {
                    child: || &ITEM,
                    parent: || ParentField::of(&ON_SHELF),
                    operation: Operation::Count,
                    of: None,
                    filter: None,
                    consistency: Consistency::Auto,
                })
            }
        ),
        ..field("items", int)
    }]
);
static ON_SHELF: FieldMeta = one("shelf", &OPTIONAL_SHELF);
const OPTIONAL_SHELF: ReferenceMeta = ReferenceMeta {
    optional: true,
    ..to(const { &[target(|| &SHELF)] })
};
document!(
    ITEM,
    "Item",
    "items",
    [
        one("maker", &OPTIONAL_MAKER),
        copy("maker_name", "name", Consistency::Auto),
        one("shelf", &OPTIONAL_SHELF),
        field("price", int),
    ]
);
const OPTIONAL_MAKER: ReferenceMeta = ReferenceMeta {
    optional: true,
    ..to(const { &[target(|| &MAKER)] })
};
document!(
    LABEL,
    "Label",
    "labels",
    [
        one("maker", &OPTIONAL_MAKER),
        copy("maker_town", "town", Consistency::Eventual),
    ]
);
document!(
    NOTE,
    "Note",
    "notes",
    [one("maker", &OPTIONAL_MAKER), field("text", int)]
);
// A brand, whose name is copied at once or not at all.
document!(BRAND, "Brand", "brands", [field("name", int)]);
document!(
    SEAL,
    "Seal",
    "seals",
    [
        one("maker", const { &to(const { &[target(|| &BRAND)] }) }),
        copy("maker_name", "name", Consistency::Atomic),
    ]
);

const fn copy(name: &'static str, source: &'static str, consistency: Consistency) -> FieldMeta {
    let copied: &'static Copied = match (source.as_bytes(), consistency) {
        (b"name", Consistency::Auto) => &Copied::Field(NAME),
        (b"name", _) => &Copied::Field(FieldCopy {
            consistency: Consistency::Atomic,
            ..NAME
        }),
        _ => &Copied::Field(FieldCopy {
            source: || "town",
            consistency: Consistency::Eventual,
            ..NAME
        }),
    };
    FieldMeta {
        copied: Some(copied),
        ..field(name, int)
    }
}

const NAME: FieldCopy = FieldCopy {
    through: "maker",
    source: || "name",
    field: || None,
    consistency: Consistency::Auto,
};

fn models() -> Graph {
    graph(&[
        &MAKER, &SHELF, &ITEM, &LABEL, &NOTE, &BRAND, &SEAL, &PERSON, &TASK, &NODE, &ORDER,
    ])
    .expect("sound models")
}

fn write(graph: &Graph, meta: &'static DocumentMeta, what: WriteKind) -> Write {
    let mut write = Write { at: 0, meta, what };
    write.read_operators(graph).expect("values that can be stored");
    write
}

fn raw(document: Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(&document).expect("a document")
}

fn built(update: Document) -> Built {
    Built {
        update,
        ..Built::nothing()
    }
}

fn insert(graph: &Graph, meta: &'static DocumentMeta, document: Document) -> Write {
    write(graph, meta, WriteKind::Insert(raw(document)))
}

fn update(graph: &Graph, meta: &'static DocumentMeta, change: Document) -> Write {
    let mut update = UpdateWrite::matching(doc! { "_id": 1 }, built(change), Reply::Counts);
    (update.one, update.also) = (Some(DocumentById::new(1.into(), None)), None);
    write(graph, meta, WriteKind::Update(Box::new(update)))
}

fn upsert(graph: &Graph, meta: &'static DocumentMeta, change: Document) -> Write {
    let mut update = UpdateWrite::matching(doc! { "_id": 1 }, built(change), Reply::Counts);
    (update.one, update.also, update.upsert) = (Some(DocumentById::new(1.into(), None)), None, true);
    write(graph, meta, WriteKind::Update(Box::new(update)))
}

fn update_where(graph: &Graph, meta: &'static DocumentMeta, change: Document) -> Write {
    let update = UpdateManyWrite::by_library(meta, doc! { "a": 1 }, change).expect("a condition");
    write(graph, meta, WriteKind::UpdateMany(Box::new(update)))
}

fn replace(graph: &Graph, meta: &'static DocumentMeta, document: Document) -> Write {
    let replace = ReplaceWrite::new(DocumentById::new(1.into(), None), raw(document), false);
    write(graph, meta, WriteKind::Replace(Box::new(replace)))
}

fn delete(graph: &Graph, meta: &'static DocumentMeta) -> Write {
    let delete = DeleteWrite::one(meta, DocumentById::new(1.into(), None));
    write(graph, meta, WriteKind::Delete(Box::new(delete)))
}

/// How writes run: out of a transaction, in the caller's, and on a standalone server.
fn ways(graph: &Graph, writes: &[Write]) -> [Mode; 3] {
    ways_by(graph, Batching::Single, writes)
}

fn ways_by(graph: &Graph, batching: Batching, writes: &[Write]) -> [Mode; 3] {
    let Some(plan) = WritePlan::for_related(graph, batching, writes).expect("registered models") else {
        return [Mode::Plain; 3];
    };
    let mode = |joined, has_transactions| match plan.modes(joined) {
        Modes::One(mode) => mode,
        Modes::ByDeployment {
            with_transactions, ..
        } if has_transactions => with_transactions,
        Modes::ByDeployment { standalone, .. } => standalone,
    };
    [mode(false, true), mode(true, true), mode(false, false)]
}

const PLAIN: [Mode; 3] = [Mode::Plain; 3];
const CHECKED: [Mode; 3] = [Mode::Checked { together: false }; 3];
/// Copies: in one transaction, or with pending work.
const COPIES: [Mode; 3] = [
    Mode::Own { may_fall_back: false },
    Mode::Joined,
    Mode::Checked { together: false },
];
/// The same of one document, in the place of whose transaction pending work may come.
const OF_ONE: [Mode; 3] = [
    Mode::Own { may_fall_back: true },
    Mode::Joined,
    Mode::Checked { together: false },
];
/// Links and moved children: also without a transaction in the same steps.
const LINKS: [Mode; 3] = [Mode::Own { may_fall_back: false }, Mode::Joined, Mode::Standalone];

#[test]
fn each_write_runs_as_the_table_says() {
    let graph = &models();
    let set = |name: &str| doc! { "$set": { name: 2 } };
    let rows: Vec<(&str, Write, [Mode; 3])> = vec![
        // A one-way reference without copies.
        (
            "insert without its reference",
            insert(graph, &NOTE, doc! { "_id": 1, "text": 1 }),
            PLAIN,
        ),
        (
            "insert with it",
            insert(graph, &NOTE, doc! { "_id": 1, "maker": 1 }),
            CHECKED,
        ),
        (
            "update of another field",
            update(graph, &NOTE, set("text")),
            PLAIN,
        ),
        (
            "update of the reference",
            update(graph, &NOTE, set("maker")),
            CHECKED,
        ),
        (
            "update that empties it",
            update(graph, &NOTE, doc! { "$unset": { "maker": "" } }),
            PLAIN,
        ),
        (
            "upsert of the reference",
            upsert(graph, &NOTE, set("maker")),
            CHECKED,
        ),
        (
            "update of many with it",
            update_where(graph, &NOTE, set("maker")),
            CHECKED,
        ),
        (
            "update of many without it",
            update_where(graph, &NOTE, set("text")),
            PLAIN,
        ),
        (
            "replacement with it",
            replace(graph, &NOTE, doc! { "_id": 1, "maker": 1 }),
            CHECKED,
        ),
        (
            "replacement without it",
            replace(graph, &NOTE, doc! { "_id": 1, "text": 1 }),
            PLAIN,
        ),
        ("deletion of the holder", delete(graph, &NOTE), PLAIN),
        (
            "update of many references",
            update(graph, &ORDER, doc! { "$push": { "parts": 1 } }),
            CHECKED,
        ),
        // A source of copies, of which some are eventual.
        (
            "insert of a source",
            insert(graph, &MAKER, doc! { "_id": 1, "name": 1 }),
            PLAIN,
        ),
        (
            "update of a copied field",
            update(graph, &MAKER, set("name")),
            OF_ONE,
        ),
        (
            "update of an eventual one",
            update(graph, &MAKER, set("town")),
            CHECKED,
        ),
        (
            "update of both",
            update(graph, &MAKER, doc! { "$set": { "name": 2, "town": 2 } }),
            OF_ONE,
        ),
        (
            "update of no copied field",
            update(graph, &MAKER, set("other")),
            PLAIN,
        ),
        (
            "update of many sources",
            update_where(graph, &MAKER, set("name")),
            COPIES,
        ),
        (
            "replacement of a source",
            replace(graph, &MAKER, doc! { "_id": 1 }),
            COPIES,
        ),
        ("upsert of a source", upsert(graph, &MAKER, set("name")), COPIES),
        // A holder of copies.
        (
            "insert of a holder",
            insert(graph, &LABEL, doc! { "_id": 1, "maker": 1 }),
            CHECKED,
        ),
        (
            "update of its reference",
            update(graph, &LABEL, set("maker")),
            CHECKED,
        ),
        // Copies that are never late.
        (
            "insert of an atomic holder",
            insert(graph, &SEAL, doc! { "_id": 1, "maker": 1 }),
            COPIES,
        ),
        (
            "update of an atomic source",
            update(graph, &BRAND, set("name")),
            COPIES,
        ),
        // A child with copies, which its parent counts.
        (
            "insert of a child",
            insert(graph, &ITEM, doc! { "_id": 1, "maker": 1, "shelf": 1 }),
            COPIES,
        ),
        (
            "update of no counted field",
            update(graph, &ITEM, set("price")),
            PLAIN,
        ),
        (
            "update that moves the child",
            update(graph, &ITEM, set("shelf")),
            LINKS,
        ),
        ("update of its copies", update(graph, &ITEM, set("maker")), COPIES),
        (
            "update of many that moves",
            update_where(graph, &ITEM, set("shelf")),
            LINKS,
        ),
        (
            "replacement of a child",
            replace(graph, &ITEM, doc! { "_id": 1 }),
            LINKS,
        ),
        (
            "insert of a parent",
            insert(graph, &SHELF, doc! { "_id": 1 }),
            PLAIN,
        ),
        // Two-way references.
        (
            "insert with a link",
            insert(graph, &TASK, doc! { "_id": 1, "owner": 1 }),
            LINKS,
        ),
        (
            "insert without one",
            insert(graph, &PERSON, doc! { "_id": 1, "tasks": [] }),
            PLAIN,
        ),
        ("update of a link", update(graph, &TASK, set("owner")), LINKS),
        ("update beside it", update(graph, &TASK, set("text")), PLAIN),
        (
            "update of many links",
            update_where(graph, &TASK, set("owner")),
            LINKS,
        ),
        ("upsert of a link", upsert(graph, &TASK, set("owner")), LINKS),
        (
            "replacement with links",
            replace(graph, &NODE, doc! { "_id": 1 }),
            LINKS,
        ),
    ];
    for (name, write, expected) in rows {
        assert_eq!(ways(graph, std::slice::from_ref(&write)), expected, "{name}");
    }
}

#[test]
fn writes_that_are_sent_together_run_as_the_most_that_one_asks_for() {
    let graph = &models();
    let plain = || update(graph, &NOTE, doc! { "$set": { "text": 2 } });
    let checked = || update(graph, &NOTE, doc! { "$set": { "maker": 2 } });
    let copied = || update(graph, &MAKER, doc! { "$set": { "name": 2 } });
    let linked = || update(graph, &TASK, doc! { "$set": { "owner": 2 } });
    assert_eq!(ways(graph, &[plain(), plain()]), PLAIN);
    assert_eq!(ways(graph, &[plain(), checked()]), CHECKED);
    assert_eq!(ways(graph, &[checked(), copied()]), COPIES);
    let bulk = Batching::Bulk {
        ordered: true,
        by_runs: false,
    };
    for batching in [bulk, Batching::InsertMany { ordered: true }] {
        // Writes that are sent together are not sent again, so they don't fall back, though each is one write.
        assert_eq!(ways_by(graph, batching, &[copied()]), COPIES);
    }
    assert_eq!(ways(graph, &[copied(), linked(), plain()]), LINKS);
}

#[test]
fn what_has_fallen_back_is_checked_wherever_it_runs() {
    let graph = &models();
    let write = update(graph, &MAKER, doc! { "$set": { "name": 2 } });
    let mut plan = WritePlan::for_related(graph, Batching::Single, &[write])
        .expect("registered models")
        .expect("copies of it");
    plan.fall_back();
    let together = Modes::One(Mode::Checked { together: true });
    assert_eq!((plan.modes(false), plan.modes(true)), (together, together));
}

#[test]
fn what_programs_with_other_models_derive_decides_too() {
    let graph = &models();
    let mut others = Others::default();
    let counts = doc! { "_id": "drawers.notes", "from": "notes", "holder": "drawers" };
    let by = doc! { "parent": "drawer", "filter": {}, "operation": "count", "of": "" };
    assert!(others.add(graph, &counts, &by));
    graph.set_others(others);
    let moved = update(graph, &NOTE, doc! { "$set": { "drawer": 2 } });
    let beside = update(graph, &NOTE, doc! { "$set": { "text": 2 } });
    let copied = update(graph, &MAKER, doc! { "$set": { "name": 2 } });
    assert_eq!(
        ways(graph, &[moved]),
        LINKS,
        "the parent may belong to another program"
    );
    assert_eq!(ways(graph, &[beside]), PLAIN);
    assert_eq!(ways(graph, &[copied]), OF_ONE, "nothing else changes");
}

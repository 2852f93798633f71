//! The rows of documents with hooks, and of those that are moved: each of these writes is a transaction, and not on a standalone server.

use super::{Edge, Effect, Row};
use futures::FutureExt;
use odm::hooks::InTransaction;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "ledgers")]
pub struct Ledger {
    #[serde(rename = "_id")]
    pub id: i32,
    #[computed(sum = Entry.cents)]
    pub cents: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "entries", before_write = allow, after_write(in_transaction) = trace, after_write = look)]
pub struct Entry {
    #[serde(rename = "_id")]
    pub id: i32,
    /// That of the write.
    pub number: i32,
    pub cents: i64,
    #[parent_ref(on_delete = cascade)]
    pub ledger: Ref<Ledger>,
}

/// Something that is moved to another shard.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "depots", shard_key(tenant, id))]
pub struct Depot {
    #[serde(rename = "_id")]
    pub id: i32,
    pub tenant: i32,
    #[index(unique(global))]
    pub code: String,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "vans")]
pub struct Van {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference]
    pub depot: Ref<Depot>,
    #[denormalize(from = depot.name)]
    pub depot_name: String,
}

/// The document that the hook stores.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "traces")]
pub struct Trace {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
}

/// A deletion keeps it, with its sheets.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "cabinets", soft_delete, after_write(in_transaction) = trace_cabinet)]
pub struct Cabinet {
    #[serde(rename = "_id")]
    pub id: i32,
    #[computed(count = Sheet)]
    pub sheets: i64,
    pub deleted_at: Option<DateTime>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sheets", soft_delete, after_write(in_transaction) = trace_sheet)]
pub struct Sheet {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
    #[parent_ref(on_delete = cascade)]
    pub cabinet: Ref<Cabinet>,
    pub deleted_at: Option<DateTime>,
}

async fn trace_cabinet(write: InTransaction<Cabinet>) -> odm::Result<()> {
    let ids = [&write.before, &write.after].map(|cabinet| cabinet.as_ref().map(|cabinet| cabinet.id));
    trace_kept(&write.tx, 0, ids).await
}

async fn trace_sheet(write: InTransaction<Sheet>) -> odm::Result<()> {
    let ids = [&write.before, &write.after].map(|sheet| sheet.as_ref().map(|sheet| sheet.id));
    trace_kept(&write.tx, 100, ids).await
}

/// The trace of the document that has this id before the write and after it, among those of a kind.
async fn trace_kept(tx: &odm::Tx, kind: i32, ids: [Option<i32>; 2]) -> odm::Result<()> {
    let (id, text) = match ids {
        [_, Some(id)] => (kind + id, "there"),
        [Some(id), None] => (-kind - id, "deleted"),
        [None, None] => return Ok(()),
    };
    let traces = tx.collection::<Trace>();
    traces.update(id).set(|t| t.text, text).upsert().await.map(drop)
}

async fn allow(_: InTransaction<Entry>) -> odm::Result<()> {
    Ok(())
}

async fn trace(write: InTransaction<Entry>) -> odm::Result<()> {
    let (id, text) = match (&write.before, &write.after) {
        (_, Some(after)) => (after.number, format!("{} cents", after.cents)),
        (Some(before), None) => (-before.number, "deleted".to_owned()),
        (None, None) => return Ok(()),
    };
    let traces = write.tx.collection::<Trace>();
    traces.update(id).set(|t| t.text, text).upsert().await.map(drop)
}

async fn look(write: odm::hooks::Committed<Entry>) -> odm::Result<()> {
    write.odm.collection::<Trace>().find_all().count().await.map(drop)
}

fn entry(id: i32, ledger: i32) -> NewEntry {
    NewEntry {
        id,
        number: id,
        cents: i64::from(id),
        ledger: Ref::new(ledger),
    }
}

fn sheet(id: i32, cabinet: i32) -> NewSheet {
    NewSheet {
        id,
        text: String::new(),
        cabinet: Ref::new(cabinet),
    }
}

pub fn edges() -> Vec<Edge> {
    vec![removed(), kept(), moved()]
}

fn depot(id: i32) -> NewDepot {
    NewDepot {
        id,
        tenant: 1,
        code: format!("code {id}"),
        name: format!("depot {id}"),
    }
}

fn moved() -> Edge {
    Edge {
        name: "moved documents",
        models: || models![Depot, Van].into(),
        copies: &[("vans", "depot_name")],
        setup: |odm| {
            async move {
                odm.collection::<Depot>().insert_many((1..=3).map(depot)).await?;
                let van = |id: i32| NewVan {
                    id,
                    depot: Ref::new(1 + id % 2),
                };
                odm.collection::<Van>().insert_many((1..=4).map(van)).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let depots = odm.collection::<Depot>().update_where(|d| d.id.gt(0));
                depots.set(|d| d.name, "again").await.map(drop)
            }
            .boxed()
        },
        rows: vec![
            row!("move_to", One, |odm| {
                let depots = odm.collection::<Depot>();
                depots.update(1).move_to(|d| d.tenant, 2).await?;
            }),
            row!("move_to and copies", One, |odm| {
                let depots = odm.collection::<Depot>().update(1);
                depots.move_to(|d| d.tenant, 2).set(|d| d.name, "moved").await?;
            }),
            row!("move_to in a transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let depots = tx.collection::<Depot>();
                    depots.update(1).move_to(|d| d.tenant, 2).await?;
                    depots.update(1).set(|d| d.name, "moved").await.map(drop)
                })
                .await?;
            }),
        ],
    }
}

fn removed() -> Edge {
    Edge {
        name: "hooks",
        models: || models![Ledger, Entry, Trace].into(),
        copies: &[("ledgers", "cents")],
        setup: |odm| {
            async move {
                let ledgers = (1..=3).map(|id| NewLedger { id });
                odm.collection::<Ledger>().insert_many(ledgers).await?;
                let entries = [entry(1, 1), entry(2, 1), entry(3, 2)];
                odm.collection::<Entry>().insert_many(entries).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let entries = odm.collection::<Entry>();
                for id in 1..=3 {
                    let update = entries.update_where(|e| e.id.eq(id)).inc(|e| e.cents, 5);
                    update.set(|e| e.number, 100 + id).await?;
                }
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", Transaction, |odm| {
                odm.collection::<Entry>().insert(entry(5, 1)).await?;
            }),
            row!("insert_many", Transaction, |odm| {
                let entries = [entry(5, 1), entry(6, 2)];
                odm.collection::<Entry>().insert_many(entries).await?;
            }),
            row!("update", Transaction, |odm| {
                let update = odm.collection::<Entry>().update(1).set(|e| e.number, 11);
                update.inc(|e| e.cents, 5).await?;
            }),
            row!("update_where", Transaction, |odm| {
                let entries = odm.collection::<Entry>();
                entries.update_where(|e| e.id.lt(3)).inc(|e| e.cents, 5).await?;
            }),
            row!("move", Transaction, |odm| {
                let update = odm.collection::<Entry>().update(1).set(|e| e.number, 11);
                update.set(|e| e.ledger, Ref::new(3)).await?;
            }),
            row!("upsert", Transaction, |odm| {
                let entries = odm.collection::<Entry>();
                let update = entries.update(9).set(|e| e.number, 9).set(|e| e.cents, 9);
                update.set(|e| e.ledger, Ref::new(2)).upsert().await?;
            }),
            row!("replace", Transaction, |odm| {
                let entry = Entry {
                    id: 1,
                    number: 11,
                    cents: 7,
                    ledger: Ref::new(2),
                };
                odm.collection::<Entry>().replace(entry).await?;
            }),
            row!("delete", Transaction, |odm| {
                odm.collection::<Entry>().delete(1).optional().await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Ledger>().delete(1).optional().await?;
            }),
            row!("bulk", Transaction, |odm| {
                odm.bulk()
                    .add(odm.collection::<Entry>().insert(entry(5, 1)))
                    .add(odm.collection::<Entry>().delete(2))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Entry>().insert(entry(5, 1)).await?;
                    tx.collection::<Entry>().delete(3).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn kept() -> Edge {
    Edge {
        name: "hooks of kept documents",
        models: || models![Cabinet, Sheet, Trace].into(),
        copies: &[("cabinets", "sheets")],
        setup: |odm| {
            async move {
                let cabinets = odm.collection::<Cabinet>();
                cabinets.insert_many((1..=3).map(|id| NewCabinet { id })).await?;
                let sheets = [sheet(1, 1), sheet(2, 1), sheet(3, 2), sheet(4, 3), sheet(5, 3)];
                odm.collection::<Sheet>().insert_many(sheets).await?;
                cabinets.delete(3).optional().await?;
                odm.collection::<Trace>().delete_all().await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let sheets = odm.collection::<Sheet>().with_deleted();
                let update = sheets.update_where(|s| s.id.gt(0));
                update.set(|s| s.text, "again").await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("update_where", Transaction, |odm| {
                let sheets = odm.collection::<Sheet>();
                sheets.update_where(|s| s.id.lt(3)).set(|s| s.text, "new").await?;
            }),
            row!("delete", Transaction, |odm| {
                odm.collection::<Sheet>().delete(3).optional().await?;
            }),
            row!("delete, cascade", Kept, |odm| {
                odm.collection::<Cabinet>().delete(1).optional().await?;
            }),
            row!("delete_where", Kept, |odm| {
                odm.collection::<Cabinet>().delete_where(|c| c.id.gt(0)).await?;
            }),
            row!("restore", Restored, |odm| {
                odm.collection::<Cabinet>().restore(3).await?;
            }),
            row!("purge", Parts, |odm| {
                odm.collection::<Cabinet>().purge(3).optional().await?;
            }),
            row!("bulk", Transaction, |odm| {
                let bulk = odm
                    .bulk()
                    .add(odm.collection::<Sheet>().insert(sheet(6, 1)))
                    .add(odm.collection::<Sheet>().delete(2));
                bulk.add(odm.collection::<Sheet>().update(1).set(|s| s.text, "new"))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Cabinet>().restore(3).await?;
                    tx.collection::<Cabinet>().delete(1).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

//! The rows of documents with hooks, each of whose writes is a transaction: not on a standalone server.

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

/// The document that the hook stores.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "traces")]
pub struct Trace {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
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

pub fn edges() -> Vec<Edge> {
    vec![Edge {
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
                odm.collection::<Entry>().delete(1).await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Ledger>().delete(1).await?;
            }),
            row!("bulk", Transaction, |odm| {
                odm.bulk().insert::<Entry>(entry(5, 1)).delete::<Entry>(2).await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Entry>().insert(entry(5, 1)).await?;
                    tx.collection::<Entry>().delete(3).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }]
}

//! The database `config`: the catalog as documents, in a database of the backing server that answers every kind of read.

use crate::catalog::{Catalog, SHARDS};
use crate::reply::{Answer, UNAUTHORIZED, renamed};
use crate::request::Request;
use crate::shared::Shared;
use crate::wire::Backing;
use bson::{Bson, Document, Timestamp, doc};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Executes a command in `config`.
pub(crate) async fn execute(shared: &Arc<Shared>, backing: &mut Backing, request: &Request) -> Answer {
    if shared.control.denies_config.load(Ordering::SeqCst) {
        return UNAUTHORIZED.refuse(format!(
            "not authorized on config to execute command {{ {}: … }}",
            request.name
        ));
    }
    let collections = {
        let mut catalog = shared.catalog();
        std::mem::take(&mut catalog.is_changed).then(|| documents(shared, &catalog))
    };
    if let Some(collections) = collections {
        write(shared, backing, collections).await?;
    }
    let mut command = request.command();
    // The collections are written outside of the application's transactions, which need not see them.
    for name in [
        "txnNumber",
        "autocommit",
        "startTransaction",
        "readConcern",
        "$db",
    ] {
        command.remove(name);
    }
    let reply = backing.run(&shared.config, command).await?;
    Ok(renamed(reply, &shared.config, "config"))
}

async fn write(
    shared: &Shared,
    backing: &mut Backing,
    collections: [(&str, Vec<Document>); 6],
) -> io::Result<()> {
    for (name, documents) in collections {
        let delete = doc! { "delete": name, "deletes": [{ "q": {}, "limit": 0 }] };
        backing.run(&shared.config, delete).await?;
        for documents in documents.chunks(10_000) {
            let insert = doc! { "insert": name, "documents": documents.to_vec() };
            backing.run(&shared.config, insert).await?;
        }
    }
    Ok(())
}

/// The documents of the collections.
fn documents(shared: &Shared, catalog: &Catalog) -> [(&'static str, Vec<Document>); 6] {
    let version = |minor: usize| Timestamp {
        time: 1,
        increment: minor as u32,
    };
    let now = bson::DateTime::now();
    let (mut collections, mut chunks) = (Vec::new(), Vec::new());
    for (namespace, sharded) in catalog.collections() {
        let mut collection = doc! {
            "_id": namespace,
            "lastmodEpoch": sharded.epoch,
            "lastmod": now,
            "uuid": sharded.uuid.clone(),
            "key": sharded.key.pattern(),
            "unique": sharded.is_unique,
            "noBalance": false,
            "dropped": false,
        };
        if let Some(collation) = &sharded.default_collation {
            collection.insert("defaultCollation", collation.clone());
        }
        collections.push(collection);
        let last = vec![Bson::MaxKey; sharded.key.fields.len()];
        for (number, (min, max, chunk)) in sharded.chunks().enumerate() {
            chunks.push(doc! {
                "_id": format!("{namespace}-{number}"),
                "ns": namespace,
                "uuid": sharded.uuid.clone(),
                "min": sharded.key.named(min),
                "max": sharded.key.named(max.unwrap_or(&last)),
                "shard": SHARDS[chunk.shard],
                "lastmod": version(number + 1),
            });
        }
    }
    let all: BTreeSet<_> = catalog
        .databases()
        .into_iter()
        .chain(catalog.enabled.iter().cloned())
        .collect();
    let databases = all
        .into_iter()
        .map(|name| doc! { "_id": name, "primary": SHARDS[0], "partitioned": true });
    let shards = SHARDS.iter().zip(&catalog.zones_of_shards).map(|(name, zones)| {
        let mut shard = doc! { "_id": *name, "host": format!("{name}/{}", shared.server), "state": 1 };
        if !zones.is_empty() {
            shard.insert("tags", Vec::from_iter(zones.iter().cloned()));
        }
        shard
    });
    let zones = catalog.zones.iter().map(|zone| {
        let id = doc! { "ns": &zone.namespace, "min": zone.min.clone() };
        doc! { "_id": id, "ns": &zone.namespace, "tag": &zone.name, "min": zone.min.clone(), "max": zone.max.clone() }
    });
    [
        ("collections", collections),
        ("chunks", chunks),
        ("databases", databases.collect()),
        ("shards", shards.collect()),
        ("tags", zones.collect()),
        (
            "version",
            vec![doc! { "_id": 1, "clusterId": bson::oid::ObjectId::from_bytes([7; 12]) }],
        ),
    ]
}

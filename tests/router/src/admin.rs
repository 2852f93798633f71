//! The commands of a cluster's administration: which collections are sharded, their chunks and their zones.

use crate::catalog::{PRIMARY, SHARDS, Sharded, Zone, collection_of, database_of};
use crate::ddl;
use crate::key::ShardKey;
use crate::moves;
use crate::order::Ordered;
use crate::read::has_collation;
use crate::reply::{
    ALREADY_INITIALIZED, Answer, BAD_VALUE, CANNOT_SPLIT, ILLEGAL_OPERATION, INVALID_OPTIONS,
    NAMESPACE_EXISTS, NAMESPACE_NOT_SHARDED, NOT_IMPLEMENTED, NOT_ON_VIEW, OPERATION_FAILED, SHARD_NOT_FOUND,
    ZONE_NOT_FOUND, is_set, shell, text,
};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use crate::wire::Backing;
use bson::{Bson, Document, doc};
use std::sync::Arc;

/// Executes a command of the administration; `None` where it is none.
pub(crate) async fn execute(
    shared: &Arc<Shared>,
    backing: &mut Backing,
    request: &Request,
) -> Answer<Option<Document>> {
    const COMMANDS: [&str; 19] = [
        "listShards",
        "enableSharding",
        "shardCollection",
        "split",
        "moveChunk",
        "moveRange",
        "addShardToZone",
        "removeShardFromZone",
        "updateZoneKeyRange",
        "refineCollectionShardKey",
        "reshardCollection",
        "balancerCollectionStatus",
        "balancerStart",
        "balancerStop",
        "balancerStatus",
        "flushRouterConfig",
        "replSetGetStatus",
        "movePrimary",
        "unshardCollection",
    ];
    let name = request.name.as_str();
    if !COMMANDS.contains(&name) {
        return Ok(None);
    }
    let (mut cx, command) = Cx::new(shared, backing, request, None);
    let namespace = request.collection.clone().unwrap_or_default();
    database_of(&namespace).clone_into(&mut cx.database);
    let reply = match name {
        "listShards" => list_shards(shared),
        "enableSharding" => enable(shared, &namespace, &command)?,
        "shardCollection" => shard_collection(&mut cx, &namespace, &command).await?,
        "split" => split(shared, &namespace, &command)?,
        "moveChunk" | "moveRange" => moves::execute(&mut cx, &namespace, &command).await?,
        "addShardToZone" | "removeShardFromZone" => zone_of_shard(shared, name, &namespace, &command)?,
        "updateZoneKeyRange" => zone_of_range(shared, &namespace, &command)?,
        "refineCollectionShardKey" => {
            return INVALID_OPTIONS.refuse(
                "Please create an index that starts with the proposed shard key before refining the shard key of the collection",
            );
        }
        "balancerCollectionStatus" => doc! { "balancerCompliant": true, "ok": 1.0 },
        "balancerStatus" => {
            doc! { "mode": "off", "inBalancerRound": false, "numBalancerRounds": 0_i64, "ok": 1.0 }
        }
        "balancerStart" | "balancerStop" | "flushRouterConfig" => doc! { "ok": 1.0 },
        "replSetGetStatus" => {
            return Ok(Some(
                doc! { "info": "mongos", "ok": 0.0, "errmsg": "replSetGetStatus is not supported through mongos" },
            ));
        }
        other => return NOT_IMPLEMENTED.refuse(format!("the router does not have the command `{other}`")),
    };
    Ok(Some(cx.finished(reply)))
}

fn list_shards(shared: &Shared) -> Document {
    let catalog = shared.catalog();
    let shard = |(name, zones): (&&str, _)| {
        let mut shard = doc! { "_id": *name, "host": format!("{name}/{}", shared.server), "state": 1 };
        let zones = Vec::from_iter::<std::collections::BTreeSet<String>>(zones);
        if !zones.is_empty() {
            shard.insert("tags", zones);
        }
        shard
    };
    let shards = SHARDS.iter().zip(catalog.zones_of_shards.clone()).map(shard);
    doc! { "shards": Vec::from_iter(shards), "ok": 1.0 }
}

fn enable(shared: &Shared, database: &str, command: &Document) -> Answer {
    if let Ok(primary) = command.get_str("primaryShard")
        && primary != SHARDS[PRIMARY]
    {
        return NAMESPACE_EXISTS.refuse(format!(
            "database already created on a primary which is different from: {primary}"
        ));
    }
    let mut catalog = shared.catalog();
    catalog.enabled.insert(database.to_owned());
    catalog.changed();
    Ok(doc! { "ok": 1.0 })
}

async fn shard_collection(cx: &mut Cx<'_>, namespace: &str, command: &Document) -> Answer {
    let (shared, database) = (cx.shared.clone(), database_of(namespace));
    if shared.needs_enabling() && !shared.catalog().enabled.contains(database) {
        return ILLEGAL_OPERATION.refuse(format!("sharding not enabled for db {database}"));
    }
    let pattern = command.get_document("key").cloned().unwrap_or_default();
    let is_unique = is_set(command, "unique");
    let key = ShardKey::parse(&pattern)?;
    if is_unique && key.is_hashed() {
        return INVALID_OPTIONS.refuse(
            "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field by declaring an \
             additional (non-hashed) unique index on the field.",
        );
    }
    // Two programs may shard a collection at once.
    let _placement = shared.placement.write().await;
    if let Some(sharded) = shared.sharded(namespace) {
        if sharded.key == key && sharded.is_unique == is_unique {
            return Ok(
                doc! { "collectionsharded": namespace, "collectionUUID": sharded.uuid.clone(), "ok": 1.0 },
            );
        }
        return ALREADY_INITIALIZED.refuse(format!(
            "sharding already enabled for collection {namespace} with options {{ _id: \"{namespace}\", lastmodEpoch: ObjectId('{}'), \
             key: {}, unique: {}, noBalance: false, allowMigrations: true }}",
            sharded.epoch,
            shell(&sharded.key.pattern()),
            sharded.is_unique
        ));
    }
    let collection = collection_of(namespace);
    let list = doc! { "listCollections": 1, "filter": { "name": collection } };
    let mut listed = cx.read_all_of(PRIMARY, list.clone()).await?;
    if listed.is_empty() {
        cx.send(PRIMARY, Kind::Other, doc! { "create": collection })
            .await?;
        listed = cx.read_all_of(PRIMARY, list).await?;
    }
    let listed = listed.into_iter().next().unwrap_or_default();
    let default_collation = check_options(&listed, command)?;
    let everything =
        doc! { "aggregate": collection, "pipeline": [{ "$project": projection(&key) }], "cursor": {} };
    let documents = cx.read_all(PRIMARY, everything).await?;
    serve_key(
        cx,
        namespace,
        &key,
        is_unique,
        default_collation.is_some(),
        &documents,
    )
    .await?;
    let uuid = listed
        .get_document("info")
        .ok()
        .and_then(|info| info.get("uuid").cloned());
    let mut sharded = Sharded::new(
        key.clone(),
        is_unique,
        uuid.unwrap_or(Bson::Null),
        documents.is_empty(),
    );
    sharded.default_collation = default_collation;
    let uuid = sharded.uuid.clone();
    let others = sharded.owners();
    {
        let mut catalog = shared.catalog();
        catalog.enabled.insert(database.to_owned());
        catalog.add(namespace, sharded);
        for document in &documents {
            let values = key.values(document).unwrap_or_default();
            if let Some(first) = key.place(&values).first() {
                catalog.see(namespace, first);
            }
            if let (Some(contents), Some(id)) = (catalog.contents(namespace), document.get("_id")) {
                contents.note(PRIMARY, id, key.named(&values));
            }
        }
    }
    let scatters = shared.catalog().scatters;
    for (shard, has_chunks) in others.into_iter().enumerate() {
        if shard != PRIMARY && (has_chunks || scatters) {
            ddl::copy_collection(cx, namespace, PRIMARY, shard).await?;
        }
    }
    Ok(doc! { "collectionsharded": namespace, "collectionUUID": uuid, "ok": 1.0 })
}

/// The fields of the key, besides `_id`.
fn projection(key: &ShardKey) -> Document {
    let mut projection = doc! { "_id": 1 };
    projection.extend(key.fields.iter().map(|field| (field.path.clone(), Bson::from(1))));
    projection
}

/// Refuses a collection that can't be sharded. Gives its collation.
fn check_options(listed: &Document, command: &Document) -> Answer<Option<Document>> {
    if text(listed, "type") == "view" {
        return NOT_ON_VIEW.refuse("Views cannot be sharded.");
    }
    let options = listed.get_document("options").cloned().unwrap_or_default();
    if is_set(&options, "capped") {
        return INVALID_OPTIONS.refuse("can't shard a capped collection");
    }
    let collation = options
        .get_document("collation")
        .ok()
        .filter(|_| has_collation(&options, None));
    let is_simple = command
        .get_document("collation")
        .is_ok_and(|collation| text(collation, "locale") == "simple");
    match collation {
        Some(collation) if !is_simple => BAD_VALUE.refuse(format!(
            "Collection has default collation: collation: {}. Must specify collation {{locale: 'simple'}}",
            shell(collation)
        )),
        collation => Ok(collation.cloned()),
    }
}

/// Sees that an index serves the key: a collection without documents gets it.
async fn serve_key(
    cx: &mut Cx<'_>,
    namespace: &str,
    key: &ShardKey,
    is_unique: bool,
    has_collation: bool,
    documents_there: &[Document],
) -> Answer<()> {
    let collection = collection_of(namespace);
    let mut indexes = cx
        .read_all_of(PRIMARY, doc! { "listIndexes": collection })
        .await?;
    indexes.extend(
        cx.shared
            .catalog()
            .hashed_indexes
            .get(namespace)
            .cloned()
            .unwrap_or_default(),
    );
    let keys = |index: &Document| index.get_document("key").cloned().unwrap_or_default();
    let refused = |index: &&Document| is_set(index, "unique") && !key.allows_unique(&keys(index));
    if let Some(index) = indexes.iter().find(refused) {
        return INVALID_OPTIONS.refuse(format!(
            "can't shard collection '{namespace}' with unique index on {} and proposed shard key {}. Uniqueness can't be maintained \
             unless shard key is a prefix",
            shell(&keys(index)),
            shell(&key.pattern())
        ));
    }
    let serving: Vec<_> = indexes
        .iter()
        .filter(|index| key.is_served_by(&keys(index)) && !is_set(index, "sparse"))
        .collect();
    let is_served = !serving.is_empty();
    let is_whole = |index: &Document| !index.contains_key("partialFilterExpression");
    if documents_there
        .iter()
        .any(|document| key.values(document).is_none())
        || (is_served && !serving.into_iter().any(is_whole))
    {
        return OPERATION_FAILED.refuse("couldn't find valid index for shard key");
    }
    if is_served {
        return Ok(());
    }
    if !documents_there.is_empty() {
        return INVALID_OPTIONS.refuse(
            "Please create an index that starts with the proposed shard key before sharding the collection",
        );
    }
    let mut index = doc! { "key": key.pattern(), "name": key.index_name() };
    if is_unique {
        index.insert("unique", true);
    }
    if has_collation {
        index.insert("collation", doc! { "locale": "simple" });
    }
    let reply = cx
        .exchange(
            PRIMARY,
            Kind::Other,
            doc! { "createIndexes": collection, "indexes": [&index] },
        )
        .await?;
    if !crate::reply::is_ok(&reply) {
        if !ddl::is_hashed(&index) {
            return Err(crate::reply::Failure::Refused(reply));
        }
        ddl::add_hashed(cx.shared, namespace, vec![index]);
    }
    Ok(())
}

/// The place that a command names by the values of a key, or by any values that lie in the chunk.
pub(crate) fn place_of(sharded: &Sharded, named: &Document, is_bound: bool) -> Answer<Vec<Bson>> {
    let fields = &sharded.key.fields;
    let values: Option<Vec<Bson>> = fields
        .iter()
        .map(|field| {
            named
                .get(&field.path)
                .or_else(|| crate::key::value_at(named, &field.path))
                .cloned()
        })
        .collect();
    let Some(values) = values else {
        return BAD_VALUE.refuse(format!(
            "{} does not contain shard key for pattern {}",
            shell(named),
            shell(&sharded.key.pattern())
        ));
    };
    // A bound of a chunk has the hash itself.
    Ok(if is_bound {
        values
    } else {
        sharded.key.place(&values)
    })
}

/// How a collection is distributed; an error where it is not.
pub(crate) fn sharded(shared: &Shared, namespace: &str) -> Answer<Arc<Sharded>> {
    match shared.sharded(namespace) {
        Some(sharded) => Ok(sharded),
        None => NAMESPACE_NOT_SHARDED.refuse(format!("Expected collection {namespace} to be sharded")),
    }
}

fn split(shared: &Shared, namespace: &str, command: &Document) -> Answer {
    let sharded = sharded(shared, namespace)?;
    let Ok(middle) = command.get_document("middle") else {
        return NOT_IMPLEMENTED.refuse("the router splits a chunk at the key that `middle` names");
    };
    let at = place_of(&sharded, middle, true)?;
    if sharded
        .chunks()
        .any(|(min, ..)| Ordered(min.to_vec()) == Ordered(at.clone()))
    {
        return CANNOT_SPLIT.refuse(format!(
            "new split key {} is a boundary key of existing chunk",
            shell(middle)
        ));
    }
    shared.catalog().change(namespace, |sharded| sharded.split(at));
    Ok(doc! { "ok": 1.0 })
}

/// The number of a shard.
pub(crate) fn shard(name: &str) -> Answer<usize> {
    match SHARDS.iter().position(|shard| *shard == name) {
        Some(shard) => Ok(shard),
        None => SHARD_NOT_FOUND.refuse(format!("Shard {name} not found")),
    }
}

fn zone_of_shard(shared: &Shared, name: &str, of: &str, command: &Document) -> Answer {
    let zone = command.get_str("zone").unwrap_or_default().to_owned();
    let shard = shard(of)?;
    let mut catalog = shared.catalog();
    let zones = &mut catalog.zones_of_shards[shard];
    if name == "addShardToZone" {
        zones.insert(zone);
    } else {
        zones.remove(&zone);
    }
    catalog.changed();
    Ok(doc! { "ok": 1.0 })
}

fn zone_of_range(shared: &Shared, namespace: &str, command: &Document) -> Answer {
    let bound = |name: &str| command.get_document(name).cloned().unwrap_or_default();
    let (min, max) = (bound("min"), bound("max"));
    let mut catalog = shared.catalog();
    catalog
        .zones
        .retain(|zone| zone.namespace != namespace || zone.min != min);
    if let Ok(name) = command.get_str("zone") {
        if !catalog.zones_of_shards.iter().any(|zones| zones.contains(name)) {
            return ZONE_NOT_FOUND.refuse(format!("zone {name} does not exist"));
        }
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        catalog.zones.push(Zone {
            namespace,
            min,
            max,
            name,
        });
    }
    catalog.changed();
    Ok(doc! { "ok": 1.0 })
}

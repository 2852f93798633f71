//! Collections and their indexes: commands that every shard with chunks executes, and whose replies say what each has answered.

use crate::catalog::{PRIMARY, SCRATCH, SHARDS, Sharded, collection_of, database_of, marked};
use crate::reply::{
    Answer, CANNOT_CREATE_INDEX, Failure, INDEX_NOT_FOUND, RENAME_SHARDED, count, documents, is_ok, shell,
    text,
};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{ALL, Cx, Kind};
use crate::transaction::lock;
use bson::{Bson, Document, doc};

/// Whether the router takes part in a command.
pub(crate) fn is_own(shared: &Shared, request: &Request) -> bool {
    let has_sharded = || shared.catalog().databases().contains(&request.database);
    let namespace = request.namespace().unwrap_or_default();
    match request.name.as_str() {
        "createIndexes" | "dropIndexes" | "deleteIndexes" | "collMod" | "listDatabases" => true,
        "create" => shared.sharded(&namespace).is_some() || request.command().contains_key("viewOn"),
        "drop" => {
            shared.sharded(&namespace).is_some()
                || lock(&shared.views).contains_key(&namespace)
                || has_hashed(shared, &namespace)
        }
        "listIndexes" => shared.sharded(&namespace).is_some() || has_hashed(shared, &namespace),
        "listCollections" => has_sharded(),
        "dropDatabase" => {
            let has_views = || {
                lock(&shared.views)
                    .keys()
                    .any(|view| database_of(view) == request.database)
            };
            has_sharded() || has_views() || shared.catalog().enabled.contains(&request.database)
        }
        "renameCollection" => {
            let command = request.command();
            let named =
                ["renameCollection", "to"].map(|name| command.get_str(name).unwrap_or_default().to_owned());
            named.iter().any(|namespace| shared.sharded(namespace).is_some())
        }
        _ => false,
    }
}

fn has_hashed(shared: &Shared, namespace: &str) -> bool {
    shared.catalog().hashed_indexes.contains_key(namespace)
}

/// Executes a command on collections or indexes.
pub(crate) async fn execute(cx: &mut Cx<'_>, request: &Request, command: Document) -> Answer {
    let namespace = request.namespace().unwrap_or_default();
    cx.touch(&namespace);
    match request.name.as_str() {
        "createIndexes" => create_indexes(cx, &namespace, command).await,
        "dropIndexes" | "deleteIndexes" => drop_indexes(cx, &namespace, command).await,
        "collMod" => {
            let shards = shards(cx.shared, &namespace);
            on_each(cx, &shards, command).await
        }
        "listIndexes" => list_indexes(cx, &namespace, command).await,
        "listCollections" => list_collections(cx, command).await,
        "listDatabases" => list_databases(cx, command).await,
        "create" => create(cx, &namespace, command).await,
        "drop" => drop_collection(cx, &namespace, command).await,
        "dropDatabase" => drop_database(cx, command).await,
        _ => RENAME_SHARDED.refuse("You can't rename a sharded collection"),
    }
}

/// The shards that have chunks of a collection. Where new chunks begin by themselves, both can have some.
pub(crate) fn shards(shared: &Shared, namespace: &str) -> Vec<usize> {
    let catalog = shared.catalog();
    match catalog.get(namespace) {
        Some(_) if catalog.scatters => marked(ALL),
        Some(sharded) => marked(sharded.owners()),
        None => vec![PRIMARY],
    }
}

/// Executes a command on shards. The reply has theirs by their names, and the error of the first that refuses it.
async fn on_each(cx: &mut Cx<'_>, shards: &[usize], command: Document) -> Answer {
    let mut replies = Vec::new();
    for shard in shards {
        replies.push((*shard, cx.exchange(*shard, Kind::Other, command.clone()).await?));
    }
    Ok(raw(&cx.shared.server, replies))
}

fn raw(server: &str, replies: Vec<(usize, Document)>) -> Document {
    let (mut raw, mut error) = (Document::new(), None);
    for (shard, mut reply) in replies {
        for name in ["operationTime", "$clusterTime", "electionId", "opTime"] {
            reply.remove(name);
        }
        if !is_ok(&reply) && error.is_none() {
            error = Some(reply.clone());
        }
        raw.insert(format!("{}/{server}", SHARDS[shard]), reply);
    }
    let mut reply = doc! { "raw": raw };
    let Some(error) = error else {
        reply.insert("ok", 1.0);
        return reply;
    };
    for name in ["code", "codeName", "ok", "errmsg", "errorLabels"] {
        reply.extend(error.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    reply
}

async fn create_indexes(cx: &mut Cx<'_>, namespace: &str, mut command: Document) -> Answer {
    let shards = shards(cx.shared, namespace);
    let specs = documents(&command, "indexes");
    if let Some(sharded) = cx.shared.sharded(namespace)
        && let Some(refused) = specs.iter().find(|spec| is_refused(&sharded, spec))
    {
        let keys = refused.get_document("key").cloned().unwrap_or_default();
        let uuid = match &sharded.uuid {
            Bson::Binary(uuid) => uuid.to_uuid().map(|uuid| uuid.to_string()).unwrap_or_default(),
            _ => String::new(),
        };
        let refused = CANNOT_CREATE_INDEX.reply(format!(
            "Index build failed: {uuid}: Collection {namespace} ( {uuid} ) :: caused by :: cannot create unique index over {} with shard \
             key pattern {}",
            shell(&keys),
            shell(&sharded.key.pattern())
        ));
        let replies = shards.into_iter().map(|shard| (shard, refused.clone())).collect();
        return Ok(raw(&cx.shared.server, replies));
    }
    let before = hashed_of(cx.shared, namespace).len() as i64;
    let mut reply = on_each(cx, &shards, command.clone()).await?;
    let is_lacking = CANNOT_CREATE_INDEX.is(&reply)
        && text(&reply, "errmsg").contains("hashed indexes")
        && !cx.is_in_transaction();
    if is_lacking {
        // The backing server has no hashed indexes: the router keeps their descriptions.
        let (hashed, plain): (Vec<_>, Vec<_>) = specs.into_iter().partition(is_hashed);
        add_hashed(cx.shared, namespace, hashed);
        let of_id = || vec![doc! { "key": { "_id": 1 }, "name": "_id_" }];
        command.insert("indexes", if plain.is_empty() { of_id() } else { plain });
        reply = on_each(cx, &shards, command).await?;
    }
    let after = hashed_of(cx.shared, namespace).len() as i64;
    add_to_each(
        &mut reply,
        &[("numIndexesBefore", before), ("numIndexesAfter", after)],
    );
    Ok(reply)
}

/// Adds the number of indexes that the router keeps to what each shard says of its own.
fn add_to_each(reply: &mut Document, numbers: &[(&str, i64)]) {
    let Ok(raw) = reply.get_document_mut("raw") else {
        return;
    };
    for of_shard in raw
        .iter_mut()
        .filter_map(|(_, of_shard)| of_shard.as_document_mut())
    {
        for (name, number) in numbers {
            if of_shard.contains_key(name) {
                let n = count(of_shard, name) + number;
                of_shard.insert(*name, n as i32);
            }
        }
    }
}

/// The descriptions of a collection's hashed indexes that the router keeps.
fn hashed_of(shared: &Shared, namespace: &str) -> Vec<Document> {
    shared
        .catalog()
        .hashed_indexes
        .get(namespace)
        .cloned()
        .unwrap_or_default()
}

fn is_refused(sharded: &Sharded, spec: &Document) -> bool {
    let keys = spec.get_document("key").cloned().unwrap_or_default();
    crate::reply::is_set(spec, "unique") && !sharded.key.allows_unique(&keys)
}

pub(crate) fn is_hashed(spec: &Document) -> bool {
    let keys = spec.get_document("key").ok();
    keys.is_some_and(|keys| keys.values().any(|kind| kind.as_str() == Some("hashed")))
}

/// Keeps the descriptions of hashed indexes.
pub(crate) fn add_hashed(shared: &Shared, namespace: &str, specs: Vec<Document>) {
    let mut catalog = shared.catalog();
    let known = catalog.hashed_indexes.entry(namespace.to_owned()).or_default();
    for spec in specs {
        if known.iter().all(|known| known.get("name") != spec.get("name")) {
            let mut listed = doc! { "v": 2 };
            listed.extend(spec);
            known.push(listed);
        }
    }
}

async fn drop_indexes(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    let shards = shards(cx.shared, namespace);
    let dropped = command.get("index").cloned().unwrap_or(Bson::Null);
    let removed = {
        let mut catalog = cx.shared.catalog();
        let hashed = catalog.hashed_indexes.get_mut(namespace);
        let is_named = |spec: &Document| match &dropped {
            Bson::String(name) => name != "*" && text(spec, "name") == name,
            Bson::Document(keys) => spec.get_document("key").is_ok_and(|of| of == keys),
            Bson::Array(names) => names.iter().any(|name| spec.get("name") == Some(name)),
            _ => false,
        };
        let removed = hashed.map(|hashed| hashed.extract_if(.., |spec| is_named(spec)).count());
        removed.unwrap_or(0)
    };
    let mut reply = on_each(cx, &shards, command).await?;
    if removed > 0 && INDEX_NOT_FOUND.is(&reply) {
        return Ok(doc! { "ok": 1.0 });
    }
    let before = (hashed_of(cx.shared, namespace).len() + removed) as i64;
    add_to_each(&mut reply, &[("nIndexesWas", before)]);
    Ok(reply)
}

/// The indexes of the first shard that has chunks, with the hashed ones that the router keeps.
async fn list_indexes(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    let shard = shards(cx.shared, namespace).first().copied().unwrap_or(PRIMARY);
    let mut all = cx.read_all_of(shard, command.clone()).await?;
    all.extend(hashed_of(cx.shared, namespace));
    let options = command.get_document("cursor").cloned().unwrap_or_default();
    Ok(cx
        .shared
        .cursors
        .reply(namespace, all, crate::cursor::batch_size(&options), false))
}

/// The collections of the first shard, which has all of the application's, without the router's own.
async fn list_collections(cx: &mut Cx<'_>, command: Document) -> Answer {
    let mut all = cx.read_all_of(PRIMARY, command.clone()).await?;
    all.retain(|listed| !listed.get_str("name").is_ok_and(|name| name.starts_with(SCRATCH)));
    let namespace = format!("{}.$cmd.listCollections", cx.database);
    let options = command.get_document("cursor").cloned().unwrap_or_default();
    Ok(cx
        .shared
        .cursors
        .reply(&namespace, all, crate::cursor::batch_size(&options), false))
}

async fn list_databases(cx: &mut Cx<'_>, command: Document) -> Answer {
    let mut reply = cx.send(PRIMARY, Kind::Other, command).await?;
    let of_shards = cx.shared.catalog().databases_of_shards();
    let is_shown = |listed: &Document| {
        let name = listed.get_str("name").unwrap_or_default();
        !of_shards.contains_key(name) && !name.starts_with("odm_router_")
    };
    let mut listed = documents(&reply, "databases");
    listed.retain(is_shown);
    reply.insert("databases", listed);
    Ok(reply)
}

/// Creates a view, or finds a sharded collection as it is.
async fn create(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    if cx.shared.sharded(namespace).is_some() {
        return Ok(doc! { "ok": 1.0 });
    }
    let of = command.get_str("viewOn").unwrap_or_default().to_owned();
    let pipeline = documents(&command, "pipeline");
    let reply = cx.send(PRIMARY, Kind::Other, command).await?;
    let view = (format!("{}.{of}", cx.database), pipeline);
    lock(&cx.shared.views).insert(namespace.to_owned(), view);
    Ok(reply)
}

async fn drop_collection(cx: &mut Cx<'_>, namespace: &str, command: Document) -> Answer {
    lock(&cx.shared.views).remove(namespace);
    let is_sharded = cx.shared.sharded(namespace).is_some();
    let mut reply = cx.send(PRIMARY, Kind::Other, command.clone()).await?;
    if is_sharded {
        for shard in 1..SHARDS.len() {
            cx.send(shard, Kind::Other, command.clone()).await?;
        }
        reply = doc! { "ok": 1.0 };
    }
    cx.shared.catalog().remove(namespace);
    Ok(reply)
}

async fn drop_database(cx: &mut Cx<'_>, command: Document) -> Answer {
    let reply = cx.send(PRIMARY, Kind::Other, command.clone()).await?;
    for shard in 1..SHARDS.len() {
        cx.send(shard, Kind::Other, command.clone()).await?;
    }
    let database = cx.database.clone();
    lock(&cx.shared.views).retain(|namespace, _| database_of(namespace) != database);
    let mut catalog = cx.shared.catalog();
    let namespaces: Vec<_> = catalog
        .collections()
        .map(|(namespace, _)| namespace.clone())
        .collect();
    for namespace in namespaces
        .iter()
        .filter(|namespace| database_of(namespace) == database)
    {
        catalog.remove(namespace);
    }
    catalog
        .hashed_indexes
        .retain(|namespace, _| database_of(namespace) != database);
    catalog.enabled.remove(&database);
    catalog.changed();
    Ok(reply)
}

/// Makes a collection of another shard what it is on one: with its options and its indexes.
pub(crate) async fn copy_collection(cx: &mut Cx<'_>, namespace: &str, from: usize, to: usize) -> Answer<()> {
    let collection = collection_of(namespace);
    let list = doc! { "listCollections": 1, "filter": { "name": collection } };
    let listed = cx
        .read_all_of(from, list)
        .await?
        .into_iter()
        .next()
        .unwrap_or_default();
    let mut create = doc! { "create": collection };
    create.extend(listed.get_document("options").cloned().unwrap_or_default());
    let reply = cx.exchange(to, Kind::Other, create).await?;
    if !is_ok(&reply) && !crate::reply::NAMESPACE_EXISTS.is(&reply) {
        return Err(Failure::Refused(reply));
    }
    let mut indexes = cx.read_all_of(from, doc! { "listIndexes": collection }).await?;
    indexes.retain(|index| text(index, "name") != "_id_");
    for index in &mut indexes {
        index.remove("ns");
    }
    if !indexes.is_empty() {
        cx.send(
            to,
            Kind::Other,
            doc! { "createIndexes": collection, "indexes": indexes },
        )
        .await?;
    }
    Ok(())
}

//! The table *operation × collection*: to which shards of a cluster the statements of each operation go, by a handle of a tenant.

use crate::world::World;
use futures::FutureExt;
use mongodb::Client;
use mongodb::bson::Document as Doc;
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use odm::__private::targeting::{Because, Refusal, Routing, ShardKey, ShardKeys, Statement, statements};
use odm::Odm;
use odm_tests::fixtures::operations::{At, On, Operation, TENANTS, sharded};
use odm_tests::{require_lookup_with_pipeline, with_transactions};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

const HEAD: &str = "\
# Where statements go on a sharded cluster

`ODM_WRITE_BOOK=1 cargo test -p odm-tests --test tenants targeting` writes this page. It performs the operations of the fixture
`operations` by a handle that is scoped to a tenant, and works out from each statement to which shards a router sends it. The shard key
of each collection is `(tenant, _id)`; of `currencies`, which all tenants share, it is `(_id)`, and of `profiles` and `reading_buckets`
`(tenant, customer)`. References have `same(tenant)`. Of `unique(global)` keys the claims are sharded by their `_id`.

| column | a statement there |
| --- | --- |
| one shard | names values of the whole key |
| by a prefix | names the first field of the key: it goes to the shards that have documents of the tenant |
| all shards | does not name the first field, which stands behind the collection |
| refused | is refused by a router before MongoDB 7.1, with this code, since it lacks an equality for this field: always, or where the \
documents of the tenant lie on several shards |

A `join` is the part of a `$lookup` on the joined collection, which a router takes from MongoDB 5.1 on. A statement of a row *by a
collation* compares the texts of tenants by it. Operations that send no statement to these collections are left out, and so are
`Odm::worker` and `Odm::reconciler`, which go on in tasks of their own.

| operation | one shard | by a prefix | all shards | refused |
| --- | --- | --- | --- | --- |
";

macro_rules! keys {
    ($($document:ident),*) => {{
        let all = [$(<sharded::$document as odm::Document>::META),*];
        let claims = all.into_iter().filter_map(|meta| meta.claims);
        let all = all.into_iter().chain(claims);
        let keys = all.filter_map(|meta| Some((meta.collection.to_owned(), ShardKey::of(meta)?)));
        keys.collect()
    }};
}

fn keys() -> ShardKeys {
    keys![
        Currency,
        Note,
        Customer,
        Order,
        Profile,
        Group,
        Album,
        Photo,
        ReadingBucket,
        Entry,
        Record,
        Draft
    ]
}

/// The name of a row: the first method of an operation, or the collation that it is given.
fn row(operation: &Operation) -> &'static str {
    let methods = &operation.methods;
    let collation = methods.iter().find(|method| method.ends_with("::collation"));
    collation.or(methods.first()).copied().unwrap_or_default()
}

/// The kind of a statement: an insert, an update, a deletion, a read or a join.
fn kind(command: &Doc, statement: &Statement) -> String {
    if statement.refusal == Some(Refusal::Joined) {
        return "join".to_owned();
    }
    let name = command.keys().next().map_or("", String::as_str);
    let of_bulk = || {
        let operation = command.get_array("ops").ok()?.get(statement.position)?;
        operation.as_document()?.keys().next().cloned()
    };
    match name {
        "insert" | "update" | "delete" => name.to_owned(),
        "findAndModify" if command.contains_key("remove") => "delete".to_owned(),
        "findAndModify" => "update".to_owned(),
        "bulkWrite" => of_bulk().unwrap_or_default(),
        _ => "read".to_owned(),
    }
}

/// The kinds of statements by collection and field.
type Cell = BTreeMap<String, BTreeSet<String>>;

/// The statements of an operation, by where they go.
#[derive(Default)]
struct Row {
    one: BTreeSet<String>,
    part: BTreeSet<String>,
    all: Cell,
    refused: Cell,
}

impl Row {
    fn add(&mut self, command: &Doc, statement: &Statement) {
        let collection = &statement.collection;
        let kind = kind(command, statement);
        match &statement.refusal {
            None | Some(Refusal::Joined) => {}
            Some(
                refusal @ (Refusal::WholeKey(field)
                | Refusal::KeyOrId(field)
                | Refusal::OneShard(field)
                | Refusal::SeveralShards(field)),
            ) => {
                let kinds = self.refused.entry(format!("{collection}.{field}")).or_default();
                let code = refusal.code().unwrap_or_default();
                let several = match refusal {
                    Refusal::SeveralShards(_) => " on several shards",
                    _ => "",
                };
                kinds.insert(format!("{kind} {code}{several}"));
                return;
            }
            Some(refusal) => panic!("{refusal} ({refusal:?}): {command}"),
        }
        match &statement.routing {
            Routing::Targeted { .. } => drop(self.one.insert(collection.clone())),
            Routing::Partial { .. } => drop(self.part.insert(collection.clone())),
            Routing::Broadcast { unknown, because } => {
                assert_ne!(*because, Because::Stage, "{command}");
                let kinds = self.all.entry(format!("{collection}.{unknown}")).or_default();
                kinds.insert(kind);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.one.is_empty() && self.part.is_empty() && self.all.is_empty() && self.refused.is_empty()
    }
}

fn names(collections: &BTreeSet<String>) -> String {
    let names: Vec<String> = collections.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn kinds(cell: &Cell) -> String {
    let of = |(field, kinds): (&String, &BTreeSet<String>)| {
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        format!("`{field}` ({})", kinds.join(", "))
    };
    cell.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn page(rows: &BTreeMap<&str, Row>) -> String {
    let mut page = HEAD.to_owned();
    for (name, row) in rows.iter().filter(|(_, row)| !row.is_empty()) {
        let name = match name.strip_suffix("::collation") {
            Some(of) => format!("`{of}`, by a collation"),
            None => format!("`{name}`"),
        };
        let cells = [
            names(&row.one),
            names(&row.part),
            kinds(&row.all),
            kinds(&row.refused),
        ];
        let cells = cells.map(|cell| {
            if cell.is_empty() {
                " ".to_owned()
            } else {
                format!(" {cell} ")
            }
        });
        writeln!(page, "| {name} |{}|", cells.join("|")).unwrap();
    }
    page
}

#[odm_tests::test]
fn targeting_of_each_operation_is_that_of_the_page() {
    with_transactions(async |t| {
        let set = &sharded::SET;
        let own = TENANTS[0];
        // The page has the statements that a replica set gets: on a cluster some are sent otherwise.
        odm_tests::require_no_cluster(&Odm::new(t.db.clone(), (set.models)()).unwrap()).await;
        let world = World::of(&t, set, &TENANTS[..1], false, "targeting").await;
        require_lookup_with_pipeline(&world.odm).await;
        let sent: Arc<Mutex<Vec<Doc>>> = Arc::default();
        let record = sent.clone();
        let mut options = odm_tests::options(false).await;
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event {
                record.lock().unwrap().push(started.command);
            }
        }));
        let client = Client::with_options(options).unwrap();
        let database = client.database(world.odm.database().name());
        let odm = (set.scoped)(&Odm::new(database, (set.models)()).unwrap(), own);
        let keys = keys();
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for operation in (set.operations)() {
            // Of the operators of an update, one stands for all: none is part of a condition.
            let is_left_out = operation.is_combination && !operation.name.ends_with(": set")
                || ["worker", "reconciler"].contains(&operation.name.as_str());
            if is_left_out {
                continue;
            }
            sent.lock().unwrap().clear();
            let at = At { own, target: own };
            // Also of one that is refused: by a rule of the documents, before or behind its statements.
            let _ = operation.run(On::Database(odm.clone()), at).boxed().await;
            let made = rows.entry(row(&operation)).or_default();
            for command in std::mem::take(&mut *sent.lock().unwrap()) {
                for statement in statements(&command, &keys) {
                    made.add(&command, &statement);
                }
            }
            world.reset(&world.documents().await).await;
        }
        world.drop().await;
        let made = page(&rows);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/targeting.md");
        if std::env::var_os("ODM_WRITE_BOOK").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        let lines: BTreeSet<&str> = stored.lines().collect();
        let new: Vec<&str> = made.lines().filter(|line| !lines.contains(line)).collect();
        assert!(
            stored == made,
            "docs/targeting.md differs (ODM_WRITE_BOOK=1 writes it):\n{}",
            new.join("\n")
        );
        assert!(made.lines().count() > 120, "{made}");
    });
}

/// The name of a document's collection is a key of the table, so that no statement on it is left out.
#[odm_tests::test]
fn targeting_has_a_key_for_each_collection_of_the_operations() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), (sharded::SET.models)()).unwrap();
        odm.sync().await.unwrap();
        let collections = t.db.list_collection_names().await.unwrap();
        let keys = keys();
        let without: Vec<&String> = collections
            .iter()
            .filter(|name| !(name.starts_with("_odm") || keys.contains_key(*name)))
            .collect();
        assert_eq!(without, Vec::<&String>::new());
        assert!(collections.len() >= keys.len());
    });
}

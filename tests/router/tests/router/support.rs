//! A router with a database of its own, and a connection to it.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use odm_router::wire::Backing;
use odm_router::{Router, RouterOptions};

/// A router, a connection, and the name of a database.
pub struct Cluster {
    pub router: Router,
    pub client: Backing,
    pub database: String,
}

/// The server before which the router stands.
pub fn server() -> String {
    std::env::var("MONGODB_URI")
        .unwrap_or_else(|_| panic!("needs a server: set MONGODB_URI, or run `cargo xtask test`"))
}

/// Starts a router in which chunks stay where they are put.
pub async fn start() -> Cluster {
    with(RouterOptions {
        scatter: false,
        ..RouterOptions::default()
    })
    .await
}

/// Starts a router.
pub async fn with(options: RouterOptions) -> Cluster {
    let router = Router::start(&server(), options).await.unwrap();
    let client = connect(&router).await;
    let database = format!("odm_router_test_{}", ObjectId::new().to_hex());
    Cluster {
        router,
        client,
        database: database.replace("odm_router", "router"),
    }
}

/// Another connection.
pub async fn connect(router: &Router) -> Backing {
    let uri = router.uri();
    let address = uri.trim_start_matches("mongodb://").trim_end_matches('/');
    Backing::connect(address).await.unwrap()
}

/// A session that no other test has.
pub fn session() -> Document {
    let bytes = [&ObjectId::new().bytes()[..], &ObjectId::new().bytes()[8..]].concat();
    doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes } }
}

/// A statement of a transaction; the first one starts it.
pub fn of_transaction(session: &Document, starts: bool, mut command: Document) -> Document {
    command.extend(doc! { "lsid": session.clone(), "txnNumber": 1_i64, "autocommit": false });
    if starts {
        command.extend(doc! { "startTransaction": true, "readConcern": { "level": "snapshot" } });
    }
    command
}

/// Whether a reply is no error.
pub fn is_ok(reply: &Document) -> bool {
    matches!(reply.get("ok"), Some(Bson::Double(1.0) | Bson::Int32(1)))
}

/// The documents of the first batch of a reply.
pub fn found(reply: &Document) -> Vec<Document> {
    let cursor = reply
        .get_document("cursor")
        .unwrap_or_else(|_| panic!("no cursor: {reply}"));
    let batch = cursor
        .get_array("firstBatch")
        .or_else(|_| cursor.get_array("nextBatch"))
        .unwrap();
    batch.iter().filter_map(Bson::as_document).cloned().collect()
}

/// The `_id`s of documents.
pub fn ids(documents: &[Document]) -> Vec<i32> {
    documents
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

impl Cluster {
    /// Executes a command, and gives the reply, which may be an error.
    pub async fn run(&mut self, command: Document) -> Document {
        self.client.run(&self.database, command).await.unwrap()
    }

    /// Executes a command of the administration.
    pub async fn admin(&mut self, command: Document) -> Document {
        self.client.run("admin", command).await.unwrap()
    }

    /// Executes a command that has to succeed.
    pub async fn ok(&mut self, command: Document) -> Document {
        let reply = self.run(command.clone()).await;
        assert!(
            is_ok(&reply) && !reply.contains_key("writeErrors"),
            "{command}: {reply}"
        );
        reply
    }

    /// The namespace of a collection.
    pub fn namespace(&self, collection: &str) -> String {
        format!("{}.{collection}", self.database)
    }

    /// Shards a collection.
    pub async fn shard(&mut self, collection: &str, key: Document) {
        let namespace = self.namespace(collection);
        let enabled = self
            .admin(doc! { "enableSharding": &self.database.clone() })
            .await;
        assert!(is_ok(&enabled), "{enabled}");
        let sharded = self
            .admin(doc! { "shardCollection": &namespace, "key": key })
            .await;
        assert!(is_ok(&sharded), "{sharded}");
    }

    /// Begins a chunk at a key, and moves it to the second shard.
    pub async fn split_at(&mut self, collection: &str, middle: Document) {
        let namespace = self.namespace(collection);
        let split = self
            .admin(doc! { "split": &namespace, "middle": middle.clone() })
            .await;
        assert!(is_ok(&split), "{split}");
        let moved = self
            .admin(doc! { "moveRange": &namespace, "min": middle, "toShard": "sh1" })
            .await;
        assert!(is_ok(&moved), "{moved}");
    }

    /// Inserts documents.
    pub async fn insert(&mut self, collection: &str, documents: Vec<Document>) {
        self.ok(doc! { "insert": collection, "documents": documents })
            .await;
    }

    /// The documents that a filter finds, by `_id`.
    pub async fn find(&mut self, collection: &str, filter: Document) -> Vec<Document> {
        let reply = self
            .ok(doc! { "find": collection, "filter": filter, "sort": { "_id": 1 } })
            .await;
        found(&reply)
    }

    /// The documents of a shard, read past the router.
    pub async fn stored(&self, shard: usize, collection: &str) -> Vec<Document> {
        let uri = server();
        let hosts = uri
            .trim_start_matches("mongodb://")
            .split(['/', '?', ','])
            .next()
            .unwrap()
            .to_owned();
        let mut server = Backing::connect(&hosts).await.unwrap();
        let database = if shard == 0 {
            self.database.clone()
        } else {
            format!("{}_sh{shard}", self.database)
        };
        let reply = server
            .run(
                &database,
                doc! { "find": collection, "sort": { "_id": 1 }, "batchSize": 10_000 },
            )
            .await
            .unwrap();
        found(&reply)
    }

    /// Drops the database, and stops the router.
    pub async fn end(mut self) {
        self.ok(doc! { "dropDatabase": 1 }).await;
        self.router.stop().await.unwrap();
    }
}

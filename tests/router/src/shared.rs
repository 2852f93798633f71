//! What the connections of a router share.

use crate::catalog::{Catalog, Sharded};
use crate::control::Control;
use crate::cursor::Cursors;
use crate::late::Late;
use crate::reply::count;
use crate::transaction::{Transactions, lock};
use crate::wire::Backing;
use bson::{Document, doc};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::RwLock;

/// `hello` says from MongoDB 5.1 on: a pipeline may join a sharded collection.
const JOINS_SHARDED: i32 = 14;

/// `hello` says from MongoDB 6.0 on: sharding need not be enabled for a database, and change streams have images of before.
const NEEDS_NO_ENABLING: i32 = 17;

/// `hello` says from MongoDB 8.0 on: the command `bulkWrite`.
const HAS_BULK_WRITE: i32 = 25;

/// A write that may be sent again: its session, its number and its position in the command.
pub(crate) type Repeated = (Vec<u8>, i64, usize);

/// The state of a router.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The address of the backing server.
    pub server: String,
    /// What the backing server says of itself.
    pub hello: Document,
    pub max_wire_version: i32,
    /// The database of the backing server that holds the collections of `config`.
    pub config: String,
    pub control: Control,
    pub late: Arc<Late>,
    pub transactions: Transactions,
    pub cursors: Cursors,
    catalog: Mutex<Catalog>,
    /// A statement of a sharded collection keeps chunks from moving while it runs.
    pub placement: RwLock<()>,
    /// The replies of writes that may change keys: sent again, they give the same.
    pub key_changes: Mutex<HashMap<Repeated, Document>>,
    /// Views by their namespaces: the collection and the pipeline.
    pub views: Mutex<HashMap<String, (String, Vec<Document>)>>,
}

impl Shared {
    /// Asks the server what it is.
    pub(crate) async fn new(
        address: &str,
        max_wire_version: Option<i32>,
        port: u16,
        scatters: bool,
    ) -> io::Result<Shared> {
        let mut server = address.to_owned();
        let mut backing = Backing::connect(&server).await?;
        // Every version knows it by this name.
        let mut hello = backing.run("admin", doc! { "isMaster": 1 }).await?;
        if let Ok(primary) = hello.get_str("primary")
            && primary != server
        {
            primary.clone_into(&mut server);
            backing = Backing::connect(&server).await?;
            hello = backing.run("admin", doc! { "isMaster": 1 }).await?;
        }
        let config = format!("odm_router_config_{}_{port}", std::process::id());
        backing.run(&config, doc! { "dropDatabase": 1 }).await?;
        let served = count(&hello, "maxWireVersion") as i32;
        Ok(Shared {
            server,
            max_wire_version: max_wire_version.map_or(served, |most| most.min(served)),
            hello,
            config,
            control: Control::default(),
            late: Arc::default(),
            transactions: Transactions::default(),
            cursors: Cursors::default(),
            catalog: Mutex::new(Catalog::new(scatters)),
            placement: RwLock::default(),
            key_changes: Mutex::default(),
            views: Mutex::default(),
        })
    }

    pub(crate) fn catalog(&self) -> MutexGuard<'_, Catalog> {
        lock(&self.catalog)
    }

    /// How a collection is distributed; `None` where it is not sharded.
    pub(crate) fn sharded(&self, namespace: &str) -> Option<Arc<Sharded>> {
        self.catalog().get(namespace)
    }

    /// The view of a name, if its collection is sharded: the collection and the pipeline.
    pub(crate) fn sharded_view(&self, namespace: &str) -> Option<(String, Vec<Document>)> {
        let view = lock(&self.views).get(namespace).cloned()?;
        self.sharded(&view.0).is_some().then_some(view)
    }

    pub(crate) fn joins_sharded(&self) -> bool {
        self.max_wire_version >= JOINS_SHARDED
    }

    pub(crate) fn needs_enabling(&self) -> bool {
        self.max_wire_version < NEEDS_NO_ENABLING
    }

    pub(crate) fn has_bulk_write(&self) -> bool {
        self.max_wire_version >= HAS_BULK_WRITE
    }
}

//! A router of a sharded cluster for tests: it plays `mongos` before one server.
//!
//! Two databases of the server are the shards of a database of the application, so that a transaction over both shards is a real one.
//! The first shard has the application's own database and everything that is not sharded; the second has `NAME_sh1`. Commands that
//! concern no sharded collection are passed on as they are.
//!
//! What it refuses, and with which words, is what a `mongos` 4.9 has answered, which is stricter than later ones. It targets a
//! statement by the conditions that `mongos` reads too, and is never narrower.
//!
//! The parts: `wire` and `request` (messages), `connection` and `statement` (a command and what it sends), `catalog`, `key`, `order` and
//! `targeting` (which shard), `read`, `write` and `bulk`, `transaction`, `ddl`, `admin`, `moves` and `config` (the cluster), `late` and
//! `control` (what tests ask for), `stream` and `cursor`.

mod admin;
mod bulk;
mod catalog;
mod config;
mod connection;
mod control;
mod cursor;
mod ddl;
mod key;
mod late;
mod moves;
mod order;
mod read;
mod reply;
mod request;
mod shared;
mod statement;
mod stream;
mod targeting;
#[cfg(test)]
mod targeting_tests;
mod transaction;
pub mod wire;
mod write;

pub use control::{Counts, RoutingError};

use bson::{Document, doc};
use reply::Failure;
use shared::Shared;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use wire::Backing;

/// How a router is started.
#[derive(Clone, Debug)]
pub struct RouterOptions {
    /// The port of 127.0.0.1; 0 for a free one.
    pub port: u16,
    /// The greatest wire version that `hello` says; that of the server where it is `None`. It decides what the router refuses as older
    /// clusters do: `$lookup` of a sharded collection below 14, `bulkWrite` below 25.
    pub max_wire_version: Option<i32>,
    /// Whether each new first value of a ranged key begins a chunk, on the shards by turns. Without it, a collection stays in one chunk
    /// until it is split and moved.
    pub scatter: bool,
}

impl Default for RouterOptions {
    fn default() -> RouterOptions {
        RouterOptions {
            port: 0,
            max_wire_version: None,
            scatter: true,
        }
    }
}

/// A router that takes connections until it is dropped.
#[derive(Debug)]
pub struct Router {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Drop for Router {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Router {
    /// Starts a router before the server of a connection string, or before the primary of its replica set.
    ///
    /// # Errors
    /// Where the server does not answer, the string has credentials or no address, or the port is in use.
    pub async fn start(backing_uri: &str, options: RouterOptions) -> io::Result<Router> {
        let server = address_of(backing_uri)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        let address = listener.local_addr()?;
        let shared = Shared::new(&server, options.max_wire_version, address.port(), options.scatter).await?;
        let shared = Arc::new(shared);
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Router {
            address,
            shared,
            accepting,
        })
    }

    /// The connection string of the router.
    pub fn uri(&self) -> String {
        format!("mongodb://{}/", self.address)
    }

    /// Has a shard apply the commits of transactions over several shards this much later than they are answered; `None` ends it.
    ///
    /// # Panics
    /// Where there is no such shard: they are 0 and 1.
    pub fn delay(&self, shard: usize, by: Option<Duration>) {
        self.shared.late.set(shard, by);
    }

    /// Moves the chunk of a document to the other shard before the command with this number, counted from now on. The move waits for a
    /// later command while an open transaction has touched the collection.
    pub fn move_chunk_at(&self, commands: usize, namespace: &str, of: Document) {
        let namespace = namespace.to_owned();
        self.shared
            .control
            .move_at(commands, control::Move { namespace, of });
    }

    /// How many moves are still waiting for their command.
    pub fn waiting_moves(&self) -> usize {
        self.shared.control.waiting_moves()
    }

    /// Moves the chunk of a document to the other shard.
    ///
    /// # Errors
    /// Where the collection is not sharded, an open transaction has touched it, or the server does not answer.
    pub async fn move_chunk(&self, namespace: &str, of: &Document) -> io::Result<()> {
        let mut backing = Backing::connect(&self.shared.server).await?;
        let sharded = admin::sharded(&self.shared, namespace).map_err(failed)?;
        let values = sharded.key.values(of).unwrap_or_default();
        let to = 1 - sharded.owner(&values);
        moves::move_chunk(&self.shared, &mut backing, namespace, &values, to)
            .await
            .map_err(failed)
    }

    /// Ends the command with this number, counted from now on, by an error of routing, if it is a statement of a transaction.
    pub fn fail_at(&self, commands: usize, error: RoutingError) {
        self.shared.control.fail_at(commands, error);
    }

    /// Has moved chunks leave their documents behind on the shard that they come from, as an unfinished migration does.
    pub fn leave_orphans(&self, leaves: bool) {
        self.shared.control.leaves_orphans.store(leaves, Ordering::SeqCst);
    }

    /// Deletes the documents that moved chunks have left behind.
    ///
    /// # Errors
    /// Where the server does not answer.
    pub async fn clean_orphans(&self) -> io::Result<()> {
        let mut backing = Backing::connect(&self.shared.server).await?;
        moves::clean(&self.shared, &mut backing).await.map_err(failed)
    }

    /// Refuses every read of the database `config`, as for a user without the right.
    pub fn deny_config(&self, denies: bool) {
        self.shared.control.denies_config.store(denies, Ordering::SeqCst);
    }

    /// How many commands have come, without the driver's own.
    pub fn commands(&self) -> usize {
        self.shared.control.commands()
    }

    /// How many statements went to one shard and to several, by namespace. What is not sharded is not counted.
    pub fn counts(&self) -> BTreeMap<String, Counts> {
        self.shared.control.counts()
    }

    /// The statements that went to several shards since the last time: the command, the namespace and the filter.
    pub fn take_broadcasts(&self) -> Vec<String> {
        self.shared.control.take_broadcasts()
    }

    /// The shard of a document of a sharded collection; `None` where the collection is not sharded, or an array is in the key.
    pub fn shard_of(&self, namespace: &str, document: &Document) -> Option<usize> {
        let sharded = self.shared.sharded(namespace)?;
        Some(sharded.owner(&sharded.key.values(document)?))
    }

    /// Removes what the router has stored beside the application's data.
    ///
    /// # Errors
    /// Where the server does not answer.
    pub async fn stop(self) -> io::Result<()> {
        let mut backing = Backing::connect(&self.shared.server).await?;
        backing
            .run(&self.shared.config, doc! { "dropDatabase": 1 })
            .await?;
        Ok(())
    }
}

fn failed(failure: Failure) -> io::Error {
    match failure {
        Failure::Io(error) => error,
        Failure::Refused(reply) => io::Error::other(reply.to_string()),
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // No more files: those that are open end some time.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // A connection that fails is closed, and the driver sees that.
        tokio::spawn(connection::serve(shared.clone(), client));
    }
}

/// The first address of a connection string.
fn address_of(uri: &str) -> io::Result<String> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{why}: {uri}"));
    let rest = uri
        .strip_prefix("mongodb://")
        .ok_or_else(|| wrong("a connection string begins with `mongodb://`"))?;
    let hosts = rest.split(['/', '?']).next().unwrap_or_default();
    if hosts.contains('@') {
        return Err(wrong("the router has no authentication"));
    }
    let first = hosts.split(',').next().unwrap_or_default();
    if first.is_empty() {
        return Err(wrong("a connection string names a host"));
    }
    let has_port = first
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(if has_port {
        first.to_owned()
    } else {
        format!("{first}:27017")
    })
}

#[cfg(test)]
mod tests {
    use super::address_of;

    #[test]
    fn the_address_is_the_first_of_a_connection_string() {
        for (uri, expected) in [
            (
                "mongodb://127.0.0.1:27117/?directConnection=true",
                Some("127.0.0.1:27117"),
            ),
            ("mongodb://db", Some("db:27017")),
            ("mongodb://a:1,b:2/app?replicaSet=rs0", Some("a:1")),
            ("mongodb://user:word@db:1", None),
            ("mongodb+srv://db", None),
            ("mongodb://", None),
        ] {
            assert_eq!(address_of(uri).ok().as_deref(), expected, "{uri}");
        }
    }
}

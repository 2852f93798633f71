//! The kind of the deployment, and the commands that it supports.

use crate::Result;
use crate::store::retry::read;
use mongodb::Database;
use mongodb::bson::{Document, doc};
use mongodb::error::ErrorKind;

/// The kind of a deployment.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// match odm.server().await?.topology() {
///     odm::server::Topology::Standalone => println!("no transactions"),
///     other => println!("{other:?}"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topology {
    /// One `mongod` on its own: no transactions, no change streams.
    Standalone,
    /// A replica set, of one node or more.
    ReplicaSet,
    /// A sharded cluster, reached through `mongos`.
    Sharded,
}

/// The server's description of itself, from its reply to
/// [`hello`](https://www.mongodb.com/docs/manual/reference/command/hello/): [`Odm::server`](crate::Odm::server) gives it.
/// Displayed in words: `a replica set of wire version 25`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let server = odm.server().await?;
/// println!("{server}: transactions {}, bulkWrite {}", server.has_transactions(), server.has_bulk_write());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    topology: Topology,
    max_wire_version: i32,
    max_message_bytes: u64,
    max_write_batch: usize,
    sessions: bool,
}

/// The warning for a standalone server, with the commands that make it a replica set.
const STANDALONE: &str = "this is a standalone server, which has no transactions: copies, subsets and computed fields that are declared \
     `auto` are eventual, and a crash may leave a two-way link, or the move of a child to another parent, half done until `audit` \
     finds it and `repair` completes it. A replica set of one node has transactions: restart the server with `mongod --replSet rs0` \
     and its other options, run `rs.initiate()` once in `mongosh`, and connect with `?replicaSet=rs0`";

/// Whether the server does not know a command: `CommandNotFound`.
fn is_unknown_command(error: &mongodb::error::Error) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 59)
}

impl Server {
    /// A warning for users of this server, if there is one.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        (self.topology == Topology::Standalone).then_some(STANDALONE)
    }

    pub(crate) async fn ask(db: &Database) -> Result<Server> {
        // `hello` came with 4.4.2; `isMaster` is its older name, which every server still knows.
        let admin = db.client().database("admin");
        let admin = &admin;
        let ask = |name: &'static str| read(move || async move { admin.run_command(doc! { name: 1 }).await });
        let reply = match ask("hello").await {
            Err(error) if is_unknown_command(&error) => ask("isMaster").await?,
            reply => reply?,
        };
        Ok(Server::from_reply(&reply))
    }

    fn from_reply(reply: &Document) -> Server {
        let topology = if reply.get_str("msg").is_ok_and(|msg| msg == "isdbgrid") {
            Topology::Sharded
        } else if reply.contains_key("setName") {
            Topology::ReplicaSet
        } else {
            Topology::Standalone
        };
        let number = |name: &str, default: i64| match reply.get(name) {
            Some(mongodb::bson::Bson::Int32(n)) => i64::from(*n),
            Some(mongodb::bson::Bson::Int64(n)) => *n,
            Some(mongodb::bson::Bson::Double(n)) => *n as i64,
            _ => default,
        };
        Server {
            topology,
            max_wire_version: number("maxWireVersion", 0) as i32,
            // The defaults are those of the documentation of `hello`.
            max_message_bytes: number("maxMessageSizeBytes", 48_000_000).max(1) as u64,
            max_write_batch: number("maxWriteBatchSize", 100_000).max(1) as usize,
            sessions: reply.contains_key("logicalSessionTimeoutMinutes"),
        }
    }

    /// The kind of the deployment.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// assert_eq!(odm.server().await?.topology(), odm::server::Topology::ReplicaSet);
    /// # Ok(()) }
    /// ```
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// Whether several writes can be one transaction.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// if !odm.server().await?.has_transactions() {
    ///     println!("start the server as a replica set");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn has_transactions(&self) -> bool {
        self.sessions && self.topology != Topology::Standalone
    }

    /// Whether `$lookup` takes both a field and a pipeline, from a collection that may be sharded: it came with MongoDB 5.0
    /// (wire version 13), and on a sharded cluster with 5.1.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// if !odm.server().await?.has_lookup_with_pipeline() {
    ///     println!("the first few children are asked for parent by parent");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn has_lookup_with_pipeline(&self) -> bool {
        match self.topology {
            Topology::Sharded => self.max_wire_version >= 14,
            _ => self.max_wire_version >= 13,
        }
    }

    /// Whether `$lookup` can give the first children of many parents, of a collection that may be sharded.
    ///
    /// In a transaction, a server refuses it of a sharded collection before MongoDB 8.0, and afterwards until its
    /// `featureCompatibilityVersion` is raised, which no reply to `hello` tells. The error would end the transaction.
    pub(crate) fn joins_children(&self, in_transaction: bool) -> bool {
        self.has_lookup_with_pipeline() && !(in_transaction && self.topology == Topology::Sharded)
    }

    /// Whether it has `$dateTrunc`, which came with MongoDB 5.0.
    pub(crate) fn has_date_trunc(&self) -> bool {
        self.max_wire_version >= 13
    }

    /// Whether it has the `bulkWrite` command, which came with MongoDB 8.0 (wire version 25).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let one_round_trip = odm.server().await?.has_bulk_write();
    /// # Ok(()) }
    /// ```
    pub fn has_bulk_write(&self) -> bool {
        self.max_wire_version >= 25
    }

    /// Whether it keeps documents as they were before and after a change, for change streams: a replica set or a sharded cluster
    /// from MongoDB 6.0 on (wire version 17).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// if !odm.server().await?.has_pre_and_post_images() {
    ///     println!("a deletion says no more than the id");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn has_pre_and_post_images(&self) -> bool {
        self.has_transactions() && self.max_wire_version >= 17
    }

    /// The greatest size of one message in bytes.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// println!("{} bytes", odm.server().await?.max_message_bytes()); // 48000000 bytes
    /// # Ok(()) }
    /// ```
    pub fn max_message_bytes(&self) -> u64 {
        self.max_message_bytes
    }

    /// The greatest number of writes in one command.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// println!("{} writes", odm.server().await?.max_write_batch()); // 100000 writes
    /// # Ok(()) }
    /// ```
    pub fn max_write_batch(&self) -> usize {
        self.max_write_batch
    }

    /// The version of the wire protocol: 9 is MongoDB 4.4, 25 is 8.0.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// assert!(odm.server().await?.max_wire_version() >= 9);
    /// # Ok(()) }
    /// ```
    pub fn max_wire_version(&self) -> i32 {
        self.max_wire_version
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let topology = match self.topology {
            Topology::Standalone => "a standalone server",
            Topology::ReplicaSet => "a replica set",
            Topology::Sharded => "a sharded cluster",
        };
        write!(f, "{topology} of wire version {}", self.max_wire_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_known_by_its_reply() {
        let set = Server::from_reply(
            &doc! { "setName": "odm", "maxWireVersion": 12, "logicalSessionTimeoutMinutes": 30 },
        );
        assert_eq!(
            (set.topology(), set.has_transactions(), set.has_bulk_write()),
            (Topology::ReplicaSet, true, false)
        );
        let sharded = Server::from_reply(
            &doc! { "msg": "isdbgrid", "maxWireVersion": 25, "logicalSessionTimeoutMinutes": 30 },
        );
        assert_eq!(
            (
                sharded.topology(),
                sharded.has_transactions(),
                sharded.has_bulk_write()
            ),
            (Topology::Sharded, true, true)
        );
        let alone = Server::from_reply(&doc! { "maxWireVersion": 9, "logicalSessionTimeoutMinutes": 30 });
        assert_eq!(
            (alone.topology(), alone.has_transactions()),
            (Topology::Standalone, false)
        );
        assert_eq!(alone.to_string(), "a standalone server of wire version 9");
        let warning = alone.warning().unwrap_or_default();
        for part in ["mongod --replSet rs0", "rs.initiate()", "`audit`"] {
            assert!(warning.contains(part), "{part}");
        }
        assert_eq!((set.warning(), sharded.warning()), (None, None));
    }

    #[test]
    fn children_are_joined_where_the_server_does_it() {
        let joins = |reply: Document| {
            let server = Server::from_reply(&reply);
            (server.joins_children(false), server.joins_children(true))
        };
        let set = |version: i32| joins(doc! { "setName": "odm", "maxWireVersion": version });
        let sharded = |version: i32| joins(doc! { "msg": "isdbgrid", "maxWireVersion": version });
        let alone = |version: i32| joins(doc! { "maxWireVersion": version });
        assert_eq!(
            [9, 12, 13, 25].map(set),
            [(false, false), (false, false), (true, true), (true, true)]
        );
        assert_eq!(
            [9, 13, 14, 25].map(sharded),
            [(false, false), (false, false), (true, false), (true, false)]
        );
        assert_eq!([9, 13].map(alone), [(false, false), (true, true)]);
    }

    #[test]
    fn an_odd_reply_is_the_least_that_a_server_can_be() {
        let odd = Server::from_reply(
            &doc! { "maxWireVersion": "x", "maxWriteBatchSize": -1, "maxMessageSizeBytes": 1.5 },
        );
        assert_eq!(
            (
                odd.max_wire_version(),
                odd.max_write_batch(),
                odd.max_message_bytes()
            ),
            (0, 1, 1)
        );
    }
}

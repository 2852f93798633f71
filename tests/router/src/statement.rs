//! The context of one command: what it sends to the shards, in which session, and what its reply gets from theirs.

use crate::catalog::{SHARDS, Sharded, Shards, database, marked};
use crate::late::{Window, session};
use crate::order::Fnv;
use crate::reply::{Answer, Failure, WRITE_CONFLICT, count, documents, is_ok, renamed, shell};
use crate::request::Request;
use crate::shared::Shared;
use crate::transaction::{Held, State, Transaction};
use crate::wire::Backing;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, Timestamp, doc};
use std::sync::Arc;

/// Whether a command that is sent to a shard reads or writes documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It reads documents.
    Read,
    /// It writes documents.
    Write,
    /// It does neither.
    Other,
}

/// The session of a command.
pub(crate) enum Session {
    Plain(Option<Document>),
    /// A write that may be sent again.
    Retryable(Document, i64),
    /// A statement of the application's transaction.
    Transaction(Held),
    /// A statement of a transaction of the router's own.
    Own(Box<Transaction>),
}

/// The context of a command.
pub(crate) struct Cx<'c> {
    pub shared: &'c Arc<Shared>,
    pub backing: &'c mut Backing,
    /// The application's database.
    pub database: String,
    pub session: Session,
    after: Option<Timestamp>,
    level: Option<String>,
    read_concern: Option<Document>,
    cluster_time: Option<Document>,
    /// The time of the last reply of a shard.
    operation_time: Option<Timestamp>,
    /// Collections that were made outside of a transaction, to be dropped with the command.
    pub scratch: Vec<(String, String)>,
    /// The position of the first statement that is sent, by which a retryable write is told from others of the same command.
    pub position: usize,
}

/// What belongs to the session of a command and not to the command itself.
const OF_THE_SESSION: [&str; 7] = [
    "lsid",
    "txnNumber",
    "autocommit",
    "startTransaction",
    "readConcern",
    "$clusterTime",
    "$db",
];

impl<'c> Cx<'c> {
    /// The context of a command, and the command without its session.
    pub(crate) fn new(
        shared: &'c Arc<Shared>,
        backing: &'c mut Backing,
        request: &Request,
        transaction: Option<Held>,
    ) -> (Cx<'c>, Document) {
        let mut command = request.command();
        let read_concern = command.get_document("readConcern").ok().cloned();
        let cluster_time = command.get_document("$clusterTime").ok().cloned();
        OF_THE_SESSION.iter().for_each(|name| drop(command.remove(name)));
        let session = match (transaction, request.session.clone(), request.number) {
            (Some(held), ..) => Session::Transaction(held),
            (None, Some(session), Some(number)) => Session::Retryable(session, number),
            (None, session, _) => Session::Plain(session),
        };
        let cx = Cx {
            shared,
            backing,
            database: request.database.clone(),
            session,
            after: request.after,
            level: request.level.clone(),
            read_concern,
            cluster_time,
            operation_time: None,
            scratch: Vec::new(),
            position: 0,
        };
        (cx, command)
    }

    /// The transaction that the command is part of.
    pub(crate) fn transaction(&mut self) -> Option<&mut Transaction> {
        match &mut self.session {
            Session::Transaction(held) => Some(held),
            Session::Own(transaction) => Some(transaction),
            _ => None,
        }
    }

    /// The version of the catalog that reads go by, in a transaction of the application.
    pub(crate) fn since(&self) -> Option<u64> {
        match &self.session {
            Session::Transaction(held) => Some(held.since),
            _ => None,
        }
    }

    /// Whether the command is part of a transaction of the application.
    pub(crate) fn is_in_transaction(&self) -> bool {
        matches!(self.session, Session::Transaction(_))
    }

    /// Whether a write of the command may change a shard key: in a transaction, or where it may be sent again.
    pub(crate) fn may_change_keys(&self) -> bool {
        matches!(self.session, Session::Transaction(_) | Session::Retryable(..))
    }

    /// The shards of a statement, which is counted.
    pub(crate) fn shards(
        &mut self,
        namespace: &str,
        sharded: &Sharded,
        filter: &Document,
        has_collation: bool,
        what: &str,
    ) -> Vec<usize> {
        let shards = marked(sharded.shards_of(filter, has_collation, self.since()));
        self.count(namespace, shards.len(), what, filter);
        shards
    }

    /// Counts a statement, and notes that the transaction has touched its collection.
    pub(crate) fn count(&mut self, namespace: &str, shards: usize, what: &str, filter: &Document) {
        self.shared.control.count(namespace, shards, || {
            format!("{what} {namespace} {}", shell(filter))
        });
        self.touch(namespace);
    }

    /// Notes that the transaction has touched a collection.
    pub(crate) fn touch(&mut self, namespace: &str) {
        if let Session::Transaction(held) = &self.session {
            self.shared.transactions.touch(held, namespace);
        }
    }

    /// Executes a command on a shard. An error of the server is a failure, and ends the transaction.
    pub(crate) async fn send(&mut self, shard: usize, kind: Kind, command: Document) -> Answer {
        let reply = self.exchange(shard, kind, command).await?;
        if is_ok(&reply) {
            Ok(reply)
        } else {
            Err(Failure::Refused(reply))
        }
    }

    /// The same, with an error of the server as the reply.
    pub(crate) async fn exchange(&mut self, shard: usize, kind: Kind, mut command: Document) -> Answer {
        let database = database(&self.database, shard);
        if let Some(window) = self.window(shard, kind).await?
            && let Some(reply) = window.read(&database, &command).await?
        {
            return Ok(self.of_application(shard, &database, reply));
        }
        if let Some(time) = &self.cluster_time {
            command.insert("$clusterTime", time.clone());
        }
        match &mut self.session {
            Session::Plain(session) => {
                command.extend(session.clone().map(|session| ("lsid".to_owned(), session.into())));
            }
            Session::Retryable(session, number) if kind == Kind::Write => {
                command.insert("lsid", derived(session, shard, self.position));
                command.insert("txnNumber", *number);
            }
            Session::Retryable(session, _) => {
                command.insert("lsid", session.clone());
            }
            Session::Transaction(held) => {
                held.takes_part(shard, kind == Kind::Write);
                held.enter(&mut command);
            }
            Session::Own(transaction) => {
                // It concerns the commit, and a statement of a transaction may have none.
                if let Some(concern) = command.remove("writeConcern") {
                    transaction.write_concern = Some(concern);
                }
                transaction.enter(&mut command);
            }
        }
        let is_plain = !matches!(self.session, Session::Transaction(_) | Session::Own(_));
        if let Some(concern) = self
            .read_concern
            .as_ref()
            .filter(|_| is_plain && kind == Kind::Read)
        {
            command.insert("readConcern", concern.clone());
        }
        let reply = self.backing.run(&database, command).await?;
        let mut reply = self.of_application(shard, &database, reply);
        if !is_ok(&reply) || reply.contains_key("writeErrors") {
            if self.is_in_transaction() && kind == Kind::Write && WRITE_CONFLICT.is(&reply) {
                let message = reply.get_str("errmsg").unwrap_or_default();
                let message = format!(
                    "Encountered error from {} during a transaction :: caused by :: {message}",
                    SHARDS[shard]
                );
                reply.insert("errmsg", message);
            }
            self.fail().await?;
        }
        Ok(reply)
    }

    /// The state before a commit that a read of a late shard sees. Writes wait until the shard has applied the commit; a transaction
    /// that has read the state before can't go on then.
    async fn window(&mut self, shard: usize, kind: Kind) -> Answer<Option<Arc<Window>>> {
        match (&self.session, kind) {
            (_, Kind::Other) | (Session::Own(_), Kind::Read) => Ok(None),
            (Session::Transaction(held), _) => {
                let Some(window) = held.late[shard].clone() else {
                    // A statement that meets what is not applied yet waits.
                    if kind == Kind::Write {
                        self.shared.late.applied(shard).await;
                    }
                    return Ok(None);
                };
                if kind == Kind::Read && !window.has_applied() {
                    return Ok(Some(window));
                }
                window.applied().await;
                self.fail().await?;
                Err(Failure::Refused(WRITE_CONFLICT.transient(format!(
                    "Encountered error from {} during a transaction :: caused by :: WriteConflict error: this operation conflicted \
                     with another operation. Please retry your operation or multi-document transaction.",
                    SHARDS[shard]
                ))))
            }
            (_, Kind::Write) => {
                self.shared.late.applied(shard).await;
                Ok(None)
            }
            (_, Kind::Read) => Ok(self
                .shared
                .late
                .seen(shard, self.after, self.level.as_deref())
                .await),
        }
    }

    /// Rewrites what the reply of a shard names, and notes its time.
    fn of_application(&mut self, shard: usize, database: &str, reply: Document) -> Document {
        let reply = if shard == 0 {
            reply
        } else {
            renamed(reply, database, &self.database)
        };
        if let Ok(time) = reply.get_timestamp("operationTime")
            && self
                .operation_time
                .is_none_or(|known| (known.time, known.increment) < (time.time, time.increment))
        {
            self.operation_time = Some(time);
            self.cluster_time = reply
                .get_document("$clusterTime")
                .ok()
                .cloned()
                .or(self.cluster_time.take());
        }
        reply
    }

    /// Ends the transaction after an error, as each error of a statement does.
    pub(crate) async fn fail(&mut self) -> Answer<()> {
        let shared = self.shared.clone();
        let Some(transaction) = self.transaction() else {
            return Ok(());
        };
        transaction.state = State::Aborted;
        let abort = std::mem::take(&mut transaction.has_begun).then(|| transaction.abort());
        let scratch = std::mem::take(&mut transaction.scratch);
        shared.transactions.end(transaction);
        if let Some(abort) = abort {
            self.backing.run("admin", abort).await?;
        }
        self.drop_scratch(scratch).await
    }

    /// Drops collections that were made for a transaction.
    pub(crate) async fn drop_scratch(&mut self, scratch: Vec<(String, String)>) -> Answer<()> {
        for (database, collection) in scratch {
            self.backing.run(&database, doc! { "drop": collection }).await?;
        }
        Ok(())
    }

    /// The context of what the router does by itself, in a session.
    pub(crate) fn of_router(
        shared: &'c Arc<Shared>,
        backing: &'c mut Backing,
        database: &str,
        session: Document,
    ) -> Cx<'c> {
        Cx {
            shared,
            backing,
            database: database.to_owned(),
            session: Session::Plain(Some(session)),
            after: None,
            level: None,
            read_concern: None,
            cluster_time: None,
            operation_time: None,
            scratch: Vec::new(),
            position: 0,
        }
    }

    /// Begins the transaction of a move in its session.
    pub(crate) fn begin_move(&mut self) {
        if let Session::Plain(Some(session)) = &self.session {
            self.session = Session::Own(Box::new(Transaction::new(session.clone(), 1, 0)));
        }
    }

    /// Ends it. Gives the reply of a commit that failed.
    pub(crate) async fn end_move(&mut self, commits: bool) -> Answer<Option<Document>> {
        self.end_own(Some(Session::Plain(None)), commits).await
    }

    /// Begins a transaction of the router's own, unless the command is part of one already. Gives the session before it.
    pub(crate) fn begin_own(&mut self) -> Option<Session> {
        if self.transaction().is_some() {
            return None;
        }
        let mut transaction = Transaction::new(session(), 1, 0);
        transaction.read_concern = self.read_concern.clone();
        Some(std::mem::replace(
            &mut self.session,
            Session::Own(Box::new(transaction)),
        ))
    }

    /// Ends that transaction. Gives the reply of a commit that failed.
    pub(crate) async fn end_own(
        &mut self,
        before: Option<Session>,
        commits: bool,
    ) -> Answer<Option<Document>> {
        let scratch = std::mem::take(&mut self.scratch);
        self.drop_scratch(scratch).await?;
        let Some(before) = before else { return Ok(None) };
        let Session::Own(transaction) = std::mem::replace(&mut self.session, before) else {
            return Ok(None);
        };
        if !transaction.has_begun {
            return Ok(None);
        }
        let mut end = transaction.abort();
        if commits {
            end.remove("abortTransaction");
            let mut commit = doc! { "commitTransaction": 1 };
            commit.extend(end);
            commit.extend(
                transaction
                    .write_concern
                    .clone()
                    .map(|concern| ("writeConcern".to_owned(), concern)),
            );
            end = commit;
        }
        let reply = self.backing.run("admin", end).await?;
        self.drop_scratch(transaction.scratch.clone()).await?;
        let reply = self.of_application(0, "", reply);
        Ok((commits && !is_ok(&reply)).then_some(reply))
    }

    /// Reads all documents of a find or a pipeline.
    pub(crate) async fn read_all(&mut self, shard: usize, mut command: Document) -> Answer<Vec<Document>> {
        ["batchSize", "singleBatch"]
            .iter()
            .for_each(|name| drop(command.remove(name)));
        if command.contains_key("aggregate") {
            command.insert("cursor", doc! {});
        }
        self.drain(shard, Kind::Read, command).await
    }

    /// Reads all that another command with a cursor lists.
    pub(crate) async fn read_all_of(&mut self, shard: usize, mut command: Document) -> Answer<Vec<Document>> {
        command.remove("cursor");
        self.drain(shard, Kind::Other, command).await
    }

    async fn drain(&mut self, shard: usize, kind: Kind, command: Document) -> Answer<Vec<Document>> {
        let collection = match command.values().next() {
            Some(Bson::String(collection)) => collection.clone(),
            _ => format!("$cmd.{}", command.keys().next().map_or("", String::as_str)),
        };
        let reply = self.send(shard, kind, command).await?;
        let mut cursor = reply.get_document("cursor").cloned().unwrap_or_default();
        let mut all = documents(&cursor, "firstBatch");
        while count(&cursor, "id") != 0 {
            let more = doc! { "getMore": count(&cursor, "id"), "collection": &collection };
            let reply = self.send(shard, Kind::Other, more).await?;
            cursor = reply.get_document("cursor").cloned().unwrap_or_default();
            all.extend(documents(&cursor, "nextBatch"));
        }
        Ok(all)
    }

    /// The reply with what the session adds to it.
    pub(crate) fn finished(&mut self, mut reply: Document) -> Document {
        for name in ["operationTime", "$clusterTime", "electionId", "opTime"] {
            reply.remove(name);
        }
        if let Session::Transaction(held) = &self.session
            && is_ok(&reply)
        {
            reply.insert("recoveryToken", held.token());
        }
        if let Some(time) = self.operation_time {
            reply.insert("operationTime", time);
            reply.extend(
                self.cluster_time
                    .clone()
                    .map(|time| ("$clusterTime".to_owned(), time.into())),
            );
        }
        reply
    }
}

/// The session in which a part of a retryable write is sent to a shard: all shards are one server, to which the same session and
/// number are the same write.
fn derived(session: &Document, shard: usize, position: usize) -> Document {
    let half = |salt: u8| {
        let mut hash = Fnv::new();
        hash.bytes(&session.to_vec().unwrap_or_default());
        hash.bytes(&[salt, shard as u8]);
        hash.bytes(&position.to_le_bytes());
        hash.end().to_le_bytes()
    };
    let bytes = [half(1), half(2)].concat();
    doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes } }
}

/// All shards.
pub(crate) const ALL: Shards = [true; SHARDS.len()];

//! A connection of the application: each command is answered by the router, executed on shards, or passed on as it is to the first
//! shard, which has every collection that is not sharded.

use crate::admin;
use crate::bulk;
use crate::config;
use crate::control::{Move, RoutingError};
use crate::cursor;
use crate::ddl;
use crate::late::Window;
use crate::moves;
use crate::read;
use crate::reply::{
    Answer, Failure, MIGRATION_CONFLICT, NO_SUCH_TRANSACTION, STALE_CONFIG, TRANSIENT, count, integer, is_ok,
};
use crate::request::Request;
use crate::shared::Shared;
use crate::statement::{Cx, Kind};
use crate::stream;
use crate::transaction::{Held, State, Transaction};
use crate::wire::{Backing, body, message, packed, packed_raw};
use crate::write;
use bson::{Document, RawDocumentBuf, doc};
use std::io;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A reply.
pub(crate) enum Reply {
    /// As the backing server has sent it.
    Raw(Vec<u8>),
    Document(Document),
    /// The command gets none.
    None,
}

impl From<Document> for Reply {
    fn from(reply: Document) -> Reply {
        Reply::Document(reply)
    }
}

/// A connection of the application, with one to the backing server.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    backing: Backing,
}

/// Answers the commands of a connection until it ends.
pub(crate) async fn serve(shared: Arc<Shared>, mut client: TcpStream) -> io::Result<()> {
    client.set_nodelay(true)?;
    let backing = Backing::connect(&shared.server).await?;
    let mut connection = Connection { shared, backing };
    while let Some(message) = message(&mut client).await {
        let Some(request) = Request::read(message) else {
            break;
        };
        let reply = match connection.answer(&request).await {
            Ok(Reply::Raw(reply)) => reply,
            Ok(Reply::Document(reply)) | Err(Failure::Refused(reply)) => packed(&reply, request.id()),
            Ok(Reply::None) => continue,
            Err(Failure::Io(error)) => return Err(error),
        };
        if !request.is_unanswered {
            client.write_all(&reply).await?;
        }
    }
    Ok(())
}

impl Connection {
    async fn answer(&mut self, request: &Request) -> Answer<Reply> {
        let is_end = matches!(request.name.as_str(), "commitTransaction" | "abortTransaction");
        if let Some(number) = self.shared.control.number(request) {
            for chunk in self.shared.control.due_moves(number) {
                self.move_now(chunk).await?;
            }
            if let Some(error) = self.shared.control.error_at(number)
                && request.is_in_transaction
                && !is_end
            {
                return self.fail(request, error).await;
            }
        }
        if is_end {
            return self.end(request).await;
        }
        if matches!(request.name.as_str(), "hello" | "isMaster" | "ismaster") {
            return Ok(self.hello(request).into());
        }
        if let Some(reply) = admin::execute(&self.shared, &mut self.backing, request).await? {
            return Ok(reply.into());
        }
        if request.database == "config" {
            // It may be the first statement of a transaction, which the backing server does not have yet.
            drop(self.hold(request).await?);
            return config::execute(&self.shared, &mut self.backing, request)
                .await
                .map(Reply::from);
        }
        let Some(own) = Own::of(&self.shared, request) else {
            return self.pass(request).await;
        };
        let transaction = self.hold(request).await?;
        if request.is_in_transaction && transaction.is_none() {
            return Err(Failure::Refused(unknown(request)));
        }
        self.execute(request, own, transaction).await.map(Reply::from)
    }

    /// Executes a command that concerns sharded collections.
    async fn execute(&mut self, request: &Request, own: Own, transaction: Option<Held>) -> Answer {
        let shared = self.shared.clone();
        let _placement = match own {
            Own::Cursor | Own::Stream => None,
            _ => Some(shared.placement.read().await),
        };
        let (mut cx, command) = Cx::new(&self.shared, &mut self.backing, request, transaction);
        let outcome = match own {
            Own::Cursor if request.name == "getMore" => cursor::get_more(&mut cx, command).await,
            Own::Cursor => cursor::kill(&mut cx, command).await,
            Own::Stream => stream::open(&mut cx, request, command).await,
            Own::Read => read::execute(&mut cx, request, command).await,
            Own::Write => write::execute(&mut cx, request, command).await,
            Own::Bulk => bulk::execute(&mut cx, command).await,
            Own::Ddl => ddl::execute(&mut cx, request, command).await,
        };
        match outcome {
            Ok(reply) => {
                if !is_ok(&reply) || reply.contains_key("writeErrors") {
                    cx.fail().await?;
                }
                Ok(cx.finished(reply))
            }
            Err(Failure::Refused(reply)) => {
                cx.fail().await?;
                Ok(cx.finished(reply))
            }
            Err(error) => Err(error),
        }
    }

    /// Passes a command on to the first shard, as it is.
    async fn pass(&mut self, request: &Request) -> Answer<Reply> {
        if !request.is_in_transaction {
            if request.is_read()
                && let Some(window) = self
                    .shared
                    .late
                    .seen(0, request.after, request.level.as_deref())
                    .await
            {
                let command = request.command();
                if let Some(reply) = window.read(&request.database, &command).await? {
                    return Ok(self.shared.cursors.of_late(request, &command, reply).into());
                }
            }
            if request.is_write() {
                self.shared.late.applied(0).await;
            }
            return self.forward(request, &request.message).await;
        }
        let Some(mut held) = self.hold(request).await? else {
            return self.forward(request, &request.message).await;
        };
        if held.late[0].is_some() || (request.is_write() && self.shared.late.current(0).is_some()) {
            return self.pass_late(request, held).await;
        }
        held.takes_part(0, request.is_write());
        if let Some(namespace) = request.namespace() {
            self.shared.transactions.touch(&held, &namespace);
        }
        let reply = if held.has_begun == request.starts {
            let mut command = request.command();
            command.remove("startTransaction");
            command.remove("readConcern");
            held.enter(&mut command);
            self.backing.exchange(&packed(&command, request.id())).await?
        } else {
            held.has_begun = true;
            self.backing.exchange(&request.message).await?
        };
        let Some(mut answer) = body(&reply).and_then(|body| RawDocumentBuf::from_bytes(body.to_vec()).ok())
        else {
            return Ok(Reply::Raw(reply));
        };
        let is_error =
            !(answer.get_f64("ok").is_ok_and(|ok| ok == 1.0) || answer.get_i32("ok").is_ok_and(|ok| ok == 1));
        if is_error || answer.get("writeErrors").is_ok_and(|errors| errors.is_some()) {
            let (mut cx, _) = Cx::new(&self.shared, &mut self.backing, request, Some(held));
            cx.fail().await?;
            return Ok(Reply::Raw(reply));
        }
        if let Ok(token) = RawDocumentBuf::try_from(&held.token()) {
            answer.append(bson::raw::cstr!("recoveryToken"), token);
        }
        Ok(Reply::Raw(packed_raw(&answer, request.id())))
    }

    /// A statement of a transaction on the first shard, while that is late: decoded, as a statement of a sharded collection.
    async fn pass_late(&mut self, request: &Request, held: Held) -> Answer<Reply> {
        let (mut cx, command) = Cx::new(&self.shared, &mut self.backing, request, Some(held));
        let kind = match (request.is_read(), request.is_write()) {
            (true, _) => Kind::Read,
            (_, true) => Kind::Write,
            _ => Kind::Other,
        };
        let reply = cx.exchange(0, kind, command.clone()).await?;
        let reply = cx.shared.cursors.of_late(request, &command, reply);
        Ok(cx.finished(reply).into())
    }

    async fn forward(&mut self, request: &Request, message: &[u8]) -> Answer<Reply> {
        if request.is_unanswered {
            self.backing.send(message).await?;
            return Ok(Reply::None);
        }
        Ok(Reply::Raw(self.backing.exchange(message).await?))
    }

    /// The transaction of a command, which begins with it or takes another statement; `None` where the router does not know it.
    async fn hold(&self, request: &Request) -> Answer<Option<Held>> {
        let (Some(session), Some(number), true) =
            (&request.session, request.number, request.is_in_transaction)
        else {
            return Ok(None);
        };
        if !request.starts {
            let Some(held) = self.shared.transactions.get(session, number).await else {
                return Ok(None);
            };
            held.check()?;
            return Ok(Some(held));
        }
        let since = self.shared.catalog().version;
        let mut transaction = Transaction::new(session.clone(), number, since);
        transaction.read_concern = request.command().get_document("readConcern").ok().cloned();
        for (shard, late) in transaction.late.iter_mut().enumerate() {
            *late = self
                .shared
                .late
                .seen(shard, request.after, request.level.as_deref())
                .await;
        }
        Ok(Some(self.shared.transactions.begin(transaction).await))
    }

    /// Ends a transaction.
    async fn end(&mut self, request: &Request) -> Answer<Reply> {
        let commits = request.name == "commitTransaction";
        let mut command = request.command();
        command.remove("recoveryToken");
        let held = match (&request.session, request.number) {
            (Some(session), Some(number)) => self.shared.transactions.get(session, number).await,
            _ => None,
        };
        let Some(mut held) = held else {
            return Ok(self.backing.run("admin", command).await?.into());
        };
        let number = held.number;
        if held.state == State::Committed && commits {
            return Ok(doc! { "ok": 1.0, "recoveryToken": held.token() }.into());
        }
        if held.state != State::InProgress {
            let mut reply = NO_SUCH_TRANSACTION.transient(format!("Transaction {number} has been aborted."));
            reply.insert("recoveryToken", held.token());
            return Ok(reply.into());
        }
        let mut reply = match held.has_begun {
            true => self.end_begun(&held, command, commits).await?,
            false => doc! { "ok": 1.0 },
        };
        if is_ok(&reply) {
            held.state = if commits { State::Committed } else { State::Aborted };
        } else if reply
            .get_array("errorLabels")
            .is_ok_and(|labels| labels.contains(&TRANSIENT.into()))
        {
            held.state = State::Aborted;
        }
        if held.state != State::InProgress {
            self.shared.transactions.end(&held);
            for (database, collection) in std::mem::take(&mut held.scratch) {
                self.backing.run(&database, doc! { "drop": collection }).await?;
            }
        }
        reply.insert("recoveryToken", held.token());
        Ok(reply.into())
    }

    /// Ends a transaction that the backing server has. Where its commit has two phases, shards may apply it late.
    async fn end_begun(
        &mut self,
        held: &Transaction,
        command: Document,
        commits: bool,
    ) -> io::Result<Document> {
        let mut late = Vec::new();
        if commits && held.has_two_phases() {
            for (shard, takes_part) in held.participants.iter().enumerate() {
                if let Some(delay) = self.shared.late.delay(shard).filter(|_| *takes_part) {
                    self.shared.late.applied(shard).await;
                    let window = Window::open(&self.shared.server).await?;
                    late.push((shard, delay, window));
                }
            }
        }
        let reply = self.backing.run("admin", command).await?;
        for (shard, delay, window) in late {
            if is_ok(&reply) {
                let committed = reply.get_timestamp("operationTime").ok();
                self.shared.late.show(shard, window, committed, delay);
            } else {
                window.close().await;
            }
        }
        Ok(reply)
    }

    /// Ends a statement of a transaction by an error of routing.
    async fn fail(&mut self, request: &Request, error: RoutingError) -> Answer<Reply> {
        let Some(held) = self.hold(request).await? else {
            return Err(Failure::Refused(unknown(request)));
        };
        let number = held.number;
        let (mut cx, _) = Cx::new(&self.shared, &mut self.backing, request, Some(held));
        cx.fail().await?;
        let namespace = request.namespace().unwrap_or_default();
        let reply = match error {
            RoutingError::StaleConfig => STALE_CONFIG.transient(format!(
                "Transaction {number} was aborted on a statement due to: an error from cluster data placement change :: caused by :: \
                 sharding status of collection {namespace} is not currently known and needs to be recovered"
            )),
            RoutingError::MigrationConflict => MIGRATION_CONFLICT.transient(format!(
                "Encountered error from sh0 during a transaction :: caused by :: Collection {namespace} has undergone a catalog change \
                 operation and no longer satisfies the requirements for the current transaction"
            )),
        };
        Ok(cx.finished(reply).into())
    }

    /// Moves a chunk to the other shard before a command. It waits for a later one while an open transaction has touched the
    /// collection.
    async fn move_now(&mut self, chunk: Move) -> Answer<()> {
        if self.shared.transactions.is_touched(&chunk.namespace) {
            self.shared.control.move_at(1, chunk);
            return Ok(());
        }
        let values = self.shared.sharded(&chunk.namespace).and_then(|sharded| {
            let values = sharded.key.values(&chunk.of)?;
            Some((1 - sharded.owner(&values), values))
        });
        if let Some((to, values)) = values {
            moves::move_chunk(&self.shared, &mut self.backing, &chunk.namespace, &values, to).await?;
        }
        Ok(())
    }

    /// What the router says of itself.
    fn hello(&self, request: &Request) -> Document {
        let served = &self.shared.hello;
        let primary = if request.name == "hello" {
            "isWritablePrimary"
        } else {
            "ismaster"
        };
        let mut hello = doc! { primary: true, "msg": "isdbgrid" };
        for name in [
            "maxBsonObjectSize",
            "maxMessageSizeBytes",
            "maxWriteBatchSize",
            "logicalSessionTimeoutMinutes",
            "minWireVersion",
        ] {
            hello.extend(served.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        hello.insert("localTime", bson::DateTime::now());
        hello.insert("maxWireVersion", self.shared.max_wire_version);
        hello.insert("helloOk", true);
        hello.insert("ok", 1.0);
        hello
    }
}

/// The kinds of commands that the router executes itself, and does not pass on as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Cursor,
    Stream,
    Read,
    Write,
    Bulk,
    Ddl,
}

impl Own {
    fn of(shared: &Shared, request: &Request) -> Option<Own> {
        let is_sharded = || {
            let namespace = request.namespace();
            namespace.is_some_and(|namespace| {
                shared.sharded(&namespace).is_some() || shared.sharded_view(&namespace).is_some()
            })
        };
        match request.name.as_str() {
            "getMore" => {
                let id = count(&request.command(), "getMore");
                shared.cursors.has(id).then_some(Own::Cursor)
            }
            "killCursors" => {
                let ids = request
                    .command()
                    .get_array("cursors")
                    .cloned()
                    .unwrap_or_default();
                let is_own = ids.iter().filter_map(integer).any(|id| shared.cursors.has(id));
                is_own.then_some(Own::Cursor)
            }
            "insert" | "update" | "delete" | "findAndModify" | "findandmodify" => {
                is_sharded().then_some(Own::Write)
            }
            "bulkWrite" => bulk::is_own(shared, request).then_some(Own::Bulk),
            "find" | "count" | "distinct" => is_sharded().then_some(Own::Read),
            "aggregate" if request.has_stage(&["$changeStream"]) => {
                stream::is_own(shared, request).then_some(Own::Stream)
            }
            "aggregate" => (is_sharded() || read::names_sharded(shared, request)).then_some(Own::Read),
            "explain" => read::explains_sharded(shared, request).then_some(Own::Read),
            _ => ddl::is_own(shared, request).then_some(Own::Ddl),
        }
    }
}

fn unknown(request: &Request) -> Document {
    let number = request.number.unwrap_or_default();
    NO_SUCH_TRANSACTION.transient(format!(
        "cannot continue txnId {number} for session: there is no such transaction in progress"
    ))
}

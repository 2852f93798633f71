//! The statements of an insert, an update or a delete, and what has become of them.

use super::Refusal;
use crate::reply::{Answer, BAD_VALUE, Failure, count, documents, is_ok};
use crate::statement::{Cx, Kind};
use bson::{Bson, Document, doc};

/// The lists of the commands by their names.
const LISTS: [(&str, &str); 3] = [
    ("insert", "documents"),
    ("update", "updates"),
    ("delete", "deletes"),
];

/// A command with several statements.
#[derive(Debug)]
pub(crate) struct Batch {
    pub namespace: String,
    kind: &'static str,
    list: &'static str,
    /// The command without its statements.
    command: Document,
    pub statements: Vec<Document>,
    /// The position of the first statement in the command of the application.
    pub first: usize,
    pub is_ordered: bool,
    pub n: i64,
    pub modified: i64,
    pub upserted: Vec<Document>,
    pub errors: Vec<Document>,
    concern: Option<Document>,
}

impl Batch {
    /// Takes a command apart.
    pub(crate) fn of(namespace: &str, mut command: Document) -> Answer<Batch> {
        let name = command.keys().next().cloned().unwrap_or_default();
        let Some((kind, list)) = LISTS.into_iter().find(|(kind, _)| *kind == name) else {
            return BAD_VALUE.refuse(format!("no write: {name}"));
        };
        let statements = documents(&command, list);
        command.remove(list);
        let is_ordered = command.get_bool("ordered").unwrap_or(true);
        Ok(Batch {
            namespace: namespace.to_owned(),
            kind,
            list,
            command,
            statements,
            first: 0,
            is_ordered,
            n: 0,
            modified: 0,
            upserted: Vec::new(),
            errors: Vec::new(),
            concern: None,
        })
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether no more statements are executed, since one has failed.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_ordered && !self.errors.is_empty()
    }

    /// Notes the error of a statement.
    pub(super) fn refuse(&mut self, position: usize, mut error: Refusal) {
        let mut with_index = doc! { "index": position as i32 };
        error.remove("index");
        with_index.extend(error);
        self.errors.push(with_index);
    }

    /// Notes that a command could not be executed: in a transaction it ends with that, else it is the error of its statements.
    pub(super) fn failed(&mut self, cx: &Cx<'_>, positions: &[usize], reply: Document) -> Answer<()> {
        if cx.is_in_transaction() {
            return Err(Failure::Refused(reply));
        }
        let mut error = Document::new();
        for name in ["code", "codeName", "errmsg", "errInfo", "keyPattern", "keyValue"] {
            error.extend(reply.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        let number = if self.is_ordered { 1 } else { positions.len() };
        for position in &positions[..number.min(positions.len())] {
            self.refuse(*position, error.clone());
        }
        Ok(())
    }

    /// The command with other statements.
    pub(super) fn command(&self, statements: Vec<Document>) -> Document {
        let mut command = self.command.clone();
        command.insert(self.list, statements);
        command
    }

    /// Sends statements to a shard, and adds what became of them. Gives the reply.
    pub(super) async fn send(&mut self, cx: &mut Cx<'_>, shard: usize, positions: &[usize]) -> Answer {
        let statements = positions
            .iter()
            .map(|position| self.statements[*position].clone())
            .collect();
        cx.position = self.first + positions.first().copied().unwrap_or(0);
        let reply = cx.exchange(shard, Kind::Write, self.command(statements)).await?;
        if is_ok(&reply) {
            self.add(&reply, positions);
        } else {
            self.failed(cx, positions, reply.clone())?;
        }
        Ok(reply)
    }

    /// Sends one statement to several shards, whose counts are added.
    pub(super) async fn broadcast(
        &mut self,
        cx: &mut Cx<'_>,
        shards: &[usize],
        position: usize,
    ) -> Answer<()> {
        let mut first_error = None;
        for shard in shards {
            let errors = self.errors.len();
            self.send(cx, *shard, &[position]).await?;
            // One error of the statement is told.
            let mut added = self.errors.drain(errors..);
            first_error = first_error.or(added.next());
        }
        self.errors.extend(first_error);
        Ok(())
    }

    /// Adds a reply to statements at these positions.
    pub(super) fn add(&mut self, reply: &Document, positions: &[usize]) {
        self.n += count(reply, "n");
        self.modified += count(reply, "nModified");
        let position = |of: &Document| positions.get(count(of, "index") as usize).copied().unwrap_or(0);
        for mut upserted in documents(reply, "upserted") {
            upserted.insert("index", position(&upserted) as i32);
            self.upserted.push(upserted);
        }
        for mut error in documents(reply, "writeErrors") {
            if !error.contains_key("codeName")
                && let Some(name) = error.get_i32("code").ok().and_then(code_name)
            {
                error.insert("codeName", name);
            }
            let position = position(&error);
            self.refuse(position, error);
        }
        if let Ok(concern) = reply.get_document("writeConcernError") {
            self.concern = Some(concern.clone());
        }
    }

    /// The reply of the whole command.
    pub(crate) fn reply(mut self) -> Document {
        let number = |n: i64| i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32);
        let mut reply = Document::new();
        if self.kind == "update" {
            reply.insert("nModified", number(self.modified));
        }
        reply.insert("n", number(self.n));
        let index = |of: &Document| of.get_i32("index").unwrap_or_default();
        self.upserted.sort_by_key(index);
        self.errors.sort_by_key(index);
        if !self.upserted.is_empty() {
            reply.insert("upserted", self.upserted);
        }
        if !self.errors.is_empty() {
            reply.insert("writeErrors", self.errors);
        }
        reply.extend(
            self.concern
                .map(|concern| ("writeConcernError".to_owned(), concern.into())),
        );
        reply.insert("ok", 1.0);
        reply
    }
}

/// The name that `mongos` adds to the code of a statement's error.
fn code_name(code: i32) -> Option<&'static str> {
    Some(match code {
        2 => "BadValue",
        9 => "FailedToParse",
        66 => "ImmutableField",
        72 => "InvalidOptions",
        112 => "WriteConflict",
        121 => "DocumentValidationFailure",
        11000 => "DuplicateKey",
        _ => return None,
    })
}

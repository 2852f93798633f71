//! The commands that write, with several statements each: what the library sends for its rules, and the writes of a bulk where the
//! server has no `bulkWrite`.
//!
//! Other writes are actions of the driver, which sends them again after a failover. It sends no raw command twice.

use crate::model::document::DocumentMeta;
use crate::store::core::act;
use crate::store::cx::Cx;
use crate::store::map::{Context, Refusal, unacknowledged, write_error};
use crate::{Error, Result};
use mongodb::bson::raw::CStr;
use mongodb::bson::{self, Bson, Document, RawArrayBuf, RawBson, RawDocumentBuf, cstr};
use mongodb::options::{UpdateModifications, WriteConcern};
use std::borrow::Cow;

/// The greatest size of one command's statements. A command is a document too, so it has a document's limit and the 16 KB
/// that the server leaves above it for the rest of the command; the larger limit of a message holds for the driver's own
/// inserts, which it sends outside of the command.
const MAX_BYTES: usize = crate::model::size::MAX_DOCUMENT_SIZE as usize;

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
}

impl Verb {
    fn name(self) -> &'static CStr {
        match self {
            Verb::Insert => cstr!("insert"),
            Verb::Update => cstr!("update"),
            Verb::Delete => cstr!("delete"),
        }
    }

    /// The name of the list of statements.
    fn list(self) -> &'static CStr {
        match self {
            Verb::Insert => cstr!("documents"),
            Verb::Update => cstr!("updates"),
            Verb::Delete => cstr!("deletes"),
        }
    }
}

/// A statement of a command.
pub(crate) enum CommandStatement<'s> {
    Insert(&'s RawDocumentBuf),
    Update {
        filter: Cow<'s, Document>,
        update: UpdateModifications,
        array_filters: &'s [Document],
        many: bool,
        upsert: bool,
    },
    Delete {
        filter: Cow<'s, Document>,
        many: bool,
    },
}

impl CommandStatement<'_> {
    pub(crate) fn verb(&self) -> Verb {
        match self {
            CommandStatement::Insert(_) => Verb::Insert,
            CommandStatement::Update { .. } => Verb::Update,
            CommandStatement::Delete { .. } => Verb::Delete,
        }
    }

    /// As the command takes it, with a collation if its condition compares strings not as the collection does, and the name of the index
    /// that the server has to use.
    pub(crate) fn encode(&self, collation: Option<&Document>, hint: Option<&str>) -> Result<RawDocumentBuf> {
        let mut statement = match self {
            CommandStatement::Insert(document) => return Ok((*document).clone()),
            CommandStatement::Update {
                filter,
                update,
                array_filters,
                many,
                upsert,
            } => {
                let changes = match update {
                    UpdateModifications::Document(update) => Some(operators(update)?),
                    UpdateModifications::Pipeline(stages) => Some(pipeline(stages)?),
                    // Neither a type of update nor a pipeline, which only later drivers know.
                    _ => None,
                };
                let mut statement = updating(filter, changes, array_filters, *many)?;
                if *upsert {
                    statement.append(cstr!("upsert"), true);
                }
                statement
            }
            CommandStatement::Delete { filter, many } => {
                let mut statement = RawDocumentBuf::new();
                statement.append(cstr!("q"), raw(filter, "filter")?);
                statement.append(cstr!("limit"), i32::from(!*many));
                statement
            }
        };
        if let Some(collation) = collation {
            statement.append(cstr!("collation"), raw(collation, "collation")?);
        }
        if let Some(hint) = hint {
            statement.append(cstr!("hint"), hint);
        }
        Ok(statement)
    }
}

/// An update, for all documents that fit if it is of many.
pub(crate) fn updating(
    filter: &Document,
    changes: Option<RawBson>,
    array_filters: &[Document],
    many: bool,
) -> Result<RawDocumentBuf> {
    let mut statement = RawDocumentBuf::new();
    statement.append(cstr!("q"), raw(filter, "filter")?);
    if let Some(changes) = changes {
        statement.append(cstr!("u"), changes);
    }
    statement.append(cstr!("multi"), many);
    if !array_filters.is_empty() {
        statement.append(cstr!("arrayFilters"), raws(array_filters, "array filters")?);
    }
    Ok(statement)
}

/// The changes of an update by operators.
pub(crate) fn operators(update: &Document) -> Result<RawBson> {
    raw(update, "update").map(RawBson::Document)
}

/// The changes of an update by a pipeline.
pub(crate) fn pipeline(stages: &[Document]) -> Result<RawBson> {
    raws(stages, "update").map(RawBson::Array)
}

fn raw(document: &Document, field: &str) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document).map_err(|source| not_encoded(field, source))
}

fn raws(documents: &[Document], field: &str) -> Result<RawArrayBuf> {
    let mut array = RawArrayBuf::new();
    for document in documents {
        array.push(raw(document, field)?);
    }
    Ok(array)
}

fn not_encoded(field: &str, source: bson::error::Error) -> Error {
    Error::Encode {
        field: field.to_owned(),
        source: Box::new(source),
    }
}

/// The first of these statements: as many as one command can have, and always one. `most` is the server's maximum number.
pub(crate) fn in_one_command(statements: &[RawDocumentBuf], most: usize) -> &[RawDocumentBuf] {
    let mut bytes = 0;
    let fits = statements.iter().take(most).take_while(|statement| {
        // With its type, and its position as a name, in an array.
        bytes += statement.as_bytes().len() + 8;
        bytes <= MAX_BYTES
    });
    let number = fits.count().max(1).min(statements.len());
    statements.split_at(number).0
}

/// A command that writes to one collection.
#[derive(Clone, Copy)]
pub(crate) struct WriteCommand<'c> {
    pub(crate) verb: Verb,
    pub(crate) meta: &'static DocumentMeta,
    /// They are of this verb.
    pub(crate) statements: &'c [RawDocumentBuf],
    /// Whether the server stops at the first statement that it refuses.
    pub(crate) ordered: bool,
    /// The driver adds the write concern to its own operations, not to a command. A transaction has one for all.
    pub(crate) concern: Option<&'c WriteConcern>,
    /// Whether documents are written that the validator refuses, which takes a privilege of the user.
    pub(crate) past_validator: bool,
}

/// The server's reply to a command.
#[derive(Debug, Default)]
pub(crate) struct CommandReply {
    /// Number of documents that were inserted, matched (with those that an upsert inserted), or deleted.
    pub(crate) n: u64,
    /// Number of documents that updates have changed.
    pub(crate) modified: u64,
    /// Number of documents that upserts have inserted.
    pub(crate) upserted: u64,
    /// The positions of the statements that the server has refused, with the reasons.
    pub(crate) refused: Vec<(usize, Error)>,
    /// Why the writes, which were made, are not as safe as the write concern demands.
    pub(crate) unacknowledged: Option<Error>,
}

impl WriteCommand<'_> {
    /// Sends the command. A transaction in which the server refuses a statement can't be committed.
    ///
    /// # Errors
    /// Those of the whole command. A refusal of statements is in the reply.
    pub(crate) async fn send(&self, cx: &Cx<'_>) -> Result<CommandReply> {
        let command = self.encode(cx)?;
        let database = cx.odm.database().clone();
        cx.trip();
        let reply = act!(cx, command, database.run_raw_command(command));
        let reply = reply.map_err(|error| Context::new(self.meta).driver(error))?;
        let reply = CommandReply::read(&reply, self.meta);
        if let (Some(session), Some((_, error))) = (cx.session, reply.refused.first()) {
            // The server has ended the transaction there, though its reply is no error.
            session.spoil(error);
        }
        Ok(reply)
    }

    fn encode(&self, cx: &Cx<'_>) -> Result<RawDocumentBuf> {
        let mut command = RawDocumentBuf::new();
        command.append(self.verb.name(), self.meta.collection);
        if !self.ordered {
            command.append(cstr!("ordered"), false);
        }
        if let Some(concern) = self.concern {
            let concern = bson::serialize_to_raw_document_buf(concern);
            let concern = concern.map_err(|source| not_encoded("write concern", source))?;
            command.append(cstr!("writeConcern"), concern);
        }
        if self.past_validator {
            command.append(cstr!("bypassDocumentValidation"), true);
        }
        if let Some(comment) = cx.options().and_then(|options| options.comment.as_ref()) {
            let comment = RawBson::try_from(comment.clone());
            let comment = comment.map_err(|source| not_encoded("comment", source))?;
            command.append(cstr!("comment"), comment);
        }
        command.append(self.verb.list(), self.statements.iter().collect::<RawArrayBuf>());
        Ok(command)
    }
}

impl CommandReply {
    fn read(reply: &Document, meta: &'static DocumentMeta) -> CommandReply {
        let failures = reply.get_array("writeErrors").into_iter().flatten();
        let refused = failures.filter_map(Bson::as_document).map(|failure| {
            let at = usize::try_from(number(failure.get("index"))).unwrap_or(0);
            (at, refusal(failure, meta))
        });
        CommandReply {
            n: number(reply.get("n")),
            modified: number(reply.get("nModified")),
            upserted: reply.get_array("upserted").map_or(0, Vec::len) as u64,
            refused: refused.collect(),
            unacknowledged: unacknowledged(reply),
        }
    }
}

/// A write error as a reply has it.
fn refusal(failure: &Document, meta: &'static DocumentMeta) -> Error {
    let raw = RawDocumentBuf::try_from(failure).ok();
    let refusal = Refusal {
        code: i32::try_from(number(failure.get("code"))).unwrap_or(0),
        message: failure.get_str("errmsg").unwrap_or_default(),
        details: failure.get_document("errInfo").ok(),
        raw: raw.as_deref(),
    };
    write_error(Context::new(meta), refusal)
}

/// A number of a reply.
fn number(value: Option<&Bson>) -> u64 {
    match value {
        Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
        Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;

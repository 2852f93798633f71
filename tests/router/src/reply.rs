//! Replies: refusals with the codes and words of `mongos`, and what of a reply a router reads or rewrites.

use bson::{Bson, Document, doc};
use std::io;

/// Why a command has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection to the backing server has ended.
    Io(io::Error),
    /// This is the reply.
    Refused(Document),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

/// The result of a command.
pub(crate) type Answer<T = Document> = Result<T, Failure>;

/// Errors of a server that the router answers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub i32, pub &'static str);

pub(crate) const BAD_VALUE: Code = Code(2, "BadValue");
pub(crate) const UNAUTHORIZED: Code = Code(13, "Unauthorized");
pub(crate) const ILLEGAL_OPERATION: Code = Code(20, "IllegalOperation");
pub(crate) const ALREADY_INITIALIZED: Code = Code(23, "AlreadyInitialized");
pub(crate) const LOCK_TIMEOUT: Code = Code(24, "LockTimeout");
pub(crate) const INDEX_NOT_FOUND: Code = Code(27, "IndexNotFound");
pub(crate) const CURSOR_NOT_FOUND: Code = Code(43, "CursorNotFound");
pub(crate) const NAMESPACE_EXISTS: Code = Code(48, "NamespaceExists");
pub(crate) const COMMAND_NOT_FOUND: Code = Code(59, "CommandNotFound");
pub(crate) const SHARD_KEY_NOT_FOUND: Code = Code(61, "ShardKeyNotFound");
pub(crate) const CANNOT_CREATE_INDEX: Code = Code(67, "CannotCreateIndex");
pub(crate) const SHARD_NOT_FOUND: Code = Code(70, "ShardNotFound");
pub(crate) const INVALID_OPTIONS: Code = Code(72, "InvalidOptions");
pub(crate) const CANNOT_SPLIT: Code = Code(87, "CannotSplit");
pub(crate) const OPERATION_FAILED: Code = Code(96, "OperationFailed");
pub(crate) const WRITE_CONFLICT: Code = Code(112, "WriteConflict");
pub(crate) const NAMESPACE_NOT_SHARDED: Code = Code(118, "NamespaceNotSharded");
pub(crate) const NOT_ON_VIEW: Code = Code(166, "CommandNotSupportedOnView");
pub(crate) const ZONE_NOT_FOUND: Code = Code(177, "ZoneNotFound");
pub(crate) const NOT_IMPLEMENTED: Code = Code(238, "NotImplemented");
pub(crate) const NO_SUCH_TRANSACTION: Code = Code(251, "NoSuchTransaction");
pub(crate) const TRANSACTION_COMMITTED: Code = Code(256, "TransactionCommitted");
pub(crate) const NOT_IN_TRANSACTION: Code = Code(263, "OperationNotSupportedInTransaction");
pub(crate) const MIGRATION_CONFLICT: Code = Code(272, "MigrationConflict");
pub(crate) const RENAME_SHARDED: Code = Code(13138, "Location13138");
pub(crate) const STALE_CONFIG: Code = Code(13388, "StaleConfig");
pub(crate) const CANNOT_BE_SHARDED: Code = Code(28769, "Location28769");
pub(crate) const KEY_CHANGE: Code = Code(31025, "Location31025");
pub(crate) const MERGE_FIELD: Code = Code(51132, "Location51132");
pub(crate) const NO_BEFORE_IMAGE: Code = Code(51771, "Location51771");

/// The label of an error after which the whole transaction may be run again.
pub(crate) const TRANSIENT: &str = "TransientTransactionError";

impl Code {
    /// A reply with this error.
    pub(crate) fn reply(self, message: impl Into<String>) -> Document {
        doc! { "ok": 0.0, "errmsg": message.into(), "code": self.0, "codeName": self.1 }
    }

    /// The same, after which the transaction may be run again.
    pub(crate) fn transient(self, message: impl Into<String>) -> Document {
        let mut reply = self.reply(message);
        reply.insert("errorLabels", [TRANSIENT]);
        reply
    }

    /// The end of a command by this error.
    pub(crate) fn refuse<T>(self, message: impl Into<String>) -> Answer<T> {
        Err(Failure::Refused(self.reply(message)))
    }

    /// The error of one statement of a batch.
    pub(crate) fn of_statement(self, message: impl Into<String>) -> Document {
        doc! { "code": self.0, "codeName": self.1, "errmsg": message.into() }
    }

    /// Whether a reply has this error.
    pub(crate) fn is(self, reply: &Document) -> bool {
        count(reply, "code") == i64::from(self.0)
    }
}

/// Whether a reply is no error.
pub(crate) fn is_ok(reply: &Document) -> bool {
    reply.get("ok").and_then(integer) == Some(1)
}

/// A number that has no fraction.
pub(crate) fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) if n.fract() == 0.0 => Some(*n as i64),
        _ => None,
    }
}

/// A field of a command or reply that is a number; 0 where it is missing.
pub(crate) fn count(document: &Document, name: &str) -> i64 {
    document.get(name).and_then(integer).unwrap_or(0)
}

/// Whether an option of a command is set.
pub(crate) fn is_set(document: &Document, name: &str) -> bool {
    match document.get(name) {
        Some(Bson::Boolean(set)) => *set,
        Some(value) => integer(value).is_some_and(|n| n != 0),
        None => false,
    }
}

/// A field that is a text; an empty one where it is missing.
pub(crate) fn text<'d>(document: &'d Document, name: &str) -> &'d str {
    document.get_str(name).unwrap_or_default()
}

/// The documents of a list.
pub(crate) fn documents(of: &Document, name: &str) -> Vec<Document> {
    let list = of.get_array(name).into_iter().flatten();
    list.filter_map(Bson::as_document).cloned().collect()
}

/// Replaces a text in every text of a document: the database of a shard by that of the application.
pub(crate) fn renamed(document: Document, from: &str, to: &str) -> Document {
    let renamed = |value: Bson| match value {
        Bson::String(text) => Bson::String(text.replace(from, to)),
        Bson::Document(fields) => Bson::Document(renamed(fields, from, to)),
        Bson::Array(items) => Bson::Array(
            items
                .into_iter()
                .map(|item| renamed_value(item, from, to))
                .collect(),
        ),
        other => other,
    };
    document
        .into_iter()
        .map(|(name, value)| (name, renamed(value)))
        .collect()
}

fn renamed_value(value: Bson, from: &str, to: &str) -> Bson {
    let mut held = doc! { "": value };
    held = renamed(held, from, to);
    held.remove("").unwrap_or(Bson::Null)
}

/// A document as the server writes it in messages.
pub(crate) fn shell(document: &Document) -> String {
    if document.is_empty() {
        return "{}".to_owned();
    }
    let fields = document
        .iter()
        .map(|(name, value)| format!("{name}: {}", shell_value(value)));
    format!("{{ {} }}", Vec::from_iter(fields).join(", "))
}

fn shell_value(value: &Bson) -> String {
    match value {
        Bson::Document(document) => shell(document),
        Bson::Array(items) if items.is_empty() => "[]".to_owned(),
        Bson::Array(items) => {
            let items = items.iter().map(shell_value);
            format!("[ {} ]", Vec::from_iter(items).join(", "))
        }
        Bson::ObjectId(id) => format!("ObjectId('{id}')"),
        Bson::Double(n) if n.fract() == 0.0 => format!("{n:.1}"),
        Bson::MinKey => "MinKey".to_owned(),
        Bson::MaxKey => "MaxKey".to_owned(),
        Bson::DateTime(at) => format!("new Date({})", at.timestamp_millis()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_written_as_the_server_does() {
        let document =
            doc! { "q": { "x": 1, "t": "a" }, "u": { "$set": { "y": [1_i64, true] } }, "e": {}, "l": [] };
        assert_eq!(
            shell(&document),
            r#"{ q: { x: 1, t: "a" }, u: { $set: { y: [ 1, true ] } }, e: {}, l: [] }"#
        );
    }

    #[test]
    fn every_text_of_a_document_is_renamed() {
        let document = doc! { "ns": "d_sh1.c", "list": [{ "errmsg": "of d_sh1.c" }, "d_sh1", 1], "n": 1 };
        assert_eq!(
            renamed(document, "d_sh1", "d"),
            doc! { "ns": "d.c", "list": [{ "errmsg": "of d.c" }, "d", 1], "n": 1 }
        );
    }
}

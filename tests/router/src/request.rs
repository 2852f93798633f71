//! A command as it has come: its name, its namespace, and the session that it belongs to.

use crate::wire::{HEADER, MORE_TO_COME, OP_MSG, body, number, whole};
use bson::{Document, RawDocument, Timestamp};

/// A command of the application.
#[derive(Debug)]
pub(crate) struct Request {
    pub message: Vec<u8>,
    pub name: String,
    pub database: String,
    /// The collection that the command names, where it names one.
    pub collection: Option<String>,
    pub is_unanswered: bool,
    pub session: Option<Document>,
    pub number: Option<i64>,
    /// Whether the command is part of a transaction.
    pub is_in_transaction: bool,
    pub starts: bool,
    /// Where the command has a time after which it reads.
    pub after: Option<Timestamp>,
    /// The level of its read concern.
    pub level: Option<String>,
}

impl Request {
    /// Reads a message; `None` for what is no command.
    pub(crate) fn read(message: Vec<u8>) -> Option<Request> {
        if number(&message, 12)? != OP_MSG {
            return None;
        }
        let command = RawDocument::from_bytes(body(&message)?).ok()?;
        let (name, first) = command.iter().next()?.ok()?;
        let concern = command.get_document("readConcern").ok();
        let request = Request {
            name: name.as_str().to_owned(),
            database: command.get_str("$db").ok()?.to_owned(),
            collection: first.as_str().map(str::to_owned),
            is_unanswered: number(&message, HEADER)? as u32 & MORE_TO_COME != 0,
            session: command
                .get_document("lsid")
                .ok()
                .and_then(|lsid| Document::try_from(lsid).ok()),
            number: command.get_i64("txnNumber").ok(),
            is_in_transaction: command.get_bool("autocommit").is_ok_and(|set| !set),
            starts: command.get_bool("startTransaction").unwrap_or(false),
            after: concern.and_then(|concern| concern.get_timestamp("afterClusterTime").ok()),
            level: concern.and_then(|concern| concern.get_str("level").ok().map(str::to_owned)),
            message: Vec::new(),
        };
        Some(Request { message, ..request })
    }

    /// The whole command.
    pub(crate) fn command(&self) -> Document {
        whole(&self.message).unwrap_or_default()
    }

    /// The namespace of its collection.
    pub(crate) fn namespace(&self) -> Option<String> {
        let collection = self.collection.as_ref()?;
        Some(format!("{}.{collection}", self.database))
    }

    /// The number by which a reply says what it answers.
    pub(crate) fn id(&self) -> i32 {
        number(&self.message, 4).unwrap_or_default()
    }

    /// Whether the command only reads documents of one collection, at a time of the server's choice.
    pub(crate) fn is_read(&self) -> bool {
        match self.name.as_str() {
            "find" | "count" | "distinct" => true,
            "aggregate" => {
                self.collection.is_some()
                    && !self.has_stage(&["$out", "$merge", "$changeStream", "$indexStats", "$collStats"])
            }
            _ => false,
        }
    }

    /// Whether the command writes documents.
    pub(crate) fn is_write(&self) -> bool {
        match self.name.as_str() {
            "insert" | "update" | "delete" | "findAndModify" | "findandmodify" | "bulkWrite" => true,
            "aggregate" => self.has_stage(&["$out", "$merge"]),
            _ => false,
        }
    }

    /// Whether its pipeline has one of these stages.
    pub(crate) fn has_stage(&self, names: &[&str]) -> bool {
        let stages = || {
            let command = RawDocument::from_bytes(body(&self.message)?).ok()?;
            let stages = command.get_array("pipeline").ok()?.into_iter();
            Some(stages.filter_map(|stage| {
                Some(
                    stage
                        .ok()?
                        .as_document()?
                        .iter()
                        .next()?
                        .ok()?
                        .0
                        .as_str()
                        .to_owned(),
                )
            }))
        };
        stages().is_some_and(|mut stages| stages.any(|stage| names.contains(&stage.as_str())))
    }
}

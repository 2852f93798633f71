//! Turns what the driver and the server report into the terms of the application.
//!
//! The driver keeps a write error's code, message and `errInfo`. The values of a duplicate key stand beside them in the
//! server's reply, which the driver keeps for updates and commands, not for inserts: there they are read from the message.

mod message;
#[cfg(test)]
mod tests;
mod validator;

use crate::Error;
use crate::error::driver::unavailable;
use crate::error::{Rule, Violation};
use crate::model::document::DocumentMeta;
use crate::store::tasks::Closed;
use mongodb::bson::{Bson, Document, RawDocument, deserialize_from_document, doc};
use mongodb::error::{ErrorKind, IndexedWriteError, WriteError, WriteFailure};

/// The name of a field of a shard key, which the server does not tell.
const SHARD_KEY: &str = "(shard key)";

/// The operation that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The collection it wrote to.
    pub(crate) collection: &'static str,
    /// The collection's document, if it has one: tells an index's fields and a rule's meaning where the server does not.
    pub(crate) meta: Option<&'static DocumentMeta>,
}

/// The server's refusal of one write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal<'a> {
    /// The server's error code.
    pub(crate) code: i32,
    /// Its message.
    pub(crate) message: &'a str,
    /// Its `errInfo`.
    pub(crate) details: Option<&'a Document>,
    /// The document with `keyPattern` and `keyValue`: the write error itself, or the reply to a command.
    pub(crate) raw: Option<&'a RawDocument>,
}

impl<'a> From<&'a WriteError> for Refusal<'a> {
    fn from(error: &'a WriteError) -> Refusal<'a> {
        Refusal {
            code: error.code,
            message: &error.message,
            details: error.details.as_ref(),
            raw: None,
        }
    }
}

impl<'a> From<&'a IndexedWriteError> for Refusal<'a> {
    fn from(error: &'a IndexedWriteError) -> Refusal<'a> {
        Refusal {
            code: error.code,
            message: &error.message,
            details: error.details.as_ref(),
            raw: None,
        }
    }
}

/// One refused write of a batch. The error of the whole batch is not repeated in it: its source holds this write's only.
pub(crate) fn write_error<'a>(context: Context, refusal: impl Into<Refusal<'a>>) -> Error {
    let refusal = refusal.into();
    match context.refused(refusal) {
        Some(error) => with_source(error, single_write_error(refusal)),
        None => single_write_error(refusal).into(),
    }
}

/// The write concern error of a reply, for writes that were made, but not as safely as required: a server that steps down may
/// roll them back. The driver leaves this part of the reply of a command to the caller.
pub(crate) fn unacknowledged(reply: &Document) -> Option<Error> {
    let concern = reply.get_document("writeConcernError").ok()?;
    let error = match deserialize_from_document(concern.clone()) {
        Ok(concern) => ErrorKind::Write(WriteFailure::WriteConcernError(concern)).into(),
        Err(_) => mongodb::error::Error::custom(format!("the writes were not acknowledged: {concern}")),
    };
    Some(Error::Driver(Box::new(error)))
}

impl Context {
    /// The context of an operation on a document's collection.
    pub(crate) fn new(meta: &'static DocumentMeta) -> Context {
        Context {
            collection: meta.collection,
            meta: Some(meta),
        }
    }

    /// An error of any operation but `insert_many` and a bulk, whose errors are several.
    pub(crate) fn driver(self, error: mongodb::error::Error) -> Error {
        if let Some(outcome_unknown) = unavailable(&error) {
            return Error::Unavailable {
                outcome_unknown,
                source: Box::new(error),
            };
        }
        if let Some(Closed) = error.get_custom() {
            return Error::application(Closed);
        }
        let reply = error.server_response().map(|reply| &**reply);
        let mapped = match &*error.kind {
            ErrorKind::Write(WriteFailure::WriteError(write)) => {
                let raw = reply.and_then(first_write_error).or(reply);
                self.refused(Refusal {
                    raw,
                    ..Refusal::from(write)
                })
            }
            ErrorKind::Command(command) => {
                let details = reply.and_then(|reply| reply.get_document("errInfo").ok());
                let details = details.and_then(|details| Document::try_from(details).ok());
                self.refused(Refusal {
                    code: command.code,
                    message: &command.message,
                    details: details.as_ref(),
                    raw: reply,
                })
            }
            // Refused by the driver itself, before the network.
            ErrorKind::InvalidArgument { message, .. } if message.starts_with("insert document must be") => {
                Some(self.too_large(message))
            }
            ErrorKind::InvalidArgument { message, .. } if message.ends_with("exceeds the maximum size") => {
                Some(self.too_large(message))
            }
            _ => None,
        };
        match mapped {
            Some(mapped) => with_source(mapped, error),
            None => Error::Driver(Box::new(error)),
        }
    }

    /// An error of `insert_many` with `given` documents.
    pub(crate) fn insert_many(self, error: mongodb::error::Error, given: usize, ordered: bool) -> Error {
        let ErrorKind::InsertMany(many) = &*error.kind else {
            return self.driver(error);
        };
        // The whole transaction is to be run again: the label stands on the driver's error alone.
        if error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR) {
            return Error::Driver(Box::new(error));
        }
        let mut errors: Vec<(usize, Error)> = many
            .write_errors
            .iter()
            .flatten()
            .map(|write| (write.index, write_error(self, write)))
            .collect();
        if errors.is_empty() {
            // Only the write concern failed: everything was inserted.
            return Error::Driver(Box::new(error));
        }
        errors.sort_by_key(|(at, _)| *at);
        let inserted = if ordered {
            errors[0].0
        } else {
            given.saturating_sub(errors.len())
        };
        Error::InsertMany {
            collection: self.collection,
            inserted,
            errors,
        }
    }

    /// The error for a refusal, if it has a variant of its own here. Without a source.
    fn refused(self, refusal: Refusal<'_>) -> Option<Error> {
        match refusal.code {
            11000 | 11001 | 12582 => Some(self.duplicate(refusal)),
            121 => Some(Error::Invalid {
                collection: self.collection.to_owned(),
                violations: self.violations(refusal),
                source: None,
            }),
            // The last two name the limit alone.
            10334 | 17419 | 17420 => Some(self.too_large(refusal.message)),
            61 | 72 if message::lacks_shard_key(refusal.code, refusal.message) => Some(Error::Unsupported {
                operation: "this write of a sharded collection",
                needs: "MongoDB 7.1, or the shard key in its condition",
                is: format!("an earlier one: {}", refusal.message),
            }),
            20 | 72 | 31025 if message::changes_shard_key(refusal.message) => Some(Error::Immutable {
                collection: self.collection,
                field: SHARD_KEY.to_owned(),
                source: None,
            }),
            // By a router, and by a shard.
            28769 | 51069 if refusal.message.contains("sharded") => Some(Error::Unsupported {
                operation: "a `$lookup` of a sharded collection",
                needs: "MongoDB 5.1",
                is: format!("an earlier one: {}", refusal.message),
            }),
            // An item that two conditions match: only the server can find it.
            40 => Some(Error::Query {
                collection: self.collection,
                message: format!(
                    "two changes of the update conflict in one field ({}): combine them, or make two updates",
                    refusal.message
                ),
            }),
            28 => match message::element(refusal.message) {
                Some(field) => Some(Error::NotADocument {
                    collection: self.collection,
                    field,
                    source: None,
                }),
                None => Some(self.refusal(refusal)),
            },
            2 if refusal.message.contains("object to insert too large") => {
                Some(self.too_large(refusal.message))
            }
            code if lacks_search(code, refusal.message) => Some(Error::Unsupported {
                operation: "a search or vector index, and a search by it,",
                needs: "MongoDB Atlas, or another deployment with its search",
                is: format!("one without: {}", refusal.message),
            }),
            code => self.by_rule(code, refusal),
        }
    }

    /// The rules of the server's own.
    fn by_rule(self, code: i32, refusal: Refusal<'_>) -> Option<Error> {
        let collection = self.collection;
        let said = refusal.message;
        let index = |field: Option<String>, what: &str| Error::Index {
            collection,
            field,
            message: format!("{what}: {said} (code {code})"),
            source: None,
        };
        let of_type = |is: &'static str| Error::CollectionType {
            collection,
            is,
            message: said.to_owned(),
            source: None,
        };
        Some(match code {
            // IllegalOperation
            20 if said.contains("capped") => of_type("a capped collection"),
            20 | 72 if said.contains("time-series") || said.contains("timeseries") => {
                of_type("a time-series collection")
            }
            20 if said.contains("retryWrites") || said.contains("Transaction numbers") => {
                Error::Unsupported {
                    operation: "a retryable write or a transaction",
                    needs: "a replica set or a sharded cluster (without transactions, `retryWrites=false` in the connection string)",
                    is: "a standalone server".to_owned(),
                }
            }
            10003 => of_type("a capped collection"),
            // OperationNotSupportedInTransaction
            263 if said.contains("capped") => of_type("a capped collection"),
            // CommandNotSupportedOnView, OptionNotSupportedOnView
            166 | 167 => of_type("a view"),
            // CursorNotFound, CursorKilled
            43 | 237 => Error::CursorLost {
                collection,
                last: None,
                source: None,
            },
            // ImmutableField
            66 => Error::Immutable {
                collection,
                field: message::quoted(said, "mmutable field '")
                    .or_else(|| message::quoted(said, "mmutable) field '"))
                    .unwrap_or("_id")
                    .to_owned(),
                source: None,
            },
            // CannotCreateIndex, InvalidIndexSpecificationOption
            67 | 197 => match message::shard_key_pattern(said) {
                Some(key) => index(
                    None,
                    &format!(
                        "a unique index of a sharded collection begins with the whole shard key, here {key}: put its fields in front \
                         of those of the index, or leave out `unique`"
                    ),
                ),
                None => index(
                    None,
                    "an index can't be made as it is declared: change its declaration",
                ),
            },
            // IndexOptionsConflict, IndexKeySpecsConflict
            85 | 86 => index(
                None,
                "an index with the same keys or the same name exists with other options: drop it, or declare it as it is",
            ),
            // IndexNotFound, NoQueryExecutionPlans
            27 | 291 => index(
                None,
                "the query needs an index that does not exist: declare it, and call `sync`",
            ),
            2 if said.contains("hint provided does not correspond") => {
                index(None, "the index that `hint` names does not exist")
            }
            // From a mongod, and from a router.
            51183 | 51190 => index(
                None,
                "`$merge` finds the documents to change by a unique index of exactly the fields of `on`, with the collation of the pipeline \
                 and without a filter, and the collection that it writes has none: declare it there, and call `sync`",
            ),
            16766 => index(
                message::after(said, "at path: ").or_else(|| message::after(said, "array at path ")),
                "a hashed index takes no array: store a single value there, or declare another kind of index",
            ),
            171 => index(
                None,
                "an index takes one array in a document: declare an index for each of the fields",
            ),
            17261 => index(
                None,
                "the text index takes the language of a document from a field, and it holds no string: name another field by \
                 `language_override`",
            ),
            17262 => index(
                None,
                "the text index takes the language of a document from a field, and its value is not a language: name another \
                 field by `language_override`",
            ),
            16755 | 16756 => index(
                None,
                "a geospatial index can't take the value: store valid GeoJSON",
            ),
            17280 => index(None, "the value is too large for its index"),
            // Invalid regular expressions and their options.
            51091 | 51108 => Error::Pattern {
                collection,
                message: said.to_owned(),
                source: None,
            },
            // QueryExceededMemoryLimitNoDiskUseAllowed, ExceededMemoryLimit, and what older servers say of `$group`, `$sort` and a sorted find.
            292 | 146 | 16945 | 16819 | 16820 => Error::Memory {
                collection,
                source: None,
            },
            96 if said.contains("Sort operation used more than") => Error::Memory {
                collection,
                source: None,
            },
            // WriteConflict
            112 => Error::Contention {
                collection,
                message: "another writer changed the same document at the same time: try again".to_owned(),
                source: None,
            },
            2 | 14 => match message::stored_type(said) {
                Some(told) => Error::StoredType {
                    collection,
                    id: told.id,
                    field: told.field,
                    needs: told.needs,
                    is: told.is,
                    source: None,
                },
                None => self.refusal(refusal),
            },
            // FailedToParse, Overflow, InvalidLength, and the rules of names, options, updates and stages.
            9 | 15 | 16 | 20 | 22 | 29 | 30 | 47 | 52..=57 | 61 | 72 | 73 | 115 | 159 | 168 | 170 => {
                self.refusal(refusal)
            }
            // QueryFeatureNotAllowed, ConversionFailure, OperationNotSupportedInTransaction
            224 | 241 | 263 => self.refusal(refusal),
            // Every other rule of a stage, an expression or an operator has a number of its own.
            code if is_rule(code) => self.refusal(refusal),
            _ => return None,
        })
    }

    fn refusal(self, refusal: Refusal<'_>) -> Error {
        Error::Refused {
            collection: self.collection,
            code: refusal.code,
            message: refusal.message.to_owned(),
            source: None,
        }
    }

    fn too_large(self, said: &str) -> Error {
        Error::TooLarge {
            collection: self.collection.to_owned(),
            what: message::too_large(said),
            size: message::size(said),
            largest: Vec::new(),
            brought: Vec::new(),
            source: None,
        }
    }

    fn duplicate(self, refusal: Refusal<'_>) -> Error {
        let part = |name: &str| -> Option<Document> {
            let part = refusal.raw?.get_document(name).ok()?;
            Document::try_from(part).ok()
        };
        let told = message::duplicate(refusal.message);
        let index = told.index.unwrap_or_default().to_owned();
        let value = part("keyValue").or(told.value).unwrap_or_default();
        let has_texts = |value: &Bson| {
            matches!(
                value,
                Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
            )
        };
        let mut fields: Vec<String> = match part("keyPattern") {
            Some(pattern) => pattern.keys().cloned().collect(),
            None if value.keys().all(|name| !name.is_empty()) => value.keys().cloned().collect(),
            None => Vec::new(),
        };
        let bare = told.bare.unwrap_or_default();
        if fields.is_empty() {
            fields = self.fields_of(&index, bare.len());
        }
        // Older servers give the values without their fields' names.
        let value = if value.is_empty() && bare.len() == fields.len() {
            fields.iter().cloned().zip(bare).collect()
        } else {
            value
        };
        // In the place of a text stands its sort key, of which nothing can be read.
        let value = if told.is_collated {
            value.into_iter().filter(|(_, value)| !has_texts(value)).collect()
        } else {
            value
        };
        Error::DuplicateKey {
            collection: self.collection.to_owned(),
            index,
            fields,
            value: Box::new(value),
            existing: None,
            source: None,
        }
    }

    /// The fields of an index, from its declaration or from the name that MongoDB gives by default.
    fn fields_of(self, index: &str, count: usize) -> Vec<String> {
        let mut declared = self
            .meta
            .into_iter()
            .flat_map(DocumentMeta::indexes_of_collection);
        if let Some(named) = declared.find(|declared| declared.index.name == Some(index)) {
            return named.paths().map(str::to_owned).collect();
        }
        // Behind the name by default stands that of the variant.
        let variants = self.meta.into_iter().flat_map(DocumentMeta::variants);
        let mut names = variants.filter_map(|variant| variant.variant());
        let of_all = names.find_map(|(_, name)| index.strip_suffix(name)?.strip_suffix('_'));
        let index = of_all.unwrap_or(index);
        let fields = message::fields_of_default_name(index);
        if count == 0 || fields.len() == count {
            fields
        } else {
            Vec::new()
        }
    }

    fn violations(self, refusal: Refusal<'_>) -> Vec<Violation> {
        let details = refusal.details.and_then(|info| info.get_document("details").ok());
        let violations = details.map(|details| validator::violations(details, self.meta));
        match violations {
            Some(violations) if !violations.is_empty() => violations,
            _ => vec![Violation::new("", Rule::Other(refusal.message.to_owned()), None)],
        }
    }
}

fn first_write_error(reply: &RawDocument) -> Option<&RawDocument> {
    let errors = reply.get_array("writeErrors").ok()?;
    errors.get(0).ok()??.as_document()
}

/// The driver's error for one write of a batch.
fn single_write_error(refusal: Refusal<'_>) -> mongodb::error::Error {
    let mut write = doc! { "code": refusal.code, "errmsg": refusal.message };
    if let Some(details) = refusal.details {
        write.insert("errInfo", Bson::Document(details.clone()));
    }
    match deserialize_from_document(write) {
        Ok(write) => ErrorKind::Write(WriteFailure::WriteError(write)).into(),
        Err(error) => ErrorKind::Bson(error).into(),
    }
}

/// Whether a code is that of an assertion about the operation, and not about the state of the server: interrupted, without a primary,
/// with an older routing table, or without space on the disk.
fn is_rule(code: i32) -> bool {
    const STATES: [i32; 13] = [
        10058, 10107, 11600, 11601, 11602, 12586, 12587, 13388, 13435, 13436, 14031, 28799, 46841,
    ];
    (10_000..1_000_000_000).contains(&code) && !STATES.contains(&code)
}

/// Whether a deployment refuses `$search`, `$vectorSearch` and the commands of their indexes, since it has no search.
fn lacks_search(code: i32, message: &str) -> bool {
    match code {
        // SearchNotEnabled, from MongoDB 7.0 on; before it, of stages.
        31082 | 6_047_400 | 6_047_401 => true,
        // CommandNotFound, CommandNotSupported, and a stage that the server does not know.
        59 | 115 | 40324 => ["Search", "$search"].iter().any(|word| message.contains(word)),
        _ => false,
    }
}

fn with_source(mut error: Error, driver: mongodb::error::Error) -> Error {
    if let Error::DuplicateKey { source, .. }
    | Error::Invalid { source, .. }
    | Error::NotADocument { source, .. }
    | Error::TooLarge { source, .. }
    | Error::Contention { source, .. }
    | Error::CursorLost { source, .. }
    | Error::Immutable { source, .. }
    | Error::StoredType { source, .. }
    | Error::Index { source, .. }
    | Error::Pattern { source, .. }
    | Error::Memory { source, .. }
    | Error::CollectionType { source, .. }
    | Error::Refused { source, .. } = &mut error
    {
        *source = Some(Box::new(driver));
    }
    error
}

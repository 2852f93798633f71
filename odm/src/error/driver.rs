//! The driver's errors: whether the server was unavailable, and their text.

use mongodb::error::{ErrorKind, WriteFailure};
use std::fmt;

/// Whether the server could not be reached or was changing its state, and then whether a write may have been made all the same:
/// a read is not known from a write here. `None` for another error.
///
/// The driver repeats a retryable write once, so an error that it gives is of the second attempt: of the first, the server
/// says `NoWritesPerformed` where it knows.
pub(crate) fn unavailable(error: &mongodb::error::Error) -> Option<bool> {
    use mongodb::error::{
        NO_WRITES_PERFORMED, RETRYABLE_WRITE_ERROR, SYSTEM_OVERLOADED_ERROR, TRANSIENT_TRANSACTION_ERROR,
        UNKNOWN_TRANSACTION_COMMIT_RESULT,
    };
    let may_have_written = match &*error.kind {
        // The connection may have broken while it was made, which the driver says by this label.
        ErrorKind::Io(_) => !error.contains_label(SYSTEM_OVERLOADED_ERROR),
        ErrorKind::ServerSelection { .. }
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::DnsResolve { .. } => false,
        ErrorKind::Command(command) if is_refused_at_once(command.code) => {
            error.contains_label(RETRYABLE_WRITE_ERROR)
        }
        ErrorKind::Command(command) if is_interrupted(command.code) => true,
        ErrorKind::Write(WriteFailure::WriteError(write))
            if is_refused_at_once(write.code) || is_interrupted(write.code) =>
        {
            true
        }
        ErrorKind::BulkWrite(bulk) if bulk.write_errors.is_empty() => {
            let source = std::error::Error::source(error)?;
            let unknown = unavailable(source.downcast_ref()?)?;
            unknown || bulk.partial_result.is_some()
        }
        _ => return None,
    };
    if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
        return Some(true);
    }
    let nothing =
        error.contains_label(NO_WRITES_PERFORMED) || error.contains_label(TRANSIENT_TRANSACTION_ERROR);
    Some(may_have_written && !nothing)
}

/// The server's code of a failure.
pub(crate) fn error_code(error: &mongodb::error::Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        _ => None,
    }
}

/// `NotWritablePrimary`, `NotPrimaryNoSecondaryOk`, `NotPrimaryOrSecondary`, and what older servers call the first: the server
/// refuses the operation before it begins.
fn is_refused_at_once(code: i32) -> bool {
    matches!(code, 10107 | 13435 | 13436 | 10058)
}

/// Shutdown, a new primary, and what a router says of a shard that it can't reach: the operation may have begun.
fn is_interrupted(code: i32) -> bool {
    matches!(code, 6 | 7 | 89 | 91 | 134 | 189 | 262 | 9001 | 11600 | 11602)
}

/// The text of a driver's error: its own `Display` prints the bytes of the server's reply.
pub(crate) struct DriverText<'a>(pub(crate) &'a mongodb::error::Error);
impl fmt::Display for DriverText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.kind {
            ErrorKind::Command(e) => coded(f, &e.message, e.code, Some(&e.code_name))?,
            ErrorKind::Write(WriteFailure::WriteError(e)) => {
                coded(f, &e.message, e.code, e.code_name.as_deref())?;
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(e)) => unacknowledged(f, e)?,
            ErrorKind::InsertMany(many) => {
                let errors = many.write_errors.as_deref().unwrap_or_default();
                match (errors, &many.write_concern_error) {
                    ([], Some(e)) => unacknowledged(f, e)?,
                    ([], None) => f.write_str("the documents were not inserted")?,
                    ([e, ..], _) => {
                        write!(
                            f,
                            "{} documents were refused, the first at position {}: ",
                            errors.len(),
                            e.index
                        )?;
                        coded(f, &e.message, e.code, e.code_name.as_deref())?;
                    }
                }
            }
            ErrorKind::BulkWrite(bulk) => {
                match (
                    bulk.write_errors.iter().min_by_key(|(at, _)| **at),
                    &*bulk.write_concern_errors,
                ) {
                    (Some((at, e)), _) => {
                        write!(
                            f,
                            "{} writes were refused, the first at position {at}: ",
                            bulk.write_errors.len()
                        )?;
                        coded(f, &e.message, e.code, e.code_name.as_deref())?;
                    }
                    (None, [e, ..]) => unacknowledged(f, e)?,
                    (None, []) => f.write_str("the bulk write failed")?,
                }
                if let Some(source) = std::error::Error::source(self.0).and_then(|e| e.downcast_ref()) {
                    write!(f, ": {}", DriverText(source))?;
                }
            }
            kind => kind.fmt(f)?,
        }
        let mut labels: Vec<&str> = self.0.labels().iter().map(String::as_str).collect();
        labels.sort_unstable();
        if labels.is_empty() {
            Ok(())
        } else {
            write!(f, " [{}]", labels.join(", "))
        }
    }
}

fn coded(f: &mut fmt::Formatter<'_>, message: &str, code: i32, name: Option<&str>) -> fmt::Result {
    match name.filter(|name| !name.is_empty()) {
        Some(name) => write!(f, "{message} (code {code}, {name})"),
        None => write!(f, "{message} (code {code})"),
    }
}

fn unacknowledged(f: &mut fmt::Formatter<'_>, e: &mongodb::error::WriteConcernError) -> fmt::Result {
    f.write_str("the write was made, but not acknowledged as its write concern requires: ")?;
    coded(f, &e.message, e.code, Some(&e.code_name))
}

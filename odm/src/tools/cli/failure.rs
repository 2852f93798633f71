//! The exit codes, and why a command failed.

use crate::Error;

/// Done, and nothing is wrong.
pub(super) const CLEAN: u8 = 0;
/// Something is wrong with the data.
pub(super) const WRONG: u8 = 1;
/// The command failed.
pub(super) const FAILED: u8 = 2;

/// Why a command failed.
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(message: impl ToString) -> Failure {
        Failure {
            code: FAILED,
            message: message.to_string(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            code: match error {
                // The data is at fault, not the command.
                Error::ExistingDocuments { .. } | Error::SchemaConflict { .. } => WRONG,
                _ => FAILED,
            },
            message: error.to_string(),
        }
    }
}

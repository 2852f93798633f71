//! placeholder
use thiserror::Error as E;
/// e
#[derive(Debug, E)]
pub enum Error {
    /// d
    #[error("driver")]
    Driver(#[from] mongodb::error::Error),
}
/// r
pub type Result<T, E = Error> = std::result::Result<T, E>;

//! Looks after the database: `cargo run --bin manage -- --help`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> odm::Result<ExitCode> {
    Ok(odm::cli::run((shop::open().await?, shop::migrations::all())).await)
}

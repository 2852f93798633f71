//! The tasks of MongoDB's benchmark for ODMs by mongodm and oximod: `odm-bench-rust LIBRARY URI DATABASE TASK WAY`. For every line on
//! standard input it executes one block of the task and prints how long that took and its result, so that the benchmark
//! can take turns with it.

mod by_mongodm;
mod by_oximod;
mod data;

use std::io::{BufRead, Write};
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How many operations a block has, and how many documents there are.
const BLOCK: usize = 300;
const DOCUMENTS: usize = 1_000;

// One thread, as the benchmark of the library has.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, uri, database, task, _] = arguments.as_slice() else {
        return Err("LIBRARY URI DATABASE TASK WAY are needed".into());
    };
    let mongodm = by_mongodm::Tasks::new(uri, database).await?;
    let oximod = by_oximod::Tasks::new(uri, database).await?;
    let named = data::Named::of(uri, database).await?;
    for (round, line) in std::io::stdin().lock().lines().enumerate() {
        line?;
        let mut sum = 0;
        let started = Instant::now();
        for at in (0..BLOCK).map(|at| (round * BLOCK + at) % DOCUMENTS) {
            sum += if library == "mongodm" {
                mongodm.once(task, round, at, &named).await?
            } else {
                oximod.once(task, round, at, &named).await?
            };
        }
        let seconds = started.elapsed().as_secs_f64();
        println!(r#"{{"seconds":{seconds},"documents":{BLOCK},"joined":0,"sum":{sum}}}"#);
        std::io::stdout().flush()?;
    }
    Ok(())
}

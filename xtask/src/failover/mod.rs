//! The failover tests: three nodes of a mongod as one replica set, killed and started again while the tests write.
//!
//! This process owns the nodes. The tests ask for a kill or a restart over a TCP port of this machine (see [`control`]),
//! which they find in `ODM_FAILOVER`; `MONGODB_URI` names the whole set. The nodes die with this process, whatever ends it.

pub mod control;
pub mod set;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::process::Command;

use crate::process::{Process, exit_code};
use crate::server::{self, Environment, mongod};
use crate::workspace::{cargo, step};
use control::Control;
use set::ReplicaSet;

/// How long cargo and what it runs may take to end when asked to.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// Builds the failover tests, runs them with a replica set beside them and stops it. Returns the exit code of the first
/// part that fails.
pub(crate) async fn run(environment: &Environment, args: Vec<OsString>) -> Result<u8> {
    let Some(program) = server::find_mongod(environment)? else {
        bail!(
            "the failover tests were not run, since there is no mongod: set ODM_MONGOD to the path of one, or put one on PATH"
        );
    };
    step("building the failover tests");
    let mut build = tests();
    build.arg("--no-run");
    let code = exit_code(Process::spawn("cargo", &mut build, STOP_WITHIN)?.wait().await?);
    if code != 0 {
        step(format!("building the failover tests failed (exit code {code})"));
        return Ok(code);
    }
    let mut command = tests();
    command.args(args);
    let launch = |dir: &Path, port| mongod::command(&program, dir, port);
    let code = with_set(launch, &mut command).await?;
    match code {
        0 => step("the failover tests succeeded"),
        _ => step(format!("the failover tests failed (exit code {code})")),
    }
    Ok(code)
}

fn tests() -> Command {
    let mut command = cargo();
    command.args(["test", "-p", "odm-tests", "--test", "failover"]);
    command
}

/// Starts a replica set of what `launch` describes, runs `command` beside it and stops everything. Returns the exit code
/// of the command.
pub async fn with_set<L>(launch: L, command: &mut Command) -> Result<u8>
where
    L: Fn(&Path, u16) -> Result<Command>,
{
    let control = Control::open()?;
    let mut set = ReplicaSet::start(launch).await?;
    step(format!("using {}", set.uri()));
    command
        .env("MONGODB_URI", set.uri())
        .env("ODM_FAILOVER", control.address())
        // The tests share the nodes that they kill.
        .env("RUST_TEST_THREADS", "1");
    // Declared last, so dropped first: what talks to the nodes ends before them.
    let mut process = Process::spawn("the failover tests", command, STOP_WITHIN)?;
    tokio::select! {
        status = process.wait() => Ok(exit_code(status?)),
        never = control.serve(&mut set) => match never {},
    }
}

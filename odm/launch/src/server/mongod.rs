//! A `mongod` as a replica set of one, which is the least that has transactions and change streams.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result};
use mongodb::bson::{Document, doc};
use tokio::process::Command;
use tokio::time::Instant;

use super::probe;
use crate::programs::flags;

/// The name of the replica set.
pub const SET: &str = "odm";

/// The error code of `replSetInitiate` for a set that was initiated before.
const ALREADY_INITIALIZED: i32 = 23;

/// The command that starts `program` with its data below `dir`.
pub fn command(program: &Path, dir: &Path, port: u16) -> Result<Command> {
    may_open_many_files();
    let data = dir.join("data");
    std::fs::create_dir_all(&data).with_context(|| format!("{} cannot be created", data.display()))?;
    let mut command = Command::new(program);
    command.args(arguments(&data, port));
    Ok(command)
}

/// The server keeps the files of dropped collections open for some minutes, and the tests drop thousands: what it starts with
/// is often a limit of 1,024. It inherits this program's.
#[cfg(unix)]
fn may_open_many_files() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    // As many as it may without being asked; where that can't be said, it has what it has.
    if let Ok((soft, most)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < most
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

#[cfg(not(unix))]
fn may_open_many_files() {}

fn arguments(data: &Path, port: u16) -> Vec<OsString> {
    let mut arguments = flags([
        ("--replSet", OsStr::new(SET)),
        ("--bind_ip", OsStr::new("127.0.0.1")),
        ("--port", OsStr::new(&port.to_string())),
        ("--dbpath", data.as_os_str()),
    ]);
    if cfg!(unix) {
        arguments.push("--nounixsocket".into());
    }
    arguments
}

/// Waits for the server to listen, initiates its replica set and waits for it to be elected.
pub async fn ready(port: u16, deadline: Instant) -> Result<probe::Hello> {
    probe::until_listening(port, deadline).await?;
    let uri = probe::direct_uri(port);
    // The server answers as soon as it listens, though not yet as a member of a set.
    probe::reach(&uri, deadline).await?;
    let admin = probe::client(&uri).await?.database("admin");
    if let Err(error) = admin.run_command(initiate(port)).await {
        let known = matches!(
            error.kind.as_ref(),
            mongodb::error::ErrorKind::Command(command) if command.code == ALREADY_INITIALIZED
        );
        if !known {
            return Err(error).context("the replica set could not be initiated");
        }
    }
    probe::until_primary(port, deadline).await
}

fn initiate(port: u16) -> Document {
    doc! {
        "replSetInitiate": {
            "_id": SET,
            "members": [{ "_id": 0, "host": format!("127.0.0.1:{port}") }],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_a_set_member_on_loopback_only() {
        let arguments = arguments(Path::new("/tmp/a b/data"), 4321);
        assert_eq!(
            arguments[..8],
            [
                "--replSet",
                "odm",
                "--bind_ip",
                "127.0.0.1",
                "--port",
                "4321",
                "--dbpath",
                "/tmp/a b/data"
            ]
        );
    }

    #[test]
    fn the_set_has_one_member() {
        let expected = doc! {
            "replSetInitiate": { "_id": "odm", "members": [{ "_id": 0, "host": "127.0.0.1:4321" }] },
        };
        assert_eq!(initiate(4321), expected);
    }
}

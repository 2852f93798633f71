//! A server in a folder that stays, as `odm server` starts it: a program in mongod's place (`src/bin/fake-mongod.rs`), and a script
//! in that of Docker.
#![cfg(unix)]
#![allow(missing_docs)]

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use odm_launch::server::{Home, Source, obtain};

fn fake_mongod() -> PathBuf {
    env!("CARGO_BIN_EXE_fake-mongod").into()
}

fn home(dir: &Path) -> Result<(Home, u16)> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let dir = dir.join(".odm/server");
    Ok((Home::Folder { dir, port }, port))
}

/// Takes what `docker run` is given, and runs the program of the image outside of a container.
fn fake_docker(dir: &Path) -> Result<PathBuf> {
    let script = format!(
        r#"#!/bin/sh
echo "$@" >> "{noted}"
while [ "$1" != mongod ]; do
    case "$1" in --volume) data="${{2%%:*}}";; esac
    shift
done
exec "{mongod}" "$2" "$3" --bind_ip 127.0.0.1 "$5" "$6" --dbpath "$data"
"#,
        noted = dir.join("noted").display(),
        mongod = fake_mongod().display()
    );
    let docker = dir.join("docker");
    std::fs::write(&docker, script)?;
    std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755))?;
    Ok(docker)
}

#[tokio::test]
async fn a_mongod_is_a_replica_set_and_starts_again_with_its_data() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (home, port) = home(dir.path())?;
    for _ in 0..2 {
        let server = obtain(Source::Mongod(fake_mongod()), home.clone()).await?;
        assert_eq!(server.kind(), "mongod");
        assert!(
            server
                .uri()
                .starts_with(&format!("mongodb://127.0.0.1:{port}/?replicaSet=odm"))
        );
    }
    assert!(dir.path().join(".odm/server/data").is_dir());
    Ok(())
}

#[tokio::test]
async fn a_container_is_a_replica_set_with_its_data_outside() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let docker = fake_docker(dir.path())?;
    let (home, port) = home(dir.path())?;
    for _ in 0..2 {
        let server = obtain(Source::Docker(docker.clone()), home.clone()).await?;
        assert_eq!(server.kind(), "docker");
        assert!(
            server
                .uri()
                .contains(&format!("127.0.0.1:{port}/?replicaSet=odm"))
        );
    }
    let noted = std::fs::read_to_string(dir.path().join("noted"))?;
    assert_eq!(noted.lines().count(), 2);
    assert!(
        noted.contains(&format!("--publish 127.0.0.1:{port}:{port}")),
        "{noted}"
    );
    Ok(())
}

#[tokio::test]
async fn a_port_in_use_is_named() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = busy.local_addr()?.port();
    let home = Home::Folder {
        dir: dir.path().to_owned(),
        port,
    };
    let message = match obtain(Source::Mongod(fake_mongod()), home).await {
        Ok(server) => panic!("started: {server:?}"),
        Err(error) => format!("{error:#}"),
    };
    assert!(
        message.contains(&format!("port {port} of this machine is in use")),
        "{message}"
    );
    Ok(())
}

//! Starting, electing, killing and restarting nodes, with processes that stand in for mongod (`src/bin/fake-mongod.rs`).
#![cfg(unix)]
#![allow(missing_docs)]

#[path = "../../tests/tests/failover/control.rs"]
#[allow(dead_code)] // the tests of the library use it in more ways
mod client;

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use mongodb::Client;
use mongodb::bson::doc;
use tokio::process::Command;
use xtask::failover::control::Control;
use xtask::failover::set::{ReplicaSet, State};
use xtask::failover::with_set;

/// As mongod is started.
fn launch(dir: &Path, port: u16) -> Result<Command> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-mongod"));
    command
        .args([
            "--replSet",
            "odm",
            "--bind_ip",
            "127.0.0.1",
            "--nounixsocket",
            "--port",
        ])
        .arg(port.to_string())
        .arg("--dbpath")
        .arg(dir);
    Ok(command)
}

fn ports(uri: &str) -> Vec<u16> {
    let hosts = uri
        .trim_start_matches("mongodb://")
        .split('/')
        .next()
        .unwrap_or_default();
    hosts
        .split(',')
        .filter_map(|host| host.rsplit(':').next()?.parse().ok())
        .collect()
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The primary as the driver of an application finds it.
async fn primary(uri: &str) -> Result<u16> {
    let client = Client::with_uri_str(uri).await?;
    let hello = client.database("admin").run_command(doc! { "hello": 1 }).await?;
    let me = hello
        .get_str("me")?
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .parse()?;
    Ok(me)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_is_elected_killed_and_replaced() -> Result<()> {
    let mut set = ReplicaSet::start(launch).await?;
    let ports = ports(&set.uri());
    assert_eq!(ports.len(), 3);
    let first = set.wait_for_primary().await?;
    assert_eq!(primary(&set.uri()).await?, ports[first]);
    assert_eq!(set.kill_primary().await?, first);
    assert!(!listens(ports[first]));
    let second = set.wait_for_primary().await?;
    assert_ne!(second, first);
    assert_eq!(primary(&set.uri()).await?, ports[second]);
    let states = set.status().await;
    assert_eq!((states[first], states[second]), (State::Down, State::Primary));

    set.restart().await?;
    let states = set.status().await;
    let primaries = states.iter().filter(|state| **state == State::Primary).count();
    let secondaries = states.iter().filter(|state| **state == State::Secondary).count();
    assert_eq!((primaries, secondaries), (1, 2), "{states:?}");
    // The one that came back has its data: it can be elected again.
    set.kill_primary().await?;
    set.restart().await?;

    drop(set);
    assert!(!ports.into_iter().any(listens), "the nodes die with their owner");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_nobody_is_elected() -> Result<()> {
    let mut set = ReplicaSet::start(launch).await?;
    set.kill_primary().await?;
    set.kill_primary().await?;
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let mut states = set.status().await;
        states.sort_by_key(|state| *state == State::Down);
        if states == [State::Secondary, State::Down, State::Down] {
            break;
        }
        assert!(Instant::now() < until, "{states:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    set.restart().await?;
    assert_eq!(set.wait_for_primary().await?, set.wait_for_primary().await?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tests_ask_for_it_over_a_port() -> Result<()> {
    let mut set = ReplicaSet::start(launch).await?;
    let control = Control::open()?;
    let nodes = client::Nodes::at(control.address());
    let address = control.address().to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        nodes.restart_all();
        let first = nodes.kill_primary();
        let second = nodes.wait_for_primary();
        let states = nodes.status();
        nodes.restart_all();
        let again = nodes.status();
        // A text that is no command, a client that hangs up, and one that sends nothing do no harm.
        drop(TcpStream::connect(&address));
        let unknown = std::panic::catch_unwind(|| client::Nodes::at(&address).ask("dance"));
        let still = nodes.status();
        (first, second, states, again, unknown.is_err(), still)
    });
    let (first, second, states, again, refused, still) = tokio::select! {
        asked = asked => asked?,
        never = control.serve(&mut set) => match never {},
    };
    assert_ne!(first, second);
    assert_eq!(
        (states[first].as_str(), states[second].as_str()),
        ("down", "primary")
    );
    assert!(
        !again.contains(&"down".to_owned()) && again == still,
        "{again:?} {still:?}"
    );
    assert!(refused);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tests_find_the_set_and_give_their_exit_code() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let said = dir.path().join("said");
    let mut job = Command::new("sh");
    job.args([
        "-c",
        "echo \"$MONGODB_URI $ODM_FAILOVER $RUST_TEST_THREADS\" > \"$0\"; exit 7",
    ])
    .arg(&said);
    assert_eq!(with_set(launch, &mut job).await?, 7);
    let said = std::fs::read_to_string(said)?;
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!((words.len(), words[2]), (3, "1"), "{said}");
    assert!(
        words[0].ends_with("/?replicaSet=odm&w=majority") && words[1].starts_with("127.0.0.1:"),
        "{said}"
    );
    assert!(!ports(words[0]).into_iter().any(listens));
    Ok(())
}

/// As a Ctrl-C does: the command is dropped where it stands.
#[tokio::test(flavor = "multi_thread")]
async fn an_interruption_stops_the_nodes_and_the_tests() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let said = dir.path().join("said");
    let mut job = Command::new("sh");
    job.args([
        "-c",
        "echo \"$MONGODB_URI $$\" > \"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 600",
    ])
    .arg(&said);
    let watched = said.clone();
    let started = async {
        while !watched.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        ended = with_set(launch, &mut job) => bail!("it ended: {ended:?}"),
        () = started => {}
    }
    let said = std::fs::read_to_string(said)?;
    let (uri, pid) = said.trim().split_once(' ').unwrap_or_default();
    assert!(
        !ports(uri).is_empty() && !ports(uri).into_iter().any(listens),
        "{uri}"
    );
    let job = nix::unistd::Pid::from_raw(pid.parse()?);
    assert!(nix::sys::signal::kill(job, None).is_err(), "the tests have ended");
    Ok(())
}

/// Whether they end before anybody has looked at them, or later.
#[tokio::test]
async fn nodes_that_end_are_told_with_their_log() -> Result<()> {
    let says = "echo no disk left; exit 3";
    let soon = |_: &Path, _| {
        std::thread::sleep(Duration::from_millis(200));
        let mut command = Command::new("sh");
        command.args(["-c", says]);
        Ok(command)
    };
    let late = |_: &Path, _| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("sleep 1; {says}")]);
        Ok(command)
    };
    for error in [
        ReplicaSet::start(soon).await.err(),
        ReplicaSet::start(late).await.err(),
    ] {
        let error = error.map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(
            error.contains("a node ended") && error.contains("no disk left"),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn without_a_mongod_it_says_so() -> Result<()> {
    let empty = tempfile::tempdir()?;
    let xtask = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .args(["test", "--failover"])
            .env("PATH", empty.path())
            .env_remove("ODM_MONGOD");
        command
    };
    let output = xtask().output()?;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.starts_with("error: the failover tests were not run") && said.contains("ODM_MONGOD"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    let output = xtask().env("ODM_MONGOD", "/no/such/mongod").output()?;
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/mongod"));
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}

//! A replica set of three nodes of this machine.

use std::fmt;
use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::options::ClientOptions;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::process::Process;
use crate::server::describe_log;
use crate::server::probe::{HELLO, direct_uri, is_unknown};
use crate::workspace::step;

/// The name of the replica set, as the command that starts a node has it.
const SET: &str = "odm";

/// A majority is left when one of them dies.
const NODES: usize = 3;

/// How long an election, or a start, may take.
const READY_WITHIN: Duration = Duration::from_secs(90);

/// How long a node may take for one answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often nodes are asked.
const EVERY: Duration = Duration::from_millis(100);

/// The state of a node in the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It takes writes.
    Primary,
    /// It follows the primary.
    Secondary,
    /// It answers, but as neither: it has just started.
    Other,
    /// It runs, and does not answer.
    Silent,
    /// It does not run.
    Down,
}

impl State {
    /// The state that a reply to `hello` reports.
    pub fn of(hello: &Document) -> State {
        let is = |name: &str| hello.get_bool(name).unwrap_or(false);
        match (is("isWritablePrimary") || is("ismaster"), is("secondary")) {
            (true, _) => State::Primary,
            (false, true) => State::Secondary,
            (false, false) => State::Other,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Primary => "primary",
            State::Secondary => "secondary",
            State::Other => "other",
            State::Silent => "silent",
            State::Down => "down",
        })
    }
}

/// The nodes, which are killed when this is dropped.
#[derive(Debug)]
pub struct ReplicaSet<L> {
    launch: L,
    nodes: Vec<Node>,
    /// Dropped after the nodes, whose data is in it.
    _dir: TempDir,
}

#[derive(Debug)]
struct Node {
    port: u16,
    dir: PathBuf,
    /// From its start until it is killed here: one that ends by itself keeps it.
    process: Option<Process>,
}

impl Node {
    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// Whether it was started and has not ended.
    fn runs(&mut self) -> bool {
        self.process
            .as_mut()
            .is_some_and(|process| process.ended().is_none())
    }

    /// Whether it has ended without being killed here, however soon after its start that was.
    fn ended_by_itself(&mut self) -> bool {
        self.process.is_some() && !self.runs()
    }
}

impl<L> ReplicaSet<L>
where
    L: Fn(&Path, u16) -> Result<Command>,
{
    /// Starts the nodes that `launch` describes, each with a folder and a port, and waits until one of them is elected.
    ///
    /// # Errors
    /// Where a node ends or does not answer in time: with the end of its log.
    pub async fn start(launch: L) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("odm-failover-")
            .tempdir()
            .context("no temporary folder for the nodes: set TMPDIR to a folder that can be written to")?;
        let mut nodes = Vec::new();
        for (at, port) in free_ports(NODES)?.into_iter().enumerate() {
            let dir = dir.path().join(format!("node{at}"));
            std::fs::create_dir(&dir).with_context(|| format!("{} cannot be created", dir.display()))?;
            nodes.push(Node {
                port,
                dir,
                process: None,
            });
        }
        let mut set = Self {
            launch,
            nodes,
            _dir: dir,
        };
        step(format!("starting {NODES} nodes on the ports {}", set.ports()));
        set.launch_missing()?;
        let deadline = Instant::now() + READY_WITHIN;
        // A set is founded by asking one node, which asks the others.
        set.until(deadline, "to answer", |states| {
            states
                .iter()
                .all(|state| !matches!(state, State::Silent | State::Down))
        })
        .await?;
        let first = set.nodes.first().map_or(0, |node| node.port);
        run(first, set.initiate())
            .await
            .map_err(|error| set.explained(error.context("the replica set could not be initiated")))?;
        set.until(deadline, "to elect a primary", healthy).await?;
        Ok(set)
    }

    /// The connection string of the whole set. A write that a majority has not acknowledged may be lost with the primary, and
    /// before MongoDB 5.0 the default write concern does not wait for a majority.
    pub fn uri(&self) -> String {
        format!(
            "mongodb://{}/?replicaSet={SET}&w=majority",
            self.hosts().join(",")
        )
    }

    /// The state of each node. A node that has ended by itself is down.
    pub async fn status(&mut self) -> Vec<State> {
        let mut states = Vec::new();
        for node in &mut self.nodes {
            states.push(if node.runs() {
                ask(node.port).await
            } else {
                State::Down
            });
        }
        states
    }

    /// Kills the primary, as a power failure would, and says which one it was. Waits for a primary first.
    ///
    /// # Errors
    /// Where there is none in time.
    pub async fn kill_primary(&mut self) -> Result<usize> {
        let at = self.wait_for_primary().await?;
        if let Some(mut process) = self.nodes.get_mut(at).and_then(|node| node.process.take()) {
            process.kill();
        }
        Ok(at)
    }

    /// Waits until a node is the primary, and says which.
    ///
    /// # Errors
    /// Where none is in time, or a node has ended by itself.
    pub async fn wait_for_primary(&mut self) -> Result<usize> {
        let deadline = Instant::now() + READY_WITHIN;
        let states = self
            .until(deadline, "to elect a primary", |states| primary(states).is_some())
            .await?;
        primary(&states).context("there is no primary")
    }

    /// Starts the nodes that are down, with their data and their ports, and waits until all follow one primary.
    ///
    /// # Errors
    /// Where they don't in time, or one ends.
    pub async fn restart(&mut self) -> Result<()> {
        self.launch_missing()?;
        let deadline = Instant::now() + READY_WITHIN;
        self.until(deadline, "to come back", healthy).await?;
        Ok(())
    }

    fn launch_missing(&mut self) -> Result<()> {
        for node in &mut self.nodes {
            if node.runs() {
                continue;
            }
            let log = node.log();
            let output = OpenOptions::new()
                .create(true)
                .append(true)
                .open(&log)
                .with_context(|| format!("{} cannot be written", log.display()))?;
            let mut command = (self.launch)(&node.dir, node.port)?;
            command
                .current_dir(&node.dir)
                .stdout(output.try_clone()?)
                .stderr(output);
            // Nothing of theirs is kept, so nothing has to be put in order when they end.
            node.process = Some(Process::spawn("a node", &mut command, Duration::ZERO)?);
        }
        Ok(())
    }

    /// Asks the nodes until they are as they should be.
    async fn until(
        &mut self,
        deadline: Instant,
        what: &str,
        accept: impl Fn(&[State]) -> bool,
    ) -> Result<Vec<State>> {
        loop {
            let states = self.status().await;
            if accept(&states) {
                return Ok(states);
            }
            if self.nodes.iter_mut().any(Node::ended_by_itself) {
                return Err(self.explained(anyhow!("a node ended while the nodes were {what}")));
            }
            if Instant::now() >= deadline {
                let states: Vec<String> = states.iter().map(State::to_string).collect();
                let error = anyhow!(
                    "gave up waiting for the nodes {what}: they are {}",
                    states.join(", ")
                );
                return Err(self.explained(error));
            }
            sleep(EVERY).await;
        }
    }

    fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let logs: Vec<String> = self
            .nodes
            .iter()
            .map(|node| format!("port {}: {}", node.port, describe_log(&node.log())))
            .collect();
        anyhow!("{error:#}\n{}", logs.join("\n"))
    }

    fn hosts(&self) -> Vec<String> {
        self.nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect()
    }

    fn ports(&self) -> String {
        let ports: Vec<String> = self.nodes.iter().map(|node| node.port.to_string()).collect();
        ports.join(", ")
    }

    /// The default is an election after ten seconds of silence; tests have less time.
    fn initiate(&self) -> Document {
        let hosts = self.hosts().into_iter().zip(0_i32..);
        let members: Vec<Document> = hosts.map(|(host, at)| doc! { "_id": at, "host": host }).collect();
        doc! {
            "replSetInitiate": {
                "_id": SET,
                "members": members,
                "settings": { "electionTimeoutMillis": 2_000, "heartbeatIntervalMillis": 500 },
            },
        }
    }
}

fn primary(states: &[State]) -> Option<usize> {
    states.iter().position(|state| *state == State::Primary)
}

/// One primary, and all others follow it.
fn healthy(states: &[State]) -> bool {
    let count = |wanted| states.iter().filter(|state| **state == wanted).count();
    count(State::Primary) == 1 && count(State::Secondary) + 1 == states.len()
}

async fn ask(port: u16) -> State {
    // The driver would look for a server for as long as it may; whether one listens is known at once.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if TcpStream::connect_timeout(&address, PATIENCE).is_err() {
        return State::Silent;
    }
    let [name, older] = HELLO;
    let answer = match run(port, doc! { name: 1 }).await {
        Err(error) if error.downcast_ref().is_some_and(is_unknown) => run(port, doc! { older: 1 }).await,
        answer => answer,
    };
    match answer {
        Ok(hello) => State::of(&hello),
        Err(_) => State::Silent,
    }
}

/// Runs a command on one node. Each time with a new client: what an old one believes of a node may be out of date.
async fn run(port: u16, command: Document) -> Result<Document> {
    let mut options = ClientOptions::parse(direct_uri(port)).await?;
    options.server_selection_timeout = Some(PATIENCE);
    options.connect_timeout = Some(PATIENCE);
    let client = Client::with_options(options)?;
    let reply = client.database("admin").run_command(command).await;
    client.shutdown().immediate(true).await;
    Ok(reply?)
}

/// Ports that nothing listens on, all different.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let mut listeners = Vec::new();
    for _ in 0..count {
        listeners.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?);
    }
    let ports: Vec<u16> = listeners
        .iter()
        .filter_map(|listener| Some(listener.local_addr().ok()?.port()))
        .collect();
    if ports.len() == count {
        Ok(ports)
    } else {
        bail!("no free port on 127.0.0.1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_known_by_its_reply() {
        // As a mongod answers.
        let primary = doc! { "ok": 1.0, "isWritablePrimary": true, "secondary": false, "readOnly": false };
        assert_eq!(State::of(&primary), State::Primary);
        assert_eq!(State::of(&doc! { "ismaster": true }), State::Primary);
        assert_eq!(
            State::of(&doc! { "isWritablePrimary": false, "secondary": true }),
            State::Secondary
        );
        let unfounded = doc! { "isWritablePrimary": false, "secondary": false, "isreplicaset": true };
        assert_eq!(State::of(&unfounded), State::Other);
        assert_eq!(State::of(&doc! {}), State::Other);
        assert_eq!(State::of(&doc! { "isWritablePrimary": "yes" }), State::Other);
    }

    #[test]
    fn a_set_is_healthy_with_one_primary_that_all_follow() {
        use State::{Down, Other, Primary, Secondary};
        assert!(healthy(&[Secondary, Primary, Secondary]));
        for not in [
            [Secondary, Secondary, Secondary],
            [Primary, Primary, Secondary],
            [Primary, Secondary, Other],
            [Primary, Secondary, Down],
        ] {
            assert!(!healthy(&not), "{not:?}");
        }
    }

    #[test]
    fn ports_differ() -> Result<()> {
        let ports = free_ports(5)?;
        let distinct: std::collections::HashSet<&u16> = ports.iter().collect();
        assert_eq!(distinct.len(), 5);
        Ok(())
    }
}

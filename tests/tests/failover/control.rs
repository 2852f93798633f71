//! Asks `cargo xtask test --failover`, which owns the nodes, to kill and to restart them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longer than an election and a start may take there.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// The nodes of the replica set that the tests run on.
#[derive(Clone, Debug)]
pub struct Nodes {
    address: String,
}

impl Nodes {
    /// Those that the environment names.
    ///
    /// # Panics
    /// Where it names none: the one sentence that says what to run.
    pub fn of_environment() -> Nodes {
        match std::env::var("ODM_FAILOVER") {
            Ok(address) if !address.is_empty() => Nodes::at(address),
            _ => panic!("no nodes to kill: run `cargo xtask test --failover`"),
        }
    }

    /// Those that are asked for at this address.
    pub fn at(address: impl Into<String>) -> Nodes {
        Nodes {
            address: address.into(),
        }
    }

    /// Kills the primary, as a power failure would, and says which node it was. Waits for a primary first.
    pub fn kill_primary(&self) -> usize {
        self.ask("kill primary").parse().expect("the number of a node")
    }

    /// Starts the nodes that are down, and waits until all of them follow one primary.
    pub fn restart_all(&self) {
        self.ask("restart");
    }

    /// Waits until a node is the primary, and says which.
    pub fn wait_for_primary(&self) -> usize {
        self.ask("wait").parse().expect("the number of a node")
    }

    /// What each node is: `primary`, `secondary`, `other`, `silent` or `down`.
    pub fn status(&self) -> Vec<String> {
        self.ask("status").split_whitespace().map(str::to_owned).collect()
    }

    /// Asks for something in the words of the protocol.
    pub fn ask(&self, command: &str) -> String {
        let answer = self
            .exchange(command)
            .unwrap_or_else(|error| panic!("`{command}`: {} does not answer: {error}", self.address));
        match answer.trim().strip_prefix("ok") {
            Some(words) => words.trim().to_owned(),
            None => panic!("`{command}`: {answer}"),
        }
    }

    fn exchange(&self, command: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        writeln!(stream, "{command}")?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer)
    }
}

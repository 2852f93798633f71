//! Commands of the tests to the nodes: a line for a command, a line for the answer, over TCP on this machine.
//!
//! | command | does | answer |
//! | --- | --- | --- |
//! | `status` | | `ok primary secondary down`: a word for each node |
//! | `kill primary` | waits for a primary and kills it | `ok 0`: which node it was |
//! | `wait` | waits for a primary | `ok 1`: which node it is |
//! | `restart` | starts what is down, and waits until all follow one primary | `ok` |
//!
//! A command that fails is answered by `error` and the reason.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::set::{ReplicaSet, State};
use crate::workspace::step;

/// Time limit for a client that has connected to send its command.
const SAY_WITHIN: Duration = Duration::from_secs(5);

/// The longest command, with room to spare.
const LONGEST: u64 = 100;

/// The port that the tests talk to.
#[derive(Debug)]
pub struct Control {
    listener: std::net::TcpListener,
    address: String,
}

impl Control {
    /// Opens a free port of this machine.
    ///
    /// # Errors
    /// Where there is none.
    pub fn open() -> Result<Control> {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        Ok(Control { listener, address })
    }

    /// `127.0.0.1:4321`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Does what is asked, one connection after the other, until it is dropped.
    pub async fn serve<L>(self, set: &mut ReplicaSet<L>) -> Infallible
    where
        L: Fn(&Path, u16) -> Result<Command>,
    {
        let listener = loop {
            match self.listener.try_clone().and_then(TcpListener::from_std) {
                Ok(listener) => break listener,
                Err(error) => {
                    step(format!("the control port does not work: {error}"));
                    sleep(SAY_WITHIN).await;
                }
            }
        };
        loop {
            match listener.accept().await {
                // One that hangs up is no reason to stop.
                Ok((stream, _)) => drop(answer(stream, set).await),
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

async fn answer<L>(mut stream: TcpStream, set: &mut ReplicaSet<L>) -> Result<()>
where
    L: Fn(&Path, u16) -> Result<Command>,
{
    let mut line = String::new();
    let mut reader = BufReader::new(&mut stream).take(LONGEST);
    timeout(SAY_WITHIN, reader.read_line(&mut line)).await??;
    let line = line.trim();
    let answer = match execute(line, set).await {
        Ok(words) => {
            step(format!("{line}: {words}"));
            format!("ok {words}")
        }
        Err(error) => {
            step(format!("{line}: {error:#}"));
            // An answer is one line; the reason is shown in full above.
            let reason = format!("{error:#}");
            format!("error {}", reason.lines().next().unwrap_or_default())
        }
    };
    stream
        .write_all(format!("{}\n", answer.trim_end()).as_bytes())
        .await?;
    Ok(stream.shutdown().await?)
}

async fn execute<L>(command: &str, set: &mut ReplicaSet<L>) -> Result<String>
where
    L: Fn(&Path, u16) -> Result<Command>,
{
    match command {
        "status" => {
            let states: Vec<String> = set.status().await.iter().map(State::to_string).collect();
            Ok(states.join(" "))
        }
        "kill primary" => Ok(set.kill_primary().await?.to_string()),
        "wait" => Ok(set.wait_for_primary().await?.to_string()),
        "restart" => {
            set.restart().await?;
            Ok(String::new())
        }
        other => Err(anyhow!(
            "`{other}` is no command: there are `status`, `kill primary`, `wait` and `restart`"
        )),
    }
}

//! The MongoDB server that a command or a test uses: given by URI, or started here and stopped when its guard is dropped.
//!
//! The caller decides on a [`Source`] from what the [`Environment`] has. [`obtain`] contacts or starts it, and returns once the
//! server has answered as a primary.

pub mod docker;
pub mod mongod;
pub mod probe;
pub mod secantus;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::Instant;

use crate::process::Process;
use crate::programs::{find_program, is_executable, step};

/// How long a server may take from its start to its first answer as a primary.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a server started here may take to end when asked to.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// How many ports to try, since a free port may be taken between choosing and using it.
const PORTS: u32 = 3;

/// The environment that the choice of a server depends on.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `MONGODB_URI`, where it is not empty.
    pub uri: Option<String>,
    /// `ODM_MONGOD`, where it is not empty.
    pub odm_mongod: Option<Named>,
    /// `mongod` on PATH.
    pub mongod: Option<PathBuf>,
    /// `secantusd-rs` on PATH.
    pub secantusd_rs: Option<PathBuf>,
    /// `docker` on PATH.
    pub docker: Option<PathBuf>,
}

/// A program named by a variable.
#[derive(Clone, Debug)]
pub struct Named {
    /// The value of the variable.
    pub value: String,
    /// The program it names, where there is such a program.
    pub program: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        Self {
            uri: variable("MONGODB_URI"),
            odm_mongod: variable("ODM_MONGOD").map(|value| {
                let path = std::path::absolute(&value)
                    .ok()
                    .filter(|path| is_executable(path));
                let program = path.or_else(|| find_program(&value));
                Named { value, program }
            }),
            mongod: find_program("mongod"),
            secantusd_rs: find_program("secantusd-rs"),
            docker: find_program("docker"),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .map(|value| value.to_string_lossy().trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// A server that was decided on and not yet contacted or started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A server that runs: it is used as it is and never stopped.
    Uri(String),
    /// A `mongod`, started as a replica set of one.
    Mongod(PathBuf),
    /// `mongod` in a container, as a replica set of one.
    Docker(PathBuf),
    /// SecantusDB in Rust.
    SecantusRs(PathBuf),
    /// SecantusDB in Python, installed from PyPI below a folder.
    SecantusPy {
        /// The folder that the packages are installed in.
        tools: PathBuf,
    },
}

impl Source {
    /// The name commands see in `ODM_SERVER_KIND`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Uri(_) => "uri",
            Self::Mongod(_) => "mongod",
            Self::Docker(_) => "docker",
            Self::SecantusRs(_) => "secantus-rs",
            Self::SecantusPy { .. } => "secantus-py",
        }
    }

    /// SecantusDB: `secantusd-rs` where it is on PATH, else from PyPI with its packages below `tools`.
    pub fn stand_in(environment: &Environment, tools: PathBuf) -> Self {
        match &environment.secantusd_rs {
            Some(program) => Self::SecantusRs(program.clone()),
            None => Self::SecantusPy { tools },
        }
    }

    /// Whether the server is a stand-in for MongoDB.
    pub fn is_stand_in(&self) -> bool {
        matches!(self, Self::SecantusRs(_) | Self::SecantusPy { .. })
    }
}

/// Where a server that is started here has its data and listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// A temporary folder, and a free port.
    Temporary {
        /// Leave the server and its data when the guard is dropped, and print where they are.
        keep: bool,
    },
    /// A folder that stays, and a port.
    Folder {
        /// The folder, which is created where it is missing.
        dir: PathBuf,
        /// The port of 127.0.0.1.
        port: u16,
    },
}

/// The mongod that the environment names.
///
/// # Errors
/// Where `ODM_MONGOD` names no program.
pub fn find_mongod(environment: &Environment) -> Result<Option<PathBuf>> {
    match &environment.odm_mongod {
        Some(Named {
            program: Some(program),
            ..
        }) => Ok(Some(program.clone())),
        Some(Named { value, program: None }) => {
            bail!("ODM_MONGOD is `{value}`, which is no program: set it to the path of a mongod, or unset it")
        }
        None => Ok(environment.mongod.clone()),
    }
}

/// A server that has answered. Dropping it stops what was started here.
#[derive(Debug)]
pub struct Server {
    uri: String,
    kind: &'static str,
    started: Option<Started>,
}

impl Server {
    /// The connection string.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What kind of server it is: see [`Source::kind`].
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Waits until a server that was started here ends by itself, and describes its end.
    pub async fn ended(&mut self) -> String {
        let Some(started) = &mut self.started else {
            return std::future::pending().await;
        };
        let status = match started.process.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => format!("{error:#}"),
        };
        format!(
            "the server ended early ({status}); {}",
            describe_log(&started.log)
        )
    }

    /// Tells `command` where the server is and what kind of server it is.
    pub fn tell(&self, command: &mut Command) {
        command
            .env("MONGODB_URI", &self.uri)
            .env("ODM_SERVER_KIND", self.kind);
    }

    /// The end of the server's log, where a server started here has ended by itself.
    pub fn obituary(&mut self) -> Option<String> {
        let started = self.started.as_mut()?;
        let status = started.process.ended()?;
        Some(format!(
            "the server ended early ({status}); {}",
            describe_log(&started.log)
        ))
    }
}

/// A server process with its folder. The process is dropped, and so stopped, before the folder.
#[derive(Debug)]
struct Started {
    process: Process,
    /// A folder that is removed with the server.
    dir: Option<TempDir>,
    log: PathBuf,
    uri: String,
    keep: bool,
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.keep {
            step("stopping the server");
            return;
        }
        self.process.release();
        let Some(dir) = self.dir.take().map(TempDir::keep) else {
            return;
        };
        step("the server is kept");
        println!("MONGODB_URI={}", self.uri);
        println!("PID={}", self.process.pid());
        println!("DIR={}", dir.display());
    }
}

/// Does what [`obtain`] does for several lanes of tests, and starts a server for each where one would leave a core idle:
/// SecantusDB in Python is one interpreter. One that is kept stays alone.
///
/// # Errors
/// Where a server can't be contacted or started.
pub async fn obtain_for_lanes(source: Source, keep: bool, lanes: usize) -> Result<Vec<Server>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let servers = if matches!(source, Source::SecantusPy { .. }) && !keep {
        lanes.min(cores).max(1)
    } else {
        1
    };
    let mut all = Vec::new();
    while all.len() < servers {
        all.push(obtain(source.clone(), Home::Temporary { keep }).await?);
    }
    Ok(all)
}

/// How long a server may not answer before it counts as silent.
const SILENT_AFTER: Duration = Duration::from_secs(180);

/// Waits until one of the servers that were started here has not answered for three minutes.
pub async fn any_silent(servers: &[Server]) {
    let started = servers.iter().filter(|server| server.started.is_some());
    let uris: Vec<&str> = started.map(Server::uri).collect();
    if uris.is_empty() {
        return std::future::pending().await;
    }
    probe::until_silent(&uris, SILENT_AFTER).await;
}

/// Contacts or starts the server, and waits until it answers.
///
/// # Errors
/// Where it can't be contacted or started, with the end of its log.
pub async fn obtain(source: Source, home: Home) -> Result<Server> {
    let kind = source.kind();
    match source {
        Source::Uri(uri) => given(uri, kind).await,
        Source::Mongod(program) => {
            let launch = |dir: &Path, port| mongod::command(&program, dir, port);
            start(kind, &home, launch, mongod::ready).await
        }
        Source::Docker(program) => {
            let launch = |dir: &Path, port| docker::command(&program, dir, port);
            start(kind, &home, launch, mongod::ready).await
        }
        Source::SecantusRs(program) => {
            let launch = |dir: &Path, port| secantus::native_command(&program, dir, port);
            start(kind, &home, launch, probe::until_primary).await
        }
        Source::SecantusPy { tools } => {
            let python = secantus::install(&tools).await?;
            let launch = |dir: &Path, port| secantus::python_command(&python, dir, port);
            start(kind, &home, launch, probe::until_primary).await
        }
    }
}

async fn given(uri: String, kind: &'static str) -> Result<Server> {
    let shown = probe::without_credentials(&uri);
    let hello = probe::reach(&uri, Instant::now() + READY_WITHIN)
        .await
        .with_context(|| {
            format!("the server MONGODB_URI names ({shown}) does not answer: start it, or unset MONGODB_URI")
        })?;
    step(format!("using {hello} at {shown}"));
    if !hello.has_transactions() {
        step("that is a standalone server: transactions and change streams need a replica set");
    }
    Ok(Server {
        uri,
        kind,
        started: None,
    })
}

/// Starts a server that `launch` describes and waits until `ready` says that it is a primary.
async fn start<R>(
    kind: &'static str,
    home: &Home,
    launch: impl Fn(&Path, u16) -> Result<Command>,
    ready: impl Fn(u16, Instant) -> R,
) -> Result<Server>
where
    R: Future<Output = Result<probe::Hello>>,
{
    let mut attempt = 1;
    loop {
        let Lodging { dir, temporary, port } = Lodging::of(home)?;
        let log = dir.join("server.log");
        let output = File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
        let mut command = launch(&dir, port)?;
        command
            .current_dir(&dir)
            .stdout(output.try_clone()?)
            .stderr(output);
        step(format!("starting {kind} on port {port}"));
        let process = Process::spawn(kind, &mut command, STOP_WITHIN)?;
        let mut started = Started {
            process,
            dir: temporary,
            log,
            uri: String::new(),
            keep: false,
        };

        let outcome = tokio::select! {
            hello = ready(port, Instant::now() + READY_WITHIN) => hello,
            status = started.process.wait() => Err(anyhow!("it ended ({})", status?)),
        };
        // Something else may have answered on a port that this server did not get.
        let outcome = match (outcome, started.process.ended()) {
            (Ok(_), Some(status)) => Err(anyhow!("it ended ({status})")),
            (outcome, _) => outcome,
        };
        match outcome {
            Ok(hello) => {
                let uri = hello.uri(port);
                step(format!("using {hello} at {uri}"));
                started.uri.clone_from(&uri);
                started.keep = matches!(home, Home::Temporary { keep: true });
                return Ok(Server {
                    uri,
                    kind,
                    started: Some(started),
                });
            }
            Err(error) => {
                let tail = describe_log(&started.log);
                let is_taken = tail.to_lowercase().contains("address already in use");
                match home {
                    Home::Temporary { .. } if is_taken && attempt < PORTS => attempt += 1,
                    _ => bail!("{kind} did not get ready: {error:#}; {tail}"),
                }
            }
        }
    }
}

/// The folder and the port of a server that is about to be started.
struct Lodging {
    dir: PathBuf,
    temporary: Option<TempDir>,
    port: u16,
}

impl Lodging {
    fn of(home: &Home) -> Result<Self> {
        match home {
            Home::Temporary { .. } => {
                let temporary = tempfile::Builder::new().prefix("odm-server-").tempdir().context(
                    "no temporary folder for the server: set TMPDIR to a folder that can be written to",
                )?;
                Ok(Self {
                    dir: temporary.path().to_owned(),
                    temporary: Some(temporary),
                    port: free_port()?,
                })
            }
            Home::Folder { dir, port } => {
                std::fs::create_dir_all(dir)
                    .with_context(|| format!("{} cannot be created", dir.display()))?;
                TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).with_context(|| {
                    format!("port {port} of this machine is in use: stop the program that listens on it, or choose another one by `--port`")
                })?;
                Ok(Self {
                    dir: std::path::absolute(dir)?,
                    temporary: None,
                    port: *port,
                })
            }
        }
    }
}

/// A port of the loopback interface that nothing listens on.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// The end of a log, or why there is none.
pub fn describe_log(path: &Path) -> String {
    match tail(path, 30) {
        Ok(text) if text.is_empty() => "its log is empty".to_owned(),
        Ok(text) => format!("its log ends with:\n{text}"),
        Err(error) => format!("its log cannot be read: {error}"),
    }
}

/// The last `lines` lines of a file, or as many of them as its last 16 KiB hold.
fn tail(path: &Path, lines: usize) -> std::io::Result<String> {
    const LIMIT: u64 = 16 * 1024;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LIMIT)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_can_be_listened_on() -> Result<()> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, free_port()?))?;
        Ok(())
    }

    #[test]
    fn the_tail_is_the_end_of_the_log() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let log = dir.path().join("log");
        assert!(describe_log(&log).contains("cannot be read"));
        std::fs::write(&log, "")?;
        assert_eq!(describe_log(&log), "its log is empty");
        std::fs::write(&log, "one\ntwo\nthree\n")?;
        assert_eq!(tail(&log, 2)?, "two\nthree");
        assert_eq!(tail(&log, 9)?, "one\ntwo\nthree");
        std::fs::write(&log, "x".repeat(100_000))?;
        assert_eq!(tail(&log, 9)?.len(), 16 * 1024);
        Ok(())
    }

    #[tokio::test]
    async fn a_server_that_ends_is_reported_with_its_log() {
        let launch = |_: &Path, _| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo no disk left; exit 3"]);
            Ok(command)
        };
        let message = match start(
            "mongod",
            &Home::Temporary { keep: false },
            launch,
            probe::until_primary,
        )
        .await
        {
            Ok(server) => panic!("started: {server:?}"),
            Err(error) => format!("{error:#}"),
        };
        assert!(
            message.contains("no disk left") && message.contains("exit status: 3"),
            "{message}"
        );
    }
}

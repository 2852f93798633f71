//! The MongoDB server a command talks to: given by URI, or started here and stopped with the command.
//!
//! [`select`] decides from the command line and the [`Environment`]; [`obtain`] carries the decision out and
//! returns once the server has answered as a primary.

pub(crate) mod mongod;
pub(crate) mod probe;
mod secantus;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::Instant;

use crate::process::Process;
use crate::workspace::{find_program, is_executable, step};

/// How long a server may take from its start to its first answer as a primary.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// How long a server started here may take to end when asked to.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// How many ports to try, since a free port may be taken between choosing and using it.
const PORTS: u32 = 3;

/// Where the server comes from, as asked for on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The first that is there: MONGODB_URI, mongod, SecantusDB.
    #[default]
    Auto,
    /// The server MONGODB_URI names; it is used as it is and never stopped.
    Uri,
    /// A mongod (ODM_MONGOD, else from PATH), started as a replica set of one.
    Mongod,
    /// SecantusDB: `secantusd-rs` from PATH, else installed from PyPI under the target directory.
    Secantus,
}

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
    Uri(String),
    Mongod(PathBuf),
    SecantusRs(PathBuf),
    SecantusPy,
}

impl Source {
    /// The name commands see in `ODM_SERVER_KIND`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Uri(_) => "uri",
            Self::Mongod(_) => "mongod",
            Self::SecantusRs(_) => "secantus-rs",
            Self::SecantusPy => "secantus-py",
        }
    }
}

/// Decides which server to use.
pub fn select(choice: Choice, environment: &Environment) -> Result<Source> {
    match choice {
        Choice::Uri => match &environment.uri {
            Some(uri) => Ok(Source::Uri(uri.clone())),
            None => {
                bail!("`--server uri` needs MONGODB_URI to be set to the connection string of the server")
            }
        },
        Choice::Mongod => match find_mongod(environment)? {
            Some(program) => Ok(Source::Mongod(program)),
            None => bail!(
                "`--server mongod` found no mongod: set ODM_MONGOD to the path of one, or put one on PATH"
            ),
        },
        Choice::Secantus => Ok(secantus(environment)),
        Choice::Auto => {
            if let Some(uri) = &environment.uri {
                return Ok(Source::Uri(uri.clone()));
            }
            Ok(find_mongod(environment)?.map_or_else(|| secantus(environment), Source::Mongod))
        }
    }
}

/// The mongod that the environment names.
pub(crate) fn find_mongod(environment: &Environment) -> Result<Option<PathBuf>> {
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

fn secantus(environment: &Environment) -> Source {
    environment
        .secantusd_rs
        .clone()
        .map_or(Source::SecantusPy, Source::SecantusRs)
}

/// A server that has answered. Dropping it stops what was started here.
#[derive(Debug)]
pub struct Server {
    uri: String,
    kind: &'static str,
    started: Option<Started>,
}

impl Server {
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
pub async fn obtain_for_lanes(source: Source, keep: bool, lanes: usize) -> Result<Vec<Server>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let servers = match source == Source::SecantusPy && !keep {
        true => lanes.min(cores).max(1),
        false => 1,
    };
    let mut all = Vec::new();
    while all.len() < servers {
        all.push(obtain(source.clone(), keep).await?);
    }
    Ok(all)
}

/// Contacts or starts the server, and waits until it answers.
pub async fn obtain(source: Source, keep: bool) -> Result<Server> {
    let kind = source.kind();
    match source {
        Source::Uri(uri) => given(uri, kind).await,
        Source::Mongod(program) => {
            let launch = |dir: &Path, port| mongod::command(&program, dir, port);
            start(kind, keep, launch, mongod::ready).await
        }
        Source::SecantusRs(program) => {
            let launch = |dir: &Path, port| secantus::native_command(&program, dir, port);
            start(kind, keep, launch, probe::until_primary).await
        }
        Source::SecantusPy => {
            let python = secantus::install(&crate::workspace::target_dir()).await?;
            let launch = |dir: &Path, port| secantus::python_command(&python, dir, port);
            start(kind, keep, launch, probe::until_primary).await
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
    keep: bool,
    launch: impl Fn(&Path, u16) -> Result<Command>,
    ready: impl Fn(u16, Instant) -> R,
) -> Result<Server>
where
    R: Future<Output = Result<probe::Hello>>,
{
    let mut attempt = 1;
    loop {
        let port = free_port()?;
        let dir = tempfile::Builder::new()
            .prefix("odm-server-")
            .tempdir()
            .context("no temporary folder for the server: set TMPDIR to a folder that can be written to")?;
        let log = dir.path().join("server.log");
        let output = File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
        let mut command = launch(dir.path(), port)?;
        command
            .current_dir(dir.path())
            .stdout(output.try_clone()?)
            .stderr(output);
        step(format!("starting {kind} on port {port}"));
        let process = Process::spawn(kind, &mut command, STOP_WITHIN)?;
        let mut started = Started {
            process,
            dir: Some(dir),
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
                started.keep = keep;
                return Ok(Server {
                    uri,
                    kind,
                    started: Some(started),
                });
            }
            Err(error) => {
                let tail = describe_log(&started.log);
                if attempt < PORTS && tail.to_lowercase().contains("address already in use") {
                    attempt += 1;
                    continue;
                }
                bail!("{kind} did not get ready: {error:#}; {tail}");
            }
        }
    }
}

/// A port of the loopback interface that nothing listens on.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

pub(crate) fn describe_log(path: &Path) -> String {
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

/// `--flag value` pairs as arguments.
fn flags<const N: usize>(pairs: [(&str, &OsStr); N]) -> Vec<std::ffi::OsString> {
    pairs
        .into_iter()
        .flat_map(|(flag, value)| [flag.into(), value.to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Environment {
        Environment {
            uri: Some("mongodb://db.example".into()),
            odm_mongod: Some(Named {
                value: "m8".into(),
                program: Some("/opt/m8".into()),
            }),
            mongod: Some("/usr/bin/mongod".into()),
            secantusd_rs: Some("/usr/bin/secantusd-rs".into()),
        }
    }

    fn refusal(choice: Choice, environment: &Environment) -> String {
        select(choice, environment)
            .err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default()
    }

    #[test]
    fn auto_takes_the_first_there_is() -> Result<()> {
        let mut environment = everything();
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Uri("mongodb://db.example".into())
        );
        environment.uri = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Mongod("/opt/m8".into())
        );
        environment.odm_mongod = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::Mongod("/usr/bin/mongod".into())
        );
        environment.mongod = None;
        assert_eq!(
            select(Choice::Auto, &environment)?,
            Source::SecantusRs("/usr/bin/secantusd-rs".into())
        );
        environment.secantusd_rs = None;
        assert_eq!(select(Choice::Auto, &environment)?, Source::SecantusPy);
        Ok(())
    }

    #[test]
    fn a_choice_skips_the_servers_before_it() -> Result<()> {
        let environment = everything();
        assert_eq!(select(Choice::Uri, &environment)?.kind(), "uri");
        assert_eq!(select(Choice::Mongod, &environment)?.kind(), "mongod");
        assert_eq!(select(Choice::Secantus, &environment)?.kind(), "secantus-rs");
        assert_eq!(
            select(Choice::Secantus, &Environment::default())?.kind(),
            "secantus-py"
        );
        Ok(())
    }

    #[test]
    fn missing_programs_are_named() {
        let nothing = Environment::default();
        assert!(refusal(Choice::Uri, &nothing).contains("MONGODB_URI"));
        assert!(refusal(Choice::Mongod, &nothing).contains("ODM_MONGOD"));
    }

    #[test]
    fn a_wrong_odm_mongod_is_not_passed_over() {
        let mut environment = everything();
        environment.uri = None;
        environment.odm_mongod = Some(Named {
            value: "/no/such".into(),
            program: None,
        });
        for choice in [Choice::Auto, Choice::Mongod] {
            assert!(refusal(choice, &environment).contains("/no/such"));
        }
    }

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
        let message = match start("mongod", false, launch, probe::until_primary).await {
            Ok(server) => panic!("started: {server:?}"),
            Err(error) => format!("{error:#}"),
        };
        assert!(
            message.contains("no disk left") && message.contains("exit status: 3"),
            "{message}"
        );
    }
}

//! The processes that an interruption of a command leaves behind, and `--keep`: with a script in cargo's place, and a program in
//! mongod's (`src/bin/fake-mongod.rs`).
#![cfg(unix)]
#![allow(missing_docs)]

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long anything may take.
const WITHIN: Duration = Duration::from_secs(60);

/// What `cargo metadata` says of the workspace.
const METADATA: &str =
    r#"{"packages":[{"targets":[{"name":"reading","kind":["test"],"test":true,"doctest":false}]}]}"#;

/// `cargo xtask` with stand-ins, and what these have written.
struct Started {
    child: Child,
    dir: TempDir,
}

impl Started {
    /// Builds are done at once, and the workspace has one test binary; what is then run notes itself, and does this.
    fn new(arguments: &[&str], run: &str) -> Result<Started> {
        let dir = tempfile::tempdir()?;
        let cargo = dir.path().join("cargo");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *--no-run*|build*) exit 0;; metadata*) echo '{METADATA}'; exit 0;; esac\n\
             echo \"$$ $MONGODB_URI $*\" > '{0}.part' && mv '{0}.part' '{0}'\n{run}\n",
            dir.path().join("noted").display()
        );
        std::fs::write(&cargo, script)?;
        std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755))?;
        let child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(arguments)
            .env("CARGO", &cargo)
            .env("ODM_MONGOD", env!("CARGO_BIN_EXE_fake-mongod"))
            .env("TMPDIR", dir.path())
            .env_remove("MONGODB_URI")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Started { child, dir })
    }

    /// The process that was run, the port of its server, and its arguments.
    fn noted(&mut self) -> Result<(Pid, u16, String)> {
        let file = self.dir.path().join("noted");
        let noted = until("something is run", || std::fs::read_to_string(&file).ok())?;
        let mut words = noted.trim().splitn(3, ' ');
        let pid = words
            .next()
            .and_then(|pid| pid.parse().ok())
            .context("a process")?;
        let port = words.next().and_then(port).context("a port")?;
        Ok((
            Pid::from_raw(pid),
            port,
            words.next().unwrap_or_default().to_owned(),
        ))
    }

    fn interrupt(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        Ok(kill(pid, signal)?)
    }

    /// How it ended, and what it printed.
    fn end(&mut self) -> Result<(ExitStatus, String)> {
        let status = until("it ends", || self.child.try_wait().ok().flatten())?;
        let mut printed = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut printed)?;
        }
        Ok((status, printed))
    }

    /// The folders of servers that are left.
    fn folders(&self) -> Result<Vec<PathBuf>> {
        let all = std::fs::read_dir(self.dir.path())?.map(|entry| Ok(entry?.path()));
        let all = all.collect::<Result<Vec<_>>>()?;
        Ok(all.into_iter().filter(|path| path.is_dir()).collect())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // Where a test has failed: as it would be interrupted, so that it stops what it has started.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.interrupt(Signal::SIGTERM);
            let _ = self.child.wait();
        }
    }
}

/// A server that is kept; it ends with the test.
struct Kept(Pid);

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + WITHIN;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return Ok(found);
        }
        sleep(Duration::from_millis(20));
    }
    bail!("within {WITHIN:?} it did not come to that {what}")
}

fn port(uri: &str) -> Option<u16> {
    let hosts = uri.trim_start_matches("mongodb://").split('/').next()?;
    hosts.rsplit(':').next()?.parse().ok()
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The value of a line `NAME=value`.
fn value<'p>(printed: &'p str, name: &str) -> Result<&'p str> {
    let mut lines = printed.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    found.with_context(|| format!("no {name} in {printed:?}"))
}

#[test]
fn an_interruption_stops_the_tests_and_then_their_server() -> Result<()> {
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
    ] {
        // The program that it runs starts another one, which outlives a signal to its leader alone.
        let mut started = Started::new(&["test", "--server", "mongod"], "sleep 600 & wait")?;
        let (pid, port, arguments) = started.noted()?;
        assert_eq!(arguments, "test --workspace --no-fail-fast --test reading");
        assert!(listens(port));
        assert_eq!(started.folders()?.len(), 1);
        let asked = Instant::now();
        started.interrupt(signal)?;
        // Its output ends when nothing that it has started holds the pipe any more.
        let (status, printed) = started.end()?;
        assert!(asked.elapsed() < WITHIN, "{signal}: something went on");
        assert_eq!(status.code(), Some(code), "{signal}");
        assert_eq!(printed, "");
        assert!(kill(pid, None).is_err(), "{signal}: what was run is still there");
        assert!(!listens(port), "{signal}: the server is still there");
        assert_eq!(started.folders()?, Vec::<PathBuf>::new());
    }
    Ok(())
}

#[test]
fn a_server_that_is_kept_outlives_the_command() -> Result<()> {
    for (command, interrupted) in [("demo", false), ("demo", true), ("bench", false)] {
        let run = if interrupted { "exec sleep 600" } else { "exit 7" };
        let mut started = Started::new(&[command, "--server", "mongod", "--keep"], run)?;
        let (pid, port, arguments) = started.noted()?;
        assert_eq!(arguments.ends_with("-- --keep"), command == "demo", "{arguments}");
        if interrupted {
            started.interrupt(Signal::SIGINT)?;
        }
        let (status, printed) = started.end()?;
        let server = Kept(Pid::from_raw(value(&printed, "PID")?.parse()?));
        assert_eq!(status.code(), Some(if interrupted { 130 } else { 7 }));
        assert!(kill(pid, None).is_err(), "what was run is still there");
        assert_eq!(crate::port(value(&printed, "MONGODB_URI")?), Some(port));
        assert!(listens(port));
        kill(server.0, None)?;
        let folder = Path::new(value(&printed, "DIR")?);
        assert!(folder.join("server.log").is_file(), "{}", folder.display());
    }
    Ok(())
}

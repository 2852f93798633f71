//! SecantusDB, a MongoDB-compatible server that can be installed from PyPI, as a separate process.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;

use crate::process::Process;
use crate::programs::{find_program, flags, step};

/// The release that is installed from PyPI.
const VERSION: &str = "0.7.0b3";

/// The Python releases that SecantusDB is built for.
const BUILT_FOR: std::ops::RangeInclusive<(u32, u32)> = (3, 10)..=(3, 13);

/// The advice where no SecantusDB can be had.
const REMEDY: &str = "install Python 3.10 to 3.13 with venv or pip (Debian: `apt-get install python3-venv`), \
                      set ODM_MONGOD to the path of a mongod, or set MONGODB_URI";

/// The command that starts the `secantusd-rs` program with its data below `dir`.
pub fn native_command(program: &Path, dir: &Path, port: u16) -> Result<Command> {
    let mut command = Command::new(program);
    command.args(arguments(dir, port)?);
    Ok(command)
}

/// The command that starts SecantusDB in Python with its data below `dir`.
pub fn python_command(python: &Python, dir: &Path, port: u16) -> Result<Command> {
    let mut command = python.command();
    command.args(["-m", "secantus"]).args(arguments(dir, port)?);
    Ok(command)
}

fn arguments(dir: &Path, port: u16) -> Result<Vec<OsString>> {
    // A file of its own, since the server otherwise reads one from the home directory.
    let config = dir.join("secantusd.toml");
    std::fs::write(&config, "").with_context(|| format!("{} cannot be written", config.display()))?;
    Ok(flags([
        ("--config", config.as_os_str()),
        ("--host", OsStr::new("127.0.0.1")),
        ("--port", OsStr::new(&port.to_string())),
        ("--storage-path", dir.join("data").as_os_str()),
    ]))
}

/// A Python that can import SecantusDB.
#[derive(Debug)]
pub struct Python {
    interpreter: PathBuf,
    packages: Option<PathBuf>,
}

impl Python {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.env_remove("PYTHONHOME").env_remove("PYTHONPATH");
        if let Some(packages) = &self.packages {
            command.env("PYTHONPATH", packages);
        }
        command
    }

    /// Whether the release wanted is installed and complete.
    async fn is_complete(&self) -> bool {
        let mut command = self.command();
        command.args([
            "-c",
            "import importlib.metadata, secantus.cli; print(importlib.metadata.version('SecantusDB'))",
        ]);
        output(&mut command)
            .await
            .is_some_and(|version| version == VERSION)
    }
}

/// Installs SecantusDB below `target`, or finds it there.
pub async fn install(target: &Path) -> Result<Python> {
    // The server is started in a folder of its own, from where a relative path leads nowhere.
    let target = &std::path::absolute(target)?;
    let venv = target.join("secantus-venv");
    let in_venv = Python {
        interpreter: venv.join(if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        }),
        packages: None,
    };
    if in_venv.is_complete().await {
        return Ok(in_venv);
    }
    let interpreter = interpreter()
        .await
        .with_context(|| format!("no Python found: {REMEDY}"))?;
    let packages = target.join("secantus-py");
    let beside = Python {
        interpreter: interpreter.clone(),
        packages: Some(packages.clone()),
    };
    if beside.is_complete().await {
        return Ok(beside);
    }

    std::fs::create_dir_all(target).with_context(|| format!("{} cannot be created", target.display()))?;
    step(format!(
        "installing SecantusDB {VERSION} from PyPI with {}",
        interpreter.display()
    ));
    let requirement = format!("SecantusDB=={VERSION}");
    let mut create = Command::new(&interpreter);
    create
        .args(["-m", "venv", "--clear"])
        .arg(&venv)
        .stdout(Stdio::null());
    if succeeds("python -m venv", &mut create).await? {
        let mut pip = in_venv.command();
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            &requirement,
        ]);
        if succeeds("pip", &mut pip).await? && in_venv.is_complete().await {
            return Ok(in_venv);
        }
        bail!("`pip install {requirement}` failed: {REMEDY}");
    }

    step("`python -m venv` does not work here; trying pip");
    let mut pip = Command::new(&interpreter);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--upgrade",
        "--target",
    ])
    .arg(&packages)
    .arg(&requirement);
    if succeeds("pip", &mut pip).await? && beside.is_complete().await {
        return Ok(beside);
    }
    bail!("neither `python -m venv` nor `pip install --target` could install {requirement}: {REMEDY}");
}

/// The Python to install with: the default one where SecantusDB is built for it.
async fn interpreter() -> Option<PathBuf> {
    let mut found = Vec::new();
    for name in [
        "python3",
        "python3.13",
        "python3.12",
        "python3.11",
        "python3.10",
        "python",
    ] {
        let Some(program) = find_program(name) else {
            continue;
        };
        let mut command = Command::new(&program);
        command.args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
        let Some(version) = output(&mut command).await.as_deref().and_then(version) else {
            continue;
        };
        if BUILT_FOR.contains(&version) {
            return Some(program);
        }
        found.push((program, version));
    }
    // A later Python may still find a build; an earlier one cannot.
    found
        .into_iter()
        .find(|(_, version)| version > BUILT_FOR.end())
        .map(|(program, _)| program)
}

fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The trimmed standard output of a command that succeeds.
async fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

async fn succeeds(name: &str, command: &mut Command) -> Result<bool> {
    Ok(Process::spawn(name, command, Duration::from_secs(2))?
        .wait()
        .await?
        .success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_listens_on_loopback_only_and_reads_no_other_configuration() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let arguments = arguments(dir.path(), 4321)?;
        let config = dir.path().join("secantusd.toml");
        assert_eq!(std::fs::read_to_string(&config)?, "");
        let data = dir.path().join("data");
        let expected: [&OsStr; 8] = [
            "--config".as_ref(),
            config.as_ref(),
            "--host".as_ref(),
            "127.0.0.1".as_ref(),
            "--port".as_ref(),
            "4321".as_ref(),
            "--storage-path".as_ref(),
            data.as_ref(),
        ];
        assert_eq!(arguments, expected);
        Ok(())
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("3.9"), Some((3, 9)));
        assert!(version("3.9").is_some_and(|version| !BUILT_FOR.contains(&version)));
        assert!(version("3.13").is_some_and(|version| BUILT_FOR.contains(&version)));
        assert_eq!(version("3"), None);
    }

    #[tokio::test]
    async fn a_python_that_is_not_there_is_not_complete() {
        let python = Python {
            interpreter: "/no/such/python".into(),
            packages: None,
        };
        assert!(!python.is_complete().await);
    }
}

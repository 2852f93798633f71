//! The same by other libraries: Mongoose, Beanie, mongodm and oximod, each in a process of its own that runs one query or block of
//! operations on request, so that both sides take turns here too.
//!
//! They are installed below `target/bench` with the versions that stand beside their programs. Where that is not possible
//! (no npm, no Python, no registry), their rows have no ratio, and meet no target.

use crate::Result;
use crate::report::target_dir;
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// An installation ends within this time, or is given up.
const INSTALLED_WITHIN: Duration = Duration::from_secs(900);

/// Another library.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Library {
    Mongoose,
    Beanie,
    Mongodm,
    Oximod,
}

impl Library {
    fn name(self) -> &'static str {
        match self {
            Library::Mongoose => "mongoose",
            Library::Beanie => "beanie",
            // Both are one package.
            Library::Mongodm | Library::Oximod => "rust",
        }
    }

    /// The file that pins the versions, and the programs.
    fn files(self) -> &'static [&'static str] {
        match self {
            Library::Mongoose => &["package-lock.json", "package.json", "joins.js", "tasks.js"],
            Library::Beanie => &["requirements.txt", "joins.py", "tasks.py"],
            Library::Mongodm | Library::Oximod => &[
                "Cargo.lock",
                "Cargo.toml",
                "src/main.rs",
                "src/data.rs",
                "src/by_mongodm.rs",
                "src/by_oximod.rs",
            ],
        }
    }

    fn dir(self) -> Result<PathBuf> {
        let dir = target_dir().join("bench").join(self.name());
        std::fs::create_dir_all(&dir)?;
        Ok(dir.canonicalize()?)
    }

    /// Where its script can be started.
    fn installed(self) -> Result<PathBuf> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("benches/other")
            .join(self.name());
        let dir = self.dir()?;
        std::fs::create_dir_all(dir.join("src"))?;
        for file in self.files() {
            std::fs::copy(from.join(file), dir.join(file))?;
        }
        // The versions that have been installed.
        let (versions, known) = (dir.join(self.files()[0]), dir.join("installed"));
        let wanted = std::fs::read(versions)?;
        // Cargo knows itself whether something is to be built.
        let is_built = matches!(self, Library::Mongodm | Library::Oximod);
        if !is_built && std::fs::read(&known).is_ok_and(|known| known == wanted) {
            return Ok(dir);
        }
        if !known.exists() {
            eprintln!("(installing {} below {})", self.name(), dir.display());
        }
        match self {
            Library::Mongoose => {
                let mut npm = Command::new("npm");
                npm.args(["ci", "--no-audit", "--no-fund", "--fetch-retries=1"]);
                install(npm.current_dir(&dir))?;
            }
            Library::Beanie => {
                let mut venv = Command::new("python3");
                install(venv.args(["-m", "venv", "venv"]).current_dir(&dir))?;
                let mut pip = Command::new(python(&dir));
                pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
                pip.args(["--retries", "1", "--requirement", "requirements.txt"]);
                install(pip.current_dir(&dir))?;
            }
            Library::Mongodm | Library::Oximod => {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut build = Command::new(cargo);
                build.args(["build", "--release", "--locked", "--target-dir", "target"]);
                install(build.current_dir(&dir))?;
            }
        }
        std::fs::write(known, wanted)?;
        Ok(dir)
    }
}

fn python(dir: &Path) -> PathBuf {
    dir.join(if cfg!(windows) {
        "venv/Scripts/python.exe"
    } else {
        "venv/bin/python"
    })
}

/// Runs a command of an installation. Its output is shown only if it fails.
fn install(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let log = target_dir().join("bench/install.log");
    let output = File::create(&log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .map_err(|error| format!("`{program}` could not be started: {error}"))?;
    let started = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("`{program}` failed ({status}): {}", said.trim()).into());
            }
            None if started.elapsed() > INSTALLED_WITHIN => {
                child.kill()?;
                child.wait()?;
                return Err(format!("`{program}` took more than {INSTALLED_WITHIN:?}").into());
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// What comes out of a query, as far as it can be compared between languages.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct Outcome {
    pub documents: usize,
    pub joined: usize,
    pub sum: i64,
}

#[derive(Deserialize)]
struct Answer {
    seconds: f64,
    #[serde(flatten)]
    outcome: Outcome,
}

/// A script that is running. It ends when dropped.
pub struct Program {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a library's program for one query or task.
    pub fn start(
        library: Library,
        script: &str,
        uri: &str,
        database: &str,
        arguments: &[&str],
    ) -> Result<Program> {
        let dir = library.installed()?;
        let mut command = match library {
            Library::Mongoose => {
                let mut node = Command::new("node");
                node.arg(format!("{script}.js"));
                node
            }
            Library::Beanie => {
                let mut python = Command::new(python(&dir));
                python.arg(format!("{script}.py"));
                python
            }
            Library::Mongodm | Library::Oximod => {
                let mut program = Command::new(dir.join("target/release/odm-bench-rust"));
                let name = if library == Library::Mongodm {
                    "mongodm"
                } else {
                    "oximod"
                };
                program.arg(name);
                program
            }
        };
        let mut child = command
            .args([uri, database])
            .args(arguments)
            .current_dir(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take();
        let answers = child.stdout.take().ok_or("a script has no output")?;
        Ok(Program {
            child,
            ask,
            answers: BufReader::new(answers),
        })
    }

    /// Runs the query once: how long it took by the script's own clock, and its result.
    pub fn once(&mut self) -> Result<(Duration, Outcome)> {
        let mut line = String::new();
        if let Some(ask) = &mut self.ask {
            ask.write_all(b"\n")?;
            ask.flush()?;
            self.answers.read_line(&mut line)?;
        }
        if line.is_empty() {
            return Err("the script ended without an answer".into());
        }
        let answer: Answer = serde_json::from_str(&line)?;
        Ok((Duration::from_secs_f64(answer.seconds), answer.outcome))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input is what it waits for.
        self.ask = None;
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

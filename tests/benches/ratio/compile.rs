//! The time that the derive costs the compiler: a crate of 100 structs with serde's derives, and with `Document` alone, which needs none of them.
//!
//! A third crate has the same dependencies and no struct: its time is what any crate takes, and is subtracted from both.
//! All three share one target directory, so that the dependencies are built once, and only the crate itself is compiled
//! in each round.

use crate::pairs::{Interval, interval};
use crate::report::{Measured, Statement, target_dir};
use crate::{Options, Result};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const NAME: &str = "compile 100 structs of 10 fields";
/// The same with code generation; the dependencies take minutes the first time, so it has to be asked for.
pub const BUILD: &str = "compile 100 structs of 10 fields, build";

const STRUCTS: usize = 100;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Empty,
    Serde,
    Document,
}

/// The ratio of (with `Document` − empty) to (serde's derives − empty).
pub fn measure(scenario: &str, command: &str, options: &Options) -> Result<Measured> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).canonicalize()?;
    let crates = [Kind::Empty, Kind::Serde, Kind::Document];
    let dirs: Vec<PathBuf> = crates
        .iter()
        .map(|kind| generate(&root, *kind))
        .collect::<Result<_>>()?;
    eprintln!("(the first time, `cargo {command}` compiles the dependencies too)");
    for dir in &dirs {
        compile(command, dir)?;
    }
    let rounds = options.rounds.unwrap_or(if options.quick { 3 } else { 7 });
    let (mut ratios, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut times = [Duration::ZERO; 3];
        for at in 0..3 {
            // Another one begins in each round.
            let at = (at + round) % 3;
            times[at] = compile(command, &dirs[at])?;
        }
        let [empty, serde, document] = times.map(|time| time.as_secs_f64());
        ratios.push((document - empty) / (serde - empty));
        with.push(document - empty);
        without.push(serde - empty);
    }
    let Interval {
        median: ratio,
        low,
        high,
    } = interval(ratios);
    Ok(Measured {
        scenario: scenario.to_owned(),
        baseline: format!("serde's Serialize and Deserialize, cargo {command}"),
        ratio: Some(ratio),
        low: Some(low),
        high: Some(high),
        target: None,
        ours: Some(interval(with).median),
        theirs: Some(interval(without).median),
        pairs: rounds,
        left_out: None,
        memory: None,
        calls: None,
        statement: Some(Statement::none()),
    })
}

/// The time of compiling the crate itself.
fn compile(command: &str, dir: &Path) -> Result<Duration> {
    let source = std::fs::File::options()
        .append(true)
        .open(dir.join("src/lib.rs"))?;
    source.set_modified(std::time::SystemTime::now())?;
    drop(source);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        // They describe the package of this benchmark.
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            cargo.env_remove(name);
        }
    }
    let started = Instant::now();
    let output = cargo
        .args([command, "--offline", "--quiet"])
        .current_dir(dir)
        .env(
            "CARGO_TARGET_DIR",
            target_dir().canonicalize()?.join("bench/compile-target"),
        )
        // Else the second round would find that nothing has changed.
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .output()?;
    let took = started.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo {command}` in {} failed:\n{said}", dir.display()).into());
    }
    Ok(took)
}

/// Writes a crate.
fn generate(root: &Path, kind: Kind) -> Result<PathBuf> {
    let name = match kind {
        Kind::Empty => "compile-empty",
        Kind::Serde => "compile-serde",
        Kind::Document => "compile-document",
    };
    std::fs::create_dir_all(target_dir().join("bench"))?;
    let dir = target_dir().canonicalize()?.join("bench").join(name);
    std::fs::create_dir_all(dir.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n\
         [dependencies]\nodm = {{ package = \"mongodb-odm\", path = {:?} }}\nserde = {{ version = \"1\", features = [\"derive\"] }}\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\ndebug = false\n",
        root.join("odm")
    );
    keep(&dir.join("Cargo.toml"), &manifest)?;
    keep(&dir.join("src/lib.rs"), &source(kind)?)?;
    // The versions that the workspace has, all of which are here already.
    std::fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    Ok(dir)
}

/// Writes a file unless it is so already.
fn keep(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    Ok(std::fs::write(path, text)?)
}

fn source(kind: Kind) -> Result<String> {
    let mut out = String::from(
        "//! Generated for a benchmark.\n#![allow(dead_code, unused_imports, missing_docs)]\n\n",
    );
    out.push_str("use odm::bson::{DateTime, oid::ObjectId};\nuse odm::Document;\nuse serde::{Deserialize, Serialize};\n");
    if kind == Kind::Empty {
        return Ok(out);
    }
    for n in 0..STRUCTS {
        let document = kind == Kind::Document;
        let derives = if document {
            "Document"
        } else {
            "Serialize, Deserialize"
        };
        write!(out, "\n#[derive({derives})]\n")?;
        if document {
            writeln!(out, "#[document(collection = \"things_{n}\")]")?;
        }
        let embed = if document { "#[embed(max = 10)]\n    " } else { "" };
        let id = if document {
            ""
        } else {
            "#[serde(rename = \"_id\")]\n    "
        };
        write!(
            out,
            "pub struct Thing{n} {{\n    {id}pub id: ObjectId,\n    pub name: String,\n    \
             pub city: String,\n    pub count: i32,\n    pub rank: i32,\n    pub price: f64,\n    pub weight: f64,\n    \
             pub made_at: DateTime,\n    pub note: Option<String>,\n    {embed}pub tags: Vec<String>,\n}}\n"
        )?;
    }
    Ok(out)
}

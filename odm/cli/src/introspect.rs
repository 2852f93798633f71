//! `odm introspect`: the design of a database that is there, as models.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use odm::mongodb::options::ClientOptions;
use odm::mongodb::{Client, Database};
use odm_introspect::advice::advise;
use odm_introspect::code;
use odm_introspect::design::Design;
use odm_introspect::read::{Progress, ReadOptions, SAMPLE, Source, default_state};
use odm_introspect::report::{html, json, text};
use odm_launch::server::probe::without_credentials;
use odm_launch::step;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Read the design of a database from its documents: models, and what is wrong with it.
///
/// Nothing is written to the database. It is read from a secondary where there is one; the user needs the role `read`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The connection string of the server.
    #[arg(env = "MONGODB_URI", hide_env_values = true)]
    uri: String,
    /// The database; by default the one that the connection string names.
    #[arg(long, value_name = "NAME")]
    db: Option<String>,
    /// The number of documents of each collection that are read, chosen at random.
    #[arg(long, value_name = "N", default_value_t = SAMPLE, conflicts_with = "all", value_parser = clap::value_parser!(u64).range(1..))]
    sample: u64,
    /// Read all documents. An interrupted reading goes on where it ended.
    #[arg(long)]
    all: bool,
    /// Keep every value of the documents out of what is written: shapes and figures alone.
    #[arg(long)]
    no_values: bool,
    /// Print the design and the advice as JSON.
    #[arg(long)]
    json: bool,
    /// Write a report with diagrams into this file: one page, for a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write models into this folder: `mod.rs`, and one file for each collection. A file that is there stays as it is.
    #[arg(long, value_name = "FOLDER", conflicts_with = "against")]
    out: Option<PathBuf>,
    /// Compare the models in this folder with the documents, and print what differs, as a list and as a patch (`patch -p1 -d FOLDER`),
    /// in place of the advice. Exits with 1 where something does. No file is written.
    #[arg(long, value_name = "FOLDER")]
    against: Option<PathBuf>,
    /// The file that says how far a reading of all documents has come; by default one in the folder for temporary files, by the server
    /// and the database. It has values of documents, and is removed when the reading has ended.
    #[arg(long, value_name = "FILE", requires = "all")]
    state: Option<PathBuf>,
}

/// Reads the design, and prints or writes what is asked for.
pub async fn run(arguments: Arguments) -> Result<u8> {
    let db = database(&arguments).await?;
    // Before an hour of reading.
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).with_context(|| format!("{} can't be made", folder.display()))?;
    }
    if let Some(folder) = &arguments.against {
        fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))?;
    }
    let state = state(&arguments, db.name());
    if let Some(path) = state.as_deref().filter(|path| path.exists()) {
        step(format!(
            "going on with the reading in {}: delete the file to begin anew",
            path.display()
        ));
    }
    let bar = bar();
    let options = ReadOptions {
        sample: (!arguments.all).then_some(arguments.sample),
        values: !arguments.no_values,
        progress: Some(progress(&bar)),
        state,
        again: wants_models(&arguments),
        ..ReadOptions::default()
    };
    let source = Source::new(&db, options);
    let design = read(&source, &arguments).await;
    bar.finish_and_clear();
    let design = design?;
    if let Some(folder) = &arguments.out {
        write(folder, &design)?;
    }
    let differs = match &arguments.against {
        Some(folder) => Some(compare(folder, &design, arguments.json)?),
        None => None,
    };
    let advice = advise(&design);
    if let Some(path) = &arguments.html {
        fs::write(path, html::write(&design, &advice))
            .with_context(|| format!("{} can't be written", path.display()))?;
        step(format!("the report is in {}", path.display()));
    }
    if let Some(code) = differs {
        return Ok(code);
    }
    if arguments.json {
        for note in &design.notes {
            step(note);
        }
        print(&json::write(&design, &advice)?)?;
    } else {
        print(&text::write(&design, &advice))?;
    }
    Ok(0)
}

/// Reads the design; where models are wanted, one whose types read each document.
async fn read(source: &Source, arguments: &Arguments) -> Result<Design> {
    let mut design = odm_introspect::introspect(source).await?;
    if design.collections.is_empty() {
        bail!(
            "the database `{}` has no collections: check its name (`--db NAME`)",
            source.name()
        );
    }
    if wants_models(arguments) {
        fit(source, &mut design)?;
    }
    Ok(design)
}

/// Makes types wider until they read each document, which are read again for that.
fn fit(source: &Source, design: &mut Design) -> Result<()> {
    let collections = design.collections.clone();
    let runtime = tokio::runtime::Handle::current();
    code::fit(design, &mut |name, each| {
        let Some(collection) = collections.iter().find(|collection| collection.name == name) else {
            return Ok(());
        };
        // The function that documents are shown to is no future: the other thread goes on with the work of the driver.
        tokio::task::block_in_place(|| runtime.block_on(source.again(collection, each)))?;
        anyhow::Ok(())
    })
}

/// The database that is read.
async fn database(arguments: &Arguments) -> Result<Database> {
    let mut options = ClientOptions::parse(&arguments.uri)
        .await
        .context("the connection string is not valid")?;
    options.server_selection_timeout.get_or_insert(PATIENCE);
    let name = arguments.db.clone().or_else(|| options.default_database.clone());
    let Some(name) = name else {
        bail!("which database? Name it with `--db NAME`, or in the connection string");
    };
    let client = Client::with_options(options).context("the connection string is not valid")?;
    Ok(client.database(&name))
}

/// The file of the state: that of one server is of no use for another.
fn state(arguments: &Arguments, database: &str) -> Option<PathBuf> {
    if !arguments.all {
        return None;
    }
    let by_default = || {
        let mut server = DefaultHasher::new();
        without_credentials(&arguments.uri).hash(&mut server);
        default_state(&format!("{database}-{:016x}", server.finish()))
    };
    Some(arguments.state.clone().unwrap_or_else(by_default))
}

/// Says on a terminal how far the reading is.
fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_draw_target(ProgressDrawTarget::stderr());
    let style = "{msg} [{bar:30}] {human_pos} of {human_len} documents [{elapsed}, {eta} left]";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

/// A bar on a terminal, and else a line for each collection.
fn progress(bar: &ProgressBar) -> Progress {
    let bar = bar.clone();
    let is_terminal = std::io::stderr().is_terminal();
    // Documents may be read again to check types on them.
    let told = Mutex::new(HashSet::new());
    Arc::new(move |collection: &str, read, of| {
        if is_terminal {
            if bar.message() != collection {
                bar.reset();
                bar.set_message(collection.to_owned());
            }
            bar.set_length(of);
            bar.set_position(read);
        } else if read == of {
            let mut told = told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if told.insert(collection.to_owned()) {
                step(format!("{collection}: {read} documents"));
            }
        }
    })
}

/// Whether types are made, and not figures alone.
fn wants_models(arguments: &Arguments) -> bool {
    arguments.out.is_some() || arguments.against.is_some()
}

/// Prints what differs between the models in a folder and the documents.
fn compare(folder: &Path, design: &Design, as_json: bool) -> Result<u8> {
    let against = code::against(folder, design)?;
    for note in &design.notes {
        step(note);
    }
    if as_json {
        print(&serde_json::to_string_pretty(&against)?)?;
    } else if against.differences.is_empty() {
        step(format!("nothing differs from the models in {}", folder.display()));
    } else {
        let list = against.differences.iter().map(|one| format!("{one}\n"));
        print(&format!("{}\n{}", list.collect::<String>(), against.patch))?;
    }
    Ok(u8::from(!against.differences.is_empty()))
}

/// Writes the models where no file is.
fn write(folder: &Path, design: &Design) -> Result<()> {
    let (mut written, mut there) = (0, Vec::new());
    for file in code::write(design) {
        let path = folder.join(&file.path);
        let new = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        match new {
            Ok(mut new) => {
                new.write_all(file.text.as_bytes())
                    .with_context(|| format!("{} can't be written", path.display()))?;
                written += 1;
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => there.push(file.path),
            Err(error) => {
                return Err(error).with_context(|| format!("{} can't be written", path.display()));
            }
        }
    }
    step(format!("{written} files are in {}", folder.display()));
    if !there.is_empty() {
        step(format!(
            "{} there already, and stay as they are: {}. What differs is shown by `--against {}` instead of `--out`",
            if there.len() == 1 {
                "one file is"
            } else {
                "these files are"
            },
            there.join(", "),
            folder.display()
        ));
    }
    Ok(())
}

/// Prints a text. A reader that has seen enough is no error.
fn print(text: &str) -> Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("the output can't be written")
        }
        _ => Ok(()),
    }
}

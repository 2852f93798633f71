//! The cost of the library: each operation against the same one written by hand on the driver, with serde's structs and the same
//! guarantee, and against one plain statement of the driver, without the guarantee.
//!
//! All sides run in one process, on one server, one collection and equal documents. They take turns in short blocks,
//! which side begins alternates, and the figure is the median over the pairs of blocks, so that what the machine does
//! meanwhile meets both. `cargo xtask bench` runs it with a server.

#[path = "ratio/compile.rs"]
mod compile;
#[path = "ratio/copies/mod.rs"]
mod copies;
#[path = "ratio/everyday.rs"]
mod everyday;
#[path = "ratio/growth/mod.rs"]
mod growth;
#[path = "ratio/joins/mod.rs"]
mod joins;
#[path = "ratio/large/mod.rs"]
mod large;
#[path = "ratio/libraries/mod.rs"]
mod libraries;
#[path = "ratio/load/mod.rs"]
mod load;
#[path = "ratio/model.rs"]
mod model;
#[path = "ratio/other.rs"]
mod other;
#[path = "ratio/pairs.rs"]
mod pairs;
#[path = "ratio/report.rs"]
mod report;
#[path = "ratio/scenarios.rs"]
mod scenarios;
#[path = "ratio/shapes.rs"]
mod shapes;

use copies::memory;
use mongodb::Client;
use mongodb::bson::oid::ObjectId;
use report::{Calls, Measured, Memory, Report, Single, Statement};
use scenarios::Bench;
use std::process::ExitCode;
use std::time::Instant;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

const HELP: &str = "\
Compares the library with the same written by hand on the driver.

  --quick        fewer rounds: a look, not a measurement
  --rounds N     pairs of blocks a scenario
  --only NAME    only the scenarios with NAME in their name (`--only joins`, `--only copies`; `--only build` and
                 `--only load` are run this way alone)
  --check        fail where a target is missed, or what has one can't be measured
  --compare      fail where a ratio is worse than in the kept results (tests/benches/results.json), beyond the intervals of both
  --keep         put what was measured in the place of the kept results, and write the page of the guide
  --up-to N      for `--only growth`: no collection with more documents
  --page         write the page of the guide from the kept results, and measure nothing

`--only growth` measures how operations grow with their collections, from 1,000 to 1,000,000 documents: it takes some ten minutes.
`--only libraries` has the tasks of MongoDB's benchmark for ODMs, also by mongodm, oximod, Mongoose and Beanie, which it installs
below target/bench.
";

/// The options of the command.
#[derive(Debug, Default)]
pub struct Options {
    quick: bool,
    check: bool,
    compare: bool,
    keep: bool,
    up_to: Option<i32>,
    page: bool,
    rounds: Option<usize>,
    only: Option<String>,
    /// A process of the benchmark's own: it measures the memory of one fan-out in a database.
    memory_of: Option<String>,
    /// Another one: it writes beside others.
    load_of: Option<String>,
}

impl Options {
    fn read(args: impl Iterator<Item = String>) -> Result<Option<Options>> {
        let mut options = Options::default();
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = |name: &str| args.next().ok_or(format!("`{name}` takes a value"));
            match arg.as_str() {
                "--quick" => options.quick = true,
                "--check" => options.check = true,
                "--compare" => options.compare = true,
                "--keep" => options.keep = true,
                "--up-to" => options.up_to = Some(value("--up-to")?.parse()?),
                "--page" => options.page = true,
                "--rounds" => options.rounds = Some(value("--rounds")?.parse()?),
                "--only" => options.only = Some(value("--only")?),
                load::OPTION => options.load_of = Some(value(load::OPTION)?),
                memory::OPTION => options.memory_of = Some(value(memory::OPTION)?),
                "--help" | "-h" => return Ok(None),
                // What cargo passes to every benchmark.
                "--bench" => {}
                other => return Err(format!("`{other}` is not an option\n\n{HELP}").into()),
            }
        }
        Ok(Some(options))
    }

    fn wants(&self, scenario: &str) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| scenario.contains(only.as_str()))
    }

    /// How many pairs of blocks a scenario gets that is usually measured with `usual`.
    fn rounds(&self, usual: usize) -> usize {
        let rounds = if self.quick { usual / 8 } else { usual };
        self.rounds.unwrap_or(rounds).max(6)
    }
}

fn main() -> ExitCode {
    let outcome = Options::read(std::env::args().skip(1)).and_then(|options| match options {
        None => {
            print!("{HELP}");
            Ok(true)
        }
        Some(options) => run(&options),
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    if let Some(asked) = &options.memory_of {
        return memory::tell(asked).map(|()| true);
    }
    if let Some(asked) = &options.load_of {
        return load::tell(asked).map(|()| true);
    }
    if options.page {
        return report::write_page().map(|()| true);
    }
    let started = Instant::now();
    if cfg!(debug_assertions) {
        eprintln!("warning: built without optimisation, so the ratios say nothing: use `cargo xtask bench`");
    }
    let runtime = runtime()?;
    let mut report = Report::new();
    for name in shapes::NAMES {
        if options.wants(name) {
            runtime.block_on(shapes::measure(name, options, &mut report));
        }
    }
    runtime.block_on(with_server(options, &mut report))?;
    let builds = options.only.is_some() && options.wants(compile::BUILD);
    let compiled = [
        (options.wants(compile::NAME), compile::NAME, "check"),
        (builds, compile::BUILD, "build"),
    ];
    for (_, name, command) in compiled.into_iter().filter(|(is_wanted, ..)| *is_wanted) {
        let measured = compile::measure(name, command, options).map(|row| report.add(row));
        report.end(name, measured);
    }
    report.write()?;
    report.summary(started.elapsed());
    let is_good_enough = !options.check || report.meets_targets();
    let is_no_worse = !options.compare || report.compare()?;
    if options.keep {
        report.keep()?;
        report::write_page()?;
    }
    Ok(is_good_enough && is_no_worse)
}

/// One thread for both sides and the driver: with several, most of what differs is how often a thread has to be woken for the
/// other's reply.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

fn server() -> Result<String> {
    std::env::var("MONGODB_URI")
        .map_err(|_| "there is no MongoDB server: run `cargo xtask bench`, or set MONGODB_URI".into())
}

async fn with_server(options: &Options, report: &mut Report) -> Result<()> {
    let operations = scenarios::NAMES.iter().any(|name| options.wants(name));
    let everyday = everyday::NAMES.iter().any(|name| options.wants(name));
    let joins = joins::is_wanted(options);
    let copies = copies::is_wanted(options);
    let (large, load) = (large::is_wanted(options), load::is_wanted(options));
    let libraries = libraries::is_wanted(options);
    let growth = growth::is_wanted(options);
    if !operations && !everyday && !large && !joins && !copies && !libraries && !load && !growth {
        return Ok(());
    }
    let uri = server()?;
    let client = Client::with_uri_str(&uri).await?;
    let name = format!("odm_bench_{}", ObjectId::new().to_hex());
    let outcome = async {
        if operations {
            let measured = async {
                let bench = Bench::prepare(&client.database(&name)).await?;
                for name in scenarios::NAMES {
                    if options.wants(name) {
                        report.add(bench.measure(name, options).await?);
                    }
                }
                Ok(())
            };
            let measured = measured.await;
            report.end("operations", measured);
        }
        if everyday {
            let measured = everyday::measure(&client, &name, options, report).await;
            report.end("everyday", measured);
        }
        if large {
            let measured = large::measure(&client, &uri, &name, options, report).await;
            report.end("large", measured);
        }
        if joins {
            let measured = joins::measure(&client, &uri, &name, options, report).await;
            report.end("joins", measured);
        }
        if copies {
            let measured = copies::measure(&client, &name, options, report).await;
            report.end("copies", measured);
        }
        if libraries {
            let measured = libraries::measure(&client, &uri, &name, options, report).await;
            report.end("libraries", measured);
        }
        if load {
            let measured = load::measure(&client, &name, options, report).await;
            report.end("load", measured);
        }
        if growth {
            report.curves = growth::measure(&client, &name, options).await?;
        }
        Ok(())
    }
    .await;
    let suffixes = [
        "",
        scenarios::INSERT,
        scenarios::INSERT_MANY,
        everyday::DATABASE,
        large::DATABASE,
    ];
    let made = suffixes.iter().chain(&joins::DATABASES);
    let made = made.chain(&copies::DATABASES).chain(&libraries::DATABASES);
    let made = made.chain(&load::DATABASES).chain(&growth::DATABASES);
    for suffix in made {
        let dropped = client.database(&format!("{name}{suffix}")).drop().await;
        if outcome.is_ok() {
            dropped?;
        }
    }
    outcome
}

impl Report {
    /// A group of scenarios that ended by an error is a row that says so, and the other groups follow.
    fn end(&mut self, group: &str, measured: Result<()>) {
        if let Err(error) = measured {
            self.add(Measured::left_out(
                &format!("the rest of {group}"),
                "",
                // Scenarios with a target there are not measured.
                Some(1.0),
                error.to_string(),
            ));
        }
    }
}

impl Measured {
    /// The comparison; or why there is none, and the other rows follow.
    fn of(
        scenario: &str,
        baseline: &str,
        target: Option<f64>,
        single: Single,
        pairs: &Result<pairs::Pairs>,
    ) -> Measured {
        let pairs = match pairs {
            Ok(pairs) => pairs,
            Err(error) => return Measured::left_out(scenario, baseline, target, error.to_string()),
        };
        let interval = pairs.ratio();
        Measured {
            scenario: scenario.to_owned(),
            baseline: baseline.to_owned(),
            ratio: Some(interval.median),
            low: Some(interval.low),
            high: Some(interval.high),
            target,
            ours: Some(pairs.ours()),
            theirs: Some(pairs.theirs()),
            pairs: pairs.len(),
            left_out: None,
            memory: None,
            calls: None,
            statement: Some(Statement::of(single, baseline, pairs)),
        }
    }

    /// One that can't be measured here.
    fn left_out(scenario: &str, baseline: &str, target: Option<f64>, why: String) -> Measured {
        Measured {
            scenario: scenario.to_owned(),
            baseline: baseline.to_owned(),
            ratio: None,
            low: None,
            high: None,
            target,
            ours: None,
            theirs: None,
            pairs: 0,
            left_out: Some(why),
            memory: None,
            calls: None,
            statement: None,
        }
    }

    /// With how long the single calls of both sides took.
    fn with_calls(self, calls: Calls) -> Measured {
        let calls = Some(calls);
        Measured { calls, ..self }
    }

    /// With how many MiB more were resident at most, where the system tells it, and how many may.
    fn with_memory(self, mib: Option<f64>, target_mib: f64) -> Measured {
        let memory = Some(Memory { mib, target_mib });
        Measured { memory, ..self }
    }
}

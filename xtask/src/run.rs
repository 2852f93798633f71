//! A build, then a run of its outcome with a server beside it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use odm_router::{Router, RouterOptions};

use crate::ServerArgs;
use crate::process::{Process, exit_code};
use crate::server::{self, Environment};
use crate::suite::{self, Suite};
use crate::workspace::{cargo, step, target_dir};

/// How long cargo and what it runs may take to end when asked to.
pub const STOP_WITHIN: Duration = Duration::from_secs(5);

/// How often servers that don't answer are replaced in one run of all tests.
const MOST_RESTARTS: u32 = 2;

/// Where the whole crash matrix is written to; without it, the test of crashes tries a part of it.
const MATRIX: &str = "ODM_CRASH_MATRIX";

/// Which writes the matrix of dropped futures has: without it, some.
const DROPPED: &str = "ODM_DROPPED";

/// Which writes the matrix of ignored errors has: without it, some.
const PASSED_OVER: &str = "ODM_PASSED_OVER";

/// How many random operations the test of them does.
const OPERATIONS: &str = "ODM_RANDOM_OPERATIONS";

/// How many values of each rule the test of them generates.
const VALUES: &str = "ODM_RANDOM_VALUES";

/// Which meetings of writers the test of them has: without it, some.
const MEETINGS: &str = "ODM_MEETINGS";
/// How often a run of migrations is killed.
const KILLS: &str = "ODM_KILLS";
/// For how many seconds a run of migrations is stopped beyond its lease.
const STOPPED: &str = "ODM_STOPPED";

/// Whether tests that take long on this server run there.
const LONG: &str = "ODM_LONG_TESTS";

/// The build and the run of a command, as arguments of cargo.
#[derive(Debug)]
pub struct Job {
    name: &'static str,
    /// Compiles what `run` needs, so that a server does not wait for the compiler.
    build: Option<Vec<OsString>>,
    run: Vec<OsString>,
    /// Variables that `run` gets.
    variables: Vec<(&'static str, OsString)>,
    /// Whether all test binaries are run, several side by side, in place of `run`.
    is_suite: bool,
    /// Whether a router of a sharded cluster stands before the server.
    has_router: bool,
}

impl Job {
    /// The demonstration program; with `keep` it leaves its databases as they are.
    pub fn demo(books: Option<PathBuf>, log: Option<PathBuf>, keep: bool) -> Result<Self> {
        let target = ["-p", "odm-examples", "--bin", "demo"];
        let mut run = arguments(["run", "--quiet"].into_iter().chain(target));
        run.push("--".into());
        for (option, path) in [("--books", books), ("--log", log)] {
            if let Some(path) = path {
                // Cargo runs in the root of the workspace, which need not be where the path was typed.
                let path = std::path::absolute(&path)
                    .with_context(|| format!("`{}` is not a path", path.display()))?;
                run.extend([option.into(), path.into()]);
            }
        }
        if keep {
            run.push("--keep".into());
        }
        Ok(Self {
            name: "the demonstration",
            build: Some(arguments(["build"].into_iter().chain(target))),
            run,
            variables: Vec::new(),
            is_suite: false,
            has_router: false,
        })
    }

    /// The tests of the workspace, or of the packages that `args` name.
    pub fn test(args: Vec<OsString>) -> Self {
        let own = args
            .iter()
            .position(|argument| argument == "--")
            .unwrap_or(args.len());
        let for_cargo = &args[..own];
        let mut run = arguments(["test"]);
        if !for_cargo.iter().any(selects_packages) {
            run.push("--workspace".into());
        }
        // Documentation tests are compiled as they run; cargo refuses to only build them.
        let builds_nothing = for_cargo
            .iter()
            .any(|argument| argument == "--doc" || argument == "--no-run");
        let build = (!builds_nothing).then(|| {
            let mut build = run.clone();
            build.push("--no-run".into());
            build.extend(for_cargo.iter().cloned());
            build
        });
        let is_suite = args.is_empty();
        run.extend(args);
        Self {
            name: "the tests",
            build,
            run,
            variables: Vec::new(),
            is_suite,
            has_router: false,
        }
    }

    /// The tests at full length: each row of the crash matrix and of that of dropped futures, many random operations, and all
    /// meetings of writers. The crash matrix is written below the
    /// target directory, and what the environment says of either holds.
    pub fn at_full_length(self) -> Self {
        let matrix = target_dir().join("crash-matrix.md").into();
        let variables = [
            (MATRIX, matrix),
            (DROPPED, "all".into()),
            (PASSED_OVER, "all".into()),
            (OPERATIONS, "100000".into()),
            (VALUES, "100000".into()),
            (MEETINGS, "all".into()),
            (KILLS, "200".into()),
            (STOPPED, "30".into()),
            (LONG, "1".into()),
        ];
        Self {
            variables: variables
                .into_iter()
                .filter(|(name, _)| std::env::var_os(name).is_none())
                .collect(),
            ..self
        }
    }

    /// The benchmark, with `args` for itself.
    pub fn bench(args: Vec<OsString>) -> Self {
        let mut run = arguments(["bench", "-p", "odm-tests", "--bench", "ratio"]);
        let mut build = run.clone();
        build.push("--no-run".into());
        run.push("--".into());
        run.extend(args);
        Self {
            name: "the benchmark",
            build: Some(build),
            run,
            variables: Vec::new(),
            is_suite: false,
            has_router: false,
        }
    }

    /// The same through a router, which plays `mongos` before the server.
    pub fn through_router(self) -> Self {
        Self {
            has_router: true,
            ..self
        }
    }
}

fn arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<OsString> {
    arguments.into_iter().map(OsString::from).collect()
}

/// Whether a cargo argument says which packages are meant (`-p x`, `-px`, `--package x`, `--package=x`, ...).
fn selects_packages(argument: &OsString) -> bool {
    let Some(argument) = argument.to_str() else {
        return false;
    };
    let name = argument.split('=').next().unwrap_or_default();
    matches!(name, "--package" | "--workspace" | "--all" | "--manifest-path") || argument.starts_with("-p")
}

/// Builds `job`, finds or starts a server, runs the job with it and stops the server. Returns the exit code
/// of the first part that fails.
pub async fn with_server(options: ServerArgs, job: Job) -> Result<u8> {
    let source = server::select(options.server, &Environment::read())?;
    if let Some(build) = &job.build {
        step(format!("building {}", job.name));
        let code = run(build, &[], None).await?;
        if code != 0 {
            step(format!("building {} failed (exit code {code})", job.name));
            return Ok(code);
        }
    }
    let lanes = if job.is_suite { suite::lanes() } else { 1 };
    let mut servers = server::obtain_for_lanes(source.clone(), options.keep, lanes).await?;
    let mut routers = routers(&job, &servers).await?;
    step(format!("running {}", job.name));
    let code = if job.is_suite {
        let suite = Suite::new().await?;
        for restarts in 0.. {
            let asked: Vec<&server::Server> = if routers.is_empty() {
                servers.iter().collect()
            } else {
                routers.iter().map(|router| &router.server).collect()
            };
            let of_lanes: Vec<&server::Server> = asked.into_iter().cycle().take(lanes).collect();
            let silent = server::any_silent(&servers);
            tokio::select! {
                ended = suite.run(&of_lanes, &job.variables) => {
                    ended?;
                    break;
                }
                // No test can tell what a server does that does not answer: those that met it are run on another one.
                () = silent, if restarts < MOST_RESTARTS => {
                    step("a server that was started here has not answered for three minutes: the tests that it served are run again");
                }
            }
            stop(std::mem::take(&mut routers)).await?;
            drop(std::mem::take(&mut servers));
            servers = server::obtain_for_lanes(source.clone(), options.keep, lanes).await?;
            routers = self::routers(&job, &servers).await?;
        }
        suite.report()
    } else {
        let routed = routers.first().map(|router| &router.server);
        run(&job.run, &job.variables, routed.or(servers.first())).await?
    };
    stop(routers).await?;
    match code {
        0 => step(format!("{} succeeded", job.name)),
        _ => step(format!("{} failed (exit code {code})", job.name)),
    }
    for obituary in servers.iter_mut().filter_map(server::Server::obituary) {
        step(obituary);
    }
    Ok(code)
}

/// A router before a server, and how it is asked.
struct Routed {
    router: Router,
    server: server::Server,
}

impl Routed {
    async fn start(server: &server::Server) -> Result<Routed> {
        let router = Router::start(server.uri(), RouterOptions::default()).await;
        let router = router.context("the router does not start")?;
        let source = server::Source::Uri(router.uri());
        let server = server::obtain(source, server::Home::Temporary { keep: false }).await?;
        Ok(Routed { router, server })
    }
}

/// A router before each of the servers, where the job asks for routers.
async fn routers(job: &Job, servers: &[server::Server]) -> Result<Vec<Routed>> {
    let mut routers = Vec::new();
    if job.has_router {
        for server in servers {
            routers.push(Routed::start(server).await?);
        }
    }
    Ok(routers)
}

async fn stop(routers: Vec<Routed>) -> Result<()> {
    for router in routers {
        router.router.stop().await?;
    }
    Ok(())
}

async fn run(
    arguments: &[OsString],
    variables: &[(&'static str, OsString)],
    server: Option<&server::Server>,
) -> Result<u8> {
    let mut command = cargo();
    command
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)));
    if let Some(server) = server {
        server.tell(&mut command);
    }
    let mut process = Process::spawn("cargo", &mut command, STOP_WITHIN)?;
    Ok(exit_code(process.wait().await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(args: &[&str]) -> Job {
        Job::test(arguments(args.iter().copied()))
    }

    #[test]
    fn all_packages_are_tested_unless_some_are_named() {
        let job = test(&[]);
        assert_eq!(job.run, ["test", "--workspace"]);
        assert_eq!(job.build, Some(arguments(["test", "--workspace", "--no-run"])));
        for named in [
            &["-p", "odm"][..],
            &["-podm"],
            &["--package", "odm"],
            &["--package=odm"],
        ] {
            let job = test(named);
            assert_eq!(job.run[1..], arguments(named.iter().copied()));
        }
    }

    #[test]
    fn only_all_tests_are_run_side_by_side() -> Result<()> {
        assert!(test(&[]).is_suite && test(&[]).at_full_length().is_suite);
        assert!(!test(&["-p", "odm"]).is_suite && !test(&["--", "--list"]).is_suite);
        assert!(!Job::demo(None, None, false)?.is_suite && !Job::bench(Vec::new()).is_suite);
        Ok(())
    }

    #[test]
    fn a_router_stands_before_the_server_where_it_is_asked_for() {
        assert!(test(&[]).through_router().has_router && !test(&[]).has_router);
        assert!(test(&[]).through_router().at_full_length().has_router);
    }

    #[test]
    fn arguments_of_the_test_binaries_are_not_for_the_build() {
        let job = test(&["find", "--", "-p", "--nocapture"]);
        assert_eq!(
            job.run,
            ["test", "--workspace", "find", "--", "-p", "--nocapture"]
        );
        assert_eq!(
            job.build,
            Some(arguments(["test", "--workspace", "--no-run", "find"]))
        );
    }

    #[test]
    fn documentation_tests_are_not_built_ahead() {
        let job = test(&["--doc"]);
        assert_eq!(job.build, None);
        assert_eq!(job.run, ["test", "--workspace", "--doc"]);
    }

    #[test]
    fn the_demonstration_gets_absolute_paths() -> Result<()> {
        let job = Job::demo(Some("books.json".into()), Some("Mac.log".into()), false)?;
        assert_eq!(
            job.run[..6],
            ["run", "--quiet", "-p", "odm-examples", "--bin", "demo"]
        );
        assert_eq!(job.run[6..8], ["--", "--books"]);
        assert!(PathBuf::from(&job.run[8]).is_absolute());
        assert_eq!(job.run[9], "--log");
        assert!(PathBuf::from(&job.run[10]).is_absolute());
        assert_eq!(Job::demo(None, None, false)?.run.len(), 7);
        Ok(())
    }

    #[test]
    fn the_demonstration_keeps_its_databases_with_the_server() -> Result<()> {
        assert_eq!(Job::demo(None, None, true)?.run[6..], ["--", "--keep"]);
        Ok(())
    }

    #[test]
    fn tests_at_full_length_get_variables() {
        let plain = test(&["server"]);
        assert_eq!(plain.variables, []);
        let full = test(&["server"]).at_full_length();
        assert_eq!((&full.run, &full.build), (&plain.run, &plain.build));
        let matrix = target_dir().join("crash-matrix.md");
        assert!(matrix.is_absolute());
        let expected = [
            (MATRIX, matrix.into()),
            (DROPPED, "all".into()),
            (PASSED_OVER, "all".into()),
            (OPERATIONS, OsString::from("100000")),
            (VALUES, OsString::from("100000")),
            (MEETINGS, "all".into()),
            (KILLS, "200".into()),
            (STOPPED, "30".into()),
            (LONG, "1".into()),
        ];
        let unset = |(name, _): &(&str, OsString)| std::env::var_os(name).is_none();
        assert_eq!(
            full.variables,
            expected.into_iter().filter(unset).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_benchmark_passes_its_arguments_on() {
        let job = Job::bench(arguments(["--quick"]));
        assert_eq!(
            job.run,
            ["bench", "-p", "odm-tests", "--bench", "ratio", "--", "--quick"]
        );
    }
}

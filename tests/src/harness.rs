//! The harness of the tests that need a server.
//!
//! Rust's own harness can't report at run time that a test was skipped, and whether a test can run depends on the server. So
//! the test binaries of this package have `harness = false`, their tests are marked with `#[odm_tests::test]`, and their
//! `main` is [`main`]. Filters, `--exact`, `--skip`, `--list` and `--test-threads` are those of Rust's harness; output is
//! never captured.

pub use inventory;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::any::Any;
use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

/// What to do where no server is named.
pub(crate) const NO_SERVER: &str = "no MongoDB server: run `cargo xtask test`, or set MONGODB_URI";

/// A test, as `#[odm_tests::test]` registers it.
pub struct Case {
    /// The path of its function, which begins with the name of the binary.
    pub path: &'static str,
    /// The test.
    pub run: fn(),
}

inventory::collect!(Case);

/// The payload by which a test ends that can't run on this server.
struct Skipped(String);

/// Ends the test, which is reported as skipped for this reason.
///
/// Only in the thread that runs the test: a task or thread of its own would end, and not the test.
pub fn skip(reason: &str) -> ! {
    std::panic::resume_unwind(Box::new(Skipped(reason.to_owned())))
}

/// Runs the tests of a binary as its arguments say.
pub fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    if arguments.test_threads.is_none() {
        let threads = std::env::var("RUST_TEST_THREADS").ok();
        arguments.test_threads = threads.and_then(|threads| threads.parse().ok());
    }
    let mut cases: Vec<&Case> = inventory::iter::<Case>.into_iter().collect();
    cases.sort_by_key(|case| case.path);
    let trials: Vec<Trial> = cases.into_iter().map(trial).collect();
    let runs = !arguments.list && trials.iter().any(|trial| !arguments.is_filtered_out(trial));
    if runs && !crate::has_server() {
        eprintln!("{NO_SERVER}");
        return ExitCode::from(101);
    }
    std::panic::set_hook(hook(std::panic::take_hook()));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(case: &'static Case) -> Trial {
    let name = case.path.split_once("::").map_or(case.path, |(_, name)| name);
    Trial::ignorable_test(name, move || {
        // A thread of its own, so that a message of a panic names the test.
        let thread = std::thread::Builder::new().name(name.to_owned());
        let outcome = thread.spawn(|| perform(case.run))?.join();
        outcome.unwrap_or_else(|panic| Err(message(panic.as_ref()).into()))
    })
}

thread_local! {
    /// Where this thread has panicked.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

type Hook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync>;

/// Keeps the place of a panic for the report at the end.
fn hook(default: Hook) -> Hook {
    Box::new(move |info| {
        LOCATION.set(info.location().map(ToString::to_string));
        default(info);
    })
}

fn perform(test: fn()) -> Result<Completion, Failed> {
    match std::panic::catch_unwind(AssertUnwindSafe(test)) {
        Ok(()) => Ok(Completion::Completed),
        Err(panic) => match panic.downcast_ref::<Skipped>() {
            Some(Skipped(reason)) => Ok(Completion::ignored_with(reason)),
            None => {
                let at = LOCATION
                    .take()
                    .map_or_else(String::new, |at| format!("panicked at {at}:\n"));
                Err(format!("{at}{}", message(panic.as_ref())).into())
            }
        },
    }
}

/// The message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_is_reported_with_its_reason_and_a_failed_one_as_failed() {
        let outcome = perform(|| skip("needs a condition"));
        assert!(
            matches!(outcome, Ok(Completion::Ignored { reason: Some(reason) }) if reason == "needs a condition")
        );
        let outcome = perform(|| std::panic::resume_unwind(Box::new("it is wrong")));
        assert!(matches!(outcome, Err(failed) if failed.message() == Some("it is wrong")));
        assert!(matches!(perform(|| {}), Ok(Completion::Completed)));
    }

    /// A function under Rust's own `#[test]` would be left out of a binary without its harness without a word.
    #[test]
    fn every_test_of_a_binary_with_this_harness_is_registered() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let (mut folders, mut files, mut wrong) = (vec![tests], 0, Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder that can be read") {
                let path = entry.expect("an entry that can be read").path();
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                if path.is_dir() {
                    // Run by `cargo xtask test --failover` alone, with Rust's own harness.
                    if name != "failover" {
                        folders.push(path);
                    }
                } else if name.ends_with(".rs") && name != "ui.rs" {
                    files += 1;
                    let source = std::fs::read_to_string(&path).expect("a file that can be read");
                    if source
                        .lines()
                        .any(|line| line.trim_start().starts_with("#[test]"))
                    {
                        wrong.push(path);
                    }
                }
            }
        }
        assert!(files > 50, "{files} files");
        assert!(
            wrong.is_empty(),
            "write `#[odm_tests::test]` in place of `#[test]`: {wrong:?}"
        );
    }
}

//! The demonstration as `cargo xtask demo` runs it: every part of it, with its own checks, and the words at the end.

use std::process::{Command, Output};

fn demo(uri: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_demo"))
        .args(args)
        .env("MONGODB_URI", uri)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_demonstration_shows_every_design_and_finds_all_as_it_should_be() {
    let uri = match std::env::var("MONGODB_URI") {
        Ok(uri) if !uri.is_empty() => uri,
        _ => panic!("no MongoDB server: run `cargo xtask test`, or set MONGODB_URI"),
    };
    let shown = demo(&uri, &[]);
    let (said, failed) = (text(&shown.stdout), text(&shown.stderr));
    assert_eq!((shown.status.code(), failed.as_str()), (Some(0), ""), "{said}");
    let headings = [
        "One to few",
        "One to one",
        "Two editors of one document",
        "Several writes as one",
        "One to many",
        "Two-way",
        "One to any number",
        "Copies that stay true",
        "The subset pattern",
        "What does not compile",
        "Real input: a file of books",
        "Real relationships",
        "One to very many",
    ];
    for (at, heading) in headings.iter().enumerate() {
        let numbered = format!("\n {}  {heading}", at + 1);
        assert!(said.contains(&numbered), "{numbered} is missing:\n{said}");
    }
    // The refusals, with their reasons.
    for refusal in ["may hold at most", "without a declared bound", "is full"] {
        assert!(said.contains(refusal), "{refusal:?} is missing:\n{said}");
    }
    let checks = said.lines().filter(|line| line.starts_with("      ✓ ")).count();
    let last = said.lines().last().unwrap_or_default();
    let parts = format!(" {} parts, ", headings.len());
    assert!(last.starts_with(&parts), "{last}");
    assert!(checks > 50, "{checks} checks");
    assert!(
        last.contains(&format!(" {checks} checks, all as they should be, ")),
        "{checks}: {last}"
    );
    assert!(last.ends_with("databases dropped."), "{last}");
}

#[test]
fn without_a_server_it_says_so_and_fails() {
    let shown = demo("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200", &[]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(
        text(&shown.stderr).contains("The demo ends here: "),
        "{}",
        text(&shown.stderr)
    );
    let mistaken = demo("", &["--book"]);
    assert_eq!(mistaken.status.code(), Some(2));
}

//! The command line as a program: what a shell sees of it. What needs a server is tested in `tests/tests/upkeep/cli.rs`.

use std::process::{Command, Output};

/// No server listens on port 1.
const NOWHERE: &str = "mongodb://127.0.0.1:1/shop?serverSelectionTimeoutMS=200";

fn manage(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manage"))
        .args(args)
        .env("MONGODB_URI", NOWHERE)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_diagram_needs_no_server() {
    let drawn = manage(&["edges"]);
    assert_eq!(drawn.status.code(), Some(0));
    assert!(text(&drawn.stdout).contains("many, at most 500 -> tasks"));
    let file = std::env::temp_dir().join(format!("odm-manage-{}.svg", std::process::id()));
    let path = file.to_string_lossy().into_owned();
    let drawn = manage(&["edges", "--format", "svg", "--output", &path]);
    let svg = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert_eq!((drawn.status.code(), drawn.stdout.len()), (Some(0), 0));
    assert!(svg.is_ok_and(|svg| svg.starts_with("<svg") && svg.contains("Person")));
    let nowhere = manage(&["edges", "--output", "/no/such/folder/x.svg"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("/no/such/folder/x.svg"));
}

/// With line breaks for the column of the guide: what does not fit goes on below the description of its field.
fn in_column(drawn: &str) -> String {
    const COLUMNS: usize = 84;
    let mut text = String::new();
    for line in drawn.lines() {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        let before = line.len() - line.trim_start().len() + name.len();
        let indent = before + line[before..].len() - line[before..].trim_start().len();
        let (head, description) = line.split_at(if line.len() > COLUMNS { indent } else { line.len() });
        text.push_str(head);
        let mut width = indent;
        for (at, word) in description.split(' ').enumerate() {
            if at > 0 && width + 1 + word.len() > COLUMNS {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                width = indent;
            } else if at > 0 {
                text.push(' ');
                width += 1;
            }
            text.push_str(word);
            width += word.len();
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_book_shows_what_is_drawn() {
    let page = include_str!("../../book/src/operations.md");
    let drawn = in_column(&text(&manage(&["edges"]).stdout));
    // The page shows the first models.
    let shown = page.split("```text\n").find_map(|rest| rest.split_once("…\n```"));
    assert!(
        shown.is_some_and(|(shown, _)| shown.lines().count() > 10 && drawn.starts_with(shown)),
        "write this into book/src/operations.md:\n{drawn}"
    );
    let image = include_str!("../../book/src/models.svg");
    let drawn = text(&manage(&["edges", "--format", "svg"]).stdout);
    assert!(
        image == drawn,
        "`cargo run -p odm-examples --bin manage -- edges --format svg --output book/src/models.svg`"
    );
}

#[test]
fn a_mistake_and_a_missing_server_are_no_findings() {
    let unknown = manage(&["drop-everything"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        text(&unknown.stderr).contains("Usage: manage"),
        "{}",
        text(&unknown.stderr)
    );
    let help = manage(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(text(&help.stdout).contains("Exit codes:"));
    let alone = manage(&["plan", "--check"]);
    assert_eq!((alone.status.code(), alone.stdout.len()), (Some(2), 0));
    assert!(
        text(&alone.stderr).starts_with("error: "),
        "{}",
        text(&alone.stderr)
    );
    let alone = manage(&["audit", "--json"]);
    assert_eq!(alone.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&alone.stdout).expect("one JSON document");
    assert_eq!(
        (&json["command"], &json["database"], &json["exit"]),
        (&"audit".into(), &"shop".into(), &2.into())
    );
    assert!(
        json["error"].as_str().is_some_and(|error| !error.is_empty()),
        "{json}"
    );
}

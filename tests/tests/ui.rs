//! Programs that must not compile, with the compiler's messages; and that the offered fixes compile.
//!
//! Those that must not compile are checked by one cargo, which none of them needs to be built for. The fixes are modules of
//! this binary.
//!
//! Recorded with Rust 1.95: `TRYBUILD=overwrite cargo test -p odm-tests --test ui` records anew. Other versions word the
//! compiler's own parts differently (1.88 lists fewer notes). There every case still has to fail, and its message has to
//! begin as the recorded one does: with the same words where they are this library's, with the same code where they are the
//! compiler's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Termination};
use std::{env, fs};

/// The version of Rust with which the messages are recorded.
const RECORDED: &str = "1.95";

/// Names the folder of the cases to the process that compiles a copy of them.
const FOLDER: &str = "ODM_UI_FOLDER";

/// The programs of `ui/pass`, as modules.
macro_rules! fixes {
    ($($name:ident: $path:literal,)*) => {
        $(#[path = $path] #[allow(dead_code, clippy::box_collection)] mod $name;)*

        /// Their names, and what each returns when it runs.
        const FIXES: &[(&str, fn() -> ExitCode)] = &[$((stringify!($name), || $name::main().report())),*];
    };
}
fixes! {
    attributes: "../ui/pass/attributes.rs",
    bounds: "../ui/pass/bounds.rs",
    buckets: "../ui/pass/buckets.rs",
    constants: "../ui/pass/constants.rs",
    copies: "../ui/pass/copies.rs",
    documents: "../ui/pass/documents.rs",
    entries: "../ui/pass/entries.rs",
    expressions: "../ui/pass/expressions.rs",
    foreign: "../ui/pass/foreign.rs",
    inverse: "../ui/pass/inverse.rs",
    names: "../ui/pass/names.rs",
    offered: "../ui/pass/offered.rs",
    options_by_a_function: "../ui/pass/options_by_a_function.rs",
    private: "../ui/pass/private.rs",
    references: "../ui/pass/references.rs",
    unions: "../ui/pass/unions.rs",
}

#[test]
fn every_offered_fix_compiles_and_runs() {
    let folder = fs::read_dir("ui/pass").unwrap();
    let names = folder.map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned());
    let there: BTreeSet<OsString> = names.collect();
    let listed = FIXES.iter().map(|(name, _)| OsString::from(name)).collect();
    assert_eq!(there, listed, "list each program of `ui/pass` above");
    for (name, run) in FIXES {
        assert_eq!(run(), ExitCode::SUCCESS, "{name}");
    }
}

/// The attributes of this library, of which messages offer some.
const ATTRIBUTES: [&str; 14] = [
    "document",
    "field",
    "embed",
    "index",
    "reference",
    "parent_ref",
    "denormalize",
    "subset",
    "computed",
    "volatile",
    "bucket",
    "projection",
    "request",
    "row",
];

/// Each attribute in a text, with the options that stand in it: of `#[field(min = 1, default)]` `field` with `default` and `min`.
fn attributes(text: &str) -> BTreeSet<(String, BTreeSet<String>)> {
    let mut all = BTreeSet::new();
    for (at, _) in text.match_indices("#[") {
        let body = text[at + 2..].trim_start();
        let end = body
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(body.len());
        let (name, rest) = body.split_at(end);
        if !ATTRIBUTES.contains(&name) {
            continue;
        }
        // The names at the beginning of what commas separate, on the first level of parentheses.
        let (mut depth, mut is_quoted, mut begins) = (0, false, false);
        let (mut options, mut word) = (BTreeSet::new(), String::new());
        for c in rest.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if begins && (c.is_alphanumeric() || c == '_') {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                options.insert(std::mem::take(&mut word));
                begins = false;
            }
            if depth <= 0 {
                break;
            }
            if !is_quoted && depth == 1 && (c == '(' || c == ',') {
                begins = true;
            } else if !c.is_whitespace() {
                begins = false;
            }
        }
        all.insert((name.to_owned(), options));
    }
    all
}

#[test]
fn attributes_are_found_with_their_options() {
    let found = |text| attributes(text).into_iter().collect::<Vec<_>>();
    let one = |name: &str, options: &[&str]| {
        vec![(
            name.to_owned(),
            options
                .iter()
                .map(|&option| option.to_owned())
                .collect::<BTreeSet<_>>(),
        )]
    };
    assert_eq!(
        found("#[field(min = 1, default)] a: i32"),
        one("field", &["default", "min"])
    );
    assert_eq!(found("`#[index]`"), one("index", &[]));
    assert_eq!(
        found("#[document(index(fields(a, -b), unique), collection = \"x, y\")]"),
        one("document", &["collection", "index"])
    );
    assert_eq!(found("#[bucket(time = at, …)]"), one("bucket", &["time"]));
    assert_eq!(found("#[serde(skip)] #[derive(Clone)]"), vec![]);
}

/// The lines of a message that are words, and no source.
fn said(message: &str) -> impl Iterator<Item = &str> {
    message.lines().filter(|line| {
        let line = line.trim_start();
        ["error", "= note", "= help", "note"]
            .iter()
            .any(|begin| line.starts_with(begin))
    })
}

/// The offers of messages are compiled: each attribute in one, with all of its options together, stands in a program that compiles.
#[test]
fn every_offered_attribute_stands_in_a_program_that_compiles() {
    let mut compiled = BTreeSet::new();
    for folder in ["ui/pass", "tests", "../examples/src"] {
        for file in files(Path::new(folder)) {
            // This file only speaks of them.
            if file.extension() == Some(OsStr::new("rs")) && !file.ends_with("tests/ui.rs") {
                compiled.extend(attributes(&fs::read_to_string(&file).unwrap()));
            }
        }
    }
    let mut missing = String::new();
    for file in files(Path::new("ui")) {
        if file.extension() != Some(OsStr::new("stderr")) {
            continue;
        }
        let message = fs::read_to_string(&file).unwrap();
        for (name, options) in said(&message).flat_map(attributes) {
            let stands = compiled
                .iter()
                .any(|(other, with)| *other == name && options.is_subset(with));
            if !stands {
                missing.push_str(&format!("{}: `{name}` with {options:?}\n", file.display()));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "add a program to `ui/pass` that has these attributes:\n{missing}"
    );
}

/// The expressions in a text, as far as messages offer them: in backticks, from the option or the method on.
fn expressions(text: &str) -> Vec<&str> {
    let offered = text.split('`').skip(1).step_by(2);
    let whole = offered.filter(|code| !code.contains('…'));
    let expressions = whole.filter_map(|code| {
        let option = ["default = ", "check = |", "filter = |", "partial = |"];
        match option.iter().filter_map(|option| code.find(option)).min() {
            Some(at) => Some(&code[at..]),
            None if code.starts_with('.') && code.contains('(') => Some(code),
            None if code.starts_with("odm::") && code.contains(").") => Some(code),
            None => None,
        }
    });
    // Up to where the attribute around it ends.
    let closed = expressions.map(|code| {
        let mut depth = 0;
        let end = code.find(|c| {
            depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
            depth < 0
        });
        &code[..end.unwrap_or(code.len())]
    });
    closed.collect()
}

/// An expression without its own names: of `.find(|p| p.field.eq(value))` `.find(|_|_._.eq(_))`.
fn form(code: &str) -> String {
    let code: Vec<char> = code.chars().filter(|c| !c.is_whitespace()).collect();
    let mut form = String::new();
    let mut at = 0;
    while at < code.len() {
        let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
        let end = code[at..].iter().position(|c| !is_word(c));
        let end = end.map_or(code.len(), |len| at + len);
        let word: String = code[at..end].iter().collect();
        let rest: String = code[end..].iter().take(3).collect();
        let is_called = rest.starts_with('(') || rest.starts_with("::") || rest.starts_with('!');
        let is_option = rest.starts_with('=') && !rest.starts_with("==");
        match word.chars().next() {
            None => {
                form.push(code[at]);
                at += 1;
                continue;
            }
            Some(first) if first.is_numeric() || !(is_called || is_option) => form.push('_'),
            _ => form.push_str(&word),
        }
        at = end;
    }
    form
}

#[test]
fn expressions_are_found_and_compared_without_their_names() {
    let text = "write `#[field(default = Ref::new(3))] a: i32`, `.find(|p| p.field.eq(value))`, `check = |d| …` or `Vec<T>`: \
                `odm::expr::expr(p.ends).gt(odm::expr::expr(p.starts))`";
    let found = expressions(text);
    assert_eq!(
        found,
        [
            "default = Ref::new(3)",
            ".find(|p| p.field.eq(value))",
            "odm::expr::expr(p.ends).gt(odm::expr::expr(p.starts))"
        ]
    );
    let forms: Vec<String> = found.into_iter().map(form).collect();
    assert_eq!(
        forms,
        [
            "default=Ref::new(_)",
            ".find(|_|_._.eq(_))",
            "odm::expr::expr(_._).gt(odm::expr::expr(_._))"
        ]
    );
}

/// The same of defaults, conditions and calls: each stands in a program that compiles, with names of its own.
#[test]
fn every_offered_expression_stands_in_a_program_that_compiles() {
    let mut compiled = String::new();
    for folder in ["ui/pass", "tests", "../examples/src"] {
        for file in files(Path::new(folder)) {
            if file.extension() == Some(OsStr::new("rs")) && !file.ends_with("tests/ui.rs") {
                compiled.push_str(&form(&fs::read_to_string(&file).unwrap()));
            }
        }
    }
    let mut missing = BTreeMap::new();
    for file in files(Path::new("ui")) {
        if file.extension() == Some(OsStr::new("stderr")) {
            let message = fs::read_to_string(&file).unwrap();
            let source = fs::read_to_string(file.with_extension("rs")).unwrap();
            // Code that the compiler repeats from the source is not offered.
            let offered = said(&message).flat_map(expressions);
            for code in offered.filter(|code| !source.contains(code)) {
                if !compiled.contains(&form(code)) {
                    missing.insert(code.to_owned(), file.clone());
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "add a program to `ui/pass` that has these expressions: {missing:#?}"
    );
}

#[test]
fn no_message_names_what_only_generated_code_may_name() {
    let recorded = files(Path::new("ui"));
    let recorded = recorded
        .iter()
        .filter(|file| file.extension() == Some(OsStr::new("stderr")));
    let named: Vec<&PathBuf> = recorded
        .filter(|file| fs::read_to_string(file).unwrap().contains("__private"))
        .collect();
    assert!(
        named.is_empty(),
        "export what these messages name in `odm::checks`, with words of its own: {named:?}"
    );
}

#[test]
fn messages() {
    if let Some(folder) = env::var_os(FOLDER) {
        return compile(Path::new(&folder));
    }
    let version = rustc_version();
    if is_recorded(&version) {
        compile(Path::new("ui"));
    } else {
        assert!(
            env::var_os("TRYBUILD").is_none(),
            "messages are recorded with Rust {RECORDED}, and this is {version}"
        );
        compare_first_lines(&version);
    }
}

fn compile(folder: &Path) {
    let cases = trybuild::TestCases::new();
    let topics = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut topics: Vec<PathBuf> = topics
        .filter(|topic| topic.is_dir() && !topic.ends_with("pass"))
        .collect();
    topics.sort();
    for topic in topics {
        cases.compile_fail(topic.join("*.rs"));
    }
}

/// Compiles a copy of the cases, so that the messages are written beside it and not over the recorded ones.
fn compare_first_lines(version: &str) {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let _ = fs::remove_dir_all(&copy);
    let mut recorded = BTreeMap::new();
    for file in files(Path::new("ui")) {
        let place = copy.join(file.strip_prefix("ui").unwrap());
        if file.extension() == Some(OsStr::new("stderr")) {
            recorded.insert(place, fs::read_to_string(&file).unwrap());
        } else {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(&file, &place).unwrap();
        }
    }
    let filters: Vec<String> = env::args().filter(|arg| arg.starts_with("trybuild=")).collect();
    let child = Command::new(env::current_exe().unwrap())
        .args(["messages", "--exact", "--nocapture"])
        .args(&filters)
        .env(FOLDER, &copy)
        .env("TRYBUILD", "overwrite")
        .status()
        .unwrap();
    assert!(child.success(), "with {version}: see above");

    let mut compared = 0;
    let mut wrong = String::new();
    for (place, recorded) in recorded {
        match fs::read_to_string(&place) {
            Ok(said) => {
                compared += 1;
                if let Err(why) = begins_alike(&recorded, &said) {
                    wrong.push_str(&format!(
                        "{}: {why}\n",
                        place.strip_prefix(&copy).unwrap().display()
                    ));
                }
            }
            // With a filter, most of them are not compiled.
            Err(_) => assert!(!filters.is_empty(), "{}: no message", place.display()),
        }
    }
    // Also seen where the output of tests that succeed is kept back.
    let _ = writeln!(
        std::io::stderr(),
        "{version}: only the first lines of {compared} messages were compared, which are recorded with Rust {RECORDED}"
    );
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whether two messages begin alike: by the same words where these are the library's, by the same code where they are the
/// compiler's.
fn begins_alike(recorded: &str, said: &str) -> Result<(), String> {
    let (first, now) = (first_error(recorded), first_error(said));
    let is_alike = match own_words(first) {
        Some(Words::Line(line)) => now == line,
        // Before 1.89 the first line did not say what a constant panicked with.
        Some(Words::Of(message)) => code(now) == code(first) && said.contains(message),
        None => code(now) == code(first),
    };
    if is_alike {
        Ok(())
    } else {
        Err(format!("\n  recorded: {first}\n  said:     {now}"))
    }
}

fn first_error(message: &str) -> &str {
    let mut lines = message.lines();
    lines.find(|line| line.starts_with("error")).unwrap_or("no error")
}

/// `error[E0277]`, or `error`.
fn code(line: &str) -> &str {
    line.split(": ").next().unwrap_or_default()
}

/// The library's own words.
enum Words<'l> {
    /// The whole line.
    Line(&'l str),
    /// The message of a constant that panicked.
    Of(&'l str),
}

/// Those of the library in a first line; `None` where it is worded by the compiler.
fn own_words(line: &str) -> Option<Words<'_>> {
    match line.split_once(": ")? {
        // A macro said it.
        ("error", _) => Some(Words::Line(line)),
        ("error[E0277]", words) => (!words.starts_with("the trait bound ")).then_some(Words::Line(line)),
        ("error[E0080]", words) => words.strip_prefix("evaluation panicked: ").map(Words::Of),
        _ => None,
    }
}

#[test]
fn the_librarys_words_are_compared_and_the_compilers_are_not() {
    let panicked = "error[E0080]: evaluation panicked: `A.b` refers\n --> a.rs";
    let older = "error[E0080]: evaluation of constant value failed\n --> a.rs\n | the evaluated program panicked at '`A.b` refers'";
    for (recorded, said, expected) in [
        ("warning: x\n\nerror: `A` is", "error: `A` is\n\n --> a.rs", true),
        ("error: `A` is", "error: `A` was", false),
        ("error: `A` is", "error[E0277]: `A` is", false),
        (
            "error[E0277]: `A` is no document",
            "error[E0277]: `A` is no document",
            true,
        ),
        (
            "error[E0277]: `A` is no document",
            "error[E0277]: the trait bound `A: D` is not satisfied",
            false,
        ),
        (panicked, panicked, true),
        (panicked, older, true),
        (
            panicked,
            "error[E0080]: evaluation panicked: something else",
            false,
        ),
        (
            "error[E0609]: no field `a` on type `B`",
            "error[E0609]: `B` has no `a`",
            true,
        ),
        (
            "error[E0609]: no field `a` on type `B`",
            "error[E0599]: no field `a`",
            false,
        ),
        ("error[E0609]: no field `a` on type `B`", "warning: unused", false),
    ] {
        assert_eq!(
            begins_alike(recorded, said).is_ok(),
            expected,
            "{recorded}\n{said}"
        );
    }
}

#[test]
fn the_version_that_recorded_is_known_from_others() {
    for (version, expected) in [
        ("rustc 1.95.0 (59807616e 2026-04-14)", true),
        ("rustc 1.95.1", true),
        ("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)", false),
        ("rustc 1.9.5", false),
        ("", false),
    ] {
        assert_eq!(is_recorded(version), expected, "{version}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// What compiles the cases says of itself: `rustc 1.95.0 (59807616e 2026-04-14)`.
fn rustc_version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc).arg("--version").output().unwrap();
    assert!(output.status.success(), "{rustc:?} --version: {}", output.status);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn is_recorded(version: &str) -> bool {
    let number = version.split(' ').nth(1).unwrap_or_default();
    number
        .strip_prefix(RECORDED)
        .is_some_and(|rest| rest.starts_with('.'))
}

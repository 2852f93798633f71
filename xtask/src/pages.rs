//! Tests that the pages for those who change the code, and the heads of the protocol models, name code that is there.
//!
//! One convention tells names from other text between backticks: a type begins with a capital, a function ends with `()`, a macro with
//! `!`, and `Type::field` is a field. Everything else is a literal: a word of an attribute, a field of a document, a command, a path, and
//! what is written in capitals alone, as variables of the environment are. A page names the file of a name in the same paragraph, list
//! item or row, or in the head of the table.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use syn::visit::{self, Visit};
use syn::{Fields, Ident, ImplItem, Item, TraitItem};

use crate::source::{attributes, is_for_tests};
use crate::workspace::root;

/// The greatest number of lines of `ARCHITECTURE.md`.
const MOST_LINES: usize = 240;

/// Paths on the pages begin in one of these folders.
const BEGINNINGS: [&str; 3] = ["", "odm/src/", "odm-derive/src/"];

#[test]
fn the_architecture_page_is_no_longer_than_a_map() -> Result<()> {
    let lines = read("ARCHITECTURE.md")?.lines().count();
    ensure!(
        lines <= MOST_LINES,
        "ARCHITECTURE.md has {lines} lines, more than {MOST_LINES}: take something out before you add to it"
    );
    Ok(())
}

#[test]
fn the_pages_name_existing_files() -> Result<()> {
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for block in blocks(&read(page)?) {
            for text in quoted(&block.text).into_iter().filter(|text| is_path(text)) {
                missing.extend(missing_paths(text, &BEGINNINGS).map(|path| format!("{page} names `{path}`")));
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "these files are not there:\n{}",
        missing.join("\n")
    );
    Ok(())
}

#[test]
fn the_pages_name_what_the_files_beside_declare() -> Result<()> {
    let mut declared = Declared::default();
    let mut wrong = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for block in blocks(&read(page)?) {
            let texts = quoted(&block.text);
            let paths: Vec<String> = quoted(&block.head)
                .iter()
                .chain(&texts)
                .filter(|text| is_path(text))
                .flat_map(|text| alternatives(text))
                .flat_map(|path| BEGINNINGS.map(|beginning| format!("{beginning}{path}")))
                .collect();
            for name in texts.iter().filter_map(|text| Name::of(text)) {
                let mut is_there = false;
                for path in &paths {
                    is_there = is_there || declared.has(path, &name)?;
                }
                if !is_there {
                    wrong.push(format!("{page}: `{}` in: {}", name.text, block.text));
                }
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "no file that is named in the same paragraph, list item or row declares these:\n{}",
        wrong.join("\n")
    );
    Ok(())
}

/// An editor follows a call better than a page does, and a chain of calls is wrong after the next change.
#[test]
fn no_sentence_of_the_architecture_page_is_a_chain_of_calls() -> Result<()> {
    let mut chains = Vec::new();
    for block in blocks(&read("ARCHITECTURE.md")?) {
        for sentence in sentences(&block.text) {
            let functions = quoted(sentence).into_iter().filter(|text| text.ends_with("()"));
            if functions.count() > 2 {
                chains.push(sentence.trim().to_owned());
            }
        }
    }
    ensure!(
        chains.is_empty(),
        "these sentences of ARCHITECTURE.md have more than two functions: say where to begin, and what holds there\n{}",
        chains.join("\n")
    );
    Ok(())
}

/// A model does not link the library: its head says which functions take its steps.
#[test]
fn the_heads_of_the_models_name_what_the_library_declares() -> Result<()> {
    const MODELS: &str = "tests/protocol/src/";
    let mut declared = Declared::default();
    let mut wrong = Vec::new();
    for file in files(MODELS)? {
        let text = read(&file)?;
        let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let head: Vec<&str> = head
            .iter()
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        for block in blocks(&head.join("\n")) {
            let has_steps = block.text.starts_with("The steps in the code:");
            for text in quoted(&block.text) {
                let is_right = match Name::of(text) {
                    _ if is_path(text) => missing_paths(text, &["", "odm/src/", MODELS]).next().is_none(),
                    Some(name) => declared.has("odm/src/", &name)? || declared.has(&file, &name)?,
                    // A step is a function.
                    None => !has_steps,
                };
                if !is_right {
                    wrong.push(format!("{file}: `{text}`"));
                }
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "the heads of models name what neither odm/src nor the model declares (a function ends with `()`):\n{}",
        wrong.join("\n")
    );
    Ok(())
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(root().join(file)).with_context(|| format!("{file} can't be read"))
}

/// The Rust files in a folder and below it, from the root of the workspace. The folder ends with `/`.
fn files(folder: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(format!("{path}/"));
            } else if path.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A paragraph, a list item, a row or a heading.
#[derive(Debug, Default, PartialEq)]
struct Block {
    text: String,
    /// The first row of its table.
    head: String,
}

/// The blocks of a page, without those of code.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = vec![Block::default()];
    let mut head = String::new();
    let mut is_code = false;
    for line in page.lines() {
        let text = line.trim();
        if text.starts_with("```") {
            is_code = !is_code;
            blocks.push(Block::default());
            continue;
        }
        if is_code {
            continue;
        }
        let is_numbered = text
            .split_once(". ")
            .is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let begins = text.is_empty()
            || is_numbered
            || ["- ", "* ", "#", "|"].iter().any(|mark| text.starts_with(mark));
        if !text.starts_with('|') {
            head.clear();
        } else if head.is_empty() {
            text.clone_into(&mut head);
        }
        if begins {
            let head = head.clone();
            blocks.push(Block {
                head,
                ..Block::default()
            });
        }
        if let Some(block) = blocks.last_mut() {
            if !block.text.is_empty() {
                block.text.push(' ');
            }
            block.text.push_str(text);
        }
    }
    blocks.retain(|block| !block.text.is_empty());
    blocks
}

/// The texts between backticks.
fn quoted(block: &str) -> Vec<&str> {
    block.split('`').skip(1).step_by(2).collect()
}

/// The sentences of a block. A mark between backticks ends none.
fn sentences(block: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (at, sign) in block.char_indices() {
        is_quoted ^= sign == '`';
        let end = at + sign.len_utf8();
        let ends = matches!(sign, '.' | '?' | '!') && block[end..].starts_with([' ', '*']) || sign == '|';
        if !is_quoted && ends {
            found.push(&block[start..end]);
            start = end;
        }
    }
    found.push(&block[start..]);
    found
}

/// Whether a text between backticks is the path of a file or folder of the workspace. Words in capitals and `*` stand for any name.
fn is_path(text: &str) -> bool {
    let ends = [".rs", ".md", ".txt", ".toml", "/"]
        .iter()
        .any(|end| text.ends_with(end));
    let is_any = text.contains(['*', ' ', '…', '(']) || text.contains("TOPIC");
    // Build products are not in the workspace.
    ends && !is_any && !text.starts_with("target/")
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn alternatives(path: &str) -> Vec<String> {
    let parts = path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        Some((before, (names, after))) => names
            .split(',')
            .flat_map(|name| alternatives(&format!("{before}{name}{after}")))
            .collect(),
        None => vec![path.to_owned()],
    }
}

/// Those that are in none of these folders.
fn missing_paths(path: &str, beginnings: &[&str]) -> impl Iterator<Item = String> {
    let is_there = |path: &String| {
        let mut places = beginnings
            .iter()
            .map(|beginning| root().join(format!("{beginning}{path}")));
        places.any(|place| place.exists())
    };
    let paths = alternatives(path).into_iter();
    paths
        .filter(move |path| !is_there(path))
        .collect::<Vec<_>>()
        .into_iter()
}

/// A name of code.
#[derive(Debug, PartialEq)]
struct Name<'t> {
    text: &'t str,
    /// The modules that stand before it.
    modules: Vec<&'t str>,
    /// `function`, `Type`, `Type::method`, `Type::Variant`, `Type::field`, `macro`.
    item: String,
}

impl<'t> Name<'t> {
    /// `None` for a literal.
    fn of(text: &'t str) -> Option<Name<'t>> {
        let bare = text
            .strip_suffix("()")
            .or_else(|| text.strip_suffix('!'))
            .unwrap_or(text);
        let parts: Vec<&str> = bare.split("::").collect();
        let is_name = parts.iter().all(|part| syn::parse_str::<Ident>(part).is_ok());
        let is_type = |part: &&str| part.starts_with(char::is_uppercase) && part.contains(char::is_lowercase);
        if !is_name || bare == text && !parts.iter().any(is_type) {
            return None;
        }
        let begins = parts.iter().position(is_type).unwrap_or(parts.len() - 1);
        let (modules, item) = parts.split_at(begins);
        Some(Name {
            text,
            modules: modules.to_vec(),
            item: item.join("::"),
        })
    }
}

/// The names that files declare, each file read once.
#[derive(Default)]
struct Declared(BTreeMap<String, BTreeSet<String>>);

impl Declared {
    /// Whether a file declares a name, or one in the folder: a path that ends with `/`. One that is not there declares nothing.
    fn has(&mut self, path: &str, name: &Name<'_>) -> Result<bool> {
        let place = root().join(path);
        let files = match path {
            _ if path.ends_with('/') && place.is_dir() => files(path)?,
            _ if path.ends_with(".rs") && place.is_file() => vec![path.to_owned()],
            _ => return Ok(false),
        };
        for file in files {
            let is_in = |module: &&str| file.split(['/', '.']).any(|part| part == *module);
            if !name.modules.iter().all(is_in) {
                continue;
            }
            if !self.0.contains_key(&file) {
                let names = names_in(&read(&file)?).with_context(|| format!("{file} can't be parsed"))?;
                self.0.insert(file.clone(), names);
            }
            if self.0[&file].contains(&name.item) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The items, methods, variants and fields that a text declares, without those of its tests. What belongs to a type stands there with the
/// type and, but for fields, without it.
fn names_in(text: &str) -> Result<BTreeSet<String>> {
    struct Found(BTreeSet<String>);
    impl Found {
        fn add(&mut self, name: &Ident) {
            self.0.insert(name.to_string());
        }

        fn add_of(&mut self, owner: &Ident, name: &Ident) {
            self.add(name);
            self.0.insert(format!("{owner}::{name}"));
        }

        fn add_fields(&mut self, owner: &Ident, fields: &Fields) {
            for name in fields.iter().filter_map(|field| field.ident.as_ref()) {
                self.0.insert(format!("{owner}::{name}"));
            }
        }
    }
    impl<'a> Visit<'a> for Found {
        fn visit_item(&mut self, item: &'a Item) {
            if is_for_tests(attributes(item)) {
                return;
            }
            match item {
                Item::Const(item) => self.add(&item.ident),
                Item::Enum(item) => {
                    self.add(&item.ident);
                    item.variants
                        .iter()
                        .for_each(|variant| self.add_of(&item.ident, &variant.ident));
                }
                Item::Fn(item) => self.add(&item.sig.ident),
                Item::Macro(item) => item.ident.iter().for_each(|name| self.add(name)),
                Item::Static(item) => self.add(&item.ident),
                Item::Struct(item) => {
                    self.add(&item.ident);
                    self.add_fields(&item.ident, &item.fields);
                }
                Item::Trait(item) => {
                    self.add(&item.ident);
                    for of in &item.items {
                        match of {
                            TraitItem::Const(of) => self.add_of(&item.ident, &of.ident),
                            TraitItem::Fn(of) => self.add_of(&item.ident, &of.sig.ident),
                            TraitItem::Type(of) => self.add_of(&item.ident, &of.ident),
                            _ => {}
                        }
                    }
                }
                Item::Type(item) => self.add(&item.ident),
                Item::Impl(item) => {
                    let owner = match &*item.self_ty {
                        syn::Type::Path(owner) => owner.path.segments.last(),
                        _ => None,
                    };
                    for of in owner
                        .iter()
                        .flat_map(|owner| item.items.iter().map(|of| (&owner.ident, of)))
                    {
                        match of {
                            (owner, ImplItem::Const(of)) => self.add_of(owner, &of.ident),
                            (owner, ImplItem::Fn(of)) => self.add_of(owner, &of.sig.ident),
                            (owner, ImplItem::Type(of)) => self.add_of(owner, &of.ident),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
            visit::visit_item(self, item);
        }
    }
    let mut found = Found(BTreeSet::new());
    found.visit_file(&syn::parse_file(text)?);
    Ok(found.0)
}

#[test]
fn a_name_of_code_is_told_from_a_literal() {
    let name = |text| Name::of(text).map(|name| (name.modules.join("::"), name.item));
    let of = |modules: &str, item: &str| Some((modules.to_owned(), item.to_owned()));
    for (text, expected) in [
        ("Plan", of("", "Plan")),
        ("Mode::Own", of("", "Mode::Own")),
        ("Plan::modes()", of("", "Plan::modes")),
        ("copy::rule::hold()", of("copy::rule", "hold")),
        ("rule::Effects::apply()", of("rule", "Effects::apply")),
        ("Subset::single", of("", "Subset::single")),
        ("act!", of("", "act")),
        ("restrict", None),
        ("_odm.pending", None),
        ("consistency = eventual", None),
        ("MONGODB_URI", None),
        ("T", None),
        ("Option<T>", None),
        ("engine/write", None),
        ("plan/modes.rs", None),
    ] {
        assert_eq!(name(text), expected, "{text}");
    }
}

#[test]
fn the_names_of_a_file_are_those_outside_of_its_tests() -> Result<()> {
    let text = "
        pub struct One<'a> { pub field: &'a str }
        impl<'a> One<'a> { fn method(&self) { fn inner() {} } }
        enum Which { These { at: u8 }, Those }
        trait Able { fn can(); }
        macro_rules! made { () => {} }
        mod within { const LEAST: u8 = 0; }
        #[cfg(test)]
        mod tests { fn no_name() {} }
    ";
    let expected = [
        "Able",
        "Able::can",
        "LEAST",
        "One",
        "One::field",
        "One::method",
        "These",
        "Those",
        "Which",
        "Which::These",
        "Which::Those",
        "can",
        "inner",
        "made",
        "method",
    ];
    let found = names_in(text)?;
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    Ok(())
}

#[test]
fn a_page_is_taken_apart_into_blocks_and_sentences() {
    let page = "# Head\n\n| a |\n| --- |\n| b |\n\nOne is `a.b()`. Two\ngoes on! Three\n- item\n  of two lines\n1. numbered\n\n```rust\n`code`\n```\n| `x` | y |\n";
    let found = blocks(page);
    let texts: Vec<(&str, &str)> = found
        .iter()
        .map(|block| (block.text.as_str(), block.head.as_str()))
        .collect();
    let expected = [
        ("# Head", ""),
        ("| a |", "| a |"),
        ("| --- |", "| a |"),
        ("| b |", "| a |"),
        ("One is `a.b()`. Two goes on! Three", ""),
        ("- item of two lines", ""),
        ("1. numbered", ""),
        ("| `x` | y |", "| `x` | y |"),
    ];
    assert_eq!(texts, expected);
    let parts: Vec<&str> = sentences(&found[4].text).into_iter().map(str::trim).collect();
    assert_eq!(parts, ["One is `a.b()`.", "Two goes on!", "Three"]);
    assert_eq!(alternatives("a/{b,c}/{d,e}.rs").len(), 4);
}

//! The figures that are counted in the sources.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use syn::Item;

use super::Line;
use crate::rooms::{self, Room};
use crate::source::{Source, Token, attributes, is_shown, lines_of_code, tokens, uses};

/// The driver's methods that write documents, and those that send any command.
const ACTIONS: [&str; 12] = [
    "insert_one",
    "insert_many",
    "update_one",
    "update_many",
    "replace_one",
    "delete_one",
    "delete_many",
    "find_one_and_update",
    "find_one_and_replace",
    "find_one_and_delete",
    "bulk_write",
    "run_raw_command",
];

/// The functions that execute a write: the last two names of the path. Programs of several operations, as `engine::first::update`, call
/// the first of them.
const ENTRIES: [(&str, &str); 3] = [("engine", "execute"), ("write", "one"), ("obligations", "once")];

/// Ways to the database for a write: in the files of the room `api`, the calls of the driver's methods that write, and of what
/// executes a write.
pub fn writes() -> Result<Line> {
    let mut calls: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for module in Source::of("odm")?.modules {
        if rooms::of("odm", &module.file) != Some(Room("api")) {
            continue;
        }
        for item in &module.items {
            for way in ways(&tokens(item)) {
                *calls
                    .entry(module.file.clone())
                    .or_default()
                    .entry(way)
                    .or_default() += 1;
            }
        }
    }
    let names: BTreeSet<&String> = calls.values().flat_map(BTreeMap::keys).collect();
    let sum = |is_entry: bool| -> usize {
        let all = calls.values().flatten();
        all.filter(|(name, _)| name.contains("::") == is_entry)
            .map(|(_, count)| count)
            .sum()
    };
    let files: Vec<String> = calls
        .iter()
        .map(|(file, ways)| {
            let ways: Vec<String> = ways
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            format!("`{file}`: {}", ways.join(", "))
        })
        .collect();
    let now = format!(
        "{}, in {} front ends; {} calls of what executes a write, {} of the driver's methods that write ({})",
        names.len(),
        calls.len(),
        sum(true),
        sum(false),
        files.join("; ")
    );
    Ok(Line::new(
        "ways to the database for a write that front ends use",
        now,
        "1",
    ))
}

/// The ways to the database among the tokens of an item.
fn ways(tokens: &[Token]) -> Vec<String> {
    let name = |at: usize| match tokens.get(at) {
        Some(Token::Name(name)) => name.as_str(),
        _ => "",
    };
    let is = |at: usize, sign: char| tokens.get(at) == Some(&Token::Sign(sign));
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        // A name, two colons, a name, a bracket.
        let entry = (name(at), name(at + 3));
        if is(at + 1, ':') && is(at + 2, ':') && is(at + 4, '(') && ENTRIES.contains(&entry) {
            found.push(format!("{}::{}", entry.0, entry.1));
        }
        // A method with arguments: one without is a getter of the library's own that has the same name.
        if is(at, '.') && is(at + 2, '(') && !is(at + 3, ')') && ACTIONS.contains(&name(at + 1)) {
            // The function that makes an error of a refusal has the name of the refused method.
            let of_errors = name(at + 3) == "error";
            if !of_errors {
                found.push(name(at + 1).to_owned());
            }
        }
    }
    found
}

/// The fields that the library writes into users' documents.
pub fn fields() -> Result<Line> {
    let fields = library_fields()?;
    let names: Vec<String> = fields.iter().map(|name| format!("`{name}`")).collect();
    let now = format!("{}: {}", fields.len(), names.join(", "));
    Ok(Line::new("library fields in users' documents", now, "≤ 5"))
}

/// A name for an update without a change: no document ever has this field.
const NEVER_STORED: &str = "_odm.none";

/// The names of these fields, from the strings in the code: below `_odm` to its first level, and `_copied`.
fn library_fields() -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for module in Source::of("odm")?.modules {
        for token in module.items.iter().flat_map(tokens) {
            let Token::Text(text) = token else { continue };
            found.extend(field(&text).filter(|name| name != NEVER_STORED));
        }
    }
    Ok(found)
}

/// The field of the library that a dotted name begins with. `_odm` itself holds the fields, and is none.
fn field(name: &str) -> Option<String> {
    let mut names = name.split('.');
    let is_word = |name: &&str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
    match names.next()? {
        "_copied" => Some("_copied".to_owned()),
        "_odm" => names.next().filter(is_word).map(|name| format!("_odm.{name}")),
        _ => None,
    }
}

/// The names that an application can write after `odm::`.
pub fn exports() -> Result<Line> {
    let names = exported()?;
    let now = format!("{}", names.len());
    Ok(Line::new(
        "names exported by the crate's root",
        now,
        "≤ 40, the rest in modules",
    ))
}

fn exported() -> Result<BTreeSet<String>> {
    let source = Source::of("odm")?;
    let crate_root = source.modules.first().context("the crate has no root")?;
    let mut names = BTreeSet::new();
    for item in &crate_root.items {
        match item {
            Item::Use(item) if is_shown(&item.vis, &item.attrs) => {
                names.extend(uses(&item.tree).into_iter().map(|(name, _)| name));
            }
            _ => names.extend(declared(item)),
        }
    }
    let modules = source.modules.iter().filter(|module| module.is_public);
    names.extend(modules.filter_map(|module| match &module.path[..] {
        [name] => Some(name.clone()),
        _ => None,
    }));
    // A macro is exported at the root, wherever it stands.
    for item in source.modules.iter().flat_map(|module| &module.items) {
        let Item::Macro(item) = item else { continue };
        let is_exported = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("macro_export"));
        let public = syn::Visibility::Public(syn::token::Pub::default());
        if let (true, Some(name)) = (is_exported && is_shown(&public, &item.attrs), &item.ident) {
            names.insert(name.to_string());
        }
    }
    Ok(names)
}

/// The name of a public item.
fn declared(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        Item::Static(item) => (&item.vis, &item.ident),
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Union(item) => (&item.vis, &item.ident),
        _ => return None,
    };
    is_shown(visibility, attributes(item)).then(|| name.to_string())
}

/// The size of the rooms, and what leads from one to another that is above it.
pub fn rooms() -> Result<Vec<Line>> {
    let mut lines: BTreeMap<Room, usize> = BTreeMap::new();
    let files: BTreeSet<String> = Source::of("odm")?
        .modules
        .into_iter()
        .map(|module| module.file)
        .collect();
    for file in &files {
        if let Some(room) = rooms::of("odm", file) {
            *lines.entry(room).or_default() += lines_of_code("odm", file)?;
        }
    }
    let sizes: Vec<String> = rooms::ODM
        .iter()
        .map(|room| format!("{} {}", room.0, lines.get(room).copied().unwrap_or_default()))
        .collect();
    let up = rooms::upward("odm")?.len() + rooms::upward("odm-derive")?.len();
    let circles = ["odm", "odm-derive"].map(|package| {
        let all = rooms::circles(package)?;
        let sizes: Vec<String> = all.iter().map(|circle| circle.files.len().to_string()).collect();
        Ok(if sizes.is_empty() {
            format!("{package} none")
        } else {
            format!("{package} {}", sizes.join(" + "))
        })
    });
    let circles: Result<Vec<String>> = circles.into_iter().collect();
    Ok(vec![
        Line::new("lines of code of odm by room", sizes.join(", "), "≤ 6,000 each"),
        Line::new(
            "files that use one of a room above theirs, as pairs",
            format!("{up}"),
            "0",
        ),
        Line::new(
            "files that use each other in a circle",
            circles?.join(", "),
            "none",
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the guide's page says what each field is for.
    #[test]
    fn the_guide_lists_the_fields_of_the_library() -> Result<()> {
        let page = std::fs::read_to_string(crate::workspace::root().join("book/src/internals/stored.md"))?;
        let in_the_guide: BTreeSet<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .filter_map(field)
            .collect();
        assert_eq!(in_the_guide, library_fields()?);
        Ok(())
    }

    #[test]
    fn a_field_is_named_to_its_first_level() {
        for (name, expected) in [
            ("_odm.lease.by", Some("_odm.lease")),
            ("_odm.due.", Some("_odm.due")),
            ("_copied.author", Some("_copied")),
            ("_odm", None),
            ("_odm.", None),
            ("_odm_state", None),
            ("author", None),
        ] {
            assert_eq!(field(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn ways_are_calls_of_the_driver_and_of_what_executes() -> Result<()> {
        let item: Item = syn::parse_str(
            "fn f() { act!(s, c.raw().update_one(a, b)); write::one(x)?; x.bulk_write(); c.insert_many(error, 1); d(c.delete_one) }",
        )?;
        assert_eq!(ways(&tokens(&item)), ["update_one", "write::one"]);
        Ok(())
    }

    #[test]
    fn exported_names_are_those_of_the_documentation() -> Result<()> {
        let names = exported()?;
        for name in ["Odm", "Document", "models", "geo", "prelude", "bson"] {
            assert!(names.contains(name), "{name}");
        }
        for name in ["__private", "asserts", "size", "map", "now"] {
            assert!(!names.contains(name), "{name}");
        }
        Ok(())
    }
}

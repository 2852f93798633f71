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
const ENTRIES: [(&str, &str); 3] = [("engine", "execute"), ("write", "one"), ("attempt", "attempt")];

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

/// The folders of the rooms that execute operations.
const ENGINE: [&str; 4] = ["engine", "plan", "rules", "store"];

/// The contexts of an operation, the fields of its outcome, the lookups of edges that can fail, and lines.
pub fn engine() -> Result<Vec<Line>> {
    let mut contexts = Vec::new();
    let mut outcome = 0;
    let mut lookups = Vec::new();
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = 0;
    let mut counted: BTreeSet<String> = BTreeSet::new();
    for module in Source::of("odm")?.modules {
        let folder = ENGINE
            .into_iter()
            .find(|folder| module.file.split('/').next() == Some(folder));
        if counted.insert(module.file.clone()) {
            let lines_of_file = lines_of_code("odm", &module.file)?;
            all += lines_of_file;
            if let Some(folder) = folder {
                *lines.entry(folder).or_default() += lines_of_file;
            }
        }
        for item in &module.items {
            if let Item::Struct(item) = item {
                if folder.is_some() && is_context(item) {
                    contexts.push(item.ident.to_string());
                }
                if module.file == "plan/outcome.rs" && item.ident == "Outcome" {
                    outcome = item.fields.len();
                }
            }
            if folder.is_some() || module.file.starts_with("graph/") {
                lookups.extend(lookups_that_can_fail(item));
            }
        }
    }
    let of_rooms: Vec<String> = lines
        .iter()
        .map(|(room, lines)| format!("{room} {lines}"))
        .collect();
    let page = std::fs::read_to_string(crate::workspace::root().join("ARCHITECTURE.md"))?;
    let named = |names: &[String]| match names {
        [] => "0".to_owned(),
        names => format!("{}: {}", names.len(), names.join(", ")),
    };
    Ok(vec![
        Line::new("contexts of an operation", named(&contexts), "1"),
        Line::new("fields of `Outcome`", outcome.to_string(), "8"),
        Line::new("lookups of edges that can fail", named(&lookups), "0"),
        Line::new(
            "lines of code of the rooms that execute operations",
            format!("{}: {}", lines.values().sum::<usize>(), of_rooms.join(", ")),
            "none more",
        ),
        Line::new("lines of code of odm", all.to_string(), "none more"),
        Line::new(
            "lines of ARCHITECTURE.md",
            page.lines().count().to_string(),
            "≤ 240",
        ),
    ])
}

/// Whether it holds a handle that is lent, and a session.
fn is_context(item: &syn::ItemStruct) -> bool {
    let holds = |lent: bool, name: &str| {
        item.fields.iter().any(|field| {
            let is_lent = matches!(field.ty, syn::Type::Reference(_));
            (is_lent || !lent) && tokens(&field.ty).contains(&Token::Name(name.to_owned()))
        })
    };
    holds(true, "Odm") && holds(false, "Session")
}

/// The functions of an item that are given the name or the position of an edge, and may answer that there is none.
fn lookups_that_can_fail(item: &Item) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |signature: &syn::Signature| {
        let is_given = signature.inputs.iter().any(|input| {
            let syn::FnArg::Typed(input) = input else {
                return false;
            };
            let names = tokens(&input.ty);
            let is_edge = tokens(&input.pat).contains(&Token::Name("edge".to_owned()));
            ["EdgeId", "DerivedId"]
                .iter()
                .any(|id| names == [Token::Name((*id).to_owned())])
                || is_edge && names == [Token::Name("usize".to_owned())]
        });
        let syn::ReturnType::Type(_, output) = &signature.output else {
            return;
        };
        let may_be_none = tokens(output).first() == Some(&Token::Name("Option".to_owned()));
        let is_edge = ["Edge", "Derived"]
            .iter()
            .any(|name| tokens(output).contains(&Token::Name((*name).to_owned())));
        if is_given && may_be_none && is_edge {
            found.push(signature.ident.to_string());
        }
    };
    match item {
        Item::Fn(item) => look(&item.sig),
        Item::Impl(item) => {
            for member in &item.items {
                if let syn::ImplItem::Fn(member) = member {
                    look(&member.sig);
                }
            }
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_holds_a_lent_handle_and_a_session() -> Result<()> {
        for (item, expected) in [
            (
                "struct A<'a> { odm: &'a Odm, session: Option<&'a Session> }",
                true,
            ),
            ("struct B { odm: Odm, session: Option<Session> }", false),
            ("struct C<'a> { odm: &'a Odm }", false),
        ] {
            assert_eq!(is_context(&syn::parse_str(item)?), expected, "{item}");
        }
        Ok(())
    }

    #[test]
    fn a_lookup_that_can_fail_is_given_an_edge_and_may_give_none() -> Result<()> {
        let item: Item = syn::parse_str(
            "impl Graph { fn get(&self, edge: usize) -> Option<&Edge> { None } fn known(&self, id: EdgeId) -> &Edge { self.x } \
             fn other_side(&self, edge: EdgeId) -> Option<bool> { None } }",
        )?;
        assert_eq!(lookups_that_can_fail(&item), ["get"]);
        Ok(())
    }

    /// The table of the guide's page says what each field is for.
    #[test]
    fn the_guide_lists_the_fields_of_the_library() -> Result<()> {
        let page = std::fs::read_to_string(crate::workspace::root().join("docs/internals/stored.md"))?;
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

//! The rooms of `ARCHITECTURE.md`: which file is in which, and what leads from a room to one above it.
//!
//! A room uses those below it. The paths that lead up are listed in `xtask/rooms.txt`: a test fails where the code has one that
//! is not listed, and where one is listed that the code does not have. So the list shrinks, until it is empty.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use syn::visit::Visit;
use syn::{Item, ItemUse};

use crate::source::{Module, Source, Token, tokens, uses};

/// A room, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Room(pub &'static str);

/// The rooms of the library, from above. Each uses those that follow it. A room is a folder with all that is in it, but for what is
/// in another room.
pub const ODM: [Room; 23] = [
    Room("tools"),
    Room("migrate"),
    Room("api"),
    Room("upkeep"),
    Room("schema"),
    Room("engine"),
    Room("engine/write"),
    Room("rules/on_delete"),
    Room("rules"),
    Room("plan"),
    Room("plan/operators"),
    Room("json"),
    Room("query/aggregate"),
    Room("query"),
    Room("query/filter"),
    Room("store"),
    Room("graph"),
    Room("bounds"),
    Room("model/native"),
    Room("model/asserts"),
    Room("model"),
    Room("model/meta"),
    Room("error"),
];

/// The rooms of the derives, from above. A field (`ast`) holds its parsed attributes (`attr`), so it uses them.
pub const DERIVE: [Room; 5] = [
    Room("expand"),
    Room("check"),
    Room("ast"),
    Room("attr"),
    Room("syntax"),
];

/// Files of the derives that are in no folder.
const DERIVE_FILES: [(&str, &str); 5] = [
    ("case.rs", "syntax"),
    ("ctxt.rs", "syntax"),
    ("fallback.rs", "expand"),
    ("receiver.rs", "syntax"),
    ("ty.rs", "syntax"),
];

/// The room of a file of the package's sources. `lib.rs`, which puts the rooms together, is in none.
pub fn of(package: &str, file: &str) -> Option<Room> {
    let (rooms, files) = match package {
        "odm" => (&ODM[..], &[][..]),
        _ => (&DERIVE[..], &DERIVE_FILES[..]),
    };
    let listed = files.iter().find(|(listed, _)| *listed == file);
    let path = listed.map_or(file, |(_, room)| room);
    let holding = rooms.iter().filter(|room| holds(room.0, path));
    holding.max_by_key(|room| room.0.len()).copied()
}

/// Whether a file is in a folder, or is the file of the module to which the folder belongs.
fn holds(folder: &str, file: &str) -> bool {
    file.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// One file that uses another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The rooms of the two.
    pub rooms: (Room, Room),
    /// The file in which the path stands.
    pub from: String,
    /// The file in which that is declared to which it leads.
    pub to: String,
}

/// The paths that lead from a room to one above it. A file that only hands on the names of others uses none of them.
pub fn upward(package: &str) -> Result<BTreeSet<Arrow>> {
    let rooms = match package {
        "odm" => &ODM[..],
        _ => &DERIVE[..],
    };
    let height = |room: Room| rooms.iter().position(|other| *other == room);
    let source = Source::of(package)?;
    let only_hands_on = |file: &str| {
        let mut modules = source.modules.iter().filter(|module| module.file == file);
        modules.all(|module| module.items.iter().all(|item| matches!(item, Item::Use(_))))
    };
    let all = arrows(&source)
        .into_keys()
        .filter(|(from, _)| !only_hands_on(from))
        .filter_map(|(from, to)| {
            let rooms = (of(package, &from)?, of(package, &to)?);
            (height(rooms.1) < height(rooms.0)).then_some(Arrow { rooms, from, to })
        });
    Ok(all.collect())
}

/// The circles of a crate, the largest first: files that use each other, directly or by way of others.
pub fn circles(package: &str) -> Result<Vec<Circle>> {
    Ok(in_circles(&arrows(&Source::of(package)?)))
}

fn in_circles(arrows: &Arrows) -> Vec<Circle> {
    let mut graph: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        graph.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|from| (*from, reachable(&graph, from)))
        .collect();
    let sets = reached.iter().map(|(from, all)| {
        let back = |to: &&&str| reached.get(**to).is_some_and(|of| of.contains(from));
        all.iter().filter(back).copied().collect::<BTreeSet<&str>>()
    });
    let sets: BTreeSet<BTreeSet<&str>> = sets.filter(|files| !files.is_empty()).collect();
    let circle = |files: BTreeSet<&str>| {
        let is_within =
            |pair: &(String, String)| files.contains(pair.0.as_str()) && files.contains(pair.1.as_str());
        Circle {
            ties: arrows
                .iter()
                .filter(|(pair, _)| is_within(pair))
                .map(|(pair, names)| (pair.clone(), names.clone()))
                .collect(),
            files: files.into_iter().map(str::to_owned).collect(),
        }
    };
    let mut circles: Vec<Circle> = sets.into_iter().map(circle).collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    circles
}

/// Which file uses which, with the names of what it uses.
type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// Files that use each other, and the names by which they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The files.
    pub files: BTreeSet<String>,
    /// Which uses which, with the names that it uses.
    pub ties: Arrows,
}

/// The files that one uses, directly or by way of others. Itself is among them if it is in a circle.
fn reachable<'a>(graph: &BTreeMap<&'a str, Vec<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = graph.get(from).cloned().unwrap_or_default();
    while let Some(file) = next.pop() {
        if found.insert(file) {
            next.extend(graph.get(file).into_iter().flatten());
        }
    }
    found
}

/// The files that use each other, in `use` lines and in the paths within the code, with the names of what they use.
fn arrows(source: &Source) -> Arrows {
    let names = Names::of(source);
    let mut found = Arrows::new();
    for module in &source.modules {
        let mut add = |path: &[String], is_glob: bool| {
            let to = match names.resolve(&module.path, path, 0) {
                Some(Found::Item(file)) => file,
                // A module that is named alone says nothing of what is used of it.
                Some(Found::Module(path)) if is_glob => names.scopes[&path].file.clone(),
                _ => return,
            };
            if to != module.file {
                let name = path.last().cloned().unwrap_or_default();
                found.entry((module.file.clone(), to)).or_default().insert(name);
            }
        };
        for (name, path) in used(module) {
            add(&path, name == "*");
        }
        for item in module.items.iter().filter(|item| !matches!(item, Item::Use(_))) {
            for path in paths(&tokens(item)) {
                add(&path, false);
            }
        }
    }
    found
}

/// The names that the `use` lines of a module bring in, and those within its functions.
fn used(module: &Module) -> Vec<(String, Vec<String>)> {
    struct Uses(Vec<(String, Vec<String>)>);
    impl<'a> Visit<'a> for Uses {
        fn visit_item_use(&mut self, item: &'a ItemUse) {
            self.0.extend(uses(&item.tree));
        }
    }
    let mut found = Uses(Vec::new());
    module.items.iter().for_each(|item| found.visit_item(item));
    found.0
}

/// The paths of several names among tokens.
fn paths(tokens: &[Token]) -> Vec<Vec<String>> {
    let colons = |at: usize| {
        tokens.get(at) == Some(&Token::Sign(':')) && tokens.get(at + 1) == Some(&Token::Sign(':'))
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Token::Name(first) = &tokens[at] else {
            at += 1;
            continue;
        };
        let follows = at > 0 && tokens[at - 1] == Token::Sign('.') || at > 1 && colons(at - 2);
        let mut path = vec![first.clone()];
        at += 1;
        while colons(at) {
            let Some(Token::Name(next)) = tokens.get(at + 2) else {
                break;
            };
            path.push(next.clone());
            at += 3;
        }
        if path.len() > 1 && !follows {
            found.push(path);
        }
    }
    found
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    Module(Vec<String>),
    /// Something that is declared in this file.
    Item(String),
}

/// The names of a module.
#[derive(Default)]
struct Scope {
    file: String,
    declared: BTreeSet<String>,
    used: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// The names of all modules of a crate.
struct Names {
    scopes: HashMap<Vec<String>, Scope>,
}

/// Maximum number of `use` lines that lead to each other. Names of other crates lead to themselves.
const DEPTH: usize = 16;

impl Names {
    fn of(source: &Source) -> Self {
        let mut scopes = HashMap::new();
        for module in &source.modules {
            let mut scope = Scope {
                file: module.file.clone(),
                ..Scope::default()
            };
            scope.declared.extend(module.items.iter().filter_map(name));
            for (name, path) in used(module) {
                match name.as_str() {
                    "*" => scope.globs.push(path),
                    _ => {
                        scope.used.insert(name, path);
                    }
                }
            }
            scopes.insert(module.path.clone(), scope);
        }
        Names { scopes }
    }

    /// Follows a path that stands in a module: `None` for names of other crates.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Found> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(Vec::new(), rest, depth),
            "self" => self.descend(from.to_vec(), rest, depth),
            "super" => {
                let (_, parent) = from.split_last()?;
                let mut parent = parent.to_vec();
                let mut rest = rest;
                while let Some(("super", more)) = rest.split_first().map(|(name, more)| (name.as_str(), more))
                {
                    parent.pop()?;
                    rest = more;
                }
                self.descend(parent, rest, depth)
            }
            _ => self.descend(from.to_vec(), path, depth),
        }
    }

    fn descend(&self, module: Vec<String>, path: &[String], depth: usize) -> Option<Found> {
        if depth > DEPTH {
            return None;
        }
        let scope = self.scopes.get(&module)?;
        let Some((first, rest)) = path.split_first() else {
            return Some(Found::Module(module));
        };
        let mut child = module.clone();
        child.push(first.clone());
        if self.scopes.contains_key(&child) {
            return self.descend(child, rest, depth);
        }
        if scope.declared.contains(first) {
            return Some(Found::Item(scope.file.clone()));
        }
        if let Some(target) = scope.used.get(first) {
            return match self.resolve(&module, target, depth + 1)? {
                Found::Module(module) => self.descend(module, rest, depth + 1),
                item => Some(item),
            };
        }
        scope.globs.iter().find_map(|glob| {
            let Found::Module(of) = self.resolve(&module, glob, depth + 1)? else {
                return None;
            };
            (of != module).then(|| self.descend(of, path, depth + 1))?
        })
    }
}

/// The name that an item declares.
fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;
    use anyhow::{bail, ensure};
    use std::fmt::Write as _;

    /// The paths that lead up today, as the list has them.
    fn listed() -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for package in ["odm", "odm-derive"] {
            for Arrow { rooms, from, to } in upward(package)? {
                lines.push(format!("{package}: {} → {}: {from} → {to}", rooms.0.0, rooms.1.0));
            }
        }
        Ok(lines)
    }

    const HEAD: &str = "# Paths that lead from a room to one above it (ARCHITECTURE.md). The list only shrinks: see xtask/src/rooms.rs.\n";

    /// With `ROOMS=overwrite` the list is written anew, unless it would be longer.
    #[test]
    fn the_list_holds_exactly_the_paths_that_lead_up() -> Result<()> {
        let file = root().join("xtask/rooms.txt");
        let text = std::fs::read_to_string(&file)?;
        let before: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let now = listed()?;
        let new: Vec<&String> = now
            .iter()
            .filter(|line| !before.contains(&line.as_str()))
            .collect();
        let gone: Vec<&&str> = before
            .iter()
            .filter(|line| !now.iter().any(|other| other == *line))
            .collect();
        if std::env::var_os("ROOMS").is_some_and(|what| what == "overwrite") {
            ensure!(
                now.len() <= before.len(),
                "{} more lead up than before: {new:#?}",
                now.len() - before.len()
            );
            let mut text = HEAD.to_owned();
            now.iter().try_for_each(|line| writeln!(text, "{line}"))?;
            return Ok(std::fs::write(file, text)?);
        }
        if !new.is_empty() {
            bail!(
                "these lead from a room to one above it, against the order of ARCHITECTURE.md: {new:#?}\nput what they use into a \
                 lower room, or hand it in"
            );
        }
        if !gone.is_empty() {
            bail!(
                "these are listed in xtask/rooms.txt and lead up no more: {gone:#?}\nremove them (ROOMS=overwrite does)"
            );
        }
        Ok(())
    }

    #[test]
    fn no_files_of_the_derives_use_each_other() -> Result<()> {
        let circles = circles("odm-derive")?;
        ensure!(
            circles.is_empty(),
            "these files use each other; put what both use into a file of its own: {circles:#?}"
        );
        Ok(())
    }

    #[test]
    fn no_files_of_the_library_use_each_other() -> Result<()> {
        let circles = circles("odm")?;
        ensure!(
            circles.is_empty(),
            "these files use each other; put what both use into a file of its own: {circles:#?}"
        );
        Ok(())
    }

    #[test]
    fn every_file_is_in_a_room() -> Result<()> {
        for package in ["odm", "odm-derive"] {
            for module in Source::of(package)?.modules {
                ensure!(
                    module.file == "lib.rs" || of(package, &module.file).is_some(),
                    "{package}/src/{} is in no room: move it into the folder of one, or name its room in xtask/src/rooms.rs",
                    module.file
                );
            }
        }
        Ok(())
    }

    #[test]
    fn every_room_has_files() -> Result<()> {
        for (package, rooms) in [("odm", &ODM[..]), ("odm-derive", &DERIVE[..])] {
            let source = Source::of(package)?;
            let found: BTreeSet<Room> = source
                .modules
                .iter()
                .filter_map(|module| of(package, &module.file))
                .collect();
            let empty: Vec<&Room> = rooms.iter().filter(|room| !found.contains(room)).collect();
            ensure!(empty.is_empty(), "{package} has no files of {empty:?}");
        }
        Ok(())
    }

    #[test]
    fn the_files_of_the_derives_that_are_in_no_folder_exist() -> Result<()> {
        let source = Source::of("odm-derive")?;
        for (file, _) in DERIVE_FILES {
            let is_there = source.modules.iter().any(|module| module.file == file);
            ensure!(is_there, "odm-derive/src/{file} is not there any more");
        }
        Ok(())
    }

    #[test]
    fn the_architecture_page_has_the_rooms_in_their_order() -> Result<()> {
        let page = std::fs::read_to_string(root().join("ARCHITECTURE.md"))?;
        for rooms in [&ODM[..], &DERIVE[..]] {
            let mut rest = page.as_str();
            for room in rooms {
                let Some((_, after)) = rest.split_once(&format!("\n| `{}` | ", room.0)) else {
                    bail!("ARCHITECTURE.md has no row for {} behind those above it", room.0);
                };
                rest = after;
            }
        }
        Ok(())
    }

    #[test]
    fn a_circle_is_files_that_reach_each_other() {
        let arrow =
            |from: &str, to: &str| ((from.to_owned(), to.to_owned()), BTreeSet::from(["T".to_owned()]));
        let arrows = BTreeMap::from([
            arrow("a.rs", "b.rs"),
            arrow("b.rs", "c.rs"),
            arrow("c.rs", "a.rs"),
            arrow("c.rs", "d.rs"),
            arrow("d.rs", "e.rs"),
            arrow("e.rs", "d.rs"),
            arrow("f.rs", "a.rs"),
        ]);
        let found: Vec<String> = in_circles(&arrows)
            .iter()
            .map(|circle| format!("{:?} {}", circle.files, circle.ties.len()))
            .collect();
        assert_eq!(found, [r#"{"a.rs", "b.rs", "c.rs"} 3"#, r#"{"d.rs", "e.rs"} 2"#]);
    }

    #[test]
    fn paths_are_followed_to_where_a_name_is_declared() -> Result<()> {
        let module = |file: &str, path: &[&str], code: &str| {
            Ok::<_, anyhow::Error>(Module {
                file: file.to_owned(),
                path: path.iter().map(|name| (*name).to_owned()).collect(),
                items: syn::parse_file(code)?.items,
                is_public: false,
            })
        };
        let source = Source {
            modules: vec![
                module(
                    "lib.rs",
                    &[],
                    "pub use a::One; use mongodb::bson; pub use mongodb;",
                )?,
                module(
                    "a.rs",
                    &["a"],
                    "pub struct One; pub(crate) use b::two; fn f() { b::two(); }",
                )?,
                module(
                    "a/b.rs",
                    &["a", "b"],
                    "pub fn two() { m!(super::super::c::Three::new(), mongodb::x()) }",
                )?,
                module(
                    "c.rs",
                    &["c"],
                    "pub struct Three; fn f() -> crate::One { use crate::a; a::two() }",
                )?,
                module(
                    "d.rs",
                    &["d"],
                    "use crate::c::*; use crate::mongodb::Client; fn f(x: T) { x.a::<u8>() }",
                )?,
            ],
        };
        let expected = [
            ("a.rs", "a/b.rs"),
            ("a/b.rs", "c.rs"),
            ("c.rs", "a.rs"),
            ("c.rs", "a/b.rs"),
            ("d.rs", "c.rs"),
            ("lib.rs", "a.rs"),
        ];
        let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
        assert_eq!(
            arrows(&source).into_keys().collect::<BTreeSet<_>>(),
            BTreeSet::from(expected)
        );
        Ok(())
    }
}

//! Writes the step from the newest snapshot in the folder `migrations/` to today's models, and the next snapshot.

use super::diff::{Diff, Difference, What, is_addressable, is_in, is_nullable, is_optional, types};
use super::{CollectionShape, FieldShape, IndexOf, Renamed, Snapshot, StoredSnapshot};
use crate::Odm;
use mongodb::bson::Bson;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// The longest line of generated code, as rustfmt has it.
const WIDTH: usize = 100;
/// The longest arguments of a call, array, and chain of calls on one line.
const SHORT: usize = 60;

/// The files that `new_step` has written. Displayed as the review of the design, and the files.
#[derive(Debug)]
pub(crate) struct NewStep {
    /// The step: `m0002_slug`.
    pub(crate) name: String,
    /// The step of the snapshot before it; `None` of the first one.
    pub(crate) after: Option<String>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) diff: Diff,
    /// The changes that are to be written by hand.
    pub(crate) by_hand: Vec<String>,
}

impl NewStep {
    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "step": self.name,
            "after": self.after,
            "files": self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "changes": self.diff.json(),
            "by_hand": self.by_hand,
        })
    }
}

impl fmt::Display for NewStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.after {
            Some(after) if self.diff.is_empty() => writeln!(f, "the models are as after `{after}`")?,
            Some(_) => writeln!(f, "{}", self.diff)?,
            None => writeln!(f, "the first snapshot: later steps lead on from it")?,
        }
        for file in &self.files {
            writeln!(f, "written: {}", file.display())?;
        }
        match self.by_hand.len() {
            0 => write!(f, "`{}` is complete: read it before it is applied", self.name),
            _ => write!(
                f,
                "`{}` is to be completed by hand, where it says `write_by_hand`:\n  {}",
                self.name,
                self.by_hand.join("\n  ")
            ),
        }
    }
}

/// Writes the step that leads from the newest snapshot to today's models, and the next snapshot. Nothing is sent, and nothing is written
/// where an error is returned before the first file.
///
/// `renamed` has pairs such as `articles.autor` and `author`, or an empty text for what was removed; `ask` is asked about everything else
/// that may have another name.
///
/// # Errors
/// In words: what to say with `--renamed` where `ask` gives no answer, and what to change in `mod.rs` where it can't be edited.
pub(crate) fn new_step(
    odm: &Odm,
    folder: &Path,
    name: &str,
    renamed: &[(String, String)],
    ask: &mut dyn FnMut(&str) -> Option<bool>,
) -> Result<NewStep, String> {
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if name.is_empty() || !is_name {
        return Err(format!(
            "`{name}` is no name of a step: it has lowercase letters, digits and `_`, such as `slug_of_articles`"
        ));
    }
    let list = StepList::read(folder)?;
    let last = list
        .names
        .iter()
        .filter_map(|name| number(name))
        .max()
        .unwrap_or(0);
    let step = format!("m{:04}_{name}", last + 1);
    let edited = list.with(&step)?;
    let mut newest = list.names.iter().rev();
    let newest = newest.find(|name| snapshot_file(folder, name).is_file());
    let old = match newest {
        None => None,
        Some(name) => Some(intact(&snapshot_file(folder, name))?),
    };
    let mut new = Snapshot::of(odm, &step, Vec::new())?;
    let (diff, draft) = match &old {
        None => (Diff::default(), Draft::default()),
        Some(old) => {
            new.renamed = resolve(old, &new, renamed, ask)?;
            let diff = Diff::of(old, &new, &new.renamed);
            let draft = Draft::of(&diff, old, &new);
            (diff, draft)
        }
    };
    let code = draft.code(&step, old.as_ref().map(|old| old.step.as_str()), &diff);
    let text = new.text()?;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("{} can't be made: {error}", folder.display()))?;
    let files = [
        (code_file(folder, &step), code),
        (snapshot_file(folder, &step), text),
        // The last one: a step that is listed has its files.
        (folder.join("mod.rs"), edited),
    ];
    for (file, text) in &files {
        std::fs::write(file, text)
            .map_err(|error| format!("{} can't be written: {error}", file.display()))?;
    }
    Ok(NewStep {
        name: step,
        after: old.map(|old| old.step),
        files: files.into_iter().map(|(file, _)| file).collect(),
        diff,
        by_hand: draft.by_hand,
    })
}

pub(super) fn snapshot_file(folder: &Path, step: &str) -> PathBuf {
    folder.join(format!("{step}.json"))
}

pub(super) fn code_file(folder: &Path, step: &str) -> PathBuf {
    folder.join(format!("{step}.rs"))
}

/// The number of a step: 2 of `m0002_slug`.
pub(super) fn number(step: &str) -> Option<u32> {
    let digits = step.strip_prefix('m')?.split('_').next()?;
    digits.parse().ok()
}

/// A snapshot that was not changed by hand.
fn intact(file: &Path) -> Result<Snapshot, String> {
    let StoredSnapshot { snapshot, is_intact } = Snapshot::read(file)?;
    if is_intact {
        Ok(snapshot)
    } else {
        Err(edited_by_hand(file))
    }
}

pub(super) fn edited_by_hand(file: &Path) -> String {
    format!(
        "{} was changed by hand: its checksum differs. A snapshot says what the models were, so restore it from version control; where \
         the models are to change, change them and run `migrate new NAME`",
        file.display()
    )
}

/// The steps that `mod.rs` lists.
#[derive(Debug)]
struct StepList {
    file: PathBuf,
    /// The text of the file; `None` where there is none.
    text: Option<String>,
    names: Vec<String>,
}

const LIST: &str = "migrations![";

impl StepList {
    fn read(folder: &Path) -> Result<StepList, String> {
        let file = folder.join("mod.rs");
        if !file.exists() {
            return Ok(StepList {
                file,
                text: None,
                names: named_in(folder, "json"),
            });
        }
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{} can't be read: {error}", file.display()))?;
        let mut names: Vec<String> = match list(&text) {
            Some((from, to)) => {
                let names = text[from..to].split(',').map(str::trim);
                names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            None => Vec::new(),
        };
        if names.is_empty() {
            names = named_in(folder, "json");
        }
        Ok(StepList {
            file,
            text: Some(text),
            names,
        })
    }

    /// The text of the file with one more step.
    fn with(&self, step: &str) -> Result<String, String> {
        let Some(text) = &self.text else {
            let mut names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            names.push(step);
            let modules: Vec<String> = names.iter().map(|name| format!("mod {name};\n")).collect();
            return Ok(format!(
                "//! The steps that lead the database from one version of the models to the next, in their order.\n\n{}\npub fn all() -> \
                 odm::Migrations {{\n    odm::{LIST}{}]\n}}\n",
                modules.concat(),
                listed(&names, 4)
            ));
        };
        let by_hand = |why: &str| {
            format!(
                "{} can't be edited: {why}. Write\n\n    pub fn all() -> odm::Migrations {{\n        odm::{LIST}{}]\n    }}\n\nwith `mod \
                 NAME;` for each step above it, and run `migrate new` again",
                self.file.display(),
                self.names.join(", ")
            )
        };
        let (from, to) = list(text).ok_or_else(|| by_hand("it has no `migrations![…]`"))?;
        let inside = &text[from..to];
        if inside.contains("//") || inside.contains("/*") {
            return Err(by_hand("there are comments in `migrations![…]`"));
        }
        let names = inside.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<&str> = names.chain([step]).collect();
        let line = text[..from].rsplit('\n').next().unwrap_or_default();
        let indent = line.chars().take_while(|c| *c == ' ').count();
        let mut edited = format!("{}{}{}", &text[..from], listed(&names, indent), &text[to..]);
        let is_module = |line: &str| {
            let name = line.trim().trim_start_matches("pub ").strip_prefix("mod ");
            name.is_some_and(|name| name.ends_with(';'))
        };
        let mut at = None;
        let mut end = 0;
        for line in edited.split_inclusive('\n') {
            end += line.len();
            if is_module(line) {
                at = Some(end);
            }
        }
        let module = format!("mod {step};\n");
        match (at, names.len()) {
            (Some(at), _) => edited.insert_str(at, &module),
            // The list was empty, and there is no module: before the function.
            (None, 1) => {
                let at = edited.find("pub fn").or_else(|| edited.find("fn "));
                let at = at.ok_or_else(|| by_hand("it has no place for `mod`"))?;
                edited.insert_str(at, &format!("{module}\n"));
            }
            (None, _) => return Err(by_hand("it has no `mod NAME;` in a line of its own")),
        }
        Ok(edited)
    }
}

/// Where the names in `migrations![…]` begin and end.
fn list(text: &str) -> Option<(usize, usize)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with("//")
            && let Some(at) = line.find(LIST)
        {
            let from = start + at + LIST.len();
            return Some((from, from + text[from..].find(']')?));
        }
        start += line.len();
    }
    None
}

/// The names as rustfmt writes them in brackets.
fn listed(names: &[&str], indent: usize) -> String {
    let line = names.join(", ");
    if line.len() <= SHORT {
        return line;
    }
    let spaces = " ".repeat(indent);
    let lines: Vec<String> = names
        .iter()
        .map(|name| format!("\n{spaces}    {name},"))
        .collect();
    format!("{}\n{spaces}", lines.concat())
}

/// The steps that have a file with this extension, by their numbers.
pub(super) fn named_in(folder: &Path, extension: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == extension))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| number(name).is_some())
        .collect();
    names.sort_by(|a, b| (number(a), a).cmp(&(number(b), b)));
    names
}

/// The renamed fields and collections, as the arguments or answers name them.
fn resolve(
    old: &Snapshot,
    new: &Snapshot,
    said: &[(String, String)],
    ask: &mut dyn FnMut(&str) -> Option<bool>,
) -> Result<Vec<Renamed>, String> {
    let mut renamed: Vec<Renamed> = Vec::new();
    let mut removed: Vec<(Option<String>, String)> = Vec::new();
    let mut of_fields = Vec::new();
    for (from, to) in said {
        let is_lost = old.collection(from).is_some() && new.collection(from).is_none();
        match (is_lost, to.as_str()) {
            (true, "") => removed.push((None, from.clone())),
            (true, name) if new.collection(name).is_some() && old.collection(name).is_none() => {
                renamed.push(Renamed {
                    collection: None,
                    from: from.clone(),
                    to: name.to_owned(),
                });
            }
            (true, name) => {
                return Err(format!(
                    "`--renamed {from}={name}`: the models have no new collection `{name}`"
                ));
            }
            (false, _) => of_fields.push((from, to)),
        }
    }
    let is_settled = |candidate: &Renamed, renamed: &[Renamed], removed: &[(Option<String>, String)]| {
        let taken = renamed.iter().any(|one| {
            one.collection == candidate.collection && (one.from == candidate.from || one.to == candidate.to)
        });
        taken
            || removed
                .iter()
                .any(|(of, from)| *of == candidate.collection && *from == candidate.from)
    };
    let base = Diff::of(old, new, &renamed);
    for candidate in base.renamed_collections(old, new) {
        let one = candidate.renamed;
        if is_settled(&one, &renamed, &removed) {
            continue;
        }
        let question = format!("Was the collection `{}` renamed to `{}`?", one.from, one.to);
        match ask(&question) {
            Some(true) => renamed.push(one),
            Some(false) => {}
            None => return Err(unanswered(&one.from, &one.to, &one.from, &one.to)),
        }
    }
    let base = Diff::of(old, new, &renamed);
    for (from, to) in of_fields {
        let one = field_said(old, new, &renamed, &base, from, to)?;
        match one {
            (collection, field, None) => removed.push((Some(collection), field)),
            (collection, from, Some(to)) => renamed.push(Renamed {
                collection: Some(collection),
                from,
                to,
            }),
        }
    }
    for candidate in base.renamed_fields(old, new) {
        let one = candidate.renamed;
        let Some(collection) = &one.collection else {
            continue;
        };
        // The fields within a renamed field go with it.
        let goes_along = renamed.iter().any(|outer| {
            outer.collection == one.collection && is_in(&one.from, &outer.from) && is_in(&one.to, &outer.to)
        });
        if goes_along || is_settled(&one, &renamed, &removed) {
            continue;
        }
        let question = format!("Was `{}` of `{collection}` renamed to `{}`?", one.from, one.to);
        match ask(&question) {
            Some(true) => renamed.push(one),
            Some(false) => {}
            None => {
                let (from, to) = (
                    format!("`{}` of `{collection}`", one.from),
                    format!("`{}`", one.to),
                );
                let path = format!("{collection}.{}", one.from);
                return Err(format!(
                    "{from} may have been renamed to {to}, or removed, and there is no terminal to ask on: pass `--renamed {path}={}`, \
                     or `--renamed {path}=` where it was removed",
                    one.to
                ));
            }
        }
    }
    Ok(renamed)
}

fn unanswered(from: &str, to: &str, path: &str, name: &str) -> String {
    format!(
        "the collection `{from}` may have been renamed to `{to}`, or removed, and there is no terminal to ask on: pass `--renamed \
         {path}={name}`, or `--renamed {path}=` where it was removed"
    )
}

/// A field of `--renamed`: its collection, its old path, and its new one, if it was not removed.
fn field_said(
    old: &Snapshot,
    new: &Snapshot,
    renamed: &[Renamed],
    base: &Diff,
    from: &str,
    to: &str,
) -> Result<(String, String, Option<String>), String> {
    let names =
        |of: &Snapshot| -> Vec<String> { of.collections.iter().map(|one| one.name.clone()).collect() };
    let mut known = names(old);
    known.extend(names(new));
    let of = known
        .iter()
        .filter(|name| {
            from.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        })
        .max_by_key(|name| name.len());
    let Some(of) = of else {
        return Err(format!(
            "`--renamed {from}={to}`: no collection is named in `{from}`. A field is `COLLECTION.FIELD=NEW`, a collection \
             `COLLECTION=NEW`"
        ));
    };
    let path = &from[of.len() + 1..];
    let after = renamed
        .iter()
        .find(|one| one.collection.is_none() && one.from == *of);
    let collection = after.map_or(of.as_str(), |one| one.to.as_str());
    let fields = |is_removed: bool| -> Vec<&str> {
        let of = base.differences.iter().filter(|one| one.collection == collection);
        of.filter_map(|one| match &one.what {
            What::FieldRemoved { field, .. } if is_removed => Some(field.path.as_str()),
            What::FieldAdded { field, .. } if !is_removed => Some(field.path.as_str()),
            _ => None,
        })
        .collect()
    };
    let shown = |fields: Vec<&str>| match fields.len() {
        0 => "none".to_owned(),
        _ => format!("`{}`", fields.join("`, `")),
    };
    if !fields(true).contains(&path) {
        return Err(format!(
            "`--renamed {from}={to}`: `{path}` of `{collection}` was not removed from the models. Those that were: {}",
            shown(fields(true))
        ));
    }
    if to.is_empty() {
        return Ok((collection.to_owned(), path.to_owned(), None));
    }
    // The new name may be written with its collection too.
    let short = to
        .strip_prefix(collection)
        .and_then(|rest| rest.strip_prefix('.'));
    let added = fields(false);
    let new_path = [Some(to), short]
        .into_iter()
        .flatten()
        .find(|name| added.contains(name));
    match new_path {
        Some(name) => Ok((collection.to_owned(), path.to_owned(), Some(name.to_owned()))),
        None => Err(format!(
            "`--renamed {from}={to}`: `{to}` is no new field of `{collection}`. Those that are: {}",
            shown(added)
        )),
    }
}

/// The code of a step, before it is written.
#[derive(Debug, Default)]
struct Draft {
    structs: Vec<String>,
    lines: Vec<String>,
    by_hand: Vec<String>,
}

/// The statements about one collection.
#[derive(Default)]
struct Statements {
    /// First: an index that keeps duplicates out would refuse what comes behind.
    drops: Vec<String>,
    renames: Vec<String>,
    retypes: Vec<String>,
    adds: Vec<String>,
    removes: Vec<String>,
    by_hand: Vec<ByHand>,
}

/// A change that is to be written by hand, with code to begin with.
struct ByHand {
    words: String,
    code: String,
}

impl From<String> for ByHand {
    fn from(words: String) -> ByHand {
        ByHand {
            words,
            code: String::new(),
        }
    }
}

impl Draft {
    fn of(diff: &Diff, old: &Snapshot, new: &Snapshot) -> Draft {
        let mut draft = Draft::default();
        let step = |method: &str, arguments: &[String]| call("step", method, arguments, ".await?");
        for difference in &diff.differences {
            if let What::CollectionRenamed { from } = &difference.what {
                let names = [quoted(from), quoted(&difference.collection)];
                draft.lines.push(step("rename_collection", &names));
            }
        }
        for after in &new.collections {
            let of = diff.differences.iter().filter(|one| one.collection == after.name);
            draft.collection(&of.collect::<Vec<_>>(), after, &new.renamed);
        }
        for difference in &diff.differences {
            if matches!(difference.what, What::CollectionRemoved)
                && old.collection(&difference.collection).is_some()
            {
                draft
                    .lines
                    .push(step("drop_collection", &[quoted(&difference.collection)]));
            }
        }
        let fills = diff.differences.iter().any(|one| match &one.what {
            What::Copy { to: Some(to), .. } => to.consistency != "snapshot",
            What::Reference { to: Some(to), from } => {
                to.two_way && from.as_ref().is_none_or(|from| !from.two_way)
            }
            What::Declared { what, to, .. } => *what == "bucket" && to.is_some(),
            _ => false,
        });
        let had_copies = |name: &str| old.collection(name).is_some_and(|shape| !shape.copies.is_empty());
        let is_gone = |one: &Difference| match &one.what {
            What::Copy { to, .. } => to.is_none(),
            What::CollectionRemoved => had_copies(&one.collection),
            What::CollectionRenamed { from } => had_copies(from),
            _ => false,
        };
        if diff.differences.iter().any(is_gone) {
            draft.lines.push(step("forget", &[]));
        }
        if fills {
            draft.lines.push(step("backfill", &[]));
        }
        if !diff.is_empty() {
            draft.lines.push(step("declare", &[]));
        }
        draft
    }

    fn collection(&mut self, differences: &[&Difference], after: &CollectionShape, renamed: &[Renamed]) {
        let variable = variable(&after.name);
        let mut all = Statements::default();
        for difference in differences {
            self.difference(difference, after, renamed, &variable, &mut all);
        }
        let calls = [&all.drops, &all.renames, &all.retypes, &all.adds, &all.removes];
        if calls.iter().any(|calls| !calls.is_empty()) {
            self.lines.push(format!(
                "    let {variable} = step.collection({});\n",
                quoted(&after.name)
            ));
        }
        for calls in calls {
            self.lines.extend(calls.iter().cloned());
        }
        for ByHand { words, code } in all.by_hand {
            self.lines.push(by_hand(&words) + &code);
            self.by_hand.push(words);
        }
    }

    fn difference(
        &mut self,
        difference: &Difference,
        after: &CollectionShape,
        renamed: &[Renamed],
        variable: &str,
        all: &mut Statements,
    ) {
        let name = &after.name;
        let method = |method: &str, arguments: &[String]| call(variable, method, arguments, ".await?");
        let at = |field: &FieldShape| match &field.variant {
            Some(variant) => format!("`{}` of the variant `{variant}` of `{name}`", field.path),
            None => format!("`{}` of `{name}`", field.path),
        };
        match &difference.what {
            What::FieldRenamed { from, to } => {
                all.renames.push(method("rename", &[quoted(from), quoted(&to.path)]));
            }
            // A backfill fills what the library derives.
            What::FieldAdded { derived: true, .. }
            | What::Retyped { derived: true, .. }
            | What::Presence { derived: true, .. } => {}
            What::FieldAdded { field, within, .. } => {
                let is_within = |one: &Renamed| {
                    one.collection.as_deref() == Some(name.as_str()) && is_in(&one.to, &field.path)
                };
                // A struct into which fields have moved is there.
                if renamed.iter().any(is_within) || *within && !self.is_of_moved(field, after, renamed) {
                    return;
                }
                self.added(field, after, variable, all, &at(field));
            }
            What::FieldRemoved { field, within, .. } => {
                if !*within && is_addressable(field) {
                    all.removes.push(method("remove", &[quoted(&field.path)]));
                } else if !*within && field.is.is_none() && !field.path.is_empty() {
                    all.by_hand.push(ByHand::from(format!(
                        "{} is no longer declared: remove it, or leave this out where it may stay",
                        at(field)
                    )));
                }
            }
            What::Retyped { from, to, .. } => {
                let known = conversion(from, to);
                let is_reachable = is_addressable(to) && !is_around_optional(to, after);
                match known {
                    Some(Conversion { ty, operator, note }) if is_reachable => {
                        let expression = format!("doc! {{ {}: \"$$value\" }}", quoted(operator));
                        let call = method("retype", &[quoted(&to.path), quoted(ty), expression]);
                        all.retypes.push(format!("{}{call}", note.unwrap_or_default()));
                    }
                    // It is read in the old type too.
                    Some(Conversion { note: Some(_), .. }) => {}
                    _ => {
                        let why = match known {
                            Some(_) => "",
                            None => ", and no expression of the server converts every value",
                        };
                        let words = format!(
                            "{} becomes {} (was {}){why}: write what becomes of each",
                            at(to),
                            types(to).join(" or "),
                            types(from).join(" or ")
                        );
                        let code = self.frozen(from, to, after).unwrap_or_default();
                        all.by_hand.push(ByHand { words, code });
                    }
                }
            }
            What::Presence { from, to, .. } => self.presence(from, to, after, variable, all, &at(to)),
            What::Bound { field, words, way } if *way == super::diff::Way::Narrower => {
                all.by_hand.push(ByHand::from(format!(
                    "{} is {words}: write what becomes of documents with more or other values, or leave this out where there are none",
                    at(field)
                )));
            }
            What::Values { field, removed, .. } if !removed.is_empty() => all.by_hand.push(ByHand::from(format!(
                "{} has no `{}` any more: write what becomes of documents with it",
                at(field),
                removed.join("`, `")
            ))),
            What::Declared { what, from, to } => {
                let words = match *what {
                    "kind" => "a collection keeps its kind: copy its documents into a new one",
                    "shard key" => "move its documents by `reshardCollection`, or declare the key as it is",
                    "collation" => "a collection keeps its collation: copy its documents into a new one",
                    "soft_delete" if to.is_none() => "documents that were deleted would be seen again: delete them",
                    "bucket" if from.is_some() => "write what becomes of the buckets that are there",
                    "check" if to.is_some() => "write what becomes of documents that break it",
                    _ => return,
                };
                all.by_hand.push(ByHand::from(format!("{difference}: {words}")));
            }
            // Of the server, and declared by the application.
            What::Index { from: Some(from), to: None }
                if from.spec.contains_key("key") && !from.name().starts_with("_odm") =>
            {
                let name = [quoted(from.name())];
                let has_effect = ["unique", "expireAfterSeconds"].iter().any(|name| from.spec.contains_key(name));
                match after.indexes.iter().find(|to| is_renamed(from, to)) {
                    // Any name does for one that is declared without.
                    Some(to) if to.name() == name_by_key(to) => {}
                    // The server takes no second one.
                    Some(_) => all.drops.push(method("drop_index", &name)),
                    None if has_effect => all.drops.push(method("drop_index", &name)),
                    None => all.removes.push(method("retire_index", &name)),
                }
            }
            What::Copy { to: Some(to), .. } if to.consistency == "snapshot" => all.by_hand.push(ByHand::from(format!(
                "`{}` of `{name}` is a snapshot, which documents that are there lack: fill it by `backfill --snapshots`, with today's \
                 values, or write its value",
                to.field
            ))),
            _ => {}
        }
    }

    /// A field that may no longer be missing, or `null`.
    fn presence(
        &mut self,
        from: &FieldShape,
        to: &FieldShape,
        after: &CollectionShape,
        variable: &str,
        all: &mut Statements,
        at: &str,
    ) {
        let is_null_refused = is_nullable(from) && !is_nullable(to);
        let is_needed = to.required && !from.required;
        if !is_null_refused && !is_needed {
            return;
        }
        let default = to.default.as_ref().and_then(expression);
        match default {
            Some(default) if is_addressable(to) && !is_around_optional(to, after) => {
                let arguments = [quoted(&to.path), default];
                all.adds.push(call(variable, "add", &arguments, ".await?"));
                if is_null_refused {
                    all.adds
                        .push(call(variable, "replace_null", &arguments, ".await?"));
                }
            }
            _ => all.by_hand.push(ByHand::from(format!(
                "{at} becomes required: write which value documents get where it is missing or `null`"
            ))),
        }
    }

    /// Whether a new field stands in a struct that is there because fields have moved into it.
    fn is_of_moved(&self, field: &FieldShape, after: &CollectionShape, renamed: &[Renamed]) -> bool {
        let Some((outer, _)) = field.path.rsplit_once('.') else {
            return false;
        };
        is_addressable(field)
            && renamed
                .iter()
                .any(|one| one.collection.as_deref() == Some(after.name.as_str()) && is_in(&one.to, outer))
    }

    fn added(
        &mut self,
        field: &FieldShape,
        after: &CollectionShape,
        variable: &str,
        all: &mut Statements,
        at: &str,
    ) {
        let is_container =
            |ty: &str| types(field) == [ty] && field.values.is_empty() && field.variants.is_empty();
        let has_fields = after.fields.iter().any(|other| {
            other.path != field.path && is_in(&other.path, &field.path) && !other.path.ends_with("{}")
        });
        let value = match &field.default {
            Some(default) => expression(default),
            None if is_optional(field) => return,
            None if field.is.as_deref() == Some("version") => Some("1_i64".to_owned()),
            None if is_container("array") && field.bounds.items.is_none() => {
                Some("odm::bson::Bson::Array(Vec::new())".to_owned())
            }
            None if is_container("object") && !has_fields => Some("doc! {}".to_owned()),
            None => None,
        };
        match value {
            Some(value) if is_addressable(field) && !is_around_optional(field, after) => {
                all.adds
                    .push(call(variable, "add", &[quoted(&field.path), value], ".await?"));
            }
            // It is read with its default wherever it is.
            _ if field.default.is_some() => {}
            _ => {
                let hint = if is_addressable(field) && !is_around_optional(field, after) {
                    format!(", as `{variable}.add({}, value)`,", quoted(&field.path))
                } else {
                    ",".to_owned()
                };
                all.by_hand.push(ByHand::from(format!(
                    "{at} is new, required and without a default: write which value it gets where it is missing{hint} or declare a \
                     default"
                )));
            }
        }
    }

    /// A struct of the old shape, and the loop over its documents, where the field is a plain one.
    fn frozen(&mut self, from: &FieldShape, to: &FieldShape, after: &CollectionShape) -> Option<String> {
        let id = after.fields.iter().find(|field| field.path == "_id")?;
        let id = rust_type(id).filter(|ty| !ty.starts_with("Option"))?;
        let ty = rust_type(from)?;
        let old = *types(from).first()?;
        let name = &from.path;
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_identifier = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_identifier || !is_free(name) || !is_addressable(from) || name == "id" || from.path != to.path {
            return None;
        }
        let frozen = format!("Old{}{}", after.rust, camel(name));
        self.structs.push(format!(
            "/// A document of `{}` before this step, as far as it is needed.\n#[derive(odm::Document)]\n#[document(collection = {})]\n\
             struct {frozen} {{\n    id: {id},\n    {name}: {ty},\n}}\n",
            after.name,
            quoted(&after.name)
        ));
        let name_of = quoted(name);
        Some(format!(
            "    step.each::<{frozen}>(doc! {{ {name_of}: {{ \"$type\": {} }} }})\n        .update(|old| Ok(doc! {{ \"$set\": {{ \
             {name_of}: old.{name} }} }}))\n        .await?;\n",
            quoted(alias(old)),
        ))
    }

    /// The file of a step, as rustfmt writes it.
    fn code(&self, step: &str, after: Option<&str>, diff: &Diff) -> String {
        let mut code = String::new();
        match after {
            Some(after) => {
                let _ = writeln!(code, "//! From `{after}` to `{step}`:");
                let lines = diff.lines();
                if lines.is_empty() {
                    code.push_str("//!\n//! The models are the same.\n");
                } else {
                    code.push_str("//!\n");
                }
                for line in lines {
                    let _ = writeln!(code, "//! - {line}");
                }
            }
            None => code.push_str("//! The first snapshot of the models: nothing is changed.\n"),
        }
        let body = self.lines.concat();
        code.push('\n');
        if body.contains("doc!") {
            code.push_str("use odm::bson::doc;\n");
        }
        code.push_str("use odm::migrate::Step;\n\n");
        for one in &self.structs {
            code.push_str(one);
            code.push('\n');
        }
        let argument = if body.is_empty() { "_step" } else { "step" };
        let _ = write!(
            code,
            "pub async fn up({argument}: &Step) -> odm::Result<()> {{\n{body}    Ok(())\n}}\n"
        );
        code
    }
}

/// Whether two indexes differ in their names alone.
fn is_renamed(from: &IndexOf, to: &IndexOf) -> bool {
    let unnamed = |index: &IndexOf| {
        let mut spec = index.spec.clone();
        spec.remove("name");
        spec
    };
    unnamed(from) == unnamed(to)
}

/// The name of an index that is declared without one.
fn name_by_key(index: &IndexOf) -> String {
    let fields = index.spec.get_document("key").into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(path, direction)| format!("{path}_{}", direction.to_string().trim_matches('"')))
        .collect();
    fields.join("_")
}

/// Whether it stands in a field that may be missing: what is added to that would make it.
fn is_around_optional(field: &FieldShape, of: &CollectionShape) -> bool {
    let mut fields = of.fields.iter();
    fields.any(|outer| {
        outer.path != field.path
            && !outer.path.is_empty()
            && is_in(&field.path, &outer.path)
            && (is_optional(outer) || !outer.variants.is_empty())
    })
}

/// A total conversion by an expression of the server.
struct Conversion {
    ty: &'static str,
    operator: &'static str,
    note: Option<&'static str>,
}

fn conversion(from: &FieldShape, to: &FieldShape) -> Option<Conversion> {
    let is_plain = |field: &FieldShape| field.values.is_empty() && field.variants.is_empty();
    if !is_plain(from) || !is_plain(to) || is_narrow(to) {
        return None;
    }
    let (old, new) = (types(from), types(to));
    let ([old], [new]) = (old.as_slice(), new.as_slice()) else {
        return None;
    };
    let both = |ty, operator| Conversion {
        ty,
        operator,
        note: None,
    };
    Some(match (*old, *new) {
        ("int", "long") => Conversion {
            note: Some(
                "    // A stored `int` is read as a `long` too: leave this out where only the models read it.\n",
            ),
            ..both("long", "$toLong")
        },
        ("int", "double") => Conversion {
            note: Some(
                "    // A stored `int` is read as a `double` too: leave this out where only the models read it.\n",
            ),
            ..both("double", "$toDouble")
        },
        ("int" | "long" | "double", "decimal") => both("decimal", "$toDecimal"),
        ("bool", "int") => both("int", "$toInt"),
        ("bool", "long") => both("long", "$toLong"),
        ("int" | "long" | "double" | "decimal" | "bool" | "date" | "objectId", "string") => {
            both("string", "$toString")
        }
        _ => return None,
    })
}

/// Whether the new type takes fewer values than it could.
fn is_narrow(field: &FieldShape) -> bool {
    let bounds = &field.bounds;
    bounds.pattern.is_some()
        || bounds.max_len.is_some()
        || bounds.min_len.is_some()
        || !bounds.one_of.is_empty()
}

/// The type as `$type` and `retype` name it.
fn alias(ty: &str) -> &str {
    ty.split(' ').next().unwrap_or(ty)
}

/// A type of Rust that reads the field.
fn rust_type(field: &FieldShape) -> Option<String> {
    let types = types(field);
    let [ty] = types.as_slice() else { return None };
    if !field.values.is_empty() || !field.variants.is_empty() {
        return None;
    }
    let ty = match *ty {
        "string" => "String",
        "int" => "i32",
        "long" => "i64",
        "double" => "f64",
        "bool" => "bool",
        "date" => "odm::bson::DateTime",
        "objectId" => "odm::bson::oid::ObjectId",
        "binData (uuid)" => "odm::bson::Uuid",
        "decimal" => "odm::bson::Decimal128",
        _ => return None,
    };
    Some(if is_optional(field) {
        format!("Option<{ty}>")
    } else {
        ty.to_owned()
    })
}

fn camel(name: &str) -> String {
    let parts = name.split('_').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let mut chars = part.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            first.into_iter().chain(chars).collect::<String>()
        })
        .collect()
}

/// A value in Rust; `None` where there is no plain form.
fn expression(value: &Bson) -> Option<String> {
    Some(match value {
        Bson::String(text) => quoted(text),
        Bson::Boolean(is) => is.to_string(),
        Bson::Int32(n) => n.to_string(),
        Bson::Int64(n) => format!("{n}_i64"),
        Bson::Double(n) if n.is_finite() => format!("{n:?}"),
        Bson::Null => "odm::bson::Bson::Null".to_owned(),
        Bson::Array(items) if items.is_empty() => "odm::bson::Bson::Array(Vec::new())".to_owned(),
        Bson::Document(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Some(format!("{}: {}", quoted(name), inner(value)?)));
            let fields = fields.collect::<Option<Vec<_>>>()?;
            match fields.len() {
                0 => "doc! {}".to_owned(),
                _ => format!("doc! {{ {} }}", fields.join(", ")),
            }
        }
        _ => return None,
    })
}

/// The same within `doc!`.
fn inner(value: &Bson) -> Option<String> {
    match value {
        Bson::Document(_) => expression(value)?.strip_prefix("doc! ").map(str::to_owned),
        Bson::Array(items) => {
            let items = items.iter().map(inner).collect::<Option<Vec<_>>>()?;
            Some(format!("[{}]", items.join(", ")))
        }
        _ => expression(value),
    }
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn is_free(name: &str) -> bool {
    const KEYWORDS: [&str; 39] = [
        "as", "async", "await", "box", "break", "const", "continue", "crate", "dyn", "else", "enum",
        "extern", "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move",
        "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "type", "use",
        "where", "while", "yield",
    ];
    !KEYWORDS.contains(&name)
}

/// The variable for a collection.
fn variable(collection: &str) -> String {
    let name: String = collection
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    let is_other = name.starts_with(|c: char| c.is_ascii_digit()) || name == "step" || !is_free(&name);
    if is_other || name.chars().all(|c| c == '_') {
        format!("of_{name}")
    } else {
        name
    }
}

/// A statement in the body of `up`, as rustfmt writes it: on one line, or with the last calls or the arguments on lines of their own.
fn call(receiver: &str, method: &str, arguments: &[String], end: &str) -> String {
    let joined = arguments.join(", ");
    let whole = format!("{receiver}.{method}({joined}){end}");
    if whole.chars().count() < SHORT {
        return format!("    {whole};\n");
    }
    // Behind a short name the first call stays on its line.
    let (first, indent) = if receiver.len() <= 4 {
        (format!("    {receiver}"), 4)
    } else {
        (format!("    {receiver}\n        "), 8)
    };
    let spaces = " ".repeat(indent);
    // One argument alone may be as long as the line.
    let is_short = joined.chars().count() <= SHORT || arguments.len() == 1;
    let before = if indent == 4 { 4 + receiver.len() } else { 8 };
    let line = before + joined.chars().count() + method.len() + 3;
    let arguments = if is_short && line <= WIDTH {
        joined
    } else {
        let lines: Vec<String> = arguments
            .iter()
            .map(|one| format!("\n{spaces}    {one},"))
            .collect();
        format!("{}\n{spaces}", lines.concat())
    };
    // The end of a call that takes several lines follows it.
    let next = if indent == 4 && arguments.contains('\n') {
        String::new()
    } else {
        "\n        ".to_owned()
    };
    format!("{first}.{method}({arguments}){next}{end};\n")
}

/// A call of `write_by_hand`, in lines that rustfmt leaves as they are.
fn by_hand(words: &str) -> String {
    let text = quoted(words);
    if "    step.write_by_hand()?;".len() + text.chars().count() <= WIDTH {
        return format!("    step.write_by_hand({text})?;\n");
    }
    if 9 + text.chars().count() <= WIDTH {
        return format!("    step.write_by_hand(\n        {text},\n    )?;\n");
    }
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && 9 + line + word.chars().count() > WIDTH - 2 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    format!(
        "    step.write_by_hand(\n        {},\n    )?;\n",
        lines.join("\\\n         ")
    )
}

//! Which references and copies can be declared by attributes, and what is said of the others.

use super::model::{Helper, Key, Plain, Role, Target};
use crate::design::{CollectionKind, Compared, Copied, Design, Field, Index, Place, Reference};
use crate::kind::Kind;
use std::collections::{BTreeSet, HashMap};

/// How sure a reference has to be for an attribute. Below it is a comment.
const SURE: f64 = 0.8;

/// References and copies by the place that holds them.
#[derive(Debug, Default)]
pub struct Links {
    declared: HashMap<(String, String), (usize, Target)>,
    pub(super) roles: HashMap<(String, String), Role>,
    remarks: HashMap<(String, String), Vec<String>>,
    /// Fields whose value a reference or a copy repeats, so that its type is that of the text.
    repeated: BTreeSet<(String, String)>,
}

impl Links {
    /// Those of a design.
    pub fn of(design: &Design) -> Self {
        let mut links = Self::default();
        for reference in &design.references {
            links.reference(design, reference);
        }
        for two in &design.two_way {
            links.two_way(design, two);
        }
        for copied in &design.copies {
            links.copy(design, copied);
        }
        links.parents(design);
        links.derived(design);
        links.without_circles(design);
        links.trees(design);
        links
    }

    /// The reference that a field is declared as.
    pub fn target(&self, collection: &str, path: &str) -> Option<&Target> {
        let (_, target) = self.declared.get(&key(collection, path))?;
        Some(target)
    }

    /// The number of the reference that a field is declared as.
    pub fn number(&self, collection: &str, path: &str) -> Option<usize> {
        let (number, _) = self.declared.get(&key(collection, path))?;
        Some(*number)
    }

    /// The declaration of a field beside its type.
    pub fn role(&self, collection: &str, path: &str) -> &Role {
        self.roles.get(&key(collection, path)).unwrap_or(&Role::Plain)
    }

    /// Whether a reference, a copy or a value of children stands in a document, or below it.
    pub fn is_below(&self, collection: &str, path: &str) -> bool {
        let mut all = self.declared.keys().chain(self.roles.keys());
        all.any(|(of, at)| {
            let rest = at.strip_prefix(path);
            of == collection && rest.is_some_and(|rest| rest.starts_with(['.', '[', '{']))
        })
    }

    /// A value that others repeat has the type of its text.
    pub(super) fn repeat(&mut self, collection: &str, path: &str) {
        self.repeated.insert(key(collection, path));
    }

    /// The attributes and comments of a field.
    pub fn remarks(&self, collection: &str, path: &str) -> &[String] {
        self.remarks
            .get(&key(collection, path))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a reference or a copy repeats it.
    pub fn is_repeated(&self, collection: &str, path: &str) -> bool {
        self.repeated.contains(&key(collection, path))
    }

    pub(super) fn remark(&mut self, collection: &str, path: &str, text: String) {
        let all = self.remarks.entry(key(collection, path)).or_default();
        if !all.contains(&text) {
            all.push(text);
        }
    }

    fn reference(&mut self, design: &Design, reference: &Reference) {
        let from = &reference.from;
        let to = written(&reference.to);
        let mut figures = format!("{} of {} were found", reference.found, reference.values);
        if reference.dangling > 0 {
            figures.push_str(&format!(", {} refer to nothing", reference.dangling));
        }
        let is = match target(design, reference) {
            Ok(target) if !self.declared.contains_key(&key(&from.collection, first(from))) => {
                let at = key(&from.collection, first(from));
                self.repeated.insert(at.clone());
                self.repeated
                    .insert(key(&reference.to.collection, first(&reference.to)));
                self.declared.insert(at, (reference.id, target));
                format!("Refers to `{to}`: {figures}.")
            }
            Ok(_) => format!("Perhaps refers to `{to}` too: {figures}."),
            Err(why) => {
                let told = reference.told.as_ref().map_or_else(String::new, |told| {
                    let begin = if told.prefix { "begins with" } else { "is" };
                    format!(" where `{}` {begin} {}", told.path, told.values.join(", "))
                });
                let sure = if reference.confidence < SURE {
                    "Perhaps refers"
                } else {
                    "Refers"
                };
                format!("{sure} to `{to}`{told}: {figures}. {why}")
            }
        };
        let text = format!("{is} {}", sentence(&reference.evidence));
        for path in &from.paths {
            self.remark(&from.collection, path, text.clone());
        }
    }

    fn copy(&mut self, design: &Design, copied: &Copied) {
        let Some(reference) = design.reference(copied.by) else {
            return;
        };
        let collection = &reference.from.collection;
        let at = key(collection, &copied.path);
        let figures = format!(
            "{} equal `{}.{}`{}",
            copied.equal,
            reference.to.collection,
            copied.from,
            match copied.stale {
                0 => String::new(),
                stale => format!(", {stale} differ from it"),
            }
        );
        let why = match copyable(design, reference, copied) {
            _ if self.roles.contains_key(&at) => Some("Another copy is declared.".to_owned()),
            _ if self
                .declared
                .get(&key(collection, first(&reference.from)))
                .is_none_or(|(id, _)| *id != reference.id) =>
            {
                Some(format!(
                    "`{}` is not declared as a reference.",
                    first(&reference.from)
                ))
            }
            Err(why) => Some(why),
            Ok(()) => {
                self.repeated.insert(at.clone());
                self.repeated.insert(key(&reference.to.collection, &copied.from));
                let role = Role::Copy {
                    by: last(first(&reference.from)).to_owned(),
                    from: copied.from.clone(),
                };
                self.roles.insert(at, role);
                None
            }
        };
        let evidence = sentence(&copied.evidence);
        let text = match why {
            None => format!("A copy: {figures}. {evidence}"),
            Some(why) => format!("Perhaps a copy: {figures}. {why} {evidence}"),
        };
        self.remark(collection, &copied.path, text);
    }
}

pub(super) fn key(collection: &str, path: &str) -> (String, String) {
    (collection.to_owned(), path.to_owned())
}

pub(super) fn first(place: &Place) -> &str {
    place.paths.first().map_or("", String::as_str)
}

pub(super) fn written(place: &Place) -> String {
    match place.paths.as_slice() {
        [path] => format!("{}.{path}", place.collection),
        paths => format!("{}.({})", place.collection, paths.join(", ")),
    }
}

/// A sentence with a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(first) => {
            let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
            format!("{}{}{stop}", first.to_uppercase(), chars.as_str())
        }
    }
}

/// The last name of a path.
pub fn last(path: &str) -> &str {
    let path = path.trim_end_matches("[]").trim_end_matches("{}");
    path.rsplit('.').next().unwrap_or(path)
}

/// The path of another field of the same document.
pub(super) fn sibling(path: &str, name: &str) -> String {
    match path.rsplit_once('.') {
        Some((parent, _)) => format!("{parent}.{name}"),
        None => name.to_owned(),
    }
}

/// The type of the values of a field that a reference may hold.
pub(super) fn value_key(field: &Field) -> Option<Key> {
    let kinds: Vec<Kind> = field
        .kinds
        .keys()
        .copied()
        .filter(|kind| *kind != Kind::Null)
        .collect();
    match kinds.as_slice() {
        [Kind::Int, Kind::Long] if field.wide => Some(Key::Plain(Plain::I64)),
        [Kind::Int, Kind::Long] => Some(Key::Helper(Helper::Integer)),
        [Kind::Regex] => None,
        [kind] => Plain::of(*kind).map(Key::Plain),
        _ => None,
    }
}

/// Whether the values are of the types of an `_id` of several, which is an enum.
fn is_of_kinds(field: &Field, id: &Field) -> bool {
    let several = id.kinds.len() > 1 && id.kinds.keys().all(|kind| Plain::of(*kind).is_some());
    let held = field.kinds.keys().filter(|kind| **kind != Kind::Null);
    several && held.clone().count() > 0 && held.clone().all(|kind| id.kinds.contains_key(kind))
}

/// Whether an index makes a field unique in all documents.
fn makes_unique(index: &Index, path: &str) -> bool {
    let mut keys = index.keys.keys();
    let plain = |name: &str| matches!(name, "v" | "key" | "name" | "unique" | "background" | "ns");
    index.unique
        && keys.next().is_some_and(|key| key == path)
        && keys.next().is_none()
        && index.options.keys().all(|name| plain(name))
}

/// The declaration of a reference, or the reason why it has none.
fn target(design: &Design, reference: &Reference) -> Result<Target, String> {
    let (from, to) = (&reference.from, &reference.to);
    let ([path], [to_path]) = (from.paths.as_slice(), to.paths.as_slice()) else {
        return Err("A reference holds one value, and this key has several.".to_owned());
    };
    if reference.confidence < SURE {
        return Err("The data alone do not prove it.".to_owned());
    }
    if reference.told.is_some() {
        return Err(
            "A reference that may lead to several collections is declared with `any(…)`, which stores `{ type, id }`.".to_owned(),
        );
    }
    match reference.compared {
        Compared::Same => {}
        Compared::Hex => {
            return Err("It is the text of an id: `retype` in a migration makes it one.".to_owned());
        }
        Compared::DbRef => return Err("It is a `DBRef`: a reference is stored as the id alone.".to_owned()),
    }
    let rivals = design.references.iter().filter(|other| {
        other.id != reference.id
            && other.from == *from
            && other.confidence >= SURE
            && (other.confidence, other.found) > (reference.confidence, reference.found)
    });
    if rivals.count() > 0 {
        return Err("Another reference of this field is surer.".to_owned());
    }
    if path == "_id" || path.contains("{") || path.contains("[][]") || path.ends_with("]]") {
        return Err("A reference stands in a field, or in an array of references.".to_owned());
    }
    let holder = design
        .collection(&from.collection)
        .and_then(|one| one.root.at(path));
    let position = design
        .collections
        .iter()
        .position(|one| one.name == to.collection && one.kind == CollectionKind::Plain);
    let (Some(holder), Some(position)) = (holder, position) else {
        return Err("Its collection is not among the models.".to_owned());
    };
    let Some(target) = design.collections.get(position) else {
        return Err(String::new());
    };
    let Some(field) = target.root.at(to_path) else {
        return Err("The field that it refers to is not among the models.".to_owned());
    };
    let wanted = match (value_key(holder), value_key(field)) {
        (Some(held), Some(wanted)) => {
            let is_wider =
                wanted == Key::Helper(Helper::Integer) && matches!(held, Key::Plain(Plain::I32 | Plain::I64));
            if held != wanted && !is_wider {
                return Err("The types of the two fields differ.".to_owned());
            }
            wanted
        }
        _ if to_path == "_id" && is_of_kinds(holder, field) => Key::Own,
        _ => return Err("Its values have several types.".to_owned()),
    };
    let is_item = path.ends_with("[]");
    if is_item && holder.kinds.contains_key(&Kind::Null) {
        return Err("Some items are null, which an array of references can't hold.".to_owned());
    }
    if !is_item && holder.present < holder.of && holder.kinds.contains_key(&Kind::Null) {
        return Err(
            "It is missing in some documents and null in others, which an `Option` does not tell apart."
                .to_owned(),
        );
    }
    if to_path == "_id" {
        return Ok(Target {
            collection: position,
            by: None,
            key: wanted,
        });
    }
    if to_path.contains(['.', '[', '{']) {
        return Err("A reference leads to a field of the document itself.".to_owned());
    }
    if field.present < field.of || field.kinds.contains_key(&Kind::Null) {
        return Err(format!(
            "Not every document of `{}` has a value there.",
            to.collection
        ));
    }
    if target.root.at("_id").and_then(value_key) == Some(wanted) {
        return Err(format!(
            "`{to_path}` has the type of `_id`, so that a reference by it needs a type of its own: `#[derive(Embed)] #[embed(id)] struct \
             Key(…);` in both."
        ));
    }
    if !target.indexes.iter().any(|index| makes_unique(index, to_path)) {
        return Err(format!(
            "With a unique index on `{to_path}` of `{}` it can be declared: `#[reference(by = {to_path})]`.",
            to.collection
        ));
    }
    Ok(Target {
        collection: position,
        by: Some(to_path.clone()),
        key: wanted,
    })
}

/// Whether the copy can be declared beside its reference, or why not.
fn copyable(design: &Design, reference: &Reference, copied: &Copied) -> Result<(), String> {
    if copied.weak {
        return Err("The values are too few to tell a copy from chance.".to_owned());
    }
    if copied.stale >= copied.equal {
        return Err("Most of them differ.".to_owned());
    }
    let path = first(&reference.from);
    if path.ends_with("[]") || sibling(&copied.path, last(path)) != path {
        return Err("A copy is declared in the struct that holds its reference.".to_owned());
    }
    if path.matches("[]").count() > 1 || path.contains("{}") {
        return Err("In an array inside an array no update would reach it.".to_owned());
    }
    if copied.from.contains(['.', '[', '{']) || copied.from == "_id" {
        return Err("A copy is one of a field of the document itself.".to_owned());
    }
    let collection = design.collection(&reference.from.collection);
    let target = design.collection(&reference.to.collection);
    let (Some(collection), Some(target)) = (collection, target) else {
        return Err("Its collection is not among the models.".to_owned());
    };
    let field = collection.root.at(&copied.path);
    let (Some(field), Some(source), Some(holder)) =
        (field, target.root.at(&copied.from), collection.root.at(path))
    else {
        return Err("Its source is not among the models.".to_owned());
    };
    let both = |field: &Field| field.present < field.of && field.kinds.contains_key(&Kind::Null);
    if value_key(field).is_none() || value_key(field) != value_key(source) || both(field) || both(source) {
        return Err("The types of the two fields differ.".to_owned());
    }
    if (source.is_optional() || holder.is_optional()) && !field.is_optional() {
        return Err("Its source may be missing, and the copy is always there.".to_owned());
    }
    Ok(())
}

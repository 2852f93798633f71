//! The differences between two snapshots, as a review of the design reads them.

use super::{
    BoundsOf, CollectionShape, CopyOf, FieldShape, IndexOf, ReferenceOf, Renamed, Snapshot, ValidatorOf,
};
use crate::schema;
use mongodb::bson::{Bson, Document};
use serde_json::{Value, json};
use std::fmt;

/// The differences of two snapshots. Displayed as a line for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Diff {
    pub(crate) differences: Vec<Difference>,
}

/// Whether a bound takes fewer values than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Narrower,
    Wider,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The collection, by its new name where it has one.
    pub(crate) collection: String,
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    CollectionAdded {
        fields: usize,
    },
    CollectionRemoved,
    CollectionRenamed {
        from: String,
    },
    /// A declaration of the collection: its kind, its shard key.
    Declared {
        what: &'static str,
        from: Option<String>,
        to: Option<String>,
    },
    Size {
        from: Option<u64>,
        to: Option<u64>,
    },
    FieldAdded {
        field: FieldShape,
        /// Whether the field around it is new too.
        within: bool,
        derived: bool,
    },
    FieldRemoved {
        field: FieldShape,
        within: bool,
        derived: bool,
    },
    FieldRenamed {
        from: String,
        to: FieldShape,
    },
    Retyped {
        from: FieldShape,
        to: FieldShape,
        derived: bool,
    },
    Presence {
        from: FieldShape,
        to: FieldShape,
        derived: bool,
    },
    Bound {
        field: FieldShape,
        words: String,
        way: Way,
    },
    Values {
        field: FieldShape,
        added: Vec<String>,
        removed: Vec<String>,
    },
    Default {
        field: FieldShape,
        from: Option<Bson>,
    },
    Reference {
        from: Option<ReferenceOf>,
        to: Option<ReferenceOf>,
    },
    Copy {
        from: Option<CopyOf>,
        to: Option<CopyOf>,
    },
    Index {
        from: Option<IndexOf>,
        to: Option<IndexOf>,
    },
    Validator {
        words: Vec<String>,
    },
}

impl Diff {
    /// Compares two snapshots, of which the second has other names for what is renamed.
    pub(crate) fn of(old: &Snapshot, new: &Snapshot, renamed: &[Renamed]) -> Diff {
        let mut diff = Diff::default();
        let collections = || renamed.iter().filter(|one| one.collection.is_none());
        let mut known: Vec<&str> = Vec::new();
        for after in &new.collections {
            let from = collections().find(|one| one.to == after.name);
            let is_free = collections().all(|one| one.from != after.name);
            let before = match from {
                Some(one) => old.collection(&one.from),
                None => old.collection(&after.name).filter(|_| is_free),
            };
            let mut differences = Differences::of(after);
            match before {
                None => {
                    let fields = after.fields.iter().filter(|field| is_own(&field.path));
                    differences.add(What::CollectionAdded {
                        fields: fields.count(),
                    });
                    let none = CollectionShape::default();
                    differences.references(&none, after);
                    differences.copies(&none, after);
                }
                Some(before) => {
                    known.push(&before.name);
                    if before.name != after.name {
                        differences.add(What::CollectionRenamed {
                            from: before.name.clone(),
                        });
                    }
                    differences.compare(before, after, renamed);
                }
            }
            diff.differences.extend(differences.all);
        }
        for before in &old.collections {
            if !known.contains(&before.name.as_str()) {
                diff.differences.push(Difference {
                    collection: before.name.clone(),
                    what: What::CollectionRemoved,
                });
            }
        }
        diff
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// A line for each difference, without those that another one implies.
    fn shown(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|one| match &one.what {
            What::FieldAdded { within, derived, .. } | What::FieldRemoved { within, derived, .. } => {
                !within && !derived
            }
            // The library's own indexes come with a copy or a deletion that keeps documents.
            What::Index { from, to } => {
                let index = to.as_ref().or(from.as_ref());
                index.is_none_or(|index| !index.name().starts_with("_odm"))
            }
            _ => true,
        })
    }

    /// A line for each difference.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.shown().map(Difference::to_string).collect()
    }

    /// The differences for programs.
    pub(crate) fn json(&self) -> Value {
        let all = self.shown().map(|one| {
            json!({
                "kind": one.kind(),
                "collection": one.collection,
                "field": one.field(),
                "words": one.to_string(),
            })
        });
        Value::Array(all.collect())
    }
}

/// A paragraph without an end: a line for each difference.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no difference");
        }
        f.write_str(&self.lines().join("\n"))
    }
}

/// Whether a path is a field of a document itself.
fn is_own(path: &str) -> bool {
    !path.is_empty() && !path.contains(['.', '[', '{'])
}

/// A path without the marks of items and entries, as a reference names it.
pub(crate) fn plain(path: &str) -> String {
    path.replace("[]", "").replace("{}", "")
}

/// Whether a path is another one, or within it.
pub(crate) fn is_in(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || outer.is_empty() || rest.starts_with(['.', '[', '{']))
}

/// The path of an old field under its new name.
fn renamed_to(path: &str, collection: &str, renamed: &[Renamed]) -> String {
    let of = renamed
        .iter()
        .filter(|one| one.collection.as_deref() == Some(collection));
    let longest = of
        .filter(|one| is_in(path, &one.from))
        .max_by_key(|one| one.from.len());
    match longest {
        Some(one) => format!("{}{}", one.to, &path[one.from.len()..]),
        None => path.to_owned(),
    }
}

/// The differences of one collection.
struct Differences {
    collection: String,
    all: Vec<Difference>,
}

impl Differences {
    fn of(collection: &CollectionShape) -> Differences {
        Differences {
            collection: collection.name.clone(),
            all: Vec::new(),
        }
    }

    fn add(&mut self, what: What) {
        self.all.push(Difference {
            collection: self.collection.clone(),
            what,
        });
    }

    fn compare(&mut self, old: &CollectionShape, new: &CollectionShape, renamed: &[Renamed]) {
        let text = |document: &Option<Document>| document.as_ref().map(Document::to_string);
        let word = |is: bool| is.then(|| "yes".to_owned());
        for (what, from, to) in [
            ("kind", Some(old.kind.clone()), Some(new.kind.clone())),
            ("shard key", text(&old.shard_key), text(&new.shard_key)),
            ("collation", text(&old.collation), text(&new.collation)),
            ("append_only", word(old.append_only), word(new.append_only)),
            ("soft_delete", old.soft_delete.clone(), new.soft_delete.clone()),
            ("expiry", old.expires.clone(), new.expires.clone()),
            ("bucket", old.bucket.clone(), new.bucket.clone()),
        ] {
            if from != to {
                self.add(What::Declared { what, from, to });
            }
        }
        for check in new.checks.iter().filter(|check| !old.checks.contains(check)) {
            self.add(What::Declared {
                what: "check",
                from: None,
                to: Some(check.clone()),
            });
        }
        for check in old.checks.iter().filter(|check| !new.checks.contains(check)) {
            self.add(What::Declared {
                what: "check",
                from: Some(check.clone()),
                to: None,
            });
        }
        if old.max_bytes != new.max_bytes {
            self.add(What::Size {
                from: old.max_bytes,
                to: new.max_bytes,
            });
        }
        let before = self.all.len();
        self.fields(old, new, renamed);
        let has_fields = self.all.len() > before || old.checks != new.checks;
        self.references(old, new);
        self.copies(old, new);
        self.indexes(old, new);
        self.validators(old.validator.as_ref(), new.validator.as_ref(), has_fields);
    }

    fn fields(&mut self, old: &CollectionShape, new: &CollectionShape, renamed: &[Renamed]) {
        let derived = |of: &CollectionShape, path: &str| {
            let plain = plain(path);
            of.copies.iter().any(|copy| is_in(&plain, &copy.field))
        };
        let moved: Vec<(String, &FieldShape)> = old
            .fields
            .iter()
            .map(|field| (renamed_to(&field.path, &new.name, renamed), field))
            .collect();
        let before = |field: &FieldShape| {
            let mut moved = moved.iter();
            moved
                .find(|(path, old)| *path == field.path && old.variant == field.variant)
                .map(|(_, old)| *old)
        };
        let is_kept = |path: &str, variant: &Option<String>| {
            new.fields
                .iter()
                .any(|field| field.path == path && field.variant == *variant)
        };
        let lost: Vec<&(String, &FieldShape)> = moved
            .iter()
            .filter(|(path, old)| !is_kept(path, &old.variant))
            .collect();
        for (_, field) in &lost {
            let around = |outer: &FieldShape| {
                outer.path != field.path
                    && !outer.path.is_empty()
                    && is_in(&field.path, &outer.path)
                    && outer
                        .variant
                        .as_ref()
                        .is_none_or(|_| outer.variant == field.variant)
            };
            self.add(What::FieldRemoved {
                field: (*field).clone(),
                within: lost.iter().any(|(_, outer)| around(outer)) || is_of_lost_variant(field, old, new),
                derived: derived(old, &field.path),
            });
        }
        let added: Vec<&FieldShape> = new
            .fields
            .iter()
            .filter(|field| before(field).is_none())
            .collect();
        for field in &new.fields {
            let derived = derived(new, &field.path);
            let Some(old_field) = before(field) else {
                let around = |outer: &&FieldShape| {
                    outer.path != field.path
                        && !outer.path.is_empty()
                        && is_in(&field.path, &outer.path)
                        && outer
                            .variant
                            .as_ref()
                            .is_none_or(|_| outer.variant == field.variant)
                };
                self.add(What::FieldAdded {
                    field: field.clone(),
                    within: added.iter().any(around) || is_of_lost_variant(field, new, old),
                    derived,
                });
                continue;
            };
            let is_renamed = |one: &Renamed| {
                one.collection.as_deref() == Some(new.name.as_str())
                    && one.from == old_field.path
                    && one.to == field.path
            };
            if renamed.iter().any(is_renamed) {
                self.add(What::FieldRenamed {
                    from: old_field.path.clone(),
                    to: field.clone(),
                });
            }
            self.field(old_field, field, derived);
        }
    }

    fn field(&mut self, old: &FieldShape, new: &FieldShape, derived: bool) {
        let is_any = types(old) == ["any"] || types(new) == ["any"];
        let is_retyped = types(old) != types(new) || old.told_by != new.told_by;
        if is_retyped {
            self.add(What::Retyped {
                from: old.clone(),
                to: new.clone(),
                derived,
            });
        }
        if (old.required, is_nullable(old)) != (new.required, is_nullable(new)) && !is_any {
            self.add(What::Presence {
                from: old.clone(),
                to: new.clone(),
                derived,
            });
        }
        if !is_retyped {
            for (words, way) in bounds(&old.bounds, &new.bounds) {
                self.add(What::Bound {
                    field: new.clone(),
                    words,
                    way,
                });
            }
            if old.closed != new.closed {
                let (words, way) = if new.closed {
                    ("no fields that are not declared", Way::Narrower)
                } else {
                    ("fields that are not declared too", Way::Wider)
                };
                self.add(What::Bound {
                    field: new.clone(),
                    words: words.to_owned(),
                    way,
                });
            }
        }
        let names = |field: &FieldShape| -> Vec<String> {
            field.values.iter().chain(&field.variants).cloned().collect()
        };
        let (before, after) = (names(old), names(new));
        if before != after && !before.is_empty() && !after.is_empty() {
            let only = |these: &[String], others: &[String]| -> Vec<String> {
                these
                    .iter()
                    .filter(|name| !others.contains(name))
                    .cloned()
                    .collect()
            };
            let (added, removed) = (only(&after, &before), only(&before, &after));
            if !added.is_empty() || !removed.is_empty() {
                self.add(What::Values {
                    field: new.clone(),
                    added,
                    removed,
                });
            }
        }
        if old.default != new.default {
            self.add(What::Default {
                field: new.clone(),
                from: old.default.clone(),
            });
        }
    }

    fn references(&mut self, old: &CollectionShape, new: &CollectionShape) {
        for to in &new.references {
            let from = old.references.iter().find(|from| from.field == to.field);
            if from != Some(to) {
                self.add(What::Reference {
                    from: from.cloned(),
                    to: Some(to.clone()),
                });
            }
        }
        for from in &old.references {
            if new.references.iter().all(|to| to.field != from.field) {
                self.add(What::Reference {
                    from: Some(from.clone()),
                    to: None,
                });
            }
        }
    }

    fn copies(&mut self, old: &CollectionShape, new: &CollectionShape) {
        for to in &new.copies {
            let from = old.copies.iter().find(|from| from.field == to.field);
            if from != Some(to) {
                self.add(What::Copy {
                    from: from.cloned(),
                    to: Some(to.clone()),
                });
            }
        }
        for from in &old.copies {
            if new.copies.iter().all(|to| to.field != from.field) {
                self.add(What::Copy {
                    from: Some(from.clone()),
                    to: None,
                });
            }
        }
    }

    fn indexes(&mut self, old: &CollectionShape, new: &CollectionShape) {
        for to in &new.indexes {
            let from = old.indexes.iter().find(|from| from.name() == to.name());
            let is_same = from.is_some_and(|from| is_same_index(&from.spec, &to.spec));
            if !is_same {
                self.add(What::Index {
                    from: from.cloned(),
                    to: Some(to.clone()),
                });
            }
        }
        for from in &old.indexes {
            if new.indexes.iter().all(|to| to.name() != from.name()) {
                self.add(What::Index {
                    from: Some(from.clone()),
                    to: None,
                });
            }
        }
    }

    /// `explained`: other differences say what its rules have in other words.
    fn validators(&mut self, old: Option<&ValidatorOf>, new: Option<&ValidatorOf>, explained: bool) {
        let words = match (old, new) {
            (Some(old), Some(new)) => {
                let mut words = Vec::new();
                if old.level != new.level {
                    words.push(format!("level {} (was {})", new.level, old.level));
                }
                if old.action != new.action {
                    words.push(format!("action {} (was {})", new.action, old.action));
                }
                let (before, after) = (sorted(&old.rules), sorted(&new.rules));
                if !explained && !schema::same_document(&before, &after) {
                    match (
                        before.get_document("$jsonSchema"),
                        after.get_document("$jsonSchema"),
                    ) {
                        (Ok(before), Ok(after)) => words.extend(schema::rules_in_words(before, after)),
                        _ => words.push("other rules".to_owned()),
                    }
                }
                words
            }
            (None, Some(_)) => vec!["there is one".to_owned()],
            (Some(_), None) => vec!["there is none any more".to_owned()],
            (None, None) => Vec::new(),
        };
        if !words.is_empty() {
            self.add(What::Validator { words });
        }
    }
}

/// Whether a field belongs to a variant that the other snapshot does not have.
fn is_of_lost_variant(field: &FieldShape, of: &CollectionShape, other: &CollectionShape) -> bool {
    let Some(variant) = &field.variant else {
        return false;
    };
    let name = variant.rsplit('/').next().unwrap_or(variant);
    let has = |of: &CollectionShape| {
        let mut fields = of.fields.iter();
        fields.any(|one| is_in(&field.path, &one.path) && one.variants.iter().any(|one| one == name))
    };
    has(of) && !has(other)
}

/// The order of keys counts in an index.
fn is_same_index(a: &Document, b: &Document) -> bool {
    let keys = |spec: &Document| -> Vec<String> {
        let key = spec.get_document("key").ok();
        key.into_iter().flat_map(|key| key.keys().cloned()).collect()
    };
    schema::same_document(a, b) && keys(a) == keys(b)
}

/// Rules without the order in which fields were declared.
fn sorted(rules: &Document) -> Document {
    fn value(name: &str, of: &Bson) -> Bson {
        match of {
            Bson::Document(document) => sorted(document).into(),
            Bson::Array(items) => {
                let mut items: Vec<Bson> = items.iter().map(|item| value("", item)).collect();
                if name == "required" {
                    items.sort_by_key(Bson::to_string);
                }
                items.into()
            }
            _ => of.clone(),
        }
    }
    rules
        .iter()
        .map(|(name, of)| (name.clone(), value(name, of)))
        .collect()
}

/// Its types but `null`.
pub(crate) fn types(field: &FieldShape) -> Vec<&str> {
    let mut types: Vec<&str> = field.types.iter().map(String::as_str).collect();
    if types.len() > 1 {
        types.retain(|ty| *ty != "null");
    }
    types.sort_unstable();
    types
}

/// Whether it may be missing, or `null`.
pub(crate) fn is_optional(field: &FieldShape) -> bool {
    !field.required || is_nullable(field)
}

/// Whether it is read where it is `null`.
pub(crate) fn is_nullable(field: &FieldShape) -> bool {
    field.types.iter().any(|ty| ty == "null" || ty == "any")
}

/// Whether documents that were read before are no longer read, for want of a value.
fn is_stricter(from: &FieldShape, to: &FieldShape) -> bool {
    to.required && !from.required || is_nullable(from) && !is_nullable(to)
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Double(n) => Some(*n),
        _ => None,
    }
}

/// The differences between the bounds of a value, in words.
fn bounds(old: &BoundsOf, new: &BoundsOf) -> Vec<(String, Way)> {
    let mut all = Vec::new();
    let mut limit = |words: &str, unit: &str, from: Option<f64>, to: Option<f64>, is_upper: bool| {
        if from == to {
            return;
        }
        let was = from.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let (words, way) = match (from, to) {
            (_, None) => (format!("no bound any more (was {words} {was}{unit})"), Way::Wider),
            (None, Some(n)) => (format!("{words} {n}{unit} (was unbounded)"), Way::Narrower),
            (Some(before), Some(n)) => {
                let way = if (n < before) == is_upper {
                    Way::Narrower
                } else {
                    Way::Wider
                };
                (format!("{words} {n}{unit} (was {was})"), way)
            }
        };
        all.push((words, way));
    };
    let count = |n: Option<u64>| n.map(|n| n as f64);
    limit(
        "at most",
        " items",
        count(old.max_items),
        count(new.max_items),
        true,
    );
    limit("at most", " long", count(old.max_len), count(new.max_len), true);
    limit("at least", " long", count(old.min_len), count(new.min_len), false);
    limit(
        "keys at most",
        " long",
        count(old.key_len),
        count(new.key_len),
        true,
    );
    let of = |n: &Option<Bson>| n.as_ref().and_then(number);
    limit("at least", "", of(&old.min), of(&new.min), false);
    limit("at most", "", of(&old.max), of(&new.max), true);
    let depth = |n: Option<u32>| n.map(f64::from);
    limit("at most", " levels", depth(old.depth), depth(new.depth), true);
    let mut rule = |from: Option<String>, to: Option<String>| match (from, to) {
        (from, to) if from == to => {}
        (Some(from), None) => all.push((format!("no longer {from}"), Way::Wider)),
        (None, Some(to)) => all.push((to, Way::Narrower)),
        (from, to) => all.push((
            format!("{} (was {})", to.unwrap_or_default(), from.unwrap_or_default()),
            Way::Narrower,
        )),
    };
    let exactly = |of: &BoundsOf| of.items.map(|n| format!("exactly {n} items"));
    rule(exactly(old), exactly(new));
    let pattern = |of: &BoundsOf| of.pattern.as_ref().map(|one| format!("of the pattern `{one}`"));
    rule(pattern(old), pattern(new));
    let factor = |of: &BoundsOf| of.multiple_of.map(|n| format!("a multiple of {n}"));
    rule(factor(old), factor(new));
    let check = |of: &BoundsOf| of.check.as_ref().map(|one| format!("checked by `{one}`"));
    rule(check(old), check(new));
    let once = |of: &BoundsOf| of.unique_items.then(|| "each item once".to_owned());
    rule(once(old), once(new));
    if old.one_of != new.one_of {
        let shown = |values: &[Bson]| {
            let values: Vec<String> = values.iter().map(Bson::to_string).collect();
            if values.is_empty() {
                "any value".to_owned()
            } else {
                format!("one of {}", values.join(", "))
            }
        };
        let is_wider = new.one_of.is_empty()
            || !old.one_of.is_empty() && old.one_of.iter().all(|value| new.one_of.contains(value));
        let way = if is_wider { Way::Wider } else { Way::Narrower };
        all.push((
            format!("{} (was {})", shown(&new.one_of), shown(&old.one_of)),
            way,
        ));
    }
    all
}

/// The cost of a copy in the writes of its source.
fn cost(copy: &CopyOf, holder: &str) -> String {
    let CopyOf {
        source,
        of,
        consistency,
        ..
    } = copy;
    let of = of
        .as_deref()
        .map_or_else(|| format!("`{source}`"), |of| format!("`{source}.{of}`"));
    match (copy.kind.as_str(), consistency.as_str()) {
        ("copy", "snapshot") => format!(
            "a change of {of} writes nothing more, and setting the reference reads the document in `{source}` first"
        ),
        ("copy", "atomic") => format!(
            "a change of {of} writes all documents of `{holder}` that hold it, in one transaction: 3 round trips, where a plain write \
             takes 1"
        ),
        ("copy", "eventual") => format!(
            "a change of {of} writes the documents of `{holder}` that hold it afterwards: 5 round trips, where a plain write takes 1"
        ),
        ("copy", _) => format!(
            "a change of {of} writes the documents of `{holder}` that hold it too: 3 round trips in one transaction, where a plain \
             write takes 1, and batches after it where there are more than 1,000"
        ),
        ("subset", "eventual") => format!(
            "inserting, deleting or changing a document of `{source}` writes its `{holder}` afterwards: 6 to 8 round trips, where a plain \
             write takes 1"
        ),
        ("subset", _) => format!(
            "inserting, deleting or changing a document of `{source}` writes its `{holder}` too: 3 or 4 round trips in one transaction, \
             where a plain write takes 1"
        ),
        (_, "eventual") => format!(
            "inserting or deleting a document of `{source}`, and changing what is computed, writes its `{holder}` afterwards: 6 to 8 \
             round trips, where a plain write takes 1"
        ),
        _ => format!(
            "inserting or deleting a document of `{source}`, and changing what is computed, writes its `{holder}` too: 3 round trips in \
             one transaction, where a plain write takes 1"
        ),
    }
}

/// A type in words: `string, at most 100 long, required`.
fn described(field: &FieldShape) -> String {
    let mut words = vec![types(field).join(" or ")];
    let bounds = bounds(&BoundsOf::default(), &field.bounds).into_iter();
    words.extend(bounds.map(|(words, _)| {
        words
            .replace(" (was unbounded)", "")
            .replace(" (was any value)", "")
    }));
    if !field.values.is_empty() {
        words.push(field.values.join(" | "));
    }
    words.push(
        if is_optional(field) {
            "optional"
        } else {
            "required"
        }
        .to_owned(),
    );
    if let Some(default) = &field.default {
        words.push(format!("{default} where it is missing"));
    }
    words.join(", ")
}

impl Difference {
    /// The path as a reader sees it: `articles.tags`.
    fn at(&self, field: &FieldShape) -> String {
        let dot = if field.path.is_empty() { "" } else { "." };
        let of = field
            .variant
            .as_ref()
            .map(|variant| format!(" of the variant `{variant}`"));
        format!(
            "`{}{dot}{}`{}",
            self.collection,
            field.path,
            of.unwrap_or_default()
        )
    }

    fn kind(&self) -> &'static str {
        match &self.what {
            What::CollectionAdded { .. } => "collection_added",
            What::CollectionRemoved => "collection_removed",
            What::CollectionRenamed { .. } => "collection_renamed",
            What::Declared { .. } => "declaration",
            What::Size { .. } => "size",
            What::FieldAdded { .. } => "field_added",
            What::FieldRemoved { .. } => "field_removed",
            What::FieldRenamed { .. } => "field_renamed",
            What::Retyped { .. } => "retyped",
            What::Presence { from, to, .. } if is_stricter(from, to) => "required",
            What::Presence { .. } => "optional",
            What::Bound {
                way: Way::Narrower, ..
            } => "bound_narrowed",
            What::Bound { way: Way::Wider, .. } => "bound_widened",
            What::Values { .. } => "values",
            What::Default { .. } => "default",
            What::Reference { .. } => "reference",
            What::Copy { .. } => "copy",
            What::Index { .. } => "index",
            What::Validator { .. } => "validator",
        }
    }

    /// The path that it is about.
    fn field(&self) -> Option<&str> {
        match &self.what {
            What::FieldAdded { field, .. }
            | What::FieldRemoved { field, .. }
            | What::FieldRenamed { to: field, .. }
            | What::Retyped { to: field, .. }
            | What::Presence { to: field, .. }
            | What::Bound { field, .. }
            | What::Values { field, .. }
            | What::Default { field, .. } => Some(&field.path),
            What::Reference { from, to } => to.as_ref().or(from.as_ref()).map(|one| one.field.as_str()),
            What::Copy { from, to } => to.as_ref().or(from.as_ref()).map(|one| one.field.as_str()),
            _ => None,
        }
    }
}

/// One line, the point first.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collection = &self.collection;
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        match &self.what {
            What::CollectionAdded { fields } => {
                write!(
                    f,
                    "`{collection}` is a new collection, with {}",
                    schema::plural(*fields as u64, "field")
                )
            }
            What::CollectionRemoved => {
                write!(
                    f,
                    "`{collection}` is no longer declared: its documents are dropped by the step"
                )
            }
            What::CollectionRenamed { from } => {
                write!(f, "`{collection}` is the new name of the collection `{from}`")
            }
            What::Declared { what, from, to } => {
                write!(
                    f,
                    "`{collection}` has another {what}: {} (was {})",
                    or_none(to),
                    or_none(from)
                )
            }
            What::Size { from, to } => {
                let bytes = |size: &Option<u64>| match size {
                    Some(size) => format!("at most {size} bytes"),
                    None => "without a bound".to_owned(),
                };
                let is_larger = match (from, to) {
                    (Some(from), Some(to)) => to > from,
                    (_, to) => to.is_none(),
                };
                let word = if is_larger { "larger" } else { "smaller" };
                write!(
                    f,
                    "`{collection}` has {word} documents: {} (was {})",
                    bytes(to),
                    bytes(from)
                )
            }
            What::FieldAdded { field, .. } => write!(f, "{} is new: {}", self.at(field), described(field)),
            What::FieldRemoved { field, .. } => {
                write!(
                    f,
                    "{} is no longer declared (was {})",
                    self.at(field),
                    types(field).join(" or ")
                )
            }
            What::FieldRenamed { from, to } => write!(f, "{} is the new name of `{from}`", self.at(to)),
            What::Retyped { from, to, .. } if types(from) == types(to) => write!(
                f,
                "{} tells its variants by {} (was by {})",
                self.at(to),
                to.told_by.as_deref().unwrap_or("its value"),
                from.told_by.as_deref().unwrap_or("its value"),
            ),
            What::Retyped { from, to, .. } => write!(
                f,
                "{} has another type: {} (was {})",
                self.at(to),
                types(to).join(" or "),
                types(from).join(" or ")
            ),
            What::Presence { from, to, .. } => {
                let at = self.at(to);
                match (is_stricter(from, to), to.required) {
                    (true, true) => write!(
                        f,
                        "{at} is required (was optional): documents without it need a value"
                    ),
                    (true, false) => {
                        write!(
                            f,
                            "{at} is no longer read where it is `null`: such documents need a value, or none"
                        )
                    }
                    (false, _) => write!(
                        f,
                        "{at} is optional (was required): older programs may not read a document without it"
                    ),
                }
            }
            What::Bound { field, words, way } => {
                let end = match way {
                    Way::Narrower => "narrower, so existing documents may break it",
                    Way::Wider => "wider",
                };
                write!(f, "{}: {words}: {end}", self.at(field))
            }
            What::Values {
                field,
                added,
                removed,
            } => {
                let mut words = Vec::new();
                if !added.is_empty() {
                    words.push(format!(
                        "`{}` came, which older programs can't read",
                        added.join("`, `")
                    ));
                }
                if !removed.is_empty() {
                    words.push(format!(
                        "`{}` went, which documents may still have",
                        removed.join("`, `")
                    ));
                }
                write!(f, "{} has other variants: {}", self.at(field), words.join("; "))
            }
            What::Default { field, from } => {
                let shown =
                    |value: &Option<Bson>| value.as_ref().map_or_else(|| "none".to_owned(), Bson::to_string);
                write!(
                    f,
                    "{} has another default: {} (was {})",
                    self.at(field),
                    shown(&field.default),
                    shown(from)
                )
            }
            What::Reference {
                from: None,
                to: Some(to),
            } => write!(
                f,
                "`{collection}.{}` is a new reference ({}): a write that sets it checks its target, 2 round trips more",
                to.field, to.is
            ),
            What::Reference {
                from: Some(from),
                to: Some(to),
            } => write!(
                f,
                "`{collection}.{}` is another reference: {} (was: {})",
                to.field, to.is, from.is
            ),
            What::Reference { from, .. } => {
                let (field, is) = from
                    .as_ref()
                    .map(|one| (one.field.as_str(), one.is.as_str()))
                    .unwrap_or_default();
                write!(f, "`{collection}.{field}` is no longer a reference (was: {is})")
            }
            What::Copy {
                from: None,
                to: Some(to),
            } => {
                write!(
                    f,
                    "`{collection}.{}` is a new {}: {}",
                    to.field,
                    to.is,
                    cost(to, collection)
                )
            }
            What::Copy {
                from: Some(from),
                to: Some(to),
            } => write!(
                f,
                "`{collection}.{}` is derived in another way: {} (was: {}): {}",
                to.field,
                to.is,
                from.is,
                cost(to, collection)
            ),
            What::Copy { from, .. } => {
                let (field, is) = from
                    .as_ref()
                    .map(|one| (one.field.as_str(), one.is.as_str()))
                    .unwrap_or_default();
                write!(
                    f,
                    "`{collection}.{field}` is no longer kept by the library (was: {is})"
                )
            }
            What::Index {
                from: None,
                to: Some(to),
            } => {
                let unique = if to.spec.get_bool("unique").unwrap_or(false) {
                    ", and two documents with the same values are refused"
                } else {
                    ""
                };
                write!(
                    f,
                    "`{collection}` has a new index {}: each insertion and each change of these fields writes it too{unique}",
                    to.is
                )
            }
            What::Index {
                from: Some(from),
                to: Some(to),
            } => {
                write!(f, "`{collection}` has another index {} (was {})", to.is, from.is)
            }
            What::Index { from, .. } => {
                let is = from.as_ref().map(|one| one.is.as_str()).unwrap_or_default();
                write!(
                    f,
                    "`{collection}` no longer declares the index {is}: it stays until it is retired or dropped"
                )
            }
            What::Validator { words } => {
                write!(f, "`{collection}` is validated differently: {}", words.join("; "))
            }
        }
    }
}

/// Names that may belong to one thing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) renamed: Renamed,
    /// How much the names have in common, up to 1.
    pub(crate) similarity: f64,
}

impl Diff {
    /// The removed collections that may have another name now, the likeliest first.
    pub(crate) fn renamed_collections(&self, old: &Snapshot, new: &Snapshot) -> Vec<Candidate> {
        let is = |what: fn(&What) -> bool| {
            let all = self.differences.iter().filter(move |one| what(&one.what));
            all.map(|one| one.collection.as_str())
        };
        let mut all = Vec::new();
        for from in is(|what| matches!(what, What::CollectionRemoved)) {
            for to in is(|what| matches!(what, What::CollectionAdded { .. })) {
                let (Some(before), Some(after)) = (old.collection(from), new.collection(to)) else {
                    continue;
                };
                let has = |field: &&FieldShape| {
                    let mut others = after.fields.iter();
                    others.any(|other| other.path == field.path && types(other) == types(field))
                };
                let shared = before.fields.iter().filter(has).count();
                let is_like = shared * 2 > before.fields.len().max(after.fields.len());
                if before.kind == after.kind && (is_like || before.rust == after.rust) {
                    all.push(Candidate {
                        renamed: Renamed {
                            collection: None,
                            from: from.to_owned(),
                            to: to.to_owned(),
                        },
                        similarity: similarity(from, to),
                    });
                }
            }
        }
        in_order(all)
    }

    /// The removed fields that may have another name now: of the same collection, types and bounds, the likeliest first.
    pub(crate) fn renamed_fields(&self, old: &Snapshot, new: &Snapshot) -> Vec<Candidate> {
        let mut all = Vec::new();
        for removed in &self.differences {
            let What::FieldRemoved { field: from, .. } = &removed.what else {
                continue;
            };
            if !is_addressable(from) {
                continue;
            }
            for added in self
                .differences
                .iter()
                .filter(|one| one.collection == removed.collection)
            {
                let What::FieldAdded { field: to, .. } = &added.what else {
                    continue;
                };
                let name = removed.collection.as_str();
                let was = self.differences.iter().find_map(|one| match &one.what {
                    What::CollectionRenamed { from } if one.collection == name => Some(from.as_str()),
                    _ => None,
                });
                let (before, after) = (old.collection(was.unwrap_or(name)), new.collection(name));
                if is_addressable(to) && is_alike(from, to, before, after) {
                    all.push(Candidate {
                        renamed: Renamed {
                            collection: Some(name.to_owned()),
                            from: from.path.clone(),
                            to: to.path.clone(),
                        },
                        similarity: similarity(&from.path, &to.path),
                    });
                }
            }
        }
        in_order(all)
    }
}

/// Whether an update can name it alone: it is in no array, map or variant.
pub(crate) fn is_addressable(field: &FieldShape) -> bool {
    field.variant.is_none() && !field.path.is_empty() && !field.path.contains(['[', '{', '…'])
}

/// Whether two fields hold the same, with what stands in them.
fn is_alike(
    from: &FieldShape,
    to: &FieldShape,
    old: Option<&CollectionShape>,
    new: Option<&CollectionShape>,
) -> bool {
    let within = |of: Option<&CollectionShape>, outer: &str| -> Vec<(String, Option<String>, Vec<String>)> {
        let fields = of.into_iter().flat_map(|of| &of.fields);
        let within = fields.filter(|field| is_in(&field.path, outer) && field.path != outer);
        within
            .map(|field| {
                let types = types(field).iter().map(|ty| (*ty).to_owned()).collect();
                (field.path[outer.len()..].to_owned(), field.variant.clone(), types)
            })
            .collect()
    };
    types(from) == types(to)
        && from.bounds == to.bounds
        && from.is == to.is
        && from.values == to.values
        && within(old, &from.path) == within(new, &to.path)
}

fn in_order(mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.sort_by(|a, b| {
        let by_name = || (&a.renamed.from, &a.renamed.to).cmp(&(&b.renamed.from, &b.renamed.to));
        b.similarity.total_cmp(&a.similarity).then_with(by_name)
    });
    all
}

/// How much two paths have in common: by their last names, or whole.
fn similarity(a: &str, b: &str) -> f64 {
    fn last(path: &str) -> &str {
        path.rsplit('.').next().unwrap_or(path)
    }
    fn of(a: &str, b: &str) -> f64 {
        let most = a.chars().count().max(b.chars().count()).max(1);
        1.0 - distance(a, b) as f64 / most as f64
    }
    of(last(a), last(b)).max(of(a, b))
}

/// How many characters differ.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

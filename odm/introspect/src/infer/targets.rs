//! The documents that references name, by their keys.

use super::Collected;
use super::path::{Found, Path};
use super::probe;
use crate::design::{Compared, Reference, Told};
use crate::infer::columns::Class;
use crate::read::Source;
use crate::shape::Value;
use crate::sketch::hash;
use anyhow::Result;
use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf};
use std::collections::{BTreeMap, HashMap};

/// The number of keys that are looked up in a target whose documents are not all at hand.
const KEYS: usize = 10_000;
/// Documents of this size are looked up in smaller numbers.
const LARGE: u64 = 16 << 10;

/// A reference with its paths taken apart.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) from: usize,
    pub(super) to: usize,
    paths: Vec<Path>,
    targets: Vec<Path>,
    is_hex: bool,
    told: Option<(String, Told)>,
}

/// One value of a reference: the document that has it, and its key.
#[derive(Debug)]
pub(super) struct Holding<'a> {
    pub(super) parent: &'a RawDocument,
    /// The hash of the key; `None` where it is null or empty text.
    pub(super) key: Option<u64>,
    pub(super) values: Vec<Value>,
}

impl Lookup {
    pub(super) fn new(reference: &Reference, collected: &[Collected]) -> Option<Self> {
        let at = |name: &str| {
            collected
                .iter()
                .position(|collected| collected.facts.name == name)
        };
        let told = reference.told.clone().and_then(|told| {
            let name = told.path.rsplit('.').next()?.to_owned();
            Some((name, told))
        });
        Some(Self {
            from: at(&reference.from.collection)?,
            to: at(&reference.to.collection)?,
            paths: reference
                .from
                .paths
                .iter()
                .map(|path| Path::parse(path))
                .collect(),
            targets: reference.to.paths.iter().map(|path| Path::parse(path)).collect(),
            is_hex: reference.compared == Compared::Hex,
            told,
        })
    }

    /// The path of the document that has the reference; `None` where it stands in an array of values.
    pub(super) fn parent(&self) -> Option<Path> {
        match &self.paths[..] {
            [path] => path.parent(),
            _ => Some(Path::default()),
        }
    }

    /// The paths of the reference.
    pub(super) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Each value of the reference in a document.
    pub(super) fn each<'a>(&self, document: &'a RawDocument, visit: &mut dyn FnMut(Holding<'a>)) {
        if let [path] = &self.paths[..] {
            path.each(document, &mut |parent, found| {
                if self
                    .told
                    .as_ref()
                    .is_some_and(|(name, told)| !is_told(parent, name, told))
                {
                    return;
                }
                if matches!(
                    found,
                    Found::Value(RawBsonRef::Document(_) | RawBsonRef::Array(_))
                ) {
                    return;
                }
                let value = probe::key_of(&found, Class::Id, self.is_hex).filter(|value| !is_empty(value));
                visit(Holding {
                    parent,
                    key: value.as_ref().map(Value::hash),
                    values: value.into_iter().collect(),
                });
            });
            return;
        }
        let values: Vec<_> = self
            .paths
            .iter()
            .filter_map(|path| value_at(document, path))
            .collect();
        if values.is_empty() {
            return;
        }
        let is_set = values.len() == self.paths.len() && !values.iter().any(is_empty);
        visit(Holding {
            parent: document,
            key: is_set.then(|| together(&values)),
            values,
        });
    }

    /// The keys of a target document: several for keys of a map.
    fn keys_of(&self, document: &RawDocument) -> Vec<u64> {
        if let [path] = &self.targets[..] {
            let mut keys = Vec::new();
            path.each(document, &mut |_, found| {
                keys.extend(probe::key_of(&found, Class::Id, false).map(|value| value.hash()));
            });
            return keys;
        }
        let values: Vec<_> = self
            .targets
            .iter()
            .filter_map(|path| value_at(document, path))
            .collect();
        if values.len() == self.targets.len() {
            vec![together(&values)]
        } else {
            Vec::new()
        }
    }
}

fn is_told(parent: &RawDocument, name: &str, told: &Told) -> bool {
    let Ok(text) = parent.get_str(name) else {
        return false;
    };
    let own = match text.rsplit_once('/') {
        Some((before, _)) if told.prefix => format!("{before}/"),
        _ => text.to_owned(),
    };
    told.values.contains(&own)
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.is_empty())
}

/// The value at a path that leads to one.
pub(super) fn value_at(document: &RawDocument, path: &Path) -> Option<Value> {
    match path.first(document)? {
        Found::Value(value) => Value::of(&value),
        Found::Key(key) => Value::of(&RawBsonRef::String(key)),
    }
}

/// The hash of a key of several fields.
pub(super) fn together(values: &[Value]) -> u64 {
    match values {
        [value] => value.hash(),
        values => hash(&values.iter().map(Value::hash).collect::<Vec<_>>()),
    }
}

/// The documents of a target, by key. A key that is asked for and not there is not in it.
#[derive(Debug, Default)]
pub(super) struct Targets {
    pub(super) documents: HashMap<u64, RawDocumentBuf>,
    /// The keys that were looked up; `None` for all.
    asked: Option<std::collections::HashSet<u64>>,
}

impl Targets {
    /// Whether it is known whether a key is there.
    pub(super) fn knows(&self, key: u64) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(&key))
    }
}

/// The documents that each lookup refers to: those at hand, or by queries where an index serves them, or by one scan.
pub(super) async fn documents(
    source: &Source,
    collected: &[Collected],
    lookups: &[(Lookup, bool)],
) -> Result<Vec<std::rc::Rc<Targets>>> {
    let mut all: BTreeMap<(usize, Vec<String>), std::rc::Rc<Targets>> = BTreeMap::new();
    let mut of_lookups = Vec::new();
    for (lookup, _) in lookups {
        let at = (
            lookup.to,
            lookup.targets.iter().map(Path::to_string).collect::<Vec<_>>(),
        );
        if let Some(targets) = all.get(&at) {
            of_lookups.push(targets.clone());
            continue;
        }
        let to = &collected[lookup.to];
        let mut targets = Targets::default();
        if to.whole && to.kept.is_whole() {
            for document in to.kept.all() {
                for key in lookup.keys_of(document) {
                    targets
                        .documents
                        .entry(key)
                        .or_insert_with(|| document.to_owned());
                }
            }
        } else {
            let same = lookups
                .iter()
                .filter(|(other, _)| other.to == lookup.to && other.targets == lookup.targets);
            let wanted = wanted(
                same,
                collected,
                if to.facts.sizes.mean as u64 > LARGE {
                    KEYS / 10
                } else {
                    KEYS
                },
            );
            let found = found(source, to, lookup, &wanted).await?;
            for document in found {
                for key in lookup.keys_of(&document) {
                    if wanted.contains_key(&key) {
                        targets.documents.entry(key).or_insert_with(|| document.clone());
                    }
                }
            }
            targets.asked = Some(wanted.into_keys().collect());
        }
        let targets = std::rc::Rc::new(targets);
        all.insert(at, targets.clone());
        of_lookups.push(targets);
    }
    Ok(of_lookups)
}

/// The keys that holders have, with their first value as a statement asks for it.
fn wanted<'a>(
    lookups: impl Iterator<Item = &'a (Lookup, bool)>,
    collected: &[Collected],
    most: usize,
) -> HashMap<u64, Bson> {
    let mut wanted = HashMap::new();
    for (lookup, _) in lookups {
        for document in collected[lookup.from].kept.all() {
            lookup.each(document, &mut |holding| {
                let value = holding.values.first().and_then(Value::bson);
                if let (Some(key), Some(value)) = (holding.key, value)
                    && wanted.len() < most
                {
                    wanted.insert(key, value);
                }
            });
        }
    }
    wanted
}

async fn found(
    source: &Source,
    to: &Collected,
    lookup: &Lookup,
    wanted: &HashMap<u64, Bson>,
) -> Result<Vec<RawDocumentBuf>> {
    let name = &to.facts.name;
    let first = lookup.targets[0].to_string();
    let is_indexed = first == "_id"
        || to
            .facts
            .indexes
            .iter()
            .any(|index| index.keys.keys().next().is_some_and(|key| *key == first));
    if is_indexed {
        let mut values: Vec<Bson> = Vec::new();
        for value in wanted.values() {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        return source.find(name, &first, values, &[]).await;
    }
    let mut documents = Vec::new();
    source
        .scan(name, &[], &mut |document| {
            if lookup
                .keys_of(document)
                .iter()
                .any(|key| wanted.contains_key(key))
            {
                documents.push(document.to_owned());
            }
        })
        .await?;
    Ok(documents)
}

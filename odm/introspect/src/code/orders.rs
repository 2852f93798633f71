//! The order in which documents have their fields, so that a struct has them in the same.

use crate::design::{Collection, Design, Field};
use bson::{RawBsonRef, RawDocument};
use std::collections::{BTreeMap, HashMap};

/// Which field stands directly behind which, for each path with a struct.
#[derive(Debug, Default)]
pub struct Orders {
    behind: HashMap<String, HashMap<(String, String), u64>>,
    /// The length of the longest key of each map, and whether a key has a dot.
    keys: HashMap<String, (u64, bool)>,
}

impl Orders {
    /// Adds a document.
    pub fn add(&mut self, collection: &Collection, document: &RawDocument) {
        self.document(&collection.root, document);
    }

    fn document(&mut self, field: &Field, document: &RawDocument) {
        if let Some(map) = &field.map {
            let mut longest = 0;
            let mut is_dotted = false;
            for (key, value) in document.iter().flatten() {
                let key: &str = key.as_ref();
                longest = longest.max(key.chars().count() as u64);
                is_dotted |= !super::build::can_be_declared(key);
                self.value(&map.values, value);
            }
            let known = self.keys.entry(field.path.clone()).or_default();
            known.0 = known.0.max(longest);
            known.1 |= is_dotted;
            return;
        }
        let by_name: HashMap<&str, &Field> = field
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field))
            .collect();
        let mut before = String::new();
        for (name, value) in document.iter().flatten() {
            let name: &str = name.as_ref();
            let Some(below) = by_name.get(name) else { continue };
            self.value(below, value);
            let behind = self.behind.entry(field.path.clone()).or_default();
            let before = std::mem::replace(&mut before, name.to_owned());
            *behind.entry((before, name.to_owned())).or_default() += 1;
        }
    }

    fn value(&mut self, field: &Field, value: RawBsonRef<'_>) {
        match value {
            RawBsonRef::Document(document) => self.document(field, document),
            RawBsonRef::Array(items) => {
                if let Some(of) = &field.items {
                    for item in items.into_iter().flatten() {
                        self.value(of, item);
                    }
                }
            }
            _ => {}
        }
    }

    /// Puts the fields of a collection in the order of its documents.
    pub fn apply(&self, design: &mut Design, collection: &str) {
        if let Some(collection) = design.collections.iter_mut().find(|one| one.name == collection) {
            self.sort(&mut collection.root);
        }
    }

    fn sort(&self, field: &mut Field) {
        if let Some(map) = &mut field.map {
            if let Some((longest, is_dotted)) = self.keys.get(&field.path) {
                map.key_length = map.key_length.max(*longest);
                map.dotted |= is_dotted;
            }
            self.sort(&mut map.values);
        }
        if let Some(items) = &mut field.items {
            self.sort(items);
        }
        for below in &mut field.fields {
            self.sort(below);
        }
        let Some(behind) = self.behind.get(&field.path) else {
            return;
        };
        let names: Vec<String> = field.fields.iter().map(|field| field.name.clone()).collect();
        let (order, is_total) = order(&names, behind);
        field.reordered |= !is_total;
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, name) in order.iter().enumerate() {
            places.insert(name, at);
        }
        field
            .fields
            .sort_by_key(|field| places.get(field.name.as_str()).copied().unwrap_or(usize::MAX));
    }
}

/// The names in an order that agrees with what stands behind what, and whether it agrees with all of it: else the rarest are
/// disregarded.
fn order(names: &[String], behind: &HashMap<(String, String), u64>) -> (Vec<String>, bool) {
    let at: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (name.as_str(), at))
        .collect();
    let mut edges: Vec<(u64, usize, usize)> = behind
        .iter()
        .filter_map(|((before, name), number)| {
            Some((*number, *at.get(before.as_str())?, *at.get(name.as_str())?))
        })
        .collect();
    edges.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    let mut is_total = true;
    for (_, from, to) in edges {
        if leads(&next, to, from) {
            is_total = false;
        } else if let Some(of) = next.get_mut(from) {
            of.push(to);
        }
    }
    let mut waits = vec![0_usize; names.len()];
    for to in next.iter().flatten() {
        if let Some(number) = waits.get_mut(*to) {
            *number += 1;
        }
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..names.len()).filter(|at| waits.get(*at) == Some(&0)).collect();
    let mut sorted = Vec::with_capacity(names.len());
    while let Some(at) = ready.pop_first() {
        sorted.extend(names.get(at).cloned());
        for to in next.get(at).into_iter().flatten() {
            if let Some(number) = waits.get_mut(*to) {
                *number -= 1;
                if *number == 0 {
                    ready.insert(*to);
                }
            }
        }
    }
    (sorted, is_total)
}

/// Whether a way leads from one to another.
fn leads(next: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; next.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        match seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        open.extend(next.get(at).into_iter().flatten());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{doc, rawdoc};

    fn named(name: &str) -> Field {
        Field {
            path: name.to_owned(),
            name: name.to_owned(),
            ..Field::default()
        }
    }

    fn sorted(documents: &[bson::RawDocumentBuf]) -> (Vec<String>, bool) {
        let names = ["d", "a", "c", "b"];
        let collection = Collection {
            name: "all".to_owned(),
            root: Field {
                fields: names.iter().map(|name| named(name)).collect(),
                ..Field::default()
            },
            ..Collection::default()
        };
        let mut orders = Orders::default();
        for document in documents {
            orders.add(&collection, document);
        }
        let mut design = Design {
            collections: vec![collection],
            ..Design::default()
        };
        orders.apply(&mut design, "all");
        let root = &design.collections[0].root;
        (
            root.fields.iter().map(|field| field.name.clone()).collect(),
            root.reordered,
        )
    }

    #[test]
    fn fields_are_in_the_order_of_all_documents() {
        let _ = doc! {};
        let (order, reordered) = sorted(&[
            rawdoc! { "a": 1, "c": 1 },
            rawdoc! { "b": 1, "c": 1, "d": 1 },
            rawdoc! { "a": 1, "b": 1 },
        ]);
        assert_eq!((order.concat(), reordered), ("abcd".to_owned(), false));
    }

    #[test]
    fn the_commonest_order_wins() {
        let (order, reordered) = sorted(&[
            rawdoc! { "a": 1, "b": 1 },
            rawdoc! { "b": 1, "a": 1 },
            rawdoc! { "b": 1, "a": 1 },
        ]);
        assert!(order.concat().contains("ba"), "{order:?}");
        assert!(reordered);
    }
}

//! Takes back what a write did to references, and nothing of what others have done since.

use super::batch::value;
use super::graph::Edge;
use super::scope::Statement;
use crate::key::Key;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Whether a write did something to a reference of a document: an edge, the position of the collection among its targets, and
/// the key in it.
type Did<'o> = &'o dyn Fn(&Edge, usize, &Key) -> bool;

/// What a write did to the references of one document.
#[derive(Clone, Copy)]
pub(super) struct Own<'o> {
    pub(super) added: Did<'o>,
    /// `None` where that is not known.
    pub(super) removed: Option<Did<'o>>,
}

/// The references in an item of an array: by edge, target and key.
type Item = Vec<(usize, usize, Key)>;

/// The statement that gives the fields in which these references stand their former values, if they still have the present
/// ones, and others with them. An array keeps what others have brought to it, or taken from it, since then.
pub(super) fn put_back(
    before: &RawDocumentBuf,
    now: &RawDocumentBuf,
    edges: &[&Edge],
    beside: &[String],
    own: &Own<'_>,
) -> Option<Statement> {
    let mut filter = doc! { "_id": value(now, "_id")? };
    let (mut set, mut unset) = (Document::new(), Document::new());
    let mut put = |name: &str, former: Option<Bson>| {
        match former {
            Some(former) => set.insert(name, former),
            None => unset.insert(name, ""),
        };
    };
    for name in super::checks::roots(edges.iter().copied()) {
        let (former, present) = (value(before, name), value(now, name));
        filter.insert(name, doc! { "$eq": present.clone().unwrap_or(Bson::Null) });
        let none = Vec::new();
        let was = match &former {
            None | Some(Bson::Null) => Some(&none),
            Some(former) => former.as_array(),
        };
        let merged = match (was, &present) {
            (Some(was), Some(Bson::Array(present))) => {
                let within: Vec<&Edge> = edges.iter().copied().filter(|edge| edge.root() == name).collect();
                merged(name, was, present, &within, own)
            }
            _ => None,
        };
        let merged = merged.filter(|merged| !merged.is_empty());
        put(name, merged.map(Bson::Array).or(former));
    }
    for name in beside {
        put(name, value(before, name));
    }
    let mut update = Document::new();
    if !set.is_empty() {
        update.insert("$set", set);
    }
    if !unset.is_empty() {
        update.insert("$unset", unset);
    }
    (!update.is_empty()).then_some(Statement {
        filter,
        update,
        array_filters: Vec::new(),
    })
}

/// The present items of an array without those that the write has added, and with those that it has removed. `None` where it is
/// not known what it has removed, and something is missing.
fn merged(
    name: &str,
    former: &[Bson],
    present: &[Bson],
    edges: &[&Edge],
    own: &Own<'_>,
) -> Option<Vec<Bson>> {
    let items = |items: &[Bson]| -> Option<Vec<Item>> {
        items.iter().map(|item| references(name, item, edges)).collect()
    };
    let (before, now) = (items(former)?, items(present)?);
    if own.removed.is_none() && !goes_through(former, present) {
        return None;
    }
    let any = |item: &Item, did: Did<'_>| {
        item.iter().any(|(at, target, key)| {
            let edge = edges.iter().find(|edge| edge.at == *at);
            edge.is_some_and(|edge| did(edge, *target, key))
        })
    };
    let added = |item: &Item| any(item, own.added);
    let removed = |item: &Item| own.removed.is_some_and(|removed| any(item, removed));
    let item = |place: &Place| match place {
        Place::Former(at) => former.get(*at).cloned(),
        Place::Present(at) => present.get(*at).cloned(),
    };
    merge(&before, &now, added, removed).iter().map(item).collect()
}

/// The references in an item of the array of this name.
fn references(name: &str, item: &Bson, edges: &[&Edge]) -> Option<Item> {
    let alone = RawDocumentBuf::try_from(&doc! { name: [item] }).ok()?;
    let mut all = Vec::new();
    for edge in edges {
        for target in 0..edge.targets.len() {
            let keys = edge.keys(target, &alone).into_iter();
            all.extend(keys.map(|key| (edge.at, target, key)));
        }
    }
    Some(all)
}

/// Whether all items stand among others in their order.
fn goes_through<T: PartialEq>(items: &[T], others: &[T]) -> bool {
    let mut others = others.iter();
    items.iter().all(|item| others.any(|other| other == item))
}

/// Where an item of the outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Former(usize),
    Present(usize),
}

/// What is there without what was added, and with what was removed: behind what it stood behind.
fn merge<T: Eq + Hash>(
    former: &[T],
    present: &[T],
    added: impl Fn(&T) -> bool,
    removed: impl Fn(&T) -> bool,
) -> Vec<Place> {
    let mut before: HashMap<&T, usize> = HashMap::new();
    for item in former {
        *before.entry(item).or_default() += 1;
    }
    let mut stays = |item: &T| match before.get_mut(item) {
        Some(times) if *times > 0 => {
            *times -= 1;
            true
        }
        _ => !added(item),
    };
    let kept: Vec<usize> = (0..present.len())
        .filter(|at| present.get(*at).is_some_and(&mut stays))
        .collect();
    let there: HashSet<&T> = kept.iter().filter_map(|at| present.get(*at)).collect();
    // What comes behind each former item that is there, and what comes first.
    let mut behind: HashMap<&T, Vec<usize>> = HashMap::new();
    let mut outcome = Vec::with_capacity(present.len());
    let mut last = None;
    for (at, item) in former.iter().enumerate() {
        match there.contains(item) {
            true => last = Some(item),
            false if !removed(item) => {}
            false => match last {
                Some(last) => behind.entry(last).or_default().push(at),
                None => outcome.push(Place::Former(at)),
            },
        }
    }
    for at in kept {
        outcome.push(Place::Present(at));
        let next = present.get(at).and_then(|item| behind.remove(item));
        outcome.extend(next.into_iter().flatten().map(Place::Former));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn what_others_did_stays() {
        for (former, present, added, removed, expected) in [
            ("a", "ax", "x", "", "a"),
            ("a", "ayx", "x", "", "ay"),
            ("a", "xay", "x", "", "ay"),
            ("", "yx", "x", "", "y"),
            ("", "", "x", "", ""),
            ("ab", "a", "", "b", "ab"),
            ("ab", "b", "", "a", "ab"),
            ("ab", "by", "", "a", "aby"),
            ("abcd", "yad", "", "bc", "yabcd"),
            ("ab", "yx", "x", "ab", "aby"),
            // The write has removed it, and somebody has brought it again.
            ("ab", "ab", "", "b", "ab"),
            // Somebody else has taken one away, or sorted them.
            ("ab", "x", "x", "", ""),
            ("ab", "bax", "x", "", "ba"),
            ("abc", "cx", "x", "b", "bc"),
            // It was there before the write, which brought it once more.
            ("a", "aa", "a", "", "a"),
        ] {
            let (before, now) = (letters(former), letters(present));
            let places = merge(&before, &now, |c| added.contains(*c), |c| removed.contains(*c));
            let letter = |place: &Place| match place {
                Place::Former(at) => before[*at],
                Place::Present(at) => now[*at],
            };
            let found: String = places.iter().map(letter).collect();
            assert_eq!(found, expected, "{former} -> {present}, +{added} -{removed}");
        }
    }

    #[test]
    fn items_may_stand_among_others() {
        for (items, others, expected) in [
            ("ab", "xaybz", true),
            ("", "x", true),
            ("ab", "ba", false),
            ("aa", "ab", false),
            ("a", "", false),
        ] {
            assert_eq!(
                goes_through(&letters(items), &letters(others)),
                expected,
                "{items} in {others}"
            );
        }
    }
}

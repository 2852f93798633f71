//! Undoes a write's changes to references, except where they have been changed again since.

use crate::graph::edge;
use crate::graph::edge::{Edge, ReferenceTarget};
use crate::model::key::Key;
use crate::plan::touches::ArrayEffect;
use crate::store::batch::value;
use crate::store::cx::Statement;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Whether a write did something to a reference of a document: to this target, with this key in it.
type Did<'o> = &'o dyn Fn(ReferenceTarget, &Key) -> bool;

/// The changes of a write to the references of one document.
#[derive(Clone, Copy)]
pub(crate) struct OwnReferences<'o> {
    pub(crate) added: Did<'o>,
    pub(crate) removed: Did<'o>,
    pub(crate) how: &'o dyn Fn(&Edge) -> ArrayEffect,
}

/// The references in an item of an array.
type ItemReferences = Vec<(ReferenceTarget, Key)>;

/// The statement that gives these references, and the copies beside them, their previous values, unless they have been changed
/// again. Later writes of others stay: a reference that was set again, and items that were added to an array or removed from
/// it. `None` where nothing of the write is left.
pub(crate) fn put_back(
    before: &RawDocumentBuf,
    now: &RawDocumentBuf,
    edges: &[&Edge],
    own: &OwnReferences<'_>,
) -> Option<Statement> {
    let mut filter = doc! { "_id": value(now, "_id")? };
    let (mut set, mut unset) = (Document::new(), Document::new());
    let mut put = |name: &str, previous: Option<Bson>| {
        match previous {
            Some(previous) => set.insert(name, previous),
            None => unset.insert(name, ""),
        };
    };
    for spot in spots(before, now, edges) {
        let (previous, present) = (value(before, &spot.path), value(now, &spot.path));
        let back = match (spot.array, items(previous.as_ref()), items(present.as_ref())) {
            (true, Some(was), Some(is)) => {
                let merged = merged(was, is, &spot.edges, own)?;
                if merged == is {
                    continue;
                }
                let was_one = matches!(previous, Some(Bson::Array(_)));
                if merged.is_empty() && !was_one {
                    previous
                } else {
                    Some(Bson::Array(merged))
                }
            }
            _ if is_own(before, now, &spot.edges, own) => previous,
            _ => continue,
        };
        put(&spot.path, back);
        filter.insert(&spot.path, doc! { "$eq": present.unwrap_or(Bson::Null) });
        let alone = spot.edges.iter().filter(|edge| edge.path == spot.path);
        for name in alone.flat_map(|edge| edge.fields_beside()) {
            put(&name, value(before, &name));
        }
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

/// Where references are put back.
struct Spot<'e> {
    path: String,
    /// Whether it is an array, some of whose items may be others'.
    array: bool,
    /// Those that stand there.
    edges: Vec<&'e Edge>,
}

/// Where the references of these edges are put back: the array that holds them, or the reference itself, if it had that place
/// before. Where it had none, as in an enum that was another variant, it is the whole field of the document.
fn spots<'e>(before: &RawDocumentBuf, now: &RawDocumentBuf, edges: &[&'e Edge]) -> Vec<Spot<'e>> {
    let mut spots: Vec<Spot<'e>> = Vec::new();
    for edge in edges.iter().copied() {
        let depth = edge.array().unwrap_or(edge.segments.len());
        let path = edge::path(edge.segments.get(..depth).unwrap_or_default());
        let is_there = |document| value(document, &path).is_some();
        let spot = if depth <= 1 || is_there(before) && is_there(now) {
            Spot {
                path,
                array: edge.array().is_some(),
                edges: vec![edge],
            }
        } else {
            Spot {
                path: edge.root().to_owned(),
                array: false,
                edges: vec![edge],
            }
        };
        spots.push(spot);
    }
    // The outer ones first: what lies within them goes with them.
    spots.sort_by_key(|spot| spot.path.len());
    let mut outer: Vec<Spot<'e>> = Vec::new();
    for spot in spots {
        let within = |outer: &&mut Spot<'e>| crate::model::meta::names::meet(&outer.path, &spot.path);
        match outer.iter_mut().find(within) {
            Some(outer) => outer.edges.extend(spot.edges),
            None => outer.push(spot),
        }
    }
    outer
}

/// The items of an array, which may be missing.
fn items(value: Option<&Bson>) -> Option<&[Bson]> {
    match value {
        None | Some(Bson::Null) => Some(&[]),
        Some(Bson::Array(items)) => Some(items),
        Some(_) => None,
    }
}

/// Whether the references are as the write has left them, and not as before.
fn is_own(before: &RawDocumentBuf, now: &RawDocumentBuf, edges: &[&Edge], own: &OwnReferences<'_>) -> bool {
    let mut is_empty = true;
    for edge in edges {
        for target in edge.targets.iter().copied() {
            let (was, is) = (edge.keys(target, before), edge.keys(target, now));
            is_empty &= is.is_empty();
            if is
                .iter()
                .any(|key| !was.contains(key) && (own.added)(target, key))
            {
                return true;
            }
        }
    }
    let mut removed = edges.iter().flat_map(|edge| {
        edge.targets.iter().flat_map(move |target| {
            let keys = edge.keys(*target, before).into_iter();
            keys.map(move |key| (own.removed)(*target, &key))
        })
    });
    is_empty && removed.any(|did| did)
}

/// The present items of an array without those that the write has added, and with those that it has removed.
fn merged(
    previous: &[Bson],
    present: &[Bson],
    edges: &[&Edge],
    own: &OwnReferences<'_>,
) -> Option<Vec<Bson>> {
    let items = |items: &[Bson]| -> Option<Vec<ItemReferences>> {
        items.iter().map(|item| references(item, edges)).collect()
    };
    let (before, now) = (items(previous)?, items(present)?);
    let any = |item: &ItemReferences, did: Did<'_>| item.iter().any(|(target, key)| did(*target, key));
    let added = |item: &ItemReferences| any(item, own.added);
    let removed = |item: &ItemReferences| any(item, own.removed);
    if edges.iter().map(|edge| (own.how)(edge)).max() == Some(ArrayEffect::Edits) {
        let named: Vec<bool> = now.iter().map(added).collect();
        return Some(unedited(previous, present, &named));
    }
    let item = |place: &Origin| match place {
        Origin::Previous(at) => previous.get(*at).cloned(),
        Origin::Present(at) => present.get(*at).cloned(),
    };
    merge(&before, &now, added, removed).iter().map(item).collect()
}

/// The references in an item of the array that these edges stand in.
fn references(item: &Bson, edges: &[&Edge]) -> Option<ItemReferences> {
    let alone = RawDocumentBuf::try_from(&doc! { "item": item }).ok()?;
    let item = alone.get("item").ok()??;
    let mut all = Vec::new();
    for edge in edges {
        let found = edge.values_below(edge.array()?, true, item);
        let found = found.filter_map(|value| edge.points(value));
        all.extend(found.map(|(target, key)| (target, Key::of(key))));
    }
    Some(all)
}

/// The present items, with the previous ones in the place of those that the write has changed, which hold added references.
/// Their other fields tell which ones these were: other writers may have removed and added items meanwhile.
fn unedited(previous: &[Bson], present: &[Bson], named: &[bool]) -> Vec<Bson> {
    let mut gone: Vec<Option<&Bson>> = previous.iter().map(Some).collect();
    let mut undone: HashSet<usize> = HashSet::new();
    for (at, (item, named)) in present.iter().zip(named).enumerate() {
        match gone.iter_mut().find(|gone| **gone == Some(item)) {
            Some(same) => *same = None,
            None if *named => drop(undone.insert(at)),
            None => {}
        }
    }
    let mut pairs: Vec<(Reverse<usize>, usize, usize)> = Vec::new();
    for at in undone.iter().copied() {
        let likeness = |gone: &Option<&Bson>| present.get(at).zip(*gone).map(|(a, b)| alike(a, b));
        let of_item = gone.iter().enumerate();
        pairs.extend(of_item.filter_map(|(was, gone)| Some((Reverse(likeness(gone)?), at, was))));
    }
    // The most alike first, and of several that are the first ones.
    pairs.sort_unstable();
    let mut back: HashMap<usize, &Bson> = HashMap::new();
    for (_, at, was) in pairs {
        if !back.contains_key(&at)
            && let Some(previous) = gone.get_mut(was).and_then(Option::take)
        {
            back.insert(at, previous);
        }
    }
    let places = present.iter().enumerate();
    let items = places.filter_map(|(at, item)| {
        if undone.contains(&at) {
            back.get(&at).copied()
        } else {
            Some(item)
        }
    });
    items.cloned().collect()
}

/// In how many fields two items are the same.
fn alike(a: &Bson, b: &Bson) -> usize {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => a
            .iter()
            .filter(|(name, value)| b.get(*name) == Some(*value))
            .count(),
        (a, b) => usize::from(a == b),
    }
}

/// Where an item of the outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Previous(usize),
    Present(usize),
}

/// The present items without the added ones and with the removed ones, each after the item that it followed before.
fn merge<T: Eq + Hash>(
    previous: &[T],
    present: &[T],
    added: impl Fn(&T) -> bool,
    removed: impl Fn(&T) -> bool,
) -> Vec<Origin> {
    let mut before: HashMap<&T, usize> = HashMap::new();
    for item in previous {
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
    // The removed items after each previous item that is still there, and those at the beginning.
    let mut behind: HashMap<&T, Vec<usize>> = HashMap::new();
    let mut outcome = Vec::with_capacity(present.len());
    let mut last = None;
    for (at, item) in previous.iter().enumerate() {
        if there.contains(item) {
            last = Some(item);
        } else if removed(item) {
            match last {
                Some(last) => behind.entry(last).or_default().push(at),
                None => outcome.push(Origin::Previous(at)),
            }
        }
    }
    for at in kept {
        outcome.push(Origin::Present(at));
        let next = present.get(at).and_then(|item| behind.remove(item));
        outcome.extend(next.into_iter().flatten().map(Origin::Previous));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use crate::plan::put_back::*;

    fn letters(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn an_edited_item_gets_its_previous_value_again() {
        let item = |n: i32, stars: i32, by: i32| Bson::from(doc! { "n": n, "stars": stars, "by": by });
        let plain = |n: i32| Bson::from(doc! { "n": n, "stars": 0 });
        let mine = |item: &Bson| {
            item.as_document()
                .is_some_and(|item| item.get_i32("by").is_ok_and(|by| by == 9))
        };
        for (previous, present, expected) in [
            // Those beside it have no reference, as it had none.
            (
                vec![plain(1), plain(2), plain(3)],
                vec![plain(1), item(2, 7, 9), plain(3)],
                vec![plain(1), plain(2), plain(3)],
            ),
            // Others name what it named.
            (
                vec![item(1, 0, 5), item(2, 0, 5)],
                vec![item(1, 0, 9), item(2, 0, 5)],
                vec![item(1, 0, 5), item(2, 0, 5)],
            ),
            // Others have taken one away, and added one.
            (
                vec![item(1, 0, 5), item(2, 0, 5)],
                vec![item(2, 0, 9), item(3, 0, 5)],
                vec![item(2, 0, 5), item(3, 0, 5)],
            ),
            // Another writer has added one with the same reference.
            (vec![plain(1)], vec![item(1, 0, 9), item(2, 0, 9)], vec![plain(1)]),
            // Nothing of it is the same.
            (vec![plain(1)], vec![item(8, 8, 9)], vec![plain(1)]),
            (vec![], vec![item(8, 8, 9)], vec![]),
        ] {
            let named: Vec<bool> = present.iter().map(mine).collect();
            assert_eq!(
                unedited(&previous, &present, &named),
                expected,
                "{previous:?} -> {present:?}"
            );
        }
    }

    #[test]
    fn concurrent_changes_stay() {
        for (previous, present, added, removed, expected) in [
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
            // The write has removed it, and another process has added it again.
            ("ab", "ab", "", "b", "ab"),
            // Another writer has removed one, or sorted them.
            ("ab", "x", "x", "", ""),
            ("ab", "bax", "x", "", "ba"),
            ("abc", "cx", "x", "b", "bc"),
            // It was there before the write, which added it once more.
            ("a", "aa", "a", "", "a"),
        ] {
            let (before, now) = (letters(previous), letters(present));
            let places = merge(&before, &now, |c| added.contains(*c), |c| removed.contains(*c));
            let letter = |place: &Origin| match place {
                Origin::Previous(at) => before[*at],
                Origin::Present(at) => now[*at],
            };
            let found: String = places.iter().map(letter).collect();
            assert_eq!(found, expected, "{previous} -> {present}, +{added} -{removed}");
        }
    }
}

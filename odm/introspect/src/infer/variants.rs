//! Variants: documents whose fields depend on the value of one of them, or of which each has one of several fields.

use crate::design::{Field, Variant, Variants};
use bson::{RawBsonRef, RawDocument};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A tag has at most this many values.
const TAGS: usize = 100;
/// A tag takes away this share of the doubt about which fields are there, at least.
const EXPLAINED: f64 = 0.5;
/// Fewer documents than this have no variants.
const ENOUGH: usize = 8;

/// Finds the variants of the documents at each path that is read as a struct.
pub(super) fn find(root: &mut Field, documents: &[&RawDocument]) {
    visit(root, documents);
}

fn visit(field: &mut Field, objects: &[&RawDocument]) {
    field.variants = of(field, objects);
    for below in &mut field.fields {
        let values: Vec<_> = objects
            .iter()
            .filter_map(|object| object.get(below.name.as_str()).ok()?)
            .collect();
        into(below, &values);
    }
}

fn into(field: &mut Field, values: &[RawBsonRef<'_>]) {
    let objects: Vec<_> = values.iter().filter_map(|value| value.as_document()).collect();
    if !field.fields.is_empty() {
        visit(field, &objects);
    }
    if let Some(items) = &mut field.items {
        let values: Vec<_> = values
            .iter()
            .filter_map(|value| value.as_array())
            .flat_map(|array| array.into_iter().flatten())
            .collect();
        into(items, &values);
    }
    if let Some(map) = &mut field.map {
        let values: Vec<_> = objects
            .iter()
            .flat_map(|object| object.iter().flatten().map(|(_, value)| value))
            .collect();
        into(&mut map.values, &values);
    }
}

fn of(field: &Field, objects: &[&RawDocument]) -> Vec<Variants> {
    if objects.len() < ENOUGH {
        return Vec::new();
    }
    let names: Vec<&str> = field.fields.iter().map(|field| field.name.as_str()).collect();
    let at: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let has: Vec<Vec<usize>> = objects
        .iter()
        .map(|object| {
            let mut has: Vec<_> = object
                .iter()
                .flatten()
                .filter_map(|(name, _)| at.get(AsRef::<str>::as_ref(&name)).copied())
                .collect();
            has.sort_unstable();
            has
        })
        .collect();
    let mut counts = vec![0_usize; names.len()];
    for has in &has {
        has.iter().for_each(|at| counts[*at] += 1);
    }
    let optional: Vec<usize> = (0..names.len())
        .filter(|at| counts[*at] > 0 && counts[*at] < objects.len())
        .collect();
    if optional.is_empty() {
        return Vec::new();
    }
    let mut found = by_tag(field, objects, &names, &has, &counts, &optional);
    if found.is_empty() {
        found.extend(by_presence(&names, &has, &counts, &optional, objects.len()));
    }
    found
}

/// The doubt about whether a field is there, in bits, of `there` in `all`.
fn doubt(there: usize, all: usize) -> f64 {
    let share = there as f64 / all.max(1) as f64;
    if share <= 0.0 || share >= 1.0 {
        return 0.0;
    }
    -(all as f64) * (share * share.log2() + (1.0 - share) * (1.0 - share).log2())
}

/// The texts at a path of one or two names.
fn text<'a>(object: &'a RawDocument, path: &str) -> Option<&'a str> {
    match path.split_once('.') {
        Some((first, rest)) => text(object.get_document(first).ok()?, rest),
        None => object.get_str(path).ok(),
    }
}

fn by_tag(
    field: &Field,
    objects: &[&RawDocument],
    names: &[&str],
    has: &[Vec<usize>],
    counts: &[usize],
    optional: &[usize],
) -> Vec<Variants> {
    let total: f64 = optional.iter().map(|at| doubt(counts[*at], objects.len())).sum();
    let mut tags = Vec::new();
    for candidate in candidates(field) {
        let mut groups: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for (at, object) in objects.iter().enumerate() {
            groups.entry(text(object, &candidate)).or_default().push(at);
        }
        // A value a document tells everything, and nothing.
        if groups.len() < 2 || groups.len() > TAGS || groups.len() * 2 > objects.len() {
            continue;
        }
        // The presence of the tag itself is no news.
        let first = candidate.split('.').next().unwrap_or(&candidate);
        let mut left = 0.0;
        let mut own = 0.0;
        for at in optional {
            if names[*at] == first {
                own += doubt(counts[*at], objects.len());
                continue;
            }
            for members in groups.values() {
                let there = members
                    .iter()
                    .filter(|member| has[**member].binary_search(at).is_ok())
                    .count();
                left += doubt(there, members.len());
                // A group of few explains by chance.
                if there > 0 && members.len() < 3 && groups.len() > objects.len() / 4 {
                    left += 0.5;
                }
            }
        }
        if total <= own {
            continue;
        }
        let explained = 1.0 - left / (total - own);
        // Each value of a tag costs: of two that explain the same, the one with fewer values is meant.
        let score = explained - 0.002 * groups.len() as f64;
        if explained >= EXPLAINED {
            tags.push((score, explained, candidate, groups));
        }
    }
    tags.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Two fields that divide the documents in the same way are one tag.
    let mut ways: Vec<Vec<Vec<usize>>> = Vec::new();
    tags.retain(|(.., groups)| {
        let mut way: Vec<Vec<usize>> = groups.values().cloned().collect();
        way.sort();
        let is_new = !ways.contains(&way);
        ways.push(way);
        is_new
    });
    tags.truncate(2);
    tags.into_iter()
        .map(|(_, explained, tag, groups)| Variants {
            kinds: groups
                .into_iter()
                .map(|(value, members)| {
                    kind(
                        value.unwrap_or("(missing)").to_owned(),
                        &members,
                        names,
                        has,
                        counts,
                        objects.len(),
                    )
                })
                .collect(),
            tag: Some(tag),
            by_presence: Vec::new(),
            explained,
        })
        .collect()
}

/// The paths of enumerations, in the document itself or in an embedded one that each has.
fn candidates(field: &Field) -> Vec<String> {
    let may_be = |field: &Field| field.enumeration && field.distinct <= TAGS as u64;
    let mut all = Vec::new();
    for direct in &field.fields {
        if may_be(direct) {
            all.push(direct.name.clone());
        }
        let below = direct
            .fields
            .iter()
            .filter(|below| may_be(below) && direct.present == direct.of);
        all.extend(below.map(|below| format!("{}.{}", direct.name, below.name)));
    }
    all
}

fn kind(
    value: String,
    members: &[usize],
    names: &[&str],
    has: &[Vec<usize>],
    counts: &[usize],
    objects: usize,
) -> Variant {
    let (mut always, mut sometimes) = (Vec::new(), Vec::new());
    for (at, name) in names.iter().enumerate() {
        let there = members
            .iter()
            .filter(|member| has[**member].binary_search(&at).is_ok())
            .count();
        if counts[at] == objects || there == 0 {
            continue;
        }
        if there == members.len() {
            always.push((*name).to_owned());
        } else {
            sometimes.push((*name).to_owned());
        }
    }
    Variant {
        value,
        number: members.len() as u64,
        always,
        sometimes,
    }
}

/// Two or more fields of which each document has exactly one; or one whose presence brings others along.
fn by_presence(
    names: &[&str],
    has: &[Vec<usize>],
    counts: &[usize],
    optional: &[usize],
    objects: usize,
) -> Option<Variants> {
    // The greatest set of fields that exclude each other, from the commonest on.
    let mut order = optional.to_vec();
    order.sort_by(|a, b| counts[*b].cmp(&counts[*a]));
    let together = |a: usize, b: usize| {
        has.iter()
            .any(|has| has.binary_search(&a).is_ok() && has.binary_search(&b).is_ok())
    };
    let mut chosen: Vec<usize> = Vec::new();
    for at in order {
        if counts[at] * 50 >= objects && chosen.iter().all(|other| !together(*other, at)) {
            chosen.push(at);
        }
    }
    let covered: usize = chosen.iter().map(|at| counts[*at]).sum();
    let is_one_of = chosen.len() >= 2 && covered == objects;
    if !is_one_of {
        // A field that brings others along, or without which they are not there.
        let is_with = |a: usize, b: usize| {
            has.iter()
                .all(|has| has.binary_search(&a).is_err() || has.binary_search(&b).is_ok())
        };
        chosen = optional
            .iter()
            .copied()
            .filter(|at| counts[*at] * 50 >= objects)
            .filter_map(|at| {
                let others = || optional.iter().copied().filter(move |other| *other != at);
                let brought = others().filter(|other| is_with(at, *other)).count();
                let only_with = others().filter(|other| is_with(*other, at)).count();
                (brought > 0 && only_with > 0).then_some((brought + only_with, brought, counts[at], at))
            })
            .max()
            .map(|(.., at)| at)
            .into_iter()
            .collect();
        chosen.first()?;
    }
    let mut groups: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, has) in has.iter().enumerate() {
        let group = chosen
            .iter()
            .copied()
            .find(|field| has.binary_search(field).is_ok());
        groups.entry(group).or_default().push(at);
    }
    let own: BTreeSet<&str> = chosen.iter().map(|at| names[*at]).collect();
    Some(Variants {
        tag: None,
        by_presence: own.iter().map(|name| (*name).to_owned()).collect(),
        explained: 1.0,
        kinds: groups
            .into_iter()
            .map(|(field, members)| {
                let value = field.map_or("none", |at| names[at]).to_owned();
                kind(value, &members, names, has, counts, objects)
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::fields;
    use crate::shape::{Budget, Shape};
    use bson::{Document, RawDocumentBuf, doc};

    fn variants(documents: &[Document]) -> Vec<Variants> {
        let raw: Vec<_> = documents
            .iter()
            .map(|document| RawDocumentBuf::try_from(document).unwrap())
            .collect();
        let (mut shape, mut budget) = (Shape::default(), Budget::default());
        raw.iter()
            .for_each(|document| shape.add_document(document, &mut budget));
        let mut field = fields::field(&shape, "", "", documents.len() as u64, true);
        find(&mut field, &raw.iter().map(|raw| &**raw).collect::<Vec<_>>());
        field.variants
    }

    #[test]
    fn a_tag_tells_which_fields_are_there() {
        let documents: Vec<_> = (0..30)
            .map(|at| match at % 3 {
                0 => doc! { "type": "circle", "radius": at },
                1 => doc! { "type": "square", "side": at, "label": "x" },
                _ => doc! { "type": "square", "side": at },
            })
            .collect();
        let found = variants(&documents);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].tag.as_deref(), Some("type"));
        let square = found[0].kinds.iter().find(|kind| kind.value == "square").unwrap();
        assert_eq!(
            (square.number, &square.always[..], &square.sometimes[..]),
            (20, &["side".to_owned()][..], &["label".to_owned()][..])
        );
    }

    #[test]
    fn one_of_two_fields_is_a_variant_without_a_tag() {
        let documents: Vec<_> = (0..20)
            .map(|at| {
                if at % 2 == 0 {
                    doc! { "a": at }
                } else {
                    doc! { "b": at }
                }
            })
            .collect();
        assert_eq!(variants(&documents)[0].by_presence, ["a", "b"]);
    }

    #[test]
    fn fields_that_are_missing_by_chance_are_no_variants() {
        let documents: Vec<_> = (0..60)
            .map(|at| {
                let mut document = doc! { "kind": if at % 2 == 0 { "x" } else { "y" } };
                if at % 5 == 0 {
                    document.insert("note", at);
                }
                document
            })
            .collect();
        assert!(variants(&documents).is_empty());
    }
}

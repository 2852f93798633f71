//! Computed fields: of other fields of the same document, and of the documents that refer to it.

use super::Collected;
use super::path::Path;
use super::second::Holders;
use super::targets;
use crate::design::{Computed, ComputedKind, Field, Reference};
use crate::kind::Kind;
use bson::{RawBsonRef, RawDocument};
use std::collections::{HashMap, HashSet};

/// Fields of one document that are tried with each other.
const FIELDS: usize = 40;
/// Documents by which candidates are chosen.
const TRIED: usize = 40;
/// The share of the documents in which a field of the same document is as computed.
const SHARE: f64 = 0.95;
/// The same for a field that counts other documents.
const OF_REFERRERS: f64 = 0.6;
/// Fewer distinct results prove nothing.
const RESULTS: usize = 3;
/// Fewer documents prove nothing.
const DOCUMENTS: u64 = 8;

/// The computed fields of all collections. `holders` has for each reference the documents that refer to each key.
pub(super) fn find(
    collected: &[Collected],
    references: &[Reference],
    holders: &Holders,
    shown: bool,
) -> Vec<Computed> {
    let mut all = Vec::new();
    for collected in collected {
        let documents: Vec<_> = collected.kept.all().collect();
        within(
            collected,
            &collected.facts.root,
            &Path::default(),
            &documents,
            shown,
            &mut all,
        );
    }
    for reference in references {
        if let Some(holders) = holders.get(&reference.id) {
            all.extend(of_referrers(collected, reference, holders, shown));
        }
    }
    all
}

/// A value that is computed with.
#[derive(Clone, Debug)]
enum Operand {
    Number(f64),
    Text(String),
    Length(u64),
}

impl Operand {
    fn of(value: RawBsonRef<'_>) -> Option<Self> {
        Some(match value {
            RawBsonRef::Int32(number) => Self::Number(number.into()),
            RawBsonRef::Int64(number) => Self::Number(number as f64),
            RawBsonRef::Double(number) => Self::Number(number),
            RawBsonRef::String(text) if text.len() <= 200 => Self::Text(text.to_owned()),
            RawBsonRef::Array(array) => Self::Length(array.into_iter().count() as u64),
            _ => return None,
        })
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Length(length) => length.to_string(),
        }
    }
}

/// Visits each embedded document.
fn within(
    collected: &Collected,
    field: &Field,
    path: &Path,
    documents: &[&RawDocument],
    shown: bool,
    all: &mut Vec<Computed>,
) {
    if !field.fields.is_empty() {
        let mut objects: Vec<&RawDocument> = Vec::new();
        for document in documents {
            if *path == Path::default() {
                objects.push(document);
                continue;
            }
            path.each(document, &mut |_, found| {
                if let super::path::Found::Value(RawBsonRef::Document(object)) = found {
                    objects.push(object);
                }
            });
        }
        all.extend(of_objects(&collected.facts.name, path, field, &objects, shown));
    }
    let below = field
        .fields
        .iter()
        .chain(field.items.as_deref())
        .chain(field.map.as_ref().map(|map| &*map.values));
    for below in below {
        within(collected, below, &Path::parse(&below.path), documents, shown, all);
    }
}

/// One way to compute a field from others.
#[derive(Clone, Debug, PartialEq)]
struct Formula {
    kind: ComputedKind,
    result: usize,
    of: Vec<usize>,
    separator: String,
}

fn of_objects(
    collection: &str,
    path: &Path,
    field: &Field,
    objects: &[&RawDocument],
    shown: bool,
) -> Vec<Computed> {
    // Fields of the document itself and of those embedded in it.
    let mut names: Vec<String> = Vec::new();
    for direct in &field.fields {
        names.push(direct.name.clone());
        names.extend(
            direct
                .fields
                .iter()
                .map(|below| format!("{}.{}", direct.name, below.name)),
        );
    }
    names.retain(|name| name != "_id");
    names.truncate(FIELDS * 2);
    let paths: Vec<Path> = names.iter().map(|name| Path::parse(name)).collect();
    let rows: Vec<Vec<Option<Operand>>> = objects
        .iter()
        .map(|object| {
            paths
                .iter()
                .map(|path| match path.first(object)? {
                    super::path::Found::Value(value) => Operand::of(value),
                    super::path::Found::Key(_) => None,
                })
                .collect()
        })
        .collect();
    let step = rows.len().div_ceil(TRIED).max(1);
    let tried: Vec<_> = rows.iter().step_by(step).collect();
    let mut formulas = candidates(&tried, &rows, &names);
    formulas.retain(|formula| {
        // A formula of one embedded document is found there.
        let within = |at: &usize| names[*at].split_once('.').map(|(first, _)| first.to_owned());
        let first = within(&formula.result);
        if first.is_some() && formula.of.iter().all(|at| within(at) == first) {
            return false;
        }
        let mut different = 0;
        // Most formulas fail at once.
        let may_hold = tried.iter().all(|row| {
            different += u32::from(holds(formula, row) == Some(false));
            different <= 3 || different as usize * 5 <= tried.len()
        });
        if !may_hold {
            return false;
        }
        let (equal, different) = counted(formula, tried.iter().copied());
        equal >= 3 && equal as f64 >= 0.8 * (equal + different) as f64
    });
    let mut found: Vec<(f64, Formula, u64, u64)> = Vec::new();
    for formula in formulas {
        let (equal, different) = counted(&formula, rows.iter());
        let all = equal + different;
        let results: HashSet<String> = rows
            .iter()
            .filter(|row| says_something(&formula, row))
            .filter_map(|row| Some(row[formula.result].as_ref()?.shown()))
            .collect();
        let there = rows.iter().filter(|row| row[formula.result].is_some()).count() as u64;
        if all < DOCUMENTS
            || all * 2 < there
            || (equal as f64) < SHARE * all as f64
            || results.len() < RESULTS
        {
            continue;
        }
        // Of two that fit, the one that says more of it: from more documents, and the simpler one.
        let is_named = formula
            .of
            .iter()
            .any(|of| are_alike(&names[*of], &names[formula.result]));
        let score = equal as f64 - formula.of.len() as f64 * 0.1 + if is_named { 0.05 } else { 0.0 };
        found.push((score, formula, equal, different));
    }
    // A field that is the same as another is no sum of that and of something small.
    let same: HashSet<(usize, usize)> = found
        .iter()
        .filter(|(_, formula, ..)| formula.kind == ComputedKind::Same)
        .flat_map(|(_, formula, ..)| [(formula.result, formula.of[0]), (formula.of[0], formula.result)])
        .collect();
    found.retain(|(_, formula, ..)| {
        formula.kind == ComputedKind::Same
            || !formula.of.iter().any(|of| same.contains(&(formula.result, *of)))
    });
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen: HashSet<usize> = HashSet::new();
    let mut pairs: HashSet<(usize, usize)> = HashSet::new();
    let before = match path.to_string() {
        path if path.is_empty() => String::new(),
        path => format!("{path}."),
    };
    found
        .into_iter()
        .filter(|(_, formula, ..)| {
            // Of two fields that are the same, one is computed.
            let is_turned = formula.kind == ComputedKind::Same
                && !pairs.insert((
                    formula.result.min(formula.of[0]),
                    formula.result.max(formula.of[0]),
                ));
            !is_turned && seen.insert(formula.result)
        })
        .map(|(_, formula, equal, different)| Computed {
            collection: collection.to_owned(),
            path: format!("{before}{}", names[formula.result]),
            kind: formula.kind,
            of: formula
                .of
                .iter()
                .map(|at| format!("{before}{}", names[*at]))
                .collect(),
            by: None,
            separator: formula.separator.clone(),
            equal,
            different,
            examples: if shown {
                examples(&formula, &rows)
            } else {
                Vec::new()
            },
        })
        .collect()
}

fn examples(formula: &Formula, rows: &[Vec<Option<Operand>>]) -> Vec<String> {
    rows.iter()
        .filter(|row| holds(formula, row) == Some(false))
        .filter_map(|row| Some(format!("stored {}", row[formula.result].as_ref()?.shown())))
        .take(5)
        .collect()
}

/// Whether one of two names begins with the other, or both end alike.
fn are_alike(a: &str, b: &str) -> bool {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let (a, b) = (last(a), last(b));
    a.starts_with(&b) || b.starts_with(&a)
}

/// Whether a row shows more than that nothing and something is something.
fn says_something(formula: &Formula, row: &[Option<Operand>]) -> bool {
    let number = |at: &usize| row[*at].as_ref().and_then(Operand::number);
    match formula.kind {
        ComputedKind::Product => formula
            .of
            .iter()
            .all(|at| number(at).is_some_and(|number| number != 0.0 && number != 1.0)),
        ComputedKind::Sum | ComputedKind::Base100 => formula
            .of
            .iter()
            .all(|at| number(at).is_some_and(|number| number != 0.0)),
        _ => true,
    }
}

/// Formulas that hold in one of the rows in which all their fields are there.
fn candidates(
    rows: &[&Vec<Option<Operand>>],
    all: &[Vec<Option<Operand>>],
    names: &[String],
) -> Vec<Formula> {
    let mut formulas: Vec<Formula> = Vec::new();
    let numbers: Vec<usize> = (0..names.len())
        .filter(|at| varies(all, *at, &|operand| operand.number().is_some()))
        .take(FIELDS)
        .collect();
    let texts: Vec<usize> = (0..names.len())
        .filter(|at| varies(all, *at, &|operand| matches!(operand, Operand::Text(_))))
        .take(FIELDS)
        .collect();
    let arrays = (0..names.len()).filter(|at| {
        rows.iter()
            .any(|row| matches!(row[*at], Some(Operand::Length(_))))
    });
    let plain = |kind: ComputedKind, result: usize, of: Vec<usize>| Formula {
        kind,
        result,
        of,
        separator: String::new(),
    };
    for at in arrays {
        formulas.extend(
            numbers
                .iter()
                .map(|result| plain(ComputedKind::Length, *result, vec![at])),
        );
    }
    for (position, result) in numbers.iter().enumerate() {
        formulas.extend(numbers[position + 1..].iter().map(|of| {
            // The field further out repeats the one further in.
            let depth = |at: usize| std::cmp::Reverse(names[at].matches('.').count());
            let (first, second) = if depth(*of) < depth(*result) {
                (*of, *result)
            } else {
                (*result, *of)
            };
            plain(ComputedKind::Same, second, vec![first])
        }));
        for (at, a) in numbers.iter().enumerate() {
            for b in &numbers[at + 1..] {
                if a == result || b == result {
                    continue;
                }
                formulas.push(plain(ComputedKind::Sum, *result, vec![*a, *b]));
                formulas.push(plain(ComputedKind::Product, *result, vec![*a, *b]));
                formulas.push(plain(ComputedKind::Base100, *result, vec![*a, *b]));
                formulas.push(plain(ComputedKind::Base100, *result, vec![*b, *a]));
            }
        }
    }
    for result in &texts {
        for a in &texts {
            for b in &texts {
                if a == result || b == result || a == b {
                    continue;
                }
                let separator = rows.iter().find_map(|row| {
                    let (Some(Operand::Text(whole)), Some(Operand::Text(a)), Some(Operand::Text(b))) =
                        (&row[*result], &row[*a], &row[*b])
                    else {
                        return None;
                    };
                    let between = whole.strip_prefix(a.as_str())?.strip_suffix(b.as_str())?;
                    (between.len() <= 3 && !a.is_empty() && !b.is_empty()).then(|| between.to_owned())
                });
                formulas.extend(separator.map(|separator| Formula {
                    kind: ComputedKind::Concat,
                    result: *result,
                    of: vec![*a, *b],
                    separator,
                }));
            }
        }
    }
    formulas
}

/// Whether a column has several values of a kind.
fn varies(rows: &[Vec<Option<Operand>>], at: usize, is: &dyn Fn(&Operand) -> bool) -> bool {
    let mut values = rows
        .iter()
        .filter_map(|row| row[at].as_ref().filter(|operand| is(operand)));
    let Some(first) = values.next() else { return false };
    let is_other = |other: &Operand| match (first, other) {
        (Operand::Number(a), Operand::Number(b)) => a != b,
        (Operand::Text(a), Operand::Text(b)) => a != b,
        _ => true,
    };
    values.any(is_other)
}

fn counted<'a>(formula: &Formula, rows: impl Iterator<Item = &'a Vec<Option<Operand>>>) -> (u64, u64) {
    let (mut equal, mut different) = (0, 0);
    for row in rows {
        match holds(formula, row) {
            Some(true) => equal += 1,
            Some(false) => different += 1,
            None => {}
        }
    }
    (equal, different)
}

/// Whether a formula holds; `None` where a field is missing.
fn holds(formula: &Formula, row: &[Option<Operand>]) -> Option<bool> {
    let stored = row[formula.result].as_ref()?;
    let first = row[formula.of[0]].as_ref()?;
    let second = || row[*formula.of.get(1)?].as_ref();
    let is = |computed: f64| {
        let stored = stored.number()?;
        let error = (stored - computed).abs();
        Some(
            error
                <= 1e-9 * stored.abs().max(computed.abs()) + if stored.fract() == 0.0 { 1e-9 } else { 1e-3 },
        )
    };
    match formula.kind {
        ComputedKind::Same => is(first.number()?),
        ComputedKind::Length => match first {
            Operand::Length(length) => is(*length as f64),
            _ => None,
        },
        ComputedKind::Sum => is(first.number()? + second()?.number()?),
        ComputedKind::Product => is(first.number()? * second()?.number()?),
        ComputedKind::Base100 => is(first.number()? * 100.0 + second()?.number()?),
        ComputedKind::Concat => match (stored, first, second()?) {
            (Operand::Text(stored), Operand::Text(a), Operand::Text(b)) => {
                Some(*stored == format!("{a}{}{b}", formula.separator))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Numbers of a target that count its referrers, or add up a number of theirs.
fn of_referrers(
    collected: &[Collected],
    reference: &Reference,
    holders: &HashMap<u64, Vec<usize>>,
    shown: bool,
) -> Vec<Computed> {
    let at = |name: &str| collected.iter().find(|collected| collected.facts.name == name);
    let (Some(to), Some(from)) = (at(&reference.to.collection), at(&reference.from.collection)) else {
        return Vec::new();
    };
    if reference.to.paths.len() > 1 || !to.kept.is_whole() || !from.kept.is_whole() || !from.whole {
        return Vec::new();
    }
    let key = Path::parse(&reference.to.paths[0]);
    let documents: Vec<&RawDocument> = from.kept.all().collect();
    // The key itself is no number that is computed with.
    let is_key = |path: &str| {
        let mut keys = reference.to.paths.iter().chain(&reference.from.paths);
        path == "_id" || keys.any(|key| key == path)
    };
    let numbers = |field: &&Field| field.kinds.keys().any(|kind| kind.is_number()) && !is_key(&field.path);
    let own: Vec<&Field> = to.facts.root.fields.iter().filter(numbers).collect();
    // Each number of a referring document, by its position.
    let theirs: Vec<(&Field, Vec<Option<f64>>)> = from
        .facts
        .root
        .fields
        .iter()
        .filter(numbers)
        .map(|field| {
            let number = |document: &&RawDocument| {
                Operand::of(document.get(field.name.as_str()).ok().flatten()?)?.number()
            };
            (field, documents.iter().map(number).collect())
        })
        .collect();
    let none = Vec::new();
    let mut found = Vec::new();
    for field in own {
        let mut best: Option<Computed> = None;
        let count = std::iter::once((ComputedKind::CountOfReferrers, None, &none));
        let ways = count.chain(theirs.iter().flat_map(|(their, values)| {
            [ComputedKind::SumOfReferrers, ComputedKind::AverageOfReferrers]
                .map(|kind| (kind, Some(*their), values))
        }));
        for (kind, their, values) in ways {
            let is_double = field.kinds.contains_key(&Kind::Double);
            if kind == ComputedKind::CountOfReferrers && is_double {
                continue;
            }
            let (mut equal, mut different, mut examples) = (0, 0, Vec::new());
            let mut results: HashSet<u64> = HashSet::new();
            for document in to.kept.all() {
                let stored = document
                    .get(field.name.as_str())
                    .ok()
                    .flatten()
                    .and_then(Operand::of);
                let (Some(stored), Some(key)) = (
                    stored.and_then(|stored| stored.number()),
                    targets::value_at(document, &key),
                ) else {
                    continue;
                };
                let of_key: HashSet<usize> =
                    holders.get(&key.hash()).into_iter().flatten().copied().collect();
                let computed = computed(kind, &of_key, values);
                if (stored - computed).abs() <= 1e-6 * stored.abs().max(1.0) {
                    equal += 1;
                    // The sum of one number is a copy of it.
                    let is_sum = kind == ComputedKind::CountOfReferrers || of_key.len() > 1;
                    if stored != 0.0 && is_sum {
                        results.insert(stored.to_bits());
                    }
                } else {
                    different += 1;
                    if different > 20 && different > 4 * equal {
                        break;
                    }
                    if shown && examples.len() < 5 {
                        examples.push(format!("{}: stored {stored}, computed {computed}", key.text()));
                    }
                }
            }
            let all: u64 = equal + different;
            let is_enough = results.len() >= RESULTS && all >= 5 && equal as f64 >= OF_REFERRERS * all as f64;
            if is_enough && best.as_ref().is_none_or(|best| equal > best.equal) {
                best = Some(Computed {
                    collection: to.facts.name.clone(),
                    path: field.path.clone(),
                    kind,
                    of: their.map(|their| their.path.clone()).into_iter().collect(),
                    by: Some(reference.id),
                    separator: String::new(),
                    equal,
                    different,
                    examples,
                });
            }
        }
        found.extend(best);
    }
    found
}

fn computed(kind: ComputedKind, holders: &HashSet<usize>, values: &[Option<f64>]) -> f64 {
    if kind == ComputedKind::CountOfReferrers {
        return holders.len() as f64;
    }
    let values: Vec<f64> = holders.iter().filter_map(|at| values[*at]).collect();
    let sum: f64 = values.iter().sum();
    match kind {
        ComputedKind::AverageOfReferrers if !values.is_empty() => sum / values.len() as f64,
        _ => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::fields;
    use crate::shape::{Budget, Shape};
    use bson::{Document, RawDocumentBuf, doc};

    fn formulas(documents: &[Document]) -> Vec<(String, ComputedKind, Vec<String>)> {
        let raw: Vec<_> = documents
            .iter()
            .map(|document| RawDocumentBuf::try_from(document).unwrap())
            .collect();
        let (mut shape, mut budget) = (Shape::default(), Budget::default());
        raw.iter()
            .for_each(|document| shape.add_document(document, &mut budget));
        let field = fields::field(&shape, "", "", documents.len() as u64, true);
        let objects: Vec<_> = raw.iter().map(|raw| &**raw).collect();
        of_objects("c", &Path::default(), &field, &objects, true)
            .into_iter()
            .map(|computed| (computed.path, computed.kind, computed.of))
            .collect()
    }

    #[test]
    fn fields_of_a_document_are_computed_from_others() {
        let documents: Vec<_> = (1..30_i32)
            .map(|at| {
                doc! {
                    "_id": at, "a": at, "b": at * 7 % 11, "total": at + at * 7 % 11,
                    "tags": vec![1; (at % 5) as usize], "tag_count": at % 5,
                    "first": format!("f{at}"), "last": format!("l{}", at % 3), "name": format!("f{at} l{}", at % 3),
                }
            })
            .collect();
        let found = formulas(&documents);
        let is = |path: &str, kind: ComputedKind, of: &[&str]| {
            found
                .iter()
                .any(|(found, found_kind, found_of)| found == path && *found_kind == kind && found_of == of)
        };
        assert!(is("total", ComputedKind::Sum, &["a", "b"]), "{found:?}");
        assert!(is("tag_count", ComputedKind::Length, &["tags"]), "{found:?}");
        assert!(is("name", ComputedKind::Concat, &["first", "last"]), "{found:?}");
        assert_eq!(found.len(), 3, "{found:?}");
    }
}

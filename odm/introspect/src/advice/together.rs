//! Data that are apart and read together, and collections that are one.

use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, embedded, field, model, quoted, shell_collection};
use super::words::{bytes, count, counted, documents, list, percent, share};
use crate::design::{Collection, CollectionKind, Design, Reference};
use std::collections::{BTreeMap, BTreeSet};

/// Below, a reference may be none.
const EVIDENT: f64 = 0.5;
/// More values that dangle are parts of nothing.
const DANGLING: f64 = 0.1;
/// The share of the targets that have a part, so that the part belongs to the whole.
const COVERED: f64 = 0.8;
/// Fewer documents show no rule.
const DOCUMENTS: u64 = 20;
/// Larger parts are not read with each document.
const TOGETHER: f64 = 64.0 * 1024.0;
/// More parts than these are no few.
const FEW: u64 = 20;

/// Fewer collections may be alike by chance.
const COLLECTIONS: usize = 5;
/// From here on their files are felt at a start of the server and in its cache.
const MANY: usize = 20;
/// The share of fields that two of one shape have in common.
const ALIKE: f64 = 0.8;
/// Two fields are no shape.
const FIELDS: usize = 3;

/// A reference of each document of one collection to a document of another, which is its own: what it would cost to read both is one
/// query less.
fn part_of<'a>(design: &'a Design, reference: &'a Reference) -> Option<(&'a Collection, &'a Collection)> {
    let is_plain = reference.from.paths.len() == 1
        && reference.told.is_none()
        && !reference.many
        && reference.unique
        && reference.confidence >= EVIDENT
        && reference.from.collection != reference.to.collection;
    let values = reference.found + reference.dangling;
    if !is_plain || share(reference.dangling, values) > DANGLING || reference.unset > 0 {
        return None;
    }
    let part = design.collection(&reference.from.collection)?;
    let whole = design.collection(&reference.to.collection)?;
    if part.kind != CollectionKind::Plain || whole.kind != CollectionKind::Plain {
        return None;
    }
    let field = part.root.at(&reference.from.paths[0])?;
    if field.present < part.read || part.read < DOCUMENTS {
        return None;
    }
    // A document that others refer to is a thing of its own.
    let others = design
        .references
        .iter()
        .any(|other| other.confidence >= EVIDENT && other.to.collection == part.name);
    // What belongs to several is a link between them.
    let belongs = design.references.iter().filter(|other| {
        other.confidence >= EVIDENT
            && other.from.collection == part.name
            && !other.many
            && other.to.collection != reference.to.collection
    });
    if others || belongs.count() > 0 {
        return None;
    }
    let covered = share(reference.per_target.number, whole.read.max(1));
    (covered >= COVERED).then_some((part, whole))
}

/// Two collections of which each document has one of the other.
pub fn one_to_one(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for reference in &design.references {
        let Some((part, whole)) = part_of(design, reference) else {
            continue;
        };
        let size = part.sizes.p99 as f64;
        if reference.per_target.greatest != 1 || size > TOGETHER {
            continue;
        }
        let with = reference.per_target.number;
        all.push(
            Advice::new(Rule::OneToOneApart, Severity::Hint, &part.name, &reference.from.paths[0])
                .finding(format!(
                    "{} of {} of `{}`, {}, have exactly one document of `{}`, of {} in the median.",
                    count(with),
                    documents(whole.read),
                    whole.name,
                    percent(with, whole.read),
                    part.name,
                    bytes(part.sizes.median as f64),
                ))
                .cost(format!(
                    "Both of them take two round trips to read and two writes, or a transaction, to keep together; the reference and \
                     its index take about {}.",
                    bytes(part.documents as f64 * 60.0),
                ))
                .remedy(embed(reference, part, whole, None))
                .figure("affected", with as f64)
                .figure("covered", share(with, whole.read))
                .figure("medianBytes", part.sizes.median as f64),
        );
    }
    all
}

/// A few parts of each document in a collection of their own.
pub fn one_to_few(design: &Design) -> Vec<Advice> {
    let mut all = Vec::new();
    for reference in &design.references {
        let Some((part, whole)) = part_of(design, reference) else {
            continue;
        };
        let spread = &reference.per_target;
        let size = spread.greatest as f64 * part.sizes.median as f64;
        let sampled = part.read < part.documents;
        if spread.greatest < 2 || spread.greatest > FEW || size > TOGETHER || sampled {
            continue;
        }
        all.push(
            Advice::new(Rule::OneToFewApart, Severity::Hint, &part.name, &reference.from.paths[0])
                .finding(format!(
                    "Each document of `{}` has {} of `{}` in the median and at most {}, together at most about {}; nothing else refers to \
                     them.",
                    whole.name,
                    count(spread.median),
                    part.name,
                    count(spread.greatest),
                    bytes(size),
                ))
                .cost(format!(
                    "A page with its parts takes two round trips and reads {:.1} documents in the place of one; a change of several parts \
                     needs a transaction.",
                    1.0 + spread.mean,
                ))
                .remedy(embed(reference, part, whole, Some(spread.greatest)))
                .figure("affected", part.documents as f64)
                .figure("median", spread.median as f64)
                .figure("greatest", spread.greatest as f64)
                .figure("bytes", size),
        );
    }
    all
}

/// The part as an embedded document, or as an array of them.
fn embed(reference: &Reference, part: &Collection, whole: &Collection, most: Option<u64>) -> Remedy {
    let name = names::type_name(&part.name);
    let path = &reference.from.paths[0];
    let taken: Vec<String> = part
        .root
        .fields
        .iter()
        .filter(|field| field.path != "_id" && field.path != *path)
        .map(|field| field.name.clone())
        .collect();
    let body = format!("// {}", taken.join(", "));
    let body = if body.len() > 80 {
        format!("// the {} other fields of `{}`", taken.len(), part.name)
    } else {
        body
    };
    let own = embedded(&name, &[], &body);
    let (as_field, rust, attribute) = match most {
        Some(most) => (
            part.name.clone(),
            format!("Vec<{name}>"),
            format!("#[embed(max = {})]", super::remedy::bound(most)),
        ),
        None => (
            names::singular(&part.name),
            format!("Option<{name}>"),
            "#[embed]".to_owned(),
        ),
    };
    let holder = model(&whole.name, &[], &field(&as_field, &[attribute], &rust));
    let remedy = Remedy::new(match most {
        Some(_) => "Embed the parts, where a page shows them together; they stay apart where one is read or changed on its own.",
        None => "Embed it, where a page shows both; it stays apart where one is read without the other, declared by `#[parent_ref(one)]`.",
    })
    .rust(format!("{holder}\n\n{own}"));
    let [target] = reference.to.paths.as_slice() else {
        return remedy;
    };
    if path.contains(['[', '{'])
        || target.contains(['[', '{'])
        || reference.compared != crate::design::Compared::Same
    {
        return remedy;
    }
    let quoted_field = quoted(&as_field);
    let embedded = match most {
        Some(_) => format!("{{ $set: {{ {quoted_field}: \"$parts\" }} }}"),
        None => format!("{{ $set: {{ {quoted_field}: {{ $first: \"$parts\" }} }} }}"),
    };
    remedy.shell(format!(
        "{}.aggregate([\n  {{ $lookup: {{ from: {}, localField: {}, foreignField: {}, as: \"parts\",\n      pipeline: [{{ $unset: [\"_id\", {}] }}] }} \
         }},\n  {embedded},\n  {{ $unset: \"parts\" }},\n  {{ $merge: {} }},\n])",
        shell_collection(&whole.name),
        quoted(&part.name),
        quoted(target),
        quoted(path),
        quoted(path),
        quoted(&whole.name),
    ))
}

/// Many collections of one shape, whose names begin or end alike: one for each tenant, or for each month.
pub fn many_collections(design: &Design) -> Vec<Advice> {
    let plain: Vec<&Collection> = design
        .collections
        .iter()
        .filter(|collection| {
            collection.kind == CollectionKind::Plain && collection.root.fields.len() > FIELDS
        })
        .collect();
    let mut groups: BTreeMap<(bool, String), Vec<&Collection>> = BTreeMap::new();
    for collection in plain {
        let words = words(&collection.name);
        if let [first, rest @ ..] = words.as_slice()
            && let [.., last] = rest
        {
            groups.entry((true, first.clone())).or_default().push(collection);
            groups.entry((false, last.clone())).or_default().push(collection);
        }
    }
    let mut all = Vec::new();
    let mut named: BTreeSet<&str> = BTreeSet::new();
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.1.len()));
    for ((begins, stem), group) in groups {
        let Some(first) = group.iter().max_by_key(|collection| collection.root.fields.len()) else {
            continue;
        };
        let alike: Vec<&Collection> = group
            .iter()
            .copied()
            .filter(|collection| !named.contains(collection.name.as_str()) && are_alike(collection, first))
            .collect();
        if alike.len() < COLLECTIONS || stem.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        named.extend(alike.iter().map(|collection| collection.name.as_str()));
        all.push(one_collection(begins, &stem, &alike));
    }
    all
}

/// The words of a name, with a break between letters and digits.
fn words(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in names::parts(name) {
        let mut word = String::new();
        for letter in part.chars() {
            let changes = word
                .chars()
                .last()
                .is_some_and(|last| last.is_ascii_digit() != letter.is_ascii_digit());
            if changes {
                all.push(std::mem::take(&mut word));
            }
            word.push(letter);
        }
        all.push(word);
    }
    all
}

fn are_alike(one: &Collection, other: &Collection) -> bool {
    let fields = |collection: &Collection| -> BTreeSet<String> {
        collection
            .root
            .fields
            .iter()
            .map(|field| field.name.clone())
            .collect()
    };
    let (one, other) = (fields(one), fields(other));
    let common = one.intersection(&other).count() as u64;
    share(common, one.union(&other).count() as u64) >= ALIKE
}

fn one_collection(begins: bool, stem: &str, alike: &[&Collection]) -> Advice {
    let number = alike.len();
    let severity = if number >= MANY {
        Severity::Risk
    } else {
        Severity::Hint
    };
    let all: Vec<String> = alike.iter().map(|collection| collection.name.clone()).collect();
    let total: u64 = alike.iter().map(|collection| collection.documents).sum();
    let files: usize = alike.iter().map(|collection| 1 + collection.indexes.len()).sum();
    let to = if alike.iter().any(|collection| collection.name == stem) {
        format!("all_{stem}")
    } else {
        stem.to_owned()
    };
    let first = &all[0];
    let part = first.replace(stem, "");
    let part = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let mut advice = Advice::new(Rule::ManyCollections, severity, first, "")
        .finding(format!(
            "{} collections whose names {} with `{stem}` have the same shape, and {} together: {}.",
            count(number as u64),
            if begins { "begin" } else { "end" },
            documents(total),
            list(&all),
        ))
        .cost(format!(
            "The server keeps {} open for them and their indexes; a question about all takes {} round trips, and each change of an \
             index is made {} times.",
            counted(files as u64, "file", "files"),
            count(number as u64),
            count(number as u64),
        ))
        .remedy(
            Remedy::new("Store them in one collection with a field for what tells them apart, and an index that begins with it.")
                .rust(model(
                    &to,
                    &["index(fields(part, id))".to_owned()],
                    "#[field(scope)]\npub part: String,",
                ))
                .shell(format!(
                    "// for each of the {number}\n{}.aggregate([\n  {{ $set: {{ part: {} }} }},\n  {{ $merge: {} }},\n])",
                    shell_collection(first),
                    quoted(part),
                    quoted(&to),
                )),
        )
        .figure("affected", total as f64)
        .figure("collections", number as f64)
        .figure("files", files as f64);
    advice.also = all.into_iter().skip(1).collect();
    advice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    /// Each film has its details.
    fn split(per_target: &[(u64, u64)]) -> Design {
        let parts: u64 = per_target.iter().map(|(times, number)| times * number).sum();
        let mut details = reference(0, "details", "film", "films");
        details.per_target = spread(per_target);
        let mut films = collection("films", 100, vec![text("title", 100, 20)]);
        films.sizes = spread(&[(200, 100)]);
        let mut parts = collection(
            "details",
            parts,
            vec![id("film", parts), text("plot", parts, 200)],
        );
        parts.sizes = spread(&[(300, parts.documents)]);
        let mut design = database(vec![films, parts]);
        design.references.push(details);
        design
    }

    #[test]
    fn one_document_for_each_is_one_to_one() {
        let all = one_to_one(&split(&[(1, 100)]));
        assert_eq!((all.len(), all[0].collection.as_str()), (1, "details"));
        assert!(
            all[0].remedy.code[0].text.contains("#[embed]"),
            "{:?}",
            all[0].remedy
        );
        // Of a half of the films, and two of one.
        assert!(one_to_one(&split(&[(1, 50)])).is_empty());
        assert!(one_to_one(&split(&[(1, 99), (2, 1)])).is_empty());
    }

    #[test]
    fn what_others_refer_to_stays_apart() {
        let mut design = split(&[(1, 100)]);
        design
            .references
            .push(reference(1, "votes", "details", "details"));
        assert!(one_to_one(&design).is_empty());
    }

    #[test]
    fn a_few_parts_of_each_are_one_to_few() {
        let all = one_to_few(&split(&[(2, 60), (5, 40)]));
        assert_eq!(all.len(), 1);
        assert!(
            all[0].remedy.code[0].text.contains("#[embed(max = 10)]"),
            "{:?}",
            all[0].remedy
        );
        assert!(one_to_few(&split(&[(2, 60), (60, 40)])).is_empty());
        assert!(one_to_few(&split(&[(1, 100)])).is_empty());
    }

    #[test]
    fn collections_for_each_month_are_one() {
        let fields = || {
            ["at", "host", "level", "text"]
                .map(|name| text(name, 100, 10))
                .to_vec()
        };
        let of = |number: u64| {
            let months =
                (1..=number).map(|month| collection(&format!("logs_2024_{month:02}"), 100, fields()));
            database(months.collect())
        };
        let all = many_collections(&of(24));
        assert_eq!(
            (all.len(), all[0].severity, all[0].also.len()),
            (1, Severity::Risk, 23)
        );
        assert!(many_collections(&of(4)).is_empty());
        // Names that have nothing in common, and shapes that differ.
        let names = ["ants", "bees", "cats", "dogs", "elks", "fish"];
        let design = database(names.map(|name| collection(name, 100, fields())).to_vec());
        assert!(many_collections(&design).is_empty());
        let mut design = of(5);
        for (at, collection) in design.collections.iter_mut().enumerate() {
            for field in &mut collection.root.fields {
                field.name = format!("{}{at}", field.name);
            }
        }
        assert!(many_collections(&design).is_empty());
    }
}

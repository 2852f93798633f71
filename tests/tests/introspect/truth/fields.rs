//! Fields: their figures, what is optional, maps, enumerations, variants, texts of something else, types that differ.

use super::{Score, measured, part, paths, text};
use odm_introspect::design::{Design, Field, Variants};
use odm_introspect::kind::Kind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub fn compare(design: &Design, truth: &Value) -> Vec<Score> {
    let (all, optional) = all(design, truth);
    vec![
        all,
        optional,
        types(design, truth),
        maps(design, truth),
        structs(design, truth),
        enumerations(design, truth),
        variants(design, truth),
        forms(design, truth),
    ]
}

fn field<'a>(design: &'a Design, entry: &Value) -> Option<&'a Field> {
    let collection = design.collection(text(entry, "collection"))?;
    collection.root.at(text(entry, "path"))
}

fn place(entry: &Value) -> String {
    format!("{}.{}", text(entry, "collection"), text(entry, "path"))
}

/// Each field of a design with its collection.
fn each(design: &Design) -> Vec<(&str, &Field)> {
    let mut fields = Vec::new();
    for collection in &design.collections {
        collection
            .root
            .walk(&mut |field| fields.push((collection.name.as_str(), field)));
    }
    fields
}

/// Every path with its figures, and which of them are optional.
fn all(design: &Design, truth: &Value) -> (Score, Score) {
    let (mut all, mut optional) = (Score::new("fields"), Score::new("optional fields"));
    let mut listed = BTreeSet::new();
    for (name, fields) in truth["fields"].as_object().into_iter().flatten() {
        let Some(collection) = design.collection(name) else {
            all.miss(format!("the collection {name}"));
            continue;
        };
        let found: BTreeMap<&str, &Field> = each(design)
            .into_iter()
            .filter(|(of, _)| of == name)
            .map(|(_, field)| (field.path.as_str(), field))
            .collect();
        all.figure(
            &format!("{name}: documents"),
            collection.read,
            truth["collections"][name]["documents"].as_u64(),
        );
        for (path, entry) in fields.as_object().into_iter().flatten() {
            let what = format!("{name}.{path}");
            listed.insert((name.as_str(), path.as_str()));
            let is_optional = entry["optional"].as_bool().unwrap_or(false);
            let Some(field) = found.get(path.as_str()) else {
                all.miss(what.clone());
                if is_optional {
                    optional.miss(what);
                }
                continue;
            };
            all.hit();
            all.figure(
                &format!("{what}: present"),
                field.present,
                entry["present"].as_u64(),
            );
            all.figure(&format!("{what}: of"), field.of, entry["of"].as_u64());
            let kinds: BTreeMap<&str, u64> = field
                .kinds
                .iter()
                .map(|(kind, number)| (kind.name(), *number))
                .collect();
            let true_kinds: BTreeMap<&str, u64> = counts(&entry["types"]);
            all.figures += 1;
            if kinds != true_kinds {
                all.off
                    .push(format!("{what}: types {kinds:?} instead of {true_kinds:?}"));
            }
            if let (Some(length), Some(greatest)) = (&field.lengths, entry["length"]["max"].as_u64()) {
                all.figure(
                    &format!("{what}: greatest length"),
                    length.greatest,
                    Some(greatest),
                );
            }
            match (is_optional, field.present < field.of && entry.get("of").is_some()) {
                (true, true) => optional.hit(),
                (true, false) => optional.miss(what),
                (false, true) => optional.wrong.push(what),
                (false, false) => {}
            }
        }
    }
    for (collection, field) in each(design) {
        if !field.path.is_empty() && !listed.contains(&(collection, field.path.as_str())) {
            all.wrong.push(format!("{collection}.{}", field.path));
        }
    }
    (all, optional)
}

fn counts(types: &Value) -> BTreeMap<&str, u64> {
    let types = types.as_object().into_iter().flatten();
    types
        .map(|(name, number)| (name.as_str(), number.as_u64().unwrap_or_default()))
        .collect()
}

/// Fields with values of several types.
fn types(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("types that differ");
    let mut listed = BTreeSet::new();
    for entry in part(truth, "types_that_differ") {
        let what = place(entry);
        let differs = field(design, entry).is_some_and(differs);
        listed.insert(what.clone());
        if differs { score.hit() } else { score.miss(what) }
    }
    for (collection, field) in each(design) {
        let what = format!("{collection}.{}", field.path);
        if differs(field) && !listed.contains(&what) {
            score.wrong.push(what);
        }
    }
    score
}

fn differs(field: &Field) -> bool {
    field.kinds.keys().filter(|kind| **kind != Kind::Null).count() > 1
}

fn maps(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("maps");
    let mut listed = BTreeSet::new();
    for entry in part(truth, "maps") {
        let what = place(entry);
        listed.insert(what.clone());
        match field(design, entry).and_then(|field| field.map.as_ref()) {
            Some(map) => {
                score.hit();
                score.figure(
                    &format!("{what}: keys"),
                    map.keys,
                    measured(entry, "distinct_keys"),
                );
            }
            None => score.miss(format!(
                "{what}, {} keys, told by {}",
                entry["measured"]["distinct_keys"],
                text(entry, "key")
            )),
        }
    }
    for (collection, field) in each(design) {
        let what = format!("{collection}.{}", field.path);
        // One that has the name of a documented map is one, too.
        let is_one = listed.iter().any(|map| {
            let name = |path: &str| path.rsplit('.').next().map(str::to_owned);
            name(map) == name(&what)
        });
        if let Some(map) = &field.map
            && !is_one
        {
            score.wrong.push(format!("{what}: {}", map.evidence));
        }
    }
    score
}

/// Embedded documents that look like maps, and have fields.
fn structs(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("structs like maps");
    for entry in part(truth, "structs_like_maps") {
        let what = place(entry);
        match field(design, entry) {
            Some(field) if field.map.is_none() && !field.fields.is_empty() => {
                score.hit();
                let fields = entry["measured"]["fields"]
                    .as_object()
                    .map(|fields| fields.len() as u64);
                score.figure(&format!("{what}: fields"), field.fields.len() as u64, fields);
            }
            Some(field) => score.miss(format!(
                "{what}: {}",
                field
                    .map
                    .as_ref()
                    .map_or("it has no fields", |map| map.evidence.as_str())
            )),
            None => score.miss(what),
        }
    }
    score
}

fn enumerations(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("enumerations");
    score.open = true;
    let mut listed = BTreeSet::new();
    for entry in part(truth, "enumerations") {
        let what = place(entry);
        listed.insert(what.clone());
        let values = counts(&entry["measured"]["values"]);
        match field(design, entry) {
            Some(field) if field.enumeration => {
                score.hit();
                let found: BTreeMap<&str, u64> = field
                    .values
                    .iter()
                    .map(|(value, number)| (value.as_str(), *number))
                    .collect();
                let texts = values
                    .into_iter()
                    .filter(|(value, _)| *value != "None")
                    .collect::<BTreeMap<_, _>>();
                score.figures += 1;
                if found != texts {
                    score.off.push(format!("{what}: {found:?} instead of {texts:?}"));
                }
            }
            Some(field) => score.miss(format!("{what}: {} distinct of {}", values.len(), field.present)),
            None => score.miss(what),
        }
    }
    for (collection, field) in each(design) {
        let what = format!("{collection}.{}", field.path);
        if field.enumeration && !listed.contains(&what) {
            let values: Vec<&str> = field.values.iter().map(|(value, _)| value.as_str()).collect();
            score
                .wrong
                .push(format!("{what} {:?}", &values[..values.len().min(8)]));
        }
    }
    score
}

fn variants(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("variants");
    score.open = true;
    let mut listed = BTreeSet::new();
    for entry in part(truth, "variants") {
        let (path, tag) = (text(entry, "path"), entry["tag"].as_str());
        let presence = paths(&entry["by_presence"]);
        let outside = entry["tag_outside"].as_str();
        let what = format!(
            "{} by {}",
            place(entry),
            tag.or(outside).map_or_else(|| presence.join(", "), str::to_owned)
        );
        let is_it = |variants: &&Variants| match (tag, outside) {
            (Some(tag), _) => variants.tag.as_deref() == Some(tag),
            (None, Some(outside)) => {
                variants.tag.as_deref() == Some(outside) || is_set(&variants.by_presence, &presence)
            }
            (None, None) => variants.tag.is_none() && is_set(&variants.by_presence, &presence),
        };
        let field = field(design, entry);
        let found = field.and_then(|field| field.variants.iter().find(is_it));
        let Some(found) = found else {
            score.miss(what);
            continue;
        };
        listed.insert((text(entry, "collection"), path, found.tag.clone()));
        score.hit();
        for (value, kind) in entry["measured"]["tags"].as_object().into_iter().flatten() {
            let number = found
                .kinds
                .iter()
                .find(|variant| variant.value == *value)
                .map_or(0, |variant| variant.number);
            // Those without the tag are no kind.
            if value != "None" && value != "none" {
                score.figure(&format!("{what}: {value}"), number, kind["n"].as_u64());
            }
        }
    }
    for (collection, field) in each(design) {
        for variants in &field.variants {
            if !listed.contains(&(collection, field.path.as_str(), variants.tag.clone())) {
                score.wrong.push(format!(
                    "{collection}.{} by {:?} {:?}: {} kinds, explained {:.2}",
                    field.path,
                    variants.tag,
                    variants.by_presence,
                    variants.kinds.len(),
                    variants.explained
                ));
            }
        }
    }
    score
}

fn is_set(found: &[String], truth: &[String]) -> bool {
    found.iter().collect::<BTreeSet<_>>() == truth.iter().collect::<BTreeSet<_>>()
}

/// Numbers, dates and flags as text.
fn forms(design: &Design, truth: &Value) -> Score {
    let mut score = Score::new("numbers and dates as text");
    score.open = true;
    let mut listed = BTreeSet::new();
    for entry in part(truth, "text_forms") {
        let what = place(entry);
        listed.insert(what.clone());
        let form = field(design, entry)
            .and_then(|field| field.form)
            .map(|form| serde_json::to_value(form).expect("a name"));
        match form {
            Some(Value::String(form)) if form == text(entry, "form") => score.hit(),
            form => score.miss(format!("{what}: {form:?} instead of {}", text(entry, "form"))),
        }
    }
    for (collection, field) in each(design) {
        let what = format!("{collection}.{}", field.path);
        if let Some(form) = field.form
            && !listed.contains(&what)
        {
            score.wrong.push(format!("{what}: {form:?}"));
        }
    }
    score
}

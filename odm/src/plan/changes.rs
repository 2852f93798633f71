//! The changes of an update to the references of a document, read from its operators.

use crate::model::graph::edge::Edge;
use crate::model::key::Key;
use crate::plan::operators::Built;
use crate::plan::operators::guard::Guard;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

/// How the name of a field in an update lies to the path of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meets {
    /// It ends `depth` segments into the path; `item` says that it means an item of the array there.
    Within { depth: usize, item: bool },
    /// It goes on inside the reference.
    Beyond,
}

fn meets(edge: &Edge, name: &str) -> Option<Meets> {
    let (mut depth, mut item) = (0_usize, false);
    for part in name.split('.') {
        let array = depth
            .checked_sub(1)
            .and_then(|at| edge.segments.get(at))
            .is_some_and(|before| before.array);
        let position = part.starts_with('$') || part.bytes().all(|b| b.is_ascii_digit());
        if array && position && !item {
            item = true;
            continue;
        }
        match edge.segments.get(depth) {
            None => return Some(Meets::Beyond),
            Some(segment) if segment.name == part => (depth, item) = (depth + 1, false),
            Some(_) => return None,
        }
    }
    Some(Meets::Within { depth, item })
}

/// The names of the fields that an operator changes, with the values.
fn fields<'u>(operator: &str, fields: &'u Document) -> impl Iterator<Item = (&'u str, &'u Bson)> {
    // A renamed field is gone, and another is there.
    let renames = operator == "$rename";
    fields.iter().flat_map(move |(name, value)| {
        let new = value.as_str().filter(|_| renames).map(|new| (new, value));
        [Some((name.as_str(), value)), new].into_iter().flatten()
    })
}

/// Whether an update changes the reference, or may do so.
pub(crate) fn touches(edge: &Edge, update: &Document) -> bool {
    update.iter().any(|(operator, changed)| match changed {
        Bson::Document(changed) => fields(operator, changed).any(|(name, _)| meets(edge, name).is_some()),
        _ => true,
    })
}

/// Passes the references that an update adds to `take`.
pub(crate) fn added_values<'u>(edge: &Edge, update: &'u RawDocument, take: &mut dyn FnMut(RawBsonRef<'u>)) {
    let elements = |document: &'u RawDocument| document.iter().map_while(|element| element.ok());
    for (operator, changed) in elements(update) {
        let RawBsonRef::Document(changed) = changed else {
            continue;
        };
        for (name, value) in elements(changed) {
            let Some(Meets::Within { depth, item }) = meets(edge, name.as_str()) else {
                continue;
            };
            match operator.as_str() {
                "$set" | "$setOnInsert" | "$min" | "$max" => {
                    edge.values_below(depth, item, value).for_each(&mut *take);
                }
                "$push" | "$addToSet" => match each(value) {
                    Some(items) => {
                        for item in items.into_iter().map_while(|item| item.ok()) {
                            edge.values_below(depth, true, item).for_each(&mut *take);
                        }
                    }
                    None => edge.values_below(depth, true, value).for_each(&mut *take),
                },
                _ => {}
            }
        }
    }
}

/// The effect of a write at the position of an edge's references: their outermost array, if there is one. Of several the last
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// Items come to the array.
    Adds,
    /// Items that are there are changed, or replaced, each at its place.
    Edits,
    /// There may be anything.
    Replaces,
}

/// The effect of an update on the references of this edge.
pub(crate) fn how(edge: &Edge, update: &Document) -> How {
    let of_field = |operator: &str, meets: Meets| {
        let in_item = edge.array().is_some_and(|array| match meets {
            Meets::Within { depth, item } => depth > array || depth == array && item,
            Meets::Beyond => true,
        });
        match operator {
            _ if in_item => How::Edits,
            "$push" | "$addToSet" => How::Adds,
            _ => How::Replaces,
        }
    };
    let all = update.iter().filter_map(|(operator, changed)| match changed {
        Bson::Document(changed) => fields(operator, changed)
            .filter_map(|(name, _)| Some(of_field(operator, meets(edge, name)?)))
            .max(),
        _ => Some(How::Replaces),
    });
    all.max().unwrap_or(How::Adds)
}

fn each(value: RawBsonRef<'_>) -> Option<&mongodb::bson::RawArray> {
    value.as_document()?.get_array("$each").ok()
}

/// Makes every push onto an array of a two-way reference an `$addToSet`: the array is a set, since a link is there or is
/// not.
pub(crate) fn as_sets<'g>(edges: impl Iterator<Item = &'g Edge>, built: &mut Built) {
    for edge in edges.filter(|edge| edge.list && edge.is_two_way()) {
        let Some(Bson::Document(pushes)) = built.update.get_mut("$push") else {
            return;
        };
        let Some(values) = pushes.get(&edge.path).and_then(pushed) else {
            continue;
        };
        pushes.remove(&edge.path);
        if pushes.is_empty() {
            built.update.remove("$push");
        }
        let entry = built.update.entry("$addToSet".to_owned());
        if let Bson::Document(sets) = entry.or_insert_with(|| Document::new().into()) {
            sets.insert(&edge.path, doc! { "$each": values.clone() });
        }
        for guard in &mut built.guards {
            if let Guard::Room {
                name, unless_there, ..
            } = guard
                && *name == edge.path
            {
                unless_there.get_or_insert_with(|| values.clone());
            }
        }
    }
}

/// The values of a `$push` that only appends.
fn pushed(value: &Bson) -> Option<Vec<Bson>> {
    match value {
        Bson::Document(push) if push.keys().any(|key| key.starts_with('$')) => {
            let each = push.get_array("$each").ok()?;
            (push.len() == 1).then(|| each.clone())
        }
        one => Some(vec![one.clone()]),
    }
}

/// The references of a two-way field after an update, if that can be told from those before; they stand in the array's
/// order. `insert` says that the update inserts the document.
pub(crate) fn after(edge: &Edge, before: &[Bson], built: &Built, insert: bool) -> Option<Vec<Bson>> {
    let mut values = before.to_vec();
    let is_array_there = |guard: &Guard| matches!(guard, Guard::There { name, .. } if *name == edge.path);
    for (operator, changed) in &built.update {
        let changed = changed.as_document()?;
        for (name, value) in fields(operator, changed) {
            match (operator.as_str(), meets(edge, name)) {
                (_, None) => {}
                ("$setOnInsert", Some(_)) if !insert => {}
                ("$set" | "$setOnInsert", Some(Meets::Within { item: false, .. })) => {
                    values = match value {
                        Bson::Null => Vec::new(),
                        Bson::Array(items) if edge.list => items.clone(),
                        one => vec![one.clone()],
                    };
                }
                ("$set", Some(Meets::Within { item: true, .. })) => {
                    // Where there is no array, nothing is changed.
                    let (old, new) = (replaced(name, built)?, value);
                    if built.guards.iter().any(is_array_there) {
                        for item in values.iter_mut().filter(|item| same(item, &old)) {
                            *item = new.clone();
                        }
                    }
                }
                ("$unset", Some(Meets::Within { item: false, .. })) => values.clear(),
                ("$addToSet", Some(Meets::Within { item: false, .. })) => {
                    for new in added(value) {
                        if !values.iter().any(|there| same(there, new)) {
                            values.push(new.clone());
                        }
                    }
                }
                ("$pullAll", Some(Meets::Within { item: false, .. })) => {
                    let gone = value.as_array()?;
                    values.retain(|there| !gone.iter().any(|gone| same(there, gone)));
                }
                ("$pop", Some(Meets::Within { item: false, .. })) => match value {
                    Bson::Int32(1) => drop(values.pop()),
                    Bson::Int32(-1) if !values.is_empty() => drop(values.remove(0)),
                    Bson::Int32(-1) => {}
                    _ => return None,
                },
                _ => return None,
            }
        }
    }
    Some(values)
}

fn added(value: &Bson) -> &[Bson] {
    match value.as_document().map(|document| document.get_array("$each")) {
        Some(Ok(items)) => items,
        _ => std::slice::from_ref(value),
    }
}

/// The value of an item `name.$[e0]`: the one that `replace_item` looks for.
fn replaced(name: &str, built: &Built) -> Option<Bson> {
    let identifier = name.split_once(".$[")?.1.strip_suffix(']')?;
    let mut filters = built.array_filters.iter();
    let filter = filters.find_map(|filter| filter.get_document(identifier).ok())?;
    (filter.len() == 1).then(|| filter.get("$eq").cloned())?
}

fn same(a: &Bson, b: &Bson) -> bool {
    Key::of_bson(a) == Key::of_bson(b)
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;

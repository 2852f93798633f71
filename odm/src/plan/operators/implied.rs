//! Values that every document has which matches a condition.

use crate::graph::edge::{Derived, dotted};
use crate::graph::{Graph, fields_of};
use crate::model::document::DocumentMeta;
use crate::model::meta::names::meet;
use crate::store::fields::put;
use crate::{Error, Result};
use mongodb::bson::Bson;
use mongodb::bson::Document;

/// The value that a field has in every document that matches, if the condition says it as MongoDB takes it for a new document:
/// of the field itself, or of a document that it is in.
pub(crate) fn demanded<'c>(condition: &'c Document, path: &str) -> Option<&'c Bson> {
    condition.iter().find_map(|(name, value)| {
        if name == "$and" {
            let mut all = value.as_array()?.iter().filter_map(Bson::as_document);
            return all.find_map(|condition| demanded(condition, path));
        }
        let rest = path.strip_prefix(name.as_str())?;
        let value = match value {
            Bson::Document(operators) => match demanded_by(operators) {
                Some(value) => value,
                // A value that is a document itself.
                None if operators.keys().all(|key| !key.starts_with('$')) => value,
                None => return None,
            },
            Bson::Array(_) | Bson::RegularExpression(_) => return None,
            value => value,
        };
        let found = match rest.strip_prefix('.') {
            Some(below) => below
                .split('.')
                .try_fold(value, |value, part| value.as_document()?.get(part))?,
            None if rest.is_empty() => value,
            None => return None,
        };
        (*found != Bson::Null).then_some(found)
    })
}

/// The value that these operators demand: `$eq`, and `$in` and `$all` of one value, which the server takes for the same.
pub(crate) fn demanded_by(operators: &Document) -> Option<&Bson> {
    let only = |operator: &str| match operators.get(operator)?.as_array()?.as_slice() {
        [Bson::RegularExpression(_)] => None,
        [Bson::Document(one)] if one.keys().any(|key| key.starts_with('$')) => None,
        [one] => Some(one),
        _ => None,
    };
    operators
        .get("$eq")
        .or_else(|| only("$in"))
        .or_else(|| only("$all"))
}

/// Whether a condition may stand behind `$nor` and beside another one.
pub(crate) fn combines(filter: &Document) -> bool {
    fn is_free(value: &Bson) -> bool {
        match value {
            Bson::Document(document) => combines(document),
            Bson::Array(items) => items.iter().all(is_free),
            _ => true,
        }
    }
    filter
        .iter()
        .all(|(name, value)| !matches!(name.as_str(), "$text" | "$near" | "$nearSphere") && is_free(value))
}

/// Says in an upsert's changes which references its condition gives to a new document, so that they are checked and linked,
/// and their copies come with them.
///
/// # Errors
/// [`Error::Query`] where the condition would give it a least or a greatest value of children that it has not.
pub(crate) fn from_condition(
    graph: &Graph,
    meta: &DocumentMeta,
    condition: &Document,
    update: &mut Document,
) -> Result<()> {
    for edge in graph.outgoing(meta) {
        let follows = !edge.copies.is_empty() || edge.is_two_way() || edge.reference.check;
        // An id is there by itself.
        if !follows || edge.copies.is_empty() && edge.is_in_id() {
            continue;
        }
        // Of an array its whole is demanded, or nothing.
        let path = match edge.array() {
            Some(at) => dotted(edge.segments.get(..at).unwrap_or_default()),
            None => edge.path.clone(),
        };
        let is_changed = update
            .values()
            .filter_map(Bson::as_document)
            .flat_map(Document::keys)
            .any(|name| meet(name, &path));
        let demanded = demanded(condition, &path).filter(|_| !is_changed);
        if let Some(value) = demanded.filter(|value| edge.array().is_none() || value.as_array().is_some()) {
            put(update, "$setOnInsert", &path, value.clone());
        }
    }
    nothing_of_condition(graph, meta, condition, update)
}

/// A new document takes what is copied and derived from elsewhere, not from an upsert's condition: there it is nothing until
/// it is known better.
pub(crate) fn nothing_of_condition(
    graph: &Graph,
    meta: &DocumentMeta,
    condition: &Document,
    update: &mut Document,
) -> Result<()> {
    let mut asked = Vec::new();
    fields_of(condition, &mut asked);
    let is_changed = |path: &str, update: &Document| {
        let changes = update.iter().filter(|(operator, _)| *operator != "$setOnInsert");
        let mut fields = changes.filter_map(|(_, fields)| fields.as_document());
        fields.any(|fields| fields.keys().any(|name| meet(name, path)))
    };
    let ignore = |path: &str, update: &mut Document| {
        if asked.iter().any(|name| meet(name, path)) {
            put(update, "$setOnInsert", path, Bson::Null);
        }
    };
    for edge in graph.copying(meta).filter(|edge| edge.array().is_none()) {
        if is_changed(&edge.path, update) {
            continue;
        }
        for copy in edge.copies.iter().filter(|copy| !copy.required) {
            ignore(&edge.copy_path(copy), update);
        }
    }
    // A field that has a value without children gets that value; where a field is missing without children, no operator can
    // leave it out.
    let has_none = |derived: &&Derived| derived.nothing().is_none();
    for derived in graph.derived_in(meta).filter(has_none) {
        let name = derived.field.name;
        if demanded(condition, name).is_some() {
            return Err(Error::Query {
                collection: meta.collection,
                message: format!(
                    "an upsert stores the values of its condition, but `{name}` is computed from children, and a new document \
                     has none: leave `{name}` out of the condition"
                ),
            });
        }
    }
    Ok(())
}

/// Whether a condition may stand in a pipeline behind others.
pub(crate) fn matches(filter: &Document) -> bool {
    fn is_free(value: &Bson) -> bool {
        match value {
            Bson::Document(document) => document
                .iter()
                .all(|(name, value)| name != "$where" && is_free(value)),
            Bson::Array(items) => items.iter().all(is_free),
            _ => true,
        }
    }
    combines(filter) && is_free(&Bson::Document(filter.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn a_condition_on_a_whole_struct_demands_its_fields() {
        let rating = doc! { "value": 90, "by": { "name": "Ada" }, "none": null };
        let behind_operator = doc! { "$and": [{ "a": 1 }, { "rating": { "$eq": &rating } }] };
        for condition in [behind_operator, doc! { "rating": &rating }] {
            let found = |path| demanded(&condition, path).cloned();
            assert_eq!(found("rating"), Some(rating.clone().into()));
            assert_eq!(found("rating.value"), Some(90.into()));
            assert_eq!(found("rating.by.name"), Some("Ada".into()));
            for none in ["rating.none", "rating.value.x", "rating.else", "ratings", "rat"] {
                assert_eq!(found(none), None, "{none}");
            }
        }
        let condition = doc! { "rating": { "$gt": 1 }, "by": [1], "n.m": { "$eq": 2 }, "x": null };
        for none in ["rating", "rating.$gt", "by", "by.0", "n", "x"] {
            assert_eq!(demanded(&condition, none), None, "{none}");
        }
        assert_eq!(demanded(&condition, "n.m"), Some(&2.into()));
    }
}

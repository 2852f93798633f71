//! Shard keys: their fields, the key of a document, and the key that a filter or an update names exactly.

use crate::order::hash;
use crate::reply::{Answer, BAD_VALUE, integer, shell};
use bson::{Bson, Document};

/// A field of a shard key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyField {
    pub path: String,
    pub is_hashed: bool,
}

/// The shard key of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShardKey {
    pub fields: Vec<KeyField>,
}

impl ShardKey {
    /// Reads `{ tenant: 1, _id: "hashed" }`.
    pub(crate) fn parse(pattern: &Document) -> Answer<ShardKey> {
        let mut fields: Vec<KeyField> = Vec::new();
        for (path, kind) in pattern {
            let is_hashed = kind.as_str() == Some("hashed");
            let is_second_hashed = is_hashed && fields.iter().any(|field| field.is_hashed);
            if is_second_hashed || (!is_hashed && integer(kind) != Some(1)) {
                return BAD_VALUE.refuse(format!(
                    "Shard key {} can contain at most one 'hashed' field, and/or multiple numerical fields set to a value of 1. \
                     Failed to parse field {path}",
                    shell(pattern)
                ));
            }
            let path = path.clone();
            fields.push(KeyField { path, is_hashed });
        }
        if fields.is_empty() {
            return BAD_VALUE.refuse("Shard key is empty");
        }
        Ok(ShardKey { fields })
    }

    /// The pattern, as it is stored in `config.collections`.
    pub(crate) fn pattern(&self) -> Document {
        let field = |field: &KeyField| {
            let kind = if field.is_hashed {
                Bson::from("hashed")
            } else {
                Bson::from(1)
            };
            (field.path.clone(), kind)
        };
        self.fields.iter().map(field).collect()
    }

    /// The name that the index of the key gets.
    pub(crate) fn index_name(&self) -> String {
        let part =
            |field: &KeyField| format!("{}_{}", field.path, if field.is_hashed { "hashed" } else { "1" });
        Vec::from_iter(self.fields.iter().map(part)).join("_")
    }

    /// Whether a field has the hash of its value in the key.
    pub(crate) fn is_hashed(&self) -> bool {
        self.fields.iter().any(|field| field.is_hashed)
    }

    /// The values of a document in the fields of the key, a missing one as null; `None` where one of them is an array, or lies in one.
    pub(crate) fn values(&self, document: &Document) -> Option<Vec<Bson>> {
        let value = |field: &KeyField| match at(document, &field.path) {
            Found::Value(Bson::Array(_)) | Found::InArray => None,
            Found::Value(value) => Some(value.clone()),
            Found::Missing => Some(Bson::Null),
        };
        self.fields.iter().map(value).collect()
    }

    /// The place of these values among the chunks: hashed fields by their hash.
    pub(crate) fn place(&self, values: &[Bson]) -> Vec<Bson> {
        let value = |(field, value): (&KeyField, &Bson)| match field.is_hashed {
            true => Bson::Int64(hash(value)),
            false => value.clone(),
        };
        self.fields.iter().zip(values).map(value).collect()
    }

    /// The values that a filter demands of each field by equality; `None` where it leaves one open, and where an equality of one stands
    /// in it twice.
    pub(crate) fn exact(&self, filter: &Document) -> Option<Vec<Bson>> {
        let paths = self.fields.iter().map(|field| field.path.as_str());
        let equalities = equalities(filter, &Vec::from_iter(paths))?;
        self.fields
            .iter()
            .map(|field| equal(&equalities, &field.path))
            .collect()
    }

    /// The values with their fields, in the order of the key.
    pub(crate) fn named(&self, values: &[Bson]) -> Document {
        let paths = self.fields.iter().map(|field| field.path.clone());
        paths.zip(values.iter().cloned()).collect()
    }

    /// Whether an index with these keys can be unique: its first fields have to be those of the key, in any direction.
    pub(crate) fn allows_unique(&self, index: &Document) -> bool {
        let is_id = index.len() == 1 && index.contains_key("_id");
        is_id
            || (index.len() >= self.fields.len()
                && self
                    .fields
                    .iter()
                    .zip(index.keys())
                    .all(|(field, path)| field.path == *path))
    }

    /// Whether an index serves the key: it begins with its fields.
    pub(crate) fn is_served_by(&self, index: &Document) -> bool {
        let serves = |(field, (path, kind)): (&KeyField, (&String, &Bson))| {
            field.path == *path
                && field.is_hashed == (kind.as_str() == Some("hashed"))
                && kind.as_str() != Some("text")
        };
        index.len() >= self.fields.len() && self.fields.iter().zip(index).all(serves)
    }
}

enum Found<'d> {
    Value(&'d Bson),
    Missing,
    InArray,
}

/// What lies at a path.
fn at<'d>(document: &'d Document, path: &str) -> Found<'d> {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first), rest) {
        (None, _) => Found::Missing,
        (Some(value), None) => Found::Value(value),
        (Some(Bson::Document(within)), Some(rest)) => at(within, rest),
        (Some(Bson::Array(_)), Some(_)) => Found::InArray,
        (Some(_), Some(_)) => Found::Missing,
    }
}

/// The value at a path of documents; `None` where it is missing, or an array is on the way.
pub(crate) fn value_at<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    match at(document, path) {
        Found::Value(value) => Some(value),
        _ => None,
    }
}

/// Whether two paths name a value and a part of it, or one value.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let within = |long: &str, short: &str| {
        long.strip_prefix(short)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(a, b) || within(b, a)
}

/// The values that a filter demands of these paths by equality; `None` where two of the conditions overlap: then the server
/// infers no value from the filter.
fn equalities<'f>(filter: &'f Document, of: &[&str]) -> Option<Vec<(&'f str, &'f Bson)>> {
    let mut found = Vec::new();
    collect(filter, of, &mut found)?;
    Some(found)
}

fn collect<'f>(filter: &'f Document, of: &[&str], found: &mut Vec<(&'f str, &'f Bson)>) -> Option<()> {
    for (name, condition) in filter {
        match (name.as_str(), condition) {
            ("$and", Bson::Array(all)) => {
                all.iter()
                    .filter_map(Bson::as_document)
                    .try_for_each(|one| collect(one, of, found))?;
            }
            ("$or", Bson::Array(one)) if one.len() == 1 => {
                collect(one[0].as_document()?, of, found)?;
            }
            (path, condition) if of.iter().any(|of| overlap(of, path)) => {
                let Some(value) = demanded(condition) else {
                    continue;
                };
                if found.iter().any(|(other, _)| overlap(other, path)) {
                    return None;
                }
                found.push((path, value));
            }
            _ => {}
        }
    }
    Some(())
}

/// The one value that a condition allows.
fn demanded(condition: &Bson) -> Option<&Bson> {
    let value = match condition {
        Bson::Document(operators) if has_operators(operators) => {
            match (operators.get("$eq"), operators.get_array("$in")) {
                (Some(value), _) => value,
                (None, Ok(one)) if one.len() == 1 => &one[0],
                _ => return None,
            }
        }
        value => value,
    };
    (!matches!(value, Bson::RegularExpression(_))).then_some(value)
}

/// Whether a condition is made of operators, and no document to be equal to.
pub(crate) fn has_operators(condition: &Document) -> bool {
    condition.keys().next().is_some_and(|name| name.starts_with('$'))
}

/// The value of a path, which may lie within a document that is demanded as a whole.
fn equal(equalities: &[(&str, &Bson)], path: &str) -> Option<Bson> {
    let value = equalities.iter().find_map(|(named, value)| {
        if *named == path {
            return Some((*value).clone());
        }
        let rest = path.strip_prefix(named)?.strip_prefix('.')?;
        value_at(value.as_document()?, rest).cloned()
    })?;
    (!matches!(value, Bson::Array(_))).then_some(value)
}

/// The `_id` that a filter demands exactly. Under a collation that is not the collection's, a value with texts is not exact.
pub(crate) fn exact_id(filter: &Document, has_own_collation: bool) -> Option<Bson> {
    let equalities = equalities(filter, &["_id"])?;
    let id = equal(&equalities, "_id")?;
    (!(has_own_collation && is_collatable(&id))).then_some(id)
}

/// Whether a collation decides what a value is equal to.
pub(crate) fn is_collatable(value: &Bson) -> bool {
    matches!(
        value,
        Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Failure;
    use bson::{bson, doc};

    fn key(pattern: Document) -> ShardKey {
        match ShardKey::parse(&pattern) {
            Ok(key) => key,
            Err(error) => panic!("{pattern}: {error:?}"),
        }
    }

    #[test]
    fn a_pattern_has_ascending_fields_and_one_hashed_field() {
        for pattern in [
            doc! { "a": 1 },
            doc! { "a": 1, "b": "hashed" },
            doc! { "a.b": 1.0 },
        ] {
            assert_eq!(key(pattern.clone()).fields.len(), pattern.len());
        }
        for pattern in [
            doc! { "a": -1 },
            doc! { "a": "text" },
            doc! { "a": "hashed", "b": "hashed" },
            doc! {},
        ] {
            assert!(
                matches!(ShardKey::parse(&pattern), Err(Failure::Refused(reply)) if BAD_VALUE.is(&reply)),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_document_has_a_value_for_each_field_unless_one_is_an_array() {
        let key = key(doc! { "a.b": 1, "_id": 1 });
        for (document, expected) in [
            (doc! { "_id": 1, "a": { "b": 2 } }, Some(vec![bson!(2), bson!(1)])),
            (doc! { "_id": 1, "a": 3 }, Some(vec![Bson::Null, bson!(1)])),
            (doc! { "_id": 1 }, Some(vec![Bson::Null, bson!(1)])),
            (doc! { "_id": 1, "a": { "b": [] } }, None),
            (doc! { "_id": 1, "a": [{ "b": 1 }] }, None),
        ] {
            assert_eq!(key.values(&document), expected, "{document}");
        }
    }

    /// By the replies of a `mongos` 4.9 for `{ tenant: 1, _id: 1 }`.
    #[test]
    fn a_filter_names_the_key_where_each_equality_stands_once() {
        let key = key(doc! { "tenant": 1, "_id": 1 });
        let named = Some(vec![bson!("a"), bson!(1)]);
        for (filter, expected) in [
            (doc! { "tenant": "a", "_id": 1 }, named.clone()),
            (doc! { "tenant": "a", "_id": { "$in": [1] } }, named.clone()),
            (
                doc! { "$and": [{ "tenant": { "$eq": "a" } }, { "_id": 1, "x": { "$gt": 0 } }] },
                named.clone(),
            ),
            (doc! { "$or": [{ "tenant": "a", "_id": 1 }] }, named.clone()),
            (doc! { "tenant": "a" }, None),
            (doc! { "tenant": "a", "_id": { "$in": [1, 2] } }, None),
            (
                doc! { "tenant": "a", "_id": 1, "$and": [{ "tenant": { "$eq": "a" } }] },
                None,
            ),
            (
                doc! { "tenant": "a", "_id": 1, "x": 1, "$and": [{ "x": 1 }] },
                named.clone(),
            ),
            (doc! { "tenant": ["a"], "_id": 1 }, None),
        ] {
            assert_eq!(key.exact(&filter), expected, "{filter}");
        }
    }

    #[test]
    fn a_field_of_an_embedded_document_is_named_by_the_whole_document_too() {
        let key = key(doc! { "a.b": 1 });
        assert_eq!(key.exact(&doc! { "a": { "b": 1, "c": 2 } }), Some(vec![bson!(1)]));
        assert_eq!(key.exact(&doc! { "a.b": 1, "a": { "b": 1 } }), None);
    }

    #[test]
    fn a_text_id_is_exact_without_a_collation_of_the_operation() {
        assert!(exact_id(&doc! { "_id": "a" }, false).is_some());
        assert!(exact_id(&doc! { "_id": "a" }, true).is_none());
        assert!(exact_id(&doc! { "_id": 1 }, true).is_some());
        assert!(exact_id(&doc! { "$and": [{ "_id": 1 }, { "_id": 1 }] }, false).is_none());
        assert!(exact_id(&doc! { "t": 1, "_id": 1, "$and": [{ "t": 1 }] }, false).is_some());
    }

    #[test]
    fn a_unique_index_begins_with_the_whole_key() {
        let compound = key(doc! { "tenant": 1, "_id": 1 });
        assert!(compound.allows_unique(&doc! { "tenant": 1, "_id": 1, "slug": 1 }));
        assert!(compound.allows_unique(&doc! { "_id": 1 }));
        assert!(!compound.allows_unique(&doc! { "tenant": 1, "slug": 1 }));
        assert!(!compound.allows_unique(&doc! { "slug": 1 }));
        assert!(key(doc! { "k": "hashed" }).allows_unique(&doc! { "k": 1, "slug": 1 }));
    }
}

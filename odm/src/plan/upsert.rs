//! Upserts by a unique key. Of several that race for one document, the server lets one insert it; the others find it then.
//!
//! Where the condition requires all values of a unique index, at most one document matches it. So the update is sent as an
//! update of one, and is retried if it was refused because another client inserted a document with these values in between.
//! Where that document does not match the rest of the condition, the refusal is returned, and names it.

use crate::graph::Graph;
use crate::graph::indexes;
use crate::model::document::{CollationMeta, DocumentMeta, IndexKind, IndexMeta};
use crate::model::encode::owned;
use crate::model::key::Key;
use crate::model::meta::names::meet;
use crate::model::meta::options::{DeclaredIndex, together};
use crate::plan::operators::implied;
use crate::store::filter::all;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

/// A unique index of which a condition demands all values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UniqueKey {
    /// Its fields, with the values that they have in every document that fits.
    fields: Vec<(String, Bson)>,
    /// Whether the update itself gives one of them another value.
    changed: bool,
    /// How the index compares, where that is not as its collection does.
    pub(crate) collation: Option<CollationMeta>,
}

impl UniqueKey {
    /// Those of this condition. None for one that a server can't take beside others (`$near`, `$text`).
    pub(crate) fn all_of(
        graph: &Graph,
        meta: &'static DocumentMeta,
        condition: &Document,
        update: &Document,
    ) -> Vec<UniqueKey> {
        if !implied::combines(condition) {
            return Vec::new();
        }
        let of = |paths: &[String], collation: Option<CollationMeta>| {
            let fields = demanded(condition, paths)?;
            let mut changed = update
                .values()
                .filter_map(Bson::as_document)
                .flat_map(Document::keys);
            let changed = changed.any(|name| paths.iter().any(|path| meet(name, path)));
            (!fields.is_empty()).then_some(UniqueKey {
                fields,
                changed,
                collation,
            })
        };
        let declared = unique(meta).filter(|declared| is_whole(declared, condition));
        let declared = declared.filter_map(|declared| {
            let paths: Vec<String> = declared.paths().map(str::to_owned).collect();
            of(&paths, own_collation(meta, declared.index))
        });
        let implied = graph.outgoing(meta).filter_map(indexes::referred_once);
        let implied = implied.filter_map(|paths| of(&paths, None));
        let id = of(&["_id".to_owned()], None);
        id.into_iter().chain(declared).chain(implied).collect()
    }

    /// That of these fields in a document to insert, with the condition that finds the document with these values: `values`, and what
    /// the index demands of the documents that it holds.
    ///
    /// # Errors
    /// [`Error::Query`] where the fields are not those of a unique index that would hold the document.
    pub(crate) fn for_insert(
        graph: &Graph,
        meta: &'static DocumentMeta,
        document: &RawDocument,
        values: Document,
        names: &[&str],
    ) -> Result<(UniqueKey, Document)> {
        let refused = |message: String| Error::Query {
            collection: meta.collection,
            message,
        };
        let mut partial = None;
        let found = unique(meta)
            .filter(|declared| is_same(names, declared.paths()) && is_plain(declared))
            .find_map(|declared| {
                let filter = match declared.filter() {
                    None => return Some((values.clone(), own_collation(meta, declared.index))),
                    Some(filter) => filter.ok()?,
                };
                if meets(document, &filter) {
                    let condition = together(values.clone(), filter);
                    return Some((condition, own_collation(meta, declared.index)));
                }
                partial.get_or_insert(filter);
                None
            });
        let (condition, collation) = match (found, partial) {
            (Some(found), _) => found,
            (None, Some(filter)) => {
                return Err(refused(format!(
                    "`or_get_by` finds a document by a unique key, and the index on `{}` holds only the documents that match {filter}, \
                     which the one to insert does not: use `insert`",
                    names.join("`, `")
                )));
            }
            (None, None) => {
                let mut implied = graph.outgoing(meta).filter_map(indexes::referred_once);
                let is_key =
                    names == ["_id"] || implied.any(|paths| is_same(names, paths.iter().map(String::as_str)));
                if !is_key {
                    return Err(refused(format!(
                        "`or_get_by` takes the fields of a unique key, which `{}` is not: declare `#[index(unique)]` on the field, or an \
                         index of these fields with `unique`",
                        names.join("`, `")
                    )));
                }
                (values, None)
            }
        };
        let fields = demanded(&condition, names).unwrap_or_default();
        let key = UniqueKey {
            fields,
            changed: false,
            collation,
        };
        Ok((key, condition))
    }

    /// Whether an error says that a document with these values is there.
    pub(crate) fn is_taken(&self, error: &Error) -> bool {
        let Error::DuplicateKey { fields, value, .. } = error else {
            return false;
        };
        let is_same = |path: &str, own: &Bson| {
            let given = value.get(path);
            given.is_some_and(|given| Key::of_bson(given) == Key::of_bson(own))
        };
        let is_field = |(path, _): &(String, Bson)| fields.contains(path);
        fields.len() == self.fields.len()
            && self.fields.iter().all(is_field)
            // An insert without a change of them has the values that the condition demands, however the server shows them.
            && (!self.changed || self.fields.iter().all(|(path, own)| is_same(path, own)))
    }

    /// Why an upsert by a condition that demands this key alone is refused, where the key's index compares otherwise than the
    /// condition: it would insert a document beside one that it does not find, and that the index takes for the same.
    pub(crate) fn compares_otherwise(&self, meta: &'static DocumentMeta) -> Error {
        let names: Vec<&str> = self.fields.iter().map(|(path, _)| path.as_str()).collect();
        Error::Query {
            collection: meta.collection,
            message: format!(
                "the unique index on `{}` compares by a collation of its own, and the condition by that of the collection: use \
                 `update_by(…).upsert()`, which compares as the index does, or give the update the same `collation`",
                names.join("`, `")
            ),
        }
    }

    /// The condition of the document with these values, if it does not fit the whole condition.
    pub(crate) fn others(&self, condition: &Document) -> Option<Document> {
        if self.collation.is_some() {
            return None;
        }
        let fields = self.fields.iter();
        let own = fields
            .map(|(path, value)| crate::query::filter::condition::condition(path, "$eq", value.clone()));
        Some(all(own.chain([doc! { "$nor": [condition.clone()] }])))
    }
}

/// Whether a key has these fields, in whichever order.
fn is_same<'p>(names: &[&str], mut paths: impl ExactSizeIterator<Item = &'p str>) -> bool {
    paths.len() == names.len() && paths.all(|path| names.contains(&path))
}

/// The fields with the values that the condition demands of them, where it does of all.
fn demanded(condition: &Document, paths: &[impl AsRef<str>]) -> Option<Vec<(String, Bson)>> {
    let fields = paths.iter().map(AsRef::as_ref).map(|path: &str| {
        let value = implied::demanded(condition, path)?;
        Some((path.to_owned(), value.clone()))
    });
    fields.collect()
}

/// # Errors
/// [`Error::Query`] where the condition demands no unique key.
pub(crate) fn demands_key(graph: &Graph, meta: &'static DocumentMeta, condition: &Document) -> Result<()> {
    if UniqueKey::all_of(graph, meta, condition, &Document::new()).is_empty() {
        return Err(no_key(meta));
    }
    Ok(())
}

/// The fields of a key with the values that a condition demands of them.
pub(crate) fn values_of(names: &[&'static str], condition: &Document) -> Document {
    let values = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), implied::demanded(condition, name)?.clone())));
    values.collect()
}

/// The index of a unique key: what it demands of the documents that it holds, and how it compares.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct KeyIndex {
    pub(crate) partial: Option<Document>,
    /// Where that is not as its collection does.
    pub(crate) collation: Option<CollationMeta>,
}

/// The index of the unique key of these fields, of which `condition` demands the values. It may demand more: the scope of a handle
/// gives the values of fields that are left out.
///
/// # Errors
/// [`Error::Query`] where they are no unique key, where one of them has no value, and where several partial indexes are on them.
pub(crate) fn index_of(
    graph: &Graph,
    meta: &'static DocumentMeta,
    names: &[&str],
    condition: &Document,
) -> Result<KeyIndex> {
    let refused = |message: String| Error::Query {
        collection: meta.collection,
        message,
    };
    for name in names {
        if implied::demanded(condition, name).is_none() {
            return Err(refused(format!(
                "a document is found by the value of `{name}`, and `null` is none: several documents may lack the field. Use `find` with \
                 a condition"
            )));
        }
    }
    let is_given = |path: &str| names.contains(&path) || implied::demanded(condition, path).is_some();
    let holds_names = |paths: &[&str]| names.iter().all(|name| paths.contains(name));
    if names == ["_id"] {
        return Ok(KeyIndex::default());
    }
    let mut implied = graph.outgoing(meta).filter_map(indexes::referred_once);
    if implied.any(|paths| {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        holds_names(&paths) && paths.iter().all(|path| is_given(path))
    }) {
        return Ok(KeyIndex::default());
    }
    let (mut whole, mut partial) = (Vec::new(), Vec::new());
    for declared in unique(meta).filter(is_plain) {
        let paths: Vec<&str> = declared.paths().collect();
        if !holds_names(&paths) || !paths.iter().all(|path| is_given(path)) {
            continue;
        }
        let collation = own_collation(meta, declared.index);
        match declared.filter().transpose()? {
            Some(filter) if excludes(condition, &filter) => {}
            Some(filter) if !demands(condition, &filter) => partial.push(KeyIndex {
                partial: Some(filter),
                collation,
            }),
            _ => whole.push(KeyIndex {
                partial: None,
                collation,
            }),
        }
    }
    // One that compares as its collection does tells more values apart.
    whole.sort_by_key(|index| index.collation.is_some());
    match (whole.into_iter().next(), partial.pop()) {
        (Some(index), _) => Ok(index),
        (None, Some(index)) if partial.is_empty() => Ok(index),
        (None, Some(_)) => Err(refused(format!(
            "`{}` is the key of several indexes, each of which holds a part of the documents: use `find`, `update_first`, `delete_first` \
             with a condition",
            names.join("`, `")
        ))),
        (None, None) => Err(no_key(meta)),
    }
}

fn no_key(meta: &DocumentMeta) -> Error {
    let mut keys = vec!["`_id`".to_owned()];
    keys.extend(unique(meta).map(|declared| {
        let fields: Vec<String> = declared.paths().map(|path| format!("`{path}`")).collect();
        let of = declared.variant.map(|(_, name)| format!(" of `{name}`"));
        fields.join(" and ") + &of.unwrap_or_default()
    }));
    Error::Query {
        collection: meta.collection,
        message: format!(
            "one document is found by a value of each field of a unique key, of which `{}` has: {}. A field may be left out where the \
             scope of the handle gives its value. Name all fields of one key, declare the key by `#[index(unique)]`, or use `find`, \
             `update_where`, `update_first`",
            meta.name,
            keys.join("; ")
        ),
    }
}

/// The collation of an index, where it compares otherwise than its collection.
fn own_collation(meta: &DocumentMeta, index: &IndexMeta) -> Option<CollationMeta> {
    let is_simple = |collation: &CollationMeta| collation.locale == "simple";
    let own = index.collation.filter(|own| meta.collation.as_ref() != Some(own));
    own.filter(|own| meta.collation.is_some() || !is_simple(own))
}

/// The declared unique indexes.
fn unique(meta: &DocumentMeta) -> impl Iterator<Item = DeclaredIndex> + use<> {
    meta.indexes_of_collection()
        .filter(|declared| declared.index.unique)
}

fn is_plain(declared: &DeclaredIndex) -> bool {
    let is_plain = |kind: IndexKind| matches!(kind, IndexKind::Ascending | IndexKind::Descending);
    declared.index.keys.iter().all(|key| is_plain(key.kind))
}

/// Whether an index holds every document that matches the condition.
fn is_whole(declared: &DeclaredIndex, condition: &Document) -> bool {
    let partial = declared.filter().map(|filter| filter.ok());
    is_plain(declared)
        && partial.is_none_or(|partial| partial.is_some_and(|partial| demands(condition, &partial)))
}

/// Whether every document that matches the condition meets that of a partial index.
fn demands(condition: &Document, partial: &Document) -> bool {
    partial.iter().all(|(path, rule)| {
        if let ("$and", Bson::Array(all)) = (path.as_str(), rule) {
            let mut all = all.iter().map(Bson::as_document);
            return all.all(|one| one.is_some_and(|one| demands(condition, one)));
        }
        let demanded = implied::demanded(condition, path);
        stands_in(condition, path, rule)
            || match operator(rule) {
                Some(("$eq", value)) => demanded == Some(value),
                Some(("$exists", Bson::Boolean(true))) => demanded.is_some(),
                Some(("$in", Bson::Array(values))) => demanded.is_some_and(|one| values.contains(one)),
                _ => false,
            }
    })
}

/// Whether a condition demands another value than that of a partial index, which holds none of the documents that match then.
fn excludes(condition: &Document, partial: &Document) -> bool {
    partial.iter().any(|(path, rule)| {
        if let ("$and", Bson::Array(all)) = (path.as_str(), rule) {
            let mut all = all.iter().filter_map(Bson::as_document);
            return all.any(|one| excludes(condition, one));
        }
        matches!(operator(rule), Some(("$eq", value)) if implied::demanded(condition, path).is_some_and(|other| other != value))
    })
}

/// The one operator of a condition on a field.
fn operator(rule: &Bson) -> Option<(&str, &Bson)> {
    let rule = rule.as_document().filter(|rule| rule.len() == 1)?;
    rule.iter()
        .next()
        .map(|(operator, value)| (operator.as_str(), value))
}

/// Whether a condition demands this of a field in the same words.
fn stands_in(condition: &Document, path: &str, rule: &Bson) -> bool {
    condition.get(path) == Some(rule)
        || condition.get_array("$and").is_ok_and(|all| {
            all.iter()
                .filter_map(Bson::as_document)
                .any(|one| stands_in(one, path, rule))
        })
}

/// Whether a document meets the condition of a partial index, so far as no server is needed to say so: by values, and by fields that
/// exist.
fn meets(document: &RawDocument, filter: &Document) -> bool {
    filter.iter().all(|(path, rule)| {
        if let ("$and", Bson::Array(all)) = (path.as_str(), rule) {
            return all
                .iter()
                .all(|one| one.as_document().is_some_and(|one| meets(document, one)));
        }
        let value = value_at(document, path);
        let is = |other: &Bson| {
            value
                .map(owned)
                .and_then(std::result::Result::ok)
                .is_some_and(|value| Key::of_bson(&value) == Key::of_bson(other))
        };
        match operator(rule) {
            Some(("$eq", other)) => is(other),
            Some(("$exists", Bson::Boolean(exists))) => value.is_some() == *exists,
            Some(("$in", Bson::Array(values))) => values.iter().any(is),
            _ => false,
        }
    })
}

/// The value of a field outside of arrays.
pub(crate) fn value_at<'d>(document: &'d RawDocument, name: &str) -> Option<RawBsonRef<'d>> {
    match name.split_once('.') {
        None => document.get(name).ok().flatten(),
        Some((first, rest)) => match document.get(first).ok().flatten()? {
            RawBsonRef::Document(within) => value_at(within, rest),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::upsert::*;

    fn key(fields: &[(&str, Bson)], changed: bool) -> UniqueKey {
        UniqueKey {
            fields: fields
                .iter()
                .map(|(path, value)| ((*path).to_owned(), value.clone()))
                .collect(),
            changed,
            collation: None,
        }
    }

    fn duplicate(value: Document) -> Error {
        Error::DuplicateKey {
            collection: "c".to_owned(),
            index: "i".to_owned(),
            fields: value.keys().cloned().collect(),
            value: Box::new(value),
            existing: None,
            source: None,
        }
    }

    #[test]
    fn a_duplicate_of_another_key_or_of_other_values_is_none_of_the_condition() {
        let shop = || key(&[("shop", 1.into()), ("name", "a".into())], true);
        for (told, taken) in [
            (doc! { "name": "a", "shop": 1_i64 }, true),
            (doc! { "shop": 1, "name": "b" }, false),
            (doc! { "shop": 1 }, false),
            (doc! { "shop": 1, "name": "a", "size": 1 }, false),
            (doc! { "shop": 1, "size": 1 }, false),
        ] {
            assert_eq!(shop().is_taken(&duplicate(told.clone())), taken, "{told}");
        }
        // As a server shows it that compares by a collation.
        let unchanged = key(&[("name", "a".into())], false);
        assert!(unchanged.is_taken(&duplicate(doc! { "name": "\u{1}\u{2}" })));
    }

    #[test]
    fn a_partial_index_holds_a_document_that_meets_its_condition() {
        use mongodb::bson::rawdoc;
        let document = rawdoc! { "kind": "lost", "within": { "n": 1_i64 }, "empty": null };
        for (filter, expected) in [
            (doc! {}, true),
            (doc! { "kind": { "$eq": "lost" } }, true),
            (doc! { "kind": { "$eq": "found" } }, false),
            (doc! { "kind": { "$in": ["gone", "lost"] } }, true),
            (doc! { "kind": { "$in": ["gone"] } }, false),
            // Numbers of other types are equal.
            (doc! { "within.n": { "$eq": 1 } }, true),
            (doc! { "within.n": { "$exists": true } }, true),
            (doc! { "empty": { "$exists": true } }, true),
            (doc! { "missing": { "$exists": true } }, false),
            (doc! { "missing": { "$exists": false } }, true),
            (
                doc! { "kind": { "$eq": "lost" }, "within.n": { "$eq": 2 } },
                false,
            ),
            (
                doc! { "$and": [{ "kind": { "$eq": "lost" } }, { "within.n": { "$eq": 1 } }] },
                true,
            ),
            (
                doc! { "$and": [{ "kind": { "$eq": "lost" } }, { "within.n": { "$eq": 2 } }] },
                false,
            ),
            // Only the server tells.
            (doc! { "within.n": { "$gt": 0 } }, false),
            (doc! { "$or": [{ "kind": { "$eq": "lost" } }] }, false),
        ] {
            assert_eq!(meets(&document, &filter), expected, "{filter}");
        }
        let asked = doc! { "kind": { "$in": ["gone", "lost"] }, "$and": [{ "n": { "$gt": 5 } }] };
        assert!(stands_in(
            &asked,
            "kind",
            &doc! { "$in": ["gone", "lost"] }.into()
        ));
        assert!(stands_in(&asked, "n", &doc! { "$gt": 5 }.into()));
        assert!(!stands_in(&asked, "n", &doc! { "$gt": 4 }.into()));
    }
}

//! Upserts by a unique key. Of several that race for one document, the server lets one insert it; the others find it then.
//!
//! Where the condition requires all values of a unique index, at most one document matches it. So the update is sent as an
//! update of one, and is retried if it was refused because another client inserted a document with these values in between.
//! Where that document does not match the rest of the condition, the refusal is returned, and names it.

use crate::graph::Graph;
use crate::graph::indexes;
use crate::model::document::{DocumentMeta, IndexKind, IndexMeta};
use crate::model::key::Key;
use crate::model::meta::names::meet;
use crate::plan::operators::implied;
use crate::store::filter::all;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

/// A unique index of which a condition demands all values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UniqueKey {
    /// Its fields, with the values that they have in every document that fits.
    fields: Vec<(String, Bson)>,
    /// Whether the update itself gives one of them another value.
    changed: bool,
    /// Whether the index compares in another way than the condition.
    collated: bool,
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
        let of = |paths: &[String], collated: bool| {
            let fields = demanded(condition, paths)?;
            let mut changed = update
                .values()
                .filter_map(Bson::as_document)
                .flat_map(Document::keys);
            let changed = changed.any(|name| paths.iter().any(|path| meet(name, path)));
            (!fields.is_empty()).then_some(UniqueKey {
                fields,
                changed,
                collated,
            })
        };
        let declared = meta.indexes.iter().filter(|index| index.unique);
        let declared = declared
            .filter(|index| is_whole(index, condition))
            .filter_map(|index| {
                let paths: Vec<String> = index.keys.iter().map(|key| (key.path)().to_owned()).collect();
                of(&paths, index.collation.is_some())
            });
        let implied = graph.outgoing(meta).filter_map(indexes::referred_once);
        let implied = implied.filter_map(|paths| of(&paths, false));
        let id = of(&["_id".to_owned()], false);
        id.into_iter().chain(declared).chain(implied).collect()
    }

    /// That of these fields, of an operation that changes none of them.
    pub(crate) fn of(
        graph: &Graph,
        meta: &'static DocumentMeta,
        condition: &Document,
        names: &[&str],
    ) -> Option<UniqueKey> {
        let declared = meta.indexes.iter().filter(|index| index.unique);
        let mut declared = declared.filter(|index| is_whole(index, condition));
        let declared = declared.find(|index| is_same(names, index.keys.iter().map(|key| (key.path)())));
        let is_key = declared.is_some() || names == ["_id"] || {
            let mut implied = graph.outgoing(meta).filter_map(indexes::referred_once);
            implied.any(|paths| is_same(names, paths.iter().map(String::as_str)))
        };
        let fields = demanded(condition, names).filter(|_| is_key)?;
        Some(UniqueKey {
            fields,
            changed: false,
            collated: declared.is_some_and(|index| index.collation.is_some()),
        })
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

    /// The condition of the document with these values, if it does not fit the whole condition.
    pub(crate) fn others(&self, condition: &Document) -> Option<Document> {
        if self.collated {
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
        return Err(Error::Query {
            collection: meta.collection,
            message: no_key(meta),
        });
    }
    Ok(())
}

fn no_key(meta: &DocumentMeta) -> String {
    let declared = meta.indexes.iter().filter(|index| index.unique);
    let mut keys = vec!["`_id`".to_owned()];
    keys.extend(declared.map(|index| {
        let fields: Vec<String> = index
            .keys
            .iter()
            .map(|key| format!("`{}`", (key.path)()))
            .collect();
        fields.join(" and ")
    }));
    format!(
        "the condition finds one document only if it demands a value (`eq`) of each field of a unique key, of which `{}` has: {}. Demand \
         one of them, declare the key by `#[index(unique)]`, or use `find`, `update_where`, `update_first`",
        meta.name,
        keys.join("; ")
    )
}

/// Whether an index holds every document that matches the condition.
fn is_whole(index: &IndexMeta, condition: &Document) -> bool {
    let is_plain = |kind: IndexKind| matches!(kind, IndexKind::Ascending | IndexKind::Descending);
    let demands = |partial: Document| {
        partial.iter().all(|(path, rule)| {
            let demanded = implied::demanded(condition, path);
            let rule = rule.as_document().filter(|rule| rule.len() == 1);
            rule.and_then(|rule| rule.iter().next())
                .is_some_and(|(operator, value)| match operator.as_str() {
                    "$eq" => demanded == Some(value),
                    "$exists" => demanded.is_some() && *value == Bson::Boolean(true),
                    _ => false,
                })
        })
    };
    let partial = index.filter().map(|filter| filter.ok());
    index.keys.iter().all(|key| is_plain(key.kind))
        && partial.is_none_or(|partial| partial.is_some_and(demands))
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
            collated: false,
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
}

//! Indexes that are declared, and those that are there.

use super::What;
use super::compare::{Change, Comparison};
use super::source::Written;
use crate::design::{Collection, Index};
use bson::Bson;

impl Comparison<'_> {
    /// Compares the indexes of a collection with those that a struct declares.
    pub(super) fn indexes(&mut self, collection: &Collection, name: &str, written: &Written, model: usize) {
        let mut declared: Vec<Vec<(String, String)>> = Vec::new();
        for index in &written.indexes {
            let fields: Option<Vec<(String, String)>> = index
                .iter()
                .map(|(path, kind)| Some((self.stored_path(name, path)?, kind.clone())))
                .collect();
            declared.extend(fields);
        }
        let mut found = Vec::new();
        for index in collection
            .indexes
            .iter()
            .filter(|index| !crate::code::indexes::is_of_id(index))
        {
            let keys = index_keys(index);
            // What can't be declared is no difference.
            if !declared.contains(&keys)
                && let Ok(option) = crate::code::indexes::option(&self.models, model, index)
            {
                let fields: Vec<String> = keys
                    .iter()
                    .map(|(name, kind)| format!("{name}: {kind}"))
                    .collect();
                self.differ(
                    &collection.name,
                    "",
                    What::Index,
                    format!(
                        "the index `{}` on {} is not declared by `{name}`",
                        index.name,
                        fields.join(", ")
                    ),
                );
                self.changes.push(Change::Index {
                    written: name.to_owned(),
                    option,
                });
            }
            found.push(keys);
        }
        for keys in declared.into_iter().filter(|keys| !found.contains(keys)) {
            let fields: Vec<String> = keys
                .iter()
                .map(|(name, kind)| format!("{name}: {kind}"))
                .collect();
            self.differ(
                &collection.name,
                "",
                What::IndexGone,
                format!(
                    "`{name}` declares an index on {}, and the database has none: `sync` makes it",
                    fields.join(", ")
                ),
            );
        }
    }

    /// The stored path of one in Rust. `None` where it leads through what is not compared.
    fn stored_path(&self, name: &str, path: &str) -> Option<String> {
        if path == "$**" {
            return Some(path.to_owned());
        }
        let mut at = name.to_owned();
        let mut stored = Vec::new();
        let mut parts = path.split('.').peekable();
        while let Some(part) = parts.next() {
            let declared = self.declared(&at, 0);
            let (_, _, field) = declared.into_iter().find(|(_, _, field)| field.rust == part)?;
            stored.push(field.stored.clone());
            if parts.peek().is_none() {
                break;
            }
            let mut accepts = self.source.accepts(&field.ty);
            if let (Some(items), false) = (&accepts.items, accepts.is_map) {
                accepts = self.source.accepts(items);
            }
            at = accepts.named?;
        }
        Some(stored.join("."))
    }
}

/// The fields of an index with their kinds, as an attribute declares them.
fn index_keys(index: &Index) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for (name, kind) in &index.keys {
        match kind {
            Bson::String(kind) if name == "_fts" => {
                let weights = index.options.get_document("weights").ok();
                for name in weights.into_iter().flat_map(bson::Document::keys) {
                    keys.push((name.clone(), kind.clone()));
                }
            }
            _ if name == "_ftsx" => {}
            Bson::String(kind) if kind == "2dsphere" => keys.push((name.clone(), "geo".to_owned())),
            Bson::String(kind) => keys.push((name.clone(), kind.clone())),
            number => {
                let is_descending = match number {
                    Bson::Int32(n) => *n < 0,
                    Bson::Int64(n) => *n < 0,
                    Bson::Double(n) => *n < 0.0,
                    _ => false,
                };
                match name.strip_suffix(".$**") {
                    Some(name) => keys.push((name.to_owned(), "wildcard".to_owned())),
                    None => keys.push((name.clone(), if is_descending { "-1" } else { "1" }.to_owned())),
                }
            }
        }
    }
    keys
}

//! The conditions that hold for all reads and writes of a handle: its scope, that a document is not deleted, and of which variant it
//! is.

use crate::model::document::DocumentMeta;
use crate::model::shape;
use crate::store::filter::within;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};
use std::sync::Arc;

/// The scope of a handle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scopes {
    /// Top-level fields, each with its value in all documents that have the field.
    fields: Option<Arc<Vec<(String, Bson)>>>,
    pub(crate) with_deleted: bool,
}

impl Scopes {
    pub(crate) fn with(&self, mut more: Vec<(String, Bson)>) -> Scopes {
        more.extend(self.fields().iter().cloned());
        Scopes {
            fields: Some(Arc::new(more)),
            ..self.clone()
        }
    }

    pub(crate) fn with_deleted(&self) -> Scopes {
        Scopes {
            with_deleted: true,
            ..self.clone()
        }
    }

    pub(crate) fn fields(&self) -> &[(String, Bson)] {
        self.fields.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Those of the fields that documents of a type have.
    pub(crate) fn of_collection<'s>(
        &'s self,
        meta: &'static DocumentMeta,
    ) -> impl Iterator<Item = &'s (String, Bson)> {
        self.fields().iter().filter(move |(name, _)| has(meta, name))
    }

    /// The condition of documents in the scope, if there is one. `collated` says that the operation has a collation of its own.
    ///
    /// A collation concerns every comparison of an operation, and may take texts that differ for equal. So a text has a second
    /// condition where a collation is in force: a pattern, which no collation concerns. The equality stays beside it, since
    /// indexes, partial filters and upserts need it.
    pub(crate) fn condition(
        &self,
        meta: &'static DocumentMeta,
        with_deleted: bool,
        collated: bool,
    ) -> Option<Document> {
        let variant = meta.variant();
        if self.fields.is_none() && meta.soft_delete.is_none() && variant.is_none() {
            return None;
        }
        let collated = collated || meta.collation.is_some();
        let mut condition = Document::new();
        if let Some((tag, name)) = variant {
            condition.insert(tag, exactly(&Bson::from(name), collated));
        }
        for (name, value) in self.of_collection(meta) {
            if !condition.contains_key(name) {
                condition.insert(name, exactly(value, collated));
            } else if demands(&condition, name) != Some(value) {
                // Of one scope within another the documents have both values.
                condition = within(condition, &doc! { name: exactly(value, collated) });
            }
        }
        if let Some(name) = meta.soft_delete.filter(|_| !with_deleted) {
            condition.insert(name, Bson::Null);
        }
        (!condition.is_empty()).then_some(condition)
    }

    /// Refuses values that a collation could take for others.
    ///
    /// # Errors
    /// [`Error::Query`] where a collation is in force, and a value of the scope is an array or a document with texts.
    pub(crate) fn can_compare(&self, meta: &'static DocumentMeta, collated: bool) -> Result<()> {
        for (name, value) in self.fields() {
            if (collated || meta.collation.is_some()) && has(meta, name) {
                has_pattern(meta.collection, name, value)?;
            }
        }
        Ok(())
    }
}

/// Whether documents of a type have a field that is stored under this name.
pub(crate) fn has(meta: &DocumentMeta, name: &str) -> bool {
    shape::within((meta.shape)(), name).is_some()
}

/// Why a scope by this field does not restrict the documents of a type, if it does not.
pub(crate) fn lacks(meta: &DocumentMeta, name: &str) -> Option<String> {
    if has(meta, name) || meta.shared.contains(&name) {
        return None;
    }
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let written = if is_word {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    Some(format!(
        "the scope is by the field `{name}`, and `{}` has no field that is stored under this name, so its documents would be read and \
         changed across all scopes: add the field (the stored name counts: `#[serde(rename = \"{name}\")]`), or say that all scopes \
         share these documents: `#[document(shared({written}))]`",
        meta.name
    ))
}

/// The longest text of a scope, in bytes: the server takes patterns up to 32 kB.
const LONGEST: usize = 4_096;

/// Refuses a value that a collation could take for another one, and that no pattern can tell from it.
///
/// # Errors
/// [`Error::Query`].
fn has_pattern(collection: &'static str, name: &str, value: &Bson) -> Result<()> {
    let refused = |is: &str| {
        Err(Error::Query {
            collection,
            message: format!(
                "the value of the scope in `{name}` {is}, and under a collation only a text up to {LONGEST} bytes, a number or an id tells \
                 one scope from another: use such a field for the scope, or no collation"
            ),
        })
    };
    match value {
        Bson::String(text) if text.len() > LONGEST => refused("is a longer text"),
        Bson::Document(_) | Bson::Array(_) if holds_text(value) => refused("holds texts"),
        Bson::Symbol(_) => refused("is a symbol"),
        _ => Ok(()),
    }
}

fn holds_text(value: &Bson) -> bool {
    match value {
        Bson::String(_) | Bson::Symbol(_) => true,
        Bson::Document(document) => document.values().any(holds_text),
        Bson::Array(items) => items.iter().any(holds_text),
        _ => false,
    }
}

fn demands<'c>(condition: &'c Document, name: &str) -> Option<&'c Bson> {
    condition.get_document(name).ok()?.get("$eq")
}

/// The condition of exactly this value, also where a collation is in force.
pub(crate) fn exactly(value: &Bson, collated: bool) -> Document {
    match value {
        Bson::String(text) if collated => doc! { "$eq": text, "$regex": pattern(text) },
        _ => doc! { "$eq": value },
    }
}

/// The regular expression of this text alone.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 3);
    pattern.push('^');
    for c in text.chars() {
        match c {
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                pattern.extend(['\\', c]);
            }
            // A pattern can't hold it as it is.
            '\0' => pattern.push_str("\\x00"),
            c => pattern.push(c),
        }
    }
    pattern.push_str("\\z");
    pattern
}

/// A condition on the documents of a type: of those of its variant, where it is one.
pub(crate) fn of_variant(meta: &DocumentMeta, filter: Document) -> Document {
    match meta.variant() {
        Some((tag, name)) => within(filter, &doc! { tag: { "$eq": name } }),
        None => filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_compared_exactly_where_a_collation_is_in_force() {
        // The forms of the replies of a `mongod`: only the second one is out of the reach of a collation.
        assert_eq!(exactly(&"acme".into(), false), doc! { "$eq": "acme" });
        assert_eq!(
            exactly(&"acme".into(), true),
            doc! { "$eq": "acme", "$regex": "^acme\\z" }
        );
        for value in [Bson::Int32(7), Bson::Boolean(true), doc! { "a": 1 }.into()] {
            assert_eq!(exactly(&value, true), doc! { "$eq": value });
        }
    }

    #[test]
    fn a_pattern_matches_its_text_alone() {
        let texts = [
            "",
            "acme",
            "a.me",
            "acme\n",
            "^a$|b(c)[d]{2}\\E+*?",
            "\\",
            "\0",
            "a\0b",
            "#x y\t-&~/<>",
            "\u{e9}\u{1f980}",
        ];
        for text in texts {
            let compiled = regex_lite::Regex::new(&pattern(text)).unwrap();
            let found: Vec<&str> = texts
                .into_iter()
                .filter(|other| compiled.is_match(other))
                .collect();
            assert_eq!(found, [text], "{}", pattern(text));
            for around in [format!("{text}x"), format!("x{text}"), format!("{text}\n")] {
                assert!(!compiled.is_match(&around), "{around:?} by {}", pattern(text));
            }
        }
    }
}

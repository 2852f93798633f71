//! Fields whose stored name has changed since the validator was set: documents may have them under the name that they had.
//!
//! A `rename_all` of serde that is added for a front end renames stored fields too. The validator that the collection has knows the names
//! of before.

use super::validator;
use crate::model::document::DocumentMeta;
use crate::model::shape::FieldMeta;
use mongodb::bson::Document;

/// Documents that have a declared field under the name that it had: [`Plan::renamed`](super::Plan::renamed).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// for renamed in odm.plan().await?.renamed() {
///     println!("{} of `{}` have `{}`", renamed.documents, renamed.collection, renamed.old_name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// The collection.
    pub collection: &'static str,
    /// The stored name of the field, by its declaration.
    pub field: &'static str,
    /// The name that the validator of the collection has for it.
    pub old_name: String,
    /// How many documents have a field of that name.
    pub documents: u64,
}

/// The fields that the validator of a collection has under another name than their declaration, each with that name.
pub(super) fn names(meta: &'static DocumentMeta, current: &Document) -> Vec<(&'static str, String)> {
    let Some(known) = validator::properties(current) else {
        return Vec::new();
    };
    let fields = meta.fields();
    let is_declared = |name: &str| {
        fields
            .iter()
            .any(|field| field.name == name || field.aliases.contains(&name))
    };
    let new = fields.iter().filter(|field| !known.contains_key(field.name));
    let old: Vec<&String> = known.keys().filter(|name| !is_declared(name)).collect();
    new.filter_map(|field| {
        let old = old.iter().find(|old| is_the_same(field, old))?;
        Some((field.name, (*old).clone()))
    })
    .collect()
}

/// Whether a name is one of the field's in another case.
fn is_the_same(field: &FieldMeta, old: &str) -> bool {
    let letters = |name: &str| -> String {
        let kept = name.chars().filter(|c| !matches!(c, '_' | '-'));
        kept.flat_map(char::to_lowercase).collect()
    };
    [field.name, field.rust]
        .iter()
        .any(|name| letters(name) == letters(old))
}

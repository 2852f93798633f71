//! The structs that there are, compared with what the documents show. Nothing is changed: what differs is a list and a patch.

mod accepts;
mod attribute;
mod compare;
mod edit;
mod imports;
mod indexes;
mod patch;
mod source;
#[cfg(test)]
mod tests;

use crate::code::build;
use crate::code::model::{Is, Models, Role};
use crate::design::Design;
use anyhow::Result;
use compare::Comparison;
use serde::Serialize;
use source::Source;
use std::fmt;
use std::path::Path;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// Documents have a field that the struct does not declare.
    Added,
    /// A struct declares a field that no document has.
    Gone,
    /// Values of a field are of other types than the struct reads.
    Type,
    /// A field is missing or null in some documents, and the struct needs it.
    Optional,
    /// A text is no variant of the enum.
    Value,
    /// An index is not declared.
    Index,
    /// An index that is declared is not there.
    IndexGone,
    /// A collection has no struct.
    Collection,
    /// A struct declares a collection that is not there.
    CollectionGone,
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The collection.
    pub collection: String,
    /// The path of the field; empty where the collection itself differs.
    pub path: String,
    /// What differs.
    pub what: What,
    /// The rest of the sentence.
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "`{}`: {}", self.collection, self.text)
        } else {
            write!(f, "`{}` of `{}`: {}", self.path, self.collection, self.text)
        }
    }
}

/// What differs between the structs and the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Against {
    /// All that differs.
    pub differences: Vec<Difference>,
    /// The changes that make the structs read the documents, as a unified patch: `patch -p1 -d src/models`. Empty where nothing is to be
    /// changed.
    pub patch: String,
}

/// The comparison with the structs that there are. Fields are added to structs: those that are written are compared with structs, also
/// where an enum would be written today.
fn compared<'s>(source: &'s Source, design: &mut Design) -> Comparison<'s> {
    for collection in &mut design.collections {
        if source.documents.contains_key(&collection.name) {
            build::without_variants(&mut collection.root);
        }
    }
    let mut models = build::models(design);
    for number in 0..models.collections.len() {
        models.without_other_sides(number, source);
    }
    Comparison::of(source, design, models)
}

impl Models {
    /// A field that is added to a written struct changes no other struct: a link has one side there, and children name their parent by
    /// the reference that they have.
    fn without_other_sides(&mut self, collection: usize, source: &Source) {
        let Some(model) = self.collections.get(collection) else {
            return;
        };
        let is_written = source.documents.contains_key(&model.collection);
        if let (true, Some(named)) = (is_written, self.types.get_mut(model.root))
            && let Is::Struct { fields, .. } = &mut named.is
        {
            for field in fields {
                if matches!(field.role, Role::TwoWay(_) | Role::Parent { .. }) {
                    field.role = Role::Plain;
                }
            }
        }
    }
}

/// Compares the structs in a folder with a design. The files are read alone: comments, the order of fields, names, rules and types that
/// read the documents stay as they are in the patch.
///
/// # Errors
/// Where a file can't be read, or is no Rust.
pub fn against(folder: &Path, design: &Design) -> Result<Against> {
    let source = Source::read(folder)?;
    let mut design = design.clone();
    let comparison = compared(&source, &mut design);
    let patch = edit::patch(&comparison, &design);
    Ok(Against {
        differences: comparison.differences,
        patch,
    })
}

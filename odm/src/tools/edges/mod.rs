//! The models as a diagram: documents with their fields, the references between them, and what is copied along these.
//!
//! [`Odm::edges`](crate::Odm::edges) gives [`Edges`]. It prints as text; [`Edges::mermaid`] draws it for a page that knows
//! [Mermaid](https://mermaid.js.org), and [`Edges::svg`] as an image of its own.

mod draw;
mod fields;
mod find;

pub use crate::model::copy::Operation;
pub use crate::model::reference::ReferenceKind;

use crate::{Consistency, OnDelete};
use std::fmt;

/// The documents of an [`Odm`](crate::Odm), their references and their copies: [`Odm::edges`](crate::Odm::edges) gives it.
///
/// Displayed as text: a paragraph for each document, with a line for each field that refers to something or is derived
/// from something.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) -> std::io::Result<()> {
/// let edges = odm.edges();
/// println!("{edges}");
/// std::fs::write("models.svg", edges.svg())?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Edges {
    /// The documents, in the order of the models.
    pub documents: Vec<DocumentNode>,
    /// The references, in the order of the documents that hold them.
    pub references: Vec<ReferenceEdge>,
    /// The fields that the library derives from other documents, in the order of the documents that hold them.
    pub copies: Vec<CopyEdge>,
}

/// A document.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) {
/// for document in odm.edges().documents {
///     println!("{} is stored in {}", document.name, document.collection);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DocumentNode {
    /// The name of its struct.
    pub name: &'static str,
    /// Its collection, by which the edges name it.
    pub collection: &'static str,
    /// Whether it is never changed: `#[document(append_only)]`.
    pub append_only: bool,
    /// Of one that holds items of another document: how many, and for what time.
    pub bucket: Option<BucketNode>,
    /// Its declared fields, in their order.
    pub fields: Vec<FieldNode>,
}

/// A field of a document, or of a struct that is embedded in it.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) {
/// for document in odm.edges().documents {
///     for field in document.fields {
///         println!("{}.{}: {}", document.name, field.name, field.shape);
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FieldNode {
    /// Its stored name.
    pub name: String,
    /// Its type in BSON with the declared bounds: `string ≤ 300`, `[Address] ≤ 10`; `?` marks one that may be `null`.
    pub shape: String,
    /// Whether the library alone writes it: a copy, a subset, a computed field, a version, a time, a bucket's summary.
    pub by_library: bool,
    /// The fields of the struct that is embedded in it, or in each of its items.
    pub fields: Vec<FieldNode>,
}

/// The bucket that a document is: `#[bucket(…)]`. Displayed as text.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) {
/// for document in odm.edges().documents {
///     if let Some(bucket) = document.bucket {
///         println!("{}: {bucket}", document.name);
///     }
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BucketNode {
    /// The array of items.
    pub items: &'static str,
    /// How many there may be in one.
    pub size: i32,
    /// Of buckets by time: what each is for, `hour`, `day` or `month`.
    pub per: Option<&'static str>,
}

/// A reference: a field whose values name other documents. Displayed in words.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) {
/// for reference in odm.edges().references {
///     println!("{}.{}: {reference}", reference.holder, reference.field);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReferenceEdge {
    /// The collection of the documents that hold it.
    pub holder: &'static str,
    /// Its stored path.
    pub field: String,
    /// One, many, or the parent.
    pub kind: ReferenceKind,
    /// The collections that it may refer to.
    pub targets: Vec<&'static str>,
    /// The stored name of the target's field whose value it holds: `_id` unless it is declared with `by`.
    pub by: &'static str,
    /// How many there may be in an array of them.
    pub max: Option<u64>,
    /// Whether a document can do without it.
    pub optional: bool,
    /// Whether each parent has one such document at most: `#[parent_ref(one)]`.
    pub only: bool,
    /// Of a two-way reference: the stored name of the field on the other side.
    pub inverse: Option<String>,
    /// What happens when the target is deleted.
    pub on_delete: OnDelete,
}

/// A field that the library derives from other documents. Displayed in words.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(odm: Odm) {
/// for copy in odm.edges().copies {
///     println!("{}.{}: {copy}", copy.holder, copy.field);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CopyEdge {
    /// The collection of the documents that hold it.
    pub holder: &'static str,
    /// Its stored path.
    pub field: String,
    /// The collection that it is derived from.
    pub source: &'static str,
    /// How it is derived.
    pub kind: CopyKind,
    /// Its consistency mode.
    pub consistency: Consistency,
}

/// How a field is derived.
///
/// ```
/// use odm::edges::{CopyKind, Operation};
///
/// let count = CopyKind::Computed {
///     operation: Operation::Count,
///     of: None,
///     parent: "product".into(),
///     filtered: false,
/// };
/// assert!(matches!(count, CopyKind::Computed { of: None, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CopyKind {
    /// A copy of a field of the document that a reference names: `#[denormalize]`.
    Field {
        /// The stored name of the field that is copied.
        source: &'static str,
        /// The stored path of the reference, in the same document.
        through: String,
    },
    /// The first or last of the children: `#[subset]`. A field of one child, `#[computed(first = …)]` or `last`, is a subset
    /// with a limit of 1.
    Subset {
        /// The child's field that names the parent.
        parent: String,
        /// How many are kept.
        limit: u32,
        /// Whether those at the end of the order are kept, and not those at its start.
        last: bool,
        /// The order, as it is declared: `-stars, date`.
        order: String,
        /// The child's fields that are kept.
        fields: Vec<&'static str>,
        /// Whether only those children count that a condition matches.
        filtered: bool,
    },
    /// A number of the children: `#[computed]`.
    Computed {
        /// The operation.
        operation: Operation,
        /// The child's field that it is computed of; of a count none.
        of: Option<&'static str>,
        /// The child's field that names the parent.
        parent: String,
        /// Whether only those children count that a condition matches.
        filtered: bool,
    },
}

impl Edges {
    fn references_of<'e>(&'e self, document: &'e DocumentNode) -> impl Iterator<Item = &'e ReferenceEdge> {
        self.references
            .iter()
            .filter(|edge| edge.holder == document.collection)
    }

    fn copies_of<'e>(&'e self, document: &'e DocumentNode) -> impl Iterator<Item = &'e CopyEdge> {
        self.copies
            .iter()
            .filter(|edge| edge.holder == document.collection)
    }
}

impl fmt::Display for ReferenceEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ReferenceKind::One => "one",
            ReferenceKind::Many => "many",
            ReferenceKind::Parent => "parent",
        })?;
        if self.optional {
            f.write_str(" or none")?;
        }
        if let Some(max) = self.max {
            write!(f, ", at most {max}")?;
        }
        write!(f, " -> {}", self.targets.join(" or "))?;
        if self.by != "_id" {
            write!(f, " by {}", self.by)?;
        }
        if self.only {
            f.write_str(", which has one at most")?;
        }
        if let Some(inverse) = &self.inverse {
            write!(f, ", two-way with {}.{inverse}", self.targets.join(" or "))?;
        }
        write!(f, ", on_delete = {}", self.on_delete)
    }
}

impl fmt::Display for CopyEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.source;
        let only = |filtered: bool| {
            if filtered {
                ", of those that match a condition"
            } else {
                ""
            }
        };
        match &self.kind {
            CopyKind::Field { source, through } => write!(f, "copy of {from}.{source} through {through}")?,
            CopyKind::Subset {
                parent,
                limit,
                last,
                order,
                fields,
                filtered,
            } => {
                let end = if *last { "last" } else { "first" };
                write!(
                    f,
                    "the {end} {limit} of {from} in the order {order}, by {from}.{parent}{}",
                    only(*filtered)
                )?;
                if !fields.is_empty() {
                    write!(f, ", with {}", fields.join(", "))?;
                }
            }
            CopyKind::Computed {
                operation,
                of,
                parent,
                filtered,
            } => {
                match of {
                    Some(of) => write!(f, "{operation} of {from}.{of}")?,
                    None => write!(f, "{operation} of {from}")?,
                }
                write!(f, ", by {from}.{parent}{}", only(*filtered))?;
            }
        }
        write!(f, ", consistency = {}", self.consistency)
    }
}

/// A paragraph for each document, with a line for each field.
impl fmt::Display for Edges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.documents.is_empty() {
            return f.write_str("no documents");
        }
        for (at, document) in self.documents.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{document}")?;
            let references = self.references_of(document);
            let mut lines: Vec<(&str, String)> = references
                .map(|edge| (edge.field.as_str(), edge.to_string()))
                .collect();
            lines.extend(
                self.copies_of(document)
                    .map(|edge| (edge.field.as_str(), edge.to_string())),
            );
            let width = lines.iter().map(|(field, _)| field.chars().count()).max();
            for (field, words) in &lines {
                write!(f, "\n  {field:width$}  {words}", width = width.unwrap_or(0))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for DocumentNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.name, self.collection)?;
        if self.append_only {
            f.write_str(", append-only")?;
        }
        if let Some(bucket) = &self.bucket {
            write!(f, ", {bucket}")?;
        }
        Ok(())
    }
}

impl fmt::Display for BucketNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} {} per bucket", self.size, self.items)?;
        match self.per {
            Some(per) => write!(f, ", each for one {per}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

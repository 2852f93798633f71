//! The fields of a document that a write changes.

use crate::graph::Graph;
use crate::graph::edge::{Derived, Edge};
use crate::graph::sync::kept_in_sync;
use crate::model::names::{meet, plain_name};
use crate::own_fields::ALL;
use mongodb::bson::{Bson, Document};

/// The changed fields of a document from which something is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangedFields {
    All,
    /// These fields.
    Of(Vec<String>),
}

impl ChangedFields {
    pub(crate) fn and(self, other: Option<&ChangedFields>) -> ChangedFields {
        match (self, other) {
            (fields, None) => fields,
            (ChangedFields::Of(mut names), Some(ChangedFields::Of(others))) => {
                names.extend(others.iter().cloned());
                ChangedFields::Of(names)
            }
            _ => ChangedFields::All,
        }
    }

    /// The names of the fields; for all fields, the entry that means all.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let (all, names) = match self {
            ChangedFields::All => (Some(ALL), [].as_slice()),
            ChangedFields::Of(names) => (None, names.as_slice()),
        };
        all.into_iter().chain(names.iter().map(String::as_str))
    }

    pub(crate) fn is_of(&self, field: &str) -> bool {
        match self {
            ChangedFields::All => true,
            ChangedFields::Of(names) => names.iter().any(|name| meet(name, field)),
        }
    }

    /// Whether one of them is copied by this reference.
    pub(crate) fn is_copied(&self, edge: &Edge) -> bool {
        kept_in_sync(edge).any(|copy| self.is_of(copy.source))
    }

    /// Whether this field is derived from one of them.
    pub(crate) fn is_derived(&self, graph: &Graph, derived: &Derived) -> bool {
        *self == ChangedFields::All || derived.reads(graph).iter().any(|name| self.is_of(name))
    }
}

/// The names of the fields that an operator changes, with its operands: of a renamed field the new name, too.
pub(crate) fn names<'u>(operator: &str, operands: &'u Document) -> impl Iterator<Item = (&'u str, &'u Bson)> {
    let renames = operator == "$rename";
    operands.iter().flat_map(move |(name, value)| {
        let new = value.as_str().filter(|_| renames).map(|new| (new, value));
        [Some((name.as_str(), value)), new].into_iter().flatten()
    })
}

/// The fields that an update changes, without positions in arrays.
pub(crate) fn changed(update: &Document) -> Vec<String> {
    let operators = update
        .iter()
        .filter_map(|(operator, operands)| Some((operator, operands.as_document()?)));
    let names = operators.flat_map(|(operator, operands)| names(operator, operands));
    names.map(|(name, _)| plain_name(name)).collect()
}

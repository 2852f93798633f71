//! Declarations of other programs, as they are stored in the database.

use crate::graph::declaration::{CLAIMS, SOFT_DELETE, UNIQUE, is_two_way};
use crate::graph::edge::{Derived, DerivedId, Edge, EdgeId};
use crate::graph::names::fields_of;
use crate::model::document::DocumentMeta;
use crate::model::meta::Consistency;
use crate::model::meta::names::{meet, unescaped};
use mongodb::bson::{Bson, Document};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

/// The fields that programs with other models derive.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// By the collection that is read.
    pub(super) sources: HashMap<String, Vec<DeclaredRead>>,
    /// Collections whose documents hold fields derived of children.
    pub(super) parents: HashSet<String>,
    /// Own references whose copies are declared in another way, by their identities.
    pub(super) edges: HashSet<EdgeId>,
    /// Own derived fields that are declared in another way, by their identities.
    pub(super) derived: HashSet<DerivedId>,
}

/// The fields of a document that one declaration reads.
#[derive(Debug)]
pub(crate) struct DeclaredRead {
    /// Dotted names: none for any.
    pub(super) fields: Vec<String>,
    /// Of a child: the name of the derived field, and the path of the reference to the parent.
    pub(super) parent: Option<(String, String)>,
}

/// Whether another program can do later what a declaration asks for: not the other side of a link, not what a bucket keeps of
/// its own items, not that a deletion keeps the document, and not a claim.
pub(crate) fn may_be_left(declaration: &Document) -> bool {
    let at_once = ["floats", SOFT_DELETE, UNIQUE, CLAIMS];
    !is_two_way(declaration) && !at_once.iter().any(|name| declaration.contains_key(name))
}

/// Whether a declaration asks for what a program without it must not leave to others: also what is to be true at once.
pub(crate) fn is_refused(declaration: &Document) -> bool {
    let atomic = Consistency::Atomic.to_string();
    let is_atomic = |of: &Document| of.get_str("sync").is_ok_and(|sync| sync == atomic);
    let listed = declaration.get_array("copies").into_iter().flatten();
    !may_be_left(declaration) || is_atomic(declaration) || listed.filter_map(Bson::as_document).any(is_atomic)
}

/// The fields of a child that the declaration of what is derived of it reads.
pub(crate) fn reads(declaration: &Document) -> Vec<String> {
    let mut names = Vec::new();
    for name in ["parent", "of"] {
        let named = declaration.get_str(name).ok().filter(|name| !name.is_empty());
        names.extend(named.map(str::to_owned));
    }
    for (list, name) in [("order", "field"), ("fields", "of")] {
        let listed = declaration.get_array(list).into_iter().flatten();
        let listed = listed.filter_map(|one| one.as_document()?.get_str(name).ok());
        names.extend(listed.map(str::to_owned));
    }
    if let Ok(filter) = declaration.get_document("filter") {
        fields_of(&unescaped(filter), &mut names);
    }
    names
}

/// [`Others`] as they were read the last time.
#[derive(Debug, Default)]
pub(crate) struct KnownDeclarations {
    pub(super) any: AtomicBool,
    pub(super) others: RwLock<Arc<Others>>,
}

pub(crate) fn parents<'o>(others: &'o Others, meta: &DocumentMeta) -> Vec<(&'o str, &'o str)> {
    let reads = others.sources.get(meta.collection).into_iter().flatten();
    let named = reads.filter_map(|read| read.parent.as_ref());
    named.map(|(id, path)| (id.as_str(), path.as_str())).collect()
}

impl DeclaredRead {
    pub(super) fn is_of(&self, field: &str) -> bool {
        self.fields.is_empty() || self.fields.iter().any(|name| meet(name, field))
    }
}

impl Others {
    /// Whether the copies beside this reference are left to others.
    pub(crate) fn copy(&self, edge: &Edge) -> bool {
        self.edges.contains(&edge.id)
    }

    /// Whether what is derived of children in this field is left to others.
    pub(crate) fn derive(&self, derived: &Derived) -> bool {
        self.derived.contains(&derived.id)
    }
}

/// Declarations in the database that the models of a program lack.
#[derive(Debug, Default)]
pub(crate) struct UnknownDeclarations {
    /// Collections that are not written by this program, since what follows from them could not be left to another one.
    pub(crate) copied: Vec<&'static str>,
    /// Collections, whether these models have them or not, with references to them.
    pub(crate) referred: Vec<(String, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn a_declaration_names_the_fields_that_it_reads_of_a_child() {
        let newest = doc! {
            "parent": "host", "filter": { "%24or": [{ "place%2ename": { "%24eq": 1 } }, { "a": 2 }] }, "sync": "auto",
            "limit": 3_i64, "order": [{ "field": "at", "kind": "Descending" }], "fields": [{ "field": "t", "of": "text" }],
        };
        assert_eq!(reads(&newest), ["host", "at", "text", "place.name", "a"]);
        let count = doc! { "parent": "host", "filter": {}, "operation": "count", "of": "" };
        assert_eq!(reads(&count), ["host"]);
    }

    #[test]
    fn declarations_that_need_a_transaction_are_refused() {
        let copy =
            |sync: &str| doc! { "through": "a", "copies": [{ "field": "x", "of": "y", "sync": sync }] };
        assert!(is_refused(&copy("atomic")) && !is_refused(&copy("auto")) && !is_refused(&copy("eventual")));
        assert!(is_refused(&doc! { "parent": "a", "sync": "atomic" }));
        assert!(!is_refused(&doc! { "parent": "a", "sync": "auto" }));
        assert!(is_refused(&doc! { "inverse": "a", "list": true }));
        assert!(is_refused(&doc! { "size": 10, "copies": [], "floats": [] }));
    }
}

//! What programs with other models derive from the documents of this one, as their stored declarations say.

use crate::graph::declaration::{copies, is_two_way};
use crate::graph::edge::{Derived, Edge};
use crate::graph::{Graph, fields_of};
use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::names::{meet, unescaped};
use mongodb::bson::{Bson, Document};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The fields that programs with other models derive.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// By the collection that is read.
    sources: HashMap<String, Vec<Read>>,
    /// Collections whose documents hold fields derived of children.
    parents: HashSet<String>,
    /// Own references whose copies are declared in another way, by their positions in the graph.
    edges: HashSet<usize>,
    /// Own derived fields that are declared in another way, by their positions in the graph.
    derived: HashSet<usize>,
}

/// The fields of a document that one declaration reads.
#[derive(Debug)]
pub(crate) struct Read {
    /// Dotted names: none for any.
    fields: Vec<String>,
    /// Of a child: the name of the derived field, and the path of the reference to the parent.
    parent: Option<(String, String)>,
}

/// Whether another program can do later what a declaration asks for: not the other side of a link, and not what a bucket keeps of
/// its own items.
pub(crate) fn may_be_left(declaration: &Document) -> bool {
    !is_two_way(declaration) && !declaration.contains_key("floats")
}

/// Whether a declaration asks for what a program without it must not leave to others: also what is to be true at once.
pub(crate) fn is_refused(declaration: &Document) -> bool {
    let atomic = SyncMode::Atomic.to_string();
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
pub(crate) struct Known {
    any: AtomicBool,
    others: RwLock<Arc<Others>>,
}

pub(crate) fn parents<'o>(others: &'o Others, meta: &DocumentMeta) -> Vec<(&'o str, &'o str)> {
    let reads = others.sources.get(meta.collection).into_iter().flatten();
    let named = reads.filter_map(|read| read.parent.as_ref());
    named.map(|(id, path)| (id.as_str(), path.as_str())).collect()
}

impl Read {
    fn is_of(&self, field: &str) -> bool {
        self.fields.is_empty() || self.fields.iter().any(|name| meet(name, field))
    }
}

impl Others {
    /// Whether the copies beside this reference are left to others.
    pub(crate) fn copy(&self, edge: &Edge) -> bool {
        self.edges.contains(&edge.at)
    }

    /// Whether what is derived of children in this field is left to others.
    pub(crate) fn derive(&self, derived: &Derived) -> bool {
        self.derived.contains(&derived.at)
    }

    /// Adds a stored declaration that this program lacks, or declares in another way. Says whether holders of it may be written by
    /// this program: a reference among its copies that it knows as a plain value can't be told of.
    pub(crate) fn add(&mut self, graph: &Graph, edge: &Document, declaration: &Document) -> bool {
        let text = |name: &str| edge.get_str(name).unwrap_or_default().to_owned();
        let (id, from, holder) = (text("_id"), text("from"), text("holder"));
        if let Ok(parent) = declaration.get_str("parent") {
            let read = Read {
                fields: reads(declaration),
                parent: Some((id.clone(), parent.to_owned())),
            };
            self.sources.entry(from).or_default().push(read);
            self.parents.insert(holder);
            let own = graph.derived().iter().filter(|derived| derived.name() == id);
            self.derived.extend(own.map(|derived| derived.at));
            return true;
        }
        let read = Read {
            fields: copies(declaration).map(|(_, of)| of.to_owned()).collect(),
            parent: None,
        };
        self.sources.entry(from).or_default().push(read);
        let through = declaration.get_str("through").unwrap_or_default();
        let Some(meta) = graph.models().find(|meta| meta.collection == holder) else {
            return true;
        };
        let own = graph.outgoing(meta).find(|edge| edge.path == through);
        self.edges.extend(own.map(|edge| edge.at));
        let root = through.split('.').next().unwrap_or_default();
        own.is_some() || meta.field(root).is_none()
    }
}

impl Graph {
    /// Takes down what programs with other models derive.
    pub(crate) fn set_others(&self, others: Others) {
        let any = !others.sources.is_empty();
        *self.others.others.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(others);
        self.others.any.store(any, Ordering::Release);
    }

    /// `None` where there is nothing: without a lock.
    pub(crate) fn others(&self) -> Option<Arc<Others>> {
        let any = self.others.any.load(Ordering::Acquire);
        any.then(|| {
            self.others
                .others
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }

    fn asks_others(&self, ask: impl FnOnce(&Others) -> bool) -> bool {
        self.others().is_some_and(|others| ask(&others))
    }

    /// Whether the copies beside this reference are left to programs that declare them in another way.
    pub(crate) fn is_left(&self, edge: &Edge) -> bool {
        self.asks_others(|others| others.copy(edge))
    }

    /// The same of what is derived of children.
    pub(crate) fn is_derived_by_others(&self, derived: &Derived) -> bool {
        self.asks_others(|others| others.derive(derived))
    }

    /// Whether others derive something from this field of a document, in other documents than those that this reference names.
    pub(crate) fn is_read_by_others(&self, meta: &DocumentMeta, field: &str, but: Option<&Edge>) -> bool {
        let is_but = |read: &Read| match (&read.parent, but) {
            (Some((_, path)), Some(edge)) => *path == edge.path,
            _ => false,
        };
        self.asks_others(|others| {
            let reads = others.sources.get(meta.collection);
            reads.is_some_and(|reads| reads.iter().any(|read| !is_but(read) && read.is_of(field)))
        })
    }

    /// Whether others derive anything from such documents.
    pub(crate) fn is_source_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| others.sources.contains_key(meta.collection))
    }

    /// Whether such documents hold what others derive of children.
    pub(crate) fn is_parent_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| others.parents.contains(meta.collection))
    }

    /// Whether others derive something from such documents in the parents that these name.
    pub(crate) fn is_child_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| !parents(others, meta).is_empty())
    }

    /// Whether work may be pending in such documents that this program can't do.
    pub(crate) fn is_for_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| {
            others.sources.contains_key(meta.collection)
                || others.parents.contains(meta.collection)
                || self.outgoing(meta).any(|edge| others.copy(edge))
        })
    }

    /// Whether an update may take children away from parents in which others derive something of them.
    pub(crate) fn moves_for_others<'n>(
        &self,
        meta: &DocumentMeta,
        mut names: impl Iterator<Item = &'n str>,
    ) -> bool {
        self.asks_others(|others| {
            let parents = parents(others, meta);
            !parents.is_empty() && names.any(|name| parents.iter().any(|(_, path)| meet(name, path)))
        })
    }

    /// The fields in which children name such parents.
    pub(crate) fn parent_fields_of_others(&self, meta: &DocumentMeta) -> Vec<String> {
        let others = self.others();
        let parents = others.iter().flat_map(|others| parents(others, meta));
        let roots = parents.map(|(_, path)| path.split('.').next().unwrap_or_default().to_owned());
        roots.collect()
    }
}

/// Declarations in the database that the models of a program lack.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
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

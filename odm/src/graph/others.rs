//! What programs with other models derive from the documents of this one, as their stored declarations say.

use crate::graph::Graph;
use crate::graph::declaration::copies;
use crate::graph::edge::{Derived, Edge};
use crate::graph::known::reads;
use crate::graph::known::{DeclaredRead, Others, parents};
use crate::model::document::DocumentMeta;
use crate::model::meta::names::meet;
use mongodb::bson::Document;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

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
        let is_but = |read: &DeclaredRead| match (&read.parent, but) {
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

impl Others {
    /// Adds a stored declaration that this program lacks, or declares in another way. Says whether holders of it may be written by
    /// this program: a reference among its copies that it knows as a plain value can't be told of.
    pub(crate) fn add(&mut self, graph: &Graph, edge: &Document, declaration: &Document) -> bool {
        let text = |name: &str| edge.get_str(name).unwrap_or_default().to_owned();
        let (id, from, holder) = (text("_id"), text("from"), text("holder"));
        if let Ok(parent) = declaration.get_str("parent") {
            let read = DeclaredRead {
                fields: reads(declaration),
                parent: Some((id.clone(), parent.to_owned())),
            };
            self.sources.entry(from).or_default().push(read);
            self.parents.insert(holder);
            let own = graph.derived().iter().filter(|derived| derived.name() == id);
            self.derived.extend(own.map(|derived| derived.id));
            return true;
        }
        let read = DeclaredRead {
            fields: copies(declaration).map(|(_, of)| of.to_owned()).collect(),
            parent: None,
        };
        self.sources.entry(from).or_default().push(read);
        let through = declaration.get_str("through").unwrap_or_default();
        let Some(meta) = graph.models().find(|meta| meta.collection == holder) else {
            return true;
        };
        let own = graph.outgoing(meta).find(|edge| edge.path == through);
        self.edges.extend(own.map(|edge| edge.id));
        let root = through.split('.').next().unwrap_or_default();
        own.is_some() || meta.field(root).is_none()
    }
}

//! The questions that the engine and the rules ask of a write: of an update its operators answer, of a whole document its type.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::affected::Affected;
use crate::plan::condition::demanded;
use crate::plan::fields::ChangedFields;
use crate::plan::operation::{What, Write};
use crate::plan::touches::{How, Touches};
use mongodb::bson::{Bson, Document, RawDocument};

impl Write {
    /// Reads the operators of an update. Everything after this goes by what was found.
    pub(crate) fn plan(&mut self, graph: &Graph) {
        let meta = self.meta;
        let inserts = |upsert: bool, filter| Some(filter).filter(|_| upsert);
        match &mut self.what {
            What::Update(update) => {
                let inserts = inserts(update.upsert, &update.filter);
                update.touches = Touches::of(graph, meta, &update.built, inserts);
            }
            What::UpdateMany(update) => {
                let inserts = inserts(update.upsert, &update.filter);
                update.touches = Touches::of(graph, meta, &update.built, inserts);
            }
            What::Insert(_) | What::Replace(_) | What::Delete(_) => {}
        }
    }

    /// The fields and references that an update touches.
    pub(crate) fn touches(&self) -> Option<&Touches> {
        match &self.what {
            What::Update(update) => Some(&update.touches),
            What::UpdateMany(update) => Some(&update.touches),
            What::Insert(_) | What::Replace(_) | What::Delete(_) => None,
        }
    }

    /// The whole document that is stored.
    pub(crate) fn document(&self) -> Option<&RawDocument> {
        match &self.what {
            What::Insert(document) => Some(document),
            What::Replace(replace) => Some(replace.stored()),
            What::Update(_) | What::UpdateMany(_) | What::Delete(_) => None,
        }
    }

    /// The document that is inserted.
    pub(crate) fn inserted(&self) -> Option<&RawDocument> {
        match &self.what {
            What::Insert(document) => Some(document),
            _ => None,
        }
    }

    pub(crate) fn is_insert(&self) -> bool {
        self.inserted().is_some()
    }

    pub(crate) fn is_upsert(&self) -> bool {
        match &self.what {
            What::Update(update) => update.upsert,
            What::UpdateMany(update) => update.upsert,
            What::Insert(_) | What::Replace(_) | What::Delete(_) => false,
        }
    }

    /// Whether it is for all documents that match a condition.
    fn is_of_many(&self) -> bool {
        match &self.what {
            What::UpdateMany(_) => true,
            What::Delete(delete) => delete.one.is_none(),
            What::Insert(_) | What::Update(_) | What::Replace(_) => false,
        }
    }

    /// Whether it is an update of all documents that match a condition.
    pub(crate) fn is_update_of_many(&self) -> bool {
        matches!(self.what, What::UpdateMany(_))
    }

    /// The condition of the documents that it changes, and the id where it names one document.
    pub(crate) fn changed(&self) -> Option<(&Document, Option<&Bson>)> {
        let filter = match &self.what {
            What::Insert(_) => return None,
            What::Update(update) => &update.filter,
            What::UpdateMany(update) => &update.filter,
            What::Replace(replace) => &replace.filter,
            What::Delete(delete) => &delete.filter,
        };
        Some((filter, filter.get("_id").filter(|_| !self.is_of_many())))
    }

    /// The id of the document that an upsert inserts where it finds none, if that is said before.
    pub(crate) fn upserted_id(&self) -> Option<&Bson> {
        if !self.is_upsert() {
            return None;
        }
        let (filter, one) = self.changed()?;
        one.or_else(|| demanded(filter, "_id"))
    }

    /// The fields that it may change.
    pub(crate) fn changed_fields(&self) -> ChangedFields {
        self.touches().map_or(ChangedFields::All, Touches::changed_fields)
    }

    /// The derived values that it affects.
    pub(crate) fn affected(&self, graph: &Graph) -> Affected {
        let by_insert = || {
            let affected = Affected::by_insert(graph, self.meta);
            Affected {
                eventual: affected.eventual || graph.may_have_children(self.meta),
                ..affected
            }
        };
        match (&self.what, self.touches()) {
            (_, Some(touches)) if self.is_upsert() => touches.affected.or(by_insert()),
            (_, Some(touches)) => touches.affected,
            (What::Insert(_), None) => by_insert(),
            (What::Delete(_), None) => Affected::by_delete(graph, self.meta),
            (_, None) => Affected::by_replacement(graph, self.meta),
        }
    }

    /// Whether it may take children away from their parents, also from those in which programs with other models derive something.
    pub(crate) fn moves_children(&self, graph: &Graph) -> bool {
        match self.touches() {
            Some(touches) => touches.moves_children,
            None if self.is_insert() => false,
            None => graph.derived_from(self.meta).next().is_some() || graph.is_child_of_others(self.meta),
        }
    }

    /// Whether it changes a reference, or may do so.
    pub(crate) fn touches_reference(&self, edge: &Edge) -> bool {
        match (self.touches(), self.inserted()) {
            (Some(touches), _) => touches.reference(edge).is_some(),
            (None, Some(document)) => edge.values(document).next().is_some(),
            (None, None) => true,
        }
    }

    /// Whether it gives a reference another value, whatever it was.
    pub(crate) fn replaces_reference(&self, edge: &Edge) -> bool {
        match self.touches() {
            Some(touches) => touches.reference(edge).is_some_and(|touched| touched.is_replaced),
            None => true,
        }
    }

    /// Its effect on the references of an edge.
    pub(crate) fn how(&self, edge: &Edge) -> How {
        match self.touches() {
            Some(touches) => touches.reference(edge).map_or(How::Adds, |touched| touched.how),
            None => How::Replaces,
        }
    }

    /// Passes the references that it adds by an edge to `take`: the position of the collection among the targets, and the key.
    pub(crate) fn each_added(&self, edge: &Edge, take: &mut dyn FnMut(usize, &Key, &Bson)) {
        if let Some(touches) = self.touches() {
            let added = touches.added(edge).iter();
            added.for_each(|(target, key, value)| take(*target, key, value));
        }
        if let Some(document) = self.document() {
            each_of_document(edge, document, take);
        }
    }

    /// Whether it adds a reference of this edge.
    pub(crate) fn adds(&self, edge: &Edge) -> bool {
        if let Some(document) = self.document() {
            return edge.values(document).next().is_some();
        }
        self.touches()
            .is_some_and(|touches| !touches.added(edge).is_empty())
    }
}

/// Passes the references of a document by an edge to `take`.
pub(crate) fn each_of_document(
    edge: &Edge,
    document: &RawDocument,
    take: &mut dyn FnMut(usize, &Key, &Bson),
) {
    for value in edge.values(document) {
        if let Some((target, key)) = edge.points(value)
            && let Ok(value) = Bson::try_from(key)
        {
            take(target, &Key::of(key), &value);
        }
    }
}

/// Whether a document of this type may refer to another one.
pub(crate) fn refers_to_its_kind(graph: &Graph, meta: &DocumentMeta) -> bool {
    graph.outgoing(meta).any(|edge| edge.target(meta).is_some())
}

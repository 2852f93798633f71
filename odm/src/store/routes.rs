//! The shard keys of the documents that an operation has met, and the filters that name them.
//!
//! On a sharded cluster, a statement that names a document by its `_id` alone goes to all shards, unless `_id` is the shard key. Rules
//! name documents so. Each document that the operation reads, inserts or is given says its own shard key, and by `same` and by copies of
//! key fields that of the documents that it refers to: these are noted here, and added to the filters of the statements that follow. A
//! statement for documents of which one is not known is sent as it is.
//!
//! The notes are those of one operation. Of a long one only the latest are kept.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::graph::routing::{Route, Routing, key_at};
use crate::model::document::DocumentMeta;
use crate::model::key::{Key, as_stored};
use crate::model::own_fields::OPERATION;
use crate::model::shape::of_field;
use crate::store::filter::{all, named_id};
use crate::store::scopes::exactly;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of documents whose keys are kept, twice: those noted last, and those before them.
const KEPT: usize = 50_000;

/// Maximum number of routes in one filter.
const ROUTES: usize = 5_000;

/// A document: its collection, the field that names it, and the value of that field.
pub(crate) type Name = (&'static str, &'static str, Key);

/// The shard keys of the documents that an operation has met.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    known: Mutex<Known>,
    /// Those of the transaction of which the operation is a part. What documents say is noted there; what the application says of one
    /// document, in a condition or by a document that it gives, holds for this operation alone: another one may look for it elsewhere.
    outer: Option<Arc<Routes>>,
    /// Whether they are those of several operations.
    is_shared: bool,
}

#[derive(Debug, Default)]
struct Known {
    latest: HashMap<Name, Note>,
    before: HashMap<Name, Note>,
}

#[derive(Clone, Debug)]
enum Note {
    /// As the document says.
    Own(Arc<Route>),
    /// As a reference to it says.
    Referred(Arc<Route>),
    /// References to it differ.
    Unclear,
}

impl Known {
    fn get(&self, name: &Name) -> Option<&Note> {
        self.latest.get(name).or_else(|| self.before.get(name))
    }

    fn put(&mut self, name: Name, note: Note) {
        if self.latest.len() >= KEPT {
            self.before = std::mem::take(&mut self.latest);
        }
        self.latest.insert(name, note);
    }

    fn refer(&mut self, name: Name, route: Arc<Route>) {
        let note = match self.get(&name) {
            Some(Note::Own(_) | Note::Unclear) => return,
            Some(Note::Referred(known)) if *known == route => return,
            Some(Note::Referred(_)) => Note::Unclear,
            None => Note::Referred(route),
        };
        self.put(name, note);
    }
}

impl Routes {
    /// Those of a transaction.
    pub(crate) fn of_transaction() -> Routes {
        Routes {
            is_shared: true,
            ..Routes::default()
        }
    }

    /// Those of an operation in a transaction.
    pub(crate) fn within(outer: Arc<Routes>) -> Routes {
        Routes::default().inside(outer)
    }

    /// The same, in a transaction.
    pub(crate) fn inside(self, outer: Arc<Routes>) -> Routes {
        Routes {
            outer: Some(outer),
            ..self
        }
    }

    fn of<R>(&self, known: impl FnOnce(&mut Known) -> R) -> R {
        known(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn route(&self, name: &Name) -> Option<Arc<Route>> {
        let outer = self.outer.as_ref().and_then(|outer| outer.route(name));
        outer.or_else(|| {
            self.of(|known| match known.get(name)? {
                Note::Own(route) | Note::Referred(route) => Some(route.clone()),
                Note::Unclear => None,
            })
        })
    }

    /// Whether they are those that the operations of a transaction share.
    pub(crate) fn is_of_transaction(&self) -> bool {
        self.is_shared
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.of(|known| *known = Known::default());
    }

    /// Notes the shard keys that a stored document says.
    pub(crate) fn note(&self, graph: &Graph, meta: &'static DocumentMeta, document: &RawDocument) {
        self.outer.as_deref().unwrap_or(self).given(graph, meta, document);
    }

    /// Notes the shard key that a document has been given by `move_to`.
    pub(crate) fn moved(&self, graph: &Graph, meta: &'static DocumentMeta, document: &RawDocument) {
        self.note(graph, meta, document);
        self.given(graph, meta, document);
    }

    /// Notes the shard keys that a document says which the application gives.
    pub(crate) fn given(&self, graph: &Graph, meta: &'static DocumentMeta, document: &RawDocument) {
        let Some(routing) = graph.routing(meta) else {
            return;
        };
        self.of(|known| {
            if let Some(route) = routing.of_document(document) {
                let route = Arc::new(route);
                for by in names(routing) {
                    if let Some(key) = key_at(document, by) {
                        known.put((meta.collection, by, key), Note::Own(route.clone()));
                    }
                }
            }
            for of in &routing.targets {
                let edge = &graph[of.target.edge];
                for (key, route) in of.of_document(edge, document) {
                    let name = (of.target.meta.collection, edge.by(), key);
                    known.refer(name, Arc::new(route));
                }
            }
        });
    }

    /// Notes the shard key that a filter has beside the `_id` of one document.
    fn learn(&self, meta: &'static DocumentMeta, routing: &Routing, filter: &Document) {
        let Some(id) = named_id(filter).filter(|_| !self.is_shared) else {
            return;
        };
        let route = routing
            .key
            .iter()
            .map(|name| value_of(filter, name).map(Key::of_bson));
        let route: Route = route.collect();
        if route.iter().all(Option::is_some) {
            self.refer((meta.collection, "_id", Key::of_bson(id)), &route);
        }
    }

    /// Adds what others know.
    pub(crate) fn add(&self, others: &Routes) {
        let notes = others.of(|known| known.latest.clone());
        self.of(|known| notes.into_iter().for_each(|(name, note)| known.put(name, note)));
    }

    /// Notes what a reference says of the shard key of its target.
    pub(crate) fn refer(&self, name: Name, route: &Route) {
        self.of(|known| known.refer(name, Arc::new(route.clone())));
    }

    /// The filter with the shard keys of the documents that it names, where these are known.
    pub(crate) fn complete(&self, graph: &Graph, meta: &'static DocumentMeta, filter: Document) -> Document {
        let routing = graph.routing(meta).filter(|routing| !routing.key.is_empty());
        let Some(routing) = routing else { return filter };
        if routing.key.iter().all(|name| is_equal(&filter, name)) {
            self.learn(meta, routing, &filter);
            return filter;
        }
        let groups = self
            .by_own_name(meta, routing, &filter)
            .or_else(|| self.by_reference(graph, meta, routing, &filter));
        groups.map_or_else(|| filter.clone(), |groups| groups.filter(&filter))
    }
}

/// The values that a filter names documents by, where it does, in groups of one shard key each.
struct Groups {
    place: Place,
    groups: Vec<(Document, Vec<Bson>)>,
}

/// Where a filter has the values.
struct Place {
    /// The field.
    name: String,
    /// The field in the items of `$elemMatch`, if they stand there.
    inner: Option<String>,
}

impl Place {
    /// The values that the filter names.
    fn values<'f>(&self, filter: &'f Document) -> Option<&'f [Bson]> {
        let outer = match &self.inner {
            None => filter,
            Some(_) => filter
                .get_document(&self.name)
                .ok()?
                .get_document("$elemMatch")
                .ok()?,
        };
        let name = self.inner.as_ref().unwrap_or(&self.name);
        match outer.get(name)? {
            Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => {
                if let Some(value) = operators.get("$eq") {
                    return Some(std::slice::from_ref(value));
                }
                Some(operators.get_array("$in").ok()?.as_slice())
            }
            Bson::RegularExpression(_) | Bson::Array(_) => None,
            value => Some(std::slice::from_ref(value)),
        }
    }

    /// The condition on the field, with other values.
    fn condition(&self, filter: &Document, values: &[Bson]) -> Document {
        let condition = filter.get(&self.name).cloned().unwrap_or(Bson::Null);
        let condition = match (&self.inner, condition) {
            (None, condition) => among(condition, values),
            (Some(inner), Bson::Document(mut outer)) => {
                if let Ok(items) = outer.get_document_mut("$elemMatch") {
                    let condition = items.get(inner).cloned().unwrap_or(Bson::Null);
                    items.insert(inner, among(condition, values));
                }
                outer.into()
            }
            (Some(_), other) => other,
        };
        doc! { &self.name: condition }
    }
}

/// The operators of a condition, with these values in the place of those of `$in`.
fn among(condition: Bson, values: &[Bson]) -> Bson {
    match condition {
        Bson::Document(mut operators) if operators.contains_key("$in") => {
            operators.insert("$in", values);
            operators.into()
        }
        condition => condition,
    }
}

impl Groups {
    /// A filter for each shard key; of one shard key a single condition.
    fn filter(self, filter: &Document) -> Document {
        match self.groups.as_slice() {
            [(key, _)] => all([filter.clone(), key.clone()]),
            groups => {
                let branches: Vec<Bson> = groups
                    .iter()
                    .map(|(key, values)| all([key.clone(), self.place.condition(filter, values)]).into())
                    .collect();
                let mut rest = filter.clone();
                rest.remove(&self.place.name);
                all([rest, doc! { "$or": branches }])
            }
        }
    }
}

/// Groups the values of a filter by the shard keys of what they name. `None` where one is not known.
fn grouped(
    place: Place,
    filter: &Document,
    mut key_of: impl FnMut(&Bson) -> Option<Arc<Route>>,
    fields: impl Fn(&Route) -> Document,
) -> Option<Groups> {
    let values = place.values(filter)?;
    let mut positions: HashMap<Arc<Route>, usize> = HashMap::new();
    let mut groups: Vec<(Document, Vec<Bson>)> = Vec::new();
    for value in values {
        let route = key_of(value)?;
        let at = *positions.entry(route).or_insert_with_key(|route| {
            groups.push((fields(route), Vec::new()));
            groups.len() - 1
        });
        if let Some((_, values)) = groups.get_mut(at) {
            values.push(value.clone());
        }
    }
    let is_useful =
        !groups.is_empty() && groups.len() <= ROUTES && groups.iter().all(|(key, _)| !key.is_empty());
    is_useful.then_some(Groups { place, groups })
}

/// The fields that name documents: those that references hold, and the token of the operation whose work is pending in them.
fn names(routing: &Routing) -> impl Iterator<Item = &'static str> {
    let fields = ["_id", OPERATION].into_iter();
    fields.chain(routing.named_by.iter().copied())
}

/// The condition of a field with this value, of the type that the field stores: an upsert puts it into a new document.
fn is(meta: &DocumentMeta, name: &str, value: &Key) -> Bson {
    let value = match meta.field(name) {
        Some(field) => as_stored(of_field(field), value.to_bson()),
        None => value.to_bson(),
    };
    exactly(&value, false).into()
}

impl Routes {
    fn by_own_name(
        &self,
        meta: &'static DocumentMeta,
        routing: &Routing,
        filter: &Document,
    ) -> Option<Groups> {
        let of_key = |route: &Route| {
            let fields = routing.key.iter().zip(route);
            let known = fields.filter(|(name, _)| !is_equal(filter, name));
            known
                .filter_map(|(name, value)| Some(((*name).to_owned(), is(meta, name, value.as_ref()?))))
                .collect()
        };
        names(routing).find_map(|by| {
            let place = Place {
                name: by.to_owned(),
                inner: None,
            };
            let key_of = |value: &Bson| self.route(&(meta.collection, by, Key::of_bson(value)));
            grouped(place, filter, key_of, of_key)
        })
    }

    /// By a reference with `same`: the documents that refer to one have the values of its key.
    fn by_reference(
        &self,
        graph: &Graph,
        meta: &'static DocumentMeta,
        routing: &Routing,
        filter: &Document,
    ) -> Option<Groups> {
        routing.targets.iter().find_map(|of| {
            let edge = &graph[of.target.edge];
            let place = place_of(edge, of.target.tag, filter)?;
            let key_of =
                |value: &Bson| self.route(&(of.target.meta.collection, edge.by(), Key::of_bson(value)));
            let of_key = |route: &Route| {
                let fields = of.of_holders(route);
                let known = fields.filter(|(name, _)| routing.key.contains(name) && !is_equal(filter, name));
                known
                    .map(|(name, value)| (name.to_owned(), is(meta, name, value)))
                    .collect()
            };
            grouped(place, filter, key_of, of_key)
        })
    }
}

/// The value that a filter demands of a field.
fn value_of<'f>(filter: &'f Document, name: &str) -> Option<&'f Bson> {
    match filter.get(name)? {
        Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => operators.get("$eq"),
        Bson::RegularExpression(_) => None,
        value => Some(value),
    }
}

/// Whether a filter demands one of some values of a field.
fn is_equal(filter: &Document, name: &str) -> bool {
    match filter.get(name) {
        Some(Bson::Document(operators)) if operators.keys().any(|key| key.starts_with('$')) => {
            operators.contains_key("$eq") || operators.contains_key("$in")
        }
        Some(Bson::RegularExpression(_)) | None => false,
        Some(_) => true,
    }
}

/// Where a filter names the targets of a reference, if it does.
fn place_of(edge: &Edge, tag: &str, filter: &Document) -> Option<Place> {
    let here = |name: String| Place { name, inner: None };
    if !edge.reference.union {
        return filter.contains_key(&edge.path).then(|| here(edge.path.clone()));
    }
    let is_of = |conditions: &Document, name: &str| conditions.get_str(name).is_ok_and(|given| given == tag);
    if is_of(filter, &format!("{}.type", edge.path)) {
        return Some(here(format!("{}.id", edge.path)));
    }
    let (array, inner) = edge.in_items()?;
    let items = filter
        .get_document(&array)
        .ok()?
        .get_document("$elemMatch")
        .ok()?;
    is_of(items, &format!("{inner}type")).then(|| Place {
        name: array,
        inner: Some(format!("{inner}id")),
    })
}

#[cfg(test)]
mod tests;

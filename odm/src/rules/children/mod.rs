//! Fields that parents derive from their children: subsets and computed fields.
//!
//! Within a transaction, a change of a child is a change of its parent where the one follows from the other: an element is
//! pushed, a number is added. Everything else is derived again from the children, by a query on the index of the parent
//! reference. Without a transaction everything is derived again, and written only if no other writer has changed the parent's
//! derived fields since: their revision is read before the children are.

pub(crate) mod newest;
pub(crate) mod orphans;
pub(crate) mod parents;
pub(crate) mod rule;
pub(crate) mod value;

use crate::graph::edge::{Derivation, Derived, Edge, ReferenceTarget};
use crate::graph::{DerivedId, EdgeId, Graph, is};
use crate::model::copy::Operation;
use crate::model::default;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::meet;
use crate::model::own_fields::{DELETE, REVISION};
use crate::model::shape::Shape;
use crate::plan::images::Image;
use crate::rules::children::newest::newest;
use crate::rules::children::parents::{ParentChanges, integer, is_whole};
use crate::rules::pending::PendingWork;
use crate::rules::rule::Effects;
use crate::store::cx::{Cx, Statement};
use crate::store::each::{WriteReport, but_for_the_deployment};
use crate::store::fields::{at, is_number, number, put};
use crate::store::filter::all;
use crate::store::filter::within;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// Maximum number of attempts to derive fields that other writers keep changing. In each of them another writer has succeeded.
const ATTEMPTS: u32 = 200;

/// Whole numbers below this are exact as doubles.
const EXACT: f64 = 9.0e15;

/// The result of applying changes of children to their parents.
pub(crate) struct UpdatedParents {
    /// How many parents were changed.
    pub(crate) parents: u64,
    /// Those from whose derived fields others derive something: their collection, a field with its value in them, and the
    /// derived field.
    pub(crate) passed_on: Vec<(&'static DocumentMeta, &'static str, Bson, &'static str)>,
    /// Missing parents whose absence is allowed. A concurrent transaction may insert one, and its snapshot lacks this change.
    /// By the references that name them.
    pub(crate) absent: Vec<(EdgeId, HashSet<Key>)>,
}

/// Applies changes of children to their parents, in a transaction.
pub(crate) async fn update_parents(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    images: &[Image],
    effects: &mut Effects,
) -> Result<UpdatedParents> {
    let parents = parents::changes(cx.odm.graph(), meta, images);
    write_parents(cx, parents, effects).await
}

/// The writes to the parents in one collection.
struct InCollection {
    meta: &'static DocumentMeta,
    parents: Vec<(&'static str, Key)>,
    /// One for each of these parents.
    statements: Vec<Statement>,
    /// The parents that have to be there, by the references that name them.
    named: Vec<(EdgeId, Key)>,
    /// Those that need not be there, and may come at any time.
    loose: Vec<(EdgeId, Key)>,
}

impl InCollection {
    fn entry<'c>(all: &'c mut Vec<InCollection>, meta: &'static DocumentMeta) -> &'c mut InCollection {
        let known = all.iter().position(|one| is(one.meta, meta));
        let at = known.unwrap_or_else(|| {
            all.push(InCollection {
                meta,
                parents: Vec::new(),
                statements: Vec::new(),
                named: Vec::new(),
                loose: Vec::new(),
            });
            all.len() - 1
        });
        &mut all[at]
    }
}

/// Fields that are derived anew in these parents.
struct Anew<'g> {
    edge: &'g Edge,
    /// In the order of the graph.
    list: Vec<&'g Derived>,
    parents: Vec<Key>,
    /// Those of them in which a number may have grown.
    grown: HashSet<Key>,
}

impl<'g> Anew<'g> {
    /// With those parents in which the same fields are derived: they are one query.
    fn add(
        all: &mut Vec<Anew<'g>>,
        edge: &'g Edge,
        mut list: Vec<&'g Derived>,
        (parent, grown): (Key, bool),
    ) {
        let more = grown.then(|| parent.clone());
        list.sort_by_key(|derived| derived.id);
        let places =
            |list: &[&Derived]| -> Vec<DerivedId> { list.iter().map(|derived| derived.id).collect() };
        let same = |known: &&mut Anew<'g>| known.edge.id == edge.id && places(&known.list) == places(&list);
        match all.iter_mut().find(same) {
            Some(known) => {
                known.parents.push(parent);
                known.grown.extend(more);
            }
            None => all.push(Anew {
                edge,
                list,
                parents: vec![parent],
                grown: more.into_iter().collect(),
            }),
        }
    }
}

/// Takes what would be pushed or added to these fields out of an update: they are derived anew, and it would be lost.
fn without(update: &mut Document, names: &[&str]) {
    for operator in ["$push", "$inc", "$min", "$max"] {
        let Ok(fields) = update.get_document_mut(operator) else {
            continue;
        };
        let is_one = |field: &str| names.iter().any(|name| meet(field, name));
        let gone: Vec<String> = fields.keys().filter(|field| is_one(field)).cloned().collect();
        gone.iter().for_each(|field| drop(fields.remove(field)));
        if fields.is_empty() {
            update.remove(operator);
        }
    }
}

/// Writes the changes to the parents, in one command for each collection. Fields that are derived anew are read from the children before
/// it: the transaction is run again where another one has written such a parent since its snapshot.
async fn write_parents(cx: &Cx<'_>, parents: ParentChanges, effects: &mut Effects) -> Result<UpdatedParents> {
    let pending = effects.pending();
    let graph = cx.odm.graph();
    let mut collections: Vec<InCollection> = Vec::new();
    let mut anew: Vec<Anew<'_>> = Vec::new();
    let mut passed_on = Vec::new();
    let mut absent: Vec<(EdgeId, HashSet<Key>)> = Vec::new();
    for ((target, key), change) in &parents {
        let again = change.anew.iter().map(|id| &graph[*id]).collect::<Vec<_>>();
        if !again.is_empty() {
            let parent = (key.clone(), change.grown);
            Anew::add(&mut anew, &graph[target.edge], again, parent);
        }
    }
    let mut derived_anew: BTreeMap<(ReferenceTarget, Key), Values> = BTreeMap::new();
    for Anew {
        edge,
        list,
        parents,
        grown,
    } in anew
    {
        let mut values = derive(cx, edge, &list, &parents).await?;
        let beyond = fitting(edge, &list, &mut values);
        if let Some((_, error)) = beyond.into_iter().find(|(key, _)| grown.contains(key)) {
            return Err(error);
        }
        if let Some(target) = list.first().map(|derived| derived.target) {
            derived_anew.extend(values.into_iter().map(|(key, values)| ((target, key), values)));
        }
    }
    for ((target, key), mut change) in parents {
        let (edge, meta) = (&graph[target.edge], target.meta);
        let names: Vec<&str> = change.anew.iter().map(|id| graph[*id].field.name).collect();
        without(&mut change.update, &names);
        let values = derived_anew.remove(&(target, key.clone()));
        set(&mut change.update, values.unwrap_or_default());
        put(&mut change.update, "$inc", REVISION, 1_i64.into());
        for derived in change.touched.iter().map(|id| &graph[*id]) {
            if graph.passed_on(meta, derived.field.name, pending, &mut change.update) {
                passed_on.push((meta, edge.by(), key.to_bson(), derived.field.name));
            }
        }
        let collection = InCollection::entry(&mut collections, meta);
        collection.parents.push((edge.by(), key.clone()));
        let parent = doc! { edge.by(): key.to_bson() };
        collection.statements.push(Statement {
            filter: if edge.reference.check && change.named {
                cx.odm.in_scope_of_existing(meta, parent)
            } else {
                parent
            },
            update: change.update,
            array_filters: Vec::new(),
        });
        if edge.may_name_missing() {
            collection.loose.push((edge.id, key.clone()));
        }
        if edge.reference.check && change.named {
            collection.named.push((edge.id, key));
        }
    }
    let mut written = 0;
    for InCollection {
        meta,
        parents,
        statements,
        named,
        loose,
    } in collections
    {
        let failed = |error| beyond(graph, meta, error);
        if let ([(by, key)], [statement]) = (parents.as_slice(), statements.as_slice())
            && let Some(place) = (effects.expected.iter()).position(|one| one.is_of(meta, by, key))
        {
            // The children have copies of their parent, so one statement does both.
            let both = effects.expected[place].with(&statement.update);
            if cx.update(meta, &[both]).await.map_err(failed)? > 0 {
                effects.expected.swap_remove(place);
                written += 1;
                continue;
            }
        }
        let matched = cx.update(meta, &statements).await.map_err(failed)?;
        written += matched;
        if matched < statements.len() as u64 {
            absent.extend(missing(cx, meta, loose, None).await?);
            are_there(cx, meta, named).await?;
        }
    }
    Ok(UpdatedParents {
        parents: written,
        passed_on,
        absent,
    })
}

/// Says of which sums the server complains that they become too great.
fn beyond(graph: &Graph, meta: &'static DocumentMeta, error: Error) -> Error {
    let said = error.to_string();
    if !said.contains("Failed to apply $inc") {
        return error;
    }
    let sums = graph.derived_in(meta).filter(|derived| is_whole(derived));
    let names: Vec<String> = sums.map(|derived| format!("`{}`", derived.field.name)).collect();
    Error::Query {
        collection: meta.collection,
        message: format!(
            "a field that is computed from children would exceed the range of its type (one of {}): {said}",
            names.join(", ")
        ),
    }
}

/// Fails if one of the parents that children name now is not there.
async fn are_there(cx: &Cx<'_>, meta: &'static DocumentMeta, named: Vec<(EdgeId, Key)>) -> Result<()> {
    let graph = cx.odm.graph();
    let existing = cx.odm.scope_of_existing(meta);
    match missing(cx, meta, named, existing).await?.first() {
        None => Ok(()),
        Some((edge, keys)) => {
            let ids = keys.iter().map(Key::to_bson).collect();
            Err(crate::graph::sync::missing(&graph[*edge], meta, ids))
        }
    }
}

/// Which of these parents are not there, or do not fit a further condition, by the references that name them.
pub(crate) async fn missing(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    parents: Vec<(EdgeId, Key)>,
    condition: Option<Document>,
) -> Result<Vec<(EdgeId, HashSet<Key>)>> {
    let graph = cx.odm.graph();
    let mut by_edge: BTreeMap<EdgeId, HashSet<Key>> = BTreeMap::new();
    for (edge, key) in parents {
        by_edge.entry(edge).or_default().insert(key);
    }
    let mut all = Vec::new();
    for (id, mut keys) in by_edge {
        let edge = &graph[id];
        for ids in crate::model::key::chunks(&keys.clone()) {
            let mut filter = doc! { edge.by(): { "$in": ids } };
            if let Some(condition) = &condition {
                filter = within(filter, condition);
            }
            for parent in cx.every(meta, filter, doc! { "_id": 1, edge.by(): 1 }).await? {
                if let Some(key) = at(&parent, edge.by()) {
                    keys.remove(&Key::of(key));
                }
            }
        }
        if !keys.is_empty() {
            all.push((id, keys));
        }
    }
    Ok(all)
}

/// The values of derived fields, `None` where the field is to be missing.
pub(crate) type Values = Vec<(&'static str, Option<Bson>)>;

/// Takes out what does not fit its field: the sum of whole numbers may be greater than any that is one. Gives the parents with
/// what is to be said of it.
fn fitting(edge: &Edge, list: &[&Derived], all: &mut HashMap<Key, Values>) -> Vec<(Key, Error)> {
    let mut beyond = Vec::new();
    for (key, values) in all {
        values.retain(|(name, value)| {
            let (Some(value), Some(derived)) =
                (value, list.iter().find(|derived| derived.field.name == *name))
            else {
                return true;
            };
            let is_number = !matches!(derived.what, Derivation::Subset(_));
            let (min, max) = match (derived.field.shape)() {
                Shape::Int { min, max } if is_number => (min.into(), max.into()),
                Shape::Long { min, max } if is_number => (min, max),
                _ => return true,
            };
            let fits = match value {
                Bson::Int32(n) => (min..=max).contains(&i64::from(*n)),
                Bson::Int64(n) => (min..=max).contains(n),
                Bson::Null => true,
                _ => false,
            };
            if !fits {
                let error = Error::Query {
                    collection: derived.parent.collection,
                    message: format!(
                        "`{name}` of the document with {} {} can't be computed from its children in `{}`: the result is \
                         {value}, and the field holds integers from {min} to {max}",
                        edge.by(),
                        key.to_bson(),
                        derived.child.collection,
                    ),
                };
                beyond.push((key.clone(), error));
            }
            fits
        });
    }
    beyond
}

fn set(update: &mut Document, values: Values) {
    for (name, value) in values {
        match value {
            Some(value) => put(update, "$set", name, value),
            None => put(update, "$unset", name, "".into()),
        }
    }
}

/// A number that is derived, of which field of the children.
type ComputedValues<'g> = (&'g Derived, Operation, &'static str);

/// Derives fields of these parents from their children: one query for all numbers with the same condition, and one for each
/// subset, which asks for no more children than are kept.
pub(crate) async fn derive(
    cx: &Cx<'_>,
    edge: &Edge,
    list: &[&Derived],
    parents: &[Key],
) -> Result<HashMap<Key, Values>> {
    let mut values: HashMap<Key, Values> = parents
        .iter()
        .map(|parent| (parent.clone(), Values::new()))
        .collect();
    let mut numbers: Vec<(Document, Vec<ComputedValues>)> = Vec::new();
    for derived in list {
        let condition = all([
            derived.counted().unwrap_or_default(),
            doc! { DELETE: { "$ne": true } },
        ]);
        match derived.what {
            Derivation::Subset(subset) => {
                let mut found = newest(cx, edge, derived, subset, condition, parents).await?;
                for (parent, values) in &mut values {
                    let elements = found.remove(parent).unwrap_or_default();
                    values.push((derived.field.name, derived.or_missing(subset.value(elements))));
                }
            }
            Derivation::Computed { operation, of } => {
                let number = (*derived, operation, of);
                match numbers.iter_mut().find(|(other, _)| *other == condition) {
                    Some((_, list)) => list.push(number),
                    None => numbers.push((condition, vec![number])),
                }
            }
        }
    }
    for (condition, list) in numbers {
        let group = grouped(edge, &list);
        let Some(target) = list.first().map(|(derived, ..)| derived.target) else {
            continue;
        };
        let children = |keys: Vec<Bson>| {
            let of_these = edge.holders_of(target, keys);
            doc! { "$match": all([of_these, condition.clone()]) }
        };
        let mut found: HashMap<Key, Document> = HashMap::new();
        for keys in crate::model::key::chunks(parents) {
            let pipeline = vec![children(keys), doc! { "$group": group.clone() }];
            for group in cx.aggregate(edge.holder, pipeline).await? {
                if let Some(parent) = group.get("_id") {
                    found.insert(Key::of_bson(parent), group);
                }
            }
        }
        if found.keys().any(|key| !values.contains_key(key)) {
            // By the collation of the collection, say, a child names its parent by another value. The server knows which.
            for parent in parents {
                let mut group = group.clone();
                group.insert("_id", Bson::Null);
                let pipeline = vec![children(vec![parent.to_bson()]), doc! { "$group": group }];
                if let Some(group) = cx.aggregate(edge.holder, pipeline).await?.into_iter().next() {
                    found.insert(parent.clone(), group);
                }
            }
        }
        for (parent, values) in &mut values {
            values.extend(computed(&list, found.get(parent)));
        }
    }
    Ok(values)
}

/// The stage that computes these numbers for each parent.
fn grouped(edge: &Edge, list: &[ComputedValues]) -> Document {
    let mut group = doc! { "_id": format!("${}", edge.key_path()) };
    for (at, (derived, operation, of)) in list.iter().enumerate() {
        let field = default::expression((derived.child.shape)(), of);
        let name = format!("v{at}");
        match operation {
            Operation::Count => drop(group.insert(name, doc! { "$sum": 1 })),
            Operation::Sum => drop(group.insert(name, doc! { "$sum": field })),
            Operation::Min => drop(group.insert(name, doc! { "$min": field })),
            Operation::Max => drop(group.insert(name, doc! { "$max": field })),
            Operation::Avg => {
                let is_number = doc! { "$in": [{ "$type": &field }, ["int", "long", "double", "decimal"]] };
                group.insert(&name, doc! { "$sum": field });
                group.insert(format!("c{at}"), doc! { "$sum": { "$cond": [is_number, 1, 0] } });
            }
        }
    }
    group
}

/// The numbers that the stage has found for a parent; without children there is nothing found.
fn computed<'l>(
    list: &'l [ComputedValues],
    found: Option<&'l Document>,
) -> impl Iterator<Item = (&'static str, Option<Bson>)> + 'l {
    list.iter().enumerate().map(move |(at, (derived, operation, _))| {
        let get = |name: String| {
            found
                .and_then(|found| found.get(&name))
                .filter(|value| **value != Bson::Null)
        };
        let value = match (operation, get(format!("v{at}"))) {
            (Operation::Min | Operation::Max, value) => derived.or_missing(value.cloned()),
            (Operation::Avg, sum) => {
                let count = get(format!("c{at}")).map_or(0, integer);
                Some(doc! { "sum": sum.map_or(0.0, float), "count": count }.into())
            }
            (_, value) => Some(as_stored(derived, value)),
        };
        (derived.field.name, value)
    })
}

fn float(value: &Bson) -> f64 {
    match value {
        Bson::Int32(n) => (*n).into(),
        Bson::Int64(n) => *n as f64,
        Bson::Double(n) => *n,
        Bson::Decimal128(n) => n.to_string().parse().unwrap_or(f64::NAN),
        _ => 0.0,
    }
}

/// A sum or count as the field stores it.
fn as_stored(derived: &Derived, value: Option<&Bson>) -> Bson {
    match value {
        None => derived.whole(0),
        Some(value @ (Bson::Int32(_) | Bson::Int64(_))) => derived.whole(integer(value)),
        Some(value) => match (derived.field.shape)() {
            Shape::Double => Bson::Double(float(value)),
            // An out-of-band write has stored a whole number as a double.
            Shape::Int { .. } | Shape::Long { .. }
                if float(value).fract() == 0.0 && float(value).abs() < EXACT =>
            {
                derived.whole(integer(value))
            }
            _ => value.clone(),
        },
    }
}

/// Computes the derived fields of new parents from children that were inserted before them.
pub(crate) async fn adopt(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    documents: &[&RawDocumentBuf],
    pending: PendingWork,
) -> Result<WriteReport> {
    if documents.is_empty() {
        return Ok(WriteReport::default());
    }
    let graph = cx.odm.graph();
    let mut edges: Vec<(&Edge, Vec<&Derived>)> = Vec::new();
    for derived in graph
        .derived_in(meta)
        .filter(|derived| !graph.is_derived_by_others(derived))
    {
        let edge = graph.parent_edge(derived);
        match edges.iter_mut().find(|(other, _)| other.id == edge.id) {
            Some((_, list)) => list.push(derived),
            None => edges.push((edge, vec![derived])),
        }
    }
    let mut written = WriteReport::default();
    for (edge, list) in edges {
        let keys: Vec<Key> = documents
            .iter()
            .filter_map(|document| at(document, edge.by()))
            .map(Key::of)
            .collect();
        let Some(target) = list.first().map(|derived| derived.target) else {
            continue;
        };
        // Most of those that are new have none, and hold nothing.
        let mut named: HashSet<Key> = HashSet::new();
        for keys in crate::model::key::chunks(&keys) {
            let pipeline = vec![
                doc! { "$match": edge.holders_of(target, keys.into_iter().collect()) },
                doc! { "$group": { "_id": format!("${}", edge.key_path()) } },
            ];
            let groups = cx.aggregate(edge.holder, pipeline).await?;
            named.extend(
                groups
                    .iter()
                    .filter_map(|group| group.get("_id"))
                    .map(Key::of_bson),
            );
        }
        // Others may have added to it, or taken from it what it never held. This is asked last: a child that comes from now on is
        // counted when it comes.
        let rest: Vec<&Key> = keys.iter().filter(|key| !named.contains(*key)).collect();
        let holds = |derived: &&Derived| {
            let nothing = derived.nothing().unwrap_or(Bson::Null);
            doc! { derived.field.name: { "$ne": nothing } }
        };
        let holds: Vec<Document> = list.iter().map(holds).collect();
        for keys in crate::model::key::chunks(rest) {
            let filter = doc! { edge.by(): { "$in": keys }, "$or": &holds };
            let fields = doc! { "_id": 1, edge.by(): 1 };
            let found = cx.every(meta, filter, fields).await?;
            named.extend(found.iter().filter_map(|one| at(one, edge.by())).map(Key::of));
        }
        if !named.is_empty() {
            written.add(refresh(cx, edge, &list, named, pending).await)?;
        }
    }
    Ok(written)
}

/// The inner error is a refusal for some documents, so that the others can still be written: never in a transaction.
fn apart<T>(cx: &Cx<'_>, result: Result<T>) -> Result<Result<T>> {
    match cx.session {
        Some(_) => result.map(Ok),
        None => but_for_the_deployment(result),
    }
}

/// The update of a parent with its derived fields, if it still has the revision that was read before its children.
fn guarded(
    graph: &Graph,
    meta: &DocumentMeta,
    edge: &Edge,
    (key, revision): (&Key, i64),
    values: Values,
    pending: PendingWork,
) -> Statement {
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let mut update = Document::new();
    set(&mut update, values);
    put(&mut update, "$inc", REVISION, 1_i64.into());
    for name in names {
        graph.passed_on(meta, name, pending, &mut update);
    }
    Statement {
        filter: doc! { edge.by(): key.to_bson(), REVISION: is_number(revision) },
        update,
        array_filters: Vec::new(),
    }
}

/// Derives fields of these parents again. A parent is written only if its derived fields have not changed meanwhile; the others
/// are derived once more. A number outside of its field's range is refused as well, by an [`Error::Query`].
pub(crate) async fn refresh(
    cx: &Cx<'_>,
    edge: &Edge,
    list: &[&Derived],
    keys: HashSet<Key>,
    pending: PendingWork,
) -> Result<WriteReport> {
    let Some(meta) = list.first().map(|derived| derived.parent) else {
        return Ok(WriteReport::default());
    };
    let graph = cx.odm.graph();
    let mut open: Vec<Key> = keys.into_iter().collect();
    let mut written = 0;
    // The last error of each parent. A later attempt may succeed, and then removes it.
    let mut refused: BTreeMap<Key, Error> = BTreeMap::new();
    for attempt in 0..ATTEMPTS {
        let mut revisions: HashMap<Key, i64> = HashMap::new();
        for ids in crate::model::key::chunks(&open) {
            let filter = doc! { edge.by(): { "$in": ids } };
            for parent in cx
                .every(meta, filter, doc! { "_id": 1, edge.by(): 1, REVISION: 1 })
                .await?
            {
                if let Some(key) = at(&parent, edge.by()) {
                    revisions.insert(Key::of(key), number(&parent, REVISION));
                }
            }
        }
        for key in open.drain(..) {
            refused.remove(&key);
        }
        let keys: Vec<Key> = revisions.keys().cloned().collect();
        let mut values = derive(cx, edge, list, &keys).await?;
        refused.extend(fitting(edge, list, &mut values));
        let statements: Vec<(Key, Statement)> = values
            .into_iter()
            .map(|(key, values)| {
                let revision = revisions.get(&key).copied().unwrap_or_default();
                let statement = guarded(graph, meta, edge, (&key, revision), values, pending);
                (key, statement)
            })
            .collect();
        if attempt == 0 {
            // Mostly there is no other writer and none is refused, and they are one command. Otherwise it is not known which of
            // them were written, and all are derived once more, each by itself.
            let (keys, statements): (Vec<Key>, Vec<Statement>) = statements.into_iter().unzip();
            match apart(cx, cx.update(meta, &statements).await)? {
                Ok(n) if n == statements.len() as u64 => written += n,
                _ => open = keys,
            }
        } else {
            for (key, statement) in statements {
                match apart(cx, cx.update(meta, std::slice::from_ref(&statement)).await)? {
                    Ok(0) => open.push(key),
                    Ok(_) => written += 1,
                    Err(error) => drop(refused.insert(key, error)),
                }
            }
        }
        if open.is_empty() {
            let mut all = WriteReport::of_documents(written);
            refused.into_values().for_each(|error| all.refuse(error));
            return Ok(all);
        }
        tokio::time::sleep(Duration::from_millis(u64::from(attempt.min(20)))).await;
    }
    Err(Error::Contention {
        collection: meta.collection,
        source: None,
        message: format!(
            "other writers changed the fields derived from `{}` in the document with `{}` {} during each of {ATTEMPTS} \
             attempts to update them; the update stays pending, and `recover()` completes it",
            list.first().map_or("", |derived| derived.child.name),
            edge.by(),
            open.first().map_or(Bson::Null, Key::to_bson)
        ),
    })
}

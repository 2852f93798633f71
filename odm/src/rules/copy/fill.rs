//! Fills in copies in the documents that an application writes, before they are sent: with the version of the source, and with
//! the pending work of the write.

use crate::graph::Graph;
use crate::graph::edge::{CopyField, Edge, EdgeId, Segment};
use crate::graph::sync::is_kept;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{COPIED, FEW_HOLDERS, HOLDERS_LEFT, VERSION, name_of};
use crate::plan::touches::{OperandPlace, Touches, UpdateOperand, WrittenFields};
use crate::rules::copy::deliver::{CopySource, sources_within, structs};
use crate::rules::pending::first_version;
use crate::rules::rule::{Inserts, NewDocuments, Replacing, Updating};
use crate::store::batch::{by_ids, id};
use crate::store::cx::Cx;
use crate::store::fields::{at, number, put};
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Visits the structs that may hold the reference of an edge, in a value that the rest of its path leads into.
fn visit(segments: &[Segment], in_array: bool, value: &mut Bson, take: &mut dyn FnMut(&mut Document)) {
    if in_array {
        if let Bson::Array(items) = value {
            for item in items {
                visit(segments, false, item, take);
            }
        }
        return;
    }
    if let Bson::Document(within) = value {
        visit_document(segments, within, take);
    }
}

/// The same in a document, or in a struct within one.
fn visit_document(segments: &[Segment], within: &mut Document, take: &mut dyn FnMut(&mut Document)) {
    match segments.split_first() {
        None => {}
        Some((_, [])) => take(within),
        Some((first, rest)) => {
            if let Some(below) = within.get_mut(&first.name) {
                visit(rest, first.array, below, take);
            }
        }
    }
}

/// The sources of all copies that a write adds, by edge; and the edges of which no versions are noted.
#[derive(Default)]
struct Sources(HashMap<EdgeId, HashMap<Key, CopySource>>, HashSet<EdgeId>);

/// Reads the sources that these keys name. A document that is to be changed keeps what it has of one that is gone.
///
/// # Errors
/// [`Error::MissingReference`] for those that don't exist.
async fn read(
    cx: &Cx<'_>,
    wanted: HashMap<EdgeId, HashMap<Key, Bson>>,
    own: &[RawDocumentBuf],
    (meta, changed): (&DocumentMeta, Option<&Key>),
    beside: &[Inserts],
) -> Result<Sources> {
    let graph = cx.odm.graph();
    let mut all = Sources::default();
    let left = graph.outgoing(meta).filter(|edge| graph.is_left(edge));
    all.1.extend(left.map(|edge| edge.id));
    for (id, keys) in wanted {
        let edge = &graph[id];
        let existing = edge
            .first_target()
            .and_then(|target| cx.odm.scope_of_existing(target));
        let mut found = sources_within(cx, edge, keys.keys(), existing).await?;
        // Documents that the write inserts itself count as existing.
        let others = beside
            .iter()
            .map(|(meta, documents)| (*meta, documents.as_slice()));
        for (_, documents) in others
            .chain([(meta, own)])
            .filter(|(meta, _)| edge.target(meta).is_some())
        {
            for document in documents {
                if let Some(source) = CopySource::read(edge, document) {
                    found.entry(Key::of_bson(&source.key)).or_insert(source);
                }
            }
        }
        if let Some(id) = changed.filter(|_| keys.keys().any(|key| !found.contains_key(key))) {
            for (key, source) in taken_before(cx, edge, id).await? {
                found.entry(key).or_insert(source);
            }
        }
        let missing: Vec<Bson> = keys
            .into_iter()
            .filter(|(key, _)| !found.contains_key(key))
            .map(|(_, value)| value)
            .collect();
        if let (false, Some(target)) = (missing.is_empty(), edge.first_target()) {
            return Err(crate::graph::sync::missing(edge, target, missing));
        }
        all.0.insert(edge.id, found);
    }
    Ok(all)
}

/// The copies that a document has by a reference, by the keys of the sources.
async fn taken_before(cx: &Cx<'_>, edge: &Edge, id: &Key) -> Result<HashMap<Key, CopySource>> {
    let mut names = vec![edge.root()];
    if edge.segments.len() == 1 {
        names.push(COPIED);
        names.extend(edge.copies.iter().map(|copy| copy.name));
    }
    let mut taken = HashMap::new();
    for document in by_ids(cx, edge.holder, [id].into_iter(), names).await? {
        for within in structs(edge, &document) {
            let value = |name: &str| Bson::try_from(within.get(name).ok().flatten()?).ok();
            let version = format!("{COPIED}.{}", edge.name());
            // Out-of-band writes leave no version, so the source of such copies is not known.
            if let Some(key) = value(edge.name())
                && at(within, &version).is_some()
            {
                let source = CopySource {
                    version: number(within, &version),
                    values: edge.copies.iter().map(|copy| value(copy.name)).collect(),
                    changed: WrittenFields::All,
                    key,
                };
                taken.insert(Key::of_bson(&source.key), source);
            }
        }
    }
    Ok(taken)
}

impl Sources {
    fn get(&self, edge: &Edge, key: &Bson) -> Option<&CopySource> {
        self.0.get(&edge.id)?.get(&Key::of_bson(key))
    }

    /// Fills the copies in a struct.
    fn fill(&self, edge: &Edge, within: &mut Document) {
        let key = within.get(edge.name()).filter(|key| **key != Bson::Null).cloned();
        let source = key.as_ref().and_then(|key| self.get(edge, key));
        for (i, copy) in edge.copies.iter().enumerate() {
            match source.and_then(|source| source.values.get(i)).cloned().flatten() {
                Some(value) => drop(within.insert(copy.name, value)),
                // Without the reference it may be another variant, but for a field of the document itself.
                None if copy.required && (within.contains_key(edge.name()) || is_own(edge, copy)) => {
                    drop(within.insert(copy.name, Bson::Null));
                }
                None if copy.required => {}
                None => drop(within.remove(copy.name)),
            }
        }
        self.note_version(edge, within, source);
    }

    /// Notes in a struct which version its copies are of. Of copies that another program declares in another way none: that
    /// program takes all of them anew.
    fn note_version(&self, edge: &Edge, within: &mut Document, source: Option<&CopySource>) {
        let mut versions = match within.remove(COPIED) {
            Some(Bson::Document(versions)) => versions,
            _ => Document::new(),
        };
        match source.filter(|_| !self.1.contains(&edge.id)) {
            Some(source) => drop(versions.insert(edge.name(), source.version)),
            None => drop(versions.remove(edge.name())),
        }
        if !versions.is_empty() {
            within.insert(COPIED, versions);
        }
    }
}

/// Whether the copy is a field of the document itself, which every document has.
fn is_own(edge: &Edge, copy: &CopyField) -> bool {
    edge.segments.len() == 1 && edge.holder.field(copy.name).is_some_and(|field| !field.flatten)
}

fn want(edge: &Edge, within: &Document, wanted: &mut HashMap<EdgeId, HashMap<Key, Bson>>) {
    if edge.copies.is_empty() {
        return;
    }
    if let Some(key) = within.get(edge.name()).filter(|key| **key != Bson::Null) {
        let keys = wanted.entry(edge.id).or_default();
        keys.insert(Key::of_bson(key), key.clone());
    }
}

/// The operands of an update that hold references with copies, or around which programs with other models keep copies.
fn operands<'t>(
    graph: &'t Graph,
    touches: &'t Touches,
) -> impl Iterator<Item = (&'t Edge, &'t UpdateOperand)> {
    let edges = touches
        .references
        .iter()
        .map(|touched| (&graph[touched.edge], touched));
    let copying = edges.filter(|(edge, _)| !edge.copies.is_empty() || graph.is_left(edge));
    copying.flat_map(|(edge, touched)| touched.operands.iter().map(move |operand| (edge, operand)))
}

/// The value of an operand.
fn value_of<'u>(update: &'u mut Document, operand: &UpdateOperand) -> Option<&'u mut Bson> {
    update
        .get_document_mut(&operand.operator)
        .ok()?
        .get_mut(&operand.name)
}

/// Visits the structs with the reference in the value that an operator gives to a field.
fn visit_operand(
    edge: &Edge,
    operator: &str,
    depth: usize,
    item: bool,
    value: &mut Bson,
    take: &mut dyn FnMut(&mut Document),
) {
    let rest = edge.segments.get(depth..).unwrap_or_default();
    let array = depth
        .checked_sub(1)
        .and_then(|at| edge.segments.get(at))
        .is_some_and(|segment| segment.array);
    match operator {
        "$set" | "$setOnInsert" => visit(rest, array && !item, value, take),
        "$push" | "$addToSet" => match value {
            Bson::Document(push) if push.contains_key("$each") => {
                if let Ok(items) = push.get_array_mut("$each") {
                    items.iter_mut().for_each(|item| visit(rest, false, item, take));
                }
            }
            one => visit(rest, false, one, take),
        },
        _ => {}
    }
}

/// The copies beside a reference that an update sets or removes.
fn put_beside(
    edge: &Edge,
    operator: &str,
    prefix: &str,
    value: &Bson,
    sources: &Sources,
    update: &mut Document,
) {
    let set = if operator == "$setOnInsert" {
        operator
    } else {
        "$set"
    };
    let version = format!("{prefix}{COPIED}.{}", edge.name());
    let empty = |copy: &CopyField, update: &mut Document| {
        let name = format!("{prefix}{}", copy.name);
        if copy.required {
            put(update, set, &name, Bson::Null);
        } else if operator != "$setOnInsert" {
            // Of an upsert a new document has none, and one that was there keeps its own.
            put(update, "$unset", &name, "".into());
        }
    };
    match sources.get(edge, value).filter(|_| operator != "$unset") {
        Some(source) => {
            for (copy, value) in edge.copies.iter().zip(&source.values) {
                match value {
                    Some(value) => put(update, set, &format!("{prefix}{}", copy.name), value.clone()),
                    None => empty(copy, update),
                }
            }
            if !sources.1.contains(&edge.id) {
                put(update, set, &version, source.version.into());
            } else if operator != "$setOnInsert" {
                put(update, "$unset", &version, "".into());
            }
        }
        None => {
            edge.copies.iter().for_each(|copy| empty(copy, update));
            if operator != "$setOnInsert" {
                put(update, "$unset", &version, "".into());
            }
        }
    }
}

/// The stored document that a replacement is for, where snapshots stand in embedded structs of it: what was taken once stays,
/// and which item of an array was there before can't be told by the server.
async fn taken(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    edges: &[&Edge],
    replacement: &RawDocumentBuf,
) -> Result<Option<RawDocumentBuf>> {
    let embedded: Vec<&str> = edges
        .iter()
        .filter(|edge| edge.segments.len() > 1 && snapshots(edge).next().is_some())
        .map(|edge| edge.root())
        .collect();
    if embedded.is_empty() {
        return Ok(None);
    }
    let key = id(replacement);
    let found = by_ids(cx, meta, [&key].into_iter(), embedded).await?;
    Ok(found.into_iter().next())
}

/// The copies beside a reference that are never taken again.
fn snapshots(edge: &Edge) -> impl Iterator<Item = &CopyField> {
    crate::graph::sync::snapshots(edge).map(|(_, copy)| copy)
}

/// The snapshots of a struct as they are stored.
#[derive(Clone, Debug, PartialEq)]
struct KeptSnapshots(Vec<(&'static str, Option<Bson>)>);

impl KeptSnapshots {
    fn read(edge: &Edge, get: impl Fn(&str) -> Option<Bson>) -> KeptSnapshots {
        KeptSnapshots(snapshots(edge).map(|copy| (copy.name, get(copy.name))).collect())
    }

    /// For each struct that is visited, of a replacement or an update, the snapshots that are stored beside the same reference. Of
    /// several stored items with one reference, each takes the one with the same snapshots, and else the next of them.
    fn for_structs(
        edge: &Edge,
        stored: &RawDocumentBuf,
        visit: impl FnOnce(&mut dyn FnMut(&mut Document)),
    ) -> Vec<Option<KeptSnapshots>> {
        if edge.segments.len() == 1 || snapshots(edge).next().is_none() {
            return Vec::new();
        }
        let mut old: Vec<(Key, KeptSnapshots)> = Vec::new();
        for within in structs(edge, stored) {
            if let Some(key) = within.get(edge.name()).ok().flatten() {
                let value = |name: &str| Bson::try_from(within.get(name).ok().flatten()?).ok();
                old.push((Key::of(key), KeptSnapshots::read(edge, value)));
            }
        }
        let mut new: Vec<(Option<Key>, KeptSnapshots)> = Vec::new();
        visit(&mut |within| {
            let key = within.get(edge.name()).map(Key::of_bson);
            new.push((key, KeptSnapshots::read(edge, |name| within.get(name).cloned())));
        });
        let mut found: Vec<Option<KeptSnapshots>> = vec![None; new.len()];
        for exact in [true, false] {
            for ((key, given), found) in new.iter().zip(&mut found) {
                let is_matched = |(other, kept): &(Key, KeptSnapshots)| {
                    key.as_ref() == Some(other) && (!exact || kept == given)
                };
                if found.is_none()
                    && let Some(at) = old.iter().position(is_matched)
                {
                    *found = Some(old.remove(at).1);
                }
            }
        }
        found
    }

    fn put_back(self, within: &mut Document) {
        for (name, value) in self.0 {
            match value {
                Some(value) => drop(within.insert(name, value)),
                None => drop(within.remove(name)),
            }
        }
    }
}

/// Fills in the copies of new documents.
///
/// # Errors
/// [`Error::MissingReference`] where a source does not exist.
pub(super) async fn fill_new(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    new: &mut NewDocuments<'_>,
) -> Result<()> {
    let graph = cx.odm.graph();
    if graph.has_versions(meta) {
        new.own.insert(name_of(VERSION), first_version());
    }
    if counts_holders(graph, meta) {
        new.own.insert(name_of(HOLDERS_LEFT), FEW_HOLDERS);
    }
    let edges: Vec<&Edge> = graph
        .outgoing(meta)
        .filter(|edge| !edge.copies.is_empty())
        .collect();
    if edges.is_empty() {
        return Ok(());
    }
    let mut wanted: HashMap<EdgeId, HashMap<Key, Bson>> = HashMap::new();
    for document in new.decoded()? {
        for edge in &edges {
            visit_document(&edge.segments, document, &mut |within| {
                want(edge, within, &mut wanted)
            });
        }
    }
    let sources = read(cx, wanted, new.given, (meta, None), new.beside).await?;
    for document in new.decoded()? {
        for edge in &edges {
            visit_document(&edge.segments, document, &mut |within| sources.fill(edge, within));
        }
    }
    Ok(())
}

/// Fills in the copies beside the references that an update sets, and raises the version of what it copies from.
///
/// # Errors
/// [`Error::MissingReference`] where a source does not exist.
pub(super) async fn fill_update(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    updating: &mut Updating<'_>,
) -> Result<()> {
    let graph = cx.odm.graph();
    let Updating {
        one,
        upsert,
        update,
        touches,
        beside,
        ..
    } = updating;
    let mut wanted: HashMap<EdgeId, HashMap<Key, Bson>> = HashMap::new();
    let mut itself: Vec<(&Edge, &UpdateOperand, &str, Bson)> = Vec::new();
    let mut read_before: Vec<&str> = Vec::new();
    let mut adds = false;
    for (edge, operand) in operands(graph, touches) {
        let operator = operand.operator.as_str();
        let Some(value) = value_of(update, operand) else {
            continue;
        };
        adds |= matches!(operator, "$push" | "$addToSet");
        if !edge.copies.is_empty() && matches!(operator, "$min" | "$max") {
            return Err(Error::Query {
                collection: meta.collection,
                message: format!(
                    "the reference `{}` has copies beside it, and only the server knows whether `{}` changes its value: use `set`",
                    edge.path,
                    operator.trim_start_matches('$'),
                ),
            });
        }
        match &operand.holds {
            OperandPlace::Itself { prefix } => {
                if operator != "$unset" {
                    want(edge, &doc! { edge.name(): value.clone() }, &mut wanted);
                }
                itself.push((edge, operand, prefix, value.clone()));
            }
            OperandPlace::Around { depth, item } => {
                let mut has_snapshots = false;
                visit_operand(edge, operator, *depth, *item, value, &mut |within| {
                    want(edge, within, &mut wanted);
                    has_snapshots |= snapshots(edge).any(|copy| within.contains_key(copy.name));
                });
                if has_snapshots && operator == "$set" {
                    read_before.push(edge.root());
                }
            }
        }
    }
    if *upsert {
        on_insert(graph, meta, update);
    }
    // An item that is added to an array is new there.
    let changed = one.filter(|_| !adds).map(Key::of_bson);
    let sources = read(cx, wanted, &[], (meta, changed.as_ref()), beside).await?;
    // A struct that is set again as it was read keeps what was taken once.
    let before = match one {
        Some(id) if !read_before.is_empty() => {
            let key = Key::of_bson(id);
            by_ids(cx, meta, [&key].into_iter(), read_before).await?.pop()
        }
        _ => None,
    };
    for (edge, operand) in operands(graph, touches) {
        let (OperandPlace::Around { depth, item }, Some(value)) = (&operand.holds, value_of(update, operand))
        else {
            continue;
        };
        let operator = operand.operator.as_str();
        let before = before.as_ref().filter(|_| operator == "$set");
        let kept = before.map(|stored| {
            KeptSnapshots::for_structs(edge, stored, |take| {
                visit_operand(edge, operator, *depth, *item, value, take)
            })
        });
        let mut kept = kept.unwrap_or_default().into_iter();
        visit_operand(edge, operator, *depth, *item, value, &mut |within| {
            let has_snapshots = snapshots(edge).any(|copy| within.contains_key(copy.name));
            sources.fill(edge, within);
            // A reference alone is a new one.
            if let Some(kept) = kept.next().flatten().filter(|_| has_snapshots) {
                kept.put_back(within);
            }
        });
    }
    for (edge, operand, prefix, value) in itself {
        put_beside(edge, &operand.operator, prefix, &value, &sources, update);
    }
    if touches.is_of_source {
        put(update, "$inc", VERSION, 1_i64.into());
    } else if *upsert && graph.has_versions(meta) {
        put(update, "$setOnInsert", VERSION, first_version().into());
    }
    if *upsert && counts_holders(graph, meta) {
        put(update, "$setOnInsert", HOLDERS_LEFT, FEW_HOLDERS.into());
    }
    Ok(())
}

/// Whether transactions update copies of these documents, and so have to know whether they are few.
fn counts_holders(graph: &Graph, meta: &DocumentMeta) -> bool {
    graph.copied(meta).any(is_kept)
}

/// The required copies of references that a new document of an upsert is not given.
fn on_insert(graph: &Graph, meta: &DocumentMeta, update: &mut Document) {
    for edge in graph.outgoing(meta) {
        for copy in edge
            .copies
            .iter()
            .filter(|copy| copy.required && is_own(edge, copy))
        {
            let is_there =
                |fields: &Document| fields.contains_key(&edge.path) || fields.contains_key(copy.name);
            if !update.values().filter_map(Bson::as_document).any(is_there) {
                put(update, "$setOnInsert", copy.name, Bson::Null);
            }
        }
    }
}

/// Fills in the copies of a replacement; snapshots stay as they were taken.
///
/// # Errors
/// [`Error::MissingReference`] where a source does not exist.
pub(super) async fn fill_replacement(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    replacing: &mut Replacing<'_>,
) -> Result<()> {
    let graph = cx.odm.graph();
    let edges: Vec<&Edge> = graph
        .outgoing(meta)
        .filter(|edge| !edge.copies.is_empty() || graph.is_left(edge))
        .collect();
    let mut wanted = HashMap::new();
    for edge in &edges {
        visit_document(&edge.segments, &mut replacing.document, &mut |within| {
            want(edge, within, &mut wanted)
        });
    }
    let changed = id(replacing.given);
    let sources = read(cx, wanted, &[], (meta, Some(&changed)), replacing.beside).await?;
    let taken = taken(cx, meta, &edges, replacing.given).await?;
    for edge in &edges {
        let mut kept = taken
            .as_ref()
            .map(|stored| {
                KeptSnapshots::for_structs(edge, stored, |take| {
                    visit_document(&edge.segments, &mut replacing.document, take)
                })
            })
            .unwrap_or_default()
            .into_iter();
        visit_document(&edge.segments, &mut replacing.document, &mut |within| {
            sources.fill(edge, within);
            if let Some(Some(kept)) = kept.next() {
                kept.put_back(within);
            }
        });
    }
    let document = &mut replacing.document;
    for edge in edges.iter().filter(|edge| edge.segments.len() == 1) {
        for copy in snapshots(edge) {
            let reference = document.get(edge.name()).cloned().unwrap_or(Bson::Null);
            let new = document.remove(copy.name).unwrap_or(Bson::Null);
            let unchanged = doc! { "$eq": [format!("${}", edge.name()), { "$literal": reference }] };
            replacing.computed.insert(
                copy.name,
                doc! { "$cond": [unchanged, format!("${}", copy.name), { "$literal": new }] },
            );
        }
    }
    if graph.has_versions(meta) {
        // A document without a version was written out of band, and its copies may be from a time when it had one.
        let before = doc! { "$ifNull": [format!("${VERSION}"), first_version()] };
        replacing
            .own
            .insert(name_of(VERSION), doc! { "$add": [before, 1_i64] });
    }
    Ok(())
}

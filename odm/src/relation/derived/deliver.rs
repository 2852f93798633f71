//! Brings what others copy of a document to them.
//!
//! A delivery names the version of the source, and goes to those that still refer to it and have an older one. So deliveries
//! can be repeated, and overtake each other: the newest version stays.

use super::super::batch::{self, Ids};
use super::super::effects::id;
use super::super::graph::{Edge, Segment};
use super::super::scope::{Scope, Statement};
use super::fill::{first_version, needed};
use super::former::present;
use super::{
    AT, COPIED, DEBTS, Debt, FORMER, IN_TRANSACTION, OWED, Token, VERSION, at, number, one_more_debt, put,
};
use crate::copy::SyncMode;
use crate::document::DocumentMeta;
use crate::key::{self, Key};
use crate::{FanOut, Progress, Result};
use futures::future::{try_join, try_join_all};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::collections::HashMap;

/// What is copied of a source, by one reference.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// What a holder names it by.
    pub(super) key: Bson,
    pub(super) version: i64,
    /// In the order of the edge's copies; `None` where the source has no such field.
    pub(super) values: Vec<Option<Bson>>,
}

impl Source {
    pub(super) fn of(edge: &Edge, document: &RawDocument) -> Option<Source> {
        Some(Source {
            key: Bson::try_from(at(document, edge.by())?).ok()?,
            version: number(document, VERSION),
            values: edge
                .copies
                .iter()
                .map(|copy| at(document, copy.source).and_then(|value| Bson::try_from(value).ok()))
                .collect(),
        })
    }
}

/// What has to be read of a source.
pub(super) fn fields_of_source(edge: &Edge, fields: &mut Document) {
    fields.insert("_id", 1);
    fields.insert(VERSION, 1);
    let mut add = |name: &str| {
        // One of two names of which one leads into the other is enough, and two are refused.
        if !fields.keys().any(|known| super::meet(known, name)) {
            fields.insert(name, 1);
        } else if let Some(longer) = fields
            .keys()
            .find(|known| known.len() > name.len() && super::meet(known, name))
        {
            let longer = longer.clone();
            fields.remove(longer);
            fields.insert(name, 1);
        }
    };
    add(edge.by());
    edge.copies.iter().for_each(|copy| add(copy.source));
}

/// The sources that these keys name.
pub(super) async fn sources(
    scope: &Scope<'_>,
    edge: &Edge,
    keys: impl IntoIterator<Item = &Key>,
) -> Result<HashMap<Key, Source>> {
    let Some(meta) = edge.targets.first().copied() else {
        return Ok(HashMap::new());
    };
    let mut fields = Document::new();
    fields_of_source(edge, &mut fields);
    let mut found = HashMap::new();
    for keys in key::chunks(keys) {
        for document in scope
            .every(meta, doc! { edge.by(): { "$in": keys } }, fields.clone())
            .await?
        {
            if let Some(source) = Source::of(edge, &document) {
                found.insert(Key::of_bson(&source.key), source);
            }
        }
    }
    Ok(found)
}

/// Which copies a delivery goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// Those of an older version.
    Older,
    /// Those of no newer version: what somebody else has written over is written again.
    NoNewer,
}

/// The condition on the version of a copy.
fn is_behind(version: i64, to: To) -> Document {
    // `$not` fits a missing version too.
    match to {
        To::Older => doc! { "$not": { "$gte": version } },
        To::NoNewer => doc! { "$not": { "$gt": version } },
    }
}

fn join(segments: &[Segment]) -> String {
    let names: Vec<&str> = segments.iter().map(|segment| segment.name.as_str()).collect();
    names.join(".")
}

/// The statement that delivers to all holders that fit the restriction.
pub(super) fn statement(
    scope: &Scope<'_>,
    edge: &Edge,
    source: &Source,
    to: To,
    restriction: Document,
    debt: Debt,
) -> Statement {
    let behind = is_behind(source.version, to);
    let (prefix, version_prefix);
    let (filter, array_filters) = match edge.array() {
        None => {
            prefix = edge.path.strip_suffix(edge.name()).unwrap_or_default().to_owned();
            version_prefix = prefix.clone();
            let filter = doc! { &edge.path: { "$eq": &source.key }, edge.version_path(): behind };
            (filter, Vec::new())
        }
        Some(array) => {
            let (array, rest) = edge.segments.split_at(array.min(edge.segments.len()));
            let (array, rest) = (join(array), join(rest));
            let below = rest.strip_suffix(edge.name()).unwrap_or_default();
            let version = format!("{below}{COPIED}.{}", edge.name());
            let item = doc! { &rest: { "$eq": &source.key }, &version: behind.clone() };
            let named = |e: &str| {
                doc! {
                    format!("{e}.{rest}"): { "$eq": &source.key },
                    format!("{e}.{version}"): behind.clone(),
                }
            };
            // The version has a name of its own for the items, and stands behind: whether a server looks for the items once
            // or for each field, it finds them by the version that they had.
            prefix = format!("{array}.$[c].{below}");
            version_prefix = format!("{array}.$[v].{below}");
            (
                doc! { &array: { "$elemMatch": item } },
                vec![named("c"), named("v")],
            )
        }
    };
    let copies = || {
        let all = edge.copies.iter().zip(&source.values);
        all.filter(|(copy, _)| copy.sync != SyncMode::Snapshot)
    };
    let mut update = Document::new();
    // For the same reason what is unset stands before what is set.
    if copies().any(|(copy, value)| value.is_none() && !copy.required) {
        update.insert("$unset", Document::new());
    }
    for (copy, value) in copies() {
        let name = format!("{prefix}{}", copy.name);
        match value {
            Some(value) => put(&mut update, "$set", &name, value.clone()),
            None if copy.required => put(&mut update, "$set", &name, Bson::Null),
            None => put(&mut update, "$unset", &name, "".into()),
        }
        scope
            .odm
            .graph()
            .passed_on(edge.holder, &edge.copy_path(copy), debt, &mut update);
    }
    put(
        &mut update,
        "$set",
        &format!("{version_prefix}{COPIED}.{}", edge.name()),
        source.version.into(),
    );
    Statement {
        filter: batch::all([restriction, filter]),
        update,
        array_filters,
    }
}

/// Whether somebody else is derived from what a delivery writes.
pub(super) fn is_passed_on(scope: &Scope<'_>, edge: &Edge) -> bool {
    let graph = scope.odm.graph();
    edge.copies
        .iter()
        .filter(|copy| copy.sync != SyncMode::Snapshot)
        .any(|copy| graph.is_read(edge.holder, &edge.copy_path(copy)))
}

/// The condition of the holders of a source that are behind it.
fn holders(edge: &Edge, keys: Vec<Bson>) -> Document {
    match keys.as_slice() {
        [one] => doc! { &edge.path: { "$eq": one } },
        _ => doc! { &edge.path: { "$in": keys } },
    }
}

/// What came of a delivery.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// How many documents were changed.
    pub(super) documents: u64,
    /// The sources that have more holders than may be changed here: their ids.
    pub(super) left: Vec<Bson>,
}

/// Delivers these documents of `meta` by one reference. In a transaction to few holders only, unless the copies are declared
/// atomic; those that have more are left.
pub(super) async fn deliver(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    edge: &Edge,
    documents: &[RawDocumentBuf],
    debt: Debt,
) -> Result<Delivered> {
    let mut sources: Vec<(&RawDocumentBuf, Source)> = Vec::new();
    for document in documents {
        sources.extend(Source::of(edge, document).map(|source| (document, source)));
    }
    let mut delivered = Delivered::default();
    if sources.is_empty() {
        return Ok(delivered);
    }
    if let ([(document, source)], None) = (sources.as_slice(), scope.session) {
        delivered.documents = fan_out(scope, meta, edge, document, source, debt).await?;
        return Ok(delivered);
    }
    let keys = sources.iter().map(|(_, source)| source.key.clone()).collect();
    let few = scope
        .few(
            edge.holder,
            holders(edge, keys),
            doc! { "_id": 1 },
            IN_TRANSACTION + 1,
        )
        .await?;
    if few.is_empty() {
        return Ok(delivered);
    }
    // To follow in the transaction, however many there are, is what `sync = atomic` promises.
    let always = edge.copies.iter().any(|copy| copy.sync == SyncMode::Atomic);
    if few.len() <= IN_TRANSACTION || always && scope.session.is_some() {
        // A transaction sees the same holders still. Out of one more may have come: they are told the newest by their own
        // writer, and it does no harm to tell them twice.
        let statements: Vec<Statement> = sources
            .iter()
            .map(|(_, source)| statement(scope, edge, source, To::Older, Document::new(), debt))
            .collect();
        delivered.documents += scope.update(edge.holder, &statements).await?;
        return Ok(delivered);
    }
    if scope.session.is_some() {
        // One of several may have few; to find out which is not worth a query each.
        delivered.left = sources
            .iter()
            .map(|(document, _)| batch::document_id(document))
            .collect();
        return Ok(delivered);
    }
    for (document, source) in &sources {
        delivered.documents += fan_out(scope, meta, edge, document, source, debt).await?;
    }
    Ok(delivered)
}

/// So many batches of a delivery are written at once, where no pause between them is wanted.
const AT_ONCE: usize = 2;

/// Delivers to any number of holders: in batches in the order of their ids, so that each command is short and an interrupted
/// delivery goes on where it stopped. When the source has changed again, the rest is left to who changed it.
async fn fan_out(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    edge: &Edge,
    document: &RawDocumentBuf,
    source: &Source,
    debt: Debt,
) -> Result<u64> {
    let options = scope.odm.fan_out_options().clone();
    let own = batch::document_id(document);
    // How far an interrupted delivery of the same version has come.
    let place = format!("{AT}.e{}", edge.at);
    let mut last = at(document, &format!("{place}.last"))
        .filter(|_| number(document, &format!("{place}.v")) == source.version)
        .and_then(|last| Bson::try_from(last).ok());
    let of = holders(edge, vec![source.key.clone()]);
    let mut ids = Ids::of(scope, edge.holder, of, last.clone(), options.batch);
    let at_once = if options.pause.is_zero() { AT_ONCE } else { 1 };
    let mut changed = 0;
    let mut batches = 0_u64;
    let mut ends = ids.next(at_once).await?;
    while let Some(border) = ends.last().cloned() {
        let alone = last.is_none() && ends.len() == 1 && ids.is_over();
        let mut from = last.take();
        let writes: Vec<_> = ends
            .iter()
            .map(|end| {
                // All in one batch are found without their ids.
                let restriction = match alone {
                    true => Document::new(),
                    false => batch::between(edge.holder, from.as_ref(), end),
                };
                from = Some(end.clone());
                let one = statement(scope, edge, source, To::Older, restriction, debt);
                async move { scope.update(edge.holder, std::slice::from_ref(&one)).await }
            })
            .collect();
        // While these are written, it is found out where the next ones end.
        let (written, next) = try_join(try_join_all(writes), ids.next(at_once)).await?;
        for documents in written {
            changed += documents;
            batches += 1;
            report(&options, edge, source, changed, batches);
        }
        if next.is_empty() {
            break;
        }
        let note = Statement {
            filter: doc! { "_id": &own, VERSION: super::is_number(source.version) },
            update: doc! { "$set": { &place: { "v": source.version, "last": &border } } },
            array_filters: Vec::new(),
        };
        if scope.update(meta, std::slice::from_ref(&note)).await? == 0 {
            tracing::debug!(
                target: "odm",
                collection = edge.holder.collection,
                "the source changed while its copies were delivered: the rest is left to the later write"
            );
            break;
        }
        (last, ends) = (Some(border), next);
        if !options.pause.is_zero() {
            tokio::time::sleep(options.pause).await;
        }
    }
    Ok(changed)
}

fn report(options: &FanOut, edge: &Edge, source: &Source, changed: u64, batches: u64) {
    tracing::debug!(
        target: "odm",
        collection = edge.holder.collection,
        field = edge.path.as_str(),
        changed,
        batches,
        "copies are delivered"
    );
    if let Some(progress) = &options.progress {
        progress(&Progress {
            collection: edge.holder.collection,
            field: edge.path.clone(),
            source: source.key.clone(),
            changed,
            batches,
        });
    }
}

/// Compares the copies in these documents with their sources, and brings those up to date that are behind.
pub(super) async fn pull(
    scope: &Scope<'_>,
    edge: &Edge,
    documents: &[RawDocumentBuf],
    to: To,
    debt: Debt,
) -> Result<u64> {
    let mut wanted: HashMap<Key, Vec<(&RawDocumentBuf, i64)>> = HashMap::new();
    for document in documents {
        for (key, version) in held(edge, document) {
            wanted.entry(key).or_default().push((document, version));
        }
    }
    if wanted.is_empty() {
        return Ok(0);
    }
    let sources = sources(scope, edge, wanted.keys()).await?;
    let mut statements = Vec::new();
    for (key, holders) in &wanted {
        let Some(source) = sources.get(key) else { continue };
        let behind: Vec<Bson> = holders
            .iter()
            .filter(|(_, version)| match to {
                To::Older => *version < source.version,
                To::NoNewer => *version <= source.version,
            })
            .map(|(document, _)| batch::document_id(document))
            .collect();
        if !behind.is_empty() {
            let restriction = doc! { "_id": { "$in": behind } };
            statements.push(statement(scope, edge, source, to, restriction, debt));
        }
    }
    scope.update(edge.holder, &statements).await
}

/// Raises the version of sources that were written past the library, or whose copies claim a newer one: to this number at
/// least, and above their own. Their copies are owed then.
pub(super) async fn raise(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    least: i64,
    token: Token,
) -> Result<()> {
    let above = doc! { "$add": [{ "$ifNull": [format!("${VERSION}"), 0_i64] }, 1_i64] };
    let raised = doc! { "$max": [above, least] };
    let set = doc! { "$set": { VERSION: raised, OWED: token, DEBTS: one_more_debt() } };
    scope.compute(meta, filter, vec![set]).await?;
    Ok(())
}

/// Versions below this were counted from nothing, since [`first_version`] is above it.
const COUNTED: i64 = 1_000_000_000_000_000;

/// Raises the versions of sources that were counted from nothing: they were inserted by an upsert, which raises the version of
/// the document that it finds and so can't choose that of one that it makes, or past the library. Copies may be of a time
/// when another document had the id, and newer than that. Gives the documents as they are then, if there were any.
pub(super) async fn lift(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: &[RawDocumentBuf],
) -> Result<Option<Vec<RawDocumentBuf>>> {
    let (low, mut lifted): (Vec<&RawDocumentBuf>, Vec<_>) = documents
        .iter()
        .partition(|document| number(document, VERSION) < COUNTED);
    if low.is_empty() {
        return Ok(None);
    }
    let low: Vec<Key> = low.into_iter().map(id).collect();
    let above = first_version();
    let statements: Vec<Statement> = low
        .iter()
        .map(|id| Statement {
            filter: doc! { "_id": id.to_bson(), VERSION: { "$not": { "$gte": COUNTED } } },
            update: doc! { "$inc": { VERSION: above } },
            array_filters: Vec::new(),
        })
        .collect();
    scope.update(meta, &statements).await?;
    let mut again = Vec::new();
    for ids in key::chunks(&low) {
        let fields = needed(scope.odm.graph(), meta);
        again.extend(scope.every(meta, doc! { "_id": { "$in": ids } }, fields).await?);
    }
    lifted.extend(&again);
    Ok(Some(lifted.into_iter().cloned().collect()))
}

/// The references of an edge in a document, with the version of the copies beside each: -1 where there is none.
pub(super) fn held(edge: &Edge, document: &RawDocument) -> Vec<(Key, i64)> {
    let mut held = Vec::new();
    for within in structs(edge, document) {
        if let Some(key) = within.get(edge.name()).ok().flatten()
            && key != mongodb::bson::RawBsonRef::Null
        {
            let version = format!("{COPIED}.{}", edge.name());
            let version = at(within, &version)
                .map(|_| number(within, &version))
                .unwrap_or(-1);
            held.push((Key::of(key), version));
        }
    }
    held
}

/// The structs in a document in which the reference stands.
pub(super) fn structs<'d>(edge: &Edge, document: &'d RawDocument) -> Vec<&'d RawDocument> {
    let mut found = vec![document];
    let Some((_, above)) = edge.segments.split_last() else {
        return found;
    };
    for segment in above {
        let mut next = Vec::new();
        for within in found {
            match within.get(&segment.name).ok().flatten() {
                Some(mongodb::bson::RawBsonRef::Document(one)) if !segment.array => next.push(one),
                Some(mongodb::bson::RawBsonRef::Array(items)) if segment.array => next.extend(
                    items
                        .into_iter()
                        .map_while(|item| item.ok())
                        .filter_map(|item| item.as_document()),
                ),
                _ => {}
            }
        }
        found = next;
    }
    found
}

/// Documents with the same debt, as it was read.
pub(super) struct Same {
    token: Bson,
    debts: Option<Bson>,
    ids: Vec<Bson>,
}

impl Same {
    /// The condition of those that nobody has written since, so far as a debt was left by it.
    pub(super) fn filter(&self) -> Document {
        let debts = match &self.debts {
            Some(debts) => debts.clone(),
            None => doc! { "$exists": false }.into(),
        };
        doc! { "_id": { "$in": &self.ids }, OWED: &self.token, DEBTS: debts }
    }
}

/// These documents by their debts.
pub(super) fn as_read<'d>(documents: impl Iterator<Item = &'d RawDocumentBuf>) -> Vec<Same> {
    let mut all: HashMap<(Key, Key), Same> = HashMap::new();
    for document in documents {
        let value = |name: &str| at(document, name).and_then(|value| Bson::try_from(value).ok());
        let Some(token) = value(OWED) else { continue };
        let debts = value(DEBTS);
        let key = (
            Key::of_bson(&token),
            Key::of_bson(debts.as_ref().unwrap_or(&Bson::Null)),
        );
        let same = all.entry(key).or_insert_with(|| Same {
            token,
            debts,
            ids: Vec::new(),
        });
        same.ids.push(id(document).to_bson());
    }
    all.into_values().collect()
}

/// Strikes debts out, if they are still as they were read.
pub(super) async fn strike_out(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: &[RawDocumentBuf],
) -> Result<()> {
    let graph = scope.odm.graph();
    // A document that nobody has written since has the same parents still.
    let mut parents: HashMap<Key, (Vec<Bson>, Vec<&RawDocumentBuf>)> = HashMap::new();
    for document in documents {
        let marks = match at(document, FORMER) {
            Some(_) => present(graph, meta, document),
            None => Vec::new(),
        };
        let key = Key::of_bson(&marks.clone().into());
        let (_, with) = parents.entry(key).or_insert_with(|| (marks, Vec::new()));
        with.push(document);
    }
    let mut statements = Vec::new();
    for (marks, with) in parents.into_values() {
        let update = match marks.is_empty() {
            true => doc! { "$unset": { OWED: "", FORMER: "", AT: "" } },
            false => doc! { "$unset": { OWED: "", AT: "" }, "$set": { FORMER: marks } },
        };
        statements.extend(as_read(with.into_iter()).iter().map(|debt| Statement {
            filter: debt.filter(),
            update: update.clone(),
            array_filters: Vec::new(),
        }));
    }
    scope.update(meta, &statements).await?;
    Ok(())
}

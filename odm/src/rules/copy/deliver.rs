//! Updates the copies of a document in their holders.
//!
//! A delivery has the version of the source, and updates the holders that still refer to it and have an older version. So
//! deliveries can be repeated, and can overtake each other: the newest version stays.

use crate::graph::Graph;
use crate::graph::edge::{Edge, dotted};
use crate::graph::sync::kept_in_sync;
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::model::own_fields::{COPIED, FEW_HOLDERS, HOLDERS_LEFT, OPERATION, PROGRESS, Token, VERSION};
use crate::model::{default, key};
use crate::plan::touches::{ChangedDocument, WrittenFields};
use crate::rules::lease;
use crate::rules::pending::{PendingWork, below, first_version, record};
use crate::store::batch::{IdBatches, id};
use crate::store::cx::{Cx, Statement};
use crate::store::each::WriteReport;
use crate::store::fields::{at, number, put, whole_number};
use crate::store::filter::within;
use crate::store::looked::DeliveryKey;
use crate::store::{batch, each, filter};
use crate::{Error, FanOut, Progress, Result};
use futures::future::{try_join, try_join_all};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::collections::HashMap;

/// The copied values of a source, by one reference.
#[derive(Clone, Debug)]
pub(crate) struct CopySource {
    /// The key by which holders refer to it.
    pub(crate) key: Bson,
    pub(crate) version: i64,
    /// In the order of the edge's copies; `None` where the source has no such field.
    pub(crate) values: Vec<Option<Bson>>,
    /// The fields that may be new to the holders.
    pub(crate) changed: WrittenFields,
}

impl CopySource {
    pub(crate) fn read(edge: &Edge, document: &RawDocument) -> Option<CopySource> {
        let shape = (edge.first_target()?.shape)();
        Some(CopySource {
            key: Bson::try_from(at(document, edge.by())?).ok()?,
            version: number(document, VERSION),
            values: edge
                .copies
                .iter()
                .map(|copy| default::read(shape, document, copy.source))
                .collect(),
            changed: WrittenFields::All,
        })
    }
}

/// Adds the fields to read of a source.
pub(crate) fn fields_of_source(edge: &Edge, fields: &mut Document) {
    fields.insert("_id", 1);
    fields.insert(VERSION, 1);
    read_too(fields, edge.by());
    edge.copies.iter().for_each(|copy| read_too(fields, copy.source));
}

/// The sources with these keys.
pub(crate) async fn sources(
    cx: &Cx<'_>,
    edge: &Edge,
    keys: impl IntoIterator<Item = &Key>,
) -> Result<HashMap<Key, CopySource>> {
    sources_within(cx, edge, keys, None).await
}

/// Those of them that a further condition fits.
pub(crate) async fn sources_within(
    cx: &Cx<'_>,
    edge: &Edge,
    keys: impl IntoIterator<Item = &Key>,
    condition: Option<Document>,
) -> Result<HashMap<Key, CopySource>> {
    let Some(meta) = edge.first_target() else {
        return Ok(HashMap::new());
    };
    let mut fields = Document::new();
    fields_of_source(edge, &mut fields);
    let mut found = HashMap::new();
    for keys in key::chunks(keys) {
        let mut filter = doc! { edge.by(): { "$in": keys } };
        if let Some(condition) = &condition {
            filter = within(filter, condition);
        }
        for document in cx.every(meta, filter, fields.clone()).await? {
            if let Some(source) = CopySource::read(edge, &document) {
                found.insert(Key::of_bson(&source.key), source);
            }
        }
    }
    Ok(found)
}

/// Which copies a delivery goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliverTo {
    /// All of them: the transaction has raised the version of the source, so no copy that it sees in its snapshot and may write has this
    /// version or a newer one.
    Every,
    /// Those of an older version.
    Older,
    /// Those of no newer version: values that an out-of-band write has overwritten are written again.
    NoNewer,
    /// Those of this version, -1 where they have none.
    Seen(i64),
}

/// The condition of the copies of a source with this key, in fields of these names: by the version that they have.
fn receives(key: (&str, &Bson), version: (&str, i64), to: DeliverTo) -> Document {
    let mut condition = doc! { key.0: { "$eq": key.1 } };
    let (name, version) = version;
    // `$not` matches a missing version too.
    let by_version = match to {
        DeliverTo::Every => return condition,
        DeliverTo::Older => doc! { "$not": { "$gte": version } },
        DeliverTo::NoNewer => doc! { "$not": { "$gt": version } },
        DeliverTo::Seen(-1) => doc! { "$exists": false },
        DeliverTo::Seen(seen) => doc! { "$eq": seen },
    };
    condition.insert(name, by_version);
    condition
}

/// Where the structs are in which a reference stands.
pub(crate) struct StructPath {
    /// The path of the array of which they are items, or in items.
    pub(crate) array: Option<String>,
    /// The path from there to their fields: empty, or with a dot at its end.
    pub(crate) below: String,
}

impl StructPath {
    pub(crate) fn new(edge: &Edge) -> StructPath {
        let (array, rest) = edge
            .segments
            .split_at(edge.array().unwrap_or(0).min(edge.segments.len()));
        let rest = dotted(rest);
        StructPath {
            array: (!array.is_empty()).then(|| dotted(array)),
            below: rest.strip_suffix(edge.name()).unwrap_or_default().to_owned(),
        }
    }
}

/// The statement that updates all holders that match the restriction.
pub(crate) fn statement(
    cx: &Cx<'_>,
    edge: &Edge,
    source: &CopySource,
    to: DeliverTo,
    restriction: Document,
    pending: PendingWork,
) -> Statement {
    let condition = |key: &str, version: &str| receives((key, &source.key), (version, source.version), to);
    let StructPath { array, below } = StructPath::new(edge);
    let (prefix, version_prefix);
    let (filter, array_filters) = match array {
        None => {
            prefix = below;
            version_prefix = prefix.clone();
            (condition(&edge.path, &edge.version_path()), Vec::new())
        }
        Some(array) => {
            let rest = format!("{below}{}", edge.name());
            let version = format!("{below}{COPIED}.{}", edge.name());
            let named = |e: &str| condition(&format!("{e}.{rest}"), &format!("{e}.{version}"));
            // The version has an array filter of its own, and comes last: whether a server looks up the items once or for each
            // field, it finds them by their previous version.
            prefix = format!("{array}.$[c].{below}");
            version_prefix = format!("{array}.$[v].{below}");
            (
                doc! { &array: { "$elemMatch": condition(&rest, &version) } },
                vec![named("c"), named("v")],
            )
        }
    };
    let copies = || {
        let all = edge.copies.iter().zip(&source.values);
        all.filter(|(copy, _)| copy.consistency != Consistency::Snapshot)
    };
    let graph = cx.odm.graph();
    let mut update = Document::new();
    // For the same reason `$unset` comes before `$set`.
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
        if source.changed.is_of(copy.source) {
            graph.passed_on(edge.holder, &edge.copy_path(copy), pending, &mut update);
        }
    }
    put(
        &mut update,
        "$set",
        &format!("{version_prefix}{COPIED}.{}", edge.name()),
        source.version.into(),
    );
    Statement {
        filter: filter::all([restriction, filter]),
        update,
        array_filters,
    }
}

/// Of the copies that a delivery of these fields may change, those from which others are derived in turn.
pub(crate) fn passed_on(cx: &Cx<'_>, edge: &Edge, changed: &WrittenFields) -> Vec<String> {
    let graph = cx.odm.graph();
    kept_in_sync(edge)
        .filter(|copy| changed.is_of(copy.source))
        .map(|copy| edge.copy_path(copy))
        .filter(|path| graph.is_read(edge.holder, path))
        .collect()
}

/// The condition of the holders of these sources.
fn holders(edge: &Edge, keys: Vec<Bson>) -> Document {
    match keys.as_slice() {
        [one] => doc! { &edge.path: { "$eq": one } },
        _ => doc! { &edge.path: { "$in": keys } },
    }
}

/// The result of a delivery.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    /// How many documents were changed.
    pub(crate) documents: u64,
    /// The sources that have more holders than may be changed here: their ids.
    pub(crate) left: Vec<Bson>,
    /// The sources that have changed meanwhile: some of their holders are left to the process that changed them.
    pub(crate) overtaken: Vec<Key>,
    /// The server's error for the first holder that it refused.
    pub(crate) refused: Option<Error>,
}

impl Delivered {
    fn and(mut self, other: Delivered) -> Delivered {
        self.documents += other.documents;
        self.refused = self.refused.or(other.refused);
        self.left.extend(other.left);
        self.overtaken.extend(other.overtaken);
        self
    }

    fn add(&mut self, document: &RawDocumentBuf, (written, to_all): (WriteReport, bool)) {
        self.documents += written.documents;
        self.refused = self.refused.take().or(written.refused);
        if !to_all {
            self.overtaken.push(id(document));
        }
    }
}

/// Updates the copies of these documents of `meta` by one reference. In a transaction only where there are few holders, unless
/// the copies are declared atomic; sources with more holders are left.
pub(crate) async fn deliver(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    edge: &Edge,
    documents: &[ChangedDocument],
    to: DeliverTo,
    pending: PendingWork,
) -> Result<Delivered> {
    let mut sources: Vec<(&RawDocumentBuf, CopySource)> = Vec::new();
    for (document, changed) in documents.iter().filter(|(_, changed)| changed.is_copied(edge)) {
        let source = CopySource::read(edge, document).map(|source| CopySource {
            changed: changed.clone(),
            ..source
        });
        sources.extend(source.map(|source| (document, source)));
    }
    let mut delivered = Delivered::default();
    if sources.is_empty() {
        return Ok(delivered);
    }
    if let ([(document, source)], None) = (sources.as_slice(), cx.session) {
        let written = fan_out(cx, meta, edge, document, source, pending).await?;
        delivered.add(document, written);
        return Ok(delivered);
    }
    let options = cx.odm.fan_out_options();
    let most = options.in_transaction;
    // `consistency = atomic` promises updates in the transaction, however many holders there are.
    let always = cx.session.is_some()
        && edge
            .copies
            .iter()
            .any(|copy| copy.consistency == Consistency::Atomic);
    let to_all = async || {
        let statements: Vec<Statement> = sources
            .iter()
            .map(|(_, source)| statement(cx, edge, source, to, Document::new(), pending))
            .collect();
        let written = each::update(cx, edge.holder, &statements).await?;
        Ok(Delivered {
            documents: written.documents,
            refused: written.refused,
            ..Delivered::default()
        })
    };
    if always || have_few_holders(cx, edge, sources.iter().map(|(document, _)| *document)) {
        return to_all().await;
    }
    let keys = sources.iter().map(|(_, source)| source.key.clone()).collect();
    // Holders of one source in the order in which they are updated after the transaction, where they are too many for it.
    let first = match (sources.as_slice(), cx.session) {
        ([(_, source)], Some(_)) => Some(source),
        _ => None,
    };
    let limit = match first {
        Some(_) => options
            .batch
            .saturating_mul(AT_ONCE)
            .min(LOOKED)
            .max(most.saturating_add(1)),
        None => most.saturating_add(1),
    };
    let few = cx
        .up_to(
            edge.holder,
            holders(edge, keys),
            doc! { "_id": 1 },
            limit,
            first.is_some(),
        )
        .await?;
    if few.is_empty() {
        return Ok(delivered);
    }
    if few.len() <= most {
        // A transaction still sees the same holders. Outside of one, there may be more by now: their own writer gives them the
        // newest values, and it does no harm to update them twice.
        return to_all().await;
    }
    if let Some(source) = first {
        cx.odm
            .looked()
            .put(looked_by(edge, source, options), batch::ids(&few));
    }
    if cx.session.is_some() {
        // One of several sources may have few holders; finding out which is not worth a query each.
        delivered.left = sources
            .iter()
            .map(|(document, _)| batch::document_id(document))
            .collect();
        return Ok(delivered);
    }
    // Together the sources have many holders; a part of them may have few.
    let (first, second) = documents.split_at(documents.len() / 2);
    let first = Box::pin(deliver(cx, meta, edge, first, to, pending)).await?;
    let second = Box::pin(deliver(cx, meta, edge, second, to, pending)).await?;
    Ok(first.and(second))
}

/// Whether these sources have no more holders together than a transaction updates, by the references that were stored since they were
/// inserted. A transaction that is run again does not rely on that: other programs may have stored more than it could update.
fn have_few_holders<'d>(
    cx: &Cx<'_>,
    edge: &Edge,
    mut sources: impl Iterator<Item = &'d RawDocumentBuf>,
) -> bool {
    let is_first_attempt = cx.session.is_some_and(|session| !session.is_run_again());
    let most = i64::try_from(cx.odm.fan_out_options().in_transaction).unwrap_or(i64::MAX);
    let mut all = 0_i64;
    is_first_attempt
        && !edge.may_name_missing()
        && sources.all(|source| {
            let left = at(source, HOLDERS_LEFT).map_or(-1, whole_number);
            all = all.saturating_add(FEW_HOLDERS.saturating_sub(left));
            left >= 0 && all <= most
        })
}

fn looked_by(edge: &Edge, source: &CopySource, options: &FanOut) -> DeliveryKey {
    (edge.id, Key::of_bson(&source.key), options.batch)
}

/// Number of batches of a delivery that are written at once, where there is no pause between them.
const AT_ONCE: usize = 2;

/// Maximum number of ids of holders that are read in a transaction, unless more are to be written in it.
const LOOKED: usize = 20_000;

/// Which holders a delivery still has to update. It goes through them in the order of their ids. Where the delivery of an earlier
/// version has stopped, it begins behind that place, goes on to the last holder, and then updates the first ones, up to that
/// place. So every holder gets new values in turn, also where the source changes more often than one delivery takes.
struct Rounds {
    /// The id behind which it began; `None` before the first holder.
    from: Option<Bson>,
    /// Whether it has come to the first holders.
    is_around: bool,
    /// The last holder of this round that has the version.
    last: Option<Bson>,
}

impl Rounds {
    /// As the note in the source says.
    fn noted(document: &RawDocument, note: &str, version: i64) -> Rounds {
        let value = |name: &str| at(document, &format!("{note}.{name}"));
        let id = |name: &str| value(name).and_then(|id| Bson::try_from(id).ok());
        let last = id("last");
        if number(document, &format!("{note}.version")) == version {
            let from = id("from");
            let is_around = from.is_some() && value("around").and_then(|is| is.as_bool()) == Some(true);
            return Rounds {
                from,
                is_around,
                last,
            };
        }
        Rounds {
            from: last.clone(),
            is_around: false,
            last,
        }
    }

    /// The note of it. The holders between `from` and `last` have this version, which stays true whatever happens to the source.
    fn note(&self, version: i64) -> Document {
        let mut note = doc! { "version": version, "last": self.last.clone() };
        if let Some(from) = &self.from {
            note.extend(doc! { "from": from, "around": self.is_around });
        }
        note
    }

    /// The condition of the holders that are left of this round, apart from `last`.
    fn up_to(&self, meta: &DocumentMeta) -> Option<Document> {
        let end = self.from.as_ref().filter(|_| self.is_around);
        end.map(|end| batch::up_to(meta, end))
    }

    fn is_last(&self) -> bool {
        self.is_around || self.from.is_none()
    }

    /// Goes on with the first holders.
    fn begin_again(&mut self) {
        (self.is_around, self.last) = (true, None);
    }
}

/// Updates any number of holders, in batches in the order of their ids, so that each command is short and an interrupted
/// delivery continues where it stopped. When the source has changed again, the rest is left to the process that changed it, or
/// to the caller if that process has not taken over the pending work; its delivery begins where this one has stopped. A refused
/// holder does not stop the update of later ones, and a process that continues the delivery begins before it. Returns the
/// result, and whether all holders were reached.
async fn fan_out(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    edge: &Edge,
    document: &RawDocumentBuf,
    source: &CopySource,
    pending: PendingWork,
) -> Result<(WriteReport, bool)> {
    let options = cx.odm.fan_out_options().clone();
    let own = batch::document_id(document);
    // A delivery to itself may change it, and comes last.
    let holds_itself = edge.holder.collection == meta.collection
        && held(edge, document)
            .iter()
            .any(|(key, _)| *key == Key::of_bson(&source.key));
    let mut itself_is_left = holds_itself;
    let mut to_all = true;
    // The progress of an interrupted delivery, by name: another process may have its models in another order.
    let place = below(PROGRESS, &format!("{}.{}", edge.holder.collection, edge.path));
    let mut rounds = Rounds::noted(document, &place, source.version);
    let at_once = if options.pause.is_zero() { AT_ONCE } else { 1 };
    let ids_of = |rounds: &Rounds| {
        let of = holders(edge, vec![source.key.clone()]);
        let of = filter::all(rounds.up_to(edge.holder).into_iter().chain([of]));
        IdBatches::new(cx, edge.holder, of, rounds.last.clone(), options.batch, at_once)
    };
    let mut ids = ids_of(&rounds);
    let looked = cx.odm.looked().take(&looked_by(edge, source, &options));
    if rounds.last.is_none() && rounds.from.is_none() {
        ids.are_known(looked);
    }
    let mut written = WriteReport::default();
    let mut batches = 0_u64;
    let mut ends = ids.next(at_once).await?;
    loop {
        if ends.is_empty() && !rounds.is_last() {
            rounds.begin_again();
            ids = ids_of(&rounds);
            ends = ids.next(at_once).await?;
        }
        let Some(border) = ends.last().cloned() else { break };
        let alone = rounds.last.is_none() && rounds.from.is_none() && ends.len() == 1 && ids.is_over();
        let mut from = rounds.last.take();
        let writes: Vec<_> = ends
            .iter()
            .map(|end| {
                // All in one batch are found without their ids.
                let but_itself = (holds_itself && !alone).then(|| doc! { "$nor": [{ "_id": &own }] });
                let restriction = if alone {
                    Document::new()
                } else {
                    batch::between(edge.holder, from.as_ref(), end)
                };
                let restriction = filter::all(but_itself.into_iter().chain([restriction]));
                from = Some(end.clone());
                let one = statement(cx, edge, source, DeliverTo::Older, restriction, pending);
                async move { each::update(cx, edge.holder, std::slice::from_ref(&one)).await }
            })
            .collect();
        // While these are written, the ends of the next ones are looked up.
        let (parts, next) = try_join(try_join_all(writes), ids.next(at_once)).await?;
        for part in parts {
            written.add(Ok(part))?;
            batches += 1;
            report(&options, edge, source, written.documents, batches);
        }
        if next.is_empty() && rounds.is_last() {
            itself_is_left &= !alone;
            break;
        }
        rounds.last = Some(border);
        let unchanged = doc! { "_id": &own, VERSION: crate::store::fields::is_number(source.version) };
        let is_unchanged = match written.refused {
            None => {
                let note = Statement {
                    filter: unchanged,
                    update: doc! { "$set": {
                        &place: rounds.note(source.version),
                        // A worker that looks for work of ended processes sees that this one is still running.
                        lease::until_path(): lease::until(options.pause),
                    } },
                    array_filters: Vec::new(),
                };
                let noted = cx.update(meta, std::slice::from_ref(&note)).await;
                // A source that can't be written itself still has holders to update.
                let is_unchanged = written.and(noted)?.is_none_or(|noted| noted > 0);
                if let Some(by) = cx.lease {
                    let renewed = lease::renewed(by, options.pause);
                    written.and(cx.update(meta, &[renewed]).await)?;
                }
                is_unchanged
            }
            // A process that continues has to try the refused holder again.
            Some(_) => !cx.few(meta, unchanged, doc! { "_id": 1 }, 1).await?.is_empty(),
        };
        if !is_unchanged {
            tracing::debug!(
                target: "odm",
                collection = edge.holder.collection,
                "the source changed while its copies were updated; the rest gets the new values, here or by the later write"
            );
            // The next delivery begins here, whichever process makes it.
            let begins = Statement {
                filter: doc! {
                    "_id": &own, OPERATION: { "$exists": true },
                    format!("{place}.version"): { "$not": { "$gt": source.version } },
                },
                update: doc! { "$set": { &place: rounds.note(source.version) } },
                array_filters: Vec::new(),
            };
            written.and(cx.update(meta, &[begins]).await)?;
            to_all = false;
            break;
        }
        ends = next;
        if !options.pause.is_zero() {
            tokio::time::sleep(options.pause).await;
        }
    }
    if to_all && itself_is_left {
        let one = statement(cx, edge, source, DeliverTo::Older, doc! { "_id": &own }, pending);
        written.add(each::update(cx, edge.holder, std::slice::from_ref(&one)).await)?;
    }
    Ok((written, to_all))
}

fn report(options: &FanOut, edge: &Edge, source: &CopySource, changed: u64, batches: u64) {
    tracing::debug!(
        target: "odm",
        collection = edge.holder.collection,
        field = edge.path.as_str(),
        changed,
        batches,
        "updated the copies of a source"
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

/// The result of a pull.
#[derive(Debug, Default)]
pub(crate) struct Pulled {
    /// How many documents were changed.
    pub(crate) documents: u64,
    /// Whether another writer has meanwhile updated copies that were stale when they were read, or has changed a reference.
    /// Where some documents were refused this is not known, and all work stays pending.
    pub(crate) overtaken: bool,
    /// The server's error for the first document that it refused.
    pub(crate) refused: Option<Error>,
}

/// Compares the copies in these documents with their sources, and updates those that are stale.
pub(crate) async fn pull<'d>(
    cx: &Cx<'_>,
    edge: &Edge,
    documents: impl IntoIterator<Item = &'d RawDocumentBuf>,
    to: DeliverTo,
    pending: PendingWork,
) -> Result<Pulled> {
    let mut wanted: HashMap<Key, Vec<(&RawDocumentBuf, i64)>> = HashMap::new();
    for document in documents {
        for (key, version) in held(edge, document) {
            wanted.entry(key).or_default().push((document, version));
        }
    }
    if wanted.is_empty() {
        return Ok(Pulled::default());
    }
    let sources = sources(cx, edge, wanted.keys()).await?;
    let passes_on = is_read_on(cx.odm.graph(), edge);
    let mut statements = Vec::new();
    let mut expected = 0;
    for (key, holders) in &wanted {
        let Some(source) = sources.get(key) else { continue };
        // Copies with the same values are raised to the new version, and pass nothing on.
        let mut same: HashMap<i64, Vec<Bson>> = HashMap::new();
        let mut behind: Vec<Bson> = Vec::new();
        for (document, version) in holders {
            let id = batch::document_id(document);
            let ids = match to {
                DeliverTo::NoNewer if *version <= source.version => &mut behind,
                DeliverTo::Older if *version >= source.version => continue,
                DeliverTo::Older if passes_on && is_same(edge, document, source) => {
                    same.entry(*version).or_default()
                }
                DeliverTo::Older | DeliverTo::Every => &mut behind,
                DeliverTo::NoNewer | DeliverTo::Seen(_) => continue,
            };
            if ids.last() != Some(&id) {
                ids.push(id);
            }
        }
        let mut add = |source: &CopySource, to: DeliverTo, ids: Vec<Bson>| {
            if !ids.is_empty() {
                expected += ids.len() as u64;
                let restriction = doc! { "_id": { "$in": ids } };
                statements.push(statement(cx, edge, source, to, restriction, pending));
            }
        };
        for (seen, ids) in same {
            let unchanged = CopySource {
                changed: WrittenFields::Of(Vec::new()),
                ..source.clone()
            };
            add(&unchanged, DeliverTo::Seen(seen), ids);
        }
        add(source, to, behind);
    }
    let written = each::update(cx, edge.holder, &statements).await?;
    Ok(Pulled {
        documents: written.documents,
        overtaken: written.refused.is_none() && written.documents < expected,
        refused: written.refused,
    })
}

/// Whether other fields are derived from the copies beside a reference.
pub(crate) fn is_read_on(graph: &Graph, edge: &Edge) -> bool {
    kept_in_sync(edge).any(|copy| graph.is_read(edge.holder, &edge.copy_path(copy)))
}

/// Whether all copies of a source in a document have its values.
fn is_same(edge: &Edge, document: &RawDocument, source: &CopySource) -> bool {
    let key = Key::of_bson(&source.key);
    let value = |within: &RawDocument, name: &str| {
        let value = within.get(name).ok().flatten();
        value.and_then(|value| Bson::try_from(value).ok())
    };
    // A field that the source lacks is `null` in a copy that can't be missing.
    let same = |a: Option<&Bson>, b: Option<&Bson>| a.unwrap_or(&Bson::Null) == b.unwrap_or(&Bson::Null);
    structs(edge, document)
        .into_iter()
        .filter(|within| {
            let own = within.get(edge.name()).ok().flatten();
            own.is_some_and(|own| Key::of(own) == key)
        })
        .all(|within| {
            let mut all = edge.copies.iter().zip(&source.values);
            all.all(|(copy, new)| {
                copy.consistency == Consistency::Snapshot
                    || same(value(within, copy.name).as_ref(), new.as_ref())
            })
        })
}

/// Empties the copies of these holders that stand beside an empty reference.
pub(crate) async fn empty_copies(
    cx: &Cx<'_>,
    edge: &Edge,
    ids: &[Bson],
    pending: PendingWork,
) -> Result<WriteReport> {
    let copies = || edge.bare_copies();
    if copies().next().is_none() {
        return Ok(WriteReport::default());
    }
    let StructPath { array, below } = StructPath::new(edge);
    let left = |prefix: &str| -> Document {
        let left = copies().map(|copy| doc! { format!("{prefix}{}", copy.name): { "$ne": null } });
        doc! { format!("{prefix}{}", edge.name()): null, "$or": left.collect::<Vec<_>>() }
    };
    let which = doc! { "_id": { "$in": ids } };
    let (prefix, version_prefix);
    let (filter, array_filters) = match array {
        None => {
            prefix = below;
            version_prefix = prefix.clone();
            (left(&prefix), Vec::new())
        }
        Some(array) => {
            prefix = format!("{array}.$[c].{below}");
            version_prefix = format!("{array}.$[v].{below}");
            let version = doc! {
                format!("v.{below}{}", edge.name()): null,
                format!("v.{below}{COPIED}.{}", edge.name()): { "$exists": true },
            };
            let filter = doc! { array: { "$elemMatch": left(&below) } };
            (filter, vec![left(&format!("c.{below}")), version])
        }
    };
    let mut update = doc! { "$unset": { format!("{version_prefix}{COPIED}.{}", edge.name()): "" } };
    for copy in copies() {
        let name = format!("{prefix}{}", copy.name);
        if copy.required {
            put(&mut update, "$set", &name, Bson::Null)
        } else {
            put(&mut update, "$unset", &name, "".into())
        }
        let path = edge.copy_path(copy);
        cx.odm.graph().passed_on(edge.holder, &path, pending, &mut update);
    }
    let statement = Statement {
        filter: filter::all([which, filter]),
        update,
        array_filters,
    };
    each::update(cx, edge.holder, std::slice::from_ref(&statement)).await
}

/// Raises the version of sources that were written out of band, or whose copies claim a newer one: at least to this number, and
/// above their own. Their copies are pending then.
///
/// Not by a pipeline: a server may report its changes as if the document had been replaced, and so like an out-of-band write.
pub(crate) async fn raise(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    least: i64,
    token: Token,
) -> Result<WriteReport> {
    let statement = |version: Document, operator: &str, by: i64| {
        let mut update = doc! { operator: { VERSION: by } };
        record(&mut update, token);
        Statement {
            filter: filter::all([
                filter.clone(),
                doc! { VERSION: version, OPERATION: { "$ne": token } },
            ]),
            update,
            array_filters: Vec::new(),
        }
    };
    // Each document matches one of them, and none after the update.
    let statements = [
        statement(doc! { "$gte": least }, "$inc", 1),
        statement(doc! { "$not": { "$gte": least } }, "$set", least),
    ];
    each::update(cx, meta, &statements).await
}

/// Versions below this were counted from nothing, since [`first_version`] is above it.
const COUNTED: i64 = 1_000_000_000_000_000;

/// The result of raising versions.
#[derive(Debug, Default)]
pub(crate) struct Raised {
    /// All documents as they are then, if a version had to be raised.
    pub(crate) documents: Option<Vec<ChangedDocument>>,
    /// The server's error for the first document that it refused.
    pub(crate) refused: Option<Error>,
}

/// Raises versions that were counted up from zero. Such sources were inserted by an upsert, which increments the version of a
/// found document and so can't choose that of a new one, or out of band. Copies may be from a time when another document had
/// the id, with a newer version than that.
pub(crate) async fn raise_counted(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    documents: &[ChangedDocument],
) -> Result<Raised> {
    let (low, high): (Vec<_>, Vec<_>) = documents
        .iter()
        .partition(|(document, _)| number(document, VERSION) < COUNTED);
    if low.is_empty() {
        return Ok(Raised::default());
    }
    let low: HashMap<Key, &WrittenFields> = low
        .into_iter()
        .map(|(document, changed)| (id(document), changed))
        .collect();
    let above = first_version();
    let statements: Vec<Statement> = low
        .keys()
        .map(|id| Statement {
            filter: doc! { "_id": id.to_bson(), VERSION: { "$not": { "$gte": COUNTED } } },
            update: doc! { "$inc": { VERSION: above } },
            array_filters: Vec::new(),
        })
        .collect();
    let written = each::update(cx, meta, &statements).await?;
    let mut raised: Vec<ChangedDocument> = high.into_iter().cloned().collect();
    for ids in key::chunks(low.keys()) {
        let fields = cx.odm.graph().fields_of_copies(meta);
        for document in cx.every(meta, doc! { "_id": { "$in": ids } }, fields).await? {
            // Another writer may have changed it since it was read.
            let changed = match low.get(&id(&document)) {
                Some(changed) => (*changed).clone().with_pending(&document),
                None => WrittenFields::All,
            };
            raised.push((document, changed));
        }
    }
    Ok(Raised {
        documents: Some(raised),
        refused: written.refused,
    })
}

/// The references of an edge in a document, with the version of the copies beside each: -1 where there is none.
pub(crate) fn held(edge: &Edge, document: &RawDocument) -> Vec<(Key, i64)> {
    let mut held = Vec::new();
    for within in structs(edge, document) {
        if let Some(key) = named(edge, within) {
            let version = format!("{COPIED}.{}", edge.name());
            let version = at(within, &version)
                .map(|_| number(within, &version))
                .unwrap_or(-1);
            held.push((key, version));
        }
    }
    held
}

/// The key that the reference in such a struct holds.
pub(crate) fn named(edge: &Edge, within: &RawDocument) -> Option<Key> {
    let key = within.get(edge.name()).ok().flatten()?;
    (key != mongodb::bson::RawBsonRef::Null).then(|| Key::of(key))
}

/// The structs in a document that hold the reference.
pub(crate) fn structs<'d>(edge: &Edge, document: &'d RawDocument) -> Vec<&'d RawDocument> {
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

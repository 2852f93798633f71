//! Fills in what the library keeps in the documents of writes, before they are sent: before the library's own transaction, so that it is not
//! repeated with it. It may read what is old by then: rules lock their sources in the transaction and compare versions.

use crate::graph::Graph;
use crate::graph::routing::same;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{OPERATION, OWN, PENDING, Token, name_of};
use crate::plan::keep::FilledReplacement;
use crate::plan::operation::{Write, WriteKind};
use crate::plan::touches::Affected;
use crate::rules::claims;
use crate::rules::derived::unsupported;
use crate::rules::pending::{all_fields, merged_mark, path_for, record};
use crate::rules::rule::{Inserts, NewDocuments, Replacing, Updating, decoded, encoded, with_all_pending};
use crate::store::cx::Cx;
use crate::store::fields::put;
use crate::{Error, Result, bounds, rules};
use futures::future::FutureExt;
use mongodb::bson::{Document, RawDocumentBuf, doc};

/// Fills in what the rules ask for. Returns the inserts that break a bound with it, by their positions, and the token of the pending work
/// that is recorded in the documents.
pub(in crate::engine) async fn prepare(
    cx: Cx<'_>,
    writes: &mut [Write],
) -> Result<(Vec<(usize, Error)>, Option<Token>)> {
    let graph = cx.odm.graph();
    let mut metas: Vec<&'static DocumentMeta> = Vec::new();
    for write in writes.iter_mut() {
        write.read_operators(graph)?;
        let known = metas.iter().any(|meta| meta.collection == write.meta.collection);
        if !known && graph.is_depended_on(write.meta) {
            metas.push(write.meta);
        }
    }
    if graph.has_routings() {
        note_keys(cx, writes).boxed().await?;
    }
    let mut pending = None;
    let refused = if metas.is_empty() {
        Vec::new()
    } else {
        fill_in(cx, metas, writes, &mut pending).boxed().await?
    };
    if let Some(token) = pending {
        note_token(cx, writes, token);
    }
    // Replacements in which the library has nothing of its own.
    for write in writes {
        if let WriteKind::Replace(replace) = &mut write.what {
            replace.make(write.meta, None)?;
        }
    }
    Ok((refused, pending))
}

/// Notes the shard keys of the documents that the writes name, and of those that they refer to. Of an update that adds a reference with
/// `same` and does not say the values, its document is read.
///
/// # Errors
/// [`Error::Query`] where an update of many documents adds such a reference, and its condition does not demand the values.
async fn note_keys(cx: Cx<'_>, writes: &mut [Write]) -> Result<()> {
    let graph = cx.odm.graph();
    for write in writes {
        let meta = write.meta;
        let Some(routing) = graph.routing(meta) else {
            continue;
        };
        if let Some(document) = write.document() {
            cx.note(meta, document);
            let key = cx.odm.key_of(meta, document);
            if let (WriteKind::Replace(replace), Some(key)) = (&mut write.what, key) {
                replace.one.restrict(key);
            }
            continue;
        }
        let lacking = graph.outgoing(meta).find_map(|edge| {
            let lacks = |name: &&str| write.known_value(name).is_none();
            let name = same(edge).find(lacks)?;
            write.adds(edge).then_some((edge, name))
        });
        if let Some((edge, name)) = lacking {
            let one = match &mut write.what {
                WriteKind::Update(update) if !update.upsert => update.one.as_mut(),
                _ => None,
            };
            let Some(one) = one else {
                return Err(Error::Query {
                    collection: meta.collection,
                    message: format!(
                        "`{}` refers to a document with the same `{name}`, which this update does not say: add a condition on `{name}`, or \
                         use a handle with a scope",
                        edge.path
                    ),
                });
            };
            let found = cx.find(meta, one.place(), [name], Some(1)).await?;
            if let Some(values) = found.first().and_then(|found| cx.odm.key_of(meta, found)) {
                one.restrict(values);
            }
        }
        if let Some(condition) = write.condition() {
            cx.routed(meta, condition);
        }
        for of in &routing.targets {
            let edge = &graph[of.target.edge];
            if let Some(route) = of.of_fields(|name| write.known_value(name)) {
                write.each_added(edge, &mut |target, key, _| {
                    if target == of.target {
                        cx.note_reference(target, edge, key, &route);
                    }
                })?;
            }
        }
    }
    Ok(())
}

/// Notes the shard keys of the documents in which the writes record pending work, which is looked for by its token.
fn note_token(cx: Cx<'_>, writes: &[Write], token: Token) {
    for write in writes {
        let Some(routing) = cx.odm.graph().routing(write.meta) else {
            continue;
        };
        let route = routing.key.iter().map(|name| write.known_value(name));
        let name = (write.meta.collection, OPERATION, Key::of_bson(&token.into()));
        cx.trace.routes().refer(name, &route.collect());
    }
}

/// Records in a completed write that everything that is derived from its document, and in it, is pending.
pub(in crate::engine) fn mark_all_pending(write: &mut Write, pending: &mut Option<Token>) -> Result<()> {
    let token = *pending.get_or_insert_with(Token::new);
    match &mut write.what {
        WriteKind::Insert(document) => *document = with_all_pending(document, token)?,
        WriteKind::Update(update) => record(&mut update.built.update, token),
        WriteKind::UpdateMany(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => {}
    }
    Ok(())
}

/// Puts collections from which others of them copy before these.
fn sources_first(graph: &Graph, mut rest: Vec<&'static DocumentMeta>) -> Vec<&'static DocumentMeta> {
    let mut metas = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let waits = |meta: &DocumentMeta| {
            let copying = graph.outgoing(meta).filter(|edge| !edge.copies.is_empty());
            copying
                .flat_map(|edge| &edge.targets)
                .map(|target| target.meta)
                .any(|target| {
                    target.collection != meta.collection
                        && rest.iter().any(|other| other.collection == target.collection)
                })
        };
        // Those that copy from each other have no order.
        let next = rest.iter().position(|meta| !waits(meta)).unwrap_or(0);
        metas.push(rest.remove(next));
    }
    metas
}

/// Fills in what the library has in documents of these collections. Returns the inserts that break a bound with it.
async fn fill_in(
    cx: Cx<'_>,
    metas: Vec<&'static DocumentMeta>,
    writes: &mut [Write],
    pending: &mut Option<Token>,
) -> Result<Vec<(usize, Error)>> {
    let only_inserts = writes
        .iter()
        .all(|write| matches!(write.what, WriteKind::Insert(_)));
    let copied_by_others = metas.len() > 1 || !only_inserts;
    let mut inserted: Vec<Inserts> = Vec::new();
    let mut refused = Vec::new();
    for meta in sources_first(cx.odm.graph(), metas) {
        let before = FillIn {
            cx,
            meta,
            beside: &inserted,
        };
        let of = |write: &&mut Write| write.meta.collection == meta.collection;
        let (mut places, mut documents) = (Vec::new(), Vec::<RawDocumentBuf>::new());
        for (place, write) in writes.iter_mut().enumerate() {
            let own = of(&write);
            if let (WriteKind::Insert(document), true) = (&mut write.what, own) {
                places.push(place);
                documents.push(std::mem::take(document));
            }
        }
        if !documents.is_empty() {
            before.insert(&mut documents, pending).await?;
        }
        let copied = if copied_by_others && !documents.is_empty() && before.may_copy().await? {
            Some((meta, documents.clone()))
        } else {
            None
        };
        for (place, document) in places.into_iter().zip(documents) {
            let Some(write) = writes.get_mut(place) else {
                continue;
            };
            if let Err(error) = bounds::document(meta, &document) {
                refused.push((write.at, error));
            }
            write.what = WriteKind::Insert(document);
        }
        inserted.extend(copied);
        // They may copy from what is inserted beside them, of their own collection too.
        let behind = FillIn {
            cx,
            meta,
            beside: &inserted,
        };
        for write in writes.iter_mut().filter(of) {
            match &mut write.what {
                WriteKind::Update(update) => {
                    let one = update.one.as_ref().map(|one| &one.id);
                    let (changes, touches) = (&mut update.built.update, &update.touches);
                    let updating = Updating::new(one, update.upsert, changes, touches, &inserted);
                    behind.update(updating, pending).await?;
                }
                WriteKind::UpdateMany(update) => {
                    let (changes, touches) = (&mut update.built.update, &update.touches);
                    let updating = Updating::new(None, update.upsert, changes, touches, &inserted);
                    behind.update(updating, pending).await?;
                }
                WriteKind::Replace(replace) => {
                    let filled = behind.replace(replace.stored(), pending).await?;
                    replace.changed = true;
                    replace.make(meta, Some(filled))?;
                }
                WriteKind::Insert(_) | WriteKind::Delete(_) => {}
            }
        }
    }
    Ok(refused)
}

/// Has the rules fill in what the library has in documents of one collection, before a write: in the caller's transaction, where there is one.
#[derive(Clone, Copy)]
struct FillIn<'a> {
    cx: Cx<'a>,
    meta: &'static DocumentMeta,
    /// The other inserts of the same operation.
    beside: &'a [Inserts],
}

impl FillIn<'_> {
    /// Whether copies may be taken of documents that the same operation inserts: if it fails, nothing of it is left.
    async fn may_copy(self) -> Result<bool> {
        let Cx { odm, session, .. } = self.cx;
        let mut incoming = odm.graph().incoming(self.meta);
        let is_source = incoming.any(|edge| edge.consistency().is_some());
        Ok(is_source && (session.is_some() || odm.has_transactions().await?))
    }

    /// Fills in new documents. Their pending work has this token.
    async fn insert(self, documents: &mut [RawDocumentBuf], token: &mut Option<Token>) -> Result<()> {
        let affected = Affected::by_insert(self.cx.odm.graph(), self.meta);
        let pending = self.pending_after(affected).await?;
        let mut new = NewDocuments::new(documents, self.beside, pending);
        for rule in rules::all() {
            rule.fill_new(&self.cx, self.meta, &mut new).await?;
        }
        let token = (!new.pending.is_empty()).then(|| *token.get_or_insert_with(Token::new));
        new.filled(token)?.put_into(documents)
    }

    /// Adds to an update what follows from it in the same documents: in one document, if it names one by its id.
    async fn update(self, mut updating: Updating<'_>, token: &mut Option<Token>) -> Result<()> {
        let mut affected = updating.touches.affected;
        if updating.upsert {
            affected = affected.or(Affected::by_insert(self.cx.odm.graph(), self.meta));
        }
        let leaves_work = self.leaves_work(affected).await?;
        for rule in rules::all() {
            rule.fill_update(&self.cx, self.meta, &mut updating).await?;
        }
        let Updating { update, pending, .. } = updating;
        if leaves_work || !pending.is_empty() {
            let token = *token.get_or_insert_with(Token::new);
            if leaves_work {
                record(update, token);
            } else {
                put(update, "$setOnInsert", OPERATION, token.into());
            }
            for (name, entry) in pending {
                put(update, "$setOnInsert", &path_for(&name), entry);
            }
        }
        Ok(())
    }

    /// The replacement with what the library keeps in the document.
    async fn replace(self, given: &RawDocumentBuf, token: &mut Option<Token>) -> Result<FilledReplacement> {
        let affected = Affected::by_replacement(self.cx.odm.graph(), self.meta);
        let pending = self.pending_after(affected).await?;
        let mut replacing = Replacing {
            given,
            document: decoded(given)?,
            beside: self.beside,
            computed: Document::new(),
            own: Document::new(),
            pending,
        };
        for rule in rules::all() {
            rule.fill_replacement(&self.cx, self.meta, &mut replacing).await?;
        }
        let Replacing {
            mut document,
            mut computed,
            mut own,
            pending,
            ..
        } = replacing;
        document.remove(OWN);
        let is_whole = computed.is_empty();
        if !pending.is_empty() {
            let token = *token.get_or_insert_with(Token::new);
            own.insert(name_of(PENDING), merged_mark(token, pending));
        }
        computed.insert(OWN, doc! { "$mergeObjects": [format!("${OWN}"), own] });
        Ok(FilledReplacement {
            document: encoded(&document)?,
            fields: document,
            computed,
            is_whole,
        })
    }

    /// The pending work of a whole document that is written, by name.
    async fn pending_after(self, affected: Affected) -> Result<Document> {
        Ok(if self.leaves_work(affected).await? {
            all_fields()
        } else {
            Document::new()
        })
    }

    /// Whether work is pending after a write: in the modes in which nothing else updates what is derived of it, which
    /// [`WritePlan::modes`](crate::plan::modes::WritePlan::modes) chooses by the same [`Affected`].
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for what this deployment can't keep in sync.
    async fn leaves_work(self, affected: Affected) -> Result<bool> {
        let odm = self.cx.odm;
        let graph = odm.graph();
        if !graph.takes_part(self.meta) {
            return Ok(false);
        }
        let transactions = odm.has_transactions().await?;
        if !transactions && let Some(name) = graph.needs_transactions(self.meta) {
            return Err(unsupported(odm, name).await?);
        }
        if !transactions && graph.is_claimed(self.meta) {
            return Err(claims::unsupported(odm).await?);
        }
        Ok(affected.leaves_work(transactions))
    }
}

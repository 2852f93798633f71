//! Two-way references where the deployment has no transactions: what makes both sides agree after a crash.
//!
//! A link is two writes then, and in between it stands on one side alone. Each of these writes, on whichever side, leaves a
//! token of its operation in the document that it changes, by the same atomic write. So wherever a link is on one side
//! alone, the document that was written last is marked. Who removes the mark has seen both sides agree after it was left:
//! the operation itself when it ends, or [`recover`]. Whatever others write meanwhile is marked with their tokens.
//!
//! A document that is to be deleted is taken off the others before, and it still names them then: a recovery would link them
//! again. So it says first that it goes, in the same place where the marks are, and is deleted if it still says so. Whoever
//! relies on what such a document names strikes that out; then it is not deleted, or begun with again.
//!
//! What has no right answer, or is changed by others all the time that it is mended, is told to `tracing` and left to
//! `audit()`, and its mark goes too: otherwise every recovery would meet it again.

use super::audit::{self, Source};
use super::batch::{self, all, behind, document_id};
use super::changes;
use super::derived::{self, GONE, Token, put};
use super::effects::id;
use super::graph::{Edge, Graph};
use super::inspect::{self, Fault, Kind, names_of};
use super::links::Link;
use super::repair::Repaired;
use super::scope::{Scope, Statement};
use crate::document::DocumentMeta;
use crate::key::{self, Key};
use crate::update::Built;
use crate::{Error, Odm, Result};
use futures::future::try_join;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// In a document with two-way references: the tokens of the operations that may have left a link on one side.
pub(crate) const LINKS: &str = "_odm.links";

/// In the same documents: how many writes of the library's have linked or unlinked them. A token goes when both sides agree,
/// and this stays: whoever has read it, and finds it higher by more than its own write, knows that somebody has come between.
/// Within a transaction, which leaves no marks, it tells the reconciler that both sides were written; and since it is counted
/// in every document on which the transaction relies, nobody else can write one of these meanwhile.
pub(super) const WRITES: &str = "_odm.linked";

/// In such a token of a document that is to be deleted.
const GOING: &str = "going";

/// So many marked documents are looked at together.
pub(super) const BATCH: usize = 200;

/// So often an operation looks again at documents that others are to delete.
const ROUNDS: usize = 10;

/// Whether what links a document is marked: where no transaction makes both sides one.
pub(super) async fn are_marked(odm: &Odm, meta: &DocumentMeta) -> Result<bool> {
    Ok(odm.graph().is_linked(meta) && !odm.has_transactions().await?)
}

/// Counts the writes that insert these documents.
pub(super) fn count_new(documents: &mut [RawDocumentBuf]) -> Result<()> {
    let (own, name) = WRITES.split_once('.').unwrap_or((WRITES, ""));
    for raw in documents {
        let encoding = |source: mongodb::bson::error::Error| Error::Encode {
            field: own.to_owned(),
            source: Box::new(source),
        };
        if raw.get(own).is_ok_and(|own| own.is_none()) {
            let count = RawDocumentBuf::try_from(&doc! { own: { name: 1_i64 } }).map_err(encoding)?;
            for field in count.iter() {
                let (name, value) = field.map_err(encoding)?;
                raw.append(name, value);
            }
            continue;
        }
        let mut document = Document::try_from(&*raw).map_err(encoding)?;
        put_below(
            &mut document,
            WRITES,
            derived::number(raw, WRITES).saturating_add(1).into(),
        );
        *raw = RawDocumentBuf::try_from(&document).map_err(encoding)?;
    }
    Ok(())
}

/// Marks new documents that are linked.
pub(super) fn mark_new(
    graph: &Graph,
    meta: &DocumentMeta,
    documents: &mut [RawDocumentBuf],
    token: &mut Option<Token>,
) -> Result<()> {
    for raw in documents {
        let mut edges = graph.outgoing(meta).filter(|edge| edge.is_two_way());
        if edges.all(|edge| edge.values(raw).next().is_none()) {
            continue;
        }
        let token = *token.get_or_insert_with(Token::new);
        let encoding = |source: mongodb::bson::error::Error| Error::Encode {
            field: "document".to_owned(),
            source: Box::new(source),
        };
        let mut document = Document::try_from(&*raw).map_err(encoding)?;
        put_below(&mut document, LINKS, Bson::Array(vec![token.into()]));
        // One that is put back has been written before.
        put_below(
            &mut document,
            WRITES,
            derived::number(raw, WRITES).saturating_add(1).into(),
        );
        *raw = RawDocumentBuf::try_from(&document).map_err(encoding)?;
    }
    Ok(())
}

fn put_below(document: &mut Document, name: &str, value: Bson) {
    let (own, name) = name.split_once('.').unwrap_or((name, ""));
    if let Bson::Document(own) = document.entry(own.to_owned()).or_insert_with(|| doc! {}.into()) {
        own.insert(name, value);
    }
}

/// Whether an update may link or unlink documents.
pub(super) fn links(graph: &Graph, meta: &DocumentMeta, built: &Built) -> bool {
    let mut edges = graph.outgoing(meta).filter(|edge| edge.is_two_way());
    edges.any(|edge| changes::touches(edge, &built.update))
}

/// A token for one more write, where writes are marked. Each has one of its own: who has seen the mark of the write before
/// may remove that one.
pub(super) fn another(marks: &mut Option<Vec<Token>>) -> Option<Token> {
    let token = Token::new();
    marks.as_mut()?.push(token);
    Some(token)
}

/// The part of an update that marks what it changes.
pub(super) fn mark(update: &mut Document, token: Token) {
    put(update, "$addToSet", LINKS, token.into());
    count(update);
}

/// The part of an update that counts it, in a transaction that writes both sides.
pub(super) fn count(update: &mut Document) {
    put(update, "$inc", WRITES, 1_i64.into());
}

/// The part of an update from the other side of a two-way reference that raises the version of the document. A link is a field of
/// both documents: a replacement by an older version must not write the field back.
///
/// The update's filter matches only documents in which the link changes.
pub(super) fn raise_version(meta: &DocumentMeta, update: &mut Document) {
    if let Some(version) = meta.version() {
        put(update, "$inc", version, 1_i64.into());
    }
}

/// The part of an upsert that counts it where it inserts.
pub(super) fn count_inserted(update: &mut Document) {
    put(update, "$setOnInsert", WRITES, 1_i64.into());
}

/// Counts the write that replaces a document, and marks it if it is to be: puts the expressions of what the library has in it
/// among these.
pub(super) fn count_replaced(own: &mut Document, mark: Option<Token>) {
    let marks = mark.map(|token| doc! { "$setUnion": [{ "$ifNull": [format!("${LINKS}"), []] }, [token]] });
    let writes = doc! { "$add": [{ "$ifNull": [format!("${WRITES}"), 0_i64] }, 1_i64] };
    for (name, value) in [(LINKS, marks), (WRITES, Some(writes))] {
        let name = name.split_once('.').map_or(name, |(_, name)| name);
        own.extend(value.map(|value| (name.to_owned(), value.into())));
    }
}

/// The documents that may have a link on one side.
pub(super) fn are_open() -> Document {
    doc! { LINKS: { "$exists": true } }
}

/// Says in the documents that fit that they go. They may be deleted if they still say so, and are not marked.
pub(super) async fn announce(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    token: Token,
) -> Result<u64> {
    let announcement = Statement {
        filter: which,
        update: doc! { "$addToSet": { LINKS: { GOING: token } } },
        array_filters: Vec::new(),
    };
    let scope = scope.unvalidated();
    scope.update(meta, std::slice::from_ref(&announcement)).await
}

/// The condition of the documents that go by this token.
pub(super) fn are_going(token: Token) -> Document {
    doc! { format!("{LINKS}.{GOING}"): token }
}

/// The condition of the documents in which nobody has left a mark, but for these: they say at most that they go.
pub(super) fn are_not_marked(but: &[Token]) -> Document {
    doc! { LINKS: { "$not": { "$elemMatch": { "$type": "objectId", "$nin": but } } } }
}

/// Documents without what they say of links, and the expression that gives the same of a stored one.
pub(super) fn but_for_links(mut documents: Vec<Document>) -> (Document, Vec<Document>) {
    let (own, name) = LINKS.split_once('.').unwrap_or((LINKS, ""));
    for document in &mut documents {
        put_below(document, LINKS, Bson::Null);
    }
    // An order of the fields as in the document, and at the end what it does not have.
    let below = doc! { "$mergeObjects": [format!("${own}"), { name: null }] };
    (doc! { "$mergeObjects": ["$$ROOT", { own: below }] }, documents)
}

fn tokens(document: &RawDocumentBuf) -> impl Iterator<Item = RawBsonRef<'_>> {
    let tokens = derived::at(document, LINKS).and_then(|tokens| tokens.as_array());
    tokens.into_iter().flatten().map_while(|token| token.ok())
}

/// Whether a document says that it goes.
fn is_going(document: &RawDocumentBuf) -> bool {
    tokens(document).any(|token| token.as_document().is_some())
}

/// Whether somebody has left a mark in a document.
pub(super) fn is_marked(document: &RawDocumentBuf) -> bool {
    tokens(document).any(|token| token.as_document().is_none())
}

/// Strikes out of these documents that they go, and marks those that said so. Gives the token of the marks, if there are any.
pub(super) async fn keep<'k>(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: impl IntoIterator<Item = &'k Key>,
) -> Result<Option<Token>> {
    let token = Token::new();
    let marks = doc! { "$filter": {
        "input": format!("${LINKS}"),
        "cond": { "$ne": [{ "$type": "$$this" }, "object"] },
    } };
    let pipeline = vec![doc! { "$set": { LINKS: { "$concatArrays": [marks, [token]] } } }];
    let mut kept = 0;
    for ids in key::chunks(ids) {
        let filter = doc! { "_id": { "$in": ids }, format!("{LINKS}.{GOING}"): { "$exists": true } };
        kept += scope
            .unvalidated()
            .compute(meta, filter, pipeline.clone())
            .await?;
    }
    Ok((kept > 0).then_some(token))
}

/// Removes marks with these tokens from the documents that fit.
async fn unmark(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    tokens: Vec<Bson>,
) -> Result<()> {
    let field = format!("${LINKS}");
    let rest = doc! { "$setDifference": [{ "$ifNull": [&field, []] }, { "$literal": tokens.clone() }] };
    let or_none = doc! { "$cond": [{ "$eq": [&field, []] }, "$$REMOVE", &field] };
    let pipeline = vec![
        doc! { "$set": { LINKS: rest } },
        doc! { "$set": { LINKS: or_none } },
    ];
    let filter = all([which, doc! { LINKS: { "$in": tokens } }]);
    scope.unvalidated().compute(meta, filter, pipeline).await?;
    Ok(())
}

/// At the end of an operation: sees that both sides of what it linked and unlinked agree, lets them agree where somebody else
/// has come between, and removes its marks from these collections.
pub(super) async fn agree<'g>(
    scope: &Scope<'g>,
    links: Vec<&Link>,
    metas: Vec<&'static DocumentMeta>,
    mut tokens: Vec<Token>,
) -> Result<()> {
    let graph: &'g Graph = scope.odm.graph();
    let mut by_edge: HashMap<usize, Vec<&Link>> = HashMap::new();
    for link in &links {
        by_edge.entry(link.edge).or_default().push(link);
    }
    let mut faults = Vec::new();
    for (at, links) in by_edge {
        let Some((edge, back)) = graph.edge(at).and_then(|edge| Some((edge, graph.inverse(edge)?))) else {
            continue;
        };
        let mut holders: HashMap<&Key, &Bson> = HashMap::new();
        let mut others: HashMap<&Key, &Bson> = HashMap::new();
        for link in &links {
            holders.insert(&link.holder.key, &link.holder.id);
            others.insert(&link.target.key, &link.target.id);
        }
        let mut rounds = 0;
        let (here, there) = loop {
            let (here, there) = try_join(
                side(scope, edge, &holders, &others),
                side(scope, back, &others, &holders),
            )
            .await?;
            if here.going.is_empty() && there.going.is_empty() {
                break (here.names, there.names);
            }
            if rounds == ROUNDS {
                tracing::debug!(
                    target: "odm",
                    collection = edge.holder.collection,
                    "others delete the same documents again and again: their marks are left to `recover`"
                );
                return Ok(());
            }
            rounds += 1;
            for (meta, going) in [(edge.holder, &here.going), (back.holder, &there.going)] {
                if !going.is_empty() {
                    tokens.extend(keep(scope, meta, going).await?);
                }
            }
        };
        for link in links {
            let (holder, target) = (here.get(&link.holder.key), there.get(&link.target.key));
            let names = holder.is_some_and(|names| names.contains(&link.target.key));
            let is_named = target.is_some_and(|names| names.contains(&link.holder.key));
            let mut add = |edge: &'g Edge, holder: &Bson, other: &Bson, other_is_there: bool| {
                let kind = match other_is_there {
                    true => Kind::OneSided { other: other.clone() },
                    false => Kind::Dangling {
                        target: Some(0),
                        key: other.clone(),
                    },
                };
                faults.push(Fault {
                    edge,
                    holder: holder.clone(),
                    kind,
                });
            };
            match (names, is_named) {
                (true, false) => add(edge, &link.holder.id, &link.target.id, target.is_some()),
                (false, true) => add(back, &link.target.id, &link.holder.id, holder.is_some()),
                _ => {}
            }
        }
    }
    tokens.extend(mend(scope, faults).await?);
    unmark_all(scope, metas, &tokens).await
}

/// How many writes had linked or unlinked a document when it was read.
pub(super) fn writes(document: &RawDocumentBuf) -> i64 {
    derived::number(document, WRITES)
}

/// Documents of one collection that others have linked or unlinked between an operation's look at them and its write.
pub(super) type Crossed = (&'static DocumentMeta, Vec<Bson>);

/// Of the documents in which a write has just left this token, those in which others have come between: what they linked, this
/// write may have taken away without having seen it, and what they took away, it may name again. `seen` says how many writes
/// there were at the look; a document that was not seen came to fit since.
pub(super) async fn crossed(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    token: Token,
    seen: impl Fn(&Key) -> Option<i64>,
) -> Result<Crossed> {
    let marked = doc! { LINKS: token };
    let mut now = scope.every(meta, marked, doc! { "_id": 1, WRITES: 1 }).await?;
    now.retain(|document| {
        let own = seen(&id(document)).and_then(|seen| seen.checked_add(1));
        own != Some(writes(document))
    });
    Ok((meta, batch::ids(&now)))
}

/// Lets both sides agree of all that these documents name, and that names them, and removes the marks that they have.
pub(super) async fn settle_crossed(scope: &Scope<'_>, (meta, ids): Crossed) -> Result<()> {
    let edges = scope.odm.graph().outgoing(meta);
    let mut fields = inspect::fields(edges.filter(|edge| edge.is_two_way()));
    fields.insert(LINKS, 1);
    for ids in ids.chunks(BATCH) {
        let which = doc! { "_id": { "$in": ids } };
        let documents = scope.every(meta, which, fields.clone()).await?;
        settle(scope, meta, &documents).await?;
    }
    Ok(())
}

/// What was read of the documents on one side of links.
struct Side {
    /// Whom of the others each of them names; one that does not exist is missing, and so is one that is gone in a moment.
    names: HashMap<Key, HashSet<Key>>,
    /// Those that say that they go.
    going: Vec<Key>,
}

/// Reads whom of these others each of these documents names.
async fn side(
    scope: &Scope<'_>,
    edge: &Edge,
    documents: &HashMap<&Key, &Bson>,
    others: &HashMap<&Key, &Bson>,
) -> Result<Side> {
    let others: Vec<Bson> = others.values().map(|id| (*id).clone()).collect();
    let fields = doc! { "_id": 1, edge.path.as_str(): names_of(edge, &others), LINKS: 1, GONE: 1 };
    let mut side = Side {
        names: HashMap::with_capacity(documents.len()),
        going: Vec::new(),
    };
    for ids in key::chunks(documents.keys().copied()) {
        let which = doc! { "_id": { "$in": ids } };
        for document in scope.every(edge.holder, which, fields.clone()).await? {
            if derived::is_gone(&document) {
                continue;
            }
            let id = Key::of_bson(&document_id(&document));
            if is_going(&document) {
                side.going.push(id.clone());
            }
            side.names
                .insert(id, edge.keys(0, &document).into_iter().collect());
        }
    }
    Ok(side)
}

/// Mends with marks, and looks again: a mend may cross what somebody else writes. Gives the tokens of the marks.
async fn mend<'g>(scope: &Scope<'g>, faults: Vec<Fault<'g>>) -> Result<Vec<Token>> {
    if faults.is_empty() {
        return Ok(Vec::new());
    }
    let mut marks = Some(Vec::new());
    tell(Repaired::default().mend(scope, faults, &mut marks).await?);
    Ok(marks.unwrap_or_default())
}

/// So many of what is left together are told one by one.
const TOLD: usize = 20;

/// Tells what was left.
pub(super) fn tell(left: Vec<Fault<'_>>) {
    if let Some(more) = left.len().checked_sub(TOLD).filter(|more| *more > 0) {
        tracing::warn!(target: "odm", more, "the sides of further two-way references differ, too: `audit` counts them");
    }
    for left in left.into_iter().take(TOLD) {
        tracing::warn!(
            target: "odm",
            collection = left.edge.holder.collection,
            field = left.edge.path.as_str(),
            id = %left.holder,
            "both sides of a two-way reference differ, and it is not known which is right: `audit` lists it"
        );
    }
}

/// Lets both sides agree of all that the marked documents of a collection name, or that names them. Gives how many documents
/// were marked.
pub(super) async fn recover<'g>(scope: &Scope<'g>, meta: &'static DocumentMeta) -> Result<u64> {
    let graph: &'g Graph = scope.odm.graph();
    let mut fields = inspect::fields(graph.outgoing(meta).filter(|edge| edge.is_two_way()));
    fields.insert(LINKS, 1);
    let (mut last, mut count): (Option<Bson>, u64) = (None, 0);
    loop {
        let after = last.as_ref().map(|last| behind(meta, last)).unwrap_or_default();
        let found = scope
            .batch(meta, all([are_open(), after]), Some(fields.clone()), BATCH)
            .await?;
        last = found.documents.last().map(document_id);
        count += found.documents.len() as u64;
        if !found.documents.is_empty() {
            settle(scope, meta, &found.documents).await?;
        }
        if !found.more {
            return Ok(count);
        }
    }
}

/// The same for those of these documents that others have marked than who has these tokens.
pub(super) async fn settle_of_others(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    ids: &[Bson],
    own: &[Token],
) -> Result<()> {
    let mut fields = inspect::fields(scope.odm.graph().outgoing(meta).filter(|edge| edge.is_two_way()));
    fields.insert(LINKS, 1);
    let keys: Vec<Key> = ids.iter().map(Key::of_bson).collect();
    for ids in key::chunks(&keys) {
        let which = all([doc! { "_id": { "$in": ids } }, are_open()]);
        let mut marked = scope.every(meta, which, fields.clone()).await?;
        let is_own = |token: RawBsonRef<'_>| token.as_object_id().is_some_and(|token| own.contains(&token));
        marked
            .retain(|document| tokens(document).any(|token| token.as_document().is_none() && !is_own(token)));
        if !marked.is_empty() {
            settle(scope, meta, &marked).await?;
        }
    }
    Ok(())
}

/// The same for these documents, with their marks.
pub(super) async fn settle<'g>(
    scope: &Scope<'g>,
    meta: &'static DocumentMeta,
    documents: &[RawDocumentBuf],
) -> Result<()> {
    let graph: &'g Graph = scope.odm.graph();
    let edges: Vec<&'g Edge> = graph.outgoing(meta).filter(|edge| edge.is_two_way()).collect();
    let ids = batch::ids(documents);
    let own: HashSet<Key> = ids.iter().map(Key::of_bson).collect();
    let mut kept: Vec<Token> = Vec::new();
    if documents.iter().any(is_going) {
        kept.extend(keep(scope, meta, &own).await?);
    }
    for edge in &edges {
        let Some(back) = graph.inverse(edge) else { continue };
        let named: HashSet<Key> = documents
            .iter()
            .flat_map(|document| edge.keys(0, document))
            .collect();
        kept.extend(keep(scope, back.holder, &named).await?);
    }
    let mut faults = audit::look(scope, &edges, documents).await?.faults;
    for edge in &edges {
        let Some(back) = graph.inverse(edge) else { continue };
        let mut others = naming(back, &ids);
        while let Some(others) = others.next(scope).await? {
            let going: Vec<Key> = others.iter().filter(|other| is_going(other)).map(id).collect();
            if !going.is_empty() {
                kept.extend(keep(scope, back.holder, &going).await?);
            }
            faults.extend(named_alone(scope, back, others, &own).await?);
        }
    }
    let which = doc! { "_id": { "$in": ids } };
    let tokens: Vec<Bson> = documents
        .iter()
        .filter_map(|document| batch::value(document, LINKS))
        .filter_map(|tokens| match tokens {
            Bson::Array(tokens) => Some(tokens),
            _ => None,
        })
        .flatten()
        .collect();
    kept.extend(mend(scope, faults).await?);
    if !kept.is_empty() {
        let others = edges.iter().filter_map(|edge| graph.inverse(edge));
        let metas: Vec<_> = others.map(|back| back.holder).chain([meta]).collect();
        unmark_all(scope, metas, &kept).await?;
    }
    unmark(scope, meta, which, tokens).await
}

/// Those that name these documents. Whom documents don't name any more is not known, and no index of the library's leads to who
/// names them: it is a look through the other collection, after a crash, and after what others write. Of a list only these are read.
pub(super) fn naming(back: &Edge, ids: &[Bson]) -> Source {
    let names_them = doc! { &back.path: { "$in": ids } };
    let mut fields = inspect::fields([back]);
    fields.insert(back.path.as_str(), names_of(back, ids));
    fields.insert(LINKS, 1);
    Source::fitting(back.holder, names_them, fields)
}

/// Which of these documents are not named by them.
pub(super) async fn named_alone<'g>(
    scope: &Scope<'g>,
    back: &'g Edge,
    mut naming: Vec<RawDocumentBuf>,
    documents: &HashSet<Key>,
) -> Result<Vec<Fault<'g>>> {
    naming.retain(|other| !derived::is_gone(other));
    let mut found = audit::look(scope, &[back], &naming).await?.faults;
    found.retain(|fault| match &fault.kind {
        Kind::OneSided { other } => documents.contains(&Key::of_bson(other)),
        _ => false,
    });
    Ok(found)
}

/// Removes the marks of one operation from these collections.
pub(super) async fn unmark_all(
    scope: &Scope<'_>,
    metas: impl IntoIterator<Item = &'static DocumentMeta>,
    tokens: &[Token],
) -> Result<()> {
    let mut known = HashSet::new();
    for meta in metas {
        if known.insert(meta.collection) {
            unmark(
                scope,
                meta,
                Document::new(),
                tokens.iter().map(|token| (*token).into()).collect(),
            )
            .await?;
        }
    }
    Ok(())
}

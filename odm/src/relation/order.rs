//! Two-way references where the deployment has no transactions: one side after the other, in an order in which a crash
//! leaves nothing that taking one side for true does not mend.
//!
//! A link is written on the side that is not believed first, and unlinked on the side that is believed first. What can be
//! foreseen to fail (a target that does not exist, an array without room) fails before anything is written; a write that
//! fails all the same is followed by the reverse of what was done for it. Each of the writes marks the document that it
//! changes, until both sides agree: see [`pairs`].

use super::back::{Own, put_back};
use super::changes::How;
use super::derived::{self, Token};
use super::effects::{self, by_ids, id};
use super::graph::{Edge, Graph, is};
use super::links::{self, Act, Diff, Effect, Link, comes_first, missing, reverse};
use super::pairs::{self, Crossed};
use super::scope::Scope;
use super::write::{Done, Duties, Images, Limit, What, links_read, remove};
use crate::document::DocumentMeta;
use crate::key::Key;
use crate::session::Shared;
use crate::{Error, Result};
use futures::future::BoxFuture;
use mongodb::bson::{Bson, RawDocumentBuf};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow::{Break, Continue};

/// What an operation leaves in documents until both sides agree.
struct Marks {
    /// The first is that of the writes themselves.
    tokens: Vec<Token>,
    /// Where others have come between the look and the writes.
    crossed: Result<Vec<Crossed>>,
}

impl<'a> Duties<'a> {
    pub(super) async fn in_order<R, F>(&self, scope: &Scope<'_>, work: &F) -> Result<R>
    where
        R: Done + Send,
        F: Fn(Option<Shared>) -> BoxFuture<'a, Result<R>> + Send + Sync,
    {
        let graph = self.graph();
        let before = match self.look(scope, Limit::of_part()).await? {
            Continue(before) => before,
            Break(done) => return Ok(done),
        };
        self.mark_former(scope).await?;
        let (planned, diff) = self.foreseen(scope, &before, |_| true).await?;
        let taken = taken_over(&planned, &diff);
        let token = self.token();
        let mut marks = Marks {
            tokens: vec![token],
            crossed: Ok(Vec::new()),
        };
        let done = self
            .both_sides(scope, work, before, planned, &diff, &mut marks)
            .await;
        // Whatever became of it, and whoever came between: both sides agree then.
        let agreed = self.agree(scope, &diff, &taken, marks).await;
        let read = links_read(graph, self.edges()).into_iter();
        let paid = derived::settle_all(scope, read.map(|meta| (meta, token)).collect()).await;
        let done = done?;
        agreed?;
        paid?;
        Ok(done)
    }

    async fn agree(&self, scope: &Scope<'_>, diff: &Diff, taken: &[Link], marks: Marks) -> Result<()> {
        // Where it is not known, or can't be settled, the marks stay for a recovery.
        for crossed in marks.crossed? {
            pairs::settle_crossed(scope, crossed).await?;
        }
        let graph = self.graph();
        let others = self.edges().filter(|_| !diff.is_empty());
        let others = others.filter_map(|edge| graph.inverse(edge));
        let metas = self.edges().chain(others).map(|edge| edge.holder).collect();
        let links = diff.links().into_iter().chain(taken).collect();
        pairs::agree(scope, links, metas, marks.tokens).await
    }

    /// The documents in which others have come between the look and the write.
    async fn crossed(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        upserted: Option<&Bson>,
    ) -> Result<Vec<Crossed>> {
        let mut all = Vec::new();
        let mut metas: Vec<&'static DocumentMeta> = Vec::new();
        for write in self.writes() {
            if write.what.changes().is_some() && !metas.iter().any(|meta| is(meta, write.meta)) {
                metas.push(write.meta);
            }
        }
        for meta in metas {
            let seen: HashMap<Key, i64> = before
                .of(meta)
                .map(|document| (id(document), pairs::writes(document)))
                .collect();
            // What was inserted was not there to be seen.
            let inserts = self.writes().iter().filter_map(|write| write.what.inserts());
            let inserted: HashSet<Key> = inserts.chain(upserted).map(Key::of_bson).collect();
            let seen = |key: &Key| seen.get(key).copied().or(inserted.contains(key).then_some(0));
            all.push(pairs::crossed(scope, meta, self.token(), seen).await?);
        }
        Ok(all)
    }

    async fn both_sides<R, F>(
        &self,
        scope: &Scope<'_>,
        work: &F,
        before: Images,
        planned: Vec<Effect>,
        diff: &Diff,
        marks: &mut Marks,
    ) -> Result<R>
    where
        R: Done + Send,
        F: Fn(Option<Shared>) -> BoxFuture<'a, Result<R>> + Send + Sync,
    {
        let graph = self.graph();
        let Marks { tokens, crossed } = marks;
        let token = self.token();
        let own = self.inserts(&before);
        let is_inserted = |effect: &Effect| {
            let collection = graph.edge(effect.edge).map_or("", |edge| edge.holder.collection);
            own.contains(&(collection, effect.holder.key.clone()))
        };
        // A document that the write changes is not changed before it: the write may ask for its version.
        let changed = before.changed.iter();
        let changed: HashSet<(&str, Key)> = changed
            .flat_map(|(meta, documents)| documents.iter().map(|one| (meta.collection, id(one))))
            .collect();
        let is_changed = |effect: &Effect| {
            let collection = graph.edge(effect.edge).map_or("", |edge| edge.holder.collection);
            changed.contains(&(collection, effect.holder.key.clone()))
        };
        let (first, last): (Vec<Effect>, Vec<Effect>) = planned.into_iter().partition(|effect| {
            let waits = is_inserted(effect) || is_changed(effect) || diff.writes(effect);
            comes_first(graph, effect) && !waits
        });
        have_room(scope, graph, last.iter().filter(|effect| !is_inserted(effect))).await?;
        // The write's own token tells which documents it has written.
        let beside = Token::new();
        tokens.push(beside);
        if let Err(error) = effects::apply(scope, graph, &first, Some(beside), token.into()).await {
            take_back(scope, graph, &first, tokens).await;
            return Err(error);
        }
        let done = work(None).await;
        let upserted = done.as_ref().ok().and_then(Done::upserted).cloned();
        *crossed = self.crossed(scope, &before, upserted.as_ref()).await;
        let done = match done {
            Ok(done) => done,
            Err(error) => {
                take_back(scope, graph, &first, tokens).await;
                return Err(error);
            }
        };
        if done.missed() {
            // It was the only write: several have no outcome that can be foreseen.
            take_back(scope, graph, &first, tokens).await;
            return Ok(done);
        }
        let mut last = last;
        if (0..self.writes().len()).any(|at| !done.inserted(at)) {
            let (made, _) = self.foreseen(scope, &before, |at| done.inserted(at)).await?;
            let (kept, undone): (Vec<Effect>, Vec<Effect>) =
                first.iter().cloned().partition(|effect| made.contains(effect));
            take_back(scope, graph, &undone, tokens).await;
            last = made.into_iter().filter(|effect| !kept.contains(effect)).collect();
        }
        if let Err(error) = effects::apply(scope, graph, &last, Some(beside), token.into()).await {
            let all: Vec<Effect> = first.into_iter().chain(last).collect();
            take_back(scope, graph, &all, tokens).await;
            if let Err(left) = self.undo(scope, &before, diff, &done, tokens).await {
                tracing::warn!(
                    target: "odm",
                    error = %left,
                    "a write that failed is not undone in all documents: the rest is left to `recover`"
                );
            }
            return Err(error);
        }
        if let Some(recheck) = self.recheck(scope, before, &done).await? {
            super::checks::after(scope, &[recheck]).await?;
        }
        Ok(done)
    }

    /// What the writes will ask of the other side, so far as they are made.
    async fn foreseen(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        made: impl Fn(usize) -> bool,
    ) -> Result<(Vec<Effect>, Diff)> {
        let graph = self.graph();
        let Some(after) = self.after(before, made) else {
            return Err(Error::Unsupported {
                operation: "a change of a two-way reference whose outcome only the server knows",
                needs: "a replica set or a sharded cluster",
                is: scope.odm.server().await?.to_string(),
            });
        };
        let diff = self.diff(before, &after)?;
        let answers = effects::answer(scope, graph, links::questions(graph, &diff)).await?;
        let mut effects = links::effects(graph, &diff, &answers)?;
        // What others write meanwhile is found by what they count.
        effects.retain(|effect| effect.act != Act::Stay);
        Ok((effects, diff))
    }

    /// The documents that these writes insert.
    fn inserts(&self, before: &Images) -> HashSet<(&'static str, Key)> {
        let mut own = HashSet::new();
        for write in self.writes() {
            match &write.what {
                What::Insert(document) => {
                    let id = document.get("_id").ok().flatten();
                    own.extend(id.map(|id| (write.meta.collection, Key::of(id))));
                }
                What::Update { upsert: true, .. } => {
                    let new = write.what.inserts().map(Key::of_bson);
                    let is_there = |key: &Key| before.of(write.meta).any(|document| id(document) == *key);
                    own.extend(
                        new.filter(|key| !is_there(key))
                            .map(|key| (write.meta.collection, key)),
                    );
                }
                _ => {}
            }
        }
        own
    }

    /// Takes back the write itself, after the other side could not follow.
    async fn undo<R: Done>(
        &self,
        scope: &Scope<'_>,
        before: &Images,
        diff: &Diff,
        done: &R,
        tokens: &mut Vec<Token>,
    ) -> Result<()> {
        let graph = self.graph();
        // One that can't be undone does not keep the others.
        let mut failed = Ok(());
        for (at, write) in self.writes().iter().enumerate() {
            if let What::Insert(document) = write.what
                && let Some(holder) = super::write::node(document)
                && done.inserted(at)
            {
                failed = failed.and(remove(scope, write.meta, &[holder.id], tokens).await);
            }
        }
        for (meta, documents) in &before.changed {
            let of_these = self
                .edges()
                .filter(|edge| edge.holder.collection == meta.collection);
            let edges: Vec<&Edge> = of_these.collect();
            let names = super::checks::roots(edges.iter().copied());
            let keys: Vec<Key> = documents.iter().map(id).collect();
            let now = match read(scope, meta, &keys, &names).await {
                Ok(now) => now,
                Err(error) => {
                    failed = failed.and(Err(error));
                    continue;
                }
            };
            let token = Token::new();
            let debt = tokens.first().copied().unwrap_or(token);
            tokens.push(token);
            let statements: Vec<_> = documents
                .iter()
                .filter_map(|document| {
                    let key = id(document);
                    let is_of = |links: &[Link], edge: &Edge, target: &Key| {
                        let is_it = |link: &&Link| link.edge == edge.at && link.holder.key == key;
                        links.iter().filter(is_it).any(|link| link.target.key == *target)
                    };
                    // Who finds nothing where this write has put something knows that others took it away.
                    let is_replaced = |edge: &Edge| {
                        let mut added = diff.added.iter();
                        edge.array().is_none()
                            && added.any(|link| link.edge == edge.at && link.holder.key == key)
                    };
                    let own = Own {
                        added: &|edge, _, target| is_of(&diff.added, edge, target),
                        removed: &|edge, _, target| is_of(&diff.removed, edge, target) && !is_replaced(edge),
                        how: &|_| How::Replaces,
                    };
                    put_back(document, now.get(&key)?, &edges, &own)
                })
                .map(|mut statement| {
                    pairs::mark(&mut statement.update, token);
                    pairs::raise_version(meta, &mut statement.update);
                    derived::given_back(graph, meta, &mut statement.update, debt, false);
                    statement
                })
                .collect();
            failed = failed.and(scope.update(meta, &statements).await.map(drop));
        }
        failed
    }
}

/// The links of other documents that a write ends, since it takes over what they name.
fn taken_over(planned: &[Effect], diff: &Diff) -> Vec<Link> {
    let added: HashSet<(usize, &Key)> = diff
        .added
        .iter()
        .map(|link| (link.edge, &link.target.key))
        .collect();
    planned
        .iter()
        .filter(|effect| effect.act == Act::Lose && added.contains(&(effect.edge, &effect.target.key)))
        .map(|effect| Link {
            edge: effect.edge,
            holder: effect.holder.clone(),
            target: effect.target.clone(),
        })
        .collect()
}

async fn read(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    keys: &[Key],
    names: &[&str],
) -> Result<HashMap<Key, RawDocumentBuf>> {
    let found = by_ids(scope, meta, keys.iter(), names.iter().copied()).await?;
    Ok(found
        .into_iter()
        .map(|document| (id(&document), document))
        .collect())
}

/// Whether the arrays that are to be written last can take what comes.
async fn have_room(scope: &Scope<'_>, graph: &Graph, effects: impl Iterator<Item = &Effect>) -> Result<()> {
    let mut arrays: HashMap<(usize, &Key), Vec<&Effect>> = HashMap::new();
    for effect in effects.filter(|effect| effect.act == Act::Gain) {
        arrays
            .entry((effect.edge, &effect.holder.key))
            .or_default()
            .push(effect);
    }
    let edges: HashSet<usize> = arrays.keys().map(|(edge, _)| *edge).collect();
    for edge in edges.into_iter().filter_map(|at| graph.edge(at)) {
        let keys: Vec<Key> = arrays
            .keys()
            .filter(|(at, _)| *at == edge.at)
            .map(|(_, key)| (*key).clone())
            .collect();
        let now = read(scope, edge.holder, &keys, &[edge.root()]).await?;
        let gone: Vec<&Key> = keys.iter().filter(|key| !now.contains_key(*key)).collect();
        if let (false, Some(back)) = (gone.is_empty(), graph.inverse(edge)) {
            return Err(missing(back, gone.into_iter().map(Key::to_bson)));
        }
        for key in &keys {
            let there: HashSet<Key> = now
                .get(key)
                .map(|document| edge.values(document).map(Key::of).collect())
                .unwrap_or_default();
            let gains = arrays.get(&(edge.at, key)).map(Vec::as_slice).unwrap_or_default();
            let new = gains
                .iter()
                .filter(|effect| !there.contains(&effect.target.key))
                .count();
            if let (Some(max), Some(first)) = (edge.max, gains.first())
                && (there.len() + new) as u64 > max
            {
                return Err(full(edge, first, max));
            }
        }
    }
    Ok(())
}

fn full(edge: &Edge, effect: &Effect, max: u64) -> Error {
    Error::ArrayFull {
        collection: edge.holder.collection,
        id: Box::new(effect.holder.id.clone()),
        field: edge.path.clone(),
        max,
    }
}

/// Does the reverse of what was done. What can't be reversed any more is settled by the side that is believed.
async fn take_back(scope: &Scope<'_>, graph: &Graph, done: &[Effect], tokens: &mut Vec<Token>) {
    // What is owed goes by the operation's own token still.
    let token = Token::new();
    let debt = tokens.first().copied().unwrap_or(token);
    tokens.push(token);
    let back: Vec<Effect> = done
        .iter()
        .rev()
        .filter_map(|effect| Some(reverse(effect, graph.edge(effect.edge)?.list)))
        .collect();
    if let Err(error) = effects::apply(scope, graph, &back, Some(token), debt.into()).await {
        tracing::warn!(
            target: "odm",
            %error,
            "a write failed, and what was written on the other side of a two-way reference could not be taken back"
        );
    }
}

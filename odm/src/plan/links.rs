//! The two sides of two-way references: what a write did to the links between documents, and what that asks of the other
//! documents.
//!
//! A link is held by two documents, each of which names the other. A write changes the fields of one side; what it added
//! and removed is the difference between the documents before and after. From these differences alone follow the writes on
//! the other side, whatever the write was. Nothing here talks to a server.

use crate::graph::Graph;
use crate::graph::edge::{Edge, EdgeId, TwoWay};
use crate::model::key::Key;
use crate::{Error, Result, Rule, Violation};
use mongodb::bson::Bson;
use std::collections::{HashMap, HashSet};

/// The id of a document, as it is stored: numbers of different types are one id.
#[derive(Clone, Debug)]
pub(crate) struct LinkedDocument {
    pub(crate) key: Key,
    pub(crate) id: Bson,
}

impl LinkedDocument {
    pub(crate) fn new(id: &Bson) -> LinkedDocument {
        LinkedDocument {
            key: Key::of_bson(id),
            id: id.clone(),
        }
    }
}

impl PartialEq for LinkedDocument {
    fn eq(&self, other: &LinkedDocument) -> bool {
        self.key == other.key
    }
}

/// One document names another one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    /// The reference by which it does, and the other side of it.
    pub(crate) two_way: TwoWay,
    pub(crate) holder: LinkedDocument,
    pub(crate) target: LinkedDocument,
}

/// The changes of a write to links.
#[derive(Debug, Default)]
pub(crate) struct LinkDiff {
    pub(crate) added: Vec<Link>,
    pub(crate) removed: Vec<Link>,
    /// The references of the documents that were written, as they are now: by edge and document.
    now: HashMap<(EdgeId, Key), HashMap<Key, Bson>>,
}

impl LinkDiff {
    /// Compares the references of a document by one edge before and after the write.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the write makes an array name a document twice: a link is there once or not at all.
    pub(crate) fn add(
        &mut self,
        (two_way, edge): (TwoWay, &Edge),
        holder: &LinkedDocument,
        before: &[Bson],
        after: &[Bson],
    ) -> Result<()> {
        let (mut old, mut twice_before) = (HashSet::new(), HashSet::new());
        for key in before.iter().map(Key::of_bson) {
            if let Some(again) = old.replace(key) {
                twice_before.insert(again);
            }
        }
        let mut new = HashMap::with_capacity(after.len());
        let link = |target: LinkedDocument| Link {
            two_way,
            holder: holder.clone(),
            target,
        };
        let mut added = Vec::new();
        for target in after.iter().map(LinkedDocument::new) {
            if new.insert(target.key.clone(), target.id.clone()).is_some() {
                if twice_before.contains(&target.key) {
                    continue;
                } else {
                    return Err(twice(edge, target.id));
                }
            }
            if !old.contains(&target.key) {
                added.push(link(target));
            }
        }
        let mut gone = HashSet::new();
        for target in before.iter().map(LinkedDocument::new) {
            if !new.contains_key(&target.key) && gone.insert(target.key.clone()) {
                self.removed.push(link(target));
            }
        }
        self.added.append(&mut added);
        self.now.insert((edge.id, holder.key.clone()), new);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Whether the write itself left this link in the document.
    fn holds(&self, edge: EdgeId, holder: &Key, target: &Key) -> Option<bool> {
        let now = self.now.get(&(edge, holder.clone()))?;
        Some(now.contains_key(target))
    }

    /// The single reference that the write itself left in the document.
    fn reference_of(&self, edge: EdgeId, holder: &Key) -> Option<Option<LinkedDocument>> {
        let now = self.now.get(&(edge, holder.clone()))?;
        let node = |(key, id): (&Key, &Bson)| LinkedDocument {
            key: key.clone(),
            id: id.clone(),
        };
        Some(now.iter().next().map(node))
    }
}

fn twice(edge: &Edge, id: Bson) -> Error {
    Error::Invalid {
        collection: edge.holder.collection.to_owned(),
        violations: vec![Violation::new(
            edge.path.clone(),
            Rule::Other("that a two-way reference names each document once".to_owned()),
            Some(id),
        )],
        source: None,
    }
}

/// A change of one document on the other side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OtherSideWrite {
    /// The reference that is written, and the side from which the link came.
    pub(crate) two_way: TwoWay,
    pub(crate) holder: LinkedDocument,
    pub(crate) target: LinkedDocument,
    pub(crate) act: LinkAction,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LinkAction {
    /// The array takes the reference up.
    Gain,
    /// The reference is removed.
    Lose,
    /// The single reference is this one from now on; before it was another one, or none.
    Become { previous: Option<LinkedDocument> },
    /// The single reference is right, and has to stay so: in a transaction the document is written nevertheless, so that no
    /// other client changes it meanwhile.
    Stay,
}

/// The single references on the other side that have to be known: by edge, the documents.
pub(crate) type Questions = Vec<(EdgeId, Vec<LinkedDocument>)>;

/// The single references, by edge and document. A document that does not exist is missing.
pub(crate) type Answers = HashMap<(EdgeId, Key), Option<LinkedDocument>>;

/// The references to read before the effects are known.
pub(crate) fn questions(graph: &Graph, diff: &LinkDiff) -> Questions {
    let mut asked: HashSet<(EdgeId, &Key)> = HashSet::new();
    let mut questions: Questions = Vec::new();
    let added = diff.added.iter().map(|link| (link, true));
    for (link, added) in added.chain(diff.removed.iter().map(|link| (link, false))) {
        let other = &graph[link.two_way.other];
        // The update itself looks for the removed link on the other side, unless a reference there is required.
        let wanted = !other.list && (added || !other.reference.optional);
        let known = diff.reference_of(other.id, &link.target.key).is_some();
        if !wanted || known || !asked.insert((other.id, &link.target.key)) {
            continue;
        }
        match questions.iter_mut().find(|(edge, _)| *edge == other.id) {
            Some((_, nodes)) => nodes.push(link.target.clone()),
            None => questions.push((other.id, vec![link.target.clone()])),
        }
    }
    questions
}

/// The effects of the links on the other side.
///
/// # Errors
/// [`Error::MissingReference`] for targets that don't exist; [`Error::Query`] where a document with room for one reference
/// would have two, or one that must have a reference would have none.
pub(crate) fn effects(graph: &Graph, diff: &LinkDiff, answers: &Answers) -> Result<Vec<OtherSideWrite>> {
    let mut effects = LinkEffects {
        graph,
        diff,
        answers,
        list: Vec::new(),
        claimed: HashMap::new(),
        missing: Vec::new(),
    };
    effects.claims()?;
    for link in &diff.added {
        effects.gain(link)?;
    }
    effects.all_there()?;
    for link in &diff.removed {
        effects.lose(link)?;
    }
    Ok(effects.list)
}

struct LinkEffects<'a> {
    graph: &'a Graph,
    diff: &'a LinkDiff,
    answers: &'a Answers,
    list: Vec<OtherSideWrite>,
    /// The new targets of single references: by edge and document.
    claimed: HashMap<(EdgeId, Key), LinkedDocument>,
    /// The targets that don't exist: by the edge that names them.
    missing: Vec<(EdgeId, Bson)>,
}

impl<'a> LinkEffects<'a> {
    /// The edge of a link and its other side.
    fn sides(&self, link: &Link) -> (&'a Edge, &'a Edge) {
        self.graph.sides(link.two_way)
    }

    /// The value of a single reference; `None` where the document does not exist.
    fn current(&self, edge: &Edge, holder: &LinkedDocument) -> Option<Option<LinkedDocument>> {
        self.diff
            .reference_of(edge.id, &holder.key)
            .or_else(|| self.answers.get(&(edge.id, holder.key.clone())).cloned())
    }

    /// Every single reference becomes one thing at most, whichever side was written.
    fn claims(&mut self) -> Result<()> {
        for link in &self.diff.added {
            let (edge, other) = self.sides(link);
            if !edge.list {
                self.claim(edge, &link.holder, &link.target)?;
            }
            if !other.list {
                self.claim(other, &link.target, &link.holder)?;
            }
        }
        Ok(())
    }

    fn claim(&mut self, edge: &Edge, holder: &LinkedDocument, target: &LinkedDocument) -> Result<()> {
        let claimed = self
            .claimed
            .entry((edge.id, holder.key.clone()))
            .or_insert_with(|| target.clone());
        if claimed == target {
            return Ok(());
        }
        Err(Error::Query {
            collection: edge.holder.collection,
            message: format!(
                "`{}` of the document with _id {} can refer to one document only, but this write links it with two: {} and {}",
                edge.path, holder.id, claimed.id, target.id
            ),
        })
    }

    fn gain(&mut self, link: &Link) -> Result<()> {
        let (edge, other) = self.sides(link);
        if self.diff.holds(other.id, &link.target.key, &link.holder.key) == Some(true) {
            return Ok(());
        }
        let effect = |act| OtherSideWrite {
            two_way: link.two_way.reversed(),
            holder: link.target.clone(),
            target: link.holder.clone(),
            act,
        };
        if other.list {
            self.list.push(effect(LinkAction::Gain));
            return Ok(());
        }
        let Some(previous) = self.current(other, &link.target) else {
            self.missing.push((edge.id, link.target.id.clone()));
            return Ok(());
        };
        if previous.as_ref() == Some(&link.holder) {
            self.list.push(effect(LinkAction::Stay));
            return Ok(());
        }
        // Taken over: the document that it referred to before does not refer to it any more.
        if let Some(previous) = &previous
            && self.diff.holds(edge.id, &previous.key, &link.target.key) != Some(false)
            && !self.claimed.contains_key(&(edge.id, previous.key.clone()))
        {
            if !edge.list && !edge.reference.optional {
                return Err(must_refer(edge, previous));
            }
            self.list.push(OtherSideWrite {
                two_way: link.two_way,
                holder: previous.clone(),
                target: link.target.clone(),
                act: LinkAction::Lose,
            });
        }
        self.list.push(effect(LinkAction::Become { previous }));
        Ok(())
    }

    fn all_there(&mut self) -> Result<()> {
        let Some((first, _)) = self.missing.first() else {
            return Ok(());
        };
        let edge = &self.graph[*first];
        let mut known = HashSet::new();
        let ids = self
            .missing
            .iter()
            .filter(|(at, _)| at == first)
            .map(|(_, id)| id);
        Err(missing(
            edge,
            ids.filter(|id| known.insert(Key::of_bson(id))).cloned(),
        ))
    }

    fn lose(&mut self, link: &Link) -> Result<()> {
        let (_, other) = self.sides(link);
        let effect = |act| OtherSideWrite {
            two_way: link.two_way.reversed(),
            holder: link.target.clone(),
            target: link.holder.clone(),
            act,
        };
        if self.diff.holds(other.id, &link.target.key, &link.holder.key) == Some(false) {
            return Ok(());
        }
        if !other.list {
            // Whatever it becomes takes the place of what it was.
            if self.claimed.contains_key(&(other.id, link.target.key.clone())) {
                return Ok(());
            }
            if !other.reference.optional {
                match self.current(other, &link.target) {
                    Some(Some(now)) if now == link.holder => return Err(must_refer(other, &link.target)),
                    Some(_) => self.list.push(effect(LinkAction::Stay)),
                    None => {}
                }
                return Ok(());
            }
        }
        self.list.push(effect(LinkAction::Lose));
        Ok(())
    }
}

pub(crate) fn missing(edge: &Edge, ids: impl Iterator<Item = Bson>) -> Error {
    let target = edge.targets.first().map_or(edge.holder, |target| target.meta);
    crate::graph::sync::missing(edge, target, ids.collect())
}

fn must_refer(edge: &Edge, holder: &LinkedDocument) -> Error {
    Error::Query {
        collection: edge.holder.collection,
        message: format!(
            "`{}` of the document with _id {} must refer to a document, but this write would leave it without one: set it to \
             another document, which also removes the link to the first",
            edge.path, holder.id
        ),
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;

//! Checks that the targets of a write's references exist: before the write, and again after it.
//!
//! The second check closes the race with a delete without a lock. A delete looks for references to the document afterwards; a
//! write of a reference looks for its target afterwards. The later of the two looks sees the other one's write.

use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::plan::operation::Write;
use crate::plan::targets::{
    AddedReferences, Column, MissingReferences, SameFields, is_same, keys_of_inserts, linked_by_same, missing,
};
use crate::store::cx::Cx;
use crate::{Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use mongodb::bson::{RawDocument, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of queries that run at once.
const AT_ONCE: usize = 8;

/// The questions to the database.
#[derive(Default)]
pub(crate) struct AskedTargets {
    columns: Vec<(&'static DocumentMeta, &'static str, Vec<Key>)>,
    known: HashMap<Column, HashSet<Key>>,
}

impl AskedTargets {
    pub(crate) fn add(&mut self, meta: &'static DocumentMeta, by: &'static str, key: &Key) {
        if !self
            .known
            .entry((meta.collection, by))
            .or_default()
            .insert(key.clone())
        {
            return;
        }
        match self
            .columns
            .iter_mut()
            .find(|(other, name, _)| is(other, meta) && *name == by)
        {
            Some((_, _, keys)) => keys.push(key.clone()),
            None => self.columns.push((meta, by, vec![key.clone()])),
        }
    }

    /// Which of them there are.
    pub(crate) async fn ask(self, cx: &Cx<'_>) -> Result<HashMap<Column, HashSet<Key>>> {
        self.ask_for(cx, |_, _, _| true).await
    }

    /// Which of them there are with the values that these references demand by `same`.
    pub(crate) async fn ask_same(
        self,
        cx: &Cx<'_>,
        graph: &Graph,
        added: &[AddedReferences],
    ) -> Result<HashMap<Column, HashSet<Key>>> {
        self.ask_for(cx, counting(graph, added)).await
    }

    /// Which of them there are with a document that counts.
    async fn ask_for(
        self,
        cx: &Cx<'_>,
        counts: impl Fn(Column, &Key, &RawDocument) -> bool,
    ) -> Result<HashMap<Column, HashSet<Key>>> {
        if self.columns.is_empty() {
            return Ok(HashMap::new());
        }
        let mut queries = Vec::new();
        for (meta, by, keys) in &self.columns {
            for keys in key::chunks(keys) {
                queries.push(async move {
                    let filter = cx.odm.in_scope_of_existing(meta, doc! { *by: { "$in": keys } });
                    let found = cx.find(meta, filter, [*by], None).await?;
                    Ok::<_, Error>(((meta.collection, *by), found))
                });
            }
        }
        // Within a transaction they take turns.
        let found: Vec<_> = stream::iter(queries)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let mut there: HashMap<Column, HashSet<Key>> = HashMap::new();
        for (column, documents) in found {
            let keys = there.entry(column).or_default();
            for document in documents {
                let key = document.get(column.1).ok().flatten().map(Key::of);
                keys.extend(key.filter(|key| counts(column, key, &document)));
            }
        }
        Ok(there)
    }
}

/// Returns the missing targets before the write. Documents that the write inserts itself count as existing.
pub(crate) async fn before<'w>(
    cx: &Cx<'_>,
    graph: &Graph,
    added: &[AddedReferences],
    writes: impl Iterator<Item = &'w Write> + Clone,
) -> Result<Vec<MissingReferences>> {
    let linked = linked_by_same(graph, writes.clone())?;
    let added: Vec<AddedReferences> = added.iter().cloned().chain(linked).collect();
    if added.is_empty() {
        return Ok(Vec::new());
    }
    let columns: Vec<Column> = added.iter().map(|one| one.column(graph)).collect();
    let counts = counting(graph, &added);
    let own = keys_of_inserts(writes, &columns, counts);
    let is_own = |column: Column, key: &Key| own.get(&column).is_some_and(|keys| keys.contains(key));
    missing_besides(cx, graph, &added, is_own).await
}

/// Whether a document is the target of the references to it that demand values of its fields by `same`.
fn counting<'a>(
    graph: &'a Graph,
    added: &'a [AddedReferences],
) -> impl Fn(Column, &Key, &RawDocument) -> bool + 'a {
    let mut demanded: HashMap<(Column, &Key), Vec<&SameFields>> = HashMap::new();
    for one in added {
        for (key, fields) in &one.same {
            let of_key = demanded.entry((one.column(graph), key)).or_default();
            of_key.extend(fields);
        }
    }
    move |column, key, document| {
        let mut fields = demanded.get(&(column, key)).into_iter().flatten();
        fields.all(|fields| is_same(document, fields))
    }
}

/// Returns the missing targets. Those that `is_own` names count as existing.
pub(crate) async fn missing_besides(
    cx: &Cx<'_>,
    graph: &Graph,
    added: &[AddedReferences],
    is_own: impl Fn(Column, &Key) -> bool,
) -> Result<Vec<MissingReferences>> {
    let mut asked = AskedTargets::default();
    for one in added {
        let column = one.column(graph);
        for (key, _) in one.asked().filter(|(key, _)| !is_own(column, key)) {
            asked.add(one.target.meta, column.1, key);
        }
    }
    let there = asked.ask_for(cx, counting(graph, added)).await?;
    let is_there = |column: Column, key: &Key| {
        is_own(column, key) || there.get(&column).is_some_and(|keys| keys.contains(key))
    };
    Ok(missing(graph, added, is_there).collect())
}

//! Fields that programs with other models derive from the documents of this one.
//!
//! The declarations of all programs are stored in the database. Where this program lacks some of them, or declares them
//! differently, it can't update the fields that they derive, and another program does. A write here that changes a source field
//! of such a declaration does the same as a write for an eventual copy, in one atomic statement: it raises the version of the
//! source, and records pending work in the document. Three rules make that right:
//!
//! - This program never clears that work. It updates copies by its own declarations, and the work stays pending for the next
//!   recovery or worker of a program that has the others. That one clears only the work that it has read, so the work of a
//!   write in between stays pending.
//! - For a reference whose copies are declared differently, this program neither updates copies nor stores their version. A
//!   holder without a version is older than any source, so a program with the declaration updates all of its copies.
//! - A child that leaves a parent, or is deleted, can't hold pending work that names the parent. So its write is a
//!   transaction that reads the parent first, and stores it among the declarations in a document of its own. On a standalone
//!   server that is a second statement, and a crash between the two is found by an `audit` of a program with the declaration.
//!
//! A process reads the declarations before its first write, and again when they are older than the [holding time](HOLDING).
//! After this time since a declaration was stored, every process records pending work for it, and then its backfill begins: the
//! backfill compares, value by value, everything that was written before without pending work.

use super::super::graph::{Derived, Edge, Graph, fields_of};
use super::super::scope::Scope;
use super::concern::changed;
use super::declaration::{copies, is_two_way};
use super::images::Image;
use super::orphans;
use super::pending::unescaped;
use super::{Token, at};
use crate::model::copy::SyncMode;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::names::meet;
use crate::store::trace::Trace;
use crate::{Odm, Result};
use futures::future::FutureExt;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The time after which every process has read a stored declaration: a backfill waits for it. A process reads the declarations
/// again after four fifths of it, so that its writes by the previous ones have ended by then.
pub(crate) const HOLDING: Duration = Duration::from_secs(300);

/// The fields that programs with other models derive.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// By the collection that is read.
    sources: HashMap<String, Vec<Read>>,
    /// Collections whose documents hold fields derived of children.
    parents: HashSet<String>,
    /// Own references whose copies are declared in another way, by their positions in the graph.
    edges: HashSet<usize>,
    /// Own derived fields that are declared in another way, by their positions in the graph.
    derived: HashSet<usize>,
}

/// The fields of a document that one declaration reads.
#[derive(Debug)]
struct Read {
    /// Dotted names: none for any.
    fields: Vec<String>,
    /// Of a child: the name of the derived field, and the path of the reference to the parent.
    parent: Option<(String, String)>,
}

impl Read {
    fn is_of(&self, field: &str) -> bool {
        self.fields.is_empty() || self.fields.iter().any(|name| meet(name, field))
    }
}

/// Whether another program can do later what a declaration asks for: not the other side of a link, and not what a bucket keeps of
/// its own items.
pub(super) fn may_be_left(declaration: &Document) -> bool {
    !is_two_way(declaration) && !declaration.contains_key("floats")
}

/// Whether a declaration asks for what a program without it must not leave to others: also what is to be true at once.
pub(super) fn is_refused(declaration: &Document) -> bool {
    let atomic = SyncMode::Atomic.to_string();
    let is_atomic = |of: &Document| of.get_str("sync").is_ok_and(|sync| sync == atomic);
    let listed = declaration.get_array("copies").into_iter().flatten();
    !may_be_left(declaration) || is_atomic(declaration) || listed.filter_map(Bson::as_document).any(is_atomic)
}

impl Others {
    /// Whether the copies beside this reference are left to others.
    pub(crate) fn copy(&self, edge: &Edge) -> bool {
        self.edges.contains(&edge.at)
    }

    /// Whether what is derived of children in this field is left to others.
    pub(crate) fn derive(&self, derived: &Derived) -> bool {
        self.derived.contains(&derived.at)
    }

    /// Adds a stored declaration that this program lacks, or declares in another way. Says whether holders of it may be written by
    /// this program: a reference among its copies that it knows as a plain value can't be told of.
    pub(super) fn add(&mut self, graph: &Graph, edge: &Document, declaration: &Document) -> bool {
        let text = |name: &str| edge.get_str(name).unwrap_or_default().to_owned();
        let (id, from, holder) = (text("_id"), text("from"), text("holder"));
        if let Ok(parent) = declaration.get_str("parent") {
            let read = Read {
                fields: reads(declaration),
                parent: Some((id.clone(), parent.to_owned())),
            };
            self.sources.entry(from).or_default().push(read);
            self.parents.insert(holder);
            let own = graph.derived().iter().filter(|derived| derived.name() == id);
            self.derived.extend(own.map(|derived| derived.at));
            return true;
        }
        let read = Read {
            fields: copies(declaration).map(|(_, of)| of.to_owned()).collect(),
            parent: None,
        };
        self.sources.entry(from).or_default().push(read);
        let through = declaration.get_str("through").unwrap_or_default();
        let Some(meta) = graph.models().find(|meta| meta.collection == holder) else {
            return true;
        };
        let own = graph.outgoing(meta).find(|edge| edge.path == through);
        self.edges.extend(own.map(|edge| edge.at));
        let root = through.split('.').next().unwrap_or_default();
        own.is_some() || meta.field(root).is_none()
    }
}

/// The fields of a child that the declaration of what is derived of it reads.
fn reads(declaration: &Document) -> Vec<String> {
    let mut names = Vec::new();
    for name in ["parent", "of"] {
        let named = declaration.get_str(name).ok().filter(|name| !name.is_empty());
        names.extend(named.map(str::to_owned));
    }
    for (list, name) in [("order", "field"), ("fields", "of")] {
        let listed = declaration.get_array(list).into_iter().flatten();
        let listed = listed.filter_map(|one| one.as_document()?.get_str(name).ok());
        names.extend(listed.map(str::to_owned));
    }
    if let Ok(filter) = declaration.get_document("filter") {
        fields_of(&unescaped(filter), &mut names);
    }
    names
}

/// [`Others`] as they were read the last time.
#[derive(Debug, Default)]
pub(crate) struct Known {
    any: AtomicBool,
    others: RwLock<Arc<Others>>,
}

impl Graph {
    /// Takes down what programs with other models derive.
    pub(super) fn set_others(&self, others: Others) {
        let any = !others.sources.is_empty();
        *self.others.others.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(others);
        self.others.any.store(any, Ordering::Release);
    }

    /// `None` where there is nothing: without a lock.
    pub(crate) fn others(&self) -> Option<Arc<Others>> {
        let any = self.others.any.load(Ordering::Acquire);
        any.then(|| {
            self.others
                .others
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }

    fn asks_others(&self, ask: impl FnOnce(&Others) -> bool) -> bool {
        self.others().is_some_and(|others| ask(&others))
    }

    /// Whether the copies beside this reference are left to programs that declare them in another way.
    pub(in super::super) fn is_left(&self, edge: &Edge) -> bool {
        self.asks_others(|others| others.copy(edge))
    }

    /// The same of what is derived of children.
    pub(in super::super) fn is_derived_by_others(&self, derived: &Derived) -> bool {
        self.asks_others(|others| others.derive(derived))
    }

    /// Whether others derive something from this field of a document, in other documents than those that this reference names.
    pub(super) fn is_read_by_others(&self, meta: &DocumentMeta, field: &str, but: Option<&Edge>) -> bool {
        let is_but = |read: &Read| match (&read.parent, but) {
            (Some((_, path)), Some(edge)) => *path == edge.path,
            _ => false,
        };
        self.asks_others(|others| {
            let reads = others.sources.get(meta.collection);
            reads.is_some_and(|reads| reads.iter().any(|read| !is_but(read) && read.is_of(field)))
        })
    }

    /// Whether others derive anything from such documents.
    pub(in super::super) fn is_source_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| others.sources.contains_key(meta.collection))
    }

    /// Whether such documents hold what others derive of children.
    pub(super) fn is_parent_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| others.parents.contains(meta.collection))
    }

    /// Whether others derive something from such documents in the parents that these name.
    pub(in super::super) fn is_child_of_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| !parents(others, meta).is_empty())
    }

    /// Whether work may be pending in such documents that this program can't do.
    pub(crate) fn is_for_others(&self, meta: &DocumentMeta) -> bool {
        self.asks_others(|others| {
            others.sources.contains_key(meta.collection)
                || others.parents.contains(meta.collection)
                || self.outgoing(meta).any(|edge| others.copy(edge))
        })
    }

    /// Whether an update may take children away from parents in which others derive something of them.
    pub(super) fn moves_for_others(&self, meta: &DocumentMeta, update: &Document) -> bool {
        self.asks_others(|others| {
            let parents = parents(others, meta);
            !parents.is_empty()
                && changed(update)
                    .iter()
                    .any(|name| parents.iter().any(|(_, path)| meet(name, path)))
        })
    }

    /// The fields in which children name such parents.
    pub(in super::super) fn parent_fields_of_others(&self, meta: &DocumentMeta) -> Vec<String> {
        let others = self.others();
        let parents = others.iter().flat_map(|others| parents(others, meta));
        let roots = parents.map(|(_, path)| path.split('.').next().unwrap_or_default().to_owned());
        roots.collect()
    }
}

fn parents<'o>(others: &'o Others, meta: &DocumentMeta) -> Vec<(&'o str, &'o str)> {
    let reads = others.sources.get(meta.collection).into_iter().flatten();
    let named = reads.filter_map(|read| read.parent.as_ref());
    named.map(|(id, path)| (id.as_str(), path.as_str())).collect()
}

/// The parent that a child names in this field: of a reference to documents of several types its id, too.
fn named(child: &RawDocumentBuf, path: &str) -> Vec<Key> {
    let Some(value) = at(child, path).filter(|value| *value != RawBsonRef::Null) else {
        return Vec::new();
    };
    let within = value
        .as_document()
        .and_then(|union| union.get("id").ok().flatten());
    [Some(value), within].into_iter().flatten().map(Key::of).collect()
}

/// Stores which parents children have left, or left behind, where others derive something of them.
pub(super) async fn note_parents(
    scope: &Scope<'_>,
    meta: &DocumentMeta,
    images: impl Iterator<Item = (&RawDocumentBuf, Option<&RawDocumentBuf>)> + Clone,
) -> Result<()> {
    let Some(others) = scope.odm.graph().others() else {
        return Ok(());
    };
    let mut notes: Vec<(String, Vec<Bson>)> = Vec::new();
    for (derived, path) in parents(&others, meta) {
        let mut left: HashSet<Key> = HashSet::new();
        for (before, after) in images.clone() {
            let stays = after.map(|after| named(after, path)).unwrap_or_default();
            left.extend(named(before, path).into_iter().filter(|key| !stays.contains(key)));
        }
        if !left.is_empty() {
            notes.push((derived.to_owned(), left.iter().map(Key::to_bson).collect()));
        }
    }
    orphans::insert(scope, notes).await.map(drop::<Vec<Token>>)
}

/// The documents of a write before it and after it.
pub(super) fn before_and_after(
    images: &[Image],
) -> impl Iterator<Item = (&RawDocumentBuf, Option<&RawDocumentBuf>)> + Clone {
    let there = images.iter();
    there.filter_map(|image| Some((image.before.as_ref()?, image.after.as_ref())))
}

/// When the declarations were read the last time.
#[derive(Debug)]
pub(crate) struct Age {
    since: Instant,
    /// In milliseconds; 0 where they were not read.
    read: AtomicU64,
    reading: tokio::sync::Mutex<()>,
}

impl Default for Age {
    fn default() -> Age {
        Age {
            since: Instant::now(),
            read: AtomicU64::new(0),
            reading: tokio::sync::Mutex::default(),
        }
    }
}

impl Age {
    fn at(&self, when: Instant) -> u64 {
        let since = when.saturating_duration_since(self.since).as_millis();
        u64::try_from(since).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// They were asked for at this time.
    pub(super) fn set(&self, when: Instant) {
        self.read.store(self.at(when), Ordering::Release);
    }

    fn is_over(&self, holding: Duration) -> bool {
        let read = self.read.load(Ordering::Acquire);
        let held = u64::try_from((holding / 5 * 4).as_millis()).unwrap_or(u64::MAX);
        read == 0 || self.at(Instant::now()).saturating_sub(read) >= held
    }
}

/// Whether backfills wait for a holding time by themselves.
static WAITS: AtomicBool = AtomicBool::new(true);

/// For tests, in which no other process writes: backfills don't wait from now on, but those of a handle with a holding time of its
/// own.
#[doc(hidden)]
pub fn backfill_at_once() {
    WAITS.store(false, Ordering::Relaxed);
}

impl Odm {
    /// Reads the stored declarations before a write, if this handle has not read them in the holding time.
    pub(crate) async fn know_declarations(&self, trace: &Trace) -> Result<()> {
        let holding = self.holding().unwrap_or(HOLDING);
        if !self.age().is_over(holding) {
            return Ok(());
        }
        // Of many writes that begin at once, one asks.
        let _reading = self.age().reading.lock().await;
        if self.age().is_over(holding) {
            trace.more(1);
            // In a box: few writes read them.
            self.learn().boxed().await?;
        }
        Ok(())
    }

    /// How long a backfill waits after a declaration was stored.
    pub(super) fn waits(&self) -> Duration {
        match self.holding() {
            Some(holding) => holding,
            None if WAITS.load(Ordering::Relaxed) => HOLDING,
            None => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn a_declaration_names_the_fields_that_it_reads_of_a_child() {
        let newest = doc! {
            "parent": "host", "filter": { "%24or": [{ "place%2ename": { "%24eq": 1 } }, { "a": 2 }] }, "sync": "auto",
            "limit": 3_i64, "order": [{ "field": "at", "kind": "Descending" }], "fields": [{ "field": "t", "of": "text" }],
        };
        assert_eq!(reads(&newest), ["host", "at", "text", "place.name", "a"]);
        let count = doc! { "parent": "host", "filter": {}, "operation": "count", "of": "" };
        assert_eq!(reads(&count), ["host"]);
    }

    #[test]
    fn declarations_that_need_a_transaction_are_refused() {
        let copy =
            |sync: &str| doc! { "through": "a", "copies": [{ "field": "x", "of": "y", "sync": sync }] };
        assert!(is_refused(&copy("atomic")) && !is_refused(&copy("auto")) && !is_refused(&copy("eventual")));
        assert!(is_refused(&doc! { "parent": "a", "sync": "atomic" }));
        assert!(!is_refused(&doc! { "parent": "a", "sync": "auto" }));
        assert!(is_refused(&doc! { "inverse": "a", "list": true }));
        assert!(is_refused(&doc! { "size": 10, "copies": [], "floats": [] }));
    }

    #[test]
    fn declarations_are_read_again_before_the_holding_time_is_over() {
        let age = Age::default();
        assert!(age.is_over(HOLDING));
        age.set(Instant::now());
        assert!(!age.is_over(HOLDING));
        assert!(age.is_over(Duration::ZERO));
    }
}

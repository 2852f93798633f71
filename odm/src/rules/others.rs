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

use crate::graph::known::parents;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::Token;
use crate::rules::children::orphans;
use crate::store::cx::Cx;
use crate::store::fields::at;
use crate::store::trace::Trace;
use crate::{Odm, Result};
use futures::future::FutureExt;
use mongodb::bson::{Bson, RawBsonRef, RawDocumentBuf};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time after which every process has read a stored declaration: a backfill waits for it. A process reads the declarations
/// again after four fifths of it, so that its writes by the previous ones have ended by then.
pub(crate) const HOLDING: Duration = Duration::from_secs(300);

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
pub(crate) async fn note_parents(
    cx: &Cx<'_>,
    meta: &DocumentMeta,
    images: impl Iterator<Item = (&RawDocumentBuf, Option<&RawDocumentBuf>)> + Clone,
) -> Result<()> {
    let Some(others) = cx.odm.graph().others() else {
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
    orphans::insert(cx, notes).await.map(drop::<Vec<Token>>)
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
            trace.trip();
            // In a box: few writes read them.
            self.learn().boxed().await?;
        }
        Ok(())
    }

    /// How long a backfill waits after a declaration was stored.
    pub(crate) fn waits(&self) -> Duration {
        match self.holding() {
            Some(holding) => holding,
            None if WAITS.load(Ordering::Relaxed) => HOLDING,
            None => Duration::ZERO,
        }
    }
}

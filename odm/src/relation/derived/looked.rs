//! What a transaction has seen of holders that are too many for it.
//!
//! It looks whether a source has few holders, and where it has not, the delivery follows the commit. That goes by batches in the order of
//! the holders' ids, of which the look has read the first ones already, so they are handed on here. A border may be any id: it does no harm
//! where they are of another time, or where nobody comes for them.

use super::super::graph::Edge;
use super::deliver::Source;
use crate::key::Key;
use mongodb::bson::Bson;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many sources are remembered.
const MOST: usize = 16;

/// Whose delivery it is: the reference, what it names, and the size of the batches.
type Which = (usize, Key, usize);

/// The ids that the first batches of deliveries end with.
#[derive(Debug, Default)]
pub(crate) struct Looked(Mutex<VecDeque<(Which, VecDeque<Bson>)>>);

impl Looked {
    fn all(&self) -> MutexGuard<'_, VecDeque<(Which, VecDeque<Bson>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands on the ids that were read, in their order: for batches of this size, or a smaller one.
    pub(super) fn put(&self, edge: &Edge, source: &Source, batch: usize, ids: Vec<Bson>) {
        let which = (edge.at, Key::of_bson(&source.key), batch);
        let full = ids.chunks_exact(batch.max(1));
        let mut ends: VecDeque<Bson> = full.filter_map(|batch| batch.last().cloned()).collect();
        if ends.is_empty() {
            ends.extend(ids.into_iter().next_back());
        }
        let mut all = self.all();
        all.retain(|(of, _)| *of != which);
        all.push_back((which, ends));
        if all.len() > MOST {
            all.pop_front();
        }
    }

    /// What was handed on: nothing is left of it then.
    pub(super) fn take(&self, edge: &Edge, source: &Source, batch: usize) -> VecDeque<Bson> {
        let which = (edge.at, Key::of_bson(&source.key), batch);
        let mut all = self.all();
        let at = all.iter().position(|(of, _)| *of == which);
        let taken = at.and_then(|at| all.remove(at));
        taken.map(|(_, ends)| ends).unwrap_or_default()
    }
}

//! The ids of holders that a transaction has read, where they are too many for it.
//!
//! It looks whether a source has few holders, and where it has not, the delivery follows the commit. That goes by batches in the order of
//! the holders' ids, of which the look has read the first ones already, so they are handed on here. A border may be any id: it
//! does no harm if they are outdated, or are never used.

use crate::graph::edge::EdgeId;
use crate::model::key::Key;
use mongodb::bson::Bson;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of sources that are remembered.
const MOST: usize = 16;

/// The delivery: the reference, the key of the source, and the size of the batches.
pub(crate) type DeliveryKey = (EdgeId, Key, usize);

/// The ids that the first batches of deliveries end with.
#[derive(Debug, Default)]
pub(crate) struct Looked(Mutex<VecDeque<(DeliveryKey, VecDeque<Bson>)>>);

impl Looked {
    fn all(&self) -> MutexGuard<'_, VecDeque<(DeliveryKey, VecDeque<Bson>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands on the ids that were read, in their order: where full batches end, or a smaller one if there is none.
    pub(crate) fn put(&self, which: DeliveryKey, ids: Vec<Bson>) {
        let full = ids.chunks_exact(which.2.max(1));
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

    /// Takes the ids that were handed on.
    pub(crate) fn take(&self, which: &DeliveryKey) -> VecDeque<Bson> {
        let mut all = self.all();
        let at = all.iter().position(|(of, _)| of == which);
        let taken = at.and_then(|at| all.remove(at));
        taken.map(|(_, ends)| ends).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::store::looked::*;

    #[test]
    fn the_first_batches_end_where_full_ones_do() {
        let looked = Looked::default();
        let graph = crate::graph::testing::all();
        let edge = graph.edges()[0].id;
        let which = |source: i32, batch| (edge, Key::of_bson(&source.into()), batch);
        let ids = |many: i32| (1..=many).map(Bson::from).collect::<Vec<_>>();
        for (many, batch, ends) in [
            (7, 3, vec![3, 6]),
            (6, 3, vec![3, 6]),
            (2, 3, vec![2]),
            (2, usize::MAX, vec![2]),
            (0, 3, vec![]),
        ] {
            looked.put(which(1, batch), ids(many));
            let ends: Vec<Bson> = ends.into_iter().map(Bson::from).collect();
            assert_eq!(looked.take(&which(1, batch)), ends, "{many} by {batch}");
            assert!(
                looked.take(&which(1, batch)).is_empty(),
                "they are handed on once"
            );
        }
        // The newest replaces what was read before, and only a limited number is remembered.
        looked.put(which(1, 3), ids(3));
        looked.put(which(1, 3), ids(6));
        assert_eq!(looked.take(&which(1, 3)).len(), 2);
        for source in 0..=MOST as i32 {
            looked.put(which(source, 3), ids(3));
        }
        assert!(looked.take(&which(0, 3)).is_empty());
        assert!(looked.take(&which(1, 4)).is_empty(), "of batches of another size");
        assert_eq!(looked.take(&which(1, 3)).len(), 1);
    }
}

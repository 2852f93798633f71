//! Switches of handles for the library's own tests: `use odm::__private::{SwitchBulk as _, SwitchOdm as _}`.

use crate::model::key::Key;
use crate::store::queue::QueueKey;
use crate::{Bulk, Odm, Result};
use mongodb::Database;
use mongodb::bson::Bson;
use std::time::Duration;

/// Switches of an [`Odm`].
pub trait SwitchOdm {
    /// Holds stored declarations for this time before it reads them again.
    #[must_use]
    fn hold_declarations_for(self, time: Duration) -> Self;

    /// Asks for the first children of many parents parent by parent, as on a server before 5.0.
    #[must_use]
    fn by_queries(self) -> Self;

    /// Treats the document with this id as contended for a moment, as after transactions that have met those of other processes again
    /// and again.
    fn contend(&self, collection: &'static str, id: Bson);
}

impl SwitchOdm for Odm {
    fn hold_declarations_for(mut self, time: Duration) -> Odm {
        self.set_holding(time);
        self
    }

    fn by_queries(mut self) -> Odm {
        self.set_by_queries();
        self
    }

    fn contend(&self, collection: &'static str, id: Bson) {
        let key = Key::of_bson(&id);
        let document = QueueKey {
            collection,
            by: "_id",
            key,
        };
        self.queue().contend([&document]);
    }
}

/// Switches of a [`Bulk`].
pub trait SwitchBulk {
    /// Sends one command for each run of writes of one kind to one collection, as to a server before 8.0.
    #[must_use]
    fn without_bulk_write_command(self) -> Self;
}

impl SwitchBulk for Bulk {
    fn without_bulk_write_command(mut self) -> Bulk {
        self.set_by_runs();
        self
    }
}

/// The same models and options in another database, or by way of another client.
///
/// # Errors
/// As [`Odm::new`].
pub fn in_database(odm: &Odm, db: Database) -> Result<Odm> {
    odm.in_database(db)
}

//! Opens change streams, for the reconciler and for the streams of applications.

use crate::store::server::Server;
use crate::upkeep::position::Begin;
use crate::{Error, Odm, Result};
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ChangeStreamEvent;
use mongodb::options::ChangeStreamOptions;
use std::time::Duration;

/// A change event whose documents are not decoded.
pub(crate) type Event = ChangeStreamEvent<RawDocumentBuf>;

pub(crate) type Stream = ChangeStream<Event>;

/// The server, if it has change streams.
///
/// # Errors
/// [`Error::Unsupported`] on a standalone server.
pub(crate) async fn with_change_streams<'o>(odm: &'o Odm, operation: &'static str) -> Result<&'o Server> {
    let server = odm.server().await?;
    if !server.has_transactions() {
        return Err(Error::Unsupported {
            operation,
            needs: "a replica set or a sharded cluster",
            is: server.to_string(),
        });
    }
    Ok(server)
}

/// A collection or a database whose changes are followed, and a condition on the changes.
#[derive(Clone)]
pub(crate) struct WatchSource {
    pub(crate) odm: Odm,
    /// The collection; `None` for the whole database.
    pub(crate) collection: Option<&'static str>,
    /// The condition on change events.
    pub(crate) filter: Document,
    pub(crate) options: ChangeStreamOptions,
}

impl WatchSource {
    /// Opens the stream. It begins behind an event that has ended another stream, too.
    ///
    /// # Errors
    /// The driver's, of which [`is_unknown`](crate::upkeep::position::is_unknown) tells whether another beginning is needed.
    pub(crate) async fn open(&self, begin: &Begin) -> mongodb::error::Result<Stream> {
        let mut options = self.options.clone();
        match begin {
            Begin::Now => {}
            Begin::After(token) => options.start_after = Some(token.clone()),
            Begin::At(time) => options.start_at_operation_time = Some(*time),
        }
        let pipeline = [doc! { "$match": self.filter.clone() }];
        let db = self.odm.database();
        match self.collection {
            None => {
                let stream = db.watch().pipeline(pipeline).with_options(options).await?;
                Ok(stream.with_type())
            }
            Some(name) => {
                let collection = db.collection::<RawDocumentBuf>(name);
                let stream = collection
                    .watch()
                    .pipeline(pipeline)
                    .with_options(options)
                    .await?;
                Ok(stream.with_type())
            }
        }
    }
}

/// The first pause after an error.
const SHORTEST: Duration = Duration::from_millis(50);

/// The longest one.
const LONGEST: Duration = Duration::from_secs(10);

/// The time until a stream that failed is opened again: longer after each failure without a change in between.
#[derive(Debug)]
pub(crate) struct Pause(Duration);

impl Pause {
    pub(crate) fn new() -> Pause {
        Pause(SHORTEST)
    }

    /// A change has come.
    pub(crate) fn reset(&mut self) {
        self.0 = SHORTEST;
    }

    /// How long it is this time.
    pub(crate) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = LONGEST.min(now * 2);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_up_to_ten_seconds_and_begins_again_after_a_change() {
        let mut pause = Pause::new();
        let pauses: Vec<u128> = (0..10).map(|_| pause.next().as_millis()).collect();
        assert_eq!(pauses[..3], [50, 100, 200]);
        assert_eq!(pauses[8..], [10_000, 10_000]);
        pause.reset();
        assert_eq!(pause.next().as_millis(), 50);
    }
}

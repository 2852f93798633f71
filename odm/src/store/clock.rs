//! Causal consistency without a transaction: the times that the operations of a handle have seen, and those of its commits.

use mongodb::bson::Timestamp;
use mongodb::options::{ReadConcern, ReadConcernLevel};
use mongodb::{ClientSession, ClusterTime};
use std::sync::{Arc, Mutex, PoisonError};

/// The latest times that operations have seen: those of a causally consistent handle, or the commits of transactions. Each operation has
/// a session of its own that begins with them, so that operations need not wait for each other as those of one session would.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<Mutex<Times>>);

#[derive(Default)]
struct Times {
    cluster: Option<ClusterTime>,
    operation: Option<Timestamp>,
}

impl Clock {
    fn times(&self) -> std::sync::MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are one clock.
    pub(crate) fn is_same(&self, other: &Clock) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Has a session begin with these times, unless it has later ones.
    pub(crate) fn begin(&self, session: &mut ClientSession) {
        let times = self.times();
        if let Some(cluster) = &times.cluster {
            session.advance_cluster_time(cluster);
        }
        if let Some(operation) = times.operation {
            session.advance_operation_time(operation);
        }
    }

    pub(crate) fn advance(&self, session: &ClientSession) {
        let mut times = self.times();
        let cluster = session.cluster_time();
        if cluster.is_some_and(|seen| times.cluster.as_ref().is_none_or(|known| known < seen)) {
            times.cluster = cluster.cloned();
        }
        times.operation = times.operation.max(session.operation_time());
    }
}

/// The earliest time that a server takes. A read on the primary with any time waits at the documents of transactions whose commit is
/// decided or may be.
pub(crate) const EARLIEST: Timestamp = Timestamp {
    time: 1,
    increment: 1,
};

/// Whether a read with this read concern can wait for a time. The server refuses `afterClusterTime` beside the other levels.
pub(crate) fn takes_time(concern: Option<&ReadConcern>) -> bool {
    let level = concern.map(|concern| &concern.level);
    !matches!(
        level,
        Some(ReadConcernLevel::Linearizable | ReadConcernLevel::Available)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::Client;
    use mongodb::options::ClientOptions;

    /// A session, by which nothing is sent.
    async fn session() -> ClientSession {
        let client = Client::with_options(ClientOptions::default()).expect("a client");
        client.start_session().await.expect("a session")
    }

    fn at(time: u32) -> Timestamp {
        Timestamp { time, increment: 1 }
    }

    #[tokio::test]
    async fn a_session_begins_with_the_latest_time_that_was_seen() {
        let clock = Clock::default();
        let mut fresh = session().await;
        clock.begin(&mut fresh);
        assert_eq!(fresh.operation_time(), None);
        for time in [7, 9, 8] {
            let mut seen = session().await;
            seen.advance_operation_time(at(time));
            clock.advance(&seen);
        }
        clock.begin(&mut fresh);
        assert_eq!(fresh.operation_time(), Some(at(9)));
        // A session that has seen more keeps its time.
        fresh.advance_operation_time(at(12));
        clock.begin(&mut fresh);
        assert_eq!(fresh.operation_time(), Some(at(12)));
    }

    #[test]
    fn a_read_waits_for_a_time_unless_its_read_concern_excludes_that() {
        let waits = |concern: ReadConcern| takes_time(Some(&concern));
        assert!(takes_time(None));
        assert!(
            waits(ReadConcern::local()) && waits(ReadConcern::majority()) && waits(ReadConcern::snapshot())
        );
        assert!(!waits(ReadConcern::linearizable()) && !waits(ReadConcern::available()));
    }
}

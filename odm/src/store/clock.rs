//! Causal consistency without a transaction: the times that the operations of a handle have seen.

use mongodb::bson::Timestamp;
use mongodb::{Client, ClientSession, ClusterTime};
use std::sync::{Arc, Mutex, PoisonError};

/// The latest times that the operations of a causally consistent handle have seen. Each operation has a session of its own that begins
/// with them, so that operations need not wait for each other as those of one session would.
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

    pub(crate) async fn begin(&self, client: &Client) -> mongodb::error::Result<ClientSession> {
        let mut session = client.start_session().causal_consistency(true).await?;
        let times = self.times();
        if let Some(cluster) = &times.cluster {
            session.advance_cluster_time(cluster);
        }
        if let Some(operation) = times.operation {
            session.advance_operation_time(operation);
        }
        Ok(session)
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

//! Causal consistency without a transaction: the times that the operations of a handle have seen.

use crate::Odm;
use crate::store::session::Shared;
use futures::future::{BoxFuture, FutureExt};
use mongodb::ClientSession;
use mongodb::ClusterTime;
use mongodb::bson::Timestamp;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::MutexGuard;

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

    async fn begin(&self, odm: &Odm) -> mongodb::error::Result<ClientSession> {
        let mut session = odm
            .database()
            .client()
            .start_session()
            .causal_consistency(true)
            .await?;
        let times = self.times();
        if let Some(cluster) = &times.cluster {
            session.advance_cluster_time(cluster);
        }
        if let Some(operation) = times.operation {
            session.advance_operation_time(operation);
        }
        Ok(session)
    }

    pub(crate) fn end(&self, session: &ClientSession) {
        let mut times = self.times();
        let cluster = session.cluster_time();
        if cluster.is_some_and(|seen| times.cluster.as_ref().is_none_or(|known| known < seen)) {
            times.cluster = cluster.cloned();
        }
        times.operation = times.operation.max(session.operation_time());
    }
}

/// The session of one action of the driver.
pub(crate) enum Held<'a> {
    /// That of a transaction, which other operations of it wait for.
    Transaction(&'a Shared, MutexGuard<'a, ClientSession>),
    /// One of its own, of a causally consistent handle.
    Causal(&'a Clock, Box<ClientSession>),
}

/// The way to the session of an action, if it has one.
#[derive(Clone, Copy)]
pub(crate) enum Hold<'a> {
    Transaction(&'a Shared),
    Causal(&'a Odm, &'a Clock),
}

/// The session that an action of this handle has, within a transaction or not.
pub(crate) fn hold<'a>(session: Option<&'a Shared>, odm: &'a Odm) -> Option<Hold<'a>> {
    match session {
        Some(shared) => Some(Hold::Transaction(shared)),
        None => odm.clock().map(|clock| Hold::Causal(odm, clock)),
    }
}

impl<'a> Hold<'a> {
    pub(crate) fn is_transaction(self) -> bool {
        matches!(self, Hold::Transaction(_))
    }

    pub(crate) fn take(self) -> BoxFuture<'a, mongodb::error::Result<Held<'a>>> {
        async move {
            Ok(match self {
                Hold::Transaction(shared) => Held::Transaction(shared, shared.lock().await),
                Hold::Causal(odm, clock) => Held::Causal(clock, Box::new(clock.begin(odm).await?)),
            })
        }
        .boxed()
    }
}

impl Held<'_> {
    /// Ends the use of the session for the batches of a cursor, of which this came.
    pub(crate) fn read<R>(self, outcome: R) -> R {
        if let Held::Causal(clock, session) = &self {
            clock.end(session);
        }
        outcome
    }

    /// Ends the use of the session. `outcome` is that of the action.
    pub(crate) fn end<R>(self, outcome: mongodb::error::Result<R>) -> mongodb::error::Result<R> {
        match self {
            Held::Transaction(shared, locked) => {
                drop(locked);
                shared.noted(outcome)
            }
            Held::Causal(clock, session) => {
                clock.end(&session);
                outcome
            }
        }
    }
}

impl Deref for Held<'_> {
    type Target = ClientSession;

    fn deref(&self) -> &ClientSession {
        match self {
            Held::Transaction(_, locked) => locked,
            Held::Causal(_, session) => session,
        }
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut ClientSession {
        match self {
            Held::Transaction(_, locked) => locked,
            Held::Causal(_, session) => session,
        }
    }
}

/// What reads the further batches of a cursor: each within the session of its first one.
pub(crate) enum CursorSession {
    Transaction(Shared),
    Causal(Clock, Box<ClientSession>),
}

impl Held<'_> {
    /// Keeps the session for a cursor. The one of a transaction is free until the cursor is read again.
    pub(crate) fn of_cursor(self) -> CursorSession {
        match self {
            Held::Transaction(shared, locked) => {
                drop(locked);
                CursorSession::Transaction(shared.clone())
            }
            Held::Causal(clock, session) => {
                clock.end(&session);
                CursorSession::Causal(clock.clone(), session)
            }
        }
    }
}

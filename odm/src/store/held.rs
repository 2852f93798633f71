//! The session of an action of the driver: a transaction's, or one of its own where the handle is causally consistent.

use crate::store::clock::Clock;
use crate::store::session::Shared;
use futures::future::{BoxFuture, FutureExt};
use mongodb::{Client, ClientSession};
use std::ops::{Deref, DerefMut};
use tokio::sync::MutexGuard;

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
    Causal(&'a Client, &'a Clock),
}

impl<'a> Hold<'a> {
    pub(crate) fn is_transaction(self) -> bool {
        matches!(self, Hold::Transaction(_))
    }

    pub(crate) fn take(self) -> BoxFuture<'a, mongodb::error::Result<Held<'a>>> {
        async move {
            Ok(match self {
                Hold::Transaction(shared) => Held::Transaction(shared, shared.lock().await),
                Hold::Causal(client, clock) => Held::Causal(clock, Box::new(clock.begin(client).await?)),
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

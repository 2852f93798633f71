//! The session of an action of the driver: a transaction's, or one of its own where the handle is causally consistent, and for a read that
//! has to see the commits before it.

use crate::Odm;
use crate::store::clock::Clock;
use crate::store::session::Session;
use crate::store::tasks::OwnedCommand;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::StreamExt;
use mongodb::ClientSession;
use mongodb::raw_batch_cursor::{RawBatch, SessionRawBatchCursor};
use std::ops::{Deref, DerefMut};
use tokio::sync::OwnedMutexGuard;

/// The session of one action of the driver.
pub(crate) enum Held {
    /// That of a transaction, which other operations of it wait for.
    Transaction(Session, OwnedMutexGuard<ClientSession>),
    /// One of its own, and the clock of a causally consistent handle, which the action advances.
    Own(Option<Clock>, Box<ClientSession>),
}

/// The way to the session of an action, if it has one.
#[derive(Clone, Copy)]
pub(crate) enum Hold<'a> {
    Transaction(&'a Session),
    Own(&'a Odm),
}

impl<'a> Hold<'a> {
    pub(crate) fn take(self) -> BoxFuture<'a, mongodb::error::Result<Held>> {
        async move {
            Ok(match self {
                Hold::Transaction(shared) => Held::Transaction(shared.clone(), shared.lock().await?),
                Hold::Own(odm) => Held::Own(odm.clock().cloned(), Box::new(odm.begin_session().await?)),
            })
        }
        .boxed()
    }

    /// A command in this session: in a transaction it is executed to its reply, also where its future is dropped.
    pub(crate) fn command<R: Send + 'static>(
        self,
        command: impl Future<Output = R> + Send + 'static,
    ) -> OwnedCommand<'a, R> {
        let background = match self {
            Hold::Transaction(shared) => Some(shared.background()),
            Hold::Own(_) => None,
        };
        OwnedCommand::new(background, command)
    }
}

impl Held {
    /// Ends the use of the session. `outcome` is that of the action.
    pub(crate) fn release<R>(self, outcome: mongodb::error::Result<R>) -> mongodb::error::Result<R> {
        match self {
            Held::Transaction(shared, locked) => {
                drop(locked);
                shared.noted(outcome)
            }
            Held::Own(clock, session) => {
                clock.iter().for_each(|clock| clock.advance(&session));
                outcome
            }
        }
    }
}

impl Deref for Held {
    type Target = ClientSession;

    fn deref(&self) -> &ClientSession {
        match self {
            Held::Transaction(_, locked) => locked,
            Held::Own(_, session) => session,
        }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut ClientSession {
        match self {
            Held::Transaction(_, locked) => locked,
            Held::Own(_, session) => session,
        }
    }
}

/// A cursor within a session, which is held until the cursor is dropped.
pub(crate) struct HeldCursor {
    cursor: SessionRawBatchCursor,
    held: Held,
}

impl HeldCursor {
    pub(crate) fn new(cursor: SessionRawBatchCursor, held: Held) -> HeldCursor {
        HeldCursor { cursor, held }
    }

    /// The next batch, if there is one.
    pub(crate) async fn next(self) -> Option<(mongodb::error::Result<RawBatch>, HeldCursor)> {
        let shared = match &self.held {
            Held::Transaction(shared, _) => Some(shared.clone()),
            Held::Own(..) => None,
        };
        let HeldCursor { mut cursor, mut held } = self;
        let next = async move {
            let batch = cursor.stream(&mut held).next().await;
            let batch = match &held {
                Held::Transaction(shared, _) => batch.map(|batch| shared.noted(batch)),
                Held::Own(clock, session) => {
                    clock.iter().for_each(|clock| clock.advance(session));
                    batch
                }
            };
            batch.map(|batch| (batch, HeldCursor { cursor, held }))
        };
        OwnedCommand::new(shared.as_ref().map(Session::background), next).await
    }

    /// Lets the session go until the cursor is read again.
    pub(crate) fn release(self) -> FreeCursor {
        let session = match self.held {
            Held::Transaction(shared, locked) => {
                drop(locked);
                CursorSession::Transaction(shared)
            }
            Held::Own(clock, session) => CursorSession::Own(clock, session),
        };
        FreeCursor {
            cursor: self.cursor,
            session,
        }
    }
}

/// A cursor whose session is free between two batches, for other operations of the transaction.
pub(crate) struct FreeCursor {
    cursor: SessionRawBatchCursor,
    session: CursorSession,
}

enum CursorSession {
    Transaction(Session),
    Own(Option<Clock>, Box<ClientSession>),
}

impl FreeCursor {
    /// The next batch, if there is one. It is the last one where the session can't be had any more.
    pub(crate) async fn next(self) -> Option<(mongodb::error::Result<RawBatch>, Option<FreeCursor>)> {
        let held = match self.session {
            CursorSession::Transaction(shared) => match shared.lock().await {
                Ok(locked) => Held::Transaction(shared, locked),
                Err(error) => return Some((Err(error), None)),
            },
            CursorSession::Own(clock, session) => Held::Own(clock, session),
        };
        let (batch, cursor) = HeldCursor::new(self.cursor, held).next().await?;
        Some((batch, Some(cursor.release())))
    }
}

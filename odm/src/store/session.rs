//! The session of a transaction: the driver's, whose turn it is, and how the transaction may end.

use crate::error::driver::DriverText;
use crate::model::own_fields::EDGES;
use crate::store::queue::QueueKey;
use crate::store::routes::Routes;
use crate::store::tasks::{Background, Closed, OwnedCommand, Tasks};
use crate::{Error, Odm, Result};
use futures::future::BoxFuture;
use mongodb::ClientSession;
use mongodb::bson::{Document, doc};
use mongodb::error::TRANSIENT_TRANSACTION_ERROR;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};

/// The session that the operations of a transaction share. The driver executes one operation of a session at a time, so they
/// take turns.
#[derive(Clone)]
pub(crate) struct Session(Arc<SessionInner>);

struct SessionInner {
    session: Arc<Mutex<ClientSession>>,
    /// Operations of several commands are executed one after the other: each reads documents that it then changes, and none
    /// expects other writes in between.
    turn: Mutex<()>,
    /// The same of operations whose documents are compared for hooks, around their own turns.
    compared: Mutex<()>,
    state: std::sync::Mutex<TransactionState>,
    /// Whether the future of the transaction was dropped.
    is_closed: AtomicBool,
    /// Whether a command of the library was sent, whose reply the driver sees in any case.
    has_begun: AtomicBool,
    /// How often the transaction has begun.
    attempts: AtomicUsize,
    /// The shard keys of the documents that its operations have met.
    routes: Arc<Routes>,
    background: Background,
}

/// The turn of an operation that is several commands.
pub(crate) struct Turn<'s> {
    unfinished: Unfinished<'s>,
    _turn: MutexGuard<'s, ()>,
}

impl Turn<'_> {
    /// It has ended, whatever came of it.
    pub(crate) fn complete(self) {
        self.unfinished.complete();
    }
}

/// An operation of several steps. One that is dropped before its end keeps the transaction from being committed.
pub(crate) struct Unfinished<'s> {
    shared: &'s Session,
    is_over: bool,
}

impl Unfinished<'_> {
    /// It has ended, whatever came of it.
    pub(crate) fn complete(mut self) {
        self.is_over = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.state().dropped = true;
        }
    }
}

/// The state that the transaction's operations leave for its end.
#[derive(Default)]
pub(crate) struct TransactionState {
    /// Why it may not be committed, and whether it may succeed if it is run again.
    pub(crate) spoiled: Option<(String, bool)>,
    /// Whether an operation was dropped before it completed, by a timeout, say. Its own write may be made without its effects
    /// on other documents.
    pub(crate) dropped: bool,
    /// Whether an upsert was refused for a document that another client inserted: run again, it updates that document.
    pub(crate) raced: bool,
    /// Documents that a transaction of another client has written at the same time.
    pub(crate) met: Vec<QueueKey>,
    /// Work that the rooms above leave for the time after the commit.
    after: Option<Box<dyn AfterCommit>>,
}

/// Work for the time after the commit.
pub(crate) trait AfterCommit: Any + Send {
    /// Gives how many commands it has sent, too.
    ///
    /// # Errors
    /// If something of the committed transaction was undone.
    fn run(self: Box<Self>, odm: &Odm, routes: Arc<Routes>) -> BoxFuture<'_, (u64, Result<()>)>;
}

impl Session {
    pub(crate) fn new(session: ClientSession, tasks: &Tasks) -> Session {
        Session::of(Arc::new(Mutex::new(session)), tasks)
    }

    fn of(session: Arc<Mutex<ClientSession>>, tasks: &Tasks) -> Session {
        Session(Arc::new(SessionInner {
            session,
            turn: Mutex::default(),
            compared: Mutex::default(),
            state: std::sync::Mutex::default(),
            is_closed: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            attempts: AtomicUsize::new(0),
            routes: Arc::new(Routes::of_transaction()),
            background: Background::here(tasks),
        }))
    }

    /// The same session of the driver for a further transaction: what has this one sends no command any more.
    pub(crate) fn renewed(&self, tasks: &Tasks) -> Session {
        self.close();
        Session::of(self.0.session.clone(), tasks)
    }

    /// The shard keys of the documents that the operations of the transaction have met.
    pub(crate) fn routes(&self) -> Arc<Routes> {
        self.0.routes.clone()
    }

    /// Whether both are one session.
    pub(crate) fn is_same(&self, other: &Session) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A transaction begins.
    pub(crate) fn begin(&self) {
        *self.state() = TransactionState::default();
        // Nothing is left of what an earlier attempt has written.
        self.0.routes.clear();
        self.0.has_begun.store(false, Ordering::Release);
        self.0.attempts.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether an earlier attempt of the transaction has failed.
    pub(crate) fn is_run_again(&self) -> bool {
        self.0.attempts.load(Ordering::Acquire) > 1
    }

    /// Waits for the session, for one command of the transaction, which is executed to its reply.
    ///
    /// # Errors
    /// [`Closed`] where the future of the transaction was dropped.
    pub(crate) async fn lock(&self) -> mongodb::error::Result<OwnedMutexGuard<ClientSession>> {
        let session = self.lock_to_end().await;
        if self.0.is_closed.load(Ordering::Acquire) {
            return Err(mongodb::error::Error::custom(Closed));
        }
        self.0.has_begun.store(true, Ordering::Release);
        Ok(session)
    }

    /// Whether a command of the library was sent in the transaction.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    /// The same for the end of the transaction.
    pub(crate) async fn lock_to_end(&self) -> OwnedMutexGuard<ClientSession> {
        self.0.session.clone().lock_owned().await
    }

    /// Waits for the session, for commands that the application executes by the driver. The application may drop the first of
    /// them before its reply, and the driver commits or aborts nothing on the server before it has seen one. So the transaction
    /// begins by a command of the library.
    ///
    /// # Errors
    /// [`Error::Application`] where the future of the transaction was dropped. Errors of the server.
    pub(crate) async fn lend(&self, odm: &Odm) -> Result<MutexGuard<'_, ClientSession>> {
        if !self.has_begun() {
            let session = self.lock().await;
            let mut session = session.map_err(|_| Error::application(Closed))?;
            let edges = odm.database().collection::<Document>(EDGES);
            let begin = async move { edges.find_one(doc! {}).session(&mut *session).await };
            self.noted(OwnedCommand::new(Some(self.background()), begin).await)?;
        }
        let session = self.0.session.lock().await;
        if self.0.is_closed.load(Ordering::Acquire) {
            return Err(Error::application(Closed));
        }
        Ok(session)
    }

    /// No command is sent any more but the one that ends the transaction.
    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Release);
    }

    /// Where commands of the transaction, and its end, are completed after their futures were dropped.
    pub(crate) fn background(&self) -> &Background {
        &self.0.background
    }

    /// Waits for the operations before. One that is dropped before its end keeps the transaction from being committed.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        let turn = self.0.turn.lock().await;
        Turn {
            unfinished: self.unfinished(),
            _turn: turn,
        }
    }

    /// Begins an operation that must come to its end.
    pub(crate) fn unfinished(&self) -> Unfinished<'_> {
        Unfinished {
            shared: self,
            is_over: false,
        }
    }

    /// Waits for the operations before whose documents are compared.
    pub(crate) async fn compared(&self) -> MutexGuard<'_, ()> {
        self.0.compared.lock().await
    }

    pub(crate) fn state(&self) -> std::sync::MutexGuard<'_, TransactionState> {
        self.0
            .state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An operation failed: the server has ended the transaction, or a part of it was written, and it can only be rolled back.
    pub(crate) fn spoil(&self, error: &Error) {
        self.state()
            .spoiled
            .get_or_insert_with(|| (error.to_string(), error.is_transient_transaction_error()));
    }

    /// An upsert was refused for a document that another client inserted after the transaction began: the transaction is run again.
    pub(crate) fn raced(&self) {
        self.state().raced = true;
    }

    /// These documents are written by another transaction at the same time, which ends this one: it waits for its turn at them when
    /// it is run again.
    pub(crate) fn met(&self, documents: impl Iterator<Item = QueueKey>) {
        self.state().met.extend(documents);
    }

    /// Remembers that the server refused a command, which ends the transaction there, or that it is not known whether the server has
    /// executed it: the transaction can't be committed, also where the program passes the error over.
    pub(crate) fn noted<R>(&self, outcome: mongodb::error::Result<R>) -> mongodb::error::Result<R> {
        use mongodb::error::ErrorKind::{
            BsonDeserialization, BulkWrite, Command, InsertMany, InvalidResponse, Write,
        };
        if let Err(error) = &outcome {
            // An error of the network has this label.
            let again = error.contains_label(TRANSIENT_TRANSACTION_ERROR);
            let ends = matches!(
                &*error.kind,
                Command(_)
                    | Write(_)
                    | InsertMany(_)
                    | BulkWrite(_)
                    | InvalidResponse { .. }
                    | BsonDeserialization(_)
            );
            if again || ends {
                self.state()
                    .spoiled
                    .get_or_insert_with(|| (DriverText(error).to_string(), again));
            }
        }
        outcome
    }

    /// Adds to what is left for the time after the commit. All of it is of one type: with work of another one the transaction can't be
    /// committed, since that work would be lost.
    pub(crate) fn after_commit<T: AfterCommit + Default>(&self, add: impl FnOnce(&mut T)) {
        let end = &mut *self.state();
        let after: &mut dyn Any = &mut **end.after.get_or_insert_with(|| Box::new(T::default()));
        match after.downcast_mut() {
            Some(after) => add(after),
            None => {
                let lost = || {
                    let work = std::any::type_name::<T>();
                    (
                        format!(
                            "work for the time after the commit, {work}, is not of the type of the work that is there"
                        ),
                        false,
                    )
                };
                end.spoiled.get_or_insert_with(lost);
            }
        }
    }
}

impl TransactionState {
    /// Takes the work that the operations have left for the time after the commit.
    pub(crate) fn take_after(&mut self) -> Option<Box<dyn AfterCommit>> {
        self.after.take()
    }
}

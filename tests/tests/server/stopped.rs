//! A process that is stopped before one of its commands, while others go on; then it goes on itself, or dies.

use mongodb::Database;
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use odm_tests::TestDb;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A process with a client of its own.
pub(super) struct Process {
    /// The test's database, by its client.
    pub(super) db: Database,
    stop: Arc<Stop>,
}

struct Stop {
    /// Before which command.
    at: AtomicUsize,
    sent: AtomicUsize,
    reached: Notify,
    /// Whether it goes on, or dies.
    goes_on: Mutex<mpsc::Receiver<bool>>,
    go_on: mpsc::Sender<bool>,
}

impl Stop {
    fn before_a_command(&self) {
        if self.sent.fetch_add(1, Ordering::SeqCst) != self.at.load(Ordering::SeqCst) {
            return;
        }
        self.reached.notify_one();
        if !tokio::task::block_in_place(|| self.goes_on.lock().unwrap().recv().unwrap()) {
            // The task ends here, and the command is not sent.
            std::panic::resume_unwind(Box::new("it dies"));
        }
    }
}

/// A piece of its work, which waits before a command.
pub(super) struct Stopped<T> {
    stop: Arc<Stop>,
    work: JoinHandle<T>,
}

impl Process {
    pub(super) async fn new(t: &TestDb) -> Process {
        Process::new_in(false, t).await
    }

    /// The same, on a standalone server if it is to be one.
    pub(super) async fn new_in(standalone: bool, t: &TestDb) -> Process {
        let (go_on, goes_on) = mpsc::channel();
        let stop = Arc::new(Stop {
            at: AtomicUsize::new(usize::MAX),
            sent: AtomicUsize::new(0),
            reached: Notify::new(),
            goes_on: Mutex::new(goes_on),
            go_on,
        });
        let of_process = stop.clone();
        let mut options = odm_tests::options(standalone).await;
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(_) = event {
                of_process.before_a_command();
            }
        }));
        let client = mongodb::Client::with_options(options).unwrap();
        Process {
            db: client.database(t.db.name()),
            stop,
        }
    }

    /// Lets it work until it is about to send this of its commands, of which the first is 0; or gives what came of the work.
    pub(super) async fn until<T: Send + 'static>(
        &self,
        at: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<Stopped<T>, T> {
        self.stop.sent.store(0, Ordering::SeqCst);
        self.stop.at.store(at, Ordering::SeqCst);
        let stopped = Stopped {
            stop: self.stop.clone(),
            work: tokio::spawn(work),
        };
        stopped.waits().await
    }
}

impl<T> Stopped<T> {
    async fn waits(mut self) -> Result<Stopped<T>, T> {
        let done = tokio::select! {
            () = self.stop.reached.notified() => None,
            done = &mut self.work => Some(done.unwrap()),
        };
        // A client has something to say when it goes, too.
        self.stop.at.store(usize::MAX, Ordering::SeqCst);
        done.map_or(Ok(self), Err)
    }

    /// Lets it go on until it is about to send this of its commands.
    pub(super) async fn until(self, at: usize) -> Result<Stopped<T>, T> {
        self.stop.at.store(at, Ordering::SeqCst);
        self.stop.go_on.send(true).unwrap();
        self.waits().await
    }

    /// Lets it go on to its end.
    pub(super) fn go_on(self) -> JoinHandle<T> {
        self.stop.go_on.send(true).unwrap();
        self.work
    }

    /// Lets it die. Its client may not survive it.
    pub(super) async fn dies(self) {
        self.stop.go_on.send(false).unwrap();
        assert!(self.work.await.is_err_and(|error| error.is_panic()));
    }
}

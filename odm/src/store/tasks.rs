//! What goes on in a task of its own after a future was dropped: a command of a transaction that was sent, and the end of the
//! transaction.
//!
//! The driver aborts a transaction whose session is dropped, if it has seen a reply of it. Where the future of its first command is
//! dropped, the server begins the transaction and the driver doesn't know, so its locks would stay until the server's own limit
//! (`transactionLifetimeLimitSeconds`, a minute). And where the future of a later command is dropped, the driver closes the
//! connection, and its abort may overtake that command. So a [`OwnedCommand`] owns what it needs, and is executed to its reply also
//! where nothing waits for it any more; whatever follows in the session waits for that.

use futures::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The error of a command for a transaction whose future was dropped: it is not sent.
#[derive(Debug)]
pub(crate) struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the transaction was rolled back, since its future was dropped before it completed")
    }
}

impl std::error::Error for Closed {}

/// The tasks of all handles of a client.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<watch::Sender<TaskState>>);

#[derive(Default)]
struct TaskState {
    running: usize,
    is_shut_down: bool,
}

impl Tasks {
    /// Waits for those that are running. Gives whether there were some and they have ended within this time.
    pub(crate) async fn end_within(&self, longest: Duration) -> bool {
        let are_running = self.0.borrow().running > 0;
        are_running && tokio::time::timeout(longest, self.ended()).await.is_ok()
    }

    /// Waits for those that are running, and for those that begin meanwhile.
    pub(crate) async fn ended(&self) {
        self.when(|state| state.running == 0).await;
    }

    /// Tells what runs for as long as the client that it ends now.
    pub(crate) fn shut_down(&self) {
        self.0.send_modify(|state| state.is_shut_down = true);
    }

    /// Waits until that is so.
    pub(crate) async fn are_shut_down(&self) {
        self.when(|state| state.is_shut_down).await;
    }

    async fn when(&self, is_so: impl FnMut(&TaskState) -> bool) {
        // The sender is there for as long as `self`.
        let _ = self.0.subscribe().wait_for(is_so).await;
    }

    fn begin(&self) -> Running {
        self.0.send_modify(|state| state.running += 1);
        Running(self.clone())
    }
}

/// A task, until it has ended or its runtime has dropped it.
struct Running(Tasks);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.running -= 1);
    }
}

/// Where the tasks of a transaction run: the runtime in which it began. Its future may be dropped outside of any.
#[derive(Clone)]
pub(crate) struct Background {
    runtime: Handle,
    tasks: Tasks,
}

impl Background {
    /// Within a runtime, which the driver needs, too.
    pub(crate) fn here(tasks: &Tasks) -> Background {
        Background {
            runtime: Handle::current(),
            tasks: tasks.clone(),
        }
    }

    /// Executes `work` in a task. A runtime that has ended drops it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let running = self.tasks.begin();
        self.runtime.spawn(async move {
            work.await;
            drop(running);
        });
    }
}

/// A command that is executed to its reply, once it has begun.
#[must_use = "a command does nothing until it is awaited"]
pub(crate) struct OwnedCommand<'a, R: Send + 'static> {
    command: Option<BoxFuture<'static, R>>,
    has_begun: bool,
    /// Where it goes on. `None` outside of a transaction: there it ends with its future.
    background: Option<&'a Background>,
}

impl<'a, R: Send + 'static> OwnedCommand<'a, R> {
    pub(crate) fn new(
        background: Option<&'a Background>,
        command: impl Future<Output = R> + Send + 'static,
    ) -> Self {
        OwnedCommand {
            command: Some(Box::pin(command)),
            has_begun: false,
            background,
        }
    }
}

impl<R: Send + 'static> Future for OwnedCommand<'_, R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        self.has_begun = true;
        // One that panics is not there any more.
        let Some(mut command) = self.command.take() else {
            return Poll::Pending;
        };
        let polled = command.as_mut().poll(context);
        if polled.is_pending() {
            self.command = Some(command);
        }
        polled
    }
}

impl<R: Send + 'static> Drop for OwnedCommand<'_, R> {
    fn drop(&mut self) {
        if let (Some(command), Some(background), true) =
            (self.command.take(), self.background, self.has_begun)
        {
            background.spawn(async move {
                command.await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how often a command that ends after one pause was begun and ended.
    fn command(steps: &Arc<AtomicUsize>) -> impl Future<Output = ()> + use<> {
        let steps = steps.clone();
        async move {
            steps.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            steps.fetch_add(10, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_command_that_has_begun_goes_on_where_its_future_is_dropped() {
        let (tasks, steps) = (Tasks::default(), Arc::new(AtomicUsize::new(0)));
        let background = Background::here(&tasks);
        drop(OwnedCommand::new(Some(&background), command(&steps)));
        assert_eq!(steps.load(Ordering::SeqCst), 0, "it had not begun");
        assert!(tasks.ended().now_or_never().is_some());

        let begun = OwnedCommand::new(Some(&background), command(&steps)).now_or_never();
        assert!(begun.is_none() && tasks.ended().now_or_never().is_none());
        assert!(tasks.end_within(Duration::from_secs(5)).await);
        assert_eq!(steps.swap(0, Ordering::SeqCst), 11);
        assert!(
            !tasks.end_within(Duration::from_secs(5)).await,
            "none was running"
        );

        let outside = OwnedCommand::new(None, command(&steps)).now_or_never();
        assert!(outside.is_none() && tasks.ended().now_or_never().is_some());
        assert_eq!(steps.load(Ordering::SeqCst), 1, "it has ended with its future");
    }

    #[tokio::test]
    async fn a_command_that_panics_is_not_polled_again() {
        let (tasks, steps) = (Tasks::default(), Arc::new(AtomicUsize::new(0)));
        let background = Background::here(&tasks);
        let of_command = steps.clone();
        let panics = async move {
            of_command.fetch_add(1, Ordering::SeqCst);
            std::panic::resume_unwind(Box::new("it fails"));
        };
        let panicked = std::panic::AssertUnwindSafe(OwnedCommand::new(Some(&background), panics));
        assert!(panicked.catch_unwind().await.is_err());
        tasks.ended().await;
        assert_eq!(steps.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_runtime_that_has_ended_runs_nothing() {
        let (tasks, steps) = (Tasks::default(), Arc::new(AtomicUsize::new(0)));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let background = runtime.block_on(async { Background::here(&tasks) });
        let mut begun = Box::pin(OwnedCommand::new(Some(&background), command(&steps)));
        assert!(begun.as_mut().now_or_never().is_none());
        drop(runtime);
        drop(begun);
        assert!(tasks.ended().now_or_never().is_some());
        assert_eq!(steps.load(Ordering::SeqCst), 1);
    }
}

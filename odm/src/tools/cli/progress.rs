//! Shows on standard error that something is going on, and how far it is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the bar is drawn.
const EVERY: Duration = Duration::from_millis(100);

/// How far work is: the number of documents that it has gone through, and how many there are; 0 while that is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct SoFar {
    pub(super) documents: Arc<AtomicU64>,
    pub(super) total: Arc<AtomicU64>,
}

impl SoFar {
    pub(super) fn new(documents: Arc<AtomicU64>, total: u64) -> SoFar {
        SoFar {
            documents,
            total: Arc::new(AtomicU64::new(total)),
        }
    }
}

/// Executes `work`, with a progress bar if requested.
pub(super) async fn watched<T>(
    wanted: bool,
    what: &'static str,
    so_far: Option<SoFar>,
    work: impl IntoFuture<Output = T>,
) -> T {
    if !wanted {
        return work.await;
    }
    let bar = bar(what);
    let mut work = std::pin::pin!(work.into_future());
    loop {
        tokio::select! {
            done = &mut work => {
                bar.finish_and_clear();
                return done;
            }
            () = tokio::time::sleep(EVERY) => follow(&bar, so_far.as_ref()),
        }
    }
}

fn bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_draw_target(ProgressDrawTarget::stderr());
    set_style(&bar, "{spinner} {msg} {human_pos} [{elapsed}]");
    bar.with_message(what)
}

fn set_style(bar: &ProgressBar, style: &str) {
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
}

fn follow(bar: &ProgressBar, so_far: Option<&SoFar>) {
    if let Some(SoFar { documents, total }) = so_far {
        let documents = documents.load(Ordering::Relaxed);
        let total = total.load(Ordering::Relaxed);
        if total > 0 {
            if bar.length().is_none() {
                let style = "{msg} [{bar:30}] {human_pos} of {human_len} documents [{elapsed}, {eta} left]";
                set_style(bar, style);
            }
            // A repair may go through the documents again, and others insert meanwhile.
            bar.set_length(total.max(documents));
        }
        bar.set_position(documents);
    }
    bar.tick();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_beyond_the_expected_number() {
        let bar = bar("reading");
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let read = SoFar::default();
        follow(&bar, Some(&read));
        assert_eq!((bar.position(), bar.length()), (0, None));
        for (documents, total, length) in [(7, 10, 10), (12, 10, 12), (12, 20, 20)] {
            read.documents.store(documents, Ordering::Relaxed);
            read.total.store(total, Ordering::Relaxed);
            follow(&bar, Some(&read));
            assert_eq!((bar.position(), bar.length()), (documents, Some(length)));
        }
    }

    #[tokio::test]
    async fn the_work_is_done_with_and_without_a_bar() {
        assert_eq!(watched(false, "x", None, async { 1 }).await, 1);
        let work = async {
            tokio::time::sleep(EVERY * 2).await;
            2
        };
        assert_eq!(watched(true, "x", None, work).await, 2);
    }
}

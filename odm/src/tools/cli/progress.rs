//! Shows on standard error that something is going on, and how far it is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often the bar is drawn.
const EVERY: Duration = Duration::from_millis(100);

/// Executes `work`, with a progress bar if requested: of the documents read so far and their number, if both are known.
pub(super) async fn watched<T>(
    wanted: bool,
    what: &'static str,
    so_far: Option<(Arc<AtomicU64>, u64)>,
    work: impl IntoFuture<Output = T>,
) -> T {
    if !wanted {
        return work.await;
    }
    let bar = bar(what, so_far.as_ref().map_or(0, |(_, total)| *total));
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

fn bar(what: &'static str, total: u64) -> ProgressBar {
    let (bar, style) = match total {
        0 => (
            ProgressBar::no_length(),
            "{spinner} {msg} {human_pos} [{elapsed}]",
        ),
        total => (
            ProgressBar::new(total),
            "{msg} [{bar:30}] {human_pos} of {human_len} documents [{elapsed}, {eta} left]",
        ),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.with_message(what)
}

fn follow(bar: &ProgressBar, so_far: Option<&(Arc<AtomicU64>, u64)>) {
    match so_far {
        Some((read, _)) => {
            let read = read.load(Ordering::Relaxed);
            // A repair may go through the documents again, and others insert meanwhile.
            if bar.length().is_some_and(|length| length < read) {
                bar.set_length(read);
            }
            bar.set_position(read);
            bar.tick();
        }
        None => bar.tick(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_beyond_the_expected_number() {
        let bar = bar("reading", 10);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let read = Arc::new(AtomicU64::new(7));
        follow(&bar, Some(&(read.clone(), 10)));
        assert_eq!((bar.position(), bar.length()), (7, Some(10)));
        read.store(12, Ordering::Relaxed);
        follow(&bar, Some(&(read, 10)));
        assert_eq!((bar.position(), bar.length()), (12, Some(12)));
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

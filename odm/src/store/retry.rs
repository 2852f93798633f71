//! Reads by commands that the driver has no method for, and so does not send again.

use mongodb::error::{Error, ErrorKind, Result};

/// Sends a command that only reads, and once more where the connection broke or the server changed its state, as the driver does with
/// the reads that it knows.
pub(crate) async fn read<R, F: Future<Output = Result<R>>>(send: impl Fn() -> F) -> Result<R> {
    match send().await {
        Err(error) if may_succeed_again(&error) => send().await,
        sent => sent,
    }
}

/// The driver has already waited for a server where it found none.
fn may_succeed_again(error: &Error) -> bool {
    let is_missing = matches!(
        &*error.kind,
        ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. }
    );
    !is_missing && crate::error::driver::unavailable(error).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How often a command was sent whose first `failures` attempts failed with this error, and whether it succeeded.
    async fn sent(failures: u32, error: &Error) -> (u32, bool) {
        let times = Cell::new(0);
        let made = read(|| {
            times.set(times.get() + 1);
            let fails = times.get() <= failures;
            std::future::ready(if fails { Err(error.clone()) } else { Ok(()) })
        });
        let is_ok = made.await.is_ok();
        (times.get(), is_ok)
    }

    #[tokio::test]
    async fn a_read_whose_reply_is_lost_is_sent_once_more() {
        let lost = Error::from(std::io::Error::other("reset"));
        assert_eq!(sent(0, &lost).await, (1, true));
        assert_eq!(sent(1, &lost).await, (2, true));
        assert_eq!(sent(2, &lost).await, (2, false));
        let refused = Error::custom("no such collection");
        assert_eq!(sent(1, &refused).await, (1, false));
    }
}

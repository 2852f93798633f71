//! How old the declarations are that a handle has read.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// When the declarations were read the last time.
#[derive(Debug)]
pub(crate) struct Age {
    since: Instant,
    /// In milliseconds; 0 where they were not read.
    read: AtomicU64,
    pub(crate) reading: tokio::sync::Mutex<()>,
}

impl Default for Age {
    fn default() -> Age {
        Age {
            since: Instant::now(),
            read: AtomicU64::new(0),
            reading: tokio::sync::Mutex::default(),
        }
    }
}

impl Age {
    pub(crate) fn at(&self, when: Instant) -> u64 {
        let since = when.saturating_duration_since(self.since).as_millis();
        u64::try_from(since).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// They were asked for at this time.
    pub(crate) fn set(&self, when: Instant) {
        self.read.store(self.at(when), Ordering::Release);
    }

    pub(crate) fn is_over(&self, holding: Duration) -> bool {
        let read = self.read.load(Ordering::Acquire);
        let held = u64::try_from((holding / 5 * 4).as_millis()).unwrap_or(u64::MAX);
        read == 0 || self.at(Instant::now()).saturating_sub(read) >= held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read_again_before_the_holding_time_is_over() {
        let age = Age::default();
        assert!(age.is_over(Duration::from_secs(300)));
        age.set(Instant::now());
        assert!(!age.is_over(Duration::from_secs(300)));
        assert!(age.is_over(Duration::ZERO));
    }
}

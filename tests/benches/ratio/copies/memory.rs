//! How much more memory of the process is resident at most while something is done. Linux alone tells it.

/// The greatest resident size in bytes since `forget`.
const PEAK: &str = "VmHWM:";
/// The resident size now.
const NOW: &str = "VmRSS:";

fn read(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// What is resident before something begins.
pub struct Before(Option<f64>);

impl Before {
    /// Sets the peak back to what is resident now.
    pub fn take() -> Before {
        let reset = std::fs::write("/proc/self/clear_refs", "5").ok();
        Before(reset.and_then(|()| read(NOW)))
    }

    /// How many MiB more were resident since then, at the worst.
    pub fn growth(self) -> Option<f64> {
        Some((read(PEAK)? - self.0?).max(0.0))
    }
}

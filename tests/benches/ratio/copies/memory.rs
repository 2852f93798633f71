//! How much more memory of a process is resident at most while it delivers to many holders. Linux alone tells it.
//!
//! It is asked of a process that does this and nothing else, so that nothing of what others have used before is used again.

use super::handle;
use super::model::Device;
use crate::Result;
use mongodb::Client;
use odm::prelude::*;
use std::process::{Command, Stdio};

/// The arguments of such a process: the database, the device whose copies it delivers, and their number.
pub const OPTION: &str = "--memory-of";

/// The greatest resident size in bytes since `forget`.
const PEAK: &str = "VmHWM:";
/// The resident size now.
const NOW: &str = "VmRSS:";

/// How many MiB more a process needs at most for a fan-out, than when it was about to begin.
pub fn of_fan_out(database: &str, device: i32, holders: usize) -> Result<Option<f64>> {
    let output = Command::new(std::env::current_exe()?)
        .args([OPTION, &format!("{database} {device} {holders}")])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the process whose memory is measured failed ({})", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse().ok())
}

/// The other process: prints the number, or nothing where the system does not tell it.
pub fn tell(asked: &str) -> Result<()> {
    let [database, device, holders] = asked.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("`{asked}` is no database, device and number of holders").into());
    };
    let (device, holders): (i32, u64) = (device.parse()?, holders.parse()?);
    crate::runtime()?.block_on(async {
        let client = Client::with_uri_str(crate::server()?).await?;
        let odm = handle(client.database(database))?;
        let devices = odm.collection::<Device>();
        // The memory of a connection is not counted.
        devices.get(device).await?.ok_or("the device is missing")?;
        let before = Resident::now();
        let done = devices.update(device).set(|d| d.name, "measured").await?;
        let growth = before.growth();
        if done.copies_updated != holders {
            return Err(format!("{} of {holders} copies were changed", done.copies_updated).into());
        }
        if let Some(growth) = growth {
            println!("{growth}");
        }
        Ok(())
    })
}

fn read(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// The resident memory before something begins, in MiB.
pub struct Resident(Option<f64>);

impl Resident {
    /// Sets the peak back to what is resident now.
    pub fn now() -> Resident {
        let reset = std::fs::write("/proc/self/clear_refs", "5").ok();
        Resident(reset.and_then(|()| read(NOW)))
    }

    pub fn mib(&self) -> Option<f64> {
        self.0
    }

    /// How many MiB more were resident since then, at the worst.
    pub fn growth(self) -> Option<f64> {
        Some((read(PEAK)? - self.0?).max(0.0))
    }
}

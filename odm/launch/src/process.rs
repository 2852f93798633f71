//! Child processes that do not outlive their guard, and the signals that end a command early.
//!
//! Each child leads a process group of its own. A Ctrl-C in the terminal then reaches only this program, which
//! stops its children in the right order (the tests before the server they talk to) together with whatever
//! those have started themselves.

use std::future::Future;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::programs::step;

/// A running child; dropping it stops it and its process group.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pid: u32,
    grace: Duration,
    released: bool,
}

impl Process {
    /// Starts `command` without standard input, as the leader of a new process group.
    ///
    /// A child that is stopped gets `grace` to end by itself before it is killed.
    pub fn spawn(name: impl Into<String>, command: &mut Command, grace: Duration) -> Result<Self> {
        command.stdin(Stdio::null());
        Self::start(name.into(), command, grace)
    }

    /// Starts `command` as [`Process::spawn`] does, and returns its standard input and output.
    pub fn spawn_piped(
        name: impl Into<String>,
        command: &mut Command,
        grace: Duration,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Self::start(name.into(), command, grace)?;
        let stdin = process.child.stdin.take().context("it has no input")?;
        let stdout = process.child.stdout.take().context("it has no output")?;
        Ok((process, stdin, stdout))
    }

    fn start(name: String, command: &mut Command, grace: Duration) -> Result<Self> {
        #[cfg(unix)]
        command.process_group(0);
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let child = command
            .spawn()
            .with_context(|| format!("{name}: `{program}` could not be started"))?;
        let pid = child
            .id()
            .with_context(|| format!("{name} ended before it could be watched"))?;
        Ok(Self {
            name,
            child,
            pid,
            grace,
            released: false,
        })
    }

    /// The process id, which is also the id of the process group.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the child to end.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        self.child
            .wait()
            .await
            .with_context(|| format!("{} could not be waited for", self.name))
    }

    /// How the child ended, or `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends the child and its process group without a chance to put anything in order, as a power failure would.
    pub fn kill(&mut self) {
        self.signal_group(Strength::Kill);
        self.until_ended();
    }

    /// Leaves the child running when the guard is dropped.
    pub fn release(&mut self) {
        self.released = true;
    }

    fn stop(&mut self) {
        if self.ended().is_some() {
            return;
        }
        self.signal_group(Strength::Ask);
        let deadline = Instant::now() + self.grace;
        while Instant::now() < deadline {
            // The group outlives its leader for as long as something the leader started is running.
            if self.ended().is_some() && !self.group_exists() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        self.kill();
    }

    fn until_ended(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[cfg(unix)]
    fn group(&self) -> Option<nix::unistd::Pid> {
        i32::try_from(self.pid).ok().map(nix::unistd::Pid::from_raw)
    }

    #[cfg(unix)]
    fn group_exists(&self) -> bool {
        self.group()
            .is_some_and(|group| nix::sys::signal::killpg(group, None).is_ok())
    }

    #[cfg(unix)]
    fn signal_group(&mut self, strength: Strength) {
        use nix::sys::signal::{Signal, killpg};
        let signal = match strength {
            Strength::Ask => Signal::SIGTERM,
            Strength::Kill => Signal::SIGKILL,
        };
        if let Some(group) = self.group() {
            // The only failure is that the group has gone, which is what is wanted.
            let _ = killpg(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn group_exists(&self) -> bool {
        false
    }

    #[cfg(not(unix))]
    fn signal_group(&mut self, _: Strength) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.released {
            self.stop();
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Strength {
    Ask,
    Kill,
}

/// The exit code to pass on for a child that ended with `status`.
pub fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return after_signal(signal);
        }
    }
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1)
}

fn after_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}

/// Runs `work` to its end, or drops it on Ctrl-C or a request to terminate; the exit code then says so.
#[cfg(unix)]
pub async fn unless_interrupted(work: impl Future<Output = Result<u8>>) -> Result<u8> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("Ctrl-C cannot be caught")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be caught")?;
    let mut hangup = signal(SignalKind::hangup()).context("SIGHUP cannot be caught")?;
    let mut work = Box::pin(work);
    let kind = tokio::select! {
        outcome = &mut work => return outcome,
        _ = interrupt.recv() => SignalKind::interrupt(),
        _ = terminate.recv() => SignalKind::terminate(),
        _ = hangup.recv() => SignalKind::hangup(),
    };
    step("interrupted");
    drop(work);
    Ok(after_signal(kind.as_raw_value()))
}

/// Runs `work` to its end, or drops it on Ctrl-C; the exit code then says so.
#[cfg(not(unix))]
pub async fn unless_interrupted(work: impl Future<Output = Result<u8>>) -> Result<u8> {
    let mut work = Box::pin(work);
    tokio::select! {
        outcome = &mut work => return outcome,
        caught = tokio::signal::ctrl_c() => caught.context("Ctrl-C cannot be caught")?,
    }
    step("interrupted");
    drop(work);
    Ok(after_signal(2))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::panic::AssertUnwindSafe;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn running(pid: u32) -> bool {
        i32::try_from(pid)
            .is_ok_and(|pid| nix::sys::signal::killpg(nix::unistd::Pid::from_raw(pid), None).is_ok())
    }

    #[test]
    fn exit_codes_are_passed_on() {
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(exit_code(ExitStatus::from_raw(101 << 8)), 101);
        assert_eq!(exit_code(ExitStatus::from_raw(2)), 130);
        assert_eq!(exit_code(ExitStatus::from_raw(15)), 143);
    }

    #[tokio::test]
    async fn dropping_the_guard_stops_the_whole_group() -> Result<()> {
        // The pipe ends when nothing in the group holds it any more. Whether the group has gone is not as
        // good a question: what the leader started is left to the init process, which may not collect it.
        let (mut reader, writer) = std::io::pipe()?;
        let mut command = shell("sleep 60 & sleep 60");
        let process = Process::spawn("sh", command.stdout(writer), Duration::from_secs(1))?;
        drop(command);
        let started = Instant::now();
        drop(process);
        reader.read_to_end(&mut Vec::new())?;
        assert!(started.elapsed() < Duration::from_secs(30));
        Ok(())
    }

    #[tokio::test]
    async fn a_child_that_ignores_the_request_is_killed() -> Result<()> {
        let mut command = shell("trap '' TERM; while true; do sleep 0.05; done");
        let process = Process::spawn("sh", &mut command, Duration::from_millis(200))?;
        let pid = process.pid();
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(process);
        let deadline = Instant::now() + Duration::from_secs(5);
        while running(pid) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!running(pid));
        Ok(())
    }

    #[tokio::test]
    async fn a_panic_stops_the_child() -> Result<()> {
        let process = Process::spawn("sh", &mut shell("sleep 60"), Duration::from_secs(5))?;
        let pid = process.pid();
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(move || {
            let _process = process;
            panic!("on purpose");
        }));
        assert!(outcome.is_err());
        assert!(!running(pid));
        Ok(())
    }

    #[tokio::test]
    async fn a_released_child_is_left_alone() -> Result<()> {
        let mut process = Process::spawn("sh", &mut shell("exec sleep 60"), Duration::from_secs(5))?;
        process.release();
        let pid = process.pid();
        drop(process);
        assert!(running(pid));
        let group = nix::unistd::Pid::from_raw(i32::try_from(pid)?);
        nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL)?;
        Ok(())
    }

    #[tokio::test]
    async fn a_missing_program_is_named() {
        let outcome = Process::spawn("the tool", &mut Command::new("/no/such/tool"), Duration::ZERO);
        let message = outcome
            .err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default();
        assert!(message.contains("/no/such/tool"), "{message}");
    }
}

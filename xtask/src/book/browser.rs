//! Chromium, driven over a pipe by the DevTools protocol.
//!
//! `--remote-debugging-pipe` makes Chromium read commands from file descriptor 3 and write answers to 4: JSON, each
//! ended by a NUL. That needs neither a port nor a WebSocket, and no crate beyond those that are here anyway; the
//! crates for this purpose would compile longer than the rest of this program.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::process::Process;
use crate::workspace::{find_program, is_executable};

/// The variable that names the browser.
pub const VARIABLE: &str = "ODM_CHROMIUM";

/// What Chromium and its relatives are called on PATH.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// An answer takes less, even on a machine that is busy.
const WITHIN: Duration = Duration::from_secs(60);

/// The browser that [`VARIABLE`] names, else the first on PATH.
pub fn find() -> Result<Option<PathBuf>> {
    // The descriptors 3 and 4 are handed on by a shell.
    if !cfg!(unix) {
        return Ok(None);
    }
    match std::env::var_os(VARIABLE) {
        Some(path) if !path.is_empty() => {
            let path = PathBuf::from(path);
            if !is_executable(&path) {
                bail!("{VARIABLE} names {}, which can't be run", path.display());
            }
            Ok(Some(path))
        }
        _ => Ok(NAMES.into_iter().find_map(find_program)),
    }
}

/// A browser with one open page.
#[derive(Debug)]
pub struct Browser {
    /// Such as `Chrome/130.0.6723.58`.
    pub version: String,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    events: VecDeque<Value>,
    _process: Process,
    // Removed when the process has ended.
    _profile: TempDir,
}

impl Browser {
    pub async fn start(program: &Path) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut data = std::ffi::OsString::from("--user-data-dir=");
        data.push(profile.path());
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#)
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                // It shows pages of our own, and nothing of any other origin. The sandbox needs rights that
                // containers and root lack.
                "--no-sandbox",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-dev-shm-usage",
                "--disable-extensions",
                "--disable-gpu",
                "--no-default-browser-check",
                "--no-first-run",
            ])
            .arg(data)
            .arg("about:blank");
        let (process, commands, messages) =
            Process::spawn_piped("the browser", &mut command, Duration::from_secs(5))?;
        let mut browser = Self {
            version: String::new(),
            commands,
            messages: BufReader::new(messages),
            session: None,
            last: 0,
            events: VecDeque::new(),
            _process: process,
            _profile: profile,
        };
        let version = browser.call("Browser.getVersion", json!({})).await;
        let version = version.with_context(|| format!("{} does not answer", program.display()))?;
        browser.version = text(&version, "product")?;
        let target = browser
            .call("Target.createTarget", json!({ "url": "about:blank" }))
            .await?;
        let attach = json!({ "targetId": text(&target, "targetId")?, "flatten": true });
        let session = browser.call("Target.attachToTarget", attach).await?;
        browser.session = Some(text(&session, "sessionId")?);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({})).await?;
        }
        // The printed book would otherwise wait for a dialog.
        let silent = json!({ "source": "window.print = () => {};" });
        browser
            .call("Page.addScriptToEvaluateOnNewDocument", silent)
            .await?;
        Ok(browser)
    }

    /// Sets the size of the screen, in pixels.
    pub async fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await?;
        Ok(())
    }

    /// Sets the colours that the reader prefers, `light` or `dark`, of which a page without a choice of its own takes one.
    pub async fn prefer(&mut self, scheme: &str) -> Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features).await?;
        Ok(())
    }

    /// Opens a page, and returns when all of it is loaded.
    pub async fn open(&mut self, url: &str) -> Result<()> {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({ "url": url })).await?;
        if let Some(error) = answer["errorText"].as_str() {
            bail!("{url} can't be opened: {error}");
        }
        // The answer comes before the page is loaded, and so do the events of its scripts.
        let loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        while !self.events.iter().any(loaded) {
            let event = self
                .receive()
                .await
                .with_context(|| format!("{url} is not loaded"))?;
            self.events.push_back(event);
        }
        Ok(())
    }

    /// What went wrong since the page was opened: errors of scripts, and requests that leave the book.
    pub fn problems(&mut self) -> Vec<String> {
        self.events
            .drain(..)
            .filter_map(|event| problem(&event))
            .collect()
    }

    /// The value of an expression on the page; a promise is awaited.
    pub async fn evaluate<T: DeserializeOwned>(&mut self, expression: &str) -> Result<T> {
        // Only a gesture of the user may copy to the clipboard.
        let parameters = json!({
            "expression": expression,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let mut answer = self.call("Runtime.evaluate", parameters).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("the script of the check failed: {}", exception(thrown));
        }
        let value = answer["result"]["value"].take();
        serde_json::from_value(value).context("the script of the check returned something else")
    }

    /// The screen as PNG.
    pub async fn screenshot(&mut self) -> Result<Vec<u8>> {
        let answer = self
            .call("Page.captureScreenshot", json!({ "format": "png" }))
            .await?;
        Ok(base64::prelude::BASE64_STANDARD.decode(text(&answer, "data")?)?)
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        let mut bytes = serde_json::to_vec(&command)?;
        bytes.push(0);
        self.commands
            .write_all(&bytes)
            .await
            .context("the browser has ended")?;
        loop {
            let mut message = self.receive().await.with_context(|| method.to_owned())?;
            if message["id"] != self.last {
                self.events.push_back(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            }
            return Ok(message["result"].take());
        }
    }

    async fn receive(&mut self) -> Result<Value> {
        let mut bytes = Vec::new();
        let read = timeout(WITHIN, self.messages.read_until(0, &mut bytes)).await;
        read.map_err(|_| anyhow!("no answer within {WITHIN:?}"))??;
        if bytes.pop() != Some(0) {
            bail!("the browser has ended");
        }
        Ok(serde_json::from_slice(&bytes)?)
    }
}

fn text(answer: &Value, field: &str) -> Result<String> {
    let text = answer[field].as_str();
    let text = text.with_context(|| format!("{field} is missing in {answer}"))?;
    Ok(text.to_owned())
}

fn exception(details: &Value) -> String {
    let text = details["exception"]["description"]
        .as_str()
        .or_else(|| details["text"].as_str())
        .unwrap_or("an exception without a text");
    // What follows is a stack.
    text.lines().next().unwrap_or_default().to_owned()
}

/// The failure that an event reports.
fn problem(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => {
            let thrown = exception(&parameters["exceptionDetails"]);
            Some(format!("a script fails: {thrown}"))
        }
        "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
            let arguments = parameters["args"].as_array().into_iter().flatten();
            let arguments = arguments.filter_map(|argument| {
                argument["value"]
                    .as_str()
                    .or_else(|| argument["description"].as_str())
            });
            let arguments: Vec<&str> = arguments.collect();
            Some(format!("a script logs an error: {}", arguments.join(" ")))
        }
        "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
            let entry = &parameters["entry"];
            let text = entry["text"].as_str().unwrap_or_default();
            let url = entry["url"].as_str().unwrap_or_default();
            Some(
                format!("the browser logs an error: {text} {url}")
                    .trim_end()
                    .to_owned(),
            )
        }
        "Network.requestWillBeSent" => {
            let url = parameters["request"]["url"].as_str()?;
            let local = ["file:", "data:", "about:", "blob:"];
            let elsewhere = !local.iter().any(|scheme| url.starts_with(scheme));
            elsewhere.then(|| format!("asks for {url}, which is not in the book"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_from_other_events() {
        let message = |event: Value| problem(&event);
        assert_eq!(
            message(json!({ "method": "Runtime.exceptionThrown", "params": { "exceptionDetails": {
                "text": "Uncaught", "exception": { "description": "TypeError: x is not a function\n    at y" } } } }))
            .as_deref(),
            Some("a script fails: TypeError: x is not a function")
        );
        assert_eq!(
            message(json!({ "method": "Runtime.consoleAPICalled", "params": {
                "type": "error", "args": [{ "value": "no" }, { "description": "Error: why" }] } }))
            .as_deref(),
            Some("a script logs an error: no Error: why")
        );
        assert_eq!(
            message(json!({ "method": "Log.entryAdded", "params": { "entry": {
                "level": "error", "text": "net::ERR_FILE_NOT_FOUND", "url": "file:///a.svg" } } }))
            .as_deref(),
            Some("the browser logs an error: net::ERR_FILE_NOT_FOUND file:///a.svg")
        );
        let request = |url: &str| {
            message(json!({ "method": "Network.requestWillBeSent", "params": { "request": { "url": url } } }))
        };
        assert_eq!(
            request("https://fonts.example.com/a").as_deref(),
            Some("asks for https://fonts.example.com/a, which is not in the book")
        );
        assert_eq!(request("file:///a.css"), None);
        assert_eq!(request("data:image/svg+xml,x"), None);
        assert_eq!(
            message(json!({ "method": "Runtime.consoleAPICalled", "params": { "type": "log", "args": [] } })),
            None
        );
        assert_eq!(message(json!({ "method": "Page.loadEventFired" })), None);
        assert_eq!(message(json!({ "id": 1, "result": {} })), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_ends_is_no_browser() {
        let outcome = Browser::start(Path::new("/bin/true")).await;
        let message = outcome
            .err()
            .map(|error| format!("{error:#}"))
            .unwrap_or_default();
        assert!(message.contains("/bin/true does not answer"), "{message}");
    }
}

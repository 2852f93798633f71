//! `odm server`, `odm doctor`, `odm introspect` and `odm new` as a user runs them, with the server that stands in for MongoDB.

#![cfg(unix)]

use anyhow::{Context, Result, bail, ensure};
use odm::mongodb::Client;
use odm::mongodb::bson::{Document, doc};
use odm_launch::find_program;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ODM: &str = env!("CARGO_BIN_EXE_odm");

/// How long a server may take to start: where there is none, SecantusDB is installed first.
const READY_WITHIN: Duration = Duration::from_secs(180);

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// `odm server` in a folder. It is interrupted when this is dropped.
struct Server {
    child: Child,
    uri: String,
}

impl Server {
    fn start(folder: &Path, port: u16, arguments: &[&str]) -> Result<Server> {
        share_tools(folder)?;
        let output = std::fs::File::create(folder.join("output"))?;
        let mut child = Command::new(ODM)
            .args(["server", "--stand-in", "--port", &port.to_string()])
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Ok(uri) = std::fs::read_to_string(folder.join(".odm/uri")) {
                let uri = uri.trim().to_owned();
                return Ok(Server { child, uri });
            }
            if let Some(status) = child.try_wait()? {
                bail!(
                    "it ended ({status}): {}",
                    std::fs::read_to_string(folder.join("output"))?
                );
            }
            ensure!(Instant::now() < deadline, "it did not say where it is");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ctrl-C.
    fn interrupt(mut self) -> Result<()> {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id())?);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let pid = i32::try_from(self.child.id()).map(nix::unistd::Pid::from_raw);
            if let Ok(pid) = pid {
                // It stops its server, which a kill would leave running.
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
            }
            let _ = self.child.wait();
        }
    }
}

/// The packages of SecantusDB, which this repository's own commands have installed below the target directory.
fn share_tools(folder: &Path) -> Result<()> {
    let tools = folder.join(".odm/tools");
    if find_program("secantusd-rs").is_some() || tools.exists() {
        return Ok(());
    }
    let target: PathBuf = Path::new(ODM)
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .context("the program is not in a target directory")?
        .to_owned();
    std::fs::create_dir_all(folder.join(".odm"))?;
    Ok(std::os::unix::fs::symlink(target, tools)?)
}

fn odm(folder: &Path, arguments: &[&str]) -> Result<std::process::Output> {
    Ok(Command::new(ODM)
        .args(arguments)
        .current_dir(folder)
        .env_remove("MONGODB_URI")
        .output()?)
}

async fn notes(uri: &str) -> Result<odm::mongodb::Collection<Document>> {
    Ok(Client::with_uri_str(uri)
        .await?
        .database("kept")
        .collection("notes"))
}

#[tokio::test]
async fn the_server_keeps_its_data_until_a_fresh_start() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let port = free_port()?;
    let server = Server::start(dir.path(), port, &[])?;
    assert!(
        server
            .uri
            .starts_with(&format!("mongodb://127.0.0.1:{port}/?replicaSet="))
    );
    notes(&server.uri).await?.insert_one(doc! { "_id": 1 }).await?;

    let second = odm(dir.path(), &["server", "--stand-in", "--port", "1"])?;
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        message.contains("a server is running in this folder already"),
        "{message}"
    );

    let banner = std::fs::read_to_string(dir.path().join("output"))?;
    assert!(
        banner.contains(&format!("export MONGODB_URI='{}'", server.uri))
            && banner.contains("It is not MongoDB"),
        "{banner}"
    );
    server.interrupt()?;
    assert!(!dir.path().join(".odm/uri").exists());

    let server = Server::start(dir.path(), port, &[])?;
    assert_eq!(notes(&server.uri).await?.count_documents(doc! {}).await?, 1);
    server.interrupt()?;

    let server = Server::start(dir.path(), port, &["--fresh"])?;
    assert_eq!(notes(&server.uri).await?.count_documents(doc! {}).await?, 0);
    server.interrupt()
}

#[tokio::test]
async fn the_doctor_tries_every_feature_and_leaves_nothing_behind() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = Server::start(dir.path(), free_port()?, &[])?;
    let examined = odm(dir.path(), &["doctor", &server.uri])?;
    let report = String::from_utf8_lossy(&examined.stdout).into_owned();
    assert_eq!(examined.status.code(), Some(0), "{report}");
    for line in [
        "  ok       transactions\n",
        "  ok       unique indexes\n",
        "odm works on this server.",
    ] {
        assert!(report.contains(line), "{report}");
    }
    let names = Client::with_uri_str(&server.uri)
        .await?
        .list_database_names()
        .await?;
    assert!(
        !names.iter().any(|name| name.starts_with("odm_test_")),
        "{names:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_design_of_a_database_is_read_and_no_file_that_is_there_is_written() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = Server::start(dir.path(), free_port()?, &[])?;
    let db = Client::with_uri_str(&server.uri).await?.database("shop");
    let customers = (0..50).map(|n| doc! { "_id": n, "name": format!("Secret {n}") });
    db.collection("customers").insert_many(customers).await?;
    let orders = (0..200).map(|n| doc! { "_id": n, "customer": n % 50, "total": f64::from(n) / 2.0 });
    db.collection("orders").insert_many(orders).await?;

    let introspect = |arguments: &[&str]| {
        let all = [&["introspect", &server.uri, "--db", "shop"], arguments].concat();
        let done = odm(dir.path(), &all)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        anyhow::Ok((done.status.code(), text(&done.stdout), text(&done.stderr)))
    };
    let (code, out, err) = introspect(&["--out", "models", "--html", "report.html"])?;
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("shop: 2 collections"), "{out}");
    assert!(err.contains("orders: 200 documents"), "{err}");
    let path = dir.path().join("models/orders.rs");
    let model = std::fs::read_to_string(&path)?;
    assert!(model.contains("#[document(collection = \"orders\""), "{model}");
    assert!(std::fs::read_to_string(dir.path().join("report.html"))?.contains("orders"));

    let (code, out, err) = introspect(&["--against", "models"])?;
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    std::fs::write(&path, model.replace("pub total:", "// Net.\n    pub total:"))?;
    let note = doc! { "$set": { "note": "x" } };
    db.collection::<Document>("orders")
        .update_one(doc! { "_id": 1 }, note)
        .await?;
    let (code, out, err) = introspect(&["--against", "models"])?;
    assert_eq!(code, Some(1), "{err}");
    assert!(
        out.contains("`note` of `orders`") && out.contains("+    pub note: Option<String>"),
        "{out}"
    );
    assert!(!out.contains("-    // Net."), "{out}");

    std::fs::write(&path, "// mine\n")?;
    std::fs::remove_file(dir.path().join("models/customers.rs"))?;
    let (code, _, err) = introspect(&["--out", "models", "--all"])?;
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(std::fs::read_to_string(&path)?, "// mine\n");
    assert!(dir.path().join("models/customers.rs").exists());
    assert!(
        err.contains("mod.rs, orders.rs") && err.contains("--against models"),
        "{err}"
    );

    let (code, out, err) = introspect(&["--json", "--no-values"])?;
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with('{') && !out.contains("Secret"), "{out}");
    let (code, _, err) = introspect(&["--all", "--state", "models/orders.rs"])?;
    assert_eq!(code, Some(1));
    assert!(err.contains("models/orders.rs is no state of a reading"), "{err}");

    let missing = odm(dir.path(), &["introspect", &server.uri, "--db", "shopp"])?;
    let message = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(
        message.contains("the database `shopp` has no collections"),
        "{message}"
    );
    let unnamed = odm(dir.path(), &["introspect", &server.uri])?;
    let message = String::from_utf8_lossy(&unnamed.stderr).into_owned();
    assert!(message.contains("which database?"), "{message}");
    Ok(())
}

#[test]
fn the_doctor_names_a_server_that_does_not_answer_without_its_password() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let uri = format!(
        "mongodb://me:secret@127.0.0.1:{}/?serverSelectionTimeoutMS=300",
        free_port()?
    );
    let examined = odm(dir.path(), &["doctor", &uri])?;
    let message = String::from_utf8_lossy(&examined.stderr).into_owned();
    assert_eq!(examined.status.code(), Some(1), "{message}");
    assert!(
        message.contains("does not answer") && !message.contains("secret"),
        "{message}"
    );
    Ok(())
}

#[test]
fn a_new_application_is_made_once() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let made = odm(dir.path(), &["new", "my-app"])?;
    assert_eq!(made.status.code(), Some(0));
    assert!(dir.path().join("my-app/src/models.rs").is_file());
    let again = odm(dir.path(), &["new", "my-app"])?;
    assert_eq!(again.status.code(), Some(1));
    Ok(())
}

//! `odm server`: a MongoDB for development, with its data in the folder of the application.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use odm_launch::server::{Environment, Home, Server, Source, find_mongod, obtain, probe};
use odm_launch::step;
use tokio::time::{Instant, timeout};

/// The folder in which the server has its data, below the one that the command is run in.
const FOLDER: &str = ".odm";

/// The file that says where the server is while it runs: `odm::testing` reads it.
const URI: &str = "uri";

/// Start a MongoDB for development, and stop it with Ctrl-C.
///
/// It is the `mongod` that ODM_MONGOD names or that is on the PATH, as a replica set of one node, which has transactions; where
/// there is none, one in a container of Docker. Its data is in `.odm/`, and stays there for the next start.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The port of 127.0.0.1 that the server listens on.
    #[arg(long, default_value_t = 27017)]
    port: u16,
    /// Delete the data of earlier runs first.
    #[arg(long)]
    fresh: bool,
    /// Start SecantusDB instead: it speaks MongoDB's protocol and installs in a minute where Python is, but it is not MongoDB.
    #[arg(long)]
    stand_in: bool,
    /// The folder of the server's data.
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    dir: PathBuf,
}

/// Starts the server and waits until it ends, or the command is interrupted.
pub async fn run(arguments: Arguments) -> Result<u8> {
    let source = choose(arguments.stand_in, &Environment::read(), &arguments.dir)?;
    let dir = arguments.dir.join(source.kind());
    refuse_a_second(&arguments.dir).await?;
    prepare(&arguments.dir)?;
    if arguments.fresh && dir.exists() {
        std::fs::remove_dir_all(&dir).with_context(|| format!("{} cannot be deleted", dir.display()))?;
        step(format!("deleted the data in {}", dir.display()));
    }
    let is_stand_in = source.is_stand_in();
    let home = Home::Folder {
        dir: dir.clone(),
        port: arguments.port,
    };
    let mut server = obtain(source, home).await?;
    let _announced = Announced::new(&arguments.dir.join(URI), server.uri())?;
    println!("{}", banner(&server, &dir, is_stand_in));
    let end = server.ended().await;
    bail!("{end}")
}

/// Decides which server to start.
fn choose(stand_in: bool, environment: &Environment, dir: &Path) -> Result<Source> {
    if stand_in {
        return Ok(Source::stand_in(environment, dir.join("tools")));
    }
    if let Some(program) = find_mongod(environment)? {
        return Ok(Source::Mongod(program));
    }
    if let Some(docker) = &environment.docker {
        return Ok(Source::Docker(docker.clone()));
    }
    bail!(
        "there is neither a `mongod` on the PATH nor Docker. Install MongoDB (https://www.mongodb.com/docs/manual/installation/) or \
         Docker, or run `odm server --stand-in`: it starts SecantusDB, a server that speaks MongoDB's protocol and is good for a first \
         try"
    )
}

/// A server that another terminal has started in this folder would lose its data to this one.
async fn refuse_a_second(dir: &Path) -> Result<()> {
    let Ok(uri) = std::fs::read_to_string(dir.join(URI)) else {
        return Ok(());
    };
    let uri = uri.trim();
    let deadline = Instant::now() + Duration::from_secs(2);
    // The file stays where a server was killed.
    match timeout(Duration::from_secs(3), probe::reach(uri, deadline)).await {
        Ok(Ok(_)) => bail!("a server is running in this folder already, at {uri}"),
        _ => Ok(()),
    }
}

/// Makes the folder, and keeps it out of the repository of the application.
fn prepare(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be created", dir.display()))?;
    let ignored = dir.join(".gitignore");
    std::fs::write(&ignored, "*\n").with_context(|| format!("{} cannot be written", ignored.display()))
}

fn banner(server: &Server, dir: &Path, is_stand_in: bool) -> String {
    let mut text = format!(
        "\n  export MONGODB_URI='{}'\n\n  The data is in {} and stays there (--fresh deletes it). Ctrl-C stops the server.\n",
        server.uri(),
        dir.display()
    );
    if is_stand_in {
        text.push_str(
            "  This is SecantusDB, a stand-in that speaks MongoDB's protocol. It is not MongoDB: don't keep data in it, and run\n  \
             your tests on MongoDB before you rely on them.\n",
        );
    }
    text
}

/// The file that says where the server is, removed when the server stops.
struct Announced(PathBuf);

impl Announced {
    fn new(path: &Path, uri: &str) -> Result<Self> {
        std::fs::write(path, format!("{uri}\n"))
            .with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Where it can't be removed, it names a server that does not answer, which is noticed.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn environment(mongod: bool, docker: bool) -> Environment {
        Environment {
            uri: Some("mongodb://production.example/".into()),
            odm_mongod: None,
            mongod: mongod.then(|| "/usr/bin/mongod".into()),
            secantusd_rs: Some("/usr/bin/secantusd-rs".into()),
            docker: docker.then(|| "/usr/bin/docker".into()),
        }
    }

    #[test]
    fn a_mongod_comes_before_docker_and_a_stand_in_only_on_request() -> Result<()> {
        let dir = Path::new(FOLDER);
        let kind =
            |stand_in, mongod, docker| choose(stand_in, &environment(mongod, docker), dir).map(|s| s.kind());
        assert_eq!(kind(false, true, true)?, "mongod");
        assert_eq!(kind(false, false, true)?, "docker");
        assert_eq!(kind(true, true, true)?, "secantus-rs");
        let message = kind(false, false, false)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(message.contains("odm server --stand-in"), "{message}");
        Ok(())
    }

    #[test]
    fn the_folder_is_no_part_of_a_repository() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let folder = dir.path().join(FOLDER);
        prepare(&folder)?;
        assert_eq!(std::fs::read_to_string(folder.join(".gitignore"))?, "*\n");
        Ok(())
    }

    #[test]
    fn the_file_with_the_address_goes_with_the_server() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join(URI);
        let announced = Announced::new(&path, "mongodb://127.0.0.1:1/")?;
        assert_eq!(std::fs::read_to_string(&path)?, "mongodb://127.0.0.1:1/\n");
        drop(announced);
        assert!(!path.exists());
        Ok(())
    }

    #[tokio::test]
    async fn the_address_of_a_killed_server_is_no_obstacle() -> Result<()> {
        let dir = tempfile::tempdir()?;
        refuse_a_second(dir.path()).await?;
        std::fs::write(
            dir.path().join(URI),
            "mongodb://127.0.0.1:9/?directConnection=true\n",
        )?;
        refuse_a_second(dir.path()).await
    }
}

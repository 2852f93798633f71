//! Questions to a server through the driver: is it there, what is it, is it a primary.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::error::ErrorKind;
use mongodb::options::ClientOptions;
use tokio::time::{Instant, sleep, timeout_at};

/// How long one question waits for a server before it is asked again.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    set: Option<String>,
    primary: bool,
    router: bool,
    /// Whether a write is acknowledged by a majority where nothing else is asked for: since MongoDB 5.0.
    majority: bool,
    version: String,
}

impl Hello {
    fn read(hello: &Document, build: &Document) -> Self {
        let version = build.get_str("version").unwrap_or("of unknown version");
        Self {
            set: hello.get_str("setName").ok().map(str::to_owned),
            primary: ["isWritablePrimary", "ismaster"]
                .into_iter()
                .any(|name| hello.get_bool(name).unwrap_or(false)),
            router: hello.get_str("msg").is_ok_and(|message| message == "isdbgrid"),
            majority: hello.get_i32("maxWireVersion").is_ok_and(|version| version >= 13),
            version: match build.get_str("secantusVersion") {
                Ok(own) => format!("SecantusDB {own} (as MongoDB {version})"),
                Err(_) => format!("MongoDB {version}"),
            },
        }
    }

    /// Whether the server is of a kind that has transactions and change streams.
    pub fn has_transactions(&self) -> bool {
        self.set.is_some() || self.router
    }

    /// The URI of this server when it listens on `port` of this machine.
    pub fn uri(&self, port: u16) -> String {
        match &self.set {
            // A transaction need not see a write that only the primary has acknowledged.
            Some(set) if !self.majority => format!("mongodb://127.0.0.1:{port}/?replicaSet={set}&w=majority"),
            Some(set) => format!("mongodb://127.0.0.1:{port}/?replicaSet={set}"),
            None => format!("mongodb://127.0.0.1:{port}/"),
        }
    }
}

impl fmt::Display for Hello {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.version)
    }
}

/// A URI that reaches one server as it is, whatever set it belongs to or has yet to join.
pub fn direct_uri(port: u16) -> String {
    format!("mongodb://127.0.0.1:{port}/?directConnection=true")
}

/// A client that gives up soon, for questions that are asked again.
pub async fn client(uri: &str) -> Result<Client> {
    let mut options = ClientOptions::parse(uri).await?;
    options.server_selection_timeout = Some(PATIENCE);
    options.connect_timeout = Some(PATIENCE);
    Ok(Client::with_options(options)?)
}

/// The command `hello` by its names: it came with MongoDB 4.4.2, and every server still knows the older one.
pub const HELLO: [&str; 2] = ["hello", "isMaster"];

/// Whether a server does not know a command.
pub fn is_unknown(error: &mongodb::error::Error) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 59)
}

async fn ask(client: &Client) -> Result<Hello> {
    let admin = client.database("admin");
    let [name, older] = HELLO;
    let hello = match admin.run_command(doc! { name: 1 }).await {
        Err(error) if is_unknown(&error) => admin.run_command(doc! { older: 1 }).await?,
        answer => answer?,
    };
    let build = admin
        .run_command(doc! { "buildInfo": 1 })
        .await
        .unwrap_or_default();
    Ok(Hello::read(&hello, &build))
}

/// Asks until the server answers.
pub async fn reach(uri: &str, deadline: Instant) -> Result<Hello> {
    until(uri, deadline, |_| true).await
}

/// Asks these servers from time to time, until one of them has not answered for this long.
pub async fn until_silent(uris: &[&str], silent_after: Duration) {
    let mut answered: Vec<Instant> = uris.iter().map(|_| Instant::now()).collect();
    while answered.iter().all(|at| at.elapsed() < silent_after) {
        for (uri, at) in uris.iter().zip(&mut answered) {
            if reach(uri, Instant::now() + PATIENCE).await.is_ok() {
                *at = Instant::now();
            }
        }
        sleep(PATIENCE.min(silent_after)).await;
    }
}

/// Asks a server of this machine until it answers as a primary.
pub async fn until_primary(port: u16, deadline: Instant) -> Result<Hello> {
    until_listening(port, deadline).await?;
    until(&direct_uri(port), deadline, |hello| hello.primary).await
}

async fn until(uri: &str, deadline: Instant, accept: impl Fn(&Hello) -> bool) -> Result<Hello> {
    let client = client(uri).await.context("the connection string is not valid")?;
    let mut last = anyhow!("no answer");
    let asked = timeout_at(deadline, async {
        loop {
            match ask(&client).await {
                Ok(hello) if accept(&hello) => return hello,
                Ok(_) => last = anyhow!("it answers, but not as a primary"),
                Err(error) => last = error,
            }
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    asked.map_err(|_| last.context("gave up waiting"))
}

/// Waits until something accepts connections on `port`; the driver itself would look again only every so often.
pub async fn until_listening(port: u16, deadline: Instant) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    while let Err(error) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        if Instant::now() >= deadline {
            return Err(anyhow!(error).context(format!("gave up waiting for port {port}")));
        }
        sleep(Duration::from_millis(25)).await;
    }
    Ok(())
}

/// The URI without the user name and password it may hold.
pub fn without_credentials(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return "<not a connection string>".to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // A password that was not percent-encoded may hold any of these characters.
    let (authority, path) = match path.rfind('@') {
        Some(_) => ("<hidden>", ""),
        None => (authority, path),
    };
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    format!("{scheme}://{hosts}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_of_a_set_is_recognised() {
        let hello = Hello::read(
            &doc! { "setName": "odm", "isWritablePrimary": true, "maxWireVersion": 25 },
            &doc! { "version": "8.0.1" },
        );
        assert!(hello.primary && hello.has_transactions());
        assert_eq!(hello.uri(4321), "mongodb://127.0.0.1:4321/?replicaSet=odm");
        assert_eq!(hello.to_string(), "MongoDB 8.0.1");
    }

    #[test]
    fn an_old_server_is_asked_for_a_majority() {
        let hello = doc! { "setName": "odm", "isWritablePrimary": true, "maxWireVersion": 9 };
        let hello = Hello::read(&hello, &doc! { "version": "4.4.29" });
        assert_eq!(hello.uri(1), "mongodb://127.0.0.1:1/?replicaSet=odm&w=majority");
    }

    #[test]
    fn a_router_has_transactions_and_a_standalone_has_not() {
        let standalone = Hello::read(&doc! { "isWritablePrimary": true }, &doc! {});
        assert!(standalone.primary && !standalone.has_transactions());
        assert_eq!(standalone.uri(1), "mongodb://127.0.0.1:1/");
        let router = Hello::read(&doc! { "isWritablePrimary": true, "msg": "isdbgrid" }, &doc! {});
        assert!(router.has_transactions());
    }

    #[test]
    fn credentials_are_not_shown() {
        for (uri, shown) in [
            (
                "mongodb://127.0.0.1:27017/?replicaSet=odm",
                "mongodb://127.0.0.1:27017/?replicaSet=odm",
            ),
            ("mongodb://me:secret@a:1,b:2/db?x=y", "mongodb://a:1,b:2/db?x=y"),
            (
                "mongodb+srv://me:secret@cluster.example",
                "mongodb+srv://cluster.example",
            ),
            ("mongodb://me:sec/ret@a:1/db", "mongodb://<hidden>"),
            ("secret", "<not a connection string>"),
        ] {
            assert_eq!(without_credentials(uri), shown);
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_silent() -> Result<()> {
        let uri = direct_uri(super::super::free_port()?);
        let uris = [uri.as_str()];
        let silent = until_silent(&uris, Duration::from_millis(1));
        timeout_at(Instant::now() + 4 * PATIENCE, silent).await?;
        let waiting = until_silent(&uris, 60 * PATIENCE);
        assert!(timeout_at(Instant::now(), waiting).await.is_err());
        Ok(())
    }

    #[tokio::test]
    async fn a_port_without_a_listener_is_given_up() -> Result<()> {
        let port = super::super::free_port()?;
        let error = until_primary(port, Instant::now()).await;
        assert!(error.is_err_and(|error| error.to_string().contains(&port.to_string())));
        Ok(())
    }
}

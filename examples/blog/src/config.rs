//! The configuration, from the environment.

use anyhow::{Context, Result};
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Config {
    /// `MONGODB_URI`: the server, and the name of the database as its path.
    pub uri: String,
    /// `BLOG_ADDR`: where the service listens.
    pub addr: SocketAddr,
    /// `BLOG_SYNC`: whether the service brings the schema up to date when it
    /// starts. Where several versions run, it only checks its models.
    pub sync: bool,
    /// `BLOG_WORKER_SECONDS`: how often pending work is looked for.
    pub worker: Duration,
    /// `BLOG_FAN_OUT`: how many documents may change in one transaction with the
    /// document that they copy from. More are updated after it.
    pub fan_out: usize,
    /// `BLOG_RECONCILER`: whether out-of-band writes are followed.
    pub reconciler: bool,
    /// `BLOG_LOG`: what is logged, such as `info,odm=debug`.
    pub log: String,
}

impl Config {
    /// Reads the configuration by the names of its variables.
    pub fn read(var: impl Fn(&str) -> Option<String>) -> Result<Config> {
        let or = |name: &str, default: &str| {
            var(name)
                .filter(|value| !value.is_empty())
                .unwrap_or(default.to_owned())
        };
        let is = |name: &str, default: &str| match or(name, default).as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => anyhow::bail!("{name} is `{other}`: write true or false"),
        };
        let addr = or("BLOG_ADDR", "127.0.0.1:3000");
        let seconds = or("BLOG_WORKER_SECONDS", "30");
        let seconds =
            seconds.parse().context("BLOG_WORKER_SECONDS is no number")?;
        let fan_out = or("BLOG_FAN_OUT", "1000");
        let fan_out = fan_out.parse().context("BLOG_FAN_OUT is no number")?;
        Ok(Config {
            uri: var("MONGODB_URI").context("MONGODB_URI names no server")?,
            addr: addr.parse().context("BLOG_ADDR is no address with a port")?,
            sync: is("BLOG_SYNC", "true")?,
            worker: Duration::from_secs(seconds),
            fan_out,
            reconciler: is("BLOG_RECONCILER", "true")?,
            log: or("BLOG_LOG", "info"),
        })
    }

    /// The database. The driver connects with the first operation.
    pub async fn database(&self) -> Result<Database> {
        let mut options = ClientOptions::parse(&self.uri).await?;
        options.app_name.get_or_insert_with(|| "blog".to_owned());
        // A request fails after this time where no server answers.
        options.server_selection_timeout.get_or_insert(Duration::from_secs(5));
        let name = options.default_database.clone();
        let client = Client::with_options(options)?;
        Ok(client.database(name.as_deref().unwrap_or("blog")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_has_a_default_and_mistakes_name_their_variable() {
        let uri =
            |name: &str| (name == "MONGODB_URI").then(|| "mongodb://h/".to_owned());
        let config = Config::read(uri).expect("the defaults");
        assert_eq!((config.sync, config.worker.as_secs()), (true, 30));
        assert_eq!(config.addr.port(), 3000);

        let missing = Config::read(|_| None).expect_err("no server");
        assert!(missing.to_string().starts_with("MONGODB_URI"));
        for wrong in
            ["BLOG_ADDR", "BLOG_SYNC", "BLOG_WORKER_SECONDS", "BLOG_FAN_OUT"]
        {
            let var = |name: &str| match name {
                "MONGODB_URI" => uri(name),
                _ => (name == wrong).then(|| "yes please".to_owned()),
            };
            let error = Config::read(var).expect_err("a mistake");
            assert!(error.to_string().starts_with(wrong), "{error}");
        }
    }
}

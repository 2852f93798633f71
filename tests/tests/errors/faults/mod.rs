//! Errors and retries where a server refuses an operation, closes a cursor, or where its reply is lost.

#![allow(missing_docs)]

mod cursors;
mod errors;
mod replies;

use odm::bson::{Document as Doc, doc};
use odm::mongodb::Client;
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::mongodb::options::ClientOptions;
use odm::prelude::*;
use odm_tests::TestDb;
use odm_tests::proxy::{Proxy, server};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "accounts")]
pub struct Account {
    pub id: i32,
    pub name: String,
    #[field(max = 1_000)]
    pub cents: i32,
    #[embed(max = 10)]
    pub limits: Vec<Limit>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Limit {
    pub kind: String,
    #[field(max = 100)]
    pub cents: i32,
}

/// Its owner's name is copied into it, and it goes with its owner: writes of both are transactions.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pets")]
pub struct Pet {
    pub id: i32,
    #[reference(on_delete = cascade)]
    pub owner: Ref<Owner>,
    #[denormalize(from = owner.name)]
    pub owner_name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "owners")]
pub struct Owner {
    pub id: i32,
    pub name: String,
    pub visits: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Account, size = 3)]
pub struct Entry {
    pub cents: i32,
}

pub fn models() -> Vec<odm::Model> {
    models![Account, EntryBucket, Owner, Pet].into_iter().collect()
}

pub fn account(id: i32, cents: i32) -> Account {
    Account {
        id,
        name: format!("account {id}"),
        cents,
        limits: Vec::new(),
    }
}

/// The test's database by way of the proxy, with a record of the commands and the last cursor.
pub async fn through(proxy: &Proxy, t: &TestDb) -> (Odm, Seen) {
    let mut options = proxy.options().await;
    options.server_selection_timeout = Some(Duration::from_secs(20));
    watched(options, t).await
}

/// The same without a proxy.
pub async fn directly(t: &TestDb) -> (Odm, Seen) {
    watched(ClientOptions::parse(odm_tests::uri()).await.unwrap(), t).await
}

async fn watched(mut options: ClientOptions, t: &TestDb) -> (Odm, Seen) {
    let seen = Seen::default();
    let watch = seen.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| match event {
        CommandEvent::Started(started) => watch.commands.lock().unwrap().push(started.command),
        CommandEvent::Succeeded(succeeded) => {
            let reply = succeeded.reply;
            let id = reply
                .get_document("cursor")
                .and_then(|cursor| cursor.get_i64("id"));
            if let Ok(id) = id {
                *watch.cursor.lock().unwrap() = id;
            }
        }
        _ => {}
    }));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    let odm = Odm::new(db, models()).unwrap();
    (odm, seen)
}

/// The commands of a client, and its last cursor.
#[derive(Clone, Default)]
pub struct Seen {
    commands: Arc<Mutex<Vec<Doc>>>,
    /// The last cursor.
    cursor: Arc<Mutex<i64>>,
}

impl Seen {
    pub fn take(&self) -> Vec<Doc> {
        std::mem::take(&mut self.commands.lock().unwrap())
    }

    /// Has the server close the cursor that was opened last; whether it was open.
    pub async fn kill(&self, t: &TestDb, collection: &str) -> bool {
        let id = *self.cursor.lock().unwrap();
        let kill = doc! { "killCursors": collection, "cursors": [id] };
        let killed = t.db.run_command(kill).await.unwrap();
        id != 0 && killed.get_array("cursorsKilled").unwrap().len() == 1
    }
}

pub async fn proxy() -> Proxy {
    let proxy = Proxy::start(&server().await, 0).await;
    proxy.arm();
    proxy
}

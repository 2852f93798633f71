//! A connection that can be cut: what a process sends passes through here, and at the n-th command everything ends.
//!
//! The server executes the n-th command, and its answer is withheld: the worst moment, since the process can't
//! know. From then on nothing passes in either direction, and no new connection is taken. The other moment, before the
//! server has the command, is the same as after the answer to the command before.
//!
//! It can also hold one command, before the server gets it or before its reply is passed on, while the process goes on or drops its
//! future.
//!
//! It can also lose single commands or their answers, or answer in the server's place, and pass on whatever follows.
//!
//! And it can make a member of a replica set, or a router of a sharded cluster, look like a standalone server: its answers to `hello`
//! tell of neither, and commands that a standalone server refuses are refused. Or it makes a member look like a router, by its answers
//! to `hello` alone.

use crate::{filters, uri};
use mongodb::Client;
use mongodb::bson::{Document, RawDocument, doc};
use mongodb::options::{ClientOptions, ServerAddress, ServerMonitoringMode};
use odm_router::wire::{self, HEADER, MORE_TO_COME, OP_MSG, body, message, number, packed, whole};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The driver's own traffic.
const UNCOUNTED: [&str; 8] = [
    "hello",
    "isMaster",
    "ismaster",
    "ping",
    "endSessions",
    "saslStart",
    "saslContinue",
    "authenticate",
];

/// What asks a server what it is.
const GREETINGS: [&str; 3] = ["hello", "isMaster", "ismaster"];

/// The description of a replica set in a member's answer, and of a router in its own: `msg` is `isdbgrid`.
const OF_THE_DEPLOYMENT: [&str; 13] = [
    "msg",
    "setName",
    "setVersion",
    "hosts",
    "passives",
    "arbiters",
    "primary",
    "me",
    "electionId",
    "lastWrite",
    "secondary",
    "topologyVersion",
    "$clusterTime",
];

/// What the server looks like by its answers to `hello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    AsItIs,
    Standalone,
    Router,
}

/// What becomes of a command.
#[derive(Clone, Debug)]
pub enum Fate {
    /// The server does not get it, and the connection ends.
    Lost,
    /// The server executes it, and the connection ends before its answer.
    Unanswered,
    /// The server does not get it, and this is the answer. A transaction that it would have committed is ended.
    Answered(Document),
}

/// A command that has come.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its name.
    pub name: String,
    /// Its transaction, by session and number.
    pub transaction: Option<(Vec<u8>, i64)>,
}

/// When a command is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The server has not got it. When it is released, a command of a transaction is passed on; any other one is lost, with its
    /// connection.
    BeforeSending,
    /// The server has executed it, and its reply is outstanding.
    BeforeReply,
}

/// The command that is held, by its number among those that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hold {
    at: usize,
    moment: Moment,
}

/// Whether a command is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    None,
    Waits(Hold),
    Reached(Hold),
}

/// Between one process and the server.
pub struct Proxy {
    /// Where a process connects to.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    server: String,
    looks: Looks,
    armed: AtomicBool,
    /// At which command everything ends; 0: at none.
    at: AtomicUsize,
    sent: AtomicUsize,
    dead: watch::Sender<bool>,
    held: watch::Sender<Held>,
    /// How many commands have come that are not answered yet.
    in_flight: AtomicUsize,
    /// How many write conflicts the server has answered.
    conflicts: AtomicUsize,
    /// The commands so far.
    commands: Mutex<Vec<Sent>>,
    /// What becomes of the next commands of a name, and of how many.
    fates: Mutex<Vec<(String, usize, Fate)>>,
    /// What becomes of the command with a number.
    fate_at: Mutex<Option<(usize, Fate)>>,
    /// The first filter that a router would refuse for its form.
    refused_filter: Mutex<Option<String>>,
    /// The transactions that are open, by session and number.
    open: Mutex<BTreeMap<(Vec<u8>, i64), Document>>,
    connections: Mutex<Vec<JoinHandle<()>>>,
}

/// The address of the server that takes writes: of a replica set the primary, whichever is named first.
///
/// # Panics
/// Where the server does not answer.
pub async fn server() -> String {
    static ADDRESSES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let uri = uri();
    if let Some(known) = ADDRESSES.lock().unwrap().get(&uri) {
        return known.clone();
    }
    let options = ClientOptions::parse(&uri).await.unwrap();
    let first = options.hosts[0].to_string();
    let address = match options.direct_connection {
        Some(true) => first,
        _ => {
            // Every version knows it by this name.
            let hello = doc! { "isMaster": 1 };
            let admin = Client::with_options(options).unwrap().database("admin");
            let hello = admin.run_command(hello).await.unwrap();
            hello.get_str("primary").map_or(first, str::to_owned)
        }
    };
    ADDRESSES.lock().unwrap().insert(uri, address.clone());
    address
}

impl Proxy {
    /// The options that are given for all tests, with the credentials in them, but by way of the proxy alone.
    ///
    /// # Panics
    /// Where `MONGODB_URI` is not usable.
    pub async fn options(&self) -> ClientOptions {
        let mut options = ClientOptions::parse(uri())
            .await
            .unwrap_or_else(|e| panic!("MONGODB_URI is not usable: {e}"));
        options.hosts = vec![ServerAddress::parse(self.address.to_string()).expect("an address")];
        options.direct_connection = Some(true);
        options.repl_set_name = None;
        options.load_balanced = None;
        // Not by requests that the server holds back for seconds, whose answers the proxy would wait for at the end.
        options.server_monitoring_mode = Some(ServerMonitoringMode::Poll);
        options
    }

    /// The URI that is given for all tests, with the credentials and options in it, but by way of the proxy alone: for a process.
    ///
    /// # Panics
    /// Where `MONGODB_URI` is not usable.
    pub fn uri(&self) -> String {
        let given = uri();
        let (servers, options) = given.split_once('?').unwrap_or((&given, ""));
        let (_, servers) = servers.split_once("://").expect("MONGODB_URI is not usable");
        let user = servers.rsplit_once('@').map(|(user, _)| format!("{user}@"));
        let of_set = |option: &&str| {
            ["replicaSet=", "directConnection=", "loadBalanced="]
                .iter()
                .any(|name| option.starts_with(name))
        };
        let options = options
            .split('&')
            .filter(|option| !option.is_empty() && !of_set(option));
        let options: String = options.map(|option| format!("&{option}")).collect();
        let (user, address) = (user.unwrap_or_default(), self.address);
        // As in `options`.
        format!("mongodb://{user}{address}/?directConnection=true&serverMonitoringMode=poll{options}")
    }

    /// One that ends everything at the command with this number, once it is armed.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn start(server: &str, at: usize) -> Proxy {
        Proxy::of(server, at, Looks::AsItIs).await
    }

    /// The same, behind which the server looks like a standalone one.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn standalone(server: &str, at: usize) -> Proxy {
        Proxy::of(server, at, Looks::Standalone).await
    }

    /// The same, behind which the server looks like a router of a sharded cluster.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn router(server: &str, at: usize) -> Proxy {
        Proxy::of(server, at, Looks::Router).await
    }

    async fn of(server: &str, at: usize, looks: Looks) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            looks,
            armed: AtomicBool::new(false),
            at: AtomicUsize::new(at),
            sent: AtomicUsize::new(0),
            dead: watch::Sender::new(false),
            held: watch::Sender::new(Held::None),
            in_flight: AtomicUsize::new(0),
            conflicts: AtomicUsize::new(0),
            commands: Mutex::default(),
            fates: Mutex::default(),
            fate_at: Mutex::default(),
            refused_filter: Mutex::default(),
            open: Mutex::default(),
            connections: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Proxy {
            address,
            shared,
            accepting,
        }
    }

    /// Counts from now on.
    pub fn arm(&self) {
        self.shared.armed.store(true, Ordering::SeqCst);
    }

    /// Ends everything at this command from now on.
    pub fn cut_after(&self, commands: usize) {
        let at = self.shared.sent.load(Ordering::SeqCst) + commands;
        self.shared.at.store(at, Ordering::SeqCst);
    }

    /// The fates of this number of commands of this name, from now on.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn next(&self, name: &str, times: usize, fate: Fate) {
        self.shared
            .fates
            .lock()
            .unwrap()
            .push((name.to_owned(), times, fate));
    }

    /// The fate of the command with this number, counted from now on.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn at(&self, commands: usize, fate: Fate) {
        let at = self.shared.sent.load(Ordering::SeqCst) + commands;
        *self.shared.fate_at.lock().unwrap() = Some((at, fate));
    }

    /// Whether all that was to become of commands has.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn is_done(&self) -> bool {
        self.shared.fates.lock().unwrap().is_empty() && self.shared.fate_at.lock().unwrap().is_none()
    }

    /// Holds the command with this number, counted from now on.
    pub fn hold(&self, commands: usize, moment: Moment) {
        let at = self.shared.sent.load(Ordering::SeqCst) + commands;
        self.shared.held.send_replace(Held::Waits(Hold { at, moment }));
    }

    /// Waits until it has come.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn reached(&self) {
        let mut held = self.shared.held.subscribe();
        held.wait_for(|held| matches!(held, Held::Reached(_)))
            .await
            .unwrap();
    }

    /// Lets it go on.
    pub fn release(&self) {
        self.shared.held.send_replace(Held::None);
    }

    /// Whether every command is answered, and every transaction has ended.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn is_quiet(&self) -> bool {
        self.shared.in_flight.load(Ordering::SeqCst) == 0 && self.shared.open.lock().unwrap().is_empty()
    }

    /// How many transactions are open, which it ends. The server itself does so after a minute.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn end_transactions(&self) -> usize {
        let open = std::mem::take(&mut *self.shared.open.lock().unwrap());
        let number = open.len();
        for transaction in open.into_values() {
            abort(&self.shared.server, transaction).await;
        }
        number
    }

    /// How many write conflicts the server has answered, since the last time.
    pub fn take_conflicts(&self) -> usize {
        self.shared.conflicts.swap(0, Ordering::SeqCst)
    }

    /// Waits for the cut.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub async fn cut(&self) {
        let mut dead = self.shared.dead.subscribe();
        dead.wait_for(|dead| *dead).await.unwrap();
    }

    /// Whether everything has ended.
    pub fn is_cut(&self) -> bool {
        *self.shared.dead.borrow()
    }

    /// The commands so far.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn names(&self) -> Vec<String> {
        let commands = self.shared.commands.lock().unwrap();
        commands.iter().map(|command| command.name.clone()).collect()
    }

    /// The commands since the last time.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn take_names(&self) -> Vec<String> {
        self.take_commands()
            .into_iter()
            .map(|command| command.name)
            .collect()
    }

    /// The same with their transactions.
    ///
    /// # Panics
    /// Where a connection or a task has failed.
    pub fn take_commands(&self) -> Vec<Sent> {
        std::mem::take(&mut self.shared.commands.lock().unwrap())
    }

    /// Ends all connections, when the server has executed the commands it got, and the transactions that are open then: the server
    /// itself does so a minute after their process has died.
    ///
    /// # Panics
    /// Where a connection or a task has failed, and where a filter was sent that a router of a sharded cluster refuses.
    pub async fn bury(self) {
        self.shared.dead.send_replace(true);
        self.accepting.await.unwrap();
        let connections = std::mem::take(&mut *self.shared.connections.lock().unwrap());
        for connection in connections {
            connection.await.unwrap();
        }
        let open = std::mem::take(&mut *self.shared.open.lock().unwrap());
        for transaction in open.into_values() {
            abort(&self.shared.server, transaction).await;
        }
        let refused = self.shared.refused_filter.lock().unwrap().take();
        assert_eq!(refused, None, "a router refuses a filter that was sent");
    }
}

/// A command that is not answered yet.
struct InFlight<'s>(&'s Shared);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Holds this command, if it is the one and this is the moment. Gives whether it was.
    async fn hold(&self, number: usize, moment: Moment) -> bool {
        let hold = Hold { at: number, moment };
        let is_held = self.held.send_if_modified(|held| {
            let is_it = *held == Held::Waits(hold);
            if is_it {
                *held = Held::Reached(hold);
            }
            is_it
        });
        if is_held {
            let mut held = self.held.subscribe();
            held.wait_for(|held| *held != Held::Reached(hold)).await.unwrap();
        }
        is_held
    }

    fn fate(&self, name: &str, number: usize) -> Option<Fate> {
        if let Some((_, fate)) = self.fate_at.lock().unwrap().take_if(|(at, _)| *at == number) {
            return Some(fate);
        }
        let mut fates = self.fates.lock().unwrap();
        let at = fates.iter().position(|(of, ..)| of == name)?;
        let (_, left, fate) = &mut fates[at];
        *left -= 1;
        let (left, fate) = (*left, fate.clone());
        if left == 0 {
            fates.remove(at);
        }
        Some(fate)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut dead = shared.dead.subscribe();
    loop {
        let client = tokio::select! {
            biased;
            _ = dead.wait_for(|dead| *dead) => return,
            client = listener.accept() => client.unwrap().0,
        };
        let connection = tokio::spawn(serve(client, shared.clone()));
        shared.connections.lock().unwrap().push(connection);
    }
}

/// One connection: a message, and its answer. It ends when one of both ends drops it.
async fn serve(mut client: TcpStream, shared: Arc<Shared>) {
    let Ok(mut server) = TcpStream::connect(&shared.server).await else {
        return;
    };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut dead = shared.dead.subscribe();
    loop {
        let request = tokio::select! {
            biased;
            _ = dead.wait_for(|dead| *dead) => return,
            request = message(&mut client) => request,
        };
        let Some(request) = request else { return };
        let command = Command::of(&request);
        let filters = command.as_ref().filter(|command| command.name != "insert");
        if let Some(refused) = filters.and_then(|_| filters::problem(&whole(&request)?)) {
            shared.refused_filter.lock().unwrap().get_or_insert(refused);
        }
        let is_greeting = |command: &Command| GREETINGS.contains(&command.name.as_str());
        let _in_flight = command.as_ref().filter(|command| !is_greeting(command)).map(|_| {
            shared.in_flight.fetch_add(1, Ordering::SeqCst);
            InFlight(&shared)
        });
        let mut number = 0;
        if let Some(command) = command
            .as_ref()
            .filter(|command| !UNCOUNTED.contains(&command.name.as_str()))
            && shared.armed.load(Ordering::SeqCst)
        {
            number = shared.sent.fetch_add(1, Ordering::SeqCst) + 1;
            shared.commands.lock().unwrap().push(Sent {
                name: command.name.clone(),
                transaction: command.transaction.as_ref().map(|(key, _)| key.clone()),
            });
        }
        let fate = match &command {
            Some(command) if shared.looks == Looks::Standalone && command.needs_a_set => {
                Some(Fate::Answered(refusal()))
            }
            Some(command) => shared.fate(&command.name, number),
            None => None,
        };
        match fate {
            Some(Fate::Lost) => return,
            Some(Fate::Answered(answer)) => {
                let transaction = command.and_then(|command| {
                    command
                        .transaction
                        .filter(|_| command.name == "commitTransaction")
                });
                if let Some((key, ending)) = transaction {
                    shared.open.lock().unwrap().remove(&key);
                    abort(&shared.server, ending).await;
                }
                let to = wire::number(&request, 4).unwrap_or_default();
                if client.write_all(&packed(&answer, to)).await.is_err() {
                    return;
                }
                continue;
            }
            Some(Fate::Unanswered) | None => {}
        }
        if number > 0
            && shared.hold(number, Moment::BeforeSending).await
            && command
                .as_ref()
                .is_some_and(|command| command.transaction.is_none())
        {
            return;
        }
        if let Some((key, abort)) = command.as_ref().and_then(|command| command.transaction.clone()) {
            shared.open.lock().unwrap().insert(key, abort);
        }
        if server.write_all(&request).await.is_err() {
            return;
        }
        if command.as_ref().is_some_and(|command| command.unanswered) {
            continue;
        }
        // From here the server has it, and it is waited for also by a dead process.
        let Some(answer) = message(&mut server).await else {
            return;
        };
        if let Some(command) = &command
            && matches!(command.name.as_str(), "commitTransaction" | "abortTransaction")
            && let Some((key, _)) = &command.transaction
        {
            shared.open.lock().unwrap().remove(key);
        }
        if fate.is_some() {
            return;
        }
        if is_conflict(&answer) {
            shared.conflicts.fetch_add(1, Ordering::SeqCst);
        }
        if number > 0 {
            shared.hold(number, Moment::BeforeReply).await;
        }
        let to = wire::number(&request, 4).unwrap_or_default();
        let answer = match shared.looks {
            Looks::Standalone if command.as_ref().is_some_and(is_greeting) => {
                standalone(&answer, to).unwrap_or(answer)
            }
            Looks::Router if command.as_ref().is_some_and(is_greeting) => {
                router(&answer, to).unwrap_or(answer)
            }
            _ => answer,
        };
        if number > 0 && number == shared.at.load(Ordering::SeqCst) {
            shared.dead.send_replace(true);
        }
        if *dead.borrow() || client.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The request of a message.
struct Command {
    name: String,
    unanswered: bool,
    /// Whether a standalone server refuses it: it has a transaction's number, be it that of a retryable write, or opens a change
    /// stream.
    needs_a_set: bool,
    /// The transaction that it is part of, and the command that would end it.
    transaction: Option<((Vec<u8>, i64), Document)>,
}

impl Command {
    /// `None` for what is no command, as the first greeting.
    fn of(message: &[u8]) -> Option<Command> {
        if number(message, 12)? != OP_MSG {
            return None;
        }
        let body = RawDocument::from_bytes(body(message)?).ok()?;
        let (name, _) = body.iter().next()?.ok()?;
        let transaction = || {
            (!body.get_bool("autocommit").ok()?).then_some(())?;
            let (session, number) = (body.get_document("lsid").ok()?, body.get_i64("txnNumber").ok()?);
            let abort = doc! {
                "abortTransaction": 1,
                "lsid": Document::try_from(session).ok()?,
                "txnNumber": number,
                "autocommit": false,
                "$db": "admin",
            };
            Some(((session.as_bytes().to_vec(), number), abort))
        };
        let opens_stream = || {
            let stages = body.get_array("pipeline").ok()?;
            let first = stages.into_iter().next()?.ok()?.as_document()?;
            Some(first.get("$changeStream").ok()?.is_some())
        };
        Some(Command {
            needs_a_set: body.get("txnNumber").ok()?.is_some() || opens_stream().unwrap_or(false),
            name: name.as_str().to_owned(),
            unanswered: number(message, HEADER)? as u32 & MORE_TO_COME != 0,
            transaction: transaction(),
        })
    }
}

/// Whether an answer says that another transaction has written the same document.
fn is_conflict(answer: &[u8]) -> bool {
    const WRITE_CONFLICT: i32 = 112;
    let Some(answer) = body(answer).and_then(|body| RawDocument::from_bytes(body).ok()) else {
        return false;
    };
    let refused = answer.get_array("writeErrors").into_iter().flatten();
    let mut refused = refused.filter_map(|error| error.ok()?.as_document()?.get_i32("code").ok());
    answer.get_i32("code").is_ok_and(|code| code == WRITE_CONFLICT)
        || refused.any(|code| code == WRITE_CONFLICT)
}

/// A standalone server's answer to what only a replica set takes.
fn refusal() -> Document {
    doc! {
        "ok": 0.0,
        "code": 20,
        "codeName": "IllegalOperation",
        "errmsg": "Transaction numbers are only allowed on a replica set member or mongos",
    }
}

/// The answer without what it says of a replica set or a router.
fn standalone(answer: &[u8], to: i32) -> Option<Vec<u8>> {
    let mut answer = Document::try_from(RawDocument::from_bytes(body(answer)?).ok()?).ok()?;
    OF_THE_DEPLOYMENT
        .iter()
        .for_each(|name| drop(answer.remove(name)));
    Some(packed(&answer, to))
}

/// The answer as a router gives it.
fn router(answer: &[u8], to: i32) -> Option<Vec<u8>> {
    let mut answer = Document::try_from(RawDocument::from_bytes(body(answer)?).ok()?).ok()?;
    let time = answer.remove("$clusterTime");
    OF_THE_DEPLOYMENT
        .iter()
        .for_each(|name| drop(answer.remove(name)));
    answer.insert("msg", "isdbgrid");
    answer.extend(time.map(|time| ("$clusterTime".to_owned(), time)));
    Some(packed(&answer, to))
}

/// Ends a transaction whose process is dead.
async fn abort(server: &str, command: Document) {
    let options = ClientOptions::parse(uri()).await.unwrap();
    if options.credential.is_some() {
        // Only the same user can end it.
        let session = command.get_document("lsid").unwrap().clone();
        let admin = Client::with_options(options).unwrap().database("admin");
        let ended = admin.run_command(doc! { "killSessions": [session] }).await;
        ended.unwrap();
        return;
    }
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(&packed(&command, 0)).await.unwrap();
    let answer = message(&mut stream).await.expect("the server answers");
    let answer = RawDocument::from_bytes(body(&answer).unwrap()).unwrap();
    // 251: there is no such transaction, since a command of it has failed; 225, 256: the session is at a later one, or this
    // one is committed.
    let answer = Document::try_from(answer).unwrap();
    let ok = answer
        .get("ok")
        .is_some_and(|ok| ok.as_f64() == Some(1.0) || ok.as_i32() == Some(1));
    let ended = ok
        || answer
            .get_i32("code")
            .is_ok_and(|code| [225, 251, 256].contains(&code));
    assert!(ended, "{answer:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_set_and_a_router_look_standalone() {
        let greeting = |of: Document| {
            let mut hello = doc! { "isWritablePrimary": true, "maxWireVersion": 12, "ok": 1.0 };
            hello.extend(of);
            let answer = standalone(&packed(&hello, 7), 7).unwrap();
            Document::try_from(RawDocument::from_bytes(body(&answer).unwrap()).unwrap()).unwrap()
        };
        let plain = greeting(doc! {});
        assert!(plain.contains_key("maxWireVersion"));
        for of in [
            doc! { "msg": "isdbgrid", "topologyVersion": { "counter": 0_i64 } },
            doc! { "setName": "rs0", "hosts": ["a:1"], "me": "a:1", "secondary": false },
        ] {
            assert_eq!(greeting(of), plain);
        }
    }

    #[test]
    fn a_member_of_a_set_looks_like_a_router() {
        let hello = doc! { "isWritablePrimary": true, "setName": "rs0", "hosts": ["a:1"], "topologyVersion": {}, "maxWireVersion": 12, "ok": 1.0 };
        let answer = router(&packed(&hello, 7), 7).unwrap();
        let answer = Document::try_from(RawDocument::from_bytes(body(&answer).unwrap()).unwrap()).unwrap();
        assert_eq!(
            answer,
            doc! { "isWritablePrimary": true, "maxWireVersion": 12, "ok": 1.0, "msg": "isdbgrid" }
        );
    }
}

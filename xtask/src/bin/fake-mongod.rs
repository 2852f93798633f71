//! A stand-in for a node of a replica set, for the tests of `cargo xtask test --failover` where there is no mongod.
//!
//! It takes mongod's flags, speaks its wire protocol, and knows what decides whether the nodes are started, killed and
//! started again rightly: it is founded by `replSetInitiate` and remembers that in its folder, and is elected only while it
//! sees a majority and no other is the primary. It stores nothing else, so no test of the library can run on it.

use std::io::{Cursor, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mongodb::bson::{Bson, Document, doc};

/// The operation code of every message.
const OP_MSG: i32 = 2013;

/// The longest message that is read.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Parser)]
struct Flags {
    #[arg(long = "replSet")]
    set: String,
    #[arg(long = "bind_ip")]
    ip: Ipv4Addr,
    #[arg(long)]
    port: u16,
    #[arg(long)]
    dbpath: PathBuf,
    #[arg(long)]
    nounixsocket: bool,
}

struct Node {
    flags: Flags,
    /// The members, once the set is founded.
    config: Mutex<Option<Config>>,
    primary: AtomicBool,
}

#[derive(Clone, Debug)]
struct Config {
    hosts: Vec<String>,
    /// The port that the primary holds, so that there is one: the operating system frees it when its holder dies.
    crown: u16,
}

impl Config {
    fn of(document: &Document) -> Option<Config> {
        let hosts = document.get_array("hosts").ok()?.iter();
        Some(Config {
            hosts: hosts
                .filter_map(|host| host.as_str().map(str::to_owned))
                .collect(),
            crown: u16::try_from(document.get_i32("crown").ok()?).ok()?,
        })
    }

    fn document(&self) -> Document {
        doc! { "hosts": self.hosts.clone(), "crown": i32::from(self.crown) }
    }
}

fn main() -> ExitCode {
    match serve(Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(flags: Flags) -> Result<()> {
    let file = flags.dbpath.join("config");
    let config = match std::fs::read(&file) {
        Ok(bytes) => Config::of(&Document::from_reader(Cursor::new(bytes))?),
        Err(_) => None,
    };
    // A node takes its time to start.
    thread::sleep(Duration::from_millis(150));
    let address = SocketAddr::from((flags.ip, flags.port));
    let listener =
        TcpListener::bind(address).with_context(|| format!("{address}: address already in use"))?;
    println!("listening on {address}, folder {}", flags.dbpath.display());
    let node = Arc::new(Node {
        flags,
        config: Mutex::new(config),
        primary: AtomicBool::new(false),
    });
    let elected = node.clone();
    thread::spawn(move || elect(&elected));
    for stream in listener.incoming().flatten() {
        let node = node.clone();
        thread::spawn(move || {
            // An error means that the client has closed the connection.
            let _ = converse(&node, stream);
        });
    }
    Ok(())
}

/// Becomes the primary when there is none, and steps down without a majority.
fn elect(node: &Node) {
    let mut crown = None;
    loop {
        thread::sleep(Duration::from_millis(100));
        let config = node.config.lock().ok().and_then(|config| config.clone());
        let Some(config) = config else { continue };
        let reached = config.hosts.iter().filter(|host| reaches(host)).count();
        if reached * 2 <= config.hosts.len() {
            crown = None;
        } else if crown.is_none() {
            crown = TcpListener::bind((Ipv4Addr::LOCALHOST, config.crown)).ok();
        }
        node.primary.store(crown.is_some(), Ordering::SeqCst);
    }
}

fn reaches(host: &str) -> bool {
    let Ok(address) = host.parse::<SocketAddr>() else {
        return false;
    };
    TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}

fn converse(node: &Node, mut stream: TcpStream) -> Result<()> {
    loop {
        let (id, command) = receive(&mut stream)?;
        let reply = answer(node, &command);
        send(&mut stream, id, &reply)?;
    }
}

fn receive(stream: &mut TcpStream) -> Result<(i32, Document)> {
    let mut header = [0; 16];
    stream.read_exact(&mut header)?;
    let number = |at: usize| i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let rest = usize::try_from(number(0))?.saturating_sub(header.len());
    if number(12) != OP_MSG || !(5..LONGEST).contains(&rest) {
        bail!("not a message that is understood");
    }
    let mut message = vec![0; rest];
    stream.read_exact(&mut message)?;
    // Four bytes of flags, then the kind of the first section, which is a document.
    if message[4] != 0 {
        bail!("not a command");
    }
    Ok((number(4), Document::from_reader(Cursor::new(&message[5..]))?))
}

fn send(stream: &mut TcpStream, to: i32, reply: &Document) -> Result<()> {
    let body = reply.to_vec()?;
    let length = i32::try_from(16 + 5 + body.len())?;
    let mut message = Vec::new();
    for number in [length, 1, to, OP_MSG, 0] {
        message.extend(number.to_le_bytes());
    }
    message.push(0);
    message.extend(body);
    Ok(stream.write_all(&message)?)
}

fn answer(node: &Node, command: &Document) -> Document {
    let name = command.keys().next().map_or("", String::as_str);
    match name {
        "hello" | "isMaster" | "ismaster" => hello(node),
        "ping" | "endSessions" => doc! { "ok": 1 },
        "buildInfo" => doc! { "version": "0.0.0-fake", "ok": 1 },
        "replSetInitiate" => done(initiate(node, command)),
        "fakeMember" => done(join(node, command)),
        _ => {
            doc! { "ok": 0, "code": 59, "codeName": "CommandNotFound", "errmsg": format!("no such command: '{name}'") }
        }
    }
}

fn done(outcome: Result<()>) -> Document {
    match outcome {
        Ok(()) => doc! { "ok": 1 },
        Err(error) => doc! { "ok": 0, "code": 93, "errmsg": format!("{error:#}") },
    }
}

fn hello(node: &Node) -> Document {
    let mut reply = doc! {
        "helloOk": true,
        "maxBsonObjectSize": 16_777_216,
        "maxMessageSizeBytes": 48_000_000,
        "maxWriteBatchSize": 100_000,
        "minWireVersion": 0,
        "maxWireVersion": 21,
        "readOnly": false,
        "ok": 1,
    };
    let config = node.config.lock().ok().and_then(|config| config.clone());
    let primary = node.primary.load(Ordering::SeqCst);
    reply.insert("isWritablePrimary", primary);
    reply.insert("secondary", config.is_some() && !primary);
    match config {
        None => reply.insert("isreplicaset", true),
        Some(config) => {
            reply.insert("setName", node.flags.set.clone());
            reply.insert("setVersion", 1);
            reply.insert("me", format!("{}:{}", node.flags.ip, node.flags.port));
            reply.insert("hosts", config.hosts)
        }
    };
    reply
}

/// Founds the set, and tells the other members.
fn initiate(node: &Node, command: &Document) -> Result<()> {
    let wanted = command.get_document("replSetInitiate")?;
    if wanted.get_str("_id")? != node.flags.set {
        bail!("another set");
    }
    let members = wanted.get_array("members")?.iter().filter_map(Bson::as_document);
    let hosts: Vec<String> = members
        .map(|member| Ok(member.get_str("host")?.to_owned()))
        .collect::<Result<_>>()?;
    if let Some(missing) = hosts.iter().find(|host| !reaches(host)) {
        bail!("{missing} does not answer");
    }
    let crown = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let config = Config { hosts, crown };
    for host in &config.hosts {
        let mut stream = TcpStream::connect(host)?;
        let body = doc! { "fakeMember": config.document() };
        send(&mut stream, 0, &body)?;
        receive(&mut stream)?;
    }
    Ok(())
}

fn join(node: &Node, command: &Document) -> Result<()> {
    let document = command.get_document("fakeMember")?;
    let config = Config::of(document).context("no members")?;
    std::fs::write(node.flags.dbpath.join("config"), document.to_vec()?)?;
    if let Ok(mut known) = node.config.lock() {
        *known = Some(config);
    }
    Ok(())
}

//! The service as a process, over HTTP: its answers to mistakes, and what is stored after it was killed again and again.
#![allow(missing_docs)] // a test is read, not linked

use futures::FutureExt;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, doc, oid::ObjectId};
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use odm::prelude::*;
use odm_blog::model::models;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}

/// It decides what the clients do, and when the process is killed.
const SEED: u64 = 34;
/// How long clients write while the process is killed.
const LONG: Duration = Duration::from_secs(10);
/// A request that is not answered by then fails the test: the server ends the transaction of a dead process after a minute.
const PATIENCE: Duration = Duration::from_secs(90);
const CLIENTS: usize = 4;

/// Random numbers that are the same in each run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn id(&mut self) -> ObjectId {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.next().to_be_bytes());
        bytes[8..].copy_from_slice(&self.next().to_be_bytes()[..4]);
        ObjectId::from_bytes(bytes)
    }
}

/// The connections of the service to the server. It notes the sessions, since a killed process may leave a transaction, whose
/// documents stay locked for a minute: a test that ends its session does not have to wait for that.
struct Proxy {
    /// The address that the service has for the server.
    uri: String,
    sessions: Arc<Mutex<BTreeSet<[u8; 16]>>>,
    dead: Mutex<BTreeSet<[u8; 16]>>,
    db: Database,
}

/// How a command names its session, before the 16 bytes of its id.
const SESSION: &[u8] = b"\x03lsid\0\x1e\0\0\0\x05id\0\x10\0\0\0\x04";

impl Proxy {
    /// A proxy for the server of `MONGODB_URI`, and a database of its own.
    async fn start() -> Proxy {
        let uri = std::env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty());
        let uri = uri.expect(
            "no MongoDB server: run `cargo xtask test`, or set MONGODB_URI",
        );
        let options = ClientOptions::parse(&uri).await.expect("MONGODB_URI");
        let host = options.hosts.first().expect("a host").to_string();
        let client = Client::with_options(options).expect("MONGODB_URI");
        let admin = client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await;
        let hello = hello.expect("a server that answers");
        let server = hello.get_str("primary").map_or(host, str::to_owned);

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("a port");
        let name = format!("odm_blog_{}", ObjectId::new().to_hex());
        // The same URI with the address of the proxy, and the database as its path.
        let (rest, options) = uri.split_once('?').unwrap_or((&uri, ""));
        let (_, rest) = rest.split_once("://").expect("a URI");
        let user = rest
            .rsplit_once('@')
            .map_or(String::new(), |(user, _)| format!("{user}@"));
        let options = options.split('&').filter(|option| {
            !option.is_empty()
                && !["replicaSet=", "directConnection="]
                    .iter()
                    .any(|name| option.starts_with(name))
        });
        let mut options: String =
            options.map(|option| format!("&{option}")).collect();
        if !user.is_empty() && !options.contains("authSource=") {
            options += "&authSource=admin"; // else it would be the database
        }
        let sessions = Arc::<Mutex<BTreeSet<[u8; 16]>>>::default();
        let seen = sessions.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (server, seen) = (server.clone(), seen.clone());
                // A connection ends with the process, or with the server.
                tokio::spawn(async move {
                    pass_on(client, &server, &seen).await.unwrap_or_default()
                });
            }
        });
        Proxy {
            uri: format!(
                "mongodb://{user}{addr}/{name}?directConnection=true{options}"
            ),
            sessions,
            dead: Mutex::default(),
            db: client.database(&name),
        }
    }

    /// The process is dead: its sessions are to be ended.
    async fn died(&self) {
        // Each connection holds the set, and ends when its last command is sent.
        for _ in 0..100 {
            if Arc::strong_count(&self.sessions) <= 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let sessions =
            std::mem::take(&mut *self.sessions.lock().expect("not poisoned"));
        self.dead.lock().expect("not poisoned").extend(sessions);
    }

    /// Ends the sessions of dead processes, with their transactions, again and again: the last command of a process may begin
    /// a transaction after its session has ended.
    async fn end_sessions(&self) {
        let admin = self.db.client().database("admin");
        loop {
            let sessions: Vec<Bson> = {
                let dead = self.dead.lock().expect("not poisoned");
                let binary = |id: &[u8; 16]| Binary {
                    subtype: BinarySubtype::Uuid,
                    bytes: id.to_vec(),
                };
                dead.iter().map(|id| doc! { "id": binary(id) }.into()).collect()
            };
            if !sessions.is_empty() {
                let ended =
                    admin.run_command(doc! { "killSessions": sessions }).await;
                ended.expect("the sessions end");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// One connection, in both directions.
async fn pass_on(
    mut client: TcpStream,
    server: &str,
    seen: &Mutex<BTreeSet<[u8; 16]>>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let commands = async {
        let mut buffer = vec![0; 1 << 16];
        // The end of what came before, where a session may begin.
        let mut bytes = Vec::new();
        loop {
            let read = from_client.read(&mut buffer).await?;
            if read == 0 {
                return std::io::Result::Ok(());
            }
            bytes.extend_from_slice(&buffer[..read]);
            let whole = SESSION.len() + 16;
            for at in
                bytes.windows(whole).filter(|window| window.starts_with(SESSION))
            {
                let id = at[SESSION.len()..]
                    .try_into()
                    .map_err(std::io::Error::other)?;
                seen.lock().expect("not poisoned").insert(id);
            }
            bytes.drain(..bytes.len().saturating_sub(whole - 1));
            to_server.write_all(&buffer[..read]).await?;
        }
    };
    // Whichever side ends first ends the connection.
    tokio::select! {
        ended = commands => ended,
        ended = tokio::io::copy(&mut from_server, &mut to_client) => ended.map(drop),
    }
}

/// A process of the service.
struct Service {
    child: Child,
    addr: SocketAddr,
}

impl Service {
    /// Starts one, and waits until it listens. It changes this number of documents in one transaction with their source.
    async fn start(uri: &str, fan_out: usize) -> Service {
        let mut child = Command::new(env!("CARGO_BIN_EXE_blog"))
            .env("MONGODB_URI", uri)
            .env("BLOG_ADDR", "127.0.0.1:0")
            .env("BLOG_WORKER_SECONDS", "1")
            .env("BLOG_FAN_OUT", fan_out.to_string())
            .env("BLOG_LOG", "warn")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the service starts");
        let out = child.stdout.take().expect("its output");
        let line =
            BufReader::new(out).lines().next_line().await.expect("its output");
        let line = line
            .expect("the service ended before it listened: see its error above");
        let addr = line.strip_prefix("listening on http://").expect("its address");
        let addr = addr.parse().expect("its address");
        Service { child, addr }
    }

    /// `kill -9`.
    async fn kill(mut self) {
        self.child.kill().await.expect("a process that was there");
    }

    /// SIGTERM: ends it as a deployment does.
    async fn stop(mut self) -> ExitStatus {
        let id = self.child.id().expect("a process that is there");
        let id = Pid::from_raw(i32::try_from(id).expect("a process id"));
        kill(id, Signal::SIGTERM).expect("a process that is there");
        let ended =
            tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.expect("the service ends when it is asked to").expect("an exit code")
    }
}

struct Reply {
    status: u16,
    body: Value,
}

/// One request on a connection of its own. An error where the answer did not arrive whole.
async fn request(
    (addr, site, tag): (SocketAddr, &str, &str),
    method: &str,
    path: &str,
    body: &Value,
) -> std::io::Result<Reply> {
    let lost = || std::io::Error::other("the answer is cut off");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(addr).await?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: blog\r\nX-Site: {site}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         {tag}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let answer = String::from_utf8(answer).map_err(std::io::Error::other)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(lost)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse::<usize>().ok())?
    });
    if length.is_some_and(|length| body.len() < length) {
        return Err(lost());
    }
    let body = match body {
        "" => Value::Null,
        text => serde_json::from_str(text)
            .unwrap_or_else(|_| Value::String(text.to_owned())),
    };
    let status = status.ok_or_else(lost)?;
    Ok(Reply { status, body })
}

/// A client that goes on where the service comes back.
#[derive(Clone)]
struct Http {
    addr: watch::Receiver<SocketAddr>,
    /// The site of its requests.
    site: &'static str,
    /// Their header `If-Match`, or nothing.
    tag: String,
}

impl Http {
    fn new(addr: watch::Receiver<SocketAddr>, site: &'static str) -> Http {
        Http { addr, site, tag: String::new() }
    }

    fn if_match(&self, tag: &str) -> Http {
        Http { tag: format!("If-Match: {tag}\r\n"), ..self.clone() }
    }

    /// Sends a request until it is answered, by another answer than "please try again". Counts the attempts.
    async fn send(&self, method: &str, path: &str, body: Value) -> (Reply, u64) {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let addr = *self.addr.borrow();
            let one = request((addr, self.site, &self.tag), method, path, &body);
            let one = tokio::time::timeout(PATIENCE, one).await;
            match one {
                Ok(Ok(reply)) if reply.status != 503 => return (reply, attempts),
                _ => tokio::time::sleep(Duration::from_millis(25)).await,
            }
            assert!(begun.elapsed() < PATIENCE, "{method} {path} is not answered");
        }
    }

    async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        let (reply, _) = self.send(method, path, body).await;
        assert!(
            (200..300).contains(&reply.status),
            "{method} {path}: {} {}",
            reply.status,
            reply.body
        );
        reply.body
    }

    async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, Value::Null).await
    }
}

/// The documents that one client knows to be stored.
#[derive(Default)]
struct Known {
    name: String,
    /// Its posts, by slug.
    titles: BTreeMap<String, String>,
    /// Its deleted posts, with their titles.
    deleted: BTreeMap<String, String>,
    /// The acknowledged comments of this client, by their id, with the post.
    comments: BTreeMap<String, String>,
    requests: u64,
    repeated: u64,
}

/// One client, with an author of its own, until the time is over.
async fn client(
    n: usize,
    http: Http,
    posts: &Mutex<Vec<String>>,
    until: Instant,
) -> Known {
    let mut random = Random(SEED + 1 + n as u64);
    let mut known = Known::default();
    let author = format!("author-{n}");
    let of_author = format!("/authors/{author}");
    let count = |known: &mut Known, attempts: u64| {
        known.requests += 1;
        known.repeated += attempts - 1;
    };
    for round in 0.. {
        if Instant::now() >= until {
            break;
        }
        let what = if round == 0 { 0 } else { random.below(10) };
        match what {
            0 | 1 => {
                let name = format!("Author {n}, called {round}");
                let (reply, attempts) =
                    http.send("PUT", &of_author, json!({ "name": name })).await;
                assert_eq!(reply.status, 200, "{}", reply.body);
                count(&mut known, attempts);
                known.name = name;
            }
            2 | 3 => {
                // A new post, or another title of one.
                let slugs: Vec<String> = known.titles.keys().cloned().collect();
                let slug = match random.below(3) {
                    0 if !slugs.is_empty() => {
                        slugs[random.below(slugs.len() as u64) as usize].clone()
                    }
                    _ => format!("post-{n}-{round}"),
                };
                let title = format!("Title {round}");
                let body = json!({ "author": author, "title": title, "text": "…" });
                let (reply, attempts) =
                    http.send("PUT", &format!("/posts/{slug}"), body).await;
                assert_eq!(reply.status, 200, "{}", reply.body);
                count(&mut known, attempts);
                if known.titles.insert(slug.clone(), title).is_none() {
                    posts.lock().expect("not poisoned").push(slug);
                }
            }
            4 if known.titles.len() > 2 => {
                let slug =
                    known.titles.keys().next().cloned().expect("there are three");
                let (reply, attempts) = http
                    .send("DELETE", &format!("/posts/{slug}"), Value::Null)
                    .await;
                assert_eq!(reply.status, 204, "{}", reply.body);
                count(&mut known, attempts);
                posts.lock().expect("not poisoned").retain(|post| *post != slug);
                known.deleted.extend(known.titles.remove_entry(&slug));
            }
            5 if !known.deleted.is_empty() => {
                let (slug, title) =
                    known.deleted.pop_first().expect("a deleted post");
                let (reply, attempts) = http
                    .send("POST", &format!("/posts/{slug}/restore"), Value::Null)
                    .await;
                assert_eq!(reply.status, 200, "{}", reply.body);
                count(&mut known, attempts);
                known.titles.insert(slug.clone(), title);
                posts.lock().expect("not poisoned").push(slug);
            }
            _ => {
                let slug = {
                    let posts = posts.lock().expect("not poisoned");
                    if posts.is_empty() {
                        continue;
                    }
                    posts[random.below(posts.len() as u64) as usize].clone()
                };
                let id = random.id().to_hex();
                let path = format!("/posts/{slug}/comments/{id}");
                let body =
                    json!({ "by": author, "text": format!("comment {round}") });
                let (reply, attempts) = http.send("PUT", &path, body).await;
                count(&mut known, attempts);
                match reply.status {
                    200 | 201 => {
                        known.comments.insert(id, slug);
                    }
                    // Another client has deleted the post.
                    422 => {}
                    status => panic!("{path}: {status} {}", reply.body),
                }
            }
        }
    }
    known
}

/// The pages of the feed for a request with these parameters, from the first one to the last, and back to the first. All of them
/// have the same documents on the way back.
async fn feed_pages(http: &Http, query: &str) -> Vec<Vec<Value>> {
    let posts = |page: &Value| page["items"].as_array().expect("posts").clone();
    let mut page = http.get(&format!("/feed?{query}")).await;
    assert_eq!(page["previous"], Value::Null, "no page is before the first one");
    let mut pages = vec![posts(&page)];
    while let Some(token) = page["next"].as_str() {
        page = http.get(&format!("/feed?{query}&after={token}")).await;
        pages.push(posts(&page));
    }
    let mut at = pages.len() - 1;
    while let Some(token) = page["previous"].as_str() {
        page = http.get(&format!("/feed?{query}&before={token}")).await;
        at = at.checked_sub(1).expect("no page is before the first one");
        assert_eq!(posts(&page), pages[at], "page {at} of {query}");
        assert!(page["next"].is_string(), "a page is behind page {at}");
    }
    assert_eq!(at, 0, "the way back ends at the first page");
    pages
}

/// All comments of a post, by their pages.
async fn comments(http: &Http, slug: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for page in 1.. {
        let found = http.get(&format!("/posts/{slug}/comments?page={page}")).await;
        match found.as_array().map(Vec::as_slice).expect("comments") {
            [] => break,
            found => all.extend(found.iter().cloned()),
        }
    }
    all
}

/// When a post was written. (As texts, two times can't be compared: zeros at the end are left out.)
fn time(post: &Value) -> DateTime {
    let text = post["at"].as_str().expect("a time");
    DateTime::parse_rfc3339_str(text).expect("a time")
}

/// Compares what the service shows with what the clients know.
async fn compare(http: &Http, known: &[Known]) {
    let posts = feed_pages(http, "limit=3").await.concat();
    let slugs: Vec<&str> =
        posts.iter().filter_map(|post| post["id"].as_str()).collect();
    let each: BTreeSet<&str> = slugs.iter().copied().collect();
    assert_eq!(each.len(), slugs.len(), "the feed shows a post twice");
    assert_eq!(
        each.len(),
        known.iter().map(|known| known.titles.len()).sum::<usize>()
    );
    assert!(
        posts.windows(2).all(|two| time(&two[0]) >= time(&two[1])),
        "the newest come first"
    );

    for (n, known) in known.iter().enumerate() {
        let author = http.get(&format!("/authors/author-{n}")).await;
        assert_eq!(author["name"], known.name.as_str());
        assert_eq!(author["posts"], known.titles.len());
        let of_author =
            posts.iter().filter(|post| post["author"]["id"] == author["id"]);
        let newest: Vec<&Value> =
            of_author.take(5).map(|post| &post["id"]).collect();
        let shown = author["newest"].as_array().expect("the newest");
        assert_eq!(
            shown.iter().map(|post| &post["id"]).collect::<Vec<_>>(),
            newest
        );
        for (slug, title) in &known.titles {
            let post = http.get(&format!("/posts/{slug}")).await;
            assert_eq!(post["title"], title.as_str());
            assert_eq!(
                post["author"]["name"],
                known.name.as_str(),
                "a copied name is stale"
            );
        }
        for slug in known.deleted.keys() {
            let (reply, _) =
                http.send("GET", &format!("/posts/{slug}"), Value::Null).await;
            assert_eq!(reply.status, 404, "{slug} is there again");
        }
    }

    let name = |handle: &Value| {
        let n = handle.as_str().and_then(|handle| {
            handle.strip_prefix("author-")?.parse::<usize>().ok()
        });
        known[n.expect("an author of a client")].name.as_str()
    };
    for post in &posts {
        let slug = post["id"].as_str().expect("a slug");
        let stored = comments(http, slug).await;
        assert_eq!(post["comments"], stored.len(), "the computed count of {slug}");
        let ids: BTreeSet<&str> =
            stored.iter().filter_map(|comment| comment["id"].as_str()).collect();
        assert_eq!(ids.len(), stored.len(), "a comment of {slug} is stored twice");
        let acknowledged = known.iter().flat_map(|known| &known.comments);
        let acknowledged =
            acknowledged.filter(|(_, of)| *of == slug).map(|(id, _)| id.as_str());
        assert_eq!(ids, acknowledged.collect(), "the comments of {slug}");
        for comment in &stored {
            assert_eq!(
                comment["name"],
                name(&comment["by"]),
                "a copied name is stale"
            );
        }
    }
}

/// Runs a test on a database of its own, which is dropped whatever becomes of the test.
async fn with_database<F: AsyncFnOnce(&Proxy)>(test: F) {
    let proxy = Proxy::start().await;
    let outcome = AssertUnwindSafe(test(&proxy)).catch_unwind().await;
    let dropped = proxy.db.drop().await;
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
    dropped.expect("the database is dropped");
}

/// Runs a test in a runtime of its own.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

#[odm_tests::test]
fn clients_go_on_while_the_process_is_killed_and_every_copy_is_right_at_the_end() {
    run(with_database(async |proxy| {
        let begun = Instant::now();
        if odm_tests::may_stand_still(&proxy.db).await {
            odm_tests::skip(
                "needs a server that does not come to a standstill where transactions meet",
            );
        }
        let mut service = Service::start(&proxy.uri, 0).await;
        let (addr, seen) = watch::channel(service.addr);
        let http = Http::new(seen, "main");
        let posts = Mutex::new(Vec::new());
        let until = Instant::now() + LONG;
        let clients = (0..CLIENTS).map(|n| client(n, http.clone(), &posts, until));
        let killer = async {
            let mut random = Random(SEED);
            let mut kills = 0_u64;
            while Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(
                    200 + random.below(1_000),
                ))
                .await;
                service.kill().await;
                proxy.died().await;
                kills += 1;
                // Every second one leaves pending work where it is killed in time.
                service = Service::start(
                    &proxy.uri,
                    if kills.is_multiple_of(2) { 0 } else { 1_000 },
                )
                .await;
                addr.send_replace(service.addr);
            }
            (service, kills)
        };
        let all =
            async { tokio::join!(futures::future::join_all(clients), killer) };
        let (known, (service, kills)) = tokio::select! {
            all = all => all,
            () = proxy.end_sessions() => unreachable!("it goes on"),
        };

        // What killed processes have left is applied by any other process.
        let odm = Odm::new(proxy.db.clone(), models()).expect("the models");
        let recovered = odm.recover().await.expect("pending work is applied");
        compare(&http, &known).await;
        assert!(service.stop().await.success());
        let audit = odm.audit().await.expect("an audit");
        assert!(audit.is_clean(), "{audit}");

        let sum = |of: fn(&Known) -> u64| known.iter().map(of).sum::<u64>();
        let (requests, repeated) =
            (sum(|known| known.requests), sum(|known| known.repeated));
        println!(
            "{kills} kills, {requests} writes, {repeated} repeated, {} documents with pending work, {:.1} s",
            recovered.documents,
            begun.elapsed().as_secs_f64()
        );
        assert!(
            kills >= 3 && requests >= 20 && repeated >= 1,
            "{kills} {requests} {repeated}"
        );
    }));
}

#[odm_tests::test]
fn the_feed_pages_in_both_directions() {
    run(with_database(async |proxy| {
        let service = Service::start(&proxy.uri, 1_000).await;
        let (_addr, seen) = watch::channel(service.addr);
        let http = Http::new(seen, "main");
        for author in ["kate", "trekkie"] {
            let name = json!({ "name": author });
            http.ok("PUT", &format!("/authors/{author}"), name).await;
            for n in 0..5 {
                let body = json!({ "author": author, "title": "?", "text": "…" });
                http.ok("PUT", &format!("/posts/{author}-{n}"), body).await;
            }
        }
        let slugs = |pages: &[Vec<Value>]| -> Vec<Vec<String>> {
            let slug =
                |post: &Value| post["id"].as_str().unwrap_or_default().to_owned();
            pages.iter().map(|page| page.iter().map(slug).collect()).collect()
        };
        // The same filter and order on each page.
        let kate = feed_pages(&http, "author=kate&sort=at&limit=2").await;
        assert_eq!(
            slugs(&kate),
            [&["kate-0", "kate-1"][..], &["kate-2", "kate-3"], &["kate-4"]]
        );
        let newest = feed_pages(&http, "limit=5").await;
        let of = |author: &str| {
            (0..5).rev().map(|n| format!("{author}-{n}")).collect::<Vec<_>>()
        };
        assert_eq!(slugs(&newest), [of("trekkie"), of("kate")]);
        assert_eq!(feed_pages(&http, "author=lucy").await, [[Value::Null; 0]]);
        // A token is that of its order.
        let first = http.get("/feed?limit=2").await;
        let token = first["next"].as_str().expect("a page is behind it");
        let other = format!("/feed?limit=2&sort=at&before={token}");
        let (reply, _) = http.send("GET", &other, Value::Null).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        assert!(service.stop().await.success());
    }));
}

#[odm_tests::test]
fn a_site_has_posts_of_its_own_and_deleted_ones_come_back() {
    run(with_database(async |proxy| {
        let service = Service::start(&proxy.uri, 1_000).await;
        let (_addr, seen) = watch::channel(service.addr);
        let http = Http::new(seen.clone(), "main");
        let other = Http::new(seen, "other");
        http.ok("PUT", "/authors/kate", json!({ "name": "Kate" })).await;
        other.ok("PUT", "/authors/lucy", json!({ "name": "Lucy" })).await;
        let body = json!({ "author": "kate", "title": "?", "text": "…" });
        http.ok("PUT", "/posts/awesome", body.clone()).await;
        let comment =
            format!("/posts/awesome/comments/{}", ObjectId::new().to_hex());
        http.ok("PUT", &comment, json!({ "by": "kate", "text": "!" })).await;

        for (method, path, body, status) in [
            ("GET", "/authors/kate", Value::Null, 404),
            ("GET", "/posts/awesome", Value::Null, 404),
            ("GET", "/posts/awesome/comments", Value::Null, 404),
            ("PUT", "/posts/theirs", body.clone(), 422),
            (
                "PUT",
                "/posts/awesome",
                json!({ "author": "lucy", "title": "?", "text": "…" }),
                404,
            ),
            ("POST", "/posts/awesome/restore", Value::Null, 404),
        ] {
            let (reply, _) = other.send(method, path, body).await;
            assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
        }
        let (reply, _) = other.send("DELETE", "/posts/awesome", Value::Null).await;
        assert_eq!(reply.status, 204, "there is nothing to delete");
        assert_eq!(feed_pages(&other, "limit=2").await, [[Value::Null; 0]]);

        let before = http.get("/posts/awesome").await;
        http.ok("DELETE", "/posts/awesome", Value::Null).await;
        let author = http.get("/authors/kate").await;
        assert_eq!((&author["posts"], &author["newest"]), (&json!(0), &json!([])));
        let (reply, _) = http.send("GET", "/posts/awesome", Value::Null).await;
        assert_eq!(reply.status, 404);
        let mut back = http.ok("POST", "/posts/awesome/restore", Value::Null).await;
        back["version"] = before["version"].clone();
        assert_eq!(back, before);
        assert_eq!(http.get("/authors/kate").await["posts"], 1);
        assert!(service.stop().await.success());
        let odm = Odm::new(proxy.db.clone(), models()).expect("the models");
        let audit = odm.audit().await.expect("an audit");
        assert!(audit.is_clean(), "{audit}");
    }));
}

#[odm_tests::test]
fn each_mistake_has_its_answer() {
    run(with_database(async |proxy| {
        let service = Service::start(&proxy.uri, 1_000).await;
        let (_addr, seen) = watch::channel(service.addr);
        let http = Http::new(seen, "main");
        http.ok("PUT", "/authors/kate", json!({ "name": "Kate Monster" })).await;
        let body =
            json!({ "author": "kate", "title": "An awesome blog", "text": "…" });
        let post = http.ok("PUT", "/posts/awesome", body).await;
        assert_eq!(
            (&post["author"]["name"], &post["version"]),
            (&json!("Kate Monster"), &json!(1))
        );

        let long = "x".repeat(200);
        let hex = ObjectId::new().to_hex();
        let comment = format!("/posts/awesome/comments/{hex}");
        let nowhere = format!("/posts/nowhere/comments/{hex}");
        let by = |who: &str| json!({ "by": who, "text": "first!" });
        let post = |author: &str, title: &str| json!({ "author": author, "title": title, "text": "…" });
        let old = "/posts/awesome?version=7";
        for (method, path, body, status, field) in [
            ("GET", "/authors/unknown", Value::Null, 404, ""),
            ("GET", "/nothing", Value::Null, 404, ""),
            ("PUT", "/authors/kate", json!({ "nom": "Kate" }), 422, "/name"),
            ("PUT", "/authors/kate", json!({ "name": "" }), 422, "/name"),
            ("PUT", "/posts/new", post("kate", &long), 422, "/title"),
            ("PUT", "/posts/new", post("unknown", "New"), 422, "author"),
            ("PUT", old, post("kate", "Late"), 409, ""),
            ("PUT", "/posts/awesome", json!({ "at": "now" }), 422, "/at"),
            ("PATCH", "/posts/awesome", json!({ "title": null }), 422, "/title"),
            ("PATCH", "/posts/awesome", json!({ "version": 7 }), 422, "/version"),
            ("PATCH", "/posts/awesome", json!({ "title": "" }), 422, "/title"),
            ("PATCH", "/posts/nowhere", json!({ "title": "New" }), 404, ""),
            ("PUT", "/posts/awesome/comments/7", by("kate"), 400, ""),
            ("PUT", nowhere.as_str(), by("kate"), 422, "post"),
            ("PUT", comment.as_str(), by("kate"), 201, ""),
            ("PUT", comment.as_str(), by("kate"), 200, ""),
            ("DELETE", "/authors/kate", Value::Null, 409, "posts"),
            ("GET", "/feed?after=nonsense", Value::Null, 400, "after"),
            ("GET", "/feed?before=nonsense", Value::Null, 400, "before"),
            ("GET", "/feed?at[gte]=now", Value::Null, 400, "at[gte]"),
            ("GET", "/feed?text[regex]=.*", Value::Null, 400, "text[regex]"),
            ("GET", "/feed?sort=comments", Value::Null, 400, "sort"),
            ("GET", "/ready", Value::Null, 200, ""),
        ] {
            let (reply, _) = http.send(method, path, body).await;
            assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
            if !field.is_empty() {
                assert_eq!(
                    reply.body["fields"][0]["field"], field,
                    "{method} {path}: {}",
                    reply.body
                );
            }
        }
        // A patch leaves what it does not name, and compares the version.
        let title = || json!({ "title": "A better blog" });
        let version = http.get("/posts/awesome").await["version"].clone();
        let (read, weak) = (format!("\"{version}\""), format!("W/\"{version}\""));
        for (tag, status) in [(&weak, 412), (&read, 200), (&read, 412)] {
            let http = http.if_match(tag);
            let (reply, _) = http.send("PATCH", "/posts/awesome", title()).await;
            assert_eq!(reply.status, status, "{tag}: {}", reply.body);
        }
        let post = http.get("/posts/awesome").await;
        assert_eq!(
            (&post["title"], &post["text"]),
            (&json!("A better blog"), &json!("…"))
        );
        let long_ago = "at[lt]=2000-01-01T00:00:00Z";
        for (query, posts) in [
            ("author=kate&sort=at", 1),
            ("author[in]=kate,trekkie&limit=1", 1),
            ("author=trekkie", 0),
            (long_ago, 0),
        ] {
            let feed = http.get(&format!("/feed?{query}")).await;
            let found = feed["items"].as_array().map(Vec::len);
            assert_eq!(found, Some(posts), "{query}: {feed}");
        }
        let both = "/feed?text=x&limit=1000";
        let (reply, _) = http.send("GET", both, Value::Null).await;
        let fields = &reply.body["fields"];
        assert_eq!(
            (&fields[0]["field"], &fields[1]["problem"]),
            (&json!("text"), &json!("takes a whole number from 1 to 100"))
        );
        let metrics = http.get("/metrics").await;
        let metrics = metrics.as_str().expect("text");
        assert!(
            metrics.contains("odm_errors_total{kind=\"MissingReference\"}"),
            "{metrics}"
        );
        assert!(
            metrics.contains(
                "odm_operations_total{collection=\"posts\",operation=\"insert\"}"
            ),
            "{metrics}"
        );
        assert!(service.stop().await.success());
    }));
}

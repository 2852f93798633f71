//! The crash matrix: the kinds of writes on each kind of edge, by a process that dies after each command that it sends.
//!
//! A process is a task with a handle and connections of its own, which go through a [proxy](proxy::Proxy). For each row the
//! write is begun again and again from the same documents, and cut off at its first command, at its second, and so on, until
//! it comes to its end uncut. Each time another process runs `recover()`, and then
//! - no work is pending any more, and the audit is clean;
//! - what the application wrote is there or is not, as a whole; where the write is several writes by its nature, each
//!   document for itself; if the write has returned without an error, it is there;
//! - no other document has changed in any field but its copies, also not in its version;
//! - the copies are those of the write that was not disturbed, or those from before it;
//! - and they follow the next change of their source: what a crash leaves in a version that is kept beside a copy would show
//!   there.
//!
//! Besides, each statement of a transaction is refused by the errors with which a router tells that the transaction may be run again:
//! the write comes to its end all the same.
//!
//! The matrix is printed with `cargo test -p odm-tests --test crashes -- --nocapture`. It has
//! one row of nine (of 27 on SecantusDB in Python), since the whole takes minutes, each time others (`ODM_CRASH_SHARE` says which, and is printed):
//! `ODM_CRASH_MATRIX=docs/crash-matrix.md` (a path from the root of the workspace) has all of them, and writes them as
//! a page of the book. `ODM_CRASH_EDGE` has all rows of those edges with these words in their names; with `ODM_CRASH_MATRIX` it writes
//! these anew, and keeps the others of the page.

/// One row: the name of the write, what a crash may leave of it, and the write.
macro_rules! row {
    ($name:literal, $effect:ident, |$odm:ident| $body:block) => {
        Row {
            write: $name,
            effect: Effect::$effect,
            run: |$odm: Odm| {
                async move {
                    $body
                    Ok(())
                }
                .boxed()
            },
        }
    };
}

mod atomic;
mod claimed;
mod eventual;
mod hooked;
mod linked;
mod page;
use odm_tests::fixtures::edges::{clean, remove, through};
use odm_tests::proxy::{self, server};

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use mongodb::{Client, Database};
use odm::bson::{Bson, Document, doc};
use odm::references::FanOut;
use odm::upkeep::Audit;
use odm::{Model, Odm};
use odm_tests::{assert_clean_after, unique_name, with_db, with_transactions};
use proxy::{Fate, Proxy, Sent};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// A kind of edge, with the writes that can touch it.
pub struct Edge {
    pub name: &'static str,
    pub models: fn() -> Vec<Model>,
    /// The copies: collection and path.
    pub copies: &'static [(&'static str, &'static str)],
    pub setup: Run,
    /// Changes what is copied once more, whichever of the rows was there before, done or not.
    pub again: Run,
    pub rows: Vec<Row>,
}

/// One write.
#[derive(Clone, Copy)]
pub struct Row {
    pub write: &'static str,
    pub effect: Effect,
    pub run: Run,
}

/// An operation, given a handle.
pub type Run = fn(Odm) -> BoxFuture<'static, odm::Result<()>>;

/// The parts of a write that a crash may leave.
#[derive(Clone, Copy, PartialEq)]
pub enum Effect {
    /// One document is written: it is, or is not.
    One,
    /// Several are, together if the deployment and the copies' declaration allow it.
    Many,
    /// Several are, in parts, always: a deletion with its cascades.
    Parts,
    /// Two-way references are, together.
    Linked,
    /// The same, and others in parts; also a deletion that empties several references of one document, one after the other.
    LinkedParts,
    /// A transaction of the application.
    Transaction,
    /// Documents are deleted and kept, in parts: a repair restores what an interrupted deletion has deleted.
    Kept,
    /// They are restored, together if the deployment has transactions, else as [`Kept`](Effect::Kept).
    Restored,
}

/// The edges with atomic and those with eventual copies, and two-way references.
pub fn edges() -> Vec<Edge> {
    let mut edges = atomic::rows::edges();
    edges.extend(eventual::rows::edges());
    edges.extend(linked::edges());
    edges.extend(hooked::edges());
    edges.extend(claimed::edges());
    edges
}

/// How copies follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Standalone,
    Eventual,
    Atomic,
    Behind,
}

impl Mode {
    const ALL: [Mode; 4] = [Mode::Standalone, Mode::Eventual, Mode::Atomic, Mode::Behind];

    const fn name(self) -> &'static str {
        match self {
            Mode::Atomic => "in a transaction",
            Mode::Behind => "after the commit",
            Mode::Eventual => "consistency = eventual",
            Mode::Standalone => "standalone",
        }
    }

    fn edges(self) -> Vec<Edge> {
        let mut edges = match self {
            Mode::Eventual => eventual::rows::edges(),
            Mode::Atomic | Mode::Standalone | Mode::Behind => atomic::rows::edges(),
        };
        edges.extend(linked::edges());
        // At the end, since an edge has one number in all modes.
        if matches!(self, Mode::Atomic | Mode::Behind) {
            edges.extend(hooked::edges());
            edges.extend(claimed::edges());
        }
        edges
    }

    fn odm(self, db: Database, edge: &Edge) -> Odm {
        let odm = Odm::new(db, (edge.models)()).unwrap();
        match self {
            // Each source has more holders than may follow in its transaction, and more than one batch.
            Mode::Behind => odm.with_fan_out(FanOut::new().in_transaction(0).batch(1)),
            Mode::Standalone | Mode::Eventual | Mode::Atomic => odm,
        }
    }

    async fn proxy(self, at: usize) -> Proxy {
        match self {
            Mode::Standalone => Proxy::standalone(&server().await, at).await,
            _ => Proxy::start(&server().await, at).await,
        }
    }

    /// Whether the row's documents are written together.
    fn is_whole(self, effect: Effect) -> bool {
        match effect {
            Effect::One | Effect::Transaction => true,
            Effect::Many => matches!(self, Mode::Atomic | Mode::Behind),
            Effect::Parts | Effect::LinkedParts => false,
            Effect::Linked | Effect::Restored => self != Mode::Standalone,
            Effect::Kept => false,
        }
    }
}

/// The documents of an edge, by collection and id.
type State = BTreeMap<(String, String), Document>;

/// How often a cut left what.
#[derive(Clone, Debug, Default)]
struct Cuts {
    undone: usize,
    done: usize,
    parts: usize,
    /// How often there was something for an audit to find.
    repaired: usize,
    /// How often a repair left a link to the application, since two documents name one that can be linked with one alone.
    undecided: usize,
    failures: Vec<String>,
    /// The commands of the whole write.
    names: Vec<String>,
    /// It sends the same commands as on a standalone server, so that it is not cut once more.
    same: bool,
}

impl Cuts {
    fn all(&self) -> usize {
        self.undone + self.done + self.parts + self.undecided
    }

    fn result(&self) -> String {
        if !self.failures.is_empty() {
            return "WRONG".to_owned();
        }
        if self.same {
            return "the same".to_owned();
        }
        let undecided = match self.undecided {
            0 => String::new(),
            undecided => format!(", {undecided} left"),
        };
        let repaired = match self.repaired {
            0 => String::new(),
            repaired => format!(", {repaired} repaired"),
        };
        format!(
            "{} ({}/{}/{}{repaired}{undecided})",
            self.all(),
            self.undone,
            self.done,
            self.parts
        )
    }
}

/// Whether the writes change documents of a collection. Of those of the library they change claims alone.
pub(crate) fn is_written(collection: &str) -> bool {
    !collection.starts_with('_') || collection.starts_with("_odm_claims.")
}

/// An edge in one mode, in a database of its own.
struct Place {
    edge: Edge,
    mode: Mode,
    db: Database,
    odm: Odm,
    collections: Vec<String>,
    /// The documents before each write, as they are stored.
    stored: Vec<(String, Vec<Document>)>,
}

impl Place {
    async fn new(client: &Client, mode: Mode, edge: Edge) -> Place {
        let db = client.database(&unique_name());
        // With 0 it is not cut. It is there as long as the test.
        let seen = match mode {
            Mode::Standalone => through(&mode.proxy(0).await, db.name()).await,
            _ => db.clone(),
        };
        let odm = mode.odm(seen, &edge);
        odm.sync().await.unwrap();
        (edge.setup)(odm.clone()).await.unwrap();
        assert_clean_after(&odm, edge.name).await;
        let names = db.list_collection_names().await.unwrap();
        let collections: Vec<String> = names.into_iter().filter(|name| is_written(name)).collect();
        let mut stored = Vec::new();
        for name in &collections {
            let all = db.collection::<Document>(name).find(doc! {}).await.unwrap();
            stored.push((name.clone(), all.try_collect().await.unwrap()));
        }
        Place {
            edge,
            mode,
            db,
            odm,
            collections,
            stored,
        }
    }

    /// Makes the documents what they were before.
    async fn reset(&self) {
        for (name, documents) in &self.stored {
            let collection = self.db.collection::<Document>(name);
            collection.delete_many(doc! {}).await.unwrap();
            if !documents.is_empty() {
                collection.insert_many(documents).await.unwrap();
            }
        }
    }

    /// The documents without the library's own fields; and those with pending work.
    async fn state(&self) -> (State, Vec<String>) {
        let (mut state, mut pending) = (State::new(), Vec::new());
        // A shard may apply a commit behind its reply: the session waits for the time that its first reply tells.
        let mut session = self.db.client().start_session().await.unwrap();
        let mut is_first = true;
        for name in &self.collections {
            let collection = self.db.collection::<Document>(name);
            if std::mem::take(&mut is_first) {
                collection.find_one(doc! {}).session(&mut session).await.unwrap();
            }
            let mut all = collection.find(doc! {}).session(&mut session).await.unwrap();
            let all: Vec<Document> = all.stream(&mut session).try_collect().await.unwrap();
            for mut document in all {
                rename(&mut document);
                let id = document.get("_id").unwrap().to_string();
                if let Ok(own) = document.get_document("_odm")
                    && own.contains_key("pending")
                {
                    pending.push(format!("{name} {id}: {own}"));
                }
                clean(&mut document);
                // The time of a deletion is another one each time.
                if document.contains_key("deleted_at") {
                    document.insert("deleted_at", true);
                }
                if name.starts_with("_odm_claims.") {
                    // How often it was written tells nothing of the values.
                    document.remove("writes");
                }
                state.insert((name.clone(), id), document);
            }
        }
        (state, pending)
    }

    /// The application's own fields of it.
    fn own(&self, state: &State) -> State {
        let mut state = state.clone();
        for ((collection, _), document) in &mut state {
            let copies = self.edge.copies.iter().filter(|(of, _)| of == collection);
            for (_, path) in copies {
                remove(document, path);
            }
        }
        state
    }

    async fn row(&self, row: Row, alone: Option<&[String]>) -> Cuts {
        let mut cuts = Cuts::default();
        self.reset().await;
        let (before, _) = self.state().await;
        let after = match self.undisturbed(row, &before).await {
            Ok(after) => after,
            Err(failure) => {
                let (edge, write, mode) = (self.edge.name, row.write, self.mode.name());
                cuts.failures
                    .push(format!("{edge}, {write}, {mode}, uncut: {failure}"));
                return cuts;
            }
        };
        // With 0 it is not cut.
        for at in 0.. {
            self.reset().await;
            match self.cut(row, at, &before, &after, &mut cuts).await {
                Ok(true) => {}
                Ok(false) if at == 0 && alone == Some(cuts.names.as_slice()) => {
                    cuts.same = true;
                    return cuts;
                }
                Ok(false) if at == 0 => {}
                Ok(false) => return cuts,
                Err(failure) => cuts.failures.push(format!(
                    "{}, {}, {}, cut {at}: {failure}",
                    self.edge.name,
                    row.write,
                    self.mode.name()
                )),
            }
            if cuts.failures.len() > 3 {
                return cuts;
            }
        }
        cuts
    }

    /// The documents after the write.
    async fn undisturbed(&self, row: Row, before: &State) -> Result<State, String> {
        (row.run)(self.odm.clone())
            .await
            .map_err(|error| error.to_string())?;
        let (after, pending) = self.state().await;
        let audit = self.odm.audit().await.map_err(|error| error.to_string())?;
        if *before == after {
            return Err("it does nothing".to_owned());
        }
        if pending.is_empty() && audit.is_clean() {
            Ok(after)
        } else {
            Err(format!("{audit}; pending: {pending:?}; now: {after:?}"))
        }
    }

    /// One process, which dies at its n-th command. Gives whether it has come to that.
    async fn cut(
        &self,
        row: Row,
        at: usize,
        before: &State,
        after: &State,
        cuts: &mut Cuts,
    ) -> Result<bool, String> {
        let proxy = self.mode.proxy(at).await;
        let odm = self.mode.odm(through(&proxy, self.db.name()).await, &self.edge);
        odm.server().await.map_err(|error| error.to_string())?;
        odm.check_models().await.map_err(|error| error.to_string())?;
        proxy.arm();
        let mut process = tokio::spawn((row.run)(odm));
        let ended = tokio::select! {
            ended = &mut process => Some(ended),
            () = proxy.cut() => {
                process.abort();
                process.await.map_or_else(|error| error.is_panic().then_some(Err(error)), |done| Some(Ok(done)))
            }
            () = tokio::time::sleep(Duration::from_secs(20)) => return Err("hangs".to_owned()),
        };
        let cut = proxy.is_cut();
        let names = proxy.names();
        let sent = names.join(" ");
        proxy.bury().await;
        let told = match ended {
            Some(Ok(Ok(()))) => true,
            Some(Ok(Err(error))) if !cut => return Err(format!("{error} after {sent}")),
            Some(Err(error)) => return Err(format!("{error} after {sent}")),
            _ => false,
        };
        if !cut {
            let (_, pending) = self.state().await;
            if !pending.is_empty() {
                return Err(format!(
                    "it is done, and left pending work: {pending:?} after {sent}"
                ));
            }
        }

        // Another process.
        let other = self.odm.clone();
        let recovered = other
            .recover()
            .await
            .map_err(|error| format!("recover: {error} after {sent}"))?;
        if (self.mode == Mode::Standalone || row.effect == Effect::Kept) && cut {
            // A link, and the move of a child, are two statements there; a deletion that keeps documents is several everywhere.
            let repaired = other.repair_all().await.map_err(|error| error.to_string())?;
            cuts.repaired += usize::from(repaired.repaired > 0);
            if !repaired.left.is_clean() {
                return self.undecided(&other, &repaired.left, row, cuts).await;
            }
        }
        let (state, pending) = self.state().await;
        // Also what is as it was, or as it was to be: the audit looks at more than that.
        let audit = other.audit().await.map_err(|error| error.to_string())?;
        if !audit.is_clean() {
            return Err(format!(
                "the audit says: {audit} after {sent}; {recovered:?}; now: {state:?}"
            ));
        }
        let tell = |what: &str| {
            Err(format!(
                "{what}\n  sent: {sent}\n  {recovered:?}\n  before: {before:?}\n  after: {after:?}\n  now: {state:?}"
            ))
        };
        if !pending.is_empty() {
            return tell(&format!("pending for ever: {pending:?}"));
        }
        if told && state != *after {
            return tell("the write has returned without an error");
        }
        if let Err(failure) = self.again(&other).await {
            return tell(&format!("a change after it: {failure}"));
        }
        if !cut {
            cuts.names = names;
            return Ok(false);
        }
        if state == *before {
            cuts.undone += 1;
        } else if state == *after {
            cuts.done += 1;
        } else if self.mode.is_whole(row.effect) {
            return tell("neither undone nor done");
        } else {
            let [before, after, now] = [before, after, &state].map(|state| self.own(state));
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).chain(now.keys()).collect();
            for key in keys {
                let (was, to_be, now) = (before.get(key), after.get(key), now.get(key));
                // Two rules may each empty one reference of a document.
                let by_field = row.effect == Effect::LinkedParts;
                let right = now == was || now == to_be || by_field && is_either(was, to_be, now);
                // The audit has confirmed the repair of a write of two statements.
                if !right && self.mode != Mode::Standalone {
                    return tell(&format!("{key:?} is neither as it was nor as it was to be"));
                }
            }
            cuts.parts += 1;
        }
        Ok(true)
    }
}

impl Place {
    /// Both of two single references were taken, and the process died between the two statements of a link on a standalone server: one
    /// document names another one, which another document names, too. An audit finds it, a repair leaves it to the application.
    async fn undecided(&self, odm: &Odm, left: &Audit, row: Row, cuts: &mut Cuts) -> Result<bool, String> {
        let audit = odm.audit().await.map_err(|error| error.to_string())?;
        let one_sided: u64 = audit.references.iter().map(|edge| edge.one_sided.count).sum();
        let linked = matches!(row.effect, Effect::Linked | Effect::LinkedParts);
        if !linked || one_sided != 1 || audit.wrong() != 1 || left.wrong() != 1 {
            return Err(format!("a repair leaves {left}, and an audit says: {audit}"));
        }
        cuts.undecided += 1;
        Ok(true)
    }

    /// Changes the copied field once more, and checks that everything is updated.
    async fn again(&self, odm: &Odm) -> Result<(), String> {
        let changed = (self.edge.again)(odm.clone()).await;
        changed.map_err(|error| error.to_string())?;
        let (_, pending) = self.state().await;
        let audit = odm.audit().await.map_err(|error| error.to_string())?;
        if pending.is_empty() && audit.is_clean() {
            Ok(())
        } else {
            Err(format!("{audit}; pending: {pending:?}"))
        }
    }
}

/// A bucket's own id is another one each time: it is known by its parent, its beginning and its page.
fn rename(document: &mut Document) {
    if document.get_object_id("_id").is_err() {
        return;
    }
    let names = ["post", "sensor", "start", "page"];
    let values: Vec<&Bson> = names.iter().filter_map(|name| document.get(name)).collect();
    let id = values.iter().map(ToString::to_string).collect::<Vec<_>>();
    document.insert("_id", id.join(" "));
}

/// Whether each field is as it was or as it was to be, and each member one that was or was to be there.
fn is_either(was: Option<&Document>, to_be: Option<&Document>, now: Option<&Document>) -> bool {
    let Some(now) = now else { return false };
    let of =
        |document: Option<&Document>, name: &str| document.and_then(|document| document.get(name)).cloned();
    let names: BTreeSet<&String> = [was, to_be, Some(now)]
        .into_iter()
        .flatten()
        .flat_map(Document::keys)
        .collect();
    names.into_iter().all(|name| {
        let (was, to_be, now) = (of(was, name), of(to_be, name), now.get(name).cloned());
        let items = |value: &Option<Bson>| {
            value
                .as_ref()
                .and_then(Bson::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let known = [items(&was), items(&to_be)].concat();
        let is_between = |now: &Option<Bson>| match (now, &was, &to_be) {
            (Some(Bson::Int64(now)), Some(Bson::Int64(was)), Some(Bson::Int64(to_be))) => {
                (was..=to_be).contains(&now)
            }
            _ => false,
        };
        now == was
            || name == "version" && is_between(&now)
            || now == to_be
            || !items(&now).is_empty() && items(&now).iter().all(|item| known.contains(item))
    })
}

/// The errors by which a statement of a transaction ends on a sharded cluster, where chunks have moved or another transaction is met:
/// the whole transaction may be run again.
const OF_ROUTING: [(i32, &str); 3] = [
    (13388, "StaleConfig"),
    (272, "MigrationConflict"),
    (112, "WriteConflict"),
];

impl Place {
    /// One process, of whose commands the one with this number is refused by an error of routing; with 0, none is. Gives its commands.
    async fn refused(&self, row: Row, at: usize, (code, name): (i32, &str)) -> Result<Vec<Sent>, String> {
        self.reset().await;
        let proxy = self.mode.proxy(0).await;
        let odm = self.mode.odm(through(&proxy, self.db.name()).await, &self.edge);
        odm.server().await.map_err(|error| error.to_string())?;
        odm.check_models().await.map_err(|error| error.to_string())?;
        if at > 0 {
            proxy.at(
                at,
                Fate::Answered(doc! {
                    "ok": 0.0, "code": code, "codeName": name, "errorLabels": ["TransientTransactionError"],
                    "errmsg": "Transaction was aborted on a statement due to: an error from cluster data placement change",
                }),
            );
        }
        proxy.arm();
        let ended = tokio::time::timeout(Duration::from_secs(20), (row.run)(odm)).await;
        let commands = proxy.take_commands();
        proxy.bury().await;
        match ended {
            Ok(Ok(())) => Ok(commands),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("hangs".to_owned()),
        }
    }

    /// Has each statement of the transactions of a write refused by each error of routing, or by one of them by turns. Gives how many
    /// were.
    async fn routed(&self, row: Row, by_turns: bool) -> Result<usize, String> {
        self.reset().await;
        let (before, _) = self.state().await;
        let after = self.undisturbed(row, &before).await?;
        let is_statement = |sent: &Sent| {
            sent.transaction.is_some()
                && !["commitTransaction", "abortTransaction"].contains(&sent.name.as_str())
        };
        let whole = self.refused(row, 0, OF_ROUTING[0]).await?;
        let mut refused = 0;
        for (number, _) in whole.iter().enumerate().filter(|(_, sent)| is_statement(sent)) {
            let turn = number % OF_ROUTING.len();
            for error in if by_turns {
                &OF_ROUTING[turn..=turn]
            } else {
                &OF_ROUTING[..]
            } {
                let what = |failure: &str| format!("{}, command {}: {failure}", error.1, number + 1);
                let sent = self
                    .refused(row, number + 1, *error)
                    .await
                    .map_err(|error| what(&error))?;
                if !sent.get(number).is_some_and(is_statement) {
                    // Commands that are on their way together come in any order.
                    continue;
                }
                refused += 1;
                let (state, pending) = self.state().await;
                let audit = self.odm.audit().await.map_err(|error| error.to_string())?;
                if state != after || !pending.is_empty() || !audit.is_clean() {
                    let names: Vec<&str> = sent.iter().map(|sent| sent.name.as_str()).collect();
                    return Err(what(&format!(
                        "{audit}; pending: {pending:?} after {names:?}; now: {state:?}; expected: {after:?}"
                    )));
                }
                self.again(&self.odm).await.map_err(|failure| what(&failure))?;
            }
        }
        Ok(refused)
    }
}

/// How many edges are tried at once: each in a database of its own.
const AT_ONCE: usize = 4;

#[odm_tests::test]
fn a_killed_process_loses_nothing() {
    with_db(async |t| {
        let started = Instant::now();
        let only = std::env::var("ODM_CRASH_EDGE").ok();
        let whole = std::env::var("ODM_CRASH_MATRIX").ok();
        let all = whole.is_some() || only.is_some();
        let (share, of) = (share(), share_of());
        println!("ODM_CRASH_SHARE={share}");
        let client = t.db.client().clone();
        let transactions = {
            let odm = Odm::new(t.db.clone(), (atomic::rows::edges()[0].models)()).unwrap();
            odm.server().await.unwrap().has_transactions()
        };
        let modes = Mode::ALL
            .into_iter()
            .filter(|mode| transactions || *mode == Mode::Standalone);
        let mut places: BTreeMap<usize, Vec<(usize, Mode, Edge)>> = BTreeMap::new();
        for mode in modes {
            for (n, edge) in mode.edges().into_iter().enumerate() {
                if only.as_ref().is_none_or(|only| edge.name.contains(only.as_str())) {
                    places.entry(n).or_default().push((n, mode, edge));
                }
            }
        }
        // The longest first.
        let done: Vec<_> = stream::iter(places.into_values().rev())
            .map(|modes| {
                let client = client.clone();
                // Each on the runtime's threads.
                tokio::spawn(async move {
                    let mut results = Vec::new();
                    let mut alone: BTreeMap<usize, Vec<String>> = BTreeMap::new();
                    for (n, mode, edge) in modes {
                        let place = Place::new(&client, mode, edge).await;
                        for (m, row) in place.edge.rows.iter().enumerate() {
                            if row.effect == Effect::Transaction && mode == Mode::Standalone {
                                continue;
                            }
                            if !all && (n + m + share) % of != mode as usize {
                                continue;
                            }
                            let known = alone.get(&m).filter(|_| mode == Mode::Eventual);
                            let cuts = place.row(*row, known.map(Vec::as_slice)).await;
                            if mode == Mode::Standalone {
                                alone.insert(m, cuts.names.clone());
                            }
                            results.push(((n, m), place.edge.name, row.write, mode, cuts));
                        }
                        place.db.drop().await.unwrap();
                    }
                    results
                })
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
            .unwrap();
        let mut matrix: Matrix = BTreeMap::new();
        for (at, edge, write, mode, cuts) in done.into_iter().flatten() {
            let (.., modes) = matrix.entry(at).or_insert((edge, write, BTreeMap::new()));
            modes.insert(mode, cuts);
        }
        let lines = lines(&matrix);
        for edge in lines.chunk_by(|a, b| a.edge == b.edge) {
            println!("{}\n\n{}", edge[0].edge, page::table(edge, &MODES));
        }
        println!("in {:.1} s", started.elapsed().as_secs_f64());
        let cuts = matrix.values().flat_map(|(.., modes)| modes.values());
        let failures: Vec<&String> = cuts.flat_map(|cuts| &cuts.failures).collect();
        for failure in &failures {
            println!("{failure}\n");
        }
        assert!(
            failures.is_empty(),
            "{} cuts left something wrong",
            failures.len()
        );
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        match whole {
            Some(path) => {
                let path = root.join(path);
                let lines = match only {
                    Some(_) => beside_others(&std::fs::read_to_string(&path).unwrap(), lines),
                    None => lines,
                };
                std::fs::write(path, page::page(&lines, &MODES)).unwrap();
            }
            // How many commands there are is the server's, too; which rows there are is not.
            None => {
                let rows: HashSet<String> = page::lines(PAGE).iter().map(page::Line::name).collect();
                for row in lines.iter().map(page::Line::name) {
                    assert!(
                        rows.contains(&row),
                        "the book lacks the row `{row}`: make its page anew"
                    );
                }
            }
        }
    });
}

#[odm_tests::test]
fn a_statement_that_a_router_refuses_is_repeated_with_its_transaction() {
    with_transactions(async |t| {
        let only = std::env::var("ODM_CRASH_EDGE").ok();
        let all = std::env::var_os("ODM_CRASH_MATRIX").is_some() || only.is_some();
        let (share, of) = (share(), share_of());
        println!("ODM_CRASH_SHARE={share}");
        let mut places = Vec::new();
        for mode in [Mode::Atomic, Mode::Behind] {
            for (n, edge) in mode.edges().into_iter().enumerate() {
                let is_named = only.as_ref().is_none_or(|only| edge.name.contains(only.as_str()));
                let rows = edge.rows.iter().enumerate();
                let rows = rows.filter(|(m, _)| is_named && (all || (n + m + share) % of == mode as usize));
                let rows: Vec<Row> = rows.map(|(_, row)| *row).collect();
                if !rows.is_empty() {
                    places.push((mode, edge, rows));
                }
            }
        }
        let done: Vec<_> = stream::iter(places)
            .map(|(mode, edge, rows)| {
                let client = t.db.client().clone();
                tokio::spawn(async move {
                    let place = Place::new(&client, mode, edge).await;
                    let mut results = Vec::new();
                    for row in rows {
                        let name = format!("{}, {}, {}", place.edge.name, row.write, mode.name());
                        results.push((name, place.routed(row, !all).await));
                    }
                    place.db.drop().await.unwrap();
                    results
                })
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
            .unwrap();
        let (mut refused, mut failures) = (0, Vec::new());
        for (name, result) in done.into_iter().flatten() {
            match result {
                Ok(statements) => refused += statements,
                Err(failure) => failures.push(format!("{name}: {failure}")),
            }
        }
        println!("{refused} statements were refused");
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        assert!(refused > 0 || only.is_some(), "no row has a transaction");
    });
}

/// The rows of some edges, and those of all others as the page has them, in the order of the edges.
fn beside_others(page: &str, new: Vec<page::Line>) -> Vec<page::Line> {
    let mut all = page::lines(page);
    all.retain(|line| new.iter().all(|new| new.edge != line.edge));
    all.extend(new);
    let edges = edges();
    all.sort_by_key(|line| edges.iter().position(|edge| edge.name == line.edge));
    all
}

/// The page of the guide.
const PAGE: &str = include_str!("../../../../docs/crash-matrix.md");

/// The names of the modes.
const MODES: [&str; 4] = [
    Mode::ALL[0].name(),
    Mode::ALL[1].name(),
    Mode::ALL[2].name(),
    Mode::ALL[3].name(),
];

#[odm_tests::test]
fn the_page_of_the_matrix_is_made_of_its_rows() {
    let lines = page::lines(PAGE);
    assert!(lines.len() > 300, "{} rows", lines.len());
    assert!(
        page::page(&lines, &MODES) == PAGE,
        "docs/crash-matrix.md is not as its rows make it"
    );
}

/// The plain test tries one row of this number, some of every edge: each time others.
fn share_of() -> usize {
    if odm_tests::leaves_out_long_tests() { 27 } else { 9 }
}

/// Which of these rows it tries.
fn share() -> usize {
    let share = std::env::var("ODM_CRASH_SHARE").ok();
    let share = share.and_then(|share| share.parse().ok());
    share.unwrap_or(std::process::id() as usize) % share_of()
}

type Matrix = BTreeMap<(usize, usize), (&'static str, &'static str, BTreeMap<Mode, Cuts>)>;

/// The matrix as the page shows it.
fn lines(matrix: &Matrix) -> Vec<page::Line> {
    matrix
        .values()
        .map(|(edge, write, modes)| page::Line {
            edge: (*edge).to_owned(),
            write: (*write).to_owned(),
            results: Mode::ALL
                .iter()
                .map(|mode| modes.get(mode).map(Cuts::result).unwrap_or_default())
                .collect(),
        })
        .collect()
}

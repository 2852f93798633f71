//! How an existing index becomes the declared one, by the kind of the difference, and how the one that it supersedes is retired.
//!
//! Nothing is stored beside what the server knows of an index, but for one document a superseded index in `_odm_indexes`: since when it was
//! not used, by what each member had counted then, and since when it is hidden. That one index has superseded another is told by
//! their names: the library names an index that it builds beside another one `NAME~12345678`, after a hash of its specification. Of an index
//! that no model declares any more, the document says that a step has retired it.

use super::existing;
use super::index::{Fit, Index};
use super::usage::{Count, Usage, day};
use super::values::{integer, same};
use crate::model::own_fields::INDEXES;
use crate::{Error, Result};
use mongodb::Database;
use mongodb::bson::{Bson, DateTime, Document, doc};
use std::collections::BTreeMap;
use std::time::Duration;

/// From MongoDB 4.4 on (wire version 9), an index can be hidden from queries.
pub(super) const HIDDEN: i32 = 9;

/// From MongoDB 6.0 on (wire version 17), an index can be made unique.
const PREPARE_UNIQUE: i32 = 17;

/// `CannotConvertIndexToUnique`.
const CANNOT_CONVERT: i32 = 359;

/// How long a superseded index has to be unused, and then hidden, unless the application says otherwise.
pub(super) const RETIRE_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The way in which an index is replaced: [`Change::ReplaceIndex`](super::Change::ReplaceIndex).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// use odm::schema::{Change, ReplaceWay};
///
/// for change in odm.plan().await?.replace().changes() {
///     if let Change::ReplaceIndex { index, way: ReplaceWay::Window, .. } = change {
///         println!("`{index}` is missing while it is built: do this at night");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplaceWay {
    /// The index itself is made unique.
    InPlace,
    /// The new index is built beside it, under another name. It is left until it is not used any more, then hidden, then dropped.
    Beside,
    /// The new index is built beside it, serves all of its queries, and it is dropped then.
    BesideThenDropped,
    /// It is dropped, and the new index is built then, since the server takes one of them: a window without an index.
    Window,
}

/// A step that retires a superseded index: [`Change::RetireIndex`](super::Change::RetireIndex).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// use odm::schema::{Change, RetireStep};
///
/// for change in odm.plan().await?.replace().changes() {
///     if let Change::RetireIndex { index, step: RetireStep::Drop, .. } = change {
///         println!("`{index}` will be dropped");
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetireStep {
    /// The counts of the members are stored, so that a later plan knows whether it was used since.
    Watch,
    /// It is hidden from queries, and kept up to date.
    Hide,
    /// It is dropped.
    Drop,
    /// It is the declared one again, and is shown to queries again.
    Unhide,
}

fn flag(index: &Document, name: &str) -> bool {
    let value = index.get(name);
    value.is_some_and(|value| *value == Bson::Boolean(true) || integer(value).is_some_and(|n| n != 0))
}

fn name(index: &Document) -> &str {
    index.get_str("name").unwrap_or_default()
}

fn key(index: &Document) -> Document {
    index.get_document("key").cloned().unwrap_or_default()
}

/// The name of the declared index that the library built this one for: without the hash, where it has one.
fn base(name: &str) -> &str {
    match name.rsplit_once('~') {
        Some((base, hash)) if hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => base,
        _ => name,
    }
}

/// Whether an existing index has the name of a declared one, or one that the library made of it.
pub(super) fn is_of(existing: &str, declared: &str) -> bool {
    existing == declared || base(existing) == declared
}

/// The declared index under a name that no other one has: its own, or one with a hash of its specification.
fn named(index: &Index, existing: &[Document], dropped: Option<&str>) -> Index {
    let is_taken = existing
        .iter()
        .any(|there| name(there) == index.name && Some(name(there)) != dropped);
    let mut index = index.clone();
    if is_taken {
        let mut spec = index.spec();
        spec.remove("name");
        // FNV-1a: the name has to be the same in each process.
        let bytes = mongodb::bson::serialize_to_vec(&spec).unwrap_or_default();
        let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        index.name = format!("{}~{hash:08x}", index.name);
    }
    index
}

/// An existing index, and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub way: ReplaceWay,
    /// The index that is there.
    pub from: Document,
    /// The declared one, under the name that it gets.
    pub index: Index,
}

impl Replacement {
    /// How `there` becomes the declared index, on a server of this wire version. `None` where it may not be touched, or another
    /// index of the collection is in the way.
    pub fn of(
        index: &Index,
        there: &Document,
        existing: &[Document],
        inherited: Option<&Document>,
        max_wire_version: i32,
    ) -> Option<Replacement> {
        if !is_of(name(there), &index.name) || name(there) == "_id_" {
            return None;
        }
        let in_the_way = |other: &&Document| {
            index.excludes(other, inherited, max_wire_version)
                || index.is_text() && other.contains_key("weights")
        };
        let others = existing.iter().filter(|other| name(other) != name(there));
        if others.filter(in_the_way).count() > 0 {
            return None;
        }
        let alike = index.differs_in_unique_alone(there, inherited);
        let way = if alike && index.unique && max_wire_version >= PREPARE_UNIQUE {
            ReplaceWay::InPlace
        } else if in_the_way(&there) || existing.len() >= super::index::MAX_INDEXES {
            ReplaceWay::Window
        } else if alike {
            ReplaceWay::BesideThenDropped
        } else {
            ReplaceWay::Beside
        };
        let dropped = matches!(way, ReplaceWay::InPlace | ReplaceWay::Window).then(|| name(there));
        let mut index = named(index, existing, dropped);
        if way == ReplaceWay::InPlace {
            index.name = name(there).to_owned();
        }
        let from = there.clone();
        Some(Replacement { way, from, index })
    }

    /// The commands in their order.
    pub fn commands(&self, collection: &str) -> Vec<Document> {
        let (old, spec) = (name(&self.from), self.index.spec());
        let drop_it = doc! { "dropIndexes": collection, "index": old };
        let build = doc! { "createIndexes": collection, "indexes": [spec] };
        let change = |option: &str| doc! { "collMod": collection, "index": { "name": old, option: true } };
        match self.way {
            ReplaceWay::InPlace => {
                let mut trial = change("unique");
                trial.insert("dryRun", true);
                vec![change("prepareUnique"), trial, change("unique")]
            }
            ReplaceWay::Beside => vec![build],
            ReplaceWay::BesideThenDropped => vec![build, drop_it],
            ReplaceWay::Window => vec![drop_it, build],
        }
    }

    /// The command that makes the index as it was, where a command after the first one failed.
    fn back(&self, collection: &str) -> Option<Document> {
        match self.way {
            ReplaceWay::InPlace => Some(doc! {
                "collMod": collection,
                "index": { "name": name(&self.from), "prepareUnique": false },
            }),
            ReplaceWay::Window => {
                let mut spec = self.from.clone();
                // The fields that servers add to a listed index.
                for added in ["ns", "background", "prepareUnique"] {
                    spec.remove(added);
                }
                Some(doc! { "createIndexes": collection, "indexes": [spec] })
            }
            ReplaceWay::Beside | ReplaceWay::BesideThenDropped => None,
        }
    }

    /// The change of the index, in words.
    pub fn in_words(&self) -> String {
        let (old, new) = (name(&self.from), &self.index.name);
        let meanwhile = |until: &str| {
            let unique = flag(&self.from, "unique").then_some("keeps duplicates out");
            let ttl = self.from.contains_key("expireAfterSeconds");
            let rules: Vec<&str> = unique
                .into_iter()
                .chain(ttl.then_some("deletes documents"))
                .collect();
            match rules.as_slice() {
                [] => String::new(),
                rules => format!(" ({until} it still {} as before)", rules.join(" and ")),
            }
        };
        match self.way {
            ReplaceWay::InPlace => "it is made unique in place, if no documents share a value".to_owned(),
            ReplaceWay::Beside => format!(
                "`{new}` is built beside it, and `{old}` is hidden and dropped when it is not used any more{}",
                meanwhile("until then")
            ),
            ReplaceWay::BesideThenDropped => {
                format!("`{new}` is built beside it, and `{old}` is dropped then")
            }
            ReplaceWay::Window => {
                let unique = if flag(&self.from, "unique") || self.index.unique {
                    ", and no index keeps duplicates out"
                } else {
                    ""
                };
                format!(
                    "`{old}` is dropped and `{new}` is built then, since the server does not take both: queries scan the collection \
                     meanwhile{unique}"
                )
            }
        }
    }

    /// Replaces the index, if it is as it was. Gives whether anything was changed.
    pub async fn carry_out(
        &self,
        db: &Database,
        collection: &str,
        inherited: Option<&Document>,
    ) -> Result<bool, ReplaceFailure> {
        let existing = existing::indexes(db, collection).await?;
        let there = existing.iter().find(|there| name(there) == name(&self.from));
        if !there.is_some_and(|there| is_unchanged(there, &self.from)) {
            let mut all = existing.iter();
            let is_done =
                |there: &&Document| is_of(name(there), base(&self.index.name)) && self.is(there, inherited);
            return match all.find(is_done) {
                Some(_) => Ok(false),
                None => Err(ReplaceFailure::Stale(format!(
                    "the index `{}` is another one",
                    name(&self.from)
                ))),
            };
        }
        let mut done = 0;
        for command in self.commands(collection) {
            match run(db, command).await {
                Ok(_) => done += 1,
                // A server that is told to be an older one.
                Err(e) if self.is_unknown(&e) && done == 0 => {
                    let beside = Replacement {
                        way: ReplaceWay::BesideThenDropped,
                        index: named(&self.index, &existing, None),
                        from: self.from.clone(),
                    };
                    return Box::pin(beside.carry_out(db, collection, inherited)).await;
                }
                // Another process was faster.
                Err(e)
                    if self.way == ReplaceWay::BesideThenDropped
                        && done == 1
                        && existing::code(&e) == Some(27) => {}
                Err(e) if done == 0 => return Err(ReplaceFailure::Refused(e)),
                Err(e) => return Err(self.taken_back(db, collection, e).await),
            }
        }
        Ok(true)
    }

    fn is(&self, there: &Document, inherited: Option<&Document>) -> bool {
        self.index.compare(there, inherited) == Fit::Same
    }

    fn is_unknown(&self, error: &mongodb::error::Error) -> bool {
        // InvalidOptions; an unknown field of a command, by its parser.
        self.way == ReplaceWay::InPlace && matches!(existing::code(error), Some(72 | 40415))
    }

    /// Makes the index as it was, behind a command that has failed.
    async fn taken_back(
        &self,
        db: &Database,
        collection: &str,
        error: mongodb::error::Error,
    ) -> ReplaceFailure {
        let Some(back) = self.back(collection) else {
            return ReplaceFailure::Refused(error);
        };
        let back = run(db, back).await;
        if self.way == ReplaceWay::InPlace {
            return match (existing::code(&error), back) {
                (Some(CANNOT_CONVERT), _) => ReplaceFailure::Duplicates(error),
                _ => ReplaceFailure::Refused(error),
            };
        }
        let old = name(&self.from);
        ReplaceFailure::Failed {
            outcome: match back {
                Ok(_) => format!("`{old}` was dropped before, and is built again"),
                Err(again) => format!(
                    "`{old}` was dropped before, and could not be built again: {}. Its specification is {}",
                    crate::error::driver::DriverText(&again),
                    self.from
                ),
            },
            error,
        }
    }
}

/// Whether an index is as it was listed, but for what changes without changing what it is.
fn is_unchanged(there: &Document, seen: &Document) -> bool {
    let passing = ["prepareUnique", "hidden"];
    let own = |index: &Document| {
        let own = index.iter().filter(|(name, _)| !passing.contains(&name.as_str()));
        own.map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Document>()
    };
    // The order of a key's fields matters, and that of options does not.
    let key = |index: &Document| -> Vec<String> {
        let fields = index.get_document("key").into_iter().flatten();
        fields.map(|(path, _)| path.clone()).collect()
    };
    key(there) == key(seen) && same(&own(there).into(), &own(seen).into())
}

/// Why an index was not replaced.
#[derive(Debug)]
pub(super) enum ReplaceFailure {
    /// It is not as it was when the plan was made.
    Stale(String),
    /// The server has refused it, and everything is as before.
    Refused(mongodb::error::Error),
    /// The same because of documents that share a value.
    Duplicates(mongodb::error::Error),
    /// The server has refused a later step.
    Failed {
        /// The state of the old index.
        outcome: String,
        error: mongodb::error::Error,
    },
    Other(Error),
}

impl From<Error> for ReplaceFailure {
    fn from(error: Error) -> ReplaceFailure {
        ReplaceFailure::Other(error)
    }
}

/// Runs a command, acknowledged by a majority.
async fn run(db: &Database, mut command: Document) -> mongodb::error::Result<Document> {
    command.insert("writeConcern", doc! { "w": "majority" });
    let reply = db.run_command(command).await?;
    match reply.get_document("writeConcernError") {
        Ok(concern) => Err(mongodb::error::Error::custom(format!(
            "the change was made, but not acknowledged by a majority: {concern}"
        ))),
        Err(_) => Ok(reply),
    }
}

/// An index that another one of the same declaration has superseded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Superseded {
    pub collection: &'static str,
    pub index: String,
    /// The name of the declared one; `None` where the index is not declared any more.
    pub by: Option<String>,
    pub hidden: bool,
    /// Where it is one only if a step has retired it: its key.
    pub if_retired: Option<Document>,
}

impl Superseded {
    /// Of the indexes of a collection, those that `by` has superseded, which is the declared one.
    pub fn all(
        collection: &'static str,
        declared: &Index,
        by: &str,
        existing: &[Document],
    ) -> Vec<Superseded> {
        let others = existing
            .iter()
            .filter(|there| name(there) != by && is_of(name(there), &declared.name));
        let superseded = others.map(|there| Superseded {
            collection,
            index: name(there).to_owned(),
            by: Some(by.to_owned()),
            hidden: flag(there, "hidden"),
            if_retired: None,
        });
        superseded.collect()
    }

    /// An index that is not declared: it is retired if a step has said so.
    pub fn undeclared(collection: &'static str, there: &Document) -> Superseded {
        Superseded {
            collection,
            index: name(there).to_owned(),
            by: None,
            hidden: flag(there, "hidden"),
            if_retired: Some(key(there)),
        }
    }

    fn id(&self) -> Document {
        doc! { "collection": self.collection, "index": &self.index }
    }
}

/// The stored note of a superseded index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Watched {
    /// When the members had counted this.
    at: DateTime,
    members: BTreeMap<String, Count>,
    hidden: Option<DateTime>,
    /// The key of an index that a step has retired: no model declares it any more.
    retired: Option<Document>,
}

impl Watched {
    fn stored(&self) -> Document {
        let members = self.members.iter();
        let members: Vec<Document> = members
            .map(|(member, count)| doc! { "member": member, "uses": count.uses, "since": count.since })
            .collect();
        let mut stored = doc! { "at": self.at, "members": members };
        stored.extend(self.hidden.map(|hidden| ("hidden".to_owned(), hidden.into())));
        stored.extend(self.retired.clone().map(|key| ("retired".to_owned(), key.into())));
        stored
    }

    fn read(stored: &Document) -> Option<Watched> {
        let members = stored.get_array("members").ok()?.iter();
        let count = |member: &Bson| {
            let member = member.as_document()?;
            let uses = member.get("uses").and_then(integer)?;
            let since = *member.get_datetime("since").ok()?;
            Some((member.get_str("member").ok()?.to_owned(), Count { uses, since }))
        };
        Some(Watched {
            at: *stored.get_datetime("at").ok()?,
            members: members.filter_map(count).collect(),
            hidden: stored.get_datetime("hidden").ok().copied(),
            retired: stored.get_document("retired").ok().cloned(),
        })
    }

    /// Whether a member has counted a use since.
    fn is_used_since(&self, counts: &BTreeMap<String, Count>) -> bool {
        counts.iter().any(|(member, now)| match self.members.get(member) {
            Some(then) if then.since == now.since => now.uses > then.uses,
            // It was started again, or is a new one.
            _ => now.uses > 0,
        })
    }
}

/// A superseded index, with the counts of its uses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retiring {
    pub superseded: Superseded,
    watched: Option<Watched>,
    usage: Usage,
    can_hide: bool,
    /// Why it is never hidden or dropped.
    kept: Option<String>,
}

impl Retiring {
    /// Reads the notes and uses of superseded indexes, and of those among the undeclared ones that a step has retired: one round trip for what is
    /// stored, and those of [`Usage::read`] for each collection.
    pub async fn read(odm: &crate::Odm, mut all: Vec<(Superseded, Option<String>)>) -> Result<Vec<Retiring>> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Document> = all.iter().map(|(one, _)| one.id()).collect();
        let find = doc! { "find": INDEXES, "filter": { "_id": { "$in": ids } } };
        let stored = existing::rows_of(odm.database(), &find).await?;
        let watched_of = |superseded: &Superseded| {
            let id = superseded.id();
            let mut stored = stored.iter();
            let stored = stored.find(|one| one.get_document("_id").is_ok_and(|one| *one == id));
            stored.and_then(Watched::read)
        };
        all.retain(|(one, _)| {
            one.if_retired.is_none()
                || watched_of(one).is_some_and(|watched| watched.retired == one.if_retired)
        });
        let can_hide = odm.server().await?.max_wire_version() >= HIDDEN;
        let mut usages: BTreeMap<&str, Usage> = BTreeMap::new();
        for (one, _) in &all {
            if !usages.contains_key(one.collection) {
                usages.insert(one.collection, Usage::read(odm, one.collection).await?);
            }
        }
        let retiring = all.into_iter().map(|(superseded, kept)| {
            let usage = usages.get(superseded.collection).cloned();
            Retiring {
                watched: watched_of(&superseded),
                usage: usage.unwrap_or_else(|| Usage::unknown("nothing was read".to_owned())),
                superseded,
                can_hide,
                kept,
            }
        });
        Ok(retiring.collect())
    }

    /// The next step, if it is due, with the finding and the time of later steps in words.
    pub fn next(&self, wait: Duration) -> (Option<RetireStep>, String) {
        let Superseded { index, by, .. } = &self.superseded;
        if by.as_ref() == Some(index) {
            let words =
                format!("the index `{index}` is the declared one again, and is to be shown to queries again");
            return (Some(RetireStep::Unhide), words);
        }
        let (step, words) = self.due(wait);
        let is = match by {
            Some(by) => format!("is superseded by `{by}`"),
            None => "is not declared any more".to_owned(),
        };
        (step, format!("the index `{index}` {is}; {words}"))
    }

    fn due(&self, wait: Duration) -> (Option<RetireStep>, String) {
        if let Some(why) = &self.kept {
            return (None, why.clone());
        }
        let now = self.usage.now;
        let behind = |at: DateTime| {
            let wait = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            DateTime::from_millis(at.timestamp_millis().saturating_add(wait))
        };
        if self.superseded.hidden {
            return match self.watched.as_ref().and_then(|watched| watched.hidden) {
                None => (
                    Some(RetireStep::Watch),
                    "it is hidden, and is dropped later: the time counts from the next `replace()`"
                        .to_owned(),
                ),
                Some(at) if behind(at) <= now => (
                    Some(RetireStep::Drop),
                    format!("hidden since {}, and to be dropped", day(at)),
                ),
                Some(at) => (
                    None,
                    format!(
                        "hidden since {}; it is dropped from {} on",
                        day(at),
                        day(behind(at))
                    ),
                ),
            };
        }
        if let Some(why) = &self.usage.unknown {
            let what =
                format!("it is unknown whether it is used: {why}. Drop it yourself when no program uses it");
            return (None, what);
        }
        let watched = self.watched.as_ref().filter(|watched| watched.hidden.is_none());
        let Some(watched) = watched else {
            return (
                Some(RetireStep::Watch),
                "it is hidden and dropped when it is not used any more: the time counts from the next `replace()`".to_owned(),
            );
        };
        let Some(counts) = self.usage.counts.get(&self.superseded.index) else {
            return (
                None,
                "it is unknown whether it is used: no member counts its uses".to_owned(),
            );
        };
        let at = watched.at;
        if watched.is_used_since(counts) {
            return (
                Some(RetireStep::Watch),
                format!(
                    "it was used after {}: the time counts anew from the next `replace()`",
                    day(at)
                ),
            );
        }
        let (step, is, to_be) = if self.can_hide {
            (RetireStep::Hide, "hidden", "to be hidden")
        } else {
            (RetireStep::Drop, "dropped", "to be dropped")
        };
        if behind(at) <= now {
            (Some(step), format!("not used since {}, and {to_be}", day(at)))
        } else {
            (
                None,
                format!(
                    "not used since {}; it is {is} from {} on",
                    day(at),
                    day(behind(at))
                ),
            )
        }
    }
}

/// Executes a step of a superseded index. Gives whether anything was changed.
pub(super) async fn retire(
    odm: &crate::Odm,
    superseded: &Superseded,
    step: RetireStep,
) -> Result<bool, ReplaceFailure> {
    let db = odm.database();
    let (collection, index) = (superseded.collection, &superseded.index);
    let refused = |e| match existing::code(&e) {
        Some(26 | 27) => ReplaceFailure::Stale(format!("the index `{index}` is gone")),
        _ => ReplaceFailure::Refused(e),
    };
    // Nothing is hidden or dropped unless the index that stands for it is there.
    let existing = existing::indexes(db, collection).await?;
    let removes = matches!(step, RetireStep::Hide | RetireStep::Drop);
    if let Some(by) = superseded.by.as_ref().filter(|_| removes) {
        let there = existing.iter().find(|there| name(there) == by);
        if there.is_none_or(|there| flag(there, "hidden")) {
            return Err(ReplaceFailure::Stale(format!(
                "the index `{by}` is not there, or hidden"
            )));
        }
    }
    match step {
        RetireStep::Watch => watch(odm, superseded).await?,
        RetireStep::Hide => {
            run(db, retirement(superseded, step)).await.map_err(refused)?;
            let hidden = Superseded {
                hidden: true,
                ..superseded.clone()
            };
            watch(odm, &hidden).await?;
        }
        RetireStep::Drop | RetireStep::Unhide => {
            run(db, retirement(superseded, step)).await.map_err(refused)?;
            run(db, forget(superseded.id()))
                .await
                .map_err(ReplaceFailure::Refused)?;
        }
    }
    Ok(true)
}

/// The command that hides, shows or drops a superseded index.
fn retirement(superseded: &Superseded, step: RetireStep) -> Document {
    let (collection, index) = (superseded.collection, superseded.index.as_str());
    match step {
        RetireStep::Hide | RetireStep::Unhide => doc! {
            "collMod": collection,
            "index": { "name": index, "hidden": step == RetireStep::Hide },
        },
        RetireStep::Watch | RetireStep::Drop => doc! { "dropIndexes": collection, "index": index },
    }
}

/// Notes what the members have counted of a superseded index.
pub(super) async fn watch(odm: &crate::Odm, superseded: &Superseded) -> Result<()> {
    let usage = Usage::read(odm, superseded.collection).await?;
    let watched = Watched {
        at: usage.now,
        hidden: superseded.hidden.then_some(usage.now),
        members: usage.counts.get(&superseded.index).cloned().unwrap_or_default(),
        retired: superseded.if_retired.clone(),
    };
    let update = doc! {
        "update": INDEXES,
        "updates": [{ "q": { "_id": superseded.id() }, "u": watched.stored(), "upsert": true }],
    };
    let done = run(odm.database(), update).await;
    Ok(done.map(drop)?)
}

/// Drops an index, and removes its note.
pub(super) async fn drop_at_once(db: &Database, collection: &str, index: &str) -> Result<()> {
    run(db, doc! { "dropIndexes": collection, "index": index }).await?;
    let id = doc! { "collection": collection, "index": index };
    run(db, forget(id)).await?;
    Ok(())
}

/// The command that removes the note of an index.
fn forget(id: Document) -> Document {
    doc! { "delete": INDEXES, "deletes": [{ "q": { "_id": id }, "limit": 1 }] }
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;

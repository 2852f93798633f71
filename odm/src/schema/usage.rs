//! How often indexes are used, by what each member of the deployment counts, and which of them could be dropped: [`Odm::index_report`].
//!
//! `$indexStats` counts the operations that used an index on the member that is asked, since that member was started, or since the index
//! was built or hidden there. So each member that the client knows is asked, and the sum says nothing where one of them did not answer.

use super::existing::{self, rows_from};
use super::index::key_in_words;
use super::values::{integer, plural, same_document};
use crate::store::server::Topology;
use crate::store::{action, trace::Trace};
use crate::{Odm, Result};
use futures::FutureExt;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::{SelectionCriteria, ServerAddress};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a member is waited for that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client is given to find the other members.
const DISCOVERY: Duration = Duration::from_secs(1);

/// The uses of one index that one member has counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count {
    pub uses: i64,
    pub since: DateTime,
}

/// The uses of the indexes of a collection, as far as the members tell them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Usage {
    /// By the name of the index, then by the member.
    pub counts: BTreeMap<String, BTreeMap<String, Count>>,
    /// The time on the server.
    pub now: DateTime,
    /// Why it is not known of all members.
    pub unknown: Option<String>,
}

impl Usage {
    /// Nothing is known, for this reason.
    pub fn unknown(why: String) -> Usage {
        Usage {
            counts: BTreeMap::new(),
            now: DateTime::now(),
            unknown: Some(why),
        }
    }

    /// Asks all members that the client knows: one round trip for each, and one for their number.
    pub async fn read(odm: &Odm, collection: &str) -> Result<Usage> {
        let db = odm.database();
        let command = doc! {
            "aggregate": collection,
            "pipeline": [
                { "$indexStats": {} },
                { "$project": { "name": 1, "host": 1, "shard": 1, "accesses": 1, "now": "$$NOW" } },
            ],
            "cursor": {},
        };
        let known: Arc<Mutex<Vec<ServerAddress>>> = Arc::default();
        let seen = Arc::clone(&known);
        let any = SelectionCriteria::Predicate(Arc::new(move |server| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if !seen.contains(server.address()) {
                seen.push(server.address().clone());
            }
            // One of them, so that the first answer comes from one that the others are told from.
            seen.first() == Some(server.address())
        }));
        let mut rows = match rows_from(db, &command, &any).await {
            Ok(rows) => rows,
            Err(error) => match existing::code(&error) {
                Some(13) => return Ok(Usage::unknown("this user may not read `$indexStats`".to_owned())),
                // An unknown stage or command; a stage that the deployment does not allow.
                Some(code @ (40324 | 59 | 115 | 8000 | 72)) => {
                    return Ok(Usage::unknown(format!(
                        "the server does not answer `$indexStats` (code {code})"
                    )));
                }
                _ => return Err(error.into()),
            },
        };
        let is_sharded = odm.server().await?.topology() == Topology::Sharded;
        let members = if is_sharded { 1 } else { members(odm).await? };
        let found = || known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // A client that has just been made may not know all of them yet.
        if !is_sharded && found().len() < members {
            tokio::time::sleep(DISCOVERY).await;
            let ping = db.run_command(doc! { "ping": 1 });
            let _ = ping.selection_criteria(any.clone()).await;
        }
        let known = found();
        let mut answered = 1;
        // Any router asks the shards.
        for address in known.iter().skip(1).filter(|_| !is_sharded) {
            let address = address.clone();
            let one = SelectionCriteria::Predicate(Arc::new(move |server| *server.address() == address));
            if let Ok(Ok(more)) = tokio::time::timeout(PATIENCE, rows_from(db, &command, &one)).await {
                rows.extend(more);
                answered += 1;
            }
        }
        let mut usage = Usage::of(&rows);
        if is_sharded {
            usage.unknown = Some("of each shard one member alone answers through a router".to_owned());
        } else if answered < members {
            usage.unknown = Some(format!("{answered} of {members} members have answered"));
        }
        Ok(usage)
    }

    fn of(rows: &[Document]) -> Usage {
        let mut counts: BTreeMap<String, BTreeMap<String, Count>> = BTreeMap::new();
        let (mut now, mut unknown) = (None, None);
        for row in rows {
            let (Ok(name), Ok(accesses)) = (row.get_str("name"), row.get_document("accesses")) else {
                continue;
            };
            let host = row.get_str("host").unwrap_or_default();
            let member = match row.get_str("shard") {
                Ok(shard) => format!("{shard}/{host}"),
                Err(_) => host.to_owned(),
            };
            let Ok(since) = accesses.get_datetime("since") else {
                unknown = Some("the server does not say since when it counts".to_owned());
                continue;
            };
            let uses = accesses.get("ops").and_then(integer).unwrap_or_default();
            let count = Count { uses, since: *since };
            counts.entry(name.to_owned()).or_default().insert(member, count);
            now = now.max(row.get_datetime("now").ok().copied());
        }
        Usage {
            counts,
            now: now.unwrap_or_else(DateTime::now),
            unknown,
        }
    }
}

/// How many members with data a replica set has.
async fn members(odm: &Odm) -> Result<usize> {
    let admin = odm.database().client().database("admin");
    let of = |reply: &Document, name| reply.get_array(name).map_or(0, Vec::len);
    // `isMaster` is known to every server.
    let reply = admin.run_command(doc! { "isMaster": 1 }).await?;
    Ok((of(&reply, "hosts") + of(&reply, "passives")).max(1))
}

/// The indexes of the declared collections, with their sizes and uses: [`Odm::index_report`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let report = odm.index_report().await?;
/// for index in report.indexes.iter().filter(|index| index.uses == Some(0)) {
///     println!("{}: {} has {:?} bytes and no uses", index.collection, index.index, index.bytes);
/// }
/// println!("{report}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The indexes, by collection.
    pub indexes: Vec<ReportedIndex>,
    /// Why the uses of a collection's indexes are not known, or not on all members.
    pub unknown: Vec<(&'static str, String)>,
}

/// An index with its size and uses: [`IndexReport::indexes`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// for index in odm.index_report().await?.indexes {
///     if let Some(other) = index.served_by {
///         println!("{}: {} does what {} does", index.collection, other, index.index);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReportedIndex {
    /// The collection.
    pub collection: &'static str,
    /// The index's name.
    pub index: String,
    /// Its fields, in words.
    pub fields: String,
    /// Its size on disk, where the user may read it.
    pub bytes: Option<u64>,
    /// How many operations used it on all members, or `None` where a member did not answer and none of the others counts one.
    pub uses: Option<u64>,
    /// Since when the member that counts for the shortest time counts.
    pub since: Option<DateTime>,
    /// Another index that finds all that this one finds: one on the same fields, or one that begins with them and has the same options.
    pub served_by: Option<String>,
    /// Whether that one is on the same fields.
    pub duplicate: bool,
}

impl ReportedIndex {
    fn is_worth_a_line(&self) -> bool {
        self.uses == Some(0) && self.index != "_id_" || self.served_by.is_some()
    }
}

/// The indexes that are unused, or that another one does the work of, a line each; then what is not known.
impl fmt::Display for IndexReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for one in self.indexes.iter().filter(|one| one.is_worth_a_line()) {
            let mut line = format!(
                "`{}`: the index `{}` on {}",
                one.collection, one.index, one.fields
            );
            let mut said = Vec::new();
            if let (Some(0), Some(since)) = (one.uses, one.since) {
                said.push(format!("was not used since {}", day(since)));
            }
            match &one.served_by {
                Some(other) if one.duplicate => said.push(format!("duplicates `{other}`")),
                Some(other) => said.push(format!(
                    "is redundant: `{other}` begins with its fields and has its options"
                )),
                None => {}
            }
            line.push_str(&format!(" {}", said.join(", and ")));
            if let Some(bytes) = one.bytes {
                line.push_str(&format!(" ({})", size(bytes)));
            }
            lines.push(line);
        }
        if lines.is_empty() && self.unknown.is_empty() {
            lines.push(format!(
                "each of {} was used, and does what no other does",
                plural(self.indexes.len() as u64, "index").replace("indexs", "indexes")
            ));
        }
        lines.extend(self.unknown.iter().map(|(collection, why)| {
            format!("`{collection}`: it is unknown which indexes are unused: {why}")
        }));
        f.write_str(&lines.join("\n"))
    }
}

/// `2026-11-30 02:08 UTC`
pub(super) fn day(at: DateTime) -> String {
    let text = at.try_to_rfc3339_string().unwrap_or_else(|_| at.to_string());
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => plural(bytes, "byte"),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

impl Odm {
    /// Reads the indexes of the declared collections with their sizes and uses, and says which are unused since when, which are redundant
    /// (another index begins with their fields and has their options), and which are duplicates. Nothing is changed.
    ///
    /// An index without uses may be one of a query that runs once a year, or of a rule of the library; a unique one keeps duplicates out
    /// all the same. The members count from their start, so a short time says little. Where the user may not read `$indexStats`, or a
    /// member does not answer, that is said ([`IndexReport::unknown`]).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// println!("{}", odm.index_report().await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Cost
    /// For each declared collection three round trips, for its indexes, their sizes and the number of members, and one for each member
    /// that the client knows.
    pub fn index_report(&self) -> action::Action<IndexReport> {
        let odm = self.clone();
        let report = async move {
            let reported = odm.reported_indexes().boxed();
            Trace::new("(all)", "index_report").run(reported).await
        };
        action::Action::new("(all)", "index_report", Box::new(report))
    }

    async fn reported_indexes(&self) -> Result<IndexReport> {
        let mut report = IndexReport {
            indexes: Vec::new(),
            unknown: Vec::new(),
        };
        for meta in self.models().iter().map(|model| model.meta) {
            if meta.view().is_some() {
                continue;
            }
            let collection = meta.collection;
            let indexes = existing::indexes(self.database(), collection).await?;
            if indexes.is_empty() {
                continue;
            }
            let sizes = sizes(self, collection).await?;
            let usage = Usage::read(self, collection).await?;
            report
                .indexes
                .extend(reported(collection, &indexes, &sizes, &usage));
            report.unknown.extend(usage.unknown.map(|why| (collection, why)));
        }
        Ok(report)
    }
}

/// The sizes of the indexes, by name, over all shards; none where the user may not read them.
async fn sizes(odm: &Odm, collection: &str) -> Result<BTreeMap<String, u64>> {
    let command = doc! {
        "aggregate": collection,
        "pipeline": [
            { "$collStats": { "storageStats": {} } },
            { "$project": { "sizes": "$storageStats.indexSizes" } },
        ],
        "cursor": {},
    };
    let rows = match existing::rows_of(odm.database(), &command).await {
        Ok(rows) => rows,
        Err(error) if existing::code(&error).is_some() => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.into()),
    };
    let mut all = BTreeMap::new();
    for (name, bytes) in rows
        .iter()
        .filter_map(|row| row.get_document("sizes").ok())
        .flatten()
    {
        let bytes = integer(bytes).and_then(|bytes| u64::try_from(bytes).ok());
        *all.entry(name.clone()).or_default() += bytes.unwrap_or_default();
    }
    Ok(all)
}

fn reported(
    collection: &'static str,
    indexes: &[Document],
    sizes: &BTreeMap<String, u64>,
    usage: &Usage,
) -> Vec<ReportedIndex> {
    let of_one = |index: &Document| {
        let name = index.get_str("name").unwrap_or_default().to_owned();
        let counts = usage.counts.get(&name);
        let uses = counts.map(|counts| counts.values().map(|count| count.uses.max(0) as u64).sum());
        let others = indexes.iter().filter(|other| !std::ptr::eq(*other, index));
        let server = others
            .filter(|other| does_the_work(other, index))
            .max_by_key(|other| length(other));
        ReportedIndex {
            collection,
            fields: key_in_words(index),
            bytes: sizes.get(&name).copied(),
            uses: uses.filter(|uses| usage.unknown.is_none() || *uses > 0),
            since: counts.and_then(|counts| counts.values().map(|count| count.since).max()),
            duplicate: server.is_some_and(|other| length(other) == length(index)),
            served_by: server.and_then(|other| Some(other.get_str("name").ok()?.to_owned())),
            index: name,
        }
    };
    indexes.iter().map(of_one).collect()
}

fn length(index: &Document) -> usize {
    index.get_document("key").map_or(0, Document::len)
}

/// Whether an index finds all that another one finds, and the other one has no rule of its own.
fn does_the_work(index: &Document, other: &Document) -> bool {
    let is_set = |index: &Document, name: &str| {
        let value = index.get(name);
        value.is_some_and(|value| *value == Bson::Boolean(true) || integer(value).is_some_and(|n| n != 0))
    };
    let (Ok(key), Ok(of_other)) = (index.get_document("key"), other.get_document("key")) else {
        return false;
    };
    let is_plain = |key: &Document| {
        key.iter()
            .all(|(path, kind)| integer(kind).is_some_and(|n| n.abs() == 1) && !path.ends_with("$**"))
    };
    let begins = key.len() >= of_other.len()
        && key.keys().zip(of_other.keys()).all(|(a, b)| a == b)
        && [1, -1].into_iter().any(|turn| {
            let both = key.values().zip(of_other.values());
            both.into_iter()
                .all(|(a, b)| integer(a) == integer(b).map(|b| b * turn))
        });
    let options = |index: &Document| {
        let mut options = Document::new();
        for name in ["collation", "partialFilterExpression"] {
            options.extend(index.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        options.insert("sparse", is_set(index, "sparse"));
        options
    };
    let has_a_rule = other.get_str("name").is_ok_and(|name| name == "_id_")
        || is_set(other, "unique")
        || other.contains_key("expireAfterSeconds");
    is_plain(key)
        && is_plain(of_other)
        && begins
        && !has_a_rule
        && !is_set(index, "hidden")
        && same_document(&options(index), &options(other))
        // A sparse index on more fields holds other documents.
        && (key.len() == of_other.len() || !is_set(other, "sparse"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime {
        DateTime::from_millis(seconds * 1_000)
    }

    #[test]
    fn what_members_count_is_kept_apart() {
        let row = |host: &str, ops: i64| doc! { "name": "a_1", "host": host, "accesses": { "ops": ops, "since": at(ops) }, "now": at(99) };
        let usage = Usage::of(&[row("one:1", 3), row("two:1", 0)]);
        assert_eq!(usage.now, at(99));
        assert_eq!(
            usage.counts["a_1"]["one:1"],
            Count {
                uses: 3,
                since: at(3)
            }
        );
        assert_eq!(usage.counts["a_1"]["two:1"].uses, 0);
    }

    #[test]
    fn unused_redundant_and_duplicate_indexes_are_told_with_their_size() {
        let index = |key: Document, name: &str| doc! { "v": 2, "key": key, "name": name };
        let mut unique = index(doc! { "c": 1 }, "c_u");
        unique.insert("unique", true);
        let mut partial = index(doc! { "a": 1 }, "a_p");
        partial.insert("partialFilterExpression", doc! { "b": 1 });
        let indexes = [
            index(doc! { "_id": 1 }, "_id_"),
            index(doc! { "a": 1 }, "a_1"),
            index(doc! { "a": -1, "b": 1 }, "a_-1_b_1"),
            index(doc! { "c": 1 }, "c_1"),
            unique,
            partial,
        ];
        let row = |name: &str, ops: i64| doc! { "name": name, "host": "one:1", "accesses": { "ops": ops, "since": at(0) }, "now": at(99) };
        let rows = [
            row("_id_", 0),
            row("a_1", 0),
            row("a_-1_b_1", 2),
            row("c_1", 1),
            row("c_u", 1),
            row("a_p", 0),
        ];
        let mut usage = Usage::of(&rows);
        let sizes = BTreeMap::from([("a_1".to_owned(), 20_000_000), ("c_1".to_owned(), 400)]);
        let report = |usage: &Usage| IndexReport {
            indexes: reported("t", &indexes, &sizes, usage),
            unknown: usage.unknown.clone().map(|why| ("t", why)).into_iter().collect(),
        };
        assert_eq!(
            report(&usage).to_string(),
            "`t`: the index `a_1` on a was not used since 1970-01-01 00:00 UTC, and is redundant: `a_-1_b_1` begins with its fields and has \
             its options (20 MB)\n\
             `t`: the index `c_1` on c duplicates `c_u` (400 bytes)\n\
             `t`: the index `a_p` on a was not used since 1970-01-01 00:00 UTC"
        );
        // Where a member did not answer, no index is unused.
        usage.unknown = Some("1 of 3 members have answered".to_owned());
        let told = report(&usage);
        assert_eq!(told.indexes[5].uses, None);
        assert_eq!(told.indexes[2].uses, Some(2));
        assert!(
            told.to_string()
                .ends_with("`t`: it is unknown which indexes are unused: 1 of 3 members have answered"),
            "{told}"
        );
        let whole = IndexReport {
            indexes: told.indexes[..1].to_vec(),
            unknown: Vec::new(),
        };
        assert_eq!(
            whole.to_string(),
            "each of 1 index was used, and does what no other does"
        );
    }
}

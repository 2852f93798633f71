//! The differences between the declarations and the database, before anything is changed.

use super::existing::{self, Violations};
use super::index::{self, Fit, Index, MAX_INDEXES, key_in_words};
use super::renamed::{self, Renamed};
use super::replace::{self, ReplaceWay, Replacement, RetireStep, Retiring, Superseded};
use super::rust_names;
use super::search::{self, SearchDifference};
use super::shard::{self, Cluster, ShardDifference};
use super::shard_key::{Serves, StoredShardKey, StoredShardKeys};
use super::validator::{self, Current};
use super::values::plural;
use super::{kind, partial, words};
use crate::graph::Graph;
use crate::model::document::{Action, CollectionKind, DocumentMeta, Level};
use crate::store::scopes::of_variant;
use crate::store::{action, trace::Trace};
use crate::{Odm, Result};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use mongodb::Database;
use mongodb::bson::{Document, doc};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// Number of collections that are compared, or changed, at the same time.
pub(super) const AT_ONCE: usize = 8;

/// Why it is not known which index serves the shard key.
const UNREAD: &str = "this user may not read `config.collections`";

/// From MongoDB 5.1 on (wire version 14), an index without a time to live can be given one.
const TTL_CAN_BE_ADDED: i32 = 14;

/// The difference between the declared schema and the database. [`Odm::plan`] makes it, its `Display` shows it, and
/// [`Odm::apply`] applies it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) changes: Vec<Change>,
    notes: Vec<String>,
    backfills: Vec<String>,
    lacking: Vec<Lacking>,
    renamed: Vec<Renamed>,
    shared: Vec<SharedValues>,
    unknown: Vec<String>,
    warning: Option<String>,
    /// The collections as they were.
    pub(super) seen: HashMap<&'static str, Current>,
    /// The new indexes, for what can be asked about them later.
    pub(super) indexes: HashMap<&'static str, Vec<Index>>,
    pub(super) accept_violations: bool,
    /// The indexes that can be replaced.
    replacements: Vec<PlannedReplacement>,
    /// The changed validators that can allow the previous shape too.
    both: HashMap<&'static str, BothShapes>,
    /// The validators that allow a previous shape, where the declared one is the newest.
    widened: Vec<Widened>,
    superseded: Vec<(Superseded, Option<String>)>,
    retiring: Vec<Retiring>,
    retire_after: Duration,
    /// How many of the notes are of other things than superseded indexes.
    other_notes: usize,
    replaces: bool,
    pub(super) in_window: bool,
}

/// A conflict, and the change that it becomes.
#[derive(Clone, Debug)]
pub(super) struct PlannedReplacement {
    conflict: Change,
    change: Change,
    pub replacement: Replacement,
}

/// A validator that allows the declared shape and the previous one.
#[derive(Clone, Debug)]
struct BothShapes {
    validator: Document,
    /// The documents that have neither.
    violations: Option<Violations>,
}

/// A collection whose validator allows a previous shape too.
#[derive(Clone, Debug)]
struct Widened {
    collection: &'static str,
    /// The declared rules.
    rules: Document,
    /// The whole validator that allows the declared shape alone.
    narrow: Document,
    level: Level,
    action: Action,
    /// The documents of the previous shape.
    remaining: Option<Violations>,
}

/// Documents that lack a declared field and are read with its default: [`Plan::lacking`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// for lacking in odm.plan().await?.lacking() {
///     println!("{} of `{}` lack `{}`", lacking.documents, lacking.collection, lacking.field);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lacking {
    /// The collection.
    pub collection: &'static str,
    /// The dotted name of the field; through an array, that of its items.
    pub field: String,
    /// How many documents lack it, or have an item that does.
    pub documents: u64,
}

/// Documents that share values which one document alone may have, by `unique(global)`: [`Plan::shared`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// for shared in odm.plan().await?.shared() {
///     println!("`{}`.`{}`: {}", shared.collection, shared.fields.join("`, `"), shared.documents);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SharedValues {
    /// The collection.
    pub collection: &'static str,
    /// The stored names of the fields.
    pub fields: Vec<String>,
    /// The documents.
    pub documents: Violations,
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A collection is missing.
    #[non_exhaustive]
    CreateCollection {
        /// Its name.
        collection: &'static str,
        /// The validator it gets.
        validator: Document,
        /// The validation level.
        level: Level,
        /// The validation action.
        action: Action,
        /// How it compares strings, where that is declared.
        collation: Option<Document>,
        /// Whether the server keeps its documents before and after each change.
        pre_and_post_images: bool,
        /// What makes it a capped collection, a time series or a view, as `create` takes it. The last two have no validator.
        kind: Document,
    },
    /// A view shows something else, or a time series is stored or deleted in another way.
    #[non_exhaustive]
    ModifyCollection {
        /// The collection.
        collection: &'static str,
        /// The options, as `collMod` takes them.
        options: Document,
        /// The change in words.
        words: String,
    },
    /// The server is to keep the documents of a collection before and after each change, for change streams.
    #[non_exhaustive]
    SetPreAndPostImages {
        /// The collection.
        collection: &'static str,
    },
    /// A collection's validator differs.
    #[non_exhaustive]
    SetValidator {
        /// The collection.
        collection: &'static str,
        /// The whole new validator, with the part that the application added.
        validator: Document,
        /// The validation level.
        level: Level,
        /// The validation action.
        action: Action,
        /// The changes in words, a line each.
        words: Vec<String>,
        /// The existing documents that violate it.
        violations: Option<Violations>,
    },
    /// An index is missing.
    #[non_exhaustive]
    CreateIndex {
        /// The collection.
        collection: &'static str,
        /// The index's name.
        index: String,
        /// Its specification, as `createIndexes` takes it.
        spec: Document,
        /// Its description in words.
        words: String,
        /// Of a unique index: the documents with the same values.
        violations: Option<Violations>,
    },
    /// An index deletes documents after another time.
    #[non_exhaustive]
    ChangeTtl {
        /// The collection.
        collection: &'static str,
        /// The index's name in the database.
        index: String,
        /// After how many seconds now; `None` if it deletes nothing.
        from: Option<i64>,
        /// After how many seconds then.
        to: i64,
    },
    /// A search or vector index of Atlas is missing.
    #[non_exhaustive]
    CreateSearchIndex {
        /// The collection.
        collection: &'static str,
        /// The index's name.
        index: String,
        /// As `createSearchIndexes` takes it: its name, its type and its definition.
        spec: Document,
    },
    /// A search or vector index of Atlas has another definition. Atlas goes on with the previous one until the new one is built.
    #[non_exhaustive]
    UpdateSearchIndex {
        /// The collection.
        collection: &'static str,
        /// The index's name.
        index: String,
        /// The definition now.
        from: Document,
        /// The definition then, with what models don't declare as it is now.
        to: Document,
    },
    /// A collection of a sharded cluster is on one shard, and is declared to be distributed: `#[document(shard_key(…))]`.
    #[non_exhaustive]
    ShardCollection {
        /// The collection.
        collection: &'static str,
        /// The key, as `shardCollection` takes it.
        key: Document,
        /// Whether the collection has a collation, which the shard key does not have.
        simple: bool,
    },
    /// An index with other options than the declared one is replaced. A plan has this only after [`Plan::replace`]: before, it is a
    /// [`Change::Conflict`].
    #[non_exhaustive]
    ReplaceIndex {
        /// The collection.
        collection: &'static str,
        /// The name of the index that is there.
        index: String,
        /// That index, as `listIndexes` shows it.
        from: Document,
        /// The specification of the declared one, as `createIndexes` takes it, with the name that it gets.
        spec: Document,
        /// How.
        way: ReplaceWay,
        /// The difference and the change, in words.
        words: String,
        /// Of a unique index: the documents with the same values.
        violations: Option<Violations>,
    },
    /// An index that another one has superseded, or that a step has retired, is hidden, or dropped. A plan has this only after
    /// [`Plan::replace`]: before, it is a note.
    #[non_exhaustive]
    RetireIndex {
        /// The collection.
        collection: &'static str,
        /// The index's name.
        index: String,
        /// The name of the one that has superseded it; `None` where a step has retired it, since no model declares it any more.
        by: Option<String>,
        /// The step that is made now.
        step: RetireStep,
        /// Why, in words.
        words: String,
    },
    /// A collection or index of that name exists that odm does not replace, or replaces only where it is told to, by [`Plan::replace`]. A plan
    /// with a conflict is not applied.
    #[non_exhaustive]
    Conflict {
        /// The collection.
        collection: &'static str,
        /// What differs, and what to do.
        what: String,
    },
}

impl Change {
    /// The collection that it is about.
    pub fn collection(&self) -> &'static str {
        match self {
            Change::CreateCollection { collection, .. }
            | Change::SetPreAndPostImages { collection }
            | Change::ModifyCollection { collection, .. }
            | Change::SetValidator { collection, .. }
            | Change::CreateIndex { collection, .. }
            | Change::ChangeTtl { collection, .. }
            | Change::CreateSearchIndex { collection, .. }
            | Change::UpdateSearchIndex { collection, .. }
            | Change::ShardCollection { collection, .. }
            | Change::ReplaceIndex { collection, .. }
            | Change::RetireIndex { collection, .. }
            | Change::Conflict { collection, .. } => collection,
        }
    }

    /// Whether both are about one search index.
    pub(super) fn is_same_index(&self, other: &Change) -> bool {
        let of = |change: &Change| match change {
            Change::CreateSearchIndex {
                collection, index, ..
            }
            | Change::UpdateSearchIndex {
                collection, index, ..
            } => Some((*collection, index.clone())),
            _ => None,
        };
        of(self).is_some() && of(self) == of(other)
    }

    /// The existing documents that violate the change.
    pub fn violations(&self) -> Option<&Violations> {
        match self {
            Change::SetValidator { violations, .. }
            | Change::CreateIndex { violations, .. }
            | Change::ReplaceIndex { violations, .. } => violations.as_ref(),
            _ => None,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = match self {
            Change::CreateCollection {
                collection,
                validator,
                level,
                action,
                collation,
                pre_and_post_images,
                kind,
            } => {
                let fields = validator.get_document("$jsonSchema").map_or(0, words::fields);
                let validated = format!("with a validator of {}", plural(fields, "field"));
                let mut line = match (kind::listed_type(kind), kind.get_str("viewOn")) {
                    ("view", Ok(on)) => format!("create the view `{collection}` of `{on}`"),
                    ("timeseries", _) => format!("create the time series `{collection}`"),
                    _ if kind.is_empty() => format!("create the collection `{collection}` {validated}"),
                    _ => format!("create the capped collection `{collection}` {validated}"),
                };
                if (*level, *action) != (Level::Strict, Action::Error) {
                    line.push_str(&format!(
                        " (validation level {}, validation action {})",
                        level.as_str(),
                        action.as_str()
                    ));
                }
                if let Some(collation) = collation {
                    line.push_str(&format!(", collation {collation}"));
                }
                if *pre_and_post_images {
                    line.push_str(", with pre- and post-images");
                }
                vec![line]
            }
            Change::SetPreAndPostImages { collection } => vec![format!(
                "`{collection}`: keep pre- and post-images of changed documents, for change streams"
            )],
            Change::ModifyCollection {
                collection, words, ..
            } => vec![format!("`{collection}`: {words}")],
            Change::SetValidator {
                collection, words, ..
            } => words
                .iter()
                .map(|line| format!("`{collection}`: {line}"))
                .collect(),
            Change::CreateIndex {
                collection, words, ..
            } => {
                vec![format!("`{collection}`: create index {words}")]
            }
            Change::ChangeTtl {
                collection,
                index,
                from,
                to,
            } => {
                let was = from.map_or_else(|| "never".to_owned(), |from| format!("after {from} s"));
                vec![format!(
                    "`{collection}`: index `{index}` deletes documents after {to} s (was {was})"
                )]
            }
            Change::CreateSearchIndex {
                collection,
                index,
                spec,
            } => {
                let (kind, definition) = (spec.get_str("type"), spec.get("definition"));
                let kind = match kind {
                    Ok("vectorSearch") => "vector",
                    _ => "search",
                };
                let definition = definition.map(ToString::to_string).unwrap_or_default();
                vec![format!(
                    "`{collection}`: create the {kind} index `{index}`: {definition}"
                )]
            }
            Change::UpdateSearchIndex {
                collection,
                index,
                from,
                to,
            } => vec![format!(
                "`{collection}`: change the search index `{index}` to {to} (was {from})"
            )],
            Change::ShardCollection { collection, key, .. } => {
                vec![format!("`{collection}`: distribute it over the shards by {key}")]
            }
            Change::ReplaceIndex {
                collection,
                index,
                way,
                words,
                ..
            } => {
                let window = match way {
                    ReplaceWay::Window => "in a window, ",
                    _ => "",
                };
                vec![format!(
                    "`{collection}`: {window}replace the index `{index}`: {words}"
                )]
            }
            Change::RetireIndex {
                collection,
                step,
                words,
                ..
            } => {
                let step = match step {
                    RetireStep::Watch => "watch",
                    RetireStep::Hide => "hide",
                    RetireStep::Drop => "drop",
                    RetireStep::Unhide => "show",
                };
                vec![format!("`{collection}`: {step} {words}")]
            }
            Change::Conflict { collection, what } => vec![format!("`{collection}`: conflict: {what}")],
        };
        if let Some(violations) = self.violations() {
            let collection = self.collection();
            lines.push(format!("`{collection}`: this is violated by {violations}"));
        }
        lines
    }
}

/// The change in words; of a changed validator, a line for each rule.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl Plan {
    /// Whether the database is as it is declared: there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The differences, collection by collection in the order of the models.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Collections and indexes that are not declared, in words. They are left alone. The index of a collection's shard key is called
    /// that, where the user may read `config.collections`.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Declarations that are new or changed while documents exist already: copies, by the names of the references and fields
    /// that hold them, such as `products.parts.id`; summaries of buckets; and two-way references of which documents lack the
    /// other side. [`Odm::backfill`] fills them, after [`Odm::apply`].
    pub fn backfills(&self) -> &[String] {
        &self.backfills
    }

    /// The declared fields that documents lack, so that they are read with a default, and how many documents that are.
    /// [`Odm::backfill`] stores the default; with `#[field(stored)]` the server then refuses a document without the field.
    ///
    /// Fields whose default is not a constant, and those that are left out for some values (`skip_serializing_if`), are not
    /// counted.
    pub fn lacking(&self) -> &[Lacking] {
        &self.lacking
    }

    /// The declared fields that documents have under another name: the one that the validator of the collection has for the field, in
    /// another case or that of its name in Rust. Conditions don't find such a field, and a document without its declared name may not be
    /// read: keep the stored name, `#[field(name = "…")]` or `rename_all` in `#[document(…)]`, or rename the field in the documents.
    pub fn renamed(&self) -> &[Renamed] {
        &self.renamed
    }

    /// The documents that share values which one of them alone may have, by `unique(global)`. [`Odm::backfill`] claims the values for one of
    /// them and leaves the others as they are, and [`Odm::audit`] lists these afterwards: give them other values.
    ///
    /// They are looked for until a backfill has left none.
    pub fn shared(&self) -> &[SharedValues] {
        &self.shared
    }

    /// The copies that the database holds and these models lack, in words: `orders.name from customers.name`. While there are
    /// any, [`Odm::apply`] and [`Odm::sync`] fail with [`Error::UnknownCopies`](crate::Error::UnknownCopies), unless
    /// [`allow_unknown_copies`](Odm::allow_unknown_copies) was called.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// On a standalone server, which has no transactions: the consequences, and the commands that make it a replica set. On one
    /// before MongoDB 6.0: the collections that are declared with pre- and post-images, which it can't keep. On one without search: the
    /// collections whose search and vector indexes are not created. On a sharded cluster: the collections that have another shard key than
    /// the declared one. [`Odm::sync`] logs it.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Lets [`Odm::apply`] set a validator although existing documents violate it: they stay as they are, and the server
    /// refuses to update one unless the update makes it valid. A unique index can't be built over duplicates in any case.
    #[must_use]
    pub fn accept_violations(mut self) -> Plan {
        self.accept_violations = true;
        self
    }

    /// Has [`Odm::apply`] replace what is there and differs from the declaration, by its kind, instead of refusing it. Applied again, such a
    /// plan takes the next steps that are due. [`Odm::sync`] never does that.
    ///
    /// | what differs | what `apply` does |
    /// | --- | --- |
    /// | an index is declared unique | it is made unique in place (MongoDB 6.0); before, as in the row below. With duplicates, [`Error::ExistingDocuments`](crate::Error::ExistingDocuments) lists them, and nothing is changed |
    /// | it is not declared unique any more | the new index is built beside it under a name of the library's own, such as `a_1~5f3a9c21`; then it is dropped |
    /// | its fields, its collation, its filter | the new index is built beside it; it is *superseded*: when no member has used it for [7 days](Plan::retire_after), it is hidden, and 7 days later dropped |
    /// | a time to live that is new (before MongoDB 5.1) or gone; whatever else the server takes one index of alone | it is dropped, and the new one is built then: only after [`in_window`](Plan::in_window) |
    /// | documents violate a changed validator | the validator allows the previous shape beside the declared one, so that programs of both versions write; the next such plan narrows it when no document has the previous shape |
    ///
    /// Indexes whose name is not that of a declared one are left alone, and so is the index of the shard key. A time to live that changes
    /// needs no replacement. A superseded index that is unique keeps duplicates out, and one with a time to live deletes documents, until it is
    /// dropped. Through a router not every member can be asked for uses, so nothing is hidden there: drop such an index yourself. A hint that
    /// names the index has to follow its name. While a validator allows two shapes, it refuses a document that has neither; with
    /// [`accept_violations`](Plan::accept_violations), called before, the declared one is set alone.
    ///
    /// Let one process apply such a plan at a time.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let plan = odm.plan().await?.replace();
    /// println!("{plan}");
    /// odm.apply(&plan).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Cost
    /// None; of `apply` for each replaced index a list of the indexes and one to three commands, and where one is superseded those that
    /// read the uses of it ([`Odm::index_report`]) and one that stores them in the collection `_odm_indexes`. A step of a superseded index costs
    /// a list of the indexes, its command, and the same.
    #[must_use]
    pub fn replace(mut self) -> Plan {
        if self.replaces {
            return self;
        }
        self.replaces = true;
        for change in &mut self.changes {
            let planned = self
                .replacements
                .iter()
                .find(|planned| planned.conflict == *change);
            if let Some(planned) = planned {
                *change = planned.change.clone();
                let new = self.indexes.entry(change.collection()).or_default();
                new.push(planned.replacement.index.clone());
            }
        }
        if !self.accept_violations {
            self.allow_both(false);
        }
        for widened in self.widened.iter().filter(|widened| widened.remaining.is_none()) {
            self.changes.push(Change::SetValidator {
                collection: widened.collection,
                validator: widened.narrow.clone(),
                level: widened.level,
                action: widened.action,
                words: vec![
                    "allow the declared shape alone, since no document has the previous one".to_owned(),
                ],
                violations: None,
            });
        }
        self.retire();
        self
    }

    /// The same, and each changed validator allows the shape that it had before, also where no document violates the new one: for
    /// programs of the previous version that still write it. The next plan with [`replace`](Plan::replace) narrows it: apply that one when these
    /// programs have ended.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// // Before the new version is deployed.
    /// odm.apply(&odm.plan().await?.both_shapes()).await?;
    /// // When no process of the previous version is left.
    /// odm.apply(&odm.plan().await?.replace()).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn both_shapes(self) -> Plan {
        let mut plan = self.replace();
        plan.allow_both(true);
        plan
    }

    /// For how long an index that another one has superseded has to be unused on all members before it is hidden, and hidden before it is
    /// dropped: 7 days, unless this is called. Before MongoDB 4.4, which hides none, it is dropped instead of hidden.
    ///
    /// Each plan judges by its own time. The members count uses since their start, or since the index was built, and a plan that finds an
    /// index used begins anew.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// use std::time::Duration;
    ///
    /// let month = Duration::from_secs(30 * 24 * 60 * 60);
    /// odm.apply(&odm.plan().await?.replace().retire_after(month)).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn retire_after(mut self, time: Duration) -> Plan {
        self.retire_after = time;
        self.retire();
        self
    }

    /// Lets [`Odm::apply`] drop an index before the new one is built, where the server takes one of them ([`ReplaceWay::Window`]). Queries
    /// scan the collection until it is built, and a unique index keeps no duplicates out. If it can't be built, the previous one is built
    /// again, and the error says so.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let plan = odm.plan().await?.replace();
    /// // At night, when the application is stopped.
    /// odm.apply(&plan.in_window()).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn in_window(mut self) -> Plan {
        self.in_window = true;
        self
    }

    /// Whether an index is dropped before the new one is built, so that [`Odm::apply`] asks for [`in_window`](Plan::in_window).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let plan = odm.plan().await?.replace();
    /// if plan.needs_window() {
    ///     println!("not by day: {plan}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn needs_window(&self) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| {
            matches!(
                change,
                Change::ReplaceIndex {
                    way: ReplaceWay::Window,
                    ..
                }
            )
        })
    }

    /// Has changed validators allow the previous shape: those that documents violate, or all.
    fn allow_both(&mut self, all: bool) {
        for change in &mut self.changes {
            let Change::SetValidator {
                collection,
                validator,
                words,
                violations,
                ..
            } = change
            else {
                continue;
            };
            let Some(both) = self.both.get(collection) else {
                continue;
            };
            if *validator == both.validator || violations.is_none() && !all {
                continue;
            }
            words.push(match violations {
                Some(violations) => format!(
                    "the previous shape stays allowed ({} of it), and a later `replace()` narrows it when no document has it",
                    plural(violations.count, "document")
                ),
                None => "the previous shape stays allowed, until a later `replace()` narrows it".to_owned(),
            });
            *validator = both.validator.clone();
            *violations = both.violations.clone();
        }
    }

    /// The steps of superseded indexes that are due, and notes of the others.
    fn retire(&mut self) {
        self.changes
            .retain(|change| !matches!(change, Change::RetireIndex { .. }));
        self.notes.truncate(self.other_notes);
        for retiring in &self.retiring {
            let (step, words) = retiring.next(self.retire_after);
            let Superseded {
                collection,
                index,
                by,
                ..
            } = &retiring.superseded;
            match step {
                Some(step) if self.replaces => self.changes.push(Change::RetireIndex {
                    collection,
                    index: index.clone(),
                    by: by.clone(),
                    step,
                    words,
                }),
                _ => self.notes.push(format!("`{collection}`: {words}")),
            }
        }
    }

    /// How an index is replaced.
    pub(super) fn replacement(&self, collection: &str, index: &str) -> Option<&Replacement> {
        let is_of = |change: &Change| match change {
            Change::ReplaceIndex {
                collection: its,
                index: name,
                ..
            } => *its == collection && name == index,
            _ => false,
        };
        let mut planned = self.replacements.iter();
        planned
            .find(|planned| is_of(&planned.change))
            .map(|planned| &planned.replacement)
    }

    /// An index that is to be dropped.
    pub(super) fn superseded(&self, collection: &str, index: &str) -> Option<&Superseded> {
        let mut retiring = self.retiring.iter().map(|retiring| &retiring.superseded);
        retiring.find(|one| one.collection == collection && one.index == index)
    }

    /// The change that `replace()` makes of a validator that documents violate.
    fn can_allow_both(&self, change: &Change) -> Option<String> {
        let Change::SetValidator {
            collection,
            validator,
            violations: Some(_),
            ..
        } = change
        else {
            return None;
        };
        let both = self.both.get(collection)?;
        (both.violations.is_none() && *validator != both.validator).then(|| {
            format!(
                "`{collection}`: `sync --replace` (`Plan::replace`) allows the previous shape beside the declared one while documents have it"
            )
        })
    }
}

/// The differences, the notes and the warning, a line each.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |change: &Change| {
            let mut lines = change.lines();
            lines.extend(self.can_allow_both(change));
            lines
        };
        let mut lines: Vec<String> = self.changes.iter().flat_map(lines).collect();
        if lines.is_empty() {
            lines.push("nothing to change".to_owned());
        }
        lines.extend(self.backfills.iter().map(|copies| to_backfill(copies)));
        lines.extend(self.lacking.iter().map(|lacking| {
            let Lacking {
                collection,
                field,
                documents,
            } = lacking;
            format!(
                "`{collection}`: {} without `{field}`, read with its default",
                plural(*documents, "document")
            )
        }));
        lines.extend(self.renamed.iter().map(|renamed| {
            let Renamed {
                collection,
                field,
                old_name,
                documents,
            } = renamed;
            format!(
                "`{collection}`: {} with `{old_name}`, which is declared as `{field}`: keep the stored name, or rename the field in the \
                 documents",
                plural(*documents, "document")
            )
        }));
        lines.extend(self.shared.iter().map(|shared| {
            let SharedValues {
                collection,
                fields,
                documents,
            } = shared;
            format!(
                "`{collection}`: `{}` is declared `unique(global)`, and is shared by {documents}; a backfill claims it for one of them: give \
                 the others another value",
                fields.join("`, `")
            )
        }));
        lines.extend(self.unknown.iter().map(|copies| {
            format!("unknown: the database holds `{copies}`, which these models don't declare")
        }));
        lines.extend(self.notes.iter().map(|note| format!("left alone: {note}")));
        lines.extend(self.warning.iter().map(|warning| format!("warning: {warning}")));
        f.write_str(&lines.join("\n"))
    }
}

/// That copies are to be taken, in words.
pub(super) fn to_backfill(copies: &str) -> String {
    format!("to backfill: existing documents lack `{copies}`, or hold it as it was declared previously")
}

impl Odm {
    /// Compares the declared collections, validators, indexes and copies with the database, and on a sharded cluster the declared shard keys
    /// with its catalog. Nothing is changed.
    ///
    /// Where a collection has another shard key, a [note](Plan::notes) shows the command that gives it the declared one, and its cost. A user
    /// who may not read the database `config` is told that this is unknown.
    ///
    /// # Errors
    /// Errors of building the filter of a partial index, and [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Cost
    /// One round trip for the list of collections, on a sharded cluster one for the shard keys, and one for the indexes of each declared collection that exists, eight at a
    /// time. A validator or unique index that would be new on an existing collection costs one more, in which the server reads
    /// the whole collection, to count the documents that violate it. One more reads the stored declarations of copies, and each
    /// collection with new ones costs one. Each field that has a default costs one, in which the server reads the collection, to
    /// count the documents that lack it, and so does each field that the validator has under another name; [`sync`](Odm::sync) does not
    /// count them. Each key with `unique(global)` whose values are not claimed yet costs one, in which the server reads the collection.
    /// Each collection with declared search or vector indexes costs one. Superseded and undeclared indexes ([`Plan::replace`]) cost one, and each collection that
    /// has any to drop two more and one for each further member; a validator that allows a previous shape one, in which the server reads the
    /// collection. On a sharded cluster two more read its catalog.
    pub fn plan(&self) -> action::Action<Plan> {
        let odm = self.clone();
        action::Action::new("(all)", "plan", Box::new(async move { odm.planned().await }))
    }

    fn planned(&self) -> BoxFuture<'_, Result<Plan>> {
        Trace::new("(all)", "plan")
            .run(async move {
                let mut plan = self.compare().await?;
                let edges = self.compare_edges().await?;
                (plan.backfills, plan.unknown) = (edges.backfills, edges.unknown);
                let elsewhere = edges.elsewhere.into_iter().map(|name| {
                    format!(
                        "the database holds the declaration `{name}` of another program; `forget_copies()` (the command \
                         `forget`) removes it where no program declares it"
                    )
                });
                plan.notes.extend(elsewhere);
                plan.lacking = self.count_lacking(&plan).await?;
                plan.renamed = self.count_renamed(&plan).await?;
                plan.shared = self.count_shared(&plan).await?;
                let of_search = plan.warning.take();
                let of_server = self.warning().await?;
                plan.warning = of_server.into_iter().chain(of_search).reduce(|a, b| format!("{a}; {b}"));
                self.count_previous(&mut plan).await?;
                plan.other_notes = plan.notes.len();
                plan.retiring = Retiring::read(self, std::mem::take(&mut plan.superseded)).await?;
                plan.retire();
                Ok(plan)
            })
            .boxed()
    }

    /// The declarations that the server can't keep, and their consequences.
    pub(super) async fn warning(&self) -> Result<Option<String>> {
        let server = self.server().await?;
        let imaged = self
            .models()
            .iter()
            .filter(|model| model.meta.pre_and_post_images);
        let imaged: Vec<String> = imaged
            .map(|model| format!("`{}`", model.meta.collection))
            .collect();
        let images = (!imaged.is_empty() && !server.has_pre_and_post_images()).then(|| {
            format!(
                "no pre- and post-images are kept of {}, since that needs a replica set or a sharded cluster of MongoDB 6.0 or later, and \
                 this is {server}",
                imaged.join(", ")
            )
        });
        let standalone = server.warning().map(str::to_owned);
        Ok(standalone
            .into_iter()
            .chain(images)
            .reduce(|a, b| format!("{a}; {b}")))
    }

    /// Of all collections whose validator allows a previous shape.
    async fn count_previous(&self, plan: &mut Plan) -> Result<()> {
        for widened in &mut plan.widened {
            let collection = widened.collection;
            widened.remaining = existing::unfit(self.database(), collection, &widened.rules).await?;
            plan.notes.push(match &widened.remaining {
                Some(remaining) => format!(
                    "`{collection}`: its validator allows the previous shape too, which {remaining} have; `sync --replace` (`Plan::replace`) \
                     narrows it when they are gone"
                ),
                None => format!(
                    "`{collection}`: its validator allows the previous shape too, which no document has; `sync --replace` (`Plan::replace`) \
                     narrows it"
                ),
            });
        }
        Ok(())
    }

    /// Of all collections that exist.
    async fn count_lacking(&self, plan: &Plan) -> Result<Vec<Lacking>> {
        let mut counts = Vec::new();
        let there = self
            .models()
            .iter()
            .filter(|model| plan.seen.contains_key(model.meta.collection) && model.meta.takes_changes());
        let there = there.map(|model| model.meta);
        for meta in there.flat_map(|meta| std::iter::once(meta).chain(meta.variants())) {
            for fill in crate::plan::operators::fill::declared((meta.shape)()) {
                counts.push(async move {
                    let collection = meta.collection;
                    let all = self.database().collection::<Document>(collection);
                    let lacking = of_variant(meta, fill.condition());
                    let documents = all.count_documents(lacking).await?;
                    Ok::<_, crate::Error>(Lacking {
                        collection,
                        field: fill.path(),
                        documents,
                    })
                });
            }
        }
        let counted: Vec<Lacking> = stream::iter(counts).buffered(AT_ONCE).try_collect().await?;
        Ok(counted
            .into_iter()
            .filter(|lacking| lacking.documents > 0)
            .collect())
    }

    /// Of all collections whose validator knows other names.
    async fn count_renamed(&self, plan: &Plan) -> Result<Vec<Renamed>> {
        let mut counts = Vec::new();
        for meta in self.models().iter().map(|model| model.meta) {
            let current = plan.seen.get(meta.collection);
            let Some(current) = current.and_then(|current| current.validator.as_ref()) else {
                continue;
            };
            for (field, old_name) in renamed::names(meta, current) {
                counts.push(async move {
                    let collection = meta.collection;
                    let all = self.database().collection::<Document>(collection);
                    let has = doc! { old_name.as_str(): { "$exists": true } };
                    let documents = all.count_documents(has).await?;
                    Ok::<_, crate::Error>(Renamed {
                        collection,
                        field,
                        old_name,
                        documents,
                    })
                });
            }
        }
        let counted: Vec<Renamed> = stream::iter(counts).buffered(AT_ONCE).try_collect().await?;
        let with_documents = counted.into_iter().filter(|renamed| renamed.documents > 0);
        Ok(with_documents.collect())
    }

    /// By keys that are unique over all shards, of all collections whose documents may not have claimed their values.
    async fn count_shared(&self, plan: &Plan) -> Result<Vec<SharedValues>> {
        let mut counts = Vec::new();
        for key in self.graph().all_global_keys() {
            let collection = key.holder.collection;
            if plan.seen.contains_key(collection) && !self.is_all_claimed(&key.name()) {
                counts.push(async move {
                    let index = Index::of_values(key)?;
                    let found = existing::duplicates(self.database(), collection, &index).await?;
                    Ok::<_, crate::Error>(found.map(|documents| SharedValues {
                        collection,
                        fields: key.paths.iter().map(|path| (*path).to_owned()).collect(),
                        documents,
                    }))
                });
            }
        }
        let counted: Vec<Option<SharedValues>> = stream::iter(counts).buffered(AT_ONCE).try_collect().await?;
        Ok(counted.into_iter().flatten().collect())
    }

    /// Collections, validators and indexes.
    pub(super) async fn compare(&self) -> Result<Plan> {
        let db = self.database();
        let mut existing = existing::collections(db, None).await?;
        let shard_keys = StoredShardKeys::read(self).await?;
        let cluster = self.cluster(&shard_keys).await?;
        let cluster = cluster.as_ref();
        let mut declared = Vec::new();
        let models = self.models().iter().map(|model| model.meta);
        for meta in models.flat_map(|meta| [Some(meta), meta.claims]).flatten() {
            let collection = meta.collection;
            declared.push((meta, existing.remove(collection), shard_keys.of(collection)));
        }
        let looks: Vec<_> = declared
            .into_iter()
            .map(|(meta, current, shard_key)| {
                let look = async move {
                    let mut look = self.look(db, meta, current, (cluster, shard_key)).await?;
                    look.compare_search_indexes(db, meta).await?;
                    Ok::<_, crate::Error>(look)
                };
                look.boxed()
            })
            .collect();
        let looked: Vec<Look> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        let mut plan = Plan {
            changes: Vec::new(),
            notes: Vec::new(),
            backfills: Vec::new(),
            lacking: Vec::new(),
            renamed: Vec::new(),
            shared: Vec::new(),
            unknown: Vec::new(),
            warning: None,
            seen: HashMap::new(),
            indexes: HashMap::new(),
            accept_violations: false,
            replacements: Vec::new(),
            both: HashMap::new(),
            widened: Vec::new(),
            superseded: Vec::new(),
            retiring: Vec::new(),
            retire_after: replace::RETIRE_AFTER,
            other_notes: 0,
            replaces: false,
            in_window: false,
        };
        let mut without_search = Vec::new();
        let mut warnings = Vec::new();
        for look in looked {
            warnings.extend(look.warnings);
            without_search.extend(look.lacks_search.map(|error| (look.collection, error)));
            plan.changes.extend(look.changes);
            plan.notes.extend(look.notes);
            plan.replacements.extend(look.replacements);
            plan.superseded.extend(look.superseded);
            plan.widened.extend(look.widened);
            plan.both.extend(look.both.map(|both| (look.collection, both)));
            plan.indexes.insert(look.collection, look.indexes);
            if let Some(current) = look.current {
                plan.seen.insert(look.collection, current);
            }
        }
        if let Some((_, error)) = without_search.first() {
            let collections: Vec<&str> = without_search.iter().map(|(name, _)| *name).collect();
            warnings.push(search::lacking(&collections, error));
        }
        plan.warning = warnings.into_iter().reduce(|a, b| format!("{a}; {b}"));
        let mut others: Vec<&String> = existing
            .keys()
            // MongoDB's own, and those in which the library keeps the declared edges and the reconciler's place.
            .filter(|name| !name.starts_with("system.") && !name.starts_with("_odm_"))
            .collect();
        others.sort();
        plan.notes.extend(
            others
                .iter()
                .map(|name| format!("the collection `{name}`, which no model declares")),
        );
        Ok(plan)
    }

    async fn look(
        &self,
        db: &Database,
        meta: &'static DocumentMeta,
        current: Option<Current>,
        (cluster, shard_key): (Option<&Cluster>, StoredShardKey),
    ) -> Result<Look> {
        let kind = kind::declared(self, meta).await?;
        let validated = kind::is_validated(&kind);
        let rules = if validated {
            validator::declared(meta)
        } else {
            Document::new()
        };
        let mut look = Look::of(meta, current, shard_key);
        let declared = look.declared(meta, self.graph())?;
        // The server does not store that a collection compares byte by byte.
        let collation = meta
            .collation
            .filter(|one| one.locale != "simple")
            .map(index::collation);
        // The server is asked for its version only where that decides.
        let images = meta.pre_and_post_images && self.server().await?.has_pre_and_post_images();
        let Some(current) = look.current.clone() else {
            look.changes.insert(
                0,
                Change::CreateCollection {
                    collection: meta.collection,
                    validator: rules,
                    level: meta.validation.level,
                    action: meta.validation.action,
                    collation: collation.clone(),
                    pre_and_post_images: images,
                    kind: kind.clone(),
                },
            );
            if meta.view().is_some() {
                return Ok(look);
            }
            // The index on `_id` comes with the collection.
            look.few_enough(1 + declared.len());
            for index in self.creatable(&mut look, declared).await? {
                look.create(index, None);
            }
            look.compare_shard_keys(meta, cluster, collation.as_ref(), &[]);
            return Ok(look);
        };
        if current.kind != kind::listed_type(&kind) {
            let there = match current.kind.as_str() {
                "collection" => "a collection",
                "timeseries" => "a time series",
                "view" => "a view",
                other => other,
            };
            look.conflict(format!(
                "there is {there} of this name, and `{}` is stored in {}: drop it yourself, or give the \
                 document another name in `#[document(collection = \"…\")]`",
                meta.name, meta.kind
            ));
            return Ok(look);
        }
        for difference in kind::differences(&kind, &current) {
            match difference {
                kind::KindDifference::Conflict(what) => look.conflict(what),
                kind::KindDifference::Change { options, words } => {
                    look.changes.push(Change::ModifyCollection {
                        collection: meta.collection,
                        options,
                        words,
                    })
                }
            }
        }
        if meta.view().is_some() {
            return Ok(look);
        }
        let wanted = validated.then(|| validator::wanted(&current, &rules, meta.validation));
        if let Some(mut wanted) = wanted.flatten() {
            rust_names::with_rust_names(&mut wanted.words, meta.whole());
            let violations = match wanted.level {
                Level::Off => None,
                _ => existing::unfit(db, meta.collection, &rules).await?,
            };
            if let Some((validator, rules)) = validator::both_shapes(&current, &rules) {
                let violations = match violations {
                    Some(_) => existing::unfit(db, meta.collection, &rules).await?,
                    None => None,
                };
                look.both = Some(BothShapes {
                    validator,
                    violations,
                });
            }
            look.changes.push(Change::SetValidator {
                collection: meta.collection,
                validator: wanted.validator,
                level: wanted.level,
                action: wanted.action,
                words: wanted.words,
                violations,
            });
        }
        if let Some(narrow) = validator::narrowed(&current, &rules).filter(|_| validated) {
            look.widened = Some(Widened {
                collection: meta.collection,
                rules: rules.clone(),
                narrow,
                level: current.level,
                action: current.action,
                remaining: None,
            });
        }
        if images && !current.images {
            look.changes.push(Change::SetPreAndPostImages {
                collection: meta.collection,
            });
        }
        if current.images && !meta.pre_and_post_images {
            let note = format!(
                "`{}`: its pre- and post-images, which are not declared",
                meta.collection
            );
            look.notes.push(note);
        }
        look.compare_collations(collation.as_ref(), current.collation.as_ref());
        if current.capped && kind.is_empty() {
            let note = format!("`{}`: that it is capped, which is not declared", meta.collection);
            look.notes.push(note);
        }
        if current.capped {
            look.capped(meta, self.graph(), &declared);
        }
        let by_rules = self.graph().needs_rules_of_deletion(meta);
        let seen = SeenCollection {
            meta,
            current: &current,
            by_rules,
            cluster,
        };
        self.look_at_indexes(db, &mut look, declared, seen).await?;
        Ok(look)
    }

    /// Those of the indexes that this server takes beside each other. It is asked for its version only where that decides.
    async fn creatable(&self, look: &mut Look, declared: Vec<Index>) -> Result<Vec<Index>> {
        let mut taken: Vec<Index> = Vec::new();
        for index in declared {
            let newer = index.partial.as_ref().and_then(partial::newer);
            if let Some(what) = newer
                && self.server().await?.max_wire_version() < partial::ALTERNATIVES
            {
                look.conflict(format!(
                    "the filter of the index {} has {what}, which servers take from MongoDB 6.0 on: declare an index for each \
                     alternative, or upgrade the server",
                    index.in_words()
                ));
                continue;
            }
            if index.is_compound_wildcard()
                && self.server().await?.max_wire_version() < index::COMPOUND_WILDCARD
            {
                look.conflict(format!(
                    "the index {} has a wildcard beside other fields, which servers take from MongoDB 7.0 on: declare it on the \
                     wildcard alone, or upgrade the server",
                    index.in_words()
                ));
                continue;
            }
            if index.has_alternatives()
                && self.server().await?.max_wire_version() < index::PARTIAL_ALTERNATIVES
            {
                look.conflict(format!(
                    "the filter of the index {} has alternatives, as that of a unique and sparse index of several fields has where deleted \
                     documents are kept, and servers take them from MongoDB 6.0 on: declare it without them, or upgrade the server",
                    index.in_words()
                ));
                continue;
            }
            let fields = look.fields_of_measurements.as_ref();
            if fields.is_some_and(|known| index.paths.iter().any(|path| !known.contains(&path.as_str())))
                && self.server().await?.max_wire_version() < kind::INDEXES_OF_MEASUREMENTS
            {
                look.conflict(format!(
                    "the index {} of a time series is on other fields than those of its time and its source, which servers take \
                     from MongoDB 6.0 on: leave it out, or upgrade the server",
                    index.in_words()
                ));
                continue;
            }
            let mut excluding = None;
            for other in &taken {
                let spec = other.spec();
                if index.has_key_of(&spec)
                    && index.excludes(&spec, None, self.server().await?.max_wire_version())
                {
                    excluding = Some(other.in_words());
                }
            }
            match excluding {
                Some(other) => look.conflict(format!(
                    "the declared indexes {other} and {} are on the same fields, and this server takes one of them: before MongoDB \
                     5.0 such indexes differ in their collation. Leave one of them out, or add a field to it",
                    index.in_words()
                )),
                None => taken.push(index),
            }
        }
        Ok(taken)
    }

    async fn look_at_indexes(
        &self,
        db: &Database,
        look: &mut Look,
        declared: Vec<Index>,
        seen: SeenCollection<'_>,
    ) -> Result<()> {
        let SeenCollection {
            meta,
            current,
            by_rules,
            cluster,
        } = seen;
        let existing = existing::indexes(db, look.collection).await?;
        let name_of = |index: &Document| index.get_str("name").unwrap_or_default().to_owned();
        let mut known: Vec<String> = vec!["_id_".to_owned()];
        let mut new = Vec::new();
        for index in declared {
            let compare = |there: &Document| index.compare(there, current.collation.as_ref());
            // The library builds an index beside the one of that name where their options differ.
            let fits = |there: &&Document| !matches!(compare(there), Fit::Differs(_));
            let own = || {
                existing
                    .iter()
                    .filter(|there| replace::is_of(&name_of(there), &index.name))
            };
            let named = own()
                .find(fits)
                .or_else(|| own().find(|there| name_of(there) == index.name))
                .or_else(|| own().next());
            let equal = || existing.iter().find(fits);
            let Some(there) = named.or_else(equal) else {
                let other = existing.iter().find(|there| there.contains_key("weights"));
                match other.filter(|_| index.is_text()) {
                    Some(other) => {
                        known.push(name_of(other));
                        look.conflict(format!(
                            "the text index `{}` on {} exists, and a collection can have only one: odm does not drop \
                             it: drop it yourself or declare it as it is",
                            name_of(other),
                            key_in_words(other)
                        ));
                    }
                    None => match self.excluding(&existing, &index, current).await? {
                        Some(other) => {
                            known.push(name_of(other));
                            let how = match compare(other) {
                                Fit::Differs(how) => how.join("; "),
                                _ => "its time to live differs".to_owned(),
                            };
                            look.conflict(format!(
                                "the index `{}` is on the fields of the declared `{}`, with other options, and the server takes \
                                 one of them: {how}; {}",
                                name_of(other),
                                index.name,
                                look.instead(other, "declare it as it is")
                            ));
                        }
                        None => new.push(index),
                    },
                }
                continue;
            };
            let name = name_of(there);
            let is_own = replace::is_of(&name, &index.name);
            known.push(name.clone());
            if is_own {
                known.extend(own().map(name_of));
            }
            if is_own && fits(&there) {
                look.supersede(&index, there, &existing);
            } else if there.get_bool("hidden").unwrap_or(false) {
                look.hidden(&name);
            }
            match compare(there) {
                Fit::Differs(how) => {
                    let what = format!("index `{name}` exists with other options: {}", how.join("; "));
                    self.replaceable(db, look, (&index, there), &existing, what)
                        .await?;
                }
                _ if !is_own && index.named && name != "_id_" => look.conflict(format!(
                    "the index `{}` exists under the name `{name}`; {}",
                    index.name,
                    look.instead(there, "declare that name")
                )),
                Fit::Same => {}
                Fit::OtherTtl { from, to } => look.changes.push(Change::ChangeTtl {
                    collection: look.collection,
                    index: name,
                    from: Some(from),
                    to,
                }),
                Fit::NoTtl { to } if self.server().await?.max_wire_version() >= TTL_CAN_BE_ADDED => {
                    look.changes.push(Change::ChangeTtl {
                        collection: look.collection,
                        index: name,
                        from: None,
                        to,
                    });
                }
                Fit::NoTtl { to } => {
                    let what = format!(
                        "index `{name}` exists and deletes nothing, declared to delete documents after {to} s, which can \
                         be added from MongoDB 5.1 on"
                    );
                    self.replaceable(db, look, (&index, there), &existing, what)
                        .await?;
                }
            }
        }
        look.compare_shard_keys(meta, cluster, current.collation.as_ref(), &existing);
        look.few_enough(existing.len() + new.len());
        for index in self.creatable(look, new).await? {
            let violations = if index.unique {
                existing::duplicates(db, look.collection, &index).await?
            } else {
                None
            };
            look.create(index, violations);
        }
        for index in existing.iter().filter(|index| !known.contains(&name_of(index))) {
            let mut note = format!(
                "`{}`: the index `{}` on {}, which {}",
                look.collection,
                name_of(index),
                key_in_words(index),
                look.undeclared(index)
            );
            note.extend(shard::prevents(meta, index));
            if let (true, Some((why, _))) = (index.contains_key("expireAfterSeconds"), &by_rules) {
                note.push_str(&format!(
                    " and deletes documents without the rules of the library, while {why}"
                ));
            }
            look.notes.push(note);
            let kept = look.kept(index);
            look.superseded
                .push((Superseded::undeclared(look.collection, index), kept));
        }
        Ok(())
    }
}

/// A collection that is there, beside its indexes.
struct SeenCollection<'a> {
    meta: &'static DocumentMeta,
    current: &'a Current,
    /// Why its documents are to be deleted by the library alone.
    by_rules: Option<(String, String)>,
    cluster: Option<&'a Cluster>,
}

impl Odm {
    /// A conflict about an index, and how a plan replaces it that is told to.
    async fn replaceable(
        &self,
        db: &Database,
        look: &mut Look,
        (index, there): (&Index, &Document),
        existing: &[Document],
        what: String,
    ) -> Result<()> {
        let inherited = look
            .current
            .as_ref()
            .and_then(|current| current.collation.clone());
        let replacement = match look.shard_key.served_by(there) {
            Serves::No => {
                let max_wire_version = self.server().await?.max_wire_version();
                Replacement::of(index, there, existing, inherited.as_ref(), max_wire_version)
            }
            Serves::Yes | Serves::Unknown => None,
        };
        let Some(replacement) = replacement else {
            look.conflict(format!("{what}; {}", look.instead(there, "declare it as it is")));
            return Ok(());
        };
        let violations = if index.unique {
            existing::duplicates(db, look.collection, index).await?
        } else {
            None
        };
        let words = replacement.in_words();
        let mut conflict = format!("{what}; `sync --replace` (`Plan::replace`) replaces it: {words}");
        if let Some(violations) = &violations {
            conflict.push_str(&format!(". That is violated by {violations}"));
        }
        look.conflict(conflict.clone());
        look.replacements.push(PlannedReplacement {
            conflict: Change::Conflict {
                collection: look.collection,
                what: conflict,
            },
            change: Change::ReplaceIndex {
                collection: look.collection,
                index: there.get_str("name").unwrap_or_default().to_owned(),
                from: there.clone(),
                spec: replacement.index.spec(),
                way: replacement.way,
                words: format!("{what}; {words}"),
                violations,
            },
            replacement,
        });
        Ok(())
    }

    /// The index that the server would not take this one beside.
    async fn excluding<'e>(
        &self,
        existing: &'e [Document],
        index: &Index,
        current: &Current,
    ) -> Result<Option<&'e Document>> {
        for other in existing.iter().filter(|other| index.has_key_of(other)) {
            let max_wire_version = self.server().await?.max_wire_version();
            if index.excludes(other, current.collation.as_ref(), max_wire_version) {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }
}

/// The comparison of one collection.
struct Look {
    collection: &'static str,
    changes: Vec<Change>,
    notes: Vec<String>,
    indexes: Vec<Index>,
    current: Option<Current>,
    /// The shard key that the collection has.
    shard_key: StoredShardKey,
    /// Why search indexes can't be compared: the deployment has no search.
    lacks_search: Option<crate::Error>,
    /// What `sync` logs.
    warnings: Vec<String>,
    replacements: Vec<PlannedReplacement>,
    /// With the reason where one is never dropped.
    superseded: Vec<(Superseded, Option<String>)>,
    both: Option<BothShapes>,
    widened: Option<Widened>,
    /// Of a time series: the fields that every server indexes.
    fields_of_measurements: Option<Vec<&'static str>>,
}

/// The indexes that a collection is declared to have, those of its references and search indexes too: as the server takes them, and in
/// words.
///
/// # Errors
/// What the declarations contradict each other in, and whatever the filter of a partial index fails with.
pub(crate) fn declared_indexes(
    meta: &'static DocumentMeta,
    graph: &Graph,
) -> std::result::Result<Vec<(Document, String)>, String> {
    let mut look = Look::of(meta, None, StoredShardKey::None);
    let declared = look.declared(meta, graph).map_err(|error| error.to_string())?;
    if let Some(conflict) = look.changes.first() {
        return Err(conflict.to_string());
    }
    let searched = search::declared(meta)?.into_iter().map(|index| {
        let words = format!("`{}`, of Atlas", index.name);
        (index.spec(), words)
    });
    let declared = declared.iter().map(|index| (index.spec(), index.in_words()));
    Ok(declared.chain(searched).collect())
}

impl Look {
    fn of(meta: &DocumentMeta, current: Option<Current>, shard_key: StoredShardKey) -> Look {
        Look {
            collection: meta.collection,
            changes: Vec::new(),
            notes: Vec::new(),
            indexes: Vec::new(),
            current,
            shard_key,
            lacks_search: None,
            warnings: Vec::new(),
            replacements: Vec::new(),
            superseded: Vec::new(),
            both: None,
            widened: None,
            fields_of_measurements: match &meta.kind {
                CollectionKind::TimeSeries(series) => {
                    let meta = series.meta.map(|name| name());
                    Some(meta.into_iter().chain([(series.time)()]).collect())
                }
                _ => None,
            },
        }
    }

    fn conflict(&mut self, what: String) {
        self.changes.push(Change::Conflict {
            collection: self.collection,
            what,
        });
    }

    fn hidden(&mut self, name: &str) {
        self.notes.push(format!(
            "`{}`: the index `{name}` is hidden, so no query uses it",
            self.collection
        ));
    }

    /// The indexes that the declared one has superseded; where it was superseded itself, it is to be shown again.
    fn supersede(&mut self, index: &Index, there: &Document, existing: &[Document]) {
        let name = there.get_str("name").unwrap_or_default();
        let others = Superseded::all(self.collection, index, name, existing);
        if there.get_bool("hidden").unwrap_or(false) {
            self.hidden(name);
            let again = Superseded {
                collection: self.collection,
                index: name.to_owned(),
                by: Some(name.to_owned()),
                hidden: true,
                if_retired: others
                    .is_empty()
                    .then(|| there.get_document("key").cloned().unwrap_or_default()),
            };
            self.superseded.push((again, None));
        }
        for other in others {
            let listed = existing
                .iter()
                .find(|listed| listed.get_str("name").is_ok_and(|name| name == other.index));
            let kept = listed.and_then(|listed| self.kept(listed));
            self.superseded.push((other, kept));
        }
    }

    /// Why an index is never dropped.
    fn kept(&self, index: &Document) -> Option<String> {
        match self.shard_key.served_by(index) {
            Serves::No => None,
            Serves::Yes => Some("it is kept as the index of the shard key".to_owned()),
            Serves::Unknown => Some(format!(
                "it is kept: it may be the index of the shard key, and {UNREAD}"
            )),
        }
    }

    /// A collection has 64 indexes at most, that on `_id` among them.
    fn few_enough(&mut self, indexes: usize) {
        if indexes > MAX_INDEXES {
            let needed = match self.shard_key {
                StoredShardKey::None => "",
                StoredShardKey::Is(_) | StoredShardKey::Unknown => ", but not that of the shard key",
            };
            self.conflict(format!(
                "it would have {indexes} indexes, and MongoDB allows {MAX_INDEXES}: leave some out, and drop those that are not declared \
                 if nothing uses them{needed}"
            ));
        }
    }

    /// How a cluster distributes the collection.
    fn compare_shard_keys(
        &mut self,
        meta: &'static DocumentMeta,
        cluster: Option<&Cluster>,
        collation: Option<&Document>,
        existing: &[Document],
    ) {
        let differences = cluster.map(|cluster| cluster.compare(meta, collation, existing));
        for difference in differences.into_iter().flatten() {
            match difference {
                ShardDifference::Unsharded { key, simple } => self.changes.push(Change::ShardCollection {
                    collection: self.collection,
                    key,
                    simple,
                }),
                ShardDifference::Conflict(what) => self.conflict(what),
                ShardDifference::Note(note) => self.notes.push(note),
                ShardDifference::Warning(warning) => self.warnings.push(warning),
            }
        }
    }

    /// What to do about an existing index that is in the way of a declared one.
    fn instead(&self, index: &Document, declare: &str) -> String {
        match self.shard_key.served_by(index) {
            Serves::No => format!("odm does not drop it: drop it yourself or {declare}"),
            Serves::Yes => format!("it is the index of the shard key, which the collection needs: {declare}"),
            Serves::Unknown => format!("{declare}: it may be the index of the shard key, and {UNREAD}"),
        }
    }

    /// What an index is that no model declares.
    fn undeclared(&self, index: &Document) -> String {
        match self.shard_key.served_by(index) {
            Serves::No => "is not declared".to_owned(),
            Serves::Yes => "is that of the shard key".to_owned(),
            Serves::Unknown => format!("is not declared (it may be that of the shard key, and {UNREAD})"),
        }
    }

    /// A collection keeps the collation that it was created with.
    fn compare_collations(&mut self, declared: Option<&Document>, there: Option<&Document>) {
        match (declared, there) {
            (Some(declared), there) if !there.is_some_and(|there| index::collates_like(there, declared)) => {
                let there = there.map_or_else(|| "none".to_owned(), Document::to_string);
                self.conflict(format!(
                    "its collation is {there}, declared {declared}, and a collection keeps the one that it was created with: copy its \
                     documents into a new collection, or declare it as it is"
                ));
            }
            (None, Some(there)) => {
                let note = format!(
                    "`{}`: its collation {there}, which is not declared",
                    self.collection
                );
                self.notes.push(note);
            }
            _ => {}
        }
    }

    /// A capped collection loses its oldest documents to new ones, past every rule of the library, and takes no deletions by
    /// time.
    fn capped(&mut self, meta: &DocumentMeta, graph: &Graph, declared: &[Index]) {
        if let Some(index) = declared.iter().find(|index| index.expire_after.is_some()) {
            self.conflict(format!(
                "the collection is capped, and MongoDB deletes nothing in it by the index {}: leave out `expire_after`, or make it a \
                 collection that is not capped",
                index.in_words()
            ));
        }
        if let Some((why, instead)) = graph.needs_rules_of_deletion(meta) {
            self.conflict(format!(
                "the collection is capped, so MongoDB removes its oldest documents without the rules of the library, and {why}: make \
                 it a collection that is not capped, or {instead}"
            ));
        }
    }

    async fn compare_search_indexes(&mut self, db: &Database, meta: &'static DocumentMeta) -> Result<()> {
        let declared = match search::declared(meta) {
            Ok(declared) => declared,
            Err(what) => {
                self.conflict(what);
                return Ok(());
            }
        };
        if declared.is_empty() {
            return Ok(());
        }
        let listed = match search::list(db, self.collection).await {
            Ok(listed) => listed,
            Err(error @ crate::Error::Unsupported { .. }) => {
                self.lacks_search = Some(error);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for difference in search::differences(self.collection, declared, &listed) {
            match difference {
                SearchDifference::Missing(index) => self.changes.push(Change::CreateSearchIndex {
                    collection: self.collection,
                    index: index.name.to_owned(),
                    spec: index.spec(),
                }),
                SearchDifference::Changed { index, was } => self.changes.push(Change::UpdateSearchIndex {
                    collection: self.collection,
                    index: index.name.to_owned(),
                    from: was,
                    to: index.definition,
                }),
                SearchDifference::Conflict(what) => self.conflict(what),
                SearchDifference::Note(note) => self.notes.push(note),
            }
        }
        Ok(())
    }

    fn create(&mut self, index: Index, violations: Option<Violations>) {
        self.changes.push(Change::CreateIndex {
            collection: self.collection,
            index: index.name.clone(),
            spec: index.spec(),
            words: index.in_words(),
            violations,
        });
        self.indexes.push(index);
    }

    /// The declared indexes, each once, and those that the references need beside them.
    fn declared(&mut self, meta: &DocumentMeta, graph: &Graph) -> Result<Vec<Index>> {
        let mut declared: Vec<Index> = Vec::new();
        let mut all: Vec<Index> = meta.indexes.iter().map(Index::of).collect::<Result<_>>()?;
        for variant in meta.variants() {
            for index in variant.indexes {
                all.push(Index::of(index)?.of_variant(variant));
            }
        }
        for index in all {
            match declared.iter().find(|other| other.name == index.name) {
                Some(other) if *other == index => {}
                Some(other) => {
                    let what = format!(
                        "two declared indexes have the name `{}`, {} and {}: name one of them",
                        index.name,
                        other.in_words(),
                        index.in_words()
                    );
                    self.conflict(what);
                }
                None => declared.push(index),
            }
        }
        if let Some(index) = meta.expiry.as_ref().map(Index::of_expiry) {
            let serves = |other: &Index| other.serves(&index) || other.is_on_the_fields_of(&index);
            if !declared.iter().any(serves) {
                declared.push(index);
            }
        }
        let subsets: Vec<Index> = graph
            .all_derived_from(meta)
            .filter_map(|derived| Index::of_subset(graph.parent_edge(derived), derived.subset()?))
            .collect();
        for edge in graph.outgoing(meta) {
            let Some(index) = Index::implied(edge) else {
                continue;
            };
            // One that goes on to the id does for both.
            if !index.unique && subsets.iter().any(|longer| longer.serves(&index)) {
                continue;
            }
            let same = declared.iter().find(|other| other.is_on_the_fields_of(&index));
            match same {
                Some(other) if index.unique && !other.unique => {
                    let what = format!(
                        "`{}` is a reference that each document is named by once at most (`one`), which needs a unique index, \
                         and the declared index {} is not unique: leave the declaration out",
                        edge.path,
                        other.in_words()
                    );
                    self.conflict(what);
                }
                Some(_) => {}
                None => {
                    if index.unique || !declared.iter().any(|other| other.serves(&index)) {
                        declared.push(index);
                    }
                }
            }
        }
        for index in subsets {
            if !declared.iter().any(|other| other.serves(&index)) {
                declared.extend(index.beside(&declared));
            }
        }
        let copies = graph.outgoing(meta).filter(|edge| !edge.reference.one);
        let operation = graph
            .takes_part(meta)
            .then_some(crate::model::own_fields::OPERATION);
        let pending = operation.map(Index::of_pending_work);
        let deletion = meta.soft_delete.map(|_| crate::model::own_fields::DELETION);
        let deletion = deletion.map(Index::of_pending_work);
        for index in copies.filter_map(Index::of_copies).chain(pending).chain(deletion) {
            if !declared.iter().any(|other| other.is_on_the_fields_of(&index)) {
                declared.push(index);
            }
        }
        if meta.shard_key.is_some() {
            Look::begin_with_shard_key(&mut declared, meta, graph);
        }
        if let Some(deleted) = meta.soft_delete {
            let unique = declared.iter_mut().filter(|index| index.unique);
            unique.for_each(|index| index.leave_out_deleted(deleted));
        }
        if let Some(key) = meta.shard_key.map(shard::pattern) {
            let inherited = meta.collation.is_some_and(|one| one.locale != "simple");
            let mut all = declared.iter_mut();
            if let Some(index) = all.find(|index| index.begins_with_shard_key(&key, inherited)) {
                index.of_shard_key = true;
            }
        }
        Ok(declared)
    }

    /// Puts the shard key in front of unique indexes whose values decide it.
    fn begin_with_shard_key(declared: &mut Vec<Index>, meta: &DocumentMeta, graph: &Graph) {
        let mut more = Vec::new();
        for index in declared.iter_mut().filter(|index| index.unique) {
            let paths: Vec<&str> = index.paths.iter().map(String::as_str).collect();
            let key = graph.key_in_front(meta, &paths).unwrap_or_default();
            if !key.is_empty() {
                more.push(index.put_in_front(&key));
            }
        }
        for index in more {
            if !declared.iter().any(|other| other.serves(&index)) {
                declared.push(index);
            }
        }
        // A unique index serves as the index of the shard key on the same fields, but for one that leaves documents out or compares texts
        // by a collation.
        let unique: Vec<Index> = declared.iter().filter(|index| index.unique).cloned().collect();
        declared.retain_mut(|index| {
            let mut unique = unique.iter();
            let Some(other) = unique.find(|other| !index.unique && other.is_on_the_fields_of(index)) else {
                return true;
            };
            let is_beside =
                meta.soft_delete.is_some() || other.partial.is_some() || other.collation != index.collation;
            if is_beside {
                index.go_on_to_id();
            }
            is_beside
        });
    }
}

//! Executes a plan, in a database that other clients may be changing at the same time.

use super::existing;
use super::kind;
use super::plan::{AT_ONCE, Change, Plan, declared_indexes, to_backfill};
use super::replace::{self, ReplaceFailure, ReplaceWay, Superseded};
use super::shard::{self, ShardRefusal};
use super::validator::IMAGES;
use crate::model::document::{Action, Level};
use crate::store::{action, trace::Trace};
use crate::{Error, Odm, Result};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use std::fmt;
use std::time::Duration;

/// Maximum number of times that `sync` plans and applies.
const ATTEMPTS: u32 = 8;

/// The result of [`Odm::apply`] or [`Odm::sync`].
#[derive(Clone, Debug, Default)]
pub struct Applied {
    changes: Vec<Change>,
    backfills: Vec<String>,
}

impl Applied {
    /// The changes that were made. Changes that another process had already made are not included, except for a collection
    /// where a newer server lets two processes create the same one.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Declarations that are new or changed while documents existed already: copies, by the names of the references and fields
    /// that hold them, such as `products.parts.id`; summaries of buckets; and two-way references of which documents lack the
    /// other side. [`Odm::backfill`] fills them.
    pub fn backfills(&self) -> &[String] {
        &self.backfills
    }

    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The changes in words, a line each.
impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        if lines.is_empty() {
            lines.push("nothing was changed".to_owned());
        }
        lines.extend(self.backfills.iter().map(|copies| to_backfill(copies)));
        f.write_str(&lines.join("\n"))
    }
}

/// Why a change was not made.
enum ApplyFailure {
    /// The database is not as the plan saw it.
    Stale {
        collection: &'static str,
        what: String,
    },
    /// The server has another index of that name or on those fields.
    Index {
        collection: &'static str,
        what: String,
    },
    Final(Error),
}

impl From<Error> for ApplyFailure {
    fn from(error: Error) -> ApplyFailure {
        ApplyFailure::Final(error)
    }
}

impl From<ApplyFailure> for Error {
    fn from(failure: ApplyFailure) -> Error {
        match failure {
            ApplyFailure::Stale { collection, what } => Error::SchemaConflict {
                collection,
                what: format!("{what}: the database has changed since the plan was made; make a new one"),
            },
            ApplyFailure::Index { collection, what } => Error::SchemaConflict { collection, what },
            ApplyFailure::Final(error) => error,
        }
    }
}

impl Odm {
    /// Makes the changes of a plan: creates collections, sets validators, creates indexes, changes times to live, keeps pre- and
    /// post-images, shards collections. Drops nothing, unless the plan [replaces](Plan::replace) indexes, and changes no shard key. Several processes may apply the same plan at once, or one process twice: changes that are already made are
    /// skipped.
    ///
    /// The changes of a collection are made one after another, those of eight collections at the same time; if one
    /// fails, the others are still made. The declared copies are stored, too. Every change is acknowledged by a majority.
    ///
    /// # Errors
    /// Before anything is changed: [`Error::Unsupported`] for `consistency = atomic` and [hooks](crate::hooks) on a standalone server, which has no transactions;
    /// [`Error::UnknownCopies`] where the database holds copies that these models lack, unless
    /// [`allow_unknown_copies`](Odm::allow_unknown_copies) was called; [`Error::SchemaConflict`] if the plan has a
    /// [`Change::Conflict`], or drops an index before the new one is built and [`in_window`](Plan::in_window) was not called;
    /// [`Error::ExistingDocuments`] if existing documents violate a unique index, or a validator with
    /// level `strict` and action `error`, unless the plan [accepts violations](Plan::accept_violations).
    ///
    /// Later: [`Error::SchemaConflict`] if the collection has changed since the plan was made;
    /// [`Error::ExistingDocuments`] if duplicates were written since; [`Error::Driver`]. Where the server refuses an index, the others of
    /// the collection are created nevertheless.
    ///
    /// # Cost
    /// One round trip for a new collection, two for a validator, one for all new indexes of a collection (which lasts as long as
    /// the server builds them; if it refuses one, one more for each), and one for each changed time to live, for pre- and post-images, and for each search or vector index,
    /// which Atlas builds afterwards. A collection that is to be sharded costs one more, and before MongoDB 6.0 two. The declared copies cost one where all are known already;
    /// if there is anything to change, one more checks before that for copies that these models lack.
    pub fn apply(&self, plan: &Plan) -> action::Action<Applied> {
        let (odm, plan) = (self.clone(), plan.clone());
        let applied = async move { odm.applied(&plan).await };
        action::Action::new("(all)", "apply", Box::new(applied))
    }

    fn applied<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Result<Applied>> {
        Trace::new("(all)", "apply")
            .run(async move {
                self.refuse_atomic().await?;
                let mut applied = Applied::default();
                // A conflict that a program without these copies meets may come from a newer program.
                if !plan.unknown().is_empty() {
                    self.refuse_unknown().await?;
                }
                refuse(plan)?;
                if !plan.is_empty() {
                    self.refuse_unknown().await?;
                }
                self.carry_out(plan, &mut applied).await?;
                applied.backfills = self.remember_edges().await?;
                Ok(applied)
            })
            .boxed()
    }

    /// Makes the database as it is declared: [`plan`](Odm::plan) and [`apply`](Odm::apply), until nothing is left to
    /// change. Several processes may do so at once, at every start of a program.
    ///
    /// On a sharded cluster it shards the collections with a declared key, once their indexes are there; the documents of one that is there
    /// already are moved afterwards, by the balancer. It never changes a shard key: [`plan`](Odm::plan) shows the command for that.
    ///
    /// It logs a warning where the server lacks what is declared, has another shard key, or is a standalone one: [`Plan::warning`]. Atlas builds search and vector
    /// indexes after `sync` has returned; [`Plan::notes`] says of each whether it can be queried.
    ///
    /// # Errors
    /// As [`plan`](Odm::plan) and [`apply`](Odm::apply): a program that lacks copies is refused before it changes anything, since
    /// its validators would be older ones. [`Error::Contention`] if another client changes the database under eight attempts;
    /// [`Error::SchemaConflict`] if it still differs from what is declared after it was changed.
    ///
    /// # Cost
    /// One [`plan`](Odm::plan) if nothing is to be done; else a plan, a look for declared copies that the database knows and these
    /// models lack, the changes, and a plan that finds nothing left. A new declaration costs one round trip to store it, and one
    /// for each collection that has any.
    pub fn sync(&self) -> action::Action<Applied> {
        let odm = self.clone();
        action::Action::new("(all)", "sync", Box::new(async move { odm.synced().await }))
    }

    fn synced(&self) -> BoxFuture<'_, Result<Applied>> {
        let synced = async move {
            if let Some(warning) = self.warning().await? {
                tracing::warn!(target: "odm", "{warning}");
            }
            self.refuse_atomic().await?;
            self.until_it_is().await
        };
        Trace::new("(all)", "sync").run(synced).boxed()
    }

    async fn until_it_is(&self) -> Result<Applied> {
        let mut applied = Applied::default();
        let mut last = None;
        let mut index_conflicts = 0;
        for attempt in 0..ATTEMPTS {
            if attempt > 1 {
                tokio::time::sleep(Duration::from_millis(20 << attempt)).await;
            }
            let mut plan = self.compare().await?;
            if let (0, Some(warning)) = (attempt, plan.warning()) {
                tracing::warn!(target: "odm", "{warning}");
            }
            // Atlas builds these after it has answered, and may list the new definition later, or with more than was sent.
            plan.changes
                .retain(|change| !applied.changes.iter().any(|made| made.is_same_index(change)));
            if plan.is_empty() {
                applied.backfills = self.remember_edges().await?;
                return Ok(applied);
            }
            self.refuse_unknown().await?;
            match self.carry_out(&plan, &mut applied).await {
                Ok(()) => {
                    let collection = plan.changes()[0].collection();
                    let what = format!("the database still differs from the models after the change: {plan}");
                    last = Some(ApplyFailure::Index { collection, what });
                }
                Err(ApplyFailure::Final(error)) => return Err(error),
                Err(failure) => {
                    index_conflicts += u32::from(matches!(failure, ApplyFailure::Index { .. }));
                    last = Some(failure);
                    if index_conflicts > 1 {
                        break;
                    }
                }
            }
        }
        match last {
            Some(ApplyFailure::Stale { collection, what }) => Err(Error::Contention {
                collection,
                message: format!(
                    "another client changed the schema during each of {ATTEMPTS} attempts to change it: try again ({what})"
                ),
                source: None,
            }),
            Some(failure) => Err(failure.into()),
            None => Ok(applied),
        }
    }

    async fn carry_out(&self, plan: &Plan, applied: &mut Applied) -> Result<(), ApplyFailure> {
        refuse(plan)?;
        let mut collections: Vec<&'static str> = Vec::new();
        for change in plan.changes() {
            if !collections.contains(&change.collection()) {
                collections.push(change.collection());
            }
        }
        let work: Vec<_> = collections
            .into_iter()
            .map(|collection| self.carry_out_in(plan, collection).boxed())
            .collect();
        let done: Vec<_> = stream::iter(work).buffered(AT_ONCE).collect().await;
        let mut failed = None;
        for (made, outcome) in done {
            applied.changes.extend(made);
            // A failure that can be retried is reported only if there is no other one.
            if let (Err(failure), None | Some(ApplyFailure::Stale { .. })) = (outcome, &failed) {
                failed = Some(failure);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn carry_out_in(
        &self,
        plan: &Plan,
        collection: &'static str,
    ) -> (Vec<Change>, Result<(), ApplyFailure>) {
        let db = self.database();
        let mut made = Vec::new();
        let mut specs = Vec::new();
        let mut search = Vec::new();
        let mut indexes = Vec::new();
        let mut sharding = None;
        for change in plan
            .changes()
            .iter()
            .filter(|change| change.collection() == collection)
        {
            let outcome = match change {
                Change::CreateCollection {
                    validator,
                    level,
                    action,
                    collation,
                    pre_and_post_images,
                    kind,
                    ..
                } => {
                    let options = ApplyOptions {
                        collation: collation.as_ref(),
                        images: *pre_and_post_images,
                        kind,
                    };
                    create(db, collection, validator, *level, *action, options).await
                }
                Change::ModifyCollection { options, .. } => modify(db, collection, options).await,
                Change::SetPreAndPostImages { .. } => keep_images(db, collection).await,
                Change::SetValidator {
                    validator,
                    level,
                    action,
                    ..
                } => set_validator(db, plan, collection, validator, *level, *action).await,
                Change::ChangeTtl { index, to, .. } => change_ttl(db, collection, index, *to).await,
                Change::CreateIndex { spec, .. } => {
                    specs.push(spec.clone());
                    indexes.push(change.clone());
                    Ok(false)
                }
                Change::CreateSearchIndex { .. } | Change::UpdateSearchIndex { .. } => {
                    search.push(change);
                    Ok(false)
                }
                Change::ShardCollection { key, simple, .. } => {
                    sharding = Some((change, key, *simple));
                    Ok(false)
                }
                Change::ReplaceIndex { index, .. } => self.replace_index(plan, collection, index).await,
                Change::RetireIndex { index, step, .. } => match plan.superseded(collection, index) {
                    None => Ok(false),
                    Some(superseded) => match replace::retire(self, superseded, *step).await {
                        Ok(done) => Ok(done),
                        Err(e) => Err(not_replaced(db, plan, collection, index, e).await),
                    },
                },
                Change::Conflict { .. } => Ok(false),
            };
            match outcome {
                Ok(true) => made.push(change.clone()),
                Ok(false) => {}
                Err(failure) => return (made, Err(failure)),
            }
        }
        if !specs.is_empty() {
            let (new, outcome) = create_indexes(db, plan, collection, specs).await;
            made.extend(new.into_iter().map(|at| indexes[at].clone()));
            if outcome.is_err() {
                return (made, outcome);
            }
        }
        // A collection with documents is sharded by an index that is there.
        if let Some((change, key, simple)) = sharding {
            match self.distribute(collection, key, simple).await {
                Ok(()) => made.push(change.clone()),
                Err(failure) => return (made, Err(failure)),
            }
        }
        for change in search {
            match change_search_index(db, collection, change).await {
                Ok(()) => made.push(change.clone()),
                Err(failure) => return (made, Err(failure)),
            }
        }
        (made, Ok(()))
    }

    /// Replaces an index. What the members have counted of one that is superseded is noted then.
    async fn replace_index(
        &self,
        plan: &Plan,
        collection: &'static str,
        index: &str,
    ) -> Result<bool, ApplyFailure> {
        let Some(replacement) = plan.replacement(collection, index) else {
            return Ok(false);
        };
        let db = self.database();
        let seen = plan.seen.get(collection);
        let inherited = seen.and_then(|current| current.collation.as_ref());
        let done = match replacement.carry_out(db, collection, inherited).await {
            Ok(done) => done,
            Err(e) => return Err(not_replaced(db, plan, collection, index, e).await),
        };
        if done && replacement.way == ReplaceWay::Beside {
            let superseded = Superseded {
                collection,
                index: index.to_owned(),
                by: Some(replacement.index.name.clone()),
                hidden: false,
                if_retired: None,
            };
            replace::watch(self, &superseded).await?;
        }
        Ok(done)
    }

    async fn distribute(
        &self,
        collection: &'static str,
        key: &Document,
        simple: bool,
    ) -> Result<(), ApplyFailure> {
        let version = self.server().await?.max_wire_version();
        let done = shard::shard(self.database(), collection, key, simple, version).await;
        done.map_err(|refusal| match refusal {
            ShardRefusal::Stale(what) => ApplyFailure::Stale { collection, what },
            ShardRefusal::Final(what) => ApplyFailure::Final(Error::SchemaConflict { collection, what }),
            ShardRefusal::Other(e) => failure(collection, e),
        })
    }
}

/// The error of an index that was not replaced.
async fn not_replaced(
    db: &Database,
    plan: &Plan,
    collection: &'static str,
    index: &str,
    e: ReplaceFailure,
) -> ApplyFailure {
    match e {
        ReplaceFailure::Stale(what) => ApplyFailure::Stale { collection, what },
        ReplaceFailure::Other(error) => ApplyFailure::Final(error),
        ReplaceFailure::Refused(e) => explained(db, plan, collection, failure(collection, e)).await,
        ReplaceFailure::Duplicates(e) => {
            // They may be gone again.
            let what = crate::error::driver::DriverText(&e).to_string();
            let found = match plan.replacement(collection, index) {
                Some(replacement) => existing::duplicates(db, collection, &replacement.index).await,
                None => Ok(None),
            };
            match found {
                Ok(Some(violations)) => {
                    let index = plan.replacement(collection, index);
                    let words = index.map(|one| one.index.in_words()).unwrap_or_default();
                    ApplyFailure::Final(violated(collection, format!("the index {words}"), violations))
                }
                Ok(None) => ApplyFailure::Stale { collection, what },
                Err(error) => error.into(),
            }
        }
        ReplaceFailure::Failed { outcome, error } => {
            let why = explained(db, plan, collection, failure(collection, error)).await;
            ApplyFailure::Final(match Error::from(why) {
                Error::ExistingDocuments {
                    collection,
                    change,
                    count,
                    sample,
                    reason,
                } => Error::ExistingDocuments {
                    collection,
                    change,
                    count,
                    sample,
                    reason: Some(
                        reason.map_or_else(|| outcome.clone(), |reason| format!("{reason}. {outcome}")),
                    ),
                },
                error => Error::SchemaConflict {
                    collection,
                    what: format!(
                        "the index `{index}` was not replaced, since the server refused the new one; {outcome}: {error}"
                    ),
                },
            })
        }
    }
}

/// Drops an index that no model declares, or notes that it is to be dropped when it is not used. One that a model declares stays: the step may be
/// older than the declaration.
///
/// # Errors
/// Errors of the server.
pub(crate) async fn remove_index(odm: &Odm, collection: &str, index: &str, retires: bool) -> Result<()> {
    let db = odm.database();
    let name = |index: &Document| index.get_str("name").unwrap_or_default().to_owned();
    // The library may have built it under another name.
    let mut there = existing::indexes(db, collection).await?;
    there.retain(|there| replace::is_of(&name(there), index));
    let mut models = odm.models().iter();
    let model = models.find(|model| model.meta.collection == collection);
    if let Some(model) = model {
        let declared = declared_indexes(model.meta, odm.graph()).map_err(Error::application)?;
        if declared
            .iter()
            .any(|(declared, _)| replace::is_of(index, &name(declared)))
        {
            tracing::info!(target: "odm", collection, index, "the index is declared, and stays");
            return Ok(());
        }
    }
    for there in &there {
        match model.filter(|_| retires) {
            Some(model) => replace::watch(odm, &Superseded::undeclared(model.meta.collection, there)).await?,
            // No plan looks at a collection without a model.
            None => replace::drop_at_once(db, collection, &name(there)).await?,
        }
    }
    Ok(())
}

fn violated(collection: &'static str, change: String, violations: existing::Violations) -> Error {
    Error::ExistingDocuments {
        collection,
        change,
        count: violations.count,
        sample: violations.sample,
        reason: violations.reason,
    }
}

/// Refuses conflicts before anything is changed.
fn refuse(plan: &Plan) -> Result<()> {
    for change in plan.changes() {
        if let Change::ReplaceIndex {
            collection,
            index,
            way: ReplaceWay::Window,
            words,
            ..
        } = change
            && !plan.in_window
        {
            return Err(Error::SchemaConflict {
                collection,
                what: format!(
                    "the index `{index}` is replaced in a window alone, by `Plan::in_window` or a step with `declare_in_window`: \
                     {words}"
                ),
            });
        }
        if let Change::Conflict { collection, what } = change {
            return Err(Error::SchemaConflict {
                collection,
                what: what.clone(),
            });
        }
    }
    for change in plan.changes() {
        let Some(violations) = change.violations() else {
            continue;
        };
        let words = match change {
            Change::SetValidator {
                level: Level::Strict,
                action: Action::Error,
                words,
                ..
            } if !plan.accept_violations => {
                format!("the validator ({})", words.join("; "))
            }
            Change::CreateIndex { words, .. } => format!("the index {words}"),
            Change::ReplaceIndex {
                collection, index, ..
            } => {
                let new = plan.replacement(collection, index);
                let words = new.map_or_else(|| format!("`{index}`"), |new| new.index.in_words());
                format!("the index {words}")
            }
            _ => continue,
        };
        return Err(violated(change.collection(), words, violations.clone()));
    }
    Ok(())
}

/// The options of a new collection, beside its validator.
struct ApplyOptions<'a> {
    collation: Option<&'a Document>,
    images: bool,
    kind: &'a Document,
}

/// Whether the collection was created; `false` if another client has created it.
async fn create(
    db: &Database,
    collection: &'static str,
    validator: &Document,
    level: Level,
    action: Action,
    options: ApplyOptions<'_>,
) -> Result<bool, ApplyFailure> {
    let mut command = doc! { "create": collection };
    if kind::is_validated(options.kind) {
        command.insert("validator", validator.clone());
        command.insert("validationLevel", level.as_str());
        command.insert("validationAction", action.as_str());
    }
    command.extend(options.kind.clone());
    if let Some(collation) = options.collation {
        command.insert("collation", collation.clone());
    }
    if options.images {
        command.insert(IMAGES, doc! { "enabled": true });
    }
    match run(db, collection, command).await {
        Err(ApplyFailure::Stale { collection, what }) => {
            let now = existing::collections(db, Some(collection)).await?;
            match now.get(collection) {
                Some(now) if !kind::is_validated(options.kind) && kind::is_created(options.kind, now) => {
                    Ok(false)
                }
                Some(now)
                    if kind::is_created(options.kind, now)
                        && now.validates(Some(validator), level, action)
                        && now.collates(options.collation)
                        && now.images == options.images =>
                {
                    Ok(false)
                }
                _ => Err(ApplyFailure::Stale { collection, what }),
            }
        }
        done => done.map(|_| true),
    }
}

/// Whether the validator was set; `false` if it is already the one. The server can't compare and set, so the validator is
/// read again just before: a change by another client in between is lost.
async fn set_validator(
    db: &Database,
    plan: &Plan,
    collection: &'static str,
    validator: &Document,
    level: Level,
    action: Action,
) -> Result<bool, ApplyFailure> {
    let stale = |what: &str| ApplyFailure::Stale {
        collection,
        what: what.to_owned(),
    };
    let now = existing::collections(db, Some(collection)).await?;
    let Some(now) = now.get(collection) else {
        return Err(stale("the collection is gone"));
    };
    if now.validates(Some(validator), level, action) {
        return Ok(false);
    }
    if !plan
        .seen
        .get(collection)
        .is_some_and(|seen| now.kind == seen.kind && now.validates_like(seen))
    {
        return Err(stale("its validator is another one"));
    }
    let mut command = doc! {
        "collMod": collection,
        "validator": validator.clone(),
        "validationLevel": level.as_str(),
    };
    // An action that refuses already may do more than that: since MongoDB 8.1 there is `errorAndLog`.
    if now.action != action {
        command.insert("validationAction", action.as_str());
    }
    run(db, collection, command).await?;
    Ok(true)
}

async fn modify(db: &Database, collection: &'static str, options: &Document) -> Result<bool, ApplyFailure> {
    let mut command = doc! { "collMod": collection };
    command.extend(options.clone());
    run(db, collection, command).await?;
    Ok(true)
}

async fn keep_images(db: &Database, collection: &'static str) -> Result<bool, ApplyFailure> {
    run(
        db,
        collection,
        doc! { "collMod": collection, IMAGES: { "enabled": true } },
    )
    .await?;
    Ok(true)
}

async fn change_ttl(
    db: &Database,
    collection: &'static str,
    index: &str,
    to: i64,
) -> Result<bool, ApplyFailure> {
    let ttl = doc! { "name": index, "expireAfterSeconds": super::values::whole(to) };
    run(db, collection, doc! { "collMod": collection, "index": ttl }).await?;
    Ok(true)
}

/// Creates indexes by one command. A server that refuses one of them creates none, so then each is created by itself. Gives the
/// positions of those that are new, and the first refusal.
async fn create_indexes(
    db: &Database,
    plan: &Plan,
    collection: &'static str,
    specs: Vec<Document>,
) -> (Vec<usize>, Result<(), ApplyFailure>) {
    let count = specs.len();
    let together = doc! { "createIndexes": collection, "indexes": specs.clone() };
    match run(db, collection, together).await {
        Ok(reply) => {
            let made = if is_new(&reply) {
                (0..count).collect()
            } else {
                Vec::new()
            };
            return (made, Ok(()));
        }
        // Where the server did not answer, or the database has changed, each of them would fail for the same reason.
        Err(failure) if !is_refusal(&failure) => return (Vec::new(), Err(failure)),
        Err(failure) if count == 1 => {
            return (Vec::new(), Err(explained(db, plan, collection, failure).await));
        }
        Err(_) => {}
    }
    let (mut made, mut first) = (Vec::new(), None);
    for (at, spec) in specs.into_iter().enumerate() {
        let alone = doc! { "createIndexes": collection, "indexes": [spec] };
        match run(db, collection, alone).await {
            Ok(reply) if is_new(&reply) => made.push(at),
            Ok(_) => {}
            Err(failure) if first.is_none() => first = Some(explained(db, plan, collection, failure).await),
            Err(_) => {}
        }
    }
    (made, first.map_or(Ok(()), Err))
}

/// Whether the server has refused what was sent, and would refuse it again.
fn is_refusal(failure: &ApplyFailure) -> bool {
    match failure {
        ApplyFailure::Stale { .. } => false,
        ApplyFailure::Index { .. } => true,
        ApplyFailure::Final(error) => {
            let is_final = !error.is_transient() && !error.outcome_unknown();
            is_final && error.driver_error().is_some_and(|e| existing::code(e).is_some())
        }
    }
}

/// Whether `createIndexes` has created one. A router of a sharded cluster gives the numbers of each shard.
fn is_new(reply: &Document) -> bool {
    let of_one = |reply: &Document| {
        let number = |name| reply.get(name).and_then(super::values::integer);
        match (number("numIndexesBefore"), number("numIndexesAfter")) {
            (Some(before), Some(after)) => before != after,
            _ => true,
        }
    };
    match reply.get_document("raw") {
        Ok(shards) => shards.values().filter_map(Bson::as_document).any(of_one),
        Err(_) => of_one(reply),
    }
}

/// The refusal of an index with the documents that are in the way: duplicates that were not there when the plan was made.
async fn explained(
    db: &Database,
    plan: &Plan,
    collection: &'static str,
    failure: ApplyFailure,
) -> ApplyFailure {
    let ApplyFailure::Final(Error::Driver(e)) = failure else {
        return failure;
    };
    if existing::code(&e) != Some(11000) {
        return ApplyFailure::Final(Error::Driver(e));
    }
    let indexes = plan.indexes.get(collection).into_iter().flatten();
    for index in indexes.filter(|index| index.unique) {
        match existing::duplicates(db, collection, index).await {
            Ok(None) => {}
            Ok(Some(violations)) => {
                let change = format!("the index {}", index.in_words());
                return ApplyFailure::Final(violated(collection, change, violations));
            }
            Err(error) => return error.into(),
        }
    }
    ApplyFailure::Final(Error::Driver(e))
}

/// Creates a search or vector index, or changes its definition. Atlas takes no write concern with that.
async fn change_search_index(
    db: &Database,
    collection: &'static str,
    change: &Change,
) -> Result<(), ApplyFailure> {
    let command = match change {
        Change::CreateSearchIndex { spec, .. } => {
            doc! { "createSearchIndexes": collection, "indexes": [spec.clone()] }
        }
        Change::UpdateSearchIndex { index, to, .. } => {
            doc! { "updateSearchIndex": collection, "name": index, "definition": to.clone() }
        }
        _ => return Ok(()),
    };
    send(db, collection, command).await.map(|_| ())
}

/// Runs a command, acknowledged by a majority.
async fn run(
    db: &Database,
    collection: &'static str,
    mut command: Document,
) -> Result<Document, ApplyFailure> {
    command.insert("writeConcern", doc! { "w": "majority" });
    send(db, collection, command).await
}

/// Runs a command, and tells what can be repeated from what can't.
async fn send(db: &Database, collection: &'static str, command: Document) -> Result<Document, ApplyFailure> {
    let reply = db.run_command(command).await;
    let reply = reply.map_err(|e| failure(collection, e))?;
    // The driver leaves this part of a reply to the caller.
    if let Ok(concern) = reply.get_document("writeConcernError") {
        let message = format!("the change was made, but not acknowledged by a majority: {concern}");
        return Err(ApplyFailure::Final(Error::from(mongodb::error::Error::custom(
            message,
        ))));
    }
    Ok(reply)
}

fn failure(collection: &'static str, e: mongodb::error::Error) -> ApplyFailure {
    match existing::code(&e) {
        // IndexOptionsConflict, IndexKeySpecsConflict
        Some(85 | 86) => ApplyFailure::Index {
            collection,
            what: crate::error::driver::DriverText(&e).to_string(),
        },
        // NamespaceNotFound, IndexNotFound, LockBusy, NamespaceExists, IndexAlreadyExists (of a search index), WriteConflict,
        // ConflictingOperationInProgress, IndexBuildAborted, BackgroundOperationInProgress…
        Some(26 | 27 | 46 | 48 | 68 | 112 | 117 | 276 | 12586 | 12587) => ApplyFailure::Stale {
            collection,
            what: crate::error::driver::DriverText(&e).to_string(),
        },
        // Which documents are in the way is asked for.
        Some(11000) => ApplyFailure::Final(Error::Driver(Box::new(e))),
        _ => {
            let context = crate::store::map::Context {
                collection,
                meta: None,
            };
            ApplyFailure::Final(context.driver(e))
        }
    }
}

#[cfg(all(test, feature = "cli"))]
impl Applied {
    pub(crate) fn of(changes: Vec<Change>) -> Applied {
        Applied {
            changes,
            ..Applied::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_says_of_each_shard_whether_an_index_is_new() {
        let shard = |before: i32, after: i32| doc! { "numIndexesBefore": before, "numIndexesAfter": after, "commitQuorum": "votingMembers", "ok": 1.0 };
        let routed = |one, other| is_new(&doc! { "raw": { "sh0/S0": one, "sh1/S1": other }, "ok": 1.0 });
        assert!(routed(shard(2, 3), shard(2, 3)));
        assert!(!routed(shard(3, 3), shard(3, 3)));
        // A shard that had no chunk of the collection when the index was made.
        assert!(routed(shard(3, 3), shard(2, 3)));
        let on_the_primary_shard = doc! { "raw": { "sh0/S0": shard(1, 2) }, "ok": 1.0 };
        assert!(is_new(&on_the_primary_shard));
        assert!(is_new(&shard(1, 2)) && !is_new(&shard(2, 2)));
    }
}

//! The declared edges as they are stored in the database, so that a process with older or fewer models notices the difference,
//! and a new or changed declaration is backfilled.
//!
//! A declaration that replaces another one stores that among the previous ones. A program whose declaration is found there is
//! the older one: nothing else tells which of two programs is newer.

use crate::engine::hooks::need_transactions;
use crate::graph::declaration::{
    Declaration, EARLIER, EARLIER_RULES, MOST_EARLIER, RULE, had_rule, is_more, is_of_claims, is_rule,
    is_two_way, lacking, restricted, sources, was_declared, with_those_of,
};
use crate::graph::known::{Others, UnknownDeclarations, is_refused, may_be_left};
use crate::graph::{EdgeId, Graph, declaration, declared};
use crate::model::claims::{GlobalKey, claims_name};
use crate::model::document::DocumentMeta;
use crate::model::meta::names::meet;
use crate::model::own_fields::EDGES;
use crate::model::reference::OnDelete;
use crate::rules::children::orphans::DERIVED;
use crate::store::action::Action;
use crate::store::fields::put;
use crate::{Error, Odm, Result, rules};
use futures::TryStreamExt;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::{CollectionOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern};
use std::collections::HashMap;
use std::time::Instant;

/// In a stored edge that had no holders when it was stored, and sources: its backfill compares the first holders once. In that of a key
/// that is unique over all shards: documents may not have claimed their values, or share them.
pub(crate) const EARLY: &str = "early";

/// Maximum number of attempts to store declarations while other processes store theirs.
const MEETINGS: usize = 10;

/// The stored declarations that a program lacks.
#[derive(Default)]
struct Lacks {
    /// Their names, in words.
    names: Vec<String>,
    /// Collections of which something is derived by them, or that hold it.
    copied: Vec<&'static str>,
    unknown: UnknownDeclarations,
    others: Others,
}

/// The stored declarations, and when they were read.
pub(crate) struct StoredDeclarations(Vec<Document>, Instant);

impl StoredDeclarations {
    /// Everything that it knows.
    pub(crate) async fn all(odm: &Odm) -> Result<StoredDeclarations> {
        let asked = Instant::now();
        let edges = odm.stored_edges();
        // Asked here once, for the reads of the writes that come: those of a sharded cluster need a time.
        odm.server().await?;
        let all = if odm.is_sharded() {
            // A transaction may have left pending work among them.
            let mut session = odm.begin_session().await?;
            let mut all = edges.find(doc! {}).session(&mut session).await?;
            all.stream(&mut session).try_collect().await?
        } else {
            edges.find(doc! {}).await?.try_collect().await?
        };
        Ok(StoredDeclarations(all, asked))
    }

    /// Since when an edge is declared as it is, by the clock of the process that stored it.
    pub(crate) fn declared(&self, id: &str) -> Option<DateTime> {
        self.edge(id)?.get_datetime("declared").ok().copied()
    }

    pub(crate) fn edge(&self, id: &str) -> Option<&Document> {
        self.0.iter().find(|edge| edge.get_str("_id").ok() == Some(id))
    }

    /// The pending work among the declarations for this derived field.
    pub(crate) fn notes(&self, derived: &str) -> impl Iterator<Item = &Document> {
        self.0
            .iter()
            .filter(move |note| note.get_str(DERIVED).is_ok_and(|name| name == derived))
    }

    /// The declaration of an edge, by whichever program it was declared.
    pub(crate) fn declaration(&self, id: &str) -> Option<&Document> {
        self.edge(id)?.get_document("declaration").ok()
    }

    /// Whether an edge is declared there as these models declare it, or by a program with more copies, or by a newer one: that
    /// is left as it is.
    pub(crate) fn has(&self, declared: &Declaration) -> bool {
        let Some(edge) = self.edge(&declared.id) else {
            return false;
        };
        let is = |known: &Document| {
            *known == declared.is || is_more(known, &declared.is) || is_another(&declared.is, known)
        };
        let had_rule = || is_rule(&declared.is) && had_rule(edge, declared);
        edge.get_document("declaration").is_ok_and(is) || was_declared(edge, &declared.is) || had_rule()
    }

    /// The rule of a reference as it is to be stored, with the one that it replaces; `None` where it is stored, or is an earlier one.
    fn new_rule(&self, own: &Declaration) -> Option<(String, Option<String>)> {
        let stored = self.edge(&own.id);
        let rule = own.rule?.to_string();
        let is_another = |edge: &Document| {
            let declaration = edge.get_document("declaration");
            declaration.is_ok_and(|stored| is_another(&own.is, stored))
        };
        let previous = stored.and_then(declaration::rule);
        if previous == Some(&rule) || stored.is_some_and(|edge| had_rule(edge, own) || is_another(edge)) {
            return None;
        }
        Some((rule, previous.map(str::to_owned)))
    }

    /// The condition that an edge is stored as it was read.
    fn as_read(&self, id: &str, declaration: &Document) -> Document {
        let rule = self.edge(id).and_then(|edge| edge.get(RULE)).cloned();
        let rule = rule.unwrap_or_else(|| doc! { "$exists": false }.into());
        doc! { "_id": id, "declaration": { "$eq": declaration }, RULE: rule }
    }

    /// Whether processes that did not know of the declaration may have changed sources of its first holders.
    pub(crate) fn is_early(&self, id: &str) -> bool {
        self.edge(id)
            .is_some_and(|edge| matches!(edge.get_bool(EARLY), Ok(true)))
    }

    /// Whether the documents that were there before have their copies.
    pub(crate) fn is_filled(&self, id: &str) -> bool {
        self.edge(id)
            .is_some_and(|edge| matches!(edge.get_bool("filled"), Ok(true)))
    }
}

/// How the declared edges differ from those that the database knows: by name.
pub(crate) struct ComparedEdges {
    /// Those to be filled for documents that were there before.
    pub(crate) backfills: Vec<String>,
    /// The copies of documents of these models that these models lack.
    pub(crate) unknown: Vec<String>,
    /// Other declarations that these models lack: references, and copies between documents of other programs.
    pub(crate) elsewhere: Vec<String>,
}

impl Odm {
    pub(crate) fn stored_edges(&self) -> mongodb::Collection<Document> {
        self.on_the_primary(EDGES)
    }

    /// A collection as the primary has it, whatever the client prefers: one that lags behind may not have the documents yet
    /// that are to be filled, and they would never be.
    fn on_the_primary(&self, collection: &str) -> mongodb::Collection<Document> {
        let options = CollectionOptions::builder()
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .read_concern(ReadConcern::local())
            .write_concern(WriteConcern::majority())
            .build();
        self.database().collection_with_options(collection, options)
    }

    async fn is_empty(&self, collection: &str) -> Result<bool> {
        let all = self.on_the_primary(collection);
        let any = all.find_one(doc! {}).projection(doc! { "_id": 1 });
        Ok(any.await?.is_none())
    }

    /// The declared edges beside what is known of them.
    async fn declared(&self, known: &StoredDeclarations) -> Result<Vec<DeclaredHere>> {
        let mut all = Vec::new();
        let mut empty: HashMap<&str, bool> = HashMap::new();
        for edge in rules::declarations(self.graph()) {
            let is_known = known.has(&edge);
            let filled = if !edge.fills {
                true
            } else if is_known {
                known.is_filled(&edge.id)
            } else {
                // Where there are no documents yet, there is nothing to be filled.
                match empty.get(edge.through()) {
                    Some(empty) => *empty,
                    None => {
                        let is_empty = self.is_empty(edge.through()).await?;
                        *empty.entry(edge.through()).or_insert(is_empty)
                    }
                }
            };
            all.push(DeclaredHere {
                edge,
                is_known,
                filled,
            });
        }
        Ok(all)
    }

    /// Compares the declared edges with those that the database knows.
    pub(crate) async fn compare_edges(&self) -> Result<ComparedEdges> {
        let known = StoredDeclarations::all(self).await?;
        self.set_claimed(claimed(self.graph(), &known));
        let declared = self.declared(&known).await?;
        let unknown = self.unknown_to(&known).names;
        let mut elsewhere = self.undeclared_of(&known);
        elsewhere.retain(|name| !unknown.contains(name));
        Ok(ComparedEdges {
            backfills: not_filled(declared),
            unknown,
            elsewhere,
        })
    }

    /// Refuses `consistency = atomic`, `unique(global)` and hooks on a standalone server.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub(crate) async fn refuse_atomic(&self) -> Result<()> {
        let graph = self.graph();
        if graph.models().any(DocumentMeta::has_hooks) {
            need_transactions(self).await?;
        }
        if !graph.all_global_keys().is_empty() && !self.has_transactions().await? {
            return Err(crate::rules::claims::unsupported(self).await?);
        }
        match graph.models().find_map(|meta| graph.needs_transactions(meta)) {
            Some(name) if !self.has_transactions().await? => {
                Err(crate::rules::derived::unsupported(self, name).await?)
            }
            _ => Ok(()),
        }
    }

    /// Stores the declared edges, and looks for those that the database knows and these models lack. Gives those that are
    /// to be backfilled.
    ///
    /// # Errors
    /// [`Error::UnknownCopies`].
    pub(crate) async fn remember_edges(&self) -> Result<Vec<String>> {
        let graph = self.graph();
        self.warn_of_references();
        for _ in 1..MEETINGS {
            let (unknown, declared, is_stored) = self.remember_once().await?;
            if is_stored {
                let open = not_filled(declared);
                self.set_unlinked(unlinked_of(graph, &open));
                return if unknown.is_empty() || self.allows_unknown() {
                    Ok(open)
                } else {
                    Err(Error::UnknownCopies { edges: unknown })
                };
            }
        }
        Err(Error::SchemaConflict {
            collection: EDGES,
            what: "other processes kept storing the declarations of their models while this one stored its own: call `sync` \
                   again when they have started"
                .to_owned(),
        })
    }

    /// The same once. Gives what is unknown to these models, what they declare, and whether it is stored: another process may
    /// have declared something of it in between.
    async fn remember_once(&self) -> Result<(Vec<String>, Vec<DeclaredHere>, bool)> {
        let edges = self.stored_edges();
        let known = StoredDeclarations::all(self).await?;
        let unknown = self.look_for_unknown(&known);
        let declared = self.declared(&known).await?;
        let mut is_stored = true;
        let mut empty: HashMap<&str, bool> = HashMap::new();
        for DeclaredHere { edge, filled, .. } in declared.iter().filter(|declared| !declared.is_known) {
            let previous = known.declaration(&edge.id);
            // Of two programs that each have copies that the other lacks, none has all.
            let declaration = with_those_of(&edge.is, previous);
            let mut set = as_stored(edge);
            let as_read = match previous {
                Some(previous) => known.as_read(&edge.id, previous),
                None => doc! { "_id": &edge.id, "declaration": { "$exists": false } },
            };
            // A declaration of a part of it is not an older one.
            let replaced = previous.filter(|previous| !is_rule(previous) && !is_more(&declaration, previous));
            set.extend(doc! { "declaration": declaration, "filled": *filled, "declared": DateTime::now() });
            let mut update = doc! { "$unset": { "at": "" } };
            // Its first holders come while processes write their sources that don't know of it yet.
            let early = *filled && edge.fills && edge.from != edge.through() && !edge.from.is_empty();
            if early && !empty.contains_key(edge.from) {
                empty.insert(edge.from, self.is_empty(edge.from).await?);
            }
            // And so do documents that a program without the claims inserts before it has read the declaration; what it changes leaves
            // claims without an owner.
            let is_unclaimed = *filled && is_of_claims(&edge.is);
            if is_unclaimed || early && empty.get(edge.from) == Some(&false) {
                drop(set.insert(EARLY, true))
            } else {
                put(&mut update, "$unset", EARLY, "".into())
            }
            update.insert("$set", set);
            if let Some(replaced) = replaced {
                remember(&mut update, EARLIER, replaced.clone().into());
            }
            if let Some(rule) = known.new_rule(edge) {
                store_rule(&mut update, rule);
            }
            let stored = edges.update_one(as_read, update).upsert(previous.is_none()).await;
            match stored {
                Ok(result) => is_stored &= previous.is_none() || result.matched_count > 0,
                // Another process was faster.
                Err(error) if is_duplicate(&error) => is_stored = false,
                Err(error) => return Err(error.into()),
            }
            if !filled {
                tracing::info!(
                    target: "odm",
                    edge = edge.id,
                    "copies are new or declared differently: `backfill()` fills them in existing documents"
                );
            }
        }
        for DeclaredHere { edge, .. } in declared.iter().filter(|declared| declared.is_known) {
            if let (Some(rule), Some(previous)) = (known.new_rule(edge), known.declaration(&edge.id)) {
                let mut update = Document::new();
                store_rule(&mut update, rule);
                let stored = edges
                    .update_one(known.as_read(&edge.id, previous), update)
                    .await?;
                is_stored &= stored.matched_count > 0;
            }
        }
        Ok((unknown, declared, is_stored))
    }

    /// Checks whether the database holds copies that these models lack or declare in an older way, and references that they
    /// lack. Nothing is changed. A program that leaves [`sync`](Odm::sync) to another one may call this when it starts. It need
    /// not: every process reads the stored declarations before its first write, and again every few minutes.
    ///
    /// Such copies are updated some time after a write of this program: the write records pending work in the document, and a
    /// program with all models applies it by its [`worker`](Odm::worker) or [`recover`](Odm::recover). Only these writes are
    /// refused: those that change the sources of copies with `consistency = atomic`, those of two-way references and buckets that are
    /// declared differently, and deletions that would leave references dangling.
    ///
    /// # Errors
    /// [`Error::UnknownCopies`] names the copies. Unknown references are only logged; a deletion that they would have to
    /// restrict or change fails with [`Error::UnknownReferences`].
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(db: odm::mongodb::Database) -> odm::Result<()> {
    /// let odm = Odm::new(db, models![Person, Account])?;
    /// odm.check_models().await?; // a newer program may have called `sync` already
    /// # Ok(()) }
    /// ```
    pub fn check_models(&self) -> Action<()> {
        let odm = self.clone();
        let check = async move {
            let outcome = odm.refuse_unknown().await;
            odm.warn_of_references();
            outcome
        };
        Action::new("(all)", "check_models", Box::new(check))
    }

    /// The same, and tells nothing of references.
    pub(crate) async fn refuse_unknown(&self) -> Result<()> {
        let unknown = self.look_for_unknown(&StoredDeclarations::all(self).await?);
        if unknown.is_empty() || self.allows_unknown() {
            Ok(())
        } else {
            Err(Error::UnknownCopies { edges: unknown })
        }
    }

    /// Looks whether the database knows edges that these models lack, without a `sync`. Gives what it knows.
    pub(crate) async fn learn(&self) -> Result<StoredDeclarations> {
        let known = StoredDeclarations::all(self).await?;
        self.look_for_unknown(&known);
        self.set_unlinked(unlinked(self.graph(), &known));
        self.set_claimed(claimed(self.graph(), &known));
        Ok(known)
    }

    /// The names of the copies that these models lack. From now on writes leave the update of such copies to other programs, or
    /// are refused, and documents with references that these models lack may not be deleted.
    fn look_for_unknown(&self, known: &StoredDeclarations) -> Vec<String> {
        let lacks = self.unknown_to(known);
        self.set_lacking(lacks.copied);
        self.set_unknown(lacks.unknown);
        self.graph().set_others(lacks.others);
        self.age().set(known.1);
        lacks.names
    }

    fn unknown_to(&self, known: &StoredDeclarations) -> Lacks {
        let graph = self.graph();
        let own: HashMap<String, Declaration> = rules::declarations(graph)
            .map(|edge| (edge.id.clone(), edge))
            .collect();
        let mut names: Vec<String> = Vec::new();
        // A write of one copy beside a reference writes all of them.
        let mut holders: Vec<&'static str> = Vec::new();
        // Collections, with the fields of theirs that are copied unknown to these models: none for any.
        let mut read: Vec<(&'static str, Vec<String>)> = Vec::new();
        // The same of what can't be left to others.
        let mut refused_holders: Vec<&'static str> = Vec::new();
        let mut refused: Vec<(&'static str, Vec<String>)> = Vec::new();
        let mut others = Others::default();
        // References, with the collections that they lead to.
        let mut referred: Vec<(String, String)> = Vec::new();
        for edge in &known.0 {
            let id = edge.get_str("_id").unwrap_or_default();
            let from = edge.get_str("from").unwrap_or_default();
            let stored = edge.get_document("declaration").cloned().unwrap_or_default();
            let own = own.get(id).filter(|own| !is_another(&own.is, &stored));
            // A deletion by an earlier rule would change documents that the rule of today leaves as they are, or leave what that changes.
            // One that is refused changes nothing.
            let replaced = own.filter(|own| own.rule != Some(OnDelete::Restrict) && had_rule(edge, own));
            referred.extend(replaced.map(|own| (own.target().to_owned(), in_another_way(id))));
            if is_rule(&stored) {
                if let (None, Some(to)) = (own, restricted(&stored)) {
                    referred.push((to.to_owned(), id.to_owned()));
                }
                continue;
            }
            let of = |name: &str| graph.models().find(|meta| meta.collection == name);
            if let Some(own) = own.filter(|own| was_declared(edge, &own.is)) {
                names.push(in_another_way(id));
                holders.push(own.holder);
                let both = [(from, &stored), (own.from, &own.is)];
                let both = both.into_iter().filter_map(|(from, is)| Some((of(from)?, is)));
                let both: Vec<_> = both.map(|(meta, is)| (meta.collection, sources(is))).collect();
                let is_refused = is_refused(&stored) || is_refused(&own.is);
                let is_left = may_be_left(&stored) && others.add(graph, edge, &stored);
                if is_refused || !is_left {
                    refused_holders.push(own.holder);
                }
                if is_refused {
                    refused.extend(both.iter().cloned());
                }
                read.extend(both);
                continue;
            }
            let is_refused = is_refused(&stored);
            let lacks = own.is_none_or(|own| !lacking(&own.is, &stored).is_empty());
            let held = of(edge.get_str("holder").unwrap_or_default());
            if lacks && may_be_left(&stored) && (held.is_some() || of(from).is_some()) {
                let may_be_written = others.add(graph, edge, &stored);
                // Their pending work is not to be taken for done.
                holders.extend(held.map(|meta| meta.collection));
                refused_holders.extend(held.filter(|_| !may_be_written).map(|meta| meta.collection));
            }
            let Some(meta) = of(from) else {
                continue;
            };
            match own {
                None => {
                    names.extend(named(id, edge, &stored, declaration::copies(&stored)));
                    if is_refused {
                        refused.push((meta.collection, sources(&stored)));
                    }
                    if !is_two_way(&stored) {
                        // This program does not know what its deletion means for those that refer to it.
                        let refers = stored.contains_key("through").then(|| id.to_owned());
                        referred.extend(refers.map(|id| (from.to_owned(), id)));
                    }
                    read.push((meta.collection, sources(&stored)));
                }
                Some(own) => {
                    let lacking = lacking(&own.is, &stored);
                    let pairs = lacking
                        .iter()
                        .map(|(name, source)| (name.as_str(), source.as_str()));
                    if !lacking.is_empty() {
                        names.extend(named(id, edge, &stored, pairs));
                    }
                    for (_, source) in lacking {
                        holders.push(own.holder);
                        if is_refused {
                            refused_holders.push(own.holder);
                            refused.push((meta.collection, vec![source.clone()]));
                        }
                        read.push((meta.collection, vec![source]));
                    }
                }
            }
        }
        let leading_to = |read: Vec<_>, holders: Vec<&'static str>| {
            let read = self.that_lead_to(read).into_iter();
            read.chain(holders).collect()
        };
        Lacks {
            names,
            copied: leading_to(read, holders),
            unknown: UnknownDeclarations {
                copied: leading_to(refused, refused_holders),
                referred,
            },
            others,
        }
    }

    /// These collections, with those from which what is read there follows in these models: fields of them, none for any.
    fn that_lead_to(&self, mut read: Vec<(&'static str, Vec<String>)>) -> Vec<&'static str> {
        let graph = self.graph();
        let mut at = 0;
        while let Some((collection, fields)) = read.get(at).cloned() {
            at += 1;
            let is_read = |name: &str| fields.is_empty() || fields.iter().any(|field| meet(field, name));
            for value in rules::values(graph).filter(|value| value.holder().collection == collection) {
                let from = value.reads(graph, &is_read);
                let next = (value.declaration(graph).from, from);
                if !next.1.is_empty() && !read.contains(&next) {
                    read.push(next);
                }
            }
        }
        read.into_iter().map(|(collection, _)| collection).collect()
    }

    /// The copies and references whose declarations are in the database and that these models lack, in words: those that
    /// [`forget_copies`](Odm::forget_copies) would remove. Nothing is changed.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Cost
    /// One round trip.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// for name in odm.undeclared_copies().await? {
    ///     println!("{name}"); // orders.name from customers.name
    /// }
    /// # Ok(()) }
    /// ```
    pub fn undeclared_copies(&self) -> Action<Vec<String>> {
        let odm = self.clone();
        let names = async move { odm.undeclared().await };
        Action::new("(all)", "undeclared_copies", Box::new(names))
    }

    async fn undeclared(&self) -> Result<Vec<String>> {
        Ok(self.undeclared_of(&StoredDeclarations::all(self).await?))
    }

    fn undeclared_of(&self, known: &StoredDeclarations) -> Vec<String> {
        let own: HashMap<String, Declaration> = rules::declarations(self.graph())
            .map(|edge| (edge.id.clone(), edge))
            .collect();
        let mut names = Vec::new();
        for edge in &known.0 {
            let Ok(id) = edge.get_str("_id") else { continue };
            let stored = edge.get_document("declaration").cloned().unwrap_or_default();
            match own.get(id) {
                Some(own) if was_declared(edge, &own.is) || had_rule(edge, own) => {
                    names.push(in_another_way(id));
                }
                Some(own) if !is_another(&own.is, &stored) => {
                    let lacking = lacking(&own.is, &stored);
                    let pairs = lacking
                        .iter()
                        .map(|(name, source)| (name.as_str(), source.as_str()));
                    if !lacking.is_empty() {
                        names.extend(named(id, edge, &stored, pairs));
                    }
                }
                _ => names.extend(named(id, edge, &stored, declaration::copies(&stored))),
            }
        }
        names
    }

    /// Removes the stored declarations of copies and references that these models lack or declare differently, because no
    /// program declares them any more. Returns their number; [`undeclared_copies`](Odm::undeclared_copies) names them
    /// beforehand.
    ///
    /// Call it only from a program that has all models, and when no program with other declarations runs any more: otherwise a
    /// write of this program leaves the copies of the other one stale, and a deletion leaves its references dangling. This is
    /// also the way back to an older version of a program, whose declarations apply from then on.
    ///
    /// # Cost
    /// Three round trips, and one for each declaration that was stored differently.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let forgotten = odm.forget_copies().await?;
    /// # Ok(()) }
    /// ```
    pub fn forget_copies(&self) -> Action<u64> {
        let odm = self.clone();
        let forgotten = async move { odm.forget_undeclared().await };
        Action::new("(all)", "forget_copies", Box::new(forgotten))
    }

    async fn forget_undeclared(&self) -> Result<u64> {
        let edges = self.stored_edges();
        let declared: Vec<Declaration> = rules::declarations(self.graph()).collect();
        let own: Vec<&str> = declared.iter().map(|edge| edge.id.as_str()).collect();
        let mut forgotten = edges
            .delete_many(doc! { "_id": { "$type": "string", "$nin": own } })
            .await?
            .deleted_count;
        let known = StoredDeclarations::all(self).await?;
        // From now on no other declarations count.
        let earlier = doc! { "$unset": { EARLIER: "", EARLIER_RULES: "" } };
        let have_some = [EARLIER, EARLIER_RULES].map(|name| doc! { name: { "$exists": true } });
        edges
            .update_many(doc! { "$or": have_some.to_vec() }, earlier)
            .await?;
        for edge in &declared {
            let Some(stored) = known.declaration(&edge.id) else {
                continue;
            };
            let is_older = known
                .edge(&edge.id)
                .is_some_and(|known| was_declared(known, &edge.is) || had_rule(known, edge));
            let gone = if is_another(&edge.is, stored) || is_older {
                1
            } else {
                lacking(&edge.is, stored).len()
            };
            if gone > 0 {
                forgotten += gone as u64;
                let mut set = as_stored(edge);
                set.insert("declaration", &edge.is);
                set.extend(edge.rule.map(|rule| (RULE.to_owned(), rule.to_string().into())));
                if *stored != edge.is && !is_more(stored, &edge.is) {
                    set.insert("filled", !edge.fills);
                }
                edges
                    .update_one(
                        doc! { "_id": &edge.id },
                        doc! { "$set": set, "$unset": { "at": "", EARLY: "" } },
                    )
                    .await?;
            }
        }
        self.set_lacking(Vec::new());
        self.set_unknown(UnknownDeclarations::default());
        self.graph().set_others(Others::default());
        Ok(forgotten)
    }
}

/// The name of a declaration that these models have in an older form.
fn in_another_way(id: &str) -> String {
    format!("{id} as it is declared now")
}

/// The parts of a stored declaration that these models lack, in words: each copy with its source, `orders.name from customers.name`.
/// Anything but copies of single fields goes by the name of its declaration.
fn named<'c>(
    id: &str,
    edge: &Document,
    declaration: &Document,
    copies: impl Iterator<Item = (&'c str, &'c str)>,
) -> Vec<String> {
    let from = edge.get_str("from").unwrap_or_default();
    // Those of a subset stand in its items, and are named from there.
    let holder = if declaration.contains_key("copies") {
        edge.get_str("holder").unwrap_or(id)
    } else {
        id
    };
    let names: Vec<String> = copies
        .map(|(name, source)| format!("{holder}.{name} from {from}.{source}"))
        .collect();
    if names.is_empty() {
        vec![id.to_owned()]
    } else {
        names
    }
}

/// The source of the copies of an edge, or nothing for a reference without copies, which no write has to know.
fn as_stored(edge: &Declaration) -> Document {
    let from = (!is_rule(&edge.is)).then_some(edge.from);
    doc! { "from": from, "holder": edge.holder }
}

/// The part of an update that stores the rule of a reference, and remembers the one that it replaces.
fn store_rule(update: &mut Document, (rule, previous): (String, Option<String>)) {
    put(update, "$set", RULE, rule.into());
    if let Some(previous) = previous {
        remember(update, EARLIER_RULES, previous.into());
    }
}

/// The part of an update that adds what was stored to the earlier ones.
fn remember(update: &mut Document, earlier: &str, replaced: Bson) {
    let last = doc! { "$each": [replaced], "$slice": -MOST_EARLIER };
    put(update, "$push", earlier, last.into());
}

/// Whether a reference that has no copies here has some, or another side, by what is stored.
fn is_another(own: &Document, stored: &Document) -> bool {
    is_rule(own) && !is_rule(stored)
}

/// A declared edge beside what the database knows of it.
struct DeclaredHere {
    edge: Declaration,
    /// Whether the database knows it by this declaration.
    is_known: bool,
    /// Whether the documents that were there before have their copies.
    filled: bool,
}

fn not_filled(declared: Vec<DeclaredHere>) -> Vec<String> {
    let open = declared.into_iter().filter(|declared| !declared.filled);
    open.map(|declared| declared.edge.id).collect()
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    matches!(
        &*error.kind,
        mongodb::error::ErrorKind::Write(mongodb::error::WriteFailure::WriteError(error)) if error.code == 11_000
    )
}

/// The two-way references that are declared there and whose other side was not written for all documents yet, or that are
/// declared there as one-way.
pub(crate) fn unlinked(graph: &Graph, known: &StoredDeclarations) -> Vec<EdgeId> {
    let is_open = |declared: &Declaration| {
        let stored = known.declaration(&declared.id);
        stored.is_some_and(|stored| !is_two_way(stored) || !known.is_filled(&declared.id))
    };
    let linked = declared::linked(graph);
    let open = linked.filter(|edge| declared::two_way(graph, edge).is_some_and(|edge| is_open(&edge)));
    open.map(|edge| edge.id).collect()
}

/// The keys that are unique over all shards and whose values all documents have claimed, while no claim is without an owner: a claim that is
/// missing means that no document has them.
fn claimed(graph: &Graph, known: &StoredDeclarations) -> Vec<String> {
    let is_done = |name: &str| known.is_filled(name) && !known.is_early(name);
    let keys = graph.all_global_keys().iter();
    keys.filter(|key| is_done(&key.name()) && is_done(&claims_name(key.holder)))
        .map(GlobalKey::name)
        .collect()
}

/// Those of these names.
fn unlinked_of(graph: &Graph, names: &[String]) -> Vec<EdgeId> {
    let linked = declared::linked(graph);
    let named =
        linked.filter(|edge| declared::two_way(graph, edge).is_some_and(|edge| names.contains(&edge.id)));
    named.map(|edge| edge.id).collect()
}

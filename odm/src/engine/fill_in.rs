//! Fills in what the library has in documents before a write: copies, the fields of children, and the count of link writes.

use crate::model::document::DocumentMeta;
use crate::own_fields::{OPERATION, OWN, PENDING, Token, name_of};
use crate::plan::keep::Filled;
use crate::plan::touches::{Affected, Touches};
use crate::rules::derived::unsupported;
use crate::rules::pending::{all_fields, merged_mark, path_for, record};
use crate::rules::rule::{Inserts, NewDocuments, Replacing, Updating, decoded, encoded};
use crate::store::fields::put;
use crate::store::scope::Scope;
use crate::{Odm, Result, rules};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::sync::atomic::AtomicU64;

/// Fills in copies before a write, in its transaction or not.
#[derive(Clone, Copy)]
pub(crate) struct FillIn<'a> {
    pub(crate) odm: &'a Odm,
    pub(crate) session: Option<&'a crate::store::transaction::Shared>,
    pub(crate) trace: &'a crate::store::trace::Trace,
    /// The inserts of the same operation into other collections.
    pub(crate) beside: &'a [Inserts],
}

impl FillIn<'_> {
    /// Puts collections from which others of them copy before these.
    pub(crate) fn sources_first(self, metas: &mut Vec<&'static DocumentMeta>) {
        let graph = self.odm.graph();
        let mut rest = std::mem::take(metas);
        while !rest.is_empty() {
            let waits = |meta: &DocumentMeta| {
                let copying = graph.outgoing(meta).filter(|edge| !edge.copies.is_empty());
                copying.flat_map(|edge| &edge.targets).any(|target| {
                    target.collection != meta.collection
                        && rest.iter().any(|other| other.collection == target.collection)
                })
            };
            // Those that copy from each other have no order.
            let next = rest.iter().position(|meta| !waits(meta)).unwrap_or(0);
            metas.push(rest.remove(next));
        }
    }

    /// Whether copies may be taken of documents that the same operation inserts: if it fails, nothing of it is left.
    pub(crate) async fn may_copy(self, meta: &DocumentMeta) -> Result<bool> {
        let mut incoming = self.odm.graph().incoming(meta);
        let is_source = incoming.any(|edge| edge.sync().is_some());
        Ok(is_source && (self.session.is_some() || self.odm.has_transactions().await?))
    }

    /// Fills in new documents. Their pending work has this token.
    pub(crate) async fn insert(
        self,
        meta: &'static DocumentMeta,
        documents: &mut [RawDocumentBuf],
        token: &mut Option<Token>,
    ) -> Result<()> {
        let graph = self.odm.graph();
        if documents.is_empty() || !graph.is_depended_on(meta) {
            return Ok(());
        }
        let pending = if self.leaves_work(meta, Affected::by_insert(graph, meta)).await? {
            all_fields()
        } else {
            Document::new()
        };
        let mut new = NewDocuments::new(documents, self.beside, pending);
        self.with(async |scope| {
            for rule in rules::all() {
                rule.fill_new(scope, meta, &mut new).await?;
            }
            Ok(())
        })
        .await?;
        let token = (!new.pending.is_empty()).then(|| *token.get_or_insert_with(Token::new));
        new.filled(token)?.put_into(documents)
    }

    /// Adds to an update what follows from it in the same documents: in one document, if it names one by its id.
    pub(crate) async fn update(
        self,
        meta: &'static DocumentMeta,
        (one, upsert): (Option<&Bson>, bool),
        (update, touches): (&mut Document, &Touches),
        token: &mut Option<Token>,
    ) -> Result<()> {
        let graph = self.odm.graph();
        if !graph.is_depended_on(meta) {
            return Ok(());
        }
        let mut affected = touches.affected;
        if upsert {
            affected = affected.or(Affected::by_insert(graph, meta));
        }
        let leaves_work = self.leaves_work(meta, affected).await?;
        let mut updating = Updating {
            one,
            upsert,
            update,
            touches,
            beside: self.beside,
            pending: Document::new(),
        };
        self.with(async |scope| {
            for rule in rules::all() {
                rule.fill_update(scope, meta, &mut updating).await?;
            }
            Ok(())
        })
        .await?;
        let Updating { update, pending, .. } = updating;
        if leaves_work || !pending.is_empty() {
            let token = *token.get_or_insert_with(Token::new);
            if leaves_work {
                record(update, token);
            } else {
                put(update, "$setOnInsert", OPERATION, token.into());
            }
            for (name, entry) in pending {
                put(update, "$setOnInsert", &path_for(&name), entry);
            }
        }
        Ok(())
    }

    /// The replacement with what the library keeps in the document; `None` where that is nothing.
    pub(crate) async fn replace(
        self,
        meta: &'static DocumentMeta,
        given: &RawDocumentBuf,
        token: &mut Option<Token>,
    ) -> Result<Option<Filled>> {
        let graph = self.odm.graph();
        if !graph.is_depended_on(meta) {
            return Ok(None);
        }
        let affected = Affected::by_replacement(graph, meta);
        let pending = if self.leaves_work(meta, affected).await? {
            all_fields()
        } else {
            Document::new()
        };
        let mut replacing = Replacing {
            given,
            document: Bson::Document(decoded(given)?),
            beside: self.beside,
            computed: Document::new(),
            own: Document::new(),
            pending,
        };
        self.with(async |scope| {
            for rule in rules::all() {
                rule.fill_replacement(scope, meta, &mut replacing).await?;
            }
            Ok(())
        })
        .await?;
        let Replacing {
            document,
            mut computed,
            mut own,
            pending,
            ..
        } = replacing;
        let Bson::Document(mut document) = document else {
            return Ok(None);
        };
        document.remove(OWN);
        let is_whole = computed.is_empty();
        if !pending.is_empty() {
            let token = *token.get_or_insert_with(Token::new);
            own.insert(name_of(PENDING), merged_mark(token, pending));
        }
        computed.insert(OWN, doc! { "$mergeObjects": [format!("${OWN}"), own] });
        Ok(Some(Filled {
            document: encoded(&document)?,
            fields: document,
            computed,
            is_whole,
        }))
    }

    /// Whether work is pending after a write.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for what this deployment can't keep in sync.
    async fn leaves_work(self, meta: &DocumentMeta, affected: Affected) -> Result<bool> {
        let graph = self.odm.graph();
        if !graph.takes_part(meta) {
            return Ok(false);
        }
        let transactions = self.odm.has_transactions().await?;
        if !transactions && let Some(name) = graph.needs_transactions(meta) {
            return Err(unsupported(self.odm, name).await?);
        }
        Ok(affected.leaves_work(transactions))
    }

    async fn with<R>(self, work: impl AsyncFnOnce(&Scope<'_>) -> Result<R>) -> Result<R> {
        let trips = AtomicU64::new(0);
        let scope = Scope::new(self.odm, self.session, &trips);
        let done = work(&scope).await;
        self.trace.more(trips.into_inner());
        done
    }
}

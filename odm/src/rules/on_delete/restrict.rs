//! Whether references with `on_delete = restrict` refuse the deletion of documents.

use crate::graph::is;
use crate::graph::sync::fields_of;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::reference::OnDelete;
use crate::rules::on_delete::{OnDeleteRule, Rules};
use crate::store::batch::document_id as id;
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::{Error, Result};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::HashSet;

/// Number of documents that are read at a time.
const BATCH: usize = 1_000;

/// Number of ids of holders that an error lists.
const SAMPLE: usize = 5;

/// Number of queries for references that run at once.
const AT_ONCE: usize = 8;

/// The look for references to documents of one type that refuse their deletion.
pub(crate) struct Restricting<'l, 'g> {
    pub(crate) cx: Cx<'l>,
    pub(crate) meta: &'static DocumentMeta,
    pub(crate) rules: &'l Rules<'g>,
    /// The conditions of the documents that are deleted together, for the same reason. References among them refuse nothing.
    pub(crate) together: Vec<Document>,
    /// Whether the documents are deleted already.
    pub(crate) after: bool,
}

/// The references that refuse a deletion.
pub(crate) struct RestrictRefusal<'g> {
    rule: OnDeleteRule<'g>,
    /// The documents that hold them, or a few of these.
    found: Vec<RawDocumentBuf>,
    /// The condition of all of these, where there may be more than those that were read.
    others: Option<Document>,
}

impl<'g> Restricting<'_, 'g> {
    /// Fails if references refuse the deletion of one of these documents.
    ///
    /// # Errors
    /// [`Error::StillReferenced`].
    pub(crate) async fn check(&self, documents: &[RawDocumentBuf]) -> Result<()> {
        match self.first(documents).await? {
            Some(refusal) => Err(refusal.error(&self.cx, self.meta, documents).await?),
            None => Ok(()),
        }
    }

    /// The references that refuse the deletion of one of these documents, by the first rule that has some.
    pub(crate) async fn first(&self, documents: &[RawDocumentBuf]) -> Result<Option<RestrictRefusal<'g>>> {
        let cx = self.cx;
        let looks: Vec<_> = self
            .rules
            .restricting(self.after)
            .map(|rule| {
                async move {
                    let own = if self.rules.purges {
                        rule.with_own_key(&cx, self.meta, documents).await?
                    } else {
                        Cow::Borrowed(documents)
                    };
                    let Some(others) = self.others(rule, &own) else {
                        return Ok(None);
                    };
                    let found = cx
                        .few(rule.edge.holder, others.clone(), fields_of([rule.edge]), SAMPLE)
                        .await?;
                    Ok::<_, Error>(Some(RestrictRefusal {
                        rule,
                        found,
                        others: Some(others),
                    }))
                }
                .boxed()
            })
            .collect();
        // The operations of a transaction take turns.
        let at_once = if cx.session.is_some() { 1 } else { AT_ONCE };
        let looks: Vec<Option<RestrictRefusal<'g>>> =
            stream::iter(looks).buffered(at_once).try_collect().await?;
        let mut looks = looks.into_iter().flatten();
        Ok(looks.find(|refusal| !refusal.found.is_empty()))
    }

    /// The ids of all of these documents whose deletion references of this rule refuse, with a few of the references.
    pub(crate) async fn all(
        &self,
        rule: OnDeleteRule<'g>,
        documents: &[RawDocumentBuf],
    ) -> Result<Option<(HashSet<Key>, Option<RestrictRefusal<'g>>)>> {
        let Some(others) = self.others(rule, documents) else {
            return Ok(None);
        };
        let holder = rule.edge.holder;
        let (mut referred, mut sample) = (HashSet::new(), Vec::new());
        let mut last = None;
        loop {
            let fields = Some(fields_of([rule.edge]));
            let batch = self
                .cx
                .next_batch(holder, &others, last.as_ref(), fields, BATCH)
                .await?;
            last = batch.documents.last().map(id);
            for found in &batch.documents {
                let which = rule.referred(found, documents);
                referred.extend(which.map(|document| Key::of_bson(&id(document))));
            }
            let room = SAMPLE.saturating_sub(sample.len());
            sample.extend(batch.documents.into_iter().take(room));
            if !batch.more {
                break;
            }
        }
        let refusal = (!sample.is_empty()).then_some(RestrictRefusal {
            rule,
            found: sample,
            others: Some(others),
        });
        Ok(Some((referred, refusal)))
    }

    /// The condition of the documents that refer to one of these and are not deleted together with them.
    fn others(&self, rule: OnDeleteRule<'_>, documents: &[RawDocumentBuf]) -> Option<Document> {
        let refers = rule.holders(documents)?;
        if let Some(name) = rule.edge.holder.soft_delete.filter(|_| rule.keeps_holders()) {
            // Of a purge. The deleted ones are removed with these.
            return Some(all([refers, doc! { name: null }]));
        }
        if is(rule.edge.holder, self.meta) {
            Some(all([refers, doc! { "$nor": self.together.clone() }]))
        } else {
            Some(refers)
        }
    }
}

impl<'g> RestrictRefusal<'g> {
    /// By all documents that hold references of this rule.
    pub(crate) fn new(rule: OnDeleteRule<'g>, found: Vec<RawDocumentBuf>) -> RestrictRefusal<'g> {
        RestrictRefusal {
            rule,
            found,
            others: None,
        }
    }

    /// The error that names one of the documents that were to be deleted, and the references to it.
    pub(crate) async fn error(
        self,
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
    ) -> Result<Error> {
        let RestrictRefusal { rule, found, others } = self;
        let referred = found
            .iter()
            .find_map(|holder| rule.referred(holder, documents).next());
        let Some(referred) = referred.or(documents.first()) else {
            return Err(Error::Query {
                collection: meta.collection,
                message: "nothing was to be deleted".to_owned(),
            });
        };
        let one = std::slice::from_ref(referred);
        let mut holders: Vec<Bson> = found
            .iter()
            .filter(|holder| rule.referred(holder, one).next().is_some())
            .map(id)
            .collect();
        let are_all = documents.len() == 1 && found.len() < SAMPLE;
        let count = match others.filter(|_| !are_all) {
            Some(others) => {
                let filter = all(rule.holders(one).into_iter().chain([others]));
                cx.count(rule.edge.holder, filter).await?
            }
            None => holders.len() as u64,
        };
        holders.truncate(SAMPLE);
        Ok(Error::StillReferenced {
            collection: meta.collection,
            id: Box::new(id(referred)),
            by: rule.edge.holder.collection,
            field: rule.edge.path.clone(),
            count: count.max(1),
            sample: holders,
        })
    }
}

impl<'g> Rules<'g> {
    /// The rules that refuse a deletion; those with `cascade` refuse a purge. After the deletion those of two-way references are left out: such a reference would have
    /// changed the document itself, which then would not have been deleted.
    pub(crate) fn restricting(&self, after: bool) -> impl Iterator<Item = OnDeleteRule<'g>> + use<'_, 'g> {
        let restricts = move |rule: &OnDeleteRule<'g>| {
            let holds = rule.on_delete() == OnDelete::Restrict || self.purges && rule.keeps_holders();
            holds && !(after && rule.is_two_way())
        };
        self.list.iter().copied().filter(restricts)
    }
}

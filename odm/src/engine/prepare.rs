//! Completes writes before they are sent: what the library has in the documents (copies, computed fields, the mark of pending work),
//! and conditions that compare in another way than their collection.

use super::{Execution, What, Write};
use crate::engine::documents;
use crate::engine::fill_in::FillIn;
use crate::model::document::DocumentMeta;
use crate::own_fields::Token;
use crate::plan::keep::Replacement;
use crate::plan::operation::Pending;
use crate::rules::on_delete;
use crate::rules::pending as marks;
use crate::rules::rule::{Inserts, with_all_pending};
use crate::{Error, Result, bounds};
use futures::future::FutureExt;
use mongodb::bson::RawDocumentBuf;
use std::collections::HashSet;

/// Whether the library has something of its own in documents of this type.
pub(super) fn concerns(execution: Execution<'_>, meta: &DocumentMeta) -> bool {
    execution.odm.graph().is_depended_on(meta)
}

/// Completes the writes. Takes inserts out that break a bound with the values that were filled in, and returns their positions.
pub(super) async fn complete(
    execution: Execution<'_>,
    writes: &mut Vec<Write>,
    pending: &mut Pending,
) -> Result<Vec<(usize, Error)>> {
    let mut metas: Vec<&'static DocumentMeta> = Vec::new();
    writes
        .iter_mut()
        .for_each(|write| write.plan(execution.odm.graph()));
    for write in writes.iter() {
        let known = metas.iter().any(|meta| meta.collection == write.meta.collection);
        if !known && concerns(execution, write.meta) {
            metas.push(write.meta);
        }
    }
    let refused = if metas.is_empty() {
        Vec::new()
    } else {
        fill_in(execution, metas, writes, pending).boxed().await?
    };
    writes.iter_mut().try_for_each(state_replacement)?;
    if !refused.is_empty() {
        let positions: HashSet<usize> = refused.iter().map(|(at, _)| *at).collect();
        writes.retain(|write| !positions.contains(&write.at));
    }
    Ok(refused)
}

/// Completes one write.
///
/// # Errors
/// Where an insert breaks a bound with the values that were filled in.
pub(super) async fn complete_one(
    execution: Execution<'_>,
    write: &mut Write,
    pending: &mut Pending,
) -> Result<()> {
    write.plan(execution.odm.graph());
    if concerns(execution, write.meta) {
        let metas = vec![write.meta];
        let writes = std::slice::from_mut(write);
        let refused = fill_in(execution, metas, writes, pending).boxed().await?;
        if let Some((_, error)) = refused.into_iter().next() {
            return Err(error);
        }
    }
    state_replacement(write)
}

/// Records in a completed write that everything that is derived from its document, and in it, is pending.
pub(super) fn record_all(write: &mut Write, pending: &mut Pending) -> Result<()> {
    let token = *pending.get_or_insert_with(Token::new);
    match &mut write.what {
        What::Insert(document) => *document = with_all_pending(document, token)?,
        What::Update(update) => marks::record(&mut update.built.update, token),
        What::UpdateMany(_) | What::Replace(_) | What::Delete(_) => {}
    }
    Ok(())
}

/// Makes the statement of a replacement in which the library has nothing of its own.
fn state_replacement(write: &mut Write) -> Result<()> {
    if let What::Replace(replace) = &mut write.what
        && replace.made.is_none()
    {
        let document = std::mem::take(&mut replace.document);
        replace.made = Some(Replacement::new(write.meta, document, None, replace.exact)?);
    }
    Ok(())
}

/// Fills in what the library has in documents of these collections. Gives the inserts that break a bound with it.
async fn fill_in(
    execution: Execution<'_>,
    mut metas: Vec<&'static DocumentMeta>,
    writes: &mut [Write],
    pending: &mut Pending,
) -> Result<Vec<(usize, Error)>> {
    let fill_in = FillIn {
        odm: execution.odm,
        session: execution.session,
        trace: execution.trace,
        beside: &[],
    };
    fill_in.sources_first(&mut metas);
    let only_inserts = writes.iter().all(|write| matches!(write.what, What::Insert(_)));
    let copied_by_others = metas.len() > 1 || !only_inserts;
    let mut inserted: Vec<Inserts> = Vec::new();
    let mut refused = Vec::new();
    for meta in metas {
        let before = FillIn {
            beside: &inserted,
            ..fill_in
        };
        let of = |write: &&mut Write| write.meta.collection == meta.collection;
        let (mut places, mut documents) = (Vec::new(), Vec::<RawDocumentBuf>::new());
        for (place, write) in writes.iter_mut().enumerate() {
            let own = of(&write);
            if let (What::Insert(document), true) = (&mut write.what, own) {
                places.push(place);
                documents.push(std::mem::take(document));
            }
        }
        if !documents.is_empty() {
            before.insert(meta, &mut documents, pending).await?;
        }
        let copied = if copied_by_others && !documents.is_empty() && before.may_copy(meta).await? {
            Some((meta, documents.clone()))
        } else {
            None
        };
        for (place, document) in places.into_iter().zip(documents) {
            let Some(write) = writes.get_mut(place) else {
                continue;
            };
            if let Err(error) = bounds::document(meta, &document) {
                refused.push((write.at, error));
            }
            write.what = What::Insert(document);
        }
        inserted.extend(copied);
        // They may copy from what is inserted beside them, of their own collection too.
        let behind = FillIn {
            beside: &inserted,
            ..fill_in
        };
        for write in writes.iter_mut().filter(of) {
            match &mut write.what {
                What::Update(update) => {
                    let one = update.one.as_ref().map(|one| &one.id);
                    behind
                        .update(
                            meta,
                            (one, update.upsert),
                            (&mut update.built.update, &update.touches),
                            pending,
                        )
                        .await?;
                }
                What::UpdateMany(update) => {
                    behind
                        .update(
                            meta,
                            (None, update.upsert),
                            (&mut update.built.update, &update.touches),
                            pending,
                        )
                        .await?;
                }
                What::Replace(replace) => {
                    let filled = behind.replace(meta, &replace.document, pending).await?;
                    let document = std::mem::take(&mut replace.document);
                    replace.changed = filled.is_some();
                    replace.made = Some(Replacement::new(meta, document, filled, replace.exact)?);
                }
                What::Insert(_) | What::Delete(_) => {}
            }
        }
    }
    Ok(refused)
}

/// Replaces a condition that has a collation of its own. Rules compare strings as the collection does, so the stored ids of the documents
/// take its place, for one id and where rules apply. Other conditions keep their collation.
///
/// # Errors
/// [`Error::Query`] where there are too many, where an id matches several, and for an upsert, which can't be named by an id.
pub(super) async fn find_by_collation(execution: Execution<'_>, write: &mut Write) -> Result<()> {
    let meta = write.meta;
    let collation = match &mut write.what {
        What::Update(update) => &mut update.collation,
        What::UpdateMany(update) => &mut update.collation,
        What::Delete(delete) => &mut delete.collation,
        What::Insert(_) | What::Replace(_) => return Ok(()),
    };
    let Some(given) = collation.take() else {
        return Ok(());
    };
    let core = crate::store::core::Core::new(execution.odm, meta, execution.session.cloned());
    let graph = execution.odm.graph();
    match &mut write.what {
        What::Update(update) => {
            if let Some(one) = &update.one {
                let id = documents::id_by_collation(&core, one.id.clone(), given).await?;
                update.rename(meta, id);
            }
        }
        What::UpdateMany(update)
            if graph.is_related(meta) || graph.is_depended_on(meta) || meta.has_hooks() =>
        {
            if update.upsert {
                return Err(Error::Query {
                    collection: meta.collection,
                    message: "an upsert of documents with relationships or hooks uses the collation of their collection: declare it there, \
                              with `#[document(collation(locale = \"…\"))]`"
                        .to_owned(),
                });
            }
            let found = documents::by_collation(&core, std::mem::take(&mut update.condition), given).await?;
            **update = update.found(meta, found)?;
        }
        What::UpdateMany(update) => update.collation = Some(given),
        What::Delete(delete) => match &mut delete.one {
            Some(one) => {
                one.id = documents::id_by_collation(&core, one.id.clone(), given).await?;
                delete.filter = one.filter(meta);
            }
            None if on_delete::has_rules(graph, meta) => {
                let filter = std::mem::take(&mut delete.filter);
                delete.filter = documents::by_collation(&core, filter, given).await?;
            }
            None => delete.collation = Some(given),
        },
        What::Insert(_) | What::Replace(_) => {}
    }
    Ok(())
}

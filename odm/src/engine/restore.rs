//! Restores documents whose deletion has kept them.

use crate::Result;
use crate::engine::delete::kept::{
    ChangeFn, behind, end_restoration, is_deleted, restore_deletion, token_at,
};
use crate::engine::execute;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{DELETION, RESTORING};
use crate::model::reference::OnDelete;
use crate::plan::operation::{Operation, UpdateMany, What};
use crate::rules::exists::{self, AskedTargets};
use crate::rules::on_delete::Rules;
use crate::store::core::Core;
use crate::store::filter::within;
use crate::store::scope::Scope;
use crate::store::trace::Trace;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, doc};
use std::sync::atomic::AtomicU64;

/// Restores a deleted document, with those that its deletion has deleted: whether there was one, and how many others.
///
/// # Errors
/// [`Error::MissingReference`] where it refers, with `cascade` or `restrict`, to a document that is deleted.
pub(crate) async fn restore(core: &Core, trace: &Trace, key: Bson) -> Result<(bool, u64)> {
    let (odm, meta, session) = (core.odm(), core.meta(), core.session());
    odm.know_declarations(trace).await?;
    odm.may_write(meta)?;
    let trips = AtomicU64::new(0);
    let scope = Scope::new(odm, session, &trips);
    let begun = [DELETION, RESTORING].map(|field| doc! { field: { "$exists": true } });
    let place = doc! { "_id": { "$eq": &key }, "$or": begun.to_vec() };
    let place = match odm.scope_with_deleted(meta) {
        Some(own) => within(place, &own),
        None => place,
    };
    let mut fields = Rules::of(odm.graph(), meta).fields;
    fields.extend(doc! { DELETION: 1, RESTORING: 1 });
    fields.extend(meta.soft_delete.map(|name| (name.to_owned(), Bson::Int32(1))));
    let graph = odm.graph();
    let held = |rule: OnDelete| matches!(rule, OnDelete::Cascade | OnDelete::Restrict);
    let edges = || graph.outgoing(meta).filter(|edge| held(edge.reference.on_delete));
    for root in exists::roots(edges()) {
        crate::model::meta::names::read_too(&mut fields, root);
    }
    let found = scope.few(meta, place, fields, 1).await?.pop();
    let Some(document) = found else {
        trace.more(trips.into_inner());
        return Ok((false, 0));
    };
    let mut asked = AskedTargets::default();
    for edge in edges() {
        for (target, of) in edge.targets.iter().enumerate() {
            for key in edge.keys(target, &document) {
                asked.add(of, edge.by(), &key);
            }
        }
    }
    let there = asked.ask(&scope).await?;
    for edge in edges() {
        for (target, of) in edge.targets.iter().enumerate() {
            let mut keys = edge.keys(target, &document);
            let column = (of.collection, edge.by());
            keys.retain(|key| !there.get(&column).is_some_and(|there| there.contains(key)));
            if !keys.is_empty() {
                let ids = keys.iter().map(Key::to_bson).collect();
                return Err(crate::graph::sync::missing(edge, of, ids));
            }
        }
    }
    let Some(token) = token_at(&document, &[DELETION, RESTORING]) else {
        return Ok((false, 0));
    };
    let was_deleted = is_deleted(meta, &document);
    let change: &ChangeFn<'_> = &|meta, condition, update| changed(core, trace, meta, condition, update);
    let restored = async {
        let (restored, others) = restore_deletion(&scope, meta, (&key, token), change).await?;
        end_restoration(behind(odm, session, trace), &scope, meta, (document, token)).await?;
        Ok((restored && was_deleted, others))
    };
    let restored = restored.await;
    trace.more(trips.into_inner());
    if let (Err(error), Some(session)) = (&restored, session) {
        session.spoil(error);
    }
    restored
}

/// Changes documents by an operation of its own, with their hooks.
fn changed<'c>(
    core: &'c Core,
    trace: &'c Trace,
    meta: &'static DocumentMeta,
    condition: Document,
    update: Document,
) -> BoxFuture<'c, Result<u64>> {
    async move {
        let update = UpdateMany::by_library(meta, condition, update)?;
        let operation = Operation::one(meta, What::UpdateMany(Box::new(update)));
        let made = execute((core.odm(), core.session()), trace, operation).await?;
        Ok(made.modified)
    }
    .boxed()
}

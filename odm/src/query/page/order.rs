//! The order of pages and of resumable streams, in which every document has a place of its own.

use super::behind::{KeysetKey, at};
use super::position::value_at;
use crate::model::document::DocumentMeta;
use crate::model::types::holds_text;
use crate::query::untyped::Query;
use crate::store::core::Core;
use crate::store::filter::all;
use crate::{Error, Filter, Order, Result};
use mongodb::bson::{self, Bson, RawDocument, doc};
use mongodb::options::{Collation, CollationAlternate, CollationStrength, FindOptions};

/// Refuses an order by what has several values in one document.
pub(super) fn refuse_several(meta: &'static DocumentMeta, sort: &[Order<()>]) -> Result<()> {
    let shape = (meta.shape)();
    let has_several = |order: &&Order<()>| order.multi || KeysetKey::of(shape, order.name, false).is_array();
    match sort.iter().find(has_several) {
        Some(order) => Err(Error::Query {
            collection: meta.collection,
            message: format!(
                "pages can't be sorted by `{}`, which has several values in one document",
                order.name
            ),
        }),
        None => Ok(()),
    }
}

/// The order of a query with the id behind it, in which every document has a place of its own.
pub(super) fn total_order(query: &Query) -> Result<Vec<KeysetKey>> {
    let meta = query.meta();
    let shape = (meta.shape)();
    let mut keys: Vec<KeysetKey> = query
        .sort
        .iter()
        .map(|o| KeysetKey::of(shape, o.name, o.descending))
        .collect();
    if !keys.iter().any(|key| key.name == "_id") {
        keys.push(KeysetKey::of(
            shape,
            "_id",
            keys.last().is_some_and(|key| key.descending),
        ));
    }
    if query.options.collation.as_ref().is_some_and(takes_ids_for_equal) && holds_text(shape, "_id") {
        return Err(Error::Query {
            collection: meta.collection,
            message: "pages go by the id where two documents are equal, and two ids that differ may be equal by this \
                      collation: use one of strength 3 or more without `numeric_ordering` and `alternate`, or none"
                .to_owned(),
        });
    }
    Ok(keys)
}

/// Reads these with a projection, whether it has them or not. A field within a selected one is there.
pub(super) fn keep_keys(fields: &mut Vec<&'static str>, keys: &[KeysetKey]) {
    for KeysetKey { name, .. } in keys {
        let there = fields
            .iter()
            .any(|f| *name == *f || name.strip_prefix(f).is_some_and(|r| r.starts_with('.')));
        if !there {
            fields.retain(|f| f.strip_prefix(name).is_none_or(|rest| !rest.starts_with('.')));
            fields.push(name);
        }
    }
}

/// The ids of two documents that stand where a page ended, where the collation takes them for equal. It may, even where
/// case counts: some characters have no weight, and some can be written in two ways.
pub(super) async fn twins(
    core: &Core,
    filter: &bson::Document,
    options: &FindOptions,
    keys: &[KeysetKey],
    position: &[Bson],
) -> Result<Option<(Bson, Bson)>> {
    let Some(collation) = options.collation.as_ref().filter(|by| by.locale != "simple") else {
        return Ok(None);
    };
    let id = keys.iter().position(|key| key.name == "_id");
    let Some(known) = id.and_then(|at| position.get(at)) else {
        return Ok(None);
    };
    // One of the two may be the document at which the page ended.
    let at_mark = Filter::raw(all([filter.clone(), at(keys, position)]));
    let mut query = Query::new(core.clone(), at_mark);
    query.options.collation = Some(collation.clone());
    query.options.selection_criteria = options.selection_criteria.clone();
    query.options.projection = Some(doc! { "_id": 1 });
    query.options.limit = Some(2);
    let mut twin = None;
    let mut take = |document: &RawDocument| {
        let other = value_at(document, "_id").filter(|id| id != known);
        twin = twin.take().or(other);
        Ok(())
    };
    query.each("page", &mut take).await?;
    Ok(twin.map(|twin| (known.clone(), twin)))
}

/// Whether strings that differ may be equal by a collation, as `a` and `A` are where case does not count.
pub(super) fn takes_ids_for_equal(collation: &Collation) -> bool {
    let weak = matches!(
        collation.strength,
        Some(CollationStrength::Primary | CollationStrength::Secondary)
    );
    // From the fourth strength on it counts what `shifted` leaves out of the others.
    let shifted = matches!(collation.alternate, Some(CollationAlternate::Shifted))
        && !matches!(
            collation.strength,
            Some(CollationStrength::Quaternary | CollationStrength::Identical)
        );
    collation.locale != "simple" && (weak || shifted || collation.numeric_ordering == Some(true))
}

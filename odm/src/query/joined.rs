//! Conditions on the documents that a field refers to: `find(…).filter_joined(|p| p.author, |u| u.city.eq("Rome"))`.
//!
//! Where the field has copies of all that the condition names, the copies are compared. Otherwise one more query finds the keys of the
//! referenced documents that match.

use crate::graph::edge::{CopyField, Edge};
use crate::graph::indexes::has_index_behind;
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::path::{Path, Step};
use crate::model::reference::{OneTarget, Pointer, Reference};
use crate::query::join::Join;
use crate::query::untyped::{JoinedCondition, Query};
use crate::store::core::Core;
use crate::{Document, Error, Filter, Find, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document as Raw, RawDocument, doc};

/// Maximum number of referenced documents whose keys one condition asks for.
const MOST: usize = 10_000;

/// A condition on the documents that a field refers to.
struct JoinedFilter {
    /// The field, and in a struct with copies the field of it that is the reference.
    path: String,
    /// The field of the other documents whose value is the reference.
    by: &'static str,
    target: &'static DocumentMeta,
    filter: Filter<()>,
}

impl<T: Document, Out, J: Join<T>> Find<T, Out, J> {
    /// Only documents that refer to one that matches: the first closure names the reference, the second the condition on the document
    /// that it refers to. Of an array of references, one of them has to match; a document without a reference matches no condition.
    ///
    /// Where the field has copies (`#[denormalize]`) of all fields that the condition names, the copies are compared, unless they are
    /// snapshots. Otherwise the keys of the referenced documents that match are read before the query: at most 10,000.
    ///
    /// # Errors
    /// Its query is [`Error::Query`] where a condition without copies names no field that an index of the other collection begins with
    /// (behind the fields of the handle's scope), and so would read that collection as a whole; and where more than 10,000 of its documents match. Both say what to declare.
    ///
    /// # Cost
    /// None with copies; else one round trip more, and one for each further batch of keys.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(posts: Collection<Post>, ids: Vec<ObjectId>) -> odm::Result<()> {
    /// let theirs = posts.find_all().filter_joined(|p| p.author, |u| u.id.in_(ids)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn filter_joined<V, P, C>(
        mut self,
        reference: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
        filter: impl FnOnce(
            <<V::Pointer as OneTarget>::Target as Document>::Paths,
        ) -> Filter<<V::Pointer as OneTarget>::Target>,
    ) -> Self
    where
        V: Reference<Pointer: OneTarget<Target: Document>>,
        P: Step,
    {
        let _ = reference(T::paths());
        let path = match V::Pointer::WITHIN {
            Some(within) => format!("{}.{within}", P::PATH),
            None => P::PATH.to_owned(),
        };
        let declared = P::FIELD.and_then(|field| field.reference);
        self.query.joined.push(Box::new(JoinedFilter {
            path,
            by: declared.map_or("_id", |declared| (declared.by)()),
            target: <V::Pointer as OneTarget>::Target::META,
            filter: filter(<V::Pointer as OneTarget>::Target::paths()).untyped(),
        }));
        self
    }
}

impl JoinedCondition for JoinedFilter {
    fn resolve(self: Box<Self>, core: &Core) -> BoxFuture<'_, Result<Filter<()>>> {
        resolve(core, *self)
    }
}

fn resolve(core: &Core, joined: JoinedFilter) -> BoxFuture<'_, Result<Filter<()>>> {
    async move {
        let JoinedFilter {
            path,
            by,
            target,
            filter,
        } = joined;
        let condition = filter.into_document()?;
        let graph = core.odm().graph();
        let edge = graph.outgoing(core.meta()).find(|edge| edge.path == path);
        if let Some(edge) = edge
            && target.soft_delete.is_none()
            && let Some(copied) = on_copies(edge, &condition)
        {
            return Ok(Filter::raw(copied));
        }
        let refused = |message: String| Error::Query {
            collection: core.meta().collection,
            message,
        };
        let is_served = condition
            .iter()
            .any(|(name, value)| is_found(core, target, name, value));
        if !is_served {
            let named = first_field(&condition).unwrap_or("a field");
            return Err(refused(format!(
                "a condition on the `{0}` in `{path}` would read all documents of `{1}`: no index finds them by `{named}`. Declare one with \
                 `#[index]` in `{0}`, or a copy beside the reference, `#[denormalize(from = …)]`, and an index on the copy",
                target.name, target.collection
            )));
        }
        let mut keys: Vec<Bson> = Vec::new();
        let mut found = Query::new(
            Core::new(core.odm(), target, core.session().cloned()),
            Filter::raw(condition),
        );
        found.options.projection = Some(doc! { by: 1 });
        found.options.limit = Some(MOST as i64 + 1);
        let mut take = |document: &RawDocument| {
            let key = document.get(by).ok().flatten();
            keys.extend(key.and_then(|key| Bson::try_from(key).ok()));
            Ok(())
        };
        found.each("filter_joined", &mut take).await?;
        if keys.len() > MOST {
            return Err(refused(format!(
                "more than {MOST} documents of `{}` match the condition on `{path}`: add a condition, or declare a copy of the field beside the \
                 reference, `#[denormalize(from = …)]`, which is compared in its place",
                target.collection
            )));
        }
        Ok(Filter::raw(doc! { path: { "$in": keys } }))
    }
    .boxed()
}

/// Whether an index of the collection finds documents by a part of a condition that holds of all of them.
fn is_found(core: &Core, target: &'static DocumentMeta, name: &str, value: &Bson) -> bool {
    match (name, value) {
        ("$and", Bson::Array(parts)) => parts.iter().filter_map(Bson::as_document).any(|part| {
            part.iter()
                .any(|(name, value)| is_found(core, target, name, value))
        }),
        // Each of them is looked for by itself.
        ("$or", Bson::Array(parts)) => parts.iter().all(|part| {
            part.as_document().is_some_and(|part| {
                part.iter()
                    .any(|(name, value)| is_found(core, target, name, value))
            })
        }),
        (name, value) => {
            let finds = |operator: &str| {
                let finding = ["$eq", "$in", "$gt", "$gte", "$lt", "$lte", "$elemMatch"];
                finding.contains(&operator) || operator == "$regex" || operator == "$all"
            };
            let is_positive = match value {
                Bson::Document(operators) => operators.keys().any(|operator| finds(operator)),
                _ => true,
            };
            // The scope of the handle adds these to the condition.
            let scope: Vec<&str> = core
                .odm()
                .scopes()
                .of_collection(target)
                .map(|(name, _)| name.as_str())
                .collect();
            !name.starts_with('$')
                && is_positive
                && has_index_behind(target, core.odm().graph(), &scope, name)
        }
    }
}

/// The first field that a condition names.
fn first_field(condition: &Raw) -> Option<&str> {
    condition.iter().find_map(|(name, value)| match value {
        Bson::Array(parts) if name.starts_with('$') => {
            parts.iter().filter_map(Bson::as_document).find_map(first_field)
        }
        _ => (!name.starts_with('$')).then_some(name.as_str()),
    })
}

/// The same condition on the copies beside a reference, where all fields that it names are copied there.
fn on_copies(edge: &Edge, condition: &Raw) -> Option<Raw> {
    // Within an array, the copies of one item are those of one document.
    let (array, prefix) = match edge.array() {
        None if edge.list => return None,
        None => (None, edge.path.rsplit_once('.').map_or("", |(prefix, _)| prefix)),
        Some(_) if edge.is_entry() => (edge.path.rsplit_once('.').map(|(array, _)| array), ""),
        Some(_) => return None,
    };
    let beside = |name: &str| match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}.{name}"),
    };
    let renamed = rename(condition, &|field| {
        let copy = edge.copies.iter().find(|copy| is_of(copy, field))?;
        let below = field.get(copy.source.len()..)?;
        Some(format!("{}{below}", beside(copy.name)))
    })?;
    let all = doc! { beside(edge.name()): { "$ne": Bson::Null }, "$and": [renamed] };
    Some(match array {
        Some(array) => doc! { array: { "$elemMatch": all } },
        None => all,
    })
}

/// Whether a copy has the value of a field, and follows it.
fn is_of(copy: &CopyField, field: &str) -> bool {
    let below = field.strip_prefix(copy.source);
    copy.consistency != Consistency::Snapshot
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A condition with other names of its fields; `None` where one of them has none.
fn rename(condition: &Raw, name_of: &dyn Fn(&str) -> Option<String>) -> Option<Raw> {
    condition
        .iter()
        .map(|(name, value)| match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(parts)) => {
                let parts = parts
                    .iter()
                    .map(|part| Some(rename(part.as_document()?, name_of)?.into()));
                Some((name.clone(), Bson::Array(parts.collect::<Option<Vec<_>>>()?)))
            }
            (name, value) if !name.starts_with('$') => Some((name_of(name)?, value.clone())),
            _ => None,
        })
        .collect()
}

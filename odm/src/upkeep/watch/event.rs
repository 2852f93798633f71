//! A change event as an application sees it: its documents in their type, and nothing of the library's own fields.

use crate::model::document::DocumentMeta;
use crate::model::meta::names::{meet, plain_name};
use crate::model::own_fields::is_own_path;
use crate::model::path::{Path, Plain, Step};
use crate::model::stored::Stored;
use crate::store::decode;
use crate::upkeep::watch::source::Event;
use crate::{Document, Error, Result};
use mongodb::bson::{Bson, RawDocumentBuf};
use mongodb::change_stream::event::{OperationType, UpdateDescription};
use std::marker::PhantomData;

/// A change of a collection, as [`Collection::watch`](crate::Collection::watch) gives it. Variants and fields may be added, so a
/// `match` ends with a branch for the others, and a pattern with `..`.
///
/// The server reads `after` of an update when it sends the event, so it may be newer than the change, and is `None` where the
/// document was deleted since. With
/// [`#[document(pre_and_post_images)]`](derive@crate::Document), on MongoDB 6.0 and later, it is the document as the change left
/// it, and `None` only where the server has no image of it.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::watch::ChangeEvent;
///
/// fn show(event: ChangeEvent<Person>) {
///     match event {
///         ChangeEvent::Inserted { after, .. } => println!("{} is new", after.name),
///         ChangeEvent::Updated { id, fields, .. } if fields.contains(|p| p.email) => println!("{id} has another address"),
///         ChangeEvent::Deleted { id, .. } => println!("{id} is gone"),
///         _ => {}
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ChangeEvent<T: Document> {
    /// A document was inserted.
    #[non_exhaustive]
    Inserted {
        /// Its id.
        id: T::Id,
        /// The document.
        after: T,
    },
    /// Fields of a document were changed.
    #[non_exhaustive]
    Updated {
        /// Its id.
        id: T::Id,
        /// The document before the change, with [`pre_images`](super::Watch::pre_images), where the server has it.
        before: Option<T>,
        /// The document after the change, or a newer one.
        after: Option<T>,
        /// The fields that were set or removed.
        fields: ChangedFields<T>,
    },
    /// A document was replaced by another one with its id.
    #[non_exhaustive]
    Replaced {
        /// Their id.
        id: T::Id,
        /// The document before the change, with [`pre_images`](super::Watch::pre_images), where the server has it.
        before: Option<T>,
        /// The new document.
        after: T,
    },
    /// A document was deleted. On a sharded cluster, a document whose shard key is changed may move: it is deleted on one shard and
    /// inserted on another, in a transaction. Such a deletion is not shown while the document is there;
    /// [`Inserted`](ChangeEvent::Inserted) shows it as it is now.
    #[non_exhaustive]
    Deleted {
        /// Its id.
        id: T::Id,
        /// The document, with [`pre_images`](super::Watch::pre_images), where the server has it.
        before: Option<T>,
    },
    /// The collection was dropped. A stream of the collection ends, behind [`Invalidated`](ChangeEvent::Invalidated).
    Dropped,
    /// A collection was renamed: the watched one, or another one to its name. A stream of the collection ends, behind
    /// [`Invalidated`](ChangeEvent::Invalidated).
    #[non_exhaustive]
    Renamed {
        /// The previous name.
        from: String,
        /// The new name.
        to: String,
    },
    /// The last event of a stream whose collection was dropped or renamed, or whose database was dropped. A stream that starts
    /// at a position stored behind it has the changes of a collection that was created since.
    Invalidated,
}

/// The fields that an update has changed: `fields` of [`ChangeEvent::Updated`]. The library's own fields are not among them.
pub struct ChangedFields<T> {
    names: Vec<String>,
    of: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for ChangedFields<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.names).finish()
    }
}

impl<T: Document> ChangedFields<T> {
    /// The stored names, with the positions of items of arrays: `items.3.qty`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(fields: odm::watch::ChangedFields<Person>) {
    /// println!("changed: {}", fields.names().join(", "));
    /// # }
    /// ```
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether this field was changed, something within it, or a field that it is within.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(fields: odm::watch::ChangedFields<Person>) {
    /// if fields.contains(|p| p.addresses) {
    ///     println!("this person has moved");
    /// }
    /// # }
    /// ```
    pub fn contains<V, P: Step, C>(&self, field: impl FnOnce(T::Paths) -> Path<T, V, P, C>) -> bool {
        let field = field(T::paths()).name();
        self.names.iter().any(|name| meet(&plain_name(name), field))
    }
}

/// A change of one of the registered collections, as [`Odm::watch`](crate::Odm::watch) gives it: [`of`](AnyChange::of) decodes
/// it.
pub struct AnyChange {
    /// The document whose collection it is of; `None` where it is of the whole database.
    meta: Option<&'static DocumentMeta>,
    event: Event,
}

impl std::fmt::Debug for AnyChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyChange")
            .field("collection", &self.collection())
            .field("operation", &self.event.operation_type)
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}

impl AnyChange {
    /// A change, if it is one that applications see: neither the library's bookkeeping nor a change of a collection that is none
    /// of these.
    pub(super) fn shown(metas: &[&'static DocumentMeta], event: Event) -> Option<AnyChange> {
        let name = |ns: &Option<mongodb::change_stream::event::ChangeNamespace>| {
            let name = ns.as_ref()?.coll.as_deref()?;
            metas.iter().find(|meta| meta.collection == name).copied()
        };
        let meta = name(&event.ns).or_else(|| name(&event.to));
        let is_shown = match (&event.operation_type, meta) {
            (OperationType::Invalidate, _) => true,
            (OperationType::Update, Some(_)) => event
                .update_description
                .as_ref()
                .is_none_or(|update| changed(update).next().is_some()),
            (
                OperationType::Insert
                | OperationType::Replace
                | OperationType::Delete
                | OperationType::Drop
                | OperationType::Rename,
                Some(_),
            ) => true,
            _ => false,
        };
        is_shown.then_some(AnyChange { meta, event })
    }

    /// The name of the collection; `None` of the event that ends the stream, since the database was dropped.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(change: odm::watch::AnyChange) {
    /// println!("a change of {}", change.collection().unwrap_or("the database"));
    /// # }
    /// ```
    pub fn collection(&self) -> Option<&'static str> {
        self.meta.map(|meta| meta.collection)
    }

    /// The id of the document that was inserted, changed or deleted, as it is stored.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(change: odm::watch::AnyChange) {
    /// println!("{:?}", change.id());
    /// # }
    /// ```
    pub fn id(&self) -> Option<&Bson> {
        self.event.document_key.as_ref()?.get("_id")
    }

    /// The change as one of the collection of `T`: `None` where it is of another collection. The event that ends the stream is
    /// [`ChangeEvent::Invalidated`] of each. Of a variant of an enum of documents, `None` where the event has no document, so that
    /// it does not say of which variant it was.
    ///
    /// # Errors
    /// [`Error::Decode`] where a document of the event can't be decoded as `T`.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # fn example(change: odm::watch::AnyChange) -> odm::Result<()> {
    /// if let Some(change) = change.of::<Person>()? {
    ///     println!("a person: {change:?}");
    /// } else if let Some(change) = change.of::<Account>()? {
    ///     println!("an account: {change:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn of<T: Document>(&self) -> Result<Option<ChangeEvent<T>>> {
        let event = &self.event;
        if event.operation_type == OperationType::Invalidate {
            return Ok(Some(ChangeEvent::Invalidated));
        }
        let Some(meta) = self.meta.filter(|meta| meta.collection == T::META.collection) else {
            return Ok(None);
        };
        if let Some((tag, name)) = T::META.variant() {
            let documents = [&event.full_document, &event.full_document_before_change];
            let mut names = documents
                .into_iter()
                .flatten()
                .map(|document| document.get_str(tag));
            if !names.any(|stored| stored.is_ok_and(|stored| stored == name)) {
                return Ok(None);
            }
        }
        let before = || optional(meta, event.full_document_before_change.as_ref());
        let after = || optional(meta, event.full_document.as_ref());
        let lacking = || Error::Query {
            collection: meta.collection,
            message: "the server sent a change event without the document".to_owned(),
        };
        Ok(Some(match &event.operation_type {
            OperationType::Insert => ChangeEvent::Inserted {
                id: self.id_as(meta)?,
                after: after()?.ok_or_else(lacking)?,
            },
            OperationType::Update => ChangeEvent::Updated {
                id: self.id_as(meta)?,
                before: before()?,
                after: after()?,
                fields: ChangedFields {
                    names: event.update_description.as_ref().map(names).unwrap_or_default(),
                    of: PhantomData,
                },
            },
            OperationType::Replace => ChangeEvent::Replaced {
                id: self.id_as(meta)?,
                before: before()?,
                after: after()?.ok_or_else(lacking)?,
            },
            OperationType::Delete => ChangeEvent::Deleted {
                id: self.id_as(meta)?,
                before: before()?,
            },
            OperationType::Rename => {
                let name = |ns: &Option<mongodb::change_stream::event::ChangeNamespace>| {
                    let name = ns.as_ref().and_then(|ns| ns.coll.clone());
                    name.unwrap_or_default()
                };
                ChangeEvent::Renamed {
                    from: name(&event.ns),
                    to: name(&event.to),
                }
            }
            _ => ChangeEvent::Dropped,
        }))
    }

    fn id_as<I: Stored>(&self, meta: &'static DocumentMeta) -> Result<I> {
        decode::value::<I, Plain>(meta, "_id", self.id().cloned().unwrap_or(Bson::Null))
    }
}

fn optional<T: Document>(
    meta: &'static DocumentMeta,
    document: Option<&RawDocumentBuf>,
) -> Result<Option<T>> {
    document
        .map(|document| decode::decode(meta, document))
        .transpose()
}

fn names(update: &UpdateDescription) -> Vec<String> {
    let mut names: Vec<String> = changed(update).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The names of the fields that an update has changed, without the library's own.
fn changed(update: &UpdateDescription) -> impl Iterator<Item = &String> {
    let truncated = update.truncated_arrays.iter().flatten().map(|array| &array.field);
    let names = update.updated_fields.keys().chain(&update.removed_fields);
    names.chain(truncated).filter(|name| !is_own_path(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;
    use mongodb::bson::{deserialize_from_document, doc, oid::ObjectId};

    const PEOPLE: &DocumentMeta = <Person as Document>::META;

    fn event(operation: &str, more: mongodb::bson::Document) -> Event {
        let mut event = doc! {
            "_id": { "_data": "82" },
            "operationType": operation,
            "ns": { "db": "app", "coll": "people" },
            "documentKey": { "_id": ObjectId::new() },
        };
        event.extend(more);
        deserialize_from_document(event).unwrap()
    }

    fn update(set: mongodb::bson::Document, removed: &[&str]) -> Event {
        let update = doc! { "updatedFields": set, "removedFields": removed.to_vec(), "truncatedArrays": [] };
        event("update", doc! { "updateDescription": update })
    }

    #[test]
    fn an_update_of_the_librarys_fields_alone_is_not_shown() {
        for (set, removed) in [
            (doc! { "_odm.revision": 1_i64 }, vec![]),
            (
                doc! { "_odm": { "pending": 1 }, "boss._copied.name": 3_i64 },
                vec!["_copied"],
            ),
            (doc! {}, vec!["_odm.pending"]),
        ] {
            assert!(AnyChange::shown(&[PEOPLE], update(set, &removed)).is_none());
        }
        let both = doc! { "name": "Ada", "addresses.3.city": "Bern", "_odm.version": 2_i64 };
        let change = AnyChange::shown(&[PEOPLE], update(both, &["home", "_copied"])).unwrap();
        match change.of::<Person>().unwrap() {
            Some(ChangeEvent::Updated { fields, .. }) => {
                assert_eq!(fields.names(), ["addresses.3.city", "home", "name"]);
                assert!(fields.contains(|p| p.addresses.city));
                assert!(fields.contains(|p| p.addresses));
                assert!(fields.contains(|p| p.home.street));
                assert!(!fields.contains(|p| p.addresses.street));
                assert!(!fields.contains(|p| p.boss));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn changes_of_other_collections_are_not_shown() {
        let other = doc! { "ns": { "db": "app", "coll": "_odm_state" } };
        assert!(AnyChange::shown(&[PEOPLE], event("delete", other)).is_none());
        let database = doc! { "ns": { "db": "app" } };
        assert!(AnyChange::shown(&[PEOPLE], event("dropDatabase", database)).is_none());
        let renamed = doc! { "ns": { "db": "app", "coll": "x" }, "to": { "db": "app", "coll": "people" } };
        let change = AnyChange::shown(&[PEOPLE], event("rename", renamed)).unwrap();
        assert!(matches!(
            change.of::<Person>().unwrap(),
            Some(ChangeEvent::Renamed { from, to, .. }) if from == "x" && to == "people"
        ));
    }

    #[test]
    fn a_document_that_does_not_decode_is_named_by_its_id() {
        let wrong = doc! { "fullDocument": { "_id": 7, "name": 1 }, "documentKey": { "_id": 7 } };
        let change = AnyChange::shown(&[PEOPLE], event("insert", wrong)).unwrap();
        let error = change.of::<Person>().unwrap_err();
        assert!(
            matches!(&error, Error::Decode { collection, .. } if collection == "people"),
            "{error}"
        );
        let bare = AnyChange::shown(&[PEOPLE], event("insert", doc! {})).unwrap();
        assert!(matches!(bare.of::<Person>(), Err(Error::Query { .. })));
    }
}

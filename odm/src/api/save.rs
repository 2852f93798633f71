//! Writes that find out whether their document is there: an insert that gives the document with its unique key, and a save by the id.

use crate::api::by_key::collation_of;
use crate::api::documents::{Stored, insert, replace};
use crate::api::encoded::{encode, encoded, is_cut};
use crate::engine::{self, DocumentById, has_same_id, stored_elsewhere};
use crate::model::document::{Fresh, WholeDocument};
use crate::model::encode::id;
use crate::model::path::HasKey;
use crate::plan::operators::never_changed;
use crate::plan::upsert::{UniqueKey, value_at};
use crate::query::filter::unique::KeyFields;
use crate::store::core::{Core, act};
use crate::store::decode;
use crate::store::options::configured;
use crate::store::transaction::REPEATS;
use crate::{Collection, Document, Error, Insert, Insertable, Replaceable, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocument, RawDocumentBuf, doc};
use std::future::IntoFuture;

/// A document that is stored now, and whether this operation has inserted it.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// let saved: odm::write::Saved<Person> = people.insert(new).or_get_by(|p| p.email).await?;
/// if saved.inserted {
///     println!("welcome, {}", saved.document.name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Saved<T> {
    /// The document as it is stored.
    pub document: T,
    /// Whether it was inserted. Of any number of clients that do the same at the same time, one reads `true`.
    pub inserted: bool,
}

impl<T: Document> Insert<T> {
    /// Inserts the document, or gives the one that is there with this unique key, and says which: one document for any number of
    /// clients.
    ///
    /// The document is looked for first. Where it is inserted by another client in between, the server refuses the insert, and
    /// it is looked for again, five times at most; a transaction is run again as a whole.
    ///
    /// # Errors
    /// Those of an insert. [`Error::Query`] where these fields are not those of a unique index, or one of them is `null`.
    /// [`Error::DuplicateKey`] for another unique key.
    ///
    /// # Cost
    /// One round trip where it is there, one more for the insert.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
    /// let kate = people.insert(new).or_get_by(|p| p.email).await?;
    /// println!("{} {}", kate.document.name, if kate.inserted { "is new" } else { "was there" });
    /// # Ok(()) }
    /// ```
    pub fn or_get_by<K: KeyFields<T>>(self, key: impl FnOnce(T::Paths) -> K) -> InsertOrGet<T>
    where
        T: HasKey<K::Parts>,
    {
        let Insert { core, document } = self;
        InsertOrGet {
            core,
            document,
            names: key(T::paths()).names(),
        }
    }
}

/// An insert, or the document that is there with its unique key: [`Insert::or_get_by`].
///
/// # Cost
/// One round trip where it is there; one more, and those of [`Insert`], where it is inserted.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, new: NewPerson) -> odm::Result<()> {
/// let kate = people.insert(new).or_get_by(|p| p.email).await?.document;
/// # Ok(()) }
/// ```
#[must_use = "an insert does nothing until it is awaited"]
#[derive(Debug)]
pub struct InsertOrGet<T: Document> {
    core: Core,
    document: Fresh<T>,
    names: Vec<&'static str>,
}

configured!(WriteOptions for
    core of [T: Document] InsertOrGet<T>;
    core of [T: Document] Save<T>;
);

impl<T: Document> IntoFuture for InsertOrGet<T> {
    type Output = Result<Saved<T>>;
    type IntoFuture = BoxFuture<'static, Result<Saved<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(async move {
            let InsertOrGet {
                core,
                document,
                names,
            } = self;
            let (document, raw) = encoded(document)?;
            Ok(match insert_or_get(core, raw, names).await? {
                FoundDocument::Inserted(stored) => Saved {
                    document: stored.read(document)?,
                    inserted: true,
                },
                FoundDocument::There(found) => Saved {
                    document: decode::decode(T::META, &found)?,
                    inserted: false,
                },
            })
        }))
    }
}

enum FoundDocument {
    There(RawDocumentBuf),
    Inserted(Stored),
}

fn insert_or_get(
    core: Core,
    mut raw: RawDocumentBuf,
    names: Vec<&'static str>,
) -> BoxFuture<'static, Result<FoundDocument>> {
    async move {
        core.odm().put_scope(core.meta(), &mut raw)?;
        let (key, filter) = key_of(&core, &raw, &names)?;
        let mut attempt = 0;
        loop {
            if let Some(found) = find(&core, &key, &filter).await? {
                return Ok(FoundDocument::There(found));
            }
            match insert(core.clone(), raw.clone()).await {
                Ok(stored) => return Ok(FoundDocument::Inserted(stored)),
                Err(error) if key.is_taken(&error) && attempt < REPEATS => {
                    attempt += 1;
                    // The refusal has ended the transaction: all of it is run again.
                    if let Some(session) = core.session() {
                        session.raced();
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    .boxed()
}

/// The unique key of these fields, and the condition that demands it.
///
/// # Errors
/// [`Error::Query`] where they are not the fields of a unique index that holds the document, or one of them has no value.
fn key_of(
    core: &Core,
    document: &RawDocument,
    names: &[&'static str],
) -> Result<(UniqueKey, bson::Document)> {
    let meta = core.meta();
    let refused = |message: String| Error::Query {
        collection: meta.collection,
        message,
    };
    let mut filter = bson::Document::new();
    for name in names {
        let value = value_at(document, name)
            .map(crate::model::encode::owned)
            .transpose()
            .map_err(|source| Error::Encode {
                field: (*name).to_owned(),
                source: Box::new(source),
            })?;
        let Some(value) = value.filter(|value| *value != Bson::Null) else {
            return Err(refused(format!(
                "`or_get_by` finds a document by `{name}`, which is `null` in the one to insert: give it a value, or use `insert`"
            )));
        };
        filter.insert(*name, demanding(value));
    }
    UniqueKey::for_insert(core.odm().graph(), meta, document, filter, names)
}

/// The condition that a field has this value. The server looks for most values as they are; into a document it would look for operators.
fn demanding(value: Bson) -> Bson {
    match value {
        Bson::Document(_) | Bson::Array(_) | Bson::RegularExpression(_) => doc! { "$eq": value }.into(),
        value => value,
    }
}

async fn find(core: &Core, key: &UniqueKey, filter: &bson::Document) -> Result<Option<RawDocumentBuf>> {
    let collation = key.collation.map(collation_of).transpose()?;
    // A deleted document has left its key to others.
    let filter = core
        .odm()
        .existing_in_scope(core.meta(), filter.clone(), collation.is_some())?;
    let mut options = core.on_primary();
    options.collation = collation;
    let trace = core.trace("insert_or_get");
    let found = async {
        let found = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
        let found = found.map_err(|error| core.error(error))?;
        trace.done(1, found.is_some().into());
        Ok(found)
    };
    trace.run(found).await
}

impl<T: Document> Collection<T> {
    /// Stores this document: replaces the one with its id, or inserts it where there is none.
    ///
    /// A document of a type with `#[document(version)]` replaces the version that it was read as. It is inserted only with the
    /// version 0, and has 1 then: what was deleted meanwhile is not inserted again.
    ///
    /// # Errors
    /// Those of [`replace`](Collection::replace) and [`insert`](Collection::insert). [`Error::Conflict`] where another client
    /// changed or deleted a document with a version. On a sharded cluster an `_id` is unique within a shard: a document with the version
    /// 0, or without one, is inserted beside one of another shard.
    ///
    /// # Cost
    /// That of [`replace`](Collection::replace); where there is none, that of [`insert`](Collection::insert) besides.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// let saved = people.save(kate).await?;
    /// println!("{}: {}", saved.document.id, if saved.inserted { "inserted" } else { "replaced" });
    /// # Ok(()) }
    /// ```
    pub fn save(&self, document: impl WholeDocument<T>) -> Save<T>
    where
        T: Replaceable + Insertable<T>,
    {
        Save {
            core: self.core().clone(),
            document: document.into_document(),
        }
    }
}

/// A document that is inserted or replaced: [`Collection::save`].
///
/// # Cost
/// Those of [`Replace`](crate::write::Replace); where there is no such document, those of [`Insert`] besides.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// let kate = people.save(kate).await?.document;
/// # Ok(()) }
/// ```
#[must_use = "a save does nothing until it is awaited"]
#[derive(Debug)]
pub struct Save<T: Document> {
    core: Core,
    document: T,
}

impl<T: Replaceable + Insertable<T>> IntoFuture for Save<T> {
    type Output = Result<Saved<T>>;
    type IntoFuture = BoxFuture<'static, Result<Saved<T>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(Box::new(async move {
            let Save { core, mut document } = self;
            never_changed(T::META)?;
            let (seen, now) = (document.version(), crate::now());
            document.touch(now);
            if let Some(seen) = seen {
                document.set_version(seen.saturating_add(1));
            }
            let one = DocumentById::new(id(document.id())?, seen);
            let replacing = encode(&document)?;
            if let Some(stored) = replace_stored(core.clone(), one.clone(), replacing.clone()).await? {
                let document = match stored {
                    Some(stored) => stored.read(None)?,
                    None if const { is_cut::<T>() } => decode::decode(T::META, &replacing)?,
                    None => document,
                };
                return Ok(Saved {
                    document,
                    inserted: false,
                });
            }
            let (given, new) = encoded(document.fresh(now))?;
            let (stored, inserted) = insert_or_replace(core, one, replacing, new).await?;
            let document = stored.read(given.filter(|_| inserted))?;
            Ok(Saved { document, inserted })
        }))
    }
}

/// Replaces the document where it is there: as it is stored then, if that is not the given one. `None`: it is not there.
async fn replace_stored(
    core: Core,
    one: DocumentById,
    document: RawDocumentBuf,
) -> Result<Option<Option<Stored>>> {
    let mut of = engine::ReplaceWrite::new(one, document, false);
    of.precedes_insert = of.one.expected_version.is_none_or(|seen| seen == 0);
    match replace(core, of).await {
        Ok(stored) => Ok(Some(stored)),
        Err(Error::NotFound { deleted: false, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Inserts a document that was not there, or replaces it where another client has inserted it meanwhile.
fn insert_or_replace(
    core: Core,
    one: DocumentById,
    replacing: RawDocumentBuf,
    new: RawDocumentBuf,
) -> BoxFuture<'static, Result<(Stored, bool)>> {
    async move {
        if let Some(seen) = one.expected_version.filter(|seen| *seen != 0) {
            return Err(Error::Conflict {
                collection: core.meta().collection,
                id: Box::new(one.id),
                seen,
                found: None,
            });
        }
        let mut attempt = 0;
        loop {
            match insert(core.clone(), new.clone()).await {
                Ok(stored) => return Ok((stored, true)),
                Err(error) if has_same_id(&error) && attempt < REPEATS => {
                    let trace = core.trace("save");
                    let cx = core.cx(&trace).outside();
                    let moved = stored_elsewhere(cx, core.meta(), &one, &replacing);
                    if let Some(refused) = trace.run(moved).await? {
                        return Err(refused);
                    }
                    attempt += 1;
                    // The refusal has ended the transaction: all of it is run again.
                    if let Some(session) = core.session() {
                        session.raced();
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            if let Some(stored) = replace_stored(core.clone(), one.clone(), replacing.clone()).await? {
                return Ok((stored.unwrap_or_else(|| Stored::of(&core, replacing)), false));
            }
        }
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document::CollationMeta;
    use mongodb::options::CollationStrength;

    #[test]
    fn each_declared_collation_is_one_of_the_drivers() {
        let strengths = [
            CollationStrength::Primary,
            CollationStrength::Secondary,
            CollationStrength::Tertiary,
            CollationStrength::Quaternary,
            CollationStrength::Identical,
        ];
        for (strength, expected) in (1..).zip(strengths) {
            let declared = CollationMeta {
                locale: "en",
                strength,
                numeric_ordering: true,
            };
            let made = collation_of(declared).expect("a collation");
            assert_eq!(format!("{:?}", made.strength), format!("{:?}", Some(expected)));
            assert_eq!((made.locale.as_str(), made.numeric_ordering), ("en", Some(true)));
        }
    }
}

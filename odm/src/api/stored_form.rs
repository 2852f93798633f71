//! Documents outside of collections: as they are stored, and as serde reads them.

use crate::model::encode::{self, stored_document};
use crate::model::stored::{self, Fault, Fields, Read, Reader, Row, Stored};
use crate::store::decode::{decode_given, short_name};
use crate::{Error, Result};
use mongodb::bson::{self, Bson, RawDocumentBuf};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::type_name;

/// A document, an embedded struct or a projection as it is stored.
///
/// # Errors
/// [`Error::Encode`] where BSON can't hold a value. Bounds are not checked.
///
/// # Example
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document)]
/// #[document(collection = "tags")]
/// struct Tag {
///     id: i32,
///     name: String,
/// }
///
/// let tag = Tag { id: 7, name: "new".to_owned() };
/// assert_eq!(odm::to_document(&tag)?, odm::bson::doc! { "_id": 7, "name": "new" });
/// # Ok::<(), odm::Error>(())
/// ```
pub fn to_document<T: Fields>(document: &T) -> Result<bson::Document> {
    let name = short_name(type_name::<T>());
    let raw = stored_document(name, document)?;
    raw.try_into().map_err(|source| Error::Encode {
        field: name.to_owned(),
        source: Box::new(source),
    })
}

/// A value as a field stores it: for conditions and updates of the driver's own.
///
/// # Errors
/// [`Error::Encode`] where BSON can't hold it.
///
/// # Example
/// ```
/// use odm::prelude::*;
/// use std::time::Duration;
///
/// #[derive(Embed)]
/// struct Pause(Duration);
///
/// assert_eq!(odm::to_bson(&Pause(Duration::from_secs(2)))?, odm::bson::Bson::Int64(2_000));
/// # Ok::<(), odm::Error>(())
/// ```
pub fn to_bson<T: Stored>(value: &T) -> Result<Bson> {
    encode::stored(value).map_err(|source| Error::Encode {
        field: short_name(type_name::<T>()).to_owned(),
        source: Box::new(source),
    })
}

/// The value that is stored so: a document, an embedded struct, a projection, the result of a pipeline.
///
/// # Errors
/// [`Error::Decode`] where it does not fit; its collection is `(none)`.
///
/// # Example
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document)]
/// #[document(collection = "tags")]
/// struct Tag {
///     id: i32,
///     name: String,
/// }
///
/// let tag: Tag = odm::from_document(&odm::bson::doc! { "_id": 7, "name": "new" })?;
/// assert_eq!((tag.id, tag.name.as_str()), (7, "new"));
/// # Ok::<(), odm::Error>(())
/// ```
pub fn from_document<T: Row>(document: &bson::Document) -> Result<T> {
    let raw = RawDocumentBuf::try_from(document).map_err(|source| Error::Encode {
        field: short_name(type_name::<T>()).to_owned(),
        source: Box::new(source),
    })?;
    decode_given(&raw)
}

/// A type that serde reads, as the result of a pipeline.
///
/// ```no_run
/// # use samples::model::*;
/// #[derive(serde::Deserialize)]
/// struct Count {
///     people: i64,
/// }
///
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let counted: Vec<odm::Serde<Count>> = people.aggregate().group(|p| p.age, |g| g.count("people")).all().await?;
/// println!("{}", counted[0].0.people);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Serde<T>(pub T);

impl<T: DeserializeOwned + 'static> Row for Serde<T> {
    fn read_row(fields: &mut Reader<'_>) -> Read<Serde<T>> {
        let raw = RawDocumentBuf::read_row(fields)?;
        match bson::deserialize_from_slice(raw.as_bytes()) {
            Ok(read) => Ok(Serde(read)),
            Err(error) => Err(Fault::other(match &error.message {
                Some(message) => message.clone(),
                None => error.kind.to_string(),
            })),
        }
    }
}

/// A document as it is stored, for functions that use serde: a typed collection of the driver, the functions of `bson`.
///
/// serde's form of a document is that of JSON, and need not be the one that is stored. This type writes and reads the stored one,
/// in formats of `bson` alone.
///
/// ```
/// use odm::{AsStored, bson, prelude::*};
///
/// #[derive(Document)]
/// #[document(collection = "tags")]
/// struct Tag {
///     id: i32,
///     name: String,
/// }
///
/// let tag = Tag { id: 7, name: "new".to_owned() };
/// let stored = bson::serialize_to_document(&AsStored(tag))?;
/// assert_eq!(stored, bson::doc! { "_id": 7, "name": "new" });
/// let AsStored(read): AsStored<Tag> = bson::deserialize_from_document(stored)?;
/// assert_eq!(read.name, "new");
/// # Ok::<(), bson::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AsStored<T>(pub T);

impl<T: Fields> Serialize for AsStored<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = stored_document(short_name(type_name::<T>()), &self.0);
        raw.map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de, T: Row> Deserialize<'de> for AsStored<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawDocumentBuf::deserialize(deserializer)?;
        stored::read(raw.as_bytes())
            .map(AsStored)
            .map_err(D::Error::custom)
    }
}

/// A type of the driver's collection: a document without a type, [`AsStored<T>`] for a model, [`Serde<T>`] for a type of serde's.
///
/// ```
/// # use samples::model::*;
/// fn is_taken<D: odm::types::DriverDocument>() {}
/// is_taken::<odm::bson::Document>();
/// is_taken::<odm::AsStored<Person>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "the driver would store a `{Self}` as serde writes it, which need not be what is stored",
    label = "not a type of the driver's collection",
    note = "a model as it is stored: `driver::<odm::AsStored<{Self}>>()`",
    note = "documents without a type: `driver::<odm::bson::Document>()`; a type that is serde's alone: `driver::<odm::Serde<{Self}>>()`"
)]
pub trait DriverDocument: Send + Sync {}
impl DriverDocument for bson::Document {}
impl DriverDocument for RawDocumentBuf {}
impl DriverDocument for Bson {}
impl<T: Send + Sync> DriverDocument for AsStored<T> {}
impl<T: Send + Sync> DriverDocument for Serde<T> {}

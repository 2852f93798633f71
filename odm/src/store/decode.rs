//! Decodes a stored document as its struct; an error names exactly the field that can't be decoded.

use crate::model::document::DocumentMeta;
use crate::model::encode::StoredValue;
use crate::model::path::Decoder;
use crate::model::stored::{self, Fault, Read, Row, Stored};
use crate::store::twice;
use crate::{Error, Result};
use mongodb::bson::{Bson, RawDocument};
use std::any::type_name;

/// The document as a `T`, which its type itself or a part of it is.
pub(crate) fn decode<T: Row>(meta: &DocumentMeta, doc: &RawDocument) -> Result<T> {
    twice::read::<T>(meta, doc);
    match stored::read(doc.as_bytes()) {
        Ok(document) => Ok(document),
        Err(fault) => Err(not_read(meta.collection, doc, type_name::<T>(), &fault)),
    }
}

/// Whether the document can be decoded as a `T`.
///
/// # Errors
/// [`Error::Decode`] where it can't.
pub fn decodes<T: crate::Document>(doc: &RawDocument) -> Result<()> {
    decode::<T>(T::META, doc).map(drop)
}

/// The same of a document that comes from no collection.
pub(crate) fn decode_given<T: Row>(doc: &RawDocument) -> Result<T> {
    match stored::read(doc.as_bytes()) {
        Ok(document) => Ok(document),
        Err(fault) => Err(not_read("(none)", doc, type_name::<T>(), &fault)),
    }
}

#[cold]
fn not_read(collection: &str, doc: &RawDocument, ty: &'static str, fault: &Fault) -> Error {
    Error::Decode {
        collection: collection.to_owned(),
        id: id(doc).map(Box::new),
        ty: short_name(ty),
        path: fault.path(),
        message: fault.message(),
    }
}

/// A value of the field at this path.
pub(crate) fn value<V, C: Decoder<V>>(meta: &DocumentMeta, path: &str, value: Bson) -> Result<V> {
    let read = alone(value).and_then(|value| value.read(C::read));
    read.map_err(|fault| Error::Decode {
        collection: meta.collection.to_owned(),
        id: None,
        ty: short_name(type_name::<V>()),
        path: path.to_owned(),
        message: fault.message(),
    })
}

/// A value that stands alone.
pub(crate) fn single_value<T: Stored>(value: Bson) -> Read<T> {
    alone(value)?.read(T::read)
}

fn alone(value: Bson) -> Read<StoredValue> {
    StoredValue::of_bson(value).map_err(|error| Fault::other(error.to_string()))
}

fn id(doc: &RawDocument) -> Option<Bson> {
    Bson::try_from(doc.get("_id").ok()??).ok()
}

/// A type's name without modules and parameters.
pub(crate) fn short_name(full: &'static str) -> &'static str {
    let base = full.split('<').next().unwrap_or(full);
    base.rsplit("::")
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(full)
}

/// The error for a document that the codec or BSON refuses.
pub(crate) fn not_encoded(meta: &DocumentMeta, source: mongodb::bson::error::Error) -> Error {
    Error::Encode {
        field: meta.name.to_owned(),
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::{Address, Person};
    use mongodb::bson::{Document, RawDocumentBuf, doc, oid::ObjectId};

    const PEOPLE: &DocumentMeta = <Person as crate::Document>::META;

    fn failure<T: Row + std::fmt::Debug>(document: &Document) -> Error {
        let raw = RawDocumentBuf::try_from(document).expect("encodes");
        decode::<T>(PEOPLE, &raw).expect_err("does not fit")
    }

    #[test]
    fn an_error_names_the_document_its_type_and_the_field() {
        let id = ObjectId::new();
        let address = |city: Bson| doc! { "street": "a", "city": city };
        let kate = doc! { "_id": id, "name": "Kate", "addresses": [address("b".into()), address(1.into())] };
        let Error::Decode {
            collection,
            id: found,
            ty,
            path,
            message,
        } = failure::<Person>(&kate)
        else {
            panic!("not a decode error")
        };
        assert_eq!(
            (collection.as_str(), found.as_deref()),
            ("people", Some(&Bson::ObjectId(id)))
        );
        assert_eq!((ty, path.as_str()), ("Person", "addresses.1.city"));
        assert_eq!(message, "expected string, found int");
    }

    #[test]
    fn the_message_is_one_sentence() {
        assert_eq!(
            failure::<Address>(&doc! { "_id": 7, "street": "a" }).to_string(),
            "people: the document with _id 7 can't be decoded as `Address`: `city`: missing field `city`"
        );
    }

    #[test]
    fn types_are_named_without_modules() {
        assert_eq!(short_name("odm::decode::Person"), "Person");
        assert_eq!(short_name("a::Page<b::Person>"), "Page");
        assert_eq!(short_name("u8"), "u8");
    }
}

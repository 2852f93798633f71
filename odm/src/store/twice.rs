//! The test of `model/stored` by the whole test suite: what is written and read goes through serde and through the codec, and a difference
//! ends the test.
//!
//! It is compiled with the feature `__oracle`, which the package of the tests switches on, and with debug assertions: a measurement,
//! which has none, is not slowed down. A feature and no `--cfg`, since flags of the compiler would build all dependencies again.

#[cfg(not(all(feature = "__oracle", debug_assertions)))]
pub(crate) use off::{know, partial, read, written};
#[cfg(all(feature = "__oracle", debug_assertions))]
pub(crate) use on::{know, partial, read, written};

#[cfg(all(feature = "__oracle", debug_assertions))]
mod on {
    use crate::model::document::DocumentMeta;
    use crate::model::normalize;
    use crate::model::stored::{self, Fields, Out, Row};
    use crate::store::decode;
    use crate::{Document, Error};
    use mongodb::bson::{self, Bson, RawDocument, RawDocumentBuf};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use std::any::type_name;
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    type Compare = fn(&DocumentMeta, &RawDocument);

    /// The types that both ways can read, by their names: what is read is known to be read by serde alone.
    static KNOWN: Mutex<Option<HashMap<&'static str, Compare>>> = Mutex::new(None);

    /// From now on, documents that are read as a `T` are read twice.
    pub(crate) fn know<T: Fields + Row + DeserializeOwned>() {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(HashMap::new);
        known.entry(type_name::<T>()).or_insert(compare::<T>);
    }

    /// Reads a document in both ways, if its type is known.
    pub(crate) fn read<T>(meta: &DocumentMeta, document: &RawDocument) {
        let compare = {
            let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .as_ref()
                .and_then(|known| known.get(type_name::<T>()).copied())
        };
        if let Some(compare) = compare {
            compare(meta, document);
        }
    }

    /// Types of which the codec reads documents that serde does not, since serde reads a part of them from a buffer.
    const READ_BY_THE_CODEC_ALONE: &[&str] = &["values::stored::Strict"];

    /// How often documents are read again whose fields have defaults that may differ, such as the time.
    const TRIES: u32 = 5;

    fn compare<T: Fields + Row + DeserializeOwned>(meta: &DocumentMeta, document: &RawDocument) {
        let is_same = || {
            let theirs = decode::by_serde::<T>(meta, document).map(|read| bytes(&read));
            let ours = stored::read::<T>(document.as_bytes()).map(|read| bytes(&read));
            matches!((ours, theirs), (Ok(ours), Ok(theirs)) if is_same(&ours, &theirs))
        };
        if !(0..TRIES).any(|_| is_same()) {
            refuse::<T>(meta, document);
        }
    }

    /// Says what differs, unless both refuse the document.
    fn refuse<T: Fields + Row + DeserializeOwned>(meta: &DocumentMeta, document: &RawDocument) {
        let theirs = decode::by_serde::<T>(meta, document);
        let ours = stored::read::<T>(document.as_bytes());
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let (ours, theirs) = (bytes(&ours), bytes(&theirs));
                assert!(
                    is_same(&ours, &theirs),
                    "{} is read differently of {document:?}: {} and by serde {}",
                    type_name::<T>(),
                    shown(&ours),
                    shown(&theirs),
                );
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) if READ_BY_THE_CODEC_ALONE.contains(&type_name::<T>()) => {}
            (Ok(_), Err(theirs)) => {
                panic!(
                    "{} is read of {document:?}, and by serde not: {theirs}",
                    type_name::<T>()
                )
            }
            (Err(ours), Ok(_)) => {
                panic!(
                    "{} is not read of {document:?}, and by serde it is: {ours}",
                    type_name::<T>()
                )
            }
        }
    }

    fn bytes<T: Fields>(value: &T) -> Result<Vec<u8>, String> {
        let mut out = Out::new(Vec::new());
        match stored::write(value, &mut out) {
            Ok(()) => Ok(out.into_bytes()),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// Whether both are the same but for the order of sets and maps, which two values need not have in common.
    fn is_same(ours: &Result<Vec<u8>, String>, theirs: &Result<Vec<u8>, String>) -> bool {
        ours == theirs
            || match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => sorted_bytes(ours) == sorted_bytes(theirs),
                _ => false,
            }
    }

    fn sorted_bytes(bytes: &[u8]) -> Option<String> {
        let document: bson::Document = bson::deserialize_from_slice(bytes).ok()?;
        Some(sorted(&Bson::Document(document)))
    }

    fn sorted(value: &Bson) -> String {
        let mut parts: Vec<String> = match value {
            Bson::Array(items) => items.iter().map(sorted).collect(),
            Bson::Document(document) => document
                .iter()
                .map(|(key, value)| format!("{key}: {}", sorted(value)))
                .collect(),
            other => return format!("{other:?}"),
        };
        parts.sort();
        format!("({})", parts.join(", "))
    }

    fn shown(bytes: &Result<Vec<u8>, String>) -> String {
        match bytes {
            Ok(bytes) => format!("{:?}", RawDocumentBuf::from_bytes(bytes.clone())),
            Err(error) => error.clone(),
        }
    }

    /// Compares what the codec has written with what serde writes, and the bounds that it has compared meanwhile with the walk.
    pub(crate) fn written<T: Document>(document: &T, ours: Result<(&[u8], bool), &Error>) {
        know::<T>();
        let theirs = by_serde::<T>(document);
        same_bytes::<T>(ours.map(|(ours, _)| ours), &theirs);
        if let (Ok((_, may_be_broken)), Ok(theirs)) = (ours, &theirs) {
            let violations = crate::bounds::violations(T::META.whole(), theirs);
            assert!(
                may_be_broken || violations.is_empty(),
                "{} breaks bounds that are not noticed while it is written: {violations:?}",
                type_name::<T>()
            );
        }
    }

    /// The same of a document without what is derived from others.
    pub(crate) fn partial<T: Document>(fields: &impl Serialize, ours: Result<&RawDocument, &Error>) {
        know::<T>();
        same_bytes::<T>(ours.map(RawDocument::as_bytes), &by_serde::<T>(fields));
    }

    /// What serde writes, with its strings normalized.
    fn by_serde<T: Document>(fields: &impl Serialize) -> bson::error::Result<RawDocumentBuf> {
        let raw = bson::serialize_to_raw_document_buf(fields)?;
        Ok(normalize::document(T::META.whole(), &raw)?.unwrap_or(raw))
    }

    fn same_bytes<T>(ours: Result<&[u8], &Error>, theirs: &bson::error::Result<RawDocumentBuf>) {
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => assert!(
                ours == theirs.as_bytes(),
                "{} is written as {:?}, and by serde as {theirs:?}",
                type_name::<T>(),
                RawDocument::from_bytes(ours),
            ),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(theirs)) => {
                panic!("{} is written, and by serde not: {theirs}", type_name::<T>())
            }
            (Err(ours), Ok(_)) => panic!("{} is not written, and by serde it is: {ours}", type_name::<T>()),
        }
    }
}

#[cfg(not(all(feature = "__oracle", debug_assertions)))]
mod off {
    use crate::model::document::DocumentMeta;
    use crate::{Document, Error};
    use mongodb::bson::RawDocument;

    #[inline(always)]
    pub(crate) fn know<T>() {}

    #[inline(always)]
    pub(crate) fn read<T>(_: &DocumentMeta, _: &RawDocument) {}

    #[inline(always)]
    pub(crate) fn written<T: Document>(_: &T, _: Result<(&[u8], bool), &Error>) {}

    #[inline(always)]
    pub(crate) fn partial<T: Document>(_: &impl Sized, _: Result<&RawDocument, &Error>) {}
}

#[cfg(all(test, feature = "__oracle", debug_assertions))]
mod tests {
    use super::*;
    use crate::Document;
    use crate::expansion_fixture::{Address, Person};
    use crate::model::document::DocumentMeta;
    use crate::model::stored::{Done, Fields, Out, Read, Reader, Row};
    use mongodb::bson::oid::ObjectId;
    use mongodb::bson::{RawDocumentBuf, doc, serialize_to_vec};
    use std::panic::catch_unwind;

    const META: &DocumentMeta = <Person as Document>::META;

    fn person() -> Person {
        Person {
            id: ObjectId::new(),
            name: "Kate".to_owned(),
            addresses: Vec::new(),
            home: None,
            boss: None,
        }
    }

    /// An address that is read with another street than serde reads.
    #[derive(serde::Deserialize)]
    struct Other(Address);

    impl Fields for Other {
        fn write_fields(&self, out: &mut Out) -> Done {
            self.0.write_fields(out)
        }
    }

    impl Row for Other {
        fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
            let mut address = Address::read_row(fields)?;
            address.street.push('!');
            Ok(Other(address))
        }
    }

    #[test]
    fn what_is_written_alike_passes_and_the_rest_is_noticed() {
        let kate = person();
        let bytes = serialize_to_vec(&kate).expect("encodes");
        written(&kate, Ok((&bytes, false)));
        let other = serialize_to_vec(&person()).expect("encodes");
        assert!(catch_unwind(|| written(&kate, Ok((&other, false)))).is_err());
    }

    #[test]
    fn what_is_read_alike_passes_and_the_rest_is_noticed() {
        let raw = RawDocumentBuf::try_from(&doc! { "street": "a", "city": "b" }).expect("encodes");
        read::<Other>(META, &raw); // of which nothing is known
        know::<Address>();
        read::<Address>(META, &raw);
        know::<Other>();
        assert!(catch_unwind(|| read::<Other>(META, &raw)).is_err());
    }
}

//! The test of `model/stored` by the whole test suite: what is written and read goes through serde and through the codec, and a difference
//! ends the test.
//!
//! It is compiled with the feature `__oracle`, which the package of the tests switches on, and with debug assertions: a measurement,
//! which has none, is not slowed down. A feature and no `--cfg`, since flags of the compiler would build all dependencies again.

#[cfg(not(all(feature = "__oracle", debug_assertions)))]
pub(crate) use off::{read, written};
#[cfg(all(feature = "__oracle", debug_assertions))]
pub(crate) use on::{read, written};

#[cfg(all(feature = "__oracle", debug_assertions))]
mod on {
    use crate::model::document::DocumentMeta;
    use crate::model::level::StructLevel;
    use crate::model::own_fields::{COPIED, is_own};
    use crate::model::shape::Shape;
    use crate::model::stored::{self, Oracle, Read, Row};
    use crate::model::{normalize, visit};
    use crate::{Document, Error};
    use mongodb::bson::{self, Bson, Document as Bsons, RawDocument, RawDocumentBuf};
    use std::any::type_name;

    /// Types of which the codec reads documents that serde does not, since serde reads a part of them from a buffer.
    const READ_BY_THE_CODEC_ALONE: &[&str] = &["values::stored::Strict"];

    /// How often documents are read again whose fields have defaults that may differ, such as the time.
    const TRIES: u32 = 5;

    /// Reads a document in both ways, if serde reads its type.
    pub(crate) fn read<T: Row>(meta: &DocumentMeta, document: &RawDocument) {
        let Some(oracle) = T::ORACLE else { return };
        let is_same = || {
            let theirs = by_serde(&oracle, meta, document).map(|read| (oracle.bytes)(&read));
            let ours = stored::read::<T>(document.as_bytes()).map(|read| (oracle.bytes)(&read));
            matches!((ours, theirs), (Ok(ours), Ok(theirs)) if is_same(&ours, &theirs))
        };
        if !(0..TRIES).any(|_| is_same()) {
            refuse(&oracle, meta, document);
        }
    }

    /// Says what differs, unless both refuse the document.
    fn refuse<T: Row>(oracle: &Oracle<T>, meta: &DocumentMeta, document: &RawDocument) {
        let ty = type_name::<T>();
        let theirs = by_serde(oracle, meta, document);
        let ours = stored::read::<T>(document.as_bytes());
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let (ours, theirs) = ((oracle.bytes)(&ours), (oracle.bytes)(&theirs));
                assert!(
                    is_same(&ours, &theirs),
                    "{ty} is read differently of {document:?}: {} and by serde {}",
                    shown(&ours),
                    shown(&theirs),
                );
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) if READ_BY_THE_CODEC_ALONE.contains(&ty) => {}
            (Ok(_), Err(theirs)) => panic!("{ty} is read of {document:?}, and by serde not: {theirs}"),
            (Err(ours), Ok(_)) => panic!("{ty} is not read of {document:?}, and by serde it is: {ours}"),
        }
    }

    /// What serde reads: without the library's own fields where a field shows others, and with integers where JavaScript has stored whole
    /// doubles.
    fn by_serde<T>(
        oracle: &Oracle<T>,
        meta: &DocumentMeta,
        document: &RawDocument,
    ) -> bson::error::Result<T> {
        let without_own = Some(meta)
            .filter(|meta| (meta.extra)())
            .and_then(|meta| without_own(meta, document));
        let document = without_own.as_deref().unwrap_or(document);
        (oracle.read)(document).or_else(|error| match with_integers(meta.whole(), document) {
            Some(document) => (oracle.read)(&document),
            None => Err(error),
        })
    }

    /// The document with integers in the place of doubles that are whole numbers, where its type declares integers. `None` where it
    /// has none.
    fn with_integers(shape: Shape, doc: &RawDocument) -> Option<RawDocumentBuf> {
        let mut found = false;
        let mut document = Bson::Document(Bsons::try_from(doc).ok()?);
        visit::values(shape, &mut document, &mut |shape, value| {
            if let (Shape::Int { .. } | Shape::Long { .. }, Bson::Double(n)) = (shape, &*value)
                && let Some(n) = crate::model::key::integer(*n)
            {
                *value = n.into();
                found = true;
            }
        });
        match document {
            Bson::Document(document) if found => RawDocumentBuf::try_from(&document).ok(),
            _ => None,
        }
    }

    /// The document as the struct shows it that has a field for what it does not declare: without the library's own fields. `None`
    /// where none is there.
    fn without_own(meta: &DocumentMeta, doc: &RawDocument) -> Option<RawDocumentBuf> {
        let document = Bsons::try_from(doc).ok()?;
        let before = document.len();
        let document: Bsons = document.into_iter().filter(|(name, _)| !is_own(name)).collect();
        let mut removed = document.len() != before;
        let mut document = Bson::Document(document);
        visit::values(meta.whole(), &mut document, &mut |shape, value| {
            if let (Shape::Struct(of), Bson::Document(document)) = (shape, value)
                && StructLevel::of(of.fields).has_extra
            {
                removed |= document.remove(COPIED).is_some();
            }
        });
        match document {
            Bson::Document(document) if removed => RawDocumentBuf::try_from(&document).ok(),
            _ => None,
        }
    }

    /// Whether both are the same but for the order of sets and maps, which two values need not have in common.
    fn is_same(ours: &Read<Vec<u8>>, theirs: &Read<Vec<u8>>) -> bool {
        ours == theirs
            || match (ours, theirs) {
                (Ok(ours), Ok(theirs)) => sorted_bytes(ours) == sorted_bytes(theirs),
                _ => false,
            }
    }

    fn sorted_bytes(bytes: &[u8]) -> Option<String> {
        let document: Bsons = bson::deserialize_from_slice(bytes).ok()?;
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

    fn shown(bytes: &Read<Vec<u8>>) -> String {
        match bytes {
            Ok(bytes) => format!("{:?}", RawDocumentBuf::from_bytes(bytes.clone())),
            Err(fault) => fault.to_string(),
        }
    }

    /// Compares what the codec has written with what serde writes, and the bounds that it has compared meanwhile with the walk.
    pub(crate) fn written<T: Document>(document: &T, ours: &[u8], written: &Result<bool, Error>) {
        let Some(oracle) = T::ORACLE else { return };
        let ty = type_name::<T>();
        let theirs = (oracle.write)(document).and_then(|raw| {
            let normalized = normalize::document(T::META.whole(), &raw)?;
            Ok(normalized.unwrap_or(raw))
        });
        match (written, theirs) {
            (Ok(may_be_broken), Ok(theirs)) => {
                assert!(
                    ours == theirs.as_bytes(),
                    "{ty} is written as {:?}, and by serde as {theirs:?}",
                    RawDocument::from_bytes(ours),
                );
                let violations = crate::bounds::violations(T::META.whole(), &theirs);
                assert!(
                    *may_be_broken || violations.is_empty(),
                    "{ty} breaks bounds that are not noticed while it is written: {violations:?}",
                );
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(theirs)) => panic!("{ty} is written, and by serde not: {theirs}"),
            (Err(ours), Ok(_)) => panic!("{ty} is not written, and by serde it is: {ours}"),
        }
    }
}

#[cfg(not(all(feature = "__oracle", debug_assertions)))]
mod off {
    use crate::model::document::DocumentMeta;
    use crate::{Document, Error};
    use mongodb::bson::RawDocument;

    #[inline(always)]
    pub(crate) fn read<T>(_: &DocumentMeta, _: &RawDocument) {}

    #[inline(always)]
    pub(crate) fn written<T: Document>(_: &T, _: &[u8], _: &Result<bool, Error>) {}
}

#[cfg(test)]
#[cfg(all(feature = "__oracle", debug_assertions))]
mod tests {
    use super::*;
    use crate::Document;
    use crate::expansion_fixture::{Address, Person};
    use crate::model::document::DocumentMeta;
    use crate::model::stored::{ByType, Done, Fields, Oracle, Out, Read, Reader, Row};
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
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Other(Address);

    impl Fields for Other {
        fn write_fields(&self, out: &mut Out) -> Done {
            self.0.write_fields(out)
        }
    }

    impl Row for Other {
        const ORACLE: Option<Oracle<Other>> = ByType::<Other>::ORACLE;

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
        written(&kate, &bytes, &Ok(false));
        let other = serialize_to_vec(&person()).expect("encodes");
        assert!(catch_unwind(|| written(&kate, &other, &Ok(false))).is_err());
    }

    #[test]
    fn what_is_read_alike_passes_and_the_rest_is_noticed() {
        let raw = RawDocumentBuf::try_from(&doc! { "street": "a", "city": "b" }).expect("encodes");
        read::<Address>(META, &raw);
        assert!(catch_unwind(|| read::<Other>(META, &raw)).is_err());
    }
}

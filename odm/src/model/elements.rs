//! The bytes of BSON, where the driver's own reader would say more than is asked: it reads the name of each item of an array as
//! text, and each value as what it is.

use mongodb::bson::RawBsonRef;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::ElementType;

/// The elements of a document or of an array, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a>(&'a [u8]);

/// A value: its bytes are those behind its name, with the length that some begin with.
#[derive(Clone, Copy)]
pub(crate) struct ElementValue<'a> {
    pub(crate) kind: ElementType,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Those of a whole document; `None` where its bytes are none.
    pub(crate) fn of(doc: &'a [u8]) -> Option<Self> {
        let (_, rest) = doc.split_first_chunk::<4>()?;
        let (end, elements) = rest.split_last()?;
        (length(doc)? == doc.len() && *end == 0).then_some(Elements(elements))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    // Returned through memory, a value's kind would be written as a byte and read as a word, with what is behind it: a stall
    // that takes longer than all else that is done with the value. So these are inlined.

    /// The next value with the bytes of its name; `None` at the end, and where it is not one of the kinds that are read here.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(&'a [u8], ElementValue<'a>)> {
        let (kind, rest) = self.0.split_first()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (name, rest) = rest.split_at_checked(end)?;
        let value = self.value(*kind, rest.get(1..)?)?;
        Some((name, value))
    }

    /// The next value, if it is of a kind that most ids are, and what stands behind it.
    #[inline(always)]
    pub(crate) fn plain(mut self) -> Option<(RawBsonRef<'a>, Self)> {
        let (_, value) = self.next()?;
        Some((value.plain()?, self))
    }

    /// The next value, if `strip` finds its name at the beginning of these bytes and gives those behind it.
    #[inline(always)]
    pub(crate) fn named(
        &mut self,
        strip: impl FnOnce(&'a [u8]) -> Option<&'a [u8]>,
    ) -> Option<Option<ElementValue<'a>>> {
        let (kind, rest) = self.0.split_first()?;
        Some(self.value(*kind, strip(rest)?))
    }

    #[inline(always)]
    fn value(&mut self, kind: u8, rest: &'a [u8]) -> Option<ElementValue<'a>> {
        let kind = ElementType::from(kind)?;
        let len = match kind {
            ElementType::Null => 0,
            ElementType::Boolean => 1,
            ElementType::Int32 => 4,
            ElementType::Int64 | ElementType::Double | ElementType::DateTime | ElementType::Timestamp => 8,
            ElementType::ObjectId => 12,
            ElementType::Decimal128 => 16,
            ElementType::String => length(rest)?.checked_add(4)?,
            ElementType::Binary => length(rest)?.checked_add(5)?,
            ElementType::EmbeddedDocument | ElementType::Array => length(rest)?,
            _ => return None,
        };
        let (bytes, rest) = rest.split_at_checked(len)?;
        // The checks of the driver's own reader.
        let whole = match kind {
            ElementType::String | ElementType::EmbeddedDocument | ElementType::Array => {
                len >= 5 && bytes.last() == Some(&0)
            }
            _ => true,
        };
        if !whole {
            return None;
        }
        self.0 = rest;
        Some(ElementValue { kind, bytes })
    }
}

/// The length that stands before a string, binary data, a document or an array.
#[inline]
fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

impl<'a> ElementValue<'a> {
    #[inline(always)]
    fn plain(self) -> Option<RawBsonRef<'a>> {
        Some(match self.kind {
            ElementType::ObjectId => RawBsonRef::ObjectId(ObjectId::from_bytes(*self.bytes.first_chunk()?)),
            ElementType::Int32 => RawBsonRef::Int32(i32::from_le_bytes(*self.bytes.first_chunk()?)),
            ElementType::Int64 => RawBsonRef::Int64(i64::from_le_bytes(*self.bytes.first_chunk()?)),
            ElementType::String => {
                let text = self.bytes.get(4..self.bytes.len().checked_sub(1)?)?;
                RawBsonRef::String(std::str::from_utf8(text).ok()?)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{Bson, RawDocument, RawDocumentBuf, doc};
    use proptest::prelude::*;

    /// All of them that are read here, as the driver reads them.
    fn all(bytes: &[u8]) -> Option<Vec<(String, Option<Bson>)>> {
        let mut elements = Elements::of(bytes)?;
        let mut all = Vec::new();
        while let Some((name, value)) = elements.next() {
            let plain = value.plain().and_then(|value| Bson::try_from(value).ok());
            all.push((String::from_utf8_lossy(name).into_owned(), plain));
        }
        Some(all)
    }

    #[test]
    fn plain_values_are_those_of_the_driver() {
        let document = doc! {
            "id": ObjectId::new(), "int": i32::MIN, "long": i64::MAX, "text": "a\0ä", "": "", "half": 0.5, "none": null,
            "array": [1], "bytes": mongodb::bson::Binary { subtype: 2.into(), bytes: vec![1] },
        };
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        let plain = |value: &Bson| match value {
            Bson::ObjectId(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::String(_) => Some(value.clone()),
            _ => None,
        };
        let expected: Vec<_> = document
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect();
        assert_eq!(all(raw.as_bytes()).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..64), whole in any::<bool>()) {
            let mut bytes = bytes;
            if whole && bytes.len() >= 5 {
                let length = (bytes.len() as i32).to_le_bytes();
                bytes[..4].copy_from_slice(&length);
                *bytes.last_mut().unwrap() = 0;
                prop_assert!(RawDocument::from_bytes(&bytes).is_ok() && Elements::of(&bytes).is_some());
            }
            let found = all(&bytes).unwrap_or_default();
            prop_assert!(found.len() <= bytes.len());
        }
    }
}

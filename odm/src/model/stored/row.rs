//! The traits of what has fields, and documents as values.

use super::bound::Bound;
use super::fault::{Done, Fault, Read};
use super::input::{Input, kind};
use super::name::Name;
use super::oracle::Oracle;
use super::out::Out;
use super::reader::Reader;

/// A value that is written as fields of a document: a struct, the struct of a new document, a variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not written as a document",
    note = "a document derives `Document`, a part of one `Embed`"
)]
pub trait Fields {
    /// Writes its fields behind those that are there.
    ///
    /// # Errors
    /// Where BSON can't hold a value.
    fn write_fields(&self, out: &mut Out) -> Done;
}

/// A type that is read from the fields of a document: a document, an embedded struct, a projection, a result of a pipeline.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be read from the documents of a query",
    note = "the struct of a result derives `Row`: `#[derive(odm::Row)]`; a part of a document derives `Projection`",
    note = "any type that derives `Deserialize` is read as `odm::Serde<{Self}>`"
)]
pub trait Row: Sized + 'static {
    /// How serde reads and writes it, in the tests.
    #[doc(hidden)]
    const ORACLE: Option<Oracle<Self>> = None;

    /// Takes its fields from those of a document, which may have others.
    ///
    /// # Errors
    /// Where a field is missing, or can't be read.
    fn read_row(fields: &mut Reader<'_>) -> Read<Self>;
}

/// Writes an embedded document: `Stored::write` of a struct.
///
/// # Errors
/// Where BSON can't hold a value.
#[inline]
pub fn embedded<T: Fields>(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
    let begin = out.begin_document(name);
    value.write_fields(out)?;
    out.end(begin);
    out.check_parts(bound);
    Ok(())
}

/// Reads an embedded document: `Stored::read` of a struct.
///
/// # Errors
/// Where the value is no document, or can't be read as this type.
#[inline]
pub fn document<T: Row>(kind: u8, input: &mut Input<'_>) -> Read<T> {
    named(kind, input, T::read_row)
}

/// Reads an embedded document without a type of its own: a variant with named fields, of an enum without tags.
///
/// # Errors
/// Where the value is no document, and those of `read`.
#[inline]
pub fn named<'a, T>(
    kind: u8,
    input: &mut Input<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Read<T>,
) -> Read<T> {
    if kind != kind::DOCUMENT {
        return Err(Fault::wrong_type(kind, "object"));
    }
    read(&mut Reader::embedded(input)?)
}

/// Writes a whole document.
///
/// # Errors
/// Where BSON can't hold a value.
#[inline]
pub fn write<T: Fields>(value: &T, out: &mut Out) -> Done {
    let begin = out.begin_bytes();
    value.write_fields(out)?;
    out.end_bytes(begin);
    Ok(())
}

/// Reads a whole document.
///
/// # Errors
/// Where the bytes are no document, or can't be read as this type.
#[inline]
pub fn read<T: Row>(bytes: &[u8]) -> Read<T> {
    T::read_row(&mut Reader::of(bytes)?)
}

/// The bytes of a document with one value, which `write` writes under the name that it is given.
///
/// # Errors
/// Those of `write`.
pub fn write_alone(write: impl FnOnce(&Name<'_>, &mut Out) -> Done) -> Read<Vec<u8>> {
    // A buffer that grows from nothing is moved again and again.
    let mut out = Out::new(Vec::with_capacity(128));
    let begin = out.begin_bytes();
    write(const { &Name::of("v") }, &mut out)?;
    out.end_bytes(begin);
    Ok(out.into_bytes())
}

/// Reads the one value of a document.
///
/// # Errors
/// Where there is none, and those of `read`.
pub fn read_alone<T>(document: &[u8], read: impl FnOnce(u8, &mut Input<'_>) -> Read<T>) -> Read<T> {
    let mut elements = Reader::of(document)?.next;
    match elements.element()? {
        Some((kind, _)) => read(kind, &mut elements),
        None => Err(Fault::malformed()),
    }
}

/// Implements [`Stored`](super::value::Stored) for a type that is stored as an embedded document: a struct, an enum with a tag.
macro_rules! embedded_type {
    ($ty:ty $(, [$($p:tt)*])?) => {
        impl$(<$($p)*>)? $crate::model::stored::Stored for $ty {
            #[inline]
            fn write(
                &self,
                name: &$crate::model::stored::Name<'_>,
                bound: $crate::model::stored::Bound<'_>,
                out: &mut $crate::model::stored::Out,
            ) -> $crate::model::stored::Done {
                $crate::model::stored::embedded(self, name, bound, out)
            }

            #[inline]
            fn read(
                kind: u8,
                input: &mut $crate::model::stored::Input<'_>,
            ) -> $crate::model::stored::Read<Self> {
                $crate::model::stored::document(kind, input)
            }
        }
    };
}
pub(crate) use embedded_type;

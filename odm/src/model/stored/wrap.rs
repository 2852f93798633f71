//! Options and pointers: around a value of another type.

use super::bound::Bound;
use super::fault::{Done, Read};
use super::input::{Input, kind};
use super::name::Name;
use super::out::Out;
use super::reader::Reader;
use super::row::{Fields, Row};
use super::value::Stored;
use std::sync::Arc;

impl<T: Stored> Stored for Option<T> {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self {
            Some(value) => value.write(name, bound, out),
            None => {
                out.null(name);
                Ok(())
            }
        }
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        if kind == kind::NULL {
            Ok(None)
        } else {
            T::read(kind, input).map(Some)
        }
    }

    fn missing() -> Read<Self> {
        Ok(None)
    }
}

/// A flattened option: it is there where its fields can be read.
impl<T: Row> Row for Option<T> {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        Ok(fields.attempt(T::read_row).ok())
    }
}

impl<T: Fields> Fields for Option<T> {
    #[inline]
    fn write_fields(&self, out: &mut Out) -> Done {
        match self {
            Some(fields) => fields.write_fields(out),
            None => Ok(()),
        }
    }
}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<T: Stored> Stored for $pointer<T> {
            #[inline]
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                T::write(self, name, bound, out)
            }

            #[inline]
            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                T::read(kind, input).map($pointer::new)
            }

            fn missing() -> Read<Self> {
                T::missing().map($pointer::new)
            }
        }

        impl<T: Row> Row for $pointer<T> {
            #[inline]
            fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
                T::read_row(fields).map($pointer::new)
            }
        }

        impl<T: Fields> Fields for $pointer<T> {
            #[inline]
            fn write_fields(&self, out: &mut Out) -> Done {
                T::write_fields(self, out)
            }
        }
    )*};
}
pointers!(Box Arc);

impl<T: Fields + ?Sized> Fields for &T {
    #[inline]
    fn write_fields(&self, out: &mut Out) -> Done {
        T::write_fields(self, out)
    }
}

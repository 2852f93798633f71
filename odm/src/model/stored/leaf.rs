//! Numbers, texts, booleans: the types that are one value of BSON.

use super::bound::Bound;
use super::fault::{Done, Fault, Read};
use super::input::{Input, kind};
use super::name::Name;
use super::out::{Out, too_large};
use super::value::{Key, Stored};
use mongodb::bson::RawBsonRef;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

/// Integers that are stored in 32 bits.
macro_rules! ints {
    ($($ty:ident)*) => {$(
        impl Stored for $ty {
            #[inline]
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                out.int(name, bound, (*self).into());
                Ok(())
            }

            #[inline]
            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                let n = if kind == kind::INT32 {
                    i32::from_le_bytes(input.take()?)
                } else {
                    return other_integer(kind, input, stringify!($ty))?
                        .try_into()
                        .map_err(|_| Fault::out_of_range(stringify!($ty)));
                };
                // Of the type itself nothing is converted.
                #[allow(irrefutable_let_patterns)]
                if let Ok(n) = $ty::try_from(n) { Ok(n) } else { Err(Fault::out_of_range(stringify!($ty))) }
            }
        }
    )*};
}
ints!(i8 u8 i16 u16 i32);

/// Integers that are stored in 64 bits.
macro_rules! longs {
    ($($ty:ident)*) => {$(
        impl Stored for $ty {
            #[inline]
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                #[allow(irrefutable_let_patterns)]
                let Ok(n) = i64::try_from(*self) else { return Err(too_large()) };
                out.long(name, bound, n);
                Ok(())
            }

            #[inline]
            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                let n = if kind == kind::INT64 {
                    i64::from_le_bytes(input.take()?)
                } else {
                    other_integer(kind, input, stringify!($ty))?
                };
                #[allow(irrefutable_let_patterns)]
                if let Ok(n) = $ty::try_from(n) { Ok(n) } else { Err(Fault::out_of_range(stringify!($ty))) }
            }
        }
    )*};
}
longs!(u32 i64 u64 isize usize);

/// An integer of another type than the one that is stored: another driver's, or a whole double, since JavaScript stores all numbers
/// so.
#[cold]
#[inline(never)]
fn other_integer(kind: u8, input: &mut Input<'_>, ty: &'static str) -> Read<i64> {
    /// Those that are in the range of a 64-bit integer.
    const INTEGERS: std::ops::Range<f64> = i64::MIN as f64..-(i64::MIN as f64);
    match kind {
        kind::INT32 => Ok(i32::from_le_bytes(input.take()?).into()),
        kind::INT64 => Ok(i64::from_le_bytes(input.take()?)),
        kind::DOUBLE if !input.is_exact() => {
            let n = f64::from_le_bytes(input.take()?);
            if n.fract() == 0.0 && INTEGERS.contains(&n) {
                Ok(n as i64)
            } else {
                Err(Fault::out_of_range(ty))
            }
        }
        _ => Err(Fault::wrong_type(kind, ty)),
    }
}

impl Stored for f64 {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        out.double(name, bound, *self);
        Ok(())
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<f64> {
        if kind == kind::DOUBLE {
            Ok(f64::from_le_bytes(input.take()?))
        } else {
            other_number(kind, input)
        }
    }
}

/// An integer where a double is declared: the shell stores one for `1`.
#[cold]
#[inline(never)]
fn other_number(kind: u8, input: &mut Input<'_>) -> Read<f64> {
    match kind {
        kind::INT32 if !input.is_exact() => Ok(i32::from_le_bytes(input.take()?).into()),
        kind::INT64 if !input.is_exact() => Ok(i64::from_le_bytes(input.take()?) as f64),
        _ => Err(Fault::wrong_type(kind, "double")),
    }
}

impl Stored for f32 {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        f64::from(*self).write(name, bound, out)
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<f32> {
        match kind {
            kind::INT32 if !input.is_exact() => Ok(i32::from_le_bytes(input.take()?) as f32),
            kind::INT64 if !input.is_exact() => Ok(i64::from_le_bytes(input.take()?) as f32),
            _ => f64::read(kind, input).map(|n| n as f32),
        }
    }
}

impl Stored for bool {
    #[inline]
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        out.fixed(kind::BOOL, name, [u8::from(*self)]);
        out.check(bound, |limit| limit.allows(RawBsonRef::Boolean(*self)));
        Ok(())
    }

    #[inline]
    fn read(kind: u8, input: &mut Input<'_>) -> Read<bool> {
        if kind != kind::BOOL {
            return Err(Fault::wrong_type(kind, "bool"));
        }
        match input.take()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Fault::malformed()),
        }
    }
}

/// A text that is borrowed from the input.
#[inline]
fn text<'a>(kind: u8, input: &mut Input<'a>) -> Read<&'a str> {
    if kind != kind::STRING {
        return Err(Fault::wrong_type(kind, "string"));
    }
    input.text()
}

macro_rules! texts {
    ($($ty:ty: $of:expr;)*) => {$(
        impl Stored for $ty {
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                out.bounded_text(name, bound, self);
                Ok(())
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                text(kind, input).map($of)
            }
        }

        impl Key for $ty {
            fn text(&self) -> &str {
                self
            }

            fn of(text: String) -> Read<Self> {
                Ok(text.into())
            }
        }
    )*};
}

texts! {
    String: str::to_owned;
    Box<str>: Box::from;
    Arc<str>: Arc::from;
    Cow<'static, str>: |text: &str| Cow::Owned(text.to_owned());
}

impl Stored for char {
    fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        let normalized = bound.map(|limit| limit.normalized(self.encode_utf8(&mut [0; 4])).into_owned());
        match normalized {
            None => out.text(name, self.encode_utf8(&mut [0; 4])),
            Some(text) => {
                // Its length is one, whatever the field says.
                if text.chars().count() != 1 {
                    out.leave_to_walk();
                }
                out.check(bound, |limit| limit.allows(RawBsonRef::String(&text)));
                out.text(name, &text);
            }
        }
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<char> {
        let mut chars = text(kind, input)?.chars();
        match (chars.next(), chars.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(Fault::other("expected one character")),
        }
    }
}

/// Writes and reads `null`.
macro_rules! nothing {
    ([$($p:tt)*] $ty:ty: $value:expr) => {
        impl<$($p)*> Stored for $ty {
            fn write(&self, name: &Name<'_>, _: Bound<'_>, out: &mut Out) -> Done {
                out.null(name);
                Ok(())
            }

            fn read(kind: u8, _: &mut Input<'_>) -> Read<Self> {
                if kind == kind::NULL { Ok($value) } else { Err(Fault::wrong_type(kind, "null")) }
            }
        }
    };
}

nothing!([] (): ());
nothing!([T: 'static] PhantomData<T>: PhantomData);

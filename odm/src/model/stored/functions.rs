//! How the values of one type are written and read.

use super::bound::Bound;
use super::fault::{Done, Read};
use super::input::Input;
use super::name::Name;
use super::out::Out;
use super::value::Stored;

/// The functions of a value: those of [`Stored`].
pub struct Functions<T: 'static> {
    pub(super) write: fn(&T, &Name<'_>, Bound<'_>, &mut Out) -> Done,
    pub(super) read: fn(u8, &mut Input<'_>) -> Read<T>,
    pub(super) missing: fn() -> Read<T>,
}

/// The functions of a type that has to be stored: of a result, which nothing else asks that of.
pub const fn functions<T: Stored>() -> Functions<T> {
    Functions {
        write: T::write,
        read: T::read,
        missing: T::missing,
    }
}

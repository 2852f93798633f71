//! The constant of one field: its name, its bounds, and how its values are written and read.

use super::bound::{Bound, Limit, within};
use super::fault::{Done, Fault, Read};
use super::functions::Functions;
use super::input::Input;
use super::name::Name;
use super::out::Out;
use super::value::Stored;
use crate::model::value::{Array, Value};

/// A field of a struct, as generated code declares it.
///
/// It is the only place that names the field's type with a bound: reading and writing go by the functions in it, so that an unknown
/// type is one error of the compiler and not three. Where they are called the constant is known, and so are the functions.
pub struct Field<T: 'static> {
    pub(super) name: Name<'static>,
    /// The name with the zero behind it, as it is compared.
    pub(super) key: &'static [u8],
    pub(super) aliases: &'static [&'static str],
    pub(super) bound: Bound<'static>,
    /// Whether MongoDB has rules of its own for it.
    pub(super) is_id: bool,
    pub(super) write: fn(&T, &Name<'_>, Bound<'_>, &mut Out) -> Done,
    pub(super) read: fn(u8, &mut Input<'_>) -> Read<T>,
    pub(super) missing: fn() -> Read<T>,
    pub(super) default: Option<fn() -> T>,
    pub(super) left_out: Option<fn(&T) -> bool>,
}

impl<T: 'static> Field<T> {
    /// A plain field. `key` is its name with a zero byte behind it.
    pub const fn value(key: &'static str, bound: Option<&'static Limit<'static>>) -> Field<T>
    where
        T: Value + Stored,
    {
        Field::stored(key, bound)
    }

    /// An array, a set or a map, whose bounds say how many items it has at most.
    pub const fn items(key: &'static str, bound: &'static Limit<'static>) -> Field<T>
    where
        T: Array + Stored,
    {
        Field::stored(key, Some(bound))
    }

    /// A field that needs no bound: of a result, a projection, or one that the library itself declares.
    pub const fn stored(key: &'static str, bound: Option<&'static Limit<'static>>) -> Field<T>
    where
        T: Stored,
    {
        Field::with(key, bound, T::write, T::read, T::missing)
    }

    /// A field that these functions write and read.
    pub const fn with(
        key: &'static str,
        bound: Option<&'static Limit<'static>>,
        write: fn(&T, &Name<'_>, Bound<'_>, &mut Out) -> Done,
        read: fn(u8, &mut Input<'_>) -> Read<T>,
        missing: fn() -> Read<T>,
    ) -> Field<T> {
        let text = without_zero(key);
        Field {
            name: Name::of(text),
            key: key.as_bytes(),
            aliases: &[],
            bound,
            is_id: matches!(text.as_bytes(), b"_id"),
            write,
            read,
            missing,
            default: None,
            left_out: None,
        }
    }

    /// A field of which these are the functions.
    pub const fn new(
        key: &'static str,
        bound: Option<&'static Limit<'static>>,
        functions: Functions<T>,
    ) -> Field<T> {
        Field::with(key, bound, functions.write, functions.read, functions.missing)
    }

    /// A field that has to be there, also where its type is an `Option`.
    pub const fn needed(mut self) -> Field<T> {
        self.missing = || Err(Fault::missing());
        self
    }

    /// With the value that is read where the field is missing.
    pub const fn or(mut self, default: fn() -> T) -> Field<T> {
        self.default = Some(default);
        self
    }

    /// Under these names too, if there is no field of its own name.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Field<T> {
        self.aliases = aliases;
        self
    }

    /// Without a trace of values for which the function says so.
    pub const fn unless(mut self, is_left_out: fn(&T) -> bool) -> Field<T> {
        self.left_out = Some(is_left_out);
        self
    }

    /// The stored name.
    pub const fn name(&self) -> &'static str {
        self.name.text
    }

    /// The value where the field is missing.
    #[cold]
    pub(super) fn if_missing(&self) -> Read<T> {
        match self.default {
            Some(default) => Ok(default()),
            None => match (self.missing)() {
                Ok(value) => Ok(value),
                Err(fault) => Err(fault.of_field(self.name.text)),
            },
        }
    }

    /// The value at the beginning of the input.
    #[inline(always)]
    pub(super) fn read(&self, kind: u8, input: &mut Input<'_>) -> Read<T> {
        match (self.read)(kind, input) {
            Ok(value) => Ok(value),
            Err(fault) => Err(fault.of_field(self.name.text)),
        }
    }

    /// Writes the value alone, of a newtype or a variant without a mark: under the name and within the bounds of the field that holds it.
    ///
    /// # Errors
    /// Where BSON can't hold the value.
    #[inline]
    pub fn write_alone(&self, value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        within(bound, self.bound, |bound| (self.write)(value, name, bound, out))
    }

    /// The value of a newtype that is not there.
    ///
    /// # Errors
    /// Where there is none.
    pub fn value_if_missing(&self) -> Read<T> {
        (self.missing)()
    }

    /// The value alone, of a newtype or a variant without a mark: an error of it has no step of its own.
    ///
    /// # Errors
    /// Where the value is none of this type.
    #[inline]
    pub fn value_of(&self, kind: u8, input: &mut Input<'_>) -> Read<T> {
        (self.read)(kind, input)
    }
}

impl Out {
    /// Writes a declared field.
    ///
    /// # Errors
    /// Where BSON can't hold the value.
    #[inline(always)]
    pub fn by<T>(&mut self, value: &T, field: &'static Field<T>) -> Done {
        if let Some(is_left_out) = field.left_out
            && is_left_out(value)
        {
            return Ok(());
        }
        let begin = self.bytes().len();
        match (field.write)(value, &field.name, field.bound, self) {
            Ok(()) if field.is_id => {
                self.check_id(begin);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(fault) => Err(fault.of_field(field.name.text)),
        }
    }
}

/// The name without the zero byte behind it.
const fn without_zero(key: &'static str) -> &'static str {
    match key.as_bytes().split_last() {
        Some((0, name)) => match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => panic!("a name of a field is no text without the zero byte behind it"),
        },
        _ => panic!("the name of a field is written with a zero byte behind it"),
    }
}

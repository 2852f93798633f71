//! Which Rust types may be stored in a field, and how large they get.
//!
//! [`Value`] is a type whose number of parts is fixed by the type itself. An array or a map is none: it implements
//! [`Array`] and needs a bound from its field (`#[embed(max = N)]`). Both are checked by type, so that an alias, an
//! `Option` or a generic argument around an array does not slip through.

use crate::{
    model::shape::{Names, Shape},
    model::size::Size,
};
use mongodb::bson::{self};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::marker::PhantomData;

macro_rules! marker {
    ($trait:ident: $($ty:ty),*) => { $(#[diagnostic::do_not_recommend] impl $trait for $ty {})* };
}

/// A type that can be stored in a field as it is: every part of it is bounded by the type.
///
/// Implemented by `#[derive(Embed)]`, for numbers, strings, the BSON types, options, boxes, tuples and fixed arrays.
///
/// ```
/// # use samples::model::*;
/// use odm::types::Value;
///
/// assert_eq!(<i32 as Value>::SIZE.fixed, Some(4)); // bytes
/// assert!(<Address as Value>::DOCUMENT);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be stored in a field: odm does not know its shape",
    label = "no declared shape",
    note = "a struct or enum of yours is stored with `#[derive(Embed)]`",
    note = "a moment, a duration, an id or a decimal of `chrono`, `jiff`, `time`, `uuid` or `rust_decimal`: the feature of this name of odm",
    note = "another foreign type, by functions of yours: `#[field(with = \"module\", stored = DateTime)]`",
    note = "a foreign type that serde writes as a text, such as a date without a time zone, or as another type that odm knows: `#[field(stored = String)]`, of an `Option` `#[field(stored = Option<String>)]`",
    note = "a value that odm should not look into is stored with `#[field(opaque)]`"
)]
pub trait Value: 'static {
    /// The greatest size of a value, without type byte and name.
    const SIZE: Size;
    /// Whether a value is a document of several fields (an embedded document), or an array or tuple that holds one.
    const DOCUMENT: bool = false;
    /// Whether a value refers to another document, which its field has to declare.
    const REFERENCE: bool = false;
    /// Whether a reference stands anywhere in a value.
    const HOLDS_REFERENCE: bool = Self::REFERENCE;
    /// Whether a part of a value changes often: a field with `#[volatile]` of an embedded struct.
    const HOLDS_VOLATILE: bool = false;
    /// Whether a struct in a value shows the fields that it does not declare: `#[field(extra)]`.
    const HOLDS_EXTRA: bool = false;
    /// Whether less may be stored than a value holds, such as a date to the millisecond.
    const CUT: bool = false;
    /// Whether a value may be stored as `null`.
    const NULL: bool = false;
    /// Whether an `Option` stands in it around a value that may be `null` itself, so that two values are stored alike.
    const TWICE_NULL: bool = false;
    /// The names that it brings where it stands beside others: flattened, or in a variant beside the tag.
    const NAMES: Names = Names::NONE;
    /// How a value looks in BSON.
    fn shape() -> Shape;
}

/// An array, set or map: stored in a field with `#[embed(max = N)]`, `N` being the greatest number of items.
///
/// ```
/// # use samples::model::*;
/// use odm::types::Array;
///
/// assert!(!<Vec<String> as Array>::MAP);
/// assert!(<BTreeMap<String, i32> as Array>::MAP);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array: `max` in `#[embed(max = N)]` bounds the items of an array, a set or a map",
    label = "not an array",
    note = "a single embedded document is declared with `#[embed]`",
    note = "the greatest value of a number is declared with `#[field(max = N)]`, the length of a string with `#[field(max_len = N)]`"
)]
pub trait Array: 'static {
    /// The type of its items.
    type Item: Value;
    /// Whether it is stored as a document with a key for each item.
    const MAP: bool = false;
    /// Whether it is a set: its items have no order, and each of them counts once.
    const SET: bool = false;
    /// As [`Value::NULL`].
    const NULL: bool = false;
    /// As [`Value::TWICE_NULL`].
    const TWICE_NULL: bool = <Self::Item as Value>::TWICE_NULL;
    /// How it looks in BSON, without its bound.
    fn shape() -> Shape;
}

/// The items of an array can be pushed and pulled; the entries of a map are set by key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array, so it has no items to push, pull or change",
    note = "the entries of a map are changed by `set_key` and `unset_key`, and any field as a whole by `set`",
    note = "a text that holds another one is found by `contains_text`, and one that begins or ends with it by `starts_with` and `ends_with`"
)]
pub trait List: Array {}

/// A number that `$inc`, `$mul`, `$min` and `$max` take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number, so it has no range and can't be incremented or multiplied"
)]
pub trait Numeric: Value {}

/// A number without a fraction.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer, which `multiple_of` and the numbers of `one_of` are for",
    label = "not an integer",
    note = "of a number with a fraction the server and the program need not find the same: store the number of the smallest unit, such as cents in an `i64`",
    note = "a string is declared with `pattern = \"…\"` or `one_of(\"a\", \"b\")`, any other rule by a function: `check_with = is_valid`"
)]
pub trait Integer: Value {}

/// A type whose values are stored as those of another one: a newtype as its field, a type of another crate as one of BSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number, date, string or `bool`, and no struct around one",
    note = "a computation on other types is done in the application, or in MongoDB's own words by `Filter::raw` and `raw`"
)]
pub trait StoredLike {
    /// The other type.
    type Like;
    /// The same where it is the key of a map too; `()` where a key has another form.
    type Key;
}

#[diagnostic::do_not_recommend]
impl<T: Value + StoredLike<Like: Numeric>> Numeric for T {}
#[diagnostic::do_not_recommend]
impl<T: Value + StoredLike<Like: Text>> Text for T {}
#[diagnostic::do_not_recommend]
impl<T: Value + StoredLike<Like: Integer>> Integer for T {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Key: MapKey> + 'static> MapKey for T {}

/// Whether an opaque type is an `Option` around another one, as a constant: `Nulls::<T>::TWICE`, where [`OneNull`] is in scope.
#[doc(hidden)]
pub struct Nulls<T>(PhantomData<T>);

impl<T> Nulls<Option<Option<T>>> {
    /// The compiler takes this one where there is one.
    pub const TWICE: bool = true;
}

#[doc(hidden)]
pub trait OneNull {
    const TWICE: bool = false;
}
impl<T> OneNull for Nulls<T> {}

/// A field that a document can do without.
#[diagnostic::on_unimplemented(
    message = "a document without this field can't be read back: it is no `Option`",
    note = "make the field an `Option<{Self}>`, or set it to another value"
)]
pub trait Removable {}
impl<T> Removable for Option<T> {}

/// A string type, which takes a pattern.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a string, so it can't be matched by a pattern",
    label = "not a string",
    note = "a value of another type is compared: `.eq(value)`, `.gt(value)`"
)]
pub trait Text: Value {}

/// A type that can stand in `_id`: MongoDB takes anything but an array, a regular expression and `undefined`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be stored as `_id`",
    note = "a type of yours that is stored as one value says so: `#[embed(id)]` above `struct Isbn(String);`",
    note = "MongoDB takes any value but an array or a regular expression; an `Option` is refused too, since two documents without an id would be the same"
)]
pub trait IdValue: Value {}

/// The bound that an array must declare. Nothing implements it for an array in a plain field: that is the error.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no declared bound, so its document can grow until it can't be written any more",
    label = "an array, set or map without a bound",
    note = "few items, in a field that is the array itself, be it by an alias or behind an `Option`: `#[embed(max = 20)]` on the field",
    note = "many items, or items that stand alone: documents of their own that name their parent, or an array of references to them (rules two and three)",
    note = "a value that odm should not look into: `#[field(opaque)]`",
    note = "an array inside an array, a tuple or a generic type: wrap the inner one in a struct of its own, `#[derive(Embed)] struct Row(#[embed(max = 5)] Vec<f64>);`"
)]
pub trait DeclaresBound<T: ?Sized> {}

/// The declaration that a type without any shape needs.
#[diagnostic::on_unimplemented(
    message = "`{T}` can hold anything, of any size, so nothing about its field can be checked",
    label = "a value without a shape",
    note = "declare its fields in a struct with `#[derive(Embed)]`",
    note = "or say that odm should not look into it: `#[field(opaque)]`"
)]
pub trait DeclaresOpaque<T: ?Sized> {}

/// How the values of a type are compared, so far as the compiler has to know: whether the server, which compares bytes, finds
/// what Rust's `==` does. `#[derive(Embed)]` implements it.
///
/// ```
/// # use samples::model::*;
/// fn is_compared<T: odm::types::Compared>() {}
///
/// is_compared::<Address>(); // by its fields
/// is_compared::<Vec<String>>(); // by its bytes
/// ```
#[diagnostic::on_unimplemented(
    message = "odm does not know how `{Self}` is compared",
    note = "a struct or enum of yours derives `Embed`; a type parameter needs the bound `odm::types::Compared` beside `odm::types::Value`"
)]
pub trait Compared: 'static {
    /// By its bytes, by its parts, or as an array or a set of such values.
    type As;
}

/// A plain value, which is equal where its bytes are: a number, a text, a reference.
pub struct ByValue(());

/// A value of several parts that have names: a struct, a map, a variant with content.
pub struct ByParts(());

/// An array of such values.
pub struct Listed<A>(PhantomData<A>);

/// A set of such values.
pub struct AsSet<A>(PhantomData<A>);

/// In a field that nothing looks into.
pub struct Opaque(());

impl Compared for Opaque {
    type As = ByValue;
}

/// A field that can be compared as a whole: by `eq`, `ne`, `in_` and `not_in`.
#[diagnostic::on_unimplemented(
    message = "`{T}` is an array of structs or maps, and can't be compared as a whole: the server compares their bytes, in the order of their fields",
    label = "not a field that is compared as a whole",
    note = "one item by its value: `.contains(item)`, `.contains_any(items)`, `.contains_all(items)`",
    note = "one item by its fields: `.elem(|item| item.field.eq(value))`; the number of items: `.size(n)`",
    note = "items without an order are a set, which can be compared: `BTreeSet<T>` or `HashSet<T>`"
)]
pub trait Whole<T: ?Sized> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Whole<T> for ByValue {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Whole<T> for ByParts {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized, A> Whole<T> for AsSet<A> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Whole<T> for Listed<ByValue> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Whole<T> for Listed<Listed<ByValue>> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Whole<T> for Listed<Listed<Listed<ByValue>>> {}

/// A value whose order the server and the application agree on: it can be sorted by, and be in an index.
#[diagnostic::on_unimplemented(
    message = "`{T}` is a struct, a map or an enum with content, or an array of these: the server orders and finds it by its bytes, in the order of its fields",
    label = "compared by bytes on the server",
    note = "name a field of it: `p.home.city` instead of `p.home`, in an index `fields(home.city, home.zip)`",
    note = "a date with an offset or a time zone is ordered by its moment: `p.departs.at` instead of `p.departs`",
    note = "what documents are sorted by or found by, and has no field of its own, is stored in one beside it"
)]
pub trait Ordered<T: ?Sized> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for ByValue {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for AsSet<ByValue> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for AsSet<Listed<ByValue>> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for Listed<ByValue> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for Listed<Listed<ByValue>> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Ordered<T> for Listed<Listed<Listed<ByValue>>> {}

/// A value that is one to the server where it is one to the application: documents can be grouped by it.
#[diagnostic::on_unimplemented(
    message = "`{T}` is a struct, a map, a set or an enum with content: the server groups it by its bytes, in the order of its fields or items",
    label = "compared by bytes on the server",
    note = "group by its fields: `|p| (p.home.city, p.home.zip)`",
    note = "the items of a set one by one: `.unwind(|p| p.tags).group(…)`, with the path `p.tags.any_item()`"
)]
pub trait Grouped<T: ?Sized> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Grouped<T> for ByValue {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Grouped<T> for Listed<ByValue> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Grouped<T> for Listed<Listed<ByValue>> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> Grouped<T> for Listed<Listed<Listed<ByValue>>> {}

/// A trait that no document implements: documents can't be embedded (rule two).
#[diagnostic::on_unimplemented(
    message = "`{T}` is a document with a collection of its own, so it can't be embedded in another one (rule two: an object that is accessed on its own is not embedded)",
    label = "a `Document`, used as an embedded value",
    note = "store a reference to it: `#[reference]` above a field of the type `odm::Ref<{T}>`",
    note = "or, if it never stands alone, derive `Embed` for it instead of `Document`"
)]
pub trait Embeds<T: ?Sized> {}

/// Makes a bound that never holds acceptable in an `impl`, so that its message is shown where the type is used: a bound
/// that names a lifetime is not checked at the `impl` itself. The type that the message is about is a parameter of the
/// bound's trait, since the compiler would prefer the message of `Value` for a bound on the type itself.
#[doc(hidden)]
pub struct Application<'a>(PhantomData<&'a ()>);

/// A value, in a bound that generated code can only meet for some types: as it names a lifetime, the bound is asked for where
/// it is needed, and not at the `impl`. Bounds of several fields have their numbers, since two fields may be of one type.
#[doc(hidden)]
pub struct Only<'x, 'a, T, const FIELD: usize = 0>(&'x T, PhantomData<&'a ()>);

impl<'x, T, const FIELD: usize> Only<'x, '_, T, FIELD> {
    pub fn new(value: &'x T) -> Self {
        Only(value, PhantomData)
    }
}

impl<T: PartialEq, const FIELD: usize> PartialEq for Only<'_, '_, T, FIELD> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Eq, const FIELD: usize> Eq for Only<'_, '_, T, FIELD> {}

impl<T: std::hash::Hash, const FIELD: usize> std::hash::Hash for Only<'_, '_, T, FIELD> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// `Clone` in such a bound.
#[doc(hidden)]
pub trait OnlyClone<T> {
    fn cloned(&self) -> T;
}

impl<T: Clone, const FIELD: usize> OnlyClone<T> for Only<'_, '_, T, FIELD> {
    fn cloned(&self) -> T {
        self.0.clone()
    }
}

impl<T: std::fmt::Debug, const FIELD: usize> std::fmt::Debug for Only<'_, '_, T, FIELD> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

// `do_not_recommend` keeps the leaves out of lists of implementations. It is not on types around others: there it would
// hide the message of what stands inside.
macro_rules! leaf {
    ($($ty:ty => $size:expr, $shape:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Value for $ty {
            const SIZE: Size = $size;
            fn shape() -> Shape {
                $shape
            }
        }
        impl Compared for $ty {
            type As = ByValue;
        }
    )*};
}

leaf! {
    bool => Size::fixed(1), Shape::Bool;
    i8 => Size::fixed(4), Shape::Int { min: i8::MIN as i32, max: i8::MAX as i32 };
    u8 => Size::fixed(4), Shape::Int { min: 0, max: u8::MAX as i32 };
    i16 => Size::fixed(4), Shape::Int { min: i16::MIN as i32, max: i16::MAX as i32 };
    u16 => Size::fixed(4), Shape::Int { min: 0, max: u16::MAX as i32 };
    i32 => Size::fixed(4), Shape::Int { min: i32::MIN, max: i32::MAX };
    u32 => Size::fixed(8), Shape::Long { min: 0, max: u32::MAX as i64 };
    i64 => Size::fixed(8), Shape::Long { min: i64::MIN, max: i64::MAX };
    u64 => Size::fixed(8), Shape::Long { min: 0, max: i64::MAX };
    isize => Size::fixed(8), Shape::Long { min: i64::MIN, max: i64::MAX };
    usize => Size::fixed(8), Shape::Long { min: 0, max: i64::MAX };
    f32 => Size::fixed(8), Shape::Double;
    f64 => Size::fixed(8), Shape::Double;
    char => Size::fixed(9), Shape::Char;
    String => Size::by_len(5, 4), Shape::String;
    Box<str> => Size::by_len(5, 4), Shape::String;
    bson::oid::ObjectId => Size::fixed(12), Shape::ObjectId;
    bson::DateTime => Size::fixed(8), Shape::Date;
    bson::Timestamp => Size::fixed(8), Shape::Timestamp;
    bson::Decimal128 => Size::fixed(16), Shape::Decimal;
    bson::Uuid => Size::fixed(21), Shape::Uuid;
    bson::Binary => Size::by_len(9, 1), Shape::Binary; // with the second length that subtype 2 has
    bson::Regex => Size::UNBOUNDED, Shape::Regex;
}

marker!(Numeric: i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64, bson::Decimal128);
marker!(Integer: i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);
marker!(Text: String, Box<str>, char);
marker!(IdValue: bool, i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64, char, String, Box<str>,
    bson::oid::ObjectId, bson::DateTime, bson::Timestamp, bson::Decimal128, bson::Uuid, bson::Binary);

impl<T: Numeric> Numeric for Option<T> {}
impl<T: Text> Text for Option<T> {}
impl<T: Integer> Integer for Option<T> {}

impl<T: Value> Value for Option<T> {
    const NAMES: Names = T::NAMES;
    const SIZE: Size = T::SIZE;
    const DOCUMENT: bool = T::DOCUMENT;
    const REFERENCE: bool = T::REFERENCE;
    const HOLDS_REFERENCE: bool = T::HOLDS_REFERENCE;
    const HOLDS_VOLATILE: bool = T::HOLDS_VOLATILE;
    const HOLDS_EXTRA: bool = T::HOLDS_EXTRA;
    const CUT: bool = T::CUT;
    const NULL: bool = true;
    const TWICE_NULL: bool = T::NULL || T::TWICE_NULL;
    fn shape() -> Shape {
        Shape::Optional(T::shape)
    }
}

impl<T: Value> Value for Box<T> {
    const NAMES: Names = T::NAMES;
    const SIZE: Size = T::SIZE;
    const DOCUMENT: bool = T::DOCUMENT;
    const REFERENCE: bool = T::REFERENCE;
    const HOLDS_REFERENCE: bool = T::HOLDS_REFERENCE;
    const HOLDS_VOLATILE: bool = T::HOLDS_VOLATILE;
    const HOLDS_EXTRA: bool = T::HOLDS_EXTRA;
    const CUT: bool = T::CUT;
    const NULL: bool = T::NULL;
    const TWICE_NULL: bool = T::TWICE_NULL;
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Value> Value for std::sync::Arc<T> {
    const NAMES: Names = T::NAMES;
    const SIZE: Size = T::SIZE;
    const DOCUMENT: bool = T::DOCUMENT;
    const REFERENCE: bool = T::REFERENCE;
    const HOLDS_REFERENCE: bool = T::HOLDS_REFERENCE;
    const HOLDS_VOLATILE: bool = T::HOLDS_VOLATILE;
    const HOLDS_EXTRA: bool = T::HOLDS_EXTRA;
    const CUT: bool = T::CUT;
    const NULL: bool = T::NULL;
    const TWICE_NULL: bool = T::TWICE_NULL;
    fn shape() -> Shape {
        T::shape()
    }
}

macro_rules! compared {
    ($([$($p:tt)*] $ty:ty => $as:ty;)*) => {$(
        impl<$($p)*> Compared for $ty {
            type As = $as;
        }
    )*};
}

compared! {
    [T: Compared] Option<T> => T::As;
    [T: Compared + ?Sized] Box<T> => T::As;
    [T: Compared + ?Sized] std::sync::Arc<T> => T::As;
    [T: 'static] PhantomData<T> => ByValue;
    [T: Compared, const N: usize] [T; N] => Listed<T::As>;
    [T: Compared] [T] => Listed<T::As>;
    [T: Compared] Vec<T> => Listed<T::As>;
    [T: Compared] VecDeque<T> => Listed<T::As>;
    [T: Compared, S: 'static] HashSet<T, S> => AsSet<T::As>;
    [T: Compared] BTreeSet<T> => AsSet<T::As>;
    [K: 'static, V: 'static, S: 'static] HashMap<K, V, S> => ByParts;
    [K: 'static, V: 'static] BTreeMap<K, V> => ByParts;
    [] bson::Bson => ByValue;
    [] bson::Document => ByValue;
    [] bson::RawDocumentBuf => ByValue;
    [] bson::RawBson => ByValue;
}

#[diagnostic::do_not_recommend]
impl Value for () {
    const SIZE: Size = Size::fixed(0);
    const NULL: bool = true;
    fn shape() -> Shape {
        Shape::Null
    }
}

#[diagnostic::do_not_recommend]
impl<T: 'static> Value for PhantomData<T> {
    const SIZE: Size = Size::fixed(0);
    const NULL: bool = true;
    fn shape() -> Shape {
        Shape::Null
    }
}

macro_rules! fixed_arrays {
    ($($n:literal)*) => {$(
        impl<T: Value> Value for [T; $n] {
            const SIZE: Size = Size {
                fixed: crate::model::size::array(T::SIZE.fixed, $n),
                per_len: T::SIZE.per_len * $n,
            };
            const DOCUMENT: bool = $n > 0 && T::DOCUMENT;
            const REFERENCE: bool = T::REFERENCE;
            const HOLDS_REFERENCE: bool = T::HOLDS_REFERENCE;
            const HOLDS_VOLATILE: bool = T::HOLDS_VOLATILE;
            const HOLDS_EXTRA: bool = T::HOLDS_EXTRA;
            const CUT: bool = T::CUT;
            const TWICE_NULL: bool = T::TWICE_NULL;
            fn shape() -> Shape {
                Shape::Fixed { items: T::shape, len: $n }
            }
        }
    )*};
}

// The lengths that serde implements its traits for.
fixed_arrays!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

macro_rules! tuples {
    ($(($($t:ident)*))*) => {$(
        impl<$($t: Value),*> Value for ($($t,)*) {
            // A document's length and end, and for each item a type byte, an index of at most two digits, and a zero.
            const SIZE: Size = Size::fixed(5)$(.then(Size::fixed(4)).then($t::SIZE))*;
            const DOCUMENT: bool = false $(|| $t::DOCUMENT)*;
            const REFERENCE: bool = false $(|| $t::REFERENCE)*;
            const HOLDS_REFERENCE: bool = false $(|| $t::HOLDS_REFERENCE)*;
            const HOLDS_VOLATILE: bool = false $(|| $t::HOLDS_VOLATILE)*;
            const HOLDS_EXTRA: bool = false $(|| $t::HOLDS_EXTRA)*;
            const CUT: bool = false $(|| $t::CUT)*;
            const TWICE_NULL: bool = false $(|| $t::TWICE_NULL)*;
            fn shape() -> Shape {
                Shape::Tuple(const { &[$($t::shape as crate::model::shape::ShapeFn),*] })
            }
        }
        impl<$($t: 'static),*> Compared for ($($t,)*) {
            type As = Listed<ByValue>;
        }
    )*};
}

tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));

macro_rules! arrays {
    ($($ty:ty, [$($p:tt)*], $item:ty, $map:expr, $set:expr, $shape:expr $(, $null:expr, $twice:expr)?;)*) => {$(
        impl<$($p)*> Array for $ty {
            type Item = $item;
            const MAP: bool = $map;
            const SET: bool = $set;
            $(
                const NULL: bool = $null;
                const TWICE_NULL: bool = $twice;
            )?
            fn shape() -> Shape {
                $shape
            }
        }
    )*};
}

arrays! {
    Vec<T>, [T: Value], T, false, false, Shape::Array(T::shape);
    VecDeque<T>, [T: Value], T, false, false, Shape::Array(T::shape);
    Box<[T]>, [T: Value], T, false, false, Shape::Array(T::shape);
    std::sync::Arc<[T]>, [T: Value], T, false, false, Shape::Array(T::shape);
    HashSet<T, S>, [T: Value, S: 'static], T, false, true, Shape::Array(T::shape);
    BTreeSet<T>, [T: Value], T, false, true, Shape::Array(T::shape);
    HashMap<K, V, S>, [K: MapKey, V: Value, S: 'static], V, true, false, Shape::Map(V::shape);
    BTreeMap<K, V>, [K: MapKey, V: Value], V, true, false, Shape::Map(V::shape);
    Option<A>, [A: Array], A::Item, A::MAP, A::SET, Shape::Optional(A::shape), true, A::NULL || A::TWICE_NULL;
    Box<A>, [A: Array], A::Item, A::MAP, A::SET, A::shape(), A::NULL, A::TWICE_NULL;
    std::sync::Arc<A>, [A: Array], A::Item, A::MAP, A::SET, A::shape(), A::NULL, A::TWICE_NULL;
}

#[diagnostic::do_not_recommend]
impl<T: Value> List for Vec<T> {}
#[diagnostic::do_not_recommend]
impl<T: Value> List for VecDeque<T> {}
#[diagnostic::do_not_recommend]
impl<T: Value> List for Box<[T]> {}
#[diagnostic::do_not_recommend]
impl<T: Value> List for std::sync::Arc<[T]> {}
#[diagnostic::do_not_recommend]
impl<T: Value, S: 'static> List for HashSet<T, S> {}
#[diagnostic::do_not_recommend]
impl<T: Value> List for BTreeSet<T> {}
#[diagnostic::do_not_recommend]
impl<A: List> List for Option<A> {}
#[diagnostic::do_not_recommend]
impl<A: List> List for Box<A> {}

/// A map's key: it is stored as the name of a field, which is a string.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the key of a stored map: BSON's keys are strings",
    note = "a struct of yours around a `String` says so: `#[embed(transparent)]` above `struct Sku(String);`",
    note = "use a `String`, or an array of structs with a field for the key"
)]
pub trait MapKey: 'static {}
marker!(MapKey: String, Box<str>);

// Types that are refused in a plain field, each with its own message.
macro_rules! refused {
    ($($ty:ty, [$($p:tt)*], $reason:ident;)*) => {$(
        impl<'a, $($p)*> Value for $ty where Application<'a>: $reason<$ty> {
            const SIZE: Size = Size::UNBOUNDED;
            fn shape() -> Shape {
                Shape::Any
            }
        }
    )*};
}

refused! {
    bson::Bson, [], DeclaresOpaque;
    bson::Document, [], DeclaresOpaque;
    bson::RawDocumentBuf, [], DeclaresOpaque;
    bson::RawBson, [], DeclaresOpaque;
}

macro_rules! unbounded {
    ($($ty:ty, [$($p:tt)*];)*) => {$(
        impl<'a, $($p)*> Value for $ty where Application<'a>: DeclaresBound<$ty> {
            const SIZE: Size = Size::UNBOUNDED;
            fn shape() -> Shape {
                Shape::Any
            }
        }
    )*};
}

unbounded! {
    Vec<T>, [T: 'static];
    VecDeque<T>, [T: 'static];
    Box<[T]>, [T: 'static];
    std::sync::Arc<[T]>, [T: 'static];
    HashSet<T, S>, [T: 'static, S: 'static];
    BTreeSet<T>, [T: 'static];
    HashMap<K, V, S>, [K: 'static, V: 'static, S: 'static];
    BTreeMap<K, V>, [K: 'static, V: 'static];
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Serialize, de::DeserializeOwned};

    fn is_read_back<K: Serialize + DeserializeOwned + Ord + Clone>(key: K) -> bool {
        let map = BTreeMap::from([(key, 1)]);
        bson::serialize_to_raw_document_buf(&map)
            .ok()
            .and_then(|raw| bson::deserialize_from_slice::<BTreeMap<K, i32>>(raw.as_bytes()).ok())
            .is_some_and(|read| read == map)
    }

    #[test]
    fn only_strings_are_read_back_as_keys() {
        assert!(is_read_back("a".to_owned()));
        assert!(is_read_back::<Box<str>>("a".into()));
        assert!(!is_read_back(7_i32));
        assert!(!is_read_back(7_u64));
        assert!(!is_read_back('a'));
        assert!(!is_read_back(bson::oid::ObjectId::new()));
    }
}

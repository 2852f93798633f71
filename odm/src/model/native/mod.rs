//! Types of other crates that are stored as a type of BSON: dates, ids, decimals, durations, addresses.
//!
//! A field of such a type is stored as what it is to the server:
//!
//! ```
//! use odm::prelude::*;
//! use std::time::Duration;
//!
//! #[derive(Document)]
//! #[document(collection = "runs")]
//! struct Run {
//!     id: i32,
//!     took: Duration,
//!     #[field(default)]
//!     #[embed(max = 10)]
//!     laps: Vec<Duration>,
//! }
//!
//! let filter = Run::paths().took.gte(Duration::from_secs(2));
//! assert_eq!(filter.into_document()?, odm::bson::doc! { "took": { "$gte": 2_000_i64 } });
//! # Ok::<(), odm::Error>(())
//! ```
//!
//! | feature | type | stored as |
//! | --- | --- | --- |
//! | `uuid` | `uuid::Uuid` | binary data of subtype 4 |
//! | `chrono` | `chrono::DateTime<Utc>` | a date, cut to the millisecond |
//! | | `chrono::DateTime<FixedOffset>` | `{ at, offset }`: a date, and the offset in seconds |
//! | | `chrono::TimeDelta` | an integer of milliseconds |
//! | `time` | `time::UtcDateTime`, `time::OffsetDateTime` | a date, cut to the millisecond; it is read in UTC |
//! | | `time::Duration` | an integer of milliseconds |
//! | `jiff` | `jiff::Timestamp` | a date, cut to the millisecond |
//! | | `jiff::ZonedDateTime` | `{ at, zone }`: a date, and the name of the time zone |
//! | | `jiff::SignedDuration` | an integer of milliseconds |
//! | `rust_decimal` | `rust_decimal::Decimal` | a decimal of 128 bits |
//! | `url` | `url::Url` | a text |
//! | | `std::time::Duration` | an integer of milliseconds |
//! | | `std::net::IpAddr`, `Ipv4Addr`, `Ipv6Addr`, `SocketAddr` | a text, which is also their order |
//!
//! The word stands for the whole field: the type alone, in an `Option`, a `Box`, an `Arc`, and as the items of an array, the members
//! of a set or the values of a map. Without it the field does not compile. Filters, updates and references encode their operands
//! in the same way. A text format such as JSON gets what serde makes of the value.
//!
//! A date with a zone or an offset is a document of two fields. Two of them are equal where they are the same moment, which is also
//! how the types of the crates are compared. Documents are sorted, indexed and found in ranges by the moment: `o.starts.at`.

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "jiff")]
mod jiff;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
mod standard;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "url")]
mod url;
#[cfg(feature = "uuid")]
mod uuid;

#[cfg(any(feature = "chrono", feature = "jiff"))]
use crate::model::path::At;
#[cfg(feature = "chrono")]
use crate::model::path::Path;
#[cfg(feature = "jiff")]
use crate::model::path::ReadOnly;
use crate::model::stored::{self, Bound, DeserializeBy, Done, Fault, Input, Name, Out, Read};
use crate::model::value::MapKey;
use mongodb::bson::{self, Bson, error::Result as BsonResult};
use serde::de::IntoDeserializer;
use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, de::DeserializeOwned, ser};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// A type that `#[serde(with = "odm::native")]` stores as a type of BSON. The [module](self) lists them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored by `odm::native`",
    label = "not a type of `odm::native`",
    note = "a number, a text, a type of `bson` and a type that derives `Embed` need no `#[serde(with = \"odm::native\")]`: leave it out",
    note = "a type of `chrono`, `jiff`, `time`, `uuid`, `rust_decimal` or `url` needs the feature of that name of odm",
    note = "in a tuple, an array of fixed length or a type of yours, the word stands inside: `struct Day(#[serde(with = \"odm::native\")] DateTime<Utc>);` with `#[derive(Embed)]`"
)]
pub trait Native: Sized {
    /// Writes the value as it is stored.
    #[doc(hidden)]
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    /// Reads what was stored.
    #[doc(hidden)]
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Stores a field's value: for `#[serde(with = "odm::native")]`.
///
/// # Errors
/// Those of the serializer, and where the type of BSON can't hold the value.
pub fn serialize<T: Native, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write(serializer)
}

/// Reads a field's value: for `#[serde(with = "odm::native")]`.
///
/// # Errors
/// Those of the deserializer, and where the type can't hold what is stored.
pub fn deserialize<'de, T: Native, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read(deserializer)
}

/// One value with the type of BSON that it is stored as.
pub(crate) trait OneNative: Serialize + DeserializeOwned {
    /// The type as which it is stored.
    type Stored: Serialize + DeserializeOwned + Into<Bson> + stored::Stored;
    /// Whether it is written as serde does in a text format.
    const HAS_TEXT: bool = true;

    /// The value to store, or why there is none.
    fn store(&self) -> Result<Self::Stored, String>;
    /// The value of what is stored, or why there is none.
    fn load(stored: Self::Stored) -> Result<Self, String>;

    /// Writes the value as it is stored, without serde.
    fn write_stored(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        match self.store() {
            Ok(stored) => stored::Stored::write(&stored, name, bound, out),
            Err(message) => Err(Fault::other(message)),
        }
    }
    /// Reads what is stored, without serde.
    fn read_stored(kind: u8, input: &mut Input<'_>) -> Read<Self> {
        let stored = <Self::Stored as stored::Stored>::read(kind, input)?;
        Self::load(stored).map_err(Fault::other)
    }
}

fn write_one<T: OneNative, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    if T::HAS_TEXT && serializer.is_human_readable() {
        return value.serialize(serializer);
    }
    value.store().map_err(ser::Error::custom)?.serialize(serializer)
}

fn read_one<'de, T: OneNative, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    // A deserializer of serde's own buffer says that it is readable, whatever was read into it.
    if T::HAS_TEXT && deserializer.is_human_readable() {
        return of_bson(Bson::deserialize(deserializer)?).map_err(de::Error::custom);
    }
    T::load(T::Stored::deserialize(deserializer)?).map_err(de::Error::custom)
}

fn of_bson<T: OneNative>(stored: Bson) -> BsonResult<T> {
    match stored {
        Bson::String(text) if T::HAS_TEXT => {
            let text: StringDeserializer<bson::error::Error> = text.into_deserializer();
            T::deserialize(text)
        }
        stored => match bson::deserialize_from_bson(stored.clone()) {
            Ok(stored) => T::load(stored).map_err(ser::Error::custom),
            // serde's own form in a text format need not be a text.
            Err(error) if T::HAS_TEXT => bson::deserialize_from_bson(stored).map_err(|_| error),
            Err(error) => Err(error),
        },
    }
}

/// A number of milliseconds as it is stored.
#[cfg(any(feature = "jiff", feature = "time"))]
fn whole(millis: i128) -> Result<i64, String> {
    i64::try_from(millis).map_err(|_| format!("{millis} milliseconds are more than an i64 holds"))
}

#[cfg(any(feature = "jiff", feature = "time"))]
fn date(millis: i64) -> bson::DateTime {
    bson::DateTime::from_millis(millis)
}

/// Implements the traits of values for a type that is stored as one value.
macro_rules! native {
    ($($ty:ty as $stored:ty: $size:expr, $shape:expr, cut $cut:literal;)*) => {$(
        $crate::model::native::stored_type! { $ty: $size, $shape, cut $cut, compared ByValue }
        #[diagnostic::do_not_recommend]
        impl $crate::model::value::IdValue for $ty {}
        impl $crate::model::value::StoredLike for $ty {
            type Like = $stored;
            type Key = ();
        }
    )*};
}
use native;

/// Implements the traits of values for a type of dates that is stored as a date and what stands beside it: a zone, an offset.
#[cfg(any(feature = "chrono", feature = "jiff"))]
macro_rules! zoned {
    ($ty:ty, $fields:ident: $at:ty, $beside:ident as $stored:ty, $bounds:expr;) => {
        impl $crate::model::path::Fielded for $ty {
            const FIELDS: &'static [$crate::model::shape::FieldMeta] = &[
                $crate::model::shape::FieldMeta::value::<$at>("at", "at", stringify!($at), Bounds::NONE),
                $crate::model::shape::FieldMeta {
                    beside: true,
                    ..$crate::model::shape::FieldMeta::value::<$stored>(
                        stringify!($beside),
                        stringify!($beside),
                        stringify!($stored),
                        $bounds,
                    )
                },
            ];
        }
        $crate::model::native::stored_type! {
            $ty:
                Size::known($crate::model::size::document(<$ty as $crate::model::path::Fielded>::FIELDS)),
                Shape::Struct(
                    const {
                        &$crate::model::shape::StructShape { ty: None,
                            name: stringify!($ty),
                            fields: <$ty as $crate::model::path::Fielded>::FIELDS,
                            deny_unknown: false,
                        }
                    },
                ),
                cut true, compared ByParts
        }
        impl $crate::model::path::Nested for $ty {
            type Form = $crate::model::path::OfFields;
            type Fields<R: 'static, P: 'static> = $fields<R, P>;
            fn fields<R: 'static, P: 'static>() -> &'static $fields<R, P> {
                const {
                    &$fields {
                        at: Path::NEW,
                        $beside: Path::NEW,
                    }
                }
            }
        }
        impl<R, P> Clone for $fields<R, P> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<R, P> Copy for $fields<R, P> {}
    };
}
#[cfg(any(feature = "chrono", feature = "jiff"))]
use zoned;

/// The typed paths of a `chrono::DateTime<FixedOffset>`: `o.starts.at` is the moment, by which two of them are equal.
#[cfg(feature = "chrono")]
pub struct OffsetFields<R, P> {
    /// The moment.
    pub at: Path<R, ::chrono::DateTime<::chrono::Utc>, At<P, ::chrono::DateTime<::chrono::FixedOffset>, 0>>,
    /// The seconds that the local time is ahead of UTC.
    pub offset: Path<R, i32, At<P, ::chrono::DateTime<::chrono::FixedOffset>, 1>>,
}

/// The typed paths of a `jiff::ZonedDateTime`: `o.starts.at` is the moment, by which two of them are equal.
#[cfg(feature = "jiff")]
pub struct ZonedFields<R, P> {
    /// The moment.
    pub at: Path<R, ::jiff::Timestamp, At<P, ::jiff::ZonedDateTime, 0>>,
    /// The name of the time zone, or the offset of one without a name: `Europe/Berlin`, `+02:00`. It is set with the whole date.
    pub zone: Path<R, String, At<P, ::jiff::ZonedDateTime, 1>, ReadOnly>,
}

/// Implements what all of these types have.
macro_rules! stored_type {
    ($ty:ty: $size:expr, $shape:expr, cut $cut:literal, compared $compared:ident) => {
        #[diagnostic::do_not_recommend]
        impl $crate::model::native::Native for $ty {
            fn write<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::model::native::write_one(self, serializer)
            }
            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::native::read_one(deserializer)
            }
        }
        #[diagnostic::do_not_recommend]
        impl $crate::model::stored::Stored for $ty {
            #[inline]
            fn write(
                &self,
                name: &$crate::model::stored::Name<'_>,
                bound: $crate::model::stored::Bound<'_>,
                out: &mut $crate::model::stored::Out,
            ) -> $crate::model::stored::Done {
                $crate::model::native::OneNative::write_stored(self, name, bound, out)
            }
            #[inline]
            fn read(
                kind: u8,
                input: &mut $crate::model::stored::Input<'_>,
            ) -> $crate::model::stored::Read<Self> {
                $crate::model::native::OneNative::read_stored(kind, input)
            }
        }
        #[diagnostic::do_not_recommend]
        impl $crate::model::value::Value for $ty {
            const SIZE: $crate::model::size::Size = $size;
            const CUT: bool = $cut;
            fn shape() -> $crate::model::shape::Shape {
                $shape
            }
        }
        #[diagnostic::do_not_recommend]
        impl $crate::model::value::Compared for $ty {
            type As = $crate::model::value::$compared;
        }
    };
}
use stored_type;

/// A date that the library can write into the fields of `timestamps`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date, and the library writes the time of an insert or of a write here",
    note = "a `bson::DateTime`, or a date of `chrono`, `jiff` or `time` with the feature of that name"
)]
pub trait Moment {
    /// This moment, cut to the millisecond.
    fn of(now: bson::DateTime) -> Self;
}

impl Moment for bson::DateTime {
    fn of(now: bson::DateTime) -> bson::DateTime {
        now
    }
}

/// The time of a write.
pub fn at<T: Moment>(now: bson::DateTime) -> T {
    T::of(now)
}

/// A value that is written as it is stored.
struct WrittenNative<'a, T>(&'a T);

impl<T: Native> Serialize for WrittenNative<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

/// A value that was read as it is stored.
struct ReadNative<T>(T);

impl<'de, T: Native> Deserialize<'de> for ReadNative<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(ReadNative)
    }
}

impl<T: Native> Native for Option<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(WrittenNative).serialize(serializer)
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map(|ReadNative(value)| value))
    }
}

macro_rules! pointers {
    ($($pointer:ident)*) => {$(
        impl<T: Native> Native for $pointer<T> {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                T::write(self, serializer)
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                T::read(deserializer).map($pointer::new)
            }
        }
    )*};
}
pointers!(Box Arc);

macro_rules! lists {
    ($($ty:ty, [$($p:tt)*];)*) => {$(
        impl<$($p)*> Native for $ty {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter().map(WrittenNative))
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let items = Vec::<ReadNative<T>>::deserialize(deserializer)?;
                Ok(items.into_iter().map(|ReadNative(item)| item).collect())
            }
        }
    )*};
}

lists! {
    Vec<T>, [T: Native];
    VecDeque<T>, [T: Native];
    Box<[T]>, [T: Native];
    Arc<[T]>, [T: Native];
    HashSet<T, H>, [T: Native + Eq + Hash, H: BuildHasher + Default];
    BTreeSet<T>, [T: Native + Ord];
}

macro_rules! maps {
    ($($ty:ty, $read:ty, [$($p:tt)*];)*) => {$(
        impl<$($p)*> Native for $ty {
            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.iter().map(|(key, value)| (key, WrittenNative(value))))
            }
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let entries = <$read>::deserialize(deserializer)?;
                Ok(entries.into_iter().map(|(key, ReadNative(value))| (key, value)).collect())
            }
        }
    )*};
}

maps! {
    HashMap<K, V, H>, HashMap<K, ReadNative<V>, H>,
        [K: MapKey + Serialize + DeserializeOwned + Eq + Hash, V: Native, H: BuildHasher + Default];
    BTreeMap<K, V>, BTreeMap<K, ReadNative<V>>, [K: MapKey + Serialize + DeserializeOwned + Ord, V: Native];
}

/// How serde reads such a field: of a patch.
pub struct AsNative(());

impl<T: Native> DeserializeBy<T> for AsNative {
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

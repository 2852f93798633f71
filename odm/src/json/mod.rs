//! Documents as JSON and back, by their declared shape: what a web service shows and takes, without a second set of structs.
//!
//! `_id` is `id`. Ids are hexadecimal digits, dates are RFC 3339 in UTC with milliseconds, decimals are texts, bytes base64, UUIDs
//! have hyphens, points and lines are GeoJSON, a reference is the id that it holds. Integers are numbers as far as JavaScript does
//! not round them, and texts beyond 2⁵³; those of a field with `#[field(json = text)]` are always texts. Names are the
//! stored ones, unless attributes of serde give others.
//!
//! `#[field(private)]` neither goes out nor comes in, `#[field(read_only)]` only goes out, `#[field(write_only)]` only comes in. What
//! the library writes is read-only without a word.
//!
//! ```
//! # use samples::model::*;
//! let id = ObjectId::parse_str("6745a3c2e4b0a1b2c3d4e5f6").unwrap();
//! let user = User { id, name: "Kate".into() };
//! assert_eq!(odm::json::to_string(&user)?, r#"{"id":"6745a3c2e4b0a1b2c3d4e5f6","name":"Kate"}"#);
//! let read: User = odm::json::from_str(r#"{ "id": "6745a3c2e4b0a1b2c3d4e5f6", "name": "Kate" }"#)?;
//! assert_eq!(read, user);
//! # Ok::<(), odm::Error>(())
//! ```

mod faults;
mod input;
mod names;
#[cfg(feature = "schemars")]
mod of_schemars;
#[cfg(feature = "utoipa")]
pub(crate) mod of_utoipa;
mod opaque;
mod out;
mod parsed;
mod schema;
#[cfg(test)]
mod tests;
mod text;

#[cfg(feature = "utoipa")]
#[cfg_attr(docsrs, doc(cfg(feature = "utoipa")))]
#[doc(inline)]
pub use crate::__to_schema as to_schema;
use crate::error::{BadValue, ValueProblem};
use crate::model::described::{Described, Description};
use crate::model::encode::StoredValue;
use crate::model::path::{Codec, Path, Step};
use crate::model::stored::Stored;
use crate::query::filter::operand::{Operand, encode_bson};
use crate::query::page::Page;
use crate::store::decode;
use crate::{Error, Result};
use mongodb::bson::{self, Bson};
pub use schema::{JsonSchema, Schemas};
use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::marker::PhantomData;

/// What goes out as JSON: a document, an embedded struct or enum, a projection, and a list, an option or a page of these.
///
/// ```
/// # use samples::model::*;
/// fn goes_out<T: odm::json::ToJson>() {}
/// goes_out::<Person>();
/// goes_out::<Vec<Address>>();
/// goes_out::<odm::query::Page<Person>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be written as JSON by a declared shape",
    note = "documents, structs that derive `Embed`, projections, pages, and lists of these are written",
    note = "the result of a pipeline, which derives `Row`, has no shape: derive `serde::Serialize` too, and write it by `serde_json`"
)]
pub trait ToJson {
    /// Writes it with a serializer of JSON.
    ///
    /// # Errors
    /// Those of the serializer; and where a value can't be stored as BSON.
    fn write_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl<T: Described + Stored> ToJson for T {
    fn write_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = StoredValue::of(self).map_err(S::Error::custom)?;
        let raw = stored.raw().map_err(S::Error::custom)?;
        if text::is_stored_too_deep(raw) {
            return Err(S::Error::custom(format!(
                "the value {}",
                text::too_deep(text::STORED_LEVELS)
            )));
        }
        let node = out::OutNode {
            shape: (T::described().shape)(),
            text: false,
            value: raw,
            depth: 0,
        };
        node.serialize(serializer)
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.len()))?;
        for one in self {
            seq.serialize_element(&Shown(one))?;
        }
        seq.end()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(one) => one.write_json(serializer),
            None => serializer.serialize_unit(),
        }
    }
}

impl<T: ToJson> ToJson for Page<T> {
    fn write_json<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("items", &Shown(&self.items))?;
        map.serialize_entry("next", &self.next)?;
        map.serialize_entry("previous", &self.previous)?;
        if let Some(total) = self.total {
            map.serialize_entry("total", &total)?;
        }
        map.end()
    }
}

/// A borrowed value, for serde.
struct Shown<'a, T>(&'a T);

impl<T: ToJson> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_json(serializer)
    }
}

/// What comes in as JSON: a `New…` struct, an embedded struct or enum, a document, a patch, and a list or an option of these.
///
/// ```
/// # use samples::model::*;
/// fn comes_in<T: odm::json::FromJson>() {}
/// comes_in::<Address>();
/// comes_in::<Vec<Person>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be read from JSON by a declared shape",
    note = "documents, their `New…` structs and patches, structs that derive `Embed`, and lists of these are read"
)]
pub trait FromJson: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Json`] with every mistake.
    fn read_json(value: &Value) -> Result<Self>;
}

impl<T: Described + Stored> FromJson for T {
    fn read_json(value: &Value) -> Result<T> {
        read(&T::described(), value, &[])
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn read_json(value: &Value) -> Result<Vec<T>> {
        let Value::Array(items) = value else {
            let bad = BadValue::new("", ValueProblem::WrongType, "must be an array");
            return Err(Error::Json { values: vec![bad] });
        };
        let (mut read, mut all) = (Vec::new(), Vec::new());
        for (i, item) in items.iter().enumerate() {
            if all.len() >= faults::MOST {
                break;
            }
            match T::read_json(item) {
                Ok(item) => read.push(item),
                Err(Error::Json { values }) => all.extend(values.into_iter().map(|mut bad| {
                    bad.pointer.insert_str(0, &format!("/{i}"));
                    bad
                })),
                Err(other) => return Err(other),
            }
        }
        all.truncate(faults::MOST);
        if all.is_empty() {
            Ok(read)
        } else {
            Err(Error::Json { values: all })
        }
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn read_json(value: &Value) -> Result<Option<T>> {
        match value {
            Value::Null => Ok(None),
            value => T::read_json(value).map(Some),
        }
    }
}

/// A value of the type: by its shape, as what is stored.
fn read<T: Stored>(of: &Description, value: &Value, given: &[input::Given]) -> Result<T> {
    let stored = input::stored(of, value, given).map_err(|values| Error::Json { values })?;
    decode::single_value(stored).map_err(|fault| {
        let path = fault.steps().map(ToString::to_string);
        let pointer: String = path.map(|name| format!("/{}", shown(&name))).collect();
        let rule = format!("can't be taken: {}", fault.message());
        let bad = BadValue::new(pointer, ValueProblem::Refused, rule);
        Error::Json { values: vec![bad] }
    })
}

/// A stored name in a pointer.
fn shown(name: &str) -> String {
    match name {
        "_id" => "id".to_owned(),
        name => name.replace('~', "~0").replace('/', "~1"),
    }
}

fn parsed(json: &[u8]) -> Result<Value> {
    if text::is_too_deep(json) {
        let bad = BadValue::new("", ValueProblem::Bound, text::too_deep(text::LEVELS));
        return Err(Error::Json { values: vec![bad] });
    }
    let mut text = serde_json::Deserializer::from_slice(json);
    let parsed = parsed::parse(&mut text).and_then(|parsed| text.end().map(|()| parsed));
    let (value, values) = parsed.map_err(|error| {
        let bad = BadValue::new("", ValueProblem::Syntax, format!("is no JSON: {error}"));
        Error::Json { values: vec![bad] }
    })?;
    if values.is_empty() {
        Ok(value)
    } else {
        Err(Error::Json { values })
    }
}

/// The JSON of a value as a tree, to be changed or looked into.
///
/// ```
/// # use samples::model::*;
/// let address = Address { street: "Main Street".into(), city: "New York".into() };
/// assert_eq!(odm::json::to_value(&address)?["city"], "New York");
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Encode`] where a value can't be stored as BSON.
///
/// # Cost
/// No round trip. The value is encoded as BSON, and JSON is written from that.
pub fn to_value<T: ToJson>(value: &T) -> Result<Value> {
    value
        .write_json(serde_json::value::Serializer)
        .map_err(not_written::<T>)
}

/// The JSON of a value as a text.
///
/// ```
/// # use samples::model::*;
/// let addresses = vec![Address { street: "Main Street".into(), city: "New York".into() }];
/// assert_eq!(odm::json::to_string(&addresses)?, r#"[{"street":"Main Street","city":"New York"}]"#);
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Encode`] where a value can't be stored as BSON.
///
/// # Cost
/// No round trip.
pub fn to_string<T: ToJson>(value: &T) -> Result<String> {
    serde_json::to_string(&Shown(value)).map_err(not_written::<T>)
}

/// The same as bytes, for the body of an answer.
///
/// ```
/// # use samples::model::*;
/// assert_eq!(odm::json::to_vec(&None::<Person>)?, b"null");
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Encode`] where a value can't be stored as BSON.
///
/// # Cost
/// No round trip.
pub fn to_vec<T: ToJson>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(&Shown(value)).map_err(not_written::<T>)
}

fn not_written<T>(error: serde_json::Error) -> Error {
    Error::Encode {
        field: decode::short_name(std::any::type_name::<T>()).to_owned(),
        source: Box::new(<bson::error::Error as serde::ser::Error>::custom(error)),
    }
}

/// Reads the body of a request.
///
/// ```
/// # use samples::model::*;
/// let body = br#"{ "street": 5 }"#;
/// let Err(Error::Json { values }) = odm::json::from_slice::<Address>(body) else { panic!() };
/// assert_eq!(values[0].to_string(), "`/street` must be a text");
/// assert_eq!(values[1].to_string(), "`/city` is missing");
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] with every mistake: of types, of bounds, of fields that are missing or can't be set.
///
/// # Cost
/// No round trip.
pub fn from_slice<T: FromJson>(json: &[u8]) -> Result<T> {
    T::read_json(&parsed(json)?)
}

/// Reads a text.
///
/// ```
/// # use samples::model::*;
/// let address: Address = odm::json::from_str(r#"{ "street": "Main Street", "city": "New York" }"#)?;
/// assert_eq!(address.city, "New York");
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] with every mistake.
///
/// # Cost
/// No round trip.
pub fn from_str<T: FromJson>(json: &str) -> Result<T> {
    from_slice(json.as_bytes())
}

/// Reads a tree.
///
/// ```
/// # use samples::model::*;
/// let json = odm::json::to_value(&Address { street: "Main Street".into(), city: "New York".into() })?;
/// assert_eq!(odm::json::from_value::<Address>(json)?.city, "New York");
/// # Ok::<(), odm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] with every mistake.
///
/// # Cost
/// No round trip.
pub fn from_value<T: FromJson>(json: Value) -> Result<T> {
    T::read_json(&json)
}

/// A value whose serde is its JSON: for the `Json` of a web framework, and for fields of a struct that is an answer.
///
/// ```
/// # use samples::model::*;
/// use odm::json::Json;
///
/// /// An answer with more than a document.
/// #[derive(Serialize)]
/// struct Shown {
///     user: Json<User>,
///     is_new: bool,
/// }
///
/// let id = ObjectId::from_bytes([7; 12]);
/// let shown = Shown { user: Json(User { id, name: "Kate".into() }), is_new: true };
/// let text = serde_json::to_string(&shown).unwrap();
/// assert_eq!(text, r#"{"user":{"id":"070707070707070707070707","name":"Kate"},"is_new":true}"#);
/// ```
///
/// Read by a web framework's `Json`, mistakes are one text. [`from_slice`] has them one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Json<T>(pub T);

impl<T: ToJson> Serialize for Json<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_json(serializer)
    }
}

impl<'de, T: FromJson> Deserialize<'de> for Json<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<T>, D::Error> {
        let (value, values) = parsed::parse(deserializer)?;
        if !values.is_empty() {
            return Err(D::Error::custom(Error::Json { values }));
        }
        T::read_json(&value).map(Json).map_err(D::Error::custom)
    }
}

/// Reads a text beside which the service gives some fields: the user of a session, the name in a path.
///
/// A field that is given can't be set by the text.
///
/// ```
/// # use samples::model::*;
/// let body = br#"{ "name": "Kate" }"#;
/// let id = ObjectId::new();
/// let user = odm::json::reader::<User>().set(|u| u.id, id)?.from_slice(body)?;
/// assert_eq!(user, User { id, name: "Kate".into() });
/// # Ok::<(), odm::Error>(())
/// ```
pub fn reader<T: Described>() -> Reader<T> {
    Reader {
        given: Vec::new(),
        of: PhantomData,
    }
}

/// Reads a text with the fields that the service gives: [`reader`].
#[must_use = "nothing is read until `from_slice` is called"]
#[derive(Debug)]
pub struct Reader<T> {
    given: Vec<input::Given>,
    of: PhantomData<fn() -> T>,
}

impl<T: Described> Reader<T> {
    /// Gives a field of the struct itself its value.
    ///
    /// # Errors
    /// [`Error::Encode`] where the value can't be stored as BSON.
    ///
    /// # Example
    /// ```
    /// # use samples::model::*;
    /// let reader = odm::json::reader::<Address>().set(|a| a.city, "New York")?;
    /// assert_eq!(reader.from_slice(br#"{ "street": "Main Street" }"#)?.city, "New York");
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn set<R, V, P: Step, C: Codec<V>>(
        mut self,
        field: impl FnOnce(T::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Result<Reader<T>> {
        field(T::json_paths());
        let mut value = encode_bson::<V, C>(P::PATH, value)?;
        // A reference with copies is given as the reference.
        let entry = P::FIELD.and_then(|field| field.entry);
        if let (Some(entry), Bson::Document(document)) = (entry, &mut value)
            && let Some(id) = document.remove(entry.id)
        {
            value = id;
        }
        self.given.push((P::PATH, value));
        Ok(self)
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// [`Error::Json`] with every mistake.
    ///
    /// # Cost
    /// No round trip.
    ///
    /// # Example
    /// ```
    /// # use samples::model::*;
    /// let reader = odm::json::reader::<Address>().set(|a| a.city, "New York")?;
    /// let Err(Error::Json { values }) = reader.from_slice(br#"{ "street": "Main Street", "city": "Boston" }"#) else {
    ///     panic!()
    /// };
    /// assert_eq!(values[0].to_string(), "`/city` can't be set: the service sets it");
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn from_slice(&self, json: &[u8]) -> Result<T>
    where
        T: Stored,
    {
        self.from_value(&parsed(json)?)
    }

    /// Reads a tree.
    ///
    /// # Errors
    /// [`Error::Json`] with every mistake.
    ///
    /// # Cost
    /// No round trip.
    pub fn from_value(&self, json: &Value) -> Result<T>
    where
        T: Stored,
    {
        read(&T::described(), json, &self.given)
    }
}

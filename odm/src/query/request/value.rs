//! The text of a parameter as a value of a field's type. The type's shape says how the text is read, so that one function reads
//! all types.

use crate::model::shape::{Body, EnumShape, Shape, Tagging, inner};
use crate::model::stored::Stored;
use crate::model::value::{ByValue, Compared, Value};
use crate::model::{date_text, numeric};
use crate::store::decode;
use mongodb::bson::{self, Bson};

/// The greatest length of one value, in characters.
pub(super) const MOST_CHARS: usize = 1_000;

/// A type whose values a request can name: a number, a text, a `bool`, a date, an id, a [`Ref`](crate::Ref), an enum whose
/// variants carry nothing, and a newtype around one of these that derives `Embed`.
///
/// ```
/// use odm::request::RequestValue;
///
/// fn is_taken<T: RequestValue>() {}
/// is_taken::<i32>();
/// is_taken::<odm::bson::oid::ObjectId>();
/// ```
pub trait RequestValue: Value + Stored + Compared<As: OneValue<Self>> {}

impl<T: Value + Stored + Compared<As: OneValue<T>>> RequestValue for T {}

/// One plain value, and not one of several parts.
#[diagnostic::on_unimplemented(
    message = "`{T}` has several parts, and a parameter of a request is one value",
    label = "not one plain value",
    note = "name a field of it: `#[request(path = address.city)] city: Eq<String>`",
    note = "the items of an array: `#[request(path = tags.any_item())] tag: OneOf<String>`"
)]
pub trait OneValue<T: ?Sized> {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized> OneValue<T> for ByValue {}

/// The text as a value of a type; or what the type takes.
pub(super) fn typed<V: Value + Stored>(text: &str) -> Result<V, String> {
    let accepts = || accepted(V::shape());
    let stored = stored(V::shape(), text).ok_or_else(accepts)?;
    decode::single_value(stored).map_err(|_| accepts())
}

/// The text as a value of this shape.
fn stored(shape: Shape, text: &str) -> Option<Bson> {
    if text.chars().count() > MOST_CHARS {
        return None;
    }
    match inner(shape) {
        Shape::Bool => text.parse().ok().map(Bson::Boolean),
        Shape::Int { min, max } => whole(text, min.into(), max.into())
            .and_then(|n| i32::try_from(n).ok())
            .map(Bson::Int32),
        Shape::Long { min, max } => whole(text, min, max).map(Bson::Int64),
        Shape::Double => numeric::double(text).map(Bson::Double),
        Shape::Decimal => numeric::decimal(text).map(Bson::Decimal128),
        Shape::String => Some(Bson::String(text.to_owned())),
        Shape::Char => text.parse::<char>().ok().map(|c| Bson::String(c.to_string())),
        Shape::ObjectId => bson::oid::ObjectId::parse_str(text).ok().map(Bson::ObjectId),
        Shape::Date => date_text::read_date(text).map(Bson::DateTime),
        Shape::Uuid => bson::Uuid::parse_str(text).ok().map(Bson::from),
        Shape::Enum(of) => names(of).find(|name| *name == text).map(Bson::from),
        _ => None,
    }
}

/// How a value of this shape is written.
fn accepted(shape: Shape) -> String {
    match inner(shape) {
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Int { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Long { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Double | Shape::Decimal => "a number, such as `2` or `-0.5`".to_owned(),
        Shape::String => format!("a text of at most {MOST_CHARS} characters"),
        Shape::Char => "one character".to_owned(),
        Shape::ObjectId => "an id of 24 hexadecimal digits".to_owned(),
        Shape::Date => "a time in RFC 3339, such as `2026-11-26T21:45:00Z`".to_owned(),
        Shape::Uuid => "a UUID, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`".to_owned(),
        Shape::Enum(of) => listed(names(of)),
        // By the compiler nothing else gets here but binary data, a timestamp and a regular expression.
        _ => "no value of this type as a text".to_owned(),
    }
}

fn whole(text: &str, min: i64, max: i64) -> Option<i64> {
    let n = text.parse().ok()?;
    (min <= n && n <= max && !text.starts_with('+')).then_some(n)
}

/// The names of the variants without content that are stored as their names.
fn names(of: &'static EnumShape) -> impl Iterator<Item = &'static str> {
    let by_name = of.tagging == Tagging::External;
    let variants = of.variants.iter().filter(move |_| by_name);
    variants
        .filter(|variant| matches!(variant.body, Body::Unit))
        .map(|variant| variant.name)
}

/// `` `a`, `b` and `c` ``, for a message.
pub(super) fn listed(names: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => "none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;
    use crate::expansion_fixture::Person;
    use mongodb::bson::oid::ObjectId;
    use mongodb::bson::{DateTime, Decimal128, Uuid};

    #[test]
    fn a_text_is_read_as_the_type_says() {
        assert_eq!(typed("-7"), Ok(-7_i32));
        assert_eq!(typed("255"), Ok(255_u8));
        assert_eq!(typed("9007199254740993"), Ok(9_007_199_254_740_993_u64));
        assert_eq!(typed("1e3"), Ok(1_000.0_f64));
        assert_eq!(typed("true"), Ok(true));
        assert_eq!(typed("x"), Ok('x'));
        assert_eq!(typed(""), Ok(String::new()));
        assert_eq!(typed("{\"$gt\":1}"), Ok("{\"$gt\":1}".to_owned()));
        let id = ObjectId::from_bytes([7; 12]);
        assert_eq!(typed(&id.to_hex()), Ok(id));
        assert_eq!(typed(&id.to_hex()), Ok(Ref::<Person>::new(id)));
        assert_eq!(
            typed("1970-01-01T00:00:01+00:00"),
            Ok(DateTime::from_millis(1_000))
        );
        assert_eq!(typed("0.10"), Ok("0.10".parse::<Decimal128>().unwrap()));
        let uuid = Uuid::from_bytes([9; 16]);
        assert_eq!(typed(&uuid.to_string()), Ok(uuid));
        assert_eq!(typed("5"), Ok(Some(5_i64)));
    }

    #[test]
    fn what_is_no_value_of_the_type_is_refused() {
        fn refused<V: Value + Stored>(texts: &[&str]) -> String {
            let said: Vec<String> = texts.iter().filter_map(|text| typed::<V>(text).err()).collect();
            assert_eq!(said.len(), texts.len(), "{texts:?}");
            said.into_iter().next().unwrap_or_default()
        }
        assert_eq!(
            refused::<u8>(&["", "-1", "256", "+1", " 1", "1.0", "0x1", "many"]),
            "a whole number from 0 to 255"
        );
        assert_eq!(
            refused::<f64>(&["NaN", "inf", "-infinity", "1e999", ""]),
            "a number, such as `2` or `-0.5`"
        );
        assert_eq!(refused::<bool>(&["1", "True", ""]), "`true` or `false`");
        refused::<u64>(&["9223372036854775808"]);
        refused::<Decimal128>(&["NaN", "Infinity", "", "-", ".", "e5", "5e"]);
        refused::<char>(&["", "xy"]);
        refused::<ObjectId>(&["1", "{\"$oid\":\"0\"}"]);
        refused::<DateTime>(&["2026-11-26", "now", "1998-12-31T23:59:60Z"]);
        assert_eq!(
            typed("+010000-01-01T00:00:00.000Z"),
            Ok(DateTime::from_millis(253_402_300_800_000))
        );
        refused::<String>(&[&"x".repeat(MOST_CHARS + 1)]);
        assert_eq!(
            refused::<mongodb::bson::Regex>(&[".*"]),
            "no value of this type as a text"
        );
    }
}

//! The kinds of values, and the forms of text.

use bson::RawBsonRef;
use bson::spec::BinarySubtype;
use serde::{Deserialize, Serialize};

/// The kind of a value, by the names of MongoDB's `$type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// Null.
    Null,
    /// A boolean.
    Bool,
    /// An integer of 32 bits.
    Int,
    /// An integer of 64 bits.
    Long,
    /// A floating-point number.
    Double,
    /// A decimal number.
    Decimal,
    /// Text.
    String,
    /// An ObjectId.
    ObjectId,
    /// A UUID: binary data of its subtype.
    Uuid,
    /// Other binary data.
    BinData,
    /// A date.
    Date,
    /// An internal time stamp.
    Timestamp,
    /// A regular expression.
    Regex,
    /// An embedded document.
    Object,
    /// An array.
    Array,
    /// A kind that applications do not write any more: JavaScript, symbols, `undefined`, `MinKey`, `MaxKey`, `DBPointer`.
    Other,
}

impl Kind {
    /// All kinds, in their order.
    pub const ALL: [Self; 16] = [
        Self::Null,
        Self::Bool,
        Self::Int,
        Self::Long,
        Self::Double,
        Self::Decimal,
        Self::String,
        Self::ObjectId,
        Self::Uuid,
        Self::BinData,
        Self::Date,
        Self::Timestamp,
        Self::Regex,
        Self::Object,
        Self::Array,
        Self::Other,
    ];

    /// The kind of a value.
    pub fn of(value: &RawBsonRef<'_>) -> Self {
        match value {
            RawBsonRef::Null => Self::Null,
            RawBsonRef::Boolean(_) => Self::Bool,
            RawBsonRef::Int32(_) => Self::Int,
            RawBsonRef::Int64(_) => Self::Long,
            RawBsonRef::Double(_) => Self::Double,
            RawBsonRef::Decimal128(_) => Self::Decimal,
            RawBsonRef::String(_) => Self::String,
            RawBsonRef::ObjectId(_) => Self::ObjectId,
            RawBsonRef::Binary(binary)
                if matches!(binary.subtype, BinarySubtype::Uuid | BinarySubtype::UuidOld) =>
            {
                Self::Uuid
            }
            RawBsonRef::Binary(_) => Self::BinData,
            RawBsonRef::DateTime(_) => Self::Date,
            RawBsonRef::Timestamp(_) => Self::Timestamp,
            RawBsonRef::RegularExpression(_) => Self::Regex,
            RawBsonRef::Document(_) => Self::Object,
            RawBsonRef::Array(_) => Self::Array,
            _ => Self::Other,
        }
    }

    /// The name of `$type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Long => "long",
            Self::Double => "double",
            Self::Decimal => "decimal",
            Self::String => "string",
            Self::ObjectId => "objectId",
            Self::Uuid => "uuid",
            Self::BinData => "binData",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Regex => "regex",
            Self::Object => "object",
            Self::Array => "array",
            Self::Other => "other",
        }
    }

    /// Whether its values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Long | Self::Double | Self::Decimal)
    }
}

/// What text is a text of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextForm {
    /// 24 hexadecimal digits: an ObjectId.
    Hex,
    /// A UUID.
    Uuid,
    /// `0` or `1`.
    Flag01,
    /// A decimal number.
    Number,
    /// A date without a time: `2024-05-17`.
    Date,
    /// A date with a time, as RFC 3339 has it.
    Datetime,
    /// `yes` or `no`.
    YesNo,
    /// `true` or `false`.
    Boolean,
    /// An address of the web.
    Url,
    /// An address of mail.
    Email,
}

impl TextForm {
    /// All forms.
    pub const ALL: [Self; 10] = [
        Self::Hex,
        Self::Uuid,
        Self::Flag01,
        Self::Number,
        Self::Date,
        Self::Datetime,
        Self::YesNo,
        Self::Boolean,
        Self::Url,
        Self::Email,
    ];

    /// The form of a text, where it has one of them.
    pub fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
        let hex = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
        match bytes {
            [] => None,
            b"0" | b"1" => Some(Self::Flag01),
            _ if bytes.eq_ignore_ascii_case(b"yes") || bytes.eq_ignore_ascii_case(b"no") => Some(Self::YesNo),
            _ if bytes.eq_ignore_ascii_case(b"true") || bytes.eq_ignore_ascii_case(b"false") => {
                Some(Self::Boolean)
            }
            _ if bytes.len() == 24 && hex(bytes) && !digits(bytes) => Some(Self::Hex),
            _ if bytes.len() == 36 && is_uuid(bytes) => Some(Self::Uuid),
            _ if is_number(bytes) => Some(Self::Number),
            _ if is_date(bytes) => Some(if bytes.len() == 10 {
                Self::Date
            } else {
                Self::Datetime
            }),
            _ if text.starts_with("http://") || text.starts_with("https://") => Some(Self::Url),
            _ if is_mail(text) => Some(Self::Email),
            _ => None,
        }
    }

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hex => "ObjectIds as text",
            Self::Uuid => "UUIDs as text",
            Self::Flag01 => "`0` and `1` as text",
            Self::Number => "numbers as text",
            Self::Date => "dates as text",
            Self::Datetime => "dates with times as text",
            Self::YesNo => "`yes` and `no`",
            Self::Boolean => "`true` and `false` as text",
            Self::Url => "web addresses",
            Self::Email => "mail addresses",
        }
    }
}

fn is_number(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut parts = bytes.splitn(2, |byte| *byte == b'.');
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(digits) && parts.next().is_none_or(digits)
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// Whether text begins with `2024-05-17`, and ends there or has a time behind it.
fn is_date(bytes: &[u8]) -> bool {
    let fits = |form: &[u8], bytes: &[u8]| {
        bytes.len() >= form.len()
            && form.iter().zip(bytes).all(|(form, byte)| match form {
                b'9' => byte.is_ascii_digit(),
                other => other == byte,
            })
    };
    match bytes.len() {
        10 => fits(b"9999-99-99", bytes),
        19.. => fits(b"9999-99-99T99:99:99", bytes) || fits(b"9999-99-99 99:99:99", bytes),
        _ => false,
    }
}

fn is_mail(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else {
        return false;
    };
    !name.is_empty()
        && host.contains('.')
        && !host.contains('@')
        && !text.contains(char::is_whitespace)
        && !host.starts_with('.')
        && !host.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_form_of_what_they_stand_for() {
        for (text, form) in [
            ("1", Some(TextForm::Flag01)),
            ("-12.50", Some(TextForm::Number)),
            ("1.", None),
            ("", None),
            ("2024-05-17", Some(TextForm::Date)),
            ("2024-05-17T10:00:00Z", Some(TextForm::Datetime)),
            ("2024-05-17 10", None),
            ("6600dd05158ff4fd7d00030b", Some(TextForm::Hex)),
            ("9b2f4f6a-3b0e-4a0e-8a53-0a6f6f0c9a11", Some(TextForm::Uuid)),
            ("No", Some(TextForm::YesNo)),
            ("a@b.example", Some(TextForm::Email)),
            ("a@b", None),
            ("https://a.example", Some(TextForm::Url)),
        ] {
            assert_eq!(TextForm::of(text), form, "{text}");
        }
    }
}

//! The mistake at one place of a JSON text.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of a JSON text that can't be taken. It is serialized with these names, so that it can stand in an answer as it is. It
/// does not repeat the value.
///
/// ```
/// use odm::error::{BadValue, ValueProblem};
///
/// let bad = BadValue::new("/addresses/0/city", ValueProblem::WrongType, "must be a text");
/// assert_eq!(bad.to_string(), "`/addresses/0/city` must be a text");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BadValue {
    /// The place: a JSON pointer (RFC 6901), `/addresses/0/city`. Empty for the whole text.
    pub pointer: String,
    /// The reason.
    pub problem: ValueProblem,
    /// The rule that does not hold there, in words: `must be a text`.
    pub rule: String,
}

impl BadValue {
    /// At this place.
    ///
    /// ```
    /// use odm::error::{BadValue, ValueProblem};
    ///
    /// let bad = BadValue::new("", ValueProblem::Syntax, "is no JSON");
    /// assert_eq!(bad.to_string(), "the value is no JSON");
    /// ```
    pub fn new(pointer: impl Into<String>, problem: ValueProblem, rule: impl Into<String>) -> BadValue {
        BadValue {
            pointer: pointer.into(),
            problem,
            rule: rule.into(),
        }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => write!(f, "the value {}", self.rule),
            pointer => write!(f, "`{pointer}` {}", self.rule),
        }
    }
}

/// Why a value of a JSON text can't be taken. It is serialized as the name in small letters: `"wrong_type"`.
///
/// ```
/// use odm::error::ValueProblem;
///
/// assert_ne!(ValueProblem::Missing, ValueProblem::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ValueProblem {
    /// The text is no JSON.
    Syntax,
    /// The value is not one of the field's type.
    WrongType,
    /// The field is required.
    Missing,
    /// No field has this name, and the struct refuses others; or the field is private.
    Unknown,
    /// The service sets the field, and the client does not.
    ReadOnly,
    /// The same field is given twice, by two of its names.
    Repeated,
    /// The value breaks a declared bound.
    Bound,
    /// The type of the field refuses the value for another reason.
    Refused,
}

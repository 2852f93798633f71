//! A broken rule, and its text.

use mongodb::bson::Bson;
use std::fmt;

/// `email`: the pattern of HTML's `<input type="email">`.
pub(crate) const EMAIL: &str = "[a-zA-Z0-9.!#$%&'*+/=?\\^_`\\{|\\}~\\-]+@[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])?)*";

/// `url`: an absolute address of the web in ASCII, with a host, and what may follow it.
pub(crate) const URL: &str = "https?://(?:[a-zA-Z0-9](?:[a-zA-Z0-9.\\-]*[a-zA-Z0-9])?|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{1,5})?(?:[/?#][!-~]*)?";

/// The strings that match a pattern, in words.
pub(crate) fn described(pattern: &str) -> String {
    match pattern {
        EMAIL => "an e-mail address".to_owned(),
        URL => "an address of the web (`http://…` or `https://…`)".to_owned(),
        pattern => format!("a match of `{pattern}`"),
    }
}

/// A broken rule.
///
/// ```
/// use odm::bson::Bson;
/// use odm::error::{Rule, Violation};
/// use odm::types::Number;
///
/// let violation = Violation::new("age", Rule::Max(Number::Int(150)), Some(Bson::Int32(200)));
/// assert_eq!(violation.to_string(), "`age` must be at most 150 (it is 200)");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Violation {
    /// The dotted path of the field, with the positions of array items (`addresses.2.city`); empty for the document.
    pub path: String,
    /// The rule that was broken.
    pub rule: Rule,
    /// The value that broke it, if it is small enough to show; `None` for a missing field.
    pub value: Option<Bson>,
    /// The id of the stored document whose value prevents a change (`inc` past a bound, for instance); `None` where the value
    /// is part of the operation itself.
    pub id: Option<Box<Bson>>,
}

impl Violation {
    /// A violation of `rule` by `value`. A large value is left out: an array, a document, binary data, code, or a string
    /// of more than 200 bytes.
    ///
    /// ```
    /// use odm::bson::Bson;
    /// use odm::error::{Rule, Violation};
    ///
    /// let long = Violation::new("name", Rule::MaxLength(100), Some(Bson::String("x".repeat(300))));
    /// assert_eq!(long.value, None);
    /// ```
    pub fn new(path: impl Into<String>, rule: Rule, value: Option<Bson>) -> Violation {
        let shown = |v: &Bson| match v {
            Bson::String(s) => s.len() <= 200,
            Bson::Array(_) | Bson::Document(_) | Bson::Binary(_) | Bson::JavaScriptCode(_) => false,
            _ => true,
        };
        Violation {
            path: path.into(),
            rule,
            value: value.filter(shown),
            id: None,
        }
    }

    /// The same for the value of a stored document that prevents a change.
    pub(crate) fn stored_in(mut self, id: &Bson) -> Violation {
        self.id = Some(Box::new(id.clone()));
        self
    }
}

/// The rules that a declared field can break.
///
/// ```
/// use odm::error::Rule;
///
/// assert_eq!(Rule::MaxItems(10).to_string(), "may hold at most 10 items");
/// assert_eq!(Rule::Required.to_string(), "is missing");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// `#[embed(max = N)]`: at most N items.
    MaxItems(u64),
    /// A fixed array or tuple: exactly this number of items.
    Items(u64),
    /// `#[field(max_len = N)]`: at most N code points or bytes.
    MaxLength(u64),
    /// `#[field(min_len = N)]`: at least N code points or bytes.
    MinLength(u64),
    /// `#[embed(key_len = N)]`: a map's key of at most N code points.
    KeyLength(u64),
    /// `#[field(min = N)]`, or the least value of the Rust type.
    Min(Number),
    /// `#[field(max = N)]`, or the greatest value of the Rust type.
    Max(Number),
    /// `#[embed(depth = N)]`: at most N levels.
    Depth(u32),
    /// The BSON types that the field may have.
    Type(Vec<String>),
    /// `#[field(one_of(…))]`, or the names of an enum's variants: one of these values.
    OneOf(Vec<Bson>),
    /// `#[field(pattern = "…")]`, `email` or `url`: a string that matches this expression as a whole.
    Pattern(String),
    /// `#[field(multiple_of = N)]`: a multiple of N.
    MultipleOf(i64),
    /// `#[field(unique_items)]`: no item of the array equals another one.
    UniqueItems,
    /// `check` and `check_with`: a comparison of fields, as it is declared, or the message of the application's function.
    Check(String),
    /// The field must be there.
    Required,
    /// The field is not declared, and the struct refuses others.
    Unknown,
    /// A map's key can't be stored: it is empty, starts with `$`, or has a `.` or a zero byte in it.
    Key(String),
    /// MongoDB's own rule for `_id`, or a rule of a validator that this library did not create: its operator and reason, as the
    /// server reported them.
    Other(String),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::MaxItems(n) => write!(f, "may hold at most {n} items"),
            Rule::Items(n) => write!(f, "must hold exactly {n} items"),
            Rule::MaxLength(n) => write!(f, "may be at most {n} long"),
            Rule::MinLength(n) => write!(f, "must be at least {n} long"),
            Rule::KeyLength(n) => write!(f, "may have keys of at most {n} characters"),
            Rule::Min(n) => write!(f, "must be at least {n}"),
            Rule::Max(n) => write!(f, "must be at most {n}"),
            Rule::Depth(n) => write!(f, "may be nested at most {n} levels deep"),
            Rule::Type(types) => write!(f, "must be of type {}", types.join(" or ")),
            Rule::OneOf(values) => {
                f.write_str("must be one of ")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
            Rule::Pattern(text) => write!(f, "must be {}", described(text)),
            Rule::MultipleOf(n) => write!(f, "must be a multiple of {n}"),
            Rule::UniqueItems => f.write_str("may hold no item twice"),
            Rule::Check(text) => f.write_str(text),
            Rule::Required => f.write_str("is missing"),
            Rule::Unknown => f.write_str("is not a declared field"),
            Rule::Key(key) => write!(
                f,
                "has the key {key:?}, which can't be stored: a key is not empty, does not start with `$` and has neither `.` nor a zero byte in it"
            ),
            Rule::Other(text) => write!(f, "breaks the rule {text}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str("the document ")?,
            path => write!(f, "`{path}` ")?,
        }
        match (&self.id, &self.value) {
            (None, None) => self.rule.fmt(f),
            (None, Some(value)) => write!(f, "{} (it is {value})", self.rule),
            (Some(id), None) => write!(f, "of the document with _id {id} {}", self.rule),
            (Some(id), Some(value)) => {
                write!(
                    f,
                    "of the document with _id {id} {} ({value} is stored)",
                    self.rule
                )
            }
        }
    }
}

/// A bound's number, as it was written.
///
/// ```
/// use odm::types::Number;
///
/// assert_eq!(Number::Int(150).to_string(), "150");
/// assert_eq!(Number::Float(0.5).to_string(), "0.5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Written without a point.
    Int(i64),
    /// Written with a point.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(n) => n.fmt(f),
            Number::Float(n) => n.fmt(f),
        }
    }
}

impl Number {
    /// The nearest double.
    pub(crate) fn value(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(n) => n,
        }
    }
}

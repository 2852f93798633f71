//! The rules that a field declares for its values, beside their length and range: a pattern, a list of values, a factor, a
//! function of the application, and how they are normalized.

use crate::Rule;
use crate::error::violation::{EMAIL, URL};
use mongodb::bson::{Bson, Document, RawBsonRef, doc};
use regex_lite::Regex;
use std::fmt;
use std::sync::OnceLock;

/// The beginning and the end of the whole value. `$` would match before a line break at the end too.
const START: &str = "^(?:";
const END: &str = ")\\z";

/// The rules of one field. `None`, and an empty list, are "not declared".
#[derive(Debug)]
pub struct ValueRules {
    /// `#[field(pattern = "…")]`, `email`, `url`.
    pub pattern: Option<fn() -> &'static Pattern>,
    /// `#[field(one_of(…))]`.
    pub one_of: &'static [Choice],
    /// `#[field(multiple_of = N)]`.
    pub multiple_of: Option<i64>,
    /// `#[field(check_with = f)]`.
    pub check: Option<ValueCheck>,
    /// `#[field(normalize(…))]`.
    pub normalize: Normalize,
}

impl ValueRules {
    /// No rule.
    pub const NONE: ValueRules = ValueRules {
        pattern: None,
        one_of: &[],
        multiple_of: None,
        check: None,
        normalize: Normalize::NONE,
    };

    /// The pattern in the form that the server and the library match.
    pub(crate) fn regex(&self) -> Option<&'static Pattern> {
        self.pattern.map(|pattern| pattern())
    }

    /// The first rule that a value breaks. A rule says nothing about a value of another type than its own.
    pub(crate) fn broken(&self, value: RawBsonRef<'_>) -> Option<Rule> {
        if let (Some(pattern), RawBsonRef::String(text)) = (self.regex(), value)
            && !pattern.matches(text)
        {
            return Some(Rule::Pattern(pattern.text().to_owned()));
        }
        if !self.one_of.is_empty() && !self.one_of.iter().any(|choice| choice.is(value)) {
            return Some(Rule::OneOf(self.values()));
        }
        if let (Some(factor), Some(n)) = (self.multiple_of, whole(value))
            && n.checked_rem(factor).is_some_and(|rest| rest != 0)
        {
            return Some(Rule::MultipleOf(factor));
        }
        let check = self.check?;
        (check.call)(value).map(Rule::Check)
    }

    /// The listed values.
    pub(crate) fn values(&self) -> Vec<Bson> {
        self.one_of.iter().map(|choice| choice.bson()).collect()
    }
}

// Those of one declaration.
impl PartialEq for ValueRules {
    fn eq(&self, other: &ValueRules) -> bool {
        std::ptr::eq(self, other)
    }
}

/// An expression that a whole string has to match, in the syntax that the server's expressions (PCRE2) and the library's have
/// in common, without characters that the two could understand differently.
pub struct Pattern {
    text: &'static str,
    whole: OnceLock<String>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// The derive checks and rewrites what the attribute says.
    pub const fn new(text: &'static str) -> Pattern {
        Pattern {
            text,
            whole: OnceLock::new(),
            compiled: OnceLock::new(),
        }
    }

    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    /// With its beginning and its end.
    pub(crate) fn whole(&self) -> &str {
        self.whole.get_or_init(|| [START, self.text, END].concat())
    }

    /// Whether the whole string matches. A pattern that is too large to be compiled here is left to the server.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.whole()).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    /// The pattern of a validator, without its beginning and its end.
    pub(crate) fn of_whole(whole: &str) -> Option<&str> {
        whole.strip_prefix(START)?.strip_suffix(END)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

/// `#[field(email)]`.
pub fn email() -> &'static Pattern {
    static PATTERN: Pattern = Pattern::new(EMAIL);
    &PATTERN
}

/// `#[field(url)]`.
pub fn url() -> &'static Pattern {
    static PATTERN: Pattern = Pattern::new(URL);
    &PATTERN
}

/// One of the values that a field may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// A string.
    Text(&'static str),
    /// An integer.
    Int(i64),
}

impl Choice {
    pub(crate) fn bson(self) -> Bson {
        match self {
            Choice::Text(text) => text.into(),
            Choice::Int(n) => i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32),
        }
    }

    /// Whether a value is this one: a number whatever its type.
    pub(crate) fn is(self, value: RawBsonRef<'_>) -> bool {
        match (self, value) {
            (Choice::Text(text), RawBsonRef::String(value)) => text == value,
            (Choice::Int(n), value) => whole(value) == Some(n),
            _ => false,
        }
    }
}

/// An integer of either type.
pub(crate) fn whole(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(n) => Some(n.into()),
        RawBsonRef::Int64(n) => Some(n),
        _ => None,
    }
}

/// A function of the application that says whether a value is valid.
#[derive(Clone, Copy, Debug)]
pub struct ValueCheck {
    /// Its path, as it was written.
    pub name: &'static str,
    /// Decodes the value and calls the function; its message where the value is not valid.
    pub call: for<'v> fn(RawBsonRef<'v>) -> Option<String>,
}

/// How the strings of a field are changed before they are stored and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Normalize {
    /// Without white space at their ends: `str::trim`.
    pub trim: bool,
    /// In lowercase: `str::to_lowercase`.
    pub lowercase: bool,
}

impl Normalize {
    /// Strings stay as they are.
    pub const NONE: Normalize = Normalize {
        trim: false,
        lowercase: false,
    };
}

/// The rules as keywords of a schema, beside those of the value's type. `also_null`: the list of values stands apart from the
/// type, which says whether a value may be `null`.
pub(crate) fn keywords(rules: &ValueRules, also_null: bool) -> Document {
    let mut keywords = doc! {};
    if let Some(pattern) = rules.regex() {
        keywords.insert("pattern", pattern.whole());
    }
    if !rules.one_of.is_empty() {
        let mut values = rules.values();
        values.extend(also_null.then_some(Bson::Null));
        keywords.insert("enum", values);
    }
    if let Some(n) = rules.multiple_of {
        keywords.insert("multipleOf", Choice::Int(n).bson());
    }
    keywords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_fixed_patterns() {
        for (text, is_email) in [
            ("kate@example.com", true),
            ("kate.monster+news@mail.avenue-q.example", true),
            ("kate@localhost", true),
            ("kate", false),
            ("kate@", false),
            ("@example.com", false),
            ("kate@example..com", false),
            ("kate@-example.com", false),
            ("kate monster@example.com", false),
            ("kate@example.com\n", false),
            ("käte@example.com", false),
        ] {
            assert_eq!(email().matches(text), is_email, "{text:?}");
        }
        for (text, is_url) in [
            ("https://example.com", true),
            ("http://localhost:8080/a/b?c=d#e", true),
            ("https://[::1]:80/", true),
            ("https://example.com?q=1", true),
            ("ftp://example.com", false),
            ("https://", false),
            ("https:///path", false),
            ("https://example.com/a b", false),
            ("https://example.com/\n", false),
            ("javascript:alert(1)", false),
        ] {
            assert_eq!(url().matches(text), is_url, "{text:?}");
        }
    }

    #[test]
    fn a_pattern_is_matched_by_the_whole_value() {
        let pattern = Pattern::new("a|bc");
        for (text, fits) in [
            ("a", true),
            ("bc", true),
            ("ab", false),
            ("a\n", false),
            ("", false),
        ] {
            assert_eq!(pattern.matches(text), fits, "{text:?}");
        }
        assert_eq!(Pattern::of_whole(pattern.whole()), Some("a|bc"));
    }
}

//! Entity tags of versions, and the condition `If-Match` of a request.

use crate::model::document::Versioned;
use std::fmt;

/// The version of a document as an entity tag: `"7"`, for the header `ETag` of an answer.
///
/// ```
/// use odm::patch::Etag;
///
/// assert_eq!(Etag::from(7).to_string(), "\"7\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Etag(i64);

impl Etag {
    /// The tag of a document as it was read.
    ///
    /// ```
    /// use odm::patch::Etag;
    /// use odm::prelude::*;
    ///
    /// #[derive(Document)]
    /// #[document(collection = "users", version)]
    /// struct User {
    ///     id: i32,
    ///     version: i64,
    /// }
    ///
    /// assert_eq!(Etag::of(&User { id: 1, version: 7 }), Etag::from(7));
    /// ```
    pub fn of<T: Versioned>(document: &T) -> Etag {
        Etag(document.version().unwrap_or_default())
    }

    /// The version.
    ///
    /// ```
    /// assert_eq!(odm::patch::Etag::from(7).version(), 7);
    /// ```
    pub const fn version(self) -> i64 {
        self.0
    }
}

impl From<i64> for Etag {
    fn from(version: i64) -> Etag {
        Etag(version)
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// The condition of the header `If-Match`: the document has one of these versions, or any.
///
/// A weak tag (`W/"7"`) never matches here, as HTTP says (RFC 9110, 13.1.1), and neither does a tag that is no version: then
/// the update is refused with [`Error::Conflict`](crate::Error::Conflict), which names the version -1 as that which was read. Of
/// several versions the greatest is compared: a document that has an older one has not changed to it since.
///
/// ```
/// use odm::patch::{Etag, IfMatch};
///
/// assert_eq!(IfMatch::parse("\"7\""), Etag::from(7).into());
/// assert_eq!(IfMatch::parse("*"), IfMatch::ANY);
/// assert_ne!(IfMatch::parse("W/\"7\""), Etag::from(7).into());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IfMatch(Option<i64>);

/// No document has this version.
const NO_VERSION: i64 = -1;

impl IfMatch {
    /// `*`: the document exists, with whatever version.
    pub const ANY: IfMatch = IfMatch(None);

    /// Reads the header. One that is malformed matches no document.
    ///
    /// ```
    /// use odm::patch::{Etag, IfMatch};
    ///
    /// assert_eq!(IfMatch::parse("\"a, b\", \"7\""), Etag::from(7).into());
    /// ```
    pub fn parse(header: &str) -> IfMatch {
        if header.trim() == "*" {
            return IfMatch::ANY;
        }
        IfMatch(Some(
            versions(header).into_iter().flatten().max().unwrap_or(NO_VERSION),
        ))
    }

    /// The version that the document has to have; `None`: any.
    pub(crate) const fn version(self) -> Option<i64> {
        self.0
    }
}

impl From<Etag> for IfMatch {
    fn from(tag: Etag) -> IfMatch {
        IfMatch(Some(tag.0))
    }
}

/// The versions of the strong tags of a list; `None` where it is malformed.
fn versions(header: &str) -> Option<Vec<i64>> {
    let mut versions = Vec::new();
    let mut rest = header.trim();
    while !rest.is_empty() {
        let (is_weak, tag) = match rest.strip_prefix("W/") {
            Some(tag) => (true, tag),
            None => (false, rest),
        };
        let (tag, after) = tag.strip_prefix('"')?.split_once('"')?;
        let version = tag
            .parse()
            .ok()
            .filter(|version: &i64| version.to_string() == tag);
        versions.extend(version.filter(|_| !is_weak));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_greatest_of_its_versions() {
        for (header, version) in [
            ("\"7\"", Some(7)),
            (" \"7\" ", Some(7)),
            ("\"7\", \"9\",\"8\"", Some(9)),
            ("\"a,b\" , \"7\"", Some(7)),
            ("W/\"9\", \"7\"", Some(7)),
            ("\"0\"", Some(0)),
            ("*", None),
            (" * ", None),
            // What matches no document.
            ("W/\"7\"", Some(NO_VERSION)),
            ("\"07\"", Some(NO_VERSION)),
            ("\"+7\"", Some(NO_VERSION)),
            ("\"99999999999999999999\"", Some(NO_VERSION)),
            ("7", Some(NO_VERSION)),
            ("\"7", Some(NO_VERSION)),
            ("\"7\" \"8\"", Some(NO_VERSION)),
            ("w/\"7\"", Some(NO_VERSION)),
            ("\"é\"", Some(NO_VERSION)),
            ("", Some(NO_VERSION)),
        ] {
            assert_eq!(IfMatch::parse(header).version(), version, "{header}");
        }
    }
}

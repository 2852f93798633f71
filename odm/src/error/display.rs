//! The parts of error messages that depend on a value.

use crate::error::missing::MissingTargets;
use mongodb::bson::{Bson, Document};
use std::fmt;

pub(super) struct ShowUnknown<'a>(pub(super) &'a bool);
impl fmt::Display for ShowUnknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self.0 {
            f.write_str("; the outcome of the operation is unknown: read what is stored before repeating it")
        } else {
            Ok(())
        }
    }
}

pub(super) struct Last<'a>(pub(super) &'a Option<Box<Document>>);
impl fmt::Display for Last<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(last) => write!(f, " after the document with {}", ShowPairs(last)),
            None => Ok(()),
        }
    }
}

/// Which document there is none of, and whether it is deleted and kept.
pub(super) struct ShowSought<'a>(pub(super) &'a Document, pub(super) &'a bool);
impl fmt::Display for ShowSought<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self.1 {
            let key = ShowPairs(self.0);
            return write!(
                f,
                "the document with {key} is deleted: restore it, or purge it to use its id again"
            );
        }
        if self.0.is_empty() {
            return f.write_str("no document matches");
        }
        write!(f, "no document has {}", ShowPairs(self.0))
    }
}

pub(super) struct OfId<'a>(pub(super) &'a Option<String>);
impl fmt::Display for OfId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(f, " of the document with _id {id}"),
            None => Ok(()),
        }
    }
}

/// Ids that one document each should have.
pub(super) struct ShowRepeated<'a>(pub(super) &'a [Bson]);
impl fmt::Display for ShowRepeated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            [_] => "the _id ",
            _ => "one of the _ids ",
        })?;
        ShowIds(self.0).fmt(f)
    }
}

pub(super) struct Written<'a>(pub(super) &'a bool);
impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self.0 {
            "All of them were written"
        } else {
            "Nothing was written"
        })
    }
}

pub(super) struct ShowList<'a, T>(pub(super) &'a [T]);
impl<T: fmt::Display> fmt::Display for ShowList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, one) in self.0.iter().enumerate() {
            write!(f, "{}{one}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

pub(super) struct ShowPairs<'a>(pub(super) &'a Document);
impl fmt::Display for ShowPairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}`{name}` {value}", if i == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

/// The values of a unique key. A value is missing that a collation compares, and of which the server shows its sort key.
pub(super) struct ShowTaken<'a>(pub(super) &'a [String], pub(super) &'a Document);
impl fmt::Display for ShowTaken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShowTaken(fields, value) = self;
        if fields.iter().all(|name| value.contains_key(name)) && !value.is_empty() {
            return ShowPairs(value).fmt(f);
        }
        if fields.is_empty() {
            return f.write_str("the same values");
        }
        for (i, name) in fields.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " and " })?;
            match value.get(name) {
                Some(value) => write!(f, "`{name}` {value}")?,
                None => write!(f, "a value of `{name}` that the collation takes for the same")?,
            }
        }
        Ok(())
    }
}

/// What to do where a document without the field counts as one with `null`.
pub(super) struct SharedNull<'a>(pub(super) &'a Document);
impl fmt::Display for SharedNull<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().find(|(_, value)| **value == Bson::Null) {
            Some((name, _)) => write!(
                f,
                "; `null` is also the value of a document that lacks the field: leave such documents out of the index by `sparse` or \
                 `partial = |p| p.{name}.exists(true)`, and store nothing for `None`"
            ),
            None => Ok(()),
        }
    }
}

pub(super) struct Unfit<'a>(pub(super) &'a Option<Box<Bson>>);
impl fmt::Display for Unfit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(id) => write!(
                f,
                ": the document with _id {id}, which does not match the rest of the upsert's condition"
            ),
            None => Ok(()),
        }
    }
}

pub(super) struct Reason<'a>(pub(super) &'a Option<String>);
impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

pub(super) struct ShowIds<'a>(pub(super) &'a [Bson]);
impl fmt::Display for ShowIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 10;
        for (i, id) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{id}", if i == 0 { "" } else { ", " })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The ids of documents that don't exist, and those that other references name.
pub(super) struct ShowMissing<'a>(pub(super) &'a [Bson], pub(super) &'a [MissingTargets]);
impl fmt::Display for ShowMissing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShowIds(self.0).fmt(f)?;
        for other in self.1 {
            let (field, target) = (&other.field, other.target);
            write!(
                f,
                "; `{field}` in `{}` to those of `{target}`: {}",
                other.collection,
                ShowIds(&other.ids)
            )?;
        }
        Ok(())
    }
}

/// The path of a field before what is wrong there; nothing for the document itself.
pub(super) struct ShowAt<'a>(pub(super) &'a str);
impl fmt::Display for ShowAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            path => write!(f, "`{path}`: "),
        }
    }
}

/// Where a change stream can't go on.
pub(super) struct ShowPosition<'a>(pub(super) &'a Option<String>);
impl fmt::Display for ShowPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "at the position that is stored as `{name}`"),
            None => f.write_str("where it was"),
        }
    }
}

pub(super) struct ShowMaybe<'a, T>(pub(super) &'a Option<T>);
impl<T: fmt::Display> fmt::Display for ShowMaybe<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// The variant that a document has.
pub(super) struct ShowFound<'a>(pub(super) &'a Option<String>);
impl fmt::Display for ShowFound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, "the variant `{name}`"),
            None => f.write_str("`null` or missing"),
        }
    }
}

pub(super) struct ShowBytes<'a>(pub(super) &'a Option<u64>);
impl fmt::Display for ShowBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(size) => write!(f, "{size} bytes, "),
            None => Ok(()),
        }
    }
}

/// Fields with their sizes, and what is said of them before.
pub(super) struct Sizes<'a>(pub(super) &'static str, pub(super) &'a [(String, u64)]);
impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, size)) in self.1.iter().enumerate() {
            match i {
                0 => write!(f, "; {}", self.0)?,
                _ => f.write_str(", ")?,
            }
            write!(f, "`{name}` {size} bytes")?;
        }
        Ok(())
    }
}

/// A number of documents.
/// What to do about a field that is not changed as others are.
pub(super) struct HowToChange<'a>(pub(super) &'a str);
impl fmt::Display for HowToChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            "_id" => ": insert a new document with the other value, and delete this one",
            _ => {
                " here: it is in the shard key, or the same in other documents. `move_to` changes it, of one document: \
                 `update(id).move_to(…)`"
            }
        })
    }
}

pub(super) struct ShowDocuments<'a>(pub(super) &'a u64);
impl fmt::Display for ShowDocuments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = if *self.0 == 1 { "document" } else { "documents" };
        write!(f, "{} {documents}", self.0)
    }
}

/// A number of documents, with the verb.
pub(super) struct Violating<'a>(pub(super) &'a u64);
impl fmt::Display for Violating<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (documents, violate) = if *self.0 == 1 {
            ("document", "violates")
        } else {
            ("documents", "violate")
        };
        write!(f, "{} existing {documents} {violate}", self.0)
    }
}

pub(super) struct Samples<'a>(pub(super) &'a [Bson]);
impl fmt::Display for Samples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, id) in self.0.iter().enumerate() {
            write!(f, "{}{id}", if i == 0 { ", among them _id " } else { ", " })?;
        }
        Ok(())
    }
}

/// Why a value is out of a scope.
pub(super) struct Scoped<'a>(pub(super) &'a Option<Box<Bson>>, pub(super) &'a Option<Box<Bson>>);
impl fmt::Display for Scoped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(given), Some(scope)) => write!(
                f,
                "is {given}, and the scope of this handle is {scope}: use a handle with the scope of the document"
            ),
            (Some(given), None) => write!(
                f,
                "is {given}: the time of a deletion is written by `delete` and removed by `restore` alone"
            ),
            (None, Some(scope)) => write!(
                f,
                "would not be {scope} any more, which is the scope of this handle"
            ),
            (None, None) => {
                f.write_str("has the value of a scope, and this handle has none: insert by `odm.scoped(…)`")
            }
        }
    }
}

pub(super) struct ShowFirst<'a, E>(pub(super) &'a [(usize, E)]);
impl<E: fmt::Display> fmt::Display for ShowFirst<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first() {
            Some((at, error)) => write!(f, "position {at}: {error}"),
            None => f.write_str("none"),
        }
    }
}

//! Where a page or a stream is: what its last document is sorted by.

use super::behind::KeysetKey;
use crate::{Error, Order, Result};
use mongodb::bson::{self, Bson, Document, RawDocument};
use std::sync::{Mutex, PoisonError};

/// Where a stream is: what the last document that came is sorted by.
pub(crate) struct SortPosition {
    /// The stored names of the order, with `_id`; none where a projection leaves one of them out.
    names: Vec<&'static str>,
    /// Whether a document may hold what no stream can go on behind.
    may_be_refused: bool,
    last: Mutex<Option<Vec<Bson>>>,
}

impl SortPosition {
    /// Of a query as the user has built it.
    pub(crate) fn of_query(sort: &[Order<()>], projection: Option<&Document>) -> SortPosition {
        let mut names: Vec<&'static str> = sort.iter().map(|order| order.name).collect();
        if !names.contains(&"_id") {
            names.push("_id");
        }
        if let Some(projection) = projection {
            let has = |name: &&'static str| {
                let of = |field: &String| {
                    name == field
                        || name
                            .strip_prefix(field.as_str())
                            .is_some_and(|rest| rest.starts_with('.'))
                };
                let is_shown = |shown: &Bson| *shown != Bson::Int32(0);
                if projection.values().any(is_shown) {
                    projection
                        .iter()
                        .any(|(field, shown)| of(field) && is_shown(shown))
                } else {
                    // The fields that are left out.
                    !projection.keys().any(of)
                }
            };
            if !names.iter().all(has) {
                names.clear();
            }
        }
        SortPosition {
            names,
            may_be_refused: false,
            last: Mutex::default(),
        }
    }

    pub(super) fn of_keys(keys: &[KeysetKey]) -> SortPosition {
        SortPosition {
            names: keys.iter().map(|key| key.name).collect(),
            may_be_refused: keys.iter().any(KeysetKey::may_be_refused),
            last: Mutex::default(),
        }
    }

    fn values(&self, document: &RawDocument) -> Option<Vec<Bson>> {
        self.names.iter().map(|name| value_at(document, name)).collect()
    }

    /// Refuses a document that has several places in the order.
    pub(crate) fn check(&self, collection: &'static str, document: &RawDocument) -> Result<()> {
        if self.may_be_refused && self.values(document).is_none() {
            return Err(Error::Query {
                collection,
                message: format!(
                    "{}: a resumable stream can't go on behind it",
                    unfit(self.names.iter().copied(), document)
                ),
            });
        }
        Ok(())
    }

    /// Remembers the last document of a batch.
    pub(crate) fn note(&self, document: &RawDocument) {
        let values = self.values(document).filter(|values| !values.is_empty());
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }

    pub(super) fn last(&self) -> Option<Vec<Bson>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The error with the place where the cursor was lost.
    pub(crate) fn lost(&self, mut error: Error) -> Error {
        if let Error::CursorLost { last, .. } = &mut error {
            let names = self.names.iter().map(|name| (*name).to_owned());
            *last = self.last().map(|values| Box::new(names.zip(values).collect()));
        }
        error
    }
}

/// Why no page can end at a document, in words: it holds something in one of these fields that has no place of its own in the order.
pub(super) fn unfit<'n>(names: impl IntoIterator<Item = &'n str>, document: &RawDocument) -> String {
    let name = names.into_iter().find(|name| value_at(document, name).is_none());
    let name = name.unwrap_or_default();
    let end = name.rsplit('.').next().unwrap_or_default();
    let parents = name
        .strip_suffix(end)
        .map_or("", |parents| parents.trim_end_matches('.'));
    let holder = match parents {
        "" => Some(document),
        parents => parents
            .split('.')
            .try_fold(document, |at, part| at.get_document(part).ok()),
    };
    let held = match holder.and_then(|holder| holder.get(end).ok().flatten()) {
        Some(bson::RawBsonRef::RegularExpression(_)) => "a regular expression",
        Some(bson::RawBsonRef::Undefined) => "`undefined`, a type that MongoDB has deprecated,",
        _ => "an array",
    };
    format!(
        "a document holds {held} in `{name}`, and can only be sorted by a single value that others are compared with"
    )
}

/// Whether the server tells what lies behind this value.
pub(super) fn is_compared_with(value: &Bson) -> bool {
    !matches!(
        value,
        Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined
    )
}

/// The value at a dotted name; `null` where it is missing, as it sorts. `None` where no page can end at it: at an array, and
/// at what nothing is compared with.
pub(super) fn value_at(document: &RawDocument, name: &str) -> Option<Bson> {
    let mut at = document;
    let mut parts = name.split('.').peekable();
    while let Some(part) = parts.next() {
        match at.get(part).ok().flatten() {
            None => return Some(Bson::Null),
            Some(bson::RawBsonRef::Array(_)) => return None,
            Some(bson::RawBsonRef::Document(inner)) if parts.peek().is_some() => at = inner,
            Some(_) if parts.peek().is_some() => return Some(Bson::Null),
            Some(value) => return Bson::try_from(value).ok().filter(is_compared_with),
        }
    }
    None
}

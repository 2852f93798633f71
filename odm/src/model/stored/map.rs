//! Maps: documents with a name for each entry.

use super::bound::Bound;
use super::fault::{Done, Fault, Read, Step};
use super::input::{Input, kind};
use super::name::Name;
use super::out::Out;
use super::reader::Reader;
use super::row::Fields;
use super::value::{Key, Stored};
use crate::model::shape::Names;
use mongodb::bson::{Bson, Document};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

/// A type that holds elements of any names: a map, or a `bson::Document`.
pub trait Entries: Default + 'static {
    /// Puts an element into it.
    ///
    /// # Errors
    /// Where its name or its value does not fit.
    fn put(&mut self, name: &str, kind: u8, input: &mut Input<'_>) -> Done;
}

impl Reader<'_> {
    /// The elements that the struct does not declare, for `#[field(extra)]`. The library's own fields are not among them.
    ///
    /// # Errors
    /// Where a value does not fit.
    pub fn extra<M: Entries>(&mut self, declared: &Names) -> Read<M> {
        let mut map = M::default();
        self.others(declared, |name, kind, input| map.put(name, kind, input))?;
        Ok(map)
    }
}

/// Reads a document with any names.
pub(super) fn read_entries<M: Entries>(kind: u8, input: &mut Input<'_>) -> Read<M> {
    if kind != kind::DOCUMENT {
        return Err(Fault::wrong_type(kind, "object"));
    }
    let mut elements = input.nested()?;
    let mut map = M::default();
    while let Some((kind, name)) = elements.element()? {
        let name = std::str::from_utf8(name).map_err(|_| Fault::malformed())?;
        if let Err(fault) = map.put(name, kind, &mut elements) {
            return Err(fault.at(Step::Key(name.to_owned())));
        }
    }
    Ok(map)
}

/// Writes one entry.
#[inline]
fn entry<V: Stored>(key: &str, value: &V, bound: Bound<'_>, out: &mut Out) -> Done {
    let written = match Name::key(key) {
        Ok(name) => value.write(&name, bound, out),
        Err(fault) => Err(fault),
    };
    written.map_err(|fault| fault.at(Step::Key(key.to_owned())))
}

fn write_map<'m, K: Key, V: Stored>(
    entries: impl Iterator<Item = (&'m K, &'m V)>,
    name: &Name<'_>,
    bound: Bound<'_>,
    out: &mut Out,
) -> Done {
    let begin = out.begin_document(name);
    let mut count = 0;
    for (key, value) in entries {
        let key = key.text();
        check_key(key, bound, out);
        entry(key, value, bound, out)?;
        count += 1;
    }
    out.end(begin);
    out.check_items(bound, count);
    Ok(())
}

/// Keys have rules of their own, also where no bound is declared.
fn check_key(key: &str, bound: Bound<'_>, out: &mut Out) {
    if key.is_empty() || key.starts_with('$') || key.contains('.') {
        out.leave_to_walk();
    }
    out.check(bound, |limit| limit.allows_key(key));
}

macro_rules! maps {
    ($($ty:ty, [$($p:tt)*];)*) => {$(
        impl<$($p)*> Stored for $ty {
            fn write(&self, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
                write_map(self.iter(), name, bound, out)
            }

            fn read(kind: u8, input: &mut Input<'_>) -> Read<Self> {
                read_entries(kind, input)
            }
        }

        impl<$($p)*> Entries for $ty {
            fn put(&mut self, name: &str, kind: u8, input: &mut Input<'_>) -> Done {
                let key = K::of(name.to_owned())?;
                self.insert(key, V::read(kind, input)?);
                Ok(())
            }
        }

        /// A flattened map. Its values are not looked into, so they have no bounds.
        impl<$($p)*> Fields for $ty {
            fn write_fields(&self, out: &mut Out) -> Done {
                self.iter().try_for_each(|(key, value)| entry(key.text(), value, None, out))
            }
        }
    )*};
}

maps! {
    HashMap<K, V, S>, [K: Key + Eq + Hash, V: Stored, S: BuildHasher + Default + 'static];
    BTreeMap<K, V>, [K: Key + Ord, V: Stored];
}

impl Entries for Document {
    fn put(&mut self, name: &str, kind: u8, input: &mut Input<'_>) -> Done {
        self.insert(name, Bson::read(kind, input)?);
        Ok(())
    }
}

impl Fields for Document {
    fn write_fields(&self, out: &mut Out) -> Done {
        self.iter()
            .try_for_each(|(key, value)| entry(key, value, None, out))
    }
}

impl Stored for Document {
    fn write(&self, name: &Name<'_>, _: Bound<'_>, out: &mut Out) -> Done {
        let begin = out.begin_document(name);
        self.write_fields(out)?;
        out.end(begin);
        Ok(())
    }

    fn read(kind: u8, input: &mut Input<'_>) -> Read<Document> {
        read_entries(kind, input)
    }
}

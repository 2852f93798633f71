//! The references of one document, as they stand in it: which of them are wanted, and in which places.

use crate::model::elements::Elements;
use mongodb::bson::{RawBsonRef, RawDocument};

/// Where a wanted document is found: in which list of documents, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub(crate) fetch: u32,
    pub(crate) at: u32,
}

/// Estimates the number of ids in an array of this size in bytes, if each takes as much as an `ObjectId` with its type and a
/// position of one digit. Where there are very many, room is made for the others as they come.
fn about(bytes: usize) -> usize {
    (bytes / 15).min(1024)
}

/// What stands at a path: nothing, one reference, or an array of whatever stands in its items.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Nothing, or `null`.
    Nothing {
        /// Number of names of the path that exist: an embedded document may exist without the reference.
        there: u32,
    },
    /// A reference.
    One(Slot),
    /// The items of an array, in their order.
    Many(Vec<Tree>),
}

impl Tree {
    /// The references at a dotted path.
    pub(crate) fn of(
        document: &RawDocument,
        path: &str,
        want: &mut dyn FnMut(RawBsonRef<'_>) -> Option<Slot>,
    ) -> Tree {
        Tree::within(document, path, 0, want)
    }

    /// The values in a document after this number of names of the path.
    fn within(
        document: &RawDocument,
        path: &str,
        there: u32,
        want: &mut dyn FnMut(RawBsonRef<'_>) -> Option<Slot>,
    ) -> Tree {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        match document.get(name) {
            Ok(Some(value)) => Tree::below(value, rest, there, want),
            _ => Tree::Nothing { there },
        }
    }

    fn below(
        value: RawBsonRef<'_>,
        rest: Option<&str>,
        there: u32,
        want: &mut dyn FnMut(RawBsonRef<'_>) -> Option<Slot>,
    ) -> Tree {
        match (value, rest) {
            (RawBsonRef::Array(items), Some(_)) => {
                let items = items.into_iter().filter_map(Result::ok);
                Tree::Many(items.map(|item| Tree::below(item, rest, there, want)).collect())
            }
            (RawBsonRef::Array(items), None) => {
                let bytes = items.as_bytes();
                let mut trees = Vec::with_capacity(about(bytes.len()));
                let mut left = Elements::of(bytes);
                while let Some((id, behind)) = left.and_then(Elements::plain) {
                    trees.push(want(id).map_or(Tree::Nothing { there }, Tree::One));
                    left = Some(behind);
                }
                if left.is_none_or(|left| !left.is_empty()) {
                    let items = items.into_iter().filter_map(Result::ok).skip(trees.len());
                    trees.extend(items.map(|item| Tree::below(item, None, there, want)));
                }
                Tree::Many(trees)
            }
            (RawBsonRef::Null | RawBsonRef::Undefined, _) => Tree::Nothing { there },
            (RawBsonRef::Document(document), Some(rest)) => Tree::within(document, rest, there + 1, want),
            (_, Some(_)) => Tree::Nothing { there },
            (value, None) => want(value).map_or(Tree::Nothing { there }, Tree::One),
        }
    }

    /// The items of an array; of anything else, itself.
    pub fn items(&self) -> impl Iterator<Item = &Tree> {
        match self {
            Tree::Nothing { .. } => &[],
            Tree::One(_) => std::slice::from_ref(self),
            Tree::Many(items) => items.as_slice(),
        }
        .iter()
    }

    /// The one reference.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Tree::One(slot) => Some(*slot),
            _ => None,
        }
    }

    /// Takes references out: of arrays of references, or of single ones, in whose places is nothing then, below as many names of the path.
    pub(crate) fn leave_out(&mut self, of_arrays: bool, there: u32, which: &dyn Fn(Slot) -> bool) {
        match self {
            Tree::One(slot) if which(*slot) => *self = Tree::Nothing { there },
            Tree::Many(items) => {
                if of_arrays {
                    items.retain(|item| !item.slot().is_some_and(which));
                }
                items
                    .iter_mut()
                    .for_each(|item| item.leave_out(of_arrays, there, which));
            }
            Tree::One(_) | Tree::Nothing { .. } => {}
        }
    }

    /// All references in it.
    pub(crate) fn each(&self, take: &mut dyn FnMut(Slot)) {
        match self {
            Tree::Nothing { .. } => {}
            Tree::One(slot) => take(*slot),
            Tree::Many(items) => items.iter().for_each(|item| item.each(take)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::key::Key;
    use mongodb::bson::{Bson, RawDocumentBuf, doc, oid::ObjectId};

    #[test]
    fn every_reference_is_asked_for_once_and_in_its_place() {
        let plain = [
            Bson::ObjectId(ObjectId::new()),
            7.into(),
            8_i64.into(),
            "é".into(),
            "".into(),
        ];
        let other = [
            Bson::Null,
            0.5.into(),
            doc! { "type": "Photo", "id": 1 }.into(),
            bson(vec![1, 2]),
        ];
        // The parts that are not plain stand at the beginning, in the middle, at the end, alone; and nothing does.
        let mut arrays = vec![plain.to_vec(), other.to_vec(), Vec::new()];
        for one in &other {
            for at in 0..=plain.len() {
                let mut items = plain.to_vec();
                items.insert(at, one.clone());
                arrays.push(items);
            }
        }
        for items in arrays {
            let document = RawDocumentBuf::try_from(&doc! { "ids": &items }).expect("encodes");
            let mut asked = Vec::new();
            let tree = Tree::of(&document, "ids", &mut |value| {
                asked.push(Key::of(value));
                let at = asked.len() as u32;
                Some(Slot { fetch: 0, at })
            });
            // An array in the array is gone into, and `null` is nothing.
            let flat = items.iter().flat_map(|item| match item {
                Bson::Array(inner) => inner.clone(),
                item => vec![item.clone()],
            });
            let expected: Vec<Key> = flat
                .filter(|item| *item != Bson::Null)
                .map(|item| Key::of_bson(&item))
                .collect();
            assert_eq!(asked, expected, "{items:?}");
            let Tree::Many(trees) = &tree else {
                panic!("{tree:?}")
            };
            assert_eq!(trees.len(), items.len());
            let mut places = Vec::new();
            tree.each(&mut |slot| places.push(slot.at));
            assert_eq!(places, (1..=expected.len() as u32).collect::<Vec<_>>());
        }
    }

    fn bson(items: Vec<i32>) -> Bson {
        Bson::Array(items.into_iter().map(Bson::from).collect())
    }

    #[test]
    fn there_is_room_for_all_ids_and_not_for_much_more() {
        for n in 1..=300 {
            let ids: Vec<ObjectId> = (0..n).map(|_| ObjectId::new()).collect();
            let document = RawDocumentBuf::try_from(&doc! { "ids": ids }).expect("encodes");
            let room = about(document.get_array("ids").expect("is there").as_bytes().len());
            assert!((n..=n + 2 + n / 5).contains(&room), "{n}: {room}");
        }
        assert_eq!(about(16 << 20), 1024);
    }
}

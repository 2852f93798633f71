//! The references of one document, as they stand in it: which of them are wanted, and in which places.

use mongodb::bson::{RawBsonRef, RawDocument};

/// Where a wanted document is found: in which list of documents, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub(super) fetch: u32,
    pub(super) at: u32,
}

/// How many ids stand in an array of so many bytes, if each takes as much as an `ObjectId` with its type and a position of one
/// digit. Where there are very many, room is made for the others as they come.
fn about(bytes: usize) -> usize {
    (bytes / 15).min(1024)
}

/// What stands at a path: nothing, one reference, or an array of whatever stands in its items.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Nothing, or `null`.
    Nothing,
    /// A reference.
    One(Slot),
    /// The items of an array, in their order.
    Many(Vec<Tree>),
}

impl Tree {
    /// The references at a dotted path.
    pub(super) fn of(
        document: &RawDocument,
        path: &str,
        want: &mut dyn FnMut(RawBsonRef<'_>) -> Option<Slot>,
    ) -> Tree {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        match document.get(name) {
            Ok(Some(value)) => Tree::below(value, rest, want),
            _ => Tree::Nothing,
        }
    }

    fn below(
        value: RawBsonRef<'_>,
        rest: Option<&str>,
        want: &mut dyn FnMut(RawBsonRef<'_>) -> Option<Slot>,
    ) -> Tree {
        match (value, rest) {
            (RawBsonRef::Array(items), _) => {
                let about = rest.map_or(about(items.as_bytes().len()), |_| 0);
                let mut trees = Vec::with_capacity(about);
                let items = items.into_iter().filter_map(Result::ok);
                trees.extend(items.map(|item| Tree::below(item, rest, want)));
                Tree::Many(trees)
            }
            (RawBsonRef::Null | RawBsonRef::Undefined, _) => Tree::Nothing,
            (RawBsonRef::Document(document), Some(rest)) => Tree::of(document, rest, want),
            (_, Some(_)) => Tree::Nothing,
            (value, None) => want(value).map_or(Tree::Nothing, Tree::One),
        }
    }

    /// The items of an array; of anything else, itself.
    pub fn items(&self) -> impl Iterator<Item = &Tree> {
        match self {
            Tree::Nothing => &[],
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

    /// All references in it.
    pub(super) fn each(&self, take: &mut dyn FnMut(Slot)) {
        match self {
            Tree::Nothing => {}
            Tree::One(slot) => take(*slot),
            Tree::Many(items) => items.iter().for_each(|item| item.each(take)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{RawDocumentBuf, doc, oid::ObjectId};

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

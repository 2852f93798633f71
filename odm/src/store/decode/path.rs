//! Finds the value of a document that a type can't be read from, without knowing the type.
//!
//! Serde reads a document in its order and stops at the first value that does not fit. So the shortest beginning of the document
//! that fails with the same error ends with that value, and a binary search finds it. The search goes on within the value, down
//! to one of which no part explains the error. Each step reads with the function that failed, so that no further code is
//! compiled for a type, and the path is right for types with a `Deserialize` of their own, too.

use mongodb::bson::raw::CStr;
use mongodb::bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

/// Maximum number of values of a document that are tried one by one, where the search finds none.
const MAX_TRIED: usize = 100;

/// Whether reading a document fails with the error whose path is wanted.
type Fails<'a> = &'a dyn Fn(&RawDocument) -> bool;

type RawElement<'a> = (&'a CStr, RawBsonRef<'a>);

/// The path of the value that reading `doc` fails at. It is empty where the document as a whole is refused, and where reading it
/// again does not fail in the same way.
pub(super) fn find(doc: &RawDocument, fails: Fails) -> Vec<String> {
    let mut search = PathSearch {
        fails,
        around: Vec::new(),
    };
    let mut path = Vec::new();
    let mut at = RawBsonRef::Document(doc);
    while let Some(step) = search.step(at) {
        path.push(if step.array {
            step.position.to_string()
        } else {
            step.key.as_str().to_owned()
        });
        at = step.value;
        search.around.push(step);
    }
    path
}

struct PathSearch<'a> {
    fails: Fails<'a>,
    /// The containers of the value that is looked at, from the document inwards.
    around: Vec<PathStep<'a>>,
}

/// An element that holds the error.
struct PathStep<'a> {
    array: bool,
    /// The elements that are read before it, as far as the error needs them.
    before: Vec<RawElement<'a>>,
    position: usize,
    key: &'a CStr,
    value: RawBsonRef<'a>,
}

impl<'a> PathSearch<'a> {
    /// The element of `at` that holds the error. `None` if it is an error of `at` as a whole.
    fn step(&self, at: RawBsonRef<'a>) -> Option<PathStep<'a>> {
        let (array, elements) = elements(at)?;
        let fails = |elements: &[RawElement]| self.fails(array, elements);
        if !fails(&elements) || fails(&[]) {
            return None;
        }
        // The first `low` elements don't fail, the first `high` do.
        let (mut low, mut high) = (0, elements.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fails(&elements[..middle]) {
                high = middle
            } else {
                low = middle
            }
        }
        let step = |position: usize, before: Vec<RawElement<'a>>| {
            let (key, value) = elements[position];
            PathStep {
                array,
                before,
                position,
                key,
                value,
            }
        };
        if self.ends_in(array, &elements[..high]) {
            // Items of a tuple are read by their place, and some documents by what stands before.
            let alone = !array && fails(&elements[low..high]);
            let before = if alone {
                Vec::new()
            } else {
                elements[..low].to_vec()
            };
            return Some(step(low, before));
        }
        if array || elements.len() > MAX_TRIED {
            return None;
        }
        // Values of flattened structs are read after all others, wherever they stand.
        (0..elements.len()).find_map(|position| {
            let (mut all, element) = (elements.clone(), elements[position]);
            all.remove(position);
            let without = fails(&all);
            all.push(element);
            let found = !without && fails(&all) && self.ends_in(array, &all);
            all.pop();
            found.then(|| step(position, all))
        })
    }

    /// Whether reading these elements, which fails, does not get beyond the last of them: what can't be read stands behind it.
    fn ends_in(&self, array: bool, elements: &[RawElement]) -> bool {
        let Some((key, value)) = elements.last() else {
            return false;
        };
        // In a struct the key is refused, because it is there twice; elsewhere the value is.
        let refused = match value {
            RawBsonRef::String(_) => RawBsonRef::MinKey,
            _ => RawBsonRef::String(""),
        };
        let mut elements = elements.to_vec();
        elements.push((key, refused));
        self.fails(array, &elements)
    }

    /// Whether reading fails with `elements` in the place of those of the value that is looked at.
    fn fails(&self, array: bool, elements: &[RawElement]) -> bool {
        let mut value = container(array, elements.iter().copied());
        for step in self.around.iter().rev() {
            let last = (step.key, value.as_raw_bson_ref());
            value = container(step.array, step.before.iter().copied().chain([last]));
        }
        matches!(value, RawBson::Document(doc) if (self.fails)(&doc))
    }
}

/// The elements of a document or an array, and whether it is an array. `None` for other values, and where it can't be read.
fn elements(of: RawBsonRef<'_>) -> Option<(bool, Vec<RawElement<'_>>)> {
    let (array, elements) = match of {
        RawBsonRef::Document(doc) => (false, doc.iter_elements()),
        RawBsonRef::Array(items) => (true, items.iter_elements()),
        _ => return None,
    };
    let elements = elements.map(|element| {
        let element = element.ok()?;
        Some((element.key(), element.value().ok()?))
    });
    Some((array, elements.collect::<Option<_>>()?))
}

fn container<'a>(array: bool, elements: impl Iterator<Item = RawElement<'a>>) -> RawBson {
    if array {
        let mut items = RawArrayBuf::new();
        elements.for_each(|(_, value)| items.push(value));
        RawBson::Array(items)
    } else {
        let mut doc = RawDocumentBuf::new();
        elements.for_each(|(key, value)| doc.append(key, value));
        RawBson::Document(doc)
    }
}

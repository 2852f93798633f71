//! The bytes of a document as they are written.

use super::bound::{Bound, Limit};
use super::fault::Fault;
use super::input::kind;
use super::name::Name;
use crate::model::shape::Number;
use mongodb::bson::RawBsonRef;

/// MongoDB's limit for the nesting of a document.
const MAX_LEVELS: u32 = 100;

/// The buffer into which values are written, one behind the other.
#[derive(Debug, Default)]
pub struct Out {
    bytes: Vec<u8>,
    broken: bool,
    level: u32,
}

impl Out {
    /// Writes behind what a buffer holds already.
    #[inline]
    pub fn new(bytes: Vec<u8>) -> Out {
        Out {
            bytes,
            broken: false,
            level: 0,
        }
    }

    /// Whether a value may break a declared bound, or stand too deep: the walk over the document says which. `false` is certain.
    #[inline]
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// The bytes written so far, with those that the buffer held.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The buffer with what was written.
    #[inline]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes the name of a variant under that of its tag.
    #[inline]
    pub fn tag(&mut self, tag: &Name<'_>, variant: &str) {
        self.text(tag, variant);
    }

    /// Begins a document in this one. The result belongs to [`end`](Out::end).
    #[inline]
    pub fn begin_document(&mut self, name: &Name<'_>) -> usize {
        self.begin(kind::DOCUMENT, name)
    }

    /// Begins an array in this document. The result belongs to [`end`](Out::end).
    #[inline]
    pub fn begin_array(&mut self, name: &Name<'_>) -> usize {
        self.begin(kind::ARRAY, name)
    }

    #[inline]
    fn begin(&mut self, kind: u8, name: &Name<'_>) -> usize {
        self.head(kind, name);
        if self.level >= MAX_LEVELS {
            self.broken = true;
        }
        self.level += 1;
        self.begin_bytes()
    }

    /// Ends a document or an array that was begun, and puts its length before it.
    #[inline]
    pub fn end(&mut self, begin: usize) {
        self.level = self.level.saturating_sub(1);
        self.end_bytes(begin);
    }

    /// Begins the outermost document.
    #[inline]
    pub(super) fn begin_bytes(&mut self) -> usize {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        begin
    }

    #[inline]
    pub(super) fn end_bytes(&mut self, begin: usize) {
        self.bytes.push(0);
        // A document that is longer than this number holds is refused by its size.
        let len = (self.bytes.len() - begin) as i32;
        if let Some(place) = self
            .bytes
            .get_mut(begin..)
            .and_then(|bytes| bytes.first_chunk_mut::<4>())
        {
            *place = len.to_le_bytes();
        }
    }

    /// A type and a name.
    #[inline]
    pub(super) fn head(&mut self, kind: u8, name: &Name<'_>) {
        let begin = self.bytes.len();
        let mut head = name.head;
        head[0] = kind;
        self.bytes.extend_from_slice(&head);
        if name.is_short() {
            self.bytes.truncate(begin + name.len);
        } else {
            self.long_name(begin, name);
        }
    }

    fn long_name(&mut self, begin: usize, name: &Name<'_>) {
        self.bytes.truncate(begin + 1);
        self.bytes.extend_from_slice(name.text.as_bytes());
        self.bytes.push(0);
    }

    #[inline]
    pub(super) fn null(&mut self, name: &Name<'_>) {
        self.head(kind::NULL, name);
    }

    /// A value of a fixed number of bytes.
    #[inline]
    pub(super) fn fixed<const N: usize>(&mut self, kind: u8, name: &Name<'_>, value: [u8; N]) {
        self.head(kind, name);
        self.bytes.extend_from_slice(&value);
    }

    /// An integer of 32 bits.
    #[inline]
    pub(super) fn int(&mut self, name: &Name<'_>, bound: Bound<'_>, n: i32) {
        self.fixed(kind::INT32, name, n.to_le_bytes());
        if let Some(limit) = bound {
            self.broken |= !limit.allows_number(Number::Int(n.into()), RawBsonRef::Int32(n));
        }
    }

    /// An integer of 64 bits.
    #[inline]
    pub(super) fn long(&mut self, name: &Name<'_>, bound: Bound<'_>, n: i64) {
        self.fixed(kind::INT64, name, n.to_le_bytes());
        if let Some(limit) = bound {
            self.broken |= !limit.allows_number(Number::Int(n), RawBsonRef::Int64(n));
        }
    }

    /// A double.
    #[inline]
    pub(super) fn double(&mut self, name: &Name<'_>, bound: Bound<'_>, n: f64) {
        self.fixed(kind::DOUBLE, name, n.to_le_bytes());
        if let Some(limit) = bound {
            self.broken |= !limit.allows_number(Number::Float(n), RawBsonRef::Double(n));
        }
    }

    /// A text, without any bound.
    #[inline]
    pub(super) fn text(&mut self, name: &Name<'_>, text: &str) {
        self.head(kind::STRING, name);
        let len = (text.len() + 1) as i32;
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// A text as its bounds have it stored.
    #[inline]
    pub(super) fn bounded_text(&mut self, name: &Name<'_>, bound: Bound<'_>, text: &str) {
        match bound {
            None => self.text(name, text),
            Some(limit) => {
                let text = limit.normalized(text);
                self.broken |= !limit.allows_text(&text);
                self.text(name, &text);
            }
        }
    }

    /// Binary data.
    pub(super) fn binary(&mut self, name: &Name<'_>, subtype: u8, bytes: &[u8]) {
        const OLD: u8 = 2;
        self.head(kind::BINARY, name);
        let len = bytes.len() as i32;
        if subtype == OLD {
            self.bytes.extend_from_slice(&len.saturating_add(4).to_le_bytes());
            self.bytes.push(subtype);
        } else {
            self.bytes.extend_from_slice(&len.to_le_bytes());
            self.bytes.push(subtype);
        }
        if subtype == OLD {
            self.bytes.extend_from_slice(&len.to_le_bytes());
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// A value whose bytes are known.
    pub(super) fn raw(&mut self, kind: u8, name: &Name<'_>, value: &[u8]) {
        self.head(kind, name);
        self.bytes.extend_from_slice(value);
    }

    /// Compares a value with its bounds.
    #[inline]
    pub(super) fn check(&mut self, bound: Bound<'_>, is_allowed: impl FnOnce(&Limit<'_>) -> bool) {
        if let Some(limit) = bound {
            self.broken |= !is_allowed(limit);
        }
    }

    /// Compares a value of several parts with the bounds of its field: an enum, as [`embedded`](super::embedded) does of a struct.
    #[inline]
    pub fn check_parts(&mut self, bound: Bound<'_>) {
        self.check(bound, |limit| limit.allows_parts());
    }

    /// Compares the number of items, or of entries of a map.
    pub(super) fn check_items(&mut self, bound: Bound<'_>, count: usize) {
        self.check(bound, |limit| limit.allows_items(count));
    }

    /// Leaves a value to the walk.
    pub(super) fn leave_to_walk(&mut self) {
        self.broken = true;
    }

    /// How many documents and arrays stand around the next value, without the outermost document.
    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Leaves an id to the walk that MongoDB may refuse: a document, an array, a regular expression.
    #[inline]
    pub(super) fn check_id(&mut self, begin: usize) {
        let refused = [kind::DOCUMENT, kind::ARRAY, kind::REGEX, kind::UNDEFINED];
        if self.level == 0 && self.bytes.get(begin).is_some_and(|kind| refused.contains(kind)) {
            self.broken = true;
        }
    }

    /// The whole buffer, for a serializer that writes a document into it.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// The error of a number that BSON has no type for.
#[cold]
pub(super) fn too_large() -> Box<Fault> {
    Fault::other("the number is greater than the greatest of BSON's integers, 2^63 - 1")
}

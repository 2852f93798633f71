//! The worst-case BSON size of a type, computed by the compiler.
//!
//! Sizes are those of the [BSON specification](https://bsonspec.org/spec.html): an element is a type byte, the name with
//! a final zero, and the value; a string is a length (4), its bytes and a zero (1); a document or array is a length (4),
//! its elements and a zero (1).

use crate::model::meta::Copied;
use crate::model::shape::{Body, EnumShape, FieldMeta, Tagging};

/// MongoDB's limit for one document in bytes: 16 MiB, `maxBsonObjectSize` in the server's `hello`.
pub const MAX_DOCUMENT_SIZE: u64 = 16 * 1024 * 1024;

/// The size of a type's value: a fixed part, and a part for each unit of the field's `max_len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Bytes whatever the length; `None` where the type has no bound of its own.
    pub fixed: Option<u64>,
    /// Bytes for each unit of `max_len`: 4 for a string (the longest UTF-8 code point), 1 for binary data.
    pub per_len: u64,
}

impl Size {
    /// A type whose values have no greatest size.
    pub const UNBOUNDED: Size = Size {
        fixed: None,
        per_len: 0,
    };

    /// Of a type with errors: any bound may be declared, as of a text.
    pub const STAND_IN: Size = Size {
        fixed: Some(0),
        per_len: 4,
    };

    /// A type whose values are at most `bytes` long.
    pub const fn fixed(bytes: u64) -> Size {
        Size {
            fixed: Some(bytes),
            per_len: 0,
        }
    }

    /// A type whose values take `bytes`, and `each` for every unit of length.
    pub const fn by_len(bytes: u64, each: u64) -> Size {
        Size {
            fixed: Some(bytes),
            per_len: each,
        }
    }

    /// A size that was computed elsewhere.
    pub const fn known(bytes: Option<u64>) -> Size {
        Size {
            fixed: bytes,
            per_len: 0,
        }
    }

    /// The greater of two.
    pub const fn or(self, other: Size) -> Size {
        match (self.fixed, other.fixed) {
            (Some(a), Some(b)) => Size {
                fixed: Some(if a > b { a } else { b }),
                per_len: if self.per_len > other.per_len {
                    self.per_len
                } else {
                    other.per_len
                },
            },
            _ => Size::UNBOUNDED,
        }
    }

    /// One after the other, as the items of a tuple.
    pub const fn then(self, other: Size) -> Size {
        match (self.fixed, other.fixed) {
            (Some(a), Some(b)) => Size {
                fixed: Some(a.saturating_add(b)),
                per_len: self.per_len.saturating_add(other.per_len),
            },
            _ => Size::UNBOUNDED,
        }
    }

    /// Whether its length is counted in bytes: it is binary data.
    pub const fn counts_bytes(self) -> bool {
        self.per_len == 1
    }

    /// The size under a field's `max_len`.
    pub const fn with(self, max_len: Option<u64>) -> Option<u64> {
        match (self.fixed, self.per_len, max_len) {
            (Some(fixed), 0, _) => Some(fixed),
            (Some(fixed), each, Some(len)) => Some(fixed.saturating_add(each.saturating_mul(len))),
            _ => None,
        }
    }
}

/// The size of an array of at most `max` items.
pub const fn array(item: Option<u64>, max: u64) -> Option<u64> {
    let Some(item) = item else { return None };
    // Type byte, the index in decimal with its zero, the value; the indexes of one length are counted together.
    let mut total: u64 = 5;
    let (mut digits, mut from, mut to) = (1u64, 0u64, 10u64);
    while from < max {
        let until = if to < max { to } else { max };
        total = total
            .saturating_add((until - from).saturating_mul(digits.saturating_add(2).saturating_add(item)));
        from = until;
        to = to.saturating_mul(10);
        digits += 1;
    }
    Some(total)
}

/// The size of a map of at most `max` entries with keys of at most `key_len` code points.
pub const fn map(item: Option<u64>, max: u64, key_len: Option<u64>) -> Option<u64> {
    match (item, key_len) {
        (Some(item), Some(key)) => Some(
            max.saturating_mul(key.saturating_mul(4).saturating_add(2).saturating_add(item))
                .saturating_add(5),
        ),
        _ => None,
    }
}

/// The room for the library's own field `_odm`: versions and pending work. Any document may have it, since a program
/// with other models may copy from it.
pub const OWN: u64 = 4_096;

/// The size of the field `_copied` beside references, without its entries.
const VERSIONS: u64 = 14;

/// The size of an entry of it: an `i64` by the name of the reference.
const fn version(name: &str) -> u64 {
    name.len() as u64 + 10
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The reference that a field is copied through, in the same struct.
const fn through(field: &FieldMeta) -> Option<&'static str> {
    match field.copied {
        Some(Copied::Field(copy)) => Some(copy.through),
        _ => None,
    }
}

/// The size of the field `_copied` in a struct of these fields: 0 where nothing is copied.
const fn copied(fields: &[FieldMeta]) -> u64 {
    let (mut total, mut i) = (0, 0);
    while i < fields.len() {
        if let Some(name) = through(&fields[i]) {
            let (mut known, mut j) = (false, 0);
            while j < i {
                if let Some(other) = through(&fields[j]) {
                    known = known || is_same(name, other);
                }
                j += 1;
            }
            if !known {
                total += version(name) + if total == 0 { VERSIONS } else { 0 };
            }
        }
        i += 1;
    }
    total
}

/// The size of the fields `_copied` in the structs of copies that a field holds.
const fn copied_within(field: &FieldMeta) -> u64 {
    match (field.entry, field.bounds.max_items) {
        (Some(entry), items) => {
            let items = match items {
                Some(items) => items,
                None => 1,
            };
            items.saturating_mul(VERSIONS + version(entry.id))
        }
        (None, _) => 0,
    }
}

/// The size of a document of a collection with these fields, and the library's own; `None` where one of them has no bound.
pub const fn whole(fields: &[FieldMeta]) -> Option<u64> {
    match document(fields) {
        Some(size) => Some(size.saturating_add(OWN)),
        None => None,
    }
}

/// The size of an element: type byte, name, zero, value.
pub const fn element(field: &FieldMeta) -> Option<u64> {
    match field.size {
        // A flattened struct brings its elements, without a document around them (length and final zero).
        Some(size) if field.flatten => Some(size.saturating_sub(5)),
        Some(size) => {
            let named = size.saturating_add(2).saturating_add(field.name.len() as u64);
            Some(named.saturating_add(copied_within(field)))
        }
        None => None,
    }
}

/// The size of a struct with these fields, and the versions of its copies; `None` where one of them has no bound.
pub const fn document(fields: &[FieldMeta]) -> Option<u64> {
    let mut total: u64 = 5 + copied(fields);
    let mut i = 0;
    while i < fields.len() {
        match element(&fields[i]) {
            Some(size) => total = total.saturating_add(size),
            None => return None,
        }
        i += 1;
    }
    Some(total)
}

/// The size of a tuple of these fields: an array with their positions as names.
pub const fn tuple(fields: &[FieldMeta]) -> Option<u64> {
    let mut total: u64 = 5;
    let mut i = 0;
    while i < fields.len() {
        let Some(size) = fields[i].size else { return None };
        total = total.saturating_add(size.saturating_add(2).saturating_add(decimal(i as u64)));
        i += 1;
    }
    Some(total)
}

/// How many digits a number has.
const fn decimal(mut n: u64) -> u64 {
    let mut digits = 1;
    while n >= 10 {
        n /= 10;
        digits += 1;
    }
    digits
}

/// The size of the largest variant of an enum.
pub const fn variants(shape: &EnumShape) -> Option<u64> {
    let mut largest: u64 = 0;
    let mut i = 0;
    while i < shape.variants.len() {
        let variant = &shape.variants[i];
        let name = variant.name.len() as u64;
        let unit = matches!(variant.body, Body::Unit);
        let content = match &variant.body {
            Body::Unit => Some(0),
            Body::Newtype(field) => field.size,
            Body::Tuple(fields) => tuple(fields),
            Body::Struct(shape) => document(shape.fields),
        };
        let Some(content) = content else { return None };
        let size = match shape.tagging {
            // The name alone, as a string.
            Tagging::External if unit => name.saturating_add(5),
            Tagging::External => content.saturating_add(name).saturating_add(7),
            Tagging::Untagged => content,
            // The tag's element beside the content's own elements.
            Tagging::Internal(tag) => {
                let element = 2 + tag.len() as u64 + 5 + name;
                element.saturating_add(if unit { 5 } else { content })
            }
            Tagging::Adjacent(tag, _) if unit => 5 + 2 + tag.len() as u64 + 5 + name,
            Tagging::Adjacent(tag, key) => {
                (5 + 2 + tag.len() as u64 + 5 + name + 2 + key.len() as u64).saturating_add(content)
            }
        };
        if size > largest {
            largest = size;
        }
        i += 1;
    }
    Some(largest)
}

/// A sentence made at compile time: a constant panic takes one string only.
pub struct Message {
    bytes: [u8; 1024],
    len: usize,
}

impl Message {
    /// An empty one.
    pub const fn new() -> Message {
        Message {
            bytes: [0; 1024],
            len: 0,
        }
    }

    /// With `text` at the end; what does not fit is left out.
    pub const fn text(mut self, text: &str) -> Message {
        let bytes = text.as_bytes();
        if self.len + bytes.len() > self.bytes.len() {
            return self; // whole or not at all, so that the bytes stay UTF-8
        }
        let mut i = 0;
        while i < bytes.len() {
            self.bytes[self.len] = bytes[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// With a number at the end, thousands set apart by commas.
    pub const fn number(mut self, n: u64) -> Message {
        let mut power: u64 = 1;
        let mut digits: u32 = 1;
        while n / power >= 10 {
            power *= 10;
            digits += 1;
        }
        let mut rest = n;
        while digits > 0 {
            if self.len + 2 > self.bytes.len() {
                return self;
            }
            self.bytes[self.len] = b'0' + (rest / power) as u8;
            self.len += 1;
            rest %= power;
            power /= 10;
            digits -= 1;
            if digits > 0 && digits.is_multiple_of(3) {
                self.bytes[self.len] = b',';
                self.len += 1;
            }
            if power == 0 {
                break;
            }
        }
        self
    }

    /// With a number at the end as Rust reads it.
    pub const fn plain_number(mut self, n: u64) -> Message {
        let mut power: u64 = 1;
        while n / power >= 10 {
            power *= 10;
        }
        while power > 0 && self.len < self.bytes.len() {
            self.bytes[self.len] = b'0' + (n / power % 10) as u8;
            self.len += 1;
            power /= 10;
        }
        self
    }

    /// The sentence.
    pub const fn as_str(&self) -> &str {
        let (head, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(_) => "(message is not UTF-8)",
        }
    }
}

impl Default for Message {
    fn default() -> Self {
        Message::new()
    }
}

/// The error message for a document of these fields, if its worst case passes MongoDB's limit: the size, and the fields that
/// cost most.
pub const fn too_large(name: &str, fields: &[FieldMeta]) -> Option<Message> {
    let Some(total) = whole(fields) else {
        return None;
    };
    if total <= MAX_DOCUMENT_SIZE {
        return None;
    }
    let mut message = Message::new()
        .text("the worst case of a `")
        .text(name)
        .text("` is ")
        .number(total)
        .text(" bytes of BSON, ")
        .number(OWN)
        .text(
            " of them for the library's own field `_odm`, above MongoDB's limit of 16,777,216 (16 MiB) for one document. It \
             costs:",
        );
    // The field that was named last, by its cost and its position.
    let (mut below, mut behind) = (u64::MAX, usize::MAX);
    let mut shown = 0;
    // The largest first: five rounds over the fields, each for the next smaller cost. Of equal ones the first comes first.
    while shown < 5 {
        let (mut best, mut at, mut i) = (0u64, usize::MAX, 0usize);
        while i < fields.len() {
            if let Some(cost) = element(&fields[i])
                && (cost < below || cost == below && i > behind)
                && cost > best
            {
                best = cost;
                at = i;
            }
            i += 1;
        }
        if at == usize::MAX {
            break;
        }
        message = message
            .text(if shown == 0 { " `" } else { ", `" })
            .text(fields[at].rust)
            .text(": ")
            .text(fields[at].ty)
            .text("` ")
            .number(best);
        (below, behind) = (best, at);
        shown += 1;
    }
    Some(message.text(
        ". Lower a `max` or a `max_len`, or keep the large part in a collection of its own (rule three: high cardinality \
         arrays are not embedded)",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{Bson, RawDocumentBuf, doc};

    fn size_of(value: impl Into<Bson>) -> u64 {
        let raw = RawDocumentBuf::try_from(&doc! { "v": value.into() }).expect("encodes");
        raw.as_bytes().len() as u64 - 8 // 5 for the document, 3 for the element's type and name
    }

    #[test]
    fn an_array_costs_what_bson_makes_of_it() {
        for n in [0u64, 1, 9, 10, 11, 99, 100, 101, 1234] {
            assert_eq!(
                array(Some(4), n),
                Some(size_of(vec![Bson::Int32(7); n as usize])),
                "{n} items"
            );
        }
    }

    #[test]
    fn a_map_costs_what_bson_makes_of_it() {
        assert_eq!(
            map(Some(8), 2, Some(1)),
            Some(size_of(doc! { "\u{10348}": 1.0, "\u{10349}": 2.0 }))
        );
        assert_eq!(map(Some(8), 2, None), None);
    }

    #[test]
    fn a_string_takes_four_bytes_a_code_point_at_worst() {
        assert_eq!(
            Size::by_len(5, 4).with(Some(2)),
            Some(size_of("\u{10348}\u{10348}"))
        );
        assert_eq!(Size::by_len(5, 4).with(None), None);
    }

    #[test]
    fn numbers_are_written_in_groups() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (16_777_216, "16,777,216"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(Message::new().number(n).as_str(), text);
        }
    }

    #[test]
    fn fields_of_equal_cost_are_all_named() {
        use crate::model::shape::{Bounds, Shape};
        const fn field(name: &'static str, size: u64) -> FieldMeta {
            FieldMeta {
                size: Some(size),
                ..FieldMeta::value::<i32>(name, name, "T", Bounds::NONE)
            }
        }
        const MIB: u64 = 1024 * 1024;
        let fields = [
            field("a", MIB),
            field("b", 9 * MIB),
            field("c", 9 * MIB),
            field("d", MIB),
            field("e", 2 * MIB),
        ];
        assert!(matches!((fields[0].shape)(), Shape::Int { .. }));
        let message = too_large("X", &fields).expect("is too large");
        let named: Vec<&str> = message
            .as_str()
            .split('`')
            .filter(|part| part.ends_with(": T"))
            .collect();
        assert_eq!(named, ["b: T", "c: T", "e: T", "a: T", "d: T"]);
    }

    #[test]
    fn the_versions_of_copies_are_counted() {
        use crate::model::copy::{Consistency, FieldCopy};
        use crate::model::shape::Bounds;
        const fn copy(name: &'static str, through: &'static str) -> Copied {
            let _ = name;
            Copied::Field(FieldCopy {
                through,
                source: || "x",
                field: || None,
                consistency: Consistency::Auto,
            })
        }
        static OF_HOST: Copied = copy("a", "host");
        static OF_PLACE: Copied = copy("b", "place");
        const fn field(name: &'static str, copied: Option<&'static Copied>) -> FieldMeta {
            FieldMeta {
                copied,
                ..FieldMeta::value::<i32>(name, name, "T", Bounds::NONE)
            }
        }
        let plain = [field("a", None), field("b", None), field("c", None)];
        let copies = [
            field("a", Some(&OF_HOST)),
            field("b", Some(&OF_PLACE)),
            field("c", Some(&OF_HOST)),
        ];
        let with = RawDocumentBuf::try_from(&doc! {
            "a": 1, "b": 1, "c": 1, "_copied": { "host": 1_i64, "place": 1_i64 },
        });
        let with = with.expect("encodes").as_bytes().len() as u64;
        assert_eq!(document(&copies), Some(with));
        assert_eq!(document(&plain), Some(with - copied(&copies)));
        assert_eq!(whole(&plain), document(&plain).map(|size| size + OWN));
    }

    #[test]
    fn sizes_do_not_overflow() {
        assert_eq!(array(Some(u64::MAX), u64::MAX), Some(u64::MAX));
        assert_eq!(map(Some(u64::MAX), u64::MAX, Some(u64::MAX)), Some(u64::MAX));
    }
}

//! Names of elements, as they are written behind the type.

use super::fault::{Fault, Read};
use crate::model::shape::{FieldMeta, same};

/// How many bytes of the type, the name and the zero behind it are written as one copy.
const HEAD: usize = 16;

/// A name, laid out for writing: where it is short, one copy of sixteen bytes holds the type, the name and the zero behind it.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// The place of the type, the beginning of the name, and zeros.
    pub(super) head: [u8; HEAD],
    /// The length of all three.
    pub(super) len: usize,
    /// The name itself, where it may be longer than the head.
    pub(super) text: &'a str,
}

impl<'a> Name<'a> {
    /// The name of a field or a variant.
    ///
    /// # Panics
    /// Where it has a zero byte. It is computed by the compiler, which shows that as an error.
    pub const fn of(text: &'a str) -> Name<'a> {
        let bytes = text.as_bytes();
        let mut head = [0; HEAD];
        let mut i = 0;
        while i < bytes.len() {
            assert!(bytes[i] != 0, "the name of a field can't have a zero byte");
            if i + 1 < HEAD {
                head[i + 1] = bytes[i];
            }
            i += 1;
        }
        let len = bytes.len() + 2;
        Name { head, len, text }
    }

    /// The key of a map.
    ///
    /// # Errors
    /// For a key with a zero byte, which BSON can't hold.
    #[inline]
    pub(super) fn key(text: &'a str) -> Read<Name<'a>> {
        if text.as_bytes().contains(&0) {
            return Err(Fault::other("the key of a map can't have a zero byte"));
        }
        let mut head = [0; HEAD];
        for (to, from) in head.iter_mut().skip(1).zip(text.bytes()) {
            *to = from;
        }
        let len = text.len() + 2;
        Ok(Name { head, len, text })
    }

    /// Whether a copy of the head is all of it.
    #[inline(always)]
    pub(super) const fn is_short(&self) -> bool {
        self.len <= HEAD
    }
}

impl Name<'static> {
    /// The name of an item of an array: its position.
    #[inline]
    pub(super) fn item(position: usize) -> Name<'static> {
        let mut head = [0; HEAD];
        if position < 10 {
            head[1] = b'0' + position as u8;
            let (len, text) = (3, "");
            return Name { head, len, text };
        }
        Name::far(head, position)
    }

    fn far(mut head: [u8; HEAD], position: usize) -> Name<'static> {
        // No array in 16 MiB has more items than fourteen digits count.
        let (mut digits, mut n) = (0, position);
        while n > 0 && digits < HEAD - 2 {
            (digits, n) = (digits + 1, n / 10);
        }
        let mut n = position;
        for place in head.iter_mut().skip(1).take(digits).rev() {
            *place = b'0' + (n % 10) as u8;
            n /= 10;
        }
        let (len, text) = (digits + 2, "");
        Name { head, len, text }
    }
}

/// Maximum length of the name of a field, with the zero byte behind it.
const LONGEST: usize = 256;

/// The stored name of a field that another type declares: of a projection's field, the name that it has in the document.
#[derive(Clone, Copy, Debug)]
pub struct StoredName {
    bytes: [u8; LONGEST],
    len: usize,
}

impl StoredName {
    /// Of the field with this name in Rust. One that does not exist is an error of its own, and keeps that name.
    ///
    /// # Panics
    /// Where the name is longer than 255 bytes. It is computed by the compiler, which shows that as an error.
    pub const fn of(declared: &[FieldMeta], rust: &str) -> StoredName {
        let name = match named(declared, rust) {
            Some(field) => field.name.as_bytes(),
            None => rust.as_bytes(),
        };
        assert!(
            name.len() < LONGEST,
            "the name of a field is longer than 255 bytes"
        );
        let (mut bytes, mut i) = ([0; LONGEST], 0);
        while i < name.len() {
            bytes[i] = name[i];
            i += 1;
        }
        StoredName { bytes, len: i + 1 }
    }

    /// The name with a zero byte behind it.
    pub const fn with_zero(&self) -> &str {
        let (name, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => panic!("the name of a field is no text"),
        }
    }
}

/// The other names under which the field is read.
pub const fn aliases(declared: &'static [FieldMeta], rust: &str) -> &'static [&'static str] {
    match named(declared, rust) {
        Some(field) => field.aliases,
        None => &[],
    }
}

const fn named<'f>(declared: &'f [FieldMeta], rust: &str) -> Option<&'f FieldMeta> {
    let mut i = 0;
    while i < declared.len() {
        if same(declared[i].rust, rust) {
            return Some(&declared[i]);
        }
        i += 1;
    }
    None
}

//! Names of elements, as they are written behind the type.

use super::fault::{Fault, Read};

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

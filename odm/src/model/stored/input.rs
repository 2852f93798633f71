//! The bytes of BSON as they are read: each step checks that they are there.

use super::fault::{Done, Fault, Read};
use ascii::AsAsciiStr;

/// The bytes that stand before values of each type.
pub(super) mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7f;
    pub const MIN_KEY: u8 = 0xff;
}

/// How many documents and arrays are looked into below each other. The server nests 100 levels, and some more in what it answers; a
/// type that contains itself must not use up the stack for bytes that no server has sent.
const MAX_LEVELS: u32 = 256;

/// Bytes that are read from their beginning. A copy of it is the place to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
    level: u32,
    /// Whether a value of another type is refused here that is read otherwise: an integer as a double, a whole double as an integer, a
    /// text of 24 digits as an id.
    is_exact: bool,
}

/// Minimum length of a text that is checked in blocks.
const BLOCK: usize = 64;

/// The text of these bytes, if they are UTF-8.
///
/// The standard library and `simdutf8` look at the bytes of a short text one by one, which takes longer than its allocation. Most short
/// texts are ASCII.
#[inline]
fn utf8(bytes: &[u8]) -> Option<&str> {
    if bytes.len() < BLOCK
        && let Ok(text) = bytes.as_ascii_str()
    {
        return Some(text.as_str());
    }
    simdutf8::basic::from_utf8(bytes).ok()
}

impl<'a> Input<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Input<'a> {
        Input {
            rest,
            level: 0,
            is_exact: false,
        }
    }

    /// Whether values of other types are refused: while the variants of an enum without tags are tried for the first time.
    #[inline]
    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The same input, where they are or are not.
    #[inline]
    pub(super) fn exactly(self, is_exact: bool) -> Input<'a> {
        Input { is_exact, ..self }
    }

    /// The bytes that are not read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The same input with other bytes, such as those behind a name.
    #[inline]
    pub(super) fn with(&self, rest: &'a [u8]) -> Input<'a> {
        Input { rest, ..*self }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// `N` bytes.
    #[inline]
    pub(super) fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(*bytes)
            }
            None => Err(Fault::malformed()),
        }
    }

    #[inline(always)]
    fn slice(&mut self, len: usize) -> Read<&'a [u8]> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(Fault::malformed()),
        }
    }

    #[inline(always)]
    fn length(&mut self) -> Read<usize> {
        usize::try_from(i32::from_le_bytes(self.take()?)).map_err(|_| Fault::malformed())
    }

    /// The type of the next element, if its name is this one, which ends with a zero. The input then begins with its value.
    #[inline(always)]
    pub(super) fn take_named(&mut self, name: &[u8]) -> Option<u8> {
        let (kind, rest) = self.rest.split_first()?;
        self.rest = rest.strip_prefix(name)?;
        Some(*kind)
    }

    /// The type and the name of the next element; `None` at the end.
    #[inline]
    pub(super) fn element(&mut self) -> Read<Option<(u8, &'a [u8])>> {
        let Some((kind, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let Some(end) = rest.iter().position(|byte| *byte == 0) else {
            return Err(Fault::malformed());
        };
        match (rest.get(..end), rest.get(end + 1..)) {
            (Some(name), Some(rest)) => {
                self.rest = rest;
                Ok(Some((*kind, name)))
            }
            _ => Err(Fault::malformed()),
        }
    }

    /// The type of the next item of an array, whose name is its position and says nothing; `None` at the end.
    #[inline]
    pub(super) fn item(&mut self) -> Read<Option<u8>> {
        // Most positions have one digit or two. A name that begins with a zero byte is left to the other way.
        match self.rest {
            [kind, first, 0, rest @ ..] | [kind, first, _, 0, rest @ ..] if *first != 0 => {
                self.rest = rest;
                return Ok(Some(*kind));
            }
            _ => {}
        }
        Ok(self.element()?.map(|(kind, _)| kind))
    }

    /// A text with its length.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Read<&'a str> {
        let len = self.length()?;
        match self.slice(len)?.split_last() {
            Some((0, text)) => utf8(text).ok_or_else(Fault::malformed),
            _ => Err(Fault::malformed()),
        }
    }

    /// The bytes of a document or an array, with the length before them and the zero behind them.
    #[inline]
    pub(super) fn whole(&mut self) -> Read<&'a [u8]> {
        let mut ahead = *self;
        let len = ahead.length()?;
        let whole = self.slice(len)?;
        if len < 5 || whole.last() != Some(&0) {
            return Err(Fault::malformed());
        }
        Ok(whole)
    }

    /// The elements of a document or an array, which stand one level deeper.
    #[inline]
    pub(super) fn nested(&mut self) -> Read<Input<'a>> {
        let whole = self.whole()?;
        self.within(whole)
    }

    /// The elements of these bytes of a whole document.
    #[inline]
    pub(super) fn within(&self, whole: &'a [u8]) -> Read<Input<'a>> {
        let Some(rest) = whole.get(4..whole.len().saturating_sub(1)) else {
            return Err(Fault::malformed());
        };
        if self.level >= MAX_LEVELS {
            return Err(Fault::other(
                "more than 256 documents and arrays stand in each other",
            ));
        }
        let level = self.level + 1;
        Ok(Input { rest, level, ..*self })
    }

    /// The subtype and the bytes of binary data.
    #[inline]
    pub(super) fn binary(&mut self) -> Read<(u8, &'a [u8])> {
        const OLD: u8 = 2;
        let len = self.length()?;
        let [subtype] = self.take()?;
        let bytes = self.slice(len)?;
        if subtype != OLD {
            return Ok((subtype, bytes));
        }
        // The old subtype has its length twice.
        let mut old = self.with(bytes);
        match old.length()? {
            len if len == old.rest.len() => Ok((subtype, old.rest)),
            _ => Err(Fault::malformed()),
        }
    }

    /// Text that ends with a zero, as of a name.
    pub(super) fn ended(&mut self) -> Read<&'a str> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else {
            return Err(Fault::malformed());
        };
        let text = self.slice(end)?;
        let [_] = self.take()?;
        std::str::from_utf8(text).map_err(|_| Fault::malformed())
    }

    /// Leaves out a value by its length.
    #[inline]
    pub(super) fn skip(&mut self, kind: u8) -> Done {
        let len = match kind {
            kind::NULL | kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => 0,
            kind::BOOL => 1,
            kind::INT32 => 4,
            kind::INT64 | kind::DOUBLE | kind::DATE | kind::TIMESTAMP => 8,
            kind::OBJECT_ID => 12,
            kind::DECIMAL => 16,
            kind::STRING | kind::CODE | kind::SYMBOL => self.length()?,
            kind::DOCUMENT | kind::ARRAY => return self.whole().map(drop),
            kind::BINARY => self.length()?.saturating_add(1),
            kind::POINTER => self.length()?.saturating_add(12),
            kind::CODE_WITH_SCOPE => match self.length()?.checked_sub(4) {
                Some(len) => len,
                None => return Err(Fault::malformed()),
            },
            kind::REGEX => {
                self.ended()?;
                return self.ended().map(drop);
            }
            _ => return Err(Fault::malformed()),
        };
        self.slice(len).map(drop)
    }

    /// The bytes of a value.
    pub(super) fn value(&mut self, kind: u8) -> Read<&'a [u8]> {
        let before = self.rest;
        self.skip(kind)?;
        let len = before.len().saturating_sub(self.rest.len());
        before.get(..len).ok_or_else(Fault::malformed)
    }
}

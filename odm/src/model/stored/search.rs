//! Finds the elements of a document that do not stand where a struct expects them.

use super::fault::Read;
use super::input::Input;

/// An element that was found.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) kind: u8,
    /// Begins with its value.
    pub(super) input: Input<'a>,
    /// Whether it stands behind all that was read, so that reading goes on behind it.
    pub(super) is_ahead: bool,
}

/// The state of searching one document.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Whether elements stand before the next one that were not read.
    has_passed: bool,
    /// How often the elements behind were looked through for nothing.
    looks: u8,
    /// All elements, where one look after the other would take longer.
    index: Option<Vec<Entry>>,
}

/// The place of an element.
#[derive(Debug)]
struct Entry {
    /// The first eight bytes of the name.
    head: u64,
    /// The length of the name.
    len: usize,
    /// How many bytes of all elements stand before the value.
    before: usize,
    kind: u8,
}

/// Maximum number of times that the elements are looked through in vain; then an index is made.
const MAX_LOOKS: u8 = 4;

impl Search {
    /// Whether all elements before the next one were read.
    pub(super) fn passed_nothing(&self) -> bool {
        !self.has_passed
    }

    /// The element with this name among `all`, of which those from `next` on were not looked at yet.
    ///
    /// If no element was passed over so far, one that is not behind is missing.
    #[cold]
    #[inline(never)]
    pub(super) fn find<'a>(
        &mut self,
        name: &str,
        all: Input<'a>,
        next: Input<'a>,
    ) -> Read<Option<Found<'a>>> {
        if self.index.is_none() && (self.looks < MAX_LOOKS) {
            if let Some(found) = self.look(name, next)? {
                return Ok(Some(found));
            }
            if !self.has_passed {
                self.looks += 1;
                return Ok(None);
            }
        }
        if self.index.is_none() {
            self.index = Some(index(all)?);
        }
        let index = self.index.as_deref().unwrap_or_default();
        let found = lookup(index, name, all);
        Ok(found.map(|(kind, input)| {
            // Elements between are found by the index later on.
            let is_ahead = input.rest().len() < next.rest().len();
            self.has_passed |= is_ahead;
            Found {
                kind,
                input,
                is_ahead,
            }
        }))
    }

    /// Looks through the elements behind.
    fn look<'a>(&mut self, name: &str, next: Input<'a>) -> Read<Option<Found<'a>>> {
        let mut elements = next;
        let mut is_first = true;
        while let Some((kind, other)) = elements.element()? {
            if other == name.as_bytes() {
                self.has_passed |= !is_first;
                return Ok(Some(Found {
                    kind,
                    input: elements,
                    is_ahead: true,
                }));
            }
            elements.skip(kind)?;
            is_first = false;
        }
        Ok(None)
    }
}

#[inline]
fn head(name: &[u8]) -> u64 {
    let head = match name.first_chunk::<8>() {
        Some(head) => *head,
        None => {
            let mut head = [0; 8];
            if let Some(beginning) = head.get_mut(..name.len()) {
                beginning.copy_from_slice(name);
            }
            head
        }
    };
    u64::from_le_bytes(head)
}

fn index(all: Input<'_>) -> Read<Vec<Entry>> {
    let mut entries = Vec::with_capacity(16);
    let mut elements = all;
    while let Some((kind, name)) = elements.element()? {
        entries.push(Entry {
            head: head(name),
            len: name.len(),
            before: all.rest().len() - elements.rest().len(),
            kind,
        });
        elements.skip(kind)?;
    }
    Ok(entries)
}

fn lookup<'a>(index: &[Entry], name: &str, all: Input<'a>) -> Option<(u8, Input<'a>)> {
    let (head, name) = (head(name.as_bytes()), name.as_bytes());
    let is_it = |entry: &&Entry| {
        entry.head == head && entry.len == name.len() && (name.len() <= 8 || entry.name(all) == Some(name))
    };
    let entry = index.iter().find(is_it)?;
    Some((entry.kind, all.with(all.rest().get(entry.before..)?)))
}

impl Entry {
    fn name<'a>(&self, all: Input<'a>) -> Option<&'a [u8]> {
        let end = self.before.checked_sub(1)?;
        all.rest().get(end.checked_sub(self.len)?..end)
    }
}

//! The fields of a document that is read, in the order in which a struct declares them.

use super::fault::{Done, Fault, Read, Step};
use super::field::Field;
use super::input::{Input, kind};
use super::search::{Found, Search};
use super::value::Stored;
use crate::model::shape::Names;

/// The fields of a document.
///
/// Nearly all documents have the order of their struct. So the name of the next element is compared with that of the next field, and
/// where it is the one, its value is read. All else is a search.
#[derive(Debug)]
pub struct Reader<'a> {
    /// Begins with the element that is read next.
    pub(super) next: Input<'a>,
    /// The document.
    whole: &'a [u8],
    search: Search,
    /// Whether it is the outermost document, in which the library has fields of its own.
    is_outermost: bool,
    /// Whether fields of a struct around this one stand beside its own.
    has_others: bool,
    /// The name of the field with that of the variant, if the fields are those of one.
    tag: Option<&'static str>,
}

impl<'a> Reader<'a> {
    /// The fields of a whole document.
    ///
    /// # Errors
    /// Where the bytes are none.
    pub fn of(bytes: &'a [u8]) -> Read<Reader<'a>> {
        let mut input = Input::new(bytes);
        let mut reader = Reader::embedded(&mut input)?;
        if !input.is_empty() {
            return Err(Fault::malformed());
        }
        reader.is_outermost = true;
        Ok(reader)
    }

    /// The fields of the document at the beginning of the input, which then begins behind it.
    #[inline]
    pub(super) fn embedded(input: &mut Input<'a>) -> Read<Reader<'a>> {
        let whole = input.whole()?;
        Ok(Reader {
            next: input.within(whole)?,
            whole,
            search: Search::default(),
            is_outermost: false,
            has_others: false,
            tag: None,
        })
    }

    /// The value of a declared field.
    ///
    /// # Errors
    /// Where it is missing, or can't be read.
    #[inline(always)]
    pub fn by<T>(&mut self, field: &'static Field<T>) -> Read<T> {
        // In place: a copy of the input would be written to the stack and read again for each field.
        match self.next.take_named(field.key) {
            Some(kind) => field.read(kind, &mut self.next),
            None => self.elsewhere(field),
        }
    }

    #[cold]
    #[inline(never)]
    fn elsewhere<T>(&mut self, field: &'static Field<T>) -> Read<T> {
        match self.find(field.name.text, field.aliases)? {
            None => field.if_missing(),
            Some(Found {
                kind,
                mut input,
                is_ahead,
            }) => {
                let value = field.read(kind, &mut input)?;
                if is_ahead {
                    self.next = input;
                }
                Ok(value)
            }
        }
    }

    #[inline(never)]
    fn find(&mut self, name: &str, aliases: &[&str]) -> Read<Option<Found<'a>>> {
        let all = self.all()?;
        let own = self.search.find(name, all, self.next)?;
        match own {
            Some(found) => Ok(Some(found)),
            None => {
                for alias in aliases {
                    if let Some(found) = self.search.find(alias, all, self.next)? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
        }
    }

    /// All elements of the document.
    fn all(&self) -> Read<Input<'a>> {
        match self.whole.get(4..self.whole.len().saturating_sub(1)) {
            Some(elements) => Ok(self.next.with(elements)),
            None => Err(Fault::malformed()),
        }
    }

    /// The name of the variant that a document of an enum holds.
    ///
    /// # Errors
    /// Where it is missing, or no text.
    pub fn tag(&mut self, tag: &'static str) -> Read<&'a str> {
        self.tag = Some(tag);
        let of_tag = |fault: Box<Fault>| fault.at(Step::Field(tag));
        let Some(found) = self.find(tag, &[])? else {
            return Err(of_tag(Fault::missing()));
        };
        let mut input = found.input;
        if found.kind != kind::STRING {
            return Err(of_tag(Fault::wrong_type(found.kind, "string")));
        }
        let name = input.text().map_err(of_tag)?;
        if found.is_ahead {
            self.next = input;
        }
        Ok(name)
    }

    /// Reads fields that stand among those of the struct around them, which `deny_unknown_fields` on theirs does not concern.
    #[inline]
    pub(super) fn among_others<T>(&mut self, read: fn(&mut Reader<'_>) -> Read<T>) -> Read<T> {
        let before = std::mem::replace(&mut self.has_others, true);
        let value = read(self);
        self.has_others = before;
        value
    }

    /// The whole document as one value: of an enum without tags, and of a newtype, whose fields stand among others.
    ///
    /// # Errors
    /// Where it is none of this type.
    pub fn as_one<T: Stored>(&mut self) -> Read<T> {
        T::read(kind::DOCUMENT, &mut self.as_value())
    }

    /// The value of a field with its type, if there is one. The path of an error of it is up to the caller.
    pub(super) fn raw(&mut self, name: &'static str) -> Read<Option<(u8, Input<'a>)>> {
        let Some(found) = self.find(name, &[])? else {
            return Ok(None);
        };
        if found.is_ahead {
            let mut behind = found.input;
            behind.skip(found.kind)?;
            self.next = behind;
        }
        Ok(Some((found.kind, found.input)))
    }

    /// Reads fields as `read` does. Where it fails, the next field is the one that was next before.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn attempt<T>(&mut self, read: impl FnOnce(&mut Reader<'a>) -> Read<T>) -> Read<T> {
        let next = self.next;
        let result = read(self);
        if result.is_err() {
            // The search still knows where the elements are.
            self.next = next;
        }
        result
    }

    /// The first element with one of these names: a variant that stands among the fields of a struct.
    pub(super) fn one_of(&self, names: &[&str]) -> Read<Option<(&'a str, u8, Input<'a>)>> {
        let mut elements = self.all()?;
        while let Some((kind, name)) = elements.element()? {
            let name = std::str::from_utf8(name).map_err(|_| Fault::malformed())?;
            if names.contains(&name) {
                return Ok(Some((name, kind, elements)));
            }
            elements.skip(kind)?;
        }
        Ok(None)
    }

    /// Calls `take` with each element that is not declared: those that `#[field(extra)]` shows. The library's own fields are not among
    /// them.
    ///
    /// # Errors
    /// Those of `take`, and for bytes that are no BSON.
    pub(super) fn others(
        &self,
        declared: &Names,
        mut take: impl FnMut(&'a str, u8, &mut Input<'a>) -> Done,
    ) -> Done {
        use crate::model::own_fields::{COPIED, is_own};
        let mut elements = self.all()?;
        while let Some((kind, name)) = elements.element()? {
            let name = std::str::from_utf8(name).map_err(|_| Fault::malformed())?;
            let is_the_librarys = name == COPIED || self.is_outermost && is_own(name);
            if is_the_librarys || declared.has(name) || self.tag == Some(name) {
                elements.skip(kind)?;
                continue;
            }
            if let Err(fault) = take(name, kind, &mut elements) {
                return Err(fault.at(Step::Key(name.to_owned())));
            }
        }
        Ok(())
    }

    /// Refuses a document that has an element which is not declared: `deny_unknown_fields`.
    ///
    /// # Errors
    /// For the first of them, and for bytes that are no BSON.
    #[inline]
    pub fn finish(&self, declared: &Names) -> Done {
        if self.has_others || self.next.is_empty() && self.search.passed_nothing() {
            return Ok(());
        }
        self.refuse_unknown(declared)
    }

    #[cold]
    fn refuse_unknown(&self, declared: &Names) -> Done {
        let mut elements = self.all()?;
        while let Some((kind, name)) = elements.element()? {
            let name = std::str::from_utf8(name).map_err(|_| Fault::malformed())?;
            if !declared.has(name) && self.tag != Some(name) {
                return Err(Fault::other("unknown field").at(Step::Key(name.to_owned())));
            }
            elements.skip(kind)?;
        }
        Ok(())
    }

    /// The bytes of the document.
    pub(super) fn whole(&self) -> &'a [u8] {
        self.whole
    }

    /// The type of its elements' document, as a value.
    pub(super) fn as_value(&self) -> Input<'a> {
        self.next.with(self.whole)
    }
}

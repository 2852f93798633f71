//! Enums: which variant a value holds, and what it carries.
//!
//! The name of a variant says which one it is. It stands around its content (`{ "Card": { … } }`, or `"Cash"` alone), among its fields (a tag), or
//! beside the content (a tag and a name for the content). One without any mark is the first that can be read.

use super::fault::{Done, Fault, Read, Step};
use super::field::Field;
use super::input::{Input, kind};
use super::list::Items;
use super::reader::Reader;
use super::value::Stored;

/// A variant that was found by its name.
#[derive(Debug)]
pub struct Variant<'a> {
    name: &'a str,
    content: Content<'a>,
    /// It stands among other fields, where one without content has `null` under its name.
    is_flat: bool,
}

#[derive(Debug)]
enum Content<'a> {
    /// The name stands alone, as a text.
    None,
    /// There is no field with the content.
    Missing(&'static str),
    /// Under the name of the variant.
    Under(u8, Input<'a>),
    /// In the field with this name.
    Beside(&'static str, u8, Input<'a>),
}

/// The variant of an enum whose name stands around its content: a text, or a document of one element.
///
/// # Errors
/// Where the value is neither.
pub fn external<'a>(kind: u8, input: &mut Input<'a>) -> Read<Variant<'a>> {
    match kind {
        kind::STRING => Ok(Variant {
            name: input.text()?,
            content: Content::None,
            is_flat: false,
        }),
        kind::DOCUMENT => {
            let mut elements = input.nested()?;
            let Some((kind, name)) = elements.element()? else {
                return Err(Fault::other("a variant has a name"));
            };
            let name = std::str::from_utf8(name).map_err(|_| Fault::malformed())?;
            let content = Content::Under(kind, elements);
            Ok(Variant {
                name,
                content,
                is_flat: false,
            })
        }
        _ => Err(Fault::wrong_type(kind, "string or object")),
    }
}

impl<'a> Reader<'a> {
    /// The variant of an enum whose name stands in one field, and its content in another.
    ///
    /// # Errors
    /// Where there is no name.
    pub fn adjacent(&mut self, tag: &'static str, content: &'static str) -> Read<Variant<'a>> {
        let name = self.tag(tag)?;
        let content = match self.raw(content)? {
            None => Content::Missing(content),
            Some((kind, input)) => Content::Beside(content, kind, input),
        };
        Ok(Variant {
            name,
            content,
            is_flat: false,
        })
    }

    /// The variant of a flattened enum: an element with one of these names.
    ///
    /// # Errors
    /// Where there is none.
    pub fn variant(&mut self, names: &'static [&'static str]) -> Read<Variant<'a>> {
        match self.one_of(names)? {
            Some((name, kind, input)) => Ok(Variant {
                name,
                content: Content::Under(kind, input),
                is_flat: true,
            }),
            None => Err(Fault::unknown_variant(names)),
        }
    }
}

impl<'a> Variant<'a> {
    /// Its name, as it is stored.
    #[inline]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Nothing: of a variant without content.
    ///
    /// # Errors
    /// Where it has one.
    pub fn unit(self) -> Done {
        match self.content {
            Content::None | Content::Missing(_) | Content::Beside(_, kind::NULL, _) => Ok(()),
            Content::Under(kind::NULL, _) if self.is_flat => Ok(()),
            Content::Under(kind, _) | Content::Beside(_, kind, _) => {
                Err(Fault::wrong_type(kind, "a variant without content"))
            }
        }
    }

    /// Its one value. The field has the name of the variant.
    ///
    /// # Errors
    /// Where it is missing, or can't be read.
    #[inline]
    pub fn value<T>(self, field: &'static Field<T>) -> Read<T> {
        match self.content {
            Content::Under(kind, mut input) => field.read(kind, &mut input),
            Content::Beside(content, kind, mut input) => {
                (field.read)(kind, &mut input).map_err(|fault| fault.of_field(content))
            }
            Content::Missing(content) => (field.missing)().map_err(|fault| fault.of_field(content)),
            Content::None => Err(no_content()),
        }
    }

    /// Its named fields.
    ///
    /// # Errors
    /// Where there are none, and those of `read`.
    #[inline]
    pub fn fields<T>(self, variant: &'static str, read: impl FnOnce(&mut Reader<'a>) -> Read<T>) -> Read<T> {
        let (step, kind, mut input) = self.content(variant)?;
        let read_fields = || {
            if kind != kind::DOCUMENT {
                return Err(Fault::wrong_type(kind, "object"));
            }
            read(&mut Reader::embedded(&mut input)?)
        };
        read_fields().map_err(|fault| fault.at(Step::Field(step)))
    }

    /// Its several values, which are stored as an array.
    ///
    /// # Errors
    /// Where there are none, and those of `read`.
    #[inline]
    pub fn items<T>(self, variant: &'static str, read: impl FnOnce(&mut Items<'a>) -> Read<T>) -> Read<T> {
        let (step, kind, mut input) = self.content(variant)?;
        let read_items = || read(&mut Items::of(kind, &mut input)?);
        read_items().map_err(|fault| fault.at(Step::Field(step)))
    }

    fn content(self, variant: &'static str) -> Read<(&'static str, u8, Input<'a>)> {
        match self.content {
            Content::Under(kind, input) => Ok((variant, kind, input)),
            Content::Beside(content, kind, input) => Ok((content, kind, input)),
            Content::Missing(content) => Err(Fault::missing().of_field(content)),
            Content::None => Err(no_content()),
        }
    }
}

#[cold]
fn no_content() -> Box<Fault> {
    Fault::other("the variant has content, and its name stands alone")
}

/// Reads `null`: a variant without content of an enum without tags.
///
/// # Errors
/// For any other value.
pub fn unit(kind: u8, input: &mut Input<'_>) -> Done {
    <()>::read(kind, input)
}

/// The variants of an enum without tags, one after the other, until one can be read. At first an integer is no double, a whole double
/// no integer and a text no id, so that a variant is not taken for one before it; in a second round they are.
#[derive(Debug)]
pub struct Untagged<'a> {
    kind: u8,
    input: Input<'a>,
    /// Whether there is no second round, within the first of an enum around it.
    is_exact: bool,
    /// The error of the variant that got furthest.
    fault: Option<Box<Fault>>,
}

impl<'a> Untagged<'a> {
    /// Those of the value at the beginning of the input.
    ///
    /// # Errors
    /// Where the bytes are no BSON.
    pub fn of(kind: u8, input: &mut Input<'a>) -> Read<Untagged<'a>> {
        let begin = input.exactly(true);
        let is_exact = input.is_exact();
        input.skip(kind)?;
        Ok(Untagged {
            kind,
            input: begin,
            is_exact,
            fault: None,
        })
    }

    /// Whether they are to be tried again, in the second round.
    #[cold]
    pub fn again(&mut self) -> bool {
        let is_first = self.input.is_exact() && !self.is_exact;
        self.input = self.input.exactly(false);
        is_first
    }

    /// The value, if this variant can be read.
    #[inline]
    pub fn attempt<T>(&mut self, read: impl FnOnce(u8, &mut Input<'a>) -> Read<T>) -> Option<T> {
        let mut input = self.input;
        match read(self.kind, &mut input) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.failed(fault);
                None
            }
        }
    }

    #[cold]
    fn failed(&mut self, fault: Box<Fault>) {
        if self
            .fault
            .as_ref()
            .is_none_or(|known| known.depth() < fault.depth())
        {
            self.fault = Some(fault);
        }
    }

    /// The error, after the last of them.
    #[cold]
    pub fn fault(self) -> Box<Fault> {
        self.fault
            .unwrap_or_else(|| Fault::other("no variant can be read"))
    }
}

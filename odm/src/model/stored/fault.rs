//! Why a value can't be read or written, and where it stands.

use std::borrow::Cow;
use std::fmt;

/// The result of reading. An error is one pointer, so that a result costs nothing where there is none.
pub type Read<T> = Result<T, Box<Fault>>;

/// The result of writing.
pub type Done = Read<()>;

/// One step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A declared field, or a variant.
    Field(&'static str),
    /// A key of a map.
    Key(String),
    /// An item of an array.
    Item(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => f.write_str(name),
            Step::Key(key) => f.write_str(key),
            Step::Item(position) => position.fmt(f),
        }
    }
}

/// Why a value can't be read or written. It names types and places; a stored value would be repeated in logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// From the value outwards: each level adds its step while the error goes up.
    steps: Vec<Step>,
    what: What,
}

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Missing,
    Type { found: u8, expected: &'static str },
    Range(&'static str),
    Variant(&'static [&'static str]),
    Malformed,
    Other(Cow<'static, str>),
}

// Errors are made out of the way of the code that reads and writes.
impl Fault {
    /// The field is not in the document.
    #[cold]
    #[inline(never)]
    pub fn missing() -> Box<Fault> {
        Fault::new(What::Missing)
    }

    /// A value of another type of BSON.
    #[cold]
    #[inline(never)]
    pub fn wrong_type(found: u8, expected: &'static str) -> Box<Fault> {
        Fault::new(What::Type { found, expected })
    }

    /// A number that the type in Rust can't hold.
    #[cold]
    #[inline(never)]
    pub fn out_of_range(ty: &'static str) -> Box<Fault> {
        Fault::new(What::Range(ty))
    }

    /// A name that no variant has.
    #[cold]
    #[inline(never)]
    pub fn unknown_variant(expected: &'static [&'static str]) -> Box<Fault> {
        Fault::new(What::Variant(expected))
    }

    /// Bytes that are no BSON.
    #[cold]
    #[inline(never)]
    pub fn malformed() -> Box<Fault> {
        Fault::new(What::Malformed)
    }

    /// Any other reason.
    #[cold]
    #[inline(never)]
    pub fn other(message: impl Into<Cow<'static, str>>) -> Box<Fault> {
        Fault::new(What::Other(message.into()))
    }

    fn new(what: What) -> Box<Fault> {
        let steps = Vec::new();
        Box::new(Fault { steps, what })
    }

    /// The same error of a value that stands in another one.
    #[cold]
    #[inline(never)]
    pub fn at(mut self: Box<Fault>, step: Step) -> Box<Fault> {
        self.steps.push(step);
        self
    }

    /// The same error of a declared field.
    #[cold]
    #[inline(never)]
    pub(super) fn of_field(self: Box<Fault>, name: &'static str) -> Box<Fault> {
        self.at(Step::Field(name))
    }

    /// How many steps lead to the value.
    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }

    /// The steps from the document to the value.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().rev()
    }

    /// The dotted path of the value; empty for the document itself.
    pub fn path(&self) -> String {
        let steps: Vec<String> = self.steps().map(Step::to_string).collect();
        steps.join(".")
    }

    /// The reason, without the path.
    pub fn message(&self) -> String {
        match &self.what {
            What::Missing => match self.steps.first() {
                Some(field) => format!("missing field `{field}`"),
                None => "missing value".to_owned(),
            },
            What::Type { found, expected } => format!("expected {expected}, found {}", type_name(*found)),
            What::Range(ty) => format!("the number is out of the range of `{ty}`"),
            What::Variant(expected) => format!("unknown variant, expected one of: {}", expected.join(", ")),
            What::Malformed => "the bytes are no valid BSON".to_owned(),
            What::Other(message) => message.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.steps.is_empty() {
            write!(f, "`{}`: ", self.path())?;
        }
        f.write_str(&self.message())
    }
}

impl std::error::Error for Fault {}

/// The name of a type by the byte before its values, as MongoDB's `bsonType` has it.
fn type_name(kind: u8) -> &'static str {
    match kind {
        0x01 => "double",
        0x02 => "string",
        0x03 => "object",
        0x04 => "array",
        0x05 => "binData",
        0x06 => "undefined",
        0x07 => "objectId",
        0x08 => "bool",
        0x09 => "date",
        0x0a => "null",
        0x0b => "regex",
        0x0c => "dbPointer",
        0x0d => "javascript",
        0x0e => "symbol",
        0x0f => "javascriptWithScope",
        0x10 => "int",
        0x11 => "timestamp",
        0x12 => "long",
        0x13 => "decimal",
        0x7f => "maxKey",
        0xff => "minKey",
        _ => "an unknown type",
    }
}

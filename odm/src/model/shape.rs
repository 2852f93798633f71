//! The shape of a stored value, as constants that the derives write down.
//!
//! One description serves every user of it: the `$jsonSchema` validator, the checks before the network, the worst-case
//! size, the plan of the schema and the bounds of an update. Shapes refer to each other through function pointers, so a
//! type may contain itself (with a declared depth) without a cycle among constants.

use crate::model::copy::{Copied, EntryMeta};
use crate::model::default::DefaultFn;
use crate::model::reference::{Reference, ReferenceMeta};
use crate::model::size;
use crate::model::value::{Array, Value};

pub use crate::error::violation::Number;

/// Gives the shape of a type; a pointer rather than a value, so that shapes may be recursive.
pub type ShapeFn = fn() -> Shape;

/// Maximum number of options and newtypes around a value that are unwrapped: no sensible type has more, and a type may contain
/// itself.
pub(crate) const MOST_WRAPPERS: u32 = 32;

/// How a value looks in BSON, without the bounds that a field adds to it.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything: an opaque field.
    Any,
    /// `null`: the unit type.
    Null,
    /// A boolean.
    Bool,
    /// A 32-bit integer from `min` to `max`.
    Int {
        /// The least value of the Rust type.
        min: i32,
        /// The greatest value of the Rust type.
        max: i32,
    },
    /// A 64-bit integer (an `int` is accepted, since the shell and other drivers write one) from `min` to `max`.
    Long {
        /// The least value of the Rust type.
        min: i64,
        /// The greatest value of the Rust type.
        max: i64,
    },
    /// A double (integers are accepted, since the shell writes them).
    Double,
    /// A 128-bit decimal.
    Decimal,
    /// A string.
    String,
    /// A string of one character.
    Char,
    /// An ObjectId.
    ObjectId,
    /// A date.
    Date,
    /// Binary data of any subtype.
    Binary,
    /// Binary data of the subtype of UUIDs.
    Uuid,
    /// A timestamp.
    Timestamp,
    /// A regular expression.
    Regex,
    /// A value or `null`.
    Optional(ShapeFn),
    /// An array; its bound is the field's.
    Array(ShapeFn),
    /// An array of exactly `len` items.
    Fixed {
        /// The shape of each item.
        items: ShapeFn,
        /// How many there are.
        len: usize,
    },
    /// An array with one shape a position.
    Tuple(&'static [ShapeFn]),
    /// A document with the values of a map; its bound is the field's.
    Map(ShapeFn),
    /// A shape with bounds of its own: a newtype struct with an attribute on its field.
    Bounded(&'static FieldMeta),
    /// A document with declared fields.
    Struct(&'static StructShape),
    /// One of several variants.
    Enum(&'static EnumShape),
}

/// The bounds that a field declares. `None` is "not declared".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The greatest number of items of an array or entries of a map: `#[embed(max = N)]`.
    pub max_items: Option<u64>,
    /// The greatest length: code points of a string (as `maxLength` counts them), bytes of a binary value; of an array,
    /// of each of its items: `#[field(max_len = N)]`.
    pub max_len: Option<u64>,
    /// The least length, counted like `max_len`: `#[field(min_len = N)]`.
    pub min_len: Option<u64>,
    /// The greatest length in code points of a map's key: `#[embed(key_len = N)]`.
    pub key_len: Option<u64>,
    /// The least value: `#[field(min = N)]`.
    pub min: Option<Number>,
    /// The greatest value: `#[field(max = N)]`.
    pub max: Option<Number>,
    /// How many levels of the same type may be nested below this field: `#[embed(depth = N)]`.
    pub depth: Option<u32>,
    /// Not looked into: `#[field(opaque)]`.
    pub opaque: bool,
}

impl Bounds {
    /// No bound at all.
    pub const NONE: Bounds = Bounds {
        max_items: None,
        max_len: None,
        min_len: None,
        key_len: None,
        min: None,
        max: None,
        depth: None,
        opaque: false,
    };
}

/// How the library maintains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Managed {
    /// Nothing: the application writes it.
    No,
    /// The field stored as `_id`.
    Id,
    /// Set at insert: `#[document(timestamps)]`.
    CreatedAt,
    /// Set at every write: `#[document(timestamps)]`.
    UpdatedAt,
    /// Incremented at every write: `#[document(version)]`.
    Version,
}

/// One field of a stored struct.
#[derive(Clone, Copy, Debug)]
pub struct FieldMeta {
    /// Its name in Rust.
    pub rust: &'static str,
    /// Its name in BSON, as serde stores it.
    pub name: &'static str,
    /// Other names that serde reads it from (`#[serde(alias)]`).
    pub aliases: &'static [&'static str],
    /// Its type, as it was written.
    pub ty: &'static str,
    /// The shape of its type.
    pub shape: ShapeFn,
    /// Its declared bounds.
    pub bounds: Bounds,
    /// Whether a document without it can't be read back.
    pub required: bool,
    /// Whether its own fields stand in the parent (`#[serde(flatten)]`).
    pub flatten: bool,
    /// How the library maintains it.
    pub managed: Managed,
    /// The worst-case size of its value in bytes, without type byte and name; `None` where a part of it has no bound.
    pub size: Option<u64>,
    /// Whether no two documents have the same value in it: a field of a document with a unique index of its own, or its
    /// `_id`.
    pub unique: bool,
    /// Its declaration as a reference to other documents.
    pub reference: Option<&'static ReferenceMeta>,
    /// Its declaration of the reference in its struct of copies, if it is a reference with copies beside it.
    pub entry: Option<&'static EntryMeta>,
    /// Its source, if the library derives it: a copy, a subset, a computed field.
    pub copied: Option<&'static Copied>,
    /// Whether it changes so often that a copy of it is refused: `#[volatile]`.
    pub volatile: bool,
    /// Whether serde stores nothing for `None`: `#[serde(skip_serializing_if = "Option::is_none")]`.
    pub skips_none: bool,
    /// Whether it is a set: an array whose items have no order, and each of which counts once.
    pub set: bool,
    /// The value that is read where it is missing: `#[serde(default)]`, of the field or of its struct.
    pub default: Option<DefaultFn>,
    /// Whether serde leaves out some of its values: `#[serde(skip_serializing_if = "…")]`.
    pub left_out: bool,
    /// Whether an upsert stores its default in a new document: `#[field(default = …)]` and `#[field(stored)]`.
    pub inserted: bool,
    /// Whether every document has it, though one without it could be read: `#[field(stored)]`.
    pub stored: bool,
    /// Whether a struct in its value shows the fields that it does not declare: `#[field(extra)]`.
    pub shows_more: bool,
}

impl FieldMeta {
    const fn with(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        shape: ShapeFn,
        bounds: Bounds,
        size: Option<u64>,
    ) -> FieldMeta {
        FieldMeta {
            rust,
            name,
            aliases: &[],
            ty,
            shape,
            bounds,
            required: true,
            flatten: false,
            managed: Managed::No,
            size,
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
        }
    }

    /// Whether it shows the fields that the struct does not declare: `#[field(extra)]`.
    pub(crate) const fn is_extra(&self) -> bool {
        self.flatten && self.bounds.opaque
    }

    /// The declaration of the reference that it is, or that it holds with copies beside it.
    pub(crate) const fn declared(&self) -> Option<&'static ReferenceMeta> {
        match (self.reference, self.entry) {
            (None, Some(entry)) => Some(&entry.reference),
            (reference, _) => reference,
        }
    }

    /// A field of a type that has a bound of its own, or needs a length at most.
    pub const fn value<T: Value>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta {
            shows_more: T::HOLDS_EXTRA,
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, T::SIZE.with(bounds.max_len))
        }
    }

    /// An array, set or map with a declared number of items.
    pub const fn items<T: Array>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        let item = <T::Item as Value>::SIZE.with(bounds.max_len);
        let size = match bounds.max_items {
            Some(max) if T::MAP => size::map(item, max, bounds.key_len),
            Some(max) => size::array(item, max),
            None => None,
        };
        FieldMeta {
            set: T::SET,
            shows_more: <T::Item as Value>::HOLDS_EXTRA,
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, size)
        }
    }

    /// A field whose type contains the struct again: its size is not asked for, which would go round in a circle.
    pub const fn recursive<T: Value>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta::with(rust, name, ty, T::shape, bounds, None)
    }

    /// An array of such values.
    pub const fn recursive_items<T: Array>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta {
            set: T::SET,
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, None)
        }
    }

    /// A field that refers to other documents: by one value, or by an array with a declared number of them.
    pub const fn refers<R: Reference>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
        reference: &'static ReferenceMeta,
    ) -> FieldMeta {
        let one = <R::Pointer as Value>::SIZE.with(None);
        let size = match bounds.max_items {
            Some(max) => size::array(one, max),
            None => one,
        };
        FieldMeta {
            reference: Some(reference),
            set: R::SET,
            ..FieldMeta::with(rust, name, ty, crate::model::reference::shape::<R>, bounds, size)
        }
    }

    /// A field that nothing looks into.
    pub const fn opaque(rust: &'static str, name: &'static str, ty: &'static str) -> FieldMeta {
        let bounds = Bounds {
            opaque: true,
            ..Bounds::NONE
        };
        FieldMeta::with(rust, name, ty, || Shape::Any, bounds, None)
    }
}

/// A struct's fields, and whether serde refuses others.
#[derive(Clone, Copy, Debug)]
pub struct StructShape {
    /// The struct's name in Rust.
    pub name: &'static str,
    /// Its stored fields in order.
    pub fields: &'static [FieldMeta],
    /// `#[serde(deny_unknown_fields)]`.
    pub deny_unknown: bool,
}

/// How serde marks an enum's variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tagging {
    /// `{ variant: content }`, or the variant's name where it has none: serde's default.
    External,
    /// `{ tag: variant, ...content }`: `#[serde(tag = "…")]`.
    Internal(&'static str),
    /// `{ tag: variant, content: … }`: `#[serde(tag = "…", content = "…")]`.
    Adjacent(&'static str, &'static str),
    /// The content alone: `#[serde(untagged)]`.
    Untagged,
}

/// An enum's variants and their tags.
#[derive(Clone, Copy, Debug)]
pub struct EnumShape {
    /// The enum's name in Rust.
    pub name: &'static str,
    /// How a variant is marked.
    pub tagging: Tagging,
    /// The variants that can be stored.
    pub variants: &'static [VariantMeta],
}

/// One variant of an enum.
#[derive(Clone, Copy, Debug)]
pub struct VariantMeta {
    /// Its stored name.
    pub name: &'static str,
    /// Other names that serde reads it from.
    pub aliases: &'static [&'static str],
    /// Its content.
    pub body: Body,
}

/// The content of a variant.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Nothing.
    Unit,
    /// One value.
    Newtype(&'static FieldMeta),
    /// Several values, stored as an array.
    Tuple(&'static [FieldMeta]),
    /// Named fields.
    Struct(&'static StructShape),
}

/// The names that a value brings into the document in which it stands.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Its own: those of its fields with their aliases, of a tag.
    pub own: &'static [&'static str],
    /// Those of what stands in it without a name: of flattened structs, or of an enum's variants.
    pub within: &'static [Names],
}

impl Names {
    /// No names: the value stands under one.
    pub const NONE: Names = Names {
        own: &[],
        within: &[],
    };

    /// Whether this name is among them.
    pub const fn has(&self, name: &str) -> bool {
        let mut i = 0;
        while i < self.own.len() {
            if same(self.own[i], name) {
                return true;
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.within.len() {
            if self.within[i].has(name) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// The first of them that the others have too.
    pub const fn shared(&self, others: &Names) -> Option<&'static str> {
        let mut i = 0;
        while i < self.own.len() {
            if others.has(self.own[i]) {
                return Some(self.own[i]);
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.within.len() {
            if let Some(name) = self.within[i].shared(others) {
                return Some(name);
            }
            i += 1;
        }
        None
    }
}

/// The shape of the field with this dotted name, if all on the way to it is declared.
pub(crate) fn shape_at(shape: Shape, name: &str) -> Option<Shape> {
    let mut shape = shape;
    for part in name.split('.').filter(|part| !part.is_empty()) {
        shape = within(shape, part)?.shape;
    }
    Some(shape)
}

/// The value under a name of a struct or a map.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    pub(crate) shape: Shape,
    /// Whether a document is read that lacks it.
    pub(crate) may_miss: bool,
}

impl From<&FieldMeta> for Within {
    fn from(field: &FieldMeta) -> Within {
        let shape = of_field(field);
        Within {
            shape,
            may_miss: !field.required || may_be_null(shape),
        }
    }
}

/// The value under this name.
pub(crate) fn within(shape: Shape, name: &str) -> Option<Within> {
    find(shape, name, 0)
}

fn find(shape: Shape, name: &str, depth: u32) -> Option<Within> {
    if depth > MOST_WRAPPERS {
        return None;
    }
    match shape {
        Shape::Optional(inner) => find(inner(), name, depth + 1),
        Shape::Bounded(meta) => find(of_field(meta), name, depth + 1),
        Shape::Map(values) => Some(Within {
            shape: values(),
            may_miss: true,
        }),
        Shape::Struct(shape) => {
            let named = shape
                .fields
                .iter()
                .find(|field| !field.flatten && field.name == name);
            named.map(Within::from).or_else(|| {
                let mut flat = shape.fields.iter().filter(|field| field.flatten);
                flat.find_map(|inner| find(of_field(inner), name, depth + 1))
            })
        }
        _ => None,
    }
}

/// The shape within options and newtypes.
pub(crate) fn inner(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(field) => of_field(field),
            shape => return shape,
        };
    }
    Shape::Any
}

/// The shape of a field's value, as far as it is known.
pub(crate) fn of_field(field: &FieldMeta) -> Shape {
    match field.bounds.opaque {
        true => Shape::Any,
        false => (field.shape)(),
    }
}

/// Whether the value itself is an option.
pub(crate) fn may_be_null(shape: Shape) -> bool {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Bounded(inner) => shape = of_field(inner),
            shape => return matches!(shape, Shape::Optional(_)),
        }
    }
    false
}

/// The shape of the items of an array, however it is wrapped.
pub(crate) fn items(shape: Shape) -> Option<Shape> {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Bounded(inner) => shape = of_field(inner),
            Shape::Optional(inner) => shape = inner(),
            Shape::Array(items) => return Some(items()),
            _ => return None,
        }
    }
    None
}

/// Whether two texts are the same, in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

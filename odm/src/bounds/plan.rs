//! The shape that [`quick`](super::quick) compares a document with, resolved once for all documents of the type.
//!
//! A shape is made of functions that give shapes, since types may contain themselves. To call them for every value of every
//! document took longer than to look at the values; so they are called once, and their results are kept.

use super::number;
use super::shapes::{MAX_WRAPPERS, tightened};
use crate::model::meta::value_rules::ValueRules;
use crate::model::shape::{Body, Bounds, EnumShape, FieldMeta, Number, Shape, StructShape, Tagging};
use std::sync::OnceLock;

/// How a value has to be. Whatever is not one of the simple kinds is [`Unknown`](Test::Unknown).
#[derive(Debug)]
pub(super) enum Test {
    /// Left to the walk.
    Unknown,
    /// Anything; only its nesting is counted.
    Opaque,
    Null,
    Bool,
    ObjectId,
    Date,
    Timestamp,
    Decimal,
    /// An `int` within these.
    Int {
        min: i64,
        max: i64,
    },
    /// A `long` or an `int` within these.
    Long {
        min: i64,
        max: i64,
    },
    /// A `double`, or another number.
    Double {
        min: Option<Number>,
        max: Option<Number>,
    },
    /// A string, with bounds for its number of code points.
    Text {
        min: Option<u64>,
        max: Option<u64>,
    },
    /// Binary data, with bounds for its number of bytes.
    Binary {
        min: Option<u64>,
        max: Option<u64>,
    },
    Array {
        items: Box<Spec>,
        max: Option<u64>,
    },
    Fixed {
        items: Box<Spec>,
        len: usize,
    },
    Tuple(Box<[Spec]>),
    Map {
        values: Box<Spec>,
        bounds: Bounds,
    },
    Struct(Box<[Field]>),
    /// A string, or a document with the variant's name and its body.
    External(&'static EnumShape, Box<[Spec]>),
    /// A value with rules beside its type.
    Ruled(Box<Test>, &'static ValueRules),
    /// A document that begins with the tag; of each variant the fields behind it.
    Internal {
        tag: &'static str,
        shape: &'static EnumShape,
        bodies: Box<[Option<Box<[Field]>>]>,
    },
}

#[derive(Debug)]
pub(super) struct Spec {
    pub(super) nullable: bool,
    pub(super) test: Test,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Name,
    pub(super) required: bool,
    /// MongoDB has rules of its own for an `_id` that is no plain value.
    pub(super) is_id: bool,
    pub(super) spec: Spec,
}

/// A field's name with the zero byte behind it, the first eight bytes of which are compared at once.
#[derive(Debug)]
pub(super) struct Name {
    bytes: Box<[u8]>,
    head: u64,
    mask: u64,
}

impl Name {
    fn of(name: &str) -> Name {
        let bytes: Box<[u8]> = name.bytes().chain([0]).collect();
        let (mut head, mut mask) = ([0; 8], [0; 8]);
        for ((byte, head), mask) in bytes.iter().zip(&mut head).zip(&mut mask) {
            (*head, *mask) = (*byte, 0xff);
        }
        Name {
            bytes,
            head: u64::from_le_bytes(head),
            mask: u64::from_le_bytes(mask),
        }
    }

    /// The bytes after the name, if these begin with it.
    #[inline(always)]
    pub(super) fn strip<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if let Some(head) = bytes.first_chunk::<8>() {
            if (u64::from_le_bytes(*head) ^ self.head) & self.mask != 0 {
                return None;
            }
            if let Some(behind) = bytes.get(self.bytes.len()..).filter(|_| self.bytes.len() <= 8) {
                return Some(behind);
            }
        }
        bytes.strip_prefix(&*self.bytes)
    }
}

/// The plan of one struct, and of others whose place in memory falls into the same slot.
struct Plan {
    place: usize,
    fields: Option<Box<[Field]>>,
    next: Slot,
}

type Slot = OnceLock<Box<Plan>>;

/// The plans of the structs that have been looked at as whole documents, by their places in memory. Plans are only added, one
/// for each type, so reading an existing one never waits.
static PLANS: [Slot; 256] = [const { OnceLock::new() }; 256];

/// The fields of a document; `None` where they can't be looked at in their order.
pub(super) fn of(shape: &'static StructShape) -> Option<&'static [Field]> {
    let place = std::ptr::from_ref(shape) as usize;
    let mut slot: &'static Slot = PLANS.get(place / align_of::<StructShape>() % PLANS.len())?;
    loop {
        let plan = slot.get_or_init(|| {
            let mut resolve = Resolve { left: MOST };
            Box::new(Plan {
                place,
                fields: resolve.fields(shape, 0),
                next: OnceLock::new(),
            })
        });
        if plan.place == place {
            return plan.fields.as_deref();
        }
        slot = &plan.next;
    }
}

/// Maximum number of values of one document's shape that are resolved. A type that contains itself has more.
const MOST: u32 = 4_096;

/// Maximum depth of a value.
const DEEPEST: u32 = 32;

struct Resolve {
    left: u32,
}

fn ruled(test: Test, rules: Option<&'static ValueRules>) -> Test {
    match rules {
        Some(rules) => Test::Ruled(Box::new(test), rules),
        None => test,
    }
}

impl Resolve {
    /// `None` where they can't be taken in their order.
    fn fields(&mut self, shape: &'static StructShape, level: u32) -> Option<Box<[Field]>> {
        if shape.fields.iter().any(|field| field.flatten) {
            return None;
        }
        let field = |field: &'static FieldMeta| Field {
            name: Name::of(field.name),
            required: field.required && field.copied.is_none(),
            is_id: level == 0 && field.name == "_id",
            spec: self.bounded((field.shape)(), &field.bounds, false, (level + 1, 0)),
        };
        Some(shape.fields.iter().map(field).collect())
    }

    fn bounded(&mut self, shape: Shape, bounds: &Bounds, nullable: bool, depth: (u32, u32)) -> Spec {
        let test = match bounds {
            Bounds { opaque: true, .. } => Test::Opaque,
            Bounds { depth: Some(_), .. } => Test::Unknown,
            _ => return self.typed(shape, bounds, nullable, depth),
        };
        Spec { nullable, test }
    }

    fn typed(
        &mut self,
        shape: Shape,
        bounds: &Bounds,
        nullable: bool,
        (level, wrappers): (u32, u32),
    ) -> Spec {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || level > DEEPEST || wrappers >= MAX_WRAPPERS {
            let test = Test::Unknown;
            return Spec { nullable, test };
        }
        let deeper = (level, wrappers + 1);
        let test = match shape {
            Shape::Optional(inner) => return self.typed(inner(), bounds, true, deeper),
            Shape::Bounded(meta) => {
                let both = tightened(&meta.bounds, bounds).unwrap_or(meta.bounds);
                let inner = self.bounded((meta.shape)(), &both, nullable, deeper);
                return Spec {
                    nullable: inner.nullable,
                    test: ruled(inner.test, bounds.rules),
                };
            }
            Shape::Array(_) | Shape::Map(_) => self.test(shape, bounds, level),
            shape => ruled(self.test(shape, bounds, level), bounds.rules),
        };
        Spec { nullable, test }
    }

    fn item(&mut self, shape: Shape, bounds: &Bounds, level: u32) -> Spec {
        self.typed(shape, bounds, false, (level + 1, 0))
    }

    fn test(&mut self, shape: Shape, bounds: &Bounds, level: u32) -> Test {
        let (min, max) = (bounds.min_len, bounds.max_len);
        match shape {
            Shape::Any => Test::Opaque,
            Shape::Null => Test::Null,
            Shape::Bool => Test::Bool,
            Shape::ObjectId => Test::ObjectId,
            Shape::Date => Test::Date,
            Shape::Timestamp => Test::Timestamp,
            Shape::Int { min, max } => match number::within((min.into(), max.into()), bounds) {
                Some((min, max)) => Test::Int { min, max },
                None => Test::Unknown,
            },
            Shape::Long { min, max } => match number::within((min, max), bounds) {
                Some((min, max)) => Test::Long { min, max },
                None => Test::Unknown,
            },
            Shape::Double => Test::Double {
                min: bounds.min,
                max: bounds.max,
            },
            Shape::Decimal if bounds.min.is_none() && bounds.max.is_none() => Test::Decimal,
            Shape::String => Test::Text { min, max },
            Shape::Char => Test::Text {
                min: Some(1),
                max: Some(1),
            },
            Shape::Binary | Shape::Uuid => Test::Binary { min, max },
            // Its items are compared with each other.
            Shape::Array(_) if bounds.unique_items => Test::Unknown,
            Shape::Array(items) => Test::Array {
                items: Box::new(self.item(items(), bounds, level)),
                max: bounds.max_items,
            },
            Shape::Fixed { items, len } => Test::Fixed {
                items: Box::new(self.item(items(), bounds, level)),
                len,
            },
            Shape::Tuple(items) => {
                let items = items.iter().map(|item| self.item(item(), bounds, level));
                Test::Tuple(items.collect())
            }
            Shape::Map(values) => Test::Map {
                values: Box::new(self.item(values(), bounds, level)),
                bounds: *bounds,
            },
            Shape::Struct(shape) => self.fields(shape, level).map_or(Test::Unknown, Test::Struct),
            Shape::Enum(shape) => self.variants(shape, level),
            // The last two are no value by themselves.
            Shape::Decimal | Shape::Regex | Shape::Optional(_) | Shape::Bounded(_) => Test::Unknown,
        }
    }

    fn variants(&mut self, shape: &'static EnumShape, level: u32) -> Test {
        let variants = shape.variants.iter();
        match shape.tagging {
            Tagging::External => {
                let bodies = variants.map(|variant| self.body(&variant.body, level + 1));
                Test::External(shape, bodies.collect())
            }
            Tagging::Internal(tag) => {
                let bodies = variants.map(|variant| match variant.body {
                    Body::Unit => Some(Box::default()),
                    Body::Struct(inner) => {
                        let is_tag = |field: &FieldMeta| field.name == tag || field.aliases.contains(&tag);
                        if inner.fields.iter().any(is_tag) {
                            None
                        } else {
                            self.fields(inner, level)
                        }
                    }
                    _ => None,
                });
                let bodies = bodies.collect();
                Test::Internal { tag, shape, bodies }
            }
            _ => Test::Unknown,
        }
    }

    fn body(&mut self, body: &'static Body, level: u32) -> Spec {
        let test = match body {
            Body::Unit => Test::Null,
            Body::Newtype(field) => {
                return self.bounded((field.shape)(), &field.bounds, false, (level, 0));
            }
            Body::Tuple(fields) => {
                let field =
                    |field: &FieldMeta| self.bounded((field.shape)(), &field.bounds, false, (level + 1, 0));
                Test::Tuple(fields.iter().map(field).collect())
            }
            Body::Struct(shape) => self.fields(shape, level).map_or(Test::Unknown, Test::Struct),
        };
        Spec {
            nullable: false,
            test,
        }
    }
}

//! The quick look and the walk agree, on documents of generated models.

use super::tests::{field, meta, raw};
use super::*;
use crate::model::meta::value_rules::ValueRules;
use crate::model::shape::{Body, Bounds, EnumShape, Number, ShapeFn, StructShape, Tagging, VariantMeta};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Document, Regex, Timestamp, doc, oid::ObjectId};
use proptest::collection::vec;
use proptest::prelude::*;
use std::cell::RefCell;

thread_local! {
    /// The shapes of the model under test: a `ShapeFn` can't capture one.
    static SHAPES: RefCell<Vec<Shape>> = const { RefCell::new(Vec::new()) };
}

fn slot<const N: usize>() -> Shape {
    SHAPES.with_borrow(|shapes| shapes.get(N).copied().unwrap_or(Shape::Any))
}

macro_rules! slots {
    ($($n:literal)*) => { [$(slot::<$n>),*] };
}

const SLOTS: [ShapeFn; 32] =
    slots!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

static EVEN: ValueRules = ValueRules {
    multiple_of: Some(2),
    ..ValueRules::NONE
};

const NAMES: [&str; 5] = ["a", "bc", "a_name_of_many_letters", "d", "ä"];

fn leak<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}

/// Makes a model and a document of random bytes; where they end, of zeros.
struct Maker {
    bytes: std::vec::IntoIter<u8>,
    /// Whether the quick look knows all that the model has, and the document is in its order.
    is_simple: bool,
}

impl Maker {
    fn below(&mut self, most: usize) -> usize {
        usize::from(self.bytes.next().unwrap_or(0)) % most.max(1)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == many - 1
    }

    /// Something that only the walk understands, once in a while.
    fn odd(&mut self, many: usize) -> bool {
        let is_odd = self.one_in(many);
        self.is_simple &= !is_odd;
        is_odd
    }

    fn shape(&mut self, depth: usize) -> ShapeFn {
        let deeper = depth + 1;
        let shape = match self.below(if depth > 3 { 12 } else { 22 }) {
            0 => Shape::String,
            1 => Shape::Int { min: -128, max: 127 },
            2 => Shape::Long {
                min: i64::MIN,
                max: i64::MAX,
            },
            3 => Shape::Double,
            4 => Shape::Bool,
            5 => Shape::ObjectId,
            6 => Shape::Date,
            7 => Shape::Null,
            8 => Shape::Char,
            9 => Shape::Binary,
            10 => Shape::Timestamp,
            11 => Shape::Any,
            12 => Shape::Optional(self.shape(deeper)),
            13 | 14 => Shape::Array(self.shape(deeper)),
            15 => Shape::Map(self.shape(deeper)),
            16 => Shape::Fixed {
                items: self.shape(deeper),
                len: 2,
            },
            17 => Shape::Tuple(leak(vec![self.shape(deeper), self.shape(deeper)])),
            18 => Shape::Bounded(&leak(vec![self.field("", deeper)])[0]),
            19 | 20 => Shape::Struct(self.structure(Vec::new(), deeper)),
            _ => Shape::Enum(self.variants(deeper)),
        };
        SHAPES.with_borrow_mut(|shapes| {
            let slot = SLOTS.get(shapes.len()).copied();
            shapes.push(shape);
            slot.unwrap_or(|| Shape::Any)
        })
    }

    fn bounds(&mut self) -> Bounds {
        let mut some = |most| self.one_in(3).then(|| self.below(most) as u64);
        let (max_items, min_len, max_len, key_len) = (some(4), some(3), some(6), some(4));
        let mut number = |from: i64| match (self.one_in(3), self.below(9) as i64) {
            (true, n) if n % 2 == 0 => Some(Number::Int(from + n)),
            (true, n) => Some(Number::Float((from + n) as f64 / 2.0)),
            (false, _) => None,
        };
        let (min, max) = (number(-5), number(5));
        Bounds {
            max_items,
            min_len,
            max_len,
            key_len,
            min,
            max,
            depth: self.odd(20).then_some(2),
            opaque: self.one_in(20),
            unique_items: self.odd(20),
            rules: self.odd(12).then_some(&EVEN),
        }
    }

    fn field(&mut self, name: &'static str, depth: usize) -> FieldMeta {
        FieldMeta {
            required: !self.one_in(4),
            flatten: self.odd(24),
            ..field(name, self.shape(depth), self.bounds())
        }
    }

    fn structure(&mut self, mut fields: Vec<FieldMeta>, depth: usize) -> &'static StructShape {
        let many = self.below(NAMES.len() + 1);
        fields.extend(NAMES.into_iter().take(many).map(|name| self.field(name, depth)));
        let shape = StructShape {
            ty: None,
            name: "S",
            fields: leak(fields),
            deny_unknown: self.one_in(2),
        };
        &leak(vec![shape])[0]
    }

    fn variants(&mut self, depth: usize) -> &'static EnumShape {
        let tagging = match self.below(4) {
            0 => Tagging::External,
            1 => Tagging::Internal("tag"),
            2 => Tagging::Adjacent("tag", "content"),
            _ => Tagging::Untagged,
        };
        self.is_simple &= matches!(tagging, Tagging::External | Tagging::Internal(_));
        let variants = ["A", "B", "C"].map(|name| {
            let body = match self.below(4) {
                0 => Body::Unit,
                1 => Body::Struct(self.structure(Vec::new(), depth)),
                2 => Body::Newtype(&leak(vec![self.field("", depth)])[0]),
                _ => Body::Tuple(leak(vec![self.field("", depth), self.field("", depth)])),
            };
            let is_simple = matches!(body, Body::Unit | Body::Struct(_));
            self.is_simple &= is_simple || matches!(tagging, Tagging::External);
            VariantMeta {
                name,
                json: None,
                body,
            }
        });
        let shape = EnumShape {
            name: "E",
            ty: None,
            tagging,
            variants: leak(variants.to_vec()),
        };
        &leak(vec![shape])[0]
    }

    fn anything(&mut self) -> Bson {
        match self.below(8) {
            0 => Bson::Null,
            1 => Bson::Int32(self.below(256) as i32),
            2 => Bson::Int64(i64::MAX),
            3 => Bson::Double(f64::INFINITY),
            4 => Bson::String("A".to_owned()),
            5 => Bson::Array(vec![Bson::Int32(1), Bson::Int32(1)]),
            6 => Bson::Document(doc! { "a": 1, "tag": "B", "content": { "a": 1 } }),
            _ => {
                // It has no length before it.
                self.is_simple = false;
                Bson::RegularExpression(Regex {
                    pattern: "a".try_into().expect("a pattern"),
                    options: "".try_into().expect("options"),
                })
            }
        }
    }

    /// A value that mostly fits.
    fn value(&mut self, shape: Shape, bounds: &Bounds) -> Bson {
        if self.odd(48) {
            return self.anything();
        }
        let number = |maker: &mut Maker| {
            let from = match (bounds.min, bounds.max) {
                (Some(Number::Int(n)), _) => n,
                (Some(Number::Float(n)), _) => n.ceil() as i64,
                (None, Some(Number::Int(n))) => n - 4,
                (None, Some(Number::Float(n))) => n.floor() as i64 - 4,
                (None, None) => 0,
            };
            from + maker.below(5) as i64
        };
        match shape {
            Shape::String => {
                let least = bounds.min_len.unwrap_or(0) as usize;
                Bson::String("aä\u{10348}bcdefgh".chars().take(least + self.below(3)).collect())
            }
            Shape::Char => Bson::String("ä".to_owned()),
            Shape::Int { .. } => Bson::Int32(number(self) as i32),
            Shape::Long { .. } if self.one_in(2) => Bson::Int32(number(self) as i32),
            Shape::Long { .. } => Bson::Int64(number(self)),
            Shape::Double if self.one_in(3) => Bson::Int64(number(self)),
            Shape::Double => Bson::Double(number(self) as f64 + 0.25),
            Shape::Bool => Bson::Boolean(true),
            Shape::ObjectId => Bson::ObjectId(ObjectId::from_bytes([1; 12])),
            Shape::Date => Bson::DateTime(DateTime::from_millis(0)),
            Shape::Null => Bson::Null,
            Shape::Binary | Shape::Uuid => {
                let least = bounds.min_len.unwrap_or(0) as usize;
                Bson::Binary(Binary {
                    subtype: BinarySubtype::Generic,
                    bytes: vec![7; least + self.below(3)],
                })
            }
            Shape::Timestamp => Bson::Timestamp(Timestamp {
                time: 1,
                increment: 1,
            }),
            Shape::Optional(_) if self.one_in(3) => Bson::Null,
            Shape::Optional(inner) => self.value(inner(), bounds),
            Shape::Bounded(meta) => self.value(
                (meta.shape)(),
                shapes::tightened(&meta.bounds, bounds)
                    .as_ref()
                    .unwrap_or(&meta.bounds),
            ),
            Shape::Array(items) => {
                let many = self.below(4);
                Bson::Array((0..many).map(|_| self.value(items(), bounds)).collect())
            }
            Shape::Fixed { items, len } => {
                let many = len + usize::from(self.one_in(24));
                Bson::Array((0..many).map(|_| self.value(items(), bounds)).collect())
            }
            Shape::Tuple(items) => Bson::Array(items.iter().map(|item| self.value(item(), bounds)).collect()),
            Shape::Map(values) => {
                let keys = ["k", "long", "longer"];
                let many = self.below(4);
                let entry = |key: &str| (key.to_owned(), self.value(values(), bounds));
                Bson::Document(keys.into_iter().take(many).map(entry).collect())
            }
            Shape::Struct(shape) => Bson::Document(self.document(shape)),
            Shape::Enum(shape) => self.variant(shape),
            Shape::Any | Shape::Decimal | Shape::Regex => self.anything(),
        }
    }

    fn document(&mut self, shape: &StructShape) -> Document {
        let mut doc = Document::new();
        for field in shape.fields {
            let missing = if field.required {
                self.odd(48)
            } else {
                self.one_in(3)
            };
            if missing {
                continue;
            }
            match self.value((field.shape)(), &field.bounds) {
                Bson::Document(inner) if field.flatten => doc.extend(inner),
                value => {
                    doc.insert(field.name, value);
                }
            }
        }
        if self.odd(24) {
            doc.insert("unknown", self.anything());
        }
        if self.odd(24) {
            let mut fields: Vec<_> = doc.into_iter().collect();
            fields.reverse();
            return fields.into_iter().collect();
        }
        doc
    }

    fn variant(&mut self, shape: &EnumShape) -> Bson {
        let variant = &shape.variants[self.below(shape.variants.len())];
        let of = |maker: &mut Maker, field: &FieldMeta| maker.value((field.shape)(), &field.bounds);
        let body = match variant.body {
            Body::Unit => Bson::Null,
            Body::Newtype(field) => of(self, field),
            Body::Tuple(fields) => Bson::Array(fields.iter().map(|field| of(self, field)).collect()),
            Body::Struct(inner) => Bson::Document(self.document(inner)),
        };
        match (shape.tagging, body) {
            (Tagging::External, Bson::Null) => Bson::String(variant.name.to_owned()),
            (Tagging::External, body) => Bson::Document(doc! { variant.name: body }),
            (Tagging::Internal(tag), Bson::Document(fields)) => {
                let mut doc = doc! { tag: variant.name };
                doc.extend(fields);
                Bson::Document(doc)
            }
            (Tagging::Internal(tag), _) => Bson::Document(doc! { tag: variant.name }),
            (Tagging::Adjacent(tag, content), body) => {
                Bson::Document(doc! { tag: variant.name, content: body })
            }
            (Tagging::Untagged, body) => body,
        }
    }
}

/// What both say about a document of a model that is made of random bytes: whether the quick look passes it, the violations
/// that the walk finds, and whether the model is one that the quick look knows.
fn both(bytes: Vec<u8>) -> (bool, Vec<Violation>, bool) {
    let mut maker = Maker {
        bytes: bytes.into_iter(),
        is_simple: true,
    };
    SHAPES.with_borrow_mut(|shapes| *shapes = vec![Shape::Any]);
    let id = field("_id", || Shape::ObjectId, Bounds::NONE);
    let shape = maker.structure(vec![id], 0);
    SHAPES.with_borrow_mut(|shapes| shapes[0] = Shape::Struct(shape));
    let doc = raw(&maker.document(shape));
    let passes = quick::document(shape, &doc);
    let found = violations(Shape::Struct(shape), &doc);
    match document(&meta(SLOTS[0]), &doc) {
        Ok(()) => assert_eq!(found, [], "{doc:?}"),
        Err(Error::Invalid { violations, .. }) => assert_eq!(violations, found, "{doc:?}"),
        Err(other) => panic!("not a violation: {other}"),
    }
    (passes, found, maker.is_simple)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_quick_look_and_the_walk_agree_on_any_model(bytes in vec(any::<u8>(), 0..400)) {
        let (passes, found, is_simple) = both(bytes);
        prop_assert!(!passes || found.is_empty(), "it passes in spite of {found:?}");
        prop_assert!(passes || !found.is_empty() || !is_simple, "it is refused without a reason");
    }
}

/// Otherwise the test above would say little.
#[test]
fn the_generated_documents_are_passed_refused_and_left_to_the_walk() {
    let mut random = 1_u32;
    let mut counts = [0; 3];
    for _ in 0..1000 {
        let bytes = std::iter::repeat_with(|| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        });
        let (passes, found, _) = both(bytes.take(300).collect());
        counts[if passes {
            0
        } else {
            1 + usize::from(found.is_empty())
        }] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}

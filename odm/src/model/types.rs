//! The BSON types that a field may hold, in the server's order of types.

use crate::model::shape::{Body, EnumShape, FieldMeta, MOST_WRAPPERS, Shape, Tagging, of_field, shape_at};
use mongodb::bson::Bson;

/// Whether a string may be in the field of this name, which a collation compares in its own way.
pub(crate) fn holds_text(shape: Shape, name: &str) -> bool {
    shape_at(shape, name).is_none_or(|field| has_text(field, 0))
}

/// Whether the values in the field of this name have one order, whatever the collation of their collection and wherever they
/// are compared.
pub(crate) fn is_compared_alike(shape: Shape, name: &str) -> bool {
    shape_at(shape, name).is_some_and(|field| !has_text(field, 0) && !types(field, 0).has(Type::Array))
}

/// MongoDB's [order of types](https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/): those in one
/// place are compared by their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    MinKey,
    Null,
    Number,
    String,
    Object,
    Array,
    Binary,
    ObjectId,
    Bool,
    Date,
    Timestamp,
    Regex,
    DbPointer,
    Code,
    CodeWithScope,
    MaxKey,
}

impl Type {
    pub(crate) const ALL: [Type; 16] = [
        Type::MinKey,
        Type::Null,
        Type::Number,
        Type::String,
        Type::Object,
        Type::Array,
        Type::Binary,
        Type::ObjectId,
        Type::Bool,
        Type::Date,
        Type::Timestamp,
        Type::Regex,
        Type::DbPointer,
        Type::Code,
        Type::CodeWithScope,
        Type::MaxKey,
    ];

    pub(crate) fn of(value: &Bson) -> Type {
        match value {
            Bson::MinKey => Type::MinKey,
            Bson::Null | Bson::Undefined => Type::Null,
            Bson::Double(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Decimal128(_) => Type::Number,
            Bson::String(_) | Bson::Symbol(_) => Type::String,
            Bson::Document(_) => Type::Object,
            Bson::Array(_) => Type::Array,
            Bson::Binary(_) => Type::Binary,
            Bson::ObjectId(_) => Type::ObjectId,
            Bson::Boolean(_) => Type::Bool,
            Bson::DateTime(_) => Type::Date,
            Bson::Timestamp(_) => Type::Timestamp,
            Bson::RegularExpression(_) => Type::Regex,
            Bson::DbPointer(_) => Type::DbPointer,
            Bson::JavaScriptCode(_) => Type::Code,
            Bson::JavaScriptCodeWithScope(_) => Type::CodeWithScope,
            Bson::MaxKey => Type::MaxKey,
        }
    }

    /// By MongoDB's names. None for an array, which sorts by one of its items, and is refused where it is met.
    pub(crate) fn names(self) -> &'static [&'static str] {
        match self {
            Type::MinKey => &["minKey"],
            Type::Null => &["null"],
            Type::Number => &["number"],
            Type::String => &["string", "symbol"],
            Type::Object => &["object"],
            Type::Array => &[],
            Type::Binary => &["binData"],
            Type::ObjectId => &["objectId"],
            Type::Bool => &["bool"],
            Type::Date => &["date"],
            Type::Timestamp => &["timestamp"],
            Type::Regex => &["regex"],
            Type::DbPointer => &["dbPointer"],
            Type::Code => &["javascript"],
            Type::CodeWithScope => &["javascriptWithScope"],
            Type::MaxKey => &["maxKey"],
        }
    }
}

/// A set of them. Whatever a field holds, it may be missing or `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeSet(pub(crate) u16);

impl TypeSet {
    pub(crate) const NONE: TypeSet = TypeSet(0);
    pub(crate) const ALL: TypeSet = TypeSet(u16::MAX);

    pub(crate) const fn one(of: Type) -> TypeSet {
        TypeSet(1 << of as u16)
    }

    pub(crate) const fn and(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    pub(crate) fn has(self, of: Type) -> bool {
        self.0 & TypeSet::one(of).0 != 0
    }

    pub(crate) fn are_several(self) -> bool {
        self.0.count_ones() > 1
    }
}

pub(crate) fn types(shape: Shape, depth: u32) -> TypeSet {
    if depth > MOST_WRAPPERS {
        return TypeSet::ALL;
    }
    match shape {
        Shape::Any => TypeSet::ALL,
        Shape::Null => TypeSet::NONE,
        Shape::Bool => TypeSet::one(Type::Bool),
        Shape::Int { .. } | Shape::Long { .. } | Shape::Double | Shape::Decimal => TypeSet::one(Type::Number),
        Shape::String | Shape::Char => TypeSet::one(Type::String),
        Shape::ObjectId => TypeSet::one(Type::ObjectId),
        Shape::Date => TypeSet::one(Type::Date),
        Shape::Binary | Shape::Uuid => TypeSet::one(Type::Binary),
        Shape::Timestamp => TypeSet::one(Type::Timestamp),
        Shape::Regex => TypeSet::one(Type::Regex),
        Shape::Optional(inner) => types(inner(), depth + 1),
        Shape::Bounded(field) => types(of_field(field), depth + 1),
        Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => TypeSet::one(Type::Array),
        Shape::Map(_) | Shape::Struct(_) => TypeSet::one(Type::Object),
        Shape::Enum(shape) => variants(shape, depth),
    }
}

fn variants(shape: &EnumShape, depth: u32) -> TypeSet {
    let of = |body: &Body| match (shape.tagging, body) {
        (Tagging::Internal(_) | Tagging::Adjacent(..), _) => TypeSet::one(Type::Object),
        (Tagging::External, Body::Unit) => TypeSet::one(Type::String),
        (Tagging::External, _) => TypeSet::one(Type::Object),
        (Tagging::Untagged, Body::Unit) => TypeSet::NONE,
        (Tagging::Untagged, Body::Newtype(field)) => types(of_field(field), depth + 1),
        (Tagging::Untagged, Body::Tuple(_)) => TypeSet::one(Type::Array),
        (Tagging::Untagged, Body::Struct(_)) => TypeSet::one(Type::Object),
    };
    shape
        .variants
        .iter()
        .fold(TypeSet::NONE, |all, variant| all.and(of(&variant.body)))
}

fn has_text(shape: Shape, depth: u32) -> bool {
    if depth > MOST_WRAPPERS {
        return true;
    }
    let within = |field: &FieldMeta| has_text(of_field(field), depth + 1);
    match shape {
        Shape::Any | Shape::String | Shape::Char => true,
        Shape::Optional(inner) | Shape::Array(inner) | Shape::Map(inner) => has_text(inner(), depth + 1),
        Shape::Fixed { items, .. } => has_text(items(), depth + 1),
        Shape::Tuple(items) => items.iter().any(|item| has_text(item(), depth + 1)),
        Shape::Bounded(field) => within(field),
        Shape::Struct(shape) => shape.fields.iter().any(within),
        Shape::Enum(shape) => shape.variants.iter().any(|variant| match &variant.body {
            Body::Unit => shape.tagging != Tagging::Untagged,
            _ if matches!(shape.tagging, Tagging::Internal(_) | Tagging::Adjacent(..)) => true,
            Body::Newtype(field) => within(field),
            Body::Tuple(fields) => fields.iter().any(within),
            Body::Struct(shape) => shape.fields.iter().any(within),
        }),
        Shape::Null
        | Shape::Bool
        | Shape::Int { .. }
        | Shape::Long { .. }
        | Shape::Double
        | Shape::Decimal
        | Shape::ObjectId
        | Shape::Date
        | Shape::Binary
        | Shape::Uuid
        | Shape::Timestamp
        | Shape::Regex => false,
    }
}

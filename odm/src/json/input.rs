//! JSON as stored values, by their shapes. All mistakes are collected, each with its place.

use super::faults::{Faults, JsonPlace, MOST};
use super::names::{NameSlot, in_enum, in_struct, json_name, variant_named};
use super::opaque::{is_key, read, read_entry};
use super::text::{self, DEEPEST, SAFE};
use crate::bounds::{has_twice, rules, tightened};
use crate::error::{BadValue, ValueProblem};
use crate::model::described::{Description, Part};
use crate::model::normalize;
use crate::model::own_fields::is_own;
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Managed, Shape, StructShape, Tagging, VariantMeta, inner,
};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Decimal128, Document, RawBsonRef, Regex, Timestamp, Uuid};
use serde_json::{Map, Value};

/// A value that the service gives beside the text: the stored name of its field, and what is stored.
pub(super) type Given = (&'static str, Bson);

/// The declarations of the fields around a value.
#[derive(Clone, Copy)]
struct FieldRules {
    bounds: Bounds,
    /// Its integers are texts.
    text: bool,
    /// A struct is given as its field of this name: a reference, without the copies beside it.
    bare: Option<&'static str>,
    depth: u32,
}

impl FieldRules {
    const OPEN: FieldRules = FieldRules {
        bounds: Bounds::NONE,
        text: false,
        bare: None,
        depth: 0,
    };

    fn of(field: &FieldMeta, depth: u32) -> FieldRules {
        FieldRules {
            bounds: field.bounds,
            text: field.json_text,
            bare: None,
            depth,
        }
    }

    fn within(&self) -> FieldRules {
        FieldRules {
            depth: self.depth + 1,
            ..*self
        }
    }

    /// Of the items of an array, or the values of a map: the lengths are theirs.
    fn items(&self) -> FieldRules {
        FieldRules {
            bounds: Bounds {
                max_items: None,
                key_len: None,
                ..self.bounds
            },
            ..self.within()
        }
    }
}

/// Which fields of the outermost struct a text sets.
#[derive(Clone, Copy)]
struct Top<'g> {
    part: Part,
    given: &'g [Given],
}

impl Top<'_> {
    /// Whether the struct has the field at all.
    fn has(&self, field: &FieldMeta) -> bool {
        match self.part {
            Part::New { id } => {
                let is_made = field.managed == Managed::Id && !id;
                !is_made && !field.is_by_library() && !field.is_extra()
            }
            Part::Whole | Part::Fields(_) => true,
        }
    }

    fn given(&self, name: &str) -> Option<&Bson> {
        self.given
            .iter()
            .find(|(given, _)| *given == name)
            .map(|(_, value)| value)
    }
}

/// The stored form of a value. `Err` has every mistake.
pub(super) fn stored(of: &Description, value: &Value, given: &[Given]) -> Result<Bson, Vec<BadValue>> {
    let mut faults = Faults::default();
    if text::is_tree_too_deep(value) {
        faults.add::<()>(
            &JsonPlace::Root,
            ValueProblem::Bound,
            text::too_deep(text::LEVELS),
        );
        return Err(faults.into_values());
    }
    let top = Top { part: of.part, given };
    let read = match ((of.shape)(), value) {
        (Shape::Struct(shape), Value::Object(object)) => read_struct(
            shape,
            object,
            FieldRules::OPEN,
            &JsonPlace::Root,
            Some(top),
            &mut faults,
        ),
        (shape, value) => read_value(shape, value, FieldRules::OPEN, &JsonPlace::Root, &mut faults),
    };
    match (read, faults.into_values()) {
        (Some(value), faults) if faults.is_empty() => Ok(value),
        (_, faults) => Err(faults),
    }
}

/// How a value of this shape is written.
fn expected(shape: Shape, text: bool) -> String {
    match inner(shape) {
        Shape::Any => "any value".to_owned(),
        Shape::Null => "`null`".to_owned(),
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Int { .. } | Shape::Long { .. } if text => {
            "a whole number as a text, such as `\"9007199254740993\"`".to_owned()
        }
        Shape::Int { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Long { min, max } => {
            format!("a whole number from {} to {}", min.max(-SAFE), max.min(SAFE))
        }
        Shape::Double => "a number".to_owned(),
        Shape::Decimal => "a decimal number as a text, such as `\"9.99\"`".to_owned(),
        Shape::String => "a text".to_owned(),
        Shape::Char => "a text of one character".to_owned(),
        Shape::ObjectId => "an id of 24 hexadecimal digits".to_owned(),
        Shape::Date => "a time in RFC 3339, such as `2026-11-26T21:45:00.000Z`".to_owned(),
        Shape::Binary => "bytes in base64".to_owned(),
        Shape::Uuid => "a UUID, such as `67e55044-10b1-426f-9247-bb680e5fe0c8`".to_owned(),
        Shape::Timestamp => "an object with the whole numbers `t` and `i`".to_owned(),
        Shape::Regex => "an object with the texts `pattern` and `options`".to_owned(),
        Shape::Array(_) | Shape::Optional(_) | Shape::Bounded(_) => "an array".to_owned(),
        Shape::Fixed { len, .. } => format!("an array of {len} items"),
        Shape::Tuple(items) => format!("an array of {} items", items.len()),
        Shape::Map(_) | Shape::Struct(_) => "an object".to_owned(),
        Shape::Enum(of) => expected_variant(of),
    }
}

fn expected_variant(of: &EnumShape) -> String {
    match of.tagging {
        Tagging::External => format!("one of {}", names_of(of)),
        Tagging::Internal(tag) | Tagging::Adjacent(tag, _) => {
            format!("an object whose `{tag}` is one of {}", names_of(of))
        }
        Tagging::Untagged => format!("a value of `{}`", of.name),
    }
}

/// The raw form of a plain value, for the bounds.
fn raw(value: &Bson) -> Option<RawBsonRef<'_>> {
    Some(match value {
        Bson::Int32(n) => RawBsonRef::Int32(*n),
        Bson::Int64(n) => RawBsonRef::Int64(*n),
        Bson::Double(n) => RawBsonRef::Double(*n),
        Bson::Decimal128(n) => RawBsonRef::Decimal128(*n),
        Bson::String(text) => RawBsonRef::String(text),
        Bson::Binary(binary) => RawBsonRef::Binary(mongodb::bson::raw::RawBinaryRef {
            subtype: binary.subtype,
            bytes: &binary.bytes,
        }),
        _ => return None,
    })
}

fn read_value(
    shape: Shape,
    value: &Value,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
) -> Option<Bson> {
    if declared.depth > DEEPEST {
        return faults.add(at, ValueProblem::Bound, "is nested too deep");
    }
    if declared.bounds.opaque {
        return read(value, at, faults);
    }
    match (shape, value) {
        (Shape::Any, _) => read(value, at, faults),
        (Shape::Null, Value::Null) | (Shape::Optional(_), Value::Null) => Some(Bson::Null),
        (Shape::Optional(some), _) => read_value(some(), value, declared.within(), at, faults),
        (Shape::Bounded(field), _) => {
            let bounds = tightened(&field.bounds, &declared.bounds).unwrap_or(field.bounds);
            let text = declared.text || field.json_text;
            let declared = FieldRules {
                bounds,
                text,
                ..declared.within()
            };
            read_value((field.shape)(), value, declared, at, faults)
        }
        (Shape::Array(items), Value::Array(values)) => {
            let mut values = values.as_slice();
            if let Some(max) = declared.bounds.max_items.filter(|max| values.len() as u64 > *max) {
                faults.add::<()>(at, ValueProblem::Bound, crate::Rule::MaxItems(max).to_string());
                values = values.get(..MOST).unwrap_or(values);
            }
            let read = read_items(values, |_| Some(items()), declared, at, faults);
            if declared.bounds.unique_items && read.as_ref().is_some_and(has_twice) {
                faults.add::<()>(at, ValueProblem::Bound, crate::Rule::UniqueItems.to_string());
            }
            read
        }
        (Shape::Fixed { items, len }, Value::Array(values)) if values.len() == len => {
            read_items(values, |_| Some(items()), declared, at, faults)
        }
        (Shape::Tuple(items), Value::Array(values)) if values.len() == items.len() => {
            read_items(values, |i| Some(items.get(i)?()), declared, at, faults)
        }
        (Shape::Map(values), Value::Object(entries)) => {
            let count = entries.len() as u64;
            if let Some(max) = declared.bounds.max_items.filter(|max| count > *max) {
                faults.add::<()>(at, ValueProblem::Bound, crate::Rule::MaxItems(max).to_string());
            }
            let mut document = Document::new();
            for (key, value) in entries {
                if faults.is_full() {
                    return None;
                }
                let at = JsonPlace::Name(at, key);
                if is_key(key, &declared.bounds, &at, faults)
                    && let Some(value) = read_value(values(), value, declared.items(), &at, faults)
                {
                    document.insert(key, value);
                }
            }
            Some(Bson::Document(document))
        }
        (Shape::Struct(of), _) if declared.bare.is_some() => {
            let mut fields = of.fields.iter();
            let field = fields.find(|field| Some(field.name) == declared.bare)?;
            read_value(
                (field.shape)(),
                value,
                FieldRules::of(field, declared.depth + 1),
                at,
                faults,
            )
        }
        (Shape::Struct(of), Value::Object(object)) => read_struct(of, object, declared, at, None, faults),
        (Shape::Enum(of), _) => read_variant(of, value, declared, at, faults),
        (shape, value) => {
            let Some(mut read) = plain(shape, value, declared.text) else {
                return faults.wrong(at, &expected(shape, declared.text));
            };
            normalize::text(&declared.bounds, &mut read);
            for rule in raw(&read)
                .into_iter()
                .flat_map(|value| rules(shape, &declared.bounds, value))
            {
                faults.add::<()>(at, ValueProblem::Bound, rule.to_string());
            }
            Some(read)
        }
    }
}

fn read_items(
    values: &[Value],
    shape: impl Fn(usize) -> Option<Shape>,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
) -> Option<Bson> {
    let mut items = Vec::new();
    for (i, value) in values.iter().enumerate() {
        if faults.is_full() {
            return None;
        }
        let at = JsonPlace::Item(at, i);
        items.extend(read_value(shape(i)?, value, declared.items(), &at, faults));
    }
    Some(Bson::Array(items))
}

/// A value without parts.
fn plain(shape: Shape, value: &Value, text: bool) -> Option<Bson> {
    Some(match (shape, value) {
        (Shape::Bool, Value::Bool(value)) => Bson::Boolean(*value),
        (Shape::Int { min, max }, _) => {
            let n = i32::try_from(integer(value, text)?).ok()?;
            Bson::Int32(Some(n).filter(|n| (min..=max).contains(n))?)
        }
        (Shape::Long { min, max }, _) => {
            Bson::Int64(Some(integer(value, text)?).filter(|n| (min..=max).contains(n))?)
        }
        (Shape::Double, Value::Number(n)) => Bson::Double(n.as_f64().filter(|n| n.is_finite())?),
        (Shape::Double, Value::String(text)) => Bson::Double(text::read_special(text)?),
        (Shape::Decimal, Value::String(text)) => Bson::Decimal128(text::read_decimal(text)?),
        (Shape::String, Value::String(text)) => Bson::String(text.clone()),
        (Shape::Char, Value::String(text)) => Bson::String(text.parse::<char>().ok()?.to_string()),
        (Shape::ObjectId, Value::String(text)) => Bson::ObjectId(ObjectId::parse_str(text).ok()?),
        (Shape::Date, Value::String(text)) => Bson::DateTime(text::read_date(text)?),
        (Shape::Binary, Value::String(text)) => Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: text::read_base64(text)?,
        }),
        (Shape::Uuid, Value::String(text)) => Bson::from(Uuid::parse_str(text).ok()?),
        (Shape::Timestamp, Value::Object(parts)) if parts.len() == 2 => {
            let part = |name: &str| parts.get(name)?.as_u64().and_then(|n| u32::try_from(n).ok());
            Bson::Timestamp(Timestamp {
                time: part("t")?,
                increment: part("i")?,
            })
        }
        (Shape::Regex, Value::Object(parts)) if parts.len() == 2 => {
            let part = |name: &str| parts.get(name)?.as_str();
            Bson::RegularExpression(Regex {
                pattern: part("pattern")?.to_owned().try_into().ok()?,
                options: part("options")?.to_owned().try_into().ok()?,
            })
        }
        _ => return None,
    })
}

/// A whole number: one that JavaScript would round is a text.
fn integer(value: &Value, text: bool) -> Option<i64> {
    match value {
        Value::Number(n) => {
            let n = match n.as_i64() {
                Some(n) => n,
                None => n
                    .as_f64()
                    .filter(|n| n.fract() == 0.0 && n.abs() <= SAFE as f64)? as i64,
            };
            (n.unsigned_abs() <= SAFE.unsigned_abs()).then_some(n)
        }
        Value::String(digits) => {
            let n = text::read_integer(digits)?;
            (text || n.unsigned_abs() > SAFE.unsigned_abs()).then_some(n)
        }
        _ => None,
    }
}

fn read_struct(
    of: &'static StructShape,
    object: &Map<String, Value>,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    top: Option<Top<'_>>,
    faults: &mut Faults,
) -> Option<Bson> {
    let mut document = read_slots(
        object,
        |name| in_struct(of, name, object),
        of.deny_unknown,
        declared,
        at,
        top,
        faults,
    );
    for (name, value) in top.iter().flat_map(|top| top.given) {
        document.insert(*name, value.clone());
    }
    add_missing(of, object, &mut document, at, top, faults, declared.depth);
    Some(Bson::Document(document))
}

/// What stands under the names of an object.
fn read_slots(
    object: &Map<String, Value>,
    slot: impl Fn(&str) -> Option<NameSlot>,
    deny_unknown: bool,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    top: Option<Top<'_>>,
    faults: &mut Faults,
) -> Document {
    let mut document = Document::new();
    for (name, value) in object {
        if faults.is_full() {
            break;
        }
        let at = JsonPlace::Name(at, name);
        let entry = match slot(name) {
            Some(NameSlot::Field(_, field)) => {
                if document.contains_key(field.name) {
                    let rule = format!(
                        "is the field `{}` by another name, which is there too",
                        field.name
                    );
                    faults.add::<()>(&at, ValueProblem::Repeated, rule);
                    continue;
                }
                read_field(field, value, declared.depth + 1, &at, top, faults)
                    .map(|value| (field.name, value))
            }
            Some(NameSlot::Content(body, variant)) => {
                let name = variant.map_or(name.as_str(), |variant| variant.name);
                read_body(body, value, declared.within(), &at, faults).map(|value| (name, value))
            }
            Some(NameSlot::Tag(of)) => read_tag(of, value, &at, faults).map(|value| (name.as_str(), value)),
            Some(NameSlot::Entry(values, bounds, text)) => {
                let declared = FieldRules {
                    bounds,
                    text,
                    ..declared
                };
                let read = is_key(name, &bounds, &at, faults)
                    .then(|| read_value(values(), value, declared.items(), &at, faults));
                read.flatten().map(|value| (name.as_str(), value))
            }
            Some(NameSlot::Extra(field))
                if field.comes_in() && top.is_none_or(|top| top.has(field)) && !is_own(name) =>
            {
                read_entry(name, value, &at, faults).map(|value| (name.as_str(), value))
            }
            Some(NameSlot::Extra(_)) | None => {
                if deny_unknown || is_own(name) {
                    faults.add::<()>(&at, ValueProblem::Unknown, "is not a field");
                }
                None
            }
        };
        if let Some((name, value)) = entry {
            document.insert(name, value);
        }
    }
    document
}

fn read_field(
    field: &'static FieldMeta,
    value: &Value,
    depth: u32,
    at: &JsonPlace<'_>,
    top: Option<Top<'_>>,
    faults: &mut Faults,
) -> Option<Bson> {
    let is_strict = top.is_some_and(|top| matches!(top.part, Part::New { .. }));
    if !field.comes_in() && !field.goes_out() {
        return faults.add(at, ValueProblem::Unknown, "is not a field");
    }
    if !field.comes_in() || top.is_some_and(|top| !top.has(field) || top.given(field.name).is_some()) {
        return faults.add(at, ValueProblem::ReadOnly, "can't be set: the service sets it");
    }
    let mut declared = FieldRules::of(field, depth);
    if is_strict {
        declared.bare = field.entry.map(|entry| entry.id);
    }
    read_value((field.shape)(), value, declared, at, faults)
}

/// Gives the fields that the text lacks their defaults, and the copies that the library fills in a value that is one of their type.
fn add_missing(
    of: &'static StructShape,
    object: &Map<String, Value>,
    document: &mut Document,
    at: &JsonPlace<'_>,
    top: Option<Top<'_>>,
    faults: &mut Faults,
    depth: u32,
) {
    for field in of.fields {
        if top.is_some_and(|top| !top.has(field)) {
            continue;
        }
        if field.flatten {
            add_missing_of_flattened(field, object, document, at, faults, depth);
            continue;
        }
        let name = json_name(of, field);
        let stored = field.json.is_none().then_some(field.name);
        let names = field.aliases.iter().copied().chain([name]).chain(stored);
        let is_there =
            document.contains_key(field.name) || names.clone().any(|name| object.contains_key(name));
        if is_there {
            continue;
        }
        let default = field.default.and_then(|default| default().ok());
        if let Some(default) = default.or_else(|| field.copied.and_then(|_| neutral(field))) {
            document.insert(field.name, default);
        } else if field.required && !matches!((field.shape)(), Shape::Optional(_)) {
            let (at, missing) = (JsonPlace::Name(at, name), ValueProblem::Missing);
            let rule = if field.comes_in() {
                "is missing"
            } else {
                "is missing, and no JSON can set it: the service gives it by `odm::json::reader`"
            };
            faults.add::<()>(&at, missing, rule);
        }
    }
}

fn add_missing_of_flattened(
    field: &'static FieldMeta,
    object: &Map<String, Value>,
    document: &mut Document,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
    depth: u32,
) {
    let is_optional = matches!((field.shape)(), Shape::Optional(_));
    match inner((field.shape)()) {
        Shape::Struct(of) if depth < DEEPEST => {
            let is_there = |field: &FieldMeta| !field.flatten && document.contains_key(field.name);
            if !is_optional || of.fields.iter().any(is_there) {
                add_missing(of, object, document, at, None, faults, depth + 1);
            }
        }
        Shape::Enum(of) => add_missing_of_variant(of, object, document, at, !is_optional, faults, depth),
        _ => {}
    }
}

/// Of an enum whose variant stands beside other fields, or in an object of its own.
fn add_missing_of_variant(
    of: &'static EnumShape,
    object: &Map<String, Value>,
    document: &mut Document,
    at: &JsonPlace<'_>,
    is_required: bool,
    faults: &mut Faults,
    depth: u32,
) {
    let tag = match of.tagging {
        Tagging::Internal(tag) | Tagging::Adjacent(tag, _) => tag,
        Tagging::External => {
            let mut names = object.keys();
            if is_required && !names.any(|name| variant_named(of, name, true).is_some()) {
                faults.add::<()>(
                    at,
                    ValueProblem::Missing,
                    format!("must hold one of {}", names_of(of)),
                );
            }
            return;
        }
        Tagging::Untagged => return,
    };
    let Some(variant) = object
        .get(tag)
        .and_then(Value::as_str)
        .and_then(|name| variant_named(of, name, true))
    else {
        if is_required && !object.contains_key(tag) {
            faults.add::<()>(&JsonPlace::Name(at, tag), ValueProblem::Missing, "is missing");
        }
        return;
    };
    match (of.tagging, &variant.body) {
        (Tagging::Adjacent(_, content), body) => {
            let is_there = object.contains_key(content) || matches!(body, Body::Unit);
            if !is_there && !may_be_null(body) {
                faults.add::<()>(&JsonPlace::Name(at, content), ValueProblem::Missing, "is missing");
            }
        }
        (_, Body::Struct(of)) if depth < DEEPEST => {
            add_missing(of, object, document, at, None, faults, depth + 1);
        }
        (_, Body::Newtype(field)) if depth < DEEPEST => match inner((field.shape)()) {
            Shape::Struct(of) => add_missing(of, object, document, at, None, faults, depth + 1),
            Shape::Enum(of) => {
                add_missing_of_variant(of, object, document, at, true, faults, depth + 1);
            }
            _ => {}
        },
        _ => {}
    }
}

fn may_be_null(body: &Body) -> bool {
    matches!(body, Body::Newtype(field) if matches!((field.shape)(), Shape::Optional(_)))
}

fn names_of(of: &EnumShape) -> String {
    let names: Vec<String> = of
        .variants
        .iter()
        .map(|variant| format!("`{}`", variant.json_name()))
        .collect();
    names.join(", ")
}

/// The name of a variant in its own field.
fn read_tag(of: &'static EnumShape, value: &Value, at: &JsonPlace<'_>, faults: &mut Faults) -> Option<Bson> {
    match value.as_str().and_then(|name| variant_named(of, name, true)) {
        Some(variant) => Some(Bson::from(variant.name)),
        None => faults.wrong(at, &format!("one of {}", names_of(of))),
    }
}

fn read_variant(
    of: &'static EnumShape,
    value: &Value,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
) -> Option<Bson> {
    let declared = declared.within();
    match (of.tagging, value) {
        (Tagging::Untagged, _) => read_untagged(of, value, declared, at, faults),
        (Tagging::External, Value::String(name)) => match variant_named(of, name, true) {
            Some(VariantMeta {
                name,
                body: Body::Unit,
                ..
            }) => Some(Bson::from(*name)),
            _ => faults.wrong(at, &expected_variant(of)),
        },
        (Tagging::External, Value::Object(object)) => {
            let mut entries = object.iter();
            let (Some((name, value)), None) = (entries.next(), entries.next()) else {
                return faults.wrong(at, &format!("an object with one of {}", names_of(of)));
            };
            let Some(variant) = variant_named(of, name, true) else {
                return faults.wrong(at, &expected_variant(of));
            };
            let content = read_body(&variant.body, value, declared, &JsonPlace::Name(at, name), faults)?;
            let mut document = Document::new();
            document.insert(variant.name, content);
            Some(Bson::Document(document))
        }
        (Tagging::Internal(_) | Tagging::Adjacent(..), Value::Object(object)) => {
            let deny = matches!(of.tagging, Tagging::Internal(tag) if denies_unknown(of, object, tag));
            let mut document = read_slots(
                object,
                |name| in_enum(of, name, object),
                deny,
                declared,
                at,
                None,
                faults,
            );
            add_missing_of_variant(of, object, &mut document, at, true, faults, declared.depth);
            Some(Bson::Document(document))
        }
        _ => faults.wrong(at, &expected_variant(of)),
    }
}

/// Whether the variant in an object refuses fields that it does not declare.
fn denies_unknown(of: &'static EnumShape, object: &Map<String, Value>, tag: &str) -> bool {
    let variant = object
        .get(tag)
        .and_then(Value::as_str)
        .and_then(|name| variant_named(of, name, true));
    matches!(variant.map(|variant| &variant.body), Some(Body::Struct(of)) if of.deny_unknown)
}

/// Of a variant without a mark: the first that fits, else the mistakes of the one that fits best.
fn read_untagged(
    of: &'static EnumShape,
    value: &Value,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
) -> Option<Bson> {
    let mut best: Option<Vec<BadValue>> = None;
    for variant in of.variants {
        let Some(mut own) = faults.of_variant() else {
            return faults.add(at, ValueProblem::Bound, "is nested in too many ways");
        };
        let read = read_body(&variant.body, value, declared, at, &mut own);
        faults.tried(&own);
        let found = own.into_values();
        if let (Some(read), true) = (read, found.is_empty()) {
            return Some(read);
        }
        let is_type = found
            .iter()
            .any(|bad| bad.pointer == at.pointer() && bad.problem == ValueProblem::WrongType);
        if !is_type && best.as_ref().is_none_or(|best| found.len() < best.len()) {
            best = Some(found);
        }
    }
    match best {
        Some(best) => {
            let left = MOST.saturating_sub(faults.len());
            faults.extend(best.into_iter().take(left));
            None
        }
        None => faults.wrong(at, &expected_variant(of)),
    }
}

/// The content of a variant.
fn read_body(
    body: &'static Body,
    value: &Value,
    declared: FieldRules,
    at: &JsonPlace<'_>,
    faults: &mut Faults,
) -> Option<Bson> {
    let depth = declared.depth + 1;
    match (body, value) {
        (Body::Unit, Value::Null) => Some(Bson::Null),
        (Body::Unit, _) => faults.wrong(at, "`null`"),
        (Body::Newtype(field), _) => {
            read_value((field.shape)(), value, FieldRules::of(field, depth), at, faults)
        }
        (Body::Struct(of), Value::Object(object)) => {
            let declared = FieldRules {
                depth,
                ..FieldRules::OPEN
            };
            read_struct(of, object, declared, at, None, faults)
        }
        (Body::Tuple(fields), Value::Array(values)) if values.len() == fields.len() => {
            let mut items = Vec::new();
            for (i, (field, value)) in fields.iter().zip(values).enumerate() {
                let declared = FieldRules::of(field, depth);
                items.extend(read_value(
                    (field.shape)(),
                    value,
                    declared,
                    &JsonPlace::Item(at, i),
                    faults,
                ));
            }
            Some(Bson::Array(items))
        }
        (Body::Struct(_), _) => faults.wrong(at, "an object"),
        (Body::Tuple(fields), _) => faults.wrong(at, &format!("an array of {} items", fields.len())),
    }
}

/// A value of the field's type that says nothing, in the place of one that the library fills in.
fn neutral(field: &FieldMeta) -> Option<Bson> {
    let shape = (field.shape)();
    if matches!(shape, Shape::Optional(_)) {
        return Some(Bson::Null);
    }
    Some(match inner(shape) {
        Shape::Bool => Bson::Boolean(false),
        Shape::Int { min, max } => Bson::Int32(0.clamp(min, max)),
        Shape::Long { min, max } => Bson::Int64(0.clamp(min, max)),
        Shape::Double => Bson::Double(0.0),
        Shape::Decimal => Bson::Decimal128(Decimal128::from_bytes([0; 16])),
        Shape::String => Bson::String(String::new()),
        Shape::Char => Bson::from(" "),
        Shape::ObjectId => Bson::ObjectId(ObjectId::from_bytes([0; 12])),
        Shape::Date => Bson::DateTime(DateTime::from_millis(0)),
        Shape::Binary => Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: Vec::new(),
        }),
        Shape::Uuid => Bson::from(Uuid::from_bytes([0; 16])),
        Shape::Array(_) => Bson::Array(Vec::new()),
        Shape::Map(_) => Bson::Document(Document::new()),
        Shape::Enum(of) => {
            let mut units = of
                .variants
                .iter()
                .filter(|variant| matches!(variant.body, Body::Unit));
            let unit = units.next().filter(|_| of.tagging == Tagging::External)?;
            Bson::from(unit.name)
        }
        _ => return None,
    })
}

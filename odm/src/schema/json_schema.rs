//! A document's shape as MongoDB's `$jsonSchema`.
//!
//! The schema contains every rule that has a keyword; the others are only checked before a write is sent: the length of binary
//! values and of a map's keys. `$ref` is not supported by MongoDB, so a recursive type is written out to its declared depth; a
//! variant of an enum carries its name as `title`, which the server repeats where it refuses.

use super::values::{count, whole};
use crate::model::document::DocumentMeta;
use crate::model::meta::value_rules;
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Number, Shape, StructShape, Tagging, VariantMeta,
};
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashMap;

/// The beginning of the title by which a schema of this library's making is recognised.
pub(super) const MARK: &str = "odm: ";

/// Schemas inside each other, at first: each takes from one level of BSON (`items`) to four (a variant's field).
const DEEPEST: usize = 80;
/// Levels of BSON: the server takes fewer than 200, and its commands and answers have some around a validator.
const LEVELS: usize = 150;
/// Schemas in all: below 16 MiB, whatever was declared.
const MOST: usize = 20_000;
/// How often a type without a declared depth is written out inside itself.
const RECURSIONS: usize = 4;

/// The `$jsonSchema` of a document. Nothing is demanded below a limit of nesting that no declared shape should reach.
pub(super) fn of(meta: &DocumentMeta) -> Document {
    let mut schema = doc! { "title": format!("{MARK}{}", meta.name) };
    schema.extend(written(meta.whole(), &Bounds::NONE).unwrap_or_else(|| doc! { "bsonType": "object" }));
    schema
}

/// The schema of a value, as deep as the server takes it.
fn written(shape: Shape, bounds: &Bounds) -> Option<Document> {
    let mut deepest = DEEPEST;
    loop {
        let schema = Writer::new(deepest).value(shape, bounds)?;
        // One alone has a handful of levels.
        if deepest == 1 || schema.values().map(levels).max().unwrap_or(0) < LEVELS {
            return Some(schema);
        }
        deepest -= deepest.div_ceil(8).min(deepest - 1);
    }
}

/// How many documents and arrays stand in each other here.
fn levels(schema: &Bson) -> usize {
    match schema {
        Bson::Document(document) => 1 + document.values().map(levels).max().unwrap_or(0),
        Bson::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

struct Writer {
    /// How many levels of a type are still allowed, by the type's name.
    levels: HashMap<&'static str, u32>,
    /// The types that are being written, from the outside in.
    open: Vec<&'static str>,
    nesting: usize,
    deepest: usize,
    left: usize,
}

/// The result of entering a named type.
enum Entered {
    /// Its schema follows; the levels are put back afterwards.
    Yes(&'static str, Option<u32>),
    /// Below the last allowed level: no value fits.
    Never,
    /// A recursion without a declared depth: not looked into.
    Unseen,
}

/// The rules for one document, while its fields are collected.
#[derive(Default)]
struct SchemaObject {
    properties: Document,
    required: Vec<String>,
    additional: Option<Bson>,
    /// How many entries a flattened map may add.
    entries: Option<u64>,
    all_of: Vec<Bson>,
}

impl SchemaObject {
    fn require(&mut self, name: &str) {
        // The server refuses a list that names a field twice.
        if !self.required.iter().any(|known| known == name) {
            self.required.push(name.to_owned());
        }
    }

    fn tagged(tag: &str, variant: &VariantMeta) -> SchemaObject {
        let mut object = SchemaObject::default();
        object.properties.insert(tag, doc! { "enum": [variant.name] });
        object.require(tag);
        object
    }

    /// As a schema; `inside` the schema of the document whose fields these are, its own rules are left to that one.
    fn finish(self, inside: bool) -> Document {
        let mut schema = Document::new();
        if !inside {
            schema.insert("bsonType", "object");
        }
        // The server refuses an empty list.
        if !self.required.is_empty() {
            schema.insert("required", self.required);
        }
        let fields = self.properties.len() as u64;
        if !self.properties.is_empty() {
            schema.insert("properties", self.properties);
        }
        if !inside {
            if let Some(additional) = self.additional {
                schema.insert("additionalProperties", additional);
            }
            if let Some(entries) = self.entries {
                schema.insert("maxProperties", count(fields.saturating_add(entries)));
            }
        }
        if !self.all_of.is_empty() {
            schema.insert("allOf", self.all_of);
        }
        schema
    }
}

impl Writer {
    fn new(deepest: usize) -> Writer {
        Writer {
            deepest,
            levels: HashMap::new(),
            open: Vec::new(),
            nesting: 0,
            left: MOST,
        }
    }

    /// The schema of a value; `None` where no value fits.
    fn value(&mut self, shape: Shape, bounds: &Bounds) -> Option<Document> {
        if bounds.opaque || self.nesting >= self.deepest || self.left == 0 {
            return Some(doc! {});
        }
        self.nesting += 1;
        self.left -= 1;
        let schema = self.shaped(shape, bounds);
        self.nesting -= 1;
        schema
    }

    fn shaped(&mut self, shape: Shape, bounds: &Bounds) -> Option<Document> {
        let of_items = Bounds {
            max_items: None,
            key_len: None,
            unique_items: false,
            ..*bounds
        };
        let typed = |name: &str| doc! { "bsonType": name };
        Some(match shape {
            Shape::Any => doc! {},
            Shape::Null => typed("null"),
            Shape::Bool => typed("bool"),
            Shape::Int { min, max } => {
                let (least, greatest) = (Number::Int(min.into()), Number::Int(max.into()));
                integer(["int", "long", "double"], least, greatest, bounds)
            }
            Shape::Long { min, max } => {
                let (least, greatest) = (Number::Int(min), Number::Int(max));
                integer(["long", "int", "double"], least, greatest, bounds)
            }
            Shape::Double => number(vec!["double", "int", "long"].into(), None, None, bounds),
            Shape::Decimal => number("decimal".into(), None, None, bounds),
            Shape::String => {
                let mut schema = typed("string");
                if let Some(n) = bounds.min_len {
                    schema.insert("minLength", count(n));
                }
                if let Some(n) = bounds.max_len {
                    schema.insert("maxLength", count(n));
                }
                ruled(schema, bounds)
            }
            Shape::Char => {
                let schema = doc! { "bsonType": "string", "minLength": 1, "maxLength": 1 };
                ruled(schema, bounds)
            }
            Shape::ObjectId => typed("objectId"),
            Shape::Date => typed("date"),
            // Of which subtype, no keyword can say: `uuids`.
            Shape::Binary | Shape::Uuid => typed("binData"),
            Shape::Timestamp => typed("timestamp"),
            Shape::Regex => typed("regex"),
            Shape::Optional(some) => match self.value(some(), bounds) {
                Some(schema) => nullable(schema),
                None => typed("null"),
            },
            Shape::Array(items) => {
                let mut schema = typed("array");
                let max = match self.value(items(), &of_items) {
                    Some(items) => {
                        if !items.is_empty() {
                            schema.insert("items", items);
                        }
                        bounds.max_items
                    }
                    None => Some(0),
                };
                if let Some(max) = max {
                    schema.insert("maxItems", count(max));
                }
                if bounds.unique_items {
                    schema.insert("uniqueItems", true);
                }
                schema
            }
            Shape::Fixed { items, len } => {
                let mut schema = typed("array");
                match self.value(items(), &of_items) {
                    Some(items) if !items.is_empty() => {
                        schema.insert("items", items);
                    }
                    Some(_) => {}
                    None if len == 0 => {}
                    None => return None,
                }
                schema.insert("minItems", count(len as u64));
                schema.insert("maxItems", count(len as u64));
                schema
            }
            Shape::Tuple(items) => {
                let items = items.iter().map(|item| self.value(item(), &of_items));
                tuple(items.collect::<Option<Vec<_>>>()?)
            }
            Shape::Map(values) => {
                let mut schema = typed("object");
                let max = match self.value(values(), &of_items) {
                    Some(values) => {
                        if !values.is_empty() {
                            schema.insert("additionalProperties", values);
                        }
                        bounds.max_items
                    }
                    None => Some(0),
                };
                if let Some(max) = max {
                    schema.insert("maxProperties", count(max));
                }
                schema
            }
            Shape::Bounded(inner) => {
                let mut schema = self.value((inner.shape)(), &tighter(&inner.bounds, bounds))?;
                let of_field = bounds.rules.map(|rules| value_rules::keywords(rules, true));
                if let Some(of_field) = of_field.filter(|of_field| !of_field.is_empty()) {
                    schema.insert("allOf", vec![of_field]);
                }
                schema
            }
            Shape::Struct(of) => {
                return self.within(of.identity(), bounds.depth, |w| Some(w.fields(of)?.finish(false)));
            }
            Shape::Enum(of) => {
                return self.within(of.identity(), bounds.depth, |w| either(w.forms(of, false)));
            }
        })
    }

    /// Writes a named type, one level further down.
    fn within(
        &mut self,
        name: &'static str,
        depth: Option<u32>,
        write: impl FnOnce(&mut Writer) -> Option<Document>,
    ) -> Option<Document> {
        match self.enter(name, depth) {
            Entered::Never => None,
            Entered::Unseen => Some(doc! {}),
            Entered::Yes(name, before) => {
                let schema = write(self);
                self.leave(name, before);
                schema
            }
        }
    }

    fn enter(&mut self, name: &'static str, depth: Option<u32>) -> Entered {
        let before = self.levels.get(name).copied();
        let allowed = match (before, depth) {
            (Some(left), Some(depth)) => Some(left.min(depth)),
            (left, depth) => left.or(depth),
        };
        match allowed {
            Some(0) => return Entered::Never,
            Some(left) => {
                self.levels.insert(name, left - 1);
            }
            None if self.open.iter().filter(|open| **open == name).count() >= RECURSIONS => {
                return Entered::Unseen;
            }
            None => {}
        }
        self.open.push(name);
        Entered::Yes(name, before)
    }

    fn leave(&mut self, name: &'static str, before: Option<u32>) {
        self.open.pop();
        match before {
            Some(left) => self.levels.insert(name, left),
            None => self.levels.remove(name),
        };
    }

    fn fields(&mut self, of: &StructShape) -> Option<SchemaObject> {
        let mut object = SchemaObject::default();
        self.add_fields(&mut object, of)?;
        Some(object)
    }

    fn add_fields(&mut self, object: &mut SchemaObject, of: &StructShape) -> Option<()> {
        for field in of.fields {
            self.add(object, field)?;
        }
        if of.deny_unknown && object.additional.is_none() {
            object.additional = Some(false.into());
        }
        // serde's form of such a document has a field `id`, which a typed collection of the driver would store beside a new `_id`.
        let is_id = |field: &FieldMeta| field.name == "_id" && field.json == Some("id");
        let is_open = of.fields.iter().any(|field| field.is_extra() || field.flatten);
        if of.fields.iter().any(is_id) && !is_open && !object.properties.contains_key("id") {
            object.properties.insert("id", doc! { "not": {} });
        }
        Some(())
    }

    /// Adds a field; `None` where it must be there and no value fits.
    fn add(&mut self, object: &mut SchemaObject, field: &FieldMeta) -> Option<()> {
        if field.flatten {
            return self.merge(object, (field.shape)(), &field.bounds, !field.required);
        }
        let needed = field.required && !matches!((field.shape)(), Shape::Optional(_));
        let required = needed || field.stored;
        let schema = match self.value((field.shape)(), &field.bounds) {
            Some(schema) => schema,
            None if required => return None,
            None => doc! { "not": {} },
        };
        for alias in field.aliases {
            // A name that is used otherwise, such as the tag of an enum, is not a previous name of the field.
            if !object.properties.contains_key(*alias) {
                object.properties.insert(*alias, schema.clone());
            }
        }
        object.properties.insert(field.name, schema);
        // A document with an alias in its place can be read as well.
        if required && field.aliases.is_empty() {
            object.require(field.name);
        }
        Some(())
    }

    /// Adds what stands in the parent: the fields of a flattened value, or of a variant beside its tag.
    fn merge(
        &mut self,
        object: &mut SchemaObject,
        shape: Shape,
        bounds: &Bounds,
        optional: bool,
    ) -> Option<()> {
        if bounds.opaque || self.nesting >= self.deepest || self.left == 0 {
            return Some(());
        }
        self.nesting += 1;
        self.left -= 1;
        let merged = self.merged(object, shape, bounds, optional);
        self.nesting -= 1;
        merged
    }

    fn merged(
        &mut self,
        object: &mut SchemaObject,
        shape: Shape,
        bounds: &Bounds,
        optional: bool,
    ) -> Option<()> {
        match shape {
            Shape::Optional(some) => self.merge(object, some(), bounds, true),
            Shape::Bounded(inner) => {
                self.merge(object, (inner.shape)(), &tighter(&inner.bounds, bounds), optional)
            }
            Shape::Map(values) => {
                let of_values = Bounds {
                    max_items: None,
                    key_len: None,
                    ..*bounds
                };
                match self.value(values(), &of_values) {
                    Some(values) => {
                        if !values.is_empty() {
                            object.additional = Some(values.into());
                        }
                        object.entries = bounds.max_items;
                    }
                    None => object.entries = Some(0),
                }
                Some(())
            }
            Shape::Struct(of) => match self.enter(of.identity(), bounds.depth) {
                Entered::Unseen => Some(()),
                Entered::Never if optional => Some(()),
                Entered::Never => None,
                Entered::Yes(name, before) => {
                    let required = object.required.len();
                    let added = self.add_fields(object, of);
                    self.leave(name, before);
                    if optional {
                        object.required.truncate(required);
                        return Some(());
                    }
                    added
                }
            },
            Shape::Enum(of) => match self.enter(of.identity(), bounds.depth) {
                Entered::Unseen => Some(()),
                Entered::Never if optional => Some(()),
                Entered::Never => None,
                Entered::Yes(name, before) => {
                    let forms = self.forms(of, true);
                    self.leave(name, before);
                    if optional {
                        return Some(());
                    }
                    object.all_of.push(either(forms)?.into());
                    Some(())
                }
            },
            // Serde flattens nothing else.
            _ => Some(()),
        }
    }

    /// The schemas of an enum's variants; `inside` the document that they are flattened into.
    fn forms(&mut self, of: &EnumShape, inside: bool) -> Vec<Document> {
        let mut forms = Vec::new();
        if of.tagging == Tagging::External && !inside {
            let units = of
                .variants
                .iter()
                .filter(|variant| matches!(variant.body, Body::Unit));
            let names: Vec<Bson> = units.map(|variant| variant.name.into()).collect();
            if !names.is_empty() {
                forms.push(doc! { "enum": names });
            }
        }
        for variant in of.variants {
            if of.tagging == Tagging::External && !inside && matches!(variant.body, Body::Unit) {
                continue;
            }
            if let Some(form) = self.form(of.tagging, variant, inside) {
                let mut titled = doc! { "title": variant.name };
                titled.extend(form);
                forms.push(titled);
            }
        }
        forms
    }

    fn form(&mut self, tagging: Tagging, variant: &VariantMeta, inside: bool) -> Option<Document> {
        let object = match tagging {
            Tagging::External => {
                let content = self.content(&variant.body)?;
                let mut object = SchemaObject::default();
                object.properties.insert(variant.name, content);
                object.require(variant.name);
                object.additional = Some(false.into());
                return Some(object.finish(inside));
            }
            Tagging::Untagged => {
                if inside {
                    let mut object = SchemaObject::default();
                    self.beside(&mut object, &variant.body)?;
                    object
                } else {
                    return self.content(&variant.body);
                }
            }
            Tagging::Internal(tag) => {
                let mut object = SchemaObject::tagged(tag, variant);
                self.beside(&mut object, &variant.body)?;
                object
            }
            Tagging::Adjacent(tag, content) => {
                let mut object = SchemaObject::tagged(tag, variant);
                if !matches!(variant.body, Body::Unit) {
                    object.properties.insert(content, self.content(&variant.body)?);
                    if !optional(&variant.body) {
                        object.require(content);
                    }
                }
                object
            }
        };
        Some(object.finish(inside))
    }

    /// Adds a variant's fields to the document that holds its tag.
    fn beside(&mut self, object: &mut SchemaObject, body: &Body) -> Option<()> {
        match body {
            Body::Unit | Body::Tuple(_) => Some(()),
            Body::Newtype(field) => self.merge(object, (field.shape)(), &field.bounds, false),
            Body::Struct(of) => self.add_fields(object, of),
        }
    }

    /// The content of a variant, as a value of its own.
    fn content(&mut self, body: &Body) -> Option<Document> {
        match body {
            Body::Unit => Some(doc! { "bsonType": "null" }),
            Body::Newtype(field) => self.value((field.shape)(), &field.bounds),
            Body::Tuple(fields) => {
                let items = fields
                    .iter()
                    .map(|field| self.value((field.shape)(), &field.bounds));
                Some(tuple(items.collect::<Option<Vec<_>>>()?))
            }
            Body::Struct(of) => Some(self.fields(of)?.finish(false)),
        }
    }
}

fn optional(body: &Body) -> bool {
    matches!(body, Body::Newtype(field) if matches!((field.shape)(), Shape::Optional(_) | Shape::Any))
}

/// Any of these; `None` of none.
fn either(mut forms: Vec<Document>) -> Option<Document> {
    match forms.len() {
        0 => None,
        1 => forms.pop(),
        _ => Some(doc! { "anyOf": forms }),
    }
}

fn tuple(items: Vec<Document>) -> Document {
    let len = count(items.len() as u64);
    let mut schema = doc! { "bsonType": "array" };
    if !items.is_empty() {
        schema.insert("items", items);
        schema.insert("additionalItems", false);
    }
    schema.insert("minItems", len.clone());
    schema.insert("maxItems", len);
    schema
}

/// The same, or `null`. Rules about lengths, numbers, items and fields say nothing about a `null`.
fn nullable(mut schema: Document) -> Document {
    let mut types = match schema.remove("bsonType") {
        Some(Bson::Array(types)) => types,
        one => one.into_iter().collect(),
    };
    if !types.is_empty() {
        add_to(&mut types, "null".into());
        let rules = std::mem::take(&mut schema);
        schema.insert(
            "bsonType",
            if types.len() == 1 {
                types.remove(0)
            } else {
                types.into()
            },
        );
        schema.extend(rules);
    }
    if let Some(Bson::Array(values)) = schema.get_mut("enum") {
        add_to(values, Bson::Null);
    }
    if let Some(Bson::Array(forms)) = schema.get_mut("anyOf") {
        forms.push(doc! { "bsonType": "null" }.into());
    }
    schema
}

fn add_to(values: &mut Vec<Bson>, value: Bson) {
    if !values.contains(&value) {
        values.push(value);
    }
}

/// A whole number, also where it is stored as a double: JavaScript has no other numbers, and integers are read of them.
fn integer(types: [&str; 3], least: Number, greatest: Number, bounds: &Bounds) -> Document {
    let mut schema = number(types.to_vec().into(), Some(least), Some(greatest), bounds);
    schema.insert("multipleOf", 1);
    ruled(schema, bounds)
}

/// With the other rules of the field.
fn ruled(mut schema: Document, bounds: &Bounds) -> Document {
    if let Some(rules) = bounds.rules {
        schema.extend(value_rules::keywords(rules, false));
    }
    schema
}

fn number(types: Bson, least: Option<Number>, greatest: Option<Number>, bounds: &Bounds) -> Document {
    let mut schema = doc! { "bsonType": types };
    if let Some(n) = higher(least, bounds.min) {
        schema.insert("minimum", bson(n));
    }
    if let Some(n) = lower(greatest, bounds.max) {
        schema.insert("maximum", bson(n));
    }
    schema
}

fn bson(n: Number) -> Bson {
    match n {
        Number::Int(n) => whole(n),
        Number::Float(n) => Bson::Double(n),
    }
}

fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        (a, b) => float(a) < float(b),
    }
}

fn float(n: Number) -> f64 {
    match n {
        Number::Int(n) => n as f64,
        Number::Float(n) => n,
    }
}

fn higher(a: Option<Number>, b: Option<Number>) -> Option<Number> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if less(a, b) { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn lower(a: Option<Number>, b: Option<Number>) -> Option<Number> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if less(b, a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Both bounds at once: the newtype's own, and those of the field that it stands in.
pub(crate) fn tighter(a: &Bounds, b: &Bounds) -> Bounds {
    fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        a.into_iter().chain(b).min()
    }
    Bounds {
        max_items: least(a.max_items, b.max_items),
        max_len: least(a.max_len, b.max_len),
        min_len: a.min_len.max(b.min_len),
        key_len: least(a.key_len, b.key_len),
        min: higher(a.min, b.min),
        max: lower(a.max, b.max),
        depth: least(a.depth, b.depth),
        opaque: a.opaque || b.opaque,
        unique_items: a.unique_items || b.unique_items,
        rules: a.rules,
    }
}

#[cfg(test)]
#[path = "json_schema_tests.rs"]
mod tests;

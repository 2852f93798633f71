//! JSON Schema of what goes out and comes in: the shapes once more, in the dialect 2020-12, which OpenAPI 3.1 takes too.

use super::names::json_name;
use super::text::SAFE;
use crate::bounds::tightened;
use crate::model::described::{Described, Description, Part};
use crate::model::shape::{
    Body, Bounds, EnumShape, FieldMeta, Managed, Number, Shape, ShapeFn, StructShape, Tagging, VariantMeta,
    full_name, inner,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Maximum number of shapes around each other.
const DEEPEST: u32 = 100;

/// The JSON Schema of a type: its bounds are `maxLength`, `maxItems`, `minimum` and the like, and nested structs stand in `$defs` by
/// their names.
///
/// ```
/// # use samples::model::*;
/// use odm::json::JsonSchema;
///
/// let schema = Person::json_schema();
/// assert_eq!(schema["properties"]["age"]["maximum"], 150);
/// assert_eq!(schema["properties"]["addresses"]["items"]["$ref"], "#/$defs/Address");
/// ```
pub trait JsonSchema: Described {
    /// The schema of what goes out; of a `New…` struct of what comes in.
    ///
    /// A field that the library writes has the mark `readOnly`, what only comes in `writeOnly`.
    fn json_schema() -> Value {
        alone(&Self::described(), SchemaWay::Out)
    }

    /// The schema of what comes in as this type.
    fn json_schema_of_input() -> Value {
        alone(&Self::described(), SchemaWay::In)
    }
}

impl<T: Described> JsonSchema for T {}

/// Which way JSON goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaWay {
    Out,
    In,
}

fn alone(of: &Description, way: SchemaWay) -> Value {
    let mut schemas = Schemas::new("#/$defs/");
    let reference = schemas.describe(of, way, &of.name, &[]);
    let mut definitions = schemas.into_map();
    let name = reference["$ref"]
        .as_str()
        .and_then(|name| name.strip_prefix("#/$defs/"));
    let root = name.and_then(|name| definitions.get(name)).cloned();
    let mut root = root.unwrap_or(reference.clone());
    if let (Some(name), Value::Object(schema)) = (name, &mut root) {
        // It stands in its own parts where it contains itself.
        let text = reference.to_string();
        let refers = |value: &Value| value.to_string().contains(&text[1..text.len() - 1]);
        if !refers(&Value::Object(schema.clone())) && definitions.iter().all(|(_, value)| !refers(value)) {
            definitions.remove(name);
        }
        schema.insert("$schema".into(), DIALECT.into());
        schema.insert("title".into(), name.into());
        if !definitions.is_empty() {
            schema.insert("$defs".into(), Value::Object(definitions));
        }
    }
    root
}

/// The schemas of several types, which refer to each other by their names: `components.schemas` of an OpenAPI document.
///
/// ```
/// # use samples::model::*;
/// use odm::json::Schemas;
///
/// let mut schemas = Schemas::openapi();
/// let person = schemas.add::<Person>();
/// assert_eq!(person, serde_json::json!({ "$ref": "#/components/schemas/Person" }));
/// let all = schemas.into_map();
/// assert_eq!(all.keys().map(String::as_str).take(2).collect::<Vec<_>>(), ["Address", "Person"]);
/// ```
#[derive(Clone, Debug)]
pub struct Schemas {
    prefix: String,
    definitions: Map<String, Value>,
    /// The names of the types that have a schema.
    names: HashMap<String, String>,
}

impl Schemas {
    /// With references to each other that begin with a prefix, such as `#/$defs/`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let reference = odm::json::Schemas::new("#/$defs/").add::<Address>();
    /// assert_eq!(reference["$ref"], "#/$defs/Address");
    /// ```
    pub fn new(prefix: &str) -> Schemas {
        Schemas {
            prefix: prefix.to_owned(),
            definitions: Map::new(),
            names: HashMap::new(),
        }
    }

    /// For an OpenAPI document: `#/components/schemas/`.
    ///
    /// ```
    /// assert!(odm::json::Schemas::openapi().into_map().is_empty());
    /// ```
    pub fn openapi() -> Schemas {
        Schemas::new("#/components/schemas/")
    }

    /// Adds a type as it goes out; a `New…` struct as it comes in. Returns the reference to its schema.
    ///
    /// ```
    /// # use samples::model::*;
    /// let mut schemas = odm::json::Schemas::openapi();
    /// schemas.add::<Named>();
    /// assert!(schemas.into_map()["Named"]["properties"].get("age").is_none());
    /// ```
    pub fn add<T: Described>(&mut self) -> Value {
        let of = T::described();
        self.describe(&of, SchemaWay::Out, &of.name, &[])
    }

    /// Adds a type as it comes in, without some of its fields: those that the service gives beside the JSON, by
    /// [`Reader::set`](super::Reader::set). The schema has the given name.
    ///
    /// ```
    /// # use samples::model::*;
    /// let mut schemas = odm::json::Schemas::openapi();
    /// schemas.add_input::<Address>("Street", &["city"]);
    /// assert_eq!(schemas.into_map()["Street"]["required"], serde_json::json!(["street"]));
    /// ```
    pub fn add_input<T: Described>(&mut self, name: &str, without: &[&str]) -> Value {
        self.describe(&T::described(), SchemaWay::In, name, without)
    }

    /// The schemas by their names.
    ///
    /// ```
    /// # use samples::model::*;
    /// let mut schemas = odm::json::Schemas::openapi();
    /// schemas.add::<User>();
    /// assert!(schemas.into_map().contains_key("User"));
    /// ```
    pub fn into_map(self) -> Map<String, Value> {
        self.definitions
    }

    pub(super) fn describe(
        &mut self,
        of: &Description,
        way: SchemaWay,
        name: &str,
        without: &[&str],
    ) -> Value {
        let way = match of.part {
            Part::New { .. } => SchemaWay::In,
            Part::Fields(_) => SchemaWay::Out,
            Part::Whole => way,
        };
        let shape = (of.shape)();
        let is_named = name != of.name;
        match (shape, of.part) {
            (Shape::Struct(shape), part) if is_named || !matches!(part, Part::Whole) => {
                let key = format!("{name} as itself without {without:?}: {}", shape.identity());
                let reference = |name: &str| json!({ "$ref": format!("{}{name}", self.prefix) });
                if let Some(known) = self.names.get(&key) {
                    return reference(known);
                }
                let free = self.free(name);
                let reference = reference(&free);
                self.names.insert(key, free.clone());
                let schema = self.object(shape, way, Some(part), without, 0);
                self.definitions.insert(free, schema);
                reference
            }
            (shape, _) => self.value(shape, &Bounds::NONE, false, way, 0),
        }
    }

    /// A name that no other type has.
    fn free(&self, name: &str) -> String {
        let is_free = |name: &String| !self.names.values().any(|other| other == name);
        let mut names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}{n}")));
        names.find(is_free).unwrap_or_default()
    }

    /// A reference to the schema of a named type, which is made once.
    fn named(
        &mut self,
        name: String,
        key: &str,
        differs: bool,
        way: SchemaWay,
        make: impl FnOnce(&mut Schemas) -> Value,
    ) -> Value {
        let (key, name) = match (way, differs) {
            (SchemaWay::In, true) => (format!("{key} in"), format!("{name}Input")),
            _ => (key.to_owned(), name),
        };
        let name = match self.names.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = self.free(&name);
                self.names.insert(key, name.clone());
                let schema = make(self);
                self.definitions.insert(name.clone(), schema);
                name
            }
        };
        json!({ "$ref": format!("{}{name}", self.prefix) })
    }

    fn value(&mut self, shape: Shape, bounds: &Bounds, text: bool, way: SchemaWay, depth: u32) -> Value {
        if bounds.opaque || depth > DEEPEST {
            return json!({});
        }
        let depth = depth + 1;
        let items = Bounds {
            max_items: None,
            key_len: None,
            ..*bounds
        };
        match shape {
            Shape::Any => json!({}),
            Shape::Null => json!({ "type": "null" }),
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Int { .. } | Shape::Long { .. } if text => {
                json!({ "type": "string", "format": "int64", "pattern": "^(0|-?[1-9][0-9]*)$" })
            }
            Shape::Int { min, max } => integer("int32", min.into(), max.into(), bounds),
            Shape::Long { min, max } => integer("int64", min, max, bounds),
            Shape::Double => {
                let mut schema = json!({ "type": "number", "format": "double" });
                range(&mut schema, bounds.min, bounds.max);
                schema
            }
            Shape::Decimal => json!({ "type": "string", "format": "decimal" }),
            Shape::String => {
                let mut schema = json!({ "type": "string" });
                limit(&mut schema, "minLength", bounds.min_len);
                limit(&mut schema, "maxLength", bounds.max_len);
                schema
            }
            Shape::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Shape::ObjectId => json!({ "type": "string", "pattern": "^[0-9a-fA-F]{24}$" }),
            Shape::Date => json!({ "type": "string", "format": "date-time" }),
            Shape::Binary => {
                let mut schema = json!({ "type": "string", "contentEncoding": "base64" });
                limit(
                    &mut schema,
                    "maxLength",
                    bounds.max_len.map(|bytes| bytes.div_ceil(3).saturating_mul(4)),
                );
                schema
            }
            Shape::Uuid => json!({ "type": "string", "format": "uuid" }),
            Shape::Timestamp => {
                let part = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
                closed(&[("t", part.clone()), ("i", part)])
            }
            Shape::Regex => {
                let part = json!({ "type": "string" });
                closed(&[("pattern", part.clone()), ("options", part)])
            }
            Shape::Optional(some) => nullable(self.value(some(), bounds, text, way, depth)),
            Shape::Array(of) => {
                let of = self.value(of(), &items, text, way, depth);
                let mut schema = json!({ "type": "array", "items": of });
                limit(&mut schema, "maxItems", bounds.max_items);
                schema
            }
            Shape::Fixed { items: of, len } => {
                let of = self.value(of(), &items, text, way, depth);
                json!({ "type": "array", "items": of, "minItems": len, "maxItems": len })
            }
            Shape::Tuple(of) => {
                let each = of.iter().map(|of| self.value(of(), &items, text, way, depth));
                tuple(each.collect())
            }
            Shape::Map(values) => self.map(values, bounds, text, way, depth),
            Shape::Bounded(field) => {
                let bounds = tightened(&field.bounds, bounds).unwrap_or(field.bounds);
                self.value((field.shape)(), &bounds, text || field.json_text, way, depth)
            }
            Shape::Struct(of) => {
                let differs = differs(of, 0);
                self.named(
                    full_name(of.name, of.ty),
                    of.identity(),
                    differs,
                    way,
                    |schemas| schemas.object(of, way, None, &[], 0),
                )
            }
            Shape::Enum(of) if is_plain(of) => names(of),
            Shape::Enum(of) => {
                let differs = differs_in_enum(of, 0);
                self.named(
                    full_name(of.name, of.ty),
                    of.identity(),
                    differs,
                    way,
                    |schemas| schemas.variants(of, way, 0),
                )
            }
        }
    }

    fn map(&mut self, values: ShapeFn, bounds: &Bounds, text: bool, way: SchemaWay, depth: u32) -> Value {
        let items = Bounds {
            max_items: None,
            key_len: None,
            ..*bounds
        };
        let values = self.value(values(), &items, text, way, depth);
        let mut schema = json!({ "type": "object", "additionalProperties": values });
        limit(&mut schema, "maxProperties", bounds.max_items);
        if let (Some(most), Value::Object(schema)) = (bounds.key_len, &mut schema) {
            schema.insert(
                "propertyNames".into(),
                json!({ "type": "string", "minLength": 1, "maxLength": most }),
            );
        }
        schema
    }

    /// The schema of a field's value.
    fn field(&mut self, field: &FieldMeta, way: SchemaWay, depth: u32) -> Value {
        self.value((field.shape)(), &field.bounds, field.json_text, way, depth)
    }

    /// Of the object of a struct. `part` is that of the outermost one.
    fn object(
        &mut self,
        of: &StructShape,
        way: SchemaWay,
        part: Option<Part>,
        without: &[&str],
        depth: u32,
    ) -> Value {
        let mut object = ObjectSchema::default();
        self.add_fields(&mut object, of, way, part, without, depth);
        if of.deny_unknown && way == SchemaWay::In {
            object.additional = Some(false.into());
        }
        object.into_schema()
    }

    fn add_fields(
        &mut self,
        object: &mut ObjectSchema,
        of: &StructShape,
        way: SchemaWay,
        part: Option<Part>,
        without: &[&str],
        depth: u32,
    ) {
        if depth > DEEPEST {
            return;
        }
        for field in of.fields {
            if !is_shown(field, way, part) || without.contains(&field.name) || without.contains(&field.rust) {
                continue;
            }
            if field.flatten {
                self.add_flattened(object, field, way, depth + 1);
                continue;
            }
            let bare = field.entry.filter(|_| matches!(part, Some(Part::New { .. })));
            let mut schema = match bare {
                Some(entry) => self.bare((field.shape)(), &field.bounds, entry.id, way, depth),
                None => self.field(field, way, depth),
            };
            let is_by_library = field.is_by_library()
                || field.managed == Managed::Id && matches!(inner((field.shape)()), Shape::ObjectId);
            match way {
                SchemaWay::Out if is_by_library || !field.comes_in() => mark(&mut schema, "readOnly"),
                SchemaWay::In if !field.goes_out() => mark(&mut schema, "writeOnly"),
                _ => {}
            }
            let name = json_name(of, field);
            let is_always = match way {
                SchemaWay::Out => field.required || field.default.is_some() && !field.left_out,
                SchemaWay::In => field.required && field.default.is_none() && field.copied.is_none(),
            };
            if is_always && !matches!((field.shape)(), Shape::Optional(_)) {
                object.required.push(name.into());
            }
            object.properties.insert(name.to_owned(), schema);
        }
    }

    /// A reference without the copies beside it.
    fn bare(&mut self, shape: Shape, bounds: &Bounds, id: &str, way: SchemaWay, depth: u32) -> Value {
        match shape {
            Shape::Optional(some) => nullable(self.bare(some(), bounds, id, way, depth)),
            Shape::Array(items) => {
                let items = self.bare(items(), &Bounds::NONE, id, way, depth);
                let mut schema = json!({ "type": "array", "items": items });
                limit(&mut schema, "maxItems", bounds.max_items);
                schema
            }
            Shape::Struct(of) => match of.fields.iter().find(|field| field.name == id) {
                Some(field) => self.field(field, way, depth),
                None => json!({}),
            },
            shape => self.value(shape, bounds, false, way, depth),
        }
    }

    fn add_flattened(&mut self, object: &mut ObjectSchema, field: &FieldMeta, way: SchemaWay, depth: u32) {
        if field.is_extra() {
            object.additional = Some(true.into());
            return;
        }
        let is_optional = matches!((field.shape)(), Shape::Optional(_));
        match inner((field.shape)()) {
            Shape::Struct(of) => {
                let required = object.required.len();
                self.add_fields(object, of, way, None, &[], depth + 1);
                if is_optional {
                    object.required.truncate(required);
                }
            }
            Shape::Enum(of) => {
                let forms = self.variants(of, way, depth + 1);
                object.more.push(if is_optional {
                    json!({ "anyOf": [forms, {}] })
                } else {
                    forms
                });
            }
            Shape::Map(values) => {
                let values = self.value(values(), &Bounds::NONE, field.json_text, way, depth);
                object.additional = Some(values);
            }
            _ => {}
        }
    }

    /// The forms of an enum.
    fn variants(&mut self, of: &EnumShape, way: SchemaWay, depth: u32) -> Value {
        let mut forms = Vec::new();
        let units: Vec<&str> = of
            .variants
            .iter()
            .filter(|variant| matches!(variant.body, Body::Unit) && of.tagging == Tagging::External)
            .map(VariantMeta::json_name)
            .collect();
        if !units.is_empty() {
            forms.push(json!({ "type": "string", "enum": units }));
        }
        for variant in of.variants {
            forms.extend(self.variant(of, variant, way, depth + 1));
        }
        let word = match of.tagging {
            Tagging::Untagged => "anyOf",
            _ => "oneOf",
        };
        json!({ word: forms })
    }

    fn variant(
        &mut self,
        of: &EnumShape,
        variant: &VariantMeta,
        way: SchemaWay,
        depth: u32,
    ) -> Option<Value> {
        let name = json!({ "type": "string", "enum": [variant.json_name()] });
        Some(match (of.tagging, &variant.body) {
            (Tagging::External, Body::Unit) => return None,
            (Tagging::External, body) => {
                let content = self.body(body, way, depth);
                closed(&[(variant.json_name(), content)])
            }
            (Tagging::Untagged, body) => self.body(body, way, depth),
            (Tagging::Adjacent(tag, _), Body::Unit) => closed(&[(tag, name)]),
            (Tagging::Adjacent(tag, content), body) => {
                let held = self.body(body, way, depth);
                closed(&[(tag, name), (content, held)])
            }
            (Tagging::Internal(tag), body) => {
                let mut object = ObjectSchema::default();
                object.properties.insert(tag.to_owned(), name);
                object.required.push(tag.into());
                match body {
                    Body::Struct(of) => self.add_fields(&mut object, of, way, None, &[], depth),
                    Body::Newtype(field) => self.add_flattened(&mut object, field, way, depth),
                    Body::Unit | Body::Tuple(_) => {}
                }
                object.into_schema()
            }
        })
    }

    fn body(&mut self, body: &Body, way: SchemaWay, depth: u32) -> Value {
        match body {
            Body::Unit => json!({ "type": "null" }),
            Body::Newtype(field) => self.field(field, way, depth),
            Body::Tuple(fields) => {
                let each = fields.iter().map(|field| self.field(field, way, depth));
                tuple(each.collect())
            }
            Body::Struct(of) => self.object(of, way, None, &[], depth + 1),
        }
    }
}

/// An object while its fields are collected.
#[derive(Default)]
struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
    additional: Option<Value>,
    /// Further schemas of it: the forms of a flattened enum.
    more: Vec<Value>,
}

impl ObjectSchema {
    fn into_schema(self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".into(), Value::Array(self.required));
        }
        if let Some(additional) = self.additional {
            schema.insert("additionalProperties".into(), additional);
        }
        let schema = Value::Object(schema);
        if self.more.is_empty() {
            return schema;
        }
        let all: Vec<Value> = std::iter::once(schema).chain(self.more).collect();
        json!({ "allOf": all })
    }
}

/// Whether the field is there at all.
fn is_shown(field: &FieldMeta, way: SchemaWay, part: Option<Part>) -> bool {
    match (way, part) {
        (SchemaWay::In, Some(Part::New { id })) => {
            let is_made = field.managed == Managed::Id && !id;
            field.comes_in() && !is_made && !field.is_by_library() && !field.is_extra()
        }
        (SchemaWay::In, Some(_)) => field.comes_in(),
        // The library fills in the copies of a nested struct.
        (SchemaWay::In, None) => field.comes_in() && field.copied.is_none(),
        (SchemaWay::Out, Some(Part::Fields(fields))) => {
            field.goes_out() && fields().iter().any(|path| is_of(path, field))
        }
        (SchemaWay::Out, _) => field.goes_out(),
    }
}

/// Whether a dotted path begins with the field.
fn is_of(path: &str, field: &FieldMeta) -> bool {
    field.flatten || path.split('.').next() == Some(field.name)
}

/// Whether what comes in is not what goes out.
fn differs(of: &StructShape, depth: u32) -> bool {
    of.fields.iter().any(|field| {
        let own = !field.comes_in() || !field.goes_out() || field.copied.is_some();
        own || field.default.is_some() && !field.left_out || differs_within((field.shape)(), depth)
    })
}

fn differs_in_enum(of: &EnumShape, depth: u32) -> bool {
    of.variants.iter().any(|variant| match &variant.body {
        Body::Unit => false,
        Body::Newtype(field) => differs_within((field.shape)(), depth),
        Body::Tuple(fields) => fields.iter().any(|field| differs_within((field.shape)(), depth)),
        Body::Struct(of) => differs(of, depth + 1),
    })
}

/// A type that contains itself is looked into a few times.
fn differs_within(shape: Shape, depth: u32) -> bool {
    let depth = depth + 1;
    if depth > 12 {
        return false;
    }
    match shape {
        Shape::Optional(of) | Shape::Array(of) | Shape::Map(of) | Shape::Fixed { items: of, .. } => {
            differs_within(of(), depth)
        }
        Shape::Tuple(items) => items.iter().any(|of| differs_within(of(), depth)),
        Shape::Bounded(field) => differs_within((field.shape)(), depth),
        Shape::Struct(of) => differs(of, depth),
        Shape::Enum(of) => differs_in_enum(of, depth),
        _ => false,
    }
}

/// Whether all variants are their names.
fn is_plain(of: &EnumShape) -> bool {
    let mut variants = of.variants.iter();
    of.tagging == Tagging::External && variants.all(|variant| matches!(variant.body, Body::Unit))
}

fn names(of: &EnumShape) -> Value {
    let names: Vec<&str> = of.variants.iter().map(VariantMeta::json_name).collect();
    json!({ "type": "string", "enum": names })
}

fn integer(format: &str, min: i64, max: i64, bounds: &Bounds) -> Value {
    let mut schema = json!({ "type": "integer", "format": format });
    let least = bounds.min.filter(|bound| bound.value() > min as f64);
    let greatest = bounds.max.filter(|bound| bound.value() < max as f64);
    range(
        &mut schema,
        least.or(Some(Number::Int(min.max(-SAFE)))),
        greatest.or(Some(Number::Int(max.min(SAFE)))),
    );
    schema
}

fn range(schema: &mut Value, min: Option<Number>, max: Option<Number>) {
    for (word, bound) in [("minimum", min), ("maximum", max)] {
        let Value::Object(schema) = &mut *schema else {
            return;
        };
        match bound {
            Some(Number::Int(n)) => schema.insert(word.into(), n.into()),
            Some(Number::Float(n)) => schema.insert(word.into(), n.into()),
            None => None,
        };
    }
}

fn limit(schema: &mut Value, word: &str, limit: Option<u64>) {
    if let (Some(limit), Value::Object(schema)) = (limit, schema) {
        schema.insert(word.into(), limit.into());
    }
}

/// Beside a reference other words are allowed.
fn mark(schema: &mut Value, word: &str) {
    if let Value::Object(schema) = schema {
        schema.insert(word.into(), true.into());
    }
}

fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(mut schema)
            if schema.get("type").is_some_and(Value::is_string) && !schema.contains_key("enum") =>
        {
            let ty = schema.remove("type").unwrap_or_default();
            if ty != "null" {
                schema.insert("type".into(), json!([ty, "null"]));
            }
            Value::Object(schema)
        }
        Value::Object(schema) if schema.is_empty() || schema.get("type").is_some_and(Value::is_array) => {
            Value::Object(schema)
        }
        schema => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

/// An object with these fields, and no other.
fn closed(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

fn tuple(items: Vec<Value>) -> Value {
    let len = items.len();
    json!({ "type": "array", "prefixItems": items, "items": false, "minItems": len, "maxItems": len })
}

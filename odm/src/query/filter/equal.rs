//! Equality by value: the condition that finds what is read as a value equal to a given one.
//!
//! The server compares documents and arrays byte by byte, in the order of their fields and items. Rust's `==` does not: to a
//! struct the order of its fields means nothing, an absent `Option` is one that is stored as `null`, and fields that it does not
//! declare are not read; to a set and a map no order means anything. So a value of several parts is compared by these parts:
//! a struct by its declared fields, a variant by its tag and fields, a map by its keys and their number, a set by all its items
//! and no other. A value of one part, such as a number, a text or a reference, is compared as it is stored, which is what an
//! index finds.
//!
//! A copy is not compared: it follows its source, and only the reference beside it says which document is meant. Nor is the time zone
//! beside a date: two dates are equal where they are the same moment.

use crate::model::key::Key;
use crate::model::path::PathEnd;
use crate::model::shape::{
    Body, EnumShape, FieldMeta, MOST_WRAPPERS, Shape, StructShape, Tagging, items, of_field,
};
use crate::model::{compare, default};
use crate::query::filter::condition::{at_most, below, condition, in_array};
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

/// The greatest number of values with several parts in one condition, or in one change: each is a condition of its own.
pub(crate) const MOST_VALUES: usize = 100;

/// The greatest number of entries of a map that is compared within the items of an array: there the server can only be asked for
/// the map in each order of its entries, which are 24.
const MOST_ORDERED: usize = 4;

/// Why a value can't be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlike {
    /// A key that no dotted name can contain.
    Key(String),
    /// A map of many entries, or of entries that have parts themselves, within the items of an array.
    Map,
    /// An array of values with parts, which may have a number as the name of a field: `list.0` means that too.
    Numbered,
    /// A flattened value without declared names.
    Flattened,
    /// A regular expression in a set: in a list of values it is a pattern.
    Pattern,
    /// Arrays within the items of an array.
    Nested(String),
}

impl Unlike {
    fn error(self, name: &str) -> Error {
        let reason = match self {
            Unlike::Key(key) => format!(
                "it is a map with the key `{key}`, and no key that holds `.` or begins with `$` can be asked for"
            ),
            Unlike::Map => format!(
                "in the items of an array a map is compared with at most {MOST_ORDERED} entries, each of one plain value"
            ),
            Unlike::Numbered => {
                "it holds an array of structs or maps that may have a number as the name of a field"
                    .to_owned()
            }
            Unlike::Flattened => "it holds a flattened value whose fields have no declared names".to_owned(),
            Unlike::Pattern => "it is a set that holds a regular expression".to_owned(),
            Unlike::Nested(reason) => {
                format!("it is an array in the items of an array, and the condition {reason}")
            }
        };
        Error::Query {
            collection: "",
            message: format!(
                "a value of `{name}` can't be compared as a whole: {reason}. Compare its fields one by one, those of the items of \
                 an array by `elem` or `pull_where`"
            ),
        }
    }
}

/// Whether two values of this field are equal where their bytes are.
fn is_plain(field: &FieldMeta, depth: u32) -> bool {
    let is_by_id = field.reference.is_some_and(|reference| !reference.union);
    let plain = field.bounds.opaque || is_plain_shape((field.shape)(), depth);
    (is_by_id || plain) && !field.set
}

fn is_plain_shape(shape: Shape, depth: u32) -> bool {
    if depth > MOST_WRAPPERS {
        return false;
    }
    let depth = depth + 1;
    match shape {
        Shape::Struct(_) | Shape::Map(_) => false,
        Shape::Optional(inner) | Shape::Array(inner) => is_plain_shape(inner(), depth),
        Shape::Fixed { items, .. } => is_plain_shape(items(), depth),
        Shape::Tuple(items) => items.iter().all(|item| is_plain_shape(item(), depth)),
        Shape::Bounded(field) => is_plain(field, depth),
        Shape::Enum(of) => of
            .variants
            .iter()
            .all(|variant| match (of.tagging, &variant.body) {
                (Tagging::External | Tagging::Untagged, Body::Unit) => true,
                (Tagging::Untagged, Body::Newtype(field)) => is_plain(field, depth),
                (Tagging::Untagged, Body::Tuple(fields)) => fields.iter().all(|field| is_plain(field, depth)),
                _ => false,
            }),
        _ => true,
    }
}

/// Whether values of this shape are compared by their parts.
pub(crate) fn has_parts(shape: Shape) -> bool {
    !is_plain_shape(shape, 0)
}

/// The condition that a field with the value of `value` meets, behind its name: the one place that says so of a value which is
/// compared as it is stored. `field` is its declaration, so far as it has one.
pub(crate) fn leaf(field: Option<&'static FieldMeta>, value: &Bson) -> Document {
    match field.and_then(default::unless_stored) {
        Some(_) if *value == Bson::Null => doc! { "$eq": value.clone(), "$exists": true },
        Some(default) if compare::same(default, value) => doc! { "$in": [value.clone(), Bson::Null] },
        _ => doc! { "$eq": value.clone() },
    }
}

/// The value that a reader sees of a field in this document.
fn read<'v>(field: &FieldMeta, document: &'v Document) -> &'v Bson {
    let stored = document.get(field.name);
    stored.or_else(|| default::of(field)).unwrap_or(&Bson::Null)
}

/// Whether a document without the field is read as one with this value in it.
fn is_default(field: &FieldMeta, value: &Bson) -> bool {
    let form = |value: &Bson| Key::of_bson(&canonical(of_field(field), field.set, value));
    default::unless_stored(field).is_some_and(|default| form(default) == form(value))
}

/// Where values are compared that have parts: in a field, or in the items of an array.
#[derive(Clone, Debug)]
pub(crate) struct ComparedField {
    field: &'static FieldMeta,
    /// Whether they are items of the field's array.
    item: bool,
    /// The innermost array in whose items they are.
    array: Option<String>,
    /// The name below this array, or below the document.
    name: String,
}

impl ComparedField {
    /// The field at the end of a path; `None` where values are compared as they are stored.
    pub(crate) fn of(end: &PathEnd, item: bool) -> Option<ComparedField> {
        let field = end.field?;
        let item = item || end.is_item;
        if item {
            return ComparedField::items(field, end.path);
        }
        // What stands in `_id` the server compares as it is stored, whatever is asked.
        if is_plain(field, 0) || end.path == "_id" {
            return None;
        }
        let name = end.innermost.map_or(end.path, |array| {
            end.path
                .strip_prefix(array)
                .unwrap_or_default()
                .trim_start_matches('.')
        });
        Some(ComparedField {
            field,
            item,
            array: end.innermost.map(str::to_owned),
            name: name.to_owned(),
        })
    }

    /// The items of the array in this field of this name.
    pub(crate) fn items(field: &'static FieldMeta, name: &str) -> Option<ComparedField> {
        let is_by_id = field.reference.is_some_and(|reference| !reference.union);
        let shape = items(of_field(field))?;
        if is_by_id || is_plain_shape(shape, 0) {
            return None;
        }
        Some(ComparedField {
            field,
            item: true,
            array: Some(name.to_owned()),
            name: String::new(),
        })
    }

    /// The name of the field.
    pub(crate) fn path(&self) -> String {
        self.full("")
    }

    fn shape(&self) -> Shape {
        let shape = of_field(self.field);
        if self.item {
            items(shape).unwrap_or(Shape::Any)
        } else {
            shape
        }
    }

    /// The dotted name from the document on.
    fn full(&self, name: &str) -> String {
        let above = self.array.as_deref().unwrap_or_default();
        let name = if name.is_empty() { &self.name } else { name };
        join(above, name)
    }

    /// The conditions on a value that equals this one, with names below the array, or the document.
    fn ask(&self, value: &Bson) -> Result<Ask> {
        let mut ask = Ask::default();
        // Of a struct that is known by one field, that is `null` too: an index on it finds both.
        if *value == Bson::Null
            && !self.item
            && let Some(only) = only_field(self.shape())
        {
            ask.push(join(&self.name, only.name), leaf(Some(only), value).into());
            return Ok(ask);
        }
        let at = EqualAt {
            name: self.name.clone(),
            in_array: self.array.is_some(),
            by_position: false,
        };
        let set = !self.item && self.field.set;
        let asked = match *value {
            Bson::Null => {
                ask.leaf((!self.item).then_some(self.field), &at, value);
                Ok(false)
            }
            _ => ask.shaped(self.shape(), set, at, value),
        };
        asked.map_err(|unlike| unlike.error(&self.path()))?;
        Ok(ask)
    }

    /// As a condition on the document.
    fn document(&self, ask: Ask) -> Result<Document> {
        match &self.array {
            Some(array) => {
                let item = self.of_item(ask)?;
                Ok(doc! { array: { "$elemMatch": item } })
            }
            None => Ok(ask.document()),
        }
    }

    /// As a condition on an item, as it stands behind `$elemMatch` and `$pull`.
    fn of_item(&self, ask: Ask) -> Result<Document> {
        in_array(ask.document()).map_err(|message| Unlike::Nested(message).error(&self.path()))
    }

    /// The name and the value of what is asked for, if that is one field with one value, which is the condition then.
    fn single(&self, ask: &Ask) -> Option<(String, Bson)> {
        let [(name, Bson::Document(condition))] = ask.all.as_slice() else {
            return None;
        };
        let value = condition.get("$eq").filter(|_| condition.len() == 1)?;
        // Of the items of an array, `null` is also what is not there.
        (!self.item || *value != Bson::Null).then(|| (name.clone(), value.clone()))
    }

    /// The condition by one of MongoDB's operators of comparison: `$eq`, `$ne`, `$in`, `$nin`, `$all`.
    ///
    /// # Errors
    /// [`Error::Query`] for a value that can't be compared, and for more than [`MOST_VALUES`] with several parts.
    pub(crate) fn condition(&self, operator: &str, value: Bson) -> Result<Document> {
        let values = match (operator, value) {
            ("$eq" | "$ne", value) => {
                let ask = self.ask(&value)?;
                return Ok(match (self.single(&ask), operator) {
                    (Some((name, value)), operator) => condition(&self.full(&name), operator, value),
                    (None, "$ne") => doc! { "$nor": [self.document(ask)?] },
                    (None, _) => self.document(ask)?,
                });
            }
            (_, Bson::Array(values)) if !values.is_empty() => values,
            (operator, value) => return Ok(condition(&self.path(), operator, value)),
        };
        let asks = self.asks(&values)?;
        if let Some((name, values)) = self.singles(&asks) {
            return Ok(condition(&self.full(&name), operator, Bson::Array(values)));
        }
        let mut all = asks
            .into_iter()
            .map(|ask| self.document(ask))
            .collect::<Result<Vec<Document>>>()?;
        Ok(match (operator, all.as_mut_slice()) {
            ("$nin", _) => doc! { "$nor": all },
            (_, [one]) => std::mem::take(one),
            ("$all", _) => doc! { "$and": all },
            _ => doc! { "$or": all },
        })
    }

    fn asks(&self, values: &[Bson]) -> Result<Vec<Ask>> {
        let asks = values
            .iter()
            .map(|value| self.ask(value))
            .collect::<Result<Vec<Ask>>>()?;
        if asks.len() > MOST_VALUES && self.singles(&asks).is_none() {
            return Err(Error::Query {
                collection: "",
                message: format!(
                    "`{}` is compared with {} values of several fields, and one condition takes at most {MOST_VALUES}: compare \
                     one of their fields, or ask in parts",
                    self.path(),
                    asks.len()
                ),
            });
        }
        Ok(asks)
    }

    /// The name and the values, where each is one field of the same name.
    fn singles(&self, asks: &[Ask]) -> Option<(String, Vec<Bson>)> {
        let mut all = asks.iter().map(|ask| self.single(ask));
        let (name, value) = all.next()??;
        let mut values = vec![value];
        for one in all {
            let (other, value) = one?;
            if other != name {
                return None;
            }
            values.push(value);
        }
        Some((name, values))
    }

    /// The condition of `$pull` on items that equal one of these; `None` where they are taken out as they are stored.
    ///
    /// # Errors
    /// [`Error::Query`] as [`ComparedField::condition`], and for `null` or a variant without content beside others.
    pub(crate) fn pulled(&self, values: &[Bson]) -> Result<Option<Document>> {
        let is_whole = |value: &Bson| !matches!(value, Bson::Document(_) | Bson::Array(_));
        let asks = self.asks(values)?;
        match self.singles(&asks) {
            Some((name, _)) if name.is_empty() => return Ok(None),
            Some((name, values)) => return Ok(Some(doc! { name: { "$in": values } })),
            None if values.iter().all(is_whole) => return Ok(None),
            None => {}
        }
        if values.iter().any(is_whole) {
            return Err(Error::Query {
                collection: "",
                message: format!(
                    "`None` or a plain value and other items of `{}` can't be taken out by one `pull_all`: make two updates",
                    self.path()
                ),
            });
        }
        let mut all = asks
            .into_iter()
            .map(|ask| self.of_item(ask))
            .collect::<Result<Vec<Document>>>()?;
        if all.len() == 1 {
            return Ok(all.pop());
        }
        // A name in front that all have: not every server takes a condition that begins with `$or`.
        let firsts: Option<Vec<(&String, &Bson)>> = all
            .iter()
            .map(|one| {
                let (name, first) = one.iter().next()?;
                let first = first.as_document().filter(|first| first.len() == 1)?;
                Some((name, first.get("$eq")?))
            })
            .collect();
        let mut any = Document::new();
        if let Some(firsts) = firsts
            && let Some((name, _)) = firsts.first()
            && firsts.iter().all(|(other, _)| other == name)
        {
            let values: Vec<Bson> = firsts.iter().map(|(_, value)| (*value).clone()).collect();
            any.insert((*name).clone(), doc! { "$in": values });
        }
        any.insert("$or", all);
        Ok(Some(any))
    }

    /// The condition of `arrayFilters` on items that equal this one.
    pub(crate) fn replaced(&self, name: &str, value: &Bson) -> Result<Document> {
        let ask = self.ask(value)?;
        below(name, ask.document()).map_err(|message| Unlike::Nested(message).error(&self.path()))
    }

    /// Whether two values are equal, as they are read.
    pub(crate) fn same(&self, a: &Bson, b: &Bson) -> bool {
        let canonical = |value: &Bson| canonical(self.shape(), !self.item && self.field.set, value);
        Key::of_bson(&canonical(a)) == Key::of_bson(&canonical(b))
    }

    /// Whether a new document that an upsert inserts gets this value from the condition that it is equal.
    pub(crate) fn is_inserted(&self, value: &Bson) -> bool {
        self.array.is_none() && self.ask(value).is_ok_and(|ask| ask.is_inserted())
    }

    /// Whether it is a field of the document, or of a struct in it, and not in an array.
    pub(crate) fn stands_alone(&self) -> bool {
        self.array.is_none()
    }
}

/// The field by which alone a struct is compared, where it always has one of one part.
fn only_field(shape: Shape) -> Option<&'static FieldMeta> {
    let Shape::Struct(of) = unwrapped(shape).0 else {
        return None;
    };
    let mut own = of.fields.iter().filter(|field| field.is_compared());
    let only = own.next().filter(|_| own.next().is_none())?;
    let is_there = !only.flatten && only.required && is_plain(only, 0);
    (is_there && !matches!(of_field(only), Shape::Optional(_))).then_some(only)
}

/// Without the options and newtypes around it, and whether one of these is a set.
fn unwrapped(mut shape: Shape) -> (Shape, bool) {
    let mut set = false;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(field) => {
                set |= field.set;
                shape = of_field(field);
            }
            _ => break,
        }
    }
    (shape, set)
}

fn join(above: &str, name: &str) -> String {
    match (above, name) {
        ("", name) => name.to_owned(),
        (above, "") => above.to_owned(),
        (above, name) => format!("{above}.{name}"),
    }
}

/// Where a part stands.
#[derive(Clone)]
struct EqualAt {
    name: String,
    /// Whether it is within the items of an array, of which a schema says nothing.
    in_array: bool,
    /// Whether a number in its name means an item.
    by_position: bool,
}

impl EqualAt {
    fn field(&self, name: &str) -> EqualAt {
        EqualAt {
            name: join(&self.name, name),
            ..self.clone()
        }
    }

    fn item(&self, position: usize) -> EqualAt {
        EqualAt {
            name: join(&self.name, &position.to_string()),
            in_array: true,
            by_position: true,
        }
    }
}

/// The types of what is there, by MongoDB's names.
const THERE: [&str; 14] = [
    "number",
    "string",
    "object",
    "array",
    "binData",
    "objectId",
    "bool",
    "date",
    "regex",
    "javascript",
    "timestamp",
    "symbol",
    "minKey",
    "maxKey",
];

/// The conditions on the parts of a value, by their names.
#[derive(Default)]
struct Ask {
    all: Vec<(String, Bson)>,
}

impl Ask {
    fn push(&mut self, name: String, condition: Bson) {
        self.all.push((name, condition));
    }

    /// Side by side; what is asked of one name for a second time stands in `$and`.
    fn document(self) -> Document {
        let mut all = Document::new();
        let mut more = Vec::new();
        for (name, condition) in self.all {
            if !all.contains_key(&name) {
                drop(all.insert(name, condition))
            } else {
                more.push(doc! { name: condition })
            }
        }
        if !more.is_empty() {
            all.insert("$and", more);
        }
        all
    }

    /// Whether the server gives all of it to a new document: it takes the values behind `$eq`.
    fn is_inserted(&self) -> bool {
        let has = |condition: &Bson, operator: &str| {
            let condition = condition.as_document();
            condition.is_some_and(|condition| condition.contains_key(operator))
        };
        let all = || self.all.iter();
        all().any(|(_, one)| has(one, "$eq"))
            && all().all(|(name, one)| name == "$jsonSchema" || has(one, "$eq") || has(one, "$type"))
    }

    fn leaf(&mut self, field: Option<&'static FieldMeta>, at: &EqualAt, value: &Bson) -> bool {
        let condition = match value {
            // To the server a missing part of any item of the array is `null` too.
            Bson::Null if at.by_position => doc! { "$not": { "$type": THERE.to_vec() } },
            value => leaf(field, value),
        };
        self.push(at.name.clone(), condition.into());
        *value != Bson::Null
    }

    /// Asks for the value of a field. Gives whether that can only be met where there is something.
    fn field(&mut self, field: &'static FieldMeta, at: EqualAt, value: &Bson) -> Result<bool, Unlike> {
        if *value == Bson::Null || is_plain(field, 0) {
            self.leaf(Some(field), &at, value);
            return Ok(*value != Bson::Null && !is_default(field, value));
        }
        if !is_default(field, value) || at.by_position {
            return self.shaped(of_field(field), field.set, at, value);
        }
        let mut there = Ask::default();
        there.shaped(of_field(field), field.set, at.clone(), value)?;
        let missing = doc! { at.name: { "$exists": false } };
        self.push("$or".to_owned(), Bson::from(vec![there.document(), missing]));
        Ok(false)
    }

    fn shaped(&mut self, shape: Shape, set: bool, at: EqualAt, value: &Bson) -> Result<bool, Unlike> {
        let (shape, is_set) = unwrapped(shape);
        match (shape, value) {
            (Shape::Struct(of), Bson::Document(value)) => {
                if !self.own(of, &at, value)? && !at.name.is_empty() {
                    // A struct without any of its fields is not a missing struct.
                    self.push(at.name, doc! { "$type": "object" }.into());
                }
            }
            (Shape::Enum(of), value) => return self.variant(of, at, value),
            (Shape::Map(values), Bson::Document(entries)) => self.map(values(), &at, entries)?,
            (Shape::Array(items), Bson::Array(values)) if set || is_set => self.set(items(), &at, values)?,
            (Shape::Array(items), Bson::Array(values)) => {
                self.list(&at, values, &|_| items())?;
            }
            (Shape::Fixed { items, .. }, Bson::Array(values)) => self.list(&at, values, &|_| items())?,
            (Shape::Tuple(items), Bson::Array(values)) => {
                let item = |position: usize| items.get(position).map_or(Shape::Any, |item| item());
                self.list(&at, values, &item)?;
            }
            (_, value) => return Ok(self.leaf(None, &at, value)),
        }
        Ok(true)
    }

    /// The fields of a struct. Gives whether one of them has to be there.
    fn own(&mut self, of: &'static StructShape, at: &EqualAt, value: &Document) -> Result<bool, Unlike> {
        let mut there = false;
        for field in of.fields.iter().filter(|field| field.is_compared()) {
            if !field.flatten {
                there |= self.field(field, at.field(field.name), read(field, value))?;
                continue;
            }
            match unwrapped(of_field(field)).0 {
                Shape::Struct(inner) => there |= self.own(inner, at, value)?,
                _ => return Err(Unlike::Flattened),
            }
        }
        Ok(there)
    }

    fn variant(&mut self, of: &'static EnumShape, at: EqualAt, value: &Bson) -> Result<bool, Unlike> {
        let named = |name: &str| of.variants.iter().find(|variant| variant.name == name);
        match (of.tagging, value) {
            (Tagging::External, Bson::Document(content)) => {
                let Some((name, content)) = content.iter().next() else {
                    return Ok(self.leaf(None, &at, value));
                };
                let Some(variant) = named(name) else {
                    return Ok(self.leaf(None, &at, value));
                };
                let content_at = at.field(name);
                if *content == Bson::Null {
                    let there = doc! { "$eq": Bson::Null, "$exists": true };
                    self.push(content_at.name, there.into());
                } else {
                    self.body(&variant.body, content_at, content)?;
                }
            }
            (Tagging::Internal(tag), Bson::Document(content)) => {
                let name = content.get(tag).unwrap_or(&Bson::Null);
                let there = self.leaf(None, &at.field(tag), name);
                match name.as_str().and_then(named).map(|variant| &variant.body) {
                    Some(Body::Struct(of)) => drop(self.own(of, &at, content)?),
                    Some(Body::Newtype(field)) => match unwrapped(of_field(field)).0 {
                        Shape::Struct(of) => drop(self.own(of, &at, content)?),
                        // Another tag beside this one.
                        Shape::Enum(of) => drop(self.variant(of, at, value)?),
                        Shape::Null => {}
                        _ => return Err(Unlike::Flattened),
                    },
                    Some(Body::Unit) => {}
                    _ => return Err(Unlike::Flattened),
                }
                return Ok(there);
            }
            (Tagging::Adjacent(tag, content), Bson::Document(value)) => {
                let name = value.get(tag).unwrap_or(&Bson::Null);
                let there = self.leaf(None, &at.field(tag), name);
                let variant = name.as_str().and_then(named);
                if let Some(value) = value.get(content) {
                    let at = at.field(content);
                    match variant {
                        Some(variant) => drop(self.body(&variant.body, at, value)?),
                        None => drop(self.leaf(None, &at, value)),
                    }
                }
                return Ok(there);
            }
            (Tagging::Untagged, Bson::Document(content)) => {
                let Some(shape) = untagged(of, content) else {
                    return Ok(self.leaf(None, &at, value));
                };
                let there = self.own(shape, &at, content)?;
                // What another variant alone has would make it that one.
                let others = of.variants.iter().filter_map(|variant| struct_of(&variant.body));
                let mut names: Vec<&str> = others.flat_map(|of| of.fields).map(|field| field.name).collect();
                names.retain(|name| !shape.fields.iter().any(|field| field.name == *name));
                names.sort_unstable();
                names.dedup();
                for name in names {
                    self.push(at.field(name).name, doc! { "$exists": false }.into());
                }
                if !there && !at.name.is_empty() {
                    self.push(at.name, doc! { "$type": "object" }.into());
                }
            }
            (_, value) => return Ok(self.leaf(None, &at, value)),
        }
        Ok(true)
    }

    fn body(&mut self, body: &'static Body, at: EqualAt, value: &Bson) -> Result<bool, Unlike> {
        match (body, value) {
            (Body::Newtype(field), value) => self.field(field, at, value),
            (Body::Struct(of), Bson::Document(content)) => {
                if !self.own(of, &at, content)? {
                    self.push(at.name, doc! { "$type": "object" }.into());
                }
                Ok(true)
            }
            (Body::Tuple(fields), Bson::Array(values)) => {
                let item = |position: usize| match fields.get(position) {
                    Some(field) if !is_plain(field, 0) => (field.shape)(),
                    _ => Shape::Any,
                };
                self.list(&at, values, &item)?;
                Ok(true)
            }
            (_, value) => Ok(self.leaf(None, &at, value)),
        }
    }

    /// An array: the number of items, and each at its place.
    fn list(&mut self, at: &EqualAt, values: &[Bson], item: &dyn Fn(usize) -> Shape) -> Result<(), Unlike> {
        let mut shapes = (0..values.len()).map(item);
        if shapes.all(|shape| is_plain_shape(shape, 0)) {
            self.leaf(None, at, &Bson::Array(values.to_vec()));
            return Ok(());
        }
        if (0..values.len()).map(item).any(|shape| is_numbered(shape, 0)) {
            return Err(Unlike::Numbered);
        }
        let size = i64::try_from(values.len()).unwrap_or(i64::MAX);
        self.push(at.name.clone(), doc! { "$size": size }.into());
        for (position, value) in values.iter().enumerate() {
            let at = at.item(position);
            match value {
                Bson::Null => drop(self.leaf(None, &at, value)),
                value => drop(self.shaped(item(position), false, at, value)?),
            }
        }
        Ok(())
    }

    /// A set: all of these items, in whatever order and number, and no other.
    fn set(&mut self, shape: Shape, at: &EqualAt, values: &[Bson]) -> Result<(), Unlike> {
        if values.is_empty() {
            self.leaf(None, at, &Bson::Array(Vec::new()));
            return Ok(());
        }
        let (mut plain, mut others) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                Bson::RegularExpression(_) => return Err(Unlike::Pattern),
                Bson::Document(_) | Bson::Array(_) if has_parts(shape) => {
                    let mut ask = Ask::default();
                    let item = EqualAt {
                        name: String::new(),
                        in_array: true,
                        by_position: false,
                    };
                    ask.shaped(shape, false, item, value)?;
                    let item = in_array(ask.document()).map_err(Unlike::Nested)?;
                    let is_operator = |key: &String| key.starts_with('$') && key != "$and";
                    if item.keys().next().is_some_and(is_operator) {
                        return Err(Unlike::Nested("is on the items themselves".to_owned()));
                    }
                    others.push(item);
                }
                value => plain.push(value.clone()),
            }
        }
        let name = || at.name.clone();
        if !has_parts(shape) {
            let mut all = doc! {};
            if plain.contains(&Bson::Null) {
                // Which is also what is not there.
                all.insert("$type", "array");
            }
            all.insert("$all", plain.clone());
            all.insert("$not", doc! { "$elemMatch": { "$nin": plain } });
            self.push(name(), all.into());
            return Ok(());
        }
        if !others.is_empty() {
            let each: Vec<Document> = others
                .iter()
                .map(|item| doc! { "$elemMatch": item.clone() })
                .collect();
            let mut outside = Document::new();
            // In front stands the name of a field, of which anything is true: not every server takes a condition on items that
            // begins with `$nor`.
            if let Some(name) = others.first().and_then(|item| item.keys().next()) {
                outside.insert(name.clone(), doc! { "$nin": [] });
            }
            outside.insert("$nor", others);
            let outside = doc! { "$elemMatch": outside };
            self.push(name(), doc! { "$all": each, "$not": outside }.into());
        }
        for value in &plain {
            self.push(name(), doc! { "$elemMatch": { "$eq": value.clone() } }.into());
        }
        let mut outside = doc! { "$not": { "$type": "object" } };
        if !plain.is_empty() {
            outside.insert("$nin", plain);
        }
        if others_may_be_plain(shape) {
            self.push(name(), doc! { "$not": { "$elemMatch": outside } }.into());
        }
        Ok(())
    }

    /// A map: each key, and as many as there are.
    fn map(&mut self, shape: Shape, at: &EqualAt, entries: &Document) -> Result<(), Unlike> {
        let wrong = |key: &&String| key.is_empty() || key.starts_with('$') || key.contains(['.', '\0']);
        if let Some(key) = entries.keys().find(wrong) {
            return Err(Unlike::Key(key.clone()));
        }
        let plain = !has_parts(shape);
        if entries.is_empty() || entries.len() == 1 && plain {
            self.leaf(None, at, &Bson::Document(entries.clone()));
            return Ok(());
        }
        if at.in_array {
            if !plain || entries.len() > MOST_ORDERED {
                return Err(Unlike::Map);
            }
            self.push(at.name.clone(), doc! { "$in": orders(entries) }.into());
            return Ok(());
        }
        for (key, value) in entries {
            let at = at.field(key);
            match value {
                Bson::Null => self.push(at.name, doc! { "$eq": Bson::Null, "$exists": true }.into()),
                value => drop(self.shaped(shape, false, at, value)?),
            }
        }
        let all = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        for (name, schema) in at_most(&at.name, "maxProperties", all) {
            self.push(name, schema);
        }
        Ok(())
    }
}

/// Whether an item of this shape may be something else than a document.
fn others_may_be_plain(shape: Shape) -> bool {
    !matches!(shape, Shape::Struct(_))
}

/// These entries in all orders.
fn orders(entries: &Document) -> Vec<Bson> {
    let mut all = vec![Document::new()];
    for _ in 0..entries.len() {
        let longer = all.iter().flat_map(|before| {
            let rest = entries.iter().filter(|(key, _)| !before.contains_key(key));
            rest.map(|(key, value)| {
                let mut one = before.clone();
                one.insert(key.clone(), value.clone());
                one
            })
        });
        all = longer.collect();
    }
    all.into_iter().map(Bson::Document).collect()
}

fn struct_of(body: &Body) -> Option<&'static StructShape> {
    match body {
        Body::Struct(of) => Some(of),
        Body::Newtype(field) => match unwrapped(of_field(field)).0 {
            Shape::Struct(of) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// The struct of the variant that is stored as this document, if it is the only one that may be.
fn untagged(of: &EnumShape, content: &Document) -> Option<&'static StructShape> {
    let fits = |of: &&'static StructShape| {
        let has = |field: &FieldMeta| content.contains_key(field.name) || !field.required || field.skips_none;
        let knows = |key: &String| of.fields.iter().any(|field| field.name == *key);
        !of.fields.iter().any(|field| field.flatten) && of.fields.iter().all(has) && content.keys().all(knows)
    };
    let mut all = of
        .variants
        .iter()
        .filter_map(|variant| struct_of(&variant.body))
        .filter(fits);
    all.next().filter(|_| all.next().is_none())
}

/// Whether a number may be the name of something in a value.
fn is_numbered(shape: Shape, depth: u32) -> bool {
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let within = |field: &FieldMeta| is_numbered(of_field(field), depth + 1);
    let of_struct = |of: &StructShape| {
        let fields = of.fields.iter();
        fields.into_iter().any(|field| {
            if field.flatten {
                within(field)
            } else {
                is_number(field.name)
            }
        })
    };
    if depth > MOST_WRAPPERS {
        return true;
    }
    match unwrapped(shape).0 {
        Shape::Map(_) => true,
        Shape::Struct(of) => of_struct(of),
        Shape::Enum(of) => of.variants.iter().any(|variant| {
            is_number(variant.name)
                || match (&of.tagging, &variant.body) {
                    (Tagging::Internal(_) | Tagging::Untagged, Body::Struct(of)) => of_struct(of),
                    (Tagging::Internal(_) | Tagging::Untagged, Body::Newtype(field)) => within(field),
                    _ => false,
                }
        }),
        _ => false,
    }
}

/// One form for all values that are read as equal ones: declared fields in the order of their declaration and without `null`, the
/// items of a set and the entries of a map in order.
fn canonical(shape: Shape, set: bool, value: &Bson) -> Bson {
    let (shape, is_set) = unwrapped(shape);
    match (shape, value) {
        (Shape::Struct(of), Bson::Document(value)) => {
            let mut all = Document::new();
            fields_of(of, value, &mut all);
            all.into()
        }
        (Shape::Map(values), Bson::Document(entries)) => {
            let mut all: Vec<(String, Bson)> = entries
                .iter()
                .map(|(key, value)| (key.clone(), canonical(values(), false, value)))
                .collect();
            all.sort_by(|a, b| a.0.cmp(&b.0));
            Bson::Document(all.into_iter().collect())
        }
        (Shape::Array(items), Bson::Array(values)) => {
            let mut all: Vec<Bson> = values
                .iter()
                .map(|value| canonical(items(), false, value))
                .collect();
            if set || is_set {
                let mut keys: Vec<(Key, Bson)> = all
                    .into_iter()
                    .map(|value| (Key::of_bson(&value), value))
                    .collect();
                keys.sort_by(|a, b| a.0.cmp(&b.0));
                keys.dedup_by(|a, b| a.0 == b.0);
                all = keys.into_iter().map(|(_, value)| value).collect();
            }
            all.into()
        }
        (Shape::Fixed { items, .. }, Bson::Array(values)) => values
            .iter()
            .map(|value| canonical(items(), false, value))
            .collect::<Vec<_>>()
            .into(),
        (Shape::Tuple(items), Bson::Array(values)) => {
            let shape = |position: usize| items.get(position).map_or(Shape::Any, |item| item());
            let all = values.iter().enumerate();
            all.map(|(position, value)| canonical(shape(position), false, value))
                .collect::<Vec<_>>()
                .into()
        }
        (Shape::Enum(of), Bson::Document(value)) => canonical_variant(of, value),
        (_, value) => value.clone(),
    }
}

fn fields_of(of: &StructShape, value: &Document, all: &mut Document) {
    for field in of.fields.iter().filter(|field| field.is_compared()) {
        if field.flatten {
            if let Shape::Struct(inner) = unwrapped(of_field(field)).0 {
                fields_of(inner, value, all);
            }
            continue;
        }
        let one = match (value.get(field.name), default::of(field)) {
            (None, Some(default)) => default,
            (None | Some(Bson::Null), None) => continue,
            (Some(one), _) => one,
        };
        let one = if is_plain(field, 0) {
            one.clone()
        } else {
            canonical(of_field(field), field.set, one)
        };
        all.insert(field.name, one);
    }
}

fn canonical_variant(of: &'static EnumShape, value: &Document) -> Bson {
    let named = |name: &str| of.variants.iter().find(|variant| variant.name == name);
    let whole = || Bson::Document(value.clone());
    let body = |body: &Body, content: &Bson| match (body, content) {
        (Body::Newtype(field), content) => canonical(of_field(field), field.set, content),
        (Body::Struct(of), Bson::Document(content)) => {
            let mut all = Document::new();
            fields_of(of, content, &mut all);
            all.into()
        }
        (Body::Tuple(fields), Bson::Array(values)) => {
            let one = |(position, value): (usize, &Bson)| match fields.get(position) {
                Some(field) => canonical(of_field(field), field.set, value),
                None => value.clone(),
            };
            values.iter().enumerate().map(one).collect::<Vec<_>>().into()
        }
        (_, content) => content.clone(),
    };
    match of.tagging {
        Tagging::External => match value.iter().next() {
            Some((name, content)) => match named(name) {
                Some(variant) => doc! { name: body(&variant.body, content) }.into(),
                None => whole(),
            },
            None => whole(),
        },
        Tagging::Internal(tag) => match value.get_str(tag).ok().and_then(named) {
            Some(variant) => {
                let mut all = doc! { tag: variant.name };
                if let Some(of) = struct_of(&variant.body) {
                    fields_of(of, value, &mut all);
                }
                all.into()
            }
            None => whole(),
        },
        Tagging::Adjacent(tag, content) => match value.get_str(tag).ok().and_then(named) {
            Some(variant) => {
                let mut all = doc! { tag: variant.name };
                if let Some(value) = value.get(content) {
                    all.insert(content, body(&variant.body, value));
                }
                all.into()
            }
            None => whole(),
        },
        Tagging::Untagged => match untagged(of, value) {
            Some(of) => {
                let mut all = Document::new();
                fields_of(of, value, &mut all);
                all.into()
            }
            None => whole(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::FIELD;
    use crate::model::copy::{Consistency, Copied, FieldCopy};
    use crate::model::shape::{ShapeFn, VariantMeta};
    use mongodb::bson::bson;

    const fn named(name: &'static str, shape: ShapeFn) -> FieldMeta {
        FieldMeta { name, shape, ..FIELD }
    }

    const NAME: FieldMeta = FieldMeta {
        name: "name",
        copied: Some(&Copied::Field(FieldCopy {
            through: "product",
            source: || "name",
            field: || None,
            consistency: Consistency::Auto,
        })),
        ..FIELD
    };
    static INNER: StructShape = StructShape {
        ty: None,
        name: "Inner",
        fields: &[named("product", || Shape::String), NAME],
        deny_unknown: false,
    };
    static FLAT: StructShape = StructShape {
        ty: None,
        name: "Flat",
        fields: &[named("colour", || Shape::Optional(|| Shape::String))],
        deny_unknown: false,
    };
    static LINE: StructShape = StructShape {
        ty: None,
        name: "Line",
        fields: &[
            named("product", || Shape::String),
            NAME,
            named("note", || Shape::Optional(|| Shape::String)),
            named("inner", || Shape::Optional(|| Shape::Struct(&INNER))),
            FieldMeta {
                flatten: true,
                ..named("flat", || Shape::Struct(&FLAT))
            },
            named("hours", || Shape::Map(|| Shape::Optional(|| Shape::Bool))),
            FieldMeta {
                set: true,
                ..named("tags", || Shape::Array(|| Shape::String))
            },
            named("others", || Shape::Array(|| Shape::Struct(&INNER))),
        ],
        deny_unknown: false,
    };
    static STATE: EnumShape = EnumShape {
        ty: None,
        name: "State",
        tagging: Tagging::External,
        variants: &[
            VariantMeta {
                name: "draft",
                json: None,
                body: Body::Unit,
            },
            VariantMeta {
                name: "sent",
                json: None,
                body: Body::Struct(&FLAT),
            },
        ],
    };
    static LINES: FieldMeta = named("lines", || {
        Shape::Optional(|| Shape::Array(|| Shape::Optional(|| Shape::Struct(&LINE))))
    });
    static ONE: FieldMeta = named("line", || Shape::Struct(&LINE));
    static ENTRIES: FieldMeta = named("entries", || Shape::Array(|| Shape::Struct(&INNER)));
    static STATES: FieldMeta = FieldMeta {
        set: true,
        ..named("states", || Shape::Array(|| Shape::Enum(&STATE)))
    };

    fn whole(field: &'static FieldMeta) -> ComparedField {
        ComparedField {
            field,
            item: false,
            array: None,
            name: field.name.to_owned(),
        }
    }

    fn items_of(field: &'static FieldMeta) -> ComparedField {
        ComparedField::items(field, field.name).expect("they have parts")
    }

    fn eq(place: &ComparedField, value: Bson) -> Document {
        place.condition("$eq", value).expect("can be compared")
    }

    #[test]
    fn a_struct_is_compared_by_what_the_application_writes() {
        let line = bson!({
            "product": "p", "name": "copied", "inner": { "product": "q", "name": "copied" }, "hours": { "mon": null, "tue": true },
            "tags": ["b", "a"], "others": [{ "product": "r", "name": "copied" }],
        });
        let outside = doc! { "$elemMatch": { "$nin": ["b", "a"] } };
        let schema =
            doc! { "properties": { "line": { "properties": { "hours": { "maxProperties": 2_i64 } } } } };
        let expected = doc! {
            "line.product": { "$eq": "p" },
            "line.note": { "$eq": null },
            "line.inner.product": { "$eq": "q" },
            "line.colour": { "$eq": null },
            "line.hours.mon": { "$eq": null, "$exists": true },
            "line.hours.tue": { "$eq": true },
            "$jsonSchema": schema,
            "line.tags": { "$all": ["b", "a"], "$not": outside },
            "line.others": { "$size": 1_i64 },
            "line.others.0.product": { "$eq": "r" },
        };
        assert_eq!(eq(&whole(&ONE), line), expected);
        // A struct without any of its fields is there all the same.
        let none = eq(&whole(&ONE), bson!({}));
        assert_eq!(none.get("line"), Some(&bson!({ "$type": "object" })));
        assert_eq!(eq(&whole(&ONE), Bson::Null), doc! { "line": { "$eq": null } });
    }

    #[test]
    fn the_parts_are_those_of_one_item() {
        let line = bson!({ "product": "p", "hours": { "mon": null, "tue": true }, "tags": [], "others": [] });
        let lines = items_of(&LINES);
        let found = eq(&lines, line);
        let item = found
            .get_document("lines")
            .and_then(|lines| lines.get_document("$elemMatch"));
        let item = item.expect("one item meets all of it");
        let orders = bson!({ "$in": [{ "mon": null, "tue": true }, { "tue": true, "mon": null }] });
        assert_eq!(item.get("hours"), Some(&orders));
        assert_eq!(item.get("tags"), Some(&bson!({ "$eq": [] })));
        let many: Document = (0..5).map(|n| (format!("k{n}"), Bson::from(n))).collect();
        let error = lines
            .condition("$eq", bson!({ "product": "p", "hours": many }))
            .unwrap_err();
        assert!(error.to_string().contains("at most 4 entries"), "{error}");
    }

    /// An index on the field by which a struct is known serves all conditions.
    #[test]
    fn a_struct_of_one_field_is_that_field() {
        let entries = items_of(&ENTRIES);
        let entry = |product: &str| bson!({ "name": "copied", "product": product });
        for operator in ["$in", "$nin", "$all"] {
            let found = entries
                .condition(operator, bson!([(entry("a")), (entry("b"))]))
                .unwrap();
            assert_eq!(found, doc! { "entries.product": { operator: ["a", "b"] } });
        }
        assert_eq!(
            eq(&entries, entry("a")),
            doc! { "entries.product": { "$eq": "a" } }
        );
        let pulled = entries.pulled(&[entry("a"), entry("b")]).unwrap();
        assert_eq!(pulled, Some(doc! { "product": { "$in": ["a", "b"] } }));
        let replaced = entries.replaced("e0", &entry("a")).unwrap();
        assert_eq!(replaced, doc! { "e0.product": { "$eq": "a" } });
        assert!(entries.same(&entry("a"), &bson!({ "product": "a", "version": 3 })));
        let values: Vec<Bson> = (0..500).map(|n| entry(&n.to_string())).collect();
        assert!(entries.condition("$in", values.into()).is_ok());
    }

    #[test]
    fn a_set_has_all_items_and_no_other() {
        let place = whole(&STATES);
        let sent = |colour: Bson| bson!({ "sent": { "colour": colour } });
        let known = doc! { "sent.colour": { "$eq": "red" } };
        assert_eq!(
            eq(&place, bson!(["draft", (sent("red".into()))])),
            doc! {
                "states": { "$all": [{ "$elemMatch": &known }], "$not": { "$elemMatch": { "sent.colour": { "$nin": [] }, "$nor": [known] } } },
                "$and": [
                    { "states": { "$elemMatch": { "$eq": "draft" } } },
                    { "states": { "$not": { "$elemMatch": { "$not": { "$type": "object" }, "$nin": ["draft"] } } } },
                ],
            }
        );
        let stored = bson!([{ "sent": { "colour": null, "more": 1 } }, "draft", "draft"]);
        assert!(place.same(&stored, &bson!(["draft", { "sent": {} }])));
        assert!(!place.same(&stored, &bson!(["draft", (sent("red".into()))])));
        assert!(!place.is_inserted(&bson!(["draft"])) && place.is_inserted(&bson!([])));
    }
}

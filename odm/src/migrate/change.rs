//! The changes of a field that the library makes itself: the condition of the documents that need one, the pipeline by which the server makes
//! it, and the same in memory.
//!
//! A path leads through embedded documents and through arrays of them: the change is made in each item. A changed document
//! needs the change no more, so each may be made twice.

use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, DateTime, Decimal128, Document, doc};
use std::str::FromStr;

/// One change of one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldChange {
    /// The field gets a value where it is missing.
    Add { path: String, value: Bson },
    /// The field gets another name, or another place.
    Rename { from: String, to: String },
    /// The field is removed.
    Remove { path: String },
    /// `null` in the field becomes a value.
    ReplaceNull { path: String, value: Bson },
    /// The field gets another type, by an expression of the server in which `$$value` is its value.
    Retype {
        path: String,
        to: String,
        expression: Bson,
    },
}

/// Why a change is not made in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NotInMemory {
    /// A server alone evaluates this expression.
    ByServer(String),
    /// In words.
    Failed(String),
}

impl FieldChange {
    pub(crate) fn in_words(&self) -> String {
        match self {
            FieldChange::Add { path, value } => format!("add `{path}` as {value} where it is missing"),
            FieldChange::ReplaceNull { path, value } => format!("replace `null` in `{path}` by {value}"),
            FieldChange::Rename { from, to } => format!("rename `{from}` to `{to}`"),
            FieldChange::Remove { path } => format!("remove `{path}`"),
            FieldChange::Retype { path, to, expression } => {
                format!("change the type of `{path}` to {to} by {expression}")
            }
        }
    }

    /// The paths that it changes.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            FieldChange::Add { path, .. }
            | FieldChange::Remove { path }
            | FieldChange::ReplaceNull { path, .. }
            | FieldChange::Retype { path, .. } => vec![path],
            FieldChange::Rename { from, to } => vec![from, to],
        }
    }

    /// The condition of the documents that need the change.
    pub(crate) fn violations(&self) -> Document {
        match self {
            FieldChange::Add { path, .. } => at_path(path, &|name| doc! { name: { "$exists": false } }),
            FieldChange::Remove { path } => at_path(path, &|name| doc! { name: { "$exists": true } }),
            FieldChange::ReplaceNull { path, .. } => at_path(
                path,
                &|name| doc! { name: { "$type": "null", "$not": { "$type": "array" } } },
            ),
            FieldChange::Rename { from, to } => match siblings(from, to) {
                Some(_) => at_path(from, &|name| doc! { name: { "$exists": true } }),
                None => {
                    let all_above = above(from).into_iter().chain(above(to));
                    let plain = all_above.map(|path| doc! { path: { "$not": { "$type": "array" } } });
                    let mut all = vec![doc! { from: { "$exists": true } }];
                    all.extend(plain);
                    let free = above(to).into_iter();
                    all.extend(free.map(|path| doc! { "$or": [{ path: { "$exists": false } }, { path: { "$type": MAY_HOLD } }] }));
                    doc! { "$and": all }
                }
            },
            FieldChange::Retype { path, to, .. } => at_path(path, &|name| of_another_type(name, to)),
        }
    }

    /// The condition of documents in which the change can't be made, and what is wrong with them: a move leads through no arrays, and
    /// replaces no other value.
    pub(crate) fn impossible(&self) -> Option<(Document, String)> {
        let FieldChange::Rename { from, to } = self else {
            return None;
        };
        if siblings(from, to).is_some() {
            return None;
        }
        let (from_above, to_above) = (above(from).into_iter(), above(to).into_iter());
        let arrays = from_above
            .chain(to_above.clone())
            .map(|path| doc! { path: { "$type": "array" } });
        let taken = to_above.map(|path| doc! { path: { "$exists": true, "$not": { "$type": MAY_HOLD } } });
        let in_the_way: Vec<Document> = arrays.chain(taken).collect();
        let condition = doc! { from: { "$exists": true }, "$or": in_the_way };
        Some((condition, in_the_way_of(from, to)))
    }

    /// The stages of an update that makes the change.
    pub(crate) fn pipeline(&self) -> Vec<Document> {
        match self {
            // A value that is there, be it `null`, stays.
            FieldChange::Add { path, value } => set(path, &|holder, name| {
                let added = doc! { name: { "$literal": value.clone() } };
                doc! { "$mergeObjects": [added, holder.document] }.into()
            }),
            FieldChange::ReplaceNull { path, value } => set(path, &|holder, name| {
                let is_named = doc! { "$eq": ["$$field.k", { "$literal": name }] };
                let is_null = doc! { "$eq": [{ "$type": "$$field.v" }, "null"] };
                let value = doc! { "$cond": [
                    { "$and": [is_named, is_null] }, { "$literal": value.clone() }, "$$field.v",
                ] };
                let fields = doc! { "$map": {
                    "input": { "$objectToArray": holder.document }, "as": "field",
                    "in": { "k": "$$field.k", "v": value },
                } };
                doc! { "$arrayToObject": fields }.into()
            }),
            FieldChange::Remove { path } => set(path, &|holder, name| others(&holder, name)),
            FieldChange::Rename { from, to } => match siblings(from, to) {
                Some((_, name)) => set(from, &|holder, old| renamed(holder, old, name)),
                None => {
                    let is_missing = doc! { "$eq": [{ "$type": format!("${to}") }, "missing"] };
                    let moved = doc! { "$cond": [is_missing, format!("${from}"), format!("${to}")] };
                    vec![doc! { "$set": { to: moved } }, doc! { "$unset": from }]
                }
            },
            FieldChange::Retype { path, to, expression } => set(path, &|holder, name| {
                let converted = doc! { "$let": {
                    "vars": { "value": holder.field(name) },
                    "in": converted(to, expression),
                } };
                doc! { "$mergeObjects": [holder.document, { name: converted }] }.into()
            }),
        }
    }

    /// Makes the change in a document in memory.
    ///
    /// # Errors
    /// Where an expression is one that only a server evaluates, or a value can't be converted.
    pub(crate) fn apply(&self, document: &mut Document) -> Result<(), NotInMemory> {
        match self {
            FieldChange::Add { path, value } => within(document, path, &|object, name| {
                if !object.contains_key(name) {
                    object.insert(name, value.clone());
                }
                Ok(())
            }),
            FieldChange::ReplaceNull { path, value } => within(document, path, &|object, name| {
                if let Some(null @ Bson::Null) = object.get_mut(name) {
                    *null = value.clone();
                }
                Ok(())
            }),
            FieldChange::Remove { path } => within(document, path, &|object, name| {
                object.remove(name);
                Ok(())
            }),
            FieldChange::Rename { from, to } => match siblings(from, to) {
                Some((_, new)) => within(document, from, &|object, old| {
                    if object.contains_key(new) {
                        object.remove(old);
                    } else if object.contains_key(old) {
                        let fields = std::mem::take(object).into_iter();
                        let rename = |name: String| if name == old { new.to_owned() } else { name };
                        object.extend(fields.map(|(name, value)| (rename(name), value)));
                    }
                    Ok(())
                }),
                None => move_field(document, from, to),
            },
            FieldChange::Retype { path, to, expression } => within(document, path, &|object, name| {
                let Some(value) = object.get_mut(name) else {
                    return Ok(());
                };
                match value {
                    Bson::Array(items) if to != "array" => {
                        for item in items.iter_mut().filter(|item| !is_of(item, to)) {
                            *item = evaluated(expression, item)?;
                        }
                    }
                    value if !is_of(value, to) => *value = evaluated(expression, value)?,
                    _ => {}
                }
                Ok(())
            }),
        }
    }
}

/// The common path of two fields of one document, and the name of the second.
fn siblings<'p>(from: &'p str, to: &'p str) -> Option<(&'p str, &'p str)> {
    let split = |path: &'p str| path.rsplit_once('.').unwrap_or(("", path));
    let ((above, _), (other, name)) = (split(from), split(to));
    (above == other).then_some((above, name))
}

/// The paths that lead to a path.
fn above(path: &str) -> Vec<&str> {
    path.match_indices('.').map(|(dot, _)| &path[..dot]).collect()
}

/// A condition on the field at a path, in a document or in any item of the arrays that the path leads through.
fn at_path(path: &str, of_field: &dyn Fn(&str) -> Document) -> Document {
    fn below(prefix: &str, path: &str, of_field: &dyn Fn(&str) -> Document) -> Document {
        let Some((first, rest)) = path.split_once('.') else {
            return of_field(&format!("{prefix}{path}"));
        };
        let here = format!("{prefix}{first}");
        let of_item = below("", rest, of_field);
        // Behind a field, an operator is one of the whole item on every server.
        let mut item = doc! {};
        if of_item.contains_key("$or") {
            let inner = rest.split_once('.').map_or(rest, |(inner, _)| inner);
            item.insert(inner, doc! { "$exists": true });
        }
        item.extend(of_item);
        let of_items = doc! { &here: { "$elemMatch": item } };
        let embedded = doc! { &here: { "$type": "object", "$not": { "$type": "array" } } };
        let of_embedded = below(&format!("{here}."), rest, of_field);
        doc! { "$or": [of_items, { "$and": [embedded, of_embedded] }] }
    }
    below("", path, of_field)
}

/// A value, or an item of an array, of another type than this one. `null` is of every type.
fn of_another_type(name: &str, to: &str) -> Document {
    if to == "array" {
        return doc! { name: { "$exists": true, "$not": { "$type": ["array", "null"] } } };
    }
    let value = doc! { name: { "$exists": true, "$not": { "$type": [to, "null", "array"] } } };
    let item =
        doc! { name: { "$elemMatch": { "$exists": true, "$not": { "$type": [to, "null", "array"] } } } };
    doc! { "$or": [value, item] }
}

/// The document that holds a field, in an expression.
struct Holder<'e> {
    document: &'e str,
    /// The text in front of the names of its fields.
    prefix: &'e str,
}

impl Holder<'_> {
    fn field(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Makes of the document that holds a field what an expression says, which is given the name of the field.
fn set(path: &str, make: &dyn Fn(Holder<'_>, &str) -> Bson) -> Vec<Document> {
    fn of_document(
        document: &str,
        path: &str,
        depth: usize,
        make: &dyn Fn(Holder<'_>, &str) -> Bson,
    ) -> Bson {
        let Some((first, rest)) = path.split_once('.') else {
            return make(
                Holder {
                    document,
                    prefix: &format!("{document}."),
                },
                path,
            );
        };
        let value = of_value(&format!("{document}.{first}"), rest, depth, make);
        doc! { "$mergeObjects": [document, { first: value }] }.into()
    }
    fn of_value(value: &str, path: &str, depth: usize, make: &dyn Fn(Holder<'_>, &str) -> Bson) -> Bson {
        let item = format!("item{depth}");
        let embedded = |value: &str| {
            let is_document = doc! { "$eq": [{ "$type": value }, "object"] };
            doc! { "$cond": [is_document, of_document(value, path, depth + 1, make), value] }
        };
        let items = doc! { "$map": { "input": value, "as": &item, "in": embedded(&format!("$${item}")) } };
        doc! { "$cond": [{ "$isArray": [value] }, items, embedded(value)] }.into()
    }
    match path.split_once('.') {
        None => {
            let root = Holder {
                document: "$$ROOT",
                prefix: "$",
            };
            vec![doc! { "$replaceWith": make(root, path) }]
        }
        Some((first, rest)) => {
            vec![doc! { "$set": { first: of_value(&format!("${first}"), rest, 0, make) } }]
        }
    }
}

/// A document with a field under another name. A value that is there under the new name stays.
fn renamed(holder: Holder<'_>, old: &str, new: &str) -> Bson {
    doc! { "$mergeObjects": [{ new: holder.field(old) }, others(&holder, old)] }.into()
}

/// A document without a field.
fn others(holder: &Holder<'_>, name: &str) -> Bson {
    let fields = doc! { "$filter": {
        "input": { "$objectToArray": holder.document }, "as": "field",
        "cond": { "$ne": ["$$field.k", { "$literal": name }] },
    } };
    doc! { "$arrayToObject": fields }.into()
}

/// `$$value` converted, or each of its items.
fn converted(to: &str, expression: &Bson) -> Bson {
    let types: Vec<&str> = if to == "number" {
        vec!["missing", "undefined", "null", "int", "long", "double", "decimal"]
    } else {
        vec!["missing", "undefined", "null", to]
    };
    let one = doc! { "$cond": [{ "$in": [{ "$type": "$$value" }, types] }, "$$value", expression.clone()] };
    if to == "array" {
        return one.into();
    }
    let items = doc! { "$map": { "input": "$$value", "as": "value", "in": &one } };
    doc! { "$cond": [{ "$isArray": ["$$value"] }, items, one] }.into()
}

/// Changes the documents that hold the field at a path.
fn within(
    document: &mut Document,
    path: &str,
    change: &dyn Fn(&mut Document, &str) -> Result<(), NotInMemory>,
) -> Result<(), NotInMemory> {
    let Some((first, rest)) = path.split_once('.') else {
        return change(document, path);
    };
    match document.get_mut(first) {
        Some(Bson::Document(inner)) => within(inner, rest, change),
        Some(Bson::Array(items)) => items
            .iter_mut()
            .filter_map(Bson::as_document_mut)
            .try_for_each(|item| within(item, rest, change)),
        _ => Ok(()),
    }
}

/// The types of a value that a field may be set in: `null` becomes a document. Arrays are looked for by themselves.
const MAY_HOLD: [&str; 3] = ["object", "null", "array"];

/// The error of a field that would be moved through arrays, or into a value that is no document.
fn in_the_way_of(from: &str, to: &str) -> String {
    let listed = |paths: &mut dyn Iterator<Item = &str>| {
        let paths: Vec<String> = paths.map(|path| format!("`{path}`")).collect();
        paths.join(" or ")
    };
    let (from_above, to_above) = (above(from), above(to));
    let mut message = format!(
        "`{from}` can't be moved to `{to}` where {} is an array",
        listed(&mut from_above.into_iter().chain(to_above.iter().copied()))
    );
    if !to_above.is_empty() {
        message += &format!(
            ", or {} a value that is no document",
            listed(&mut to_above.into_iter())
        );
    }
    message += ": a field is renamed within the items of an array, and moved through embedded documents alone. `each(…).update(…)` changes \
                such documents";
    message
}

fn move_field(document: &mut Document, from: &str, to: &str) -> Result<(), NotInMemory> {
    let is_array = |path: &str| matches!(at(document, path), Some(Bson::Array(_)));
    let is_taken = |path: &str| !matches!(at(document, path), None | Some(Bson::Document(_) | Bson::Null));
    if above(from).into_iter().any(is_array) || above(to).into_iter().any(is_taken) {
        return if is_in(document, from) {
            Err(NotInMemory::Failed(in_the_way_of(from, to)))
        } else {
            Ok(())
        };
    }
    let Some(value) = at(document, from).cloned() else {
        return Ok(());
    };
    if at(document, to).is_none() {
        put(document, to, value);
    }
    remove(document, from);
    Ok(())
}

/// Whether a field is there, in a document or in any item of the arrays that its path leads through.
fn is_in(document: &Document, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else {
        return document.contains_key(path);
    };
    match document.get(first) {
        Some(Bson::Document(inner)) => is_in(inner, rest),
        Some(Bson::Array(items)) => items
            .iter()
            .filter_map(Bson::as_document)
            .any(|item| is_in(item, rest)),
        _ => false,
    }
}

fn remove(document: &mut Document, path: &str) {
    match path.split_once('.') {
        None => drop(document.remove(path)),
        Some((first, rest)) => {
            if let Some(Bson::Document(inner)) = document.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}

pub(crate) fn at<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((first, rest)) => at(document.get(first)?.as_document()?, rest),
    }
}

pub(crate) fn put(document: &mut Document, path: &str, value: Bson) {
    let Some((first, rest)) = path.split_once('.') else {
        document.insert(path, value);
        return;
    };
    let mut inner = match document.get_mut(first) {
        Some(Bson::Document(inner)) => std::mem::take(inner),
        _ => Document::new(),
    };
    put(&mut inner, rest, value);
    document.insert(first, inner);
}

/// The server's name for the type of a value.
pub(crate) fn type_name(value: &Bson) -> &'static str {
    match value {
        Bson::Double(_) => "double",
        Bson::String(_) => "string",
        Bson::Document(_) => "object",
        Bson::Array(_) => "array",
        Bson::Binary(_) => "binData",
        Bson::Undefined => "undefined",
        Bson::ObjectId(_) => "objectId",
        Bson::Boolean(_) => "bool",
        Bson::DateTime(_) => "date",
        Bson::Null => "null",
        Bson::RegularExpression(_) => "regex",
        Bson::DbPointer(_) => "dbPointer",
        Bson::JavaScriptCode(_) => "javascript",
        Bson::Symbol(_) => "symbol",
        Bson::JavaScriptCodeWithScope(_) => "javascriptWithScope",
        Bson::Int32(_) => "int",
        Bson::Timestamp(_) => "timestamp",
        Bson::Int64(_) => "long",
        Bson::Decimal128(_) => "decimal",
        Bson::MinKey => "minKey",
        Bson::MaxKey => "maxKey",
    }
}

fn is_of(value: &Bson, to: &str) -> bool {
    let of = type_name(value);
    of == to || of == "null" || (to == "number" && matches!(of, "int" | "long" | "double" | "decimal"))
}

/// The value of an expression of the server: constants, `$$value`, and conversions.
fn evaluated(expression: &Bson, value: &Bson) -> Result<Bson, NotInMemory> {
    let only_by_server = |expression: &Bson| NotInMemory::ByServer(expression.to_string());
    match expression {
        Bson::String(text) if text == "$$value" => Ok(value.clone()),
        Bson::String(text) if text.starts_with('$') => Err(only_by_server(expression)),
        Bson::Document(operator) => {
            let Some((name, of)) = operator.iter().next().filter(|_| operator.len() == 1) else {
                return Err(only_by_server(expression));
            };
            if name == "$literal" {
                return Ok(of.clone());
            }
            let of = match of {
                Bson::Array(items) if items.len() == 1 => &items[0],
                of => of,
            };
            if !CONVERSIONS.contains(&name.as_str()) {
                return Err(only_by_server(expression));
            }
            let converted = convert(name, evaluated(of, value)?);
            converted.ok_or_else(|| NotInMemory::Failed(format!("{expression} does not convert {value}")))
        }
        constant => Ok(constant.clone()),
    }
}

/// The server's conversions that are made in memory, too.
const CONVERSIONS: [&str; 8] = [
    "$toInt",
    "$toLong",
    "$toDouble",
    "$toDecimal",
    "$toString",
    "$toObjectId",
    "$toDate",
    "$toBool",
];

/// The result of one of the server's conversions, of the values that it takes and that need no rounding.
fn convert(operator: &str, value: Bson) -> Option<Bson> {
    let whole = |value: &Bson| match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Boolean(is) => Some(i64::from(*is)),
        Bson::Double(n) if n.trunc().abs() < 9.0e15 => Some(n.trunc() as i64),
        Bson::String(text) => text.parse().ok(),
        Bson::DateTime(time) => Some(time.timestamp_millis()),
        _ => None,
    };
    match operator {
        "$toInt" => Some(Bson::Int32(whole(&value)?.try_into().ok()?)),
        "$toLong" => Some(Bson::Int64(whole(&value)?)),
        "$toDouble" => match &value {
            Bson::Double(n) => Some((*n).into()),
            Bson::String(text) => text.parse::<f64>().ok().map(Bson::Double),
            value => Some((whole(value)? as f64).into()),
        },
        "$toDecimal" => {
            let text = match &value {
                Bson::Decimal128(_) => return Some(value),
                Bson::Double(n) => n.to_string(),
                Bson::String(text) => text.clone(),
                value => whole(value)?.to_string(),
            };
            Decimal128::from_str(&text).ok().map(Bson::Decimal128)
        }
        "$toString" => match &value {
            Bson::String(_) => Some(value),
            Bson::ObjectId(id) => Some(id.to_hex().into()),
            Bson::Boolean(is) => Some(is.to_string().into()),
            Bson::Int32(n) => Some(n.to_string().into()),
            Bson::Int64(n) => Some(n.to_string().into()),
            Bson::Double(n) if n.abs() < 1.0e15 => Some(n.to_string().into()),
            Bson::Decimal128(n) => Some(n.to_string().into()),
            Bson::DateTime(time) => time.try_to_rfc3339_string().ok().map(Bson::String),
            _ => None,
        },
        "$toObjectId" => match &value {
            Bson::ObjectId(_) => Some(value),
            Bson::String(text) => ObjectId::from_str(text).ok().map(Bson::ObjectId),
            _ => None,
        },
        "$toDate" => match &value {
            Bson::DateTime(_) => Some(value),
            Bson::Int64(ms) => Some(DateTime::from_millis(*ms).into()),
            Bson::ObjectId(id) => Some(id.timestamp().into()),
            Bson::String(text) => DateTime::parse_rfc3339_str(text).ok().map(Bson::DateTime),
            _ => None,
        },
        "$toBool" => match &value {
            Bson::Boolean(_) => Some(value),
            Bson::String(_) | Bson::ObjectId(_) | Bson::DateTime(_) => Some(true.into()),
            Bson::Double(n) => Some((*n != 0.0).into()),
            value => Some((whole(value)? != 0).into()),
        },
        _ => None,
    }
}

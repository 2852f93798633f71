//! The attributes of indexes and of the kinds of collections, and the remarks on what they can't say.

use super::bounds::digits;
use super::model::{Is, Key, Member, Models, Plain, Role, Type};
use crate::design::{Collection, CollectionKind, Field, Index};
use crate::kind::Kind;
use bson::{Bson, Document};

/// The attributes and comments of a collection.
#[derive(Debug, Default)]
pub struct Said {
    /// Options of `#[document(…)]`.
    pub options: Vec<String>,
    /// Remarks above the struct.
    pub remarks: Vec<String>,
    /// Stored names of references of the document itself whose index is declared by the reference.
    pub by_reference: Vec<String>,
}

/// The options of a collection: its kind, its collation and its indexes.
pub fn of(models: &Models, root: usize, collection: &Collection) -> Said {
    let mut said = Said::default();
    kind(&mut said, models, root, collection);
    let mut keys: Vec<&Document> = Vec::new();
    let mut has_text = false;
    for index in &collection.indexes {
        // That of `_id`, and those of the library itself.
        if is_of_id(index) || index.keys.keys().any(|name| name.starts_with("_odm.")) {
            continue;
        }
        if let Some(name) = of_reference(models, root, index) {
            said.by_reference.push(name);
            keys.push(&index.keys);
            continue;
        }
        if is_of_parent(models, root, collection, index) {
            keys.push(&index.keys);
            continue;
        }
        let is_text = index.keys.values().any(|value| value.as_str() == Some("text"));
        let option = if keys.contains(&&index.keys) {
            Err("another index has the same fields".to_owned())
        } else if is_text && has_text {
            Err("a collection has one index of texts".to_owned())
        } else {
            option(models, root, index)
        };
        match option {
            Ok(option) => {
                keys.push(&index.keys);
                has_text |= is_text;
                said.options.push(option);
            }
            Err(why) => said.remarks.push(format!(
                "The index `{}` on {}{} is not declared: {why}.",
                index.name,
                index.keys,
                if index.options.is_empty() {
                    String::new()
                } else {
                    format!(" with {}", index.options)
                }
            )),
        }
    }
    said
}

/// Whether it is the index of `_id`, which every collection has.
pub fn is_of_id(index: &Index) -> bool {
    index.name == "_id_" || index.keys.len() == 1 && number(index.keys.get("_id")) == Some(1)
}

fn kind(said: &mut Said, models: &Models, root: usize, collection: &Collection) {
    let options = &collection.options;
    match collection.kind {
        CollectionKind::Capped => {
            if let Some(size) = number(options.get("size")) {
                let max = number(options.get("max"))
                    .filter(|max| *max > 0)
                    .map_or_else(String::new, |max| format!(", max = {}", digits(max)));
                said.options.push(format!("capped(size = {}{max})", digits(size)));
            }
        }
        CollectionKind::TimeSeries => {
            if let Ok(of) = options.get_document("timeseries") {
                let field = |name: &str| {
                    let stored = of.get_str(name).ok()?;
                    path(models, root, stored).map(|found| found.rust)
                };
                match field("timeField") {
                    Some(time) => {
                        let mut option = format!("time_series(time = {time}");
                        if let Some(meta) = field("metaField") {
                            option.push_str(&format!(", meta = {meta}"));
                        }
                        if let Ok(granularity @ ("seconds" | "minutes" | "hours")) = of.get_str("granularity")
                        {
                            option.push_str(&format!(", granularity = {granularity}"));
                        }
                        if let Some(after) = number(options.get("expireAfterSeconds")) {
                            option.push_str(&format!(", expire_after = {}", digits(after)));
                        }
                        said.options.push(option + ")");
                    }
                    None => said.remarks.push(format!("A time series with {of}.")),
                }
            }
        }
        CollectionKind::Plain | CollectionKind::View => {}
    }
    if let Ok(of) = options.get_document("collation") {
        match collation(of) {
            Some(text) => said.options.push(text),
            None => said
                .remarks
                .push(format!("The collation of the collection is {of}.")),
        }
    }
    if let Ok(validator) = options.get_document("validator")
        && !validator.is_empty()
        && !is_of_odm(validator)
    {
        said.remarks.push(format!(
            "The collection has a validator, which odm replaces by that of the struct: {validator}"
        ));
    }
}

/// Whether the library has written a validator.
fn is_of_odm(validator: &Document) -> bool {
    let schema = validator.get_document("$jsonSchema");
    let title = schema.and_then(|schema| schema.get_str("title"));
    title.is_ok_and(|title| title.starts_with("odm: "))
}

fn number(value: Option<&Bson>) -> Option<u64> {
    match value? {
        Bson::Int32(n) => u64::try_from(*n).ok(),
        Bson::Int64(n) => u64::try_from(*n).ok(),
        Bson::Double(n) if *n >= 0.0 && *n < 9e15 => Some(*n as u64),
        _ => None,
    }
}

/// The field by whose reference an index is declared: an ascending one on it alone, without options.
fn of_reference(models: &Models, root: usize, index: &Index) -> Option<String> {
    let (name, direction) = index.keys.iter().next()?;
    let is_plain = index.keys.len() == 1
        && number(Some(direction)) == Some(1)
        && !index.unique
        && index.name == format!("{name}_1")
        && options(index).next().is_none();
    let found = path(models, root, name).filter(|_| is_plain && !name.contains('.'))?;
    let is_reference = match &found.member.ty {
        Type::Ref(_) => true,
        Type::List(many) => matches!(*many.item, Type::Ref(_)),
        _ => false,
    };
    let has_another = match &found.member.role {
        Role::Parent { one, order } => *one || !order.is_empty(),
        role => matches!(role, Role::TwoWay(_)),
    };
    (is_reference && !has_another).then(|| name.clone())
}

/// Whether a reference to a parent declares the index.
fn is_of_parent(models: &Models, root: usize, collection: &Collection, index: &Index) -> bool {
    let Some(found) = index.keys.keys().next().and_then(|name| path(models, root, name)) else {
        return false;
    };
    let field = collection
        .root
        .fields
        .iter()
        .find(|field| field.name == found.member.stored);
    let declared = field.and_then(|field| of_children(collection, field, index));
    declared.is_some_and(|declared| declared == found.member.role)
}

/// The reference to a parent that declares an index: a unique one on it alone, or one that goes on with the order of the children.
pub fn of_children(collection: &Collection, reference: &Field, index: &Index) -> Option<Role> {
    let mut keys = index.keys.iter();
    let (first, direction) = keys.next()?;
    let order: Option<Vec<(String, bool)>> = keys
        .map(|(name, value)| {
            let is_field = collection.root.fields.iter().any(|field| field.name == *name);
            let direction = number_text(value);
            (is_field && matches!(direction.as_str(), "1" | "-1")).then(|| (name.clone(), direction == "-1"))
        })
        .collect();
    let order = order?;
    let names = index
        .keys
        .iter()
        .map(|(name, value)| format!("{name}_{}", number_text(value)));
    let is_plain = *first == reference.name
        && number(Some(direction)) == Some(1)
        && index.name == names.collect::<Vec<_>>().join("_")
        && options(index).next().is_none();
    let one = index.unique && order.is_empty() && !reference.is_optional();
    // The newest or greatest first: a combination of other fields says no order, and one with the id alone is that of copies.
    let is_sorted = order.iter().any(|(name, descending)| {
        let mut fields = collection.root.fields.iter();
        let is_date = fields.any(|field| field.name == *name && field.only_kind() == Some(Kind::Date));
        name != "_id" && (*descending || is_date)
    });
    let is_order = !index.unique && is_sorted;
    (is_plain && (one || is_order)).then_some(Role::Parent { one, order })
}

/// The options that say something.
fn options(index: &Index) -> impl Iterator<Item = (&String, &Bson)> {
    index.options.iter().filter(|(name, value)| {
        !matches!(
            name.as_str(),
            "v" | "ns"
                | "name"
                | "key"
                | "unique"
                | "background"
                | "textIndexVersion"
                | "2dsphereIndexVersion"
        ) && **value != Bson::Boolean(false)
    })
}

/// The option of `#[document(…)]` of an index, or why there is none.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn option(models: &Models, root: usize, index: &Index) -> Result<String, String> {
    let mut fields = Vec::new();
    let mut default_name = Vec::new();
    for (name, value) in &index.keys {
        default_name.push(match value {
            Bson::String(kind) => format!("{name}_{kind}"),
            other => format!("{name}_{}", number_text(other)),
        });
        match value {
            Bson::String(kind) if kind == "text" && name == "_fts" => {
                let weights = index
                    .options
                    .get_document("weights")
                    .map_err(|_| "its fields are not known".to_owned())?;
                for (name, weight) in weights {
                    fields.push(text_field(models, root, name, number(Some(weight)).unwrap_or(1))?);
                }
            }
            Bson::Int32(_) if name == "_ftsx" => {}
            Bson::String(kind) if kind == "text" => {
                let weight = index.options.get_document("weights").ok();
                let weight = weight.and_then(|weights| number(weights.get(name)));
                fields.push(text_field(models, root, name, weight.unwrap_or(1))?);
            }
            Bson::String(kind) if kind == "hashed" => {
                let found = declared(models, root, name)?;
                if found.through_array {
                    return Err("an array has no hashed index".to_owned());
                }
                fields.push(format!("hashed({})", found.rust));
            }
            Bson::String(kind) => {
                return Err(format!(
                    "`{kind}` needs a type of places, such as `odm::geo::Point`"
                ));
            }
            _ if name == "$**" => fields.push(String::new()),
            _ if name.ends_with(".$**") => {
                let found = declared(models, root, name.trim_end_matches(".$**"))?;
                fields.push(format!("wildcard({})", found.rust));
            }
            value => {
                let found = declared(models, root, name)?;
                if matches!(found.member.ty, Type::Named(at)
                    if models.types.get(at).is_some_and(|named| matches!(named.is, Is::Struct { .. } | Is::Around(_) | Is::Tagged { .. })))
                {
                    return Err(
                        "it is on a whole document, of which the order of the fields counts".to_owned(),
                    );
                }
                let minus = if number_text(value).starts_with('-') {
                    "-"
                } else {
                    ""
                };
                fields.push(format!("{minus}{}", found.rust));
            }
        }
    }
    let is_wildcard = fields.iter().any(String::is_empty);
    let mut out = match fields.as_slice() {
        [all] if all.is_empty() => "index(wildcard".to_owned(),
        _ if is_wildcard => return Err("a wildcard of all fields stands alone".to_owned()),
        fields => format!("index(fields({})", fields.join(", ")),
    };
    if index.unique {
        out.push_str(", unique");
    }
    let is_text = fields.iter().any(|field| field.starts_with("text("));
    let default_name = default_name.join("_");
    for (name, value) in options(index) {
        match (name.as_str(), value) {
            ("sparse", Bson::Boolean(true)) if !is_wildcard && !is_text => out.push_str(", sparse"),
            ("expireAfterSeconds", value) => {
                let after = number(Some(value)).filter(|after| *after <= 2_147_483_647);
                let after = after.ok_or_else(|| format!("documents would expire after {value} seconds"))?;
                let is_date = index.keys.keys().next().and_then(|name| path(models, root, name));
                if !is_date
                    .is_some_and(|found| found.member.ty == Type::Plain(Plain::Date) && index.keys.len() == 1)
                {
                    return Err("documents expire by a date".to_owned());
                }
                out.push_str(&format!(", expire_after = {}", digits(after)));
            }
            ("collation", Bson::Document(of)) => {
                if index.unique {
                    return Err("a unique index compares as its collection does".to_owned());
                }
                let text = collation(of).ok_or_else(|| format!("its collation is {of}"))?;
                out.push_str(&format!(", {text}"));
            }
            ("partialFilterExpression", Bson::Document(of)) if of.is_empty() => {
                return Err("its condition has values, which are left out".to_owned());
            }
            ("partialFilterExpression", Bson::Document(of)) => {
                let text = partial(models, root, of)
                    .ok_or_else(|| "its condition can't be written by the fields of the struct".to_owned())?;
                out.push_str(&format!(", partial = {text}"));
            }
            ("default_language", Bson::String(language)) if is_text => {
                if language != "english" {
                    out.push_str(&format!(", default_language = {language:?}"));
                }
            }
            ("language_override", Bson::String(field)) if is_text => {
                if field != "language" || has_field(models, root, "language") {
                    out.push_str(&format!(", language_override = {field:?}"));
                }
            }
            ("weights", _) if is_text => {}
            (name, value) => return Err(format!("the option `{name}: {value}` has no attribute")),
        }
    }
    let is_default = index.name == default_name || index.name.is_empty() || is_text;
    if !is_default {
        out.push_str(&format!(", name = {:?}", index.name));
    }
    Ok(out + ")")
}

fn has_field(models: &Models, root: usize, name: &str) -> bool {
    path(models, root, name).is_some()
}

fn number_text(value: &Bson) -> String {
    match value {
        Bson::Int32(n) => n.to_string(),
        Bson::Int64(n) => n.to_string(),
        Bson::Double(n) => format!("{n}"),
        other => other.to_string(),
    }
}

fn text_field(models: &Models, root: usize, name: &str, weight: u64) -> Result<String, String> {
    let found = declared(models, root, name)?;
    let is_text = match &found.member.ty {
        Type::Plain(Plain::String) => true,
        Type::List(many) => *many.item == Type::Plain(Plain::String),
        _ => false,
    };
    if !is_text {
        return Err(format!("`{name}` holds more than texts"));
    }
    let weight = match weight {
        1 => String::new(),
        weight => format!(", weight = {}", weight.clamp(1, 99_999)),
    };
    Ok(format!("text({}{weight})", found.rust))
}

fn declared<'m>(models: &'m Models, root: usize, name: &str) -> Result<Found<'m>, String> {
    path(models, root, name).ok_or_else(|| format!("`{name}` is no path of fields that the structs declare"))
}

/// A field that was found by its stored path.
pub struct Found<'m> {
    /// The path in Rust.
    pub rust: String,
    /// The field at its end.
    pub member: &'m Member,
    /// Whether the path leads through an array, or ends in one.
    pub through_array: bool,
}

/// The path in Rust of a stored one, as MongoDB writes it: without signs for arrays.
pub fn path<'m>(models: &'m Models, root: usize, stored: &str) -> Option<Found<'m>> {
    let mut at = root;
    let mut rust: Vec<&str> = Vec::new();
    let mut through_array = false;
    let mut parts = stored.split('.').peekable();
    while let Some(part) = parts.next() {
        let Is::Struct { fields, .. } = &models.types.get(at)?.is else {
            return None;
        };
        let member = fields.iter().find(|field| field.stored == part)?;
        rust.push(&member.rust);
        let mut ty = &member.ty;
        if let Type::List(many) = ty {
            through_array = true;
            ty = &many.item;
        }
        if parts.peek().is_none() {
            return Some(Found {
                rust: rust.join("."),
                member,
                through_array,
            });
        }
        // Neither a map nor a value that may be missing and null has paths.
        if member.presence.is_both() {
            return None;
        }
        let Type::Named(next) = ty else { return None };
        at = *next;
    }
    None
}

/// `collation(…)`, where it says all of these.
fn collation(of: &Document) -> Option<String> {
    let mut text = format!("collation(locale = {:?}", of.get_str("locale").ok()?);
    for (name, value) in of {
        match (name.as_str(), value) {
            ("locale" | "version", _) => {}
            ("strength", value) => match number(Some(value))? {
                3 => {}
                strength => text.push_str(&format!(", strength = {strength}")),
            },
            ("numericOrdering", Bson::Boolean(true)) => text.push_str(", numeric_ordering"),
            (_, Bson::Boolean(false)) => {}
            ("caseFirst", Bson::String(off)) if off == "off" => {}
            ("alternate", Bson::String(text)) if text == "non-ignorable" => {}
            ("maxVariable", Bson::String(text)) if text == "punct" => {}
            _ => return None,
        }
    }
    Some(text + ")")
}

/// The closure of a partial index.
fn partial(models: &Models, root: usize, of: &Document) -> Option<String> {
    let mut all = Vec::new();
    for (name, condition) in of {
        if name == "$and" {
            for one in condition.as_array()? {
                all.push(conditions(models, root, one.as_document()?)?);
            }
            continue;
        }
        let mut one = Document::new();
        one.insert(name, condition.clone());
        all.push(conditions(models, root, &one)?);
    }
    (!all.is_empty()).then(|| format!("|d| {}", all.join(" & ")))
}

fn conditions(models: &Models, root: usize, of: &Document) -> Option<String> {
    let mut all = Vec::new();
    for (name, condition) in of {
        let found = path(models, root, name)?;
        let rust = &found.rust;
        match condition {
            Bson::Document(operators) if operators.keys().any(|key| key.starts_with('$')) => {
                for (operator, value) in operators {
                    all.push(match (operator.as_str(), value) {
                        ("$exists", Bson::Boolean(true)) => format!("d.{rust}.exists(true)"),
                        ("$eq" | "$gt" | "$gte" | "$lt" | "$lte", value) => {
                            let value = literal(value, &found.member.ty)?;
                            format!("d.{rust}.{}({value})", operator.trim_start_matches('$'))
                        }
                        _ => return None,
                    });
                }
            }
            value => all.push(format!("d.{rust}.eq({})", literal(value, &found.member.ty)?)),
        }
    }
    (!all.is_empty()).then(|| all.join(" & "))
}

fn literal(value: &Bson, ty: &Type) -> Option<String> {
    let whole = match value {
        Bson::Int32(n) => Some(i64::from(*n)),
        Bson::Int64(n) => Some(*n),
        Bson::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
        _ => None,
    };
    match (value, ty) {
        (Bson::String(text), Type::Plain(Plain::String)) => Some(format!("{text:?}")),
        (Bson::Boolean(is), Type::Plain(Plain::Bool)) => Some(is.to_string()),
        (_, Type::Plain(Plain::I32)) => i32::try_from(whole?).ok().map(|n| n.to_string()),
        (_, Type::Plain(Plain::I64)) => whole.map(|n| n.to_string()),
        (_, Type::Plain(Plain::F64)) => match value {
            Bson::Double(n) if n.is_finite() => Some(format!("{n:?}")),
            _ => whole.map(|n| format!("{:?}", n as f64)),
        },
        _ => None,
    }
}

/// The name in Rust of the field that a reference holds the value of.
pub fn by<'m>(models: &'m Models, collection: usize, stored: &str) -> Option<(&'m str, Key)> {
    let member = models.field(collection, stored)?;
    let key = match member.ty {
        Type::Plain(plain) => Key::Plain(plain),
        Type::Helper(helper) => Key::Helper(helper),
        _ => return None,
    };
    Some((&member.rust, key))
}

//! Changes of a field that a document may lack: they begin with its default, which is what a reader sees.
//!
//! Where the update can be said as a pipeline, it fills the default and makes the change in one statement. An update that can't
//! (by the items of an array, or in MongoDB's own words) has another statement before it, which only fills.

use crate::model::shape::{FieldMeta, Shape};
use crate::model::{compare, default, shape};
use crate::plan::operators::computed::COMPUTE;
use mongodb::bson::{Bson, Document, doc};

/// A default that a change begins with where the field is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fill {
    /// The array in whose items the field is, and those in whose items that array is, the outer ones first.
    pub(crate) arrays: Vec<String>,
    /// The dotted name, within an item if there is an array.
    pub(crate) name: String,
    pub(crate) value: &'static Bson,
}

/// Those of the changes of a value of this shape, the outer ones first. A field that every document has is missing only in the one
/// that an upsert inserts.
pub(crate) fn all(shape: Shape, operators: &Document, upsert: bool) -> Vec<Fill> {
    let mut found: Vec<Fill> = Vec::new();
    for (operator, fields) in operators {
        let names = fields.as_document().into_iter().flatten();
        // A value that is set does not begin with a default; the struct that it is set in may.
        let begins = |name: &str| match operator.as_str() {
            "$setOnInsert" => false,
            "$set" | "$unset" | "$currentDate" | COMPUTE => name.contains('.'),
            _ => true,
        };
        for (name, value) in names.filter(|(name, _)| begins(name) && meets_default(shape, name, upsert)) {
            for step in steps(shape, name) {
                let default = default::of(step.field).filter(|_| upsert || !step.field.stored);
                let Some(default) = default else { continue };
                let is_needed = if step.is_last {
                    depends(operator, value, default)
                } else {
                    !is_empty(default)
                };
                let known = |fill: &Fill| fill.arrays == step.arrays && fill.name == step.name;
                if is_needed && !found.iter().any(known) {
                    found.push(Fill {
                        arrays: step.arrays,
                        name: step.name,
                        value: default,
                    });
                }
            }
        }
    }
    found.sort_by_key(|fill| fill.path().matches('.').count());
    found
}

/// Whether the outcome on the default differs from that on nothing.
pub(crate) fn depends(operator: &str, value: &Bson, default: &Bson) -> bool {
    match operator {
        "$set" | "$unset" | "$currentDate" | COMPUTE => false,
        "$inc" | "$mul" => !compare::same(default, &Bson::Int32(0)),
        "$min" | "$max" => !compare::same(default, value),
        _ => !is_empty(default),
    }
}

fn is_empty(value: &Bson) -> bool {
    match value {
        Bson::Array(items) => items.is_empty(),
        Bson::Document(fields) => fields.is_empty(),
        _ => false,
    }
}

/// A field on the way of a dotted name of an update.
struct StepOf {
    arrays: Vec<String>,
    name: String,
    field: &'static FieldMeta,
    is_last: bool,
}

/// Whether a field that this name leads through has a default.
fn meets_default(shape: Shape, name: &str, upsert: bool) -> bool {
    let mut shape = shape;
    for part in name.split('.') {
        let within = if part.starts_with("$[") {
            shape::items(shape)
        } else {
            match default::named(shape, part) {
                Some(field) if field.default.is_some() && (upsert || !field.stored) => return true,
                field => field.map(shape::of_field),
            }
        };
        match within {
            Some(within) => shape = within,
            None => return false,
        }
    }
    false
}

fn steps(shape: Shape, name: &str) -> Vec<StepOf> {
    let mut found: Vec<StepOf> = Vec::new();
    let (mut shape, mut arrays, mut above) = (shape, Vec::new(), String::new());
    for part in name.split('.') {
        if part.starts_with("$[") {
            let Some(items) = shape::items(shape) else { break };
            arrays.push(std::mem::take(&mut above));
            shape = items;
            continue;
        }
        let Some(field) = default::named(shape, part) else {
            break;
        };
        above = crate::plan::operators::joined_names(&above, part);
        found.push(StepOf {
            arrays: arrays.clone(),
            name: above.clone(),
            field,
            is_last: false,
        });
        shape = shape::of_field(field);
    }
    if let Some(last) = found.last_mut() {
        last.is_last = if last.arrays.is_empty() {
            name == last.name
        } else {
            name.ends_with(&format!("].{}", last.name))
        };
    }
    found
}

/// Whether the struct with this name is read as its default where it is missing, and never as `None`.
pub(crate) fn is_filled(shape: Shape, name: &str) -> bool {
    let last = steps(shape, name).pop();
    last.is_some_and(|step| {
        let is_option = shape::may_be_null(shape::of_field(step.field));
        step.is_last && !is_option && default::of(step.field).is_some_and(|default| !is_empty(default))
    })
}

/// A statement that fills one default and changes nothing else.
pub(crate) struct Filling {
    /// The documents that lack it.
    pub(crate) condition: Document,
    pub(crate) update: Document,
    pub(crate) array_filters: Vec<Document>,
}

impl Fill {
    /// Its dotted name in the document.
    pub(crate) fn path(&self) -> String {
        let mut path = self.arrays.join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path + &self.name
    }

    /// That it is missing where it could stand: within a struct that is there.
    fn missing(&self, prefix: &str) -> Document {
        let mut condition = doc! { format!("{prefix}{}", self.name): { "$exists": false } };
        if let Some((above, _)) = self.name.rsplit_once('.') {
            condition.insert(format!("{prefix}{above}"), doc! { "$type": "object" });
        }
        condition
    }

    /// The documents that lack it.
    pub(crate) fn condition(&self) -> Document {
        let arrays = self.arrays.iter().rev();
        arrays.fold(
            self.missing(""),
            |within, array| doc! { array: { "$elemMatch": within } },
        )
    }

    pub(crate) fn filling(&self) -> Filling {
        let (mut name, mut array_filters) = (String::new(), Vec::new());
        for (at, array) in self.arrays.iter().enumerate() {
            let item = format!("d{at}");
            name.push_str(&format!("{array}.$[{item}]."));
            array_filters.push(match self.arrays.get(at + 1) {
                Some(inner) => doc! { format!("{item}.{inner}"): { "$type": "array" } },
                None => self.missing(&format!("{item}.")),
            });
        }
        Filling {
            condition: self.condition(),
            update: doc! { "$set": { name + &self.name: self.value.clone() } },
            array_filters,
        }
    }
}

/// The defaults of all fields of a document that need not be there, the outer ones first: those of items of an array in it too,
/// but not those of what a type holds within itself.
pub(crate) fn declared(shape: Shape) -> Vec<Fill> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    collect(shape, None, "", &mut seen, &mut found);
    found
}

fn collect(
    shape: Shape,
    array: Option<&str>,
    above: &str,
    seen: &mut Vec<*const shape::StructShape>,
    found: &mut Vec<Fill>,
) {
    match shape {
        Shape::Optional(inner) => collect(inner(), array, above, seen, found),
        Shape::Bounded(inner) => collect(shape::of_field(inner), array, above, seen, found),
        // An array in the items of another one is left out.
        Shape::Array(items) if array.is_none() && !above.is_empty() => {
            collect(items(), Some(above), "", seen, found);
        }
        Shape::Struct(of) if !seen.contains(&std::ptr::from_ref(of)) => {
            seen.push(of);
            for field in of.fields {
                let name = if field.flatten {
                    above.to_owned()
                } else {
                    crate::plan::operators::joined_names(above, field.name)
                };
                // A field that serde skips by itself need not be there.
                // A derived field is filled from its source.
                let is_own = field.copied.is_none() && field.managed == shape::Managed::No;
                let default = default::of(field).filter(|_| is_own && !field.left_out && !field.flatten);
                found.extend(default.map(|value| Fill {
                    arrays: array.map(str::to_owned).into_iter().collect(),
                    name: name.clone(),
                    value,
                }));
                collect(shape::of_field(field), array, &name, seen, found);
            }
            seen.pop();
        }
        _ => {}
    }
}

fn stage(fill: &Fill) -> Document {
    let path = format!("${}", fill.name);
    let value = literal(fill.value);
    doc! { "$set": { &fill.name: { "$cond": [is_missing(&path), value, path] } } }
}

fn is_missing(path: &str) -> Document {
    doc! { "$eq": [{ "$type": path }, "missing"] }
}

fn literal(value: &Bson) -> Document {
    doc! { "$literal": value.clone() }
}

/// The update as a pipeline that fills first. `None` where it can't be said so.
///
/// `witness` is a field that is missing in a document which an upsert begins, and in no other one.
pub(crate) fn pipeline(
    update: &Document,
    fills: &[Fill],
    upsert: bool,
    witness: Option<&str>,
) -> Option<Vec<Document>> {
    if fills.iter().any(|fill| !fill.arrays.is_empty()) {
        return None;
    }
    let (mut set, mut unset) = (Document::new(), Vec::new());
    for (operator, fields) in update {
        for (name, value) in fields.as_document()? {
            if name.split('.').any(|part| part.starts_with('$')) {
                return None;
            }
            let path = format!("${name}");
            let expression = match operator.as_str() {
                "$set" => literal(value).into(),
                COMPUTE => value.clone(),
                "$currentDate" if *value == Bson::Boolean(true) => "$$NOW".into(),
                "$unset" => {
                    unset.push(Bson::String(name.clone()));
                    continue;
                }
                "$setOnInsert" if !upsert => continue,
                "$setOnInsert" => {
                    let is_new = is_missing(&format!("${}", witness?));
                    doc! { "$cond": [is_new, literal(value), path] }.into()
                }
                // Where the struct around it is missing, a pipeline would make one.
                "$pullAll" | "$pop" if name.contains('.') => return None,
                operator => changed(operator, &path, value)?,
            };
            set.insert(name, expression);
        }
    }
    let mut stages: Vec<Document> = fills.iter().map(stage).collect();
    if !set.is_empty() {
        stages.push(doc! { "$set": set });
    }
    if !unset.is_empty() {
        stages.push(doc! { "$unset": unset });
    }
    Some(stages)
}

/// The expression of an operator on the value at this path.
fn changed(operator: &str, path: &str, value: &Bson) -> Option<Bson> {
    let or = |nothing: Bson| doc! { "$ifNull": [path, nothing] };
    let list = || or(Bson::Array(Vec::new()));
    Some(Bson::Document(match operator {
        "$inc" => doc! { "$add": [or(Bson::Int32(0)), value.clone()] },
        "$mul" => doc! { "$multiply": [or(Bson::Int32(0)), value.clone()] },
        "$min" | "$max" => {
            let beyond = if operator == "$min" { "$lt" } else { "$gt" };
            let passes = doc! { beyond: [literal(value), path] };
            doc! { "$cond": [{ "$or": [is_missing(path), passes] }, literal(value), path] }
        }
        "$push" => doc! { "$concatArrays": [list(), literal(&Bson::Array(items(value)?))] },
        "$addToSet" => {
            let mut new: Vec<Bson> = Vec::new();
            for item in items(value)? {
                if !new.iter().any(|known| compare::same(known, &item)) {
                    new.push(item);
                }
            }
            let is_new = doc! { "$not": [{ "$in": ["$$this", list()] }] };
            let new = doc! { "$filter": { "input": literal(&new.into()), "cond": is_new } };
            doc! { "$concatArrays": [list(), new] }
        }
        "$pullAll" => {
            let stays = doc! { "$not": [{ "$in": ["$$this", literal(value)] }] };
            let kept = doc! { "$filter": { "input": path, "cond": stays } };
            doc! { "$cond": [{ "$isArray": path }, kept, path] }
        }
        "$pop" => {
            let size = || doc! { "$size": path };
            let kept = match value {
                Bson::Int32(-1) => doc! { "$slice": [path, 1, size()] },
                _ => doc! { "$slice": [path, 0, { "$subtract": [size(), 1] }] },
            };
            let kept = doc! { "$cond": [{ "$lte": [size(), 1] }, [], kept] };
            doc! { "$cond": [{ "$isArray": path }, kept, path] }
        }
        _ => return None,
    }))
}

/// The items of a push without a position.
fn items(value: &Bson) -> Option<Vec<Bson>> {
    match value {
        Bson::Document(each) if each.contains_key("$each") => match each.len() {
            1 => each.get_array("$each").ok().cloned(),
            _ => None,
        },
        one => Some(vec![one.clone()]),
    }
}

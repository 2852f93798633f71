//! Declared indexes that can't work on any server, or by which every document of the struct is refused: found by
//! [`Odm::new`](crate::Odm::new), which asks none.

use super::index::{Index, OVERRIDE};
use super::{language, partial};
use crate::model::deferred;
use crate::model::document::{DocumentMeta, IndexKind, IndexMeta};
use crate::model::meta::CheckRule;
use crate::model::meta::names::root;
use crate::model::shape::{Body, FieldMeta, MOST_WRAPPERS, Shape};
use mongodb::bson::Bson;

/// The declared indexes of a document that can't work, each in a sentence.
pub(crate) fn problems(meta: &DocumentMeta) -> Vec<String> {
    let mut problems = Vec::new();
    for declared in meta.indexes {
        let on = fields(declared);
        let index = format!("the index of `{}` on {on}", meta.name);
        problems.extend(filter(declared).map(|problem| format!("{index}: {problem}")));
        problems.extend(hashed(meta, declared).map(|problem| format!("{index} {problem}")));
        problems.extend(wildcards(meta, declared).map(|problem| format!("{index} {problem}")));
        problems.extend(places(meta, declared).map(|problem| format!("{index} {problem}")));
        problems.extend(wordless(meta, declared).map(|problem| format!("{index} {problem}")));
        problems.extend(on_id(declared).map(|problem| format!("{index} {problem}")));
        problems.extend(texts(meta, declared).map(|problem| format!("{index} {problem}")));
    }
    for check in meta.checks {
        if matches!(check.rule, CheckRule::Compare { .. }) && check.expression().is_none() {
            problems.push(format!(
                "`{}`: the check `{}` compares no fields with each other. Write expressions on both sides, \
                 `odm::expr::expr(o.ends).gt(odm::expr::expr(o.starts))`, joined by `&`, `|` and `!`; the bounds of one field are declared on it, and any \
                 other rule is a function: `#[document(check_with = is_valid)]`",
                meta.name, check.text
            ));
        }
        let used = check
            .expression()
            .and_then(|expression| deferred::names(meta).find(|name| reads(&expression, name)));
        if let Some(name) = used {
            problems.push(format!(
                "`{}`: the check `{}` needs `{name}`, which is a `Deferred`: a document that is written may not have its value. Leave it out \
                 of the check, or write another type than `Deferred`",
                meta.name, check.text
            ));
        }
    }
    problems
}

/// Whether an expression reads a field.
fn reads(expression: &Bson, field: &str) -> bool {
    match expression {
        Bson::String(text) => text.strip_prefix('$').is_some_and(|path| root(path) == field),
        Bson::Array(items) => items.iter().any(|item| reads(item, field)),
        Bson::Document(parts) => parts.values().any(|part| reads(part, field)),
        _ => false,
    }
}

/// `` `a`, `b` ``, as they are stored.
fn fields(index: &IndexMeta) -> String {
    let fields: Vec<String> = index
        .keys
        .iter()
        .map(|key| match (key.path)() {
            "" => "all fields".to_owned(),
            path => format!("`{path}`"),
        })
        .collect();
    fields.join(", ")
}

/// A filter that no server takes.
fn filter(declared: &IndexMeta) -> Option<String> {
    let filter = match Index::of(declared) {
        Ok(index) => index.partial?,
        Err(error) => return Some(format!("its filter can't be built: {error}")),
    };
    let refusal = partial::refusal(&filter)?;
    let of = match refusal.field.as_str() {
        "" => String::new(),
        field => format!(" of `{field}`"),
    };
    Some(format!(
        "no server takes {}{of} in the filter of a partial index, which is made of `eq`, `in_`, `all`, `gt`, `gte`, `lt`, `lte` and \
         `exists(true)`, joined by `&` and, from MongoDB 6.0 on, `|`. Write {}",
        refusal.operator, refusal.instead
    ))
}

/// A hashed index is created over an array without complaint, and then refuses every document that has one (code 16766).
fn hashed(meta: &DocumentMeta, declared: &IndexMeta) -> Option<String> {
    let hashed = declared.keys.iter().filter(|key| key.kind == IndexKind::Hashed);
    // Of a shard key the graph says that it takes no array.
    let is_of_shard_key = |path: &str| {
        let mut fields = meta.shard_key.iter().flat_map(|key| key.fields);
        fields.any(|field| field.hashed && field.path == path)
    };
    hashed.into_iter().find_map(|key| {
        let path = Some((key.path)()).filter(|path| !is_of_shard_key(path))?;
        let array = array_on(meta, path)?;
        Some(format!(
            "is hashed, and `{array}` is an array: MongoDB would refuse every document that has one. Declare it without `hashed`, or \
             on a field outside of the array"
        ))
    })
}

/// A wildcard index below a single value holds no more than a plain index on it, and never serves as one.
fn wildcards(meta: &DocumentMeta, declared: &IndexMeta) -> Option<String> {
    let below = declared.keys.iter().filter(|key| key.kind == IndexKind::Wildcard);
    below.into_iter().find_map(|key| {
        let path = (key.path)();
        let shape = (!path.is_empty()).then(|| walk(meta, path)).flatten()?;
        is_plain(unwrapped(shape)).then(|| {
            format!(
                "is a wildcard, and `{path}` is a single value with no fields below it: declare it without `wildcard`"
            )
        })
    })
}

/// A geospatial index is created over anything, and then refuses every document with something else than a place in the field
/// (code 16755).
fn places(meta: &DocumentMeta, declared: &IndexMeta) -> Option<String> {
    let geo = declared.keys.iter().filter(|key| key.kind == IndexKind::Geo);
    geo.into_iter().find_map(|key| {
        let path = (key.path)();
        let shape = unwrapped(walk(meta, path)?);
        // A pair of numbers is a place, too.
        let is_place = match shape {
            Shape::Array(item) | Shape::Fixed { items: item, .. } => !is_plain(unwrapped(item())) || is_number(unwrapped(item())),
            shape => !is_plain(shape),
        };
        (!is_place).then(|| {
            format!(
                "is geospatial, and `{path}` holds no places: MongoDB would refuse every document that has it. Declare the field as a \
                 `Point`, or the index without `geo`"
            )
        })
    })
}

/// A text index is created over anything, and holds nothing of a value that is no text.
fn wordless(meta: &DocumentMeta, declared: &IndexMeta) -> Option<String> {
    let is_text = |kind: &IndexKind| matches!(kind, IndexKind::Text { .. });
    declared.keys.iter().filter(|key| is_text(&key.kind)).find_map(|key| {
        let path = (key.path)();
        let shape = items(walk(meta, path)?);
        let has_none = is_plain(shape) && !matches!(shape, Shape::String | Shape::Char);
        has_none.then(|| {
            format!(
                "is of texts, and `{path}` holds none: a search would find nothing by it. Declare it on a `String`, or without `text`"
            )
        })
    })
}

/// Whether a value is neither a document nor an array.
fn is_plain(shape: Shape) -> bool {
    is_number(shape)
        || matches!(
            shape,
            Shape::Bool
                | Shape::String
                | Shape::Char
                | Shape::ObjectId
                | Shape::Date
                | Shape::Binary
                | Shape::Timestamp
                | Shape::Regex
        )
}

fn is_number(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::Int { .. } | Shape::Long { .. } | Shape::Double | Shape::Decimal
    )
}

/// The index on `_id` is there, ascending and unique, and takes no other form.
fn on_id(declared: &IndexMeta) -> Option<String> {
    let [key] = declared.keys else { return None };
    let sorted = matches!(key.kind, IndexKind::Ascending | IndexKind::Descending);
    let plain = key.kind == IndexKind::Ascending
        && !declared.unique
        && !declared.sparse
        && declared.expire_after.is_none()
        && !declared.is_partial()
        && declared.collation.is_none();
    ((key.path)() == "_id" && sorted && !plain).then(|| {
        "takes no options and no other direction: MongoDB has it for every collection, ascending and unique, and reads it from either \
         end. Leave it out"
            .to_owned()
    })
}

/// A text index takes the language of a document's texts from a field of it, `language` if nothing is declared: a document with
/// something else there is refused (codes 17261 and 17262).
fn texts(meta: &DocumentMeta, declared: &IndexMeta) -> Option<String> {
    let is_text = |kind: &IndexKind| matches!(kind, IndexKind::Text { .. });
    let texts = declared.keys.iter().filter(|key| is_text(&key.kind));
    if let Some(language) = declared
        .default_language
        .filter(|language| !language::is_known(language))
    {
        return Some(format!(
            "has the default language `{language}`, which MongoDB does not know. It knows {}",
            language::all()
        ));
    }
    let name = declared.language_override.unwrap_or(OVERRIDE);
    let mut found: Option<(String, &FieldMeta)> = None;
    for key in texts {
        let path = (key.path)();
        let mut begins = vec![0];
        begins.extend(path.match_indices('.').map(|(at, _)| at + 1));
        // Every document on the way is asked for its language, the outermost first.
        found = found.or_else(|| {
            begins.into_iter().find_map(|begin| {
                let within = match begin {
                    0 => (meta.shape)(),
                    begin => walk(meta, &path[..begin - 1])?,
                };
                let field = field(items(within), name, MOST_WRAPPERS)?;
                Some((format!("{}{name}", &path[..begin]), field))
            })
        });
    }
    let (at, field) = found?;
    if declared.language_override.is_none() {
        return Some(format!(
            "has texts, and MongoDB takes their language from the field `{at}`: it refuses every document in which that is no language \
             that it knows. Say from which field it is taken: `language_override = \"{OVERRIDE}\"` if it is this one, else a name that \
             no field has, such as `language_override = \"text_language\"`"
        ));
    }
    let why = not_a_language(field)?;
    Some(format!(
        "takes the language of its texts from the field `{at}`, which {why}: MongoDB would refuse such documents. Name a field with \
         languages in `language_override`, or one that no document has"
    ))
}

/// Why a field may hold something that is no language, as far as its type says.
fn not_a_language(field: &FieldMeta) -> Option<String> {
    let mut shape = stored(field);
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) if field.skips_none => shape = inner(),
            Shape::Optional(_) => {
                return Some(
                    "is stored as `null` where it is `None` (`#[field(skip_none)]` stores nothing)"
                        .to_owned(),
                );
            }
            Shape::Bounded(meta) if !meta.bounds.opaque => shape = (meta.shape)(),
            _ => break,
        }
    }
    match shape {
        Shape::String | Shape::Any => None,
        Shape::Enum(of) if of.variants.iter().all(|one| matches!(one.body, Body::Unit)) => {
            let unknown = of.variants.iter().find(|one| !language::is_known(one.name))?;
            Some(format!(
                "may be `{}`, which is none of {}",
                unknown.name,
                language::all()
            ))
        }
        _ => Some(format!("is a `{}`", field.ty)),
    }
}

fn stored(field: &FieldMeta) -> Shape {
    if field.bounds.opaque {
        Shape::Any
    } else {
        (field.shape)()
    }
}

/// Without the options, newtypes and arrays around a value.
fn items(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        match unwrapped(shape) {
            Shape::Array(item) | Shape::Fixed { items: item, .. } => shape = item(),
            other => return other,
        }
    }
    shape
}

fn unwrapped(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(meta) if !meta.bounds.opaque => shape = (meta.shape)(),
            other => return other,
        }
    }
    shape
}

/// The field of a struct with this stored name, also of one that is flattened into it.
fn field(shape: Shape, name: &str, left: u32) -> Option<&'static FieldMeta> {
    let Shape::Struct(shape) = shape else { return None };
    let own = shape
        .fields
        .iter()
        .find(|field| !field.flatten && field.name == name);
    own.or_else(|| {
        let mut flat = shape.fields.iter().filter(|field| field.flatten);
        flat.find_map(|inner| self::field(unwrapped(stored(inner)), name, left.checked_sub(1)?))
    })
}

/// The shape of what is stored at a dotted name.
fn walk(meta: &DocumentMeta, path: &str) -> Option<Shape> {
    path.split('.').try_fold((meta.shape)(), |shape, name| {
        field(items(shape), name, MOST_WRAPPERS).map(stored)
    })
}

/// The first array on the way to a field, or the field if it is one.
pub(super) fn array_on<'p>(meta: &DocumentMeta, path: &'p str) -> Option<&'p str> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).find(|path| {
        let shape = walk(meta, path).map(unwrapped);
        matches!(
            shape,
            Some(Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_))
        )
    })
}

#[cfg(test)]
#[path = "declared_tests.rs"]
mod tests;

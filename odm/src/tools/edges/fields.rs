//! The fields of a document with their types and bounds, as a diagram shows them.

use crate::model::document::DocumentMeta;
use crate::model::meta::bucket::{BucketMeta, ROOM, VERSION};
use crate::model::shape::{Body, Bounds, EnumShape, FieldMeta, Managed, Shape, StructShape, of_field};
use crate::tools::edges::FieldNode;

/// The variants of an enum are named where they are no more characters than this; else the enum is.
const VARIANTS: usize = 24;

/// The fields of a document, in their order.
pub(super) fn fields(meta: &DocumentMeta) -> Vec<FieldNode> {
    let mut nodes = of_struct(meta.fields(), &mut Vec::new());
    if let Some(bucket) = meta.bucket {
        let summaries = summaries(bucket);
        for node in &mut nodes {
            node.by_library |= summaries.contains(&node.name.as_str());
        }
    }
    nodes
}

/// The fields of a bucket that the library counts, sums and numbers.
fn summaries(bucket: &BucketMeta) -> Vec<&'static str> {
    let times = bucket.time.iter().flat_map(|time| [time.first, time.last]);
    let mut names = vec![bucket.page, bucket.count, ROOM, VERSION];
    names.extend(bucket.period.iter().map(|period| period.start));
    names.extend(times);
    names.extend(bucket.sums.iter().map(|sum| sum.name));
    names
}

/// The text of a type, and the fields of the struct that it is or holds.
struct Text {
    base: String,
    /// Behind the `?` of an optional value: ` ≤ 10`.
    bound: String,
    fields: Vec<FieldNode>,
}

impl Text {
    fn of(base: impl Into<String>) -> Text {
        Text {
            base: base.into(),
            bound: String::new(),
            fields: Vec::new(),
        }
    }

    fn whole(&self) -> String {
        format!("{}{}", self.base, self.bound)
    }
}

fn of_struct(fields: &'static [FieldMeta], within: &mut Vec<&'static str>) -> Vec<FieldNode> {
    let mut nodes = Vec::new();
    for field in fields {
        let text = of_value(of_field(field), &field.bounds, within);
        if field.flatten && !text.fields.is_empty() {
            nodes.extend(text.fields);
            continue;
        }
        nodes.push(FieldNode {
            // Fields that are not declared by name have none.
            name: if field.flatten { "…" } else { field.name }.to_owned(),
            shape: text.whole(),
            by_library: field.copied.is_some()
                || matches!(
                    field.managed,
                    Managed::CreatedAt | Managed::UpdatedAt | Managed::Version | Managed::DeletedAt
                ),
            fields: text.fields,
        });
    }
    nodes
}

fn of_value(shape: Shape, bounds: &Bounds, within: &mut Vec<&'static str>) -> Text {
    let mut text = match shape {
        Shape::Any => Text::of("any"),
        Shape::Null => Text::of("null"),
        Shape::Bool => Text::of("bool"),
        Shape::Int { .. } => number("int", bounds),
        Shape::Long { .. } => number("long", bounds),
        Shape::Double => number("double", bounds),
        Shape::Decimal => number("decimal", bounds),
        Shape::String | Shape::Char => long("string", bounds),
        Shape::ObjectId => Text::of("ObjectId"),
        Shape::Date => Text::of("date"),
        Shape::Binary => long("binary", bounds),
        Shape::Uuid => Text::of("uuid"),
        Shape::Timestamp => Text::of("timestamp"),
        Shape::Regex => Text::of("regex"),
        Shape::Optional(inner) => {
            let mut text = of_value(inner(), bounds, within);
            if !text.base.ends_with('?') {
                text.base.push('?');
            }
            return text;
        }
        Shape::Array(items) => {
            let items = of_value(items(), &of_items(bounds), within);
            Text {
                base: format!("[{}]", items.whole()),
                fields: items.fields,
                bound: at_most(bounds.max_items),
            }
        }
        Shape::Fixed { items, len } => {
            let items = of_value(items(), &of_items(bounds), within);
            Text {
                base: format!("[{}; {len}]", items.whole()),
                fields: items.fields,
                bound: String::new(),
            }
        }
        Shape::Tuple(items) => {
            let items = items.iter().map(|item| of_value(item(), &Bounds::NONE, within));
            let items: Vec<String> = items.map(|item| item.whole()).collect();
            Text::of(format!("[{}]", items.join(", ")))
        }
        Shape::Map(values) => {
            let values = of_value(values(), &of_items(bounds), within);
            Text {
                base: format!("{{key: {}}}", values.whole()),
                fields: values.fields,
                bound: at_most(bounds.max_items),
            }
        }
        // A newtype that contains itself is drawn once.
        Shape::Bounded(field) if within.contains(&field.ty) => Text::of(field.ty),
        Shape::Bounded(field) => {
            let own = *bounds == Bounds::NONE;
            within.push(field.ty);
            let text = of_value(of_field(field), if own { &field.bounds } else { bounds }, within);
            within.pop();
            return text;
        }
        Shape::Struct(shape) => of_named(shape, within),
        Shape::Enum(shape) => Text::of(of_enum(shape)),
    };
    if let Some(depth) = bounds.depth {
        text.bound.push_str(&format!(", {depth} deep"));
    }
    text
}

/// The bounds of an array that are those of its items.
fn of_items(bounds: &Bounds) -> Bounds {
    Bounds {
        max_items: None,
        depth: None,
        key_len: None,
        ..*bounds
    }
}

fn of_named(shape: &'static StructShape, within: &mut Vec<&'static str>) -> Text {
    let mut text = Text::of(shape.name);
    // A struct that contains itself is drawn once.
    if !within.contains(&shape.identity()) {
        within.push(shape.identity());
        text.fields = of_struct(shape.fields, within);
        within.pop();
    }
    text
}

fn of_enum(shape: &EnumShape) -> String {
    let names: Vec<&str> = shape.variants.iter().map(|variant| variant.name).collect();
    let names = names.join(" | ");
    let plain = shape
        .variants
        .iter()
        .all(|variant| matches!(variant.body, Body::Unit));
    if plain && names.chars().count() <= VARIANTS {
        names
    } else {
        shape.name.to_owned()
    }
}

fn number(name: &str, bounds: &Bounds) -> Text {
    Text {
        bound: match (&bounds.min, &bounds.max) {
            (Some(min), Some(max)) => format!(" {min}..{max}"),
            (Some(min), None) => format!(" ≥ {min}"),
            (None, Some(max)) => format!(" ≤ {max}"),
            (None, None) => String::new(),
        },
        ..Text::of(name)
    }
}

fn long(name: &str, bounds: &Bounds) -> Text {
    Text {
        bound: at_most(bounds.max_len),
        ..Text::of(name)
    }
}

fn at_most(bound: Option<u64>) -> String {
    bound.map(|bound| format!(" ≤ {bound}")).unwrap_or_default()
}

//! Looks into the shape of a stored value: what stands at a name, and behind options and newtypes.

pub use crate::error::violation::Number;
pub use crate::model::meta::{
    Access, Body, Bounds, EnumShape, FieldMeta, Managed, Shape, ShapeFn, StructShape, Tagging, VariantMeta,
};

/// Maximum number of options and newtypes around a value that are unwrapped: no sensible type has more, and a type may contain
/// itself.
pub(crate) const MOST_WRAPPERS: u32 = 32;

impl StructShape {
    /// What tells its type from others, of which some have the same name.
    pub(crate) fn identity(&self) -> &'static str {
        self.ty.map_or(self.name, |ty| ty())
    }
}

impl EnumShape {
    /// What tells its type from others, of which some have the same name.
    pub(crate) fn identity(&self) -> &'static str {
        self.ty.map_or(self.name, |ty| ty())
    }
}

/// The name of a type with those of its parameters, `Row_Address` of `Row<Address>`: all of its types have the same one in Rust.
pub(crate) fn full_name(name: &str, ty: Option<fn() -> &'static str>) -> String {
    let ty = ty.map_or("", |ty| ty());
    let mut depth = 0;
    let opening = ty.char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == '>') - i32::from(*c == '<');
        depth == 0
    });
    let parameters = opening.and_then(|(at, _)| ty.get(at..));
    let parameters = parameters
        .filter(|text| text.starts_with('<'))
        .unwrap_or_default();
    let parameters = parameters.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let parameters = parameters.filter_map(|path| path.rsplit(':').next().filter(|part| !part.is_empty()));
    parameters.fold(name.to_owned(), |name, parameter| format!("{name}_{parameter}"))
}

/// The names that a value brings into the document in which it stands.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Its own: those of its fields with their aliases, of a tag.
    pub own: &'static [&'static str],
    /// Those of what stands in it without a name: of flattened structs, or of an enum's variants.
    pub within: &'static [Names],
}

impl Names {
    /// No names: the value stands under one.
    pub const NONE: Names = Names {
        own: &[],
        within: &[],
    };

    /// Whether this name is among them.
    pub const fn has(&self, name: &str) -> bool {
        let mut i = 0;
        while i < self.own.len() {
            if same(self.own[i], name) {
                return true;
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.within.len() {
            if self.within[i].has(name) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// The first of them that the others have too.
    pub const fn shared(&self, others: &Names) -> Option<&'static str> {
        let mut i = 0;
        while i < self.own.len() {
            if others.has(self.own[i]) {
                return Some(self.own[i]);
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.within.len() {
            if let Some(name) = self.within[i].shared(others) {
                return Some(name);
            }
            i += 1;
        }
        None
    }
}

/// The shape of the field with this dotted name, if all on the way to it is declared.
pub(crate) fn shape_at(shape: Shape, name: &str) -> Option<Shape> {
    let mut shape = shape;
    for part in name.split('.').filter(|part| !part.is_empty()) {
        shape = within(shape, part)?.shape;
    }
    Some(shape)
}

/// The value under a name of a struct or a map.
#[derive(Clone, Copy)]
pub(crate) struct ShapeWithin {
    pub(crate) shape: Shape,
    /// Whether a document is read that lacks it.
    pub(crate) may_miss: bool,
}

impl From<&FieldMeta> for ShapeWithin {
    fn from(field: &FieldMeta) -> ShapeWithin {
        let shape = of_field(field);
        ShapeWithin {
            shape,
            may_miss: !field.required || may_be_null(shape),
        }
    }
}

/// The value under this name.
pub(crate) fn within(shape: Shape, name: &str) -> Option<ShapeWithin> {
    find(shape, name, 0)
}

fn find(shape: Shape, name: &str, depth: u32) -> Option<ShapeWithin> {
    if depth > MOST_WRAPPERS {
        return None;
    }
    match shape {
        Shape::Optional(inner) => find(inner(), name, depth + 1),
        Shape::Bounded(meta) => find(of_field(meta), name, depth + 1),
        Shape::Map(values) => Some(ShapeWithin {
            shape: values(),
            may_miss: true,
        }),
        Shape::Struct(shape) => {
            let named = shape
                .fields
                .iter()
                .find(|field| !field.flatten && field.name == name);
            named.map(ShapeWithin::from).or_else(|| {
                let mut flat = shape.fields.iter().filter(|field| field.flatten);
                flat.find_map(|inner| find(of_field(inner), name, depth + 1))
            })
        }
        _ => None,
    }
}

/// The shape within options and newtypes.
pub(crate) fn inner(mut shape: Shape) -> Shape {
    for _ in 0..MOST_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(field) => of_field(field),
            shape => return shape,
        };
    }
    Shape::Any
}

/// The shape of a field's value, as far as it is known.
pub(crate) fn of_field(field: &FieldMeta) -> Shape {
    if field.bounds.opaque {
        Shape::Any
    } else {
        (field.shape)()
    }
}

/// Whether the value itself is an option.
pub(crate) fn may_be_null(shape: Shape) -> bool {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Bounded(inner) => shape = of_field(inner),
            shape => return matches!(shape, Shape::Optional(_)),
        }
    }
    false
}

/// The shape of the items of an array, however it is wrapped.
pub(crate) fn items(shape: Shape) -> Option<Shape> {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Bounded(inner) => shape = of_field(inner),
            Shape::Optional(inner) => shape = inner(),
            Shape::Array(items) => return Some(items()),
            _ => return None,
        }
    }
    None
}

/// Whether two texts are the same, in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

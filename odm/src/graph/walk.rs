//! The walk through the shape of a document that finds its references, the copies beside them, and what is derived in it.

use crate::graph::edge::{CopyField, Segment, path};
use crate::model::copy::{Copied, EntryMeta, FieldCopy};
use crate::model::document::DocumentMeta;
use crate::model::reference::ReferenceMeta;
use crate::model::shape::{Body, EnumShape, FieldMeta, Shape, StructShape, Tagging};
use std::collections::{BTreeMap, HashSet};

/// The same type is met so often on one way into a type before it counts as recursive: a generic type may stand inside
/// itself without being so.
const RECURSIVE: usize = 3;

/// A reference on the way of the walk.
pub(crate) struct DeclaredReference {
    pub(crate) path: String,
    pub(crate) segments: Vec<Segment>,
    pub(crate) field: &'static FieldMeta,
    pub(crate) reference: &'static ReferenceMeta,
    pub(crate) max: Option<u64>,
    pub(crate) max_items: Option<u64>,
    /// The types that it stands in.
    pub(crate) within: Vec<WalkedType>,
    pub(crate) copies: Vec<CopyField>,
}

/// A type: its name, and what tells it from others of that name.
type WalkedType = (&'static str, &'static str);

pub(crate) struct ModelWalk {
    meta: &'static DocumentMeta,
    pub(crate) found: Vec<DeclaredReference>,
    /// The paths of values that are no references.
    plain: HashSet<String>,
    /// The paths of copies, with that of the reference that each is taken through.
    copied: BTreeMap<String, String>,
    /// The types that the walk is in.
    types: Vec<WalkedType>,
    recursive: HashSet<WalkedType>,
    /// Fields that are derived from children.
    pub(crate) derived: Vec<&'static FieldMeta>,
    /// The paths of fields that change often.
    pub(crate) volatile: Vec<String>,
    pub(crate) problems: Vec<String>,
}

/// Where the walk is.
#[derive(Clone, Default)]
struct Surroundings {
    segments: Vec<Segment>,
    /// How many items the array may have that it is, or that it is an item of.
    max_items: Option<u64>,
    /// The map that it stands in.
    map: Option<String>,
    /// The array whose items are arrays themselves.
    nested: Option<String>,
    /// The tuple that it stands in.
    tuple: Option<String>,
    /// The enclosing field that is also read from other names: its path, and one of these names.
    alias: Option<(String, &'static str)>,
    /// The field's declaration of the reference in it, where it is a reference with copies beside it.
    entry: Option<&'static EntryMeta>,
    /// The declaration of the enclosing field about it, if it is that reference.
    declared: Option<&'static ReferenceMeta>,
}

impl Surroundings {
    fn path(&self) -> String {
        path(&self.segments)
    }

    fn below(&self, name: &str) -> Surroundings {
        let mut below = self.clone();
        let is_item = self.segments.last().is_some_and(|last| last.array);
        below.max_items = self.max_items.filter(|_| is_item);
        below.entry = None;
        below.declared = self
            .entry
            .filter(|entry| entry.id == name)
            .map(|entry| &entry.reference);
        below.segments.push(Segment {
            name: name.to_owned(),
            array: false,
        });
        below
    }

    /// Notes that what stands here is read from these names too.
    fn read_as(&mut self, aliases: &'static [&'static str]) {
        if let (None, Some(alias)) = (&self.alias, aliases.first()) {
            self.alias = Some((self.path(), alias));
        }
    }

    /// In the items of an array.
    fn items(&self) -> Surroundings {
        let mut items = self.clone();
        match items.segments.last_mut() {
            Some(last) if !last.array => last.array = true,
            _ => items.nested = Some(self.path()),
        }
        items
    }
}

impl ModelWalk {
    pub(crate) fn new(meta: &'static DocumentMeta) -> ModelWalk {
        ModelWalk {
            meta,
            found: Vec::new(),
            plain: HashSet::new(),
            copied: BTreeMap::new(),
            types: Vec::new(),
            recursive: HashSet::new(),
            derived: Vec::new(),
            volatile: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub(crate) fn document(&mut self) {
        self.shape(self.meta.whole(), &Surroundings::default());
        let recursive = std::mem::take(&mut self.recursive);
        let mut named = HashSet::new();
        self.found.retain(|found| {
            let Some((name, _)) = found.within.iter().find(|ty| recursive.contains(*ty)) else {
                return true;
            };
            if named.insert((*name, found.field.rust)) {
                self.problems.push(format!(
                    "`{}.{}` is a reference in `{name}`, which contains itself: no query reaches all its levels; keep \
                     the references in the document",
                    self.meta.name, found.path
                ));
            }
            false
        });
        for found in &self.found {
            if self.plain.contains(&found.path) {
                self.problems.push(format!(
                    "`{}.{}` is a reference in one variant and another value in another one: give the fields different \
                     names",
                    self.meta.name, found.path
                ));
            }
        }
        self.check_copies();
    }

    /// Where a struct has no such reference, what stands there is no copy: it would be emptied with the reference.
    fn check_copies(&mut self) {
        for path in self.copied.keys() {
            let below = format!("{path}.");
            let is_there = |plain: &String| plain == path || plain.starts_with(&below);
            let is_reference = self.found.iter().any(|found| found.path == *path);
            if is_reference || self.plain.iter().any(is_there) {
                self.problems.push(format!(
                    "`{}.{path}` is a copy in one variant and another value in another one: give the fields different \
                     names",
                    self.meta.name
                ));
            }
        }
    }

    fn shape(&mut self, shape: Shape, around: &Surroundings) {
        match shape {
            Shape::Optional(inner) => self.shape(inner(), around),
            Shape::Array(items) | Shape::Fixed { items, .. } => self.shape(items(), &around.items()),
            Shape::Tuple(items) => self.positions(around, items.iter().map(|item| PathPart::Shape(item()))),
            Shape::Map(values) => {
                let inside = Surroundings {
                    map: Some(around.path()),
                    ..around.below("$*")
                };
                self.shape(values(), &inside);
            }
            Shape::Bounded(field) => self.value(field, around),
            Shape::Struct(shape) => {
                self.within((shape.name, shape.identity()), |walk| walk.fields(shape, around));
            }
            Shape::Enum(shape) => {
                self.within((shape.name, shape.identity()), |walk| {
                    walk.variants(shape, around)
                });
            }
            _ => {
                self.plain.insert(around.path());
            }
        }
    }

    fn within(&mut self, ty: WalkedType, look: impl FnOnce(&mut ModelWalk)) {
        if self.types.iter().filter(|other| **other == ty).count() >= RECURSIVE {
            let first = self
                .types
                .iter()
                .position(|other| *other == ty)
                .unwrap_or_default();
            self.recursive.extend(self.types.iter().skip(first).copied());
            return;
        }
        self.types.push(ty);
        look(self);
        self.types.pop();
    }

    fn fields(&mut self, shape: &StructShape, around: &Surroundings) {
        for field in shape.fields {
            if field.flatten {
                self.value(field, around)
            } else {
                self.value(field, &around.below(field.name))
            }
            if field.volatile {
                self.volatile.push(around.below(field.name).path());
            }
        }
        for field in shape.fields {
            if let Some(Copied::Field(copy)) = field.copied {
                self.copy(field, copy, around);
            }
        }
    }

    /// A copy belongs to the reference beside it.
    fn copy(&mut self, field: &'static FieldMeta, copy: &'static FieldCopy, around: &Surroundings) {
        let (name, path) = (around.below(field.name).path(), around.below(copy.through).path());
        if let Some(tuple) = &around.tuple {
            return self.problems.push(format!(
                "`{}.{name}` is a copy in the tuple `{tuple}`, whose parts have no names to be updated by: use a struct",
                self.meta.name
            ));
        }
        match self.copied.get(&name) {
            Some(other) if *other != path => self.problems.push(format!(
                "`{}.{name}` is copied through `{path}` in one variant and through `{other}` in another one: give the \
                 fields different names",
                self.meta.name
            )),
            _ => drop(self.copied.insert(name.clone(), path.clone())),
        }
        let Some(found) = self.found.iter_mut().find(|found| found.path == path) else {
            return self.problems.push(format!(
                "`{}.{name}` is copied through `{path}`, which is no reference",
                self.meta.name
            ));
        };
        let source = (copy.source)();
        match found.copies.iter().find(|known| known.name == field.name) {
            Some(known) if known.source != source => self.problems.push(format!(
                "`{}.{name}` is a copy of `{source}` in one variant and of `{}` in another one: give the fields different \
                 names",
                self.meta.name, known.source
            )),
            Some(_) => {}
            None => found.copies.push(CopyField {
                name: field.name,
                source,
                consistency: copy.consistency,
                required: field.required,
            }),
        }
    }

    /// The parts of a tuple are found by their positions.
    fn positions(&mut self, around: &Surroundings, parts: impl Iterator<Item = PathPart>) {
        for (at, part) in parts.enumerate() {
            let mut at = Surroundings {
                tuple: Some(around.path()),
                ..around.below(&at.to_string())
            };
            if around.segments.last().is_none_or(|last| last.array) {
                at.nested = Some(around.path());
            }
            match part {
                PathPart::Shape(shape) => self.shape(shape, &at),
                PathPart::Field(field) => self.value(field, &at),
            }
        }
    }

    fn variants(&mut self, shape: &EnumShape, around: &Surroundings) {
        for variant in shape.variants {
            let around = match shape.tagging {
                Tagging::External => around.below(variant.name),
                Tagging::Internal(_) | Tagging::Untagged => around.clone(),
                Tagging::Adjacent(_, content) => around.below(content),
            };
            match variant.body {
                Body::Unit => {}
                Body::Newtype(field) => self.value(field, &around),
                Body::Tuple(fields) => self.positions(&around, fields.iter().map(PathPart::Field)),
                Body::Struct(shape) => self.fields(shape, &around),
            }
        }
    }

    /// The value of a field.
    fn value(&mut self, field: &'static FieldMeta, around: &Surroundings) {
        if field.bounds.opaque {
            if !matches!(field.copied, Some(Copied::Field(_))) {
                self.plain.insert(around.path());
            }
            return;
        }
        if let Some(Copied::Subset(_) | Copied::Computed(_)) = field.copied {
            match around.segments.len() {
                1 => self.derived.push(field),
                _ => self.problems.push(format!(
                    "`{}.{}` is derived from children, which only a field of the document itself can be",
                    self.meta.name,
                    around.path()
                )),
            }
            return;
        }
        match (field.reference, field.copied) {
            (Some(reference), _) => self.reference(field, reference, around),
            (None, Some(Copied::Field(_))) => {
                let plain = self.plain.clone();
                self.shape((field.shape)(), around);
                self.plain = plain;
            }
            (None, _) => {
                let mut around = around.clone();
                around.max_items = field.bounds.max_items.or(around.max_items);
                around.read_as(field.aliases);
                around.entry = field.entry.or(around.entry);
                self.shape((field.shape)(), &around);
            }
        }
    }

    fn reference(
        &mut self,
        field: &'static FieldMeta,
        reference: &'static ReferenceMeta,
        around: &Surroundings,
    ) {
        let list = is_list((field.shape)());
        let around = if list { around.items() } else { around.clone() };
        let name = format!("{}.{}", self.meta.name, around.path());
        if let Some(map) = &around.map {
            return self.problems.push(format!(
                "`{name}` is a reference in the map `{map}`: no query and no index reaches the values of all keys; use an \
                 array of structs with a field for the key"
            ));
        }
        if let Some(array) = &around.nested {
            return self.problems.push(format!(
                "`{name}` is a reference in an array inside the array `{array}`: no query steps through both; use an array \
                 of structs"
            ));
        }
        if let Some((embedded, alias)) = &around.alias {
            return self.problems.push(format!(
                "`{name}` is a reference in `{embedded}`, which is read from `{alias}` too: joins, checks, `on_delete` and `audit` \
                 would pass over a document that has it under that name; leave `#[serde(alias)]` out, and rename the field in \
                 the stored documents first"
            ));
        }
        let found = DeclaredReference {
            path: around.path(),
            segments: around.segments,
            field,
            reference: around.declared.unwrap_or(reference),
            max: field.bounds.max_items,
            max_items: around.max_items,
            within: self.types.clone(),
            copies: Vec::new(),
        };
        match self.found.iter().find(|other| other.path == found.path) {
            // Several variants of an enum may hold the same reference.
            Some(other) if same(other, &found) => {}
            Some(_) => self.problems.push(format!(
                "`{name}` is declared as two different references, in two variants: give the fields different names, or \
                 declare both alike"
            )),
            None => self.found.push(found),
        }
    }
}

enum PathPart {
    Shape(Shape),
    Field(&'static FieldMeta),
}

fn same(a: &DeclaredReference, b: &DeclaredReference) -> bool {
    let (x, y) = (a.reference, b.reference);
    let tags = |reference: &ReferenceMeta| -> Vec<(&str, &str)> {
        let targets = reference.targets.iter();
        targets
            .map(|target| (target.tag, (target.document)().collection))
            .collect()
    };
    a.segments == b.segments
        && (a.max, a.max_items) == (b.max, b.max_items)
        && tags(x) == tags(y)
        && (x.by)() == (y.by)()
        && (
            x.kind,
            x.union,
            x.optional,
            x.inverse,
            x.one,
            x.check,
            x.index,
            x.on_delete,
        ) == (
            y.kind,
            y.union,
            y.optional,
            y.inverse,
            y.one,
            y.check,
            y.index,
            y.on_delete,
        )
}

/// The stored shape of one reference, inside options, newtypes and the array.
fn is_list(mut shape: Shape) -> bool {
    for _ in 0..32 {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(field) => (field.shape)(),
            Shape::Array(_) | Shape::Fixed { .. } => return true,
            _ => return false,
        };
    }
    false
}

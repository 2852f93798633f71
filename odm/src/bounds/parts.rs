//! The parts of structs and enums.

use super::at::{At, Owned, key_rule};
use super::shapes::{MAX_WRAPPERS, claims, get, holds_enum, may_be, named, position, tagged};
use super::walk::Walk;
use crate::model::shape::{Body, Bounds, EnumShape, FieldMeta, Shape, StructShape, Tagging};
use crate::{Rule, Violation};
use mongodb::bson::spec::ElementType;
use mongodb::bson::{RawBsonRef, RawDocument};
use std::collections::HashSet;

/// Whether any value of this BSON type is one that the field may have: most fields are a string without a length or a
/// number without a range, whose value then need not be read.
fn fits(field: &FieldMeta, kind: ElementType) -> bool {
    let bounds = &field.bounds;
    let shape = match (field.shape)() {
        Shape::Optional(_) if kind == ElementType::Null && !bounds.opaque => return true,
        Shape::Optional(inner) => inner(),
        shape => shape,
    };
    let any_length = bounds.min_len.is_none() && bounds.max_len.is_none();
    let any_number = bounds.min.is_none() && bounds.max.is_none();
    if bounds.rules.is_some() {
        return false;
    }
    match (shape, kind) {
        (Shape::String, ElementType::String) => any_length,
        (
            Shape::Int {
                min: i32::MIN,
                max: i32::MAX,
            },
            ElementType::Int32,
        ) => any_number,
        (
            Shape::Long {
                min: i64::MIN,
                max: i64::MAX,
            },
            ElementType::Int64,
        ) => any_number,
        (Shape::Double, ElementType::Double) => any_number,
        (Shape::Bool, ElementType::Boolean)
        | (Shape::ObjectId, ElementType::ObjectId)
        | (Shape::Date, ElementType::DateTime) => true,
        _ => false,
    }
}

/// Whether the field is read as `None` where it is missing: an `Option` by another name.
fn may_miss(field: &FieldMeta) -> bool {
    matches!((field.shape)(), Shape::Optional(_))
}

impl Walk {
    /// The fields of a struct.
    pub(super) fn fields(&mut self, shape: &StructShape, doc: &RawDocument, owned: Owned, at: &At<'_>) {
        let fields = shape.fields;
        let flattens = fields.iter().any(|field| field.flatten);
        let shows_more = fields.iter().any(FieldMeta::is_extra);
        let mut names: HashSet<&str> = HashSet::new();
        let mut seen = SeenParts::default();
        let mut next = 0;
        for element in doc.iter_elements().map_while(|element| element.ok()) {
            if self.full() {
                return;
            }
            let name = element.key().as_str();
            if shows_more && !names.insert(name) {
                self.twice(&At::Name(at, name));
            }
            // serde writes the fields in their declared order, so the next one is nearly always the right one.
            let found = match fields.get(next) {
                Some(field) if field.name == name && !field.flatten => Some(next),
                _ => position(fields, name),
            };
            let Some(i) = found else {
                match owned {
                    _ if shows_more => {
                        if let Some(rule) = key_rule(&Bounds::NONE, name) {
                            self.broken(at, rule, None);
                        }
                    }
                    _ if flattens => {}
                    Owned::Own => {}
                    Owned::But(tag) if tag == name => {}
                    _ if shape.deny_unknown => self.broken(&At::Name(at, name), Rule::Unknown, None),
                    _ => {
                        if let Ok(value) = element.value() {
                            self.opaque(value, &At::Name(at, name));
                        }
                    }
                }
                continue;
            };
            next = i + 1;
            // Under an old name, beside the one that it has.
            if shows_more && seen.contains(i) && names.contains(fields[i].name) {
                self.twice(&At::Name(at, name));
            }
            seen.insert(i);
            if fits(&fields[i], element.element_type()) {
                continue;
            }
            if let Ok(value) = element.value() {
                let field = &fields[i];
                self.bounded(field.shape, &field.bounds, false, value, &At::Name(at, name));
            }
        }
        for (i, field) in fields.iter().enumerate() {
            if field.flatten {
                self.flattened(shape, field, doc, owned, at);
            // A copy is filled in by the library, after this.
            } else if field.required && field.copied.is_none() && !seen.contains(i) && !may_miss(field) {
                self.broken(&At::Name(at, field.name), Rule::Required, None);
            }
        }
    }

    /// The field for undeclared fields holds a declared name.
    fn twice(&mut self, at: &At<'_>) {
        let rule = "that a declared field is none of those in `extra`: the document would hold it twice";
        self.broken(at, Rule::Other(rule.to_owned()), None);
    }

    /// A field whose parts stand among those of its parent.
    pub(super) fn flattened(
        &mut self,
        parent: &StructShape,
        field: &FieldMeta,
        doc: &RawDocument,
        owned: Owned,
        at: &At<'_>,
    ) {
        let mut shape = (field.shape)();
        let (mut bounds, mut optional) = (&field.bounds, false);
        for _ in 0..MAX_WRAPPERS {
            match shape {
                Shape::Optional(inner) => (shape, optional) = (inner(), true),
                Shape::Bounded(meta) => (shape, bounds) = ((meta.shape)(), &meta.bounds),
                _ => break,
            }
        }
        match shape {
            Shape::Struct(inner) if self.wrappers < MAX_WRAPPERS => {
                let there = |field: &FieldMeta| !field.flatten && get(doc, field.name).is_some();
                if !optional || inner.fields.iter().any(there) {
                    self.wrappers += 1;
                    self.fields(inner, doc, Owned::Own, at);
                    self.wrappers -= 1;
                }
            }
            Shape::Enum(inner) if self.wrappers < MAX_WRAPPERS => {
                self.wrappers += 1;
                self.in_place(inner, doc, at);
                self.wrappers -= 1;
            }
            // A map takes what the others leave. Where the others are not known here, nothing can be said.
            Shape::Map(values) if !matches!(owned, Owned::Own) && !parent.fields.iter().any(holds_enum) => {
                let tag = match owned {
                    Owned::But(tag) => Some(tag),
                    _ => None,
                };
                let belongs = |name: &str| Some(name) != tag && !claims(parent, name, 0);
                self.entries(values, bounds, doc, belongs, at);
            }
            _ => {}
        }
    }

    /// One of several variants.
    pub(super) fn variant(
        &mut self,
        shape: &'static EnumShape,
        nullable: bool,
        value: RawBsonRef<'_>,
        at: &At<'_>,
    ) {
        let declared = Shape::Enum(shape);
        match (shape.tagging, value) {
            (Tagging::Untagged, _) if self.wrappers < MAX_WRAPPERS => {
                self.wrappers += 1;
                self.untagged(shape, value, at);
                self.wrappers -= 1;
            }
            (Tagging::Untagged, _) => {}
            (Tagging::External, RawBsonRef::String(_)) => {}
            (_, RawBsonRef::Document(doc)) => {
                self.descend(at, |walk| walk.in_place(shape, doc, at));
            }
            _ => self.wrong_type(declared, nullable, value, at),
        }
    }

    /// The variant that a document holds. One that is not declared is not looked into.
    pub(super) fn in_place(&mut self, shape: &EnumShape, doc: &RawDocument, at: &At<'_>) {
        match shape.tagging {
            Tagging::External => {
                for element in doc.iter_elements().map_while(|element| element.ok()) {
                    let name = element.key().as_str();
                    if let (Some(variant), Ok(value)) = (named(shape, name), element.value()) {
                        return self.body(&variant.body, value, &At::Name(at, name));
                    }
                }
            }
            Tagging::Internal(tag) => match tagged(shape, doc, tag).map(|variant| &variant.body) {
                Some(Body::Struct(inner)) => self.fields(inner, doc, Owned::But(tag), at),
                Some(Body::Newtype(field)) => self.content_in_place(field, doc, tag, at),
                _ => {}
            },
            Tagging::Adjacent(tag, content) => {
                match tagged(shape, doc, tag).map(|variant| (&variant.body, get(doc, content))) {
                    Some((body, Some(value))) => self.body(body, value, &At::Name(at, content)),
                    Some((Body::Unit, None)) | None => {}
                    Some((Body::Newtype(field), None)) if may_miss(field) => {}
                    Some((_, None)) => self.broken(&At::Name(at, content), Rule::Required, None),
                }
            }
            Tagging::Untagged => {}
        }
    }

    /// The content of an internally tagged newtype variant: its fields stand beside the tag.
    pub(super) fn content_in_place(
        &mut self,
        field: &FieldMeta,
        doc: &RawDocument,
        tag: &'static str,
        at: &At<'_>,
    ) {
        if field.bounds.opaque || self.wrappers > MAX_WRAPPERS {
            return self.elements(doc, at);
        }
        let opened = self.open(field.shape, &field.bounds);
        self.wrappers += 1;
        match (field.shape)() {
            Shape::Struct(inner) => {
                let ty = (inner.name, inner.fields.len());
                if self.enter(ty, at) {
                    self.fields(inner, doc, Owned::But(tag), at);
                    self.leave(ty);
                }
            }
            Shape::Enum(inner) => self.in_place(inner, doc, at),
            Shape::Bounded(inner) => self.content_in_place(inner, doc, tag, at),
            Shape::Map(values) => self.entries(values, &field.bounds, doc, |name| name != tag, at),
            _ => {}
        }
        self.wrappers -= 1;
        if opened {
            self.open.pop();
        }
    }

    pub(super) fn body(&mut self, body: &Body, value: RawBsonRef<'_>, at: &At<'_>) {
        match (body, value) {
            (Body::Unit, _) => {}
            (Body::Newtype(field), _) => self.bounded(field.shape, &field.bounds, false, value, at),
            (Body::Tuple(fields), RawBsonRef::Array(array)) => {
                let count = self.items(array, at, |walk, i, value, at| {
                    if let Some(field) = fields.get(i) {
                        walk.bounded(field.shape, &field.bounds, false, value, at);
                    }
                });
                self.exactly(fields.len(), count, at);
            }
            (Body::Tuple(_), _) => self.broken(at, Rule::Type(vec!["array".to_owned()]), Some(value)),
            (Body::Struct(shape), RawBsonRef::Document(doc)) => {
                self.descend(at, |walk| walk.fields(shape, doc, Owned::All, at));
            }
            (Body::Struct(_), _) => self.broken(at, Rule::Type(vec!["object".to_owned()]), Some(value)),
        }
    }

    /// A variant without a mark: one that fits, or else the one that fits best.
    pub(super) fn untagged(&mut self, shape: &EnumShape, value: RawBsonRef<'_>, at: &At<'_>) {
        let before = self.violations.len();
        let mut best: Option<Vec<Violation>> = None;
        let mut tried = false;
        for variant in shape
            .variants
            .iter()
            .filter(|variant| may_be(&variant.body, value))
        {
            tried = true;
            self.body(&variant.body, value, at);
            let found = self.violations.split_off(before);
            if found.is_empty() {
                return;
            }
            if best.as_ref().is_none_or(|best| found.len() < best.len()) {
                best = Some(found);
            }
        }
        self.violations.extend(best.unwrap_or_default());
        if !tried {
            self.opaque(value, at);
        }
    }
}

/// The positions of the fields that were there.
#[derive(Default)]
struct SeenParts {
    first: u128,
    more: Vec<u128>,
}

impl SeenParts {
    fn insert(&mut self, i: usize) {
        match i / 128 {
            0 => self.first |= 1 << i,
            word => {
                if self.more.len() < word {
                    self.more.resize(word, 0);
                }
                self.more[word - 1] |= 1 << (i % 128);
            }
        }
    }

    fn contains(&self, i: usize) -> bool {
        let word = match i / 128 {
            0 => self.first,
            word => self.more.get(word - 1).copied().unwrap_or(0),
        };
        word >> (i % 128) & 1 == 1
    }
}

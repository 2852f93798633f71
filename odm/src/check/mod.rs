//! Finds broken rules before the network: walks the encoded document once along its shape.
//!
//! A value that fits costs no allocation: the walk reads the raw bytes and keeps its path on the stack. All violations are
//! collected, so that a form can show them together.

mod number;
#[cfg(test)]
mod tests;

use crate::document::DocumentMeta;
use crate::shape::{
    Body, Bounds, EnumShape, FieldMeta, Number, Shape, ShapeFn, StructShape, Tagging, VariantMeta,
};
use crate::size::MAX_DOCUMENT_SIZE;
use crate::{Error, Result, Rule, Violation};
use mongodb::bson::{Bson, RawBsonRef, RawDocument};

/// How many violations are collected: enough for a form, little enough for a log.
const MOST: usize = 100;

/// MongoDB's limit for the nesting of a document.
const MAX_LEVELS: u32 = 100;

/// How many wrappers (options, newtypes) may stand around one value: more is a shape that refers to nothing but itself.
const MAX_WRAPPERS: u32 = 64;

/// Refuses a whole document that MongoDB or one of its declared rules would refuse.
pub(crate) fn document(meta: &DocumentMeta, doc: &RawDocument) -> Result<()> {
    let size = doc.as_bytes().len() as u64;
    if size > MAX_DOCUMENT_SIZE {
        return Err(Error::TooLarge {
            collection: meta.collection.to_owned(),
            size: Some(size),
            largest: largest(doc),
            source: None,
        });
    }
    let mut walk = Walk::default();
    let root = At::Root("");
    walk.id(doc, &root);
    match (meta.shape)() {
        Shape::Struct(shape) => walk.fields(shape, doc, Owned::All, &root),
        Shape::Enum(shape) => walk.variant(shape, false, RawBsonRef::Document(doc), &root),
        _ => walk.elements(doc, &root),
    }
    if walk.violations.is_empty() {
        return Ok(());
    }
    Err(Error::Invalid {
        collection: meta.collection.to_owned(),
        violations: walk.violations,
        source: None,
    })
}

/// Checks what an update stores in a field at `path`.
pub(crate) fn value(
    _collection: &str,
    path: &str,
    field: &FieldMeta,
    value: RawBsonRef<'_>,
    violations: &mut Vec<Violation>,
) {
    let mut walk = Walk::below(path, violations);
    walk.bounded(field.shape, &field.bounds, false, value, &At::Root(path));
    *violations = walk.violations;
}

/// Checks one item that an update adds to the array at `path`, or the value of one entry of the map there.
pub(crate) fn item(
    _collection: &str,
    path: &str,
    field: &FieldMeta,
    value: RawBsonRef<'_>,
    violations: &mut Vec<Violation>,
) {
    let mut walk = Walk::below(path, violations);
    walk.level += 1;
    walk.item(field.shape, &field.bounds, value, &At::Root(path));
    *violations = walk.violations;
}

/// The rule that a key of the field's map breaks.
pub(crate) fn key(field: &FieldMeta, key: &str) -> Option<Rule> {
    let mut shape = (field.shape)();
    let mut bounds = &field.bounds;
    for _ in 0..MAX_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(meta) => (shape, bounds) = ((meta.shape)(), &meta.bounds),
            _ => break,
        }
    }
    key_rule(bounds, key)
}

fn key_rule(bounds: &Bounds, key: &str) -> Option<Rule> {
    if key.is_empty() || key.starts_with('$') || key.contains(['.', '\0']) {
        return Some(Rule::Key(key.to_owned()));
    }
    bounds
        .key_len
        .filter(|max| longer(key, *max))
        .map(Rule::KeyLength)
}

/// Up to five fields of a document with their sizes, the largest first.
fn largest(doc: &RawDocument) -> Vec<(String, u64)> {
    let mut sizes: Vec<_> = doc
        .iter_elements()
        .map_while(|element| element.ok())
        .map(|element| {
            let name = element.key().as_str();
            (name.to_owned(), (2 + name.len() + element.size()) as u64)
        })
        .collect();
    sizes.sort_by(|a, b| b.1.cmp(&a.1));
    sizes.truncate(5);
    sizes
}

/// Where the walk is; made a string only for a violation.
enum At<'a> {
    Root(&'a str),
    Name(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    fn path(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let part: &str = match self {
            At::Root(path) => path,
            At::Name(parent, name) => {
                parent.write(out);
                name
            }
            At::Item(parent, index) => {
                parent.write(out);
                &index.to_string()
            }
        };
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(part);
    }
}

/// Which names of a document a struct answers for.
#[derive(Clone, Copy)]
enum Owned {
    /// All of them.
    All,
    /// All but the tag of its enum.
    But(&'static str),
    /// Its own only: it is flattened into a document with others.
    Own,
}

/// A field with a declared depth that the walk is below of.
struct Open {
    /// The type that may be nested in itself: its name and the number of its parts.
    ty: (&'static str, usize),
    depth: u32,
    /// How many more levels there may be.
    left: u32,
}

#[derive(Default)]
struct Walk {
    violations: Vec<Violation>,
    /// How many documents and arrays the walk is in, without the outermost document.
    level: u32,
    wrappers: u32,
    open: Vec<Open>,
}

impl Walk {
    fn below(path: &str, violations: &mut Vec<Violation>) -> Walk {
        Walk {
            violations: std::mem::take(violations),
            level: path.matches('.').count() as u32,
            ..Walk::default()
        }
    }

    fn full(&self) -> bool {
        self.violations.len() >= MOST
    }

    fn broken(&mut self, at: &At<'_>, rule: Rule, value: Option<RawBsonRef<'_>>) {
        if !self.full() {
            self.violations
                .push(Violation::new(at.path(), rule, value.and_then(small)));
        }
    }

    /// MongoDB's rules for `_id`.
    fn id(&mut self, doc: &RawDocument, at: &At<'_>) {
        let Some(id) = get(doc, "_id") else { return };
        let kind = match id {
            RawBsonRef::Array(_) => "an array",
            RawBsonRef::RegularExpression(_) => "a regular expression",
            RawBsonRef::Undefined => "undefined",
            RawBsonRef::Document(id) => {
                let at = At::Name(at, "_id");
                for element in id.iter_elements().map_while(|element| element.ok()) {
                    let name = element.key().as_str();
                    if name.starts_with('$') {
                        self.broken(&at, Rule::Key(name.to_owned()), None);
                    }
                }
                return;
            }
            _ => return,
        };
        self.broken(
            &At::Name(at, "_id"),
            Rule::Other(format!("that `_id` may not be {kind}")),
            None,
        );
    }

    /// A value under the bounds of a field.
    fn bounded(
        &mut self,
        shape: ShapeFn,
        bounds: &Bounds,
        nullable: bool,
        value: RawBsonRef<'_>,
        at: &At<'_>,
    ) {
        if bounds.opaque {
            return self.opaque(value, at);
        }
        let opened = self.open(shape, bounds);
        self.value(shape(), bounds, nullable, value, at);
        if opened {
            self.open.pop();
        }
    }

    /// An item of the array, or a value of the map, that a field holds.
    fn item(&mut self, shape: ShapeFn, bounds: &Bounds, value: RawBsonRef<'_>, at: &At<'_>) {
        if bounds.opaque || self.wrappers > MAX_WRAPPERS {
            return self.opaque(value, at);
        }
        let opened = self.open(shape, bounds);
        self.wrappers += 1;
        match shape() {
            Shape::Optional(inner) => self.item(
                inner,
                &Bounds {
                    depth: None,
                    ..*bounds
                },
                value,
                at,
            ),
            Shape::Bounded(meta) => self.item(meta.shape, &meta.bounds, value, at),
            Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => {
                self.value(items(), bounds, false, value, at);
            }
            _ => self.opaque(value, at),
        }
        self.wrappers -= 1;
        if opened {
            self.open.pop();
        }
    }

    /// Starts counting the levels below a field with a depth.
    fn open(&mut self, shape: ShapeFn, bounds: &Bounds) -> bool {
        let Some(depth) = bounds.depth else { return false };
        let Some(ty) = target(shape()) else { return false };
        self.open.push(Open {
            ty,
            depth,
            left: depth,
        });
        true
    }

    /// Counts a level of a type; a level too many is a violation, and not looked into.
    fn enter(&mut self, ty: (&'static str, usize), at: &At<'_>) -> bool {
        let ended = self.open.iter().find(|open| open.ty == ty && open.left == 0);
        if let Some(depth) = ended.map(|open| open.depth) {
            self.broken(at, Rule::Depth(depth), None);
            return false;
        }
        for open in self.open.iter_mut().filter(|open| open.ty == ty) {
            open.left -= 1;
        }
        true
    }

    fn leave(&mut self, ty: (&'static str, usize)) {
        for open in self.open.iter_mut().filter(|open| open.ty == ty) {
            open.left += 1;
        }
    }

    /// Counts a document or an array; one too deep for MongoDB is a violation, and not looked into.
    fn descend(&mut self, at: &At<'_>) -> bool {
        if self.level >= MAX_LEVELS {
            self.broken(at, Rule::Depth(MAX_LEVELS), None);
            return false;
        }
        self.level += 1;
        true
    }

    fn value(&mut self, shape: Shape, bounds: &Bounds, nullable: bool, value: RawBsonRef<'_>, at: &At<'_>) {
        match (shape, value) {
            (Shape::Any, _) => self.opaque(value, at),
            (Shape::Optional(_), RawBsonRef::Null) => {}
            (Shape::Optional(inner), _) => {
                if self.wrappers < MAX_WRAPPERS {
                    self.wrappers += 1;
                    self.value(inner(), bounds, true, value, at);
                    self.wrappers -= 1;
                }
            }
            (_, RawBsonRef::Null) if nullable => {}
            (Shape::Bounded(meta), _) => {
                if self.wrappers < MAX_WRAPPERS {
                    self.wrappers += 1;
                    match tightened(&meta.bounds, bounds) {
                        Some(both) => self.bounded(meta.shape, &both, nullable, value, at),
                        None => self.bounded(meta.shape, &meta.bounds, nullable, value, at),
                    }
                    self.wrappers -= 1;
                }
            }
            (Shape::Null, RawBsonRef::Null)
            | (Shape::Bool, RawBsonRef::Boolean(_))
            | (Shape::ObjectId, RawBsonRef::ObjectId(_))
            | (Shape::Date, RawBsonRef::DateTime(_))
            | (Shape::Timestamp, RawBsonRef::Timestamp(_))
            | (Shape::Regex, RawBsonRef::RegularExpression(_)) => {}
            (Shape::Int { min, max }, RawBsonRef::Int32(_)) => {
                self.number(value, bounds, Some((min.into(), max.into())), at);
            }
            (Shape::Long { min, max }, RawBsonRef::Int32(_) | RawBsonRef::Int64(_)) => {
                self.number(value, bounds, Some((min, max)), at);
            }
            (Shape::Double, RawBsonRef::Double(_) | RawBsonRef::Int32(_) | RawBsonRef::Int64(_))
            | (Shape::Decimal, RawBsonRef::Decimal128(_)) => self.number(value, bounds, None, at),
            (Shape::String, RawBsonRef::String(text)) => self.text(text, bounds.min_len, bounds.max_len, at),
            (Shape::Char, RawBsonRef::String(text)) => self.text(text, Some(1), Some(1), at),
            (Shape::Binary, RawBsonRef::Binary(binary)) => {
                let len = binary.bytes.len() as u64;
                self.length(bounds, |max| len > max, |min| len < min, value, at);
            }
            (Shape::Array(items), RawBsonRef::Array(array)) => {
                if !self.descend(at) {
                    return;
                }
                let mut count = 0;
                for (i, element) in array
                    .iter_elements()
                    .map_while(|element| element.ok())
                    .enumerate()
                {
                    count = i as u64 + 1;
                    if let Ok(value) = element.value() {
                        self.value(items(), bounds, false, value, &At::Item(at, i));
                    }
                }
                self.level -= 1;
                self.count(bounds, count, at);
            }
            (Shape::Fixed { items, len }, RawBsonRef::Array(array)) => {
                if !self.descend(at) {
                    return;
                }
                let mut count = 0;
                for (i, element) in array
                    .iter_elements()
                    .map_while(|element| element.ok())
                    .enumerate()
                {
                    count = i + 1;
                    if let Ok(value) = element.value() {
                        self.value(items(), bounds, false, value, &At::Item(at, i));
                    }
                }
                self.level -= 1;
                if count != len {
                    self.broken(at, Rule::Items(len as u64), None);
                }
            }
            (Shape::Tuple(items), RawBsonRef::Array(array)) => {
                if !self.descend(at) {
                    return;
                }
                let mut count = 0;
                for (i, element) in array
                    .iter_elements()
                    .map_while(|element| element.ok())
                    .enumerate()
                {
                    count = i + 1;
                    if let (Ok(value), Some(item)) = (element.value(), items.get(i)) {
                        self.value(item(), bounds, false, value, &At::Item(at, i));
                    }
                }
                self.level -= 1;
                if count != items.len() {
                    self.broken(at, Rule::Items(items.len() as u64), None);
                }
            }
            (Shape::Map(values), RawBsonRef::Document(doc)) => {
                if self.descend(at) {
                    self.entries(values, bounds, doc, |_| true, at);
                    self.level -= 1;
                }
            }
            (Shape::Struct(shape), RawBsonRef::Document(doc)) => {
                let ty = (shape.name, shape.fields.len());
                if self.enter(ty, at) {
                    if self.descend(at) {
                        self.fields(shape, doc, Owned::All, at);
                        self.level -= 1;
                    }
                    self.leave(ty);
                }
            }
            (Shape::Enum(shape), _) => {
                let ty = (shape.name, shape.variants.len());
                if self.enter(ty, at) {
                    self.variant(shape, nullable, value, at);
                    self.leave(ty);
                }
            }
            _ => self.wrong_type(shape, nullable, value, at),
        }
    }

    fn wrong_type(&mut self, shape: Shape, nullable: bool, value: RawBsonRef<'_>, at: &At<'_>) {
        let mut names: Vec<String> = types(shape).iter().map(|name| (*name).to_owned()).collect();
        if nullable {
            names.push("null".to_owned());
        }
        self.broken(at, Rule::Type(names), Some(value));
    }

    fn number(&mut self, value: RawBsonRef<'_>, bounds: &Bounds, of_type: Option<(i64, i64)>, at: &At<'_>) {
        if bounds.min.is_none() && bounds.max.is_none() && of_type.is_none() {
            return;
        }
        let Some(n) = number::of(value) else { return };
        let range = of_type.map(|(min, max)| (Number::Int(min), Number::Int(max)));
        // The declared bound first: it is what the reader of the message can look up.
        for min in [bounds.min, range.map(|r| r.0)].into_iter().flatten() {
            if !number::at_least(n, min) {
                return self.broken(at, Rule::Min(min), Some(value));
            }
        }
        for max in [bounds.max, range.map(|r| r.1)].into_iter().flatten() {
            if !number::at_least(max, n) {
                return self.broken(at, Rule::Max(max), Some(value));
            }
        }
    }

    fn text(&mut self, text: &str, min: Option<u64>, max: Option<u64>, at: &At<'_>) {
        let bounds = Bounds {
            min_len: min,
            max_len: max,
            ..Bounds::NONE
        };
        let shorter = |min: u64| (text.len() as u64) < min || !longer(text, min.saturating_sub(1)) && min > 0;
        self.length(
            &bounds,
            |max| longer(text, max),
            shorter,
            RawBsonRef::String(text),
            at,
        );
    }

    fn length(
        &mut self,
        bounds: &Bounds,
        longer: impl Fn(u64) -> bool,
        shorter: impl Fn(u64) -> bool,
        value: RawBsonRef<'_>,
        at: &At<'_>,
    ) {
        if let Some(max) = bounds.max_len.filter(|max| longer(*max)) {
            self.broken(at, Rule::MaxLength(max), Some(value));
        }
        if let Some(min) = bounds.min_len.filter(|min| shorter(*min)) {
            self.broken(at, Rule::MinLength(min), Some(value));
        }
    }

    fn count(&mut self, bounds: &Bounds, count: u64, at: &At<'_>) {
        if let Some(max) = bounds.max_items.filter(|max| count > *max) {
            self.broken(at, Rule::MaxItems(max), None);
        }
    }

    /// The entries of a map.
    fn entries(
        &mut self,
        values: ShapeFn,
        bounds: &Bounds,
        doc: &RawDocument,
        belongs: impl Fn(&str) -> bool,
        at: &At<'_>,
    ) {
        let mut count = 0;
        for element in doc.iter_elements().map_while(|element| element.ok()) {
            let name = element.key().as_str();
            if !belongs(name) {
                continue;
            }
            count += 1;
            if let Some(rule) = key_rule(bounds, name) {
                self.broken(at, rule, Some(RawBsonRef::String(name)));
            }
            if let Ok(value) = element.value() {
                self.value(values(), bounds, false, value, &At::Name(at, name));
            }
        }
        self.count(bounds, count, at);
    }

    /// The fields of a struct.
    fn fields(&mut self, shape: &StructShape, doc: &RawDocument, owned: Owned, at: &At<'_>) {
        let fields = shape.fields;
        let flattens = fields.iter().any(|field| field.flatten);
        let mut seen = Seen::default();
        let mut next = 0;
        for element in doc.iter_elements().map_while(|element| element.ok()) {
            if self.full() {
                return;
            }
            let name = element.key().as_str();
            // serde writes the fields in their declared order, so the next one is nearly always the right one.
            let found = match fields.get(next) {
                Some(field) if field.name == name && !field.flatten => Some(next),
                _ => position(fields, name),
            };
            let Some(i) = found else {
                match owned {
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
            seen.insert(i);
            if let Ok(value) = element.value() {
                let field = &fields[i];
                self.bounded(field.shape, &field.bounds, false, value, &At::Name(at, name));
            }
        }
        for (i, field) in fields.iter().enumerate() {
            if field.flatten {
                self.flattened(shape, field, doc, owned, at);
            } else if field.required && !seen.contains(i) {
                self.broken(&At::Name(at, field.name), Rule::Required, None);
            }
        }
    }

    /// A field whose parts stand among those of its parent.
    fn flattened(
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
    fn variant(&mut self, shape: &'static EnumShape, nullable: bool, value: RawBsonRef<'_>, at: &At<'_>) {
        let declared = Shape::Enum(shape);
        match (shape.tagging, value) {
            (Tagging::Untagged, _) => self.untagged(shape, value, at),
            (Tagging::External, RawBsonRef::String(_)) => {}
            (_, RawBsonRef::Document(doc)) => {
                if self.descend(at) {
                    self.in_place(shape, doc, at);
                    self.level -= 1;
                }
            }
            _ => self.wrong_type(declared, nullable, value, at),
        }
    }

    /// The variant that a document holds. One that is not declared is not looked into.
    fn in_place(&mut self, shape: &EnumShape, doc: &RawDocument, at: &At<'_>) {
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
                if let (Some(variant), Some(value)) = (tagged(shape, doc, tag), get(doc, content)) {
                    self.body(&variant.body, value, &At::Name(at, content));
                }
            }
            Tagging::Untagged => {}
        }
    }

    /// The content of an internally tagged newtype variant: its fields stand beside the tag.
    fn content_in_place(&mut self, field: &FieldMeta, doc: &RawDocument, tag: &'static str, at: &At<'_>) {
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

    fn body(&mut self, body: &Body, value: RawBsonRef<'_>, at: &At<'_>) {
        match (body, value) {
            (Body::Unit, _) => {}
            (Body::Newtype(field), _) => self.bounded(field.shape, &field.bounds, false, value, at),
            (Body::Tuple(fields), RawBsonRef::Array(array)) => {
                if !self.descend(at) {
                    return;
                }
                let mut count = 0;
                for (i, element) in array
                    .iter_elements()
                    .map_while(|element| element.ok())
                    .enumerate()
                {
                    count = i + 1;
                    if let (Ok(value), Some(field)) = (element.value(), fields.get(i)) {
                        self.bounded(field.shape, &field.bounds, false, value, &At::Item(at, i));
                    }
                }
                self.level -= 1;
                if count != fields.len() {
                    self.broken(at, Rule::Items(fields.len() as u64), None);
                }
            }
            (Body::Tuple(_), _) => self.broken(at, Rule::Type(vec!["array".to_owned()]), Some(value)),
            (Body::Struct(shape), RawBsonRef::Document(doc)) => {
                if self.descend(at) {
                    self.fields(shape, doc, Owned::All, at);
                    self.level -= 1;
                }
            }
            (Body::Struct(_), _) => self.broken(at, Rule::Type(vec!["object".to_owned()]), Some(value)),
        }
    }

    /// A variant without a mark: one that fits, or else the one that fits best.
    fn untagged(&mut self, shape: &EnumShape, value: RawBsonRef<'_>, at: &At<'_>) {
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

    /// A value of any shape: only its nesting is counted.
    fn opaque(&mut self, value: RawBsonRef<'_>, at: &At<'_>) {
        match value {
            RawBsonRef::Document(doc) if self.descend(at) => {
                self.elements(doc, at);
                self.level -= 1;
            }
            RawBsonRef::Array(array) if self.descend(at) => {
                for (i, element) in array
                    .iter_elements()
                    .map_while(|element| element.ok())
                    .enumerate()
                {
                    if let Ok(value @ (RawBsonRef::Document(_) | RawBsonRef::Array(_))) = element.value() {
                        self.opaque(value, &At::Item(at, i));
                    }
                }
                self.level -= 1;
            }
            _ => {}
        }
    }

    fn elements(&mut self, doc: &RawDocument, at: &At<'_>) {
        for element in doc.iter_elements().map_while(|element| element.ok()) {
            if let Ok(value @ (RawBsonRef::Document(_) | RawBsonRef::Array(_))) = element.value() {
                self.opaque(value, &At::Name(at, element.key().as_str()));
            }
        }
    }
}

/// The positions of the fields that were there.
#[derive(Default)]
struct Seen {
    first: u128,
    more: Vec<u128>,
}

impl Seen {
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

/// Whether a string has more than `max` code points. The bytes answer first: a code point takes one to four.
fn longer(text: &str, max: u64) -> bool {
    text.len() as u64 > max
        && (text.len() as u64 > max.saturating_mul(4) || text.chars().count() as u64 > max)
}

/// A value to show in a message; `None` for those that may be large.
fn small(value: RawBsonRef<'_>) -> Option<Bson> {
    match value {
        RawBsonRef::Document(_) | RawBsonRef::Array(_) | RawBsonRef::Binary(_) => None,
        RawBsonRef::String(text) if text.len() > 200 => None,
        _ => Bson::try_from(value).ok(),
    }
}

fn get<'a>(doc: &'a RawDocument, name: &str) -> Option<RawBsonRef<'a>> {
    doc.get(name).ok().flatten()
}

fn position(fields: &[FieldMeta], name: &str) -> Option<usize> {
    let by_name = |field: &FieldMeta| !field.flatten && field.name == name;
    let by_alias = |field: &FieldMeta| !field.flatten && field.aliases.contains(&name);
    fields
        .iter()
        .position(by_name)
        .or_else(|| fields.iter().position(by_alias))
}

fn named<'a>(shape: &'a EnumShape, name: &str) -> Option<&'a VariantMeta> {
    let variants = shape.variants.iter();
    variants.clone().find(|variant| variant.name == name).or_else(|| {
        let mut variants = variants;
        variants.find(|variant| variant.aliases.contains(&name))
    })
}

fn tagged<'a>(shape: &'a EnumShape, doc: &RawDocument, tag: &str) -> Option<&'a VariantMeta> {
    named(shape, get(doc, tag)?.as_str()?)
}

/// The shape inside options and newtypes.
fn inner(mut shape: Shape) -> Shape {
    for _ in 0..MAX_WRAPPERS {
        shape = match shape {
            Shape::Optional(inner) => inner(),
            Shape::Bounded(meta) => (meta.shape)(),
            other => return other,
        };
    }
    Shape::Any
}

/// The declared type that a field holds, or its items.
fn target(mut shape: Shape) -> Option<(&'static str, usize)> {
    for _ in 0..MAX_WRAPPERS {
        shape = match inner(shape) {
            Shape::Array(items) | Shape::Map(items) | Shape::Fixed { items, .. } => items(),
            Shape::Struct(shape) => return Some((shape.name, shape.fields.len())),
            Shape::Enum(shape) => return Some((shape.name, shape.variants.len())),
            _ => return None,
        };
    }
    None
}

fn holds_enum(field: &FieldMeta) -> bool {
    field.flatten && matches!(inner((field.shape)()), Shape::Enum(_))
}

/// Whether a struct, or one that is flattened into it, has a field of this name.
fn claims(shape: &StructShape, name: &str, depth: u32) -> bool {
    shape.fields.iter().any(|field| match field.flatten {
        false => field.name == name || field.aliases.contains(&name),
        true => match inner((field.shape)()) {
            Shape::Struct(inner) => depth < MAX_WRAPPERS && claims(inner, name, depth + 1),
            _ => false,
        },
    })
}

/// Whether a value may have been written by a variant with this body.
fn may_be(body: &Body, value: RawBsonRef<'_>) -> bool {
    let has = |fields: &[FieldMeta], doc: &RawDocument| {
        fields
            .iter()
            .all(|field| field.flatten || !field.required || get(doc, field.name).is_some())
    };
    match (body, value) {
        (Body::Unit, RawBsonRef::Null) => true,
        (Body::Tuple(fields), RawBsonRef::Array(array)) => {
            array.iter_elements().map_while(|element| element.ok()).count() == fields.len()
        }
        (Body::Struct(shape), RawBsonRef::Document(doc)) => has(shape.fields, doc),
        (Body::Newtype(field), _) => {
            let mut shape = (field.shape)();
            if field.bounds.opaque {
                return true;
            }
            if let (Shape::Optional(_), RawBsonRef::Null) = (shape, value) {
                return true;
            }
            shape = inner(shape);
            match (shape, value) {
                (Shape::Any | Shape::Enum(_), _) => true,
                (Shape::Struct(shape), RawBsonRef::Document(doc)) => has(shape.fields, doc),
                _ => types(shape).contains(&type_name(value)),
            }
        }
        _ => false,
    }
}

/// The bounds of a newtype's field, with those of the field that holds it where they say more.
fn tightened(inner: &Bounds, outer: &Bounds) -> Option<Bounds> {
    if outer.max_len.is_none() && outer.min_len.is_none() && outer.min.is_none() && outer.max.is_none() {
        return None;
    }
    let greater = |a: Number, b: Number| if number::at_least(a, b) { a } else { b };
    let lesser = |a: Number, b: Number| if number::at_least(a, b) { b } else { a };
    fn both<T>(a: Option<T>, b: Option<T>, choose: impl Fn(T, T) -> T) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        }
    }
    Some(Bounds {
        max_len: both(inner.max_len, outer.max_len, std::cmp::min),
        min_len: both(inner.min_len, outer.min_len, std::cmp::max),
        min: both(inner.min, outer.min, greater),
        max: both(inner.max, outer.max, lesser),
        ..*inner
    })
}

/// The BSON types of a shape, by the names of MongoDB's `bsonType`.
fn types(shape: Shape) -> &'static [&'static str] {
    match shape {
        Shape::Any | Shape::Optional(_) | Shape::Bounded(_) => &[],
        Shape::Null => &["null"],
        Shape::Bool => &["bool"],
        Shape::Int { .. } => &["int"],
        Shape::Long { .. } => &["long", "int"],
        Shape::Double => &["double", "int", "long"],
        Shape::Decimal => &["decimal"],
        Shape::String | Shape::Char => &["string"],
        Shape::ObjectId => &["objectId"],
        Shape::Date => &["date"],
        Shape::Binary => &["binData"],
        Shape::Timestamp => &["timestamp"],
        Shape::Regex => &["regex"],
        Shape::Array(_) | Shape::Fixed { .. } | Shape::Tuple(_) => &["array"],
        Shape::Map(_) | Shape::Struct(_) => &["object"],
        Shape::Enum(shape) => match shape.tagging {
            Tagging::Internal(_) | Tagging::Adjacent(..) => &["object"],
            Tagging::Untagged => &[],
            Tagging::External => {
                let units = shape
                    .variants
                    .iter()
                    .filter(|variant| matches!(variant.body, Body::Unit))
                    .count();
                match units {
                    0 => &["object"],
                    n if n == shape.variants.len() => &["string"],
                    _ => &["string", "object"],
                }
            }
        },
    }
}

fn type_name(value: RawBsonRef<'_>) -> &'static str {
    match value {
        RawBsonRef::Double(_) => "double",
        RawBsonRef::String(_) => "string",
        RawBsonRef::Array(_) => "array",
        RawBsonRef::Document(_) => "object",
        RawBsonRef::Boolean(_) => "bool",
        RawBsonRef::Null => "null",
        RawBsonRef::RegularExpression(_) => "regex",
        RawBsonRef::Int32(_) => "int",
        RawBsonRef::Int64(_) => "long",
        RawBsonRef::Timestamp(_) => "timestamp",
        RawBsonRef::Binary(_) => "binData",
        RawBsonRef::ObjectId(_) => "objectId",
        RawBsonRef::DateTime(_) => "date",
        RawBsonRef::Decimal128(_) => "decimal",
        _ => "",
    }
}

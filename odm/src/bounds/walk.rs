//! The walk along a shape: values, items and entries, and how deep they stand.

use super::at::{At, Owned, key_rule};
use super::number;
use super::shapes::{MAX_WRAPPERS, get, longer, shorter, small, target, tightened, types};
use super::value_rules;
use crate::model::shape::{Bounds, Number, Shape, ShapeFn};
use crate::{Rule, Violation};
use mongodb::bson::{RawArray, RawBsonRef, RawDocument};

/// How many violations are collected: enough for a form, little enough for a log.
pub(crate) const MOST: usize = 100;

/// MongoDB's limit for the nesting of a document.
pub(super) const MAX_LEVELS: u32 = 100;

/// A field with a declared depth that the walk is below of.
pub(super) struct Open {
    /// The type that may be nested in itself: its name and the number of its parts.
    ty: (&'static str, usize),
    depth: u32,
    /// How many more levels there may be.
    left: u32,
}

#[derive(Default)]
pub(super) struct Walk {
    pub(super) violations: Vec<Violation>,
    /// How many documents and arrays the walk is in, without the outermost document.
    pub(super) level: u32,
    /// How many options and newtypes stand around the value.
    pub(super) wrappers: u32,
    pub(super) open: Vec<Open>,
}

impl Walk {
    pub(super) fn below(level: u32, violations: &mut Vec<Violation>) -> Walk {
        Walk {
            violations: std::mem::take(violations),
            level,
            ..Walk::default()
        }
    }

    pub(super) fn full(&self) -> bool {
        self.violations.len() >= MOST
    }

    pub(super) fn broken(&mut self, at: &At<'_>, rule: Rule, value: Option<RawBsonRef<'_>>) {
        if !self.full() {
            self.violations
                .push(Violation::new(at.path(), rule, value.and_then(small)));
        }
    }

    /// MongoDB's rules for `_id`.
    pub(super) fn id(&mut self, doc: &RawDocument, at: &At<'_>) {
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
    pub(super) fn bounded(
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
    pub(super) fn item(&mut self, shape: ShapeFn, bounds: &Bounds, value: RawBsonRef<'_>, at: &At<'_>) {
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
    pub(super) fn open(&mut self, shape: ShapeFn, bounds: &Bounds) -> bool {
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
    pub(super) fn enter(&mut self, ty: (&'static str, usize), at: &At<'_>) -> bool {
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

    pub(super) fn leave(&mut self, ty: (&'static str, usize)) {
        for open in self.open.iter_mut().filter(|open| open.ty == ty) {
            open.left += 1;
        }
    }

    /// Looks into a document or an array; not into one that is too deep for MongoDB.
    pub(super) fn descend(&mut self, at: &At<'_>, look: impl FnOnce(&mut Walk)) {
        if self.level >= MAX_LEVELS {
            return self.broken(at, Rule::Depth(MAX_LEVELS), None);
        }
        let wrappers = std::mem::take(&mut self.wrappers);
        self.level += 1;
        look(self);
        self.level -= 1;
        self.wrappers = wrappers;
    }

    /// Looks at each item of an array, and says how many there are.
    pub(super) fn items(
        &mut self,
        array: &RawArray,
        at: &At<'_>,
        mut look: impl FnMut(&mut Walk, usize, RawBsonRef<'_>, &At<'_>),
    ) -> usize {
        let mut count = 0;
        self.descend(at, |walk| {
            for element in array.iter_elements().map_while(|element| element.ok()) {
                if let Ok(value) = element.value() {
                    look(walk, count, value, &At::Item(at, count));
                }
                count += 1;
            }
        });
        count
    }

    /// An array of exactly `len` items. One that is too deep was not counted.
    pub(super) fn exactly(&mut self, len: usize, count: usize, at: &At<'_>) {
        if count != len && self.level < MAX_LEVELS {
            self.broken(at, Rule::Items(len as u64), None);
        }
    }

    pub(super) fn value(
        &mut self,
        shape: Shape,
        bounds: &Bounds,
        nullable: bool,
        value: RawBsonRef<'_>,
        at: &At<'_>,
    ) {
        self.rules(shape, bounds, value, at);
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
            (Shape::Binary | Shape::Uuid, RawBsonRef::Binary(binary)) => {
                let len = binary.bytes.len() as u64;
                self.length(bounds, |max| len > max, |min| len < min, value, at);
            }
            (Shape::Array(items), RawBsonRef::Array(array)) => {
                let item = |walk: &mut Walk, _: usize, value: RawBsonRef<'_>, at: &At<'_>| {
                    walk.value(items(), bounds, false, value, at);
                };
                let count = self.items(array, at, item);
                self.count(bounds, count as u64, at);
                if bounds.unique_items
                    && let Some(twice) = value_rules::twice(array)
                {
                    self.broken(at, Rule::UniqueItems, Some(twice));
                }
            }
            (Shape::Fixed { items, len }, RawBsonRef::Array(array)) => {
                let item = |walk: &mut Walk, _: usize, value: RawBsonRef<'_>, at: &At<'_>| {
                    walk.value(items(), bounds, false, value, at);
                };
                let count = self.items(array, at, item);
                self.exactly(len, count, at);
            }
            (Shape::Tuple(items), RawBsonRef::Array(array)) => {
                let count = self.items(array, at, |walk, i, value, at| {
                    if let Some(item) = items.get(i) {
                        walk.value(item(), bounds, false, value, at);
                    }
                });
                self.exactly(items.len(), count, at);
            }
            (Shape::Map(values), RawBsonRef::Document(doc)) => {
                self.descend(at, |walk| walk.entries(values, bounds, doc, |_| true, at));
            }
            (Shape::Struct(shape), RawBsonRef::Document(doc)) => {
                let ty = (shape.identity(), shape.fields.len());
                if self.enter(ty, at) {
                    self.descend(at, |walk| walk.fields(shape, doc, Owned::All, at));
                    self.leave(ty);
                }
            }
            (Shape::Enum(shape), _) => {
                let ty = (shape.identity(), shape.variants.len());
                if self.enter(ty, at) {
                    self.variant(shape, nullable, value, at);
                    self.leave(ty);
                }
            }
            _ => self.wrong_type(shape, nullable, value, at),
        }
    }

    /// The rules that the value breaks by itself. Those of an array are its items'.
    fn rules(&mut self, shape: Shape, bounds: &Bounds, value: RawBsonRef<'_>, at: &At<'_>) {
        let Some(rules) = bounds.rules else { return };
        if matches!(shape, Shape::Optional(_) | Shape::Array(_) | Shape::Map(_)) || value == RawBsonRef::Null
        {
            return;
        }
        if let Some(rule) = value_rules::broken(rules, value) {
            self.broken(at, rule, Some(value));
        }
    }

    pub(super) fn wrong_type(&mut self, shape: Shape, nullable: bool, value: RawBsonRef<'_>, at: &At<'_>) {
        let mut names: Vec<String> = types(shape).iter().map(|name| (*name).to_owned()).collect();
        if nullable {
            names.push("null".to_owned());
        }
        self.broken(at, Rule::Type(names), Some(value));
    }

    pub(super) fn number(
        &mut self,
        value: RawBsonRef<'_>,
        bounds: &Bounds,
        of_type: Option<(i64, i64)>,
        at: &At<'_>,
    ) {
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

    pub(super) fn text(&mut self, text: &str, min: Option<u64>, max: Option<u64>, at: &At<'_>) {
        let bounds = Bounds {
            min_len: min,
            max_len: max,
            ..Bounds::NONE
        };
        self.length(
            &bounds,
            |max| longer(text, max),
            |min| shorter(text, min),
            RawBsonRef::String(text),
            at,
        );
    }

    pub(super) fn length(
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

    pub(super) fn count(&mut self, bounds: &Bounds, count: u64, at: &At<'_>) {
        if let Some(max) = bounds.max_items.filter(|max| count > *max) {
            self.broken(at, Rule::MaxItems(max), None);
        }
    }

    /// The entries of a map.
    pub(super) fn entries(
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

    /// A value of any shape: only its nesting is counted.
    pub(super) fn opaque(&mut self, value: RawBsonRef<'_>, at: &At<'_>) {
        match value {
            RawBsonRef::Document(doc) => self.descend(at, |walk| walk.elements(doc, at)),
            RawBsonRef::Array(array) => {
                self.items(array, at, |walk, _, value, at| walk.opaque(value, at));
            }
            _ => {}
        }
    }

    pub(super) fn elements(&mut self, doc: &RawDocument, at: &At<'_>) {
        for element in doc.iter_elements().map_while(|element| element.ok()) {
            if let Ok(value @ (RawBsonRef::Document(_) | RawBsonRef::Array(_))) = element.value() {
                self.opaque(value, &At::Name(at, element.key().as_str()));
            }
        }
    }
}

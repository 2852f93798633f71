//! What changes of children mean for their parents: an element is pushed, a number is added, or a field is to be derived again.

use crate::graph::Graph;
use crate::graph::edge::{Derivation, Derived, DerivedId, Edge, EdgeId, ReferenceTarget};
use crate::graph::sync::is_atomic;
use crate::model::copy::{Operation, Subset};
use crate::model::default;
use crate::model::document::{DocumentMeta, IndexKind};
use crate::model::key::Key;
use crate::model::own_fields::OPERATION;
use crate::model::shape::Shape;
use crate::plan::images::Image;
use crate::query::page::is_compared_alike;
use crate::store::fields::{at, put};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::{BTreeMap, HashSet};

/// The changes of one parent.
#[derive(Debug, Default)]
pub(crate) struct ParentChange {
    pub(crate) update: Document,
    /// The fields to derive again.
    pub(crate) anew: HashSet<DerivedId>,
    pub(crate) touched: HashSet<DerivedId>,
    /// Whether a child has come to name it, so that it has to be there.
    pub(crate) named: bool,
    /// Whether a number may have grown: one outside of its field's range then refuses the write. A child can always be removed,
    /// whatever the value of the others, unless it was negative: the write that made the value too great still has pending work
    /// for it.
    pub(crate) grown: bool,
}

/// Parents are known by the target that they are of a reference, and the key by which it names them.
pub(crate) type ParentChanges = BTreeMap<(ReferenceTarget, Key), ParentChange>;

/// The parent that a child names.
pub(crate) fn parent_of(edge: &Edge, derived: &Derived, child: &RawDocument) -> Option<Key> {
    edge.keys(derived.target, child).into_iter().next()
}

/// Whether a child is deleted and kept: it counts nowhere.
fn is_deleted(derived: &Derived, child: &RawDocument) -> bool {
    let deleted_at = derived
        .child
        .soft_delete
        .and_then(|name| child.get(name).ok().flatten());
    deleted_at.is_some_and(|time| time != RawBsonRef::Null)
}

/// The changes of the parents of documents that a write has changed as these images show.
pub(crate) fn changes(graph: &Graph, meta: &'static DocumentMeta, images: &[Image]) -> ParentChanges {
    let mut parents = ParentChanges::new();
    for derived in graph.derived_from(meta) {
        let edge = graph.parent_edge(derived);
        let reads = derived.reads(graph);
        for image in images {
            let [named_before, named_after] =
                [image.before(), image.after()].map(|child| parent_of(edge, derived, child?));
            let is_moved = named_before != named_after;
            let counts =
                |child: Option<&RawDocumentBuf>| child.is_some_and(|child| !is_deleted(derived, child));
            let before = named_before.filter(|_| counts(image.before()));
            let after = named_after.filter(|_| counts(image.after()));
            let moved = before != after;
            if !moved && (before.is_none() || is_same(&reads, image)) {
                continue;
            }
            // An eventual field may not include the child yet, so that nothing can be added to it or taken away; while the
            // child stays where it is, its own pending work covers it.
            if !is_atomic(derived.consistency, true) {
                if image.before().is_some() && is_moved {
                    for key in [before, after].into_iter().flatten() {
                        let parent = change(&mut parents, derived, key);
                        parent.anew.insert(derived.id);
                        parent.grown |= was_negative(derived, image);
                    }
                }
                continue;
            }
            let named = after.clone().filter(|_| is_moved);
            let lost = before.clone().filter(|_| was_negative(derived, image));
            let grown = [after.clone(), lost];
            one(&mut parents, derived, image, before, after);
            for key in grown.into_iter().flatten() {
                if let Some(change) = parents.get_mut(&(derived.target, key)) {
                    change.grown = true;
                }
            }
            // It is locked, and has to be there, also where the child has nothing that is derived.
            if let Some(key) = named {
                change(&mut parents, derived, key).named = true;
            }
        }
    }
    parents
}

/// Whether what a child was before took something from a sum.
fn was_negative(derived: &Derived, image: &Image) -> bool {
    let Derivation::Computed { of, .. } = derived.what else {
        return false;
    };
    let before = image
        .before()
        .and_then(|child| ChildNumber::at(derived, child, of));
    before.is_some_and(|number| number.value() < 0.0)
}

fn is_same(names: &[String], image: &Image) -> bool {
    let (Some(before), Some(after)) = (image.before(), image.after()) else {
        return false;
    };
    names
        .iter()
        .all(|name| up_to_array(before, name) == up_to_array(after, name))
}

/// The value at a dotted name, or that of the array that it leads through.
fn up_to_array<'d>(document: &'d RawDocument, name: &str) -> Option<RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = match value {
            RawBsonRef::Document(within) => within.get(part).ok()??,
            RawBsonRef::Array(_) => return Some(value),
            _ => return None,
        };
    }
    Some(value)
}

fn change<'p>(parents: &'p mut ParentChanges, derived: &Derived, key: Key) -> &'p mut ParentChange {
    let change = parents.entry((derived.target, key)).or_default();
    change.touched.insert(derived.id);
    change
}

/// The effect of one child on one derived field.
fn one(
    parents: &mut ParentChanges,
    derived: &Derived,
    image: &Image,
    before: Option<Key>,
    after: Option<Key>,
) {
    let both = |parents: &mut ParentChanges| {
        for key in [&before, &after].into_iter().flatten() {
            change(parents, derived, key.clone()).anew.insert(derived.id);
        }
    };
    // The parent may not have been told of a child's present value, so that it can't be taken away.
    let is_owing = |child: &RawDocumentBuf| at(child, OPERATION).is_some();
    if derived.filter.is_some() || image.before().is_some_and(is_owing) {
        return both(parents);
    }
    let name = derived.field.name;
    match derived.what {
        Derivation::Subset(subset) => {
            let element = image.after().map(|child| element(subset, child));
            match (&before, &after, element, push_order(derived, subset)) {
                (None, Some(key), Some(element), Some(sort)) => {
                    let change = change(parents, derived, key.clone());
                    push(&mut change.update, name, subset, sort, element);
                }
                _ => both(parents),
            }
        }
        Derivation::Computed { operation, of } => {
            let value = |child: Option<&RawDocumentBuf>| ChildNumber::at(derived, child?, of);
            let (old, new) = (
                value(image.before()).filter(|_| before.is_some()),
                value(image.after()).filter(|_| after.is_some()),
            );
            let odd = |n: &Option<ChildNumber>| n.is_some_and(|n| !n.is_like(operation, derived));
            match operation {
                Operation::Count => {
                    let moved = before != after;
                    for (key, by) in [(&before, -1), (&after, 1)] {
                        if let Some(key) = key.clone().filter(|_| moved) {
                            let parent = change(parents, derived, key);
                            if !add(&mut parent.update, name, derived.whole(by)) {
                                parent.anew.insert(derived.id);
                            }
                        }
                    }
                }
                // Subtracting a fraction from a rounded sum may leave a remainder, or remove a part of others.
                Operation::Sum | Operation::Avg
                    if !odd(&new) && old.is_none_or(|old| old.is_exact(operation, derived)) =>
                {
                    let mut put = |key: Option<Key>, n: Option<ChildNumber>, sign: i64| {
                        let (Some(key), Some(n)) = (key, n) else { return };
                        let parent = change(parents, derived, key);
                        let fits = match operation {
                            Operation::Sum => n
                                .times(sign, derived)
                                .is_some_and(|by| add(&mut parent.update, name, by)),
                            _ => {
                                let by = Bson::Double(n.value() * sign as f64);
                                add(&mut parent.update, &format!("{name}.sum"), by)
                                    && add(&mut parent.update, &format!("{name}.count"), Bson::Int64(sign))
                            }
                        };
                        if !fits {
                            parent.anew.insert(derived.id);
                        }
                    };
                    put(before, old, -1);
                    put(after, new, 1);
                }
                Operation::Min | Operation::Max
                    if before.is_none()
                        && !derived.field.required
                        && is_compared_alike((derived.child.shape)(), of) =>
                {
                    let child = image.after();
                    let value = child
                        .and_then(|child| default::read((derived.child.shape)(), child, of))
                        .filter(|value| *value != Bson::Null);
                    let (Some(value), Some(key)) = (value, after.clone()) else {
                        return;
                    };
                    let operator = if operation == Operation::Min {
                        "$min"
                    } else {
                        "$max"
                    };
                    let change = change(parents, derived, key.clone());
                    let twice = matches!(change.update.get_document(operator), Ok(fields) if fields.contains_key(name));
                    if twice {
                        change.anew.insert(derived.id);
                    } else {
                        put(&mut change.update, operator, name, value)
                    }
                }
                _ => both(parents),
            }
        }
    }
}

/// The number in a child's field.
#[derive(Clone, Copy, Debug)]
enum ChildNumber {
    Whole(i64),
    Float(f64),
    /// One that can't be added and taken away again.
    Odd,
}

impl ChildNumber {
    fn at(derived: &Derived, child: &RawDocument, name: &str) -> Option<ChildNumber> {
        Some(match default::read((derived.child.shape)(), child, name)? {
            Bson::Int32(n) => ChildNumber::Whole(n.into()),
            Bson::Int64(n) => ChildNumber::Whole(n),
            Bson::Double(n) if n.is_finite() => ChildNumber::Float(n),
            Bson::Double(_) | Bson::Decimal128(_) => ChildNumber::Odd,
            _ => return None,
        })
    }

    fn value(self) -> f64 {
        match self {
            ChildNumber::Whole(n) => n as f64,
            ChildNumber::Float(n) => n,
            ChildNumber::Odd => 0.0,
        }
    }

    /// Whether it can be added to what is stored.
    fn is_like(self, operation: Operation, derived: &Derived) -> bool {
        match self {
            ChildNumber::Whole(_) => true,
            // Only an out-of-band write stores a fraction in a sum of whole numbers.
            ChildNumber::Float(_) => operation != Operation::Sum || !is_whole(derived),
            ChildNumber::Odd => false,
        }
    }

    /// Whether taking it away leaves exactly what was there before it. The sum of an average is stored as a fraction, in which
    /// whole numbers of this size are exact as long as there are not millions of them.
    fn is_exact(self, operation: Operation, derived: &Derived) -> bool {
        match (self, operation) {
            (ChildNumber::Whole(n), Operation::Avg) => i32::try_from(n).is_ok(),
            (ChildNumber::Whole(_), _) => is_whole(derived),
            (ChildNumber::Float(_) | ChildNumber::Odd, _) => false,
        }
    }

    /// `None` where that is no number that can be stored, or one of another type than the field's, which would become that.
    fn times(self, sign: i64, derived: &Derived) -> Option<Bson> {
        match self {
            ChildNumber::Whole(n) => {
                let n = n.checked_mul(sign)?;
                let is_narrow = matches!((derived.field.shape)(), Shape::Int { .. });
                (!is_narrow || i32::try_from(n).is_ok()).then(|| derived.whole(n))
            }
            other => Some(Bson::Double(other.value() * sign as f64)),
        }
    }
}

/// Whether the field holds whole numbers alone.
pub(crate) fn is_whole(derived: &Derived) -> bool {
    matches!((derived.field.shape)(), Shape::Int { .. } | Shape::Long { .. })
}

/// Adds to what an update adds to a number already; says whether that fits.
#[must_use]
fn add(update: &mut Document, name: &str, by: Bson) -> bool {
    let before = update
        .get_document("$inc")
        .ok()
        .and_then(|fields| fields.get(name))
        .cloned();
    let sum = match (before, by) {
        (Some(Bson::Double(a)), Bson::Double(b)) => Some(Bson::Double(a + b)),
        (Some(Bson::Int32(a)), Bson::Int32(b)) => a.checked_add(b).map(Bson::Int32),
        (Some(a @ (Bson::Int32(_) | Bson::Int64(_))), b @ (Bson::Int32(_) | Bson::Int64(_))) => {
            integer(&a).checked_add(integer(&b)).map(Bson::Int64)
        }
        (_, by) => Some(by),
    };
    let fits = sum.is_some();
    if let Some(sum) = sum {
        put(update, "$inc", name, sum);
    }
    fits
}

/// The element of a subset for a child.
pub(crate) fn element(subset: &Subset, child: &RawDocument) -> Document {
    let shape = ((subset.child)().shape)();
    let mut element = Document::new();
    for field in (subset.fields)() {
        if let Some(value) = default::read(shape, child, field.source) {
            element.insert(field.name, value);
        }
    }
    element
}

/// The order of a subset's elements, if there are any to push to, if all of it can be told from them, and if the parent's collection sorts them as the
/// children's does: strings go by the collation of each, and of an array a query takes the least or the greatest item.
fn push_order(derived: &Derived, subset: &Subset) -> Option<Document> {
    if subset.single {
        return None;
    }
    let name = |source: &str| {
        if source != "_id" && !is_compared_alike((derived.child.shape)(), source) {
            return None;
        }
        let field = (subset.fields)().iter().find(|field| field.source == source)?;
        Some(field.name)
    };
    let mut sort = Document::new();
    for (path, direction) in order(subset) {
        sort.insert(name(path)?, direction);
    }
    Some(sort)
}

fn push(update: &mut Document, name: &str, subset: &Subset, sort: Document, element: Document) {
    let each = update
        .get_document_mut("$push")
        .ok()
        .and_then(|fields| fields.get_document_mut(name).ok())
        .and_then(|push| push.get_array_mut("$each").ok());
    if let Some(each) = each {
        return each.push(element.into());
    }
    let limit = i64::from(subset.limit);
    let slice = if subset.last { -limit } else { limit };
    let push = doc! { "$each": [element], "$sort": sort, "$slice": slice };
    put(update, "$push", name, push.into());
}

/// The order of the children: ties are broken by the id.
pub(crate) fn order(subset: &Subset) -> impl Iterator<Item = (&'static str, i32)> {
    let direction = |kind: IndexKind| if kind == IndexKind::Descending { -1 } else { 1 };
    let first = subset.order.first().map_or(1, |key| direction(key.kind));
    let own = subset
        .order
        .iter()
        .map(move |key| ((key.path)(), direction(key.kind)));
    let named = subset.order.iter().any(|key| (key.path)() == "_id");
    own.chain((!named).then_some(("_id", first)))
}

/// The parents that children have left, by the references that named them.
pub(crate) fn previous_parents(
    graph: &Graph,
    meta: &DocumentMeta,
    images: &[Image],
) -> BTreeMap<EdgeId, HashSet<Key>> {
    let mut all: BTreeMap<EdgeId, HashSet<Key>> = BTreeMap::new();
    for derived in graph.derived_from(meta) {
        let edge = graph.parent_edge(derived);
        for image in images {
            let parent = |child: Option<&RawDocumentBuf>| parent_of(edge, derived, child?);
            let before = parent(image.before());
            if before != parent(image.after()) {
                all.entry(edge.id).or_default().extend(before);
            }
        }
    }
    all
}

/// The parents of these children, with what is derived in them eventually; of children that are to be deleted everything.
pub(crate) fn parents_of<'g, 'c>(
    graph: &'g Graph,
    meta: &DocumentMeta,
    children: impl IntoIterator<Item = &'c RawDocumentBuf> + Clone,
    which: impl Fn(&Derived, &RawDocumentBuf) -> bool,
) -> Vec<(&'g Edge, Vec<&'g Derived>, HashSet<Key>)> {
    let mut parents: Vec<(&Edge, Vec<&Derived>, HashSet<Key>)> = Vec::new();
    for derived in graph.derived_from(meta) {
        let edge = graph.parent_edge(derived);
        let mut keys = HashSet::new();
        let children = children.clone().into_iter();
        for child in children.filter(|child| which(derived, child)) {
            keys.extend(parent_of(edge, derived, child));
        }
        if keys.is_empty() {
            continue;
        }
        let same = |(other, list, _): &&mut (&Edge, Vec<&Derived>, HashSet<Key>)| {
            other.id == edge.id
                && list
                    .iter()
                    .all(|one| one.parent.collection == derived.parent.collection)
        };
        match parents.iter_mut().find(same) {
            Some((_, list, known)) => {
                list.push(derived);
                known.extend(keys);
            }
            None => parents.push((edge, vec![derived], keys)),
        }
    }
    parents
}

pub(crate) fn integer(value: &Bson) -> i64 {
    match value {
        Bson::Int32(n) => (*n).into(),
        Bson::Int64(n) => *n,
        Bson::Double(n) => *n as i64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_to_one_number_are_summed_up_or_overflow() {
        let mut update = Document::new();
        for by in [Bson::Int64(5), Bson::Int32(-7), Bson::Int64(i64::MAX)] {
            assert!(add(&mut update, "n", by));
        }
        assert!(!add(&mut update, "n", Bson::Int64(3)));
        assert!(add(&mut update, "n", Bson::Int64(-3)));
        for by in [0.5, 0.25] {
            assert!(add(&mut update, "mean.sum", by.into()));
        }
        let expected = doc! { "$inc": { "n": i64::MAX - 5, "mean.sum": 0.75 } };
        assert_eq!(update, expected);
    }
}

//! The references of all registered documents, found by walking their shapes.
//!
//! What refers to a document is decided here, by the models that the [`Odm`](crate::Odm) was made with, and not by what a
//! program happens to load.

use crate::copy::{Computed, Copied, FieldCopy, Operation, Subset, SyncMode};
use crate::document::DocumentMeta;
use crate::key::Key;
use crate::reference::{ReferenceMeta, TargetMeta};
use crate::shape::{Body, EnumShape, FieldMeta, Shape, StructShape, Tagging};
use crate::{Error, Model};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};
use std::collections::{BTreeMap, HashMap, HashSet};

/// One part of a reference's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The stored name of the field; of an item of a tuple its position.
    pub(crate) name: String,
    /// Whether an array stands there, whose items the path goes on in.
    pub(crate) array: bool,
}

/// A reference: the field of one document that names documents of another type, or of its own.
#[derive(Debug)]
pub(crate) struct Edge {
    /// Its position in the graph.
    pub(crate) at: usize,
    /// The document that holds it.
    pub(crate) holder: &'static DocumentMeta,
    /// Where it is stored: the dotted path, with no sign of the arrays on its way.
    pub(crate) path: String,
    /// The same in parts.
    pub(crate) segments: Vec<Segment>,
    /// The field.
    pub(crate) field: &'static FieldMeta,
    /// Whether it is an array of references.
    pub(crate) list: bool,
    /// How many there may be in the array.
    pub(crate) max: Option<u64>,
    /// What is declared about it.
    pub(crate) reference: &'static ReferenceMeta,
    /// The documents that it may refer to, in the order of the declaration.
    pub(crate) targets: Vec<&'static DocumentMeta>,
    /// The edge that refers back, of a two-way reference; of a field that is its own other side, itself.
    pub(crate) inverse: Option<usize>,
    /// Whether this side of a two-way reference is believed where the two differ.
    pub(crate) owner: bool,
    /// The fields beside it that copy fields of its target.
    pub(crate) copies: Vec<CopyField>,
}

/// A field that copies one of the document that the reference beside it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyField {
    /// Its stored name, in the struct that the reference stands in.
    pub(crate) name: &'static str,
    /// The dotted name of the field in the source.
    pub(crate) source: &'static str,
    /// When it follows.
    pub(crate) sync: SyncMode,
    /// Whether the field can't be missing.
    pub(crate) required: bool,
}

/// A field that is derived from the children of its document.
#[derive(Debug)]
pub(crate) struct Derived {
    /// Its position in the graph.
    pub(crate) at: usize,
    /// The document that holds it.
    pub(crate) parent: &'static DocumentMeta,
    /// The field.
    pub(crate) field: &'static FieldMeta,
    /// The children.
    pub(crate) child: &'static DocumentMeta,
    /// The position of the reference by which a child names its parent.
    pub(crate) edge: usize,
    /// What is derived.
    pub(crate) what: What,
    /// Which children count.
    pub(crate) filter: Option<Document>,
    /// When it follows.
    pub(crate) sync: SyncMode,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Subset(&'static Subset),
    Computed {
        operation: Operation,
        /// The dotted name of the field that it is computed of; of a count empty.
        of: &'static str,
    },
}

/// All references of the registered documents.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    models: Vec<&'static DocumentMeta>,
    edges: Vec<Edge>,
    /// By the holder's collection.
    outgoing: HashMap<&'static str, Vec<usize>>,
    /// By the target's collection.
    incoming: HashMap<&'static str, Vec<usize>>,
    derived: Vec<Derived>,
}

/// The same type is met so often on one way into a type before it counts as recursive: a generic type may stand inside
/// itself without being so.
const RECURSIVE: usize = 3;

impl Graph {
    /// The references of these documents.
    ///
    /// # Errors
    /// Everything that makes the set unsound, in sentences.
    pub(crate) fn of(models: &[Model]) -> Result<Graph, Vec<String>> {
        let mut graph = Graph {
            models: models.iter().map(|model| model.meta).collect(),
            ..Graph::default()
        };
        let mut problems = Vec::new();
        let mut derived = Vec::new();
        let mut volatile = HashMap::new();
        for meta in graph.models.clone() {
            let mut walk = Walk::new(meta);
            walk.document();
            problems.append(&mut walk.problems);
            for found in walk.found {
                graph.add(meta, found, &mut problems);
            }
            derived.extend(walk.derived.into_iter().map(|field| (meta, field)));
            volatile.insert(meta.collection, walk.volatile);
        }
        for at in 0..graph.edges.len() {
            graph.join(at, &mut problems);
        }
        for (meta, field) in derived {
            graph.derive(meta, field, &mut problems);
        }
        graph.check_copies(&mut problems);
        graph.check_volatile(&volatile, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        graph.choose_owners();
        Ok(graph)
    }

    fn add(&mut self, holder: &'static DocumentMeta, found: Found, problems: &mut Vec<String>) {
        let reference = found.reference;
        let mut targets = Vec::new();
        for TargetMeta { document, .. } in reference.targets {
            let target = document();
            match self.models.iter().find(|meta| is(meta, target)) {
                Some(registered) => targets.push(*registered),
                None => problems.push(format!(
                    "`{}.{}` refers to `{}`, which is not among the models: add it to `models![…]`",
                    holder.name, found.path, target.name
                )),
            }
        }
        let at = self.edges.len();
        self.outgoing.entry(holder.collection).or_default().push(at);
        for target in &targets {
            let incoming = self.incoming.entry(target.collection).or_default();
            if !incoming.contains(&at) {
                incoming.push(at);
            }
        }
        self.edges.push(Edge {
            at,
            holder,
            list: found.segments.last().is_some_and(|last| last.array),
            path: found.path,
            segments: found.segments,
            field: found.field,
            max: found.max,
            reference,
            targets,
            inverse: None,
            owner: false,
            copies: found.copies,
        });
    }

    /// Takes up a field that is derived from children.
    fn derive(
        &mut self,
        parent: &'static DocumentMeta,
        field: &'static FieldMeta,
        problems: &mut Vec<String>,
    ) {
        let (child, name, what, filter, sync) = match field.copied {
            Some(Copied::Subset(subset)) => (
                subset.child,
                (subset.parent)().name,
                What::Subset(subset),
                subset.filter,
                subset.sync,
            ),
            Some(Copied::Computed(Computed {
                child,
                parent,
                operation,
                of,
                filter,
                sync,
            })) => {
                let what = What::Computed {
                    operation: *operation,
                    of: of.map_or("", |of| of()),
                };
                (*child, parent().name, what, *filter, *sync)
            }
            _ => return,
        };
        let child = child();
        let full = format!("{}.{}", parent.name, field.rust);
        let Some(child) = self.models.iter().copied().find(|meta| is(meta, child)) else {
            return problems.push(format!(
                "`{full}` is derived from `{}`, which is not among the models: add it to `models![…]`",
                child.name
            ));
        };
        let edge = self
            .edges
            .iter()
            .find(|edge| is(edge.holder, child) && edge.path == name);
        let Some(edge) = edge.filter(|edge| !edge.list && edge.segments.iter().all(|one| !one.array)) else {
            return problems.push(format!(
                "`{full}` is derived from the documents of `{}` that name their parent in `{name}`, which is no single \
                 reference",
                child.name
            ));
        };
        let filter = match filter.map(|filter| filter().map(|raw| Document::try_from(&raw))) {
            None => None,
            Some(Ok(Ok(filter))) => Some(filter),
            Some(Err(error)) => return problems.push(format!("the filter of `{full}`: {error}")),
            Some(Ok(Err(error))) => return problems.push(format!("the filter of `{full}`: {error}")),
        };
        self.derived.push(Derived {
            at: self.derived.len(),
            parent,
            field,
            child,
            edge: edge.at,
            what,
            filter,
            sync,
        });
    }

    /// What copies can't be kept for.
    fn check_copies(&self, problems: &mut Vec<String>) {
        for edge in self.edges.iter().filter(|edge| !edge.copies.is_empty()) {
            let name = format!("{}.{}", edge.holder.name, edge.path);
            if edge.reference.union {
                problems.push(format!(
                    "`{name}` refers to documents of several types, so nothing can be copied through it"
                ));
            }
            // One version beside the reference says how far all of them have come.
            let mut modes = edge
                .copies
                .iter()
                .map(|copy| copy.sync)
                .filter(|sync| *sync != SyncMode::Snapshot);
            if let Some(first) = modes.next()
                && modes.any(|other| other != first)
            {
                problems.push(format!(
                    "the copies through `{name}` say different things about when they follow: give all of them the same \
                     `sync`, or `sync = snapshot`"
                ));
            }
            if edge.inverse.is_some() {
                problems.push(format!(
                    "`{name}` is a two-way reference, which the other side sets too: a copy through it is not supported; \
                     make it a one-way reference, and find its holders by the index that it declares"
                ));
            }
            if edge.segments.iter().filter(|segment| segment.array).count() > 1 {
                problems.push(format!(
                    "`{name}` stands in an array inside an array: no update reaches the copies beside it"
                ));
            }
        }
        for meta in self
            .models
            .iter()
            .filter(|meta| self.takes_part(meta) || self.is_linked(meta))
        {
            if let Shape::Struct(shape) = (meta.shape)()
                && shape.deny_unknown
            {
                problems.push(format!(
                    "`{}` has two-way references, or is the source or the holder of copies, for which the library stores a \
                     field `_odm` of its own in the documents: remove `#[serde(deny_unknown_fields)]`",
                    meta.name
                ));
            }
        }
        if let Some(circle) = self.circle() {
            problems.push(format!(
                "copies of copies in a circle, which would never come to rest: {circle}"
            ));
        }
    }

    /// Rule five, of what only the whole set of models shows: the fields in a condition, and those within other fields.
    fn check_volatile(&self, volatile: &HashMap<&'static str, Vec<String>>, problems: &mut Vec<String>) {
        for derived in &self.derived {
            let Some(paths) = volatile.get(derived.child.collection) else {
                continue;
            };
            for read in derived.reads(self) {
                let meets = |path: &&String| **path == read || below(path, &read) || below(&read, path);
                if let Some(path) = paths.iter().find(meets) {
                    problems.push(format!(
                        "`{}.{}` depends on `{}.{path}`, which is `#[volatile]`: every change of it would be a write of the \
                         parent. Rule five: what changes often is not copied. Leave it out of the filter, the order or the \
                         fields, or leave out `#[volatile]` if it changes seldom after all",
                        derived.parent.name, derived.field.rust, derived.child.name
                    ));
                }
            }
        }
    }

    /// The fields of a document that others are derived from, or that are derived themselves, form a graph of their own:
    /// a circle in it, in words.
    fn circle(&self) -> Option<String> {
        // By field: the fields that are written when it changes.
        let mut next: HashMap<(&str, String), Vec<(&str, String)>> = HashMap::new();
        for edge in &self.edges {
            for copy in edge.copies.iter().filter(|copy| copy.sync != SyncMode::Snapshot) {
                let written = (edge.holder.collection, edge.copy_path(copy));
                for target in &edge.targets {
                    let source = (target.collection, copy.source.to_owned());
                    next.entry(source).or_default().push(written.clone());
                }
            }
        }
        for derived in &self.derived {
            let written = (derived.parent.collection, derived.field.name.to_owned());
            for name in derived.reads(self) {
                let source = (derived.child.collection, name);
                next.entry(source).or_default().push(written.clone());
            }
        }
        let meets = |a: &str, b: &str| a == b || below(a, b) || below(b, a);
        let starts: Vec<_> = next.keys().cloned().collect();
        for start in starts {
            let mut way = vec![start.clone()];
            let mut seen: HashSet<(&str, String)> = HashSet::new();
            let mut open = vec![(start.clone(), 1)];
            while let Some((at, depth)) = open.pop() {
                way.truncate(depth);
                for (source, written) in &next {
                    if source.0 != at.0 || !meets(&source.1, &at.1) {
                        continue;
                    }
                    for one in written {
                        if one.0 == start.0 && meets(&one.1, &start.1) {
                            let names = way.iter().chain([one]).map(|(c, f)| format!("`{c}.{f}`"));
                            return Some(names.collect::<Vec<_>>().join(" → "));
                        }
                        if seen.insert(one.clone()) {
                            way.truncate(depth);
                            way.push(one.clone());
                            open.push((one.clone(), depth + 1));
                        }
                    }
                }
            }
        }
        None
    }

    /// The fields that are derived from children.
    pub(crate) fn derived(&self) -> &[Derived] {
        &self.derived
    }

    /// Those that stand in a document.
    pub(crate) fn derived_in(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Derived> + Clone {
        let collection = meta.collection;
        self.derived
            .iter()
            .filter(move |one| one.parent.collection == collection)
    }

    /// Those that are derived from a document.
    pub(crate) fn derived_from(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Derived> + Clone {
        let collection = meta.collection;
        self.derived
            .iter()
            .filter(move |one| one.child.collection == collection)
    }

    /// Whether a condition on documents asks for what is derived in them.
    pub(super) fn is_derived_by(&self, meta: &DocumentMeta, filter: &Document) -> bool {
        let mut names = Vec::new();
        fields_of(filter, &mut names);
        self.derived_in(meta).any(|derived| {
            names
                .iter()
                .any(|name| name.split('.').next() == Some(derived.field.name))
        })
    }

    /// Whether documents hold copies, or are the sources of some.
    pub(crate) fn takes_part(&self, meta: &DocumentMeta) -> bool {
        self.outgoing(meta).any(|edge| !edge.copies.is_empty())
            || self.incoming(meta).any(|edge| !edge.copies.is_empty())
            || self.derived_in(meta).next().is_some()
            || self.derived_from(meta).next().is_some()
    }

    /// Whether something that the library keeps true depends on documents, so that they may not be lost when another server
    /// becomes the primary.
    pub(crate) fn is_depended_on(&self, meta: &DocumentMeta) -> bool {
        self.takes_part(meta) || self.is_linked(meta)
    }

    /// Whether documents have two-way references.
    pub(crate) fn is_linked(&self, meta: &DocumentMeta) -> bool {
        self.outgoing(meta).any(Edge::is_two_way)
    }

    /// Finds the other side of a two-way reference.
    fn join(&mut self, at: usize, problems: &mut Vec<String>) {
        let Some(edge) = self.edges.get(at) else { return };
        let Some(inverse) = edge.reference.inverse else {
            return;
        };
        let name = format!("{}.{}", edge.holder.name, edge.field.rust);
        let mut problem = |why: String| problems.push(format!("`{name}` has `inverse = {inverse}`, {why}"));
        if edge.segments.len() != 1 || !is_field_of(edge.holder, edge.field) {
            return problem("which can stand only on a field of the document itself".to_owned());
        }
        if edge.reference.union || edge.reference.targets.len() != 1 {
            return problem("which needs a reference to one type of document".to_owned());
        }
        if (edge.reference.by)() != "_id" {
            return problem("which needs a reference by `_id`".to_owned());
        }
        let Some(target) = edge.targets.first() else {
            return;
        };
        let Some(field) = fields(target)
            .unwrap_or_default()
            .iter()
            .find(|field| field.rust == inverse)
        else {
            return problem(format!("and `{}` has no field `{inverse}`", target.name));
        };
        let Some(other) = self
            .edges
            .iter()
            .find(|other| is(other.holder, target) && other.segments.len() == 1 && other.path == field.name)
        else {
            return problem(format!("and `{}.{inverse}` is not a reference", target.name));
        };
        if !other.targets.iter().any(|back| is(back, edge.holder)) {
            return problem(format!(
                "and `{}.{inverse}` does not refer to `{}`",
                target.name, edge.holder.name
            ));
        }
        match other.reference.inverse {
            Some(back) if back == edge.field.rust => {}
            _ => {
                return problem(format!(
                    "and `{}.{inverse}` does not say `inverse = {}`",
                    target.name, edge.field.rust
                ));
            }
        }
        if !edge.list && !other.list && !edge.reference.optional && !other.reference.optional {
            return problem(format!(
                "and neither of `{name}` and `{}.{inverse}` is an `Option`: then none of the two documents could be \
                 inserted before the other",
                target.name
            ));
        }
        let other = other.at;
        if let Some(edge) = self.edges.get_mut(at) {
            edge.inverse = Some(other);
        }
    }

    fn choose_owners(&mut self) {
        for at in 0..self.edges.len() {
            let Some(edge) = self.edges.get(at) else { continue };
            let Some(other) = edge.inverse.and_then(|other| self.edges.get(other)) else {
                continue;
            };
            let owner = match (edge.list, other.list) {
                (false, true) => true,
                (true, false) => false,
                _ => (edge.holder.collection, &edge.path) <= (other.holder.collection, &other.path),
            };
            if let Some(edge) = self.edges.get_mut(at) {
                edge.owner = owner;
            }
        }
    }

    /// The registered documents.
    pub(crate) fn models(&self) -> impl Iterator<Item = &'static DocumentMeta> + '_ {
        self.models.iter().copied()
    }

    /// All references.
    pub(crate) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// One of them by its position.
    pub(crate) fn edge(&self, at: usize) -> Option<&Edge> {
        self.edges.get(at)
    }

    /// The registered document that is stored in a collection.
    pub(crate) fn model(&self, collection: &str) -> Option<&'static DocumentMeta> {
        self.models
            .iter()
            .find(|meta| meta.collection == collection)
            .copied()
    }

    /// Refuses a document that holds references and is not registered: nothing would keep them true.
    pub(crate) fn is_registered(&self, meta: &'static DocumentMeta) -> Result<(), Error> {
        if self.model(meta.collection).is_some() {
            return Ok(());
        }
        let mut walk = Walk::new(meta);
        walk.document();
        if let Some(field) = walk.derived.first() {
            return Err(Error::Models {
                problems: vec![format!(
                    "`{}.{}` is derived from other documents, and `{}` is not among the models: add it to `models![…]`",
                    meta.name, field.rust, meta.name
                )],
            });
        }
        match walk.found.first() {
            None => Ok(()),
            Some(found) => Err(Error::Models {
                problems: vec![format!(
                    "`{}.{}` is a reference, and `{}` is not among the models: add it to `models![…]`",
                    meta.name, found.path, meta.name
                )],
            }),
        }
    }

    /// The references that a document holds.
    pub(crate) fn outgoing(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.select(self.outgoing.get(meta.collection))
    }

    /// The references that may name a document.
    pub(crate) fn incoming(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.select(self.incoming.get(meta.collection))
    }

    /// The other side of a two-way reference.
    pub(crate) fn inverse(&self, edge: &Edge) -> Option<&Edge> {
        edge.inverse.and_then(|at| self.edges.get(at))
    }

    fn select<'g>(&'g self, list: Option<&'g Vec<usize>>) -> impl Iterator<Item = &'g Edge> + Clone {
        list.into_iter().flatten().filter_map(|at| self.edges.get(*at))
    }
}

/// Whether both are the constants of one document: there may be several copies of them in memory.
pub(crate) fn is(a: &DocumentMeta, b: &DocumentMeta) -> bool {
    std::ptr::eq(a, b) || a.collection == b.collection && a.name == b.name
}

pub(crate) fn fields(meta: &DocumentMeta) -> Option<&'static [FieldMeta]> {
    match (meta.shape)() {
        Shape::Struct(shape) => Some(shape.fields),
        _ => None,
    }
}

fn is_field_of(meta: &DocumentMeta, field: &FieldMeta) -> bool {
    fields(meta)
        .unwrap_or_default()
        .iter()
        .any(|own| own.rust == field.rust && own.name == field.name && own.reference.is_some())
}

/// A reference on the way of the walk.
struct Found {
    path: String,
    segments: Vec<Segment>,
    field: &'static FieldMeta,
    reference: &'static ReferenceMeta,
    max: Option<u64>,
    /// The types that it stands in.
    within: Vec<Type>,
    copies: Vec<CopyField>,
}

/// What a type is known by: its name, and the names and types of its parts.
type Type = (&'static str, Vec<(&'static str, &'static str)>);

struct Walk {
    meta: &'static DocumentMeta,
    found: Vec<Found>,
    /// The paths of values that are no references.
    plain: HashSet<String>,
    /// The paths of copies, with that of the reference that each is taken through.
    copied: BTreeMap<String, String>,
    /// The types that the walk is in.
    types: Vec<Type>,
    recursive: HashSet<Type>,
    /// Fields that are derived from children.
    derived: Vec<&'static FieldMeta>,
    /// The paths of fields that change often.
    volatile: Vec<String>,
    problems: Vec<String>,
}

/// Where the walk is.
#[derive(Clone, Default)]
struct Place {
    segments: Vec<Segment>,
    /// The map that it stands in.
    map: Option<String>,
    /// The array whose items are arrays themselves.
    nested: Option<String>,
    /// The tuple that it stands in.
    tuple: Option<String>,
}

impl Place {
    fn path(&self) -> String {
        path(&self.segments)
    }

    fn below(&self, name: &str) -> Place {
        let mut below = self.clone();
        below.segments.push(Segment {
            name: name.to_owned(),
            array: false,
        });
        below
    }

    /// In the items of an array.
    fn items(&self) -> Place {
        let mut items = self.clone();
        match items.segments.last_mut() {
            Some(last) if !last.array => last.array = true,
            _ => items.nested = Some(self.path()),
        }
        items
    }
}

fn path(segments: &[Segment]) -> String {
    let names: Vec<&str> = segments.iter().map(|segment| segment.name.as_str()).collect();
    names.join(".")
}

impl Walk {
    fn new(meta: &'static DocumentMeta) -> Walk {
        Walk {
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

    fn document(&mut self) {
        self.shape((self.meta.shape)(), &Place::default());
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

    fn shape(&mut self, shape: Shape, place: &Place) {
        match shape {
            Shape::Optional(inner) => self.shape(inner(), place),
            Shape::Array(items) | Shape::Fixed { items, .. } => self.shape(items(), &place.items()),
            Shape::Tuple(items) => self.positions(place, items.iter().map(|item| Part::Shape(item()))),
            Shape::Map(values) => {
                let inside = Place {
                    map: Some(place.path()),
                    ..place.below("$*")
                };
                self.shape(values(), &inside);
            }
            Shape::Bounded(field) => self.value(field, place),
            Shape::Struct(shape) => {
                let fields = shape.fields.iter().map(|field| (field.rust, field.ty)).collect();
                self.within((shape.name, fields), |walk| walk.fields(shape, place));
            }
            Shape::Enum(shape) => {
                let variants = shape.variants.iter().map(|variant| (variant.name, "")).collect();
                self.within((shape.name, variants), |walk| walk.variants(shape, place));
            }
            _ => {
                self.plain.insert(place.path());
            }
        }
    }

    fn within(&mut self, ty: Type, look: impl FnOnce(&mut Walk)) {
        if self.types.iter().filter(|other| **other == ty).count() >= RECURSIVE {
            let first = self
                .types
                .iter()
                .position(|other| *other == ty)
                .unwrap_or_default();
            self.recursive.extend(self.types.iter().skip(first).cloned());
            return;
        }
        self.types.push(ty);
        look(self);
        self.types.pop();
    }

    fn fields(&mut self, shape: &StructShape, place: &Place) {
        for field in shape.fields {
            match field.flatten {
                true => self.value(field, place),
                false => self.value(field, &place.below(field.name)),
            }
            if field.volatile {
                self.volatile.push(place.below(field.name).path());
            }
        }
        for field in shape.fields {
            if let Some(Copied::Field(copy)) = field.copied {
                self.copy(field, copy, place);
            }
        }
    }

    /// A copy belongs to the reference beside it.
    fn copy(&mut self, field: &'static FieldMeta, copy: &'static FieldCopy, place: &Place) {
        let (name, path) = (place.below(field.name).path(), place.below(copy.through).path());
        if let Some(tuple) = &place.tuple {
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
                sync: copy.sync,
                required: field.required,
            }),
        }
    }

    /// The parts of a tuple are found by their positions.
    fn positions(&mut self, place: &Place, parts: impl Iterator<Item = Part>) {
        for (at, part) in parts.enumerate() {
            let mut at = Place {
                tuple: Some(place.path()),
                ..place.below(&at.to_string())
            };
            if place.segments.last().is_none_or(|last| last.array) {
                at.nested = Some(place.path());
            }
            match part {
                Part::Shape(shape) => self.shape(shape, &at),
                Part::Field(field) => self.value(field, &at),
            }
        }
    }

    fn variants(&mut self, shape: &EnumShape, place: &Place) {
        for variant in shape.variants {
            let place = match shape.tagging {
                Tagging::External => place.below(variant.name),
                Tagging::Internal(_) | Tagging::Untagged => place.clone(),
                Tagging::Adjacent(_, content) => place.below(content),
            };
            match variant.body {
                Body::Unit => {}
                Body::Newtype(field) => self.value(field, &place),
                Body::Tuple(fields) => self.positions(&place, fields.iter().map(Part::Field)),
                Body::Struct(shape) => self.fields(shape, &place),
            }
        }
    }

    /// The value of a field.
    fn value(&mut self, field: &'static FieldMeta, place: &Place) {
        if field.bounds.opaque {
            if !matches!(field.copied, Some(Copied::Field(_))) {
                self.plain.insert(place.path());
            }
            return;
        }
        if let Some(Copied::Subset(_) | Copied::Computed(_)) = field.copied {
            match place.segments.len() {
                1 => self.derived.push(field),
                _ => self.problems.push(format!(
                    "`{}.{}` is derived from children, which only a field of the document itself can be",
                    self.meta.name,
                    place.path()
                )),
            }
            return;
        }
        match (field.reference, field.copied) {
            (Some(reference), _) => self.reference(field, reference, place),
            (None, Some(Copied::Field(_))) => {
                let plain = self.plain.clone();
                self.shape((field.shape)(), place);
                self.plain = plain;
            }
            (None, _) => self.shape((field.shape)(), place),
        }
    }

    fn reference(&mut self, field: &'static FieldMeta, reference: &'static ReferenceMeta, place: &Place) {
        let list = is_list((field.shape)());
        let place = if list { place.items() } else { place.clone() };
        let name = format!("{}.{}", self.meta.name, place.path());
        if let Some(map) = &place.map {
            return self.problems.push(format!(
                "`{name}` is a reference in the map `{map}`: no query and no index reaches the values of all keys; use an \
                 array of structs with a field for the key"
            ));
        }
        if let Some(array) = &place.nested {
            return self.problems.push(format!(
                "`{name}` is a reference in an array inside the array `{array}`: no query steps through both; use an array \
                 of structs"
            ));
        }
        let found = Found {
            path: place.path(),
            segments: place.segments,
            field,
            reference,
            max: field.bounds.max_items,
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

enum Part {
    Shape(Shape),
    Field(&'static FieldMeta),
}

fn same(a: &Found, b: &Found) -> bool {
    let (x, y) = (a.reference, b.reference);
    let tags = |reference: &ReferenceMeta| -> Vec<(&str, &str)> {
        let targets = reference.targets.iter();
        targets
            .map(|target| (target.tag, (target.document)().collection))
            .collect()
    };
    a.segments == b.segments
        && a.max == b.max
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

/// Whether a dotted name leads into the value at another one.
fn below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

impl Derived {
    /// The child's fields that it depends on: dotted names.
    pub(crate) fn reads(&self, graph: &Graph) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        names.extend(graph.edge(self.edge).map(|edge| edge.path.clone()));
        match self.what {
            What::Subset(subset) => {
                names.extend((subset.fields)().iter().map(|field| field.source.to_owned()));
                names.extend(subset.order.iter().map(|key| (key.path)().to_owned()));
            }
            What::Computed { of: "", .. } => {}
            What::Computed { of, .. } => names.push(of.to_owned()),
        }
        if let Some(filter) = &self.filter {
            fields_of(filter, &mut names);
        }
        names
    }

    /// Where it is kept for documents, in words: `products.reviews`.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.parent.collection, self.field.name)
    }
}

/// The fields that a condition looks at.
fn fields_of(filter: &Document, names: &mut Vec<String>) {
    for (name, value) in filter {
        if !name.starts_with('$') {
            names.push(name.clone());
            continue;
        }
        match value {
            Bson::Document(inner) => fields_of(inner, names),
            Bson::Array(items) => items
                .iter()
                .filter_map(Bson::as_document)
                .for_each(|inner| fields_of(inner, names)),
            _ => {}
        }
    }
}

impl Edge {
    /// The path of a copy beside it.
    pub(crate) fn copy_path(&self, copy: &CopyField) -> String {
        self.beside(copy.name)
    }

    /// The path of a field beside it.
    pub(crate) fn beside(&self, name: &str) -> String {
        match self.path.rsplit_once('.') {
            Some((prefix, _)) => format!("{prefix}.{name}"),
            None => name.to_owned(),
        }
    }

    /// Its own stored name.
    pub(crate) fn name(&self) -> &str {
        self.segments.last().map_or("", |last| last.name.as_str())
    }

    /// The array whose items hold it, if it stands in one: how many of the segments lead there.
    pub(crate) fn array(&self) -> Option<usize> {
        self.segments
            .iter()
            .position(|segment| segment.array)
            .map(|at| at + 1)
    }

    /// Whether it stands in an item of an array with copies of its target: an extended reference.
    pub(crate) fn is_entry(&self) -> bool {
        !self.copies.is_empty() && !self.list && self.array() == Some(self.segments.len().saturating_sub(1))
    }

    /// The copies that may be found where the reference is empty, and are nothing then: where it may be empty at all.
    pub(crate) fn bare_copies(&self) -> impl Iterator<Item = &CopyField> {
        let followed = |copy: &&CopyField| copy.sync != SyncMode::Snapshot && !self.field.required;
        self.copies.iter().filter(followed)
    }

    /// The stored name of the target's field whose value is the reference.
    pub(crate) fn by(&self) -> &'static str {
        (self.reference.by)()
    }

    /// Whether both sides hold it.
    pub(crate) fn is_two_way(&self) -> bool {
        self.inverse.is_some()
    }

    /// The stored name of the document's own field that it stands in.
    pub(crate) fn root(&self) -> &str {
        self.segments.first().map_or("", |first| first.name.as_str())
    }

    /// All references of this edge in a document, `null` and missing ones left out. Of a union they are documents:
    /// [`points`](Edge::points) says what they mean.
    pub(crate) fn values<'d>(&self, document: &'d RawDocument) -> impl Iterator<Item = RawBsonRef<'d>> {
        let mut values = Vec::new();
        if let Some((first, rest)) = self.segments.split_first()
            && let Some(value) = document.get(&first.name).ok().flatten()
        {
            collect(value, first.array, rest, &mut values);
        }
        values.into_iter()
    }

    /// The references in the value of a field that stands `depth` segments into the path. `item` says that the value is an
    /// item of the array there.
    pub(crate) fn values_below<'d>(
        &self,
        depth: usize,
        item: bool,
        value: RawBsonRef<'d>,
    ) -> impl Iterator<Item = RawBsonRef<'d>> {
        let mut values = Vec::new();
        if let Some(last) = depth.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let rest = self.segments.get(depth..).unwrap_or_default();
            collect(value, last.array && !item, rest, &mut values);
        }
        values.into_iter()
    }

    /// The collection that a stored reference names, as a position among the targets, and the key in it. `None` where a
    /// union has a tag of no target.
    pub(crate) fn points<'d>(&self, value: RawBsonRef<'d>) -> Option<(usize, RawBsonRef<'d>)> {
        if !self.reference.union {
            return (!self.targets.is_empty()).then_some((0, value));
        }
        let RawBsonRef::Document(document) = value else {
            return None;
        };
        let tag = document.get_str("type").ok()?;
        let at = self
            .reference
            .targets
            .iter()
            .position(|target| target.tag == tag)?;
        Some((at, document.get("id").ok().flatten()?))
    }

    /// The keys of all references to the target at this position.
    pub(crate) fn keys(&self, target: usize, document: &RawDocument) -> Vec<Key> {
        self.values(document)
            .filter_map(|value| self.points(value))
            .filter(|(at, _)| *at == target)
            .map(|(_, key)| Key::of(key))
            .collect()
    }

    /// The condition of the documents that refer to one of these keys of the target at this position.
    pub(crate) fn holders_of(&self, target: usize, keys: Vec<Bson>) -> Document {
        if !self.reference.union {
            return doc! { &self.path: { "$in": keys } };
        }
        let tag = self.reference.targets.get(target).map_or("", |target| target.tag);
        // Type and id have to be those of one item.
        match self.segments.iter().rposition(|segment| segment.array) {
            None => doc! {
                format!("{}.type", self.path): tag,
                format!("{}.id", self.path): { "$in": keys },
            },
            Some(at) => {
                let (array, rest) = self.segments.split_at(at + 1);
                let inner = match rest {
                    [] => String::new(),
                    rest => format!("{}.", path(rest)),
                };
                let item = doc! { format!("{inner}type"): tag, format!("{inner}id"): { "$in": keys } };
                doc! { path(array): { "$elemMatch": item } }
            }
        }
    }

    /// The position of a document among the targets.
    pub(crate) fn target(&self, meta: &DocumentMeta) -> Option<usize> {
        self.targets.iter().position(|target| is(target, meta))
    }

    /// Whether this side of a link is believed where the two differ: the document `holder` says whether it is linked to
    /// `target`. Of a field that is its own other side, the document with the lesser id is.
    pub(crate) fn is_authority(&self, holder: &Key, target: &Key) -> bool {
        match self.inverse == Some(self.at) {
            true => holder <= target,
            false => self.owner,
        }
    }

    /// The update that makes a single reference empty: a field that can't be missing is `null` then.
    pub(crate) fn cleared(&self) -> Document {
        match self.field.required {
            true => doc! { "$set": { &self.path: null } },
            false => doc! { "$unset": { &self.path: "" } },
        }
    }
}

fn collect<'d>(value: RawBsonRef<'d>, array: bool, rest: &[Segment], values: &mut Vec<RawBsonRef<'d>>) {
    if array {
        if let RawBsonRef::Array(items) = value {
            for item in items.into_iter().map_while(|item| item.ok()) {
                collect(item, false, rest, values);
            }
        }
        return;
    }
    let Some((next, rest)) = rest.split_first() else {
        if value != RawBsonRef::Null {
            values.push(value);
        }
        return;
    };
    let below = match value {
        RawBsonRef::Document(document) => document.get(&next.name).ok().flatten(),
        // A tuple.
        RawBsonRef::Array(items) => next
            .name
            .parse()
            .ok()
            .and_then(|at: usize| items.get(at).ok().flatten()),
        _ => None,
    };
    if let Some(below) = below {
        collect(below, next.array, rest, values);
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;

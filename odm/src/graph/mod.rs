//! The references of all registered documents, with what is derived by them, and whether they are sound together.
//!
//! The models that the [`Odm`](crate::Odm) was made with decide which references lead to a document, not the documents that a
//! program happens to load.

pub(crate) mod cascade;
mod claims;
mod collations;
pub(crate) mod concern;
pub(crate) mod declaration;
pub(crate) mod declared;
pub(crate) mod edge;
pub(crate) mod indexes;
pub(crate) mod known;
mod lost;
pub(crate) mod names;
pub(crate) mod others;
mod reads;
pub(crate) mod routing;
mod same;
pub(crate) mod shard_key;
pub(crate) mod sync;
#[cfg(test)]
pub(crate) mod testing;
mod walk;

pub(crate) use crate::graph::edge::{Derivation, Derived, DerivedId, Edge, EdgeId, ReferenceTarget, TwoWay};
pub(crate) use crate::graph::names::{fields_of, is, is_itself};
use crate::graph::routing::Routing;

use crate::graph::walk::{DeclaredReference, ModelWalk};
use crate::model::claims::GlobalKey;
use crate::model::copy::{Computed, Consistency, Copied};
use crate::model::document::DocumentMeta;
use crate::model::meta::Several;
use crate::model::normalize;
use crate::model::reference::{OnDelete, TargetMeta};
use crate::model::sensitive;
use crate::model::shape::{FieldMeta, Shape};
use crate::{Error, Model};
use mongodb::bson::{Bson, Document};
use std::collections::{HashMap, HashSet};
use std::ops::Index;
use std::sync::Arc;

/// All references of the registered documents.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    models: Arc<Vec<&'static DocumentMeta>>,
    edges: Arc<Vec<Edge>>,
    /// By the holder's collection.
    outgoing: Arc<HashMap<&'static str, Vec<EdgeId>>>,
    /// By the target's collection.
    incoming: Arc<HashMap<&'static str, Vec<EdgeId>>>,
    derived: Arc<Vec<Derived>>,
    /// What documents say of shard keys, by their collection.
    routings: Arc<HashMap<&'static str, Routing>>,
    /// The keys that are unique over all shards.
    keys: Arc<Vec<GlobalKey>>,
    /// The documents with sensitive fields, if there are any.
    sensitive: Option<Arc<[&'static DocumentMeta]>>,
    /// Whether anything is declared `consistency = atomic`.
    has_atomic: bool,
    /// The fields that programs with other models derive.
    pub(crate) others: crate::graph::known::KnownDeclarations,
}

impl Graph {
    /// The references of these documents.
    ///
    /// # Errors
    /// Everything that makes the set unsound, in sentences.
    pub(crate) fn of(models: &[Model]) -> Result<Graph, Vec<String>> {
        let mut graph = Graph {
            models: Arc::new(models.iter().map(|model| model.meta).collect()),
            ..Graph::default()
        };
        let mut problems = Vec::new();
        let mut derived = Vec::new();
        let mut volatile = HashMap::new();
        let models = graph.models.clone();
        for meta in models.iter().copied() {
            // A view takes part in no rule: the documents that it shows do.
            if meta.view().is_some() {
                continue;
            }
            if meta.field("_id").is_some_and(normalize::is_changed) {
                problems.push(format!(
                    "`{}._id` has a string with `normalize` in its type, and `get` and references name an id as it is given: normalize it \
                     where it is made, and demand its form by `pattern`",
                    meta.name
                ));
            }
            let mut walk = ModelWalk::new(meta);
            walk.document();
            problems.append(&mut walk.problems);
            for found in walk.found {
                graph.add(meta, found, &mut problems);
            }
            derived.extend(walk.derived.into_iter().map(|field| (meta, field)));
            volatile.insert(meta.collection, walk.volatile);
        }
        for position in 0..graph.edges.len() {
            graph.join(EdgeId::new(position), &mut problems);
        }
        for (meta, field) in derived {
            graph.derive(meta, field, &mut problems);
        }
        graph.add_global_keys(&mut problems);
        graph.check_collations(&mut problems);
        graph.check_expiry(&mut problems);
        graph.check_kinds(&mut problems);
        graph.check_soft_delete(&mut problems);
        graph.check_copies(&mut problems);
        graph.check_volatile(&volatile, &mut problems);
        graph.check_sensitive(&mut problems);
        graph.check_shard_keys(&mut problems);
        graph.find_routings(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        graph.choose_owners();
        let copies = graph.edges.iter().flat_map(|edge| &edge.copies);
        let kept = copies.map(|copy| copy.consistency);
        let mut kept = kept.chain(graph.derived.iter().map(|derived| derived.consistency));
        graph.has_atomic = kept.any(|consistency| consistency == Consistency::Atomic);
        let sensitive: Vec<_> = models
            .iter()
            .copied()
            .filter(|meta| sensitive::holds(meta))
            .collect();
        graph.sensitive = (!sensitive.is_empty()).then(|| sensitive.into());
        Ok(graph)
    }

    /// The same for another database, in which other programs may have declared other things. The references are shared.
    pub(crate) fn of_another_database(&self) -> Graph {
        Graph {
            models: self.models.clone(),
            edges: self.edges.clone(),
            outgoing: self.outgoing.clone(),
            incoming: self.incoming.clone(),
            derived: self.derived.clone(),
            routings: self.routings.clone(),
            keys: self.keys.clone(),
            sensitive: self.sensitive.clone(),
            has_atomic: self.has_atomic,
            others: crate::graph::known::KnownDeclarations::default(),
        }
    }

    fn add(&mut self, holder: &'static DocumentMeta, found: DeclaredReference, problems: &mut Vec<String>) {
        let reference = found.reference;
        let id = EdgeId::new(self.edges.len());
        let mut targets = Vec::new();
        for TargetMeta { document, tag } in reference.targets {
            let target = document();
            match self.models.iter().find(|meta| is_itself(meta, target)) {
                Some(registered) => targets.push(ReferenceTarget::new(id, targets.len(), registered, tag)),
                None if target.variant().is_some() => problems.push(format!(
                    "`{}.{}` refers to `{}`, which is one variant of an enum of documents: refer to the enum",
                    holder.name, found.path, target.name
                )),
                None => problems.push(format!(
                    "`{}.{}` refers to `{}`, which is not among the models: add it to `models![…]`",
                    holder.name, found.path, target.name
                )),
            }
        }
        let list = found.segments.last().is_some_and(|last| last.array);
        if let (Some(bucket), OnDelete::Pull, false) = (holder.bucket, reference.on_delete, list)
            && found
                .segments
                .first()
                .is_some_and(|first| first.name == bucket.items)
        {
            problems.push(format!(
                "`{}.{}` would remove whole items from a bucket, whose count and sums include them: say `on_delete = \
                 restrict`, `keep`, or of an `Option` `nullify`",
                holder.name, found.path
            ));
        }
        let outgoing = Arc::make_mut(&mut self.outgoing);
        outgoing.entry(holder.collection).or_default().push(id);
        for target in &targets {
            let incoming = Arc::make_mut(&mut self.incoming);
            let incoming = incoming.entry(target.meta.collection).or_default();
            if !incoming.contains(&id) {
                incoming.push(id);
            }
        }
        Arc::make_mut(&mut self.edges).push(Edge {
            id,
            holder,
            list,
            path: found.path,
            segments: found.segments,
            field: found.field,
            max: found.max,
            max_items: found.max_items,
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
        let (child, name, what, filter, consistency) = match field.copied {
            Some(Copied::Subset(subset)) => (
                subset.child,
                (subset.parent)().path(),
                Derivation::Subset(subset),
                subset.filter,
                subset.consistency,
            ),
            Some(Copied::Computed(Computed {
                child,
                parent,
                operation,
                of,
                filter,
                consistency,
            })) => {
                let what = Derivation::Computed {
                    operation: *operation,
                    of: of.map_or("", |of| of()),
                };
                (*child, parent().path(), what, *filter, *consistency)
            }
            _ => return,
        };
        let child = child();
        let full = format!("{}.{}", parent.name, field.rust);
        let Some(child) = self.models.iter().copied().find(|meta| is_itself(meta, child)) else {
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
        if let Some(operator) = filter.as_ref().and_then(unforeseen) {
            return problems.push(format!(
                "the filter of `{full}` has `{operator}`: the library can't tell of which fields of a `{}` it depends, and so \
                 not which writes change `{full}`; compare fields with values",
                child.name
            ));
        }
        let Some(target) = edge.target(parent) else {
            return problems.push(format!(
                "`{full}` is derived from the documents of `{}` that name their parent in `{name}`, which does not refer to `{}`",
                child.name, parent.name
            ));
        };
        let id = DerivedId::new(self.derived.len());
        Arc::make_mut(&mut self.derived).push(Derived {
            id,
            parent,
            field,
            child,
            target,
            what,
            filter,
            consistency,
        });
    }

    /// Copies that can't be kept in sync.
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
                .map(|copy| copy.consistency)
                .filter(|sync| *sync != Consistency::Snapshot);
            if let Some(first) = modes.next()
                && modes.any(|other| other != first)
            {
                problems.push(format!(
                    "the copies through `{name}` have different consistency modes: give all of them the same `consistency`, or `consistency \
                     = snapshot`"
                ));
            }
            if !matches!(edge.holder.several, Several::No) {
                problems.push(format!(
                    "`{name}` has copies beside it, and `{}` is an enum of documents, whose variants hold none yet: leave them out, and \
                     read the document by a join; or give that variant a collection of its own",
                    edge.holder.name
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
                    "`{name}` stands in an array inside an array: no update reaches the copies beside it; make it the items of one \
                     array, which say where they belong (`items: Vec<Item>` with `section` and the reference), or store references \
                     without copies in the inner array, and join"
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
                    "`{}` has two-way references, is the source or the holder of copies, or has a key with `unique(global)`, for which the \
                     library stores a field `_odm` of its own in the documents: remove `#[serde(deny_unknown_fields)]`",
                    meta.name
                ));
            }
        }
        if let Some(circle) = self.circle() {
            problems.push(format!(
                "circular copies, which would update each other forever: {circle}"
            ));
        }
    }

    /// A deletion that keeps documents takes only such with it that can be restored with them.
    fn check_soft_delete(&self, problems: &mut Vec<String>) {
        for edge in self.edges.iter() {
            let mut targets = edge.targets.iter().map(|target| target.meta);
            let target = targets.find(|target| target.soft_delete.is_some());
            let Some(target) = target.filter(|_| edge.reference.on_delete == OnDelete::Cascade) else {
                continue;
            };
            // The items of a bucket stay until the purge.
            if edge.holder.soft_delete.is_none() && edge.holder.bucket.is_none() {
                problems.push(format!(
                    "`{}.{}` has `on_delete = cascade`, and a deletion keeps a `{}` (`soft_delete`), so that it can be restored with \
                     everything that went with it: declare `soft_delete` on `{}` too, or `on_delete = restrict` or `keep`",
                    edge.holder.name, edge.path, target.name, edge.holder.name
                ));
            }
        }
        for meta in self.models.iter().filter(|meta| meta.soft_delete.is_some()) {
            if let Shape::Struct(shape) = (meta.shape)()
                && shape.deny_unknown
            {
                problems.push(format!(
                    "a deletion keeps a `{}`, and marks it in a field `_odm` of the library's own: remove \
                     `#[serde(deny_unknown_fields)]`",
                    meta.name
                ));
            }
        }
    }

    /// Rule five, of what only the whole set of models shows: the fields in a condition, and those within other fields.
    fn check_volatile(&self, volatile: &HashMap<&'static str, Vec<String>>, problems: &mut Vec<String>) {
        for derived in self.derived.iter() {
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

    /// A copy shows the value of its source.
    fn check_sensitive(&self, problems: &mut Vec<String>) {
        for edge in self.edges.iter() {
            for (copy, target) in edge
                .copies
                .iter()
                .flat_map(|copy| edge.targets.iter().map(move |of| (copy, of)))
            {
                let path = edge.copy_path(copy);
                if sensitive::conceals(target.meta, copy.source) && !sensitive::conceals(edge.holder, &path) {
                    problems.push(format!(
                        "`{}.{path}` copies `{}.{}`, which is sensitive, so that errors and logs would show it: write `#[field(sensitive)]` \
                         on the copy too",
                        edge.holder.name, target.meta.name, copy.source
                    ));
                }
            }
        }
    }

    /// The documents with sensitive fields.
    pub(crate) fn sensitive(&self) -> Option<Arc<[&'static DocumentMeta]>> {
        self.sensitive.clone()
    }

    /// The fields of a document that others are derived from, or that are derived themselves, form a graph of their own:
    /// a circle in it, in words.
    fn circle(&self) -> Option<String> {
        // By field: the fields that are written when it changes.
        let mut next: HashMap<(&str, String), Vec<(&str, String)>> = HashMap::new();
        for edge in self.edges.iter() {
            for copy in edge
                .copies
                .iter()
                .filter(|copy| copy.consistency != Consistency::Snapshot)
            {
                let written = (edge.holder.collection, edge.copy_path(copy));
                for target in &edge.targets {
                    let source = (target.meta.collection, copy.source.to_owned());
                    next.entry(source).or_default().push(written.clone());
                }
            }
        }
        for derived in self.derived.iter() {
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

    /// Those that are derived from a document, but those that are declared by others in another way.
    pub(crate) fn derived_from(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Derived> + Clone {
        let others = self.others();
        self.all_derived_from(meta).filter(move |derived| {
            let others = others.as_ref();
            !others.is_some_and(|others| others.derive(derived))
        })
    }

    /// The same with those.
    pub(crate) fn all_derived_from(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Derived> + Clone {
        let collection = meta.collection;
        self.derived
            .iter()
            .filter(move |one| one.child.collection == collection)
    }

    /// Whether a condition on documents asks for what is derived in them.
    pub(crate) fn is_derived_by(&self, meta: &DocumentMeta, filter: &Document) -> bool {
        let mut names = Vec::new();
        fields_of(filter, &mut names);
        self.derived_in(meta).any(|derived| {
            names
                .iter()
                .any(|name| name.split('.').next() == Some(derived.field.name))
        })
    }

    /// Whether documents hold copies, are the sources of some, or claim values.
    pub(crate) fn takes_part(&self, meta: &DocumentMeta) -> bool {
        self.outgoing(meta).any(|edge| !edge.copies.is_empty())
            || self.incoming(meta).any(|edge| !edge.copies.is_empty())
            || self.derived_in(meta).next().is_some()
            || self.all_derived_from(meta).next().is_some()
            || self.is_claimed(meta)
            || self.is_for_others(meta)
    }

    /// Whether something that the library keeps true depends on documents, so that they may not be lost when another server
    /// becomes the primary.
    pub(crate) fn is_depended_on(&self, meta: &DocumentMeta) -> bool {
        self.takes_part(meta) || self.is_linked(meta)
    }

    /// The documents of which something is kept true.
    pub(crate) fn depended_on(&self) -> impl Iterator<Item = &'static DocumentMeta> {
        self.models().filter(|meta| self.is_depended_on(meta))
    }

    /// Whether documents have two-way references.
    pub(crate) fn is_linked(&self, meta: &DocumentMeta) -> bool {
        self.outgoing(meta).any(Edge::is_two_way)
    }

    /// Finds the other side of a two-way reference.
    fn join(&mut self, id: EdgeId, problems: &mut Vec<String>) {
        let edge = &self[id];
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
        let Some(target) = edge.targets.first().map(|target| target.meta) else {
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
        if other.target(edge.holder).is_none() {
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
        let other = other.id;
        if let Some(edge) = Arc::make_mut(&mut self.edges).get_mut(id.position()) {
            edge.inverse = Some(other);
        }
    }

    fn choose_owners(&mut self) {
        for at in 0..self.edges.len() {
            let Some(edge) = self.edges.get(at) else { continue };
            let Some(other) = self.inverse(edge) else {
                continue;
            };
            let owner = match (edge.list, other.list) {
                (false, true) => true,
                (true, false) => false,
                _ => (edge.holder.collection, &edge.path) <= (other.holder.collection, &other.path),
            };
            if let Some(edge) = Arc::make_mut(&mut self.edges).get_mut(at) {
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

    /// The two sides of a two-way reference, that of the writes first.
    pub(crate) fn sides(&self, two_way: TwoWay) -> (&Edge, &Edge) {
        (&self[two_way.edge], &self[two_way.other])
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
        let mut walk = ModelWalk::new(meta);
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

    /// Whether a document refers to others, or others to it.
    pub(crate) fn is_related(&self, meta: &DocumentMeta) -> bool {
        self.outgoing(meta).chain(self.incoming(meta)).next().is_some()
    }

    /// The references that may name a document.
    pub(crate) fn incoming(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.select(self.incoming.get(meta.collection))
    }

    /// The other side of a two-way reference.
    pub(crate) fn inverse(&self, edge: &Edge) -> Option<&Edge> {
        edge.inverse.map(|id| &self[id])
    }

    fn select<'g>(&'g self, list: Option<&'g Vec<EdgeId>>) -> impl Iterator<Item = &'g Edge> + Clone {
        list.into_iter().flatten().map(|id| &self[*id])
    }
}

impl Index<DerivedId> for Graph {
    type Output = Derived;

    #[allow(clippy::indexing_slicing)]
    fn index(&self, id: DerivedId) -> &Derived {
        &self.derived[id.position()]
    }
}

/// Only a graph makes identities of references, and all graphs of one set of models have the same references.
impl Index<EdgeId> for Graph {
    type Output = Edge;

    #[allow(clippy::indexing_slicing)]
    fn index(&self, id: EdgeId) -> &Edge {
        &self.edges[id.position()]
    }
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

/// Whether a dotted name leads into the value at another one.
fn below(name: &str, above: &str) -> bool {
    name.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

/// The operator in a condition that does not say at which fields it looks, or that can't stand in a pipeline.
fn unforeseen(filter: &Document) -> Option<&str> {
    const ANY: [&str; 6] = ["$expr", "$where", "$text", "$jsonSchema", "$near", "$nearSphere"];
    filter.iter().find_map(|(name, value)| match value {
        _ if ANY.contains(&name.as_str()) => Some(name.as_str()),
        // A value, whatever it holds.
        _ if matches!(
            name.as_str(),
            "$eq" | "$ne" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$nin"
        ) =>
        {
            None
        }
        Bson::Document(inner) => unforeseen(inner),
        Bson::Array(items) => items.iter().filter_map(Bson::as_document).find_map(unforeseen),
        _ => None,
    })
}

#[cfg(test)]
mod tests;

//! What all models together say of shard keys, worked out once: by `same(…)`, and by copies of the fields of a key.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::graph::routing::{KeySource, Routing, TargetRoute, own_field, same};
use crate::model::document::DocumentMeta;
use crate::model::shape;
use std::collections::HashMap;

impl Graph {
    /// What documents of this type say of shard keys, if they say anything.
    pub(crate) fn routing(&self, meta: &DocumentMeta) -> Option<&Routing> {
        self.routings.get(meta.collection)
    }

    /// Whether any model says something of shard keys.
    pub(crate) fn has_routings(&self) -> bool {
        !self.routings.is_empty()
    }

    /// Works out which fields give shard keys.
    ///
    /// # Errors
    /// `same` with fields that one of the two documents does not have, and of a reference that is not checked, in sentences.
    pub(super) fn find_routings(&mut self, problems: &mut Vec<String>) {
        self.edges.iter().for_each(|edge| check_same(edge, problems));
        let is_any = self.models.iter().any(|meta| meta.shard_key.is_some())
            || self.edges.iter().any(|edge| !edge.reference.same.is_empty());
        if !is_any || !problems.is_empty() {
            return;
        }
        let mut routings: HashMap<&'static str, Routing> = HashMap::new();
        for meta in self.models.iter() {
            let routing = routings.entry(meta.collection).or_default();
            routing.key = meta.key_beside_id().collect();
            for edge in self.incoming(meta) {
                add(&mut routing.named_by, Some(edge.by()).filter(|by| *by != "_id"));
                add(&mut routing.same, same(edge));
            }
            for edge in self.outgoing(meta) {
                add(&mut routing.same, same(edge));
                routing.targets.extend(target_routes(edge));
            }
            let copies = routing.targets.iter().flat_map(|route| {
                let edge = &self[route.target.edge];
                route.sources.iter().filter_map(|source| match source {
                    KeySource::Beside(name) => Some(edge.beside(name)),
                    KeySource::Unknown | KeySource::Own(_) => None,
                })
            });
            let read = routing.fixed().map(str::to_owned).chain(copies).collect();
            routing.read = read;
        }
        routings.retain(|_, routing| !routing.read.is_empty());
        self.routings = routings.into();
    }
}

fn add(all: &mut Vec<&'static str>, more: impl IntoIterator<Item = &'static str>) {
    for name in more {
        if !all.contains(&name) {
            all.push(name);
        }
    }
}

fn target_routes(edge: &Edge) -> impl Iterator<Item = TargetRoute> {
    edge.targets.iter().filter_map(|target| {
        let sources: Vec<KeySource> = target
            .meta
            .key_beside_id()
            .map(|name| {
                let copy = edge.copies.iter().find(|copy| copy.source == name);
                match (same(edge).find(|same| *same == name), copy) {
                    (Some(own), _) => KeySource::Own(own),
                    (None, Some(copy)) if !edge.list => KeySource::Beside(copy.name),
                    (None, _) => KeySource::Unknown,
                }
            })
            .collect();
        let is_known = sources.iter().any(|source| !matches!(source, KeySource::Unknown));
        is_known.then_some(TargetRoute {
            target: *target,
            sources,
        })
    })
}

fn check_same(edge: &Edge, problems: &mut Vec<String>) {
    let label = format!("{}.{}", edge.holder.name, edge.path);
    if !edge.reference.same.is_empty() && !edge.reference.check {
        problems.push(format!(
            "`{label}` has `same`, which every write compares with the document that it names, and `check = false`, by which there need \
             be none: leave out one of them"
        ));
    }
    for name in edge.reference.same {
        let Some(own) = own_field(edge.holder, name) else {
            problems.push(format!(
                "`{label}` has `same({name})`, and `{}` has no field `{name}`: `same` names fields of the whole document, as in Rust",
                edge.holder.name
            ));
            continue;
        };
        let shape = (own.shape)();
        if !own.required || matches!(shape, shape::Shape::Optional(_)) {
            problems.push(format!(
                "`{label}` has `same({name})`, and `{}.{name}` may be missing or `null`: the other document is found by its value, so \
                 every document has to have one",
                edge.holder.name
            ));
        }
        for target in &edge.targets {
            let other = target.meta.field(own.name);
            let is_alike = other.is_some_and(|other| {
                std::mem::discriminant(&shape::inner((other.shape)()))
                    == std::mem::discriminant(&shape::inner(shape))
            });
            if !is_alike {
                problems.push(format!(
                    "`{label}` has `same({name})`, and `{}` has no field `{}` of the same type: a reference is to a document with the same \
                     value",
                    target.meta.name, own.name
                ));
            }
        }
    }
}

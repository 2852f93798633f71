//! Rules that would be lost because the server deletes documents itself: by an index with a time to live, or in a capped
//! collection that is full. No rule of the library is applied to such a deletion.

use crate::graph::Graph;
use crate::graph::edge::{Derived, Edge};
use crate::model::document::{CollectionKind, DocumentMeta};
use crate::model::meta::options::DeclaredIndex;
use crate::model::reference::OnDelete;

impl Graph {
    /// The first reason why documents of this type are to be deleted by the library alone, in words that end a sentence, and
    /// what to change so that it does not hold. `None` where nothing depends on their deletion.
    pub(crate) fn needs_rules_of_deletion(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        self.refers(meta)
            .or_else(|| self.is_one_side(meta))
            .or_else(|| self.is_source(meta))
            .or_else(|| self.is_derived_from(meta))
            .or_else(|| self.frees_claims(meta))
    }

    /// An index by which the server deletes documents that the library has to delete.
    pub(crate) fn check_expiry(&self, problems: &mut Vec<String>) {
        for meta in self.models() {
            let Some((why, instead)) = self.needs_rules_of_deletion(meta) else {
                continue;
            };
            for DeclaredIndex { index, .. } in meta.indexes_of_collection() {
                let (Some(seconds), [key]) = (index.expire_after, index.keys) else {
                    continue;
                };
                let path = (key.path)();
                let field = meta.field(path).map_or(path, |field| field.rust);
                let expire = match seconds {
                    0 => format!("expire = {field}"),
                    _ => format!("expire(field = {field}, after = {seconds})"),
                };
                problems.push(format!(
                    "by the index on `{}.{path}` (`expire_after`) MongoDB deletes documents without the rules of the library, and {why}: \
                     write `#[document({expire})]` in its place, by which `Odm::worker` and `Odm::delete_expired` delete them by these \
                     rules, or {instead}",
                    meta.name
                ));
            }
        }
    }

    /// Capped collections and time series, in which no rule can change or delete a document, and views of what is not there.
    pub(crate) fn check_kinds(&self, problems: &mut Vec<String>) {
        for meta in self.models() {
            let kind = match meta.kind {
                CollectionKind::Plain => continue,
                CollectionKind::View(view) => {
                    let (of, collection) = ((view.of)(), (view.collection)());
                    if self.model(collection).is_none() {
                        problems.push(format!(
                            "`{}` is a view of `{of}`, which is not among the models: add it to `models![…]`",
                            meta.name
                        ));
                    }
                    continue;
                }
                CollectionKind::Capped { .. } | CollectionKind::TimeSeries(_) => meta.kind,
            };
            if let Some((why, instead)) = self.needs_rules_of_deletion(meta) {
                problems.push(format!(
                    "`{}` is stored in {kind}, where the server deletes documents without the rules of the library, and {why}: store \
                     it in a plain collection, or {instead}",
                    meta.name
                ));
            }
            if let Some(derived) = self.derived_in(meta).next() {
                problems.push(format!(
                    "`{}.{}` is computed from other documents, and `{}` is stored in {kind}, whose documents take no changes in \
                     a transaction: leave it out, or store the document in a plain collection",
                    meta.name, derived.field.rust, meta.name
                ));
            }
            for edge in self.outgoing(meta).filter(|edge| !edge.is_two_way()) {
                let name = format!("{}.{}", meta.name, edge.path);
                if edge.consistency().is_some() {
                    problems.push(format!(
                        "the copies beside `{name}` would have to follow their source, and `{}` is stored in {kind}, whose documents \
                         take no changes in a transaction: say `consistency = snapshot`, or leave the copies out and join",
                        meta.name
                    ));
                }
                if edge.reference.on_delete != OnDelete::Keep {
                    problems.push(format!(
                        "`{name}` has `on_delete = {}`, and `{}` is stored in {kind}, which loses documents and takes no changes in a \
                         transaction: say `on_delete = keep`",
                        edge.reference.on_delete, meta.name
                    ));
                }
            }
        }
    }

    fn refers(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        let follows = |edge: &&Edge| edge.reference.on_delete != OnDelete::Keep && !edge.is_two_way();
        let edge = self.incoming(meta).find(follows)?;
        let name = format!("`{}.{}`", edge.holder.name, edge.path);
        Some((
            format!("{name} refers to it (`on_delete = {}`)", edge.reference.on_delete),
            format!("say `on_delete = keep` for {name}, which may name a deleted document then"),
        ))
    }

    fn is_one_side(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        let edge = self.outgoing(meta).find(|edge| edge.is_two_way())?;
        let name = format!("`{}.{}`", edge.holder.name, edge.path);
        Some((
            format!("{name} is one side of a two-way reference"),
            format!("make {name} a one-way reference: leave out `inverse`"),
        ))
    }

    fn is_source(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        let edge = self.incoming(meta).find(|edge| edge.consistency().is_some())?;
        let name = format!("`{}.{}`", edge.holder.name, edge.path);
        Some((
            format!("copies beside {name} are kept in sync with it"),
            format!("say `consistency = snapshot` for the copies beside {name}"),
        ))
    }

    fn frees_claims(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        let key = self.global_keys(meta).next()?;
        let paths = key.paths.join("`, `");
        Some((
            format!(
                "its documents claim the values of `{paths}` (`unique(global)`), and their claims would stay"
            ),
            format!("leave out `unique(global)` of `{paths}`"),
        ))
    }

    fn is_derived_from(&self, meta: &DocumentMeta) -> Option<(String, String)> {
        let derived: &Derived = self.derived_from(meta).next()?;
        let name = format!("`{}.{}`", derived.parent.name, derived.field.rust);
        Some((
            format!("{name} is derived from its documents"),
            format!("leave out {name}"),
        ))
    }
}

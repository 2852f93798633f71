//! Calls the functions that a model declares as its hooks, for the documents that an operation has changed.
//!
//! The engine compares these documents before and after the operation, in its transaction (`engine/hooks/mod.rs`). What calls a hook knows its
//! types: generated code, which `api/hooks.rs` decodes the documents for.

use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::meta::{HookCall, HookMeta, HookTime};
use crate::model::own_fields::OWN;
use crate::store::batch::document_id;
use crate::store::session::Session;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf};
use std::any::Any;
use std::sync::{Arc, Mutex};

/// Maximum number of hooks that call each other by their writes: each is polled within the one before.
const MAX_DEPTH: u8 = 8;

/// The transaction in which a hook is called.
pub(crate) struct HookTx {
    pub(crate) odm: Odm,
    pub(crate) session: Session,
}

/// A document with hooks that an operation has changed.
pub(crate) struct HookedDocument {
    pub(crate) meta: &'static DocumentMeta,
    /// `None` where it was not there.
    pub(crate) before: Option<RawDocumentBuf>,
    /// `None` where it is gone.
    pub(crate) after: Option<RawDocumentBuf>,
}

/// Documents of a committed transaction, whose hooks are still to be called.
pub(crate) type HandOver = Arc<Mutex<Vec<HookedDocument>>>;

impl HookedDocument {
    /// Whether the application's part of it has changed, and not only the bookkeeping of the library.
    pub(crate) fn is_changed(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => !is_same(before, after),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        }
    }

    fn id(&self) -> Bson {
        let document = self.after.as_ref().or(self.before.as_ref());
        document.map_or(Bson::Null, document_id)
    }

    fn hooks(&self, at: HookTime) -> impl Iterator<Item = &'static HookMeta> + use<> {
        self.meta.hooks.iter().filter(move |hook| hook.at == at)
    }

    /// Calls a hook with it.
    async fn call(&self, hook: &HookMeta, handle: &(dyn Any + Send + Sync)) -> Result<()> {
        let call = HookCall {
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            handle,
        };
        let Err(source) = (hook.call)(call)?.await else {
            return Ok(());
        };
        match source.downcast::<Error>() {
            // The transaction is to be run again.
            Ok(error) if error.is_transient_transaction_error() => Err(*error),
            Ok(error) => Err(self.refused(hook, error)),
            Err(source) => Err(self.refused(hook, source)),
        }
    }

    fn refused(&self, hook: &HookMeta, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::Hook {
            collection: self.meta.collection,
            hook: hook.name,
            id: Box::new(self.id()),
            source,
        }
    }
}

fn is_same(before: &RawDocument, after: &RawDocument) -> bool {
    fn own(document: &RawDocument) -> impl Iterator<Item = Option<(&str, RawBsonRef<'_>)>> {
        let elements = document.iter().map(|element| {
            let (name, value) = element.ok()?;
            Some((name.as_str(), value))
        });
        elements.filter(|element| !matches!(element, Some((OWN, _))))
    }
    before.as_bytes() == after.as_bytes() || own(before).eq(own(after))
}

/// Whether the deletion of documents of this type calls hooks: their own, or those of documents that a cascade deletes with them.
pub(crate) fn is_reached(graph: &Graph, meta: &'static DocumentMeta) -> bool {
    if meta.has_hooks() || !graph.models().any(DocumentMeta::has_hooks) {
        return meta.has_hooks();
    }
    graph
        .cascades(meta, |_| true)
        .into_iter()
        .any(DocumentMeta::has_hooks)
}

/// Calls the hooks within a transaction: first those that may refuse the write of any of the documents, then the others.
///
/// # Errors
/// [`Error::Hook`] for the first error of a hook; [`Error::Decode`] for a document that can't be decoded; [`Error::Query`] where hooks call
/// each other without an end.
pub(crate) async fn call_within(odm: &Odm, session: &Session, changed: &[HookedDocument]) -> Result<()> {
    let times = [HookTime::BeforeWrite, HookTime::InTransaction];
    let is_called = |document: &HookedDocument| times.iter().any(|at| document.hooks(*at).next().is_some());
    let Some(first) = changed.iter().find(|document| is_called(document)) else {
        return Ok(());
    };
    let Some(odm) = odm.of_hook(MAX_DEPTH) else {
        return Err(endless(first));
    };
    let handle = HookTx {
        odm,
        session: session.clone(),
    };
    for at in times {
        for document in changed {
            for hook in document.hooks(at) {
                document.call(hook, &handle).await?;
            }
        }
    }
    Ok(())
}

/// The error of hooks whose writes call hooks again and again.
fn endless(document: &HookedDocument) -> Error {
    Error::Query {
        collection: document.meta.collection,
        message: format!(
            "the hooks of documents have called each other {MAX_DEPTH} times by their writes: a hook that writes a document which calls it \
             again has to write nothing where nothing is left to do"
        ),
    }
}

/// Calls the hooks that follow the commit. It stays committed whatever they return, so their errors are logged.
pub(crate) async fn call_after_commit(odm: &Odm, changed: Vec<HookedDocument>) {
    let of_hook = odm.of_hook(MAX_DEPTH);
    for document in &changed {
        for hook in document.hooks(HookTime::AfterCommit) {
            let called = match &of_hook {
                Some(odm) => document.call(hook, odm).await,
                None => Err(endless(document)),
            };
            if let Err(error) = called {
                tracing::warn!(
                    target: "odm",
                    collection = document.meta.collection,
                    hook = hook.name,
                    %error,
                    "a hook failed after the commit of the write that it follows"
                );
            }
        }
    }
}

/// Whether hooks follow the commit of a write of documents of this type.
pub(crate) fn follows_commit(meta: &DocumentMeta) -> bool {
    meta.hooks.iter().any(|hook| hook.at == HookTime::AfterCommit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::{ID, graph, meta, one, target, to};
    use crate::model::reference::{OnDelete, ReferenceMeta};
    use crate::model::shape::{Shape, StructShape};
    use mongodb::bson::doc;

    const HOOK: HookMeta = HookMeta {
        name: "check",
        at: HookTime::BeforeWrite,
        call: |_| Ok(Box::pin(async { Ok(()) })),
    };

    static TREE: DocumentMeta = meta("Tree", "trees", || {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Tree",
                    fields: &[ID],
                    deny_unknown: false,
                }
            },
        )
    });

    const OF_TREE: ReferenceMeta = to(&[target(|| &TREE)]);
    const WITH_TREE: ReferenceMeta = ReferenceMeta {
        on_delete: OnDelete::Cascade,
        ..OF_TREE
    };
    const WITH_BRANCH: ReferenceMeta = ReferenceMeta {
        targets: &[target(|| &BRANCH)],
        ..WITH_TREE
    };

    static BRANCH: DocumentMeta = meta("Branch", "branches", || {
        Shape::Struct(
            const {
                &StructShape {
                    ty: None,
                    name: "Branch",
                    fields: &[ID, one("tree", &WITH_TREE)],
                    deny_unknown: false,
                }
            },
        )
    });

    static LEAF: DocumentMeta = DocumentMeta {
        hooks: &[HOOK],
        checks: &[],
        ..meta("Leaf", "leaves", || {
            Shape::Struct(
                const {
                    &StructShape {
                        ty: None,
                        name: "Leaf",
                        fields: &[ID, one("branch", &WITH_BRANCH), one("tree", &OF_TREE)],
                        deny_unknown: false,
                    }
                },
            )
        })
    };

    #[test]
    fn a_deletion_reaches_the_hooks_of_documents_below_by_cascades_alone() {
        let all = graph(&[&TREE, &BRANCH, &LEAF]).expect("sound");
        assert!(is_reached(&all, &TREE) && is_reached(&all, &BRANCH) && is_reached(&all, &LEAF));
        // `Leaf.tree` restricts the deletion.
        let without = graph(&[&TREE, &BRANCH]).expect("sound");
        assert!(!is_reached(&without, &TREE) && !is_reached(&without, &BRANCH));
        assert!(
            is_reached(&without, &LEAF),
            "a document of its own, also where it is not registered"
        );
    }

    #[test]
    fn bookkeeping_of_the_library_is_no_change() {
        let raw = |document| Some(RawDocumentBuf::try_from(&document).expect("encodes"));
        let is_changed = |before, after| {
            let meta = &LEAF;
            HookedDocument { meta, before, after }.is_changed()
        };
        let (a, marked) = (
            doc! { "_id": 1, "a": 2 },
            doc! { "_id": 1, "a": 2, "_odm": { "version": 3_i64 } },
        );
        let again = doc! { "_id": 1, "_odm": { "version": 4_i64 }, "a": 2 };
        assert!(!is_changed(raw(a.clone()), raw(a.clone())));
        assert!(
            !is_changed(raw(a.clone()), raw(marked.clone())) && !is_changed(raw(marked.clone()), raw(again))
        );
        assert!(is_changed(raw(marked), raw(doc! { "_id": 1, "a": 3 })));
        assert!(is_changed(None, raw(a.clone())) && is_changed(raw(a), None) && !is_changed(None, None));
    }
}

//! The stages of a pipeline by which the server joins.

use crate::model::document::DocumentMeta;
use crate::model::path::Step;
use crate::model::reference::{Pointer, Reference};
use crate::model::shape::Shape;
use crate::model::stored::Row;
use crate::{Document, Error, Result, store::decode};
use mongodb::bson::{self, Bson, RawDocument, RawDocumentBuf, doc};

/// The stages of a pipeline that joins, and the number of the next join.
#[derive(Default)]
pub struct Stages {
    pub(crate) list: Vec<bson::Document>,
    number: u32,
    /// The field that the first join gives, where the application names it.
    field: Option<String>,
    /// Whether a stage has a pipeline of its own, which older servers don't take.
    pub(crate) has_pipelines: bool,
}

/// The error for a condition with `near`, which a pipeline can't have.
pub(super) fn no_near(collection: &'static str) -> Error {
    Error::Query {
        collection,
        message: "a condition with `near` can't be part of a pipeline, which `lookup` makes of the query and its joins: leave out \
                  `lookup`, and `include` asks for each collection by a query of its own"
            .to_owned(),
    }
}

/// The field into which the server puts what join number `number` gives. A field of the application's own does not start
/// like this.
pub(super) fn name(number: u32) -> String {
    format!("__odm_join_{number}")
}

/// Whether documents may lack this field. To `$lookup`, whatever lacks it is equal to whatever has no reference.
fn may_lack(meta: &DocumentMeta, field: &str) -> bool {
    field != "_id"
        && meta
            .field(field)
            .is_none_or(|field| !field.required || matches!((field.shape)(), Shape::Optional(_)))
}

/// The reference, or where there is none a value that no field has.
fn given(reference: impl Into<Bson>) -> bson::Document {
    doc! { "$ifNull": [reference, Bson::MinKey] }
}

/// The references of an array that are there, and a value that no field has: an empty array is no reference, too.
fn all_given(references: impl Into<Bson>) -> bson::Document {
    let given = doc! { "$filter": {
        "input": { "$ifNull": [references, []] },
        "cond": { "$ne": ["$$this", null] },
    } };
    doc! { "$concatArrays": [given, [Bson::MinKey]] }
}

/// A document as a struct, without what the server has joined to it where the struct refuses unknown fields.
pub(crate) fn read<Out: Row>(meta: &DocumentMeta, raw: &RawDocument) -> Result<Out> {
    match decode::decode(meta, raw) {
        Ok(document) => Ok(document),
        // Any other fault of it is the same with these fields and without.
        Err(error) => match decode::decode(meta, &without_joined(raw)) {
            Ok(document) => Ok(document),
            Err(_) => Err(error),
        },
    }
}

fn without_joined(raw: &RawDocument) -> RawDocumentBuf {
    let mut plain = RawDocumentBuf::new();
    for (name, value) in raw.iter().flatten() {
        if !name.as_str().starts_with("__odm_") {
            plain.append(name, value);
        }
    }
    plain
}

impl Stages {
    /// A join whose result is a field of this name.
    pub(crate) fn into_field_of(name: &str) -> Stages {
        Stages {
            field: Some(name.to_owned()),
            ..Stages::default()
        }
    }

    /// The stages of such a join without what they keep besides, and with the document itself where there is one at most.
    pub(crate) fn into_field(self, name: &str, one: bool) -> Vec<bson::Document> {
        let mut list = self.list;
        let kept = list
            .iter()
            .filter_map(|stage| stage.get_document("$set").ok())
            .flat_map(|set| set.keys().cloned())
            .collect::<Vec<String>>();
        if one {
            list.push(doc! { "$addFields": { name: { "$arrayElemAt": [format!("${name}"), 0] } } });
        }
        if !kept.is_empty() {
            list.push(doc! { "$unset": kept });
        }
        list
    }

    fn next(&mut self) -> String {
        let name = self.field.take().unwrap_or_else(|| name(self.number));
        self.number += 1;
        name
    }

    /// The targets of the references at `path`.
    pub(super) fn reference<R: Document, V: Reference, P: Step>(
        &mut self,
        by: &str,
        beyond: impl FnOnce(&mut Stages) -> Result<()>,
    ) -> Result<()> {
        let path = P::PATH;
        let local = format!("__odm_local_{}", self.number);
        let name = self.next();
        let [target] = V::Pointer::TARGETS else {
            return Err(Error::Query {
                collection: R::META.collection,
                message: format!(
                    "`{path}` may refer to documents of several collections, which one `$lookup` can't join: leave out \
                     `lookup`"
                ),
            });
        };
        // Where copies stand beside it, the reference is one level deeper.
        let below = |name: &str| match V::Pointer::WITHIN {
            Some(id) => format!("{name}.{id}"),
            None => name.to_owned(),
        };
        let as_array = P::MULTI || V::MANY && V::Pointer::WITHIN.is_some();
        let target = (target.document)();
        let guarded = may_lack(target, by);
        let mut stage = doc! { "$lookup": {
            "from": target.collection,
            "localField": if as_array || guarded { local.clone() } else { below(path) },
            "foreignField": by,
            "as": name,
        } };
        let mut inner = self.inner();
        beyond(&mut inner)?;
        if guarded && !as_array {
            let references = format!("${}", below(path));
            let references = if V::MANY {
                all_given(references)
            } else {
                given(references)
            };
            self.list.push(doc! { "$set": { &local: references } });
        }
        if as_array {
            // The references of all items as one array.
            let mut references = P::expression("$", &mut |at| match V::Pointer::WITHIN {
                Some(id) if V::MANY => {
                    let items = doc! { "$ifNull": [at, []] };
                    doc! { "$map": { "input": items, "in": format!("$$this.{id}") } }.into()
                }
                _ => Bson::String(below(&at)),
            });
            for _ in 1..P::ARRAYS + u32::from(V::MANY) {
                references = doc! { "$reduce": {
                    "input": references,
                    "initialValue": [],
                    "in": { "$concatArrays": ["$$value", { "$ifNull": ["$$this", []] }] },
                } }
                .into();
            }
            if guarded {
                references = all_given(references).into();
            }
            self.list.push(doc! { "$set": { local: references } });
        }
        self.has_pipelines |= !inner.list.is_empty();
        inner.append_to(&mut stage);
        self.number = inner.number;
        self.list.push(stage);
        Ok(())
    }

    /// What refers to the documents by its own reference.
    pub(super) fn children(
        &mut self,
        parent: &DocumentMeta,
        by: &str,
        stage: impl FnOnce(&str, &str, &mut Stages) -> Result<bson::Document>,
    ) -> Result<()> {
        let local = format!("__odm_local_{}", self.number);
        let guarded = may_lack(parent, by);
        if guarded {
            self.list
                .push(doc! { "$set": { &local: given(format!("${by}")) } });
        }
        let name = self.next();
        let mut inner = self.inner();
        let stage = stage(if guarded { &local } else { by }, &name, &mut inner)?;
        self.has_pipelines = true;
        self.number = inner.number;
        self.list.push(stage);
        Ok(())
    }

    fn inner(&self) -> Stages {
        Stages {
            number: self.number,
            ..Stages::default()
        }
    }

    /// Joins these stages to the documents that a `$lookup` gives.
    pub(super) fn append_to(&mut self, stage: &mut bson::Document) {
        if self.list.is_empty() {
            return;
        }
        if let Ok(lookup) = stage.get_document_mut("$lookup") {
            let more = self.list.drain(..).map(Bson::Document);
            match lookup.get_array_mut("pipeline") {
                Ok(pipeline) => pipeline.extend(more),
                Err(_) => {
                    lookup.insert("pipeline", more.collect::<Vec<_>>());
                }
            }
        }
    }
}

//! Checks documents and updates against the scope of a handle, and fills it in.

use crate::graph::routing::Routing;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::Managed;
use crate::model::meta::names::meet;
use crate::model::sensitive;
use crate::store::filter::{all, within};
use crate::store::scopes::{Scopes, exactly, has, lacks};
use crate::{Error, Odm, Result, bounds};
use mongodb::bson::{Bson, Document, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

impl Odm {
    /// The condition of the documents that this handle reads and updates, if it does not read and update all of them.
    pub(crate) fn scope_of(&self, meta: &'static DocumentMeta) -> Option<Document> {
        self.scopes().condition(meta, self.scopes().with_deleted, false)
    }

    /// The same of documents that count as existing, also where the handle reads deleted ones.
    pub(crate) fn scope_of_existing(&self, meta: &'static DocumentMeta) -> Option<Document> {
        self.scopes().condition(meta, false, false)
    }

    /// The same of documents of which some are deleted.
    pub(crate) fn scope_with_deleted(&self, meta: &'static DocumentMeta) -> Option<Document> {
        self.scopes().condition(meta, true, false)
    }

    /// Whether something is put into new documents of this type, or checked in them.
    pub(crate) fn scopes_new(&self, meta: &'static DocumentMeta) -> bool {
        !self.scopes().fields().is_empty()
            || meta.soft_delete.is_some()
            || meta.variant().is_some()
            || meta.fields().iter().any(|field| field.managed == Managed::Scope)
    }

    /// Refuses a type of documents that the scope of this handle can't restrict.
    ///
    /// # Errors
    /// [`Error::Models`] where the type does not have a field of the scope, and does not say that all scopes share its documents; nor can
    /// it say so of a collection whose registered type has the field. [`Error::Query`] where a collation is in force, and a value of the
    /// scope is an array or a document with texts.
    pub(crate) fn can_restrict(&self, meta: &'static DocumentMeta, collated: bool) -> Result<()> {
        for (name, _) in self.scopes().fields() {
            let registered = self.graph().model(meta.collection);
            let problem = lacks(meta, name).or_else(|| {
                let registered = registered.filter(|registered| has(registered, name) && !has(meta, name))?;
                Some(format!(
                    "the scope is by the field `{name}`, which `{}` of the same collection has, so `{}` can't share its documents: add the field",
                    registered.name, meta.name
                ))
            });
            if let Some(problem) = problem {
                return Err(Error::Models {
                    problems: vec![problem],
                });
            }
        }
        self.scopes().can_compare(meta, collated)
    }

    /// The handle without its scope, for work on the whole database.
    pub(crate) fn unscoped(&self) -> Odm {
        self.clone().with_scopes(Scopes::default())
    }

    /// A condition of an application's operation, within the scope of this handle. `collated` says that the operation has a
    /// collation of its own.
    ///
    /// # Errors
    /// As [`can_restrict`](Odm::can_restrict).
    pub(crate) fn in_scope(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        collated: bool,
    ) -> Result<Document> {
        self.restricted(meta, filter, (self.scopes().with_deleted, collated))
    }

    /// The same of documents that count as existing, also where the handle reads deleted ones.
    ///
    /// # Errors
    /// As [`in_scope`](Odm::in_scope).
    pub(crate) fn existing_in_scope(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        collated: bool,
    ) -> Result<Document> {
        self.restricted(meta, filter, (false, collated))
    }

    fn restricted(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        (with_deleted, collated): (bool, bool),
    ) -> Result<Document> {
        self.can_restrict(meta, collated)?;
        let scope = self.scopes().condition(meta, with_deleted, collated);
        Ok(all([filter].into_iter().chain(scope)))
    }

    /// A condition on documents that count as existing.
    pub(crate) fn in_scope_of_existing(&self, meta: &'static DocumentMeta, filter: Document) -> Document {
        all([filter].into_iter().chain(self.scope_of_existing(meta)))
    }

    /// Whether the documents of this handle have values in some field that the handle knows.
    pub(crate) fn has_scope(&self) -> bool {
        !self.scopes().fields().is_empty()
    }

    /// Puts the values of the scope into a new document that the library makes.
    ///
    /// # Errors
    /// [`Error::OutOfScope`] where it has another value already, or a field of a scope is missing. As [`can_restrict`](Odm::can_restrict).
    pub(crate) fn complete(&self, meta: &'static DocumentMeta, document: &mut Document) -> Result<()> {
        self.can_restrict(meta, false)?;
        for (name, value) in self.scopes().of_collection(meta) {
            match document.get(name) {
                None => drop(document.insert(name, value.clone())),
                given if is_same(given, value) => {}
                given => return Err(self.out_of_scope(meta, name, given.cloned())),
            }
        }
        let mut declared = meta
            .fields()
            .iter()
            .filter(|field| field.managed == Managed::Scope);
        match declared.find(|field| !document.contains_key(field.name)) {
            None => Ok(()),
            Some(field) => Err(self.out_of_scope(meta, field.name, None)),
        }
    }

    /// Puts the values of the scope into a new document, or into one that replaces another.
    ///
    /// # Errors
    /// [`Error::OutOfScope`] where it has another value already, or a field of a scope is missing; where it is marked as deleted. What
    /// its bounds say of a document that was completed. As [`can_restrict`](Odm::can_restrict).
    pub(crate) fn put_scope(&self, meta: &'static DocumentMeta, document: &mut RawDocumentBuf) -> Result<()> {
        self.can_restrict(meta, false)?;
        if let Some(name) = meta.soft_delete
            && let Some(value) = document.get(name).ok().flatten()
            && value != RawBsonRef::Null
        {
            return Err(self.out_of_scope(meta, name, owned(value)));
        }
        if let Some((tag, name)) = meta.variant() {
            self.put_tag(meta, document, (tag, name))?;
        }
        let mut is_completed = false;
        for (name, value) in self.scopes().of_collection(meta) {
            match document.get(name).ok().flatten() {
                Some(given) => {
                    let given = owned(given);
                    if !is_same(given.as_ref(), value) {
                        return Err(self.out_of_scope(meta, name, given));
                    }
                }
                None => {
                    let (Ok(value), Ok(key)) = (
                        RawBson::try_from(value.clone()),
                        mongodb::bson::raw::CString::try_from(name.as_str()),
                    ) else {
                        return Err(self.out_of_scope(meta, name, None));
                    };
                    document.append(key, value);
                    is_completed = true;
                }
            }
        }
        let mut declared = meta
            .fields()
            .iter()
            .filter(|field| field.managed == Managed::Scope);
        if let Some(field) = declared.find(|field| document.get(field.name).ok().flatten().is_none()) {
            return Err(self.out_of_scope(meta, field.name, None));
        }
        if is_completed {
            bounds::document(meta, document)?;
        }
        Ok(())
    }

    /// Stores the name of its variant in a document.
    fn put_tag(
        &self,
        meta: &'static DocumentMeta,
        document: &mut RawDocumentBuf,
        (tag, name): (&'static str, &'static str),
    ) -> Result<()> {
        match document.get(tag).ok().flatten() {
            Some(RawBsonRef::String(given)) if given == name => Ok(()),
            Some(given) => Err(self.out_of_scope(meta, tag, owned(given))),
            None => match mongodb::bson::raw::CString::try_from(tag) {
                Ok(key) => {
                    document.append(key, name);
                    Ok(())
                }
                Err(_) => Err(self.out_of_scope(meta, tag, None)),
            },
        }
    }

    /// The condition of the documents that a whole one may replace: those that exist in the scope, and are of its variant.
    pub(crate) fn replaceable_by(
        &self,
        meta: &'static DocumentMeta,
        document: &mongodb::bson::RawDocument,
    ) -> Option<Document> {
        let scope = self.scope_of_existing(meta);
        let Some(tag) = meta.tag().filter(|_| meta.variant().is_none()) else {
            return scope;
        };
        let name = document.get_str(tag).ok().map_or(Bson::Null, Bson::from);
        Some(within(
            scope.unwrap_or_default(),
            &doc! { tag: exactly(&name, meta.collation.is_some()) },
        ))
    }

    /// The fields of a document that never change, as a condition: those of the shard key, and those that are the same in the documents that
    /// it refers to. `None` where there are none, or one is missing.
    pub(crate) fn key_of(&self, meta: &DocumentMeta, document: &RawDocument) -> Option<Document> {
        self.graph()
            .routing(meta)?
            .fixed_in(document)
            .filter(|key| !key.is_empty())
    }

    /// Refuses an update that changes a field of the scope, the time of a deletion, or the variant. Only `$set` and `$setOnInsert` of
    /// the scope's value keep it: the operand of another operator says nothing about the value that the field has afterwards. `moves` are
    /// the fields of the shard key that may change.
    ///
    /// # Errors
    /// [`Error::OutOfScope`].
    pub(crate) fn keeps_scope(
        &self,
        meta: &'static DocumentMeta,
        update: &Document,
        moves: &[&str],
    ) -> Result<()> {
        let routing = self.graph().routing(meta);
        if self.scopes().fields().is_empty()
            && meta.soft_delete.is_none()
            && meta.tag().is_none()
            && routing.is_none()
        {
            return Ok(());
        }
        for (operator, fields) in update {
            let sets = matches!(operator.as_str(), "$set" | "$setOnInsert");
            for (changed, operand) in fields.as_document().into_iter().flatten() {
                self.keeps_field(meta, changed, operand, sets)?;
                let mut names = vec![(changed.as_str(), operand, sets)];
                // A renamed field is changed under its new name, too.
                if let ("$rename", Bson::String(renamed)) = (operator.as_str(), operand) {
                    self.keeps_field(meta, renamed, &Bson::Null, false)?;
                    names.push((renamed, &Bson::Null, false));
                }
                if operator != "$setOnInsert"
                    && let Some(routing) = routing
                {
                    for (changed, operand, sets) in names {
                        if sets && moves.contains(&changed) {
                            continue;
                        }
                        self.keeps_key(meta, routing, changed, operand, sets)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses a change of a field that is in the shard key, or the same in other documents. To set it to the scope's value changes
    /// nothing.
    fn keeps_key(
        &self,
        meta: &'static DocumentMeta,
        routing: &Routing,
        changed: &str,
        operand: &Bson,
        sets: bool,
    ) -> Result<()> {
        let Some(name) = routing.fixed().find(|name| meet(changed, name)) else {
            return Ok(());
        };
        let own = self.scopes().of_collection(meta).find(|(field, _)| field == name);
        if sets && changed == name && own.is_some_and(|(_, own)| is_same(Some(operand), own)) {
            return Ok(());
        }
        Err(Error::Immutable {
            collection: meta.collection,
            field: name.to_owned(),
            source: None,
        })
    }

    /// The same of one change. `sets` says whether the field has the operand as its value afterwards.
    fn keeps_field(
        &self,
        meta: &'static DocumentMeta,
        changed: &str,
        operand: &Bson,
        sets: bool,
    ) -> Result<()> {
        let refused = |name: &str| self.out_of_scope(meta, name, Some(operand.clone()).filter(|_| sets));
        let fixed = [meta.soft_delete, meta.tag()];
        if let Some(name) = fixed.into_iter().flatten().find(|name| meet(changed, name)) {
            return Err(self.out_of_scope(meta, name, Some(operand.clone())));
        }
        for (name, own) in self
            .scopes()
            .of_collection(meta)
            .filter(|(name, _)| meet(changed, name))
        {
            if !sets || changed != name || !is_same(Some(operand), own) {
                return Err(refused(name));
            }
        }
        Ok(())
    }

    fn out_of_scope(&self, meta: &'static DocumentMeta, name: &str, given: Option<Bson>) -> Error {
        let of_variant = meta.variant().filter(|(tag, _)| *tag == name);
        let of_variant = of_variant.map(|(_, variant)| Bson::from(variant));
        let own = self.scopes().of_collection(meta).find(|(field, _)| field == name);
        let error = Error::OutOfScope {
            collection: meta.collection,
            field: name.to_owned(),
            given: given.map(Box::new),
            scope: of_variant
                .or_else(|| own.map(|(_, value)| value.clone()))
                .map(Box::new),
        };
        sensitive::concealed(meta, error)
    }
}

fn owned(value: RawBsonRef<'_>) -> Option<Bson> {
    crate::model::encode::owned(value).ok()
}

/// As the server compares: whole numbers of different types may be equal.
fn is_same(given: Option<&Bson>, own: &Bson) -> bool {
    given.is_some_and(|given| Key::of_bson(given) == Key::of_bson(own))
}

//! Pending work of a document: how it is recorded, read and cleared.

use super::super::effects::id;
use super::super::graph::{Derived, Edge, Graph};
use super::super::scope::{Scope, Statement};
use super::{Token, at, kept_in_sync, put};
use crate::Result;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::names::meet;
use crate::own_fields::{DELETE, FIELDS, OPERATION, PENDING, name_of};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::collections::HashMap;

/// The entry for pending work that concerns all fields of a document.
const ALL: &str = "*";

/// The entry for the fields that a document derives from its children: some children may be older than the document.
pub(super) const CHILDREN: &str = "<";

/// The part of an update that records pending work for everything that is derived from the document.
pub(crate) fn record(update: &mut Document, token: Token) {
    record_for(update, token, ALL);
}

/// The same for what is derived from this field.
pub(super) fn record_for(update: &mut Document, token: Token, field: &str) {
    put(update, "$set", OPERATION, token.into());
    put(update, "$set", &path_for(field), ObjectId::new().into());
}

/// The path of the pending work of a field.
pub(super) fn path_for(field: &str) -> String {
    below(FIELDS, field)
}

/// The path of a field in a document of the library's own, whose name may be any text.
pub(super) fn below(path: &str, name: &str) -> String {
    format!("{path}.{}", escaped(name))
}

/// Any text as the name of a field in a document of the library's own: an update takes no other before MongoDB 5.0.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' => escaped.push_str("%25"),
            '.' => escaped.push_str("%2e"),
            '$' => escaped.push_str("%24"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The name of the field again.
fn unescaped_name(key: &str) -> String {
    key.replace("%24", "$").replace("%2e", ".").replace("%25", "%")
}

/// A condition with the names of its fields as they were before they were [escaped].
pub(super) fn unescaped(condition: &Document) -> Document {
    fn value(of: &Bson) -> Bson {
        match of {
            Bson::Document(within) => unescaped(within).into(),
            Bson::Array(items) => Bson::Array(items.iter().map(value).collect()),
            other => other.clone(),
        }
    }
    let fields = condition.iter();
    fields
        .map(|(name, of)| (unescaped_name(name), value(of)))
        .collect()
}

/// The pending work of all fields, as it is stored in a document.
pub(super) fn all_fields() -> Document {
    doc! { ALL: ObjectId::new() }
}

/// The same in a pipeline: its fields.
pub(super) fn recorded_in_pipeline(token: Token) -> Document {
    doc! { OPERATION: token, FIELDS: { "$mergeObjects": [format!("${FIELDS}"), { "$literal": all_fields() }] } }
}

/// The mark of pending work for these fields, as a new document holds it.
pub(super) fn mark(token: Token, fields: Document) -> Document {
    doc! { name_of(OPERATION): token, name_of(FIELDS): fields }
}

/// The same in a replacement, with the pending work of the replaced document: an expression.
pub(super) fn merged_mark(token: Token, fields: Document) -> Document {
    let fields = doc! { "$mergeObjects": [format!("${FIELDS}"), { "$literal": fields }] };
    doc! { "$mergeObjects": [format!("${PENDING}"), mark(token, fields)] }
}

/// Whether a document has pending work with this name.
pub(super) fn has_entry(document: &RawDocumentBuf, name: &str) -> bool {
    let fields = at(document, FIELDS).and_then(|fields| fields.as_document());
    fields.is_some_and(|fields| fields.get(name).ok().flatten().is_some())
}

/// The changed fields of a document from which something is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangedFields {
    All,
    /// These fields.
    Of(Vec<String>),
}

impl ChangedFields {
    /// The fields that the pending work of a document names.
    pub(super) fn pending_in(document: &RawDocument) -> ChangedFields {
        let Some(fields) = at(document, FIELDS).and_then(|fields| fields.as_document()) else {
            return ChangedFields::All;
        };
        let names = fields.iter().map_while(|entry| entry.ok()).map(|(name, _)| name);
        let names: Vec<String> = names.map(|name| unescaped_name(name.as_str())).collect();
        match names.iter().any(|name| name == ALL) {
            true => ChangedFields::All,
            false => ChangedFields::Of(names),
        }
    }

    pub(super) fn and(self, other: Option<&ChangedFields>) -> ChangedFields {
        match (self, other) {
            (fields, None) => fields,
            (ChangedFields::Of(mut names), Some(ChangedFields::Of(others))) => {
                names.extend(others.iter().cloned());
                ChangedFields::Of(names)
            }
            _ => ChangedFields::All,
        }
    }

    /// These fields, and those that the pending work of the document names, if it has some.
    pub(super) fn with_pending(self, document: &RawDocument) -> ChangedFields {
        if at(document, OPERATION).is_none() {
            return self;
        }
        self.and(Some(&ChangedFields::pending_in(document)))
    }

    /// The names of the fields; for all fields, the entry that means all.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let (all, names) = match self {
            ChangedFields::All => (Some(ALL), [].as_slice()),
            ChangedFields::Of(names) => (None, names.as_slice()),
        };
        all.into_iter().chain(names.iter().map(String::as_str))
    }

    pub(super) fn is_of(&self, field: &str) -> bool {
        match self {
            ChangedFields::All => true,
            ChangedFields::Of(names) => names.iter().any(|name| meet(name, field)),
        }
    }

    /// Whether one of them is copied by this reference.
    pub(super) fn is_copied(&self, edge: &Edge) -> bool {
        kept_in_sync(edge).any(|copy| self.is_of(copy.source))
    }

    /// Whether this field is derived from one of them.
    pub(super) fn is_derived(&self, graph: &Graph, derived: &Derived) -> bool {
        *self == ChangedFields::All || derived.reads(graph).iter().any(|name| self.is_of(name))
    }
}

/// Documents with the same pending work, as it was read.
pub(super) struct Same {
    token: Bson,
    fields: Option<Bson>,
    ids: Vec<Bson>,
}

impl Same {
    /// The condition of those whose pending work no write has changed since.
    pub(super) fn filter(&self) -> Document {
        let fields = match &self.fields {
            Some(fields) => fields.clone(),
            None => doc! { "$exists": false }.into(),
        };
        doc! { "_id": { "$in": &self.ids }, OPERATION: &self.token, FIELDS: fields }
    }

    /// The condition of those that are to be deleted, and that nothing has written since except the application of pending
    /// work.
    pub(super) fn gone(&self) -> Document {
        let fields = self.fields.as_ref().and_then(Bson::as_document);
        let mut filter = match fields.and_then(|fields| fields.get(ALL)) {
            Some(write) => doc! { "_id": { "$in": &self.ids }, format!("{FIELDS}.{ALL}"): write },
            None => self.filter(),
        };
        filter.insert(DELETE, true);
        filter
    }

    /// The statements that clear the work that was read, and keep that of later writes.
    fn each(&self) -> impl Iterator<Item = Statement> {
        let fields = self.fields.as_ref().and_then(Bson::as_document);
        fields.into_iter().flatten().map(|(key, write)| {
            let path = format!("{FIELDS}.{key}");
            Statement {
                filter: doc! { "_id": { "$in": &self.ids }, &path: write },
                update: doc! { "$unset": { &path: "" } },
                array_filters: Vec::new(),
            }
        })
    }
}

/// Groups these documents by their pending work.
pub(super) fn grouped<'d>(documents: impl Iterator<Item = &'d RawDocumentBuf>) -> Vec<Same> {
    let mut all: HashMap<(Key, Key), Same> = HashMap::new();
    for document in documents {
        let value = |name: &str| at(document, name).and_then(|value| Bson::try_from(value).ok());
        let Some(token) = value(OPERATION) else { continue };
        let fields = value(FIELDS);
        let key = (
            Key::of_bson(&token),
            Key::of_bson(fields.as_ref().unwrap_or(&Bson::Null)),
        );
        let same = all.entry(key).or_insert_with(|| Same {
            token,
            fields,
            ids: Vec::new(),
        });
        same.ids.push(id(document).to_bson());
    }
    all.into_values().collect()
}

/// Clears pending work, if it is still as it was read.
pub(super) async fn clear<'d>(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: impl IntoIterator<Item = &'d RawDocumentBuf>,
) -> Result<()> {
    let cleared = doc! { "$unset": { PENDING: "" } };
    let mut statements = Vec::new();
    let mut each = Vec::new();
    let mut ids = Vec::new();
    for same in grouped(documents.into_iter()) {
        each.extend(same.each());
        ids.extend(same.ids.iter().cloned());
        statements.push(Statement {
            filter: same.filter(),
            update: cleared.clone(),
            array_filters: Vec::new(),
        });
    }
    if scope.update(meta, &statements).await? < ids.len() as u64 {
        // Some have been written since, maybe by changes that were passed on to them here. The process that applies those may
        // have read the work before a part of it is cleared here, so that no process would remove the empty field.
        each.push(Statement {
            filter: doc! { "_id": { "$in": ids }, FIELDS: {} },
            update: cleared,
            array_filters: Vec::new(),
        });
        scope.update(meta, &each).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_work_names_its_fields() {
        let mut update = Document::new();
        let token = Token::new();
        for field in ["place.name", "100%.$5", "%2e"] {
            record_for(&mut update, token, field);
        }
        let set = update.get_document("$set").expect("fields that are set");
        let fields: Document = set
            .iter()
            .filter_map(|(name, id)| {
                Some((name.strip_prefix("_odm.pending.fields.")?.to_owned(), id.clone()))
            })
            .collect();
        assert_eq!(fields.len(), 3);
        assert!(fields.keys().all(|key| !key.contains(['.', '$'])), "{fields}");
        let read = |fields: Document| {
            let document = RawDocumentBuf::try_from(&doc! { "_odm": { "pending": { "fields": fields } } })
                .expect("a document");
            ChangedFields::pending_in(&document)
        };
        let names = ["place.name", "100%.$5", "%2e"].map(str::to_owned);
        assert_eq!(read(fields.clone()), ChangedFields::Of(names.to_vec()));
        let mut all = fields;
        all.extend(all_fields());
        assert_eq!(read(all), ChangedFields::All);
        assert_eq!(read(Document::new()), ChangedFields::Of(Vec::new()));
        assert_eq!(
            ChangedFields::pending_in(&RawDocumentBuf::new()),
            ChangedFields::All
        );
    }
}

//! Pending work of a document: how it is recorded, read and cleared.

use crate::Result;
use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::{escaped, unescaped_name};
use crate::model::own_fields::{ALL, DELETE, FIELDS, OPERATION, PENDING, Token, VERSION, name_of};
use crate::plan::touches::WrittenFields;
use crate::store::batch::id;
use crate::store::cx::{Cx, Statement};
use crate::store::fields::{at, put};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{self, Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::collections::HashMap;

/// The part of an update that records pending work for everything that is derived from the document.
pub(crate) fn record(update: &mut Document, token: Token) {
    record_for(update, token, ALL);
}

/// The same for what is derived from this field.
pub(crate) fn record_for(update: &mut Document, token: Token, field: &str) {
    put(update, "$set", OPERATION, token.into());
    put(update, "$set", &path_for(field), ObjectId::new().into());
}

/// The path of the pending work of a field.
pub(crate) fn path_for(field: &str) -> String {
    below(FIELDS, field)
}

/// The path of a field in a document of the library's own, whose name may be any text.
pub(crate) fn below(path: &str, name: &str) -> String {
    format!("{path}.{}", escaped(name))
}

/// The pending work of all fields, as it is stored in a document.
pub(crate) fn all_fields() -> Document {
    doc! { ALL: ObjectId::new() }
}

/// The same in a pipeline: its fields.
pub(crate) fn recorded_in_pipeline(token: Token) -> Document {
    doc! { OPERATION: token, FIELDS: { "$mergeObjects": [format!("${FIELDS}"), { "$literal": all_fields() }] } }
}

/// The mark of pending work for these fields, as a new document holds it.
pub(crate) fn mark(token: Token, fields: Document) -> Document {
    doc! { name_of(OPERATION): token, name_of(FIELDS): fields }
}

/// The same in a replacement, with the pending work of the replaced document: an expression.
pub(crate) fn merged_mark(token: Token, fields: Document) -> Document {
    let fields = doc! { "$mergeObjects": [format!("${FIELDS}"), { "$literal": fields }] };
    doc! { "$mergeObjects": [format!("${PENDING}"), mark(token, fields)] }
}

/// Whether a document has pending work with this name.
pub(crate) fn has_entry(document: &RawDocumentBuf, name: &str) -> bool {
    let fields = at(document, FIELDS).and_then(|fields| fields.as_document());
    fields.is_some_and(|fields| fields.get(name).ok().flatten().is_some())
}

impl WrittenFields {
    /// The fields that the pending work of a document names.
    pub(crate) fn pending_in(document: &RawDocument) -> WrittenFields {
        let Some(fields) = at(document, FIELDS).and_then(|fields| fields.as_document()) else {
            return WrittenFields::All;
        };
        let names = fields.iter().map_while(|entry| entry.ok()).map(|(name, _)| name);
        let names: Vec<String> = names.map(|name| unescaped_name(name.as_str())).collect();
        if names.iter().any(|name| name == ALL) {
            WrittenFields::All
        } else {
            WrittenFields::Of(names)
        }
    }

    /// These fields, and those that the pending work of the document names, if it has some.
    pub(crate) fn with_pending(self, document: &RawDocument) -> WrittenFields {
        if at(document, OPERATION).is_none() {
            return self;
        }
        self.and(Some(&WrittenFields::pending_in(document)))
    }
}

/// The first version of a document, and its first revision: greater than those of a deleted document with the same id, as long
/// as that changed less than a thousand times in a millisecond.
pub(crate) fn first_version() -> i64 {
    bson::DateTime::now().timestamp_millis().saturating_mul(1_000)
}

/// Whether a document is to be deleted as soon as its pending work is applied.
pub(crate) fn is_gone(document: &RawDocumentBuf) -> bool {
    at(document, DELETE).and_then(|gone| gone.as_bool()) == Some(true)
}

/// The condition of documents with pending work.
pub(crate) fn has_pending_work() -> Document {
    doc! { OPERATION: { "$exists": true } }
}

/// Records in these documents that everything that is derived from them, and in them, is pending.
pub(crate) async fn record_all(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    token: Token,
) -> Result<()> {
    let mut update = Document::new();
    record(&mut update, token);
    update_all(cx, meta, which, update).await
}

/// Updates all of these documents by one statement.
pub(crate) async fn update_all(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    update: Document,
) -> Result<()> {
    let statement = Statement {
        filter: which,
        update,
        array_filters: Vec::new(),
    };
    cx.update(meta, std::slice::from_ref(&statement)).await?;
    Ok(())
}

/// Documents with the same pending work, as it was read.
pub(crate) struct SameWork {
    token: Bson,
    fields: Option<Bson>,
    ids: Vec<Bson>,
}

impl SameWork {
    /// The condition of those whose pending work no write has changed since.
    pub(crate) fn filter(&self) -> Document {
        let fields = match &self.fields {
            Some(fields) => fields.clone(),
            None => doc! { "$exists": false }.into(),
        };
        doc! { "_id": { "$in": &self.ids }, OPERATION: &self.token, FIELDS: fields }
    }

    /// The condition of those that are to be deleted, and that nothing has written since except the application of pending
    /// work.
    pub(crate) fn gone(&self) -> Document {
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
pub(crate) fn grouped<'d>(documents: impl Iterator<Item = &'d RawDocumentBuf>) -> Vec<SameWork> {
    let mut all: HashMap<(Key, Key), SameWork> = HashMap::new();
    for document in documents {
        let value = |name: &str| at(document, name).and_then(|value| Bson::try_from(value).ok());
        let Some(token) = value(OPERATION) else { continue };
        let fields = value(FIELDS);
        let key = (
            Key::of_bson(&token),
            Key::of_bson(fields.as_ref().unwrap_or(&Bson::Null)),
        );
        let same = all.entry(key).or_insert_with(|| SameWork {
            token,
            fields,
            ids: Vec::new(),
        });
        same.ids.push(id(document).to_bson());
    }
    all.into_values().collect()
}

/// Clears pending work, if it is still as it was read.
pub(crate) async fn clear<'d>(
    cx: &Cx<'_>,
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
    if cx.update(meta, &statements).await? < ids.len() as u64 {
        // Some have been written since, maybe by changes that were passed on to them here. The process that applies those may
        // have read the work before a part of it is cleared here, so that no process would remove the empty field.
        each.push(Statement {
            filter: doc! { "_id": { "$in": ids }, FIELDS: {} },
            update: cleared,
            array_filters: Vec::new(),
        });
        cx.update(meta, &each).await?;
    }
    Ok(())
}

/// The pending work that is recorded in a document whose change is passed on to others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PendingWork {
    /// Everything is applied after the write.
    All(Token),
    /// The write is in a transaction, which applies everything but the eventual part.
    Later(Token),
}

impl PendingWork {
    /// The token of the work that a statement records in such a document, if it records any.
    pub(crate) fn token_for(self, graph: &Graph, meta: &DocumentMeta) -> Option<Token> {
        match self {
            PendingWork::All(token) => Some(token),
            PendingWork::Later(token) => graph.is_derived_later(meta).then_some(token),
        }
    }
}

impl From<Token> for PendingWork {
    fn from(token: Token) -> PendingWork {
        PendingWork::All(token)
    }
}

impl Graph {
    /// The update's part that passes a change of a derived field on, where others are derived from it: it raises its version,
    /// and records pending work for the fields that are derived from it.
    pub(crate) fn passed_on(
        &self,
        meta: &DocumentMeta,
        field: &str,
        pending: PendingWork,
        update: &mut Document,
    ) -> bool {
        if !self.is_read(meta, field) {
            return false;
        }
        put(update, "$inc", VERSION, 1_i64.into());
        if let Some(token) = pending.token_for(self, meta) {
            record_for(update, token, field);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::pending::*;

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
            WrittenFields::pending_in(&document)
        };
        let names = ["place.name", "100%.$5", "%2e"].map(str::to_owned);
        assert_eq!(read(fields.clone()), WrittenFields::Of(names.to_vec()));
        let mut all = fields;
        all.extend(all_fields());
        assert_eq!(read(all), WrittenFields::All);
        assert_eq!(read(Document::new()), WrittenFields::Of(Vec::new()));
        assert_eq!(
            WrittenFields::pending_in(&RawDocumentBuf::new()),
            WrittenFields::All
        );
    }
}

//! Pending work of a document: how it is recorded, read and cleared.

use super::super::effects::id;
use super::super::graph::{Derived, Edge, Graph};
use super::super::scope::{Scope, Statement};
use super::{Token, at, followed, put};
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
pub(super) fn owe(update: &mut Document, token: Token) {
    owe_of(update, token, ALL);
}

/// The same for what is derived from this field.
pub(super) fn owe_of(update: &mut Document, token: Token, field: &str) {
    put(update, "$set", OPERATION, token.into());
    put(update, "$set", &due_of(field), ObjectId::new().into());
}

/// The path of the pending work of a field.
pub(super) fn due_of(field: &str) -> String {
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
fn due_name(key: &str) -> String {
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
    fields.map(|(name, of)| (due_name(name), value(of))).collect()
}

/// The pending work of all fields, as it is stored in a document.
pub(super) fn all_due() -> Document {
    doc! { ALL: ObjectId::new() }
}

/// The same in a pipeline: its fields.
pub(super) fn owing_all(token: Token) -> Document {
    doc! { OPERATION: token, FIELDS: { "$mergeObjects": [format!("${FIELDS}"), { "$literal": all_due() }] } }
}

/// Pending work as a new document holds it.
pub(super) fn pending(token: Token, due: Document) -> Document {
    doc! { name_of(OPERATION): token, name_of(FIELDS): due }
}

/// The same in a replacement, with what is pending in the replaced document: an expression.
pub(super) fn pending_too(token: Token, due: Document) -> Document {
    let due = doc! { "$mergeObjects": [format!("${FIELDS}"), { "$literal": due }] };
    doc! { "$mergeObjects": [format!("${PENDING}"), pending(token, due)] }
}

/// Whether a document has pending work with this name.
pub(super) fn owes(document: &RawDocumentBuf, name: &str) -> bool {
    let due = at(document, FIELDS).and_then(|due| due.as_document());
    due.is_some_and(|due| due.get(name).ok().flatten().is_some())
}

/// The changed fields of a document from which something is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    All,
    /// These fields.
    Of(Vec<String>),
}

impl Due {
    /// The fields that the pending work of a document names.
    pub(super) fn noted(document: &RawDocument) -> Due {
        let Some(due) = at(document, FIELDS).and_then(|due| due.as_document()) else {
            return Due::All;
        };
        let names = due.iter().map_while(|entry| entry.ok()).map(|(name, _)| name);
        let names: Vec<String> = names.map(|name| due_name(name.as_str())).collect();
        match names.iter().any(|name| name == ALL) {
            true => Due::All,
            false => Due::Of(names),
        }
    }

    pub(super) fn and(self, other: Option<&Due>) -> Due {
        match (self, other) {
            (due, None) => due,
            (Due::Of(mut names), Some(Due::Of(others))) => {
                names.extend(others.iter().cloned());
                Due::Of(names)
            }
            _ => Due::All,
        }
    }

    /// These fields, and those that the pending work of the document names, if it has some.
    pub(super) fn with_noted(self, document: &RawDocument) -> Due {
        if at(document, OPERATION).is_none() {
            return self;
        }
        self.and(Some(&Due::noted(document)))
    }

    /// The names of the fields; for all fields, the entry that means all.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let (all, names) = match self {
            Due::All => (Some(ALL), [].as_slice()),
            Due::Of(names) => (None, names.as_slice()),
        };
        all.into_iter().chain(names.iter().map(String::as_str))
    }

    pub(super) fn is_of(&self, field: &str) -> bool {
        match self {
            Due::All => true,
            Due::Of(names) => names.iter().any(|name| meet(name, field)),
        }
    }

    /// Whether one of them is copied by this reference.
    pub(super) fn is_copied(&self, edge: &Edge) -> bool {
        followed(edge).any(|copy| self.is_of(copy.source))
    }

    /// Whether this field is derived from one of them.
    pub(super) fn is_derived(&self, graph: &Graph, derived: &Derived) -> bool {
        *self == Due::All || derived.reads(graph).iter().any(|name| self.is_of(name))
    }
}

/// Documents with the same pending work, as it was read.
pub(super) struct Same {
    token: Bson,
    due: Option<Bson>,
    ids: Vec<Bson>,
}

impl Same {
    /// The condition of those whose pending work no write has changed since.
    pub(super) fn filter(&self) -> Document {
        let due = match &self.due {
            Some(due) => due.clone(),
            None => doc! { "$exists": false }.into(),
        };
        doc! { "_id": { "$in": &self.ids }, OPERATION: &self.token, FIELDS: due }
    }

    /// The condition of those that are to be deleted, and that nothing has written since except the application of pending
    /// work.
    pub(super) fn gone(&self) -> Document {
        let due = self.due.as_ref().and_then(Bson::as_document);
        let mut filter = match due.and_then(|due| due.get(ALL)) {
            Some(write) => doc! { "_id": { "$in": &self.ids }, format!("{FIELDS}.{ALL}"): write },
            None => self.filter(),
        };
        filter.insert(DELETE, true);
        filter
    }

    /// The statements that clear the work that was read, and keep that of later writes.
    fn each(&self) -> impl Iterator<Item = Statement> {
        let due = self.due.as_ref().and_then(Bson::as_document);
        due.into_iter().flatten().map(|(key, write)| {
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
pub(super) fn as_read<'d>(documents: impl Iterator<Item = &'d RawDocumentBuf>) -> Vec<Same> {
    let mut all: HashMap<(Key, Key), Same> = HashMap::new();
    for document in documents {
        let value = |name: &str| at(document, name).and_then(|value| Bson::try_from(value).ok());
        let Some(token) = value(OPERATION) else { continue };
        let due = value(FIELDS);
        let key = (
            Key::of_bson(&token),
            Key::of_bson(due.as_ref().unwrap_or(&Bson::Null)),
        );
        let same = all.entry(key).or_insert_with(|| Same {
            token,
            due,
            ids: Vec::new(),
        });
        same.ids.push(id(document).to_bson());
    }
    all.into_values().collect()
}

/// Clears pending work, if it is still as it was read.
pub(super) async fn strike_out<'d>(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: impl IntoIterator<Item = &'d RawDocumentBuf>,
) -> Result<()> {
    let cleared = doc! { "$unset": { PENDING: "" } };
    let mut statements = Vec::new();
    let mut each = Vec::new();
    let mut ids = Vec::new();
    for debt in as_read(documents.into_iter()) {
        each.extend(debt.each());
        ids.extend(debt.ids.iter().cloned());
        statements.push(Statement {
            filter: debt.filter(),
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
    fn fields_are_owed_by_their_names() {
        let mut update = Document::new();
        let token = Token::new();
        for field in ["place.name", "100%.$5", "%2e"] {
            owe_of(&mut update, token, field);
        }
        let set = update.get_document("$set").expect("fields that are set");
        let due: Document = set
            .iter()
            .filter_map(|(name, id)| {
                Some((name.strip_prefix("_odm.pending.fields.")?.to_owned(), id.clone()))
            })
            .collect();
        assert_eq!(due.len(), 3);
        assert!(due.keys().all(|key| !key.contains(['.', '$'])), "{due}");
        let noted = |due: Document| {
            let document = RawDocumentBuf::try_from(&doc! { "_odm": { "pending": { "fields": due } } })
                .expect("a document");
            Due::noted(&document)
        };
        let names = ["place.name", "100%.$5", "%2e"].map(str::to_owned);
        assert_eq!(noted(due.clone()), Due::Of(names.to_vec()));
        let mut all = due;
        all.extend(all_due());
        assert_eq!(noted(all), Due::All);
        assert_eq!(noted(Document::new()), Due::Of(Vec::new()));
        assert_eq!(Due::noted(&RawDocumentBuf::new()), Due::All);
    }
}

//! The document that an upsert inserts where it finds none: made of its condition, its changes and the document that it is given.

use crate::model::default;
use crate::model::document::DocumentMeta;
use crate::model::encode::owned;
use crate::model::meta::names::meet;
use crate::model::shape::{self, Managed};
use crate::plan::operators::guard::Guard;
use crate::plan::operators::implied::demanded_by;
use crate::plan::operators::names::joined_names;
use crate::plan::operators::{Built, UntypedChanges, pushed, replace, written};
use crate::store::fields::at;
use crate::{Error, Result, Rule, bounds};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf};

/// The values that a condition demands by equality, by their dotted names: the server gives them to a document that an upsert
/// inserts.
fn all_demanded(condition: &Document) -> Vec<(&str, &Bson)> {
    let mut all = Vec::new();
    for (name, value) in condition {
        match value {
            Bson::Array(parts) if name == "$and" => {
                all.extend(parts.iter().filter_map(Bson::as_document).flat_map(all_demanded));
            }
            _ if name.starts_with('$') => {}
            Bson::Document(operators) => match demanded_by(operators) {
                Some(value) => all.push((name, value)),
                None if operators.keys().any(|key| key.starts_with('$')) => {}
                None => all.push((name, value)),
            },
            Bson::RegularExpression(_) => {}
            value => all.push((name, value)),
        }
    }
    all
}

impl UntypedChanges {
    /// Says which values the condition of an upsert gives to the document that is inserted: these are not those of the document
    /// that the upsert [is given](UntypedChanges::insert_whole).
    pub(crate) fn insert_by(&mut self, condition: &Document, given: &[(&'static str, Bson)]) {
        if self.inserted.is_none() {
            return;
        }
        let given = given.iter().map(|(name, _)| *name);
        let demanded = all_demanded(condition).into_iter().map(|(name, _)| name);
        let names = given.chain(demanded).filter(|name| *name != "_id");
        self.demanded.extend(names.map(str::to_owned));
    }

    /// Puts the fields of a new document behind `$setOnInsert`, but for those that the update changes, that the condition demands and
    /// that the library writes itself; of a struct or a map in which something is changed, the other parts. Gives the fields of the
    /// document that the condition of an upsert may demand.
    pub(super) fn put_inserted(
        &mut self,
        meta: &'static DocumentMeta,
        document: &RawDocument,
    ) -> Result<Vec<&'static str>> {
        self.has_same_variants(meta.collection, document)?;
        let taken = TakenValues {
            collection: meta.collection,
            changed: written(&self.operators).map(str::to_owned).collect(),
            demanded: std::mem::take(&mut self.demanded),
        };
        self.takes_nothing_out(meta, document)?;
        let mut parts = Vec::new();
        let mut put = Vec::new();
        for field in document {
            let (name, value) = field.map_err(|source| not_encoded(meta.name, source))?;
            let name = name.as_str();
            let declared = meta.fields().iter().find(|field| field.name == name);
            // The server makes an ObjectId itself. An id that the condition demands is taken out again.
            let is_made = |managed: Managed| match managed {
                Managed::No | Managed::Scope => false,
                Managed::Id => value.as_object_id().is_some(),
                _ => true,
            };
            if declared.is_some_and(|field| is_made(field.managed)) {
                continue;
            }
            let before = parts.len();
            taken.rest(name.to_owned(), value, &mut parts)?;
            let is_whole = parts.get(before).is_some_and(|(part, _)| part == name);
            put.extend(declared.filter(|_| is_whole).map(|field| field.name));
        }
        for (name, value) in parts {
            self.put("$setOnInsert", &name, value, replace);
        }
        Ok(put)
    }

    /// Refuses to take items out of a required array of a new document.
    fn takes_nothing_out(&self, meta: &DocumentMeta, document: &RawDocument) -> Result<()> {
        let takes = ["$pull", "$pullAll", "$pop"].into_iter();
        let fields = takes.filter_map(|operator| self.operators.get_document(operator).ok());
        for name in fields.flat_map(Document::keys) {
            let mut parts = name.split('.');
            let array = parts.try_fold((meta.whole(), false), |(shape, _), part| {
                let field = default::named(shape, part)?;
                Some((shape::of_field(field), field.required))
            });
            if array.is_some_and(|(_, is_required)| is_required) && at(document, name).is_some() {
                return Err(refused(
                    meta.collection,
                    format!(
                        "the update takes items out of `{name}`, and MongoDB takes none out of a document that it inserts: make an \
                         update of its own after `insert(…).or_get_by(…)`"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a new document with another variant than the changes are of.
    fn has_same_variants(&self, collection: &'static str, document: &RawDocument) -> Result<()> {
        let variants = self
            .guards
            .iter()
            .filter(|guard| matches!(guard, Guard::Variant { .. }));
        for guard in variants {
            let stored = at(document, guard.name()).map(owned).transpose();
            let stored = stored.map_err(|source| not_encoded(guard.name(), source))?;
            if let Some(Error::OtherVariant { field, expected, .. }) =
                guard.refusal("", &Bson::Null, stored.as_ref())
            {
                return Err(refused(
                    collection,
                    format!(
                        "the update changes the variant `{expected}` of `{field}`, and the document that `upsert_with` inserts has \
                     another one: give it that variant, or set the whole of `{field}`"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The names of the fields that are not those of a given document.
struct TakenValues {
    collection: &'static str,
    /// By the changes.
    changed: Vec<String>,
    /// By the condition.
    demanded: Vec<String>,
}

impl TakenValues {
    /// Adds the rest of a value to the parts: the whole of it, those in which nothing is taken, or none.
    fn rest(&self, name: String, value: RawBsonRef<'_>, parts: &mut Vec<(String, Bson)>) -> Result<()> {
        let meeting = |names: &[String]| {
            let meeting = names.iter().filter(|taken| meet(taken, &name));
            meeting.map(String::len).min()
        };
        let (changed, demanded) = (meeting(&self.changed), meeting(&self.demanded));
        if [changed, demanded]
            .into_iter()
            .flatten()
            .any(|shortest| shortest <= name.len())
        {
            return Ok(());
        }
        match value {
            RawBsonRef::Document(within) if changed.is_some() || demanded.is_some() => {
                for part in within {
                    let (part, value) = part.map_err(|source| not_encoded(&name, source))?;
                    let part = part.as_str();
                    if part.is_empty() || part.starts_with('$') || part.contains('.') {
                        return Err(refused(
                            self.collection,
                            format!(
                                "the update changes a part of `{name}`, and the document that `upsert_with` inserts has the key \
                                 {part:?} in it, beside which MongoDB sets no part: set the whole of `{name}`"
                            ),
                        ));
                    }
                    self.rest(joined_names(&name, part), value, parts)?;
                }
            }
            RawBsonRef::Array(_) if changed.is_some() => {
                return Err(refused(
                    self.collection,
                    format!(
                        "the update changes items of `{name}`, and MongoDB changes none in a document that it inserts: make an \
                         update of its own after `insert(…).or_get_by(…)`"
                    ),
                ));
            }
            _ if changed.is_some() => {}
            // A condition on an item says nothing of the whole array.
            value => {
                let value = owned(value).map_err(|source| not_encoded(&name, source))?;
                parts.push((name, value));
            }
        }
        Ok(())
    }
}

fn refused(collection: &'static str, message: String) -> Error {
    Error::Query { collection, message }
}

fn not_encoded(field: &str, source: mongodb::bson::error::Error) -> Error {
    Error::Encode {
        field: field.to_owned(),
        source: Box::new(source),
    }
}

/// Refuses an upsert whose new document could not be read, or would have more entries in a map than the map may hold.
///
/// # Errors
/// [`Error::Query`] with the fields that it lacks, [`Error::Invalid`].
pub(crate) fn can_be_read(meta: &'static DocumentMeta, built: &Built, condition: &Document) -> Result<()> {
    let (document, by_condition) = new_document(built, condition);
    let raw = RawDocumentBuf::try_from(&document).map_err(|source| not_encoded(meta.name, source))?;
    let Err(Error::Invalid { violations, .. }) = bounds::document(meta, &raw) else {
        return Ok(());
    };
    let mut lacking = Vec::new();
    let mut entries = Vec::new();
    for violation in violations {
        let is_of_condition = || by_condition.iter().any(|name| meet(name, &violation.path));
        match violation.rule {
            Rule::Required => lacking.push(violation.path),
            Rule::Type(_) if violation.path == "_id" || is_of_condition() => lacking.push(violation.path),
            Rule::MaxItems(_) => entries.push(violation),
            _ => {}
        }
    }
    if !lacking.is_empty() {
        return Err(Error::Query {
            collection: meta.collection,
            message: lacks(meta, &lacking),
        });
    }
    if !entries.is_empty() {
        return Err(Error::Invalid {
            collection: meta.collection.to_owned(),
            violations: entries,
            source: None,
        });
    }
    Ok(())
}

fn lacks(meta: &DocumentMeta, fields: &[String]) -> String {
    let names: Vec<String> = fields.iter().map(|name| format!("`{name}`")).collect();
    let advice = if fields.iter().any(|name| name == "_id") {
        "give the document to insert by `upsert_with`, or demand its `_id` by the condition"
    } else {
        "set each field by `set` or `set_on_insert`, or give the document to insert by `upsert_with`"
    };
    format!(
        "the upsert would insert a `{}` that can't be read, without a value for {}: {advice}",
        meta.name,
        names.join(", ")
    )
}

/// The document, as far as it is known before, and the names of the fields that the condition gives it. A number that is added to
/// is the number that is added.
fn new_document(built: &Built, condition: &Document) -> (Document, Vec<String>) {
    let mut document = Document::new();
    let mut by_condition = Vec::new();
    for (name, value) in all_demanded(condition) {
        put(&mut document, name, |_| value.clone());
        by_condition.push(name.to_owned());
    }
    for fill in built.fills().iter().filter(|fill| fill.arrays.is_empty()) {
        put(&mut document, &fill.name, |stored| {
            stored.unwrap_or_else(|| fill.value.clone())
        });
    }
    for (operator, fields) in &built.update {
        for (name, value) in fields.as_document().into_iter().flatten() {
            let name = name.as_str();
            match operator.as_str() {
                "$set" | "$setOnInsert" => put(&mut document, name, |_| value.clone()),
                "$inc" | "$mul" | "$min" | "$max" | "$bit" => {
                    put(&mut document, name, |stored| {
                        stored.unwrap_or_else(|| value.clone())
                    });
                }
                "$push" | "$addToSet" => put(&mut document, name, |_| kept(value).into()),
                "$currentDate" => put(&mut document, name, |_| DateTime::now().into()),
                _ => {}
            }
        }
    }
    if !document.contains_key("_id") {
        document.insert("_id", ObjectId::from_bytes([0; 12]));
    }
    (document, by_condition)
}

/// The items that a push leaves in an array that was missing.
fn kept(push: &Bson) -> Vec<Bson> {
    let mut items = pushed(push).to_vec();
    let slice = push.as_document().and_then(|push| push.get("$slice"));
    let slice = slice.and_then(|slice| slice.as_i64().or_else(|| slice.as_i32().map(i64::from)));
    if let Some(slice) = slice {
        items.truncate(usize::try_from(slice.unsigned_abs()).unwrap_or(usize::MAX));
    }
    items
}

/// Puts a value at a dotted name, made of the one that stands there. A name that leads into an array, or through another value than
/// a document, is left out.
fn put(document: &mut Document, name: &str, value: impl FnOnce(Option<Bson>) -> Bson) {
    let Some((first, rest)) = name.split_once('.') else {
        let stored = document.get(name).cloned();
        document.insert(name, value(stored));
        return;
    };
    let within = document.entry(first.to_owned());
    if let Bson::Document(within) = within.or_insert_with(|| Document::new().into()) {
        put(within, rest, value);
    }
}

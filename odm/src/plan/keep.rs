//! A replacement as one update: it merges the stored document with the new one, so that fields stay which the type does not
//! declare, and removes the declared ones that the new document leaves out.
//!
//! A flat document is stored by `$set` and `$unset`. Any other takes a pipeline: `$replaceWith` takes the stored document, over it the new values as one literal, and over these what is computed of the
//! stored values: embedded structs, which are merged in the same way, and what the library keeps itself. `$unset` then removes
//! the names that are left out. Values of the application stand in `$literal` alone, so none of them is an expression.

use crate::model::document::DocumentMeta;
use crate::model::level::{StructLevel, names};
use crate::model::own_fields::{COPIED, OWN, is_own};
use crate::model::shape::{
    Body, EnumShape, FieldMeta, Managed, Shape, StructShape, Tagging, inner, of_field,
};
use crate::{Error, Result, Rule, Violation};
use mongodb::bson::{self, Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::options::UpdateModifications;
use std::collections::BTreeSet;

/// A whole document that is put in the place of another one.
#[derive(Clone)]
pub(crate) struct Replacement {
    pub(crate) update: UpdateModifications,
    /// The application's fields as they are stored, with their copies.
    pub(crate) document: RawDocumentBuf,
    /// Whether the struct is read by these fields alone, and by none that is kept as it is stored.
    pub(crate) is_whole: bool,
    /// The field of `created_at`, where the stored one is kept, and the value that the document gives it.
    pub(crate) created: Option<(String, Bson)>,
}

impl Replacement {
    pub(crate) fn new(
        meta: &DocumentMeta,
        raw: RawDocumentBuf,
        filled: Option<FilledReplacement>,
        exact: bool,
    ) -> Result<Replacement> {
        let (document, mut fields, mut computed, is_whole) = match filled {
            Some(filled) => (filled.document, filled.fields, filled.computed, filled.is_whole),
            None => {
                let fields = Document::try_from(&raw).map_err(encoding)?;
                (raw, fields, Document::new(), true)
            }
        };
        // The stored one stays: a number may be stored as another type that equals it.
        fields.remove("_id");
        let created = match meta.struct_of(&document) {
            Some(of) if !exact => created(of, &mut fields, &mut computed),
            _ => None,
        };
        let update = match meta.struct_of(&document) {
            Some(of) if !exact && !of.deny_unknown => merged(of, fields, computed),
            of => {
                for name in not_read(of, &fields) {
                    computed.insert(name, format!("${name}"));
                }
                UpdateModifications::Pipeline(whole(fields, computed))
            }
        };
        Ok(Replacement {
            update,
            document,
            is_whole: is_whole && (exact || !(meta.extra)()),
            created,
        })
    }

    /// The application's fields, one of them with another value.
    pub(crate) fn with(&self, name: String, value: Bson) -> Result<RawDocumentBuf> {
        let mut document = Document::try_from(&self.document).map_err(encoding)?;
        document.insert(name, value);
        RawDocumentBuf::try_from(&document).map_err(encoding)
    }
}

/// Refuses names of the library's own among the fields of a whole document that its type does not declare.
pub(crate) fn refuse_own(meta: &DocumentMeta, doc: &RawDocument) -> Result<()> {
    let names = doc.iter_elements().map_while(|element| element.ok());
    let own = names
        .map(|element| element.key().as_str())
        .find(|name| is_own(name));
    let Some(name) = own else { return Ok(()) };
    let rule = Rule::Other(format!(
        "that the name `{name}` is the library's own, so `extra` can't hold it"
    ));
    Err(Error::Invalid {
        collection: meta.collection.to_owned(),
        violations: vec![Violation::new(name.to_owned(), rule, None)],
        source: None,
    })
}

fn encoding(source: bson::error::Error) -> Error {
    Error::Encode {
        field: "document".to_owned(),
        source: Box::new(source),
    }
}

/// Takes the time at which the document was made out of the fields: the stored one stays.
fn created(of: &StructShape, fields: &mut Document, computed: &mut Document) -> Option<(String, Bson)> {
    let field = of
        .fields
        .iter()
        .find(|field| field.managed == Managed::CreatedAt)?;
    let given = fields.remove(field.name)?;
    let new = Bson::from(doc! { "$literal": given.clone() });
    computed.insert(
        field.name,
        first_of(names(field).map(|name| format!("${name}")), new),
    );
    Some((field.name.to_owned(), given))
}

/// The first of these that is there and not `null`, else the last.
fn first_of(expressions: impl DoubleEndedIterator<Item = String>, last: Bson) -> Bson {
    expressions.rev().fold(last, |last, expression| {
        doc! { "$ifNull": [expression, last] }.into()
    })
}

/// The deferred fields that were not read, whose stored values stay.
fn not_read<'f>(
    of: Option<&'static StructShape>,
    given: &'f Document,
) -> impl Iterator<Item = &'static str> + 'f {
    let fields = of.map_or(&[][..], |of| of.fields);
    fields
        .iter()
        .filter(|field| field.deferred && !given.contains_key(field.name))
        .map(|field| field.name)
}

/// Nothing is kept but the id and what the library has in the document.
fn whole(fields: Document, mut computed: Document) -> Vec<Document> {
    if !computed.contains_key(OWN) {
        computed.insert(OWN, format!("${OWN}"));
    }
    vec![doc! {
        "$replaceWith": { "$mergeObjects": [{ "_id": "$_id" }, { "$literal": fields }, computed] }
    }]
}

fn merged(of: &'static StructShape, fields: Document, computed: Document) -> UpdateModifications {
    let mut merge = KeptMerge::default();
    let root = StoredField {
        value: String::new(),
        name: String::new(),
    };
    let level = StructLevel::of(of.fields);
    // The id is none of the fields, and is kept.
    let kept: Vec<String> = computed.keys().cloned().chain(["_id".to_owned()]).collect();
    let (fields, mut merged) = merge.fields(&level, &root, fields, &kept);
    merged.extend(computed);
    if merged.is_empty() && !fields.is_empty() && fields.keys().all(|name| is_plain(name)) {
        let mut update = doc! { "$set": fields };
        if !merge.left_out.is_empty() {
            let names = merge.left_out.into_iter().map(|name| (name, Bson::from("")));
            update.insert("$unset", names.collect::<Document>());
        }
        return UpdateModifications::Document(update);
    }
    let mut over = vec![Bson::from("$$ROOT"), doc! { "$literal": fields }.into()];
    if !merged.is_empty() {
        over.push(merged.into());
    }
    let mut stages = vec![doc! { "$replaceWith": { "$mergeObjects": over } }];
    if !merge.left_out.is_empty() {
        let names: Vec<String> = merge.left_out.into_iter().collect();
        stages.push(doc! { "$unset": names });
    }
    UpdateModifications::Pipeline(stages)
}

/// Maximum number of structs within each other that are merged: each takes some levels of nesting, of which a command has few.
const DEEPEST: u32 = 12;

/// Where a value is stored.
struct StoredField {
    /// The expression that gives it; empty for the document itself.
    value: String,
    /// Its dotted name.
    name: String,
}

impl StoredField {
    fn below(&self, name: &str) -> StoredField {
        let join = |above: &str, first: &str| match above {
            "" => format!("{first}{name}"),
            above => format!("{above}.{name}"),
        };
        StoredField {
            value: join(&self.value, "$"),
            name: join(&self.name, ""),
        }
    }

    fn is_object(&self) -> Bson {
        doc! { "$eq": [{ "$type": self.value.as_str() }, "object"] }.into()
    }
}

/// The struct whose fields a variant has.
fn fields_of(body: &Body) -> Option<&'static [FieldMeta]> {
    match body {
        Body::Unit => Some(&[]),
        Body::Tuple(_) => None,
        Body::Struct(of) => (!of.deny_unknown).then_some(of.fields),
        Body::Newtype(field) => match inner(of_field(field)) {
            Shape::Struct(of) if !of.deny_unknown => Some(of.fields),
            _ => None,
        },
    }
}

/// The form in which a new value is stored.
enum KeepPart {
    /// It is stored as it is.
    Whole(Bson),
    /// The expression that merges it with the stored one.
    Merged(Bson),
}

#[derive(Default)]
struct KeptMerge {
    /// The dotted names that the new document leaves out.
    left_out: BTreeSet<String>,
    depth: u32,
    variables: u32,
}

impl KeptMerge {
    /// The fields that are stored as they are, and the expressions of those that are merged.
    fn fields(
        &mut self,
        level: &StructLevel,
        stored: &StoredField,
        new: Document,
        computed: &[String],
    ) -> (Document, Document) {
        for name in &level.names {
            let is_deferred = || {
                level
                    .fields
                    .iter()
                    .any(|field| field.deferred && field.name == *name)
            };
            let is_kept = computed.iter().any(|computed| computed == name);
            if !new.contains_key(name) && !is_kept && !is_deferred() {
                self.left_out.insert(stored.below(name).name);
            }
        }
        // Also where only other programs declare copies beside a reference: what they took of its previous target is no version of
        // the new one, and without a version they take it anew.
        let versions = stored.below(COPIED);
        let taken = new.get_document(COPIED).ok();
        for field in level.fields.iter().filter(|field| field.reference.is_some()) {
            if taken.is_none_or(|taken| !taken.contains_key(field.name)) {
                self.left_out.insert(versions.below(field.name).name);
            }
        }
        let has_structs = new.values().any(|value| matches!(value, Bson::Document(_)));
        if !has_structs && !level.has_extra {
            return (new, Document::new());
        }
        let (mut plain, mut merged) = (Document::new(), Document::new());
        for (name, value) in new {
            let field = level.fields.iter().copied().find(|field| field.name == name);
            let part = match (field, value) {
                (Some(_), value) if !matches!(value, Bson::Document(_)) => KeepPart::Whole(value),
                (Some(field), value) => self.named(stored, names(field), |merge, stored| {
                    merge.value(of_field(field), value, stored)
                }),
                // The versions of copies beside references that only others know stay.
                (None, Bson::Document(versions)) if name == COPIED => {
                    KeepPart::Merged(over(&stored.below(COPIED), versions, Document::new()))
                }
                (None, _) if level.has_extra => continue,
                (None, value) => KeepPart::Whole(value),
            };
            match part {
                KeepPart::Whole(value) => plain.insert(name, value),
                KeepPart::Merged(expression) => merged.insert(name, expression),
            };
        }
        (plain, merged)
    }

    /// The value that is stored under one of these names, with the first one as its name.
    fn named(
        &mut self,
        stored: &StoredField,
        mut names: impl DoubleEndedIterator<Item = &'static str>,
        part: impl FnOnce(&mut KeptMerge, &StoredField) -> KeepPart,
    ) -> KeepPart {
        let itself = stored.below(names.next().unwrap_or_default());
        let aliases: Vec<String> = names.map(|name| stored.below(name).value).collect();
        if aliases.is_empty() {
            return part(self, &itself);
        }
        let value = first_of(std::iter::once(itself.value).chain(aliases), Bson::Null);
        self.bound(itself.name, value, part)
    }

    /// The same of a value that an expression gives.
    fn bound(
        &mut self,
        name: String,
        value: Bson,
        part: impl FnOnce(&mut KeptMerge, &StoredField) -> KeepPart,
    ) -> KeepPart {
        self.variables += 1;
        let variable = format!("kept{}", self.variables);
        let stored = StoredField {
            value: format!("$${variable}"),
            name,
        };
        match part(self, &stored) {
            KeepPart::Merged(expression) => {
                KeepPart::Merged(doc! { "$let": { "vars": { variable: value }, "in": expression } }.into())
            }
            whole => whole,
        }
    }

    fn value(&mut self, shape: Shape, value: Bson, stored: &StoredField) -> KeepPart {
        if self.depth >= DEEPEST {
            return KeepPart::Whole(value);
        }
        self.depth += 1;
        let part = match (inner(shape), value) {
            (Shape::Struct(of), Bson::Document(new)) if !of.deny_unknown => {
                self.merged(&StructLevel::of(of.fields), stored, new)
            }
            (Shape::Enum(of), Bson::Document(new)) => self.variant(of, new, stored),
            (_, value) => KeepPart::Whole(value),
        };
        self.depth -= 1;
        part
    }

    fn merged(&mut self, level: &StructLevel, stored: &StoredField, new: Document) -> KeepPart {
        let (plain, merged) = self.fields(level, stored, new, &[]);
        KeepPart::Merged(over(stored, plain, merged))
    }

    fn variant(&mut self, of: &'static EnumShape, new: Document, stored: &StoredField) -> KeepPart {
        match of.tagging {
            Tagging::Untagged => KeepPart::Whole(new.into()),
            Tagging::Internal(tag) => {
                let Some((name, body)) = tagged(of, &new, tag) else {
                    return KeepPart::Whole(new.into());
                };
                let Some(fields) = fields_of(body) else {
                    return KeepPart::Whole(new.into());
                };
                self.bound(stored.name.clone(), same(stored, tag, name), |merge, stored| {
                    let mut level = StructLevel::of(fields);
                    // Those of the other variants are no fields of this one.
                    for variant in of.variants {
                        level
                            .names
                            .extend(StructLevel::of(fields_of(&variant.body).unwrap_or_default()).names);
                    }
                    merge.merged(&level, stored, new)
                })
            }
            Tagging::Adjacent(tag, content) => {
                let Some((name, body)) = tagged(of, &new, tag) else {
                    return KeepPart::Whole(new.into());
                };
                self.bound(stored.name.clone(), same(stored, tag, name), |merge, stored| {
                    let (mut plain, mut merged) = (new, Document::new());
                    match plain.remove(content) {
                        Some(value) => match merge.content(body, value, &stored.below(content)) {
                            KeepPart::Whole(value) => drop(plain.insert(content, value)),
                            KeepPart::Merged(value) => drop(merged.insert(content, value)),
                        },
                        None => drop(merge.left_out.insert(stored.below(content).name)),
                    }
                    KeepPart::Merged(over(stored, plain, merged))
                })
            }
            // No other field may stand beside the variant.
            Tagging::External => {
                let mut new = new;
                let variant = |name: &str| of.variants.iter().find(|variant| variant.name == name);
                let found = new.keys().find_map(|name| variant(name));
                let Some(variant) = found.filter(|variant| new.len() == 1 && is_plain(variant.name)) else {
                    return KeepPart::Whole(new.into());
                };
                let Some(value) = new.remove(variant.name) else {
                    return KeepPart::Whole(new.into());
                };
                let part = self.named(stored, std::iter::once(variant.name), |merge, stored| {
                    merge.content(&variant.body, value, stored)
                });
                match part {
                    KeepPart::Whole(value) => KeepPart::Whole(doc! { variant.name: value }.into()),
                    KeepPart::Merged(value) => KeepPart::Merged(doc! { variant.name: value }.into()),
                }
            }
        }
    }

    /// The content of a variant, as a value of its own.
    fn content(&mut self, body: &'static Body, value: Bson, stored: &StoredField) -> KeepPart {
        match (body, value) {
            (Body::Newtype(field), value) => self.value(of_field(field), value, stored),
            (Body::Struct(of), Bson::Document(new)) if !of.deny_unknown => {
                self.merged(&StructLevel::of(of.fields), stored, new)
            }
            (_, value) => KeepPart::Whole(value),
        }
    }
}

/// Whether a name is one in an expression and behind an operator too.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.contains(['.', '\0'])
}

/// The name of a document's variant, with its content.
fn tagged(of: &'static EnumShape, new: &Document, tag: &str) -> Option<(&'static str, &'static Body)> {
    let name = new.get_str(tag).ok().filter(|_| is_plain(tag))?;
    let variant = of.variants.iter().find(|variant| variant.name == name)?;
    Some((variant.name, &variant.body))
}

/// The stored document where it is of this variant, else `null`.
fn same(stored: &StoredField, tag: &str, name: &'static str) -> Bson {
    let is_one = doc! { "$eq": [stored.below(tag).value, { "$literal": name }] };
    doc! { "$cond": [{ "$and": [stored.is_object(), is_one] }, stored.value.as_str(), Bson::Null] }.into()
}

/// The stored document with these fields over it.
fn over(stored: &StoredField, plain: Document, merged: Document) -> Bson {
    let kept = doc! { "$cond": [stored.is_object(), stored.value.as_str(), Bson::Null] };
    let mut all = vec![Bson::from(kept), doc! { "$literal": plain }.into()];
    if !merged.is_empty() {
        all.push(merged.into());
    }
    doc! { "$mergeObjects": all }.into()
}

/// A replacement that keeps what the library has in the document.
#[derive(Clone, Debug)]
pub(crate) struct FilledReplacement {
    /// The application's fields that it stores, with their copies.
    pub(crate) document: RawDocumentBuf,
    /// The same.
    pub(crate) fields: Document,
    /// The expressions that the server computes from the stored document, by field.
    pub(crate) computed: Document,
    /// Whether that is all: no field is kept as it is stored.
    pub(crate) is_whole: bool,
}

#[cfg(test)]
mod tests {
    use crate::expansion_fixture::Person;
    use crate::model::shape::Bounds;
    use crate::plan::keep::*;
    use mongodb::bson::oid::ObjectId;

    fn pipeline(document: Document, exact: bool) -> Vec<Document> {
        let raw = RawDocumentBuf::try_from(&document).expect("encodes");
        let meta = <Person as crate::Document>::META;
        let made = Replacement::new(meta, raw, None, exact).expect("is made");
        match made.update {
            UpdateModifications::Pipeline(stages) => stages,
            operators => panic!("{operators:?}"),
        }
    }

    fn person() -> Document {
        doc! { "_id": ObjectId::new(), "name": "$name", "addresses": [{ "city": "Bern" }], "home": { "city": { "$add": 1 } } }
    }

    #[test]
    fn values_are_literals_and_names_that_are_left_out_are_removed() {
        let object = doc! { "$cond": [{ "$eq": [{ "$type": "$home" }, "object"] }, "$home", null] };
        let home = doc! { "$mergeObjects": [object, { "$literal": { "city": { "$add": 1 } } }] };
        let plain = doc! { "name": "$name", "addresses": [{ "city": "Bern" }] };
        let merged = doc! { "$mergeObjects": ["$$ROOT", { "$literal": plain }, { "home": home }] };
        assert_eq!(
            pipeline(person(), false),
            [
                doc! { "$replaceWith": merged },
                doc! { "$unset": ["_copied.boss", "boss", "home.street"] },
            ]
        );
    }

    #[test]
    fn a_flat_document_is_stored_by_operators() {
        static FIELDS: [FieldMeta; 2] = [
            FieldMeta::value::<String>("name", "name", "String", Bounds::NONE),
            FieldMeta::value::<Option<i32>>("age", "age", "Option<i32>", Bounds::NONE),
        ];
        static FLAT: StructShape = StructShape {
            ty: None,
            name: "Flat",
            fields: &FIELDS,
            deny_unknown: false,
        };
        let made = |fields| match merged(&FLAT, fields, Document::new()) {
            UpdateModifications::Document(update) => Some(update),
            _ => None,
        };
        assert_eq!(
            made(doc! { "name": "$name" }),
            Some(doc! { "$set": { "name": "$name" }, "$unset": { "age": "" } })
        );
        // A map that is flattened may have any names.
        for name in ["a.b", "$a", ""] {
            assert_eq!(made(doc! { "name": "x", name: 1 }), None, "{name}");
        }
        assert_eq!(made(Document::new()), None);
    }

    #[test]
    fn an_exact_replacement_keeps_the_id_and_the_fields_of_the_library() {
        let mut fields = person();
        fields.remove("_id");
        let over = doc! { "$mergeObjects": [{ "_id": "$_id" }, { "$literal": fields }, { "_odm": "$_odm" }] };
        assert_eq!(pipeline(person(), true), [doc! { "$replaceWith": over }]);
    }
}

//! What differs between a design and the structs that there are.

use super::source::{Form, Source, Written, WrittenField};
use super::{Difference, What};
use crate::code::build::can_be_declared;
use crate::code::model::{Is, Models, Type};
use crate::design::{Collection, Design, Field};
use crate::kind::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// A change of a file, whose text is written once all names are known.
#[derive(Clone, Debug)]
pub enum Change {
    /// A field is added to a written struct, behind another of its fields.
    Add {
        /// The struct.
        written: String,
        /// The field before it, by its place among the written ones.
        behind: Option<usize>,
        /// The struct of the model, and the field in it.
        model: usize,
        /// The number of the field in it.
        field: usize,
    },
    /// A field has another type.
    Retype {
        /// The struct.
        written: String,
        /// The field, by its place among the written ones.
        at: usize,
        /// The struct of the model.
        model: usize,
        /// The number of the field in it.
        field: usize,
    },
    /// A field may be missing or null.
    Optional {
        /// The struct.
        written: String,
        /// The field, by its place among the written ones.
        at: usize,
        /// Whether it may be missing, so that `None` stores nothing.
        missing: bool,
    },
    /// No document has a field.
    Gone {
        /// The struct.
        written: String,
        /// The field, by its place among the written ones.
        at: usize,
        /// The number of documents that were read.
        read: u64,
    },
    /// An enum has another value.
    Value {
        /// The enum.
        written: String,
        /// The value.
        value: String,
    },
    /// An index is declared.
    Index {
        /// The struct.
        written: String,
        /// The option of `#[document(…)]`.
        option: String,
    },
}

/// The comparison.
pub struct Comparison<'a> {
    /// The structs that there are.
    pub source: &'a Source,
    /// The types of the design, which take the names of those.
    pub models: Models,
    /// What differs.
    pub differences: Vec<Difference>,
    /// The change.
    pub changes: Vec<Change>,
    /// The written types that those of the model are.
    pub names: BTreeMap<usize, String>,
    /// The collections without a struct.
    pub missing: Vec<usize>,
    seen: BTreeSet<(String, String)>,
    places: BTreeMap<String, Vec<Place>>,
}

/// Where a written struct stands.
struct Place {
    collection: String,
    path: String,
    documents: u64,
    fields: BTreeSet<String>,
}

impl<'a> Comparison<'a> {
    /// Compares a design.
    pub fn of(source: &'a Source, design: &Design, models: Models) -> Self {
        let mut all = Self {
            source,
            models,
            differences: Vec::new(),
            changes: Vec::new(),
            names: BTreeMap::new(),
            missing: Vec::new(),
            seen: BTreeSet::new(),
            places: BTreeMap::new(),
        };
        for (number, collection) in design.collections.iter().enumerate() {
            all.collection(number, collection);
        }
        all.gone();
        for (collection, name) in &source.documents {
            if design.collection(collection).is_none() {
                all.differ(
                    collection,
                    "",
                    What::CollectionGone,
                    format!("the database has no such collection, and `{name}` declares it"),
                );
            }
        }
        all
    }

    pub(super) fn differ(&mut self, collection: &str, path: &str, what: What, text: String) {
        self.differences.push(Difference {
            collection: collection.to_owned(),
            path: path.to_owned(),
            what,
            text,
        });
    }

    fn collection(&mut self, number: usize, collection: &Collection) {
        let source = self.source;
        let Some(name) = source.documents.get(&collection.name) else {
            if collection.kind != crate::design::CollectionKind::View {
                self.missing.push(number);
                self.differ(
                    &collection.name,
                    "",
                    What::Collection,
                    "no struct declares the collection".to_owned(),
                );
            }
            return;
        };
        let Some(model) = self.models.collections.get(number).map(|model| model.root) else {
            return;
        };
        self.names.insert(model, name.clone());
        if let Some(written) = source.types.get(name)
            && matches!(written.is, Form::Struct { .. })
        {
            self.fields(collection, &collection.root, name, model);
            self.indexes(collection, name, written, model);
        }
    }

    /// Compares the fields of a document with those of a written struct.
    fn fields(&mut self, collection: &Collection, document: &Field, name: &str, model: usize) {
        let place = format!("{}\0{}", collection.name, document.path);
        if !self.seen.insert((name.to_owned(), place)) {
            return;
        }
        let is_struct = |written: &Written| matches!(written.is, Form::Struct { .. });
        if !self.source.types.get(name).is_some_and(is_struct) {
            return;
        }
        let declared = self.declared(name, 0);
        let mut behind = None;
        for field in &document.fields {
            if !can_be_declared(&field.name) || matches!(field.name.as_str(), "_odm" | "_copied") {
                continue;
            }
            let place = self.model_field(model, &field.name);
            match declared
                .iter()
                .find(|(_, _, written)| is_of(written, &field.name))
            {
                Some((owner, at, written)) => {
                    if owner == name {
                        behind = Some(*at);
                    }
                    if let Some(place) = place {
                        self.rename(model, place, &written.rust);
                    }
                    self.field(collection, field, owner, *at, written, model, place);
                }
                None => {
                    let Some(place) = place else { continue };
                    self.differ(
                        &collection.name,
                        &field.path,
                        What::Added,
                        format!(
                            "{} of {} documents have it, and `{name}` does not",
                            field.present, field.of
                        ),
                    );
                    let is_known = self.changes.iter().any(|change| {
                        matches!(change,
                        Change::Add { written, model: other, field, .. }
                            if written == name && self.stored(*other, *field) == self.stored(model, place))
                    });
                    if !is_known {
                        self.changes.push(Change::Add {
                            written: name.to_owned(),
                            behind,
                            model,
                            field: place,
                        });
                    }
                }
            }
        }
        self.places.entry(name.to_owned()).or_default().push(Place {
            collection: collection.name.clone(),
            path: document.path.clone(),
            documents: document
                .kinds
                .get(&Kind::Object)
                .copied()
                .unwrap_or(collection.read),
            fields: document.fields.iter().map(|field| field.name.clone()).collect(),
        });
    }

    /// The fields that no place of a struct has.
    fn gone(&mut self) {
        for (name, places) in std::mem::take(&mut self.places) {
            let source = self.source;
            let Some(Form::Struct { fields }) = source.types.get(&name).map(|written| &written.is) else {
                continue;
            };
            let documents: u64 = places.iter().map(|place| place.documents).sum();
            let Some(first) = places.first().filter(|_| documents > 0) else {
                continue;
            };
            for (at, written) in fields.iter().enumerate() {
                let is_found = places
                    .iter()
                    .flat_map(|place| &place.fields)
                    .any(|field| is_of(written, field));
                if is_found || written.is_flattened || written.stored == "_id" {
                    continue;
                }
                self.differ(
                    &first.collection,
                    &below(&first.path, &written.stored),
                    What::Gone,
                    format!("none of {documents} documents has it, and `{name}` does"),
                );
                self.changes.push(Change::Gone {
                    written: name.clone(),
                    at,
                    read: documents,
                });
            }
        }
    }

    /// The fields of a written struct, with those of flattened ones: the struct that has each, its place there, and the field.
    pub(super) fn declared(&self, name: &str, depth: u32) -> Vec<(String, usize, &'a WrittenField)> {
        let source = self.source;
        let Some(Form::Struct { fields }) = source.types.get(name).map(|written| &written.is) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            match self.source.accepts(&field.ty).named {
                Some(inner) if field.is_flattened && depth < 16 => {
                    all.extend(self.declared(&inner, depth + 1))
                }
                _ => all.push((name.to_owned(), at, field)),
            }
        }
        all
    }

    fn stored(&self, model: usize, field: usize) -> Option<&str> {
        match self.models.types.get(model).map(|named| &named.is) {
            Some(Is::Struct { fields, .. }) => fields.get(field).map(|field| field.stored.as_str()),
            _ => None,
        }
    }

    fn model_field(&self, model: usize, stored: &str) -> Option<usize> {
        match &self.models.types.get(model)?.is {
            Is::Struct { fields, .. } => fields.iter().position(|field| field.stored == stored),
            _ => None,
        }
    }

    /// The name in Rust that was written.
    fn rename(&mut self, model: usize, field: usize, rust: &str) {
        if let Some(named) = self.models.types.get_mut(model)
            && let Is::Struct { fields, .. } = &mut named.is
            && let Some(field) = fields.get_mut(field)
        {
            rust.clone_into(&mut field.rust);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn field(
        &mut self,
        collection: &Collection,
        field: &Field,
        owner: &str,
        at: usize,
        written: &WrittenField,
        model: usize,
        place: Option<usize>,
    ) {
        if written.is_opaque {
            return;
        }
        let source = self.source;
        let stored = written.stored_as.as_ref().unwrap_or(&written.ty);
        let accepts = source.accepts(stored);
        let ty = place.and_then(|place| match &self.models.types.get(model)?.is {
            Is::Struct { fields, .. } => fields.get(place).map(|field| field.ty.clone()),
            _ => None,
        });
        let nulls = field.kinds.get(&Kind::Null).copied().unwrap_or(0);
        let missing = field.of.saturating_sub(field.present);
        let needs_missing = missing > 0 && !accepts.is_optional && !written.has_default;
        let needs_null = nulls > 0 && !accepts.is_optional && accepts.kinds.is_some();
        let differs = self.value(collection, field, stored, ty.as_ref());
        if let Some(kinds) = differs {
            let text = format!(
                "its values are {kinds}, and `{owner}.{}` is declared as `{}`",
                written.rust,
                self.text(owner, written)
            );
            self.differ(&collection.name, &field.path, What::Type, text);
            if let Some(place) = place {
                self.changes.push(Change::Retype {
                    written: owner.to_owned(),
                    at,
                    model,
                    field: place,
                });
            }
        } else if needs_missing || needs_null {
            let is = match (needs_missing, needs_null) {
                (true, true) => format!("it is missing in {missing} of {} and null in {nulls}", field.of),
                (true, false) => format!("it is missing in {missing} of {}", field.of),
                _ => format!("it is null in {nulls} of {}", field.of),
            };
            self.differ(
                &collection.name,
                &field.path,
                What::Optional,
                format!("{is}, and `{owner}.{}` is no `Option`", written.rust),
            );
            self.changes.push(Change::Optional {
                written: owner.to_owned(),
                at,
                missing: needs_missing,
            });
        }
    }

    fn text(&self, owner: &str, written: &WrittenField) -> String {
        let file = self
            .source
            .types
            .get(owner)
            .and_then(|of| self.source.files.get(of.file));
        let text = file.and_then(|(_, text)| text.get(written.ty_at.clone()));
        text.unwrap_or("another type").to_owned()
    }

    /// The kinds that a type does not read, as words; what is in it is compared by itself.
    fn value(
        &mut self,
        collection: &Collection,
        field: &Field,
        ty: &syn::Type,
        model: Option<&Type>,
    ) -> Option<String> {
        let accepts = self.source.accepts(ty);
        let kinds = accepts.kinds.as_ref()?;
        let others: Vec<String> = field
            .kinds
            .iter()
            .filter(|(kind, _)| **kind != Kind::Null && !kinds.contains(kind))
            .map(|(kind, number)| format!("{number} {}", kind.name()))
            .collect();
        if !others.is_empty() {
            let all: Vec<String> = field
                .kinds
                .iter()
                .map(|(kind, number)| format!("{number} {}", kind.name()))
                .collect();
            return Some(all.join(", "));
        }
        let model = match model {
            Some(Type::Named(at)) => Some(*at),
            _ => None,
        };
        if let Some(name) = &accepts.named {
            if let Some(at) = model {
                self.map_names(at, name);
            }
            if field.kinds.contains_key(&Kind::Object) && field.map.is_none() {
                self.fields(collection, field, name, self.struct_in(model));
            }
            self.values(collection, field, name);
        }
        let items = match (&accepts.items, accepts.is_map) {
            (Some(items), false) => field.items.as_deref().map(|field| (items, field)),
            (Some(items), true) => field.map.as_ref().map(|map| (items, &*map.values)),
            (None, _) => None,
        };
        if let Some((ty, items)) = items {
            let inner = self.models.type_at(&collection.name, &items.path);
            return self.value(collection, items, ty, inner.as_ref());
        }
        None
    }

    fn map_names(&mut self, at: usize, name: &str) {
        let model = self.models.types.get(at).map(|named| &named.is);
        let written = self.source.types.get(name).map(|written| &written.is);
        let is_same = matches!(
            (model, written),
            (Some(Is::Struct { .. }), Some(Form::Struct { .. }))
                | (Some(Is::Enum(_)), Some(Form::Names(_)))
                | (Some(Is::Union(_)), Some(Form::Untagged(_)))
        );
        if is_same {
            self.names.entry(at).or_insert_with(|| name.to_owned());
        }
    }

    /// The struct of the model: itself, or that in a union. `usize::MAX`, where there is none.
    fn struct_in(&self, model: Option<usize>) -> usize {
        let at = model.unwrap_or(usize::MAX);
        match self.models.types.get(at).map(|named| &named.is) {
            Some(Is::Union(variants)) => variants
                .iter()
                .find_map(|(_, ty)| match ty {
                    Type::Named(at) => Some(*at),
                    _ => None,
                })
                .unwrap_or(at),
            _ => at,
        }
    }

    fn values(&mut self, collection: &Collection, field: &Field, name: &str) {
        let Some(Form::Names(known)) = self.source.types.get(name).map(|written| &written.is) else {
            return;
        };
        let strings = field.kinds.get(&Kind::String).copied().unwrap_or(0);
        let counted: u64 = field.values.iter().map(|(_, number)| number).sum();
        if counted != strings {
            return;
        }
        for (value, number) in &field.values {
            if known.contains(value) {
                continue;
            }
            self.differ(
                &collection.name,
                &field.path,
                What::Value,
                format!("{number} have the value {value:?}, which is no variant of `{name}`"),
            );
            let is_known = self.changes.iter().any(
                |change| matches!(change, Change::Value { written, value: other } if written == name && other == value),
            );
            if !is_known {
                self.changes.push(Change::Value {
                    written: name.to_owned(),
                    value: value.clone(),
                });
            }
        }
    }
}

fn is_of(written: &WrittenField, stored: &str) -> bool {
    written.stored == stored || written.aliases.iter().any(|alias| alias == stored)
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

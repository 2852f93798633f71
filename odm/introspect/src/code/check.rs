//! Interprets the written types on documents, since there is no compiler: which would not be read, or be written back differently.

use super::build::can_be_declared;
use super::model::{Helper, Is, Key, Member, Models, Plain, Type, Variant};
use crate::design::{Design, Field};
use crate::kind::Kind;
use bson::{RawBsonRef, RawDocument};
use std::collections::BTreeMap;
use std::fmt;

/// The fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is of another kind than the type reads and writes.
    Kind(Kind),
    /// It is missing, and its type needs it.
    Missing,
    /// No field is declared for it, so that it would be lost.
    NotDeclared(Kind),
    /// It is no variant of the enum.
    Variant,
    /// The fields stand in another order than in the struct.
    Order,
    /// The array or the map has more items than its bound.
    Items(u64),
    /// A key of a map that odm does not write.
    Key,
    /// An integer of 64 bits that 32 could hold, which would be written in 32.
    Width,
    /// A document of an enum with a tag that is none of its variants.
    Variants,
}

/// A value that would not be read, or be written back differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The collection.
    pub collection: String,
    /// The path of the value.
    pub path: String,
    /// The fault.
    pub wrong: Wrong,
    /// The type that is declared.
    pub declared: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            collection,
            path,
            wrong,
            declared,
        } = self;
        write!(f, "`{path}` of `{collection}` ")?;
        match wrong {
            Wrong::Kind(kind) => write!(
                f,
                "is of the type {}, and the struct has `{declared}`",
                kind.name()
            ),
            Wrong::Missing => write!(f, "is missing, and the struct has `{declared}`"),
            Wrong::NotDeclared(kind) => write!(
                f,
                "is of the type {}, and `{declared}` has no such field",
                kind.name()
            ),
            Wrong::Variant => write!(f, "has a value that is no variant of `{declared}`"),
            Wrong::Order => write!(f, "has its fields in another order than `{declared}`"),
            Wrong::Items(number) => write!(f, "has {number} items, more than the bound of `{declared}`"),
            Wrong::Key => f.write_str("has a key with a dot or a `$`, which is not written"),
            Wrong::Variants => write!(f, "is no variant of `{declared}`, by its tag and its fields"),
            Wrong::Width => write!(
                f,
                "is a `long` that an `int` could hold, and `{declared}` would write one"
            ),
        }
    }
}

/// How the types read and write a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The values that would not be read, or be written back differently.
    pub faults: Vec<Fault>,
    /// Whether the document would be written with the same bytes. Without faults, what differs is the order of fields or keys, or
    /// the width of integers.
    pub same: bool,
}

/// Interprets the types on a document of a collection.
pub fn check(models: &Models, collection: &str, document: &RawDocument) -> Checked {
    let mut checker = Checker {
        models,
        collection,
        faults: Vec::new(),
        same: true,
    };
    if let Some(model) = models
        .collections
        .iter()
        .find(|model| model.collection == collection)
    {
        checker.fields(model.root, document, "");
    }
    Checked {
        same: checker.same && checker.faults.is_empty(),
        faults: checker.faults,
    }
}

struct Checker<'m> {
    models: &'m Models,
    collection: &'m str,
    faults: Vec<Fault>,
    same: bool,
}

impl Checker<'_> {
    fn fault(&mut self, path: &str, wrong: Wrong, declared: impl Into<String>) {
        self.faults.push(Fault {
            collection: self.collection.to_owned(),
            path: path.to_owned(),
            wrong,
            declared: declared.into(),
        });
    }

    fn fields(&mut self, at: usize, document: &RawDocument, path: &str) {
        let models = self.models;
        let Some(named) = models.types.get(at) else { return };
        let Is::Struct {
            fields,
            extra,
            others,
            reordered,
        } = &named.is
        else {
            return;
        };
        let by_name: BTreeMap<&str, (usize, &Member)> = fields
            .iter()
            .enumerate()
            .map(|(at, field)| (field.stored.as_str(), (at, field)))
            .collect();
        let mut last = 0;
        let mut is_ordered = true;
        let mut seen = vec![false; fields.len()];
        for (name, value) in document.iter().flatten() {
            let name: &str = name.as_ref();
            let at = match by_name.get(name) {
                Some((at, member)) => {
                    if let Some(seen) = seen.get_mut(*at) {
                        *seen = true;
                    }
                    self.member(member, value, &below(path, name));
                    *at
                }
                None if matches!(name, "_odm" | "_copied") => continue,
                None if extra.is_some() && (*others > 0 || !can_be_declared(name)) => fields.len(),
                None => {
                    self.fault(
                        &below(path, name),
                        Wrong::NotDeclared(Kind::of(&value)),
                        &named.name,
                    );
                    continue;
                }
            };
            is_ordered &= at >= last;
            last = at;
        }
        for (field, seen) in fields.iter().zip(seen) {
            if !seen && !field.presence.missing {
                self.fault(
                    &below(path, &field.stored),
                    Wrong::Missing,
                    models.member_text(field),
                );
            }
        }
        if !is_ordered {
            self.same = false;
            if !reordered {
                self.fault(path, Wrong::Order, &named.name);
            }
        }
    }

    fn member(&mut self, member: &Member, value: RawBsonRef<'_>, path: &str) {
        if value == RawBsonRef::Null {
            if member.ty == Type::Any && !member.presence.missing {
                return;
            }
            if member.presence.is_both() && member.ty.is_opaque() {
                // `None` stands for both.
                self.same = false;
            } else if !member.presence.null {
                self.fault(path, Wrong::Kind(Kind::Null), self.models.member_text(member));
            }
            return;
        }
        self.value(&member.ty, value, path);
    }

    fn value(&mut self, ty: &Type, value: RawBsonRef<'_>, path: &str) {
        let models = self.models;
        let kind = Kind::of(&value);
        match (ty, value) {
            (Type::Any, _)
            | (Type::AnyDocument, RawBsonRef::Document(_))
            | (Type::AnyList, RawBsonRef::Array(_))
            | (Type::Unknown, RawBsonRef::String(_)) => {}
            (Type::Plain(plain), value) => self.plain(*plain, value, path, ty),
            (Type::Ref(target), value) => match target.key {
                Key::Plain(plain) => self.plain(plain, value, path, ty),
                Key::Helper(helper) => self.value(&Type::Helper(helper), value, path),
                Key::Own => match models.field(target.collection, "_id") {
                    Some(id) => self.value(&id.ty, value, path),
                    None => self.fault(path, Wrong::Kind(kind), models.text(ty)),
                },
            },
            (Type::Helper(Helper::Number), RawBsonRef::Double(_)) => {}
            (Type::Helper(_), RawBsonRef::Int32(_)) => {}
            (Type::Helper(_), RawBsonRef::Int64(n)) => {
                if i32::try_from(n).is_ok() {
                    self.fault(path, Wrong::Width, models.text(ty));
                }
            }
            (Type::List(many), RawBsonRef::Array(items)) => {
                let mut number = 0;
                let path = format!("{path}[]");
                for item in items.into_iter().flatten() {
                    number += 1;
                    if item == RawBsonRef::Null && many.null {
                        continue;
                    }
                    self.value(&many.item, item, &path);
                }
                if number > super::bounds::with_headroom(many.found) {
                    self.fault(path.trim_end_matches("[]"), Wrong::Items(number), models.text(ty));
                }
            }
            (Type::Map(many), RawBsonRef::Document(entries)) => self.entries(many, entries, path, ty),
            (Type::Named(at), value) => self.named(*at, value, path),
            _ => self.fault(path, Wrong::Kind(kind), models.text(ty)),
        }
    }

    fn plain(&mut self, plain: Plain, value: RawBsonRef<'_>, path: &str, ty: &Type) {
        let kind = Kind::of(&value);
        // The older subtype of a UUID is read as binary data alone.
        let is_old = matches!(value, RawBsonRef::Binary(binary) if binary.subtype == bson::spec::BinarySubtype::UuidOld);
        if plain == Plain::I64 && kind == Kind::Int {
            self.same = false;
            self.wide(path);
        } else if plain == Plain::Binary && kind == Kind::Uuid {
            // Binary data of any subtype.
        } else if kind != plain.kind() || plain == Plain::Uuid && is_old {
            self.fault(path, Wrong::Kind(kind), self.models.text(ty));
        }
    }

    /// An `int` where a `long` is declared is read, and written as a `long`: a fault where the field was not declared so on purpose.
    fn wide(&mut self, path: &str) {
        if !self
            .models
            .wide
            .contains(&(self.collection.to_owned(), path.to_owned()))
        {
            self.fault(path, Wrong::Kind(Kind::Int), "i64");
        }
    }

    fn entries(&mut self, many: &super::model::Many, entries: &RawDocument, path: &str, ty: &Type) {
        let mut number = 0;
        let mut before: Option<String> = None;
        let of_values = format!("{path}{{}}");
        for (key, value) in entries.iter().flatten() {
            number += 1;
            let key: &str = key.as_ref();
            if !can_be_declared(key) {
                self.fault(path, Wrong::Key, self.models.text(ty));
            }
            self.same &= before.as_deref().is_none_or(|before| before < key);
            before = Some(key.to_owned());
            if value == RawBsonRef::Null && many.null {
                continue;
            }
            self.value(&many.item, value, &of_values);
        }
        if number > super::bounds::with_headroom(many.found) {
            self.fault(path, Wrong::Items(number), self.models.text(ty));
        }
    }

    /// Whether a document is one of the variants: it begins with the tag, and has the fields of the variant in their order.
    fn is_variant(&mut self, tag: &str, variants: &[Variant], document: &RawDocument, path: &str) -> bool {
        let mut fields = document.iter().flatten();
        let first = fields.next();
        let Some((name, RawBsonRef::String(value))) = first else {
            return false;
        };
        let Some(variant) = variants.iter().find(|variant| variant.stored == value) else {
            return false;
        };
        if AsRef::<str>::as_ref(&name) != tag {
            return false;
        }
        let mut left = variant.fields.iter();
        for (name, value) in fields {
            let name: &str = name.as_ref();
            let member = loop {
                match left.next() {
                    Some(member) if member.stored == name => break member,
                    Some(member) if member.presence.missing => {}
                    _ => return false,
                }
            };
            self.member(member, value, &below(path, name));
        }
        left.all(|member| member.presence.missing)
    }

    fn named(&mut self, at: usize, value: RawBsonRef<'_>, path: &str) {
        let models = self.models;
        let Some(named) = models.types.get(at) else { return };
        match (&named.is, value) {
            (Is::Struct { .. }, RawBsonRef::Document(document)) => self.fields(at, document, path),
            (Is::Enum(variants), RawBsonRef::String(text)) => {
                if !variants.iter().any(|(_, stored)| stored == text) {
                    self.fault(path, Wrong::Variant, &named.name);
                }
            }
            (Is::Tagged { tag, variants }, RawBsonRef::Document(document)) => {
                if !self.is_variant(tag, variants, document, path) {
                    self.fault(path, Wrong::Variants, &named.name);
                }
            }
            (Is::Around(member), value) => self.value(&member.ty, value, path),
            (Is::Union(variants), value) => {
                let before = self.faults.len();
                let mut deepest: Vec<Fault> = Vec::new();
                for (_, ty) in variants {
                    self.value(ty, value, path);
                    let found = self.faults.split_off(before);
                    if found.is_empty() {
                        return;
                    }
                    let depth = |faults: &[Fault]| faults.iter().map(|fault| fault.path.len()).max();
                    if depth(&found) > depth(&deepest) {
                        deepest = found;
                    }
                }
                if deepest.iter().all(|fault| fault.path == path) {
                    self.fault(path, Wrong::Kind(Kind::of(&value)), &named.name);
                } else {
                    self.faults.extend(deepest);
                }
            }
            (_, value) => self.fault(path, Wrong::Kind(Kind::of(&value)), &named.name),
        }
    }
}

/// The path of a field in a document.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Changes a design so that its types read such a value. Returns whether anything was changed.
pub fn widen(design: &mut Design, fault: &Fault) -> bool {
    let Some(collection) = design
        .collections
        .iter_mut()
        .find(|collection| collection.name == fault.collection)
    else {
        return false;
    };
    let read = collection.read;
    if let Wrong::NotDeclared(kind) = fault.wrong {
        let (parent, name) = match fault.path.rsplit_once('.') {
            Some((parent, name)) => (parent, name),
            None => ("", fault.path.as_str()),
        };
        let Some(parent) = at_mut(&mut collection.root, parent) else {
            return false;
        };
        let of = parent.kinds.get(&Kind::Object).copied().unwrap_or(read).max(2);
        parent.fields.push(Field {
            path: fault.path.clone(),
            name: name.to_owned(),
            present: 1,
            of,
            kinds: BTreeMap::from([(kind, 1)]),
            doubts: vec!["It was not among the paths that were read, and is in some documents".to_owned()],
            ..Field::default()
        });
        return true;
    }
    let Some(field) = at_mut(&mut collection.root, &fault.path) else {
        return false;
    };
    match fault.wrong {
        Wrong::Kind(Kind::Uuid) if field.kinds.contains_key(&Kind::Uuid) => {
            field.kinds.remove(&Kind::Uuid);
            *field.kinds.entry(Kind::BinData).or_default() += 1;
            field
                .doubts
                .push("UUIDs of the older subtype 3 are among its values".to_owned());
        }
        Wrong::Kind(kind) => {
            if field.kinds.contains_key(&kind) {
                // The kind is known, and its value can't be read nevertheless.
                return false;
            }
            *field.kinds.entry(kind).or_default() += 1;
        }
        Wrong::Missing => field.of = field.of.max(field.present + 1),
        Wrong::Variant => field.enumeration = false,
        Wrong::Order if field.reordered => return false,
        Wrong::Order => field.reordered = true,
        Wrong::Items(number) => {
            if let Some(map) = &mut field.map {
                map.per_map.greatest = map.per_map.greatest.max(number);
            } else {
                let mut lengths = field.lengths.take().unwrap_or_default();
                lengths.greatest = lengths.greatest.max(number);
                field.lengths = Some(lengths);
            }
        }
        Wrong::Key => match &mut field.map {
            Some(map) if !map.dotted => map.dotted = true,
            _ => return false,
        },
        Wrong::Width if field.wide => return false,
        Wrong::Width => field.wide = true,
        Wrong::Variants if field.variants.is_empty() => return false,
        Wrong::Variants => field.variants.clear(),
        Wrong::NotDeclared(_) => return false,
    }
    true
}

/// The field at a path, to be changed.
fn at_mut<'a>(field: &'a mut Field, path: &str) -> Option<&'a mut Field> {
    if field.path == path {
        return Some(field);
    }
    let items = field.items.as_deref_mut();
    let values = field.map.as_mut().map(|map| &mut *map.values);
    field
        .fields
        .iter_mut()
        .chain(items)
        .chain(values)
        .filter(|below| path.starts_with(&below.path))
        .find_map(|below| at_mut(below, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{fit, models};
    use crate::design::Collection;
    use bson::{Bson, Document, doc};

    /// A design that knows nothing but an integer in `a`.
    fn design() -> Design {
        let field = |name: &str, kind| Field {
            path: name.to_owned(),
            name: name.to_owned(),
            present: 10,
            of: 10,
            kinds: BTreeMap::from([(kind, 10)]),
            ..Field::default()
        };
        let mut tags = field("tags", Kind::Array);
        tags.items = Some(Box::new(Field {
            name: String::new(),
            ..field("tags[]", Kind::String)
        }));
        let mut state = field("state", Kind::String);
        state.enumeration = true;
        state.values = vec![("open".to_owned(), 10)];
        Design {
            collections: vec![Collection {
                name: "all".to_owned(),
                documents: 10,
                read: 10,
                root: Field {
                    kinds: BTreeMap::from([(Kind::Object, 10)]),
                    fields: vec![field("_id", Kind::Int), field("a", Kind::Int), tags, state],
                    ..Field::default()
                },
                ..Collection::default()
            }],
            ..Design::default()
        }
    }

    fn faults(design: &Design, document: &Document) -> Vec<String> {
        let raw = bson::RawDocumentBuf::try_from(document).unwrap();
        let checked = check(&models(design), "all", &raw);
        checked.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_value_that_is_not_read_is_named_with_both_types() {
        let known = doc! { "_id": 1, "a": 1, "tags": ["x"], "state": "open" };
        assert_eq!(faults(&design(), &known), Vec::<String>::new());
        let other = doc! { "_id": 1, "tags": [1.5], "state": "shut", "new": true };
        assert_eq!(
            faults(&design(), &other),
            [
                "`tags[]` of `all` is of the type double, and the struct has `String`",
                "`state` of `all` has a value that is no variant of `AllState`",
                "`new` of `all` is of the type bool, and `All` has no such field",
                "`a` of `all` is missing, and the struct has `i32`",
            ]
        );
    }

    #[test]
    fn types_are_made_wider_until_each_document_is_read() {
        let documents: Vec<bson::RawDocumentBuf> = [
            doc! { "_id": 1, "a": 1, "tags": ["x"], "state": "open" },
            doc! { "_id": 1_i64 << 40, "a": "text", "tags": [1.5, Bson::Null], "state": "shut", "new": { "x": 1, "y": [1] } },
            doc! { "_id": 2, "tags": vec!["x"; 300], "state": Bson::Null, "a": Bson::Null },
            doc! { "tags": [], "state": "open", "_id": 3 },
        ]
        .iter()
        .map(|document| bson::RawDocumentBuf::try_from(document).unwrap())
        .collect();
        let mut design = design();
        let done: Result<(), std::convert::Infallible> = fit(&mut design, &mut |_, each| {
            documents.iter().for_each(|document| each(document));
            Ok(())
        });
        assert!(done.is_ok());
        let models = models(&design);
        for document in &documents {
            let checked = check(&models, "all", document);
            assert_eq!(checked.faults, [], "{document:?}");
        }
    }
}

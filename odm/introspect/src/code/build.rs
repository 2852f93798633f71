//! Makes types out of a design: which types a field's values need, and names for them.

use super::bounds;
use super::links::Links;
use super::model::{
    Helper, Is, Many, Member, Model, Models, Named, Plain, Presence, Role, Target, Type, Variant,
};
use super::names::{self, Given};
use super::naming;
use super::remarks;
use super::roles;
use super::unify;
use crate::design::{Collection, CollectionKind, Design, Field, Variants};
use crate::kind::Kind;

/// The most variants of an enum. Above it, a text is clearer.
const VARIANTS: usize = 60;

/// The types of a design.
pub fn models(design: &Design) -> Models {
    let mut builder = Builder {
        design,
        links: Links::of(design),
        given: Given::types(),
        models: Models {
            database: design.database.clone(),
            notes: design.notes.clone(),
            ..Models::default()
        },
    };
    builder.collections();
    for at in 0..builder.models.collections.len() {
        builder.fill(at);
    }
    naming::name(&mut builder.models, &mut builder.given);
    let roots: Vec<usize> = builder
        .models
        .collections
        .iter()
        .map(|model| model.root)
        .collect();
    for root in roots {
        builder.models.fit(root);
    }
    builder.models
}

struct Builder<'d> {
    design: &'d Design,
    links: Links,
    given: Given,
    models: Models,
}

/// Where a value stands: its collection, by number, and the name of the struct of the document.
#[derive(Clone, Copy)]
struct At<'d> {
    number: usize,
    collection: &'d Collection,
}

impl<'d> Builder<'d> {
    /// The structs of the collections, without fields, so that their names are given first.
    fn collections(&mut self) {
        let mut modules = Given::default();
        // The file of the modules.
        modules.give("mod", "_");
        modules.give("models", "_");
        for collection in &self.design.collections {
            let name = self
                .given
                .give_type(&names::ty(&names::singular(&collection.name)));
            let module = modules.give(&names::field(&collection.name), "_");
            let number = self.models.collections.len();
            self.models.collections.push(Model {
                collection: collection.name.clone(),
                module,
                root: number,
            });
            self.models.types.push(Named {
                name,
                path: String::new(),
                file: number,
                docs: Vec::new(),
                comments: Vec::new(),
                options: Vec::new(),
                copies: None,
                is: Is::Struct {
                    fields: Vec::new(),
                    extra: None,
                    others: 0,
                    reordered: false,
                },
            });
        }
    }

    fn fill(&mut self, number: usize) {
        let Some(collection) = self.design.collections.get(number) else {
            return;
        };
        if collection.kind == CollectionKind::View {
            return;
        }
        let at = At { number, collection };
        let is = self.of_fields(at, &collection.root);
        let variants = collection.root.variants.iter().map(remarks::variants);
        let comments: Vec<String> = variants.chain(collection.root.doubts.iter().cloned()).collect();
        if let Some(named) = self.models.types.get_mut(number) {
            named.is = is;
            named.docs = remarks::of_collection(collection);
            named.comments = comments;
        }
    }

    /// A struct of the fields of a document.
    fn of_fields(&mut self, at: At<'d>, document: &'d Field) -> Is {
        let mut names = Given::default();
        let mut fields = Vec::new();
        let mut is_extra = document.others > 0;
        let is_root = document.path.is_empty();
        let has_id = document.fields.iter().any(|field| field.name == "id");
        for field in &document.fields {
            if matches!(field.name.as_str(), "_odm" | "_copied") {
                continue;
            }
            if !can_be_declared(&field.name) {
                is_extra = true;
                continue;
            }
            let rust = match field.name.as_str() {
                "_id" if has_id => names.give("document_id", "_"),
                "_id" => names.give("id", "_"),
                name => names.give(&names::field(name), "_"),
            };
            let member = self.member(at, field, rust, is_root);
            fields.push(member);
        }
        let extra = is_extra.then(|| names.give("others", "_"));
        Is::Struct {
            fields,
            extra,
            others: document.others,
            reordered: document.reordered,
        }
    }

    fn member(&mut self, at: At<'d>, field: &'d Field, rust: String, is_root: bool) -> Member {
        let collection = &at.collection.name;
        let mut presence = Presence {
            missing: field.present < field.of,
            null: field.kinds.contains_key(&Kind::Null),
        };
        let is_id = is_root && field.name == "_id";
        if is_id {
            presence = Presence::default();
        }
        let mut ty = self.value(at, field);
        let mut comments = remarks::of_field(field, at.collection, &ty);
        comments.extend(self.links.remarks(collection, &field.path).iter().cloned());
        if let Some(items) = &field.items {
            comments.extend(self.links.remarks(collection, &items.path).iter().cloned());
        }
        // An array of references is one by its items.
        if let (Type::List(many), Some(items)) = (&mut ty, &field.items)
            && let Some(target) = self.links.target(collection, &items.path)
            && many.found <= bounds::REFERENCES
            && !presence.is_both()
        {
            *many.item = Type::Ref(target.clone());
        } else if let Some(target) = self.links.target(collection, &field.path)
            && !ty.is_many()
        {
            ty = Type::Ref(target.clone());
        }
        if presence.is_both() && ty.is_many() {
            ty = self.around(at, field, ty);
        }
        if presence.is_both() && !ty.is_opaque() {
            self.models.helpers.insert(Helper::OrNull);
        }
        if let (true, Type::Named(at)) = (is_id, &ty)
            && let Some(named) = self.models.types.get_mut(*at)
            && !named.options.iter().any(|option| option == "id")
        {
            named.options.push("id".to_owned());
        }
        Member {
            path: field.path.clone(),
            stored: field.name.clone(),
            rust,
            ty,
            presence,
            attributes: Vec::new(),
            comments,
            role: self.links.role(collection, &field.path).clone(),
        }
    }

    /// The type of the values that are not null.
    fn value(&mut self, at: At<'d>, field: &'d Field) -> Type {
        let kinds: Vec<Kind> = field
            .kinds
            .iter()
            .filter(|(kind, number)| **kind != Kind::Null && **number > 0)
            .map(|(kind, _)| *kind)
            .collect();
        match kinds.as_slice() {
            [] => Type::Unknown,
            [Kind::Object] => self.document(at, field),
            [Kind::Array] => self.list(at, field),
            [Kind::String] if self.is_enumeration(at, field) => self.enumeration(at, field),
            [Kind::Int, Kind::Long] if field.wide => {
                self.models
                    .wide
                    .insert((at.collection.name.clone(), field.path.clone()));
                Type::Plain(Plain::I64)
            }
            [Kind::Int, Kind::Long] => self.helper(Helper::Integer),
            [kind] => Plain::of(*kind).map_or(Type::Any, Type::Plain),
            kinds if kinds.contains(&Kind::Array) || kinds.contains(&Kind::Other) => Type::Any,
            kinds if kinds.contains(&Kind::Object) && (field.map.is_some() || field.fields.is_empty()) => {
                Type::Any
            }
            [Kind::Int, Kind::Double] | [Kind::Int, Kind::Long, Kind::Double] if !field.wide => {
                self.helper(Helper::Integer);
                self.helper(Helper::Number)
            }
            kinds => self.union(at, field, kinds),
        }
    }

    fn helper(&mut self, helper: Helper) -> Type {
        self.models.helpers.insert(helper);
        Type::Helper(helper)
    }

    fn document(&mut self, at: At<'d>, field: &'d Field) -> Type {
        if let Some(map) = &field.map
            && field.path != "_id"
        {
            return self.map(at, field, map);
        }
        if field.fields.is_empty() || !field.fields.iter().any(|field| can_be_declared(&field.name)) {
            return Type::AnyDocument;
        }
        if let Some((children, id)) = self.children_of(at, field) {
            return self.copied(at, field, children, &id);
        }
        if let Some(is) = self.tagged(at, field) {
            return match unify::find(&mut self.models, &is) {
                Some(known) => Type::Named(known),
                None => {
                    let told = field.variants.iter().filter(|variants| is_told(variants));
                    let comments = told.take(1).map(remarks::tagged).collect();
                    self.named(at, &field.path, is, comments)
                }
            };
        }
        let is = self.of_fields(at, field);
        let comments: Vec<String> = field.variants.iter().map(remarks::variants).collect();
        if let Some(known) = unify::find(&mut self.models, &is) {
            return Type::Named(known);
        }
        self.named(at, &field.path, is, comments)
    }

    /// The collection of whose documents an element of a subset is a copy, and the field that names the document.
    fn children_of(&self, at: At<'d>, field: &Field) -> Option<(usize, String)> {
        let array = field.path.strip_suffix("[]")?;
        match self.links.role(&at.collection.name, array) {
            Role::Subset { children, id, .. } => Some((children.collection, id.clone())),
            _ => None,
        }
    }

    /// The struct of the elements of a subset.
    fn copied(&mut self, at: At<'d>, field: &'d Field, of: usize, id: &str) -> Type {
        let mut is = self.of_fields(at, field);
        if let Is::Struct { fields, .. } = &mut is {
            for member in fields {
                member.role = Role::Plain;
                if member.stored == id {
                    member.role = Role::CopiedId;
                    member.ty = Type::Ref(Target {
                        collection: of,
                        by: None,
                        key: roles::key_of(self.design, of),
                    });
                }
            }
        }
        let ty = self.named(at, &field.path, is, Vec::new());
        if let Some(named) = self.models.types.last_mut() {
            named.copies = Some(of);
        }
        ty
    }

    /// An enum of documents whose first field tells which other fields there are.
    fn tagged(&mut self, at: At<'d>, field: &'d Field) -> Option<Is> {
        let variants = field.variants.iter().find(|variants| is_told(variants))?;
        let tag = field.fields.first()?;
        let is_whole = at.collection.read >= at.collection.documents && !field.reordered && field.others == 0;
        let is_tag = variants.tag.as_deref() == Some(&tag.name) && !tag.is_optional();
        // Neither a copy nor an index reaches into a variant, nor does a join.
        let is_free = !self.links.is_below(&at.collection.name, &field.path)
            && !has_index_below(at.collection, &field.path);
        let can_be = field.fields.iter().all(|field| can_be_declared(&field.name));
        if field.path == "_id" || !is_whole || !is_tag || !is_free || !can_be || !self.is_enumeration(at, tag)
        {
            return None;
        }
        let values: Vec<&str> = tag.values.iter().map(|(value, _)| value.as_str()).collect();
        let is_known = |variant: &crate::design::Variant| values.contains(&variant.value.as_str());
        if values.len() != variants.kinds.len() || !variants.kinds.iter().all(is_known) {
            return None;
        }
        let mut variant_names = VariantNames::new();
        let mut all = Vec::with_capacity(values.len());
        for kind in &variants.kinds {
            let mut names = Given::default();
            let mut fields = Vec::new();
            for below in field.fields.iter().skip(1) {
                let is_always = kind.always.contains(&below.name);
                let is_of_all = below.present == below.of;
                if !is_always && !is_of_all && !kind.sometimes.contains(&below.name) {
                    continue;
                }
                let rust = names.give(&names::field(&below.name), "_");
                let mut member = self.member(at, below, rust, false);
                member.presence.missing &= !is_always;
                member
                    .comments
                    .retain(|comment| !comment.starts_with(remarks::MISSING));
                fields.push(member);
            }
            all.push(Variant {
                rust: variant_names.give(&kind.value),
                stored: kind.value.clone(),
                fields,
            });
        }
        Some(Is::Tagged {
            tag: tag.name.clone(),
            variants: all,
        })
    }

    fn map(&mut self, at: At<'d>, field: &'d Field, map: &'d crate::design::Map) -> Type {
        // A key with a dot or a `$` can be read, and odm refuses to write it.
        if map.dotted || map.examples.iter().any(|key| !can_be_declared(key)) {
            return Type::AnyDocument;
        }
        let values = &map.values;
        let item = self.item(at, values);
        if item.is_opaque() || item == Type::Unknown {
            return Type::AnyDocument;
        }
        let key = map.examples.iter().map(|key| key.chars().count() as u64).max();
        let found = map.per_map.greatest.max(u64::from(field.present > 0));
        Type::Map(Many {
            item: Box::new(item),
            null: values.kinds.contains_key(&Kind::Null),
            found,
            key: map.key_length.max(key.unwrap_or(0)),
        })
    }

    fn list(&mut self, at: At<'d>, field: &'d Field) -> Type {
        let Some(items) = &field.items else {
            return Type::AnyList;
        };
        if items.kinds.is_empty() {
            return Type::AnyList;
        }
        let item = self.item(at, items);
        // An array of what isn't looked into is not looked into as a whole.
        if item.is_opaque() || item == Type::Unknown {
            return Type::AnyList;
        }
        Type::List(Many {
            item: Box::new(item),
            null: items.kinds.contains_key(&Kind::Null),
            found: field.lengths.as_ref().map_or(1, |lengths| lengths.greatest),
            key: 0,
        })
    }

    /// The type of an item: an array or a map in it stands in a struct of its own, which holds its bound.
    fn item(&mut self, at: At<'d>, items: &'d Field) -> Type {
        match self.value(at, items) {
            many if many.is_many() => self.around(at, items, many),
            other => other,
        }
    }

    fn around(&mut self, at: At<'d>, field: &'d Field, ty: Type) -> Type {
        let rust = "items".to_owned();
        let comments = remarks::of_field(field, at.collection, &ty);
        let member = Member {
            path: field.path.clone(),
            stored: rust.clone(),
            rust,
            ty,
            presence: Presence::default(),
            attributes: Vec::new(),
            comments,
            role: Role::Plain,
        };
        let is = Is::Around(Box::new(member));
        if let Some(known) = unify::find(&mut self.models, &is) {
            return Type::Named(known);
        }
        self.named(at, &field.path, is, Vec::new())
    }

    fn union(&mut self, at: At<'d>, field: &'d Field, kinds: &[Kind]) -> Type {
        let mut variants: Vec<(String, Type)> = Vec::new();
        let has = |kind: Kind| kinds.contains(&kind);
        let numbers = [Kind::Int, Kind::Long].iter().filter(|kind| has(**kind)).count();
        if numbers == 2 && field.wide {
            self.models
                .wide
                .insert((at.collection.name.clone(), field.path.clone()));
            variants.push(("Integer".to_owned(), Type::Plain(Plain::I64)));
        } else if numbers == 2 {
            variants.push(("Integer".to_owned(), self.helper(Helper::Integer)));
        }
        for kind in kinds {
            let (name, ty) = match kind {
                Kind::Int | Kind::Long if numbers == 2 => continue,
                Kind::Object => ("Document", self.document(at, field)),
                Kind::Bool => ("Bool", Type::Plain(Plain::Bool)),
                Kind::Int | Kind::Long => ("Integer", Plain::of(*kind).map_or(Type::Any, Type::Plain)),
                Kind::Double => ("Double", Type::Plain(Plain::F64)),
                Kind::Decimal => ("Decimal", Type::Plain(Plain::Decimal)),
                Kind::String => ("Text", Type::Plain(Plain::String)),
                Kind::ObjectId => ("Id", Type::Plain(Plain::ObjectId)),
                Kind::Uuid => ("Uuid", Type::Plain(Plain::Uuid)),
                Kind::BinData => ("Binary", Type::Plain(Plain::Binary)),
                Kind::Date => ("Date", Type::Plain(Plain::Date)),
                Kind::Timestamp => ("Timestamp", Type::Plain(Plain::Timestamp)),
                Kind::Regex => ("Regex", Type::Plain(Plain::Regex)),
                Kind::Null | Kind::Array | Kind::Other => return Type::Any,
            };
            if ty.is_opaque() || ty.is_many() {
                return Type::Any;
            }
            variants.push((name.to_owned(), ty));
        }
        // A UUID is binary data too: the one that is more exact is tried first.
        let is = Is::Union(variants);
        if let Some(known) = unify::find(&mut self.models, &is) {
            return Type::Named(known);
        }
        self.named(at, &field.path, is, Vec::new())
    }

    /// Whether the values of a field are all known, and can be variants.
    fn is_enumeration(&self, at: At<'d>, field: &Field) -> bool {
        let texts = field.kinds.get(&Kind::String).copied().unwrap_or(0);
        let known: u64 = field.values.iter().map(|(_, number)| number).sum();
        let collection = at.collection;
        field.enumeration
            && field.values.len() <= VARIANTS
            && !field.values.is_empty()
            && known == texts
            && collection.read >= collection.documents
            && field
                .values
                .iter()
                .all(|(value, _)| !value.is_empty() && !value.contains(['\0', '/']))
            && !self.links.is_repeated(&collection.name, &field.path)
            && self.links.target(&collection.name, &field.path).is_none()
            && !field.path.is_empty()
            && field.path != "_id"
            && !in_index_condition(collection, &field.path)
    }

    fn enumeration(&mut self, at: At<'d>, field: &Field) -> Type {
        let mut names = VariantNames::new();
        let mut values: Vec<&String> = field.values.iter().map(|(value, _)| value).collect();
        values.sort();
        let variants = values.into_iter().map(|value| (names.give(value), value.clone()));
        let is = Is::Enum(variants.collect());
        if let Some(known) = unify::find(&mut self.models, &is) {
            return Type::Named(known);
        }
        self.named(at, &field.path, is, Vec::new())
    }

    /// Adds a type, whose name is given once all are known.
    fn named(&mut self, at: At<'d>, path: &str, is: Is, comments: Vec<String>) -> Type {
        self.models.types.push(Named {
            name: String::new(),
            path: path.to_owned(),
            file: at.number,
            docs: vec![format!("`{}` of `{}`.", path, at.collection.name)],
            comments,
            options: Vec::new(),
            copies: None,
            is,
        });
        Type::Named(self.models.types.len() - 1)
    }
}

/// The names of the variants of an enum: neither they nor their paths are equal.
struct VariantNames {
    types: Given,
    paths: Given,
}

impl VariantNames {
    fn new() -> Self {
        let (mut types, paths) = (Given::default(), Given::default());
        types.give("Self", "");
        Self { types, paths }
    }

    fn give(&mut self, value: &str) -> String {
        let name = variant(value);
        let path = self.paths.give(&names::field(&name), "_");
        if path == names::field(&name) {
            self.types.give(&name, "_")
        } else {
            self.types.give(&names::ty(&path), "_")
        }
    }
}

/// The name of a variant; signs in front of it are told apart.
fn variant(value: &str) -> String {
    match value.chars().next() {
        Some('-') if value.len() > 1 => format!("Minus{}", names::ty(value).trim_start_matches('N')),
        Some('+') if value.len() > 1 => format!("Plus{}", names::ty(value).trim_start_matches('N')),
        _ => names::ty(value),
    }
}

/// Whether odm takes the stored name of a field.
pub fn can_be_declared(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', '\0']) && !name.starts_with('$')
}

/// Whether the tag alone tells which fields there are: at least two variants have fields of their own, and no value of the tag is
/// missing. A field that is called a type is one; of another, each value was read several times.
fn is_told(variants: &Variants) -> bool {
    let Some(tag) = &variants.tag else { return false };
    let own = variants.kinds.iter().filter(|kind| !kind.always.is_empty());
    let name = tag.to_lowercase();
    let is_named = ["type", "kind", "variant", "event", "shape", "mode"]
        .iter()
        .any(|word| name.ends_with(word));
    let is_frequent = variants.kinds.iter().all(|kind| kind.number >= OFTEN);
    own.count() >= 2 && variants.kinds.len() <= VARIANTS && (is_named || is_frequent)
}

/// The documents of each variant from which on a tag of any name is one.
const OFTEN: u64 = 5;

/// Takes out all variants, so that all documents are structs.
pub fn without_variants(field: &mut Field) {
    field.variants.clear();
    let items = field.items.as_deref_mut();
    let values = field.map.as_mut().map(|map| &mut *map.values);
    let below = field.fields.iter_mut().chain(items).chain(values);
    below.for_each(without_variants);
}

/// Whether an index has a field below a path.
fn has_index_below(collection: &Collection, path: &str) -> bool {
    let path = path.replace("[]", "");
    let is_below = |key: &String| key.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.'));
    collection.indexes.iter().any(|index| {
        let weights = index.options.get_document("weights");
        let condition = index.options.get_document("partialFilterExpression");
        let others = [weights, condition].into_iter().flatten();
        index
            .keys
            .keys()
            .chain(others.flat_map(|of| of.keys()))
            .any(is_below)
    })
}

/// Whether an index names values of the field in its condition, which compares texts.
fn in_index_condition(collection: &Collection, path: &str) -> bool {
    collection.indexes.iter().any(|index| {
        let condition = index.options.get_document("partialFilterExpression");
        condition.is_ok_and(|condition| condition.contains_key(path))
    })
}

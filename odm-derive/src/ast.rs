//! The type with its attributes as the user wrote them, before any rule is applied across them.

use crate::attr;
use crate::attr::Count;
use crate::attr::access::Access;
use crate::attr::copy::{self, Copy};
use crate::attr::document::Document;
use crate::attr::index::Index;
use crate::attr::reference::Reference;
use crate::case::Case;
use crate::ctxt::Ctxt;
use crate::ty;
use syn::ext::IdentExt;
use syn::{Attribute, DeriveInput, Fields, Generics, Ident, Type, Visibility};

/// A struct or an enum.
pub struct Container<'a> {
    pub ident: &'a Ident,
    pub vis: &'a Visibility,
    pub generics: &'a Generics,
    pub attrs: &'a [Attribute],
    pub serde: attr::serde::Container,
    /// Whether it is stored in another form than serde's, as far as is known here.
    pub has_own_form: bool,
    /// `#[denormalize(from = T)]` above it.
    pub copies: Option<copy::Container>,
    /// The name in messages, where the application knows the type by an alias.
    pub alias: Option<String>,
    pub data: Data<'a>,
    /// The roles of a document's fields. In another type no field has one.
    pub roles: Roles,
}

pub enum Data<'a> {
    Struct(Style, Vec<Field<'a>>),
    Enum(Vec<Variant<'a>>),
    Union,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Named,
    Newtype,
    Tuple,
    Unit,
}

pub struct Variant<'a> {
    pub ident: &'a Ident,
    pub attrs: &'a [Attribute],
    pub name: String,
    /// The name in JSON, where that is another one.
    pub json: Option<String>,
    pub serde: attr::serde::Variant,
    pub style: Style,
    pub fields: Vec<Field<'a>>,
}

pub struct Field<'a> {
    /// The name in Rust, without `r#`; the position in a tuple.
    pub rust: String,
    /// The name in BSON.
    pub name: String,
    /// The name in JSON, where that is another one.
    pub json: Option<String>,
    pub vis: &'a Visibility,
    /// The type of its values: `T` of `Deferred<T>`.
    pub ty: &'a Type,
    /// The declared type is `Deferred<T>`.
    pub is_deferred: bool,
    pub original: &'a syn::Field,
    pub serde: attr::serde::Field,
    pub field: attr::field::Field,
    pub embed: attr::embed::Embed,
    pub indexes: Vec<Index>,
    pub reference: Option<Reference>,
    /// Its source, if the library derives it.
    pub copy: Option<Copy>,
    /// `#[volatile]`.
    pub volatile: Option<proc_macro2::Span>,
    /// All of its attributes could be read.
    pub is_read: bool,
}

impl<'a> Container<'a> {
    pub fn read(cx: &Ctxt, input: &'a DeriveInput) -> Container<'a> {
        let own = attr::storage::Container::parse(cx, &input.attrs);
        let by_serde = if own.serde_is_json {
            silently(|cx| attr::serde::Container::parse(cx, &input.attrs))
        } else {
            attr::serde::Container::parse(cx, &input.attrs)
        };
        let names = Cases {
            owner: &input.ident,
            serde_is_json: own.serde_is_json,
            stored: Case::default(),
            json: by_serde.rename_all,
        };
        let json_fields = by_serde.rename_all_fields;
        let mut has_own_form = own.differs_from(&by_serde);
        let serde = own.over(by_serde);
        own.check(cx, input, &serde);
        let stored = serde.rename_all.unwrap_or_default();
        let copies = copy::Container::parse(cx, &input.attrs);
        let data = match &input.data {
            syn::Data::Struct(data) => {
                let (style, mut fields) = read_fields(cx, &data.fields, Cases { stored, ..names });
                if let (Some(copies), Style::Named) = (&copies, style) {
                    copied(copies, &mut fields);
                }
                if ["document", "projection"]
                    .iter()
                    .any(|name| attr::find(&input.attrs, name).is_some())
                {
                    has_own_form |= stored_as_id(&mut fields);
                }
                Data::Struct(style, fields)
            }
            syn::Data::Enum(data) => Data::Enum(
                data.variants
                    .iter()
                    .map(|variant| Variant::read(cx, variant, &serde, Cases { stored, ..names }, json_fields))
                    .collect(),
            ),
            syn::Data::Union(_) => Data::Union,
        };
        has_own_form |= match &data {
            Data::Struct(_, fields) => fields
                .iter()
                .any(|field| field.field.has_form || field.is_deferred),
            Data::Enum(variants) => variants.iter().any(|variant| {
                variant.json.is_some() || variant.fields.iter().any(|field| field.field.has_form)
            }),
            Data::Union => false,
        };
        Container {
            has_own_form,
            ident: &input.ident,
            vis: &input.vis,
            generics: &input.generics,
            attrs: &input.attrs,
            serde,
            copies,
            alias: None,
            data,
            roles: Roles::default(),
        }
    }

    /// A document, whose attributes give its fields their roles.
    pub fn document(cx: &Ctxt, input: &'a DeriveInput, document: &Document) -> Container<'a> {
        let mut container = Container::read(cx, input);
        // One without its attribute is an error of its own.
        if let Data::Struct(_, fields) = &mut container.data {
            container.has_own_form |= stored_as_id(fields);
        }
        container.roles = Roles::find(container.fields(), document);
        container
    }

    /// The name by which the application knows it, without `r#`.
    pub fn name(&self) -> String {
        let alias = self.alias.clone();
        alias.unwrap_or_else(|| self.ident.unraw().to_string())
    }

    /// All fields, of all variants.
    pub fn all_fields(&self) -> Vec<&Field<'a>> {
        match &self.data {
            Data::Struct(_, fields) => fields.iter().collect(),
            Data::Enum(variants) => variants.iter().flat_map(|variant| &variant.fields).collect(),
            Data::Union => Vec::new(),
        }
    }

    /// The fields of a struct.
    pub fn fields(&self) -> &[Field<'a>] {
        match &self.data {
            Data::Struct(_, fields) => fields,
            _ => &[],
        }
    }
}

impl<'a> Variant<'a> {
    fn read(
        cx: &Ctxt,
        variant: &'a syn::Variant,
        container: &attr::serde::Container,
        names: Cases<'_>,
        json_fields: Option<Case>,
    ) -> Variant<'a> {
        let by_serde = if names.serde_is_json {
            silently(|cx| attr::serde::Variant::parse(cx, &variant.attrs))
        } else {
            attr::serde::Variant::parse(cx, &variant.attrs)
        };
        let rust = variant.ident.unraw().to_string();
        let json = names.json_name(by_serde.rename.as_ref(), &rust, Case::of_variant);
        let json_case = by_serde.rename_all.or(json_fields);
        let own = attr::storage::variant(cx, variant);
        let serde = own.over(if names.serde_is_json {
            attr::serde::Variant::default()
        } else {
            by_serde
        });
        let stored = serde.rename_all.or(container.rename_all_fields);
        let cases = Cases {
            stored: stored.unwrap_or_default(),
            json: json_case,
            ..names
        };
        let (style, fields) = read_fields(cx, &variant.fields, cases);
        let name = stored_name(cx, serde.rename.as_ref(), names.stored.of_variant(&rust));
        Variant {
            ident: &variant.ident,
            attrs: &variant.attrs,
            json: json.filter(|json| *json != name),
            name,
            serde,
            style,
            fields,
        }
    }
}

impl Variant<'_> {
    /// The name of its path: in snake case, `paid_back` of `PaidBack` and `http_error` of `HTTPError`.
    pub fn path(&self) -> String {
        let name: Vec<char> = self.ident.unraw().to_string().chars().collect();
        let mut path = String::new();
        for (i, c) in name.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| name.get(i));
            let begins = before.is_some_and(|before| {
                let ends = name.get(i + 1).is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || before.is_numeric() || before.is_uppercase() && ends
            });
            if c.is_uppercase() && begins {
                path.push('_');
            }
            path.extend(c.to_lowercase());
        }
        path
    }
}

/// How the fields or the variants of a type are called.
#[derive(Clone, Copy)]
struct Cases<'a> {
    /// The type.
    owner: &'a Ident,
    /// serde's attributes concern JSON alone.
    serde_is_json: bool,
    stored: Case,
    /// The case in JSON, if serde has one.
    json: Option<Case>,
}

impl Cases<'_> {
    /// The name in JSON, where serde's attributes give one: in `serde = json` always.
    fn json_name(
        self,
        rename: Option<&attr::serde::Sides<syn::LitStr>>,
        rust: &str,
        of: fn(Case, &str) -> String,
    ) -> Option<String> {
        let renamed = rename.and_then(|sides| sides.serialize.as_ref().or(sides.deserialize.as_ref()));
        match (renamed, self.json) {
            (Some(name), _) => Some(name.value()),
            (None, Some(case)) => Some(of(case, rust)),
            (None, None) => self.serde_is_json.then(|| rust.to_owned()),
        }
    }
}

/// Reads attributes of serde that do not concern storage, without reporting their errors.
fn silently<T>(read: impl FnOnce(&Ctxt) -> T) -> T {
    let cx = Ctxt::new();
    let read = read(&cx);
    drop(cx.check());
    read
}

/// A field `id` of a document is its `_id`, unless another one is, or it has a name of its own. `true`: there is one.
fn stored_as_id(fields: &mut [Field]) -> bool {
    let has_id = fields.iter().any(|field| field.name == "_id" && !field.skipped());
    let is_plain =
        |field: &&mut Field| field.rust == "id" && field.serde.rename.is_none() && !field.skipped();
    let id = fields.iter_mut().filter(|_| !has_id).find(is_plain);
    let is_found = id.is_some();
    if let Some(field) = id {
        field.name = "_id".to_owned();
        field.json = Some("id".to_owned());
    }
    is_found
}

fn read_fields<'a>(cx: &Ctxt, fields: &'a Fields, case: Cases<'_>) -> (Style, Vec<Field<'a>>) {
    let style = match fields {
        Fields::Named(_) => Style::Named,
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Style::Newtype,
        Fields::Unnamed(_) => Style::Tuple,
        Fields::Unit => Style::Unit,
    };
    let fields = fields
        .iter()
        .enumerate()
        .map(|(i, field)| Field::read(cx, i, field, case))
        .collect();
    (style, fields)
}

impl<'a> Field<'a> {
    fn read(cx: &Ctxt, position: usize, original: &'a syn::Field, case: Cases<'_>) -> Field<'a> {
        let rust = match &original.ident {
            Some(ident) => ident.unraw().to_string(),
            None => position.to_string(),
        };
        let unreadable = cx.count_unreadable();
        let by_serde = if case.serde_is_json {
            silently(|cx| attr::serde::Field::parse(cx, &original.attrs))
        } else {
            attr::serde::Field::parse(cx, &original.attrs)
        };
        let json = case.json_name(by_serde.rename.as_ref(), &rust, Case::of_field);
        let mut declared = attr::field::Field::parse(cx, &original.attrs);
        if case.serde_is_json && declared.access.is_none() {
            declared.access = by_serde.access();
            declared.access_by_serde = true;
        }
        let mut serde = std::mem::take(&mut declared.form).over(if case.serde_is_json {
            attr::serde::Field::default()
        } else {
            by_serde
        });
        if declared.default.is_some() && serde.default.is_none() && original.ident.is_some() {
            let (owner, function) = (case.owner, quote::format_ident!("default_{rust}"));
            serde.default = Some(attr::serde::Default_::Function(
                syn::parse_quote!(#owner::#function),
            ));
            declared.has_form = true;
        }
        let name = stored_name(cx, serde.rename.as_ref(), case.stored.of_field(&rust));
        let mut reference = Reference::parse(cx, &original.attrs);
        let mut copy = Copy::parse(cx, &original.attrs, &mut reference);
        let declared_type = ty::written(&original.ty);
        let deferred = ty::deferred(declared_type);
        if matches!(ty::many(&original.ty), Some(ty::Many::List { .. })) {
            let of_copies = match &mut copy {
                Some(Copy::Entry(entry)) => Some(&mut entry.reference),
                _ => None,
            };
            reference
                .iter_mut()
                .chain(of_copies)
                .for_each(Reference::of_array);
        }
        // A module of the application's may have this name too. Of that one, the field says what it stores.
        serde.native &= declared.stored.is_none() && !declared.opaque;
        let (embed, indexes, volatile) = (
            attr::embed::Embed::parse(cx, &original.attrs),
            Index::of_field(cx, original.ident.as_ref(), &original.attrs),
            copy::volatile(cx, &original.attrs),
        );
        Field {
            is_read: cx.count_unreadable() == unreadable,
            rust,
            json: json.filter(|json| *json != name),
            name,
            vis: &original.vis,
            ty: deferred.unwrap_or(declared_type),
            is_deferred: deferred.is_some(),
            original,
            serde,
            field: declared,
            embed,
            indexes,
            reference,
            copy,
            volatile,
        }
    }

    /// Whether the library alone writes it: everything that is derived but a reference with copies, of which the
    /// application writes the reference.
    pub fn is_derived(&self) -> bool {
        matches!(
            self.copy,
            Some(Copy::Field(_) | Copy::Subset(_) | Copy::Computed(_))
        )
    }

    /// Whether a patch of the document may set it: the application writes it, and so may a client.
    pub fn in_patch(&self, roles: &Roles) -> bool {
        let access = self.field.access.as_ref().map(|access| access.value);
        let is_closed = matches!(access, Some(Access::Private | Access::ReadOnly));
        let by_library = self.is_derived() || self.field.scope || roles.made(self);
        let is_parent = self.reference.as_ref().is_some_and(|reference| reference.parent);
        let is_parent = is_parent || self.entry().is_some_and(|entry| entry.reference.parent);
        !(is_closed || by_library || is_parent || roles.is_id(self) || self.skipped() || self.field.extra)
    }

    /// The reference with copies beside it that it is.
    pub fn entry(&self) -> Option<&copy::Entry> {
        match &self.copy {
            Some(Copy::Entry(entry)) => Some(entry),
            _ => None,
        }
    }

    /// Not in the database at all.
    pub fn skipped(&self) -> bool {
        self.serde.skip.is_some()
    }

    /// The type whose shape the stored value has.
    pub fn stored(&self) -> &Type {
        self.field.stored.as_ref().unwrap_or(self.ty)
    }

    /// Where `with` or the like has it stored in another form than its type says.
    pub fn converted(&self) -> Option<proc_macro2::Span> {
        self.serde.with.filter(|_| !self.serde.native)
    }

    /// Whether functions or a type of the application write and read what is stored, of which the library knows nothing.
    pub fn is_foreign(&self) -> bool {
        self.converted().is_some() || self.field.stored.is_some()
    }

    /// Whether its stored type is declared as an array.
    pub fn is_array(&self) -> bool {
        self.max_items().is_some()
    }

    /// The greatest number of its items.
    pub fn max_items(&self) -> Option<Count> {
        let derived = match &self.copy {
            Some(Copy::Entry(entry)) => entry.reference.max_items(),
            Some(Copy::Subset(subset)) => Some(subset.limit.clone()),
            _ => None,
        };
        let references = self.reference.as_ref().and_then(Reference::max_items);
        derived.or(references).or(self.embed.max.clone())
    }

    /// A document without the field can't be read.
    pub fn required(&self, container: &attr::serde::Container) -> bool {
        let by_option = ty::is_option(self.ty) && !self.serde.deserialize_with;
        let left_out = self.serde.skip_serializing_if.is_some();
        !(by_option
            || left_out
            || self.field.extra
            || self.serde.default.is_some()
            || container.default.is_some())
    }

    /// An `Option` that a function reads: unlike the type's own `Deserialize`, it is not asked where the field is missing.
    pub fn needed(&self, container: &attr::serde::Container) -> bool {
        self.serde.deserialize_with && ty::is_option(self.ty) && self.required(container)
    }

    pub fn ident(&self) -> Option<&'a Ident> {
        self.original.ident.as_ref()
    }

    /// "`name: Type`", as messages name a field.
    pub fn label(&self) -> String {
        format!("{}: {}", self.rust, ty::name(self.ty))
    }
}

/// The roles of a document's fields, by their names in Rust.
#[derive(Default)]
pub struct Roles {
    pub id: Option<String>,
    /// The library makes the id.
    pub managed_id: bool,
    pub created: Option<String>,
    pub updated: Option<String>,
    pub version: Option<String>,
    /// The time of a deletion that keeps the document.
    pub deleted: Option<String>,
}

impl Roles {
    fn find(fields: &[Field], document: &Document) -> Roles {
        let id = fields
            .iter()
            .find(|field| field.name == "_id" && !field.skipped());
        let existing = |given: Option<&Ident>, default: &str| {
            let wanted = given.map_or_else(|| default.to_owned(), |ident| ident.unraw().to_string());
            fields.iter().any(|field| field.rust == wanted).then_some(wanted)
        };
        let mut roles = Roles {
            id: id.map(|field| field.rust.clone()),
            managed_id: id
                .is_some_and(|field| field.field.generate.is_some() || ty::exactly(field.ty, "ObjectId")),
            ..Roles::default()
        };
        if let Some(timestamps) = &document.timestamps {
            let (created, updated) = (timestamps.created.as_ref(), timestamps.updated.as_ref());
            if !timestamps.named || created.is_some() {
                roles.created = existing(created, "created_at");
            }
            if !timestamps.named || updated.is_some() {
                roles.updated = existing(updated, "updated_at");
            }
        }
        if let Some(version) = &document.version {
            roles.version = existing(version.value.as_ref(), "version");
        }
        if let Some(deleted) = &document.soft_delete {
            roles.deleted = existing(deleted.value.as_ref(), "deleted_at");
        }
        roles
    }

    pub fn is_id(&self, field: &Field) -> bool {
        self.id.as_ref() == Some(&field.rust)
    }
    pub fn is_created(&self, field: &Field) -> bool {
        self.created.as_ref() == Some(&field.rust)
    }
    pub fn is_updated(&self, field: &Field) -> bool {
        self.updated.as_ref() == Some(&field.rust)
    }
    pub fn is_version(&self, field: &Field) -> bool {
        self.version.as_ref() == Some(&field.rust)
    }

    pub fn is_deleted(&self, field: &Field) -> bool {
        self.deleted.as_ref() == Some(&field.rust)
    }

    /// The library makes the value, so the application does not supply it.
    pub fn made(&self, field: &Field) -> bool {
        self.is_id(field) && self.managed_id
            || self.is_created(field)
            || self.is_updated(field)
            || self.is_version(field)
            || self.is_deleted(field)
    }
}

/// In a struct of copies, the field that refers to the document is a reference, and every other one a copy.
fn copied(copies: &copy::Container, fields: &mut [Field]) {
    let is_id = |field: &Field| {
        field.reference.is_some() || {
            let target = copies.of.segments.last().map(|last| last.ident.to_string());
            let referred = ty::referred(field.ty).and_then(ty::last);
            referred.is_some_and(|last| Some(last.ident.to_string()) == target)
        }
    };
    let id = fields
        .iter()
        .find(|field| is_id(field))
        .and_then(|field| field.original.ident.clone());
    for field in fields {
        let Some(name) = field.original.ident.clone() else {
            continue;
        };
        if id.as_ref() == Some(&name) {
            let span = syn::spanned::Spanned::span(field.ty);
            field.reference.get_or_insert_with(|| Reference::one(span));
        } else if field.copy.is_none() && field.reference.is_none() && !field.skipped() && !field.field.extra
        {
            field.copy = Some(Copy::Field(copy::FieldCopy {
                span: name.span(),
                from: copy::Source::Whole {
                    of: copies.of.clone(),
                    id: id.clone(),
                },
                field: name,
                consistency: copies.consistency.clone(),
            }));
        }
    }
}

/// The name that serde stores: the given one, or the default for both directions.
fn stored_name(cx: &Ctxt, rename: Option<&attr::serde::Sides<syn::LitStr>>, default: String) -> String {
    let Some(sides) = rename else { return default };
    let name = |side: &Option<syn::LitStr>| side.as_ref().map_or_else(|| default.clone(), syn::LitStr::value);
    let (written, read) = (name(&sides.serialize), name(&sides.deserialize));
    if written != read {
        cx.push(syn::Error::new(
            sides.span,
            format!(
                "It is written as `{written}` and read as `{read}`, so reads would not find what writes stored. Write one name \
                 for both: `#[serde(rename = \"{written}\")]`, and `#[serde(alias = \"{read}\")]` for documents that have the \
                 other one"
            ),
        ));
    }
    written
}

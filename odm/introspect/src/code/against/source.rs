//! The structs and enums that there are, with the places in their files.

use super::attribute::{self, Word, ident_text, inside, words};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;

/// The Rust code of a folder.
#[derive(Debug, Default)]
pub struct Source {
    /// The files, by their paths below the folder.
    pub files: Vec<(PathBuf, String)>,
    /// The types, by their names.
    pub types: BTreeMap<String, Written>,
    /// The names of the structs of collections.
    pub documents: BTreeMap<String, String>,
    /// Other names of types.
    pub aliases: BTreeMap<String, syn::Type>,
}

/// A type as it was written.
#[derive(Debug)]
pub struct Written {
    /// Its file.
    pub file: usize,
    /// Where it begins, behind its attributes.
    pub head: usize,
    /// Where its body ends: at the closing brace.
    pub close: usize,
    /// Its form.
    pub is: Form,
    /// The indexes that its attributes and those of its fields declare: names of fields in Rust, with their kinds.
    pub indexes: Vec<Vec<(String, String)>>,
}

/// The form of a written type.
#[derive(Debug)]
pub enum Form {
    /// A struct with named fields.
    Struct {
        /// Its fields.
        fields: Vec<WrittenField>,
    },
    /// An enum without content: the stored names.
    Names(Vec<String>),
    /// An enum whose variant follows from the value.
    Untagged(Vec<syn::Type>),
    /// A value in a struct.
    Around(Box<syn::Type>),
    /// One that is not compared: an enum with a tag, one of numbers, one by functions.
    Other,
}

/// A field as it was written.
#[derive(Clone, Debug)]
pub struct WrittenField {
    /// Its name in Rust.
    pub rust: String,
    /// Its stored name.
    pub stored: String,
    /// Older stored names.
    pub aliases: Vec<String>,
    /// Its type.
    pub ty: syn::Type,
    /// The type of its stored form, where it is another one.
    pub stored_as: Option<syn::Type>,
    /// Where its type stands.
    pub ty_at: Range<usize>,
    /// Where it stands, with its attributes and comments of documentation.
    pub at: Range<usize>,
    /// Whether nothing is compared: it is opaque, or converted by functions.
    pub is_opaque: bool,
    /// Whether its fields stand beside the others.
    pub is_flattened: bool,
    /// Whether a document without it is read.
    pub has_default: bool,
}

impl Source {
    /// Reads all files of a folder and of those in it.
    ///
    /// # Errors
    /// Where a file can't be read, or is no Rust: by its path, line and column.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut source = Self::default();
        let mut paths = Vec::new();
        find(folder, &mut paths).with_context(|| format!("{} can't be read", folder.display()))?;
        paths.sort();
        for path in paths {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("{} can't be read", path.display()))?;
            let file = syn::parse_file(&text).map_err(|error| {
                let at = error.span().start();
                anyhow::anyhow!("{}:{}:{}: {error}", path.display(), at.line, at.column + 1)
            })?;
            let number = source.files.len();
            let relative = path.strip_prefix(folder).unwrap_or(&path).to_owned();
            let is_marked = text.starts_with('\u{feff}');
            source.files.push((relative, text));
            // Behind a mark of the encoding, the places would be others.
            if !is_marked {
                source.items(number, &file.items);
            }
        }
        Ok(source)
    }

    fn items(&mut self, file: usize, items: &[syn::Item]) {
        for item in items {
            match item {
                syn::Item::Struct(item) => self.item_struct(file, item),
                syn::Item::Enum(item) => self.item_enum(file, item),
                syn::Item::Type(item) => {
                    self.aliases.insert(ident_text(&item.ident), (*item.ty).clone());
                }
                syn::Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        self.items(file, items);
                    }
                }
                _ => {}
            }
        }
    }

    fn item_struct(&mut self, file: usize, item: &syn::ItemStruct) {
        let derives = attribute::derives(&item.attrs);
        let is_document = derives.iter().any(|name| name == "Document");
        if !is_document && !derives.iter().any(|name| name == "Embed") {
            return;
        }
        let name = ident_text(&item.ident);
        let own = if is_document { "document" } else { "embed" };
        let options = words(&item.attrs, own);
        let serde_is_json = options.iter().any(|word| word.name == "serde");
        let serde = if serde_is_json {
            Vec::new()
        } else {
            words(&item.attrs, "serde")
        };
        let case = case(&options, &serde, "rename_all");
        let has = |name: &str| options.iter().chain(&serde).any(|word| word.name == name);
        let (is, close) = match &item.fields {
            syn::Fields::Named(named) => {
                let fields: Vec<(WrittenField, bool)> = named
                    .named
                    .iter()
                    .filter_map(|field| self::field(field, case.as_deref(), serde_is_json))
                    .collect();
                let mut fields: Vec<WrittenField> = fields
                    .into_iter()
                    .filter(|(_, extra)| !extra)
                    .map(|(field, _)| field)
                    .collect();
                if is_document && !fields.iter().any(|field| field.stored == "_id") {
                    for field in fields.iter_mut().filter(|field| field.rust == "id") {
                        field.stored = "_id".to_owned();
                    }
                }
                let close = named.brace_token.span.close().byte_range().start;
                match fields.as_slice() {
                    [one] if has("transparent") => (Form::Around(Box::new(one.ty.clone())), close),
                    _ => (Form::Struct { fields }, close),
                }
            }
            syn::Fields::Unnamed(unnamed) => {
                let only = unnamed.unnamed.first().filter(|_| unnamed.unnamed.len() == 1);
                let form = only.map_or(Form::Other, |only| {
                    let stored = words(&only.attrs, "field")
                        .into_iter()
                        .find(|word| word.name == "stored");
                    let stored = stored.and_then(|word| syn::parse2(word.value?).ok());
                    Form::Around(Box::new(stored.unwrap_or_else(|| only.ty.clone())))
                });
                (form, item.span().byte_range().end)
            }
            syn::Fields::Unit => (Form::Other, item.span().byte_range().end),
        };
        let mut indexes: Vec<Vec<(String, String)>> = Vec::new();
        for index in options.iter().filter(|word| word.name == "index") {
            indexes.extend(index.inside.clone().map(index_fields));
        }
        for field in &item.fields {
            indexes.extend(field_indexes(field));
        }
        if let Some(collection) = options.iter().find(|word| word.name == "collection") {
            self.documents
                .extend(collection.text.clone().map(|text| (text, name.clone())));
        }
        self.types.insert(
            name,
            Written {
                file,
                head: head(&item.vis, item.struct_token.span()),
                close,
                is,
                indexes,
            },
        );
    }

    fn item_enum(&mut self, file: usize, item: &syn::ItemEnum) {
        let derives = attribute::derives(&item.attrs);
        let is_document = derives.iter().any(|name| name == "Document");
        if !is_document && !derives.iter().any(|name| name == "Embed") {
            return;
        }
        let options = words(&item.attrs, if is_document { "document" } else { "embed" });
        if let Some(collection) = options.iter().find(|word| word.name == "collection") {
            let name = ident_text(&item.ident);
            self.documents
                .extend(collection.text.clone().map(|text| (text, name)));
        }
        let serde = words(&item.attrs, "serde");
        let has = |name: &str| options.iter().chain(&serde).any(|word| word.name == name);
        let case = case(&options, &serde, "rename_all");
        let is = if has("untagged") {
            let types = item.variants.iter().flat_map(|variant| match &variant.fields {
                syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                    fields.unnamed.first().map(|field| field.ty.clone())
                }
                syn::Fields::Unit => None,
                _ => syn::parse_str("Bson").ok(),
            });
            Form::Untagged(types.collect())
        } else if has("repr")
            || has("tag")
            || is_document
            || item.variants.iter().any(|one| !one.fields.is_empty())
        {
            Form::Other
        } else {
            let names = item.variants.iter().map(|variant| {
                let options = words(&variant.attrs, "embed");
                let serde = words(&variant.attrs, "serde");
                text_of(&options, "name")
                    .or_else(|| text_of(&serde, "rename"))
                    .unwrap_or_else(|| {
                        let name = ident_text(&variant.ident);
                        case.as_deref()
                            .map_or(name.clone(), |case| attribute::in_case(&name, case, true))
                    })
            });
            Form::Names(names.collect())
        };
        self.types.insert(
            ident_text(&item.ident),
            Written {
                file,
                head: head(&item.vis, item.enum_token.span()),
                close: item.brace_token.span.close().byte_range().start,
                is,
                indexes: Vec::new(),
            },
        );
    }
}

/// Where a type begins behind its attributes.
fn head(visibility: &syn::Visibility, keyword: proc_macro2::Span) -> usize {
    match visibility {
        syn::Visibility::Inherited => keyword.byte_range().start,
        visibility => visibility.span().byte_range().start,
    }
}

fn find(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A link may lead back to where it stands.
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            find(&path, paths)?;
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

fn text_of(words: &[Word], name: &str) -> Option<String> {
    words
        .iter()
        .find(|word| word.name == name)
        .and_then(|word| word.text.clone())
}

fn case(options: &[Word], serde: &[Word], name: &str) -> Option<String> {
    text_of(options, name).or_else(|| text_of(serde, name))
}

/// A field, and whether it takes what is not declared. `None`: it is not stored.
fn field(field: &syn::Field, case: Option<&str>, serde_is_json: bool) -> Option<(WrittenField, bool)> {
    let rust = ident_text(field.ident.as_ref()?);
    let options = words(&field.attrs, "field");
    let serde = if serde_is_json {
        Vec::new()
    } else {
        words(&field.attrs, "serde")
    };
    let has = |name: &str| options.iter().chain(&serde).any(|word| word.name == name);
    if has("skip") {
        return None;
    }
    let stored = text_of(&options, "name").or_else(|| text_of(&serde, "rename"));
    let stored =
        stored.unwrap_or_else(|| case.map_or(rust.clone(), |case| attribute::in_case(&rust, case, false)));
    let aliases = options.iter().chain(&serde).filter(|word| word.name == "alias");
    let stored_as = options.iter().find(|word| word.name == "stored");
    let stored_as = stored_as.and_then(|word| syn::parse2(word.value.clone()?).ok());
    let is_derived = ["computed", "subset"]
        .iter()
        .any(|name| attribute::has(&field.attrs, name));
    let by_functions = has("with") || has("serialize_with") || has("deserialize_with");
    let written = WrittenField {
        rust,
        stored,
        aliases: aliases.filter_map(|word| word.text.clone()).collect(),
        ty: field.ty.clone(),
        is_opaque: has("opaque") || is_derived || by_functions && stored_as.is_none(),
        stored_as,
        ty_at: field.ty.span().byte_range(),
        at: field.span().byte_range(),
        is_flattened: has("flatten"),
        has_default: has("default"),
    };
    Some((written, has("extra")))
}

/// The fields of `index(fields(…))`.
fn index_fields(tokens: proc_macro2::TokenStream) -> Vec<(String, String)> {
    let options = inside(tokens);
    if options
        .iter()
        .any(|word| word.name == "wildcard" && word.inside.is_none())
    {
        return vec![("$**".to_owned(), "1".to_owned())];
    }
    let fields = options.into_iter().find(|word| word.name == "fields");
    let fields = fields.and_then(|word| word.inside).map_or_else(Vec::new, inside);
    fields
        .into_iter()
        .map(|word| match word.inside {
            None => match word.name.strip_prefix('-') {
                Some(name) => (name.to_owned(), "-1".to_owned()),
                None => (word.name, "1".to_owned()),
            },
            Some(of) => {
                let name = inside(of)
                    .into_iter()
                    .next()
                    .map_or_else(String::new, |word| word.name);
                (name, word.name)
            }
        })
        .collect()
}

/// The indexes that the attributes of a field declare.
fn field_indexes(field: &syn::Field) -> Vec<Vec<(String, String)>> {
    let Some(name) = field.ident.as_ref().map(ident_text) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for attribute in &field.attrs {
        if attribute.path().is_ident("index") {
            let words = match &attribute.meta {
                syn::Meta::List(list) => inside(list.tokens.clone()),
                _ => Vec::new(),
            };
            let kind = ["text", "geo", "hashed", "wildcard"]
                .into_iter()
                .find(|kind| words.iter().any(|word| word.name == *kind));
            let kind = kind.unwrap_or(if words.iter().any(|word| word.name == "desc") {
                "-1"
            } else {
                "1"
            });
            all.push(vec![(name.clone(), kind.to_owned())]);
        }
        if attribute.path().is_ident("reference") || attribute.path().is_ident("parent_ref") {
            let words = match &attribute.meta {
                syn::Meta::List(list) => inside(list.tokens.clone()),
                _ => Vec::new(),
            };
            // A two-way reference has no index: its other side names the documents.
            if words
                .iter()
                .any(|word| ["index", "inverse"].contains(&&*word.name))
            {
                continue;
            }
            let mut fields = vec![(name.clone(), "1".to_owned())];
            if let Some(order) = words.into_iter().find(|word| word.name == "order") {
                for word in order.inside.map_or_else(Vec::new, inside) {
                    fields.push(match word.name.strip_prefix('-') {
                        Some(name) => (name.to_owned(), "-1".to_owned()),
                        None => (word.name, "1".to_owned()),
                    });
                }
            }
            all.push(fields);
        }
    }
    all
}

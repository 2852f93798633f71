//! `search_index(…)` and `vector_index(…)` of a document: indexes of Atlas.

use super::index::{dotted, has_content, paths};
use super::{At, flag, keys, nested, number, once, string, unknown, unknown_word, word};
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, Token, parenthesized, token};

/// A declared search or vector index.
#[derive(Clone, Debug)]
pub struct SearchIndex {
    pub span: Span,
    pub name: Option<LitStr>,
    pub kind: SearchKind,
}

#[derive(Clone, Debug)]
pub enum SearchKind {
    Search {
        dynamic: bool,
        analyzer: Option<LitStr>,
        fields: Vec<SearchField>,
    },
    Vector(Box<Vector>),
}

#[derive(Clone, Debug)]
pub struct Vector {
    /// The Rust names from the document to the field.
    pub path: Vec<Ident>,
    pub dimensions: At<u64>,
    /// In MongoDB's words.
    pub similarity: &'static str,
    pub quantization: Option<&'static str>,
    pub filter: Vec<Vec<Ident>>,
}

/// A field of a search index.
#[derive(Clone, Debug)]
pub struct SearchField {
    pub path: Vec<Ident>,
    pub kind: FieldKind,
    pub analyzer: Option<LitStr>,
}

/// In which way a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    String,
    Autocomplete,
    Token,
    Number,
    Date,
    Boolean,
    ObjectId,
    Uuid,
}

impl FieldKind {
    const ALL: [(&'static str, FieldKind); 8] = [
        ("string", FieldKind::String),
        ("autocomplete", FieldKind::Autocomplete),
        ("token", FieldKind::Token),
        ("number", FieldKind::Number),
        ("date", FieldKind::Date),
        ("boolean", FieldKind::Boolean),
        ("object_id", FieldKind::ObjectId),
        ("uuid", FieldKind::Uuid),
    ];

    /// As it is written in the attribute.
    pub fn word(self) -> &'static str {
        let known = FieldKind::ALL.iter().find(|(_, kind)| *kind == self);
        known.map_or("string", |(word, _)| word)
    }
}

impl SearchIndex {
    /// The name, with that of a search index where none is given.
    pub fn name(&self) -> String {
        match (&self.name, &self.kind) {
            (Some(name), _) => name.value(),
            (None, SearchKind::Search { .. }) => "default".to_owned(),
            (None, SearchKind::Vector(_)) => String::new(),
        }
    }

    pub fn search(meta: &ParseNestedMeta) -> syn::Result<SearchIndex> {
        let span = meta.path.span();
        let advice = "A search index names its fields, `search_index(fields(string(title), number(year)))`, or takes all of them: \
                      `search_index(dynamic)`";
        if !has_content(meta) {
            return Err(syn::Error::new(span, advice));
        }
        let (mut name, mut dynamic, mut analyzer, mut fields) = (None, false, None, None);
        nested(meta, &keys::SEARCH_INDEX, |meta| {
            match word(&meta.path).as_str() {
                "name" => once(&mut name, string(meta, "default")?, meta),
                "dynamic" => flag(&mut dynamic, meta),
                "analyzer" => once(&mut analyzer, string(meta, "lucene.english")?, meta),
                "fields" => {
                    let content;
                    parenthesized!(content in meta.input);
                    let all = Punctuated::<SearchField, Token![,]>::parse_terminated(&content)?;
                    once(&mut fields, all.into_iter().collect::<Vec<_>>(), meta)
                }
                _ => Err(unknown(meta, &keys::SEARCH_INDEX)),
            }
        })?;
        let fields = fields.unwrap_or_default();
        if fields.is_empty() && !dynamic {
            return Err(syn::Error::new(span, advice));
        }
        Ok(SearchIndex {
            span,
            name,
            kind: SearchKind::Search {
                dynamic,
                analyzer,
                fields,
            },
        })
    }

    pub fn vector(meta: &ParseNestedMeta) -> syn::Result<SearchIndex> {
        let span = meta.path.span();
        let advice = "A vector index has a name, the field with the vectors, the number of their dimensions, and how they are compared: \
                      `vector_index(name = \"by_meaning\", path = embedding, dimensions = 1536, similarity = cosine)`";
        if !has_content(meta) {
            return Err(syn::Error::new(span, advice));
        }
        let (mut name, mut path, mut dimensions) = (None, None, None);
        let (mut similarity, mut quantization, mut filter) = (None, None, None);
        nested(meta, &keys::VECTOR_INDEX, |meta| {
            match word(&meta.path).as_str() {
                "name" => once(&mut name, string(meta, "by_meaning")?, meta),
                "path" => once(&mut path, dotted(meta.value()?)?, meta),
                "dimensions" => once(&mut dimensions, number(meta)?, meta),
                "similarity" => {
                    let known = [
                        ("cosine", "cosine"),
                        ("dot_product", "dotProduct"),
                        ("euclidean", "euclidean"),
                    ];
                    once(&mut similarity, one_of(meta, &known)?, meta)
                }
                "quantization" => {
                    let known = [("scalar", "scalar"), ("binary", "binary")];
                    once(&mut quantization, one_of(meta, &known)?, meta)
                }
                "filter" => once(&mut filter, paths(meta)?.value, meta),
                _ => Err(unknown(meta, &keys::VECTOR_INDEX)),
            }
        })?;
        let (Some(name), Some(path), Some(dimensions), Some(similarity)) =
            (name, path, dimensions, similarity)
        else {
            return Err(syn::Error::new(span, advice));
        };
        Ok(SearchIndex {
            span,
            name: Some(name),
            kind: SearchKind::Vector(Box::new(Vector {
                path,
                dimensions,
                similarity,
                quantization,
                filter: filter.unwrap_or_default(),
            })),
        })
    }
}

/// One of these words without quotes, in MongoDB's spelling.
fn one_of(meta: &ParseNestedMeta, known: &[(&'static str, &'static str)]) -> syn::Result<&'static str> {
    let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let advice = format!(
        "`{}` is one of `{}`, without quotes",
        word(&meta.path),
        words.join("`, `")
    );
    let value = meta.value()?;
    let span = value.span();
    let given: Ident = value.parse().map_err(|_| syn::Error::new(span, &advice))?;
    let found = known.iter().find(|(word, _)| given == word);
    found.map_or_else(
        || Err(unknown_word(&given, &word(&meta.path), &words, &advice)),
        |(_, spelled)| Ok(*spelled),
    )
}

impl Parse for SearchField {
    fn parse(input: ParseStream) -> syn::Result<SearchField> {
        let words = FieldKind::ALL.map(|(word, _)| format!("`{word}(field)`"));
        let advice = format!(
            "a field of a search index is written with its kind: one of {}",
            words.join(", ")
        );
        if !(input.peek(Ident) && input.peek2(token::Paren)) {
            return Err(input.error(advice));
        }
        let word: Ident = input.parse()?;
        let Some((_, kind)) = FieldKind::ALL.into_iter().find(|(known, _)| word == known) else {
            return Err(syn::Error::new(
                word.span(),
                format!("`{word}` is no kind: {advice}"),
            ));
        };
        let content;
        parenthesized!(content in input);
        let path = dotted(&content)?;
        let mut analyzer = None;
        if content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
            let advice = "a field of texts takes an analyzer: `string(title, analyzer = \"lucene.english\")`";
            let name: Ident = content
                .parse()
                .map_err(|error| syn::Error::new(error.span(), advice))?;
            if name != "analyzer" || !matches!(kind, FieldKind::String | FieldKind::Autocomplete) {
                return Err(syn::Error::new(name.span(), advice));
            }
            content.parse::<Token![=]>()?;
            analyzer = Some(
                content
                    .parse::<LitStr>()
                    .map_err(|error| syn::Error::new(error.span(), advice))?,
            );
            content.parse::<Option<Token![,]>>()?;
        }
        Ok(SearchField { path, kind, analyzer })
    }
}

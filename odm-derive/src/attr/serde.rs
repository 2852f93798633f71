//! `#[serde(…)]`: what it does to the stored form. An attribute whose effect is not known here is refused, since the
//! metadata would be silently wrong.

use super::access::Access;
use super::{At, flag, keys, once, read_all, skip, word};
use crate::case::Case;
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, LitStr, Path, token};

/// A name or a case for each direction.
#[derive(Clone, Debug)]
pub struct Sides<T> {
    pub serialize: Option<T>,
    pub deserialize: Option<T>,
    pub span: Span,
}

impl Sides<LitStr> {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Sides<LitStr>> {
        let span = meta.path.span();
        if meta.input.peek(token::Paren) {
            let (mut serialize, mut deserialize) = (None, None);
            meta.parse_nested_meta(|meta| {
                if meta.path.is_ident("serialize") {
                    once(&mut serialize, meta.value()?.parse()?, &meta)
                } else if meta.path.is_ident("deserialize") {
                    once(&mut deserialize, meta.value()?.parse()?, &meta)
                } else {
                    Err(meta
                        .error("a name for one direction is `serialize = \"…\"` or `deserialize = \"…\"`"))
                }
            })?;
            Ok(Sides {
                serialize,
                deserialize,
                span,
            })
        } else {
            let name: LitStr = meta.value()?.parse()?;
            Ok(Sides {
                serialize: Some(name.clone()),
                deserialize: Some(name),
                span,
            })
        }
    }
}

/// One case for both directions, in an attribute of this library.
pub fn case(meta: &ParseNestedMeta) -> syn::Result<Case> {
    read_case(meta, |name, _, known| {
        format!("`{name}` is one of `{}`", known.join("`, `"))
    })
}

/// The same in serde's attribute. Of a word that is no case serde's derive says the same at the same place, and the compiler shows
/// one of two errors that are alike.
fn case_of_serde(meta: &ParseNestedMeta) -> syn::Result<Case> {
    read_case(meta, |name, text, known| {
        format!(
            "unknown rename rule `{name} = {text:?}`, expected one of \"{}\"",
            known.join("\", \"")
        )
    })
}

fn read_case(meta: &ParseNestedMeta, unknown: impl Fn(&str, &str, &[&str]) -> String) -> syn::Result<Case> {
    let sides = Sides::parse(meta)?;
    let name = word(&meta.path);
    let value = |side: &Option<LitStr>| side.as_ref().map(LitStr::value);
    if value(&sides.serialize) != value(&sides.deserialize) {
        return Err(syn::Error::new(
            sides.span,
            format!(
                "`{name}` differs between the two directions, so what is written could not be read back. \
                 Write one for both: `{name} = \"camelCase\"`"
            ),
        ));
    }
    let Some(text) = sides.serialize else {
        return Ok(Case::Unchanged);
    };
    Case::parse(&text.value()).ok_or_else(|| {
        let known: Vec<&str> = Case::NAMES.iter().map(|(name, _)| *name).collect();
        syn::Error::new(text.span(), unknown(&name, &text.value(), &known))
    })
}

fn unknown(meta: &ParseNestedMeta) -> syn::Error {
    let (name, keys) = (word(&meta.path), &keys::OF_SERDE);
    if let Some(near) = keys.near(&name).filter(|_| !keys.has(&name)) {
        return meta.error(format!(
            "`{name}` is not an option of `#[serde(…)]`. Did you mean `{}`?",
            near.syntax.join("` or `")
        ));
    }
    meta.error(format!(
        "odm does not know what `#[serde({})]` does to the stored form, so the declared fields could be wrong. Leave it out",
        word(&meta.path)
    ))
}

fn foreign_form(meta: &ParseNestedMeta) -> syn::Error {
    meta.error(format!(
        "`#[serde({0})]` stores a value of another type, whose fields odm can't see here. Derive `Embed` for that type and \
         convert in the application, or store the value with `#[field(opaque)]` where it is a field",
        word(&meta.path)
    ))
}

/// On a struct or an enum.
#[derive(Default)]
pub struct Container {
    pub rename_all: Option<Case>,
    pub rename_all_fields: Option<Case>,
    pub default: Option<Default_>,
    pub deny_unknown_fields: bool,
    pub transparent: bool,
    pub untagged: bool,
    pub tag: Option<LitStr>,
    pub content: Option<LitStr>,
}

/// Where a missing value comes from.
#[derive(Clone, Debug)]
pub enum Default_ {
    Trait,
    Function(Path),
}

impl Default_ {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Default_> {
        if meta.input.peek(syn::Token![=]) {
            let path: LitStr = meta.value()?.parse()?;
            Ok(Default_::Function(path.parse()?))
        } else {
            Ok(Default_::Trait)
        }
    }
}

impl Container {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Container {
        let mut serde = Container::default();
        read_all(cx, attrs, "serde", &keys::OF_SERDE, |meta| {
            match word(&meta.path).as_str() {
                "rename_all" => once(&mut serde.rename_all, case_of_serde(meta)?, meta),
                "rename_all_fields" => once(&mut serde.rename_all_fields, case_of_serde(meta)?, meta),
                "default" => once(&mut serde.default, Default_::parse(meta)?, meta),
                "deny_unknown_fields" => flag(&mut serde.deny_unknown_fields, meta),
                "transparent" => flag(&mut serde.transparent, meta),
                "untagged" => flag(&mut serde.untagged, meta),
                "tag" => once(&mut serde.tag, meta.value()?.parse()?, meta),
                "content" => once(&mut serde.content, meta.value()?.parse()?, meta),
                // BSON has no names for types, and the rest has no effect on the form.
                "rename" | "bound" | "crate" | "expecting" => skip(meta),
                "from" | "try_from" | "into" | "remote" => Err(foreign_form(meta)),
                _ => Err(unknown(meta)),
            }
        });
        serde
    }
}

/// On a variant.
#[derive(Default)]
pub struct Variant {
    pub rename: Option<Sides<LitStr>>,
    pub aliases: Vec<String>,
    pub rename_all: Option<Case>,
    pub skip: bool,
}

impl Variant {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Variant {
        let mut serde = Variant::default();
        read_all(cx, attrs, "serde", &keys::OF_SERDE, |meta| {
            match word(&meta.path).as_str() {
            "rename" => once(&mut serde.rename, Sides::parse(meta)?, meta),
            "rename_all" => once(&mut serde.rename_all, case_of_serde(meta)?, meta),
            "alias" => {
                serde.aliases.push(meta.value()?.parse::<LitStr>()?.value());
                Ok(())
            }
            "skip" => flag(&mut serde.skip, meta),
            "bound" => skip(meta),
            "skip_serializing" | "skip_deserializing" => Err(meta.error(format!(
                "`#[serde({})]` on a variant lets one direction fail. Write `#[serde(skip)]` for a variant that is never \
                 stored, or leave it out",
                word(&meta.path)
            ))),
            "other" => Err(meta.error(
                "`#[serde(other)]` reads every unknown variant as this one, and a write would then replace what was stored. \
                 List the variants, or use a `String`",
            )),
            "with" | "serialize_with" | "deserialize_with" => Err(meta.error(format!(
                "`#[serde({})]` on a variant hides its stored form. Put the value in a struct of its own with \
                 `#[derive(Embed)]`",
                word(&meta.path)
            ))),
            "untagged" => Err(meta.error(
                "`#[serde(untagged)]` on one variant mixes two forms, which the validator can't tell apart. Put it on the \
                 whole enum, or leave it out",
            )),
            "borrow" => Err(borrow(meta)),
            _ => Err(unknown(meta)),
        }
        });
        serde
    }
}

fn borrow(meta: &ParseNestedMeta) -> syn::Error {
    meta.error("a stored type owns its values, since it outlives the answer of the server. Use `String` or `Vec<T>`, without `#[serde(borrow)]`")
}

/// On a field.
#[derive(Clone, Debug, Default)]
pub struct Field {
    pub rename: Option<Sides<LitStr>>,
    pub aliases: Vec<String>,
    pub default: Option<Default_>,
    pub skip: Option<Span>,
    pub skip_serializing: Option<Span>,
    pub skip_deserializing: Option<Span>,
    pub skip_serializing_if: Option<Span>,
    /// Its function, which says whether a value leaves no trace.
    pub left_out_by: Option<syn::ExprPath>,
    /// Whether that is `Option::is_none`.
    pub skips_none: bool,
    /// The function that serializes: of `serialize_with`, or `serialize` in the module of `with`.
    pub serialize_with: Option<Path>,
    pub deserialize_with: bool,
    /// The function that deserializes.
    pub read_with: Option<Path>,
    /// Where `with`, `serialize_with` or `deserialize_with` is.
    pub with: Option<Span>,
    /// It is `with = "odm::native"`, by which the type itself tells the stored form.
    pub native: bool,
    pub flatten: Option<Span>,
}

impl Field {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Field {
        let mut serde = Field::default();
        read_all(cx, attrs, "serde", &keys::OF_SERDE, |meta| {
            let span = meta.path.span();
            match word(&meta.path).as_str() {
                "rename" => once(&mut serde.rename, Sides::parse(meta)?, meta),
                "alias" => {
                    serde.aliases.push(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                }
                "default" => once(&mut serde.default, Default_::parse(meta)?, meta),
                "skip" => once(&mut serde.skip, span, meta),
                "skip_serializing" => once(&mut serde.skip_serializing, span, meta),
                "skip_deserializing" => once(&mut serde.skip_deserializing, span, meta),
                "skip_serializing_if" => {
                    let function: syn::ExprPath = meta.value()?.parse::<LitStr>()?.parse()?;
                    serde.skips_none = function
                        .path
                        .segments
                        .last()
                        .is_some_and(|name| name.ident == "is_none");
                    serde.left_out_by = Some(function);
                    once(&mut serde.skip_serializing_if, span, meta)
                }
                "with" => serde.with_module(meta),
                "serialize_with" => {
                    let function = meta.value()?.parse::<LitStr>()?.parse()?;
                    serde.with = Some(span);
                    once(&mut serde.serialize_with, function, meta)
                }
                "deserialize_with" => {
                    serde.read_with = Some(meta.value()?.parse::<LitStr>()?.parse()?);
                    serde.with = Some(span);
                    flag(&mut serde.deserialize_with, meta)
                }
                "flatten" => once(&mut serde.flatten, span, meta),
                "bound" => skip(meta),
                "borrow" => Err(borrow(meta)),
                _ => Err(unknown(meta)),
            }
        });
        if serde.skip_serializing.is_some() && serde.skip_deserializing.is_some() {
            serde.skip = serde.skip.or(serde.skip_serializing);
        }
        serde
    }
}

impl Field {
    /// Which way it goes in JSON, where these attributes concern JSON alone.
    pub fn access(&self) -> Option<At<Access>> {
        let (access, span) = match (self.skip, self.skip_serializing, self.skip_deserializing) {
            (Some(span), ..) => (Access::Private, span),
            (None, Some(span), _) => (Access::WriteOnly, span),
            (None, None, Some(span)) => (Access::ReadOnly, span),
            (None, None, None) => return None,
        };
        Some(At::new(access, span))
    }

    /// Reads `with = "module"`.
    pub fn with_module(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        let mut module: Path = meta.value()?.parse::<LitStr>()?.parse()?;
        // Of a struct that this derive has generated: it says nothing of storage.
        if module
            .segments
            .last()
            .is_some_and(|name| name.ident == "if_serde")
        {
            return Ok(());
        }
        self.native = module.segments.last().is_some_and(|name| name.ident == "native");
        let mut read = module.clone();
        read.segments
            .push(syn::Ident::new("deserialize", module.span()).into());
        self.read_with = Some(read);
        module
            .segments
            .push(syn::Ident::new("serialize", module.span()).into());
        self.with = Some(meta.path.span());
        self.deserialize_with = true;
        once(&mut self.serialize_with, module, meta)
    }

    /// The stored form: by these options of the library, and else by those of serde.
    pub fn over(self, serde: Field) -> Field {
        let has_own_functions = self.with.is_some();
        let of_functions = |own, serde| if has_own_functions { own } else { serde };
        Field {
            rename: self.rename.or(serde.rename),
            aliases: if self.aliases.is_empty() {
                serde.aliases
            } else {
                self.aliases
            },
            default: self.default.or(serde.default),
            skip: self.skip.or(serde.skip),
            skip_serializing: serde.skip_serializing,
            skip_deserializing: serde.skip_deserializing,
            skip_serializing_if: self.skip_serializing_if.or(serde.skip_serializing_if),
            left_out_by: self.left_out_by.or(serde.left_out_by),
            skips_none: self.skips_none || serde.skips_none,
            flatten: self.flatten.or(serde.flatten),
            deserialize_with: of_functions(self.deserialize_with, serde.deserialize_with),
            native: of_functions(self.native, serde.native),
            with: self.with.or(serde.with),
            serialize_with: if has_own_functions {
                self.serialize_with
            } else {
                serde.serialize_with
            },
            read_with: if has_own_functions {
                self.read_with
            } else {
                serde.read_with
            },
        }
    }
}

impl Variant {
    /// The stored form: by these options of the library, and else by those of serde.
    pub fn over(self, serde: Variant) -> Variant {
        Variant {
            rename: self.rename.or(serde.rename),
            aliases: if self.aliases.is_empty() {
                serde.aliases
            } else {
                self.aliases
            },
            rename_all: self.rename_all.or(serde.rename_all),
            skip: self.skip || serde.skip,
        }
    }
}

//! How a type and its fields are stored, where the library's own attributes say so. They win over serde's, and with `serde = json` those
//! say nothing of storage.

use super::serde::{self, Default_, Sides};
use super::{flag, in_words, keys, once, read, skip, unknown, word};
use crate::case::Case;
use crate::ctxt::Ctxt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, LitStr};

/// The attributes of a type in which it stands.
static OF_TYPES: [(&str, &keys::Attribute); 4] = [
    ("document", &keys::DOCUMENT),
    ("embed", &keys::EMBED_TYPE),
    ("projection", &keys::PROJECTION),
    ("row", &keys::ROW),
];

/// The options of a type.
const OPTIONS: [&str; 7] = [
    "rename_all",
    "rename_all_fields",
    "serde",
    "tag",
    "content",
    "untagged",
    "transparent",
];

/// On a type.
#[derive(Default)]
pub struct Container {
    /// serde's attributes concern JSON alone.
    pub serde_is_json: bool,
    rename_all: Option<Case>,
    rename_all_fields: Option<Case>,
    tag: Option<LitStr>,
    content: Option<LitStr>,
    untagged: bool,
    transparent: bool,
}

impl Container {
    /// Whether an option of these attributes is read here.
    pub fn has(name: &str) -> bool {
        OPTIONS.contains(&name)
    }

    /// The attributes of a type are read elsewhere too, which reports what is wrong with their other options.
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Container {
        let mut own = Container::default();
        for attr in attrs {
            let Some((_, keys)) = OF_TYPES.iter().find(|(name, _)| attr.path().is_ident(name)) else {
                continue;
            };
            let read = attr.parse_nested_meta(|meta| match word(&meta.path).as_str() {
                // That of an enum of documents is read with the document.
                "tag" if attr.path().is_ident("document") => own.option(&meta),
                option if Container::has(option) => {
                    cx.keep(attr, in_words(&meta, keys, |meta| own.option(meta)));
                    Ok(())
                }
                _ => skip(&meta),
            });
            // What stands behind an option that can't be read is said by the other reader.
            drop(read);
        }
        own
    }

    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match word(&meta.path).as_str() {
            "rename_all" => once(&mut self.rename_all, serde::case(meta)?, meta),
            "rename_all_fields" => once(&mut self.rename_all_fields, serde::case(meta)?, meta),
            "tag" => once(&mut self.tag, meta.value()?.parse()?, meta),
            "content" => once(&mut self.content, meta.value()?.parse()?, meta),
            "untagged" => flag(&mut self.untagged, meta),
            "transparent" => flag(&mut self.transparent, meta),
            _ => {
                let form: syn::Expr = meta.value()?.parse()?;
                if !matches!(&form, syn::Expr::Path(path) if path.path.is_ident("json")) {
                    return Err(syn::Error::new_spanned(
                        form,
                        "write `serde = json`, without quotes: serde's attributes then say how JSON is written, and not what is stored",
                    ));
                }
                flag(&mut self.serde_is_json, meta)
            }
        }
    }

    /// Whether it says something else than serde's attributes.
    pub fn differs_from(&self, serde: &serde::Container) -> bool {
        let texts = |text: &Option<LitStr>| text.as_ref().map(LitStr::value);
        let other_text = |own, serde| texts(own).is_some() && texts(own) != texts(serde);
        self.serde_is_json
            || self.rename_all.is_some() && self.rename_all != serde.rename_all
            || self.rename_all_fields.is_some() && self.rename_all_fields != serde.rename_all_fields
            || other_text(&self.tag, &serde.tag)
            || other_text(&self.content, &serde.content)
            || self.untagged && !serde.untagged
            || self.transparent && !serde.transparent
    }

    /// Reports options that contradict each other, and those of another kind of type.
    pub fn check(&self, cx: &Ctxt, input: &DeriveInput, stored: &serde::Container) {
        if let Data::Struct(data) = &input.data {
            let has_names = matches!(data.fields, Fields::Named(_));
            let useless = [
                (self.untagged, "untagged", "is for an enum"),
                (
                    self.rename_all_fields.is_some(),
                    "rename_all_fields",
                    "is for an enum",
                ),
                (
                    self.rename_all.is_some() && !has_names,
                    "rename_all",
                    "is for names of fields",
                ),
            ];
            for (_, option, what) in useless.iter().filter(|(is_there, ..)| *is_there) {
                let ident = &input.ident;
                let is = if what.ends_with("enum") {
                    "is a struct"
                } else {
                    "has none"
                };
                cx.error(
                    ident,
                    format!("`{option}` {what}, and `{ident}` {is}. Leave it out"),
                );
            }
        }
        if let (Some(tag), true) = (&self.tag, self.untagged) {
            cx.error(
                tag,
                "`tag` stores the name of the variant in this field, and `untagged` stores no name: leave one of them out",
            );
        }
        if self.untagged && self.rename_all.is_some() {
            cx.error(
                &input.ident,
                "`untagged` stores no names of variants, which `rename_all` of an enum is for: leave one of them out; the names of fields \
                 are those of `rename_all_fields`",
            );
        }
        if let (Some(content), None) = (&self.content, &stored.tag) {
            cx.error(
                content,
                "`content` names the field for what the variant carries, beside the field for its name: write \
                 `tag = \"type\", content = …`",
            );
        }
    }

    /// The stored form: by these options, and else by serde's.
    pub fn over(&self, serde: serde::Container) -> serde::Container {
        let serde = if self.serde_is_json {
            serde::Container::default()
        } else {
            serde
        };
        let is_tagged = self.tag.is_some() || self.untagged;
        serde::Container {
            rename_all: self.rename_all.or(serde.rename_all),
            rename_all_fields: self.rename_all_fields.or(serde.rename_all_fields),
            tag: self.tag.clone().or(serde.tag.filter(|_| !is_tagged)),
            content: self.content.clone().or(serde.content.filter(|_| !is_tagged)),
            untagged: self.untagged || serde.untagged && !is_tagged,
            transparent: self.transparent || serde.transparent,
            ..serde
        }
    }
}

/// Reads an option of a field: of `#[field(…)]`. `None`: it is another one.
pub fn of_field(field: &mut serde::Field, meta: &ParseNestedMeta) -> Option<syn::Result<()>> {
    let span = meta.path.span();
    Some(match word(&meta.path).as_str() {
        "name" => name(&mut field.rename, meta),
        "alias" => alias(&mut field.aliases, meta),
        "default" if !meta.input.peek(syn::Token![=]) => once(&mut field.default, Default_::Trait, meta),
        "skip" => once(&mut field.skip, span, meta),
        "skip_none" => {
            field.skips_none = true;
            field.left_out_by = Some(syn::parse_quote!(::core::option::Option::is_none));
            once(&mut field.skip_serializing_if, span, meta)
        }
        "flatten" => once(&mut field.flatten, span, meta),
        "with" => field.with_module(meta),
        _ => return None,
    })
}

/// The options of a variant.
pub fn variant(cx: &Ctxt, input: &syn::Variant) -> serde::Variant {
    let mut variant = serde::Variant::default();
    for name in ["embed", "document"] {
        read(cx, &input.attrs, name, &keys::VARIANT, |meta| {
            of_variant(&mut variant, meta).unwrap_or_else(|| Err(unknown(meta, &keys::VARIANT)))
        });
    }
    if variant.rename_all.is_some() && !matches!(input.fields, Fields::Named(_)) {
        let ident = &input.ident;
        cx.error(
            ident,
            format!("`rename_all` of a variant is for the names of its fields, and `{ident}` has none. Leave it out"),
        );
    }
    variant
}

/// Reads an option of a variant. `None`: it is another one.
fn of_variant(variant: &mut serde::Variant, meta: &ParseNestedMeta) -> Option<syn::Result<()>> {
    Some(match word(&meta.path).as_str() {
        "name" => name(&mut variant.rename, meta),
        "alias" => alias(&mut variant.aliases, meta),
        "skip" => flag(&mut variant.skip, meta),
        "rename_all" => serde::case(meta).and_then(|case| once(&mut variant.rename_all, case, meta)),
        _ => return None,
    })
}

fn name(slot: &mut Option<Sides<LitStr>>, meta: &ParseNestedMeta) -> syn::Result<()> {
    let name: LitStr = meta.value()?.parse()?;
    let sides = Sides {
        serialize: Some(name.clone()),
        deserialize: Some(name),
        span: meta.path.span(),
    };
    once(slot, sides, meta)
}

fn alias(aliases: &mut Vec<String>, meta: &ParseNestedMeta) -> syn::Result<()> {
    aliases.push(meta.value()?.parse::<LitStr>()?.value());
    Ok(())
}

//! The values that a written type reads.

use super::attribute::ident_text;
use super::source::{Form, Source};
use crate::kind::Kind;
use std::collections::BTreeSet;

/// The values that a type reads.
#[derive(Clone, Debug, Default)]
pub struct Accepts {
    /// The kinds of values; `None` where it is not known, or any.
    pub kinds: Option<BTreeSet<Kind>>,
    /// Whether it reads null, and does without a value.
    pub is_optional: bool,
    /// The written type that it is, or that is in it.
    pub named: Option<String>,
    /// The content of an array or a map.
    pub items: Option<syn::Type>,
    /// Whether `items` are those of a map.
    pub is_map: bool,
}

/// How deep types are looked into: an alias may name itself.
const DEPTH: u32 = 32;

impl Source {
    /// The values that a type reads.
    pub fn accepts(&self, ty: &syn::Type) -> Accepts {
        self.accepts_at(ty, DEPTH)
    }

    fn accepts_at(&self, ty: &syn::Type, depth: u32) -> Accepts {
        let any = Accepts::default();
        let Some(deeper) = depth.checked_sub(1) else {
            return any;
        };
        let path = match ty {
            syn::Type::Path(path) => path,
            syn::Type::Paren(inner) => return self.accepts_at(&inner.elem, deeper),
            syn::Type::Group(inner) => return self.accepts_at(&inner.elem, deeper),
            syn::Type::Array(_) | syn::Type::Tuple(_) => return of(&[Kind::Array]),
            syn::Type::Slice(slice) => {
                return Accepts {
                    items: Some((*slice.elem).clone()),
                    ..of(&[Kind::Array])
                };
            }
            _ => return any,
        };
        let Some(last) = path.path.segments.last() else {
            return any;
        };
        let name = ident_text(&last.ident);
        let arguments: Vec<syn::Type> = match &last.arguments {
            syn::PathArguments::AngleBracketed(of) => of
                .args
                .iter()
                .filter_map(|argument| match argument {
                    syn::GenericArgument::Type(ty) => Some(ty.clone()),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let first = arguments.first();
        match (name.as_str(), first) {
            ("Option" | "OrNull", Some(inner)) => {
                return Accepts {
                    is_optional: true,
                    ..self.accepts_at(inner, deeper)
                };
            }
            ("Box" | "Arc" | "Rc", Some(inner)) if !matches!(inner, syn::Type::Path(path) if path.path.is_ident("str")) =>
            {
                return self.accepts_at(inner, deeper);
            }
            ("Deferred" | "Cow", Some(inner)) => return self.accepts_at(inner, deeper),
            ("Vec" | "VecDeque" | "HashSet" | "BTreeSet", Some(inner)) => {
                return Accepts {
                    items: Some(inner.clone()),
                    ..of(&[Kind::Array])
                };
            }
            ("HashMap" | "BTreeMap", _) => {
                return Accepts {
                    items: arguments.get(1).cloned(),
                    is_map: true,
                    ..of(&[Kind::Object])
                };
            }
            ("Ref", Some(document)) => return self.reference(document, arguments.get(1), deeper),
            _ => {}
        }
        if let Some(written) = self.types.get(&name) {
            return self.written(&name, &written.is, deeper);
        }
        if let Some(alias) = self.aliases.get(&name) {
            return self.accepts_at(alias, deeper);
        }
        known(&name)
    }

    fn written(&self, name: &str, form: &Form, deeper: u32) -> Accepts {
        let named = Some(name.to_owned());
        match form {
            Form::Struct { .. } => Accepts {
                named,
                ..of(&[Kind::Object])
            },
            Form::Names(_) => Accepts {
                named,
                ..of(&[Kind::String])
            },
            Form::Around(inner) => self.accepts_at(inner, deeper),
            Form::Untagged(types) => {
                let mut all = BTreeSet::new();
                let mut accepts = of(&[]);
                for ty in types {
                    let one = self.accepts_at(ty, deeper);
                    let Some(kinds) = one.kinds else {
                        return Accepts::default();
                    };
                    if kinds.contains(&Kind::Object) {
                        accepts.named.clone_from(&one.named);
                    }
                    all.extend(kinds);
                }
                accepts.kinds = Some(all);
                accepts
            }
            Form::Other => Accepts::default(),
        }
    }

    fn reference(&self, document: &syn::Type, key: Option<&syn::Type>, deeper: u32) -> Accepts {
        if let Some(key) = key {
            return Accepts {
                named: None,
                ..self.accepts_at(key, deeper)
            };
        }
        let syn::Type::Path(path) = document else {
            return Accepts::default();
        };
        let name = path.path.segments.last().map(|last| ident_text(&last.ident));
        let written = name.and_then(|name| self.types.get(&name));
        let Some(Form::Struct { fields }) = written.map(|written| &written.is) else {
            return Accepts::default();
        };
        match fields.iter().find(|field| field.stored == "_id") {
            Some(id) => Accepts {
                named: None,
                ..self.accepts_at(&id.ty, deeper)
            },
            None => Accepts::default(),
        }
    }
}

fn of(kinds: &[Kind]) -> Accepts {
    Accepts {
        kinds: Some(kinds.iter().copied().collect()),
        ..Accepts::default()
    }
}

/// Types of odm, of the driver and of other crates, by their last names.
fn known(name: &str) -> Accepts {
    match name {
        "bool" => of(&[Kind::Bool]),
        "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "isize" | "usize" => {
            of(&[Kind::Int, Kind::Long])
        }
        "Integer" => of(&[Kind::Int, Kind::Long]),
        "Number" => of(&[Kind::Int, Kind::Long, Kind::Double]),
        "Duration" | "TimeDelta" | "SignedDuration" => of(&[Kind::Int, Kind::Long]),
        "f32" | "f64" => of(&[Kind::Int, Kind::Long, Kind::Double]),
        "String" | "str" | "char" | "Url" | "IpAddr" | "Ipv4Addr" | "Ipv6Addr" | "SocketAddr" => {
            of(&[Kind::String])
        }
        "Box" | "Arc" => of(&[Kind::String]),
        "ObjectId" => of(&[Kind::ObjectId]),
        "DateTime" | "OffsetDateTime" | "UtcDateTime" => of(&[Kind::Date, Kind::Object]),
        "Timestamp" => of(&[Kind::Date, Kind::Timestamp]),
        "Uuid" => of(&[Kind::Uuid]),
        "Binary" => of(&[Kind::BinData, Kind::Uuid]),
        "Decimal128" | "Decimal" => of(&[Kind::Decimal]),
        "Regex" => of(&[Kind::Regex]),
        _ => Accepts::default(),
    }
}

//! Properties of a type that its syntax shows. Where only the compiler knows (an alias, a parameter), the traits of the runtime
//! crate decide.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// Without parentheses and the invisible groups that `macro_rules` leaves.
pub fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Paren(inner) => plain(&inner.elem),
        Type::Group(inner) => plain(&inner.elem),
        other => other,
    }
}

/// Without the invisible groups alone: as it was written, and where.
pub fn written(ty: &Type) -> &Type {
    match ty {
        Type::Group(inner) => written(&inner.elem),
        other => other,
    }
}

/// The last segment of a path: `Vec<T>` of `std::vec::Vec<T>`.
pub fn last(ty: &Type) -> Option<&PathSegment> {
    match plain(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// The segment before the last one: `bson` of `mongodb::bson::Document`.
fn before_last(ty: &Type) -> Option<&Ident> {
    match plain(ty) {
        Type::Path(path) => path
            .path
            .segments
            .iter()
            .rev()
            .nth(1)
            .map(|segment| &segment.ident),
        _ => None,
    }
}

/// Type argument number `n` of a segment.
pub fn argument(segment: &PathSegment, n: usize) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .nth(n)
}

/// Whether the last segment is `name`, with or without arguments.
pub fn named(ty: &Type, name: &str) -> bool {
    last(ty).is_some_and(|segment| segment.ident == name)
}

/// Whether the type is written as `name`, without arguments.
pub fn exactly(ty: &Type, name: &str) -> bool {
    last(ty).is_some_and(|segment| segment.ident == name && segment.arguments.is_none())
}

/// Whether the type may be an alias: a name without arguments that is none of the types that a document holds mostly.
pub fn may_be_alias(ty: &Type) -> bool {
    const KNOWN: &[&str] = &[
        "DateTime",
        "String",
        "ObjectId",
        "Uuid",
        "Decimal128",
        "Timestamp",
        "Binary",
        "Document",
        "Bson",
        "bool",
        "char",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f32",
        "f64",
    ];
    last(ty)
        .is_some_and(|segment| segment.arguments.is_none() && !KNOWN.iter().any(|name| segment.ident == name))
}

/// `Option<…>`.
pub fn is_option(ty: &Type) -> bool {
    named(ty, "Option")
}

/// The type in an `Option<…>`.
pub fn option(ty: &Type) -> Option<&Type> {
    last(ty)
        .filter(|segment| segment.ident == "Option")
        .and_then(|segment| argument(segment, 0))
}

/// The type in a `Deferred<…>`.
pub fn deferred(ty: &Type) -> Option<&Type> {
    last(ty)
        .filter(|segment| segment.ident == "Deferred")
        .and_then(|segment| argument(segment, 0))
}

/// The same, also in a `Box`.
pub fn is_optional(ty: &Type) -> bool {
    let boxed = || last(ty).filter(|segment| segment.ident == "Box");
    is_option(ty)
        || boxed()
            .and_then(|segment| argument(segment, 0))
            .is_some_and(is_optional)
}

/// The type inside `Option`, `Box`, `Arc` and `Rc`.
pub fn inside(ty: &Type) -> &Type {
    let Some(segment) = last(ty) else { return plain(ty) };
    match (segment.ident.to_string().as_str(), argument(segment, 0)) {
        ("Option" | "Box" | "Arc" | "Rc", Some(inner)) => inside(inner),
        _ => plain(ty),
    }
}

/// The part of a field's type that can't be shared between threads: `Rc` in `Option<Rc<str>>`.
pub fn in_one_thread(ty: &Type) -> Option<&'static str> {
    let mut tokens = ty.to_token_stream().into_iter().peekable();
    while let Some(token) = tokens.next() {
        let TokenTree::Ident(ident) = token else { continue };
        let has_argument = matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '<');
        let name = ["Rc", "RefCell"].into_iter().find(|name| ident == name);
        if let Some(name) = name.filter(|_| has_argument) {
            return Some(name);
        }
    }
    None
}

/// An array, set or map as it is written.
pub enum Many<'a> {
    List { name: String, item: Option<&'a Type> },
    Map { name: String },
}

impl Many<'_> {
    pub fn name(&self) -> &str {
        match self {
            Many::List { name, .. } | Many::Map { name } => name,
        }
    }
}

/// The collection that a type visibly is, also behind `Option`, `Box` and `Arc`.
pub fn many(ty: &Type) -> Option<Many<'_>> {
    let inner = inside(ty);
    if let Type::Slice(slice) = inner {
        return Some(Many::List {
            name: "[…]".into(),
            item: Some(&slice.elem),
        });
    }
    let segment = last(inner)?;
    let name = segment.ident.to_string();
    match name.as_str() {
        "Vec" | "VecDeque" | "LinkedList" | "BinaryHeap" | "HashSet" | "BTreeSet" | "IndexSet"
        | "SmallVec" | "ArrayVec" => Some(Many::List {
            name,
            item: argument(segment, 0),
        }),
        "HashMap" | "BTreeMap" | "IndexMap" => Some(Many::Map { name }),
        _ => None,
    }
}

/// A single one of what the type visibly holds: `Ref<Host>` of `Option<Vec<Ref<Host>>>`.
pub fn single(ty: &Type) -> &Type {
    match many(ty) {
        Some(Many::List { item: Some(item), .. }) => inside(item),
        _ => inside(ty),
    }
}

/// The document that a reference visibly names: `Host` of `Option<Ref<Host>>`.
pub fn referred(ty: &Type) -> Option<&Type> {
    last(single(ty))
        .filter(|segment| segment.ident == "Ref")
        .and_then(|segment| argument(segment, 0))
}

/// The type of the value by which a reference visibly names it: `i32` of `Ref<Account, i32>`.
pub fn referred_by(ty: &Type) -> Option<&Type> {
    last(single(ty)).and_then(|segment| argument(segment, 1))
}

/// A type without parts, or an `Option` or an array of one.
pub fn is_scalar(ty: &Type) -> bool {
    const SCALARS: [&str; 18] = [
        "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize", "f32", "f64", "char",
        "String", "ObjectId", "DateTime", "Binary",
    ];
    SCALARS.iter().any(|scalar| exactly(single(ty), scalar))
}

/// Whether more than one `Option` is visibly in it.
pub fn has_options(ty: &Type) -> bool {
    text(ty).matches("Option<").count() > 1
}

/// A type whose stored form odm visibly knows: one of the standard library or of bson, or made of such ones. Not the
/// `jiff::civil::DateTime` that is called as one of them.
pub fn is_known(ty: &Type) -> bool {
    let inner = inside(ty);
    match inner {
        Type::Tuple(tuple) => tuple.elems.iter().all(is_known),
        Type::Array(array) => is_known(&array.elem),
        Type::Slice(slice) => is_known(&slice.elem),
        Type::Reference(reference) => is_known(&reference.elem),
        _ => match (many(inner), last(inner)) {
            (Some(Many::List { item, .. }), _) => item.is_none_or(is_known),
            (Some(Many::Map { .. }), Some(map)) => argument(map, 1).is_none_or(is_known),
            (_, Some(segment)) => {
                let of_bson = before_last(inner).is_none_or(|before| before == "bson");
                let known = ["str", "Decimal128", "Regex", "Ref", "PhantomData"];
                without_shape(inner)
                    || known.iter().any(|name| segment.ident == name)
                    || is_scalar(inner) && (of_bson || segment.ident != "DateTime")
            }
            _ => false,
        },
    }
}

/// `Vec<u8>`, which serde stores as an array of numbers.
pub fn is_bytes(ty: &Type) -> bool {
    matches!(many(ty), Some(Many::List { item: Some(item), .. }) if exactly(item, "u8"))
}

/// A type of bson or serde_json that can hold anything, also as the item of a collection.
pub fn without_shape(ty: &Type) -> bool {
    let mut inner = inside(ty);
    if let Some(Many::List { item: Some(item), .. }) = many(inner) {
        inner = inside(item);
    }
    let Some(segment) = last(inner) else { return false };
    let before = before_last(inner).map(ToString::to_string);
    matches!(
        (before.as_deref(), segment.ident.to_string().as_str()),
        (_, "Bson" | "RawBson" | "RawDocumentBuf")
            | (Some("bson"), "Document")
            | (Some("serde_json"), "Value")
    )
}

/// Whether a value of the type visibly contains a `name` or `Self`: not behind a reference to a document (`Ref`), which
/// stores an id.
pub fn contains(ty: &Type, name: &Ident) -> bool {
    match plain(ty) {
        Type::Path(path) if path.qself.is_none() => {
            if path.path.is_ident(name) || path.path.is_ident("Self") {
                return true;
            }
            let Some(segment) = path.path.segments.last() else {
                return false;
            };
            if path.path.segments.len() == 1 && segment.ident == *name {
                return true;
            }
            if ["Ref", "PhantomData", "Weak"]
                .iter()
                .any(|skip| segment.ident == skip)
            {
                return false;
            }
            let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
                return false;
            };
            arguments
                .args
                .iter()
                .any(|argument| matches!(argument, GenericArgument::Type(ty) if contains(ty, name)))
        }
        Type::Tuple(tuple) => tuple.elems.iter().any(|ty| contains(ty, name)),
        Type::Array(array) => contains(&array.elem, name),
        Type::Slice(slice) => contains(&slice.elem, name),
        _ => false,
    }
}

/// Whether one of `names` occurs anywhere in the tokens.
pub fn mentions(tokens: impl ToTokens, names: &[&Ident]) -> bool {
    fn any(tokens: TokenStream, names: &[&Ident]) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => names.iter().any(|name| **name == ident),
            TokenTree::Group(group) => any(group.stream(), names),
            _ => false,
        })
    }
    !names.is_empty() && any(tokens.into_token_stream(), names)
}

/// The tokens as a person writes them: `HashMap<String, Vec<u8>>`.
pub fn text(tokens: impl ToTokens) -> String {
    let mut out = String::new();
    write(tokens.into_token_stream(), &mut out);
    out
}

/// A type as a message names it: without the paths that generated code writes, of `::odm::__private::Ref<Post>` `Ref<Post>`.
pub fn name(ty: &Type) -> String {
    let text = text(ty);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("::") {
        let (before, path) = rest.split_at(at);
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        let (path, after) = path.split_at(end.unwrap_or(path.len()));
        // `a::b` begins at the crate that uses it, and `<T as A>::B` at the type before it.
        let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>');
        let name = path.rsplit("::").next().unwrap_or_default();
        out.push_str(before);
        out.push_str(if is_whole { name } else { path });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn write(tokens: TokenStream, out: &mut String) {
    let mut word = false; // whether the last token was an identifier or a literal
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident) => {
                if word {
                    out.push(' ');
                }
                out.push_str(&ident.to_string());
                word = true;
            }
            TokenTree::Literal(literal) => {
                if word {
                    out.push(' ');
                }
                out.push_str(&literal.to_string());
                word = true;
            }
            TokenTree::Punct(punct) => {
                match punct.as_char() {
                    c @ (',' | ';') => {
                        out.push(c);
                        if tokens.peek().is_some() {
                            out.push(' ');
                        }
                    }
                    c @ ('+' | '=') => {
                        out.push(' ');
                        out.push(c);
                        out.push(' ');
                    }
                    '-' => out.push_str(" -"),
                    '>' if out.ends_with('-') => out.push_str("> "),
                    c => out.push(c),
                }
                word = false;
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write(group.stream(), out);
                out.push_str(close);
                word = group.delimiter() == Delimiter::None;
            }
        }
    }
}

/// The name of the enum that `any(Photo, Video)` makes: the type of the field, or of its items, whose name ends in `Ref` and has
/// no parameters.
pub fn union(ty: &Type) -> Option<&Ident> {
    let Type::Path(path) = plain(single(ty)) else {
        return None;
    };
    let ident = path.path.get_ident()?;
    let text = ident.unraw().to_string();
    (text.ends_with("Ref") && text != "Ref" && path.qself.is_none()).then_some(ident)
}

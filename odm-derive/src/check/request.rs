//! The rules of `#[derive(RequestQuery)]`.

use super::message::{error, label};
use crate::ast::{Container, Data, Field, Style};
use crate::attr::Count;
use crate::attr::request::{self, Request};
use crate::ctxt::Ctxt;
use crate::ty;
use syn::Type;

/// The part that a field of the struct plays, by the name of its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Condition,
    Sort,
    Page,
}

impl Part {
    pub fn of(field: &Field) -> Part {
        match ty::last(field.ty).map(|last| last.ident.to_string()).as_deref() {
            Some("Sort") => Part::Sort,
            Some("Page") => Part::Page,
            _ => Part::Condition,
        }
    }
}

/// A field with its attributes.
pub type Declared<'a> = (&'a Field<'a>, request::Field);

/// The name of a parameter in a request.
pub fn name((field, attrs): &Declared) -> String {
    let given = attrs.name.as_ref().map(syn::LitStr::value);
    given.unwrap_or_else(|| field.rust.clone())
}

pub fn all(cx: &Ctxt, container: &Container, request: &Request, fields: &[Declared]) {
    if request.of.is_none() && cx.is_read("request") {
        cx.error(
            container.ident,
            format!(
                "The query `{}` does not say which documents it is of. Write `#[request(of = User)]` with the document's type",
                container.ident
            ),
        );
    }
    if !matches!(container.data, Data::Struct(Style::Named, _)) {
        cx.error(
            container.ident,
            format!(
                "`{0}` is no struct with named fields, and each field of a query is a parameter of the request. Write \
                 `struct {0} {{ age: Range<i32> }}`",
                container.ident
            ),
        );
        return;
    }
    if !container.generics.params.is_empty() {
        cx.error(
            container.ident,
            format!(
                "The query `{}` has parameters of types, and what a request may ask is checked for one document. Write a struct \
                 for each",
                container.ident
            ),
        );
    }
    limits_are_counts(cx, request);
    one_of_each(cx, container, fields);
    for declared in fields {
        is_a_parameter(cx, container, declared);
        options_fit(cx, container, declared);
    }
    names_differ(cx, container, fields);
}

/// A limit of nothing would refuse every request.
fn limits_are_counts(cx: &Ctxt, request: &Request) {
    let limits = [
        ("max_limit", &request.max_limit),
        ("max_conditions", &request.max_conditions),
        ("max_values", &request.max_values),
    ];
    for (option, count) in limits {
        if let Some(Count::Literal(number, span)) = count
            && !(1..=u64::from(u32::MAX)).contains(number)
        {
            error(
                cx,
                *span,
                format!("`{option}` takes a number from 1 to {}", u32::MAX),
            );
        }
    }
}

/// A query has one order and one page.
fn one_of_each(cx: &Ctxt, container: &Container, fields: &[Declared]) {
    for (part, what) in [(Part::Sort, "order"), (Part::Page, "page")] {
        let mut of = fields.iter().filter(|(field, _)| Part::of(field) == part);
        let Some((first, _)) = of.next() else { continue };
        for (second, _) in of {
            cx.error(
                second.ty,
                format!(
                    "`{}` and `{}` are both the {what} of the query, and a page has one. Keep one of them{}",
                    label(container, first),
                    label(container, second),
                    match part {
                        Part::Sort => ", with the fields of both: `#[request(sort(name, age))]`",
                        _ => "",
                    }
                ),
            );
        }
    }
}

/// The parameter to write for a field whose type is visibly none of `odm::request`; `None` of another type, of which the compiler knows.
fn parameter(ty: &Type) -> Option<String> {
    const PARTS: [&str; 6] = ["Eq", "OneOf", "Range", "Text", "Sort", "Page"];
    const VALUES: [&str; 21] = [
        "bool",
        "char",
        "i8",
        "i16",
        "i32",
        "i64",
        "isize",
        "u8",
        "u16",
        "u32",
        "u64",
        "usize",
        "f32",
        "f64",
        "String",
        "ObjectId",
        "DateTime",
        "Decimal128",
        "Uuid",
        "Ref",
        "Binary",
    ];
    let name = ty::last(ty)?.ident.to_string();
    if VALUES.contains(&name.as_str()) {
        return Some(format!("Eq<{}>", ty::text(ty)));
    }
    if let Some(inner) = ty::option(ty) {
        let is_part = ty::last(inner).is_some_and(|last| PARTS.contains(&last.ident.to_string().as_str()));
        return if is_part {
            Some(ty::text(inner))
        } else {
            parameter(inner)
        };
    }
    match ty::many(ty) {
        Some(ty::Many::List { item: Some(item), .. }) => Some(format!("OneOf<{}>", ty::text(item))),
        _ => None,
    }
}

fn is_a_parameter(cx: &Ctxt, container: &Container, (field, _): &Declared) {
    if let Some(instead) = parameter(field.ty) {
        cx.error(
            field.ty,
            format!(
                "`{}` is no parameter of a request. Write `{}: {instead}`; the types of `odm::request` are the conditions `Eq<T>`, \
                 `OneOf<T>`, `Range<T>` and `Text`, each of which may be missing in a request, the order `Sort` and the page `Page`",
                label(container, field),
                field.rust
            ),
        );
    }
}

fn options_fit(cx: &Ctxt, container: &Container, (field, attrs): &Declared) {
    let name = label(container, field);
    match Part::of(field) {
        Part::Condition => {
            if attrs.sort.is_some() {
                cx.error(
                    field.ty,
                    format!("`{name}` is a condition, and `sort(…)` stands on the order. Write it on a field `sort: Sort`"),
                );
            }
        }
        Part::Sort => {
            if attrs.sort.is_none() && cx.is_read("request") {
                cx.error(
                    field.ty,
                    format!(
                        "`{name}` does not say by which fields a request may sort. Write `#[request(sort(name, age))]` above it"
                    ),
                );
            }
            if attrs.path.is_some() {
                cx.error(
                    field.ty,
                    format!("`{name}` is the order, which has no `path`. Name its fields: `sort(name, address.city)`"),
                );
            }
        }
        Part::Page => {
            if attrs.path.is_some() || attrs.scan || attrs.sort.is_some() || attrs.name.is_some() {
                cx.error(
                    field.ty,
                    format!("`{name}` is the page, with the parameters `limit`, `after` and `before`. It takes no options"),
                );
            }
        }
    }
}

/// A request names each parameter by one name, which no other has.
fn names_differ(cx: &Ctxt, container: &Container, fields: &[Declared]) {
    let has_page = fields.iter().any(|(field, _)| Part::of(field) == Part::Page);
    let named = fields.iter().filter(|(field, _)| Part::of(field) != Part::Page);
    let named: Vec<&Declared> = named.collect();
    for (i, declared) in named.iter().enumerate() {
        let (field, own) = (declared.0, name(declared));
        let twin = named[..i].iter().find(|other| name(other) == own);
        if let Some((other, _)) = twin {
            cx.error(
                field.ident(),
                format!(
                    "`{}` and `{}` are both the parameter `{own}`. Give one of them another name: `#[request(name = \"…\")]`",
                    label(container, other),
                    label(container, field),
                ),
            );
        }
        if has_page && ["limit", "after", "before"].contains(&own.as_str()) {
            cx.error(
                field.ident(),
                format!(
                    "`{}` has the name `{own}`, which is a parameter of the page. Give it another one: `#[request(name = \"…\")]`",
                    label(container, field)
                ),
            );
        }
        let is_plain = |c: char| !matches!(c, '[' | ']' | '&' | '=' | ',') && !c.is_whitespace();
        if own.is_empty() || !own.chars().all(is_plain) {
            cx.error(
                field.ident(),
                format!(
                    "`{}` can't be called `{own}` in a request: brackets hold the operator, as in `age[gte]`. Write letters, digits and \
                     `_`",
                    label(container, field)
                ),
            );
        }
    }
}

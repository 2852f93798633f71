//! The text of the types.

use super::bounds::{REFERENCES, digits, with_headroom};
use super::helpers;
use super::indexes::{self, Said};
use super::model::{Children, Helper, Is, Many, Member, Models, Named, Plain, Role, Target, Type};
use crate::design::{Collection, CollectionKind, Design};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The longest line of a comment.
const WIDTH: usize = 100;

/// A file, by its path below the folder of the models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, such as `mod.rs`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// All files: `mod.rs`, and one of each collection.
pub fn files(models: &Models, design: &Design) -> Vec<File> {
    let mut files = vec![File {
        path: "mod.rs".to_owned(),
        text: module(models, design),
    }];
    for (number, model) in models.collections.iter().enumerate() {
        let Some(collection) = design.collections.get(number) else {
            continue;
        };
        let text = if collection.kind == CollectionKind::View {
            view(collection)
        } else {
            file(models, number, collection)
        };
        files.push(File {
            path: format!("{}.rs", model.module),
            text,
        });
    }
    files
}

fn module(models: &Models, design: &Design) -> String {
    let mut out = format!(
        "//! The collections of the database `{}`, as `odm introspect` read them.\n",
        one_line(&models.database)
    );
    for note in &models.notes {
        out.push_str("//!\n");
        lines(&mut out, "//!", note);
    }
    if !models.helpers.is_empty() {
        out.push_str("\nuse odm::prelude::*;\n");
    }
    out.push('\n');
    for model in &models.collections {
        let _ = writeln!(out, "pub mod {};", model.module);
    }
    out.push('\n');
    let mut documents = Vec::new();
    for (number, model) in models.collections.iter().enumerate() {
        let is_view = design
            .collections
            .get(number)
            .is_none_or(|collection| collection.kind == CollectionKind::View);
        if !is_view {
            let _ = writeln!(out, "pub use {}::*;", model.module);
            documents.push(models.document(number));
        }
    }
    let _ = write!(
        out,
        "\n/// The documents of all collections, for `Odm::new`.\npub fn models() -> [odm::Model; {}] {{\n    odm::models![{}]\n}}\n",
        documents.len(),
        if documents.is_empty() {
            String::new()
        } else {
            format!("\n        {},\n    ", documents.join(",\n        "))
        }
    );
    for helper in &models.helpers {
        out.push('\n');
        out.push_str(helpers::text(*helper));
    }
    out
}

fn view(collection: &Collection) -> String {
    let mut out = format!("//! `{}` is a view", one_line(&collection.name));
    if let Ok(of) = collection.options.get_str("viewOn") {
        let _ = write!(out, " of `{}`", one_line(of));
    }
    out.push_str(".\n//!\n");
    let pipeline = collection
        .options
        .get("pipeline")
        .map_or_else(String::new, ToString::to_string);
    lines(
        &mut out,
        "//!",
        &format!(
            "A view is declared by `#[document(view(of = …, pipeline = …))]`, whose function adds the stages; they are: {pipeline}"
        ),
    );
    out
}

fn file(models: &Models, number: usize, collection: &Collection) -> String {
    let mut body = String::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    let model = models.collections.get(number);
    let root = model.map_or(0, |model| model.root);
    let said = indexes::of(models, root, collection);
    for (at, named) in models.types.iter().enumerate() {
        if named.file != number {
            continue;
        }
        body.push('\n');
        let is_root = at == root;
        named_text(&mut body, models, named, is_root.then_some((collection, &said)));
        names_of(models, named, number, &mut used);
    }
    let mut out = format!("//! The collection `{}`.\n\n", one_line(&collection.name));
    let others: Vec<&str> = used.iter().map(String::as_str).collect();
    if !others.is_empty() {
        let line = format!("use super::{{{}}};\n", others.join(", "));
        if others.len() == 1 {
            let _ = writeln!(out, "use super::{};", others.concat());
        } else if line.len() <= WIDTH {
            out.push_str(&line);
        } else {
            let _ = writeln!(out, "use super::{{\n    {},\n}};", others.join(",\n    "));
        }
    }
    let is_used = |name: &str| {
        body.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == name)
    };
    let plains: Vec<&str> = [
        Plain::Binary,
        Plain::Decimal,
        Plain::Regex,
        Plain::Timestamp,
        Plain::Uuid,
    ]
    .iter()
    .map(|plain| plain.name())
    .chain(["Bson"])
    .filter(|name| is_used(name) && is_type(&body, name))
    .collect();
    match plains.as_slice() {
        [] => {}
        [one] => {
            let _ = writeln!(out, "use odm::bson::{one};");
        }
        several => {
            let mut several = several.to_vec();
            several.sort_unstable();
            let _ = writeln!(out, "use odm::bson::{{{}}};", several.join(", "));
        }
    }
    out.push_str("use odm::prelude::*;\n");
    if is_type(&body, "BTreeMap") {
        out.push_str("use std::collections::BTreeMap;\n");
    }
    out + &body
}

/// Whether a name stands outside of comments and attributes.
fn is_type(body: &str, name: &str) -> bool {
    body.lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//") && !line.starts_with("#["))
        .any(|line| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == name)
        })
}

/// The names of other files that a type uses.
fn names_of(models: &Models, named: &Named, file: usize, used: &mut BTreeSet<String>) {
    for ty in named.is.types() {
        names_of_type(models, ty, file, used);
    }
    let members = named.is.members();
    let has_both = |field: &&Member| field.presence.is_both() && !field.ty.is_opaque();
    if !matches!(named.is, Is::Around(_)) && members.iter().any(has_both) {
        used.insert(Helper::OrNull.name().to_owned());
    }
    let children = members.iter().filter_map(|member| member.role.children());
    let documents = children.map(|children| children.collection).chain(named.copies);
    for collection in documents.filter(|collection| *collection != file) {
        used.insert(models.document(collection).to_owned());
    }
}

fn names_of_type(models: &Models, ty: &Type, file: usize, used: &mut BTreeSet<String>) {
    match ty {
        Type::Named(at) => {
            if let Some(named) = models.types.get(*at).filter(|named| named.file != file) {
                used.insert(named.name.clone());
            }
        }
        Type::Helper(helper) => {
            used.insert(helper.name().to_owned());
        }
        Type::List(many) | Type::Map(many) => names_of_type(models, &many.item, file, used),
        Type::Ref(target) => {
            if target.collection != file {
                used.insert(models.document(target.collection).to_owned());
            }
            if let (Some(_), super::model::Key::Helper(helper)) = (&target.by, target.key) {
                used.insert(helper.name().to_owned());
            }
        }
        _ => {}
    }
}

fn named_text(out: &mut String, models: &Models, named: &Named, root: Option<(&Collection, &Said)>) {
    for doc in &named.docs {
        lines(out, "///", doc);
    }
    if let Some((_, said)) = root {
        for remark in &said.remarks {
            lines(out, "//", remark);
        }
    }
    for comment in &named.comments {
        lines(out, "//", comment);
    }
    if let Is::Struct { reordered: true, .. } = &named.is {
        lines(
            out,
            "//",
            "Documents have these fields in several orders: they are written in this one where the whole document is written anew.",
        );
    }
    match root {
        Some((collection, said)) => {
            out.push_str("#[derive(Document, Clone, Debug, PartialEq)]\n");
            let _ = writeln!(out, "#[document(collection = {:?})]", collection.name);
            for option in &said.options {
                let _ = writeln!(out, "#[document({option})]");
            }
        }
        None if matches!(named.is, Is::Enum(_)) => {
            out.push_str("#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]\n");
        }
        None => out.push_str("#[derive(Embed, Clone, Debug, PartialEq)]\n"),
    }
    if let Some(collection) = named.copies {
        let _ = writeln!(out, "#[denormalize(from = {})]", models.document(collection));
    }
    let options = |own: &[&str]| {
        let all: Vec<&str> = own
            .iter()
            .copied()
            .chain(named.options.iter().map(String::as_str))
            .collect();
        all.join(", ")
    };
    if !named.options.is_empty() && matches!(named.is, Is::Struct { .. } | Is::Enum(_)) {
        let _ = writeln!(out, "#[embed({})]", options(&[]));
    }
    match &named.is {
        Is::Struct {
            fields,
            extra,
            others,
            ..
        } => {
            let _ = writeln!(out, "pub struct {} {{", named.name);
            for member in fields {
                let is_declared = root.is_some_and(|(_, said)| said.by_reference.contains(&member.stored));
                member_text(out, models, member, fields, root.is_some(), is_declared);
            }
            if let Some(extra) = extra {
                match others {
                    0 => out.push_str(
                        "    // Fields whose names can't be declared: with a dot, or a `$` at the beginning.\n",
                    ),
                    others => {
                        let _ = writeln!(out, "    // Fields that hardly a document has: some {others} were counted.");
                    }
                }
                let _ = writeln!(
                    out,
                    "    #[field(flatten, extra)]\n    pub {extra}: odm::bson::Document,"
                );
            }
            out.push_str("}\n");
        }
        Is::Enum(variants) => {
            let _ = writeln!(out, "pub enum {} {{", named.name);
            for (rust, stored) in variants {
                if rust != stored {
                    let _ = writeln!(out, "    #[embed(name = {stored:?})]");
                }
                let _ = writeln!(out, "    {rust},");
            }
            out.push_str("}\n");
        }
        Is::Tagged { tag, variants } => {
            let tag = format!("tag = {tag:?}");
            let _ = writeln!(out, "#[embed({})]\npub enum {} {{", options(&[&tag]), named.name);
            for variant in variants {
                if variant.rust != variant.stored {
                    let _ = writeln!(out, "    #[embed(name = {:?})]", variant.stored);
                }
                if variant.fields.is_empty() {
                    let _ = writeln!(out, "    {},", variant.rust);
                    continue;
                }
                let _ = writeln!(out, "    {} {{", variant.rust);
                let mut text = String::new();
                for member in &variant.fields {
                    lines_of_member(&mut text, models, member, &variant.fields, false, false, "");
                }
                for line in text.lines() {
                    let _ = writeln!(out, "    {line}");
                }
                out.push_str("    },\n");
            }
            out.push_str("}\n");
        }
        Is::Union(variants) => {
            let _ = writeln!(
                out,
                "#[embed({})]\npub enum {} {{",
                options(&["untagged"]),
                named.name
            );
            for (rust, ty) in variants {
                let _ = writeln!(out, "    {rust}({}),", models.text(ty));
            }
            out.push_str("}\n");
        }
        Is::Around(member) => {
            let _ = writeln!(
                out,
                "#[embed({})]\npub struct {} {{",
                options(&["transparent"]),
                named.name
            );
            member_text(out, models, member, &[], false, false);
            out.push_str("}\n");
        }
    }
}

/// The text of a struct or an enum that stands in documents.
pub fn embedded(out: &mut String, models: &Models, named: &Named) {
    named_text(out, models, named, None);
}

/// The lines of a field, as they stand in a struct.
pub fn member(out: &mut String, models: &Models, member: &Member, fields: &[Member], is_root: bool) {
    member_text(out, models, member, fields, is_root, false);
}

fn member_text(
    out: &mut String,
    models: &Models,
    member: &Member,
    fields: &[Member],
    is_root: bool,
    is_declared: bool,
) {
    lines_of_member(out, models, member, fields, is_root, is_declared, "pub ");
}

fn lines_of_member(
    out: &mut String,
    models: &Models,
    member: &Member,
    fields: &[Member],
    is_root: bool,
    is_declared: bool,
    visibility: &str,
) {
    for comment in &member.comments {
        let mut text = String::new();
        lines(&mut text, "//", comment);
        for line in text.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    for attribute in attributes(models, member, fields, is_root, is_declared) {
        let _ = writeln!(out, "    {attribute}");
    }
    let ty = models.member_text(member);
    let _ = writeln!(out, "    {visibility}{}: {ty},", member.rust);
}

/// The attributes of a field.
pub fn attributes(
    models: &Models,
    member: &Member,
    fields: &[Member],
    is_root: bool,
    is_declared: bool,
) -> Vec<String> {
    let mut all = member.attributes.clone();
    match (&member.ty, &member.role) {
        (_, Role::CopiedId | Role::Subset { .. }) => {}
        (Type::Ref(target), role) => all.push(reference(models, target, None, role, fields, is_declared)),
        (Type::List(many), role) => match &*many.item {
            Type::Ref(target) => {
                let max = with_headroom(many.found).min(REFERENCES);
                all.push(reference(models, target, Some(max), role, fields, is_declared));
            }
            _ => all.push(embed(models, many, None)),
        },
        (Type::Map(many), _) => all.push(embed(models, many, Some(with_headroom(many.key)))),
        _ => {}
    }
    all.extend(derived(models, member, fields));
    let mut options: Vec<String> = Vec::new();
    if needs_name(member, is_root) {
        options.push(format!("name = {:?}", member.stored));
    }
    if member.ty.is_opaque() {
        options.push("opaque".to_owned());
    }
    let is_or_null = member.presence.is_both() && !member.ty.is_opaque();
    if is_or_null {
        options.push("default".to_owned());
    } else if member.presence.missing {
        options.push("skip_none".to_owned());
    }
    if !options.is_empty() {
        all.push(format!("#[field({})]", options.join(", ")));
    }
    if is_or_null {
        all.push("#[serde(skip_serializing_if = \"OrNull::is_missing\")]".to_owned());
    }
    all
}

/// The attribute of what is derived from other documents.
fn derived(models: &Models, member: &Member, fields: &[Member]) -> Option<String> {
    let name = |collection: usize, stored: &str| {
        let field = models.field(collection, stored)?;
        Some(field.rust.as_str())
    };
    Some(match &member.role {
        Role::Plain | Role::CopiedId | Role::TwoWay(_) | Role::Parent { .. } => return None,
        Role::Copy { by, from } => {
            let reference = fields.iter().find(|field| field.stored == *by)?;
            let Type::Ref(target) = &reference.ty else {
                return None;
            };
            let from = name(target.collection, from)?;
            format!("#[denormalize(from = {}.{from})]", reference.rust)
        }
        Role::Count(children) => {
            let of = models.document(children.collection);
            format!("#[computed(count = {of}{})]", by(models, children)?)
        }
        Role::Sum(children, field) => {
            let (of, field) = (
                models.document(children.collection),
                name(children.collection, field)?,
            );
            format!("#[computed(sum = {of}.{field}{})]", by(models, children)?)
        }
        Role::Subset {
            children,
            limit,
            order,
            descending,
            ..
        } => format!(
            "#[subset(of = {}, limit = {}, order({}{}){})]",
            models.document(children.collection),
            digits(*limit),
            if *descending { "-" } else { "" },
            name(children.collection, order)?,
            by(models, children)?,
        ),
    })
}

/// The option `by` of what follows from children, where they have no or several references that say whose they are.
fn by(models: &Models, children: &Children) -> Option<String> {
    let is_parent = |member: &&Member| {
        let is_to_it = matches!(&member.ty, Type::Ref(target) if target.collection == children.parent);
        matches!(member.role, Role::Parent { .. }) && is_to_it
    };
    let fields = models.root(children.collection)?;
    let mut parents = fields.iter().filter(is_parent);
    let only = parents.next().filter(|_| parents.next().is_none());
    if only.is_some_and(|only| only.stored == children.by) {
        return Some(String::new());
    }
    let reference = models.field(children.collection, &children.by)?;
    Some(format!(", by = {}", reference.rust))
}

/// Whether the stored name has to be said.
pub fn needs_name(member: &Member, is_root: bool) -> bool {
    let is_id = is_root && member.stored == "_id" && member.rust == "id";
    (member.stored != member.rust && !is_id) || (is_root && member.stored == "id")
}

fn embed(models: &Models, many: &Many, key: Option<u64>) -> String {
    let max = with_headroom(many.found);
    let key = key.map_or_else(String::new, |key| format!(", key_len = {}", digits(key)));
    let large = if max > 200 && holds_documents(models, &many.item, 0) {
        format!(", large = \"up to {} were found\"", many.found)
    } else {
        String::new()
    };
    format!("#[embed(max = {}{key}{large})]", digits(max))
}

fn holds_documents(models: &Models, ty: &Type, depth: u32) -> bool {
    if depth > 100 {
        return true;
    }
    match ty {
        Type::Named(at) => match models.types.get(*at).map(|named| &named.is) {
            Some(Is::Struct { .. } | Is::Tagged { .. }) => true,
            Some(Is::Union(variants)) => variants
                .iter()
                .any(|(_, ty)| holds_documents(models, ty, depth + 1)),
            Some(Is::Around(member)) => holds_documents(models, &member.ty, depth + 1),
            Some(Is::Enum(_)) | None => false,
        },
        Type::Map(_) => true,
        Type::List(many) => holds_documents(models, &many.item, depth + 1),
        _ => false,
    }
}

fn reference(
    models: &Models,
    target: &Target,
    many: Option<u64>,
    role: &Role,
    fields: &[Member],
    is_declared: bool,
) -> String {
    let mut options = Vec::new();
    if let Some(max) = many {
        options.push(format!("many, max = {}", digits(max)));
    }
    if let Some(by) = &target.by {
        let rust = indexes::by(models, target.collection, by).map_or(by.as_str(), |(rust, _)| rust);
        options.push(format!("by = {rust}"));
    }
    let mut attribute = "reference";
    let mut is_declared = is_declared;
    if let Role::TwoWay(inverse) = role
        && let Some(inverse) = models.field(target.collection, inverse)
    {
        options.push(format!("inverse = {}", inverse.rust));
        // The other side names the documents, without an index.
        is_declared = true;
    }
    if let Role::Parent { one, order } = role {
        attribute = "parent_ref";
        is_declared |= *one || !order.is_empty();
        if *one {
            options.push("one".to_owned());
        }
        let keys = order.iter().filter_map(|(field, descending)| {
            let minus = if *descending { "-" } else { "" };
            Some(format!(
                "{minus}{}",
                fields.iter().find(|one| one.stored == *field)?.rust
            ))
        });
        let keys: Vec<String> = keys.collect();
        if !keys.is_empty() {
            options.push(format!("order({})", keys.join(", ")));
        }
    }
    if !is_declared {
        options.push("index = false".to_owned());
    }
    match options.as_slice() {
        [] => format!("#[{attribute}]"),
        options => format!("#[{attribute}({})]", options.join(", ")),
    }
}

/// Writes a text in lines that begin with a sign of comments.
pub fn lines(out: &mut String, sign: &str, text: &str) {
    let mut line = sign.to_owned();
    for word in text.split_whitespace() {
        // A comment of documentation in brackets would be a link.
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > sign.len() {
            out.push_str(&line);
            out.push('\n');
            line.clear();
            line.push_str(sign);
        }
        line.push(' ');
        line.extend(word.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }
    out.push_str(&line);
    out.push('\n');
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

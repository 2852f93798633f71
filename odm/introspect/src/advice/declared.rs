//! The declaration of a copy, where the data are laid out as odm lays out copies.

use super::names;
use super::remedy::{embedded, field, model, reference_attribute, reference_type};
use crate::design::{Copied, Design, Reference};

/// The type of a copy in Rust.
fn copied_type(design: &Design, copy: &Copied, reference: &Reference) -> String {
    let holder = design.collection(&reference.from.collection);
    let field = holder.and_then(|collection| collection.root.at(&copy.path));
    let rust = names::rust_type(field);
    match field {
        Some(field) if field.is_optional() => format!("Option<{rust}>"),
        _ => rust.to_owned(),
    }
}

/// The declaration of a copy, where the data are laid out as odm lays out copies: beside the reference, or with it in one embedded
/// document.
pub fn declared(design: &Design, copy: &Copied, reference: &Reference) -> Option<String> {
    let [path] = reference.from.paths.as_slice() else {
        return None;
    };
    let (by, rust) = reference_type(design, reference);
    if path.contains('{') || names::parent(path) != names::parent(&copy.path) || copy.from.contains('.') {
        return None;
    }
    let target = names::type_name(&reference.to.collection);
    let copied = copied_type(design, copy, reference);
    let holder = &reference.from.collection;
    let parent = names::parent(path);
    if parent.is_empty() {
        if path.ends_with("[]") {
            return None;
        }
        let options: Vec<String> = by.into_iter().collect();
        let from = format!(
            "#[denormalize(from = {}.{})]",
            names::field_name(path),
            names::field_name(&copy.from)
        );
        let fields = format!(
            "{}\n{}",
            field(path, &[reference_attribute(&options)], &rust),
            field(&copy.path, &[from], &copied)
        );
        return Some(model(holder, &[], &fields));
    }
    let outer = parent.trim_end_matches("[]");
    if outer.contains("[]") || parent.matches("[]").count() > 1 {
        return None;
    }
    let entry = names::embedded_name(holder, parent);
    let mut options = Vec::new();
    let is_many = parent.ends_with("[]");
    if is_many {
        options.push("many".to_owned());
    }
    let inner: Vec<String> = by.iter().map(|by| format!("#[reference({by})]")).collect();
    let own = embedded(
        &entry,
        &[format!("#[denormalize(from = {target})]")],
        &format!(
            "{}\n{}",
            field(path, &inner, &rust),
            field(&copy.path, &[], &copied)
        ),
    );
    if outer.contains('.') {
        return Some(own);
    }
    let of = if is_many { format!("Vec<{entry}>") } else { entry };
    let attributes = [
        reference_attribute(&options),
        format!("#[denormalize(from = {target})]"),
    ];
    Some(format!(
        "{}\n\n{own}",
        model(holder, &[], &field(outer, &attributes, &of))
    ))
}

//! The declaration of a reference and of the copies beside it, where the data are laid out as odm lays them out.

use super::names;
use super::remedy::{embedded, field, holder, model, reference_attribute};
use crate::design::{Copied, Design, Reference};

/// The struct that holds a reference, with these copies beside it. `None` where no attribute says it: a composite key, several
/// collections of one path, keys of a map, a target that is no field of its own, a copy in another struct.
pub fn declared(
    design: &Design,
    reference: &Reference,
    copies: &[&Copied],
    on_delete: Option<&str>,
) -> Option<String> {
    let ([path], [target]) = (reference.from.paths.as_slice(), reference.to.paths.as_slice()) else {
        return None;
    };
    let is_element = path.ends_with("[]");
    let unsaid = reference.told.is_some()
        || path.contains('{')
        || path.ends_with("[][]")
        || target.contains(['.', '[', '{'])
        || reference.compared != crate::design::Compared::Same;
    if unsaid {
        return None;
    }
    let collection = design.collection(&reference.from.collection)?;
    let held = collection.root.at(path);
    let mut options = Vec::new();
    if is_element {
        options.push("many".to_owned());
    }
    let to = names::type_name(&reference.to.collection);
    let mut rust = format!("Ref<{to}>");
    if target != "_id" {
        options.push(format!("by = {}", names::field_name(target)));
        let key = design.collection(&reference.to.collection);
        let key = names::rust_type(key.and_then(|collection| collection.root.at(target)));
        rust = format!("Ref<{to}, {key}>");
    }
    options.extend(on_delete.map(|rule| format!("on_delete = {rule}")));
    if is_element {
        rust = format!("Vec<{rust}>");
    } else if on_delete == Some("nullify") || held.is_some_and(crate::design::Field::is_optional) {
        rust = format!("Option<{rust}>");
    }
    let mut lines = field(path, &[reference_attribute(&options)], &rust);
    for copy in copies {
        let beside = names::parent(&copy.path) == names::parent(path) && !is_element;
        if !beside || copy.from.contains(['.', '[', '{']) || copy.path.ends_with([']', '}']) {
            return None;
        }
        let from = format!(
            "#[denormalize(from = {}.{})]",
            names::field_name(path),
            names::field_name(&copy.from)
        );
        let stored = collection.root.at(&copy.path);
        let copied = names::rust_type(stored);
        let copied = match stored {
            Some(field) if field.is_optional() => format!("Option<{copied}>"),
            _ => copied.to_owned(),
        };
        lines.push('\n');
        lines.push_str(&field(&copy.path, &[from], &copied));
    }
    Some(holder(&collection.name, path, &lines))
}

/// The struct of children that name their parent, by which the parent's values are computed: the reference is a field of the
/// document, or is with nothing but its copies in a field of the document. `None` where it lies elsewhere.
pub fn declared_parent(design: &Design, reference: &Reference) -> Option<String> {
    let ([path], [target]) = (reference.from.paths.as_slice(), reference.to.paths.as_slice()) else {
        return None;
    };
    let plain = |path: &str| !path.contains(['.', '[', '{']);
    if reference.told.is_some() || reference.compared != crate::design::Compared::Same || target != "_id" {
        return None;
    }
    let collection = &reference.from.collection;
    let parent = names::type_name(&reference.to.collection);
    let rust = format!("Ref<{parent}>");
    let attribute = "#[parent_ref]".to_owned();
    if plain(path) {
        return Some(model(collection, &[], &field(path, &[attribute], &rust)));
    }
    let entry = names::parent(path);
    let held = design.collection(collection)?.root.at(entry)?;
    let copies = design.copies.iter().filter(|copy| copy.by == reference.id);
    let copied = |of: &str| copies.clone().find(|copy| copy.path == of);
    let mut lines = vec![field(path, &[], &rust)];
    for one in held.fields.iter().filter(|one| one.path != *path) {
        let copy = copied(&one.path).filter(|copy| plain(&copy.from))?;
        lines.push(field(&copy.path, &[], names::rust_type(Some(one))));
    }
    if !plain(entry) {
        return None;
    }
    let name = names::embedded_name(collection, entry);
    let of = format!("#[denormalize(from = {parent})]");
    Some(format!(
        "{}\n\n{}",
        model(collection, &[], &field(entry, &[attribute, of.clone()], &name)),
        embedded(&name, &[of], &lines.join("\n")),
    ))
}

//! Names of the types, once it is known which are used, and where.

use super::model::{Is, Models, Type};
use super::names::{self, Given};
use std::collections::{BTreeMap, BTreeSet};

/// The file of a type that nothing uses.
pub const UNUSED: usize = usize::MAX;

/// Gives each type a name, those at short paths first, and leaves out what nothing uses.
pub fn name(models: &mut Models, given: &mut Given) {
    let users = users(models);
    let mut order: Vec<usize> = users.keys().copied().collect();
    let depth = |models: &Models, at: usize| {
        models.types.get(at).map_or(0, |named| {
            named.path.split('.').count() + named.path.matches("[]").count()
        })
    };
    order.sort_by_key(|at| (depth(models, *at), *at));
    for at in 0..models.types.len() {
        if !users.contains_key(&at)
            && let Some(named) = models.types.get_mut(at)
        {
            named.file = UNUSED;
        }
    }
    let roots: BTreeSet<usize> = models.collections.iter().map(|model| model.root).collect();
    for at in order {
        if roots.contains(&at) {
            continue;
        }
        let is_shared = users.get(&at).is_some_and(|files| files.len() > 1);
        let name = wanted(models, given, at, is_shared);
        let name = given.give_type(&name);
        if let Some(named) = models.types.get_mut(at) {
            named.name = name;
        }
    }
}

/// The used types, with the files that use each.
fn users(models: &Models) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut users: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (file, model) in models.collections.iter().enumerate() {
        let mut open = vec![model.root];
        while let Some(at) = open.pop() {
            if !users.entry(at).or_default().insert(file) {
                continue;
            }
            if let Some(named) = models.types.get(at) {
                open.extend(named.is.types().into_iter().filter_map(inner));
            }
        }
    }
    users
}

fn inner(ty: &Type) -> Option<usize> {
    match ty {
        Type::Named(at) => Some(*at),
        Type::List(many) | Type::Map(many) => inner(&many.item),
        _ => None,
    }
}

/// The name that a type should have: that of its field behind that of the document, or that of what it refers to, where it stands in
/// documents of several collections.
fn wanted(models: &Models, given: &Given, at: usize, is_shared: bool) -> String {
    let Some(named) = models.types.get(at) else {
        return "Value".to_owned();
    };
    let suffix = match &named.is {
        Is::Around(_) => "List",
        Is::Union(_) => "Value",
        _ => "",
    };
    let one = |name: &str| names::ty(&names::singular(name));
    let mut parts = named.path.split('.').map(|part| {
        part.trim_end_matches("[]")
            .trim_end_matches("{}")
            .trim_end_matches("[]")
    });
    let end = parts.next_back().map_or_else(String::new, one);
    let before = parts.next_back().map_or_else(String::new, one);
    let root = models.document(named.file);
    let short = format!("{root}{end}{suffix}");
    let longer = format!("{root}{before}{end}{suffix}");
    let shared = match (&named.is, is_shared) {
        (Is::Struct { fields, .. }, true) => {
            let mut targets = fields.iter().filter_map(|field| match &field.ty {
                Type::Ref(target) => Some(target.collection),
                _ => None,
            });
            match (targets.next(), targets.next()) {
                (Some(only), None) => Some(format!("{}Entry", models.document(only))),
                _ => Some(format!("{end}{suffix}")),
            }
        }
        (_, true) => Some(format!("{end}{suffix}")),
        (_, false) => None,
    };
    let free = shared
        .into_iter()
        .chain([short.clone(), longer])
        .find(|name| given.is_free(name));
    free.unwrap_or(short)
}

//! The comments above structs and fields: figures, and what was left open.

use super::model::Type;
use crate::design::{Collection, Field, Variants};
use crate::kind::{Kind, TextForm};
use crate::sketch::Spread;

/// The most names that a remark lists.
const LISTED: usize = 12;

/// The beginning of the remark on documents without the field.
pub const MISSING: &str = "Missing in";

/// The comment above the struct of a collection.
pub fn of_collection(collection: &Collection) -> Vec<String> {
    let sizes = &collection.sizes;
    let mut text = format!(
        "A document of `{}`: {} were counted",
        collection.name, collection.documents
    );
    if collection.read < collection.documents {
        text.push_str(&format!(", {} were read", collection.read));
    }
    if sizes.number > 0 {
        text.push_str(&format!(
            ". Half of them have up to {} bytes, the largest has {}",
            sizes.median, sizes.greatest
        ));
    }
    text.push('.');
    vec![text]
}

/// The remarks on a field, as far as its own values tell them.
pub fn of_field(field: &Field, collection: &Collection, ty: &Type) -> Vec<String> {
    let mut all = Vec::new();
    let nulls = field.kinds.get(&Kind::Null).copied().unwrap_or(0);
    if field.present < field.of {
        let null = if nulls > 0 {
            format!(", null in {nulls}")
        } else {
            String::new()
        };
        all.push(format!(
            "{MISSING} {} of {}{null}.",
            field.of - field.present,
            field.of
        ));
    } else if nulls > 0 {
        all.push(format!("Null in {nulls} of {}.", field.present));
    }
    match ty {
        Type::Unknown => {
            all.push("Nothing but null was found, so that the type of its values is a guess.".to_owned())
        }
        Type::AnyList if field.items.as_ref().is_none_or(|items| items.kinds.is_empty()) => {
            all.push("Only empty arrays were found.".to_owned());
        }
        Type::AnyDocument if field.map.is_none() => {
            all.push("Only documents without fields that can be declared were found.".to_owned());
        }
        _ => {}
    }
    if let Some(lengths) = &field.lengths {
        all.push(format!("Items: {}.", spread(lengths)));
    }
    if let Some(map) = &field.map {
        all.push(format!(
            "A map: {} Entries: {}.",
            sentence(&map.evidence),
            spread(&map.per_map)
        ));
    }
    if field.kinds.keys().filter(|kind| **kind != Kind::Null).count() > 1 {
        let kinds: Vec<String> = field
            .kinds
            .iter()
            .filter(|(kind, _)| **kind != Kind::Null)
            .map(|(kind, number)| format!("{number} {}", kind.name()))
            .collect();
        all.push(format!(
            "Its types differ: {}. `retype` in a migration makes them one.",
            kinds.join(", ")
        ));
    }
    if let Some(form) = field.form {
        let to = match form {
            TextForm::Date | TextForm::Datetime => Some("date"),
            TextForm::Number => Some("number"),
            TextForm::Flag01 | TextForm::YesNo | TextForm::Boolean => Some("bool"),
            TextForm::Hex => Some("ObjectId"),
            TextForm::Uuid => Some("UUID"),
            TextForm::Url | TextForm::Email => None,
        };
        if let Some(to) = to {
            all.push(format!(
                "Its texts are {}: `retype` in a migration makes each a {to}.",
                form.name()
            ));
        }
    }
    if field.enumeration && !field.values.is_empty() && matches!(ty, Type::Plain(_)) {
        let why = if collection.read < collection.documents {
            " of the documents that were read"
        } else {
            ""
        };
        all.push(format!("Its values{why}: {}.", values(&field.values)));
    }
    all.extend(field.doubts.iter().map(|doubt| sentence(doubt)));
    if let Some(items) = &field.items {
        all.extend(items.doubts.iter().map(|doubt| sentence(doubt)));
    }
    all
}

/// A remark on the kinds of a document.
pub fn variants(variants: &Variants) -> String {
    let told = match &variants.tag {
        Some(tag) => format!("told by `{tag}`"),
        None => format!(
            "told by which of `{}` is there",
            variants.by_presence.join("`, `")
        ),
    };
    let kinds: Vec<String> = variants
        .kinds
        .iter()
        .take(LISTED)
        .map(|kind| {
            let fields: Vec<&str> = kind.always.iter().take(LISTED).map(String::as_str).collect();
            let has = if fields.is_empty() {
                "no fields of its own".to_owned()
            } else {
                format!("always `{}`", fields.join("`, `"))
            };
            format!("{} ({}): {has}", kind.value, kind.number)
        })
        .collect();
    let more = match variants.kinds.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "{} kinds of documents, {told}: {}{more}. An enum with `tag` would have a variant for each.",
        variants.kinds.len(),
        kinds.join("; ")
    )
}

/// A remark on an enum with a tag.
pub fn tagged(variants: &Variants) -> String {
    let kinds: Vec<(String, u64)> = variants
        .kinds
        .iter()
        .map(|kind| (kind.value.clone(), kind.number))
        .collect();
    format!(
        "Told by `{}`: {}.",
        variants.tag.as_deref().unwrap_or_default(),
        values(&kinds)
    )
}

fn values(values: &[(String, u64)]) -> String {
    let listed: Vec<String> = values
        .iter()
        .take(LISTED)
        .map(|(value, number)| format!("{value:?} ({number})"))
        .collect();
    match values.len().saturating_sub(LISTED) {
        0 => listed.join(", "),
        more => format!("{}, and {more} more", listed.join(", ")),
    }
}

fn spread(spread: &Spread) -> String {
    if spread.least == spread.greatest {
        return format!("always {}", spread.greatest);
    }
    format!(
        "at most {}; half have up to {}, 99 of 100 up to {}",
        spread.greatest, spread.median, spread.p99
    )
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        None | Some('.' | '!' | '?') => text.to_owned(),
        Some(_) => format!("{text}."),
    }
}

//! Names in the code of a remedy.

use crate::design::Field;
use crate::kind::Kind;

/// The name of a struct for the documents of a collection: `EquipmentCategory` for `equipment_categories`.
pub fn type_name(collection: &str) -> String {
    let mut parts = parts(collection);
    if let Some(last) = parts.last_mut() {
        *last = singular(last);
    }
    let name = pascal(&parts);
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name
    } else {
        format!("T{name}")
    }
}

/// The name of a struct for what is embedded: `FeatureClass` for `class` in `features`.
pub fn embedded_name(collection: &str, path: &str) -> String {
    let mut name = type_name(collection);
    let mut parts = parts(path);
    if path.ends_with("[]")
        && let Some(last) = parts.last_mut()
    {
        *last = singular(last);
    }
    name.push_str(&pascal(&parts));
    name
}

/// The name of a field in Rust: that of the last part of a path.
pub fn field_name(path: &str) -> String {
    let last = path.rsplit('.').next().unwrap_or(path);
    let name = parts(last).join("_");
    match name.chars().next() {
        None => "field".to_owned(),
        Some(first) if !first.is_ascii_alphabetic() => format!("f_{name}"),
        _ if matches!(name.as_str(), "self" | "super" | "crate") => format!("{name}_"),
        _ if syn::parse_str::<syn::Ident>(&name).is_err() => format!("r#{name}"),
        _ => name,
    }
}

/// The last name of a path as it is stored, without brackets.
pub fn stored_name(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_end_matches("[]")
}

/// A path as steps, indexes and updates write it: without the brackets of arrays. `None` where it leads through a map, whose keys no
/// path can name.
pub fn written(path: &str) -> Option<String> {
    if path.contains('{') {
        return None;
    }
    Some(path.replace("[]", ""))
}

/// What comes before the last name of a path: `features[]` for `features[].name`, empty for `name`.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The type in Rust of a field that has one.
pub fn rust_type(field: Option<&Field>) -> &'static str {
    match field.and_then(Field::only_kind) {
        Some(Kind::Bool) => "bool",
        Some(Kind::Int) => "i32",
        Some(Kind::Long) => "i64",
        Some(Kind::Double) => "f64",
        Some(Kind::Decimal) => "Decimal128",
        Some(Kind::ObjectId) => "ObjectId",
        Some(Kind::Date) => "DateTime",
        Some(Kind::Uuid) => "Uuid",
        _ => "String",
    }
}

/// The words of a name, in lower case: at `_`, `-`, `.`, other signs, and where a capital letter begins one.
pub fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut before_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            if !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            before_lower = false;
            continue;
        }
        if letter.is_ascii_uppercase() && before_lower {
            parts.push(std::mem::take(&mut part));
        }
        before_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        part.push(letter.to_ascii_lowercase());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn pascal(parts: &[String]) -> String {
    parts.iter().map(|part| super::words::capital(part)).collect()
}

/// A noun in the singular, as far as its end tells.
pub fn singular(word: &str) -> String {
    let without = |end: &str, with: &str| word.strip_suffix(end).map(|stem| format!("{stem}{with}"));
    if matches!(word, "species" | "series" | "news" | "data" | "equipment") {
        return word.to_owned();
    }
    if let Some(found) = without("ies", "y") {
        return found;
    }
    for end in ["sses", "shes", "ches", "xes", "zes", "uses"] {
        if word.ends_with(end) {
            return word[..word.len() - 2].to_owned();
        }
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") || word.len() < 3 {
        return word.to_owned();
    }
    without("s", "").unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_collections_and_paths() {
        for (collection, name) in [
            ("equipment_categories", "EquipmentCategory"),
            ("classes", "Class"),
            ("entityLoot", "EntityLoot"),
            ("species", "Species"),
            ("2024-logs", "T2024Log"),
            ("status", "Status"),
            ("", "T"),
        ] {
            assert_eq!(type_name(collection), name);
        }
        assert_eq!(embedded_name("levels", "features[]"), "LevelFeature");
        assert_eq!(embedded_name("features", "class"), "FeatureClass");
        assert_eq!(field_name("a.type"), "r#type");
        assert_eq!(field_name("createdAt"), "created_at");
        assert_eq!(field_name("4x"), "f_4x");
        assert_eq!(written("a[].b[][]"), Some("a.b".to_owned()));
        assert_eq!(written("a{}.b"), None);
        assert_eq!(parent("features[].name"), "features[]");
        assert_eq!(stored_name("x.tags[]"), "tags");
    }
}

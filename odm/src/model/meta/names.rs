//! Dotted names of stored fields.

use mongodb::bson::{Bson, Document};

/// Whether one dotted name is the other, or leads into it.
pub(crate) fn meet(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    long.strip_prefix(short)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Adds a field to those that a projection reads. Of two names of which one leads into the other it keeps the shorter: that
/// is enough, and the server refuses both (code 31249).
pub(crate) fn read_too(projection: &mut Document, name: &str) {
    let within: Vec<String> = projection
        .keys()
        .filter(|known| meet(known, name))
        .cloned()
        .collect();
    if within.iter().any(|known| known.len() <= name.len()) {
        return;
    }
    for longer in within {
        projection.remove(longer);
    }
    projection.insert(name, 1);
}

/// The name of a field in an update, without the positions in arrays.
pub(crate) fn plain_name(name: &str) -> String {
    let is_position = |part: &&str| part.starts_with('$') || part.bytes().all(|b| b.is_ascii_digit());
    name.split('.')
        .enumerate()
        .filter(|(at, part)| *at == 0 || !is_position(part))
        .map(|(_, part)| part)
        .collect::<Vec<_>>()
        .join(".")
}

/// Any text as the name of a field in a document of the library's own: an update takes no other before MongoDB 5.0.
pub(crate) fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' => escaped.push_str("%25"),
            '.' => escaped.push_str("%2e"),
            '$' => escaped.push_str("%24"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The name of the field again.
pub(crate) fn unescaped_name(key: &str) -> String {
    key.replace("%24", "$").replace("%2e", ".").replace("%25", "%")
}

/// A condition with the names of its fields as they were before they were [escaped].
pub(crate) fn unescaped(condition: &Document) -> Document {
    fn value(of: &Bson) -> Bson {
        match of {
            Bson::Document(within) => unescaped(within).into(),
            Bson::Array(items) => Bson::Array(items.iter().map(value).collect()),
            other => other.clone(),
        }
    }
    let fields = condition.iter();
    fields
        .map(|(name, of)| (unescaped_name(name), value(of)))
        .collect()
}

/// The field of the document in which a dotted name leads on.
pub(crate) fn root(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn names_meet_where_one_leads_into_the_other() {
        assert!(meet("a", "a"));
        assert!(meet("a.b", "a"));
        assert!(meet("a", "a.b.c"));
        assert!(!meet("a", "ab"));
        assert!(!meet("a.b", "a.c"));
    }

    #[test]
    fn a_projection_has_no_name_within_another() {
        for (names, expected) in [
            (vec!["a", "b", "a"], doc! { "a": 1, "b": 1 }),
            (vec!["a.b", "a.c", "ab", "a"], doc! { "ab": 1, "a": 1 }),
            (vec!["a", "a.b"], doc! { "a": 1 }),
            (vec!["a.b.c", "a.b"], doc! { "a.b": 1 }),
            (vec!["_id", "_id.x"], doc! { "_id": 1 }),
        ] {
            let mut projection = Document::new();
            names.iter().for_each(|name| read_too(&mut projection, name));
            assert_eq!(projection, expected, "{names:?}");
        }
    }

    #[test]
    fn positions_are_no_part_of_a_name() {
        assert_eq!(plain_name("parts.$[e0].name"), "parts.name");
        assert_eq!(plain_name("parts.3.name"), "parts.name");
        assert_eq!(plain_name("name"), "name");
    }
}

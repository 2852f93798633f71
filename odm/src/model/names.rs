//! Dotted names of stored fields.

use mongodb::bson::Document;

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
}

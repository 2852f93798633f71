//! Names of fields and collections, compared by their words.

use std::collections::BTreeSet;

/// Words that say that a field is a key, and not of what.
const OF_KEYS: [&str; 16] = [
    "id", "ids", "index", "key", "code", "ref", "name", "value", "url", "slug", "no", "number", "uuid",
    "uid", "oid", "iso",
];

/// The words of a name, each in the singular and in lower case.
pub(super) fn words(name: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphanumeric() || begins {
            words.insert(singular(&word));
            word.clear();
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.insert(singular(&word));
    words.remove("");
    words
}

fn singular(word: &str) -> String {
    let cut = |end: &str, to: &str| word.strip_suffix(end).map(|stem| format!("{stem}{to}"));
    let of_word = match word {
        "species" | "series" | "news" | "status" | "address" => None,
        _ if word.len() > 4 && word.ends_with("ies") => cut("ies", "y"),
        _ if ["sses", "xes", "ches", "shes"]
            .iter()
            .any(|end| word.ends_with(end)) =>
        {
            cut("es", "")
        }
        _ if word.len() > 2 && !word.ends_with("ss") => cut("s", ""),
        _ => None,
    };
    of_word.unwrap_or_else(|| word.to_owned())
}

/// The words of a path that say of what it is a key: those of its last name, or of the one before where the last says nothing.
pub(super) fn of_path<'a>(names: impl DoubleEndedIterator<Item = &'a str>) -> BTreeSet<String> {
    for name in names.rev() {
        let mut words = words(name);
        words.retain(|word| !OF_KEYS.contains(&word.as_str()));
        if !words.is_empty() {
            return words;
        }
    }
    BTreeSet::new()
}

/// Whether a name says that the field is a key.
pub(super) fn is_of_key(name: &str) -> bool {
    words(name).iter().any(|word| OF_KEYS.contains(&word.as_str()))
}

/// Whether a name says that the field is an id, and no text or number for readers.
pub(super) fn is_of_id(name: &str) -> bool {
    const OF_IDS: [&str; 9] = ["id", "index", "key", "code", "ref", "slug", "uuid", "uid", "oid"];
    words(name).iter().any(|word| OF_IDS.contains(&word.as_str()))
}

/// The share of the words of `whole` that are among `words`, where a word may be the beginning of the other.
pub(super) fn share(words: &BTreeSet<String>, whole: &BTreeSet<String>) -> f64 {
    if whole.is_empty() {
        return 0.0;
    }
    let same =
        |a: &str, b: &str| a == b || (a.len() >= 4 && b.starts_with(a)) || (b.len() >= 4 && a.starts_with(b));
    let found = whole
        .iter()
        .filter(|word| words.iter().any(|other| same(other, word)))
        .count();
    found as f64 / whole.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_the_singular() {
        let share = |path: &str, whole: &str| share(&of_path(path.split('.')), &words(whole));
        assert_eq!(share("author.id", "authors"), 1.0);
        assert_eq!(share("abilityScore", "ability_scores"), 1.0);
        assert_eq!(share("currency_code", "currencies"), 1.0);
        assert_eq!(share("category", "equipment_categories"), 0.5);
        assert_eq!(share("country", "populations"), 0.0);
        assert_eq!(share("enchantCategories", "enchantments"), 1.0);
    }
}

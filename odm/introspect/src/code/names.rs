//! Names of Rust for stored names: of fields, types, variants and files.

use std::collections::HashSet;

/// Words that can't be names, even where most editions allow some of them.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "union",
];

/// Names of types that the written code uses, and those of the prelude of Rust.
const TAKEN: [&str; 65] = [
    "Any",
    "Arc",
    "Average",
    "BTreeMap",
    "Binary",
    "Bson",
    "Box",
    "Change",
    "Clone",
    "Collection",
    "Copy",
    "DateTime",
    "Debug",
    "Decimal128",
    "Default",
    "Deferred",
    "Document",
    "Drop",
    "Embed",
    "Eq",
    "Err",
    "Error",
    "Filter",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromNew",
    "HashMap",
    "Into",
    "Iterator",
    "LoadRefs",
    "Model",
    "None",
    "ObjectId",
    "Odm",
    "Ok",
    "Option",
    "Ord",
    "OrNull",
    "PartialEq",
    "PartialOrd",
    "Paths",
    "Pattern",
    "Projection",
    "ReadOptions",
    "Ref",
    "Regex",
    "RequestQuery",
    "Result",
    "Row",
    "Self",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "Timestamp",
    "ToOwned",
    "ToString",
    "Uuid",
    "Vec",
    "WriteOptions",
    "Integer",
    "Number",
];

/// The words of a stored name: `inShape`, `in_shape` and `in-shape` have the same.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, c) in chars.iter().copied().enumerate() {
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let after = chars.get(at + 1);
        let begins = c.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(|before| before.is_uppercase())
                    && after.is_some_and(|after| after.is_lowercase()));
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase());
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether it can be a name of Rust as it is.
fn is_plain(name: &str) -> bool {
    syn::parse_str::<syn::Ident>(name).is_ok() && name != "_"
}

/// The name of a field: in snake case, and no keyword.
pub fn field(stored: &str) -> String {
    let mut name = words(stored).join("_");
    if name.is_empty() {
        name = match stored {
            "" => "empty".to_owned(),
            "$" => "dollar".to_owned(),
            _ => "field".to_owned(),
        };
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    if !is_plain(&name) {
        name.insert_str(0, "n_");
    }
    if is_plain(&name) { name } else { "field".to_owned() }
}

/// The name of a type or a variant: in Pascal case.
pub fn ty(stored: &str) -> String {
    let mut name: String = words(stored)
        .iter()
        .map(|word| {
            let mut chars = word.chars();
            let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            first + chars.as_str()
        })
        .collect();
    if !is_plain(&name) {
        name.insert(0, 'N');
    }
    if is_plain(&name) { name } else { "Value".to_owned() }
}

/// The singular of a name: `category` of `categories`.
pub fn singular(name: &str) -> String {
    const ALIKE: [&str; 8] = [
        "species", "series", "news", "status", "address", "analysis", "basis", "gas",
    ];
    const IE: [&str; 8] = [
        "movies", "cookies", "zombies", "ties", "pies", "lies", "dies", "selfies",
    ];
    let lower = name.to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
    let cut = |by: usize| name.get(..name.len() - by).unwrap_or(name).to_owned();
    if ends(&ALIKE) || !name.is_ascii() || name.len() < 3 {
        name.to_owned()
    } else if lower.ends_with("ies") && !ends(&IE) && name.len() > 4 {
        cut(3) + "y"
    } else if ends(&["sses", "xes", "ches", "shes", "zzes", "statuses", "aliases"]) {
        cut(2)
    } else if lower == "people" {
        "person".to_owned()
    } else if lower.ends_with('s') && !ends(&["ss", "us", "is"]) {
        cut(1)
    } else {
        name.to_owned()
    }
}

/// Names of which each is given once.
#[derive(Debug, Default)]
pub struct Given {
    names: HashSet<String>,
}

impl Given {
    /// Those of types, without the ones that the written code uses.
    pub fn types() -> Self {
        Self {
            names: TAKEN.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Whether a name is free.
    pub fn is_free(&self, name: &str) -> bool {
        !self.names.contains(name)
    }

    /// The name, or the first of `name2`, `name3` … that is free, with `between` before the number.
    pub fn give(&mut self, name: &str, between: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 2_u64;
        while !self.names.insert(free.clone()) {
            free = format!("{}{between}{number}", name.trim_end_matches('_'));
            number += 1;
        }
        free
    }

    /// The same for a type, with the names of what a derive makes beside it.
    pub fn give_type(&mut self, name: &str) -> String {
        let beside = |name: &str| {
            [
                format!("New{name}"),
                format!("{name}Fields"),
                format!("{name}Patch"),
                format!("{name}Builder"),
            ]
        };
        let mut free = name.to_owned();
        let mut number = 2_u64;
        while !self.is_free(&free) || beside(&free).iter().any(|name| !self.is_free(name)) {
            free = format!("{name}{number}");
            number += 1;
        }
        self.names.extend(beside(&free));
        self.names.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stored_names_become_names_of_rust() {
        for (stored, name) in [
            ("inShape", "in_shape"),
            ("HTMLPage", "html_page"),
            ("type", "type_"),
            ("self", "self_"),
            ("+1", "n_1"),
            ("a.b$c", "a_b_c"),
            ("", "empty"),
            ("naïve", "naïve"),
            ("🦀", "field"),
            ("_id", "id"),
        ] {
            assert_eq!(field(stored), name, "{stored}");
        }
        assert_eq!(ty("pull_request"), "PullRequest");
        assert_eq!(ty("2d"), "N2d");
    }

    #[test]
    fn one_of_several_has_a_name() {
        for (many, one) in [
            ("ability_scores", "ability_score"),
            ("equipment_categories", "equipment_category"),
            ("classes", "class"),
            ("species", "species"),
            ("statuses", "status"),
            ("weather", "weather"),
            ("entityLoot", "entityLoot"),
            ("movies", "movie"),
            ("boxes", "box"),
        ] {
            assert_eq!(singular(many), one, "{many}");
        }
    }

    #[test]
    fn a_type_takes_the_names_beside_it() {
        let mut given = Given::types();
        assert_eq!(given.give_type("Foo"), "Foo");
        assert_eq!(given.give_type("NewFoo"), "NewFoo2");
        assert_eq!(given.give_type("Ref"), "Ref2");
    }

    proptest! {
        #[test]
        fn any_name_becomes_one_that_parses(stored in ".{0,12}") {
            prop_assert!(syn::parse_str::<syn::Ident>(&field(&stored)).is_ok());
            prop_assert!(syn::parse_str::<syn::Ident>(&ty(&stored)).is_ok());
        }
    }
}

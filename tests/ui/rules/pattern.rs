//! Patterns that the server and the library would understand differently, and other options that are malformed.
use odm::prelude::*;

#[derive(Embed)]
struct Anchored {
    #[field(pattern = "^[a-z]+$")]
    slug: String,
}

#[derive(Embed)]
struct Flagged {
    #[field(pattern = "(?i)[a-z]+")]
    slug: String,
}

#[derive(Embed)]
struct Twice {
    #[field(email, pattern = "[a-z]+")]
    slug: String,
}

#[derive(Embed)]
struct Mixed {
    #[field(one_of("a", 1))]
    kind: String,
}

#[derive(Embed)]
struct Alone {
    #[field(unique_items)]
    tag: String,
}

#[derive(Embed)]
struct Upper {
    #[field(normalize(uppercase))]
    code: String,
}

fn main() {}

//! Patterns that the server and the library would understand differently, and other options that are malformed.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct Anchored {
    #[field(pattern = "^[a-z]+$")]
    slug: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Flagged {
    #[field(pattern = "(?i)[a-z]+")]
    slug: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Twice {
    #[field(email, pattern = "[a-z]+")]
    slug: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Mixed {
    #[field(one_of("a", 1))]
    kind: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Alone {
    #[field(unique_items)]
    tag: String,
}

#[derive(Embed, Serialize, Deserialize)]
struct Upper {
    #[field(normalize(uppercase))]
    code: String,
}

fn main() {}

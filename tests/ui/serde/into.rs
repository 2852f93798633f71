//! A form of another type.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
#[serde(into = "String", from = "String")]
struct Code {
    text: String,
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.text
    }
}

impl From<String> for Code {
    fn from(text: String) -> Code {
        Code { text }
    }
}

fn main() {}

//! Variants without a tag that nothing tells apart.
use odm::prelude::*;

#[derive(Embed)]
#[embed(untagged)]
enum Amount {
    Net(f64),
    Gross(f64),
}

#[derive(Embed)]
#[embed(untagged)]
enum Place {
    Town { town: String },
    Street { town: String, street: String },
}

#[derive(Embed)]
#[embed(untagged)]
enum Payment {
    Card { number: String, code: Option<i32> },
    Transfer { number: String },
}

// Each of these has a form of its own.
#[derive(Embed)]
#[embed(untagged)]
enum Fine {
    Street { town: String, street: String },
    Town { town: String },
    Code(i32),
    Name(String),
    Unknown,
}

fn main() {
    let _ = (Amount::Net(1.0), Amount::Gross(2.0));
}

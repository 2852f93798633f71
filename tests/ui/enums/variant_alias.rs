//! A variant has one stored name.
use odm::prelude::*;

#[derive(Embed)]
#[embed(rename_all = "lowercase")]
enum Status {
    #[embed(alias = "draft")]
    Open,
    #[embed(name = "done", alias = "closed")]
    Done { by: String },
}

fn main() {}

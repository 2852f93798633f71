//! An integer takes whole numbers only: what is to become of the rest is said.
#![allow(unused)]
use odm::expr::expr;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "lines")]
struct Line {
    id: i32,
    price: i64,
    name: String,
    #[embed(max = 3)]
    tags: Vec<String>,
}

async fn wrong(lines: Collection<Line>) {
    lines.update(1).compute(|l| l.price, |l| expr(l.price) * 1.5);
    lines.update(1).compute(|l| l.name, |l| expr(l.name));
}

fn main() {}

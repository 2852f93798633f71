//! Only documents are asked for by requests.
use odm::prelude::*;
use odm::request::{Eq, Page, Sort};

#[derive(Embed)]
struct Part {
    name: String,
    number: i32,
}

#[derive(RequestQuery)]
#[request(of = Part)]
struct PartQuery {
    name: Eq<String>,
    #[request(path = number, scan)]
    nr: Eq<i32>,
    #[request(sort(name, number))]
    sort: Sort,
    page: Page,
}

fn main() {}

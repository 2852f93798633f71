//! Two types inside each other need a depth on one side.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
struct A {
    b: Option<Box<B>>,
}

#[derive(Embed, Serialize, Deserialize)]
struct B {
    a: Option<Box<A>>,
}

fn main() {}

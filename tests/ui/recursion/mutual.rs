//! Two types inside each other need a depth on one side.
use odm::prelude::*;

#[derive(Embed)]
struct A {
    b: Option<Box<B>>,
}

#[derive(Embed)]
struct B {
    a: Option<Box<A>>,
}

fn main() {}

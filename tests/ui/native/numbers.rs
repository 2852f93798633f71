//! Enums that can't be stored as integers.
use odm::prelude::*;

#[derive(Embed, Clone, Copy)]
#[embed(repr = u8)]
enum Small {
    A,
}

#[derive(Embed, Clone, Copy)]
#[embed(repr = i32)]
enum Carries {
    A(i32),
}

fn main() {}

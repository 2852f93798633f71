//! Names of types, variants and fields that the generated code could have for its own.
#![deny(warnings)]
#![allow(dead_code)]
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

macro_rules! parts {
    ($($name:ident)*) => {$(
        #[derive(Embed, Debug, Clone, PartialEq)]
        pub struct $name {
            a: i32,
        }
    )*};
}
parts! { P R T C D S H X F0 N0 Given0 }

#[derive(Document, Debug)]
#[document(collection = "named", builder, patch, new(derive(Debug)))]
struct Named {
    id: i32,
    p: P,
    r: R,
    t: T,
    c: C,
    d: D,
    s: S,
    h: H,
    x: X,
    f0: F0,
    n0: N0,
    given0: Given0,
    now: i32,
    new: i32,
    builder: i32,
    #[field(default = 3)]
    paths: i32,
    value: i32,
    r#type: i32,
}

#[derive(Embed, Debug, Clone, PartialEq)]
enum Content {
    P(P),
    R { r: R, t: T, c: C, d: D },
    S(S, H, X, F0),
}

#[derive(Embed, Debug, Clone, PartialEq)]
struct Around(X);

#[derive(Embed, Debug, Clone, PartialEq)]
struct Both<P, R> {
    p: P,
    r: R,
}

#[derive(Embed, Debug, Clone, PartialEq)]
enum Plain {
    Paths,
    New,
    Id,
    As,
    Like,
    Key,
    Fields,
    Form,
    Patch,
    Some,
    None,
    Ok,
    Err,
    Error,
}

#[derive(Embed, Debug, Clone, PartialEq)]
enum Held {
    Paths(i32),
    New { a: i32 },
    Id,
}

#[derive(Embed, Debug, Clone, Copy, PartialEq)]
#[embed(repr = i32)]
enum Numbered {
    Paths = 1,
    New = 2,
    Id = 3,
}

#[derive(Document, Debug)]
#[document(collection = "events")]
enum Event {
    New(Sent),
    Paths(Opened),
    #[document(name = "Id")]
    Ids(Closed),
}

#[derive(Document, Debug)]
#[document(variant_of = Event)]
struct Sent {
    id: ObjectId,
}

#[derive(Document, Debug)]
#[document(variant_of = Event)]
struct Opened {
    id: ObjectId,
}

#[derive(Document, Debug)]
#[document(variant_of = Event)]
struct Closed {
    id: ObjectId,
}

/// A type inside itself.
#[derive(Embed, Debug, Clone, PartialEq)]
struct Tree(#[embed(max = 3, depth = 3)] Vec<Tree>);

#[derive(Document, Debug)]
#[document(collection = "trees")]
struct Forest {
    id: ObjectId,
    #[embed(depth = 3)]
    tree: Tree,
}

/// An id without serde, of a document that a union refers to.
#[derive(Embed, Debug, Clone, PartialEq)]
#[embed(id)]
struct Place {
    row: i32,
    seat: i32,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "seats")]
struct Seat {
    id: Place,
    note: i32,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "guests")]
struct Guest {
    id: ObjectId,
    #[reference(any(Seat, Guest))]
    beside: BesideRef,
}

/// Names of the standard library.
mod standard {
    pub struct Option;
    pub struct Vec;
    pub struct Result;
    pub struct String;
    pub struct Some;
    pub struct None;
    pub trait Clone {}
    pub trait Default {}
    pub trait Into {}

    #[derive(odm::Embed, Debug)]
    pub struct Part {
        a: i32,
    }

    #[derive(odm::Document, Debug)]
    #[document(collection = "standard", builder, patch, version)]
    pub struct Shadowed {
        id: ::mongodb::bson::oid::ObjectId,
        #[field(default = 4)]
        a: i32,
        part: Part,
        version: i64,
    }
}

pub fn main() {
    let new = NewNamed::builder().id(1).p(P { a: 1 });
    let _ = new;
    assert_eq!(Named::default_paths(), 3);
    assert_eq!(Event::META.collection, "events");
}

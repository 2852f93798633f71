//! Options that are written in another way, above a type.
use odm::prelude::*;

#[derive(Document)]
#[document("users")]
struct A {
    id: i32,
}

#[derive(Document)]
#[document(collection = "b", timestamps = true)]
struct B {
    id: i32,
    created_at: DateTime,
}

#[derive(Document)]
#[document(collection = "c", check_with = is_valid())]
struct C {
    id: i32,
}

#[derive(Document)]
#[document(collection = "d", common(at), tag = "type")]
enum D {
    A(A),
}

#[derive(Document)]
#[document(collection = "e" timestamps)]
struct E {
    id: i32,
}

#[derive(Document)]
#[document(collection = "f", index(fields(name desc)))]
struct F {
    id: i32,
    name: String,
}

#[derive(Document)]
#[document(collection = "g", time_series(time = "at"))]
struct G {
    id: i32,
    at: DateTime,
}

#[derive(Document)]
#[document(collection = "h", time_series("at"))]
struct H {
    id: i32,
    at: DateTime,
}

#[derive(Document)]
#[document(collection = "i", view(of = A, pipeline = all()))]
struct I {
    id: i32,
}

#[derive(Document)]
#[document(collection = "j", version("revision"))]
struct J {
    id: i32,
    version: i64,
}

#[derive(Document)]
#[document(collection = "k", collation("en"))]
struct K {
    id: i32,
}

#[derive(Document)]
#[document(collection = "l", rename_all = camelCase)]
struct L {
    id: i32,
}

#[derive(Embed)]
#[embed(repr(i32))]
enum M {
    A,
}

#[derive(Embed)]
#[embed(tag = kind)]
enum N {
    A,
}

fn main() {}

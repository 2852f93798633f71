//! Options that are nearly those that exist.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "a", softdelete)]
struct A {
    id: i32,
    #[field(skipnone)]
    b: Option<i32>,
    #[index(uniq)]
    c: i32,
    #[embed(keylen = 3)]
    d: i32,
    #[reference(on_deleted = cascade)]
    e: Ref<A>,
    #[parent_ref(ordre(-c))]
    f: Ref<A>,
    #[computed(cuont = A)]
    g: i64,
    #[denormalize(form = e.c)]
    h: i32,
}

#[derive(Document)]
#[document(collection = "b", time_series(time = at, granularty = minutes))]
struct B {
    id: i32,
    at: DateTime,
}

#[derive(Embed)]
#[embed(renameAll = "camelCase")]
struct C {
    a: i32,
}

fn main() {}

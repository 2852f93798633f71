//! Options that are written in another way, above a field.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "a")]
struct A {
    #[field(generate = Uuid::new())]
    id: i32,
    #[field(generate = "next")]
    b: i32,
    #[field(scope = "tenant")]
    c: i32,
    #[field(json = "text")]
    d: i64,
    #[field(default(3))]
    e: i32,
    #[field(default =)]
    f: i32,
    #[embed = 3]
    g: i32,
    #[index("unique")]
    h: i32,
    #[field(name = title)]
    i: String,
    #[field(one_of("a" "b"))]
    j: String,
    #[field(with = odm::native)]
    k: String,
    #[field(max_len = 3 min_len = 1)]
    l: String,
    #[index(unique = true)]
    m: i32,
    #[reference(any = A)]
    n: Ref<A>,
    #[parent_ref(order(at desc))]
    o: Ref<A>,
    #[computed(sum = A::b)]
    p: i64,
    #[serde(default = 3)]
    q: i32,
}

fn main() {}

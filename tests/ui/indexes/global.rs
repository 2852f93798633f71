use odm::prelude::*;

#[derive(Document)]
#[document(
    collection = "users",
    index(fields(name), unique(global), partial = |u| u.age.gte(18)),
    index(fields(name, age), unique(global), sparse, collation(locale = "en")),
    index(fields(age), unique(local))
)]
struct User {
    id: ObjectId,
    name: String,
    age: i32,
    #[index(unique(global))]
    #[field(default)]
    nickname: String,
    #[index(unique(global))]
    #[embed(max = 3)]
    emails: Vec<String>,
    #[index(unique())]
    phone: String,
    #[index(unique(global), geo)]
    place: Point,
    #[computed(count = Post)]
    #[index(unique(global))]
    posts: i64,
}

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
    #[parent_ref]
    user: Ref<User>,
}

#[derive(Document)]
#[document(collection = "vehicles", common(plate: String))]
enum Vehicle {
    Car(Car),
}

#[derive(Document)]
#[document(variant_of = Vehicle)]
struct Car {
    id: ObjectId,
    #[index(unique(global))]
    plate: String,
}

fn main() {}

//! Other names for fields of a bucket: of one that there is not, of one twice, and of a field of another kind of bucket.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "posts")]
struct Post {
    id: ObjectId,
}

#[derive(Embed)]
#[bucket(of = Post, sum(stars), rename(comments = notes, sum_stars = total, page = number, page = n))]
struct Comment {
    stars: i32,
}

#[derive(Embed)]
#[bucket(of = Post, rename)]
struct Note {
    text: String,
}

#[derive(Embed)]
#[bucket(of = Post, sum(stars = total))]
struct Vote {
    stars: i32,
}

fn main() {}

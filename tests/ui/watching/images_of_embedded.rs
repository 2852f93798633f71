//! Images of an embedded struct: the server keeps those of whole documents.

use odm::prelude::*;

#[derive(Embed, Clone)]
#[embed(pre_and_post_images)]
struct Address {
    street: String,
}

fn main() {}

//! Images of an embedded struct: the server keeps those of whole documents.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize, Clone)]
#[embed(pre_and_post_images)]
struct Address {
    street: String,
}

fn main() {}

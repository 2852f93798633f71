//! Nothing to store.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
enum Kind {}

fn main() {}

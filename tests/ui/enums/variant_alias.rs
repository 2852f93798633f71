//! A variant has one stored name.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Embed, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[serde(alias = "draft")]
    Open,
    #[serde(rename = "done", alias = "closed")]
    Done { by: String },
}

fn main() {}

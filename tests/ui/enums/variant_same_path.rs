//! Two variants whose paths would have one name.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[allow(dead_code)]
#[derive(Embed, Serialize, Deserialize)]
enum Failure {
    HttpError(i32),
    HTTPError { code: i32 },
}

fn main() {}

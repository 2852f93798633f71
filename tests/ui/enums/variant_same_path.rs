//! Two variants whose paths would have one name.
use odm::prelude::*;

#[allow(dead_code)]
#[derive(Embed)]
enum Failure {
    HttpError(i32),
    HTTPError { code: i32 },
}

fn main() {}

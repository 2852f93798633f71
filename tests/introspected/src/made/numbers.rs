//! The collection `numbers`.

use super::{Integer, Number};
use odm::prelude::*;

/// A document of `numbers`: 9 were counted. Half of them have up to 103 bytes, the largest has 109.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "numbers")]
#[document(index(fields(wide)))]
pub struct Number2 {
    // Its types differ: 5 int, 4 long. `retype` in a migration makes them one.
    pub id: Integer,
    // Its types differ: 3 int, 6 long. `retype` in a migration makes them one.
    pub narrow: Integer,
    // Its types differ: 5 int, 4 long. `retype` in a migration makes them one.
    pub wide: i64,
    // Its types differ: 5 int, 4 double. `retype` in a migration makes them one.
    // Equal to the value of `wide`: 9 are, 0 are not.
    pub number: Number,
    // Its types differ: 3 int, 3 long, 3 double. `retype` in a migration makes them one.
    pub all: Number,
    // Its texts are `0` and `1` as text: `retype` in a migration makes each a bool.
    pub flag: String,
    // Its texts are dates as text: `retype` in a migration makes each a date.
    pub day: String,
}

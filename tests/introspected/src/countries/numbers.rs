//! The collection `numbers`.

use odm::prelude::*;

/// A document of `numbers`: 244 were counted. Half of them have up to 47 bytes, the largest has 81.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "numbers")]
pub struct Number2 {
    pub id: i32,
    // Refers to `countries.name.common`: 222 of 244 were found, 22 refer to nothing. A reference leads
    // to a field of the document itself. 182 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 20 of 244.
    // Its types differ: 223 int, 1 string. `retype` in a migration makes them one.
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    pub iso: Option<Number2IsoValue>,
}

/// `iso` of `numbers`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum Number2IsoValue {
    Integer(i32),
    Text(String),
}

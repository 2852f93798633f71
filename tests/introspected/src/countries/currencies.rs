//! The collection `currencies`.

use odm::prelude::*;

/// A document of `currencies`: 243 were counted. Half of them have up to 59 bytes, the largest has
/// 95.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "currencies")]
pub struct Currency {
    pub id: i32,
    // Refers to `countries.name.common`: 223 of 243 were found, 20 refer to nothing. A reference leads
    // to a field of the document itself. 183 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 1 of 243.
    // Refers to `countries.currencies{key}`: 231 of 242 were found, 11 refer to nothing. The field that
    // it refers to is not among the models. 145 of 156 distinct values were found, and the name says
    // it.
    // Perhaps a copy: 206 equal `countries.currencies{key}`, 14 differ from it. `country` is not
    // declared as a reference. 206 of 220 are equal; 150 distinct values, the commonest has 13 %.
    pub currency_code: Option<String>,
}

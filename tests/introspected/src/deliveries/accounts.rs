//! The collection `accounts`.

use odm::prelude::*;

/// A document of `accounts`: 38 were counted. Half of them have up to 71 bytes, the largest has 83.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "accounts")]
#[document(index(fields(login), collation(locale = "en", strength = 2)))]
pub struct Account {
    pub id: i32,
    pub login: String,
    #[field(name = "type")]
    pub type_: AccountType,
    // Missing in 2 of 38.
    #[field(skip_none)]
    pub site_admin: Option<bool>,
}

/// `type` of `accounts`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountType {
    Bot,
    Organization,
    User,
}

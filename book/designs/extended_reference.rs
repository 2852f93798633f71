//! An order with the few fields of its customer that a page shows.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "customers")]
pub struct Customer {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub email: String,
    pub address: Address,
    pub newsletter: bool,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
pub struct Order {
    #[serde(rename = "_id")]
    pub id: i32,
    pub placed: DateTime,
    pub total: i64, // in cents
    // Kept in sync. Generates the struct
    // CustomerEntry { id: Ref<Customer>, name: String, email: String }
    #[parent_ref(order(-placed))]
    #[denormalize(from = Customer, fields(name: String, email: String))]
    pub customer: CustomerEntry,
    // Frozen: the name and the address on the day of the order.
    #[reference]
    #[denormalize(from = Customer)]
    pub ship_to: Recipient,
}

/// The reference, and fields with the names and types of fields of `Customer`.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[denormalize(from = Customer, sync = snapshot)]
pub struct Recipient {
    pub id: Ref<Customer>,
    pub name: String,
    pub address: Address,
}

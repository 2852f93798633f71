//! `shared` is for documents that do not have the field of a scope.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "currencies", shared(tenantId))]
#[serde(rename_all = "camelCase")]
struct Currency {
    #[serde(rename = "_id")]
    id: String,
    tenant_id: i32,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "countries", shared)]
struct Country {
    #[serde(rename = "_id")]
    id: String,
}

fn main() {}

//! `shared` is for documents that do not have the field of a scope.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "currencies", shared(tenantId))]
#[document(rename_all = "camelCase")]
struct Currency {
    id: String,
    tenant_id: i32,
}

#[derive(Document)]
#[document(collection = "countries", shared)]
struct Country {
    id: String,
}

fn main() {}

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "customers", shard_key(tenant, id))]
struct Customer {
    id: ObjectId,
    tenant: i64,
}

#[derive(Document)]
#[document(collection = "orders", shard_key(tenant, id))]
struct Order {
    id: ObjectId,
    tenant: i64,
    region: Option<String>,
    #[reference(same(tenants))]
    customer: Ref<Customer>,
    #[reference(same(region))]
    payer: Ref<Customer>,
    #[reference(same(tenant, tenant))]
    agent: Ref<Customer>,
    #[reference(same)]
    owner: Ref<Customer>,
}

fn main() {}

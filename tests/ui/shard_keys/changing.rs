//! Fields that change with the document, or with others.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(
    collection = "shops",
    version,
    timestamps,
    shard_key(version, updated_at, orders, seen, partner, boss)
)]
struct Shop {
    id: ObjectId,
    version: i64,
    updated_at: DateTime,
    #[computed(count = Order)]
    orders: i64,
    #[volatile]
    seen: i32,
    #[reference(inverse = partner)]
    partner: Option<Ref<Shop>>,
    #[reference]
    #[denormalize(from = Shop, fields(seen: i32))]
    boss: BossEntry,
}

#[derive(Document)]
#[document(collection = "orders")]
struct Order {
    id: ObjectId,
    #[parent_ref]
    shop: Ref<Shop>,
}

fn main() {}

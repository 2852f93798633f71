//! `uuid::Uuid`: binary data of subtype 4.

use super::{OneNative, native};
use crate::model::shape::Shape;
use crate::model::size::Size;
use mongodb::bson;
use uuid::Uuid;

impl OneNative for Uuid {
    type Stored = bson::Uuid;

    fn store(&self) -> Result<bson::Uuid, String> {
        Ok(bson::Uuid::from_bytes(self.into_bytes()))
    }
    fn load(stored: bson::Uuid) -> Result<Uuid, String> {
        Ok(Uuid::from_bytes(stored.bytes()))
    }
}

native! {
    Uuid as bson::Uuid: Size::fixed(21), Shape::Uuid, cut false;
}

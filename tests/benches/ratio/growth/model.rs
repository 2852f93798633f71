//! Documents that are deleted and kept, with those below them.

use mongodb::bson::DateTime;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "albums", soft_delete)]
pub struct Album {
    #[serde(rename = "_id")]
    pub id: i32,
    pub deleted_at: Option<DateTime>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "photos", soft_delete)]
pub struct Photo {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(on_delete = cascade)]
    pub album: Ref<Album>,
    pub deleted_at: Option<DateTime>,
}

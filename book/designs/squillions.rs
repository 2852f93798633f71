use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    #[field(max_len = 45)]
    pub ipaddr: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub time: DateTime,
    #[field(max_len = 2_000)]
    pub message: String,
    #[parent_ref(order(-time), on_delete = cascade)] // index { host: 1, time: -1 }
    pub host: Ref<Host>,
}

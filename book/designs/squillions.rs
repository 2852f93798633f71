use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    #[field(max_len = 45)]
    pub ipaddr: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "logmsg")]
pub struct LogMsg {
    pub id: ObjectId,
    pub time: DateTime,
    #[field(max_len = 2_000)]
    pub message: String,
    #[parent_ref(order(-time), on_delete = cascade)] // index { host: 1, time: -1 }
    pub host: Ref<Host>,
}

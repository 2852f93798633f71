//! What serde reads through a buffer has to have the form of a text format there.
use mongodb::bson::{Bson, Document, oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Embed, Serialize, Deserialize)]
struct Client {
    #[field(opaque)]
    ip: IpAddr,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Direct {
        #[field(opaque)]
        ip: Option<IpAddr>,
    },
    Any {
        #[field(opaque)]
        value: Bson,
        #[field(opaque)]
        more: Option<Vec<Document>>,
    },
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    One(Client),
}

#[derive(Embed, Serialize, Deserialize)]
enum Named {
    One(Client),
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "things")]
struct Thing {
    #[serde(rename = "_id")]
    id: ObjectId,
    client: Client,
    named: Named,
    #[serde(flatten)]
    flat: Client,
}

fn main() {}

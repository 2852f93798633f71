//! What serde writes as bytes it may read as a text, where it reads from a buffer.
use mongodb::bson::Binary;
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Alone {
        #[field(stored = Binary, max_len = 16)]
        ip: IpAddr,
    },
    Optional {
        #[field(stored = Option<Binary>, max_len = 16)]
        ip: Option<IpAddr>,
    },
    Itself {
        #[field(stored = String, max_len = 40)]
        text: IpAddr,
    },
}

fn main() {}

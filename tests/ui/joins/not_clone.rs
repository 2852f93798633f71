//! Documents that can't be given to several others: as a target, and as children.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref]
    maker: Ref<Maker>,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "makers")]
struct Maker {
    #[serde(rename = "_id")]
    id: i32,
}

async fn target(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p.maker);
    Ok(())
}

async fn children(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Maker>().find_all().include(|m| m.children::<Part>());
    Ok(())
}

fn main() {}

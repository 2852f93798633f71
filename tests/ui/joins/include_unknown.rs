//! A join through a field that is not there, and through one of another document.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    maker: Option<Ref<Maker>>,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "makers")]
struct Maker {
    #[serde(rename = "_id")]
    id: i32,
}

async fn unknown(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p.makers);
    Ok(())
}

async fn of_another(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Maker>().find_all().include(|_| Part::paths().maker);
    Ok(())
}

fn main() {}

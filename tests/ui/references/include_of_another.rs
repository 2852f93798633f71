//! A join through a field that is no reference, and through one of several types.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "parts")]
struct Part {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[reference(by = code)]
    supplier: Ref<Supplier, String>,
}

#[derive(Document, Serialize, Deserialize, Clone)]
#[document(collection = "suppliers")]
struct Supplier {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    code: String,
}

async fn joins(odm: Odm) -> odm::Result<()> {
    let parts = odm.collection::<Part>();
    let _ = parts.find_all().include(|p| p.name).all().await?;
    let part = parts.find_all().one().await?.expect("a part");
    let _ = part.supplier.load(&odm).await?;
    let _: Ref<Part> = Ref::<Supplier>::new(ObjectId::new());
    Ok(())
}

fn main() {}

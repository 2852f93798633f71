//! A join through a field that is no reference, and through one of several types.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: ObjectId,
    name: String,
    #[reference(by = code)]
    supplier: Ref<Supplier, String>,
}

#[derive(Document, Clone)]
#[document(collection = "suppliers")]
struct Supplier {
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

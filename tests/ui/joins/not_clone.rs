//! Documents that can't be given to several others: as a target, and as children.

use odm::prelude::*;

#[derive(Document)]
#[document(collection = "parts")]
struct Part {
    id: i32,
    #[parent_ref]
    maker: Ref<Maker>,
}

#[derive(Document)]
#[document(collection = "makers")]
struct Maker {
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

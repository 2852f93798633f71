//! A join through a field that is not there, and through one of another document.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: i32,
    #[reference]
    maker: Option<Ref<Maker>>,
}

#[derive(Document, Clone)]
#[document(collection = "makers")]
struct Maker {
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

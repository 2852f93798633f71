//! A join through fields that are no references: a value, an embedded document, the document itself.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "parts")]
struct Part {
    id: i32,
    name: String,
    #[embed]
    size: Size,
    #[reference]
    maker: Option<Ref<Maker>>,
}

#[derive(Embed, Clone)]
struct Size {
    width: i32,
}

#[derive(Document, Clone)]
#[document(collection = "makers")]
struct Maker {
    id: i32,
    name: String,
}

async fn value(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p.name);
    Ok(())
}

async fn embedded(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p.size);
    Ok(())
}

async fn document(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p);
    Ok(())
}

async fn one_of_two(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| (p.maker, p.name));
    Ok(())
}

async fn nested(odm: Odm) -> odm::Result<()> {
    let _ = odm.collection::<Part>().find_all().include(|p| p.maker.include(|m| m.name));
    Ok(())
}

fn main() {}

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: ObjectId,
    #[index(unique)]
    #[field(max_len = 20)]
    pub partno: String,
    #[field(max_len = 100)]
    pub name: String,
    pub qty: i32,
    pub price: i64, // in cents
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products", index(fields(manufacturer, name, id)))]
pub struct Product {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[field(max_len = 100)]
    pub manufacturer: String,
    #[index(unique)]
    pub catalog_number: i32,
    #[reference(many, max = 2000)] // with the index `parts_1`
    pub parts: Vec<Ref<Part>>,
}

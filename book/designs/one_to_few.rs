use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people", index(fields(addresses.city, name, id)))]
pub struct Person {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    #[field(max_len = 20)]
    pub ssn: String,
    #[embed(max = 10)]
    pub addresses: Vec<Address>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(max_len = 100)]
    pub street: String,
    #[field(max_len = 100)]
    pub city: String,
    #[field(max_len = 3)]
    pub cc: String,
}

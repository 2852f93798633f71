use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users", index(fields(address.city, id)))]
pub struct User {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[embed] // embedded: a part of the user's document
    pub address: Option<Address>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(max_len = 100)]
    pub street: String,
    #[field(max_len = 100)]
    pub city: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "memberships")]
pub struct Membership {
    #[field(name = "_id")]
    pub number: i32,
    pub since: DateTime,
    #[parent_ref(one, on_delete = cascade)] // linked: a unique index on `user_id`
    #[field(name = "user_id")]
    pub user: Ref<User>,
}

//! A patch is put into an update of its own documents, and compares a version that they have.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "users", patch)]
struct User {
    id: ObjectId,
    name: String,
}

#[derive(Document)]
#[document(collection = "shops", patch)]
struct Shop {
    id: ObjectId,
    name: String,
}

fn patched(users: odm::Collection<User>, id: ObjectId, patch: ShopPatch) {
    let _ = users.update(id).apply(patch);
}

fn compared(users: odm::Collection<User>, id: ObjectId) {
    let _ = users.update(id).if_version(7);
}

fn main() {}

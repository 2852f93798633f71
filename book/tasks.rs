//! The models of the samples about two-way references.
#![allow(missing_docs)] // the models are read, not linked

use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    pub name: String,
    #[reference(many, inverse = owner, max = 500)]
    pub tasks: Vec<Ref<Task>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
pub struct Task {
    pub id: ObjectId,
    pub description: String,
    #[reference(inverse = tasks)]
    pub owner: Ref<Person>,
}

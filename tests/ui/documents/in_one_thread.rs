//! A type that no other thread can use, in a document.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Document, Debug, Clone)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    name: Rc<str>,
    #[embed(max = 3)]
    tags: Vec<Option<Rc<String>>>,
    #[field(skip)]
    cached: Option<RefCell<i32>>,
}

#[derive(Embed, Debug, Clone, PartialEq)]
struct Part(Rc<String>);

fn main() {}

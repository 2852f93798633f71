pub use odm::prelude::*;
pub use serde::{Deserialize, Serialize};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: ObjectId,
    pub title: String,
    pub answers: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 50, sum(stars))]
pub struct Comment {
    pub name: String,
    pub text: String,
    pub stars: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sensors")]
pub struct Sensor {
    pub id: ObjectId,
    pub place: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Sensor, per = hour, time = at, size = 3600, sum(celsius))]
pub struct Reading {
    pub at: DateTime,
    pub celsius: f64,
}

pub use odm::Collection;
pub use odm::bson::doc;
pub use odm::prelude::*;
pub use serde::{Deserialize, Serialize};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "books",
    search_index(
        analyzer = "lucene.english",
        fields(
            string(title),
            autocomplete(title),
            string(tags),
            token(genre),
            number(year),
            date(added)
        )
    ),
    vector_index(
        name = "by_meaning",
        path = embedding,
        dimensions = 3,
        similarity = cosine,
        filter(genre, year)
    )
)]
pub struct Book {
    pub id: ObjectId,
    pub title: String,
    #[embed(max = 20)]
    pub tags: Vec<String>,
    pub genre: String,
    pub year: i32,
    pub added: DateTime,
    #[embed(max = 3)]
    pub embedding: Vec<f32>,
}

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "movies", index(fields(year, id)))]
pub struct Movie {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(max_len = 200)]
    pub title: String,
    pub year: i32,
    #[embed(max = 20)]
    #[field(max_len = 100)]
    pub directors: Vec<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "movie_details")]
pub struct MovieDetails {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref(one, on_delete = cascade)] // a unique index on `movie_id`
    #[serde(rename = "movie_id")]
    pub movie: Ref<Movie>,
    #[field(max_len = 1_000)]
    pub plot: String,
    #[field(max_len = 100_000)]
    pub fullplot: String,
}

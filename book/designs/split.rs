use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "movies", index(fields(year, id)))]
pub struct Movie {
    pub id: i32,
    #[field(max_len = 200)]
    pub title: String,
    pub year: i32,
    #[embed(max = 20)]
    #[field(max_len = 100)]
    pub directors: Vec<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "movie_details")]
pub struct MovieDetails {
    pub id: ObjectId,
    #[parent_ref(one, on_delete = cascade)] // a unique index on `movie_id`
    #[field(name = "movie_id")]
    pub movie: Ref<Movie>,
    #[field(max_len = 1_000)]
    pub plot: String,
    #[field(max_len = 100_000)]
    pub fullplot: String,
}

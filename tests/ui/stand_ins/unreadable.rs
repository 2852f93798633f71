//! An option that can't be read is not reported as one that is missing.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;
use odm::request::{Eq, RequestQuery, Sort};

#[derive(Document, Debug, Clone)]
#[document(collection = "movies")]
struct Movie {
    id: ObjectId,
    name: String,
    #[embed(max = -1)]
    negative: Vec<i32>,
    #[embed(20)]
    bare: Vec<i32>,
    #[embed(mx = 20)]
    mistyped: Vec<i32>,
    #[reference(mny, max = 5)]
    references: Vec<Ref<Movie>>,
    #[reference(many, max = -1)]
    others: Vec<Ref<Movie>>,
}

#[derive(Document, Debug, Clone)]
#[document("users")]
struct User {
    id: ObjectId,
    name: String,
}

#[derive(Document, Debug, Clone)]
#[document(collection = "keyed")]
struct Keyed {
    #[field(nme = "_id")]
    key: ObjectId,
}

#[derive(Projection)]
#[projection(Movie)]
struct MovieName {
    name: String,
}

#[derive(RequestQuery)]
#[request(Movie)]
struct MovieQuery {
    name: Eq<String>,
}

#[derive(RequestQuery)]
#[request(of = Movie)]
struct SortedQuery {
    #[request(scan)]
    name: Eq<String>,
    #[request(sor(name))]
    sort: Sort,
}

#[derive(Embed, Debug, Clone, PartialEq)]
#[bucket(Movie)]
struct Item {
    at: i32,
}

async fn uses(odm: Odm, query: SortedQuery) -> odm::Result<()> {
    let movies = odm.collection::<Movie>();
    movies.find(|m| m.bare.contains(3)).select::<MovieName>().all().await?;
    movies.find_all().request(query).page(20).await?;
    odm.collection::<User>().find(|u| u.name.eq("Kate")).all().await?;
    odm.collection::<Keyed>().get(ObjectId::new()).await?;
    Ok(())
}

fn main() {}

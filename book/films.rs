//! The models of the samples about films.
#![allow(missing_docs)] // the models are read, not linked

use mongodb::Database;
use mongodb::bson::DateTime;
use odm::prelude::*;
use std::collections::BTreeMap;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "movies", timestamps, version, index(fields(year, title)))]
pub struct Movie {
    pub id: i32,
    #[field(max_len = 200)]
    pub title: String,
    #[field(min = 1888, max = 2100)]
    pub year: i32,
    #[embed(max = 5)]
    #[field(max_len = 30)]
    pub genres: Vec<String>,
    #[embed]
    pub rating: Option<Rating>,
    #[embed(max = 50)]
    pub cast: Vec<Role>,
    /// The title in other languages, by language code.
    #[embed(max = 40, key_len = 3)]
    #[field(max_len = 200)]
    pub titles: BTreeMap<String, String>,
    pub version: i64,
    pub created_at: DateTime,
    pub updated_at: DateTime,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Rating {
    #[field(min = 0.0, max = 10.0)]
    pub value: f64,
    #[field(min = 0)]
    pub votes: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Role {
    #[field(max_len = 100)]
    pub actor: String,
    #[field(max_len = 100)]
    pub part: Option<String>,
}

/// Some films.
pub fn some() -> Vec<NewMovie> {
    let film = |id, title: &str, year, genres: &[&str], rating: Option<(f64, i32)>, cast: &[(&str, &str)]| {
        NewMovie {
            id,
            title: title.into(),
            year,
            genres: genres.iter().map(|genre| (*genre).into()).collect(),
            rating: rating.map(|(value, votes)| Rating { value, votes }),
            cast: cast
                .iter()
                .map(|(actor, part)| Role {
                    actor: (*actor).into(),
                    part: Some((*part).into()),
                })
                .collect(),
            titles: BTreeMap::new(),
        }
    };
    vec![
        film(
            1,
            "The Arrival of a Train",
            1896,
            &["Documentary", "Short"],
            Some((7.3, 5043)),
            &[],
        ),
        film(
            2,
            "Nosferatu",
            1922,
            &["Horror"],
            None,
            &[("Max Schreck", "Count Orlok")],
        ),
        film(
            3,
            "The General",
            1926,
            &["Comedy", "Action"],
            Some((8.1, 90_000)),
            &[("Buster Keaton", "Johnnie Gray")],
        ),
        film(
            4,
            "Metropolis",
            1927,
            &["Drama", "Science fiction"],
            Some((8.3, 180_000)),
            &[("Brigitte Helm", "Maria"), ("Gustav Fröhlich", "Freder")],
        ),
    ]
}

/// Some films in a database.
pub async fn stocked(db: Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Movie])?;
    odm.sync().await?;
    odm.collection::<Movie>().insert_many(some()).await?;
    Ok(odm)
}

//! A document with declared search indexes, for the tests of the searches.

use crate::expansion_fixture::FIELD;
use crate::model::document::DocumentMeta;
use crate::model::meta::search::{SearchFieldMeta, SearchIndexKind, SearchIndexMeta, SearchMeta, VectorMeta};
use crate::model::meta::{FieldMeta, Shape};
use crate::model::path::{At, Fielded, Path, Root};
use mongodb::bson::DateTime;

pub(in crate::query) struct Movie;

const fn named(name: &'static str) -> FieldMeta {
    FieldMeta {
        rust: name,
        name,
        ..FIELD
    }
}

impl Fielded for Movie {
    const FIELDS: &'static [FieldMeta] = &[named("title"), named("plot"), named("year"), named("released")];
}

pub(in crate::query) const fn title() -> Path<Movie, String, At<Root, Movie, 0>> {
    Path::NEW
}

pub(in crate::query) const fn plot() -> Path<Movie, String, At<Root, Movie, 1>> {
    Path::NEW
}

pub(in crate::query) const fn year() -> Path<Movie, i32, At<Root, Movie, 2>> {
    Path::NEW
}

pub(in crate::query) const fn released() -> Path<Movie, DateTime, At<Root, Movie, 3>> {
    Path::NEW
}

pub(in crate::query) static MOVIE: DocumentMeta = DocumentMeta {
    search_indexes: &[
        SearchIndexMeta {
            name: "default",
            kind: SearchIndexKind::Search(SearchMeta {
                analyzer: None,
                dynamic: false,
                fields: &[SearchFieldMeta {
                    path: || "title",
                    kind: "string",
                    analyzer: None,
                }],
            }),
        },
        SearchIndexMeta {
            name: "by_meaning",
            kind: SearchIndexKind::Vector(VectorMeta {
                path: || "plot_embedding",
                dimensions: 2,
                similarity: "cosine",
                quantization: None,
                filter: &[|| "year", || "genre"],
            }),
        },
    ],
    ..crate::expansion_fixture::document("Movie", "movies", || Shape::Any)
};

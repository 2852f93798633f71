//! Declared search and vector indexes of Atlas in MongoDB's terms, and whether an existing one is the declared one.
//!
//! Atlas builds such an index after it has answered, and lists a definition with more than was sent. So what is compared is what a
//! model can declare, without the values that Atlas takes where nothing is said.

use super::values::same_document;
use crate::model::document::DocumentMeta;
use crate::model::meta::search::{SearchFieldMeta, SearchIndexKind, SearchIndexMeta, SearchMeta, VectorMeta};
use crate::store::map::Context;
use crate::{Error, Result};
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// How a text is cut into words where nothing is said.
const STANDARD: &str = "lucene.standard";

/// The options of a kind of field where nothing is said, as Atlas lists them.
const DEFAULTS: [(&str, &[(&str, Default)]); 4] = [
    (
        "string",
        &[
            ("indexOptions", Default::Text("offsets")),
            ("store", Default::Is(true)),
            ("norms", Default::Text("include")),
        ],
    ),
    (
        "autocomplete",
        &[
            ("tokenization", Default::Text("edgeGram")),
            ("minGrams", Default::Number(2)),
            ("maxGrams", Default::Number(15)),
            ("foldDiacritics", Default::Is(true)),
        ],
    ),
    (
        "number",
        &[
            ("representation", Default::Text("double")),
            ("indexIntegers", Default::Is(true)),
            ("indexDoubles", Default::Is(true)),
        ],
    ),
    ("document", &[("dynamic", Default::Is(false))]),
];

#[derive(Clone, Copy)]
enum Default {
    Text(&'static str),
    Number(i64),
    Is(bool),
}

impl Default {
    fn is(self, value: &Bson) -> bool {
        match self {
            Default::Text(text) => value.as_str() == Some(text),
            Default::Number(number) => super::values::integer(value) == Some(number),
            Default::Is(is) => value.as_bool() == Some(is),
        }
    }
}

/// A declared index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchIndex {
    pub name: &'static str,
    /// `search` or `vectorSearch`.
    pub kind: &'static str,
    /// As `createSearchIndexes` takes it.
    pub definition: Document,
}

/// A difference between the declarations and the indexes of a collection.
#[derive(Debug, PartialEq)]
pub(super) enum SearchDifference {
    Missing(SearchIndex),
    /// The definition is another one.
    Changed {
        index: SearchIndex,
        was: Document,
    },
    /// In words: what odm does not replace.
    Conflict(String),
    /// In words: what is not declared, or not ready.
    Note(String),
}

impl SearchIndex {
    pub fn of(meta: &SearchIndexMeta) -> SearchIndex {
        let (kind, definition) = match &meta.kind {
            SearchIndexKind::Search(search) => ("search", searched(search)),
            SearchIndexKind::Vector(vector) => ("vectorSearch", vectors(vector)),
        };
        SearchIndex {
            name: meta.name,
            kind,
            definition,
        }
    }

    /// As a document of `createSearchIndexes`.
    pub fn spec(&self) -> Document {
        doc! { "name": self.name, "type": self.kind, "definition": self.definition.clone() }
    }

    fn is(&self, definition: &Document) -> bool {
        let normal = match self.kind {
            "search" => normal_search,
            _ => normal_vectors,
        };
        same_document(&normal(&self.definition), &normal(definition))
    }

    /// The definition, with what it does not declare as it is listed: stored fields, synonyms, the options of a graph of vectors.
    fn within(&self, listed: &Document) -> Document {
        let declared = ["analyzer", "mappings", "fields"];
        let mut definition = self.definition.clone();
        for (name, value) in listed {
            if !declared.contains(&name.as_str()) {
                definition.insert(name, value.clone());
            }
        }
        if let Ok(fields) = definition.get_array_mut("fields") {
            for field in fields.iter_mut().filter_map(Bson::as_document_mut) {
                let same = |other: &&Document| {
                    other.get("path") == field.get("path") && other.get("type") == field.get("type")
                };
                for (name, value) in listed_fields(listed).find(same).into_iter().flatten() {
                    if !VECTOR.contains(&name.as_str()) {
                        field.insert(name, value.clone());
                    }
                }
            }
        }
        definition
    }
}

/// All declared for a collection; an error in words where two of one name differ.
pub(super) fn declared(meta: &DocumentMeta) -> Result<Vec<SearchIndex>, String> {
    let mut all: Vec<SearchIndex> = Vec::new();
    let of_variants = meta.variants().flat_map(|variant| variant.search_indexes);
    for index in meta.search_indexes.iter().chain(of_variants).map(SearchIndex::of) {
        match all.iter().find(|other| other.name == index.name) {
            Some(other) if *other == index => {}
            Some(_) => {
                return Err(format!(
                    "two declared search indexes have the name `{}`: give one of them another name",
                    index.name
                ));
            }
            None => all.push(index),
        }
    }
    Ok(all)
}

/// The search and vector indexes of a collection: one round trip.
///
/// # Errors
/// [`Error::Unsupported`] where the deployment has no search.
pub(super) async fn list(db: &Database, collection: &'static str) -> Result<Vec<Document>> {
    let stage = doc! { "$listSearchIndexes": {} };
    let command = doc! { "aggregate": collection, "pipeline": [stage], "cursor": {} };
    match super::existing::rows_of(db, &command).await {
        Ok(listed) => Ok(listed),
        // The collection does not exist yet.
        Err(e) if super::existing::code(&e) == Some(26) => Ok(Vec::new()),
        Err(e) => Err(Context {
            collection,
            meta: None,
        }
        .driver(e)),
    }
}

/// The differences of a collection with these indexes.
pub(super) fn differences(
    collection: &str,
    declared: Vec<SearchIndex>,
    listed: &[Document],
) -> Vec<SearchDifference> {
    let name_of = |there: &Document| there.get_str("name").unwrap_or_default().to_owned();
    let mut differences = Vec::new();
    let surplus = listed
        .iter()
        .filter(|there| !declared.iter().any(|index| index.name == name_of(there)));
    let surplus: Vec<SearchDifference> = surplus
        .map(|there| {
            SearchDifference::Note(format!(
                "`{collection}`: the search index `{}`, which is not declared",
                name_of(there)
            ))
        })
        .collect();
    for index in declared {
        let Some(there) = listed.iter().find(|there| name_of(there) == index.name) else {
            differences.push(SearchDifference::Missing(index));
            continue;
        };
        // An index that is listed without a type is a search index.
        let kind = there.get_str("type").unwrap_or("search");
        let status = there.get_str("status").unwrap_or_default();
        if status == "DELETING" {
            differences.push(SearchDifference::Conflict(format!(
                "the search index `{}` is being deleted: wait until it is gone",
                index.name
            )));
            continue;
        }
        if kind != index.kind {
            differences.push(SearchDifference::Conflict(format!(
                "the index `{}` exists with the type `{kind}`, declared with the type `{}`, which can't be changed; odm does not drop \
                 it: drop it yourself, or declare another name",
                index.name, index.kind
            )));
            continue;
        }
        let empty = Document::new();
        let definition = there.get_document("latestDefinition").unwrap_or(&empty);
        if index.is(definition) {
            if !there.get_bool("queryable").unwrap_or(true) {
                differences.push(SearchDifference::Note(format!(
                    "`{collection}`: the search index `{}` can't be queried yet, its status is {status}",
                    index.name
                )));
            }
            continue;
        }
        let definition_with_others = index.within(definition);
        differences.push(SearchDifference::Changed {
            index: SearchIndex {
                definition: definition_with_others,
                ..index
            },
            was: definition.clone(),
        });
    }
    differences.extend(surplus);
    differences
}

fn searched(meta: &SearchMeta) -> Document {
    let mut fields = Document::new();
    for field in meta.fields {
        add((field.path)(), field, &mut fields);
    }
    let mut mappings = doc! { "dynamic": meta.dynamic };
    if !fields.is_empty() {
        mappings.insert("fields", fields);
    }
    let mut definition = Document::new();
    if let Some(analyzer) = meta.analyzer {
        definition.insert("analyzer", analyzer);
    }
    definition.insert("mappings", mappings);
    definition
}

/// Adds a field by its dotted name: each part of it before the last is a document, or an array of documents, with fields.
fn add(path: &str, field: &SearchFieldMeta, fields: &mut Document) {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let mut kinds = kinds(fields.remove(name));
    match rest {
        None => {
            let mut kind = doc! { "type": field.kind };
            if let Some(analyzer) = field.analyzer {
                kind.insert("analyzer", analyzer);
            }
            kinds.push(kind);
        }
        Some(rest) => {
            let is_document = |kind: &Document| kind.get_str("type").is_ok_and(|kind| kind == "document");
            let mut inner = match kinds.iter().position(is_document) {
                Some(at) => kinds.remove(at),
                None => doc! { "type": "document", "fields": {} },
            };
            if let Ok(fields) = inner.get_document_mut("fields") {
                add(rest, field, fields);
            }
            kinds.push(inner);
        }
    }
    let mut kinds: Vec<Bson> = kinds.into_iter().map(Bson::Document).collect();
    let value = match kinds.len() {
        1 => kinds.remove(0),
        _ => Bson::Array(kinds),
    };
    fields.insert(name, value);
}

/// The kinds of a field: one, or several in an array.
fn kinds(value: Option<Bson>) -> Vec<Document> {
    let all = match value {
        Some(Bson::Array(all)) => all,
        one => one.into_iter().collect(),
    };
    let documents = all.into_iter().filter_map(|kind| match kind {
        Bson::Document(kind) => Some(kind),
        _ => None,
    });
    documents.collect()
}

/// The options that a model can declare of a vector.
const VECTOR: [&str; 5] = ["type", "path", "numDimensions", "similarity", "quantization"];

fn vectors(meta: &VectorMeta) -> Document {
    let mut vector = doc! {
        "type": "vector",
        "path": (meta.path)(),
        "numDimensions": super::values::whole(i64::from(meta.dimensions)),
        "similarity": meta.similarity,
    };
    if let Some(quantization) = meta.quantization {
        vector.insert("quantization", quantization);
    }
    let filters = meta
        .filter
        .iter()
        .map(|path| doc! { "type": "filter", "path": path() });
    let fields: Vec<Document> = std::iter::once(vector).chain(filters).collect();
    doc! { "fields": fields }
}

fn normal_search(definition: &Document) -> Document {
    let empty = Document::new();
    let mappings = definition.get_document("mappings").unwrap_or(&empty);
    let dynamic = mappings.get("dynamic").cloned().unwrap_or(Bson::Boolean(false));
    doc! {
        "analyzer": definition.get_str("analyzer").unwrap_or(STANDARD),
        "dynamic": dynamic,
        "fields": normal_fields(mappings),
    }
}

/// The fields of mappings, or of a document in them, each with its kinds by their names.
fn normal_fields(of: &Document) -> Document {
    let empty = Document::new();
    let mut normal = Document::new();
    for (name, value) in of.get_document("fields").unwrap_or(&empty) {
        let mut by_kind = Document::new();
        for kind in kinds(Some(value.clone())) {
            let name = kind.get_str("type").unwrap_or_default().to_owned();
            let defaults = DEFAULTS.iter().find(|(known, _)| *known == name);
            let defaults = defaults.map_or(&[][..], |(_, defaults)| *defaults);
            let mut options = Document::new();
            for (option, value) in &kind {
                let is_default = |(known, default): &(&str, Default)| known == option && default.is(value);
                if option != "type" && option != "fields" && !defaults.iter().any(is_default) {
                    options.insert(option, value.clone());
                }
            }
            let inner = normal_fields(&kind);
            if !inner.is_empty() {
                options.insert("fields", inner);
            }
            by_kind.insert(name, options);
        }
        normal.insert(name, by_kind);
    }
    normal
}

fn listed_fields(definition: &Document) -> impl Iterator<Item = &Document> {
    let fields = definition.get_array("fields").into_iter().flatten();
    fields.filter_map(Bson::as_document)
}

/// The fields of a vector index by their names, as far as a model can declare them.
fn normal_vectors(definition: &Document) -> Document {
    let mut normal = Document::new();
    for field in listed_fields(definition) {
        let mut declared = Document::new();
        for (name, value) in field {
            let is_default = name == "quantization" && value.as_str() == Some("none");
            if VECTOR.contains(&name.as_str()) && !is_default {
                declared.insert(name, value.clone());
            }
        }
        let path = field.get_str("path").unwrap_or_default();
        let kind = field.get_str("type").unwrap_or_default();
        normal.insert(format!("{kind} {path}"), declared);
    }
    normal
}

/// In words, for a warning: what a deployment without search means.
pub(super) fn lacking(collections: &[&str], error: &Error) -> String {
    let collections: Vec<String> = collections.iter().map(|name| format!("`{name}`")).collect();
    format!(
        "the search and vector indexes of {} are not created, and searches of them fail: {error}",
        collections.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn field(path: fn() -> &'static str, kind: &'static str) -> SearchFieldMeta {
        SearchFieldMeta {
            path,
            kind,
            analyzer: None,
        }
    }

    fn search(meta: SearchMeta) -> SearchIndex {
        SearchIndex::of(&SearchIndexMeta {
            name: "default",
            kind: SearchIndexKind::Search(meta),
        })
    }

    fn vector(quantization: Option<&'static str>) -> SearchIndex {
        SearchIndex::of(&SearchIndexMeta {
            name: "vector_index",
            kind: SearchIndexKind::Vector(VectorMeta {
                path: || "plot_embedding",
                dimensions: 1536,
                similarity: "euclidean",
                quantization,
                filter: &[|| "genre"],
            }),
        })
    }

    /// The examples of the page of `createSearchIndexes`.
    #[test]
    fn definitions_are_those_of_the_manual() {
        let all = search(SearchMeta {
            analyzer: None,
            dynamic: true,
            fields: &[],
        });
        assert_eq!(
            all.spec(),
            doc! { "name": "default", "type": "search", "definition": { "mappings": { "dynamic": true } } }
        );
        let analyzed = search(SearchMeta {
            analyzer: Some("lucene.simple"),
            dynamic: false,
            fields: const { &[field(|| "company", "string")] },
        });
        assert_eq!(
            analyzed.definition,
            doc! {
                "analyzer": "lucene.simple",
                "mappings": { "dynamic": false, "fields": { "company": { "type": "string" } } },
            }
        );
        assert_eq!(
            vector(None).spec(),
            doc! { "name": "vector_index", "type": "vectorSearch", "definition": { "fields": [
                { "type": "vector", "path": "plot_embedding", "numDimensions": 1536, "similarity": "euclidean" },
                { "type": "filter", "path": "genre" },
            ] } }
        );
    }

    #[test]
    fn a_dotted_name_is_a_field_of_a_document_and_a_field_has_several_kinds() {
        let index = search(SearchMeta {
            analyzer: None,
            dynamic: false,
            fields: const {
                &[
                    field(|| "title", "string"),
                    field(|| "address.city", "string"),
                    field(|| "title", "autocomplete"),
                    field(|| "address.place.zip", "token"),
                    SearchFieldMeta {
                        path: || "address.city",
                        kind: "autocomplete",
                        analyzer: Some("lucene.german"),
                    },
                ]
            },
        });
        assert_eq!(
            index.definition,
            doc! { "mappings": { "dynamic": false, "fields": {
                "title": [{ "type": "string" }, { "type": "autocomplete" }],
                "address": { "type": "document", "fields": {
                    "place": { "type": "document", "fields": { "zip": { "type": "token" } } },
                    "city": [{ "type": "string" }, { "type": "autocomplete", "analyzer": "lucene.german" }],
                } },
            } } }
        );
    }

    /// The reply that the page of `$listSearchIndexes` shows, but for its `statusDetail`.
    fn listed() -> Vec<Document> {
        vec![
            doc! {
                "id": "6524096020da840844a4c4a7", "name": "default", "status": "BUILDING", "queryable": true,
                "latestDefinitionVersion": { "version": 2 },
                "latestDefinition": { "mappings": { "dynamic": true }, "storedSource": { "include": ["awards.text"] } },
            },
            doc! {
                "id": "65240be420da840844a4d077", "name": "synonym_mappings", "status": "READY", "queryable": true,
                "latestDefinitionVersion": { "version": 0 },
                "latestDefinition": {
                    "mappings": { "dynamic": true, "fields": { "fullplot": { "type": "string" } } },
                    "synonyms": [{
                        "name": "synonym_mapping", "analyzer": "lucene.english", "source": { "collection": "synonyms" },
                    }],
                },
                "synonymMappingStatus": "READY",
            },
        ]
    }

    #[test]
    fn an_index_with_the_declared_definition_is_left_as_it_is() {
        let all = SearchMeta {
            analyzer: None,
            dynamic: true,
            fields: &[],
        };
        let surplus = "`movies`: the search index `synonym_mappings`, which is not declared";
        assert_eq!(
            differences("movies", vec![search(all)], &listed()),
            [SearchDifference::Note(surplus.to_owned())]
        );
    }

    #[test]
    fn a_changed_definition_keeps_what_models_do_not_declare() {
        let analyzed = SearchMeta {
            analyzer: Some("lucene.english"),
            dynamic: true,
            fields: &[],
        };
        let found = differences("movies", vec![search(analyzed)], &listed());
        let Some(SearchDifference::Changed { index, was }) = found.first() else {
            panic!("{found:?}")
        };
        assert_eq!(*was, *listed()[0].get_document("latestDefinition").unwrap());
        assert_eq!(
            index.definition,
            doc! {
                "analyzer": "lucene.english",
                "mappings": { "dynamic": true },
                "storedSource": { "include": ["awards.text"] },
            }
        );
    }

    #[test]
    fn defaults_that_are_listed_are_no_differences() {
        let index = search(SearchMeta {
            analyzer: None,
            dynamic: false,
            fields: const {
                &[
                    field(|| "title", "string"),
                    field(|| "title", "autocomplete"),
                    field(|| "address.zip", "token"),
                ]
            },
        });
        let listed = doc! {
            "analyzer": "lucene.standard",
            "mappings": { "fields": {
                "address": { "type": "document", "dynamic": false, "fields": { "zip": [{ "type": "token" }] } },
                "title": [
                    {
                        "type": "autocomplete", "tokenization": "edgeGram", "minGrams": 2, "maxGrams": 15,
                        "foldDiacritics": true,
                    },
                    { "type": "string", "indexOptions": "offsets", "store": true, "norms": "include" },
                ],
            } },
        };
        assert!(index.is(&listed));
        let other = doc! { "mappings": { "fields": {
            "address": { "type": "document", "fields": { "zip": { "type": "token", "normalizer": "lowercase" } } },
            "title": [{ "type": "string" }, { "type": "autocomplete" }],
        } } };
        assert!(!index.is(&other), "an option that is no default");
        let fewer = doc! { "mappings": { "fields": { "title": { "type": "string" } } } };
        assert!(!index.is(&fewer));
    }

    #[test]
    fn vector_indexes_are_compared_by_what_a_model_declares() {
        let fields = |dimensions: i32| {
            doc! { "fields": [
                { "type": "filter", "path": "genre" },
                {
                    "type": "vector", "path": "plot_embedding", "numDimensions": dimensions, "similarity": "euclidean",
                    "quantization": "none", "hnswOptions": { "maxEdges": 32 },
                },
            ] }
        };
        let listed = |dimensions| {
            doc! {
                "name": "vector_index", "type": "vectorSearch", "status": "PENDING", "queryable": false,
                "latestDefinition": fields(dimensions),
            }
        };
        let note = "`movies`: the search index `vector_index` can't be queried yet, its status is PENDING";
        assert_eq!(
            differences("movies", vec![vector(None)], &[listed(1536)]),
            [SearchDifference::Note(note.to_owned())]
        );
        let found = differences("movies", vec![vector(Some("scalar"))], &[listed(768)]);
        let [SearchDifference::Changed { index, .. }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            index.definition,
            doc! { "fields": [
                {
                    "type": "vector", "path": "plot_embedding", "numDimensions": 1536, "similarity": "euclidean",
                    "quantization": "scalar", "hnswOptions": { "maxEdges": 32 },
                },
                { "type": "filter", "path": "genre" },
            ] }
        );
    }

    #[test]
    fn an_index_of_the_other_type_or_on_its_way_out_is_a_conflict() {
        let all = SearchMeta {
            analyzer: None,
            dynamic: true,
            fields: &[],
        };
        for (listed, said) in [
            (
                doc! { "name": "default", "type": "vectorSearch", "latestDefinition": { "fields": [] } },
                "exists with the type `vectorSearch`",
            ),
            (
                doc! { "name": "default", "status": "DELETING", "latestDefinition": {} },
                "is being deleted",
            ),
        ] {
            let found = differences("movies", vec![search(all)], &[listed]);
            assert!(
                matches!(&found[..], [SearchDifference::Conflict(what)] if what.contains(said)),
                "{found:?}"
            );
        }
    }
}

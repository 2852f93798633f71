//! Whether the indexes that a document declares serve a search. By an index that does not exist, or does not hold a field, Atlas finds
//! nothing and says nothing.

use crate::model::document::DocumentMeta;
use crate::model::meta::search::{SearchIndexKind, SearchIndexMeta, SearchMeta, VectorMeta};
use mongodb::bson::{Bson, Document};

/// How an operator reads a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Use {
    Words,
    Prefix,
    Value,
    Range,
    /// A whole text, which is compared.
    Token,
    /// In whichever way it is indexed.
    Any,
}

impl Use {
    /// The kinds of fields that serve it, in MongoDB's words. None are all.
    fn kinds(self) -> &'static [&'static str] {
        match self {
            Use::Words => &["string"],
            Use::Prefix => &["autocomplete"],
            Use::Value => &["token", "number", "date", "boolean", "objectId", "uuid"],
            Use::Range => &["number", "date", "token", "objectId"],
            Use::Token => &["token"],
            Use::Any => &[],
        }
    }

    /// The end of a sentence.
    fn advice(self, path: &str) -> String {
        let kinds = match self {
            Use::Words => "string",
            Use::Prefix => "autocomplete",
            Use::Value | Use::Token => "token",
            Use::Range => "number",
            Use::Any => "string",
        };
        let others = match self {
            Use::Value => " (of a text; else as `number`, `date`, `boolean`, `object_id` or `uuid`)",
            Use::Range => " (or as `date` or `token`)",
            Use::Any => " (or as another kind)",
            _ => "",
        };
        format!("declare `{kinds}({path})` in its `fields(…)`{others}, with the field's name in Rust")
    }
}

fn indexes(meta: &'static DocumentMeta) -> impl Iterator<Item = &'static SearchIndexMeta> {
    let of_variants = meta.variants().flat_map(|variant| variant.search_indexes);
    meta.search_indexes.iter().chain(of_variants)
}

/// The sentence about a name that no index has.
fn unknown(meta: &'static DocumentMeta, index: &str, what: &str) -> String {
    let names: Vec<String> = indexes(meta).map(|index| format!("`{}`", index.name)).collect();
    format!(
        "`{}` declares no {what} index `{index}`, and Atlas finds nothing by an index that does not exist: declared are {}",
        meta.name,
        names.join(", ")
    )
}

/// # Errors
/// A sentence about a field that the search index does not hold, or an index that is not declared. A document without any declared
/// index leaves them to others, so nothing is known.
pub(in crate::query) fn search(
    meta: &'static DocumentMeta,
    index: &str,
    uses: &[(&'static str, Use)],
) -> Result<(), String> {
    if indexes(meta).next().is_none() {
        return Ok(());
    }
    let found = indexes(meta).find_map(|declared| match &declared.kind {
        SearchIndexKind::Search(search) if declared.name == index => Some(search),
        _ => None,
    });
    let Some(found) = found else {
        return Err(unknown(meta, index, "search"));
    };
    uses.iter()
        .try_for_each(|(path, used)| holds(found, index, path, *used))
}

fn holds(search: &SearchMeta, index: &str, path: &str, used: Use) -> Result<(), String> {
    // A dynamic index holds each field as Atlas takes it by itself: a text as words, and neither as a token nor by its beginnings.
    if search.dynamic && !matches!(used, Use::Prefix | Use::Token) {
        return Ok(());
    }
    let kinds = used.kinds();
    let serves = |field: &&crate::model::meta::search::SearchFieldMeta| {
        (field.path)() == path && (kinds.is_empty() || kinds.contains(&field.kind))
    };
    match search.fields.iter().find(serves) {
        Some(_) => Ok(()),
        None => Err(format!(
            "the search index `{index}` does not hold `{path}` as this search needs it, and Atlas would find nothing: {}",
            used.advice(path)
        )),
    }
}

/// # Errors
/// A sentence, as of [`search`].
pub(in crate::query) fn vector(
    meta: &'static DocumentMeta,
    index: &str,
    path: &str,
) -> Result<Option<&'static VectorMeta>, String> {
    if indexes(meta).next().is_none() {
        return Ok(None);
    }
    let found = indexes(meta).find_map(|declared| match &declared.kind {
        SearchIndexKind::Vector(vector) if declared.name == index => Some(vector),
        _ => None,
    });
    match found {
        None => Err(unknown(meta, index, "vector")),
        Some(vector) if (vector.path)() != path => Err(format!(
            "the vector index `{index}` is on `{}`, and the search names `{path}`: name the field of the index",
            (vector.path)()
        )),
        Some(vector) => Ok(Some(vector)),
    }
}

/// The operators on a field that `$vectorSearch` takes in a filter.
const COMPARISONS: [&str; 10] = [
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not",
];

/// # Errors
/// A sentence about a condition that `$vectorSearch` does not take, or about a field that its index does not declare.
pub(in crate::query) fn filter(of: Option<&VectorMeta>, filter: &Document) -> Result<(), String> {
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(all)) => {
                for one in all.iter().filter_map(Bson::as_document) {
                    self::filter(of, one)?;
                }
            }
            (operator, _) if operator.starts_with('$') => return Err(refused(operator)),
            (path, value) => {
                let is_declared = |vector: &VectorMeta| vector.filter.iter().any(|field| field() == path);
                if of.is_some_and(|vector| !is_declared(vector)) {
                    return Err(format!(
                        "the vector index does not declare `{path}` as a field to filter by: add it to its `filter(…)`, or filter \
                         behind the search: `.aggregate().filter(…)`"
                    ));
                }
                if let Bson::Document(conditions) = value {
                    compared(conditions)?;
                }
            }
        }
    }
    Ok(())
}

fn compared(conditions: &Document) -> Result<(), String> {
    for (operator, value) in conditions {
        if !COMPARISONS.contains(&operator.as_str()) {
            return Err(refused(operator));
        }
        if let ("$not", Bson::Document(inner)) = (operator.as_str(), value) {
            compared(inner)?;
        }
    }
    Ok(())
}

fn refused(operator: &str) -> String {
    format!(
        "the filter of a search for vectors takes comparisons with values, and no `{operator}`: use `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, \
         `in_`, `not_in` and `exists`, with `&` and `|`, or filter behind the search: `.aggregate().filter(…)`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::meta::search::SearchFieldMeta;
    use mongodb::bson::doc;

    #[test]
    fn a_filter_takes_what_vector_searches_take() {
        // The example of the page of `$vectorSearch`.
        let documented = doc! { "$and": [{ "year": { "$gt": 1955 } }, { "year": { "$lt": 1975 } }] };
        assert_eq!(filter(None, &documented), Ok(()));
        let nested = doc! { "$or": [{ "a": 1, "b": { "$not": { "$in": [1, 2] } } }, { "$nor": [{ "c": { "$exists": true } }] }] };
        assert_eq!(filter(None, &nested), Ok(()));
        for wrong in [
            doc! { "name": { "$regex": "^K" } },
            doc! { "$expr": true },
            doc! { "$and": [{ "$or": [{ "list": { "$elemMatch": { "a": 1 } } }] }] },
            doc! { "name": { "$not": { "$regex": "a" } } },
            doc! { "$text": { "$search": "a" } },
        ] {
            let refused = filter(None, &wrong).unwrap_err();
            assert!(
                refused.contains("takes comparisons with values"),
                "{wrong}: {refused}"
            );
        }
    }

    #[test]
    fn a_filter_names_declared_fields() {
        let vector = VectorMeta {
            path: || "v",
            dimensions: 3,
            similarity: "cosine",
            quantization: None,
            filter: &[|| "year"],
        };
        assert_eq!(filter(Some(&vector), &doc! { "year": { "$gt": 1 } }), Ok(()));
        let refused = filter(Some(&vector), &doc! { "$or": [{ "genre": { "$eq": "a" } }] }).unwrap_err();
        assert!(refused.contains("does not declare `genre`"), "{refused}");
    }

    #[test]
    fn a_search_needs_its_fields_in_the_index() {
        let of = |dynamic| SearchMeta {
            analyzer: None,
            dynamic,
            fields: &[SearchFieldMeta {
                path: || "title",
                kind: "string",
                analyzer: None,
            }],
        };
        assert_eq!(holds(&of(false), "default", "title", Use::Words), Ok(()));
        assert_eq!(holds(&of(false), "default", "title", Use::Any), Ok(()));
        assert_eq!(holds(&of(true), "default", "plot", Use::Words), Ok(()));
        for (dynamic, path, used, said) in [
            (false, "plot", Use::Words, "declare `string(plot)`"),
            (false, "title", Use::Value, "declare `token(title)`"),
            (false, "title", Use::Range, "declare `number(title)`"),
            (true, "title", Use::Prefix, "declare `autocomplete(title)`"),
            (true, "title", Use::Token, "declare `token(title)`"),
        ] {
            let refused = holds(&of(dynamic), "default", path, used).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}

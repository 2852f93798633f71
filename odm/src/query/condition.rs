//! One condition on one field, as MongoDB reads it.

use mongodb::bson::{Bson, Document, doc};

/// The field's value under the operator. MongoDB looks into the list of `$in`, `$nin` and `$all`: a regular expression in it
/// is a pattern, and a document that begins with `$elemMatch` a condition. Behind `$eq` each is a value, so a list with one
/// of these is written as conditions on its values.
pub(crate) fn condition(name: &str, operator: &str, value: Bson) -> Document {
    let joined = match operator {
        "$in" => "$or",
        "$nin" => "$nor",
        "$all" => "$and",
        // The server takes no regular expression behind it.
        "$ne" if is_carried_out(&value) => return doc! { "$nor": [{ name: { "$eq": value } }] },
        _ => return doc! { name: { operator: value } },
    };
    match value {
        Bson::Array(values) if values.iter().any(is_carried_out) => {
            let each: Vec<Document> = values
                .into_iter()
                .map(|value| doc! { name: { "$eq": value } })
                .collect();
            doc! { joined: each }
        }
        values => doc! { name: { operator: values } },
    }
}

/// Whether a value means something else than itself in a list.
pub(crate) fn is_carried_out(value: &Bson) -> bool {
    match value {
        Bson::RegularExpression(_) => true,
        Bson::Document(document) => document.keys().next().is_some_and(|key| key.starts_with('$')),
        _ => false,
    }
}

/// The condition that the array or the document at a dotted name, if there is one, has at most this number of parts.
pub(crate) fn at_most(name: &str, keyword: &str, most: u64) -> Document {
    let rule = doc! { keyword: i64::try_from(most).unwrap_or(i64::MAX) };
    let schema = name
        .rsplit('.')
        .fold(rule, |inner, part| doc! { "properties": { part: inner } });
    doc! { "$jsonSchema": schema }
}

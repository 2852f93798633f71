//! Comparisons of a document's fields, as a part of the expression beside the schema.

use super::id_order;
use crate::model::document::DocumentMeta;
use mongodb::bson::{Bson, Document, doc};

/// The beginning of the text that stands before each of them, by which it is recognised.
const MARK: &str = "odm: check ";

/// The expression beside the schema: the order of the fields of `_id`, and the comparisons.
pub(super) fn beside(meta: &DocumentMeta, order: Option<Document>) -> Option<Document> {
    let mut all: Vec<Bson> = match order.map(|mut order| order.remove("$and")) {
        Some(Some(Bson::Array(all))) => all,
        _ => Vec::new(),
    };
    for check in meta.checks {
        let Some(expression) = check.expression() else {
            continue;
        };
        all.push(doc! { "$literal": format!("{MARK}{}", check.text) }.into());
        all.push(expression.into_owned());
    }
    (!all.is_empty()).then(|| doc! { "$and": all })
}

/// Whether this is such an expression.
pub(super) fn is_ours(rule: &Bson) -> bool {
    let parts = rule.as_document().and_then(|rule| rule.get_array("$and").ok());
    parts
        .and_then(|parts| parts.first())
        .is_some_and(|first| text(first).is_some())
}

/// The comparison that a part of an expression announces.
fn text(part: &Bson) -> Option<&str> {
    part.as_document()?.get_str("$literal").ok()?.strip_prefix(MARK)
}

fn texts(rule: Option<&Bson>) -> Vec<&str> {
    let parts = rule.and_then(Bson::as_document);
    let parts = parts.and_then(|rule| rule.get_array("$and").ok());
    parts.into_iter().flatten().filter_map(text).collect()
}

/// The differences between two such expressions, a line each.
pub(super) fn words(before: Option<&Bson>, after: Option<&Bson>) -> Vec<String> {
    let mut words = Vec::new();
    let orders = |rule: Option<&Bson>| rule.is_some_and(id_order::is_ours);
    match (orders(before), orders(after)) {
        (true, false) => words.push("no longer demand an order of the fields of `_id`".to_owned()),
        (false, true) => words.push("demand the declared order of the fields of `_id`".to_owned()),
        _ => {}
    }
    let (old, new) = (texts(before), texts(after));
    let only = |these: &[&str], others: &[&str]| -> Vec<String> {
        let new = these.iter().filter(|text| !others.contains(text));
        new.map(|text| (*text).to_owned()).collect()
    };
    words.extend(
        only(&new, &old)
            .iter()
            .map(|text| format!("demand that `{text}`")),
    );
    words.extend(
        only(&old, &new)
            .iter()
            .map(|text| format!("no longer demand that `{text}`")),
    );
    if words.is_empty() {
        words.push(
            "demand the order of the fields of `_id`, or a comparison of fields, in other words".to_owned(),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_differences_are_told_by_their_texts() {
        let rule = |texts: &[&str]| -> Bson {
            let parts = texts.iter().flat_map(|text| {
                let text: Bson = doc! { "$literal": format!("{MARK}{text}") }.into();
                [text, doc! { "$gt": ["$a", "$b"] }.into()]
            });
            doc! { "$and": parts.collect::<Vec<Bson>>() }.into()
        };
        let (old, new) = (rule(&["a > b", "b > c"]), rule(&["a > b", "c > d"]));
        assert!(is_ours(&old) && !is_ours(&doc! { "$and": [{ "$gt": ["$a", 1] }] }.into()));
        assert_eq!(
            words(Some(&old), Some(&new)),
            ["demand that `c > d`", "no longer demand that `b > c`"]
        );
        assert_eq!(words(None, Some(&rule(&["a > b"]))), ["demand that `a > b`"]);
    }
}

//! The condition on a document as a condition on the field of a change event that holds the document.

use mongodb::bson::{Bson, Document, doc};

/// The same condition for the document in the field `root`: `{ state: … }` is `{ fullDocument.state: … }`.
///
/// # Errors
/// In words what can't be asked of a change event: `$text`, `$where` and `$near`, which need the collection, and operators that
/// are not known here.
pub(crate) fn rerooted(root: &str, condition: Document) -> Result<Document, String> {
    let mut made = Document::new();
    for (name, value) in condition {
        match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(list)) => {
                let list: Result<Vec<Bson>, String> = list.into_iter().map(|one| part(root, one)).collect();
                made.insert(name, list?);
            }
            ("$expr", value) => {
                made.insert(name, expression(root, value)?);
            }
            // The schema of the document becomes the schema of the field.
            ("$jsonSchema", schema) => {
                made.insert(name, doc! { "properties": { root: schema } });
            }
            ("$comment", value) => {
                made.insert(name, value);
            }
            (operator, _) if operator.starts_with('$') => {
                return Err(format!(
                    "has `{operator}`, which the server does not take in the filter of a change stream: filter the changes by fields, \
                     and ask the rest of each change"
                ));
            }
            (_, value) if is_near(&value) => {
                return Err(format!(
                    "has `$near` on `{name}`, which the server does not take in the filter of a change stream: use `within`"
                ));
            }
            (_, value) => {
                made.insert(format!("{root}.{name}"), value);
            }
        }
    }
    Ok(made)
}

/// One of the conditions of `$and`, `$or` and `$nor`.
fn part(root: &str, condition: Bson) -> Result<Bson, String> {
    match condition {
        Bson::Document(condition) => rerooted(root, condition).map(Bson::Document),
        other => Err(format!("has {other} where a condition is expected")),
    }
}

/// Whether the condition on a field asks what is near: the server sorts by that, and needs an index for it.
fn is_near(condition: &Bson) -> bool {
    let Bson::Document(operators) = condition else {
        return false;
    };
    operators.iter().any(|(name, value)| match name.as_str() {
        "$near" | "$nearSphere" => true,
        "$not" => is_near(value),
        _ => false,
    })
}

/// The expression with the paths of its fields below `root`.
fn expression(root: &str, of: Bson) -> Result<Bson, String> {
    Ok(match of {
        Bson::String(text) => Bson::String(path(root, text)),
        Bson::Array(items) => {
            let items: Result<Vec<Bson>, String> =
                items.into_iter().map(|item| expression(root, item)).collect();
            Bson::Array(items?)
        }
        Bson::Document(operators) => Bson::Document(operators_of(root, operators)?),
        other => other,
    })
}

/// `$a.b` is a path, `$$ROOT` and `$$CURRENT` are the document; other variables and plain texts stay.
fn path(root: &str, text: String) -> String {
    let within = |name: &str| {
        let rest = text.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("${root}{rest}"))
    };
    if let Some(document) = within("$$ROOT").or_else(|| within("$$CURRENT")) {
        return document;
    }
    match text.strip_prefix('$') {
        Some(field) if !field.starts_with('$') => format!("${root}.{field}"),
        _ => text,
    }
}

fn operators_of(root: &str, operators: Document) -> Result<Document, String> {
    let mut made = Document::new();
    for (name, value) in operators {
        let value = match (name.as_str(), value) {
            // A value, whatever is in it.
            ("$literal", value) => value,
            // Without `input` it reads a field of the document itself.
            ("$getField", value) => get_field(root, value)?,
            // Its body is JavaScript, in which a dollar is no path.
            ("$function", Bson::Document(mut function)) => {
                if let Some(arguments) = function.remove("args") {
                    function.insert("args", expression(root, arguments)?);
                }
                Bson::Document(function)
            }
            ("$let" | "$map" | "$filter" | "$reduce", value) if renames_the_document(&value) => {
                return Err(format!(
                    "has `{name}` with a variable `CURRENT`, so its paths don't begin at the document: give the variable another name"
                ));
            }
            (_, value) => expression(root, value)?,
        };
        made.insert(name, value);
    }
    Ok(made)
}

fn get_field(root: &str, of: Bson) -> Result<Bson, String> {
    let whole = format!("${root}");
    Ok(match expression(root, of)? {
        Bson::Document(mut field) if field.contains_key("field") => {
            if !field.contains_key("input") {
                field.insert("input", whole);
            }
            Bson::Document(field)
        }
        name => doc! { "field": name, "input": whole }.into(),
    })
}

/// Whether an expression gives the variable another value at which all paths begin.
fn renames_the_document(of: &Bson) -> bool {
    let Bson::Document(of) = of else { return false };
    let is_variable = |vars: &Document| vars.contains_key("CURRENT");
    of.get_document("vars").is_ok_and(is_variable) || of.get_str("as").is_ok_and(|name| name == "CURRENT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(condition: Document) -> Document {
        rerooted("fullDocument", condition).unwrap()
    }

    fn expr(expression: impl Into<Bson>) -> Bson {
        let made = of(doc! { "$expr": expression.into() });
        made.get("$expr").unwrap().clone()
    }

    #[test]
    fn names_of_fields_go_below_the_document() {
        assert_eq!(of(doc! {}), doc! {});
        assert_eq!(
            of(doc! { "state": { "$eq": "ready" }, "home.city": "Bonn" }),
            doc! { "fullDocument.state": { "$eq": "ready" }, "fullDocument.home.city": "Bonn" }
        );
    }

    #[test]
    fn conditions_are_joined_at_any_depth() {
        assert_eq!(
            of(
                doc! { "$or": [{ "a": 1 }, { "$and": [{ "b": 2 }, { "$nor": [{ "c.d": { "$gt": 3 } }, {}] }] }] }
            ),
            doc! { "$or": [
                { "fullDocument.a": 1 },
                { "$and": [{ "fullDocument.b": 2 }, { "$nor": [{ "fullDocument.c.d": { "$gt": 3 } }, {}] }] },
            ] }
        );
    }

    #[test]
    fn conditions_on_items_and_values_stay_as_they_are() {
        let item = doc! { "$elemMatch": { "sku": "$a", "$or": [{ "n": 1 }, { "n": 2 }] } };
        let value = doc! { "$in": [{ "$near": 1 }, { "a": "$b" }] };
        assert_eq!(
            of(doc! { "items": item.clone(), "value": value.clone(), "n": { "$not": { "$gt": 1 } } }),
            doc! { "fullDocument.items": item, "fullDocument.value": value, "fullDocument.n": { "$not": { "$gt": 1 } } }
        );
    }

    #[test]
    fn a_schema_is_one_of_the_field() {
        let schema = doc! { "properties": { "tags": { "maxItems": 3 } } };
        assert_eq!(
            of(doc! { "$nor": [{ "$jsonSchema": schema.clone() }] }),
            doc! { "$nor": [{ "$jsonSchema": { "properties": { "fullDocument": schema } } }] }
        );
    }

    #[test]
    fn paths_in_expressions_go_below_the_document() {
        assert_eq!(
            expr(doc! { "$gt": ["$spent", { "$multiply": ["$budget.all", 2] }] }),
            doc! { "$gt": ["$fullDocument.spent", { "$multiply": ["$fullDocument.budget.all", 2] }] }.into()
        );
        assert_eq!(
            expr(
                doc! { "$map": { "input": "$items", "as": "item", "in": { "$add": ["$$item.n", "$n", "$$NOW"] } } }
            ),
            doc! { "$map": {
                "input": "$fullDocument.items", "as": "item", "in": { "$add": ["$$item.n", "$fullDocument.n", "$$NOW"] },
            } }
            .into()
        );
        for (given, expected) in [
            ("$$ROOT", "$fullDocument"),
            ("$$ROOT.a", "$fullDocument.a"),
            ("$$CURRENT.a.b", "$fullDocument.a.b"),
            ("$$ROOTS", "$$ROOTS"),
            ("$$REMOVE", "$$REMOVE"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(expr(given), Bson::from(expected));
        }
    }

    #[test]
    fn values_in_expressions_stay_values() {
        let values = doc! { "$eq": ["$a", { "$literal": { "b": "$b", "c": ["$$ROOT"] } }] };
        assert_eq!(
            expr(values),
            doc! { "$eq": ["$fullDocument.a", { "$literal": { "b": "$b", "c": ["$$ROOT"] } }] }.into()
        );
        assert_eq!(
            expr(doc! { "$function": { "body": "$f", "args": ["$a"], "lang": "js" } }),
            doc! { "$function": { "body": "$f", "lang": "js", "args": ["$fullDocument.a"] } }.into()
        );
    }

    #[test]
    fn a_field_by_name_is_one_of_the_document() {
        let read = |field: &str| doc! { "$getField": { "field": field, "input": "$fullDocument" } };
        assert_eq!(expr(doc! { "$getField": "a.b" }), read("a.b").into());
        assert_eq!(expr(doc! { "$getField": { "field": "a.b" } }), read("a.b").into());
        assert_eq!(
            expr(doc! { "$getField": { "field": "a.b", "input": "$c" } }),
            doc! { "$getField": { "field": "a.b", "input": "$fullDocument.c" } }.into()
        );
    }

    #[test]
    fn the_error_names_what_the_server_does_not_take() {
        for (condition, named) in [
            (doc! { "$text": { "$search": "a" } }, "$text"),
            (doc! { "$or": [{ "a": 1 }, { "$where": "1" }] }, "$where"),
            (doc! { "place": { "$not": { "$nearSphere": [1, 2] } } }, "`place`"),
            (doc! { "$and": [1] }, "a condition"),
            (doc! { "$and": 1 }, "$and"),
            (
                doc! { "$expr": { "$let": { "vars": { "CURRENT": "$a" }, "in": "$b" } } },
                "CURRENT",
            ),
        ] {
            let error = rerooted("fullDocument", condition).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}

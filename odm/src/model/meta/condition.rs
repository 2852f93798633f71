//! Comparisons of a document's fields as one expression, and what becomes of it where an update changes one of them.

use mongodb::bson::{Bson, Document, doc};

/// A condition of comparisons alone as one expression; `None` where it holds another one.
pub(crate) fn expression(condition: &Document) -> Option<Bson> {
    let mut all = Vec::new();
    for (operator, operand) in condition {
        let list = || -> Option<Vec<Bson>> {
            let conditions = operand.as_array()?.iter();
            conditions.map(|one| expression(one.as_document()?)).collect()
        };
        all.push(match operator.as_str() {
            "$expr" => operand.clone(),
            "$and" => doc! { "$and": list()? }.into(),
            "$or" => doc! { "$or": list()? }.into(),
            "$nor" => doc! { "$not": [{ "$or": list()? }] }.into(),
            _ => return None,
        });
    }
    match all.len() {
        0 => None,
        1 => all.pop(),
        _ => Some(doc! { "$and": all }.into()),
    }
}

/// The fields that an expression reads: dotted names.
pub(crate) fn fields(expression: &Bson, names: &mut Vec<String>) {
    match expression {
        Bson::String(text) => {
            if let Some(name) = text.strip_prefix('$').filter(|name| !name.starts_with('$'))
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
        Bson::Array(all) => all.iter().for_each(|one| fields(one, names)),
        Bson::Document(operator) => {
            for (name, operand) in operator {
                if name != "$literal" {
                    fields(operand, names);
                }
            }
        }
        _ => {}
    }
}

/// The expression with other ones in the places of fields.
pub(crate) fn with(expression: &Bson, changed: &dyn Fn(&str) -> Option<Bson>) -> Bson {
    match expression {
        Bson::String(text) => {
            let name = text.strip_prefix('$').filter(|name| !name.starts_with('$'));
            name.and_then(changed).unwrap_or_else(|| expression.clone())
        }
        Bson::Array(all) => Bson::Array(all.iter().map(|one| with(one, changed)).collect()),
        Bson::Document(operator) => {
            let operands = operator.iter().map(|(name, operand)| {
                let operand = match name.as_str() {
                    "$literal" => operand.clone(),
                    _ => with(operand, changed),
                };
                (name.clone(), operand)
            });
            Bson::Document(operands.collect())
        }
        plain => plain.clone(),
    }
}

/// The value that a field will have by these operators of an update, as an expression of the stored document. `Ok(None)` where
/// it stays as it is, an error where no expression says it.
pub(crate) fn changed(operators: &Document, compute: &str, field: &str) -> Result<Option<Bson>, ()> {
    let mut changed = None;
    for (operator, names) in operators {
        for (name, value) in names.as_document().into_iter().flatten() {
            if !crate::model::meta::names::meet(name, field) || operator == "$setOnInsert" {
                continue;
            }
            let literal = || doc! { "$literal": value.clone() };
            let stored = || doc! { "$ifNull": [format!("${field}"), 0] };
            let within = field.strip_prefix(name.as_str());
            let new: Bson = match (operator.as_str(), within) {
                ("$set", Some("")) => literal().into(),
                ("$set", Some(rest)) => {
                    let mut parts = rest.split('.').filter(|part| !part.is_empty());
                    let value = parts.try_fold(value, |value, part| value.as_document()?.get(part));
                    value.map_or("$$REMOVE".into(), |value| {
                        doc! { "$literal": value.clone() }.into()
                    })
                }
                ("$unset", Some(_)) => "$$REMOVE".into(),
                ("$inc", Some("")) => doc! { "$add": [stored(), literal()] }.into(),
                ("$mul", Some("")) => doc! { "$multiply": [stored(), literal()] }.into(),
                ("$min" | "$max", Some("")) => doc! { operator: [format!("${field}"), literal()] }.into(),
                ("$currentDate", Some("")) => "$$NOW".into(),
                (operator, Some("")) if operator == compute => value.clone(),
                _ => return Err(()),
            };
            changed = Some(new);
        }
    }
    Ok(changed)
}

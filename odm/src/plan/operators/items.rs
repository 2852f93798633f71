//! The items that an update of items needs: without them neither the version nor `updated_at` of the document may change.

use crate::query::condition::{in_array, is_carried_out};
use mongodb::bson::{Bson, Document, doc};

/// The conditions of which one holds at least where such an update changes something; `None` for an update of anything else.
///
/// `filters` are the array filters, named `e0`, `e1` and so on.
pub(crate) fn met(operators: &Document, filters: &[Document]) -> Option<Vec<Document>> {
    let mut met = Vec::new();
    for (operator, fields) in operators {
        for (name, value) in fields.as_document()? {
            met.push(match (operator.as_str(), value) {
                ("$pull", Bson::Document(condition)) => doc! { name: { "$elemMatch": condition.clone() } },
                ("$pullAll", Bson::Array(values)) => one_of(name, values),
                ("$pop", _) => some(name),
                _ => {
                    let (array, identifier, _) = of_items(name)?;
                    match identifier {
                        "" => some(array),
                        one => {
                            let at: usize = one.strip_prefix('e')?.parse().ok()?;
                            fitting(array, &without(one, filters.get(at)?))
                        }
                    }
                }
            });
        }
    }
    met.dedup();
    (!met.is_empty()).then_some(met)
}

/// The array of a name like `array.$[e0].field`, which of its items the name means, and the rest of it.
fn of_items(name: &str) -> Option<(&str, &str, &str)> {
    // Most names are none: to look for one character is less.
    if !name.contains('$') {
        return None;
    }
    let (array, rest) = name.split_once(".$[")?;
    let (identifier, field) = rest.split_once(']')?;
    Some((array, identifier, field))
}

/// The field of items that an update changes twice: by one condition, or by one and in all items. By different conditions an item may
/// be changed once; the server refuses the update where both match one.
pub(crate) fn changed_twice(operators: &Document, filters: &[Document]) -> Option<String> {
    let fields = operators
        .values()
        .filter_map(Bson::as_document)
        .flat_map(Document::keys);
    let parts: Vec<(&str, Option<Document>, &str)> = fields
        .filter_map(|name| {
            let (array, identifier, field) = of_items(name)?;
            let at = identifier
                .strip_prefix('e')
                .and_then(|at| at.parse::<usize>().ok());
            let filter = at.and_then(|at| filters.get(at));
            Some((
                array,
                filter.map(|filter| without(identifier, filter)),
                field.strip_prefix('.').unwrap_or(field),
            ))
        })
        .collect();
    let mut pairs = parts.iter().enumerate().flat_map(|(at, one)| {
        let behind = parts.get(at + 1..).unwrap_or_default();
        behind.iter().map(move |other| (one, other))
    });
    pairs.find_map(|((array, one, field), (of, other, same))| {
        let meet = field.is_empty() || same.is_empty() || crate::model::names::meet(field, same);
        let both = one.is_none() || other.is_none() || one == other;
        (array == of && meet && both).then(|| [*array, field].join(".").trim_end_matches('.').to_owned())
    })
}

/// An array filter as a condition on an item: on its fields, and with an empty name on the item itself.
fn without(identifier: &str, filter: &Document) -> Document {
    let parts = filter.iter().map(|(name, value)| match value {
        Bson::Array(list) if name.starts_with('$') => {
            let list = list.iter().filter_map(Bson::as_document);
            let list: Vec<Document> = list.map(|one| without(identifier, one)).collect();
            (name.clone(), list.into())
        }
        value => {
            let rest = name.strip_prefix(identifier).unwrap_or(name);
            (rest.strip_prefix('.').unwrap_or(rest).to_owned(), value.clone())
        }
    });
    parts.collect()
}

/// The condition that an item of the array matches, or may match.
fn fitting(array: &str, condition: &Document) -> Document {
    if let Ok(one) = in_array(condition.clone()) {
        return doc! { array: { "$elemMatch": one } };
    }
    // Conditions on plain items, which have no `$or` there.
    let mut parts = condition.iter();
    match (parts.next(), parts.next()) {
        (Some((name, Bson::Array(list))), None) if name == "$or" => {
            let list = list.iter().filter_map(Bson::as_document);
            doc! { "$or": list.map(|one| fitting(array, one)).collect::<Vec<_>>() }
        }
        _ => some(array),
    }
}

/// That the array has an item.
fn some(array: &str) -> Document {
    doc! { format!("{array}.0"): { "$exists": true } }
}

/// That one of these values is an item of the array.
fn one_of(array: &str, values: &[Bson]) -> Document {
    if !values.iter().any(is_carried_out) {
        doc! { array: { "$elemMatch": { "$in": values } } }
    } else {
        let each = values
            .iter()
            .map(|value| doc! { array: { "$elemMatch": { "$eq": value } } });
        doc! { "$or": each.collect::<Vec<_>>() }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::operators::items::*;

    #[test]
    fn an_update_of_items_states_its_conditions() {
        let bonn = doc! { "$or": [{ "e0.city": { "$eq": "Bonn" } }, { "e0.zip": { "$eq": 5 } }] };
        let one = doc! { "e1": { "$eq": "a" } };
        let filters = [bonn, one];
        let of = |operators: Document| met(&operators, &filters);
        for (operators, expected) in [
            (
                doc! { "$pullAll": { "tags": ["a", 1] } },
                doc! { "tags": { "$elemMatch": { "$in": ["a", 1] } } },
            ),
            (
                doc! { "$pullAll": { "tags": [{ "$gt": 1 }] } },
                doc! { "$or": [{ "tags": { "$elemMatch": { "$eq": { "$gt": 1 } } } }] },
            ),
            (
                doc! { "$pull": { "tags": { "$gt": 1 } } },
                doc! { "tags": { "$elemMatch": { "$gt": 1 } } },
            ),
            (
                doc! { "$pop": { "a.b": 1 } },
                doc! { "a.b.0": { "$exists": true } },
            ),
            (
                doc! { "$inc": { "a.b.$[].n": 1 } },
                doc! { "a.b.0": { "$exists": true } },
            ),
            (
                doc! { "$set": { "addresses.$[e0].a": 1, "addresses.$[e0].b": 1 } },
                doc! { "addresses": { "$elemMatch": { "$or": [
                    { "city": { "$eq": "Bonn" } }, { "zip": { "$eq": 5 } },
                ] } } },
            ),
            (
                doc! { "$set": { "tags.$[e1]": "b" } },
                doc! { "tags": { "$elemMatch": { "$eq": "a" } } },
            ),
        ] {
            assert_eq!(of(operators.clone()), Some(vec![expected]), "{operators}");
        }
        for more in [
            doc! { "$pop": { "tags": 1 }, "$set": { "n": 1 } },
            doc! { "$set": { "n": 1 } },
            doc! { "$push": { "tags": 1 } },
            doc! { "$set": { "addresses.$[e2].a": 1 } },
            doc! {},
        ] {
            assert_eq!(of(more.clone()), None, "{more}");
        }
    }

    #[test]
    fn items_are_changed_once() {
        let bonn = |name: &str| doc! { format!("{name}.city"): { "$eq": "Bonn" } };
        let filters = [bonn("e0"), bonn("e1"), doc! { "e2.city": { "$eq": "Rome" } }];
        for (operators, twice) in [
            (doc! { "$set": { "a.$[e0].n": 1, "a.$[e1].n": 2 } }, Some("a.n")),
            (
                doc! { "$set": { "a.$[e0].n": 1 }, "$inc": { "a.$[].n": 2 } },
                Some("a.n"),
            ),
            (doc! { "$set": { "a.$[e0]": 1, "a.$[e1].n": 2 } }, Some("a")),
            (doc! { "$set": { "a.$[e0].n": 1, "a.$[e2].n": 2 } }, None),
            (doc! { "$set": { "a.$[e0].n": 1, "a.$[e1].m": 2 } }, None),
            (doc! { "$set": { "a.$[e0].n": 1, "b.$[e1].n": 2 } }, None),
        ] {
            assert_eq!(
                changed_twice(&operators, &filters).as_deref(),
                twice,
                "{operators}"
            );
        }
    }

    #[test]
    fn conditions_on_plain_items_are_joined_outside() {
        let (low, high) = (doc! { "": { "$lt": 1 } }, doc! { "": { "$gt": 9 } });
        let item = |one: Document| doc! { "n": { "$elemMatch": one } };
        assert_eq!(
            fitting("n", &doc! { "$or": [&low, &high] }),
            doc! { "$or": [item(doc! { "$lt": 1 }), item(doc! { "$gt": 9 })] }
        );
        assert_eq!(
            fitting("n", &doc! { "$nor": [&low] }),
            doc! { "n.0": { "$exists": true } }
        );
        assert_eq!(fitting("n", &doc! {}), item(doc! { "$exists": true }));
    }
}

//! The items that an update of items needs: without them neither the version nor `updated_at` of the document may change.

use crate::model::meta::names::{meet, plain_name};
use crate::query::filter::condition::{both, in_array, is_carried_out};
use mongodb::bson::{Bson, Document, doc};

/// The conditions of which one holds at least where such an update changes something; `None` for an update of anything else.
///
/// `filters` are the array filters, named `e0`, `e1` and so on.
pub(crate) fn met(operators: &Document, filters: &[Document]) -> Option<Vec<Document>> {
    let mut met = Vec::new();
    for (operator, fields) in operators {
        for (name, value) in fields.as_document()? {
            met.push(has_items(operator, name, value, filters)?);
        }
    }
    met.dedup();
    (!met.is_empty()).then_some(met)
}

/// The condition that there are items for this operator; `None` where it changes something else.
fn has_items(operator: &str, name: &str, value: &Bson, filters: &[Document]) -> Option<Document> {
    if let Some((array, identifier, field)) = of_items(name) {
        let within = match identifier {
            "" => None,
            one => Some(without(one, filters.get(number(one)?)?)),
        };
        // Items in an item, if it is these that are changed.
        let items = has_items(operator, field, value, filters);
        return Some(match (within, items) {
            (None, None) => some(array),
            (within, items) => fitting(
                array,
                &both(within.unwrap_or_default(), items.unwrap_or_default()),
            ),
        });
    }
    Some(match (operator, value) {
        ("$pull", Bson::Document(condition)) => doc! { name: { "$elemMatch": condition.clone() } },
        ("$pullAll", Bson::Array(values)) => one_of(name, values),
        ("$pop", _) => some(name),
        _ => return None,
    })
}

/// The array of a name like `array.$[e0].field`, which of its items the name means, and the rest of it.
fn of_items(name: &str) -> Option<(&str, &str, &str)> {
    // Most names are none: to look for one character is less.
    if !name.contains('$') {
        return None;
    }
    let (array, rest) = name.split_once(".$[")?;
    let (identifier, field) = rest.split_once(']')?;
    Some((array, identifier, field.strip_prefix('.').unwrap_or(field)))
}

/// The number of an identifier: its place among the array filters.
fn number(identifier: &str) -> Option<usize> {
    identifier.strip_prefix('e')?.parse().ok()
}

/// The field of items that an update changes twice: by one condition, or by one and in all items. By different conditions an item may
/// be changed once; the server refuses the update where both match one.
pub(crate) fn changed_twice(operators: &Document, filters: &[Document]) -> Option<String> {
    let fields = operators
        .values()
        .filter_map(Bson::as_document)
        .flat_map(Document::keys);
    let names: Vec<&String> = fields.filter(|name| of_items(name).is_some()).collect();
    let mut pairs = names.iter().enumerate().flat_map(|(at, one)| {
        let behind = names.get(at + 1..).unwrap_or_default();
        behind.iter().map(move |other| (one, other))
    });
    let twice = pairs.find(|(one, other)| meet_in_items(one, other, filters));
    twice.map(|(one, other)| plain_name(if one.len() < other.len() { one } else { other }))
}

/// Whether two such names mean one field of one item, or one is in the other.
fn meet_in_items(one: &str, other: &str, filters: &[Document]) -> bool {
    let (Some((array, first, field)), Some((of, second, same))) = (of_items(one), of_items(other)) else {
        return one.is_empty() || other.is_empty() || meet(one, other);
    };
    let (first, second) = (which(first, field, filters), which(second, same, filters));
    let both = first.is_none() || second.is_none() || first == second;
    array == of && both && meet_in_items(field, same, filters)
}

/// The condition on the items that an identifier means; `None` for all. That the array in them is there is left out.
fn which(identifier: &str, field: &str, filters: &[Document]) -> Option<Document> {
    let mut condition = without(identifier, filters.get(number(identifier)?)?);
    if let Some((array, ..)) = of_items(field)
        && let Some(Bson::Document(of_array)) = condition.get_mut(array)
        && of_array.get_str("$type").is_ok_and(|of_type| of_type == "array")
    {
        of_array.remove("$type");
        if of_array.is_empty() {
            condition.remove(array);
        }
    }
    (!condition.is_empty()).then_some(condition)
}

/// An array filter as a condition on an item: on its fields, and with an empty name on the item itself. Empty for every item.
fn without(identifier: &str, filter: &Document) -> Document {
    if *filter == doc! { identifier: { "$exists": true } } {
        return Document::new();
    }
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
    fn an_update_of_items_in_items_states_both_conditions() {
        let filters = [
            doc! { "e0.title": { "$eq": "a" }, "e0.lines": { "$type": "array" } },
            doc! { "e1.qty": { "$gt": 1 } },
            doc! { "e2": { "$exists": true } },
        ];
        let one =
            |operator: &str, name: &str, value: Bson| met(&doc! { operator: { name: value } }, &filters);
        let line = doc! { "$elemMatch": { "qty": { "$gt": 1 } } };
        let a = doc! { "title": { "$eq": "a" }, "lines": { "$type": "array", "$elemMatch": { "qty": { "$gt": 1 } } } };
        for (name, item) in [
            ("sections.$[e0].lines.$[e1].n", a),
            ("sections.$[e2].lines.$[e1].n", doc! { "lines": &line }),
            ("sections.$[].lines.$[e1].n", doc! { "lines": &line }),
            (
                "sections.$[].lines.$[].n",
                doc! { "lines.0": { "$exists": true } },
            ),
            ("sections.$[e2].n", doc! { "$exists": true }),
        ] {
            let expected = vec![doc! { "sections": { "$elemMatch": item } }];
            assert_eq!(one("$set", name, 1.into()), Some(expected), "{name}");
        }
        let pulled = doc! { "$elemMatch": { "tags": { "$elemMatch": { "$in": ["x"] } } } };
        assert_eq!(
            one("$pullAll", "sections.$[].tags", Bson::Array(vec!["x".into()])),
            Some(vec![doc! { "sections": pulled }])
        );
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
            (
                doc! { "$set": { "a.$[e0].b.$[].n": 1, "a.$[e1].b.$[e2].n": 2 } },
                Some("a.b.n"),
            ),
            (
                doc! { "$set": { "a.$[].b.$[e0].n": 1, "a.$[e2].b.$[e1]": 2 } },
                Some("a.b"),
            ),
            (
                doc! { "$set": { "a.$[e0].b.$[e1].n": 1, "a.$[e1].b": 2 } },
                Some("a.b"),
            ),
            (
                doc! { "$set": { "a.$[e0].b.$[e1].n": 1, "a.$[e2].b.$[e1].n": 2 } },
                None,
            ),
            (
                doc! { "$set": { "a.$[e0].b.$[e1].n": 1, "a.$[e1].b.$[e2].n": 2 } },
                None,
            ),
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

//! The order of documents that several shards give: by the sort of the command, whose fields the shards give besides the projection.

use crate::order::compare;
use crate::reply::integer;
use bson::{Bson, Document};
use std::cmp::Ordering;

/// How the documents of several shards become one list.
#[derive(Debug)]
pub(super) struct Order {
    /// The fields of the sort, with whether they are descending.
    fields: Vec<(String, bool)>,
    /// The projection that the shards get.
    pub projection: Document,
    /// The fields that it has for the order alone.
    removed: Vec<String>,
}

impl Order {
    /// The order of a sort; `None` where the documents of this projection can't be sorted by the values that they have.
    pub(super) fn of(sort: &Document, projection: &Document) -> Option<Order> {
        let mut fields = Vec::new();
        for (path, direction) in sort {
            match integer(direction) {
                // The order of a collection means nothing over several shards.
                Some(_) if path == "$natural" => {}
                Some(direction) => fields.push((path.clone(), direction < 0)),
                None => return None,
            }
        }
        let mut order = Order {
            fields,
            projection: projection.clone(),
            removed: Vec::new(),
        };
        if !order.fields.is_empty() && !projection.is_empty() {
            order.widen()?;
        }
        Some(order)
    }

    /// Whether values are compared at all.
    pub(super) fn compares(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Has the shards give the fields of the sort.
    fn widen(&mut self) -> Option<()> {
        let plain = |value: &Bson| match value {
            Bson::Boolean(is_included) => Some(*is_included),
            value => integer(value).map(|n| n != 0),
        };
        let mut included = Vec::new();
        let mut excluded = Vec::new();
        for (path, value) in &self.projection {
            match plain(value) {
                Some(true) => included.push(path.clone()),
                Some(false) => excluded.push(path.clone()),
                // What is computed may have the name of a field of the sort.
                None if self
                    .fields
                    .iter()
                    .any(|(field, _)| crate::key::overlap(field, path)) =>
                {
                    return None;
                }
                None => {}
            }
        }
        let is_inclusion =
            !included.is_empty() && included != ["_id"] || included == ["_id"] && excluded.is_empty();
        for (field, _) in &self.fields {
            let holds = |path: &String| field == path || field.starts_with(&format!("{path}."));
            let is_part = |path: &String| path.starts_with(&format!("{field}."));
            if excluded.iter().any(is_part) || included.iter().any(is_part) {
                return None;
            }
            if let Some(path) = excluded.iter().find(|path| holds(path)) {
                self.projection.remove(path);
                if is_inclusion {
                    self.projection.insert(path.clone(), 1);
                }
                self.removed.push(path.clone());
            } else if is_inclusion && field != "_id" && !included.iter().any(holds) {
                self.projection.insert(field.clone(), 1);
                self.removed.push(field.clone());
            }
        }
        Some(())
    }

    /// The documents in the order, with the skip and the limit of the command.
    pub(super) fn sorted(&self, mut documents: Vec<Document>, skip: usize, limit: usize) -> Vec<Document> {
        documents.sort_by(|a, b| self.compare(a, b));
        let mut documents: Vec<_> = documents.into_iter().skip(skip).take(limit).collect();
        for document in &mut documents {
            self.removed.iter().for_each(|path| remove(document, path));
        }
        documents
    }

    fn compare(&self, a: &Document, b: &Document) -> Ordering {
        let of_field = |(path, is_descending): &(String, bool)| {
            let (a, b) = (value(a, path, *is_descending), value(b, path, *is_descending));
            let order = compare(&a, &b);
            if *is_descending { order.reverse() } else { order }
        };
        self.fields
            .iter()
            .map(of_field)
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

/// The value by which a document is sorted: of the items of an array the least, or the greatest.
fn value(document: &Document, path: &str, is_descending: bool) -> Bson {
    let mut values = Vec::new();
    collect(document, path, &mut values);
    let picked = match is_descending {
        true => values.into_iter().max_by(compare),
        false => values.into_iter().min_by(compare),
    };
    picked.unwrap_or(Bson::Null)
}

fn collect(document: &Document, path: &str, values: &mut Vec<Bson>) {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first), rest) {
        (None, _) => values.push(Bson::Null),
        (Some(Bson::Array(items)), None) if items.is_empty() => values.push(Bson::Undefined),
        (Some(Bson::Array(items)), None) => values.extend(items.iter().cloned()),
        (Some(value), None) => values.push(value.clone()),
        (Some(Bson::Document(within)), Some(rest)) => collect(within, rest, values),
        (Some(Bson::Array(items)), Some(rest)) => {
            let before = values.len();
            items
                .iter()
                .filter_map(Bson::as_document)
                .for_each(|item| collect(item, rest, values));
            if let Some(item) = rest
                .split('.')
                .next()
                .and_then(|at| items.get(at.parse::<usize>().ok()?))
            {
                let behind = rest.split_once('.').map(|(_, behind)| behind);
                match (item, behind) {
                    (Bson::Document(within), Some(behind)) => collect(within, behind, values),
                    (item, None) => values.push(item.clone()),
                    _ => {}
                }
            }
            if values.len() == before {
                values.push(Bson::Null);
            }
        }
        (Some(_), Some(_)) => values.push(Bson::Null),
    }
}

/// Removes a field, and the documents around it that have no other field.
fn remove(document: &mut Document, path: &str) {
    let Some((first, rest)) = path.split_once('.') else {
        document.remove(path);
        return;
    };
    match document.get_mut(first) {
        Some(Bson::Document(within)) => {
            remove(within, rest);
            if within.is_empty() {
                document.remove(first);
            }
        }
        Some(Bson::Array(items)) => {
            for item in items.iter_mut().filter_map(Bson::as_document_mut) {
                remove(item, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn merged(sort: Document, projection: Document, documents: Vec<Document>) -> Option<Vec<Document>> {
        Some(Order::of(&sort, &projection)?.sorted(documents, 0, usize::MAX))
    }

    #[test]
    fn documents_are_sorted_as_the_server_sorts_them() {
        let documents = vec![
            doc! { "_id": 1, "a": 3 },
            doc! { "_id": 2, "a": [1, 9] },
            doc! { "_id": 3 },
            doc! { "_id": 4, "a": "text" },
            doc! { "_id": 5, "a": 2.5 },
            doc! { "_id": 6, "a": [] },
        ];
        let ids = |sort: Document| {
            let sorted = merged(sort, doc! {}, documents.clone()).unwrap_or_default();
            sorted
                .iter()
                .filter_map(|document| document.get_i32("_id").ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(doc! { "a": 1 }), [6, 3, 2, 5, 1, 4]);
        assert_eq!(ids(doc! { "a": -1 }), [4, 2, 1, 5, 3, 6]);
        assert_eq!(ids(doc! { "b": 1, "_id": -1 }), [6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn the_shards_give_the_fields_of_the_sort_besides_the_projection() {
        let order = |sort: Document, projection: Document| {
            let order = Order::of(&sort, &projection)?;
            Some((order.projection, order.removed))
        };
        let removed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for (sort, projection, expected) in [
            (
                doc! { "a": 1 },
                doc! { "b": 1 },
                Some((doc! { "b": 1, "a": 1 }, removed(&["a"]))),
            ),
            (
                doc! { "a": 1 },
                doc! { "a": 1 },
                Some((doc! { "a": 1 }, removed(&[]))),
            ),
            (
                doc! { "a.b": 1 },
                doc! { "a": 1 },
                Some((doc! { "a": 1 }, removed(&[]))),
            ),
            (doc! { "a": 1 }, doc! { "a.b": 1 }, None),
            (
                doc! { "_id": 1 },
                doc! { "a": 1, "_id": 0 },
                Some((doc! { "a": 1, "_id": 1 }, removed(&["_id"]))),
            ),
            (
                doc! { "a": 1 },
                doc! { "a": 0, "b": 0 },
                Some((doc! { "b": 0 }, removed(&["a"]))),
            ),
            (
                doc! { "a": 1 },
                doc! { "_id": 1 },
                Some((doc! { "_id": 1, "a": 1 }, removed(&["a"]))),
            ),
            (doc! { "a": 1 }, doc! { "a": { "$slice": 1 } }, None),
            (doc! { "s": { "$meta": "textScore" } }, doc! {}, None),
        ] {
            assert_eq!(
                order(sort.clone(), projection.clone()),
                expected,
                "{sort} {projection}"
            );
        }
    }

    #[test]
    fn a_field_for_the_order_alone_is_removed_with_what_is_around_it() {
        let documents = vec![
            doc! { "_id": 1, "a": { "b": 2 }, "c": 1 },
            doc! { "_id": 2, "a": { "b": 1 }, "c": 1 },
        ];
        assert_eq!(
            merged(doc! { "a.b": 1 }, doc! { "c": 1 }, documents),
            Some(vec![doc! { "_id": 2, "c": 1 }, doc! { "_id": 1, "c": 1 }])
        );
    }
}

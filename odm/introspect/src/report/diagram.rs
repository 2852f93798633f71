//! The diagrams of a page: the collections that refer to each other.

use crate::advice::words::{count, documents};
use crate::design::{Collection, ComputedKind, Copied, Design, Reference};
use odm_diagram::{Diagram, Field, FieldKind, Line, LineKind, Node, Port};
use std::collections::{BTreeMap, BTreeSet};

/// Of more lines nobody can follow one.
const LINES: usize = 120;
/// Less sure references are in the table alone.
const SURE: f64 = 0.5;

/// A diagram for each group of collections that refer to each other.
pub fn all(design: &Design) -> Vec<Diagram> {
    let mut groups: Vec<BTreeSet<&str>> = Vec::new();
    for reference in drawn(design) {
        let ends: BTreeSet<&str> = [reference.from.collection.as_str(), &reference.to.collection].into();
        let (mut touched, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| !group.is_disjoint(&ends));
        touched.push(ends);
        groups = others;
        groups.push(touched.into_iter().flatten().collect());
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.iter().map(|group| diagram(design, group)).collect()
}

fn drawn(design: &Design) -> impl Iterator<Item = &Reference> {
    let sure = design
        .references
        .iter()
        .filter(|reference| reference.confidence >= SURE);
    sure.take(LINES)
}

fn path(reference: &Reference) -> String {
    reference.from.paths.join(", ")
}

fn diagram(design: &Design, group: &BTreeSet<&str>) -> Diagram {
    let collections: Vec<&Collection> = design
        .collections
        .iter()
        .filter(|collection| group.contains(collection.name.as_str()))
        .collect();
    let mut lines = Vec::new();
    let at = |name: &str| collections.iter().position(|collection| collection.name == name);
    let mut seconds: BTreeSet<usize> = BTreeSet::new();
    let mut words = Vec::new();
    for reference in drawn(design) {
        let (Some(from), Some(to)) = (at(&reference.from.collection), at(&reference.to.collection)) else {
            continue;
        };
        if seconds.contains(&reference.id) {
            continue;
        }
        let link = design
            .two_way
            .iter()
            .find(|link| link.a == reference.id || link.b == reference.id);
        let other = link.and_then(|link| design.reference(link.a + link.b - reference.id));
        if let Some(other) = other {
            seconds.insert(other.id);
        }
        let said = format!(
            "{}.{} refers to {}: {} of {} found",
            reference.from.collection,
            path(reference),
            reference.to.collection,
            count(reference.found),
            count(reference.found + reference.dangling),
        );
        words.push(said.clone());
        let end = match other {
            Some(other) => Some(path(other)),
            None => Some(reference.to.paths.join(", ")).filter(|to| to != "_id"),
        };
        lines.push(Line {
            from: Port {
                node: from,
                field: Some(path(reference)),
            },
            to: Port { node: to, field: end },
            kind: if link.is_some() {
                LineKind::TwoWay
            } else {
                LineKind::Reference
            },
            label: String::new(),
            words: said,
        });
    }
    let names: Vec<&str> = collections
        .iter()
        .map(|collection| collection.name.as_str())
        .collect();
    Diagram {
        title: format!("References and copies of {}", names.join(", ")),
        description: words.join("; "),
        boxes: collections
            .iter()
            .map(|collection| node(design, collection))
            .collect(),
        lines,
    }
}

/// A collection with the fields that refer, that are referred to, and that come from elsewhere.
fn node(design: &Design, collection: &Collection) -> Node {
    let mut fields: BTreeMap<String, Field> = BTreeMap::new();
    let mut add = |name: String, text: String, kind: FieldKind| {
        let field = Field {
            // A row shows the begin of a long name.
            words: format!("{name} {text}").trim_end().to_owned(),
            name: name.clone(),
            text,
            kind,
            fields: Vec::new(),
        };
        fields
            .entry(name)
            .and_modify(|known| {
                if kind == FieldKind::Reference && known.kind == kind {
                    known.text = format!("{}, {}", known.text, field.text.trim_start_matches("→ "));
                }
            })
            .or_insert(field);
    };
    for reference in drawn(design) {
        if reference.from.collection == collection.name {
            add(
                path(reference),
                format!("→ {}", reference.to.collection),
                FieldKind::Reference,
            );
        }
    }
    for reference in drawn(design) {
        let to = reference.to.paths.join(", ");
        if reference.to.collection == collection.name && to != "_id" {
            add(to, String::new(), FieldKind::Plain);
        }
    }
    // The copies by one reference are one row.
    let mut copies: BTreeMap<usize, Vec<&Copied>> = BTreeMap::new();
    for copy in design.copies.iter().filter(|copy| !copy.weak) {
        copies.entry(copy.by).or_default().push(copy);
    }
    for (by, copies) in copies {
        let by = design.reference(by).filter(|by| by.confidence >= SURE);
        let Some(by) = by.filter(|by| by.from.collection == collection.name) else {
            continue;
        };
        let mut names = copies.iter().map(|copy| copy.path.as_str());
        let mut name = names.next().unwrap_or_default().to_owned();
        for other in names {
            name.push_str(", ");
            name.push_str(other.rsplit('.').next().unwrap_or(other));
        }
        let text = match copies.as_slice() {
            [copy] => format!("= {}.{}", by.to.collection, copy.from),
            _ => format!("= {}", by.to.collection),
        };
        add(name, text, FieldKind::Derived);
    }
    for computed in design
        .computed
        .iter()
        .filter(|computed| computed.collection == collection.name)
    {
        let by = computed.by.and_then(|by| design.reference(by));
        let children = by.map(|by| by.from.collection.as_str());
        let of = computed.of.first().map_or("", String::as_str);
        let text = match (computed.kind, children) {
            (ComputedKind::CountOfReferrers, Some(children)) => format!("count({children})"),
            (ComputedKind::SumOfReferrers, Some(children)) => format!("sum({children}.{of})"),
            (ComputedKind::AverageOfReferrers, Some(children)) => format!("avg({children}.{of})"),
            _ => format!("from {}", computed.of.join(", ")),
        };
        add(computed.path.clone(), text, FieldKind::Derived);
    }
    Node {
        name: collection.name.clone(),
        below: vec![documents(collection.documents)],
        fields: fields.into_values().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn collections_that_refer_to_each_other_are_in_one_diagram() {
        let all = all(&faulty());
        let names = |diagram: &Diagram| -> Vec<String> {
            diagram.boxes.iter().map(|node| node.name.clone()).collect()
        };
        assert_eq!(all.len(), 2);
        assert_eq!(names(&all[0]), ["orders", "customers"]);
        assert_eq!(names(&all[1]), ["people", "tasks"]);
        // Two references that say the same are one line.
        assert_eq!(all[1].lines.len(), 1);
        assert_eq!(all[1].lines[0].kind, LineKind::TwoWay);
        let fields: Vec<_> = all[0].boxes[0]
            .fields
            .iter()
            .map(|field| field.text.clone())
            .collect();
        assert_eq!(fields, ["→ customers", "= customers.name"]);
    }

    #[test]
    fn without_references_there_is_none() {
        assert!(all(&database(vec![collection("orders", 3, vec![])])).is_empty());
    }
}

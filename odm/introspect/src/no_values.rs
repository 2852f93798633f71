//! `--no-values`: a design without what documents hold, for reports that leave the house.

use crate::design::{Design, Field};
use bson::{Bson, Document};

/// Takes every value out of a design: examples, values of enumerations and of tags, the least and the greatest number, and what options
/// compare with. Names, shapes and figures stay.
pub fn without_values(design: &mut Design) {
    for collection in &mut design.collections {
        options(&mut collection.options);
        for index in &mut collection.indexes {
            options(&mut index.options);
        }
        field(&mut collection.root);
    }
    for reference in design.references.iter_mut().chain(&mut design.possible) {
        reference.examples.clear();
        if let Some(told) = &mut reference.told {
            told.values.clear();
        }
    }
    for link in &mut design.two_way {
        link.examples.clear();
    }
    for copy in &mut design.copies {
        copy.examples.clear();
    }
    for computed in &mut design.computed {
        computed.examples.clear();
    }
}

fn field(one: &mut Field) {
    one.values.clear();
    one.numbers = None;
    for variants in &mut one.variants {
        // Where which fields are there tells them, the name is one of a field.
        if variants.tag.is_some() {
            for (at, kind) in variants.kinds.iter_mut().enumerate() {
                kind.value = format!("variant {}", at + 1);
            }
        }
    }
    for below in &mut one.fields {
        field(below);
    }
    if let Some(items) = &mut one.items {
        field(items);
    }
    if let Some(map) = &mut one.map {
        map.examples.clear();
        field(&mut map.values);
    }
}

/// A filter, a validator and a pipeline compare with values; the others are settings. A filter by which fields are there, and of which
/// type they are, has none.
fn options(options: &mut Document) {
    for (name, value) in options.iter_mut() {
        let is_filter = name == "partialFilterExpression";
        if is_filter && !has_values(value) {
            continue;
        }
        if is_filter || matches!(name.as_str(), "validator" | "pipeline") {
            *value = Bson::Document(Document::new());
        }
    }
}

fn has_values(filter: &Bson) -> bool {
    match filter {
        Bson::Document(all) => all
            .iter()
            .any(|(name, value)| !matches!(name.as_str(), "$exists" | "$type") && has_values(value)),
        Bson::Array(all) => all.iter().any(has_values),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{advise, fixtures::faulty};
    use crate::design::{Told, Variant, Variants};
    use crate::report::{html, json, text};
    use bson::doc;

    #[test]
    fn no_report_has_a_value() -> serde_json::Result<()> {
        let mut design = faulty();
        let orders = &mut design.collections[0];
        orders.options =
            doc! { "validator": { "state": "secret" }, "pipeline": [{ "$match": { "state": "secret" } }] };
        orders.indexes[1].options = doc! { "partialFilterExpression": { "state": "secret" } };
        orders.root.variants.push(Variants {
            tag: Some("state".to_owned()),
            kinds: vec![Variant {
                value: "secret".to_owned(),
                ..Default::default()
            }],
            ..Default::default()
        });
        design.references[0].told = Some(Told {
            path: "state".to_owned(),
            values: vec!["secret".to_owned()],
            prefix: false,
        });
        let reports = |design: &Design| -> serde_json::Result<Vec<String>> {
            let advice = advise(design);
            Ok(vec![
                json::write(design, &advice)?,
                text::write(design, &advice),
                html::write(design, &advice),
            ])
        };
        let shown = |text: &str| text.to_lowercase().contains("secret");
        assert!(shown(&reports(&design)?[0]) && shown(&reports(&design)?[2]));
        without_values(&mut design);
        for report in reports(&design)? {
            assert!(!shown(&report), "{report}");
        }
        Ok(())
    }
}

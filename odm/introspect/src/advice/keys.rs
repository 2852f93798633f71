//! Keys that no path can name.

use super::fields::fields;
use super::kinds::{Advice, Rule, Severity};
use super::names;
use super::remedy::{Remedy, bound, embedded, field, holder};
use super::words::{count, counted, place};
use crate::design::{Collection, Design, Field};
use crate::kind::Kind;

/// Keys with a dot, or that begin with `$`.
pub fn awkward_keys(design: &Design) -> Vec<Advice> {
    let is_awkward = |key: &str| key.contains('.') || key.starts_with('$');
    let mut all = Vec::new();
    for (collection, fields) in fields(design) {
        for field in fields {
            let (number, whole, examples) = match &field.map {
                Some(map) => {
                    let known: Vec<String> = map
                        .examples
                        .iter()
                        .filter(|key| is_awkward(key))
                        .cloned()
                        .collect();
                    (map.awkward.max(known.len() as u64), map.keys, known)
                }
                None => {
                    // A name is part of the shape, and no value.
                    let named: Vec<String> = field
                        .fields
                        .iter()
                        .map(|field| field.name.clone())
                        .filter(|name| is_awkward(name))
                        .collect();
                    (named.len() as u64, field.fields.len() as u64, Vec::new())
                }
            };
            if number == 0 {
                continue;
            }
            all.push(awkward(collection, field, number, whole, &examples));
        }
    }
    all
}

fn awkward(collection: &Collection, map: &Field, number: u64, whole: u64, examples: &[String]) -> Advice {
    let entry = names::embedded_name(&collection.name, &format!("{}[]", map.path));
    let value = map.map.as_ref().map(|map| map.values.as_ref());
    let value = match value.and_then(Field::only_kind) {
        Some(Kind::Object | Kind::Array) | None => {
            names::embedded_name(&collection.name, &map.path) + "Value"
        }
        _ => names::rust_type(value).to_owned(),
    };
    let most = map.map.as_ref().map_or(whole, |map| map.per_map.greatest);
    let remedy = Remedy::new(
        "Store an array of entries with the key as a field, which an index and a condition can name.",
    )
    .rust(embedded(
        &entry,
        &[],
        &format!("pub key: String,\npub value: {value},"),
    ))
    .rust(holder(
        &collection.name,
        &map.path,
        &field(
            &map.path,
            &[format!("#[embed(max = {})]", bound(most))],
            &format!("Vec<{entry}>"),
        ),
    ));
    let remedy = match names::written(&map.path).filter(|_| !map.path.contains('[')) {
        Some(path) => remedy.step(&[
            format!("let map = doc! {{ {path:?}: {{ \"$type\": \"object\", \"$not\": {{ \"$type\": \"array\" }} }} }};"),
            format!("let pairs = doc! {{ \"$objectToArray\": {:?} }};", format!("${path}")),
            "let entry = doc! { \"key\": \"$$this.k\", \"value\": \"$$this.v\" };".to_owned(),
            "let entries = doc! { \"$map\": { \"input\": pairs, \"in\": entry } };".to_owned(),
            format!("let array = doc! {{ \"$set\": {{ {path:?}: entries }} }};"),
            format!("step.collection({:?}).update(map, [array]).await", collection.name),
        ]),
        None => remedy,
    };
    Advice::new(Rule::AwkwardKeys, Severity::Risk, &collection.name, &map.path)
        .finding(format!(
            "{} of {} of `{}` {} a dot or begin with `$`.",
            count(number),
            counted(whole, "key", "keys"),
            place(&collection.name, &map.path),
            if number == 1 { "has" } else { "have" },
        ))
        .cost(format!(
            "No path, condition, update or index can name the values of {}; a change of one sends the whole map.",
            counted(number, "key", "keys"),
        ))
        .remedy(remedy)
        .figure("affected", number as f64)
        .figure("awkward", number as f64)
        .figure("keys", whole as f64)
        .examples(examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;
    use crate::design::Map;

    fn one(field: Field) -> Design {
        database(vec![collection("orders", 300, vec![field])])
    }

    #[test]
    fn keys_with_dots_are_found() {
        let mut by_host = object("hosts", 300, Vec::new());
        by_host.map = Some(Map {
            keys: 40,
            awkward: 3,
            per_map: spread(&[(4, 300)]),
            values: Box::new(number("hosts{}", 1_200)),
            ..Default::default()
        });
        let all = awkward_keys(&one(by_host.clone()));
        assert_eq!((all.len(), all[0].place().as_str()), (1, "orders.hosts"));
        if let Some(map) = &mut by_host.map {
            map.awkward = 0;
        }
        assert!(awkward_keys(&one(by_host)).is_empty());
    }
}

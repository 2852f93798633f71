//! The forms in which a client in another language stores the same document.

use odm::bson::{Bson, Document as Raw, doc};
use odm_tests::random::Random;

/// A person in another form.
pub fn disguise(stored: Raw, random: &mut Random) -> Raw {
    let mut person = stored;
    let default = |name: &str| match name {
        "active" => Some(Bson::Boolean(true)),
        "points" => Some(Bson::Int32(7)),
        "tags" => Some(Bson::Array(Vec::new())),
        "nickname" => Some(Bson::Null),
        _ => None,
    };
    for name in ["active", "points", "tags", "nickname"] {
        let is_default = match (person.get(name), default(name)) {
            (Some(Bson::Double(n)), Some(Bson::Int32(default))) => *n == f64::from(default),
            (stored, default) => stored.is_none() || stored == default.as_ref(),
        };
        if !is_default {
            continue;
        }
        if random.one_in(2) {
            person.remove(name)
        } else {
            person.insert(name, default(name).unwrap_or(Bson::Null))
        };
    }
    for set in ["owned", "labels"] {
        if let Ok(items) = person.get_array_mut(set)
            && (1..20).contains(&items.len())
            && random.one_in(3)
        {
            let twin = items[random.below(items.len())].clone();
            let at = random.below(items.len() + 1);
            items.insert(at, twin);
        }
    }
    keys_and_numbers(person, random)
}

/// The same keys in another order, whole numbers as doubles, and embedded structs with a field that no struct declares.
/// An id, a reference and what the library keeps for itself stay as they are.
pub fn keys_and_numbers(stored: Raw, random: &mut Random) -> Raw {
    let mut fields: Vec<(String, Bson)> = stored.into_iter().collect();
    for (name, value) in &mut fields {
        if name != "_id" && name != "club" && !name.starts_with('_') {
            *value = disguised(std::mem::replace(value, Bson::Null), random);
        }
    }
    shuffled(fields, random)
}

fn disguised(value: Bson, random: &mut Random) -> Bson {
    match value {
        Bson::Int32(n) if random.one_in(3) => Bson::Double(f64::from(n)),
        Bson::Int32(n) if random.one_in(3) => Bson::Int64(n.into()),
        Bson::Array(items) => items
            .into_iter()
            .map(|item| disguised(item, random))
            .collect::<Vec<_>>()
            .into(),
        Bson::Document(inner) => {
            let is_place = inner.contains_key("city");
            let mut fields: Vec<(String, Bson)> = inner
                .into_iter()
                .map(|(name, value)| (name, disguised(value, random)))
                .collect();
            if is_place {
                fields.retain(|(name, value)| name != "zip" || *value != Bson::Null);
                if !fields.iter().any(|(name, _)| name == "zip") && random.one_in(2) {
                    fields.push(("zip".to_owned(), Bson::Null));
                }
                if !fields.iter().any(|(name, _)| name == "floor") && random.one_in(4) {
                    fields.push(("floor".to_owned(), doc! { "n": 3 }.into()));
                }
            }
            shuffled(fields, random).into()
        }
        value => value,
    }
}

fn shuffled(mut fields: Vec<(String, Bson)>, random: &mut Random) -> Raw {
    for last in (1..fields.len()).rev() {
        fields.swap(last, random.below(last + 1));
    }
    fields.into_iter().collect()
}

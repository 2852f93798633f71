//! One type for shapes that are the same in several places.

use super::model::{Helper, Is, Key, Many, Member, Models, Plain, Target, Type};
use std::collections::HashMap;

/// The fewest fields that tell shapes to be the same thing.
const FIELDS: usize = 2;

/// A type that is known and has the same shape, which then takes what differs: what is optional, and greater bounds.
pub fn find(models: &mut Models, is: &Is) -> Option<usize> {
    let roots: Vec<usize> = models.collections.iter().map(|model| model.root).collect();
    for at in 0..models.types.len() {
        if roots.contains(&at) {
            continue;
        }
        let Some(known) = models.types.get(at) else {
            continue;
        };
        if let Some(both) = join(&known.is, is) {
            let both_missing = is_or_null(&both);
            if let Some(known) = models.types.get_mut(at) {
                known.is = both;
            }
            if both_missing {
                models.helpers.insert(Helper::OrNull);
            }
            return Some(at);
        }
    }
    None
}

fn is_or_null(is: &Is) -> bool {
    match is {
        Is::Struct { fields, .. } => fields.iter().any(|field| field.presence.is_both()),
        _ => false,
    }
}

/// The shape of both, where they are the same.
fn join(a: &Is, b: &Is) -> Option<Is> {
    match (a, b) {
        (Is::Enum(a), Is::Enum(b)) if a == b => Some(Is::Enum(a.clone())),
        (Is::Union(a), Is::Union(b)) if a.len() == b.len() => {
            let variants = a.iter().zip(b).map(|((name, a), (other, b))| {
                let ty = (name == other).then(|| types(a, b))??;
                Some((name.clone(), ty))
            });
            variants.collect::<Option<_>>().map(Is::Union)
        }
        (Is::Around(a), Is::Around(b)) => {
            let ty = types(&a.ty, &b.ty)?;
            Some(Is::Around(Box::new(Member { ty, ..(**a).clone() })))
        }
        (
            Is::Struct {
                fields: a,
                extra: extra_a,
                reordered: reordered_a,
            },
            Is::Struct {
                fields: b,
                extra: extra_b,
                reordered: reordered_b,
            },
        ) => {
            if a.len() != b.len() || a.len() < FIELDS || extra_a != extra_b {
                return None;
            }
            let by_name: HashMap<&str, &Member> =
                b.iter().map(|field| (field.stored.as_str(), field)).collect();
            let mut fields = Vec::with_capacity(a.len());
            for field in a {
                let other = by_name.get(field.stored.as_str())?;
                fields.push(members(field, other)?);
            }
            let same_order = a.iter().zip(b).all(|(a, b)| a.stored == b.stored);
            // The order of the fields is that of the first: another one would write the second differently.
            (same_order || *reordered_a || *reordered_b).then(|| Is::Struct {
                fields,
                extra: extra_a.clone(),
                reordered: *reordered_a || *reordered_b || !same_order,
            })
        }
        _ => None,
    }
}

fn members(a: &Member, b: &Member) -> Option<Member> {
    if a.copy != b.copy {
        return None;
    }
    let ty = types(&a.ty, &b.ty)?;
    let presence = a.presence.or(b.presence);
    // Neither a reference nor an array tells missing from null.
    if presence.is_both() && (matches!(ty, Type::Ref(_)) || ty.is_many() || a.copy.is_some()) {
        return None;
    }
    // A copy is optional where its source or its reference is: that of both is as it is for each.
    if a.copy.is_some() && a.presence.is_optional() != b.presence.is_optional() {
        return None;
    }
    Some(Member {
        ty,
        presence,
        ..a.clone()
    })
}

fn types(a: &Type, b: &Type) -> Option<Type> {
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Type::Unknown, Type::List(_) | Type::Map(_)) | (Type::List(_) | Type::Map(_), Type::Unknown) => {
            return None;
        }
        (Type::Unknown, other) | (other, Type::Unknown) if !other.is_opaque() => other.clone(),
        (Type::AnyList, list @ Type::List(_)) | (list @ Type::List(_), Type::AnyList) => list.clone(),
        (Type::List(a), Type::List(b)) => Type::List(many(a, b)?),
        (Type::Map(a), Type::Map(b)) => Type::Map(many(a, b)?),
        (Type::Ref(a), Type::Ref(b)) => Type::Ref(targets(a, b)?),
        (Type::Helper(Helper::Integer), Type::Plain(Plain::I32))
        | (Type::Plain(Plain::I32), Type::Helper(Helper::Integer)) => Type::Helper(Helper::Integer),
        _ => return None,
    })
}

fn many(a: &Many, b: &Many) -> Option<Many> {
    Some(Many {
        item: Box::new(types(&a.item, &b.item)?),
        null: a.null || b.null,
        found: a.found.max(b.found),
        key: a.key.max(b.key),
    })
}

fn targets(a: &Target, b: &Target) -> Option<Target> {
    let is_same = a.collection == b.collection && a.by == b.by;
    let is_key = matches!((a.key, b.key), (Key::Plain(a), Key::Plain(b)) if a == b) || a.key == b.key;
    (is_same && is_key).then(|| a.clone())
}

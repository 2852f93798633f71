//! One type for shapes that are the same in several places, or nearly so.

use super::model::{
    Helper, Is, Key, Many, Member, Models, Named, Plain, Presence, Role, Target, Type, Variant,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The fewest fields that tell equal shapes to be the same thing.
const FIELDS: usize = 2;
/// The fewest fields that both of two unequal shapes have.
const SHARED: usize = 5;
/// The share of all fields that both have.
const ALIKE: f64 = 0.7;

/// A type that is known and has the same shape, which then takes what differs: what is optional, further fields and greater bounds.
pub fn find(models: &mut Models, is: &Is) -> Option<usize> {
    let roots: HashSet<usize> = models.collections.iter().map(|model| model.root).collect();
    let all = |only_equal: bool| {
        models
            .types
            .iter()
            .enumerate()
            .filter(|(at, known)| !roots.contains(at) && known.copies.is_none())
            .find_map(|(at, known)| {
                let mut join = Join {
                    types: &models.types,
                    variants: BTreeMap::new(),
                    only_equal,
                };
                let both = join.forms(&known.is, is)?;
                Some((at, both, join.variants))
            })
    };
    let (at, both, variants) = all(true).or_else(|| all(false))?;
    if both
        .members()
        .iter()
        .any(|field| field.presence.is_both() && !field.ty.is_opaque())
    {
        models.helpers.insert(Helper::OrNull);
    }
    if let Some(known) = models.types.get_mut(at) {
        known.is = both;
    }
    for (at, variants) in variants {
        if let Some(known) = models.types.get_mut(at) {
            known.is = Is::Enum(variants);
        }
    }
    Some(at)
}

struct Join<'m> {
    types: &'m [Named],
    /// The variants of enums that take those of others.
    variants: BTreeMap<usize, Vec<(String, String)>>,
    /// Whether the fields have the same names in the same order.
    only_equal: bool,
}

impl Join<'_> {
    /// The shape of both, where they are the same.
    fn forms(&mut self, a: &Is, b: &Is) -> Option<Is> {
        match (a, b) {
            (Is::Enum(a), Is::Enum(b)) if a == b => Some(Is::Enum(a.clone())),
            (Is::Union(a), Is::Union(b)) if a.len() == b.len() => {
                let mut variants = Vec::with_capacity(a.len());
                for ((name, a), (other, b)) in a.iter().zip(b) {
                    if name != other {
                        return None;
                    }
                    variants.push((name.clone(), self.types(a, b)?));
                }
                Some(Is::Union(variants))
            }
            (
                Is::Tagged { tag, variants: a },
                Is::Tagged {
                    tag: other,
                    variants: b,
                },
            ) if tag == other && a.len() == b.len() => {
                let variants = a.iter().zip(b).map(|(a, b)| {
                    let is_same = a.stored == b.stored && a.fields.len() == b.fields.len();
                    let fields = a.fields.iter().zip(&b.fields).map(|(a, b)| {
                        let is_same = is_same && a.stored == b.stored;
                        is_same.then(|| self.members(a, b))?
                    });
                    let fields = fields.collect::<Option<Vec<_>>>()?;
                    is_same.then(|| Variant { fields, ..a.clone() })
                });
                let variants = variants.collect::<Option<Vec<_>>>()?;
                Some(Is::Tagged {
                    tag: tag.clone(),
                    variants,
                })
            }
            (Is::Around(a), Is::Around(b)) => {
                let ty = self.types(&a.ty, &b.ty)?;
                Some(Is::Around(Box::new(Member { ty, ..(**a).clone() })))
            }
            (
                Is::Struct {
                    fields: a,
                    extra: extra_a,
                    others: others_a,
                    reordered: reordered_a,
                },
                Is::Struct {
                    fields: b,
                    extra: extra_b,
                    others: others_b,
                    reordered: reordered_b,
                },
            ) if extra_a == extra_b => {
                let (fields, is_ordered) = self.fields(a, b)?;
                Some(Is::Struct {
                    fields,
                    extra: extra_a.clone(),
                    reordered: *reordered_a || *reordered_b || !is_ordered,
                    others: *others_a.max(others_b),
                })
            }
            _ => None,
        }
    }

    /// The fields of both, and whether those that both have stand in one order.
    fn fields(&mut self, a: &[Member], b: &[Member]) -> Option<(Vec<Member>, bool)> {
        let at: HashMap<&str, usize> = a
            .iter()
            .enumerate()
            .map(|(at, one)| (one.stored.as_str(), at))
            .collect();
        let shared: Vec<usize> = b
            .iter()
            .filter_map(|one| at.get(one.stored.as_str()).copied())
            .collect();
        let is_equal = shared.len() == a.len() && shared.len() == b.len();
        let is_ordered = shared.windows(2).all(|two| two.first() < two.last());
        let all = a.len() + b.len() - shared.len();
        let is_alike = shared.len() >= SHARED && shared.len() as f64 >= ALIKE * all as f64;
        let fits = match self.only_equal {
            true => is_equal && is_ordered && a.len() >= FIELDS,
            false => is_equal && a.len() >= FIELDS || is_alike && is_ordered,
        };
        if !fits {
            return None;
        }
        let missing = Presence {
            missing: true,
            null: false,
        };
        let mut fields: Vec<Member> = Vec::with_capacity(all);
        let of_b: HashSet<&str> = b.iter().map(|one| one.stored.as_str()).collect();
        for one in a {
            fields.push(if of_b.contains(one.stored.as_str()) {
                one.clone()
            } else {
                optional(one, missing)?
            });
        }
        // A field of `b` alone stands behind the one that is before it there.
        let mut place = 0;
        for one in b {
            match fields.iter().position(|known| known.stored == one.stored) {
                Some(at) => {
                    let known = fields.get_mut(at)?;
                    *known = self.members(known, one)?;
                    place = at + 1;
                }
                None => {
                    let mut new = optional(one, missing)?;
                    while fields.iter().any(|known| known.rust == new.rust) {
                        new.rust.push('_');
                    }
                    fields.insert(place, new);
                    place += 1;
                }
            }
        }
        Some((fields, is_ordered))
    }

    fn members(&mut self, a: &Member, b: &Member) -> Option<Member> {
        // A copy is optional where its source or its reference is: that of both is as it is for each.
        let is_copy = a.role != Role::Plain;
        if a.role != b.role || is_copy && a.presence.is_optional() != b.presence.is_optional() {
            return None;
        }
        let ty = self.types(&a.ty, &b.ty)?;
        optional(&Member { ty, ..a.clone() }, b.presence)
    }

    fn types(&mut self, a: &Type, b: &Type) -> Option<Type> {
        Some(match (a, b) {
            (a, b) if a == b => a.clone(),
            (Type::Unknown, Type::List(_) | Type::Map(_)) | (Type::List(_) | Type::Map(_), Type::Unknown) => {
                return None;
            }
            (Type::Unknown, other) | (other, Type::Unknown) if !other.is_opaque() => other.clone(),
            (Type::AnyList, list @ Type::List(_)) | (list @ Type::List(_), Type::AnyList) => list.clone(),
            (Type::List(a), Type::List(b)) => Type::List(self.many(a, b)?),
            (Type::Map(a), Type::Map(b)) => Type::Map(self.many(a, b)?),
            (Type::Ref(a), Type::Ref(b)) => Type::Ref(targets(a, b)?),
            (Type::Helper(Helper::Integer), Type::Plain(Plain::I32))
            | (Type::Plain(Plain::I32), Type::Helper(Helper::Integer)) => Type::Helper(Helper::Integer),
            (Type::Named(a), Type::Named(b)) => self.enums(*a, *b)?,
            (Type::Named(at), text @ Type::Plain(Plain::String))
            | (text @ Type::Plain(Plain::String), Type::Named(at))
                if self
                    .types
                    .get(*at)
                    .is_some_and(|named| matches!(named.is, Is::Enum(_))) =>
            {
                text.clone()
            }
            _ => return None,
        })
    }

    /// The first enum, with the variants of the second.
    fn enums(&mut self, a: usize, b: usize) -> Option<Type> {
        let of = |at: usize| match self.types.get(at).map(|named| &named.is) {
            Some(Is::Enum(variants)) => Some(variants.clone()),
            _ => None,
        };
        let (known, others) = (of(a)?, of(b)?);
        let mut all = self.variants.get(&a).cloned().unwrap_or(known);
        for (rust, stored) in others {
            if all.iter().any(|(_, known)| *known == stored) {
                continue;
            }
            // Two texts of one name in Rust.
            if all.iter().any(|(known, _)| known.eq_ignore_ascii_case(&rust)) {
                return None;
            }
            all.push((rust, stored));
        }
        all.sort_by(|a, b| a.1.cmp(&b.1));
        self.variants.insert(a, all);
        Some(Type::Named(a))
    }

    fn many(&mut self, a: &Many, b: &Many) -> Option<Many> {
        Some(Many {
            item: Box::new(self.types(&a.item, &b.item)?),
            null: a.null || b.null,
            found: a.found.max(b.found),
            key: a.key.max(b.key),
        })
    }
}

/// The field where it may be missing or null too. `None`, where its type doesn't tell missing from null, or it is a copy.
fn optional(member: &Member, presence: Presence) -> Option<Member> {
    let presence = member.presence.or(presence);
    let has_role = member.role != Role::Plain;
    let is_plain = !matches!(member.ty, Type::Ref(_)) && !member.ty.is_many() && !has_role;
    if presence.is_both() && !is_plain || presence != member.presence && has_role {
        return None;
    }
    Some(Member {
        presence,
        ..member.clone()
    })
}

fn targets(a: &Target, b: &Target) -> Option<Target> {
    let is_same = a.collection == b.collection && a.by == b.by;
    let is_key = matches!((a.key, b.key), (Key::Plain(a), Key::Plain(b)) if a == b) || a.key == b.key;
    (is_same && is_key).then(|| a.clone())
}

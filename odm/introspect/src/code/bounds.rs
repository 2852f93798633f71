//! Bounds of arrays and maps: what was found, with headroom.

use super::model::{Is, Many, Member, Models, Plain, Type, Variant};

/// The most references of an array.
pub const REFERENCES: u64 = 5_000;
/// The most items of an array.
const ITEMS: u64 = 16_777_216;
/// The size that a document stays below: that of MongoDB, less what the library and the names need.
const SIZE: u64 = 15 * 1024 * 1024;

/// A bound for a greatest number that was found: at least half as much again, and a round number.
pub fn with_headroom(found: u64) -> u64 {
    let least = found.saturating_add(found / 2).max(10);
    let mut ten = 10_u64;
    loop {
        for times in [1, 2, 5] {
            let bound = ten.saturating_mul(times);
            if bound >= least {
                return bound.clamp(found.max(1), ITEMS.max(found));
            }
        }
        ten = ten.saturating_mul(10);
    }
}

/// A number with its digits in groups of three.
pub fn digits(number: u64) -> String {
    let text = number.to_string();
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at > 0 && (text.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(c);
    }
    out
}

impl Models {
    /// Makes the bounds of a struct as small as what was found, where its documents could exceed MongoDB's limit otherwise, and leaves an
    /// array unread where that is not enough.
    pub fn fit(&mut self, root: usize) {
        if self.size_of(root, true, 0).is_none_or(|size| size <= SIZE) {
            return;
        }
        let Some(named) = self.types.get(root) else { return };
        let Is::Struct { fields, .. } = &named.is else {
            return;
        };
        let sizes: Vec<(usize, u64)> = fields
            .iter()
            .enumerate()
            .map(|(at, field)| (at, self.size(&field.ty, true, 0).unwrap_or(0)))
            .collect();
        let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
        if let (Some((at, _)), Some(named)) = (largest, self.types.get_mut(root))
            && let Is::Struct { fields, .. } = &mut named.is
            && let Some(field) = fields.get_mut(at)
        {
            field.ty = Type::Any;
            field.comments.push(
                "With the bounds that the data show, it alone could exceed 16 MiB: it is not looked into."
                    .to_owned(),
            );
        }
    }

    fn size_of(&self, at: usize, headroom: bool, depth: u32) -> Option<u64> {
        if depth > 100 {
            return None;
        }
        match &self.types.get(at)?.is {
            Is::Struct { extra: Some(_), .. } => None,
            Is::Struct { fields, .. } => self.size_of_fields(fields, headroom, depth),
            Is::Tagged { tag, variants } => {
                let name = |variant: &Variant| (tag.len() + variant.stored.len()) as u64 + 7;
                variants.iter().try_fold(0_u64, |most, variant| {
                    let size = self.size_of_fields(&variant.fields, headroom, depth)?;
                    Some(most.max(size.saturating_add(name(variant))))
                })
            }
            Is::Enum(variants) => variants.iter().map(|(_, name)| name.len() as u64 + 5).max(),
            Is::Union(variants) => variants.iter().try_fold(0_u64, |most, (_, ty)| {
                Some(most.max(self.size(ty, headroom, depth + 1)?))
            }),
            Is::Around(member) => self.size(&member.ty, headroom, depth + 1),
        }
    }

    fn size_of_fields(&self, fields: &[Member], headroom: bool, depth: u32) -> Option<u64> {
        fields.iter().try_fold(5_u64, |total, field| {
            let value = self.size(&field.ty, headroom, depth + 1)?;
            let name = 2 + field.stored.len() as u64;
            Some(total.saturating_add(value).saturating_add(name))
        })
    }

    fn size(&self, ty: &Type, headroom: bool, depth: u32) -> Option<u64> {
        let items = |many: &Many, of: u64| -> Option<u64> {
            let item = self.size(&many.item, headroom, depth + 1)?;
            let number = if headroom {
                with_headroom(many.found)
            } else {
                many.found
            };
            Some(number.saturating_mul(item.saturating_add(of)).saturating_add(5))
        };
        match ty {
            Type::Plain(Plain::Bool) => Some(1),
            Type::Plain(Plain::I32) => Some(4),
            Type::Plain(Plain::Decimal) => Some(16),
            Type::Plain(Plain::Uuid) => Some(21),
            Type::Plain(Plain::ObjectId) => Some(12),
            Type::Plain(Plain::String | Plain::Binary | Plain::Regex) | Type::Unknown => None,
            Type::Any | Type::AnyDocument | Type::AnyList => None,
            Type::Plain(_) | Type::Helper(_) => Some(8),
            Type::Named(at) => self.size_of(*at, headroom, depth + 1),
            Type::List(many) => items(many, 8),
            Type::Map(many) => items(many, with_headroom(many.key).saturating_mul(4).saturating_add(2)),
            Type::Ref(target) => match target.key {
                super::model::Key::Plain(plain) => self.size(&Type::Plain(plain), headroom, depth + 1),
                super::model::Key::Helper(_) => Some(8),
                super::model::Key::Own => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_round_and_above_what_was_found() {
        for (found, bound) in [
            (0, 10),
            (1, 10),
            (7, 10),
            (8, 20),
            (20, 50),
            (1_800, 5_000),
            (150, 500),
        ] {
            assert_eq!(with_headroom(found), bound, "{found}");
        }
        assert_eq!(with_headroom(12_000_000), ITEMS);
        assert_eq!(digits(1_234_567), "1_234_567");
    }
}

//! Makes the constants of a field, by its type.

use crate::model::meta::{Access, Bounds, FieldMeta, Managed, ReferenceMeta, Shape, ShapeFn};
use crate::model::normalize;
use crate::model::reference::{Reference, shape};
use crate::model::size;
use crate::model::value::{Array, Value};

impl FieldMeta {
    const fn with(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        shape: ShapeFn,
        bounds: Bounds,
        size: Option<u64>,
    ) -> FieldMeta {
        FieldMeta {
            rust,
            name,
            aliases: &[],
            ty,
            shape,
            bounds,
            required: true,
            flatten: false,
            managed: Managed::No,
            size,
            unique: false,
            reference: None,
            entry: None,
            copied: None,
            volatile: false,
            skips_none: false,
            set: false,
            default: None,
            left_out: false,
            inserted: false,
            stored: false,
            shows_more: false,
            cut: false,
            access: Access::Open,
            sensitive: false,
            deferred: false,
            json_text: false,
            json: None,
            beside: false,
        }
    }

    /// The same field in a patch: where it is missing, it is absent, and a reference with copies is the reference.
    pub const fn in_patch(self) -> FieldMeta {
        FieldMeta {
            required: false,
            default: None,
            copied: None,
            entry: None,
            ..self
        }
    }

    /// A field of a type that has a bound of its own, or needs a length at most.
    pub const fn value<T: Value>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta {
            shows_more: T::HOLDS_EXTRA,
            cut: T::CUT || normalize::is_declared(&bounds),
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, T::SIZE.with(bounds.max_len))
        }
    }

    /// An array, set or map with a declared number of items.
    pub const fn items<T: Array>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        let item = <T::Item as Value>::SIZE.with(bounds.max_len);
        let size = match bounds.max_items {
            Some(max) if T::MAP => size::map(item, max, bounds.key_len),
            Some(max) => size::array(item, max),
            None => None,
        };
        FieldMeta {
            set: T::SET,
            shows_more: <T::Item as Value>::HOLDS_EXTRA,
            cut: <T::Item as Value>::CUT || normalize::is_declared(&bounds),
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, size)
        }
    }

    /// A field whose type contains the struct again: its size is not asked for, which would go round in a circle.
    pub const fn recursive<T: Value>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta {
            // Its own `CUT` would contain itself.
            cut: true,
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, None)
        }
    }

    /// An array of such values.
    pub const fn recursive_items<T: Array>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
    ) -> FieldMeta {
        FieldMeta {
            set: T::SET,
            cut: true,
            ..FieldMeta::with(rust, name, ty, T::shape, bounds, None)
        }
    }

    /// A field that refers to other documents: by one value, or by an array with a declared number of them.
    pub const fn refers<R: Reference>(
        rust: &'static str,
        name: &'static str,
        ty: &'static str,
        bounds: Bounds,
        reference: &'static ReferenceMeta,
    ) -> FieldMeta {
        let one = <R::Pointer as Value>::SIZE.with(None);
        let size = match bounds.max_items {
            Some(max) => size::array(one, max),
            None => one,
        };
        FieldMeta {
            reference: Some(reference),
            set: R::SET,
            // A text is stored as the key that it refers to, which may be normalized.
            cut: <R::Pointer as Value>::CUT || <R::Pointer as Value>::SIZE.per_len > 0,
            ..FieldMeta::with(rust, name, ty, shape::<R>, bounds, size)
        }
    }

    /// A field that nothing looks into.
    pub const fn opaque(rust: &'static str, name: &'static str, ty: &'static str) -> FieldMeta {
        let bounds = Bounds {
            opaque: true,
            ..Bounds::NONE
        };
        FieldMeta::with(rust, name, ty, || Shape::Any, bounds, None)
    }
}

/// Whether less may be stored than the values of these fields hold.
pub(crate) const fn holds_cut(fields: &[FieldMeta]) -> bool {
    let mut i = 0;
    while i < fields.len() {
        if fields[i].cut {
            return true;
        }
        i += 1;
    }
    false
}

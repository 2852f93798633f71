//! The declared fields of a document, of which some may be flattened into it.

use crate::model::shape::{FieldMeta, MOST_WRAPPERS, Shape, inner, of_field};

/// The declared fields of one document: those of a struct, with those of the structs that are flattened into it.
#[derive(Default)]
pub(crate) struct StructLevel {
    pub(crate) fields: Vec<&'static FieldMeta>,
    /// The names that they are read from.
    pub(crate) names: Vec<&'static str>,
    /// Whether it shows the fields that it does not declare, which are not written back.
    pub(crate) has_extra: bool,
}

impl StructLevel {
    pub(crate) fn of(fields: &'static [FieldMeta]) -> StructLevel {
        let mut level = StructLevel::default();
        level.add(fields, 0);
        level
    }

    fn add(&mut self, fields: &'static [FieldMeta], depth: u32) {
        for field in fields {
            if field.is_extra() {
                self.has_extra = true;
            } else if !field.flatten {
                self.names.extend(names(field));
                self.fields.push(field);
            } else if let (Shape::Struct(of), true) = (inner(of_field(field)), depth < MOST_WRAPPERS) {
                self.add(of.fields, depth + 1);
            }
        }
    }
}

/// The names that a field is read from.
pub(crate) fn names(field: &'static FieldMeta) -> impl DoubleEndedIterator<Item = &'static str> {
    std::iter::once(field.name).chain(field.aliases.iter().copied())
}

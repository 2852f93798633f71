//! The fields of all collections, for rules about values.

use crate::design::{Collection, CollectionKind, Design, Field};

/// Fewer values don't show how a field is stored.
pub const VALUES: u64 = 10;

/// From this number of paths on, one advice names all of a collection.
pub const TOGETHER: usize = 3;

/// Each field of stored documents, with its collection.
pub fn fields(design: &Design) -> Vec<(&Collection, Vec<&Field>)> {
    let stored = design
        .collections
        .iter()
        .filter(|collection| collection.kind != CollectionKind::View);
    stored
        .map(|collection| {
            let mut all = Vec::new();
            collection.root.walk(&mut |field| {
                if !field.path.is_empty() {
                    all.push(field);
                }
            });
            (collection, all)
        })
        .collect()
}

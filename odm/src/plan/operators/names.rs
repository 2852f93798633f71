//! Dotted names of fields, put together.

/// A field in what stands above it.
pub(super) fn joined_names(above: &str, name: &str) -> String {
    match above {
        "" => name.to_owned(),
        above => format!("{above}.{name}"),
    }
}

/// A field of an item, or the item itself.
pub(super) fn joined(item: &str, field: &str) -> String {
    match field {
        "" => item.to_owned(),
        field => format!("{item}.{field}"),
    }
}

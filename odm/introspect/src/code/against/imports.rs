//! `use` for what new text names.

use super::source::Source;
use crate::code::model::{Helper, Models};
use std::collections::BTreeSet;

/// `use` for the names that the new text brings.
pub fn imports(source: &Source, models: &Models, old: &str, new: &str, file: usize) -> String {
    let words = |text: &str| -> BTreeSet<String> {
        text.lines()
            .map(str::trim_start)
            .filter(|line| !line.starts_with("//"))
            .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
            .map(str::to_owned)
            .collect()
    };
    let (before, after) = (words(old), words(new));
    let is_new = |name: &str| after.contains(name) && !before.contains(name);
    let mut out = String::new();
    if is_new("BTreeMap") {
        out.push_str("use std::collections::BTreeMap;\n");
    }
    for name in ["Binary", "Bson", "Decimal128", "Regex", "Timestamp", "Uuid"] {
        if is_new(name) && !source.types.contains_key(name) {
            out.push_str(&format!("use odm::bson::{name};\n"));
        }
    }
    if old.contains("use super::*;") {
        return out;
    }
    let elsewhere = source.types.iter().filter(|(_, written)| written.file != file);
    let helpers = [Helper::Integer, Helper::Number, Helper::OrNull].map(Helper::name);
    let roots = (0..models.collections.len()).map(|number| models.document(number));
    let all: BTreeSet<&str> = elsewhere
        .map(|(name, _)| name.as_str())
        .chain(helpers)
        .chain(roots)
        .collect();
    for name in all.into_iter().filter(|name| is_new(name)) {
        let is_here = source.types.get(name).is_some_and(|written| written.file == file);
        if !is_here {
            out.push_str(&format!("use super::{name};\n"));
        }
    }
    out
}

/// Behind the last `use` at the beginning of a line, else behind the comments at the top.
pub fn place(text: &str) -> usize {
    let mut at = 0;
    let mut found = None;
    let mut is_inside = false;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let begins = line.starts_with("use ") || line.starts_with("pub use ");
        is_inside |= begins;
        if is_inside && line.trim_end().ends_with(';') {
            found = Some(at);
            is_inside = false;
        }
        if !begins && !is_inside && (line.starts_with("pub struct") || line.starts_with("#[derive")) {
            break;
        }
    }
    found.unwrap_or_else(|| {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if !line.starts_with("//!") && !line.starts_with("#![") {
                break;
            }
            at += line.len();
        }
        at
    })
}

//! Where a check is in a document, and what it knows of the names there.

use super::shapes::longer;
use crate::Rule;
use crate::model::shape::Bounds;

/// Which names of a document a struct answers for.
#[derive(Clone, Copy)]
pub(super) enum Owned {
    /// All of them.
    All,
    /// All but the tag of its enum.
    But(&'static str),
    /// Its own only: it is flattened into a document with others.
    Own,
}

/// The rule that a key of a map breaks.
pub(super) fn key_rule(bounds: &Bounds, key: &str) -> Option<Rule> {
    if key.is_empty() || key.starts_with('$') || key.contains(['.', '\0']) {
        return Some(Rule::Key(key.to_owned()));
    }
    bounds
        .key_len
        .filter(|max| longer(key, *max))
        .map(Rule::KeyLength)
}

/// Where the walk is; made a string only for a violation.
pub(super) enum At<'a> {
    Root(&'a str),
    Name(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    pub(super) fn path(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let part: &str = match self {
            At::Root(path) => path,
            At::Name(parent, name) => {
                parent.write(out);
                name
            }
            At::Item(parent, index) => {
                parent.write(out);
                &index.to_string()
            }
        };
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(part);
    }
}

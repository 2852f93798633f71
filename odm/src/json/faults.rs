//! The mistakes of a text, with their places.

use crate::error::{BadValue, ValueProblem};

/// How many mistakes are collected: enough for a form, little enough for a log.
pub(super) const MOST: usize = 100;

/// The place of a value; made a pointer only for a mistake.
pub(super) enum At<'a> {
    Root,
    Name(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl At<'_> {
    pub(super) fn pointer(&self) -> String {
        match self {
            At::Root => String::new(),
            At::Name(parent, name) => {
                let name = name.replace('~', "~0").replace('/', "~1");
                format!("{}/{name}", parent.pointer())
            }
            At::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// The mistakes, in the order of the text.
#[derive(Default)]
pub(super) struct Faults(Vec<BadValue>);

impl Faults {
    pub(super) fn add<T>(
        &mut self,
        at: &At<'_>,
        problem: ValueProblem,
        rule: impl Into<String>,
    ) -> Option<T> {
        if !self.is_full() {
            self.0.push(BadValue::new(at.pointer(), problem, rule));
        }
        None
    }

    /// Whether no more are collected: what is left of the text need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn extend(&mut self, more: impl IntoIterator<Item = BadValue>) {
        self.0.extend(more);
    }

    pub(super) fn into_values(self) -> Vec<BadValue> {
        self.0
    }

    pub(super) fn wrong<T>(&mut self, at: &At<'_>, expected: &str) -> Option<T> {
        self.add(at, ValueProblem::WrongType, format!("must be {expected}"))
    }
}

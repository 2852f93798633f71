//! The mistakes of a text, with their places.

use crate::error::{BadValue, ValueProblem};

/// How many mistakes are collected: enough for a form, little enough for a log.
pub(super) const MOST: usize = 100;

/// How many variants of untagged enums are tried, in all of a text: each nested one may try all of its own again.
const MOST_TRIES: u32 = 10_000;

/// How many characters of a name a pointer shows.
const SHOWN: usize = 100;

/// How many characters a rule has, which may name what the text says.
const MOST_CHARS: usize = 1_000;

/// The place of a value; made a pointer only for a mistake.
pub(super) enum JsonPlace<'a> {
    Root,
    Name(&'a JsonPlace<'a>, &'a str),
    Item(&'a JsonPlace<'a>, usize),
}

impl JsonPlace<'_> {
    pub(super) fn pointer(&self) -> String {
        match self {
            JsonPlace::Root => String::new(),
            JsonPlace::Name(parent, name) => {
                let name: String = name.chars().take(SHOWN).collect();
                let name = name.replace('~', "~0").replace('/', "~1");
                format!("{}/{name}", parent.pointer())
            }
            JsonPlace::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// The mistakes, in the order of the text.
#[derive(Default)]
pub(super) struct Faults {
    values: Vec<BadValue>,
    tries: u32,
}

impl Faults {
    pub(super) fn add<T>(
        &mut self,
        at: &JsonPlace<'_>,
        problem: ValueProblem,
        rule: impl Into<String>,
    ) -> Option<T> {
        if !self.is_full() {
            let rule = rule.into().chars().take(MOST_CHARS).collect::<String>();
            self.values.push(BadValue::new(at.pointer(), problem, rule));
        }
        None
    }

    /// Whether no more are collected: what is left of the text need not be read.
    pub(super) fn is_full(&self) -> bool {
        self.values.len() >= MOST
    }

    /// Those of one variant of an untagged enum, of which others may fit; `None` where too many have been tried.
    pub(super) fn of_variant(&self) -> Option<Faults> {
        let tries = self.tries + 1;
        (tries < MOST_TRIES).then(|| Faults {
            values: Vec::new(),
            tries,
        })
    }

    /// Counts what was tried within a variant.
    pub(super) fn tried(&mut self, variant: &Faults) {
        self.tries = variant.tries;
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn extend(&mut self, more: impl IntoIterator<Item = BadValue>) {
        self.values.extend(more);
    }

    pub(super) fn into_values(self) -> Vec<BadValue> {
        self.values
    }

    pub(super) fn wrong<T>(&mut self, at: &JsonPlace<'_>, expected: &str) -> Option<T> {
        self.add(at, ValueProblem::WrongType, format!("must be {expected}"))
    }
}

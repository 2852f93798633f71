//! The fields on which a derived value depends.

use crate::graph::Graph;
use crate::graph::edge::{Derivation, Derived};
use crate::graph::names::fields_of;

impl Derived {
    /// The child's fields that it depends on: dotted names.
    pub(crate) fn reads(&self, graph: &Graph) -> Vec<String> {
        let mut names = vec![graph.parent_edge(self).path.clone()];
        match self.what {
            Derivation::Subset(subset) => names.extend(subset.reads().map(str::to_owned)),
            Derivation::Computed { of: "", .. } => {}
            Derivation::Computed { of, .. } => names.push(of.to_owned()),
        }
        if let Some(filter) = &self.counted() {
            fields_of(filter, &mut names);
        }
        names
    }
}

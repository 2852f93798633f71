//! References by texts where a collation takes texts that differ for equal.
//!
//! The server compares a reference with the ids of its targets by the collation of the collection that it searches, and a process
//! that puts documents in their places compares byte by byte. Of `kate` and `Kate` one would be found by the server and not be
//! the one that is referred to, so a rule could be applied to the wrong document.

use crate::graph::Graph;
use crate::model::document::DocumentMeta;
use crate::query::page::holds_text;

impl Graph {
    pub(crate) fn check_collations(&self, problems: &mut Vec<String>) {
        let folds = |meta: &DocumentMeta| {
            let collation = meta.collation.filter(|one| one.takes_texts_for_equal())?;
            Some(format!(
                "the collation of `{}` (`{}`, strength {}{})",
                meta.name,
                collation.locale,
                collation.strength,
                if collation.numeric_ordering {
                    ", numeric_ordering"
                } else {
                    ""
                }
            ))
        };
        for edge in self.edges.iter() {
            for target in edge.targets.iter().map(|target| target.meta) {
                let folded = folds(target).or_else(|| folds(edge.holder));
                if let Some(collation) = folded.filter(|_| holds_text((target.shape)(), edge.by())) {
                    problems.push(format!(
                        "`{}.{}` refers to `{}` by `{}`, which is a text, and {collation} takes texts that differ for equal, so that one \
                         reference could name two documents: refer by an `ObjectId` or a number, or declare a collation of strength 3 \
                         without `numeric_ordering`",
                        edge.holder.name,
                        edge.path,
                        target.name,
                        edge.by()
                    ));
                }
            }
        }
    }
}

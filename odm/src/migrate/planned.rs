//! The effect of a change of a step, before it is made.

use crate::schema::plural;
use mongodb::bson::Document;
use std::fmt;

/// A document as it is, and as a change makes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampled {
    /// As it is.
    pub before: Document,
    /// As it will be; `None` where only the run itself tells.
    pub after: Option<Document>,
}

/// A change of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedChange {
    /// The collection; empty where it is about the whole database.
    pub collection: String,
    /// The change in words.
    pub words: String,
    /// How many documents need it now; where it is about the models, how many declarations. `None` where that was not counted. A change that follows another one of the same step is counted as the documents are before both.
    pub documents: Option<u64>,
    /// In how many documents it can't be made, and why, where there are some: the step ends with this error before it changes any.
    pub impossible: Option<(u64, String)>,
    /// A few documents, in a plan.
    pub samples: Vec<Sampled>,
}

impl fmt::Display for PlannedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.collection.is_empty() {
            write!(f, "`{}`: ", self.collection)?;
        }
        f.write_str(&self.words)?;
        if let Some(documents) = self.documents {
            let what = if self.collection.is_empty() {
                "declaration"
            } else {
                "document"
            };
            write!(f, ": {} to change", plural(documents, what))?;
        }
        if let Some((documents, reason)) = &self.impossible {
            write!(
                f,
                "\n    not possible in {}: {reason}",
                plural(*documents, "document")
            )?;
        }
        for Sampled { before, after } in &self.samples {
            write!(f, "\n    before: {before}")?;
            if let Some(after) = after {
                write!(f, "\n    after:  {after}")?;
            }
        }
        Ok(())
    }
}

//! From shapes and documents to a design: what the data show, with the figures that show it.
//!
//! A first pass reads the documents of each collection ([`Pass`]): their shape, and a sample of them. What their values may refer to is
//! asked for afterwards ([`probe`]), and a second pass counts what references find and which of their neighbours are copies.

mod columns;
mod fields;
mod kept;
mod maps;
mod names;
mod path;
mod probe;
mod references;
mod told;
mod variants;

use crate::design::{Collection, Design};
use crate::read::Source;
use crate::shape::{Budget, PATHS, Shape};
use crate::sketch::Distribution;
use anyhow::Result;
use bson::RawDocument;
use kept::Kept;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What the first pass makes of the documents of a collection.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pass {
    shape: Shape,
    budget: Budget,
    sizes: Distribution,
    kept: Kept,
}

impl Pass {
    fn add(&mut self, document: &RawDocument) {
        self.shape.add_document(document, &mut self.budget);
        self.sizes.add(document.as_bytes().len() as u64);
        self.kept.add(document);
    }
}

/// A collection behind its first pass.
#[derive(Debug)]
struct Collected {
    facts: Collection,
    shape: Shape,
    kept: Kept,
    /// Whether all of its documents were read.
    whole: bool,
}

/// Reads the design of a database.
///
/// # Errors
/// Where a collection can't be read.
pub async fn introspect(source: &Source) -> Result<Design> {
    let mut design = Design {
        database: source.name().to_owned(),
        ..Design::default()
    };
    let mut collected = Vec::new();
    let mut codes = HashSet::new();
    for mut facts in source.collections().await? {
        let gathered = source
            .gather(&facts, &mut |pass: &mut Pass, document| pass.add(document))
            .await?;
        let mut pass = gathered.made;
        facts.read = gathered.read;
        facts.sizes = pass.sizes.spread();
        if pass.budget.refused > 0 {
            design.notes.push(format!(
                "`{}` has more than {PATHS} distinct paths: {} values of others were not read",
                facts.name, pass.budget.refused
            ));
        }
        maps::find(&mut pass.shape, &mut codes, &mut pass.budget);
        collected.push(Collected {
            whole: !source.samples(&facts),
            facts,
            shape: pass.shape,
            kept: pass.kept,
        });
    }
    let values = source.options().values;
    for collected in &mut collected {
        // Keys that a later collection showed to be data.
        maps::find(&mut collected.shape, &mut codes, &mut Budget::default());
        let mut root = fields::field(&collected.shape, "", "", collected.facts.read, values);
        variants::find(&mut root, &collected.kept.all().collect::<Vec<_>>());
        collected.facts.root = root;
    }
    let columns = columns::all(&collected);
    let (found, notes) = references::find(source, &columns, &collected).await?;
    design.notes.extend(notes);
    design.references = found;
    drop(columns);
    design.collections = collected.into_iter().map(|collected| collected.facts).collect();
    design.notes.extend(source.notes());
    source.finish()?;
    Ok(design)
}

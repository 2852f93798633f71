//! From shapes and documents to a design: what the data show, with the figures that show it.
//!
//! A first pass reads the documents of each collection ([`Pass`]): their shape, and a sample of them. What their values may refer to is
//! asked for afterwards ([`probe`]), and a second pass counts what references find and which of their neighbours are copies.

mod columns;
mod composite;
mod computed;
mod copies;
mod fields;
mod kept;
mod links;
mod maps;
mod names;
mod path;
mod patterns;
mod probe;
mod references;
mod second;
mod targets;
mod told;
mod variants;

use crate::design::{Collection, Design};
use crate::no_values::without_values;
use crate::read::Source;
use crate::shape::{Budget, PATHS, Shape};
use crate::sketch::Distribution;
use anyhow::Result;
use bson::RawDocument;
use kept::Kept;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The first pass over the documents of a collection.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pass {
    shape: Shape,
    budget: Budget,
    sizes: Distribution,
    kept: Kept,
}

impl Pass {
    fn add(&mut self, document: &RawDocument) {
        self.shape.add_root(document, &mut self.budget);
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
        // A field of the library itself is none of the design.
        pass.shape.fields.shift_remove("_odm");
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
    let (mut found, notes) = references::find(source, &columns, &collected).await?;
    drop(columns);
    design.notes.extend(notes);
    found.extend(composite::find(&collected));
    let (mut references, possible): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|reference| references::is_sure(reference, &collected));
    references.sort_by(|a, b| {
        b.confidence
            .total_cmp(&a.confidence)
            .then_with(|| a.from.cmp(&b.from))
    });
    let sure = references.len();
    references.extend(possible);
    for (id, reference) in references.iter_mut().enumerate() {
        reference.id = id;
    }
    let second = second::pass(source, &collected, &mut references, sure).await?;
    design.possible = references.split_off(sure);
    references.retain(|reference| !second.copied.contains(&reference.id));
    design.references = references;
    design.computed = computed::find(&collected, &design.references, &second.holders, values);
    design.subsets = patterns::subsets(&collected, &design.references, &second.holders);
    design.copies = second.copies;
    design.two_way = second.two_way;
    design.trees = collected.iter().filter_map(patterns::tree_path).collect();
    let is_kept = |id: usize| !second.copied.contains(&id);
    design.two_way.retain(|link| is_kept(link.a) && is_kept(link.b));
    patterns::leave_to_subsets(&mut design);
    design.collections = collected.into_iter().map(|collected| collected.facts).collect();
    design.buckets = patterns::buckets(&design);
    if !values {
        without_values(&mut design);
    }
    design.notes.extend(source.notes());
    source.finish()?;
    Ok(design)
}

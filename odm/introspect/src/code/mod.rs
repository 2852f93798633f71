//! The code that comes out: structs with odm's attributes, which read every document of the sample and write it back.
//!
//! `links` says which references and copies are declared, `roles` which sides of links and values of children. `build` makes types, `print`
//! their text. `check` interprets the types on documents, since there is no compiler, and `against` compares them with the structs that
//! there are.

pub mod against;
mod bounds;
mod build;
pub mod check;
mod helpers;
mod indexes;
mod links;
pub mod model;
mod names;
mod naming;
pub mod orders;
mod print;
mod remarks;
mod roles;
mod unify;

use crate::design::Design;
pub use against::{Against, Difference, against};
use bson::RawDocument;
use check::Checked;
use model::Models;
pub use print::File;

/// The files of the models: `mod.rs`, and one of each collection.
pub fn write(design: &Design) -> Vec<File> {
    print::files(&build::models(design), design)
}

/// The types of a design, to be checked on documents.
pub fn models(design: &Design) -> Models {
    build::models(design)
}

/// How the types read and write a document of a collection: see [`check`](check::check).
pub fn check(models: &Models, collection: &str, document: &RawDocument) -> Checked {
    check::check(models, collection, document)
}

/// The function that each document is given to.
pub type Each<'e> = &'e mut (dyn FnMut(&RawDocument) + Send);

/// The design with types that read each of these documents, as far as there are such types. The first pass of `documents` gives the order
/// of fields, the others what is to be read; each is called with a function that takes the documents of a collection.
///
/// # Errors
/// Those of `documents`.
pub fn fit<E>(
    design: &mut Design,
    documents: &mut dyn FnMut(&str, Each<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let names: Vec<String> = design
        .collections
        .iter()
        .map(|collection| collection.name.clone())
        .collect();
    for name in &names {
        let mut orders = orders::Orders::default();
        if let Some(collection) = design.collection(name) {
            documents(name, &mut |document| orders.add(collection, document))?;
        }
        orders.apply(design, name);
    }
    for name in &names {
        for _ in 0..ROUNDS {
            let models = build::models(design);
            let mut faults = Vec::new();
            documents(name, &mut |document| {
                for fault in check(&models, name, document).faults {
                    if faults.len() < FAULTS && !faults.contains(&fault) {
                        faults.push(fault);
                    }
                }
            })?;
            let mut is_changed = false;
            for fault in faults {
                is_changed |= check::widen(design, &fault);
            }
            if !is_changed {
                break;
            }
        }
    }
    Ok(())
}

/// How often types are made wider: each time, what stands below may still be read as less.
const ROUNDS: usize = 8;
/// The faults that are kept of one pass.
const FAULTS: usize = 1_000;

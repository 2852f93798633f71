//! Checks that the listed steps, the snapshots in the folder `migrations/` and today's models agree.

use super::diff::Diff;
use super::steps::{code_file, edited_by_hand, named_in, number, snapshot_file};
use super::{CollectionShape, Snapshot, StoredSnapshot};
use crate::migrate::change::{at, put};
use crate::{Odm, schema};
use mongodb::bson::{Document, RawDocumentBuf};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

/// The steps of the program, as far as `check` needs them.
pub(crate) trait ListedSteps {
    /// Their names, in their order.
    fn names(&self) -> Vec<String>;
    /// The documents of a collection, by its name then, after the steps behind the one at `after`; and the changes that were left out, since a
    /// server alone makes them.
    ///
    /// # Errors
    /// In words, with the step.
    fn in_memory(
        &self,
        after: usize,
        collection: &str,
        documents: Vec<Document>,
    ) -> (Result<Vec<Document>, String>, Vec<String>);
}

/// The result of `check`. Displayed as a line for each problem.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// How many snapshots were read, and how many of their documents were decoded.
    pub(crate) snapshots: usize,
    pub(crate) samples: usize,
    /// Those that only the steps behind their snapshot make readable.
    pub(crate) led_on: usize,
    /// Those that can't be read without changes which a server alone makes, and one of these.
    pub(crate) unchecked: usize,
    pub(crate) by_server: Option<String>,
    /// The differences of today's models from the newest snapshot.
    pub(crate) diff: Diff,
    pub(crate) problems: Vec<Problem>,
}

/// A fault that a check has found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Problem {
    /// Of a step, its snapshot or its file.
    Step { step: String, words: String },
    /// A document of a released shape that today's models don't read.
    Sample {
        step: String,
        collection: String,
        sample: String,
        words: String,
    },
}

impl Problem {
    fn step(step: &str, words: impl Into<String>) -> Problem {
        Problem::Step {
            step: step.to_owned(),
            words: words.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Step { words, .. } => f.write_str(words),
            Problem::Sample {
                step,
                collection,
                sample,
                words,
            } => write!(
                f,
                "a document of `{collection}` as after `{step}` ({sample}) can't be read by today's models: {words}"
            ),
        }
    }
}

impl Checked {
    /// Whether steps, snapshots and models agree.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty() && self.diff.is_empty()
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let problems = self.problems.iter().map(|problem| match problem {
            Problem::Step { step, words } => json!({ "step": step, "words": words }),
            Problem::Sample {
                step,
                collection,
                sample,
                ..
            } => json!({
                "step": step,
                "collection": collection,
                "sample": sample,
                "words": problem.to_string(),
            }),
        });
        json!({
            "clean": self.is_clean(),
            "snapshots": self.snapshots,
            "samples": self.samples,
            "samples_by_steps": self.led_on,
            "samples_unchecked": self.unchecked,
            "changes": self.diff.json(),
            "problems": problems.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            write!(
                f,
                "the models are as the newest of {}, and read {}",
                schema::plural(self.snapshots as u64, "snapshot"),
                schema::plural((self.samples - self.unchecked) as u64, "document")
            )?;
            if self.led_on > 0 {
                write!(f, ", {} of them by the steps between", self.led_on)?;
            }
            return match &self.by_server {
                None => Ok(()),
                Some(words) => write!(
                    f,
                    "\nnot checked: {} more, since {words}",
                    schema::plural(self.unchecked as u64, "document")
                ),
            };
        }
        let mut lines: Vec<String> = Vec::new();
        if !self.diff.is_empty() {
            lines.push(
                "the models differ from the newest snapshot: `migrate new NAME` writes the step and the snapshot that lack".to_owned(),
            );
            lines.extend(self.diff.lines().into_iter().map(|line| format!("  {line}")));
        }
        lines.extend(self.problems.iter().map(Problem::to_string));
        f.write_str(&lines.join("\n"))
    }
}

/// Compares the steps of the program, the snapshots in the folder and today's models. Nothing is sent.
///
/// # Errors
/// In words, where the folder can't be read, or the models have no snapshot.
pub(crate) fn check(odm: &Odm, steps: &dyn ListedSteps, folder: &Path) -> Result<Checked, String> {
    if !folder.is_dir() {
        return Err(format!(
            "{} is no folder: `migrate new NAME` makes it, with the first snapshot",
            folder.display()
        ));
    }
    let names = steps.names();
    let mut checked = Checked::default();
    checked.files(&names, folder);
    let mut snapshots: Vec<(usize, Snapshot)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let file = snapshot_file(folder, name);
        if !file.is_file() {
            continue;
        }
        match Snapshot::read(&file) {
            Err(words) => checked.problems.push(Problem::step(name, words)),
            Ok(StoredSnapshot { snapshot, is_intact }) => {
                if !is_intact {
                    checked.problems.push(Problem::step(name, edited_by_hand(&file)));
                } else if snapshot.step != *name {
                    let words = format!(
                        "{} is the snapshot of `{}`: restore it from version control",
                        file.display(),
                        snapshot.step
                    );
                    checked.problems.push(Problem::step(name, words));
                }
                snapshots.push((at, snapshot));
            }
        }
    }
    checked.snapshots = snapshots.len();
    let today = Snapshot::of(odm, "", Vec::new())?;
    match snapshots.last() {
        Some((_, newest)) => checked.diff = Diff::of(newest, &today, &[]),
        None => checked.problems.push(Problem::step(
            "",
            format!(
                "{} has no snapshot: `migrate new NAME` writes the first one",
                folder.display()
            ),
        )),
    }
    for (i, (at, snapshot)) in snapshots.iter().enumerate() {
        let later: Vec<&Snapshot> = snapshots[i + 1..].iter().map(|(_, snapshot)| snapshot).collect();
        for collection in &snapshot.collections {
            checked.samples(odm, steps, *at, (snapshot, collection), (&later, &today));
        }
    }
    Ok(checked)
}

impl Checked {
    /// Each step has its file and its snapshot, each of these its step, and their order is that of the numbers.
    fn files(&mut self, names: &[String], folder: &Path) {
        for (at, name) in names.iter().enumerate() {
            let has_file = code_file(folder, name).is_file() || folder.join(name).join("mod.rs").is_file();
            if !has_file {
                let words = format!(
                    "the step `{name}` is listed, and {} has no `{name}.rs`: restore it from version control",
                    folder.display()
                );
                self.problems.push(Problem::step(name, words));
            }
            if !snapshot_file(folder, name).is_file() {
                let words = format!(
                    "the step `{name}` has no snapshot `{name}.json` in {}: restore it from version control, or take the step out and make \
                     it by `migrate new`",
                    folder.display()
                );
                self.problems.push(Problem::step(name, words));
            }
            if names[..at].contains(name) {
                self.problems
                    .push(Problem::step(name, format!("the step `{name}` is listed twice")));
            }
            let Some(number_of) = number(name) else {
                let words = format!("the step `{name}` has no number: a name is like `m0002_slug`");
                self.problems.push(Problem::step(name, words));
                continue;
            };
            let mut before = names[..at].iter().rev();
            let before = before.find_map(|other| Some((number(other)?, other)));
            if let Some((_, other)) = before.filter(|(before, other)| *before >= number_of && *other != name)
            {
                let words = format!(
                    "the step `{name}` is listed behind `{other}`, and its number is not greater: list the steps in the order of their \
                     numbers, and give a new one the next number"
                );
                self.problems.push(Problem::step(name, words));
            }
        }
        for name in named_in(folder, "json") {
            if !names.contains(&name) {
                let words = format!(
                    "{} has the snapshot `{name}.json`, and no step `{name}` is listed: add `mod {name};` and `{name}` to `mod.rs`, or \
                     delete the file together with a step that was never applied",
                    folder.display()
                );
                self.problems.push(Problem::step(&name, words));
            }
        }
        for name in named_in(folder, "rs") {
            if !names.contains(&name) && !snapshot_file(folder, &name).is_file() {
                let words = format!(
                    "{} has the step `{name}.rs`, which is not listed: add it to `migrations![…]` in `mod.rs`, or delete it",
                    folder.display()
                );
                self.problems.push(Problem::step(&name, words));
            }
        }
    }

    /// Decodes the documents of one collection of a snapshot.
    fn samples(
        &mut self,
        odm: &Odm,
        steps: &dyn ListedSteps,
        at: usize,
        (snapshot, collection): (&Snapshot, &CollectionShape),
        (later, today): (&[&Snapshot], &Snapshot),
    ) {
        let mut name = collection.name.as_str();
        for snapshot in later {
            let mut renamed = snapshot.renamed.iter();
            if let Some(one) = renamed.find(|one| one.collection.is_none() && one.from == name) {
                name = &one.to;
            }
        }
        // One that the models lack is dropped, or a difference.
        let Some(model) = odm.models().iter().find(|model| model.meta.collection == name) else {
            return;
        };
        let decodes = |document: &Document| -> Result<(), String> {
            let raw = RawDocumentBuf::try_from(document).map_err(|error| error.to_string())?;
            (model.meta.decode)(&raw).map_err(|error| error.to_string())
        };
        for sample in &collection.samples {
            self.samples += 1;
            let Err(first) = decodes(&sample.document) else {
                continue;
            };
            let documents = vec![sample.document.clone()];
            let (led_on, left_out) = if at + 1 >= steps.names().len() {
                (Ok(documents), Vec::new())
            } else {
                steps.in_memory(at, &collection.name, documents)
            };
            let by_server = left_out.into_iter().next();
            let read = led_on.and_then(|mut documents| {
                let shape = today.collection(name);
                documents
                    .iter_mut()
                    .for_each(|document| shape.into_iter().for_each(|shape| backfill(shape, document)));
                documents.iter().try_for_each(decodes)
            });
            match read {
                Ok(()) => self.led_on += 1,
                Err(_) if by_server.is_some() => {
                    self.unchecked += 1;
                    self.by_server = by_server;
                }
                Err(words) => self.problems.push(Problem::Sample {
                    step: snapshot.step.clone(),
                    collection: collection.name.clone(),
                    sample: sample.shows.clone(),
                    words: if words == first {
                        words
                    } else {
                        format!("{words} (before the steps: {first})")
                    },
                }),
            }
        }
    }
}

/// Gives a document what the library derives and it lacks, as a backfill does: values of a sample of today.
fn backfill(shape: &CollectionShape, document: &mut Document) {
    let full = shape.samples.iter().max_by_key(|sample| sample.document.len());
    let Some(full) = full else { return };
    for copy in &shape.copies {
        let above = copy.field.rsplit_once('.').map(|(above, _)| above);
        let is_held =
            above.is_none_or(|above| at(document, above).is_some_and(|value| value.as_document().is_some()));
        if at(document, &copy.field).is_none()
            && is_held
            && let Some(value) = at(&full.document, &copy.field)
        {
            put(document, &copy.field, value.clone());
        }
    }
}

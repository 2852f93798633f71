//! The faults that are found, by operation, and the table of the operations.

use crate::world::Documents;
use mongodb::bson::{Bson, Document as Doc};
use odm_tests::fixtures::edges::clean;
use odm_tests::fixtures::operations::{At, Operation, TENANTS, Tenant};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

pub struct Faults {
    name: String,
    all: Vec<String>,
}

impl Faults {
    pub fn new(name: String) -> Faults {
        Faults {
            name,
            all: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    fn add(&mut self, operation: &Operation, what: impl Display) {
        self.all.push(format!("{}: {what}", operation.name));
    }

    /// Compares the result in the database of all tenants with that in the database of one. Whether the id of a new document was
    /// taken by that of another tenant, since ids are unique in the whole database.
    pub fn compare(
        &mut self,
        operation: &Operation,
        at: At,
        seen: Result<String, String>,
        expected: Result<String, String>,
    ) -> bool {
        let target = at.target.name;
        let text = seen.as_ref().unwrap_or_else(|error| error);
        for other in TENANTS.iter().filter(|tenant| **tenant != at.own) {
            if text.contains(&other.secret()) {
                self.add(
                    operation,
                    format!("a result shows documents of {}: {text}", other.name),
                );
            }
        }
        let is_of_taken_id = |error: &String| {
            // The second is within the error of several writes. The last is that of `save`, which has found neither a document to replace nor
            // a free id.
            [
                "DuplicateKey",
                "which the unique index",
                "E11000",
                "none is stored",
            ]
            .iter()
            .any(|words| error.contains(words))
        };
        let is_taken = at.target != at.own && seen.as_ref().is_err_and(is_of_taken_id);
        if seen != expected && !is_taken {
            let text = format!(
                "the result with the target {target} is {seen:?}, and without other tenants {expected:?}"
            );
            self.add(operation, text);
        }
        is_taken
    }

    /// Compares the documents after an operation in the database of all tenants with those before it, and with those in the database
    /// of one tenant, if these can be the same.
    pub fn compare_documents(
        &mut self,
        operation: &Operation,
        own: Tenant,
        (before, now): (&Documents, &Documents),
        expected: Option<&Documents>,
    ) {
        let others = |documents: &Documents| apart(documents, own).1;
        let (before, after) = (others(before), others(now));
        for (key, document) in &before {
            match after.get(key) {
                None => self.add(operation, format!("{document} of another tenant is gone")),
                Some(now) if now != document => {
                    self.add(
                        operation,
                        format!("{document} of another tenant has become {now}"),
                    );
                }
                Some(_) => {}
            }
        }
        for (key, document) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            self.add(
                operation,
                format!("{document} in {} is of no tenant or of another one", key.0),
            );
        }
        let Some(expected) = expected else { return };
        let (seen, expected) = (apart(now, own).0, apart(expected, own).0);
        let (seen, expected) = (cleaned(seen), cleaned(expected));
        if seen != expected {
            let apart = |these: &[Doc], others: &[Doc]| {
                let these = these.iter().filter(|document| !others.contains(document));
                these.cloned().collect::<Vec<_>>()
            };
            let (seen, expected) = (apart(&seen, &expected), apart(&expected, &seen));
            self.add(
                operation,
                format!("own documents are {seen:?}, and without other tenants {expected:?}"),
            );
        }
    }

    /// Compares the documents at the end with those at first.
    pub fn compare_all(&mut self, before: &Documents, now: &Documents) {
        if before != now {
            self.all
                .push("an operation that only reads has changed documents".into());
        }
    }

    /// # Panics
    /// With all faults, if there are any.
    pub fn finish(self) {
        let lines: Vec<String> = self
            .all
            .iter()
            .map(|fault| fault.chars().take(1_500).collect())
            .collect();
        assert!(
            lines.is_empty(),
            "{}: {} faults\n{}",
            self.name,
            lines.len(),
            lines.join("\n")
        );
    }
}

/// The documents of a tenant with those that all share, and the documents of others.
fn apart(documents: &Documents, own: Tenant) -> (Documents, Documents) {
    documents
        .clone()
        .into_iter()
        .partition(|((collection, _), document)| {
            let of_own = |id: Option<&Bson>| {
                id.and_then(Bson::as_i32)
                    .is_some_and(|id| id / 100 == own.base / 100)
            };
            match *collection {
                "currencies" => true,
                // By the parent, whether or not a bucket has fields of the scope.
                "reading_buckets" => of_own(document.get("customer")),
                claims if claims.starts_with("_odm_claims.") => document
                    .get_document("_id")
                    .is_ok_and(|values| values.get("tenant") == Some(&own.name.into())),
                _ => {
                    document.get("tenant") == Some(&own.name.into())
                        && document.get("shop") == Some(&own.shop.into())
                }
            }
        })
}

/// Without what the library knows of them, and without times and made ids.
fn cleaned(documents: Documents) -> Vec<Doc> {
    let mut all: Vec<(String, Doc)> = Vec::new();
    for ((collection, _), mut document) in documents {
        clean(&mut document);
        mask(&mut document);
        all.push((format!("{collection} {document}"), document));
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all.into_iter().map(|(_, document)| document).collect()
}

fn mask(document: &mut Doc) {
    for (_, value) in document.iter_mut() {
        match value {
            Bson::ObjectId(_) | Bson::DateTime(_) => *value = Bson::Undefined,
            Bson::Document(inner) => mask(inner),
            Bson::Array(items) => items.iter_mut().filter_map(Bson::as_document_mut).for_each(mask),
            _ => {}
        }
    }
}

/// How many rows of each operation held, and in how many of them each target of others was refused.
#[derive(Default)]
pub struct Table(BTreeMap<&'static str, [usize; 3]>);

impl Table {
    pub fn add(&mut self, operation: &Operation, holds: bool, is_refused: bool) {
        for method in &operation.methods {
            let [rows, held, refused] = self.0.entry(method).or_default();
            *rows += 1;
            *held += usize::from(holds);
            *refused += usize::from(holds && is_refused);
        }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| operation | rows | hold | of these refused | faults |\n| --- | --- | --- | --- | --- |"
        )?;
        for (method, [rows, held, refused]) in &self.0 {
            writeln!(
                f,
                "| `{method}` | {rows} | {held} | {refused} | {} |",
                rows - held
            )?;
        }
        Ok(())
    }
}

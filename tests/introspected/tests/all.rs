//! The models that were written for other people's databases read each of their documents, and write it back byte for byte.

use mongodb::bson::{Bson, Document, RawDocumentBuf};
use odm::prelude::*;
use std::error::Error;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The folder of the data sets, where they are there.
fn data() -> Option<PathBuf> {
    let given = std::env::var_os("ODM_INTROSPECT_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/introspect");
    let data = given.unwrap_or(beside);
    data.is_dir().then_some(data)
}

/// The integers as other drivers store them: in 32 bits where they are enough.
fn narrow(document: Document) -> Document {
    document.into_iter().map(|(name, value)| (name, narrowed(value))).collect()
}

fn narrowed(value: Bson) -> Bson {
    match value {
        Bson::Int64(n) => i32::try_from(n).map_or(value, Bson::Int32),
        Bson::Document(document) => Bson::Document(narrow(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(narrowed).collect()),
        other => other,
    }
}

/// The same document with the fields of each document in it in one order.
fn sorted(document: Document) -> Document {
    let mut fields: Vec<(String, Bson)> = document.into_iter().collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields.into_iter().map(|(name, value)| (name, sorted_value(value))).collect()
}

fn sorted_value(value: Bson) -> Bson {
    match value {
        Bson::Document(document) => Bson::Document(sorted(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(sorted_value).collect()),
        other => other,
    }
}

fn bytes(document: &Document) -> Result<Vec<u8>> {
    Ok(RawDocumentBuf::try_from(document)?.into_bytes())
}

/// How many documents were written with the same bytes, of how many. Those of the others differ in the order of fields alone.
fn read_and_write<T: Document2>(file: &Path) -> Result<(usize, usize)> {
    let (mut same, mut all) = (0, 0);
    for line in std::fs::read_to_string(file)?.lines() {
        let document = narrow(serde_json::from_str(line)?);
        let read: T = odm::from_document(&document)?;
        let written = odm::to_document(&read)?;
        all += 1;
        if bytes(&written)? == bytes(&document)? {
            same += 1;
        } else {
            assert_eq!(
                bytes(&sorted(written.clone()))?,
                bytes(&sorted(document.clone()))?,
                "{}: {written} is not {document}",
                file.display()
            );
        }
    }
    Ok((same, all))
}

trait Document2: odm::Document {}
impl<T: odm::Document> Document2 for T {}

//! The models that are written for the databases of other people in `../shared/data/introspect`: they are those of the package
//! `odm-introspected-tests`, which compiles and runs them. `ODM_WRITE_BOOK=1` writes them anew.

use mongodb::Client;
use mongodb::bson::{self, Bson, Document, RawDocumentBuf, doc};
use odm_introspect::code;
use odm_introspect::design::Design;
use odm_introspect::introspect;
use odm_introspect::read::{ReadOptions, Source};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

#[path = "../../../tests/introspected/data/made.rs"]
mod made;

/// A database.
#[derive(Default)]
struct Set {
    /// The documents of each collection.
    documents: BTreeMap<String, Vec<RawDocumentBuf>>,
    /// Its indexes, each with its collection.
    indexes: Vec<(String, Document)>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the data sets, where they are there.
fn data() -> Option<PathBuf> {
    let given = std::env::var_os("ODM_INTROSPECT_DATA").map(PathBuf::from);
    let data = given.unwrap_or_else(|| root().join("../shared/data/introspect"));
    data.is_dir().then_some(data)
}

fn read(folder: &Path) -> Result<Set> {
    let mut set = Set::default();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "ndjson") {
            continue;
        }
        let name = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        let mut documents = Vec::new();
        for line in std::fs::read_to_string(&path)?.lines() {
            // `serde_json::Value` would sort the fields.
            let document: Document = serde_json::from_str(line)?;
            documents.push(RawDocumentBuf::try_from(&narrow(document))?);
        }
        set.documents.insert(name.to_owned(), documents);
    }
    if let Ok(text) = std::fs::read_to_string(folder.join("indexes.json")) {
        let all: Vec<Document> = serde_json::from_str(&text)?;
        for index in all.into_iter().map(narrow) {
            let keys = index.get_document("keys")?;
            let name: Vec<String> = keys
                .iter()
                .map(|(field, kind)| format!("{field}_{kind}"))
                .collect();
            let mut one = doc! { "key": keys.clone(), "name": name.join("_") };
            if let Ok(options) = index.get_document("options") {
                one.extend(options.clone());
            }
            set.indexes.push((index.get_str("collection")?.to_owned(), one));
        }
    }
    Ok(set)
}

/// The database that was made up.
fn made() -> Result<Set> {
    let mut set = Set::default();
    for (name, documents, indexes) in made::collections() {
        let documents = documents
            .iter()
            .map(|document| Ok(RawDocumentBuf::try_from(document)?));
        set.documents
            .insert(name.to_owned(), documents.collect::<Result<_>>()?);
        set.indexes
            .extend(indexes.into_iter().map(|index| (name.to_owned(), index)));
    }
    Ok(set)
}

/// The integers as other drivers store them: in 32 bits where they are enough.
fn narrow(document: Document) -> Document {
    document
        .into_iter()
        .map(|(name, value)| (name, narrowed(value)))
        .collect()
}

fn narrowed(value: Bson) -> Bson {
    match value {
        Bson::Int64(n) => i32::try_from(n).map_or(value, Bson::Int32),
        Bson::Document(document) => Bson::Document(narrow(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(narrowed).collect()),
        other => other,
    }
}

async fn design(client: &Client, name: &str, set: &Set) -> Result<Design> {
    let db = client.database(&format!("introspect_written_{name}"));
    db.drop().await?;
    for (name, documents) in &set.documents {
        db.collection::<RawDocumentBuf>(name)
            .insert_many(documents)
            .await?;
    }
    for (collection, index) in &set.indexes {
        db.run_command(doc! { "createIndexes": collection, "indexes": [index] })
            .await?;
    }
    let options = ReadOptions {
        sample: None,
        ..ReadOptions::default()
    };
    let found = introspect(&Source::new(&db, options)).await;
    db.drop().await?;
    let mut design = found?;
    design.database = name.to_owned();
    code::fit(&mut design, &mut |collection, each| {
        for document in set.documents.get(collection).into_iter().flatten() {
            each(document);
        }
        Ok::<(), std::convert::Infallible>(())
    })?;
    Ok(design)
}

async fn write(name: &str, set: &Set) -> Result<()> {
    let uri = std::env::var("MONGODB_URI").unwrap_or_else(|_| "mongodb://localhost:27017".to_owned());
    let client = Client::with_uri_str(uri).await?;
    let design = design(&client, name, set).await?;
    let models = code::models(&design);
    let (mut same, mut all) = (0, 0);
    for (collection, documents) in &set.documents {
        for document in documents {
            let checked = code::check(&models, collection, document);
            let faults: Vec<String> = checked.faults.iter().map(ToString::to_string).collect();
            assert!(faults.is_empty(), "{name}: {faults:#?}");
            same += usize::from(checked.same);
            all += 1;
        }
    }
    println!("{name}: {same} of {all} documents are written with the same bytes");
    compare(name, &code::write(&design))?;
    let against = code::against(&root().join("tests/introspected/src").join(name), &design)?;
    assert!(
        against.differences.is_empty(),
        "{name}: {:#?}",
        against.differences
    );
    assert_eq!(against.patch, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_written_models_read_every_document() -> Result<()> {
    let Some(data) = data() else { return Ok(()) };
    for name in [
        "srd",
        "srd-faults",
        "flights",
        "countries",
        "crafting",
        "deliveries",
    ] {
        write(&name.replace('-', "_"), &read(&data.join(name))?).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_documents_may_have_is_read() -> Result<()> {
    write("made", &made()?).await
}

/// Compares the files with those that are there, or writes them.
fn compare(name: &str, files: &[code::File]) -> Result<()> {
    let folder = root().join("tests/introspected/src").join(name);
    let writes = std::env::var_os("ODM_WRITE_BOOK").is_some();
    if writes {
        if folder.is_dir() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
    }
    for file in files {
        let path = folder.join(&file.path);
        if writes {
            std::fs::write(&path, &file.text)?;
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == file.text,
            "{} is not what is written today: run this test with ODM_WRITE_BOOK=1",
            path.display()
        );
    }
    Ok(())
}

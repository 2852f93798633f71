//! The models that were written for other people's databases read each of their documents, and write it back byte for byte.

use mongodb::Client;
use odm::bson::{self, Bson, Document, RawDocumentBuf, doc};
use odm::{Model, Odm};
use std::error::Error;
use std::path::{Path, PathBuf};

#[path = "../data/made.rs"]
mod made;

type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// What to do without a server.
const NO_SERVER: &str = "there is no MongoDB server: run `cargo xtask test`, or set MONGODB_URI";

/// The folder of the data sets.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/introspect")
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

/// The same document with the fields of each document in it in one order.
fn sorted(document: Document) -> Document {
    let mut fields: Vec<(String, Bson)> = document.into_iter().collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
        .into_iter()
        .map(|(name, value)| (name, sorted_value(value)))
        .collect()
}

fn sorted_value(value: Bson) -> Bson {
    match value {
        Bson::Document(document) => Bson::Document(sorted(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(sorted_value).collect()),
        other => other,
    }
}

/// The document without the fields of the library, which it has once it was written.
fn without_own(document: Document) -> Document {
    let fields = document
        .into_iter()
        .filter(|(name, _)| !matches!(name.as_str(), "_odm" | "_copied"));
    fields
        .map(|(name, value)| (name, value_without_own(value)))
        .collect()
}

fn value_without_own(value: Bson) -> Bson {
    match value {
        Bson::Document(document) => Bson::Document(without_own(document)),
        Bson::Array(items) => Bson::Array(items.into_iter().map(value_without_own).collect()),
        other => other,
    }
}

fn bytes(document: &Document) -> Result<Vec<u8>> {
    Ok(RawDocumentBuf::try_from(document)?.into_bytes())
}

/// The documents of a collection.
fn documents(set: &str, collection: &str) -> Result<Vec<Document>> {
    if set == "made" {
        let made = made::collections()
            .into_iter()
            .find(|(name, ..)| *name == collection);
        return Ok(made.map(|(_, documents, _)| documents).unwrap_or_default());
    }
    let data = data();
    let text = std::fs::read_to_string(data.join(set).join(format!("{collection}.ndjson")))?;
    text.lines()
        .map(|line| Ok(narrow(serde_json::from_str(line)?)))
        .collect()
}

/// The indexes of a data set, each with its collection.
fn indexes(set: &str) -> Result<Vec<(String, Document)>> {
    if set == "made" {
        let all = made::collections()
            .into_iter()
            .flat_map(|(collection, _, indexes)| {
                indexes
                    .into_iter()
                    .map(move |index| (collection.to_owned(), index))
            });
        // This one is on a name that no path leads to.
        return Ok(all
            .filter(|(_, index)| index.get_str("name").ok() != Some("a.b_1"))
            .collect());
    }
    let data = data();
    let Ok(text) = std::fs::read_to_string(data.join(set).join("indexes.json")) else {
        return Ok(Vec::new());
    };
    let mut indexes = Vec::new();
    for index in serde_json::from_str::<Vec<Document>>(&text)?
        .into_iter()
        .map(narrow)
    {
        let keys = index.get_document("keys")?;
        let name: Vec<String> = keys
            .iter()
            .map(|(field, kind)| format!("{field}_{kind}"))
            .collect();
        let mut one = doc! { "key": keys.clone(), "name": name.join("_") };
        if let Ok(options) = index.get_document("options") {
            one.extend(options.clone());
        }
        indexes.push((index.get_str("collection")?.to_owned(), one));
    }
    Ok(indexes)
}

/// Replaces documents on the server, as [`replaced`] does.
type Replaced = for<'a> fn(&'a Odm, &'a [Document]) -> BoxFuture<'a, Result<usize>>;

/// How many documents were replaced by themselves that a struct alone would write in another order.
fn replaced<'a, T>(odm: &'a Odm, documents: &'a [Document]) -> BoxFuture<'a, Result<usize>>
where
    T: odm::write::Replaceable + odm::Document + Sync,
{
    Box::pin(async move {
        let collection = odm.collection::<T>();
        let raw = collection.driver::<Document>();
        let mut number = 0;
        for document in documents {
            let read: T = odm::from_document(document)?;
            if bytes(&odm::to_document(&read)?)? == bytes(document)? {
                continue;
            }
            collection.replace(read).await?;
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            let stored = raw.find_one(doc! { "_id": id }).await?.unwrap_or_default();
            let stored = without_own(stored);
            number += usize::from(bytes(&stored)? == bytes(document)?);
        }
        Ok(number)
    })
}

/// A collection of a data set, and what reads and writes its documents.
type Written = (&'static str, fn(&[Document]) -> Result<usize>, Replaced);

/// How many documents were written with the same bytes. Those of the others differ in the order of fields alone, or in the width of
/// integers.
fn read_and_write<T: odm::Document>(documents: &[Document]) -> Result<usize> {
    let mut same = 0;
    for document in documents {
        let read: T = odm::from_document(document)?;
        let written = odm::to_document(&read)?;
        if bytes(&written)? == bytes(document)? {
            same += 1;
        } else {
            let (written, document) = (narrow(sorted(written)), narrow(sorted(document.clone())));
            assert_eq!(bytes(&written)?, bytes(&document)?, "{written} is not {document}");
        }
    }
    Ok(same)
}

/// Runs a data set. `others` of its documents are written in another order, `kept` of them not by the server.
fn run(set: &str, models: &[Model], others: usize, kept: usize, all: &[Written]) -> Result<()> {
    assert_eq!(
        all.len(),
        models.len(),
        "the list of documents in this test is not that of `{set}`"
    );
    let (mut same, mut read) = (0, 0);
    for (collection, read_and_write, _) in all {
        let documents = documents(set, collection)?;
        same += read_and_write(&documents)?;
        read += documents.len();
    }
    assert_eq!(read - same, others, "{set}: documents in another order");
    let runtime = tokio::runtime::Runtime::new()?;
    assert_eq!(
        runtime.block_on(on_server(set, models, all))?,
        kept,
        "{set}: documents whose order the server keeps"
    );
    Ok(())
}

/// The database as it is stored: nothing contradicts the models, and documents are replaced by themselves. Returns the number of those that
/// the struct alone would write in another order, and that have the same bytes nevertheless.
async fn on_server(set: &str, models: &[Model], all: &[Written]) -> Result<usize> {
    let uri = std::env::var("MONGODB_URI").map_err(|_| NO_SERVER)?;
    let db = Client::with_uri_str(uri)
        .await?
        .database(&format!("introspected_{}", set.replace('-', "_")));
    db.drop().await?;
    for (collection, ..) in all {
        db.collection::<Document>(collection)
            .insert_many(documents(set, collection)?)
            .await?;
    }
    for (collection, index) in indexes(set)? {
        db.run_command(doc! { "createIndexes": collection, "indexes": [index] })
            .await?;
    }
    let odm = Odm::new(db.clone(), models.iter().copied())?;
    let plan = odm.plan().await?;
    for change in plan.changes() {
        // The database has no validators, and a copy needs an index by which its holders are found, and one for pending work.
        let is_known = ["set a validator", "for the reference", "for pending work"];
        let text = change.to_string();
        assert!(is_known.iter().any(|known| text.contains(known)), "{set}: {text}");
        assert!(change.violations().is_none(), "{set}: {change}");
    }
    let mut number = 0;
    for (collection, _, replaced) in all {
        number += replaced(&odm, &documents(set, collection)?).await?;
    }
    db.drop().await?;
    Ok(number)
}

macro_rules! documents {
    ($set:literal, $module:ident, $others:literal, $kept:literal: $($collection:literal => $document:ident,)*) => {
        run($set, &odm_introspected_tests::$module::models(), $others, $kept, &[$((
            $collection,
            read_and_write::<odm_introspected_tests::$module::$document>,
            replaced::<odm_introspected_tests::$module::$document>,
        )),*])
    };
}

#[test]
fn srd() -> Result<()> {
    documents! { "srd", srd, 20, 0:
        "ability_scores" => AbilityScore,
        "alignments" => Alignment,
        "backgrounds" => Background,
        "classes" => Class,
        "conditions" => Condition,
        "damage_types" => DamageType,
        "equipment" => Equipment,
        "equipment_categories" => EquipmentCategory,
        "feats" => Feat,
        "features" => Feature,
        "languages" => Language,
        "levels" => Level,
        "magic_items" => MagicItem,
        "magic_schools" => MagicSchool,
        "proficiencies" => Proficiency,
        "races" => Race,
        "skills" => Skill,
        "spells" => Spell,
        "subclasses" => Subclass,
        "subraces" => Subrace,
        "traits" => Trait,
        "weapon_properties" => WeaponPropertie,
    }
}

#[test]
fn srd_faults() -> Result<()> {
    documents! { "srd-faults", srd_faults, 0, 0:
        "ability_scores" => AbilityScore,
        "alignments" => Alignment,
        "backgrounds" => Background,
        "classes" => Class,
        "damage_types" => DamageType,
        "equipment" => Equipment,
        "equipment_categories" => EquipmentCategory,
        "feats" => Feat,
        "features" => Feature,
        "languages" => Language,
        "levels" => Level,
        "magic_items" => MagicItem,
        "magic_schools" => MagicSchool,
        "poisons" => Poison,
        "proficiencies" => Proficiency,
        "skills" => Skill,
        "species" => Species,
        "subclasses" => Subclass,
        "subspecies" => Subspecies,
        "traits" => Trait,
        "weapon_mastery_properties" => WeaponMasteryPropertie,
        "weapon_properties" => WeaponPropertie,
    }
}

#[test]
fn flights() -> Result<()> {
    documents! { "flights", flights, 0, 0:
        "airlines" => Airline,
        "airports" => Airport,
        "flights" => Flight,
        "planes" => Plane,
        "weather" => Weather,
    }
}

#[test]
fn countries() -> Result<()> {
    documents! { "countries", countries, 0, 0:
        "abbreviations" => Abbreviation,
        "airfields" => Airfield,
        "capitals" => Capital,
        "countries" => Country,
        "currencies" => Currency,
        "elevations" => Elevation,
        "independence" => Independence,
        "landlocked" => Landlocked,
        "numbers" => Number2,
        "populations" => Population,
    }
}

#[test]
fn crafting() -> Result<()> {
    documents! { "crafting", crafting, 13, 0:
        "blocks" => Block,
        "enchantments" => Enchantment,
        "entities" => Entitie,
        "entityLoot" => EntityLoot,
        "foods" => Food,
        "items" => Item,
        "materials" => Material,
        "recipes" => Recipe,
    }
}

#[test]
fn deliveries() -> Result<()> {
    documents! { "deliveries", deliveries, 114, 82:
        "accounts" => Account,
        "deliveries" => Delivery,
        "repositories" => Repository,
    }
}

#[test]
fn made() -> Result<()> {
    documents! { "made", made, 5, 0:
        "absent-values" => AbsentValue,
        "arrays" => Array,
        "composed" => Composed,
        "kinds" => Kind,
        "maps" => Map,
        "mixed ids" => MixedId,
        "new_readers" => NewReader,
        "numbers" => Number2,
        "products" => Product,
        "readers" => Reader2,
        "reviews" => Review,
        "type" => Type,
        "works" => Work,
        "writers" => Writer,
    }
}

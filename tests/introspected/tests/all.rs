//! The models that were written for other people's databases read each of their documents, and write it back byte for byte.

use mongodb::Client;
use odm::bson::{Bson, Document, RawDocumentBuf, doc};
use odm::{Model, Odm};
use std::error::Error;
use std::path::{Path, PathBuf};

type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
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
    let fields = document.into_iter().filter(|(name, _)| !matches!(name.as_str(), "_odm" | "_copied"));
    fields.map(|(name, value)| (name, value_without_own(value))).collect()
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

/// The documents of a file.
fn documents(file: &Path) -> Result<Vec<Document>> {
    let text = std::fs::read_to_string(file)?;
    text.lines()
        .map(|line| Ok(narrow(serde_json::from_str(line)?)))
        .collect()
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
type Written = (&'static str, fn(&Path) -> Result<(usize, usize)>, Replaced);

/// How many documents were written with the same bytes, of how many. Those of the others differ in the order of fields alone.
fn read_and_write<T: odm::Document>(file: &Path) -> Result<(usize, usize)> {
    let (mut same, mut all) = (0, 0);
    for document in documents(file)? {
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

fn run(set: &str, models: &[Model], all: &[Written]) -> Result<()> {
    assert_eq!(
        all.len(),
        models.len(),
        "the list of documents in this test is not that of `{set}`"
    );
    let Some(data) = data() else { return Ok(()) };
    let (mut same, mut read) = (0, 0);
    for (collection, read_and_write, _) in all {
        let file = data.join(set).join(format!("{collection}.ndjson"));
        let (equal, documents) = read_and_write(&file)?;
        same += equal;
        read += documents;
    }
    println!("{set}: {same} of {read} documents are written with the same bytes");
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(on_server(set, &data, models, all))
}

/// The database as it is stored: the plan of its models, and documents that are replaced by themselves.
async fn on_server(set: &str, data: &Path, models: &[Model], all: &[Written]) -> Result<()> {
    let uri = std::env::var("MONGODB_URI").unwrap_or_else(|_| "mongodb://localhost:27017".to_owned());
    let db = Client::with_uri_str(uri)
        .await?
        .database(&format!("introspected_{}", set.replace('-', "_")));
    db.drop().await?;
    for (collection, ..) in all {
        let documents = documents(&data.join(set).join(format!("{collection}.ndjson")))?;
        db.collection::<Document>(collection)
            .insert_many(documents)
            .await?;
    }
    let odm = Odm::new(db.clone(), models.iter().copied())?;
    println!("{set}: {}", odm.plan().await?);
    let mut number = 0;
    for (collection, _, replaced) in all {
        let documents = documents(&data.join(set).join(format!("{collection}.ndjson")))?;
        number += replaced(&odm, &documents).await?;
    }
    println!("{set}: {number} more on the server");
    db.drop().await?;
    Ok(())
}

macro_rules! documents {
    ($set:literal, $module:ident: $($collection:literal => $document:ident,)*) => {
        run($set, &odm_introspected_tests::$module::models(), &[$((
            $collection,
            read_and_write::<odm_introspected_tests::$module::$document>,
            replaced::<odm_introspected_tests::$module::$document>,
        )),*])
    };
}

#[test]
fn srd() -> Result<()> {
    documents! { "srd", srd:
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
    documents! { "srd-faults", srd_faults:
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
    documents! { "flights", flights:
        "airlines" => Airline,
        "airports" => Airport,
        "flights" => Flight,
        "planes" => Plane,
        "weather" => Weather,
    }
}

#[test]
fn countries() -> Result<()> {
    documents! { "countries", countries:
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
    documents! { "crafting", crafting:
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
    documents! { "deliveries", deliveries:
        "accounts" => Account,
        "deliveries" => Delivery,
        "repositories" => Repository,
    }
}

//! The models that were written for other people's databases read each of their documents, and write it back byte for byte.

use odm::bson::{Bson, Document, RawDocumentBuf};
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

fn bytes(document: &Document) -> Result<Vec<u8>> {
    Ok(RawDocumentBuf::try_from(document)?.into_bytes())
}

/// A collection of a data set, and what reads and writes its documents.
type Written = (&'static str, fn(&Path) -> Result<(usize, usize)>);

/// How many documents were written with the same bytes, of how many. Those of the others differ in the order of fields alone.
fn read_and_write<T: odm::Document>(file: &Path) -> Result<(usize, usize)> {
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

fn run(set: &str, models: usize, all: &[Written]) -> Result<()> {
    assert_eq!(
        all.len(),
        models,
        "the list of documents in this test is not that of `{set}`"
    );
    let Some(data) = data() else { return Ok(()) };
    let (mut same, mut read) = (0, 0);
    for (collection, read_and_write) in all {
        let file = data.join(set).join(format!("{collection}.ndjson"));
        let (equal, documents) = read_and_write(&file)?;
        same += equal;
        read += documents;
    }
    println!("{set}: {same} of {read} documents are written with the same bytes");
    Ok(())
}

macro_rules! documents {
    ($set:literal, $module:ident: $($collection:literal => $document:ident,)*) => {
        run($set, odm_introspected_tests::$module::models().len(), &[$((
            $collection,
            read_and_write::<odm_introspected_tests::$module::$document>,
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

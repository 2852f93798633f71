//! The collections of the database `srd_faults`, as `odm introspect` read them.

pub mod ability_scores;
pub mod alignments;
pub mod backgrounds;
pub mod classes;
pub mod damage_types;
pub mod equipment;
pub mod equipment_categories;
pub mod feats;
pub mod features;
pub mod languages;
pub mod levels;
pub mod magic_items;
pub mod magic_schools;
pub mod poisons;
pub mod proficiencies;
pub mod skills;
pub mod species;
pub mod subclasses;
pub mod subspecies;
pub mod traits;
pub mod weapon_mastery_properties;
pub mod weapon_properties;

pub use ability_scores::*;
pub use alignments::*;
pub use backgrounds::*;
pub use classes::*;
pub use damage_types::*;
pub use equipment::*;
pub use equipment_categories::*;
pub use feats::*;
pub use features::*;
pub use languages::*;
pub use levels::*;
pub use magic_items::*;
pub use magic_schools::*;
pub use poisons::*;
pub use proficiencies::*;
pub use skills::*;
pub use species::*;
pub use subclasses::*;
pub use subspecies::*;
pub use traits::*;
pub use weapon_mastery_properties::*;
pub use weapon_properties::*;

/// The documents of all collections, for `Odm::new`.
pub fn models() -> [odm::Model; 22] {
    odm::models![
        AbilityScore,
        Alignment,
        Background,
        Class,
        DamageType,
        Equipment,
        EquipmentCategory,
        Feat,
        Feature,
        Language,
        Level,
        MagicItem,
        MagicSchool,
        Poison,
        Proficiency,
        Skill,
        Species,
        Subclass,
        Subspecies,
        Trait,
        WeaponMasteryPropertie,
        WeaponPropertie,
    ]
}

//! The collections of the database `srd`, as `odm introspect` read them.

pub mod ability_scores;
pub mod alignments;
pub mod backgrounds;
pub mod classes;
pub mod conditions;
pub mod damage_types;
pub mod equipment;
pub mod equipment_categories;
pub mod feats;
pub mod features;
pub mod languages;
pub mod levels;
pub mod magic_items;
pub mod magic_schools;
pub mod proficiencies;
pub mod races;
pub mod skills;
pub mod spells;
pub mod subclasses;
pub mod subraces;
pub mod traits;
pub mod weapon_properties;

pub use ability_scores::*;
pub use alignments::*;
pub use backgrounds::*;
pub use classes::*;
pub use conditions::*;
pub use damage_types::*;
pub use equipment::*;
pub use equipment_categories::*;
pub use feats::*;
pub use features::*;
pub use languages::*;
pub use levels::*;
pub use magic_items::*;
pub use magic_schools::*;
pub use proficiencies::*;
pub use races::*;
pub use skills::*;
pub use spells::*;
pub use subclasses::*;
pub use subraces::*;
pub use traits::*;
pub use weapon_properties::*;

/// The documents of all collections, for `Odm::new`.
pub fn models() -> [odm::Model; 22] {
    odm::models![
        AbilityScore,
        Alignment,
        Background,
        Class,
        Condition,
        DamageType,
        Equipment,
        EquipmentCategory,
        Feat,
        Feature,
        Language,
        Level,
        MagicItem,
        MagicSchool,
        Proficiency,
        Race,
        Skill,
        Spell,
        Subclass,
        Subrace,
        Trait,
        WeaponPropertie,
    ]
}

//! The collection `countries`.

use super::Number;
use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `countries`: 250 were counted. Half of them have up to 2559 bytes, the largest has
/// 7676.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "countries")]
#[document(index(fields(cca2), unique))]
#[document(index(fields(region, subregion)))]
pub struct Country {
    pub id: String,
    pub name: CountryName,
    // Items: at most 5; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub tld: Vec<String>,
    pub cca2: String,
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    pub ccn3: String,
    pub cioc: String,
    // Null in 1 of 250.
    pub independent: Option<bool>,
    pub status: CountryStatus,
    #[field(name = "unMember")]
    pub un_member: bool,
    // Its values: "" (57), "African Group" (54), "Asia and the Pacific Group" (54), "Latin American and
    // Caribbean Group" (33), "Western European and Others Group" (29), "Eastern European Group" (23).
    #[field(name = "unRegionalGroup")]
    pub un_regional_group: String,
    // A map: its 162 keys are codes of 3 letters, 136 of which occur once in 250 documents. Entries: at
    // most 9; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 20, key_len = 10)]
    pub currencies: BTreeMap<String, CountryCurrency>,
    pub idd: CountryIdd,
    // Items: at most 3; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub capital: Vec<String>,
    // Items: at most 9; half have up to 3, 99 of 100 up to 8.
    #[embed(max = 20)]
    #[field(name = "altSpellings")]
    pub alt_spellings: Vec<String>,
    pub region: CountryRegion,
    // Its values: "Caribbean" (28), "Eastern Africa" (20), "Western Africa" (17), "Western Asia" (17),
    // "Northern Europe" (16), "South America" (14), "South-Eastern Asia" (11), "Middle Africa" (10),
    // "Polynesia" (10), "Southern Europe" (10), "Southeast Europe" (9), "Southern Asia" (9), and 13
    // more.
    pub subregion: String,
    // A map: its 153 keys are codes of 3 letters, 111 of which occur once in 250 documents. Entries: at
    // most 15; half have up to 1, 99 of 100 up to 9.
    #[embed(max = 50, key_len = 10)]
    pub languages: BTreeMap<String, String>,
    // A map: its 23 keys are codes of 3 letters, with values of one shape. Entries: always 23.
    #[embed(max = 50, key_len = 10)]
    pub translations: BTreeMap<String, CountryNative>,
    // Items: always 2.
    #[embed(max = 10)]
    pub latlng: Vec<Number>,
    pub landlocked: bool,
    // Items: at most 16; half have up to 2, 99 of 100 up to 10.
    // Refers to `countries._id`: 649 of 649 were found. 164 of 164 distinct values were found.
    // A link in both directions: 648 pairs agree, 1 are on this side alone and 0 on the other.
    #[reference(many, max = 50, inverse = borders)]
    pub borders: Vec<Ref<Country>>,
    // Its types differ: 247 int, 3 double. `retype` in a migration makes them one.
    pub area: Number,
    pub flag: String,
    // A map: its 2 keys are codes of 3 letters, which are keys of another map. Entries: always 2.
    #[embed(max = 10, key_len = 10)]
    pub demonyms: BTreeMap<String, CountryDemonym>,
}

/// `name.native{}` of `countries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct CountryNative {
    pub official: String,
    pub common: String,
}

/// `name` of `countries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct CountryName {
    pub common: String,
    pub official: String,
    // A map: its 153 keys are codes of 3 letters, 111 of which occur once in 250 documents. Entries: at
    // most 15; half have up to 1, 99 of 100 up to 9.
    #[embed(max = 50, key_len = 10)]
    pub native: BTreeMap<String, CountryNative>,
}

/// `status` of `countries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountryStatus {
    #[embed(name = "officially-assigned")]
    OfficiallyAssigned,
    #[embed(name = "user-assigned")]
    UserAssigned,
}

/// `currencies{}` of `countries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct CountryCurrency {
    pub name: String,
    // Its values: "$" (71), "€" (37), "Fr" (20), "£" (16), "kr" (7), "L" (5), "R" (4), "Sh" (4), "¥"
    // (4), "₨" (4), "P" (3), "ƒ" (3), and 88 more.
    pub symbol: String,
}

/// `idd` of `countries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct CountryIdd {
    // Its values: "+2" (64), "+3" (36), "+5" (32), "+6" (31), "+9" (30), "+1" (25), "+4" (17), "+8"
    // (11), "" (2), "+7" (2).
    pub root: String,
    // Items: at most 380; half have up to 1, 99 of 100 up to 5.
    #[embed(max = 1_000)]
    pub suffixes: Vec<String>,
}

/// `region` of `countries`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountryRegion {
    Africa,
    Americas,
    Antarctic,
    Asia,
    Europe,
    Oceania,
}

/// `demonyms{}` of `countries`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct CountryDemonym {
    pub f: String,
    pub m: String,
}

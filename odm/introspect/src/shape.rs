//! The shape of documents: one [`Shape`] a path, with figures of all values that were read there, in memory that does not grow with
//! their number.

use crate::kind::{Kind, TextForm};
use crate::sketch::{Common, Distinct, Distribution, Twice, hash};
use bson::{Bson, RawBsonRef, RawDocument, oid::ObjectId};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The number of paths of a collection that are kept: 5,000 with all their figures take up to some 200 MB.
pub const PATHS: usize = 5_000;
/// From this number of fields on, an embedded document whose fields are mostly missing is read as a map at once.
const FOLDED: usize = 300;
/// A field of a collection with so many fields stays one where more than one document in this many has it.
const RARE: u64 = 50;
/// Text that is longer is no key of anything.
pub const KEY_LENGTH: usize = 128;

/// A value that a key may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Value {
    /// An integer, of whichever kind.
    Int(i64),
    /// Text of at most [`KEY_LENGTH`] bytes.
    Text(String),
    /// An ObjectId.
    Id(ObjectId),
    /// A UUID.
    Uuid([u8; 16]),
    /// A date in milliseconds.
    Date(i64),
    /// Any other, by its hash.
    Other(u64),
}

impl Value {
    /// A value of a document; `None` for null, documents and arrays.
    pub fn of(value: &RawBsonRef<'_>) -> Option<Self> {
        Some(match value {
            RawBsonRef::Int32(number) => Self::Int((*number).into()),
            RawBsonRef::Int64(number) => Self::Int(*number),
            RawBsonRef::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Self::Int(*number as i64)
            }
            RawBsonRef::Double(number) => Self::Other(hash(&number.to_bits())),
            RawBsonRef::String(text) if text.len() <= KEY_LENGTH => Self::Text((*text).to_owned()),
            RawBsonRef::String(text) => Self::Other(hash(text)),
            RawBsonRef::ObjectId(id) => Self::Id(*id),
            RawBsonRef::Binary(binary) if binary.bytes.len() == 16 && Kind::of(value) == Kind::Uuid => {
                Self::Uuid(binary.bytes.try_into().ok()?)
            }
            RawBsonRef::DateTime(date) => Self::Date(date.timestamp_millis()),
            RawBsonRef::Null | RawBsonRef::Document(_) | RawBsonRef::Array(_) => return None,
            other => Self::Other(hash(&format!("{other:?}"))),
        })
    }

    /// Its hash, by which samples of two paths are compared.
    pub fn hash(&self) -> u64 {
        match self {
            Self::Other(hash) => *hash,
            value => hash(value),
        }
    }

    /// The same as an ObjectId, where it is one or the text of one.
    pub fn as_id(&self) -> Option<Self> {
        match self {
            Self::Id(_) => Some(self.clone()),
            Self::Text(text) => ObjectId::parse_str(text).ok().map(Self::Id),
            _ => None,
        }
    }

    /// The values with which a statement asks for it.
    pub fn bson(&self) -> Option<Bson> {
        Some(match self {
            Self::Int(number) => Bson::Int64(*number),
            Self::Text(text) => Bson::String(text.clone()),
            Self::Id(id) => Bson::ObjectId(*id),
            Self::Uuid(bytes) => Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::Uuid,
                bytes: bytes.to_vec(),
            }),
            Self::Date(date) => Bson::DateTime(bson::DateTime::from_millis(*date)),
            Self::Other(_) => return None,
        })
    }

    /// It as text, for examples.
    pub fn text(&self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Id(id) => id.to_hex(),
            Self::Uuid(bytes) => bson::Uuid::from_bytes(*bytes).to_string(),
            Self::Date(date) => bson::DateTime::from_millis(*date)
                .try_to_rfc3339_string()
                .unwrap_or_else(|_| date.to_string()),
            Self::Other(_) => String::from("…"),
        }
    }
}

/// The keys of embedded documents that are read as a map.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Keys {
    /// A sample of the distinct keys, each with its number.
    pub distinct: Distinct<(String, u64)>,
    /// The shape of all values.
    pub values: Box<Shape>,
    /// The sentence that says why it is a map.
    pub evidence: String,
}

impl Keys {
    fn add(&mut self, key: &str, number: u64) {
        let hash = Value::Text(key.to_owned()).hash();
        match self.distinct.get_mut(hash) {
            Some((_, count)) => *count += number,
            None => self.distinct.add(hash, || (key.to_owned(), number)),
        }
    }

    /// The share of the distinct keys that occur once.
    pub fn once(&self) -> f64 {
        let kept = self.distinct.kept();
        let all = kept.len().max(1) as f64;
        kept.filter(|(_, (_, number))| *number == 1).count() as f64 / all
    }
}

/// The figures of a path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Shape {
    /// The number of values of each kind, in the order of [`Kind::ALL`].
    kinds: [u64; Kind::ALL.len()],
    /// The fields of embedded documents, in the order in which they were first seen, until they are read as a map.
    pub fields: IndexMap<String, Shape>,
    /// The number of fields that hardly a document has, and that are not among `fields`.
    pub others: u64,
    /// The keys of embedded documents that are read as a map.
    pub keys: Option<Keys>,
    /// The numbers of fields of embedded documents.
    pub sizes: Distribution,
    /// The elements of arrays.
    pub items: Option<Box<Shape>>,
    /// The lengths of arrays.
    pub lengths: Distribution,
    /// The lengths of texts.
    pub texts: Distribution,
    /// The number of empty texts.
    pub empty: u64,
    /// The number of texts of each form, in the order of [`TextForm::ALL`].
    forms: [u64; TextForm::ALL.len()],
    /// The distinct values that may be keys.
    pub distinct: Distinct<Value>,
    /// Whether one of them occurs twice.
    pub twice: Twice,
    /// The numbers of each text.
    pub common: Common,
    /// The least and the greatest number.
    pub numbers: Option<(f64, f64)>,
}

/// The rest of the limit of paths.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Budget {
    paths: usize,
    /// The number of fields that were not kept.
    pub refused: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            paths: PATHS,
            refused: 0,
        }
    }
}

impl Budget {
    fn takes(&mut self) -> bool {
        match self.paths.checked_sub(1) {
            Some(left) => {
                self.paths = left;
                true
            }
            None => {
                self.refused += 1;
                false
            }
        }
    }
}

impl Shape {
    /// Adds a document of a collection. Where it has so many fields that hardly a document has that those would be a map, they are
    /// counted, and the others stay fields.
    pub fn add_root(&mut self, document: &RawDocument, budget: &mut Budget) {
        let before = self.fields.len();
        self.add_fields(document, budget);
        let number = self.fields.len();
        if number > before && self.is_mostly_rare() {
            let documents = self.number(Kind::Object);
            self.fields.retain(|_, field| field.present() * RARE > documents);
            let left = number - self.fields.len();
            self.others += left as u64;
            budget.paths += left;
        }
    }

    /// Adds an embedded document.
    pub fn add_document(&mut self, document: &RawDocument, budget: &mut Budget) {
        self.add_fields(document, budget);
        if self.is_mostly_rare() {
            let evidence = format!("{} distinct keys and more, most of them rare", self.fields.len());
            self.fold(evidence, budget);
        }
    }

    /// Whether an embedded document has many fields, and each document few of them. Looked at for each hundredth field.
    fn is_mostly_rare(&self) -> bool {
        self.fields.len() >= FOLDED && self.fields.len().is_multiple_of(100) && self.filled() < 0.2
    }

    fn add_fields(&mut self, document: &RawDocument, budget: &mut Budget) {
        self.kinds[Kind::Object as usize] += 1;
        let mut number = 0;
        // Bytes that are no BSON end a document early: the server checks what it stores.
        for (name, value) in document.iter().flatten() {
            number += 1;
            let name: &str = name.as_ref();
            if let Some(keys) = &mut self.keys {
                keys.add(name, 1);
                keys.values.add(&value, budget);
            } else if let Some(field) = self.fields.get_mut(name) {
                field.add(&value, budget);
            } else if budget.takes() {
                let mut field = Self::default();
                field.add(&value, budget);
                self.fields.insert(name.to_owned(), field);
            }
        }
        self.sizes.add(number);
    }

    fn add(&mut self, value: &RawBsonRef<'_>, budget: &mut Budget) {
        match value {
            RawBsonRef::Document(document) => return self.add_document(document, budget),
            RawBsonRef::Array(array) => {
                self.kinds[Kind::Array as usize] += 1;
                let items = self.items.get_or_insert_default();
                let mut length = 0;
                for item in array.into_iter().flatten() {
                    length += 1;
                    items.add(&item, budget);
                }
                self.lengths.add(length);
                return;
            }
            _ => self.kinds[Kind::of(value) as usize] += 1,
        }
        match value {
            RawBsonRef::Null => return,
            RawBsonRef::String(text) => {
                self.texts.add(text.chars().count() as u64);
                self.common.add(text);
                if text.is_empty() {
                    self.empty += 1;
                    return;
                }
                if let Some(form) = TextForm::of(text) {
                    self.forms[form as usize] += 1;
                }
            }
            RawBsonRef::Int32(number) => self.add_number((*number).into()),
            RawBsonRef::Int64(number) => self.add_number(*number as f64),
            RawBsonRef::Double(number) => self.add_number(*number),
            _ => {}
        }
        if let Some(value) = Value::of(value) {
            let hash = value.hash();
            if !matches!(value, Value::Other(_)) {
                self.twice.add(hash);
            } else {
                self.twice.mark();
            }
            self.distinct.add(hash, || value);
        }
    }

    fn add_number(&mut self, number: f64) {
        if number.is_nan() {
            return;
        }
        let (least, greatest) = self.numbers.get_or_insert((number, number));
        *least = least.min(number);
        *greatest = greatest.max(number);
    }

    /// Adds the figures of another.
    pub fn merge(&mut self, other: Self, budget: &mut Budget) {
        for (number, more) in self.kinds.iter_mut().zip(other.kinds) {
            *number += more;
        }
        for (number, more) in self.forms.iter_mut().zip(other.forms) {
            *number += more;
        }
        if self.keys.is_none() && other.keys.is_some() {
            self.fold(String::new(), budget);
        }
        for (name, field) in other.fields {
            if let Some(keys) = &mut self.keys {
                keys.add(&name, field.present());
                keys.values.merge(field, budget);
            } else if let Some(mine) = self.fields.get_mut(&name) {
                mine.merge(field, budget);
                // A path less.
                budget.paths += 1;
            } else {
                self.fields.insert(name, field);
            }
        }
        if let (Some(keys), Some(others)) = (&mut self.keys, other.keys) {
            for (_, (key, number)) in others.distinct.kept() {
                keys.add(key, *number);
            }
            keys.values.merge(*others.values, budget);
        }
        match (&mut self.items, other.items) {
            (Some(items), Some(others)) => items.merge(*others, budget),
            (items, others) => {
                if items.is_none() {
                    *items = others;
                }
            }
        }
        self.sizes.merge(&other.sizes);
        self.lengths.merge(&other.lengths);
        self.texts.merge(&other.texts);
        self.others += other.others;
        self.empty += other.empty;
        self.distinct.merge(other.distinct);
        self.twice.merge(other.twice);
        self.common.merge(other.common);
        if let Some((least, greatest)) = other.numbers {
            self.add_number(least);
            self.add_number(greatest);
        }
    }

    /// Reads its embedded documents as a map from here on.
    pub fn fold(&mut self, evidence: String, budget: &mut Budget) {
        let mut keys = Keys {
            evidence,
            ..Keys::default()
        };
        for (name, field) in std::mem::take(&mut self.fields) {
            keys.add(&name, field.present());
            keys.values.merge(field, budget);
            budget.paths += 1;
        }
        self.keys = Some(keys);
    }

    /// The number of values, null among them.
    pub fn present(&self) -> u64 {
        self.kinds.iter().sum()
    }

    /// The number of values of a kind.
    pub fn number(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }

    /// The kinds with their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL
            .into_iter()
            .zip(self.kinds)
            .filter(|(_, number)| *number > 0)
    }

    /// The one form of all its texts that are not empty.
    pub fn form(&self) -> Option<TextForm> {
        let texts = self.number(Kind::String) - self.empty;
        let of = |form: TextForm| self.forms[form as usize];
        if texts == 0 {
            return None;
        }
        if of(TextForm::Flag01) == texts {
            return Some(TextForm::Flag01);
        }
        if of(TextForm::Flag01) + of(TextForm::Number) == texts {
            return Some(TextForm::Number);
        }
        TextForm::ALL.into_iter().find(|form| of(*form) == texts)
    }

    /// The share of the fields that an embedded document has, of all that were seen.
    fn filled(&self) -> f64 {
        let all: u64 = self.fields.values().map(Self::present).sum();
        all as f64 / (self.fields.len() as u64 * self.number(Kind::Object)).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{doc, rawdoc};

    fn read(documents: &[bson::Document]) -> (Shape, Budget) {
        let (mut shape, mut budget) = (Shape::default(), Budget::default());
        for document in documents {
            let raw = bson::RawDocumentBuf::try_from(document).unwrap();
            shape.add_document(&raw, &mut budget);
        }
        (shape, budget)
    }

    #[test]
    fn a_shape_counts_kinds_and_what_is_missing() {
        let (shape, _) = read(&[
            doc! { "a": 1, "b": [1, "x", null] },
            doc! { "a": "1", "c": { "d": null } },
        ]);
        assert_eq!(shape.number(Kind::Object), 2);
        let a = &shape.fields["a"];
        assert_eq!((a.number(Kind::Int), a.number(Kind::String)), (1, 1));
        assert_eq!(a.form(), Some(TextForm::Flag01));
        let items = shape.fields["b"].items.as_ref().unwrap();
        assert_eq!(items.present(), 3);
        assert_eq!(shape.fields["c"].fields["d"].number(Kind::Null), 1);
    }

    #[test]
    fn many_rare_keys_are_a_map_at_once_and_hold_memory() {
        let documents: Vec<_> = (0..10_000)
            .map(|number| doc! { "m": { format!("k{number}"): number, format!("l{number}"): 1 } })
            .collect();
        let (shape, budget) = read(&documents);
        let keys = shape.fields["m"].keys.as_ref().unwrap();
        assert!((18_000..22_000).contains(&keys.distinct.number()));
        assert!(keys.once() > 0.99);
        assert_eq!(keys.values.number(Kind::Int), 20_000);
        assert_eq!(budget.refused, 0);
    }

    #[test]
    fn a_collection_of_many_rare_fields_keeps_those_that_most_documents_have() {
        let (mut shape, mut budget) = (Shape::default(), Budget::default());
        for number in 0..20_000 {
            let document = doc! { "_id": number, "kind": "x", format!("k{number}"): 1 };
            let raw = bson::RawDocumentBuf::try_from(&document).unwrap();
            shape.add_root(&raw, &mut budget);
        }
        assert_eq!(shape.fields["_id"].present(), 20_000);
        assert_eq!(shape.fields["kind"].present(), 20_000);
        assert!(shape.fields.len() < 400 && shape.keys.is_none());
        assert!(shape.others > 19_000);
        assert_eq!(budget.refused, 0);
    }

    #[test]
    fn wide_documents_with_all_their_fields_are_no_map_and_end_at_the_limit_of_paths() {
        let wide: bson::Document = (0..6_000)
            .map(|number| (format!("f{number}"), 1.into()))
            .collect();
        let (shape, budget) = read(&[wide.clone(), wide]);
        assert!(shape.keys.is_none());
        assert_eq!(shape.fields.len(), PATHS);
        assert_eq!(budget.refused, 2_000);
    }

    #[test]
    fn a_document_that_is_no_bson_ends_early() {
        let mut bytes = rawdoc! { "a": 1, "b": "x" }.into_bytes();
        let at = bytes.len() - 4;
        bytes[at] = 0xff;
        if let Ok(document) = RawDocument::from_bytes(&bytes) {
            let (mut shape, mut budget) = (Shape::default(), Budget::default());
            shape.add_document(document, &mut budget);
            assert!(shape.fields.contains_key("a"));
        }
    }
}

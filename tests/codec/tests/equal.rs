//! Generated models are written and read by the codec and by serde: the same bytes, the same values, and of changed bytes the same value or
//! an error of both, but for the differences that the design of the codec names.
//!
//! `ODM_CODEC_CASES` is the number of values (a million where nothing is said), `ODM_CODEC_CHANGES` that of changed documents.

use odm::__private::stored::{read_alone, write_alone};
use odm::bson;
use odm_codec_tests::{Any, ForEach, Sample, documents, values};
use serde::{Deserialize, Serialize};

const MODELS: u64 = 200;

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

#[derive(Serialize)]
struct Written<'a, T> {
    v: &'a T,
}

#[derive(Deserialize)]
struct Found<T> {
    v: T,
}

fn by_codec<T: Sample>(value: &T) -> Vec<u8> {
    write_alone(|name, out| value.write(name, None, out)).expect("BSON holds it")
}

fn by_serde<T: Sample>(value: &T) -> Vec<u8> {
    bson::serialize_to_vec(&Written { v: value }).expect("BSON holds it")
}

fn read_by_codec<T: Sample>(bytes: &[u8]) -> Option<T> {
    read_alone(bytes, T::read).ok()
}

fn read_by_serde<T: Sample>(bytes: &[u8]) -> Option<T> {
    let found: Found<T> = bson::deserialize_from_slice(bytes).ok()?;
    Some(found.v)
}

/// Writes and reads values as they are.
struct AsTheyAre {
    cases: u64,
    seed: u64,
}

impl ForEach for AsTheyAre {
    fn model<T: Sample>(&mut self, name: &'static str) {
        self.seed += 1;
        let mut any = Any::new(self.seed);
        for _ in 0..self.cases {
            let value = T::sample(&mut any);
            let bytes = by_codec(&value);
            assert!(bytes == by_serde(&value), "{name}: {:?}", shown(&bytes));
            let read: Option<T> = read_by_codec(&bytes);
            let again = read.as_ref().map(by_codec);
            let theirs: Option<T> = read_by_serde(&bytes);
            let theirs = theirs.as_ref().map(by_codec);
            let is_alike = again == theirs || T::UNTAGGED && again.as_ref() == Some(&bytes);
            assert!(is_alike && again.is_some(), "{name}: {:?}", shown(&bytes));
        }
    }
}

/// Reads documents of which a byte is changed.
struct Changed {
    cases: u64,
    seed: u64,
    /// How many were read by both, by the codec alone, and by serde alone; and of the first, with another variant of an enum without tags.
    both: u64,
    other_variant: u64,
    codec: u64,
    serde: u64,
}

impl ForEach for Changed {
    fn model<T: Sample>(&mut self, name: &'static str) {
        self.seed += 1;
        let mut any = Any::new(self.seed);
        let mut bytes = Vec::new();
        for case in 0..self.cases {
            if case % 16 == 0 {
                bytes = by_codec(&T::sample(&mut any));
            }
            let mut changed = bytes.clone();
            // Before these stand the length, the type and the name of the one value.
            let at = 7 + any.below(changed.len() - 7);
            let before = changed[at];
            changed[at] = match any.below(3) {
                0 => before ^ (1 << any.below(8)),
                1 => any.below(20) as u8,
                _ => any.int(),
            };
            if any.below(50) == 0 {
                changed.truncate(at);
            }
            match (read_by_codec::<T>(&changed), read_by_serde::<T>(&changed)) {
                (Some(ours), Some(theirs)) => {
                    self.both += 1;
                    let (ours, theirs) = (by_codec(&ours), by_codec(&theirs));
                    assert!(ours == theirs || T::UNTAGGED, "{name}: {:?}", shown(&changed));
                    self.other_variant += u64::from(ours != theirs);
                }
                (Some(_), None) => self.codec += 1,
                (None, Some(_)) => {
                    self.serde += 1;
                    let after = changed.get(at).copied();
                    assert!(
                        is_named(before, after, &changed),
                        "{name}: {before:#x} at {at} became {after:x?}, which serde alone reads: {:?} was {:?}",
                        shown(&changed),
                        shown(&bytes),
                    );
                }
                (None, None) => {}
            }
        }
    }
}

/// Whether it is one of the differences that the design names: bytes that are no document, of which serde reads a part, or another type of
/// a value that serde takes for it too: an array for a document, other binary data, and in the place of a document a value that the bson
/// crate shows serde as one, such as an id as `{ "$oid": … }`.
fn is_named(before: u8, after: Option<u8>, changed: &[u8]) -> bool {
    let raw = bson::RawDocument::from_bytes(changed);
    if raw.and_then(bson::Document::try_from).is_err() {
        return true;
    }
    let types = [
        (0x03, 0x04), // a document, as an array
        (0x04, 0x03), // an array, as a document
        (0x02, 0x05), // a text, as binary data
    ];
    let shown_as_documents = [0x05, 0x07, 0x09, 0x0b, 0x0c, 0x0d, 0x0f, 0x11, 0x13, 0x7f, 0xff];
    after.is_some_and(|after| {
        types.contains(&(before, after)) || before == 0x03 && shown_as_documents.contains(&after)
    })
}

fn shown(bytes: &[u8]) -> String {
    match bson::RawDocumentBuf::from_bytes(bytes.to_vec()) {
        Ok(document) => format!("{document:?}"),
        Err(_) => format!("{bytes:?}"),
    }
}

fn for_all(with: &mut impl ForEach) {
    documents(with);
    values(with);
}

#[test]
fn values_are_written_and_read_alike() {
    let cases = number("ODM_CODEC_CASES", 1_000_000) / MODELS;
    for_all(&mut AsTheyAre { cases, seed: 1 });
}

#[test]
fn changed_bytes_are_read_alike_or_by_none() {
    let cases = number("ODM_CODEC_CHANGES", 200_000) / MODELS;
    let mut changed = Changed {
        cases,
        seed: number("ODM_CODEC_SEED", 7),
        both: 0,
        other_variant: 0,
        codec: 0,
        serde: 0,
    };
    for_all(&mut changed);
    println!(
        "of {} changed documents, {} were read by both ({} with another variant), {} by the codec alone, {} by serde alone",
        cases * MODELS,
        changed.both,
        changed.other_variant,
        changed.codec,
        changed.serde
    );
    assert!(changed.both > 0 && changed.codec < changed.both / 10);
    assert!(changed.other_variant < changed.both / 100);
}

#[derive(odm::Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
enum Either {
    Id(bson::oid::ObjectId),
    Double(f64),
    Integer(i64),
    Text(String),
}

/// Each is read as the variant that was written, though an integer is read as a double and a text of 24 digits as an id where no other
/// variant holds it.
#[test]
fn a_variant_without_a_tag_is_the_one_that_was_written() {
    for value in [
        Either::Id(bson::oid::ObjectId::from_bytes([7; 12])),
        Either::Double(5.0),
        Either::Integer(5),
        Either::Text("0123456789abcdef01234567".to_owned()),
    ] {
        let bytes = write_alone(|name, out| odm::types::Stored::write(&value, name, None, out));
        let read = read_alone(
            &bytes.expect("BSON holds it"),
            <Either as odm::types::Stored>::read,
        );
        assert_eq!(read.expect("is read"), value);
    }
}

#[derive(odm::Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
enum Lenient {
    Id(bson::oid::ObjectId),
    Double(f64),
}

#[test]
fn other_programs_integers_and_texts_are_read_where_no_variant_holds_them() {
    let read = |value: bson::Bson| {
        let document = bson::serialize_to_vec(&bson::doc! { "v": value }).expect("BSON holds it");
        read_alone(&document, <Lenient as odm::types::Stored>::read).ok()
    };
    assert_eq!(read(5.into()), Some(Lenient::Double(5.0)));
    let id = bson::oid::ObjectId::from_bytes([7; 12]);
    assert_eq!(read(id.to_hex().into()), Some(Lenient::Id(id)));
    assert_eq!(read("Kate".into()), None);
}

//! How many bytes a field takes, estimated from its figures.

use crate::design::Field;
use crate::kind::Kind;

/// Text of which nothing is known.
const TEXT: f64 = 20.0;
/// Binary data: their lengths are not measured.
const BINARY: f64 = 64.0;
/// A key of a map: their lengths are not measured.
const KEY: f64 = 12.0;
/// The bytes that an element of an array has beside its value: its type, its position as text, and a NUL.
const ELEMENT: f64 = 4.0;
/// The bytes that a document or an array has beside its content: its length and a NUL.
const FRAME: f64 = 5.0;

/// The mean number of bytes of a value, over those that are there.
pub fn value(field: &Field) -> f64 {
    let mut number = 0;
    let mut total = 0.0;
    for (kind, times) in &field.kinds {
        number += times;
        total += *times as f64 * of_kind(field, *kind);
    }
    if number == 0 { 0.0 } else { total / number as f64 }
}

/// The bytes of an array of this length.
pub fn array(field: &Field, length: u64) -> f64 {
    FRAME + length as f64 * (ELEMENT + field.items.as_deref().map_or(0.0, value))
}

/// The mean number of bytes that a field adds to the document that it is in, over those that have it and those that have not.
pub fn share(field: &Field) -> f64 {
    let there = if field.of == 0 {
        1.0
    } else {
        field.present as f64 / field.of as f64
    };
    there * (2.0 + field.name.len() as f64 + value(field))
}

fn of_kind(field: &Field, kind: Kind) -> f64 {
    match kind {
        Kind::Null | Kind::Other => 0.0,
        Kind::Bool => 1.0,
        Kind::Int => 4.0,
        Kind::Long | Kind::Double | Kind::Date | Kind::Timestamp => 8.0,
        Kind::Decimal => 16.0,
        Kind::ObjectId => 12.0,
        Kind::Uuid => 21.0,
        Kind::BinData => BINARY,
        Kind::String | Kind::Regex => FRAME + field.text.as_ref().map_or(TEXT, |text| text.mean),
        Kind::Array => {
            array(field, 0) + field.lengths.as_ref().map_or(0.0, |lengths| lengths.mean) * element(field)
        }
        Kind::Object => match &field.map {
            Some(map) => FRAME + map.per_map.mean * (2.0 + KEY + value(&map.values)),
            None => FRAME + field.fields.iter().map(share).sum::<f64>(),
        },
    }
}

fn element(field: &Field) -> f64 {
    ELEMENT + field.items.as_deref().map_or(0.0, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::fixtures::*;

    #[test]
    fn an_array_takes_its_elements() {
        let items = text("tags[]", 300, 10);
        let tags = array_of("tags", 100, &[(3, 100)], items);
        // Each element: 4 bytes of frame, 5 of text, 10 characters.
        assert_eq!(value(&tags), 5.0 + 3.0 * 19.0);
        assert_eq!(array(&tags, 1000), 19_005.0);
    }

    #[test]
    fn a_document_takes_its_fields() {
        let mut price = number("price", 50);
        price.of = 100;
        let line = object("line", 100, vec![price]);
        // In half of the documents: a type, five letters, a NUL and 4 bytes.
        assert_eq!(value(&line), 5.0 + 0.5 * (2.0 + 5.0 + 4.0));
    }
}

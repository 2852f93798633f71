//! The average of a field over children, kept as sum and count.

use crate::model::path::{At, Fielded, Nested, OfFields, Path};
use crate::model::shape::{Bounds, FieldMeta, Shape, StructShape};
use crate::model::size::Size;
use crate::model::stored::{self, Done, Field, Fields, Out, Read, Reader, Row};
use crate::model::value::Value;
use serde::{Deserialize, Serialize};

/// A running average, stored as `{ sum, count }`, so that a child is added or taken away without reading the others:
/// the type of a field with `#[computed(avg = Review.stars)]`.
///
/// A condition names its parts, `p.rating.count.gte(10)`; so does an order. By the average itself documents are sorted in a pipeline, as
/// `expr(p.rating.sum) / expr(p.rating.count)`.
///
/// Of fractions, and of whole numbers beyond `i32`, it is computed again from all children where one is removed or changed: a
/// number that is subtracted could leave a part of it behind. The rounding of the additions since then remains. An audit reports
/// a sum whose rounding exceeds a billionth of the sum of the children.
///
/// ```
/// use odm::types::Average;
///
/// assert_eq!(Average::default().value(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Average {
    sum: f64,
    count: i64,
}

impl Average {
    /// The average; `None` of nothing.
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// How many values there are; children whose field is missing or `null` don't count.
    pub fn count(&self) -> i64 {
        self.count
    }
}

const FIELDS: &[FieldMeta] = &[
    FieldMeta::value::<f64>("sum", "sum", "f64", Bounds::NONE),
    FieldMeta::value::<i64>("count", "count", "i64", Bounds::NONE),
];

const SUM: Field<f64> = Field::value("sum\0", None);
const COUNT: Field<i64> = Field::value("count\0", None);

impl Fields for Average {
    fn write_fields(&self, out: &mut Out) -> Done {
        out.by(&self.sum, const { &SUM })?;
        out.by(&self.count, const { &COUNT })
    }
}

impl Row for Average {
    fn read_row(fields: &mut Reader<'_>) -> Read<Average> {
        Ok(Average {
            sum: fields.by(const { &SUM })?,
            count: fields.by(const { &COUNT })?,
        })
    }
}

stored::embedded_type!(Average);

impl Fielded for Average {
    const FIELDS: &'static [FieldMeta] = FIELDS;
}

/// The typed paths of an [`Average`].
pub struct AverageFields<R, P> {
    /// The sum of the values.
    pub sum: Path<R, f64, At<P, Average, 0>>,
    /// How many there are.
    pub count: Path<R, i64, At<P, Average, 1>>,
}

impl<R, P> Clone for AverageFields<R, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, P> Copy for AverageFields<R, P> {}

impl<R, P> std::fmt::Debug for AverageFields<R, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AverageFields")
    }
}

impl Nested for Average {
    type Form = OfFields;
    type Fields<R: 'static, P: 'static> = AverageFields<R, P>;
    fn fields<R: 'static, P: 'static>() -> &'static AverageFields<R, P> {
        const {
            &AverageFields {
                sum: Path::NEW,
                count: Path::NEW,
            }
        }
    }
}

impl crate::model::value::Compared for Average {
    type As = crate::model::value::ByParts;
}

impl Value for Average {
    const SIZE: Size = Size::fixed(34); // a document of "sum" (1 + 4 + 8) and "count" (1 + 6 + 8), with 5 bytes around it
    fn shape() -> Shape {
        Shape::Struct(&StructShape {
            ty: None,
            name: "Average",
            fields: FIELDS,
            deny_unknown: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::{deserialize_from_document, doc, serialize_to_vec};

    #[test]
    fn is_the_sum_divided_by_the_count() {
        let average: Average = deserialize_from_document(doc! { "sum": 45_i64, "count": 12 }).unwrap();
        assert_eq!(average.value(), Some(3.75));
        assert_eq!((average.sum(), average.count()), (45.0, 12));
    }

    #[test]
    fn takes_the_bytes_that_it_says() {
        let bytes = serialize_to_vec(&Average::default()).unwrap();
        assert_eq!(bytes.len(), 33);
        assert_eq!(Average::default().value(), None);
    }
}

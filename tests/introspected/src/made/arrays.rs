//! The collection `arrays`.

use super::BothListList;
use odm::bson::Bson;
use odm::prelude::*;

/// A document of `arrays`: 6 were counted. Half of them have up to 12635 bytes, the largest has
/// 12635.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "arrays")]
#[document(index(fields(documents.a)))]
pub struct Array {
    pub id: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub texts: Vec<ArrayText>,
    // Items: always 3.
    #[embed(max = 10)]
    pub with_null: Vec<Option<i32>>,
    // Items: always 3.
    #[embed(max = 10)]
    pub mixed: Vec<ArrayMixedValue>,
    // Items: always 3.
    #[embed(max = 10)]
    pub matrix: Vec<BothListList>,
    // Items: always 2.
    #[embed(max = 10)]
    pub cube: Vec<ArrayCubeList>,
    // Items: always 2.
    #[embed(max = 10)]
    pub documents: Vec<ArrayDocument>,
    // Items: always 2.
    #[embed(max = 10)]
    pub nested: Vec<ArrayNestedList>,
    // Items: always 2.
    #[embed(max = 10)]
    pub maybe: Vec<Option<ArrayMaybe>>,
    // Items: always 300.
    #[embed(max = 500, large = "up to 300 were found")]
    pub points: Vec<ArrayPoint>,
    // Items: always 2.
    // Its types differ: 5 int, 1 array. `retype` in a migration makes them one.
    #[field(opaque)]
    pub sizes: Bson,
}

/// `texts[]` of `arrays`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayText {
    #[embed(name = "a")]
    A,
    #[embed(name = "b")]
    B,
}

/// `mixed[]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum ArrayMixedValue {
    Integer(i32),
    Double(f64),
    Text(String),
}

/// `cube[][]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct ArrayCubeList2 {
    // Items: at most 1; half have up to 1, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub items: Vec<f64>,
}

/// `cube[]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct ArrayCubeList {
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub items: Vec<ArrayCubeList2>,
}

/// `documents[].b` of `arrays`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayB {
    #[embed(name = "x")]
    X,
    #[embed(name = "y")]
    Y,
}

/// `documents[]` of `arrays`.
// 2 kinds of documents, told by `b`: x (6): no fields of its own; y (6): always `c`. An enum with
// `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ArrayDocument {
    pub a: i32,
    pub b: ArrayB,
    // Missing in 6 of 12.
    #[field(skip_none)]
    pub c: Option<bool>,
}

/// `nested[][]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ArrayNested {
    pub p: i32,
    pub q: i32,
}

/// `nested[]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct ArrayNestedList {
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub items: Vec<ArrayNested>,
}

/// `maybe[]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ArrayMaybe {
    pub p: i32,
}

/// `points[].label` of `arrays`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayLabel {
    #[embed(name = "p")]
    P,
}

/// `points[]` of `arrays`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ArrayPoint {
    pub x: i32,
    pub y: f64,
    pub label: ArrayLabel,
}

//! The collection `type`.

use odm::prelude::*;

/// A document of `type`: 48 were counted. Half of them have up to 273 bytes, the largest has 273.
// The index `a.b_1` on { "a.b": 1 } is not declared: `a.b` is no path of fields that the structs
// declare.
// Documents have these fields in several orders: they are written in this one where the whole
// document is written anew.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "type")]
#[document(index(fields(type_, -in_shape), name = "by type"))]
#[document(index(fields(fn_.crate_), sparse))]
#[document(index(fields(state), partial = |d| d.id.gt(3)))]
#[document(index(fields(ümlaut), collation(locale = "de", strength = 1)))]
pub struct Type {
    // Refers to `new_readers._id`: 48 of 48 were found. A reference stands in a field, or in an array
    // of references. 48 of 48 distinct values were found.
    #[field(name = "_id")]
    pub document_id: ObjectId,
    #[field(name = "id")]
    pub id: i32,
    #[field(name = "type")]
    pub type_: TypeType,
    #[field(name = "self")]
    pub self_: bool,
    #[field(name = "Self")]
    pub self_2: i32,
    #[field(name = "fn")]
    pub fn_: TypeFn,
    #[field(name = "in-shape")]
    pub in_shape: i32,
    #[field(name = "in_shape")]
    pub in_shape_2: i32,
    #[field(name = "inShape")]
    pub in_shape_3: i32,
    // Equal to the value of `id`: 48 are, 0 are not.
    #[field(name = "+1")]
    pub n_1: i32,
    #[field(name = "-1")]
    pub n_1_2: i32,
    pub ümlaut: TypeÜmlaut,
    pub 日本: Type日本,
    #[field(name = "🦀")]
    pub field: i32,
    #[field(name = "a b\"c")]
    pub a_b_c: TypeABC,
    pub others: i32,
    pub state: TypeState,
    // Fields whose names can't be declared: with a dot, or a `$` at the beginning.
    #[field(flatten, extra)]
    pub others_2: odm::bson::Document,
}

/// `type` of `type`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeType {
    #[embed(name = "a")]
    A,
}

/// `fn` of `type`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TypeFn {
    #[field(name = "crate")]
    pub crate_: i32,
    #[field(name = "super")]
    pub super_: i32,
    #[field(name = "2d")]
    pub n_2d: i32,
}

/// `ümlaut` of `type`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeÜmlaut {
    #[embed(name = "ü")]
    Ü,
}

/// `日本` of `type`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type日本 {
    日,
}

/// `a b"c` of `type`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeABC {
    #[embed(name = "quoted")]
    Quoted,
}

/// `state` of `type`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeState {
    #[embed(name = "+1")]
    Plus1,
    #[embed(name = "-1")]
    Minus1,
    #[embed(name = "1st")]
    N1st,
    #[embed(name = "Self")]
    NSelf,
    #[embed(name = "in review")]
    InReview,
    #[embed(name = "in_review")]
    InReview2,
    #[embed(name = "type")]
    Type,
    #[embed(name = "🦀")]
    N,
}

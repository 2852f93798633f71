//! The collection `recipes`.

use super::Item;
use odm::prelude::*;

/// A document of `recipes`: 885 were counted. Half of them have up to 159 bytes, the largest has
/// 235.
// 2 kinds of documents, told by which of `inShape`, `ingredients` is there: ingredients (269):
// always `ingredients`; inShape (616): always `inShape`. An enum with `tag` would have a variant
// for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "recipes")]
#[document(index(fields(result.id)))]
pub struct Recipe {
    pub id: ObjectId,
    pub result: RecipeResult,
    // Missing in 616 of 885.
    // Items: at most 9; half have up to 2, 99 of 100 up to 9.
    // Refers to `items._id`: 658 of 658 were found. 179 of 179 distinct values were found.
    #[reference(many, max = 20, index = false)]
    #[field(skip_none)]
    pub ingredients: Option<Vec<Ref<Item>>>,
    // Missing in 269 of 885.
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(name = "inShape", skip_none)]
    pub in_shape: Option<Vec<RecipeInShapeList>>,
}

/// `result` of `recipes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RecipeResult {
    // Refers to `items._id`: 885 of 885 were found. 200 of 200 distinct values were found.
    #[reference(index = false)]
    pub id: Ref<Item>,
    pub count: i32,
}

/// `inShape[]` of `recipes`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct RecipeInShapeList {
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub items: Vec<Option<ObjectId>>,
}

//! A tree of categories.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "categories")]
pub struct Category {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[parent_ref(order(name))]
    pub parent: Option<Ref<Category>>, // `None`: a root
    // From the root down to the parent. Generates the struct
    // CategoryEntry { id: Ref<Category>, name: String }
    #[reference(many, max = 20)]
    #[denormalize(from = Category, fields(name: String))]
    pub ancestors: Vec<CategoryEntry>,
    #[computed(count = Category)]
    pub children: i64,
}

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

/// Some data: *Books* and *Media*; *Programming* below *Books*, with *Databases* and *Languages*.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Category])?;
    odm.sync().await?;
    let category = |id, name: &str, above: &[i32]| NewCategory {
        id,
        name: name.into(),
        parent: above.last().copied().map(Ref::new),
        ancestors: above.iter().copied().map(Ref::new).collect(),
    };
    for new in [
        category(1, "Books", &[]),
        category(2, "Programming", &[1]),
        category(3, "Databases", &[1, 2]),
        category(4, "Languages", &[1, 2]),
        category(5, "Media", &[]),
    ] {
        odm.collection::<Category>().insert(new).await?;
    }
    Ok(odm)
}

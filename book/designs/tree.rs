//! A tree of categories.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "categories")]
pub struct Category {
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

/// The path to the children of a category: its own ancestors, then the category.
pub fn path_below(parent: &Category) -> Vec<Ref<Category>> {
    let ancestors = parent.ancestors.iter().map(|ancestor| ancestor.id);
    ancestors.chain([parent.to_ref()]).collect()
}

/// Inserts a category below another one.
pub async fn add(odm: &Odm, id: i32, name: &str, below: i32) -> odm::Result<Category> {
    odm.transaction(async |tx| {
        let categories = tx.collection::<Category>();
        let parent = categories.get(below).await?;
        let parent = parent.ok_or_else(|| odm::Error::application("unknown id"))?;
        let new = NewCategory {
            id,
            name: name.to_owned(),
            parent: Some(parent.to_ref()),
            ancestors: path_below(&parent),
        };
        categories.insert(new).await
    })
    .await
}

/// Moves a category, and all below it, to another parent.
pub async fn move_below(odm: &Odm, id: i32, to: i32) -> odm::Result<()> {
    let moved = Ref::<Category>::new(id);
    odm.transaction(async |tx| {
        let categories = tx.collection::<Category>();
        let parent = categories.get(to).await?;
        let parent = parent.ok_or_else(|| odm::Error::application("unknown id"))?;
        let path = path_below(&parent);
        if path.contains(&moved) {
            return Err(odm::Error::application("a category can't be below itself"));
        }
        let subtree = |c: CategoryFields| c.id.eq(id) | c.ancestors.contains(moved);
        let subtree = categories.find(subtree).all().await?;
        categories
            .update(id)
            .set(|c| c.parent, Some(parent.to_ref()))
            .set(|c| c.ancestors, path.clone())
            .await?;
        for category in subtree.iter().filter(|category| category.children > 0) {
            let kept = path_below(category).into_iter().skip_while(|c| *c != moved);
            let below: Vec<_> = path.iter().copied().chain(kept).collect();
            categories
                .update_where(|c| c.parent.eq(category.to_ref()))
                .set(|c| c.ancestors, below)
                .await?;
        }
        Ok(())
    })
    .await
}

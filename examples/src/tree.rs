//! Tree: a category refers to its parent, and holds the path from the root, so breadcrumbs are no query.
use mongodb::Database;
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

impl Category {
    /// `Books › Programming › Databases`: the document itself, no query.
    pub fn breadcrumbs(&self) -> String {
        let ancestors = self.ancestors.iter().map(|ancestor| ancestor.name.as_str());
        ancestors
            .chain([self.name.as_str()])
            .collect::<Vec<_>>()
            .join(" › ")
    }
}

/// The path to the children of a category: its own ancestors, and then the category.
fn path_below(parent: &Category) -> Vec<Ref<Category>> {
    let ancestors = parent.ancestors.iter().map(|ancestor| ancestor.id);
    ancestors.chain([parent.to_ref()]).collect()
}

/// Inserts a category, below another one or as a root.
async fn add(odm: &Odm, id: i32, name: &str, below: Option<i32>) -> odm::Result<Category> {
    odm.transaction(async |tx| {
        let categories = tx.collection::<Category>();
        let (mut parent, mut ancestors) = (None, vec![]);
        if let Some(below) = below {
            let found = categories.get(below).await?;
            let found = found.ok_or_else(|| odm::Error::application("no such parent"))?;
            (parent, ancestors) = (Some(found.to_ref()), path_below(&found));
        }
        categories
            .insert(NewCategory {
                id,
                name: name.into(),
                parent,
                ancestors,
            })
            .await
    })
    .await
}

/// Moves a category, and all below it, to another parent.
async fn move_below(odm: &Odm, id: i32, to: i32) -> odm::Result<()> {
    let moved = Ref::<Category>::new(id);
    odm.transaction(async |tx| {
        let categories = tx.collection::<Category>();
        let parent = categories.get(to).await?;
        let parent = parent.ok_or_else(|| odm::Error::application("no such parent"))?;
        let path = path_below(&parent);
        if path.contains(&moved) {
            return Err(odm::Error::application("a category can't move below itself"));
        }
        let subtree = categories.find(|c| c.ancestors.contains(moved)).all().await?;
        categories
            .update(id)
            .set(|c| c.parent, Some(parent.to_ref()))
            .set(|c| c.ancestors, path.clone())
            .await?;
        for category in subtree {
            // The part of its path that stays begins with the moved category.
            let stays = category.ancestors.iter().map(|ancestor| ancestor.id);
            let stays = stays.skip_while(|ancestor| *ancestor != moved);
            let ancestors: Vec<Ref<Category>> = path.iter().copied().chain(stays).collect();
            categories
                .update(category.id)
                .set(|c| c.ancestors, ancestors)
                .await?;
        }
        Ok(())
    })
    .await
}

/// Needs transactions: a replica set, of one node if you like.
pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Category])?;
    odm.sync().await?;
    let categories = odm.collection::<Category>();
    for (id, name, below) in [
        (1, "Books", None),
        (2, "Programming", Some(1)),
        (3, "Databases", Some(2)),
        (4, "Languages", Some(2)),
        (5, "Media", None),
    ] {
        let category = add(&odm, id, name, below).await?;
        println!("{}", category.breadcrumbs());
    }

    // The children of a category by name, and the whole subtree: one query each, at any depth.
    let page = categories.children_of(Ref::<Category>::new(2)).page(20).await?;
    let names: Vec<&str> = page.items.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Databases", "Languages"]);
    let books = Ref::<Category>::new(1);
    assert_eq!(categories.find(|c| c.ancestors.contains(books)).count().await?, 3);
    assert_eq!(categories.find(|c| c.children.eq(0)).count().await?, 3);

    // A rename changes the breadcrumbs of all below it.
    let done = categories.update(2).set(|c| c.name, "Software").await?;
    assert_eq!(done.copies_updated, 2);
    let databases = categories.get(3).await?.expect("it was inserted");
    assert_eq!(databases.breadcrumbs(), "Books › Software › Databases");
    println!("Renamed: {}", databases.breadcrumbs());

    // A move takes the subtree along.
    move_below(&odm, 2, 5).await?;
    let databases = categories.get(3).await?.expect("it was inserted");
    assert_eq!(databases.breadcrumbs(), "Media › Software › Databases");
    println!("Moved: {}", databases.breadcrumbs());
    assert_eq!(categories.get(1).await?.map(|books| books.children), Some(0));
    assert_eq!(categories.get(5).await?.map(|media| media.children), Some(1));
    assert!(move_below(&odm, 2, 3).await.is_err()); // Databases is below it

    // A category with children stays; a leaf can be deleted.
    let refused = categories.delete(2).await;
    assert!(matches!(refused, Err(odm::Error::StillReferenced { .. })));
    assert_eq!(categories.delete(4).await?.deleted, 1);
    assert!(odm.audit().await?.is_clean());
    Ok(())
}

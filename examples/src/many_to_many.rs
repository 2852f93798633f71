//! Many-to-many: two-way where both sides are small, one-way where one side is huge.
use mongodb::Database;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = authors, max = 500)]
    pub books: Vec<Ref<Book>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    pub id: i32,
    pub title: String,
    #[reference(many, inverse = books, max = 20)]
    pub authors: Vec<Ref<Author>>,
    #[reference(many, max = 5)] // one-way: a category may hold half a million books
    #[index]
    pub categories: Vec<Ref<Category>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "categories")]
pub struct Category {
    pub id: i32,
    #[index(unique)]
    pub name: String,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Author, Book, Category])?;
    odm.sync().await?;
    let (authors, books, categories) = (
        odm.collection::<Author>(),
        odm.collection::<Book>(),
        odm.collection::<Category>(),
    );

    let drama = categories
        .insert(NewCategory {
            id: 1,
            name: "drama".into(),
        })
        .await?;
    let peter = authors
        .insert(NewAuthor {
            id: 1,
            name: "Peter Standford".into(),
            books: vec![],
        })
        .await?;
    let georg = authors
        .insert(NewAuthor {
            id: 2,
            name: "Georg Peterson".into(),
            books: vec![],
        })
        .await?;
    let people = books
        .insert(NewBook {
            id: 1,
            title: "A tale of two people".into(),
            authors: vec![peter.to_ref(), georg.to_ref()],
            categories: vec![drama.to_ref()],
        })
        .await?;
    books
        .insert(NewBook {
            id: 2,
            title: "A tale of two space ships".into(),
            authors: vec![peter.to_ref()],
            categories: vec![],
        })
        .await?;

    // Both directions, two queries each; both sides were written by the inserts above.
    let peter = authors.get(1).await?.unwrap();
    let titles: Vec<String> = peter
        .books
        .load(&odm)
        .await?
        .into_iter()
        .map(|b| b.title)
        .collect();
    assert_eq!(titles, ["A tale of two people", "A tale of two space ships"]);
    println!("{} has written {}.", peter.name, titles.join(" and "));

    // The unbalanced side is found by its index, not by an array in the category.
    assert_eq!(
        books
            .find(|b| b.categories.contains(drama.to_ref()))
            .count()
            .await?,
        1
    );

    // Several hops in one request: three collections, three queries.
    let shelf: Vec<(Book, (Vec<Author>, Vec<Category>))> = books
        .find_all()
        .include(|b| (b.authors, b.categories))
        .all()
        .await?;
    assert_eq!(shelf.len(), 2);
    for (book, (authors, categories)) in &shelf {
        let authors: Vec<&str> = authors.iter().map(|a| a.name.as_str()).collect();
        let categories: Vec<&str> = categories.iter().map(|c| c.name.as_str()).collect();
        println!(
            "{}: by {} [{}]",
            book.title,
            authors.join(", "),
            categories.join(", ")
        );
    }

    // Unlinking one side unlinks the other.
    books
        .update(people.id)
        .pull(|b| b.authors, georg.to_ref())
        .await?;
    assert!(authors.get(2).await?.unwrap().books.is_empty());
    Ok(())
}

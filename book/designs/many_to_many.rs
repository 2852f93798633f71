use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[reference(many, inverse = authors, max = 500)] // two-way
    pub books: Vec<Ref<Book>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", index(fields(categories, title, id)))]
pub struct Book {
    pub id: i32,
    #[field(max_len = 200)]
    pub title: String,
    #[reference(many, inverse = books, max = 20)] // two-way
    pub authors: Vec<Ref<Author>>,
    #[reference(many, max = 5)] // one-way
    pub categories: Vec<Ref<Category>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "categories")]
pub struct Category {
    pub id: i32,
    #[index(unique)]
    #[field(max_len = 50)]
    pub name: String,
}

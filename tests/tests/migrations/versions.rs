//! The documents of a blog in five versions of its program.

use odm::prelude::*;

pub mod v1 {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub mail: String,
        pub street: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        #[field(max_len = 100)]
        pub title: String,
        pub views: i32,
        pub legacy: Option<bool>,
    }
}

/// `mail` is `email`, and articles have a slug.
pub mod v2 {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub email: String,
        pub street: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        #[field(max_len = 100)]
        pub title: String,
        #[field(default)]
        pub slug: String,
        pub views: i32,
        pub legacy: Option<bool>,
    }
}

/// Views are texts, and `legacy` is gone.
pub mod v3 {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub email: String,
        pub street: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        #[field(max_len = 100)]
        pub title: String,
        #[field(default)]
        pub slug: String,
        pub views: String,
    }
}

/// Articles copy the name of their author, who counts them.
pub mod v4 {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub email: String,
        pub street: String,
        #[computed(count = Article)]
        pub articles: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        #[denormalize(from = author.name)]
        pub author_name: String,
        #[field(max_len = 100)]
        pub title: String,
        #[field(default)]
        pub slug: String,
        pub views: String,
    }
}

/// Titles may be longer, and articles have a language and an index.
pub mod v5 {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i32,
        pub name: String,
        pub email: String,
        pub street: String,
        #[computed(count = Article)]
        pub articles: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[parent_ref]
        pub author: Ref<Author>,
        #[denormalize(from = author.name)]
        pub author_name: String,
        #[field(max_len = 200)]
        #[index]
        pub title: String,
        #[field(default)]
        pub slug: String,
        pub views: String,
        #[field(default = "en".to_owned())]
        pub language: String,
    }
}

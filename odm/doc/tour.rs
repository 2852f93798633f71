use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "products", new(derive(Clone)))]
pub struct Product {
    pub id: ObjectId,
    #[index(unique)]
    pub name: String,
    #[field(min = 0)]
    pub cents: i64,
    /// Embedded: read and written with the product, and never more than five.
    #[embed(max = 5)]
    pub pictures: Vec<Picture>,
    /// References to parts, each with a copy of the part's name.
    #[reference(many, max = 200)]
    #[denormalize(from = Part, fields(name: String))]
    pub parts: Vec<PartEntry>,
    /// Copies of the ten newest reviews.
    #[subset(of = Review, limit = 10, order(-at), fields(at: DateTime, stars: i32))]
    pub newest: Vec<NewestEntry>,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

#[derive(Embed, Clone, Debug)]
pub struct Picture {
    pub url: String,
    pub width: i32,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "parts")]
pub struct Part {
    pub id: ObjectId,
    pub name: String,
    pub qty: i32,
}

/// Any number of them belong to a product, and are deleted with it.
#[derive(Document, Clone, Debug)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: ObjectId,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub product: Ref<Product>,
    pub at: DateTime,
    pub stars: i32,
    #[field(max_len = 2_000)]
    pub text: String,
}

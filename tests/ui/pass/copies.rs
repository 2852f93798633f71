//! The copies in the documentation of `Document`.

#![allow(dead_code)]

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    pub price: f64,
    #[volatile] // a copy of it does not compile
    pub qty: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    /// Makes `PartEntry { id: Ref<Part>, name: String }`.
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    pub parts: Vec<PartEntry>,
    /// The ten latest reviews.
    #[subset(of = Review, limit = 10, order(-at))]
    pub reviews: Vec<RecentReview>,
    #[computed(count = Review, filter = |r| r.stars.gte(4))]
    pub praised: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

/// The library's own fields stand within the reference here, so the struct may declare all of its fields.
#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Fitting {
    #[reference]
    #[denormalize(from = Part, fields(name: String))]
    pub part: FittedPart,
    pub torque: f64,
}

/// The part of a review that a product page shows.
#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[denormalize(from = Review)]
pub struct RecentReview {
    pub id: Ref<Review>,
    pub text: String,
    pub at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "reviews")]
pub struct Review {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub product: Ref<Product>,
    #[denormalize(from = product.name)]
    pub product_name: String,
    pub text: String,
    pub stars: i32,
    pub at: DateTime,
}

/// A document that belongs to another one, of which it copies fields: the extended reference to a parent.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "stock")]
pub struct Stock {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub at: DateTime,
    #[parent_ref(order(-at), on_delete = cascade)]
    #[denormalize(from = Part, fields(name: String))]
    pub part: StockedPart,
    #[parent_ref(one)]
    #[denormalize(from = Product)]
    pub product: Option<NamedProduct>,
    /// Beside a parent with copies, one without.
    #[parent_ref]
    pub review: Option<Ref<Review>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
#[denormalize(from = Product)]
pub struct NamedProduct {
    #[serde(rename = "p")]
    #[reference(on_delete = keep)]
    pub of: Ref<Product>,
    pub name: String,
}

/// Of two fields that refer to one type, `by` names the one to go by, be it a parent or not.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "towns")]
pub struct Town {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    #[computed(count = Journey, by = from)]
    pub departures: i64,
    #[computed(count = Journey, by = to)]
    pub arrivals: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "journeys")]
pub struct Journey {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    #[denormalize(from = Town, fields(name: String))]
    pub from: TownEntry,
    #[reference]
    #[denormalize(from = Town, fields(name: String))]
    pub to: TownEntry,
}

/// With copies or without, it is a child, and has a parent that may have no other.
fn is_child<C: odm::references::ChildOf<P>, P: odm::Document>() {}
fn is_only_child<C: odm::references::OnlyChildOf<P>, P: odm::Document>() {}

fn children(parts: odm::Collection<Part>, products: odm::Collection<Product>, towns: odm::Collection<Town>) {
    is_child::<Stock, Part>();
    is_only_child::<Stock, Product>();
    is_child::<Stock, Review>();
    is_child::<Journey, Town>();
    let _ = parts.find_all().include(|p| p.children::<Stock>().limit(10));
    let _ = products.find_all().include(|p| p.child::<Stock>());
    let _ = towns.find_all().include(|t| t.children_by(|j: JourneyFields| j.to));
}

pub(crate) fn main() -> odm::Result<()> {
    let (part, product) = (Ref::<Part>::new(ObjectId::new()), None);
    let new = NewStock {
        at: DateTime::now(),
        part,
        product,
        review: None,
    };
    assert!(new.product.is_none());
    let named = Stock::paths().product.name.eq("smoke shifter");
    assert_eq!(named.into_document()?, odm::bson::doc! { "product.name": { "$eq": "smoke shifter" } });
    let of = Stock::paths().part.eq(part);
    assert_eq!(of.into_document()?, odm::bson::doc! { "part.id": { "$eq": part.into_key() } });

    // The application names the parts; the library reads what is copied of them.
    let bolt = Ref::<Part>::new(ObjectId::new());
    let _new = NewProduct {
        name: "smoke shifter".into(),
        parts: vec![bolt],
    };
    let with_bolts = Product::paths().parts.contains(bolt);
    assert_eq!(
        with_bolts.into_document()?,
        odm::bson::doc! { "parts.id": { "$eq": bolt.into_key() } },
    );
    Ok(())
}

//! The steps of the blog, for lists in another order.

#[path = "steps/m0001_first.rs"]
pub mod m0001_first;
#[path = "steps/m0002_email_and_slug.rs"]
pub mod m0002_email_and_slug;
#[path = "steps/m0003_views.rs"]
pub mod m0003_views;
#[path = "steps/m0004_copies.rs"]
pub mod m0004_copies;
#[path = "steps/m0005_languages.rs"]
pub mod m0005_languages;

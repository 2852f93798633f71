include!("model.rs");

pub use odm::request::{Eq, OneOf, Page, Range, Sort, Text};

#[derive(RequestQuery, Clone, Debug, Default, PartialEq)]
#[request(of = Person, max_limit = 50)]
pub struct PeopleQuery {
    #[request(scan)]
    pub age: Range<i32>,
    #[request(scan)]
    pub name: Text,
    pub email: Eq<String>,
    #[request(path = tags.any_item(), scan)]
    pub tag: OneOf<String>,
    #[request(sort(name, email), scan)]
    pub sort: Sort,
    pub page: Page,
}

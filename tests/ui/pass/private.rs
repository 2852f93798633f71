//! Public types that hold, copy, query or refer to private ones.
#![deny(private_interfaces)]
use mongodb::bson::{DateTime, oid::ObjectId};
use odm::prelude::*;
use odm::request::{Eq, RequestQuery};

#[derive(Embed, Clone, Debug, PartialEq)]
struct Text {
    words: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
struct Name(String);

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Title(Text);

#[derive(Embed, Clone, Debug, PartialEq, Eq, Hash)]
#[embed(transparent)]
struct Inner(String);

#[derive(Embed, Clone, Debug, PartialEq, Eq, Hash)]
#[embed(transparent)]
pub struct Key(Inner);

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(patch)]
pub struct Part {
    name: Name,
    #[embed(max = 3)]
    texts: Vec<Text>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "private_posts", builder, patch, new(derive(Debug)))]
pub struct Post {
    id: ObjectId,
    #[subset(of = Comment, limit = 3, order(-at), fields(text: String))]
    latest: Vec<CommentPart>,
    #[reference]
    #[denormalize(from = User, fields(name: String))]
    author: UserPart,
    #[reference(any(User, Comment))]
    source: Option<SourceRef>,
    #[reference]
    editor: Option<Ref<User>>,
    title: Title,
    text: Text,
    #[embed(patch)]
    part: Part,
    #[embed(max = 3)]
    by_key: std::collections::HashMap<Key, i32>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "private_comments")]
struct Comment {
    id: ObjectId,
    #[parent_ref(order(at))]
    post: Ref<Post>,
    at: DateTime,
    text: String,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "private_users")]
struct User {
    id: ObjectId,
    #[index]
    name: String,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = User, size = 50)]
pub struct Visit {
    text: Text,
}

#[derive(RequestQuery)]
#[request(of = User)]
pub struct UserQuery {
    name: Eq<String>,
}

#[derive(Projection, Debug)]
#[projection(of = User)]
pub struct UserName {
    name: String,
}

#[derive(Row, Debug)]
pub struct UserRow {
    text: Text,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(id)]
struct Number(i64);

/// A private type is the id.
#[derive(Document, Clone, Debug)]
#[document(collection = "private_numbers")]
pub struct Numbered {
    id: Number,
    #[reference]
    next: Option<Ref<Numbered>>,
    #[reference(many, max = 3)]
    others: Vec<Ref<Numbered>>,
}

#[derive(Document, Clone, Debug)]
#[document(variant_of = Event)]
struct Login {
    id: Number,
    name: String,
}

/// Its documents are private. The compiler warns of that where the enum is written.
#[derive(Document, Clone, Debug)]
#[document(collection = "private_events")]
#[allow(private_interfaces)]
pub enum Event {
    Login(Login),
}

#[allow(dead_code)]
async fn by_private_ids(numbers: odm::Collection<Numbered>, events: odm::Collection<Event>) -> odm::Result<()> {
    let next = Some(Ref::new(Number(2)));
    let new = NewNumbered {
        id: Number(1),
        next,
        others: vec![],
    };
    let numbered = numbers.insert(new).await?;
    numbers.get(&numbered.id).await?;
    numbers.get(numbered.to_ref()).await?;
    numbers
        .find(|n| n.id.eq(Number(3)) & n.next.eq(numbered.to_ref()))
        .include(|n| (n.next, n.others))
        .all()
        .await?;
    let login = NewLogin {
        id: Number(4),
        name: "Kate".into(),
    };
    events.insert(login).await?;
    events.find(|e| e.login.name.eq("Kate")).all().await?;
    Ok(())
}

pub fn main() {
    let _ = odm::models![Numbered, Event];
    assert_eq!(Ref::<Numbered>::new(Number(5)).key().0, 5);
    let Ok(query) = UserQuery::parse("name=Kate") else {
        panic!("`name` is a parameter")
    };
    let filter: Filter<User> = query.into_filter();
    assert!(filter.into_document().is_ok());
    assert_eq!(Title(Text { words: 1 }).0.words, 1);
}

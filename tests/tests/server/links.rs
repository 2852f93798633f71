//! The documents of the tests of two-way references, in every shape, and whether their sides agree.

use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::TestDb;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

// One to many, of which the many can't be without.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people", timestamps, version)]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = owner, max = 500)]
    pub tasks: Vec<Ref<Task>>,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tasks", timestamps, version)]
pub struct Task {
    #[serde(rename = "_id")]
    pub id: i32,
    pub description: String,
    #[reference(inverse = tasks)]
    pub owner: Ref<Person>,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

// One to many, with little room, of which the many can.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams")]
pub struct Team {
    #[serde(rename = "_id")]
    pub id: String,
    #[reference(many, inverse = team, max = 3)]
    #[serde(rename = "playing")]
    pub members: Vec<Ref<Member>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "members")]
pub struct Member {
    #[serde(rename = "_id")]
    pub id: i64,
    pub note: String,
    #[reference(inverse = members)]
    #[serde(rename = "plays_for")]
    pub team: Option<Ref<Team>>,
}

// Many to many.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
pub struct Author {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[reference(many, inverse = authors, max = 4)]
    pub books: Vec<Ref<Book>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books")]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: i32,
    pub title: String,
    #[reference(many, inverse = books, max = 3)]
    pub authors: Vec<Ref<Author>>,
}

// One to one.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "citizens")]
pub struct Citizen {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(inverse = holder)]
    pub passport: Option<Ref<Passport>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "passports")]
pub struct Passport {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(inverse = passport)]
    pub holder: Option<Ref<Citizen>>,
}

// An array that may be missing.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "bands")]
pub struct Band {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(many, inverse = band, max = 10)]
    pub players: Option<Vec<Ref<Player>>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "players")]
pub struct Player {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(inverse = players)]
    pub band: Option<Ref<Band>>,
}

// Within one collection: a tree, and two fields that are their own other side.

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "nodes")]
pub struct Node {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(inverse = children)]
    pub parent: Option<Ref<Node>>,
    #[reference(many, inverse = parent, max = 10)]
    pub children: Vec<Ref<Node>>,
    #[reference(many, inverse = friends, max = 5)]
    pub friends: Vec<Ref<Node>>,
    #[reference(inverse = partner)]
    pub partner: Option<Ref<Node>>,
}

pub fn node(id: i32) -> NewNode {
    NewNode {
        id,
        parent: None,
        children: vec![],
        friends: vec![],
        partner: None,
    }
}

pub fn team(id: &str, members: &[i64]) -> NewTeam {
    NewTeam {
        id: id.into(),
        members: members.iter().copied().map(Ref::new).collect(),
    }
}

pub fn member(id: i64, team: Option<&str>) -> NewMember {
    NewMember {
        id,
        note: String::new(),
        team: team.map(|team| Ref::new(team.to_owned())),
    }
}

pub fn person(id: i32) -> NewPerson {
    NewPerson {
        id,
        name: format!("person {id}"),
        tasks: vec![],
    }
}

pub fn task(id: i32, owner: i32) -> NewTask {
    NewTask {
        id,
        description: format!("task {id}"),
        owner: Ref::new(owner),
    }
}

pub fn author(id: i32, books: &[i32]) -> NewAuthor {
    NewAuthor {
        id,
        name: format!("author {id}"),
        books: refs(books),
    }
}

pub fn book(id: i32, authors: &[i32]) -> NewBook {
    NewBook {
        id,
        title: format!("book {id}"),
        authors: refs(authors),
    }
}

pub fn refs<T: Document<Id = i32>>(ids: &[i32]) -> Vec<Ref<T>> {
    ids.iter().copied().map(Ref::new).collect()
}

/// A handle with all of them, with the collections made and the record of commands empty.
pub async fn odm(test: &TestDb) -> Odm {
    let models = models![
        Person, Task, Team, Member, Author, Book, Citizen, Passport, Band, Player, Node
    ];
    let odm = Odm::new(test.db.clone(), models).expect("sound models");
    odm.sync().await.expect("the schema is made");
    odm.server().await.expect("the server answers");
    test.commands.clear();
    odm
}

/// Which documents each document names.
pub async fn named(odm: &Odm, collection: &str, field: &str) -> BTreeMap<String, Vec<String>> {
    use futures::TryStreamExt;
    let all: Vec<Raw> = odm
        .database()
        .collection::<Raw>(collection)
        .find(doc! {})
        .await
        .expect("is read")
        .try_collect()
        .await
        .expect("is read");
    all.iter()
        .map(|document| {
            let named = match document.get(field) {
                None | Some(Bson::Null) => vec![],
                Some(Bson::Array(items)) => items.iter().map(Bson::to_string).collect(),
                Some(one) => vec![one.to_string()],
            };
            (document.get("_id").expect("has an id").to_string(), named)
        })
        .collect()
}

/// Panics where two sides differ, or a document names another twice.
pub async fn agree(odm: &Odm) {
    for (a, f, b, g) in [
        ("people", "tasks", "tasks", "owner"),
        ("teams", "playing", "members", "plays_for"),
        ("authors", "books", "books", "authors"),
        ("citizens", "passport", "passports", "holder"),
        ("bands", "players", "players", "band"),
        ("nodes", "parent", "nodes", "children"),
        ("nodes", "friends", "nodes", "friends"),
        ("nodes", "partner", "nodes", "partner"),
    ] {
        let forth = named(odm, a, f).await;
        let back = named(odm, b, g).await;
        let mut links = BTreeSet::new();
        for (holder, targets) in &forth {
            for target in targets {
                assert!(
                    links.insert((holder.clone(), target.clone())),
                    "{a}.{f} of {holder} has {target} twice"
                );
            }
        }
        let mut reverse = BTreeSet::new();
        for (target, holders) in &back {
            for holder in holders {
                assert!(
                    reverse.insert((holder.clone(), target.clone())),
                    "{b}.{g} of {target} has {holder} twice"
                );
            }
        }
        assert_eq!(links, reverse, "{a}.{f} and {b}.{g}\n{forth:?}\n{back:?}");
    }
}

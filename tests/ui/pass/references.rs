//! Every kind of reference, where it may stand: documents that refer to each other, trees, arrays and sets, embedded
//! structs and enums, aliases, other keys than the id.

use odm::prelude::*;
use odm::references::{ChildOf, OnDelete, OnlyChildOf, Reference};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet, VecDeque};

// Each refers to the other.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[index(unique)]
    pub account: i32,
    #[reference(many, max = 500)]
    pub tasks: Vec<Ref<Task>>,
    #[reference]
    pub current: Option<Ref<Task>>,
    #[reference]
    pub boss: Option<Ref<Person>>,
    #[parent_ref]
    pub mother: Option<Ref<Person>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
pub struct Task {
    #[serde(rename = "_id")]
    pub id: i64,
    pub time: DateTime,
    #[parent_ref(order(-time, note.text))]
    pub owner: Ref<Person>,
    #[embed]
    pub note: Note,
    #[reference(by = account, on_delete = keep, check = false, index = false)]
    pub customer: Ref<Person, i32>,
    // The type says that it is an array.
    #[reference(max = 3, on_delete = pull)]
    pub watchers: BTreeSet<Ref<Person>>,
    #[reference]
    pub before: VecDeque<Ref<Task>>,
    #[embed(max = 4)]
    pub steps: Vec<Step>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Note {
    pub text: String,
    #[reference(on_delete = nullify)]
    pub author: Option<Ref<Person>>,
    #[reference(many, max = 7, expected = 5)]
    pub readers: Option<Vec<Ref<Person>>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "type")]
pub enum Step {
    Wait,
    Ask {
        #[reference]
        person: Ref<Person>,
    },
}

type Who = Option<Ref<Person>>;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "details")]
pub struct Details {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref(one)]
    pub person: Ref<Person>,
    #[reference]
    pub editor: Who,
    #[reference]
    pub boxed: Box<Ref<Task>>,
    #[reference(on_delete = nullify)]
    pub boxed_option: Box<Option<Ref<Task>>>,
    #[reference(many, max = 2)]
    pub all: HashSet<Ref<Task>>,
}

type Sender = Ref<Person>;

/// A parent behind an alias.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "letters")]
pub struct Letter {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub from: Sender,
}

/// A parent behind an alias beside one of another type.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "replies")]
pub struct Reply {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub from: Sender,
    #[parent_ref(one)]
    pub task: Ref<Task>,
}

/// An id that is that of the parent.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "profiles")]
pub struct Profile {
    #[parent_ref(one)]
    #[serde(rename = "_id")]
    pub person: Ref<Person>,
    pub text: String,
}

/// Two parents of one type: neither is the parent that `children` means.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct Message {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub from: Ref<Person>,
    #[parent_ref]
    pub to: Option<Ref<Person>>,
    #[parent_ref]
    pub task: Ref<Task>,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "tags")]
pub struct Tag<T: Document> {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub of: Ref<T>,
    #[reference(many, max = 10)]
    pub more: Vec<Ref<T>>,
}

/// Parents whose types differ in a parameter.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "marks")]
pub struct Mark {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref]
    pub person: Ref<Tag<Person>>,
    #[parent_ref]
    pub task: Ref<Tag<Task>>,
}

/// An order of the children where the document has a parameter.
#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "revisions")]
pub struct Revision<T> {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[parent_ref(order(-at, note.text))]
    pub task: Ref<Task>,
    pub at: DateTime,
    #[embed]
    pub note: Note,
    pub payload: T,
}

/// A tree whose type names itself.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "departments")]
pub struct Department {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref]
    pub above: Option<Ref<Self>>,
    #[reference(many, max = 20)]
    pub beside: Vec<Ref<Self>>,
    #[embed]
    pub sign: Sign<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Sign<T> {
    pub text: T,
    #[embed(depth = 3)]
    pub below: Option<Box<Self>>,
}

fn is_child<C: ChildOf<P>, P: Document>() -> &'static str {
    C::parent().name
}
fn is_only_child<C: OnlyChildOf<P>, P: Document>() {}
fn is_reference<R: Reference>() {}

pub(crate) fn main() {
    assert_eq!(is_child::<Task, Person>(), "owner");
    assert_eq!(is_child::<Person, Person>(), "mother");
    assert_eq!(is_child::<Message, Task>(), "task");
    is_only_child::<Details, Person>();
    is_only_child::<Profile, Person>();
    assert_eq!(is_child::<Profile, Person>(), "_id");
    assert_eq!(is_child::<Letter, Person>(), "from");
    assert_eq!(is_child::<Reply, Task>(), "task");
    is_only_child::<Reply, Task>();
    assert_eq!(is_child::<Mark, Tag<Task>>(), "task");
    let revision = <Revision<i32> as ChildOf<Task>>::parent();
    let order: Vec<_> = revision.reference.order.iter().map(|key| (key.path)()).collect();
    assert_eq!(order, ["at", "note.text"]);
    assert_eq!(is_child::<Department, Department>(), "above");
    let sign = Sign { text: "Optics".to_owned(), below: None };
    let _ = NewDepartment { id: 1, above: None, beside: vec![Ref::new(2)], sign };
    is_reference::<Who>();
    let customer = <Task as odm::__private::Fielded>::FIELDS[4].reference;
    assert_eq!(customer.map(|r| ((r.by)(), r.on_delete)), Some(("account", OnDelete::Keep)));
    let parent = <Task as ChildOf<Person>>::parent();
    let order: Vec<_> = parent.reference.order.iter().map(|key| (key.path)()).collect();
    assert_eq!(order, ["time", "note.text"]);
}

//! The table of the guide's page *Databases change*: what a program of the version before sees beside a step, and what takes it back.

use odm::bson::{Document as Doc, doc};
use odm::migrate::Step;
use odm::prelude::*;
use odm::{Error, Migrations, Model, migrations};
use odm_tests::{TestDb, with_db};

/// The versions of people and their pets before a change, and after some.
mod old {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        pub id: i32,
        pub name: String,
        pub mail: String,
        pub code: i32,
        pub phone: Option<String>,
        #[embed(max = 5)]
        pub tags: Vec<String>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pets")]
    pub struct Pet {
        pub id: i32,
        #[parent_ref]
        pub owner: Ref<Person>,
    }
}

mod new {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        pub id: i32,
        pub name: String,
        #[field(alias = "mail")]
        pub email: String,
        #[field(default)]
        pub newsletter: bool,
    }

    /// With a required phone, a unique name, and fewer tags.
    pub mod narrow {
        use super::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            #[index(unique)]
            pub name: String,
            pub mail: String,
            pub code: i32,
            pub phone: String,
            #[embed(max = 2)]
            pub tags: Vec<String>,
        }
    }

    /// With a copy of the owner's name in pets, and their number.
    pub mod derived {
        use super::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people")]
        pub struct Person {
            pub id: i32,
            pub name: String,
            #[computed(count = Pet)]
            pub pets: i64,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "pets")]
        pub struct Pet {
            pub id: i32,
            #[parent_ref]
            pub owner: Ref<Person>,
            #[denormalize(from = owner.name)]
            pub owner_name: Option<String>,
        }
    }
}

fn person(id: i32) -> old::NewPerson {
    old::NewPerson {
        id,
        name: format!("Kate {id}"),
        mail: format!("{id}@example.com"),
        code: id,
        phone: None,
        tags: Vec::new(),
    }
}

/// The program of the version before, with one person.
async fn before(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![old::Person, old::Pet]).unwrap();
    odm.sync().await.unwrap();
    odm.collection().insert(person(1)).await.unwrap();
    odm
}

fn after(t: &TestDb, models: impl IntoIterator<Item = Model>) -> Odm {
    Odm::new(t.db.clone(), models).unwrap()
}

async fn stored(t: &TestDb, collection: &str, id: i32) -> Doc {
    let documents = t.db.collection::<Doc>(collection);
    documents.find_one(doc! { "_id": id }).await.unwrap().unwrap()
}

/// Applies a step and takes it back, which leaves the person as it was. In between, the version before can't read it.
async fn hides_the_person_until_it_is_taken_back(t: &TestDb, steps: Migrations) {
    let old = before(t).await;
    let people = old.collection::<old::Person>();
    let first = stored(t, "people", 1).await;
    let new = after(t, []);
    new.migrate(steps.clone()).up().await.unwrap();
    match people.get(1).await {
        Err(Error::Decode { .. }) | Ok(None) => {}
        other => panic!("{other:?}"),
    }
    new.migrate(steps).down().await.unwrap();
    let again = stored(t, "people", 1).await;
    assert!(
        first.iter().all(|(name, value)| again.get(name) == Some(value)),
        "{again}"
    );
    assert_eq!(first.len(), again.len(), "{again}");
    assert_eq!(people.get(1).required().await.unwrap().name, "Kate 1");
}

mod m0001_add {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("people").add("newsletter", true).await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        step.collection("people").remove("newsletter").await
    }
}

#[odm_tests::test]
fn a_new_field_is_ignored_and_not_written_by_the_version_before() {
    with_db(async |t| {
        let old = before(&t).await;
        let new = after(&t, models![new::Person]);
        let steps = || migrations![m0001_add];
        new.migrate(steps()).up().await.unwrap();
        let people = old.collection::<old::Person>();
        people.update(1).set(|p| p.name, "Ann").await.unwrap();
        people.insert(person(2)).await.unwrap();
        let read = new.collection::<new::Person>();
        assert!(read.get(1).required().await.unwrap().newsletter);
        assert!(!read.get(2).required().await.unwrap().newsletter, "the default");
        new.migrate(steps()).down().await.unwrap();
        assert!(!stored(&t, "people", 1).await.contains_key("newsletter"));
    });
}

mod m0001_rename {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("people").rename("mail", "email").await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        step.collection("people").rename("email", "mail").await
    }
}

#[odm_tests::test]
fn a_renamed_field_is_read_under_both_names_by_an_alias_and_not_by_the_version_before() {
    with_db(async |t| {
        hides_the_person_until_it_is_taken_back(&t, migrations![m0001_rename]).await;
        let people = after(&t, models![new::Person]).collection::<new::Person>();
        assert_eq!(people.get(1).required().await.unwrap().email, "1@example.com");
    });
}

mod m0001_retype {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let text = doc! { "$toString": "$$value" };
        step.collection("people").retype("code", "string", text).await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        let number = doc! { "$toInt": "$$value" };
        step.collection("people").retype("code", "int", number).await
    }
}

mod m0001_move {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("people").rename("mail", "contact.mail").await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        let people = step.collection("people");
        people.rename("contact.mail", "mail").await?;
        people.remove("contact").await
    }
}

mod m0001_collection {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.rename_collection("people", "persons").await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        step.rename_collection("persons", "people").await
    }
}

#[odm_tests::test]
fn another_type_another_place_and_another_collection_are_not_read_by_the_version_before() {
    for steps in [
        migrations![m0001_retype],
        migrations![m0001_move],
        migrations![m0001_collection],
    ] {
        with_db(async |t| hides_the_person_until_it_is_taken_back(&t, steps.clone()).await);
    }
}

mod m0001_split {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("people")
            .each::<old::Person>(doc! { "last_name": { "$exists": false } })
            .update(|old| {
                let (first, last) = old.name.split_once(' ').unwrap_or(("", &old.name));
                Ok(doc! { "$set": { "first_name": first, "last_name": last } })
            })
            .await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        let people = step.collection("people");
        people.remove("first_name").await?;
        people.remove("last_name").await
    }
}

#[odm_tests::test]
fn a_name_that_the_version_before_writes_is_split_by_the_step_once_more() {
    with_db(async |t| {
        let old = before(&t).await;
        let migrating = after(&t, []).migrate(migrations![m0001_split]);
        migrating.up().await.unwrap();
        old.collection().insert(person(2)).await.unwrap();
        let again = migrating.clone().again("m0001_split");
        let status = again.status().await.unwrap().to_string();
        assert!(status.ends_with(": 1 document to change"), "{status}");
        again.up().await.unwrap();
        assert_eq!(stored(&t, "people", 2).await.get_str("last_name").unwrap(), "2");
        migrating.down().await.unwrap();
        assert!(!stored(&t, "people", 1).await.contains_key("last_name"));
    });
}

mod m0001_narrow {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let people = step.collection("people");
        people.replace_null("phone", "unknown").await?;
        people.add("phone", "unknown").await?;
        let first = doc! { "$set": { "tags": { "$slice": ["$tags", 2] } } };
        people
            .update(doc! { "tags.2": { "$exists": true } }, [first])
            .await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn narrower_rules_are_violated_by_the_version_before_until_they_are_declared() {
    with_db(async |t| {
        let old = before(&t).await;
        let people = old.collection::<old::Person>();
        let new = after(&t, models![new::narrow::Person, old::Pet]);
        let more = || ["a", "b", "c"].map(str::to_owned);
        people.update(1).push_all(|p| p.tags, more()).await.unwrap();
        new.migrate(migrations![m0001_narrow]).up().await.unwrap();
        let kate = new
            .collection::<new::narrow::Person>()
            .get(1)
            .required()
            .await
            .unwrap();
        assert_eq!((kate.phone.as_str(), kate.tags.len()), ("unknown", 2));
        let phone = || Some("555".to_owned());
        let twin = old::NewPerson {
            name: "Kate 1".to_owned(),
            phone: phone(),
            ..person(2)
        };
        let twin = people.insert(twin).await;
        assert!(matches!(twin, Err(Error::DuplicateKey { .. })), "{twin:?}");
        let without_phone = people.insert(person(2)).await;
        assert!(without_phone.is_err(), "{without_phone:?}");
        let pushed = people.update(1).push(|p| p.tags, "d".to_owned()).await;
        assert!(pushed.is_err(), "{pushed:?}");
        // The way back is the declaration of the version before.
        let back = old.plan().await.unwrap().replace();
        old.apply(&back.in_window()).await.unwrap();
        people.insert(person(2)).await.unwrap();
        people.update(1).push(|p| p.tags, "d".to_owned()).await.unwrap();
    });
}

mod m0001_derived {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.backfill().await?;
        step.declare().await
    }
}

#[odm_tests::test]
fn copies_and_counts_follow_the_version_before_later() {
    with_db(async |t| {
        let old = before(&t).await;
        let owner = Ref::new(1);
        let pets = old.collection::<old::Pet>();
        pets.insert(old::Pet { id: 1, owner }).await.unwrap();
        let new = after(&t, models![new::derived::Person, new::derived::Pet]);
        new.migrate(migrations![m0001_derived]).up().await.unwrap();
        // Another process of the version before, which begins now.
        let old = after(&t, models![old::Person, old::Pet]);
        let people = old.collection::<old::Person>();
        people.update(1).set(|p| p.name, "Ann").await.unwrap();
        old.collection().insert(old::Pet { id: 2, owner }).await.unwrap();
        let refused = old.sync().await;
        assert!(matches!(refused, Err(Error::UnknownCopies { .. })), "{refused:?}");
        new.recover().await.unwrap();
        let pet = new
            .collection::<new::derived::Pet>()
            .get(1)
            .required()
            .await
            .unwrap();
        assert_eq!(pet.owner_name.as_deref(), Some("Ann"));
        let ann = new
            .collection::<new::derived::Person>()
            .get(1)
            .required()
            .await
            .unwrap();
        assert_eq!(ann.pets, 2);
    });
}

mod m0001_drop {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("people").remove("mail").await?;
        step.drop_collection("pets").await
    }
}

#[odm_tests::test]
fn what_is_dropped_is_missed_by_the_version_before() {
    with_db(async |t| {
        let old = before(&t).await;
        after(&t, []).migrate(migrations![m0001_drop]).up().await.unwrap();
        let kate = old.collection::<old::Person>().get(1).await;
        assert!(matches!(kate, Err(Error::Decode { .. })), "{kate:?}");
        let names = t.db.list_collection_names().await.unwrap();
        assert!(!names.contains(&"pets".to_owned()), "{names:?}");
    });
}

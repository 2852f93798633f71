//! What fails behind a write that was made: the error says so, and the write is not made twice.

use odm::bson::{Document as Doc, doc};
use odm::mongodb::IndexModel;
use odm::mongodb::options::IndexOptions;
use odm::prelude::*;
use odm::{Error, Result};
use odm_tests::with_db;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts", version)]
pub struct Host {
    pub id: i32,
    pub name: String,
    pub starts: i32,
    pub version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
pub struct Note {
    pub id: i32,
    #[reference]
    pub host: Ref<Host>,
    #[denormalize(from = host.name, consistency = eventual)]
    pub host_name: String,
}

/// Two hosts with a note each; no two notes may hold the same name of a host, which the library does not know.
async fn stocked(odm: &Odm) -> Result<()> {
    odm.sync().await?;
    let host = |id, name: &str| NewHost {
        id,
        name: name.to_owned(),
        starts: 0,
    };
    odm.collection::<Host>()
        .insert_many([host(1, "one"), host(2, "two")])
        .await?;
    let note = |id| NewNote {
        id,
        host: Ref::new(id),
    };
    odm.collection::<Note>().insert_many([note(1), note(2)]).await?;
    let unique = IndexOptions::builder().unique(true).build();
    let index = IndexModel::builder()
        .keys(doc! { "host_name": 1 })
        .options(unique)
        .build();
    odm.database()
        .collection::<Doc>("notes")
        .create_index(index)
        .await?;
    Ok(())
}

#[odm_tests::test]
fn an_upsert_is_not_sent_again_for_an_error_of_the_copies_that_follow_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Note]).unwrap();
        stocked(&odm).await.unwrap();
        let hosts = odm.collection::<Host>();
        let refused = hosts
            .update(1)
            .set(|h| h.name, "two")
            .inc(|h| h.starts, 1)
            .upsert()
            .await;
        match refused {
            Err(Error::DuplicateKey { collection, .. }) => assert_eq!(collection, "notes"),
            other => panic!("{other:?}"),
        }
        let host = hosts.get(1).await.unwrap().unwrap();
        assert_eq!((host.name.as_str(), host.starts, host.version), ("two", 1, 2));
    });
}

#[odm_tests::test]
fn the_version_that_the_write_itself_has_raised_is_no_conflict() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Note]).unwrap();
        stocked(&odm).await.unwrap();
        let hosts = odm.collection::<Host>();
        let host = hosts.get(1).await.unwrap().unwrap();
        let refused = hosts
            .update(&host)
            .set(|h| h.name, "two")
            .set_on_insert(|h| h.starts, host.starts)
            .upsert()
            .await;
        assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
    });
}

#[odm_tests::test]
fn a_change_of_many_is_reported_with_the_error_of_the_copies_that_follow_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Note]).unwrap();
        stocked(&odm).await.unwrap();
        let hosts = odm.collection::<Host>();
        let refused = hosts
            .update_where(|h| h.id.eq(1))
            .set(|h| h.name, "two")
            .inc(|h| h.starts, 1)
            .upsert()
            .await;
        assert!(matches!(refused, Err(Error::DuplicateKey { .. })), "{refused:?}");
        assert_eq!(hosts.get(1).await.unwrap().unwrap().starts, 1);
    });
}

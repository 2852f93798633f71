//! Timestamps and optimistic locking.

use super::models::*;
use futures::future::join_all;
use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::with_db;

#[odm_tests::test]
fn time_stamps_are_the_librarys() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        let first = notes.insert(note(1)).await.unwrap();
        assert_eq!(first.created_at, first.updated_at);
        assert_eq!(first.version, 1);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let second = notes
            .update(&first)
            .set(|n| n.text, "x")
            .returning()
            .await
            .unwrap();
        assert_eq!((second.created_at, second.version), (first.created_at, 2));
        assert!(second.updated_at > first.updated_at);
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let third = notes
            .replace(Note {
                text: "y".into(),
                ..second.clone()
            })
            .await
            .unwrap();
        assert_eq!((third.created_at, third.version), (first.created_at, 3));
        assert!(third.updated_at > second.updated_at);
        assert_eq!(notes.get(1).await.unwrap().unwrap(), third);
        notes
            .update_where(|n| n.id.eq(1))
            .set(|n| n.text, "z")
            .await
            .unwrap();
        assert_eq!(notes.get(1).await.unwrap().unwrap().version, 4);
        // An upsert begins at 1, with both times.
        notes
            .update(2)
            .set(|n| n.text, "u")
            .set(|n| n.lines, vec![])
            .upsert()
            .await
            .unwrap();
        let made = notes.get(2).await.unwrap().unwrap();
        assert_eq!((made.version, made.created_at), (1, made.updated_at));
    });
}

#[odm_tests::test]
fn a_lost_update_is_a_conflict() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        let read = notes.insert(note(1)).await.unwrap();
        notes.update(&read).set(|n| n.text, "first").await.unwrap();
        let conflict = |error: Error| {
            assert!(
                matches!(
                    error,
                    Error::Conflict {
                        collection: "notes",
                        seen: 1,
                        found: Some(2),
                        ..
                    }
                ),
                "{error}"
            );
        };
        conflict(notes.update(&read).set(|n| n.text, "second").await.unwrap_err());
        conflict(
            notes
                .update(&read)
                .set(|n| n.text, "second")
                .returning()
                .await
                .unwrap_err(),
        );
        conflict(notes.replace(read.clone()).await.unwrap_err());
        conflict(notes.delete(&read).await.unwrap_err());
        // By id, no version is meant.
        notes.update(1).set(|n| n.text, "third").await.unwrap();
        assert_eq!(notes.delete(1).await.unwrap().deleted, 1);
        assert!(matches!(
            notes.replace(read.clone()).await,
            Err(Error::NotFound { .. })
        ));
        let gone = notes.delete(&read).await;
        assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
    });
}

#[odm_tests::test]
fn two_changes_of_one_field_are_told_by_its_name() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        notes.insert(note(1)).await.unwrap();
        for (raw, words) in [
            (
                doc! { "$set": { "version": 7 } },
                "`version` is written by the library",
            ),
            (
                doc! { "$currentDate": { "updated_at": true } },
                "`updated_at` is written by the library",
            ),
            (
                doc! { "$set": { "text": "a" }, "$unset": { "text": "" } },
                "one update changes `text` twice",
            ),
            (
                doc! { "$set": { "lines": [] }, "$unset": { "lines.0": "" } },
                "one update changes `lines` and `lines.0`",
            ),
        ] {
            let error = notes.update(1).raw(raw).await.unwrap_err();
            assert!(matches!(error, Error::Query { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(notes.get(1).await.unwrap().unwrap().version, 1);
    });
}

#[odm_tests::test]
fn no_concurrent_change_is_lost() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        notes
            .insert(NewNote {
                text: "0".into(),
                ..note(1)
            })
            .await
            .unwrap();
        let tasks = (0..8).map(|_| {
            let notes = notes.clone();
            tokio::spawn(async move {
                loop {
                    let read = notes.get(1).await.unwrap().unwrap();
                    let n: u32 = read.text.parse().unwrap();
                    match notes.update(&read).set(|x| x.text, (n + 1).to_string()).await {
                        Ok(_) => return,
                        Err(Error::Conflict { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        });
        for task in join_all(tasks).await {
            task.unwrap();
        }
        let note = notes.get(1).await.unwrap().unwrap();
        assert_eq!((note.text.as_str(), note.version), ("8", 9));
    });
}

/// An update that changes nothing leaves the version and the timestamps as they are.
#[odm_tests::test]
fn an_update_without_a_change_changes_no_version() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (notes, shops) = (odm.collection::<Note>(), odm.collection::<Shop>());
        let first = notes.insert(note(1)).await.unwrap();
        t.commands.clear();
        let done = odm
            .bulk()
            .add(odm.collection().update(&first))
            .add(notes.update_where(|n| n.id.gte(0)))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (0, 0));
        assert!(t.commands.take().is_empty(), "nothing was sent");
        let done = notes.update(1).upsert_with(note(1)).await.unwrap();
        assert_eq!((done.matched, done.modified, done.upserted), (1, 0, None));
        let done = notes
            .update_where(|n| n.id.eq(1))
            .upsert_with(note(1))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.upserted), (1, 0, None));
        assert_eq!(notes.get(1).await.unwrap(), Some(first));
        // Neither has a timestamp, or a version, and there is nothing to set.
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let there = shops.update_where(|s| s.name.eq("Ada"));
        let done = there.upsert_with(shop("Ada", 1)).await.unwrap();
        assert_eq!((done.matched, done.modified, done.upserted), (1, 0, None));
        assert_eq!(shops.get(ada.id).await.unwrap(), Some(ada));
    });
}

/// An upsert begins at version 1 with both times, also without a change.
#[odm_tests::test]
fn an_upsert_without_a_change_inserts_a_whole_document() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Note, Shop]).unwrap();
        let (notes, shops) = (odm.collection::<Note>(), odm.collection::<Shop>());
        notes.update(2).upsert_with(note(2)).await.unwrap();
        let third = notes.update_where(|n| n.id.eq(3));
        third.upsert_with(note(3)).await.unwrap();
        for id in [2_i64, 3] {
            let made = notes
                .driver::<Doc>()
                .find_one(doc! { "_id": id })
                .await
                .unwrap()
                .unwrap();
            assert_eq!(made.get_i64("version").unwrap(), 1);
            assert!(made.get_datetime("created_at").is_ok());
            assert_eq!(made.get("created_at"), made.get("updated_at"));
        }
        let bob = shops.update_where(|s| s.name.eq("Bob"));
        let done = bob.upsert_with(shop("Robert", 2)).await.unwrap();
        assert!(done.upserted.is_some());
        let made = shops.find_all().one().await.unwrap().unwrap();
        assert_eq!((made.name.as_str(), made.stars), ("Bob", 2));
    });
}

/// A document from before its type had versions is read as version 0, and a full array of it is full.
#[odm_tests::test]
fn a_document_without_a_version_is_at_zero() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Note]).unwrap();
        let notes = odm.collection::<Note>();
        let mut read = notes
            .insert(NewNote {
                lines: vec!["a".into(), "b".into()],
                ..note(1)
            })
            .await
            .unwrap();
        notes
            .driver::<Doc>()
            .update_one(doc! {}, doc! { "$unset": { "version": "" } })
            .await
            .unwrap();
        read.version = 0;
        let error = notes.update(&read).push(|n| n.lines, "c").await.unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 2, .. }), "{error}");
        read.version = 3;
        let error = notes.update(&read).set(|n| n.text, "c").await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Conflict {
                    seen: 3,
                    found: None,
                    ..
                }
            ),
            "{error}"
        );
    });
}

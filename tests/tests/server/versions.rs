//! Time stamps and optimistic locking.

use super::models::*;
use futures::future::join_all;
use odm::Error;
use odm::prelude::*;
use odm_tests::with_db;

#[test]
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
            .unwrap()
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

#[test]
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
        assert_eq!(
            notes.delete(&read).await.unwrap().deleted,
            0,
            "it is gone, as it should be"
        );
    });
}

#[test]
fn of_concurrent_changes_none_is_lost() {
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

//! The span of an operation in `tracing`: collection, operation, round trips, documents, time; and no value.

use super::copying::{eventual, mortal, with_pending_work};
use super::models::*;
use odm::Error;
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::with_db;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Captured {
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

pub fn subscriber(captured: &Captured, level: tracing::Level) -> impl tracing::Subscriber + Send + Sync {
    let writer = captured.clone();
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish()
}

#[odm_tests::test]
fn spans_describe_the_operation_without_values() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let captured = Captured::default();
        {
            let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::DEBUG));
            let ada = shops.insert(shop("Secret Name", 1)).await.unwrap();
            let log = captured.take();
            assert!(
                log.contains(
                    r#"collection="shops" operation="insert" round_trips=1 documents=1 elapsed_us="#
                ),
                "{log}"
            );
            shops.find(|s| s.name.eq("Secret Name")).all().await.unwrap();
            shops.update(ada.id).set(|s| s.note, "Secret note").await.unwrap();
            let log = captured.take();
            assert!(
                log.contains(r#"operation="find" round_trips=1 documents=1"#),
                "{log}"
            );
            assert!(
                log.contains(r#"operation="update" round_trips=1 documents=1"#),
                "{log}"
            );
            assert!(!log.contains("Secret"), "{log}");
        }
        {
            // Asked for, the values are there.
            let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::TRACE));
            shops.find(|s| s.name.eq("Secret Name")).all().await.unwrap();
            assert!(captured.take().contains("Secret Name"));
        }
    });
}

/// The fields that were recorded when the span of this operation ended.
fn ended<'l>(log: &'l str, operation: &str) -> &'l str {
    let named = format!(r#"operation="{operation}""#);
    let mut lines = log
        .lines()
        .filter(|line| line.contains(&named) && line.contains("close"));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no `{operation}` in {log}"));
    assert!(lines.next().is_none(), "twice: {log}");
    line
}

#[odm_tests::test]
fn counts_and_streams_say_how_many_documents_there_were() {
    use futures::StreamExt;
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        notes.insert_many((0..7).map(note)).await.unwrap();
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::DEBUG));
        let took = |operation: &str, round_trips: u64, documents: u64| {
            let log = captured.take();
            let line = ended(&log, operation);
            let expected = format!("round_trips={round_trips} documents={documents} elapsed_us=");
            assert!(line.contains(&expected), "{line}");
            assert_eq!(line.matches("documents=").count(), 1, "{line}");
        };
        notes.find(|n| n.id.lt(5)).count().await.unwrap();
        took("count", 1, 5);
        let stream = notes.find_all().batch_size(3).stream().await.unwrap();
        assert_eq!(captured.take(), "", "it goes on until the last document");
        assert_eq!(stream.collect::<Vec<_>>().await.len(), 7);
        took("stream", 3, 7);
        let mut stream = notes.find_all().batch_size(3).stream().await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        // The whole of the batch has come.
        took("stream", 1, 3);
        let all = notes
            .aggregate()
            .filter(|n| n.id.lt(5))
            .all::<Note>()
            .await
            .unwrap();
        assert_eq!(all.len(), 5);
        took("aggregate", 1, 5);
        if odm.server().await.unwrap().has_transactions() {
            odm.transaction(async |tx| {
                let notes = tx.collection::<Note>();
                let stream = notes.find_all().batch_size(3).stream().await?;
                assert_eq!(stream.collect::<Vec<_>>().await.len(), 7);
                took("stream", 3, 7);
                assert_eq!(notes.aggregate().all::<Note>().await?.len(), 7);
                took("aggregate", 1, 7);
                Ok(())
            })
            .await
            .unwrap();
        }
    });
}

#[odm_tests::test]
fn a_span_ends_with_the_kind_of_its_error_and_no_values() {
    use futures::StreamExt;
    use odm::bson::{Document as Doc, doc};
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let ada = shops.insert(shop("Secret Ada", 1)).await.unwrap();
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::DEBUG));
        let ended_with = |operation: &str, error: &str| {
            let log = captured.take();
            let line = ended(&log, operation);
            assert!(line.contains(&format!(r#"error="{error}""#)), "{line}");
            assert!(line.contains("elapsed_us="), "{line}");
            assert!(!log.contains("Secret"), "{log}");
        };
        shops.insert(shop("Secret Ada", 1)).await.unwrap_err();
        ended_with("insert", "DuplicateKey");
        shops
            .insert_many([shop("Secret Bob", 1), shop("Secret Ada", 1)])
            .await
            .unwrap_err();
        ended_with("insert_many", "InsertMany");
        shops
            .update(ada.id)
            .set(|s| s.name, "Secret Bob")
            .await
            .unwrap_err();
        ended_with("update", "DuplicateKey");
        notes.update(99).set(|n| n.text, "Secret").await.unwrap_err();
        ended_with("update", "NotFound");
        shops
            .find(|_| Filter::raw(doc! { "name": { "$secret": "Secret" } }))
            .all()
            .await
            .unwrap_err();
        ended_with("find", "Refused (code 2)");
        odm.bulk()
            .add(odm.collection().insert(shop("Secret Ada", 1)))
            .await
            .unwrap_err();
        ended_with("bulk", "Bulk");
        t.db.run_command(doc! { "collMod": "notes", "validationLevel": "off" })
            .await
            .unwrap();
        notes
            .driver::<Doc>()
            .insert_one(doc! { "_id": 1_i64, "text": 5 })
            .await
            .unwrap();
        notes.get(1).await.unwrap_err();
        ended_with("get", "Decode");
        notes.find_all().one().await.unwrap_err();
        ended_with("find_one", "Decode");
        // A document of a stream that does not fit is an item, and no end.
        let items = notes.find_all().stream().await.unwrap().collect::<Vec<_>>().await;
        assert!(
            matches!(items.as_slice(), [Err(Error::Decode { .. })]),
            "{items:?}"
        );
        assert!(!captured.take().contains("error="));
        // A successful operation ends without one.
        shops.find_all().all().await.unwrap();
        assert!(!captured.take().contains("error="));
        // Asked for, what the error says is there.
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::TRACE));
        shops.insert(shop("Secret Ada", 1)).await.unwrap_err();
        assert!(
            captured
                .take()
                .contains("another document already has `name` \"Secret Ada\"")
        );
    });
}

mod scanning {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "rooms")]
    pub struct Room {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug)]
    #[document(collection = "chairs")]
    pub struct Chair {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref(index = false)]
        pub room: Ref<Room>,
        #[reference]
        pub other: Option<Ref<Room>>,
    }
}

#[odm_tests::test]
fn a_join_that_reads_a_whole_collection_warns() {
    use odm::prelude::*;
    use scanning::{Chair, ChairFields, Room};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Room, Chair]).unwrap();
        odm.sync().await.unwrap();
        let rooms = odm.collection::<Room>();
        rooms.insert(Room { id: 1 }).await.unwrap();
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::WARN));
        let by_other = rooms
            .find_all()
            .include(|r| r.children_by(|c: ChairFields| c.other))
            .all()
            .await
            .unwrap();
        assert_eq!(by_other.len(), 1);
        assert_eq!(captured.take(), "");
        rooms
            .find_all()
            .include(|r| r.children_by(|c: ChairFields| c.room))
            .all()
            .await
            .unwrap();
        let log = captured.take();
        assert!(
            log.contains("no declared index finds the children") && log.contains(r#"field="room""#),
            "{log}"
        );
        // In whichever way it is executed.
        let chairs = odm.collection::<Chair>();
        chairs.children_of(&Room { id: 1 }).all().await.unwrap();
        assert_eq!(captured.take().matches(r#"field="room""#).count(), 1);
        rooms
            .find_all()
            .include(|r| r.children_by(|c: ChairFields| c.room).limit(1))
            .all()
            .await
            .unwrap();
        assert_eq!(captured.take().matches(r#"field="room""#).count(), 1);
        let by_lookup = rooms
            .find_all()
            .include(|r| {
                (
                    r.children_by(|c: ChairFields| c.room).include(|c| c.other),
                    r.children_by(|c: ChairFields| c.other),
                )
            })
            .lookup()
            .all()
            .await;
        if !odm.server().await.unwrap().has_lookup_with_pipeline() {
            assert!(matches!(by_lookup, Err(Error::Unsupported { .. })));
            return;
        }
        by_lookup.unwrap();
        let log = captured.take();
        assert_eq!(
            (
                log.matches("no declared index").count(),
                log.matches(r#"field="room""#).count()
            ),
            (1, 1),
            "{log}"
        );
    });
}

/// The lines that say this.
fn lines_with(log: &str, words: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains(words))
        .map(str::to_owned)
        .collect()
}

#[odm_tests::test]
fn a_fan_out_logs_its_progress() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await.with_fan_out(FanOut::new().batch(2));
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::DEBUG));
        let authors = odm.collection::<eventual::Author>();
        authors.update(1).set(|a| a.name, "Secret Name").await.unwrap();
        let log = captured.take();
        let delivered = lines_with(&log, "updated the copies of a source");
        let to_books: Vec<&String> = delivered
            .iter()
            .filter(|line| line.contains(r#"collection="books" field="author" "#))
            .collect();
        // Five books, in batches of two.
        assert_eq!(to_books.len(), 3, "{log}");
        for (line, told) in to_books.iter().zip([
            "changed=2 batches=1",
            "changed=4 batches=2",
            "changed=5 batches=3",
        ]) {
            assert!(line.contains(told), "{told}: {line}");
        }
        assert!(!log.contains("Secret"), "{log}");
    });
}

#[odm_tests::test]
fn recover_logs_how_long_work_was_pending() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        let captured = Captured::default();
        let recover = async || {
            let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::DEBUG));
            let recovered = odm.recover().await.unwrap();
            (recovered, lines_with(&captured.take(), "applied pending work"))
        };
        let (recovered, told) = recover().await;
        assert_eq!(
            (recovered.oldest, told.len()),
            (None, 0),
            "no work was pending: {told:?}"
        );
        // A process dies after its write, and before its copies are updated.
        let dead = mortal(&t, eventual::models()).await;
        for commands in 0.. {
            let name = format!("name {commands}");
            let died = dead
                .dies_after(commands, async move |odm| {
                    let authors = odm.collection::<eventual::Author>();
                    drop(authors.update(1).set(|a| a.name, name).await);
                })
                .await;
            assert!(died, "it is done, and has left no pending work on the way");
            if !with_pending_work(&odm).await.is_empty() {
                break;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
        let (recovered, told) = recover().await;
        assert_eq!(told.len(), 1, "{told:?}");
        let oldest = recovered.oldest.unwrap().as_secs();
        assert!(oldest >= 2, "{recovered:?}");
        let expected = format!("documents={} oldest_s={oldest}", recovered.documents);
        assert!(told[0].contains(&expected), "{expected}: {told:?}");
    });
}

//! What an operation tells `tracing`: collection, operation, round trips, documents, time; and no value.

use super::models::*;
use odm::prelude::*;
use odm_tests::with_db;
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

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
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

fn subscriber(captured: &Captured, level: tracing::Level) -> impl tracing::Subscriber + Send + Sync {
    let writer = captured.clone();
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish()
}

#[test]
fn spans_say_what_was_done_and_no_values() {
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
            shops.update(&ada).set(|s| s.note, "Secret note").await.unwrap();
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
        #[reference(index = false)]
        pub room: Ref<Room>,
        #[reference]
        pub other: Option<Ref<Room>>,
    }
}

#[test]
fn a_join_that_reads_a_whole_collection_warns() {
    use odm::PathsOf;
    use odm::prelude::*;
    use scanning::{Chair, Room};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Room, Chair]).unwrap();
        odm.sync().await.unwrap();
        let rooms = odm.collection::<Room>();
        rooms.insert(Room { id: 1 }).await.unwrap();
        let captured = Captured::default();
        let _guard = tracing::subscriber::set_default(subscriber(&captured, tracing::Level::WARN));
        let by_other = rooms
            .find_all()
            .include(|r| r.children_by(|c: PathsOf<Chair>| c.other))
            .all()
            .await
            .unwrap();
        assert_eq!(by_other.len(), 1);
        assert_eq!(captured.take(), "");
        rooms
            .find_all()
            .include(|r| r.children_by(|c: PathsOf<Chair>| c.room))
            .all()
            .await
            .unwrap();
        let log = captured.take();
        assert!(
            log.contains("no declared index finds the children") && log.contains(r#"field="room""#),
            "{log}"
        );
    });
}

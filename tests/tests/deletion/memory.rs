//! The memory that a restoration of many documents needs: it keeps their ids, and reads the documents in parts.

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, Document as Fields, doc};
use odm::mongodb::{Client, Database};
use odm::prelude::*;
use odm_tests::{assert_clean, skip, takes_long, with_db};
use std::process::{Command, Stdio};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "albums", soft_delete)]
struct Album {
    id: i32,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people", soft_delete)]
struct Person {
    id: i32,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "photos", soft_delete)]
struct Photo {
    id: ObjectId,
    #[parent_ref(on_delete = cascade)]
    album: Ref<Album>,
    #[reference(on_delete = restrict)]
    by: Ref<Person>,
    deleted_at: Option<DateTime>,
}

fn handle(db: Database) -> Odm {
    Odm::new(db, models![Album, Person, Photo]).unwrap()
}

/// A process of the test's own, which restores the albums in this database and prints its memory, has this in its environment.
const RESTORES: &str = "ODM_TEST_RESTORES";
const NAME: &str = "memory::a_restoration_keeps_no_more_of_its_documents_than_their_ids";

/// The albums by the number of their photos; the first one is restored so that the others find what a process allocates once.
const ALBUMS: [(i32, usize); 3] = [(1, 3_000), (2, 10_000), (3, 40_000)];

/// Maximum number of bytes that a further document takes. Where all documents were kept, it took 527.
const EACH: f64 = 150.0;

/// Stores an album and its photos as one deletion has left them.
async fn store_deleted(db: &Database, album: i32, photos: usize) {
    let (at, deletion) = (DateTime::now(), doc! { "deletion": ObjectId::new() });
    let top = doc! { "_id": album, "deleted_at": at, "_odm": deletion.clone() };
    db.collection("albums").insert_one(top).await.unwrap();
    let photo = |n: usize| {
        doc! {
            "_id": ObjectId::new(),
            "album": album,
            "by": (n % 10) as i32,
            "deleted_at": at,
            "_odm": deletion.clone(),
        }
    };
    for from in (0..photos).step_by(5_000) {
        let some = (from..photos.min(from + 5_000)).map(photo);
        db.collection::<Fields>("photos").insert_many(some).await.unwrap();
    }
}

/// A size of this process in KiB, where the system tells it.
fn size(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The other process: prints for each album how many KiB more were resident at most while it was restored.
fn restore(database: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        let client = Client::with_uri_str(std::env::var("MONGODB_URI").unwrap());
        let odm = handle(client.await.unwrap().database(database));
        for (album, photos) in ALBUMS {
            let reset = std::fs::write("/proc/self/clear_refs", "5").ok();
            let before = reset.and_then(|()| size("VmRSS:"));
            let done = odm.collection::<Album>().restore(album).await.unwrap();
            assert_eq!((done.restored, done.cascaded), (true, photos as u64));
            if let Some((before, most)) = before.zip(size("VmHWM:")) {
                println!("grown by {}", most.saturating_sub(before));
            }
        }
    });
}

#[odm_tests::test]
fn a_restoration_keeps_no_more_of_its_documents_than_their_ids() {
    if let Ok(database) = std::env::var(RESTORES) {
        return restore(&database);
    }
    with_db(async |t| {
        takes_long();
        if size("VmHWM:").is_none() {
            skip("needs a system that tells the memory of a process: Linux");
        }
        let odm = handle(t.db.clone());
        odm.sync().await.unwrap();
        let people = (0..10).map(|id| NewPerson { id });
        odm.collection::<Person>().insert_many(people).await.unwrap();
        for (album, photos) in ALBUMS {
            store_deleted(&t.db, album, photos).await;
        }
        // What another test of this process has used before would be used again.
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(RESTORES, t.db.name())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        let all = odm.collection::<Photo>().find_all().count().await.unwrap();
        assert_eq!(
            all as usize,
            ALBUMS.iter().map(|(_, photos)| photos).sum::<usize>()
        );
        let grown: Vec<f64> = said
            .lines()
            .filter_map(|line| line.strip_prefix("grown by ")?.parse().ok())
            .collect();
        let [_, few, many] = grown[..] else {
            skip("needs a system that forgets the greatest size of a process: Linux");
        };
        let each = (many - few) * 1024.0 / (ALBUMS[2].1 - ALBUMS[1].1) as f64;
        println!("10,000 documents: {few} KiB, 40,000: {many} KiB, a further one {each:.0} bytes");
        assert!(each < EACH, "a further document takes {each:.0} bytes");
        assert_clean(&odm).await;
    });
}

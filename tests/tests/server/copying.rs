//! What the tests of copies share: models with every kind of copy in each mode, processes that die, and the comparison of
//! everything with its sources.

use odm::bson::Document as Doc;
use odm::mongodb::event::{EventHandler, command::CommandEvent};
use odm::{Model, Odm};
use odm_tests::{TestDb, assert_clean};
use std::sync::{Arc, Mutex};

/// The models of a library: fields copied to the children, copies of copies in the items of an array, a subset and numbers.
macro_rules! library {
    ($mode:ident $(, $sync:ident)?) => {
        pub mod $mode {
            use odm::bson::DateTime;
            use odm::prelude::*;
            use serde::{Deserialize, Serialize};

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "authors", timestamps, version)]
            pub struct Author {
                #[serde(rename = "_id")]
                pub id: i64,
                pub name: String,
                pub city: Option<String>,
                /// Nobody copies it.
                pub remark: String,
                #[subset(of = Book, limit = 3, order(-year), fields(title: String, year: i32) $(, sync = $sync)?)]
                pub newest: Vec<NewestEntry>,
                #[computed(count = Book $(, sync = $sync)?)]
                pub books: i64,
                #[computed(sum = Book.pages $(, sync = $sync)?)]
                pub pages: i64,
                #[computed(avg = Book.pages $(, sync = $sync)?)]
                pub length: Average,
                #[computed(max = Book.year $(, sync = $sync)?)]
                pub last: Option<i32>,
                pub created_at: DateTime,
                pub updated_at: DateTime,
                pub version: i64,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "books", timestamps, version)]
            pub struct Book {
                #[serde(rename = "_id")]
                pub id: i64,
                pub title: String,
                pub year: i32,
                pub pages: i32,
                #[parent_ref(on_delete = cascade)]
                pub author: Ref<Author>,
                #[denormalize(from = author.name $(, sync = $sync)?)]
                pub author_name: String,
                #[denormalize(from = author.city $(, sync = $sync)?)]
                pub author_city: Option<String>,
                pub created_at: DateTime,
                pub updated_at: DateTime,
                pub version: i64,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "shelves", timestamps, version)]
            pub struct Shelf {
                #[serde(rename = "_id")]
                pub id: i64,
                #[reference(many, max = 50, on_delete = pull)]
                #[denormalize(from = Book, fields(title: String, author_name: String) $(, sync = $sync)?)]
                pub books: Vec<BookEntry>,
                pub created_at: DateTime,
                pub updated_at: DateTime,
                pub version: i64,
            }

            pub fn models() -> [odm::Model; 3] {
                models![Author, Book, Shelf]
            }

            pub fn author(id: i64) -> NewAuthor {
                NewAuthor {
                    id,
                    name: format!("author {id}"),
                    city: Some(format!("city {id}")),
                    remark: String::new(),
                }
            }

            pub fn book(id: i64, author: i64) -> NewBook {
                NewBook {
                    id,
                    title: format!("book {id}"),
                    year: 1900 + (id % 100) as i32,
                    pages: 100,
                    author: Ref::new(author),
                }
            }

            /// A handle with two authors, of whom the first wrote books 1 to 5 and the second 6, and two shelves.
            pub async fn stocked(t: &odm_tests::TestDb) -> Odm {
                let odm = Odm::new(t.db.clone(), models()).unwrap();
                odm.sync().await.unwrap();
                odm.collection::<Author>().insert_many([author(1), author(2)]).await.unwrap();
                let books = (1..=6).map(|id| book(id, if id == 6 { 2 } else { 1 }));
                odm.collection::<Book>().insert_many(books).await.unwrap();
                for (id, books) in [(1, vec![1, 2, 3]), (2, vec![6, 3, 6])] {
                    let books = books.into_iter().map(Ref::new).collect();
                    odm.collection::<Shelf>().insert(NewShelf { id, books }).await.unwrap();
                }
                t.commands.clear();
                odm
            }
        }
    };
}
library!(auto);
library!(atomic, atomic);
library!(eventual, eventual);

/// Pays what is owed, and compares every copy with its source.
pub async fn assert_true(odm: &Odm) {
    odm.recover().await.unwrap();
    let owed = owing(odm).await;
    assert!(owed.is_empty(), "still owed after recover(): {owed:?}");
    assert_clean(odm).await;
}

/// The documents of the library that owe something.
pub async fn owing(odm: &Odm) -> Vec<Doc> {
    use futures::TryStreamExt;
    let mut all = Vec::new();
    for name in ["authors", "books", "shelves"] {
        let filter = odm::bson::doc! { "_odm.owed": { "$exists": true } };
        let found = odm.database().collection::<Doc>(name).find(filter).await.unwrap();
        all.extend(found.try_collect::<Vec<_>>().await.unwrap());
    }
    all
}

/// A stored document.
pub async fn raw(odm: &Odm, collection: &str, id: i64) -> Doc {
    let collection = odm.database().collection::<Doc>(collection);
    let found = collection.find_one(odm::bson::doc! { "_id": id }).await.unwrap();
    found.unwrap_or_else(|| panic!("no document {id}"))
}

/// Another process with these models, whose commands are watched as they come and go: what watches them holds them up.
pub async fn watched(
    t: &TestDb,
    models: impl IntoIterator<Item = Model>,
    watch: impl Fn(CommandEvent) + Send + Sync + 'static,
) -> Odm {
    watched_in(false, t, models, watch).await
}

/// The same, on a standalone server if it is to be one.
pub async fn watched_in(
    standalone: bool,
    t: &TestDb,
    models: impl IntoIterator<Item = Model>,
    watch: impl Fn(CommandEvent) + Send + Sync + 'static,
) -> Odm {
    let mut options = odm_tests::options(standalone).await;
    options.command_event_handler = Some(EventHandler::callback(watch));
    let client = odm::mongodb::Client::with_options(options).unwrap();
    let odm = Odm::new(client.database(t.db.name()), models).unwrap();
    odm.server().await.unwrap();
    // It has written before: what it asks once is no part of what is watched. It may lack models.
    let _ = odm.check_models().await;
    odm
}

/// A process that can be told when to die.
pub struct Mortal {
    pub odm: Odm,
    left: Arc<Mutex<Option<usize>>>,
    /// The session of a transaction whose commit it has not sent: the driver takes it for committed, and leaves it open.
    open: Arc<Mutex<Option<Doc>>>,
}

/// Another process with these models.
pub async fn mortal(t: &TestDb, models: impl IntoIterator<Item = Model>) -> Mortal {
    mortal_in(false, t, models).await
}

/// The same, on a standalone server if it is to be one.
pub async fn mortal_in(standalone: bool, t: &TestDb, models: impl IntoIterator<Item = Model>) -> Mortal {
    let left: Arc<Mutex<Option<usize>>> = Arc::default();
    let open: Arc<Mutex<Option<Doc>>> = Arc::default();
    let (fuse, left_open) = (left.clone(), open.clone());
    let odm = watched_in(standalone, t, models, move |event| {
        let CommandEvent::Started(started) = event else {
            return;
        };
        let housekeeping = [
            "hello",
            "isMaster",
            "endSessions",
            "abortTransaction",
            "buildInfo",
        ];
        if housekeeping.contains(&started.command_name.as_str()) {
            return;
        }
        let mut left = fuse.lock().unwrap_or_else(|e| e.into_inner());
        match left.as_mut() {
            Some(0) => {
                *left = None;
                drop(left);
                if started.command_name == "commitTransaction" {
                    let session = started.command.get_document("lsid").ok().cloned();
                    *left_open.lock().unwrap_or_else(|e| e.into_inner()) = session;
                }
                // The command is not sent any more. Unwinding without the hook's message, which would only confuse.
                std::panic::resume_unwind(Box::new("killed"));
            }
            Some(more) => *more -= 1,
            None => {}
        }
    })
    .await;
    Mortal { odm, left, open }
}

impl Mortal {
    /// Does this, and dies when it has sent so many commands. Whether it died before it was done.
    pub async fn dies_after<Fut: Future<Output = ()> + Send + 'static>(
        &self,
        commands: usize,
        work: impl FnOnce(Odm) -> Fut,
    ) -> bool {
        *self.left.lock().unwrap_or_else(|e| e.into_inner()) = Some(commands);
        let died = tokio::spawn(work(self.odm.clone())).await;
        let open = self.open.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(session) = open {
            // A server ends what a dead process has left open after a minute. One without this command does so sooner.
            let ends = odm::bson::doc! { "killSessions": [session] };
            let _ = self
                .odm
                .database()
                .client()
                .database("admin")
                .run_command(ends)
                .await;
        }
        let mut left = self.left.lock().unwrap_or_else(|e| e.into_inner());
        match died {
            Ok(()) => {
                *left = None;
                false
            }
            Err(error) if error.is_panic() => {
                let why = error.into_panic();
                if why.downcast_ref::<&str>() != Some(&"killed") {
                    std::panic::resume_unwind(why);
                }
                true
            }
            Err(error) => panic!("{error}"),
        }
    }
}

//! The rule of a reference that a newer program has changed: an older one does not delete by the earlier rule.

use futures::future::join;
use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};

/// A reference without copies, one with a copy, and one with another side.
macro_rules! version {
    ($name:ident, $rule:ident) => {
        mod $name {
            use odm::prelude::*;
            use serde::{Deserialize, Serialize};

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "authors")]
            pub struct Author {
                #[serde(rename = "_id")]
                pub id: i32,
                pub name: String,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "books")]
            pub struct Book {
                #[serde(rename = "_id")]
                pub id: i32,
                #[reference(on_delete = $rule)]
                pub author: Option<Ref<Author>>,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "editors")]
            pub struct Editor {
                #[serde(rename = "_id")]
                pub id: i32,
                pub name: String,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "notes")]
            pub struct Note {
                #[serde(rename = "_id")]
                pub id: i32,
                #[reference(on_delete = $rule)]
                pub editor: Option<Ref<Editor>>,
                #[denormalize(from = editor.name)]
                pub editor_name: Option<String>,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "keepers")]
            pub struct Keeper {
                #[serde(rename = "_id")]
                pub id: i32,
                #[reference(many, inverse = keeper, max = 10)]
                pub pets: Vec<Ref<Pet>>,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "pets")]
            pub struct Pet {
                #[serde(rename = "_id")]
                pub id: i32,
                #[reference(inverse = pets, on_delete = $rule)]
                pub keeper: Option<Ref<Keeper>>,
            }

            pub fn odm(db: &odm::mongodb::Database) -> Odm {
                Odm::new(db.clone(), models![Author, Book, Editor, Note, Keeper, Pet]).unwrap()
            }

            /// Deletes the first target of each reference, which may be refused. Gives how many documents were deleted with it.
            pub async fn delete(odm: &Odm) -> [odm::Result<u64>; 3] {
                let of = |done: odm::Result<odm::write::Deleted>| done.map(|done| done.cascaded);
                [
                    of(odm.collection::<Author>().delete(1).await),
                    of(odm
                        .collection::<Editor>()
                        .delete_where(|e| e.id.eq(1))
                        .await),
                    of(odm.collection::<Keeper>().delete(1).await),
                ]
            }

            #[allow(dead_code, reason = "one of the versions is not the first")]
            pub async fn fill(odm: &Odm) {
                let (id, name) = (1, String::from("one"));
                let author = NewAuthor {
                    id,
                    name: name.clone(),
                };
                odm.collection::<Author>().insert(author).await.unwrap();
                let author = Some(Ref::new(1));
                odm.collection::<Book>()
                    .insert(NewBook { id, author })
                    .await
                    .unwrap();
                odm.collection::<Editor>()
                    .insert(NewEditor { id, name })
                    .await
                    .unwrap();
                let editor = Some(Ref::new(1));
                odm.collection::<Note>()
                    .insert(NewNote { id, editor })
                    .await
                    .unwrap();
                let keeper = NewKeeper { id, pets: vec![] };
                odm.collection::<Keeper>().insert(keeper).await.unwrap();
                let keeper = Some(Ref::new(1));
                odm.collection::<Pet>()
                    .insert(NewPet { id, keeper })
                    .await
                    .unwrap();
            }
        }
    };
}

version!(cascading, cascade);
version!(restricting, restrict);
version!(nulling, nullify);

const REFERENCES: [&str; 3] = ["books.author", "notes.editor", "pets.keeper"];
const TARGETS: [&str; 3] = ["authors", "editors", "keepers"];

/// The rules that are stored.
async fn stored(t: &TestDb) -> Vec<String> {
    let mut rules = Vec::new();
    for id in REFERENCES {
        let edges = t.db.collection::<Raw>("_odm_edges");
        let edge = edges.find_one(doc! { "_id": id }).await.unwrap().unwrap();
        rules.push(edge.get_str("on_delete").unwrap().to_owned());
    }
    rules
}

async fn count(t: &TestDb) -> u64 {
    let mut all = 0;
    for name in ["authors", "books", "editors", "notes", "keepers", "pets"] {
        all +=
            t.db.collection::<Raw>(name)
                .count_documents(doc! {})
                .await
                .unwrap();
    }
    all
}

/// Each deletion is refused because of the reference whose rule has changed.
fn are_refused(outcomes: [odm::Result<u64>; 3]) {
    for ((outcome, id), target) in outcomes.into_iter().zip(REFERENCES).zip(TARGETS) {
        match outcome {
            Err(Error::UnknownReferences {
                collection,
                references,
            }) => {
                assert_eq!(collection, target);
                assert_eq!(references, [format!("{id} as it is declared now")]);
            }
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[odm_tests::test]
fn an_older_program_does_not_delete_by_a_rule_that_was_replaced() {
    with_db(async |t| {
        let first = cascading::odm(&t.db);
        first.sync().await.unwrap();
        cascading::fill(&first).await;
        assert_eq!(stored(&t).await, ["cascade"; 3]);
        // A newer program, whose documents are to stay.
        let newer = restricting::odm(&t.db);
        assert!(newer.plan().await.unwrap().backfills().is_empty());
        newer.sync().await.unwrap();
        assert_eq!(stored(&t).await, ["restrict"; 3]);
        let older = cascading::odm(&t.db);
        are_refused(cascading::delete(&older).await);
        assert_eq!(count(&t).await, 6, "nothing was deleted");
        // Its own `sync` leaves the rules of today.
        older.sync().await.unwrap();
        older.check_models().await.unwrap();
        assert_eq!(stored(&t).await, ["restrict"; 3]);
        are_refused(cascading::delete(&older).await);
        let bulk = older
            .bulk()
            .add(older.collection::<cascading::Author>().delete(1))
            .await;
        assert!(matches!(bulk, Err(Error::UnknownReferences { .. })), "{bulk:?}");
        // Other writes go on.
        let authors = older.collection::<cascading::Author>();
        authors.update(1).set(|a| a.name, "two").await.unwrap();
        for outcome in restricting::delete(&newer).await {
            assert!(
                matches!(outcome, Err(Error::StillReferenced { .. })),
                "{outcome:?}"
            );
        }
        assert_clean(&newer).await;
        // A program that has the earlier rule on purpose says so.
        let meant = older.allow_unknown_copies();
        for outcome in cascading::delete(&meant).await {
            assert_eq!(outcome.unwrap(), 1);
        }
        assert_eq!(count(&t).await, 0);
    });
}

/// One whose rule is `restrict` deletes nothing that a newer rule would keep.
#[odm_tests::test]
fn an_older_program_that_restricts_goes_on() {
    with_db(async |t| {
        restricting::odm(&t.db).sync().await.unwrap();
        let newer = nulling::odm(&t.db);
        newer.sync().await.unwrap();
        nulling::fill(&newer).await;
        let older = restricting::odm(&t.db);
        for outcome in restricting::delete(&older).await {
            assert!(
                matches!(outcome, Err(Error::StillReferenced { .. })),
                "{outcome:?}"
            );
        }
        assert_eq!(count(&t).await, 6);
        for outcome in nulling::delete(&newer).await {
            assert_eq!(outcome.unwrap(), 0);
        }
        assert_eq!(count(&t).await, 3);
        // Nothing refers to this one.
        let author = restricting::NewAuthor {
            id: 1,
            name: "one".into(),
        };
        older.collection().insert(author).await.unwrap();
        let deleted = older.collection::<restricting::Author>().delete(1).await.unwrap();
        assert_eq!(deleted.deleted, 1);
        assert_clean(&newer).await;
    });
}

#[odm_tests::test]
fn the_way_back_to_an_earlier_rule_is_to_forget_the_later_one() {
    with_db(async |t| {
        cascading::odm(&t.db).sync().await.unwrap();
        nulling::odm(&t.db).sync().await.unwrap();
        let older = cascading::odm(&t.db);
        cascading::fill(&older).await;
        are_refused(cascading::delete(&older).await);
        let mut names = older.undeclared_copies().await.unwrap();
        names.sort();
        assert_eq!(names, REFERENCES.map(|id| format!("{id} as it is declared now")));
        assert_eq!(older.forget_copies().await.unwrap(), 3);
        assert_eq!(stored(&t).await, ["cascade"; 3]);
        assert!(older.plan().await.unwrap().backfills().is_empty());
        for outcome in cascading::delete(&older).await {
            assert_eq!(outcome.unwrap(), 1);
        }
        // Now the other one is the newer program again.
        nulling::odm(&t.db).sync().await.unwrap();
        assert_eq!(stored(&t).await, ["nullify"; 3]);
    });
}

/// A process that runs already has its own rule until it reads the declarations again. Whatever the two do at one moment, nothing
/// dangles.
#[odm_tests::test]
fn nothing_dangles_between_two_rules() {
    with_db(async |t| {
        let older = cascading::odm(&t.db);
        older.sync().await.unwrap();
        // It reads the declarations now, and holds them.
        let (authors, books) = (
            older.collection::<cascading::Author>(),
            older.collection::<cascading::Book>(),
        );
        assert_eq!(authors.delete(99).optional().await.unwrap(), None);
        let newer = restricting::odm(&t.db);
        newer.sync().await.unwrap();
        let (restricted, other) = (
            newer.collection::<restricting::Author>(),
            newer.collection::<restricting::Book>(),
        );
        for id in 1..=20 {
            let author = |id| cascading::NewAuthor {
                id,
                name: String::new(),
            };
            authors
                .insert_many([author(2 * id), author(2 * id + 1)])
                .await
                .unwrap();
            let (here, there) = (2 * id, 2 * id + 1);
            let (first, second) = (Some(Ref::new(here)), Some(Ref::new(there)));
            let inserts = join(
                books
                    .insert(cascading::NewBook {
                        id: here,
                        author: first,
                    })
                    .into_future(),
                other
                    .insert(restricting::NewBook {
                        id: there,
                        author: second,
                    })
                    .into_future(),
            );
            let deletions = join(
                restricted.delete(here).into_future(),
                authors.delete(there).into_future(),
            );
            let (inserted, deleted) = join(inserts, deletions).await;
            for outcome in [inserted.0.map(drop), inserted.1.map(drop)] {
                assert!(
                    matches!(outcome, Ok(()) | Err(Error::MissingReference { .. })),
                    "{outcome:?}"
                );
            }
            assert!(
                matches!(deleted.0, Ok(_) | Err(Error::StillReferenced { .. })),
                "{:?}",
                deleted.0
            );
            assert!(deleted.1.is_ok(), "{:?}", deleted.1);
        }
        assert_clean(&newer).await;
    });
}

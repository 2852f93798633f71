//! Links under an id that was named before there was a document. The library never writes one; an out-of-band write may.

use super::links::*;
use odm::Odm;
use odm::bson::{Bson, Document as Raw, doc, oid::ObjectId};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, require_transactions, with_db, with_transactions};

async fn inserted(t: &TestDb, name: &str, document: Raw) {
    let all = t.db.collection::<Raw>(name);
    all.insert_one(document).await.unwrap();
}

/// Whom one document names.
async fn names(odm: &Odm, collection: &str, field: &str, id: impl Into<Bson>) -> Vec<String> {
    let mut all = named(odm, collection, field).await;
    all.remove(&id.into().to_string()).unwrap()
}

/// The references to missing documents, and the links that are on one side alone.
async fn faults(odm: &Odm) -> (u64, u64) {
    let found = odm.audit().await.unwrap();
    let all = found.references.iter();
    all.fold((0, 0), |(dangling, one_sided), one| {
        (dangling + one.dangling.count, one_sided + one.one_sided.count)
    })
}

#[odm_tests::test]
fn the_library_names_no_document_before_it_is_there() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for odm in [&odm, &t.standalone_of(&odm).await] {
            let missing = |outcome: odm::Result<()>, what: &str| {
                assert!(
                    matches!(outcome, Err(odm::Error::MissingReference { .. })),
                    "{what}: {outcome:?}"
                );
            };
            let owned = odm.collection::<Task>().insert(task(1, 9)).await;
            missing(owned.map(drop), "the single side");
            let listing = odm.collection::<Author>().insert(author(1, &[9])).await;
            missing(listing.map(drop), "a list");
            let holder = Some(Ref::new(ObjectId::new()));
            let holding = NewCitizen {
                id: 1,
                passport: holder,
            };
            let holding = odm.collection::<Citizen>().insert(holding).await;
            missing(holding.map(drop), "one to one");
            odm.collection::<Node>().insert(node(1)).await.unwrap();
            let friend = odm.collection::<Node>().update(1);
            let friend = friend.push(|n| n.friends, Ref::new(9)).await;
            missing(friend.map(drop), "a friend");
            odm.collection::<Node>().delete(1).await.unwrap();
        }
        assert_clean(&odm).await;
    });
}

/// The new document names the one that names it: both sides agree, and nothing is there twice.
#[odm_tests::test]
fn a_document_that_names_those_that_name_it_is_linked_once() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let alone = t.standalone_of(&odm).await;
        for (odm, at) in [(&odm, 0), (&alone, 100)] {
            inserted(
                &t,
                "books",
                doc! { "_id": at + 1, "title": "", "authors": [at + 9] },
            )
            .await;
            // The list has no more room, and needs none.
            let full: Vec<i32> = (at + 6..=at + 9).collect();
            inserted(&t, "authors", doc! { "_id": at + 2, "name": "", "books": full }).await;
            let team = format!("team {at}");
            let player = doc! { "_id": i64::from(at) + 1, "note": "", "plays_for": &team };
            inserted(&t, "members", player).await;
            let alone = |name: &str| {
                let mut node =
                    doc! { "_id": at + 1, "parent": null, "children": [], "friends": [], "partner": null };
                node.insert(name, at + 9);
                node
            };
            inserted(&t, "nodes", alone("partner")).await;
            assert_eq!(faults(odm).await, (7, 0));

            odm.collection::<Author>()
                .insert(author(at + 9, &[at + 1]))
                .await
                .unwrap();
            let books = (at + 6..=at + 9).map(|id| book(id, &[at + 2]));
            odm.collection::<Book>().insert_many(books).await.unwrap();
            odm.collection::<Team>()
                .insert(NewTeam {
                    id: team,
                    members: vec![Ref::new(i64::from(at) + 1)],
                })
                .await
                .unwrap();
            let partner = Some(Ref::new(at + 1));
            odm.collection::<Node>()
                .insert(NewNode {
                    partner,
                    ..node(at + 9)
                })
                .await
                .unwrap();
            agree(odm).await;
            assert_eq!(names(odm, "authors", "books", at + 2).await.len(), 4);
            assert_clean(odm).await;
        }
    });
}

/// The new document does not name it. No index leads to those that do, so the insert does not look for them, and costs what any
/// insert costs; an audit finds the link on one side, and the owner decides.
#[odm_tests::test]
fn a_document_that_does_not_name_those_that_name_it_is_left_to_a_repair() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        // The owner names it: an author, and the single side.
        inserted(&t, "authors", doc! { "_id": 3, "name": "", "books": [19] }).await;
        inserted(
            &t,
            "members",
            doc! { "_id": 1_i64, "note": "", "plays_for": "new" },
        )
        .await;
        // The other side names it: a book.
        inserted(&t, "books", doc! { "_id": 30, "title": "", "authors": [29] }).await;
        reconciler.caught_up().await.unwrap();
        reconciler.stop().await.unwrap();
        assert_eq!(faults(&odm).await, (3, 0));

        t.commands.clear();
        odm.collection::<Book>().insert(book(19, &[])).await.unwrap();
        odm.collection::<Team>().insert(team("new", &[])).await.unwrap();
        odm.collection::<Author>().insert(author(29, &[])).await.unwrap();
        assert_eq!(t.commands.take(), ["insert"; 3]);
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        assert_eq!(faults(&odm).await, (0, 3));

        assert!(odm.repair_all().await.unwrap().left.is_clean());
        assert_eq!(names(&odm, "books", "authors", 19).await, ["3"]);
        assert_eq!(names(&odm, "teams", "playing", "new").await, ["1"]);
        assert!(names(&odm, "books", "authors", 30).await.is_empty());
        agree(&odm).await;
        // The reconciler takes up the changes of the repair.
        reconciler.caught_up().await.unwrap();
        agree(&odm).await;
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

//! Upserts of documents that hold copies, or that others copy from.

use odm::bson::DateTime;
use odm::prelude::*;
use odm_examples::one_to_squillions::{Host, LogMsg, NewLogMsg};
use odm_examples::subset::{NewReview, Product, Review};
use odm_tests::fixtures::edges::atomic::{Bar, Member, NewBar, NewTeam, Team, Vote};
use odm_tests::{assert_clean, with_db};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[odm_tests::test]
fn derived_fields_are_there_from_the_start() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = Odm::new(t.db.clone(), models![Product, Review]).unwrap();
            if alone {
                odm = t.standalone_of(&odm).await;
            }
            odm.sync().await.unwrap();
            let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
            for name in ["Widget", "Super Widget"] {
                let upsert = products.update(1).set(|p| p.name, name).upsert();
                upsert.await.unwrap();
            }
            let product = products.get(1).await.unwrap().unwrap();
            assert_eq!((product.name.as_str(), product.review_count), ("Super Widget", 0));
            let review = NewReview {
                product: product.to_ref(),
                review_author: "Kristina".into(),
                review_text: "Nice".into(),
                stars: 4,
                published_date: DateTime::from_millis(1),
            };
            reviews.insert(review).await.unwrap();
            products
                .update(1)
                .set(|p| p.name, "Hyper Widget")
                .upsert()
                .await
                .unwrap();
            let product = products.get(1).await.unwrap().unwrap();
            assert_eq!((product.name.as_str(), product.review_count), ("Hyper Widget", 1));
            assert_eq!(product.reviews.len(), 1);
            assert_clean(&odm).await;
        });
    }
}

#[odm_tests::test]
fn sources_holders_and_children_can_be_upserted() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = Odm::new(t.db.clone(), models![Host, LogMsg]).unwrap();
            if alone {
                odm = t.standalone_of(&odm).await;
            }
            odm.sync().await.unwrap();
            let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
            let id = ObjectId::new();
            let upsert = hosts
                .update(id)
                .set(|h| h.name, "a")
                .set(|h| h.ipaddr, "10.0.0.1")
                .upsert();
            upsert.await.unwrap();
            let host = hosts.get(id).await.unwrap().unwrap();
            let message = NewLogMsg {
                time: DateTime::from_millis(1),
                message: "up".into(),
                host: host.to_ref(),
            };
            messages.insert(message).await.unwrap();
            // A holder, which is also a child.
            let (first, second) = (ObjectId::new(), ObjectId::new());
            for id in [first, second] {
                let upsert = messages
                    .update(id)
                    .set(|m| m.host, host.to_ref())
                    .set(|m| m.message, "down")
                    .set(|m| m.time, DateTime::from_millis(2))
                    .upsert();
                upsert.await.unwrap();
            }
            hosts
                .update(id)
                .set(|h| h.ipaddr, "10.0.0.2")
                .set_on_insert(|h| h.name, "b")
                .upsert()
                .await
                .unwrap();
            let count = messages.find(|m| m.ipaddr.eq("10.0.0.2")).count().await.unwrap();
            assert_eq!(count, 3);
            let host = hosts.get(id).await.unwrap().unwrap();
            assert_eq!(host.logmsgs.len(), 3);
            assert_clean(&odm).await;
        });
    }
}

/// Others keep a reference to it, and what they copied of it, when it is deleted.
#[derive(Document, Serialize, Deserialize, Debug)]
#[document(collection = "tariffs")]
struct Tariff {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    note: Option<String>,
}

#[derive(Document, Serialize, Deserialize, Debug)]
#[document(collection = "contracts")]
struct Contract {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(on_delete = keep)]
    tariff: Ref<Tariff>,
    #[denormalize(from = tariff.note)]
    note: Option<String>,
}

/// An upsert that gives its document: as it was, or as it is.
async fn give<T: Document + DeserializeOwned>(upsert: odm::update::Upsert<T>, before: bool) -> Option<T> {
    if before {
        upsert.returning_before().await.unwrap()
    } else {
        Some(upsert.returning().await.unwrap())
    }
}

/// Whether it has inserted is not in the server's answer.
#[odm_tests::test]
fn an_upsert_that_gives_its_document_inserts_as_any_other() {
    for (alone, before) in [(false, false), (false, true), (true, false), (true, true)] {
        with_db(async |t| {
            let all = models![Tariff, Contract, Bar, Vote, Team, Member];
            let mut odm = Odm::new(t.db.clone(), all).unwrap();
            if alone {
                odm = t.standalone_of(&odm).await;
            }
            odm.sync().await.unwrap();
            let (tariffs, contracts) = (odm.collection::<Tariff>(), odm.collection::<Contract>());
            // One that was there once, by which others still go.
            for note in [None, Some("dear")] {
                let (name, cheap) = ("A".to_owned(), Some("cheap".to_owned()));
                let first = NewTariff {
                    id: 1,
                    name,
                    note: cheap,
                };
                tariffs.insert(first).await.unwrap();
                let (id, tariff) = (i32::from(note.is_some()), Ref::new(1));
                contracts.insert(NewContract { id, tariff }).await.unwrap();
                tariffs.delete(1).await.unwrap();
                let upsert = tariffs.update(1).set(|t| t.name, "B");
                let upsert = match note {
                    Some(note) => upsert.set(|t| t.note, Some(note.to_owned())),
                    None => upsert,
                };
                let given = give(upsert.upsert(), before).await;
                assert_eq!(given.map(|tariff| tariff.name), (!before).then(|| "B".to_owned()));
                let contract = contracts.get(id).await.unwrap().unwrap();
                assert_eq!(contract.note.as_deref(), note, "alone: {alone}, before: {before}");
                // It follows what comes then.
                let update = tariffs.update(1).set(|t| t.note, Some("new".to_owned()));
                let update = update.set_on_insert(|t| t.name, "C");
                assert!(give(update.upsert(), before).await.is_some());
                let contract = contracts.get(id).await.unwrap().unwrap();
                assert_eq!(contract.note.as_deref(), Some("new"));
                tariffs.delete(1).await.unwrap();
            }
            // A child counts.
            let bar = NewBar {
                id: 1,
                name: "Bar".into(),
            };
            odm.collection::<Bar>().insert(bar).await.unwrap();
            for stars in [3, 4] {
                let votes = odm.collection::<Vote>();
                let upsert = votes.update(1).set(|v| v.stars, stars).set(|v| v.public, true);
                let upsert = upsert
                    .set(|v| v.tags, vec![])
                    .set(|v| v.above, Ref::new(1))
                    .upsert();
                assert_eq!(give(upsert, before).await.is_some(), !before || stars == 4);
                let bar = odm.collection::<Bar>().get(1).await.unwrap().unwrap();
                assert_eq!(
                    (bar.votes, bar.total, bar.most),
                    (1, i64::from(stars), Some(stars))
                );
            }
            // The other side of a two-way reference.
            let team = NewTeam {
                id: 1,
                name: "Team".into(),
                members: vec![],
            };
            odm.collection::<Team>().insert(team).await.unwrap();
            let members = odm.collection::<Member>();
            let upsert = members
                .update(1)
                .set(|m| m.name, "Mia")
                .set(|m| m.team, Ref::new(1));
            give(upsert.upsert(), before).await;
            let team = odm.collection::<Team>().get(1).await.unwrap().unwrap();
            assert_eq!((team.members, team.size), (vec![Ref::new(1)], 1));
            assert_clean(&odm).await;
        });
    }
}

/// The insert is a command of its own where something follows from it.
#[odm_tests::test]
fn the_insert_of_an_upsert_that_gives_its_document_is_one_round_trip_more() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Bar, Vote, Tariff, Contract]).unwrap();
        let odm = t.standalone_of(&odm).await;
        odm.sync().await.unwrap();
        let tariffs = odm.collection::<Tariff>();
        let upsert = || tariffs.update(1).set(|t| t.name, "A").upsert();
        let mut sent = Vec::new();
        for before in [false, false, true] {
            t.commands.clear();
            give(upsert(), before).await;
            let commands = t.commands.take();
            sent.push(commands.iter().filter(|name| *name == "findAndModify").count());
        }
        assert_eq!(sent, [2, 1, 1]);
        tariffs.delete(1).await.unwrap();
        t.commands.clear();
        assert!(give(upsert(), true).await.is_none());
        let commands = t.commands.take();
        assert_eq!(commands.iter().filter(|name| *name == "findAndModify").count(), 1);
    });
}

/// Many who insert the same at once: one does, and the others change it.
#[odm_tests::test]
fn upserts_that_give_their_document_meet() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = Odm::new(t.db.clone(), models![Bar, Vote]).unwrap();
            if alone {
                odm = t.standalone_of(&odm).await;
            }
            odm.sync().await.unwrap();
            let bar = NewBar {
                id: 1,
                name: "Bar".into(),
            };
            odm.collection::<Bar>().insert(bar).await.unwrap();
            for id in 0..4 {
                let votes = (0..8).map(|stars| {
                    let odm = odm.clone();
                    async move {
                        let votes = odm.collection::<Vote>();
                        let upsert = votes.update(id).set(|v| v.stars, stars).set(|v| v.public, true);
                        let upsert = upsert.set(|v| v.tags, vec![]).set(|v| v.above, Ref::new(1));
                        upsert.upsert().returning().await.unwrap()
                    }
                });
                futures::future::join_all(votes).await;
            }
            let bar = odm.collection::<Bar>().get(1).await.unwrap().unwrap();
            assert_eq!((bar.votes, bar.public_votes), (4, 4));
            assert_clean(&odm).await;
        });
    }
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visitors", version, timestamps)]
struct Visitor {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    email: String,
    #[field(max_len = 10)]
    name: String,
    visits: i64,
    last: Option<DateTime>,
    version: i64,
    created_at: DateTime,
    updated_at: DateTime,
}

fn visitor(name: &str) -> NewVisitor {
    NewVisitor {
        email: "kate@example.com".into(),
        name: name.into(),
        visits: 100,
        last: None,
    }
}

#[odm_tests::test]
fn an_upsert_inserts_a_whole_document_with_its_changes() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Visitor]).unwrap();
        odm.sync().await.unwrap();
        let visitors = odm.collection::<Visitor>();
        let visit = |name: &str| {
            visitors
                .update_where(|v| v.email.eq("kate@example.com"))
                .inc(|v| v.visits, 1)
                .current_date(|v| v.last)
                .upsert_with(visitor(name))
        };
        let done = visit("Kate").await.unwrap();
        assert!(done.upserted.is_some());
        let kate = visitors.find_all().one().required().await.unwrap();
        assert_eq!((kate.name.as_str(), kate.visits, kate.version), ("Kate", 1, 1));
        assert!(kate.last.is_some());
        // The document that is there keeps its name.
        let done = visit("Other").await.unwrap();
        assert_eq!((done.matched, done.upserted), (1, None));
        let kate = visitors.find_all().one().required().await.unwrap();
        assert_eq!((kate.name.as_str(), kate.visits, kate.version), ("Kate", 2, 2));

        let id = ObjectId::new();
        let ann = NewVisitor {
            email: "ann@example.com".into(),
            ..visitor("Ann")
        };
        let stored = visitors
            .update(id)
            .set(|v| v.visits, 5)
            .upsert_with(ann)
            .returning()
            .await
            .unwrap();
        assert_eq!((stored.id, stored.name.as_str(), stored.visits), (id, "Ann", 5));
        t.commands.clear();
        let refused = visitors
            .update(id)
            .upsert_with(visitor("A name that is too long"))
            .await;
        assert!(matches!(refused, Err(odm::Error::Invalid { .. })), "{refused:?}");
        assert!(t.commands.take().is_empty());
    });
}

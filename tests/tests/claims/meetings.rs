//! Two processes at the same values: between any two commands of the first, the other one does its work.

use crate::claims::{User, faults, models, odm, user};
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::fixtures::stopped::Process;
use odm_tests::{TestDb, with_transactions};
use std::time::Duration;

/// What the documents 1 and 2 and the claims are at first.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// The first has `a`, the second `z`, and each has claimed it.
    Claimed,
    /// The same, and the first is deleted.
    Deleted,
    /// The same, but the first has not claimed `a`.
    Missing,
    /// Another program has changed `a` into `c`: the claim is left, and there is none on `c`.
    Orphan,
    /// Another program has given the first the value of the second, `z`.
    Shared,
}

/// Works that meet others, with the faults that may be left: those that another program has made.
type Meeting = (
    Start,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const MEETINGS: [Meeting; 8] = [
    (
        Start::Claimed,
        &[
            "1 moves to b",
            "1 goes there and back",
            "1 is deleted",
            "1 is replaced by b",
        ],
        &[
            "2 takes a",
            "2 takes b",
            "3 is inserted with a",
            "a repair",
            "a backfill",
            "1 is deleted",
        ],
        &[],
    ),
    (
        Start::Claimed,
        &["3 is inserted with b", "1 keeps a", "a repair", "a backfill"],
        &[
            "1 moves to b",
            "1 goes there and back",
            "1 is deleted",
            "2 takes b",
        ],
        &[],
    ),
    (
        Start::Deleted,
        &["1 is restored", "1 is purged"],
        &["2 takes a", "1 is restored", "1 is purged", "a repair"],
        &[],
    ),
    (
        Start::Deleted,
        &["2 takes a", "a repair"],
        &["1 is restored", "1 is purged"],
        &[],
    ),
    (
        Start::Missing,
        &["a backfill", "a repair"],
        &[
            "1 moves to b",
            "1 goes there and back",
            "1 is deleted",
            "2 takes a",
            "1 keeps a",
            "a backfill",
        ],
        &["a of 1"],
    ),
    (
        Start::Missing,
        &[
            "1 keeps a",
            "1 moves to b",
            "1 goes there and back",
            "1 is deleted",
        ],
        &["1 moves to b", "a backfill", "a repair", "1 keeps a", "2 takes a"],
        &["a of 1"],
    ),
    (
        Start::Orphan,
        &["a repair", "1 moves to a", "1 goes there and back"],
        &[
            "1 moves to a",
            "1 goes there and back",
            "2 takes a",
            "1 is deleted",
            "a repair",
        ],
        // A deletion gives up what the document has.
        &["c of 1"],
    ),
    (
        Start::Shared,
        &[
            "a repair",
            "1 moves to b",
            "2 moves to y",
            "2 goes there and back",
        ],
        &[
            "2 moves to y",
            "2 goes there and back",
            "2 is deleted",
            "a repair",
        ],
        &["z of 1"],
    ),
];

async fn begin(t: &TestDb, odm: &Odm, start: Start) {
    let (users, claims) = (
        t.db.collection::<Doc>("users"),
        t.db.collection::<Doc>("_odm_claims.users"),
    );
    for of in [&users, &claims] {
        of.delete_many(doc! {}).await.unwrap();
    }
    odm.collection::<User>()
        .insert_many([user(1, "a"), user(2, "z")])
        .await
        .unwrap();
    let set = async |email: &str| {
        let set = doc! { "$set": { "email": email } };
        users.update_one(doc! { "_id": 1_i64 }, set).await.unwrap();
    };
    match start {
        Start::Claimed => {}
        Start::Deleted => drop(odm.collection::<User>().delete(1).await.unwrap()),
        Start::Missing => drop(claims.delete_one(doc! { "owner": 1_i64 }).await.unwrap()),
        Start::Orphan => set("c").await,
        Start::Shared => {
            claims.delete_one(doc! { "owner": 1_i64 }).await.unwrap();
            set("z").await;
        }
    }
}

async fn carry_out(odm: &Odm, work: &str) -> odm::Result<()> {
    let users = odm.collection::<User>();
    let moves = async |id: i64, email: &str| {
        users
            .update(id)
            .set(|u| u.email, Some(email.into()))
            .await
            .map(drop)
    };
    match work {
        "1 moves to a" | "1 keeps a" => moves(1, "a").await,
        "1 moves to b" => moves(1, "b").await,
        "2 takes a" => moves(2, "a").await,
        "2 takes b" => moves(2, "b").await,
        "2 moves to y" => moves(2, "y").await,
        "1 goes there and back" => {
            let was = users.with_deleted().get(1).required().await?.email;
            moves(1, "x").await?;
            moves(1, &was.unwrap_or_default()).await
        }
        "2 goes there and back" => {
            moves(2, "y").await?;
            moves(2, "z").await
        }
        "1 is replaced by b" => users.replace(user(1, "b")).await.map(drop),
        "1 is deleted" => users.delete(1).await.map(drop),
        "2 is deleted" => users.delete(2).await.map(drop),
        "1 is restored" => users.restore(1).await.map(drop),
        "1 is purged" => users.purge(1).await.map(drop),
        "3 is inserted with a" => users.insert(user(3, "a")).await.map(drop),
        "3 is inserted with b" => users.insert(user(3, "b")).await.map(drop),
        "a repair" => odm.repair_all().await.map(drop),
        "a backfill" => odm.backfill().again().await.map(drop),
        unknown => panic!("{unknown}"),
    }
}

/// Whether a work may be refused like that, since the other one was faster.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::DuplicateKey { .. } | Error::NotFound { .. })
}

#[odm_tests::test]
fn works_at_the_same_values_meet() {
    odm_tests::takes_long();
    with_transactions(async |t| {
        let other = odm(&t).await;
        let process = Process::new(&t).await;
        let first = Odm::new(process.db.clone(), models()).unwrap();
        first.check_models().await.unwrap();
        let (mut meetings, mut waited) = (0, 0);
        for (start, firsts, others, left) in MEETINGS {
            let pairs = firsts
                .iter()
                .flat_map(|first| others.iter().map(move |other| (*first, *other)));
            for (work, meets) in pairs {
                for at in 0.. {
                    let name = format!("{start:?}: {work}, before its command {at}: {meets}");
                    begin(&t, &other, start).await;
                    let from_before = faults(&t.db).await;
                    let of_first = first.clone();
                    let stopped = match process
                        .until(at, async move { carry_out(&of_first, work).await })
                        .await
                    {
                        Ok(stopped) => stopped,
                        Err(done) => {
                            done.unwrap();
                            break;
                        }
                    };
                    meetings += 1;
                    let of_other = other.clone();
                    let mut meeting = tokio::spawn(async move { carry_out(&of_other, meets).await });
                    // It waits where the first has written the same document, until that has ended.
                    let in_time = tokio::time::timeout(Duration::from_millis(100), &mut meeting).await;
                    let done = stopped.go_on().await.unwrap();
                    let met = match in_time {
                        Ok(met) => met.unwrap(),
                        Err(_) => {
                            waited += 1;
                            meeting.await.unwrap()
                        }
                    };
                    for done in [done, met] {
                        assert!(
                            done.as_ref().map_or_else(is_refusal, |()| true),
                            "{name}: {done:?}"
                        );
                    }
                    let faults = faults(&t.db).await;
                    let unexpected = |fault: &&String| {
                        let fault = fault.replace("{ \"email\": \"", "").replace("\" }", "");
                        !left.iter().any(|left| fault.contains(left))
                    };
                    let unexpected = |fault: &&String| !from_before.contains(fault) && unexpected(fault);
                    let unexpected: Vec<&String> = faults.iter().filter(unexpected).collect();
                    assert!(unexpected.is_empty(), "{name}: {unexpected:#?}");
                }
            }
        }
        println!("{meetings} meetings, {waited} of them waited");
        assert!(waited > 0, "none has written what the other one writes");
    });
}

//! Processes that claim the same values at once, and die between any two of their commands.

use crate::claims::{Account, Badge, User, account, assert_claimed, faults, models, odm, user};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::fixtures::copying::mortal;
use odm_tests::random::Random;
use odm_tests::{TestDb, with_transactions};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PROCESSES: u64 = 8;

/// How long they write.
const FOR: Duration = Duration::from_secs(12);

/// One operation, which may be refused.
async fn operate(odm: Odm, seed: u64) -> odm::Result<()> {
    let mut random = Random::new(seed);
    let (users, accounts) = (odm.collection::<User>(), odm.collection::<Account>());
    let (id, other) = (random.below(5_i64), random.below(5_i64));
    let email = |random: &mut Random| random.pick(&["a", "b", "c", "d", ""]).to_owned();
    let some = |email: String| Some(email).filter(|email| !email.is_empty());
    let (one, two) = (email(&mut random), email(&mut random));
    match random.below(20) {
        0 | 1 => users.insert(user(id, &one)).await.map(drop),
        2..=4 => users.update(id).set(|u| u.email, some(one)).await.map(drop),
        // There and back.
        5 => {
            let was = users.get(id).required().await?.email;
            users.update(id).set(|u| u.email, some(one)).await?;
            users.update(id).set(|u| u.email, was).await.map(drop)
        }
        6 => users.save(user(id, &one)).await.map(drop),
        7 => users.replace(user(id, &one)).await.map(drop),
        8 => users
            .update_where(|u| u.id.gte(3))
            .set(|u| u.email, some(one))
            .await
            .map(drop),
        9 | 10 => users.delete(id).await.map(drop),
        11 | 12 => users.restore(id).await.map(drop),
        13 => users.purge(id).await.map(drop),
        14 => {
            let moved = odm.transaction(async |tx| {
                let users = tx.collection::<User>();
                users.update(id).set(|u| u.email, some(one.clone())).await?;
                users
                    .update(other)
                    .set(|u| u.email, some(two.clone()))
                    .await
                    .map(drop)
            });
            moved.await
        }
        15 => {
            let badge = Badge {
                id,
                user: Ref::new(other),
                code: one,
                deleted_at: None,
            };
            odm.collection::<Badge>().save(badge).await.map(drop)
        }
        16 => accounts
            .update(id)
            .set(|a| a.number, other)
            .set(|a| a.name, one)
            .upsert()
            .await
            .map(drop),
        17 => match random.below(2) {
            0 => accounts.delete_where(|a| a.id.lte(id)).await.map(drop),
            _ => accounts
                .insert(account(id, other))
                .or_get_by(|a| a.number)
                .await
                .map(drop),
        },
        18 => odm.repair_all().await.map(drop),
        _ => match random.below(2) {
            0 => odm.backfill().again().await.map(drop),
            _ => odm.recover().await.map(drop),
        },
    }
}

/// Whether an operation may end like that beside others.
fn may_be(error: &Error) -> bool {
    match error {
        Error::DuplicateKey { .. }
        | Error::NotFound { .. }
        | Error::MissingReference { .. }
        // A purge, where a badge that is not deleted refers to the user.
        | Error::StillReferenced { .. }
        | Error::Contention { .. } => true,
        Error::Bulk { errors, .. } => errors.iter().all(|(_, error)| may_be(error)),
        _ => false,
    }
}

async fn race(t: &TestDb, seed: u64) -> (usize, usize, usize) {
    let odm = odm(t).await;
    let (done, refused, died) = <(Arc<AtomicUsize>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let until = Instant::now() + FOR;
    let processes = (0..PROCESSES).map(|process| {
        let (done, refused, died) = (done.clone(), refused.clone(), died.clone());
        async move {
            let mut random = Random::new(seed ^ (process << 32));
            let mut lives = mortal(t, models()).await;
            while Instant::now() < until {
                let seed = random.next();
                // One of four dies.
                let commands = if random.one_in(4) {
                    random.below(9)
                } else {
                    usize::MAX
                };
                let (done, refused) = (done.clone(), refused.clone());
                let has_died = lives
                    .dies_after(commands, |odm| async move {
                        match operate(odm, seed).await {
                            Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                            Err(error) if may_be(&error) => refused.fetch_add(1, Ordering::Relaxed),
                            Err(error) => panic!("operation {seed}: {error:?}"),
                        };
                    })
                    .await;
                if has_died {
                    died.fetch_add(1, Ordering::Relaxed);
                    lives = mortal(t, models()).await;
                }
            }
        }
    });
    futures::future::join_all(processes).await;
    odm.recover().await.unwrap();
    assert_claimed(&odm, &format!("seed {seed}")).await;
    assert!(faults(&t.db).await.is_empty());
    let count = |of: &AtomicUsize| of.load(Ordering::Relaxed);
    (count(&done), count(&refused), count(&died))
}

#[odm_tests::test]
fn processes_that_race_and_die_leave_one_owner_of_each_value_and_no_claim_without_owner() {
    with_transactions(async |t| {
        let seed = std::env::var("ODM_RANDOM_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
            now.as_secs()
        });
        let (done, refused, died) = race(&t, seed).await;
        println!("seed {seed}: {done} operations, {refused} refused, {died} processes died");
        assert!(done > 20 && refused > 5 && died > 5, "{done} {refused} {died}");
    });
}

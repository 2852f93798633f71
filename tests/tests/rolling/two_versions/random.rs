//! Both versions write the same documents at once, by chance, and many of their operations are given up in the middle.

use super::{delivered, deployed, new, old};
use odm::prelude::*;
use odm_tests::with_transactions;
use std::time::Duration;

/// Numbers by chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_of(&mut self, least: i64, n: u64) -> i64 {
        least + i64::try_from(self.below(n)).unwrap_or_default()
    }
}

/// One operation of a program. It may be refused where it meets another one.
macro_rules! operation {
    ($version:ident, $odm:expr, $chance:expr) => {{
        use $version::{Author, Book};
        let (odm, chance): (&Odm, &mut Chance) = ($odm, $chance);
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        let (author, book) = (chance.one_of(1, 3), chance.one_of(1, 8));
        let text = format!("t{}", chance.below(1_000));
        let what = chance.below(9);
        async move {
            match what {
                0 => authors.update(author).set(|a| a.city, text).await.map(drop),
                1 => authors.update(author).set(|a| a.name, text).await.map(drop),
                2 | 3 => books.insert($version::book(book, author)).await.map(drop),
                4 => books
                    .update(book)
                    .set(|b| b.author, Ref::new(author))
                    .await
                    .map(drop),
                5 => books.update(book).set(|b| b.title, text).await.map(drop),
                6 => books
                    .update_where(|b| b.id.gt(book))
                    .set(|b| b.author, Ref::new(author))
                    .await
                    .map(drop),
                7 => books.delete(book).await.map(drop),
                _ => match books.get(book).await? {
                    Some(mut found) => {
                        found.author = Ref::new(author);
                        books.replace(found).await.map(drop)
                    }
                    None => Ok(()),
                },
            }
        }
    }};
}

async fn writes(older: Odm, newer: Odm, seed: u64) {
    let mut chance = Chance(seed);
    for _ in 0..12 {
        let patience = match chance.below(3) {
            0 => Duration::from_millis(chance.below(40)),
            _ => Duration::from_secs(30),
        };
        // Given up in the middle, it is as if its process had died.
        let _ = match chance.below(2) {
            0 => tokio::time::timeout(patience, operation!(old, &older, &mut chance)).await,
            _ => tokio::time::timeout(patience, operation!(new, &newer, &mut chance)).await,
        };
    }
}

#[odm_tests::test]
fn whatever_two_versions_write_at_once_is_right_after_a_recovery() {
    for seed in 1..=4u64 {
        with_transactions(async |t| {
            let (older, newer) = deployed(&t).await;
            older
                .collection::<old::Author>()
                .insert(old::author(3))
                .await
                .unwrap();
            let tasks = (0..3).map(|n| tokio::spawn(writes(older.clone(), newer.clone(), seed * 10 + n)));
            for task in tasks.collect::<Vec<_>>() {
                task.await.unwrap();
            }
            // A transaction that was given up ends on the server by itself.
            let mut last = newer.recover().await;
            for _ in 0..50 {
                if last.is_ok() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
                last = newer.recover().await;
            }
            last.unwrap();
            delivered(&t, &newer, &format!("seed {seed}")).await;
        });
    }
}

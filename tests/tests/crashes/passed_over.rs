//! The matrix of lost commands whose errors are ignored: every public write, within a transaction of the application that ignores
//! its error and goes on.
//!
//! At each command of the write, the command is lost, and once more its reply. Each time
//! - the transaction is not committed with a part of the write, nor without it: it is run again, or ends with an error;
//! - after `recover()` no work is pending and the audit is clean.
//!
//! The writes are those of the fixture `operations`. A run has a sample of them, each time another one (`ODM_PASSED_OVER_SHARE`,
//! which is printed, says which). `ODM_PASSED_OVER=all` has all of them, `ODM_PASSED_OVER=WORDS` those with these words in their
//! names.

use crate::dropped::{Group, Place, differences, state};
use futures::future::FutureExt;
use futures::{StreamExt, stream};
use odm::Odm;
use odm::mongodb::Client;
use odm_tests::fixtures::operations::plain::{self, Draft, NewDraft};
use odm_tests::fixtures::operations::{At, Kind, Mode, On, Operation, TENANTS};
use odm_tests::proxy::Fate;
use odm_tests::with_transactions;
use std::sync::{Arc, Mutex};

const AT: At = At {
    own: TENANTS[0],
    target: TENANTS[0],
};

/// How the transaction has ended, and the result of the write each time that it was run.
struct Ended {
    told: Vec<Result<String, String>>,
    ended: odm::Result<()>,
}

/// Runs the write, and then another one, in a transaction that ignores the error of the first.
async fn passed_over(odm: &Odm, operation: &Arc<Operation>) -> Ended {
    let odm = (plain::SET.scoped)(odm, AT.own);
    let told = Mutex::new(Vec::new());
    let ended = odm.transaction(async |tx| {
        let of_operation = operation.clone();
        let on = On::Transaction(odm.clone(), tx.clone());
        let done = of_operation.run(on, AT).await;
        told.lock().unwrap().push(done.map_err(|error| error.to_string()));
        let draft = NewDraft {
            id: AT.new_id(49),
            secret: "beside".into(),
            expires: None,
        };
        let _ = tx.collection::<Draft>().insert(draft).await;
        Ok(())
    });
    let ended = ended.await;
    Ended {
        told: told.into_inner().unwrap(),
        ended,
    }
}

#[derive(Default)]
struct Counts {
    rows: usize,
    cuts: usize,
    committed: usize,
    failures: Vec<String>,
}

async fn every_cut(place: &Place, operation: &Arc<Operation>, counts: &mut Counts) -> Result<(), String> {
    place.reset().await?;
    let before = state(place.documents().await);
    place.proxy.take_names();
    let uncut = passed_over(&place.odm, operation).await;
    let sent = place.proxy.take_names();
    let after = place.recovered(false).await?;
    let ends = |name: &String| ["commitTransaction", "abortTransaction"].contains(&name.as_str());
    let commands = sent.iter().position(ends).unwrap_or(sent.len());
    for at in 1..=commands {
        for fate in [Fate::Lost, Fate::Unanswered] {
            place.reset().await?;
            place.proxy.at(at, fate.clone());
            let told = passed_over(&place.odm, operation).await;
            // The server ends what the driver does not know of after a minute.
            place.proxy.end_transactions().await;
            if !place.proxy.is_done() {
                return Err(format!("command {at} was not sent"));
            }
            let now = place.recovered(true).await?;
            counts.cuts += 1;
            counts.committed += usize::from(told.ended.is_ok());
            let is_right = match told.ended {
                Ok(()) => now == after && told.told.last() == uncut.told.last(),
                Err(_) => now == before,
            };
            if !is_right {
                let [before, after, now] = [&before, &after, &now].map(|state| differences(state, &before));
                return Err(format!(
                    "command {at} of {sent:?}, {fate:?}: {:?}, {:?}\n before: {before:?}\n after: {after:?}\n now: {now:?}",
                    told.told, told.ended
                ));
            }
        }
    }
    Ok(())
}

/// How many places are tried at once, each with a database of its own.
const AT_ONCE: usize = 6;

/// A run has one of this number of rows.
const SHARES: usize = 60;

#[odm_tests::test]
fn a_transaction_is_not_committed_with_a_part_of_a_write_whose_error_it_ignores() {
    with_transactions(async |t| {
        let only = std::env::var("ODM_PASSED_OVER").ok();
        let share = std::env::var("ODM_PASSED_OVER_SHARE").ok();
        let share = share.and_then(|share| share.parse().ok());
        let share = share.unwrap_or(std::process::id() as usize) % SHARES;
        println!("ODM_PASSED_OVER_SHARE={share}");
        let writes = (plain::SET.operations)().into_iter().filter(|operation| {
            // Operators are combined with ways of an update, which have rows of their own.
            operation.kind != Kind::Read && operation.mode != Mode::Outside && !operation.is_combination
        });
        let chosen = writes.enumerate().filter(|(n, operation)| match only.as_deref() {
            None => n % SHARES == share,
            Some("all") => true,
            Some(words) => operation.name.contains(words),
        });
        let chosen: Vec<Arc<Operation>> = chosen.map(|(_, operation)| operation.into()).collect();
        let group = Arc::new(Group {
            models: plain::SET.models,
            fill: |odm| (plain::SET.fill)(odm, TENANTS[0]).map(Ok).boxed(),
            rows: Vec::new(),
        });
        let of_place = chosen.len().div_ceil(AT_ONCE).max(1);
        let places: Vec<Vec<Arc<Operation>>> = chosen.chunks(of_place).map(<[_]>::to_vec).collect();
        let done = stream::iter(places).map(|operations| {
            let (client, group): (Client, _) = (t.db.client().clone(), group.clone());
            tokio::spawn(async move {
                let place = Place::new(&client, &group, false).await;
                let mut counts = Counts::default();
                for operation in &operations {
                    counts.rows += 1;
                    if let Err(failure) = every_cut(&place, operation, &mut counts).await {
                        counts.failures.push(format!("{}: {failure}", operation.name));
                    }
                }
                place.db.drop().await.unwrap();
                counts
            })
        });
        let done: Vec<Counts> = done.buffer_unordered(AT_ONCE).map(Result::unwrap).collect().await;
        let sum = |count: fn(&Counts) -> usize| done.iter().map(count).sum::<usize>();
        println!(
            "{} rows, {} lost commands and replies, after {} of which the transaction was run again and committed",
            sum(|counts| counts.rows),
            sum(|counts| counts.cuts),
            sum(|counts| counts.committed)
        );
        let failures: Vec<&String> = done.iter().flat_map(|counts| &counts.failures).collect();
        for failure in &failures {
            println!("{failure}\n");
        }
        assert!(failures.is_empty(), "{} rows failed", failures.len());
    });
}

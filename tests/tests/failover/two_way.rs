//! Two-way references under failover: whatever a write was told, both sides agree in the end.

use super::control::Nodes;
use odm::bson::oid::ObjectId;
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(many, inverse = owner, max = 5000)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[reference(inverse = tasks)]
    owner: Ref<Person>,
}

/// How often the primary is killed.
const KILLS: usize = 3;

/// What a writer was told.
#[derive(Default)]
struct Told {
    inserted: Vec<ObjectId>,
    moved: u64,
    failed: u64,
}

/// Inserts tasks and moves them from one owner to another, until it is told to stop.
async fn write(odm: Odm, owners: Vec<Ref<Person>>, stop: Arc<AtomicBool>) -> Told {
    let tasks = odm.collection::<Task>();
    let mut told = Told::default();
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let owner = owners[n % owners.len()];
        match tasks.insert(NewTask { owner }).await {
            Ok(task) => told.inserted.push(task.id),
            Err(_) => told.failed += 1,
        }
        if let Some(task) = told.inserted.get(n / 2).copied() {
            let owner = owners[(n + 1) % owners.len()];
            match tasks.update(task).set(|t| t.owner, owner).await {
                Ok(_) => told.moved += 1,
                Err(_) => told.failed += 1,
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    told
}

/// Asks for something of the nodes without holding up the tasks that write.
async fn ask<T: Send + 'static>(nodes: &Nodes, what: impl FnOnce(&Nodes) -> T + Send + 'static) -> T {
    let nodes = nodes.clone();
    tokio::task::spawn_blocking(move || what(&nodes)).await.unwrap()
}

#[test]
fn both_sides_agree_after_the_primary_died() {
    let nodes = Nodes::of_environment();
    nodes.restart_all();
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Person, Task]).unwrap();
        odm.sync().await.unwrap();
        assert!(odm.server().await.unwrap().has_transactions());
        let people = odm.collection::<Person>();
        let mut owners = Vec::new();
        for _ in 0..4 {
            owners.push(people.insert(NewPerson { tasks: vec![] }).await.unwrap().to_ref());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4)
            .map(|_| tokio::spawn(write(odm.clone(), owners.clone(), stop.clone())))
            .collect();
        let mut killed = Vec::new();
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let dead = ask(&nodes, Nodes::kill_primary).await;
            assert_eq!(ask(&nodes, Nodes::status).await[dead], "down");
            killed.push(dead);
            // The writers meet the dead one, the election and the new one.
            ask(&nodes, Nodes::wait_for_primary).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            ask(&nodes, Nodes::restart_all).await;
        }
        stop.store(true, Ordering::SeqCst);
        let mut inserted = Vec::new();
        let (mut moved, mut failed) = (0, 0);
        for writer in writers {
            let told = writer.await.unwrap();
            inserted.extend(told.inserted);
            moved += told.moved;
            failed += told.failed;
        }
        println!(
            "killed {killed:?}; {} inserted, {moved} moved, {failed} refused",
            inserted.len()
        );
        assert!(!inserted.is_empty() && moved > 0, "something happened");
        // What was confirmed is there, whoever was the primary then.
        let there: HashSet<ObjectId> = odm
            .collection::<Task>()
            .find(|_| odm::Filter::all())
            .all()
            .await
            .unwrap()
            .into_iter()
            .map(|task| task.id)
            .collect();
        let lost: Vec<&ObjectId> = inserted.iter().filter(|id| !there.contains(*id)).collect();
        assert!(lost.is_empty(), "confirmed, and lost: {lost:?}");
        // And both sides agree: they were written as one.
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
    });
}

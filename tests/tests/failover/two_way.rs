//! Two-way references under failover: whatever the result of a write, both sides agree in the end.

use super::control::Nodes;
use super::scenario::{Stop, while_primaries_die};
use odm::bson::oid::ObjectId;
use odm::prelude::*;
use odm_tests::{assert_clean, with_db};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
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

/// The results that a writer got.
#[derive(Default)]
struct Told {
    inserted: Vec<ObjectId>,
    moved: u64,
    failed: u64,
}

/// Inserts tasks and moves them from one owner to another, until it is to stop.
async fn write(odm: Odm, owners: Vec<Ref<Person>>, stop: Stop) -> Told {
    let tasks = odm.collection::<Task>();
    let mut told = Told::default();
    for n in 0.. {
        if stop.is_told() {
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
        let stop = Stop::default();
        let writers = (0..4)
            .map(|_| tokio::spawn(write(odm.clone(), owners.clone(), stop.clone())))
            .collect();
        let mut inserted = Vec::new();
        let (mut moved, mut failed) = (0, 0);
        for told in while_primaries_die(&nodes, &stop, writers).await {
            inserted.extend(told.inserted);
            moved += told.moved;
            failed += told.failed;
        }
        println!("{} inserted, {moved} moved, {failed} refused", inserted.len());
        assert!(!inserted.is_empty() && moved > 0, "something happened");
        // A confirmed write is there, whichever node was the primary then.
        let there: HashSet<ObjectId> = odm
            .collection::<Task>()
            .find_all()
            .all()
            .await
            .unwrap()
            .into_iter()
            .map(|task| task.id)
            .collect();
        let lost: Vec<&ObjectId> = inserted.iter().filter(|id| !there.contains(*id)).collect();
        assert!(lost.is_empty(), "confirmed, and lost: {lost:?}");
        // And both sides agree: they were written as one.
        assert_clean(&odm).await;
    });
}

//! Writers, and the primary killed under them.

use super::control::Nodes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// How often the primary is killed.
const KILLS: usize = 3;

/// Says to writers when to stop.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether to stop now.
    pub fn is_told(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Kills the primary again and again while these write, and has them stop when all nodes are there again. Returns their
/// results.
pub async fn while_primaries_die<T>(nodes: &Nodes, stop: &Stop, writers: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut killed = Vec::new();
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let dead = ask(nodes, Nodes::kill_primary).await;
        assert_eq!(ask(nodes, Nodes::status).await[dead], "down");
        killed.push(dead);
        // The writers meet the dead one, the election and the new one.
        ask(nodes, Nodes::wait_for_primary).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        ask(nodes, Nodes::restart_all).await;
    }
    stop.0.store(true, Ordering::SeqCst);
    println!("killed {killed:?}");
    let mut told = Vec::new();
    for writer in writers {
        told.push(writer.await.unwrap());
    }
    told
}

/// Asks for something of the nodes without holding up the tasks that write.
async fn ask<T: Send + 'static>(nodes: &Nodes, what: impl FnOnce(&Nodes) -> T + Send + 'static) -> T {
    let nodes = nodes.clone();
    tokio::task::spawn_blocking(move || what(&nodes)).await.unwrap()
}

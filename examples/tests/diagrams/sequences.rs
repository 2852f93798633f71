//! The commands of an insert with a copy, of a change of a source with many holders, and of a recovery after a crash during it. They
//! are those that a client reports: `tests/sequences.rs` runs the same writes and compares.

use crate::sequence::Sequence;
use crate::sequence::Step::{Call, Close, Command, Dies, Note, Open, Reply};

const APP: usize = 0;
const ODM: usize = 1;
const HOSTS: usize = 2;
const LOG: usize = 3;

const PARTICIPANTS: &[&str] = &["application", "odm", "hosts", "logmsg"];

pub fn all() -> [(&'static str, Sequence); 3] {
    [
        ("insert", insert()),
        ("fan_out", fan_out()),
        ("recovery", recovery()),
    ]
}

pub fn insert() -> Sequence {
    Sequence {
        title: "An insert with a copy, on a replica set",
        participants: PARTICIPANTS,
        steps: vec![
            Call(APP, ODM, "insert a message that refers to a host"),
            Command(ODM, HOSTS, "find the source"),
            Reply(HOSTS, ODM, "ipaddr, version 7"),
            Open("transaction"),
            Command(
                ODM,
                LOG,
                "insert the message with ipaddr, and version 7 beside it",
            ),
            Command(ODM, HOSTS, "update: lock the host that has version 7"),
            Note(HOSTS, "another version: the copy is taken again"),
            Command(ODM, LOG, "commitTransaction"),
            Close,
            Reply(ODM, APP, "the stored message"),
        ],
    }
}

pub fn fan_out() -> Sequence {
    Sequence {
        title: "A change of a source with more than 1,000 holders, on a replica set",
        participants: PARTICIPANTS,
        steps: vec![
            Call(APP, ODM, "update the ipaddr of a host"),
            Open("transaction"),
            Command(ODM, HOSTS, "findAndModify: ipaddr, version 8"),
            Command(ODM, LOG, "find the holders: more than 1,000"),
            Command(ODM, HOSTS, "update: store pending work"),
            Command(ODM, LOG, "commitTransaction"),
            Close,
            Note(HOSTS, "from here on, any process can finish the work"),
            Command(ODM, HOSTS, "find the pending work"),
            Command(
                ODM,
                LOG,
                "update the first batch, where the version is older than 8",
            ),
            Command(ODM, LOG, "update the second batch at the same time"),
            Command(ODM, LOG, "find the ids of the next holders"),
            Command(ODM, HOSTS, "update: store the progress"),
            Command(ODM, LOG, "update the next batch, and so on"),
            Command(ODM, HOSTS, "update: clear the pending work"),
            Reply(ODM, APP, "copies_updated"),
        ],
    }
}

pub fn recovery() -> Sequence {
    const DEAD: usize = 0;
    const WORKER: usize = 1;
    Sequence {
        title: "A crash during a fan-out, and the recovery by another process",
        participants: &["process 1", "process 2", "hosts", "logmsg"],
        steps: vec![
            Note(DEAD, "has committed version 8 with pending work"),
            Command(DEAD, LOG, "update the first batch of holders"),
            Command(DEAD, HOSTS, "update: store the progress"),
            Dies(DEAD, "the other holders are stale"),
            Note(WORKER, "recover, or a worker"),
            Command(WORKER, LOG, "find in _odm_edges: the declared copies"),
            Command(WORKER, HOSTS, "find pending work"),
            Reply(HOSTS, WORKER, "version 8, progress"),
            Command(WORKER, LOG, "find the ids of the holders behind the first batch"),
            Command(WORKER, LOG, "getMore of them"),
            Command(
                WORKER,
                LOG,
                "update the second batch, where the version is older than 8",
            ),
            Command(WORKER, LOG, "update the third batch"),
            Command(WORKER, HOSTS, "update: clear the pending work"),
            Command(WORKER, LOG, "find pending work of messages: none"),
            Note(WORKER, "every copy equals its source"),
        ],
    }
}

//! Transactions of several shards, one of which applies the commit late: a holder on one shard refers to a target on another.
//!
//! Such a transaction is prepared on each shard that takes part, and then its commit is decided. The client gets its reply at the
//! decision, and each shard applies the commit later by itself. A write waits at a document that is prepared. So does a read with a time
//! (`afterClusterTime`); one without a time sees the document as it was before. A transaction that another one is in the way of begins
//! again, which is no step here: it waits.
//!
//! The steps are those of an insert of the holder and of a deletion of the target, which the holder restricts: each with a transaction,
//! and by single writes with looks before and behind them. The process that inserts in a transaction reads the holder afterwards, as an
//! application does. What decides and applies a commit are the servers, so it goes on where the process of the client has died.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

/// The target is on the first shard, the holder on the second one.
const SHARDS: usize = 2;
const TARGET: usize = 0;
const HOLDER: usize = 1;

/// A read that begins with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// That of the application behind its commit.
    OwnCommit,
    /// The library's look for holders behind a deletion.
    LookBehindDeletion,
    /// The library's second look at a target, behind the insert of a reference.
    SecondLook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// Inserts the holder, in a transaction that locks the target; reads it afterwards.
    InsertWithLock,
    /// Looks at the target, inserts the holder, and looks again.
    InsertAlone,
    /// Looks for holders, deletes the target in a transaction that changes another document on the shard of the holder, and looks again.
    DeleteWithOthers,
    /// The same by a single write.
    DeleteAlone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    Writes,
    /// The transaction is prepared: the servers commit it.
    Commits,
    /// Looks behind its write.
    Looks,
    /// Undoes its write.
    Undoes,
    Done,
}

/// A document: whether it is there, and what a prepared transaction makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stored {
    there: bool,
    prepared: Option<Prepared>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Prepared {
    by: usize,
    there: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: [Stored; SHARDS],
    /// Whether the commit of a process is decided.
    decided: Vec<bool>,
    at: Vec<At>,
    /// Whether an application missed its own write.
    missed: bool,
}

/// What takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Process(usize, Work, At),
    /// A shard applies a commit that is decided.
    Applies(usize),
}

#[derive(Clone, Debug)]
struct Shards {
    processes: Vec<Work>,
    without: Vec<Safeguard>,
}

impl State {
    /// Whether the document is there for a read; `None` while the read waits.
    fn read(&self, document: usize, with_time: bool) -> Option<bool> {
        let Stored { there, prepared } = self.documents[document];
        (prepared.is_none() || !with_time).then_some(there)
    }

    /// Writes a document by a single write; `None` while that waits.
    fn write(&mut self, document: usize, there: bool) -> Option<()> {
        let stored = &mut self.documents[document];
        stored.prepared.is_none().then(|| stored.there = there)
    }

    /// Prepares a transaction on both shards; `None` while another one is in the way.
    fn prepare(&mut self, by: usize, there: [bool; SHARDS]) -> Option<()> {
        let is_free = self.documents.iter().all(|stored| stored.prepared.is_none());
        is_free.then(|| {
            for (stored, there) in self.documents.iter_mut().zip(there) {
                stored.prepared = Some(Prepared { by, there });
            }
        })
    }
}

impl Shards {
    fn has(&self, safeguard: Safeguard) -> bool {
        !self.without.contains(&safeguard)
    }

    /// The next step of a process; `None` where it has returned or waits.
    fn step(&self, state: &State, process: usize) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], self.processes[process]) {
            (At::Done, _) => return None,
            // In its snapshot, which waits at what is prepared.
            (At::Start, Work::InsertWithLock) => {
                if state.read(TARGET, true)? && !state.read(HOLDER, true)? {
                    next.prepare(process, [true, true])?;
                    At::Commits
                } else {
                    At::Done
                }
            }
            (At::Start, Work::InsertAlone) => {
                if state.read(TARGET, true)? {
                    At::Writes
                } else {
                    At::Done
                }
            }
            (At::Start, Work::DeleteWithOthers | Work::DeleteAlone) => {
                if state.read(HOLDER, true)? {
                    At::Done
                } else {
                    At::Writes
                }
            }
            // An insert of what is there, and a deletion of what is not.
            (At::Writes, Work::InsertAlone) if state.read(HOLDER, true)? => At::Done,
            (At::Writes, Work::DeleteAlone | Work::DeleteWithOthers) if !state.read(TARGET, true)? => {
                At::Done
            }
            (At::Writes, Work::InsertAlone) => {
                next.write(HOLDER, true)?;
                At::Looks
            }
            (At::Writes, Work::DeleteAlone) => {
                next.write(TARGET, false)?;
                At::Looks
            }
            (At::Writes, _) => {
                // The other document on the shard of the holder is not the holder.
                next.documents[TARGET].prepared = Some(Prepared {
                    by: process,
                    there: false,
                });
                At::Commits
            }
            (At::Commits, _) => {
                next.decided[process] = true;
                At::Looks
            }
            (At::Looks, Work::InsertWithLock) => {
                // Another process may have deleted the target, which this one restricts: so the holder stays.
                next.missed |= !state.read(HOLDER, self.has(Safeguard::OwnCommit))?;
                At::Done
            }
            (At::Looks, Work::InsertAlone) => {
                if state.read(TARGET, self.has(Safeguard::SecondLook))? {
                    At::Done
                } else {
                    At::Undoes
                }
            }
            (At::Looks, _) => {
                if state.read(HOLDER, self.has(Safeguard::LookBehindDeletion))? {
                    At::Undoes
                } else {
                    At::Done
                }
            }
            (At::Undoes, Work::InsertAlone) => {
                next.write(HOLDER, false)?;
                At::Done
            }
            (At::Undoes, _) => {
                next.write(TARGET, true)?;
                At::Done
            }
        };
        next.at[process] = at;
        Some(next)
    }

    /// A shard applies the commit.
    fn apply(&self, state: &State, shard: usize) -> Option<State> {
        let Prepared { by, there } = state.documents[shard].prepared?;
        state.decided[by].then(|| {
            let mut next = state.clone();
            next.documents[shard] = Stored {
                there,
                prepared: None,
            };
            next
        })
    }

    fn has_ended(&self, state: &State) -> bool {
        state.at.iter().all(|at| *at == At::Done)
            && state.documents.iter().all(|stored| stored.prepared.is_none())
    }
}

const SEES_ITS_OWN: &str = "an application reads what it has committed";
const NOTHING_DANGLES: &str = "when all have returned, nothing refers to a missing document";
const GOES_ON: &str = "no process waits for ever";

impl Model for Shards {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let stored = |there| Stored {
            there,
            prepared: None,
        };
        vec![State {
            documents: [stored(true), stored(false)],
            decided: vec![false; self.processes.len()],
            at: vec![At::Start; self.processes.len()],
            missed: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        let all = state.at.iter().zip(&self.processes).enumerate();
        actions.extend(
            all.filter(|(process, _)| self.step(state, *process).is_some())
                .map(|(process, (at, work))| Step::Process(process, *work, *at)),
        );
        let shards = (0..SHARDS).filter(|shard| self.apply(state, *shard).is_some());
        actions.extend(shards.map(Step::Applies));
    }

    fn next_state(&self, state: &State, action: Step) -> Option<State> {
        match action {
            Step::Process(process, ..) => self.step(state, process),
            Step::Applies(shard) => self.apply(state, shard),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(SEES_ITS_OWN, |_, state: &State| !state.missed),
            Property::always(NOTHING_DANGLES, |model: &Shards, state: &State| {
                let [target, holder] = state.documents;
                !model.has_ended(state) || target.there || !holder.there
            }),
            Property::always(GOES_ON, |model: &Shards, state: &State| {
                let mut actions = Vec::new();
                model.actions(state, &mut actions);
                !actions.is_empty() || model.has_ended(state)
            }),
            Property::sometimes("the holder is inserted", |_, state: &State| {
                state.documents[HOLDER].there
            }),
        ]
    }
}

fn model(processes: &[Work]) -> Shards {
    Shards {
        processes: processes.to_vec(),
        without: Vec::new(),
    }
}

#[test]
fn a_shard_that_applies_a_commit_late_makes_no_difference() {
    use Work::{DeleteAlone, DeleteWithOthers, InsertAlone, InsertWithLock};
    holds(
        "shards: a transaction, and a read of its own behind it",
        model(&[InsertWithLock]),
    );
    holds(
        "shards: an insert in a transaction, a deletion",
        model(&[InsertWithLock, DeleteAlone]),
    );
    holds(
        "shards: an insert, a deletion in a transaction",
        model(&[InsertAlone, DeleteWithOthers]),
    );
    holds(
        "shards: an insert and a deletion, both in a transaction",
        model(&[InsertWithLock, DeleteWithOthers]),
    );
    holds(
        "shards: inserts and deletions, each with and without a transaction",
        model(&[InsertWithLock, InsertAlone, DeleteWithOthers, DeleteAlone]),
    );
}

#[test]
fn each_read_behind_a_commit_needs_its_time() {
    use Work::{DeleteAlone, DeleteWithOthers, InsertAlone, InsertWithLock};
    let cases = [
        (
            "time in the read behind a commit of its own",
            model(&[InsertWithLock]),
            Safeguard::OwnCommit,
            SEES_ITS_OWN,
        ),
        (
            "time in the look for holders behind a deletion",
            model(&[InsertWithLock, DeleteAlone]),
            Safeguard::LookBehindDeletion,
            NOTHING_DANGLES,
        ),
        (
            "time in the second look at a target",
            model(&[InsertAlone, DeleteWithOthers]),
            Safeguard::SecondLook,
            NOTHING_DANGLES,
        ),
    ];
    for (name, mut model, safeguard, property) in cases {
        model.without.push(safeguard);
        fails(name, model, property);
    }
}

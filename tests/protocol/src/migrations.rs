//! Runs of steps: a lease that is written with each batch, the progress, and what follows in other documents.
//!
//! Two documents, each of which is a batch, a copy of each elsewhere, and for each value of the field the number of documents with it, as of
//! children by their parent. The first step adds a field, where it is missing; the second one removes it. Two processes run both steps, the time of a lease may end at any moment, which includes a process that is suspended and goes
//! on when another one has done the rest, and a program of the version before inserts a document behind the place where a pass is.
//!
//! A transaction reads what was committed when it began, and conflicts where another one has written the lease since.
//!
//! The steps in the code: `lease::take()`, `Runner::write()`, `Runner::before()`, `Runner::passes()`, `Runner::follow()`,
//! `Runner::follow_last_batch()` in `migrate/run.rs`, and `Migrating::run_open()` in `migrate/records.rs`.
//!
//! Left out: standalone servers, where a batch may be written twice, and the end after some passes.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const DOCUMENTS: usize = 2;
const STEPS: u8 = 2;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `renew` in `Runner::write`: a batch is a transaction that writes the lease.
    LeaseInTransaction,
    /// `is_own` in `lease::write`: on the condition that this process has it.
    Owner,
    /// `change` in `passes`: a step ends when no document needs it.
    CountAtEnd,
    /// `follow_last_batch`: a run begins with what follows from the last batch of the one before.
    FollowedAtBegin,
    /// `store_before` in `Runner::before`: a batch stores its documents as they were.
    StoredBefore,
}

/// The field of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    Missing,
    Added,
    Removed,
}

impl Field {
    fn needs(self, step: u8) -> bool {
        (self == Field::Added) == (step == 1)
    }

    fn after(self, step: u8) -> Field {
        match step {
            _ if !self.needs(step) => self,
            0 => Field::Added,
            _ => Field::Removed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has the lease, and begins the next batch.
    Begins {
        step: u8,
        batch: usize,
    },
    /// In the transaction of a batch.
    Writes {
        step: u8,
        batch: usize,
        has_met: bool,
    },
    /// Behind its commit.
    Follows {
        step: u8,
        batch: usize,
        /// The document as it was, if that is known.
        before: Option<Field>,
    },
    /// Behind the last batch of a pass.
    Counts {
        step: u8,
    },
    /// No document needs the step.
    Marks {
        step: u8,
    },
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Process {
    Runner,
    Clock,
    OldProgram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: [Field; DOCUMENTS],
    copies: [Field; DOCUMENTS],
    /// How many documents have each value of the field.
    counts: [usize; 3],
    /// The document of the last batch as it was.
    before: Option<Field>,
    /// The process with the lease, and whether its time has not ended.
    owner: usize,
    is_held: bool,
    /// The stored progress: the step, and how many batches of it are written.
    step: u8,
    batches: usize,
    at: Vec<At>,
}

#[derive(Clone, Debug)]
struct Migrations {
    processes: Vec<Process>,
    without: Option<Safeguard>,
}

impl Migrations {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    /// A write of the lease: transactions that are open meet it.
    fn write_lease(&self, state: &mut State, process: usize) {
        (state.owner, state.is_held) = (process, true);
        for (other, at) in state.at.iter_mut().enumerate() {
            if let At::Writes { has_met, .. } = at
                && other != process
            {
                *has_met = !self.lacks(Safeguard::LeaseInTransaction);
            }
        }
    }

    fn is_owner(&self, state: &State, process: usize) -> bool {
        state.owner == process || self.lacks(Safeguard::Owner)
    }

    fn next_of(step: u8, batch: usize) -> At {
        if batch < DOCUMENTS {
            At::Begins { step, batch }
        } else {
            At::Counts { step }
        }
    }

    fn step(&self, state: &State, process: usize) -> Option<State> {
        let mut next = state.clone();
        let at = match state.at[process] {
            At::Done => return None,
            At::Start if state.step == STEPS => At::Done,
            At::Start => {
                if state.is_held && state.owner != process {
                    return None;
                }
                self.write_lease(&mut next, process);
                match state.batches {
                    batches if batches > 0 && !self.lacks(Safeguard::FollowedAtBegin) => At::Follows {
                        step: state.step,
                        batch: batches - 1,
                        before: state.before,
                    },
                    batches => Migrations::next_of(state.step, batches),
                }
            }
            At::Begins { step, batch } => At::Writes {
                step,
                batch,
                has_met: false,
            },
            At::Writes {
                step,
                batch,
                has_met: true,
            } => At::Begins { step, batch },
            At::Writes { step, batch, .. } => {
                let is_guarded = !self.lacks(Safeguard::LeaseInTransaction);
                if is_guarded && !self.is_owner(state, process) {
                    At::Start
                } else {
                    if is_guarded {
                        self.write_lease(&mut next, process);
                    }
                    let before = state.documents[batch];
                    next.documents[batch] = before.after(step);
                    next.before = Some(before).filter(|_| !self.lacks(Safeguard::StoredBefore));
                    (next.step, next.batches) = (step, batch + 1);
                    At::Follows {
                        step,
                        batch,
                        before: Some(before),
                    }
                }
            }
            At::Follows { step, batch, before } => {
                next.copies[batch] = state.documents[batch];
                for value in before.into_iter().chain([state.documents[batch]]) {
                    next.count(value);
                }
                Migrations::next_of(step, batch + 1)
            }
            At::Counts { step } => {
                let is_needed = state.documents.iter().any(|document| document.needs(step));
                if is_needed && !self.lacks(Safeguard::CountAtEnd) {
                    At::Begins { step, batch: 0 }
                } else {
                    At::Marks { step }
                }
            }
            At::Marks { step } => {
                if !self.is_owner(state, process) {
                    At::Start
                } else {
                    self.write_lease(&mut next, process);
                    (next.step, next.batches) = (step + 1, 0);
                    if step + 1 == STEPS {
                        At::Done
                    } else {
                        At::Begins {
                            step: step + 1,
                            batch: 0,
                        }
                    }
                }
            }
        };
        next.at[process] = at;
        Some(next)
    }

    fn other(&self, state: &State, process: usize) -> Option<State> {
        let mut next = state.clone();
        match (self.processes[process], state.at[process]) {
            (Process::Clock, _) if state.is_held => next.is_held = false,
            // Behind the pass of the first step.
            (Process::OldProgram, At::Start) if state.step == 0 && state.batches == 1 => {
                let before = state.documents[0];
                (next.documents[0], next.copies[0]) = (Field::Missing, Field::Missing);
                next.count(before);
                next.count(Field::Missing);
                next.at[process] = At::Done;
            }
            _ => return None,
        }
        Some(next)
    }

    /// The state after all processes have died, the time of the lease has ended, and another process has run.
    fn recovered(&self, state: &State) -> State {
        let process = self.processes.len();
        let mut state = state.clone();
        state.is_held = false;
        state.at = vec![At::Done; process];
        state.at.push(At::Start);
        while let Some(next) = self.step(&state, process) {
            state = next;
        }
        state
    }
}

impl State {
    /// Counts the documents with a value, as a repair of its parent does.
    fn count(&mut self, value: Field) {
        let documents = self.documents.iter();
        self.counts[value as usize] = documents.filter(|document| **document == value).count();
    }

    fn is_true(&self) -> bool {
        let is_copied = self.documents == [Field::Removed; DOCUMENTS] && self.copies == self.documents;
        is_copied && self.counts == [0, 0, DOCUMENTS]
    }
}

const AT_THE_END: &str = "after a crash and another run, all steps are applied, every copy equals its source, and each value is counted";
const STAYS: &str = "when all steps are applied, no process changes a document any more";

impl Model for Migrations {
    type State = State;
    type Action = (usize, Process, At);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            documents: [Field::Missing; DOCUMENTS],
            copies: [Field::Missing; DOCUMENTS],
            counts: [DOCUMENTS, 0, 0],
            before: None,
            owner: usize::MAX,
            is_held: false,
            step: 0,
            batches: 0,
            at: vec![At::Start; self.processes.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let all = self.processes.iter().zip(&state.at).enumerate();
        actions.extend(all.map(|(process, (kind, at))| (process, *kind, *at)));
    }

    fn next_state(&self, state: &State, (process, kind, _): Self::Action) -> Option<State> {
        match kind {
            Process::Runner => self.step(state, process),
            Process::Clock | Process::OldProgram => self.other(state, process),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_THE_END, |model: &Migrations, state: &State| {
                model.recovered(state).is_true()
            }),
            Property::always(STAYS, |_, state: &State| {
                state.step != STEPS || state.documents == [Field::Removed; DOCUMENTS]
            }),
        ]
    }
}

fn two_runs() -> Migrations {
    Migrations {
        processes: vec![
            Process::Runner,
            Process::Runner,
            Process::Clock,
            Process::OldProgram,
        ],
        without: None,
    }
}

#[test]
fn runs_of_steps_apply_each_once_and_end() {
    holds(
        "migrations: two runs, a clock, a program of the version before",
        two_runs(),
    );
}

#[test]
fn each_safeguard_of_a_run_is_needed() {
    let cases = [
        (
            "lease in the transaction of a batch",
            Safeguard::LeaseInTransaction,
            STAYS,
        ),
        ("owner of the lease in its filter", Safeguard::Owner, STAYS),
        (
            "count of the documents at the end of a step",
            Safeguard::CountAtEnd,
            AT_THE_END,
        ),
        (
            "what follows from the last batch of another run",
            Safeguard::FollowedAtBegin,
            AT_THE_END,
        ),
        (
            "the documents of the last batch as they were",
            Safeguard::StoredBefore,
            AT_THE_END,
        ),
    ];
    for (name, safeguard, property) in cases {
        let without = Some(safeguard);
        fails(
            name,
            Migrations {
                without,
                ..two_runs()
            },
            property,
        );
    }
}

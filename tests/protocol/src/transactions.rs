//! Copies that are kept true within transactions.
//!
//! A transaction reads a snapshot of what was committed when it began. It fails at its first write of a document that
//! another one is writing, or has committed since: then it is begun again. No step can be seen by others but the commit, so
//! what has to be true is asked of what is committed, in every state; a crash undoes what is not.
//!
//! A source with many holders is delivered outside of transactions, one holder in each step, beside transactions that change it again.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const SOURCES: usize = 2;
const HOLDERS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    version: u8,
    value: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holder {
    to: u8,
    version: u8,
    copy: u8,
}

/// The database, and how often each of its documents was written: first the sources, then the holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Documents {
    sources: [Source; SOURCES],
    holders: [Option<Holder>; HOLDERS],
    writes: [u8; SOURCES + HOLDERS],
}

/// A transaction that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transaction {
    /// The snapshot with its own writes.
    sees: Documents,
    written: [bool; SOURCES + HOLDERS],
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    Lock,
    VersionInLock,
    Delivery,
    OneTransaction,
    VersionInLateDelivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Insert {
        holder: u8,
        to: u8,
    },
    Point {
        holder: u8,
        to: u8,
    },
    Update {
        source: u8,
        value: u8,
    },
    /// Delivers a version that is committed already, outside of a transaction.
    Late {
        source: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read the source that it will copy from, before its transaction begins.
    Copies(Source),
    Locks(Transaction),
    /// Delivers to this holder.
    Delivers(Transaction, u8),
    Commits(Transaction),
    /// Writes to this holder, outside of a transaction.
    Writes(Source, u8),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: Documents,
    at: Vec<At>,
}

#[derive(Clone, Debug)]
struct Transactions {
    processes: Vec<Work>,
    holders: [Option<u8>; HOLDERS],
    /// The first source has a version that is committed and not delivered.
    is_late: bool,
    without: Option<Safeguard>,
}

impl At {
    fn transaction(&self) -> Option<&Transaction> {
        match self {
            At::Locks(open) | At::Delivers(open, _) | At::Commits(open) => Some(open),
            At::Start | At::Copies(_) | At::Writes(..) | At::Done => None,
        }
    }
}

impl State {
    fn begin(&self) -> Transaction {
        Transaction {
            sees: self.documents,
            written: [false; SOURCES + HOLDERS],
        }
    }

    /// Notes that a transaction writes a document; `false` where it has to be begun again.
    fn write(&self, process: usize, open: &mut Transaction, document: usize) -> bool {
        let others = self.at.iter().enumerate().filter(|(other, _)| *other != process);
        let mut others = others.filter_map(|(_, at)| at.transaction());
        let changed = open.sees.writes[document] != self.documents.writes[document];
        if changed || others.any(|other| other.written[document]) {
            return false;
        }
        open.written[document] = true;
        true
    }
}

impl Transactions {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Insert { to, .. } | Work::Point { to, .. }) => {
                At::Copies(state.documents.sources[to as usize])
            }
            (At::Copies(from), Work::Insert { holder, to } | Work::Point { holder, to }) => {
                let mut open = state.begin();
                if state.write(process, &mut open, SOURCES + holder as usize) {
                    let new = Holder {
                        to,
                        version: from.version,
                        copy: from.value,
                    };
                    open.sees.holders[holder as usize] = Some(new);
                    if self.lacks(Safeguard::Lock) {
                        At::Commits(open)
                    } else {
                        At::Locks(open)
                    }
                } else {
                    At::Start
                }
            }
            (At::Locks(mut open), Work::Insert { holder, to } | Work::Point { holder, to }) => {
                if state.write(process, &mut open, to as usize) {
                    let from = open.sees.sources[to as usize];
                    if let Some(there) = &mut open.sees.holders[holder as usize]
                        && there.version < from.version
                        && !self.lacks(Safeguard::VersionInLock)
                    {
                        (there.version, there.copy) = (from.version, from.value);
                    }
                    At::Commits(open)
                } else {
                    At::Start
                }
            }
            (At::Start, Work::Update { source, value }) => {
                let mut open = state.begin();
                if state.write(process, &mut open, source as usize) {
                    let there = &mut open.sees.sources[source as usize];
                    (there.version, there.value) = (there.version + 1, value);
                    if self.lacks(Safeguard::OneTransaction) {
                        commit(&mut next.documents, &open);
                        open = next.begin();
                    }
                    if self.lacks(Safeguard::Delivery) {
                        At::Commits(open)
                    } else {
                        At::Delivers(open, 0)
                    }
                } else {
                    At::Start
                }
            }
            (At::Delivers(mut open, holder), Work::Update { source, .. }) => {
                let from = open.sees.sources[source as usize];
                // Of any version: while this transaction has written the source, no other one can commit a newer version.
                let refers = |there: &Holder| there.to == source;
                match open.sees.holders.get(holder as usize) {
                    None => At::Commits(open),
                    Some(there) if !there.as_ref().is_some_and(refers) => At::Delivers(open, holder + 1),
                    Some(_) => {
                        if state.write(process, &mut open, SOURCES + holder as usize) {
                            let new = Holder {
                                to: source,
                                version: from.version,
                                copy: from.value,
                            };
                            open.sees.holders[holder as usize] = Some(new);
                            At::Delivers(open, holder + 1)
                        } else {
                            At::Start
                        }
                    }
                }
            }
            (At::Start, Work::Late { source }) => At::Writes(state.documents.sources[source as usize], 0),
            (At::Writes(from, holder), Work::Late { source }) => {
                let at = SOURCES + holder as usize;
                if state
                    .at
                    .iter()
                    .filter_map(At::transaction)
                    .any(|open| open.written[at])
                {
                    // The server waits for the transaction that has written this holder.
                    return None;
                }
                let Some(there) = &mut next.documents.holders[holder as usize] else {
                    return None;
                };
                let is_behind = there.version < from.version || self.lacks(Safeguard::VersionInLateDelivery);
                if there.to == source && is_behind {
                    (there.version, there.copy) = (from.version, from.value);
                    next.documents.writes[at] += 1;
                }
                if at + 1 == SOURCES + HOLDERS {
                    At::Done
                } else {
                    At::Writes(from, holder + 1)
                }
            }
            (At::Commits(open), _) => {
                commit(&mut next.documents, &open);
                At::Done
            }
            (At::Copies(_) | At::Locks(_) | At::Delivers(..) | At::Writes(..), _) => return None,
        };
        next.at[process] = at;
        Some(next)
    }
}

fn commit(documents: &mut Documents, open: &Transaction) {
    for (document, _) in open.written.iter().enumerate().filter(|(_, written)| **written) {
        match document.checked_sub(SOURCES) {
            None => documents.sources[document] = open.sees.sources[document],
            Some(holder) => documents.holders[holder] = open.sees.holders[holder],
        }
        documents.writes[document] += 1;
    }
}

const ALWAYS: &str = "every committed copy equals its source";
const AT_THE_END: &str = "every copy equals its source when all processes have returned";
const ALL_RETURN: &str = "all processes return";

impl Model for Transactions {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let holder = |to: u8| Holder {
            to,
            version: 0,
            copy: to,
        };
        let mut sources = [0, 1].map(|value| Source { version: 0, value });
        if self.is_late {
            sources[0] = Source { version: 1, value: 5 };
        }
        vec![State {
            documents: Documents {
                sources,
                holders: self.holders.map(|to| to.map(holder)),
                writes: [0; SOURCES + HOLDERS],
            },
            at: vec![At::Start; self.processes.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let all = state.at.iter().zip(&self.processes).enumerate();
        let open = all.filter(|(_, (at, _))| **at != At::Done);
        actions.extend(open.map(|(process, (at, work))| (process, *work, *at)));
    }

    fn next_state(&self, state: &State, action: Self::Action) -> Option<State> {
        self.step(state, action.0, action.1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ALWAYS, |model: &Transactions, state: &State| {
                model.is_late || are_true(&state.documents)
            }),
            Property::always(AT_THE_END, |_, state: &State| {
                !have_returned(state) || are_true(&state.documents)
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| have_returned(state)),
        ]
    }
}

fn are_true(documents: &Documents) -> bool {
    documents.holders.iter().flatten().all(|holder| {
        let source = documents.sources[holder.to as usize];
        (holder.version, holder.copy) == (source.version, source.value)
    })
}

fn have_returned(state: &State) -> bool {
    state.at.iter().all(|at| *at == At::Done)
}

/// Two who insert holders of one source, and two who change it.
fn inserts() -> Transactions {
    Transactions {
        processes: vec![
            Work::Insert { holder: 0, to: 0 },
            Work::Insert { holder: 1, to: 0 },
            Work::Update { source: 0, value: 10 },
            Work::Update { source: 0, value: 20 },
        ],
        holders: [None; 2],
        is_late: false,
        without: None,
    }
}

/// Two who set a reference, and two who change the sources.
fn pointing() -> Transactions {
    Transactions {
        processes: vec![
            Work::Point { holder: 0, to: 1 },
            Work::Point { holder: 0, to: 0 },
            Work::Update { source: 0, value: 10 },
            Work::Update { source: 1, value: 20 },
        ],
        holders: [Some(0), Some(1)],
        is_late: false,
        without: None,
    }
}

/// Two processes that deliver a committed version, and two that change the source again.
fn late() -> Transactions {
    Transactions {
        processes: vec![
            Work::Late { source: 0 },
            Work::Late { source: 0 },
            Work::Update { source: 0, value: 10 },
            Work::Update { source: 0, value: 20 },
        ],
        holders: [Some(0); 2],
        is_late: true,
        without: None,
    }
}

#[test]
fn copies_are_true_at_every_commit() {
    holds("transactions: two inserts, two updates", inserts());
    holds(
        "transactions: two writes of a reference, two updates of its sources",
        pointing(),
    );
    holds("transactions: two late deliveries, two updates", late());
}

#[test]
fn each_safeguard_of_transactions_is_needed() {
    let cases = [
        ("lock of the source", inserts(), Safeguard::Lock),
        (
            "the lock of the source where a reference is set",
            pointing(),
            Safeguard::Lock,
        ),
        (
            "version in the filter of the lock",
            inserts(),
            Safeguard::VersionInLock,
        ),
        ("the delivery", pointing(), Safeguard::Delivery),
        (
            "one transaction for the change and the delivery",
            pointing(),
            Safeguard::OneTransaction,
        ),
    ];
    for (name, model, safeguard) in cases {
        fails(
            name,
            Transactions {
                without: Some(safeguard),
                ..model
            },
            ALWAYS,
        );
    }
    fails(
        "version in the filter of a late delivery",
        Transactions {
            without: Some(Safeguard::VersionInLateDelivery),
            ..late()
        },
        AT_THE_END,
    );
}

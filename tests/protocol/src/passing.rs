//! Copies of copies that are eventual: the pending work of a document by the names of its fields, and how it comes to an end.
//!
//! Documents of one kind refer to each other, maybe in a circle: `b` is copied of the `a` of the document that one refers to,
//! and `c` of its `b`. Every step of a process is one read or one atomic write of one document.

use crate::checking::{fails, holds};
use stateright::{Model, Property};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

const DOCUMENTS: usize = 3;
/// The kinds of pending work: for everything that is derived of a document, or for its `b` alone.
const ALL: usize = 0;
const B: usize = 1;

/// Names an operation or a write: the process, and how many it has named before. Zero is none.
type Name = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Doc {
    to: u8,
    a: u8,
    b: u8,
    c: u8,
    version: u8,
    /// The version that the copies were taken of.
    copied: u8,
    /// The last operation that left pending work.
    operation: Name,
    /// The writes that left pending work of either kind.
    pending: [Name; 2],
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Safeguard {
    Names,
    PassingOn,
    WriteInPart,
    LastPart,
    PullOfTheWritten,
    SecondLook,
    VersionOfTheSame,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Update { document: u8, value: u8 },
    Point { document: u8, to: u8 },
    Recover,
}

/// A document with pending work, as it was read, and the operation that applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Marked {
    at: u8,
    read: Doc,
    by: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read the document that it will refer to.
    Copies(Doc),
    /// Reads the documents with pending work of the last of its open operations.
    Drains,
    /// Looks for pending work of any operation from this document on.
    Looks(u8),
    Pulls(Marked),
    Pulled(Marked, Doc),
    /// Others have written the copies that it found behind.
    Again(Marked),
    /// Delivers to this document.
    Delivers(Marked, u8),
    Clears(Marked),
    /// Clears the work that it has read, one kind after the other, and then an empty mark.
    Parts(Marked, usize),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: [Doc; DOCUMENTS],
    at: Vec<At>,
    /// How many names each process has given.
    names: Vec<u8>,
    /// The operations of each process that may still have pending work, and from which document on: each is read once.
    open: Vec<Vec<(Name, u8)>>,
    /// How far each recovery has come.
    looked: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Passing {
    processes: Vec<Work>,
    to: [u8; DOCUMENTS],
    without: Option<Safeguard>,
}

/// More steps than a recovery takes that comes to an end.
const STEPS: usize = 60;

/// The documents after a recovery, by those before it and what is left out: many states have the same documents.
type Recovered = HashMap<(Option<Safeguard>, [Doc; DOCUMENTS]), Option<[Doc; DOCUMENTS]>>;

static RECOVERED: LazyLock<Mutex<Recovered>> = LazyLock::new(Mutex::default);

impl Passing {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    fn name(&self, state: &mut State, process: usize) -> Name {
        state.names[process] = state.names[process].wrapping_add(1);
        (process as u8 * 60).wrapping_add(state.names[process] % 60) + 1
    }

    /// A guarded update of the copies in a document, which passes on what it changes.
    fn write(&self, state: &mut State, process: usize, at: u8, from: (u8, &Doc), all: bool, by: Name) {
        let write = self.name(state, process);
        let (source, from) = from;
        let there = &mut state.documents[at as usize];
        if there.to != source || there.copied >= from.version {
            return;
        }
        (there.b, there.c, there.copied) = (from.a, from.b, from.version);
        if !self.lacks(Safeguard::PassingOn) && (all || self.lacks(Safeguard::Names)) {
            there.version += 1;
            there.operation = by;
            let kind = if self.lacks(Safeguard::Names) { ALL } else { B };
            there.pending[kind] = write;
        }
    }

    fn apply(&self, state: &mut State, process: usize, at: u8) -> At {
        let by = self.name(state, process);
        let read = state.documents[at as usize];
        let marked = Marked { at, read, by };
        if read.pending[ALL] != 0 && !self.lacks(Safeguard::PullOfTheWritten) {
            At::Pulls(marked)
        } else {
            At::Delivers(marked, 0)
        }
    }

    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Recover) => At::Looks(0),
            (At::Start, Work::Update { document, value }) => {
                let by = self.name(&mut next, process);
                let write = self.name(&mut next, process);
                let there = &mut next.documents[document as usize];
                (there.a, there.version, there.operation) = (value, there.version + 1, by);
                there.pending[ALL] = write;
                next.open[process].push((by, 0));
                At::Drains
            }
            (At::Start, Work::Point { to, .. }) => At::Copies(state.documents[to as usize]),
            (At::Copies(from), Work::Point { document, to }) => {
                let by = self.name(&mut next, process);
                let write = self.name(&mut next, process);
                let there = &mut next.documents[document as usize];
                (there.to, there.b, there.c, there.copied) = (to, from.a, from.b, from.version);
                // `b` is copied by others.
                (there.version, there.operation) = (there.version + 1, by);
                there.pending[ALL] = write;
                next.open[process].push((by, 0));
                At::Drains
            }
            (At::Drains, _) => {
                let Some((by, from)) = next.open[process].last_mut() else {
                    next.at[process] = match work {
                        Work::Recover => At::Looks(state.looked[process]),
                        _ => At::Done,
                    };
                    return Some(next);
                };
                let mut with_work =
                    (usize::from(*from)..DOCUMENTS).filter(|at| state.documents[*at].operation == *by);
                match with_work.next() {
                    Some(at) => {
                        *from = at as u8 + 1;
                        self.apply(&mut next, process, at as u8)
                    }
                    None => {
                        next.open[process].pop();
                        At::Drains
                    }
                }
            }
            (At::Looks(from), _) => {
                let mut with_work =
                    (usize::from(from)..DOCUMENTS).filter(|at| state.documents[*at].operation != 0);
                match with_work.next() {
                    Some(at) => {
                        next.looked[process] = at as u8 + 1;
                        self.apply(&mut next, process, at as u8)
                    }
                    None => At::Done,
                }
            }
            (At::Pulls(marked), _) => At::Pulled(marked, state.documents[marked.read.to as usize]),
            (At::Pulled(marked, from), _) => {
                let (at, read) = (usize::from(marked.at), marked.read);
                let there = state.documents[at];
                let is_same = (read.b, read.c) == (from.a, from.b);
                let is_matched = if is_same {
                    there.copied == read.copied
                } else {
                    there.copied < from.version
                };
                let is_matched = there.to == read.to && is_matched;
                match (read.copied < from.version, is_same) {
                    (false, _) => {}
                    (true, true) if is_matched && !self.lacks(Safeguard::VersionOfTheSame) => {
                        next.documents[at].copied = from.version;
                    }
                    (true, true) => {}
                    (true, false) => {
                        let source = (read.to, &from);
                        self.write(&mut next, process, marked.at, source, true, marked.by);
                    }
                }
                if read.copied < from.version && !is_matched && !self.lacks(Safeguard::SecondLook) {
                    At::Again(marked)
                } else {
                    At::Delivers(marked, 0)
                }
            }
            (At::Again(marked), _) => {
                let read = state.documents[usize::from(marked.at)];
                let marked = Marked { read, ..marked };
                match (read.operation != 0, read.pending[ALL] != 0) {
                    (false, _) => At::Drains,
                    (true, true) => At::Pulls(marked),
                    (true, false) => At::Delivers(marked, 0),
                }
            }
            (At::Delivers(marked, to), _) => {
                if usize::from(to) < DOCUMENTS {
                    let all = marked.read.pending[ALL] != 0;
                    let source = (marked.at, &marked.read);
                    self.write(&mut next, process, to, source, all, marked.by);
                    At::Delivers(marked, to + 1)
                } else {
                    At::Clears(marked)
                }
            }
            (At::Clears(marked), _) => {
                let there = &mut next.documents[marked.at as usize];
                if (there.operation, there.pending) == (marked.read.operation, marked.read.pending) {
                    (there.operation, there.pending) = (0, [0; 2]);
                    next.open[process].push((marked.by, 0));
                    At::Drains
                } else {
                    At::Parts(marked, 0)
                }
            }
            (At::Parts(marked, kind), _) => {
                let there = &mut next.documents[marked.at as usize];
                match marked.read.pending.get(kind) {
                    Some(read) => {
                        let is_same = there.pending[kind] == *read || self.lacks(Safeguard::WriteInPart);
                        if *read != 0 && is_same {
                            there.pending[kind] = 0;
                        }
                        At::Parts(marked, kind + 1)
                    }
                    None => {
                        if there.pending == [0; 2] && !self.lacks(Safeguard::LastPart) {
                            there.operation = 0;
                        }
                        next.open[process].push((marked.by, 0));
                        At::Drains
                    }
                }
            }
            (At::Copies(_), _) => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    /// The documents after everybody has died and one recovery has run; `None` where it does not come to an end.
    fn recovered(&self, state: &State) -> Option<[Doc; DOCUMENTS]> {
        let known = || RECOVERED.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.without, state.documents);
        if let Some(recovered) = known().get(&key) {
            return *recovered;
        }
        let recovered = self.recover(state.documents);
        known().insert(key, recovered);
        recovered
    }

    fn recover(&self, documents: [Doc; DOCUMENTS]) -> Option<[Doc; DOCUMENTS]> {
        let mut state = State {
            documents,
            at: vec![At::Start; 4],
            names: vec![0; 4],
            open: vec![Vec::new(); 4],
            looked: vec![0; 4],
        };
        for _ in 0..STEPS {
            match self.step(&state, 3, Work::Recover) {
                Some(next) => state = next,
                None => return Some(state.documents),
            }
        }
        None
    }
}

fn are_true(documents: &[Doc; DOCUMENTS]) -> bool {
    documents.iter().all(|document| {
        let source = &documents[document.to as usize];
        (document.b, document.c) == (source.a, source.b)
    })
}

const RIGHT: &str = "after a recovery all copies of copies are right";
const REST: &str = "a recovery comes to an end, and no work is pending";
const QUIET: &str = "when all processes have returned, no work is pending";
const ALL_RETURN: &str = "all processes return";

impl Model for Passing {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let a = |at: u8| at + 1;
        let document = |at: usize| {
            let to = self.to[at];
            Doc {
                to,
                a: a(at as u8),
                b: a(to),
                c: a(self.to[to as usize]),
                version: 0,
                copied: 0,
                operation: 0,
                pending: [0; 2],
            }
        };
        vec![State {
            documents: [document(0), document(1), document(2)],
            at: vec![At::Start; self.processes.len()],
            names: vec![0; self.processes.len()],
            open: vec![Vec::new(); self.processes.len()],
            looked: vec![0; self.processes.len()],
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
            Property::always(RIGHT, |model: &Passing, state: &State| {
                model
                    .recovered(state)
                    .is_none_or(|documents| are_true(&documents))
            }),
            Property::always(REST, |model: &Passing, state: &State| {
                let recovered = model.recovered(state);
                recovered.is_some_and(|documents| documents.iter().all(|document| document.operation == 0))
            }),
            Property::always(QUIET, |_, state: &State| {
                state.at.iter().any(|at| *at != At::Done)
                    || state.documents.iter().all(|document| document.operation == 0)
                        && are_true(&state.documents)
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| {
                state.at.iter().all(|at| *at == At::Done)
            }),
        ]
    }
}

/// Two who change these documents.
fn updates(documents: [u8; 2], to: [u8; DOCUMENTS]) -> Passing {
    let update = |(document, value)| Work::Update { document, value };
    Passing {
        processes: documents.into_iter().zip([10, 20]).map(update).collect(),
        to,
        without: None,
    }
}

/// A document that refers to itself, and two that refer to it.
fn itself() -> Passing {
    updates([0, 0], [0, 0, 0])
}

/// Two that refer to each other, and one that refers to the first.
fn circle() -> Passing {
    updates([0, 1], [1, 0, 0])
}

/// One, to which another one refers, comes to refer to a third, which refers to itself.
fn pointing() -> Passing {
    Passing {
        processes: vec![
            Work::Point { document: 0, to: 1 },
            Work::Update {
                document: 1,
                value: 20,
            },
        ],
        to: [2, 1, 0],
        without: None,
    }
}

/// The same, where the source is given back the value that it had.
fn pointing_back() -> Passing {
    let back = Work::Update {
        document: 1,
        value: 2,
    };
    let pointing = pointing();
    Passing {
        processes: pointing.processes.into_iter().chain([back]).collect(),
        to: [2, 1, 1],
        ..pointing
    }
}

/// The same with a recovery in the place of the second process.
fn recovered(model: Passing) -> Passing {
    let first = model.processes.into_iter().take(1);
    Passing {
        processes: first.chain([Work::Recover]).collect(),
        ..model
    }
}

#[test]
fn copies_of_copies_come_to_rest() {
    for (two, one, model) in [
        (
            "passing on: a document that refers to itself, two writers",
            "passing on: a document that refers to itself, a writer, a recovery",
            itself(),
        ),
        (
            "passing on: two that refer to each other, two writers",
            "passing on: two that refer to each other, a writer, a recovery",
            circle(),
        ),
        (
            "passing on: a reference that is set, two writers",
            "passing on: a reference that is set, a writer, a recovery",
            pointing(),
        ),
    ] {
        holds(two, model.clone());
        holds(one, recovered(model));
    }
}

#[test]
fn each_safeguard_of_passing_on_is_needed() {
    let cases = [
        (
            "passing on by field names (the whole document is passed on)",
            circle(),
            Safeguard::Names,
            REST,
        ),
        ("passing on at all", circle(), Safeguard::PassingOn, RIGHT),
        (
            "write id in the filter that clears one entry",
            itself(),
            Safeguard::WriteInPart,
            RIGHT,
        ),
        (
            "removing pending work whose last entry was cleared",
            circle(),
            Safeguard::LastPart,
            QUIET,
        ),
        (
            "reading again what another process has pulled meanwhile",
            pointing(),
            Safeguard::SecondLook,
            RIGHT,
        ),
        (
            "raising the version of copies with the same values",
            pointing_back(),
            Safeguard::VersionOfTheSame,
            RIGHT,
        ),
        (
            "pull after a reference was set, with copies of copies",
            pointing(),
            Safeguard::PullOfTheWritten,
            RIGHT,
        ),
    ];
    for (name, model, safeguard, property) in cases {
        let without = Some(safeguard);
        fails(name, Passing { without, ..model }, property);
    }
}

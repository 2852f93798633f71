//! One-way references, and deletions of what they lead to: each write and each deletion looks twice, without a transaction.
//!
//! A document may refer to one other. A write adds a reference, and looks for its target before and after; a deletion looks for
//! references before and after. A write that has lost takes back what it did: it gives the document the reference that it had
//! before, or removes the document that it inserted. That is a write as well, and another client may have deleted meanwhile what
//! it restores, or have come to refer to what it removes. So it looks once more. Each step is one read or one atomic write of one
//! document; a query of many is a step, and an update of many is a step for each.
//!
//! The steps in the code: `Planned::checked()` with `exists::before()` (a write and its first look), `AfterWrites::run()` with
//! `Recheck::take_back()` (its last look, and the undoing); `Restricting::check()`, `erase()` and `restore_referenced()` (a deletion).
//!
//! A process that dies between its write and its last look may leave a reference that dangles, which an audit finds: what is asked
//! here is what is there when all have returned.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const DOCUMENTS: usize = 4;

/// The effect of a deletion on the references to the deleted document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    Nullify,
    Restrict,
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    SecondLookOfWrite,
    SecondLookOfDeletion,
    /// A reference that others have changed since is not taken back.
    OwnChangesOnly,
    LookAtRestored,
    LookBehindRemoved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// Sets the reference of a document.
    Write {
        document: u8,
        to: u8,
    },
    /// Inserts a document with a reference, or without one.
    Insert {
        document: u8,
        to: Option<u8>,
    },
    Delete {
        document: u8,
    },
}

/// The reference of a document.
type Reference = Option<u8>;

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read the document as it is before the write, and looks for the target.
    Looks(Reference),
    Writes(Reference),
    LooksAgain(Reference),
    /// Gives the document its previous reference.
    Restores(Reference),
    /// Looks for what it has restored.
    LooksAtRestored(u8),
    Empties(u8),
    /// Removes the document that it has inserted.
    Removes,
    /// Looks for references to the document, from this one on; the document is not deleted yet.
    Detaches(u8),
    Deletes,
    /// Looks whether the document is there again, if any refers to it; with the reference that it had.
    LooksBehind(Reference),
    /// The same from this document on: empties their references.
    Treats(u8),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// `None` where there is no such document.
    documents: [Option<Reference>; DOCUMENTS],
    at: Vec<At>,
    /// Whether taking back one write has undone another one: only the invariants know it.
    lost: bool,
}

#[derive(Clone, Debug)]
struct References {
    rule: Rule,
    documents: [Option<Reference>; DOCUMENTS],
    processes: Vec<Work>,
    without: Option<Safeguard>,
}

impl State {
    fn is_there(&self, document: u8) -> bool {
        self.documents[document as usize].is_some()
    }

    /// The first document from this one on that refers to it.
    fn referrer(&self, from: u8, to: u8) -> Option<u8> {
        (from..DOCUMENTS as u8).find(|at| self.documents[*at as usize] == Some(Some(to)))
    }

    /// Empties the references of the next document, and says where to go on.
    fn detach(&mut self, from: u8, to: u8) -> Option<u8> {
        let at = self.referrer(from, to)?;
        self.documents[at as usize] = Some(None);
        Some(at + 1)
    }
}

impl References {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    /// The next step of a process; `None` where it has returned.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let (Work::Write { document, .. } | Work::Insert { document, .. } | Work::Delete { document }) = work;
        let there = state.documents[document as usize];
        let own = &mut next.documents[document as usize];
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,

            (At::Start, Work::Write { .. }) => there.map_or(At::Done, At::Looks),
            (At::Looks(before), Work::Write { to, .. }) => {
                if state.is_there(to) {
                    At::Writes(before)
                } else {
                    // The reference is refused.
                    At::Done
                }
            }
            (At::Writes(before), Work::Write { to, .. }) => match there {
                Some(_) => {
                    *own = Some(Some(to));
                    At::LooksAgain(before)
                }
                None => At::Done,
            },
            (At::LooksAgain(before), Work::Write { to, .. }) => {
                if state.is_there(to) || self.lacks(Safeguard::SecondLookOfWrite) {
                    At::Done
                } else {
                    At::Restores(before)
                }
            }
            (At::Restores(before), Work::Write { to, .. }) => {
                let is_own =
                    there == Some(Some(to)) || there.is_some() && self.lacks(Safeguard::OwnChangesOnly);
                if is_own {
                    *own = Some(before);
                    next.lost |= there != Some(Some(to));
                }
                match before.filter(|_| is_own && !self.lacks(Safeguard::LookAtRestored)) {
                    Some(restored) => At::LooksAtRestored(restored),
                    None => At::Done,
                }
            }
            // Where a deletion is refused because of a reference, none has to be emptied by one.
            (At::LooksAtRestored(restored), _) if !state.is_there(restored) && self.rule == Rule::Nullify => {
                At::Empties(restored)
            }
            (At::LooksAtRestored(_), _) => At::Done,
            (At::Empties(restored), _) => {
                if there == Some(Some(restored)) {
                    *own = Some(None);
                }
                At::Done
            }

            (At::Start, Work::Insert { to: None, .. }) => {
                *own = there.or(Some(None));
                At::Done
            }
            (At::Start, Work::Insert { to: Some(to), .. }) => {
                if state.is_there(to) {
                    At::Writes(None)
                } else {
                    At::Done
                }
            }
            (At::Writes(_), Work::Insert { to, .. }) => match there {
                Some(_) => At::Done,
                None => {
                    *own = Some(to);
                    At::LooksAgain(None)
                }
            },
            (At::LooksAgain(_), Work::Insert { to, .. }) => {
                if to.is_some_and(|to| state.is_there(to)) {
                    At::Done
                } else {
                    At::Removes
                }
            }
            (At::Removes, _) => {
                *own = None;
                if self.rule == Rule::Nullify && !self.lacks(Safeguard::LookBehindRemoved) {
                    At::LooksBehind(None)
                } else {
                    At::Done
                }
            }

            (At::Start, Work::Delete { .. }) if self.rule == Rule::Restrict => {
                match state.referrer(0, document) {
                    Some(_) => At::Done,
                    None => At::Deletes,
                }
            }
            (At::Start, Work::Delete { .. }) => At::Detaches(0),
            (At::Detaches(from), _) => next.detach(from, document).map_or(At::Deletes, At::Detaches),
            (At::Deletes, _) => match there {
                Some(before) => {
                    *own = None;
                    if self.lacks(Safeguard::SecondLookOfDeletion) {
                        At::Done
                    } else {
                        At::LooksBehind(before)
                    }
                }
                // Another process was faster.
                None => At::Done,
            },
            (At::LooksBehind(before), _) => match (self.rule, there) {
                // A reference to one that is there again is right.
                (_, Some(_)) => At::Done,
                (Rule::Nullify, None) => At::Treats(0),
                (Rule::Restrict, None) => {
                    if state.referrer(0, document).is_some() {
                        // It is put back as it was.
                        *own = Some(before);
                    }
                    At::Done
                }
            },
            (At::Treats(from), _) => next.detach(from, document).map_or(At::Done, At::Treats),
            (At::Looks(_) | At::Writes(_) | At::LooksAgain(_) | At::Restores(_), _) => return None,
        };
        next.at[process] = at;
        Some(next)
    }
}

const NOTHING_DANGLES: &str = "when all have returned, nothing refers to what is gone";
const NOTHING_LOST: &str = "taking back a write undoes no other one";
const ALL_RETURN: &str = "all processes return";

impl State {
    fn has_returned(&self) -> bool {
        self.at.iter().all(|at| *at == At::Done)
    }
}

impl Model for References {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            documents: self.documents,
            at: vec![At::Start; self.processes.len()],
            lost: false,
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
            Property::always(NOTHING_DANGLES, |_, state: &State| {
                let mut named = state.documents.iter().flatten().flatten();
                !state.has_returned() || named.all(|to| state.is_there(*to))
            }),
            Property::always(NOTHING_LOST, |_, state: &State| !state.lost),
            Property::sometimes(ALL_RETURN, |_, state: &State| state.has_returned()),
        ]
    }
}

/// Documents to which nothing refers, and the last one with this reference.
const fn beside(reference: Reference) -> [Option<Reference>; DOCUMENTS] {
    [Some(None), Some(None), Some(None), Some(reference)]
}

const fn write(to: u8) -> Work {
    Work::Write { document: 3, to }
}

const fn delete(document: u8) -> Work {
    Work::Delete { document }
}

fn model(rule: Rule, documents: [Option<Reference>; DOCUMENTS], processes: &[Work]) -> References {
    References {
        rule,
        documents,
        processes: processes.to_vec(),
        without: None,
    }
}

/// One write, and a deletion of what it refers to.
fn two(rule: Rule) -> References {
    model(rule, beside(None), &[write(1), delete(1)])
}

/// A write takes the place of a reference, and both targets are deleted.
fn replaced(rule: Rule) -> References {
    model(rule, beside(Some(0)), &[write(1), delete(0), delete(1)])
}

/// The same of two writes of one document.
fn overwritten(rule: Rule) -> References {
    model(rule, beside(None), &[write(1), write(2), delete(1), delete(2)])
}

/// A document is inserted, another one comes to refer to it, and what the first one refers to is deleted.
fn inserted(rule: Rule) -> References {
    let insert = Work::Insert {
        document: 1,
        to: Some(0),
    };
    let documents = [Some(None), None, None, Some(None)];
    model(rule, documents, &[insert, write(1), delete(0)])
}

/// A document is deleted twice, and inserted again, while another one comes to refer to it.
fn repeated(rule: Rule) -> References {
    let insert = Work::Insert {
        document: 1,
        to: None,
    };
    model(rule, beside(None), &[write(1), delete(1), delete(1), insert])
}

/// A document that refers to another one is deleted, and so is the other one, while a third comes to refer to the first.
fn put_back() -> References {
    let documents = [Some(None), Some(Some(0)), None, Some(None)];
    model(Rule::Restrict, documents, &[write(1), delete(1), delete(0)])
}

#[test]
fn nothing_dangles_between_writes_and_deletions() {
    holds(
        "references: a write, a deletion of its target, which is refused",
        two(Rule::Restrict),
    );
    holds(
        "references: a write, two deletions of its target, which is reinserted, refused",
        repeated(Rule::Restrict),
    );
    holds(
        "references: a write, a deletion of its target",
        two(Rule::Nullify),
    );
    holds(
        "references: a write replaces a reference, both targets are deleted",
        replaced(Rule::Nullify),
    );
    holds(
        "references: two writes of one reference, both targets are deleted",
        overwritten(Rule::Nullify),
    );
    holds(
        "references: an insert, a write that refers to it, its own target is deleted",
        inserted(Rule::Nullify),
    );
    holds(
        "references: a write, two deletions of its target, which is reinserted",
        repeated(Rule::Nullify),
    );
}

#[test]
fn each_look_of_writes_and_deletions_is_needed() {
    let cases = [
        (
            "second check of a write",
            two(Rule::Nullify),
            Safeguard::SecondLookOfWrite,
            NOTHING_DANGLES,
        ),
        (
            "second check of a deletion",
            two(Rule::Nullify),
            Safeguard::SecondLookOfDeletion,
            NOTHING_DANGLES,
        ),
        (
            "second check of a deletion, with restrict",
            two(Rule::Restrict),
            Safeguard::SecondLookOfDeletion,
            NOTHING_DANGLES,
        ),
        (
            "leaving a reference that others have changed, when a write is undone",
            overwritten(Rule::Nullify),
            Safeguard::OwnChangesOnly,
            NOTHING_LOST,
        ),
        (
            "checking a reference that an undone write restores",
            replaced(Rule::Nullify),
            Safeguard::LookAtRestored,
            NOTHING_DANGLES,
        ),
        (
            "checking a reference that an undone write restores, with two writes",
            overwritten(Rule::Nullify),
            Safeguard::LookAtRestored,
            NOTHING_DANGLES,
        ),
        (
            "searching for references to a document whose insert is undone",
            inserted(Rule::Nullify),
            Safeguard::LookBehindRemoved,
            NOTHING_DANGLES,
        ),
    ];
    for (name, mut model, safeguard, property) in cases {
        model.without = Some(safeguard);
        fails(name, model, property);
    }
}

/// Where references hold deletions back, there is nothing right to do about one that dangles when all have looked: an audit finds it.
#[test]
fn three_clients_may_leave_a_reference_that_restricts() {
    for (name, model) in [
        ("an answer, where a write is taken back", replaced(Rule::Restrict)),
        (
            "an answer, where one of two writes is taken back",
            overwritten(Rule::Restrict),
        ),
        ("an answer, where an insert is undone", inserted(Rule::Restrict)),
        ("an answer, where a document is put back", put_back()),
    ] {
        fails(name, model, NOTHING_DANGLES);
    }
}

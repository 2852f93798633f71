//! A deletion that detaches the children of its target, and meets writes that refer to the target.
//!
//! A target has children, which a deletion detaches one after the other, and a number that is computed of them. One more
//! reference to it restricts its deletion. A deletion looks for that reference, detaches the children, deletes the target, and
//! looks again: it restores the target, or detaches those children that have come meanwhile. A write of the reference looks
//! for the target before and after. A child comes in a transaction that changes the target's number. Another client may insert
//! the target again.
//!
//! The values that the target derives of a detached child are derived anew in the transaction that detaches it (`Kept`), or are pending work
//! in the target, which that transaction records (`Pending`). A standalone server has no such transaction: a note about the
//! target is stored before (`Alone`).
//!
//! The steps in the code: `DeletionWalk::step()` with `Restricting::check()`, `Detachment::apply()`, `erase()`, `restore_referenced()`,
//! `apply_late()` and `renew()`; `Planned::checked()` and `AfterWrites::run()` (the write of the reference),
//! `children::update_parents()` (the child that comes), `children::refresh()` and `pending::clear()` (a recovery).
//!
//! Left out: several deletions of one target, and what comes to a target that is restored after it was looked for
//! (see "What is not promised").

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const CHILDREN: usize = 2;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `State::Look`: a deletion looks for references again.
    LookAfterDeletion,
    /// `Recheck::after_writes`: a write looks for the target again.
    LookAfterWrite,
    /// `State::After`: a deletion detaches those that came meanwhile.
    DetachAgain,
    /// `on_delete::again`: a target is restored with nothing in its derived fields, and with pending work.
    RestoredWithWork,
    /// `Parents::Derived`: a child is detached and its parent derived in one transaction.
    OneTransaction,
    /// `Effects::derive_left` derives the parent anew, instead of taking the child away from what it has.
    Anew,
    /// `Parents::Pending`: the transaction that detaches a child records the pending work, not one before it.
    WorkInTransaction,
    /// `pending::clear`: work is cleared if it is what was read.
    TokenWhenCleared,
    /// `DeferredWork::note_parents`, before the children are detached.
    NoteBefore,
    /// `DeletionWalk::renew`: what refers to a target that is there again is derived again.
    Renewed,
}

/// What becomes of the target's number when a child is detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Kept,
    Pending,
    Alone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Delete,
    /// Writes the reference that restricts a deletion.
    Refer,
    /// This child comes to name the target.
    Come(usize),
    /// Inserts the target, if it is not there.
    Insert,
    /// Applies pending work, and notes.
    Recover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// A note, or pending work, is stored before the children are detached.
    Announces,
    Detaches(usize),
    /// Derives the target, after this child was detached.
    Derives(usize),
    Deletes,
    LooksAgain,
    /// Looks whether this child has come meanwhile.
    Late(usize),
    /// The target was not there for it.
    DetachesLate(usize),
    /// A write of the reference has seen the target.
    Writes,
    HasWritten,
    Drains {
        refused: bool,
    },
    /// The pending work that was read, the revision, and the number of children.
    Read {
        refused: bool,
        token: u8,
        revision: u8,
        number: i8,
    },
    Clears {
        refused: bool,
        token: u8,
    },
    Done {
        refused: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Target {
    number: i8,
    revision: u8,
    /// The token of its pending work; 0 where it has none.
    pending: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    target: Option<Target>,
    /// Whether each child names it.
    children: [bool; CHILDREN],
    /// Whether the reference that restricts a deletion is stored.
    restricting: bool,
    /// Whether a note says that the target is to be derived anew.
    note: bool,
    /// The target's number as the deletion has read it.
    read: i8,
    /// The last token, and the last revision of a new target.
    last: u8,
    at: Vec<At>,
}

impl State {
    fn named(&self) -> i8 {
        self.children.iter().map(|names| i8::from(*names)).sum()
    }

    fn new_token(&mut self) -> u8 {
        self.last += 1;
        self.last
    }

    /// Records pending work in the target, if it is there.
    fn record(&mut self) {
        let token = self.new_token();
        if let Some(target) = &mut self.target {
            target.pending = token;
        }
    }

    fn derive(&mut self, number: i8) {
        if let Some(target) = &mut self.target {
            target.number = number;
            target.revision += 1;
        }
    }

    fn insert(&mut self, number: i8, is_pending: bool) {
        let revision = self.new_token().saturating_mul(16);
        let pending = if is_pending { self.new_token() } else { 0 };
        self.target = Some(Target {
            number,
            revision,
            pending,
        });
    }

    /// Whether the number is that of the children.
    fn is_right(&self) -> bool {
        self.target.is_none_or(|target| target.number == self.named())
    }

    fn has_work(&self) -> bool {
        self.note || self.target.is_some_and(|target| target.pending != 0)
    }
}

#[derive(Clone, Debug)]
struct Deletions {
    mode: Mode,
    children: [bool; CHILDREN],
    processes: Vec<Work>,
    without: Option<Safeguard>,
}

impl Deletions {
    fn has(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    /// The next step of a process; `None` where it has returned, or has nothing to do.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        next.at[process] = match (state.at[process], work) {
            (At::Done { .. }, _) => return None,
            (At::Start, Work::Delete) => match state.target {
                None => At::Done { refused: false },
                Some(_) if state.restricting => At::Done { refused: true },
                Some(target) => {
                    next.read = target.number;
                    let announces = match self.mode {
                        Mode::Kept => false,
                        Mode::Pending => !self.has(Safeguard::WorkInTransaction),
                        Mode::Alone => self.has(Safeguard::NoteBefore),
                    };
                    if announces { At::Announces } else { At::Detaches(0) }
                }
            },
            (At::Announces, _) => {
                match self.mode {
                    Mode::Alone => next.note = true,
                    Mode::Kept | Mode::Pending => next.record(),
                }
                At::Detaches(0)
            }
            (At::Detaches(child), _) if child < CHILDREN => {
                if self.detach(&mut next, child) && !self.has(Safeguard::OneTransaction) {
                    At::Derives(child)
                } else {
                    At::Detaches(child + 1)
                }
            }
            (At::Derives(child), _) => {
                let number = state.named();
                next.derive(number);
                At::Detaches(child + 1)
            }
            (At::Detaches(_), _) => At::Deletes,
            (At::Deletes, _) => {
                next.target = None;
                if self.has(Safeguard::LookAfterDeletion) {
                    At::LooksAgain
                } else {
                    At::Late(0)
                }
            }
            (At::LooksAgain, _) if state.restricting => {
                if state.target.is_none() {
                    if self.has(Safeguard::RestoredWithWork) {
                        next.insert(0, true);
                    } else {
                        next.insert(state.read, false);
                    }
                }
                At::Drains { refused: true }
            }
            (At::LooksAgain, _) => At::Late(0),
            (At::Late(child), _) if child < CHILDREN => {
                if !state.children[child] || !self.has(Safeguard::DetachAgain) {
                    At::Late(child + 1)
                } else if state.target.is_none() {
                    At::DetachesLate(child)
                } else {
                    // The child itself gets the pending work, for its parent.
                    if self.has(Safeguard::Renewed) {
                        next.record();
                    }
                    At::Late(child + 1)
                }
            }
            (At::DetachesLate(child), _) => {
                self.detach(&mut next, child);
                At::Late(child + 1)
            }
            (At::Late(_), _) => At::Drains { refused: false },
            (At::Start, Work::Refer) => match state.target {
                Some(_) => At::Writes,
                None => At::Done { refused: true },
            },
            (At::Writes, _) => {
                next.restricting = true;
                if self.has(Safeguard::LookAfterWrite) {
                    At::HasWritten
                } else {
                    At::Done { refused: false }
                }
            }
            (At::HasWritten, _) => {
                next.restricting = state.target.is_some();
                At::Done {
                    refused: !next.restricting,
                }
            }
            (At::Start, Work::Come(child)) => match state.target {
                Some(target) => {
                    next.children[child] = true;
                    next.derive(target.number + 1);
                    At::Done { refused: false }
                }
                None => At::Done { refused: true },
            },
            (At::Start, Work::Insert) => {
                if state.target.is_none() {
                    next.insert(0, false);
                }
                At::Done {
                    refused: state.target.is_some(),
                }
            }
            (At::Start, Work::Recover) if !state.has_work() => return None,
            (At::Start, Work::Recover) => At::Drains { refused: false },
            (At::Drains { refused }, _) => match state.target {
                _ if !state.has_work() => At::Done { refused },
                None => At::Clears { refused, token: 0 },
                Some(target) => At::Read {
                    refused,
                    token: target.pending,
                    revision: target.revision,
                    number: state.named(),
                },
            },
            (
                At::Read {
                    refused,
                    token,
                    revision,
                    number,
                },
                _,
            ) => {
                if state.target.is_some_and(|target| target.revision == revision) {
                    next.derive(number);
                    At::Clears { refused, token }
                } else {
                    At::Drains { refused }
                }
            }
            (At::Clears { refused, token }, _) => {
                next.note = false;
                if let Some(target) = &mut next.target
                    && (target.pending == token || !self.has(Safeguard::TokenWhenCleared))
                {
                    target.pending = 0;
                }
                At::Done { refused }
            }
        };
        Some(next)
    }

    /// Detaches a child. Returns whether it named the target.
    fn detach(&self, state: &mut State, child: usize) -> bool {
        if !state.children[child] {
            return false;
        }
        state.children[child] = false;
        let named = state.named();
        match (self.mode, state.target) {
            (Mode::Kept, Some(_)) if !self.has(Safeguard::OneTransaction) => {}
            (Mode::Kept, Some(_)) if self.has(Safeguard::Anew) => state.derive(named),
            (Mode::Kept, Some(target)) => state.derive(target.number - 1),
            (Mode::Pending, Some(_)) if self.has(Safeguard::WorkInTransaction) => state.record(),
            _ => {}
        }
        true
    }

    /// Whether the number is right after all have died where they are, and a recovery has run.
    fn is_right_after_recovery(&self, state: &State) -> bool {
        state.has_work() || state.is_right()
    }

    /// Whether all have returned: a recovery need not have found anything.
    fn have_returned(&self, state: &State) -> bool {
        let mut all = state.at.iter().zip(&self.processes);
        all.all(|(at, work)| matches!(at, At::Done { .. }) || *work == Work::Recover)
    }

    /// Whether the target is inserted again: a deletion that dies before it has looked again leaves what refers to it.
    fn comes_again(&self) -> bool {
        self.processes.contains(&Work::Insert)
    }
}

const NOTHING_DANGLES: &str = "when all have returned, nothing refers to a missing target";
const STAYS: &str = "a target whose deletion was refused is there";
const RIGHT: &str = "after a recovery, the number is that of the children";
const SEEN: &str = "whatever is seen, the number is right or work is pending";
const AT_THE_END: &str = "when all have returned, the number is right";
const DELETED: &str = "the target is deleted";

impl Model for Deletions {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let named = self.children.iter().map(|names| i8::from(*names)).sum();
        vec![State {
            target: Some(Target {
                number: named,
                revision: 0,
                pending: 0,
            }),
            children: self.children,
            restricting: false,
            note: false,
            read: 0,
            last: 0,
            at: vec![At::Start; self.processes.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let all = state.at.iter().zip(&self.processes).enumerate();
        actions.extend(all.map(|(process, (at, work))| (process, *work, *at)));
    }

    fn next_state(&self, state: &State, action: Self::Action) -> Option<State> {
        self.step(state, action.0, action.1)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NOTHING_DANGLES, |model: &Deletions, state: &State| {
                let refers = state.restricting || state.named() > 0;
                !model.have_returned(state) || state.target.is_some() || !refers
            }),
            Property::always(STAYS, |model: &Deletions, state: &State| {
                let mut all = state.at.iter().zip(&model.processes);
                let refused =
                    all.any(|(at, work)| *work == Work::Delete && *at == At::Done { refused: true });
                !refused || state.target.is_some()
            }),
            Property::always(RIGHT, |model: &Deletions, state: &State| {
                model.comes_again() || model.is_right_after_recovery(state)
            }),
            // On a standalone server a child and its parent are two statements.
            Property::always(SEEN, |model: &Deletions, state: &State| {
                model.comes_again() || model.mode == Mode::Alone || state.is_right() || state.has_work()
            }),
            Property::always(AT_THE_END, |model: &Deletions, state: &State| {
                !model.have_returned(state) || model.is_right_after_recovery(state)
            }),
            Property::sometimes(DELETED, |model: &Deletions, state: &State| {
                model.have_returned(state) && state.target.is_none()
            }),
        ]
    }
}

/// A deletion of a target with a child, a write that refers to it, another child, and a recovery.
fn refused(mode: Mode) -> Deletions {
    Deletions {
        mode,
        children: [true, false],
        processes: vec![Work::Delete, Work::Refer, Work::Come(1), Work::Recover],
        without: None,
    }
}

/// A deletion of a target with two children, and recoveries.
fn dying(mode: Mode) -> Deletions {
    Deletions {
        mode,
        children: [true, true],
        processes: vec![Work::Delete, Work::Refer, Work::Recover, Work::Recover],
        without: None,
    }
}

/// A deletion of a target with a child, to which another child comes, and which another client inserts again.
fn again(mode: Mode) -> Deletions {
    Deletions {
        mode,
        children: [true, false],
        processes: vec![Work::Delete, Work::Come(1), Work::Insert, Work::Recover],
        without: None,
    }
}

/// A deletion on a standalone server, where no other process applies the note before it is done.
fn alone() -> Deletions {
    Deletions {
        mode: Mode::Alone,
        children: [true, true],
        processes: vec![Work::Delete, Work::Refer],
        without: None,
    }
}

#[test]
fn a_deletion_that_detaches_children() {
    for (name, model) in [
        (
            "deletions: a restricting reference, a new child; derived in the transaction",
            refused(Mode::Kept),
        ),
        (
            "deletions: a restricting reference, a new child; derived later",
            refused(Mode::Pending),
        ),
        (
            "deletions: two children, two recoveries; derived in the transaction",
            dying(Mode::Kept),
        ),
        (
            "deletions: two children, two recoveries; derived later",
            dying(Mode::Pending),
        ),
        (
            "deletions: the target is reinserted; derived in the transaction",
            again(Mode::Kept),
        ),
        (
            "deletions: the target is reinserted; derived later",
            again(Mode::Pending),
        ),
        ("deletions: a standalone server", alone()),
    ] {
        holds(name, model);
    }
}

#[test]
fn each_safeguard_of_a_deletion_is_needed() {
    for (name, safeguard, model, property) in [
        (
            "search for references after a deletion",
            Safeguard::LookAfterDeletion,
            refused(Mode::Kept),
            NOTHING_DANGLES,
        ),
        (
            "check of the target after a write",
            Safeguard::LookAfterWrite,
            refused(Mode::Kept),
            NOTHING_DANGLES,
        ),
        (
            "detaching children written during a deletion",
            Safeguard::DetachAgain,
            refused(Mode::Kept),
            NOTHING_DANGLES,
        ),
        (
            "pending work of a restored target",
            Safeguard::RestoredWithWork,
            refused(Mode::Kept),
            RIGHT,
        ),
        (
            "detaching a child and deriving its parent in one transaction",
            Safeguard::OneTransaction,
            refused(Mode::Kept),
            SEEN,
        ),
        (
            "deriving the parent of a detached child anew",
            Safeguard::Anew,
            again(Mode::Kept),
            AT_THE_END,
        ),
        (
            "parent's pending work in the transaction that detaches its child",
            Safeguard::WorkInTransaction,
            dying(Mode::Pending),
            RIGHT,
        ),
        (
            "ids in the filter that clears a parent's pending work",
            Safeguard::TokenWhenCleared,
            dying(Mode::Pending),
            RIGHT,
        ),
        (
            "entry for a parent before its children are detached",
            Safeguard::NoteBefore,
            alone(),
            RIGHT,
        ),
        (
            "deriving again what refers to a reinserted target",
            Safeguard::Renewed,
            again(Mode::Kept),
            AT_THE_END,
        ),
    ] {
        let without = Some(safeguard);
        fails(name, Deletions { without, ..model }, property);
    }
}

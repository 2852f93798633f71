//! Two-way references where there are transactions, out-of-band writes of one side, and reconcilers that follow the change
//! stream.
//!
//! One link between two documents. Transactions make it or take it away from either side: each takes its view, writes its own
//! document, then the other one, and commits; a document that was written since the view makes it begin again, and one that it
//! has written is written by no other process before it ends. An out-of-band write changes one side, and so does a repair by a
//! reconciler. Each of these writes is a change in the stream. A reconciler takes up the changes, reads the one document, then
//! the other one, repairs the side that is not believed where they differ, and stores its place, at which all reconcilers that
//! begin later go on. It does not read again after its write, as `odm` does: its write is a change.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

/// The owner's side, which is believed, and the other one.
const SIDES: usize = 2;
const OWNER: usize = 0;
const OTHER: usize = 1;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// A transaction writes also a document that is right already.
    WriteAll,
    /// A reconciler's repair is taken up as any other change.
    RepairIsAChange,
    /// The place is stored behind what was applied.
    PlaceBehind,
    /// The changes of other writers are taken up at all.
    Follow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// A transaction that was asked for on this side, and makes the link or takes it away.
    Library {
        side: usize,
        link: bool,
    },
    /// An out-of-band write of one side.
    Other {
        side: usize,
        link: bool,
    },
    Reconciler,
}

/// Of the two documents: whether each names the other, and how often it was written.
type Documents = [(bool, u8); SIDES];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// In a transaction with this view, and the number of documents that it has written.
    Within(Documents, u8),
    /// The changes up to this one are taken up.
    Takes(u8),
    /// The owner's side was read.
    Reads(u8, bool),
    /// The other side is to become this.
    Repairs(u8, bool),
    Stores(u8),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: Documents,
    /// Which process has written a document in its open transaction.
    locks: [Option<usize>; SIDES],
    /// How many changes there are in the stream.
    changes: u8,
    /// Where a reconciler begins.
    place: u8,
    /// How far each process has come in the stream.
    passed: Vec<u8>,
    at: Vec<At>,
}

#[derive(Clone, Debug)]
struct Followed {
    documents: [bool; SIDES],
    processes: Vec<Work>,
    without: Option<Safeguard>,
}

impl Followed {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    /// The next step of a process; `None` where it has returned, does nothing, or waits.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Library { .. }) => At::Within(state.documents, 0),
            (At::Within(view, written), Work::Library { side, link }) if usize::from(written) < SIDES => {
                let own = written == 0;
                let document = if own { side } else { 1 - side };
                // Where its own document is as it is to be, nothing is asked of the other one; one that is right already is
                // written all the same.
                let is_written = own
                    || view[side].0 != link && (view[document].0 != link || !self.lacks(Safeguard::WriteAll));
                match state.locks[document] {
                    _ if !is_written => At::Within(view, written + 1),
                    // Another transaction has written it, or somebody since the view: it begins again.
                    Some(_) => self.rolled_back(&mut next, process),
                    None if state.documents[document].1 != view[document].1 => {
                        self.rolled_back(&mut next, process)
                    }
                    None => {
                        next.locks[document] = Some(process);
                        At::Within(view, written + 1)
                    }
                }
            }
            (At::Within(..), Work::Library { link, .. }) => {
                for (document, lock) in next.documents.iter_mut().zip(&mut next.locks) {
                    if *lock == Some(process) {
                        (*document, *lock) = ((link, document.1 + 1), None);
                    }
                }
                At::Done
            }
            (_, Work::Other { side, link }) => {
                next.write(side, link, true)?;
                At::Done
            }
            (At::Start, Work::Reconciler) => {
                if state.passed[process] == state.changes || self.lacks(Safeguard::Follow) {
                    return None;
                }
                if self.lacks(Safeguard::PlaceBehind) {
                    next.place = state.changes;
                }
                At::Takes(state.changes)
            }
            (At::Takes(to), _) => At::Reads(to, state.documents[OWNER].0),
            (At::Reads(to, owner), _) => {
                if state.documents[OTHER].0 == owner {
                    At::Stores(to)
                } else {
                    At::Repairs(to, owner)
                }
            }
            (At::Repairs(to, link), _) => {
                next.write(OTHER, link, !self.lacks(Safeguard::RepairIsAChange))?;
                At::Stores(to)
            }
            (At::Stores(to), _) => {
                next.passed[process] = to;
                if !self.lacks(Safeguard::PlaceBehind) {
                    next.place = to;
                }
                At::Start
            }
            (At::Within(..), _) => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    fn rolled_back(&self, state: &mut State, process: usize) -> At {
        for lock in &mut state.locks {
            *lock = lock.filter(|by| *by != process);
        }
        At::Start
    }

    /// The state after everybody has died, their transactions have been rolled back, and one reconciler has gone on at the
    /// place that is stored, up to the end of the stream.
    fn caught_up(&self, state: &State) -> State {
        let process = self.processes.len();
        let mut state = state.clone();
        state.locks = [None; SIDES];
        state.at = vec![At::Done; process];
        state.at.push(At::Start);
        state.passed.push(state.place);
        while let Some(next) = self.step(&state, process, Work::Reconciler) {
            state = next;
        }
        state
    }
}

impl State {
    /// A write outside a transaction; `None` where it has to wait for one. One that changes nothing is no change.
    fn write(&mut self, side: usize, link: bool, is_change: bool) -> Option<()> {
        if self.locks[side].is_some() {
            return None;
        }
        if self.documents[side].0 != link {
            self.documents[side] = (link, self.documents[side].1 + 1);
            self.changes += u8::from(is_change);
        }
        Some(())
    }
}

const AGREE: &str = "when the stream was followed to its end, both sides agree";

impl Model for Followed {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let processes = self.processes.len();
        // A difference that is there at the beginning is the change of an out-of-band write.
        let changes = u8::from(self.documents[OWNER] != self.documents[OTHER]);
        vec![State {
            documents: self.documents.map(|names| (names, 0)),
            locks: [None; SIDES],
            changes,
            place: 0,
            passed: vec![0; processes],
            at: vec![At::Start; processes],
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
        vec![Property::always(AGREE, |model: &Followed, state: &State| {
            let [owner, other] = model.caught_up(state).documents;
            owner.0 == other.0
        })]
    }
}

const LINKS: bool = true;
const UNLINKS: bool = false;

fn library(side: usize, link: bool) -> Work {
    Work::Library { side, link }
}

fn other(side: usize, link: bool) -> Work {
    Work::Other { side, link }
}

/// These processes beside a number of reconcilers; the link is there on both sides or on one.
fn beside(reconcilers: usize, documents: [bool; SIDES], processes: &[Work]) -> Followed {
    let reconcilers = std::iter::repeat_n(Work::Reconciler, reconcilers);
    Followed {
        documents,
        processes: processes.iter().copied().chain(reconcilers).collect(),
        without: None,
    }
}

/// A link that was just made on one side, a transaction that takes it away there, and another writer who makes it on the other.
fn crossed() -> Followed {
    beside(
        2,
        [true, false],
        &[
            library(OWNER, UNLINKS),
            other(OTHER, LINKS),
            other(OTHER, UNLINKS),
        ],
    )
}

#[test]
fn out_of_band_links_are_followed() {
    holds(
        "followed: out-of-band writes of both sides of a link, a transaction unlinks it",
        crossed(),
    );
    holds(
        "followed: out-of-band writes unlink it on each side, a transaction links it",
        beside(
            2,
            [true, true],
            &[
                other(OWNER, UNLINKS),
                other(OTHER, UNLINKS),
                library(OTHER, LINKS),
            ],
        ),
    );
    holds(
        "followed: two transactions, two out-of-band writes, one reconciler",
        beside(
            1,
            [false, true],
            &[
                library(OWNER, LINKS),
                library(OTHER, UNLINKS),
                other(OWNER, LINKS),
                other(OWNER, UNLINKS),
            ],
        ),
    );
}

#[test]
fn each_rule_for_out_of_band_links_is_needed() {
    let cases = [
        ("handling out-of-band writes at all", Safeguard::Follow),
        (
            "storing the resume token after the change was applied",
            Safeguard::PlaceBehind,
        ),
        (
            "writing documents that are right already, in a transaction",
            Safeguard::WriteAll,
        ),
        (
            "handling the repairs of a reconciler as changes",
            Safeguard::RepairIsAChange,
        ),
    ];
    for (name, safeguard) in cases {
        let without = Some(safeguard);
        fails(name, Followed { without, ..crossed() }, AGREE);
    }
}

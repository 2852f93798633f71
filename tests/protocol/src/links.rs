//! A two-way reference without transactions: one link between two documents, each of which says whether it names the other.
//!
//! The first document is on the side that is believed. A link is written there last, and taken away there first.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

/// The side that is believed.
const BELIEVED: usize = 0;
const OTHER: usize = 1;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    MarkOfFirst,
    MarkOfSecond,
    LookAtTheEnd,
    LookAfterMend,
    MarkOfMend,
    NewMarkOfMend,
    OwnMarksOnly,
    Recovery,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Writes of one document that it names the other, or names it no more, and whatever follows from that.
    Write {
        side: usize,
        names: bool,
    },
    Recover,
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// So many of the two sides have been written.
    Writes(u8),
    /// Reads both sides, one after the other; what it saw of the first one.
    Looks(Option<bool>),
    /// Lets the other side follow.
    Mends(bool),
    /// Removes its own marks, from one side after the other.
    Unmarks(usize),
    /// Goes through the documents for marks.
    Searches(usize),
    /// Has found these marks in a document, which says this.
    Found(usize, u32, bool),
    /// Removes the marks that it has found.
    StrikesOut,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    names: [bool; 2],
    /// The tokens in each document: a bit for each.
    marks: [u32; 2],
    at: Vec<At>,
    /// The tokens of each process.
    own: Vec<u32>,
    /// How many tokens there have been.
    tokens: u8,
    /// What a recovery has found: in which document, which tokens.
    found: Vec<(usize, u32)>,
}

#[derive(Clone, Debug)]
struct Links {
    processes: Vec<Work>,
    linked: bool,
    without: Option<Safeguard>,
}

impl Links {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Write { side, names }) if state.names[side] == names => {
                // No link is made or taken away; the document is written all the same.
                next.marks[side] |= next.token(process);
                At::Unmarks(0)
            }
            (At::Start, Work::Write { .. }) => {
                next.token(process);
                At::Writes(0)
            }
            (At::Writes(nth), Work::Write { names, .. }) => {
                let order = if names {
                    [OTHER, BELIEVED]
                } else {
                    [BELIEVED, OTHER]
                };
                let side = order[usize::from(nth)];
                next.names[side] = names;
                let safeguard = [Safeguard::MarkOfFirst, Safeguard::MarkOfSecond][usize::from(nth)];
                if !self.lacks(safeguard) {
                    next.marks[side] |= state.own[process];
                }
                match nth {
                    0 => At::Writes(1),
                    _ if self.lacks(Safeguard::LookAtTheEnd) => At::Unmarks(0),
                    _ => At::Looks(None),
                }
            }
            (At::Looks(None), _) => At::Looks(Some(state.names[BELIEVED])),
            (At::Looks(Some(believed)), _) => match state.names[OTHER] == believed {
                true => At::Unmarks(0),
                false => At::Mends(believed),
            },
            (At::Mends(believed), _) => {
                if state.names[OTHER] != believed {
                    next.names[OTHER] = believed;
                    if self.lacks(Safeguard::NewMarkOfMend) && state.own[process] != 0 {
                        next.marks[OTHER] |= state.own[process];
                    } else if !self.lacks(Safeguard::MarkOfMend) {
                        next.marks[OTHER] |= next.token(process);
                    }
                }
                match self.lacks(Safeguard::LookAfterMend) {
                    true => At::Unmarks(0),
                    false => At::Looks(None),
                }
            }
            (At::Unmarks(side), _) => {
                let gone = if self.lacks(Safeguard::OwnMarksOnly) {
                    u32::MAX
                } else {
                    state.own[process]
                };
                next.marks[side] &= !gone;
                match (side, work) {
                    (BELIEVED, _) => At::Unmarks(OTHER),
                    (_, Work::Recover) => At::StrikesOut,
                    (_, Work::Write { .. }) => At::Done,
                }
            }
            (At::Start, Work::Recover) => At::Searches(0),
            (At::Searches(side), _) => match state.marks.get(side) {
                None => At::Done,
                Some(0) => At::Searches(side + 1),
                Some(marks) => At::Found(side, *marks, state.names[side]),
            },
            (At::Found(side, marks, names), _) => {
                next.found[process] = (side, marks);
                match state.names[1 - side] == names {
                    true => At::StrikesOut,
                    // They are read again before anything is mended.
                    false => At::Looks(None),
                }
            }
            (At::StrikesOut, _) => {
                let (side, marks) = state.found[process];
                next.found[process] = (0, 0);
                next.marks[side] &= !marks;
                At::Searches(side + 1)
            }
            (at, work) => unreachable!("{at:?} of {work:?}"),
        };
        next.at[process] = at;
        Some(next)
    }

    /// What becomes of a state when all processes are dead, and one recovers.
    fn recovered(&self, state: &State) -> State {
        let mut model = self.clone();
        model.processes.push(Work::Recover);
        let mut state = state.clone();
        state.at.push(At::Start);
        state.own.push(0);
        state.found.push((0, 0));
        let process = self.processes.len();
        if !self.lacks(Safeguard::Recovery) {
            while let Some(next) = model.step(&state, process, Work::Recover) {
                state = next;
            }
        }
        state
    }
}

impl State {
    /// A token that no other write has.
    fn token(&mut self, process: usize) -> u32 {
        let token = 1 << self.tokens;
        self.tokens += 1;
        self.own[process] |= token;
        token
    }

    fn agrees(&self) -> bool {
        self.names[BELIEVED] == self.names[OTHER]
    }
}

const AT_THE_END: &str = "after a crash and a recovery, both sides agree and nothing is marked";
const RETURNED: &str = "when all have returned, both sides agree and nothing is marked";
const ALL_RETURN: &str = "all processes return";
const ALONE: &str = "an operation that returns and meets nobody has done what it was asked";

impl Model for Links {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            names: [self.linked; 2],
            marks: [0; 2],
            at: vec![At::Start; self.processes.len()],
            own: vec![0; self.processes.len()],
            tokens: 0,
            found: vec![(0, 0); self.processes.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let all = state.at.iter().zip(&self.processes).enumerate();
        let open = all.filter(|(_, (at, _))| **at != At::Done);
        actions.extend(open.map(|(process, (at, work))| (process, *work, *at)));
    }

    fn next_state(&self, state: &State, (process, work, _): Self::Action) -> Option<State> {
        self.step(state, process, work)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_THE_END, |model: &Links, state: &State| {
                let state = model.recovered(state);
                state.agrees() && state.marks == [0; 2]
            }),
            Property::always(RETURNED, |_, state: &State| {
                let returned = state.at.iter().all(|at| *at == At::Done);
                !returned || state.agrees() && state.marks == [0; 2]
            }),
            Property::always(ALONE, |model: &Links, state: &State| {
                let begun = |(at, _): &(&At, &Work)| **at != At::Start;
                let mut begun = state.at.iter().zip(&model.processes).filter(begun);
                match (begun.next(), begun.next()) {
                    (Some((At::Done, Work::Write { names, .. })), None) => state.names == [*names; 2],
                    _ => true,
                }
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| {
                state.at.iter().all(|at| *at == At::Done)
            }),
        ]
    }
}

fn model(linked: bool, writes: &[(usize, bool)]) -> Links {
    let writes = writes.iter().map(|(side, names)| Work::Write {
        side: *side,
        names: *names,
    });
    Links {
        processes: writes.chain([Work::Recover]).collect(),
        linked,
        without: None,
    }
}

fn against() -> Links {
    model(false, &[(BELIEVED, true), (OTHER, false)])
}

fn undone() -> Links {
    model(true, &[(BELIEVED, false), (OTHER, true)])
}

fn three() -> Links {
    // The recovery is left to the end: there is no end of states with one beside these three.
    let mut model = model(false, &[(BELIEVED, true), (OTHER, true), (BELIEVED, false)]);
    model.processes.pop();
    model
}

#[test]
fn both_sides_of_a_link_agree() {
    for side in [BELIEVED, OTHER] {
        for names in [true, false] {
            holds(
                "a link is made or taken away, a recovery",
                model(!names, &[(side, names)]),
            );
        }
    }
    holds("a link is made and taken away, a recovery", against());
    holds("a link is taken away and made, a recovery", undone());
    holds("made from both sides and taken away", three());
}

#[test]
fn each_safeguard_of_links_is_needed() {
    let cases = [
        (
            "the mark in the first write",
            undone(),
            Safeguard::MarkOfFirst,
            AT_THE_END,
        ),
        (
            "the mark in the second write",
            against(),
            Safeguard::MarkOfSecond,
            AT_THE_END,
        ),
        ("the look at the end", three(), Safeguard::LookAtTheEnd, RETURNED),
        (
            "the look after a mend",
            three(),
            Safeguard::LookAfterMend,
            RETURNED,
        ),
        (
            "the mark in what is mended",
            against(),
            Safeguard::MarkOfMend,
            AT_THE_END,
        ),
        (
            "a new mark in what is mended",
            against(),
            Safeguard::NewMarkOfMend,
            AT_THE_END,
        ),
        (
            "removing one's own marks only",
            against(),
            Safeguard::OwnMarksOnly,
            AT_THE_END,
        ),
        ("the recovery", undone(), Safeguard::Recovery, AT_THE_END),
    ];
    for (name, model, safeguard, property) in cases {
        fails(
            name,
            Links {
                without: Some(safeguard),
                ..model
            },
            property,
        );
    }
}

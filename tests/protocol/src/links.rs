//! A two-way reference without transactions: one link between two documents, each of which says whether it names the other.
//!
//! The first document is on the side that is believed. A link is written there last, and taken away there first. One that
//! is to be deleted says so first, is taken off the other one, and is deleted if it still says so: whoever sees that, and
//! relies on what it names, strikes it out.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

/// The side that is believed.
const BELIEVED: usize = 0;
const OTHER: usize = 1;

/// A deletion that has taken more tokens than this is not begun again: there would be no end of states.
const ATTEMPTS: u8 = 2;

/// So many tokens a process may have: they are bits.
const TOKENS: u8 = 16;

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
    Announcement,
    StrikingOut,
    MendBefore,
    CountOfWrites,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Writes of one document that it names the other, or names it no more, and whatever follows from that.
    Write {
        side: usize,
        names: bool,
    },
    /// Deletes one of the documents.
    Delete {
        side: usize,
    },
    Recover,
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has seen that its document names the other one already, or does not, after so many writes; it is written all the same.
    WritesAgain(u8),
    /// So many of the two sides have been written.
    Writes(u8),
    /// Takes the document that says that it goes off the other one.
    Detaches,
    /// Deletes the document if it still names the other one, or not, and says so.
    Deletes(bool),
    /// Reads both sides, one after the other; what it saw of the first one, and whether it has struck out before that they
    /// are to be deleted. If not, it sees that.
    Looks(Option<Named>, bool),
    /// Strikes out that the sides are to be deleted, of one after the other.
    Keeps(usize),
    /// Lets the other side follow, or the believed one, where the other is not there.
    Mends(Named, bool),
    /// Removes its own marks, from one side after the other.
    Unmarks(usize),
    /// Goes through the documents for marks.
    Searches(usize),
    /// Has found these marks in a document, which says this; strikes out of both of them that they are to be deleted, and
    /// looks at the other one.
    Found(usize, u64, bool, usize),
    /// Removes the marks that it has found.
    StrikesOut,
    Done,
}

/// Whether a document names the other one; `None` where it is not there.
type Named = Option<bool>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    names: [bool; 2],
    /// Which of them are there.
    there: [bool; 2],
    /// The tokens in each document: a bit for each.
    marks: [u64; 2],
    /// How many writes have marked each.
    writes: [u8; 2],
    /// Those by which a document is to be deleted.
    going: [u64; 2],
    at: Vec<At>,
    /// The tokens of each process.
    own: Vec<u64>,
    /// How many tokens each process has had.
    tokens: Vec<u8>,
    /// What a recovery has found: in which document, which tokens.
    found: Vec<(usize, u64)>,
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
            (At::Start, Work::Write { side, .. } | Work::Delete { side }) if !state.there[side] => At::Done,
            (At::Start, Work::Write { side, names }) if state.names[side] == names => {
                At::WritesAgain(state.writes[side])
            }
            (At::WritesAgain(_), Work::Write { side, .. }) if !state.there[side] => At::Done,
            (At::WritesAgain(seen), Work::Write { side, names }) => {
                // So far as it has seen, no link is made or taken away.
                next.names[side] = names;
                let token = next.token(process);
                next.mark(side, token);
                match state.writes[side] == seen || self.lacks(Safeguard::CountOfWrites) {
                    true => At::Unmarks(0),
                    false => At::Keeps(0),
                }
            }
            (At::Start, Work::Write { .. }) => {
                next.token(process);
                At::Writes(0)
            }
            // It has begun often enough: what it has taken off is mended.
            (At::Start, Work::Delete { .. }) if state.tokens[process] > ATTEMPTS => At::Keeps(0),
            // What somebody may have left on one side is mended first: the mark would go with the document.
            (At::Start, Work::Delete { side })
                if state.marks[side] != 0 && !self.lacks(Safeguard::MendBefore) =>
            {
                At::Found(side, state.tokens_of(side), state.names[side], 0)
            }
            (At::Start, Work::Delete { side }) if !state.names[side] => At::Deletes(false),
            (At::Start, Work::Delete { side }) => {
                let token = next.token(process);
                if !self.lacks(Safeguard::Announcement) {
                    next.going[side] |= token;
                }
                At::Detaches
            }
            (At::Detaches, Work::Delete { side }) => {
                let other = 1 - side;
                if state.names[other] {
                    next.names[other] = false;
                    let token = next.token(process);
                    next.mark(other, token);
                }
                At::Deletes(true)
            }
            (At::Deletes(_), Work::Delete { side }) if !state.there[side] => At::Looks(None, false),
            (At::Deletes(names), Work::Delete { side }) => {
                let announced = state.going[side] & state.own[process] != 0;
                let marked = state.marks[side] != 0 && !self.lacks(Safeguard::MendBefore);
                let announced = announced || !names || self.lacks(Safeguard::Announcement);
                if state.names[side] == names && announced && !marked {
                    next.there[side] = false;
                    next.names[side] = false;
                    next.marks[side] = 0;
                    next.going[side] = 0;
                    At::Looks(None, false)
                } else {
                    At::Start
                }
            }
            (At::Writes(nth), Work::Write { names, .. }) => {
                let order = if names {
                    [OTHER, BELIEVED]
                } else {
                    [BELIEVED, OTHER]
                };
                let side = order[usize::from(nth)];
                if state.there[side] {
                    next.names[side] = names;
                    let safeguard = [Safeguard::MarkOfFirst, Safeguard::MarkOfSecond][usize::from(nth)];
                    if !self.lacks(safeguard) {
                        next.mark(side, state.own[process]);
                    }
                }
                match nth {
                    // What it would name is not there.
                    0 if names && !state.there[side] => At::Unmarks(0),
                    0 => At::Writes(1),
                    _ if self.lacks(Safeguard::LookAtTheEnd) => At::Unmarks(0),
                    _ => At::Looks(None, false),
                }
            }
            (At::Looks(first, kept), _) => {
                let side = if first.is_none() { BELIEVED } else { OTHER };
                let seen = state.there[side].then_some(state.names[side]);
                match first {
                    _ if !kept && state.going[side] != 0 && !self.lacks(Safeguard::StrikingOut) => {
                        At::Keeps(0)
                    }
                    None => At::Looks(Some(seen), kept),
                    Some(believed) => match (believed, seen) {
                        _ if believed.unwrap_or_default() == seen.unwrap_or_default() => At::Unmarks(0),
                        (_, None) => At::Mends(Some(false), true),
                        (believed, _) => At::Mends(believed, false),
                    },
                }
            }
            (At::Keeps(side), _) => {
                next.keep(process, side, self);
                match side {
                    BELIEVED => At::Keeps(OTHER),
                    _ => At::Looks(None, true),
                }
            }
            (At::Mends(names, turned), _) => {
                let side = if turned { BELIEVED } else { OTHER };
                let names = names.unwrap_or_default();
                if state.there[side] && state.names[side] != names {
                    next.names[side] = names;
                    if self.lacks(Safeguard::NewMarkOfMend) && state.own[process] != 0 {
                        next.mark(side, state.own[process]);
                    } else if !self.lacks(Safeguard::MarkOfMend) {
                        let token = next.token(process);
                        next.mark(side, token);
                    }
                }
                match self.lacks(Safeguard::LookAfterMend) {
                    true => At::Unmarks(0),
                    false => At::Keeps(0),
                }
            }
            (At::Unmarks(side), _) => {
                let gone = if self.lacks(Safeguard::OwnMarksOnly) {
                    u64::MAX
                } else {
                    state.own[process]
                };
                next.marks[side] &= !gone;
                match (side, work) {
                    (BELIEVED, _) => At::Unmarks(OTHER),
                    _ if state.found[process] != (0, 0) => At::StrikesOut,
                    (_, Work::Recover) => At::StrikesOut,
                    (_, Work::Write { .. } | Work::Delete { .. }) => At::Done,
                }
            }
            (At::Start, Work::Recover) => At::Searches(0),
            (At::Searches(side), _) => match state.marks.get(side) {
                None => At::Done,
                Some(0) if state.going[side] == 0 => At::Searches(side + 1),
                Some(_) => At::Found(side, state.tokens_of(side), state.names[side], 0),
            },
            (At::Found(side, marks, names, of), _) if of < 2 => {
                next.keep(process, of, self);
                At::Found(side, marks, names, of + 1)
            }
            (At::Found(side, marks, names, _), _) => {
                next.found[process] = (side, marks);
                match state.names[1 - side] == names {
                    true => At::Unmarks(0),
                    // They are read again before anything is mended.
                    false => At::Looks(None, true),
                }
            }
            (At::StrikesOut, _) => {
                let (side, marks) = state.found[process];
                next.found[process] = (0, 0);
                next.marks[side] &= !marks;
                next.going[side] &= !marks;
                match work {
                    Work::Delete { .. } => At::Start,
                    _ => At::Searches(side + 1),
                }
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
        state.tokens.push(0);
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
    fn token(&mut self, process: usize) -> u64 {
        // Each process numbers its own: otherwise the order in which they come would make states differ.
        assert!(
            self.tokens[process] < TOKENS,
            "a process has more tokens than that"
        );
        let token = 1 << (process as u8 * TOKENS + self.tokens[process]);
        self.tokens[process] += 1;
        self.own[process] |= token;
        token
    }

    /// Leaves a mark, with a write of the document.
    fn mark(&mut self, side: usize, token: u64) {
        self.marks[side] |= token;
        self.writes[side] += 1;
    }

    fn tokens_of(&self, side: usize) -> u64 {
        self.marks[side] | self.going[side]
    }

    /// Strikes out that a document is to be deleted, and marks it.
    fn keep(&mut self, process: usize, side: usize, model: &Links) {
        if self.going[side] != 0 && !model.lacks(Safeguard::StrikingOut) {
            self.going[side] = 0;
            self.marks[side] |= self.token(process);
        }
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
            there: [true; 2],
            marks: [0; 2],
            writes: [0; 2],
            going: [0; 2],
            at: vec![At::Start; self.processes.len()],
            own: vec![0; self.processes.len()],
            tokens: vec![0; self.processes.len()],
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
                state.agrees() && state.marks == [0; 2] && state.going == [0; 2]
            }),
            Property::always(RETURNED, |_, state: &State| {
                let returned = state.at.iter().all(|at| *at == At::Done);
                !returned || state.agrees() && state.marks == [0; 2] && state.going == [0; 2]
            }),
            Property::always(ALONE, |model: &Links, state: &State| {
                // Who begins again has tokens.
                let all = state.at.iter().zip(&state.own).zip(&model.processes);
                let mut begun = all.filter(|((at, own), _)| **at != At::Start || **own != 0);
                match (begun.next(), begun.next()) {
                    (Some(((At::Done, _), Work::Write { names, .. })), None) => state.names == [*names; 2],
                    (Some(((At::Done, _), Work::Delete { side })), None) => {
                        !state.there[*side] && state.names == [false; 2]
                    }
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

/// One of two linked documents is deleted, beside others that do this.
fn deleted(side: usize, others: &[Work]) -> Links {
    Links {
        processes: [&[Work::Delete { side }], others].concat(),
        linked: true,
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
    holds("links: a link is made and taken away, a recovery", against());
    holds("links: a link is taken away and made, a recovery", undone());
    holds("links: made from both sides and taken away", three());
}

#[test]
fn a_link_does_not_outlive_a_document() {
    let two = [Work::Recover, Work::Recover];
    let owner = "links: the owner is deleted, two recoveries";
    let other = "links: the other document is deleted, two recoveries";
    for (side, name) in [(BELIEVED, owner), (OTHER, other)] {
        holds("a document is deleted, one recovery", deleted(side, &two[..1]));
        holds(name, deleted(side, &two));
        for by in [BELIEVED, OTHER] {
            for names in [true, false] {
                let write = Work::Write { side: by, names };
                // Of millions of states the recovery is left to the end.
                let others = match (side, names) {
                    (OTHER, true) => &[write][..],
                    _ => &[write, Work::Recover],
                };
                let name = match (side, by, names) {
                    (BELIEVED, BELIEVED, false) => {
                        "links: the owner is deleted and writes that it has no link, a recovery"
                    }
                    (BELIEVED, OTHER, false) => {
                        "links: the owner is deleted and the other side unlinks it, a recovery"
                    }
                    _ => "a document is deleted and written",
                };
                holds(name, deleted(side, others));
                let mut unlinked = deleted(side, &[write]);
                unlinked.linked = false;
                holds("the same where there was no link", unlinked);
            }
        }
    }
    let both = Work::Delete { side: OTHER };
    holds("links: both documents are deleted", deleted(BELIEVED, &[both]));
    let twice = Work::Delete { side: BELIEVED };
    holds("a document is deleted twice", deleted(BELIEVED, &[twice]));
}

#[test]
fn each_safeguard_of_links_is_needed() {
    let cases = [
        (
            "the mark in the first write of a link",
            undone(),
            Safeguard::MarkOfFirst,
            AT_THE_END,
        ),
        (
            "the mark in the second write of a link",
            against(),
            Safeguard::MarkOfSecond,
            AT_THE_END,
        ),
        (
            "the look at the end of a link",
            three(),
            Safeguard::LookAtTheEnd,
            RETURNED,
        ),
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
        (
            "the recovery, of links",
            undone(),
            Safeguard::Recovery,
            AT_THE_END,
        ),
        (
            "the announcement of a deletion",
            deleted(BELIEVED, &[Work::Recover]),
            Safeguard::Announcement,
            AT_THE_END,
        ),
        (
            "striking the announcement out",
            deleted(BELIEVED, &[Work::Recover]),
            Safeguard::StrikingOut,
            AT_THE_END,
        ),
        (
            "mending what is marked before it is deleted",
            Links {
                processes: vec![
                    Work::Delete { side: BELIEVED },
                    Work::Write {
                        side: BELIEVED,
                        names: false,
                    },
                ],
                linked: true,
                without: None,
            },
            Safeguard::MendBefore,
            AT_THE_END,
        ),
        (
            "the count of the writes that mark",
            three(),
            Safeguard::CountOfWrites,
            RETURNED,
        ),
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

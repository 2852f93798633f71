//! Fields copied through references that are eventual: every write is a step of its own.
//!
//! Every step of a process is one read or one atomic write of one document. A delivery to many holders is one step for each
//! of them, in the order of their ids.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

type Token = u8;

/// No pending work.
const NONE: Token = 0;
const SOURCES: usize = 2;
const HOLDERS: usize = 2;
const VERSIONS: usize = 8;

/// A document that two fields are copied of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    version: u8,
    fields: [u8; 2],
    pending: Token,
}

/// A document with a reference and the copies beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holder {
    /// A field of the application's own.
    own: u8,
    to: u8,
    /// The version that the copies were taken of.
    version: u8,
    copies: [u8; 2],
    pending: Token,
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    PendingWorkOfInsert,
    VersionInDelivery,
    ReferenceInDelivery,
    PendingWorkWithTheChange,
    TokenInClear,
    TokenOfEachWrite,
    FieldsTogether,
    FieldsAlone,
    VersionInPointing,
    NewVersions,
    PendingWorkOfReinsert,
    Recovery,
}

/// The operation of a process, before it applies pending work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Insert {
        holder: u8,
        to: u8,
    },
    /// Changes one of the fields.
    Update {
        source: u8,
        field: u8,
        value: u8,
    },
    /// One operation with two writes of the same document, as a bulk may have it.
    UpdateTwice {
        source: u8,
        field: u8,
        values: [u8; 2],
    },
    /// Sets the reference together with a field of the application's own.
    Point {
        holder: u8,
        to: u8,
        own: u8,
    },
    Delete {
        source: u8,
    },
    /// Inserts a source that has been there before.
    Reinsert {
        source: u8,
        value: u8,
    },
    Recover,
}

/// A document with pending work, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Marked {
    Source(u8, Source),
    Holder(u8, Holder),
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read the source that it will copy from.
    Copies(Source),
    /// The second write of one operation.
    Again,
    /// Records the pending work in a write of its own.
    Marks,
    /// Reads the document under its token.
    Drains,
    /// Reads the source of a holder.
    Pulls(Marked),
    Pulled(Marked, Source),
    /// Delivers to this holder.
    Delivers(Marked, u8),
    /// The holder was found by another step than the one that writes.
    Found(Marked, u8, Holder),
    /// The other field of a delivery in two writes.
    Half(Marked, u8, Source, bool),
    Clears(Marked),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    sources: [Option<Source>; SOURCES],
    holders: [Option<Holder>; HOLDERS],
    at: Vec<At>,
    /// How far each recovery has come in the documents.
    looked: Vec<u8>,
    // What follows is no part of the database; the invariants need it.
    /// The fields of each version of each source.
    history: [[Option<[u8; 2]>; VERSIONS]; SOURCES],
    /// The values that the application wrote last into each holder.
    written: [Option<(u8, u8)>; HOLDERS],
    /// Whether a copy was ever replaced by an older one of the same source.
    fell: bool,
}

#[derive(Clone, Debug)]
struct Copies {
    processes: Vec<Work>,
    /// The holders that are there at the beginning, and where they point.
    holders: [Option<u8>; HOLDERS],
    without: Option<Safeguard>,
}

impl Copies {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    fn token(&self, process: usize, nth: u8) -> Token {
        let nth = if self.lacks(Safeguard::TokenOfEachWrite) {
            0
        } else {
            nth
        };
        process as u8 * 2 + nth + 1
    }

    /// Writes copies into a holder, by one atomic write with the conditions of a delivery.
    fn write(&self, state: &mut State, at: u8, to: u8, from: &Source, seen: Option<&Holder>) {
        let Some(holder) = &mut state.holders[at as usize] else {
            return;
        };
        if holder.to != to && !self.lacks(Safeguard::ReferenceInDelivery) {
            return;
        }
        if holder.version >= from.version && !self.lacks(Safeguard::VersionInDelivery) {
            return;
        }
        state.fell |= holder.to == to && holder.version > from.version;
        if let Some(seen) = seen.filter(|_| self.lacks(Safeguard::FieldsAlone)) {
            *holder = *seen;
        }
        holder.version = from.version;
        holder.copies = from.fields;
        if self.lacks(Safeguard::FieldsTogether) {
            holder.copies[1] = seen.map_or(holder.copies[1], |seen| seen.copies[1]);
        }
    }

    fn insert_source(&self, state: &mut State, at: u8, value: u8, pending: Token) {
        // Taken of the clock: greater than all that there were.
        let next = state.history[at as usize]
            .iter()
            .take_while(|known| known.is_some())
            .count();
        let version = if self.lacks(Safeguard::NewVersions) {
            0
        } else {
            next as u8
        };
        let source = Source {
            version,
            fields: [value; 2],
            pending,
        };
        state.history[at as usize][version as usize] = Some(source.fields);
        state.sources[at as usize] = Some(source);
    }

    fn update_source(&self, state: &mut State, at: u8, field: u8, value: u8, pending: Option<Token>) -> bool {
        let Some(source) = &mut state.sources[at as usize] else {
            return false;
        };
        source.fields[field as usize] = value;
        source.version += 1;
        source.pending = pending.unwrap_or(source.pending);
        state.history[at as usize][source.version as usize] = Some(source.fields);
        true
    }

    /// The next step of a process; `None` where it has returned.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let (first, second) = (self.token(process, 0), self.token(process, 1));
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Insert { to, .. } | Work::Point { to, .. }) => {
                // A reference to nothing is refused.
                state.sources[to as usize].map_or(At::Done, At::Copies)
            }
            (At::Copies(from), Work::Insert { holder, to }) => {
                let pending = if self.lacks(Safeguard::PendingWorkOfInsert) {
                    NONE
                } else {
                    first
                };
                next.written[holder as usize] = Some((1, to));
                next.holders[holder as usize] = Some(Holder {
                    own: 1,
                    to,
                    version: from.version,
                    copies: from.fields,
                    pending,
                });
                if pending == NONE { At::Done } else { At::Drains }
            }
            (At::Copies(from), Work::Point { holder, to, own }) => match &mut next.holders[holder as usize] {
                None => At::Done,
                Some(there) => {
                    let older = there.to == to && there.version > from.version;
                    if !older || self.lacks(Safeguard::VersionInPointing) {
                        (there.version, there.copies) = (from.version, from.fields);
                        next.fell |= older;
                    }
                    (there.own, there.to, there.pending) = (own, to, first);
                    next.written[holder as usize] = Some((own, to));
                    At::Drains
                }
            },
            (At::Start, Work::Update { source, field, value }) => {
                let late = self.lacks(Safeguard::PendingWorkWithTheChange);
                let pending = (!late).then_some(first);
                if !self.update_source(&mut next, source, field, value, pending) {
                    At::Done
                } else if late {
                    At::Marks
                } else {
                    At::Drains
                }
            }
            (At::Marks, Work::Update { source, .. }) => {
                if let Some(source) = &mut next.sources[source as usize] {
                    source.pending = first;
                }
                At::Drains
            }
            (
                At::Start,
                Work::UpdateTwice {
                    source,
                    field,
                    values,
                },
            ) => {
                if self.update_source(&mut next, source, field, values[0], Some(first)) {
                    At::Again
                } else {
                    At::Done
                }
            }
            (
                At::Again,
                Work::UpdateTwice {
                    source,
                    field,
                    values,
                },
            ) => {
                self.update_source(&mut next, source, field, values[1], Some(second));
                At::Drains
            }
            (At::Start, Work::Delete { source }) => {
                next.sources[source as usize] = None;
                At::Done
            }
            (At::Start, Work::Reinsert { source, value }) => match state.sources[source as usize] {
                Some(_) => At::Done,
                None => {
                    let pending = if self.lacks(Safeguard::PendingWorkOfReinsert) {
                        NONE
                    } else {
                        first
                    };
                    self.insert_source(&mut next, source, value, pending);
                    if pending == NONE { At::Done } else { At::Drains }
                }
            },
            (At::Start, Work::Recover) => {
                let looked = state.looked[process] as usize;
                next.looked[process] += 1;
                let marked = match looked.checked_sub(SOURCES) {
                    None => state.sources[looked].map(|source| Marked::Source(looked as u8, source)),
                    Some(at) if at < HOLDERS => {
                        state.holders[at].map(|holder| Marked::Holder(at as u8, holder))
                    }
                    Some(_) => {
                        next.looked[process] = 0;
                        next.at[process] = At::Done;
                        return Some(next);
                    }
                };
                marked
                    .filter(|marked| marked.pending() != NONE)
                    .map_or(At::Start, apply)
            }
            (At::Drains, _) => {
                let is_own = |marked: &Marked| [first, second].contains(&marked.pending());
                work.writes(state).filter(is_own).map_or(At::Done, apply)
            }
            (At::Pulls(marked), _) => match marked {
                Marked::Holder(_, holder) => match state.sources[holder.to as usize] {
                    Some(from) if from.version > holder.version => At::Pulled(marked, from),
                    _ => At::Clears(marked),
                },
                Marked::Source(..) => At::Delivers(marked, 0),
            },
            (At::Pulled(marked, from), _) => {
                if let Marked::Holder(at, holder) = marked {
                    self.write(&mut next, at, holder.to, &from, Some(&holder));
                }
                At::Clears(marked)
            }
            (At::Delivers(marked, at), _) => {
                let Marked::Source(to, from) = marked else {
                    return None;
                };
                let one_step = ![
                    Safeguard::ReferenceInDelivery,
                    Safeguard::FieldsAlone,
                    Safeguard::FieldsTogether,
                ]
                .map(Some)
                .contains(&self.without);
                match state.holders.get(at as usize) {
                    None => At::Clears(marked),
                    Some(Some(there)) if !one_step && there.to == to && there.version < from.version => {
                        At::Found(marked, at, *there)
                    }
                    Some(_) => {
                        if one_step {
                            self.write(&mut next, at, to, &from, None);
                        }
                        At::Delivers(marked, at + 1)
                    }
                }
            }
            (At::Found(marked, at, seen), _) => {
                let Marked::Source(to, from) = marked else {
                    return None;
                };
                self.write(&mut next, at, to, &from, Some(&seen));
                if self.lacks(Safeguard::FieldsTogether) {
                    At::Half(marked, at, from, true)
                } else {
                    At::Delivers(marked, at + 1)
                }
            }
            (At::Half(marked, at, from, _), _) => {
                if let (Marked::Source(to, _), Some(there)) = (marked, &mut next.holders[at as usize])
                    && there.to == to
                    && there.version <= from.version
                {
                    there.copies[1] = from.fields[1];
                }
                At::Delivers(marked, at + 1)
            }
            (At::Clears(marked), _) => {
                let pending = match marked {
                    Marked::Source(at, _) => {
                        next.sources[at as usize].as_mut().map(|there| &mut there.pending)
                    }
                    Marked::Holder(at, _) => {
                        next.holders[at as usize].as_mut().map(|there| &mut there.pending)
                    }
                };
                if let Some(pending) = pending
                    && (*pending == marked.pending() || self.lacks(Safeguard::TokenInClear))
                {
                    *pending = NONE;
                }
                if matches!(work, Work::Recover) {
                    At::Start
                } else {
                    At::Done
                }
            }
            (At::Copies(_) | At::Again | At::Marks, _) => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    /// Runs a recovery alone, from its beginning to its end.
    fn recovered(&self, state: &State) -> State {
        let mut state = state.clone();
        if self.lacks(Safeguard::Recovery) {
            return state;
        }
        let process = state.at.len();
        state.at.push(At::Start);
        state.looked.push(0);
        while let Some(next) = self.step(&state, process, Work::Recover) {
            state = next;
        }
        state
    }
}

impl Work {
    /// The document that it writes, as it is.
    fn writes(self, state: &State) -> Option<Marked> {
        match self {
            Work::Insert { holder, .. } | Work::Point { holder, .. } => {
                state.holders[holder as usize].map(|there| Marked::Holder(holder, there))
            }
            Work::Update { source, .. }
            | Work::UpdateTwice { source, .. }
            | Work::Delete { source }
            | Work::Reinsert { source, .. } => {
                state.sources[source as usize].map(|there| Marked::Source(source, there))
            }
            Work::Recover => None,
        }
    }
}

impl Marked {
    fn pending(&self) -> Token {
        match self {
            Marked::Source(_, source) => source.pending,
            Marked::Holder(_, holder) => holder.pending,
        }
    }
}

/// The first step of applying its pending work.
fn apply(marked: Marked) -> At {
    match marked {
        Marked::Source(..) => At::Delivers(marked, 0),
        Marked::Holder(..) => At::Pulls(marked),
    }
}

impl State {
    /// Whether every copy equals its source, and no work is pending.
    fn is_true(&self) -> bool {
        let copies = self.holders.iter().flatten().all(|holder| {
            self.sources[holder.to as usize].is_none_or(|source| holder.copies == source.fields)
        });
        let sources = self.sources.iter().flatten().map(|source| source.pending);
        let mut pending = sources.chain(self.holders.iter().flatten().map(|holder| holder.pending));
        copies && pending.all(|pending| pending == NONE)
    }
}

const AT_THE_END: &str = "after a crash and a recovery, every copy equals its source";
const RETURNED: &str = "when all have returned, every copy equals its source";
const NEVER_OLDER: &str = "an older copy never replaces a newer one";
const NEVER_TORN: &str = "all copies of a holder are of one version";
const ALL_RETURN: &str = "all processes return";
const NOTHING_LOST: &str = "nothing that the application wrote is lost";

impl Model for Copies {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let source = |at: u8| Source {
            version: 0,
            fields: [at; 2],
            pending: NONE,
        };
        let mut history = [[None; VERSIONS]; SOURCES];
        for (at, of) in history.iter_mut().enumerate() {
            of[0] = Some([at as u8; 2]);
        }
        let holder = |to: u8| Holder {
            own: 0,
            to,
            version: 0,
            copies: [to; 2],
            pending: NONE,
        };
        vec![State {
            sources: [Some(source(0)), Some(source(1))],
            holders: self.holders.map(|to| to.map(holder)),
            at: vec![At::Start; self.processes.len()],
            looked: vec![0; self.processes.len()],
            history,
            written: self.holders.map(|to| to.map(|to| (0, to))),
            fell: false,
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
            Property::always(AT_THE_END, |model: &Copies, state: &State| {
                model.recovered(state).is_true()
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| {
                state.at.iter().all(|at| *at == At::Done)
            }),
            Property::always(RETURNED, |_, state: &State| {
                state.at.iter().any(|at| *at != At::Done) || state.is_true()
            }),
            Property::always(NEVER_OLDER, |_, state: &State| !state.fell),
            Property::always(NEVER_TORN, |_, state: &State| {
                let is_whole = |holder: &Holder| {
                    state.history[holder.to as usize][holder.version as usize] == Some(holder.copies)
                };
                state.holders.iter().flatten().all(is_whole)
            }),
            Property::always(NOTHING_LOST, |_, state: &State| {
                let own = |holder: Option<Holder>| holder.map(|holder| (holder.own, holder.to));
                state.holders.map(own) == state.written
            }),
        ]
    }
}

/// Two inserts of holders, two updates of their source, and a recovery.
fn inserts() -> Copies {
    Copies {
        processes: vec![
            Work::Insert { holder: 0, to: 0 },
            Work::Insert { holder: 1, to: 0 },
            Work::Update {
                source: 0,
                field: 0,
                value: 10,
            },
            Work::Update {
                source: 0,
                field: 1,
                value: 20,
            },
            Work::Recover,
        ],
        holders: [None; 2],
        without: None,
    }
}

/// Two updates of a reference, two of the sources, and a recovery.
fn pointing() -> Copies {
    Copies {
        processes: vec![
            Work::Point {
                holder: 0,
                to: 1,
                own: 1,
            },
            Work::Point {
                holder: 0,
                to: 1,
                own: 2,
            },
            Work::Update {
                source: 0,
                field: 0,
                value: 10,
            },
            Work::Update {
                source: 1,
                field: 1,
                value: 20,
            },
            Work::Recover,
        ],
        holders: [Some(0), None],
        without: None,
    }
}

/// A source is deleted and comes back, while it is changed and copied.
fn reinserts() -> Copies {
    Copies {
        processes: vec![
            Work::Delete { source: 0 },
            Work::Reinsert { source: 0, value: 30 },
            Work::Insert { holder: 1, to: 0 },
            Work::Update {
                source: 0,
                field: 0,
                value: 10,
            },
            Work::Recover,
        ],
        holders: [Some(0), None],
        without: None,
    }
}

/// One operation that changes a source twice, beside an insert, another change and a recovery.
fn twice() -> Copies {
    Copies {
        processes: vec![
            Work::UpdateTwice {
                source: 0,
                field: 0,
                values: [10, 11],
            },
            Work::Insert { holder: 1, to: 0 },
            Work::Update {
                source: 0,
                field: 1,
                value: 20,
            },
            Work::Recover,
        ],
        holders: [Some(0), None],
        without: None,
    }
}

#[test]
fn copies_stay_true() {
    holds("copies: two inserts, two updates, a recovery", inserts());
    holds(
        "copies: two writes of a reference, two updates of its sources, a recovery",
        pointing(),
    );
    holds(
        "copies: a source is deleted and reinserted, an insert, an update, a recovery",
        reinserts(),
    );
    holds(
        "copies: two updates in one operation, an insert, an update, a recovery",
        twice(),
    );
}

#[test]
fn each_safeguard_of_copies_is_needed() {
    let cases = [
        (
            "pending work of an insert",
            inserts(),
            Safeguard::PendingWorkOfInsert,
            AT_THE_END,
        ),
        (
            "pending work in the same command as the change (it is stored after it)",
            inserts(),
            Safeguard::PendingWorkWithTheChange,
            AT_THE_END,
        ),
        (
            "version in the filter of a delivery",
            inserts(),
            Safeguard::VersionInDelivery,
            NEVER_OLDER,
        ),
        (
            "version in the filter of a delivery, when all have ended",
            inserts(),
            Safeguard::VersionInDelivery,
            AT_THE_END,
        ),
        (
            "reference in the filter of a delivery",
            pointing(),
            Safeguard::ReferenceInDelivery,
            AT_THE_END,
        ),
        (
            "ids in the filter that clears pending work",
            inserts(),
            Safeguard::TokenInClear,
            AT_THE_END,
        ),
        (
            "an id for each write of an operation",
            twice(),
            Safeguard::TokenOfEachWrite,
            AT_THE_END,
        ),
        (
            "one statement for all copies of a source",
            inserts(),
            Safeguard::FieldsTogether,
            NEVER_TORN,
        ),
        (
            "writing only the copies, not the whole document",
            pointing(),
            Safeguard::FieldsAlone,
            NOTHING_LOST,
        ),
        (
            "comparing versions when a reference is set again",
            pointing(),
            Safeguard::VersionInPointing,
            NEVER_OLDER,
        ),
        (
            "greater version of a reinserted source",
            reinserts(),
            Safeguard::NewVersions,
            AT_THE_END,
        ),
        (
            "pending work of a reinserted source",
            reinserts(),
            Safeguard::PendingWorkOfReinsert,
            AT_THE_END,
        ),
        ("recovery at all", inserts(), Safeguard::Recovery, AT_THE_END),
    ];
    for (name, model, safeguard, property) in cases {
        fails(
            name,
            Copies {
                without: Some(safeguard),
                ..model
            },
            property,
        );
    }
}

//! Copies in a deployment with transactions: of few holders, of many, and beside writes without a transaction.
//!
//! A change of a source and its delivery to few holders are one transaction. With more holders, the transaction holds the change
//! and its pending work, and the copies are updated in batches after the commit. A batch, the note of how far a delivery has
//! come, and the clearing of pending work are writes without a transaction, while other processes insert holders in transactions
//! that lock the source. The library also writes without one where it puts a document back that was not to be deleted, where
//! copies are declared `eventual`, and in a recovery.
//!
//! A transaction is two steps: all that it reads and writes, and its commit. The order of its reads and writes makes no
//! difference: another write of one of its documents makes it begin again, and the others are read as they were at its
//! beginning. So a transaction that would write what another one has written waits here, and so does a write without a
//! transaction, while a read sees what was committed. (In `transactions.rs` each read and write is a step.) A crash undoes what
//! is not committed. A batch is one holder.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

type Token = u8;

/// No pending work.
const NONE: Token = 0;
const SOURCES: usize = 2;
const HOLDERS: usize = 3;
/// The references from which holders may copy: each another field.
const EDGES: usize = 2;

/// A document that two fields are copied of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    version: u8,
    fields: [u8; EDGES],
    pending: Token,
    /// How far a delivery of which version has come, for each reference.
    notes: [Option<(u8, Position)>; EDGES],
    /// How often a document with this id was inserted before: only the invariants know it.
    life: u8,
}

/// A document with a reference and the copy beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holder {
    to: Option<u8>,
    /// The version that the copy was taken of.
    version: u8,
    copy: u8,
    pending: Token,
    /// That of the source that was copied.
    life: u8,
}

/// How far a delivery has come. It goes through the holders in their order. Where an earlier one has stopped, it begins behind
/// that place, and goes on with the first holders behind the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Position {
    /// The holder behind which it began; `None` before the first one.
    from: Option<u8>,
    /// Whether it has come to the first holders, up to `from`.
    around: bool,
    /// The last holder that has the version, of this round.
    last: Option<u8>,
}

impl Position {
    /// The holders that are left of this round.
    fn left(&self) -> u8 {
        let behind = !self.last.map_or(0, |last| (2 << last) - 1);
        match self.from {
            Some(from) if self.around => behind & ((2 << from) - 1),
            _ => behind,
        }
    }

    fn is_last_round(&self) -> bool {
        self.around || self.from.is_none()
    }
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    Lock,
    VersionInLock,
    PendingWorkInTransaction,
    VersionInDelivery,
    ReferenceInDelivery,
    TokenInClear,
    VersionInNote,
    FirstHolders,
    BeginningInNote,
    PendingWhenOvertaken,
    NewVersions,
    LookBehindDeletion,
    Recovery,
    LockInPull,
    GoingOn,
    LateHolders,
    PendingWorkOfEventual,
}

/// The operation of a process, before it applies pending work; `alone` is without a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Insert {
        holder: u8,
        to: u8,
        alone: bool,
    },
    /// Sets the reference of a holder.
    Point {
        holder: u8,
        to: u8,
    },
    /// Changes one of the fields.
    Update {
        source: u8,
        field: u8,
        value: u8,
        alone: bool,
    },
    Delete {
        source: u8,
    },
    /// Inserts a source that has been there before.
    Reinsert {
        source: u8,
        value: u8,
    },
    /// Deletes a holder.
    Remove {
        holder: u8,
    },
    Recover,
}

/// A document with pending work, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Marked {
    /// With whether a part of its delivery was left to the process that had changed it.
    Source(u8, Source, bool),
    Holder(u8, Holder),
}

/// An open transaction: the documents that it has written, which no other process changes before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transaction {
    source: Option<u8>,
    /// A bit for each.
    holders: u8,
    /// The source that is copied into a holder.
    from: Option<Source>,
    /// Whether the source has too many holders, so that it leaves pending work for them.
    leaves_work: bool,
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read the source that it will copy from.
    Copies(Source),
    /// Writes without a transaction, since it has met others; with the source that it has read to copy from.
    Eventual(Option<Source>),
    Commits(Transaction),
    /// Records the pending work in a write of its own.
    Marks,
    /// Reads the document under its token.
    Drains,
    /// Reads the source of a holder.
    Pulls(Marked),
    Pulled(Marked, Source),
    /// Reads the holders that refer to the source by this reference.
    Lists(Marked, u8, Position),
    /// Delivers to these holders, a bit for each.
    Delivers(Marked, u8, u8, Position),
    /// Notes how far it has come, before it goes on with the others.
    Notes(Marked, u8, u8, Position),
    /// Reads a source that has changed while it was delivered.
    Again(Marked),
    Clears(Marked),
    /// Takes the source out of those that refer to it, from this holder on.
    Detaches(u8),
    /// Deletes the source.
    Deletes,
    /// Looks whether it is there again, if any refers to it.
    Looks,
    /// The same from this holder on: empties its reference, or records pending work where the source is there again.
    Treats(bool, u8),
    /// Applies their pending work, one after the other.
    Renews,
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
    /// The greatest version and the last life that each source has had.
    greatest: [(u8, u8); SOURCES],
    /// Whether a copy was ever replaced by an older one of the same source.
    fell: bool,
    /// Whether a copy was ever replaced by one of a document with the same id that was deleted before.
    came_back: bool,
}

#[derive(Clone, Debug)]
struct Commits {
    processes: Vec<Work>,
    /// Where the holders point that are there at the beginning.
    holders: [Option<u8>; HOLDERS],
    /// The reference by which each of them copies.
    edges: [u8; HOLDERS],
    /// The maximum number of holders that a transaction delivers to.
    most: u32,
    /// Whether a change is compared with how the source was, and is delivered only by the references that copy the field.
    compares: bool,
    /// Whether the holders of a source that is deleted keep their copies: else their references are emptied.
    keeps: bool,
    /// Whether a write whose transaction meets another one is made without one.
    gives_up: bool,
    without: Vec<Safeguard>,
}

impl State {
    fn open(&self, process: usize) -> impl Iterator<Item = &Transaction> {
        let others = self
            .at
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != process);
        others.filter_map(|(_, at)| match at {
            At::Commits(open) => Some(open),
            _ => None,
        })
    }

    /// Whether another process's transaction has written the source.
    fn holds_source(&self, process: usize, source: u8) -> bool {
        self.open(process).any(|open| open.source == Some(source))
    }

    /// Whether another process's transaction has written one of these holders.
    fn holds_holder(&self, process: usize, holders: u8) -> bool {
        self.open(process).any(|open| open.holders & holders != 0)
    }
}

impl Commits {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without.contains(&safeguard)
    }

    /// The last of the references by which something is copied.
    fn last_edge(&self) -> u8 {
        self.edges.iter().copied().max().unwrap_or_default()
    }

    /// Writes a copy into a holder, by one atomic write with the conditions of a delivery.
    fn write(&self, state: &mut State, at: u8, to: u8, from: &Source) {
        let Some(holder) = &mut state.holders[at as usize] else {
            return;
        };
        if holder.to != Some(to) && !self.lacks(Safeguard::ReferenceInDelivery) {
            return;
        }
        if holder.version >= from.version && !self.lacks(Safeguard::VersionInDelivery) {
            return;
        }
        self.replace(state, at, to, from);
    }

    /// Writes a copy into a holder, whatever copy it has.
    fn replace(&self, state: &mut State, at: u8, to: u8, from: &Source) {
        let Some(holder) = &mut state.holders[at as usize] else {
            return;
        };
        let same = holder.to == Some(to);
        state.fell |= same && holder.life == from.life && holder.version > from.version;
        state.came_back |= same && holder.life > from.life;
        holder.version = from.version;
        holder.copy = from.fields[usize::from(self.edges[at as usize])];
        holder.life = from.life;
    }

    fn new_holder(&self, at: u8, to: u8, from: &Source, pending: Token) -> Holder {
        Holder {
            to: Some(to),
            version: from.version,
            copy: from.fields[usize::from(self.edges[at as usize])],
            pending,
            life: from.life,
        }
    }

    /// Those that refer to this source by this reference: a bit for each.
    fn holders_of(&self, state: &State, source: u8, edge: u8) -> u8 {
        let all = state.holders.iter().zip(&self.edges).enumerate();
        let named = all.filter(|(_, (holder, of))| {
            **of == edge && holder.is_some_and(|holder| holder.to == Some(source))
        });
        named.fold(0, |all, (at, _)| all | 1 << at)
    }

    /// The source as it is after the change; a field that is not there any more is not found.
    fn changed(&self, state: &State, work: Work) -> Option<(u8, Source)> {
        match work {
            Work::Update {
                source, field, value, ..
            } => {
                let mut new = state.sources[source as usize]?;
                new.fields[field as usize] = value;
                new.version += 1;
                Some((source, new))
            }
            Work::Reinsert { source, value } => {
                if state.sources[source as usize].is_some() {
                    return None;
                }
                let (version, life) = state.greatest[source as usize];
                let new = Source {
                    // Taken of the clock: greater than all that there were.
                    version: if self.lacks(Safeguard::NewVersions) {
                        0
                    } else {
                        version + 1
                    },
                    fields: [value; EDGES],
                    pending: NONE,
                    notes: [None; EDGES],
                    life: life + 1,
                };
                Some((source, new))
            }
            _ => None,
        }
    }

    fn put_source(&self, state: &mut State, at: u8, new: Source) {
        let (version, life) = &mut state.greatest[at as usize];
        (*version, *life) = ((*version).max(new.version), new.life);
        state.sources[at as usize] = Some(new);
    }

    /// A transaction that changes a source, and delivers it to those that it sees if they are few.
    fn change(&self, state: &State, process: usize, work: Work) -> Option<At> {
        let Some((source, _)) = self.changed(state, work) else {
            return Some(At::Done);
        };
        let mut open = Transaction {
            source: Some(source),
            holders: 0,
            from: None,
            leaves_work: false,
        };
        for edge in 0..=self.last_edge() {
            let is_changed = match work {
                Work::Update { field, .. } => !self.compares || field == edge,
                // With references that are emptied, no holder can have copied from it before it was there, but for those that
                // the deletion finds when it looks again.
                _ => self.keeps,
            };
            let all = self.holders_of(state, source, edge);
            if is_changed && all.count_ones() > self.most {
                open.leaves_work = true;
            } else if is_changed {
                open.holders |= all;
            }
        }
        let waits = state.holds_source(process, source) || state.holds_holder(process, open.holders);
        (!waits).then_some(At::Commits(open))
    }

    /// A transaction that writes a reference, and locks the source.
    fn refer(
        &self,
        state: &State,
        process: usize,
        (holder, to): (u8, u8),
        mut from: Source,
        there: bool,
    ) -> Option<At> {
        if state.holders[holder as usize].is_some() != there {
            // An insert of what is there, or an update of what is not.
            return Some(At::Done);
        }
        let locks = !self.lacks(Safeguard::Lock);
        if state.holds_holder(process, 1 << holder) || locks && state.holds_source(process, to) {
            return None;
        }
        if locks {
            let Some(source) = state.sources[to as usize] else {
                // It is missing, and the transaction fails.
                return Some(At::Done);
            };
            if source.version > from.version && !self.lacks(Safeguard::VersionInLock) {
                from = source;
            }
        }
        Some(At::Commits(Transaction {
            source: locks.then_some(to),
            holders: 1 << holder,
            from: Some(from),
            leaves_work: false,
        }))
    }

    fn commit(&self, next: &mut State, process: usize, open: &Transaction, work: Work) -> At {
        match work {
            Work::Insert { holder, to, .. } | Work::Point { holder, to } => {
                if let Some(from) = &open.from {
                    next.holders[holder as usize] = Some(self.new_holder(holder, to, from, NONE));
                }
                At::Done
            }
            _ => {
                let Some((source, mut new)) = self.changed(next, work) else {
                    return At::Done;
                };
                let late = self.lacks(Safeguard::PendingWorkInTransaction);
                if open.leaves_work && !late {
                    new.pending = token(process);
                }
                self.put_source(next, source, new);
                for holder in bits(open.holders) {
                    self.replace(next, holder, source, &new);
                }
                if !open.leaves_work {
                    At::Done
                } else if late {
                    At::Marks
                } else {
                    At::Drains
                }
            }
        }
    }

    /// Begins with the holders of one reference.
    fn lists(&self, marked: Marked, edge: u8) -> At {
        let note = match marked {
            Marked::Source(_, read, _) => read.notes[edge as usize].map(|note| (note, read.version)),
            Marked::Holder(..) => None,
        };
        let position = match note {
            None => Position::default(),
            Some(((noted, position), version))
                if noted == version || self.lacks(Safeguard::VersionInNote) =>
            {
                if self.lacks(Safeguard::BeginningInNote) {
                    Position {
                        from: None,
                        ..position
                    }
                } else {
                    position
                }
            }
            // These have an older version: it goes on behind them, and comes to them in the end.
            Some(((_, Position { last, .. }), _)) => Position {
                from: last,
                around: false,
                last,
            },
        };
        At::Lists(marked, edge, position)
    }

    /// The first step of applying its pending work.
    fn apply(&self, marked: Marked) -> At {
        match marked {
            Marked::Source(..) => self.lists(marked, 0),
            Marked::Holder(..) => At::Pulls(marked),
        }
    }

    /// Behind the holders of one round.
    fn next_round(&self, marked: Marked, edge: u8, position: Position, work: Work) -> At {
        if position.is_last_round() || self.lacks(Safeguard::FirstHolders) {
            return self.next_edge(marked, edge, work);
        }
        let from_the_first = Position {
            around: true,
            last: None,
            ..position
        };
        At::Lists(marked, edge, from_the_first)
    }

    /// Behind the holders of one reference.
    fn next_edge(&self, marked: Marked, edge: u8, work: Work) -> At {
        match marked {
            Marked::Source(..) if edge < self.last_edge() => self.lists(marked, edge + 1),
            Marked::Source(_, _, true) if self.lacks(Safeguard::PendingWhenOvertaken) => At::Clears(marked),
            Marked::Source(_, _, true) if self.lacks(Safeguard::GoingOn) => returned(work),
            Marked::Source(_, _, true) => At::Again(marked),
            _ => At::Clears(marked),
        }
    }

    /// Empties a reference to the source, of the first of the holders from this one on that has one; or records pending work there.
    fn detach(
        &self,
        next: &mut State,
        process: usize,
        (source, leaves_work): (u8, bool),
        from: u8,
    ) -> Option<Option<u8>> {
        let is_one = |at: &u8| next.holders[*at as usize].is_some_and(|holder| holder.to == Some(source));
        let Some(at) = (from..HOLDERS as u8).find(is_one) else {
            return Some(None);
        };
        if next.holds_holder(process, 1 << at) {
            return None;
        }
        match &mut next.holders[at as usize] {
            Some(holder) if leaves_work => holder.pending = token(process),
            Some(holder) => (holder.to, holder.version, holder.copy, holder.life) = (None, 0, 0, 0),
            None => {}
        }
        Some(Some(at + 1))
    }

    /// The next step of a process; `None` where it has returned, or waits for another transaction.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let own = token(process);
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Insert { to, .. } | Work::Point { to, .. }) => {
                // A reference to nothing is refused.
                state.sources[to as usize].map_or(At::Done, At::Copies)
            }
            (
                At::Copies(from),
                Work::Insert {
                    holder,
                    to,
                    alone: true,
                },
            ) => match state.holders[holder as usize] {
                Some(_) => At::Done,
                None if state.holds_holder(process, 1 << holder) => return None,
                None => {
                    next.holders[holder as usize] = Some(self.new_holder(holder, to, &from, own));
                    At::Drains
                }
            },
            (
                At::Copies(from),
                Work::Insert {
                    holder,
                    to,
                    alone: false,
                },
            ) => {
                let begun = self.refer(state, process, (holder, to), from, false);
                begun.or(self.gives_up.then_some(At::Eventual(Some(from))))?
            }
            (At::Copies(from), Work::Point { holder, to }) => {
                let begun = self.refer(state, process, (holder, to), from, true);
                begun.or(self.gives_up.then_some(At::Eventual(Some(from))))?
            }
            (At::Eventual(Some(from)), Work::Insert { holder, to, .. } | Work::Point { holder, to }) => {
                let is_insert = matches!(work, Work::Insert { .. });
                match state.holders[holder as usize] {
                    there if there.is_some() == is_insert => At::Done,
                    _ if state.holds_holder(process, 1 << holder) => return None,
                    _ => {
                        next.holders[holder as usize] = Some(self.new_holder(holder, to, &from, own));
                        At::Drains
                    }
                }
            }
            (At::Start, Work::Update { alone: true, .. }) | (At::Eventual(_), Work::Update { .. }) => {
                match self.changed(state, work) {
                    None => At::Done,
                    Some((source, _)) if state.holds_source(process, source) => return None,
                    Some((source, new)) if self.lacks(Safeguard::PendingWorkOfEventual) => {
                        self.put_source(&mut next, source, new);
                        At::Marks
                    }
                    Some((source, new)) => {
                        self.put_source(&mut next, source, Source { pending: own, ..new });
                        At::Drains
                    }
                }
            }
            (At::Start, Work::Update { alone: false, .. }) => {
                let begun = self.change(state, process, work);
                begun.or(self.gives_up.then_some(At::Eventual(None)))?
            }
            (At::Start, Work::Reinsert { .. }) => self.change(state, process, work)?,
            (At::Commits(open), _) => self.commit(&mut next, process, &open, work),
            (At::Marks, Work::Update { source, .. } | Work::Reinsert { source, .. }) => {
                if state.holds_source(process, source) {
                    return None;
                }
                if let Some(source) = &mut next.sources[source as usize] {
                    source.pending = own;
                }
                At::Drains
            }
            (At::Start, Work::Remove { holder }) => {
                if state.holds_holder(process, 1 << holder) {
                    return None;
                }
                next.holders[holder as usize] = None;
                At::Done
            }
            (At::Start, Work::Delete { source }) if self.keeps => {
                if state.holds_source(process, source) {
                    return None;
                }
                next.sources[source as usize] = None;
                At::Done
            }
            (At::Start, Work::Delete { .. }) => At::Detaches(0),
            (At::Detaches(from), Work::Delete { source }) => {
                let further = self.detach(&mut next, process, (source, false), from)?;
                further.map_or(At::Deletes, At::Detaches)
            }
            (At::Deletes, Work::Delete { source }) => {
                if state.holds_source(process, source) {
                    return None;
                }
                next.sources[source as usize] = None;
                if self.lacks(Safeguard::LookBehindDeletion) {
                    At::Done
                } else {
                    At::Looks
                }
            }
            (At::Looks, Work::Delete { source }) => match state.sources[source as usize] {
                // A reference to one that is there again is right.
                Some(_) if self.lacks(Safeguard::LateHolders) => At::Done,
                again => At::Treats(again.is_some(), 0),
            },
            (At::Treats(again, from), Work::Delete { source }) => {
                let further = self.detach(&mut next, process, (source, again), from)?;
                further.map_or(At::Renews, |from| At::Treats(again, from))
            }
            (At::Renews, Work::Delete { .. }) => {
                let all = (0..HOLDERS).filter_map(|at| state.marked((SOURCES + at) as u8).flatten());
                let own = all.into_iter().find(|marked| marked.pending() == own);
                own.map_or(At::Done, |own| self.apply(own))
            }
            (At::Start, Work::Recover) => {
                let with_work = (state.looked[process]..).map_while(|at| Some((at, state.marked(at)?)));
                let found = with_work.into_iter().find_map(|(at, marked)| Some((at, marked?)));
                match found {
                    Some((at, marked)) => {
                        next.looked[process] = at + 1;
                        self.apply(marked)
                    }
                    None => {
                        next.looked[process] = 0;
                        At::Done
                    }
                }
            }
            (At::Drains, _) => {
                let is_own = |marked: &Marked| marked.pending() == own;
                let marked = work.writes().and_then(|at| state.marked(at).flatten());
                marked
                    .filter(is_own)
                    .map_or(At::Done, |marked| self.apply(marked))
            }
            (At::Pulls(marked), _) => {
                let Marked::Holder(_, holder) = marked else {
                    return None;
                };
                if let Some(to) = holder.to
                    && !self.lacks(Safeguard::LockInPull)
                    && state.holds_source(process, to)
                {
                    return None;
                }
                match holder.to.and_then(|to| state.sources[to as usize]) {
                    Some(from) if from.version > holder.version => At::Pulled(marked, from),
                    _ => At::Clears(marked),
                }
            }
            (At::Pulled(marked, from), _) => {
                if let Marked::Holder(at, holder) = marked
                    && let Some(to) = holder.to
                {
                    if state.holds_holder(process, 1 << at) {
                        return None;
                    }
                    self.write(&mut next, at, to, &from);
                }
                At::Clears(marked)
            }
            (At::Lists(marked, edge, position), _) => {
                let Marked::Source(source, ..) = marked else {
                    return None;
                };
                match self.holders_of(state, source, edge) & position.left() {
                    0 => self.next_round(marked, edge, position, work),
                    open => At::Delivers(marked, edge, open, position),
                }
            }
            (At::Delivers(marked, edge, open, position), _) => {
                let Marked::Source(source, read, _) = marked else {
                    return None;
                };
                let holder = open.trailing_zeros() as u8;
                if state.holds_holder(process, 1 << holder) {
                    return None;
                }
                self.write(&mut next, holder, source, &read);
                let position = Position {
                    last: Some(holder),
                    ..position
                };
                match open & (open - 1) {
                    0 if position.is_last_round() => self.next_edge(marked, edge, work),
                    open => At::Notes(marked, edge, open, position),
                }
            }
            (At::Notes(marked, edge, open, position), _) => {
                let Marked::Source(source, read, _) = marked else {
                    return None;
                };
                if state.holds_source(process, source) {
                    return None;
                }
                let is_unchanged = match &mut next.sources[source as usize] {
                    Some(there) => {
                        let note = &mut there.notes[edge as usize];
                        let is_newest = note.is_none_or(|(version, _)| version <= read.version);
                        // Where the source has changed, the delivery of that change begins there.
                        if is_newest && there.pending != NONE {
                            *note = Some((read.version, position));
                        }
                        there.version == read.version
                    }
                    None => false,
                };
                match open {
                    _ if !is_unchanged => self.next_edge(Marked::Source(source, read, true), edge, work),
                    0 => self.next_round(marked, edge, position, work),
                    open => At::Delivers(marked, edge, open, position),
                }
            }
            (At::Again(marked), _) => {
                let Marked::Source(source, ..) = marked else {
                    return None;
                };
                let again = state.marked(source).flatten();
                let again = again.filter(|again| again.pending() == marked.pending());
                again.map_or(returned(work), |again| self.apply(again))
            }
            (At::Clears(marked), _) => {
                let is_same =
                    |pending: Token| pending == marked.pending() || self.lacks(Safeguard::TokenInClear);
                match marked {
                    Marked::Source(at, ..) => {
                        if state.holds_source(process, at) {
                            return None;
                        }
                        if let Some(there) = &mut next.sources[at as usize]
                            && is_same(there.pending)
                        {
                            (there.pending, there.notes) = (NONE, [None; EDGES]);
                        }
                    }
                    Marked::Holder(at, _) => {
                        if state.holds_holder(process, 1 << at) {
                            return None;
                        }
                        if let Some(there) = &mut next.holders[at as usize]
                            && is_same(there.pending)
                        {
                            there.pending = NONE;
                        }
                    }
                }
                returned(work)
            }
            (
                At::Copies(_)
                | At::Eventual(_)
                | At::Marks
                | At::Detaches(_)
                | At::Deletes
                | At::Looks
                | At::Treats(..)
                | At::Renews,
                _,
            ) => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    /// Whether a source may come back while its deletion has still to look for new references to it. If the process of the
    /// deletion dies there, such a reference dangles, which only an audit finds; and then it has a copy of the deleted source.
    fn is_between_looks(&self, state: &State) -> bool {
        let comes_back = |work: &Work| matches!(work, Work::Reinsert { .. });
        let looks = |at: &At| matches!(at, At::Looks | At::Treats(..));
        !self.keeps && self.processes.iter().any(comes_back) && state.at.iter().any(looks)
    }

    /// Runs a recovery alone, from its beginning to its end: of what is committed.
    fn recovered(&self, state: &State) -> State {
        let process = self.processes.len();
        let mut state = state.clone();
        if self.lacks(Safeguard::Recovery) {
            return state;
        }
        state.at = vec![At::Done; process];
        state.at.push(At::Start);
        state.looked.push(0);
        while let Some(next) = self.step(&state, process, Work::Recover) {
            state = next;
        }
        state
    }
}

fn token(process: usize) -> Token {
    process as u8 + 1
}

fn bits(of: u8) -> impl Iterator<Item = u8> {
    (0..HOLDERS as u8).filter(move |at| of & 1 << at != 0)
}

fn returned(work: Work) -> At {
    match work {
        Work::Recover => At::Start,
        Work::Delete { .. } => At::Renews,
        _ => At::Done,
    }
}

impl Work {
    /// The place of the document that it writes.
    fn writes(self) -> Option<u8> {
        match self {
            Work::Insert { holder, .. } | Work::Point { holder, .. } | Work::Remove { holder } => {
                Some(SOURCES as u8 + holder)
            }
            Work::Update { source, .. } | Work::Reinsert { source, .. } | Work::Delete { source } => {
                Some(source)
            }
            Work::Recover => None,
        }
    }
}

impl Marked {
    fn pending(&self) -> Token {
        match self {
            Marked::Source(_, source, _) => source.pending,
            Marked::Holder(_, holder) => holder.pending,
        }
    }
}

impl State {
    /// The document at this place, if it has pending work; the outer `None` behind the last of them.
    fn marked(&self, at: u8) -> Option<Option<Marked>> {
        let place = usize::from(at);
        let marked = match place.checked_sub(SOURCES) {
            None => self.sources[place].map(|source| Marked::Source(at, source, false)),
            Some(holder) => {
                let there = *self.holders.get(holder)?;
                there.map(|there| Marked::Holder(holder as u8, there))
            }
        };
        Some(marked.filter(|marked| marked.pending() != NONE))
    }

    fn has_returned(&self) -> bool {
        self.at.iter().all(|at| *at == At::Done)
    }

    /// Whether every copy equals its source, and none stands beside an empty reference.
    fn is_true(&self, model: &Commits) -> bool {
        let all = self.holders.iter().zip(model.edges);
        all.filter_map(|(holder, edge)| Some(((*holder)?, edge)))
            .all(|(holder, edge)| match holder.to {
                None => holder.copy == 0,
                Some(to) => self.sources[to as usize]
                    .is_none_or(|source| holder.copy == source.fields[usize::from(edge)]),
            })
    }

    fn is_quiet(&self) -> bool {
        let sources = self.sources.iter().flatten().map(|source| source.pending);
        let mut pending = sources.chain(self.holders.iter().flatten().map(|holder| holder.pending));
        pending.all(|pending| pending == NONE)
    }
}

const AT_THE_END: &str = "after a crash and a recovery, every copy equals its source";
const RETURNED: &str = "when all have returned, every copy equals its source";
const QUIET: &str = "when all have returned, no work is pending";
const NEVER_OLDER: &str = "an older copy never replaces a newer one";
const NEVER_BACK: &str = "a copy of what was deleted never comes back";
const NOTHING_DANGLES: &str = "when all have returned, no emptied reference names what is gone";
const ALL_RETURN: &str = "all processes return";

impl Model for Commits {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let source = |at: u8| Source {
            version: 1,
            fields: [at + 1; EDGES],
            pending: NONE,
            notes: [None; EDGES],
            life: 0,
        };
        let sources = [source(0), source(1)];
        let mut holders = [None; HOLDERS];
        for (at, to) in self.holders.iter().enumerate() {
            holders[at] = to.map(|to| self.new_holder(at as u8, to, &sources[to as usize], NONE));
        }
        vec![State {
            sources: sources.map(Some),
            holders,
            at: vec![At::Start; self.processes.len()],
            looked: vec![0; self.processes.len()],
            greatest: [(1, 0); SOURCES],
            fell: false,
            came_back: false,
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
            Property::always(AT_THE_END, |model: &Commits, state: &State| {
                let recovered = model.recovered(state);
                let is_true = recovered.is_true(model) || model.is_between_looks(state);
                is_true && recovered.is_quiet()
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| state.has_returned()),
            Property::always(RETURNED, |model: &Commits, state: &State| {
                !state.has_returned() || state.is_true(model)
            }),
            Property::always(QUIET, |_, state: &State| {
                !state.has_returned() || state.is_quiet()
            }),
            Property::always(NEVER_OLDER, |_, state: &State| !state.fell),
            Property::always(NEVER_BACK, |_, state: &State| !state.came_back),
            Property::always(NOTHING_DANGLES, |model: &Commits, state: &State| {
                let is_there = |to: u8| state.sources[to as usize].is_some();
                let mut named = state.holders.iter().flatten().filter_map(|holder| holder.to);
                model.keeps || !state.has_returned() || named.all(is_there)
            }),
        ]
    }
}

fn insert(holder: u8) -> Work {
    Work::Insert {
        holder,
        to: 0,
        alone: false,
    }
}

fn update(field: u8, value: u8) -> Work {
    Work::Update {
        source: 0,
        field,
        value,
        alone: false,
    }
}

impl Work {
    /// The same without a transaction.
    fn alone(self) -> Work {
        match self {
            Work::Insert { holder, to, .. } => Work::Insert {
                holder,
                to,
                alone: true,
            },
            Work::Update {
                source, field, value, ..
            } => Work::Update {
                source,
                field,
                value,
                alone: true,
            },
            work => work,
        }
    }
}

/// These processes; a transaction delivers to one holder, and behind more the copies follow.
fn model(holders: [Option<u8>; HOLDERS], processes: &[Work]) -> Commits {
    Commits {
        processes: processes.to_vec(),
        holders,
        edges: [0; HOLDERS],
        most: 1,
        compares: false,
        keeps: true,
        gives_up: false,
        without: Vec::new(),
    }
}

const RECOVER: Work = Work::Recover;

/// Two who insert holders of one source, two who change it, and a recovery.
fn many() -> Commits {
    model(
        [Some(0), None, None],
        &[insert(1), insert(2), update(0, 10), update(0, 20), RECOVER],
    )
}

/// The same, while a holder is deleted: of many there may be few again.
fn many_and_few() -> Commits {
    let mut processes = many().processes;
    processes.push(Work::Remove { holder: 0 });
    model([Some(0), None, None], &processes)
}

/// Two who set references, two who change the sources, and a recovery.
fn pointing() -> Commits {
    let point = |holder: u8, to: u8| Work::Point { holder, to };
    let other = Work::Update {
        source: 1,
        field: 0,
        value: 20,
        alone: false,
    };
    model(
        [Some(0), Some(0), Some(1)],
        &[point(0, 1), point(2, 0), update(0, 10), other, RECOVER],
    )
}

/// A source is deleted and comes back, while it is changed and copied. Its holders keep their copies.
fn comes_back() -> Commits {
    model(
        [None, Some(0), Some(0)],
        &[
            Work::Delete { source: 0 },
            Work::Reinsert { source: 0, value: 30 },
            insert(0),
            update(0, 10),
            RECOVER,
        ],
    )
}

/// A source is deleted while it is changed and copied. The references to it are emptied.
fn emptied() -> Commits {
    Commits {
        keeps: false,
        ..model(
            [None, Some(0), Some(0)],
            &[
                Work::Delete { source: 0 },
                insert(0),
                update(0, 10),
                update(0, 20),
                RECOVER,
            ],
        )
    }
}

/// The same, and the source comes back.
fn emptied_and_back() -> Commits {
    Commits {
        keeps: false,
        ..comes_back()
    }
}

/// A source whose references are emptied is deleted twice at one moment, and comes back.
fn emptied_twice_and_back() -> Commits {
    let delete = Work::Delete { source: 0 };
    let reinsert = Work::Reinsert { source: 0, value: 30 };
    Commits {
        keeps: false,
        ..model(
            [None, Some(0), None],
            &[delete, delete, reinsert, insert(0), update(0, 10)],
        )
    }
}

/// Changes of two fields: one that two holders copy by one reference, and one that a third copies by another.
fn two_fields() -> Commits {
    Commits {
        edges: [0, 0, 1],
        compares: true,
        ..model([Some(0); HOLDERS], &[update(0, 10), update(1, 20), RECOVER])
    }
}

/// Two who insert holders and one who changes their source in transactions, one who changes it without, and a recovery.
fn changed_alone() -> Commits {
    model(
        [Some(0), None, None],
        &[
            insert(1),
            insert(2),
            update(0, 10),
            update(0, 20).alone(),
            RECOVER,
        ],
    )
}

/// The same, where one inserts its holder without a transaction.
fn inserted_alone() -> Commits {
    model(
        [Some(0), None, None],
        &[
            insert(1),
            insert(2).alone(),
            update(0, 10),
            update(0, 20).alone(),
            RECOVER,
        ],
    )
}

/// Two who insert holders of one source and two who change it, each in a transaction or, where that meets another one, without; and
/// a recovery.
fn contended() -> Commits {
    Commits {
        gives_up: true,
        ..many()
    }
}

/// The same of two who set references and two who change the sources.
fn contended_pointing() -> Commits {
    Commits {
        gives_up: true,
        ..pointing()
    }
}

#[test]
fn copies_that_follow_a_commit_are_true() {
    holds("commits: two inserts, two updates, a recovery", many());
    holds(
        "commits: two inserts, two updates, a holder is deleted, a recovery",
        many_and_few(),
    );
    holds(
        "commits: two writes of a reference, two updates of its sources, a recovery",
        pointing(),
    );
    holds(
        "commits: a source is deleted and reinserted, an insert, an update, a recovery",
        comes_back(),
    );
    holds(
        "commits: a source is deleted, its references are emptied, an insert, two updates",
        emptied(),
    );
    holds(
        "commits: two inserts, an update, one without a transaction, a recovery",
        changed_alone(),
    );
    holds(
        "commits: an insert and an update with and one without a transaction, a recovery",
        inserted_alone(),
    );
    holds(
        "commits: two inserts, two updates, eventual when contended, a recovery",
        contended(),
    );
    holds(
        "commits: two writes of a reference, two updates, eventual when contended, a recovery",
        contended_pointing(),
    );
    holds("commits: updates of two fields, a recovery", two_fields());
    holds(
        "commits: a source is deleted, its references are emptied, it is reinserted",
        emptied_and_back(),
    );
    holds(
        "commits: a source is deleted twice, its references are emptied, it is reinserted",
        emptied_twice_and_back(),
    );
}

#[test]
fn each_safeguard_of_work_after_a_commit_is_needed() {
    let cases = [
        (
            "pending work in a transaction whose copies follow the commit",
            many(),
            Safeguard::PendingWorkInTransaction,
            AT_THE_END,
        ),
        (
            "lock of the source, with copies after the commit",
            many(),
            Safeguard::Lock,
            AT_THE_END,
        ),
        (
            "version in the filter of the lock, with copies after the commit",
            many(),
            Safeguard::VersionInLock,
            AT_THE_END,
        ),
        (
            "version in the filter of a batch",
            many(),
            Safeguard::VersionInDelivery,
            NEVER_OLDER,
        ),
        (
            "reference in the filter of a batch",
            pointing(),
            Safeguard::ReferenceInDelivery,
            AT_THE_END,
        ),
        (
            "reference in the filter of a batch, when references are emptied",
            emptied(),
            Safeguard::ReferenceInDelivery,
            AT_THE_END,
        ),
        (
            "ids in the filter that clears the pending work of a commit",
            many(),
            Safeguard::TokenInClear,
            AT_THE_END,
        ),
        (
            "version in the stored progress",
            many(),
            Safeguard::VersionInNote,
            AT_THE_END,
        ),
        (
            "updating the first holders after a delivery that began behind them",
            many(),
            Safeguard::FirstHolders,
            AT_THE_END,
        ),
        (
            "beginning of a delivery in the stored progress",
            many(),
            Safeguard::BeginningInNote,
            AT_THE_END,
        ),
        (
            "keeping the pending work of a delivery that was overtaken",
            two_fields(),
            Safeguard::PendingWhenOvertaken,
            AT_THE_END,
        ),
        (
            "continuing a delivery after a change of another field",
            two_fields(),
            Safeguard::GoingOn,
            RETURNED,
        ),
        (
            "waiting for open transactions in the pull of a write without one",
            inserted_alone(),
            Safeguard::LockInPull,
            AT_THE_END,
        ),
        (
            "pending work of a contended write that becomes eventual",
            contended(),
            Safeguard::PendingWorkOfEventual,
            AT_THE_END,
        ),
        (
            "waiting for open transactions in the pull of a contended insert",
            contended(),
            Safeguard::LockInPull,
            AT_THE_END,
        ),
        (
            "pending work in holders written between the checks of a deletion, with a reinserted source",
            emptied_and_back(),
            Safeguard::LateHolders,
            RETURNED,
        ),
        (
            "pending work in holders written between the checks of a deletion, with a source deleted twice",
            emptied_twice_and_back(),
            Safeguard::LateHolders,
            RETURNED,
        ),
        (
            "greater version of a reinserted source, with a late delivery",
            comes_back(),
            Safeguard::NewVersions,
            NEVER_BACK,
        ),
        (
            "second check of a deletion that empties references",
            emptied(),
            Safeguard::LookBehindDeletion,
            NOTHING_DANGLES,
        ),
        (
            "lock of a source that is deleted",
            emptied(),
            Safeguard::Lock,
            NOTHING_DANGLES,
        ),
        (
            "the recovery of what follows a commit",
            many(),
            Safeguard::Recovery,
            AT_THE_END,
        ),
    ];
    for (name, mut model, safeguard, property) in cases {
        model.without.push(safeguard);
        fails(name, model, property);
    }
}

//! Changes that one transaction passes on: copies of copies, and fields that are derived of copies.
//!
//! A holder copies `c` of its source, and has a field `b` of its own. Followers copy both of a holder, and a last document copies
//! `c` of a follower. A holder is also the child of a parent, which sums up `c`, and a report copies that sum. So a change of a
//! source is passed on in three layers: to holders, to followers and parents, to the last document and the report.
//!
//! A transaction is two steps: all that it reads and writes, and its commit. The order of its reads and writes makes no
//! difference, as in `commits.rs`; so a transaction that would write what another one has written waits here, and so does a
//! write without a transaction. It reads the values that it copies into a new document before it begins. Before the commit
//! readers can't see it, so the properties for readers are checked on the committed documents, in every state. The properties
//! of the end are checked in every state, too, after a recovery that runs there alone: each process may have died between two
//! of its steps.
//!
//! Left out: a child that leaves a parent which is not there (`parents.rs` has it), and the pull of a document whose own write
//! left pending work (`commits.rs`).
//!
//! The steps in the code: `fill::read()` (the copied values, before the transaction), `Effects::propagate()` (the documents
//! of the write) with `copy::rule::hold()`, `copy::rule::to_holders()` and `children::update_parents()`, `Effects::apply()` with
//! `Effects::next_layer()` (a layer), the commit, `drain::drain()` and `drain::apply_once()` (the work that follows the commit, or
//! that a dead process has left).

use crate::checking::{fails, holds};
use stateright::{Model, Property};

type Token = u8;

/// No pending work.
const NONE: Token = 0;
const SOURCES: usize = 2;
const HOLDERS: usize = 2;
const FOLLOWERS: usize = 2;
const PARENTS: usize = 2;

/// The kinds of pending work, and of what has changed: `c` of a holder or a follower, the value of a source, the sum of a
/// parent; `b`; and what a parent derives of children that were there before it.
const C: u8 = 1;
const B: u8 = 2;
const CHILDREN: u8 = 4;
const KINDS: usize = 3;

/// The pending work of a document: its operation, and for each kind the number of the write that left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Pending {
    by: Token,
    kinds: [u8; KINDS],
    /// The number of the last write that has left some in this document.
    last: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Source {
    version: u8,
    value: u8,
    pending: Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holder {
    to: u8,
    /// The version that `c` was taken of.
    copied: u8,
    c: u8,
    b: u8,
    parent: u8,
    version: u8,
    pending: Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Follower {
    to: u8,
    copied: u8,
    c: u8,
    b: u8,
    version: u8,
    pending: Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Parent {
    revision: u8,
    version: u8,
    sum: u8,
    pending: Pending,
}

/// A document that nothing is derived of: the last one of a follower, or the report of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Last {
    to: u8,
    copied: u8,
    copy: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Documents {
    sources: [Option<Source>; SOURCES],
    holders: [Option<Holder>; HOLDERS],
    followers: [Option<Follower>; FOLLOWERS],
    parents: [Option<Parent>; PARENTS],
    last: Option<Last>,
    report: Option<Last>,
}

/// A document of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Name {
    Source(u8),
    Holder(u8),
    Follower(u8),
    Parent(u8),
    Last,
    Report,
}

/// A transaction that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transaction {
    /// The snapshot with its own writes.
    sees: Documents,
    /// The documents that it has written: a bit for each.
    written: u16,
    /// The documents that the next layers begin with, with what has changed in them.
    passed_on: [u8; HOLDERS + FOLLOWERS + PARENTS],
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `Effects::end`: the changes of a delivery are passed on.
    PassingOn,
    /// `Effects::next_layer` reads the documents of a layer within the transaction, as it has changed them.
    ReadInTransaction,
    /// All layers are one transaction.
    OneTransaction,
    /// `Graph::passed_on` raises the version of a holder whose copy is copied, where a delivery writes that.
    VersionOfTheCopied,
    /// The same of a parent whose derived field is copied.
    VersionOfTheDerived,
    /// `copy::rule::hold` modifies the copied documents.
    Lock,
    /// `copy::rule::hold` does so on the condition that it has the version that was read.
    VersionInLock,
    /// `Effects::propagate` passes on the copies that `copy::rule::hold` has read again.
    TakenAgain,
    /// `pending::ChangedFields::with_pending`: earlier pending work of a document is applied together with a new change.
    NotedBefore,
    /// `copy::rule::to_holders` leaves pending work in the transaction where the copies are too many for it.
    TooMany,
    /// `Effects::next_layer` leaves pending work in children whose parent is not there.
    AbsentParent,
    /// `deliver::receives`: a delivery after the commit goes to older copies alone.
    VersionInDelivery,
    /// `Graph::passed_on` leaves pending work in what a delivery after the commit changes.
    PassingOnAfterCommit,
    /// `pending::clear` clears the work that was read, by the writes that left it.
    WriteInClear,
    /// `children::guarded`.
    RevisionInFilter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Update {
        source: u8,
        value: u8,
    },
    /// Changes `b` of a holder.
    UpdateHolder {
        holder: u8,
        value: u8,
    },
    /// Gives a holder another source.
    Point {
        holder: u8,
        to: u8,
    },
    /// Gives a holder another parent.
    Move {
        holder: u8,
        parent: u8,
    },
    InsertHolder {
        holder: u8,
        to: u8,
        parent: u8,
    },
    DeleteHolder {
        holder: u8,
    },
    InsertFollower {
        follower: u8,
        to: u8,
    },
    InsertLast {
        to: u8,
    },
    InsertReport {
        to: u8,
    },
    /// Without a transaction.
    InsertParent {
        parent: u8,
    },
    Recover,
}

/// Pending work as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Read {
    Source(u8, Source),
    Holder(u8, Holder),
    Follower(u8, Follower),
    Parent(u8, Parent),
}

/// A parent that is derived anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Refresh {
    parent: u8,
    revision: Option<u8>,
    sum: u8,
    /// How many of the holders have been read.
    read: u8,
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read what it copies: its version, `c` or the value or the sum, and `b`.
    Copies(u8, u8, u8),
    Commits(Transaction),
    /// The next layers as transactions of their own.
    Further([u8; HOLDERS + FOLLOWERS + PARENTS]),
    /// Looks for documents with its pending work.
    Drains,
    /// Delivers to the documents from this one on.
    Delivers(Read, u8),
    Refreshes(Read, Refresh),
    Clears(Read),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: Documents,
    at: Vec<At>,
}

#[derive(Clone, Debug)]
struct Layers {
    processes: Vec<Work>,
    sources: usize,
    /// The sources and parents of the holders that are there.
    holders: [Option<(u8, u8)>; HOLDERS],
    /// The holders of the followers that are there.
    followers: [Option<u8>; FOLLOWERS],
    parents: [bool; PARENTS],
    last: Option<u8>,
    report: Option<u8>,
    /// The maximum number of documents that a transaction delivers to.
    most: usize,
    without: Option<Safeguard>,
}

const fn place_of_holder(at: u8) -> usize {
    at as usize
}

const fn place_of_follower(at: u8) -> usize {
    HOLDERS + at as usize
}

const fn place_of_parent(at: u8) -> usize {
    HOLDERS + FOLLOWERS + at as usize
}

impl Name {
    fn bit(self) -> u16 {
        1 << match self {
            Name::Source(at) => at as usize,
            Name::Holder(at) => SOURCES + at as usize,
            Name::Follower(at) => SOURCES + HOLDERS + at as usize,
            Name::Parent(at) => SOURCES + HOLDERS + FOLLOWERS + at as usize,
            Name::Last => SOURCES + HOLDERS + FOLLOWERS + PARENTS,
            Name::Report => SOURCES + HOLDERS + FOLLOWERS + PARENTS + 1,
        }
    }
}

impl Pending {
    /// Leaves work of these kinds.
    fn leave(&mut self, by: Token, kinds: u8) {
        (self.by, self.last) = (by, self.last + 1);
        for (at, kind) in self.kinds.iter_mut().enumerate() {
            if kinds & 1 << at != 0 {
                *kind = self.last;
            }
        }
    }

    fn kinds(&self) -> u8 {
        let kinds = self.kinds.iter().enumerate().filter(|(_, kind)| **kind != 0);
        kinds.map(|(at, _)| 1 << at).sum()
    }

    /// `pending::clear`: clears the work that was read, and keeps that of later writes.
    fn clear(&mut self, read: &Pending, any: bool) {
        for (kind, read) in self.kinds.iter_mut().zip(&read.kinds) {
            if *read != 0 && (kind == read || any) {
                *kind = 0;
            }
        }
        if self.kinds == [0; KINDS] {
            self.by = NONE;
        }
    }
}

impl Documents {
    fn pending(&mut self, name: Name) -> Option<&mut Pending> {
        match name {
            Name::Source(at) => self.sources[at as usize].as_mut().map(|there| &mut there.pending),
            Name::Holder(at) => self.holders[at as usize].as_mut().map(|there| &mut there.pending),
            Name::Follower(at) => self.followers[at as usize]
                .as_mut()
                .map(|there| &mut there.pending),
            Name::Parent(at) => self.parents[at as usize].as_mut().map(|there| &mut there.pending),
            Name::Last | Name::Report => None,
        }
    }

    fn leave(&mut self, name: Name, by: Token, kinds: u8) {
        if let Some(pending) = self.pending(name) {
            pending.leave(by, kinds);
        }
    }

    fn holders_of(&self, source: u8) -> Vec<u8> {
        let is_one = |at: &u8| self.holders[*at as usize].is_some_and(|there| there.to == source);
        (0..HOLDERS as u8).filter(is_one).collect()
    }

    fn followers_of(&self, holders: &[u8]) -> Vec<u8> {
        let is_one = |at: &u8| self.followers[*at as usize].is_some_and(|there| holders.contains(&there.to));
        (0..FOLLOWERS as u8).filter(is_one).collect()
    }

    /// The sum of a parent's holders.
    fn sum(&self, parent: u8) -> u8 {
        let of = self
            .holders
            .iter()
            .flatten()
            .filter(|there| there.parent == parent);
        of.map(|there| there.c).sum()
    }
}

impl Transaction {
    fn write(&mut self, name: Name) {
        self.written |= name.bit();
    }

    /// `Effects::pass_on`
    fn pass_on(&mut self, place: usize, changed: u8) {
        self.passed_on[place] |= changed;
    }
}

impl State {
    /// Whether a transaction of another process has written one of these documents.
    fn is_held(&self, process: usize, documents: u16) -> bool {
        let others = self.at.iter().enumerate().filter(|(other, _)| *other != process);
        others
            .filter_map(|(_, at)| match at {
                At::Commits(open) => Some(open),
                _ => None,
            })
            .any(|open| open.written & documents != 0)
    }
}

impl Layers {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    /// The token of the pending work of a process.
    fn token(process: usize) -> Token {
        process as Token + 1
    }

    /// `deliver::statement`, from a source to one holder.
    fn to_holder(&self, documents: &mut Documents, source: u8, from: &Source, at: u8) -> bool {
        let Some(there) = &mut documents.holders[at as usize] else {
            return false;
        };
        let is_behind = there.copied < from.version || self.lacks(Safeguard::VersionInDelivery);
        if there.to != source || !is_behind {
            return false;
        }
        (there.c, there.copied) = (from.value, from.version);
        if !self.lacks(Safeguard::VersionOfTheCopied) {
            there.version += 1;
        }
        true
    }

    /// The same from a holder to one follower.
    fn to_follower(&self, documents: &mut Documents, holder: u8, from: &Holder, at: u8) -> bool {
        let Some(there) = &mut documents.followers[at as usize] else {
            return false;
        };
        let is_behind = there.copied < from.version || self.lacks(Safeguard::VersionInDelivery);
        if there.to != holder || !is_behind {
            return false;
        }
        (there.c, there.b, there.copied) = (from.c, from.b, from.version);
        there.version += 1;
        true
    }

    /// The same to the last document or a report.
    fn to_last(&self, last: &mut Option<Last>, to: u8, version: u8, value: u8) -> bool {
        let Some(there) = last else { return false };
        let is_behind = there.copied < version || self.lacks(Safeguard::VersionInDelivery);
        if there.to != to || !is_behind {
            return false;
        }
        (there.copy, there.copied) = (value, version);
        true
    }

    fn noted(&self, pending: &Pending) -> u8 {
        if self.lacks(Safeguard::NotedBefore) {
            0
        } else {
            pending.kinds()
        }
    }

    /// `copy::rule::to_holders`, of sources.
    fn deliver_source(&self, open: &mut Transaction, process: usize, at: u8) {
        let Some(from) = open.sees.sources[at as usize] else {
            return;
        };
        let to = open.sees.holders_of(at);
        if to.len() > self.most {
            if !self.lacks(Safeguard::TooMany) {
                open.sees.leave(Name::Source(at), Self::token(process), C);
            }
            return;
        }
        for to in to {
            if self.to_holder(&mut open.sees, at, &from, to) {
                open.write(Name::Holder(to));
                open.pass_on(place_of_holder(to), C);
            }
        }
    }

    /// The same of holders, with what has changed in each.
    fn deliver_holders(&self, open: &mut Transaction, process: usize, from: &[(u8, Holder, u8)]) {
        let changed: Vec<u8> = from
            .iter()
            .filter(|(.., changed)| changed & (B | C) != 0)
            .map(|(at, ..)| *at)
            .collect();
        let to = open.sees.followers_of(&changed);
        if to.len() > self.most {
            for (at, _, kinds) in from {
                if !self.lacks(Safeguard::TooMany) {
                    open.write(Name::Holder(*at));
                    open.sees.leave(Name::Holder(*at), Self::token(process), *kinds);
                }
            }
            return;
        }
        for to in to {
            for (at, from, changed) in from {
                if self.to_follower(&mut open.sees, *at, from, to) {
                    open.write(Name::Follower(to));
                    open.pass_on(place_of_follower(to), *changed & (B | C));
                }
            }
        }
    }

    /// Modifies a parent in a transaction: `children::write_parents`, or `children::refresh` in a layer.
    fn derive(&self, open: &mut Transaction, at: u8, sum: u8) -> bool {
        let Some(parent) = &mut open.sees.parents[at as usize] else {
            return false;
        };
        parent.sum = sum;
        parent.revision += 1;
        if !self.lacks(Safeguard::VersionOfTheDerived) {
            parent.version += 1;
        }
        open.write(Name::Parent(at));
        open.pass_on(place_of_parent(at), C);
        true
    }

    /// `children::update_parents`, of one holder: what is added to its parents, or derived anew in them.
    fn follow(
        &self,
        open: &mut Transaction,
        process: usize,
        at: u8,
        images: (Option<Holder>, Option<Holder>),
    ) {
        let (before, after) = images;
        let says = |holder: Option<Holder>| holder.map(|holder| (holder.parent, holder.c));
        if says(before) == says(after) {
            return;
        }
        let is_pending = before.is_some_and(|before| before.pending.by != NONE);
        let mut is_absent = false;
        for parent in 0..PARENTS as u8 {
            let of = |holder: Option<Holder>| holder.filter(|holder| holder.parent == parent);
            let (was, is) = (of(before), of(after));
            if was.is_none() && is.is_none() {
                continue;
            }
            let value = |holder: Option<Holder>| holder.map_or(0, |holder| holder.c);
            let stored = open.sees.parents[parent as usize].map_or(0, |parent| parent.sum);
            let sum = if is_pending {
                open.sees.sum(parent)
            } else {
                (stored + value(is)).saturating_sub(value(was))
            };
            is_absent |= !self.derive(open, parent, sum) && is.is_some();
        }
        if is_absent {
            open.write(Name::Holder(at));
            open.sees.leave(Name::Holder(at), Self::token(process), C);
        }
    }

    /// `Effects::propagate`, of one holder before and after the write; with the version that it has copied, if it has.
    fn propagate_holder(
        &self,
        open: &mut Transaction,
        process: usize,
        at: u8,
        before: Option<Holder>,
        copied: Option<u8>,
    ) {
        // Read before anything else is written.
        let after = open.sees.holders[at as usize];
        if let (Some(there), Some(copied)) = (after, copied)
            && !self.lacks(Safeguard::Lock)
        {
            open.write(Name::Source(there.to));
            let source = open.sees.sources[there.to as usize];
            if let Some(source) = source.filter(|source| source.version != copied)
                && !self.lacks(Safeguard::VersionInLock)
                && self.to_holder(&mut open.sees, there.to, &source, at)
                && !self.lacks(Safeguard::TakenAgain)
            {
                open.pass_on(place_of_holder(at), C);
            }
        }
        if let (Some(before), Some(after)) = (before, after) {
            let mut changed = if before.c != after.c { C } else { 0 };
            changed |= if before.b != after.b { B } else { 0 };
            if changed != 0 {
                let changed = changed | self.noted(&before.pending);
                self.deliver_holders(open, process, &[(at, after, changed)]);
            }
        }
        self.follow(open, process, at, (before, after));
    }

    /// `Effects::end`: the layers, the nearest first.
    fn end(&self, open: &mut Transaction, process: usize, outside: &Documents) {
        let layer = |open: &Transaction| {
            if self.lacks(Safeguard::ReadInTransaction) {
                *outside
            } else {
                open.sees
            }
        };
        // Holders.
        let sees = layer(open);
        let changed = |open: &Transaction, place: usize| open.passed_on[place];
        let mut documents: Vec<(u8, Holder, u8)> = Vec::new();
        for at in 0..HOLDERS as u8 {
            let kinds = changed(open, place_of_holder(at));
            if let Some(there) = sees.holders[at as usize].filter(|_| kinds != 0) {
                documents.push((at, there, kinds | self.noted(&there.pending)));
            }
            open.passed_on[place_of_holder(at)] = 0;
        }
        self.deliver_holders(open, process, &documents);
        let of_c = documents.iter().filter(|(.., kinds)| kinds & C != 0);
        let parents: Vec<u8> = of_c.clone().map(|(_, there, _)| there.parent).collect();
        for parent in 0..PARENTS as u8 {
            if parents.contains(&parent) {
                let sum = layer(open).sum(parent);
                if !self.derive(open, parent, sum) && !self.lacks(Safeguard::AbsentParent) {
                    for (at, ..) in of_c.clone().filter(|(_, there, _)| there.parent == parent) {
                        open.write(Name::Holder(*at));
                        open.sees.leave(Name::Holder(*at), Self::token(process), C);
                    }
                }
            }
        }
        // Followers and parents.
        for at in 0..FOLLOWERS as u8 {
            let kinds = std::mem::take(&mut open.passed_on[place_of_follower(at)]);
            if let Some(there) = layer(open).followers[at as usize].filter(|_| kinds != 0)
                && (kinds | self.noted(&there.pending)) & C != 0
                && self.to_last(&mut open.sees.last, at, there.version, there.c)
            {
                open.write(Name::Last);
            }
        }
        for at in 0..PARENTS as u8 {
            let kinds = std::mem::take(&mut open.passed_on[place_of_parent(at)]);
            if let Some(there) = layer(open).parents[at as usize].filter(|_| kinds != 0)
                && self.to_last(&mut open.sees.report, at, there.version, there.sum)
            {
                open.write(Name::Report);
            }
        }
    }

    /// All that a transaction reads and writes; `None` where there is nothing to write.
    fn transaction(
        &self,
        state: &State,
        process: usize,
        work: Work,
        read: (u8, u8, u8),
    ) -> Option<Transaction> {
        let mut open = Transaction {
            sees: state.documents,
            written: 0,
            passed_on: [0; HOLDERS + FOLLOWERS + PARENTS],
        };
        let (copied, c, b) = read;
        match work {
            Work::Update { source, value } => {
                let there = open.sees.sources[source as usize].as_mut()?;
                (there.value, there.version) = (value, there.version + 1);
                open.write(Name::Source(source));
                self.deliver_source(&mut open, process, source);
            }
            Work::UpdateHolder { holder, value } => {
                let there = open.sees.holders[holder as usize].as_mut()?;
                let before = *there;
                (there.b, there.version) = (value, there.version + 1);
                open.write(Name::Holder(holder));
                self.propagate_holder(&mut open, process, holder, Some(before), None);
            }
            Work::Point { holder, to } => {
                let there = open.sees.holders[holder as usize].as_mut()?;
                let before = *there;
                (there.to, there.c, there.copied, there.version) = (to, c, copied, there.version + 1);
                open.write(Name::Holder(holder));
                self.propagate_holder(&mut open, process, holder, Some(before), Some(copied));
            }
            Work::Move { holder, parent } => {
                let there = open.sees.holders[holder as usize].as_mut()?;
                let before = *there;
                there.parent = parent;
                open.write(Name::Holder(holder));
                self.propagate_holder(&mut open, process, holder, Some(before), None);
            }
            Work::InsertHolder { holder, to, parent } => {
                let new = Holder {
                    to,
                    copied,
                    c,
                    b: 0,
                    parent,
                    version: 1,
                    pending: Pending::default(),
                };
                open.sees.holders[holder as usize] = Some(new);
                open.write(Name::Holder(holder));
                self.propagate_holder(&mut open, process, holder, None, Some(copied));
            }
            Work::DeleteHolder { holder } => {
                let before = open.sees.holders[holder as usize].take()?;
                open.write(Name::Holder(holder));
                self.follow(&mut open, process, holder, (Some(before), None));
            }
            Work::InsertFollower { follower, to } => {
                let mut new = Follower {
                    to,
                    copied,
                    c,
                    b,
                    version: 1,
                    pending: Pending::default(),
                };
                if !self.lacks(Safeguard::Lock) {
                    let from = open.sees.holders[to as usize]?;
                    open.write(Name::Holder(to));
                    if from.version != copied && !self.lacks(Safeguard::VersionInLock) {
                        (new.c, new.b, new.copied) = (from.c, from.b, from.version);
                    }
                }
                open.sees.followers[follower as usize] = Some(new);
                open.write(Name::Follower(follower));
            }
            Work::InsertLast { to } | Work::InsertReport { to } => {
                let is_last = matches!(work, Work::InsertLast { .. });
                let mut new = Last { to, copied, copy: c };
                if !self.lacks(Safeguard::Lock) {
                    let (name, version, value) = if is_last {
                        let from = open.sees.followers[to as usize]?;
                        (Name::Follower(to), from.version, from.c)
                    } else {
                        let from = open.sees.parents[to as usize]?;
                        (Name::Parent(to), from.version, from.sum)
                    };
                    open.write(name);
                    if version != copied && !self.lacks(Safeguard::VersionInLock) {
                        (new.copied, new.copy) = (version, value);
                    }
                }
                let (name, place) = if is_last {
                    (Name::Last, &mut open.sees.last)
                } else {
                    (Name::Report, &mut open.sees.report)
                };
                *place = Some(new);
                open.write(name);
            }
            Work::InsertParent { .. } | Work::Recover => return None,
        }
        if !self.lacks(Safeguard::PassingOn) && !self.lacks(Safeguard::OneTransaction) {
            self.end(&mut open, process, &state.documents);
        }
        Some(open)
    }

    /// `fill::read`: what a write copies, read before its transaction; `None` where it is not there.
    fn read(&self, documents: &Documents, work: Work) -> Option<(u8, u8, u8)> {
        Some(match work {
            Work::Point { to, .. } | Work::InsertHolder { to, .. } => {
                let from = documents.sources[to as usize]?;
                (from.version, from.value, 0)
            }
            Work::InsertFollower { to, .. } => {
                let from = documents.holders[to as usize]?;
                (from.version, from.c, from.b)
            }
            Work::InsertLast { to } => {
                let from = documents.followers[to as usize]?;
                (from.version, from.c, 0)
            }
            Work::InsertReport { to } => {
                let from = documents.parents[to as usize]?;
                (from.version, from.sum, 0)
            }
            _ => (0, 0, 0),
        })
    }

    /// The next document with pending work: of this process, or of any.
    fn next_pending(documents: &Documents, by: Option<Token>) -> Option<Read> {
        let is_one = |pending: &Pending| match by {
            Some(by) => pending.by == by,
            None => pending.by != NONE,
        };
        let sources = documents.sources.iter().zip(0_u8..);
        let sources = sources.filter_map(|(there, at)| Some((at, (*there)?)));
        let holders = documents.holders.iter().zip(0_u8..);
        let holders = holders.filter_map(|(there, at)| Some((at, (*there)?)));
        let followers = documents.followers.iter().zip(0_u8..);
        let followers = followers.filter_map(|(there, at)| Some((at, (*there)?)));
        let parents = documents.parents.iter().zip(0_u8..);
        let parents = parents.filter_map(|(there, at)| Some((at, (*there)?)));
        sources
            .filter(|(_, there)| is_one(&there.pending))
            .map(|(at, there)| Read::Source(at, there))
            .chain(
                holders
                    .filter(|(_, there)| is_one(&there.pending))
                    .map(|(at, there)| Read::Holder(at, there)),
            )
            .chain(
                followers
                    .filter(|(_, there)| is_one(&there.pending))
                    .map(|(at, there)| Read::Follower(at, there)),
            )
            .chain(
                parents
                    .filter(|(_, there)| is_one(&there.pending))
                    .map(|(at, there)| Read::Parent(at, there)),
            )
            .next()
    }

    /// What comes behind the deliveries of a document.
    fn delivered(read: Read) -> At {
        let parent = match read {
            Read::Holder(_, there) if there.pending.kinds() & C != 0 => there.parent,
            Read::Parent(at, there) if there.pending.kinds() & CHILDREN != 0 => at,
            _ => return At::Clears(read),
        };
        let refresh = Refresh {
            parent,
            revision: None,
            sum: 0,
            read: 0,
        };
        At::Refreshes(read, refresh)
    }

    /// `drain::apply_once`: a delivery to one document; `None` where it waits.
    fn deliver(&self, state: &State, next: &mut State, process: usize, read: Read, to: u8) -> Option<At> {
        let by = Self::token(process);
        let documents = &mut next.documents;
        let (name, end) = match read {
            Read::Source(..) => (Name::Holder(to), HOLDERS),
            Read::Holder(..) => (Name::Follower(to), FOLLOWERS),
            Read::Follower(..) => (Name::Last, 1),
            Read::Parent(..) => (Name::Report, 1),
        };
        if usize::from(to) >= end {
            return Some(Self::delivered(read));
        }
        if state.is_held(process, name.bit()) {
            return None;
        }
        let pending = match read {
            Read::Source(_, there) => there.pending.kinds(),
            Read::Holder(_, there) => there.pending.kinds(),
            Read::Follower(_, there) => there.pending.kinds(),
            Read::Parent(_, there) => there.pending.kinds(),
        };
        let is_written = match read {
            Read::Source(at, from) => self.to_holder(documents, at, &from, to),
            Read::Holder(at, from) => self.to_follower(documents, at, &from, to),
            Read::Follower(at, from) => {
                pending & C != 0 && self.to_last(&mut documents.last, at, from.version, from.c)
            }
            Read::Parent(at, from) => {
                pending & C != 0 && self.to_last(&mut documents.report, at, from.version, from.sum)
            }
        };
        if is_written && !self.lacks(Safeguard::PassingOnAfterCommit) {
            let kinds = match read {
                Read::Source(..) => C,
                _ => pending & (B | C),
            };
            documents.leave(name, by, kinds);
        }
        Some(At::Delivers(read, to + 1))
    }

    /// One step of `children::refresh`; `None` where it waits.
    fn refresh(
        &self,
        state: &State,
        next: &mut State,
        process: usize,
        read: Read,
        mut refresh: Refresh,
    ) -> Option<At> {
        let documents = &mut next.documents;
        let Some(parent) = &mut documents.parents[refresh.parent as usize] else {
            return Some(At::Clears(read));
        };
        if refresh.revision.is_none() {
            refresh.revision = Some(parent.revision);
        } else if let Some(holder) = documents.holders.get(refresh.read as usize) {
            let holder = holder.filter(|holder| holder.parent == refresh.parent);
            refresh.sum += holder.map_or(0, |holder| holder.c);
            refresh.read += 1;
        } else if state.is_held(process, Name::Parent(refresh.parent).bit()) {
            return None;
        } else if refresh.revision == Some(parent.revision) || self.lacks(Safeguard::RevisionInFilter) {
            parent.sum = refresh.sum;
            parent.revision += 1;
            parent.version += 1;
            parent.pending.leave(Self::token(process), C);
            return Some(At::Clears(read));
        } else {
            refresh = Refresh {
                parent: refresh.parent,
                revision: None,
                sum: 0,
                read: 0,
            };
        }
        Some(At::Refreshes(read, refresh))
    }

    /// The next step of a process; `None` where it has returned, or waits.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Recover) => match Self::next_pending(&state.documents, None) {
                Some(read) => At::Delivers(read, 0),
                None => At::Done,
            },
            (At::Start, Work::InsertParent { parent }) => {
                if state.documents.parents[parent as usize].is_none() {
                    let new = Parent {
                        revision: 1,
                        version: 1,
                        sum: 0,
                        pending: Pending::default(),
                    };
                    next.documents.parents[parent as usize] = Some(new);
                    let name = Name::Parent(parent);
                    next.documents.leave(name, Self::token(process), CHILDREN);
                }
                At::Drains
            }
            (At::Start, _) => match self.read(&state.documents, work) {
                Some((copied, c, b)) => At::Copies(copied, c, b),
                None => At::Done,
            },
            (At::Copies(copied, c, b), _) => {
                match self.transaction(state, process, work, (copied, c, b)) {
                    // It is run again when the other one has ended.
                    Some(open) if state.is_held(process, open.written) => return None,
                    Some(open) => At::Commits(open),
                    None => At::Done,
                }
            }
            (At::Further(passed_on), _) => {
                let mut open = Transaction {
                    sees: state.documents,
                    written: 0,
                    passed_on,
                };
                self.end(&mut open, process, &state.documents);
                if state.is_held(process, open.written) {
                    return None;
                }
                At::Commits(open)
            }
            (At::Commits(open), _) => {
                commit(&mut next.documents, &open);
                if open.passed_on.iter().any(|changed| *changed != 0) && self.lacks(Safeguard::OneTransaction)
                {
                    At::Further(open.passed_on)
                } else {
                    At::Drains
                }
            }
            (At::Drains, _) => match Self::next_pending(&state.documents, Some(Self::token(process))) {
                Some(read) => At::Delivers(read, 0),
                None if work == Work::Recover => At::Start,
                None => At::Done,
            },
            (At::Delivers(read, to), _) => self.deliver(state, &mut next, process, read, to)?,
            (At::Refreshes(read, refresh), _) => self.refresh(state, &mut next, process, read, refresh)?,
            (At::Clears(read), _) => {
                let (name, was) = match read {
                    Read::Source(at, there) => (Name::Source(at), there.pending),
                    Read::Holder(at, there) => (Name::Holder(at), there.pending),
                    Read::Follower(at, there) => (Name::Follower(at), there.pending),
                    Read::Parent(at, there) => (Name::Parent(at), there.pending),
                };
                if state.is_held(process, name.bit()) {
                    return None;
                }
                let any = self.lacks(Safeguard::WriteInClear);
                if let Some(pending) = next.documents.pending(name) {
                    pending.clear(&was, any);
                }
                At::Drains
            }
        };
        next.at[process] = at;
        Some(next)
    }

    /// All processes have died, and one recovery runs.
    fn recovered(&self, state: &State) -> Option<State> {
        let mut state = state.clone();
        state.at.fill(At::Done);
        let process = state.at.len();
        state.at.push(At::Start);
        for _ in 0..STEPS {
            match self.step(&state, process, Work::Recover) {
                Some(next) => state = next,
                None => {
                    state.at.truncate(process);
                    return Some(state);
                }
            }
        }
        None
    }
}

/// More steps than a recovery takes that comes to an end.
const STEPS: usize = 300;

fn commit(documents: &mut Documents, open: &Transaction) {
    let is_written = |name: Name| open.written & name.bit() != 0;
    for at in 0..SOURCES as u8 {
        if is_written(Name::Source(at)) {
            documents.sources[at as usize] = open.sees.sources[at as usize];
        }
    }
    for at in 0..HOLDERS as u8 {
        if is_written(Name::Holder(at)) {
            documents.holders[at as usize] = open.sees.holders[at as usize];
        }
    }
    for at in 0..FOLLOWERS as u8 {
        if is_written(Name::Follower(at)) {
            documents.followers[at as usize] = open.sees.followers[at as usize];
        }
    }
    for at in 0..PARENTS as u8 {
        if is_written(Name::Parent(at)) {
            documents.parents[at as usize] = open.sees.parents[at as usize];
        }
    }
    if is_written(Name::Last) {
        documents.last = open.sees.last;
    }
    if is_written(Name::Report) {
        documents.report = open.sees.report;
    }
}

/// Whether each document has what those say that it is derived of, unless work is pending in one of these.
fn are_right(documents: &Documents) -> bool {
    let holders = documents.holders.iter().flatten().all(|there| {
        documents.sources[there.to as usize]
            .is_some_and(|from| from.pending.by != NONE || there.c == from.value)
    });
    let followers = documents.followers.iter().flatten().all(|there| {
        documents.holders[there.to as usize]
            .is_none_or(|from| from.pending.by != NONE || (there.c, there.b) == (from.c, from.b))
    });
    let parents = documents.parents.iter().zip(0_u8..).all(|(parent, at)| {
        let mut children = documents
            .holders
            .iter()
            .flatten()
            .filter(|there| there.parent == at);
        parent.is_none_or(|parent| {
            parent.pending.kinds[2] != 0
                || children.any(|there| there.pending.by != NONE)
                || parent.sum == documents.sum(at)
        })
    });
    let last = documents.last.is_none_or(|last| {
        documents.followers[last.to as usize]
            .is_some_and(|from| from.pending.by != NONE || last.copy == from.c)
    });
    let report = documents.report.is_none_or(|report| {
        documents.parents[report.to as usize]
            .is_some_and(|from| from.pending.by != NONE || report.copy == from.sum)
    });
    holders && followers && parents && last && report
}

/// The same, and nothing is pending.
fn are_true(documents: &Documents) -> bool {
    are_right(documents) && Layers::next_pending(documents, None).is_none()
}

const COMMITTED: &str = "what is committed is right in all layers, or says what work is pending";
const AT_THE_END: &str = "after a crash and a recovery, all layers are right";
const RETURNED: &str = "when all have returned, all layers are right";
const ALL_RETURN: &str = "all processes return";

impl Model for Layers {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let none = Pending::default();
        let value = |at: u8| at + 1;
        let source = |at: u8| Source {
            version: 1,
            value: value(at),
            pending: none,
        };
        let holder = |(to, parent): (u8, u8)| Holder {
            to,
            copied: 1,
            c: value(to),
            b: 0,
            parent,
            version: 1,
            pending: none,
        };
        let holders = self.holders.map(|of| of.map(holder));
        let c = |holder: u8| holders[holder as usize].map_or(0, |there| there.c);
        let follower = |to: u8| Follower {
            to,
            copied: 1,
            c: c(to),
            b: 0,
            version: 1,
            pending: none,
        };
        let followers = self.followers.map(|to| to.map(follower));
        let mut documents = Documents {
            sources: [0, 1].map(|at| (usize::from(at) < self.sources).then(|| source(at))),
            holders,
            followers,
            parents: [None; PARENTS],
            last: None,
            report: None,
        };
        let parent = |at: usize| Parent {
            revision: 1,
            version: 1,
            sum: documents.sum(at as u8),
            pending: none,
        };
        let parents = [0, 1].map(|at| self.parents[at].then(|| parent(at)));
        let of = |to: u8, copy: u8| Last { to, copied: 1, copy };
        documents.last = self
            .last
            .map(|to| of(to, followers[to as usize].map_or(0, |from| from.c)));
        documents.report = self
            .report
            .map(|to| of(to, parents[to as usize].map_or(0, |from| from.sum)));
        documents.parents = parents;
        vec![State {
            documents,
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
            Property::always(COMMITTED, |_, state: &State| are_right(&state.documents)),
            Property::always(AT_THE_END, |model: &Layers, state: &State| {
                let recovered = model.recovered(state);
                recovered.is_some_and(|recovered| are_true(&recovered.documents))
            }),
            Property::always(RETURNED, |_, state: &State| {
                state.at.iter().any(|at| *at != At::Done) || are_true(&state.documents)
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| {
                state.at.iter().all(|at| *at == At::Done)
            }),
        ]
    }
}

/// A source with a holder, which has a follower and a parent; these have a last document and a report.
fn model(works: &[Work]) -> Layers {
    Layers {
        processes: works.to_vec(),
        sources: 1,
        holders: [Some((0, 0)), None],
        followers: [Some(0), None],
        parents: [true, true],
        last: Some(0),
        report: Some(0),
        most: 2,
        without: None,
    }
}

fn update(value: u8) -> Work {
    Work::Update { source: 0, value }
}

/// A source changes while documents come to the layers of copies.
fn copies() -> Layers {
    let follower = Work::InsertFollower { follower: 0, to: 0 };
    Layers {
        followers: [None; FOLLOWERS],
        last: None,
        ..model(&[update(5), follower, Work::InsertLast { to: 0 }, update(7)])
    }
}

/// The same in the layers of what is derived.
fn derived() -> Layers {
    let holder = Work::InsertHolder {
        holder: 1,
        to: 0,
        parent: 0,
    };
    Layers {
        report: None,
        ..model(&[update(5), holder, Work::InsertReport { to: 0 }, update(7)])
    }
}

/// A holder comes to another source and another parent, and another one goes, while the sources change.
fn moves() -> Layers {
    let other = Work::Update { source: 1, value: 7 };
    let point = Work::Point { holder: 0, to: 1 };
    let to = Work::Move { holder: 0, parent: 1 };
    Layers {
        sources: 2,
        holders: [Some((0, 0)), Some((0, 0))],
        ..model(&[update(5), other, point, to, Work::DeleteHolder { holder: 1 }])
    }
}

/// A parent comes while the source of its children changes.
fn late_parent() -> Layers {
    let holder = Work::InsertHolder {
        holder: 1,
        to: 0,
        parent: 0,
    };
    Layers {
        parents: [false, true],
        report: None,
        ..model(&[update(5), Work::InsertParent { parent: 0 }, holder])
    }
}

/// A source has more holders than its transaction delivers to, and one of these changes.
fn too_many() -> Layers {
    let own = Work::UpdateHolder { holder: 0, value: 9 };
    Layers {
        holders: [Some((0, 0)), Some((0, 0))],
        most: 1,
        ..model(&[update(5), own, Work::Recover])
    }
}

/// The same with two changes, and a holder that goes to another parent.
fn too_many_move() -> Layers {
    let to = Work::Move { holder: 0, parent: 1 };
    Layers {
        holders: [Some((0, 0)), Some((0, 0))],
        most: 1,
        ..model(&[update(5), to, update(7)])
    }
}

/// The same, where the parent of these holders comes meanwhile.
fn too_many_late_parent() -> Layers {
    Layers {
        holders: [Some((0, 0)), Some((0, 0))],
        parents: [false, true],
        followers: [None; FOLLOWERS],
        last: None,
        report: None,
        most: 1,
        ..model(&[update(5), Work::InsertParent { parent: 0 }])
    }
}

/// A holder has more followers than a transaction delivers to, and one comes.
fn too_many_below() -> Layers {
    let point = Work::Point { holder: 0, to: 1 };
    Layers {
        sources: 2,
        followers: [Some(0), Some(0)],
        report: None,
        most: 1,
        ..model(&[update(5), point, Work::UpdateHolder { holder: 0, value: 9 }])
    }
}

#[test]
fn all_layers_are_true_at_every_commit() {
    for (name, model) in [
        (
            "layers: two updates of a source, copies of copies are inserted",
            copies(),
        ),
        (
            "layers: two updates of a source, a child and a copy of the sum are inserted",
            derived(),
        ),
        (
            "layers: updates of two sources, a holder moves in both ways, another is deleted",
            moves(),
        ),
        (
            "layers: an update of a source, a parent and its child are inserted",
            late_parent(),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn all_layers_become_true_behind_a_commit() {
    for (name, model) in [
        (
            "layers: too many holders, one of them is changed, a recovery",
            too_many(),
        ),
        (
            "layers: too many holders, two updates, one of them moves",
            too_many_move(),
        ),
        (
            "layers: too many holders, an update, their parent is inserted",
            too_many_late_parent(),
        ),
        (
            "layers: too many followers, three changes of their holder",
            too_many_below(),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn each_safeguard_of_passing_on_in_a_transaction_is_needed() {
    let cases = [
        (
            "passing on in a transaction",
            copies(),
            Safeguard::PassingOn,
            COMMITTED,
        ),
        (
            "reading a layer in the transaction that has changed it",
            copies(),
            Safeguard::ReadInTransaction,
            COMMITTED,
        ),
        (
            "one transaction for all layers",
            copies(),
            Safeguard::OneTransaction,
            COMMITTED,
        ),
        (
            "raising the version of a holder whose copy is copied",
            copies(),
            Safeguard::VersionOfTheCopied,
            COMMITTED,
        ),
        (
            "raising the version of a parent whose sum is copied",
            derived(),
            Safeguard::VersionOfTheDerived,
            COMMITTED,
        ),
        (
            "lock of a holder whose copy is copied",
            copies(),
            Safeguard::Lock,
            COMMITTED,
        ),
        (
            "lock of a parent whose sum is copied",
            derived(),
            Safeguard::Lock,
            COMMITTED,
        ),
        (
            "version in the filter of the lock of a holder",
            copies(),
            Safeguard::VersionInLock,
            COMMITTED,
        ),
        (
            "passing on a copy that was taken again",
            derived(),
            Safeguard::TakenAgain,
            COMMITTED,
        ),
        (
            "applying earlier pending work together with a change",
            too_many(),
            Safeguard::NotedBefore,
            AT_THE_END,
        ),
        (
            "pending work of a source with too many holders",
            too_many(),
            Safeguard::TooMany,
            COMMITTED,
        ),
        (
            "pending work of a holder with too many followers",
            too_many_below(),
            Safeguard::TooMany,
            COMMITTED,
        ),
        (
            "pending work of a child with a new copy and a missing parent",
            late_parent(),
            Safeguard::AbsentParent,
            AT_THE_END,
        ),
        (
            "version in the filter of a delivery after the commit",
            too_many_move(),
            Safeguard::VersionInDelivery,
            AT_THE_END,
        ),
        (
            "pending work of a copied copy that is updated after the commit",
            too_many(),
            Safeguard::PassingOnAfterCommit,
            AT_THE_END,
        ),
        (
            "write id in the filter that clears pending work, beside transactions",
            too_many_move(),
            Safeguard::WriteInClear,
            AT_THE_END,
        ),
        (
            "revision in the filter of a refresh after the commit",
            too_many_move(),
            Safeguard::RevisionInFilter,
            AT_THE_END,
        ),
    ];
    for (name, model, safeguard, property) in cases {
        let without = Some(safeguard);
        fails(name, Layers { without, ..model }, property);
    }
}

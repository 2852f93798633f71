//! Derived fields of parents, kept in the transaction that writes their children.
//!
//! A parent has a sum of its children's values, to which a transaction adds, and the greatest of the values (or a subset of
//! one element), which is raised by a new child and derived anew from all children otherwise. Children don't ask for their parent,
//! so it may be inserted after them.
//!
//! A transaction sees the snapshot of its first read, with its own writes. It is rolled back and run again at its first write of
//! a document that another open transaction has written, or that another process has committed since. A write without a
//! transaction (pending work, an out-of-band write, the insertion of a parent) waits while a transaction has the document. Before
//! its commit readers can't see a transaction, so the properties for readers are checked on the committed documents, in every
//! state. The properties of the end are checked in every state too, after a recovery that runs there alone: a transaction that
//! was open is rolled back then.
//!
//! The steps in the code: `propagate::read_before()` (the children before the write), the write itself, `children::update_parents()`
//! and `children::write_parents()` (the parents), `Effects::propagate()` (parents that are not there), the commit,
//! `DeferredWork::drain()`.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

type Token = u8;

/// No pending work.
const NONE: Token = 0;
const CHILDREN: usize = 2;
const PARENTS: usize = 2;
/// The processes that may note the parents of children that went.
const NOTES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Child {
    value: u8,
    parent: u8,
    pending: Token,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Derived {
    sum: i8,
    greatest: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Parent {
    revision: u8,
    derived: Derived,
    /// The work of deriving its fields from children that were there before it.
    pending: Token,
}

type Images = [Option<Child>; CHILDREN];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Documents {
    children: Images,
    parents: [Option<Parent>; PARENTS],
    /// The parents that a process has noted, since they were not there when children left them: a bit for each.
    notes: [u8; NOTES],
}

/// A transaction that is open. Documents are bits: first the children, then the parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transaction {
    /// The snapshot with its own writes.
    sees: Documents,
    /// The documents that it has written.
    written: u8,
    /// Those that others have committed since its snapshot.
    changed: u8,
    /// The children before the write.
    before: Images,
    /// The values that are derived anew in the parents.
    derived: [Derived; PARENTS],
    /// The parents that were not there.
    absent: u8,
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `Odm::transaction`: the read concern `snapshot`. Without it, each command reads what is committed by then.
    Snapshot,
    /// `Obligations::in_transaction`: the write and its parents in one transaction.
    OneTransaction,
    /// `Odm::transaction` runs all of it again, also the read of the children before the write.
    ReadWhenRunAgain,
    /// `delete::erase` reads in the transaction what the deletion has found before it.
    ReadOfTheDeleted,
    /// `children::update_parents` changes also the parent that a child leaves.
    PreviousParent,
    /// `children::write_parents` raises the revision of each parent that it touches, so the parent is modified whatever its fields
    /// come to.
    RevisionRaised,
    /// `children::one` derives anew where the child has pending work: its parent may not know its value.
    AnewWherePending,
    /// `children::without` adds nothing to what `children::write_parents` derives anew.
    AnewInsteadOfAdding,
    /// `children::guarded`: pending work writes a parent on the condition that it has the revision that was read.
    RevisionInFilter,
    /// `children::refresh` reads the revision before the children.
    RevisionBeforeChildren,
    /// `pending::clear` clears pending work if it is that which was read.
    TokenInClear,
    /// `leave_for_alone` leaves pending work in children whose parent is not there.
    AbsentParent,
    /// `orphans::note`: the parents that children leave and that are not there.
    Note,
    /// `DeferredWork::drain` clears the note after the parents are derived.
    NoteUntilDerived,
    /// `DeferredWork::drain` derives, after the commit, the fields of parents that were not there.
    AfterCommit,
    /// `Deriving::fill_new` leaves pending work in a parent that may have children before it (`CHILDREN`).
    PendingParent,
    /// `children::adopt` asks also which parents hold something without having children.
    HoldsWithoutChildren,
    /// `children::adopt` asks that last.
    HoldsLast,
    /// `pending::first_version`: a parent that comes back has a greater revision than before.
    NewRevisions,
    /// `reconcile::repair`: derives the fields that out-of-band writes affect.
    Reconciler,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Insert {
        child: u8,
        parent: u8,
        value: u8,
    },
    Update {
        child: u8,
        value: u8,
    },
    /// One write of all children.
    UpdateAll {
        value: u8,
    },
    Move {
        child: u8,
        parent: u8,
    },
    /// One write that takes all children to a parent.
    MoveAll {
        parent: u8,
    },
    Delete {
        child: u8,
    },
    /// A write without a transaction that leaves pending work: what is put back or taken back, or `consistency = eventual` beside.
    Eventual {
        child: u8,
        value: u8,
    },
    OutOfBand {
        child: u8,
        value: u8,
    },
    /// Takes up, from the change stream, what has no mark of the library's.
    Reconcile,
    InsertParent {
        parent: u8,
    },
    DeleteParent {
        parent: u8,
    },
    Recover,
}

/// The pending work that is being drained, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pending {
    /// With the parents that are derived afterwards.
    Child(u8, Child, u8),
    Parent(u8, Parent),
    /// Parents that were not there in a transaction of this process, and those of them that are still to be derived.
    Left(u8, u8),
    /// Parents for the reconciler.
    Changes(u8),
}

/// A parent that is derived anew without a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Refresh {
    parent: u8,
    revision: Option<u8>,
    seen: [u8; CHILDREN],
    /// How many of the children have been read.
    read: u8,
}

/// Where a process stands: what it does next, with what it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has found what it deletes, before its transaction.
    Found(Images),
    /// Runs again with what it has read the first time.
    Again(Images),
    /// Writes the children.
    Writes(Transaction),
    /// Derives anew in these parents, from the children in its snapshot: a bit for each.
    Derives(Transaction, u8),
    /// Writes these parents. After the last one it leaves pending work for those that are not there.
    Parents(Transaction, u8),
    Commits(Transaction),
    /// Looks for its own pending work, and derives these parents afterwards.
    Drains(u8),
    /// Has asked whether this parent has children, and whether it holds something.
    Adopts(Pending, Option<bool>, Option<bool>),
    Refreshes(Pending, Refresh),
    Clears(Pending),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    documents: Documents,
    at: Vec<At>,
    /// How far each recovery has come in the documents.
    looked: Vec<u8>,
    /// The changes in the stream that no reconciler has taken up: children, and parents that children have left.
    changes: [u8; 2],
    /// The changes that a reconciler has taken up, and not ended.
    taken: [u8; 2],
    /// The greatest revision that each parent has had, which the clock and the invariants know.
    revisions: [u8; PARENTS],
}

#[derive(Clone, Debug)]
struct Parents {
    processes: Vec<Work>,
    /// The parents of the children that are there at the beginning.
    children: [Option<u8>; CHILDREN],
    /// The parents that are there.
    parents: [bool; PARENTS],
    sum: bool,
    greatest: bool,
    without: Option<Safeguard>,
}

/// What writes mean for one parent.
#[derive(Default)]
struct Change {
    touched: bool,
    anew_sum: bool,
    anew_greatest: bool,
    add: i8,
    push: u8,
}

fn child_bit(child: u8) -> u8 {
    1 << child
}

fn parent_bit(parent: u8) -> u8 {
    1 << (CHILDREN as u8 + parent)
}

/// The numbers of the bits that are set.
fn bits(set: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |bit| set & 1 << bit != 0)
}

impl Work {
    fn is_transaction(self) -> bool {
        matches!(
            self,
            Work::Insert { .. }
                | Work::Update { .. }
                | Work::UpdateAll { .. }
                | Work::Move { .. }
                | Work::MoveAll { .. }
                | Work::Delete { .. }
        )
    }

    /// The children that its transaction writes: a bit for each.
    fn children(self) -> u8 {
        match self {
            Work::Insert { child, .. }
            | Work::Update { child, .. }
            | Work::Move { child, .. }
            | Work::Delete { child } => child_bit(child),
            Work::UpdateAll { .. } | Work::MoveAll { .. } => (1 << CHILDREN) - 1,
            _ => 0,
        }
    }

    /// A child after its write.
    fn written(self, before: Option<Child>) -> Option<Child> {
        match self {
            Work::Insert { parent, value, .. } => Some(Child {
                value,
                parent,
                pending: NONE,
            }),
            Work::Update { value, .. } | Work::UpdateAll { value } => {
                before.map(|child| Child { value, ..child })
            }
            Work::Move { parent, .. } | Work::MoveAll { parent } => {
                before.map(|child| Child { parent, ..child })
            }
            _ => None,
        }
    }

    /// The token of its pending work.
    fn token(process: usize) -> Token {
        process as u8 + 1
    }
}

impl State {
    fn others(&self, process: usize) -> impl Iterator<Item = &Transaction> {
        let others = self
            .at
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != process);
        others.filter_map(|(_, at)| match at {
            At::Writes(open) | At::Derives(open, _) | At::Parents(open, _) | At::Commits(open) => Some(open),
            _ => None,
        })
    }

    /// Whether a transaction of another process has written one of these documents.
    fn is_held(&self, process: usize, documents: u8) -> bool {
        self.others(process).any(|open| open.written & documents != 0)
    }

    /// Tells the open transactions that these documents are not as in their snapshots any more.
    fn committed(&mut self, documents: u8) {
        for at in &mut self.at {
            if let At::Writes(open) | At::Derives(open, _) | At::Parents(open, _) | At::Commits(open) = at {
                open.changed |= documents;
            }
        }
    }

    fn commit(&mut self, process: usize, open: &Transaction, has_reconciler: bool) {
        for child in bits(open.written).filter(|bit| usize::from(*bit) < CHILDREN) {
            let new = open.sees.children[child as usize];
            let old = std::mem::replace(&mut self.documents.children[child as usize], new);
            // In an atomic child the library leaves no mark, so the reconciler takes it up, too, with the parent of before.
            let is_marked = new.is_some_and(|new| old.is_some_and(|old| new.pending != old.pending));
            if has_reconciler && !is_marked {
                self.changes[0] |= child_bit(child);
                let left = old.filter(|old| new.is_none_or(|new| new.parent != old.parent));
                self.changes[1] |= left.map_or(0, |old| 1 << old.parent);
            }
        }
        for parent in 0..PARENTS {
            if open.written & parent_bit(parent as u8) != 0 {
                let new = open.sees.parents[parent];
                self.documents.parents[parent] = new;
                self.revisions[parent] = self.revisions[parent].max(new.map_or(0, |new| new.revision));
            }
        }
        if open.sees.notes[process % NOTES] != 0 {
            self.documents.notes[process % NOTES] = open.sees.notes[process % NOTES];
        }
        self.at[process] = At::Done;
        self.committed(open.written);
    }
}

impl Parents {
    fn lacks(&self, safeguard: Safeguard) -> bool {
        self.without == Some(safeguard)
    }

    fn has_reconciler(&self) -> bool {
        self.processes.contains(&Work::Reconcile)
    }

    fn derived(&self, children: impl Iterator<Item = u8>) -> Derived {
        let mut derived = Derived::default();
        for value in children {
            derived.sum += if self.sum { value as i8 } else { 0 };
            derived.greatest = derived.greatest.max(if self.greatest { value } else { 0 });
        }
        derived
    }

    /// The derived fields of a parent, as its stored children have them.
    fn said(&self, children: &Images, parent: u8) -> Derived {
        let of = children.iter().flatten().filter(|child| child.parent == parent);
        self.derived(of.map(|child| child.value))
    }

    /// `children::update_parents` and `children::one`, for one parent.
    fn change(&self, open: &Transaction, own: u8, parent: u8) -> Change {
        let mut change = Change::default();
        for at in bits(own) {
            let (before, after) = (open.before[at as usize], open.sees.children[at as usize]);
            let (was, is) = (
                before.filter(|child| child.parent == parent),
                after.filter(|child| child.parent == parent),
            );
            let says = |child: Option<Child>| child.map(|child| (child.value, child.parent));
            let leaves = was.is_some() && is.is_none() && after.is_some();
            if was.is_none() && is.is_none()
                || says(before) == says(after)
                || leaves && self.lacks(Safeguard::PreviousParent)
            {
                continue;
            }
            change.touched = true;
            let is_pending = before.is_some_and(|child| child.pending != NONE);
            if is_pending && !self.lacks(Safeguard::AnewWherePending) {
                (change.anew_sum, change.anew_greatest) = (true, true);
                continue;
            }
            change.add += is.map_or(0, |child| child.value as i8) - was.map_or(0, |child| child.value as i8);
            match before {
                None => change.push = change.push.max(is.map_or(0, |child| child.value)),
                Some(_) => change.anew_greatest = true,
            }
        }
        change.anew_sum &= self.sum;
        change.anew_greatest &= self.greatest;
        change.add *= i8::from(self.sum);
        change.push *= u8::from(self.greatest);
        change
    }

    /// Notes that a transaction writes a document; `false` where it is to be run again.
    fn write(&self, state: &State, process: usize, open: &mut Transaction, document: u8) -> bool {
        if open.changed & document != 0 || state.is_held(process, document) {
            return false;
        }
        open.written |= document;
        true
    }

    fn run_again(&self, open: &Transaction) -> At {
        if self.lacks(Safeguard::ReadWhenRunAgain) {
            At::Again(open.before)
        } else {
            At::Start
        }
    }

    fn begin(&self, state: &State, before: Images) -> Transaction {
        Transaction {
            sees: state.documents,
            written: 0,
            changed: 0,
            before,
            derived: [Derived::default(); PARENTS],
            absent: 0,
        }
    }

    /// Without the snapshot: what others have committed is seen by the next command.
    fn seeing(&self, state: &State, open: Transaction) -> Transaction {
        if !self.lacks(Safeguard::Snapshot) {
            return open;
        }
        let mut sees = state.documents;
        for at in 0..CHILDREN {
            if open.written & child_bit(at as u8) != 0 {
                sees.children[at] = open.sees.children[at];
            }
        }
        for at in 0..PARENTS {
            if open.written & parent_bit(at as u8) != 0 {
                sees.parents[at] = open.sees.parents[at];
            }
        }
        Transaction {
            sees,
            changed: 0,
            ..open
        }
    }

    /// The steps of a transaction.
    fn transaction(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        let own = work.children();
        let at = match state.at[process] {
            At::Start if matches!(work, Work::Delete { .. }) => At::Found(state.documents.children),
            At::Start => At::Writes(self.begin(state, state.documents.children)),
            At::Found(images) => {
                let before = if self.lacks(Safeguard::ReadOfTheDeleted) {
                    images
                } else {
                    state.documents.children
                };
                At::Writes(self.begin(state, before))
            }
            At::Again(before) => At::Writes(self.begin(state, before)),
            At::Writes(open) => {
                let mut open = self.seeing(state, open);
                let is_insert = matches!(work, Work::Insert { .. });
                let there: u8 = bits(own)
                    .filter(|at| open.sees.children[*at as usize].is_some() != is_insert)
                    .map(child_bit)
                    .sum();
                if !bits(there).all(|at| self.write(state, process, &mut open, child_bit(at))) {
                    next.at[process] = self.run_again(&open);
                    return Some(next);
                }
                for at in bits(there) {
                    let child = &mut open.sees.children[at as usize];
                    *child = work.written(*child);
                }
                let touched = |open: &Transaction| -> u8 {
                    let touched = (0..PARENTS as u8).filter(|at| self.change(open, there, *at).touched);
                    touched.map(|at| 1 << at).sum()
                };
                if there == 0 {
                    // It is there already, or is not there.
                    At::Done
                } else if self.lacks(Safeguard::OneTransaction) {
                    let (before, after) = (open.before, open.sees.children);
                    next.commit(process, &open, self.has_reconciler());
                    let mut open = self.begin(&next, before);
                    open.sees.children = after;
                    At::Derives(open, touched(&open))
                } else {
                    At::Derives(open, touched(&open))
                }
            }
            At::Derives(open, touched) => {
                let mut open = self.seeing(state, open);
                for at in bits(touched) {
                    let change = self.change(&open, own, at);
                    if change.anew_sum || change.anew_greatest {
                        open.derived[at as usize] = self.said(&open.sees.children, at);
                    }
                }
                At::Parents(open, touched)
            }
            At::Parents(open, rest) => {
                let mut open = self.seeing(state, open);
                let Some(at) = bits(rest).next() else {
                    self.leave(process, own, &mut open);
                    next.at[process] = At::Commits(open);
                    return Some(next);
                };
                let change = self.change(&open, own, at);
                match open.sees.parents[at as usize] {
                    None => open.absent |= 1 << at,
                    Some(before) => {
                        let mut parent = before;
                        let derived = open.derived[at as usize];
                        if change.anew_sum {
                            parent.derived.sum = derived.sum;
                        }
                        if !change.anew_sum || self.lacks(Safeguard::AnewInsteadOfAdding) {
                            parent.derived.sum += change.add;
                        }
                        parent.derived.greatest = if change.anew_greatest {
                            derived.greatest
                        } else {
                            parent.derived.greatest.max(change.push)
                        };
                        if !self.lacks(Safeguard::RevisionRaised) {
                            parent.revision += 1;
                        }
                        // What changes nothing is no write.
                        if parent != before && !self.write(state, process, &mut open, parent_bit(at)) {
                            next.at[process] = self.run_again(&open);
                            return Some(next);
                        }
                        open.sees.parents[at as usize] = Some(parent);
                    }
                }
                At::Parents(open, rest & !(1 << at))
            }
            At::Commits(open) => {
                next.commit(process, &open, self.has_reconciler());
                match open.absent {
                    0 => At::Done,
                    _ if self.lacks(Safeguard::AfterCommit) => At::Done,
                    absent => At::Drains(absent),
                }
            }
            _ => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    /// `Effects::propagate`: the work that is left for the time after the commit, where parents are not there.
    fn leave(&self, process: usize, own: u8, open: &mut Transaction) {
        let mut named = 0;
        for at in bits(own) {
            if let Some(child) = &mut open.sees.children[at as usize]
                && open.absent & 1 << child.parent != 0
            {
                named |= 1 << child.parent;
                if !self.lacks(Safeguard::AbsentParent) {
                    child.pending = Work::token(process);
                }
            }
        }
        if !self.lacks(Safeguard::Note) {
            open.sees.notes[process % NOTES] = open.absent & !named;
        }
    }

    /// The first step of draining pending work.
    fn drain(&self, pending: Pending) -> At {
        let refresh = |parent: u8| {
            let refresh = Refresh {
                parent,
                revision: None,
                seen: [0; CHILDREN],
                read: 0,
            };
            At::Refreshes(pending, refresh)
        };
        match pending {
            Pending::Child(_, child, _) => refresh(child.parent),
            Pending::Parent(..) => At::Adopts(pending, None, None),
            Pending::Left(_, rest) | Pending::Changes(rest) => match bits(rest).next() {
                Some(parent) => refresh(parent),
                None => At::Clears(pending),
            },
        }
    }

    /// What comes behind a parent that was derived.
    fn drained(&self, pending: Pending, parent: u8) -> At {
        match pending {
            Pending::Child(..) | Pending::Parent(..) => At::Clears(pending),
            Pending::Left(by, rest) => self.drain(Pending::Left(by, rest & !(1 << parent))),
            Pending::Changes(rest) => self.drain(Pending::Changes(rest & !(1 << parent))),
        }
    }

    /// One step of `children::refresh`; `None` where it waits.
    fn refresh(
        &self,
        next: &mut State,
        process: usize,
        pending: Pending,
        mut refresh: Refresh,
    ) -> Option<At> {
        let is_held = next.is_held(process, parent_bit(refresh.parent));
        let Some(parent) = &mut next.documents.parents[refresh.parent as usize] else {
            return Some(self.drained(pending, refresh.parent));
        };
        let before = if self.lacks(Safeguard::RevisionBeforeChildren) {
            CHILDREN as u8
        } else {
            0
        };
        if refresh.revision.is_none() && refresh.read == before {
            refresh.revision = Some(parent.revision);
        } else if let Some(child) = next.documents.children.get(refresh.read as usize) {
            let child = child.filter(|child| child.parent == refresh.parent);
            refresh.seen[refresh.read as usize] = child.map_or(0, |child| child.value);
            refresh.read += 1;
        } else if is_held {
            return None;
        } else if refresh.revision == Some(parent.revision) || self.lacks(Safeguard::RevisionInFilter) {
            parent.derived = self.derived(refresh.seen.into_iter());
            parent.revision += 1;
            let greatest = &mut next.revisions[refresh.parent as usize];
            *greatest = parent.revision.max(*greatest);
            next.committed(parent_bit(refresh.parent));
            return Some(self.drained(pending, refresh.parent));
        } else {
            refresh = Refresh {
                revision: None,
                seen: [0; CHILDREN],
                read: 0,
                ..refresh
            };
        }
        Some(At::Refreshes(pending, refresh))
    }

    /// The next step of a process; `None` where it has returned, or waits.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let token = Work::token(process);
        let mut next = state.clone();
        let at = match (state.at[process], work) {
            (At::Done, _) => return None,
            (
                At::Start
                | At::Found(_)
                | At::Again(_)
                | At::Writes(_)
                | At::Parents(..)
                | At::Derives(..)
                | At::Commits(_),
                work,
            ) if work.is_transaction() => return self.transaction(state, process, work),
            (At::Start, Work::Eventual { child, value } | Work::OutOfBand { child, value }) => {
                if state.is_held(process, child_bit(child)) {
                    return None;
                }
                match (&mut next.documents.children[child as usize], work) {
                    (None, _) => At::Done,
                    (Some(there), Work::Eventual { .. }) => {
                        (there.value, there.pending) = (value, token);
                        next.committed(child_bit(child));
                        At::Drains(0)
                    }
                    (Some(there), _) => {
                        there.value = value;
                        next.changes[0] |= child_bit(child);
                        next.committed(child_bit(child));
                        At::Done
                    }
                }
            }
            (At::Start, Work::DeleteParent { parent }) => {
                if state.is_held(process, parent_bit(parent)) {
                    return None;
                }
                next.documents.parents[parent as usize] = None;
                next.committed(parent_bit(parent));
                At::Done
            }
            (At::Start, Work::InsertParent { parent }) => match state.documents.parents[parent as usize] {
                Some(_) => At::Done,
                None => {
                    // Taken of the clock: greater than all that there were.
                    let greatest = &mut next.revisions[parent as usize];
                    let revision = if self.lacks(Safeguard::NewRevisions) {
                        0
                    } else {
                        *greatest + 1
                    };
                    *greatest = revision.max(*greatest);
                    let pending = if self.lacks(Safeguard::PendingParent) {
                        NONE
                    } else {
                        token
                    };
                    next.documents.parents[parent as usize] = Some(Parent {
                        revision,
                        derived: Derived::default(),
                        pending,
                    });
                    next.committed(parent_bit(parent));
                    At::Drains(0)
                }
            },
            (At::Start, Work::Recover) => self.look(state, &mut next, process),
            (At::Start, Work::Reconcile) => {
                let [children, left] = state.changes;
                if children == 0 && left == 0 {
                    let mut others = state.at.iter().enumerate().filter(|(other, _)| *other != process);
                    if !others.all(|(_, at)| *at == At::Done) {
                        return None;
                    }
                    At::Done
                } else {
                    next.taken = state.changes;
                    next.changes = [0, 0];
                    let children = bits(children).filter_map(|at| state.documents.children[at as usize]);
                    let parents = children.fold(left, |all, child| all | 1 << child.parent);
                    if self.lacks(Safeguard::Reconciler) {
                        At::Clears(Pending::Changes(0))
                    } else {
                        self.drain(Pending::Changes(parents))
                    }
                }
            }
            (At::Drains(absent), _) => {
                let documents = &state.documents;
                let children = documents.children.iter().zip(0_u8..);
                let mut children = children.filter_map(|(child, at)| Some((at, (*child)?)));
                let parents = documents.parents.iter().zip(0_u8..);
                let mut parents = parents.filter_map(|(parent, at)| Some((at, (*parent)?)));
                if let Some((at, child)) = children.find(|(_, child)| child.pending == token) {
                    self.drain(Pending::Child(at, child, absent))
                } else if let Some((at, parent)) = parents.find(|(_, parent)| parent.pending == token) {
                    self.drain(Pending::Parent(at, parent))
                } else if absent != 0 {
                    if self.lacks(Safeguard::NoteUntilDerived) {
                        next.documents.notes[process % NOTES] = 0;
                    }
                    self.drain(Pending::Left(process as u8, absent))
                } else {
                    At::Done
                }
            }
            (At::Adopts(pending, named, holds), _) => {
                let Pending::Parent(at, _) = pending else {
                    return None;
                };
                let children = state.documents.children.iter().flatten();
                let is_named = children.clone().any(|child| child.parent == at);
                let there = state.documents.parents[at as usize];
                let is_holding = there.is_some_and(|there| there.derived != Derived::default())
                    && !self.lacks(Safeguard::HoldsWithoutChildren);
                match (named, holds) {
                    (None, None) if self.lacks(Safeguard::HoldsLast) => {
                        At::Adopts(pending, None, Some(is_holding))
                    }
                    (None, None) => At::Adopts(pending, Some(is_named), None),
                    _ if named.unwrap_or(is_named) || holds.unwrap_or(is_holding) => {
                        let refresh = Refresh {
                            parent: at,
                            revision: None,
                            seen: [0; CHILDREN],
                            read: 0,
                        };
                        At::Refreshes(pending, refresh)
                    }
                    _ => At::Clears(pending),
                }
            }
            (At::Refreshes(pending, refresh), _) => self.refresh(&mut next, process, pending, refresh)?,
            (At::Clears(pending), _) => {
                let is_same =
                    |there: Token, read: Token| there == read || self.lacks(Safeguard::TokenInClear);
                let mut ends = At::Done;
                match pending {
                    Pending::Child(at, read, absent) => {
                        if state.is_held(process, child_bit(at)) {
                            return None;
                        }
                        if let Some(there) = &mut next.documents.children[at as usize]
                            && there.pending != NONE
                            && is_same(there.pending, read.pending)
                        {
                            there.pending = NONE;
                            next.committed(child_bit(at));
                        }
                        ends = At::Drains(absent);
                    }
                    Pending::Parent(at, read) => {
                        if state.is_held(process, parent_bit(at)) {
                            return None;
                        }
                        if let Some(there) = &mut next.documents.parents[at as usize]
                            && there.pending != NONE
                            && is_same(there.pending, read.pending)
                        {
                            there.pending = NONE;
                            next.committed(parent_bit(at));
                        }
                    }
                    Pending::Left(by, _) => next.documents.notes[by as usize] = 0,
                    Pending::Changes(_) => {
                        next.taken = [0, 0];
                        ends = At::Start;
                    }
                }
                match work {
                    Work::Recover => At::Start,
                    _ => ends,
                }
            }
            _ => return None,
        };
        next.at[process] = at;
        Some(next)
    }

    /// `recover`: the next document that has pending work, or note.
    fn look(&self, state: &State, next: &mut State, process: usize) -> At {
        let documents = &state.documents;
        let looked = state.looked[process] as usize;
        next.looked[process] += 1;
        let of_parent = looked.wrapping_sub(CHILDREN);
        let of_note = of_parent.wrapping_sub(PARENTS);
        let pending = if looked < CHILDREN {
            documents.children[looked]
                .filter(|child| child.pending != NONE)
                .map(|child| Pending::Child(looked as u8, child, 0))
        } else if of_parent < PARENTS {
            documents.parents[of_parent]
                .filter(|parent| parent.pending != NONE)
                .map(|parent| Pending::Parent(of_parent as u8, parent))
        } else if of_note < NOTES {
            let note = documents.notes[of_note];
            (note != 0).then_some(Pending::Left(of_note as u8, note))
        } else {
            next.looked[process] = 0;
            return At::Done;
        };
        pending.map_or(At::Start, |pending| self.drain(pending))
    }

    /// All processes have died; one recovery runs, and a reconciler where there is one.
    fn recovered(&self, state: &State) -> State {
        let mut state = state.clone();
        state.at.fill(At::Done);
        let [changes, taken] = [state.changes, state.taken];
        state.changes = [changes[0] | taken[0], changes[1] | taken[1]];
        state.taken = [0, 0];
        let process = state.at.len();
        for work in [Work::Recover, Work::Reconcile] {
            state.at.truncate(process);
            state.looked.truncate(process);
            state.at.push(At::Start);
            state.looked.push(0);
            while let Some(next) = self.step(&state, process, work) {
                state = next;
            }
        }
        state.at.truncate(process);
        state
    }

    /// Whether a parent has what its children say, or something is pending that will derive it.
    fn is_right(&self, state: &State, at: u8) -> bool {
        let documents = &state.documents;
        let Some(parent) = documents.parents[at as usize] else {
            return true;
        };
        let mut children = documents.children.iter().flatten();
        let is_pending = parent.pending != NONE
            || children.any(|child| child.parent == at && child.pending != NONE)
            || documents.notes.iter().any(|note| note & 1 << at != 0)
            || state.changes != [0, 0]
            || state.taken != [0, 0];
        is_pending || parent.derived == self.said(&documents.children, at)
    }

    /// The same of all parents, and nothing is pending.
    fn is_true(&self, state: &State) -> bool {
        let documents = &state.documents;
        (0..PARENTS as u8).all(|at| self.is_right(state, at))
            && documents
                .parents
                .iter()
                .flatten()
                .all(|parent| parent.pending == NONE)
            && documents
                .children
                .iter()
                .flatten()
                .all(|child| child.pending == NONE)
            && documents.notes == [0; NOTES]
            && state.changes == [0, 0]
    }
}

const COMMITTED: &str =
    "what is committed says of each parent what its children say, or that work is pending";
const AT_THE_END: &str = "after a crash and a recovery, parents have what their children say";
const RETURNED: &str = "when all have returned, parents have what their children say";
const ALL_RETURN: &str = "all processes return";

impl Model for Parents {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        let child = |parent: u8| Child {
            value: 1,
            parent,
            pending: NONE,
        };
        let children = self.children.map(|parent| parent.map(child));
        let parent = |at: usize| Parent {
            revision: 1,
            derived: self.said(&children, at as u8),
            pending: NONE,
        };
        vec![State {
            documents: Documents {
                children,
                parents: [0, 1].map(|at| self.parents[at].then(|| parent(at))),
                notes: [0; NOTES],
            },
            at: vec![At::Start; self.processes.len()],
            looked: vec![0; self.processes.len()],
            changes: [0; 2],
            taken: [0; 2],
            revisions: [1; PARENTS],
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
            Property::always(COMMITTED, |model: &Parents, state: &State| {
                (0..PARENTS as u8).all(|at| model.is_right(state, at))
            }),
            Property::always(AT_THE_END, |model: &Parents, state: &State| {
                model.is_true(&model.recovered(state))
            }),
            Property::always(RETURNED, |model: &Parents, state: &State| {
                state.at.iter().any(|at| *at != At::Done) || model.is_true(state)
            }),
            Property::sometimes(ALL_RETURN, |_, state: &State| {
                state.at.iter().all(|at| *at == At::Done)
            }),
        ]
    }
}

fn model(children: [Option<u8>; CHILDREN], works: &[Work]) -> Parents {
    Parents {
        processes: works.to_vec(),
        children,
        parents: [true; PARENTS],
        sum: true,
        greatest: true,
        without: None,
    }
}

fn insert(child: u8, value: u8) -> Work {
    let parent = 0;
    Work::Insert { child, parent, value }
}

fn update(child: u8, value: u8) -> Work {
    Work::Update { child, value }
}

/// A child is inserted, another one is changed and deleted.
fn writes() -> Parents {
    let works = [insert(1, 3), update(0, 2), Work::Delete { child: 0 }];
    model([Some(0), None], &works)
}

/// One child goes to another parent, and is changed; another one goes the other way.
fn moves() -> Parents {
    let to = |child, parent| Work::Move { child, parent };
    model([Some(0), Some(1)], &[to(0, 1), update(0, 2), to(1, 0)])
}

/// Four transactions at once.
fn all_kinds() -> Parents {
    let to = Work::Move { child: 0, parent: 1 };
    let works = [insert(1, 3), update(0, 2), to, Work::Delete { child: 0 }];
    model([Some(0), None], &works)
}

/// The same, where a child is written with pending work beside them.
fn all_kinds_eventual() -> Parents {
    let eventual = Work::Eventual { child: 0, value: 4 };
    let to = Work::Move { child: 0, parent: 1 };
    let works = [insert(1, 3), Work::UpdateAll { value: 2 }, to, eventual];
    model([Some(0), None], &works)
}

/// A write of both children beside writes of each.
fn several() -> Parents {
    let works = [
        Work::UpdateAll { value: 2 },
        update(0, 3),
        Work::Delete { child: 1 },
    ];
    model([Some(0), Some(0)], &works)
}

/// Nothing but the greatest value is derived: an insert of a smaller one changes nothing in it.
fn greatest() -> Parents {
    let works = [insert(1, 1), Work::Delete { child: 0 }, update(0, 2)];
    Parents {
        sum: false,
        ..model([Some(0), None], &works)
    }
}

/// A child is written with pending work beside transactions that write it, its siblings, or both.
fn eventual() -> Parents {
    let eventual = Work::Eventual { child: 0, value: 4 };
    model(
        [Some(0), Some(0)],
        &[eventual, Work::UpdateAll { value: 2 }, Work::Recover],
    )
}

/// The same, where the child goes to another parent, or goes.
fn eventual_moves() -> Parents {
    let eventual = Work::Eventual { child: 0, value: 4 };
    let to = Work::Move { child: 0, parent: 1 };
    model(
        [Some(0), Some(0)],
        &[eventual, to, update(1, 2), Work::Delete { child: 0 }],
    )
}

/// The same, where both children go to another parent by one write.
fn eventual_all_move() -> Parents {
    let eventual = Work::Eventual { child: 0, value: 4 };
    let works = [eventual, Work::MoveAll { parent: 1 }, update(1, 2), Work::Recover];
    model([Some(0), Some(0)], &works)
}

/// A child is written with pending work twice, and a recovery is at it, too.
fn eventual_twice() -> Parents {
    let eventual = |value: u8| Work::Eventual { child: 0, value };
    model([Some(0), None], &[eventual(4), eventual(5), update(0, 2)])
}

/// A parent comes after its child, to which another one comes.
fn late_parent() -> Parents {
    let works = [Work::InsertParent { parent: 0 }, insert(1, 3), update(0, 2)];
    Parents {
        parents: [false, true],
        ..model([Some(0), None], &works)
    }
}

/// A parent comes after its children, which leave it.
fn left_parent() -> Parents {
    let to = Work::Move { child: 0, parent: 1 };
    let works = [Work::InsertParent { parent: 0 }, to, Work::Delete { child: 1 }];
    Parents {
        parents: [false, true],
        ..model([Some(0), Some(0)], &works)
    }
}

/// A parent goes and comes back, while a child of it is written in both ways.
fn parent_comes_back() -> Parents {
    let works = [
        Work::DeleteParent { parent: 0 },
        Work::InsertParent { parent: 0 },
        Work::Eventual { child: 0, value: 4 },
        update(0, 2),
    ];
    model([Some(0), None], &works)
}

/// A child is written out of band, beside transactions that change it and take it to another parent.
fn out_of_band() -> Parents {
    let written = Work::OutOfBand { child: 0, value: 4 };
    let to = Work::Move { child: 0, parent: 1 };
    model([Some(0), None], &[written, update(0, 2), to, Work::Reconcile])
}

#[test]
fn derived_fields_are_true_at_every_commit() {
    for (name, model) in [
        ("parents: an insert, an update, a deletion", writes()),
        ("parents: two children swap parents, an update", moves()),
        (
            "parents: a write of both children, an update, a deletion",
            several(),
        ),
        ("parents: the same, of the maximum alone", greatest()),
        ("parents: an insert, an update, a move, a deletion", all_kinds()),
    ] {
        holds(name, model);
    }
}

#[test]
fn derived_fields_stay_true_beside_pending_work() {
    for (name, model) in [
        (
            "parents: an eventual write, a write of both children, a recovery",
            eventual(),
        ),
        (
            "parents: an eventual write, a move, an update, a deletion",
            eventual_moves(),
        ),
        (
            "parents: an eventual write, an insert, a move, an update of all",
            all_kinds_eventual(),
        ),
        (
            "parents: an eventual write, a move of both children, an update, a recovery",
            eventual_all_move(),
        ),
        ("parents: two eventual writes, an update", eventual_twice()),
        (
            "parents: an out-of-band write, an update, a move, a reconciler",
            out_of_band(),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn derived_fields_are_true_of_parents_that_come_later() {
    for (name, model) in [
        (
            "parents: a parent is inserted after a child, an insert, an update",
            late_parent(),
        ),
        (
            "parents: a parent is inserted after two children, a move, a deletion",
            left_parent(),
        ),
        (
            "parents: a parent is deleted and reinserted, an eventual write, an update",
            parent_comes_back(),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn each_safeguard_of_derived_fields_in_a_transaction_is_needed() {
    let cases = [
        (
            "one snapshot for the reads of a transaction",
            writes(),
            Safeguard::Snapshot,
            COMMITTED,
        ),
        (
            "one transaction for a child and its parent",
            writes(),
            Safeguard::OneTransaction,
            COMMITTED,
        ),
        (
            "reading the child again when its transaction is repeated",
            writes(),
            Safeguard::ReadWhenRunAgain,
            COMMITTED,
        ),
        (
            "reading a deleted child in the transaction that deletes it",
            writes(),
            Safeguard::ReadOfTheDeleted,
            COMMITTED,
        ),
        (
            "changing the previous parent of a moved child",
            moves(),
            Safeguard::PreviousParent,
            COMMITTED,
        ),
        (
            "raising the revision of a parent with each write of a child",
            greatest(),
            Safeguard::RevisionRaised,
            COMMITTED,
        ),
        (
            "deriving anew if the child has pending work",
            eventual_moves(),
            Safeguard::AnewWherePending,
            COMMITTED,
        ),
        (
            "deriving anew instead of adding in the same write",
            eventual_all_move(),
            Safeguard::AnewInsteadOfAdding,
            COMMITTED,
        ),
        (
            "revision in the filter of a refresh, beside transactions",
            eventual_moves(),
            Safeguard::RevisionInFilter,
            AT_THE_END,
        ),
        (
            "reading the revision before the children, beside transactions",
            eventual_moves(),
            Safeguard::RevisionBeforeChildren,
            AT_THE_END,
        ),
        (
            "ids in the filter that clears a child's pending work, beside transactions",
            eventual_twice(),
            Safeguard::TokenInClear,
            AT_THE_END,
        ),
        (
            "pending work of a child whose parent is missing",
            late_parent(),
            Safeguard::AbsentParent,
            AT_THE_END,
        ),
        (
            "entry for a missing parent that a child leaves",
            left_parent(),
            Safeguard::Note,
            AT_THE_END,
        ),
        (
            "keeping that entry until the parent is derived",
            left_parent(),
            Safeguard::NoteUntilDerived,
            AT_THE_END,
        ),
        (
            "deriving a missing parent after the commit",
            late_parent(),
            Safeguard::AfterCommit,
            RETURNED,
        ),
        (
            "pending work of a parent inserted after its children",
            late_parent(),
            Safeguard::PendingParent,
            COMMITTED,
        ),
        (
            "searching for new parents with values but without children",
            left_parent(),
            Safeguard::HoldsWithoutChildren,
            AT_THE_END,
        ),
        (
            "searching for these after the search for children",
            left_parent(),
            Safeguard::HoldsLast,
            AT_THE_END,
        ),
        (
            "greater revision of a reinserted parent, beside transactions",
            parent_comes_back(),
            Safeguard::NewRevisions,
            AT_THE_END,
        ),
        (
            "reconciler, for a child written out of band",
            out_of_band(),
            Safeguard::Reconciler,
            AT_THE_END,
        ),
    ];
    for (name, model, safeguard, property) in cases {
        let without = Some(safeguard);
        fails(name, Parents { without, ..model }, property);
    }
}

//! A deletion that keeps its documents, and their restoration.
//!
//! A document at the top has children, which its deletion deletes with it. All get the id of the deletion, by which a restoration finds
//! them. The first child has a second parent, whose deletion deletes it, too: it can't be restored while that is deleted. Clients delete and
//! restore both parents at the same time, and insert further children.
//!
//! The steps in the code: `DeletionTree::grow()`, `DeletionTree::begin()`, `DeletionTree::delete_levels()`,
//! `DeletionTree::delete()` and `DeletionTree::compare()` in `engine/delete/{tree,soft}.rs`; `DeletionTree::give_up()`,
//! `DeletionTree::leave_out_lacking()` and `DeletionTree::delete_lacking()` there; `DeletionTree::missing_targets()`,
//! `DeletionTree::restore()`, `restore::keep_targets()`, `restore::take_back()` and `DeletionTree::end_restoration()` in
//! `engine/delete/tree.rs` and `engine/restore.rs`; `exists::before()` and `AfterWrites::run()` (a new child).
//!
//! Left out: a process that dies between its last step and the comparison, and two restorations and two deletions of one document at
//! once, after which a child may have an id that is not that of its parent; two restorations in steps of one document while its second
//! parent is deleted. A restoration in a transaction is the one whose steps up to its last look are one.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const CHILDREN: usize = 2;

/// The id of an earlier deletion of one child alone.
const OWN: u8 = 9;

/// The id of the deletion of the second parent.
const OTHER: u8 = 8;

/// The child that has two parents.
const SHARED: usize = 0;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `DeletionTree::compare`: a deletion looks for children that have come meanwhile.
    LookAfterDeletion,
    /// `DeletionTree::begin`: a second deletion takes the id of the first.
    OneId,
    /// `Recheck::after_writes`: a child looks for its parent again.
    LookAfterInsert,
    /// `RESTORING`: the id of a deletion that is restored is no id of a deletion any more.
    AnotherName,
    /// A deletion takes the id of a restoration that was interrupted.
    InterruptedRestoration,
    /// A restoration looks whether the document was deleted meanwhile.
    LookAfterRestoration,
    /// A deletion restores what it has deleted of a document that was restored meanwhile.
    RestoredAgain,
    /// `keep_targets`: a restoration looks for the second parent again after its last write.
    LookForTargets,
    /// `leave_out_lacking`, `delete_lacking`: what a deletion restores again has its second parent, before and after.
    TargetsOfLate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Delete,
    /// Deletes the document at the top, and takes that back for a document that has come to refer to it with `restrict`.
    DeleteRefused,
    Restore,
    /// Inserts this child.
    Come(usize),
    /// Deletes, or restores, the second parent.
    DeleteOther,
    RestoreOther,
}

/// The restoration that has restored the document at the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    This,
    /// Another one at the same time, which takes it back.
    Another,
    /// One before this one began.
    Earlier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// The id of the deletion, and the children that were found.
    Begins(u8, [bool; CHILDREN]),
    /// The same, and the next child.
    DeletesChild(u8, [bool; CHILDREN], usize),
    DeletesTop(u8),
    /// The children have to be as the document at the top is.
    Compares(u8),
    DeletesLate(u8, [bool; CHILDREN], usize),
    RestoresLate(u8, [bool; CHILDREN], usize),
    /// The second parent of the children that were restored late is asked for again, and its child is deleted again.
    AsksLateAgain(u8, [bool; CHILDREN]),
    TakesLateBack(u8),
    /// The children that are to be restored, and whether the document at the top is.
    AsksTargets(u8, [bool; CHILDREN], bool),
    RestoresTop(u8, [bool; CHILDREN]),
    /// The same, the client that has restored the document at the top, and the next child.
    RestoresChild(u8, [bool; CHILDREN], By, usize),
    AsksTargetsAgain(u8, [bool; CHILDREN], By),
    TakesBackChild(u8, [bool; CHILDREN], By, usize),
    TakesBackTop(u8),
    Ends(u8),
    /// The shared child is deleted with the second parent, before it and after it.
    DeletesShared,
    DeletesOther,
    LooksForShared,
    /// It is restored after the second parent.
    RestoresShared,
    Inserts,
    ChecksAgain,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Document {
    is_deleted: bool,
    /// The id of its deletion; 0 where it has none.
    deletion: u8,
    /// The id of the deletion that is being restored.
    restoring: u8,
}

const THERE: Document = Document {
    is_deleted: false,
    deletion: 0,
    restoring: 0,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    top: Document,
    other: Document,
    children: [Option<Document>; CHILDREN],
    last: u8,
    /// Whether a restoration of the document at the top has come to its end.
    is_restored: bool,
    at: Vec<At>,
}

impl State {
    fn not_deleted(&self) -> [bool; CHILDREN] {
        self.children
            .map(|child| child.is_some_and(|child| !child.is_deleted))
    }

    fn restore_child(&mut self, child: usize, id: u8) {
        if let Some(child) = &mut self.children[child]
            && child.is_deleted
            && child.deletion == id
        {
            *child = THERE;
        }
    }

    /// The children that a restoration of the document at the top is for.
    fn of_deletion(&self, id: u8) -> [bool; CHILDREN] {
        self.children
            .map(|child| child.is_some_and(|child| child.is_deleted && child.deletion == id))
    }

    fn have_returned(&self) -> bool {
        self.at.iter().all(|at| *at == At::Done)
    }

    fn delete_child(&mut self, child: usize, id: u8) {
        if let Some(child) = self.children[child].as_mut().filter(|child| !child.is_deleted) {
            child.is_deleted = true;
            child.deletion = id;
        }
    }
}

#[derive(Clone, Debug)]
struct Kept {
    top: Document,
    other: Document,
    children: [Option<Document>; CHILDREN],
    processes: Vec<Work>,
    without: Option<Safeguard>,
}

impl Kept {
    fn has(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    /// The next step of a process; `None` where it has returned.
    fn step(&self, state: &State, process: usize, work: Work) -> Option<State> {
        let mut next = state.clone();
        next.at[process] = match (state.at[process], work) {
            (At::Done, _) => return None,
            (At::Start, Work::Delete | Work::DeleteRefused) if state.top.is_deleted => At::Done,
            (At::Start, Work::Delete | Work::DeleteRefused) => {
                next.last += 1;
                let id = match (state.top.deletion, state.top.restoring) {
                    (0, id) if id != 0 && self.has(Safeguard::InterruptedRestoration) => id,
                    (0, _) => next.last,
                    (id, _) => id,
                };
                match state.not_deleted() {
                    found if found.contains(&true) => At::Begins(id, found),
                    _ => At::DeletesTop(id),
                }
            }
            (At::Begins(..), _) if state.top.is_deleted => At::Done,
            (At::Begins(id, found), _) => match state.top.deletion {
                0 => {
                    next.top.deletion = id;
                    At::DeletesChild(id, found, 0)
                }
                other if self.has(Safeguard::OneId) => At::DeletesChild(other, found, 0),
                _ => {
                    next.top.deletion = id;
                    At::DeletesChild(id, found, 0)
                }
            },
            (At::DeletesChild(id, found, child), _) => {
                if found[child] {
                    next.delete_child(child, id);
                }
                match child + 1 {
                    CHILDREN => At::DeletesTop(id),
                    child => At::DeletesChild(id, found, child),
                }
            }
            (At::DeletesTop(_), _) if state.top.is_deleted => At::Done,
            (At::DeletesTop(id), _) => {
                next.top.is_deleted = true;
                next.top.deletion = id;
                if self.has(Safeguard::LookAfterDeletion) {
                    At::Compares(id)
                } else {
                    At::Done
                }
            }
            (At::Compares(_), Work::DeleteRefused) if state.top.is_deleted => {
                let id = state.top.deletion;
                let mut late = state.of_deletion(id);
                late[SHARED] &= !state.other.is_deleted || !self.has(Safeguard::TargetsOfLate);
                next.top = Document {
                    restoring: id,
                    ..THERE
                };
                At::RestoresLate(id, late, 0)
            }
            (At::Compares(id), _) => {
                let found = state.not_deleted();
                let mut late = state.of_deletion(id);
                late[SHARED] &= !state.other.is_deleted || !self.has(Safeguard::TargetsOfLate);
                if state.top.is_deleted && found.contains(&true) {
                    At::DeletesLate(state.top.deletion, found, 0)
                } else if !state.top.is_deleted && late.contains(&true) && self.has(Safeguard::RestoredAgain)
                {
                    At::RestoresLate(id, late, 0)
                } else {
                    At::Ends(id)
                }
            }
            (At::DeletesLate(id, found, child), _) => {
                if found[child] {
                    next.delete_child(child, id);
                }
                match child + 1 {
                    CHILDREN => At::Compares(id),
                    child => At::DeletesLate(id, found, child),
                }
            }
            (At::RestoresLate(id, late, child), _) => {
                if late[child] {
                    next.restore_child(child, id);
                }
                match child + 1 {
                    CHILDREN if self.has(Safeguard::TargetsOfLate) => At::AsksLateAgain(id, late),
                    CHILDREN => At::Compares(id),
                    child => At::RestoresLate(id, late, child),
                }
            }
            (At::AsksLateAgain(id, late), _) => match late[SHARED] && state.other.is_deleted {
                true => At::TakesLateBack(id),
                false => At::Compares(id),
            },
            (At::TakesLateBack(id), _) => {
                next.delete_child(SHARED, id);
                At::Compares(id)
            }
            (At::Start, Work::Restore) => match (state.top.deletion, state.top.restoring) {
                (0, 0) => At::Done,
                (0, id) => At::AsksTargets(id, state.of_deletion(id), false),
                (id, _) => At::AsksTargets(id, state.of_deletion(id), true),
            },
            (At::AsksTargets(id, children, is_top), _) => {
                if children[SHARED] && state.other.is_deleted {
                    At::Done
                } else if is_top {
                    At::RestoresTop(id, children)
                } else {
                    At::RestoresChild(id, children, By::Earlier, 0)
                }
            }
            (At::RestoresTop(id, children), _) if state.top.deletion != id => {
                At::RestoresChild(id, children, By::Another, 0)
            }
            (At::RestoresTop(id, children), _) => {
                next.top.is_deleted = false;
                if self.has(Safeguard::AnotherName) {
                    next.top.deletion = 0;
                    next.top.restoring = id;
                }
                At::RestoresChild(id, children, By::This, 0)
            }
            (At::RestoresChild(id, children, by, child), _) => {
                if children[child] {
                    next.restore_child(child, id);
                }
                match child + 1 {
                    CHILDREN => At::AsksTargetsAgain(id, children, by),
                    child => At::RestoresChild(id, children, by, child),
                }
            }
            (At::AsksTargetsAgain(id, children, by), _) => {
                let is_below = children[SHARED] && state.not_deleted()[SHARED];
                let is_lost = by != By::Another && is_below && state.other.is_deleted;
                if is_lost && self.has(Safeguard::LookForTargets) {
                    At::TakesBackChild(id, children, by, 0)
                } else if self.has(Safeguard::LookAfterRestoration) {
                    next.is_restored |= by == By::This;
                    At::Compares(id)
                } else {
                    At::Ends(id)
                }
            }
            (At::TakesBackChild(id, children, by, child), _) => {
                if children[child] {
                    next.delete_child(child, id);
                }
                match child + 1 {
                    CHILDREN if by == By::This => At::TakesBackTop(id),
                    CHILDREN => At::Done,
                    child => At::TakesBackChild(id, children, by, child),
                }
            }
            (At::TakesBackTop(id), _) => {
                if !next.top.is_deleted && next.top.deletion == 0 {
                    next.top = Document {
                        is_deleted: true,
                        deletion: id,
                        restoring: 0,
                    };
                }
                At::Compares(id)
            }
            (At::Start, Work::DeleteOther) if state.other.is_deleted => At::Done,
            (At::Start, Work::DeleteOther) => match state.not_deleted()[SHARED] {
                true => At::DeletesShared,
                false => At::DeletesOther,
            },
            (At::DeletesShared, _) => {
                next.delete_child(SHARED, OTHER);
                match state.other.is_deleted {
                    true => At::LooksForShared,
                    false => At::DeletesOther,
                }
            }
            (At::DeletesOther, _) => {
                next.other = deleted(OTHER);
                At::LooksForShared
            }
            (At::LooksForShared, _) if state.other.is_deleted && state.not_deleted()[SHARED] => {
                At::DeletesShared
            }
            (At::LooksForShared, _) => At::Done,
            (At::Start, Work::RestoreOther) => match state.other.is_deleted {
                true if state.of_deletion(OTHER)[SHARED] && state.top.is_deleted => At::Done,
                true => {
                    next.other = THERE;
                    match state.of_deletion(OTHER)[SHARED] {
                        true => At::RestoresShared,
                        false => At::Done,
                    }
                }
                false => At::Done,
            },
            (At::RestoresShared, _) => {
                next.restore_child(SHARED, OTHER);
                At::Done
            }
            (At::Ends(_), Work::Delete) => At::Done,
            (At::Ends(id), _) => {
                if next.top.restoring == id {
                    next.top.restoring = 0;
                }
                if !self.has(Safeguard::AnotherName) && next.top.deletion == id {
                    next.top.deletion = 0;
                }
                At::Done
            }
            (At::Start, Work::Come(_)) if state.top.is_deleted => At::Done,
            (At::Start, Work::Come(_)) => At::Inserts,
            (At::Inserts, Work::Come(child)) => {
                next.children[child] = Some(THERE);
                if self.has(Safeguard::LookAfterInsert) {
                    At::ChecksAgain
                } else {
                    At::Done
                }
            }
            (At::ChecksAgain, Work::Come(child)) => {
                if state.top.is_deleted {
                    next.children[child] = None;
                }
                At::Done
            }
            (At::Inserts | At::ChecksAgain, _) => return None,
        };
        Some(next)
    }
}

const NO_ORPHAN: &str = "no child is left without its parent";
const EXACT: &str = "a restoration brings back all that its deletion took";
const NO_SECOND_ORPHAN: &str = "no child is left without its second parent";
const STAYS: &str = "a document that was restored is there until it is deleted";
const ALONE: &str = "a child that was deleted by itself stays deleted";
const FINDS: &str = "a deleted document can be restored";
const DELETED: &str = "the document is deleted";
const RESTORED: &str = "the document is there";

impl Model for Kept {
    type State = State;
    type Action = (usize, Work, At);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            top: self.top,
            other: self.other,
            children: self.children,
            last: 0,
            is_restored: false,
            at: vec![At::Start; self.processes.len()],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        let works = self.processes.iter().enumerate();
        actions.extend(works.map(|(process, work)| (process, *work, state.at[process])));
    }

    fn next_state(&self, state: &State, (process, work, _): Self::Action) -> Option<State> {
        self.step(state, process, work)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NO_ORPHAN, |_, state: &State| {
                !state.have_returned() || !state.top.is_deleted || !state.not_deleted().contains(&true)
            }),
            Property::always(NO_SECOND_ORPHAN, |_, state: &State| {
                !state.have_returned() || !state.other.is_deleted || !state.not_deleted()[SHARED]
            }),
            Property::always(STAYS, |model: &Kept, state: &State| {
                let is_deleted = model.processes.contains(&Work::Delete);
                is_deleted || !state.have_returned() || !state.is_restored || !state.top.is_deleted
            }),
            Property::always(EXACT, |_, state: &State| {
                let is_kept = |child: usize| child == SHARED && state.other.is_deleted;
                let brought_back = |(at, child): (usize, &Option<Document>)| {
                    let is_of_it =
                        |child: &Document| child.is_deleted && ![OWN, OTHER].contains(&child.deletion);
                    is_kept(at) || !child.as_ref().is_some_and(is_of_it)
                };
                !state.have_returned()
                    || state.top.is_deleted
                    || state.top.deletion != 0
                    || state.children.iter().enumerate().all(brought_back)
            }),
            Property::always(ALONE, |model: &Kept, state: &State| {
                let was = |child: &Option<Document>| child.is_some_and(|child| child.deletion == OWN);
                let mut both = model.children.iter().zip(&state.children);
                both.all(|(before, now)| !was(before) || before == now)
            }),
            Property::always(FINDS, |_, state: &State| {
                !state.have_returned() || !state.top.is_deleted || state.top.deletion != 0
            }),
            Property::sometimes(DELETED, |_, state: &State| {
                state.have_returned() && state.top.is_deleted
            }),
            Property::sometimes(RESTORED, |_, state: &State| {
                state.have_returned() && !state.top.is_deleted
            }),
        ]
    }
}

fn kept(top: Document, children: [Option<Document>; CHILDREN], processes: &[Work]) -> Kept {
    Kept {
        top,
        other: THERE,
        children,
        processes: processes.to_vec(),
        without: None,
    }
}

fn deleted(deletion: u8) -> Document {
    Document {
        is_deleted: true,
        deletion,
        restoring: 0,
    }
}

/// Two deletions, and a restoration.
fn twice() -> Kept {
    use Work::{Delete, Restore};
    kept(THERE, [Some(THERE), Some(THERE)], &[Delete, Delete, Restore])
}

/// A deletion to which a child comes.
fn late() -> Kept {
    use Work::{Come, Delete, Restore};
    kept(THERE, [Some(THERE), None], &[Delete, Come(1), Restore])
}

/// A deletion while an earlier one is restored.
fn meanwhile() -> Kept {
    use Work::{Delete, Restore};
    kept(
        deleted(5),
        [Some(deleted(5)), Some(deleted(5))],
        &[Restore, Delete, Restore],
    )
}

/// A restoration of the document at the top while the second parent of a child is deleted.
fn second_parent() -> Kept {
    use Work::{DeleteOther, Restore};
    kept(
        deleted(5),
        [Some(deleted(5)), Some(deleted(5))],
        &[Restore, DeleteOther],
    )
}

/// A deletion that is taken back while the second parent of a child is deleted, and another deletion.
fn taken_back() -> Kept {
    use Work::{Delete, DeleteOther, DeleteRefused};
    kept(
        THERE,
        [Some(THERE), Some(THERE)],
        &[DeleteRefused, DeleteOther, Delete],
    )
}

/// A restoration of the document where the second parent is deleted already, and restored.
fn without_second_parent() -> Kept {
    use Work::{Restore, RestoreOther};
    Kept {
        other: deleted(OTHER),
        processes: vec![Restore, RestoreOther, Restore],
        ..second_parent()
    }
}

/// A restoration was interrupted.
fn half_restored() -> Kept {
    use Work::{Delete, Restore};
    let top = Document {
        restoring: 5,
        ..THERE
    };
    kept(top, [Some(deleted(5)), Some(THERE)], &[Restore, Delete, Restore])
}

#[test]
fn deletions_that_keep_documents() {
    use Work::{Come, Delete, Restore};
    let begun = Document { deletion: 5, ..THERE };
    for (name, model) in [
        ("kept: two deletions, a restoration", twice()),
        ("kept: a deletion, a new child, a restoration", late()),
        ("kept: a deletion while another one is restored", meanwhile()),
        (
            "kept: two deletions, a restoration, a new child",
            kept(THERE, [Some(THERE), None], &[Delete, Restore, Delete, Come(1)]),
        ),
        (
            "kept: an interrupted deletion is repeated and restored",
            kept(
                begun,
                [Some(deleted(5)), Some(THERE)],
                &[Delete, Restore, Come(1)],
            ),
        ),
        ("kept: an interrupted restoration is repeated", half_restored()),
        (
            "kept: a restoration, and a deletion of a second parent",
            second_parent(),
        ),
        (
            "kept: a deletion that is taken back, another one, and one of a second parent",
            taken_back(),
        ),
        (
            "kept: restorations of a document and of a second parent",
            without_second_parent(),
        ),
        (
            "kept: a child was deleted by itself before",
            kept(
                THERE,
                [Some(deleted(OWN)), Some(THERE)],
                &[Delete, Restore, Restore],
            ),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn each_safeguard_of_a_kept_deletion_is_needed() {
    for (name, safeguard, model, property) in [
        (
            "search for children after a deletion that keeps documents",
            Safeguard::LookAfterDeletion,
            late(),
            NO_ORPHAN,
        ),
        (
            "one id for two deletions of a document",
            Safeguard::OneId,
            twice(),
            EXACT,
        ),
        (
            "check of a kept parent after an insert",
            Safeguard::LookAfterInsert,
            late(),
            NO_ORPHAN,
        ),
        (
            "another name for the id of a deletion that is restored",
            Safeguard::AnotherName,
            meanwhile(),
            FINDS,
        ),
        (
            "restoring late deletions of a restored document",
            Safeguard::RestoredAgain,
            meanwhile(),
            EXACT,
        ),
        (
            "the id of an interrupted restoration for the next deletion",
            Safeguard::InterruptedRestoration,
            half_restored(),
            EXACT,
        ),
        (
            "look at the document after its restoration",
            Safeguard::LookAfterRestoration,
            meanwhile(),
            NO_ORPHAN,
        ),
        (
            "look at the second parents after a restoration",
            Safeguard::LookForTargets,
            second_parent(),
            NO_SECOND_ORPHAN,
        ),
        (
            "look at the second parents of what a deletion restores again",
            Safeguard::TargetsOfLate,
            taken_back(),
            NO_SECOND_ORPHAN,
        ),
    ] {
        let without = Some(safeguard);
        fails(name, Kept { without, ..model }, property);
    }
}

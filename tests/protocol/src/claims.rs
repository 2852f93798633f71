//! Claims: the values of a key that is unique over all shards, `unique(global)`.
//!
//! A document with a value has a claim, a document whose `_id` is the value. Programs write it in the transaction in which they write
//! the value. Beside them repairs remove claims whose owners have other values, and claim values that are unclaimed; a backfill claims
//! those from before the declaration; other programs write values without a claim.
//!
//! A transaction reads a snapshot of what was committed when it began, and begins again where it meets another one. A write that leaves
//! a document as it was writes nothing: it meets no other.
//!
//! The steps in the code: `ClaimChanges::add()`, `ClaimChanges::replace()` and `ClaimChanges::send()`, `claim_together()`,
//! `put_back_together()` and `Owners::rewrite()` in `rules/claims.rs`; `matched()` in `engine/write/recheck.rs`; `measure()` in
//! `upkeep/copies.rs`; `fill()` in `upkeep/backfill.rs`; `remember_once()` in `upkeep/stored.rs`.
//!
//! Left out: keys of several fields, collations, and a backfill that goes on after its progress was stored.

use crate::checking::{fails, holds};
use stateright::{Model, Property};

const DOCUMENTS: usize = 3;
const VALUES: usize = 3;

/// Values.
const A: u8 = 0;
const B: u8 = 1;
const C: u8 = 2;

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Safeguard {
    /// `Claim::condition`: a claim is removed only as that of its owner.
    OwnerOfClaim,
    /// `ClaimChanges::kept`: a write of the same value writes the claim that is there.
    KeptClaim,
    /// `Claim::update`: so does a write of a value whose claim the document has already.
    ClaimThere,
    /// `upsert` in `ClaimChanges::send`: a write of the same value makes no claim that is missing.
    NoNewClaim,
    /// `CLAIMS`: a claim is made in a transaction that changes the document.
    Lock,
    /// `ClaimChanges::send`: values are given up before any are claimed.
    GivenUpFirst,
    /// `Claiming::after_write`: claims are written in the transaction of the write.
    OneTransaction,
    /// `check_and_read`: a document is read in the transaction that changes it.
    ReadInTransaction,
    /// `GlobalKey::value`: a document that is deleted and kept claims nothing.
    FreedByDeletion,
    /// `GlobalKey::reads`: its restoration is a write of its values.
    ClaimedByRestoration,
    /// `ClaimChanges::replace`: an undone write gives up what the claims of the document say.
    GivenUpByClaims,
    /// `matched` in `Recheck::restore`: an undone write claims values of documents that undoing changes, and of no others.
    ChangedAlone,
    /// `Owners::rewrite`: a claim is removed in the transaction that has looked at its owner.
    LookAtOwner,
    /// `claim_together`: a value is claimed in the transaction that has read it.
    ReadValue,
    /// `is_owner`: a claim stays with an owner that has the value.
    OwnerStays,
    /// `put_back_together`: a document whose deletion is taken back is inserted in the transaction that claims its value.
    PutBackTogether,
    /// `Claim::left` there: such a document takes its value from a claim without an owner.
    FreedForIt,
    /// `UnknownCopies`: programs that know of no claims are refused their writes.
    Refusal,
    /// `wait`: a backfill waits for those that have not read the declaration.
    Wait,
    /// `EARLY`: a collection that is empty when the key is declared is to be filled, too.
    EmptyIsOpen,
    /// `is_left` in `fill`: a key stays open while documents share a value.
    SharedIsOpen,
    /// `fills` in `Owners::declaration`: a backfill removes claims without an owner.
    OwnersAreFilled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// Sets the value; with another field, it changes the document also where it has the value.
    Set {
        document: u8,
        value: u8,
    },
    SetWithOther {
        document: u8,
        value: u8,
    },
    Unset {
        document: u8,
    },
    /// Undoes an earlier write of a value, where the document has that still, and claims what the document has then.
    TakeBack {
        document: u8,
        from: u8,
        to: u8,
    },
    /// Two documents exchange their values.
    Exchange(u8, u8),
    Insert {
        document: u8,
        value: u8,
    },
    Delete(u8),
    /// Deletes the document, and takes that back for one that has come to refer to it.
    DeleteRefused(u8),
    /// Deletes the document and keeps it.
    SoftDelete(u8),
    Restore(u8),
    /// A program that knows nothing of the declarations sets the value.
    OutOfBand {
        document: u8,
        value: u8,
    },
    /// A program from before the declaration sets the value, or inserts a document with it.
    FromBefore {
        document: u8,
        value: u8,
    },
    Declare,
    Backfill,
    Repair,
}

/// Since when a document has its value, as far as claims are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    /// It has claimed the value.
    Claiming,
    FromBefore,
    OutOfBand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Document {
    /// `None` where it has none, and claims nothing.
    value: Option<u8>,
    is_deleted: bool,
    by: By,
}

impl Document {
    /// The value that it is to have claimed.
    fn claims(&self) -> Option<u8> {
        self.value.filter(|_| !self.is_deleted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claim {
    owner: u8,
    /// Whether a write without claims has taken the value from its owner.
    is_stray: bool,
}

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stored {
    documents: [Option<Document>; DOCUMENTS],
    claims: [Option<Claim>; VALUES],
}

/// Some of the documents, or of the claims, a bit for each.
type Set = u8;

/// The bit of a claim among those of all that is stored.
fn claim_bit(value: u8) -> Set {
    1 << (DOCUMENTS as u8 + value)
}

/// A transaction that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Open {
    /// The snapshot with its own writes.
    sees: Stored,
    written: Set,
    /// What others have committed since it began.
    missed: Set,
    /// The values for which documents have a claim by its commit.
    claimed: [Option<u8>; DOCUMENTS],
}

/// The changes of claims: values with owners, and whether a claim may be new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Changes {
    given_up: Vec<(u8, u8)>,
    written: Vec<(u8, u8, bool)>,
}

/// Documents whose values a backfill or a repair claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Task {
    /// In this transaction.
    these: Set,
    /// Each in one of its own, afterwards.
    rest: Set,
    /// As they were before the transaction.
    before: [Option<Document>; DOCUMENTS],
    /// Whether another document has the value of one of them.
    is_left: bool,
}

/// What a transaction belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Write,
    /// A document that was deleted is inserted again.
    PutBack(Document),
    Task(Task),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Start,
    /// Has read documents before its transaction begins.
    Knows([Option<Document>; DOCUMENTS]),
    /// The documents as they were.
    Writes(Open, [Option<Document>; DOCUMENTS]),
    GivesUp(Open, Changes, Of),
    Claims(Open, Changes, Of),
    Commits(Open, Of),
    /// Inserts a document again.
    PutsBack(Document),
    /// Looks for claims without an owner, and for values without a claim.
    LooksForOwners,
    LooksForClaims,
    /// Begins to remove the claims that have these owners.
    BeginsToFree([Option<Claim>; VALUES]),
    Frees(Open, [Option<Claim>; VALUES]),
    CommitsFreed(Open),
    BeginsToClaim(Task),
    Locks(Open, Task),
    /// Stores whether all is filled.
    Fills(bool),
    /// Has read the declarations before the key was declared.
    Holds,
    Done,
}

impl At {
    fn open(&self) -> Option<&Open> {
        match self {
            At::Writes(open, _)
            | At::GivesUp(open, ..)
            | At::Claims(open, ..)
            | At::Commits(open, _)
            | At::Frees(open, _)
            | At::CommitsFreed(open)
            | At::Locks(open, _) => Some(open),
            _ => None,
        }
    }

    fn open_mut(&mut self) -> Option<&mut Open> {
        match self {
            At::Writes(open, _)
            | At::GivesUp(open, ..)
            | At::Claims(open, ..)
            | At::Commits(open, _)
            | At::Frees(open, _)
            | At::CommitsFreed(open)
            | At::Locks(open, _) => Some(open),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            At::Start => "begins",
            At::Knows(_) => "begins its transaction",
            At::Writes(..) => "writes documents",
            At::GivesUp(..) => "gives values up",
            At::Claims(..) => "claims values",
            At::Commits(..) | At::CommitsFreed(_) => "commits",
            At::PutsBack(_) => "takes the deletion back",
            At::LooksForOwners => "looks for claims without an owner",
            At::LooksForClaims => "looks for values without a claim",
            At::BeginsToFree(_) => "begins to remove claims",
            At::Frees(..) => "removes claims",
            At::BeginsToClaim(_) => "begins to claim values",
            At::Locks(..) => "locks documents",
            At::Fills(_) => "stores that all is claimed",
            At::Holds => "writes as it has read the declarations",
            At::Done => "has ended",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    stored: Stored,
    is_declared: bool,
    /// Whether a missing claim means that no document has the value.
    is_filled: bool,
    /// The work of each process, by its place, and how far that is.
    at: Vec<(u8, At)>,
    /// Whether a write was refused for a value that no other document had.
    is_wrongly_refused: bool,
}

#[derive(Clone, Debug)]
struct Claims {
    /// The works of each process, one after the other.
    processes: Vec<Vec<Work>>,
    stored: Stored,
    is_declared: bool,
    is_filled: bool,
    without: Option<Safeguard>,
}

impl Stored {
    fn claims(&self, document: usize) -> Option<u8> {
        self.documents[document].as_ref().and_then(Document::claims)
    }

    /// Whether the owner of a claim has the value.
    fn is_owned(&self, value: usize) -> bool {
        let owner = self.claims[value].map(|claim| usize::from(claim.owner));
        owner.is_none_or(|owner| self.claims(owner) == Some(value as u8))
    }

    fn has_claimed(&self, document: usize, value: u8) -> bool {
        self.claims[usize::from(value)].is_some_and(|claim| usize::from(claim.owner) == document)
    }

    /// The documents whose values they have not claimed.
    fn unclaimed(&self) -> Set {
        let is_unclaimed = |document: &usize| {
            let value = self.claims(*document);
            value.is_some_and(|value| !self.has_claimed(*document, value))
        };
        let unclaimed = (0..DOCUMENTS).filter(is_unclaimed);
        unclaimed.map(|document| 1 << document).sum()
    }

    /// The claims whose owners have other values.
    fn without_owner(&self) -> [Option<Claim>; VALUES] {
        let mut claims = self.claims;
        for (value, claim) in claims.iter_mut().enumerate() {
            claim.take_if(|_| self.is_owned(value));
        }
        claims
    }

    /// Notes which claims of a document a write without claims has left.
    fn note_strays(&mut self, document: u8) {
        for value in 0..VALUES {
            let is_owned = self.is_owned(value);
            if let Some(claim) = self.claims[value]
                .as_mut()
                .filter(|claim| claim.owner == document)
            {
                claim.is_stray = !is_owned;
            }
        }
    }
}

fn documents_of(set: Set) -> impl Iterator<Item = usize> {
    (0..DOCUMENTS).filter(move |document| set & (1 << document) != 0)
}

impl State {
    fn begin(&self) -> Open {
        Open {
            sees: self.stored,
            written: 0,
            missed: 0,
            claimed: [None; DOCUMENTS],
        }
    }

    /// Notes that a transaction writes something; `false` where it has to be begun again.
    fn write(&self, process: usize, open: &mut Open, what: Set) -> bool {
        let others = self.at.iter().enumerate().filter(|(other, _)| *other != process);
        let mut others = others.filter_map(|(_, (_, at))| at.open());
        if open.missed & what != 0 || others.any(|other| other.written & what != 0) {
            return false;
        }
        open.written |= what;
        true
    }

    /// Tells the open transactions of a write that is committed.
    fn tell(&mut self, process: usize, written: Set) {
        let others = self.at.iter_mut().enumerate();
        let others = others.filter(|(other, _)| *other != process);
        for open in others.filter_map(|(_, (_, at))| at.open_mut()) {
            open.missed |= written;
        }
    }

    fn commit(&mut self, process: usize, open: &Open) {
        for document in documents_of(open.written) {
            self.stored.documents[document] = open.sees.documents[document];
        }
        let values = (0..VALUES as u8).filter(|value| open.written & claim_bit(*value) != 0);
        let before = self.stored.claims;
        for value in values.clone() {
            self.stored.claims[usize::from(value)] = open.sees.claims[usize::from(value)];
        }
        for (document, claimed) in open.claimed.iter().enumerate() {
            let has_it = claimed.is_some() && self.stored.claims(document) == *claimed;
            if let Some(document) = self.stored.documents[document].as_mut().filter(|_| has_it) {
                document.by = By::Claiming;
            }
        }
        for value in values.map(usize::from) {
            let is_owned = self.stored.is_owned(value);
            let documents = &self.stored.documents;
            if let Some(claim) = &mut self.stored.claims[value] {
                let owner = documents[usize::from(claim.owner)];
                let is_out_of_band = owner.is_some_and(|owner| owner.by == By::OutOfBand);
                let was_stray = before[value].is_some_and(|was| was.is_stray && was.owner == claim.owner);
                claim.is_stray = !is_owned && (was_stray || is_out_of_band);
            }
        }
        self.tell(process, open.written);
    }

    /// A write of one document without a transaction; `None` while it waits for one that has written it.
    fn write_alone(&mut self, process: usize, document: u8, is: Document) -> Option<()> {
        let what = 1 << document;
        let mut open = self.at.iter().filter_map(|(_, at)| at.open());
        if open.any(|open| open.written & what != 0) {
            return None;
        }
        self.stored.documents[usize::from(document)] = Some(is);
        self.tell(process, what);
        Some(())
    }

    fn have_ended(&self) -> bool {
        self.at.iter().all(|(_, at)| *at == At::Done)
    }
}

/// The documents that a work writes, each as it is afterwards.
fn written(work: Work, documents: &[Option<Document>; DOCUMENTS]) -> Vec<(u8, Option<Document>)> {
    let there = |document: u8| documents[usize::from(document)];
    let live = |document: u8| there(document).filter(|document| !document.is_deleted);
    let one = |document: u8, is: Option<Document>| is.map(|is| (document, Some(is))).into_iter().collect();
    match work {
        Work::Set { document, value } | Work::SetWithOther { document, value } => {
            let value = Some(value);
            one(document, live(document).map(|is| Document { value, ..is }))
        }
        Work::Unset { document } => {
            let value = None;
            one(document, live(document).map(|is| Document { value, ..is }))
        }
        Work::TakeBack { document, from, to } => {
            let back = |is: Document| match is.value == Some(from) {
                true => Document {
                    value: Some(to),
                    ..is
                },
                false => is,
            };
            one(document, live(document).map(back))
        }
        Work::Exchange(first, second) => match (live(first), live(second)) {
            (Some(one), Some(other)) => {
                let with = |is: Document, value: Option<u8>| Some(Document { value, ..is });
                vec![(first, with(one, other.value)), (second, with(other, one.value))]
            }
            _ => Vec::new(),
        },
        Work::Insert { document, value } => {
            let new = new(value, By::Claiming);
            one(document, there(document).is_none().then_some(new))
        }
        Work::Delete(document) | Work::DeleteRefused(document) => match there(document) {
            Some(_) => vec![(document, None)],
            None => Vec::new(),
        },
        Work::SoftDelete(document) => {
            let is_deleted = true;
            one(document, live(document).map(|is| Document { is_deleted, ..is }))
        }
        Work::Restore(document) => {
            let is_deleted = false;
            let deleted = there(document).filter(|document| document.is_deleted);
            one(document, deleted.map(|is| Document { is_deleted, ..is }))
        }
        Work::OutOfBand { .. } | Work::FromBefore { .. } | Work::Declare | Work::Backfill | Work::Repair => {
            Vec::new()
        }
    }
}

fn new(value: u8, by: By) -> Document {
    Document {
        value: Some(value),
        is_deleted: false,
        by,
    }
}

impl Claims {
    fn has(&self, safeguard: Safeguard) -> bool {
        self.without != Some(safeguard)
    }

    fn work(&self, state: &State, process: usize) -> Option<Work> {
        let (work, _) = state.at[process];
        self.processes[process].get(usize::from(work)).copied()
    }

    /// Writes documents in a transaction, and says how their claims change; `None` where it has to be begun again.
    fn write(
        &self,
        state: &State,
        process: usize,
        work: Work,
        open: &mut Open,
        before: &[Option<Document>; DOCUMENTS],
    ) -> Option<Changes> {
        let mut changes = Changes::default();
        for (document, mut is) in written(work, &open.sees.documents) {
            let at = usize::from(document);
            let had = before[at].as_ref().and_then(Document::claims);
            let has = is.as_ref().and_then(Document::claims);
            let changed = open.sees.documents[at] != is;
            let always = matches!(work, Work::SetWithOther { .. });
            let is_taken_back = matches!(work, Work::TakeBack { .. });
            if is_taken_back && !changed && self.has(Safeguard::ChangedAlone) {
                continue;
            }
            if changed || always {
                if !state.write(process, open, 1 << document) {
                    return None;
                }
                if let Some(is) = is.as_mut().filter(|_| changed) {
                    is.by = By::Claiming;
                }
                open.sees.documents[at] = is;
            }
            let owned = (0..VALUES as u8).filter(|value| open.sees.has_claimed(at, *value));
            match (had, has) {
                _ if is_taken_back => {
                    let owned = owned.filter(|_| self.has(Safeguard::GivenUpByClaims));
                    changes.given_up.extend(
                        owned
                            .filter(|value| Some(*value) != has)
                            .map(|value| (value, document)),
                    );
                    changes.written.extend(has.map(|value| (value, document, true)));
                    open.claimed[at] = has;
                }
                (Some(value), Some(has)) if value == has => {
                    let may_be_new = !self.has(Safeguard::NoNewClaim);
                    if open.sees.has_claimed(at, value) {
                        open.claimed[at] = Some(value);
                    }
                    if self.has(Safeguard::KeptClaim) {
                        changes.written.push((value, document, may_be_new));
                    }
                }
                (had, has) => {
                    let is_freed = match work {
                        Work::SoftDelete(_) => self.has(Safeguard::FreedByDeletion),
                        _ => true,
                    };
                    let is_claimed = match work {
                        Work::Restore(_) => self.has(Safeguard::ClaimedByRestoration),
                        _ => true,
                    };
                    let had = had.filter(|_| is_freed);
                    let has = has.filter(|_| is_claimed);
                    changes.given_up.extend(had.map(|value| (value, document)));
                    changes.written.extend(has.map(|value| (value, document, true)));
                    open.claimed[at] = has;
                }
            }
        }
        Some(changes)
    }

    /// Inserts a document again in a transaction, and says how its claim changes; `None` where the transaction has to be begun again.
    fn put_back(
        &self,
        state: &State,
        process: usize,
        open: &mut Open,
        (document, was): (u8, Document),
    ) -> Option<Changes> {
        let mut changes = Changes::default();
        if !state.write(process, open, 1 << document) {
            return None;
        }
        open.sees.documents[usize::from(document)] = Some(was);
        let Some(value) = was.claims() else {
            return Some(changes);
        };
        if let Some(claim) = open.sees.claims[usize::from(value)].filter(|claim| claim.owner != document) {
            let is_left = !open.sees.is_owned(usize::from(value)) && self.has(Safeguard::FreedForIt);
            if is_left || !self.has(Safeguard::OwnerStays) {
                changes.given_up.push((value, claim.owner));
            }
        }
        changes.written.push((value, document, true));
        open.claimed[usize::from(document)] = Some(value);
        Some(changes)
    }

    /// Locks the documents of a task and says how claims change; `None` where the transaction has to be begun again.
    fn lock(&self, state: &State, process: usize, open: &mut Open, task: &mut Task) -> Option<Changes> {
        let mut changes = Changes::default();
        let documents = match self.has(Safeguard::ReadValue) {
            true => open.sees.documents,
            false => task.before,
        };
        for document in documents_of(task.these) {
            let Some(value) = documents[document].as_ref().and_then(Document::claims) else {
                continue;
            };
            if let Some(claim) = open.sees.claims[usize::from(value)] {
                if usize::from(claim.owner) == document {
                    continue;
                }
                if open.sees.is_owned(usize::from(value)) && self.has(Safeguard::OwnerStays) {
                    task.is_left = true;
                    continue;
                }
                changes.given_up.push((value, claim.owner));
            }
            changes.written.push((value, document as u8, true));
            open.claimed[document] = Some(value);
        }
        let locked = changes.written.iter().map(|(_, document, _)| 1 << document);
        let locked: Set = locked.sum();
        let is_locked = !self.has(Safeguard::Lock) || locked == 0 || state.write(process, open, locked);
        is_locked.then_some(changes)
    }

    /// What follows a transaction of a task.
    fn after(&self, mut task: Task) -> At {
        if task.rest == 0 {
            return At::Fills(task.is_left);
        }
        task.these = 1 << task.rest.trailing_zeros();
        task.rest &= !task.these;
        At::BeginsToClaim(task)
    }

    /// The next step of a process; `None` where it has ended or waits.
    fn step(&self, state: &State, process: usize) -> Option<State> {
        let work = self.work(state, process)?;
        let mut next = state.clone();
        let at = self.next_at(state, &mut next, process, work)?;
        next.at[process].1 = at;
        self.end(&mut next, process);
        Some(next)
    }

    /// Goes on with the next work where one has ended.
    fn end(&self, state: &mut State, process: usize) {
        let (work, at) = &mut state.at[process];
        if *at == At::Done && usize::from(*work) + 1 < self.processes[process].len() {
            (*work, *at) = (*work + 1, At::Start);
        }
    }

    fn next_at(&self, state: &State, next: &mut State, process: usize, work: Work) -> Option<At> {
        let stored = &state.stored;
        Some(match (state.at[process].1.clone(), work) {
            (At::Done, _) => return None,
            (At::Start, Work::Declare) => {
                next.is_declared = true;
                let is_empty = stored.documents.iter().all(Option::is_none);
                next.is_filled = is_empty && !self.has(Safeguard::EmptyIsOpen);
                At::Done
            }
            (At::Start, Work::FromBefore { .. }) if state.is_declared && self.has(Safeguard::Refusal) => {
                At::Done
            }
            (At::Start, Work::FromBefore { .. }) => At::Holds,
            (At::Holds, Work::FromBefore { document, value }) => {
                let is = stored.documents[usize::from(document)];
                let by = By::FromBefore;
                let is = is.map_or(new(value, by), |is| Document {
                    value: Some(value),
                    by,
                    ..is
                });
                next.write_alone(process, document, is)?;
                next.stored.note_strays(document);
                At::Done
            }
            (At::Start, Work::OutOfBand { document, value }) => {
                if let Some(is) = stored.documents[usize::from(document)] {
                    let (value, by) = (Some(value), By::OutOfBand);
                    next.write_alone(process, document, Document { value, by, ..is })?;
                    next.stored.note_strays(document);
                }
                At::Done
            }
            // What knows of the declaration runs after it.
            (At::Start, _) if !state.is_declared => return None,
            (At::Start, Work::Backfill) => {
                let holds = state.at.iter().any(|(_, at)| *at == At::Holds);
                if holds && self.has(Safeguard::Wait) {
                    return None;
                }
                match self.has(Safeguard::OwnersAreFilled) {
                    true => At::LooksForOwners,
                    false => At::LooksForClaims,
                }
            }
            (At::Start, Work::Repair) => At::LooksForOwners,
            (At::Start, _) if !self.has(Safeguard::ReadInTransaction) => At::Knows(stored.documents),
            (At::Start, _) => At::Writes(state.begin(), stored.documents),
            (At::Knows(before), _) => At::Writes(state.begin(), before),
            (At::Writes(mut open, before), _) => match self.write(state, process, work, &mut open, &before) {
                None if self.has(Safeguard::ReadInTransaction) => At::Start,
                None => At::Knows(before),
                Some(changes) => {
                    if !self.has(Safeguard::OneTransaction) {
                        next.commit(process, &open);
                        open = next.begin();
                    }
                    if self.has(Safeguard::GivenUpFirst) {
                        At::GivesUp(open, changes, Of::Write)
                    } else {
                        At::Claims(open, changes, Of::Write)
                    }
                }
            },
            (At::GivesUp(mut open, changes, of), _) => {
                for (value, owner) in &changes.given_up {
                    let claim = &open.sees.claims[usize::from(*value)];
                    let is_it = claim.is_some_and(|claim| claim.owner == *owner);
                    let is_removed = claim.is_some() && (is_it || !self.has(Safeguard::OwnerOfClaim));
                    if !is_removed {
                        continue;
                    }
                    if !state.write(process, &mut open, claim_bit(*value)) {
                        return Some(begun_again(of));
                    }
                    open.sees.claims[usize::from(*value)] = None;
                }
                match of {
                    Of::Write if !self.has(Safeguard::GivenUpFirst) => At::Commits(open, of),
                    _ => At::Claims(open, changes, of),
                }
            }
            (At::Claims(mut open, changes, of), _) => {
                for (value, owner, may_be_new) in &changes.written {
                    let claim = open.sees.claims[usize::from(*value)];
                    match claim {
                        Some(claim) if claim.owner == *owner && self.has(Safeguard::ClaimThere) => {}
                        Some(claim) if claim.owner == *owner && *may_be_new => continue,
                        Some(claim) if claim.owner == *owner => {}
                        _ if !may_be_new => continue,
                        Some(claim) => {
                            return Some(match of {
                                Of::Write => {
                                    let is_owned = open.sees.is_owned(usize::from(*value));
                                    next.is_wrongly_refused |= !is_owned && !claim.is_stray;
                                    At::Done
                                }
                                // It stays deleted.
                                Of::PutBack(_) => {
                                    next.is_wrongly_refused |= !open.sees.is_owned(usize::from(*value));
                                    At::Done
                                }
                                Of::Task(mut task) if task.these.count_ones() > 1 => {
                                    task.rest |= task.these;
                                    self.after(task)
                                }
                                Of::Task(mut task) => {
                                    task.is_left = true;
                                    self.after(task)
                                }
                            });
                        }
                        None => {}
                    }
                    if !state.write(process, &mut open, claim_bit(*value)) {
                        return Some(begun_again(of));
                    }
                    open.sees.claims[usize::from(*value)] = Some(Claim {
                        owner: *owner,
                        is_stray: false,
                    });
                }
                match of {
                    Of::Write if !self.has(Safeguard::GivenUpFirst) => At::GivesUp(open, changes, of),
                    _ => At::Commits(open, of),
                }
            }
            (At::Commits(open, Of::Task(task)), _) => {
                next.commit(process, &open);
                self.after(task)
            }
            (At::Commits(open, Of::PutBack(_)), _) => {
                next.commit(process, &open);
                At::Done
            }
            (At::Commits(open, Of::Write), _) => {
                next.commit(process, &open);
                let document = match work {
                    Work::DeleteRefused(document) => stored.documents[usize::from(document)],
                    _ => None,
                };
                document.map_or(At::Done, At::PutsBack)
            }
            (At::PutsBack(was), Work::DeleteRefused(document)) => {
                if stored.documents[usize::from(document)].is_some() {
                    return Some(At::Done);
                }
                let mut open = state.begin();
                let changes = self.put_back(state, process, &mut open, (document, was))?;
                if !self.has(Safeguard::PutBackTogether) {
                    next.commit(process, &open);
                    open = next.begin();
                }
                At::GivesUp(open, changes, Of::PutBack(was))
            }
            (At::PutsBack(_) | At::Holds, _) => return None,
            (At::LooksForOwners, _) => {
                let without = stored.without_owner();
                match without.iter().any(Option::is_some) {
                    true => At::BeginsToFree(without),
                    false => At::LooksForClaims,
                }
            }
            (At::BeginsToFree(found), _) => At::Frees(state.begin(), found),
            (At::Frees(mut open, found), _) => {
                let without = match self.has(Safeguard::LookAtOwner) {
                    true => open.sees.without_owner(),
                    false => open.sees.claims,
                };
                for value in 0..VALUES {
                    let Some((claim, without)) = found[value].zip(without[value]) else {
                        continue;
                    };
                    // In the transaction that looks at it, it may have another owner by now.
                    if claim.owner != without.owner && !self.has(Safeguard::LookAtOwner) {
                        continue;
                    }
                    if !state.write(process, &mut open, claim_bit(value as u8)) {
                        return Some(At::BeginsToFree(found));
                    }
                    open.sees.claims[value] = None;
                }
                At::CommitsFreed(open)
            }
            (At::CommitsFreed(open), _) => {
                next.commit(process, &open);
                At::LooksForClaims
            }
            (At::LooksForClaims, _) => match stored.unclaimed() {
                0 => At::Fills(false),
                these => At::BeginsToClaim(Task {
                    these,
                    rest: 0,
                    before: stored.documents,
                    is_left: false,
                }),
            },
            (At::BeginsToClaim(task), _) => At::Locks(state.begin(), task),
            (At::Locks(mut open, mut task), _) => match self.lock(state, process, &mut open, &mut task) {
                None => At::BeginsToClaim(task),
                Some(changes) if changes.written.is_empty() => self.after(task),
                Some(changes) => At::GivesUp(open, changes, Of::Task(task)),
            },
            (At::Fills(is_left), _) => {
                let is_filled = !is_left || !self.has(Safeguard::SharedIsOpen);
                next.is_filled |= work == Work::Backfill && is_filled;
                At::Done
            }
        })
    }

    /// What is stored after all processes have died and this work was done alone.
    fn after_all(&self, state: &State, works: &[Work]) -> Stored {
        let model = Claims {
            processes: vec![works.to_vec()],
            ..self.clone()
        };
        let mut state = State {
            is_declared: true,
            at: vec![(0, At::Start)],
            ..state.clone()
        };
        while let Some(next) = model.step(&state, 0) {
            state = next;
        }
        state.stored
    }
}

/// A transaction that has met another one.
fn begun_again(of: Of) -> At {
    match of {
        Of::Write => At::Start,
        Of::PutBack(was) => At::PutsBack(was),
        Of::Task(task) => At::BeginsToClaim(task),
    }
}

const UNIQUE: &str = "no two documents have claimed one value";
const CLAIMED: &str = "a document that has claimed its value has the claim";
const OWNED: &str = "no claim is left by a document that has given its value up";
const FREE: &str = "a write is refused only for a value that another document has";
const REPAIRED: &str = "after a repair each value is claimed, and each claim has an owner";
const FILLED: &str = "after a backfill a missing claim means that no document has the value";
const FREED: &str = "after a backfill no program from before has left a claim without an owner";

impl Model for Claims {
    type State = State;
    type Action = (usize, Work, &'static str);

    fn init_states(&self) -> Vec<State> {
        vec![State {
            stored: self.stored,
            is_declared: self.is_declared,
            is_filled: self.is_filled,
            at: self.processes.iter().map(|_| (0, At::Start)).collect(),
            is_wrongly_refused: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Self::Action>) {
        for (process, (_, at)) in state.at.iter().enumerate() {
            let Some(work) = self.work(state, process).filter(|_| *at != At::Done) else {
                continue;
            };
            actions.push((process, work, at.name()));
            if *at == At::Holds {
                actions.push((process, work, READS_AGAIN));
            }
        }
    }

    fn next_state(&self, state: &State, (process, _, name): Self::Action) -> Option<State> {
        if name != READS_AGAIN {
            return self.step(state, process);
        }
        let mut next = state.clone();
        next.at[process].1 = At::Done;
        self.end(&mut next, process);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(UNIQUE, |_, state: &State| {
                let claiming = state.stored.documents.iter().flatten();
                let claiming = claiming.filter(|document| document.by == By::Claiming);
                let mut values = claiming.filter_map(Document::claims);
                let mut known = [false; VALUES];
                values.all(|value| !std::mem::replace(&mut known[usize::from(value)], true))
            }),
            Property::always(CLAIMED, |_, state: &State| {
                let stored = &state.stored;
                documents_of(stored.unclaimed())
                    .filter_map(|document| stored.documents[document])
                    .all(|document| document.by != By::Claiming)
            }),
            Property::always(OWNED, |_, state: &State| {
                let without = state.stored.without_owner();
                without.iter().flatten().all(|claim| claim.is_stray)
            }),
            Property::always(FREE, |_, state: &State| !state.is_wrongly_refused),
            Property::always(REPAIRED, |model: &Claims, state: &State| {
                let stored = &state.stored;
                if stored.unclaimed() == 0 && stored.without_owner() == [None; VALUES] {
                    return true;
                }
                let stored = model.after_all(state, &[Work::Repair]);
                let mut values = (0..DOCUMENTS).filter_map(|document| stored.claims(document));
                values.all(|value| stored.claims[usize::from(value)].is_some())
                    && (0..VALUES).all(|value| stored.is_owned(value))
            }),
            Property::always(FILLED, |_, state: &State| {
                let documents = state.stored.documents.iter().flatten();
                let mut documents = documents.filter(|document| document.by != By::OutOfBand);
                let is_claimed = |value: u8| state.stored.claims[usize::from(value)].is_some();
                !state.is_filled || documents.all(|document| document.claims().is_none_or(is_claimed))
            }),
            Property::always(FREED, |model: &Claims, state: &State| {
                let works = model.processes.iter().flatten();
                let is_alone = !works.clone().any(|work| matches!(work, Work::OutOfBand { .. }));
                !state.is_filled || !is_alone || state.stored.without_owner() == [None; VALUES]
            }),
            Property::sometimes("all return", |_, state: &State| state.have_ended()),
        ]
    }
}

const READS_AGAIN: &str = "reads the declarations again";

/// These documents, with claims.
fn claimed(values: &[u8], processes: &[&[Work]]) -> Claims {
    let mut model = unclaimed(values, processes);
    for (at, document) in model.stored.documents.iter_mut().enumerate() {
        if let Some(document) = document {
            document.by = By::Claiming;
            let value = document.value.map(usize::from);
            let value = value.expect("a document begins with a value");
            model.stored.claims[value] = Some(Claim {
                owner: at as u8,
                is_stray: false,
            });
        }
    }
    model.is_filled = true;
    model
}

/// These documents, from before the declaration.
fn unclaimed(values: &[u8], processes: &[&[Work]]) -> Claims {
    let mut stored = Stored {
        documents: [None; DOCUMENTS],
        claims: [None; VALUES],
    };
    for (document, value) in stored.documents.iter_mut().zip(values) {
        *document = Some(new(*value, By::FromBefore));
    }
    Claims {
        processes: processes.iter().map(|works| works.to_vec()).collect(),
        stored,
        is_declared: true,
        is_filled: false,
        without: None,
    }
}

const fn set(document: u8, value: u8) -> Work {
    Work::Set { document, value }
}

const fn set_with_other(document: u8, value: u8) -> Work {
    Work::SetWithOther { document, value }
}

const fn take_back(document: u8, from: u8, to: u8) -> Work {
    Work::TakeBack { document, from, to }
}

const fn insert(document: u8, value: u8) -> Work {
    Work::Insert { document, value }
}

const fn out_of_band(document: u8, value: u8) -> Work {
    Work::OutOfBand { document, value }
}

const fn from_before(document: u8, value: u8) -> Work {
    Work::FromBefore { document, value }
}

/// A document moves there and back, another one takes its value, and a third is inserted with it.
fn there_and_back() -> Claims {
    claimed(
        &[A, B],
        &[
            &[set(0, C), set(0, A)],
            &[set(1, A)],
            &[insert(2, A)],
            &[Work::Repair],
        ],
    )
}

/// Another program writes there and back, and the document is written with the value of then.
fn beside_others() -> Claims {
    claimed(
        &[A],
        &[
            &[out_of_band(0, B), out_of_band(0, A)],
            &[set(0, A), set_with_other(0, A)],
            &[insert(1, A)],
            &[Work::Repair],
        ],
    )
}

/// Another program writes there and back, and so does one with claims.
fn beside_others_moves() -> Claims {
    claimed(
        &[A],
        &[
            &[out_of_band(0, B)],
            &[set(0, A), set(0, C)],
            &[insert(1, A)],
            &[Work::Repair],
        ],
    )
}

/// Documents from before the declaration, which share a value.
fn shared() -> Claims {
    unclaimed(
        &[A, A],
        &[
            &[set(0, A)],
            &[set(0, B)],
            &[set_with_other(1, A), Work::Delete(1)],
            &[insert(2, A)],
            &[Work::Backfill],
        ],
    )
}

/// One of them moves there and back.
fn shared_there_and_back() -> Claims {
    unclaimed(
        &[A, A],
        &[
            &[set(0, B), set(0, A)],
            &[set_with_other(0, A)],
            &[set(1, B)],
            &[Work::Backfill],
            &[Work::Repair],
        ],
    )
}

/// Deletions that keep the document, and restorations.
fn kept() -> Claims {
    use Work::{Delete, Repair, Restore, SoftDelete};
    claimed(
        &[A, B],
        &[
            &[SoftDelete(0), Restore(0)],
            &[set(1, A), set(1, B)],
            &[Restore(0), Delete(0)],
            &[Repair],
        ],
    )
}

/// Documents exchange values, and one of them is written.
fn exchange() -> Claims {
    claimed(
        &[A, B],
        &[
            &[Work::Exchange(0, 1), Work::Exchange(0, 1)],
            &[set(1, C), set(1, A)],
            &[set(0, B), Work::Unset { document: 0 }, Work::Delete(0)],
            &[Work::Repair],
        ],
    )
}

/// A write is undone, while other programs write the document with and without claims.
fn taken_back() -> Claims {
    claimed(
        &[A],
        &[
            &[set(0, B), take_back(0, B, A)],
            &[out_of_band(0, C)],
            &[set(0, B), insert(1, A)],
            &[Work::Repair],
        ],
    )
}

/// The same of a document that the write does not change, from before the declaration.
fn taken_back_beside() -> Claims {
    unclaimed(&[A], &[&[take_back(0, B, A)], &[set(0, C)]])
}

/// Two deletions of a document are taken back, while another one takes its value.
fn put_back() -> Claims {
    use Work::DeleteRefused;
    claimed(
        &[A],
        &[
            &[DeleteRefused(0)],
            &[DeleteRefused(0)],
            &[insert(1, A), set(1, B)],
            &[Work::Repair],
        ],
    )
}

/// Another program takes the value from the document that has claimed it, and that takes it again.
fn put_back_beside_others() -> Claims {
    claimed(
        &[A],
        &[
            &[Work::DeleteRefused(0)],
            &[insert(1, A), set(1, A)],
            &[out_of_band(1, B)],
            &[Work::Repair],
        ],
    )
}

/// The key is declared while programs from before write.
fn declared_late(values: &[u8]) -> Claims {
    let model = unclaimed(
        values,
        &[
            &[from_before(0, B)],
            &[from_before(1, A)],
            &[Work::Declare, Work::Backfill],
            &[insert(2, A), Work::Delete(2)],
        ],
    );
    Claims {
        is_declared: false,
        ..model
    }
}

/// A program from before takes the value from a document that has claimed it.
fn left_late() -> Claims {
    let model = unclaimed(
        &[],
        &[
            &[from_before(0, B)],
            &[Work::Declare, Work::Backfill],
            &[insert(0, A), set(0, C)],
            &[insert(1, A)],
        ],
    );
    Claims {
        is_declared: false,
        ..model
    }
}

#[test]
fn claims_keep_values_unique() {
    for (name, model) in [
        (
            "claims: a document moves there and back, two take its value, a repair",
            there_and_back(),
        ),
        (
            "claims: out-of-band writes, writes of the same value, an insert, a repair",
            beside_others(),
        ),
        (
            "claims: documents from before share a value, an insert, a backfill",
            shared(),
        ),
        (
            "claims: one of these moves there and back, a backfill, a repair",
            shared_there_and_back(),
        ),
        (
            "claims: deletions that keep a document, restorations, a repair",
            kept(),
        ),
        (
            "claims: documents exchange values, one of them is deleted, a repair",
            exchange(),
        ),
        (
            "claims: a write is undone, an out-of-band write, a repair",
            taken_back(),
        ),
        (
            "claims: two deletions are taken back, an insert, a repair",
            put_back(),
        ),
        (
            "claims: a deletion is taken back, an out-of-band write, a repair",
            put_back_beside_others(),
        ),
        (
            "claims: a declaration beside programs from before, a backfill",
            declared_late(&[C]),
        ),
        ("claims: the same with an empty collection", declared_late(&[])),
        (
            "claims: a program from before changes a claimed value, a backfill",
            left_late(),
        ),
    ] {
        holds(name, model);
    }
}

#[test]
fn each_safeguard_of_claims_is_needed() {
    for (name, safeguard, model, property) in [
        (
            "owner in the filter that removes a claim",
            Safeguard::OwnerOfClaim,
            shared(),
            CLAIMED,
        ),
        (
            "owner in the filter that removes a claim, with an insert",
            Safeguard::OwnerOfClaim,
            shared(),
            UNIQUE,
        ),
        (
            "writing the claim of a value that is set again",
            Safeguard::KeptClaim,
            beside_others(),
            CLAIMED,
        ),
        (
            "writing a claim that the document has already",
            Safeguard::ClaimThere,
            beside_others_moves(),
            UNIQUE,
        ),
        (
            "leaving a missing claim to a repair when a value is set again",
            Safeguard::NoNewClaim,
            shared(),
            OWNED,
        ),
        (
            "lock of a document whose value is claimed without a write",
            Safeguard::Lock,
            shared(),
            OWNED,
        ),
        (
            "giving values up before others are claimed",
            Safeguard::GivenUpFirst,
            exchange(),
            FREE,
        ),
        (
            "one transaction for a document and its claim",
            Safeguard::OneTransaction,
            there_and_back(),
            CLAIMED,
        ),
        (
            "reading a document in the transaction that changes its claim",
            Safeguard::ReadInTransaction,
            exchange(),
            OWNED,
        ),
        (
            "giving up the values of a document that is deleted and kept",
            Safeguard::FreedByDeletion,
            kept(),
            OWNED,
        ),
        (
            "claiming the values of a document that is restored",
            Safeguard::ClaimedByRestoration,
            kept(),
            UNIQUE,
        ),
        (
            "giving up what the claims say when a write is undone",
            Safeguard::GivenUpByClaims,
            taken_back(),
            OWNED,
        ),
        (
            "claiming only for documents that undoing has changed",
            Safeguard::ChangedAlone,
            taken_back_beside(),
            OWNED,
        ),
        (
            "looking at the owner in the transaction that removes its claim",
            Safeguard::LookAtOwner,
            beside_others_moves(),
            CLAIMED,
        ),
        (
            "reading a value in the transaction that claims it",
            Safeguard::ReadValue,
            shared(),
            OWNED,
        ),
        (
            "leaving a claim to an owner that has the value",
            Safeguard::OwnerStays,
            shared(),
            CLAIMED,
        ),
        (
            "leaving a claim to its owner when a deletion is taken back",
            Safeguard::OwnerStays,
            put_back(),
            CLAIMED,
        ),
        (
            "one transaction for a document that is put back and its claim",
            Safeguard::PutBackTogether,
            put_back(),
            UNIQUE,
        ),
        (
            "taking the value of such a document from a claim without an owner",
            Safeguard::FreedForIt,
            put_back_beside_others(),
            FREE,
        ),
        (
            "refusing the writes of programs from before the declaration",
            Safeguard::Refusal,
            declared_late(&[C]),
            FILLED,
        ),
        (
            "waiting for programs from before in a backfill",
            Safeguard::Wait,
            declared_late(&[C]),
            FILLED,
        ),
        (
            "backfill of a collection that was empty",
            Safeguard::EmptyIsOpen,
            declared_late(&[]),
            FILLED,
        ),
        (
            "leaving a key open while documents share a value",
            Safeguard::SharedIsOpen,
            shared(),
            FILLED,
        ),
        (
            "removing claims without an owner in a backfill",
            Safeguard::OwnersAreFilled,
            left_late(),
            FREED,
        ),
    ] {
        let without = Some(safeguard);
        fails(name, Claims { without, ..model }, property);
    }
}

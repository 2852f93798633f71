//! Keeps copies true: fields copied through references, subsets, numbers computed of children.
//!
//! One mechanism serves all of them. A write that can touch a copy leaves a debt in the very documents that it writes, by
//! the same atomic write (`_odm.owed`); then the debt is paid, and only then it is struck out, if no later write has left
//! another one. To pay means the same whatever the write was:
//!
//! - what the document copies itself is compared with its sources once more,
//! - what others copy of it is delivered to them, with its version, to those that have an older one,
//! - what is derived of it in its parents, the present and the former ones, is derived anew.
//!
//! Each of these can be done twice, by several at once and in any order, so whoever finds a debt may pay it: the writer, or
//! [`recover`](crate::Odm::recover) after it has died. Where the deployment has transactions and the copies are not declared
//! eventual, the same is done within one transaction, in which nothing needs to be written down but what it modifies: it
//! locks the sources that it copies from and the parents that it changes by modifying them, so that of two writers that
//! could miss each other one waits.

mod children;
mod deliver;
mod fill;
mod former;
mod images;
mod inspect;
mod pay;
pub(crate) mod reconcile;
pub(crate) mod recover;
pub(crate) mod stored;

pub(super) use fill::needed;
pub(crate) use fill::{Amended, Concern, Inserts, amend_insert, amend_replace, amend_update, from_condition};
pub(super) use former::mark_former;
pub(super) use images::{Before, concern, relinks};
pub(super) use inspect::Kept;
pub(crate) use pay::{Left, pay_left, settle};
pub(super) use pay::{delete_with_debts, pay_for_deleted, pay_within, refresh_parents};

use super::graph::{CopyField, Derived, Edge, Graph};
use crate::copy::SyncMode;
use crate::document::DocumentMeta;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, Document, RawDocument, doc};

/// The name that a debt goes by: all that one operation owes.
pub(crate) type Token = ObjectId;

/// The field for what the library needs to know of a document.
pub(super) const OWN: &str = "_odm";
/// The version of a source: every change of a copied field makes it greater.
pub(super) const VERSION: &str = "_odm.v";
/// Counts the changes of derived fields in a parent.
pub(super) const STAMP: &str = "_odm.n";
/// Modified to lock a document within a transaction.
pub(super) const LOCK: &str = "_odm.l";
/// A debt: the token of the operation that left it, or the last of them.
pub(crate) const OWED: &str = "_odm.owed";
/// What of the document is owed, by name: a field in it that is derived itself, whose change was passed on to it, or [`ALL`] where
/// somebody wrote the document itself. Each has the id of the write that left it, and is struck out only where it is still the
/// one that was read. The derived fields have no circle, so what is passed on by their names comes to an end, though documents
/// may refer to each other in a circle.
pub(super) const DUE: &str = "_odm.due";
/// All of a document is owed.
const ALL: &str = "*";
/// The parents that a child has had since its debts were struck out the last time, the present one among them.
pub(super) const FORMER: &str = "_odm.was";
/// A document that is to be deleted as soon as its debt is paid.
pub(super) const GONE: &str = "_odm.gone";
/// How far a delivery has come.
pub(super) const AT: &str = "_odm.at";
/// Beside a reference, by the reference's name: the version of the source that the copies were taken from.
pub(super) const COPIED: &str = "_copied";

/// One transaction delivers to so many documents at most; to more, the copies are delivered behind it.
pub(super) const IN_TRANSACTION: usize = 1_000;

/// The part of an update that leaves a debt of all that is derived of the document.
pub(in super::super) fn owe(update: &mut Document, token: Token) {
    owe_of(update, token, ALL);
}

/// The same for what is derived of this field.
fn owe_of(update: &mut Document, token: Token, field: &str) {
    put(update, "$set", OWED, token.into());
    put(update, "$set", &due_of(field), ObjectId::new().into());
}

/// The path of what is owed of a field.
fn due_of(field: &str) -> String {
    let mut path = format!("{DUE}.");
    for c in field.chars() {
        match c {
            '%' => path.push_str("%25"),
            '.' => path.push_str("%2e"),
            '$' => path.push_str("%24"),
            c => path.push(c),
        }
    }
    path
}

/// The name of the field again.
fn due_name(key: &str) -> String {
    key.replace("%24", "$").replace("%2e", ".").replace("%25", "%")
}

/// The debt of everything, as a document has it.
fn all_due() -> Document {
    doc! { ALL: ObjectId::new() }
}

/// The same in a pipeline: its fields.
pub(super) fn owing_all(token: Token) -> Document {
    doc! { OWED: token, DUE: { "$mergeObjects": [format!("${DUE}"), { "$literal": all_due() }] } }
}

/// What of a document has changed, so far as something is derived of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Due {
    All,
    /// These fields.
    Of(Vec<String>),
}

impl Due {
    /// What is noted in a document that owes something.
    fn noted(document: &RawDocument) -> Due {
        let Some(due) = at(document, DUE).and_then(|due| due.as_document()) else {
            return Due::All;
        };
        let names = due.iter().map_while(|entry| entry.ok()).map(|(name, _)| name);
        let names: Vec<String> = names.map(|name| due_name(name.as_str())).collect();
        match names.iter().any(|name| name == ALL) {
            true => Due::All,
            false => Due::Of(names),
        }
    }

    fn and(self, other: Option<&Due>) -> Due {
        match (self, other) {
            (due, None) => due,
            (Due::Of(mut names), Some(Due::Of(others))) => {
                names.extend(others.iter().cloned());
                Due::Of(names)
            }
            _ => Due::All,
        }
    }

    /// With what is noted in the document besides, if it owes anything.
    fn with_noted(self, document: &RawDocument) -> Due {
        if at(document, OWED).is_none() {
            return self;
        }
        self.and(Some(&Due::noted(document)))
    }

    fn is_of(&self, field: &str) -> bool {
        match self {
            Due::All => true,
            Due::Of(names) => names.iter().any(|name| meet(name, field)),
        }
    }

    /// Whether something of it follows by this reference.
    fn is_copied(&self, edge: &Edge) -> bool {
        followed(edge).any(|copy| self.is_of(copy.source))
    }

    /// Whether this field is derived of it.
    fn is_derived(&self, graph: &Graph, derived: &Derived) -> bool {
        *self == Due::All || derived.reads(graph).iter().any(|name| self.is_of(name))
    }
}

/// The copies beside a reference that follow their source.
fn followed(edge: &Edge) -> impl Iterator<Item = &CopyField> {
    edge.copies.iter().filter(|copy| copy.sync != SyncMode::Snapshot)
}

/// What is noted in a document whose change is passed on to others.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Debt {
    /// Everything is paid after the write.
    All(Token),
    /// The write is within a transaction, which pays what is kept true in it.
    Later(Token),
}

impl Debt {
    fn of(self, graph: &Graph, meta: &DocumentMeta) -> Option<Token> {
        match self {
            Debt::All(token) => Some(token),
            Debt::Later(token) => graph.is_followed_later(meta).then_some(token),
        }
    }
}

impl From<Token> for Debt {
    fn from(token: Token) -> Debt {
        Debt::All(token)
    }
}

impl Edge {
    /// When the copies beside it follow their source: `None` where there are none, or all are snapshots.
    pub(crate) fn sync(&self) -> Option<SyncMode> {
        self.copies
            .iter()
            .map(|copy| copy.sync)
            .find(|sync| *sync != SyncMode::Snapshot)
    }

    /// The path of the version beside it.
    pub(super) fn version_path(&self) -> String {
        self.beside(&format!("{COPIED}.{}", self.name()))
    }
}

/// Whether an edge with this mode is kept true in the transaction of the write.
pub(super) fn is_atomic(sync: SyncMode, transactions: bool) -> bool {
    transactions && matches!(sync, SyncMode::Auto | SyncMode::Atomic)
}

impl Graph {
    /// The references of a document beside which copies follow their source.
    pub(super) fn copying(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.outgoing(meta).filter(|edge| edge.sync().is_some())
    }

    /// The references by which others copy from a document.
    pub(super) fn copied(&self, meta: &DocumentMeta) -> impl Iterator<Item = &Edge> + Clone {
        self.incoming(meta).filter(|edge| edge.sync().is_some())
    }

    /// Whether something is derived from this field of a document.
    pub(super) fn is_read(&self, meta: &DocumentMeta, field: &str) -> bool {
        self.copied(meta)
            .flat_map(followed)
            .any(|copy| meet(copy.source, field))
            || self
                .derived_from(meta)
                .any(|derived| derived.reads(self).iter().any(|name| meet(name, field)))
    }

    /// Whether something is derived from a reference as from any other field: it is copied, or a condition of what is derived
    /// in other documents than its targets.
    pub(super) fn is_read_as_value(&self, edge: &Edge) -> bool {
        let meta = edge.holder;
        self.copied(meta)
            .flat_map(followed)
            .any(|copy| meet(copy.source, &edge.path))
            || self
                .derived_from(meta)
                .filter(|derived| derived.edge != edge.at)
                .any(|derived| derived.reads(self).iter().any(|name| meet(name, &edge.path)))
    }

    /// The update's part that passes a change of a derived field on, where others are derived from it: its version is
    /// greater, and what is derived of it is owed.
    pub(in super::super) fn passed_on(
        &self,
        meta: &DocumentMeta,
        field: &str,
        debt: Debt,
        update: &mut Document,
    ) -> bool {
        if !self.is_read(meta, field) {
            return false;
        }
        put(update, "$inc", VERSION, 1_i64.into());
        if let Some(token) = debt.of(self, meta) {
            owe_of(update, token, field);
        }
        true
    }

    /// Whether something of such a document is derived elsewhere that follows it after a transaction.
    pub(super) fn is_followed_later(&self, meta: &DocumentMeta) -> bool {
        let later = |sync: SyncMode| !is_atomic(sync, true);
        self.copied(meta).any(|edge| edge.sync().is_some_and(later))
            || self.derived_from(meta).any(|derived| later(derived.sync))
    }

    /// The reference by which a child names the parent of a derived field.
    pub(super) fn parent_edge(&self, derived: &Derived) -> Option<&Edge> {
        self.edge(derived.edge)
    }
}

/// The error for references to documents of `target` that don't exist.
fn missing(edge: &Edge, target: &DocumentMeta, ids: Vec<Bson>) -> crate::Error {
    crate::Error::MissingReference {
        collection: edge.holder.collection,
        field: edge.path.clone(),
        target: target.collection,
        ids,
    }
}

/// Whether a transaction that writes this reference locks its target, and finds out if it is missing.
pub(super) fn is_held(graph: &Graph, edge: &Edge) -> bool {
    let kept = |sync: SyncMode| is_atomic(sync, true);
    edge.sync().is_some_and(kept)
        || graph
            .derived()
            .iter()
            .any(|derived| derived.edge == edge.at && kept(derived.sync))
}

/// Whether one dotted name is the other, or leads into it.
pub(super) fn meet(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    long.strip_prefix(short)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The name of a field in an update, without the positions in arrays.
pub(super) fn plain_name(name: &str) -> String {
    let is_position = |part: &&str| part.starts_with('$') || part.bytes().all(|b| b.is_ascii_digit());
    name.split('.')
        .enumerate()
        .filter(|(at, part)| *at == 0 || !is_position(part))
        .map(|(_, part)| part)
        .collect::<Vec<_>>()
        .join(".")
}

/// Adds a field to an operator of an update.
pub(super) fn put(update: &mut Document, operator: &str, name: &str, value: Bson) {
    let entry = update
        .entry(operator.to_owned())
        .or_insert_with(|| Document::new().into());
    if let Bson::Document(fields) = entry {
        fields.insert(name, value);
    }
}

/// The value at a dotted name.
pub(super) fn at<'d>(document: &'d RawDocument, name: &str) -> Option<mongodb::bson::RawBsonRef<'d>> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?).ok()??;
    for part in parts {
        value = value.as_document()?.get(part).ok()??;
    }
    Some(value)
}

/// The same as a whole number; 0 where there is none.
pub(super) fn number(document: &RawDocument, name: &str) -> i64 {
    match at(document, name) {
        Some(mongodb::bson::RawBsonRef::Int64(n)) => n,
        Some(mongodb::bson::RawBsonRef::Int32(n)) => n.into(),
        Some(mongodb::bson::RawBsonRef::Double(n)) => n as i64,
        _ => 0,
    }
}

/// The condition that a whole number is this one, where a missing one is 0.
pub(super) fn is_number(n: i64) -> Bson {
    match n {
        0 => doc! { "$in": [0_i64, Bson::Null] }.into(),
        n => n.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::RawDocumentBuf;

    #[test]
    fn names_meet_where_one_leads_into_the_other() {
        assert!(meet("a", "a"));
        assert!(meet("a.b", "a"));
        assert!(meet("a", "a.b.c"));
        assert!(!meet("a", "ab"));
        assert!(!meet("a.b", "a.c"));
    }

    #[test]
    fn fields_are_owed_by_their_names() {
        let mut update = Document::new();
        let token = Token::new();
        for field in ["place.name", "100%.$5", "%2e"] {
            owe_of(&mut update, token, field);
        }
        let set = update.get_document("$set").expect("fields that are set");
        let due: Document = set
            .iter()
            .filter_map(|(name, id)| Some((name.strip_prefix("_odm.due.")?.to_owned(), id.clone())))
            .collect();
        assert_eq!(due.len(), 3);
        assert!(due.keys().all(|key| !key.contains(['.', '$'])), "{due}");
        let noted = |due: Document| {
            let document = RawDocumentBuf::try_from(&doc! { "_odm": { "due": due } }).expect("a document");
            Due::noted(&document)
        };
        let names = ["place.name", "100%.$5", "%2e"].map(str::to_owned);
        assert_eq!(noted(due.clone()), Due::Of(names.to_vec()));
        let mut all = due;
        all.extend(all_due());
        assert_eq!(noted(all), Due::All);
        assert_eq!(noted(Document::new()), Due::Of(Vec::new()));
        assert_eq!(Due::noted(&RawDocumentBuf::new()), Due::All);
    }

    #[test]
    fn positions_are_no_part_of_a_name() {
        assert_eq!(plain_name("parts.$[e0].name"), "parts.name");
        assert_eq!(plain_name("parts.3.name"), "parts.name");
        assert_eq!(plain_name("name"), "name");
    }
}

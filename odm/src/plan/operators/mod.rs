//! The operators of an update, built from typed paths; the guards that keep the document within its bounds; and the values that
//! would take it out of them.

use crate::model::checked;
use crate::model::document::DocumentMeta;
use crate::model::encode::StoredValue;
use crate::model::meta::value_rules::ValueRules;
use crate::model::path::{Codec, Path, Plain, Root, Step, Way};
use crate::model::shape::{Body, FieldMeta, MOST_WRAPPERS, Managed, Shape, VariantMeta};
use crate::model::stored::Stored;
use crate::model::value::{Array, Value};
use crate::model::{default, normalize, sensitive, shape, variant};
use crate::plan::operators::computed::{COMPUTE, ComputedGuard};
use crate::plan::operators::guard::Added;
use crate::plan::operators::names::{joined, joined_names};
use crate::plan::operators::range::{Limits, NumberRange};
use crate::query::filter::Element;
use crate::query::filter::condition::{self, both};
use crate::query::filter::equal::ComparedField;
use crate::query::filter::operand::{Operand, encode};
use crate::store::filter::all;
use crate::{Error, Result, Rule, Violation, bounds};
use mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::UpdateModifications;
use std::marker::PhantomData;

pub(crate) mod applied;
pub(crate) mod around;
pub(crate) mod change;
pub(crate) mod computed;
pub(crate) mod fill;
pub(crate) mod growth;
pub(crate) mod guard;
pub(crate) mod implied;
pub(crate) mod inserted;
pub(crate) mod items;
mod names;
pub(crate) mod nested;
pub(crate) mod patch;
pub(crate) mod push;
mod range;

pub(crate) use crate::plan::operators::guard::Guard;

/// A type whose paths closures receive: a document, or the items of an array.
///
/// ```
/// # use samples::model::*;
/// use odm::update::Rooted;
///
/// assert_eq!(Person::rooted().addresses.city.name(), "addresses.city");
/// assert_eq!(odm::query::Element::<Address>::rooted().city.name(), "city");
/// ```
pub trait Rooted {
    /// The paths.
    type Paths: Copy;
    /// Their value.
    fn rooted() -> Self::Paths;
}

impl<T: crate::Document> Rooted for T {
    type Paths = T::Paths;
    fn rooted() -> T::Paths {
        T::paths()
    }
}

impl<I> Rooted for Element<I> {
    type Paths = Path<Element<I>, I, Root>;
    fn rooted() -> Self::Paths {
        Path::NEW
    }
}

/// A list of changes to a document of type `R`, or to an item of an array. [`Change`](change::Change) has the methods. A function of
/// your own takes whatever collects changes of a document: an update, or this list.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// use odm::query::Element;
/// use odm::update::Changes;
///
/// fn archive<C: Change<Person>>(changes: C) -> C {
///     changes.unset(|p| p.nickname).add_to_set(|p| p.tags, "archived")
/// }
/// fn hide(address: Changes<Element<Address>>) -> Changes<Element<Address>> {
///     address.set(|a| a.street, "").set(|a| a.city, "")
/// }
/// archive(people.update(kate.id)).each(|p| p.addresses, hide).await?;
/// # Ok(()) }
/// ```
#[must_use = "changes do nothing until an update takes them"]
pub struct Changes<R> {
    pub(crate) untyped: UntypedChanges,
    of: PhantomData<fn() -> R>,
}

/// The changes without the type of the document, so that what collects them is compiled once and not for each type.
#[derive(Default)]
pub(crate) struct UntypedChanges {
    operators: Document,
    array_filters: Vec<Document>,
    /// Of the items of an array: the number of identifiers that are taken by the update around them.
    identifiers: usize,
    guards: Vec<Guard>,
    violations: Vec<Violation>,
    /// How many documents and arrays stand above the paths.
    level: u32,
    /// Of the items of an array: its declaration, by which an item itself is checked.
    array: Option<&'static FieldMeta>,
    raw: Vec<Raw>,
    /// Of an upsert: the document that it inserts, but for what the changes set.
    inserted: Option<RawDocumentBuf>,
    /// Of an upsert with a document: the names of the fields that are not those of the document, since the condition demands them, or since
    /// they are set to nothing.
    demanded: Vec<String>,
    /// The fields of variants that are changed and have defaults, by their names.
    with_default: Vec<(&'static str, &'static FieldMeta)>,
    /// The fields that `move_to` changes.
    moves: Vec<&'static str>,
    error: Option<Box<Error>>,
}

/// A field that is changed in MongoDB's own words, where no path rules out what the library writes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    /// Its name in the update.
    pub(crate) name: String,
    /// Whether the typed change of an item leads to it.
    pub(crate) of_item: bool,
}

enum GuardPart {
    /// The field's whole value.
    Whole,
    /// An item of its array, or the value of an entry of its map.
    Item,
}

/// The finished update.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) update: Document,
    pub(crate) array_filters: Vec<Document>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) raw: Vec<Raw>,
    /// Of an update that does nothing but change or remove items: the conditions of which one holds where there are any. They
    /// become a guard where the update would change something all the same.
    pub(crate) met: Option<Vec<Document>>,
    /// Of the write of a bulk: the condition of the documents that fit, and in which there is nothing to change. They are counted
    /// by a statement of their own.
    pub(crate) idle: Option<Box<Document>>,
    /// Whether it changes nothing but that it adds items by their values, where no item equals them.
    pub(crate) only_adds: bool,
    /// `None` where it stores none.
    pub(crate) defaults: Option<Box<Defaults>>,
    /// The size in bytes of the values that it adds, about.
    pub(crate) size: u64,
    /// The fields that `move_to` changes.
    pub(crate) moves: Vec<&'static str>,
}

/// The size in bytes of an update up to which the values that it adds are not named where the document would become larger than
/// MongoDB stores: what makes it large is there already.
const SMALL: u64 = 1024;

/// The defaults that an update stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    /// The defaults that the changes begin with, where the fields are missing.
    pub(crate) fills: Vec<fill::Fill>,
    /// The fields that every stored document has, where an update inserts and fills: one that its condition does not demand is
    /// missing in a new document alone.
    pub(crate) always: Vec<&'static str>,
    /// The fields of which an upsert stores the default, unless its condition demands another value.
    pub(crate) inserted: Vec<&'static str>,
    pub(crate) upsert: bool,
}

/// A field that no document has: to remove it changes nothing, and an update may not be empty.
pub(crate) const NO_FIELD: &str = "_odm.none";

impl Built {
    /// How many items it adds by their values.
    fn added_by_value(&self) -> usize {
        let is_added = |guard: &&Guard| matches!(guard, Guard::Absent(_));
        self.guards.iter().filter(is_added).count()
    }

    /// The condition that a document has the item which this update of many documents adds by its value, if it adds one.
    ///
    /// # Errors
    /// [`Error::Query`] where it changes something else too: a document that has the item would not be changed at all.
    pub(crate) fn adds_alone(&self, collection: &'static str) -> Result<Option<Document>> {
        let added = self.guards.iter().find_map(|guard| match guard {
            Guard::Absent(added) => Some((&added.name, &added.there)),
            _ => None,
        });
        match added {
            None => Ok(None),
            Some((_, there)) if self.only_adds && self.added_by_value() == 1 => Ok(Some(there.clone())),
            Some((name, _)) => Err(Error::Query {
                collection,
                message: format!(
                    "an item is added to `{name}` where no item equals it, which is a condition on the whole update: in an update of \
                     many documents, and in a bulk, it is one item and the only change. Make the other changes by an update of \
                     their own"
                ),
            }),
        }
    }

    /// The update without the items that a document with these values has already; `None` where nothing is left of it, and
    /// where it has none of them.
    pub(crate) fn without_known<'s>(&self, stored: &dyn Fn(&str) -> Option<&'s Bson>) -> Option<KnownItems> {
        if self.added_by_value() == 0 {
            return None;
        }
        let mut left = self.clone();
        let mut known = Vec::new();
        left.guards.retain(|guard| {
            let Guard::Absent(added) = guard else {
                return true;
            };
            let Added {
                place, name, item, ..
            } = added.as_ref();
            let is_known = match stored(name) {
                Some(Bson::Array(items)) => items.iter().any(|there| place.same(there, item)),
                _ => false,
            };
            if is_known {
                known.push((place.clone(), name.clone(), item.clone()));
            }
            !is_known
        });
        if known.is_empty() {
            return None;
        }
        for (place, name, item) in &known {
            left.take_push(place, name, item);
            for guard in &mut left.guards {
                if let Guard::Room {
                    name: of,
                    more,
                    unless_there,
                    ..
                } = guard
                    && of == name
                {
                    *more = more.saturating_sub(1);
                    if let Some(values) = unless_there {
                        values.retain(|value| !place.same(value, item));
                    }
                }
            }
        }
        left.guards
            .retain(|guard| !matches!(guard, Guard::Room { more: 0, .. }));
        Some(if left.only_adds && left.added_by_value() == 0 {
            KnownItems::All
        } else {
            KnownItems::Some(Box::new(left))
        })
    }

    /// Gives a document that an upsert inserts these values, which its condition demands and does not say as the server takes them.
    ///
    /// # Errors
    /// [`Error::Query`] where the update changes one of them too.
    pub(crate) fn insert_given(
        &mut self,
        collection: &'static str,
        given: Vec<(&'static str, Bson)>,
    ) -> Result<()> {
        for (name, value) in given {
            let mut changed = self
                .update
                .values()
                .filter_map(Bson::as_document)
                .flat_map(Document::keys);
            if changed.any(|changed| crate::model::meta::names::meet(changed, name)) {
                return Err(Error::Query {
                    collection,
                    message: format!(
                        "an upsert that inserts `{name}` as its condition says can't change it too: set what `{name}` is to be by \
                         `set_on_insert`, and find the document by another field; or make two updates"
                    ),
                });
            }
            let inserts = self.update.entry("$setOnInsert".to_owned());
            if let Bson::Document(inserts) = inserts.or_insert_with(|| Document::new().into()) {
                inserts.insert(name, value);
            }
        }
        Ok(())
    }

    /// Takes an item out of what is pushed.
    fn take_push(&mut self, place: &ComparedField, name: &str, item: &Bson) {
        let Ok(pushes) = self.update.get_document_mut("$push") else {
            return;
        };
        let is_left = match pushes.get_mut(name) {
            Some(Bson::Document(push)) if push.contains_key("$each") => match push.get_array_mut("$each") {
                Ok(items) => {
                    items.retain(|pushed| !place.same(pushed, item));
                    !items.is_empty()
                }
                Err(_) => true,
            },
            _ => false,
        };
        if !is_left {
            pushes.remove(name);
        }
        if pushes.is_empty() {
            self.update.remove("$push");
        }
    }

    /// For a new document that begins with what this condition demands.
    pub(crate) fn begin_with(&mut self, filter: &Document, given: &[(&'static str, Bson)]) {
        let demanded = |name: &str| {
            let is_given = |(given, _): &(&str, Bson)| crate::model::meta::names::meet(given, name);
            crate::plan::operators::implied::demanded(filter, name).is_some() || given.iter().any(is_given)
        };
        let Some(defaults) = &mut self.defaults else {
            return;
        };
        defaults.always.retain(|name| !demanded(name));
        let inserted = std::mem::take(&mut defaults.inserted);
        if let Ok(fields) = self.update.get_document_mut("$setOnInsert") {
            for name in inserted.into_iter().filter(|name| demanded(name)) {
                fields.remove(name);
            }
            if fields.is_empty() {
                self.update.remove("$setOnInsert");
            }
        }
    }

    /// Whether it is its operators alone: it holds for each document, and changes it.
    pub(crate) fn is_plain(&self) -> bool {
        let is_document = !self.update.contains_key(COMPUTE);
        is_document && self.is_one_statement() && self.guards.is_empty() && self.array_filters.is_empty()
    }

    /// Whether its operators and guards are all of it.
    pub(crate) fn is_one_statement(&self) -> bool {
        self.raw.is_empty() && self.met.is_none() && self.defaults.is_none()
    }

    /// Whether no error names the values that it adds.
    pub(crate) fn is_small(&self) -> bool {
        self.size <= SMALL
    }

    /// As it is sent: with defaults to fill a pipeline, where it can be one. Others are filled by a statement before it.
    pub(crate) fn modifications(&self) -> UpdateModifications {
        match self.pipeline() {
            Some(stages) => UpdateModifications::Pipeline(stages),
            None => UpdateModifications::Document(self.update.clone()),
        }
    }

    pub(crate) fn pipeline(&self) -> Option<Vec<Document>> {
        let defaults = self.defaults.as_ref();
        let defaults = match defaults.filter(|defaults| !defaults.fills.is_empty()) {
            Some(defaults) => defaults,
            None if self.update.contains_key(COMPUTE) => {
                return fill::pipeline(&self.update, &[], false, None);
            }
            None => return None,
        };
        let witness = defaults.always.first().copied();
        fill::pipeline(&self.update, &defaults.fills, defaults.upsert, witness)
    }

    /// The defaults that the changes begin with, where the fields are missing.
    pub(crate) fn fills(&self) -> &[fill::Fill] {
        self.defaults.as_ref().map_or(&[], |defaults| &defaults.fills)
    }

    /// Whether defaults have to be filled by a statement before it.
    pub(crate) fn fills_first(&self) -> bool {
        !self.fills().is_empty() && self.pipeline().is_none()
    }

    /// Refuses a change that can't fill a default in the same statement, where there is no place for another one.
    pub(crate) fn fills_at_once(&self, collection: &'static str, what: &str) -> Result<()> {
        let Some(fill) = self.fills().first().filter(|_| self.fills_first()) else {
            return Ok(());
        };
        let name = fill.path();
        Err(Error::Query {
            collection,
            message: format!(
                "`{name}` begins with its default where it is missing, which {what} can't fill beside its other changes: make an \
                 update of its own, or have every document store it by `#[field(stored)]`"
            ),
        })
    }

    /// An update that changes nothing, and counts the documents that fit.
    pub(crate) fn nothing() -> Built {
        Built {
            update: doc! { "$unset": { NO_FIELD: "" } },
            array_filters: Vec::new(),
            guards: Vec::new(),
            raw: Vec::new(),
            met: None,
            idle: None,
            only_adds: false,
            defaults: None,
            size: 0,
            moves: Vec::new(),
        }
    }

    /// The value that a field gets by `move_to`.
    pub(crate) fn moved(&self, name: &str) -> Option<&Bson> {
        if !self.moves.contains(&name) {
            return None;
        }
        self.update.get_document("$set").ok()?.get(name)
    }

    /// Refuses `move_to` in a write that is not an update of one document by its id.
    ///
    /// # Errors
    /// [`Error::Query`].
    pub(crate) fn moves_nothing(&self, collection: &'static str) -> Result<()> {
        if self.moves.is_empty() {
            return Ok(());
        }
        Err(Error::Query {
            collection,
            message: "`move_to` is a change of one document by its id, `update(id).move_to(…)`: not in a bulk, not of an upsert, and not by a \
                      unique key or a condition"
                .to_owned(),
        })
    }

    /// The condition of the matching documents that have nothing to change; `None` if the update changes every one.
    pub(crate) fn idle_among(&self, condition: Document) -> Option<Document> {
        let guards = |lets_be: bool| {
            let guards = self.guards.iter().filter(move |guard| guard.lets_be() == lets_be);
            guards.map(Guard::condition)
        };
        let needed = all(guards(true));
        if needed.is_empty() {
            return None;
        }
        let idle = doc! { "$nor": [needed] };
        Some(all([condition].into_iter().chain(guards(false)).chain([idle])))
    }

    /// Excludes documents without items for the update, where it would write other fields in them: their version, their
    /// timestamps, or the library's own fields.
    pub(crate) fn guard_items(&mut self, meta: &crate::model::document::DocumentMeta, noted: bool) {
        if let Some(any) = self.met.take().filter(|_| noted || meta.is_stamped()) {
            self.guards.push(Guard::Met { any });
        }
    }
}

/// The rest of an update where items that it adds are there already.
#[derive(Debug)]
pub(crate) enum KnownItems {
    /// Nothing: all of them are.
    All,
    /// The other changes.
    Some(Box<Built>),
}

impl<R> Default for Changes<R> {
    fn default() -> Self {
        Changes {
            untyped: UntypedChanges::default(),
            of: PhantomData,
        }
    }
}

impl<R> std::fmt::Debug for Changes<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes")
            .field("operators", &self.untyped.operators)
            .field("array_filters", &self.untyped.array_filters)
            .finish()
    }
}

impl<R> Changes<R> {
    /// No change yet.
    ///
    /// ```
    /// # use samples::model::*;
    /// let changes = odm::update::Changes::<Person>::new().set(|p| p.age, 30);
    /// assert!(!changes.is_empty());
    /// ```
    pub fn new() -> Changes<R> {
        Changes::default()
    }

    /// No change yet of the items of this array of `above`.
    fn of_items(above: &UntypedChanges, array: &str, field: Option<&'static FieldMeta>) -> Changes<R> {
        Changes {
            untyped: UntypedChanges {
                level: above.level + 2 + array.matches('.').count() as u32,
                array: field,
                identifiers: above.next_identifier() + 1,
                ..UntypedChanges::default()
            },
            of: PhantomData,
        }
    }

    /// Whether nothing would change: then nothing is written.
    ///
    /// ```
    /// # use samples::model::*;
    /// assert!(odm::update::Changes::<Person>::new().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.untyped.is_empty()
    }
}

impl<T: crate::Document> Changes<T> {
    /// The update as MongoDB takes it, with the library's own changes; or what breaks a bound.
    pub(crate) fn build(self, upsert: bool, now: DateTime) -> Result<Built> {
        self.untyped.build_for(T::META, upsert, now)
    }
}

impl UntypedChanges {
    /// The number of the next array filter, which has the identifier `e` with this number.
    fn next_identifier(&self) -> usize {
        self.identifiers + self.array_filters.len()
    }

    /// Whether nothing would change: then nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.operators.is_empty() && self.error.is_none()
    }

    /// The field is changed although it is in the shard key, or the same in other documents.
    pub(crate) fn moves(&mut self, name: &'static str) {
        self.moves.push(name);
    }

    /// The operators, by MongoDB's names.
    pub(crate) fn operators(&self) -> &Document {
        &self.operators
    }

    /// Gives an upsert the document that it inserts.
    pub(crate) fn insert_whole(&mut self, document: Result<RawDocumentBuf>) {
        self.inserted = self.value(document);
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert_with(|| Box::new(error));
    }

    fn problem(&mut self, message: String) {
        // The collection's name is filled in where the update is executed.
        self.fail(Error::Query {
            collection: "",
            message,
        });
    }

    /// Puts `value` behind `operator` for `name`. A second value is handled by `again`.
    fn put(
        &mut self,
        operator: &'static str,
        name: &str,
        value: Bson,
        again: fn(&mut Bson, Bson) -> Result<(), ()>,
    ) {
        let fields = match self
            .operators
            .entry(operator.to_owned())
            .or_insert_with(|| Bson::Document(Document::new()))
        {
            Bson::Document(fields) => fields,
            _ => return self.problem(format!("`{operator}` of a raw update is not a document")),
        };
        let clash = match fields.get_mut(name) {
            Some(before) => again(before, value).is_err(),
            None => {
                fields.insert(name, value);
                false
            }
        };
        if clash {
            self.twice(name);
        }
    }

    fn twice(&mut self, name: &str) {
        self.problem(changed_twice(name));
    }

    /// Whether an operator is on this field.
    fn has(&self, operator: &str, name: &str) -> bool {
        let fields = self.operators.get(operator).and_then(Bson::as_document);
        fields.is_some_and(|fields| fields.contains_key(name))
    }

    /// A value that a change brings, checked against the bounds of its field.
    fn checked(
        &mut self,
        path: &str,
        field: Option<&'static FieldMeta>,
        value: Result<StoredValue>,
        kind: GuardPart,
    ) -> Option<Bson> {
        let mut value = self.value(value)?;
        if let Some(field) = field.filter(|field| field.cut) {
            let of_item = matches!(kind, GuardPart::Item);
            let normalized = value.bson().and_then(|mut bson| {
                normalize::value(field, of_item, &mut bson);
                StoredValue::of_bson(bson)
            });
            value = self.value(normalized.map_err(|source| Error::Encode {
                field: path.to_owned(),
                source: Box::new(source),
            }))?;
        }
        let read = value.raw().and_then(|raw| {
            if let Some(field) = field {
                let level = match path {
                    // An item itself is checked as what comes to its array.
                    "" => self.level.saturating_sub(2),
                    path => self.level + path.matches('.').count() as u32,
                };
                let at = (path, level);
                match kind {
                    GuardPart::Whole => bounds::value(at, field, raw, &mut self.violations),
                    GuardPart::Item => bounds::item(at, field, raw, &mut self.violations),
                }
            }
            crate::model::encode::owned(raw)
        });
        self.value(read.map_err(|source| Error::Encode {
            field: path.to_owned(),
            source: Box::new(source),
        }))
    }

    fn value<V>(&mut self, value: Result<V>) -> Option<V> {
        match value {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    fn whole<V, C: Codec<V>>(
        &mut self,
        operator: &'static str,
        name: &str,
        field: Option<&'static FieldMeta>,
        value: impl Operand<V>,
        again: fn(&mut Bson, Bson) -> Result<(), ()>,
    ) {
        if name.is_empty() {
            let value = self.checked(name, self.array, encode::<V, C>(name, value), GuardPart::Item);
            if let Some(value) = value {
                self.put(operator, name, value, again);
            }
            return;
        }
        if let Some(value) = self.checked(name, field, encode::<V, C>(name, value), GuardPart::Whole) {
            // As serde would store it: not at all.
            let skips = field.is_some_and(|field| field.skips_none);
            match operator {
                "$set" if skips && (self.has("$set", name) || self.has("$unset", name)) => {
                    return self.twice(name);
                }
                "$set" if skips && value == Bson::Null => {
                    self.put("$unset", name, Bson::String(String::new()), never);
                    return self.without_aliases(name, field);
                }
                "$setOnInsert" if skips && value == Bson::Null && !self.has(operator, name) => {
                    self.demanded.push(name.to_owned());
                    return;
                }
                _ => {}
            }
            let is_null = value == Bson::Null;
            self.put(operator, name, value, again);
            match operator {
                "$set" => self.without_aliases(name, field),
                // To the server `null` is the least of all.
                "$min" if !is_null => self.needs_value(name, field),
                // It does nothing to a document that is there.
                "$setOnInsert" => {}
                _ => self.needs_own_name(name, field),
            }
        }
    }

    /// Removes the field under other names that it is read by: a document with two of them can't be read.
    fn without_aliases(&mut self, name: &str, field: Option<&'static FieldMeta>) {
        for previous in previous_names(name, field) {
            self.put("$unset", &previous, Bson::String(String::new()), replace);
        }
    }

    /// Keeps a change of what is stored off a document that has it under another name that it is read by.
    fn needs_own_name(&mut self, name: &str, field: Option<&'static FieldMeta>) {
        for previous in previous_names(name, field) {
            let known =
                |guard: &Guard| matches!(guard, Guard::PreviousName { name, .. } if *name == previous);
            if !self.guards.iter().any(known) {
                self.guards.push(Guard::PreviousName {
                    name: previous,
                    field: name.to_owned(),
                });
            }
        }
    }

    /// Does not change a document without this array, except one that has it under a previous name.
    fn needs_array(&mut self, name: &'static str, field: Option<&'static FieldMeta>) {
        self.needs_own_name(name, field);
        self.guards.push(Guard::There {
            name: name.to_owned(),
            alone: false,
        });
    }

    /// Keeps a change within a variant off a document that has another one.
    fn in_variant<P: Step>(&mut self) {
        if P::IN_VARIANT {
            self.in_variant_of(P::WAY, P::PATH);
        }
    }

    fn in_variant_of(&mut self, way: Option<&'static Way>, path: &'static str) {
        for expected in variant::levels(way).into_iter().flat_map(|level| level.expected) {
            let known = self.guards.iter().find_map(|guard| match guard {
                Guard::Variant {
                    name,
                    expected: known,
                } if *name == expected.tag() => Some(known),
                _ => None,
            });
            let other = known.filter(|known| known.name() != expected.name());
            let other = other.map(|known| known.name());
            match (known.is_some(), other) {
                (false, _) => self.guards.push(Guard::Variant {
                    name: expected.tag(),
                    expected: Box::new(expected),
                }),
                (true, None) => {}
                (true, Some(other)) => {
                    return self.problem(format!(
                        "one update changes fields of the variants `{other}` and `{}` of `{}`, and nothing has both: make it two \
                         updates",
                        expected.name(),
                        expected.label()
                    ));
                }
            }
        }
        self.with_default.extend(
            way.and_then(|way| way.field)
                .filter(|field| field.default.is_some())
                .map(|field| (path, field)),
        );
        for name in variant::around(way) {
            let around = Guard::Around(around::Around { name, there: true });
            if !self
                .guards
                .iter()
                .any(|guard| matches!(guard, Guard::Around(_)) && guard.name() == around.name())
            {
                self.guards.push(around);
            }
        }
    }

    /// Refuses what is only done in a new document, which has no variant yet.
    fn not_in_variant<P: Step>(&mut self) {
        if P::IN_VARIANT {
            self.problem(format!(
                "`set_on_insert` sets `{}` within a variant, and a new document has none yet: set the whole enum",
                P::PATH
            ));
        }
    }

    /// The numbers that may stand in a field; or in the items of the array, if the change is of them.
    fn range(&self, field: Option<&'static FieldMeta>) -> NumberRange {
        match (field, self.array) {
            (Some(field), _) => NumberRange::for_field(field),
            (None, Some(array)) => NumberRange::of_items(array),
            (None, None) => NumberRange::default(),
        }
    }

    /// Sets a field to the result of an expression: keeps it within its bounds.
    fn computed(&mut self, name: &str, field: Option<&'static FieldMeta>, value: Bson) {
        self.can_be_checked("compute", name, field);
        let guard = ComputedGuard::new(name, field, &value);
        self.guards
            .extend(guard.map(|guard| Guard::Computed(Box::new(guard))));
        self.put(COMPUTE, name, computed::converted(field, value), never);
        self.without_aliases(name, field);
    }

    /// Why an update with a computed field can't be sent, if it can't.
    fn refused_computed(&self, upsert: bool) -> Option<&'static str> {
        if !self.operators.contains_key(COMPUTE) {
            return None;
        }
        if upsert {
            return Some(
                "an upsert has no document to compute a field from: insert the document by `insert`, or set a value",
            );
        }
        let is_pipeline = fill::pipeline(&self.operators, &[], false, None).is_some();
        let beside = "a computed field is sent in a pipeline, which has no place for changes of some items of an array, for `push_into`, \
                      `pull_where` and for changes in MongoDB's own words: make those by an update of their own";
        (!is_pipeline || !self.array_filters.is_empty() || !self.raw.is_empty()).then_some(beside)
    }

    /// Adds to a number: keeps it within its bounds.
    fn add(&mut self, name: &str, field: Option<&'static FieldMeta>, by: Bson) {
        let limits = self.range(field).of_sum(name, &by, field.and_then(default::of));
        self.change_number("$inc", name, field, by, limits);
    }

    /// Takes from a number.
    fn take(&mut self, name: &str, field: Option<&'static FieldMeta>, by: Bson) {
        let least = by.clone();
        match range::negated(by) {
            Some(by) => self.add(name, field, by),
            None => self.problem(format!(
                "`dec` takes no {least} from `{name}`: a number of its type can't be so great, so add it in two steps by `inc`"
            )),
        }
    }

    fn multiply(&mut self, name: &str, field: Option<&'static FieldMeta>, by: Bson) {
        let limits = self
            .range(field)
            .of_product(name, &by, field.and_then(default::of));
        self.change_number("$mul", name, field, by, limits);
    }

    fn change_number(
        &mut self,
        operator: &'static str,
        name: &str,
        field: Option<&'static FieldMeta>,
        by: Bson,
        limits: Result<Limits>,
    ) {
        let Some(limits) = self.value(limits) else { return };
        self.keeps_rules(operator, name, field, &by);
        let name_of = || name.to_owned();
        let sums = limits.all.into_iter().map(|limit| Guard::Sum {
            name: name_of(),
            limit,
        });
        self.guards.extend(sums);
        let base = limits.missing.map(|bound| Guard::Base {
            name: name_of(),
            bound,
        });
        self.guards.extend(base);
        self.needs_value(name, field);
        self.put(operator, name, by, never);
    }

    /// The rules of a field's value; or of the items of the array, if the change is of them.
    fn value_rules(&self, field: Option<&'static FieldMeta>) -> Vec<&'static ValueRules> {
        match (field, self.array) {
            (Some(field), _) => checked::of_field(field, false),
            (None, Some(array)) => checked::of_field(array, true),
            (None, None) => Vec::new(),
        }
    }

    /// Refuses a value that the server makes, where a function of the application says which ones are valid.
    fn can_be_checked(&mut self, change: &str, name: &str, field: Option<&'static FieldMeta>) {
        if let Some(check) = self.value_rules(field).iter().find_map(|rules| rules.check) {
            self.problem(format!(
                "`{change}` has the server make the value of `{name}`, and `{}` (`check_with`) can only be called with a value that \
                 the program knows: `set` it",
                check.name
            ));
        }
    }

    /// A sum or a product of a number keeps the rules of its field.
    fn keeps_rules(&mut self, operator: &str, name: &str, field: Option<&'static FieldMeta>, by: &Bson) {
        let change = if operator == "$inc" { "inc" } else { "mul" };
        self.can_be_checked(change, name, field);
        for rules in self.value_rules(field) {
            if !rules.one_of.is_empty() {
                self.problem(format!(
                    "`{change}` can make a number of `{name}` that `one_of` does not list: `set` it to one of them"
                ));
            }
            // A product of a multiple is one.
            let rest = rules.multiple_of.filter(|_| operator == "$inc");
            let sum = match by {
                Bson::Int32(by) => Some(i64::from(*by)),
                Bson::Int64(by) => Some(*by),
                _ => None,
            };
            if let (Some(factor), Some(sum)) = (rest, sum)
                && sum.checked_rem(factor).is_some_and(|rest| rest != 0)
            {
                self.fail(Error::Invalid {
                    collection: String::new(),
                    violations: vec![Violation::new(name, Rule::MultipleOf(factor), Some(by.clone()))],
                    source: None,
                });
            }
        }
    }

    /// Keeps the change off a document that has `null` there, as `None` is stored.
    fn needs_value(&mut self, name: &str, field: Option<&'static FieldMeta>) {
        self.needs_own_name(name, field);
        let known = |guard: &Guard| matches!(guard, Guard::Value { name: of, .. } if of == name);
        if field.is_some_and(|field| shape::may_be_null((field.shape)())) && !self.guards.iter().any(known) {
            self.guards.push(Guard::Value {
                name: name.to_owned(),
                takes: false,
            });
        }
    }

    /// Keeps the map within its bound when this entry comes to it.
    fn entry(&mut self, name: &str, key: &str, max: u64) {
        let before = self.guards.iter_mut().find_map(|guard| match guard {
            Guard::Entries { name: of, keys, .. } if of == name => Some(keys),
            _ => None,
        });
        let all = match before {
            Some(keys) => {
                if !keys.iter().any(|before| before == key) {
                    keys.push(key.to_owned());
                }
                keys.len()
            }
            None => {
                self.guards.push(Guard::Entries {
                    name: name.to_owned(),
                    keys: vec![key.to_owned()],
                    max,
                });
                1
            }
        };
        if all as u64 > max {
            self.fail(Error::Invalid {
                collection: String::new(),
                violations: vec![Violation::new(name, Rule::MaxItems(max), None)],
                source: None,
            });
        }
    }

    /// Whether the update takes something out of one array, and does nothing else: on a document with `null` in its place
    /// there is nothing to do then.
    fn only_takes(&self) -> bool {
        let mut operators = self.operators.iter();
        matches!(
            (operators.next(), operators.next()),
            (Some((operator, Bson::Document(fields))), None)
                if fields.len() == 1 && matches!(operator.as_str(), "$pull" | "$pullAll" | "$pop")
        )
    }

    /// Whether it does nothing but add items by their values.
    fn only_adds(&self) -> bool {
        let mut added = 0;
        for guard in &self.guards {
            added += usize::from(matches!(guard, Guard::Absent(_)));
        }
        let mut operators = self.operators.iter();
        match (operators.next(), operators.next()) {
            (Some((operator, Bson::Document(pushes))), None) if operator == "$push" => {
                let all: usize = pushes.values().map(|push| pushed(push).len()).sum();
                added > 0 && all == added
            }
            _ => false,
        }
    }

    fn items<I: Value + Stored, V: Operand<I>>(
        &mut self,
        name: &str,
        field: Option<&'static FieldMeta>,
        items: impl IntoIterator<Item = V>,
    ) -> Vec<Bson> {
        let mut values = Vec::new();
        for item in items {
            values.extend(self.checked(name, field, encode::<I, Plain>(name, item), GuardPart::Item));
        }
        values
    }

    /// Keeps the array within its bound when `values` come to it.
    fn room(&mut self, name: &str, field: Option<&'static FieldMeta>, values: &[Bson], set: bool) {
        let Some(max) = field.and_then(|field| field.bounds.max_items) else {
            return;
        };
        let before = self.guards.iter_mut().find_map(|guard| match guard {
            Guard::Room {
                name: of,
                more,
                unless_there,
                ..
            } if of == name => Some((more, unless_there)),
            _ => None,
        });
        let more = match before {
            Some((more, unless_there)) => {
                *more += values.len() as u64;
                if let Some(there) = unless_there {
                    there.extend_from_slice(values);
                }
                *more
            }
            None => {
                let more = values.len() as u64;
                let unless_there = set.then(|| values.to_vec());
                self.guards.push(Guard::Room {
                    name: name.to_owned(),
                    more,
                    max,
                    unless_there,
                    field,
                    numbered: field.is_some_and(bounds::has_numbered_items),
                });
                more
            }
        };
        if more > max {
            self.guards
                .retain(|guard| !matches!(guard, Guard::Room { name: of, .. } if of == name));
            self.fail(Error::Invalid {
                collection: String::new(),
                violations: vec![Violation::new(name, Rule::MaxItems(max), None)],
                source: None,
            });
        }
    }

    /// Adds items to a set: those that are compared by their bytes by `$addToSet`, and each other one by a `$push` under the
    /// condition that no item equals it.
    fn add_items(&mut self, name: &str, field: Option<&'static FieldMeta>, mut values: Vec<Bson>) {
        let Some(place) = field.and_then(|field| ComparedField::items(field, name)) else {
            self.room(name, field, &values, true);
            self.needs_value(name, field);
            return self.each("$addToSet", name, values);
        };
        let mut new: Vec<Bson> = Vec::new();
        values.retain(|value| {
            let is_same = |other: &Bson| place.same(other, value);
            let is_added = |guard: &Guard| matches!(guard, Guard::Absent(added) if added.name == name && is_same(&added.item));
            let is_new = !new.iter().any(is_same) && !self.guards.iter().any(is_added);
            if is_new {
                new.push(value.clone());
            }
            is_new
        });
        for item in new {
            match (
                place.condition("$eq", item.clone()),
                place.condition("$ne", item.clone()),
            ) {
                (Ok(there), Ok(absent)) => self.guards.push(Guard::Absent(Box::new(Added {
                    place: place.clone(),
                    name: name.to_owned(),
                    item,
                    there,
                    absent,
                }))),
                (Err(error), _) | (_, Err(error)) => return self.fail(error),
            }
        }
        self.room(name, field, &values, true);
        self.needs_value(name, field);
        if !values.is_empty() {
            self.each("$push", name, values);
        }
    }

    fn place<I>(
        &mut self,
        name: &str,
        field: Option<&'static FieldMeta>,
        is_set: bool,
        (values, placed): (Vec<Bson>, push::Placed<I>),
    ) {
        if let Some(message) = push::refused(name, field, is_set) {
            return self.problem(message);
        }
        let max = field.and_then(|field| field.bounds.max_items);
        match (placed.kept(), max) {
            (Some(kept), Some(max)) if kept > max => {
                return self.problem(format!(
                    "a push onto `{name}` keeps {kept} items, and the array holds {max} at most: keep no more than these"
                ));
            }
            (Some(_), _) => {}
            (None, _) => self.room(name, field, &values, false),
        }
        self.needs_value(name, field);
        self.put("$push", name, placed.operand(values).into(), never);
    }

    fn each(&mut self, operator: &'static str, name: &str, values: Vec<Bson>) {
        self.put(operator, name, one_or_each(values), |before, value| {
            // Where items are placed and how many are kept holds for these items alone.
            if is_placed(before) {
                return Err(());
            }
            let mut all = into_pushed(std::mem::replace(before, Bson::Null));
            all.extend(into_pushed(value));
            *before = doc! { "$each": all }.into();
            Ok(())
        });
    }

    /// The array of items to which all these changes of an item are made: an item without it is left as it is.
    fn only_array(&self) -> Option<&str> {
        let only = self.guards.iter().find_map(Guard::array_that_is_there)?;
        written(&self.operators)
            .all(|changed| crate::model::meta::names::meet(changed, only))
            .then_some(only)
    }

    /// Takes the changes of the items of an array that match this condition; `None` for all.
    fn change_items(
        &mut self,
        array: &'static str,
        field: Option<&'static FieldMeta>,
        within: Option<Document>,
        mut changes: UntypedChanges,
    ) {
        if array.is_empty() {
            return self
                .problem("`` is an array itself: put another one in its place by `replace_item`".to_owned());
        }
        // Of items that have the variant in which something is changed; the others stay as they are.
        let mut variants = Document::new();
        changes.guards.retain(|guard| match guard {
            Guard::Variant { expected, .. } => {
                let is_asked = |(name, value): &(String, Bson)| {
                    within.as_ref().and_then(|within| within.get(name)) == Some(value)
                };
                let condition = expected.condition().into_iter().filter(|part| !is_asked(part));
                variants = both(std::mem::take(&mut variants), condition.collect());
                false
            }
            _ => true,
        });
        let is_all = within.is_none() && changes.array_filters.is_empty() && variants.is_empty();
        let within = both(variants, within.unwrap_or_default());
        let identifier = format!("e{}", self.next_identifier());
        let filter = match changes.only_array() {
            Some(inner) => both(within.clone(), doc! { inner: { "$type": "array" } }),
            None => within.clone(),
        };
        let prefix = if is_all && filter.is_empty() {
            format!("{array}.$[]")
        } else {
            match condition::below(&identifier, filter) {
                Ok(filter) => self.array_filters.push(filter),
                Err(message) => return self.problem(message),
            }
            self.array_filters.append(&mut changes.array_filters);
            format!("{array}.$[{identifier}]")
        };
        self.below(array, &within, &prefix, changes);
        self.needs_array(array, field);
    }

    /// Takes the changes of items, whose names are relative, as changes below `prefix` (`items.$[e0]`).
    ///
    /// `array` is the array's name, and `within` says which of its items are changed.
    fn below(&mut self, array: &str, within: &Document, prefix: &str, changes: UntypedChanges) {
        let has_only_array = changes.only_array().is_some();
        if let Some((name, _)) = variant_fills(&changes.operators, &changes.with_default).next() {
            self.problem(format!(
                "`{name}` of the items of `{array}` begins with its default where it is missing, which a change of items within a \
                 variant can't fill: have every item store it by `#[field(stored)]`, or `set` it"
            ));
        }
        if let Some(error) = changes.error {
            // An item itself has no name.
            self.fail(match *error {
                Error::Encode { field, source } if field.is_empty() => Error::Encode {
                    field: array.to_owned(),
                    source,
                },
                Error::Query { collection, message } => Error::Query {
                    collection,
                    message: message.replace("``", &format!("an item of `{array}`")),
                },
                error => error,
            });
        }
        let items = changes
            .array
            .and_then(|array| shape::items(shape::of_field(array)));
        let value = |field: String, of_type| Guard::ItemValues {
            name: array.to_owned(),
            within: within.clone(),
            field,
            of_type,
        };
        if let Some(items) = items {
            // An array whose items are changed is there.
            let arrays: Vec<&str> = changes
                .guards
                .iter()
                .filter_map(Guard::array_that_is_there)
                .collect();
            let is_known = |name: &str| arrays.contains(&name);
            let taken = around::around_taken(items, &changes.operators);
            let taken = taken.into_iter().filter(|field| !is_known(field));
            self.guards.extend(taken.map(|field| value(field, None)));
            let around = around::all(items, &changes.operators);
            let around = around.into_iter().filter(|around| !is_known(&around.name));
            self.guards
                .extend(around.map(|around| value(around.name, around.there.then_some("object"))));
        }
        self.raw.extend(changes.raw.into_iter().map(|raw| Raw {
            name: joined(prefix, &raw.name),
            of_item: true,
        }));
        for (operator, fields) in changes.operators {
            let Bson::Document(fields) = fields else { continue };
            let operator = OPERATORS.iter().find(|known| **known == operator).copied();
            let Some(operator) = operator else {
                self.problem("a raw change can't be made to the items of an array".to_owned());
                continue;
            };
            for (name, value) in fields {
                if name.is_empty() && !takes_plain_items(operator, changes.array) {
                    self.problem(format!(
                        "an item of `{array}` can't be changed as a whole in this way: name a field of it, or put another one in \
                         its place by `replace_item`"
                    ));
                    continue;
                }
                self.put(operator, &joined(prefix, &name), value, |_, _| Err(()));
            }
        }
        for guard in changes.guards {
            match guard {
                Guard::Sum { name: field, limit } => {
                    let of = match field.as_str() {
                        "" => guard::alternatives(within),
                        _ => vec![within.clone()],
                    };
                    self.guards.extend(of.into_iter().map(|within| Guard::Items {
                        name: array.to_owned(),
                        within,
                        field: field.clone(),
                        limit: limit.clone(),
                    }));
                }
                // An item that is a number is there.
                Guard::Base { name, .. } if name.is_empty() => {}
                Guard::Base { name: field, bound } => self.guards.push(Guard::ItemBases {
                    name: array.to_owned(),
                    within: within.clone(),
                    field,
                    bound,
                }),
                Guard::PreviousName { name: previous, field } => self.guards.push(Guard::ItemPreviousNames {
                    name: array.to_owned(),
                    within: within.clone(),
                    previous,
                    field,
                }),
                Guard::Around(around) => self
                    .guards
                    .push(value(around.name, around.there.then_some("object"))),
                // The array filter is for the items that have it.
                Guard::There { .. } if has_only_array => {}
                Guard::There { name: field, .. } => self.guards.push(value(field, Some("array"))),
                Guard::Value { name: field, .. } => self.guards.push(value(field, None)),
                inner @ (Guard::Items { .. }
                | Guard::ItemBases { .. }
                | Guard::ItemValues { .. }
                | Guard::ItemPreviousNames { .. }
                | Guard::InItems { .. }) => self.guards.push(Guard::InItems {
                    name: array.to_owned(),
                    within: within.clone(),
                    of: Box::new(inner),
                }),
                _ => self.problem(
                    "an array or map inside the items of an array can't grow with its bound kept: read the item, and \
                     put the changed one in its place by `replace_item`"
                        .to_owned(),
                ),
            }
        }
        let room = bounds::MOST.saturating_sub(self.violations.len());
        let violations = changes.violations.into_iter().take(room);
        self.violations.extend(violations.map(|violation| Violation {
            path: joined(array, &violation.path),
            ..violation
        }));
    }
}

/// The names of all fields that an update changes.
pub(crate) fn written(operators: &Document) -> impl Iterator<Item = &str> {
    let fields = operators.values().filter_map(Bson::as_document);
    fields.flat_map(|fields| fields.keys().map(String::as_str))
}

/// Whether the items of this array are plain values, never `null` and no references, and the operator leaves one there.
fn takes_plain_items(operator: &str, array: Option<&'static FieldMeta>) -> bool {
    let leaves_one = matches!(operator, "$set" | "$inc" | "$mul" | "$min" | "$max");
    leaves_one && array.is_some_and(has_plain_items)
}

fn has_plain_items(array: &'static FieldMeta) -> bool {
    let (mut field, mut shape, mut within) = (array, (array.shape)(), false);
    for _ in 0..MOST_WRAPPERS {
        if field.reference.is_some() || field.bounds.opaque {
            return false;
        }
        match shape {
            Shape::Optional(inner) if !within => shape = inner(),
            Shape::Array(items) if !within => (shape, within) = (items(), true),
            Shape::Bounded(inner) => (field, shape) = (inner, (inner.shape)()),
            Shape::Enum(of) => {
                let is_unit = |variant: &VariantMeta| matches!(variant.body, Body::Unit);
                return of.variants.iter().all(is_unit);
            }
            Shape::Any
            | Shape::Null
            | Shape::Optional(_)
            | Shape::Array(_)
            | Shape::Fixed { .. }
            | Shape::Tuple(_)
            | Shape::Map(_)
            | Shape::Struct(_) => return false,
            _ => return within,
        }
    }
    false
}

/// The items of a `$push`.
fn pushed(push: &Bson) -> &[Bson] {
    match push.as_document().and_then(|push| push.get("$each")) {
        Some(Bson::Array(items)) => items,
        _ => std::slice::from_ref(push),
    }
}

/// Whether the operand of a `$push` says where its items stand, or how many the array keeps.
fn is_placed(push: &Bson) -> bool {
    let each = push.as_document().filter(|push| push.contains_key("$each"));
    each.is_some_and(|each| each.len() > 1)
}

fn into_pushed(push: Bson) -> Vec<Bson> {
    match push {
        Bson::Document(mut each) if each.contains_key("$each") => match each.remove("$each") {
            Some(Bson::Array(items)) => items,
            _ => Vec::new(),
        },
        one => vec![one],
    }
}

/// The items of a `$push`, or of an `$addToSet`. One stands without `$each`, which is less for the server to take apart; but for a
/// document that could be taken for modifiers itself.
fn one_or_each(mut items: Vec<Bson>) -> Bson {
    let modifiers = |item: &Document| item.keys().any(|key| key.starts_with('$'));
    match items.pop() {
        Some(one) if items.is_empty() && !one.as_document().is_some_and(modifiers) => one,
        last => {
            items.extend(last);
            doc! { "$each": items }.into()
        }
    }
}

const OPERATORS: [&str; 13] = [
    "$set",
    "$unset",
    "$inc",
    "$mul",
    "$min",
    "$max",
    "$push",
    "$pull",
    "$pullAll",
    "$addToSet",
    "$pop",
    "$setOnInsert",
    "$currentDate",
];

impl UntypedChanges {
    /// The update of documents of this type as MongoDB takes it, with the library's own changes; or what breaks a bound.
    pub(crate) fn build_for(
        mut self,
        meta: &'static DocumentMeta,
        upsert: bool,
        now: DateTime,
    ) -> Result<Built> {
        let collection = meta.collection;
        if !self.is_empty() {
            never_changed(meta)?;
        }
        match self.error.take().map(|error| *error) {
            Some(Error::Query { message, .. }) => return Err(Error::Query { collection, message }),
            Some(Error::Invalid {
                violations, source, ..
            }) => {
                let error = Error::Invalid {
                    collection: collection.to_owned(),
                    violations,
                    source,
                };
                return Err(sensitive::concealed(meta, error));
            }
            Some(error) => return Err(error),
            None => {}
        }
        let violations = std::mem::take(&mut self.violations);
        if !violations.is_empty() {
            let error = Error::Invalid {
                collection: collection.to_owned(),
                violations,
                source: None,
            };
            return Err(sensitive::concealed(meta, error));
        }
        if let Some(message) = self.refused_computed(upsert) {
            return Err(Error::Query {
                collection,
                message: message.to_owned(),
            });
        }
        let takes = !upsert && self.only_takes();
        if takes {
            for guard in &mut self.guards {
                if let Guard::Value { takes, .. } = guard {
                    *takes = true;
                }
            }
        }
        for guard in &mut self.guards {
            if let Guard::There { name, alone } = guard {
                *alone =
                    written(&self.operators).all(|changed| crate::model::meta::names::meet(changed, name));
            }
        }
        if upsert && let Some(name) = self.guards.iter().find_map(Guard::too_many_entries) {
            return Err(Error::Query {
                collection,
                message: format!(
                    "an upsert sets at most {} entries of `{name}` with its bound kept: set the whole of it",
                    guard::MOST_ALTERNATIVES
                ),
            });
        }
        for around in around::all((meta.shape)(), &self.operators) {
            // A missing struct is read as its default, which is filled.
            if fill::is_filled((meta.shape)(), &around.name) {
                continue;
            }
            // An array that has to be there is not `null`.
            let known = |guard: &Guard| matches!(guard, Guard::Value { name, .. } | Guard::There { name, .. } if *name == around.name);
            if !self.guards.iter().any(known) {
                self.guards.push(Guard::Around(around));
            }
        }
        for name in around::around_taken((meta.shape)(), &self.operators) {
            let known = |guard: &Guard| {
                matches!(guard, Guard::Value { .. } | Guard::Around(_)) && guard.name() == name
            };
            if !self.guards.iter().any(known) {
                self.guards.push(Guard::Value { name, takes });
            }
        }
        let only_adds = self.only_adds();
        let met = if upsert || !self.raw.is_empty() {
            None
        } else {
            items::met(&self.operators, &self.array_filters)
        };
        // An update without changes leaves the version and the timestamps of an existing document.
        let changes = self.operators.keys().any(|operator| operator != "$setOnInsert");
        for field in meta.fields() {
            let (operator, value) = match field.managed {
                Managed::UpdatedAt | Managed::CreatedAt if upsert && !changes => ("$setOnInsert", now.into()),
                Managed::Version if upsert && !changes => ("$setOnInsert", Bson::Int64(1)),
                _ if !changes => continue,
                Managed::UpdatedAt => ("$set", now.into()),
                Managed::CreatedAt if upsert => ("$setOnInsert", now.into()),
                Managed::Version => ("$inc", Bson::Int64(1)),
                _ => continue,
            };
            if self.has(operator, field.name) {
                let message = written_by_the_library(field.name);
                return Err(Error::Query { collection, message });
            }
            self.put(operator, field.name, value, never);
        }
        // The server takes no expression in the condition of an upsert: there its validator says.
        if !upsert {
            for check in meta.checks {
                let guard = ComputedGuard::checked(check, &self.operators);
                self.guards
                    .extend(guard.map(|guard| Guard::Computed(Box::new(guard))));
            }
        }
        let mut inserted = match self.inserted.take() {
            Some(document) => self.put_inserted(meta, &document)?,
            None => Vec::new(),
        };
        let mut fills = fill::all((meta.shape)(), &self.operators, upsert);
        let in_variants = variant_fills(&self.operators, &self.with_default);
        let in_variants: Vec<fill::Fill> = in_variants
            .map(|(name, value)| fill::Fill {
                arrays: Vec::new(),
                name: name.to_owned(),
                value,
            })
            .collect();
        if let Some(one) = in_variants.first()
            && fill::pipeline(&self.operators, &in_variants, upsert, None).is_none()
        {
            return Err(Error::Query {
                collection,
                message: format!(
                    "`{}` begins with its default where it is missing, which can't be filled beside the other changes of this update: \
                     make an update of its own, or have every document store it by `#[field(stored)]`",
                    one.name
                ),
            });
        }
        fills.extend(in_variants);
        if upsert {
            let written: Vec<String> = written(&self.operators).map(str::to_owned).collect();
            for field in meta.fields().iter().filter(|field| field.inserted) {
                let Some(value) = default::of(field) else { continue };
                if written
                    .iter()
                    .any(|name| crate::model::meta::names::meet(name, field.name))
                {
                    continue;
                }
                if fills.is_empty() {
                    self.put("$setOnInsert", field.name, value.clone(), replace);
                    inserted.push(field.name);
                } else {
                    fills.push(fill::Fill {
                        arrays: Vec::new(),
                        name: field.name.to_owned(),
                        value,
                    })
                }
            }
        }
        if let Some((one, other)) = conflict(&self.operators) {
            let managed = |field: &&FieldMeta| {
                field.managed != Managed::No && (field.name == one || field.name == other)
            };
            let message = match meta.fields().iter().find(managed) {
                Some(field) => written_by_the_library(field.name),
                None if one == other => changed_twice(&one),
                None => format!(
                    "one update changes `{one}` and `{other}`, and MongoDB takes one change of a field and what is in it: \
                     make them one, or two updates"
                ),
            };
            return Err(Error::Query { collection, message });
        }
        if let Some(name) = items::changed_twice(&self.operators, &self.array_filters) {
            return Err(Error::Query {
                collection,
                message: changed_twice(&name),
            });
        }
        let size = growth::may_be_sent(collection, &self.operators)?;
        let is_always = |field: &&FieldMeta| {
            let has_value = field.required && !field.flatten && field.aliases.is_empty();
            // The condition of an upsert may demand what the library manages: the value of a scope, a version.
            field.managed == Managed::No && has_value && !shape::may_be_null((field.shape)())
        };
        let always = if upsert && !fills.is_empty() {
            meta.fields()
                .iter()
                .filter(is_always)
                .map(|field| field.name)
                .collect()
        } else {
            Vec::new()
        };
        let stores = !fills.is_empty() || !inserted.is_empty();
        Ok(Built {
            update: self.operators,
            array_filters: self.array_filters,
            guards: self.guards,
            raw: self.raw,
            met,
            idle: None,
            only_adds,
            defaults: stores.then(|| {
                Box::new(Defaults {
                    fills,
                    always,
                    inserted,
                    upsert,
                })
            }),
            size,
            moves: self.moves,
        })
    }
}

/// The defaults of fields of variants that these changes begin with, by the names of the fields.
fn variant_fills<'c>(
    operators: &'c Document,
    fields: &'c [(&'static str, &'static FieldMeta)],
) -> impl Iterator<Item = (&'static str, &'static Bson)> + 'c {
    let needed = |(name, field): &(&'static str, &'static FieldMeta)| {
        let default = default::unless_stored(field)?;
        let begins = operators.iter().any(|(operator, changed)| {
            let value = changed.as_document().and_then(|changed| changed.get(name));
            value.is_some_and(|value| fill::depends(operator, value, default))
        });
        begins.then_some((*name, default))
    };
    fields.iter().filter_map(needed)
}

/// The other names by which a field is read, at the path of its own name.
fn previous_names(name: &str, field: Option<&'static FieldMeta>) -> impl Iterator<Item = String> {
    let above = name.rsplit_once('.').map(|(above, _)| above.to_owned());
    let aliases = field.into_iter().flat_map(|field| {
        let previous = |alias: &&&str| **alias != field.name;
        field.aliases.iter().filter(previous)
    });
    aliases.map(move |alias| match &above {
        Some(above) => format!("{above}.{alias}"),
        None => (*alias).to_owned(),
    })
}

/// `#[document(append_only)]`, where neither a path says so nor [`Replaceable`](crate::Replaceable): a raw change, or a document
/// for which somebody has written that trait by hand.
pub(crate) fn never_changed(meta: &crate::model::document::DocumentMeta) -> Result<()> {
    match meta.never_changes() {
        None => Ok(()),
        Some(why) => Err(Error::Query {
            collection: meta.collection,
            message: format!("a `{}` {why}", meta.name),
        }),
    }
}

fn changed_twice(name: &str) -> String {
    format!(
        "one update changes `{name}` twice, and MongoDB takes one change of a field: make them one, or two updates"
    )
}

fn written_by_the_library(name: &str) -> String {
    format!("`{name}` is written by the library, and this update changes it too: leave it out")
}

/// Two names in an update of which one is the other, or is in it: the server refuses them (code 40).
fn conflict(operators: &Document) -> Option<(String, String)> {
    written(operators).nth(1)?;
    let mut names: Vec<&str> = written(operators).collect();
    // A name and those that begin with it and a dot need not be neighbours in alphabetical order; by their parts they are.
    names.sort_by(|a, b| a.split('.').cmp(b.split('.')));
    names
        .windows(2)
        .find(|pair| {
            pair[1]
                .strip_prefix(pair[0])
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
}

fn replace(before: &mut Bson, value: Bson) -> Result<(), ()> {
    *before = value;
    Ok(())
}

fn never(_: &mut Bson, _: Bson) -> Result<(), ()> {
    Err(())
}

impl UntypedChanges {
    fn key<A: Array>(&mut self, name: &str, field: Option<&'static FieldMeta>, key: &str) -> bool {
        if !A::MAP {
            self.problem(format!("`{name}` is not a map: its items have no keys"));
            return false;
        }
        let mut violations = Vec::new();
        if let Some(field) = field {
            violations
                .extend(bounds::key(field, key).map(|rule| Violation::new(name, rule, Some(key.into()))));
        }
        let fits = violations.is_empty();
        if !fits {
            self.fail(Error::Invalid {
                collection: String::new(),
                violations,
                source: None,
            });
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use crate::model::shape::{Bounds, Number};
    use crate::plan::operators::*;

    const LEVEL: &FieldMeta = &FieldMeta::value::<i32>(
        "level",
        "level",
        "i32",
        Bounds {
            min: Some(Number::Int(10)),
            max: Some(Number::Int(100)),
            ..Bounds::NONE
        },
    );

    fn added(by: i32) -> UntypedChanges {
        let mut changes = UntypedChanges::default();
        changes.add("level", Some(LEVEL), by.into());
        changes
    }

    /// A sum of a missing number is what is added, which may break either bound.
    #[test]
    fn a_number_added_to_a_missing_one_keeps_both_bounds() {
        let there = doc! { "level": { "$exists": true } };
        let at_most = |last: i64| doc! { "level": { "$not": { "$gt": last } } };
        for (by, conditions) in [
            (5, vec![at_most(95), there.clone()]),
            (10, vec![at_most(90)]),
            (0, vec![there]),
            (
                -5,
                vec![doc! { "level": { "$exists": true, "$not": { "$lt": 15_i64 } } }],
            ),
        ] {
            let found: Vec<Document> = added(by).guards.iter().map(Guard::condition).collect();
            assert_eq!(found, conditions, "{by}");
        }
        let refused = |by: i32, condition: Document| {
            let guards = added(by).guards;
            let error = guards
                .iter()
                .find_map(|guard| guard.refused_insert("c", &Bson::Null, &condition));
            match error {
                Some(Error::Invalid { violations, .. }) => violations.into_iter().map(|v| v.rule).next(),
                _ => None,
            }
        };
        let min = || Some(Rule::Min(Number::Int(10)));
        assert_eq!((refused(5, doc! {}), refused(0, doc! {})), (min(), min()));
        assert_eq!(refused(101, doc! {}), Some(Rule::Max(Number::Int(100))));
        assert_eq!(refused(10, doc! {}), None);
        assert_eq!(refused(5, doc! { "level": { "$eq": 20 } }), None);
    }

    #[test]
    fn a_number_added_to_a_missing_one_in_an_item_keeps_both_bounds() {
        let mut changes = UntypedChanges::default();
        let within = doc! { "a": { "$eq": 1 } };
        changes.below("items", &within, "items.$[e0]", added(5));
        let offenders: Vec<Document> = changes.guards.iter().filter_map(Guard::offenders).collect();
        assert_eq!(
            offenders,
            [
                doc! { "a": { "$eq": 1 }, "level": { "$gt": 95_i64 } },
                doc! { "a": { "$eq": 1 }, "level": { "$exists": false } },
            ]
        );
        let rules: Vec<Rule> = changes
            .guards
            .iter()
            .filter_map(|guard| match guard.offence("c", &Bson::Null) {
                Some(Error::Invalid { violations, .. }) => violations.into_iter().map(|v| v.rule).next(),
                _ => None,
            })
            .collect();
        assert_eq!(rules, [Rule::Max(Number::Int(100)), Rule::Min(Number::Int(10))]);
    }

    #[test]
    fn a_value_in_an_item_is_checked_where_it_will_stand() {
        const EXTRA: &FieldMeta = &FieldMeta::value::<i32>(
            "extra",
            "extra",
            "Document",
            Bounds {
                opaque: true,
                ..Bounds::NONE
            },
        );
        let deep = |levels: usize| (1..levels).fold(doc! {}, |inner, _| doc! { "d": inner });
        let mut refused = 0;
        for levels in 90..110 {
            let set = |changes: &mut UntypedChanges, path: &str| {
                let value = encode::<Document, Plain>(path, deep(levels));
                changes.checked(path, Some(EXTRA), value, GuardPart::Whole);
            };
            let mut direct = UntypedChanges::default();
            set(&mut direct, "list.items.0.extra");
            let mut outer = UntypedChanges::default();
            let mut inner = Changes::<()>::of_items(&outer, "list.items", None).untyped;
            set(&mut inner, "extra");
            outer.below("list.items", &Document::new(), "list.items.$[e0]", inner);
            let found =
                |changes: &UntypedChanges| changes.violations.iter().map(|v| v.rule.clone()).collect();
            let (direct, through): (Vec<Rule>, Vec<Rule>) = (found(&direct), found(&outer));
            assert_eq!(direct, through, "{levels}");
            refused += direct.len();
            if let Some(violation) = outer.violations.first() {
                assert!(violation.path.starts_with("list.items.extra"), "{violation:?}");
            }
        }
        assert!((1..20).contains(&refused), "{refused}");
    }

    #[test]
    fn one_item_stands_without_each_unless_it_looks_like_modifiers() {
        assert_eq!(one_or_each(vec![1.into()]), Bson::Int32(1));
        assert_eq!(
            one_or_each(vec![doc! { "a": 1 }.into()]),
            Bson::Document(doc! { "a": 1 })
        );
        let nested = || Bson::Array(vec![1.into(), 2.into()]);
        assert_eq!(one_or_each(vec![nested()]), nested());
        for items in [
            vec![],
            vec![Bson::from(1), 2.into()],
            vec![doc! { "$slice": 3 }.into()],
            vec![doc! { "a": 1, "$each": [] }.into()],
        ] {
            let pushed = one_or_each(items.clone());
            assert_eq!(pushed, Bson::Document(doc! { "$each": &items }));
            assert_eq!(into_pushed(pushed), items);
        }
    }

    #[test]
    fn pushes_onto_one_array_are_one() {
        let mut changes = UntypedChanges::default();
        for items in [vec![Bson::from(1)], vec![2.into(), 3.into()], vec![4.into()]] {
            changes.each("$push", "a", items);
        }
        assert_eq!(
            changes.operators,
            doc! { "$push": { "a": { "$each": [1, 2, 3, 4] } } }
        );
    }

    /// Where items are placed and how many are kept holds for the items of one push alone.
    #[test]
    fn a_push_beside_one_that_places_its_items_is_refused() {
        for placed in [
            doc! { "$each": [1], "$slice": -4 },
            doc! { "$each": [1], "$position": 0 },
            doc! { "$each": [1], "$sort": 1 },
            doc! { "$each": [], "$slice": 0 },
        ] {
            let mut changes = UntypedChanges::default();
            changes.put("$push", "a", placed.clone().into(), never);
            changes.each("$push", "a", vec![2.into()]);
            let error = changes.error.expect("refused").to_string();
            assert!(error.contains("changes `a` twice"), "{placed}: {error}");
            assert_eq!(changes.operators, doc! { "$push": { "a": placed } });
        }
    }
}

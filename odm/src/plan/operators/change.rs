//! The methods that describe changes: one for each of MongoDB's update operators.

use crate::model::checked;
use crate::model::normalize;
use crate::model::path::{Codec, MayBeMissing, Path, Plain, PlainItems, Single, StoredByType, Writable};
use crate::model::shape::FieldMeta;
use crate::model::stored::Stored;
use crate::model::value::{Array, List, Removable};
use crate::plan::operators::nested::Items;
use crate::plan::operators::patch::Patches;
use crate::plan::operators::push::Placed;
use crate::plan::operators::{Changes, GuardPart, Raw, Rooted, never};
use crate::query::filter::equal::ComparedField;
use crate::query::filter::expr::{Date, Expr, Expressed, Takes};
use crate::query::filter::operand::{Amount, Operand, encode, encode_bson};
use crate::query::filter::{Element, Filter, of_item};
use mongodb::bson::{Bson, Document, doc};

/// The methods of everything that collects changes: [`Changes`], and the updates of a collection.
///
/// Each takes a closure that names a field, and a value of its type. A field that only the library writes (an id, a version, a
/// timestamp) and a path through the items of an array do not compile here.
///
/// Several changes are one atomic update. Pushes onto one array are combined, and so are pulls from it; any other two changes
/// of one field, or of a field and a part of it, are refused with [`Error::Query`](crate::Error::Query) before anything is
/// sent. A value is checked against the bounds of its field before anything is sent
/// ([`Error::Invalid`](crate::Error::Invalid)). None of the methods sends anything: only the update costs round trips.
///
/// Nothing can be added to an `Option` that is stored as `null`: [`Error::IsNull`](crate::Error::IsNull). A field that is
/// missing counts as its default (`#[field(default)]`); without one as an empty array or map, or as 0. An update that only
/// removes items from one array does not change a document that has `null` there.
///
/// A change within a variant of an enum is made where the document has this variant. Of one document with another variant it is
/// [`Error::OtherVariant`](crate::Error::OtherVariant); an update of many counts those in
/// [`Updated::refused`](crate::Updated::refused).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
/// let done = people
///     .update(kate.id)
///     .set(|p| p.nickname, "Katie")
///     .inc(|p| p.age, 1)
///     .add_to_set(|p| p.tags, "rust")
///     .await?;
/// assert_eq!(done.matched, 1);
/// # Ok(()) }
/// ```
pub trait Change<R: Rooted>: Sized {
    /// Where the changes are collected.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// use odm::update::{Rooted, Change};
    ///
    /// /// A method of the program's own for everything that collects changes of a person.
    /// trait Rename: Change<Person> {
    ///     fn rename(self, name: &str) -> Self {
    ///         self.set(|p| p.name, name).unset(|p| p.nickname)
    ///     }
    /// }
    /// impl<C: Change<Person>> Rename for C {}
    ///
    /// people.update(kate.id).rename("Kate Monster").await?;
    /// # Ok(()) }
    /// ```
    fn changes(&mut self) -> &mut Changes<R>;

    /// Sets the field to this value: `$set`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).set(|p| p.name, "Kate Monster").set(|p| p.place, Point::new(-74.0, 40.7)).await?;
    /// # Ok(()) }
    /// ```
    fn set<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        self.changes()
            .untyped
            .whole::<V, C>("$set", P::PATH, P::FIELD, value, never);
        self
    }

    /// Sets the fields that a patch names: each by [`set`](Change::set), with its rules. [`patch`](crate::patch) says how one is
    /// declared and read.
    ///
    /// Without any field nothing changes: an update of one document looks it up, one that
    /// [returns](crate::Update::returning) it gives it as it is, and neither the version nor `updated_at` moves.
    ///
    /// # Errors
    /// The update is refused as one with these `set`s: [`Error::Invalid`](crate::Error::Invalid) where a value breaks a bound,
    /// [`Error::IsNull`](crate::Error::IsNull) where the fields of a struct are set one by one and it is stored as `null`.
    ///
    /// # Example
    /// ```no_run
    /// use odm::prelude::*;
    ///
    /// #[derive(Document)]
    /// #[document(collection = "users", version, patch)]
    /// struct User {
    ///     id: ObjectId,
    ///     name: String,
    ///     nickname: Option<String>,
    ///     version: i64,
    /// }
    ///
    /// async fn patched(users: Collection<User>, id: ObjectId, patch: UserPatch) -> odm::Result<User> {
    ///     users.update(id).if_version(7).apply(patch).returning().await
    /// }
    /// ```
    fn apply(mut self, patch: impl Patches<R>) -> Self {
        self.changes().patch(patch);
        self
    }

    /// Sets the field where the update inserts a document: `$setOnInsert`, with [`upsert`](crate::Update::upsert).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, owner: ObjectId) -> odm::Result<()> {
    /// accounts.update(&7).set_on_insert(|a| a.owner, owner).set(|a| a.cents, 500).upsert().await?;
    /// # Ok(()) }
    /// ```
    fn set_on_insert<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.not_in_variant::<P>();
        self.changes()
            .untyped
            .whole::<V, C>("$setOnInsert", P::PATH, P::FIELD, value, never);
        self
    }

    /// Sets the field to the time of the server: `$currentDate`. [`set`](Change::set) with `DateTime::now()` takes that of the
    /// application.
    ///
    /// ```no_run
    /// # use odm::prelude::*; use serde::{Deserialize, Serialize};
    /// # #[derive(Document)] #[document(collection = "jobs")]
    /// # struct Job { id: i32, claimed_at: Option<DateTime> }
    /// # async fn example(jobs: Collection<Job>) -> odm::Result<()> {
    /// jobs.update(&7).current_date(|j| j.claimed_at).await?;
    /// # Ok(()) }
    /// ```
    fn current_date<V: Expressed<Kind = Date>, P: Single, C: Codec<V> + Writable + StoredByType>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        self.changes()
            .untyped
            .can_be_checked("current_date", P::PATH, P::FIELD);
        self.changes()
            .untyped
            .put("$currentDate", P::PATH, Bson::Boolean(true), never);
        self.changes().untyped.without_aliases(P::PATH, P::FIELD);
        self
    }

    /// Removes the field, which reads as `None` from then on: `$unset`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).unset(|p| p.nickname).await?;
    /// # Ok(()) }
    /// ```
    fn unset<V: Removable, P: Single, C: Writable + MayBeMissing>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        self.changes()
            .untyped
            .put("$unset", P::PATH, Bson::String(String::new()), never);
        self.changes().untyped.without_aliases(P::PATH, P::FIELD);
        self
    }

    /// Sets the field to what the server computes from the stored document. All expressions of an update see the document as it
    /// was before.
    ///
    /// The result keeps the declared bounds of the field and the range of its type: the update's own filter checks them, so a
    /// document where it does not is left as it is ([`Error::Invalid`](crate::Error::Invalid), with the computed value;
    /// [`Error::IsNull`](crate::Error::IsNull) where it is `null` and the field is no `Option`).
    ///
    /// The update is sent as a pipeline. It can't be an upsert, and changes of array items by a condition, `push_into`, and changes in
    /// MongoDB's own words can't stand beside it ([`Error::Query`](crate::Error::Query)).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
    /// use odm::expr::expr;
    ///
    /// // Half a percent of interest, and at least one cent.
    /// accounts
    ///     .update_where(|a| a.cents.gt(0))
    ///     .compute(|a| a.cents, |a| expr(a.cents) + (expr(a.cents) / 200).floor().max(odm::expr::value(1)))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    fn compute<V, P: Single, C: Codec<V> + Writable + StoredByType, K>(
        mut self,
        field: impl FnOnce(<R as Rooted>::Paths) -> Path<R, V, P, C>,
        value: impl FnOnce(<R as Rooted>::Paths) -> Expr<R, K>,
    ) -> Self
    where
        R: crate::Document,
        V: Takes<K>,
    {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let value = value(R::rooted()).into_bson();
        self.changes().untyped.computed(P::PATH, P::FIELD, value);
        self
    }

    /// Adds to the number: `$inc`. The update's own filter checks the declared bounds of the field and the range of its integer
    /// type, so concurrent updates can't exceed them either ([`Error::Invalid`](crate::Error::Invalid)): an `i32` never holds
    /// more than `i32::MAX`, an `i64` or a `u64` more than `i64::MAX`, which is all that BSON has.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
    /// match accounts.update(account.id).inc(|a| a.cents, -500).await {
    ///     Ok(_) => println!("done"),
    ///     Err(Error::Invalid { .. }) => println!("not enough on the account"), // `cents` has `min = 0`
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok(()) }
    /// ```
    fn inc<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        by: impl Amount<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        if let Some(by) = changes.value(encode_bson::<V, C>(P::PATH, by)) {
            changes.add(P::PATH, P::FIELD, by);
        }
        self
    }

    /// Subtracts from the number: `$inc` by the negative. Bounds are checked as by [`inc`](Change::inc); it is the way to lower
    /// an unsigned number, which has no negative to add.
    ///
    /// A negative `by` adds. The least number of a signed type is refused ([`Error::Query`](crate::Error::Query)): its type
    /// can't hold the negative of it.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
    /// match accounts.update(account.id).dec(|a| a.cents, 500).await {
    ///     Ok(_) => println!("done"),
    ///     Err(Error::Invalid { .. }) => println!("not enough on the account"), // `cents` has `min = 0`
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok(()) }
    /// ```
    fn dec<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        by: impl Amount<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        if let Some(by) = changes.value(encode_bson::<V, C>(P::PATH, by)) {
            changes.take(P::PATH, P::FIELD, by);
        }
        self
    }

    /// Multiplies the number: `$mul`. The bounds of the field are checked as by [`inc`](Change::inc), except those of a
    /// `Decimal128`, which the server's validator checks.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(accounts: Collection<Account>, account: Account) -> odm::Result<()> {
    /// accounts.update_where(|a| a.cents.gt(0)).mul(|a| a.cents, 2).await?;
    /// # Ok(()) }
    /// ```
    fn mul<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        by: impl Amount<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        if let Some(by) = changes.value(encode_bson::<V, C>(P::PATH, by)) {
            changes.multiply(P::PATH, P::FIELD, by);
        }
        self
    }

    /// Sets the field if the value is less than what it has: `$min`. To MongoDB `null` is less than any value, so an `Option`
    /// that is stored as `null` is refused ([`Error::IsNull`](crate::Error::IsNull)).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).min(|p| p.age, 30).await?; // at most 30 from now on
    /// # Ok(()) }
    /// ```
    fn min<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        self.changes()
            .untyped
            .whole::<V, C>("$min", P::PATH, P::FIELD, value, never);
        self
    }

    /// Sets the field if the value is greater than what it has: `$max`. Any value is greater than `null`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).max(|p| p.age, 18).await?; // at least 18 from now on
    /// # Ok(()) }
    /// ```
    fn max<V, P: Single, C: Codec<V> + Writable>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, V, P, C>,
        value: impl Operand<V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        self.changes()
            .untyped
            .whole::<V, C>("$max", P::PATH, P::FIELD, value, never);
        self
    }

    /// Appends an item: `$push`. To a set, and to an array with `unique_items`, it is [`add_to_set`](Change::add_to_set). The update's own filter refuses a push onto
    /// a full array, also with concurrent pushes ([`Error::ArrayFull`](crate::Error::ArrayFull)).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// match people.update(kate.id).push(|p| p.tags, "rust").await {
    ///     Ok(_) => {}
    ///     Err(Error::ArrayFull { max, .. }) => println!("there are {max} tags already"),
    ///     Err(other) => return Err(other),
    /// }
    /// # Ok(()) }
    /// ```
    fn push<A: List<Item: Stored>, P: Single, C: Writable + PlainItems>(
        self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        self.push_all(field, [item])
    }

    /// Appends several items, all or none: `$push` with `$each`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_all(|p| p.tags, ["rust", "mongodb"]).await?;
    /// # Ok(()) }
    /// ```
    fn push_all<A: List<Item: Stored>, P: Single, C: Writable + PlainItems, V: Operand<A::Item>>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        items: impl IntoIterator<Item = V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let values = changes.items::<A::Item, V>(P::PATH, P::FIELD, items);
        if A::SET || P::FIELD.is_some_and(checked::has_unique_items) {
            changes.add_items(P::PATH, P::FIELD, values)
        } else {
            changes.room(P::PATH, P::FIELD, &values, false);
            changes.needs_value(P::PATH, P::FIELD);
            changes.each("$push", P::PATH, values);
        }
        self
    }

    /// Adds items at a place, sorts the array, and keeps a number of items: `$push` with `$position`, `$sort` and `$slice`. With
    /// [`keep_last`](Placed::keep_last) or [`keep_first`](Placed::keep_first), the bound of the array never refuses it.
    ///
    /// It is the only change of the array in an update. [`Error::Query`](crate::Error::Query) for a set, for references with copies or with
    /// another side, and where it keeps more items than the bound allows.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_into(|p| p.tags, ["rust", "mongodb"], |tags| tags.keep_last(10)).await?;
    /// # Ok(()) }
    /// ```
    fn push_into<A: List<Item: Stored>, P: Single, C: Writable + PlainItems, V: Operand<A::Item>>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        items: impl IntoIterator<Item = V>,
        place: impl FnOnce(Placed<A::Item>) -> Placed<A::Item>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let values = changes.items::<A::Item, V>(P::PATH, P::FIELD, items);
        let is_set = A::SET || P::FIELD.is_some_and(checked::has_unique_items);
        changes.place(P::PATH, P::FIELD, is_set, (values, place(Placed::new())));
        self
    }

    /// Appends an item unless the array has one that equals it: `$addToSet`. On a full array, an item that it already has is no
    /// change.
    ///
    /// The server finds an item of several parts (a struct, a map, a variant with content) by its bytes, in the order of its fields.
    /// Such an item is added by `$push` under the condition that none equals it. Beside other changes of one document, an
    /// update that finds the item is sent again without it. In an update of many documents, and in a bulk, it is the only
    /// change: otherwise [`Error::Query`](crate::Error::Query).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).add_to_set(|p| p.tags, "rust").await?;
    /// # Ok(()) }
    /// ```
    fn add_to_set<A: List<Item: Stored>, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let values = changes.items::<A::Item, _>(P::PATH, P::FIELD, [item]);
        changes.add_items(P::PATH, P::FIELD, values);
        self
    }

    /// Removes every item that equals this one: `$pullAll`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).pull(|p| p.tags, "rust").await?;
    /// # Ok(()) }
    /// ```
    fn pull<A: List<Item: Stored>, P: Single, C: Writable + PlainItems>(
        self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        item: impl Operand<A::Item>,
    ) -> Self {
        self.pull_all(field, [item])
    }

    /// Removes every item that equals one of these: `$pullAll`. Items of several parts, such as structs, are compared by their
    /// parts: `$pull`. One update removes up to 100 of them.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).pull_all(|p| p.tags, ["rust", "mongodb"]).await?;
    /// # Ok(()) }
    /// ```
    fn pull_all<A: List<Item: Stored>, P: Single, C: Writable + PlainItems, V: Operand<A::Item>>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        items: impl IntoIterator<Item = V>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let mut values = Vec::new();
        for item in items {
            if let Some(value) = changes.value(encode_bson::<A::Item, Plain>(P::PATH, item)) {
                values.push(normalized(P::FIELD, value));
            }
        }
        changes.needs_value(P::PATH, P::FIELD);
        if let Some(place) = P::FIELD.and_then(|field| ComparedField::items(field, P::PATH)) {
            match place.pulled(&values) {
                Err(error) => {
                    changes.fail(error);
                    return self;
                }
                Ok(Some(any)) => {
                    changes.put("$pull", P::PATH, any.into(), either);
                    return self;
                }
                // As they are stored.
                Ok(None) => {}
            }
        }
        changes.put("$pullAll", P::PATH, values.into(), |before, value| {
            match (before, value) {
                (Bson::Array(before), Bson::Array(more)) => {
                    before.extend(more);
                    Ok(())
                }
                _ => Err(()),
            }
        });
        self
    }

    /// Removes every item that matches the condition: `$pull`. Of a plain array the closure gets the item itself; the server
    /// takes no `|` and no `!` between conditions on one.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).pull_where(|p| p.addresses, |a| a.city.eq("Bonn")).await?;
    /// people.update(kate.id).pull_where(|p| p.tags, |tag| tag.starts_with("old-")).await?;
    /// # Ok(()) }
    /// ```
    fn pull_where<A: List, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        condition: impl FnOnce(<Element<A::Item> as Rooted>::Paths) -> Filter<Element<A::Item>>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let condition = of_item::<A, P>(condition(<Element<A::Item> as Rooted>::rooted()));
        if let Some(condition) = changes.value(condition) {
            let before = changes.operators.get_document("$pull").ok();
            if let Some(Bson::Document(before)) = before.and_then(|pulls| pulls.get(P::PATH))
                && !(may_be_joined(before) && may_be_joined(&condition))
            {
                changes.problem(format!(
                    "the server takes one condition on the items of `{}` in an update: make it two updates",
                    P::PATH
                ));
                return self;
            }
            changes.needs_value(P::PATH, P::FIELD);
            changes.put("$pull", P::PATH, condition.into(), either);
        }
        self
    }

    /// Removes the first item: `$pop`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).pop_first(|p| p.tags).await?;
    /// # Ok(()) }
    /// ```
    fn pop_first<A: List, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        changes.needs_value(P::PATH, P::FIELD);
        changes.put("$pop", P::PATH, Bson::Int32(-1), never);
        self
    }

    /// Removes the last item: `$pop`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).pop(|p| p.tags).await?;
    /// # Ok(()) }
    /// ```
    fn pop<A: List, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        changes.needs_value(P::PATH, P::FIELD);
        changes.put("$pop", P::PATH, Bson::Int32(1), never);
        self
    }

    /// Changes the items of the array that match the condition: `arrayFilters`. A document without the array is left as it is.
    /// Items of a plain array are changed as what they are, by `set`, `inc`, `dec`, `mul`, `min` and `max`. An array in the items is
    /// changed in the same way, by an `elem`, [`each`](Change::each) or [`replace_item`](Change::replace_item) of the item; an item
    /// without that array is left as it is, and beside another change of the item it is
    /// [`Error::IsNull`](crate::Error::IsNull).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people
    ///     .update(kate.id)
    ///     .elem(|p| p.addresses, |a| a.city.eq("Bonn"), |address| address.set(|a| a.street, "Am Hof 1"))
    ///     .elem(|p| p.tags, |tag| tag.in_(["mongo", "db"]), |tag| tag.set(|tag| tag, "mongodb"))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    fn elem<A: List, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        condition: impl FnOnce(<Element<A::Item> as Rooted>::Paths) -> Filter<Element<A::Item>>,
        change: impl FnOnce(Changes<Element<A::Item>>) -> Changes<Element<A::Item>>,
    ) -> Self {
        let items = field(R::rooted()).items(condition);
        items.change(&mut self.changes().untyped, change);
        self
    }

    /// Changes the items that a path names, also those of an array in the items of another one: with an array filter for each
    /// condition, `seasons.$[e0].episodes.$[e1].rating`. It does what [`elem`](Change::elem) and [`each`](Change::each) do one
    /// within the other; take those where the outer items change too.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// let update = people.update(kate.id);
    /// update.items(|p| p.addresses.items(|a| a.city.eq("Bonn")), |a| a.set(|a| a.street, "Am Hof 1")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// [`Items::items_of`] shows an array in items.
    fn items<I>(
        mut self,
        items: impl FnOnce(R::Paths) -> Items<R, I>,
        change: impl FnOnce(Changes<Element<I>>) -> Changes<Element<I>>,
    ) -> Self {
        items(R::rooted()).change(&mut self.changes().untyped, change);
        self
    }

    /// Changes all items of the array: `$[]`. A document without the array is left as it is; beside another change
    /// that is [`Error::IsNull`](crate::Error::IsNull), since it would be lost.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).each(|p| p.addresses, |address| address.set(|a| a.city, "Bonn")).await?;
    /// # Ok(()) }
    /// ```
    fn each<A: List, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        change: impl FnOnce(Changes<Element<A::Item>>) -> Changes<Element<A::Item>>,
    ) -> Self {
        let items = field(R::rooted()).all_items();
        items.change(&mut self.changes().untyped, change);
        self
    }

    /// Puts `new` in the place of every item that equals `old`, by `arrayFilters`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).replace_item(|p| p.tags, "mongo", "mongodb").await?;
    /// # Ok(()) }
    /// ```
    fn replace_item<A: List<Item: Stored>, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        old: impl Operand<A::Item>,
        new: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        let name = format!("e{}", changes.next_identifier());
        let old = changes.value(encode_bson::<A::Item, Plain>(P::PATH, old));
        let old = old.map(|old| normalized(P::FIELD, old));
        let new = changes.checked(
            P::PATH,
            P::FIELD,
            encode::<A::Item, Plain>(P::PATH, new),
            GuardPart::Item,
        );
        if let (Some(old), Some(new)) = (old, new) {
            let place = P::FIELD.and_then(|field| ComparedField::items(field, P::PATH));
            let same = match place.map(|place| place.replaced(&name, &old)) {
                None => doc! { &name: { "$eq": old } },
                Some(Ok(same)) => same,
                Some(Err(error)) => {
                    changes.fail(error);
                    return self;
                }
            };
            changes.array_filters.push(same);
            changes.put("$set", &format!("{}.$[{name}]", P::PATH), new, never);
            changes.needs_array(P::PATH, P::FIELD);
        }
        self
    }

    /// Sets the entry of a map: `$set`. A new entry of a full map is refused by the update's own filter
    /// ([`Error::ArrayFull`](crate::Error::ArrayFull)), and one of a map that is stored as `null`
    /// ([`Error::IsNull`](crate::Error::IsNull)). An upsert sets at most four entries of a map with a bound.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).set_key(|p| p.settings, "theme", "dark").await?;
    /// # Ok(()) }
    /// ```
    fn set_key<A: Array<Item: Stored>, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        key: &str,
        value: impl Operand<A::Item>,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        if !changes.key::<A>(P::PATH, P::FIELD, key) {
            return self;
        }
        let value = encode::<A::Item, Plain>(P::PATH, value);
        if let Some(value) = changes.checked(P::PATH, P::FIELD, value, GuardPart::Item) {
            if let Some(max) = P::FIELD.and_then(|field| field.bounds.max_items) {
                changes.entry(P::PATH, key, max);
            }
            changes.needs_value(P::PATH, P::FIELD);
            changes.put("$set", &format!("{}.{key}", P::PATH), value, never);
        }
        self
    }

    /// Removes the entry of a map: `$unset`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).unset_key(|p| p.settings, "theme").await?;
    /// # Ok(()) }
    /// ```
    fn unset_key<A: Array, P: Single, C: Writable + PlainItems>(
        mut self,
        field: impl FnOnce(R::Paths) -> Path<R, A, P, C>,
        key: &str,
    ) -> Self {
        field(R::rooted());
        self.changes().untyped.in_variant::<P>();
        let changes = &mut self.changes().untyped;
        if changes.key::<A>(P::PATH, P::FIELD, key) {
            changes.needs_own_name(P::PATH, P::FIELD);
            changes.put(
                "$unset",
                &format!("{}.{key}", P::PATH),
                Bson::String(String::new()),
                never,
            );
        }
        self
    }

    /// Adds changes in MongoDB's update language (`{ "$rename": … }`), for operators that the typed methods lack. No bound is
    /// checked before it is sent, and input of users may only be a value in it.
    ///
    /// A change of a field that the library writes is refused with [`Error::Query`](crate::Error::Query) before anything is sent,
    /// as by the typed changes: a copy that is kept in sync, a field that is derived from children, and in a bucket everything
    /// but fields of its items that it neither sums nor is found by. A snapshot may be corrected.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).raw(doc! { "$rename": { "fullname": "name" } }).await?;
    /// # Ok(()) }
    /// ```
    fn raw(mut self, update: Document) -> Self {
        let changes = &mut self.changes().untyped;
        for (operator, fields) in update {
            if !operator.starts_with('$') {
                changes.problem(format!(
                    "a raw update consists of operators, and `{operator}` is none"
                ));
                continue;
            }
            for (name, value) in fields.as_document().into_iter().flatten() {
                let new = value.as_str().filter(|_| operator == "$rename");
                changes
                    .raw
                    .extend([Some(name.as_str()), new].into_iter().flatten().map(|name| Raw {
                        name: name.to_owned(),
                        of_item: false,
                    }));
            }
            let twice = match (changes.operators.get(&operator), &fields) {
                (Some(Bson::Document(before)), Bson::Document(fields)) => {
                    fields.keys().find(|name| before.contains_key(name)).cloned()
                }
                _ => None,
            };
            if let Some(name) = twice {
                changes.twice(&name);
                continue;
            }
            match (changes.operators.get_mut(&operator), fields) {
                (Some(Bson::Document(before)), Bson::Document(fields)) => before.extend(fields),
                (_, fields) => {
                    changes.operators.insert(operator, fields);
                }
            }
        }
        self
    }
}

/// An item as the array stores it.
fn normalized(field: Option<&'static FieldMeta>, mut item: Bson) -> Bson {
    if let Some(field) = field.filter(|field| field.cut) {
        normalize::value(field, true, &mut item);
    }
    item
}

/// Whether another condition can stand beside it: what is said of items themselves can't be joined.
fn may_be_joined(condition: &Document) -> bool {
    condition
        .keys()
        .all(|name| matches!(name.as_str(), "$and" | "$or" | "$nor") || !name.starts_with('$'))
}

/// Items that fit one condition or the other.
fn either(before: &mut Bson, value: Bson) -> Result<(), ()> {
    match (before.as_document(), value.as_document()) {
        (Some(one), Some(other)) if may_be_joined(one) && may_be_joined(other) => {
            *before = doc! { "$or": [one, other] }.into();
            Ok(())
        }
        _ => Err(()),
    }
}

impl<R: Rooted> Change<R> for Changes<R> {
    fn changes(&mut self) -> &mut Changes<R> {
        self
    }
}

//! Assertions about fields that are derived from other documents: that the source exists, has the right type, and does not
//! change too often.

use super::message::about;
use crate::model::average::Average;
use crate::model::copy::{CopiedField, CopyOf};
use crate::model::document::{Document, NamedDocument};
use crate::model::meta::Kind;
use crate::model::path::{Needed, OwnSerde, Path, Plain, ReadOnly, Step};
use crate::model::reference::{ChildOf, ParentField, PointsTo, Reference};
use crate::model::shape::{Access, FieldMeta, Managed, same};
use crate::model::size::Message;
use crate::model::value::{Numeric, StoredLike};
use std::marker::PhantomData;

/// The field of another document that a copy is of, or what is computed of: `S`, stored as `C` says. A type of its own, so that
/// the compiler does not take the type of the copy for that of the field.
pub struct SourceField<S, C>(PhantomData<fn() -> (S, C)>);

/// The type of a copy of the field at `path`, through a reference of the type `V`.
pub fn source<V: Reference, R, S: Send, P: Step, C>(_: Path<R, S, P, C>) -> SourceField<V::Joined<S>, C> {
    SourceField(PhantomData)
}

/// The field of a child.
pub fn of_child<R, S, P: Step, C>(_: Path<R, S, P, C>) -> SourceField<S, C> {
    SourceField(PhantomData)
}

impl<S, C> SourceField<S, C> {
    /// A copy of it.
    pub fn copied<T: CopyFits<S>>(self)
    where
        C: CopiedPlainly,
    {
    }

    /// The same where the copy has a `#[serde(with)]` of its own.
    pub fn copied_with_codec<T: CopyFits<S>>(self) {}

    /// `#[computed(avg = …)]`.
    pub fn average<T: Averages>(self)
    where
        S: Averaged,
        C: CopiedPlainly,
    {
    }

    /// `#[computed(sum = …)]`.
    pub fn sum<T: SumOf<S>>(self)
    where
        C: CopiedPlainly,
    {
    }

    /// `#[computed(min = …)]`, `max`, `first` and `last`.
    pub fn of_one<T: OfOneChild<S>>(self)
    where
        C: CopiedPlainly,
    {
    }
}

/// A field that is stored as its type's own `Serialize` says.
#[diagnostic::on_unimplemented(
    message = "the field of the other document has `#[serde(with)]` or `serialize_with`, and a copy is stored as it is there",
    label = "read in another form",
    note = "repeat the attribute on the copy; of such a field nothing is computed"
)]
pub trait CopiedPlainly {}
#[diagnostic::do_not_recommend]
impl CopiedPlainly for Plain {}
#[diagnostic::do_not_recommend]
impl<C: CopiedPlainly> CopiedPlainly for ReadOnly<C> {}
#[diagnostic::do_not_recommend]
impl CopiedPlainly for OwnSerde {}
#[diagnostic::do_not_recommend]
impl<C: CopiedPlainly> CopiedPlainly for Needed<C> {}

/// The type of a copy.
#[diagnostic::on_unimplemented(
    message = "the copy is a `{Self}`, and what it is copied from is a `{S}`",
    label = "not a `{S}`",
    note = "write `{S}`, or an `Option` of it",
    note = "a copy through an `Option` of a reference is an `Option`: there is none where nothing is referred to"
)]
pub trait CopyFits<S> {}
impl<S> CopyFits<S> for S {}
impl<S> CopyFits<S> for Option<S> {}
impl<S> CopyFits<Option<Option<S>>> for Option<S> {}

const fn find(fields: &'static [FieldMeta], rust: &str) -> Option<&'static FieldMeta> {
    let mut i = 0;
    while i < fields.len() {
        if same(fields[i].rust, rust) {
            // Of a document with errors of its own, nothing is known.
            return if fields[i].ty.is_empty() {
                None
            } else {
                Some(&fields[i])
            };
        }
        i += 1;
    }
    None
}

/// What JSON hides in one document, no field of another shows: the rest of the message. `shown` says that JSON shows the field.
const fn reveals(source: &FieldMeta, shown: bool) -> Option<&'static str> {
    match source.access {
        Access::Private if shown => Some(
            "`, which is `#[field(private)]`: JSON and requests would show here what they hide there. Add `#[field(private)]` to \
             this field, or leave it out",
        ),
        Access::WriteOnly if shown => Some(
            "`, which is `#[field(write_only)]`: JSON and requests would show here what they hide there. Add `#[field(private)]` \
             to this field, or leave it out",
        ),
        _ => None,
    }
}

/// Why a deferred field is no source: the rest of the message.
const DEFERRED: &str = "`, which is a `Deferred`: it is read only where a query asks for it, and a write may not have its value. Leave this \
                        field out, and read the other one where it is wanted, by `with_deferred`";

/// Rule five: what changes often is not computed with at every change. `shown` says that JSON shows the value of one child.
pub const fn derivable<T: NamedDocument>(
    source: &str,
    owner: &str,
    field: &str,
    ty: &str,
    holds_volatile: bool,
    shown: bool,
) -> Option<Message> {
    let Some(found) = find(T::FIELDS, source) else {
        return None;
    };
    let computed = about(owner, field, ty)
        .text(" is computed of `")
        .text(T::META.name)
        .text(".")
        .text(source);
    if let Some(reason) = reveals(found, shown) {
        return Some(computed.text(reason));
    }
    if found.deferred {
        return Some(computed.text(DEFERRED));
    }
    let changes = matches!(found.managed, Managed::Version | Managed::UpdatedAt);
    if !found.volatile && !holds_volatile && !changes {
        return None;
    }
    let message = computed
        .text(if found.volatile {
            "`, which is `#[volatile]`: every change of it would be a write of the parent. "
        } else if holds_volatile {
            "`, in which a field is `#[volatile]`: every change of it would be a write of the parent. "
        } else {
            "`, which every write of the document changes, and would be a write of the parent. "
        })
        .text(
            "Rule five: what changes often is not copied. Leave the field out, and compute it when it is asked for, by \
             `aggregate()`",
        );
    Some(if found.volatile {
        message.text("; or, if it changes seldom after all, leave out `#[volatile]` there")
    } else {
        message
    })
}

/// Rule five: what changes often does not decide which children a subset keeps.
pub const fn orders<T: NamedDocument>(key: &str, owner: &str, field: &str, ty: &str) -> Option<Message> {
    match find(T::FIELDS, key) {
        Some(found) if found.deferred => Some(
            about(owner, field, ty)
                .text(" is ordered by `")
                .text(T::META.name)
                .text(".")
                .text(key)
                .text(DEFERRED),
        ),
        Some(found) if found.volatile => Some(
            about(owner, field, ty)
                .text(" is ordered by `")
                .text(T::META.name)
                .text(".")
                .text(key)
                .text(
                    "`, which is `#[volatile]`: every change of it would be a write of the parent. Rule five: what changes often \
                     is not copied. Order it by a field that stays, as `order(-created_at)`; or leave this field out, \
                     and read the first by a join, `.include(|x| x.children::<",
                )
                .text(T::META.name)
                .text(">().limit(10))`"),
        ),
        _ => None,
    }
}

/// Rule five: what changes often is not copied; and what needs no copy is none. `shown` says that JSON shows the copy.
pub const fn copyable<T: NamedDocument>(
    source: &str,
    owner: &str,
    field: &str,
    ty: &str,
    holds_volatile: bool,
    shown: bool,
) -> Option<Message> {
    let Some(found) = find(T::FIELDS, source) else {
        return None;
    };
    let target = T::META.name;
    if !matches!(T::KIND, Kind::Alone) {
        return Some(
            about(owner, field, ty)
                .text(" copies `")
                .text(target)
                .text(".")
                .text(source)
                .text(
                    "`, and copies are not yet made of documents of several types in one collection. Leave the copy out, and read \
                     it by a join, `.include(|x| x.reference)`; or give the documents a collection of their own",
                ),
        );
    }
    let copies = about(owner, field, ty)
        .text(" copies `")
        .text(target)
        .text(".")
        .text(source);
    if let Some(reason) = reveals(found, shown) {
        return Some(copies.text(reason));
    }
    if found.deferred {
        return Some(copies.text(DEFERRED));
    }
    if found.volatile || matches!(found.managed, Managed::Version | Managed::UpdatedAt) {
        let message = copies.text(if found.volatile {
                "`, which is `#[volatile]`: every change of it would be written to every copy. Rule five: what changes often is \
                 not copied. Leave the copy out, and read it by a join, `.include(|x| x.reference)`"
            } else {
                "`, which every write of the document changes, and would be written to every copy. Rule five: what changes often \
                 is not copied. Leave the copy out, and read it by a join, `.include(|x| x.reference)`"
            });
        return Some(if found.volatile {
            message.text("; or, if it changes seldom after all, leave out `#[volatile]` there")
        } else {
            message
        });
    }
    if holds_volatile {
        return Some(
            copies
                .text(
                    "`, in which a field is `#[volatile]`: every change of it would be written to every copy. Rule five: what \
                     changes often is not copied. Keep that field beside the others of the source, and not within what is \
                     copied; or leave the copy out, and read it by a join, `.include(|x| x.reference)`",
                ),
        );
    }
    if matches!(found.managed, Managed::Id) {
        return Some(
            about(owner, field, ty)
                .text(" copies the id of the `")
                .text(target)
                .text("`, which the reference holds already: it is its `.key()`. Leave the copy out"),
        );
    }
    None
}

/// The stored name of a field.
pub const fn stored<T: NamedDocument>(rust: &str) -> &'static str {
    match find(T::FIELDS, rust) {
        Some(field) => field.name,
        None => "", // the typed path says that there is none
    }
}

/// `by = field` of a subset or of what is computed: the reference to the parent.
pub const fn parent_at<T: NamedDocument>(rust: &str) -> ParentField {
    match find(T::FIELDS, rust) {
        Some(field) => ParentField::of(field),
        None => panic!("no such field"),
    }
}

/// The reference to the parent, where `by` names none: the only one.
pub fn parent<C: DerivesInto<P>, P: Document>() -> ParentField {
    C::parent()
}

/// A child with one reference to the document that derives fields from it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `#[parent_ref]` to `{P}`, or has several",
    note = "declare it in `{Self}`: `#[parent_ref] pub parent: Ref<{P}>`",
    note = "where several fields refer to `{P}`, name the one to go by: `by = field` in `#[subset(…)]` or `#[computed(…)]`"
)]
pub trait DerivesInto<P: Document> {
    /// The field that names the parent.
    fn parent() -> ParentField;
}
#[diagnostic::do_not_recommend]
impl<P: Document, C: ChildOf<P>> DerivesInto<P> for C {
    fn parent() -> ParentField {
        <C as ChildOf<P>>::parent()
    }
}

/// The field that `by` names.
pub fn parent_path<D, R, V, P, C>(_: Path<R, V, P, C>)
where
    D: Document,
    V: Reference,
    V::Pointer: PointsTo<D>,
    P: Step,
{
}

/// An array of copies of children.
#[diagnostic::on_unimplemented(
    message = "a subset of `{C}` is a `Vec` of copies of it, and this is a `{Self}`",
    label = "not a `Vec` of copies of `{C}`",
    note = "write `Vec<RecentItem>` with a struct of your own, `#[derive(Embed, …)] #[denormalize(from = {C})] struct RecentItem {{ id: Ref<{C}>, … }}`, or `fields(name: Type, …)`, which makes it"
)]
pub trait SubsetOf<C> {
    /// The fields of an element.
    const COPIED: &'static [CopiedField];
}
impl<C, E: CopyOf<C>> SubsetOf<C> for Vec<E> {
    const COPIED: &'static [CopiedField] = E::COPIED;
}

/// The fields of an element of a subset.
pub const fn elements<T: SubsetOf<C>, C>() -> &'static [CopiedField] {
    T::COPIED
}

/// Without the id, the element of a child that changes is not found.
pub const fn with_id<T: SubsetOf<C>, C: NamedDocument>(
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let copied = T::COPIED;
    let mut i = 0;
    while i < copied.len() {
        if same(copied[i].source, "_id") {
            return None;
        }
        i += 1;
    }
    // Of what has errors of its own, nothing is known.
    if C::META.append_only || C::META.is_stand_in() || copied.is_empty() {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(" keeps a `")
            .text(C::META.name)
            .text("` without its id, so the element of one that changes could not be found. Give the struct of the elements a field \
                   `id: Ref<")
            .text(C::META.name)
            .text(">`; or, if a `")
            .text(C::META.name)
            .text("` never changes once it is inserted, say so: `#[document(append_only)]`"),
    )
}

/// The copies stand beside a reference.
pub const fn has_reference<T: CopyOf<D>, D: NamedDocument>(
    owner: &str,
    field: &str,
    ty: &str,
    item: &str,
) -> Option<Message> {
    let mut i = 0;
    while i < T::COPIED.len() {
        if same(T::COPIED[i].source, "_id") {
            return None;
        }
        i += 1;
    }
    if T::COPIED.is_empty() {
        return None; // it has errors of its own
    }
    Some(
        about(owner, field, ty)
            .text(" is a reference with copies, and `")
            .text(item)
            .text("` holds the copies alone. Give it the reference to what they are of: `id: Ref<")
            .text(D::META.name)
            .text(">`"),
    )
}

/// A type that has an average.
#[diagnostic::on_unimplemented(
    message = "an average is one of numbers, and the field of the children is a `{Self}`",
    label = "the average of a `{Self}`",
    note = "`min` and `max` are computed of any type, and `count` of none"
)]
pub trait Averaged {}
#[diagnostic::do_not_recommend]
impl<T: Numeric> Averaged for T {}

/// `#[computed(count = …)]`.
pub const fn count<T: Counts>() {}

/// A type for a number of documents.
#[diagnostic::on_unimplemented(
    message = "a number of documents can't be stored in a `{Self}`",
    label = "not a whole number",
    note = "write `i64`; `i32`, `u32` and `u64` count too"
)]
pub trait Counts {}
impl Counts for i32 {}
impl Counts for i64 {}
impl Counts for u32 {}
impl Counts for u64 {}

/// The type of an average.
#[diagnostic::on_unimplemented(
    message = "an average is kept as sum and count, and a `{Self}` holds one number",
    label = "not an `odm::types::Average`",
    note = "write `odm::types::Average`; its `.value()` is an `Option<f64>`"
)]
pub trait Averages {}
impl Averages for Average {}

/// The type of a sum.
#[diagnostic::on_unimplemented(
    message = "the sum of fields of the type `{S}` can't be stored in a `{Self}`",
    label = "not a number for a sum of `{S}`",
    note = "write `i64` for whole numbers, `f64` for others, or the type of the field itself, which the sum must fit into"
)]
pub trait SumOf<S> {}

macro_rules! sums {
    ($($of:ty => $($sum:ty),*;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl SumOf<$of> for $sum {}
        #[diagnostic::do_not_recommend]
        impl SumOf<Option<$of>> for $sum {}
    )*)*};
}

sums! {
    i8 => i8, i64;
    u8 => u8, i64;
    i16 => i16, i64;
    u16 => u16, i64;
    i32 => i32, i64;
    u32 => u32, i64;
    i64 => i64;
    u64 => u64, i64;
    isize => isize, i64;
    usize => usize, i64;
    f32 => f32, f64;
    f64 => f64;
    mongodb::bson::Decimal128 => mongodb::bson::Decimal128;
}

/// The sum of values that are stored like numbers is stored like them.
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: SumOf<T::Like>>> SumOf<T> for T {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: SumOf<T::Like>>> SumOf<Option<T>> for T {}

/// The type of a value that one of the children has: the least, the greatest, that of the first or of the last child.
#[diagnostic::on_unimplemented(
    message = "the `{S}` of one of the children can't be stored in a `{Self}`",
    label = "not an `Option<{S}>`",
    note = "there is none where there are no children: write `Option<{S}>`"
)]
pub trait OfOneChild<S> {}
impl<S> OfOneChild<S> for Option<S> {}
impl<S> OfOneChild<Option<S>> for Option<S> {}

//! Assertions about references: where one may be declared, and that the two sides of a relationship agree.

use super::message::{about, one_null};
use crate::model::document::{Document, Identified, NamedDocument};
use crate::model::path::{Fielded, Path, Step, StoredByType};
use crate::model::reference::{
    OneTarget, Pointer, PointsTo, Ref, Reference, ReferenceKind, ReferenceMeta, ReferenceTo,
};
use crate::model::shape::{FieldMeta, same};
use crate::model::size::Message;
use crate::model::stored::Stored;
use crate::model::value::{Array, IdValue, Value};

/// A reference says what kind of relationship it is.
pub const fn no_reference<T: Value>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    if !T::REFERENCE {
        return one_null(T::TWICE_NULL, owner, field, ty);
    }
    Some(about(owner, field, ty).text(
        " refers to another document, and does not say how. Write `#[reference]`, or `#[parent_ref]` where any number of \
         documents refer to the same one (rule three)",
    ))
}

/// The same for a field without a name.
pub const fn no_unnamed_reference<T: Value>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    if !T::REFERENCE {
        return one_null(T::TWICE_NULL, owner, field, ty);
    }
    Some(
        about(owner, field, ty)
            .text(
                " is a reference without a name of its own, and a reference is found by the name of its field: joins, checks \
                 and indexes go by it. Give it a name, `{ #[reference] other: ",
            )
            .text(ty)
            .text(" }`, or let the field that holds this type be the reference itself"),
    )
}

/// The same for the items of an array, or the values of a map.
pub const fn no_reference_items<T: Array>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    let message = about(owner, field, ty);
    if T::MAP && <T::Item as Value>::HOLDS_REFERENCE {
        return Some(
            message
                .text(
                    " is a map, and a reference under a key that is only known when it runs is reached by no path, so nothing \
                     could check or find it. Use an array of structs with a field for the key: `#[embed(max = 20)] ",
                )
                .text(field)
                .text(": Vec<Entry>` with `struct Entry { key: String, #[reference] value: Ref<T> }`"),
        );
    }
    if !<T::Item as Value>::REFERENCE {
        return one_null(T::TWICE_NULL, owner, field, ty);
    }
    Some(message.text(
        " holds references to other documents, and does not say how. Write `#[reference(many, max = N)]` in the place of \
         `#[embed(max = N)]`",
    ))
}

/// `#[embed(depth = N)]`: at no depth is there a reference, which no path could name.
pub const fn no_nested_reference<T: Value>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    nested(T::HOLDS_REFERENCE, T::TWICE_NULL, owner, field, ty)
}

/// The same for the items of an array.
pub const fn no_nested_reference_items<T: Array>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    nested(
        <T::Item as Value>::HOLDS_REFERENCE,
        T::TWICE_NULL,
        owner,
        field,
        ty,
    )
}

const fn nested(holds: bool, twice_null: bool, owner: &str, field: &str, ty: &str) -> Option<Message> {
    if !holds {
        return one_null(twice_null, owner, field, ty);
    }
    Some(about(owner, field, ty).text(
        " is nested in itself, and a reference stands inside it, which no path names at every depth, so nothing could check or \
         find it. Give each level a document of its own that names the one above: `#[parent_ref] above: Option<Ref<T>>`, or \
         store a plain id, which nothing checks",
    ))
}

/// A type that an attribute names as a document.
pub const fn document<T: Document>() {}

/// A pointer to documents, and not to types that are none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to a document",
    label = "not a reference",
    note = "a reference is an `odm::Ref<T>` to a document `T`, an `Option` of it, or an array of them",
    note = "an embedded struct is declared with `#[embed]`"
)]
pub trait ToDocuments: Pointer {}
impl<T: Document, K: IdValue + Stored> ToDocuments for Ref<T, K> {}

/// A field of such references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to documents",
    label = "not a reference to documents",
    note = "a reference is an `odm::Ref<T>` to a document `T`, an `Option` of it, or an array of them"
)]
pub trait ReferenceToDocuments: Reference {}
impl<R: Reference> ReferenceToDocuments for R where R::Pointer: ToDocuments {}

/// A field refers to documents.
pub const fn refers<R: ReferenceToDocuments>() {}

/// The type that a reference names as its document.
type Target<R> = <<R as Reference>::Pointer as OneTarget>::Target;

/// One reference or an array of them, as the attribute says.
pub const fn relationship<R: Reference>(
    kind: ReferenceKind,
    any: bool,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let message = about(owner, field, ty);
    let union = <R::Pointer as Pointer>::UNION;
    if <R::Pointer as Pointer>::WITHIN.is_some() {
        return Some(message.text(
            " is a reference with copies beside it, and does not say so. Write `#[denormalize(from = …)]` with the document that \
             they are of, beside `#[reference]`",
        ));
    }
    if <R::Pointer as Pointer>::TO_VARIANT {
        return Some(message.text(
            " refers to one variant of an enum of documents, which no reference does yet. Refer to the enum, `Ref<Event>`, and read \
             the variant by its collection; or give these documents a collection of their own",
        ));
    }
    if any && !union {
        return Some(message.text(
            " refers to documents of one type. Leave out `any`, or list the documents, for which the field's type is then made: \
             `#[reference(any(Photo, Video))] media: MediaRef`",
        ));
    }
    if union && !any {
        return Some(message.text(
            " refers to documents of several types. Write `any` in the attribute, which says so: `#[reference(any)]`",
        ));
    }
    if R::TWICE_NULL {
        return one_null(true, owner, field, ty);
    }
    match kind {
        ReferenceKind::Many if !R::MANY => Some(message.text(
            " is a single reference, and `many` is for an array of them. Write `#[reference]`, or make it a `Vec`",
        )),
        ReferenceKind::One if R::MANY => Some(message.text(
            " is an array, and `#[reference]` is for a single one. Write `#[reference(many, max = 2000)]` with the greatest \
             number of references",
        )),
        ReferenceKind::Parent if R::MANY => Some(message.text(
            " is an array, and `#[parent_ref]` is for the one document that this one belongs to. Write `#[reference(many, max = \
             2000)]`",
        )),
        _ => None,
    }
}

/// `on_delete = nullify`.
pub const fn nullified<R: Reference>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    if R::OPTIONAL || R::MANY {
        return None;
    }
    Some(
        Message::new()
            .text("`nullify` leaves a document without the reference, and `")
            .text(owner)
            .text(".")
            .text(field)
            .text(": ")
            .text(ty)
            .text("` is required. Write `")
            .text(field)
            .text(": Option<")
            .text(ty)
            .text(">`, or `on_delete = cascade`, which deletes this document too, or `on_delete = restrict`"),
    )
}

/// A reference whose value is the id of the other document.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold the id of its document, and its field does not say what it holds",
    label = "a reference by another field",
    note = "name the field of the other document: `#[reference(by = field)]`",
    note = "a reference by the id is written with one parameter: `Ref<T>`"
)]
pub trait ById {}
#[diagnostic::do_not_recommend]
impl<T: Identified, K: Same<T::Id>> ById for Ref<T, K> {}
#[diagnostic::do_not_recommend]
impl<E: crate::model::copy::Entry> ById for E {}

/// A type itself, as a bound that can fail with a message.
pub trait Same<T> {}
impl<T> Same<T> for T {}

/// A field of such references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold the id of its document, and its field does not say what it holds",
    label = "a reference by another field",
    note = "name the field of the other document: `#[reference(by = field)]`",
    note = "a reference by the id is written with one parameter: `Ref<T>`"
)]
pub trait ReferenceById: Reference {}
impl<R: Reference> ReferenceById for R where R::Pointer: ById {}

/// A field without `by = field`.
pub const fn by_id<R: ReferenceById>() {}

/// A field that names its parent, if `R` is a reference to one.
pub trait ParentIs<P> {}
impl<P: Document, R: ReferenceTo<Target = P>> ParentIs<P> for R {}

/// The same of a reference to one of several documents.
pub trait ParentAmong<P> {}
impl<P: Document, R: Reference> ParentAmong<P> for R where R::Pointer: PointsTo<P> {}

/// Whether a field refers to a document, by a type that the derive can't see through: `<Refers<R, P>>::IS`, with [`RefersNot`]
/// in scope for one that does not.
pub struct Refers<R, P>(std::marker::PhantomData<fn() -> (R, P)>);

impl<R: Reference, P: Document> Refers<R, P>
where
    R::Pointer: PointsTo<P>,
{
    /// It does.
    pub const IS: bool = true;
}

/// The constant for a field that the other one does not apply to.
pub trait RefersNot {
    /// It does not.
    const IS: bool = false;
}
impl<R, P> RefersNot for Refers<R, P> {}

/// Whether another field of a document names the same type of parent.
pub struct Several<'a, const IS: bool>(std::marker::PhantomData<&'a ()>);

/// A document that names its parent in one field.
#[diagnostic::on_unimplemented(
    message = "`{C}` has several `#[parent_ref]` to `{P}`, one of them behind an alias",
    note = "name the field: `.children_by(|c: ChildFields| c.field)`, or `.find(|c| c.field.eq(parent.to_ref()))`"
)]
pub trait OneParent<C, P> {}
impl<C, P> OneParent<C, P> for Several<'_, false> {}

/// The stored name of a field that references are by.
pub fn key<K, R, T: KeyOf<K>, P: Step, C: StoredByType>(path: Path<R, T, P, C>) -> &'static str {
    path.name()
}

/// A field that has the values of the references.
#[diagnostic::on_unimplemented(
    message = "the field that `by` names is a `{Self}`, and the reference holds a `{K}`",
    label = "a `{Self}`",
    note = "name the type of that field as the second parameter: `Ref<T, {Self}>`",
    note = "a reference by the id is written without `by`: `Ref<T>`"
)]
pub trait KeyOf<K> {}
impl<K> KeyOf<K> for K {}
impl<K> KeyOf<K> for Option<K> {}

/// Whether two types are one: `<Types<A, B>>::SAME`, with [`Differ`] in scope for those that are not.
pub struct Types<A, B>(std::marker::PhantomData<fn() -> (A, B)>);

impl<A> Types<A, A> {
    /// They are.
    pub const SAME: bool = true;
}

/// The constant for types that the other one does not apply to.
pub trait Differ {
    /// They are not, as far as is known.
    const SAME: bool = false;
}
impl<A, B> Differ for Types<A, B> {}

/// A reference by another field than `_id` is not taken for one by `_id`.
pub const fn key_like_id<R: Reference<Pointer: OneTarget>>(
    by: &str,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let Some(key) = find::<R>(by) else { return None };
    if same(key.name, "_id") {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(" refers by the field `")
            .text(by)
            .text("`, and its type can't be told from that of a reference by `_id`: both are `")
            .text(key.ty)
            .text("`, so `load` would look for the wrong field. Give the key a type of its own, in both documents: `#[derive(Embed, …)] #[embed(id)] pub struct Number(")
            .text(key.ty)
            .text(");`"),
    )
}

/// `by = field`: one document has the value at most.
pub const fn unique_key<R: Reference<Pointer: OneTarget>>(
    by: &str,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let Some(key) = find::<R>(by) else { return None };
    if key.unique {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(" refers to one document by the field `")
            .text(<Target<R> as NamedDocument>::META.name)
            .text(".")
            .text(by)
            .text("`, which several documents could have alike. Make it unique there, which is the index to find it by, too: `#[index(unique)] ")
            .text(by)
            .text(": ")
            .text(key.ty)
            .text("`, without `partial` and `collation`"),
    )
}

/// The field of that name of the document that is referred to; nothing where that document has errors of its own.
const fn find<R: Reference<Pointer: OneTarget>>(name: &str) -> Option<&'static FieldMeta> {
    let fields = <Target<R> as NamedDocument>::FIELDS;
    match position(fields, name) {
        Some(i) if !fields[i].ty.is_empty() => Some(&fields[i]),
        _ => None,
    }
}

const fn position(fields: &[FieldMeta], rust: &str) -> Option<usize> {
    let mut i = 0;
    while i < fields.len() {
        if same(fields[i].rust, rust) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// The other side of a two-way reference of `D`.
pub fn inverse<D: Document, R, T: InverseOf<D>, P: Step, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// A field that refers to the documents on this side, by their ids.
#[diagnostic::on_unimplemented(
    message = "the field that `inverse` names is a `{Self}`, which does not refer back to `{D}` by its id",
    label = "a `{Self}`",
    note = "the two sides of a two-way reference refer to each other: the other one is a `Ref<{D}>` or an `Option` of it with `#[reference(inverse = …)]`, or a `Vec<Ref<{D}>>` with `#[reference(many, max = N, inverse = …)]`",
    note = "a reference in one direction is written without `inverse`"
)]
pub trait InverseOf<D: Document> {}
#[diagnostic::do_not_recommend]
impl<D: Document, R: Reference> InverseOf<D> for R where R::Pointer: BackTo<D> {}

/// A pointer to the documents on this side.
pub trait BackTo<D: Document> {}
#[diagnostic::do_not_recommend]
impl<D: Document, K: Same<D::Id>> BackTo<D> for Ref<D, K> {}

/// `inverse = field`: both sides declare each other, an insert of one of them is possible, and neither side is expected to
/// outgrow its array.
pub const fn two_way<D: Fielded, R: Reference<Pointer: OneTarget>>(
    inverse: &str,
    max: Option<u64>,
    expected: Option<u64>,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let Some(other) = find::<R>(inverse) else {
        return None;
    };
    let target = <Target<R> as NamedDocument>::META.name;
    let this = about(owner, field, ty);
    let Some(back) = other.reference else {
        return Some(
            beside(this.text(" has the inverse "), target, other)
                .text(", which is no declared reference. Write `#[reference(inverse = ")
                .text(field)
                .text(")]` above it"),
        );
    };
    if matches!(back.kind, ReferenceKind::Parent) {
        return Some(
            beside(this.text(" has the inverse "), target, other)
                .text(
                    ", which is a `#[parent_ref]`: the children of a parent are found by their index, without a list of them. \
                     Write `#[reference(inverse = ",
                )
                .text(field)
                .text(")]` there, or leave this field out and read `.children::<")
                .text(target)
                .text(">()`"),
        );
    }
    match back.inverse {
        None => {
            return Some(
                beside(this.text(" has the inverse "), target, other)
                    .text(", which does not name it back, so a write there would not reach this side. Add it there: `inverse = ")
                    .text(field)
                    .text("`"),
            );
        }
        // Where the other side names a field that is not there, that is the error.
        Some(named) if position(D::FIELDS, named).is_none() => return None,
        Some(named) if !same(named, field) => {
            return Some(
                beside(this.text(" has the inverse "), target, other)
                    .text(", whose own inverse is `")
                    .text(owner)
                    .text(".")
                    .text(named)
                    .text("`. A relationship has two sides: give each list a field of its own on the other side"),
            );
        }
        Some(_) => {}
    }
    let both_required = !R::MANY && !R::OPTIONAL && !back.optional && matches!(back.kind, ReferenceKind::One);
    if both_required && !before(target, inverse, owner, field) {
        return Some(
            beside(this.text(" and "), target, other)
                .text(
                    " each need a document of the other side that is there already, so neither could ever be inserted. Make one of \
                     them an `Option`, such as `",
                )
                .text(field)
                .text(": Option<")
                .text(ty)
                .text(">`"),
        );
    }
    balance::<R>(other, back, max, expected, owner, field, ty)
}

/// Rule three: an array of ids does not hold more. The derive refuses a greater `max`.
const GREATEST_MAX: u64 = 5_000;

/// Relationship balance: ids are embedded on the side that stays small, and on neither where both are large.
const fn balance<R: Reference<Pointer: OneTarget>>(
    other: &FieldMeta,
    back: &ReferenceMeta,
    max: Option<u64>,
    expected: Option<u64>,
    owner: &str,
    field: &str,
    ty: &str,
) -> Option<Message> {
    let (Some(max), Some(expected)) = (max, expected) else {
        return None;
    };
    if expected <= max && expected <= GREATEST_MAX {
        return None;
    }
    let target = <Target<R> as NamedDocument>::META.name;
    let is_itself = same(target, owner) && same(other.rust, field);
    let is_huge = match back.expected {
        Some(expected) => expected > GREATEST_MAX,
        None => false,
    };
    if is_huge && expected > GREATEST_MAX && !is_itself && !before(owner, field, target, other.rust) {
        return None;
    }
    let message = about(owner, field, ty)
        .text(" is expected to hold ")
        .number(expected)
        .text(" references, ");
    let message = if expected <= GREATEST_MAX {
        let message = message
            .text("and at most ")
            .number(max)
            .text(" fit into it. Write such as `max = ")
            .plain_number(expected)
            .text("`");
        if is_itself || is_huge {
            return Some(message);
        }
        message.text(", or let the other side hold the relationship alone. ")
    } else {
        message
            .text("more than an array of a document should (")
            .number(GREATEST_MAX)
            .text("). ")
    };
    if is_itself || is_huge {
        return Some(linked(message, other, is_itself, owner, target));
    }
    Some(match other.bounds.max_items {
        Some(few) => beside(
            message.text(
                "Relationship balance: where one side is much larger, the ids are embedded on the small side only. Leave this \
                 field out, and keep ",
            ),
            target,
            other,
        )
        .text(" without `inverse`, as `#[reference(many, max = ")
        .plain_number(few)
        .text(")]`: its index finds them from here, `.find(|x| x.")
        .text(other.rust)
        .text(".contains(id))`"),
        None => beside(
            message.text("Rule three: the many name the one. Leave this field out, and declare "),
            target,
            other,
        )
        .text(" as `#[parent_ref]`: its index finds them from here, `.children::<")
        .text(target)
        .text(">()`"),
    })
}

/// Where neither side is small enough for the ids of the other, each link is a document.
const fn linked(message: Message, other: &FieldMeta, is_itself: bool, owner: &str, target: &str) -> Message {
    let message = message.text("Relationship balance: ids are embedded on a side that stays small, and ");
    let message = if is_itself {
        message.text("this field is both sides. Leave it out")
    } else {
        let message = beside(message, target, other);
        message.text(" is expected to be as large. Leave both fields out")
    };
    message
        .text(", and store each link as a document of its own, with the fields `#[parent_ref] from: Ref<")
        .text(owner)
        .text(">` and `#[parent_ref] to: Ref<")
        .text(target)
        .text(">`: their indexes find the links from either side, `.children_by(|link: LinkFields| link.from)` and `link.to`")
}

/// The message, and `Task.owner: Ref<Person>` of the other side.
const fn beside(message: Message, target: &str, other: &FieldMeta) -> Message {
    message
        .text("`")
        .text(target)
        .text(".")
        .text(other.rust)
        .text(": ")
        .text(other.ty)
        .text("`")
}

/// Whether the first field comes before the second: what is wrong with both is said of one.
pub(super) const fn before(owner: &str, field: &str, other_owner: &str, other_field: &str) -> bool {
    if same(owner, other_owner) {
        less(field, other_field)
    } else {
        less(owner, other_owner)
    }
}

const fn less(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return a[i] < b[i];
        }
        i += 1;
    }
    a.len() < b.len()
}

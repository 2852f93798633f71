//! Assertions of generated code about types that syntax can't see: each is a bound with a message of its own, or a sentence for a
//! constant that panics.

use crate::model::path::{Nested, OfFields, Path, Step};
use crate::model::shape::{FieldMeta, Names};
use crate::model::size::Message;
use crate::model::stored::{Fields, Row};
use crate::model::value::{Array, Compared, IdValue, Integer, Numeric, Ordered, StoredLike, Text, Value};

mod circle;
mod copy;
mod count;
mod message;
mod reference;
mod search;
pub(crate) use crate::model::path::PlainlyStored;
pub use circle::{AllSteps, COMPUTED, COPY, CopiesOf, EndsIn, SUBSET, Steps, Way, circular, way};
pub use copy::*;
pub use count::*;
use message::about;
pub use message::one_null;
pub use reference::{
    BackTo, ById, Differ, InverseOf, KeyOf, OneParent, ParentAmong, ParentIs, ReferenceById,
    ReferenceToDocuments, Refers, RefersNot, Same, Several, ToDocuments, Types, by_id, document, inverse,
    key, key_like_id, no_nested_reference, no_nested_reference_items, no_reference, no_reference_items,
    no_unnamed_reference, nullified, refers, relationship, two_way, unique_key,
};
pub use search::{
    SearchedDate, SearchedNumber, SearchedText, Vector, search_indexes_are_enabled, searched_boolean,
    searched_date, searched_number, searched_text, vector,
};

/// `#[field(min = N, max = N)]`.
pub const fn numeric<T: Numeric>() {}

/// `pattern`, `email`, `url`, `normalize`, and the strings of `one_of`.
pub const fn texts<T: RuledText>() {}

/// A string with rules.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a string, which `pattern`, `email`, `url`, `normalize` and the strings of `one_of` are for",
    label = "not a string",
    note = "a number is declared with `min`, `max`, `multiple_of` or `one_of(1, 2)`, and the strings of an embedded struct have rules on its own fields",
    note = "any other rule is a function: `#[field(check_with = is_valid)]`"
)]
pub trait RuledText {}
#[diagnostic::do_not_recommend]
impl<T: Text> RuledText for T {}

/// `multiple_of`, and the numbers of `one_of`.
pub const fn integers<T: Integer>() {}

/// `#[embed(id)]`.
pub const fn id<T: IdValue>() {}

/// An `_id` in a collection without a validator that refuses.
pub const fn id_is_plain<T: Compared<As: OneForm<T>>>() {}

/// A value with one form in bytes, by whichever program it is written.
#[diagnostic::on_unimplemented(
    message = "`{T}` is a struct or a variant with content, and the server compares it as an `_id` by its bytes: with its fields in another order it is another id, and no validator refuses that where validation is off or only warns",
    label = "an `_id` whose fields may be stored in any order",
    note = "have the validator demand it: leave out `validation(…)`, or write `level = moderate`",
    note = "or say that this program alone writes the collection, with this struct: `#[document(sole_writer)]`"
)]
pub trait OneForm<T> {}
#[diagnostic::do_not_recommend]
impl<T> OneForm<T> for crate::model::value::ByValue {}
#[diagnostic::do_not_recommend]
impl<T, A> OneForm<T> for crate::model::value::Listed<A> {}

/// `#[serde(flatten)]`.
pub const fn flattened<T: Flattened>() {}

/// `#[embed(tag = "…")]` without `content`.
pub const fn beside_the_tag<T: BesideTag>() {}

/// `#[field(extra)]`.
pub const fn extra<T: Extra>() {}

/// Whether one of these fields, or a struct in them, shows fields that are not declared.
pub const fn shows_more(fields: &[FieldMeta]) -> bool {
    let mut i = 0;
    while i < fields.len() {
        if fields[i].is_extra() || fields[i].shows_more {
            return true;
        }
        i += 1;
    }
    false
}

/// The field that holds the fields which a struct does not declare.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` can't hold the fields that a struct does not declare: they may be of any type",
    label = "not a `bson::Document`",
    note = "`#[field(extra, flatten)]` stands above a field of the type `bson::Document`"
)]
pub trait Extra {}
impl Extra for mongodb::bson::Document {}

/// `#[index(expire_after = N)]`.
pub const fn dated<T: Dated>() {}

/// The field of `#[document(soft_delete)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no time of a deletion, which the library writes as an `Option<bson::DateTime>`",
    label = "not an `Option<bson::DateTime>`",
    note = "write `deleted_at: Option<DateTime>`"
)]
pub trait TimeOfDeletion {}
impl TimeOfDeletion for Option<mongodb::bson::DateTime> {}

/// The field of `#[document(soft_delete)]`.
pub const fn deleted_at<T: TimeOfDeletion>() {}

/// `#[index]` on a field, in an order or hashed.
pub const fn indexed<T: Compared<As: Ordered<T>>>() {}

/// `expire_after` of an index that names its field by a path.
pub fn dated_path<R, T: Dated, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// The same of a field that is stored as an `S`.
pub fn dated_as<S: Dated, R, T, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// `#[bucket(time = field)]`.
pub const fn moment<T: Moment>() {}

/// `#[bucket(sum(field))]`.
pub const fn summed<T: crate::model::sum::Summable>() {}

/// A time that every item has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date that every item has, so a bucket can't go by it",
    label = "not a `bson::DateTime`",
    note = "`time` in `#[bucket(…)]` names a field of the type `bson::DateTime`"
)]
pub trait Moment {}
impl Moment for mongodb::bson::DateTime {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Moment>> Moment for T {}

/// A struct whose fields may stand in its parent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be flattened: its fields have no declared names, so neither a path nor the validator can name them",
    label = "not a struct with declared fields",
    note = "flatten a struct with named fields that derives `Embed`",
    note = "or leave out `flatten`, and give a map a bound: `#[embed(max = N)]`"
)]
pub trait Flattened {}
#[diagnostic::do_not_recommend]
impl<T: Nested<Form: Flattens> + Value> Flattened for T {}

/// A value of a variant, with fields beside which the tag stands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields of its own beside which the tag of the enum can stand",
    label = "in a variant of an enum with `tag`",
    note = "`#[embed(tag = \"type\", content = \"value\")]` stores it in a field"
)]
pub trait BesideTag {}
#[diagnostic::do_not_recommend]
impl<T: Fields + Row> BesideTag for T {}

/// What kind of type has declared fields.
pub trait Flattens {}
impl Flattens for OfFields {}

/// A date, by which MongoDB can let a document expire.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date, so documents can't expire by it: MongoDB would keep them for ever",
    label = "not a `bson::DateTime`",
    note = "`expire_after` counts from a field of the type `bson::DateTime`"
)]
pub trait Dated {}
impl Dated for mongodb::bson::DateTime {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Dated>> Dated for T {}
impl<T: Dated> Dated for Option<T> {}
impl<T: Dated> Dated for Vec<T> {}

/// The type of a document's field, in a projection.
#[diagnostic::on_unimplemented(
    message = "a projection's field has the type of the document's field: the document has `{T}`, and the projection `{Self}`",
    label = "the document has `{T}`",
    note = "write `{T}` here"
)]
pub trait SameTypeAs<T> {}
impl<T> SameTypeAs<T> for T {}

/// A document's field, as a projection names it.
pub struct Projected<T, C>(&'static str, std::marker::PhantomData<fn() -> (T, C)>);

/// The document's field.
pub fn projected<R, T, P: Step, C>(path: Path<R, T, P, C>) -> Projected<T, C> {
    Projected(path.name(), std::marker::PhantomData)
}

impl<T, C> Projected<T, C> {
    /// Its stored name, where the projection's field has the type `A`.
    pub fn as_type<A: SameTypeAs<T>>(self) -> &'static str
    where
        C: PlainlyStored,
    {
        self.0
    }

    /// The same where that field has a `#[serde(with)]` of its own.
    pub fn with_codec<A: SameTypeAs<T>>(self) -> &'static str {
        self.0
    }
}

/// The greatest number of embedded documents in an array that does not say `large`.
const EMBEDDED_DOCUMENTS: u64 = 200;

/// Rule three: an array that can hold this many documents is not embedded.
pub const fn few<T: Array>(owner: &str, field: &str, ty: &str, max: u64) -> Option<Message> {
    if max <= EMBEDDED_DOCUMENTS || !<T::Item as Value>::DOCUMENT {
        return None;
    }
    Some(
        about(owner, field, ty)
            .text(" embeds up to ")
            .number(max)
            .text(
                " documents. Rule three: arrays do not grow without end; above some 200 documents, don't embed them. Instead: \
                 store an array of references to them (`#[reference(many, max = 2000)]`, up to 5,000), store a reference to the \
                 parent in each of them (`#[parent_ref]`, any number), embed the latest few only (a subset), or group them in documents of a fixed size (a bucket). If they really \
                 are read as a whole, say why: `#[embed(max = ",
            )
            .plain_number(max)
            .text(", large = \"reason\")]`"),
    )
}

/// `max_len` and `min_len` count the length of something.
pub const fn length<T: Value>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    no_length(T::SIZE.per_len, owner, field, ty)
}

/// The same for the items of an array.
pub const fn item_length<T: Array>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    no_length(<T::Item as Value>::SIZE.per_len, owner, field, ty)
}

const fn no_length(per_len: u64, owner: &str, field: &str, ty: &str) -> Option<Message> {
    if per_len > 0 {
        return None;
    }
    Some(about(owner, field, ty).text(
        " has no length of its own, so `max_len` and `min_len` mean nothing: they bound a `String` or a `bson::Binary`, or the \
         items of an array of these. The number of items of an array is bounded by `#[embed(max = N)]`, a number by \
         `#[field(min = N, max = N)]`, and the strings of an embedded struct by attributes on its own fields",
    ))
}

/// `unique_items` is for arrays.
pub const fn unique_items<T: Array>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    if !T::MAP {
        return None;
    }
    Some(about(owner, field, ty).text(
        " is a map, whose keys differ in any case: `unique_items` compares the items of an array. Leave it out",
    ))
}

/// `key_len` is for maps.
pub const fn keys<T: Array>(owner: &str, field: &str, ty: &str) -> Option<Message> {
    if T::MAP {
        return None;
    }
    Some(about(owner, field, ty).text(
        " has no keys: `key_len` bounds the keys of a map. The length of each item is declared with `#[field(max_len = N)]`",
    ))
}

/// The fields of a flattened struct must not have names that its parent has too.
pub const fn flattened_names(
    owner: &str,
    field: &str,
    ty: &str,
    there: &Names,
    flattened: &Names,
) -> Option<Message> {
    let Some(name) = flattened.shared(there) else {
        return None;
    };
    Some(
        about(owner, field, ty)
            .text(" is flattened, and `")
            .text(ty)
            .text("` has a field stored as `")
            .text(name)
            .text("`, a name that another field of `")
            .text(owner)
            .text(
                "` has too. A document with two fields of one name can't be read again. Rename one of them, \
                 `#[field(name = \"…\")]`, or leave out `flatten`",
            ),
    )
}

/// The content of a variant must not have a field with the name of the tag beside it.
pub const fn beside_tag(owner: &str, variant: &str, ty: &str, tag: &str, held: &Names) -> Option<Message> {
    if !held.has(tag) {
        return None;
    }
    Some(
        Message::new()
            .text("`")
            .text(owner)
            .text("::")
            .text(variant)
            .text("(")
            .text(ty)
            .text(")` stands beside the tag `")
            .text(tag)
            .text("` of the enum, and `")
            .text(ty)
            .text(
                "` has a field stored under that name. A document with two fields of one name can't be read again. Rename the \
                 field, `#[serde(rename = \"…\")]`, or the tag, or give the content a name of its own: `#[serde(tag = \"",
            )
            .text(tag)
            .text("\", content = \"…\")]`"),
    )
}

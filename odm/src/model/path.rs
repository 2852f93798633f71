//! Typed paths: the address of a stored field, as a type.
//!
//! `p.addresses.city` is a [`Path`] whose parameters say which document it belongs to, what type stands there and by
//! which fields it was reached. A path holds no data, so a struct of paths costs nothing and is `Copy`; the dotted name
//! is joined by the compiler.

use crate::Result;
use crate::model::shape::{EnumShape, FieldMeta, VariantMeta};
pub use crate::model::stored::OwnSerde;
use crate::model::stored::{Bound, BySerde, Done, Input, Name, Out, Read, Stored};
use crate::model::tree::Tree;
use crate::model::value::Compared;
use mongodb::bson::{Bson, doc};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::ops::Deref;

/// A struct whose stored fields are known.
pub trait Fielded: 'static {
    /// The fields in order; a position in it is a field's number in [`At`].
    const FIELDS: &'static [FieldMeta];
}

/// An enum whose variants are known.
pub trait Varied: 'static {
    /// The variants and their tags.
    const SHAPE: &'static EnumShape;
}

/// A field on the way of a path, or the items of an array there.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The part of the path before it.
    pub above: Option<&'static Way>,
    /// The field, or the content of a variant; `None` for the items of the array before it.
    pub field: Option<&'static FieldMeta>,
    /// The variant whose content it is.
    pub variant: Option<VariantOf>,
}

/// A variant of an enum.
#[derive(Clone, Copy, Debug)]
pub struct VariantOf {
    /// The enum.
    pub of: &'static EnumShape,
    /// The variant.
    pub meta: &'static VariantMeta,
}

/// Whether a variant is on the way.
const fn leads_into_a_variant(way: Option<&'static Way>) -> bool {
    let mut next = way;
    while let Some(way) = next {
        if way.variant.is_some() {
            return true;
        }
        next = way.above;
    }
    false
}

impl Way {
    /// Whether a field on it has a default.
    pub(crate) fn has_default(&self) -> bool {
        let own = self.field.is_some_and(|field| field.default.is_some());
        own || self.above.is_some_and(Way::has_default)
    }
}

/// How a path gets to its field.
pub trait Step: 'static {
    /// The dotted name from the root.
    const PATH: &'static str;
    /// Whether it leads through an array, so that it means several values.
    const MULTI: bool = Self::ARRAYS > 0;
    /// Through how many arrays it leads.
    const ARRAYS: u32;
    /// The dotted name of the innermost of them.
    const INNERMOST: Option<&'static str>;
    /// The field at its end.
    const FIELD: Option<&'static FieldMeta>;
    /// Whether an item of that field's array is at its end.
    #[doc(hidden)]
    const ITEM: bool = false;
    /// All fields on the way to its end, and the arrays whose items are stepped into.
    #[doc(hidden)]
    const WAY: Option<&'static Way>;
    /// Whether a variant of an enum is on the way.
    #[doc(hidden)]
    const IN_VARIANT: bool = leads_into_a_variant(Self::WAY);
    /// Its end as a value, so that what is made of it is compiled once and not for each path.
    #[doc(hidden)]
    const END: PathEnd = PathEnd {
        path: Self::PATH,
        innermost: Self::INNERMOST,
        field: Self::FIELD,
        is_item: Self::ITEM,
        way: Self::WAY,
        in_variant: Self::IN_VARIANT,
    };
    /// The type of the values of type `X` at its end: one, none or several, as the arrays and options on the way say.
    type Many<X: Send>: Send;
    /// The field at its end as a part of a unique key.
    #[doc(hidden)]
    type Part;
    /// The same of a field `X` below its end.
    #[doc(hidden)]
    type Below<X>;

    /// The value at its end as an expression of an aggregation, made of the value at its beginning. Arrays are stepped
    /// through one by one.
    #[doc(hidden)]
    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson;

    /// Puts values in the places of what was found on the way.
    #[doc(hidden)]
    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>>;
}

/// The end of a path: the constants of [`Step`].
#[doc(hidden)]
pub struct PathEnd {
    pub(crate) path: &'static str,
    pub(crate) innermost: Option<&'static str>,
    pub(crate) field: Option<&'static FieldMeta>,
    pub(crate) is_item: bool,
    pub(crate) way: Option<&'static Way>,
    pub(crate) in_variant: bool,
}

/// Field number `I` of the document `O` as a part of a unique key.
pub struct PartOf<O, const I: usize>(PhantomData<fn() -> O>);

/// A field of the struct in field number `I` of the document `O`, as a part of a unique key.
pub struct PartWithin<O, const I: usize>(PhantomData<fn() -> O>);

/// No part of a unique key: the document itself, and the items of an array.
pub struct NoPart(());

/// A document that has a unique key of the parts `K`: one field, or a tuple of them. The derive implements it for the keys that it
/// knows. Of a key with a field of an embedded struct, and of the keys of documents of several types, it is looked up when the operation
/// runs whether they are declared.
///
/// ```no_run
/// # use samples::model::*;
/// use odm::types::HasKey;
/// use odm::write::KeyValues;
///
/// async fn is_taken<T, K, V>(all: &Collection<T>, key: fn(T::Paths) -> K, value: V) -> odm::Result<bool>
/// where
///     T: Document + HasKey<K::Parts>,
///     K: KeyValues<T, V>,
/// {
///     Ok(all.get_by(key, value).await?.is_some())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no unique key of these fields",
    label = "no unique index is declared on exactly these fields",
    note = "declare the key: `#[index(unique)]` on the field, or `index(fields(shop, number), unique)` in `#[document(…)]`; fields with \
            `#[field(scope)]` may be left out",
    note = "by any other condition, use `find`, `update_first`, `delete_first`, `update_where`"
)]
pub trait HasKey<K> {}

/// Fields of a document itself, and of nothing within it.
#[diagnostic::on_unimplemented(
    message = "a scope is by a field of the document itself",
    label = "one of these is a field of an embedded struct, or of an array's items",
    note = "a field of the document: `odm.scoped(Project::paths().tenant, tenant)`; of several: `scoped` of the handle with the first"
)]
pub trait OwnFields {}
#[diagnostic::do_not_recommend]
impl<O, const I: usize> OwnFields for PartOf<O, I> {}

/// The document itself, where every path begins.
pub struct Root(());

impl Step for Root {
    const PATH: &'static str = "";
    const ARRAYS: u32 = 0;
    const INNERMOST: Option<&'static str> = None;
    const FIELD: Option<&'static FieldMeta> = None;
    const WAY: Option<&'static Way> = None;
    type Many<X: Send> = X;
    type Part = NoPart;
    type Below<X> = X;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        then(from.to_owned())
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<X> {
        leaf(tree)
    }
}

/// Field number `I` of `O`, below `P`.
pub struct At<P, O, const I: usize>(PhantomData<fn() -> (P, O)>);

impl<P: Step, O: Fielded, const I: usize> At<P, O, I> {
    const JOINED: Joined = Joined::new(P::PATH, O::FIELDS[I].name, O::FIELDS[I].flatten);
}

impl<P: Step, O: Fielded, const I: usize> Step for At<P, O, I> {
    const PATH: &'static str = {
        let joined: &'static Joined = &Self::JOINED;
        joined.as_str()
    };
    const ARRAYS: u32 = P::ARRAYS;
    const INNERMOST: Option<&'static str> = P::INNERMOST;
    const FIELD: Option<&'static FieldMeta> = Some(&O::FIELDS[I]);
    const WAY: Option<&'static Way> = Some(&Way {
        above: P::WAY,
        field: Some(&O::FIELDS[I]),
        variant: None,
    });
    type Many<X: Send> = P::Many<X>;
    type Part = P::Below<PartOf<O, I>>;
    type Below<X> = P::Below<PartWithin<O, I>>;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, &mut |parent| {
            let field = &O::FIELDS[I];
            then(match (field.flatten, parent.as_str()) {
                (true, _) => parent,
                (false, "$") => format!("${}", field.name),
                (false, _) => format!("{parent}.{}", field.name),
            })
        })
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble(tree, leaf)
    }
}

/// Through the items of an array: MongoDB's dotted names step over them.
pub struct Each<P>(PhantomData<fn() -> P>);

impl<P: Step> Step for Each<P> {
    const PATH: &'static str = P::PATH;
    const ARRAYS: u32 = P::ARRAYS + 1;
    const INNERMOST: Option<&'static str> = Some(P::PATH);
    const FIELD: Option<&'static FieldMeta> = P::FIELD;
    const ITEM: bool = true;
    const WAY: Option<&'static Way> = Some(&Way {
        above: P::WAY,
        field: None,
        variant: None,
    });
    type Many<X: Send> = P::Many<Vec<X>>;
    type Part = NoPart;
    type Below<X> = NoPart;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, &mut |items| {
            let items = doc! { "$ifNull": [items, []] };
            doc! { "$map": { "input": items, "in": then("$$this".to_owned()) } }.into()
        })
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble::<Vec<X>>(tree, &mut |tree| tree.items().map(&mut *leaf).collect())
    }
}

/// Through an option: the field may not be there.
pub struct Maybe<P>(PhantomData<fn() -> P>);

impl<P: Step> Maybe<P> {
    /// How many names lead to the value, if it is there. A flattened one has no name: it is there if one of its fields is.
    const NAMES: u32 = {
        let path = P::PATH.as_bytes();
        let mut names = !path.is_empty() as u32;
        let mut i = 0;
        while i < path.len() {
            names += (path[i] == b'.') as u32;
            i += 1;
        }
        match P::FIELD {
            Some(field) if field.flatten => names + 1,
            _ => names,
        }
    };
}

impl<P: Step> Step for Maybe<P> {
    const PATH: &'static str = P::PATH;
    const ARRAYS: u32 = P::ARRAYS;
    const INNERMOST: Option<&'static str> = P::INNERMOST;
    const FIELD: Option<&'static FieldMeta> = P::FIELD;
    const WAY: Option<&'static Way> = P::WAY;
    type Many<X: Send> = P::Many<Option<X>>;
    type Part = P::Part;
    type Below<X> = P::Below<X>;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, then)
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble::<Option<X>>(tree, &mut |tree| match tree {
            Tree::Nothing { there } if *there < Self::NAMES => Ok(None),
            there => leaf(there).map(Some),
        })
    }
}

/// A field that is stored as a value of type `S`, whatever its own type is.
pub struct StoredAs<P, S>(PhantomData<fn() -> (P, S)>);

impl<P: Step, S: 'static> Step for StoredAs<P, S> {
    const PATH: &'static str = P::PATH;
    const ARRAYS: u32 = P::ARRAYS;
    const INNERMOST: Option<&'static str> = P::INNERMOST;
    const FIELD: Option<&'static FieldMeta> = P::FIELD;
    const ITEM: bool = P::ITEM;
    const WAY: Option<&'static Way> = P::WAY;
    type Many<X: Send> = P::Many<X>;
    type Part = P::Part;
    type Below<X> = P::Below<X>;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, then)
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble(tree, leaf)
    }
}

/// The field at the end of a path.
#[doc(hidden)]
pub fn field_of<R, T: ?Sized, P: Step, C>(_: Path<R, T, P, C>) -> Option<&'static FieldMeta> {
    P::FIELD
}

/// How the values of type `T` at the end of a path are compared.
pub trait Holds<T: ?Sized> {
    /// By their bytes, or by what is in them.
    type As;
    /// The type that they are stored as.
    type Stored: ?Sized;
}
impl<T: Compared + ?Sized> Holds<T> for Root {
    type As = T::As;
    type Stored = T;
}
impl<T: Compared + ?Sized, P, O, const I: usize> Holds<T> for At<P, O, I> {
    type As = T::As;
    type Stored = T;
}
impl<T: Compared + ?Sized, P> Holds<T> for Each<P> {
    type As = T::As;
    type Stored = T;
}
impl<T: Compared + ?Sized, P> Holds<T> for Kept<P> {
    type As = T::As;
    type Stored = T;
}
impl<T: Compared + ?Sized, P> Holds<T> for Maybe<P> {
    type As = T::As;
    type Stored = T;
}
impl<T: ?Sized, P, S: Compared> Holds<T> for StoredAs<P, S> {
    type As = S::As;
    type Stored = S;
}

/// Into a value that the library writes: what is inside it is not the application's to change either.
pub struct Kept<P>(PhantomData<fn() -> P>);

impl<P: Step> Step for Kept<P> {
    const PATH: &'static str = P::PATH;
    const ARRAYS: u32 = P::ARRAYS;
    const INNERMOST: Option<&'static str> = P::INNERMOST;
    const FIELD: Option<&'static FieldMeta> = P::FIELD;
    const WAY: Option<&'static Way> = P::WAY;
    type Many<X: Send> = P::Many<X>;
    type Part = P::Part;
    type Below<X> = P::Below<X>;

    fn expression(from: &str, then: &mut dyn FnMut(String) -> Bson) -> Bson {
        P::expression(from, then)
    }

    fn assemble<X: Send>(tree: &Tree, leaf: &mut dyn FnMut(&Tree) -> Result<X>) -> Result<Self::Many<X>> {
        P::assemble(tree, leaf)
    }
}

const LONGEST: usize = 512;

pub(crate) struct Joined {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Joined {
    pub(crate) const fn new(parent: &str, name: &str, flatten: bool) -> Joined {
        let joined = Joined {
            bytes: [0; LONGEST],
            len: 0,
        }
        .push(parent);
        if flatten {
            return joined; // a flattened struct's fields stand in the parent
        }
        let joined = if parent.is_empty() {
            joined
        } else {
            joined.push(".")
        };
        joined.push(name)
    }

    const fn push(mut self, text: &str) -> Joined {
        let bytes = text.as_bytes();
        assert!(
            self.len + bytes.len() <= LONGEST,
            "a dotted field name is longer than 512 bytes"
        );
        let mut i = 0;
        while i < bytes.len() {
            self.bytes[self.len] = bytes[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    pub(crate) const fn as_str(&self) -> &str {
        let (head, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(_) => panic!("whole strings were joined"),
        }
    }
}

/// A field of a document of type `R` with a value of type `T`, reached by `P`, and stored as `C` says.
///
/// Paths come from a document's generated struct of fields, which every closure of a query or an update receives:
/// `people.find(|p| p.addresses.city.eq("New York"))`.
///
/// ```
/// # use samples::model::*;
/// let p = Person::paths();
/// assert_eq!(p.addresses.city.name(), "addresses.city");
/// assert_eq!(format!("{:?}", p.id), "_id");
/// # Ok::<(), odm::Error>(())
/// ```
#[allow(clippy::type_complexity)]
pub struct Path<R, T: ?Sized, P, C = Plain>(PhantomData<fn() -> (R, Box<T>, P, C)>);

impl<R, T: ?Sized, P, C> Path<R, T, P, C> {
    /// The only value.
    #[doc(hidden)]
    pub const NEW: Self = Path(PhantomData);
}

impl<R, T: ?Sized, P: Step, C> Path<R, T, P, C> {
    /// The dotted name, as MongoDB writes it.
    ///
    /// ```
    /// # use samples::model::*;
    /// assert_eq!(Person::paths().place.name(), "place");
    /// ```
    pub const fn name(&self) -> &'static str {
        P::PATH
    }

    /// The same of a field that an index names, in an order or hashed: the server goes by the bytes of its values.
    #[doc(hidden)]
    pub fn indexed_name(&self) -> &'static str
    where
        T: Sized,
        P: Holds<T, As: crate::model::value::Ordered<T>>,
    {
        P::PATH
    }
}

impl<R, T: ?Sized, P, C> Clone for Path<R, T, P, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T: ?Sized, P, C> Copy for Path<R, T, P, C> {}

impl<R, T: ?Sized, P: Step, C> std::fmt::Debug for Path<R, T, P, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(P::PATH)
    }
}

/// The fields of a flattened struct: `#[field(flatten)]`. They stand in the struct's parent, so the struct has no place of
/// its own that could be compared, set, sorted by or indexed. It leads to its fields and to nothing else.
///
/// ```
/// use odm::prelude::*;
///
/// #[derive(Document)]
/// #[document(collection = "houses")]
/// struct House {
///     id: i32,
///     #[field(flatten)]
///     place: Place,
/// }
///
/// #[derive(Embed)]
/// struct Place {
///     city: String,
/// }
///
/// assert_eq!(House::paths().place.city.name(), "city");
/// ```
#[allow(clippy::type_complexity)]
pub struct Flattened<R, T: ?Sized, P>(PhantomData<fn() -> (R, Box<T>, P)>);

impl<R, T: ?Sized, P> Flattened<R, T, P> {
    /// The only value.
    #[doc(hidden)]
    pub const NEW: Self = Flattened(PhantomData);
}

/// A trait that no flattened struct has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is flattened, so it has no place of its own in the document: its fields stand in their parent",
    label = "the path of a flattened struct",
    note = "name its fields one by one, such as `p.place.city` where `place` is flattened",
    note = "a struct that is compared, set or indexed as a whole is stored as one: leave out `flatten`"
)]
pub trait StandsAlone {}

impl<R, T: ?Sized, P> Clone for Flattened<R, T, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T: ?Sized, P> Copy for Flattened<R, T, P> {}

impl<R, T: ?Sized, P> std::fmt::Debug for Flattened<R, T, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Flattened")
    }
}

impl<R: 'static, T: Nested, P: 'static> Deref for Flattened<R, T, P> {
    type Target = T::Fields<R, P>;
    fn deref(&self) -> &Self::Target {
        T::fields::<R, P>()
    }
}

/// How a field's value becomes BSON.
pub trait Codec<T: ?Sized>: 'static {
    /// Writes the type, the name and the value behind what is there.
    ///
    /// # Errors
    /// Where BSON can't hold the value.
    fn write(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done;
}

/// As the type itself says: every field without `with` or `serialize_with`.
pub struct Plain(());

impl<T: Stored> Codec<T> for Plain {
    fn write(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        value.write(name, bound, out)
    }
}

impl<T: serde::Serialize> Codec<T> for OwnSerde {
    fn write(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        BySerde::<OwnSerde>::write(value, name, bound, out)
    }
}

/// As `C`, of an option that a function reads, which wants it to be there.
pub struct Needed<C = Plain>(PhantomData<C>);

impl<T: ?Sized, C: Codec<T>> Codec<T> for Needed<C> {
    fn write(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        C::write(value, name, bound, out)
    }
}

/// How a field's value is read.
#[diagnostic::on_unimplemented(
    message = "this field is stored as its `#[serde(with)]` or `serialize_with` says, which reads no value by itself",
    note = "read the documents, or a projection whose field has the same attribute"
)]
pub trait Decoder<T>: 'static {
    /// The value with this type at the beginning of the input.
    ///
    /// # Errors
    /// Where the value is none of this type.
    fn read(kind: u8, input: &mut Input<'_>) -> Read<T>;
}

impl<T: Stored> Decoder<T> for Plain {
    fn read(kind: u8, input: &mut Input<'_>) -> Read<T> {
        T::read(kind, input)
    }
}

impl<T: DeserializeOwned> Decoder<T> for OwnSerde {
    fn read(kind: u8, input: &mut Input<'_>) -> Read<T> {
        BySerde::<OwnSerde>::read(kind, input)
    }
}

impl<T, C: Decoder<T>> Decoder<T> for Needed<C> {
    fn read(kind: u8, input: &mut Input<'_>) -> Read<T> {
        C::read(kind, input)
    }
}

impl<T, C: Decoder<T>> Decoder<T> for ReadOnly<C> {
    fn read(kind: u8, input: &mut Input<'_>) -> Read<T> {
        C::read(kind, input)
    }
}

/// A field that is read where it is missing, as far as its type allows.
#[diagnostic::on_unimplemented(
    message = "a document without this field can't be read back: with `#[serde(with)]` or `deserialize_with`, serde wants it to be there, though it is an `Option`",
    note = "write `default` beside it, `#[field(default, with = \"…\")]`: a missing field is `None` then",
    note = "or set it to `None`: `.set(|p| p.field, None)`",
    note = "what a variant of an enum carries is always there: `set` it, or the whole enum"
)]
pub trait MayBeMissing {}
#[diagnostic::do_not_recommend]
impl MayBeMissing for Plain {}
#[diagnostic::do_not_recommend]
impl MayBeMissing for OwnSerde {}

/// Only the library writes the field (an id, a version, a timestamp, a copy): it is read and queried as any other.
pub struct ReadOnly<C = Plain>(PhantomData<C>);

impl<T: ?Sized, C: Codec<T>> Codec<T> for ReadOnly<C> {
    fn write(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
        C::write(value, name, bound, out)
    }
}

/// Such a field, for the library's own updates.
#[doc(hidden)]
pub fn written<R, T: ?Sized, P, C>(_: Path<R, T, P, C>) -> Path<R, T, P> {
    Path::NEW
}

/// A field that the application may write.
#[diagnostic::on_unimplemented(
    message = "an update can't change this field: it never changes, or the library alone writes it",
    note = "`_id` never changes; the library maintains versions, timestamps, copies and computed fields",
    note = "a document with `#[document(append_only)]` and a measurement of a time series never change",
    note = "a bucket's items are written by `odm.buckets::<Item>()`, which counts and sums them: `push`, `edit`, `delete`"
)]
pub trait Writable {}
#[diagnostic::do_not_recommend]
impl Writable for Plain {}
#[diagnostic::do_not_recommend]
impl Writable for OwnSerde {}
#[diagnostic::do_not_recommend]
impl<C: Writable> Writable for Needed<C> {}

/// A field whose items are stored as their type's own `Serialize` says, each by itself.
#[diagnostic::on_unimplemented(
    message = "this field is stored as its `#[serde(with)]` or `serialize_with` says, which tells nothing of one item alone",
    note = "compare and change the field as a whole: `.find(|p| p.field.eq(value))`, `.set(|p| p.field, value)`",
    note = "or put the attribute on the items: an array of `struct Item(#[serde(with = \"…\")] Value);` with `#[derive(Embed)]`"
)]
pub trait PlainItems {}
#[diagnostic::do_not_recommend]
impl PlainItems for Plain {}
#[diagnostic::do_not_recommend]
impl<C: PlainItems> PlainItems for ReadOnly<C> {}
#[diagnostic::do_not_recommend]
impl PlainItems for OwnSerde {}
#[diagnostic::do_not_recommend]
impl<C: PlainItems> PlainItems for Needed<C> {}

/// A field that is read as its type's own `Deserialize` says.
#[diagnostic::on_unimplemented(
    message = "the document's field has `#[serde(with)]` or `serialize_with`, so this one needs the same to read it",
    note = "repeat the attribute on the field of the projection"
)]
pub trait PlainlyStored {}
#[diagnostic::do_not_recommend]
impl PlainlyStored for Plain {}
impl PlainlyStored for ReadOnly {}
#[diagnostic::do_not_recommend]
impl PlainlyStored for OwnSerde {}
#[diagnostic::do_not_recommend]
impl<C: PlainlyStored> PlainlyStored for Needed<C> {}

/// A field whose type tells what the server finds there.
#[diagnostic::on_unimplemented(
    message = "this field is stored as its `#[serde(with)]` or `serialize_with` says, so its type does not tell what the server finds there",
    note = "a type of `chrono`, `uuid` and the like needs no function: leave out `with`",
    note = "another one: compare and change the field as a whole, or write the stage or the condition in MongoDB's words"
)]
pub trait StoredByType {}
#[diagnostic::do_not_recommend]
impl StoredByType for Plain {}
#[diagnostic::do_not_recommend]
impl<C: StoredByType> StoredByType for ReadOnly<C> {}
#[diagnostic::do_not_recommend]
impl StoredByType for OwnSerde {}
#[diagnostic::do_not_recommend]
impl<C: StoredByType> StoredByType for Needed<C> {}

/// One value, not the values of an array's items.
#[diagnostic::on_unimplemented(
    message = "this path leads through the items of an array, so it does not say which of them to change",
    label = "a path through the items of an array",
    note = "all of them: `.each(|p| p.items, |item| item.set(|i| i.field, value))`",
    note = "some of them: `.elem(|p| p.items, |i| i.field.eq(old), |item| item.set(|i| i.field, value))`"
)]
pub trait Single: Step {}
#[diagnostic::do_not_recommend]
impl Single for Root {}
impl<P: Single, O: Fielded, const I: usize> Single for At<P, O, I> {}
#[diagnostic::do_not_recommend]
impl<P: Single> Single for Maybe<P> {}
#[diagnostic::do_not_recommend]
impl<P: Single, S: 'static> Single for StoredAs<P, S> {}
#[doc(hidden)]
impl<P: Step> Single for Kept<P> where Kept<P>: WrittenByTheApplication {}

/// A path to one value that is read: also of what the library alone writes.
#[diagnostic::on_unimplemented(
    message = "this path leads through the items of an array, so it has several values in a document, and an expression takes one",
    label = "a path through the items of an array",
    note = "a condition on one item at least: `.elem(|item| item.field.eq(value))`; in a pipeline, `unwind` makes a document of each item"
)]
pub trait LeadsToOneValue: Step {}
#[diagnostic::do_not_recommend]
impl LeadsToOneValue for Root {}
#[diagnostic::do_not_recommend]
impl<P: LeadsToOneValue, O: Fielded, const I: usize> LeadsToOneValue for At<P, O, I> {}
#[diagnostic::do_not_recommend]
impl<P: LeadsToOneValue> LeadsToOneValue for Maybe<P> {}
#[diagnostic::do_not_recommend]
impl<P: LeadsToOneValue, S: 'static> LeadsToOneValue for StoredAs<P, S> {}
#[diagnostic::do_not_recommend]
impl<P: LeadsToOneValue> LeadsToOneValue for Kept<P> {}

/// A trait that values written by the library do not have.
#[diagnostic::on_unimplemented(
    message = "this field is a part of what is written by the library alone: an update can't change it",
    note = "a copy is kept in sync with its source: change it there",
    note = "a document with `#[document(append_only)]` is inserted and deleted, and never changed",
    note = "a bucket's items are written by `odm.buckets::<Item>()`, which counts and sums them: `push`, `edit`, `delete`"
)]
pub trait WrittenByTheApplication {}

/// A path that leads into no variant of an enum, so that every document has what stands there.
#[diagnostic::on_unimplemented(
    message = "this path leads into a variant of an enum, and a document may have another variant: no documents are joined by it",
    label = "a reference in a variant",
    note = "load the document that a reference names: `reference.load(&odm)`, or those of many by `odm.collection::<T>().get_many(ids)`",
    note = "find the documents that refer to one by a condition: `.find(|e| e.variant.reference.eq(id))`"
)]
pub trait OutsideVariants: Step {}
#[diagnostic::do_not_recommend]
impl OutsideVariants for Root {}
#[diagnostic::do_not_recommend]
impl<P: OutsideVariants, O: Fielded, const I: usize> OutsideVariants for At<P, O, I> {}
#[diagnostic::do_not_recommend]
impl<P: OutsideVariants> OutsideVariants for Each<P> {}
#[diagnostic::do_not_recommend]
impl<P: OutsideVariants> OutsideVariants for Maybe<P> {}
#[diagnostic::do_not_recommend]
impl<P: OutsideVariants, S: 'static> OutsideVariants for StoredAs<P, S> {}
#[diagnostic::do_not_recommend]
impl<P: OutsideVariants> OutsideVariants for Kept<P> {}

/// A struct: its paths are those of its fields.
pub struct OfFields(());

/// An enum: its paths are those of its variants.
pub struct OfVariants(());

/// A type with fields or variants of its own, whose paths continue a path.
pub trait Nested: 'static {
    /// [`OfFields`] or [`OfVariants`].
    type Form;
    /// The struct of paths.
    type Fields<R: 'static, P: 'static>: 'static;
    /// Its only value.
    fn fields<R: 'static, P: 'static>() -> &'static Self::Fields<R, P>;
}

impl<R: 'static, T: Nested, P: 'static> Deref for Path<R, T, P> {
    type Target = T::Fields<R, P>;
    fn deref(&self) -> &Self::Target {
        T::fields::<R, P>()
    }
}

impl<R: 'static, T: Nested, P: 'static> Deref for Path<R, T, P, Needed> {
    type Target = T::Fields<R, P>;
    fn deref(&self) -> &Self::Target {
        T::fields::<R, P>()
    }
}

impl<R: 'static, T: Nested, P: 'static> Deref for Path<R, T, P, ReadOnly> {
    type Target = T::Fields<R, Kept<P>>;
    fn deref(&self) -> &Self::Target {
        T::fields::<R, Kept<P>>()
    }
}

impl<T: Nested> Nested for Option<T> {
    type Form = T::Form;
    type Fields<R: 'static, P: 'static> = T::Fields<R, Maybe<P>>;
    fn fields<R: 'static, P: 'static>() -> &'static Self::Fields<R, P> {
        T::fields::<R, Maybe<P>>()
    }
}

impl<T: Nested> Nested for Box<T> {
    type Form = T::Form;
    type Fields<R: 'static, P: 'static> = T::Fields<R, P>;
    fn fields<R: 'static, P: 'static>() -> &'static Self::Fields<R, P> {
        T::fields::<R, P>()
    }
}

macro_rules! through_items {
    ($($ty:ty, [$($p:tt)*];)*) => {$(
        impl<T: Nested, $($p)*> Nested for $ty {
            type Form = T::Form;
            type Fields<R: 'static, P: 'static> = T::Fields<R, Each<P>>;
            fn fields<R: 'static, P: 'static>() -> &'static Self::Fields<R, P> {
                T::fields::<R, Each<P>>()
            }
        }
    )*};
}

through_items! {
    Vec<T>, [];
    std::collections::VecDeque<T>, [];
    Box<[T]>, [];
    std::sync::Arc<[T]>, [];
    std::collections::HashSet<T, S>, [S: 'static];
    std::collections::BTreeSet<T>, [];
}

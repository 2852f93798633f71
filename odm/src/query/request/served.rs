//! Whether an index serves what a request may ask: an assertion on constants, which the compiler computes.

use super::given::SortKey;
use super::value::OneValue;
use crate::Document;
use crate::model::document::NamedDocument;
use crate::model::meta::options::{CollationMeta, InVariant, IndexKind, IndexMeta, OtherIndexes};
use crate::model::meta::{Access, FieldMeta, ReferenceMeta};
use crate::model::path::{Flattened, Holds, Path, Step, Way};
use crate::model::shape::same;
use crate::model::size::Message;
use crate::model::variant::of_documents;

/// How an index has to serve a parameter.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Use {
    /// It finds values.
    Equality,
    /// It finds values in an order.
    Order,
    /// It finds the beginnings of texts.
    Prefix,
    /// It has the order of the documents.
    Sort,
}

/// A path with its stored name as a constant. A flattened struct has none, which the key of an index says by itself.
#[doc(hidden)]
pub trait Named {
    /// The stored name.
    const NAME: &'static str;
    /// The variant in which it is, so far as documents have it or not.
    const VARIANT: Option<InVariant> = None;
}

impl<T, V, P: Step, C> Named for Path<T, V, P, C> {
    const NAME: &'static str = P::PATH;
    const VARIANT: Option<InVariant> = of_documents::<P>();
}

impl<R, T: ?Sized, P> Named for Flattened<R, T, P> {
    const NAME: &'static str = "";
}

/// The stored name of a field, which a closure names. The closure is never called: its type says all.
#[doc(hidden)]
pub const fn name_of<T: Document, N: Named, F: FnOnce(T::Paths) -> N>(_: &F) -> &'static str {
    N::NAME
}

/// The variant in which such a field is.
#[doc(hidden)]
pub const fn variant_of<T: Document, N: Named, F: FnOnce(T::Paths) -> N>(_: &F) -> Option<InVariant> {
    N::VARIANT
}

/// A field by which a request may sort.
#[doc(hidden)]
pub const fn sorted<
    T: NamedDocument,
    V,
    P: Step + Holds<V, As: OneValue<V>>,
    C,
    F: FnOnce(T::Paths) -> Path<T, V, P, C>,
>(
    name: &'static str,
    _: &F,
) -> SortKey {
    SortKey {
        name,
        stored: P::PATH,
    }
}

/// A limit as declarations keep it. It is never 0, which would refuse every request.
#[doc(hidden)]
pub const fn limit(n: u64) -> u32 {
    assert!(
        n > 0 && n <= u32::MAX as u64,
        "`max_limit`, `max_conditions` and `max_values` take a number from 1 to 4294967295"
    );
    n as u32
}

/// The message, where a sort key that a closure names has several values in one document.
#[doc(hidden)]
pub const fn several<T: NamedDocument, V, P: Step, C, F: FnOnce(T::Paths) -> Path<T, V, P, C>>(
    _: &F,
    query: &str,
    parameter: &str,
) -> Option<Message> {
    if !P::MULTI {
        return None;
    }
    Some(
        asked(query, parameter)
            .text(" sorts by `")
            .text(T::META.name)
            .text(".")
            .text(P::PATH)
            .text("`, which has several values in one document, so no page has a place in its order. Sort by a field outside of arrays"),
    )
}

/// The message, where no index serves the field that a closure names.
#[doc(hidden)]
pub const fn unserved<T: NamedDocument, V, P: Step, C, F: FnOnce(T::Paths) -> Path<T, V, P, C>>(
    _: &F,
    by: Use,
    query: &str,
    parameter: &str,
) -> Option<Message> {
    let meta = T::META;
    let collation = meta.collation;
    if meta.is_stand_in() || is_served::<P>(meta.indexes, collation, by) {
        return None;
    }
    let mut i = 0;
    while i < T::OTHER_INDEXES.len() {
        let OtherIndexes { variant, indexes } = T::OTHER_INDEXES[i];
        i += 1;
        let is_held = match (variant, of_documents::<P>()) {
            (None, _) => true,
            (Some(held), Some(asked)) => {
                same(asked.of, meta.name) && same(asked.variant, held) && !matches!(by, Use::Sort)
            }
            (Some(_), None) => false,
        };
        if is_held && is_served::<P>(indexes, collation, by) {
            return None;
        }
    }
    let message = asked(query, parameter)
        .text(if let Use::Sort = by {
            " sorts by `"
        } else {
            " asks for `"
        })
        .text(meta.name)
        .text(".")
        .text(P::PATH);
    if let (Use::Prefix, Some(_)) = (by, collation) {
        return Some(
            message
                .text("`, and the indexes of a collection with a collation do not find the beginnings of texts: each request would read \
                       all of them. Take whole texts alone, `OneOf<String>`; or say that it may read them all: `#[request(scan)]`"),
        );
    }
    let message = message.text(match by {
        Use::Sort => "`, and no index begins with it: the server would sort all documents that match, for each request. ",
        _ => "`, and no index begins with it: each request would read the whole collection. ",
    });
    Some(
        message
            .text("Declare one, `#[index]` on the field or `#[document(index(fields(…)))]` with the field as its first one (partial, \
                   text and geo indexes do not count, a hashed one finds equal values alone, and a sparse one has no order of all \
                   documents); or say that it may: `#[request(scan)]`"),
    )
}

/// The message, where the field that a closure names, or one around it, never goes out: which documents match would tell its value.
#[doc(hidden)]
pub const fn hidden<T: NamedDocument, V, P: Step, C, F: FnOnce(T::Paths) -> Path<T, V, P, C>>(
    _: &F,
    query: &str,
    parameter: &str,
) -> Option<Message> {
    let mut next = P::WAY;
    while let Some(way) = next {
        next = way.above;
        let Some(field) = way.field else { continue };
        if !field.goes_out() {
            let word = match field.access {
                Access::WriteOnly => "write_only",
                _ => "private",
            };
            return Some(
                asked(query, parameter)
                    .text(" asks for `")
                    .text(T::META.name)
                    .text(".")
                    .text(P::PATH)
                    .text("`, which is `#[field(")
                    .text(word)
                    .text(")]`: which documents match, or their order, would tell its value. Leave the parameter out; or leave out `")
                    .text(word)
                    .text("` of the field, which may be shown then"),
            );
        }
    }
    None
}

const fn asked(query: &str, parameter: &str) -> Message {
    Message::new()
        .text("`")
        .text(query)
        .text(".")
        .text(parameter)
        .text("`")
}

const fn is_served<P: Step>(indexes: &[IndexMeta], collation: Option<CollationMeta>, by: Use) -> bool {
    if let (Use::Prefix, Some(_)) = (by, collation) {
        return false;
    }
    if same(P::PATH, "_id") || refers(P::WAY) {
        return true;
    }
    let mut i = 0;
    while i < indexes.len() {
        let index = &indexes[i];
        i += 1;
        let Some(first) = index.first else { continue };
        let is_sorted = matches!(index.keys[0].kind, IndexKind::Ascending | IndexKind::Descending);
        let is_hashed = matches!(index.keys[0].kind, IndexKind::Hashed);
        let kind = match by {
            Use::Equality => is_sorted || is_hashed,
            Use::Order | Use::Prefix => is_sorted,
            Use::Sort => is_sorted && !index.sparse,
        };
        let is_whole = !index.is_partial() || is_of_variant::<P>(index) && !matches!(by, Use::Sort);
        if kind && same(first, P::PATH) && is_whole && is_alike(index.collation, collation) {
            return true;
        }
    }
    false
}

/// Whether an index holds each document that has the variant at the end of this path, which conditions on the path ask for.
const fn is_of_variant<P: Step>(index: &IndexMeta) -> bool {
    let Some(asked) = of_documents::<P>() else {
        return false;
    };
    let mut i = 0;
    while i < index.variants.len() {
        if let Some(held) = index.variants[i]
            && !(same(held.of, asked.of) && same(held.variant, asked.variant))
        {
            return false;
        }
        i += 1;
    }
    index.partial.is_none()
}

/// Whether an index compares texts as the finds of its collection do. Without a collation of its own, it has that one.
const fn is_alike(index: Option<CollationMeta>, collection: Option<CollationMeta>) -> bool {
    match (index, collection) {
        (None, _) => true,
        (Some(index), Some(collection)) => {
            same(index.locale, collection.locale)
                && index.strength == collection.strength
                && index.numeric_ordering == collection.numeric_ordering
        }
        (Some(_), None) => false,
    }
}

/// Whether the field is a reference that declares an index of its own.
const fn refers(way: Option<&'static Way>) -> bool {
    let Some(mut at) = way else { return false };
    // Steps into the items of an array stand between two fields.
    let mut field = at.field;
    while field.is_none() {
        let Some(above) = at.above else { return false };
        at = above;
        field = at.field;
    }
    let Some(field) = field else { return false };
    let mut holder: Option<&'static FieldMeta> = None;
    let mut above = at.above;
    // A copied reference is looked up in its source.
    while let Some(way) = above {
        if let Some(outer) = way.field {
            if outer.copied.is_some() {
                return false;
            }
            if holder.is_none() {
                holder = Some(outer);
            }
        }
        above = way.above;
    }
    let declared: Option<&ReferenceMeta> = match holder {
        Some(FieldMeta {
            entry: Some(entry), ..
        }) if same(entry.id, field.name) => Some(&entry.reference),
        _ => field.declared(),
    };
    match declared {
        Some(reference) => reference.index && reference.inverse.is_none() && !reference.union,
        None => false,
    }
}

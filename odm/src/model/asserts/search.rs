//! The types of fields that search and vector indexes of Atlas take.

use crate::model::path::Path;
use crate::model::value::{Numeric, StoredLike, Text};

/// Search and vector indexes are declared by programs that have the feature.
#[cfg(feature = "atlas")]
pub const fn search_indexes_are_enabled() {}

/// Search and vector indexes are declared by programs that have the feature.
///
/// # Panics
/// Always, when the program is compiled.
#[cfg(not(feature = "atlas"))]
pub const fn search_indexes_are_enabled() {
    panic!(
        "`search_index` and `vector_index` need the feature `atlas`: `mongodb-odm = {{ version = \"0.1\", features = [\"atlas\"] }}`"
    )
}

/// A text, or an array of texts, in which a search finds words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no text, so a search finds no words in it",
    label = "not a string, nor a list of strings",
    note = "in a search index, `string`, `autocomplete` and `token` are for texts: declare `number(field)`, `date(field)`, `boolean(field)`, \
            `object_id(field)` or `uuid(field)`; of an embedded struct name a field, `string(address.city)`",
    note = "in a search, other values are compared: `equals(b.year, 1851)`, `range(b.year).gte(1850)`"
)]
pub trait SearchedText {}
#[diagnostic::do_not_recommend]
impl<T: Text> SearchedText for T {}

/// A number, or an array of numbers, in a search index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number, so a search index can't hold it as `number`",
    label = "not a number, nor a list of numbers",
    note = "declare `string(field)`, `autocomplete(field)` or `token(field)` for texts, `date(field)`, `boolean(field)`, `object_id(field)` or \
            `uuid(field)`; of an embedded struct name a field, `number(price.cents)`"
)]
pub trait SearchedNumber {}
#[diagnostic::do_not_recommend]
impl<T: Numeric> SearchedNumber for T {}

/// A date, or an array of dates, in a search index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date, so a search index can't hold it as `date`",
    label = "not a `bson::DateTime`",
    note = "declare `string(field)`, `autocomplete(field)` or `token(field)` for texts, `number(field)`, `boolean(field)`, `object_id(field)` \
            or `uuid(field)`"
)]
pub trait SearchedDate {}
impl SearchedDate for mongodb::bson::DateTime {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: SearchedDate>> SearchedDate for T {}
impl<T: SearchedDate> SearchedDate for Option<T> {}
impl<T: SearchedDate> SearchedDate for Vec<T> {}

/// A boolean, or an array of them, in a search index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no boolean, so a search index can't hold it as `boolean`",
    label = "not a `bool`",
    note = "declare `string(field)`, `autocomplete(field)` or `token(field)` for texts, `number(field)`, `date(field)`, `object_id(field)` or \
            `uuid(field)`"
)]
pub trait SearchedBoolean {}
impl SearchedBoolean for bool {}
impl<T: SearchedBoolean> SearchedBoolean for Option<T> {}
impl<T: SearchedBoolean> SearchedBoolean for Vec<T> {}

macro_rules! items {
    ($($kind:ident: $bound:ident),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: $bound> $kind for Vec<T> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound> $kind for Option<Vec<T>> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound, S> $kind for std::collections::HashSet<T, S> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound> $kind for std::collections::BTreeSet<T> {}
    )*};
}
items!(SearchedText: Text, SearchedNumber: Numeric);

/// `string(…)`, `autocomplete(…)` and `token(…)` of a search index, by a path that does not compile where it has another type.
pub fn searched_text<R, T: SearchedText, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// The same of `number(…)`.
pub fn searched_number<R, T: SearchedNumber, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// The same of `date(…)`.
pub fn searched_date<R, T: SearchedDate, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// The same of `boolean(…)`.
pub fn searched_boolean<R, T: SearchedBoolean, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

/// A field with the numbers of a vector.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no vector: a vector index is on a field with a list of numbers",
    label = "not a list of numbers",
    note = "the numbers of a vector stand in a field of their own: `#[embed(max = 1536)] embedding: Vec<f32>`, or an `Option` of it",
    note = "vectors that the application packs itself are a `bson::Binary`"
)]
pub trait Vector {}
impl<T: Numeric> Vector for Vec<T> {}
impl<T: Numeric> Vector for Box<[T]> {}
impl<T: Numeric> Vector for std::sync::Arc<[T]> {}
impl Vector for mongodb::bson::Binary {}
impl<T: Vector> Vector for Option<T> {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: Vector>> Vector for T {}

/// The field of a vector index, by a path that does not compile where it is no vector.
pub fn vector<R, T: Vector, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
    path
}

#[cfg(test)]
#[cfg(not(feature = "atlas"))]
mod tests {
    #[test]
    #[should_panic(expected = "need the feature `atlas`: `mongodb-odm = { version")]
    fn a_declaration_without_the_feature_names_it() {
        super::search_indexes_are_enabled();
    }
}

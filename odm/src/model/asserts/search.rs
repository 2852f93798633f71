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

/// The kinds of fields of a search index that say which type the field has.
pub mod kind {
    /// `string(…)`, `autocomplete(…)` and `token(…)`.
    pub struct Words(());
    /// `number(…)`.
    pub struct Numbers(());
    /// `date(…)`.
    pub struct Dates(());
    /// `boolean(…)`.
    pub struct Booleans(());
}

use kind::{Booleans, Dates, Numbers, Words};

/// A field that a search index can hold as this kind, itself or the items of its array.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` can't be indexed as `{K}`: Atlas would leave the field out of the index",
    label = "a field of this kind has another type",
    note = "`string`, `autocomplete` and `token` are for strings, `number` for numbers but `Decimal128`, `date` for a `DateTime`, `boolean` \
            for a `bool`, and each for an `Option` or a `Vec` of these",
    note = "an `ObjectId` is indexed as `object_id(field)`, a UUID as `uuid(field)`; of an embedded struct, name the fields: `string(address.city)`"
)]
pub trait SearchedAs<K> {}

#[diagnostic::do_not_recommend]
impl<T: Text> SearchedAs<Words> for T {}
#[diagnostic::do_not_recommend]
impl<T: Numeric> SearchedAs<Numbers> for T {}
impl SearchedAs<Dates> for mongodb::bson::DateTime {}
#[diagnostic::do_not_recommend]
impl<T: StoredLike<Like: SearchedAs<Dates>>> SearchedAs<Dates> for T {}
impl<T: SearchedAs<Dates>> SearchedAs<Dates> for Option<T> {}
impl<T: SearchedAs<Dates>> SearchedAs<Dates> for Vec<T> {}
impl SearchedAs<Booleans> for bool {}
impl SearchedAs<Booleans> for Option<bool> {}
impl SearchedAs<Booleans> for Vec<bool> {}

macro_rules! items {
    ($($kind:ident: $bound:ident),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: $bound> SearchedAs<$kind> for Vec<T> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound> SearchedAs<$kind> for Option<Vec<T>> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound, S> SearchedAs<$kind> for std::collections::HashSet<T, S> {}
        #[diagnostic::do_not_recommend]
        impl<T: $bound> SearchedAs<$kind> for std::collections::BTreeSet<T> {}
    )*};
}
items!(Words: Text, Numbers: Numeric);

/// A field of a search index, by a path that does not compile where it has another type.
pub fn searched_as<K, R, T: SearchedAs<K>, P, C>(path: Path<R, T, P, C>) -> Path<R, T, P, C> {
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

#[cfg(all(test, not(feature = "atlas")))]
mod tests {
    #[test]
    #[should_panic(expected = "need the feature `atlas`: `mongodb-odm = { version")]
    fn a_declaration_without_the_feature_names_it() {
        super::search_indexes_are_enabled();
    }
}

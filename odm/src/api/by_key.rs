//! A document that a unique key names, as the operations with `by` take it.

use crate::engine::first::index_of;
use crate::model::document::CollationMeta;
use crate::query::filter::unique::KeyValues;
use crate::store::core::Core;
use crate::{Document, Error, Filter, Result};
use mongodb::bson;
use mongodb::options::Collation;

/// A document by its unique key.
#[derive(Debug)]
pub(crate) struct DocumentByKey {
    pub(super) names: Vec<&'static str>,
    filter: Filter<()>,
}

impl DocumentByKey {
    pub(super) fn new<T: Document, K: KeyValues<T, V>, V>(
        key: impl FnOnce(T::Paths) -> K,
        values: V,
    ) -> DocumentByKey {
        let key = key(T::paths());
        DocumentByKey {
            names: key.names(),
            filter: key.equal(values).untyped(),
        }
    }

    /// The condition that finds it, and the collation of the key's index where that is not the collection's.
    ///
    /// # Errors
    /// [`Error::Query`] where the fields are no unique key in the scope of the handle, or one has no value.
    pub(super) fn condition(self, core: &Core) -> Result<(Filter<()>, Option<Collation>)> {
        let Some(condition) = self.filter.document() else {
            return Ok((self.filter, None)); // an error, for which it is asked next
        };
        let index = index_of(core, &self.names, condition)?;
        let collation = index.collation.map(collation_of).transpose()?;
        let filter = match index.partial {
            Some(partial) => self.filter & Filter::of(Ok(partial)),
            None => self.filter,
        };
        Ok((filter, collation))
    }

    /// The same for a write, which takes no other collation.
    ///
    /// # Errors
    /// [`Error::Query`] with a collation, and those of [`condition`](DocumentByKey::condition).
    pub(super) fn for_write(
        self,
        core: &Core,
        collation: Option<Collation>,
    ) -> Result<(Filter<()>, Option<Collation>)> {
        if collation.is_some() {
            return Err(Error::Query {
                collection: core.meta().collection,
                message: "a write by a unique key compares as the index of the key does, and takes no other collation: use \
                          `update_where` or `delete_where`"
                    .to_owned(),
            });
        }
        self.condition(core)
    }
}

/// A declared collation as an option of an operation.
///
/// # Errors
/// [`Error::Encode`] where the driver does not know it.
pub(super) fn collation_of(declared: CollationMeta) -> Result<Collation> {
    let collation = crate::schema::index::collation(declared);
    bson::deserialize_from_document(collation).map_err(|source| Error::Encode {
        field: "collation".to_owned(),
        source: Box::new(source),
    })
}

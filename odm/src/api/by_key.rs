//! A document that a unique key names, as the operations with `by` take it.

use crate::engine::DocumentById;
use crate::engine::first::index_of;
use crate::model::claims::{GlobalKey, OWNER};
use crate::model::document::CollationMeta;
use crate::plan::operators::implied;
use crate::query::filter::unique::KeyValues;
use crate::query::untyped::Query;
use crate::store::core::Core;
use crate::store::filter::within;
use crate::{Document, Error, Filter, Result};
use mongodb::bson::{self, Bson, RawDocument, doc};
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
        let filter = match core.at()? {
            Some(at) => filter & Filter::raw(at.clone()),
            None => filter,
        };
        Ok((filter, collation))
    }

    /// The claim on the values of the key, where it is unique over all shards.
    pub(super) fn claim(&self, core: &Core) -> Option<ClaimOfKey> {
        let (odm, meta) = (core.odm(), core.meta());
        let condition = self.filter.document()?.clone();
        let condition = match odm.scope_of(meta) {
            None => condition,
            Some(scope) => within(condition, &scope),
        };
        let mut keys = odm.graph().global_keys(meta);
        keys.find_map(|key| {
            let values = key.values_of(|path| implied::demanded(&condition, path).cloned())?;
            let are_named = self.names.iter().all(|name| key.paths.contains(name));
            are_named.then(|| ClaimOfKey {
                key: key.clone(),
                values,
                core: Core::new(&odm.unscoped(), key.claims, core.session().cloned()),
            })
        })
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

/// The document with this id, of which an operation may be given values of the shard key too.
///
/// # Errors
/// [`Error::Query`] where one of them is not in the key.
pub(super) fn by_id(core: &Core, id: Result<Bson>, seen: Option<i64>) -> Result<DocumentById> {
    let mut one = DocumentById::new(id?, seen);
    if let Some(at) = core.at()? {
        one.restrict(at.clone());
    }
    Ok(one)
}

/// The claim on the values of a key that is unique over all shards.
pub(super) struct ClaimOfKey {
    key: GlobalKey,
    values: bson::Document,
    core: Core,
}

impl ClaimOfKey {
    /// The condition that names the document with the values, as far as its claim says it. `None` where no document has them; an empty one
    /// where there may be a document without a claim.
    ///
    /// # Errors
    /// Those of a query.
    pub(super) async fn owner(self) -> Result<Option<bson::Document>> {
        let ClaimOfKey { key, values, core } = self;
        let is_all_claimed = core.odm().is_all_claimed(&key.name());
        let claim = Filter::raw(doc! { "_id": { "$eq": values } });
        let mut owner = None;
        let mut take = |claim: &RawDocument| {
            if let Ok(Some(id)) = claim.get(OWNER) {
                let id = Bson::try_from(id).map_err(|source| Error::Encode {
                    field: OWNER.to_owned(),
                    source: Box::new(source),
                })?;
                let mut condition = doc! { "_id": { "$eq": id } };
                condition.extend(key.owner_condition(claim));
                owner = Some(condition);
            }
            Ok(())
        };
        Query::new(core, claim).first(&mut take).await?;
        Ok(match owner {
            None if is_all_claimed => None,
            found => Some(found.unwrap_or_default()),
        })
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

//! Collections as the server lists them: their kinds, counts, options and indexes.

use super::source::{Source, code, failed, is_refused, selection};
use crate::design::{Collection, CollectionKind, Index};
use anyhow::Result;
use bson::{Bson, Document, doc};
use futures::TryStreamExt;
use std::collections::HashMap;

/// The parts of an index that are no options.
const NO_OPTIONS: [&str; 5] = ["v", "key", "name", "ns", "unique"];

impl Source {
    /// The collections and views by name, those without documents too, without those of the server (`system.`) and of odm
    /// (`_odm_`). Their shapes are not
    /// read yet. Views are not counted, as that would run their pipelines.
    ///
    /// Costs a command for the list, and three for each collection: its count, its indexes, and how often these were used.
    ///
    /// # Errors
    /// Where the server does not answer. What the user may not read is a [note](Source::notes).
    pub async fn collections(&self) -> Result<Vec<Collection>> {
        let mut collections = Vec::new();
        for listed in self.listed().await? {
            let Ok(name) = listed.get_str("name") else {
                continue;
            };
            if name.starts_with("system.") || name.starts_with("_odm_") {
                continue;
            }
            let options = listed.get_document("options").cloned().unwrap_or_default();
            let kind = match listed.get_str("type") {
                Ok("view") => CollectionKind::View,
                Ok("timeseries") => CollectionKind::TimeSeries,
                _ if options.get_bool("capped").unwrap_or(false) => CollectionKind::Capped,
                _ => CollectionKind::Plain,
            };
            let mut collection = Collection {
                name: name.to_owned(),
                kind,
                options,
                ..Collection::default()
            };
            if kind != CollectionKind::View {
                collection.documents = self.count(name).await?;
                collection.indexes = self.indexes(name).await?;
            }
            collections.push(collection);
        }
        collections.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(collections)
    }

    /// The list of the server; where the user may not see all of it, the names of what they may read.
    async fn listed(&self) -> Result<Vec<Document>> {
        match self.all_of(doc! { "listCollections": 1 }).await {
            Ok(listed) => Ok(listed),
            Err(error) if is_refused(&error) => {
                let names = doc! { "listCollections": 1, "nameOnly": true, "authorizedCollections": true };
                let what = format!("the collections of `{}` can't be listed", self.name());
                let listed = self
                    .all_of(names)
                    .await
                    .map_err(|error| failed(error, &what, self.name()))?;
                self.note(format!(
                    "options and validators of collections, and collections of others: the user has no right to `listCollections` on \
                     `{}`, which is in the role `read`",
                    self.name()
                ));
                Ok(listed)
            }
            Err(error) => {
                let what = format!("the collections of `{}` can't be listed", self.name());
                Err(failed(error, &what, self.name()))
            }
        }
    }

    async fn count(&self, collection: &str) -> Result<u64> {
        let documents = self.db.collection::<Document>(collection);
        let counted = documents.estimated_document_count().await;
        self.allowed(counted, collection, "documents can't be counted")
    }

    async fn indexes(&self, collection: &str) -> Result<Vec<Index>> {
        let listed = self.all_of(doc! { "listIndexes": collection }).await;
        let listed = match listed {
            // A time series whose buckets were dropped, or a collection that was dropped meanwhile: `NamespaceNotFound`.
            Err(error) if code(&error) == Some(26) => return Ok(Vec::new()),
            listed => self.allowed(listed, collection, "indexes can't be listed")?,
        };
        let mut indexes: Vec<Index> = listed.into_iter().map(index).collect();
        if indexes.is_empty() {
            return Ok(indexes);
        }
        let (used, sizes) = (self.used(collection).await?, self.sizes(collection).await?);
        for index in &mut indexes {
            index.used = used.get(&index.name).copied();
            index.bytes = sizes.get(&index.name).copied();
        }
        Ok(indexes)
    }

    /// How often each index was used, by name: on a sharded cluster the sum over its shards.
    async fn used(&self, collection: &str) -> Result<HashMap<String, i64>> {
        let what = "use of indexes can't be read (`$indexStats`)";
        let mut used = HashMap::new();
        for of in self
            .statistics(collection, doc! { "$indexStats": {} }, what)
            .await?
        {
            let times = of.get_document("accesses").ok().and_then(|of| of.get("ops"));
            if let (Ok(name), Some(times)) = (of.get_str("name"), times.and_then(whole)) {
                *used.entry(name.to_owned()).or_default() += times;
            }
        }
        Ok(used)
    }

    /// The size of each index in bytes, by name: on a sharded cluster the sum over its shards.
    async fn sizes(&self, collection: &str) -> Result<HashMap<String, i64>> {
        let what = "sizes of indexes can't be read (`$collStats`)";
        let stage = doc! { "$collStats": { "storageStats": {} } };
        let mut sizes = HashMap::new();
        for of in self.statistics(collection, stage, what).await? {
            let stats = of.get_document("storageStats");
            let of_indexes = stats.and_then(|stats| stats.get_document("indexSizes"));
            for (name, size) in of_indexes.into_iter().flatten() {
                *sizes.entry(name.clone()).or_default() += whole(size).unwrap_or(0);
            }
        }
        Ok(sizes)
    }

    /// The results of a stage of statistics; none where the server has no such stage.
    async fn statistics(&self, collection: &str, stage: Document, what: &str) -> Result<Vec<Document>> {
        let documents = self.db.collection::<Document>(collection);
        let stats = match documents.aggregate([stage]).await {
            Ok(cursor) => cursor.try_collect::<Vec<Document>>().await,
            Err(error) => Err(error),
        };
        match stats {
            // Some servers have no such stages, and none of them for time series before 5.0.
            Err(error) if code(&error).is_some() && !is_refused(&error) => Ok(Vec::new()),
            stats => self.allowed(stats, collection, what),
        }
    }

    /// Nothing, and a note, where the user has no right.
    fn allowed<T: Default>(
        &self,
        outcome: mongodb::error::Result<T>,
        collection: &str,
        what: &str,
    ) -> Result<T> {
        match outcome {
            Ok(value) => Ok(value),
            Err(error) if is_refused(&error) => {
                self.note(format!("`{collection}`: its {what}: the user has no right to"));
                Ok(T::default())
            }
            Err(error) => Err(failed(error, &format!("`{collection}`: its {what}"), self.name())),
        }
    }

    async fn all_of(&self, command: Document) -> mongodb::error::Result<Vec<Document>> {
        let cursor = self
            .db
            .run_cursor_command(command)
            .selection_criteria(selection());
        cursor.await?.try_collect().await
    }
}

fn index(listed: Document) -> Index {
    Index {
        name: listed.get_str("name").unwrap_or_default().to_owned(),
        keys: listed.get_document("key").cloned().unwrap_or_default(),
        unique: listed.get_bool("unique").unwrap_or(false) || is_of_id(&listed),
        options: listed
            .into_iter()
            .filter(|(name, _)| !NO_OPTIONS.contains(&name.as_str()))
            .collect(),
        used: None,
        bytes: None,
    }
}

/// The index of `_id`, which is unique and does not say so.
fn is_of_id(listed: &Document) -> bool {
    let keys = listed.get_document("key");
    keys.is_ok_and(|keys| keys.len() == 1 && keys.get("_id").and_then(whole) == Some(1))
}

fn whole(number: &Bson) -> Option<i64> {
    match number {
        Bson::Int32(number) => Some((*number).into()),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) => Some(*number as i64),
        _ => None,
    }
}

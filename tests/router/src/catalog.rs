//! The catalog of a cluster: the shard keys of its collections, chunks, zones, and which documents a moved chunk has left behind.
//!
//! A collection that is not sharded is on the first shard, whose databases have the names of the application's. The other shard has
//! databases of its own.

use crate::key::{KeyField, ShardKey};
use crate::order::{Fnv, Ordered};
use crate::targeting;
use bson::oid::ObjectId;
use bson::{Bson, Document, doc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The names of the shards.
pub(crate) const SHARDS: [&str; 2] = ["sh0", "sh1"];

/// The shard of what is not sharded.
pub(crate) const PRIMARY: usize = 0;

/// The greatest length of a database's name.
const LONGEST_NAME: usize = 63;

/// Collections that the router makes in the application's databases begin with this, and are shown to nobody.
pub(crate) const SCRATCH: &str = "odm_router_scratch";

/// The database in which a shard stores what is in the application's database.
pub(crate) fn database(of: &str, shard: usize) -> String {
    if shard == PRIMARY {
        return of.to_owned();
    }
    let name = format!("{of}_{}", SHARDS[shard]);
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let mut hash = Fnv::new();
    hash.bytes(of.as_bytes());
    format!("odm_router_{}_{:016x}", SHARDS[shard], hash.end())
}

/// The collection of a namespace.
pub(crate) fn collection_of(namespace: &str) -> &str {
    namespace.split_once('.').map_or("", |(_, collection)| collection)
}

/// The database of a namespace.
pub(crate) fn database_of(namespace: &str) -> &str {
    namespace
        .split_once('.')
        .map_or(namespace, |(database, _)| database)
}

/// A part of a collection, from its first key up to that of the next one.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub shard: usize,
    /// The version of the catalog at which it came to this shard; 0 for where it was first.
    pub moved_at: u64,
}

/// How a collection is distributed.
#[derive(Clone, Debug)]
pub(crate) struct Sharded {
    pub key: ShardKey,
    pub is_unique: bool,
    pub uuid: Bson,
    pub epoch: ObjectId,
    pub default_collation: Option<Document>,
    chunks: BTreeMap<Ordered, Chunk>,
}

/// Which shards a statement goes to.
pub(crate) type Shards = [bool; SHARDS.len()];

/// The shards that are marked.
pub(crate) fn marked(shards: Shards) -> Vec<usize> {
    (0..SHARDS.len()).filter(|shard| shards[*shard]).collect()
}

impl Sharded {
    /// One chunk on the first shard, or two on each where the first field of the key is hashed and the collection empty.
    pub(crate) fn new(key: ShardKey, is_unique: bool, uuid: Bson, is_empty: bool) -> Sharded {
        let mut sharded = Sharded {
            is_unique,
            uuid,
            epoch: ObjectId::new(),
            default_collation: None,
            chunks: BTreeMap::new(),
            key,
        };
        let first = sharded.smallest();
        let mut add = |min, shard| sharded.chunks.insert(Ordered(min), Chunk { shard, moved_at: 0 });
        add(first.clone(), PRIMARY);
        if is_empty && sharded.key.fields[0].is_hashed {
            let quarter = i64::MAX / 2;
            for (at, shard) in [(-quarter, 0), (0, 1), (quarter, 1)] {
                let mut min = first.clone();
                min[0] = Bson::Int64(at);
                sharded.chunks.insert(Ordered(min), Chunk { shard, moved_at: 0 });
            }
        }
        sharded
    }

    fn smallest(&self) -> Vec<Bson> {
        vec![Bson::MinKey; self.key.fields.len()]
    }

    /// The chunks with their ends, the last without one.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (&[Bson], Option<&[Bson]>, &Chunk)> {
        let ends = self.chunks.keys().skip(1).map(|next| Some(next.0.as_slice()));
        let ends = ends.chain(std::iter::once(None));
        self.chunks
            .iter()
            .zip(ends)
            .map(|((min, chunk), max)| (min.0.as_slice(), max, chunk))
    }

    /// The first key of the chunk that holds a place.
    pub(crate) fn chunk_of(&self, place: &[Bson]) -> (&[Bson], &Chunk) {
        let place = Ordered(place.to_vec());
        let holding = self.chunks.range(..=place).next_back();
        let (min, chunk) = holding
            .or_else(|| self.chunks.first_key_value())
            .expect("a chunk");
        (&min.0, chunk)
    }

    /// The first key of the chunk behind the one that holds a place.
    pub(crate) fn end_of_chunk(&self, place: &[Bson]) -> Option<&[Bson]> {
        use std::ops::Bound::{Excluded, Unbounded};
        let place = Ordered(place.to_vec());
        let next = self.chunks.range((Excluded(place), Unbounded)).next();
        next.map(|(min, _)| min.0.as_slice())
    }

    /// The shard of these values of the key.
    pub(crate) fn owner(&self, values: &[Bson]) -> usize {
        self.chunk_of(&self.key.place(values)).1.shard
    }

    /// The shards that have chunks.
    pub(crate) fn owners(&self) -> Shards {
        let mut owners = Shards::default();
        self.chunks.values().for_each(|chunk| owners[chunk.shard] = true);
        owners
    }

    /// The shards of the documents that a filter can match; for a transaction that began at a version, those of its snapshot too.
    pub(crate) fn shards_of(&self, filter: &Document, has_collation: bool, since: Option<u64>) -> Shards {
        let ranges = targeting::ranges(&self.key, filter, has_collation);
        let is_met = |min: &[Bson], max: Option<&[Bson]>| {
            ranges
                .as_ref()
                .is_none_or(|ranges| ranges.iter().any(|range| range.meets(min, max)))
        };
        let mut shards = Shards::default();
        for (min, max, chunk) in self.chunks() {
            // Both shards are met, or the ranges need no look.
            if shards[chunk.shard] && since.is_none_or(|since| chunk.moved_at <= since) || !is_met(min, max) {
                continue;
            }
            shards[chunk.shard] = true;
            if since.is_some_and(|since| chunk.moved_at > since) {
                return [true; SHARDS.len()];
            }
        }
        if shards == Shards::default() {
            shards[self.chunks.values().next().map_or(PRIMARY, |chunk| chunk.shard)] = true;
        }
        shards
    }

    /// Whether a chunk that a filter can match has come to its shard after a version.
    pub(crate) fn has_moved(&self, filter: &Document, has_collation: bool, since: u64) -> bool {
        let ranges = targeting::ranges(&self.key, filter, has_collation);
        self.chunks().any(|(min, max, chunk)| {
            chunk.moved_at > since
                && ranges
                    .as_ref()
                    .is_none_or(|ranges| ranges.iter().any(|range| range.meets(min, max)))
        })
    }

    /// Begins a chunk at a place, on the shard that has it.
    pub(crate) fn split(&mut self, at: Vec<Bson>) {
        let chunk = self.chunk_of(&at).1.clone();
        self.chunks.entry(Ordered(at)).or_insert(chunk);
    }

    /// Gives the chunk that begins at a place to a shard.
    pub(crate) fn assign(&mut self, min: &[Bson], shard: usize, version: u64) {
        if let Some(chunk) = self.chunks.get_mut(&Ordered(min.to_vec())) {
            *chunk = Chunk {
                shard,
                moved_at: version,
            };
        }
    }
}

/// What is known of a collection beside its distribution.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The first values of the keys that were written, which decide where an empty chunk can begin.
    seen: BTreeSet<Ordered>,
    /// The keys of the documents of each shard by the bytes of their `_id`s, for change streams: the event of a deletion has no
    /// document.
    keys: [BTreeMap<Vec<u8>, Document>; SHARDS.len()],
    /// The `_id`s of documents that a moved chunk has left behind on each shard.
    pub orphans: [Vec<Bson>; SHARDS.len()],
}

fn bytes_of(id: &Bson) -> Vec<u8> {
    let id = match id {
        Bson::Int32(n) => Bson::Int64(i64::from(*n)),
        other => other.clone(),
    };
    doc! { "": id }.to_vec().unwrap_or_default()
}

impl Contents {
    /// Keeps the key of a document that was written to a shard.
    pub(crate) fn note(&mut self, shard: usize, id: &Bson, key: Document) {
        self.keys[shard].insert(bytes_of(id), key);
    }

    /// The key of a document on a shard, as it was last written.
    pub(crate) fn key_of(&self, shard: usize, id: &Bson) -> Option<&Document> {
        self.keys[shard].get(&bytes_of(id))
    }
}

/// A range of keys that belongs to a zone.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub namespace: String,
    pub min: Document,
    pub max: Document,
    pub name: String,
}

/// The catalog of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// Counts the changes of the distribution.
    pub version: u64,
    /// Whether the catalog has changed since it was written to the collections of `config`.
    pub is_changed: bool,
    /// Whether a new first value of a key begins a chunk of its own, on the shards by turns.
    pub scatters: bool,
    /// The databases for which sharding is enabled.
    pub enabled: BTreeSet<String>,
    pub zones: Vec<Zone>,
    pub zones_of_shards: [BTreeSet<String>; SHARDS.len()],
    /// Hashed indexes of collections, which the backing server does not have.
    pub hashed_indexes: BTreeMap<String, Vec<Document>>,
    collections: BTreeMap<String, Arc<Sharded>>,
    contents: BTreeMap<String, Contents>,
    next: usize,
}

impl Catalog {
    pub(crate) fn new(scatters: bool) -> Catalog {
        Catalog {
            is_changed: true,
            scatters,
            ..Catalog::default()
        }
    }

    /// How a collection is distributed; `None` where it is not sharded.
    pub(crate) fn get(&self, namespace: &str) -> Option<Arc<Sharded>> {
        self.collections.get(namespace).cloned()
    }

    pub(crate) fn collections(&self) -> impl Iterator<Item = (&String, &Arc<Sharded>)> {
        self.collections.iter()
    }

    /// The databases that have sharded collections.
    pub(crate) fn databases(&self) -> BTreeSet<String> {
        self.collections
            .keys()
            .map(|namespace| database_of(namespace).to_owned())
            .collect()
    }

    /// The databases of the backing server that belong to shards, with those of the application.
    pub(crate) fn databases_of_shards(&self) -> BTreeMap<String, String> {
        let of = |name: String| (database(&name, 1), name);
        self.databases().into_iter().map(of).collect()
    }

    pub(crate) fn add(&mut self, namespace: &str, sharded: Sharded) {
        self.collections.insert(namespace.to_owned(), Arc::new(sharded));
        self.contents.insert(namespace.to_owned(), Contents::default());
        self.changed();
    }

    pub(crate) fn remove(&mut self, namespace: &str) {
        self.collections.remove(namespace);
        self.contents.remove(namespace);
        self.hashed_indexes.remove(namespace);
        self.zones.retain(|zone| zone.namespace != namespace);
        self.changed();
    }

    /// Changes how a collection is distributed, if it is sharded.
    pub(crate) fn change<T>(&mut self, namespace: &str, change: impl FnOnce(&mut Sharded) -> T) -> Option<T> {
        let sharded = self.collections.get_mut(namespace)?;
        let changed = change(Arc::make_mut(sharded));
        self.changed();
        Some(changed)
    }

    pub(crate) fn contents(&mut self, namespace: &str) -> Option<&mut Contents> {
        self.contents.get_mut(namespace)
    }

    pub(crate) fn changed(&mut self) {
        self.version += 1;
        self.is_changed = true;
    }

    /// The shard for a document with these values of the key that is about to be written.
    pub(crate) fn place(&mut self, namespace: &str, values: &[Bson]) -> usize {
        let Some(sharded) = self.collections.get(namespace).cloned() else {
            return PRIMARY;
        };
        let place = sharded.key.place(values);
        if !sharded.key.fields[0].is_hashed && self.see(namespace, &place[0]) && self.scatters {
            self.scatter(namespace, &sharded, &place);
        }
        self.collections
            .get(namespace)
            .map_or(PRIMARY, |sharded| sharded.owner(values))
    }

    /// Notes the first value of a key. Gives whether it is new.
    pub(crate) fn see(&mut self, namespace: &str, first: &Bson) -> bool {
        let contents = self.contents.entry(namespace.to_owned()).or_default();
        contents.seen.insert(Ordered(vec![first.clone()]))
    }

    /// Begins a chunk at a first value that no document has yet, and another one at the next value that some have: what lies between
    /// them is empty, and can be on any shard.
    fn scatter(&mut self, namespace: &str, sharded: &Sharded, place: &[Bson]) {
        use std::ops::Bound::{Excluded, Unbounded};
        let first = Ordered(vec![place[0].clone()]);
        let begin = |first: &Bson| {
            let mut min = sharded.smallest();
            min[0] = first.clone();
            min
        };
        let min = begin(&place[0]);
        let seen = self.contents.get(namespace).map(|contents| &contents.seen);
        let next = seen.and_then(|seen| seen.range((Excluded(first), Unbounded)).next());
        let next = next.map(|next| begin(&next.0[0]));
        self.next += 1;
        let turn = self.next % SHARDS.len();
        let zone = self.zone_of(namespace, &sharded.key.fields, &min);
        let allowed = |shard: &usize| {
            zone.as_ref()
                .is_none_or(|zone| self.zones_of_shards[*shard].contains(zone))
        };
        let shard = Some(turn)
            .filter(allowed)
            .or_else(|| (0..SHARDS.len()).find(allowed))
            .unwrap_or(turn);
        let hashed = sharded.key.fields.iter().position(|field| field.is_hashed);
        self.change(namespace, |sharded| {
            sharded.split(min.clone());
            if let Some(next) = next {
                sharded.split(next);
            }
            // No snapshot has a document of it on another shard.
            sharded.assign(&min, shard, 0);
            // Both halves of the hashes of a value that is not hashed itself.
            if let (Some(hashed), None) = (hashed.filter(|at| *at == 1), &zone) {
                let mut middle = min.clone();
                middle[hashed] = Bson::Int64(0);
                sharded.split(middle.clone());
                sharded.assign(&middle, (shard + 1) % SHARDS.len(), 0);
            }
        });
    }

    /// The zone that a key lies in.
    pub(crate) fn zone_of(&self, namespace: &str, fields: &[KeyField], place: &[Bson]) -> Option<String> {
        let end = |of: &Document| {
            let values = of.iter().map(|(_, value)| value.clone());
            Ordered(
                values
                    .chain(std::iter::repeat(Bson::MinKey))
                    .take(fields.len())
                    .collect(),
            )
        };
        let place = Ordered(place.to_vec());
        let holds =
            |zone: &&Zone| zone.namespace == namespace && end(&zone.min) <= place && place < end(&zone.max);
        self.zones.iter().find(holds).map(|zone| zone.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::bson;

    fn catalog(pattern: Document, scatters: bool) -> Catalog {
        let mut catalog = Catalog::new(scatters);
        let Ok(key) = ShardKey::parse(&pattern) else {
            panic!("{pattern}")
        };
        catalog.add("d.c", Sharded::new(key, false, Bson::Null, true));
        catalog
    }

    #[test]
    fn the_name_of_a_shards_database_is_short_enough() {
        assert_eq!(database("shop", 0), "shop");
        assert_eq!(database("shop", 1), "shop_sh1");
        let long = "d".repeat(63);
        assert!(database(&long, 1).len() <= LONGEST_NAME);
        assert_ne!(database(&long, 1), database(&"e".repeat(63), 1));
    }

    #[test]
    fn documents_stay_where_they_were_put_while_chunks_are_scattered() {
        for pattern in [
            doc! { "tenant": 1 },
            doc! { "tenant": 1, "_id": "hashed" },
            doc! { "tenant": 1, "_id": 1 },
        ] {
            let mut catalog = catalog(pattern, true);
            let number = catalog.get("d.c").map_or(0, |sharded| sharded.key.fields.len());
            let mut placed = Vec::new();
            for n in [50, 10, 90, 30, 70, 20, 60, 10, 40, 80, 0, 100] {
                for id in 0..4 {
                    let values = vec![bson!(n), bson!(id)][..number].to_vec();
                    let shard = catalog.place("d.c", &values);
                    placed.push((values, shard));
                }
            }
            let sharded = catalog.get("d.c").expect("a sharded collection");
            for (values, shard) in &placed {
                assert_eq!(sharded.owner(values), *shard, "{values:?}");
            }
            assert_eq!(sharded.owners(), [true, true]);
        }
    }

    #[test]
    fn a_hashed_collection_has_chunks_on_both_shards_at_once() {
        let mut catalog = catalog(doc! { "k": "hashed" }, false);
        let on_second = (0..100)
            .filter(|n| catalog.place("d.c", &[bson!(*n)]) == 1)
            .count();
        assert!((30..70).contains(&on_second), "{on_second} of 100");
    }

    #[test]
    fn a_moved_chunk_is_on_both_shards_for_an_older_snapshot() {
        let mut catalog = catalog(doc! { "a": 1 }, false);
        catalog.change("d.c", |sharded| sharded.split(vec![bson!(10)]));
        let before = catalog.version;
        let version = catalog.version + 1;
        catalog.change("d.c", |sharded| sharded.assign(&[bson!(10)], 1, version));
        let sharded = catalog.get("d.c").expect("a sharded collection");
        let of = |filter: Document, since| sharded.shards_of(&filter, false, since);
        assert_eq!(of(doc! { "a": 20 }, None), [false, true]);
        assert_eq!(of(doc! { "a": 20 }, Some(before)), [true, true]);
        assert_eq!(of(doc! { "a": 20 }, Some(version)), [false, true]);
        assert_eq!(of(doc! { "a": 5 }, Some(before)), [true, false]);
        assert!(sharded.has_moved(&doc! { "a": 20 }, false, before));
        assert!(!sharded.has_moved(&doc! { "a": 5 }, false, before));
    }

    #[test]
    fn chunks_of_a_zone_are_on_its_shard() {
        let mut catalog = catalog(doc! { "tenant": 1 }, true);
        catalog.zones_of_shards[1].insert("eu".to_owned());
        catalog.zones.push(Zone {
            namespace: "d.c".to_owned(),
            min: doc! { "tenant": "e" },
            max: doc! { "tenant": "f" },
            name: "eu".to_owned(),
        });
        for tenant in ["ea", "eb", "ec", "ed"] {
            assert_eq!(catalog.place("d.c", &[bson!(tenant)]), 1, "{tenant}");
        }
    }
}

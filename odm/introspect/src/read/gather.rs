//! A pass that makes something of the documents, and goes on where an interrupted one ended.

use super::source::Source;
use super::state::{Head, State};
use crate::design::Collection;
use anyhow::Result;
use bson::{Bson, RawDocument, doc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Where writing it takes long it is written less often: this many times as long passes until the next time.
const PAUSE: u32 = 20;
/// How many documents are read between two looks at the clock.
const STEP: u64 = 64;

/// The result of a pass.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Gathered<S> {
    /// The value that was made of the documents.
    pub made: S,
    /// The number of documents that were read.
    pub read: u64,
    /// The last `_id`, in a BSON document.
    last: Vec<u8>,
}

impl<S> Gathered<S> {
    fn last(&self) -> Option<Bson> {
        let document: bson::Document = bson::deserialize_from_slice(&self.last).ok()?;
        document.get("_id").cloned()
    }
}

impl Source {
    /// A [pass](Source::pass) of which something is made, document by document. With [`ReadOptions::state`] it goes on where an
    /// interrupted one ended, keeps every few seconds what it has, and gives at once what is there of a collection that was read to its
    /// end. A sample, a view and a time series, which have no order, begin anew.
    ///
    /// [`ReadOptions::state`]: super::ReadOptions::state
    ///
    /// # Errors
    /// Where the collection can't be read, or the file can't be written.
    pub async fn gather<S>(
        &self,
        collection: &Collection,
        add: &mut (dyn FnMut(&mut S, &RawDocument) + Send),
    ) -> Result<Gathered<S>>
    where
        S: Serialize + DeserializeOwned + Default + Send,
    {
        let name = collection.name.as_str();
        let is_kept = self.options().state.is_some() && self.in_order(collection);
        let Some(mut state) = self.state()?.filter(|_| is_kept) else {
            let mut gathered = Gathered::default();
            gathered.read = self
                .pass(collection, &mut |document| add(&mut gathered.made, document))
                .await?;
            return Ok(gathered);
        };
        if let Some(gathered) = state.finished(name)? {
            self.put_back(state);
            return Ok(gathered);
        }
        let mut gathered: Gathered<S> = state.running(name).unwrap_or_default();
        let (last, before) = (gathered.last(), gathered.read);
        let every = self.options().every;
        let (mut kept, mut pause) = (Instant::now(), every);
        let mut failure = None;
        self.pass_behind(collection, last, before, &mut |document| {
            add(&mut gathered.made, document);
            gathered.read += 1;
            if !gathered.read.is_multiple_of(STEP) || kept.elapsed() < pause || failure.is_some() {
                return;
            }
            let begun = Instant::now();
            gathered.last = last_of(document);
            failure = state.keep(name, &gathered).err();
            pause = every.max(begun.elapsed() * PAUSE);
            kept = Instant::now();
        })
        .await?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        state.add(name, &gathered)?;
        self.put_back(state);
        Ok(gathered)
    }

    /// Removes the state of a reading that is finished.
    ///
    /// # Errors
    /// Where the file can't be removed.
    pub fn finish(&self) -> Result<()> {
        self.state()?.map_or(Ok(()), State::remove)
    }

    /// The state, where one is kept: opened at the first time.
    fn state(&self) -> Result<Option<State>> {
        let Some(path) = &self.options().state else {
            return Ok(None);
        };
        let open = self
            .state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take();
        match open {
            Some(open) => Ok(Some(open)),
            None => {
                let head = Head {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    database: self.name().to_owned(),
                    values: self.options().values,
                };
                State::open(path, &head).map(Some)
            }
        }
    }

    fn put_back(&self, state: State) {
        *self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(state);
    }
}

fn last_of(document: &RawDocument) -> Vec<u8> {
    let id = document.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.and_then(|id| bson::serialize_to_vec(&doc! { "_id": id }).ok())
        .unwrap_or_default()
}

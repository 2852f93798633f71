//! The same on the driver: the dual writes as a good programmer writes them, and the joins that copies replace.

use super::model::{LogMsg, NewLogMsg};
use crate::Result;
use futures::TryStreamExt;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{self, DateTime, Document, doc};
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT};
use mongodb::options::{IndexOptions, ReadConcern, ReturnDocument, TransactionOptions, WriteConcern};
use mongodb::{ClientSession, Collection, Database};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// An event without the name of its device.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "_id")]
    id: i32,
    device: i32,
}

#[derive(Deserialize)]
struct Device {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

/// A log message as it is stored; the library's struct is not, since its copy is read-only there as well.
#[derive(Serialize)]
struct Message<'m> {
    #[serde(rename = "_id")]
    id: ObjectId,
    time: DateTime,
    pid: i32,
    message: &'m str,
    host: i32,
    ipaddr: &'m str,
    #[serde(rename = "_copied", skip_serializing_if = "Option::is_none")]
    copied: Option<CopiedFrom>,
}

/// The version of the host that an address was copied from.
#[derive(Serialize)]
struct CopiedFrom {
    host: i64,
}

/// A product with references alone.
#[derive(Deserialize)]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    parts: Vec<i32>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    price: f64,
}

#[derive(Deserialize)]
struct Review {
    at: DateTime,
    author: String,
    text: String,
}

#[derive(Deserialize)]
struct Numbers {
    count: i64,
    average: f64,
}

/// A product as the library stores it.
#[derive(Deserialize)]
struct Whole {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    parts: Vec<Copied>,
    reviews: Vec<Review>,
    review_count: i64,
    rating: Rating,
}

#[derive(Deserialize)]
struct Copied {
    name: String,
    price: f64,
}

#[derive(Deserialize)]
struct Rating {
    sum: f64,
    count: i64,
}

/// One `updateMany`, as it is.
pub async fn rename(db: &Database, device: i32, name: &str) -> Result<u64> {
    let events: Collection<Document> = db.collection("events");
    let update = doc! { "$set": { "name": name } };
    let updated = events.update_many(doc! { "device": device }, update).await?;
    Ok(updated.modified_count)
}

/// One `insertOne`, with a copy that is known already.
pub async fn insert_alone(db: &Database, message: &NewLogMsg, ipaddr: &str) -> Result<()> {
    let stored = Message {
        id: ObjectId::new(),
        time: message.time,
        pid: message.pid,
        message: &message.message,
        host: *message.host.key(),
        ipaddr,
        copied: None,
    };
    db.collection::<Message>("logmsg").insert_one(&stored).await?;
    Ok(())
}

/// The part of a product that a page shows.
#[derive(Debug, PartialEq)]
pub struct Page {
    pub id: i32,
    pub name: String,
    pub parts: Vec<(String, f64)>,
    pub reviews: Vec<(DateTime, String, String)>,
    pub count: i64,
    pub rating: f64,
}

/// The version of a document that others have copies of.
fn version(source: &Document) -> Result<i64> {
    Ok(source.get_document("_odm")?.get_i64("version")?)
}

/// The collections of the driver.
pub struct OnDriver {
    db: Database,
    session: ClientSession,
}

impl OnDriver {
    pub async fn new(db: &Database) -> Result<OnDriver> {
        Ok(OnDriver {
            db: db.clone(),
            session: db.client().start_session().await?,
        })
    }

    /// The queries of pages that keep nothing in the product.
    pub async fn store_plain(&self) -> Result<()> {
        let products: Collection<Document> = self.db.collection("products");
        let mut plain = Vec::new();
        let mut found = products.find(doc! {}).sort(doc! { "_id": 1 }).await?;
        while let Some(product) = found.try_next().await? {
            let parts = product.get_array("parts")?.iter();
            let ids = parts.filter_map(|part| part.as_document()?.get("id").cloned());
            plain.push(doc! {
                "_id": product.get_i32("_id")?,
                "name": product.get_str("name")?,
                "parts": ids.collect::<Vec<_>>(),
            });
        }
        self.db
            .collection::<Document>("plain_products")
            .insert_many(plain)
            .await?;
        let index = mongodb::IndexModel::builder()
            .keys(doc! { "product": 1, "at": -1 })
            .options(IndexOptions::builder().name("on_driver".to_owned()).build());
        // The library has made the same under its own name.
        let _there = self
            .db
            .collection::<Document>("reviews")
            .create_index(index.build())
            .await;
        Ok(())
    }

    /// With the address of its host and the version that it is of, and pushed to the newest of it: one transaction. The push is refused
    /// where another client has changed the host since it was read.
    pub async fn insert(&mut self, message: &NewLogMsg, newest: i32) -> Result<()> {
        self.in_transaction(async |this| this.insert_within(message, newest).await)
            .await
    }

    /// Renames a device, and in the same transaction the copies of its name, each with the version of the device: so work of an older
    /// version, which another process may go on with later, is known as such.
    pub async fn rename_all(&mut self, device: i32, name: &str) -> Result<u64> {
        self.in_transaction(async |this| this.rename_within(device, name).await)
            .await
    }

    /// A transaction, which the drivers' specification says how to repeat.
    async fn in_transaction<T>(&mut self, work: impl AsyncFn(&mut OnDriver) -> Result<T>) -> Result<T> {
        let options = TransactionOptions::builder()
            .read_concern(ReadConcern::snapshot())
            .write_concern(WriteConcern::majority())
            .build();
        loop {
            self.session
                .start_transaction()
                .with_options(options.clone())
                .await?;
            let done = match work(self).await {
                Ok(done) => done,
                Err(error) => {
                    self.session.abort_transaction().await?;
                    let transient = error
                        .downcast_ref::<Error>()
                        .is_some_and(|error| error.contains_label(TRANSIENT_TRANSACTION_ERROR));
                    if transient {
                        continue;
                    }
                    return Err(error);
                }
            };
            loop {
                match self.session.commit_transaction().await {
                    Ok(()) => return Ok(done),
                    Err(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {}
                    Err(error) if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    async fn rename_within(&mut self, device: i32, name: &str) -> Result<u64> {
        let devices: Collection<Document> = self.db.collection("devices");
        let update = doc! { "$set": { "name": name }, "$inc": { "_odm.version": 1_i64 } };
        let renamed = devices
            .find_one_and_update(doc! { "_id": device }, update)
            .return_document(ReturnDocument::After)
            .projection(doc! { "_odm.version": 1 })
            .session(&mut self.session)
            .await?
            .ok_or("a device is missing")?;
        let copied = doc! { "$set": { "name": name, "_copied.device": version(&renamed)? } };
        let events: Collection<Document> = self.db.collection("events");
        let updated = events
            .update_many(doc! { "device": device }, copied)
            .session(&mut self.session)
            .await?;
        Ok(updated.modified_count)
    }

    async fn insert_within(&mut self, message: &NewLogMsg, newest: i32) -> Result<()> {
        let hosts: Collection<Document> = self.db.collection("hosts");
        let host = doc! { "_id": message.host.key() };
        let found = hosts
            .find_one(host)
            .projection(doc! { "ipaddr": 1, "_odm.version": 1 })
            .session(&mut self.session)
            .await?
            .ok_or("a host is missing")?;
        let stored = Message {
            id: ObjectId::new(),
            time: message.time,
            pid: message.pid,
            message: &message.message,
            host: *message.host.key(),
            ipaddr: found.get_str("ipaddr")?,
            copied: Some(CopiedFrom {
                host: version(&found)?,
            }),
        };
        self.db
            .collection::<Message>("logmsg")
            .insert_one(&stored)
            .session(&mut self.session)
            .await?;
        let entry = doc! { "id": stored.id, "time": stored.time, "message": stored.message };
        let push = doc! {
            "$inc": { "_odm.revision": 1 },
            "$push": { "newest": {
                "$each": [entry],
                "$sort": { "time": -1, "id": -1 },
                "$slice": newest,
            } },
        };
        let as_read = doc! { "_id": message.host.key(), "_odm.version": version(&found)? };
        let pushed = hosts.update_one(as_read, push).session(&mut self.session).await?;
        if pushed.matched_count == 0 {
            return Err("the host has changed".into());
        }
        Ok(())
    }

    /// The values by which two reads of the newest messages are compared.
    pub async fn last_message(&self, host: i32) -> Result<Option<LogMsg>> {
        let messages = self.db.collection::<LogMsg>("logmsg");
        let newest = messages.find_one(doc! { "host": host }).sort(doc! { "time": -1 });
        Ok(newest.await?)
    }

    /// Renames a device and then the copies of its name: a mark in the device says so until all are renamed.
    pub async fn rename_in_steps(&self, device: i32, name: &str) -> Result<u64> {
        let devices: Collection<Document> = self.db.collection("devices");
        let marked = doc! { "$set": { "name": name, "renaming": true } };
        devices.update_one(doc! { "_id": device }, marked).await?;
        let renamed = rename(&self.db, device, name).await?;
        // Another one may have renamed it again meanwhile.
        let cleared = doc! { "$unset": { "renaming": "" } };
        devices
            .update_one(doc! { "_id": device, "name": name }, cleared)
            .await?;
        Ok(renamed)
    }

    /// Events with the copies that are stored beside their devices.
    pub async fn events_with_copies(&self, from: i32, to: i32) -> Result<Vec<(i32, String)>> {
        let events = self.db.collection::<Device>("events");
        let found = events.find(doc! { "_id": { "$gte": from, "$lt": to } });
        let found = found.projection(doc! { "name": 1 });
        let events: Vec<Device> = found.await?.try_collect().await?;
        Ok(events.into_iter().map(|event| (event.id, event.name)).collect())
    }

    /// A page of a product from the copies that are stored in it.
    pub async fn page_with_copies(&self, id: i32) -> Result<Page> {
        let products = self.db.collection::<Whole>("products");
        let product = products.find_one(doc! { "_id": id }).await?;
        let product = product.ok_or("a product is missing")?;
        Ok(Page {
            id: product.id,
            name: product.name,
            parts: product
                .parts
                .into_iter()
                .map(|part| (part.name, part.price))
                .collect(),
            reviews: product
                .reviews
                .into_iter()
                .map(|review| (review.at, review.author, review.text))
                .collect(),
            count: product.review_count,
            rating: product.rating.sum / product.rating.count as f64,
        })
    }

    /// Events with the names of their devices, by one more query.
    pub async fn events(&self, from: i32, to: i32) -> Result<Vec<(i32, String)>> {
        let events = self.db.collection::<Event>("events");
        let range = doc! { "_id": { "$gte": from, "$lt": to } };
        let events: Vec<Event> = events
            .find(range)
            .projection(doc! { "device": 1 })
            .await?
            .try_collect()
            .await?;
        let mut ids: Vec<i32> = events.iter().map(|event| event.device).collect();
        ids.sort_unstable();
        ids.dedup();
        let devices = self.db.collection::<Device>("devices");
        let mut names = HashMap::with_capacity(ids.len());
        let mut found = devices
            .find(doc! { "_id": { "$in": ids } })
            .projection(doc! { "name": 1 })
            .await?;
        while let Some(device) = found.try_next().await? {
            names.insert(device.id, device.name);
        }
        events
            .into_iter()
            .map(|event| {
                let name = names.get(&event.device).cloned();
                Ok((event.id, name.ok_or("a device is missing")?))
            })
            .collect()
    }

    /// A page of a product by joins: the product, then its parts, its newest reviews and their numbers at once.
    pub async fn page(&self, id: i32) -> Result<Page> {
        let products = self.db.collection::<Product>("plain_products");
        let product = products.find_one(doc! { "_id": id }).await?;
        let product = product.ok_or("a product is missing")?;
        let (parts, reviews) = (
            self.db.collection::<Part>("parts"),
            self.db.collection::<Review>("reviews"),
        );
        let parts = async {
            let found = parts
                .find(doc! { "_id": { "$in": &product.parts } })
                .projection(doc! { "name": 1, "price": 1 });
            found.await?.try_collect::<Vec<Part>>().await
        };
        let newest = async {
            let found = reviews
                .find(doc! { "product": id })
                .projection(doc! { "at": 1, "author": 1, "text": 1 })
                .sort(doc! { "at": -1 })
                .limit(10);
            found.await?.try_collect::<Vec<Review>>().await
        };
        let numbers = async {
            let group = doc! { "_id": null, "count": { "$sum": 1_i64 }, "average": { "$avg": "$stars" } };
            let stages = [doc! { "$match": { "product": id } }, doc! { "$group": group }];
            let found = reviews.aggregate(stages).await?;
            found.try_collect::<Vec<Document>>().await
        };
        let (parts, reviews, numbers) = futures::try_join!(parts, newest, numbers)?;
        let numbers = numbers.into_iter().next().ok_or("there are no reviews")?;
        let numbers: Numbers = bson::deserialize_from_document(numbers)?;
        let named: Option<Vec<(String, f64)>> = product
            .parts
            .iter()
            .map(|id| {
                let part = parts.iter().find(|part| part.id == *id)?;
                Some((part.name.clone(), part.price))
            })
            .collect();
        Ok(Page {
            id: product.id,
            name: product.name,
            parts: named.ok_or("a part is missing")?,
            reviews: reviews
                .into_iter()
                .map(|review| (review.at, review.author, review.text))
                .collect(),
            count: numbers.count,
            rating: numbers.average,
        })
    }
}

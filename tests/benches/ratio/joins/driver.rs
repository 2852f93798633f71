//! The joins as a good programmer writes them on the driver. All of them give what the library gives.

use super::NEWEST;
use super::model::{Host, LogMsg, Maker, Part, Product, WithMaker, WithMessages, WithParts};
use crate::Result;
use futures::TryStreamExt;
use futures::future::try_join_all;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{self, doc};
use mongodb::{Collection, Database};
use odm::prelude::*;
use std::collections::HashMap;

/// The collections of the driver.
pub struct OnDriver {
    products: Collection<Product>,
    parts: Collection<Part>,
    makers: Collection<Maker>,
    hosts: Collection<Host>,
    messages: Collection<LogMsg>,
}

impl OnDriver {
    pub fn new(db: &Database) -> OnDriver {
        OnDriver {
            products: db.collection("products"),
            parts: db.collection("parts"),
            makers: db.collection("makers"),
            hosts: db.collection("hosts"),
            messages: db.collection("logmsg"),
        }
    }

    async fn products(&self, limit: Option<i64>) -> Result<Vec<Product>> {
        let mut find = self.products.find(doc! {});
        if let Some(limit) = limit {
            find = find.limit(limit);
        }
        Ok(find.await?.try_collect().await?)
    }

    /// One query for all parts of all products.
    pub async fn parts_by_in(&self, limit: Option<i64>) -> Result<Vec<(Product, Vec<Part>)>> {
        let products = self.products(limit).await?;
        let parts = self.parts_of(&products).await?;
        products
            .into_iter()
            .map(|product| {
                let parts = in_order(&product, &parts)?;
                Ok((product, parts))
            })
            .collect()
    }

    /// The same for one product.
    pub async fn parts_of_one(&self, id: ObjectId) -> Result<(Product, Vec<Part>)> {
        let product = self.products.find_one(doc! { "_id": id }).await?;
        let product = product.ok_or("a product is missing")?;
        let parts = self.parts_of(std::slice::from_ref(&product)).await?;
        let parts = in_order(&product, &parts)?;
        Ok((product, parts))
    }

    async fn parts_of(&self, products: &[Product]) -> Result<HashMap<ObjectId, Part>> {
        let mut ids: Vec<ObjectId> = products
            .iter()
            .flat_map(|product| product.parts.iter().map(|part| *part.key()))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut parts = HashMap::with_capacity(ids.len());
        let mut found = self.parts.find(doc! { "_id": { "$in": ids } }).await?;
        while let Some(part) = found.try_next().await? {
            parts.insert(part.id, part);
        }
        Ok(parts)
    }

    /// One query for each part of each product.
    pub async fn parts_one_by_one(&self) -> Result<Vec<(Product, Vec<Part>)>> {
        let mut all = Vec::new();
        for product in self.products(None).await? {
            let mut parts = Vec::with_capacity(product.parts.len());
            for part in &product.parts {
                let part = self.parts.find_one(doc! { "_id": part.key() }).await?;
                parts.push(part.ok_or("a part is missing")?);
            }
            all.push((product, parts));
        }
        Ok(all)
    }

    /// By the server, which gives the parts of a product in the order of their collection, each once.
    pub async fn parts_by_lookup(&self, stage: Option<bson::Document>) -> Result<Vec<(Product, Vec<Part>)>> {
        let mut stages: Vec<bson::Document> = stage.into_iter().collect();
        stages.push(doc! { "$lookup": {
            "from": "parts",
            "localField": "parts",
            "foreignField": "_id",
            "as": "joined",
        } });
        let found = self.products.aggregate(stages).with_type::<WithParts>().await?;
        let found: Vec<WithParts> = found.try_collect().await?;
        found
            .into_iter()
            .map(|found| {
                let product = Product {
                    id: found.id,
                    name: found.name,
                    catalog_number: found.catalog_number,
                    maker: found.maker,
                    parts: found.parts,
                };
                // They are few: to look through them is faster than to hash them.
                let part = |id: &Ref<Part>| found.joined.iter().find(|part| part.id == *id.key()).cloned();
                let parts: Option<Vec<Part>> = product.parts.iter().map(part).collect();
                Ok((product, parts.ok_or("a part is missing")?))
            })
            .collect()
    }

    /// One query for the makers of all products.
    pub async fn makers_by_in(&self) -> Result<Vec<(Product, Maker)>> {
        let products = self.products(None).await?;
        let mut ids: Vec<ObjectId> = products.iter().map(|product| *product.maker.key()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut makers = HashMap::with_capacity(ids.len());
        let mut found = self.makers.find(doc! { "_id": { "$in": ids } }).await?;
        while let Some(maker) = found.try_next().await? {
            makers.insert(maker.id, maker);
        }
        products
            .into_iter()
            .map(|product| {
                let maker = makers.get(product.maker.key()).cloned();
                Ok((product, maker.ok_or("a maker is missing")?))
            })
            .collect()
    }

    /// By the server.
    pub async fn makers_by_lookup(&self) -> Result<Vec<(Product, Maker)>> {
        let stages = [doc! { "$lookup": {
            "from": "makers",
            "localField": "maker",
            "foreignField": "_id",
            "as": "joined",
        } }];
        let found = self.products.aggregate(stages).with_type::<WithMaker>().await?;
        let found: Vec<WithMaker> = found.try_collect().await?;
        Ok(found
            .into_iter()
            .map(|found| {
                let [maker] = found.joined;
                let product = Product {
                    id: found.id,
                    name: found.name,
                    catalog_number: found.catalog_number,
                    maker: found.maker,
                    parts: found.parts,
                };
                (product, maker)
            })
            .collect())
    }

    async fn newest_of(&self, host: Host) -> Result<(Host, Vec<LogMsg>)> {
        let messages = self
            .messages
            .find(doc! { "host": host.id })
            .sort(doc! { "time": -1 })
            .limit(NEWEST.into());
        let messages = messages.await?.try_collect().await?;
        Ok((host, messages))
    }

    /// One query for each host, one after the other.
    pub async fn messages_one_by_one(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let hosts: Vec<Host> = self.hosts.find(doc! {}).await?.try_collect().await?;
        let mut all = Vec::with_capacity(hosts.len());
        for host in hosts {
            all.push(self.newest_of(host).await?);
        }
        Ok(all)
    }

    /// One query for each host, all at once.
    pub async fn messages_at_once(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let hosts: Vec<Host> = self.hosts.find(doc! {}).await?.try_collect().await?;
        try_join_all(hosts.into_iter().map(|host| self.newest_of(host))).await
    }

    /// By the server.
    pub async fn messages_by_lookup(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let stages = [doc! { "$lookup": {
            "from": "logmsg",
            "localField": "_id",
            "foreignField": "host",
            "pipeline": [{ "$sort": { "time": -1 } }, { "$limit": NEWEST }],
            "as": "joined",
        } }];
        let found = self.hosts.aggregate(stages).with_type::<WithMessages>().await?;
        let found: Vec<WithMessages> = found.try_collect().await?;
        Ok(found
            .into_iter()
            .map(|found| {
                let host = Host {
                    id: found.id,
                    name: found.name,
                    ipaddr: found.ipaddr,
                };
                (host, found.joined)
            })
            .collect())
    }
}

/// The parts of a product in its order, with those that stand in it twice.
fn in_order(product: &Product, parts: &HashMap<ObjectId, Part>) -> Result<Vec<Part>> {
    product
        .parts
        .iter()
        .map(|part| {
            let part = parts.get(part.key()).cloned();
            part.ok_or_else(|| "a part is missing".into())
        })
        .collect()
}

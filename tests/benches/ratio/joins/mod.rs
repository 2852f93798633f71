//! Joins: 1,000 products with 20 parts each, and 100 hosts with their newest 10 of a million messages, against the same by
//! hand and by other libraries.
//!
//! The targets are those of the task: as fast as `$in` by hand, and ahead of everything else. The scenarios without one say
//! when the server's `$lookup` is the better way.

mod driver;
mod model;

use crate::other::{Library, Outcome, Program};
use crate::pairs::{Pairs, Rounds, alternate, alternate_three};
use crate::report::{Measured, Report, Single};
use crate::{Options, Result};
use driver::OnDriver;
use futures::TryStreamExt;
use model::{Chance, Host, LogMsg, Maker, Part, Product};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{self, doc};
use mongodb::{Client, Database};
use odm::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

const PRODUCTS: usize = 1000;
const PARTS_EACH: usize = 20;
const MAKERS: usize = 50;
const HOSTS: usize = 100;
const MESSAGES: usize = 1_000_000;
const MESSAGES_QUICK: usize = 20_000;
const NEWEST: u32 = 10;

/// How many products are asked for where they are few.
const FEW: usize = 10;

/// The maximum ratio to the best on the driver.
const ON_DRIVER: Option<f64> = Some(1.05);
/// Not behind.
const AHEAD: Option<f64> = Some(1.0);
/// To know, not to judge.
const NO_TARGET: Option<f64> = None;

/// The scenarios and their baselines. The first word of each is `joins`, so that `--only joins` has them all.
const SHARED: &str = "joins 1,000 × 20";
const FEW_PARTS: &str = "joins 1,000 × 20 of 500";
const OWN: &str = "joins 1,000 × 20 own";
const FEW_PRODUCTS: &str = "joins 10 × 20";
const ONE_PRODUCT: &str = "joins 1 × 20";
const TO_ONE: &str = "joins 1,000 × 1";
const CHILDREN: &str = "joins 100 × newest 10";
const CHILDREN_EACH: &str = "joins 100 × newest 10 by queries";

/// The ways in which each is executed, other than the library's `include`. The first is the code by hand, which is compared with one
/// statement too: an `aggregate` with `$lookup`.
const SIDES: [(&str, &[&str]); 8] = [
    (
        SHARED,
        &[
            "$in",
            "N+1",
            "lookup()",
            "Mongoose",
            "Mongoose lean",
            "Beanie",
            "Beanie, each",
        ],
    ),
    (FEW_PARTS, &["$in", "lookup()"]),
    (OWN, &["$in", "lookup()"]),
    (FEW_PRODUCTS, &["$in", "lookup()"]),
    (ONE_PRODUCT, &["$in", "lookup()"]),
    (TO_ONE, &["$in", "lookup()", "Mongoose", "Beanie"]),
    (
        CHILDREN,
        &["finds at once", "N+1", "lookup()", "Mongoose", "Beanie"],
    ),
    (CHILDREN_EACH, &["finds at once", "N+1", "Mongoose", "Beanie"]),
];

/// Where each database's name ends, and what is in it.
const SHARED_DB: &str = "_joins_shared";
const FEW_PARTS_DB: &str = "_joins_few_parts";
const OWN_DB: &str = "_joins_own";
const CHILDREN_DB: &str = "_joins_children";

/// All databases that are made.
pub const DATABASES: [&str; 4] = [SHARED_DB, FEW_PARTS_DB, OWN_DB, CHILDREN_DB];

/// Whether any of the comparisons is wanted.
pub fn is_wanted(options: &Options) -> bool {
    SIDES
        .iter()
        .any(|(group, sides)| sides.iter().any(|side| options.wants(&row(group, side))))
}

pub async fn measure(
    client: &Client,
    uri: &str,
    name: &str,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    for (suffix, groups) in [
        (SHARED_DB, &[SHARED, FEW_PRODUCTS, ONE_PRODUCT, TO_ONE][..]),
        (FEW_PARTS_DB, &[FEW_PARTS]),
        (OWN_DB, &[OWN]),
        (CHILDREN_DB, &[CHILDREN, CHILDREN_EACH]),
    ] {
        let wanted: Vec<(&str, &str)> = SIDES
            .iter()
            .filter(|(group, _)| groups.contains(group))
            .flat_map(|(group, sides)| sides.iter().map(move |side| (*group, *side)))
            .filter(|(group, side)| options.wants(&row(group, side)))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let db = client.database(&format!("{name}{suffix}"));
        let joins = Joins::prepare(&db, uri, suffix, options).await?;
        for (group, side) in wanted {
            report.add(joins.compare(group, side, options).await?);
        }
        db.drop().await?;
    }
    Ok(())
}

fn row(group: &str, side: &str) -> String {
    format!("{group}: {side}")
}

/// The data, for the library and for the driver.
struct Joins {
    odm: Odm,
    driver: OnDriver,
    uri: String,
    /// The ids of some products.
    ids: Vec<ObjectId>,
}

/// How many products are asked for, and how many times in a block.
fn few(group: &str) -> (Option<usize>, usize) {
    if group == FEW_PRODUCTS {
        (Some(FEW), 16)
    } else {
        (None, 1)
    }
}

/// The mean time of a query over this number of runs. The results are freed after the time is taken.
async fn time<T>(times: usize, mut query: impl AsyncFnMut() -> Result<T>) -> Result<Duration> {
    let mut results = Vec::with_capacity(times);
    let started = Instant::now();
    for _ in 0..times {
        results.push(query().await?);
    }
    let took = started.elapsed();
    black_box(results);
    Ok(took / times as u32)
}

/// Compares two queries that give the same. That they do is seen first, which warms both up.
async fn pairs<T: PartialEq + std::fmt::Debug>(
    rounds: Rounds,
    times: usize,
    mut ours: impl AsyncFnMut() -> Result<T>,
    mut theirs: impl AsyncFnMut() -> Result<T>,
) -> Result<Pairs> {
    if ours().await? != theirs().await? {
        return Err("the two sides of a comparison give different documents".into());
    }
    alternate(
        rounds,
        async || time(times, &mut ours).await,
        async || time(times, &mut theirs).await,
    )
    .await
}

/// The same with one statement as a third side.
async fn pairs_of_three<T: PartialEq + std::fmt::Debug>(
    rounds: Rounds,
    times: usize,
    mut ours: impl AsyncFnMut() -> Result<T>,
    mut theirs: impl AsyncFnMut() -> Result<T>,
    mut statement: impl AsyncFnMut() -> Result<T>,
) -> Result<Pairs> {
    let (first, second, third) = (ours().await?, theirs().await?, statement().await?);
    if first != second || first != third {
        return Err("the sides of a comparison give different documents".into());
    }
    alternate_three(
        rounds,
        async || time(times, &mut ours).await,
        async || time(times, &mut theirs).await,
        async || time(times, &mut statement).await,
    )
    .await
}

impl Joins {
    async fn prepare(db: &Database, uri: &str, what: &str, options: &Options) -> Result<Joins> {
        let odm = Odm::new(db.clone(), models![Part, Maker, Product, Host, LogMsg])?;
        let ids = match what {
            SHARED_DB => store_products(db, 5000).await?,
            FEW_PARTS_DB => store_products(db, 500).await?,
            OWN_DB => store_products(db, PRODUCTS * PARTS_EACH).await?,
            _ => {
                let messages = if options.quick { MESSAGES_QUICK } else { MESSAGES };
                store_messages(db, messages).await?;
                Vec::new()
            }
        };
        // With the indexes that the relationships need.
        odm.sync().await?;
        if what == CHILDREN_DB {
            let hosts = odm.collection::<Host>();
            let messages = hosts.find_all().include(|h| h.children::<LogMsg>());
            let explain = messages.explain().await?;
            if explain.joins.iter().any(|join| join.is_collection_scan()) {
                return Err("there is no index for the messages of a host".into());
            }
        }
        Ok(Joins {
            odm,
            driver: OnDriver::new(db),
            uri: uri.to_owned(),
            ids,
        })
    }

    async fn parts(&self, limit: Option<u64>) -> Result<Vec<(Product, Vec<Part>)>> {
        let products = self.odm.collection::<Product>();
        let mut find = products.find_all().include(|p| p.parts);
        if let Some(limit) = limit {
            find = find.limit(limit);
        }
        Ok(find.all().await?)
    }

    async fn parts_by_lookup(&self, limit: Option<u64>) -> Result<Vec<(Product, Vec<Part>)>> {
        let products = self.odm.collection::<Product>();
        let mut find = products.find_all().include(|p| p.parts);
        if let Some(limit) = limit {
            find = find.limit(limit);
        }
        Ok(find.lookup().all().await?)
    }

    async fn parts_of_one(&self, id: ObjectId) -> Result<(Product, Vec<Part>)> {
        let products = self.odm.collection::<Product>();
        let found = products.find(|p| p.id.eq(id)).include(|p| p.parts).one().await?;
        found.ok_or_else(|| "a product is missing".into())
    }

    async fn parts_of_one_by_lookup(&self, id: ObjectId) -> Result<(Product, Vec<Part>)> {
        let products = self.odm.collection::<Product>();
        let find = products.find(|p| p.id.eq(id)).include(|p| p.parts);
        find.lookup()
            .one()
            .await?
            .ok_or_else(|| "a product is missing".into())
    }

    async fn makers(&self) -> Result<Vec<(Product, Maker)>> {
        let products = self.odm.collection::<Product>();
        Ok(products.find_all().include(|p| p.maker).all().await?)
    }

    async fn makers_by_lookup(&self) -> Result<Vec<(Product, Maker)>> {
        let products = self.odm.collection::<Product>();
        Ok(products.find_all().include(|p| p.maker).lookup().all().await?)
    }

    /// By one query, or by one for each host.
    async fn messages_of(&self, group: &str) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        if group == CHILDREN_EACH {
            self.messages_by_queries().await
        } else {
            self.messages().await
        }
    }

    async fn messages(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let hosts = self.odm.collection::<Host>();
        let newest = hosts.find_all().include(|h| h.children::<LogMsg>().limit(NEWEST));
        Ok(newest.all().await?)
    }

    async fn messages_by_queries(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let hosts = self.odm.collection::<Host>();
        let newest = hosts
            .find_all()
            .include(|h| h.children::<LogMsg>().limit(NEWEST).by_queries());
        Ok(newest.all().await?)
    }

    async fn messages_by_lookup(&self) -> Result<Vec<(Host, Vec<LogMsg>)>> {
        let hosts = self.odm.collection::<Host>();
        let newest = hosts.find_all().include(|h| h.children::<LogMsg>().limit(NEWEST));
        Ok(newest.lookup().all().await?)
    }

    /// The library's `include` against one other way.
    async fn compare(&self, group: &'static str, side: &'static str, options: &Options) -> Result<Measured> {
        let rounds = |usual| Rounds::new(options.rounds(usual));
        let (baseline, target, pairs) = match (group, side) {
            (SHARED | FEW_PARTS | OWN | FEW_PRODUCTS, "$in") => (
                "driver: find, find by $in, HashMap",
                ON_DRIVER,
                self.of_parts_and_statement(group, rounds(40)).await,
            ),
            (SHARED, "N+1") => (
                "driver: find, find_one for each part",
                AHEAD,
                self.of_parts(group, rounds(8), async |_| self.driver.parts_one_by_one().await)
                    .await,
            ),
            (SHARED | FEW_PARTS | OWN | FEW_PRODUCTS, "lookup()") => (
                "this library: include, lookup",
                if group == SHARED { AHEAD } else { NO_TARGET },
                self.of_parts(group, rounds(40), async |limit: Option<usize>| {
                    self.parts_by_lookup(limit.map(|n| n as u64)).await
                })
                .await,
            ),
            (ONE_PRODUCT, "$in") => (
                "driver: find_one, find by $in, HashMap",
                ON_DRIVER,
                self.of_one_and_statement(rounds(100)).await,
            ),
            (ONE_PRODUCT, "lookup()") => (
                "this library: include, lookup",
                NO_TARGET,
                self.of_one(rounds(100), async |id| self.parts_of_one_by_lookup(id).await)
                    .await,
            ),
            (TO_ONE, "$in") => (
                "driver: find, find by $in, HashMap",
                ON_DRIVER,
                pairs_of_three(
                    rounds(40),
                    2,
                    async || self.makers().await,
                    async || self.driver.makers_by_in().await,
                    async || self.driver.makers_by_lookup().await,
                )
                .await,
            ),
            (TO_ONE, "lookup()") => (
                "this library: include, lookup",
                NO_TARGET,
                pairs(
                    rounds(40),
                    2,
                    async || self.makers().await,
                    async || self.makers_by_lookup().await,
                )
                .await,
            ),
            (CHILDREN | CHILDREN_EACH, "finds at once") => (
                "driver: find, find with sort and limit for each host, all at once",
                ON_DRIVER,
                pairs_of_three(
                    rounds(30),
                    1,
                    async || self.messages_of(group).await,
                    async || self.driver.messages_at_once().await,
                    async || self.driver.messages_by_lookup().await,
                )
                .await,
            ),
            (CHILDREN | CHILDREN_EACH, "N+1") => (
                "driver: find, find with sort and limit for each host",
                AHEAD,
                pairs(
                    rounds(30),
                    1,
                    async || self.messages_of(group).await,
                    async || self.driver.messages_one_by_one().await,
                )
                .await,
            ),
            (CHILDREN, "lookup()") => (
                "this library: include, lookup",
                NO_TARGET,
                pairs(
                    rounds(30),
                    1,
                    async || self.messages().await,
                    async || self.messages_by_lookup().await,
                )
                .await,
            ),
            _ => return self.compare_with_library(group, side, rounds(20)).await,
        };
        let single = match (group, side) {
            (SHARED, "$in") => Single::Is("driver: aggregate with $lookup", AHEAD),
            (CHILDREN, "finds at once") => Single::Is(
                "driver: aggregate with $lookup, whose pipeline sorts and limits",
                ON_DRIVER,
            ),
            (_, "$in" | "finds at once") => Single::Is("driver: aggregate with $lookup", NO_TARGET),
            _ => Single::None,
        };
        Ok(Measured::of(&row(group, side), baseline, target, single, &pairs))
    }

    /// A join of products with their parts, by hand and by one statement.
    async fn of_parts_and_statement(&self, group: &str, rounds: Rounds) -> Result<Pairs> {
        let (limit, times) = few(group);
        let stage = || limit.map(|n| doc! { "$limit": n as i64 });
        pairs_of_three(
            rounds,
            times,
            async || self.parts(limit.map(|n| n as u64)).await,
            async || self.driver.parts_by_in(limit.map(|n| n as i64)).await,
            async || self.driver.parts_by_lookup(stage()).await,
        )
        .await
    }

    /// A join of one product with its parts, by hand and by one statement.
    async fn of_one_and_statement(&self, rounds: Rounds) -> Result<Pairs> {
        let mut ours_next = self.ids.iter().copied().cycle();
        let (mut theirs_next, mut statement_next) = (ours_next.clone(), ours_next.clone());
        let next = |ids: &mut dyn Iterator<Item = ObjectId>| ids.next().ok_or("there are no products");
        pairs_of_three(
            rounds,
            24,
            async || self.parts_of_one(next(&mut ours_next)?).await,
            async || self.driver.parts_of_one(next(&mut theirs_next)?).await,
            async || {
                let stage = doc! { "$match": { "_id": next(&mut statement_next)? } };
                let mut found = self.driver.parts_by_lookup(Some(stage)).await?;
                found.pop().ok_or_else(|| "a product is missing".into())
            },
        )
        .await
    }

    /// A join of products with their parts: of all products, or of few.
    async fn of_parts(
        &self,
        group: &str,
        rounds: Rounds,
        mut theirs: impl AsyncFnMut(Option<usize>) -> Result<Vec<(Product, Vec<Part>)>>,
    ) -> Result<Pairs> {
        let (limit, times) = few(group);
        pairs(
            rounds,
            times,
            async || self.parts(limit.map(|n| n as u64)).await,
            async || theirs(limit).await,
        )
        .await
    }

    /// A join of one product with its parts.
    async fn of_one(
        &self,
        rounds: Rounds,
        mut theirs: impl AsyncFnMut(ObjectId) -> Result<(Product, Vec<Part>)>,
    ) -> Result<Pairs> {
        // Both sides ask for the same products one after the other.
        let mut ours_next = self.ids.iter().copied().cycle();
        let mut theirs_next = ours_next.clone();
        let next = |ids: &mut dyn Iterator<Item = ObjectId>| ids.next().ok_or("there are no products");
        pairs(
            rounds,
            24,
            async || self.parts_of_one(next(&mut ours_next)?).await,
            async || theirs(next(&mut theirs_next)?).await,
        )
        .await
    }

    /// The library's `include` against a library of another language, which is left out where it can't be used here.
    async fn compare_with_library(
        &self,
        group: &'static str,
        side: &'static str,
        rounds: Rounds,
    ) -> Result<Measured> {
        let (library, query, baseline) = match (group, side) {
            (SHARED, "Mongoose") => (Library::Mongoose, "parts", "Mongoose: find, populate"),
            (SHARED, "Mongoose lean") => (Library::Mongoose, "parts lean", "Mongoose: find, populate, lean"),
            (SHARED, "Beanie") => (Library::Beanie, "parts", "Beanie: find with fetch_links"),
            (SHARED, "Beanie, each") => (
                Library::Beanie,
                "parts one by one",
                "Beanie: find, fetch_all_links of each product, all at once",
            ),
            (TO_ONE, "Mongoose") => (Library::Mongoose, "maker", "Mongoose: find, populate"),
            (TO_ONE, "Beanie") => (Library::Beanie, "maker", "Beanie: find with fetch_links"),
            (CHILDREN | CHILDREN_EACH, "Mongoose") => (
                Library::Mongoose,
                "messages",
                "Mongoose: find, populate with sort and perDocumentLimit",
            ),
            // Its links have no limit for each document.
            (CHILDREN | CHILDREN_EACH, "Beanie") => (
                Library::Beanie,
                "messages",
                "Beanie: find, find with sort and limit for each host, all at once",
            ),
            _ => return Err(format!("there is no scenario `{}`", row(group, side)).into()),
        };
        let expected = self.outcome(group).await?;
        let database = self.odm.database().name();
        let first = Program::start(library, "joins", &self.uri, database, &[query])
            .and_then(|mut program| Ok((program.once()?.1, program)));
        let left_out = |why: String| Ok(Measured::left_out(&row(group, side), baseline, AHEAD, why));
        let mut program = match first {
            Ok((outcome, program)) if outcome == expected => program,
            Ok((outcome, _)) => {
                return left_out(format!(
                    "it gives {outcome:?} on this server instead of {expected:?}"
                ));
            }
            Err(error) => return left_out(error.to_string()),
        };
        let ours = async || match group {
            SHARED => time(1, async || self.parts(None).await).await,
            TO_ONE => time(1, async || self.makers().await).await,
            _ => time(1, async || self.messages_of(group).await).await,
        };
        let pairs = alternate(rounds, ours, async || match program.once()? {
            (took, outcome) if outcome == expected => Ok(took),
            (_, outcome) => Err(format!("{outcome:?} is not {expected:?}").into()),
        })
        .await;
        Ok(Measured::of(
            &row(group, side),
            baseline,
            AHEAD,
            Single::None,
            &pairs,
        ))
    }

    /// What any library's join has to give.
    async fn outcome(&self, group: &str) -> Result<Outcome> {
        fn of<D>(rows: &[D], numbers: impl Fn(&D) -> Vec<i32>) -> Outcome {
            let numbers: Vec<i32> = rows.iter().flat_map(numbers).collect();
            Outcome {
                documents: rows.len(),
                joined: numbers.len(),
                sum: numbers.iter().map(|n| i64::from(*n)).sum(),
            }
        }
        Ok(match group {
            SHARED => of(&self.parts(None).await?, |(_, parts)| {
                parts.iter().map(|part| part.qty).collect()
            }),
            TO_ONE => of(&self.makers().await?, |(_, maker)| vec![maker.since]),
            _ => of(&self.driver.messages_at_once().await?, |(_, messages)| {
                messages.iter().map(|message| message.pid).collect()
            }),
        })
    }
}

/// Stores products that share this number of parts, and gives their ids.
async fn store_products(db: &Database, parts: usize) -> Result<Vec<ObjectId>> {
    let parts: Vec<Part> = (0..parts).map(model::part).collect();
    for batch in parts.chunks(1000) {
        db.collection::<Part>("parts").insert_many(batch).await?;
    }
    let makers: Vec<Maker> = (0..MAKERS).map(model::maker).collect();
    db.collection::<Maker>("makers").insert_many(&makers).await?;
    let mut chance = Chance::new(1);
    let own = parts.len() == PRODUCTS * PARTS_EACH;
    let products: Vec<Product> = (0..PRODUCTS)
        .map(|n| {
            let mut chosen: Vec<usize> = Vec::with_capacity(PARTS_EACH);
            while chosen.len() < PARTS_EACH {
                // Products have parts of their own, or share them by chance; each stands once in a product, since the
                // server and Beanie drop what stands there twice.
                let part = if own {
                    n * PARTS_EACH + chosen.len()
                } else {
                    chance.below(parts.len())
                };
                if !chosen.contains(&part) {
                    chosen.push(part);
                }
            }
            let chosen = chosen.into_iter().map(|part| parts[part].to_ref()).collect();
            model::product(n, &makers[chance.below(MAKERS)], chosen)
        })
        .collect();
    db.collection::<Product>("products")
        .insert_many(&products)
        .await?;
    // The same as Beanie stores them.
    let link = |collection: &str, id: &ObjectId| doc! { "$ref": collection, "$id": id };
    for (collection, field) in [
        ("products_with_linked_parts", "parts"),
        ("products_with_linked_maker", "maker"),
    ] {
        let linked = products.iter().map(|product| {
            let mut document = bson::serialize_to_document(product)?;
            if field == "parts" {
                let links = product.parts.iter().map(|part| link("parts", part.key()));
                document.insert(field, links.collect::<Vec<_>>());
            } else {
                document.insert(field, link("makers", product.maker.key()));
            }
            Ok(document)
        });
        let linked: Vec<bson::Document> = linked.collect::<Result<_>>()?;
        db.collection::<bson::Document>(collection)
            .insert_many(linked)
            .await?;
    }
    Ok(products.iter().map(|product| product.id).collect())
}

/// Stores hosts and this number of messages.
async fn store_messages(db: &Database, messages: usize) -> Result<()> {
    let hosts: Vec<Host> = (0..HOSTS).map(model::host).collect();
    db.collection::<Host>("hosts").insert_many(&hosts).await?;
    eprintln!("(storing {messages} messages)");
    let collection = db.collection::<LogMsg>("logmsg");
    let batches = (0..messages).step_by(5000).map(|first| {
        let batch: Vec<LogMsg> = (first..messages.min(first + 5000))
            .map(|n| model::message(n, &hosts[n * 37 % HOSTS]))
            .collect();
        Ok::<_, mongodb::error::Error>(batch)
    });
    // While one batch is stored, the next is on its way.
    futures::stream::iter(batches)
        .try_for_each_concurrent(2, |batch| {
            let collection = &collection;
            async move { collection.insert_many(batch).ordered(false).await.map(drop) }
        })
        .await?;
    Ok(())
}

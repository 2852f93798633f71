//! The tasks of MongoDB's benchmark for ODMs, by this library against the same on the driver and by other libraries: mongodm and
//! oximod in Rust, Mongoose (its documents, and `lean`), Beanie. All run on one server and in turns, block by block; each has a
//! database of its own with the same documents and indexes.

mod model;

use crate::other::{Library, Outcome, Program};
use crate::pairs::{Pairs, Rounds, alternate};
use crate::report::{Measured, Report, Single};
use crate::{Options, Result};
use futures::TryStreamExt;
use model::{ForeignKey, Nested, Small};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{self, Document as Doc, doc};
use mongodb::{Client, Database, IndexModel};
use odm::prelude::*;
use std::time::{Duration, Instant};

/// How many documents there are at the beginning.
const DOCUMENTS: i64 = 1_000;
/// How many operations a block has.
const BLOCK: usize = 300;

/// The tasks. The programs in other languages know them by these names.
pub const TASKS: [&str; 8] = [
    "small insert",
    "small update",
    "small find",
    "small find by foreign key",
    "nested insert",
    "nested update",
    "nested find",
    "nested find in array",
];

/// The other ways to do them.
pub const SIDES: [&str; 6] = [
    "driver",
    "mongodm",
    "oximod",
    "Mongoose",
    "Mongoose lean",
    "Beanie",
];

/// Where each database's name ends. oximod has the name of its database in its models.
pub const DATABASES: [&str; 3] = ["_libraries_odm", "_libraries_driver", "_libraries_other"];
const OF_OXIMOD: &str = "odm_bench_oximod";

pub fn row(task: &str, side: &str) -> String {
    format!("libraries {task}: {side}")
}

/// The task and the other way, of which a row has the name.
pub fn sides(row: &str) -> Option<(&str, &str)> {
    row.strip_prefix("libraries ")?.split_once(": ")
}

/// Whether any of the comparisons is wanted.
pub fn is_wanted(options: &Options) -> bool {
    let mut rows = TASKS
        .iter()
        .flat_map(|task| SIDES.iter().map(move |side| row(task, side)));
    rows.any(|row| options.wants(&row))
}

pub async fn measure(
    client: &Client,
    uri: &str,
    name: &str,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let [ours, driver, other] = DATABASES.map(|suffix| client.database(&format!("{name}{suffix}")));
    for task in TASKS {
        for side in SIDES {
            if options.wants(&row(task, side)) {
                // What earlier tasks have inserted is gone.
                let libraries = Libraries::prepare(&ours, &driver).await?;
                let db = if side == "oximod" {
                    client.database(OF_OXIMOD)
                } else {
                    other.clone()
                };
                report.add(libraries.compare(task, side, uri, &db, options).await);
                db.drop().await?;
            }
        }
    }
    for db in [ours, driver] {
        db.drop().await?;
    }
    Ok(())
}

/// Stores the documents, and the indexes that the tasks need.
async fn store(db: &Database) -> Result<()> {
    db.drop().await?;
    let mut small = Vec::new();
    let mut nested = Vec::new();
    let mut keys = Vec::new();
    for n in 0..DOCUMENTS {
        let key = ObjectId::new();
        keys.push(doc! { "_id": key, "name": format!("foreign key {n}") });
        let mut one = bson::serialize_to_document(&small_document(n))?;
        one.insert("field_fk", key);
        small.push(one);
        nested.push(bson::serialize_to_document(&nested_document(n))?);
    }
    let of = |name: &str| db.collection::<Doc>(name);
    of("foreign_keys").insert_many(keys).await?;
    of("small").insert_many(small).await?;
    of("nested").insert_many(nested).await?;
    let by = |name: &str| IndexModel::builder().keys(doc! { name: 1 }).build();
    of("small").create_index(by("field_fk")).await?;
    for name in ["embedded_str_doc_1.unique_id", "embedded_str_doc_array.unique_id"] {
        of("nested").create_index(by(name)).await?;
    }
    Ok(())
}

/// The documents that the tasks name.
struct Named {
    small: Vec<ObjectId>,
    keys: Vec<ObjectId>,
    nested: Vec<ObjectId>,
}

async fn named(db: &Database) -> Result<Named> {
    let ids = async |collection: &str, field: &str| -> Result<Vec<ObjectId>> {
        let collection = db.collection::<Doc>(collection);
        let found = collection.find(doc! {}).sort(doc! { "_id": 1 });
        let found: Vec<Doc> = found.limit(DOCUMENTS).await?.try_collect().await?;
        let ids = found
            .iter()
            .map(|found| found.get_object_id(field).map_err(Into::into));
        ids.collect()
    };
    Ok(Named {
        small: ids("small", "_id").await?,
        keys: ids("small", "field_fk").await?,
        nested: ids("nested", "_id").await?,
    })
}

struct Libraries {
    odm: Odm,
    driver: Database,
    ours: Named,
    theirs: Named,
}

fn found(number: i64) -> Outcome {
    Outcome {
        documents: BLOCK,
        joined: 0,
        sum: number,
    }
}

fn there<T>(document: Option<T>) -> Result<T> {
    document.ok_or_else(|| "a document is missing".into())
}

/// The numbers of the documents of a block.
fn block(round: usize) -> impl Iterator<Item = usize> {
    (0..BLOCK).map(move |at| (round * BLOCK + at) % DOCUMENTS as usize)
}

impl Libraries {
    async fn prepare(ours: &Database, driver: &Database) -> Result<Libraries> {
        store(ours).await?;
        store(driver).await?;
        let odm = Odm::new(ours.clone(), models![ForeignKey, Small, Nested])?;
        Ok(Libraries {
            odm,
            ours: named(ours).await?,
            theirs: named(driver).await?,
            driver: driver.clone(),
        })
    }

    /// The library's way against one other.
    async fn compare(&self, task: &str, side: &str, uri: &str, db: &Database, options: &Options) -> Measured {
        let pairs = self
            .pairs(task, side, uri, db, Rounds::new(options.rounds(20)))
            .await;
        let baseline = match side {
            "driver" => "driver: the same by hand".to_owned(),
            other => format!("{other}: the same"),
        };
        let single = if side == "driver" {
            Single::Baseline
        } else {
            Single::None
        };
        Measured::of(&row(task, side), &baseline, None, single, &pairs)
    }

    async fn pairs(&self, task: &str, side: &str, uri: &str, db: &Database, rounds: Rounds) -> Result<Pairs> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mine = async || {
            let (took, outcome) = self.by_odm(task, ours.len()).await?;
            ours.push(outcome);
            Ok(took)
        };
        let pairs = if side == "driver" {
            let other = async || {
                let (took, outcome) = self.by_driver(task, theirs.len()).await?;
                theirs.push(outcome);
                Ok(took)
            };
            alternate(rounds, mine, other).await?
        } else {
            store(db).await?;
            let library = match side {
                "mongodm" => Library::Mongodm,
                "oximod" => Library::Oximod,
                "Beanie" => Library::Beanie,
                _ => Library::Mongoose,
            };
            let way = if side == "Mongoose lean" {
                "lean"
            } else {
                "documents"
            };
            let mut program = Program::start(library, "tasks", uri, db.name(), &[task, way])?;
            let other = async || {
                let (took, outcome) = program.once()?;
                theirs.push(outcome);
                Ok(took)
            };
            alternate(rounds, mine, other).await?
        };
        if ours != theirs {
            return Err("the two sides have found different documents".into());
        }
        Ok(pairs)
    }

    async fn by_odm(&self, task: &str, round: usize) -> Result<(Duration, Outcome)> {
        let (small, nested) = (self.odm.collection::<Small>(), self.odm.collection::<Nested>());
        let mut sum = 0;
        let started = Instant::now();
        for at in block(round) {
            let n = at as i64;
            match task {
                "small insert" => drop(small.insert(model::small(n)).await?),
                "small update" => {
                    let text = format!("updated_value{round}");
                    small.update(self.ours.small[at]).set(|s| s.field1, text).await?;
                }
                "small find" => {
                    let found = small.find(|s| s.id.eq(self.ours.small[at])).one().await?;
                    sum += i64::from(there(found)?.field8);
                }
                "small find by foreign key" => {
                    let key = Ref::<ForeignKey>::new(self.ours.keys[at]);
                    let found = small.find(|s| s.field_fk.eq(key)).one().await?;
                    sum += i64::from(there(found)?.field8);
                }
                "nested insert" => drop(nested.insert(model::nested(n)).await?),
                "nested update" => {
                    let text = format!("updated_value{round}");
                    let update = nested.update(self.ours.nested[at]);
                    update.set(|n| n.embedded_str_doc_1.field1, text).await?;
                }
                "nested find" => {
                    let found = nested
                        .find(|d| d.embedded_str_doc_1.unique_id.eq(100 * n + 1))
                        .one();
                    sum += i64::from(there(found.await?)?.embedded_int_doc_8.field1);
                }
                _ => {
                    let in_array =
                        nested.find(|d| d.embedded_str_doc_array.any_item().unique_id.eq(100 * n + 6));
                    sum += i64::from(there(in_array.one().await?)?.embedded_int_doc_8.field1);
                }
            }
        }
        Ok((started.elapsed(), found(sum)))
    }

    async fn by_driver(&self, task: &str, round: usize) -> Result<(Duration, Outcome)> {
        let (small, nested) = (
            self.driver.collection::<Small>("small"),
            self.driver.collection::<Nested>("nested"),
        );
        let mut sum = 0;
        let started = Instant::now();
        for at in block(round) {
            let n = at as i64;
            match task {
                "small insert" => drop(small.insert_one(small_document(n)).await?),
                "small update" => {
                    let update = doc! { "$set": { "field1": format!("updated_value{round}") } };
                    small
                        .update_one(doc! { "_id": self.theirs.small[at] }, update)
                        .await?;
                }
                "small find" => {
                    let found = small.find_one(doc! { "_id": self.theirs.small[at] }).await?;
                    sum += i64::from(there(found)?.field8);
                }
                "small find by foreign key" => {
                    let found = small.find_one(doc! { "field_fk": self.theirs.keys[at] }).await?;
                    sum += i64::from(there(found)?.field8);
                }
                "nested insert" => drop(nested.insert_one(nested_document(n)).await?),
                "nested update" => {
                    let text = format!("updated_value{round}");
                    let update = doc! { "$set": { "embedded_str_doc_1.field1": text } };
                    nested
                        .update_one(doc! { "_id": self.theirs.nested[at] }, update)
                        .await?;
                }
                "nested find" => {
                    let found = nested.find_one(doc! { "embedded_str_doc_1.unique_id": 100 * n + 1 });
                    sum += i64::from(there(found.await?)?.embedded_int_doc_8.field1);
                }
                _ => {
                    let found = nested.find_one(doc! { "embedded_str_doc_array.unique_id": 100 * n + 6 });
                    sum += i64::from(there(found.await?)?.embedded_int_doc_8.field1);
                }
            }
        }
        Ok((started.elapsed(), found(sum)))
    }
}

/// As a program without the library has it.
fn small_document(n: i64) -> Small {
    let new = model::small(n);
    Small {
        id: ObjectId::new(),
        field1: new.field1,
        field2: new.field2,
        field3: new.field3,
        field4: new.field4,
        field5: new.field5,
        field6: new.field6,
        field7: new.field7,
        field8: new.field8,
        field9: new.field9,
        field10: new.field10,
        field11: new.field11,
        field12: new.field12,
        field13: new.field13,
        field_fk: new.field_fk,
    }
}

fn nested_document(n: i64) -> Nested {
    let new = model::nested(n);
    Nested {
        id: ObjectId::new(),
        embedded_str_doc_1: new.embedded_str_doc_1,
        embedded_str_doc_2: new.embedded_str_doc_2,
        embedded_str_doc_3: new.embedded_str_doc_3,
        embedded_str_doc_4: new.embedded_str_doc_4,
        embedded_str_doc_5: new.embedded_str_doc_5,
        embedded_str_doc_array: new.embedded_str_doc_array,
        embedded_int_doc_8: new.embedded_int_doc_8,
        embedded_int_doc_9: new.embedded_int_doc_9,
        embedded_int_doc_10: new.embedded_int_doc_10,
        embedded_int_doc_11: new.embedded_int_doc_11,
        embedded_int_doc_12: new.embedded_int_doc_12,
        embedded_int_doc_13: new.embedded_int_doc_13,
        embedded_int_doc_14: new.embedded_int_doc_14,
    }
}

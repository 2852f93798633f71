//! `odm doctor`: what a server can do, what of odm works there, and what to do about the rest.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use odm::mongodb::bson::{Document, doc, oid::ObjectId};
use odm::mongodb::error::Error;
use odm::mongodb::options::ClientOptions;
use odm::mongodb::{Client, Database};
use odm::server::Topology;
use odm_launch::server::probe::without_credentials;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Say what a server can do, and what of odm works there.
///
/// Tries each feature in a database of its own, `odm_test_` with an id, and drops it: the user needs the rights to read and
/// write it. Exits with 1 where something is missing that odm can't do without.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The connection string of the server.
    #[arg(env = "MONGODB_URI", hide_env_values = true)]
    uri: String,
}

/// The result of trying one feature.
#[derive(Debug)]
enum Verdict {
    Works,
    /// The consequence, and what to do about it.
    Lacks {
        effect: &'static str,
        reason: String,
    },
}

/// One feature.
#[derive(Debug)]
struct Finding {
    feature: &'static str,
    is_needed: bool,
    verdict: Verdict,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match (&self.verdict, self.is_needed) {
            (Verdict::Works, _) => "  ok     ",
            (Verdict::Lacks { .. }, true) => "  MISSING",
            (Verdict::Lacks { .. }, false) => "  lacks  ",
        };
        write!(f, "{sign}  {}", self.feature)?;
        match &self.verdict {
            Verdict::Works => Ok(()),
            Verdict::Lacks { effect, reason } => write!(f, "\n           {effect}\n           ({reason})"),
        }
    }
}

/// Asks the server and prints the findings.
pub async fn run(arguments: Arguments) -> Result<u8> {
    let shown = without_credentials(&arguments.uri);
    let mut options = ClientOptions::parse(&arguments.uri)
        .await
        .context("the connection string is not valid")?;
    options.server_selection_timeout.get_or_insert(PATIENCE);
    let client = Client::with_options(options).context("the connection string is not valid")?;
    let db = client.database(&format!("odm_test_{}", ObjectId::new().to_hex()));
    let odm = odm::Odm::new(db.clone(), [])?;
    let server = odm
        .server()
        .await
        .with_context(|| format!("the server at {shown} does not answer"))?;
    println!("{shown}: {}, {server}\n", version(&db).await);

    let findings = examine(&db, server.topology()).await;
    let dropped = db.drop().await;
    for finding in &findings {
        println!("{finding}");
    }
    if let Some(advice) = advice(server.topology(), server.max_wire_version()) {
        println!("\n{advice}");
    }
    dropped.with_context(|| format!("the database `{}` of this examination is left over", db.name()))?;
    let is_fit = findings
        .iter()
        .all(|finding| !finding.is_needed || matches!(finding.verdict, Verdict::Works));
    println!(
        "\n{}",
        if is_fit {
            "odm works on this server."
        } else {
            "odm does not work on this server."
        }
    );
    Ok(u8::from(!is_fit))
}

/// The server's name and version, in its own words.
async fn version(db: &Database) -> String {
    let build = db.run_command(doc! { "buildInfo": 1 }).await.unwrap_or_default();
    let version = build.get_str("version").unwrap_or("of unknown version");
    match build.get_str("secantusVersion") {
        Ok(own) => format!("SecantusDB {own} (as MongoDB {version})"),
        Err(_) => format!("MongoDB {version}"),
    }
}

/// What to do about the deployment as a whole.
fn advice(topology: Topology, wire_version: i32) -> Option<String> {
    if wire_version < 9 {
        return Some("odm needs MongoDB 4.4 or later: this server is older.".to_owned());
    }
    (topology == Topology::Standalone).then(|| {
        "This is a standalone server. A replica set of one node has transactions and change streams: restart the server with\n\
         `mongod --replSet rs0` and its other options, run `rs.initiate()` once in mongosh, and connect with `?replicaSet=rs0`."
            .to_owned()
    })
}

/// Tries every feature.
async fn examine(db: &Database, topology: Topology) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |feature, is_needed, effect, outcome: Result<(), String>| {
        let verdict = match outcome {
            Ok(()) => Verdict::Works,
            Err(reason) => Verdict::Lacks { effect, reason },
        };
        findings.push(Finding {
            feature,
            is_needed,
            verdict,
        });
    };
    add(
        "reads and writes",
        true,
        "Give the user of this connection string the role `readWrite` on the application's database.",
        reads_and_writes(db).await,
    );
    add(
        "validators name the rule that a document breaks",
        false,
        "A refusal by the validator is one violation of the whole document. What odm checks before the network is named anyway.",
        validator_explains(db).await,
    );
    add(
        "validators refuse documents that break a rule",
        true,
        "Rules hold for writes of odm alone: other programs can store what the models don't allow. The role `dbAdmin` lets odm set them.",
        validator_refuses(db).await,
    );
    add(
        "unique indexes",
        true,
        "Without them `#[index(unique)]` and one-to-one references can't hold.",
        unique_index(db).await,
    );
    add(
        "updates by pipeline",
        true,
        "`replace` keeps unknown fields by one: MongoDB 4.2 has it.",
        pipeline(db).await,
    );
    add(
        "transactions",
        false,
        "Copies and computed fields are eventual (`consistency = atomic` is refused), and `odm.transaction` is an error.",
        transaction(db).await,
    );
    add(
        "change streams",
        false,
        "The reconciler, which updates copies after writes of other programs, can't run. `audit` and `repair` can.",
        change_stream(db, topology).await,
    );
    add(
        "joins of the first children of many parents in one query (MongoDB 5.0)",
        false,
        "They are a query for each parent, four at a time.",
        lookup(db).await,
    );
    add(
        "partial indexes over alternatives (MongoDB 6.0)",
        false,
        "`plan` refuses an index whose `partial` filter has `|`, or `in_` of several values.",
        partial_index(db).await,
    );
    add(
        "writes to several collections in one request (MongoDB 8.0)",
        false,
        "`odm.bulk()` sends a request for each run of writes of one kind to one collection.",
        bulk_write(db).await,
    );
    findings
}

fn reason(error: Error) -> String {
    error.kind.to_string()
}

async fn reads_and_writes(db: &Database) -> Result<(), String> {
    let collection = db.collection::<Document>("plain");
    collection
        .insert_one(doc! { "_id": 1, "n": 1 })
        .await
        .map_err(reason)?;
    match collection.find_one(doc! { "_id": 1 }).await.map_err(reason)? {
        Some(_) => Ok(()),
        None => Err("a document that was inserted is not found".to_owned()),
    }
}

/// Has a validator refuse a document, and gives the refusal.
async fn refused_by_validator(db: &Database, name: &str) -> Result<Error, String> {
    let schema = doc! { "$jsonSchema": { "required": ["n"], "properties": { "n": { "bsonType": "int" } } } };
    db.run_command(doc! { "create": name, "validator": schema })
        .await
        .map_err(reason)?;
    match db
        .collection::<Document>(name)
        .insert_one(doc! { "n": "text" })
        .await
    {
        Ok(_) => Err("a document that breaks the rule was stored".to_owned()),
        Err(error) => Ok(error),
    }
}

async fn validator_refuses(db: &Database) -> Result<(), String> {
    refused_by_validator(db, "validated").await.map(|_| ())
}

async fn validator_explains(db: &Database) -> Result<(), String> {
    let refusal = refused_by_validator(db, "explained").await?;
    match &*refusal.kind {
        odm::mongodb::error::ErrorKind::Write(odm::mongodb::error::WriteFailure::WriteError(write))
            if write.details.is_some() =>
        {
            Ok(())
        }
        _ => Err("the refusal has no details: they came with MongoDB 5.0".to_owned()),
    }
}

async fn unique_index(db: &Database) -> Result<(), String> {
    let index = doc! { "key": { "n": 1 }, "name": "n_1", "unique": true };
    db.run_command(doc! { "createIndexes": "unique", "indexes": [index] })
        .await
        .map_err(reason)?;
    let collection = db.collection::<Document>("unique");
    collection.insert_one(doc! { "n": 1 }).await.map_err(reason)?;
    match collection.insert_one(doc! { "n": 1 }).await {
        Ok(_) => Err("the same value was stored twice".to_owned()),
        Err(_) => Ok(()),
    }
}

async fn pipeline(db: &Database) -> Result<(), String> {
    let set = vec![doc! { "$set": { "n": { "$add": ["$n", 1] } } }];
    let collection = db.collection::<Document>("plain");
    collection
        .update_one(doc! { "_id": 1 }, set)
        .await
        .map_err(reason)?;
    match collection
        .find_one(doc! { "_id": 1, "n": 2 })
        .await
        .map_err(reason)?
    {
        Some(_) => Ok(()),
        None => Err("the update did not compute".to_owned()),
    }
}

async fn transaction(db: &Database) -> Result<(), String> {
    let mut session = db.client().start_session().await.map_err(reason)?;
    session.start_transaction().await.map_err(reason)?;
    let collection = db.collection::<Document>("plain");
    collection
        .insert_one(doc! { "_id": 2 })
        .session(&mut session)
        .await
        .map_err(reason)?;
    session.abort_transaction().await.map_err(reason)?;
    match collection.find_one(doc! { "_id": 2 }).await.map_err(reason)? {
        None => Ok(()),
        Some(_) => Err("an aborted transaction left its document".to_owned()),
    }
}

async fn change_stream(db: &Database, topology: Topology) -> Result<(), String> {
    if topology == Topology::Standalone {
        return Err("a standalone server has none".to_owned());
    }
    db.collection::<Document>("plain")
        .watch()
        .await
        .map(|_| ())
        .map_err(reason)
}

async fn lookup(db: &Database) -> Result<(), String> {
    let stage = doc! { "$lookup": {
        "from": "plain",
        "localField": "_id",
        "foreignField": "n",
        "pipeline": [{ "$limit": 1 }],
        "as": "joined",
    } };
    db.collection::<Document>("plain")
        .aggregate([stage])
        .await
        .map(|_| ())
        .map_err(reason)
}

async fn partial_index(db: &Database) -> Result<(), String> {
    let index = doc! {
        "key": { "n": 1 },
        "name": "n_1",
        "partialFilterExpression": { "$or": [{ "n": 1 }, { "n": 2 }] },
    };
    db.run_command(doc! { "createIndexes": "partial", "indexes": [index] })
        .await
        .map(|_| ())
        .map_err(reason)
}

async fn bulk_write(db: &Database) -> Result<(), String> {
    let namespace = format!("{}.plain", db.name());
    let command = doc! {
        "bulkWrite": 1,
        "ops": [{ "insert": 0, "document": { "_id": 3 } }],
        "nsInfo": [{ "ns": namespace }],
    };
    db.client()
        .database("admin")
        .run_command(command)
        .await
        .map(|_| ())
        .map_err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standalone_server_gets_the_commands_that_make_it_a_replica_set() {
        let advice = advice(Topology::Standalone, 25).unwrap_or_default();
        for part in ["mongod --replSet rs0", "rs.initiate()", "?replicaSet=rs0"] {
            assert!(advice.contains(part), "{advice}");
        }
        assert_eq!(super::advice(Topology::ReplicaSet, 25), None);
    }

    #[test]
    fn what_is_lacking_says_what_is_lost_and_why() {
        let finding = Finding {
            feature: "transactions",
            is_needed: false,
            verdict: Verdict::Lacks {
                effect: "Copies are eventual.",
                reason: "code 20".to_owned(),
            },
        };
        assert_eq!(
            finding.to_string(),
            "  lacks    transactions\n           Copies are eventual.\n           (code 20)"
        );
    }
}

//! Measures a reading: `first_pass URI DATABASE fill N` inserts N orders, `keys N` a document for each of N distinct keys,
//! `plain` reads all documents and does nothing with them, `read [STATE]` reads the design and says how long the first pass took.

use anyhow::{Context, Result, bail};
use bson::{Document, doc, oid::ObjectId};
use mongodb::{Client, Database};
use odm_introspect::read::{ReadOptions, Source};
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [uri, database, what, rest @ ..] = &arguments[..] else {
        bail!("first_pass URI DATABASE fill N | keys N | plain | read [STATE]");
    };
    let db = Client::with_uri_str(uri).await?.database(database);
    let number = || {
        rest.first()
            .context("how many")?
            .parse::<u64>()
            .context("a number")
    };
    match what.as_str() {
        "fill" => fill(&db, number()?).await,
        "keys" => keys(&db, number()?).await,
        "plain" => plain(&db).await,
        "read" => read(&db, rest.first().cloned()).await,
        other => bail!("`{other}` is none of fill, keys, plain, read"),
    }
}

async fn fill(db: &Database, number: u64) -> Result<()> {
    let customers: Vec<ObjectId> = (0..10_000).map(|_| ObjectId::new()).collect();
    let documents = customers.iter().enumerate().map(|(at, id)| {
        doc! { "_id": id, "name": format!("Customer {at}"), "email": format!("c{at}@shop.example"), "city": format!("City {}", at % 300) }
    });
    db.collection("customers").insert_many(documents).await?;
    let orders = db.collection::<Document>("orders");
    for from in (0..number).step_by(5_000) {
        let documents = (from..number.min(from + 5_000)).map(|n| order(n, &customers));
        orders.insert_many(documents).ordered(false).await?;
    }
    Ok(())
}

fn order(n: u64, customers: &[ObjectId]) -> Document {
    let at = (n.wrapping_mul(2_654_435_761) % customers.len() as u64) as usize;
    let lines: Vec<Document> = (0..n % 4 + 1)
        .map(|line| {
            let item = (n * 7 + line * 13) % 5_000;
            doc! { "sku": format!("SKU-{item:05}"), "title": format!("Item number {item}"), "quantity": (line + 1) as i32, "price": item as f64 / 100.0 }
        })
        .collect();
    let status = ["new", "paid", "sent", "returned"][(n % 4) as usize];
    let mut order = doc! {
        "number": n as i64,
        "customer": customers[at],
        "customer_name": format!("Customer {at}"),
        "status": status,
        "placed_at": bson::DateTime::from_millis(1_700_000_000_000 + n as i64 * 1_000),
        "lines": lines,
        "address": { "street": format!("Street {}", n % 977), "city": format!("City {}", n % 300), "zip": format!("{:05}", n % 99_999) },
        "total": (n % 10_000) as f64 / 10.0,
    };
    if n.is_multiple_of(3) {
        order.insert("note", format!("Please ring the bell {} times", n % 17));
    }
    order
}

async fn keys(db: &Database, number: u64) -> Result<()> {
    let wide = db.collection::<Document>("wide");
    let prices = db.collection::<Document>("prices");
    for from in (0..number).step_by(5_000) {
        let of = |n: u64| doc! { "_id": n as i64, "kind": "x", format!("key_{n}"): n as i64, "at": { format!("day_{n}"): "text" } };
        wide.insert_many((from..number.min(from + 5_000)).map(of)).await?;
        let of = |n: u64| {
            let entries = (0..10).map(|i| {
                (
                    format!("sku-{}", (n * 10 + i) % number),
                    bson::Bson::from(doc! { "price": i as i32, "stock": n as i64 }),
                )
            });
            doc! { "_id": n as i64, "entries": entries.collect::<Document>() }
        };
        prices
            .insert_many((from..number.min(from + 5_000)).map(of))
            .await?;
    }
    Ok(())
}

async fn plain(db: &Database) -> Result<()> {
    let options = ReadOptions {
        sample: None,
        ..ReadOptions::default()
    };
    let source = Source::new(db, options);
    for collection in source.collections().await? {
        let begun = Instant::now();
        let mut bytes = 0;
        let read = source
            .pass(&collection, &mut |document| bytes += document.as_bytes().len())
            .await?;
        println!(
            "{}: {read} documents, {} MB, plain read {:.2?}",
            collection.name,
            bytes / 1_000_000,
            begun.elapsed()
        );
    }
    memory();
    Ok(())
}

async fn read(db: &Database, state: Option<String>) -> Result<()> {
    let told: Arc<Mutex<Vec<(String, Instant, Instant)>>> = Arc::default();
    let progress = {
        let told = told.clone();
        move |collection: &str, read: u64, of: u64| {
            let now = Instant::now();
            let mut told = told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match told.last_mut() {
                Some(last) if last.0 == collection => last.2 = now,
                _ => told.push((collection.to_owned(), now, now)),
            }
            if state_is_wanted() {
                eprintln!("{collection} {read} {of} {}", resident());
            }
        }
    };
    let options = ReadOptions {
        sample: None,
        state: state.map(Into::into),
        progress: Some(Arc::new(progress)),
        ..ReadOptions::default()
    };
    let begun = Instant::now();
    let design = odm_introspect::introspect(&Source::new(db, options)).await?;
    let whole = begun.elapsed();
    for (collection, from, to) in &*told.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        println!("{collection}: first pass {:.2?}", *to - *from);
    }
    println!("all: {whole:.2?}");
    for note in &design.notes {
        println!("note: {note}");
    }
    for collection in &design.collections {
        let mut paths = 0;
        collection.root.walk(&mut |_| paths += 1);
        println!(
            "{}: {} documents, {paths} paths",
            collection.name, collection.read
        );
        collection.root.walk(&mut |field| {
            if let Some(map) = &field.map {
                println!("  map {}: {} keys: {}", field.path, map.keys, map.evidence);
            }
        });
    }
    for reference in &design.references {
        println!(
            "  {:?} -> {:?}: {} of {}",
            reference.from, reference.to, reference.found, reference.values
        );
    }
    if let Ok(path) = std::env::var("DESIGN") {
        std::fs::write(path, serde_json::to_vec_pretty(&design)?)?;
    }
    memory();
    Ok(())
}

fn state_is_wanted() -> bool {
    std::env::var_os("TOLD").is_some()
}

fn resident() -> String {
    line("VmRSS:")
}

fn memory() {
    println!("greatest memory: {}", line("VmHWM:"));
}

fn line(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    line.trim_start_matches(name).trim().to_owned()
}

//! The chapters on copies, subsets, computed fields, buckets, outliers and trees: each shows the models that its samples use, the
//! documents as they are stored, and what is sent for each operation.

use mongodb::bson::{Bson, DateTime, Document as Raw, oid::ObjectId};
use mongodb::event::{EventHandler, command::CommandEvent};
use mongodb::options::{ClientOptions, WriteConcern};
use mongodb::{Client, Database};
use odm::prelude::*;
use odm_book::designs;
use std::sync::{Arc, Mutex};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}

/// The names of the commands that were sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|error| error.into_inner()))
    }

    fn handler(&self) -> EventHandler<CommandEvent> {
        let sent = self.0.clone();
        EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event
                && !["endSessions", "hello", "isMaster", "ping"].contains(&started.command_name.as_str())
            {
                let name = started.command_name.replace("commitTransaction", "commit");
                sent.lock().unwrap_or_else(|error| error.into_inner()).push(name);
            }
        })
    }
}

/// Runs a test on a database of its own.
fn with_db(test: impl AsyncFnOnce(Database, Sent)) {
    let uri = std::env::var("MONGODB_URI").expect("no MongoDB server: set MONGODB_URI");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let sent = Sent::default();
        let mut options = ClientOptions::parse(uri).await.expect("MONGODB_URI is usable");
        options.command_event_handler = Some(sent.handler());
        options.write_concern.get_or_insert_with(WriteConcern::majority);
        let client = Client::with_options(options).expect("MONGODB_URI is usable");
        let db = client.database(&format!("odm_book_{}", ObjectId::new().to_hex()));
        test(db.clone(), sent).await;
        db.drop().await.expect("the database can be dropped");
    });
}

/// The same on a replica set, as the chapters assume; else the test is skipped.
fn with_transactions(test: impl AsyncFnOnce(Database, Sent)) {
    with_db(async |db, sent| {
        let odm = Odm::new(db.clone(), []).expect("a handle");
        odm_tests::require_transactions(&odm).await;
        odm_tests::require_no_cluster(&odm).await;
        test(db, sent).await;
    });
}

// ---- what is shown ----

/// The text without whitespace, with the values left out that differ each time: ids and versions that the library makes.
fn normal(text: &str) -> String {
    let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut normal = String::new();
    let mut rest = dense.as_str();
    while let Some((before, behind)) = rest.split_once("('") {
        let (value, behind) = behind.split_once("')").unwrap_or((behind, ""));
        let varies = before.ends_with("ObjectId") || (before.ends_with("Long") && value.len() > 14);
        normal += &format!("{before}('{}')", if varies { "" } else { value });
        rest = behind;
    }
    normal + rest
}

/// The fields and values of a document, whatever their order.
fn fields(text: &str) -> Vec<String> {
    normal(text)
        .split([',', '{', '}', '[', ']'])
        .filter(|field| !field.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A stored value as `mongosh` prints it, in one line.
fn printed(value: &Bson) -> String {
    match value {
        Bson::Document(document) => {
            let fields = document
                .iter()
                .map(|(name, value)| format!("{name}: {}", printed(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Bson::Array(items) if items.is_empty() => "[]".into(),
        Bson::Array(items) => format!("[ {} ]", items.iter().map(printed).collect::<Vec<_>>().join(", ")),
        Bson::String(text) => format!("'{text}'"),
        Bson::Int32(n) => n.to_string(),
        Bson::Int64(n) => format!("Long('{n}')"),
        Bson::Double(n) => n.to_string(),
        Bson::Boolean(yes) => yes.to_string(),
        Bson::Null => "null".into(),
        Bson::ObjectId(id) => format!("ObjectId('{id}')"),
        Bson::DateTime(time) => {
            let text = time.try_to_rfc3339_string().expect("a date");
            assert!(!text.contains('.'), "the samples have whole seconds: {text}");
            format!("ISODate('{}.000Z')", text.trim_end_matches('Z'))
        }
        other => panic!("a sample stores {other:?}"),
    }
}

/// The documents that a page shows: each behind a line `// db.products.findOne({ _id: 1 })`.
fn shown(page: &str) -> Vec<(String, Raw, String)> {
    let mut documents: Vec<(String, Raw, String)> = Vec::new();
    for block in page.split("\n```js\n").skip(1) {
        for line in block.split("\n```").next().unwrap_or_default().lines() {
            let Some(query) = line.strip_prefix("// db.") else {
                let (_, _, text) = documents.last_mut().expect("the query stands above its document");
                *text += &format!("{line}\n");
                continue;
            };
            let (collection, filter) = query.split_once(".findOne(").expect("a query for one document");
            let filter = filter.trim_end_matches(')').trim_matches(['{', '}', ' ']);
            let mut condition = Raw::new();
            for (name, value) in filter.split(", ").filter_map(|pair| pair.split_once(": ")) {
                condition.insert(name, value.parse::<i32>().expect("a number"));
            }
            documents.push((collection.to_owned(), condition, String::new()));
        }
    }
    documents
}

/// Compares the documents that a page shows with the stored ones. A line `// …` stands for what is left out.
async fn compare_stored(page: &str, db: &Database) {
    let shown = shown(page);
    assert!(!shown.is_empty(), "the page shows no document");
    let mut wrong = String::new();
    for (collection, filter, text) in shown {
        let found = db.collection::<Raw>(&collection).find_one(filter.clone()).await;
        let found = found.expect("a find").expect("the document is there");
        let stored = printed(&Bson::Document(found));
        // The order of fields that an update adds is the server's.
        let is_whole = !text.contains("// …");
        let shown: String = text
            .split_inclusive('\n')
            .filter(|line| !line.trim().starts_with("// …"))
            .collect();
        let (mut stored_fields, shown_fields) = (fields(&stored), fields(&shown));
        let is_there = shown_fields.iter().all(|field| {
            let at = stored_fields.iter().position(|stored| stored == field);
            at.map(|at| stored_fields.swap_remove(at)).is_some()
        });
        if !is_there || (is_whole && !stored_fields.is_empty()) {
            wrong += &format!("// db.{collection}.findOne({filter})\n{stored}\n");
        }
    }
    assert!(
        wrong.is_empty(),
        "the page shows other documents than are stored:\n{wrong}"
    );
}

/// The rows of a table `| operation | statements sent | round trips | index used |`, compared with what is sent.
struct Measured<'a> {
    page: &'a str,
    sent: Sent,
    rows: Vec<(String, String)>,
}

impl<'a> Measured<'a> {
    fn new(page: &'a str, sent: Sent) -> Measured<'a> {
        sent.take();
        Measured {
            page,
            sent,
            rows: Vec::new(),
        }
    }

    /// Adds a row for this operation, with the statements since the last row.
    fn row(&mut self, operation: &str) {
        let sent = self.sent.take();
        let mut statements: Vec<(usize, String)> = Vec::new();
        for name in &sent {
            match statements.last_mut() {
                Some((times, last)) if last == name => *times += 1,
                _ => statements.push((1, name.clone())),
            }
        }
        let statements = statements.iter().map(|(times, name)| match times {
            1 => name.clone(),
            _ => format!("{times} {name}"),
        });
        let statements = statements.collect::<Vec<_>>().join(", ");
        let row = format!("| {operation} | {statements} | {} |", sent.len());
        self.rows.push((operation.to_owned(), row));
    }

    /// Forgets the statements since the last row, which only prepared the next one.
    fn prepared(&mut self) {
        self.sent.take();
    }

    async fn compare(self, db: &Database) {
        let (_, table) = self
            .page
            .split_once(
                "\n| operation | statements sent | round trips | index used |\n| --- | --- | --- | --- |\n",
            )
            .expect("the page has a table");
        let table: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let measured: Vec<&str> = self.rows.iter().map(|(_, row)| row.as_str()).collect();
        let same = table.len() == measured.len()
            && table
                .iter()
                .zip(&measured)
                .all(|(line, row)| line.starts_with(row));
        assert!(
            same,
            "the table and what is sent differ:\n{}\n---\n{}",
            table.join("\n"),
            measured.join("\n")
        );
        // The last column names indexes that `sync` has created.
        let mut indexes = vec!["_id".to_owned()];
        for collection in db.list_collection_names().await.expect("the collections") {
            let names = db.collection::<Raw>(&collection).list_index_names().await;
            indexes.extend(names.expect("the indexes"));
        }
        for name in table.iter().filter_map(|line| line.rsplit('|').nth(1)) {
            for name in name.split('`').skip(1).step_by(2) {
                assert!(
                    indexes.iter().any(|index| index == name),
                    "no index {name}: {indexes:?}"
                );
            }
        }
    }
}

/// That the server uses the index. SecantusDB in Python, which names itself as the host of its plans, plans otherwise.
fn indexed(explain: &odm::query::Explain, index: &str) {
    let host = explain
        .raw
        .get_document("serverInfo")
        .and_then(|info| info.get_str("host"));
    if host.is_ok_and(|host| host == "secantus") {
        return;
    }
    assert_eq!(explain.indexes, [index], "{explain:?}");
}

/// A page whose samples show the lines that mdBook hides.
fn with_hidden_lines(page: &str) -> String {
    page.replace("\n# ", "\n").replace("\n#\n", "\n\n")
}

#[odm_tests::test]
fn chapters_show_the_models_that_their_samples_use() {
    for (page, module) in [
        (COPIES, include_str!("../designs/copies.rs")),
        (EXTENDED, include_str!("../designs/extended_reference.rs")),
        (SUBSET, include_str!("../designs/subset.rs")),
        (COMPUTED, include_str!("../designs/computed.rs")),
        (BUCKETS, include_str!("../designs/buckets.rs")),
        (BUCKETS, include_str!("../designs/bucket_by_time.rs")),
        (OUTLIER, include_str!("../designs/outlier.rs")),
        (TREE, include_str!("../designs/tree.rs")),
    ] {
        let begin = module.find("#[derive").expect("a model");
        let end = module.find("\n/// Some ").expect("some data");
        assert!(
            with_hidden_lines(page).contains(module[begin..end].trim()),
            "the page shows other models:\n{module}"
        );
    }
    // Without what rustfmt changes: the page has another width.
    let dense = |text: &str| {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        text.replace(",}", "}").replace(",)", ")")
    };
    let (module, page) = (
        include_str!("../designs/tree.rs"),
        dense(&with_hidden_lines(TREE)),
    );
    let functions = &module[module.find("/// The path to the children").expect("functions")..];
    for function in functions.split("\n\n///") {
        let function = dense(&function.replace("pub ", ""));
        assert!(
            page.contains(&function),
            "the page shows another function:\n{function}"
        );
    }
}

const COPIES: &str = include_str!("../src/copies.md");
const EXTENDED: &str = include_str!("../src/designs/extended-reference.md");
const SUBSET: &str = include_str!("../src/designs/subset.md");
const COMPUTED: &str = include_str!("../src/designs/computed.md");
const BUCKETS: &str = include_str!("../src/designs/buckets.md");
const OUTLIER: &str = include_str!("../src/designs/outlier.md");
const TREE: &str = include_str!("../src/designs/tree.md");

// ---- what is stored and sent ----

#[odm_tests::test]
fn copies() {
    use designs::copies::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        compare_stored(COPIES, &db).await;
        let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
        let mut measured = Measured::new(COPIES, sent);
        let new = NewPart {
            id: 3,
            name: "fan".into(),
            qty: 1,
            supplier: Ref::new(1),
        };
        parts.insert(new).await.expect("a part");
        measured.row("insert a part");
        let new = NewProduct {
            id: 2,
            name: "hook".into(),
            parts: vec![Ref::new(1), Ref::new(2)],
        };
        products.insert(new).await.expect("a product");
        measured.row("insert a product with two parts");
        products.get(1).await.expect("a product");
        measured.row("read a product");
        let by_maker = || products.find(|p| p.parts.maker.eq("Acme")).sort(|p| p.name.asc());
        by_maker().page(20).await.expect("a page");
        measured.row("a page of the products of a maker");
        indexed(&by_maker().explain().await.expect("explained"), "parts.maker_1");
        measured.prepared();
        let one = products.get(1).await.expect("a product").expect("there");
        measured.prepared();
        one.parts.load(&odm).await.expect("its parts");
        measured.row("join the parts of a product");
        parts.update(1).set(|p| p.name, "bolt").await.expect("renamed");
        measured.row("change the name of a part that two products have");
        parts.update(1).inc(|p| p.qty, -1).await.expect("counted");
        measured.row("change a field that is not copied");
        let suppliers = odm.collection::<Supplier>();
        suppliers
            .update(1)
            .set(|s| s.name, "Best")
            .await
            .expect("renamed");
        measured.row("change the name of a supplier of three parts");
        products
            .update(1)
            .push(|p| p.parts, Ref::new(3))
            .await
            .expect("pushed");
        measured.row("push a part");
        products
            .update(1)
            .pull(|p| p.parts, Ref::new(3))
            .await
            .expect("pulled");
        measured.row("pull a part");
        parts.delete(3).await.expect("deleted");
        measured.row("delete a part that no product has");
        measured.compare(&db).await;
    });
}

#[odm_tests::test]
fn extended_reference() {
    use designs::extended_reference::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        compare_stored(EXTENDED, &db).await;
        let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
        let mut measured = Measured::new(EXTENDED, sent);
        let new = NewOrder {
            id: 9,
            placed: DateTime::from_millis(0),
            total: 1,
            customer: Ref::new(1),
            ship_to: Ref::new(1),
        };
        orders.insert(new).await.expect("an order");
        measured.row("place an order");
        orders.get(7).await.expect("an order");
        measured.row("read an order");
        let hers = || orders.children_of(Ref::<Customer>::new(1));
        hers().page(20).await.expect("a page");
        measured.row("a page of the orders of a customer");
        indexed(
            &hers().explain().await.expect("explained"),
            "customer.id_1_placed_-1",
        );
        measured.prepared();
        customers
            .update(1)
            .set(|c| c.name, "Kate")
            .await
            .expect("renamed");
        measured.row("change the name of a customer with three orders");
        let address = Address {
            street: "1 Main St".into(),
            city: "Boston".into(),
        };
        customers
            .update(1)
            .set(|c| c.address, address)
            .await
            .expect("moved");
        measured.row("change the address, which is only frozen");
        orders.update(7).set(|o| o.total, 2).await.expect("changed");
        measured.row("change another field of an order");
        orders
            .update(7)
            .set(|o| o.ship_to, Ref::new(1))
            .await
            .expect("frozen");
        measured.row("freeze the present address");
        orders.delete(7).await.expect("deleted");
        measured.row("delete an order");
        assert!(customers.delete(1).await.is_err());
        measured.row("delete a customer with orders, refused");
        measured.compare(&db).await;
    });
}

#[odm_tests::test]
fn subset() {
    use designs::subset::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        compare_stored(SUBSET, &db).await;
        let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
        let mut measured = Measured::new(SUBSET, sent);
        let review = |id: i32| NewReview {
            id,
            product: Ref::new(1),
            date: DateTime::from_millis(i64::from(id) * 86_400_000),
            stars: 3,
            text: "new".into(),
        };
        reviews.insert(review(13)).await.expect("a review");
        measured.row("insert a review");
        reviews
            .insert_many((14..24).map(review))
            .await
            .expect("ten reviews");
        measured.row("insert ten reviews");
        products.get(1).await.expect("a product");
        measured.row("read the product with its newest ten");
        let all = || reviews.children_of(Ref::<Product>::new(1));
        all().page(5).await.expect("a page");
        measured.row("a page of all reviews");
        let explain = all().explain().await.expect("explained");
        indexed(&explain, "product_1_date_-1__id_-1");
        measured.prepared();
        reviews
            .update(23)
            .set(|r| r.text, "edited")
            .await
            .expect("edited");
        measured.row("change the text of a review");
        reviews.update(23).set(|r| r.stars, 5).await.expect("rated");
        measured.row("change a field that is not in the subset");
        let date = DateTime::from_millis(0);
        reviews.update(23).set(|r| r.date, date).await.expect("dated");
        measured.row("change the date of a review");
        reviews.delete(22).await.expect("deleted");
        measured.row("delete a review");
        products
            .update(1)
            .set(|p| p.name, "Widget")
            .await
            .expect("renamed");
        measured.row("change another field of the product");
        products.delete(1).await.expect("deleted");
        measured.row("delete the product with its reviews");
        measured.compare(&db).await;
    });
}

#[odm_tests::test]
fn computed() {
    use designs::computed::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        odm_tests::require_lookup_with_pipeline(&odm).await;
        compare_stored(COMPUTED, &db).await;
        let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
        let mut measured = Measured::new(COMPUTED, sent);
        let review = |id: i32| NewReview {
            id,
            product: Ref::new(1),
            date: DateTime::from_millis(i64::from(id) * 86_400_000),
            stars: 3,
            helpful: 0,
            text: "new".into(),
        };
        reviews.insert(review(4)).await.expect("a review");
        measured.row("insert a review");
        reviews
            .insert_many((5..15).map(review))
            .await
            .expect("ten reviews");
        measured.row("insert ten reviews");
        products.get(1).await.expect("a product");
        measured.row("read the product");
        let top = || products.find(|p| p.reviews.gte(1)).sort(|p| p.reviews.desc());
        top().page(20).await.expect("a page");
        measured.row("a page of the products with the most reviews");
        indexed(&top().explain().await.expect("explained"), "reviews_1");
        measured.prepared();
        reviews.update(4).set(|r| r.stars, 1).await.expect("rated");
        measured.row("change the stars of a review");
        reviews.update(4).inc(|r| r.helpful, 1).await.expect("helped");
        measured.row("change a number that is summed alone");
        reviews.delete(4).await.expect("deleted");
        measured.row("delete a review");
        let new = NewProduct {
            id: 2,
            name: "Mega Widget".into(),
        };
        products.insert(new).await.expect("a product");
        measured.prepared();
        reviews
            .update(5)
            .set(|r| r.product, Ref::new(2))
            .await
            .expect("moved");
        measured.row("move a review to another product");
        products
            .update(1)
            .set(|p| p.name, "Widget")
            .await
            .expect("renamed");
        measured.row("change another field of the product");
        measured.compare(&db).await;
    });
}

#[odm_tests::test]
fn buckets() {
    use designs::{bucket_by_time as time, buckets as count};
    with_db(async |db, sent| {
        let odm = count::stocked(db.clone()).await.expect("some data");
        let sensors = time::stocked(db.clone()).await.expect("some data");
        compare_stored(BUCKETS, &db).await;
        let comments = odm.buckets::<count::Comment>();
        let readings = sensors.buckets::<time::Reading>();
        let mut measured = Measured::new(BUCKETS, sent);
        let post = Ref::<count::Post>::new(1);
        let id = ObjectId::new();
        let comment = || count::Comment {
            id,
            name: "Kate".into(),
            stars: 3,
            text: "Nice".into(),
            at: DateTime::from_millis(0),
        };
        comments.push(post, comment()).await.expect("pushed");
        measured.row("push a comment");
        comments
            .push_many(post, (0..48).map(|_| comment()))
            .await
            .expect("pushed");
        measured.prepared();
        comments.push(post, comment()).await.expect("pushed");
        measured.row("the push that begins a page, one in 50");
        comments
            .push_many(post, (0..120).map(|_| comment()))
            .await
            .expect("pushed");
        measured.row("import 120 comments");
        comments.page(post, 2).await.expect("a page");
        measured.row("read a page");
        comments.count(post).await.expect("a number");
        measured.row("count the comments of a post");
        let of_post = || {
            comments
                .collection()
                .find(|b| b.post.eq(post))
                .sort(|b| b.page.asc())
        };
        indexed(&of_post().explain().await.expect("explained"), "post_1_page_1");
        measured.prepared();
        let sensor = Ref::<time::Sensor>::new(1);
        let minute = |n: i64| DateTime::from_millis(n * 60_000);
        let reading = time::Reading {
            at: minute(91),
            celsius: 20.0,
        };
        readings.push(sensor, reading).await.expect("pushed");
        measured.row("push a reading");
        readings
            .range(sensor, minute(55)..minute(65))
            .await
            .expect("a period");
        measured.row("read a period");
        let mean = || {
            let of_sensor = |b: time::ReadingBucketFields| b.sensor.eq(sensor) & b.start.gte(minute(0));
            readings.collection().find(of_sensor).sort(|b| b.start.asc())
        };
        mean().all().await.expect("hours");
        measured.row("the means of hours");
        indexed(
            &mean().explain().await.expect("explained"),
            "sensor_1_start_1_page_1",
        );
        measured.prepared();
        // In one page, the last one.
        let last = comments.pages(post).await.expect("pages").pop().expect("a page");
        measured.prepared();
        let mine = ObjectId::new();
        let one = count::Comment {
            id: mine,
            ..comment()
        };
        comments.push(post, one).await.expect("pushed");
        assert!(last.count < 50);
        measured.prepared();
        let edit = comments.edit(post, |c| c.id.eq(mine), |c| c.set(|c| c.text, "edited"));
        edit.await.expect("edited");
        measured.row("change the text of a comment");
        let edit = comments.edit(post, |c| c.id.eq(mine), |c| c.set(|c| c.stars, 1));
        edit.await.expect("rated");
        measured.row("change its stars, which are summed");
        comments.delete(post, |c| c.id.eq(mine)).await.expect("deleted");
        measured.row("delete a comment");
        let old = sensors.collection::<time::ReadingBucket>();
        let old = old.delete_where(|b| b.sensor.eq(sensor) & b.start.lt(minute(60)));
        assert_eq!(old.await.expect("deleted").deleted, 1);
        measured.row("delete the hours of a sensor before a time");
        odm.collection::<count::Post>().delete(1).await.expect("deleted");
        measured.row("delete a post with its comments");
        measured.compare(&db).await;
    });
}

#[odm_tests::test]
fn outlier() {
    use designs::outlier::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        compare_stored(OUTLIER, &db).await;
        let (books, buyers) = (odm.collection::<Book>(), odm.buckets::<Buyer>());
        let mut measured = Measured::new(OUTLIER, sent);
        let buyer = || Buyer {
            name: "Kate".into(),
            at: DateTime::from_millis(0),
        };
        books.update(2).push(|b| b.buyers, buyer()).await.expect("pushed");
        measured.row("add a buyer to a usual book");
        assert!(books.update(1).push(|b| b.buyers, buyer()).await.is_err());
        measured.row("the push that is refused: `ArrayFull`");
        let dune = Ref::<Book>::new(1);
        buyers.push(dune, buyer()).await.expect("pushed");
        measured.row("add a buyer to an outlier");
        buyers
            .push_many(dune, (0..47).map(|_| buyer()))
            .await
            .expect("pushed");
        measured.prepared();
        buyers.push(dune, buyer()).await.expect("pushed");
        measured.row("the same, one in 50: a new bucket");
        books.get(2).await.expect("a book");
        measured.row("read a book");
        buyers.page(dune, 1).await.expect("a page");
        measured.row("read a further page of an outlier");
        let title = |b: BookFields| b.buyers.name.eq("a stranger");
        books
            .update(1)
            .pull_where(|b| b.buyers, |b| b.name.eq("buyer 3"))
            .await
            .expect("pulled");
        measured.row("remove a buyer who is in the book");
        buyers
            .delete(dune, |b| b.name.eq("buyer 50"))
            .await
            .expect("deleted");
        measured.row("remove a buyer who is in a bucket");
        assert_eq!(books.find(title).count().await.expect("a number"), 0);
        measured.prepared();
        books.delete(1).await.expect("deleted");
        measured.row("delete an outlier with its two buckets");
        measured.compare(&db).await;
        assert!(odm.audit().await.expect("an audit").is_clean());
    });
}

#[odm_tests::test]
fn tree() {
    use designs::tree::*;
    with_transactions(async |db, sent| {
        let odm = stocked(db.clone()).await.expect("some data");
        compare_stored(TREE, &db).await;
        let categories = odm.collection::<Category>();
        let mut measured = Measured::new(TREE, sent);
        add(&odm, 6, "Rust", 4).await.expect("added");
        measured.row("insert a category with three ancestors, by `add`");
        categories.get(3).await.expect("a category");
        measured.row("breadcrumbs");
        let children = || categories.children_of(Ref::<Category>::new(2));
        children().page(20).await.expect("a page");
        measured.row("a page of the children");
        indexed(&children().explain().await.expect("explained"), "parent_1_name_1");
        measured.prepared();
        let below = || categories.find(|c| c.ancestors.contains(Ref::new(1)));
        below().all().await.expect("a subtree");
        measured.row("the subtree");
        indexed(
            &below().explain().await.expect("explained"),
            "ancestors.id_1__id_1",
        );
        measured.prepared();
        categories
            .update(2)
            .set(|c| c.name, "Software")
            .await
            .expect("renamed");
        measured.row("rename a category with three below it");
        move_below(&odm, 2, 5).await.expect("moved");
        measured.row("move a category with three below it");
        assert!(categories.delete(2).await.is_err());
        measured.row("delete a category with children, refused");
        categories.delete(6).await.expect("deleted");
        measured.row("delete a leaf");
        let all = |c: CategoryFields| c.id.eq(2) | c.ancestors.contains(Ref::new(2));
        categories.delete_where(all).await.expect("deleted");
        measured.row("delete a category and the two below it");
        measured.compare(&db).await;
    });
}

/// Moves of two categories below each other, at once: one is made, and the other one is refused.
#[odm_tests::test]
fn concurrent_moves_make_no_circle() {
    use designs::tree::*;
    with_transactions(async |db, _| {
        for round in 0..5 {
            let db = db.client().database(&format!("{}_{round}", db.name()));
            let odm = stocked(db.clone()).await.expect("some data");
            // Of two handles, which don't queue up.
            let other = Odm::new(db.clone(), models![Category]).expect("models");
            let (first, second) = futures::join!(move_below(&odm, 1, 5), move_below(&other, 5, 3));
            assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
            let third = futures::join!(move_below(&odm, 4, 3), add(&other, 7, "Rust", 4));
            third.0.expect("moved");
            third.1.expect("added");
            let all = odm.collection::<Category>().find_all().include(|c| c.parent);
            for (category, parent) in all.all().await.expect("categories") {
                let path: Vec<_> = category.ancestors.iter().map(|ancestor| ancestor.id).collect();
                assert_eq!(
                    path,
                    parent.as_ref().map(path_below).unwrap_or_default(),
                    "{category:?}"
                );
            }
            assert!(odm.audit().await.expect("an audit").is_clean());
            db.drop().await.expect("dropped");
        }
    });
}

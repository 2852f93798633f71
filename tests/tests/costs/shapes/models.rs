//! The documents of the shapes, without and with hooks, and the operations on them.

/// Rows: the name of an operation, the document at which it may be contended, and the operation.
macro_rules! rows {
    ($($name:literal $([$collection:literal $id:literal])? |$on:ident| $work:expr;)*) => {
        vec![$(row(
            $name,
            rows!(@ $($collection $id)?),
            |$on: On| Box::pin(async move { $work.await.map(drop) }),
        )),*]
    };
    (@ $collection:literal $id:literal) => { Some(($collection, $id)) };
    (@) => { None };
}

/// Declares the documents and the operations; what is given stands at the end of each declaration of a document.
macro_rules! declare {
    ($($hooks:tt)*) => {
        use super::models::rows;
        use super::{Row, row};
        use odm::__private::SwitchBulk as _;
        use odm::bson::doc;
        use odm::prelude::*;
        use odm_tests::fixtures::operations::{On, ignore_case};

        #[allow(dead_code, reason = "one of the two sets of documents has hooks")]
        async fn allow<T: Document>(_: odm::hooks::InTransaction<T>) -> odm::Result<()> {
            Ok(())
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "notes", version $($hooks)*)]
        pub struct Note {
            pub id: i64,
            pub text: String,
            #[embed(max = 3)]
            pub lines: Vec<String>,
            pub version: i64,
        }

        #[derive(Embed, Clone, Debug, PartialEq)]
        #[bucket(of = Note, size = 3, sum(size))]
        pub struct Line {
            pub n: i64,
            pub size: i32,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "tools" $($hooks)*)]
        pub struct Tool {
            pub id: i64,
            #[index(unique)]
            pub code: String,
            pub note: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "loans" $($hooks)*)]
        pub struct Loan {
            pub id: i64,
            #[reference(on_delete = restrict)]
            pub tool: Ref<Tool>,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "hosts" $($hooks)*)]
        pub struct Host {
            pub id: i64,
            pub name: String,
            pub remark: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "messages" $($hooks)*)]
        pub struct Message {
            pub id: i64,
            #[reference(on_delete = cascade)]
            pub host: Ref<Host>,
            #[denormalize(from = host.name)]
            pub host_name: String,
            pub text: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "parts" $($hooks)*)]
        pub struct Part {
            pub id: i64,
            pub name: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "products" $($hooks)*)]
        pub struct Product {
            pub id: i64,
            #[reference(many, max = 3, on_delete = pull)]
            #[denormalize(from = Part, fields(name: String))]
            pub parts: Vec<PartEntry>,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "customers" $($hooks)*)]
        pub struct Customer {
            pub id: i64,
            pub name: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "orders" $($hooks)*)]
        pub struct Order {
            pub id: i64,
            #[reference(on_delete = nullify)]
            pub customer: Option<Ref<Customer>>,
            #[denormalize(from = customer.name, consistency = eventual)]
            pub customer_name: Option<String>,
            pub note: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "films" $($hooks)*)]
        pub struct Film {
            pub id: i64,
            pub title: String,
            #[subset(of = Review, limit = 2, order(-day), fields(day: i64))]
            pub newest: Vec<ReviewEntry>,
            #[computed(count = Review)]
            pub reviews: i64,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "reviews" $($hooks)*)]
        pub struct Review {
            pub id: i64,
            #[parent_ref(on_delete = cascade)]
            pub film: Ref<Film>,
            pub day: i64,
            pub text: String,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "people" $($hooks)*)]
        pub struct Person {
            pub id: i64,
            pub name: String,
            #[reference(many, inverse = owner, max = 4)]
            pub tasks: Vec<Ref<Task>>,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "tasks" $($hooks)*)]
        pub struct Task {
            pub id: i64,
            pub text: String,
            #[reference(inverse = tasks)]
            pub owner: Option<Ref<Person>>,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "albums", soft_delete $($hooks)*)]
        pub struct Album {
            pub id: i64,
            pub title: String,
            pub deleted_at: Option<DateTime>,
        }

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "photos", soft_delete $($hooks)*)]
        pub struct Photo {
            pub id: i64,
            #[parent_ref(on_delete = cascade)]
            pub album: Ref<Album>,
            pub deleted_at: Option<DateTime>,
        }

        pub fn models() -> Vec<odm::Model> {
            models![
                Note, LineBucket, Tool, Loan, Host, Message, Part, Product, Customer, Order, Film, Review, Person, Task,
                Album, Photo,
            ]
            .into()
        }

        fn note(id: i64) -> NewNote {
            NewNote { id, text: String::new(), lines: vec!["a".to_owned()] }
        }

        fn tool(id: i64) -> Tool {
            Tool { id, code: format!("t{id}"), note: String::new() }
        }

        fn loan(id: i64, tool: i64) -> Loan {
            Loan { id, tool: Ref::new(tool) }
        }

        fn host(id: i64) -> Host {
            Host { id, name: String::new(), remark: String::new() }
        }

        fn message(id: i64, host: i64) -> NewMessage {
            NewMessage { id, host: Ref::new(host), text: String::new() }
        }

        fn product(id: i64, parts: &[i64]) -> NewProduct {
            NewProduct { id, parts: parts.iter().copied().map(Ref::new).collect() }
        }

        fn order(id: i64, customer: i64) -> NewOrder {
            NewOrder { id, customer: Some(Ref::new(customer)), note: String::new() }
        }

        fn review(id: i64, film: i64) -> Review {
            Review { id, film: Ref::new(film), day: id, text: String::new() }
        }

        fn person(id: i64, tasks: &[i64]) -> Person {
            let tasks = tasks.iter().copied().map(Ref::new).collect();
            Person { id, name: String::new(), tasks }
        }

        fn task(id: i64, owner: Option<i64>) -> Task {
            Task { id, text: String::new(), owner: owner.map(Ref::new) }
        }

        fn photo(id: i64, album: i64) -> NewPhoto {
            NewPhoto { id, album: Ref::new(album) }
        }

        fn line(n: i64) -> Line {
            Line { n, size: 1 }
        }

        /// Ten documents of each kind of parent or source, with two children or holders each, which the operations take one after the
        /// other.
        pub async fn fill(odm: Odm) -> odm::Result<()> {
            let of = |id: i64| [(10 * id, id), (10 * id + 1, id)];
            let ids = || 1..=10_i64;
            odm.collection::<Note>().insert_many(ids().map(note)).await?;
            odm.collection::<Tool>().insert_many(ids().map(tool)).await?;
            odm.collection::<Loan>().insert_many((1..=5).flat_map(of).map(|(id, tool)| loan(id, tool))).await?;
            odm.collection::<Host>().insert_many(ids().map(host)).await?;
            let messages = ids().flat_map(of).map(|(id, host)| message(id, host));
            odm.collection::<Message>().insert_many(messages).await?;
            odm.collection::<Message>().insert(message(12, 1)).await?;
            let part = |id| Part { id, name: String::new() };
            odm.collection::<Part>().insert_many(ids().map(part)).await?;
            odm.collection::<Product>().insert_many(ids().map(|id| product(id, &[id]))).await?;
            odm.collection::<Product>().insert(product(20, &[1, 2, 3])).await?;
            let customer = |id| Customer { id, name: String::new() };
            odm.collection::<Customer>().insert_many(ids().map(customer)).await?;
            odm.collection::<Order>().insert_many(ids().flat_map(of).map(|(id, of)| order(id, of))).await?;
            let film = |id| NewFilm { id, title: String::new() };
            odm.collection::<Film>().insert_many(ids().map(film)).await?;
            odm.collection::<Review>().insert_many(ids().flat_map(of).map(|(id, film)| review(id, film))).await?;
            odm.collection::<Person>().insert_many(ids().map(|id| person(id, &[]))).await?;
            let tasks = ids().flat_map(of).map(|(id, owner)| task(id, Some(owner)));
            odm.collection::<Task>().insert_many(tasks).await?;
            odm.collection::<Task>().insert_many((1..=4).map(|id| task(id, None))).await?;
            let album = |id| NewAlbum { id, title: String::new() };
            odm.collection::<Album>().insert_many(ids().map(album)).await?;
            odm.collection::<Photo>().insert_many(ids().flat_map(of).map(|(id, album)| photo(id, album))).await?;
            // What other programs have written: a document that the validator refuses, copies and derived values that differ from
            // their sources, and a link with one side.
            let raw = |name: &str| odm.database().collection::<odm::bson::Document>(name);
            let refused = doc! { "_id": 1_i64, "customer": 9_i64, "customer_name": "" };
            raw("orders").insert_one(refused).bypass_document_validation(true).await?;
            for (name, id, set) in [
                ("messages", 100_i64, doc! { "host_name": "other" }),
                ("products", 10, doc! { "parts.0.name": "other" }),
                ("orders", 100, doc! { "customer_name": "other" }),
                ("films", 10, doc! { "reviews": 7_i64 }),
                ("tasks", 100, doc! { "owner": null }),
            ] {
                raw(name).update_one(doc! { "_id": id }, doc! { "$set": set }).await?;
            }
            Ok(())
        }

        pub fn rows() -> Vec<Row> {
            rows! {
                "insert" |on| on.collection::<Note>().insert(note(100));
                "insert, refused for its id" |on| on.collection::<Loan>().insert(loan(10, 1));
                "insert many" |on| on.collection::<Note>().insert_many([note(101), note(102)]);
                "insert with a checked reference" |on| on.collection::<Loan>().insert(loan(100, 1));
                "insert many with checked references" |on| on.collection::<Loan>().insert_many([loan(101, 1), loan(102, 2)]);
                "insert with a reference to a missing document" |on| on.collection::<Loan>().insert(loan(103, 99));
                "insert with a copy" ["hosts" 1] |on| on.collection::<Message>().insert(message(200, 1));
                "insert many with copies" |on| {
                    on.collection::<Message>().insert_many([message(201, 1), message(202, 2)])
                };
                "insert with an eventual copy" |on| on.collection::<Order>().insert(order(200, 1));
                "insert with entries in a bounded array" ["parts" 1] |on| {
                    on.collection::<Product>().insert(product(200, &[1, 2]))
                };
                "insert a child" |on| on.collection::<Review>().insert(review(200, 1));
                "insert many children" |on| {
                    on.collection::<Review>().insert_many([review(201, 1), review(202, 2)])
                };
                "insert a linked document" |on| on.collection::<Task>().insert(task(200, Some(1)));
                "insert many linked documents" |on| {
                    on.collection::<Task>().insert_many([task(201, Some(1)), task(202, Some(2))])
                };
                "insert the other side of links" |on| on.collection::<Person>().insert(person(200, &[1, 2]));
                "insert a child of a document that deletions keep" |on| on.collection::<Photo>().insert(photo(200, 1));
                "push the first item" |on| on.buckets::<Line>().push(1, line(1));
                "push onto a bucket" |on| on.buckets::<Line>().push(1, line(2));
                "push many onto a bucket and behind it" |on| on.buckets::<Line>().push_many(1, [line(3), line(4)]);
                "edit items" |on| on.buckets::<Line>().edit(1, |l| l.n.eq(2), |l| l.set(|l| l.size, 3));

                "get" |on| on.collection::<Note>().get(1);
                "find" |on| on.collection::<Note>().find(|n| n.text.eq("")).all();
                "count" |on| on.collection::<Note>().find(|n| n.text.eq("")).count();

                "update by id" |on| on.collection::<Note>().update(1).set(|n| n.text, "x");
                "update by id and version" |on| on.collection::<Note>().update(2).if_version(1).set(|n| n.text, "x");
                "update of a missing document" |on| on.collection::<Note>().update(99).set(|n| n.text, "x");
                "update and return" |on| on.collection::<Note>().update(2).set(|n| n.text, "y").returning();
                "update without a change" |on| on.collection::<Note>().update(3).returning();
                "push onto a bounded array" |on| on.collection::<Note>().update(3).push(|n| n.lines, "b");
                "push onto a full array" |on| on.collection::<Note>().update(3).push_all(|n| n.lines, ["c", "d"]);
                "pull what is not there" |on| on.collection::<Note>().update(3).pull(|n| n.lines, "z");
                "update by a condition" |on| {
                    on.collection::<Note>().update_where(|n| n.id.lte(3)).set(|n| n.text, "z")
                };
                "push by a condition" |on| on.collection::<Note>().update_where(|n| n.id.gte(9)).push(|n| n.lines, "b");
                "update the first" |on| {
                    on.collection::<Tool>().update_first(|t| t.id.gte(9)).sort(|t| t.id.asc()).set(|t| t.note, "x")
                };
                "update by a unique key" |on| on.collection::<Tool>().update_by(|t| t.code, "t9").set(|t| t.note, "y");
                "change a copied field" ["hosts" 2] |on| on.collection::<Host>().update(2).set(|h| h.name, "x");
                "change a copied field, and return" |on| {
                    on.collection::<Host>().update(2).set(|h| h.name, "y").returning()
                };
                "change a copied field of more holders than a transaction takes" ["hosts" 1] |on| {
                    on.collection::<Host>().update(1).set(|h| h.name, "x")
                };
                "change another field of a source" |on| on.collection::<Host>().update(2).set(|h| h.remark, "x");
                "change a copied field by a condition" |on| {
                    on.collection::<Host>().update_where(|h| h.id.in_([3, 4])).set(|h| h.name, "x")
                };
                "change a copied field by a condition with another collation" |on| {
                    on.collection::<Host>().update_where(|h| h.remark.eq("X")).collation(ignore_case()).set(|h| h.name, "x")
                };
                "change a field of entries" ["parts" 4] |on| on.collection::<Part>().update(4).set(|p| p.name, "x");
                "change an eventually copied field" |on| on.collection::<Customer>().update(1).set(|c| c.name, "x");
                "change a field whose copy is in a document that the validator refuses" |on| {
                    on.collection::<Customer>().update(9).set(|c| c.name, "x")
                };
                "set a checked reference" |on| on.collection::<Loan>().update(10).set(|l| l.tool, Ref::new(2));
                "set a checked reference by a condition" |on| {
                    on.collection::<Loan>().update_where(|l| l.id.eq(11)).set(|l| l.tool, Ref::new(2))
                };
                "set a reference with a copy" ["hosts" 3] |on| {
                    on.collection::<Message>().update(20).set(|m| m.host, Ref::new(3))
                };
                "set a reference with an eventual copy" |on| {
                    on.collection::<Order>().update(20).set(|o| o.customer, Ref::new(3))
                };
                "push an entry" ["parts" 5] |on| on.collection::<Product>().update(2).push(|p| p.parts, Ref::new(5));
                "push an entry onto a full array" |on| {
                    on.collection::<Product>().update(20).push(|p| p.parts, Ref::new(5))
                };
                "change another field of a child" |on| on.collection::<Review>().update(10).set(|r| r.text, "x");
                "change a derived field of a child" |on| on.collection::<Review>().update(10).set(|r| r.day, 500);
                "move a child" |on| on.collection::<Review>().update(11).set(|r| r.film, Ref::new(2));
                "move children by a condition" |on| {
                    on.collection::<Review>().update_where(|r| r.id.in_([30, 31])).set(|r| r.film, Ref::new(2))
                };
                "link with another document" |on| on.collection::<Task>().update(10).set(|t| t.owner, Ref::new(3));
                "link by a condition" |on| {
                    on.collection::<Task>().update_where(|t| t.id.eq(11)).set(|t| t.owner, Ref::new(3))
                };
                "unlink" |on| on.collection::<Task>().update(20).unset(|t| t.owner);
                "push a link" |on| on.collection::<Person>().update(5).push(|p| p.tasks, Ref::new(3));
                "pull a link" |on| on.collection::<Person>().update(5).pull(|p| p.tasks, Ref::new(3));
                "link with a full array" |on| on.collection::<Person>().update(3).push(|p| p.tasks, Ref::new(3));

                "upsert a new document" |on| {
                    on.collection::<Tool>().update(300).set(|t| t.code, "t300").set(|t| t.note, "").upsert()
                };
                "upsert a stored document" |on| on.collection::<Tool>().update(9).set(|t| t.note, "z").upsert_with(tool(9));
                "upsert a new holder of a copy" |on| {
                    on.collection::<Message>().update(300).set(|m| m.text, "x").upsert_with(message(300, 4))
                };
                "upsert a stored source" |on| on.collection::<Host>().update(4).set(|h| h.name, "u").upsert_with(host(4));
                "upsert a new child" |on| {
                    on.collection::<Review>().update(300).set(|r| r.text, "x").upsert_with(review(300, 4))
                };
                "replace" |on| on.collection::<Tool>().replace(Tool { note: "r".to_owned(), ..tool(8) });
                "replace a source" |on| on.collection::<Host>().replace(Host { name: "r".to_owned(), ..host(5) });
                "replace a child" |on| on.collection::<Review>().replace(Review { day: 600, ..review(40, 4) });
                "replace a linked document" |on| on.collection::<Task>().replace(task(40, Some(5)));
                "save a stored document" |on| on.collection::<Tool>().save(Tool { note: "s".to_owned(), ..tool(8) });
                "save a new document" |on| on.collection::<Tool>().save(tool(301));
                "insert or get" |on| on.collection::<Tool>().insert(Tool { id: 302, ..tool(8) }).or_get_by(|t| t.code);

                "delete" |on| on.collection::<Loan>().delete(100);
                "delete what is not there" |on| on.collection::<Loan>().delete(999);
                "delete by a condition" |on| on.collection::<Loan>().delete_where(|l| l.id.in_([101, 102]));
                "delete the first" |on| on.collection::<Loan>().delete_first(|l| l.id.gte(50)).sort(|l| l.id.asc());
                "delete a child" |on| on.collection::<Review>().delete(50);
                "delete children by a condition" |on| on.collection::<Review>().delete_where(|r| r.id.in_([60, 61]));
                "delete a holder of a copy" |on| on.collection::<Message>().delete(70);
                "delete with `cascade`" |on| on.collection::<Host>().delete(8);
                "delete a parent with `cascade`" |on| on.collection::<Film>().delete(8);
                "delete what `restrict` keeps" |on| on.collection::<Tool>().delete(1);
                "delete what `restrict` may keep" |on| on.collection::<Tool>().delete(10);
                "delete with `nullify`" |on| on.collection::<Customer>().delete(8);
                "delete with `pull`" |on| on.collection::<Part>().delete(8);
                "delete a linked document" |on| on.collection::<Task>().delete(60);
                "delete the other side of links" |on| on.collection::<Person>().delete(8);
                "soft delete" |on| on.collection::<Photo>().delete(10);
                "soft delete with `cascade`" |on| on.collection::<Album>().delete(2);
                "soft delete by a condition" |on| on.collection::<Album>().delete_where(|a| a.id.in_([3, 4]));
                "restore" |on| on.collection::<Photo>().restore(10);
                "restore with what was deleted below it" |on| on.collection::<Album>().restore(2);
                "purge" |on| on.collection::<Photo>().purge(40);
                "purge with `cascade`" |on| on.collection::<Album>().purge(3);

                "bulk" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .add(on.collection().insert(note(400)))
                        .add(on.collection::<Note>().update(400).set(|n| n.text, "x"))
                        .add(on.collection::<Note>().update_where(|n| n.id.eq(401)).set(|n| n.text, "x"))
                        .add(on.collection().insert(tool(400)))
                        .add(on.collection::<Loan>().delete_where(|l| l.id.eq(999)))
                };
                "bulk without an order" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .unordered()
                        .add(on.collection().insert(note(402)))
                        .add(on.collection().replace(Tool { note: "b".to_owned(), ..tool(400) }))
                        .add(on.collection::<Loan>().delete(999))
                };
                "bulk that is refused" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .add(on.collection::<Note>().update(400).set(|n| n.text, "y"))
                        .add(on.collection().insert(note(400)))
                        .add(on.collection().insert(tool(401)))
                };
                "bulk of references, copies and children" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .add(on.collection().insert(loan(400, 2)))
                        .add(on.collection().insert(message(400, 6)))
                        .add(on.collection::<Host>().update(6).set(|h| h.name, "b"))
                        .add(on.collection().insert(review(400, 6)))
                };
                "bulk of links" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .add(on.collection().insert(task(400, Some(6))))
                        .add(on.collection::<Task>().update(70).set(|t| t.owner, Ref::new(6)))
                };
                "bulk with deletions by rules" |on| {
                    on.bulk()
                        .without_bulk_write_command()
                        .add(on.collection().insert(note(404)))
                        .add(on.collection::<Host>().delete(9))
                        .add(on.collection::<Album>().delete(5))
                };
            }
        }
    };
}

pub(super) use {declare, rows};

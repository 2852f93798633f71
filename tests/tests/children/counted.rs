//! Fields derived of children, with concurrent writes of others, and with operations that are given up.

use crate::copying::auto::{Author, Book, book, models, stocked};
use crate::copying::{assert_true, raw, watched, with_pending_work};
use futures::future::{Either, select};
use odm::Error;
use odm::bson::{Document as Doc, doc, oid::ObjectId};
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm_tests::fixtures::interleaved::{Step, another, meddled};
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

/// A deletion reads what it deletes, and then begins a transaction. A write of another process in between counts once.
#[odm_tests::test]
fn deleting_a_child_subtracts_the_value_that_was_deleted() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        require_transactions(&odm).await;
        for (id, between) in [(1, "deleted"), (2, "changed"), (3, "moved"), (4, "left alone")] {
            let name = t.db.name().to_owned();
            let step: Step = (
                |_, command| command.contains_key("startTransaction"),
                Box::new(move |runtime| {
                    runtime.block_on(async {
                        let books = another(&name, models()).await.collection::<Book>();
                        match between {
                            "deleted" => drop(books.delete(id).await.unwrap()),
                            "changed" => drop(books.update(id).set(|b| b.pages, 777).await.unwrap()),
                            "moved" => drop(books.update(id).set(|b| b.author, Ref::new(2)).await.unwrap()),
                            _ => {}
                        }
                    });
                }),
            );
            let (slow, taken) = meddled(&odm, models(), vec![step]).await;
            let deleted = slow.collection::<Book>().delete(id).optional().await.unwrap();
            assert_eq!(taken.load(Ordering::SeqCst), 1, "{between}");
            assert_eq!(deleted.is_some(), between != "deleted", "{between}");
            assert!(
                odm.collection::<Book>().get(id).await.unwrap().is_none(),
                "{between}"
            );
            assert!(with_pending_work(&odm).await.is_empty(), "{between}");
            assert_clean(&odm).await;
        }
        let author = odm.collection::<Author>().get(1).await.unwrap().unwrap();
        assert_eq!((author.books, author.pages), (1, 100));
    });
}

/// Children that are moved by a condition are read in the transaction that moves them. One that comes to match after that stays.
#[odm_tests::test]
fn a_child_that_comes_to_match_while_others_are_moved_stays() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        require_transactions(&odm).await;
        let name = t.db.name().to_owned();
        let step: Step = (
            |name, command| {
                let update = command
                    .get_array("updates")
                    .ok()
                    .and_then(|all| all[0].as_document());
                let moves = update.and_then(|update| update.get_document("u").ok());
                name == "update"
                    && moves
                        .is_some_and(|u| u.get_document("$set").is_ok_and(|set| set.contains_key("author")))
            },
            Box::new(move |runtime| {
                runtime.block_on(async {
                    // Nothing is derived of it.
                    let authors = another(&name, models()).await;
                    let books = authors.database().collection::<Doc>("books");
                    let late = doc! { "$set": { "note": "old" } };
                    books.update_one(doc! { "_id": 5_i64 }, late).await.unwrap();
                });
            }),
        );
        let books = t.db.collection::<Doc>("books");
        let old = doc! { "$set": { "note": "old" } };
        books
            .update_many(doc! { "_id": { "$lte": 2_i64 } }, old)
            .await
            .unwrap();
        let (own, taken) = meddled(&odm, models(), vec![step]).await;
        let own = own.collection::<Book>();
        let of_old = own.update_where(|_| Filter::raw(doc! { "note": "old" }));
        let moved = of_old.set(|b| b.author, Ref::new(2)).await.unwrap();
        assert_eq!((moved.matched, taken.load(Ordering::SeqCst)), (2, 1));
        assert_clean(&odm).await;
        let all = odm.collection::<Book>();
        let of_late = all.update_where(|_| Filter::raw(doc! { "note": "old" }));
        assert_eq!(of_late.set(|b| b.author, Ref::new(2)).await.unwrap().matched, 3);
        assert_true(&odm).await;
        let author = odm.collection::<Author>().get(1).await.unwrap().unwrap();
        assert_eq!(author.books, 2);
    });
}

/// They look at what they change: one of them has to be done before the other one looks.
#[odm_tests::test]
fn operations_of_one_transaction_that_are_awaited_together_run_one_after_the_other() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        require_transactions(&odm).await;
        odm.transaction(async |tx| {
            let books = tx.collection::<Book>();
            let more = |by| books.update(1).inc(|b| b.pages, by).into_future();
            futures::future::try_join3(more(5), more(2), books.delete(2).into_future()).await?;
            Ok(())
        })
        .await
        .unwrap();
        let author = odm.collection::<Author>().get(1).await.unwrap().unwrap();
        assert_eq!((author.books, author.pages), (4, 407));
        assert_true(&odm).await;
    });
}

/// The task's next read of a connection returns to the runtime, also where the server has answered by then.
fn yield_at_the_next_read() {
    let mut context = Context::from_waker(Waker::noop());
    // A task has a budget of 128 such operations before it yields.
    for _ in 0..256 {
        if pin!(tokio::task::consume_budget())
            .poll(&mut context)
            .is_pending()
        {
            return;
        }
    }
    panic!("the event is not handled within a task");
}

/// What follows from it in other documents may not be written yet.
#[odm_tests::test]
fn a_transaction_with_a_cancelled_operation_is_not_committed() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        require_transactions(&odm).await;
        for command in ["insert", "delete"] {
            let sent = Arc::new(tokio::sync::Notify::new());
            let tell = sent.clone();
            let other = watched(&t, models(), move |event| {
                if let CommandEvent::Succeeded(done) = event
                    && done.command_name == command
                {
                    tell.notify_one();
                    yield_at_the_next_read();
                }
            });
            let outcome = other
                .await
                .transaction(async |tx| {
                    let books = tx.collection::<Book>();
                    let work = match command {
                        "insert" => Either::Left(async { books.insert(book(10, 1)).await.map(drop) }),
                        _ => Either::Right(async { books.delete(1).await.map(drop) }),
                    };
                    match select(pin!(sent.notified()), pin!(work)).await {
                        Either::Left(_) => Ok(()),
                        Either::Right(_) => panic!("{command}: nothing followed"),
                    }
                })
                .await;
            let error = outcome.expect_err(command).to_string();
            assert!(
                error.contains("its future was dropped before it completed"),
                "{error}"
            );
            let books = odm.collection::<Book>();
            assert!(books.get(10).await.unwrap().is_none());
            assert!(books.get(1).await.unwrap().is_some());
            assert_true(&odm).await;
        }
    });
}

/// A child was detached from its parent, which was noted before; then the process died, and the parent is there still.
#[odm_tests::test]
fn a_parent_that_a_child_has_left_is_derived_by_a_recovery() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let note = doc! { "_id": ObjectId::new(), "derived": "authors.books", "parents": [1_i64] };
        let edges = t.db.collection::<Doc>("_odm_edges");
        edges.insert_one(note.clone()).await.unwrap();
        let authors = t.db.collection::<Doc>("authors");
        let stale = doc! { "$set": { "books": 6_i64, "pages": 600_i64 } };
        authors.update_one(doc! { "_id": 1_i64 }, stale).await.unwrap();
        assert_eq!(odm.recover().await.unwrap().copies, 1);
        let author = raw(&odm, "authors", 1).await;
        let [books, pages] = ["books", "pages"].map(|name| author.get_i64(name).unwrap());
        assert_eq!((books, pages), (5, 500), "{author}");
        assert_true(&odm).await;
        let id = doc! { "_id": note.get("_id") };
        assert_eq!(edges.count_documents(id).await.unwrap(), 0);
    });
}

mod shop {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "branches")]
    pub struct Branch {
        pub id: i32,
        #[computed(count = Basket, filter = |b| b.items.name.eq("lamp"))]
        pub lamps: i64,
        #[subset(of = Basket, limit = 2, order(title), keep = first, fields(title: String))]
        pub first: Vec<FirstEntry>,
        #[computed(min = Basket.title)]
        pub least: Option<String>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "baskets")]
    pub struct Basket {
        pub id: i32,
        pub title: String,
        #[parent_ref]
        pub branch: Ref<Branch>,
        #[embed(max = 5)]
        pub items: Vec<Item>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Item {
        pub name: String,
    }

    pub fn basket(id: i32, title: &str, items: &[&str]) -> NewBasket {
        let items = items.iter().map(|name| Item {
            name: (*name).to_owned(),
        });
        NewBasket {
            id,
            title: title.to_owned(),
            branch: Ref::new(1),
            items: items.collect(),
        }
    }
}

/// The condition looks into an array, and the array alone says whether that has changed.
#[odm_tests::test]
fn a_computed_field_with_a_condition_on_items_follows_every_change_of_the_items() {
    use shop::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Branch, Basket]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Branch>()
            .insert(NewBranch { id: 1 })
            .await
            .unwrap();
        let baskets = odm.collection::<Basket>();
        let lamps = async || odm.collection::<Branch>().get(1).await.unwrap().unwrap().lamps;
        baskets.insert(basket(1, "a", &["chair", "lamp"])).await.unwrap();
        assert_eq!(lamps().await, 1);
        let chairs = baskets
            .update(1)
            .each(|b| b.items, |item| item.set(|i| i.name, "chair"));
        chairs.await.unwrap();
        assert_eq!(lamps().await, 0);
        let lamp = Item { name: "lamp".into() };
        baskets.update(1).push(|b| b.items, lamp.clone()).await.unwrap();
        assert_eq!(lamps().await, 1);
        baskets.update(1).pull(|b| b.items, lamp).await.unwrap();
        assert_eq!(lamps().await, 0);
        assert_clean(&odm).await;
    });
}

/// The parents' collection would sort them in another way.
#[odm_tests::test]
fn texts_are_sorted_as_the_childrens_collection_does() {
    use shop::*;
    with_db(async |t| {
        let create = doc! { "create": "baskets", "collation": { "locale": "en", "strength": 2 } };
        t.db.run_command(create).await.unwrap();
        let raw = t.db.collection::<Doc>("baskets");
        raw.insert_one(doc! { "title": "a" }).await.unwrap();
        let has_collations = raw.find_one(doc! { "title": "A" }).await.unwrap().is_some();
        raw.delete_many(doc! {}).await.unwrap();
        if !has_collations {
            odm_tests::skip("needs a server that compares by collations");
        }
        let odm = Odm::new(t.db.clone(), models![Branch, Basket]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Branch>()
            .insert(NewBranch { id: 1 })
            .await
            .unwrap();
        let baskets = odm.collection::<Basket>();
        for (id, title) in ["b", "B", "C", "a", "A"].into_iter().enumerate() {
            baskets.insert(basket(id as i32, title, &[])).await.unwrap();
            let branch = odm.collection::<Branch>().get(1).await.unwrap().unwrap();
            let sorted = baskets.find_all().sort(|b| (b.title.asc(), b.id.asc())).limit(2);
            let first: Vec<String> = sorted.all().await.unwrap().into_iter().map(|b| b.title).collect();
            let kept: Vec<String> = branch.first.into_iter().map(|b| b.title).collect();
            assert_eq!(kept, first);
            assert_clean(&odm).await;
        }
    });
}

mod conditions {
    use super::*;

    macro_rules! counted {
        ($($name:ident: $child:tt => $filter:expr;)*) => {$(
            pub mod $name {
                use super::*;

                #[derive(Document, Clone, Debug, PartialEq)]
                #[document(collection = "owners")]
                pub struct Owner {
                    pub id: i32,
                    #[computed(count = Owned, filter = |$child| $filter)]
                    pub count: i64,
                }

                #[derive(Document, Clone, Debug, PartialEq)]
                #[document(collection = "owned")]
                pub struct Owned {
                    pub id: i32,
                    #[parent_ref]
                    pub owner: Ref<Owner>,
                    pub spent: i32,
                    pub price: i32,
                    pub text: String,
                }

                pub fn refused(t: &TestDb) -> Option<Error> {
                    Odm::new(t.db.clone(), models![Owner, Owned]).err()
                }
            }
        )*};
    }
    counted! {
        computes: _ => Filter::raw(doc! { "$expr": { "$gt": ["$spent", "$price"] } });
        searches: o => o.spent.gt(1) & odm::query::text("good");
        nested: o => !(o.spent.gt(1) | Filter::raw(doc! { "spent": { "$not": { "$jsonSchema": {} } } }));
        allowed: o => o.spent.gt(1) & !o.text.eq("$expr") & o.text.contains_text("^a");
    }
}

/// A filter has to say at which fields it looks, or no write would know that it changes what is counted.
#[odm_tests::test]
fn a_condition_that_reads_any_field_is_refused_for_computed_fields() {
    with_db(async |t| {
        use conditions::*;
        for (refused, operator) in [
            (computes::refused(&t), "$expr"),
            (searches::refused(&t), "$text"),
            (nested::refused(&t), "$jsonSchema"),
        ] {
            let refused = refused.expect(operator).to_string();
            assert!(
                refused.contains(&format!("the filter of `Owner.count` has `{operator}`")),
                "{refused}"
            );
        }
        assert!(allowed::refused(&t).is_none());
    });
}

mod tools {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "makers")]
    pub struct Maker {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tools")]
    pub struct Tool {
        pub id: i32,
        pub name: String,
        #[reference(on_delete = keep)]
        pub maker: Ref<Maker>,
        #[denormalize(from = maker.name)]
        pub made_by: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "boxes")]
    pub struct Box {
        pub id: i32,
        #[reference(many, max = 9, on_delete = keep)]
        #[denormalize(from = Tool, fields(name: String))]
        pub tools: Vec<ToolEntry>,
    }
}

/// A write that leaves a snapshot in a document does not take it anew.
#[odm_tests::test]
fn a_dangling_reference_does_not_block_other_writes_of_its_document() {
    use tools::{Box, Maker, NewBox, NewTool, Tool};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Tool, Box]).unwrap();
        odm.sync().await.unwrap();
        let (tools, boxes) = (odm.collection::<Tool>(), odm.collection::<Box>());
        let maker = Maker {
            id: 1,
            name: "Acme".into(),
        };
        odm.collection::<Maker>().insert(maker).await.unwrap();
        let tool = |id| NewTool {
            id,
            name: format!("tool {id}"),
            maker: Ref::new(1),
        };
        tools.insert_many([tool(1), tool(2), tool(3)]).await.unwrap();
        let of_two = NewBox {
            id: 1,
            tools: vec![Ref::new(1), Ref::new(2)],
        };
        boxes.insert(of_two).await.unwrap();
        tools.delete(1).await.unwrap();
        odm.collection::<Maker>().delete(1).await.unwrap();
        boxes.update(1).push(|b| b.tools, Ref::new(3)).await.unwrap();
        boxes.update(1).pull(|b| b.tools, Ref::new(2)).await.unwrap();
        tools.update(3).set(|t| t.name, "new").await.unwrap();
        let stored = boxes.get(1).await.unwrap().unwrap();
        let names: Vec<&str> = stored.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["tool 1", "new"]);
        assert_eq!(tools.get(3).await.unwrap().unwrap().made_by, "Acme");
        // Only added references are looked for.
        let missing = boxes.update(1).push(|b| b.tools, Ref::new(9)).await.unwrap_err();
        assert!(
            matches!(&missing, Error::MissingReference { ids, .. } if *ids == [9.into()]),
            "{missing}"
        );
    });
}

//! A document that is inserted with those that refer to it.

use futures::FutureExt as _;
use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm::write::Tree;
use odm_tests::with_db;
use std::future::IntoFuture as _;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    name: String,
    #[computed(count = Line)]
    lines: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "lines")]
struct Line {
    id: i32,
    #[parent_ref]
    order: Ref<Order>,
    #[denormalize(from = order.name)]
    order_name: String,
    #[index(unique)]
    #[field(max_len = 10)]
    item: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parcels")]
struct Parcel {
    id: i32,
    #[parent_ref]
    line: Ref<Line>,
}

fn order(id: i32) -> NewOrder {
    NewOrder {
        id,
        name: format!("order {id}"),
    }
}

fn line(id: i32, order: Ref<Order>) -> NewLine {
    NewLine {
        id,
        order,
        item: format!("item {id}"),
    }
}

/// An order with two lines, the first of which has two parcels.
fn tree(id: i32) -> Tree<Order> {
    Tree::new(order(id)).with_trees(move |order| {
        let first = Tree::<Line>::new(line(id * 10 + 1, order));
        let first = first.with(move |line| {
            [1, 2].map(|n| Parcel {
                id: id * 100 + n,
                line,
            })
        });
        [first, Tree::new(line(id * 10 + 2, order))]
    })
}

async fn odm(t: &odm_tests::TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Order, Line, Parcel]).unwrap();
    odm.sync().await.unwrap();
    odm
}

async fn counts(odm: &Odm) -> [u64; 3] {
    [
        odm.collection::<Order>().find_all().count().await.unwrap(),
        odm.collection::<Line>().find_all().count().await.unwrap(),
        odm.collection::<Parcel>().find_all().count().await.unwrap(),
    ]
}

#[odm_tests::test]
fn a_tree_is_inserted_in_one_transaction() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let orders = odm.collection::<Order>();
        t.commands.clear();
        let stored = orders
            .insert(order(1))
            .with(|order| (1..=3).map(move |n| line(n, order)))
            .await
            .unwrap();
        assert_eq!(
            (stored.id, stored.lines),
            (1, 3),
            "as it is stored with all of them"
        );
        let sent = t.commands.take();
        assert_eq!(
            sent.iter().filter(|name| *name == "insert").count(),
            2,
            "{sent:?}"
        );
        assert_eq!(
            sent.iter().filter(|name| *name == "commitTransaction").count(),
            1,
            "{sent:?}"
        );
        let lines = odm.collection::<Line>().children_of(&stored).all().await.unwrap();
        assert!(lines.iter().all(|line| line.order_name == "order 1"), "{lines:?}");

        let stored = orders.insert_tree(tree(2)).await.unwrap();
        assert_eq!((stored.id, stored.lines), (2, 2));
        assert_eq!(counts(&odm).await, [2, 5, 2]);
        // In the transaction of the application, with its other writes.
        let rolled_back = odm
            .transaction(async |tx| {
                tx.collection::<Order>().insert_tree(tree(3)).await?;
                assert_eq!(tx.collection::<Parcel>().find_all().count().await?, 4);
                tx.collection::<Order>().insert(order(1)).await
            })
            .await;
        assert!(
            matches!(rolled_back, Err(Error::DuplicateKey { .. })),
            "{rolled_back:?}"
        );
        assert_eq!(counts(&odm).await, [2, 5, 2]);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn a_tree_with_a_refused_document_leaves_nothing() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let orders = odm.collection::<Order>();
        orders.insert_tree(tree(1)).await.unwrap();
        let taken = |order| {
            [
                line(21, order),
                NewLine {
                    item: "item 11".into(),
                    ..line(22, order)
                },
            ]
        };
        let refused = orders.insert(order(2)).with(taken).await.unwrap_err();
        let Error::InsertMany { errors, .. } = &refused else {
            panic!("{refused:?}")
        };
        assert!(
            matches!(errors.as_slice(), [(1, Error::DuplicateKey { .. })]),
            "{refused:?}"
        );
        assert_eq!(counts(&odm).await, [1, 2, 2]);

        let long = |order| {
            [NewLine {
                item: "an item that is too long".into(),
                ..line(21, order)
            }]
        };
        let refused = orders.insert(order(2)).with(long).await.unwrap_err();
        assert!(matches!(refused, Error::InsertMany { .. }), "{refused:?}");
        assert_eq!(counts(&odm).await, [1, 2, 2]);
        t.commands.clear();
        let many = |order| (1..=1_000).map(move |n| line(n, order));
        let refused = orders.insert(order(2)).with(many).await.unwrap_err();
        assert!(refused.to_string().contains("1001 documents"), "{refused}");
        assert!(t.commands.take().is_empty(), "nothing is sent");
        let stored =
            t.db.collection::<odm::bson::Document>("lines")
                .count_documents(doc! {})
                .await;
        assert_eq!(stored.unwrap(), 2);
    });
}

/// The order of the tree is inserted by then: it would be there without its lines.
#[odm_tests::test]
fn a_transaction_that_passes_a_failed_tree_over_is_not_committed() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let too_long = |order| {
            [NewLine {
                item: "an item that is too long".into(),
                ..line(21, order)
            }]
        };
        let passed_over = odm
            .transaction(async |tx| {
                let refused = tx.collection::<Order>().insert(order(2)).with(too_long).await;
                assert!(matches!(refused, Err(Error::InsertMany { .. })), "{refused:?}");
                tx.collection::<Order>().insert(order(3)).await.map(drop)
            })
            .await;
        assert!(
            matches!(passed_over, Err(Error::Application(_))),
            "{passed_over:?}"
        );
        assert_eq!(counts(&odm).await, [0, 0, 0]);

        let dropped = odm
            .transaction(async |tx| {
                let orders = tx.collection::<Order>();
                let tree = orders.insert_tree(tree(2)).into_future();
                // It has come as far as its first command.
                assert!(tree.now_or_never().is_none());
                orders.insert(order(3)).await.map(drop)
            })
            .await;
        assert!(matches!(dropped, Err(Error::Application(_))), "{dropped:?}");
        assert_eq!(counts(&odm).await, [0, 0, 0]);
        // A refusal before anything is sent leaves the transaction as it was.
        odm.transaction(async |tx| {
            let orders = tx.collection::<Order>();
            let many = |order| (1..=1_000).map(move |n| line(n, order));
            let refused = orders.insert(order(2)).with(many).await;
            assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
            orders.insert(order(3)).await.map(drop)
        })
        .await
        .unwrap();
        assert_eq!(counts(&odm).await, [1, 0, 0]);
    });
}

//! `deny_broadcast` on a collection with a shard key.

use mongodb::bson::{Document as Doc, doc};
use odm::__private as meta;
use odm::testing::{TestDatabase, database_at};
use odm::write::Fresh;
use odm::{Document, Filter, Model, Odm, Ref};
use odm_tests::{uri, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    tenant: String,
    cents: i64,
}

/// The same with a shard key.
#[derive(Clone, Debug, PartialEq)]
struct Sharded(Order);

const KEY: meta::ShardKeyMeta = meta::ShardKeyMeta {
    fields: &[
        meta::ShardKeyField {
            path: "tenant",
            hashed: false,
        },
        meta::ShardKeyField {
            path: "_id",
            hashed: true,
        },
    ],
};

impl odm::references::Identified for Sharded {
    type Id = i32;
    type New = Order;
}

impl meta::Fielded for Sharded {
    const FIELDS: &'static [meta::FieldMeta] = Order::FIELDS;
}

impl meta::stored::Fields for Sharded {
    fn write_fields(&self, out: &mut meta::stored::Out) -> meta::stored::Done {
        self.0.write_fields(out)
    }
}

impl meta::stored::Row for Sharded {
    fn read_row(fields: &mut meta::stored::Reader<'_>) -> meta::stored::Read<Self> {
        Order::read_row(fields).map(Sharded)
    }
}

impl Document for Sharded {
    type Paths = ();
    const META: &'static meta::DocumentMeta = &meta::DocumentMeta {
        shard_key: Some(&KEY),
        ..*Order::META
    };

    fn paths() {}

    fn id(&self) -> &i32 {
        &self.0.id
    }

    fn fresh(new: Order, _: meta::DateTime) -> Fresh<Sharded> {
        Fresh::Whole(Sharded(new))
    }
}

impl odm::write::Deletable for Sharded {}

fn order(id: i32) -> Ref<Sharded> {
    Ref::new(id)
}

async fn stocked(db: &TestDatabase) -> Odm {
    let odm = db.odm([Model::of::<Sharded>()]).await.unwrap();
    let orders = [("a", 1), ("a", 2), ("b", 3)]
        .map(|(tenant, id)| doc! { "_id": id, "tenant": tenant, "cents": 5_i64 });
    db.collection::<Doc>("orders").insert_many(orders).await.unwrap();
    odm
}

#[odm_tests::test]
fn a_statement_to_all_shards_fails_the_test_that_denies_it() {
    with_db(async |_| {
        let db = database_at(&uri())
            .await
            .deny_broadcast()
            .allow_broadcast("count", "orders");
        let orders = stocked(&db).await.collection::<Sharded>();
        let of_tenant = |_| Filter::raw(doc! { "tenant": "a" });
        assert_eq!(orders.find(of_tenant).all().await.unwrap().len(), 2);
        assert_eq!(orders.find_all().count().await.unwrap(), 3);
        assert_eq!(db.faults().await.unwrap(), Vec::<String>::new());

        assert_eq!(orders.get(order(3)).await.unwrap().unwrap().0.tenant, "b");
        orders.delete(order(3)).await.unwrap();
        let faults = db.faults().await.unwrap();
        let begin = |operation: &str| {
            format!(
                "`{operation}` sends a statement to all shards of `orders`: it does not name `tenant` of the shard key (tenant, hashed(_id)). "
            )
        };
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with(&begin("get")), "{faults:?}");
        assert!(faults[1].starts_with(&begin("delete")), "{faults:?}");

        db.commands().clear();
        db.close().await.unwrap();
    });
}

#[odm_tests::test]
fn a_database_whose_test_asks_all_shards_panics_at_its_end() {
    with_db(async |_| {
        let db = database_at(&uri())
            .await
            .deny_broadcast()
            .allow_broadcasts_by("audit");
        let odm = stocked(&db).await;
        assert!(odm.audit().await.unwrap().is_clean());
        assert_eq!(db.faults().await.unwrap(), Vec::<String>::new());
        odm.collection::<Sharded>().get(order(1)).await.unwrap();
        let closed = tokio::spawn(db.close()).await;
        let panic = closed.unwrap_err().into_panic();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(
            message.starts_with("`get` sends a statement to all shards of `orders`"),
            "{message}"
        );
    });
}

#[odm_tests::test]
fn a_recorded_command_names_the_operation_that_sent_it() {
    with_transactions(async |_| {
        let db = database_at(&uri()).await;
        let odm = stocked(&db).await;
        let orders = odm.collection::<Sharded>();
        orders.get(order(1)).await.unwrap();
        orders.find_all().all().await.unwrap();
        odm.transaction(async |tx| tx.collection::<Sharded>().delete(order(2)).await.map(drop))
            .await
            .unwrap();
        db.collection::<Doc>("orders").find_one(doc! {}).await.unwrap();
        let sent = db.commands().all();
        let sent: Vec<(&str, Option<&str>)> = sent
            .iter()
            .filter(|sent| sent.collection.as_deref() == Some("orders"))
            .map(|sent| (sent.name.as_str(), sent.operation))
            .collect();
        let expected = [
            ("insert", None),
            ("find", Some("get")),
            ("find", Some("find")),
            ("delete", Some("delete")),
            ("find", None),
        ];
        assert_eq!(sent, expected);
        db.close().await.unwrap();
    });
}

//! Handles of one program for several databases: what they share, and what belongs to each.

use odm::Error;
use odm::mongodb::options::{Acknowledgment, WriteConcern};
use odm::options::Options;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "customers")]
struct Customer {
    id: i32,
    name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders", shared(name))]
struct Order {
    id: i32,
    #[reference]
    customer: Ref<Customer>,
    #[denormalize(from = customer.name)]
    customer_name: String,
}

async fn base(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Customer, Order]).unwrap();
    odm.sync().await.unwrap();
    odm
}

#[odm_tests::test]
fn each_database_has_documents_and_declarations_of_its_own() {
    with_db(async |t| {
        let odm = base(&t).await;
        let other = odm.with_database(&format!("{}_b", t.db.name()));
        other.sync().await.unwrap();
        for (odm, name) in [(&odm, "Kate"), (&other, "Bob")] {
            let customers = odm.collection::<Customer>();
            customers
                .insert(NewCustomer {
                    id: 1,
                    name: name.into(),
                })
                .await
                .unwrap();
            let order = NewOrder {
                id: 1,
                customer: Ref::new(1),
            };
            odm.collection::<Order>().insert(order).await.unwrap();
        }
        // A reference leads to a document of its own database.
        let third = odm.collection::<Customer>();
        third
            .insert(NewCustomer {
                id: 3,
                name: "Ann".into(),
            })
            .await
            .unwrap();
        let order = NewOrder {
            id: 3,
            customer: Ref::new(3),
        };
        let error = other.collection::<Order>().insert(order).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        // A copy follows its source there alone.
        let bob = other.collection::<Customer>();
        bob.update(1).set(|c| c.name, "Rob").await.unwrap();
        let names = async |odm: &Odm| {
            odm.collection::<Order>()
                .get(1)
                .await
                .unwrap()
                .unwrap()
                .customer_name
        };
        assert_eq!(
            (names(&odm).await, names(&other).await),
            ("Kate".into(), "Rob".into())
        );
        assert_clean(&odm).await;
        assert_clean(&other).await;
        other.database().drop().await.unwrap();
    });
}

#[odm_tests::test]
fn handles_of_one_database_share_what_they_know() {
    with_db(async |t| {
        let odm = base(&t).await;
        odm.server().await.unwrap();
        let name = format!("{}_b", t.db.name());
        t.commands.clear();
        let first = odm.with_database(&name);
        assert_eq!(t.commands.take(), [""; 0], "no round trip");
        first.sync().await.unwrap();
        let customer = |id| NewCustomer {
            id,
            name: "Kate".into(),
        };
        first.collection::<Customer>().insert(customer(1)).await.unwrap();
        drop(first);
        // The declarations of the database were read, and are known to a handle that is made later.
        t.commands.clear();
        let second = odm.clone().with_database(&name);
        second.collection::<Customer>().insert(customer(2)).await.unwrap();
        let later = t.commands.take();
        let third = second.with_database(t.db.name());
        third.collection::<Customer>().insert(customer(1)).await.unwrap();
        assert_eq!(later, t.commands.take(), "as the database of the first handle");
        assert!(
            later
                .iter()
                .all(|command| command != "find" && command != "aggregate"),
            "{later:?}"
        );
        assert_eq!(third.database().name(), t.db.name());
        second.database().drop().await.unwrap();
    });
}

#[odm_tests::test]
fn options_and_scopes_go_on_in_another_database() {
    with_db(async |t| {
        let odm = base(&t).await;
        let scoped = odm.scoped(Customer::paths().name, "Kate").unwrap();
        let other = scoped.with_database(&format!("{}_b", t.db.name()));
        let bob = NewCustomer {
            id: 1,
            name: "Bob".into(),
        };
        let error = other.collection::<Customer>().insert(bob).await.unwrap_err();
        assert!(matches!(error, Error::OutOfScope { .. }), "{error}");
        let unsure = WriteConcern::builder().w(Acknowledgment::Nodes(0)).build();
        let other = odm.with_options(Options::new().write_concern(unsure));
        let other = other.with_database(&format!("{}_b", t.db.name()));
        let kate = NewCustomer {
            id: 1,
            name: "Kate".into(),
        };
        let error = other.collection::<Customer>().insert(kate).await.unwrap_err();
        assert!(matches!(error, Error::Query { .. }), "{error}");
    });
}

//! Extended reference: an order shows the name of its customer, and keeps the address of the day on which it was placed.
use mongodb::Database;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "customers")]
pub struct Customer {
    pub id: i32,
    pub name: String,
    pub email: String,
    pub address: Address,
    pub newsletter: bool,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    pub city: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
pub struct Order {
    pub id: i32,
    pub placed: DateTime,
    pub total: i64, // in cents
    // Kept in sync. Generates the struct
    // CustomerEntry { id: Ref<Customer>, name: String, email: String }
    #[parent_ref(order(-placed))]
    #[denormalize(from = Customer, fields(name: String, email: String))]
    pub customer: CustomerEntry,
    // Frozen: the name and the address on the day of the order.
    #[reference]
    #[denormalize(from = Customer)]
    pub ship_to: Recipient,
}

/// The reference, and fields with the names and types of fields of `Customer`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[denormalize(from = Customer, consistency = snapshot)]
pub struct Recipient {
    pub id: Ref<Customer>,
    pub name: String,
    pub address: Address,
}

fn address(street: &str, city: &str) -> Address {
    Address {
        street: street.into(),
        city: city.into(),
    }
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Customer, Order])?;
    odm.sync().await?;
    let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());

    let kate = customers
        .insert(NewCustomer {
            id: 1,
            name: "Kate Monster".into(),
            email: "kate@example.org".into(),
            address: address("123 Avenue Q", "New York"),
            newsletter: false,
        })
        .await?;
    for (id, day) in [(7, 1), (8, 2)] {
        orders
            .insert(NewOrder {
                id,
                placed: DateTime::from_millis(day * 86_400_000),
                total: 399,
                customer: kate.to_ref(),
                ship_to: kate.to_ref(),
            })
            .await?;
    }

    // The page of an order is one document.
    let order = orders.get(7).await?.expect("it was inserted");
    assert_eq!(order.customer.email, "kate@example.org");
    show(&order);

    // The newest orders of one customer, page by page.
    let page = orders.children_of(order.customer.id).page(20).await?;
    assert_eq!(page.items.iter().map(|o| o.id).collect::<Vec<_>>(), [8, 7]);

    // Synced copies change with the customer; frozen ones stay.
    let done = customers
        .update(1)
        .set(|c| c.name, "Kate Powell")
        .set(|c| c.address, address("1 Main St", "Boston"))
        .await?;
    assert_eq!(done.copies_updated, 2);
    let order = orders.get(7).await?.expect("it was inserted");
    assert_eq!(
        (&*order.customer.name, &*order.ship_to.name),
        ("Kate Powell", "Kate Monster")
    );
    assert_eq!(order.ship_to.address.city, "New York");
    show(&order);

    // Setting the reference again takes the present values.
    orders.update(7).set(|o| o.ship_to, Ref::new(1)).await?;
    let order = orders.get(7).await?.expect("it was inserted");
    assert_eq!(order.ship_to.address.city, "Boston");
    show(&order);

    // The whole customer, where it is needed after all: one query more.
    let customer: Customer = order.customer.load(&odm).await?;
    assert!(!customer.newsletter);

    // A customer with orders is not deleted.
    let refused = customers.delete(1).await;
    assert!(matches!(
        refused,
        Err(odm::Error::StillReferenced { count: 2, .. })
    ));
    assert_eq!(
        orders.delete_where(|o| o.customer.eq(Ref::new(1))).await?.deleted,
        2
    );
    assert_eq!(customers.delete(1).await?.deleted, 1);
    Ok(())
}

fn show(order: &Order) {
    let to = &order.ship_to;
    println!(
        "Order {} of {}, shipped to {}, {}",
        order.id, order.customer.name, to.name, to.address.city
    );
}

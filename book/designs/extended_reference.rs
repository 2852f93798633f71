//! An order with the few fields of its customer that a page shows.

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

/// Some data: a customer with two orders.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Customer, Order])?;
    odm.sync().await?;
    let kate = odm
        .collection::<Customer>()
        .insert(NewCustomer {
            id: 1,
            name: "Kate Monster".into(),
            email: "kate@example.org".into(),
            address: Address {
                street: "123 Avenue Q".into(),
                city: "New York".into(),
            },
            newsletter: false,
        })
        .await?;
    // 1 March 2026, 10:00, and a day later.
    for (id, placed, total) in [(7, 1_772_359_200_000, 399), (8, 1_772_445_600_000, 1250)] {
        let order = NewOrder {
            id,
            placed: DateTime::from_millis(placed),
            total,
            customer: kate.to_ref(),
            ship_to: kate.to_ref(),
        };
        odm.collection::<Order>().insert(order).await?;
    }
    Ok(odm)
}

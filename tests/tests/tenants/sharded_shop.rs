//! A shop of tenants whose collections are sharded by tenant: no statement of it goes to all shards, neither by the handle of a tenant nor
//! where a document is given or found.

use odm::prelude::*;
use odm::testing::TestDatabase;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "customers", shard_key(tenant))]
struct Customer {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
    name: String,
    #[computed(count = Order)]
    orders: i64,
    #[subset(of = Order, order(-at), limit = 3, fields(total: i64))]
    newest: Vec<NewestItem>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders", shard_key(tenant, id), version)]
struct Order {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
    #[parent_ref(same(tenant), on_delete = cascade)]
    customer: Ref<Customer>,
    #[denormalize(from = customer.name)]
    customer_name: String,
    #[reference(many, max = 20, same(tenant))]
    products: Vec<Ref<Product>>,
    at: DateTime,
    total: i64,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "products",
    shard_key(tenant),
    index(fields(tenant, slug), unique)
)]
struct Product {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
    slug: String,
    #[reference(many, max = 20, inverse = products, same(tenant))]
    tags: Vec<Ref<Tag>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tags", shard_key(tenant), soft_delete)]
struct Tag {
    id: ObjectId,
    #[field(scope)]
    tenant: String,
    name: String,
    #[reference(many, max = 100, inverse = tags, same(tenant))]
    products: Vec<Ref<Product>>,
    deleted_at: Option<DateTime>,
}

fn models() -> [odm::Model; 4] {
    models![Customer, Order, Product, Tag]
}

fn at(seconds: i64) -> DateTime {
    DateTime::from_millis(seconds * 1000)
}

fn order(customer: &Customer, products: &[&Product], n: i64) -> NewOrder {
    NewOrder {
        customer: customer.to_ref(),
        products: products.iter().map(|product| product.to_ref()).collect(),
        at: at(n),
        total: n,
    }
}

/// Everything that one tenant does.
async fn of_tenant(odm: &Odm, tenant: &str) -> odm::Result<(Customer, Order)> {
    let shop = odm.scoped(Customer::paths().tenant, tenant)?;
    let (customers, orders) = (shop.collection::<Customer>(), shop.collection::<Order>());
    let (products, tags) = (shop.collection::<Product>(), shop.collection::<Tag>());

    let kate = customers.insert(NewCustomer { name: "Kate".into() }).await?;
    let new = |slug: &str| NewProduct {
        slug: slug.into(),
        tags: Vec::new(),
    };
    let tea = products.insert(new("tea")).await?;
    let cup = products.insert(new("cup")).await?;
    let hot = tags.insert(NewTag {
        name: "hot".into(),
        products: vec![tea.to_ref()],
    });
    let hot = hot.await?;

    let first = orders.insert(order(&kate, &[&tea], 1)).await?;
    orders
        .insert_many((2..6).map(|n| order(&kate, &[&tea, &cup], n)))
        .await?;
    let stored = customers.get(&kate).await?.expect("is there");
    assert_eq!((stored.orders, stored.newest.len()), (5, 3));

    // A copy follows, in the same transaction and without one.
    customers.update(kate.id).set(|c| c.name, "Kate Monster").await?;
    let copied = orders.get(first.id).await?.expect("is there");
    assert_eq!(copied.customer_name, "Kate Monster");

    // Reads, joins and pages.
    let found = orders
        .find(|o| o.total.gte(2))
        .include(|o| o.customer)
        .all()
        .await?;
    assert_eq!(found.len(), 4);
    assert_eq!(orders.children_of(&kate).count().await?, 5);
    let page = orders.find_all().sort(|o| o.at.desc()).page(2).await?;
    assert_eq!(page.items.len(), 2);
    assert_eq!(orders.find(|o| o.total.lt(3)).count().await?, 2);

    // Changes by an id, by a condition, and of a document as it was read.
    orders.update(first.id).inc(|o| o.total, 10).await?;
    let read = orders.get(first.id).await?.expect("is there");
    orders.update(&read).set(|o| o.total, 20).await?;
    orders
        .update_where(|o| o.total.lt(4))
        .push(|o| o.products, cup.to_ref())
        .await?;
    let read = orders.get(first.id).await?.expect("is there");
    let replaced = orders.replace(Order { total: 7, ..read }).await?;
    orders
        .save(Order {
            total: 8,
            ..replaced.clone()
        })
        .await?;

    // Links, and deletions that keep or remove documents.
    products.update(cup.id).push(|p| p.tags, hot.to_ref()).await?;
    tags.delete(hot.id).await?;
    tags.restore(hot.id).await?;
    tags.delete(hot.id).await?;
    tags.purge(hot.id).await?;
    let bob = customers.insert(NewCustomer { name: "Bob".into() }).await?;
    orders.insert(order(&bob, &[], 9)).await?;
    customers.delete(bob.id).await?;
    orders.delete_where(|o| o.total.eq(5)).await?;

    // A transaction of the application.
    let moved = shop.transaction(async |tx| {
        let orders = tx.collection::<Order>();
        orders.insert(order(&kate, &[&tea], 30)).await?;
        orders.update(first.id).inc(|o| o.total, 1).await?;
        tx.collection::<Customer>()
            .update(kate.id)
            .set(|c| c.name, "K.")
            .await
    });
    moved.await?;
    let kate = customers.get(kate.id).await?.expect("is there");
    assert_eq!(kate.orders, 5);
    let first = orders.get(first.id).await?.expect("is there");
    Ok((kate, first))
}

/// The operations of a handle without a scope on documents at hand.
async fn with_documents(odm: &Odm, kate: &Customer, first: &Order) -> odm::Result<()> {
    let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
    assert!(customers.get(kate).await?.is_some());
    orders.update(first).inc(|o| o.total, 1).await?;
    let read = orders.get(first).await?.expect("is there");
    let read = orders.replace(Order { total: 1, ..read }).await?;
    let new_total = orders.update(&read).set(|o| o.total, 2);
    let kate = Customer {
        name: "Kate".into(),
        ..kate.clone()
    };
    odm.bulk().add(new_total).add(customers.replace(kate)).await?;
    let read = orders.get(&read).await?.expect("is there");
    orders.delete(&read).await?;
    Ok(())
}

#[odm_tests::test]
fn no_statement_of_a_shop_that_is_sharded_by_tenant_goes_to_all_shards() {
    odm_tests::with_transactions(async |_| {
        let db: TestDatabase = odm::testing::database().await.deny_broadcast();
        let odm = db.odm(models()).await.unwrap();
        for tenant in 0..100 {
            let (kate, first) = of_tenant(&odm, &format!("tenant {tenant}")).await.unwrap();
            if tenant == 0 {
                with_documents(&odm, &kate, &first).await.unwrap();
            }
        }
        db.close().await.unwrap();
        let db = odm::testing::database().await;
        let odm = db.odm(models()).await.unwrap();
        of_tenant(&odm, "acme").await.unwrap();
        assert!(odm.audit().await.unwrap().is_clean());
        db.close().await.unwrap();
    });
}

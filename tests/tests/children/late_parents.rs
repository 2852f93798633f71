//! A parent that is inserted while a transaction of another client changes what its children copy: the children don't ask for
//! it, so they are there before it.

use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::fixtures::stopped::Process;
use odm_tests::{TestDb, assert_clean_after, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
struct Product {
    id: i32,
    price: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "baskets")]
struct Basket {
    id: i32,
    #[computed(sum = Item.price)]
    total: i64,
}

/// Its basket may come after it.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "items")]
struct Item {
    id: i32,
    #[parent_ref(check = false)]
    basket: Ref<Basket>,
    #[reference(on_delete = restrict)]
    product: Ref<Product>,
    #[denormalize(from = product.price)]
    price: i64,
}

fn handle(db: odm::mongodb::Database) -> Odm {
    Odm::new(db, models![Product, Basket, Item]).unwrap()
}

async fn odm(t: &TestDb) -> Odm {
    let odm = handle(t.db.clone());
    odm.sync().await.unwrap();
    odm
}

async fn emptied(odm: &Odm) {
    for collection in ["products", "baskets", "items"] {
        let all = odm.database().collection::<Raw>(collection);
        all.delete_many(doc! {}).await.unwrap();
    }
}

async fn item(odm: &Odm, id: i32, basket: i32) {
    let (basket, product) = (Ref::new(basket), Ref::new(1));
    let item = NewItem { id, basket, product };
    odm.collection::<Item>().insert(item).await.unwrap();
}

#[odm_tests::test]
fn a_parent_that_comes_while_its_children_get_new_copies_is_computed_of_these() {
    with_db(async |t| {
        let other = odm(&t).await;
        let process = Process::new(&t).await;
        let first = handle(process.db.clone());
        first.server().await.unwrap();
        let mut stops = 0;
        loop {
            emptied(&other).await;
            let product = NewProduct { id: 1, price: 3 };
            other.collection::<Product>().insert(product).await.unwrap();
            other
                .collection::<Basket>()
                .insert(NewBasket { id: 2 })
                .await
                .unwrap();
            for (id, basket) in [(1, 1), (2, 1), (3, 2)] {
                item(&other, id, basket).await;
            }
            let products = first.collection::<Product>();
            let work = async move { products.update(1).set(|p| p.price, 5).await };
            let baskets = other.collection::<Basket>();
            let comes = async || baskets.insert(NewBasket { id: 1 }).await.unwrap();
            let (updated, stopped) = match process.until(stops, work).await {
                Ok(stopped) => {
                    comes().await;
                    (stopped.go_on().await.unwrap(), true)
                }
                Err(updated) => {
                    comes().await;
                    (updated, false)
                }
            };
            updated.unwrap();
            let name = format!("before command {stops}");
            for (basket, total) in [(1, 10), (2, 5)] {
                let basket = baskets.get(basket).await.unwrap().unwrap();
                assert_eq!(basket.total, total, "{name}, basket {}", basket.id);
            }
            assert_clean_after(&other, &name).await;
            assert_eq!(other.recover().await.unwrap().documents, 0, "{name}");
            if !stopped {
                break;
            }
            stops += 1;
        }
        assert!(stops >= 5, "a transaction of {stops} commands");
    });
}

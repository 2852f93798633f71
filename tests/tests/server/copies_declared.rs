//! What the declarations of copies, subsets and computed fields say: types, constants, conditions. No server is asked.

mod one_to_many {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[index(unique)]
        pub partno: String,
        pub name: String,
        #[volatile]
        pub qty: i32,
        pub price: f64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub name: String,
        #[index]
        pub manufacturer: String,
        #[index(unique)]
        pub catalog_number: i32,
        #[reference(many, max = 2000)]
        #[denormalize(from = Part, fields(name: String))]
        pub parts: Vec<PartEntry>,
    }

    /// That the operations of the program are there, with their types.
    pub async fn compiles(odm: Odm, made: Vec<Part>, product: Product) -> odm::Result<()> {
        let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());
        products
            .insert(NewProduct {
                name: "left-handed smoke shifter".into(),
                manufacturer: "Acme Corp".into(),
                catalog_number: 1234,
                parts: made.iter().map(Part::to_ref).collect(),
            })
            .await?;
        let _: &String = &product.parts[0].name;
        let _: Vec<Part> = product.parts.load(&odm).await?;
        let _: Vec<(Product, Vec<Part>)> = products
            .find(|p| p.manufacturer.eq("Acme Corp"))
            .include(|p| p.parts)
            .all()
            .await?;
        let part = || made[0].to_ref();
        products.update(&product).pull(|p| p.parts, part()).await?;
        products.update(&product).push(|p| p.parts, part()).await?;
        products.update(&product).add_to_set(|p| p.parts, part()).await?;
        products.update(&product).push_all(|p| p.parts, [part()]).await?;
        products.update(&product).set(|p| p.parts, vec![part()]).await?;
        products
            .update(&product)
            .pull(|p| p.parts, &product.parts[0])
            .await?;
        products.find(|p| p.parts.contains(part())).all().await?;
        products.find(|p| p.parts.name.eq("fan blade")).all().await?;
        parts.update(&made[0]).set(|p| p.name, "#5 grommet").await?;
        Ok(())
    }
}

mod one_to_squillions {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "hosts")]
    pub struct Host {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub name: String,
        #[index(unique)]
        pub ipaddr: String,
        #[subset(of = LogMsg, limit = 1000, order(time), fields(time: DateTime, message: String))]
        pub logmsgs: Vec<LogmsgsEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "logmsg")]
    pub struct LogMsg {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        pub time: DateTime,
        pub message: String,
        #[parent_ref(order(-time))]
        pub host: Ref<Host>,
        #[denormalize(from = host.ipaddr)]
        #[index]
        pub ipaddr: String,
    }

    pub fn new(host: &Host) -> (NewHost, NewLogMsg) {
        (
            NewHost {
                name: "goofy.example.com".into(),
                ipaddr: "127.66.66.66".into(),
            },
            NewLogMsg {
                time: DateTime::from_millis(0),
                message: "cpu is on fire!".into(),
                host: host.to_ref(),
            },
        )
    }
}

mod subset {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        #[subset(of = Review, limit = 10, order(-published_date))]
        pub reviews: Vec<RecentReview>,
        #[computed(count = Review)]
        pub review_count: i64,
        #[computed(avg = Review.stars)]
        pub rating: Average,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[denormalize(from = Review)]
    pub struct RecentReview {
        #[serde(rename = "review_id")]
        pub id: Ref<Review>,
        pub review_author: String,
        pub review_text: String,
        pub published_date: DateTime,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "reviews")]
    pub struct Review {
        #[serde(rename = "_id")]
        pub id: ObjectId,
        #[parent_ref(order(-published_date), on_delete = cascade)]
        #[serde(rename = "product_id")]
        pub product: Ref<Product>,
        pub review_author: String,
        pub review_text: String,
        pub stars: i32,
        pub published_date: DateTime,
    }

    pub fn new() -> NewProduct {
        NewProduct {
            id: 1,
            name: "Super Widget".into(),
        }
    }
}

#[test]
fn they_compile() {
    let _ = one_to_many::compiles;
    let _ = one_to_squillions::new;
    assert_eq!(subset::new().id, 1);
}

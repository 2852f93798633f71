//! Models without serde: one derive above a plain struct, with dates, UUIDs and decimals of other crates, copies, buckets and patches; and
//! models whose JSON differs from what is stored.

use chrono::{DateTime as ChronoDate, TimeDelta, Utc};
use odm::bson::{self, Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::{AsStored, Error};
use odm_tests::with_db;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "makers", timestamps, version)]
struct Maker {
    id: Uuid,
    #[field(normalize(trim))]
    name: String,
    #[field(name = "web")]
    site: Option<String>,
    #[field(default = 3)]
    rating: i32,
    #[field(default, alias = "notes")]
    remarks: Option<String>,
    #[field(skip_none)]
    phone: Option<String>,
    #[field(skip)]
    shown: u32,
    created_at: ChronoDate<Utc>,
    updated_at: ChronoDate<Utc>,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products", rename_all = "camelCase", patch)]
struct Product {
    id: ObjectId,
    price: Decimal,
    made_on: Option<ChronoDate<Utc>>,
    #[embed(max = 3)]
    checked_on: Vec<ChronoDate<Utc>>,
    #[embed(max = 3)]
    by_day: BTreeMap<String, TimeDelta>,
    span: (ChronoDate<Utc>, Uuid),
    pair: [Uuid; 2],
    size: Size,
    state: State,
    #[embed(patch)]
    #[field(flatten)]
    place: Place,
    #[reference]
    #[denormalize(from = Maker, fields(name: String))]
    maker: MakerEntry,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Size {
    InCentimetres {
        wide_side: i32,
    },
    #[embed(name = "unknown")]
    NotMeasured,
}

#[derive(Embed, Clone, Copy, Debug, PartialEq)]
enum State {
    OnSale,
    Sold,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(patch)]
struct Place {
    shelf: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Product, size = 2)]
struct Opinion {
    text: String,
    at: ChronoDate<Utc>,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Product)]
struct Priced {
    id: ObjectId,
    price: Decimal,
    made_on: Option<ChronoDate<Utc>>,
}

#[derive(odm::Row, Debug, PartialEq)]
struct ByState {
    #[field(name = "_id")]
    state: State,
    last: ChronoDate<Utc>,
    products: i64,
}

fn date(seconds: i64) -> ChronoDate<Utc> {
    ChronoDate::from_timestamp(seconds, 0).unwrap()
}

fn maker() -> NewMaker {
    NewMaker {
        id: Uuid::from_u128(7),
        name: " Ada ".into(),
        site: Some("a.org".into()),
        rating: 5,
        remarks: None,
        phone: None,
    }
}

fn product(maker: &Maker) -> NewProduct {
    NewProduct {
        price: "9.90".parse().unwrap(),
        made_on: Some(date(1)),
        checked_on: vec![date(2), date(3)],
        by_day: BTreeMap::from([("mon".to_owned(), TimeDelta::seconds(4))]),
        span: (date(5), Uuid::from_u128(6)),
        pair: [Uuid::from_u128(7), Uuid::from_u128(8)],
        size: Size::InCentimetres { wide_side: 9 },
        state: State::OnSale,
        place: Place { shelf: 10 },
        maker: maker.to_ref(),
    }
}

#[odm_tests::test]
fn a_model_without_serde_is_stored_found_and_changed() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Product, OpinionBucket]).unwrap();
        odm.sync().await.unwrap();
        let (makers, products) = (odm.collection::<Maker>(), odm.collection::<Product>());
        let ada = makers.insert(maker()).await.unwrap();
        assert_eq!((ada.name.as_str(), ada.shown), ("Ada", 0));
        let inserted = products.insert(product(&ada)).await.unwrap();
        assert_eq!(inserted.maker.name, "Ada");
        assert_eq!(products.get(inserted.id).await.unwrap(), Some(inserted.clone()));

        // The stored values have the types of BSON and the declared names.
        let raw = async |name: &str| {
            let found = t.db.collection::<Raw>(name).find_one(doc! {}).await;
            found.unwrap().unwrap()
        };
        let stored = raw("makers").await;
        let names: Vec<&str> = stored.keys().map(String::as_str).collect();
        let expected = [
            "_id",
            "name",
            "web",
            "rating",
            "remarks",
            "created_at",
            "updated_at",
            "version",
        ];
        assert_eq!(names[..8], expected);
        assert!(matches!(stored.get("created_at"), Some(Bson::DateTime(_))));
        let stored = raw("products").await;
        assert!(matches!(stored.get("price"), Some(Bson::Decimal128(_))));
        assert_eq!(stored.get_document("byDay").unwrap(), &doc! { "mon": 4_000_i64 });
        assert_eq!(
            stored.get_document("size").unwrap(),
            &doc! { "kind": "in_centimetres", "wideSide": 9 }
        );
        assert_eq!(stored.get_i32("shelf").unwrap(), 10);
        assert!(matches!(stored.get_array("span").unwrap()[0], Bson::DateTime(_)));

        // Conditions and updates have the same form.
        let found = products.find(|p| p.checked_on.contains(date(3)) & p.price.gte(Decimal::ONE));
        assert_eq!(found.count().await.unwrap(), 1);
        let change = products
            .update(inserted.id)
            .set(|p| p.size, Size::NotMeasured)
            .set(|p| p.made_on, None)
            .push(|p| p.checked_on, date(11));
        let changed = change.returning().await.unwrap();
        assert_eq!((changed.size, changed.made_on), (Size::NotMeasured, None));
        let priced: Vec<Priced> = products.find_all().select().all().await.unwrap();
        assert_eq!(priced[0].price.to_string(), "9.90");
        makers.update(ada.id).set(|m| m.name, "Grace").await.unwrap();
        assert_eq!(
            products.get(inserted.id).await.unwrap().unwrap().maker.name,
            "Grace"
        );
        odm.buckets::<Opinion>()
            .push(
                inserted.id,
                Opinion {
                    text: "good".into(),
                    at: date(12),
                },
            )
            .await
            .unwrap();
        let patch = ProductPatch {
            price: Decimal::TWO.into(),
            ..ProductPatch::default()
        };
        products.update(inserted.id).apply(patch).await.unwrap();

        let rows: Vec<ByState> = products
            .aggregate()
            .stage(doc! { "$group": {
                "_id": "$state", "last": { "$max": { "$last": "$checkedOn" } }, "products": { "$sum": 1_i64 },
            } })
            .all()
            .await
            .unwrap();
        let expected = ByState {
            state: State::OnSale,
            last: date(11),
            products: 1,
        };
        assert_eq!(rows, [expected]);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn a_missing_field_is_its_default_also_under_an_earlier_name() {
    with_db(async |_| {
        let at = bson::DateTime::now();
        let stored = doc! {
            "_id": bson::Uuid::from_bytes(*Uuid::from_u128(1).as_bytes()), "name": "a", "notes": "b", "created_at": at, "updated_at": at,
            "version": 1_i64,
        };
        let maker: Maker = odm::from_document(&stored).unwrap();
        assert_eq!((maker.rating, maker.remarks.as_deref()), (3, Some("b")));
        assert_eq!((maker.site, maker.phone), (None, None));
    });
}

/// JSON has other names than storage, a hash that it never shows, and the key of serde's own.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users", serde = json, new(derive(Debug)))]
#[serde(rename_all = "camelCase")]
struct User {
    id: ObjectId,
    full_name: String,
    #[serde(rename = "mail")]
    email: String,
    #[serde(skip)]
    password_hash: String,
    role: Role,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(serde = json, rename_all = "snake_case")]
#[serde(rename_all = "kebab-case", tag = "type")]
enum Role {
    SiteOwner { since_year: i32 },
}

/// The names of JSON by serde, and those of the database beside them.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams", rename_all = "snake_case")]
#[serde(rename_all = "camelCase")]
struct Team {
    id: i32,
    short_name: String,
    #[field(name = "lead")]
    led_by: String,
}

#[odm_tests::test]
fn json_and_storage_have_names_of_their_own() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Team]).unwrap();
        odm.sync().await.unwrap();
        let users = odm.collection::<User>();
        let role = Role::SiteOwner { since_year: 1999 };
        let user = User {
            id: ObjectId::new(),
            full_name: "Kate M.".into(),
            email: "k@b.org".into(),
            password_hash: "x".into(),
            role,
        };
        users.insert(user.clone()).await.unwrap();
        let stored = users.driver::<Raw>().find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(
            stored.keys().collect::<Vec<_>>(),
            ["_id", "full_name", "email", "password_hash", "role"]
        );
        assert_eq!(
            stored.get_document("role").unwrap(),
            &doc! { "site_owner": { "since_year": 1999 } }
        );
        assert_eq!(users.get(user.id).await.unwrap(), Some(user.clone()));

        let json = odm::json::to_string(&user).unwrap();
        let id = user.id.to_hex();
        let expected = format!(
            r#"{{"id":"{id}","fullName":"Kate M.","mail":"k@b.org","role":{{"site-owner":{{"sinceYear":1999}}}}}}"#
        );
        assert_eq!(json, expected.replace("sinceYear", "since_year"));
        let refused = odm::json::from_str::<NewUser>(r#"{ "full_name": "K", "mail": "k" }"#);
        let Err(Error::Json { values }) = refused else {
            panic!("{refused:?}")
        };
        let pointers: Vec<&str> = values.iter().map(|bad| bad.pointer.as_str()).collect();
        assert!(pointers.contains(&"/fullName"), "{pointers:?}");

        let json = r#"{ "fullName": "K", "mail": "k", "passwordHash": "y" }"#;
        let refused = odm::json::from_str::<NewUser>(json).unwrap_err().to_string();
        assert!(refused.contains("`/passwordHash` is not a field"), "{refused}");

        let team = Team {
            id: 1,
            short_name: "A".into(),
            led_by: "Kate".into(),
        };
        let stored = odm::to_document(&team).unwrap();
        assert_eq!(stored, doc! { "_id": 1, "short_name": "A", "lead": "Kate" });
        let json = odm::json::to_string(&team).unwrap();
        assert_eq!(json, r#"{"id":1,"shortName":"A","ledBy":"Kate"}"#);
        assert_eq!(odm::json::from_str::<Team>(&json).unwrap(), team);
        assert_eq!(serde_json::to_string(&team).unwrap(), json);
    });
}

/// serde's form of such a model has `id`, which the validator refuses; `AsStored` writes and reads what is stored.
#[odm_tests::test]
fn the_drivers_typed_collection_needs_the_stored_form() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Team]).unwrap();
        odm.sync().await.unwrap();
        let team = Team {
            id: 7,
            short_name: "B".into(),
            led_by: "Ada".into(),
        };
        let by_serde = t.db.collection::<Team>("teams").insert_one(&team).await;
        assert!(by_serde.is_err(), "a field `id` is refused");
        let stray = doc! { "short_name": "B", "lead": "Ada", "id": 7 };
        let stray = t.db.collection::<Raw>("teams").insert_one(stray).await;
        assert!(stray.is_err(), "a field `id` is refused beside a new `_id` too");
        let as_stored = odm.collection::<Team>().driver::<AsStored<Team>>();
        as_stored.insert_one(AsStored(team.clone())).await.unwrap();
        assert_eq!(odm.collection::<Team>().get(7).await.unwrap(), Some(team.clone()));
        let AsStored(found) = as_stored.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(found, team);
    });
}

mod before {
    use odm::prelude::*;

    #[derive(Document)]
    #[document(collection = "renamed")]
    pub struct Guest {
        pub id: i32,
        pub full_name: String,
    }
}

/// A case for the JSON of a front end renames what is stored too.
#[derive(Document)]
#[document(collection = "renamed")]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)]
struct Guest {
    id: i32,
    full_name: String,
}

#[odm_tests::test]
fn a_plan_names_a_field_that_documents_have_under_its_old_name() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![before::Guest]).unwrap();
        odm.sync().await.unwrap();
        let guests = odm.collection::<before::Guest>();
        for id in 1..=2 {
            let full_name = "Kate".to_owned();
            guests.insert(before::NewGuest { id, full_name }).await.unwrap();
        }
        assert_eq!(odm.plan().await.unwrap().renamed(), []);
        let odm = Odm::new(t.db.clone(), models![Guest]).unwrap();
        let plan = odm.plan().await.unwrap();
        let [renamed] = plan.renamed() else {
            panic!("{plan}")
        };
        assert_eq!(
            (renamed.field, renamed.old_name.as_str(), renamed.documents),
            ("fullName", "full_name", 2)
        );
        assert!(
            plan.to_string()
                .contains("2 documents with `full_name`, which is declared as `fullName`")
        );
    });
}

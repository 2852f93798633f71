//! What each operation does, seen from the database.

use super::models::*;
use futures::TryStreamExt;
use odm::bson::{Bson, Document as Doc, doc};
use odm::geo::{Area, Point};
use odm::prelude::*;
use odm::{Collection, Error};
use odm_tests::with_db;
use serde::Deserialize;

async fn three(shops: &Collection<Shop>) -> Vec<Shop> {
    let mut made = Vec::new();
    for (name, stars) in [("Ada", 5), ("Bob", 3), ("Cid", 1)] {
        made.push(shops.insert(shop(name, stars)).await.unwrap());
    }
    made
}

async fn names(find: odm::query::Find<Shop>) -> Vec<String> {
    find.sort(|s| s.name.asc())
        .all()
        .await
        .unwrap()
        .into_iter()
        .map(|s| s.name)
        .collect()
}

#[odm_tests::test]
fn an_inserted_document_is_found() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        assert_eq!(shops.get(made[0].id).await.unwrap().as_ref(), Some(&made[0]));
        assert_eq!(shops.get(&made[1]).await.unwrap().as_ref(), Some(&made[1]));
        assert_eq!(shops.get(odm::bson::oid::ObjectId::new()).await.unwrap(), None);
        // A whole document, with its id, is inserted as it is.
        let whole = Shop {
            id: odm::bson::oid::ObjectId::new(),
            name: "Whole".into(),
            ..made[0].clone()
        };
        assert_eq!(shops.insert(whole.clone()).await.unwrap(), whole);
        assert_eq!(shops.get(whole.id).await.unwrap(), Some(whole));
    });
}

#[odm_tests::test]
fn get_many_keeps_order_and_duplicates() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        t.commands.clear();
        let ids = [
            made[2].id,
            made[0].id,
            odm::bson::oid::ObjectId::new(),
            made[2].id,
        ];
        let found = shops.get_many(ids).await.unwrap();
        assert_eq!(
            found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["Cid", "Ada", "Cid"]
        );
        assert_eq!(t.commands.take(), ["find"]);
        assert!(
            shops
                .get_many(Vec::<odm::bson::oid::ObjectId>::new())
                .await
                .unwrap()
                .is_empty()
        );
        assert!(t.commands.take().is_empty(), "nothing to ask for, nothing sent");
        // An id that somebody stored in another number type is the same id.
        let notes = odm.collection::<Note>();
        let stored = notes.insert(note(7)).await.unwrap();
        notes.driver::<Doc>().delete_one(doc! {}).await.unwrap();
        let mut raw = odm::bson::serialize_to_document(&stored).unwrap();
        raw.insert("_id", Bson::Int32(7));
        notes.driver::<Doc>().insert_one(raw).await.unwrap();
        assert_eq!(notes.get_many([7_i64]).await.unwrap(), [stored]);
    });
}

#[odm_tests::test]
fn filters_find_matching_documents() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        shops
            .update(made[1].id)
            .set(|s| s.note, "x")
            .push(|s| s.tags, "wine")
            .push(|s| s.items, item("c", 9))
            .await
            .unwrap();
        shops
            .update(made[2].id)
            .unset(|s| s.owner)
            .unset(|s| s.place)
            .await
            .unwrap();

        assert_eq!(names(shops.find(|s| s.name.eq("Ada"))).await, ["Ada"]);
        assert_eq!(names(shops.find(|s| s.name.ne("Ada"))).await, ["Bob", "Cid"]);
        assert_eq!(
            names(shops.find(|s| s.stars.gt(1) & s.stars.lt(5))).await,
            ["Bob"]
        );
        assert_eq!(
            names(shops.find(|s| s.stars.gte(3) & s.stars.lte(5))).await,
            ["Ada", "Bob"]
        );
        assert_eq!(
            names(shops.find(|s| s.name.in_(["Ada", "Cid"]))).await,
            ["Ada", "Cid"]
        );
        assert_eq!(
            names(shops.find(|s| s.name.not_in(["Ada", "Cid"]))).await,
            ["Bob"]
        );
        assert_eq!(names(shops.find(|s| s.note.eq("x"))).await, ["Bob"]);
        assert_eq!(names(shops.find(|s| s.note.eq(None))).await, ["Ada", "Cid"]);
        assert_eq!(names(shops.find(|s| s.owner.exists(false))).await, ["Cid"]);
        assert_eq!(
            names(shops.find(|s| s.owner.name.eq("Ann"))).await,
            ["Ada", "Bob"]
        );
        assert_eq!(names(shops.find(|s| s.tags.contains("wine"))).await, ["Bob"]);
        assert_eq!(
            names(shops.find(|s| s.tags.contains_all(["wine", "food"]))).await,
            ["Bob"]
        );
        assert_eq!(
            names(shops.find(|s| s.tags.contains_any(["wine", "none"]))).await,
            ["Bob"]
        );
        assert_eq!(names(shops.find(|s| s.tags.size(2))).await, ["Bob"]);
        assert_eq!(names(shops.find(|s| s.items.sku_code.eq("c"))).await, ["Bob"]);
        // One item has both, not one item each.
        assert_eq!(
            names(shops.find(|s| s.items.elem(|i| i.sku_code.eq("c") & i.quantity.eq(9)))).await,
            ["Bob"]
        );
        assert!(
            names(shops.find(|s| s.items.elem(|i| i.sku_code.eq("a") & i.quantity.eq(9))))
                .await
                .is_empty()
        );
        assert_eq!(
            names(shops.find(|s| s.items.contains(item("c", 9)))).await,
            ["Bob"]
        );
        assert_eq!(
            names(shops.find(|s| s.name.eq("Ada") | s.name.eq("Bob"))).await,
            ["Ada", "Bob"]
        );
        assert_eq!(
            names(shops.find(|s| !(s.name.eq("Ada") | s.name.eq("Bob")))).await,
            ["Cid"]
        );
        assert_eq!(names(shops.find(|s| s.name.starts_with("A"))).await, ["Ada"]);
        assert_eq!(
            names(shops.find(|s| s.name.regex(Pattern::literal("BO").ignore_case()))).await,
            ["Bob"]
        );
        assert_eq!(names(shops.find(|s| s.name.regex("^[AB]"))).await, ["Ada", "Bob"]);
        assert!(
            names(shops.find(|s| s.name.contains_text(".*"))).await.is_empty(),
            "a text is literal"
        );
        assert_eq!(
            names(shops.find(|_| Filter::raw(doc! { "stars": { "$mod": [2, 1] } }))).await,
            ["Ada", "Bob", "Cid"]
        );
        assert_eq!(names(shops.find_all().filter(|s| s.stars.eq(1))).await, ["Cid"]);
    });
}

#[odm_tests::test]
fn places_are_found_by_distance_and_area() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        for (name, x, y) in [
            ("near", 13.40, 52.50),
            ("far", 13.80, 52.50),
            ("away", 2.35, 48.85),
        ] {
            shops
                .insert(NewShop {
                    place: Some(Point::new(x, y)),
                    ..shop(name, 1)
                })
                .await
                .unwrap();
        }
        let here = Point::new(13.39, 52.50);
        let found = shops.find(|s| s.place.near(here, 100_000.0)).all().await.unwrap();
        assert_eq!(
            found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["near", "far"]
        );
        assert_eq!(
            names(shops.find(|s| s.place.within(Area::circle(here, 5_000.0)))).await,
            ["near"]
        );
        let france = [
            Point::new(0.0, 45.0),
            Point::new(5.0, 45.0),
            Point::new(5.0, 50.0),
            Point::new(0.0, 50.0),
        ];
        assert_eq!(
            shops
                .find(|s| s.place.within(Area::polygon(france)))
                .count()
                .await
                .unwrap(),
            1
        );
    });
}

#[odm_tests::test]
fn queries_sort_skip_limit_count_and_project() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        three(&shops).await;
        let find = || shops.find_all().sort(|s| s.stars.desc());
        assert_eq!(find().skip(1).limit(1).all().await.unwrap()[0].name, "Bob");
        assert_eq!(find().skip(2).one().await.unwrap().unwrap().name, "Cid");
        assert_eq!(find().one().await.unwrap().unwrap().name, "Ada");
        assert!(find().limit(0).all().await.unwrap().is_empty());
        assert!(find().limit(0).one().await.unwrap().is_none());
        assert_eq!(find().limit(0).count().await.unwrap(), 0);
        assert_eq!(find().count().await.unwrap(), 3);
        assert_eq!(find().skip(1).limit(5).count().await.unwrap(), 2);
        assert!(shops.find(|s| s.stars.eq(5)).exists().await.unwrap());
        assert!(!shops.find(|s| s.stars.eq(4)).exists().await.unwrap());
        let selected: Vec<ShopName> = find().limit(2).select::<ShopName>().all().await.unwrap();
        assert_eq!(
            selected,
            [ShopName { name: "Ada".into() }, ShopName { name: "Bob".into() }]
        );
        let streamed: Vec<Shop> = find()
            .batch_size(1)
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(streamed.len(), 3);
        assert_eq!(
            shops
                .find_all()
                .sort(|s| (s.revenue.asc(), s.name.desc()))
                .one()
                .await
                .unwrap()
                .unwrap()
                .name,
            "Cid"
        );
    });
}

#[odm_tests::test]
fn updates_change_the_named_fields() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 3)).await.unwrap();
        let done = shops
            .update(ada.id)
            .set(|s| s.note, "n")
            .inc(|s| s.stars, 1)
            .mul(|s| s.revenue, 2.0)
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 1));
        let now = shops.get(ada.id).await.unwrap().unwrap();
        assert_eq!(
            (now.note.as_deref(), now.stars, now.revenue),
            (Some("n"), 4, 21.0)
        );

        shops
            .update(ada.id)
            .min(|s| s.stars, 2)
            .max(|s| s.revenue, 30.0)
            .unset(|s| s.note)
            .await
            .unwrap();
        let now = shops.get(ada.id).await.unwrap().unwrap();
        assert_eq!((now.note, now.stars, now.revenue), (None, 2, 30.0));

        shops
            .update(ada.id)
            .push_all(|s| s.tags, ["b", "c"])
            .await
            .unwrap();
        shops.update(ada.id).add_to_set(|s| s.tags, "b").await.unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().tags, ["food", "b", "c"]);
        shops.update(ada.id).pull(|s| s.tags, "b").await.unwrap();
        shops.update(ada.id).pop_first(|s| s.tags).await.unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().tags, ["c"]);
        shops.update(ada.id).pop(|s| s.tags).await.unwrap();
        assert!(shops.get(ada.id).await.unwrap().unwrap().tags.is_empty());

        shops
            .update(ada.id)
            .elem(
                |s| s.items,
                |i| i.sku_code.eq("b"),
                |i| i.inc(|i| i.quantity, 5).set(|i| i.price, 1.5),
            )
            .await
            .unwrap();
        let now = shops.get(ada.id).await.unwrap().unwrap();
        assert_eq!(
            (now.items[0].quantity, now.items[1].quantity, now.items[1].price),
            (1, 7, Some(1.5))
        );
        shops
            .update(ada.id)
            .each(|s| s.items, |i| i.set(|i| i.price, 9.0))
            .await
            .unwrap();
        assert!(
            shops
                .get(ada.id)
                .await
                .unwrap()
                .unwrap()
                .items
                .iter()
                .all(|i| i.price == Some(9.0))
        );
        shops
            .update(ada.id)
            .pull_where(|s| s.items, |i| i.quantity.gt(5))
            .await
            .unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().items.len(), 1);
        let old = shops.get(ada.id).await.unwrap().unwrap().items[0].clone();
        shops
            .update(ada.id)
            .replace_item(|s| s.items, &old, item("z", 3))
            .await
            .unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().items, [item("z", 3)]);

        shops.update(ada.id).set_key(|s| s.hours, "tue", 9).await.unwrap();
        shops.update(ada.id).unset_key(|s| s.hours, "mon").await.unwrap();
        assert_eq!(
            shops
                .get(ada.id)
                .await
                .unwrap()
                .unwrap()
                .hours
                .into_iter()
                .collect::<Vec<_>>(),
            [("tue".to_owned(), 9)]
        );
        shops.update(ada.id).set(|s| s.owner.since, 1999).await.unwrap();
        assert_eq!(
            shops.get(ada.id).await.unwrap().unwrap().owner.unwrap().since,
            1999
        );
        shops
            .update(ada.id)
            .raw(doc! { "$rename": { "note": "remark" } })
            .await
            .unwrap();
    });
}

#[odm_tests::test]
fn two_changes_of_one_field_are_refused_before_the_network() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 3)).await.unwrap();
        t.commands.clear();
        let owner = Owner {
            name: "Bo".into(),
            since: 1,
        };
        for error in [
            shops
                .update(ada.id)
                .set(|s| s.stars, 1)
                .inc(|s| s.stars, 1)
                .await
                .unwrap_err(),
            shops
                .update(ada.id)
                .push(|s| s.tags, "x")
                .pull(|s| s.tags, "y")
                .await
                .unwrap_err(),
            shops
                .update(ada.id)
                .set(|s| s.owner, owner)
                .inc(|s| s.owner.since, 1)
                .await
                .unwrap_err(),
            shops
                .update(ada.id)
                .set(|s| s.stars, 1)
                .set(|s| s.stars, 2)
                .await
                .unwrap_err(),
            shops
                .update(ada.id)
                .set(|s| s.note, "a")
                .set_on_insert(|s| s.note, "b")
                .upsert()
                .await
                .unwrap_err(),
        ] {
            assert!(
                matches!(
                    error,
                    Error::Query {
                        collection: "shops",
                        ..
                    }
                ),
                "{error}"
            );
        }
        assert!(t.commands.take().is_empty());
        // Neighbours do not meet.
        shops
            .update(ada.id)
            .set(|s| s.stars, 2)
            .set(|s| s.note, "n")
            .set(|s| s.name, "no")
            .await
            .unwrap();
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().stars, 2);
    });
}

#[odm_tests::test]
fn updates_give_documents_and_insert_them() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 3)).await.unwrap();
        let after = shops
            .update(ada.id)
            .set(|s| s.stars, 4)
            .returning()
            .await
            .unwrap();
        assert_eq!(after.stars, 4);
        let before = shops
            .update(ada.id)
            .set(|s| s.stars, 5)
            .returning_before()
            .await
            .unwrap();
        assert_eq!(before.stars, 4);
        // Without a change the document is looked for.
        t.commands.clear();
        let unchanged = shops.update(ada.id).await.unwrap();
        assert_eq!((unchanged.matched, unchanged.modified), (1, 0));
        assert_eq!(t.commands.take(), ["find"]);

        let many = shops
            .update_where(|s| s.stars.gte(1))
            .set(|s| s.revenue, 0.0)
            .await
            .unwrap();
        assert_eq!((many.matched, many.modified), (1, 1));

        // An upsert without a change makes sure that the document is there.
        let there = shops.update(ada.id).upsert_with(shop("Ada", 1));
        assert_eq!(there.await.unwrap().matched, 1);

        // An upsert of a whole document.
        let id = odm::bson::oid::ObjectId::new();
        fn fill(u: odm::update::Update<Shop>) -> odm::update::Update<Shop> {
            u.set(|s| s.name, "New")
                .set(|s| s.stars, 1)
                .set_on_insert(|s| s.revenue, 1.0)
                .set(|s| s.tags, Vec::new())
                .set(|s| s.items, Vec::new())
                .set(|s| s.hours, std::collections::BTreeMap::new())
        }
        let done = fill(shops.update(id)).upsert().await.unwrap();
        assert_eq!(done.upserted, Some(Bson::ObjectId(id)));
        let done = fill(shops.update(id)).upsert().await.unwrap();
        assert_eq!((done.matched, done.upserted), (1, None));
        assert_eq!(shops.get(id).await.unwrap().unwrap().name, "New");
    });
}

#[odm_tests::test]
fn documents_are_replaced_and_deleted() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        let other = Shop {
            stars: 0,
            ..made[0].clone()
        };
        assert_eq!(shops.replace(other.clone()).await.unwrap(), other);
        assert_eq!(shops.get(other.id).await.unwrap(), Some(other));
        assert_eq!(shops.delete(made[0].id).await.unwrap().deleted, 1);
        let again = shops.delete(made[0].id).await;
        assert!(matches!(again, Err(Error::NotFound { .. })), "{again:?}");
        // Of each write of one document, `optional` makes `None` of that.
        let (id, gone) = (made[0].id, made[0].clone());
        assert_eq!(shops.delete(id).optional().await.unwrap(), None);
        assert_eq!(shops.replace(gone).optional().await.unwrap(), None);
        let update = || shops.update(id).set(|s| s.stars, 1);
        assert_eq!(update().optional().await.unwrap(), None);
        assert_eq!(update().returning().optional().await.unwrap(), None);
        assert_eq!(update().returning_before().optional().await.unwrap(), None);
        let there = shops
            .update(made[1].id)
            .set(|s| s.stars, 1)
            .optional()
            .await
            .unwrap();
        assert_eq!(there.map(|done| done.matched), Some(1));
        assert!(matches!(
            shops.replace(made[0].clone()).await,
            Err(Error::NotFound {
                collection: "shops",
                ..
            })
        ));
        t.commands.clear();
        assert!(matches!(
            shops.update(made[0].id).set(|s| s.stars, 1).await,
            Err(Error::NotFound { .. })
        ));
        assert_eq!(
            t.commands.take(),
            ["update"],
            "nothing but its id can hold it back"
        );
        assert_eq!(shops.delete_where(|s| s.stars.gte(0)).await.unwrap().deleted, 2);
        assert_eq!(shops.find_all().count().await.unwrap(), 0);
    });
}

#[odm_tests::test]
fn pipelines_begin_typed_and_end_in_any_type() {
    #[derive(odm::Row, Debug, PartialEq)]
    struct ByTag {
        #[serde(rename = "_id")]
        tag: String,
        shops: i64,
        best: i32,
        mean: f64,
    }
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        shops.update(made[0].id).push(|s| s.tags, "wine").await.unwrap();
        let by_tag: Vec<ByTag> = shops
            .aggregate()
            .filter(|s| s.stars.gte(3))
            .unwind(|s| s.tags)
            .group(
                |s| s.tags,
                |g| g.count("shops").max("best", |s| s.stars).avg("mean", |s| s.stars),
            )
            .stage(doc! { "$sort": { "_id": 1 } })
            .all()
            .await
            .unwrap();
        let want = |tag: &str, shops, best, mean| ByTag {
            tag: tag.into(),
            shops,
            best,
            mean,
        };
        assert_eq!(by_tag, [want("food", 2, 5, 4.0), want("wine", 1, 5, 5.0)]);
        let all: Option<Doc> = shops
            .aggregate()
            .group(|_| (), |g| g.sum("sum", |s| s.stars))
            .one()
            .await
            .unwrap();
        assert_eq!(all.unwrap().get_i32("sum").unwrap(), 9);
        let two: Vec<Doc> = shops
            .aggregate()
            .group(|s| (s.stars, s.owner.name), |g| g.count("n"))
            .all()
            .await
            .unwrap();
        assert_eq!(two.len(), 3);
        assert!(
            two.iter()
                .all(|d| d.get_document("_id").unwrap().get_str("owner_name").unwrap() == "Ann")
        );
        let sorted: Vec<Shop> = shops
            .aggregate()
            .sort(|s| s.stars.asc())
            .skip(1)
            .limit(1)
            .all()
            .await
            .unwrap();
        assert_eq!(sorted[0].name, "Bob");
    });
}

#[odm_tests::test]
fn explain_names_the_index() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        three(&shops).await;
        let by_index = shops.find(|s| s.name.eq("Ada")).explain().await.unwrap();
        assert_eq!(
            (by_index.indexes, by_index.returned),
            (vec!["name_1".to_owned()], 1)
        );
        let scan = shops.find(|s| s.revenue.gt(1.0)).explain().await.unwrap();
        assert!(scan.is_collection_scan());
        assert_eq!(scan.documents_examined, 3);
    });
}

#[odm_tests::test]
fn a_lossy_query_gives_the_good_and_collects_the_bad() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let made = three(&shops).await;
        // An out-of-band write, where no validator is.
        t.db.run_command(doc! { "collMod": "shops", "validationLevel": "off" })
            .await
            .unwrap();
        let raw = shops.driver::<Doc>();
        raw.update_one(
            doc! { "_id": made[1].id },
            doc! { "$set": { "items.1.quantity": "two" } },
        )
        .await
        .unwrap();
        let error = shops.find_all().all().await.unwrap_err();
        let Error::Decode {
            collection,
            id,
            path,
            ty,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (collection.as_str(), *ty, path.as_str()),
            ("shops", "Shop", "items.1.quantity")
        );
        assert_eq!(id.as_deref(), Some(&Bson::ObjectId(made[1].id)));
        let lossy = shops
            .find_all()
            .sort(|s| s.name.asc())
            .lossy()
            .all()
            .await
            .unwrap();
        assert_eq!(
            lossy.items.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["Ada", "Cid"]
        );
        assert_eq!(lossy.bad.len(), 1);
        let streamed: Vec<Result<Shop, Error>> = shops
            .find_all()
            .lossy()
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(streamed.iter().filter(|r| r.is_err()).count(), 1);
    });
}

/// Text ids, a partial index and a collation.
#[derive(Document, serde::Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "wiki",
    collation(locale = "en", strength = 2),
    index(fields(title), unique, partial = |p| p.draft.eq(false))
)]
struct WikiPage {
    #[serde(rename = "_id")]
    path: String,
    title: String,
    draft: bool,
}

#[odm_tests::test]
fn texts_are_ids_and_an_index_covers_a_part() {
    with_db(async |t| {
        odm_tests::require_inherited_collations(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![WikiPage]).unwrap();
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        let pages = odm.collection::<WikiPage>();
        let page = |path: &str, title: &str, draft| NewWikiPage {
            path: path.into(),
            title: title.into(),
            draft,
        };
        pages.insert(page("/a", "Home", false)).await.unwrap();
        pages.insert(page("/b", "Home", true)).await.unwrap();
        let twin = pages.insert(page("/c", "HOME", false)).await;
        assert!(
            matches!(twin, Err(Error::DuplicateKey { .. })),
            "published, and the same but for its case"
        );
        assert_eq!(pages.get("/a").await.unwrap().unwrap().title, "Home");
        let sent = "/b".to_owned();
        pages.update(&sent).set(|p| p.title, "Other").await.unwrap();
        assert_eq!(pages.get_many(["/b", "/a", "/none"]).await.unwrap().len(), 2);
        assert_eq!(pages.delete(sent.as_str()).await.unwrap().deleted, 1);
    });
}

/// Documents that are known by several values.
#[derive(Embed, serde::Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
struct Seat {
    row: String,
    number: i32,
}

#[derive(Embed, serde::Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
#[serde(untagged)]
enum OldOrNew {
    Old(i32),
    New(odm::bson::oid::ObjectId),
}

#[derive(Document, serde::Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tickets")]
struct Ticket {
    #[serde(rename = "_id")]
    id: Seat,
    booked: bool,
}

#[derive(Document, serde::Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "legacy")]
struct Legacy {
    #[serde(rename = "_id")]
    id: OldOrNew,
    n: i32,
}

#[odm_tests::test]
fn ids_are_of_any_type_that_mongodb_takes() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Ticket, Legacy]).unwrap();
        odm.sync().await.unwrap();
        let tickets = odm.collection::<Ticket>();
        let seat = |number| Seat {
            row: "$gt".into(),
            number,
        };
        tickets
            .insert_many([1, 2].map(|n| NewTicket {
                id: seat(n),
                booked: false,
            }))
            .await
            .unwrap();
        tickets.update(seat(2)).set(|t| t.booked, true).await.unwrap();
        assert!(tickets.get(seat(2)).await.unwrap().unwrap().booked);
        assert_eq!(tickets.find(|t| t.id.number.eq(1)).count().await.unwrap(), 1);
        assert_eq!(tickets.get_many([seat(2), seat(1)]).await.unwrap()[0].id, seat(2));
        let legacy = odm.collection::<Legacy>();
        let new = OldOrNew::New(odm::bson::oid::ObjectId::new());
        legacy
            .insert_many([new.clone(), OldOrNew::Old(7)].map(|id| NewLegacy { id, n: 0 }))
            .await
            .unwrap();
        assert_eq!(legacy.get(OldOrNew::Old(7)).await.unwrap().unwrap().n, 0);
        assert_eq!(legacy.delete(&new).await.unwrap().deleted, 1);
    });
}

/// The driver takes a batch of `i32::MAX` documents at most.
#[odm_tests::test]
fn a_limit_may_be_larger_than_a_batch() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        notes.insert(note(1)).await.unwrap();
        let limits = [
            i32::MAX as u64 - 1,
            i32::MAX as u64,
            u64::from(u32::MAX),
            u64::MAX,
        ];
        for limit in limits {
            assert_eq!(
                notes.find_all().limit(limit).all().await.unwrap().len(),
                1,
                "{limit}"
            );
        }
        assert_eq!(notes.find_all().page(u32::MAX).await.unwrap().items.len(), 1);
    });
}

#[odm_tests::test]
fn each_way_to_execute_a_query_keeps_its_options() {
    use odm::mongodb::options::{Collation, CollationStrength};
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        three(&shops).await;
        let ignore_case = || {
            let collation = Collation::builder().locale("en");
            collation.strength(CollationStrength::Secondary).build()
        };
        let bob = || shops.find(|s| s.name.eq("BOB"));
        let any_bob = || bob().collation(ignore_case());
        // By the collation, and not without it.
        assert_eq!(bob().one().await.unwrap(), None);
        assert_eq!(any_bob().one().await.unwrap().unwrap().name, "Bob");
        assert!(!bob().exists().await.unwrap());
        assert!(any_bob().exists().await.unwrap());
        assert_eq!(bob().count().await.unwrap(), 0);
        assert_eq!(any_bob().count().await.unwrap(), 1);
        assert_eq!(names(bob()).await, [""; 0]);
        assert_eq!(names(any_bob()).await, ["Bob"]);
        let streamed = any_bob().stream().await.unwrap().try_collect::<Vec<_>>().await;
        assert_eq!(streamed.unwrap().len(), 1);
        assert_eq!(bob().explain().await.unwrap().returned, 0);
        assert_eq!(any_bob().explain().await.unwrap().returned, 1);
        // The second of all, the best first; and nothing behind the third.
        let behind = |n| shops.find_all().sort(|s| s.stars.desc()).skip(n);
        assert_eq!(behind(1).one().await.unwrap().unwrap().name, "Bob");
        assert_eq!(behind(3).one().await.unwrap(), None);
        assert!(behind(2).exists().await.unwrap());
        assert!(!behind(3).exists().await.unwrap());
        assert_eq!(behind(1).count().await.unwrap(), 2);
        assert_eq!(behind(1).limit(1).count().await.unwrap(), 1);
        // Of nothing, none is found, and nothing is asked.
        t.commands.clear();
        assert_eq!(behind(0).limit(0).one().await.unwrap(), None);
        assert!(!behind(0).limit(0).exists().await.unwrap());
        assert_eq!(behind(0).limit(0).count().await.unwrap(), 0);
        assert_eq!(behind(0).limit(0).explain().await.unwrap().returned, 0);
        assert_eq!(t.commands.take(), [""; 0]);
        // An index that is there, and one that is not, which the server refuses.
        let by = |index: &str| shops.find(|s| s.name.eq("Bob")).hint(index);
        assert_eq!(by("name_1").one().await.unwrap().unwrap().name, "Bob");
        assert!(by("name_1").exists().await.unwrap());
        assert_eq!(by("name_1").count().await.unwrap(), 1);
        let refused = |error: Error| assert!(error.to_string().contains("hint"), "{error}");
        refused(by("no_such_index").one().await.unwrap_err());
        refused(by("no_such_index").exists().await.unwrap_err());
        refused(by("no_such_index").all().await.unwrap_err());
        refused(by("no_such_index").count().await.unwrap_err());
        refused(by("no_such_index").explain().await.unwrap_err());
    });
}

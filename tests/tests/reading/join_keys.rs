//! References by values of every kind: of a field that a document may lack, of one that several documents have, of ids that
//! are no ObjectId, and as a part of an id.

use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::mongodb::Database;
use odm::prelude::*;
use odm_tests::{assert_clean, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[index(unique, sparse)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "cards")]
struct Card {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(by = code, order(-at), check = false)]
    holder: Option<Ref<User, String>>,
    at: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "loans")]
struct Loan {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(by = code, check = false)]
    to: Option<Ref<User, String>>,
    #[reference(many, max = 5, by = code, check = false)]
    also: Vec<Ref<User, String>>,
    #[embed(max = 5)]
    lines: Vec<Line>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Line {
    #[reference(by = code, check = false)]
    by: Option<Ref<User, String>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "profiles")]
struct Profile {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(one, check = false)]
    user: Option<Ref<User>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "avatars")]
struct Avatar {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(one, by = code, check = false)]
    of: Option<Ref<User, String>>,
}

/// A document for each day of a user's.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "days")]
struct Day {
    #[serde(rename = "_id")]
    id: DayId,
    note: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
struct DayId {
    #[reference]
    user: Ref<User>,
    day: i32,
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Day)]
struct DayNote {
    note: String,
}

fn odm(db: &Database) -> Odm {
    Odm::new(db.clone(), models![User, Card, Loan, Profile, Avatar, Day]).unwrap()
}

async fn insert(db: &Database, collection: &str, documents: impl IntoIterator<Item = Raw>) {
    db.collection::<Raw>(collection)
        .insert_many(documents)
        .await
        .unwrap();
}

fn ids(cards: &[Card]) -> Vec<i32> {
    cards.iter().map(|card| card.id).collect()
}

#[odm_tests::test]
fn a_document_without_the_key_field_has_no_children() {
    with_db(async |t| {
        let odm = odm(&t.db);
        let lookup = odm.server().await.unwrap().has_lookup_with_pipeline();
        let two_ways = [doc! { "_id": 1 }, doc! { "_id": 2, "code": null }];
        insert(&t.db, "users", two_ways).await;
        insert(&t.db, "users", [doc! { "_id": 3, "code": "c" }]).await;
        let cards = [
            doc! { "_id": 1, "at": 1 },
            doc! { "_id": 2, "holder": null, "at": 2 },
            doc! { "_id": 3, "holder": "c", "at": 3 },
            doc! { "_id": 4, "holder": "c", "at": 4 },
        ];
        insert(&t.db, "cards", cards).await;
        let (users, cards) = (odm.collection::<User>(), odm.collection::<Card>());
        let query = || users.find_all().sort(|u| u.id.asc());
        let of = |rows: Vec<(User, Vec<Card>)>| rows.iter().map(|(_, c)| ids(c)).collect::<Vec<_>>();

        let all = query().include(|u| u.children::<Card>()).all().await.unwrap();
        assert_eq!(of(all), [vec![], vec![], vec![4, 3]]);
        let first = || query().include(|u| u.children::<Card>().limit(1));
        assert_eq!(of(first().all().await.unwrap()), [vec![], vec![], vec![4]]);
        let by_queries = query().include(|u| u.children::<Card>().limit(1).by_queries());
        assert_eq!(of(by_queries.all().await.unwrap()), [vec![], vec![], vec![4]]);
        let by_field = query().include(|u| u.children_by(|c: CardFields| c.holder).sort(|c| c.id.asc()));
        assert_eq!(of(by_field.all().await.unwrap()), [vec![], vec![], vec![3, 4]]);
        if lookup {
            assert_eq!(
                of(first().lookup().all().await.unwrap()),
                [vec![], vec![], vec![4]]
            );
            let all = query().include(|u| u.children::<Card>()).lookup();
            assert_eq!(of(all.all().await.unwrap()), [vec![], vec![], vec![4, 3]]);
        }
        for user in query().all().await.unwrap() {
            let expected = if user.id == 3 { vec![4, 3] } else { vec![] };
            assert_eq!(ids(&cards.children_of(&user).all().await.unwrap()), expected);
            let loaded = users.load(&user, |u| u.children::<Card>()).await.unwrap();
            assert_eq!(ids(&loaded), expected);
        }
    });
}

#[odm_tests::test]
fn a_reference_by_its_id_does_not_name_a_parent_that_is_named_by_another_field() {
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "readers")]
    struct Reader {
        #[serde(rename = "_id")]
        id: i32,
        #[parent_ref(by = code, check = false)]
        of: Ref<User, String>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Reader]).unwrap();
        let readers = odm.collection::<Reader>();
        let refused = readers.children_of(Ref::<User>::new(1)).all().await.unwrap_err();
        assert!(
            matches!(&refused, Error::Query { collection: "readers", message } if message.contains("`code`")),
            "{refused:?}"
        );
        assert!(t.commands.take().is_empty(), "nothing was sent");
    });
}

#[odm_tests::test]
fn a_lookup_brings_nothing_where_there_is_no_reference() {
    with_db(async |t| {
        let odm = odm(&t.db);
        // Whatever has no code: together they are more than a document may be.
        let fill = "x".repeat(3 << 20);
        for id in 10..17 {
            insert(&t.db, "users", [doc! { "_id": id, "fill": &fill }]).await;
        }
        insert(&t.db, "users", [doc! { "_id": 1, "code": "a" }]).await;
        let loans = [
            doc! { "_id": 1, "to": "a", "also": ["a"], "lines": [{ "by": "a" }, {}, { "by": null }] },
            doc! { "_id": 2, "to": null, "also": [], "lines": [] },
            doc! { "_id": 3, "also": [], "lines": [{}] },
        ];
        insert(&t.db, "loans", loans).await;
        let loans = odm.collection::<Loan>();
        let query = || loans.find_all().sort(|l| l.id.asc());
        let join = |l: LoanFields| (l.to, l.also, l.lines.by);
        let all = query().include(join).all().await.unwrap();
        let a = || User {
            id: 1,
            code: Some("a".to_owned()),
        };
        let joined: Vec<_> = all.iter().map(|(_, joined)| joined.clone()).collect();
        assert_eq!(
            joined,
            [
                (Some(a()), vec![a()], vec![Some(a()), None, None]),
                (None, vec![], vec![]),
                (None, vec![], vec![None]),
            ]
        );
        assert_eq!(query().include(join).lookup().all().await.unwrap(), all);

        // The same from the other side.
        for id in 10..17 {
            insert(&t.db, "cards", [doc! { "_id": id, "at": 1, "fill": &fill }]).await;
        }
        insert(&t.db, "cards", [doc! { "_id": 1, "holder": "a", "at": 1 }]).await;
        if odm.server().await.unwrap().has_lookup_with_pipeline() {
            let users = odm.collection::<User>();
            let of = users.find_all().sort(|u| u.id.asc()).limit(2);
            let of = of.include(|u| u.children::<Card>()).lookup().all().await.unwrap();
            assert_eq!(
                of.iter().map(|(_, c)| ids(c)).collect::<Vec<_>>(),
                [vec![1], vec![]]
            );
        }
    });
}

#[odm_tests::test]
fn parents_with_one_key_all_get_its_children() {
    with_db(async |t| {
        // Without the index, which would refuse the second of them.
        let odm = odm(&t.db);
        let users =
            [(1, "a"), (2, "b"), (3, "a"), (4, "a")].map(|(id, code)| doc! { "_id": id, "code": code });
        insert(&t.db, "users", users).await;
        let cards = [(1, "a"), (2, "b"), (3, "a")];
        let cards = cards.map(|(id, holder)| doc! { "_id": id, "holder": holder, "at": id });
        insert(&t.db, "cards", cards).await;
        let users = odm.collection::<User>();
        let query = || users.find_all().sort(|u| u.id.asc());
        let of = |rows: Vec<(User, Vec<Card>)>| rows.iter().map(|(_, c)| ids(c)).collect::<Vec<_>>();
        let all = || query().include(|u| u.children::<Card>());
        let first = || query().include(|u| u.children::<Card>().limit(1));
        let expected = [vec![3, 1], vec![2], vec![3, 1], vec![3, 1]];
        let expected_first = [[3], [2], [3], [3]];
        assert_eq!(of(all().all().await.unwrap()), expected);
        assert_eq!(of(first().all().await.unwrap()), expected_first);
        if odm.server().await.unwrap().has_lookup_with_pipeline() {
            assert_eq!(of(all().lookup().all().await.unwrap()), expected);
            assert_eq!(of(first().lookup().all().await.unwrap()), expected_first);
        }
    });
}

#[odm_tests::test]
fn the_only_child_is_found_by_its_index_whatever_the_type_of_the_ids() {
    with_db(async |t| {
        let odm = odm(&t.db);
        odm.sync().await.unwrap();
        let explain = odm
            .collection::<User>()
            .find_all()
            .include(|u| (u.child::<Profile>(), u.child::<Avatar>()))
            .explain()
            .await
            .unwrap();
        for join in &explain.joins {
            assert!(!join.is_collection_scan(), "{join:?}");
        }
        let indexes: Vec<_> = explain.joins.iter().flat_map(|join| &join.indexes).collect();
        assert_eq!(indexes, ["user_1", "of_1"]);
    });
}

#[odm_tests::test]
fn a_reference_may_be_a_part_of_an_id() {
    with_db(async |t| {
        let odm = odm(&t.db);
        odm.sync().await.unwrap();
        let (users, days) = (odm.collection::<User>(), odm.collection::<Day>());
        users
            .insert_many([1, 2].map(|id| User { id, code: None }))
            .await
            .unwrap();
        let day = |user: i32, day| Day {
            id: DayId {
                user: Ref::new(user),
                day,
            },
            note: format!("{user} on {day}"),
        };
        days.insert_many([day(1, 1), day(1, 2)]).await.unwrap();
        let narrow: Vec<(DayNote, User)> = days
            .find_all()
            .sort(|d| d.id.day.asc())
            .select::<DayNote>()
            .include(|d| d.id.user)
            .all()
            .await
            .unwrap();
        let read: Vec<_> = narrow
            .iter()
            .map(|(day, user)| (day.note.as_str(), user.id))
            .collect();
        assert_eq!(read, [("1 on 1", 1), ("1 on 2", 1)]);
        assert_clean(&odm).await;
        let refused = users.delete(1).await.unwrap_err();
        assert!(
            matches!(&refused, Error::StillReferenced { by: "days", field, count: 2, .. } if field == "_id.user"),
            "{refused}"
        );
        assert_eq!(users.delete(2).await.unwrap().deleted, 1);
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "owners")]
struct Owner {
    #[serde(rename = "_id")]
    id: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "pets")]
struct Pet {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(check = false)]
    owner: Ref<Owner>,
    at: i32,
}

/// To the collation of their collection `kate` and `Kate` are one owner: a limit takes the children of both spellings.
#[odm_tests::test]
fn a_limit_loses_no_child_where_a_collation_compares_texts() {
    with_db(async |t| {
        let create = doc! { "create": "pets", "collation": { "locale": "en", "strength": 2 } };
        t.db.run_command(create).await.unwrap();
        let pets = [(1, "kate"), (2, "Kate"), (3, "bob")];
        let pets = pets.map(|(id, owner)| doc! { "_id": id, "owner": owner, "at": id });
        insert(&t.db, "pets", pets).await;
        let raw = t.db.collection::<Raw>("pets");
        if raw.count_documents(doc! { "owner": "KATE" }).await.unwrap() == 0 {
            odm_tests::skip("needs a server that compares by collations");
        }
        insert(&t.db, "owners", [doc! { "_id": "Kate" }, doc! { "_id": "bob" }]).await;
        let odm = Odm::new(t.db.clone(), models![Owner, Pet]).unwrap();
        let (owners, pets) = (odm.collection::<Owner>(), odm.collection::<Pet>());
        let first = |o: OwnerFields| o.children::<Pet>().sort(|p| p.at.asc()).limit(1);
        let of = |rows: Vec<(Owner, Vec<Pet>)>| {
            let ids = |pets: Vec<Pet>| pets.iter().map(|pet| pet.id).collect::<Vec<_>>();
            rows.into_iter().map(|(_, pets)| ids(pets)).collect::<Vec<_>>()
        };
        let query = || owners.find_all().sort(|o| o.id.asc());
        // Of several parents, and of one.
        assert_eq!(of(query().include(first).all().await.unwrap()), [[1], [3]]);
        let kate = || query().filter(|o| o.id.eq("Kate"));
        assert_eq!(of(kate().include(first).all().await.unwrap()), [[1]]);
        let all = |o: OwnerFields| o.children::<Pet>().sort(|p| p.at.asc());
        assert_eq!(of(kate().include(all).all().await.unwrap()), [[1, 2]]);
        let kate = kate().one().await.unwrap().unwrap();
        let of_kate = pets.children_of(&kate).sort(|p| p.at.asc()).all().await.unwrap();
        assert_eq!(owners.load(&kate, all).await.unwrap(), of_kate);
    });
}

/// The unique index is over those that have a parent, of which the type says what they are stored as.
#[odm_tests::test]
fn an_only_child_names_its_parent_by_a_uuid_or_has_none() {
    use odm::bson::Uuid;

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "clients")]
    struct Client {
        #[serde(rename = "_id")]
        id: Uuid,
    }
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "files")]
    struct File {
        #[serde(rename = "_id")]
        id: i32,
        #[parent_ref(one)]
        client: Option<Ref<Client>>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Client, File]).unwrap();
        odm.sync().await.unwrap();
        let (clients, files) = (odm.collection::<Client>(), odm.collection::<File>());
        // Those of nothing but zeros and of nothing but ones are the least and the greatest.
        let ids = [[0; 16], [7; 16], [255; 16]].map(Uuid::from_bytes);
        clients.insert_many(ids.map(|id| Client { id })).await.unwrap();
        let file = |id: i32, client: Option<Uuid>| File {
            id,
            client: client.map(Ref::new),
        };
        let of_each = (1..).zip(ids).map(|(id, client)| file(id, Some(client)));
        files.insert_many(of_each).await.unwrap();
        files.insert_many([file(10, None), file(11, None)]).await.unwrap();
        for (at, client) in (20..).zip(ids) {
            let second = files.insert(file(at, Some(client))).await;
            assert!(matches!(second, Err(Error::DuplicateKey { .. })), "{second:?}");
        }
        let all: Vec<(Client, Option<File>)> = clients
            .find_all()
            .sort(|c| c.id.asc())
            .include(|c| c.child::<File>())
            .all()
            .await
            .unwrap();
        let joined: Vec<Option<i32>> = all.iter().map(|(_, file)| file.as_ref().map(|f| f.id)).collect();
        assert_eq!(joined, [Some(1), Some(2), Some(3)]);
        // Where it is gone there is room for another one.
        files.delete(1).await.unwrap();
        files.insert(file(20, Some(ids[0]))).await.unwrap();
        let plan = clients
            .find_all()
            .include(|c| c.child::<File>())
            .explain()
            .await
            .unwrap();
        assert!(
            plan.joins.iter().all(|join| !join.is_collection_scan()),
            "{plan:?}"
        );
        assert_clean(&odm).await;
    });
}

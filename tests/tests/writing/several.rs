//! Documents of several types in one collection: the enum reads and writes all of them, each variant its own.

use futures::TryStreamExt;
use odm::Error;
use odm::bson::{Document as BsonDocument, doc};
use odm::prelude::*;
use odm::request::{OneOf, Range, Sort, Text};
use odm::watch::ChangeEvent;
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "events", tag = "type", version)]
#[document(common(at: DateTime, version: i64), index(fields(at)), index(fields(type, -at)))]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    Login(Login),
    Purchase(Purchase),
    Refund(Refund),
    PageView(PageView),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Event, version, index(fields(user, -at)))]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    version: i64,
    #[reference(on_delete = cascade)]
    user: Ref<User>,
    address: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Event, version)]
struct Purchase {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    version: i64,
    #[reference(on_delete = cascade)]
    user: Ref<User>,
    #[field(min = 1)]
    cents: i64,
    #[index(unique)]
    receipt: String,
}

/// Its `receipt` is another type than that of a purchase.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Event, version)]
struct Refund {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    version: i64,
    #[reference]
    purchase: Ref<Event>,
    receipt: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Event, version)]
struct PageView {
    #[serde(rename = "_id")]
    id: ObjectId,
    at: DateTime,
    version: i64,
    path: String,
}

/// What names an event of any kind.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    #[reference]
    about: Ref<Event>,
    #[reference(on_delete = nullify)]
    second: Option<Ref<Event>>,
}

fn at(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

fn login(user: i32) -> NewLogin {
    NewLogin {
        at: at(1),
        user: Ref::new(user),
        address: "10.0.0.1".to_owned(),
    }
}

fn purchase(user: i32, receipt: &str) -> NewPurchase {
    NewPurchase {
        at: at(2),
        user: Ref::new(user),
        cents: 100,
        receipt: receipt.to_owned(),
    }
}

fn view(path: &str) -> NewPageView {
    NewPageView {
        at: at(3),
        path: path.to_owned(),
    }
}

/// Two users, and an event of each kind.
struct Events {
    odm: Odm,
    login: Login,
    purchase: Purchase,
    view: PageView,
}

async fn events(t: &TestDb) -> Events {
    let odm = Odm::new(t.db.clone(), models![User, Event, Note]).unwrap();
    odm.sync().await.unwrap();
    for id in [1, 2] {
        odm.collection::<User>().insert(User { id }).await.unwrap();
    }
    let events = Events {
        login: odm.collection().insert(login(1)).await.unwrap(),
        purchase: odm.collection().insert(purchase(1, "a")).await.unwrap(),
        view: odm.collection().insert(view("/")).await.unwrap(),
        odm,
    };
    t.commands.clear();
    events
}

async fn stored(t: &TestDb, filter: BsonDocument) -> BsonDocument {
    let all = t.db.collection::<BsonDocument>("events");
    all.find_one(filter).await.unwrap().unwrap()
}

#[odm_tests::test]
fn all_events_and_those_of_one_kind_are_read_and_written() {
    with_db(async |t| {
        let Events {
            odm,
            login,
            purchase,
            view,
        } = events(&t).await;
        let (all, logins) = (odm.collection::<Event>(), odm.collection::<Login>());
        let document = stored(&t, doc! { "_id": login.id }).await;
        assert_eq!(document.get_str("type").unwrap(), "login");
        let found = all.find_all().sort(|e| e.at.asc()).all().await.unwrap();
        assert_eq!(
            found,
            [
                Event::Login(login.clone()),
                Event::Purchase(purchase),
                Event::PageView(view)
            ]
        );
        assert_eq!(
            logins.find_all().all().await.unwrap(),
            std::slice::from_ref(&login)
        );
        assert_eq!(odm.collection::<Refund>().find_all().count().await.unwrap(), 0);
        assert_eq!(
            all.get(login.id).await.unwrap(),
            Some(Event::Login(login.clone()))
        );
        assert_eq!(odm.collection::<PageView>().get(login.id).await.unwrap(), None);

        // A condition within a variant is on the variant too.
        let of_user = all.find(|e| e.login.user.eq(Ref::new(1))).all().await.unwrap();
        assert_eq!(of_user, [Event::Login(login.clone())]);
        let of_both = |e: EventFields| e.login.user.eq(Ref::new(1)) | e.purchase.cents.gte(100);
        assert_eq!(all.find(of_both).count().await.unwrap(), 2);
        assert_eq!(
            all.find(|e| e.is_page_view() & e.at.gte(at(3)))
                .count()
                .await
                .unwrap(),
            1
        );
        assert_eq!(all.find(|e| e.is_refund()).count().await.unwrap(), 0);
        let moved = all
            .update(login.id)
            .set(|e| e.login.address, "10.0.0.2")
            .await
            .unwrap();
        assert_eq!(moved.modified, 1);
        let other = all
            .update(login.id)
            .set(|e| e.page_view.path, "/")
            .await
            .unwrap_err();
        assert!(matches!(other, Error::OtherVariant { .. }), "{other}");
        let sold = all
            .update_where(|e| e.at.gte(at(0)))
            .inc(|e| e.purchase.cents, 5)
            .await
            .unwrap();
        assert_eq!(sold.modified, 1);
    });
}

#[odm_tests::test]
fn a_document_stays_what_it_is() {
    with_db(async |t| {
        let Events {
            odm,
            login,
            purchase,
            view,
        } = events(&t).await;
        let (all, logins) = (odm.collection::<Event>(), odm.collection::<Login>());
        let before = stored(&t, doc! { "_id": login.id }).await;
        // In the place of a login, as another kind of event, by either collection.
        let other = PageView {
            id: login.id,
            ..view.clone()
        };
        let refused = all.replace(Event::PageView(other.clone())).await.unwrap_err();
        assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
        let refused = odm.collection().replace(other.clone()).await.unwrap_err();
        assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
        let refused = all
            .replace(Event::PageView(other.clone()))
            .exact()
            .await
            .unwrap_err();
        assert!(matches!(refused, Error::NotFound { .. }), "{refused}");
        let refused = all.save(Event::PageView(other)).await.unwrap_err();
        assert!(
            matches!(
                refused,
                Error::NotFound { .. } | Error::DuplicateKey { .. } | Error::Conflict { .. }
            ),
            "{refused}"
        );
        assert!(logins.update(purchase.id).set(|l| l.address, "x").await.is_err());
        assert_eq!(logins.delete(purchase.id).optional().await.unwrap(), None);
        assert_eq!(logins.delete_where(|l| l.at.gte(at(0))).await.unwrap().deleted, 1);
        assert_eq!(all.find_all().count().await.unwrap(), 2);
        assert_eq!(before.get_str("type").unwrap(), "login");

        // As what it is, with what another program has added.
        let events = t.db.collection::<BsonDocument>("events");
        let added = doc! { "$set": { "added": 1 } };
        events
            .update_one(doc! { "_id": purchase.id }, added)
            .await
            .unwrap();
        let dearer = Purchase {
            cents: 200,
            ..purchase.clone()
        };
        let replaced = all.replace(Event::Purchase(dearer.clone())).await.unwrap();
        assert_eq!(replaced, Event::Purchase(Purchase { version: 2, ..dearer }));
        let document = stored(&t, doc! { "_id": purchase.id }).await;
        assert_eq!(document.get_i32("added").unwrap(), 1);
        assert_eq!(document.get_str("type").unwrap(), "purchase");
        let stale = odm.collection().replace(purchase.clone()).await.unwrap_err();
        assert!(matches!(stale, Error::Conflict { .. }), "{stale}");

        // A field of all of them.
        let moved = all
            .update(view.id)
            .set(|e| e.at, at(9))
            .returning()
            .await
            .unwrap();
        assert_eq!(
            moved,
            Event::PageView(PageView {
                at: at(9),
                version: 2,
                ..view
            })
        );
        assert_eq!(
            all.update_where(|e| e.at.gte(at(0)))
                .set(|e| e.at, at(8))
                .await
                .unwrap()
                .modified,
            2
        );
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_variant_is_inserted_in_every_way() {
    with_db(async |t| {
        let Events {
            odm,
            login: first,
            purchase: bought,
            ..
        } = events(&t).await;
        let (all, views) = (odm.collection::<Event>(), odm.collection::<PageView>());
        let given = all.insert(NewEvent::PageView(view("/a"))).await.unwrap();
        let Event::PageView(given) = given else {
            panic!("{given:?}");
        };
        all.insert(view("/b")).await.unwrap();
        all.insert(Event::PageView(PageView {
            id: ObjectId::new(),
            ..given.clone()
        }))
        .await
        .unwrap();
        all.insert_many([NewEvent::PageView(view("/c")), NewEvent::Login(login(2))])
            .await
            .unwrap();
        views.insert_many([view("/d"), view("/e")]).await.unwrap();
        let bulk = odm
            .bulk()
            .add(all.insert(login(2)))
            .add(views.insert(view("/f")))
            .add(views.update(given.id).set(|p| p.path, "/g"))
            .add(odm.collection().replace(PageView {
                id: bought.id,
                ..given.clone()
            }));
        // No page view has the id of the purchase.
        assert_eq!(bulk.await.unwrap().missed, 1);

        let in_transaction = odm.transaction(async |tx| {
            tx.collection::<PageView>().insert(view("/h")).await?;
            tx.collection::<Event>().insert(view("/i")).await
        });
        in_transaction.await.unwrap();
        let mut paths = views.find_all().distinct(|v| v.path).await.unwrap();
        paths.sort();
        assert_eq!(paths, ["/", "/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i"]);

        // An upsert stores the variant, and the values that its condition demands.
        let purchases = odm.collection::<Purchase>();
        let upsert = purchases.update_where(|p| p.receipt.eq("b")).set(|p| p.at, at(5));
        let upsert = upsert.set(|p| p.user, Ref::new(1)).set(|p| p.cents, 7).upsert();
        assert!(upsert.await.unwrap().upserted.is_some());
        let found = purchases
            .insert(purchase(1, "b"))
            .or_get_by(|p| p.receipt)
            .await
            .unwrap();
        assert_eq!((found.inserted, found.document.cents), (false, 7));
        let new = purchases.update_where(|p| p.receipt.eq("c")).set(|p| p.at, at(6));
        assert!(
            new.upsert_with(purchase(2, "c"))
                .await
                .unwrap()
                .upserted
                .is_some()
        );
        let twice = purchases.insert(purchase(1, "a")).await.unwrap_err();
        assert!(matches!(twice, Error::DuplicateKey { .. }), "{twice}");
        assert_eq!(purchases.save(bought.clone()).await.unwrap().document.version, 2);
        let unknown = all
            .update_where(|e| e.at.eq(at(77)))
            .set(|e| e.at, at(77))
            .upsert();
        let unknown = unknown.await.unwrap_err();
        assert!(unknown.to_string().contains("which variant"), "{unknown}");
        assert_eq!(
            odm.collection::<Login>().get(first.id).await.unwrap(),
            Some(first)
        );
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn references_within_events_and_to_them_are_kept() {
    with_db(async |t| {
        let Events {
            odm,
            login,
            purchase,
            view,
        } = events(&t).await;
        let missing = odm
            .collection::<Login>()
            .insert(self::login(7))
            .await
            .unwrap_err();
        assert!(matches!(missing, Error::MissingReference { .. }), "{missing}");
        let missing = odm
            .collection::<Event>()
            .insert(self::purchase(7, "x"))
            .await
            .unwrap_err();
        assert!(matches!(missing, Error::MissingReference { .. }), "{missing}");

        let notes = odm.collection::<Note>();
        let note = |id, about, second| NewNote {
            id,
            about: Ref::new(about),
            second,
        };
        let of_two = note(1, view.id, Some(Ref::new(login.id)));
        notes.insert(of_two).await.unwrap();
        let missing = notes.insert(note(2, ObjectId::new(), None)).await.unwrap_err();
        assert!(matches!(missing, Error::MissingReference { .. }), "{missing}");
        let joined = notes
            .find_all()
            .include(|n| (n.about, n.second))
            .one()
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            joined.1,
            (Event::PageView(view.clone()), Some(Event::Login(login)))
        );
        let users = odm
            .collection::<Login>()
            .find_all()
            .include(|l| l.user)
            .all()
            .await
            .unwrap();
        assert_eq!(users[0].1, User { id: 1 });

        let kept = odm.collection::<Event>().delete(view.id).await.unwrap_err();
        assert!(matches!(kept, Error::StillReferenced { .. }), "{kept}");
        let refund = NewRefund {
            at: at(4),
            purchase: Ref::new(purchase.id),
            receipt: 1,
        };
        let refund = odm.collection::<Refund>().insert(refund).await.unwrap();
        let kept = odm
            .collection::<Purchase>()
            .delete(purchase.id)
            .await
            .unwrap_err();
        assert!(matches!(kept, Error::StillReferenced { .. }), "{kept}");
        odm.collection::<Refund>().delete(refund.id).await.unwrap();

        // The login and the purchase go with their user; the note loses its second event.
        odm.collection::<User>().delete(1).await.unwrap();
        assert_eq!(
            odm.collection::<Event>().find_all().all().await.unwrap(),
            [Event::PageView(view)]
        );
        assert_eq!(notes.get(1).required().await.unwrap().second, None);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn the_server_refuses_an_event_that_is_none_of_the_variants() {
    with_db(async |t| {
        let Events { odm, login, .. } = events(&t).await;
        assert!(
            odm.plan().await.unwrap().is_empty(),
            "{}",
            odm.plan().await.unwrap()
        );
        let all = t.db.collection::<BsonDocument>("events");
        let whole = stored(&t, doc! { "_id": login.id }).await;
        for (what, change) in [
            ("no variant", doc! { "$unset": { "type": "" } }),
            ("an unknown variant", doc! { "$set": { "type": "logout" } }),
            ("another variant", doc! { "$set": { "type": "purchase" } }),
            ("another type", doc! { "$set": { "address": 7 } }),
            ("a missing field", doc! { "$unset": { "at": "" } }),
        ] {
            let refused = all.update_one(doc! { "_id": login.id }, change).await;
            assert!(refused.is_err(), "{what}");
        }
        assert_eq!(stored(&t, doc! { "_id": login.id }).await, whole);

        let names = all.list_index_names().await.unwrap();
        for name in [
            "at_1",
            "type_1_at_-1",
            "user_1_at_-1_login",
            "receipt_1_purchase",
            "user_1",
            "purchase_1",
        ] {
            assert!(
                names.iter().any(|other| other == name),
                "{name} is not among {names:?}"
            );
        }
        // The documents of one variant, in their order, by the index on its name.
        let logins = odm.collection::<Login>();
        let newest = logins.find_all().sort(|l| l.at.desc()).hint("type_1_at_-1");
        let found = newest.all().await.unwrap();
        assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [login.id]);
        let explain = logins.find_all().explain().await.unwrap();
        assert!(!explain.is_collection_scan(), "{:?}", explain.stages);

        // Unique among purchases alone.
        let refund = |id: i64| {
            doc! {
                "_id": ObjectId::new(), "type": "refund", "at": at(1), "version": 1_i64, "purchase": ObjectId::new(), "receipt": id,
            }
        };
        all.insert_many([refund(1), refund(1)]).await.unwrap();
    });
}

#[odm_tests::test]
fn an_event_of_an_unknown_kind_is_an_error_that_names_its_field() {
    with_db(async |t| {
        let Events { odm, view, .. } = events(&t).await;
        let newer = doc! { "_id": ObjectId::new(), "type": "logout", "at": at(1), "version": 1_i64 };
        let all = t.db.collection::<BsonDocument>("events");
        all.insert_one(newer)
            .bypass_document_validation(true)
            .await
            .unwrap();
        let unknown = odm.collection::<Event>().find_all().all().await.unwrap_err();
        let expected = "`type`: unknown variant, expected one of: login, purchase, refund, page_view";
        assert!(matches!(unknown, Error::Decode { .. }), "{unknown}");
        assert!(unknown.to_string().ends_with(expected), "{unknown}");
        assert_eq!(
            odm.collection::<PageView>().find_all().all().await.unwrap(),
            [view]
        );
    });
}

#[odm_tests::test]
fn an_enum_of_documents_costs_what_a_plain_document_costs() {
    with_db(async |t| {
        let Events { odm, view, .. } = events(&t).await;
        let (all, views) = (odm.collection::<Event>(), odm.collection::<PageView>());
        views.insert(self::view("/a")).await.unwrap();
        all.insert(self::view("/b")).await.unwrap();
        all.insert_many([self::view("/c"), self::view("/d")])
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["insert"; 3]);
        all.get(view.id).await.unwrap();
        views.find_all().all().await.unwrap();
        assert_eq!(t.commands.take(), ["find"; 2]);
        let view = views.replace(view).await.unwrap();
        all.replace(Event::PageView(view.clone())).await.unwrap();
        views.update(view.id).set(|v| v.path, "/e").await.unwrap();
        assert_eq!(t.commands.take(), ["update"; 3]);
        views.delete(view.id).await.unwrap();
        // Notes refer to events: the same looks as of a plain document.
        assert_eq!(t.commands.times("delete"), 1);
    });
}

#[odm_tests::test]
fn the_changes_of_events_are_watched() {
    with_db(async |t| {
        let Events { odm, view, .. } = events(&t).await;
        require_transactions(&odm).await; // a standalone server has no change streams
        let mut all = odm.watch().start().await.unwrap();
        odm.collection::<PageView>()
            .update(view.id)
            .set(|v| v.path, "/z")
            .await
            .unwrap();
        odm.collection::<Event>().delete(view.id).await.unwrap();
        // SecantusDB under load sends changes that ended before the stream began: those of the documents that the test inserts.
        let mut next = all.try_next().await.unwrap().unwrap();
        while !matches!(next.of::<Event>().unwrap(), Some(ChangeEvent::Updated { .. })) {
            let of_user = next.of::<User>().unwrap();
            let is_inserted = matches!(of_user, Some(ChangeEvent::Inserted { .. }))
                || matches!(next.of::<Event>().unwrap(), Some(ChangeEvent::Inserted { .. }));
            assert!(is_inserted, "{next:?}");
            next = all.try_next().await.unwrap().unwrap();
        }
        let updated = next;
        assert!(updated.of::<Login>().unwrap().is_none());
        assert!(matches!(
            updated.of::<Event>().unwrap(),
            Some(ChangeEvent::Updated { .. })
        ));
        let deleted = all.try_next().await.unwrap().unwrap();
        assert!(deleted.of::<PageView>().unwrap().is_none());
        assert!(matches!(
            deleted.of::<Event>().unwrap(),
            Some(ChangeEvent::Deleted { .. })
        ));
    });
}

#[odm_tests::test]
fn an_enum_of_documents_is_drawn() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Event, Note]).unwrap();
        let edges = odm.edges();
        assert!(edges.svg().contains("Event") && edges.mermaid().contains("Event"));
        let words = edges.to_string();
        assert!(words.contains("Event in events"), "{words}");
    });
}

#[odm_tests::test]
fn what_does_not_tell_variants_apart_is_refused() {
    with_db(async |t| {
        let Events { odm, .. } = events(&t).await;
        let watched = odm.collection::<Login>().watch_all().start().await;
        let refused = watched.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("of which variant"), "{refused}");
        let scoped = odm.scoped(Login::paths().address, "10.0.0.1");
        let refused = scoped.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("common"), "{refused}");

        // A variant stands for its enum.
        let same = Odm::new(t.db.clone(), models![User, Login, Event, Note]).unwrap();
        assert!(same.plan().await.unwrap().is_empty());
    });
}

/// Its variants have a key that all of them share, and each one of its own.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tickets", tag = "kind")]
#[document(common(number: i32), index(fields(number), unique))]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Ticket {
    Seat(Seat),
    Pass(Pass),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Ticket)]
struct Seat {
    #[serde(rename = "_id")]
    id: i32,
    number: i32,
    #[index(unique)]
    label: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Ticket)]
#[document(index(fields(label), unique, name = "passes", partial = |p| p.holder.exists(true)))]
struct Pass {
    #[serde(rename = "_id")]
    id: i32,
    number: i32,
    label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
}

/// Served by the index of a variant, and by that of the enum.
#[derive(RequestQuery)]
#[request(of = Ticket)]
struct TicketQuery {
    number: Range<i32>,
    #[request(path = seat.label)]
    seat: Text,
    #[request(sort(number))]
    sort: Sort,
}

#[derive(RequestQuery)]
#[request(of = Seat)]
struct SeatQuery {
    number: Range<i32>,
    label: OneOf<String>,
    #[request(sort(number, label))]
    sort: Sort,
}

fn seat(id: i32, label: &str) -> Seat {
    Seat {
        id,
        number: 10 * id,
        label: label.to_owned(),
    }
}

fn pass(id: i32, label: &str, holder: Option<&str>) -> Pass {
    Pass {
        id,
        number: 10 * id,
        label: label.to_owned(),
        holder: holder.map(str::to_owned),
    }
}

#[odm_tests::test]
fn a_unique_key_of_a_variant_or_of_the_enum_names_one_document() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Ticket]).unwrap();
        odm.sync().await.unwrap();
        let (all, seats) = (odm.collection::<Ticket>(), odm.collection::<Seat>());
        all.insert(seat(1, "A1")).await.unwrap();
        all.insert(pass(2, "A1", Some("Kate"))).await.unwrap();

        // By the key of a variant, which holds the documents of this variant alone.
        for (new, by_label, expected) in [
            (Ticket::Seat(seat(3, "A1")), 0, (false, 1)),
            (Ticket::Seat(seat(3, "A2")), 0, (true, 3)),
            (Ticket::Pass(pass(4, "A1", Some("Ann"))), 1, (false, 2)),
            (Ticket::Pass(pass(4, "A2", Some("Ann"))), 1, (true, 4)),
        ] {
            let text = format!("{new:?}");
            let insert = all.insert(new);
            let found = match by_label {
                0 => insert.or_get_by(|t| t.seat.label).await,
                _ => insert.or_get_by(|t| t.pass.label).await,
            };
            let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((found.inserted, *found.document.id()), expected, "{text}");
        }
        // By the key of all, from the collection of a variant and from that of the enum.
        let found = seats.insert(seat(3, "A7")).or_get_by(|s| s.number).await.unwrap();
        assert_eq!((found.inserted, found.document.label.as_str()), (false, "A2"));
        let found = all.insert(seat(5, "A5")).or_get_by(|t| t.number).await.unwrap();
        assert!(found.inserted, "{found:?}");
        // A pass without a holder stands in no index of this key.
        let refused = all.insert(pass(6, "A6", None)).or_get_by(|t| t.pass.label).await;
        let refused = refused.expect_err("no index holds it").to_string();
        assert!(
            refused.contains("`label` holds only the documents that match"),
            "{refused}"
        );
        let refused = seats.insert(seat(6, "A6")).or_get_by(|s| s.id).await;
        assert!(refused.is_ok_and(|found| found.inserted), "`_id` is a key");

        // The condition of a variant's path says which variant it is.
        let named = all.get_by(|t| t.seat.label, "A1").await.unwrap();
        assert_eq!(named, Some(Ticket::Seat(seat(1, "A1"))));
        let named = seats.get_by(|s| s.number, 10).await.unwrap();
        assert_eq!(named, Some(seat(1, "A1")));
        // Of a partial index, the document that it holds.
        let held = all.get_by(|t| t.pass.label, "A1").await.unwrap();
        assert_eq!(held.unwrap().id(), &2);
        let moved = all.update_by(|t| t.seat.label, "A1").set(|t| t.seat.label, "B1");
        assert_eq!(moved.await.unwrap().modified, 1);
        let deleted = all.delete_by(|t| t.seat.label, "B1").await.unwrap();
        assert_eq!(deleted.deleted, 1);
        let refused = all
            .get_by(|t| t.pass.holder, "Kate".to_owned())
            .await
            .unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("`_id`; `number`; `label` of `seat`; `label` of `pass`"),
            "{refused}"
        );

        let query = TicketQuery::parse("seat[starts_with]=A&number[gte]=0&sort=-number");
        let query = query.unwrap_or_else(|error| panic!("{error}"));
        let found = all.find_all().request(query).without_page().all().await.unwrap();
        let ids: Vec<i32> = found.iter().map(|ticket| *ticket.id()).collect();
        assert_eq!(ids, [6, 5, 3]);
        let query = SeatQuery::parse("label=A2&sort=label").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            seats
                .find_all()
                .request(query)
                .without_page()
                .count()
                .await
                .unwrap(),
            1
        );
    });
}

#[odm_tests::test]
fn an_index_of_a_variant_must_not_delete_what_others_refer_to() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Session, Visit])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("MongoDB deletes documents without the rules"),
            "{error}"
        );
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sessions", tag = "kind")]
#[serde(tag = "kind")]
enum Session {
    Short(Short),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(variant_of = Session)]
struct Short {
    #[serde(rename = "_id")]
    id: i32,
    #[index(expire_after = 60)]
    at: DateTime,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(on_delete = cascade)]
    session: Ref<Session>,
}

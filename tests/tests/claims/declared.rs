//! What is declared: where it is refused, how values compare, and what documents from before the declaration have.

use crate::claims::{Account, User, account, assert_claimed, faults, models, odm, taken, user};
use odm::__private::SwitchOdm as _;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, require_inherited_collations, with_db, with_transactions};
use std::error::Error as _;
use std::time::Duration;

mod cant_claim {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(
        collection = "people",
        index(fields(phones.number), unique(global)),
        index(fields(address.country), unique(global)),
        index(fields(state.done.at), unique(global)),
        index(fields(address.zip, address.lines), unique(global))
    )]
    pub struct Person {
        pub id: i64,
        #[embed(max = 3)]
        pub phones: Vec<Phone>,
        pub address: Address,
        pub state: State,
        #[reference(inverse = person)]
        #[index(unique(global))]
        pub desk: Option<Ref<Desk>>,
        #[reference(on_delete = nullify)]
        #[index(unique(global))]
        pub room: Option<Ref<Room>>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Phone {
        pub number: String,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    pub struct Address {
        #[field(default = "FR".to_owned())]
        pub country: String,
        pub zip: String,
        #[embed(max = 3)]
        pub lines: Vec<String>,
    }

    #[derive(Embed, Clone, Debug, PartialEq)]
    #[embed(tag = "kind", rename_all = "snake_case")]
    pub enum State {
        Open,
        Done { at: i64 },
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "desks", timestamps, index(fields(created_at), unique(global)))]
    pub struct Desk {
        pub id: i64,
        #[reference(inverse = desk)]
        pub person: Option<Ref<Person>>,
        pub created_at: DateTime,
        pub updated_at: DateTime,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "rooms")]
    pub struct Room {
        pub id: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "sessions")]
    pub struct Session {
        pub id: i64,
        #[index(expire_after = 60)]
        pub at: DateTime,
        #[index(unique(global))]
        pub token: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "lines", capped(size = 4096))]
    pub struct Line {
        pub id: i64,
        #[index(unique(global))]
        pub number: i64,
    }
}

#[odm_tests::test]
fn a_key_is_refused_where_a_write_could_not_claim_its_values() {
    with_db(async |t| {
        use cant_claim::{Desk, Line, Person, Room, Session};
        let refused = Odm::new(t.db.clone(), models![Person, Desk, Room, Session, Line]).unwrap_err();
        let Error::Models { problems } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(problems.len(), 9, "{problems:#?}");
        let refused = refused.to_string();
        for why in [
            "`Person` declares `unique(global)` on `phones.number`, and `phones.number` stands in an array",
            "`Person` declares `unique(global)` on `address.country`, and `address.country` has a default",
            "`Person` declares `unique(global)` on `state.at`, and `state.at` stands in an array or in a variant",
            "`Person` declares `unique(global)` on `address.zip`, `address.lines`, and `address.lines` is an array",
            "`Person` declares `unique(global)` on `desk`, and `desk` is one side of a two-way reference",
            "`Person` declares `unique(global)` on `room`, and the deletion of what `room` refers to empties it",
            "`Desk` declares `unique(global)` on `created_at`, and the library writes `created_at` in each document",
            "by the index on `Session.at` (`expire_after`) MongoDB deletes documents without the rules of the library, and its documents claim \
             the values of `token` (`unique(global)`), and their claims would stay",
            "`Line` is stored in a capped collection",
        ] {
            assert!(refused.contains(why), "{why}\n{refused}");
        }
    });
}

#[odm_tests::test]
fn a_server_without_transactions_is_refused() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        odm.collection::<User>()
            .insert_many([user(1, "a"), user(2, "b")])
            .await
            .unwrap();
        odm.collection::<Account>().insert(account(1, 10)).await.unwrap();
        let alone = t.standalone_of(&odm).await;
        let (users, accounts) = (alone.collection::<User>(), alone.collection::<Account>());
        let refused = [
            alone.sync().await.map(drop),
            users.insert(user(3, "c")).await.map(drop),
            users.update(1).set(|u| u.email, Some("c".into())).await.map(drop),
            users.replace(user(1, "c")).await.map(drop),
            users.delete(1).await.map(drop),
            accounts.delete(1).await.map(drop),
            accounts.delete_all().await.map(drop),
        ];
        for refused in refused {
            match refused {
                Err(Error::Unsupported { operation, needs, .. }) => {
                    assert!(operation.contains("`unique(global)`"), "{operation}");
                    assert!(needs.contains("replica set"), "{needs}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_claimed(&odm, "refused writes").await;
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "members", collation(locale = "en", strength = 2))]
struct Member {
    id: i64,
    #[index(unique(global))]
    name: String,
    visits: i64,
}

/// Skips the test where a collation makes no two ids equal: one of the stand-ins compares them byte by byte.
async fn require_ids_by_collation(t: &TestDb) {
    let raw = t.db.collection::<Doc>("_odm_claims.members");
    let claim = doc! { "_id": { "name": "x" }, "owner": 1_i64, "writes": 1_i64 };
    raw.insert_one(claim).await.unwrap();
    let found = raw.find_one(doc! { "_id": { "name": "X" } }).await.unwrap();
    raw.delete_many(doc! {}).await.unwrap();
    if found.is_none() {
        odm_tests::skip("needs a server that finds an id by the collation of the collection");
    }
}

#[odm_tests::test]
fn what_a_collation_takes_for_the_same_is_one_value() {
    with_transactions(async |t| {
        require_inherited_collations(&t.db).await;
        let odm = Odm::new(t.db.clone(), models![Member]).unwrap();
        odm.sync().await.unwrap();
        let listed = t.db.list_collections().await.unwrap();
        let all: Vec<_> = futures::TryStreamExt::try_collect(listed).await.unwrap();
        let claims = all.iter().find(|one| one.name == "_odm_claims.members").unwrap();
        let collation = claims.options.collation.as_ref().unwrap();
        assert_eq!(collation.locale, "en");
        require_ids_by_collation(&t).await;
        let members = odm.collection::<Member>();
        let member = |id, name: &str| Member {
            id,
            name: name.into(),
            visits: 0,
        };
        members
            .insert_many([member(1, "Kate"), member(2, "Bea")])
            .await
            .unwrap();
        assert_eq!(
            taken(members.insert(member(3, "KATE")).await),
            doc! { "name": "KATE" }
        );
        assert_eq!(
            taken(members.update(2).set(|m| m.name, "kATE").await),
            doc! { "name": "kATE" }
        );
        assert_eq!(members.get_by(|m| m.name, "kate").await.unwrap().unwrap().id, 1);
        assert_eq!(members.get_by(|m| m.name, "kater").await.unwrap(), None);
        members.update(1).set(|m| m.name, "KATE").await.unwrap();
        odm_tests::assert_clean_after(&odm, "another case").await;
        assert_eq!(members.get_by(|m| m.name, "kate").await.unwrap().unwrap().id, 1);
        members.update(1).set(|m| m.name, "Kit").await.unwrap();
        members.insert(member(3, "kate")).await.unwrap();
        odm_tests::assert_clean_after(&odm, "another name").await;
        // Texts that the collation takes for the same, and whose claims another program has removed.
        t.db.collection::<Doc>("_odm_claims.members")
            .delete_many(doc! {})
            .await
            .unwrap();
        t.db.collection::<Doc>("members")
            .insert_one(doc! { "_id": 7_i64, "name": "KIT", "visits": 0_i64 })
            .await
            .unwrap();
        let repaired = odm.repair_all().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left.wrong()), (3, 1), "{repaired}");
    });
}

mod several {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "events", common(code: String), index(fields(code), unique(global)))]
    #[document(rename_all = "snake_case")]
    pub enum Event {
        Login(Login),
        Purchase(Purchase),
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(variant_of = Event)]
    pub struct Login {
        pub id: i64,
        pub code: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(variant_of = Event)]
    pub struct Purchase {
        pub id: i64,
        pub code: String,
        pub cents: i64,
    }
}

#[odm_tests::test]
fn an_enum_of_documents_declares_it_for_all_its_types() {
    with_transactions(async |t| {
        use several::{Event, Login, Purchase};
        let odm = Odm::new(t.db.clone(), models![Event]).unwrap();
        odm.sync().await.unwrap();
        let login = |id, code: &str| Login {
            id,
            code: code.into(),
        };
        let logins = odm.collection::<Login>();
        logins.insert(login(1, "a")).await.unwrap();
        let bought = |id, code: &str| Purchase {
            id,
            code: code.into(),
            cents: 1,
        };
        let purchases = odm.collection::<Purchase>();
        assert_eq!(
            taken(purchases.insert(bought(2, "a")).await),
            doc! { "code": "a" }
        );
        purchases.insert(bought(2, "b")).await.unwrap();
        let events = odm.collection::<Event>();
        assert_eq!(
            taken(events.insert(Event::Login(login(3, "b"))).await),
            doc! { "code": "b" }
        );
        purchases.update(2).set(|p| p.code, "c").await.unwrap();
        events.insert(Event::Login(login(3, "b"))).await.unwrap();
        assert_eq!(
            taken(events.update_all().set(|e| e.code, "a").await),
            doc! { "code": "a" }
        );
        assert_eq!(
            events.get_by(|e| e.code, "c").await.unwrap(),
            Some(Event::Purchase(bought(2, "c")))
        );
        logins.delete(1).await.unwrap();
        events.replace(Event::Login(login(3, "a"))).await.unwrap();
        odm_tests::assert_clean_after(&odm, "several types").await;
        let claims = t.db.collection::<Doc>("_odm_claims.events");
        assert_eq!(claims.count_documents(doc! {}).await.unwrap(), 2);
    });
}

#[odm_tests::test]
fn a_tenant_is_refused_the_value_of_another() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![User]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<User>()
            .insert_many([user(1, "a"), user(2, "b")])
            .await
            .unwrap();
        let tenant = odm.scoped(User::paths().tenant, 2).unwrap();
        let users = tenant.collection::<User>();
        assert_eq!(taken(users.insert(user(5, "a")).await), doc! { "email": "a" });
        assert_eq!(
            taken(users.update(2).set(|u| u.email, Some("a".into())).await),
            doc! { "email": "a" }
        );
        // A handle sees its own documents, whoever has claimed the value.
        assert_eq!(users.get_by(|u| u.email, "a").await.unwrap(), None);
        assert_eq!(
            users.get_by(|u| u.email, "b").await.unwrap().map(|user| user.id),
            Some(2)
        );
        users
            .update_by(|u| u.email, "b")
            .set(|u| u.email, Some("c".into()))
            .await
            .unwrap();
        users.delete_all().await.unwrap();
        assert_claimed(&odm, "the writes of a tenant").await;
        odm.collection::<User>().insert(user(9, "c")).await.unwrap();
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tokens")]
struct Token {
    id: i64,
    #[field(sensitive)]
    #[index(unique(global))]
    secret: String,
}

#[odm_tests::test]
fn no_error_and_no_audit_shows_a_sensitive_value() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Token]).unwrap();
        odm.sync().await.unwrap();
        let secret = "correct horse battery";
        let token = |id| Token {
            id,
            secret: secret.into(),
        };
        let tokens = odm.collection::<Token>();
        tokens.insert(token(1)).await.unwrap();
        let refused = tokens.insert(token(2)).await.unwrap_err();
        assert!(matches!(refused, Error::DuplicateKey { .. }), "{refused:?}");
        let mut texts = vec![format!("{refused} {refused:?}")];
        let mut source = refused.source();
        while let Some(error) = source {
            texts.push(format!("{error} {error:?}"));
            source = error.source();
        }
        t.db.collection::<Doc>("tokens")
            .delete_many(doc! {})
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.wrong(), 1);
        texts.push(format!("{audit} {audit:?}"));
        assert!(texts.iter().all(|text| !text.contains(secret)), "{texts:#?}");
    });
}

/// The same users before the declaration.
mod before {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "users", soft_delete)]
    pub struct User {
        pub id: i64,
        pub tenant: i64,
        pub email: Option<String>,
        pub handle: Option<String>,
        pub team: i64,
        pub name: String,
        pub deleted_at: Option<DateTime>,
    }

    pub async fn odm(t: &odm_tests::TestDb, emails: &[&str]) -> Odm {
        let odm = Odm::new(t.db.clone(), models![User]).unwrap();
        odm.sync().await.unwrap();
        let users = (1..).zip(emails).map(|(id, email)| user(id, email));
        odm.collection::<User>().insert_many(users).await.unwrap();
        odm
    }

    pub fn user(id: i64, email: &str) -> User {
        User {
            id,
            tenant: 1,
            email: Some(email.to_owned()).filter(|email| !email.is_empty()),
            handle: None,
            team: 1,
            name: String::new(),
            deleted_at: None,
        }
    }
}

#[odm_tests::test]
fn duplicates_from_before_are_listed_and_left_to_all_but_one() {
    with_transactions(async |t| {
        let before = before::odm(&t, &["a", "a", "b", "", "a", "c", "", "b"]).await;
        before.collection::<before::User>().delete(8).await.unwrap();
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        let plan = odm.plan().await.unwrap();
        let [shared] = plan.shared() else {
            panic!("{:?}", plan.shared());
        };
        assert_eq!(
            (shared.collection, shared.fields.as_slice()),
            ("users", &["email".to_owned()][..])
        );
        assert_eq!(shared.documents.count, 3, "{plan}");
        let told = "`users`: `email` is declared `unique(global)`, and is shared by 3 existing documents";
        assert!(plan.to_string().contains(told), "{plan}");
        odm.apply(&plan).await.unwrap();
        let users = odm.collection::<User>();
        // Until the backfill the fields tell.
        assert_eq!(
            users.get_by(|u| u.email, "c").await.unwrap().map(|user| user.id),
            Some(6)
        );
        assert_eq!(users.get_by(|u| u.email, "x").await.unwrap(), None);
        let filled = odm.backfill().at_once().await.unwrap();
        assert!(
            filled.edges.iter().any(|edge| edge == "users: unique(email)"),
            "{:?}",
            filled.edges
        );
        let faults = faults(&t.db).await;
        assert_eq!(faults.len(), 3, "{faults:#?}");
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.wrong(), 2, "{audit}");
        let told = "`users`.`email`: 2 of the 5 values are not claimed by their documents in `_odm_claims.users`, or claimed by another";
        assert!(audit.to_string().contains(told), "{audit}");
        let plan = odm.plan().await.unwrap();
        assert!(plan.backfills().is_empty(), "{plan}");
        assert_eq!(plan.shared().len(), 1, "{plan}");
        // A repair does not choose either.
        let repaired = odm.repair_all().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left.wrong()), (0, 2), "{repaired}");
        // Another field of a duplicate changes; and so does the value, to one that is free.
        let with_claim = users.get_by(|u| u.email, "a").await.unwrap().unwrap().id;
        let [one, other] = [1, 2, 5]
            .iter()
            .copied()
            .filter(|id| *id != with_claim)
            .collect::<Vec<_>>()[..]
        else {
            unreachable!()
        };
        users.update(one).set(|u| u.name, "x").await.unwrap();
        users
            .update(one)
            .set(|u| u.email, Some("a".into()))
            .await
            .unwrap();
        users
            .update(one)
            .set(|u| u.email, Some("y".into()))
            .await
            .unwrap();
        assert_eq!(taken(users.insert(user(9, "a")).await), doc! { "email": "a" });
        users.delete(with_claim).await.unwrap();
        assert_eq!(odm.audit().await.unwrap().wrong(), 1);
        // The value is free, and the other one has it without a claim: a repair claims it.
        let repaired = odm.repair_all().await.unwrap();
        assert_eq!(repaired.repaired, 1, "{repaired}");
        assert!(
            repaired
                .to_string()
                .contains("1 document with its unique values claimed"),
            "{repaired}"
        );
        assert_eq!(
            users.get_by(|u| u.email, "a").await.unwrap().map(|user| user.id),
            Some(other)
        );
        assert_claimed(&odm, "repaired").await;
        assert!(odm.plan().await.unwrap().shared().is_empty());
    });
}

#[odm_tests::test]
fn a_program_from_before_is_refused_the_writes_that_would_have_to_claim() {
    with_transactions(async |t| {
        let before = before::odm(&t, &["a", "b"]).await;
        let odm = odm(&t).await;
        odm.backfill().at_once().await.unwrap();
        assert_claimed(&odm, "a backfill").await;
        let again = Odm::new(t.db.clone(), models![before::User]).unwrap();
        for older in [before, again] {
            let told = older.check_models().await;
            let Err(Error::UnknownCopies { edges }) = told else {
                panic!("{told:?}")
            };
            assert!(
                edges.iter().any(|edge| edge.contains("unique(email)")),
                "{edges:?}"
            );
            let users = older.collection::<before::User>();
            for (what, refused) in [
                ("sync", older.sync().await.map(drop)),
                ("insert", users.insert(before::user(3, "c")).await.map(drop)),
                (
                    "update",
                    users.update(1).set(|u| u.email, Some("c".into())).await.map(drop),
                ),
                ("delete", users.delete(1).await.map(drop)),
                ("purge", users.purge_all().await.map(drop)),
            ] {
                assert!(
                    matches!(refused, Err(Error::UnknownCopies { .. })),
                    "{what}: {refused:?}"
                );
            }
        }
        assert_claimed(&odm, "refused writes").await;
        // The key is not declared any more.
        let later = Odm::new(t.db.clone(), models![before::User]).unwrap();
        assert!(later.forget_copies().await.unwrap() > 0);
        later.sync().await.unwrap();
        later
            .collection::<before::User>()
            .insert(before::user(3, "a"))
            .await
            .unwrap();
    });
}

/// A program from before, which has not read the declaration yet, goes on writing.
#[odm_tests::test]
fn a_backfill_waits_for_programs_that_have_not_read_the_declaration() {
    with_transactions(async |t| {
        let before = before::odm(&t, &[]).await;
        let odm = odm(&t).await.hold_declarations_for(Duration::from_secs(4));
        let users = odm.collection::<User>();
        users.insert(user(1, "a")).await.unwrap();
        let late = before.collection::<before::User>();
        late.insert(before::user(2, "b")).await.unwrap();
        // The collection was empty when the key was declared, and its values may be unclaimed all the same.
        assert_eq!(
            users.get_by(|u| u.email, "b").await.unwrap().map(|user| user.id),
            Some(2)
        );
        let mut waits = std::pin::pin!(odm.backfill().into_future());
        let waited = tokio::time::timeout(Duration::from_secs(1), &mut waits).await;
        assert!(waited.is_err(), "{waited:?}");
        late.insert(before::user(3, "c")).await.unwrap();
        waits.await.unwrap();
        assert_claimed(&odm, "a backfill").await;
        assert_eq!(users.get_by(|u| u.email, "x").await.unwrap(), None);
        assert_eq!(taken(users.insert(user(4, "c")).await), doc! { "email": "c" });
    });
}

/// A program from before changes a value, and its claim is left.
#[odm_tests::test]
fn a_backfill_removes_the_claims_that_a_program_from_before_has_left() {
    with_transactions(async |t| {
        let before = before::odm(&t, &[]).await;
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users.insert(user(1, "a")).await.unwrap();
        let late = before.collection::<before::User>();
        late.update(1).set(|u| u.email, Some("b".into())).await.unwrap();
        assert_eq!(taken(users.insert(user(2, "a")).await), doc! { "email": "a" });
        let filled = odm.backfill().at_once().await.unwrap();
        let claimed = ["users: claims", "users: unique(email)"];
        assert_eq!(
            (filled.edges.as_slice(), filled.documents),
            (&claimed.map(str::to_owned)[..], 2)
        );
        assert_claimed(&odm, "a backfill").await;
        users.insert(user(2, "a")).await.unwrap();
        assert_eq!(
            users.get_by(|u| u.email, "b").await.unwrap().map(|user| user.id),
            Some(1)
        );
        assert!(odm.plan().await.unwrap().backfills().is_empty());
        let again = odm.backfill().at_once().await.unwrap();
        assert!(again.edges.is_empty(), "{again:?}");
    });
}

/// The same users with one of their keys.
mod with_one_key {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "users", soft_delete)]
    pub struct User {
        pub id: i64,
        pub tenant: i64,
        #[index(unique(global))]
        pub email: Option<String>,
        pub handle: Option<String>,
        pub team: i64,
        pub name: String,
        pub deleted_at: Option<DateTime>,
    }
}

#[odm_tests::test]
fn a_backfill_of_another_key_removes_the_claims_that_are_left_by_it() {
    with_transactions(async |t| {
        let before = Odm::new(t.db.clone(), models![with_one_key::User]).unwrap();
        before.sync().await.unwrap();
        before.backfill().at_once().await.unwrap();
        let late = before.collection::<with_one_key::User>();
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        let with_handle = |id, email: &str| User {
            handle: Some("h".into()),
            ..user(id, email)
        };
        users.insert(with_handle(1, "a")).await.unwrap();
        late.update(1).set(|u| u.handle, Some("i".into())).await.unwrap();
        assert_eq!(
            taken(users.insert(with_handle(2, "b")).await),
            doc! { "handle": "h", "team": 1_i64 }
        );
        odm.backfill().at_once().await.unwrap();
        assert_claimed(&odm, "a backfill").await;
        users.insert(with_handle(2, "b")).await.unwrap();
    });
}

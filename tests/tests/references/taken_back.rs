//! Writes that are undone, and what is derived of the documents that they wrote.

use odm::bson::{Document as Doc, doc};
use odm::mongodb::Database;
use odm::prelude::*;
use odm::{Error, Result};
use odm_tests::fixtures::interleaved::{Step, another, meddled};
use odm_tests::{assert_clean, with_transactions};
use std::sync::{Arc, Mutex};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "machines")]
pub struct Machine {
    pub id: i32,
    #[parent_ref]
    pub site: Ref<Site>,
    #[reference(on_delete = nullify)]
    #[field(skip_none)]
    pub user: Option<Ref<User>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sites")]
pub struct Site {
    pub id: i32,
    #[computed(count = Machine, filter = |m| m.user.exists(true), consistency = atomic)]
    pub used: i64,
    #[computed(count = Machine, consistency = atomic)]
    pub machines: i64,
}

/// The numbers that the site holds, and those of its machines, as one moment shows them.
async fn seen(db: &Database) -> [(i64, i64); 2] {
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let sites = db.collection::<Doc>("sites");
    let site = sites.find_one(doc! {}).session(&mut session).await;
    let site = site.unwrap().unwrap();
    let machines = db.collection::<Doc>("machines");
    let mut count = async |filter: Doc| {
        let count = machines.count_documents(filter).session(&mut session).await;
        i64::try_from(count.unwrap()).unwrap()
    };
    let used = count(doc! { "user": { "$exists": true } }).await;
    let all = count(doc! {}).await;
    session.abort_transaction().await.unwrap();
    let held = |name: &str| site.get_i64(name).unwrap();
    [(held("used"), used), (held("machines"), all)]
}

fn is_of(command: &Doc, name: &str, collection: &str) -> bool {
    command.get_str(name).is_ok_and(|of| of == collection)
}

/// The values of a child and of its parent, as readers have seen them.
type Found = Arc<Mutex<Vec<[(i64, i64); 2]>>>;

/// The write of a reference to user 2, who is deleted before it; at each command that undoes it another client looks.
async fn undone(
    t: &odm_tests::TestDb,
    at_write: fn(&str, &Doc) -> bool,
    (at_undo, looks): (fn(&str, &Doc) -> bool, usize),
    write: impl AsyncFnOnce(Odm) -> Result<()>,
) {
    let odm = Odm::new(t.db.clone(), models![User, Machine, Site]).unwrap();
    odm.sync().await.unwrap();
    let users = [User { id: 1 }, User { id: 2 }];
    odm.collection::<User>().insert_many(users).await.unwrap();
    odm.collection::<Site>().insert(NewSite { id: 1 }).await.unwrap();
    let machine = Machine {
        id: 1,
        site: Ref::new(1),
        user: None,
    };
    odm.collection::<Machine>().insert(machine).await.unwrap();
    let found: Found = Arc::default();
    let name = t.db.name().to_owned();
    let into = found.clone();
    let database = name.clone();
    let deletes: Step = (
        at_write,
        Box::new(move |runtime| {
            runtime.block_on(async {
                let other = another(&name, models![User, Machine, Site]).await;
                let users = other.database().collection::<Doc>("users");
                users.delete_one(doc! { "_id": 2 }).await.unwrap();
            });
        }),
    );
    let mut steps = vec![deletes];
    for _ in 0..looks {
        let (database, into) = (database.clone(), into.clone());
        steps.push((
            at_undo,
            Box::new(move |runtime| {
                let now = runtime.block_on(async {
                    let other = another(&database, models![User, Machine, Site]).await;
                    seen(other.database()).await
                });
                into.lock().unwrap().push(now);
            }),
        ));
    }
    let (handle, steps) = meddled(&odm, models![User, Machine, Site], steps).await;
    let error = write(handle).await.unwrap_err();
    assert!(matches!(error, Error::MissingReference { .. }), "{error}");
    assert_eq!(steps.load(std::sync::atomic::Ordering::SeqCst), 1 + looks);
    for numbers in found.lock().unwrap().iter().flatten() {
        assert_eq!(numbers.0, numbers.1, "as the site holds them, and as they are");
    }
    assert_eq!(seen(&t.db).await, [(0, 0), (1, 1)]);
    assert_eq!(odm.recover().await.unwrap().documents, 0);
    assert_clean(&odm).await;
}

#[odm_tests::test]
fn an_insert_is_undone_together_with_what_is_derived_of_it() {
    with_transactions(async |t| {
        undone(
            &t,
            |name, command| name == "insert" && is_of(command, name, "machines"),
            (
                |name, command| name == "delete" && is_of(command, name, "machines"),
                1,
            ),
            async |odm| {
                let machine = Machine {
                    id: 2,
                    site: Ref::new(1),
                    user: Some(Ref::new(2)),
                };
                odm.collection::<Machine>().insert(machine).await.map(drop)
            },
        )
        .await;
    });
}

#[odm_tests::test]
fn an_update_is_undone_together_with_what_is_derived_of_it() {
    with_transactions(async |t| {
        undone(
            &t,
            |name, command| ["update", "findAndModify"].contains(&name) && is_of(command, name, "machines"),
            // The site: twice with the machine, and once more when the machine loses its user again.
            (
                |name, command| name == "update" && is_of(command, name, "sites"),
                3,
            ),
            async |odm| {
                odm.collection::<Machine>()
                    .update(1)
                    .set(|machine| machine.user, Ref::new(2))
                    .await
                    .map(drop)
            },
        )
        .await;
    });
}

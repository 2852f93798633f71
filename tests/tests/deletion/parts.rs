//! Operations on more documents than one transaction should change.

use odm::mongodb::Database;
use odm::prelude::*;
use odm::update::Updated;
use odm::{Error, Result};
use odm_tests::fixtures::stopped::{Process, Stopped};
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "makers")]
pub struct Maker {
    pub id: i32,
    pub name: String,
    pub group: i32,
    #[computed(count = Thing)]
    pub things: i64,
    #[computed(sum = Thing.price)]
    pub worth: i64,
    #[computed(max = Thing.price)]
    pub dearest: Option<i32>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things")]
pub struct Thing {
    pub id: i32,
    #[parent_ref]
    pub maker: Ref<Maker>,
    #[denormalize(from = maker.name)]
    pub maker_name: String,
    #[field(min = 0)]
    pub price: i32,
}

/// Documents that refer to their own kind.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "twigs")]
pub struct Twig {
    pub id: i32,
    pub name: String,
    #[parent_ref]
    pub above: Option<Ref<Twig>>,
    #[denormalize(from = above.name)]
    pub above_name: Option<String>,
}

/// Documents whose copies follow from others of their kind.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "branches")]
pub struct Branch {
    pub id: i32,
    #[field(max_len = 20)]
    pub name: String,
    #[parent_ref]
    pub stem: Ref<Stem>,
    #[denormalize(from = stem.branches)]
    pub siblings: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "stems")]
pub struct Stem {
    pub id: i32,
    #[computed(count = Branch)]
    pub branches: i64,
    #[computed(sum = Leaf.n)]
    pub leaves: i64,
}

/// Documents whose ids the server makes.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "leaves")]
pub struct Leaf {
    pub id: ObjectId,
    #[parent_ref]
    pub stem: Ref<Stem>,
    pub n: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "clubs")]
pub struct Club {
    pub id: i32,
    #[reference(many, inverse = club, max = 5000)]
    pub players: Vec<Ref<Player>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "players")]
pub struct Player {
    pub id: i32,
    #[reference(inverse = players)]
    pub club: Option<Ref<Club>>,
}

fn maker(id: i32) -> NewMaker {
    NewMaker {
        id,
        name: format!("maker {id}"),
        group: id % 2,
    }
}

fn thing(id: i32) -> NewThing {
    NewThing {
        id,
        maker: Ref::new(id % 7),
        price: 1,
    }
}

async fn models(t: &TestDb) -> Odm {
    let odm = handle(t.db.clone());
    odm.sync().await.unwrap();
    odm
}

fn handle(db: Database) -> Odm {
    let models = models![Maker, Thing, Twig, Branch, Stem, Leaf, Club, Player];
    Odm::new(db, models).unwrap()
}

fn commits(t: &TestDb) -> usize {
    let sent = t.commands.take();
    sent.iter().filter(|name| *name == "commitTransaction").count()
}

#[odm_tests::test]
fn inserts_of_thousands_are_transactions_of_a_thousand() {
    with_transactions(async |t| {
        let odm = models(&t).await;
        odm.collection::<Maker>()
            .insert_many((0..7).map(maker))
            .await
            .unwrap();
        let things = odm.collection::<Thing>();
        t.commands.take();
        let stored = things.insert_many((0..2_300).map(thing)).await.unwrap();
        assert_eq!(commits(&t), 3);
        assert!(stored.iter().map(|thing| thing.id).eq(0..2_300));
        assert!(
            stored
                .iter()
                .all(|thing| thing.maker_name == format!("maker {}", thing.id % 7))
        );
        assert_eq!(
            odm.collection::<Maker>().get(3).await.unwrap().unwrap().things,
            329
        );
        assert_clean(&odm).await;

        // One that is refused takes those of its part with it, and none of the parts before.
        let twice = (3_000..4_500).map(|id| thing(if id == 4_400 { 7 } else { id }));
        let error = things.insert_many(twice).await.unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*inserted, 1_000);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].0, 1_400);
        assert!(matches!(errors[0].1, Error::DuplicateKey { .. }), "{error}");
        assert_eq!(things.find_all().count().await.unwrap(), 3_300);
        assert_clean(&odm).await;

        // Nor does one whose parent is missing; the documents after it are inserted where the order doesn't matter.
        let alone = |id| NewThing {
            maker: Ref::new(if id == 6_100 { 99 } else { 1 }),
            ..thing(id)
        };
        let error = things
            .insert_many((5_000..7_500).map(alone))
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*inserted, 1_500);
        assert_eq!(errors[0].0, 1_000, "the first of the part");
        assert!(
            matches!(&errors[0].1, Error::MissingReference { ids, .. } if ids.len() == 1),
            "{error}"
        );
        assert_eq!(things.find_all().count().await.unwrap(), 4_800);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn documents_that_may_refer_to_each_other_are_inserted_at_once() {
    with_transactions(async |t| {
        let odm = models(&t).await;
        let twig = |id: i32| NewTwig {
            id,
            name: format!("twig {id}"),
            // Those before refer to those behind.
            above: (id < 1_099).then(|| Ref::new(1_099)),
        };
        t.commands.take();
        let twigs = odm.collection::<Twig>();
        twigs.insert_many((0..1_100).map(twig)).await.unwrap();
        assert_eq!(commits(&t), 1);
        let first = twigs.get(0).await.unwrap().unwrap();
        assert_eq!(first.above_name.as_deref(), Some("twig 1099"));
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn updates_of_thousands_are_transactions_of_a_thousand() {
    odm_tests::takes_long();
    with_transactions(async |t| {
        let odm = models(&t).await;
        let makers = odm.collection::<Maker>();
        makers.insert_many((0..7).map(maker)).await.unwrap();
        let things = odm.collection::<Thing>();
        things.insert_many((0..2_300).map(thing)).await.unwrap();

        // They may change the field by which they are found.
        t.commands.take();
        let done = things
            .update_where(|thing| thing.price.lt(3))
            .inc(|thing| thing.price, 1)
            .await
            .unwrap();
        // One that was given up, since there were too many for it, and those of the parts.
        assert_eq!(commits(&t), 1 + 3);
        assert_eq!((done.matched, done.modified), (2_300, 2_300));
        assert_eq!(
            things.find(|thing| thing.price.eq(2)).count().await.unwrap(),
            2_300
        );
        assert_eq!(makers.get(0).await.unwrap().unwrap().worth, 2 * 329);
        assert_clean(&odm).await;

        // And what is derived of them may be what others of them are found by.
        let done = things
            .update_where(|thing| thing.maker_name.ne("maker 1"))
            .set(|thing| thing.maker, Ref::new(1))
            .await
            .unwrap();
        assert_eq!(done.matched, 2_300 - 329);
        assert_eq!(makers.get(1).await.unwrap().unwrap().things, 2_300);
        assert!(
            things
                .find(|thing| thing.maker_name.ne("maker 1"))
                .one()
                .await
                .unwrap()
                .is_none()
        );
        assert_clean(&odm).await;

        // Up to a thousand are one.
        t.commands.take();
        let done = things
            .update_where(|thing| thing.id.lt(1_000))
            .set(|thing| thing.price, 0)
            .await
            .unwrap();
        assert_eq!((commits(&t), done.matched), (1, 1_000));

        // Documents that a bound holds back are counted over all parts.
        let done = things
            .update_where(|thing| thing.id.gte(0))
            .inc(|thing| thing.price, -2)
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (1_300, 1_000));
        assert_clean(&odm).await;

        // In a transaction of the application's own it is all or nothing.
        t.commands.take();
        let given_up: Result<()> = odm
            .transaction(async |tx| {
                let done = tx
                    .collection::<Thing>()
                    .update_where(|thing| thing.id.gte(0))
                    .set(|thing| thing.price, 9)
                    .await?;
                assert_eq!(done.matched, 2_300);
                Err(Error::application("given up"))
            })
            .await;
        assert!(matches!(given_up, Err(Error::Application(_))), "{given_up:?}");
        assert_eq!(commits(&t), 0);
        assert!(
            things
                .find(|thing| thing.price.eq(9))
                .one()
                .await
                .unwrap()
                .is_none()
        );
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn sources_by_the_thousand_reach_their_copies() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = models(&t).await;
        let makers = odm.collection::<Maker>();
        makers.insert_many((0..1_500).map(maker)).await.unwrap();
        let one_each = (0..1_500).map(|id| NewThing {
            maker: Ref::new(id),
            ..thing(id)
        });
        odm.collection::<Thing>().insert_many(one_each).await.unwrap();
        for (name, odm) in [("once", odm.clone()), ("twice", t.standalone_of(&odm).await)] {
            let done = odm
                .collection::<Maker>()
                .update_where(|maker| maker.group.gte(0))
                .set(|maker| maker.name, name)
                .await
                .unwrap();
            assert_eq!(done.matched, 1_500);
            let things = odm.collection::<Thing>();
            let renamed = things.find(|thing| thing.maker_name.eq(name)).count();
            assert_eq!(renamed.await.unwrap(), 1_500);
            assert_clean(&odm).await;
        }
    });
}

#[odm_tests::test]
fn two_way_references_by_the_thousand() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = models(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let clubs = odm.collection::<Club>();
            clubs.delete_where(|club| club.id.gte(0)).await.unwrap();
            odm.collection::<Player>()
                .delete_where(|player| player.id.gte(0))
                .await
                .unwrap();
            clubs
                .insert_many((1..=2).map(|id| Club { id, players: vec![] }))
                .await
                .unwrap();
            let players = odm.collection::<Player>();
            let in_the_first = |id| Player {
                id,
                club: Some(Ref::new(1)),
            };
            players.insert_many((0..1_200).map(in_the_first)).await.unwrap();
            let done = players
                .update_where(|player| player.club.eq(Ref::new(1)))
                .set(|player| player.club, Some(Ref::new(2)))
                .await
                .unwrap();
            assert_eq!(done.matched, 1_200);
            assert_eq!(clubs.get(1).await.unwrap().unwrap().players.len(), 0);
            assert_eq!(clubs.get(2).await.unwrap().unwrap().players.len(), 1_200);
            assert_clean(&odm).await;
        }
    });
}

/// However many parents a write touches, they are one query, and one command writes them.
#[odm_tests::test]
fn fields_of_many_parents_are_derived_together() {
    with_db(async |t| {
        let odm = models(&t).await;
        odm.collection::<Maker>()
            .insert_many((0..300).map(maker))
            .await
            .unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let things = odm.collection::<Thing>();
            let one_each = (0..300).map(|id| NewThing {
                maker: Ref::new(id),
                ..thing(id)
            });
            t.commands.take();
            things.insert_many(one_each).await.unwrap();
            let sent = t.commands.take();
            // Pending work is applied for 200 of them at a time.
            assert!(sent.len() < 16, "{sent:?}");
            // The greatest of them is found anew where one goes.
            things
                .update_where(|thing| thing.id.gte(0))
                .inc(|thing| thing.price, -1)
                .await
                .unwrap();
            let sent = t.commands.take();
            // The bound is one, and the numbers of each 200 at most.
            let aggregates = sent.iter().filter(|name| *name == "aggregate").count();
            assert!(sent.len() < 16 && aggregates <= 3, "{sent:?}");
            assert_clean(&odm).await;
            t.commands.take();
            things.delete_where(|thing| thing.id.gte(0)).await.unwrap();
            let sent = t.commands.take();
            // In batches of 200.
            assert!(sent.len() < 2 * 14, "{sent:?}");
            let makers = odm.collection::<Maker>();
            let left = makers.find(|maker| maker.dearest.exists(true)).count();
            assert_eq!(left.await.unwrap(), 0);
            assert_clean(&odm).await;
        }
    });
}

/// A part may change the field by which the other ones were found.
#[odm_tests::test]
fn the_documents_that_fit_at_first_are_changed_and_no_others() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = models(&t).await;
        odm.collection::<Stem>()
            .insert_many((0..2).map(|id| NewStem { id }))
            .await
            .unwrap();
        let branches = odm.collection::<Branch>();
        let branch = |id: i32| NewBranch {
            id,
            name: if id % 2 == 0 { "even" } else { "odd" }.to_owned(),
            stem: Ref::new(0),
        };
        branches.insert_many((0..2_200).map(branch)).await.unwrap();
        // After the first thousand has left, no document has that many siblings any more.
        let done = branches
            .update_where(|branch| branch.siblings.gt(1_500) & branch.id.lt(2_100))
            .set(|branch| branch.stem, Ref::new(1))
            .await
            .unwrap();
        assert_eq!(done.matched, 2_100);
        let stem = odm.collection::<Stem>().get(1).await.unwrap().unwrap();
        assert_eq!(stem.branches, 2_100);
        assert_clean(&odm).await;

        // Twigs that get the name by which others of them are found.
        let twigs = odm.collection::<Twig>();
        let root = |id: i32| NewTwig {
            id,
            name: "old".to_owned(),
            above: None,
        };
        twigs.insert_many((0..1_100).map(root)).await.unwrap();
        let below = |id: i32| NewTwig {
            id: id + 2_000,
            name: "old".to_owned(),
            above: Some(Ref::new(id)),
        };
        twigs.insert_many((0..1_100).map(below)).await.unwrap();
        let under = |id: i32| NewTwig {
            id: id + 4_000,
            name: "leaf".to_owned(),
            above: Some(Ref::new(id + 2_000)),
        };
        twigs.insert_many((0..1_100).map(under)).await.unwrap();
        let done = twigs
            .update_where(|twig| twig.above_name.eq("old") & twig.name.eq("old"))
            .set(|twig| twig.name, "new")
            .await
            .unwrap();
        assert_eq!(done.matched, 1_100);
        assert_eq!(
            twigs.find(|twig| twig.name.eq("leaf")).count().await.unwrap(),
            1_100
        );
        assert_clean(&odm).await;
        // Those that fit only when others have been renamed.
        let done = twigs
            .update_where(|twig| twig.above_name.eq("new") | twig.name.eq("old"))
            .set(|twig| twig.name, "new")
            .await
            .unwrap();
        assert_eq!(done.matched, 2_200);
        assert_clean(&odm).await;
    });
}

/// Two of many new documents that claim the same one are seen together.
#[odm_tests::test]
fn new_documents_that_claim_the_same_one_are_refused_whatever_their_number() {
    with_db(async |t| {
        let odm = models(&t).await;
        let players = (0..1_300).map(|id| Player { id, club: None });
        odm.collection::<Player>().insert_many(players).await.unwrap();
        let clubs = (0..1_300).map(|id| Club {
            id,
            players: vec![Ref::new(if id == 1_250 { 10 } else { id })],
        });
        let error = odm.collection::<Club>().insert_many(clubs).await.unwrap_err();
        assert!(matches!(error, Error::Query { .. }), "{error}");
        assert_eq!(odm.collection::<Club>().find_all().count().await.unwrap(), 0);
        assert_clean(&odm).await;
    });
}

/// More leaves than one transaction changes.
const LEAVES: usize = 1_100;

async fn grow(odm: &Odm) -> Result<()> {
    let leaf = |_| NewLeaf {
        stem: Ref::new(1),
        n: 1,
    };
    let leaves = odm.collection::<Leaf>();
    leaves.delete_where(|leaf| leaf.n.gte(0)).await?;
    leaves.insert_many((0..LEAVES).map(leaf)).await.map(drop)
}

async fn change(odm: Odm) -> Result<Updated> {
    let leaves = odm.collection::<Leaf>();
    let update = leaves.update_where(|leaf| leaf.stem.eq(Ref::new(1)) & leaf.n.eq(1));
    update.set(|leaf| leaf.n, 2).upsert().await
}

/// The leaves that are changed, and those that are not.
async fn changed(odm: &Odm) -> [u64; 2] {
    let leaves = odm.collection::<Leaf>();
    let changed = leaves.find(|leaf| leaf.n.eq(2)).count().await.unwrap();
    [changed, leaves.find(|leaf| leaf.n.eq(1)).count().await.unwrap()]
}

/// A process that has learned that there are too many leaves, and has sent nothing of the first part.
async fn before_the_first_part(t: &TestDb, odm: &Odm) -> Stopped<Result<Updated>> {
    grow(odm).await.unwrap();
    t.commands.take();
    change(odm.clone()).await.unwrap();
    let sent = t.commands.take();
    let end = sent.iter().position(|name| name == "commitTransaction").unwrap();
    assert!(sent[..end].iter().all(|name| name == "find"), "{sent:?}");
    grow(odm).await.unwrap();
    let process = Process::new(t).await;
    let other = handle(process.db.clone());
    other.check_models().await.unwrap();
    let stopped = process.until(end + 1, change(other)).await;
    let stopped = stopped.expect("it is stopped");
    assert_eq!(changed(odm).await, [0, LEAVES as u64]);
    stopped
}

#[odm_tests::test]
fn an_update_of_too_many_documents_writes_nothing_before_its_first_part() {
    with_transactions(async |t| {
        let odm = models(&t).await;
        odm.collection::<Stem>().insert(NewStem { id: 1 }).await.unwrap();
        let leaves = odm.collection::<Leaf>();
        let stem = async || odm.collection::<Stem>().get(1).required().await.unwrap();

        before_the_first_part(&t, &odm).await.dies().await;
        assert_eq!(changed(&odm).await, [0, LEAVES as u64]);
        assert_eq!(odm.recover().await.unwrap().documents, 0);
        assert_clean(&odm).await;

        // By then another client has deleted some.
        let stopped = before_the_first_part(&t, &odm).await;
        let some = leaves.find_all().limit(200).all().await.unwrap();
        let some: Vec<ObjectId> = some.iter().map(|leaf| leaf.id).collect();
        leaves.delete_where(|leaf| leaf.id.in_(some)).await.unwrap();
        let done = stopped.go_on().await.unwrap().unwrap();
        let left = LEAVES as u64 - 200;
        assert_eq!((done.matched, done.modified, done.upserted), (left, left, None));
        assert_eq!(changed(&odm).await, [left, 0]);
        assert_eq!(stem().await.leaves, 2 * left as i64);
        assert_clean(&odm).await;

        // And then all: there is something to insert.
        let stopped = before_the_first_part(&t, &odm).await;
        leaves.delete_where(|leaf| leaf.n.gte(0)).await.unwrap();
        let done = stopped.go_on().await.unwrap().unwrap();
        assert_eq!((done.matched, done.modified), (0, 0));
        assert!(done.upserted.is_some());
        assert_eq!(changed(&odm).await, [1, 0]);
        assert_eq!(stem().await.leaves, 2);
        assert_clean(&odm).await;
    });
}

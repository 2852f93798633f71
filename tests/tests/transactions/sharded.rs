//! Reads behind a commit on a sharded cluster: they wait until every shard has applied it.

use super::copying::auto::{Author, Book, author, book, models};
use odm::bson::{Timestamp, doc};
use odm::mongodb::options::ReadConcern;
use odm::prelude::*;
use odm::server::Topology;
use odm_tests::fixtures::routed::{Sent, routed, waits_for};
use odm_tests::{TestDb, require_transactions, skip, with_db};

/// Another process, which has stored an author.
async fn stocked(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models()).unwrap();
    require_transactions(&odm).await;
    odm.sync().await.unwrap();
    odm.collection::<Author>().insert(author(1)).await.unwrap();
    odm
}

/// A read, and the time that it waits for.
type Read = (String, Option<Timestamp>);

/// The reads out of a transaction among what was sent.
fn reads(sent: &Sent) -> Vec<Read> {
    let commands = sent.take().into_iter();
    let named = commands.filter_map(|command| Some((command.keys().next()?.clone(), command)));
    named
        .filter(|(_, command)| !command.contains_key("autocommit"))
        .filter(|(name, _)| ["find", "aggregate", "distinct"].contains(&name.as_str()))
        .map(|(name, command)| (name, waits_for(&command)))
        .collect()
}

/// The reads of each kind that an application has, and those of the library for a deletion by rules that finds nothing.
async fn asked(odm: &Odm, sent: &Sent) -> (Vec<Read>, Vec<Read>) {
    let authors = odm.collection::<Author>();
    sent.take();
    authors.get(1).await.unwrap().unwrap();
    authors.find(|a| a.name.eq("author 1")).all().await.unwrap();
    authors.find_all().count().await.unwrap();
    authors.find_all().distinct(|a| a.name).await.unwrap();
    authors
        .aggregate()
        .filter(|a| a.name.eq("author 1"))
        .all::<Author>()
        .await
        .unwrap();
    let mut of_application = reads(sent);
    of_application.sort();
    authors.delete_where(|a| a.name.eq("none")).await.unwrap();
    let mut of_library = reads(sent);
    of_library.sort();
    (of_application, of_library)
}

#[track_caller]
fn all_wait_for(reads: &[Read], time: Option<Timestamp>) {
    assert!(reads.iter().all(|(_, of)| *of == time), "{reads:?} {time:?}");
}

/// A time that has passed everywhere.
const EARLIEST: Timestamp = Timestamp {
    time: 1,
    increment: 1,
};

#[odm_tests::test]
fn a_read_behind_a_commit_on_a_sharded_cluster_waits_for_its_time() {
    with_db(async |t| {
        let direct = stocked(&t).await;
        let (odm, proxy, sent) = routed(&t, models()).await;
        // The handle asks once for the version of the server and for the declarations.
        odm.check_models().await.unwrap();
        // Without a transaction before it, no read of the application waits. Those of the library see the commits of others.
        let before = asked(&odm, &sent).await;
        assert!(before.0.len() >= 5 && !before.1.is_empty(), "{before:?}");
        all_wait_for(&before.0, None);
        all_wait_for(&before.1, Some(EARLIEST));

        // A transaction of the application's, and one of the library's own, which copies the name.
        let insert = async |tx: odm::Tx| tx.collection::<Author>().insert(author(2)).await;
        odm.transaction(insert).await.unwrap();
        let first = sent.committed().expect("the time of the commit");
        let behind = asked(&odm, &sent).await;
        all_wait_for(&behind.0, Some(first));
        all_wait_for(&behind.1, Some(first));
        odm.collection::<Book>().insert(book(1, 1)).await.unwrap();
        let committed = sent.committed().expect("the time of the commit");
        assert!(committed > first);
        let behind = asked(&odm, &sent).await;
        let names = |reads: &[Read]| -> Vec<String> { reads.iter().map(|(name, _)| name.clone()).collect() };
        assert_eq!(names(&behind.0), names(&before.0), "no read is added");
        assert_eq!(names(&behind.1), names(&before.1), "no read is added");
        all_wait_for(&behind.0, Some(committed));
        all_wait_for(&behind.1, Some(committed));

        // The time does not advance with what a read has seen.
        direct.collection::<Author>().insert(author(3)).await.unwrap();
        assert_eq!(asked(&odm, &sent).await, behind);

        // A clone of the handle knows it, too; a handle of another database does not.
        assert_eq!(asked(&odm.clone(), &sent).await, behind);
        sent.take();
        let elsewhere = odm.with_database(&format!("{}_2", t.db.name()));
        elsewhere.collection::<Author>().find_all().all().await.unwrap();
        assert_eq!(reads(&sent), [("find".to_owned(), None)]);

        // A read concern beside which the server takes no time is left as it is.
        let authors = odm.collection::<Author>();
        for (concern, level) in [
            (ReadConcern::available(), "available"),
            (ReadConcern::linearizable(), "linearizable"),
        ] {
            authors
                .find(|a| a.id.eq(1))
                .read_concern(concern)
                .all()
                .await
                .unwrap();
            let finds = sent.named("find");
            assert_eq!(
                finds[0].get_document("readConcern").unwrap(),
                &doc! { "level": level }
            );
        }
        let majority = authors.find(|a| a.id.eq(1)).read_concern(ReadConcern::majority());
        majority.all().await.unwrap();
        assert_eq!(waits_for(&sent.named("find")[0]), Some(committed));

        // A write waits by itself.
        authors.insert(author(4)).await.unwrap();
        authors.update(4).set(|a| a.remark, "new").await.unwrap();
        let writes = sent.take();
        assert!(
            writes.iter().all(|write| !write.contains_key("readConcern")),
            "{writes:?}"
        );

        // The next transaction begins with the time.
        let count = async |tx: odm::Tx| tx.collection::<Author>().find_all().count().await;
        odm.transaction(count).await.unwrap();
        let commands = sent.take();
        let first = commands
            .iter()
            .find(|command| command.contains_key("startTransaction"));
        assert_eq!(first.and_then(waits_for), Some(committed));
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_causally_consistent_handle_sees_the_commits_of_others_on_a_sharded_cluster() {
    with_db(async |t| {
        stocked(&t).await;
        let (odm, proxy, sent) = routed(&t, models()).await;
        odm.collection::<Book>().insert(book(1, 1)).await.unwrap();
        let committed = sent.committed();
        assert!(committed.is_some());
        sent.take();
        let own = odm.clone().causally_consistent();
        own.collection::<Author>().find_all().all().await.unwrap();
        assert_eq!(waits_for(&sent.named("find")[0]), committed);
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn the_ids_of_a_large_delivery_are_read_behind_the_commit_too() {
    with_db(async |t| {
        let direct = stocked(&t).await;
        let books = (1..=1_200).map(|id| book(id, 1));
        direct.collection::<Book>().insert_many(books).await.unwrap();
        let (odm, proxy, sent) = routed(&t, models()).await;
        sent.take();
        odm.collection::<Author>()
            .update(1)
            .set(|a| a.name, "new")
            .await
            .unwrap();
        let committed = sent
            .committed()
            .expect("the change of the source is a transaction");
        let finds = sent.named("find");
        let of_books = |find: &&odm::bson::Document| {
            find.get_str("find").is_ok_and(|name| name == "books") && !find.contains_key("autocommit")
        };
        let times: Vec<Option<Timestamp>> = finds.iter().filter(of_books).map(waits_for).collect();
        assert!(!times.is_empty(), "{finds:?}");
        assert!(
            times.iter().all(|time| *time >= Some(committed)),
            "{times:?} {committed:?}"
        );
        let copied = odm
            .collection::<Book>()
            .find(|b| b.author_name.eq("new"))
            .count()
            .await;
        assert_eq!(copied.unwrap(), 1_200);
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_read_behind_a_commit_on_a_replica_set_waits_for_nothing() {
    with_db(async |t| {
        stocked(&t).await;
        let sent = Sent::default();
        let odm = sent.by(odm_tests::options(false).await, &t, models());
        if odm.server().await.unwrap().topology() == Topology::Sharded {
            skip("needs a replica set");
        }
        odm.check_models().await.unwrap();
        let before = asked(&odm, &sent).await;
        odm.collection::<Book>().insert(book(1, 1)).await.unwrap();
        assert!(sent.committed().is_some());
        assert_eq!(asked(&odm, &sent).await, before);
        all_wait_for(&before.0, None);
        all_wait_for(&before.1, None);
        let count = async |tx: odm::Tx| tx.collection::<Author>().find_all().count().await;
        odm.transaction(count).await.unwrap();
        let commands = sent.take();
        assert!(
            commands.iter().all(|command| waits_for(command).is_none()),
            "{commands:?}"
        );
    });
}

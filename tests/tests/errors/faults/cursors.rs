//! Streams whose cursor the server has closed, or whose connection breaks; and sorts that need the disk.

use super::*;
use futures::{StreamExt, TryStreamExt};
use odm::Error;
use odm_tests::proxy::Fate;
use odm_tests::with_db;

#[derive(Projection, Debug)]
#[projection(of = Account)]
struct Named {
    name: String,
}

/// Ties in the order of cents, so that the id has to break them.
async fn stock(odm: &Odm) -> Vec<i32> {
    let accounts = odm.collection::<Account>();
    accounts
        .insert_many((0..60).map(|n| account(n, n % 4)))
        .await
        .unwrap();
    let mut ids: Vec<i32> = (0..60).collect();
    ids.sort_by_key(|n| (-(n % 4), -n));
    ids
}

fn lost() -> Doc {
    doc! { "ok": 0.0, "code": 43, "codeName": "CursorNotFound", "errmsg": "cursor id 1 not found" }
}

#[odm_tests::test]
fn a_stream_whose_cursor_is_closed_says_where_it_was() {
    with_db(async |t| {
        let (odm, seen) = directly(&t).await;
        let ids = stock(&odm).await;
        let accounts = odm.collection::<Account>();
        let find = || accounts.find_all().sort(|a| (a.cents.desc(), a.id.desc()));
        let mut stream = find().batch_size(7).stream().await.unwrap();
        for id in &ids[..7] {
            assert_eq!(stream.next().await.unwrap().unwrap().id, *id);
        }
        assert!(seen.kill(&t, "accounts").await);
        let error = stream.next().await.unwrap().unwrap_err();
        let Error::CursorLost { collection, last, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*collection, "accounts");
        assert_eq!(
            last.as_deref(),
            Some(&doc! { "cents": ids[6] % 4, "_id": ids[6] })
        );
        assert!(error.is_transient() && error.driver_error().is_some());
        assert!(error.to_string().contains("`.resumable()`"), "{error}");
        assert!(stream.next().await.is_none(), "the error is the last item");
        // A projection without the id can't say it; a pipeline has no such place either.
        let mut stream = find().select::<Named>().batch_size(7).stream().await.unwrap();
        stream.next().await.unwrap().unwrap();
        assert!(seen.kill(&t, "accounts").await);
        let all: Result<Vec<Named>, Error> = stream.try_collect().await;
        assert!(
            matches!(all, Err(Error::CursorLost { last: None, .. })),
            "{all:?}"
        );
    });
}

#[odm_tests::test]
fn a_resumable_stream_goes_on_after_its_cursor_was_closed() {
    with_db(async |t| {
        let (odm, seen) = directly(&t).await;
        let ids = stock(&odm).await;
        let accounts = odm.collection::<Account>();
        let find = || accounts.find_all().sort(|a| a.cents.desc()).batch_size(7);
        for (query, expected) in [
            (find(), &ids[..]),
            (find().limit(40), &ids[..40]),
            (find().skip(5).limit(30), &ids[5..35]),
        ] {
            let mut stream = query.resumable().stream().await.unwrap();
            let (mut found, mut killed) = (Vec::new(), 0);
            while let Some(account) = stream.try_next().await.unwrap() {
                found.push(account.id);
                if found.len() % 10 == 3 {
                    killed += u32::from(seen.kill(&t, "accounts").await);
                }
            }
            assert_eq!(found, expected);
            assert!(killed > 1, "{killed} cursors were closed");
        }
        let mut names = find().select::<Named>().resumable().stream().await.unwrap();
        let mut found = Vec::new();
        while let Some(named) = names.try_next().await.unwrap() {
            found.push(named.name);
            if found.len() == 7 {
                assert!(seen.kill(&t, "accounts").await);
            }
        }
        let expected: Vec<String> = ids.iter().map(|id| format!("account {id}")).collect();
        assert_eq!(found, expected);
    });
}

#[odm_tests::test]
fn a_resumable_stream_goes_on_after_a_broken_connection_and_gives_up_without_progress() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, _) = through(&proxy, &t).await;
        let ids = stock(&odm).await;
        let accounts = odm.collection::<Account>();
        for fate in [Fate::Lost, Fate::Unanswered, Fate::Answered(lost())] {
            proxy.next("getMore", 2, fate.clone());
            let stream = accounts
                .find_all()
                .sort(|a| a.cents.desc())
                .batch_size(9)
                .resumable()
                .stream();
            let found: Vec<Account> = stream.await.unwrap().try_collect().await.unwrap();
            let found: Vec<i32> = found.iter().map(|account| account.id).collect();
            assert_eq!(found, ids, "{fate:?}");
            assert!(proxy.is_done(), "{fate:?}");
        }
        let stream = accounts.find_all().batch_size(9).resumable().stream().await;
        let mut stream = stream.unwrap();
        proxy.next("getMore", 1, Fate::Answered(lost()));
        proxy.next("find", 100, Fate::Answered(lost()));
        proxy.take_names();
        let mut given = 0;
        let error = loop {
            match stream.next().await {
                Some(Ok(_)) => given += 1,
                Some(Err(error)) => break error,
                None => panic!("the stream has ended after {given}"),
            }
        };
        assert_eq!(given, 9);
        let Error::CursorLost { last, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(last.as_deref(), Some(&doc! { "_id": 8 }));
        assert_eq!(
            proxy.take_names(),
            ["getMore", "find", "find", "find", "find", "find"]
        );
        assert!(stream.next().await.is_none());
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_large_sort_may_use_the_disk() {
    with_db(async |t| {
        let proxy = proxy().await;
        let (odm, seen) = through(&proxy, &t).await;
        odm.collection::<Owner>()
            .insert(Owner {
                id: 1,
                name: "Ada".into(),
                visits: 0,
            })
            .await
            .unwrap();
        let owners = odm.collection::<Owner>();
        let sorted = || owners.find_all().sort(|o| o.name.asc());
        let asks = |commands: Vec<Doc>| -> Vec<bool> {
            let asked = commands.iter().filter(|command| {
                let name = command.keys().next().map(String::as_str);
                matches!(name, Some("find" | "aggregate"))
            });
            asked
                .map(|command| command.get_bool("allowDiskUse").unwrap_or(false))
                .collect()
        };
        seen.take();
        sorted().all().await.unwrap();
        assert_eq!(asks(seen.take()), [false]);
        sorted().allow_disk_use().all().await.unwrap();
        drop(sorted().allow_disk_use().stream().await.unwrap());
        sorted().allow_disk_use().page(3).await.unwrap();
        assert_eq!(asks(seen.take()), [true; 3]);
        let joined = sorted()
            .allow_disk_use()
            .include(|o| o.children_by(|p: PetFields| p.owner).sort(|p| p.id.desc()));
        joined.all().await.unwrap();
        assert_eq!(asks(seen.take()), [true; 2], "the query and that of its join");
        owners
            .aggregate()
            .sort(|o| o.name.asc())
            .allow_disk_use()
            .all::<Owner>()
            .await
            .unwrap();
        assert_eq!(asks(seen.take()), [true]);
        // The error names the way out.
        let memory = doc! {
            "ok": 0.0, "code": 292, "codeName": "QueryExceededMemoryLimitNoDiskUseAllowed",
            "errmsg": "Sort exceeded memory limit of 104857600 bytes, but did not opt in to external sorting.",
        };
        proxy.next("find", 1, Fate::Answered(memory.clone()));
        let error = sorted().all().await.unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        assert!(error.to_string().contains("allow_disk_use()"), "{error}");
        seen.take();
        // A page is the library's own sort.
        let (fresh, seen) = through(&proxy, &t).await;
        proxy.next("find", 1, Fate::Answered(memory));
        let owners = fresh.collection::<Owner>();
        let page = owners.find_all().sort(|o| o.name.asc()).page(3);
        assert_eq!(page.await.unwrap().items.len(), 1);
        assert_eq!(asks(seen.take()), [false, true]);
        proxy.bury().await;
    });
}

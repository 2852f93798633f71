//! Errors in the user's terms, from a server's replies.

use super::models::*;
use odm::Error;
use odm::bson::doc;
use odm::prelude::*;
use odm::write::BulkDone;
use odm_tests::with_db;

#[odm_tests::test]
fn a_duplicate_key_names_index_fields_and_value() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let bob = shops.insert(shop("Bob", 1)).await.unwrap();
        let check = |error: Error| {
            let Error::DuplicateKey {
                collection,
                index,
                fields,
                value,
                existing: None,
                source,
            } = &error
            else {
                panic!("{error:?}")
            };
            assert_eq!((collection.as_str(), index.as_str()), ("shops", "name_1"));
            assert_eq!(
                (fields.as_slice(), &**value),
                (&["name".to_owned()][..], &doc! { "name": "Ada" })
            );
            assert!(source.is_some());
            assert!(error.to_string().contains("`name` \"Ada\""), "{error}");
        };
        check(shops.insert(shop("Ada", 1)).await.unwrap_err());
        check(shops.update(bob.id).set(|s| s.name, "Ada").await.unwrap_err());
        check(
            shops
                .update(bob.id)
                .set(|s| s.name, "Ada")
                .returning()
                .await
                .unwrap_err(),
        );
        check(
            shops
                .replace(Shop {
                    name: "Ada".into(),
                    ..bob.clone()
                })
                .await
                .unwrap_err(),
        );
        let twin = shops.insert(ada.clone()).await.unwrap_err();
        assert!(
            matches!(&twin, Error::DuplicateKey { index, .. } if index == "_id_" || index == "name_1"),
            "{twin}"
        );
    });
}

#[odm_tests::test]
fn insert_many_says_which_and_why() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let names = ["a", "b", "a", "c", "b"];
        let error = shops.insert_many(names.map(|n| shop(n, 1))).await.unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!((*inserted, errors.len(), errors[0].0), (2, 1, 2));
        shops.delete_where(|s| s.stars.gte(0)).await.unwrap();
        let error = shops
            .insert_many(names.map(|n| shop(n, 1)))
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (*inserted, errors.iter().map(|e| e.0).collect::<Vec<_>>()),
            (3, vec![2, 4])
        );
        assert!(
            errors
                .iter()
                .all(|(_, e)| matches!(e, Error::DuplicateKey { value, .. } if !value.is_empty()))
        );
        // One that breaks a bound is found before any is sent.
        t.commands.clear();
        let error = shops.insert_many([shop("x", 1), shop("y", 9)]).await.unwrap_err();
        let Error::InsertMany {
            inserted: 0, errors, ..
        } = &error
        else {
            panic!("{error:?}")
        };
        assert!(matches!(&errors[..], [(1, Error::Invalid { .. })]), "{error}");
        assert!(t.commands.take().is_empty());
        // Unordered, it holds up no other document: the errors are in the order of the documents, whether the library or the server found them.
        shops.delete_where(|s| s.stars.gte(0)).await.unwrap();
        let mixed = [
            shop("x", 9),
            shop("a", 1),
            shop("a", 1),
            shop("y", 9),
            shop("b", 1),
        ];
        let error = shops.insert_many(mixed).unordered().await.unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (*inserted, errors.iter().map(|e| e.0).collect::<Vec<_>>()),
            (2, vec![0, 2, 3])
        );
        assert!(matches!(
            [&errors[0].1, &errors[1].1, &errors[2].1],
            [
                Error::Invalid { .. },
                Error::DuplicateKey { .. },
                Error::Invalid { .. }
            ]
        ));
        t.commands.clear();
        let bulk = odm
            .bulk()
            .add(odm.collection().insert(shop("p", 1)))
            .add(odm.collection().insert(shop("q", 9)));
        let error = bulk
            .add(odm.collection().insert(shop("r", 1)))
            .add(odm.collection().insert(shop("s", 9)))
            .await
            .unwrap_err();
        let Error::Bulk { errors, done } = &error else {
            panic!("{error:?}")
        };
        assert!(
            matches!(
                &errors[..],
                [(1, Error::Invalid { .. }), (3, Error::Invalid { .. })]
            ),
            "{error}"
        );
        assert_eq!(**done, BulkDone::default());
        assert!(shops.insert_many([shop("z", 9)]).unordered().await.is_err());
        assert!(t.commands.take().is_empty());
        assert!(shops.insert_many(Vec::<NewShop>::new()).await.unwrap().is_empty());
    });
}

/// What takes copies is whole, and checked, when those are there.
#[odm_tests::test]
fn of_many_with_copies_those_that_break_a_bound_are_named_too() {
    #[derive(Document, Clone, Debug)]
    #[document(collection = "hosts")]
    struct Host {
        id: i32,
        name: String,
    }
    #[derive(Document, Clone, Debug)]
    #[document(collection = "messages")]
    struct Message {
        id: i32,
        #[parent_ref]
        host: Ref<Host>,
        #[denormalize(from = host.name)]
        host_name: String,
        #[field(max_len = 5)]
        text: String,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Message]).unwrap();
        odm.sync().await.unwrap();
        let host = NewHost {
            id: 1,
            name: "a".into(),
        };
        let host = odm.collection::<Host>().insert(host).await.unwrap();
        let messages = odm.collection::<Message>();
        let message = |id: i32| NewMessage {
            id,
            host: host.to_ref(),
            text: if id % 3 == 2 { "much too long" } else { "short" }.into(),
        };
        let positions = |errors: &[(usize, Error)]| -> Vec<usize> {
            assert!(
                errors
                    .iter()
                    .all(|(_, error)| matches!(error, Error::Invalid { .. }))
            );
            errors.iter().map(|(at, _)| *at).collect()
        };
        let stored = async || {
            let all = messages.find_all().sort(|m| m.id.asc()).all().await.unwrap();
            all.iter().map(|message| message.id).collect::<Vec<_>>()
        };
        match messages.insert_many((0..6).map(message)).await.unwrap_err() {
            Error::InsertMany { inserted, errors, .. } => {
                assert_eq!((inserted, positions(&errors)), (0, vec![2, 5]));
            }
            other => panic!("{other}"),
        }
        let bulk = (0..6).fold(odm.bulk(), |bulk, id| bulk.add(messages.insert(message(id))));
        match bulk.await.unwrap_err() {
            Error::Bulk { errors, done } => {
                assert_eq!((positions(&errors), *done), (vec![2, 5], BulkDone::default()));
            }
            other => panic!("{other}"),
        }
        assert_eq!(stored().await, [0; 0]);
        match messages
            .insert_many((0..6).map(message))
            .unordered()
            .await
            .unwrap_err()
        {
            Error::InsertMany { inserted, errors, .. } => {
                assert_eq!((inserted, positions(&errors)), (4, vec![2, 5]));
            }
            other => panic!("{other}"),
        }
        assert_eq!(stored().await, [0, 1, 3, 4]);
        odm_tests::assert_clean(&odm).await;
    });
}

/// One that is left out may be what another one has copies of.
#[odm_tests::test]
fn of_many_that_copy_each_other_all_or_none_are_inserted() {
    #[derive(Document, Clone, Debug)]
    #[document(collection = "twigs")]
    struct Twig {
        id: i32,
        #[field(max_len = 5)]
        name: String,
        #[reference(on_delete = keep, check = false)]
        above: Option<Ref<Twig>>,
        #[denormalize(from = above.name)]
        above_name: Option<String>,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Twig]).unwrap();
        odm.sync().await.unwrap();
        let twigs = odm.collection::<Twig>();
        let twig = |id: i32, name: &str, above: Option<i32>| NewTwig {
            id,
            name: name.into(),
            above: above.map(Ref::new),
        };
        let many = |first: &str| [twig(1, first, None), twig(2, "b", Some(1)), twig(3, "c", None)];
        match twigs
            .insert_many(many("much too long"))
            .unordered()
            .await
            .unwrap_err()
        {
            Error::InsertMany {
                inserted: 0, errors, ..
            } => {
                assert!(matches!(&errors[..], [(0, Error::Invalid { .. })]), "{errors:?}");
            }
            other => panic!("{other}"),
        }
        assert_eq!(twigs.find_all().count().await.unwrap(), 0);
        let stored = twigs.insert_many(many("a")).unordered().await.unwrap();
        assert_eq!(stored[1].above_name.as_deref(), Some("a"));
        odm_tests::assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn models_that_share_a_collection_are_refused() {
    #[derive(Document, Debug)]
    #[document(collection = "shops")]
    struct Twin {
        id: i32,
    }
    with_db(async |t| {
        let error = Odm::new(t.db, models![Shop, Twin]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`Shop` and `Twin` are both stored in the collection `shops`"),
            "{error}"
        );
    });
}

#[odm_tests::test]
fn an_index_over_two_arrays_is_refused() {
    #[derive(Document, Debug)]
    #[document(collection = "things", index(fields(tags, part.words)), index(fields(part.n, -tags)))]
    struct Thing {
        id: i32,
        #[embed(max = 3)]
        tags: Vec<String>,
        part: Part,
    }
    #[derive(Embed, Debug)]
    struct Part {
        n: i32,
        #[embed(max = 3)]
        words: Vec<String>,
    }
    with_db(async |t| {
        let Err(Error::Models { problems }) = Odm::new(t.db, models![Thing]) else {
            panic!("the server would refuse its documents")
        };
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("of `Thing` is over two arrays, by `tags` and `part.words`"));
    });
}

#[odm_tests::test]
fn errors_of_an_insert_of_many_keep_the_positions_of_the_documents() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        // Encoded by several threads: what is given comes back in its order, and what is refused has its position.
        let stored = notes.insert_many((0..3000).map(note)).await.unwrap();
        assert!(stored.iter().map(|n| n.id).eq(0..3000));
        let wrong = |id: i64| NewNote {
            lines: vec![String::new(); if id % 1000 == 7 { 3 } else { 0 }],
            ..note(id)
        };
        let error = notes
            .insert_many((3000..6000).map(wrong))
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(
            (*inserted, errors.iter().map(|e| e.0).collect::<Vec<_>>()),
            (2997, vec![7, 1007, 2007])
        );
        assert_eq!(notes.find_all().count().await.unwrap(), 5997);
    });
}

//! Two-way references: whatever is written, on whichever side, both sides agree.

use super::links::*;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::update::Changes;
use odm_tests::{
    TestDb, assert_clean, changed, is_the_stand_in, require_transactions, with_db, with_transactions,
};
use std::collections::HashSet;

/// Runs a test with transactions, and without.
fn both_ways<Fut: Future<Output = ()>>(test: impl Fn(TestDb, Odm) -> Fut) {
    with_db(async |t| {
        let odm = odm(&t).await;
        test(t, odm).await;
    });
    with_db(async |t| {
        let odm = t.standalone_of(&odm(&t).await).await;
        test(t, odm).await;
    });
}

async fn tasks_of(odm: &Odm, person: i32) -> Vec<i32> {
    let person = odm.collection::<Person>().get(person).await.unwrap().unwrap();
    person.tasks.iter().map(|task| *task.key()).collect()
}

async fn owner_of(odm: &Odm, task: i32) -> i32 {
    *odm.collection::<Task>()
        .get(task)
        .await
        .unwrap()
        .unwrap()
        .owner
        .key()
}

async fn members_of(odm: &Odm, team: &str) -> Vec<i64> {
    let team = odm
        .collection::<Team>()
        .get(team.to_owned())
        .await
        .unwrap()
        .unwrap();
    team.members.iter().map(|member| *member.key()).collect()
}

async fn team_of(odm: &Odm, member: i64) -> Option<String> {
    let member = odm.collection::<Member>().get(member).await.unwrap().unwrap();
    member.team.map(Ref::into_key)
}

async fn books_of(odm: &Odm, author: i32) -> Vec<i32> {
    let author = odm.collection::<Author>().get(author).await.unwrap().unwrap();
    author.books.iter().map(|book| *book.key()).collect()
}

async fn authors_of(odm: &Odm, book: i32) -> Vec<i32> {
    let book = odm.collection::<Book>().get(book).await.unwrap().unwrap();
    book.authors.iter().map(|author| *author.key()).collect()
}

#[odm_tests::test]
fn a_task_and_its_owner_agree() {
    both_ways(async |_, odm| {
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        let kate = people.insert(person(1)).await.unwrap();
        let rod = people.insert(person(2)).await.unwrap();
        let plan = tasks.insert(task(10, 1)).await.unwrap();
        assert_eq!(tasks_of(&odm, 1).await, [10]);
        agree(&odm).await;

        // Reassigned from the task's side, and from the person's.
        tasks.update(&plan).set(|t| t.owner, rod.to_ref()).await.unwrap();
        assert_eq!(
            (tasks_of(&odm, 1).await, tasks_of(&odm, 2).await),
            (vec![], vec![10])
        );
        agree(&odm).await;
        people.update(1).push(|p| p.tasks, plan.to_ref()).await.unwrap();
        assert_eq!(
            (tasks_of(&odm, 1).await, tasks_of(&odm, 2).await),
            (vec![10], vec![])
        );
        assert_eq!(owner_of(&odm, 10).await, 1);
        agree(&odm).await;

        // The other side was written with its version, and without its timestamp.
        let stored = people.get(2).await.unwrap().unwrap();
        assert_eq!(
            (stored.version, stored.updated_at),
            (rod.version + 2, rod.updated_at)
        );
        let stored = tasks.get(10).await.unwrap().unwrap();
        assert_eq!(stored.version, 3, "one update of its own, and the push");
        let stored = people.get(1).await.unwrap().unwrap();
        assert_eq!(stored.version, kate.version + 3, "a link, its end, and the push");

        // A task must have an owner.
        let error = people
            .update(1)
            .pull(|p| p.tasks, plan.to_ref())
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`owner` of the document with _id 10 must refer"),
            "{error}"
        );
        assert_eq!(tasks_of(&odm, 1).await, [10]);
        agree(&odm).await;

        // And one that exists.
        let error = tasks.insert(task(11, 404)).await.unwrap_err();
        let Error::MissingReference {
            collection,
            field,
            target,
            ids,
            ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (collection, field.as_str(), target, ids.as_slice()),
            ("tasks", "owner", "people", &[404.into()][..])
        );
        assert!(tasks.get(11).await.unwrap().is_none());
        let error = tasks
            .update(10)
            .set(|t| t.owner, Ref::new(404))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        let error = people
            .update(1)
            .push_all(|p| p.tasks, refs(&[404, 405]))
            .await
            .unwrap_err();
        let Error::MissingReference {
            field, target, ids, ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!((field.as_str(), target, ids.len()), ("tasks", "tasks", 2));
        agree(&odm).await;
        assert_eq!(tasks_of(&odm, 1).await, [10]);
        assert_eq!(owner_of(&odm, 10).await, 1);
    });
}

#[odm_tests::test]
fn many_documents_are_linked_at_once_in_their_order() {
    both_ways(async |_, odm| {
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        people.insert_many((1..=3).map(person)).await.unwrap();
        tasks
            .insert_many((10..40).map(|id| task(id, 1 + id % 3)))
            .await
            .unwrap();
        assert_eq!(
            tasks_of(&odm, 2).await,
            (10..40).filter(|id| id % 3 == 1).collect::<Vec<_>>()
        );
        agree(&odm).await;

        // By a condition, from the side of the single references.
        let done = tasks
            .update_where(|t| t.id.lt(20))
            .set(|t| t.owner, Ref::new(3))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (10, 10));
        agree(&odm).await;
        assert_eq!(tasks_of(&odm, 3).await.len(), 17);

        // A person with tasks takes them from the others.
        let mut new = person(4);
        new.tasks = refs(&[39, 10, 25]);
        people.insert(new).await.unwrap();
        assert_eq!((owner_of(&odm, 39).await, owner_of(&odm, 10).await), (4, 4));
        agree(&odm).await;

        // One task can't be two people's.
        let error = people
            .update_where(|p| p.id.lt(3))
            .push(|p| p.tasks, Ref::new(39))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("can refer to one document only, but this write links it with two"),
            "{error}"
        );
        let mut new = [person(5), person(6)];
        new.iter_mut().for_each(|person| person.tasks = refs(&[39]));
        assert!(people.insert_many(new).await.is_err());
        assert_eq!(people.find_all().count().await.unwrap(), 4);
        agree(&odm).await;

        // An array that is the same set again changes nothing on the other side.
        let before = named(&odm, "tasks", "owner").await;
        people
            .update(4)
            .set(|p| p.tasks, refs(&[25, 39, 10]))
            .await
            .unwrap();
        assert_eq!(named(&odm, "tasks", "owner").await, before);
        agree(&odm).await;

        // Twice the same is no set.
        let error = people
            .update(4)
            .set(|p| p.tasks, refs(&[25, 39, 10, 25]))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        // Pushed again, it is there once.
        people
            .update(4)
            .push_all(|p| p.tasks, refs(&[25, 11, 11]))
            .await
            .unwrap();
        assert_eq!(tasks_of(&odm, 4).await, [25, 39, 10, 11]);
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn every_change_of_an_array_reaches_the_other_side() {
    both_ways(async |_, odm| {
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        authors
            .insert_many((1..=5).map(|id| author(id, &[])))
            .await
            .unwrap();
        books.insert(book(10, &[1, 2])).await.unwrap();
        books.insert(book(11, &[1])).await.unwrap();
        books.insert(book(12, &[])).await.unwrap();
        assert_eq!(books_of(&odm, 1).await, [10, 11]);
        agree(&odm).await;
        for side in 0..14 {
            let changes = |c: Changes<Book>| match side {
                0 => c.push(|b| b.authors, Ref::new(3)),
                1 => c.add_to_set(|b| b.authors, Ref::new(3)),
                2 => c.pull(|b| b.authors, Ref::new(2)),
                3 => c.pop(|b| b.authors),
                4 => c.push_all(|b| b.authors, refs(&[2, 3])),
                5 => c.pop_first(|b| b.authors),
                6 => c.replace_item(|b| b.authors, Ref::new(3), Ref::new(4)),
                7 => c.pull_all(|b| b.authors, refs(&[4, 5])),
                8 => c.set(|b| b.authors, refs(&[5, 4, 1])),
                9 => c.replace_item(|b| b.authors, Ref::new(404), Ref::new(2)),
                10 => c.set(|b| b.title, "x").pull(|b| b.authors, Ref::new(404)),
                11 => c.set(|b| b.authors, vec![]),
                12 => c.pop(|b| b.authors),
                _ => c.add_to_set(|b| b.authors, Ref::new(1)),
            };
            odm.bulk().add(changed(books.update(10), changes)).await.unwrap();
            agree(&odm).await;
        }
        assert_eq!(authors_of(&odm, 10).await, [1]);
        authors
            .update(3)
            .push_all(|a| a.books, refs(&[10, 11, 12]))
            .await
            .unwrap();
        assert_eq!(authors_of(&odm, 12).await, [3]);
        agree(&odm).await;
        // A replacement.
        let ten = books.get(10).await.unwrap().unwrap();
        books
            .replace(Book {
                authors: refs(&[2, 3, 4]),
                ..ten
            })
            .await
            .unwrap();
        agree(&odm).await;
        assert_eq!(books_of(&odm, 4).await, [10]);
        let four = authors.get(4).await.unwrap().unwrap();
        authors
            .replace(Author {
                books: vec![],
                ..four
            })
            .await
            .unwrap();
        assert_eq!(authors_of(&odm, 10).await, [2, 3]);
        agree(&odm).await;
        // Those that give the document.
        let book = books
            .update(10)
            .set(|b| b.authors, refs(&[5]))
            .returning()
            .await
            .unwrap();
        assert_eq!(book.authors, refs(&[5]));
        agree(&odm).await;
        let book = books
            .update(10)
            .push(|b| b.authors, Ref::new(1))
            .returning_before()
            .await
            .unwrap();
        assert_eq!(book.authors, refs(&[5]));
        assert_eq!(books_of(&odm, 5).await, [10]);
        agree(&odm).await;
        // An upsert, which inserts and then changes.
        for _ in 0..2 {
            books
                .update(13)
                .set(|b| b.title, "upserted")
                .add_to_set(|b| b.authors, Ref::new(2))
                .upsert()
                .await
                .unwrap();
            assert_eq!(authors_of(&odm, 13).await, [2]);
            agree(&odm).await;
        }
        books
            .update(14)
            .set(|b| b.title, "t")
            .set_on_insert(|b| b.authors, refs(&[4, 5]))
            .upsert()
            .await
            .unwrap();
        assert_eq!(books_of(&odm, 4).await, [14]);
        agree(&odm).await;
        books
            .update(14)
            .set(|b| b.title, "t")
            .set_on_insert(|b| b.authors, refs(&[1]))
            .upsert()
            .await
            .unwrap();
        assert_eq!(authors_of(&odm, 14).await, [4, 5]);
        agree(&odm).await;
        // Many documents at once.
        let done = books
            .update_where(|b| b.id.gte(11))
            .pull(|b| b.authors, Ref::new(3))
            .await
            .unwrap();
        // Two of them have the reference.
        assert_eq!((done.matched, done.modified), (4, 2));
        assert_eq!(books_of(&odm, 3).await, Vec::<i32>::new());
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn a_change_whose_outcome_the_server_knows_is_read_after_it() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        authors
            .insert_many((1..=3).map(|id| author(id, &[])))
            .await
            .unwrap();
        books.insert(book(10, &[2, 1])).await.unwrap();
        let sorted = doc! { "$push": { "authors": { "$each": [3], "$sort": 1, "$slice": 2 } } };
        books.update(10).raw(sorted).await.unwrap();
        assert_eq!(authors_of(&odm, 10).await, [1, 2]);
        agree(&odm).await;
        books
            .update(10)
            .raw(doc! { "$pull": { "authors": { "$gte": 2 } } })
            .await
            .unwrap();
        assert_eq!(authors_of(&odm, 10).await, [1]);
        agree(&odm).await;
        // What makes it no set is refused.
        let twice = doc! { "$push": { "authors": { "$each": [1, 2], "$position": 0 } } };
        let error = books.update(10).raw(twice.clone()).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        assert_eq!(authors_of(&odm, 10).await, [1]);
        // An upsert by a condition, which inserts.
        let done = books
            .update_where(|b| b.id.eq(20) & b.title.eq("made"))
            .set(|b| b.authors, refs(&[1, 3]))
            .upsert()
            .await
            .unwrap();
        assert_eq!(done.upserted, Some(20.into()));
        assert_eq!(books_of(&odm, 3).await, [20]);
        agree(&odm).await;
        let error = books.update(10).raw(twice).await.map(drop);
        assert!(error.is_err());
        // On a standalone server, too, what can't be told before is read after the write.
        let alone = t.standalone_of(&odm).await;
        let raw = doc! { "$pull": { "authors": { "$gte": 1 } } };
        alone.collection::<Book>().update(10).raw(raw).await.unwrap();
        assert!(authors_of(&odm, 10).await.is_empty());
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn a_full_array_on_the_other_side_holds_the_write_back() {
    both_ways(async |_, odm| {
        let (teams, members) = (odm.collection::<Team>(), odm.collection::<Member>());
        teams.insert_many([team("a", &[]), team("b", &[])]).await.unwrap();
        members
            .insert_many((1..=3).map(|id| member(id, Some("a"))))
            .await
            .unwrap();
        members
            .insert_many((4..=6).map(|id| member(id, None)))
            .await
            .unwrap();
        let full = |error: Error| match error {
            Error::ArrayFull {
                collection,
                id,
                field,
                max,
            } => {
                assert_eq!(
                    (collection, *id, field.as_str(), max),
                    ("teams", "a".into(), "playing", 3)
                );
            }
            other => panic!("{other}"),
        };
        full(members.insert(member(7, Some("a"))).await.unwrap_err());
        assert!(members.get(7).await.unwrap().is_none());
        let team_a = || Ref::<Team>::new("a".to_owned());
        full(
            members
                .update(4)
                .set(|m| m.note, "x")
                .set(|m| m.team, team_a())
                .await
                .unwrap_err(),
        );
        assert_eq!(members.get(4).await.unwrap().unwrap().note, "");
        full(
            members
                .update_where(|m| m.id.gt(3))
                .set(|m| m.team, team_a())
                .await
                .unwrap_err(),
        );
        full(
            odm.bulk()
                .add(odm.collection().insert(member(7, None)))
                .add(members.update(4).set(|m| m.team, team_a()))
                .await
                .map_err(|error| match error {
                    // Without transactions it is one write of several.
                    Error::Bulk { mut errors, .. } => errors.remove(0).1,
                    other => other,
                })
                .unwrap_err(),
        );
        agree(&odm).await;
        // Those that are there already need no room.
        members
            .update_where(|m| m.id.lte(3))
            .set(|m| m.team, team_a())
            .await
            .unwrap();
        // The place that one leaves is another's: in one write.
        members.update(1).unset(|m| m.team).await.unwrap();
        assert_eq!(members_of(&odm, "a").await, [2, 3]);
        members.update(4).set(|m| m.team, team_a()).await.unwrap();
        assert_eq!(members_of(&odm, "a").await, [2, 3, 4]);
        agree(&odm).await;
        // One's own array.
        let error = teams
            .update("a".to_owned())
            .push(|t| t.members, Ref::new(5))
            .await
            .unwrap_err();
        full(error);
        teams
            .update("a".to_owned())
            .push(|t| t.members, Ref::new(4))
            .await
            .unwrap();
        assert_eq!(members_of(&odm, "a").await, [2, 3, 4]);
        // Taken over, with room made by the same write.
        teams
            .update("b".to_owned())
            .set(|t| t.members, vec![Ref::new(2), Ref::new(3), Ref::new(6)])
            .await
            .unwrap();
        assert_eq!(members_of(&odm, "a").await, [4]);
        assert_eq!(team_of(&odm, 6).await.as_deref(), Some("b"));
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn a_one_to_one_link_moves_with_every_write() {
    both_ways(async |_, odm| {
        let (citizens, passports) = (odm.collection::<Citizen>(), odm.collection::<Passport>());
        citizens
            .insert_many((1..=3).map(|id| NewCitizen { id, passport: None }))
            .await
            .unwrap();
        let red = passports
            .insert(NewPassport {
                holder: Some(Ref::new(1)),
            })
            .await
            .unwrap();
        let blue = passports
            .insert(NewPassport {
                holder: Some(Ref::new(2)),
            })
            .await
            .unwrap();
        agree(&odm).await;
        // Both have one: the previous holder has none then, and the previous passport none.
        citizens
            .update(1)
            .set(|c| c.passport, blue.to_ref())
            .await
            .unwrap();
        agree(&odm).await;
        assert_eq!(passports.get(red.id).await.unwrap().unwrap().holder, None);
        assert_eq!(citizens.get(2).await.unwrap().unwrap().passport, None);
        passports
            .update(red.id)
            .set(|p| p.holder, Ref::new(1))
            .await
            .unwrap();
        agree(&odm).await;
        assert_eq!(passports.get(blue.id).await.unwrap().unwrap().holder, None);
        citizens.update(1).set(|c| c.passport, None).await.unwrap();
        agree(&odm).await;
        passports
            .update(red.id)
            .set(|p| p.holder, Ref::new(3))
            .await
            .unwrap();
        // A new one takes over at once.
        let green = passports
            .insert(NewPassport {
                holder: Some(Ref::new(3)),
            })
            .await
            .unwrap();
        assert_eq!(
            citizens.get(3).await.unwrap().unwrap().passport,
            Some(green.to_ref())
        );
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn links_within_one_collection_are_kept_in_sync() {
    both_ways(async |_, odm| {
        let nodes = odm.collection::<Node>();
        // A tree in one go, with the parents named by some and the children by others.
        let mut root = node(1);
        root.children = refs(&[2, 3]);
        let mut four = node(4);
        four.parent = Some(Ref::new(2));
        four.friends = refs(&[1, 4, 5]);
        let mut five = node(5);
        five.parent = Some(Ref::new(2));
        five.friends = refs(&[2]);
        five.partner = Some(Ref::new(4));
        nodes
            .insert_many([root, node(2), node(3), four, five])
            .await
            .unwrap();
        agree(&odm).await;
        let two = nodes.get(2).await.unwrap().unwrap();
        assert_eq!((two.parent, two.children), (Some(Ref::new(1)), refs(&[4, 5])));
        assert_eq!(nodes.get(4).await.unwrap().unwrap().friends, refs(&[1, 4, 5]));
        nodes.update(4).set(|n| n.parent, Ref::new(3)).await.unwrap();
        agree(&odm).await;
        nodes
            .update(1)
            .push_all(|n| n.children, refs(&[4, 5]))
            .await
            .unwrap();
        agree(&odm).await;
        assert_eq!(nodes.get(1).await.unwrap().unwrap().children, refs(&[2, 3, 4, 5]));
        // Its own parent, friend and partner.
        nodes
            .update(3)
            .set(|n| n.parent, Ref::new(3))
            .set(|n| n.partner, Ref::new(3))
            .await
            .unwrap();
        agree(&odm).await;
        assert_eq!(nodes.get(3).await.unwrap().unwrap().children, refs(&[3]));
        nodes.update(5).set(|n| n.partner, Ref::new(3)).await.unwrap();
        agree(&odm).await;
        assert_eq!(nodes.get(4).await.unwrap().unwrap().partner, None);
        nodes
            .update_where(|n| n.id.gte(1))
            .push(|n| n.friends, Ref::new(1))
            .await
            .unwrap();
        assert_eq!(nodes.get(1).await.unwrap().unwrap().friends.len(), 5);
        agree(&odm).await;
        nodes.update(1).set(|n| n.friends, vec![]).await.unwrap();
        agree(&odm).await;
        // All lose all, from both sides at once.
        nodes
            .update_where(|n| n.id.gte(1))
            .set(|n| n.friends, vec![])
            .unset(|n| n.parent)
            .await
            .unwrap();
        agree(&odm).await;
        assert!(nodes.get(3).await.unwrap().unwrap().children.is_empty());
        // Two that don't fit together.
        let error = nodes
            .update(1)
            .set(|n| n.parent, Ref::new(2))
            .set(|n| n.children, refs(&[1]))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("links it with two"), "{error}");
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn a_bulk_write_keeps_both_sides_in_sync() {
    both_ways(async |t, odm| {
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        authors
            .insert_many((1..=4).map(|id| author(id, &[])))
            .await
            .unwrap();
        for by_runs in [false, true] {
            let bulk = || {
                if by_runs {
                    odm.bulk().without_bulk_write_command()
                } else {
                    odm.bulk()
                }
            };
            let first = if by_runs { 20 } else { 10 };
            let done = bulk()
                .add(odm.collection().insert(book(first, &[1, 2])))
                .add(odm.collection().insert(book(first + 1, &[2])))
                .add(authors.update(3).push(|a| a.books, Ref::new(first)))
                .add(
                    odm.collection()
                        .insert(author(first, &[first, first + 1]).without_one(first)),
                )
                .add(
                    books
                        .update_where(|b| b.id.eq(first + 1))
                        .push(|b| b.authors, Ref::new(4)),
                )
                .await
                .unwrap();
            assert_eq!((done.inserted, done.matched), (3, 2));
            agree(&odm).await;
            assert_eq!(authors_of(&odm, first).await, [1, 2, 3]);
            assert_eq!(books_of(&odm, 4).await.last(), Some(&(first + 1)));
            let one = books.get(first).await.unwrap().unwrap();
            bulk()
                .add(odm.collection().replace(Book {
                    authors: refs(&[4]),
                    ..one
                }))
                .add(books.update(first + 1).pull(|b| b.authors, Ref::new(4)))
                .add(books.update(404).push(|b| b.authors, Ref::new(1)))
                .await
                .unwrap();
            agree(&odm).await;
            assert_eq!(authors_of(&odm, first).await, [4]);
        }
        // One that is refused: with transactions, nothing is left.
        let before = (
            named(&odm, "authors", "books").await,
            named(&odm, "books", "authors").await,
        );
        let error = odm
            .bulk()
            .add(books.update(10).push(|b| b.authors, Ref::new(1)))
            .add(odm.collection().insert(book(10, &[3])))
            .await
            .unwrap_err();
        let Error::Bulk { errors, done } = error else {
            panic!("{error}")
        };
        assert_eq!(errors[0].0, 1);
        agree(&odm).await;
        if done.modified == 0 {
            let after = (
                named(&odm, "authors", "books").await,
                named(&odm, "books", "authors").await,
            );
            assert_eq!(before, after);
        }
        drop(t);
    });
}

trait WithoutOne {
    fn without_one(self, id: i32) -> Self;
}

impl WithoutOne for NewAuthor {
    fn without_one(mut self, id: i32) -> Self {
        self.books.retain(|book| *book.key() != id);
        self
    }
}

#[odm_tests::test]
fn links_are_written_in_the_callers_transaction() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        people.insert_many((1..=2).map(person)).await.unwrap();
        odm.transaction(async |tx| {
            tx.collection::<Task>().insert(task(10, 1)).await?;
            tx.collection::<Task>()
                .update(10)
                .set(|t| t.owner, Ref::new(2))
                .await?;
            tx.collection::<Person>().insert(person(3)).await?;
            tx.bulk()
                .add(
                    tx.collection::<Person>()
                        .update(3)
                        .push(|p| p.tasks, Ref::new(10)),
                )
                .await?;
            assert_eq!(
                tx.collection::<Person>().get(3).await?.map(|p| p.tasks.len()),
                Some(1)
            );
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(owner_of(&odm, 10).await, 3);
        agree(&odm).await;

        // Rolled back by the caller: neither side.
        let error = odm
            .transaction(async |tx| {
                tx.collection::<Task>()
                    .update(10)
                    .set(|t| t.owner, Ref::new(1))
                    .await?;
                Err::<(), _>(Error::application("no"))
            })
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Application(_)), "{error}");
        assert_eq!(owner_of(&odm, 10).await, 3);
        agree(&odm).await;

        // An error that the caller ignores does not leave one side.
        let error = odm
            .transaction(async |tx| {
                let ignored = tx.collection::<Task>().insert(task(11, 404)).await;
                assert!(matches!(ignored, Err(Error::MissingReference { .. })));
                Ok(())
            })
            .await
            .unwrap_err();
        assert!(error.to_string().contains("was rolled back"), "{error}");
        assert!(tasks.get(11).await.unwrap().is_none());
        agree(&odm).await;
        assert_eq!(people.find_all().count().await.unwrap(), 3);
    });
}

#[odm_tests::test]
fn the_number_of_commands_does_not_grow_with_the_documents() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        // On a cluster, without a declared shard key, a document is changed by one command and read by another.
        odm_tests::require_no_cluster(&odm).await;
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        let sent = || t.commands.take();
        people.insert_many((0..20).map(person)).await.unwrap();
        assert_eq!(sent(), ["insert"], "no task is named");
        tasks.insert(task(1, 1)).await.unwrap();
        assert_eq!(sent(), ["insert", "update", "commitTransaction"]);
        tasks
            .insert_many((2..400).map(|id| task(id, id % 20)))
            .await
            .unwrap();
        assert_eq!(sent(), ["insert", "update", "commitTransaction"]);
        tasks.update(1).set(|t| t.description, "x").await.unwrap();
        assert_eq!(sent(), ["update"], "no reference is touched");
        tasks.update(1).set(|t| t.owner, Ref::new(2)).await.unwrap();
        let reassigned = ["findAndModify", "update", "commitTransaction"];
        assert_eq!(sent(), reassigned, "both lists are one command");
        tasks
            .update_where(|t| t.id.lt(300))
            .set(|t| t.owner, Ref::new(3))
            .await
            .unwrap();
        let reassigned = ["find", "update", "update", "commitTransaction"];
        assert_eq!(sent(), reassigned, "so they are for many");
        people.update(4).push(|p| p.tasks, Ref::new(1)).await.unwrap();
        let taken = ["findAndModify", "find", "update", "update", "commitTransaction"];
        assert_eq!(
            sent(),
            taken,
            "the previous owner, the new one, and the previous list"
        );
        people
            .update(5)
            .push_all(|p| p.tasks, refs(&(2..300).collect::<Vec<_>>()))
            .await
            .unwrap();
        assert_eq!(sent(), taken);
        people.update(5).push(|p| p.tasks, Ref::new(2)).await.unwrap();
        assert_eq!(sent(), ["findAndModify", "commitTransaction"], "it was there");
        let five = people.get(5).await.unwrap().unwrap();
        sent();
        people.replace(five).await.unwrap();
        assert_eq!(sent(), ["findAndModify", "commitTransaction"]);
        tasks
            .update(1)
            .set(|t| t.owner, Ref::new(5))
            .returning()
            .await
            .unwrap();
        assert_eq!(sent(), ["find", "findAndModify", "update", "commitTransaction"]);
        agree(&odm).await;
        sent();

        // On a standalone server: what the lists have room for is asked before the write, and the other side is written after it.
        let odm = t.standalone_of(&odm).await;
        odm.check_models().await.unwrap();
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        sent();
        tasks.insert(task(1000, 1)).await.unwrap();
        assert_eq!(sent(), ["find", "insert", "update"]);
        tasks.update(1000).set(|t| t.owner, Ref::new(2)).await.unwrap();
        assert_eq!(sent(), ["find", "find", "update", "update"]);
        people.update(1).push(|p| p.tasks, Ref::new(1000)).await.unwrap();
        assert_eq!(sent(), ["find", "find", "update", "find", "update", "update"]);
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn spans_count_the_commands_for_the_other_side() {
    use std::sync::{Arc, Mutex};
    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        odm.collection::<Person>()
            .insert_many((1..=2).map(person))
            .await
            .unwrap();
        let captured = Captured::default();
        let writer = captured.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        odm.collection::<Task>().insert(task(1, 1)).await.unwrap();
        let log = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        let sent: HashSet<&str> = log
            .lines()
            .filter(|line| line.contains("operation=\"insert\""))
            .collect();
        assert!(sent.iter().any(|line| line.contains("round_trips=3")), "{log}");
    });
}

#[odm_tests::test]
fn a_refused_insert_leaves_nothing_of_several() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let books = odm.collection::<Book>();
        odm.collection::<Author>()
            .insert_many((1..=6).map(|id| author(id, &[])))
            .await
            .unwrap();
        books.insert(book(1, &[1])).await.unwrap();
        let error = books
            .insert_many([book(2, &[2]), book(1, &[3]), book(3, &[3])])
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(
            (inserted, errors.len(), errors[0].0),
            (0, 1, 1),
            "one transaction"
        );
        assert_eq!(books.find_all().count().await.unwrap(), 1);
        agree(&odm).await;
        // One that breaks a bound is not sent, and the others are inserted.
        let error = books
            .insert_many([book(2, &[1, 2, 3, 4]), book(3, &[3])])
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((inserted, errors.len(), errors[0].0), (1, 1, 0));
        assert_eq!(books_of(&odm, 3).await, [3]);
        agree(&odm).await;
        // On a standalone server, each for itself.
        let odm = t.standalone_of(&odm).await;
        let books = odm.collection::<Book>();
        let error = books
            .insert_many([book(4, &[4]), book(1, &[3]), book(5, &[5])])
            .unordered()
            .await
            .unwrap_err();
        let Error::InsertMany { inserted, errors, .. } = error else {
            panic!("{error}")
        };
        assert_eq!((inserted, errors.len(), errors[0].0), (2, 1, 1));
        assert_eq!(
            (books_of(&odm, 3).await, books_of(&odm, 5).await),
            (vec![3], vec![5])
        );
        agree(&odm).await;
        let error = books
            .insert_many([book(6, &[6]), book(1, &[3]), book(7, &[5])])
            .await
            .unwrap_err();
        assert!(matches!(error, Error::InsertMany { inserted: 1, .. }), "{error}");
        assert_eq!(
            (books_of(&odm, 6).await, books_of(&odm, 5).await),
            (vec![6], vec![5])
        );
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn an_error_names_the_bound_that_prevented_an_upsert() {
    both_ways(async |_, odm| {
        let (teams, members) = (odm.collection::<Team>(), odm.collection::<Member>());
        members
            .insert_many((1..=5).map(|id| member(id, None)))
            .await
            .unwrap();
        for id in 1..=3 {
            teams
                .update("a".to_owned())
                .push(|t| t.members, Ref::new(id))
                .upsert()
                .await
                .unwrap();
            agree(&odm).await;
        }
        let error = teams
            .update("a".to_owned())
            .push(|t| t.members, Ref::new(4))
            .upsert()
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::ArrayFull { field, max: 3, .. } if field == "playing"),
            "{error}"
        );
        let error = teams
            .update("a".to_owned())
            .push(|t| t.members, Ref::new(4))
            .upsert()
            .returning()
            .await
            .unwrap_err();
        assert!(matches!(&error, Error::ArrayFull { .. }), "{error}");
        assert_eq!(members_of(&odm, "a").await, [1, 2, 3]);
        agree(&odm).await;
    });
}

#[odm_tests::test]
fn an_array_that_is_null_takes_references() {
    both_ways(async |_, odm| {
        let (bands, players) = (odm.collection::<Band>(), odm.collection::<Player>());
        bands.insert(NewBand { id: 1, players: None }).await.unwrap();
        players
            .insert_many([1, 2].map(|id| NewPlayer {
                id,
                band: Some(Ref::new(1)),
            }))
            .await
            .unwrap();
        assert_eq!(bands.get(1).await.unwrap().unwrap().players, Some(refs(&[1, 2])));
        agree(&odm).await;
        bands.update(1).unset(|b| b.players).await.unwrap();
        assert_eq!(players.get(2).await.unwrap().unwrap().band, None);
        agree(&odm).await;
    });
}

/// A generator of numbers that is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn id(&mut self, most: i32) -> i32 {
        1 + i32::try_from(self.roll(u64::try_from(most).unwrap())).unwrap()
    }
}

/// A delete; in a transaction where the server is the stand-in (`in_transaction`): there a delete of its own that meets an open
/// transaction's write stops it for ever, while a `mongod` lets it wait.
async fn deleted<T: Document + odm::write::Deletable>(
    odm: &Odm,
    in_transaction: bool,
    id: impl odm::write::WriteTarget<T> + Clone + Send + Sync,
) -> odm::Result<()> {
    if !in_transaction {
        return odm.collection::<T>().delete(id).await.map(drop);
    }
    odm.transaction(|tx| {
        let id = id.clone();
        async move { tx.collection::<T>().delete(id).await.map(drop) }
    })
    .await
}

/// One random write.
async fn anything(odm: &Odm, in_transaction: bool, dice: &mut Dice) -> odm::Result<()> {
    let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
    let (teams, members) = (odm.collection::<Team>(), odm.collection::<Member>());
    let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
    let nodes = odm.collection::<Node>();
    let (a, b, c) = (dice.id(6), dice.id(6), dice.id(20));
    let to_team = |n: i32| Ref::<Team>::new(format!("team {n}"));
    let op = dice.roll(27);
    match op {
        0 => people.insert(person(a)).await.map(drop),
        1 => tasks.insert(task(c, a)).await.map(drop),
        2 => tasks.update(c).set(|t| t.owner, Ref::new(a)).await.map(drop),
        3 => people.update(a).push(|p| p.tasks, Ref::new(c)).await.map(drop),
        4 => people
            .update(a)
            .push_all(|p| p.tasks, refs(&[c, c % 20 + 1]))
            .returning()
            .await
            .map(drop),
        5 => people.update(a).pull(|p| p.tasks, Ref::new(c)).await.map(drop),
        6 => tasks
            .update_where(|t| t.owner.eq(Ref::new(a)))
            .set(|t| t.owner, Ref::new(b))
            .await
            .map(drop),
        7 => deleted::<Task>(odm, in_transaction, c).await,
        8 => deleted::<Person>(odm, in_transaction, a).await,
        9 => members
            .insert(member(c.into(), Some(&format!("team {a}"))))
            .await
            .map(drop),
        10 => members
            .update(i64::from(c))
            .set(|m| m.team, to_team(a))
            .await
            .map(drop),
        11 => members.update(i64::from(c)).unset(|m| m.team).await.map(drop),
        12 => teams
            .update(format!("team {a}"))
            .push(|t| t.members, Ref::new(c.into()))
            .await
            .map(drop),
        13 => teams
            .update(format!("team {a}"))
            .pop_first(|t| t.members)
            .await
            .map(drop),
        14 => deleted::<Team>(odm, in_transaction, format!("team {a}")).await,
        15 => teams
            .insert(team(&format!("team {a}"), &[c.into()]))
            .await
            .map(drop),
        16 => deleted::<Member>(odm, in_transaction, i64::from(c)).await,
        17 => books.insert(book(c, &[a, b])).await.map(drop),
        18 => authors.insert(author(a, &[])).await.map(drop),
        19 => books
            .update(c)
            .add_to_set(|x| x.authors, Ref::new(a))
            .await
            .map(drop),
        20 => authors.update(a).set(|x| x.books, refs(&[c])).await.map(drop),
        21 => books.update(c).pull(|x| x.authors, Ref::new(a)).await.map(drop),
        22 => match dice.roll(2) {
            0 => deleted::<Book>(odm, in_transaction, c).await,
            _ => deleted::<Author>(odm, in_transaction, a).await,
        },
        23 => nodes
            .update(a)
            .set(|n| n.partner, Ref::new(b))
            .push(|n| n.friends, Ref::new(b))
            .await
            .map(drop),
        24 => nodes
            .update(a)
            .set(|n| n.parent, Ref::new(b))
            .pull(|n| n.friends, Ref::new(b))
            .await
            .map(drop),
        25 => tasks
            .update(c)
            .set(|t| t.description, format!("for {a}"))
            .await
            .map(drop),
        _ => {
            odm.transaction(async |tx| {
                let books = tx.collection::<Book>();
                books.update(c).push(|x| x.authors, Ref::new(a)).await?;
                tx.collection::<Task>()
                    .update(c)
                    .set(|t| t.owner, Ref::new(b))
                    .await?;
                Ok(())
            })
            .await
        }
    }
}

/// 16 tasks for thirty seconds, or for as many as `ODM_SECONDS` says.
#[odm_tests::test]
fn whatever_happens_at_once_both_sides_agree() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        let seconds = std::env::var("ODM_SECONDS")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(30);
        odm.collection::<Person>()
            .insert_many((1..=6).map(person))
            .await
            .unwrap();
        odm.collection::<Author>()
            .insert_many((1..=6).map(|id| author(id, &[])))
            .await
            .unwrap();
        odm.collection::<Node>()
            .insert_many((1..=6).map(node))
            .await
            .unwrap();
        let in_transaction = is_the_stand_in(&t.db).await;
        let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
        let workers = (1..=16_u64).map(|seed| {
            let odm = odm.clone();
            tokio::spawn(async move {
                let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                let (mut done, mut refused) = (0, 0);
                while std::time::Instant::now() < end {
                    match anything(&odm, in_transaction, &mut dice).await {
                        Ok(()) => done += 1,
                        Err(error) if is_refusal(&error) => refused += 1,
                        Err(other) => panic!("{other}"),
                    }
                }
                (done, refused)
            })
        });
        let (mut done, mut refused) = (0, 0);
        for worker in futures::future::join_all(workers).await {
            let (more, less) = worker.unwrap();
            (done, refused) = (done + more, refused + less);
        }
        println!("{done} writes, {refused} refused, in {seconds} s");
        assert!(done > 16, "{done} writes, {refused} refused");
        agree(&odm).await;
        assert_clean(&odm).await;
        for (_, owners) in named(&odm, "tasks", "owner").await {
            assert_eq!(owners.len(), 1, "every task has an owner");
        }
    });
}

/// The documents of a program from before the reference.
mod before {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "members")]
    pub struct Member {
        pub id: i64,
        pub note: String,
    }
}

/// A program that does not know the other side would delete one without it.
#[odm_tests::test]
fn an_older_program_does_not_write_one_side_alone() {
    with_db(async |t| {
        let odm = odm(&t).await;
        odm.collection::<Team>()
            .insert(Team {
                id: "a".into(),
                members: vec![],
            })
            .await
            .unwrap();
        odm.collection::<Member>()
            .insert(Member {
                id: 1,
                note: String::new(),
                team: Some(Ref::new("a".into())),
            })
            .await
            .unwrap();

        let older = Odm::new(t.db.clone(), odm::models![before::Member]).unwrap();
        let told = older.sync().await.unwrap_err();
        assert!(
            matches!(&told, Error::UnknownCopies { edges } if edges == &["members.plays_for"]),
            "{told}"
        );
        let members = older.collection::<before::Member>();
        let refused = members.delete(1).await.unwrap_err();
        assert!(matches!(refused, Error::UnknownCopies { .. }), "{refused}");
        let whole = before::Member {
            id: 1,
            note: "whole".into(),
        };
        let refused = members.replace(whole.clone()).await.unwrap_err();
        assert!(matches!(refused, Error::UnknownCopies { .. }), "{refused}");
        assert_clean(&odm).await;

        // A caller that allows it leaves the other side, which the whole program finds.
        let older = Odm::new(t.db.clone(), odm::models![before::Member])
            .unwrap()
            .allow_unknown_copies();
        older.sync().await.unwrap();
        let members = older.collection::<before::Member>();
        // A replacement keeps the field that this program does not declare, unless it is to keep nothing.
        members.replace(whole.clone()).await.unwrap();
        assert_clean(&odm).await;
        members.replace(whole).exact().await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert!(!audit.is_clean());
        odm.repair(&audit).await.unwrap();
        assert_clean(&odm).await;
    });
}

/// Of a field that is its own other side both documents lead to the same link.
#[odm_tests::test]
fn a_link_within_one_collection_is_repaired_whichever_side_is_left() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let nodes = odm.collection::<Node>();
        let raw = t.db.collection::<Raw>("nodes");
        nodes.insert_many((1..=3).map(node)).await.unwrap();
        for (lost, partners) in [(2, [Some(2), Some(1)]), (1, [None, None])] {
            nodes.update(1).set(|n| n.partner, Ref::new(2)).await.unwrap();
            nodes.update(3).set(|n| n.parent, Ref::new(1)).await.unwrap();
            let unset = doc! { "$unset": { "partner": "" } };
            raw.update_one(doc! { "_id": lost }, unset).await.unwrap();
            let pull = doc! { "$pull": { "children": 3 } };
            raw.update_one(doc! { "_id": 1 }, pull).await.unwrap();
            odm.repair_all().await.unwrap();
            assert_clean(&odm).await;
            let all = nodes.find_all().sort(|n| n.id.asc()).all().await.unwrap();
            let found = all.iter().map(|node| node.partner.map(Ref::into_key));
            // The lesser id is believed.
            assert!(found.take(2).eq(partners), "{lost}: {all:?}");
            assert_eq!(all[0].children, [Ref::new(3)], "{lost}");
        }
    });
}

/// Documents are found by their links with each other, which the deletion of one takes off the next.
#[odm_tests::test]
fn a_condition_on_links_is_asked_before_they_go() {
    both_ways(|_, odm| async move {
        let nodes = odm.collection::<Node>();
        // A chain, and a star.
        for parents in [
            [None, Some(1), Some(2), Some(3), Some(4)],
            [None, Some(1), Some(1), Some(1), Some(1)],
        ] {
            for (at, parent) in parents.into_iter().enumerate() {
                let new = NewNode {
                    parent: parent.map(Ref::new),
                    ..node(at as i32 + 1)
                };
                nodes.insert(new).await.unwrap();
            }
            let parents_of_these = [1, 2, 3].map(Ref::<Node>::new);
            let done = nodes
                .delete_where(|n| n.parent.in_(parents_of_these) | n.id.eq(1))
                .await
                .unwrap();
            let left = nodes.find_all().all().await.unwrap();
            assert_eq!(done.deleted as usize + left.len(), 5);
            match parents[2] {
                Some(2) => assert_eq!((left.len(), left[0].id, left[0].parent), (1, 5, None)),
                _ => assert!(left.is_empty(), "{left:?}"),
            }
            nodes.delete_where(|n| n.id.gt(0)).await.unwrap();
            assert_clean(&odm).await;
        }
    });
}

/// Nothing can be pushed onto `null`, which an optional list may be; and a list with `null` in it is one.
#[odm_tests::test]
fn a_list_that_is_null_gets_its_references_back() {
    both_ways(async |t, odm| {
        let (bands, players) = (odm.collection::<Band>(), odm.collection::<Player>());
        let band = |id| Band { id, players: None };
        bands.insert_many([band(1), band(2)]).await.unwrap();
        let player = |id| Player { id, band: None };
        players.insert_many((1..=4).map(player)).await.unwrap();
        let raw_bands = bands.driver::<Raw>();
        let join = doc! { "$set": { "band": 1 } };
        let of_band = doc! { "_id": { "$in": [1, 2] } };
        players.driver::<Raw>().update_many(of_band, join).await.unwrap();
        let null = doc! { "$set": { "players": null } };
        raw_bands.update_one(doc! { "_id": 1 }, null).await.unwrap();
        odm.repair_all().await.unwrap();
        let listed = async |id| {
            let band = raw_bands.find_one(doc! { "_id": id }).await.unwrap().unwrap();
            band.get_array("players").unwrap().clone()
        };
        assert_eq!(listed(1).await, [Bson::Int32(1), Bson::Int32(2)]);
        assert_clean(&odm).await;
        let with_null = doc! { "$set": { "players": [3, null] } };
        let without_validator = doc! { "collMod": "bands", "validator": {} };
        t.db.run_command(without_validator).await.unwrap();
        raw_bands.update_one(doc! { "_id": 2 }, with_null).await.unwrap();
        players.update(4).set(|p| p.band, Ref::new(2)).await.unwrap();
        assert_eq!(listed(2).await, [Bson::Int32(3), Bson::Null, Bson::Int32(4)]);
    });
}

/// A new document refers to what the condition of an upsert demands.
#[odm_tests::test]
fn an_upsert_is_linked_with_the_documents_of_its_condition() {
    both_ways(async |_, odm| {
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        people.insert(person(1)).await.unwrap();
        tasks.insert(task(5, 1)).await.unwrap();
        tasks
            .update_where(|t| t.id.eq(6) & t.owner.eq(Ref::new(1)))
            .set(|t| t.description, "new")
            .upsert()
            .await
            .unwrap();
        assert_eq!(tasks_of(&odm, 1).await, [5, 6]);
        let of_nobody = tasks
            .update_where(|t| t.id.eq(7) & t.owner.eq(Ref::new(404)))
            .set(|t| t.description, "new")
            .upsert();
        let refused = of_nobody.await.unwrap_err();
        assert!(matches!(refused, Error::MissingReference { .. }), "{refused}");
        assert_eq!(tasks.get(7).await.unwrap(), None);
        people
            .update_where(|p| p.id.eq(2) & p.tasks.eq(vec![Ref::new(5)]))
            .set(|p| p.name, "two")
            .upsert()
            .await
            .unwrap();
        assert_eq!(owner_of(&odm, 5).await, 2);
        assert_eq!(tasks_of(&odm, 1).await, [6]);
        agree(&odm).await;
    });
}

/// One that finds nothing is no error in a bulk, and writes nothing: neither does its other side.
#[odm_tests::test]
fn a_write_of_a_bulk_that_matches_nothing_links_nothing() {
    both_ways(async |t, odm| {
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        authors
            .insert_many((1..=4).map(|id| author(id, &[])))
            .await
            .unwrap();
        books.insert(book(1, &[1, 2, 3])).await.unwrap();
        books.insert(book(2, &[])).await.unwrap();
        let (people, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
        people.insert_many([person(1), person(2)]).await.unwrap();
        let stale = tasks.insert(task(10, 1)).await.unwrap();
        tasks.update(10).set(|t| t.description, "newer").await.unwrap();
        for by_runs in [false, true] {
            let bulk = || {
                if by_runs {
                    odm.bulk().without_bulk_write_command()
                } else {
                    odm.bulk()
                }
            };
            for misses in [
                bulk().add(books.update(1).push(|b| b.authors, Ref::new(4))),
                bulk().add(tasks.update(&stale).set(|t| t.owner, Ref::new(2))),
                bulk().add(odm.collection().replace(Task {
                    id: 77,
                    owner: Ref::new(2),
                    ..stale.clone()
                })),
            ] {
                let done = misses.await.unwrap();
                assert_eq!((done.matched, done.missed), (0, 1));
                agree(&odm).await;
            }
            assert_eq!(tasks_of(&odm, 2).await, [0; 0]);
            assert_eq!(books_of(&odm, 4).await, [0; 0]);
        }
        // And so does one that is refused.
        let validator = doc! { "collMod": "books", "validator": { "title": { "$ne": "refused" } } };
        t.db.run_command(validator).await.unwrap();
        let refused = odm.bulk().add(
            books
                .update(2)
                .set(|b| b.title, "refused")
                .push(|b| b.authors, Ref::new(4)),
        );
        let error = refused.await.unwrap_err();
        assert!(matches!(error, Error::Bulk { .. }), "{error}");
        let left = books.get(2).await.unwrap().unwrap();
        assert_eq!((left.title.as_str(), left.authors.len()), ("book 2", 0));
        agree(&odm).await;
    });
}

/// Whether the document can be read is seen when all is written.
#[odm_tests::test]
fn an_update_is_executed_though_its_result_cannot_be_decoded() {
    both_ways(async |t, odm| {
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        authors.insert(author(1, &[])).await.unwrap();
        authors.insert(author(2, &[])).await.unwrap();
        books.insert(book(10, &[])).await.unwrap();
        t.db.run_command(doc! { "collMod": "books", "validationLevel": "off" })
            .await
            .unwrap();
        let raw = books.driver::<Raw>();
        let title = async |title: Bson| {
            let set = doc! { "$set": { "title": title } };
            raw.update_one(doc! { "_id": 10 }, set).await.unwrap();
        };
        title(7.into()).await;
        let told = books
            .update(10)
            .push(|b| b.authors, Ref::new(1))
            .returning()
            .await;
        assert!(
            matches!(&told, Err(Error::Decode { path, .. }) if path == "title"),
            "{told:?}"
        );
        assert_eq!(books_of(&odm, 1).await, [10]);
        let before = books
            .update(10)
            .push(|b| b.authors, Ref::new(2))
            .returning_before()
            .await;
        assert!(matches!(before, Err(Error::Decode { .. })), "{before:?}");
        assert_eq!(books_of(&odm, 2).await, [10]);
        title("seven".into()).await;
        assert_eq!(authors_of(&odm, 10).await, [1, 2]);
        agree(&odm).await;
    });
}

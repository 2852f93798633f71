//! Two processes that write two-way references on a standalone server, where a link is two statements: one of them is stopped
//! before each of its commands, the other does all of its work meanwhile, and the first goes on, or dies. What that leaves on one
//! side an audit finds, and a repair makes both sides agree.

use super::links::*;
use super::stopped::Process;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean_after, with_db};

/// The first write, and the writes of other processes meanwhile.
const MEETINGS: [(&[&str], &[&str]); 3] = [
    (
        &[
            "book 1 is by 2",
            "book 1 has no author",
            "book 1 is also by 2",
            "book 1 is not by 1",
            "book 1 is by 2, and given",
            "book 1 is by 2, or new",
            "book 4 is by 2, or new",
            "book 1 is replaced, by 2",
            "books of the title are by 2",
            "some of it in a bulk",
            "author 2 has no book",
            "author 1 has no book",
        ],
        &[
            "book 1 is by 2 and 3",
            "book 1 has no author",
            "book 1 is not by 2",
            "author 2 has book 1",
            "author 1 has no book",
            "book 3 gets the title",
            "book 4 is new, by 1",
            "an author",
        ],
    ),
    (
        &[
            "member 1 is in b",
            "member 1 is in no team",
            "the members are in b",
            "team a is 1",
            "team b has no leader",
            "team b is 1 and 3",
        ],
        &[
            "member 1 is in b",
            "member 1 is in no team",
            "team b is 1 and 3",
            "team a is 1",
            "a member",
        ],
    ),
    (
        &[
            "node 3 is below 2",
            "node 1 has 2 alone",
            "node 3 is on top",
            "node 1 has friends",
            "node 1 is with 2",
            "node 1 is alone",
        ],
        &[
            "node 2 has 3",
            "node 1 has other friends",
            "node 1 has no friends",
            "node 3 is with 1",
        ],
    ),
];

/// Another process executes a write of two-way references between any two commands of a write.
#[odm_tests::test]
fn writes_of_links_meet() {
    with_db(async |t| {
        odm(&t).await;
        let mut meeting = Meeting::new(&t).await;
        let (mut meetings, mut repaired) = (0, 0);
        let pairs = MEETINGS.into_iter().flat_map(|(firsts, others)| {
            let with_each = |first| others.iter().map(move |other| (first, other));
            firsts.iter().flat_map(with_each)
        });
        // All of them take minutes.
        let step = if std::env::var("ODM_MEETINGS").is_ok_and(|meetings| meetings == "all") {
            1
        } else {
            13
        };
        for (first, other) in pairs.step_by(step) {
            for at in 0.. {
                // One of three dies, and others the next time.
                let dies = (meetings % 3) == 2;
                meetings += 1;
                stocked(&t).await;
                let name = format!("{first}, command {at}: {other}, dies: {dies}");
                let (stops, ended) = meeting.stopped((first, dies), at, &[other], &name).await;
                match ended {
                    Some(Err(error)) if !is_refusal(&error) => panic!("{name}: {error}"),
                    Some(_) => {}
                    None => meeting = Meeting::new(&t).await,
                }
                repaired += meeting.is_settled(&name).await;
                if !stops {
                    assert!(at >= 2, "{name}: {at} commands were sent");
                    break;
                }
            }
        }
        println!("{meetings} meetings, {repaired} references repaired");
        assert!(repaired > 0, "two statements can be cut");
    });
}

/// Two processes, of which one can be stopped before any of its commands.
struct Meeting {
    process: Process,
    /// Its handle.
    first: Odm,
    other: Odm,
}

/// A piece of work, by its name.
async fn carry_out(odm: &Odm, what: &str) -> odm::Result<()> {
    let (teams, members) = (odm.collection::<Team>(), odm.collection::<Member>());
    let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
    let nodes = odm.collection::<Node>();
    let in_team = |team: &str| Ref::<Team>::new(team.to_owned());
    match what {
        "a member" => members.delete(1).await.map(drop),
        "a team" => teams.delete("a".to_owned()).await.map(drop),
        "an author" => authors.delete(1).await.map(drop),
        "nodes" => nodes.delete_where(|n| n.id.lte(2)).await.map(drop),

        "book 1 is by 2" => books.update(1).set(|b| b.authors, refs(&[2])).await.map(drop),
        "book 1 is by 2 and 3" => books.update(1).set(|b| b.authors, refs(&[2, 3])).await.map(drop),
        "book 1 has no author" => books.update(1).set(|b| b.authors, vec![]).await.map(drop),
        "book 1 is also by 2" => books.update(1).push(|b| b.authors, Ref::new(2)).await.map(drop),
        "book 1 is not by 2" => books.update(1).pull(|b| b.authors, Ref::new(2)).await.map(drop),
        "book 1 is not by 1" => books.update(1).pull(|b| b.authors, Ref::new(1)).await.map(drop),
        "book 1 is by 2, and given" => {
            let update = books.update(1).set(|b| b.authors, refs(&[2]));
            update.returning().await.map(drop)
        }
        "book 1 is by 2, or new" => {
            let update = books
                .update(1)
                .set(|b| b.authors, refs(&[2]))
                .set(|b| b.title, "");
            update.upsert().await.map(drop)
        }
        "book 4 is by 2, or new" => {
            let update = books
                .update(4)
                .set(|b| b.authors, refs(&[2]))
                .set(|b| b.title, "");
            update.upsert().await.map(drop)
        }
        "book 4 is new, by 1" => books.insert(book(4, &[1])).await.map(drop),
        "book 1 is replaced, by 2" => {
            let book = Book {
                id: 1,
                title: String::new(),
                authors: refs(&[2]),
            };
            books.replace(book).await.map(drop)
        }
        "books of the title are by 2" => {
            let update = books
                .update_where(|b| b.title.eq(""))
                .set(|b| b.authors, refs(&[2]));
            update.await.map(drop)
        }
        "book 3 gets the title" => books.update(3).set(|b| b.title, "").await.map(drop),
        "some of it in a bulk" => {
            let bulk = odm
                .bulk()
                .add(books.update(1).push(|b| b.authors, Ref::new(2)))
                .add(authors.update(2).set(|a| a.books, refs(&[2])))
                .add(books.update(1).set(|b| b.authors, refs(&[3])))
                .add(odm.collection().insert(book(5, &[1])))
                .add(
                    books
                        .update_where(|b| b.id.lte(2))
                        .push(|b| b.authors, Ref::new(3)),
                );
            bulk.await.map(drop)
        }
        "author 2 has book 1" => authors.update(2).push(|a| a.books, Ref::new(1)).await.map(drop),
        "author 2 has no book" => authors.update(2).set(|a| a.books, vec![]).await.map(drop),
        "author 1 has no book" => authors.update(1).set(|a| a.books, vec![]).await.map(drop),

        "member 1 is in no team" => members.update(1).set(|m| m.team, None).await.map(drop),
        "member 1 is in b" => members
            .update(1)
            .set(|m| m.team, Some(in_team("b")))
            .await
            .map(drop),
        "the members are in b" => {
            let update = members.update_where(|m| m.id.lte(3));
            update.set(|m| m.team, Some(in_team("b"))).await.map(drop)
        }
        "team a is 1" => {
            let alone = vec![Ref::new(1_i64)];
            teams
                .update("a".to_owned())
                .set(|t| t.members, alone)
                .await
                .map(drop)
        }
        "team b is 1 and 3" => {
            let both = vec![Ref::new(1_i64), Ref::new(3)];
            teams
                .update("b".to_owned())
                .set(|t| t.members, both)
                .await
                .map(drop)
        }
        "team b has no leader" => teams
            .update("b".to_owned())
            .set(|t| t.members, vec![])
            .await
            .map(drop),

        "node 3 is below 2" => {
            let below = Some(Ref::new(2));
            nodes.update(3).set(|n| n.parent, below).await.map(drop)
        }
        "node 1 has 2 alone" => nodes.update(1).set(|n| n.children, refs(&[2])).await.map(drop),
        "node 2 has 3" => nodes.update(2).set(|n| n.children, refs(&[3])).await.map(drop),
        "node 3 is on top" => nodes.update(3).set(|n| n.parent, None).await.map(drop),
        "node 1 has friends" => nodes.update(1).set(|n| n.friends, refs(&[2])).await.map(drop),
        "node 1 has other friends" => nodes.update(1).set(|n| n.friends, refs(&[3])).await.map(drop),
        "node 1 has no friends" => nodes.update(1).set(|n| n.friends, vec![]).await.map(drop),
        "node 1 is with 2" => {
            let partner = Some(Ref::new(2));
            nodes.update(1).set(|n| n.partner, partner).await.map(drop)
        }
        "node 3 is with 1" => {
            let partner = Some(Ref::new(1));
            nodes.update(3).set(|n| n.partner, partner).await.map(drop)
        }
        "node 1 is alone" => nodes.update(1).set(|n| n.partner, None).await.map(drop),
        unknown => panic!("{unknown}"),
    }
}

impl Meeting {
    async fn new(t: &TestDb) -> Meeting {
        let process = Process::new_in(true, t).await;
        let handle = |db| Odm::new(db, models![Team, Member, Author, Book, Node]).unwrap();
        let meeting = Meeting {
            first: handle(process.db.clone()),
            other: handle(t.standalone().await),
            process,
        };
        // Commands that are sent once in the life of a handle.
        meeting.first.server().await.unwrap();
        meeting
    }

    /// Stops the first before this of its commands, lets the other one do its work, and the first go on or die. Gives whether
    /// the first one has sent as many commands, and what came of its work, if it lives.
    async fn stopped(
        &self,
        first: (&'static str, bool),
        at: usize,
        other: &[&str],
        name: &str,
    ) -> (bool, Option<odm::Result<()>>) {
        let (first, dies) = first;
        let process = self.first.clone();
        let work = async move { carry_out(&process, first).await };
        let stopped = match self.process.until(at, work).await {
            Ok(stopped) => stopped,
            Err(done) => return (false, Some(done)),
        };
        for other in other {
            match carry_out(&self.other, other).await {
                Err(error) if !is_refusal(&error) => panic!("{name}: {error}"),
                _ => {}
            }
        }
        if !dies {
            return (true, Some(stopped.go_on().await.unwrap()));
        }
        stopped.dies().await;
        (true, None)
    }

    /// Both sides of every link agree after a repair. Gives how many references it has repaired.
    async fn is_settled(&self, name: &str) -> u64 {
        let repaired = self.other.repair_all().await.unwrap();
        assert_clean_after(&self.other, name).await;
        repaired.repaired
    }
}

/// Documents that are linked.
async fn stocked(t: &TestDb) {
    let link = |id: i64, field: &str, value: Bson| doc! { "_id": id, "note": "", field: value };
    let documents = [
        (
            "teams",
            vec![
                doc! { "_id": "a", "playing": [1_i64, 2_i64] },
                doc! { "_id": "b", "playing": [] },
            ],
        ),
        (
            "members",
            vec![
                link(1, "plays_for", "a".into()),
                link(2, "plays_for", "a".into()),
                link(3, "plays_for", Bson::Null),
            ],
        ),
        (
            "authors",
            vec![
                doc! { "_id": 1, "name": "", "books": [1, 2] },
                doc! { "_id": 2, "name": "", "books": [] },
                doc! { "_id": 3, "name": "", "books": [] },
            ],
        ),
        (
            "books",
            vec![
                doc! { "_id": 1, "title": "", "authors": [1] },
                doc! { "_id": 2, "title": "", "authors": [1] },
                doc! { "_id": 3, "title": "another", "authors": [] },
            ],
        ),
        (
            "nodes",
            vec![
                doc! { "_id": 1, "children": [2, 3], "friends": [] },
                doc! { "_id": 2, "parent": 1, "children": [], "friends": [] },
                doc! { "_id": 3, "parent": 1, "children": [], "friends": [] },
            ],
        ),
    ];
    for (collection, documents) in documents {
        let all = t.db.collection::<Raw>(collection);
        all.delete_many(doc! {}).await.unwrap();
        all.insert_many(documents).await.unwrap();
    }
}

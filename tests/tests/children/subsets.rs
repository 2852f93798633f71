//! The subsets of many parents: one query gives them all, with what a query for each parent would give.

use futures::TryStreamExt;
use odm::__private::SwitchOdm as _;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, assert_clean_after, require_transactions, with_db};
use std::collections::BTreeMap;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "films")]
pub struct Film {
    pub id: i32,
    #[index(unique)]
    pub code: String,
    #[subset(of = Review, limit = 3, order(-day), fields(day: i32, text: String))]
    pub newest: Vec<NewestEntry>,
    // The last ones: they are asked for from the end.
    #[subset(of = Review, limit = 2, order(day), fields(day: i32))]
    pub last: Vec<LastEntry>,
    #[subset(of = Review, limit = 4, order(day), keep = first, filter = |r| r.stars.gte(3), fields(stars: i32))]
    pub good: Vec<GoodEntry>,
    #[subset(of = Note, limit = 2, order(-day), fields(day: i32))]
    pub notes: Vec<FilmNotesEntry>,
    #[subset(of = Show, limit = 2, order(title), keep = first, fields(title: String))]
    pub shows: Vec<ShowsEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "actors")]
pub struct Actor {
    pub id: i32,
    #[subset(of = Note, limit = 2, order(-day), fields(day: i32))]
    pub notes: Vec<ActorNotesEntry>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: i32,
    #[parent_ref(order(-day), on_delete = cascade)]
    pub film: Ref<Film>,
    pub day: i32,
    pub text: String,
    pub stars: i32,
}

/// Of one of two, whose ids are the same.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
pub struct Note {
    pub id: i32,
    #[parent_ref(any(Film, Actor), order(-day), on_delete = cascade)]
    pub about: AboutRef,
    pub day: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shows")]
pub struct Show {
    pub id: i32,
    #[parent_ref(by = code, on_delete = cascade)]
    pub film: Ref<Film, String>,
    pub title: String,
}

/// The subsets of films, and of those the ones that are derived of reviews.
const OF_FILMS: [&str; 5] = ["newest", "last", "good", "notes", "shows"];
const OF_REVIEWS: [&str; 3] = ["newest", "last", "good"];

fn raw(t: &TestDb, name: &str) -> odm::mongodb::Collection<Doc> {
    t.db.collection(name)
}

async fn all(t: &TestDb, name: &str) -> Vec<Doc> {
    let found = raw(t, name).find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

/// Parents and children by out-of-band writes, so that no subset is right: the days are few, and three films have no review.
async fn written_by_others(t: &TestDb, films: i32) {
    written_with_codes(t, films, |id| format!("${id}")).await;
}

async fn written_with_codes(t: &TestDb, films: i32, code: fn(i32) -> String) {
    let ids = || (0..films).map(|id| 1 + id);
    let film = |id: i32| {
        let empty = OF_FILMS.map(|name| (name.to_owned(), Bson::Array(Vec::new())));
        let mut film = doc! { "_id": id, "code": code(id) };
        film.extend(empty);
        film
    };
    let actor = |id: i32| doc! { "_id": id, "notes": [] };
    raw(t, "films").insert_many(ids().map(film)).await.unwrap();
    raw(t, "actors").insert_many(ids().map(actor)).await.unwrap();
    let named = |n: i32| 1 + n * 13 % (films - 3).max(1);
    let review = |n: i32| doc! { "_id": n, "film": named(n), "day": n * 5 % 4, "text": format!("text {n}"), "stars": n % 6 };
    raw(t, "reviews")
        .insert_many((0..films * 8).map(review))
        .await
        .unwrap();
    let note = |n: i32| {
        let of = if n % 3 == 0 { "Actor" } else { "Film" };
        doc! { "_id": n, "about": { "type": of, "id": named(n) }, "day": n % 3 }
    };
    raw(t, "notes")
        .insert_many((0..films * 6).map(note))
        .await
        .unwrap();
    let show = |n: i32| doc! { "_id": n, "film": code(named(n)), "title": (["b", "a", "c"][n as usize % 3]) };
    raw(t, "shows")
        .insert_many((0..films * 4).map(show))
        .await
        .unwrap();
}

/// The subsets of these children, by parent: sorted by the field and the id, the first ones or the last.
fn of_each(
    children: &[Doc],
    parent: impl Fn(&Doc) -> Option<Bson>,
    (order, turned): (&str, bool),
    (limit, last): (usize, bool),
    fields: &[&str],
) -> BTreeMap<String, Vec<Bson>> {
    let mut of: BTreeMap<String, Vec<&Doc>> = BTreeMap::new();
    for child in children {
        if let Some(parent) = parent(child) {
            of.entry(parent.to_string()).or_default().push(child);
        }
    }
    let place = |child: &Doc| {
        let (number, text) = (child.get_i32(order).ok(), child.get_str(order).ok());
        (number, text.map(str::to_owned), child.get_i32("_id").unwrap())
    };
    let elements = |mut children: Vec<&Doc>| {
        children.sort_by_key(|child| place(child));
        if turned {
            children.reverse();
        }
        let skip = if last {
            children.len().saturating_sub(limit)
        } else {
            0
        };
        let kept = children.into_iter().skip(skip).take(limit);
        kept.map(|child| {
            let mut element = doc! { "id": child.get("_id").cloned().unwrap() };
            for name in fields {
                element.insert(*name, child.get(name).cloned().unwrap());
            }
            Bson::Document(element)
        })
        .collect()
    };
    of.into_iter()
        .map(|(parent, children)| (parent, elements(children)))
        .collect()
}

/// The subsets of all films and actors are those that their children make.
async fn assert_right(t: &TestDb, mode: &str) {
    let (reviews, notes, shows) = (
        all(t, "reviews").await,
        all(t, "notes").await,
        all(t, "shows").await,
    );
    let film = |child: &Doc| child.get("film").cloned();
    let good = |child: &Doc| film(child).filter(|_| child.get_i32("stars").unwrap() >= 3);
    let about = |tag: &'static str| {
        move |child: &Doc| {
            let about = child.get_document("about").unwrap();
            about
                .get("id")
                .filter(|_| about.get_str("type").is_ok_and(|of| of == tag))
                .cloned()
        }
    };
    let right = [
        (
            "films",
            "newest",
            of_each(&reviews, film, ("day", true), (3, false), &["day", "text"]),
        ),
        (
            "films",
            "last",
            of_each(&reviews, film, ("day", false), (2, true), &["day"]),
        ),
        (
            "films",
            "good",
            of_each(&reviews, good, ("day", false), (4, false), &["stars"]),
        ),
        (
            "films",
            "notes",
            of_each(&notes, about("Film"), ("day", true), (2, false), &["day"]),
        ),
        (
            "films",
            "shows",
            of_each(&shows, film, ("title", false), (2, false), &["title"]),
        ),
        (
            "actors",
            "notes",
            of_each(&notes, about("Actor"), ("day", true), (2, false), &["day"]),
        ),
    ];
    for (collection, name, right) in right {
        for parent in all(t, collection).await {
            let by = if name == "shows" { "code" } else { "_id" };
            let key = parent.get(by).unwrap().to_string();
            let right = right.get(&key).cloned().unwrap_or_default();
            assert_eq!(
                parent.get_array(name).unwrap(),
                &right,
                "{mode}: `{name}` of {collection} {key}"
            );
        }
    }
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Film, Actor, Review, Note, Show]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    odm
}

/// In which ways they are derived: in a transaction or out of one, together or parent by parent.
async fn modes(t: &TestDb, odm: &Odm) -> [(&'static str, Odm, bool); 4] {
    let alone = t.standalone_of(odm).await;
    [
        ("together", odm.clone(), true),
        ("together, on a standalone server", alone.clone(), true),
        ("parent by parent", odm.clone().by_queries(), false),
        (
            "parent by parent, on a standalone server",
            alone.by_queries(),
            false,
        ),
    ]
}

async fn clear(t: &TestDb) {
    for name in ["films", "actors", "reviews", "notes", "shows"] {
        raw(t, name).delete_many(doc! {}).await.unwrap();
    }
}

fn count(sent: &[String], name: &str) -> usize {
    sent.iter().filter(|sent| *sent == name).count()
}

/// Whether this handle's server gives the children of many parents in one query, in a transaction too.
async fn joins(odm: &Odm) -> bool {
    let server = odm.server().await.unwrap();
    server.has_lookup_with_pipeline() && server.topology() != odm::server::Topology::Sharded
}

#[odm_tests::test]
fn the_subsets_of_fifty_parents_are_one_query_for_each_subset() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, together) in modes(&t, &odm).await {
            // A cluster joins the children outside of a transaction alone.
            let is_mixed =
                together && odm.server().await.unwrap().has_lookup_with_pipeline() && !joins(&odm).await;
            let together = together && joins(&odm).await;
            let mut seen = Vec::new();
            for films in [10, 50] {
                written_by_others(&t, films).await;
                t.commands.clear();
                // It looks twice at those that differ, the second time in a transaction if there are some.
                let audit = odm.audit().await.unwrap();
                let audited = t.commands.take();
                let stale = |name: &str| {
                    let one = |copies: &&odm::upkeep::AuditedCopies| {
                        copies.collection == "films" && copies.fields == [name.to_owned()]
                    };
                    audit.copies.iter().find(one).unwrap().stale.count
                };
                // Three films have no review.
                assert_eq!(OF_FILMS.map(stale), [films as u64 - 3; 5], "{mode}: {audit}");

                odm.backfill().again().await.unwrap();
                let filled = t.commands.take();
                assert_right(&t, mode).await;
                assert_clean_after(&odm, mode).await;

                // One child of each, all by one write: what is derived of what it changes.
                let text = format!("by {mode}");
                t.commands.clear();
                odm.collection::<Review>()
                    .update_where(|r| r.id.lt(films))
                    .set(|r| r.text, &*text)
                    .inc(|r| r.day, 1)
                    .await
                    .unwrap();
                let written = t.commands.take();
                assert_right(&t, mode).await;
                assert_eq!(
                    count(&written, "aggregate"),
                    if together { OF_REVIEWS.len() } else { 0 },
                    "{mode}, {films}: {written:?}"
                );
                seen.push((audited, filled, written));
                clear(&t).await;
            }
            let (few, many) = (&seen[0], &seen[1]);
            if together {
                // Twice five, and the notes of actors; the second look at what a backfill finds is its own; it writes, too.
                assert_eq!(
                    count(&many.0, "aggregate"),
                    2 * (OF_FILMS.len() + 1),
                    "{mode}: {many:?}"
                );
                assert_eq!(
                    count(&many.1, "aggregate"),
                    3 * (OF_FILMS.len() + 1),
                    "{mode}: {many:?}"
                );
                assert_eq!(few, many, "{mode}: as many commands for ten as for fifty");
            } else {
                for (few, many) in [(&few.0, &many.0), (&few.1, &many.1), (&few.2, &many.2)] {
                    let joined = count(many, "aggregate");
                    assert!(
                        joined == 0 || is_mixed && joined == count(few, "aggregate"),
                        "{mode}: {many:?}"
                    );
                    assert!(
                        count(many, "find") >= count(few, "find") + 3 * 40,
                        "{mode}: a query for each parent: {many:?}"
                    );
                }
            }
        }
    });
}

#[odm_tests::test]
fn the_subset_of_one_parent_is_a_plain_query() {
    with_db(async |t| {
        let odm = odm(&t).await;
        written_by_others(&t, 5).await;
        odm.backfill().again().await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            t.commands.clear();
            let reviews = odm.collection::<Review>();
            let of_one = |r: ReviewFields| r.film.eq(Ref::new(1));
            reviews.update_where(of_one).inc(|r| r.day, 1).await.unwrap();
            let sent = t.commands.take();
            assert_eq!(count(&sent, "aggregate"), 0, "{sent:?}");
            assert_right(&t, "one").await;
        }
    });
}

#[odm_tests::test]
fn a_transaction_sees_its_own_children_and_no_others() {
    with_db(async |t| {
        let odm = odm(&t).await;
        require_transactions(&odm).await;
        written_by_others(&t, 20).await;
        odm.backfill().again().await.unwrap();
        for odm in [odm.clone(), odm.by_queries()] {
            odm.transaction(async |tx| {
                let reviews = tx.collection::<Review>();
                let film = |id: i32| Ref::<Film>::new(id);
                reviews.update_where(|r| r.day.lte(1)).inc(|r| r.day, 7).await?;
                reviews.delete_where(|r| r.stars.eq(5)).await?;
                // To the films without a review.
                reviews
                    .update_where(|r| r.film.eq(film(2)))
                    .set(|r| r.film, film(19))
                    .await?;
                Ok(())
            })
            .await
            .unwrap();
            assert_right(&t, "in a transaction").await;
            assert_clean(&odm).await;
        }
    });
}

/// A write of a thousand children that leave as many parents for one other: more than one query takes.
#[odm_tests::test]
fn a_thousand_and_one_parents_are_read_in_two_queries() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = odm(&t).await;
        let joins = joins(&odm).await;
        let in_transactions = odm.server().await.unwrap().has_transactions();
        for (whole, odm) in [
            (in_transactions, odm.clone()),
            (false, t.standalone_of(&odm).await),
        ] {
            written_with_codes(&t, 1_001, |id| id.to_string()).await;
            for name in ["reviews", "notes", "shows"] {
                raw(&t, name).delete_many(doc! {}).await.unwrap();
            }
            let review = |id: i32| doc! { "_id": id, "film": id, "day": id, "text": "", "stars": 5 };
            raw(&t, "reviews")
                .insert_many((1..=1_000).map(review))
                .await
                .unwrap();
            odm.backfill().again().await.unwrap();
            assert_right(&t, "a thousand").await;
            t.commands.clear();
            let reviews = odm.collection::<Review>();
            reviews
                .update_where(|r| r.id.gte(0))
                .set(|r| r.film, Ref::<Film>::new(1_001))
                .await
                .unwrap();
            let sent = t.commands.take();
            if joins {
                // On a standalone server the parents that the children leave are one query; the one that they come to is another kind.
                let queries = if whole { 2 } else { 1 };
                assert_eq!(count(&sent, "aggregate"), queries * OF_REVIEWS.len(), "{sent:?}");
            }
            assert_right(&t, "a thousand and one").await;
            clear(&t).await;
        }
    });
}

/// The shows, in a collection that compares texts without regard to case. The test is skipped on a stand-in that compares byte by byte.
async fn shows_by_letter(t: &TestDb) -> odm::mongodb::Collection<Doc> {
    let create = doc! { "create": "shows", "collation": { "locale": "en", "strength": 2 } };
    t.db.run_command(create).await.unwrap();
    let shows = raw(t, "shows");
    shows.insert_one(doc! { "film": "a" }).await.unwrap();
    let found = shows.find_one(doc! { "film": "A" }).await.unwrap();
    shows.delete_many(doc! {}).await.unwrap();
    if found.is_none() {
        odm_tests::skip("needs a server that compares by collations");
    }
    shows
}

/// Where the collection of the children compares texts in its own way, both ways of asking are by it, and not by that of
/// the parents.
#[odm_tests::test]
fn children_are_compared_by_the_collation_of_their_collection() {
    with_db(async |t| {
        let shows = shows_by_letter(&t).await;
        let odm = odm(&t).await;
        let by_server = async |odm: &Odm| {
            clear(&t).await;
            written_with_codes(&t, 10, |id| format!("Code {id}")).await;
            shows.delete_many(doc! {}).await.unwrap();
            let show = |n: i32| {
                let code = format!("code {}", 1 + n % 5);
                let code = if n % 2 == 0 { code.to_uppercase() } else { code };
                doc! { "_id": n, "film": code, "title": (["b", "A", "C", "a", "c", "B"][n as usize % 6]) }
            };
            shows.insert_many((0..60).map(show)).await.unwrap();
            odm.backfill().again().await.unwrap();
            let films = all(&t, "films").await;
            films
                .iter()
                .map(|film| film.get_array("shows").unwrap().clone())
                .collect::<Vec<_>>()
        };
        let together = by_server(&odm).await;
        assert_eq!(together, by_server(&odm.clone().by_queries()).await);
        let of_first = together[0].iter().map(|show| show.as_document().unwrap());
        let titles: Vec<&str> = of_first.map(|show| show.get_str("title").unwrap()).collect();
        assert_eq!(
            titles,
            ["a", "A"],
            "the films are named in other letters: {together:?}"
        );
    });
}

/// The first children of a join are the first by the collation of their own collection, whichever way they are asked for.
#[odm_tests::test]
fn joined_children_are_sorted_by_the_collation_of_their_collection() {
    with_db(async |t| {
        let shows = shows_by_letter(&t).await;
        let odm = odm(&t).await;
        clear(&t).await;
        written_with_codes(&t, 10, |id| format!("code {id}")).await;
        shows.delete_many(doc! {}).await.unwrap();
        let show = |n: i32| {
            let film = format!("code {}", 1 + n % 5);
            doc! { "_id": n, "film": film, "title": (["b", "A", "C", "d", "F", "e"][n as usize % 6]) }
        };
        shows.insert_many((0..60).map(show)).await.unwrap();
        let sorted = shows.find(doc! { "film": "code 1" }).sort(doc! { "title": 1 });
        let sorted: Vec<Doc> = sorted.limit(5).await.unwrap().try_collect().await.unwrap();
        let sorted: Vec<&str> = sorted.iter().map(|show| show.get_str("title").unwrap()).collect();
        let films = odm.collection::<Film>();
        let joined = films
            .find_all()
            .include(|f| f.children::<Show>().sort(|s| s.title.asc()).limit(5));
        let by_queries = films
            .find_all()
            .include(|f| f.children::<Show>().sort(|s| s.title.asc()).limit(5).by_queries());
        for found in [joined.all().await.unwrap(), by_queries.all().await.unwrap()] {
            let (_, first) = found.iter().find(|(film, _)| film.id == 1).unwrap();
            let titles: Vec<&str> = first.iter().map(|show| show.title.as_str()).collect();
            assert_eq!(titles, sorted);
        }
    });
}

/// Two parents of one id in two collections are two parents, whose children may be written together.
#[odm_tests::test]
fn parents_of_two_types_may_have_one_id() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (films, actors) = (odm.collection::<Film>(), odm.collection::<Actor>());
            let notes = odm.collection::<Note>();
            films
                .insert(NewFilm {
                    id: 1,
                    code: "a".into(),
                })
                .await
                .unwrap();
            actors.insert(NewActor { id: 1 }).await.unwrap();
            let note = |id: i32, about: AboutRef| Note { id, about, day: id };
            let (film, actor) = (AboutRef::Film(Ref::new(1)), AboutRef::Actor(Ref::new(1)));
            let both = [
                note(1, film.clone()),
                note(2, actor.clone()),
                note(3, film.clone()),
            ];
            notes.insert_many(both).await.unwrap();
            let days = async || {
                let (film, actor) = (films.get(1).await.unwrap(), actors.get(1).await.unwrap());
                let film: Vec<i32> = film.unwrap().notes.iter().map(|note| note.day).collect();
                let actor: Vec<i32> = actor.unwrap().notes.iter().map(|note| note.day).collect();
                (film, actor)
            };
            assert_eq!(days().await, (vec![3, 1], vec![2]));
            // From one to the other, and nothing else: the id stays.
            notes.update(3).set(|n| n.about, actor).await.unwrap();
            assert_eq!(days().await, (vec![1], vec![3, 2]));
            notes.delete_where(|n| n.id.gt(0)).await.unwrap();
            assert_eq!(days().await, (vec![], vec![]));
            films.delete(1).await.unwrap();
            actors.delete(1).await.unwrap();
        }
    });
}

/// A subset's elements are the first few entries of an index, ties by the id among them.
#[odm_tests::test]
fn an_index_holds_children_in_the_order_of_their_subset() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Film, Actor, Review, Note, Show]).unwrap();
        odm.sync().await.unwrap();
        let names = async |collection| {
            let names = raw(&t, collection).list_index_names().await.unwrap();
            let own = names.into_iter().filter(|name| !name.starts_with("_"));
            own.collect::<std::collections::BTreeSet<String>>()
        };
        // One for three subsets and for the reference, whose order is its beginning: it is read from either end.
        assert_eq!(names("reviews").await, ["film_1_day_-1__id_-1".to_owned()].into());
        assert_eq!(
            names("notes").await,
            ["about.type_1_about.id_1_day_-1__id_-1".to_owned()].into()
        );
        assert_eq!(names("shows").await, ["film_1_title_1__id_1".to_owned()].into());
        written_by_others(&t, 5).await;
        let reviews = odm.collection::<Review>();
        let newest = reviews
            .find(|r| r.film.eq(Ref::new(1)))
            .sort(|r| (r.day.desc(), r.id.desc()))
            .limit(3);
        // Not every stand-in says that nothing is sorted then.
        let explained = newest.explain().await.unwrap();
        assert_eq!(explained.indexes, ["film_1_day_-1__id_-1"]);
    });
}

//! References as they are declared: stored as nothing but the id, found and changed like any other value.

use odm::Error;
use odm::bson::{self, Bson, Document as Doc, bson, doc};
use odm::error::Rule;
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use std::collections::{BTreeSet, HashSet, VecDeque};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people", timestamps, version)]
struct Person {
    id: ObjectId,
    #[index(unique)]
    account: i32,
    created_at: DateTime,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "topics")]
struct Topic {
    id: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
#[document(rename_all = "camelCase")]
struct Task {
    id: i64,
    #[parent_ref(order(-priority))]
    #[field(name = "owner_id")]
    owner: Ref<Person>,
    priority: i32,
    #[reference]
    done_by: Option<Ref<Person>>,
    #[reference(on_delete = nullify)]
    #[field(skip_none)]
    after: Option<Box<Ref<Task>>>,
    #[reference(many, max = 3)]
    watchers: Vec<Ref<Person>>,
    #[reference(many, max = 4)]
    topics: BTreeSet<Ref<Topic>>,
    #[reference(many)]
    related: Option<VecDeque<Ref<Task>>>,
    #[reference(by = account)]
    customer: Ref<Person, i32>,
    #[embed]
    note: Note,
    #[embed(max = 5)]
    steps: Vec<Step>,
    #[embed]
    state: State,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Note {
    text: String,
    #[reference]
    author: Option<Ref<Person>>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Step {
    name: String,
    #[reference(many, max = 2)]
    by: Vec<Ref<Person>>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "is")]
enum State {
    New,
    Waiting {
        #[reference]
        #[field(name = "for")]
        whom: Ref<Person>,
    },
}

/// Its id is that of the person.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "profiles")]
struct Profile {
    #[parent_ref(one)]
    #[field(name = "_id")]
    person: Ref<Person>,
    text: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
struct Post {
    id: i32,
    #[reference(any(Person, Topic))]
    about: SubjectRef,
    #[reference(any)]
    also: Option<SubjectRef>,
    #[reference(many, max = 3, any)]
    more: HashSet<SubjectRef>,
    #[embed]
    cover: Cover,
}

#[derive(Embed, Clone, Debug, PartialEq)]
struct Cover {
    #[reference(any(Person, Post))]
    of: Option<CoveredRef>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "likes")]
struct Like {
    id: i32,
    #[parent_ref(any(Post, Topic), order(-stars))]
    of: LikedRef,
    stars: i32,
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Person, Topic, Task, Profile, Post, Like]).unwrap();
    odm.sync().await.unwrap();
    t.commands.clear();
    odm
}

async fn person(odm: &Odm, account: i32) -> Person {
    odm.collection().insert(NewPerson { account }).await.unwrap()
}

async fn topic(odm: &Odm, id: &str) -> Topic {
    odm.collection().insert(NewTopic { id: id.into() }).await.unwrap()
}

fn task(id: i64, owner: &Person) -> NewTask {
    NewTask {
        id,
        owner: owner.to_ref(),
        priority: 1,
        done_by: None,
        after: None,
        watchers: vec![],
        topics: BTreeSet::new(),
        related: None,
        customer: Ref::new(owner.account),
        note: Note {
            text: "a note".into(),
            author: None,
        },
        steps: vec![],
        state: State::New,
    }
}

async fn stored(t: &TestDb, collection: &str, id: impl Into<Bson>) -> Doc {
    let collection = t.db.collection::<Doc>(collection);
    let found = collection.find_one(doc! { "_id": id.into() }).await;
    found.unwrap().expect("it is there")
}

#[odm_tests::test]
fn a_reference_is_stored_as_the_bare_id() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let tasks = odm.collection::<Task>();
        let (kate, rod) = (person(&odm, 1).await, person(&odm, 2).await);
        let (a, b) = (topic(&odm, "a").await, topic(&odm, "b").await);
        let first = tasks.insert(task(1, &kate)).await.unwrap();
        let full = NewTask {
            done_by: Some(rod.to_ref()),
            after: Some(Box::new(first.to_ref())),
            watchers: vec![rod.to_ref(), kate.to_ref(), rod.to_ref()],
            topics: [b.to_ref(), a.to_ref()].into(),
            related: Some([first.to_ref()].into()),
            customer: Ref::new(2),
            note: Note {
                text: String::new(),
                author: Some(kate.to_ref()),
            },
            steps: vec![Step {
                name: "one".into(),
                by: vec![kate.to_ref(), rod.to_ref()],
            }],
            state: State::Waiting { whom: rod.to_ref() },
            ..task(2, &kate)
        };
        let full = tasks.insert(full).await.unwrap();

        let expected = doc! {
            "_id": 2_i64,
            "owner_id": kate.id,
            "priority": 1,
            "doneBy": rod.id,
            "after": 1_i64,
            "watchers": [rod.id, kate.id, rod.id],
            "topics": ["a", "b"],
            "related": [1_i64],
            "customer": 2,
            "note": { "text": "", "author": kate.id },
            "steps": [{ "name": "one", "by": [kate.id, rod.id] }],
            "state": { "is": "Waiting", "for": rod.id },
        };
        assert_eq!(stored(&t, "tasks", 2_i64).await, expected);
        assert_eq!(tasks.get(2).await.unwrap(), Some(full));

        let bare = stored(&t, "tasks", 1_i64).await;
        assert_eq!(bare.get("doneBy"), Some(&Bson::Null));
        assert_eq!(bare.get("related"), Some(&Bson::Null));
        assert_eq!(bare.get("after"), None, "left out");
        assert_eq!(tasks.get(1).await.unwrap(), Some(first));
    });
}

#[odm_tests::test]
fn the_id_of_a_document_may_be_that_of_its_parent() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let profiles = odm.collection::<Profile>();
        let kate = person(&odm, 1).await;
        let new = NewProfile {
            person: kate.to_ref(),
            text: "hello".into(),
        };
        let profile = profiles.insert(new).await.unwrap();
        assert_eq!(
            stored(&t, "profiles", kate.id).await,
            doc! { "_id": kate.id, "text": "hello" }
        );
        assert_eq!(profiles.get(kate.to_ref()).await.unwrap(), Some(profile));
        profiles
            .update(kate.to_ref())
            .set(|p| p.text, "bye")
            .await
            .unwrap();
        assert_eq!(
            profiles.children_of(&kate).one().await.unwrap().unwrap().text,
            "bye"
        );
    });
}

#[odm_tests::test]
fn references_are_found_like_any_other_value() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let tasks = odm.collection::<Task>();
        let (kate, rod) = (person(&odm, 1).await, person(&odm, 2).await);
        let a = topic(&odm, "a").await;
        tasks.insert(task(1, &kate)).await.unwrap();
        let other = NewTask {
            done_by: Some(kate.to_ref()),
            watchers: vec![kate.to_ref(), rod.to_ref()],
            topics: [a.to_ref()].into(),
            related: Some([Ref::new(1)].into()),
            note: Note {
                text: String::new(),
                author: Some(rod.to_ref()),
            },
            steps: vec![Step {
                name: "one".into(),
                by: vec![rod.to_ref()],
            }],
            ..task(2, &rod)
        };
        tasks.insert(other).await.unwrap();

        let is_kate = &kate.to_ref();
        let ids = async |find: odm::query::Find<Task>| -> Vec<i64> {
            let found = find.sort(|t| t.id.asc()).all().await.unwrap();
            found.into_iter().map(|task| task.id).collect()
        };
        assert_eq!(ids(tasks.find(|t| t.owner.eq(kate.to_ref()))).await, [1]);
        assert_eq!(ids(tasks.find(|t| t.owner.ne(is_kate))).await, [2]);
        assert_eq!(
            ids(tasks.find(|t| t.owner.in_([is_kate, &rod.to_ref()]))).await,
            [1, 2]
        );
        assert_eq!(ids(tasks.find(|t| t.done_by.eq(kate.to_ref()))).await, [2]);
        assert_eq!(ids(tasks.find(|t| t.done_by.eq(None))).await, [1]);
        assert_eq!(ids(tasks.find(|t| t.watchers.contains(rod.to_ref()))).await, [2]);
        assert_eq!(
            ids(tasks.find(|t| t.watchers.contains_all([kate.to_ref(), rod.to_ref()]))).await,
            [2]
        );
        assert_eq!(ids(tasks.find(|t| t.watchers.size(2))).await, [2]);
        assert_eq!(ids(tasks.find(|t| t.topics.contains(a.to_ref()))).await, [2]);
        assert_eq!(ids(tasks.find(|t| t.related.contains(Ref::new(1)))).await, [2]);
        assert_eq!(ids(tasks.find(|t| t.customer.eq(Ref::new(1)))).await, [1]);
        assert_eq!(ids(tasks.find(|t| t.note.author.eq(rod.to_ref()))).await, [2]);
        assert_eq!(ids(tasks.find(|t| t.steps.by.contains(rod.to_ref()))).await, [2]);
    });
}

#[odm_tests::test]
fn references_are_changed_like_any_other_value() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let tasks = odm.collection::<Task>();
        let (kate, rod) = (person(&odm, 1).await, person(&odm, 2).await);
        let a = topic(&odm, "a").await;
        let step = Step {
            name: "one".into(),
            by: vec![],
        };
        let new = NewTask {
            steps: vec![step],
            ..task(1, &kate)
        };
        let task = tasks.insert(new).await.unwrap();

        tasks
            .update(task.id)
            .set(|t| t.owner, rod.to_ref())
            .set(|t| t.done_by, kate.to_ref())
            .set(|t| t.customer, Ref::new(2))
            .set(|t| t.note.author, rod.to_ref())
            .push(|t| t.watchers, kate.to_ref())
            .add_to_set(|t| t.topics, a.to_ref())
            .elem(
                |t| t.steps,
                |s| s.name.eq("one"),
                |s| s.set(|s| s.by, vec![rod.to_ref()]),
            )
            .await
            .unwrap();
        let changed = stored(&t, "tasks", 1_i64).await;
        assert_eq!(changed.get("owner_id"), Some(&bson!(rod.id)));
        assert_eq!(changed.get("doneBy"), Some(&bson!(kate.id)));
        assert_eq!(changed.get("customer"), Some(&bson!(2)));
        assert_eq!(
            changed.get("note"),
            Some(&bson!({ "text": "a note", "author": rod.id }))
        );
        assert_eq!(changed.get("watchers"), Some(&bson!([kate.id])));
        assert_eq!(changed.get("topics"), Some(&bson!(["a"])));
        assert_eq!(
            changed.get("steps"),
            Some(&bson!([{ "name": "one", "by": [rod.id] }]))
        );

        tasks
            .update(task.id)
            .unset(|t| t.done_by)
            .set(|t| t.note.author, None)
            .push_all(|t| t.watchers, [rod.to_ref(), rod.to_ref()])
            .pull(|t| t.topics, a.to_ref())
            .await
            .unwrap();
        let changed = stored(&t, "tasks", 1_i64).await;
        assert_eq!(changed.get("doneBy"), None);
        assert_eq!(
            changed.get("note"),
            Some(&bson!({ "text": "a note", "author": null }))
        );
        assert_eq!(changed.get("watchers"), Some(&bson!([kate.id, rod.id, rod.id])));
        assert_eq!(changed.get("topics"), Some(&bson!([])));

        tasks
            .update(task.id)
            .pull(|t| t.watchers, rod.to_ref())
            .await
            .unwrap();
        let changed = tasks.get(1).await.unwrap().unwrap();
        assert_eq!(changed.watchers, [kate.to_ref()]);
        assert_eq!((changed.done_by, changed.note.author), (None, None));
    });
}

#[odm_tests::test]
fn an_array_of_references_has_its_bound_everywhere() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let tasks = odm.collection::<Task>();
        let kate = person(&odm, 1).await;
        let four = vec![kate.to_ref(); 4];
        let many = NewTask {
            watchers: four.clone(),
            ..task(1, &kate)
        };
        match tasks.insert(many).await.unwrap_err() {
            Error::Invalid { violations, .. } => {
                assert_eq!(violations[0].path, "watchers");
                assert_eq!(violations[0].rule, Rule::MaxItems(3));
            }
            other => panic!("not refused for its length: {other}"),
        }
        let some = NewTask {
            watchers: four[1..].to_vec(),
            ..task(1, &kate)
        };
        let task = tasks.insert(some).await.unwrap();
        let full = tasks.update(task.id).push(|t| t.watchers, kate.to_ref()).await;
        assert!(matches!(full, Err(Error::ArrayFull { max: 3, .. })), "{full:?}");

        // The server's validator has the bounds and the types of the ids.
        let raw = t.db.collection::<Doc>("tasks");
        let good = stored(&t, "tasks", 1_i64).await;
        for (field, wrong) in [
            ("watchers", bson!([kate.id, kate.id, kate.id, kate.id])),
            ("watchers", bson!(["kate"])),
            ("owner_id", bson!("kate")),
            ("owner_id", Bson::Null),
            ("customer", bson!("1")),
            ("topics", bson!([1])),
            ("note", bson!({ "text": "", "author": 1 })),
            ("steps", bson!([{ "name": "", "by": ["kate"] }])),
        ] {
            let mut document = good.clone();
            document.insert("_id", 7_i64);
            document.insert(field, wrong.clone());
            assert!(raw.insert_one(document).await.is_err(), "{field}: {wrong}");
        }
        let mut document = good;
        document.insert("_id", 7_i64);
        raw.insert_one(document).await.unwrap();
    });
}

#[odm_tests::test]
fn a_reference_to_one_of_several_documents_is_stored_with_its_type() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (posts, likes) = (odm.collection::<Post>(), odm.collection::<Like>());
        let kate = person(&odm, 1).await;
        let a = topic(&odm, "a").await;
        let new = NewPost {
            id: 1,
            about: kate.to_ref().into(),
            also: Some(SubjectRef::Topic(a.to_ref())),
            more: [a.to_ref().into()].into(),
            cover: Cover { of: None },
        };
        let post = posts.insert(new).await.unwrap();
        let (person_ref, topic_ref) = (
            bson!({ "type": "Person", "id": kate.id }),
            bson!({ "type": "Topic", "id": "a" }),
        );
        assert_eq!(
            stored(&t, "posts", 1).await,
            doc! { "_id": 1, "about": &person_ref, "also": &topic_ref, "more": [&topic_ref], "cover": { "of": null } }
        );
        assert_eq!(posts.get(1).await.unwrap(), Some(post.clone()));

        // Found by a reference to one of the documents, or by the enum.
        assert_eq!(
            posts.find(|p| p.about.eq(kate.to_ref())).count().await.unwrap(),
            1
        );
        assert_eq!(posts.find(|p| p.also.eq(a.to_ref())).count().await.unwrap(), 1);
        assert_eq!(posts.find(|p| p.about.eq(a.to_ref())).count().await.unwrap(), 0);
        assert_eq!(
            posts.find(|p| p.more.contains(a.to_ref())).count().await.unwrap(),
            1
        );
        let of = posts.find(|p| p.about.eq(&post.about) & p.cover.of.eq(None));
        assert_eq!(of.count().await.unwrap(), 1);

        posts
            .update(post.id)
            .set(|p| p.about, a.to_ref())
            .set(|p| p.cover.of, post.to_ref())
            .push(|p| p.more, kate.to_ref())
            .await
            .unwrap();
        posts.update(post.id).pull(|p| p.more, a.to_ref()).await.unwrap();
        assert_eq!(
            stored(&t, "posts", 1).await,
            doc! {
                "_id": 1, "about": &topic_ref, "also": &topic_ref, "more": [&person_ref],
                "cover": { "of": { "type": "Post", "id": 1 } },
            }
        );

        // Joined: one query for each collection that is referred to.
        t.commands.clear();
        let found = posts
            .find_all()
            .include(|p| (p.about, p.more, p.cover.of))
            .all()
            .await
            .unwrap();
        let (_, (about, more, cover)) = &found[0];
        assert_eq!(about, &Subject::Topic(a.clone()));
        assert_eq!(more, &[Subject::Person(kate.clone())]);
        assert!(matches!(cover, Some(Covered::Post(found)) if found.id == 1));
        assert_eq!(t.commands.take().len(), 4, "posts; then topics, people and posts");
        assert_eq!(
            post.also.load(&odm).await.unwrap(),
            Some(Subject::Topic(a.clone()))
        );

        // From the other side.
        for (id, of, stars) in [
            (1, post.to_ref().into(), 1),
            (2, a.to_ref().into(), 2),
            (3, post.to_ref().into(), 3),
        ] {
            likes.insert(NewLike { id, of, stars }).await.unwrap();
        }
        let ids = |likes: Vec<Like>| likes.into_iter().map(|like| like.id).collect::<Vec<_>>();
        assert_eq!(ids(likes.children_of(&post).all().await.unwrap()), [3, 1]);
        assert_eq!(ids(likes.children_of(&a).all().await.unwrap()), [2]);
        let (_, below) = &posts
            .find_all()
            .include(|p| p.children::<Like>())
            .all()
            .await
            .unwrap()[0];
        assert_eq!(ids(below.clone()), [3, 1]);
    });
}

#[odm_tests::test]
fn a_reference_of_another_program_is_read_whatever_the_order_of_its_fields() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let posts = odm.collection::<Post>();
        let kate = person(&odm, 1).await;
        let raw = t.db.collection::<Doc>("posts");
        let by_turns = doc! { "id": kate.id, "type": "Person" };
        let turned = doc! {
            "_id": 1, "about": &by_turns, "more": [&by_turns, { "id": "a", "type": "Topic" }], "cover": { "of": &by_turns },
        };
        let other = topic(&odm, "b").await;
        raw.insert_one(turned).await.unwrap();
        let found = posts.get(1).await.unwrap().unwrap();
        assert_eq!(found.about, kate.to_ref().into());
        assert_eq!(
            (&found.also, &found.cover.of),
            (&None, &Some(kate.to_ref().into()))
        );

        // It is found, and taken out, all the same: by its parts, which the index has.
        let fits = async |filter: fn(PostFields, Ref<Person>, Ref<Topic>) -> Filter<Post>| {
            let (kate, topic) = (kate.to_ref(), other.to_ref());
            let found = posts
                .find(|p| filter(p, kate, topic.clone()))
                .count()
                .await
                .unwrap();
            let rest = posts.find(|p| !filter(p, kate, topic)).count().await.unwrap();
            assert_eq!(found + rest, 1);
            found == 1
        };
        assert!(fits(|p, kate, _| p.about.eq(kate)).await);
        assert!(fits(|p, _, topic| p.about.ne(topic)).await);
        assert!(!fits(|p, kate, _| p.about.ne(kate)).await);
        assert!(fits(|p, kate, topic| p.about.in_([SubjectRef::from(topic), kate.into()])).await);
        assert!(!fits(|p, _, topic| p.about.in_([topic])).await);
        assert!(!fits(|p, _, _| p.about.in_([] as [Ref<Person>; 0])).await);
        assert!(!fits(|p, kate, _| p.about.not_in([kate])).await);
        assert!(fits(|p, _, topic| p.about.not_in([topic])).await);
        assert!(fits(|p, kate, _| p.cover.of.eq(kate)).await);
        assert!(!fits(|p, _, _| p.cover.of.eq(None)).await);
        assert!(fits(|p, _, _| p.also.eq(None)).await);
        assert!(fits(|p, kate, _| p.more.contains(kate)).await);
        assert!(!fits(|p, _, topic| p.more.contains(topic)).await);
        assert!(fits(|p, kate, topic| p.more.contains_any([SubjectRef::from(topic), kate.into()])).await);
        assert!(!fits(|p, kate, topic| p.more.contains_all([SubjectRef::from(topic), kate.into()])).await);
        assert!(
            fits(|p, kate, _| p
                .more
                .contains_all([SubjectRef::from(kate), Ref::<Topic>::new("a".into()).into()]))
            .await
        );
        assert_eq!(
            Post::paths().about.eq(kate.to_ref()).into_document().unwrap(),
            doc! { "about.type": { "$eq": "Person" }, "about.id": { "$eq": kate.id } }
        );
        let by_index = posts.find(|p| p.about.eq(kate.to_ref())).explain().await.unwrap();
        // The slower of the stand-ins looks through few documents without an index.
        let is_the_stand_in = odm_tests::is_the_stand_in(&t.db).await;
        assert!(is_the_stand_in || !by_index.is_collection_scan(), "{by_index:?}");
        posts.update(1).pull(|p| p.more, kate.to_ref()).await.unwrap();
        assert_eq!(
            stored(&t, "posts", 1).await.get_array("more").unwrap(),
            &[bson!({ "id": "a", "type": "Topic" })]
        );
        let both = [
            SubjectRef::from(kate.to_ref()),
            Ref::<Topic>::new("a".into()).into(),
        ];
        posts.update(1).pull_all(|p| p.more, both).await.unwrap();
        assert_eq!(stored(&t, "posts", 1).await.get_array("more").unwrap(), &[]);

        // A value that is not in the list is refused by the server, and by the reader.
        let unknown = doc! { "_id": 2, "about": { "type": "Task", "id": 1_i64 }, "more": [], "cover": {} };
        assert!(raw.insert_one(&unknown).await.is_err());
        raw.insert_one(unknown)
            .bypass_document_validation(true)
            .await
            .unwrap();
        assert!(matches!(posts.get(2).await, Err(Error::Decode { .. })));
    });
}

#[odm_tests::test]
fn a_reference_can_be_read_alone() {
    #[derive(odm::Projection, Debug, PartialEq)]
    #[projection(of = Task)]
    struct Who {
        owner: Ref<Person>,
        watchers: Vec<Ref<Person>>,
    }
    with_db(async |t| {
        let odm = odm(&t).await;
        let tasks = odm.collection::<Task>();
        let kate = person(&odm, 1).await;
        tasks.insert(task(1, &kate)).await.unwrap();
        let who = tasks.find_all().select::<Who>().one().await.unwrap();
        let (owner, watchers) = (kate.to_ref(), vec![]);
        assert_eq!(who, Some(Who { owner, watchers }));
    });
}

#[odm_tests::test]
fn a_reference_is_the_bare_id_in_other_formats_too() {
    let id = ObjectId::new();
    assert_eq!(
        bson::serialize_to_bson(&Ref::<Person>::new(id)).unwrap(),
        bson!(id)
    );
    assert_eq!(
        bson::serialize_to_bson(&Ref::<Person, i32>::new(7)).unwrap(),
        bson!(7)
    );
    let read: Ref<Topic> = bson::deserialize_from_bson(bson!("a")).unwrap();
    assert_eq!(read, Ref::new("a".to_owned()));
}

//! Conditions on the documents that a field refers to.

use futures::TryStreamExt;
use odm::Error;
use odm::prelude::*;
use odm_tests::{TestDb, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
struct User {
    id: i32,
    name: String,
    #[index]
    city: String,
    age: i32,
    #[index(unique)]
    number: Number,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
struct Post {
    id: i32,
    #[reference]
    author: Ref<User>,
    #[denormalize(from = author.name)]
    author_name: String,
    #[reference]
    editor: Option<Ref<User>>,
    #[denormalize(from = editor.age, consistency = snapshot)]
    editor_age: Option<i32>,
    #[reference(max = 5)]
    readers: Vec<Ref<User>>,
    #[reference(by = number)]
    owner: Ref<User, Number>,
    #[reference(many, max = 5)]
    #[denormalize(from = User, fields(name: String, age: i32))]
    parts: Vec<PartEntry>,
}

#[derive(Embed, Clone, Copy, Debug, PartialEq)]
#[embed(id)]
struct Number(i32);

/// Six users in two cities, and six posts.
async fn begin(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![User, Post]).unwrap();
    odm.sync().await.unwrap();
    let user = |id: i32| NewUser {
        id,
        name: format!("user {id}"),
        city: if id % 2 == 0 { "Rome".into() } else { "Bonn".into() },
        age: 20 + id,
        number: Number(100 + id),
    };
    odm.collection::<User>()
        .insert_many((1..=6).map(user))
        .await
        .unwrap();
    let post = |id: i32| NewPost {
        id,
        author: Ref::new(id),
        editor: (id > 3).then(|| Ref::new(7 - id)),
        readers: vec![Ref::new(id), Ref::new(id % 6 + 1)],
        owner: Ref::new(Number(100 + id)),
        parts: vec![Ref::new(id), Ref::new(6)],
    };
    odm.collection::<Post>()
        .insert_many((1..=6).map(post))
        .await
        .unwrap();
    t.commands.clear();
    odm
}

async fn ids(find: odm::query::Find<Post>) -> Vec<i32> {
    let all = find.sort(|p| p.id.asc()).all().await.unwrap();
    all.into_iter().map(|post| post.id).collect()
}

#[odm_tests::test]
fn a_condition_on_a_referenced_document_takes_one_more_query_or_a_copy() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let posts = odm.collection::<Post>();
        let of = |city: &'static str| posts.find_all().filter_joined(|p| p.author, |u| u.city.eq(city));
        assert_eq!(ids(of("Rome")).await, [2, 4, 6]);
        assert_eq!(t.commands.take(), ["find", "find"]);
        assert_eq!(ids(of("Paris")).await, [0; 0]);
        assert_eq!(ids(of("Rome").filter(|p| p.id.gt(2))).await, [4, 6]);
        assert_eq!(
            ids(posts
                .find(|p| p.id.lt(4))
                .filter_joined(|p| p.author, |u| u.id.gte(2)))
            .await,
            [2, 3]
        );
        // A document without a reference matches nothing.
        let edited = |age| {
            posts
                .find_all()
                .filter_joined(|p| p.editor, move |u| u.city.eq("Bonn") & u.age.lt(age))
        };
        assert_eq!(ids(edited(22)).await, [6]);
        assert_eq!(ids(edited(99)).await, [4, 6]);
        // Of an array, one of them has to match; by another field than the id.
        let read = posts
            .find_all()
            .filter_joined(|p| p.readers, |u| u.id.in_([1, 2]));
        assert_eq!(ids(read).await, [1, 2, 6]);
        let owned = posts
            .find_all()
            .filter_joined(|p| p.owner, |u| u.number.eq(Number(103)) | u.id.eq(5));
        assert_eq!(ids(owned).await, [3, 5]);
        // Two at once.
        let both = of("Rome").filter_joined(|p| p.editor, |u| u.city.eq("Bonn"));
        assert_eq!(ids(both).await, [4, 6]);

        // Copies are compared in its place.
        t.commands.clear();
        let named = posts.find_all().filter_joined(
            |p| p.author,
            |u| u.name.starts_with("user 5") | u.name.eq("user 1"),
        );
        assert_eq!(ids(named).await, [1, 5]);
        let not = posts
            .find_all()
            .filter_joined(|p| p.author, |u| !u.name.eq("user 1"));
        assert_eq!(ids(not).await, [2, 3, 4, 5, 6]);
        let of_entry = |name, age| {
            posts
                .find_all()
                .filter_joined(|p| p.parts, move |u| u.name.eq(name) & u.age.eq(age))
        };
        assert_eq!(ids(of_entry("user 2", 22)).await, [2]);
        assert_eq!(
            ids(of_entry("user 2", 26)).await,
            [0; 0],
            "the copies of one entry"
        );
        assert_eq!(t.commands.take(), ["find"; 4]);
        let both = posts
            .find_all()
            .filter_joined(|p| p.author, |u| u.name.eq("user 2") & u.city.eq("Rome"));
        assert_eq!(ids(both).await, [2]);
        assert_eq!(t.commands.take(), ["find", "find"]);
    });
}

#[odm_tests::test]
fn each_final_method_takes_the_condition() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let posts = odm.collection::<Post>();
        let of = || {
            posts
                .find_all()
                .filter_joined(|p| p.author, |u| u.city.eq("Rome"))
        };
        assert_eq!(of().count().await.unwrap(), 3);
        assert!(of().exists().await.unwrap());
        assert_eq!(of().sort(|p| p.id.desc()).one().await.unwrap().unwrap().id, 6);
        let mut distinct = of().distinct(|p| p.author_name).await.unwrap();
        distinct.sort();
        assert_eq!(distinct, ["user 2", "user 4", "user 6"]);
        let first = of().sort(|p| p.id.asc()).page(2).total().await.unwrap();
        assert_eq!((first.items.len(), first.total), (2, Some(3)));
        let second = of()
            .sort(|p| p.id.asc())
            .page(2)
            .after(first.next.unwrap())
            .await
            .unwrap();
        assert_eq!(second.items.len(), 1);
        let streamed: Vec<Post> = of().stream().await.unwrap().try_collect().await.unwrap();
        assert_eq!(streamed.len(), 3);
        let resumed: Vec<Post> = of()
            .resumable()
            .stream()
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(resumed.len(), 3);
        let joined = of().include(|p| p.author).all().await.unwrap();
        assert!(joined.iter().all(|(_, user)| user.city == "Rome") && joined.len() == 3);
        let lookup = of().include(|p| p.author).lookup().all().await.unwrap();
        assert_eq!(lookup.len(), 3);
        let after = posts
            .find_all()
            .include(|p| p.author)
            .filter_joined(|p| p.author, |u| u.city.eq("Rome"));
        assert_eq!(after.all().await.unwrap().len(), 3);
        assert!(of().explain().await.is_ok());
        #[derive(Projection, Debug)]
        #[projection(of = Post)]
        struct Named {
            author_name: String,
        }
        assert_eq!(of().select::<Named>().all().await.unwrap().len(), 3);
    });
}

#[odm_tests::test]
fn a_condition_that_would_read_the_other_collection_is_refused() {
    with_db(async |t| {
        let odm = begin(&t).await;
        let posts = odm.collection::<Post>();
        t.commands.clear();
        let refused = [
            posts
                .find_all()
                .filter_joined(|p| p.author, |u| u.age.gt(3))
                .all()
                .await,
            posts
                .find_all()
                .filter_joined(|p| p.author, |u| u.city.ne("Rome"))
                .all()
                .await,
            posts
                .find_all()
                .filter_joined(|p| p.author, |u| u.city.eq("Rome") | u.age.eq(3))
                .all()
                .await,
            // A snapshot is no copy of what is there now.
            posts
                .find_all()
                .filter_joined(|p| p.editor, |u| u.age.eq(21))
                .all()
                .await,
        ];
        for refused in refused {
            let Err(Error::Query { message, .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(
                message.contains("Declare one with `#[index]` in `User`"),
                "{message}"
            );
        }
        assert_eq!(t.commands.take(), [""; 0], "nothing is sent");

        let user = |id: i32| NewUser {
            id,
            name: "n".into(),
            city: "Oslo".into(),
            age: 1,
            number: Number(1_000 + id),
        };
        odm.collection::<User>()
            .insert_many((10..10_011).map(user))
            .await
            .unwrap();
        let many = posts
            .find_all()
            .filter_joined(|p| p.author, |u| u.city.eq("Oslo"))
            .all()
            .await;
        let Err(Error::Query { message, .. }) = many else {
            panic!("{many:?}");
        };
        assert!(
            message.starts_with("more than 10000 documents of `users` match"),
            "{message}"
        );
    });
}

#[odm_tests::test]
fn in_a_transaction_both_queries_see_its_writes() {
    with_transactions(async |t| {
        let odm = begin(&t).await;
        odm.transaction(async |tx| {
            tx.collection::<User>().update(1).set(|u| u.city, "Rome").await?;
            let posts = tx.collection::<Post>();
            let found = posts
                .find_all()
                .filter_joined(|p| p.author, |u| u.city.eq("Rome"));
            assert_eq!(found.count().await?, 4);
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    });
}

//! The `New…` struct: its builder, and ids that a function makes.

use odm::bson::{Bson, Uuid};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "users",
    timestamps,
    version,
    builder,
    new(derive(Clone, Debug, PartialEq))
)]
struct User {
    #[serde(rename = "_id")]
    #[field(generate = Uuid::new)]
    id: Uuid,
    #[index(unique)]
    email: String,
    name: String,
    nickname: Option<String>,
    born: Option<i32>,
    #[serde(default)]
    active: bool,
    #[serde(default = "User::default_points")]
    #[field(default = 7)]
    points: u32,
    #[serde(default = "first_tags")]
    #[embed(max = 5)]
    tags: Vec<String>,
    #[parent_ref]
    #[denormalize(from = Team, fields(title: String))]
    team: TeamOfUser,
    #[reference]
    inviter: Option<Ref<User>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams", builder)]
struct Team {
    #[serde(rename = "_id")]
    #[field(generate = next_key)]
    id: Key,
    title: String,
}

/// An id of the application's own.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
struct Key(String);

fn next_key() -> Key {
    Key(format!("team-{}", ObjectId::new()))
}

fn first_tags() -> Vec<String> {
    vec!["new".into()]
}

fn kate(team: &Team) -> NewUser {
    NewUser::builder()
        .email("kate@blog.org")
        .team(Ref::new(team.id.clone()))
        .name("Kate")
        .build()
}

#[odm_tests::test]
fn a_builder_begins_with_the_declared_defaults() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Team]).unwrap();
        odm.sync().await.unwrap();
        let team = NewTeam::builder().title("Blue").build();
        let team = odm.collection::<Team>().insert(team).await.unwrap();
        assert!(team.id.0.starts_with("team-"), "{team:?}");
        let new = kate(&team);
        assert_eq!(
            (
                new.nickname.clone(),
                new.born,
                new.active,
                new.points,
                new.tags.clone(),
                new.inviter
            ),
            (None, None, false, 7, first_tags(), None)
        );
        // In any order, and the last value of a field counts.
        let all = NewUser::builder()
            .points(1)
            .active(true)
            .nickname("Al")
            .name(String::from("Albert"))
            .name("Al")
            .email("al@blog.org")
            .born(1977)
            .tags(vec![])
            .team(Ref::new(team.id.clone()))
            .build();
        let al = NewUser {
            email: "al@blog.org".into(),
            name: "Al".into(),
            nickname: Some("Al".into()),
            born: Some(1977),
            active: true,
            points: 1,
            tags: vec![],
            team: Ref::new(team.id.clone()),
            inviter: None,
        };
        assert_eq!(all, al);

        let users = odm.collection::<User>();
        let kate = users.insert(new.clone()).await.unwrap();
        let stored = users.get(kate.id).await.unwrap();
        assert_eq!(stored.as_ref(), Some(&kate));
        assert_eq!(
            (kate.version, kate.points, kate.team.title.as_str()),
            (1, 7, "Blue")
        );
        let invited = NewUser::builder()
            .email("trekkie@blog.org")
            .name("Trekkie")
            .team(Ref::new(team.id.clone()))
            .inviter(Ref::new(kate.id))
            .build();
        let invited = users.insert_many([invited, al]).await.unwrap();
        assert_eq!(invited.len(), 2);
        assert_eq!(
            users.find(|u| u.inviter.eq(kate.to_ref())).count().await.unwrap(),
            1
        );
        // Each insert makes another id, and a whole document keeps its own.
        let found = users.insert(new).or_get_by(|u| u.email).await.unwrap();
        assert_eq!((found.inserted, found.document.id), (false, kate.id));
        let ids: std::collections::BTreeSet<String> = users
            .find_all()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|user| user.id.to_string())
            .collect();
        assert_eq!(ids.len(), 3);
        users.delete(&kate).await.unwrap_err();
        odm_tests::assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn an_upsert_inserts_the_id_of_its_new_document() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![User, Team]).unwrap();
        odm.sync().await.unwrap();
        let team = NewTeam::builder().title("Blue").build();
        let team = odm.collection::<Team>().insert(team).await.unwrap();
        let users = odm.collection::<User>();
        let upsert = |points: u32| {
            let user = users.update_by(|u| u.email, "kate@blog.org");
            user.set(|u| u.points, points).upsert_with(kate(&team))
        };
        let first = upsert(1).await.unwrap();
        let stored = users.find_all().one().await.unwrap().unwrap();
        assert_eq!(first.upserted, Some(stored.id.into()));
        assert_eq!((stored.points, stored.name.as_str()), (1, "Kate"));
        // A document that is there keeps its id.
        let second = upsert(2).await.unwrap();
        assert_eq!((second.upserted, second.modified), (None, 1));
        let anna = users
            .update_where(|u| u.email.eq("anna@blog.org"))
            .set(|u| u.points, 4);
        let done = anna.upsert_with(kate(&team)).await.unwrap();
        assert!(matches!(done.upserted, Some(Bson::Binary(_))), "{done:?}");
        // An upsert by the id has that id.
        let id = Uuid::new();
        let al = NewUser {
            email: "al@blog.org".into(),
            ..kate(&team)
        };
        let by_id = users.update(id).set(|u| u.points, 3).upsert_with(al);
        assert_eq!(by_id.await.unwrap().upserted, Some(id.into()));
        let stored = users.find_all().sort(|u| u.points.asc()).all().await.unwrap();
        let points: Vec<u32> = stored.iter().map(|user| user.points).collect();
        assert_eq!((points, stored[1].id), (vec![2, 3, 4], id));
        odm_tests::assert_clean(&odm).await;
    });
}

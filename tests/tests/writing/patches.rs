//! Patches: `#[document(patch)]`, `#[embed(patch)]`, and `If-Match` by a version.

use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::patch::{Etag, IfMatch, Patch};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "users",
    timestamps,
    version,
    patch(derive(Clone, Debug, PartialEq))
)]
#[serde(rename_all = "camelCase")]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[field(min_len = 1, max_len = 10)]
    #[serde(alias = "name")]
    full_name: String,
    nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    motto: Option<String>,
    #[field(min = 0)]
    points: i32,
    #[embed(max = 2)]
    tags: Vec<String>,
    #[embed(max = 3, key_len = 5)]
    links: BTreeMap<String, i32>,
    #[serde(with = "odm::native")]
    patience: Duration,
    #[serde(default, with = "odm::native")]
    rest: Option<Duration>,
    #[serde(with = "upper")]
    #[field(stored = String)]
    code: String,
    #[embed(patch)]
    home: Place,
    #[embed(patch)]
    work: Option<Place>,
    #[embed]
    birth: Place,
    #[embed(patch)]
    #[serde(flatten)]
    look: Look,
    #[reference]
    #[denormalize(from = Team, fields(title: String))]
    team: Option<TeamEntry>,
    #[reference(many, max = 3)]
    friends: Vec<Ref<User>>,
    #[field(private)]
    secret: i32,
    #[field(read_only)]
    credit: i32,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(patch, derive(Clone, Debug, PartialEq))]
struct Place {
    #[field(max_len = 10)]
    city: String,
    zip: Option<String>,
    #[field(read_only)]
    checked: bool,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(patch, derive(Clone, Debug, PartialEq))]
struct Look {
    #[field(max = 250)]
    height: i32,
    #[serde(rename = "eye")]
    eyes: Option<String>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams", patch)]
struct Team {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[embed(max = 3)]
    places: Vec<Place>,
}

/// Texts that are stored in capitals.
mod upper {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text.to_uppercase())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(String::deserialize(deserializer)?.to_lowercase())
    }
}

fn place(city: &str) -> Place {
    Place {
        city: city.into(),
        zip: Some("1".into()),
        checked: true,
    }
}

fn kate() -> NewUser {
    NewUser {
        id: 1,
        full_name: "Kate".into(),
        nickname: Some("Katie".into()),
        motto: Some("on".into()),
        points: 5,
        tags: vec!["a".into()],
        links: [("x".to_owned(), 1)].into(),
        patience: Duration::from_secs(1),
        rest: Some(Duration::from_secs(2)),
        code: "k".into(),
        home: place("Bonn"),
        work: Some(place("Ulm")),
        birth: place("Kiel"),
        look: Look {
            height: 170,
            eyes: Some("brown".into()),
        },
        team: Some(Ref::new(1)),
        friends: vec![],
        secret: 1,
        credit: 2,
    }
}

async fn stocked(t: &odm_tests::TestDb) -> (Odm, Collection<User>) {
    let odm = Odm::new(t.db.clone(), models![User, Team]).unwrap();
    odm.sync().await.unwrap();
    for (id, title) in [(1, "Blue"), (2, "Red")] {
        let (title, places) = (title.to_owned(), vec![place("Bonn"), place("Ulm")]);
        odm.collection::<Team>()
            .insert(NewTeam { id, title, places })
            .await
            .unwrap();
    }
    let users = odm.collection::<User>();
    users.insert(kate()).await.unwrap();
    (odm, users)
}

fn read(json: &str) -> UserPatch {
    serde_json::from_str(json).unwrap()
}

fn refused(json: &str) -> String {
    serde_json::from_str::<UserPatch>(json).unwrap_err().to_string()
}

#[odm_tests::test]
fn a_patch_changes_the_fields_that_it_names() {
    with_db(async |t| {
        let (odm, users) = stocked(&t).await;
        let before = users.get(1).await.unwrap().unwrap();
        let patch = read(
            r#"{
                "fullName": "Kate M.", "nickname": null, "motto": null, "tags": ["b", "c"], "links": {}, "patience": 3004,
                "rest": null, "code": "NEW", "home": { "city": "Rome" }, "eye": null, "team": 2, "friends": [1]
            }"#,
        );
        // Whether a place is checked, JSON does not set.
        let birth = Place {
            city: "Oslo".into(),
            zip: None,
            checked: false,
        };
        let patch = UserPatch {
            birth: birth.clone().into(),
            ..patch
        };
        let after = users
            .update(1)
            .if_version(1)
            .apply(patch)
            .returning()
            .await
            .unwrap();
        let expected = User {
            full_name: "Kate M.".into(),
            nickname: None,
            motto: None,
            tags: vec!["b".into(), "c".into()],
            links: BTreeMap::new(),
            patience: Duration::from_millis(3004),
            rest: None,
            code: "new".into(),
            home: Place {
                city: "Rome".into(),
                ..before.home.clone()
            },
            birth,
            look: Look {
                eyes: None,
                ..before.look.clone()
            },
            team: after.team.clone(),
            friends: vec![Ref::new(1)],
            updated_at: after.updated_at,
            version: 2,
            ..before
        };
        assert_eq!(after, expected);
        assert_eq!(after.team.as_ref().map(|team| team.title.as_str()), Some("Red"));
        assert_eq!(users.get(1).await.unwrap(), Some(after));

        // As the struct stores `None`: `null`, or not at all.
        let raw =
            t.db.collection::<Raw>("users")
                .find_one(doc! {})
                .await
                .unwrap()
                .unwrap();
        assert_eq!((raw.get("nickname"), raw.get("motto")), (Some(&Bson::Null), None));
        assert_eq!(raw.get_str("code").unwrap(), "NEW");
        assert!(odm.audit().await.unwrap().is_clean());

        let cleared = read(r#"{ "work": null, "team": null, "height": 180 }"#);
        let after = users.update(1).apply(cleared).returning().await.unwrap();
        assert_eq!((after.work, after.team, after.look.height), (None, None, 180));
    });
}

#[odm_tests::test]
fn a_patch_is_read_with_errors_that_name_the_field() {
    with_db(async |_| {
        assert_eq!(read("{}"), UserPatch::default());
        assert_eq!(read(r#"{ "nickname": null }"#).nickname, Patch::Value(None));
        assert_eq!(read(r#"{ "name": "K" }"#).full_name, Patch::Value("K".to_owned()));
        for (json, message) in [
            (r#"{ "fullName": null }"#, "`/fullName` must be a text"),
            (r#"{ "tags": null }"#, "`/tags` must be an array"),
            (r#"{ "points": "5" }"#, "`/points` must be a whole number"),
            (r#"{ "home": null }"#, "`/home` must be an object"),
            (r#"{ "home": { "city": 1 } }"#, "`/home/city` must be a text"),
            (r#"{ "patience": "long" }"#, "`/patience` must be a whole number"),
            (
                r#"{ "points": 1, "points": 2 }"#,
                "`/points` stands twice in one object",
            ),
            (
                r#"{ "name": "K", "fullName": "K" }"#,
                "is the field `fullName` by another name, which is there too",
            ),
            ("[]", "must be an object"),
        ] {
            assert!(refused(json).contains(message), "{json}: {}", refused(json));
        }
        // Fields that the library writes, and private ones, are in no patch.
        for name in [
            "_id",
            "id",
            "version",
            "createdAt",
            "updated_at",
            "secret",
            "credit",
            "look",
            "$set",
            "home.city",
        ] {
            let message = refused(&serde_json::json!({ name: 1 }).to_string());
            assert!(
                message.contains(&format!("`/{name}` is not a field")),
                "{message}"
            );
        }
        assert!(refused(r#"{ "home": { "checked": true } }"#).contains("`/home/checked`"));
    });
}

#[odm_tests::test]
fn the_json_of_a_patch_is_that_of_its_document() {
    with_db(async |t| {
        let (_, users) = stocked(&t).await;
        let json = r#"{
            "fullName": "Kate M.", "nickname": null, "motto": null, "patience": 3004, "rest": null, "code": "NEW",
            "home": { "city": "Rome" }, "work": null,
            "eye": null, "team": 2, "friends": [1]
        }"#;
        let by_shape: UserPatch = odm::json::from_str(json).unwrap();
        assert_eq!(by_shape, read(json));
        let after = users.update(1).apply(by_shape).returning().await.unwrap();
        assert_eq!((after.code.as_str(), after.home.city.as_str()), ("new", "Rome"));
        assert_eq!(
            odm::json::from_str::<UserPatch>("{}").unwrap(),
            UserPatch::default()
        );

        // Every mistake, each with its place.
        let json = r#"{
            "fullName": null, "points": "5", "home": { "city": 1, "checked": true }, "tags": ["a", 2, "c"], "version": 3,
            "secret": 4, "height": 900
        }"#;
        let Err(Error::Json { values }) = odm::json::from_str::<UserPatch>(json) else {
            panic!("it is refused");
        };
        let mut pointers: Vec<&str> = values.iter().map(|bad| bad.pointer.as_str()).collect();
        pointers.sort_unstable();
        let expected = [
            "/fullName",
            "/height",
            "/home/checked",
            "/home/city",
            "/points",
            "/secret",
            "/tags",
            "/tags/1",
            "/version",
        ];
        assert_eq!(pointers, expected, "{values:?}");
    });
}

#[odm_tests::test]
fn the_rules_of_the_fields_hold_for_a_patch() {
    with_db(async |t| {
        let (odm, users) = stocked(&t).await;
        let city = |name: &str| PlacePatch {
            city: name.to_owned().into(),
            ..PlacePatch::default()
        };
        let none = UserPatch::default;
        for (patch, path) in [
            (
                UserPatch {
                    full_name: String::new().into(),
                    ..none()
                },
                "fullName",
            ),
            (
                UserPatch {
                    points: (-1).into(),
                    ..none()
                },
                "points",
            ),
            (
                UserPatch {
                    tags: vec!["a".to_owned(); 3].into(),
                    ..none()
                },
                "tags",
            ),
            (
                UserPatch {
                    links: BTreeMap::from([("too long".to_owned(), 1)]).into(),
                    ..none()
                },
                "links",
            ),
            (
                UserPatch {
                    home: city("Copenhagen!").into(),
                    ..none()
                },
                "home.city",
            ),
            (
                UserPatch {
                    look: LookPatch {
                        height: 251.into(),
                        ..LookPatch::default()
                    },
                    ..none()
                },
                "height",
            ),
        ] {
            match users.update(1).apply(patch).await {
                Err(Error::Invalid { violations, .. }) => assert_eq!(violations[0].path, path),
                other => panic!("{path}: {other:?}"),
            }
        }
        // JSON is compared with them where it is read.
        assert!(refused(r#"{ "points": -1 }"#).contains("`/points` must be at least 0"));
        let missing = users.update(1).apply(read(r#"{ "team": 7 }"#)).await;
        assert!(
            matches!(missing, Err(Error::MissingReference { .. })),
            "{missing:?}"
        );
        assert_eq!(users.get(1).await.unwrap().unwrap().version, 1);

        // The fields of a struct that is not there can't be set one by one.
        users.update(1).set(|u| u.work, None).await.unwrap();
        let null = users
            .update(1)
            .apply(read(r#"{ "work": { "city": "Rome" } }"#))
            .await;
        assert!(matches!(null, Err(Error::IsNull { .. })), "{null:?}");

        // The copies of a patched document follow.
        let title = TeamPatch {
            title: "Sky".to_owned().into(),
            ..TeamPatch::default()
        };
        odm.collection::<Team>().update(1).apply(title).await.unwrap();
        assert_eq!(users.get(1).await.unwrap().unwrap().team.unwrap().title, "Sky");
    });
}

#[odm_tests::test]
fn a_version_that_differs_refuses_a_patch() {
    with_db(async |t| {
        let (_, users) = stocked(&t).await;
        let name = || read(r#"{ "points": 6 }"#);
        let update = |header: &str| users.update(1).if_match(IfMatch::parse(header)).apply(name());

        let tag = Etag::of(&users.get(1).await.unwrap().unwrap()).to_string();
        assert_eq!(tag, "\"1\"");
        update(&tag).await.unwrap();
        update("\"1\", \"2\"").await.unwrap();
        update("*").await.unwrap();
        for (header, seen) in [("\"3\"", 3), ("W/\"4\"", -1), ("\"a\"", -1)] {
            match update(header).await {
                Err(Error::Conflict {
                    seen: read,
                    found: Some(4),
                    ..
                }) => assert_eq!(read, seen, "{header}"),
                other => panic!("{header}: {other:?}"),
            }
        }
        let returned = users.update(1).if_version(3).apply(name()).returning().await;
        assert!(matches!(returned, Err(Error::Conflict { .. })), "{returned:?}");
        let absent = users.update(7).if_match(IfMatch::ANY).apply(name()).await;
        assert!(matches!(absent, Err(Error::NotFound { .. })), "{absent:?}");
        let by_key = users.update_by(|u| u.id, 1).if_version(4).apply(name()).await;
        assert!(matches!(by_key, Err(Error::Query { .. })), "{by_key:?}");

        let deleted = users.delete(1).if_version(3).await;
        assert!(matches!(deleted, Err(Error::Conflict { .. })), "{deleted:?}");
        assert_eq!(users.delete(1).if_version(4).await.unwrap().deleted, 1);
    });
}

#[odm_tests::test]
fn a_patch_without_fields_changes_nothing() {
    with_db(async |t| {
        let (odm, users) = stocked(&t).await;
        let before = users.get(1).required().await.unwrap();
        for empty in ["{}", r#"{ "home": {} }"#] {
            let patch = read(empty);
            assert_eq!(users.update(1).apply(patch.clone()).await.unwrap().modified, 0);
            assert_eq!(
                users.update(1).apply(patch.clone()).returning().await.unwrap(),
                before
            );
            let conflict = users
                .update(1)
                .if_version(2)
                .apply(patch.clone())
                .returning()
                .await;
            assert!(matches!(conflict, Err(Error::Conflict { .. })), "{conflict:?}");
            let done = odm
                .bulk()
                .add(odm.collection::<User>().update(1).apply(patch.clone()))
                .await
                .unwrap();
            assert_eq!((done.matched, done.modified), (0, 0));
            let all = users
                .update_where(|u| u.points.eq(5))
                .apply(patch.clone())
                .await
                .unwrap();
            assert_eq!((all.matched, all.modified), (0, 0));
            let first = users
                .update_first(|u| u.points.eq(5))
                .apply(patch.clone())
                .await
                .unwrap();
            assert_eq!((first.matched, first.modified), (1, 0));
            let absent = users.update(7).apply(patch).await;
            assert!(matches!(absent, Err(Error::NotFound { .. })), "{absent:?}");
        }
        assert_eq!(users.get(1).required().await.unwrap(), before);
    });
}

#[odm_tests::test]
fn everything_that_takes_changes_takes_a_patch() {
    with_db(async |t| {
        let (odm, users) = stocked(&t).await;
        let points = |n: i32| UserPatch {
            points: n.into(),
            ..UserPatch::default()
        };
        let stored = async || users.get(1).await.unwrap().unwrap().points;

        users
            .update_where(|u| u.points.eq(5))
            .apply(points(6))
            .await
            .unwrap();
        assert_eq!(stored().await, 6);
        users
            .update_first(|u| u.points.eq(6))
            .apply(points(7))
            .await
            .unwrap();
        assert_eq!(stored().await, 7);
        odm.bulk()
            .add(
                odm.collection::<User>()
                    .update(1)
                    .apply(points(8))
                    .set(|u| u.secret, 9),
            )
            .await
            .unwrap();
        assert_eq!(stored().await, 8);

        let upserted = users
            .update(2)
            .apply(points(3))
            .upsert_with(NewUser { id: 2, ..kate() });
        assert!(upserted.await.unwrap().upserted.is_some());
        assert_eq!(users.get(2).await.unwrap().unwrap().points, 3);

        // Changes of a field that the patch names too are one change too many.
        let twice = users.update(1).apply(points(9)).inc(|u| u.points, 1).await;
        assert!(matches!(twice, Err(Error::Query { .. })), "{twice:?}");

        // The patch of an embedded struct is one of an item.
        let teams = odm.collection::<Team>();
        let city = PlacePatch {
            city: "Rome".to_owned().into(),
            ..PlacePatch::default()
        };
        teams
            .update(1)
            .elem(|t| t.places, |p| p.city.eq("Ulm"), |p| p.apply(city))
            .await
            .unwrap();
        let places = teams.get(1).await.unwrap().unwrap().places;
        assert_eq!(places, [place("Bonn"), place("Rome")]);
    });
}

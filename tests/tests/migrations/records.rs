//! The list of steps and the database: the status, the order, the way back.

use odm::bson::{Document as Doc, doc};
use odm::cli::{Streams, run_with};
use odm::migrate::{Step, StepState};
use odm::prelude::*;
use odm::{Error, Migrations, migrations};
use odm_tests::{TestDb, with_db};

mod m0001_slug {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("articles").add("slug", "").await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        step.collection("articles").remove("slug").await
    }
}

mod m0002_author {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.collection("articles").rename("autor", "author").await
    }

    pub async fn down(step: &Step) -> odm::Result<()> {
        step.collection("articles").rename("author", "autor").await
    }
}

mod m0003_words {
    use super::*;

    #[derive(odm::Row)]
    struct OldArticle {
        text: String,
    }

    pub async fn up(step: &Step) -> odm::Result<()> {
        let articles = step.collection("articles");
        articles
            .each::<OldArticle>(doc! { "words": { "$exists": false } })
            .update(|old| {
                let words = old.text.split_whitespace().count() as i64;
                Ok(doc! { "$set": { "words": words } })
            })
            .await
    }
}

/// The same name with another change.
mod changed {
    use super::*;

    pub mod m0001_slug {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            step.collection("articles").add("slug", "none").await
        }
    }
}

fn odm(t: &TestDb) -> Odm {
    Odm::new(t.db.clone(), []).unwrap()
}

async fn articles(t: &TestDb) -> Vec<Doc> {
    use futures::TryStreamExt;
    let all = t.db.collection::<Doc>("articles");
    let found = all.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    found.try_collect().await.unwrap()
}

async fn with_articles(t: &TestDb) {
    let articles = [
        doc! { "_id": 1, "autor": "Kate", "text": "three short words" },
        doc! { "_id": 2, "author": "Tom", "text": "two words", "slug": "two" },
    ];
    t.db.collection::<Doc>("articles")
        .insert_many(articles)
        .await
        .unwrap();
}

#[odm_tests::test]
fn the_status_counts_what_each_step_has_to_change_and_up_changes_it() {
    with_db(async |t| {
        with_articles(&t).await;
        let steps = migrations![m0001_slug, m0002_author, m0003_words];
        let migrating = odm(&t).migrate(steps);
        let status = migrating.status().await.unwrap();
        let counts: Vec<_> = status
            .steps
            .iter()
            .map(|step| step.changes[0].documents)
            .collect();
        assert_eq!(counts, [Some(1), Some(1), Some(2)]);
        assert_eq!(
            status.to_string().lines().take(2).collect::<Vec<_>>(),
            [
                "m0001_slug: open",
                "  `articles`: add `slug` as \"\" where it is missing: 1 document to change"
            ]
        );
        let plan = migrating.plan().await.unwrap();
        let samples = |step: usize| &plan.steps[step].changes[0].samples;
        assert_eq!(
            samples(0)[0].after.as_ref().unwrap().get_str("slug").ok(),
            Some("")
        );
        assert_eq!(
            samples(1)[0].after.as_ref().unwrap().get_str("author").ok(),
            Some("Kate")
        );
        assert_eq!(
            samples(2)[1].after.as_ref().unwrap().get_i64("words").ok(),
            Some(2)
        );
        assert!(
            articles(&t).await[0].get("words").is_none(),
            "a plan changes nothing"
        );
        let first = migrating.clone().to("m0001_slug").up().await.unwrap();
        assert_eq!(first.applied, ["m0001_slug"]);
        let rest = migrating.up().await.unwrap();
        assert_eq!(
            (rest.applied.as_slice(), rest.documents),
            (&["m0002_author".to_owned(), "m0003_words".to_owned()][..], 3)
        );
        assert_eq!(
            articles(&t).await,
            [
                doc! { "_id": 1, "author": "Kate", "text": "three short words", "slug": "", "words": 3_i64 },
                doc! { "_id": 2, "author": "Tom", "text": "two words", "slug": "two", "words": 2_i64 },
            ]
        );
        let status = migrating.status().await.unwrap();
        assert!(status.open().next().is_none() && status.problems.is_empty() && status.running.is_none());
        assert_eq!(migrating.up().await.unwrap().to_string(), "nothing to apply");
        t.commands.clear();
        migrating.up().await.unwrap();
        assert_eq!(t.commands.take(), ["find"]);
    });
}

#[odm_tests::test]
fn steps_are_taken_back_one_at_a_time_or_to_a_step() {
    with_db(async |t| {
        with_articles(&t).await;
        let steps = || migrations![m0001_slug, m0002_author];
        let migrating = odm(&t).migrate(steps());
        migrating.up().await.unwrap();
        let back = migrating.down().await.unwrap();
        assert_eq!(back.taken_back, ["m0002_author"]);
        assert_eq!(articles(&t).await[1].get_str("autor").ok(), Some("Tom"));
        migrating.up().await.unwrap();
        let back = migrating.clone().to("m0001_slug").down().await.unwrap();
        assert_eq!(back.taken_back, ["m0002_author"]);
        let back = migrating.down().await.unwrap();
        assert_eq!(back.taken_back, ["m0001_slug"]);
        assert_eq!(migrating.down().await.unwrap().to_string(), "nothing to apply");
        // This one has no way back, and nothing is begun.
        let with_words = odm(&t).migrate(migrations![m0003_words]);
        with_words.up().await.unwrap();
        let error = with_words.down().await.unwrap_err();
        assert!(
            error.to_string().contains("`m0003_words` has no `down`"),
            "{error}"
        );
        assert_eq!(
            with_words.status().await.unwrap().steps[0].state,
            StepState::Applied
        );
    });
}

async fn problem(t: &TestDb, steps: Migrations) -> String {
    match odm(t).migrate(steps).up().await.unwrap_err() {
        Error::Migrations { problems } => problems.join("; "),
        error => panic!("{error:?}"),
    }
}

#[odm_tests::test]
fn a_list_that_does_not_go_with_the_database_is_refused_in_words() {
    with_db(async |t| {
        with_articles(&t).await;
        odm(&t)
            .migrate(migrations![m0001_slug, m0002_author])
            .up()
            .await
            .unwrap();
        let taken_out = problem(&t, migrations![m0002_author, m0003_words]).await;
        assert!(
            taken_out
                .contains("the database has the step `m0001_slug`, which `migrations![…]` does not list"),
            "{taken_out}"
        );
        let order = problem(&t, migrations![m0002_author, m0001_slug]).await;
        assert!(
            order.contains("`m0001_slug` was applied before `m0002_author`"),
            "{order}"
        );
        let before = problem(&t, migrations![m0001_slug, m0003_words, m0002_author]).await;
        assert!(
            before.contains("`m0003_words` is not applied and is listed before `m0002_author`"),
            "{before}"
        );
        let other = {
            use changed::m0001_slug;
            problem(&t, migrations![m0001_slug, m0002_author]).await
        };
        assert!(
            other.contains("`m0001_slug` was applied with other changes"),
            "{other}"
        );
        // An older program has less to do, and starts.
        let older = odm(&t).migrate(migrations![m0001_slug]);
        assert!(older.up().await.unwrap().applied.is_empty());
        assert_eq!(older.status().await.unwrap().ahead, ["m0002_author"]);
        // It takes nothing back beneath the step that it does not know.
        let error = older.down().await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the database has the step `m0002_author` behind those"),
            "{error}"
        );
        let stored = articles(&t).await;
        assert!(
            stored.iter().all(|article| article.contains_key("slug")),
            "{stored:?}"
        );
    });
}

/// The documents of a later version: with one more index in each.
mod indexed {
    use super::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        pub id: i32,
        #[index]
        pub autor: Option<String>,
    }

    pub mod later {
        use super::*;

        #[derive(Document, Clone, Debug, PartialEq)]
        #[document(collection = "articles")]
        pub struct Article {
            pub id: i32,
            #[index]
            pub autor: Option<String>,
            #[index]
            pub text: String,
        }
    }
}

mod m0001_declared {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.declare().await
    }
}

async fn indexes(t: &TestDb) -> Vec<String> {
    let mut names =
        t.db.collection::<Doc>("articles")
            .list_index_names()
            .await
            .unwrap();
    names.sort();
    names
}

#[odm_tests::test]
fn changes_about_models_are_made_once_behind_the_last_step() {
    with_db(async |t| {
        with_articles(&t).await;
        let version = |later: bool| {
            let models = match later {
                false => models![indexed::Article],
                true => models![indexed::later::Article],
            };
            Odm::new(t.db.clone(), models).unwrap()
        };
        let steps = || migrations![m0001_declared, m0001_slug];
        version(false)
            .migrate(steps())
            .to("m0001_declared")
            .up()
            .await
            .unwrap();
        assert_eq!(indexes(&t).await, ["_id_"]);
        let status = version(false).migrate(steps()).status().await.unwrap();
        let expected =
            "\n  behind the last step: make collections, validators and indexes as they are declared";
        assert!(status.to_string().contains(expected), "{status}");
        // The second step is given up, so that the first one is the last.
        version(false)
            .migrate(migrations![m0001_declared])
            .up()
            .await
            .unwrap();
        assert_eq!(indexes(&t).await, ["_id_", "autor_1"]);
        assert!(
            version(false)
                .migrate(migrations![m0001_declared])
                .up()
                .await
                .unwrap()
                .applied
                .is_empty()
        );
        version(false).migrate(steps()).up().await.unwrap();
        assert_eq!(indexes(&t).await, ["_id_", "autor_1"]);
        // A later step that does not ask for it: programs of the version before may run.
        let later = migrations![m0001_declared, m0001_slug, m0002_author];
        version(true).migrate(later).up().await.unwrap();
        assert_eq!(indexes(&t).await, ["_id_", "autor_1"]);
        let again = migrations![m0001_declared, m0001_slug, m0002_author];
        version(true)
            .migrate(again)
            .again("m0001_declared")
            .up()
            .await
            .unwrap();
        assert_eq!(indexes(&t).await, ["_id_", "autor_1", "text_1"]);
    });
}

/// A user with the role `read` may execute them.
#[odm_tests::test]
fn the_status_and_the_plan_read_alone() {
    with_db(async |t| {
        with_articles(&t).await;
        let steps = || migrations![m0001_slug, m0002_author, m0003_words, m0001_declared];
        let odm = Odm::new(t.db.clone(), models![indexed::Article]).unwrap();
        for is_applied in [false, true] {
            t.commands.clear();
            odm.migrate(steps()).status().await.unwrap();
            odm.migrate(steps()).again("m0001_slug").plan().await.unwrap();
            let reads = [
                "find",
                "aggregate",
                "count",
                "listCollections",
                "listIndexes",
                "hello",
                "buildInfo",
            ];
            let sent = t.commands.take();
            assert!(sent.iter().all(|name| reads.contains(&name.as_str())), "{sent:?}");
            if !is_applied {
                odm.migrate(steps()).up().await.unwrap();
            }
        }
    });
}

mod m0001_two_changes {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        let articles = step.collection("articles");
        articles.add("slug", "").await?;
        articles.rename("autor", "author").await
    }
}

/// The same step, corrected before it was applied to its end.
mod corrected {
    use super::*;

    pub mod m0001_two_changes {
        use super::*;

        pub async fn up(step: &Step) -> odm::Result<()> {
            let articles = step.collection("articles");
            articles.add("pages", 1).await?;
            articles.rename("autor", "author").await
        }
    }
}

#[odm_tests::test]
fn a_step_is_applied_once_more_with_all_of_its_changes() {
    with_db(async |t| {
        with_articles(&t).await;
        let migrating = odm(&t).migrate(migrations![m0001_two_changes]);
        migrating.up().await.unwrap();
        // A program of the version before writes one more.
        let old = doc! { "_id": 3, "autor": "Ann", "text": "" };
        t.db.collection::<Doc>("articles").insert_one(old).await.unwrap();
        assert!(migrating.up().await.unwrap().applied.is_empty());
        let again = migrating.clone().again("m0001_two_changes").up().await.unwrap();
        assert_eq!((again.applied.len(), again.documents), (1, 2));
        assert_eq!(
            articles(&t).await[2],
            doc! { "_id": 3, "author": "Ann", "text": "", "slug": "" }
        );
        // A later step may stand on it.
        let both = odm(&t).migrate(migrations![m0001_two_changes, m0001_slug]);
        both.up().await.unwrap();
        let refused = both.again("m0001_two_changes").to("m0001_two_changes").up().await;
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("`m0001_slug` is applied and would be applied again"),
            "{refused}"
        );
        t.db.collection::<Doc>("_odm_migrations")
            .delete_one(doc! { "_id": "m0001_slug" })
            .await
            .unwrap();
        // Not by a program that does not know what was applied behind it.
        let newer = migrations![m0001_two_changes, m0003_words];
        odm(&t).migrate(newer).up().await.unwrap();
        let refused = migrating.again("m0001_two_changes").up().await.unwrap_err();
        let expected = "the database has the step `m0003_words` behind those";
        assert!(refused.to_string().contains(expected), "{refused}");
    });
}

#[odm_tests::test]
fn a_step_that_was_corrected_begins_anew() {
    with_db(async |t| {
        with_articles(&t).await;
        // A run that has ended within the second change.
        let taken = doc! { "_id": "m0001_two_changes", "number": 0_i64, "changes": ["other ones"] };
        let progress = doc! { "step": "m0001_two_changes", "down": false, "change": 1_i64, "pass": 3_i64 };
        let runner = doc! { "_id": "runner", "until": DateTime::from_millis(0), "progress": progress };
        let stored = t.db.collection::<Doc>("_odm_migrations");
        stored.insert_many([taken, runner]).await.unwrap();
        use corrected::m0001_two_changes;
        let migrated = odm(&t)
            .migrate(migrations![m0001_two_changes])
            .up()
            .await
            .unwrap();
        assert_eq!(migrated.applied, ["m0001_two_changes"]);
        assert!(
            articles(&t)
                .await
                .iter()
                .all(|article| article.get_i32("pages").ok() == Some(1))
        );
    });
}

mod m0001_unfinished {
    use super::*;

    pub async fn up(step: &Step) -> odm::Result<()> {
        step.write_by_hand("`price` of `articles` becomes decimal")?;
        Ok(())
    }
}

#[odm_tests::test]
fn a_step_that_is_to_be_completed_by_hand_is_shown_and_not_applied() {
    with_db(async |t| {
        let migrating = odm(&t).migrate(migrations![m0001_unfinished]);
        let status = migrating.status().await.unwrap();
        assert_eq!(
            status.to_string(),
            "m0001_unfinished: open\n  `price` of `articles` becomes decimal"
        );
        let error = migrating.up().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the step `m0001_unfinished`: the step is not finished: `price` of `articles` becomes decimal"
        );
    });
}

async fn run(t: &TestDb, args: &[&str]) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["manage", "migrate"].iter().chain(args).copied();
    let program = (odm(t), migrations![m0001_slug, m0002_author]);
    let code = run_with(program, args, &mut Streams::new(&mut out, &mut err)).await;
    (
        code,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

#[odm_tests::test]
fn the_command_line_shows_applies_and_takes_back() {
    with_db(async |t| {
        with_articles(&t).await;
        let (code, out, _) = run(&t, &["status", "--check"]).await;
        assert_eq!(code, 1, "{out}");
        let (code, out, err) = run(&t, &["up"]).await;
        assert_eq!(
            (code, out.as_str()),
            (
                0,
                "applied m0001_slug\napplied m0002_author\n2 documents changed\n"
            ),
            "{err}"
        );
        let (code, out, _) = run(&t, &["status", "--check", "--json"]).await;
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (code, &json["steps"][1]["state"]),
            (0, &"applied".into()),
            "{json}"
        );
        // A program of the version before writes one more.
        let old = doc! { "_id": 3, "autor": "Ann", "text": "" };
        t.db.collection::<Doc>("articles").insert_one(old).await.unwrap();
        let (code, out, _) = run(&t, &["status", "--check"]).await;
        assert_eq!(code, 0, "{out}");
        let (code, out, _) = run(&t, &["status", "--check", "--again", "m0001_slug"]).await;
        assert_eq!(code, 1, "{out}");
        assert_eq!(out.matches(": 1 document to change").count(), 2, "{out}");
        let (code, out, _) = run(&t, &["up", "--dry-run", "--again", "m0002_author"]).await;
        assert_eq!((code, out.matches("after:").count()), (0, 1), "{out}");
        let (_, out, _) = run(&t, &["up", "--again", "m0001_slug"]).await;
        assert!(out.ends_with("\n2 documents changed\n"), "{out}");
        let (code, out, _) = run(&t, &["--rate", "500"]).await;
        assert_eq!((code, out.as_str()), (0, "the rate is 500 documents a second\n"));
        let (_, out, _) = run(&t, &["--rate", "default"]).await;
        assert!(out.contains("the rate is the default"), "{out}");
        let (code, out, _) = run(&t, &["down", "--to", "m0001_slug"]).await;
        assert_eq!(
            (code, out.as_str()),
            (0, "taken back m0002_author\n3 documents changed\n")
        );
        let (code, _, err) = run(&t, &["up", "--to", "m0009"]).await;
        assert_eq!(code, 2);
        assert!(
            err.contains("there is no step `m0009`: the list has m0001_slug, m0002_author"),
            "{err}"
        );
    });
}

//! A blog through five versions, with ten steps in the folder `steps`: `migrate new` has written the snapshots and each second step, the others are
//! written by hand.

use crate::versions::{v1, v2, v3, v4, v5};
use odm::bson::{Document as Doc, doc};
use odm::cli::{Streams, run_with};
use odm::prelude::*;
use odm::{Migrations, Model};
use odm_tests::random::Random;
use odm_tests::{TestDb, assert_clean, takes_long, with_db, with_transactions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

#[path = "steps/mod.rs"]
mod migrations;

/// The environment variables of a process that a test starts: what it does, and in which database.
pub const ROLE: &str = "ODM_BLOG";
const DATABASE: &str = "ODM_BLOG_DATABASE";

/// The first ids of the articles of the writers of the two versions.
const OF_OLD: i32 = 1_000_000;
const OF_NEW: i32 = 2_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/migrations/steps")
}

fn odm(t: &TestDb, models: impl IntoIterator<Item = Model>) -> Odm {
    Odm::new(t.db.clone(), models).unwrap()
}

fn newest(t: &TestDb) -> Odm {
    odm(t, models![v5::Author, v5::Article])
}

async fn migrate(odm: Odm, steps: Migrations, folder: &Path, args: &[&str]) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let folder = folder.to_str().unwrap();
    let args = ["manage", "migrate"]
        .into_iter()
        .chain(args.iter().copied())
        .chain(["--folder", folder]);
    let code = run_with((odm, steps), args, &mut Streams::new(&mut out, &mut err)).await;
    (
        code,
        format!(
            "{}{}",
            String::from_utf8(out).unwrap(),
            String::from_utf8(err).unwrap()
        ),
    )
}

/// The steps that are written by hand: behind each that `migrate new` writes, in the same version.
const BY_HAND: [&str; 5] = ["titles", "slugs", "counted", "names", "english"];

/// Writes the steps and snapshots of all versions into a folder.
async fn write_all(t: &TestDb, folder: &Path) {
    let versions: [(&str, Vec<Model>, &[&str]); 5] = [
        ("first", models![v1::Author, v1::Article].to_vec(), &[]),
        (
            "email_and_slug",
            models![v2::Author, v2::Article].to_vec(),
            &["--renamed", "authors.mail=email"],
        ),
        ("views", models![v3::Author, v3::Article].to_vec(), &[]),
        ("copies", models![v4::Author, v4::Article].to_vec(), &[]),
        ("languages", models![v5::Author, v5::Article].to_vec(), &[]),
    ];
    for ((name, models, renamed), by_hand) in versions.into_iter().zip(BY_HAND) {
        let generated: Vec<&str> = ["new", name].iter().chain(renamed).copied().collect();
        for args in [generated, vec!["new", by_hand]] {
            let odm = odm(t, models.iter().cloned());
            let (code, text) = migrate(odm, migrations::all(), folder, &args).await;
            assert_eq!(code, 0, "{text}");
            assert!(!text.contains("by hand"), "{text}");
        }
    }
    for (name, text) in files(&self::folder()) {
        if BY_HAND
            .iter()
            .any(|by_hand| name.ends_with(&format!("_{by_hand}.rs")))
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let all = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<(String, String)> = all
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[odm_tests::test]
fn the_steps_of_the_folder_are_those_that_new_writes() {
    with_db(async |t| {
        let temporary = tempfile::tempdir().unwrap();
        write_all(&t, temporary.path()).await;
        if std::env::var_os("ODM_WRITE_BOOK").is_some() {
            for (name, text) in files(temporary.path()) {
                std::fs::write(folder().join(name), text).unwrap();
            }
        }
        for ((name, text), (expected, there)) in files(temporary.path()).into_iter().zip(files(&folder())) {
            assert_eq!(name, expected);
            assert_eq!(
                text, there,
                "{name}: `ODM_WRITE_BOOK=1 cargo test -p odm-tests --test migrations -- blog` writes it"
            );
        }
    });
}

fn copied(to: &Path) {
    for (name, text) in files(&folder()) {
        std::fs::write(to.join(name), text).unwrap();
    }
}

#[odm_tests::test]
fn the_newest_program_reads_the_documents_of_each_version() {
    with_db(async |t| {
        let (code, text) = migrate(newest(&t), migrations::all(), &folder(), &["check"]).await;
        assert_eq!(code, 0, "{text}");
        assert!(
            text.contains("10 snapshots") && text.contains("by the steps between"),
            "{text}"
        );
        // An older program is not what the newest snapshot says.
        let older = odm(&t, models![v4::Author, v4::Article]);
        let (code, text) = migrate(older, migrations::all(), &folder(), &["check"]).await;
        assert_eq!(code, 1, "{text}");
        assert!(
            text.contains("the models differ from the newest snapshot: `migrate new NAME` writes the step"),
            "{text}"
        );
        assert!(text.contains("language"), "{text}");
    });
}

#[odm_tests::test]
fn a_folder_that_was_changed_by_hand_is_reported_with_what_to_do() {
    with_db(async |t| {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        copied(folder);
        let check = async |steps: Migrations| migrate(newest(&t), steps, folder, &["check"]).await;
        let snapshot = folder.join("m0003_email_and_slug.json");
        let text = std::fs::read_to_string(&snapshot).unwrap();
        std::fs::write(&snapshot, text.replacen("email", "e_mail", 1)).unwrap();
        let (code, words) = check(migrations::all()).await;
        assert_eq!(code, 1);
        assert!(
            words.contains("m0003_email_and_slug.json") && words.contains("version control"),
            "{words}"
        );
        std::fs::write(&snapshot, text).unwrap();
        let step = folder.join("m0003_email_and_slug.rs");
        let code_of_step = std::fs::read_to_string(&step).unwrap();
        std::fs::remove_file(&step).unwrap();
        let (code, words) = check(migrations::all()).await;
        assert_eq!(code, 1);
        assert!(words.contains("m0003_email_and_slug"), "{words}");
        std::fs::write(&step, code_of_step).unwrap();
        // One that another branch has written, and that the list lacks.
        std::fs::copy(&snapshot, folder.join("m0011_other.json")).unwrap();
        let (code, words) = check(migrations::all()).await;
        assert_eq!(code, 1);
        assert!(
            words.contains("has the snapshot `m0011_other.json`, and no step `m0011_other` is listed"),
            "{words}"
        );
    });
}

/// The work of a process that a test has started. It runs until it is killed, or the steps are applied.
pub fn process(role: &str) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, _) = odm_tests::client().await;
        let db = client.database(&std::env::var(DATABASE).unwrap());
        match role {
            "up" => {
                let odm = Odm::new(db, models![v5::Author, v5::Article]).unwrap();
                match odm.migrate(migrations::all()).up().await {
                    Ok(_) => ExitCode::SUCCESS,
                    Err(error) => {
                        eprintln!("{error}");
                        ExitCode::from(2)
                    }
                }
            }
            "old" => {
                let odm = Odm::new(db, models![v1::Author, v1::Article]).unwrap();
                let articles = odm.collection::<v1::Article>();
                for id in OF_OLD.. {
                    if is_to_stop(odm.database(), role).await {
                        break;
                    }
                    let author = Ref::new(id % 10);
                    let title = format!("old {id}");
                    let new = v1::NewArticle {
                        id,
                        author,
                        title,
                        views: id,
                        legacy: None,
                    };
                    // It is refused when the database knows copies that it lacks.
                    let _ = articles.insert(new).await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                ExitCode::SUCCESS
            }
            _ => {
                let odm = Odm::new(db, models![v5::Author, v5::Article]).unwrap();
                let articles = odm.collection::<v5::Article>();
                for id in OF_NEW.. {
                    if is_to_stop(odm.database(), role).await {
                        break;
                    }
                    let new = v5::NewArticle {
                        id,
                        author: Ref::new(id % 10),
                        title: format!("new {id}"),
                        slug: format!("new-{id}"),
                        views: "0".to_owned(),
                        language: "fr".to_owned(),
                    };
                    let _ = articles.insert(new).await;
                    // Within a transaction: an `updateMany` outside of one keeps the lock of its collection on SecantusDB while it waits
                    // for a transaction, whose next statement waits for that lock.
                    let renamed = odm.transaction(async |tx| {
                        tx.collection::<v5::Author>()
                            .update(id % 10)
                            .set(|a| a.name, format!("The author {id}"))
                            .await
                    });
                    let _ = renamed.await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                ExitCode::SUCCESS
            }
        }
    })
}

/// Whether the test has told the writers of a version to stop: one that is killed may leave a transaction, which is no part of the test.
async fn is_to_stop(db: &odm::mongodb::Database, role: &str) -> bool {
    let stopped = db
        .collection::<Doc>("stopped")
        .find_one(doc! { "_id": role })
        .await;
    stopped.unwrap().is_some()
}

async fn stop(t: &TestDb, role: &str, mut process: Process) {
    t.db.collection::<Doc>("stopped")
        .insert_one(doc! { "_id": role })
        .await
        .unwrap();
    assert_eq!(process.ends_within(Duration::from_secs(60)).await, Some(true));
}

/// A process, which ends with this.
struct Process(Child);

impl Process {
    fn start(t: &TestDb, role: &str) -> Process {
        let child = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, role)
            .env(DATABASE, t.db.name())
            .stderr(std::process::Stdio::null())
            .spawn();
        Process(child.unwrap())
    }

    fn signal(&self, name: &str) {
        // Every shell has it, and not every machine has a program of this name.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill {name} {}", self.0.id())])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, for this time at most. Gives whether it has ended without an error.
    async fn ends_within(&mut self, time: Duration) -> Option<bool> {
        let began = Instant::now();
        while began.elapsed() < time {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.success());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ARTICLES: i32 = 1_500;

/// The database of the first version.
async fn first_version(t: &TestDb) {
    let odm = odm(t, models![v1::Author, v1::Article]);
    odm.sync().await.unwrap();
    let authors = (0..10).map(|id| v1::NewAuthor {
        id,
        name: format!("author {id}"),
        mail: format!("{id}@example.com"),
        street: "High Street".to_owned(),
    });
    odm.collection::<v1::Author>().insert_many(authors).await.unwrap();
    let articles = (0..ARTICLES).map(|id| v1::NewArticle {
        id,
        author: Ref::new(id % 10),
        title: format!("title {id} "),
        views: id,
        legacy: Some(id % 2 == 0),
    });
    odm.collection::<v1::Article>()
        .insert_many(articles)
        .await
        .unwrap();
}

/// No document needs a step, each is read by the newest program, and every derived value is right.
async fn assert_newest(t: &TestDb) {
    let odm = newest(t);
    let raw = |name: &str| t.db.collection::<Doc>(name);
    let is_old = doc! { "$or": [
        { "slug": { "$exists": false } }, { "views": { "$not": { "$type": "string" } } }, { "legacy": { "$exists": true } },
        { "language": { "$exists": false } }, { "author_name": { "$exists": false } }, { "title": { "$regex": " $" } }, { "slug": "" },
        { "times": { "$ne": 1 }, "_id": { "$lt": ARTICLES } }, { "language": "en" },
    ] };
    assert_eq!(raw("articles").count_documents(is_old).await.unwrap(), 0);
    let is_old = doc! { "$or": [{ "mail": { "$exists": true } }, { "articles": { "$exists": false } }, { "name": { "$regex": "^author" } }] };
    assert_eq!(raw("authors").count_documents(is_old).await.unwrap(), 0);
    let articles = odm.collection::<v5::Article>().find_all().all().await.unwrap();
    assert!(articles.len() >= ARTICLES as usize);
    for article in articles.iter().filter(|article| article.id < ARTICLES) {
        let id = article.id;
        assert_eq!(
            (&*article.title, &*article.views, &*article.slug),
            (
                &*format!("title {id}"),
                &*id.to_string(),
                &*format!("article-{id}")
            )
        );
    }
    odm.recover().await.unwrap();
    assert_clean(&odm).await;
    let status = odm.migrate(migrations::all()).status().await.unwrap();
    assert!(
        status.open().next().is_none() && status.problems.is_empty(),
        "{status}"
    );
}

/// Ends the transaction of a killed process, and lets the time of its lease pass.
async fn end_lease(t: &TestDb) {
    let runs = t.db.collection::<Doc>("_odm_migrations");
    let runner = runs.find_one(doc! { "_id": "runner" }).await.unwrap();
    if let Some(session) = runner
        .as_ref()
        .and_then(|runner| runner.get_document("session").ok())
    {
        let admin = t.db.client().database("admin");
        admin
            .run_command(doc! { "killSessions": [session] })
            .await
            .unwrap();
    }
    let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
    runs.update_one(doc! { "_id": "runner" }, over).await.unwrap();
}

#[odm_tests::test]
fn steps_end_beside_programs_of_both_versions_while_runs_are_killed() {
    with_transactions(async |t| {
        takes_long();
        let kills = std::env::var("ODM_KILLS")
            .ok()
            .and_then(|kills| kills.parse().ok())
            .unwrap_or(10);
        first_version(&t).await;
        let new = Process::start(&t, "new");
        // No step that adds a field ends while the old version writes documents without it.
        let mut old = Some(Process::start(&t, "old"));
        let mut random = Random::new(3);
        let mut killed = 0;
        let mut completed = 0;
        while killed < kills {
            if let Some(old) = old.take_if(|_| 2 * killed >= kills) {
                stop(&t, "old", old).await;
            }
            // Eight at once, the first of which is killed.
            let mut first = Process::start(&t, "up");
            let others: Vec<Process> = match killed % 10 {
                0 => (0..7).map(|_| Process::start(&t, "up")).collect(),
                _ => Vec::new(),
            };
            let time = Duration::from_millis(50 + random.below(1_200_u64));
            if first.ends_within(time).await == Some(true) && killed % 10 != 0 {
                completed += 1;
                // All is applied: once more from the beginning.
                let reopened = doc! { "$unset": { "done": "" } };
                let steps = t.db.collection::<Doc>("_odm_migrations");
                steps
                    .update_many(doc! { "number": { "$exists": true } }, reopened)
                    .await
                    .unwrap();
            }
            drop((first, others));
            killed += 1;
            // The statements that the killed processes have sent come to their end: SecantusDB answers no client any more when a session
            // is ended while its statement waits for the transaction of another one.
            tokio::time::sleep(Duration::from_millis(100)).await;
            end_lease(&t).await;
        }
        stop(&t, "new", new).await;
        assert!(
            completed > 0 || kills < 100,
            "no run came to its end beside the new version"
        );
        newest(&t)
            .migrate(migrations::all())
            .again("m0001_first")
            .up()
            .await
            .unwrap();
        assert_newest(&t).await;
        // The new version inserts nothing before its copies are declared, which ends the steps.
        let of_new = (completed > 0).then_some(OF_NEW);
        for first_id in [OF_OLD].into_iter().chain(of_new) {
            let of_writer = doc! { "_id": { "$gte": first_id, "$lt": first_id + 1_000_000 } };
            let articles = t.db.collection::<Doc>("articles");
            let written = articles.count_documents(of_writer).await.unwrap();
            assert!(written > 0, "the writer from {first_id} on");
        }
    });
}

#[odm_tests::test]
fn a_run_that_is_killed_every_five_seconds_comes_to_its_end() {
    with_transactions(async |t| {
        takes_long();
        first_version(&t).await;
        newest(&t)
            .migrate(migrations::all())
            .set_rate(Some(2_000))
            .await
            .unwrap();
        let mut killed = 0;
        while Process::start(&t, "up").ends_within(Duration::from_secs(5)).await != Some(true) {
            killed += 1;
            assert!(killed < 40);
        }
        assert!(killed > 0, "the rate is too high for the test");
        assert_newest(&t).await;
    });
}

#[odm_tests::test]
fn a_process_that_is_stopped_beyond_its_lease_writes_nothing_when_it_goes_on() {
    with_transactions(async |t| {
        takes_long();
        first_version(&t).await;
        newest(&t)
            .migrate(migrations::all())
            .set_rate(Some(500))
            .await
            .unwrap();
        let mut held = Process::start(&t, "up");
        let begun = async || {
            let status = newest(&t).migrate(migrations::all()).status().await.unwrap();
            status.running.is_some_and(|running| running.documents > 0)
        };
        while !begun().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // Another process waits for the end of the lease, and does the rest meanwhile.
        let stopped = std::env::var("ODM_STOPPED")
            .ok()
            .and_then(|seconds| seconds.parse().ok());
        let stopped = Duration::from_secs(stopped.unwrap_or_default());
        held.signal("-STOP");
        newest(&t)
            .migrate(migrations::all())
            .set_rate(Some(0))
            .await
            .unwrap();
        let migrated = newest(&t).migrate(migrations::all()).up().await.unwrap();
        assert!(!migrated.applied.is_empty());
        let all = async |name: &str| {
            use futures::TryStreamExt;
            let all = t.db.collection::<Doc>(name);
            let found = all.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
            found.try_collect::<Vec<Doc>>().await.unwrap()
        };
        let before = (all("articles").await, all("authors").await);
        tokio::time::sleep(stopped).await;
        held.signal("-CONT");
        assert_eq!(held.ends_within(Duration::from_secs(60)).await, Some(true));
        assert_eq!((all("articles").await, all("authors").await), before);
        assert_newest(&t).await;
    });
}
